/* benches.c: group result rows by benchmark, and find runs.
 *
 *   run A  softmax f32 dim=4096  eager 56.8        one bench: eager 56.8 (A), tuned 33.9 (B),
 *   run A  softmax f32 dim=4096  tuned 35.1   ->              torch_compile default 43.6 (T)
 *   run T  softmax f32 dim=4096  torch_compile 43.6
 *   run B  softmax f32 dim=4096  tuned 33.9 */
#include "reports/benches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Files of older schemas have none, and PyTorch's rows may have none. */
const char *bench_precision(const struct result_row *r) {
    return r->precision && *r->precision ? r->precision : "f32";
}

void bench_type(struct text *out, const struct result_row *r) {
    const char *precision = bench_precision(r);
    text_puts(out, r->dtype);
    if (strcmp(precision, "f32") != 0) text_printf(out, " %s", precision);
    if (r->weights && *r->weights) text_printf(out, ", %s weights", r->weights);
}

/* PyTorch's rows, and those of older schemas, do not say, and go with either. */
static bool same_weights(const struct result_row *a, const struct result_row *b) {
    const char *one = a->weights ? a->weights : "", *other = b->weights ? b->weights : "";
    return !*one || !*other || !strcmp(one, other);
}

bool bench_same_key(const struct result_row *a, const struct result_row *b) {
    return strcmp(a->workload, b->workload) == 0 && strcmp(a->axes, b->axes) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->device, b->device) == 0 &&
           strcmp(bench_precision(a), bench_precision(b)) == 0 && same_weights(a, b);
}

static bool is_torch(const struct result_row *r) {
    return r->role == ROLE_torch_eager || r->role == ROLE_torch_compile;
}

/* Of all of the key but the weights, which may match without being the same. */
static size_t hash_key(const struct result_row *r) {
    const char *texts[] = {r->workload, r->axes, r->dtype, r->mode, r->device, bench_precision(r)};
    size_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (const char *p = texts[i]; *p; p++) hash = (hash ^ (unsigned char)*p) * 1099511628211u;
        hash = (hash ^ 0xff) * 1099511628211u;
    }
    return hash;
}

struct bench *benches_find(struct benches *b, const struct result_row *key) {
    if (!b->n) return NULL;
    if (b->last < b->n && bench_same_key(b->all[b->last].key, key)) return &b->all[b->last];
    for (size_t i = b->heads[hash_key(key) % b->n_heads]; i; i = b->next[i - 1])
        if (bench_same_key(b->all[i - 1].key, key)) {
            b->last = i - 1;
            return &b->all[i - 1];
        }
    return NULL;
}

/* Chains in the order of `all`: the first that matches is the one that came first. */
static void link_last(struct benches *b) {
    size_t *end = &b->heads[hash_key(b->all[b->n - 1].key) % b->n_heads];
    while (*end) end = &b->next[*end - 1];
    *end = b->n;
    b->next[b->n - 1] = 0;
}

/* Room for one more; the chains begin anew when they have become long. */
static void reserve(struct benches *b) {
    if (b->n & (b->n - 1)) return; /* room is doubled at each power of two */
    size_t n = b->n, room = n ? 2 * n : 1;
    b->all = memory_resize(b->all, room, sizeof *b->all);
    b->next = memory_resize(b->next, room, sizeof *b->next);
    b->n_heads = 2 * room;
    b->heads = memory_resize(b->heads, b->n_heads, sizeof *b->heads);
    memset(b->heads, 0, b->n_heads * sizeof *b->heads);
    for (b->n = 1; b->n <= n; b->n++) link_last(b);
    b->n = n;
}

static struct bench *find_or_add(struct benches *b, const struct result_row *key) {
    struct bench *found = benches_find(b, key);
    if (found) return found;
    reserve(b);
    b->all[b->n++] = (struct bench){.key = key};
    link_last(b);
    return &b->all[b->n - 1];
}

/* Files are read in the order of their names, and a machine may append an older run's rows. */
static bool is_newer(const struct result_row *r, const struct result_row *than) {
    return !than || strcmp(r->timestamp, than->timestamp) >= 0;
}

static void add_compiled(struct bench *b, const struct result_row *r) {
    for (size_t i = 0; i < b->n_compiled; i++) {
        if (strcmp(b->compiled[i]->config, r->config) == 0) {
            if (is_newer(r, b->compiled[i])) b->compiled[i] = r;
            return;
        }
    }
    if (b->n_compiled < BENCH_COMPILE_MODES) b->compiled[b->n_compiled++] = r;
}

static void add_row(struct bench *b, const struct result_row *r) {
    if (is_newer(r, b->role[r->role])) b->role[r->role] = r;
    if (r->role == ROLE_torch_compile) add_compiled(b, r);
}

struct bench *benches_add_row(struct benches *b, const struct result_row *row) {
    struct bench *of = find_or_add(b, row);
    add_row(of, row);
    return of;
}

void benches_add(struct benches *b, const struct results *r, const char *run_id) {
    for (size_t i = 0; i < r->n; i++) {
        const struct result_row *row = &r->rows[i];
        if (row->role == ROLE_variant || row->role == ROLE_roof || is_torch(row)) continue;
        if (strcmp(row->kernel, "program") != 0) continue;
        if (run_id && strcmp(row->run_id, run_id) != 0) continue;
        add_row(find_or_add(b, row), row);
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct result_row *row = &r->rows[i];
        if (!is_torch(row)) continue;
        struct bench *of = run_id ? benches_find(b, row) : find_or_add(b, row);
        if (of) add_row(of, row);
    }
}

void benches_add_before(struct benches *b, const struct results *r, const char *run_id) {
    struct benches of_run = {0};
    size_t first = r->n;
    benches_add(&of_run, r, run_id);
    for (size_t i = r->n; i-- > 0;)
        if (!strcmp(r->rows[i].run_id, run_id)) first = i;
    for (size_t i = 0; i < first; i++) {
        const struct result_row *row = &r->rows[i];
        if (row->role == ROLE_variant || row->role == ROLE_roof || is_torch(row)) continue;
        if (strcmp(row->kernel, "program") != 0 || !result_row_measured(row)) continue;
        if (benches_find(&of_run, row)) add_row(find_or_add(b, row), row);
    }
    benches_free(&of_run);
}

void benches_free(struct benches *b) {
    free(b->all);
    free(b->heads);
    free(b->next);
    *b = (struct benches){0};
}

const struct result_row *bench_best_compiled(const struct bench *b) {
    const struct result_row *best = NULL;
    for (size_t i = 0; i < b->n_compiled; i++)
        if (result_row_measured(b->compiled[i]) &&
            (!best || b->compiled[i]->median_us < best->median_us))
            best = b->compiled[i];
    return best;
}

static bool is_like(const struct result_row *r, const struct result_row *like) {
    return !like ||
           (strcmp(r->device, like->device) == 0 &&
            strcmp(bench_precision(r), bench_precision(like)) == 0 && same_weights(r, like));
}

/* Row that begins the newest run, older than row `before`, that has rows of ours on its device and
 * in its precision (NULL = any). Runs are ordered by their first row, since two processes may
 * interleave theirs. */
static const struct result_row *newest_run(const struct results *r,
                                           const struct result_row *before) {
    const struct result_row *found = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct result_row *row = &r->rows[i];
        if (before && row >= before) break;
        if (is_torch(row) || !is_like(row, before)) continue;
        bool first = true;
        for (size_t j = i; j-- > 0 && first;) {
            const struct result_row *older = &r->rows[j];
            first = is_torch(older) || strcmp(older->run_id, row->run_id) != 0 ||
                    !is_like(older, before);
        }
        if (first) found = row;
    }
    return found;
}

const char *run_find(const struct results *r, const char *name) {
    const struct result_row *last = newest_run(r, NULL);
    if (strcmp(name, "last") == 0) return last ? last->run_id : NULL;
    if (strcmp(name, "prev") == 0) {
        const struct result_row *prev = last ? newest_run(r, last) : NULL;
        return prev ? prev->run_id : NULL;
    }
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->rows[i].run_id, name) == 0) return r->rows[i].run_id;
    return NULL;
}

double row_floor_us(const struct result_row *r) {
    if (!result_row_measured(r) || !(r->roof_pct > 0)) return NAN;
    return r->median_us * r->roof_pct / 100;
}
