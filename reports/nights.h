/* nights.h: runs of one benchmark -> its nights -> what is known after each (change.h).
 *
 * `nightly judge` and the page's time line both say what is found here.
 *
 * A run is one of a night if its id is NIGHT.NUMBER, else a night by itself; the value of a night
 * is the median of its runs. What is not ok, or was throttled, is no value. */
#ifndef REPORTS_NIGHTS_H
#define REPORTS_NIGHTS_H

#include "reports/benches.h"
#include "reports/change.h"

#define NIGHTS_THRESHOLD 0.015 /* what a night must differ by */

struct night {
    const struct result_brief *row; /* of its first run that was measured, else of its first */
    size_t first, runs;             /* those that were measured, of us */
    double median_us;
    double prior, clock;
    const char *why; /* what starts the baseline anew; NULL: nothing does */
};

/* {0} is none. */
struct nights {
    struct night *all; /* in the order of time */
    size_t n;
    double *us; /* of runs */
    size_t n_us;
    double threshold;
    struct change *is; /* one for each night that was measured */
    size_t *measured;  /* these nights */
    size_t n_measured;
};

bool night_same(const char *run_a, const char *run_b);
void put_night(struct text *t, const char *run_id); /* its name */

/* Levels that were taken for good, of FOLDER/nightly/accepted.csv, which need not be there. */
struct accepted {
    struct text rows; /* as table_put_row writes them, one after the other */
};
enum report_status accepted_read(struct accepted *a, const char *folder, struct report_error *e);
/* From the night of that row on; makes the folder, too. */
enum report_status accepted_append(const char *folder, const struct result_brief *from,
                                   struct report_error *e);
void accepted_free(struct accepted *a);

/* Programs that were made by us: tuned, default and unfused ones. */
bool nights_have(const struct result_row *r);

/* Rows come in the order of their time, and stay where they are. */
void nights_add(struct nights *n, const struct result_brief *row);
/* NULL: nothing was accepted. */
void nights_judge(struct nights *n, const struct accepted *accepted, double threshold);
void nights_free(struct nights *n);

/* Of measured night m. */
const struct night *nights_at(const struct nights *n, size_t m);
double nights_us(const struct nights *n, size_t m);
/* Slower, and the clock is lower by as much as the time is longer, but for the threshold. */
bool nights_by_clock(const struct nights *n, size_t m);
const char *nights_verdict(const struct nights *n, size_t m);
bool nights_changed(const struct nights *n, size_t m); /* SLOWER, FASTER or by the clock */
/* "since 20261110T020000Z, commits c8..c10", of a night that is changed. */
void put_since(struct text *t, const struct nights *n, size_t m);

#endif
