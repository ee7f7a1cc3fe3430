/* cases_random_products.c: products as a seed has them: sizes around the edges of tiles, layouts,
 * batches, what is computed before and behind, and a config, mostly of the matrix units, that need
 * not be legal for them. */
#include <string.h>

#include "tests/fuzz/cases.h"
#include "tests/fuzz/random.h"

struct product_text {
    struct arena *a;
    struct rng *r;
    struct buf parameters, body;
    const char *dtype, *factors[2]; /* of others than factors; of these */
    const char *widened;            /* what bytes are cast by; NULL: they are none */
    int m, n, k, batches;           /* batches: 0, a product of matrices */
    const char *value;              /* at hand */
    int values;
};

static int size_near_an_edge(struct rng *r) {
    static const int edges[] = {1, 8, 16, 32, 64, 96, 128, 200};
    int n = edges[rng_below(r, (int)(sizeof edges / sizeof *edges))];
    if (rng_below(r, 2)) n += rng_below(r, 5) - 2;
    return n < 1 ? 1 : n;
}

static const char *fresh(struct product_text *t) {
    return t->value = arena_printf(t->a, "%%v%d", t->values++);
}

static const char *shape(struct product_text *t, int rows, int columns) {
    if (t->batches) return arena_printf(t->a, "[%d, %d, %d]", t->batches, rows, columns);
    return arena_printf(t->a, "[%d, %d]", rows, columns);
}

static void put_typed(struct product_text *t, const char *name, const char *dtype,
                      const char *dims) {
    buf_printf(&t->parameters, "%s%%%s: %s%s", t->parameters.n ? ", " : "", name, dtype, dims);
}

static void put_parameter(struct product_text *t, const char *name, const char *dims) {
    put_typed(t, name, t->dtype, dims);
}

/* A factor as it lies in memory, or across, and perhaps a function of it: one that rounds nothing,
 * for the judge does not know what roundings of a factor come to. */
static const char *put_factor(struct product_text *t, const char *name, int rows, int columns) {
    const char *value = arena_printf(t->a, "%%%s", name);
    bool across = rng_below(t->r, 2);
    put_typed(t, name, t->factors[*name == 'y'],
              across ? shape(t, columns, rows) : shape(t, rows, columns));
    if (t->widened) {
        buf_printf(&t->body, " %s = %s(%s)\n", fresh(t), t->widened, value);
        value = t->value;
    }
    if (across) {
        buf_printf(&t->body, " %s = permute(%s, %s)\n", fresh(t), value,
                   t->batches ? "[0, 2, 1]" : "[1, 0]");
        value = t->value;
    }
    if (rng_below(t->r, 4) == 0) {
        buf_printf(&t->body, " %s = relu(%s)\n", fresh(t), value);
        value = t->value;
    }
    if (rng_below(t->r, 6) == 0) {
        const char *other = arena_printf(t->a, "w%s", name);
        bool whole = t->widened && !strcmp(t->widened, "int");
        put_typed(t, other, whole ? "i32" : t->dtype, shape(t, rows, columns));
        buf_printf(&t->body, " %s = maximum(%s, %%%s)\n", fresh(t), value, other);
        value = t->value;
    }
    if (rng_below(t->r, 6) == 0) {
        buf_printf(&t->body, " %s = tri%c(%s, %d)\n", fresh(t), rng_below(t->r, 2) ? 'l' : 'u',
                   value, rng_below(t->r, rows + columns) - rows);
        value = t->value;
    }
    return value;
}

static void put_behind(struct product_text *t, int i) {
    const char *before = t->value, *name = arena_printf(t->a, "p%d", i);
    switch (rng_below(t->r, 8)) {
    case 0: put_parameter(t, name, arena_printf(t->a, "[%d]", t->n)); break;
    case 1: put_parameter(t, name, arena_printf(t->a, "[%d, 1]", t->m)); break;
    case 2: put_parameter(t, name, shape(t, t->m, t->n)); break;
    case 3: buf_printf(&t->body, " %s = gelu(%s)\n", fresh(t), before); return;
    case 4: buf_printf(&t->body, " %s = sigmoid(%s)\n", fresh(t), before); return;
    case 5: buf_printf(&t->body, " %s = mul(%s, 0.5)\n", fresh(t), before); return;
    case 6:
        buf_printf(&t->body, " %s = tri%c(%s, %d)\n", fresh(t), rng_below(t->r, 2) ? 'l' : 'u',
                   before, rng_below(t->r, t->m + t->n) - t->m);
        return;
    default: buf_printf(&t->body, " %s = relu(%s)\n", fresh(t), before); return;
    }
    buf_printf(&t->body, " %s = add(%s, %%%s)\n", fresh(t), before, name);
}

/* What the product's rows or columns, or all of it, come to; perhaps beside the elements, or read
 * by them. */
static const char *put_reduced(struct product_text *t) {
    static const char *const reductions[] = {"sum", "amax", "mean", "sum", "amin"};
    const char *x = t->value;
    int last = t->batches ? 2 : 1;
    switch (rng_below(t->r, 5)) {
    case 0: buf_printf(&t->body, " %s = softmax(%s, %d)\n", fresh(t), x, last); return t->value;
    case 1: buf_printf(&t->body, " %s = log_softmax(%s, %d)\n", fresh(t), x, last); return t->value;
    case 2:
        buf_printf(&t->body, " %s = layer_norm(%s, [%d], eps=1e-05)\n", fresh(t), x, t->n);
        return t->value;
    default: break;
    }
    int which = rng_below(t->r, 3);
    const char *dims = which == 2 ? arena_printf(t->a, "[%d, %d]", last - 1, last)
                                  : arena_printf(t->a, "[%d]", last - which);
    buf_printf(&t->body, " %s = %s(%s, dim=%s)\n", fresh(t),
               reductions[rng_below(t->r, (int)(sizeof reductions / sizeof *reductions))], x, dims);
    return rng_below(t->r, 3) ? t->value : arena_printf(t->a, "%s, %s", t->value, x);
}

static const char *random_product(struct arena *a, struct rng *r) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32", "f32", "f32"};
    static const char *const bytes[] = {"i8", "u8", "f8e4m3", "f8e5m2"};
    int type = rng_below(r, 6); /* number 3 in tf32; the last two of bytes, integers and f8 */
    const char *own = dtypes[type], *left = own, *right = own;
    if (type > 3) left = bytes[(type - 4) * 2], right = bytes[(type - 4) * 2 + rng_below(r, 2)];
    struct product_text t = {.a = a,
                             .r = r,
                             .parameters = buf_new(a),
                             .body = buf_new(a),
                             .dtype = own,
                             .factors = {left, right},
                             .widened = type == 4   ? "int"
                                        : type == 5 ? "float"
                                                    : NULL,
                             .m = size_near_an_edge(r),
                             .n = size_near_an_edge(r),
                             .k = size_near_an_edge(r) + rng_below(r, 2) * 128,
                             .batches = rng_below(r, 3) ? 0 : 2 + rng_below(r, 2)};
    const char *x = put_factor(&t, "x", t.m, t.k), *y = put_factor(&t, "y", t.k, t.n);
    buf_printf(&t.body, " %s = %s(%s, %s)\n", fresh(&t), t.batches ? "bmm" : "mm", x, y);
    if (type == 4 && rng_below(r, 4)) {
        const char *sums = t.value;
        buf_printf(&t.body, " %s = mul(%s, 0.125)\n", fresh(&t), sums);
        for (int i = 0, n = rng_below(r, 4); i < n; i++) put_behind(&t, i);
    } else {
        for (int i = 0, n = rng_below(r, 4); i < n && type != 4; i++) put_behind(&t, i);
    }
    const char *first = t.value, *all = NULL;
    if (type != 4 && rng_below(r, 2) == 0)
        all = put_reduced(&t);
    else if (rng_below(r, 5) == 0)
        buf_printf(&t.body, " %s = permute(%s, %s)\n", fresh(&t), first,
                   t.batches ? "[0, 2, 1]" : "[1, 0]");
    return arena_printf(a, "graph(%s)%s {\n%s return %s\n}\n", t.parameters.p,
                        type == 3 ? " products tf32" : "", t.body.p, all ? all : t.value);
}

static const char *config_of_threads(struct arena *a, struct rng *r) {
    int tm = RNG_ANY(r, 1, 2, 4, 8, 8), tn = RNG_ANY(r, 1, 2, 3, 4, 8, 16),
        down = RNG_ANY(r, 4, 8, 16), across = RNG_ANY(r, 8, 16);
    return arena_printf(a, "m=%d n=%d k=%d tm=%d tn=%d warps=%d", tm * down, tn * across,
                        RNG_ANY(r, 4, 8, 16, 32, 12), tm, tn, down * across / 32);
}

static const char *random_config(struct arena *a, struct rng *r, bool by_warps) {
    if (rng_below(r, 4) == 0) return config_of_threads(a, r);
    int k = RNG_ANY(r, 16, 32, 64, 64, 64, 128), stages = RNG_ANY(r, 2, 3, 4),
        split = RNG_ANY(r, 0, 0, 2, 3);
    struct buf b = buf_new(a);
    if (by_warps) {
        int tm = RNG_ANY(r, 16, 32, 48, 64), tn = RNG_ANY(r, 16, 32, 48, 64),
            down = RNG_ANY(r, 1, 2, 3), across = RNG_ANY(r, 1, 2, 4);
        buf_printf(&b, "mma=2 m=%d n=%d tm=%d tn=%d warps=%d", tm * down, tn * across, tm, tn,
                   down * across);
    } else {
        int m = RNG_ANY(r, 64, 128, 192), cluster = split ? 0 : RNG_ANY(r, 0, 2, 4);
        buf_printf(&b, "mma=1 m=%d n=%d warps=%d", m, RNG_ANY(r, 32, 64, 96, 128, 256), m / 16 + 4);
        if (cluster) buf_printf(&b, " cluster=%d", cluster);
    }
    buf_printf(&b, " k=%d stages=%d", k, stages);
    if (split) buf_printf(&b, " split=%d", split);
    if (split && !by_warps && rng_below(r, 2)) buf_printf(&b, " tail=%d", RNG_ANY(r, 1, 2, 3, 5));
    if (!by_warps && rng_below(r, 4) == 0) buf_puts(&b, " leave_l2=1");
    if (rng_below(r, 2)) buf_printf(&b, " band=%d", RNG_ANY(r, 1, 2, 16));
    return b.p;
}

void cases_random_products(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (int i = 0; i < n; i++) {
        const char *text = random_product(a, &r);
        bool by_warps = rng_below(&r, 2);
        bool old = by_warps && rng_below(&r, 2);
        vec_push(a, out,
                 ((struct case_graph){.text = text,
                                      .every = CASES_DEFAULT,
                                      .old = old,
                                      .tiny = !old && i % 2 == 0,
                                      .maybe = true,
                                      .config = random_config(a, &r, by_warps)}));
    }
}
