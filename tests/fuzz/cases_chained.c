/* cases_chained.c: a product behind a product, in one kernel: what is between (softmax, with masks,
 * biases, positions, or another function), sizes around tiles and vectors, layouts of the factors.
 *
 *     scores = bmm(q, k^T); p = f(scores); o = bmm(p, v)
 *
 * Each is of a config whose tiles are several, of few rows. */
#include <string.h>

#include "tests/fuzz/cases.h"
#include "tests/fuzz/random.h"

/* $b batches, $m rows, $n columns of the first product, $r deep, $c columns of the second. */
struct shape {
    int b, m, n, r, c;
};

static const struct shape shapes[] = {
    {2, 40, 72, 64, 64}, {1, 16, 16, 16, 16},  {1, 33, 17, 24, 40},   {3, 2, 130, 32, 8},
    {1, 50, 48, 80, 96}, {1, 20, 100, 13, 11}, {1, 17, 40, 128, 128}, {1, 70, 33, 8, 1},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static const char *const between[] = {
    " %p = softmax(%s, -1)\n",
    " %d = mul(%s, 0.3)\n %p = softmax(%d, -1)\n",
    " %p = relu(%s)\n",
    " %d = mul(%s, 0.1)\n %p = sigmoid(%d)\n",
    " %d = add(%s, %bias)\n %p = softmax(%d, -1)\n",
    " %e = relu(%s)\n %f = add(%e, 0.1)\n %t = sum(%f, -1, True)\n %p = div(%f, %t)\n",
    " %h = gt(%bias, 0.2)\n %d = masked_fill(%s, %h, -inf)\n %p = softmax(%d, -1)\n",
    " %d = tril(%s)\n %p = softmax(%d, -1)\n",
    (" %d = div(%s, 3.5)\n %h = gt(%bias, 0.2)\n %e = masked_fill(%d, %h, -inf)\n"
     " %f = to(%e, f32)\n %g = softmax(%f, -1)\n %p = to(%g, $t)\n"),
};
enum { N_BETWEEN = sizeof between / sizeof *between };

static const char *const configs[] = {
    "mma=2 m=32 n=32 tm=16 stages=2 warps=2",
    "mma=2 m=32 n=16 tm=32 stages=3 warps=1",
    "mma=2 m=16 n=48 tm=16 stages=2 warps=1",
};
enum { N_CONFIGS = sizeof configs / sizeof *configs };

/* Of shapes of two tiles and more; the last part may be smaller, or have none. */
static const char *const in_parts[] = {
    "mma=2 m=16 n=16 tm=16 stages=2 warps=1 split=2",
    "mma=2 m=32 n=16 tm=16 stages=3 warps=2 split=3",
    "mma=2 m=32 n=16 tm=32 stages=2 warps=1 split=2",
};

/* Of sm_90a, for what tensor maps take. */
static const char *const of_groups[] = {
    "mma=1 m=64 n=32 stages=2 warps=8",
    "mma=1 m=128 n=16 stages=3 warps=12 pingpong=1",
    "mma=1 m=64 n=48 stages=2 warps=8",
};

/* Few rows, whose columns blocks share. */
static const char *const of_few[] = {
    "mma=1 m=64 n=16 stages=2 warps=8 split=3",
    "mma=1 m=64 n=48 stages=2 warps=8 split=2",
    "mma=1 m=64 n=16 stages=3 warps=8 split=5",
};

/* Rows of one warp, whose columns warps share, and blocks as well. */
static const char *const shared[] = {
    "mma=2 m=16 n=48 tm=16 tn=16 stages=2 warps=3",
    "mma=2 m=16 n=32 tm=16 tn=16 stages=3 warps=2 split=2",
    "mma=2 m=16 n=64 tm=16 tn=32 stages=2 warps=2",
};

/* $t in f becomes t. */
static const char *of_type(struct arena *a, const char *f, const char *t) {
    const char *at = strstr(f, "$t");
    return at ? arena_printf(a, "%.*s%s%s", (int)(at - f), f, t, at + 2) : f;
}

static const char *graph_of(struct arena *a, const struct shape *x, const char *f, const char *t,
                            bool turned) {
    const char *bias =
        strstr(f, "%bias") ? arena_printf(a, ", %%bias: %s[%d, %d]", t, x->m, x->n) : "";
    const char *keys = turned ? arena_printf(a, "%%k: %s[%d, %d, %d]", t, x->b, x->n, x->r)
                              : arena_printf(a, "%%y: %s[%d, %d, %d]", t, x->b, x->r, x->n);
    return arena_printf(a,
                        "graph(%%q: %s[%d, %d, %d], %s, %%v: %s[%d, %d, %d]%s) {\n%s"
                        " %%s = bmm(%%q, %%y)\n%s %%o = bmm(%%p, %%v)\n return %%o\n}\n",
                        t, x->b, x->m, x->r, keys, t, x->b, x->n, x->c, bias,
                        turned ? " %y = permute(%k, [0, 2, 1])\n" : "", of_type(a, f, t));
}

/* Whole: heads, grouped ones, masks that leave some rows nothing, windows, other layouts, what
 * stands behind. */
static const char *const whole[] = {
    "graph(%q: bf16[2, 3, 40, 32], %k: bf16[2, 3, 72, 32], %v: bf16[2, 3, 72, 24]) {\n"
    " %o = scaled_dot_product_attention(%q, %k, %v)\n return %o\n}\n",
    "graph(%q: f16[2, 2, 70, 16], %k: f16[2, 2, 70, 16], %v: f16[2, 2, 70, 16]) {\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, is_causal=True)\n return %o\n}\n",
    "graph(%q: bf16[1, 2, 90, 32], %k: bf16[1, 2, 50, 32], %v: bf16[1, 2, 50, 32]) {\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, is_causal=True, scale=0.5)\n return %o\n}\n",
    "graph(%q: bf16[2, 2, 40, 32], %k: bf16[2, 2, 72, 32], %v: bf16[2, 2, 72, 32], %b: bf16[40, "
    "72])"
    " {\n %m = gt(%b, 2.2)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n}\n",
    "graph(%q: bf16[2, 2, 40, 32], %k: bf16[2, 2, 72, 32], %v: bf16[2, 2, 72, 32], %b: bf16[2, 1, "
    "1,"
    " 72]) {\n %o = scaled_dot_product_attention(%q, %k, %v, %b)\n return %o\n}\n",
    /* two heads of q for each of k and v */
    "graph(%q: bf16[2, 2, 2, 33, 32], %k: bf16[2, 2, 1, 48, 32], %v: bf16[2, 2, 1, 48, 32]) {\n"
    " %c = expand(%k, [2, 2, 2, 48, 32])\n %f = expand(%v, [2, 2, 2, 48, 32])\n"
    " %o = scaled_dot_product_attention(%q, %c, %f)\n return %o\n}\n",
    /* heads beside each other in memory, as a linear layer leaves them, and stored so */
    "graph(%x: bf16[2, 40, 3, 2, 32]) {\n %p = permute(%x, [2, 0, 3, 1, 4])\n"
    " %q = select(%p, 0, 0)\n %k = select(%p, 0, 1)\n %v = select(%p, 0, 2)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, is_causal=True)\n"
    " %t = permute(%o, [0, 2, 1, 3])\n %u = contiguous(%t)\n %y = view(%u, [2, 40, 64])\n return "
    "%y\n}\n",
    /* what positions add to scores is a small product of its own */
    "graph(%q: bf16[2, 3, 40, 32], %k: bf16[2, 3, 40, 32], %v: bf16[2, 3, 40, 32], "
    "%t: bf16[1600, 16], %w: bf16[16, 3]) {\n"
    " %a = mm(%t, %w)\n %b = permute(%a, [1, 0])\n %c = contiguous(%b)\n"
    " %d = view(%c, [3, 40, 40])\n %e = sigmoid(%d)\n %kt = permute(%k, [0, 1, 3, 2])\n"
    " %s = matmul(%q, %kt)\n %f = add(%s, %e)\n %p = softmax(%f, -1)\n %o = matmul(%p, %v)\n"
    " return %o\n}\n",
    /* a soft cap, and something behind */
    "graph(%q: bf16[2, 40, 32], %y: bf16[2, 32, 72], %v: bf16[2, 72, 32], %w: bf16[32]) {\n"
    " %s = bmm(%q, %y)\n %a = mul(%s, 0.02)\n %t = tanh(%a)\n %c = mul(%t, 50)\n"
    " %p = softmax(%c, -1)\n %o = bmm(%p, %v)\n %b = add(%o, %w)\n %r = relu(%b)\n return %r\n}\n",
};
/* Few queries, of heads that share keys and values: rows of one batch. As heads lie, by a head's
 * number, with what differs from head to head and a window; and in turn. */
static const char *const few[] = {
    "graph(%q: bf16[2, 8, 1, 32], %k: bf16[2, 2, 1, 70, 32], %v: bf16[2, 2, 1, 70, 24]) {\n"
    " %kx = expand(%k, [2, 2, 4, 70, 32])\n %kc = contiguous(%kx)\n"
    " %kv = view(%kc, [2, 8, 70, 32])\n %vx = expand(%v, [2, 2, 4, 70, 24])\n"
    " %vc = contiguous(%vx)\n %vv = view(%vc, [2, 8, 70, 24])\n"
    " %o = scaled_dot_product_attention(%q, %kv, %vv)\n return %o\n}\n",
    "graph(%q: bf16[1, 6, 3, 32], %k: bf16[1, 2, 1, 77, 32], %v: bf16[1, 2, 1, 77, 32], "
    "%w: bf16[6, 1, 1]) {\n"
    " %kx = expand(%k, [1, 2, 3, 77, 32])\n %kc = contiguous(%kx)\n"
    " %kv = view(%kc, [1, 6, 77, 32])\n %vx = expand(%v, [1, 2, 3, 77, 32])\n"
    " %vc = contiguous(%vx)\n %vv = view(%vc, [1, 6, 77, 32])\n"
    " %j = arange(0, 77)\n %a = arange(74, 77)\n %i = unsqueeze(%a, -1)\n %d = sub(%j, %i)\n"
    " %b = mul(%d, %w)\n %h = gt(%d, 0)\n %l = lt(%d, -40)\n %z = logical_or(%h, %l)\n"
    " %c = to(%b, bf16)\n %m = masked_fill(%c, %z, -inf)\n"
    " %o = scaled_dot_product_attention(%q, %kv, %vv, %m)\n"
    " %t = permute(%o, [0, 2, 1, 3])\n %u = contiguous(%t)\n %y = view(%u, [1, 3, 192])\n"
    " return %y\n}\n",
    "graph(%q: f16[2, 4, 2, 16], %k: f16[2, 1, 2, 50, 16], %v: f16[2, 1, 2, 50, 16]) {\n"
    " %kx = expand(%k, [2, 2, 2, 50, 16])\n %kc = contiguous(%kx)\n"
    " %kv = view(%kc, [2, 4, 50, 16])\n %vx = expand(%v, [2, 2, 2, 50, 16])\n"
    " %vc = contiguous(%vx)\n %vv = view(%vc, [2, 4, 50, 16])\n"
    " %o = scaled_dot_product_attention(%q, %kv, %vv)\n return %o\n}\n",
};
enum { N_FEW = sizeof few / sizeof *few };

/* What rows come to, another kernel reads, of scores that are next to 0: sums count what low
 * numbers hide, in rows that have no others, also in tiles that positions hide. */
static const char *const shown[] = {
    "graph(%q: bf16[2, 150, 32], %k: bf16[2, 150, 32], %v: bf16[2, 150, 32], %d: bool[150]) {\n"
    " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n %f = to(%s, f32)\n %j = arange(0, 150)\n"
    " %i = unsqueeze(%j, -1)\n %a = sub(%i, %j)\n %m = ge(%a, 40)\n %r = unsqueeze(%d, -1)\n"
    " %c = bitwise_and(%m, %r)\n %x = mul(%f, 0.00001)\n %w = where(%c, %x, -1e38)\n"
    " %y = amax(%w, [-1], True)\n %z = sub(%w, %y)\n %e = exp(%z)\n %t = sum(%e, [-1], True)\n"
    " %p = div(%e, %t)\n %n = where(%c, %p, 0.0)\n %b = to(%n, bf16)\n %o = bmm(%b, %v)\n"
    " %u = sum(%t, [0])\n return %o, %u\n}\n",
    /* and sums of another function of these */
    "graph(%q: bf16[2, 150, 32], %k: bf16[2, 150, 32], %v: bf16[2, 150, 32], %d: bool[150]) {\n"
    " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n %f = to(%s, f32)\n %j = arange(0, 150)\n"
    " %i = unsqueeze(%j, -1)\n %a = sub(%i, %j)\n %m = ge(%a, 40)\n %r = unsqueeze(%d, -1)\n"
    " %c = bitwise_and(%m, %r)\n %x = mul(%f, 0.00001)\n %w = where(%c, %x, -1e38)\n"
    " %y = amax(%w, [-1], True)\n %z = sub(%w, %y)\n %e = exp(%z)\n %h = sigmoid(%z)\n"
    " %t = sum(%h, [-1], True)\n"
    " %p = div(%e, %t)\n %n = where(%c, %p, 0.0)\n %b = to(%n, bf16)\n %o = bmm(%b, %v)\n"
    " %u = sum(%t, [0])\n return %o, %u\n}\n",
};
enum { N_SHOWN = sizeof shown / sizeof *shown };

/* Masks of positions, whose tiles that hide all are left out; forward, and with gradients: up to a
 * row's own place, with fewer queries than keys; a window; one that hides all of the first rows,
 * whole tiles of them; one of a tensor, too; one that is added, -inf where something is hidden, of
 * the first rows all. */
static const char *const masked[] = {
    "graph(%q: bf16[1, 2, 40, 32], %k: bf16[1, 2, 72, 32], %v: bf16[1, 2, 72, 32]) {\n"
    " %j = arange(0, 72)\n %a = arange(32, 72)\n %i = unsqueeze(%a, -1)\n %m = le(%j, %i)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n}\n",
    "graph(%q: f16[1, 2, 90, 32], %k: f16[1, 2, 90, 32], %v: f16[1, 2, 90, 32]) {\n"
    " %j = arange(0, 90)\n %i = unsqueeze(%j, -1)\n %m = le(%j, %i)\n %d = sub(%i, %j)\n"
    " %w = lt(%d, 20)\n %b = bitwise_and(%m, %w)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %b)\n return %o\n}\n",
    "graph(%q: bf16[1, 2, 150, 32], %k: bf16[1, 2, 150, 32], %v: bf16[1, 2, 150, 32]) {\n"
    " %j = arange(0, 150)\n %i = unsqueeze(%j, -1)\n %d = sub(%i, %j)\n %m = ge(%d, 70)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n}\n",
    "graph(%q: bf16[1, 2, 50, 32], %k: bf16[1, 2, 50, 32], %v: bf16[1, 2, 50, 32], %b: bf16[50, "
    "50]) {\n %j = arange(0, 50)\n %i = unsqueeze(%j, -1)\n %m = le(%j, %i)\n %g = gt(%b, 1.2)\n"
    " %c = bitwise_and(%m, %g)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %c)\n return %o\n}\n",
    "graph(%q: bf16[1, 2, 80, 32], %k: bf16[1, 2, 80, 32], %v: bf16[1, 2, 80, 32], %s: bf16[2, 1, "
    "1]) {\n %j = arange(0, 80)\n %i = unsqueeze(%j, -1)\n %d = sub(%j, %i)\n %b = mul(%d, %s)\n"
    " %c = to(%b, bf16)\n %h = gt(%d, -3)\n %m = masked_fill(%c, %h, -inf)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n}\n",
    /* of what rows and columns have, which is little: documents, whose rows see themselves; and
     * what rows that see nothing, tiles of them or some, have beside others */
    "graph(%q: bf16[1, 2, 90, 32], %k: bf16[1, 2, 90, 32], %v: bf16[1, 2, 90, 32], %d: bool[90]) "
    "{\n %j = arange(0, 90)\n %i = unsqueeze(%j, -1)\n %m = le(%j, %i)\n %r = unsqueeze(%d, -1)\n"
    " %e = eq(%r, %d)\n %c = bitwise_and(%e, %m)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %c)\n return %o\n}\n",
    "graph(%q: bf16[1, 2, 150, 32], %k: bf16[1, 2, 150, 32], %v: bf16[1, 2, 150, 32], "
    "%d: bool[150]) {\n %j = arange(0, 150)\n %i = unsqueeze(%j, -1)\n %a = sub(%i, %j)\n"
    " %m = ge(%a, 40)\n %r = unsqueeze(%d, -1)\n %c = bitwise_and(%m, %r)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %c)\n return %o\n}\n",
};
enum { N_MASKED = sizeof masked / sizeof *masked };

/* Masks of data that hide whole tiles, which are skipped: documents of twenty places, each of them
 * two by what the data say, differing from batch to batch, up to a row's own place; with rows, also
 * whole tiles of them, that see nothing; of keys alone, as padding is; beside a window, fewer
 * queries than keys; without softmax; and -inf. */
#define DOCUMENTS                                                                                  \
    " %j = arange(0, 90)\n %b = floor_divide(%j, 20)\n %e = add(%b, 9)\n %c = where(%d, %b, %e)\n"
#define ITS_OWN " %r = unsqueeze(%c, -1)\n %s = unsqueeze(%c, 1)\n %m = eq(%r, %s)\n"
#define OF_90(more)                                                                                \
    "graph(%q: bf16[2, 2, 90, 32], %k: bf16[2, 2, 90, 32], %v: bf16[2, 2, 90, 32], " more ") {\n"
#define ATTENTION_OF(keys, values, mask)                                                           \
    " %u = unsqueeze(" mask ", 1)\n"                                                               \
    " %o = scaled_dot_product_attention(%q, " keys ", " values ", %u)\n return %o\n}\n"
#define ATTENTION(mask) ATTENTION_OF("%k", "%v", mask)
/* %kv, %vv: so many heads as `all`, each of two as often as `each` */
#define HEADS(each, all, n)                                                                        \
    " %k1 = unsqueeze(%k, 2)\n %k2 = expand(%k1, [2, 2, " each ", " n ", 32])\n"                   \
    " %k3 = contiguous(%k2)\n %kv = view(%k3, [2, " all ", " n ", 32])\n"                          \
    " %v1 = unsqueeze(%v, 2)\n %v2 = expand(%v1, [2, 2, " each ", " n ", 32])\n"                   \
    " %v3 = contiguous(%v2)\n %vv = view(%v3, [2, " all ", " n ", 32])\n"
static const char *const skipped[] = {
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN
    " %i = unsqueeze(%j, -1)\n %l = le(%j, %i)\n %a = bitwise_and(%m, %l)\n" ATTENTION("%a"),
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN ATTENTION("%m"),
    OF_90("%d: bool[2, 90]") DOCUMENTS
    " %g = ge(%b, 2)\n %n = where(%g, %c, -5)\n %r = unsqueeze(%n, -1)\n %s = unsqueeze(%c, 1)\n"
    " %m = eq(%r, %s)\n" ATTENTION("%m"),
    OF_90("%d: i64[2, 1]") " %j = arange(0, 90)\n %e = mul(%d, 20)\n %m = lt(%j, %e)\n"
                           " %w = unsqueeze(%m, 1)\n" ATTENTION("%w"),
    "graph(%q: f16[2, 2, 40, 32], %k: f16[2, 2, 90, 32], %v: f16[2, 2, 90, 32], %d: bool[90]) "
    "{\n" DOCUMENTS " %x = slice(%c, 0, 50, 90, 1)\n %r = unsqueeze(%x, -1)\n %m = eq(%r, %c)\n"
    " %y = arange(50, 90)\n %i = unsqueeze(%y, -1)\n %f = sub(%i, %j)\n %l = lt(%f, 30)\n"
    " %a = bitwise_and(%m, %l)\n %u = unsqueeze(%a, 0)\n"
    " %o = scaled_dot_product_attention(%q, %k, %v, %u)\n return %o\n}\n",
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN
    " %kt = permute(%k, [0, 1, 3, 2])\n %t = matmul(%q, %kt)\n %z = relu(%t)\n"
    " %h = unsqueeze(%m, 1)\n %p = where(%h, %z, 0.0)\n %o = matmul(%p, %v)\n return %o\n}\n",
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN
    " %kt = permute(%k, [0, 1, 3, 2])\n %t = matmul(%q, %kt)\n %h = unsqueeze(%m, 1)\n"
    " %x = where(%h, %t, -inf)\n %p = softmax(%x, -1)\n %o = matmul(%p, %v)\n return %o\n}\n",
    /* functions that are 0 of -inf */
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN
    " %kt = permute(%k, [0, 1, 3, 2])\n %t = matmul(%q, %kt)\n %h = unsqueeze(%m, 1)\n"
    " %x = where(%h, %t, -inf)\n %z = mul(%x, 0.125)\n %p = relu(%z)\n %o = matmul(%p, %v)\n"
    " return %o\n}\n",
    OF_90("%d: bool[2, 90]") DOCUMENTS ITS_OWN
    " %kt = permute(%k, [0, 1, 3, 2])\n %t = matmul(%q, %kt)\n %h = unsqueeze(%m, 1)\n"
    " %x = where(%h, %t, -inf)\n %p = sigmoid(%x)\n %o = matmul(%p, %v)\n return %o\n}\n",
    /* a mask of all elements, beside positions that are in the same twenty and before */
    OF_90("%d: bool[90, 90]") " %j = arange(0, 90)\n %i = unsqueeze(%j, -1)\n"
                              " %b = floor_divide(%j, 20)\n %r = unsqueeze(%b, -1)\n %e = eq(%r, "
                              "%b)\n"
                              " %x = bitwise_and(%d, %e)\n %l = le(%j, %i)\n %m = bitwise_and(%x, "
                              "%l)\n"
                              " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n}\n",
    /* heads that share keys; and so few queries that these are rows, of keys that are there */
    "graph(%q: bf16[2, 4, 90, 32], %k: bf16[2, 2, 90, 32], %v: bf16[2, 2, 90, 32], %d: bool[2, "
    "90])"
    " {\n" DOCUMENTS ITS_OWN HEADS("2", "4", "90") ATTENTION_OF("%kv", "%vv", "%m"),
    "graph(%q: bf16[2, 8, 1, 32], %k: bf16[2, 2, 70, 32], %v: bf16[2, 2, 70, 32], %d: bool[2, 1]) "
    "{\n %j = arange(0, 70)\n %e = where(%d, 30, 55)\n %m = lt(%j, %e)\n %w = unsqueeze(%m, "
    "1)\n" HEADS("4", "8", "70") ATTENTION_OF("%kv", "%vv", "%w"),
};
enum { N_SKIPPED = sizeof skipped / sizeof *skipped };

/* Of two heads that share k and v, whose gradients are sums of both heads'. */
static const char grouped_gradient[] =
    "graph(%q: bf16[2, 2, 33, 32], %k: bf16[2, 1, 48, 32], %v: bf16[2, 1, 48, 32], "
    "%g: bf16[2, 2, 33, 32]) {\n"
    " %ke = expand(%k, [2, 2, 48, 32])\n %kc = contiguous(%ke)\n %kf = view(%kc, [4, 48, 32])\n"
    " %ve = expand(%v, [2, 2, 48, 32])\n %vc = contiguous(%ve)\n %vf = view(%vc, [4, 48, 32])\n"
    " %qf = view(%q, [4, 33, 32])\n %gf = view(%g, [4, 33, 32])\n"
    " %kt = permute(%kf, [0, 2, 1])\n %s = bmm(%qf, %kt)\n %f = to(%s, f32)\n"
    " %m = mul(%f, 0.2)\n %p = softmax(%m, -1)\n %pb = to(%p, bf16)\n %o = bmm(%pb, %vf)\n"
    " %vt = permute(%vf, [0, 2, 1])\n %dp = bmm(%gf, %vt)\n %df = to(%dp, f32)\n"
    " %z = mul(%df, %p)\n %zr = sum(%z, [-1], True)\n %e = sub(%df, %zr)\n"
    " %ds = mul(%p, %e)\n %dt = mul(%ds, 0.2)\n %db = to(%dt, bf16)\n %dq = bmm(%db, %kf)\n"
    " %dbt = permute(%db, [0, 2, 1])\n %dk = bmm(%dbt, %qf)\n %dkv = view(%dk, [2, 2, 48, 32])\n"
    " %dks = sum(%dkv, [1])\n %pt = permute(%pb, [0, 2, 1])\n %dv = bmm(%pt, %gf)\n"
    " %dvv = view(%dv, [2, 2, 48, 32])\n %dvs = sum(%dvv, [1])\n"
    " return %o, %dq, %dks, %dvs\n}\n";

/* What may look like a chain. */
static const char *const others[] = {
    /* a query each, of many heads and a cache of keys */
    "graph(%q: bf16[40, 1, 32], %k: bf16[40, 70, 32], %v: bf16[40, 70, 32]) {\n"
    " %o = scaled_dot_product_attention(%q, %k, %v)\n return %o\n}\n",
    /* and a bias of the keys alone */
    "graph(%q: f16[9, 1, 16], %y: f16[9, 16, 64], %v: f16[9, 64, 8], %b: f16[1, 1, 64]) {\n"
    " %s = baddbmm(%b, %q, %y, beta=1, alpha=2)\n %o = bmm(%s, %v)\n return %o\n}\n",
    "graph(%q: bf16[2, 48, 32], %y: bf16[2, 32, 48], %v: bf16[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %p = softmax(%s, 1)\n %o = bmm(%p, %v)\n return %o\n}\n",
    "graph(%q: bf16[2, 48, 32], %y: bf16[2, 32, 48], %v: bf16[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %p = softmax(%s, -1)\n %t = permute(%p, [0, 2, 1])\n %o = bmm(%t, %v)\n return %o\n}\n",
    "graph(%q: bf16[2, 48, 32], %y: bf16[2, 32, 48], %v: bf16[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n return %o, %p\n}\n",
    "graph(%q: bf16[2, 48, 32], %y: bf16[2, 32, 48], %v: bf16[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %p = softmax(%s, -1)\n %r = softmax(%p, -1)\n %o = bmm(%r, %v)\n return %o\n}\n",
    "graph(%q: bf16[2, 48, 32], %y: bf16[2, 32, 48], %v: bf16[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %m = mean(%s, -1, True)\n %d = sub(%s, %m)\n %o = bmm(%d, %v)\n return %o\n}\n",
    "graph(%q: bf16[48, 32], %y: bf16[32, 48]) {\n %s = mm(%q, %y)\n %p = softmax(%s, -1)\n"
    " %o = mm(%p, %s)\n return %o\n}\n",
    "graph(%q: f32[2, 40, 32], %y: f32[2, 32, 48], %v: f32[2, 48, 32]) {\n %s = bmm(%q, %y)\n"
    " %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n return %o\n}\n",
};
enum { N_OTHERS = sizeof others / sizeof *others };

/* What keys have, times what a head has, for weights that are sums of nothing. */
static const char of_heads[] =
    "graph(%q: f16[4, 20, 16], %y: f16[4, 16, 48], %v: f16[4, 48, 16], %h: f16[4, 1, 1], "
    "%b: f16[48]) {\n"
    " %s = bmm(%q, %y)\n %a = mul(%b, %h)\n %t = add(%s, %a)\n %p = relu(%t)\n"
    " %o = bmm(%p, %v)\n return %o\n}\n";

/* Forward and backward. `exponents` makes %m of the scores %f, in f32; `of_scores` %dt, their
 * gradient, of %ds, which is that of %m. */
struct gradients {
    int m, n, r;
    const char *exponents, *of_scores;
};
static const struct gradients gradients[] = {
    {40, 72, 32, " %m = mul(%f, 0.2)\n", " %dt = mul(%ds, 0.2)\n"},
    {70, 70, 16, " %a = mul(%f, 0.25)\n %m = tril(%a)\n",
     " %x = tril(%ds)\n %dt = mul(%x, 0.25)\n"},
    {50, 90, 64, " %t = tanh(%f)\n %m = mul(%t, 5)\n",
     " %u = mul(%t, %t)\n %x = sub(1, %u)\n %y = mul(%ds, %x)\n %dt = mul(%y, 5)\n"},
    {33, 70, 24, " %h = gt(%b, 1.1)\n %a = mul(%f, 0.2)\n %m = masked_fill(%a, %h, -inf)\n",
     " %x = masked_fill(%ds, %h, 0)\n %dt = mul(%x, 0.2)\n"},
    {80, 80, 32,
     " %i = arange(0, 80)\n %j = unsqueeze(%i, -1)\n %a = sub(%j, %i)\n %h = lt(%a, 0)\n"
     " %l = gt(%a, 20)\n %w = logical_or(%h, %l)\n %c = mul(%f, 0.2)\n"
     " %m = masked_fill(%c, %w, -inf)\n",
     " %x = masked_fill(%ds, %w, 0)\n %dt = mul(%x, 0.2)\n"},
    /* low numbers instead, where all rows see something; and where the last ones do not, whose
     * weights are all the same */
    {80, 80, 32,
     " %i = arange(0, 80)\n %j = unsqueeze(%i, -1)\n %a = sub(%j, %i)\n %h = lt(%a, 0)\n"
     " %c = mul(%f, 0.2)\n %m = masked_fill(%c, %h, -1e38)\n",
     " %x = masked_fill(%ds, %h, 0)\n %dt = mul(%x, 0.2)\n"},
    {150, 28, 32,
     " %i = arange(0, 28)\n %k0 = arange(0, 150)\n %j = unsqueeze(%k0, -1)\n %a = sub(%j, %i)\n"
     " %w = gt(%a, 20)\n %c = mul(%f, 0.2)\n %m = masked_fill(%c, %w, -1e38)\n",
     " %x = masked_fill(%ds, %w, 0)\n %dt = mul(%x, 0.2)\n"},
    /* the last rows, whole tiles of them, see nothing: their results are nan, the gradients of
     * their queries 0, those of all keys and values nan */
    {150, 28, 32,
     " %i = arange(0, 28)\n %k0 = arange(0, 150)\n %j = unsqueeze(%k0, -1)\n %a = sub(%j, %i)\n"
     " %w = gt(%a, 20)\n %c = mul(%f, 0.2)\n %m = masked_fill(%c, %w, -inf)\n",
     " %x = masked_fill(%ds, %w, 0)\n %dt = mul(%x, 0.2)\n"},
    /* a tensor hides what a row's own place leaves of the first rows: the gradients of all keys and
     * values are nan, also of those in tiles that these rows do not see by their places */
    {80, 80, 32,
     " %i = arange(0, 80)\n %j = unsqueeze(%i, -1)\n %a = sub(%j, %i)\n %l = lt(%a, 0)\n"
     " %y = lt(%b, 1.1)\n %c = mul(%f, 0.2)\n %d = masked_fill(%c, %l, -inf)\n"
     " %m = masked_fill(%d, %y, -inf)\n",
     " %dt = mul(%ds, 0.2)\n"},
    {80, 80, 32,
     " %i = arange(0, 80)\n %j = unsqueeze(%i, -1)\n %a = sub(%j, %i)\n %l = lt(%a, 0)\n"
     " %y = unsqueeze(%rows, -1)\n %h = logical_or(%l, %y)\n %c = mul(%f, 0.2)\n"
     " %m = masked_fill(%c, %h, -inf)\n",
     " %dt = mul(%ds, 0.2)\n"},
    /* whole tiles, which all are alike: dV is begun before dK's terms are made */
    {96, 192, 32, " %m = mul(%f, 0.2)\n", " %dt = mul(%ds, 0.2)\n"},
};
enum { N_GRADIENTS = sizeof gradients / sizeof *gradients };

static const char *gradient_of(struct arena *a, const struct gradients *g, const char *t) {
    return arena_printf(
        a,
        "graph(%%q: %s[2, %d, %d], %%k: %s[2, %d, %d], %%v: %s[2, %d, %d], %%g: %s[2, %d, %d]%s) "
        "{\n"
        " %%kt = permute(%%k, [0, 2, 1])\n %%s = bmm(%%q, %%kt)\n %%f = to(%%s, f32)\n%s"
        " %%p = softmax(%%m, -1)\n %%pb = to(%%p, %s)\n %%o = bmm(%%pb, %%v)\n"
        " %%vt = permute(%%v, [0, 2, 1])\n %%dp = bmm(%%g, %%vt)\n %%df = to(%%dp, f32)\n"
        " %%z = mul(%%df, %%p)\n %%zr = sum(%%z, [-1], True)\n %%e = sub(%%df, %%zr)\n"
        " %%ds = mul(%%p, %%e)\n%s %%db = to(%%dt, %s)\n %%dq = bmm(%%db, %%k)\n"
        " %%dbt = permute(%%db, [0, 2, 1])\n %%dk = bmm(%%dbt, %%q)\n"
        " %%pt = permute(%%pb, [0, 2, 1])\n %%dv = bmm(%%pt, %%g)\n"
        " return %%o, %%dq, %%dk, %%dv\n}\n",
        t, g->m, g->r, t, g->n, g->r, t, g->n, g->r, t, g->m, g->r,
        strstr(g->exponents, "%b") ? arena_printf(a, ", %%b: %s[%d, %d]", t, g->m, g->n)
        : strstr(g->exponents, "unsqueeze(%rows") ? arena_printf(a, ", %%rows: bool[%d]", g->m)
                                                  : "",
        g->exponents, t, g->of_scores, t);
}
enum { N_WHOLE = sizeof whole / sizeof *whole };

/* The same of f32, in that precision. */
static const char *in_f32(struct arena *a, const char *text, const char *precision) {
    static const char of[] = ") {", narrow[][5] = {"bf16", "f16"};
    const char *head = strstr(text, of);
    struct buf b = buf_new(a);
    for (const char *at = text; *at;) {
        const char *found = NULL;
        for (int i = 0; i < 2 && !found; i++)
            if (!strncmp(at, narrow[i], strlen(narrow[i]))) found = narrow[i];
        if (at == head)
            buf_printf(&b, ") products %s {", precision), at += sizeof of - 1;
        else if (found)
            buf_puts(&b, "f32"), at += strlen(found);
        else
            buf_putc(&b, *at++);
    }
    return b.p;
}

/* By warps, and in tf32 by warpgroups. */
static void cases_f32(struct arena *a, uint32_t from, int step, case_vec *out) {
    uint32_t end = out->n;
    for (uint32_t i = from, n = 0, groups = 0; i < end; i++) {
        struct case_graph g = out->at[i];
        if (!g.config) continue;
        bool by_warp = !strncmp(g.config, "mma=2", 5);
        if ((by_warp ? n++ : groups++) % (uint32_t)step) continue;
        g.text = in_f32(a, g.text, !by_warp || n / (uint32_t)step % 2 ? "tf32" : "f32");
        g.maybe = true; /* planes need lines of 128 bytes, groups factors along the depth */
        g.bound = true; /* of its own, as tf32 errs by more than its type does */
        vec_push(a, out, g);
    }
}

/* Of a graph's two batches many, so that blocks have several tiles. */
static const char *of_batches(struct arena *a, const char *text, int n) {
    struct buf b = buf_new(a);
    for (const char *at; (at = strstr(text, "[2, ")); text = at + 4)
        buf_printf(&b, "%.*s[%d, ", (int)(at - text), text, n);
    buf_puts(&b, text);
    return b.p;
}

/* Blocks with tile after tile: of which c's tiles lag, or are b's, or of twins. */
static void cases_blocks(struct arena *a, case_vec *out) {
    static const char *const of_blocks[] = {
        "mma=1 m=128 n=32 stages=2 warps=12 blocks=1",
        "mma=1 m=128 n=16 stages=3 warps=12 blocks=1 pingpong=1",
        "mma=1 m=64 n=32 stages=2 warps=8 blocks=2",
    };
    static const struct shape x = {2, 20, 40, 16, 16};
    static const int batches[] = {141, 149, 277};
    for (int i = 0; i < 4; i++) {
        const char *f = between[i % 2 ? 7 : 1];
        const char *text = i < 3 ? graph_of(a, &x, f, i % 2 ? "bf16" : "f16", true)
                                 : gradient_of(a, &gradients[i % N_GRADIENTS], "bf16");
        struct case_graph g = {.text = of_batches(a, text, batches[i % 3]),
                               .every = CASES_DEFAULT,
                               .bound = i >= 2,
                               .config = of_blocks[i % 3]};
        if (i == 2) g.text = in_f32(a, g.text, "tf32");
        vec_push(a, out, g);
    }
}

void cases_chained(struct arena *a, int step, case_vec *out) {
    uint32_t before = out->n;
    static const char *const types[] = {"bf16", "f16"};
    struct rng r = {1};
    for (int i = 0; i < N_SHAPES; i++)
        for (int f = 0; f < N_BETWEEN; f++) {
            if (rng_below(&r, step)) continue;
            struct case_graph g = {
                .text = graph_of(a, &shapes[i], between[f], types[(i + f) % 2], (i + f) % 3 != 0),
                .every = CASES_DEFAULT,
                .old = (i + f) % 4 != 0,
                .config = configs[(i + f) % N_CONFIGS]};
            vec_push(a, out, g);
            g.old = false;
            g.maybe = shapes[i].r % 8 || shapes[i].c % 8 || shapes[i].n % 8;
            g.config = of_groups[(i + f) % N_CONFIGS];
            vec_push(a, out, g);
            g.old = (i + f) % 2;
            g.config = in_parts[(i + f) % N_CONFIGS];
            if (shapes[i].n > 32) vec_push(a, out, g);
        }
    for (int i = 0; i < 2 * (N_GRADIENTS + 1); i++) {
        bool old = i % 2 == 0;
        struct case_graph g = {.text = i / 2 < N_GRADIENTS
                                           ? gradient_of(a, &gradients[i / 2], "bf16")
                                           : grouped_gradient,
                               .every = CASES_DEFAULT,
                               .old = old,
                               .bound = true,
                               .nans = i / 2 < N_GRADIENTS,
                               .config = (old ? configs : of_groups)[i / 2 % N_CONFIGS]};
        vec_push(a, out, g);
    }
    for (int i = 0; i < 4 * N_MASKED; i++) {
        bool old = i % 2 == 0;
        const char *text = masked[i / 4];
        struct case_graph g = {.text = i / 2 % 2 ? case_with_gradients(a, text) : text,
                               .every = CASES_DEFAULT,
                               .old = old,
                               .bound = true,
                               .config = (old ? configs : of_groups)[i / 4 % N_CONFIGS]};
        vec_push(a, out, g);
        g.config = in_parts[i / 4 % N_CONFIGS];
        if (!old) vec_push(a, out, g);
    }
    for (int i = 0; i < 6 * N_SKIPPED; i++) {
        static const char *const *const of[] = {configs, in_parts, of_groups};
        const char *text = skipped[i / 6], *config = of[i / 2 % 3][i / 6 % N_CONFIGS];
        if (step > 1 && i / 2 % 3 != i / 6 % 3) continue; /* each in one config */
        struct case_graph g = {.text = i % 2 ? case_with_gradients(a, text) : text,
                               .every = CASES_DEFAULT,
                               .old = i / 2 % 3 == 0,
                               .bound = true,
                               .nans = true,
                               .config = arena_printf(a, "%s skip=1", config)};
        vec_push(a, out, g);
    }
    for (int i = 0; i < 4 * N_FEW; i++) {
        static const char *const *const of[] = {configs, in_parts, of_few, shared};
        struct case_graph g = {.text = few[i / 4],
                               .every = CASES_DEFAULT,
                               .old = i % 2,
                               .bound = true,
                               .maybe = i % 4 == 2,
                               .config = of[i % 4][i / 4 % N_CONFIGS]};
        if (i % 4 == 2) g.old = false;
        vec_push(a, out, g);
    }
    for (int i = 0; i < 3 * N_SHOWN; i++) {
        static const char *const *const of[] = {configs, in_parts, of_groups};
        struct case_graph g = {.text = shown[i / 3],
                               .every = CASES_DEFAULT,
                               .old = i % 3 == 0,
                               .config = of[i % 3][1]};
        vec_push(a, out, g);
    }
    for (int i = 0; i < N_BETWEEN; i++) {
        static const struct shape x = {2, 7, 75, 32, 16};
        struct case_graph g = {.text = graph_of(a, &x, between[i], types[i % 2], true),
                               .every = CASES_DEFAULT,
                               .config = of_few[i % N_CONFIGS]};
        vec_push(a, out, g);
        g.old = i % 3 == 0;
        g.config = shared[i / 2 % N_CONFIGS];
        vec_push(a, out, g);
    }
    for (int i = 0; i < N_OTHERS; i++) {
        struct case_graph g = {.text = others[i], .every = CASES_DEFAULT, .old = i % 2 == 0};
        vec_push(a, out, g);
    }
    for (int i = 0; i < N_WHOLE * N_CONFIGS; i++) {
        struct case_graph g = {.text = whole[i / N_CONFIGS],
                               .every = CASES_DEFAULT,
                               .old = i % 2 == 0,
                               .config = configs[i % N_CONFIGS]};
        vec_push(a, out, g);
        g.old = false;
        g.config = of_groups[i % N_CONFIGS];
        vec_push(a, out, g);
    }
    static const char *const even[] = {"mma=1 m=128 n=208 stages=2 warps=12",
                                       "mma=1 m=64 n=112 stages=3 warps=8"};
    for (int i = 0; i < 2; i++) { /* all columns in one step, or in two */
        static const struct shape x = {1, 133, 197, 32, 16};
        struct case_graph g = {.text = graph_of(a, &x, between[i], types[i % 2], true),
                               .every = CASES_DEFAULT,
                               .config = even[i]};
        vec_push(a, out, g);
    }
    cases_f32(a, before, step, out);
    cases_blocks(a, out);
    vec_push(a, out, ((struct case_graph){.text = of_heads, .every = CASES_DEFAULT, .old = true}));
    for (uint32_t i = before; i < out->n; i++) out->at[i].chained = true;
}
