/* gen_tensor.c: random tensors: sizes around the edges of vectors, warps and tiles; strides of all
 * kinds; partners that broadcast. */
#include "tests/fuzz/gen_impl.h"

const struct meta *meta_at(const struct gen *x, node_id n) { return &x->g->nodes.at[n].meta; }

int64_t size_at(const struct gen *x, const struct meta *m, int d) {
    return ex_value(x->g->ex, m->size[d]);
}

int64_t numel_of(const struct gen *x, const struct meta *m) {
    return ex_value(x->g->ex, meta_numel(x->g->ex, m));
}

/* Around vector widths, warps and tiles; large ones around blocks, rows and caches, too. */
int64_t random_size(struct gen *x) {
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 64, 65},
                     large[] = {1,   2,   3,   8,    12,   31,   64,    96,   100,
                                128, 129, 256, 1000, 1024, 4096, 12288, 50257};
    if (!below(x, 200)) return 0;
    return x->large ? large[below(x, sizeof large / sizeof *large)]
                    : sizes[below(x, sizeof sizes / sizeof *sizes)];
}

enum dtype any_dtype(struct gen *x) {
    static const enum dtype types[] = {DT_F32,  DT_BF16, DT_F16, DT_F64, DT_I64,
                                       DT_BOOL, DT_I32,  DT_U8,  DT_I8,  DT_I16};
    return types[below(x, sizeof types / sizeof *types)];
}

static enum dtype input_dtype(struct gen *x) { return x->mixed ? any_dtype(x) : x->theme; }

/* Strides other than row-major: dimensions in another order, gaps between rows, one repeated. */
static void random_strides(struct gen *x, struct meta *m) {
    int order[WS_MAX_RANK];
    int64_t step = 1;
    for (int i = 0; i < m->rank; i++) order[i] = i;
    for (int i = m->rank - 1; i > 0; i--) {
        int j = below(x, i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (int i = 0; i < m->rank; i++) {
        int64_t size = size_at(x, m, order[i]);
        if (i == 0 && percent(x, 15)) step = 2;
        if (i == 1 && percent(x, 25)) step += 1 + below(x, 8);
        m->stride[order[i]] = ex_const(x->g->ex, percent(x, 8) ? 0 : step);
        step *= size ? size : 1;
    }
}

static node_id new_input(struct gen *x, struct meta *m) {
    int k = (int)x->g->inputs.n;
    meta_contiguous(x->g->ex, m);
    if (m->rank && percent(x, 25)) random_strides(x, m);
    return graph_input(x->g, "x", INPUT_ARG, arena_printf(x->g->arena, "L['x%d']", k), m,
                       (uint32_t)k);
}

node_id new_input_like(struct gen *x, enum dtype t, int rank, const int64_t *size) {
    struct meta m = {.dtype = t, .rank = (uint8_t)rank};
    for (int i = 0; i < rank; i++) m.size[i] = ex_const(x->g->ex, size[i]);
    return new_input(x, &m);
}

static node_id random_input(struct gen *x, int rank) {
    int64_t size[MAX_GEN_RANK], n = 1;
    for (int i = 0; i < rank; i++) {
        size[i] = random_size(x);
        if (n * size[i] > x->most) size[i] = 1 + below(x, 3);
        if (n * size[i] > x->most) size[i] = 1;
        n *= size[i] ? size[i] : 1;
    }
    return new_input_like(x, input_dtype(x), rank, size);
}

static int random_rank(struct gen *x) {
    static const int ranks[] = {0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4};
    return ranks[below(x, sizeof ranks / sizeof *ranks)];
}

node_id any_tensor(struct gen *x) {
    uint32_t n = x->computed.n;
    if (n && percent(x, 60)) return x->computed.at[n - 1 - (uint32_t)below(x, n < 3 ? (int)n : 3)];
    if (x->g->nodes.n && percent(x, 60)) return (node_id)below(x, (int)x->g->nodes.n);
    return random_input(x, random_rank(x));
}

node_id tensor_of_rank(struct gen *x, int least, int most) {
    for (int tries = 0; tries < 4; tries++) {
        node_id n = any_tensor(x);
        if (meta_at(x, n)->rank >= least && meta_at(x, n)->rank <= most) return n;
    }
    return random_input(x, least + below(x, most - least + 1));
}

/* Do the two broadcast to no more elements than a tensor may have? */
static bool broadcasts(const struct gen *x, const struct meta *a, const struct meta *b) {
    int64_t n = 1;
    for (int i = 1; i <= a->rank || i <= b->rank; i++) {
        int64_t p = i <= a->rank ? size_at(x, a, a->rank - i) : 1;
        int64_t q = i <= b->rank ? size_at(x, b, b->rank - i) : 1;
        if (p != q && p != 1 && q != 1) return false;
        n *= p == 1 ? q : p;
    }
    return n <= x->most;
}

node_id companion(struct gen *x, node_id first) {
    const struct meta *m = meta_at(x, first);
    for (int tries = 0; tries < 5; tries++) {
        node_id n = (node_id)below(x, (int)x->g->nodes.n);
        if (broadcasts(x, m, meta_at(x, n)) && percent(x, 70)) return n;
    }
    int64_t size[WS_MAX_RANK];
    int drop = percent(x, 30) ? below(x, m->rank + 1) : 0, rank = m->rank - drop;
    bool full = percent(x, 60);
    for (int i = 0; i < rank; i++) size[i] = full || percent(x, 50) ? size_at(x, m, drop + i) : 1;
    return new_input_like(x, input_dtype(x), rank, size);
}
