/* cases_convolutions.c: convolutions on the matrix units as a seed has them: 1 to 3 dimensions,
 * strides, dilations, paddings, groups, channels around the lines of tiles and far below (a third
 * is as first layers have it), transposed ones, gradients of weights, channels first and last,
 * what is computed before and behind, and a config that need not be legal for them. */
#include <string.h>

#include "tests/fuzz/cases.h"
#include "tests/fuzz/random.h"

enum { MOST_DIMS = 3, OF_TF32 = 3 /* type */ };

struct convolution_text {
    struct arena *a;
    struct rng *r;
    int dims, images, channels, filters, groups;
    int size[MOST_DIMS], taps[MOST_DIMS], stride[MOST_DIMS], padding[MOST_DIMS],
        dilation[MOST_DIMS];
    bool transposed, last, relu, sums;
    int type; /* bf16, f16, f32, f32 in tf32 */
};

static const char *list(struct arena *a, const int *of, int n) {
    struct buf b = buf_new(a);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%d", i ? ", " : "", of[i]);
    return b.p;
}

static void draw_dimension(struct convolution_text *t, int d) {
    struct rng *r = t->r;
    int most = t->dims == 1 ? 90 : t->dims == 2 ? 13 : 6;
    t->taps[d] = RNG_ANY(r, 1, 2, 3, 3, 3, 5);
    t->dilation[d] = RNG_ANY(r, 1, 1, 1, 2, 3);
    t->stride[d] = t->transposed ? 1 : RNG_ANY(r, 1, 1, 1, 2, 3);
    int reach = (t->taps[d] - 1) * t->dilation[d];
    t->padding[d] = rng_below(r, 2) ? reach / 2 : rng_below(r, reach + 2);
    t->size[d] = 1 + rng_below(r, most);
    while (t->transposed && t->size[d] + reach <= 2 * t->padding[d]) t->padding[d]--;
    if (!t->transposed && t->size[d] + 2 * t->padding[d] <= reach) t->size[d] = reach + 1;
}

/* One tap, at each element: products of matrices, whose lines are sometimes whole pieces. */
static void draw_pointwise(struct convolution_text *t) {
    for (int d = 0; d < t->dims; d++) {
        t->taps[d] = t->dilation[d] = t->stride[d] = 1;
        t->padding[d] = 0;
    }
    t->size[t->dims - 1] = RNG_ANY(t->r, 7, 8, 16, 24);
    t->groups = 1;
    t->channels = RNG_ANY(t->r, 17, 40, 64);
    t->filters = RNG_ANY(t->r, 8, 17, 40);
}

static const char *convolution_of(struct convolution_text *t) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32"};
    struct arena *a = t->a;
    const char *dtype = dtypes[t->type], *sizes = list(a, t->size, t->dims), *x = "%x";
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%x: %s[%d, ", dtype, t->images);
    if (t->last)
        buf_printf(&b, "%s, %d]", sizes, t->channels);
    else
        buf_printf(&b, "%d, %s]", t->channels, sizes);
    int rows = t->transposed ? t->channels : t->filters,
        columns = (t->transposed ? t->filters : t->channels) / t->groups;
    buf_printf(&b, ", %%w: %s[%d, %d, %s], %%b: %s[%d])%s {\n", dtype, rows, columns,
               list(a, t->taps, t->dims), dtype, t->filters,
               t->type == 3 ? " convolutions tf32" : "");
    if (t->last) {
        int order[MOST_DIMS + 2] = {0, t->dims + 1, 1, 2, 3};
        buf_printf(&b, " %%p = permute(%s, [%s])\n", x, list(a, order, t->dims + 2));
        x = "%p";
    }
    if (t->relu) buf_printf(&b, " %%q = relu(%s)\n", x), x = "%q";
    buf_printf(&b, " %%c = convolution(%s, %%w, %%b, [%s], [%s], [%s], %s, [%s], %d, %d)\n", x,
               list(a, t->stride, t->dims), list(a, t->padding, t->dims),
               list(a, t->dilation, t->dims), t->transposed ? "True" : "False",
               list(a, (int[MOST_DIMS]){0}, t->dims), t->groups, t->dims);
    buf_printf(&b, " %%r = relu(%%c)\n");
    if (t->sums) { /* of channels, over images and positions, as batch norm has them, or of each */
        int over[MOST_DIMS + 1] = {0, 2, 3, 4}, each = t->filters % 2;
        buf_printf(&b, " %%s = sum(%%r, [%s], False)\n return %%r, %%s\n}\n",
                   list(a, over + each, t->dims + 1 - each));
        return b.p;
    }
    buf_puts(&b, " return %r\n}\n");
    return b.p;
}

/* The gradient of the weight, as differentiation has it: filters are images of what comes back, and
 * slide over the input as far apart as its taps. */
static const char *gradient_of(struct convolution_text *t) {
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f32"};
    struct arena *a = t->a;
    int out[MOST_DIMS], order[] = {2, 1, 0, 3, 4, 5}, back[] = {1, 2, 0, 3, 4, 5};
    for (int d = 0; d < t->dims; d++)
        out[d] = (t->size[d] + 2 * t->padding[d] - (t->taps[d] - 1) * t->dilation[d] - 1) /
                     t->stride[d] +
                 1;
    const char *sizes = list(a, t->size, t->dims), *dtype = dtypes[t->type];
    const char *dims = list(a, order, t->dims + 3), *dims_back = list(a, back, t->dims + 3);
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%x: %s[%d, %d, %d, %s], %%d: %s[%d, %d, %d, %s])%s {\n", dtype,
               t->images, t->groups, t->channels / t->groups, sizes, dtype, t->images, t->groups,
               t->filters / t->groups, list(a, out, t->dims),
               t->type == 3 ? " convolutions tf32" : "");
    buf_printf(&b, " %%p = permute(%%x, [%s])\n %%q = permute(%%d, [%s])\n", dims, dims_back);
    buf_printf(&b, " %%c = convolve(%%p, %%q, [%s], [%s], [%s], False, [%s])\n",
               list(a, t->dilation, t->dims), list(a, t->padding, t->dims),
               list(a, t->stride, t->dims), list(a, t->taps, t->dims));
    buf_printf(&b, " %%w = permute(%%c, [%s])\n", dims_back);
    if (t->relu)
        buf_printf(&b, " %%r = relu(%%w)\n return %%r\n}\n");
    else
        buf_printf(&b, " return %%w\n}\n");
    return b.p;
}

/* As first layers have it: few channels, wide windows that are not dilated along the rows. */
static void draw_first(struct convolution_text *t) {
    struct rng *r = t->r;
    int d = t->dims - 1;
    t->channels = RNG_ANY(r, 1, 2, 3, 3, 3, 4, 5, 8) * t->groups;
    t->taps[d] = 1 + rng_below(r, t->dims == 3 ? 4 : 7);
    t->dilation[d] = 1;
    t->padding[d] = rng_below(r, t->taps[d]);
    t->size[d] = t->taps[d] + rng_below(r, t->dims == 1 ? 90 : 13);
    while (t->transposed && t->size[d] + t->taps[d] <= 1 + 2 * t->padding[d]) t->padding[d]--;
}

static const char *random_convolution(struct arena *a, struct rng *r, int type, bool first) {
    struct convolution_text t = {.a = a,
                                 .r = r,
                                 .dims = RNG_ANY(r, 1, 2, 2, 2, 3),
                                 .images = 1 + rng_below(r, 3),
                                 .groups = RNG_ANY(r, 1, 1, 1, 2, 3),
                                 .transposed = rng_below(r, 4) == 0,
                                 .last = rng_below(r, 4) == 0,
                                 .relu = rng_below(r, 4) == 0,
                                 .sums = rng_below(r, 4) == 0,
                                 .type = type};
    t.channels = RNG_ANY(r, 1, 3, 17, 33, 40, 48, 64, 64, 70) * t.groups;
    t.filters = RNG_ANY(r, 2, 8, 17, 40, 64) * t.groups;
    for (int d = 0; d < t.dims; d++) draw_dimension(&t, d);
    if (first)
        draw_first(&t);
    else if (rng_below(r, 6) == 0)
        draw_pointwise(&t);
    bool gradient = !t.transposed && rng_below(r, 3) == 0;
    return gradient ? gradient_of(&t) : convolution_of(&t);
}

static const char *config_of(struct arena *a, struct rng *r, int type, bool by_warps) {
    int k = type == 2 ? 64 : type == 3 ? 32 : RNG_ANY(r, 16, 32, 64, by_warps ? 128 : 64);
    int split = RNG_ANY(r, 0, 0, 2, 3), stages = RNG_ANY(r, 2, 3);
    struct buf b = buf_new(a);
    if (by_warps) {
        int tm = RNG_ANY(r, 16, 32), tn = RNG_ANY(r, 16, 32, 64), down = RNG_ANY(r, 1, 2),
            across = RNG_ANY(r, 1, 2);
        buf_printf(&b, "mma=2 m=%d n=%d tm=%d tn=%d warps=%d", tm * down, tn * across, tm, tn,
                   down * across);
    } else {
        int m = RNG_ANY(r, 64, 128), make = RNG_ANY(r, 0, 0, 1, 2);
        int cluster = split || make ? 0 : RNG_ANY(r, 0, 2);
        buf_printf(&b, "mma=1 m=%d n=%d warps=%d", m, RNG_ANY(r, 32, 64, 128),
                   m / 16 + 4 * (make ? make : 1));
        if (make) buf_printf(&b, " make=%d", make);
        if (cluster) buf_printf(&b, " cluster=%d", cluster);
        if (rng_below(r, 3) == 0) buf_puts(&b, " fit=2");
        if (rng_below(r, 2)) buf_puts(&b, " flat=1");
    }
    buf_printf(&b, " k=%d stages=%d", k, stages);
    if (split) buf_printf(&b, " split=%d", split);
    return b.p;
}

/* Images would be batches, but channels are summed up over them. */
static const char sums_of_pixels[] =
    "graph(%x: bf16[2, 32, 8, 16], %w: bf16[48, 32, 1, 1]) {\n"
    " %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
    " %s = sum(%c, [0, 2, 3], False)\n return %c, %s\n}\n";

/* 600 parts of each result, which are added up in chunks before. */
static const char parts_of_pixels[] =
    "graph(%x: bf16[48, 10, 10, 16], %w: bf16[24, 16, 1, 1]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n"
    " %c = convolution(%p, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
    " %s = sum(%c, [0, 2, 3], False)\n return %c, %s\n}\n";

/* Few channels of each pixel are side by side, as phases are, and each has a norm. */
static const char few_normed[] =
    "graph(%x: bf16[3, 10, 10, 16], %w: bf16[8, 16, 1, 1]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n"
    " %c = convolution(%p, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
    " %n = batch_norm(%c, None, None, None, None, True)\n %y = permute(%n, [0, 2, 3, 1])\n"
    " return %y\n}\n";

/* Of each image and the channels of a group, whose pixels end within tiles. */
static const char sums_of_images[] =
    "graph(%x: f32[3, 20, 12, 13], %w: f32[36, 20, 3, 3], %b: f32[36]) {\n"
    " %c = convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
    " %v = view(%c, [3, 12, 468])\n %q = m2(%v, [2])\n %s = sum(%v, [2])\n"
    " return %c, %q, %s\n}\n";

/* Pooling behind it splits rows and columns, which are windows all the same. */
static const char pooled[] =
    "graph(%x: bf16[2, 32, 8, 12], %w: bf16[48, 32, 3, 3]) {\n"
    " %c = convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
    " %p = max_pool(%c, [2, 2], [2, 2], [0, 0])\n return %p\n}\n";

/* What the channels of a pixel come to, read by each of them or reduced again: these are columns of
 * pixels. One tile has all of them, or several that wait for each other; phases of which the last
 * ends within a stride, or none does. */
static const struct {
    const char *text, *config;
    bool old;
} over_channels[] = {
    {"graph(%x: bf16[2, 32, 9, 12], %w: bf16[48, 32, 3, 3], %b: bf16[48]) {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " %s = softmax(%c, 1)\n return %s\n}\n",
     "mma=1 m=64 n=48 k=64 stages=2 warps=8", false},
    {"graph(%x: f32[2, 32, 9, 12], %w: f32[72, 32, 3, 3], %b: f32[72]) {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " %s = log_softmax(%c, 1)\n return %s\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8", false},
    {"graph(%x: f32[2, 32, 9, 12], %w: f32[24, 32, 3, 3]) {\n"
     " %c = convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " %q = mul(%c, %c)\n %s = mean(%q, [1], True)\n %t = add(%s, 1e-5)\n %r = rsqrt(%t)\n"
     " %n = mul(%c, %r)\n return %n\n}\n",
     "mma=2 m=64 n=32 k=64 tm=16 tn=32 stages=2 warps=4", true},
    {"graph(%x: f32[2, 16, 5, 6], %w: f32[16, 12, 3, 3], %b: f32[12]) {\n"
     " %c = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)\n"
     " %l = logsumexp(%c, [1], True)\n %r = relu(%l)\n return %r\n}\n",
     "mma=1 m=64 n=16 k=64 stages=2 warps=12 make=2", false},
    {"graph(%x: f32[2, 32, 5, 6], %w: f32[32, 40, 4, 4], %b: f32[40]) {\n"
     " %c = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " %s = softmax(%c, 1)\n %g = sigmoid(%s)\n return %g\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8", false},
    {"graph(%x: bf16[1, 16, 2, 3, 4], %w: bf16[16, 8, 3, 3, 3]) {\n"
     " %c = convolution(%x, %w, None, [2, 2, 2], [1, 1, 1], [1, 1, 1], True, [0, 1, 0], 1, 3)\n"
     " %s = softmax(%c, 1)\n return %s\n}\n",
     "mma=2 m=64 n=16 k=32 tm=16 tn=16 stages=2 warps=4", true},
};

/* Few channels and filters a group: threads have a group's filters. */
static const char *const of_few_filters[] = {
    "graph(%x: bf16[3, 16, 9, 16], %w: bf16[16, 4, 3, 3], %b: bf16[16]) {\n"
    " %c = convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)\n"
    " %r = relu(%c)\n return %r\n}\n",
    "graph(%x: f32[2, 12, 7, 23], %w: f32[8, 3, 3, 3]) {\n"
    " %c = convolution(%x, %w, None, [2, 2], [1, 0], [1, 1], False, [0, 0], 4)\n return %c\n}\n",
    "graph(%x: f16[2, 8, 70], %w: f16[12, 2, 5]) {\n"
    " %c = convolution(%x, %w, None, [1], [4], [2], False, [0], 4, 1)\n return %c\n}\n",
    "graph(%x: f32[1, 4, 4, 5, 8], %w: f32[4, 2, 2, 3, 3]) convolutions tf32 {\n"
    " %c = convolution(%x, %w, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 2, 3)\n"
    " return %c\n}\n",
};

/* What lies behind a run of few channels counts for nothing, infinities neither. */
static const char infinite_neighbours[] =
    "graph(%x: bf16[2, 3, 9, 31], %w: bf16[8, 3, 3, 3]) {\n"
    " %h = add(%x, 1.5)\n %r = relu(%h)\n %q = reciprocal(%r)\n"
    " %c = convolution(%q, %w, None, [1, 2], [1, 1], [1, 1], False, [0, 0], 1)\n"
    " return %c\n}\n";

/* Phases share their windows, of which some have no tap: an infinity there counts for nothing. */
#define INFINITE_PHASES(type, precision)                                                           \
    "graph(%x: " type "[2, 8, 5, 9], %w: " type "[8, 32, 3, 3], %b: " type "[32])" precision       \
    " {\n"                                                                                         \
    " %m = gt(%x, 1.5)\n %q = where(%m, inf, %x)\n"                                                \
    " %y = convolution(%q, %w, %b, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, 2)\n"                  \
    " %z = relu(%y)\n return %z\n}\n"
static const struct {
    const char *text, *config;
    bool old;
} infinite_phases[] = {
    {INFINITE_PHASES("bf16", ""), "mma=1 m=64 n=64 k=64 stages=2 warps=8", false},
    {INFINITE_PHASES("bf16", ""), "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=32 stages=2", true},
    {INFINITE_PHASES("f32", " convolutions tf32"), "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {INFINITE_PHASES("f32", " convolutions tf32"), "mma=1 m=64 n=128 k=32 stages=3 warps=12 make=2",
     false},
    {INFINITE_PHASES("f32", ""), "mma=1 m=64 n=128 k=64 stages=2 warps=8 make=1", false},
    {INFINITE_PHASES("f32", ""), "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=32 stages=2", true},
};

/* Rows of four-byte elements that begin within sectors of memory, which a row's threads have
 * (k_store_sectors) or a warpgroup turns: images that end within tiles, columns first, results of
 * images beside them, numbers that are none, two blocks of a multiprocessor, warps' tiles. */
static const struct {
    const char *text, *config;
    bool old;
} between_sectors[] = {
    {"graph(%x: f32[3, 8, 8, 8], %w: f32[20, 8, 3, 3], %b: f32[20]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {"graph(%x: f32[3, 8, 8, 8], %w: f32[72, 8, 3, 3], %b: f32[72]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {"graph(%x: f32[3, 8, 9, 9], %w: f32[24, 8, 3, 3], %b: f32[24]) {\n"
     " %m = gt(%x, 2)\n %q = where(%m, inf, %x)\n"
     " %c = convolution(%q, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %t = tanh(%c)\n return %t\n}\n",
     "mma=1 m=128 n=24 k=64 stages=2 warps=16 make=2", false},
    {"graph(%x: f32[2, 8, 5, 23], %w: f32[8, 24, 3, 3], %b: f32[24]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=12", false},
    /* phases that begin an output before: turned, with other outputs before the first one and
     * behind the last; as pairs of a 16-bit type; reduced and read behind, and reduced alone */
    {"graph(%x: f32[2, 8, 5, 23], %w: f32[8, 32, 4, 4], %b: f32[32]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " %r = tanh(%c)\n return %r\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=12", false},
    {"graph(%x: f32[2, 8, 3, 4, 5], %w: f32[8, 32, 4, 4, 4], %b: f32[32]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [2, 2, 2], [1, 1, 1], [1, 1, 1], True, [0, 0, 0], 1, 3)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12 pingpong=1", false},
    {"graph(%x: f32[3, 8, 9, 23], %w: f32[8, 32, 4, 4], %b: f32[32]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)\n"
     " %r = tanh(%c)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=20 pingpong=3", false},
    {"graph(%x: f32[2, 8, 3, 4, 5], %w: f32[8, 16, 4, 4, 4]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [2, 2, 2], [1, 1, 1], [1, 1, 1], True, [0, 0, 0], 1, 3)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=16 pingpong=2", false},
    {"graph(%x: bf16[2, 16, 5, 9], %w: bf16[16, 40, 4, 4]) {\n"
     " %c = convolution(%x, %w, None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8", false},
    {"graph(%x: f32[2, 8, 6, 7], %w: f32[8, 32, 4, 4]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " %s = softmax(%c, 1)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {"graph(%x: f32[2, 8, 6, 7], %w: f32[8, 32, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " %s = softmax(%c, 1)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {"graph(%x: f32[2, 8, 6, 7], %w: f32[8, 32, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " %s = logsumexp(%c, [1], True)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8", false},
    {"graph(%x: f32[2, 8, 5, 23], %w: f32[8, 20, 3, 3]) {\n"
     " %m = gt(%x, 2)\n %q = where(%m, inf, %x)\n"
     " %c = convolution(%q, %w, None, [2, 2], [1, 1], [1, 1], True, [0, 0], 1)\n return %c\n}\n",
     "mma=1 m=64 n=40 k=64 stages=2 warps=12 make=2", false},
    {"graph(%x: f32[3, 8, 16, 16], %w: f32[32, 8, 3, 3], %b: f32[32]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=32 k=32 stages=2 warps=8 fit=2", false},
    {"graph(%x: f32[2, 8, 92], %w: f32[66, 8, 3]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [1], [0], [1], False, [0], 1, 1)\n return %c\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=12 make=2", false},
    {"graph(%x: f32[3, 20, 12, 13], %w: f32[36, 20, 3, 2], %r: f32[3, 36, 10, 12]) {\n"
     " %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %d = add(%c, %r)\n %s = sum(%d, [2, 3])\n return %d, %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8", false},
    /* what is read back of a batch of images, ahead of many columns */
    {"graph(%x: f32[3, 32, 12, 11], %w: f32[250, 32, 1, 1], %r: f32[3, 250, 12, 11]) convolutions "
     "tf32 {\n %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %d = add(%c, %r)\n %e = relu(%d)\n return %e\n}\n",
     "mma=1 m=128 n=256 k=32 stages=2 warps=12", false},
    /* of images whose channels lie side by side: one address for each row, of whole tiles, and of
     * columns that end within one */
    {"graph(%x: f32[2, 32, 16, 8], %w: f32[128, 32, 1, 1], %r: f32[2, 16, 8, 128]) convolutions "
     "tf32 {\n %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %p = permute(%c, [0, 2, 3, 1])\n %d = add(%p, %r)\n %e = relu(%d)\n return %e\n}\n",
     "mma=1 m=128 n=256 k=32 stages=2 warps=12", false},
    {"graph(%x: f32[3, 32, 12, 11], %w: f32[120, 32, 1, 1], %r: f32[3, 12, 11, 120]) convolutions "
     "tf32 {\n %c = convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     " %p = permute(%c, [0, 2, 3, 1])\n %d = add(%p, %r)\n %e = relu(%d)\n return %e\n}\n",
     "mma=1 m=128 n=256 k=32 stages=2 warps=12", false},
    {"graph(%x: f32[70, 40], %y: f32[40, 92]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=64 stages=2", true},
};

/* A weight's gradient: the images are the channels, few of them, and what comes back slides over
 * them. Its image has 4096 lines and more, whose windows a warp has across them. */
static const char weight_gradient[] =
    "graph(%x: bf16[3, 2, 99, 95], %g: bf16[24, 2, 50, 48]) {\n"
    " %c = convolution(%x, %g, None, [1, 1], [3, 3], [2, 2], False, [0, 0], 1)\n return %c\n}\n";

/* Windows as shifted rows: stores by eights, by pairs, one by one; more or less padding than taps
 * reach, images larger than these; groups, dilation, runs that are apart, three dimensions, what is
 * read back beside the product, numbers that are none. */
static const struct {
    const char *text, *config;
} shifted[] = {
    {"graph(%x: bf16[2, 40, 9, 16], %w: bf16[24, 40, 3, 3], %b: bf16[24]) {\n"
     " %c = convolution(%x, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=64 stages=3 warps=8 flat=1 fit=2"},
    {"graph(%x: bf16[2, 40, 9, 15], %w: bf16[24, 40, 3, 2], %r: bf16[2, 24, 11, 14]) {\n"
     " %c = convolution(%x, %w, None, [1, 1], [2, 0], [1, 1], False, [0, 0], 1)\n"
     " %s = add(%c, %r)\n return %s\n}\n",
     "mma=1 m=64 n=32 k=32 stages=2 warps=8 flat=1"},
    {"graph(%x: f16[3, 34, 12, 11], %w: f16[40, 17, 2, 3]) {\n"
     " %c = convolution(%x, %w, None, [1, 1], [0, 2], [3, 2], False, [0, 0], 2)\n"
     " return %c\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=12 flat=1"},
    {"graph(%x: f32[2, 17, 5, 6, 9], %w: f32[17, 9, 3, 2, 3]) {\n"
     " %c = convolution(%x, %w, None, [1, 1, 1], [0, 1, 0], [1, 1, 1], True, [0, 0, 0], 1, 3)\n"
     " %t = tanh(%c)\n return %t\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 flat=1 fit=2"},
    {"graph(%x: f32[2, 3, 14, 31], %w: f32[24, 3, 3, 5]) {\n"
     " %c = convolution(%x, %w, None, [1, 2], [1, 2], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 flat=1 cluster=2"},
    {"graph(%x: f32[2, 8, 20], %w: f32[12, 8, 4]) convolutions tf32 {\n"
     " %c = convolution(%x, %w, None, [1], [1], [1], False, [0], 1, 1)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=32 stages=2 warps=8 flat=1"},
    {"graph(%x: bf16[2, 48, 6, 200], %w: bf16[64, 48, 3, 3]) {\n"
     " %c = convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n return %c\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 flat=1 split=3"},
    {"graph(%x: bf16[2, 3, 9, 31], %w: bf16[8, 3, 3, 3]) {\n"
     " %h = add(%x, 1.5)\n %r = relu(%h)\n %q = reciprocal(%r)\n"
     " %c = convolution(%q, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 flat=1"},
    {"graph(%x: f32[2, 32, 9, 31], %w: f32[8, 32, 3, 3]) {\n"
     " %h = add(%x, 1.5)\n %r = relu(%h)\n %q = reciprocal(%r)\n"
     " %c = convolution(%q, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 flat=1"},
};

/* Windows that are boxes of an image: whole lines of them, a part of one, whole images of which the
 * last are none, in one to three dimensions, dilated, of phases, of planes; shared by two blocks,
 * in turn, with sums over all of them; or the depth is windows, in steps of whole lines. */
static const struct {
    const char *text, *config;
} in_lines[] = {
    {"graph(%x: bf16[3, 8, 12, 40], %w: bf16[24, 40, 3, 3], %b: bf16[24]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n"
     " %c = convolution(%p, %w, %b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " %r = relu(%c)\n %s = sum(%r, [0, 2, 3], False)\n return %r, %s\n}\n",
     "mma=1 m=64 n=24 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[3, 8, 12, 64], %w: bf16[72, 64, 3, 3]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n"
     " %c = convolution(%p, %w, None, [1, 1], [2, 2], [2, 2], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=48 k=64 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[3, 8, 12, 64], %w: bf16[100, 64, 2, 3]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n"
     " %c = convolution(%p, %w, None, [1, 1], [1, 1], [2, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=192 k=64 stages=2 warps=8"},
    {"graph(%x: f16[2, 5, 32, 64], %w: f16[100, 64, 3, 3]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n"
     " %c = convolution(%p, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 cluster=2"},
    {"graph(%x: bf16[2, 40, 128], %w: bf16[24, 40, 3]) {\n"
     " %c = convolution(%x, %w, None, [1], [1], [1], False, [0], 1, 1)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f32[3, 17, 2, 4, 8], %w: f32[24, 17, 3, 3, 3]) {\n"
     " %c = convolution(%x, %w, None, 1, 1, 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[2, 9, 8, 64], %w: bf16[64, 40, 3, 3]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n"
     " %c = convolution(%p, %w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=24 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[40, 3, 8, 12], %g: bf16[24, 3, 8, 12]) {\n"
     " %c = convolution(%x, %g, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=64 k=48 stages=2 warps=8 split=2"},
    /* the same in two planes of bf16, by lines and by windows */
    {"graph(%x: f32[40, 3, 8, 12], %g: f32[24, 3, 8, 12]) convolutions tf32 {\n"
     " %c = convolution(%x, %g, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=64 k=48 stages=2 warps=8 split=2"},
    {"graph(%x: f32[40, 3, 9, 13], %g: f32[24, 3, 9, 13]) convolutions tf32 {\n"
     " %c = convolution(%x, %g, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
};

/* Images as they lie, channels first: paddings along all dimensions, of which the inner ones are
 * cut off in registers, taps in steps of some or of one, groups, lines that begin anywhere, fewer
 * channels than a step has, several images in a tile. */
static const struct {
    const char *text, *config;
} lying[] = {
    {"graph(%lying: f32[2, 64, 9, 16], %w: f32[24, 64, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[3, 40, 10, 14], %w: f32[24, 40, 3, 3], %b: f32[24]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, %b, 1, 1)\n %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=128 n=32 k=96 stages=2 warps=12 flat=2"},
    {"graph(%lying: f32[2, 17, 12, 13], %w: f32[5, 17, 5, 5]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 4, 2)\n return %c\n}\n",
     "mma=1 m=64 n=8 k=32 stages=3 warps=8 flat=2"},
    {"graph(%lying: f32[2, 34, 180], %w: f32[40, 17, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1, 2, False, 0, 2, 1)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 33, 5, 6, 8], %w: f32[24, 33, 2, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1, 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2 split=2"},
    {"graph(%lying: f32[5, 16, 6, 6], %w: f32[17, 16, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=48 stages=4 warps=8 flat=2"},
    {"graph(%lying: f32[2, 64, 16, 16], %w: f32[64, 64, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1)\n return %c\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8 cluster=2 flat=2"},
    {"graph(%lying: f32[3, 32, 8, 30], %w: f32[48, 32, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1)\n %r = sigmoid(%c)\n return %r\n}\n",
     "mma=1 m=192 n=48 k=96 stages=2 warps=16 flat=2"},
    {"graph(%lying: f32[2, 48, 7, 12], %w: f32[16, 48, 2, 4]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, [0, 2], [1, 3])\n return %c\n}\n",
     "mma=1 m=64 n=16 k=64 stages=2 warps=8 flat=2"},
    /* by two blocks of a multiprocessor, in clusters; sixteens of 48 channels */
    {"graph(%lying: f32[2, 48, 9, 16], %w: f32[48, 48, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w)\n return %c\n}\n",
     "mma=1 m=128 n=48 k=64 stages=3 warps=12 fit=2 cluster=2 flat=2"},
    {"graph(%lying: f32[2, 48, 11, 20], %w: f32[24, 48, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1)\n return %c\n}\n",
     "mma=1 m=192 n=24 k=64 stages=4 warps=16 flat=2"},
    /* few channels: all taps of a line in a step, which has places for more */
    {"graph(%lying: f32[3, 8, 18, 30], %w: f32[24, 8, 3, 3], %b: f32[24]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, %b)\n %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=32 k=32 stages=3 warps=8 flat=2"},
    {"graph(%lying: f32[2, 5, 18, 28], %w: f32[40, 5, 3, 5]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, [1, 2])\n return %c\n}\n",
     "mma=1 m=128 n=40 k=64 stages=2 warps=12 flat=2"},
    {"graph(%lying: f32[2, 8, 7, 10, 12], %w: f32[16, 8, 3, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 0, 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=64 n=16 k=32 stages=4 warps=8 flat=2"},
    /* several lines of taps in a step, of up to four channels two taps in an instruction */
    {"graph(%lying: f32[3, 8, 18, 28], %w: f32[24, 8, 3, 3], %b: f32[24]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, %b, 1, 1)\n %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 7, 6, 10, 12], %w: f32[16, 7, 3, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1, 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=128 n=16 k=80 stages=3 warps=12 flat=2"},
    {"graph(%lying: f32[2, 3, 6, 10, 12], %w: f32[24, 3, 3, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, [0, 1, 1], 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=64 n=24 k=112 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[5, 4, 20, 24], %w: f32[40, 4, 4, 2]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, [3, 1], [2, 5])\n return %c\n}\n",
     "mma=1 m=192 n=40 k=32 stages=2 warps=16 flat=2"},
    {"graph(%lying: f32[2, 6, 9, 40], %w: f32[16, 3, 5, 5]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 2, 1, False, 0, 2)\n return %c\n}\n",
     "mma=1 m=64 n=8 k=48 stages=2 warps=8 flat=2"},
    /* planes of f32 that threads make */
    {"graph(%lying: f32[3, 8, 18, 28], %w: f32[24, 8, 3, 3], %b: f32[24]) {\n"
     " %c = convolution(%lying, %w, %b, 1, 1)\n %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=64 n=32 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 3, 6, 10, 12], %w: f32[24, 3, 3, 3, 3]) {\n"
     " %c = convolution(%lying, %w, None, 1, [0, 1, 1], 1, False, 0, 1, 3)\n return %c\n}\n",
     "mma=1 m=64 n=24 k=48 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 32, 9, 16], %w: f32[24, 16, 3, 3]) {\n"
     " %c = convolution(%lying, %w, None, 1, 1, 1, False, 0, 2)\n return %c\n}\n",
     "mma=1 m=128 n=16 k=48 stages=2 warps=12 flat=2 cluster=2"},
    /* images that a launch before writes: more windows than positions, rows that lie apart or begin
     * anywhere, what is computed of what is read */
    {"graph(%lying: f32[2, 24, 9, 14], %w: f32[24, 24, 3, 3], %b: f32[24]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, %b, 1, 2)\n %r = relu(%c)\n return %r\n}\n",
     "mma=1 m=128 n=32 k=96 stages=2 warps=12 flat=2"},
    {"graph(%lying: f32[2, 18, 5, 6, 7], %w: f32[24, 9, 2, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, [1, 2, 2], 1, False, 0, 2, 3)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=48 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[3, 17, 33], %w: f32[40, 17, 3]) convolutions tf32 {\n"
     " %e = mul(%lying, 1.5)\n %h = relu(%e)\n %c = convolution(%h, %w, None, 1, 4, 2, False, 0, "
     "1, 1)\n"
     " return %c\n}\n",
     "mma=1 m=64 n=40 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 24, 9, 16], %s: f32[24, 1, 1], %w: f32[16, 24, 3, 3]) {\n"
     " %h = mul(%lying, %s)\n %e = sigmoid(%h)\n %c = convolution(%e, %w, None, 1, 2)\n"
     " return %c\n}\n",
     "mma=1 m=128 n=16 k=64 stages=2 warps=12 flat=2"},
    {"graph(%lying: f32[4, 16, 40, 3], %w: f32[24, 16, 3, 3]) {\n"
     " %c = convolution(%lying, %w, None, 1, [0, 1])\n return %c\n}\n",
     "mma=1 m=64 n=24 k=64 stages=2 warps=8 flat=2"},
    /* what channels, pixels or all of them come to */
    {"graph(%lying: f32[3, 64, 18, 30], %w: f32[40, 64, 3, 3], %b: f32[40]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, %b)\n %a = amin(%c, [1], True)\n %r = tanh(%a)\n"
     " return %r\n}\n",
     "mma=1 m=64 n=40 k=96 stages=2 warps=8 flat=2"},
    {"graph(%lying: f32[2, 64, 18, 30], %w: f32[24, 64, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w, None, 1, 1)\n %e = sigmoid(%c)\n %s = sum(%e, [0, 2, 3])\n"
     " return %s\n}\n",
     "mma=1 m=128 n=32 k=96 stages=2 warps=12 flat=2"},
    {"graph(%lying: f32[2, 64, 18, 22], %w: f32[72, 64, 3, 3]) convolutions tf32 {\n"
     " %c = convolution(%lying, %w)\n %a = amax(%c)\n return %a\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 cluster=2 flat=2"},
};

/* Filters of one tap, over images whose pixels are no whole vectors: one lies behind the other in
 * memory, and begins anywhere. */
static void odd_images(struct arena *a, case_vec *out) {
    static const int pixels[][2] = {{1, 1}, {1, 3}, {1, 17}, {7, 7}, {14, 14}};
    for (size_t i = 0; i < 4 * sizeof pixels / sizeof *pixels; i++) {
        int type = (int)i % 4;
        struct convolution_text t = {.a = a,
                                     .dims = 2,
                                     .images = 3,
                                     .groups = 1,
                                     .channels = 72,
                                     .filters = 24,
                                     .size = {pixels[i / 4][0], pixels[i / 4][1]},
                                     .taps = {1, 1},
                                     .stride = {1, 1},
                                     .dilation = {1, 1},
                                     .relu = i % 3 == 0,
                                     .type = type};
        const char *text = convolution_of(&t), *depth = type == 3 ? "k=32" : "k=64";
        for (int old = 0; old < 2; old++)
            vec_push(a, out,
                     ((struct case_graph){
                         .text = text,
                         .every = CASES_DEFAULT,
                         .old = old,
                         .config = arena_printf(a, "%s m=64 n=64 stages=2 %s%s",
                                                old ? "mma=2 tm=32 tn=32 warps=4" : "mma=1 warps=8",
                                                depth, i / 4 % 2 ? " split=2" : "")}));
    }
}

/* Tiles that warps make: windows of few channels with taps along any dimension, strides and
 * dilations, one tap, many steps, groups, and what is computed before. */
static void made_tiles(struct arena *a, case_vec *out) {
    static const struct convolution_text shapes[] = {
        {.dims = 3,
         .channels = 3,
         .filters = 24,
         .groups = 1,
         .size = {9, 10, 4},
         .taps = {3, 3, 1},
         .stride = {1, 1, 1},
         .padding = {0, 1, 0},
         .dilation = {1, 1, 1}},
        {.dims = 1,
         .channels = 40,
         .filters = 24,
         .groups = 1,
         .size = {70},
         .taps = {3},
         .stride = {3},
         .dilation = {4}},
        {.dims = 2,
         .channels = 72,
         .filters = 40,
         .groups = 1,
         .size = {5, 7},
         .taps = {1, 1},
         .stride = {1, 1},
         .dilation = {1, 1}},
        {.dims = 2,
         .channels = 8,
         .filters = 80,
         .groups = 2,
         .size = {6, 9},
         .taps = {5, 3},
         .stride = {2, 1},
         .padding = {2, 1},
         .dilation = {1, 1}},
        {.dims = 2,
         .channels = 3,
         .filters = 66, /* in f32 columns: of two tiles' rows half would be none */
         .groups = 1,
         .size = {26, 42},
         .taps = {7, 7},
         .stride = {2, 2},
         .padding = {3, 3},
         .dilation = {1, 1}},
    };
    static const int columns[] = {128, 64, 32};
    enum { KINDS = 8 }; /* of types and makers */
    for (size_t i = 0; i < KINDS * sizeof shapes / sizeof *shapes; i++) {
        struct convolution_text t = shapes[i / KINDS];
        int make = 1 + (int)i / 4 % 2, m = i / KINDS % 2 ? 64 : 128, n = columns[i % 3];
        int stages = make < 2 ? 2 : 2 + (int)i % 2; /* of three turns may go on */
        t.a = a;
        t.images = 2;
        t.type = (int)i % 4;
        t.relu = i % 3 == 0;
        if (t.filters == 66 && t.type > 1) n = 80;
        const char *config = arena_printf(
            a, "mma=1 m=%d n=%d k=%s stages=%d make=%d warps=%d%s", m, n, t.type == 3 ? "32" : "64",
            stages, make, m / 16 + 4 * make, t.channels == 72 && make == 2 ? " split=2" : "");
        vec_push(a, out,
                 ((struct case_graph){.text = convolution_of(&t),
                                      .every = CASES_DEFAULT,
                                      .tiny = i % 2,
                                      .maybe = t.type < 2, /* copied as they lie */
                                      .config = config}));
    }
}

/* Pairs of f16: windows, with strides and holes, of groups, behind a relu, as channels lie last, of
 * one tap, of phases; out of range: all of it, one image of two. */
static const char *const of_pairs[] = {
    "graph(%x: f32[2, 64, 9, 12], %w: f32[40, 64, 3, 3], %b: f32[40]) {\n"
    " %y = convolution(%x, %w, %b, 1, 1)\n return %y\n}\n",
    "graph(%x: f32[2, 128, 9, 7], %w: f32[72, 64, 3, 3]) {\n %a = relu(%x)\n"
    " %y = convolution(%a, %w, None, [2, 1], [1, 2], [1, 2], False, 0, 2)\n return %y\n}\n",
    "graph(%x: f32[2, 9, 7, 72], %w: f32[40, 72, 3, 3]) {\n %p = permute(%x, [0, 3, 1, 2])\n"
    " %y = convolution(%p, %w, None, 1, 1)\n return %y\n}\n",
    "graph(%x: f32[3, 520, 5, 7], %w: f32[24, 520, 1, 1]) {\n"
    " %y = convolution(%x, %w, None, 1, 0)\n return %y\n}\n",
    "graph(%x: f32[1, 1, 512, 3, 4], %w: f32[1, 24, 512, 3, 3]) {\n"
    " %y = convolve_phases(%x, %w, [2, 2], [1, 1], [1, 1], [3, 4])\n return %y\n}\n",
    "graph(%x: f32[1, 1, 512, 5, 4], %w: f32[1, 24, 512, 3, 3]) {\n"
    " %y = convolve_phases(%x, %w, [2, 2], [1, 1], [1, 1], [5, 4])\n return %y\n}\n",
    "graph(%x: f32[2, 64, 9, 12], %w: f32[40, 64, 3, 3]) {\n %a = mul(%x, 1e-9)\n"
    " %y = convolution(%a, %w, None, 1, 1)\n return %y\n}\n",
    "graph(%x: f32[2, 64, 9, 12], %w: f32[40, 64, 3, 3], %s: f32[2, 1, 1, 1]) {\n"
    " %m = gt(%s, 0)\n %f = where(%m, 1e-10, 1)\n %a = mul(%x, %f)\n"
    " %y = convolution(%a, %w, None, 1, 1)\n return %y\n}\n",
    /* filters that are neighbouring outputs, as graph/wide_filters.c has them */
    "graph(%x: f32[2, 16, 6, 12], %w: f32[16, 16, 5, 8], %b: f32[8]) {\n"
    " %c = convolution(%x, %w, None, [1, 2], [2, 3])\n %d = view(%c, [2, 8, 2, 6, 6])\n"
    " %e = permute(%d, [0, 1, 3, 4, 2])\n %f = view(%e, [2, 8, 6, 12])\n"
    " %v = view(%b, [8, 1, 1])\n %y = add(%f, %v)\n return %y\n}\n",
    "graph(%x: f32[1, 24, 4, 6, 8], %w: f32[32, 24, 3, 4, 4]) {\n"
    " %c = convolution(%x, %w, None, [1, 2, 2], [2, 2, 2], spatial=3)\n"
    " %d = view(%c, [1, 8, 2, 2, 6, 4, 5])\n %e = permute(%d, [0, 1, 4, 5, 2, 6, 3])\n"
    " %y = view(%e, [1, 8, 6, 8, 10])\n return %y\n}\n",
};

/* Pixels some positions apart, one tap each: of images whose channels lie last, of others behind a
 * relu, as rows and as the depth of a product, and of one dimension whose images end within it. */
static const char *const pixels_apart[] = {
    "graph(%x: bf16[3, 9, 11, 40], %w: bf16[72, 40, 1, 1], %b: bf16[72]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %y = convolution(%p, %w, %b, 2)\n return %y\n}\n",
    "graph(%x: f16[2, 10, 12, 64], %w: f16[40, 64, 1, 1]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %q = relu(%p)\n %y = convolution(%q, %w, None, [3, 2])\n"
    " return %y\n}\n",
    "graph(%x: bf16[2, 40, 9, 7], %w: bf16[24, 40, 1, 1]) {\n %y = convolution(%x, %w, None, 2)\n"
    " return %y\n}\n",
    "graph(%x: bf16[3, 8, 12, 40], %d: bf16[3, 4, 6, 72]) {\n"
    " %p = permute(%x, [3, 0, 1, 2])\n %q = permute(%d, [3, 0, 1, 2])\n"
    " %c = convolution(%p, %q, None, 1, 0, 2)\n %s = slice(%c, 2, 0, 1)\n"
    " %t = slice(%s, 3, 0, 1)\n return %t\n}\n",
    /* all of them, of several images: which one a channel is of is the same for a vector */
    "graph(%x: bf16[3, 24, 8, 8], %z: bf16[3, 16, 8, 8], %w: bf16[40, 40, 1, 1]) {\n"
    " %m = mul(%z, 3.0)\n %c = cat([%x, %m], 1)\n %y = convolution(%c, %w)\n return %y\n}\n",
    "graph(%x: bf16[5, 33, 64], %w: bf16[64, 64, 1]) {\n %p = permute(%x, [0, 2, 1])\n"
    " %y = convolution(%p, %w, None, 4, 0, 1, False, 0, 1, 1)\n return %y\n}\n",
};

/* What is concatenated is stored where it belongs (schedule/pieces.c): by products, along channels
 * of several images and along columns, read by another one, and as it is; by a norm. */
static const char *const joined[] = {
    "graph(%x: f32[2, 8, 8, 8], %u: f32[16, 8, 1, 1], %v: f32[24, 8, 3, 3], %w: f32[8, 40, 1, 1]) {"
    "\n %a = convolution(%x, %u)\n %b = convolution(%x, %v, None, 1, 1)\n %r = relu(%b)\n"
    " %c = cat([%a, %r], 1)\n %y = convolution(%c, %w)\n return %y, %c\n}\n",
    "graph(%x: bf16[2, 16, 8, 8], %u: bf16[16, 16, 1, 1], %v: bf16[24, 16, 3, 3],"
    " %w: bf16[8, 40, 3, 3]) {\n"
    " %a = convolution(%x, %u)\n %b = convolution(%x, %v, None, 1, 1)\n"
    " %c = cat([%a, %b], 1)\n %y = convolution(%c, %w)\n return %y\n}\n",
    "graph(%x: f32[40, 24], %u: f32[24, 32], %v: f32[24, 64], %w: f32[24, 8]) {\n"
    " %a = matmul(%x, %u)\n %b = matmul(%x, %v)\n %d = matmul(%x, %w)\n %s = softmax(%d, 1)\n"
    " %c = cat([%b, %a, %s], 1)\n %t = sum(%a, 1)\n return %c, %t\n}\n",
};

/* What windows of f32 read is made by the pass that writes their image (schedule/recompute.c): in
 * tf32 and by planes, padding stays 0, behind a product, where another kernel reads it, too. */
static const char *const made_images[] = {
    "graph(%x: f32[2, 16, 9, 12], %s: f32[1, 16, 1, 1], %t: f32[1, 16, 1, 1], %w: f32[24, 16, 3, "
    "3])"
    " convolutions tf32 {\n %n = mul(%x, %s)\n %a = add(%n, %t)\n %r = exp(%a)\n"
    " %y = convolution(%r, %w, None, 1, 1)\n return %y\n}\n",
    "graph(%x: f32[2, 16, 9, 12], %s: f32[1, 16, 1, 1], %t: f32[1, 16, 1, 1], %w: f32[24, 16, 3, "
    "3])"
    " {\n %n = mul(%x, %s)\n %a = add(%n, %t)\n %r = exp(%a)\n"
    " %y = convolution(%r, %w, None, 2, 1)\n return %y\n}\n",
    "graph(%x: f32[2, 8, 9, 12], %v: f32[16, 8, 1, 1], %g: f32[16], %h: f32[16], %w: f32[40, 16, "
    "3, 3])"
    " convolutions tf32 {\n %c = convolution(%x, %v)\n"
    " %n = batch_norm(%c, None, None, %g, %h, True)\n %r = relu(%n)\n"
    " %y = convolution(%r, %w, None, 1, 1)\n %m = mean(%r, [2, 3])\n return %y, %m\n}\n",
};

/* Pixels are rows: what a thread has of a column is stored as vectors where they are contiguous, in
 * strict f32, with a bias and a residual; 63 pixels are no vectors. */
static const char *const of_rows[] = {
    "graph(%x: f32[3, 6, 8, 8], %w: f32[24, 6, 1, 1], %b: f32[24], %z: f32[3, 24, 8, 8])"
    " convolutions strict {\n %c = convolution(%x, %w, %b)\n %a = add(%c, %z)\n %y = relu(%a)\n"
    " return %y\n}\n",
    "graph(%x: f32[2, 5, 7, 9], %w: f32[12, 5, 3, 3]) convolutions strict {\n"
    " %y = convolution(%x, %w, None, 1, 1)\n return %y\n}\n",
};

/* Images between convolutions have their channels innermost (graph/channels_last.c), where that
 * saves more than it costs. */
static const char *const chains[] = {
    /* a pool between, an output in the user's order */
    "graph(%x: bf16[2, 3, 11, 12], %u: bf16[16, 3, 3, 3], %b: bf16[16], %v: bf16[40, 16, 3, 3],"
    " %w: bf16[8, 40, 1, 1]) {\n"
    " %c = convolution(%x, %u, %b, 1, 1)\n %r = relu(%c)\n %d = convolution(%r, %v, None, 1, 1)\n"
    " %p = max_pool(%d, 2)\n %q = relu(%p)\n %y = convolution(%q, %w)\n return %y\n}\n",
    /* groups, one dimension, a mean over pixels and a softmax over channels */
    "graph(%x: f16[3, 16, 50], %u: f16[32, 16, 3], %v: f16[16, 16, 5], %w: f16[16, 16, 3]) {\n"
    " %a = convolution(%x, %u, None, 1, 1, 1, False, 0, 1, 1)\n %r = tanh(%a)\n"
    " %b = convolution(%r, %v, None, 2, 2, 1, False, 0, 2, 1)\n %s = softmax(%b, 1)\n"
    " %c = convolution(%s, %w, None, 1, 1, 1, False, 0, 1, 1)\n %m = mean(%c, [2])\n"
    " return %m\n}\n",
    /* norms in training, a residual that lies so, a variance behind each convolution */
    "graph(%x: bf16[2, 9, 10, 16], %u: bf16[24, 16, 3, 3], %g: bf16[24], %h: bf16[24],"
    " %v: bf16[16, 24, 3, 3]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %a = convolution(%p, %u, None, 1, 1)\n"
    " %n = batch_norm(%a, None, None, %g, %h, True)\n %r = relu(%n)\n"
    " %b = convolution(%r, %v, None, 1, 1)\n %m = batch_norm(%b, None, None, None, None, True)\n"
    " %s = add(%m, %p)\n %t = relu(%s)\n %y = permute(%t, [0, 2, 3, 1])\n %o = var(%b, [0, 2, 3])\n"
    " return %y, %o\n}\n",
    /* a residual behind a convolution */
    "graph(%x: bf16[2, 7, 9, 16], %u: bf16[16, 16, 3, 3], %v: bf16[24, 16, 3, 3]) {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %a = convolution(%p, %u, None, 1, 1)\n %s = add(%a, %p)\n"
    " %r = relu(%s)\n %b = convolution(%r, %v, None, 1, 1)\n %y = permute(%b, [0, 2, 3, 1])\n"
    " return %y\n}\n",
    /* in three dimensions, transposed, and a sum over channels that keeps them */
    "graph(%x: bf16[2, 8, 4, 5, 6], %u: bf16[8, 16, 3, 3, 3], %v: bf16[8, 16, 3, 3, 3]) {\n"
    " %a = convolution(%x, %u, None, 1, 1, 1, True, 0, 1, 3)\n %s = sum(%a, [1], True)\n"
    " %d = sub(%a, %s)\n %y = convolution(%d, %v, None, 1, 1, 1, False, 0, 1, 3)\n"
    " return %y\n}\n",
    /* f32 in tf32: windows of 3 x 3, 1 x 1 apart and side by side, and a residual, as they lie */
    "graph(%x: f32[2, 7, 9, 16], %u: f32[36, 16, 3, 3], %b: f32[36], %v: f32[20, 36, 3, 3],"
    " %w: f32[16, 20, 1, 1], %z: f32[8, 16, 1, 1]) convolutions tf32 {\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %a = convolution(%p, %u, %b, 1, 1)\n %r = relu(%a)\n"
    " %c = convolution(%r, %v, None, 1, 1)\n %q = relu(%c)\n %d = convolution(%q, %w)\n"
    " %s = add(%d, %p)\n %t = relu(%s)\n %y = convolution(%t, %z, None, 2)\n return %y\n}\n",
};

void cases_convolutions(struct arena *a, uint64_t seed, int n, case_vec *out) {
    struct rng r = {seed};
    for (size_t i = 0; i < 2 * sizeof chains / sizeof *chains; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = chains[i / 2],
                                      .every = CASES_DEFAULT,
                                      .old = i % 2,
                                      .maybe = true,
                                      .config = i % 2 ? "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=32 "
                                                        "stages=2"
                                                : strstr(chains[i / 2], "tf32")
                                                    ? "mma=1 m=64 n=64 k=32 stages=2 warps=8"
                                                    : "mma=1 m=64 n=64 k=64 stages=2 warps=8"}));
    for (size_t i = 0; i < 2 * sizeof pixels_apart / sizeof *pixels_apart; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = pixels_apart[i / 2],
                                      .every = CASES_DEFAULT,
                                      .old = i % 2,
                                      .config = i % 2 ? "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=32 "
                                                        "stages=2"
                                                      : "mma=1 m=64 n=64 k=64 stages=2 warps=8"}));
    odd_images(a, out);
    made_tiles(a, out);
    vec_push(a, out, ((struct case_graph){.text = sums_of_pixels, .every = CASES_DEFAULT}));
    vec_push(a, out,
             ((struct case_graph){.text = sums_of_images,
                                  .every = CASES_DEFAULT,
                                  .config = "mma=1 m=64 n=64 k=64 stages=2 warps=8"}));
    vec_push(a, out,
             ((struct case_graph){.text = sums_of_images,
                                  .every = CASES_DEFAULT,
                                  .old = true,
                                  .config = "mma=2 m=32 n=64 tm=16 tn=32 warps=4 k=64 stages=2"}));
    vec_push(a, out,
             ((struct case_graph){.text = pooled,
                                  .every = CASES_DEFAULT,
                                  .config = "mma=1 m=64 n=32 k=64 stages=2 warps=8"}));
    vec_push(a, out,
             ((struct case_graph){.text = weight_gradient,
                                  .every = CASES_DEFAULT,
                                  .config = "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=4"}));
    vec_push(a, out,
             ((struct case_graph){.text = infinite_neighbours,
                                  .every = CASES_DEFAULT,
                                  .config = "mma=1 m=64 n=32 k=64 stages=2 warps=8"}));
    vec_push(a, out,
             ((struct case_graph){.text = infinite_neighbours,
                                  .every = CASES_DEFAULT,
                                  .old = true,
                                  .config = "mma=2 m=32 n=32 tm=16 tn=16 warps=4 k=32 stages=2"}));
    for (size_t i = 0; i < sizeof infinite_phases / sizeof *infinite_phases; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = infinite_phases[i].text,
                                      .every = CASES_DEFAULT,
                                      .old = infinite_phases[i].old,
                                      .config = infinite_phases[i].config}));
    for (size_t i = 0; i < sizeof shifted / sizeof *shifted; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = shifted[i].text,
                                      .every = CASES_DEFAULT,
                                      .tiny = strstr(shifted[i].config, "fit=") != NULL,
                                      .config = shifted[i].config}));
    for (size_t i = 0; i < sizeof of_pairs / sizeof *of_pairs; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = of_pairs[i],
                                      .every = CASES_DEFAULT,
                                      .tiny = i % 2,
                                      .config = i % 3 ? "mma=1 m=64 n=64 k=64 stages=2 warps=8 "
                                                        "pairs=1"
                                                      : "mma=1 m=128 n=32 k=64 stages=2 warps=12 "
                                                        "cluster=2 pairs=1"}));
    for (size_t i = 0; i < sizeof over_channels / sizeof *over_channels; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = over_channels[i].text,
                                      .every = CASES_DEFAULT,
                                      .old = over_channels[i].old,
                                      .maybe = true,
                                      .config = over_channels[i].config}));
    for (size_t i = 0; i < sizeof between_sectors / sizeof *between_sectors; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = between_sectors[i].text,
                                      .every = CASES_DEFAULT,
                                      .old = between_sectors[i].old,
                                      .config = between_sectors[i].config}));
    for (size_t i = 0; i < sizeof of_few_filters / sizeof *of_few_filters; i++)
        vec_push(a, out, ((struct case_graph){.text = of_few_filters[i], .every = 3}));
    for (int i = 0; i < n + n / 2; i++) {
        int type = rng_below(&r, 4);
        const char *text = random_convolution(a, &r, type, i >= n);
        bool by_warps = rng_below(&r, 2), old = by_warps && rng_below(&r, 2);
        vec_push(a, out,
                 ((struct case_graph){.text = text,
                                      .every = CASES_DEFAULT,
                                      .old = old,
                                      .tiny = !old && i % 2 == 0,
                                      .maybe = true,
                                      .config = config_of(a, &r, type, by_warps)}));
    }
    for (size_t i = 0; i < 2 * sizeof joined / sizeof *joined; i++)
        vec_push(a, out, ((struct case_graph){.text = joined[i / 2], .every = 5, .old = i % 2}));
    for (size_t i = 0; i < 2 * sizeof made_images / sizeof *made_images; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = made_images[i / 2], .every = 5, .old = i % 2}));
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        vec_push(a, out, ((struct case_graph){.text = of_rows[i], .every = 2}));
    for (size_t i = 0; i < sizeof lying / sizeof *lying; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = lying[i].text,
                                      .every = CASES_DEFAULT,
                                      .tiny = i % 2,
                                      .config = lying[i].config}));
    struct rng others = {seed + 1};
    for (int i = 0; i < n; i++) {
        const char *text = random_convolution(a, &others, OF_TF32, false);
        const char *config = arena_printf(a, "mma=1 m=64 n=32 k=%d stages=2 warps=8 flat=2",
                                          RNG_ANY(&others, 32, 48, 80, 96));
        vec_push(a, out,
                 ((struct case_graph){.text = text,
                                      .every = CASES_DEFAULT,
                                      .tiny = i % 2,
                                      .maybe = true,
                                      .config = config}));
    }
    vec_push(a, out, ((struct case_graph){.text = few_normed, .every = CASES_DEFAULT}));
    vec_push(a, out,
             ((struct case_graph){.text = parts_of_pixels,
                                  .every = CASES_DEFAULT,
                                  .config = "mma=1 m=64 n=8 k=16 stages=2 warps=8"}));
    for (size_t i = 0; i < sizeof in_lines / sizeof *in_lines; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = in_lines[i].text,
                                      .every = CASES_DEFAULT,
                                      .config = in_lines[i].config}));
}
