/* cases_random_chained.c: attention as a seed has it, forward or with its gradients: sizes around
 * tiles and vectors, heads that share keys and values, also of few queries, layouts, what becomes
 * of the scores (scales, soft caps, biases, masks of positions and of tensors, softmax or another
 * function), what stands behind; and a config, which need not be legal. */
#include <string.h>

#include "tests/fuzz/cases.h"
#include "tests/fuzz/random.h"

struct attention {
    struct arena *a;
    struct rng *r;
    struct buf parameters, body;
    const char *dtype;
    int batches, heads;
    int shared;         /* heads of queries for each of keys and values */
    bool in_turn;       /* these are not neighbours: head h reads keys h % own */
    int m, n;           /* of the scores */
    int depth, columns; /* of queries and keys; of values */
    const char *value;  /* at hand */
    int values, n_parameters;
};

static int near_an_edge(struct rng *r) {
    int n = RNG_ANY(r, 16, 32, 48, 64, 80);
    if (rng_below(r, 2)) n += rng_below(r, 9) - 4;
    return n;
}

static const char *fresh(struct attention *t) {
    return t->value = arena_printf(t->a, "%%v%d", t->values++);
}

/* A parameter of these sizes, of type `dtype`: its name. */
static const char *put_parameter(struct attention *t, const char *dtype, const char *sizes) {
    const char *name = arena_printf(t->a, "%%x%d", t->n_parameters++);
    buf_printf(&t->parameters, "%s%s: %s%s", t->parameters.n ? ", " : "", name, dtype, sizes);
    return name;
}

/* [batches, heads, rows, columns], as it lies or as a linear layer leaves it: heads within rows. */
static const char *put_heads(struct attention *t, int heads, int rows, int columns) {
    if (rng_below(t->r, 3))
        return put_parameter(
            t, t->dtype, arena_printf(t->a, "[%d, %d, %d, %d]", t->batches, heads, rows, columns));
    const char *x = put_parameter(
        t, t->dtype, arena_printf(t->a, "[%d, %d, %d, %d]", t->batches, rows, heads, columns));
    buf_printf(&t->body, " %s = permute(%s, [0, 2, 1, 3])\n", fresh(t), x);
    return t->value;
}

/* Each of its heads as often as it has readers. */
static const char *repeat_heads(struct attention *t, const char *x, int rows, int columns) {
    if (t->shared == 1) return x;
    int own = t->heads / t->shared;
    buf_printf(&t->body, " %s = unsqueeze(%s, %d)\n", fresh(t), x, t->in_turn ? 1 : 2);
    x = t->value;
    buf_printf(&t->body, " %s = expand(%s, [%d, %d, %d, %d, %d])\n", fresh(t), x, t->batches,
               t->in_turn ? t->shared : own, t->in_turn ? own : t->shared, rows, columns);
    x = t->value;
    buf_printf(&t->body, " %s = contiguous(%s)\n", fresh(t), x);
    x = t->value;
    buf_printf(&t->body, " %s = view(%s, [%d, %d, %d, %d])\n", fresh(t), x, t->batches, t->heads,
               rows, columns);
    return t->value;
}

/* One operator of the value at hand; `rest` are its other operands, with a comma before them. */
static void put(struct attention *t, const char *op, const char *rest) {
    const char *x = t->value;
    buf_printf(&t->body, " %s = %s(%s%s)\n", fresh(t), op, x, rest);
}

/* Row less column, [m, 1] - [n], the name of it. */
static const char *put_distances(struct attention *t) {
    const char *scores = t->value, *columns;
    buf_printf(&t->body, " %s = arange(0, %d)\n", fresh(t), t->n);
    columns = t->value;
    buf_printf(&t->body, " %s = arange(0, %d)\n", fresh(t), t->m);
    put(t, "unsqueeze", ", -1");
    put(t, "sub", arena_printf(t->a, ", %s", columns));
    columns = t->value;
    t->value = scores;
    return columns;
}

/* A tensor that every score adds or asks: of all, or the same along some of the axes. */
static const char *sizes_of_scores(struct attention *t) {
    switch (rng_below(t->r, 4)) {
    case 0: return arena_printf(t->a, "[%d, %d]", t->m, t->n);
    case 1: return arena_printf(t->a, "[%d, 1, 1, %d]", t->batches, t->n);
    case 2: return arena_printf(t->a, "[%d, %d, %d]", t->heads, t->m, t->n);
    default: return arena_printf(t->a, "[%d, 1, %d, %d]", t->batches, t->m, t->n);
    }
}

/* Keys of another document than the query's, of two, and those behind it, maybe: what rows and
 * columns have. A row that sees itself alone, or nothing, is among others. */
static void put_documents(struct attention *t, const char *at) {
    const char *rows = put_parameter(t, "bool", arena_printf(t->a, "[%d]", t->m)), *other;
    const char *columns = t->m == t->n && rng_below(t->r, 2)
                              ? rows
                              : put_parameter(t, "bool", arena_printf(t->a, "[%d]", t->n));
    buf_printf(&t->body, " %s = unsqueeze(%s, -1)\n", fresh(t), rows);
    put(t, "ne", arena_printf(t->a, ", %s", columns));
    if (rng_below(t->r, 3) == 0) return;
    other = t->value;
    buf_printf(&t->body, " %s = lt(%s, 0)\n", fresh(t), at);
    put(t, "logical_or", arena_printf(t->a, ", %s", other));
}

/* What is hidden, the name of it: the keys behind a position, those that are too far before it,
 * both, those of other documents, or those that a tensor names. The first rows, or the last ones,
 * may see nothing. */
static const char *put_hidden(struct attention *t) {
    const char *scores = t->value, *hidden, *at = put_distances(t);
    int shift = rng_below(t->r, 3) ? 0 : rng_below(t->r, 81) - 40;
    switch (rng_below(t->r, 5)) {
    case 0: buf_printf(&t->body, " %s = lt(%s, %d)\n", fresh(t), at, shift); break;
    case 1: buf_printf(&t->body, " %s = gt(%s, %d)\n", fresh(t), at, shift); break;
    case 2: {
        buf_printf(&t->body, " %s = lt(%s, 0)\n", fresh(t), at);
        hidden = t->value;
        buf_printf(&t->body, " %s = gt(%s, %d)\n", fresh(t), at, 5 + rng_below(t->r, t->n));
        put(t, "logical_or", arena_printf(t->a, ", %s", hidden));
        break;
    }
    case 3: put_documents(t, at); break;
    default: {
        const char *x = put_parameter(t, t->dtype, sizes_of_scores(t));
        buf_printf(&t->body, " %s = gt(%s, %s)\n", fresh(t), x, rng_below(t->r, 2) ? "1.5" : "1");
        break;
    }
    }
    hidden = t->value;
    t->value = scores;
    return hidden;
}

static void put_mask(struct attention *t, const char *low) {
    put(t, "masked_fill", arena_printf(t->a, ", %s, %s", put_hidden(t), low));
}

/* What falls with the distance, by head: the name of it. */
static const char *put_bias(struct attention *t) {
    const char *scores = t->value, *bias, *at = put_distances(t);
    const char *slope = put_parameter(t, t->dtype, arena_printf(t->a, "[%d, 1, 1]", t->heads));
    buf_printf(&t->body, " %s = mul(%s, %s)\n", fresh(t), at, slope);
    bias = t->value;
    t->value = scores;
    return bias;
}

/* Attention as one operator: with no mask, a causal one, one of what is seen, or one that is added
 * to the scores, -inf where something is hidden. */
static void put_attention(struct attention *t, const char *q, const char *k, const char *v) {
    const char *mask = "";
    switch (rng_below(t->r, 5)) {
    case 0: break;
    case 1: mask = ", is_causal=True"; break;
    case 2:
        t->value = put_bias(t);
        put_mask(t, "-inf");
        put(t, "to", arena_printf(t->a, ", %s", t->dtype));
        mask = arena_printf(t->a, ", %s", t->value);
        break;
    default:
        t->value = put_hidden(t);
        put(t, "logical_not", "");
        mask = arena_printf(t->a, ", %s", t->value);
        break;
    }
    buf_printf(&t->body, " %s = scaled_dot_product_attention(%s, %s, %s%s)\n", fresh(t), q, k, v,
               mask);
}

static void put_of_scores(struct attention *t) {
    switch (rng_below(t->r, 6)) {
    case 0: put(t, "mul", ", 0.25"); break;
    case 1: put(t, "div", ", 3.5"); break;
    case 2:
        put(t, "mul", ", 0.05");
        put(t, "tanh", "");
        put(t, "mul", ", 8");
        break;
    case 3: put(t, "add", arena_printf(t->a, ", %s", put_bias(t))); break;
    case 4: {
        const char *bias = put_parameter(t, t->dtype, sizes_of_scores(t));
        put(t, "add", arena_printf(t->a, ", %s", bias));
        break;
    }
    default: break;
    }
}

/* The weights of the values, from the scores. */
static void put_weights(struct attention *t) {
    bool wide = rng_below(t->r, 2);
    if (wide) put(t, "to", ", f32");
    for (int i = 0, n = 1 + rng_below(t->r, 2); i < n; i++) put_of_scores(t);
    switch (rng_below(t->r, 6)) {
    case 0: put(t, "relu", ""); break;
    case 1: put(t, "sigmoid", ""); break;
    default:
        if (rng_below(t->r, 2)) {
            const char *least = wide || !strcmp(t->dtype, "bf16") ? "-1e38" : "-60000";
            put_mask(t, RNG_ANY(t->r, 0, 0, 1, 2) ? rng_below(t->r, 3) ? least : "-1000" : "-inf");
        }
        put(t, "softmax", ", -1");
        break;
    }
    if (rng_below(t->r, 5) == 0) { /* dropout, whose choice is a tensor */
        const char *weights = t->value;
        const char *drawn = put_parameter(t, t->dtype, sizes_of_scores(t));
        buf_printf(&t->body, " %s = lt(%s, 0.8)\n", fresh(t), drawn);
        put(t, "to", wide ? ", f32" : arena_printf(t->a, ", %s", t->dtype));
        put(t, "mul", arena_printf(t->a, ", %s", weights));
        put(t, "mul", ", 1.25");
    }
    put(t, "to", arena_printf(t->a, ", %s", t->dtype));
}

static void put_behind(struct attention *t) {
    switch (rng_below(t->r, 4)) {
    case 0:
        put(t, "permute", ", [0, 2, 1, 3]");
        put(t, "contiguous", "");
        put(t, "view",
            arena_printf(t->a, ", [%d, %d, %d]", t->batches, t->m, t->heads * t->columns));
        break;
    case 1: {
        const char *bias = put_parameter(t, t->dtype, arena_printf(t->a, "[%d]", t->columns));
        put(t, "add", arena_printf(t->a, ", %s", bias));
        put(t, "relu", "");
        break;
    }
    default: break;
    }
}

static const char *random_attention(struct arena *a, struct rng *r) {
    static const char *const types[] = {"bf16", "f16", "f32"};
    bool few = rng_below(r, 4) == 0; /* queries, as where a cache of keys is gone along */
    struct attention t = {.a = a,
                          .r = r,
                          .parameters = buf_new(a),
                          .body = buf_new(a),
                          .dtype = types[rng_below(r, 3)],
                          .batches = 1 + rng_below(r, 2),
                          .shared = few ? RNG_ANY(r, 2, 3, 4, 8) : RNG_ANY(r, 1, 1, 2),
                          .in_turn = rng_below(r, 4) == 0,
                          .m = few ? 1 + rng_below(r, 4) : near_an_edge(r),
                          .n = near_an_edge(r),
                          .depth = RNG_ANY(r, 8, 16, 24, 32, 40, 64)};
    t.heads = t.shared * (1 + rng_below(r, 2));
    t.columns = rng_below(r, 3) ? t.depth : RNG_ANY(r, 8, 16, 32, 48);
    int own = t.heads / t.shared;
    const char *q = put_heads(&t, t.heads, t.m, t.depth);
    const char *k = repeat_heads(&t, put_heads(&t, own, t.n, t.depth), t.n, t.depth);
    const char *v = repeat_heads(&t, put_heads(&t, own, t.n, t.columns), t.n, t.columns);
    if (rng_below(r, 3) == 0) {
        put_attention(&t, q, k, v);
    } else {
        buf_printf(&t.body, " %s = permute(%s, [0, 1, 3, 2])\n", fresh(&t), k);
        k = t.value;
        buf_printf(&t.body, " %s = matmul(%s, %s)\n", fresh(&t), q, k);
        put_weights(&t);
        put(&t, "matmul", arena_printf(a, ", %s", v));
    }
    put_behind(&t);
    const char *tf32 = rng_below(r, 2) ? " products tf32" : "";
    return arena_printf(a, "graph(%s)%s {\n%s return %s\n}\n", t.parameters.p, tf32, t.body.p,
                        t.value);
}

static const char *random_config(struct arena *a, struct rng *r, bool old, bool masks) {
    int n = RNG_ANY(r, 16, 32, 48, 64);
    const char *skip = masks && rng_below(r, 2) ? " skip=1" : ""; /* of data, maybe */
    if (!old) {
        int m = RNG_ANY(r, 64, 128), split = RNG_ANY(r, 0, 0, 2, 3);
        const char *turns = m > 64 && !split && rng_below(r, 2) ? " pingpong=1" : "";
        return arena_printf(a, "mma=1 m=%d n=%d stages=%d warps=%d%s%s%s", m, n, RNG_ANY(r, 2, 3),
                            m / 16 + 4, split ? arena_printf(a, " split=%d", split) : "", skip,
                            turns);
    }
    int tm = RNG_ANY(r, 16, 32), warps = RNG_ANY(r, 1, 2, 4), split = RNG_ANY(r, 0, 0, 2, 3);
    return arena_printf(a, "mma=2 m=%d n=%d tm=%d stages=%d warps=%d%s%s", tm * warps, n, tm,
                        RNG_ANY(r, 2, 3), warps, split ? arena_printf(a, " split=%d", split) : "",
                        skip);
}

void cases_random_chained(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (int i = 0; i < n; i++) {
        const char *text = random_attention(a, &r);
        bool old = rng_below(&r, 2), by_warps = old || strstr(text, "f32[");
        if (rng_below(&r, 2)) text = case_with_gradients(a, text);
        vec_push(a, out,
                 ((struct case_graph){
                     .text = text,
                     .every = CASES_DEFAULT,
                     .old = old,
                     .maybe = true,
                     .bound = true,
                     .chained = true,
                     .config = random_config(a, &r, by_warps, strstr(text, "masked_fill"))}));
    }
}
