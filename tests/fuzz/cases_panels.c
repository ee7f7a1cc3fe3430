/* cases_panels.c: products on the CPU by packed panels (emit/c_matmul.c): both factors along the
 * depth and across, odd sizes, batches, empty axes, types, long depths, and what is computed before
 * and behind; each under its default and in blocks that no machine's vectors are as wide as, of
 * tiles that neither the blocks nor the panels divide the sizes by. */
#include "tests/fuzz/cases.h"

static const struct {
    const char *text, *config;
} products[] = {
    /* as it lies in memory, of odd sizes */
    {"graph(%x: f32[67, 33], %y: f32[33, 41]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=20 n=48 k=16 tm=5 tn=16"},
    {"graph(%x: f32[33, 67], %y: f32[33, 41]) {\n %a = permute(%x, [1, 0])\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "m=21 n=32 k=10 tm=7 tn=32"},
    {"graph(%x: f32[67, 133], %y: f32[41, 133]) {\n %b = permute(%y, [1, 0])\n %z = mm(%x, %b)\n"
     " return %z\n}\n",
     "m=12 n=32 k=33 tm=3 tn=16"},
    {"graph(%x: f32[133, 67], %y: f32[41, 133]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=64 n=30 k=200 tm=4 tn=6"},
    {"graph(%x: f32[70, 40], %y: f32[80, 90]) {\n %a = slice(%x, 0, 1, 70, 3)\n"
     " %b = slice(%y, 0, 0, 80, 2)\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=16 n=64 k=128 tm=8 tn=64"},
    /* one row, one column, one step, nothing at all */
    {"graph(%x: f32[1, 40], %y: f32[40, 70]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=4 n=16 k=16 tm=4 tn=16"},
    {"graph(%x: f32[70, 1], %y: f32[1, 37]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=6 n=16 k=16 tm=6 tn=16"},
    {"graph(%x: f32[37, 0], %y: f32[0, 18]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=6 n=16 k=16 tm=6 tn=16"},
    /* batches, of both factors and of one */
    {"graph(%x: f32[3, 37, 40], %y: f32[3, 40, 29]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "m=12 n=16 k=16 tm=6 tn=16"},
    {"graph(%x: bf16[2, 3, 40, 24], %y: bf16[24, 56]) {\n %z = matmul(%x, %y)\n return %z\n}\n",
     "m=12 n=48 k=20 tm=4 tn=16"},
    /* where terms count: half of the results, factors that are 0 beyond a diagonal, no depth at all
     * in some tiles, in one panel and in several, and some more than a sum has at a time */
    {"graph(%x: f32[67, 33], %y: f32[33, 75]) {\n %z = mm(%x, %y)\n %t = triu(%z, 3)\n"
     " return %t\n}\n",
     "m=12 n=16 k=16 tm=6 tn=16"},
    {"graph(%x: f32[2, 75, 33], %y: f32[2, 33, 67]) {\n %z = bmm(%x, %y)\n %t = tril(%z, -9)\n"
     " return %t\n}\n",
     "m=12 n=16 k=128 tm=6 tn=16"},
    {"graph(%x: f32[67, 133], %y: f32[133, 41]) {\n %a = tril(%x, -9)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "m=12 n=32 k=16 tm=3 tn=16"},
    {"graph(%x: f32[67, 1133], %y: f32[1133, 75]) {\n %a = triu(%x, 30)\n %b = tril(%y, -300)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "m=12 n=32 k=300 tm=3 tn=16"},
    {"graph(%x: f32[20, 20], %y: f32[20, 20]) {\n %a = tril(%x, -30)\n %z = mm(%a, %y)\n"
     " %s = add(%z, 1)\n return %s\n}\n",
     "m=4 n=16 k=16 tm=4 tn=16"},
    /* types */
    {"graph(%x: f64[45, 150], %y: f64[150, 35]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=24 n=24 k=64 tm=6 tn=8"},
    {"graph(%x: f64[150, 45], %y: f64[35, 150]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=24 n=24 k=140 tm=3 tn=12"},
    {"graph(%x: bf16[67, 133], %y: bf16[41, 133]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "m=24 n=32 k=40 tm=6 tn=16"},
    {"graph(%x: f16[133, 67], %y: f16[133, 41]) {\n %a = permute(%x, [1, 0])\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "m=24 n=32 k=130 tm=6 tn=32"},
    {"graph(%x: i64[37, 50], %y: i64[50, 29]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=12 n=16 k=16 tm=6 tn=8"},
    {"graph(%x: i32[37, 150], %y: i32[29, 150]) {\n %b = permute(%y, [1, 0])\n %z = mm(%x, %b)\n"
     " return %z\n}\n",
     "m=12 n=16 k=140 tm=6 tn=16"},
    {"graph(%x: i8[37, 50], %y: i8[50, 29]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=12 n=16 k=16 tm=6 tn=16"},
    /* sums of sums, that are folded */
    {"graph(%x: f32[18, 20001], %y: f32[20001, 17]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=12 n=16 k=48 tm=6 tn=16"},
    {"graph(%x: f64[18, 20001], %y: f64[17, 20001]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "m=6 n=8 k=300 tm=3 tn=8"},
    /* before: computed, of two loads, guarded ones, looked up; numbers that are none */
    {"graph(%x: f32[64, 48], %y: f32[48, 40], %w: f32[48, 40]) {\n %a = relu(%x)\n"
     " %b = mul(%y, %w)\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=24 n=32 k=20 tm=6 tn=16"},
    {"graph(%x: f32[61, 48], %y: f32[40, 48], %w: f32[48]) {\n %a = mul(%x, %w)\n %e = exp(%y)\n"
     " %b = permute(%e, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=24 n=32 k=20 tm=6 tn=16"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "m=24 n=32 k=20 tm=6 tn=16"},
    {"graph(%x: bf16[64, 72], %y: f32[72, 64]) {\n %a = float(%x)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "m=24 n=32 k=20 tm=6 tn=16"},
    /* behind: bias, residual, rows, two outputs, one that lies across; of sums that are folded */
    {"graph(%x: bf16[72, 64], %y: bf16[64, 96], %b: bf16[96], %r: bf16[72, 96]) {\n"
     " %z = mm(%x, %y)\n %a = add(%z, %b)\n %g = gelu(%a)\n %s = add(%g, %r)\n return %s\n}\n",
     "m=30 n=64 k=24 tm=6 tn=32"},
    {"graph(%x: f32[72, 64], %y: f32[64, 33], %b: f32[72, 1]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, %b)\n %g = sigmoid(%a)\n return %a, %g\n}\n",
     "m=30 n=32 k=64 tm=6 tn=16"},
    {"graph(%x: f64[72, 64], %y: f64[64, 40]) {\n %z = mm(%x, %y)\n %t = permute(%z, [1, 0])\n"
     " %c = exp(%t)\n return %z, %c\n}\n",
     "m=30 n=16 k=24 tm=5 tn=8"},
    {"graph(%x: f32[20, 16500], %y: f32[16500, 17], %b: f32[17]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, %b)\n %r = relu(%a)\n return %r\n}\n",
     "m=12 n=16 k=100 tm=6 tn=16"},
    /* windows, whose columns go by runs: of rows shorter and longer than a vector and a block,
     * with strides, dilations and types; by taps, where filters are few */
    {"graph(%x: f32[3, 5, 7, 7], %w: f32[19, 5, 3, 3], %b: f32[19]) {\n"
     " %y = convolution(%x, %w, %b, 1, 1)\n %z = relu(%y)\n return %z\n}\n",
     "m=24 n=48 k=16 tm=6 tn=16"},
    {"graph(%x: f32[2, 3, 9, 41], %w: f32[17, 3, 3, 5], %r: f32[2, 17, 4, 19]) {\n"
     " %y = convolution(%x, %w, None, 2)\n %z = add(%y, %r)\n return %z\n}\n",
     "m=20 n=64 k=20 tm=5 tn=32"},
    {"graph(%x: f32[2, 4, 100], %w: f32[18, 4, 3]) {\n"
     " %y = convolution(%x, %w, None, 3, 4, 4, spatial=1)\n return %y\n}\n",
     "m=18 n=32 k=128 tm=6 tn=16"},
    {"graph(%x: f64[2, 2, 3, 6, 11], %w: f64[20, 2, 2, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, [1, 0, 2], spatial=3)\n return %y\n}\n",
     "m=20 n=48 k=30 tm=5 tn=8"},
    {"graph(%x: bf16[2, 24, 6, 37], %w: bf16[36, 12, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, 2, 2, groups=2)\n %z = gelu(%y)\n return %z\n}\n",
     "m=12 n=48 k=40 tm=6 tn=16"},
    {"graph(%x: f16[5, 40, 3, 3], %w: f16[30, 40, 1, 1]) {\n %y = convolution(%x, %w)\n"
     " return %y\n}\n",
     "m=30 n=16 k=16 tm=6 tn=16"},
    {"graph(%x: i32[2, 3, 5, 9], %w: i32[18, 3, 2, 2]) {\n %y = convolution(%x, %w)\n"
     " return %y\n}\n",
     "m=18 n=16 k=16 tm=6 tn=16"},
    {"graph(%x: f32[2, 12, 9, 29], %w: f32[12, 4, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, 1, 1, groups=3)\n %z = relu(%y)\n return %z\n}\n",
     "x=8 r=256 vec=16"},
    {"graph(%x: f32[2, 3, 9, 40], %w: f32[5, 3, 3, 3], %b: f32[5]) {\n"
     " %y = convolution(%x, %w, %b, 2, 1)\n return %y\n}\n",
     "x=8 r=256 vec=8"},
    /* windows that stay in their image (flat=1): rows in whole blocks and not, tiles of parts of a
     * row, of some rows, of some images, some channels at a time; vectors and blocks that fit and
     * that do not; what is computed before, behind, and where nothing is beyond the edges */
    {"graph(%x: f32[3, 5, 7, 7], %w: f32[40, 5, 3, 3], %b: f32[40]) {\n"
     " %y = convolution(%x, %w, %b, 1, 1)\n %z = relu(%y)\n return %z\n}\n",
     "m=32 n=98 k=20 tm=32 tn=7 flat=1"},
    {"graph(%x: f32[2, 8, 9, 41], %w: f32[35, 8, 3, 5], %r: f32[2, 35, 4, 19]) {\n"
     " %y = convolution(%x, %w, None, 2)\n %z = add(%y, %r)\n return %z\n}\n",
     "m=48 n=32 k=40 tm=16 tn=8 flat=1"},
    {"graph(%x: f32[2, 24, 100], %w: f32[18, 24, 3]) {\n"
     " %y = convolution(%x, %w, None, 3, 4, 4, spatial=1)\n return %y\n}\n",
     "m=24 n=15 k=30 tm=8 tn=5 flat=1"},
    {"graph(%x: f64[2, 2, 3, 6, 11], %w: f64[20, 2, 2, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, [1, 0, 2], spatial=3)\n return %y\n}\n",
     "m=20 n=36 k=30 tm=4 tn=6 flat=1"},
    {"graph(%x: f32[2, 20, 3, 6, 16], %w: f32[16, 20, 2, 3, 3], %b: f32[16]) {\n"
     " %e = exp(%x)\n %y = convolution(%e, %w, %b, [2, 1, 1], 1, spatial=3)\n"
     " %z = gelu(%y)\n return %y, %z\n}\n",
     "m=16 n=64 k=60 tm=16 tn=4 flat=1"},
    {"graph(%x: bf16[2, 24, 6, 37], %w: bf16[36, 12, 3, 3]) {\n"
     " %y = convolution(%x, %w, None, 1, 2, 2, groups=2)\n %z = gelu(%y)\n return %z\n}\n",
     "m=32 n=42 k=40 tm=16 tn=14 flat=1"},
    {"graph(%x: f32[3, 6, 8, 12], %w: f32[6, 5, 3, 3], %b: f32[10]) {\n"
     " %y = convolution(%x, %w, %b, 1, 2, 2, True, 0, 2)\n return %y\n}\n",
     "m=8 n=36 k=20 tm=8 tn=6 flat=1"},
    {"graph(%x: f16[2, 16, 9, 15], %w: f16[16, 40, 4, 4]) {\n"
     " %y = convolution(%x, %w, None, 2, 1, 1, True)\n return %y\n}\n",
     "m=48 n=64 k=20 tm=16 tn=8 flat=1"},
    {"graph(%x: f32[1, 12, 9, 40], %w: f32[40, 12, 3, 3], %r: f32[1, 40, 9, 40]) {\n"
     " %p = relu(%x)\n %y = convolution(%p, %w, None, 1, 1)\n %a = mul(%y, %r)\n"
     " %s = sigmoid(%y)\n return %a, %s\n}\n",
     "m=40 n=20 k=200 tm=8 tn=10 flat=1"},
    {"graph(%x: i32[2, 3, 5, 9], %w: i32[18, 3, 2, 2]) {\n %y = convolution(%x, %w)\n"
     " return %y\n}\n",
     "m=18 n=16 k=16 tm=6 tn=4 flat=1"},
    {"graph(%x: f32[2, 12, 8, 9], %w: f32[18, 12, 3, 3]) {\n %m = gt(%x, 2)\n"
     " %q = where(%m, inf, %x)\n %y = convolution(%q, %w, None, 2, 2)\n return %y\n}\n",
     "m=32 n=15 k=50 tm=16 tn=5 flat=1"},
    {"graph(%x: f32[2, 64, 5, 20], %w: f32[17, 64, 3, 3]) {\n"
     " %q = permute(%x, [0, 1, 3, 2])\n %y = convolution(%q, %w, None, 1, 1)\n return %y\n}\n",
     "m=32 n=50 k=500 tm=16 tn=5 flat=1"},
};

void cases_panels(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = products[i].text,
                                      .every = CASES_DEFAULT,
                                      .config = products[i].config}));
}
