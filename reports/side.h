/* side.h: one side of a comparison: which rows of which runs of which files it has. */
#ifndef REPORTS_SIDE_H
#define REPORTS_SIDE_H

#include <stdio.h>

#include "reports/benches.h"

/* Rows of one benchmark and role, one of each run, in the order of the runs' ids. */
struct runs {
    const struct result_row **rows;
    size_t n;
};

struct side {
    const char *name;         /* "base", for messages */
    const char *const *given; /* each FILE[@RUN] or FOLDER[@RUN] */
    size_t n_given;
    struct results *files;
    size_t n_files;
    bool damaged; /* a file of a folder was left out */
    struct benches benches;
    struct runs (*runs)[ROLE_COUNT]; /* of each bench */
};

/* Reads what is given; err gets what was left out. RUN is a run's id or a night's (of runs
 * NIGHT.NUMBER); all; of one file also last, the newest run, and prev, what was measured before
 * it of the same. Without one the newest rows of a single file count, and all runs of a folder or
 * of several files. */
enum report_status side_read(struct side *s, FILE *err, struct report_error *e);
void side_free(struct side *s);

/* NULL: no such bench. */
const struct runs *side_runs(const struct side *s, const struct result_row *key,
                             enum result_role role);

#endif
