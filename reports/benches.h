/* benches.h: the rows of a result file grouped by what was benchmarked.
 *
 * A bench is one (device, workload, mode, dtype, precision, weights, axes); it points at the newest
 * program row of each role. */
#ifndef REPORTS_BENCHES_H
#define REPORTS_BENCHES_H

#include "reports/results.h"

enum { BENCH_COMPILE_MODES = 4 };

struct bench {
    const struct result_row *key;                           /* any row of it: names the six */
    const struct result_row *role[ROLE_COUNT];              /* newest program row; NULL = none */
    const struct result_row *compiled[BENCH_COMPILE_MODES]; /* torch_compile, newest of each mode */
    size_t n_compiled;
};

struct benches {
    struct bench *all; /* in the order of their first row */
    size_t n;
    /* Private to benches.c: places in `all` by hash of the key, chained; 1-based, 0 ends. */
    size_t *heads, *next, n_heads;
    size_t last; /* the one found last: most rows are of the same as the row before */
};

/* Of products of f32, by the row or, where it says none, as it was before rows did: "f32". */
const char *bench_precision(const struct result_row *r);
/* The type that it is in, as people read it: "f32", "bf16 strict", "f32, fixed weights". */
void bench_type(struct text *out, const struct result_row *r);

bool bench_same_key(const struct result_row *a, const struct result_row *b);

/* The bench of a row's key, or NULL. */
struct bench *benches_find(struct benches *b, const struct result_row *key);

/* Group rows, adding to *b; of two rows of a role the newer counts, by its time, and of one time
 * the later in the file. With a run_id only that run's rows count, except those of real PyTorch:
 * these come from a run of their own, and belong to every run of the same key. */
void benches_add(struct benches *b, const struct results *r, const char *run_id);
/* Group one more row of a program of ours. */
struct bench *benches_add_row(struct benches *b, const struct result_row *row);
/* Group the newest measured rows from before that run, of what it benchmarked. */
void benches_add_before(struct benches *b, const struct results *r, const char *run_id);
void benches_free(struct benches *b);

/* The fastest torch.compile, or NULL if none was measured. */
const struct result_row *bench_best_compiled(const struct bench *b);

/* Which run `name` means: "last", "prev" (the one before the last on the same device and in the
 * same precision) or a run id; NULL if there is none. A run counts if it holds rows of our own, not
 * only PyTorch's. */
const char *run_find(const struct results *r, const char *name);

/* Least time of one call in us by the roofline, or NAN. */
double row_floor_us(const struct result_row *r);

#endif
