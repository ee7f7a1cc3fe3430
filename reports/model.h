/* model.h: what the report is about: rows of many files -> cases by workload, with their roofs,
 * kernels and devices.
 *
 *   rows -> benches (benches.h) -> cases -> workloads, devices
 *
 * Ownership: the model owns its vectors; rows, benches and texts stay the files'. */
#ifndef REPORTS_MODEL_H
#define REPORTS_MODEL_H

#include "reports/benches.h"
#include "reports/estimate.h"
#include "reports/nights.h"

/* Whom the tuned program is measured against, in the order of the figures. */
enum opponent {
    OPPONENT_UNFUSED,
    OPPONENT_DEFAULT,
    OPPONENT_TORCH_EAGER,
    OPPONENT_TORCH_COMPILE,
    OPPONENT_MAX_AUTOTUNE,
    OPPONENT_COUNT
};
const char *opponent_name(enum opponent o);

/* What a device allows programs of one type. */
struct roof {
    const char *device;
    const char *dtype, *precision;
    double gbps;           /* copy bandwidth, of the newest row; NAN: not measured */
    const char *timestamp; /* of that row */
    double tflops;         /* what rows bound by arithmetic were judged by; NAN: there is none */
};

/* The trials of one kernel in the newest run that has any: a run whose winner was known has none.
 */
struct kernel {
    const char *name;
    const struct result_row **trials; /* in the order in which they were tried */
    size_t n;
    const struct result_row *winner; /* NULL: of an interrupted search */
    double best_us;                  /* of its trials; NAN: all failed */
};

struct tuning {
    struct kernel *kernels; /* slowest best first */
    size_t n;
    const char *run_id; /* NULL: no run of this case has trials */
};

struct case_ {
    const struct bench *bench;
    const struct result_row
        *ours; /* tuned, or default where nothing was tuned; NULL: neither was measured */
    const struct result_row
        *claimed;            /* what it would be, were it not implausible; NULL: it is not */
    const struct roof *roof; /* NULL: none */
    struct tuning tuning;
    const struct result_row *
        *history; /* of the tuned program, in all runs that say when, oldest first */
    size_t n_history;
    struct text type, axes; /* "bf16 strict bwd"; "dim=4096 rows=4096" */
    size_t
        sweep;   /* 1-based number of the sweep of its workload that it is a point of; 0: of none */
    double size; /* of a sweep's point: the axis that differs */
};

/* Cases that differ in one axis alone, at least SWEEP_LEAST of them. */
enum { SWEEP_LEAST = 3 };
struct sweep {
    const char *axis; /* n_axis bytes of it */
    size_t n_axis;
    size_t first, n; /* cases of the model, by size */
};

struct workload {
    const char *name;
    struct text page; /* file name of its own page, without .html */
    size_t first, n;  /* cases of the model */
    size_t sweeps, n_sweeps;
    double mean; /* geometric, of its cases' speedups over unfused; NAN: none */
};

struct model {
    struct case_ *cases; /* by workload, sweeps together; the fastest first */
    size_t n;
    struct workload *workloads; /* by their mean, the fastest first */
    size_t n_workloads;
    struct sweep *sweeps;
    size_t n_sweeps;
    struct roof *roofs;
    size_t n_roofs;
    const char **devices; /* in order of appearance */
    size_t n_devices;
    const struct results *files;
    size_t n_files;
    const struct accepted *accepted; /* levels taken for good, which nights go by; NULL: none */
};

void model_build(struct model *m, const struct results *files, size_t n_files, struct benches *b);
void model_free(struct model *m);

/* The row of an opponent, measured or not; NULL: there is none. */
const struct result_row *case_opponent(const struct case_ *c, enum opponent o);
struct estimate case_speedup(const struct case_ *c, enum opponent o);

/* "f32 dim=4096 rows=4096, H100": what tells it from the other cases of the model. At most `most`
 * letters (0: any number), of which whole words are left out at the end, said by an ellipsis. */
void case_label(struct text *out, const struct model *m, const struct case_ *c, bool with_workload,
                size_t most);

/* Geometric mean over cases, with how many had one. */
struct mean {
    double value;
    size_t n, wins, losses; /* whole intervals above and below 1 */
};
struct mean model_mean(const struct model *m, size_t first, size_t n, enum opponent o);

/* "NVIDIA H100 80GB HBM3": "H100" where no other device of the model has the word. */
void device_short(struct text *out, const struct model *m, const char *device);

/* Letters, digits, '.', '-' and '_' of a text, each run of others one '-': part of a file's name.
 */
void put_file_name(struct text *out, const char *s);

#endif
