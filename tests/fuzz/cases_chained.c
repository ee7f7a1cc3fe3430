/* cases_chained.c: a product behind a product, in one kernel: what is between (softmax, with masks,
 * biases, positions, or another function), sizes around tiles and vectors, layouts of the factors.
 *
 *     scores = bmm(q, k^T); p = f(scores); o = bmm(p, v)
 *
 * Each is of a config whose tiles are several, of few rows. */
#include <string.h>

#include "tests/fuzz/cases.h"

/* $b batches, $m rows, $n columns of the first product, $r deep, $c columns of the second. */
struct shape {
    int b, m, n, r, c;
};

static const struct shape shapes[] = {
    {2, 40, 72, 64, 64}, {1, 16, 16, 16, 16},  {1, 33, 17, 24, 40}, {3, 2, 130, 32, 8},
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
};
enum { N_BETWEEN = sizeof between / sizeof *between };

static const char *const configs[] = {
    "mma=2 m=32 n=32 tm=16 stages=2 warps=2",
    "mma=2 m=32 n=16 tm=32 stages=3 warps=1",
    "mma=2 m=16 n=48 tm=16 stages=2 warps=1",
};
enum { N_CONFIGS = sizeof configs / sizeof *configs };

static const char *graph_of(struct arena *a, const struct shape *x, const char *f, const char *t,
                            bool turned) {
    const char *bias = strstr(f, "%bias") ? arena_printf(a, ", %%bias: %s[%d, %d]", t, x->m, x->n) : "";
    const char *keys = turned ? arena_printf(a, "%%k: %s[%d, %d, %d]", t, x->b, x->n, x->r)
                              : arena_printf(a, "%%y: %s[%d, %d, %d]", t, x->b, x->r, x->n);
    return arena_printf(a,
                        "graph(%%q: %s[%d, %d, %d], %s, %%v: %s[%d, %d, %d]%s) {\n%s"
                        " %%s = bmm(%%q, %%y)\n%s %%o = bmm(%%p, %%v)\n return %%o\n}\n",
                        t, x->b, x->m, x->r, keys, t, x->b, x->n, x->c, bias,
                        turned ? " %y = permute(%k, [0, 2, 1])\n" : "", f);
}

void cases_chained(struct arena *a, case_vec *out) {
    static const char *const types[] = {"bf16", "f16"};
    for (int i = 0; i < N_SHAPES; i++)
        for (int f = 0; f < N_BETWEEN; f++) {
            struct case_graph g = {
                .text = graph_of(a, &shapes[i], between[f], types[(i + f) % 2], (i + f) % 3 != 0),
                .every = CASES_DEFAULT,
                .old = (i + f) % 4 != 0,
                .config = configs[(i + f) % N_CONFIGS]};
            vec_push(a, out, g);
        }
}
