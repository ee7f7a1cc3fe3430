/* record.h: the rows of a run, appended to its CSV in whole batches. */
#ifndef TUNER_RECORD_H
#define TUNER_RECORD_H

#include "reports/row_json.h"
#include "tuner/cost.h"
#include "tuner/plan.h"
#include "tuner/roof.h"

struct recorder {
    struct arena *arena;      /* of the run */
    struct arena *row_arena;  /* of the rows not appended yet */
    const char *path;         /* DIR/workload.csv */
    const char *run_id;       /* sorts by time */
    struct result_row common; /* what all rows of the run share */
    bool has_tf32;            /* the device multiplies tf32, if asked to */
    struct result_row *rows;  /* not appended yet */
    int n, cap;
    json_t *json; /* rows go there, too, as they are appended; NULL: nowhere */
};

/* Facts of the run; no file yet. */
void recorder_start(struct recorder *r, const struct machine *m, struct arena *a);

/* From here on rows are about this workload, in DIR. The folder is made; a file that cannot be
 * appended to, or is not ours, is found out now: before anything is measured. */
enum ws_status recorder_open(struct recorder *r, const char *folder, const struct ws_captured *c,
                             struct arena *a, struct diag *d);

/* Takes the place of the variant's row, if there is one that is not appended yet. */
void recorder_add_variant(struct recorder *r, const struct variant *v, const struct work *w,
                          const struct roof *roof);
/* What was counted of it, into its row if that is not appended yet, else into a row of its own. */
void recorder_set_counters(struct recorder *r, const struct variant *v, const struct work *w,
                           const struct roof *roof);
void recorder_add_program(struct recorder *r, enum result_role role, const struct plan *p,
                          const struct timing *t, const struct roof *roof);
/* Into the row added last: what the check of that program found, what tuning has cost, and what
 * checking, timing and all of the bench took. */
void recorder_set_check(struct recorder *r, const struct data *x, const struct data_worst *worst);
void recorder_set_cost(struct recorder *r, const struct cost *c);
void recorder_set_all(struct recorder *r, double check_ms, double timing_ms, double all_ms);
void recorder_add_roof(struct recorder *r, const struct roof *roof);

/* Append what was added, all or nothing. Notes go to stderr. */
enum ws_status recorder_flush(struct recorder *r, struct diag *d);

/* "rows=4 dim=8" -> "dim=8 rows=4": how the axes column is written. */
const char *record_axes(const char *axes, struct arena *a);

#endif
