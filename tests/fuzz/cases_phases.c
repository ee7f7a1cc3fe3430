/* cases_phases.c: transposed convolutions with strides (graph/decompose_phases.c), as a seed has
 * them: 1 to 3 dimensions, strides, dilations, paddings, groups, numbers of taps; what users call,
 * with a bias and an activation behind, and what a strided one's gradient is. */
#include "tests/fuzz/cases.h"
#include "tests/fuzz/random.h"

enum { MOST = 3 };

struct slide {
    int n, size[MOST], taps[MOST], stride[MOST], padding[MOST], dilation[MOST], more[MOST];
};

static struct slide random_slide(struct rng *r) {
    struct slide s = {.n = RNG_ANY(r, 1, 1, 2, 2, 3)};
    for (int d = 0; d < s.n; d++) {
        s.taps[d] = RNG_ANY(r, 1, 2, 3, 3, 4, 5);
        s.stride[d] = RNG_ANY(r, 1, 2, 2, 3, s.n == 1 ? 5 : 2);
        s.dilation[d] = RNG_ANY(r, 1, 1, 2, 3);
        s.size[d] = s.n == 1 ? RNG_ANY(r, 5, 16, 33) : RNG_ANY(r, 3, 4, 7);
        int span = s.dilation[d] * (s.taps[d] - 1);
        s.padding[d] = span ? rng_below(r, span < 3 ? span + 1 : 3) : 0;
        s.more[d] = rng_below(r, s.stride[d]);
    }
    return s;
}

static void put_list(struct buf *b, const int *at, int n) {
    for (int d = 0; d < n; d++) buf_printf(b, "%s%d", d ? ", " : "[", at[d]);
    buf_puts(b, "]");
}

static void put_sizes(struct buf *b, const int *at, int n) {
    for (int d = 0; d < n; d++) buf_printf(b, ", %d", at[d]);
}

/* conv_transpose, bias and relu */
static const char *random_forward(struct arena *a, struct rng *r) {
    struct slide s = random_slide(r);
    struct buf b = buf_new(a);
    const char *type = RNG_ANY(r, 0, 0, 1) ? "bf16" : "f32";
    int groups = RNG_ANY(r, 1, 1, 2, 3), c = groups * RNG_ANY(r, 1, 2, 5), f = RNG_ANY(r, 1, 3, 4);
    buf_printf(&b, "graph(%%x: %s[%d, %d", type, RNG_ANY(r, 1, 2), c);
    put_sizes(&b, s.size, s.n);
    buf_printf(&b, "], %%w: %s[%d, %d", type, c, f);
    put_sizes(&b, s.taps, s.n);
    buf_printf(&b, "], %%b: %s[%d]) {\n %%y = convolution(%%x, %%w, %%b, ", type, f * groups);
    put_list(&b, s.stride, s.n), buf_puts(&b, ", ");
    put_list(&b, s.padding, s.n), buf_puts(&b, ", ");
    put_list(&b, s.dilation, s.n), buf_puts(&b, ", True, ");
    put_list(&b, s.more, s.n);
    buf_printf(&b, ", %d, %d)\n %%z = relu(%%y)\n return %%z\n}\n", groups, s.n);
    return b.p;
}

/* The gradient of what is strided, of any size that such a one may have had. */
static const char *random_gradient(struct arena *a, struct rng *r) {
    struct slide s = random_slide(r);
    struct buf b = buf_new(a);
    int groups = RNG_ANY(r, 1, 2), f = RNG_ANY(r, 1, 3, 4), c = RNG_ANY(r, 1, 2, 5), size[MOST];
    for (int d = 0; d < s.n; d++) {
        int most = (s.size[d] - 1) * s.stride[d] + s.dilation[d] * (s.taps[d] - 1) + 1 + s.more[d] -
                   2 * s.padding[d];
        size[d] = most > 1 ? most : 1;
    }
    buf_printf(&b, "graph(%%x: f32[2, %d, %d", groups, c);
    put_sizes(&b, s.size, s.n);
    buf_printf(&b, "], %%w: f32[%d, %d, %d", groups, f, c);
    put_sizes(&b, s.taps, s.n);
    buf_puts(&b, "]) {\n %y = convolve(%x, %w, ");
    put_list(&b, s.stride, s.n), buf_puts(&b, ", ");
    put_list(&b, s.padding, s.n), buf_puts(&b, ", ");
    put_list(&b, s.dilation, s.n), buf_puts(&b, ", True, ");
    put_list(&b, size, s.n);
    buf_puts(&b, ")\n return %y\n}\n");
    return b.p;
}

/* Phases are a dimension of one product on the matrix units, some of fewer taps; not if one has
 * none. Channels are reduced behind some. */
static const char *many_filters(struct arena *a, struct rng *r, int type) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32"};
    struct slide s = random_slide(r);
    struct buf b = buf_new(a);
    int groups = RNG_ANY(r, 1, 1, 1, 2), none[MOST] = {0};
    int c = groups > 1 ? RNG_ANY(r, 3, 8, 17) * groups : RNG_ANY(r, 3, 8, 17, 40, 64),
        f = groups > 1 ? RNG_ANY(r, 8, 40) : RNG_ANY(r, 5, 32, 40, 48);
    bool plain = rng_below(r, 2);
    for (int d = 0; d < s.n; d++) {
        if (plain && s.stride[d] > 1) s.dilation[d] = 1;
        if (plain && s.taps[d] < s.stride[d]) s.taps[d] = s.stride[d];
        if (s.size[d] > 5 && s.n > 1) s.size[d] = 5;
    }
    buf_printf(&b, "graph(%%x: %s[%d, %d", dtypes[type], RNG_ANY(r, 1, 3), c);
    put_sizes(&b, s.size, s.n);
    buf_printf(&b, "], %%w: %s[%d, %d", dtypes[type], c, f);
    put_sizes(&b, s.taps, s.n);
    buf_printf(&b, "], %%b: %s[%d])%s {\n", dtypes[type], f * groups,
               type == 3 ? " convolutions tf32" : "");
    const char *x = "%x";
    if (rng_below(r, 3) == 0) buf_printf(&b, " %%q = relu(%%x)\n"), x = "%q";
    buf_printf(&b, " %%y = convolution(%s, %%w, %%b, ", x);
    put_list(&b, s.stride, s.n), buf_puts(&b, ", ");
    put_list(&b, s.padding, s.n), buf_puts(&b, ", ");
    put_list(&b, s.dilation, s.n), buf_puts(&b, ", True, ");
    put_list(&b, rng_below(r, 2) ? s.more : none, s.n);
    static const char *const behind[] = {"relu(%y)", "relu(%y)", "amax(%y, [1], True)",
                                         "softmax(%y, 1)"}; /* of f32: %y is not rounded */
    buf_printf(&b, ", %d, %d)\n %%z = %s\n return %%z\n}\n", groups, s.n,
               behind[rng_below(r, type < 2 ? 3 : 4)]);
    return b.p;
}

static const char *config_of_many(struct arena *a, struct rng *r, int type, bool by_warps) {
    int k = type == 2 ? 64 : type == 3 ? 32 : RNG_ANY(r, 16, 32, 64), cluster = RNG_ANY(r, 1, 1, 2);
    if (by_warps) return arena_printf(a, "mma=2 m=32 n=64 tm=32 tn=32 warps=2 k=%d stages=2", k);
    int make = RNG_ANY(r, 0, 1, 2);
    if (make)
        return arena_printf(a, "mma=1 m=64 n=%d warps=%d k=%d stages=3 make=%d",
                            RNG_ANY(r, 64, 128), 4 + 4 * make, k, make);
    return arena_printf(a, "mma=1 m=64 n=%d warps=8 k=%d stages=3%s", RNG_ANY(r, 64, 128), k,
                        cluster > 1        ? " cluster=2"
                        : RNG_ANY(r, 0, 1) ? " split=2"
                                           : "");
}

static void push_many(struct arena *a, struct rng *r, const char *text, int type, bool by_warps,
                      case_vec *out) {
    vec_push(a, out,
             ((struct case_graph){.text = text,
                                  .every = CASES_DEFAULT,
                                  .old = by_warps && rng_below(r, 2),
                                  .maybe = true,
                                  .config = config_of_many(a, r, type, by_warps)}));
}

void cases_many_filters(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (int i = 0; i < n; i++) push_many(a, &r, many_filters(a, &r, i % 4), i % 4, i / 4 % 2, out);
}

/* A product's kernel stores what lies between its results, too: of a transposed convolution not all
 * outputs of which take taps, with a bias, and what is as large as the output added. */
static const char *between(struct arena *a, struct rng *r, int type) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32"};
    static const int strides[][2] = {{2, 2}, {3, 3}, {2, 4}, {4, 2}, {6, 4}, {1, 1}, {2, 1}};
    struct slide s = {.n = RNG_ANY(r, 1, 2, 2, 3)};
    struct buf b = buf_new(a);
    int groups = RNG_ANY(r, 1, 1, 2), c = groups * RNG_ANY(r, 4, 8, 17), f = RNG_ANY(r, 8, 32, 40),
        images = RNG_ANY(r, 1, 3), size[MOST];
    for (int d = 0; d < s.n; d++) {
        bool inner = s.n > 1 && d + 1 == s.n; /* whose neighbours share a sector */
        const int *of = strides[inner && rng_below(r, 4) ? 5 + rng_below(r, 2) : rng_below(r, 5)];
        s.stride[d] = of[0], s.dilation[d] = of[1];
        s.taps[d] = RNG_ANY(r, 1, 2, 3, 5);
        s.size[d] = s.n == 1   ? RNG_ANY(r, 33, 64, 131)
                    : s.n == 2 ? RNG_ANY(r, 3, 8, 11)
                               : RNG_ANY(r, 2, 4, 5);
        if (inner) s.size[d] = RNG_ANY(r, 5, 16, 19);
        s.padding[d] = s.taps[d] > 1 && s.size[d] > 2 ? rng_below(r, 3) : 0;
        s.more[d] = rng_below(r, s.stride[d]);
        size[d] = (s.size[d] - 1) * s.stride[d] - 2 * s.padding[d] +
                  s.dilation[d] * (s.taps[d] - 1) + s.more[d] + 1;
    }
    buf_printf(&b, "graph(%%x: %s[%d, %d", dtypes[type], images, c);
    put_sizes(&b, s.size, s.n);
    buf_printf(&b, "], %%w: %s[%d, %d", dtypes[type], c, f);
    put_sizes(&b, s.taps, s.n);
    buf_printf(&b, "], %%b: %s[%d], %%r: %s[%d, %d", dtypes[type], f * groups, dtypes[type], images,
               f * groups);
    put_sizes(&b, size, s.n);
    buf_printf(&b, "])%s {\n %%y = convolution(%%x, %%w, %%b, ",
               type == 3 ? " convolutions tf32" : "");
    put_list(&b, s.stride, s.n), buf_puts(&b, ", ");
    put_list(&b, s.padding, s.n), buf_puts(&b, ", ");
    put_list(&b, s.dilation, s.n), buf_puts(&b, ", True, ");
    put_list(&b, s.more, s.n);
    static const char *const behind[] = {"relu(%y)", "relu(%y)", "add(%y, %r)",
                                         "amax(%y, [1], True)"};
    buf_printf(&b, ", %d, %d)\n %%z = %s\n return %%z\n}\n", groups, s.n, behind[rng_below(r, 4)]);
    return b.p;
}

/* What is beside a product's results, along an axis that it has none of. */
static const char *beside(struct arena *a, struct rng *r, int type) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32"};
    static const char *const all[] = {"stack([%r, %y], %d)", "stack([%y, %r, %y], %d)",
                                      "stack([%y, %q, %q, %r], %d)"};
    int m = RNG_ANY(r, 40, 70, 128), k = RNG_ANY(r, 8, 48, 80), n = RNG_ANY(r, 24, 66, 130);
    const char *t = dtypes[type], *stacked = all[rng_below(r, 3)];
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%x: %s[%d, %d], %%w: %s[%d, %d], %%r: %s[%d, %d])%s {\n", t, m, k, t, k,
               n, t, m, n, type == 3 ? " products tf32" : "");
    buf_puts(&b, " %y = mm(%x, %w)\n %q = relu(%y)\n %z = ");
    for (const char *p = stacked; *p; p++) {
        if (p[0] == '%' && p[1] == 'd')
            buf_printf(&b, "%d", rng_below(r, 3)), p++;
        else
            buf_putc(&b, *p);
    }
    static const char *const too[] = {"", "", ", %y", ", %q"};
    buf_printf(&b, "\n return %%z%s\n}\n", too[rng_below(r, 4)]);
    return b.p;
}

void cases_arms(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (int i = 0; i < n; i++) {
        int type = i % 4;
        const char *text = i / 4 % 4 == 3 ? beside(a, &r, type) : between(a, &r, type);
        push_many(a, &r, text, type, i / 4 % 3 == 2, out);
    }
}

void cases_phases(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (int i = 0; i < n; i++)
        vec_push(
            a, out,
            ((struct case_graph){.text = i % 3 ? random_forward(a, &r) : random_gradient(a, &r),
                                 .every = CASES_DEFAULT,
                                 .eager = i % 4 == 0,
                                 .old = i % 2}));
}
