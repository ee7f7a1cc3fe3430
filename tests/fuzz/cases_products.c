/* cases_products.c: products on the matrix units (kernel/matrix.c): layouts of both factors, edges,
 * batches, planes of f32, parts of the depth, clusters, and what is fused before and behind; and by
 * multiply-adds (emit/cuda_matmul.c). */
#include "tests/fuzz/cases.h"

struct product_case {
    const char *text, *config;
};

static const struct product_case by_warpgroups[] = {
    /* as it lies in memory: along the depth, along the rows, both, with a batch */
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f16[72, 136], %y: f16[88, 72]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=32 stages=4 warps=12"},
    {"graph(%x: bf16[72, 72], %y: bf16[72, 72]) {\n %a = permute(%x, [1, 0])\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=128 k=16 stages=3 cluster=2 warps=8 band=1"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 64]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8 band=16"},
    /* four blocks share a tile of one box, and of two: lines of each */
    {"graph(%x: bf16[200, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 cluster=2 warps=8"},
    {"graph(%x: bf16[300, 136], %y: bf16[136, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=64 stages=3 cluster=4 warps=8"},
    /* the last tiles in parts: with batches, an epilogue, planes, pairs, odd rows, windows */
    {"graph(%x: bf16[200, 136], %y: bf16[136, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3"},
    {"graph(%x: bf16[2, 200, 136], %y: bf16[2, 136, 72], %c: bf16[72]) {\n %z = bmm(%x, %y)\n"
     " %s = add(%z, %c)\n %r = relu(%s)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3"},
    {"graph(%x: f32[70, 200], %y: f32[200, 68]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 tail=1"},
    {"graph(%x: f32[131, 576], %y: f32[576, 67]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=4 pairs=1"},
    {"graph(%x: bf16[2, 32, 15, 15], %w: bf16[40, 32, 3, 3]) {\n"
     " %c = convolution(%x, %w, padding=1)\n return %c\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3"},
    /* more parts than a row's chunks of four octets: pairs are stored, in rounds of uneven parts */
    {"graph(%x: bf16[72, 640], %y: bf16[640, 40], %c: bf16[40]) {\n %z = mm(%x, %y)\n"
     " %s = add(%z, %c)\n return %s\n}\n",
     "mma=1 m=64 n=32 k=32 stages=2 warps=8 split=19"},
    /* thin: parts leave no rows beyond the factor's; the other factor leaves L2 first, copied by
     * one block or by a cluster */
    {"graph(%x: bf16[9, 200], %y: bf16[72, 200]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8 split=3 leave_l2=1"},
    {"graph(%x: bf16[50, 72], %y: bf16[72, 128]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8 cluster=2 leave_l2=1"},
    {"graph(%x: bf16[2, 3, 40, 24], %y: bf16[24, 56]) {\n %z = matmul(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=16 stages=2 warps=8"},
    {"graph(%x: f16[200, 24], %y: f16[40, 24]) {\n %b = permute(%y, [1, 0])\n %z = mm(%x, %b)\n"
     " return %z\n}\n",
     "mma=1 m=192 n=40 k=32 stages=2 warps=16"},
    /* images: odd sizes, a factor that is computed, one that is transposed */
    {"graph(%x: bf16[67, 33], %y: bf16[33, 41]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[64, 48], %y: bf16[48, 40], %w: bf16[48, 40]) {\n %a = relu(%x)\n"
     " %b = mul(%y, %w)\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=16 stages=2 warps=8"},
    {"graph(%x: f16[33, 67], %y: f16[41, 33]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    /* planes: f32, one factor of bf16, numbers that are none */
    {"graph(%x: f32[70, 200], %y: f32[200, 36]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f32[5, 70], %y: f32[36, 70]) {\n %b = permute(%y, [1, 0])\n %z = mm(%x, %b)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[64, 72], %y: f32[72, 64]) {\n %a = float(%x)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f32[64, 2200], %y: f32[2200, 32]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %a = mul(%x, 1e-40)\n %b = mul(%y, 1e30)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %a = mul(%x, 1e36)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    /* a left factor that is read into registers, and begins within its tensor */
    {"graph(%x: f32[10, 8, 256], %y: f32[256, 12]) {\n %s = select(%x, dim=1, index=7)\n"
     " %z = mm(%s, %y)\n return %z\n}\n",
     "mma=1 m=128 n=16 k=64 stages=5 warps=12"},
    /* pairs: along the depth and the rows, odd sizes, a batch, parts, crossed sums that go to the
     * total twice, an epilogue */
    {"graph(%x: f32[70, 520], %y: f32[520, 36]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[40, 1224], %y: f32[1224, 36]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[523, 67], %y: f32[41, 523]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=3 warps=8 pairs=1"},
    {"graph(%x: f32[2, 130, 576], %y: f32[2, 576, 72]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 cluster=2 split=2 pairs=1"},
    {"graph(%x: f32[64, 4200], %y: f32[4200, 8]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=64 stages=3 warps=12 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 72], %c: f32[72]) {\n %a = sigmoid(%x)\n"
     " %z = mm(%a, %y)\n %s = add(%z, %c)\n %r = relu(%s)\n return %r\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 pairs=1"},
    /* the least depth, a last step of half and of less; two blocks a multiprocessor */
    {"graph(%x: f32[70, 1024], %y: f32[1024, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[70, 544], %y: f32[544, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[130, 528], %y: f32[528, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 fit=2 stages=3 warps=8 pairs=1"},
    /* steps of 32, whose lines have both planes, of one factor and of both; a last short step of
     * sums; out of range */
    {"graph(%x: f32[140, 544], %y: f32[544, 72]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12 pairs=1"},
    {"graph(%x: f32[70, 1024], %y: f32[1024, 3]) {\n %a = sigmoid(%x)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=128 n=8 k=32 stages=4 warps=12 pairs=1"},
    {"graph(%x: f32[2, 70, 1216], %y: f32[2, 72, 1216]) {\n %b = permute(%y, [0, 2, 1])\n"
     " %z = bmm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=32 stages=4 warps=8 split=2 pairs=1"},
    {"graph(%x: f32[130, 512], %y: f32[512, 128]) {\n %a = mul(%x, 1e4)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=128 k=32 stages=3 warps=8 cluster=2 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 40]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 pairs=1"},
    /* rows and columns that are reduced, in range and out of it */
    {"graph(%x: f32[130, 512], %y: f32[512, 200]) {\n %z = mm(%x, %y)\n %s = softmax(%z, 1)\n"
     " return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[130, 512], %y: f32[512, 72]) {\n %a = mul(%x, 1e4)\n %z = mm(%a, %y)\n"
     " %r = relu(%z)\n %s = sum(%r, [0])\n return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[130, 512], %y: f32[512, 72]) {\n %z = mm(%x, %y)\n %s = sum(%z, [1])\n"
     " return %s, %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[70, 576], %y: f32[576, 128]) {\n %a = mul(%y, 1e-9)\n %z = mm(%x, %a)\n"
     " %n = layer_norm(%z, [128], eps=1e-05)\n return %n\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    /* scaled into their range; out of it: infinite, some rows of one factor; all but 0 */
    {"graph(%x: f32[64, 512], %y: f32[512, 40]) {\n %a = mul(%x, 1e4)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 40]) {\n %a = mul(%y, 1e-9)\n %z = mm(%x, %a)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 40]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 40], %s: f32[64, 1]) {\n %m = gt(%s, 1)\n"
     " %f = where(%m, 1e-12, 1)\n %a = mul(%x, %f)\n %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[512, 64], %y: f32[512, 40], %s: f32[1, 64]) {\n %m = gt(%s, 1)\n"
     " %f = where(%m, 1e-12, 1)\n %a = mul(%x, %f)\n %b = permute(%a, [1, 0])\n"
     " %z = mm(%b, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[64, 512], %y: f32[512, 40]) {\n %m = gt(%x, 1)\n %a = where(%m, %x, 0)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1"},
    /* pairs that those who multiply split where they lie: along the depth and the rows, by one
     * warpgroup and by two, edges, a last step of half and of less, batches, clusters, parts, the
     * last tiles in parts; beside an image; an epilogue; crossed sums that go to the total twice */
    {"graph(%x: f32[72, 520], %y: f32[520, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=2"},
    {"graph(%x: f32[524, 68], %y: f32[44, 524]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=64 stages=3 warps=12 pairs=2"},
    {"graph(%x: f32[2, 132, 576], %y: f32[2, 576, 72]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=128 k=64 stages=2 warps=12 cluster=2 split=2 pairs=2"},
    {"graph(%x: f32[132, 544], %y: f32[544, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 cluster=2 pairs=2"},
    {"graph(%x: f32[132, 1024], %y: f32[1024, 136]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 tail=4 pairs=2"},
    {"graph(%x: f32[64, 4200], %y: f32[4200, 8]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=64 stages=3 warps=12 pairs=2"},
    {"graph(%x: f32[64, 512], %y: f32[512, 72], %c: f32[72]) {\n %a = sigmoid(%x)\n"
     " %z = mm(%a, %y)\n %s = add(%z, %c)\n %r = relu(%s)\n return %r\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 pairs=2"},
    {"graph(%x: f32[132, 512], %y: f32[512, 200]) {\n %z = mm(%x, %y)\n %s = softmax(%z, 1)\n"
     " return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=2"},
    /* out of their range, of the left factor and of the right one: infinite, some rows too small;
     * all 0 but a few */
    {"graph(%x: f32[2, 64, 512], %y: f32[512, 40]) {\n %m = gt(%x, 2)\n"
     " %u = where(%m, inf, %x)\n %a = amax(%u, [0])\n %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=2 pairs=2"},
    {"graph(%x: f32[64, 512], %y: f32[2, 512, 40], %s: f32[40]) {\n %m = gt(%s, 1)\n"
     " %f = where(%m, 1e-12, 1)\n %u = mul(%y, %f)\n %b = sum(%u, [0])\n %z = mm(%x, %b)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=2"},
    {"graph(%x: f32[2, 64, 512], %y: f32[512, 40]) {\n %m = gt(%x, 1)\n"
     " %u = where(%m, %x, 0)\n %a = sum(%u, [0])\n %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=2"},
    /* f32 of one step, whose sums are a total: with an epilogue, numbers that are none, a left
     * factor that is read into registers, rows that are reduced; steps of 32 */
    {"graph(%x: f32[264, 40], %y: f32[40, 200], %c: f32[200]) {\n %z = mm(%x, %y)\n"
     " %s = add(%z, %c)\n %r = relu(%s)\n return %r\n}\n",
     "mma=1 m=128 n=192 k=64 stages=2 warps=12 band=16"},
    {"graph(%x: f32[200, 64], %y: f32[64, 264]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=3 cluster=2 warps=8"},
    {"graph(%x: f32[200, 32], %y: f32[32, 136]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=128 k=32 stages=2 cluster=2 warps=12"},
    {"graph(%x: f32[130, 64], %y: f32[64, 200]) {\n %z = mm(%x, %y)\n %s = softmax(%z, 1)\n"
     " return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    /* tf32: along the depth, along the rows, both, a batch, odd sizes, a factor that is computed,
     * one of bf16, parts, a depth whose sums begin anew */
    {"graph(%x: f32[136, 72], %y: f32[88, 72]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[136, 72], %y: f32[72, 88]) products tf32 {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "mma=1 m=128 n=96 k=32 stages=3 warps=12"},
    {"graph(%x: f32[72, 68], %y: f32[40, 72]) products tf32 {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n %r = relu(%z)\n return %r\n}\n",
     "mma=1 m=64 n=32 k=16 stages=4 warps=8 cluster=2"},
    /* lines along the rows, which threads read: of the left factor, of the right one, which becomes
     * the left one, of both, of a batch, shared by a cluster, of one tile that stays, of parts, of
     * a depth that is no step, an image of the other one, pixels of images */
    {"graph(%x: f32[104, 136], %y: f32[72, 104]) products tf32 {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=32 stages=2 warps=12"},
    {"graph(%x: f32[72, 104], %y: f32[104, 200]) products tf32 {\n %z = mm(%x, %y)\n"
     " %t = tanh(%z)\n return %t\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8"},
    {"graph(%x: f32[48, 72], %y: f32[48, 132]) products tf32 {\n %a = permute(%x, [1, 0])\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=192 n=40 k=32 stages=2 warps=16"},
    {"graph(%x: f32[3, 40, 64], %y: f32[3, 64, 72]) products tf32 {\n %z = bmm(%x, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=32 k=16 stages=2 warps=8"},
    {"graph(%x: f32[72, 104], %y: f32[104, 200]) products tf32 {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 cluster=2 warps=8"},
    {"graph(%x: f32[104, 128], %y: f32[104, 4]) products tf32 {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%y, %b)\n %w = mm(%a, %y)\n return %w\n}\n",
     "mma=1 m=128 n=8 k=32 stages=2 warps=12"},
    {"graph(%x: f32[72, 200], %y: f32[200, 136]) products tf32 {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8 split=3"},
    {"graph(%x: f32[72, 104], %y: f32[104, 200]) products tf32 {\n %a = relu(%x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=16 make=1"},
    /* f32, of which threads make planes: lines along the depth, along the rows, few rows, whose
     * other factor becomes the left one, tiles that are made beside it, a cluster, two blocks */
    {"graph(%x: f32[104, 136], %y: f32[72, 104]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=64 stages=2 warps=12"},
    {"graph(%x: f32[40, 144], %y: f32[720, 144]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=128 n=40 k=64 stages=2 warps=12 split=2"},
    {"graph(%x: f32[36, 68], %y: f32[68, 640]) {\n %z = mm(%x, %y)\n %t = tanh(%z)\n"
     " return %t\n}\n",
     "mma=1 m=64 n=48 k=64 stages=2 warps=8 cluster=2"},
    {"graph(%x: f32[200, 132], %y: f32[132, 60]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=16 make=2"},
    {"graph(%x: f32[3, 72, 40], %y: f32[3, 40, 64]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 fit=2"},
    {"graph(%x: f32[3, 40, 8, 12], %w: f32[72, 40, 1, 1], %b: f32[72]) convolutions tf32 {\n"
     " %y = convolution(%x, %w, %b, 1, 0)\n %z = relu(%y)\n return %z\n}\n",
     "mma=1 m=64 n=72 k=32 stages=2 warps=8"},
    {"graph(%x: f32[3, 67, 33], %y: f32[3, 33, 41]) products tf32 {\n %z = bmm(%x, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[64, 72], %y: bf16[72, 64]) products tf32 {\n %a = sigmoid(%x)\n"
     " %b = float(%y)\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[64, 1040], %y: f32[32, 1040]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=32 stages=2 warps=8 split=3"},
    {"graph(%x: f32[8, 16400], %y: f32[8, 16400]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=8 k=32 stages=4 warps=8"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) products tf32 {\n %m = gt(%x, 2)\n"
     " %a = where(%m, inf, %x)\n %z = mm(%a, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    /* bytes, summed up in i32: along the depth, across, both signs, a batch, odd sizes, what is
     * behind, parts of the depth, two blocks a multiprocessor, a factor that is quantised */
    {"graph(%x: i8[136, 80], %y: i8[88, 80]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: i8[136, 80], %y: i8[80, 96]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=96 k=128 stages=3 warps=12"},
    {"graph(%x: u8[200, 70], %y: i8[40, 70]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
     "mma=1 m=192 n=32 k=32 stages=2 warps=16"},
    {"graph(%x: i8[3, 67, 33], %y: u8[3, 33, 41]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %z = bmm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=48 k=64 stages=2 warps=8 cluster=2"},
    {"graph(%x: i8[70, 160], %y: i8[24, 160], %s: f32[70, 1], %t: f32[24], %o: i32[24]) {\n"
     " %a = int(%x)\n %b = int(%y)\n %c = permute(%b, [1, 0])\n %z = mm(%a, %c)\n"
     " %d = sub(%z, %o)\n %e = mul(%d, %s)\n %f = mul(%e, %t)\n %g = bfloat16(%f)\n"
     " return %g\n}\n",
     "mma=1 m=64 n=24 k=64 stages=2 warps=8"},
    {"graph(%x: u8[70, 640], %y: u8[64, 640]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=128 stages=2 warps=8 split=3"},
    /* f8 as bf16, both kinds, with scales; sums of a deep one begin anew */
    {"graph(%x: f8e4m3[136, 80], %y: f8e5m2[88, 80], %s: f32[136, 1]) {\n %a = float(%x)\n"
     " %b = float(%y)\n %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n %u = mul(%z, %s)\n"
     " return %u\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f8e4m3[64, 2200], %y: f32[2200, 32]) {\n %a = float(%x)\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f8e4m3[64, 1030], %y: f8e4m3[1030, 32]) {\n %a = bfloat16(%x)\n"
     " %b = bfloat16(%y)\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 split=2"},
    {"graph(%x: i8[200, 80], %y: i8[200, 80]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n %u = triu(%z)\n return %u\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: i8[136, 80], %y: i8[80, 280]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=3 warps=8 fit=2"},
    /* parts of the depth */
    {"graph(%x: bf16[64, 520], %y: bf16[520, 64]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 split=4"},
    {"graph(%x: f32[130, 320], %y: f32[320, 40]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " return %r\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12 split=2"},
    {"graph(%x: bf16[130, 200], %y: bf16[200, 128]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=8 split=3"},
    /* two blocks a multiprocessor: several tiles each, parts that meet, planes, warpgroups */
    {"graph(%x: bf16[136, 72], %y: bf16[72, 280]) {\n %z = mm(%x, %y)\n %r = sigmoid(%z)\n"
     " return %r\n}\n",
     "mma=1 m=64 n=64 k=64 stages=3 warps=8 fit=2"},
    {"graph(%x: bf16[130, 200], %y: bf16[200, 128]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=8 split=3 fit=2"},
    {"graph(%x: f32[70, 200], %y: f32[200, 136]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 fit=2"},
    {"graph(%x: f16[200, 72], %y: f16[72, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12 fit=2"},
    /* behind: bias, residual, rows, two outputs, one that lies across */
    {"graph(%x: bf16[72, 64], %y: bf16[64, 96], %b: bf16[96], %r: bf16[72, 96]) {\n"
     " %z = mm(%x, %y)\n %a = add(%z, %b)\n %g = gelu(%a)\n %s = add(%g, %r)\n return %s\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8"},
    {"graph(%x: f32[72, 64], %y: f32[64, 33], %b: f32[72, 1]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, %b)\n %g = sigmoid(%a)\n return %a, %g\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[72, 64], %y: bf16[64, 40]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %t = permute(%f, [1, 0])\n %c = exp(%t)\n return %z, %c\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    /* what is read there lies across, too, and bytes, several octets at a time; edges; sums */
    {"graph(%x: bf16[72, 64], %y: bf16[64, 133], %r: bf16[133, 72], %k: bool[133, 72],"
     " %u: u8[133, 72]) {\n %z = mm(%x, %y)\n %t = permute(%z, [1, 0])\n %a = add(%t, %r)\n"
     " %b = where(%k, 3, %a)\n %f = float(%u)\n %c = mul(%b, %f)\n %o = to(%c, bf16)\n"
     " return %z, %o\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[2, 32, 15, 15], %w: bf16[72, 32, 1, 1], %r: bf16[2, 15, 15, 72],"
     " %k: bool[2, 15, 15, 72]) {\n %z = convolution(%x, %w)\n"
     " %t = permute(%r, [0, 3, 1, 2])\n %u = permute(%k, [0, 3, 1, 2])\n %a = add(%z, %t)\n"
     " %b = where(%u, 0, %a)\n %f = float(%b)\n %s = sum(%f, dim=[0, 2, 3])\n"
     " %o = permute(%b, [0, 2, 3, 1])\n return %o, %s\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=8"},
    /* results of 32 bits, rows of which a warp gathers: of two or three lines each, whole and at
     * edges; a batch; integers */
    {"graph(%x: f32[128, 72], %y: f32[512, 72]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=128 n=256 k=32 stages=2 cluster=2 warps=12"},
    {"graph(%x: f32[200, 72], %y: f32[132, 72]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[3, 136, 64], %y: f32[3, 64, 136]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8"},
    {"graph(%x: i8[264, 208], %y: u8[208, 72]) {\n %a = to(%x, i32)\n %b = to(%y, i32)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=96 k=64 stages=3 warps=12"},
};

static const struct product_case by_warps[] = {
    /* along the depth, along the rows, both, with a batch, lines of all widths */
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f16[72, 136], %y: f16[88, 72]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=2 m=128 n=32 k=32 tm=64 tn=16 stages=4 warps=4"},
    {"graph(%x: bf16[72, 72], %y: bf16[72, 72]) {\n %a = permute(%x, [1, 0])\n %z = mm(%a, %y)\n"
     " return %z\n}\n",
     "mma=2 m=48 n=96 k=16 tm=48 tn=32 stages=3 warps=3 band=1"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 64]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=2 m=16 n=128 k=32 tm=16 tn=32 stages=3 warps=4 band=16"},
    {"graph(%x: bf16[3, 300], %y: bf16[200, 300]) {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=2 m=16 n=64 k=128 tm=16 tn=16 stages=2 warps=4"},
    /* images, planes, parts of the depth, and what is behind */
    {"graph(%x: bf16[67, 33], %y: bf16[33, 41], %w: bf16[33, 41]) {\n %a = relu(%x)\n"
     " %b = mul(%y, %w)\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=2 m=64 n=48 k=32 tm=32 tn=48 stages=2 warps=2"},
    {"graph(%x: f32[70, 200], %y: f32[200, 36]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[40, 2200], %y: f32[2200, 32]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=3 warps=4"},
    {"graph(%x: f32[130, 320], %y: f32[320, 40]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " return %r\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4 split=2"},
    {"graph(%x: bf16[72, 64], %y: bf16[64, 96], %b: bf16[96], %r: bf16[72, 96]) {\n"
     " %z = mm(%x, %y)\n %a = add(%z, %b)\n %g = gelu(%a)\n %s = add(%g, %r)\n return %s\n}\n",
     "mma=2 m=64 n=96 k=32 tm=32 tn=48 stages=3 warps=4"},
    {"graph(%x: bf16[72, 520], %y: bf16[520, 40]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %t = permute(%f, [1, 0])\n %c = sigmoid(%t)\n return %z, %c\n}\n",
     "mma=2 m=32 n=32 k=32 tm=16 tn=32 stages=4 warps=2 split=3"},
    /* of one warp, whose rows and columns are no whole tile: many of one tensor with itself */
    {"graph(%x: bf16[7, 9, 64]) {\n %t = permute(%x, [0, 2, 1])\n %z = bmm(%x, %t)\n"
     " return %z\n}\n",
     "mma=2 m=16 n=16 k=32 tm=16 tn=16 stages=4 warps=1"},
    /* tf32: rounded in registers, or packed; lines of all widths */
    {"graph(%x: f32[136, 72], %y: f32[88, 72]) products tf32 {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[136, 72], %y: f32[72, 88]) products tf32 {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "mma=2 m=64 n=32 k=16 tm=32 tn=16 stages=3 warps=4"},
    {"graph(%x: f32[72, 67], %y: f32[72, 41]) products tf32 {\n %a = permute(%x, [1, 0])\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "mma=2 m=48 n=48 k=64 tm=48 tn=16 stages=2 warps=3 split=2"},
    /* bytes: as they lie, in parts of 16 bytes, packed across, both signs, parts of the depth */
    {"graph(%x: i8[136, 80], %y: i8[88, 80]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: u8[40, 76], %y: i8[76, 52], %s: f32[52]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %z = mm(%a, %b)\n %d = mul(%z, %s)\n return %d\n}\n",
     "mma=2 m=32 n=32 k=32 tm=16 tn=32 stages=3 warps=2"},
    {"graph(%x: f8e4m3[70, 200], %y: f8e4m3[200, 40]) {\n %a = float(%x)\n %b = float(%y)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=2 warps=4"},
    {"graph(%x: i8[2, 50, 700], %y: u8[2, 40, 700]) {\n %a = int(%x)\n %b = int(%y)\n"
     " %t = permute(%b, [0, 2, 1])\n %z = bmm(%a, %t)\n return %z\n}\n",
     "mma=2 m=64 n=48 k=128 tm=32 tn=16 stages=2 warps=6 split=4"},
    {"graph(%x: bf16[50, 40], %y: bf16[40, 72]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=48 n=64 k=16 tm=48 tn=32 stages=2 warps=2"},
};

/* Reduced behind: along n, along m, both, with batches or without; a chain before, an element store
 * beside, what stands on the results, pairs; edges, clusters, several warps a row and a column, one
 * that is alone, numbers that are none. */
static const struct product_case reduced[] = {
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " %s = sum(%r, dim=[1])\n return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 128]) {\n %z = mm(%x, %y)\n %g = gelu(%z)\n"
     " %s = sum(%g, dim=[1])\n return %g, %s\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12"},
    {"graph(%x: f16[200, 40], %y: f16[40, 72], %b: f16[72]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, %b)\n %s = amax(%a, dim=[1], keepdim=True)\n return %s\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = sum(%z, dim=[0])\n %q = mul(%z, %z)\n %t = sum(%q, dim=[0])\n"
     " return %s, %t\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 96]) {\n %z = bmm(%x, %y)\n"
     " %s = mean(%z, dim=[1])\n return %z, %s\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 96]) {\n %z = bmm(%x, %y)\n"
     " %s = amin(%z, dim=[0, 1])\n return %s\n}\n",
     "mma=1 m=128 n=96 k=32 stages=2 warps=12 band=1"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 96]) {\n %z = bmm(%x, %y)\n"
     " %a = abs(%z)\n %s = sum(%a)\n %t = sqrt(%s)\n return %t\n}\n",
     "mma=1 m=192 n=64 k=32 stages=2 warps=16"},
    {"graph(%x: bf16[130, 72], %y: bf16[72, 50]) {\n %z = mm(%x, %y)\n"
     " %s = argmax(%z, dim=1)\n return %s\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f32[130, 72], %y: f32[72, 50]) {\n %z = mm(%x, %y)\n %e = exp(%z)\n"
     " %s = sum(%e, dim=[1])\n %l = log(%s)\n return %l\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n %s = amax(%z, dim=[0])\n return %s\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: f32[3, 67, 33], %y: f32[3, 33, 41]) products tf32 {\n %z = bmm(%x, %y)\n"
     " %s = sum(%z, dim=[1, 2])\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 200]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 fit=2"},
    /* about their mean, from which they differ little */
    {"graph(%x: f32[130, 72], %y: f32[72, 50]) {\n %z = mm(%x, %y)\n %a = add(%z, 1000)\n"
     " %v = m2(%a, dim=[1])\n %s = sum(%a, dim=[1])\n return %v, %s, %a\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 96]) {\n %z = bmm(%x, %y)\n %f = float(%z)\n"
     " %a = sub(%f, 300)\n %v = m2(%a, dim=[0, 1])\n return %v\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=12"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n %v = m2(%z)\n %w = mul(%z, 0.5)\n return %v, %w\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    /* of spans of columns, and rows: that tiles divide or lie across, that begin in them anywhere,
     * of as many pieces or one less; what is stored beside; what stands on them, by span */
    {"graph(%x: bf16[72, 40], %y: bf16[40, 600]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " %v = view(%r, [72, 3, 200])\n %s = sum(%v, dim=[2])\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[130, 24], %y: f32[24, 651], %b: f32[3]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, 1000)\n %v = view(%a, [130, 3, 217])\n %s = sum(%v, dim=[2])\n"
     " %q = m2(%v, dim=[2])\n %m = mul(%s, %b)\n return %m, %q, %a\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[128, 40], %y: bf16[40, 768]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %v = view(%f, [32, 4, 3, 256])\n %q = m2(%v, dim=[1, 3], keepdim=True)\n"
     " %e = div(%q, 1024)\n %r = rsqrt(%e)\n %s = sum(%v, dim=[1, 3])\n"
     " return %r, %s, %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=2 warps=12"},
    {"graph(%x: f16[2, 66, 40], %y: f16[2, 40, 390]) {\n %z = bmm(%x, %y)\n"
     " %v = view(%z, [2, 66, 3, 130])\n %s = amax(%v, dim=[1, 3])\n return %s\n}\n",
     "mma=1 m=64 n=96 k=32 stages=2 warps=8"},
};

static const struct product_case reduced_by_warps[] = {
    /* very many parts of few results, in chunks of unequal size first; of rows that are one
     * result */
    {"graph(%x: bf16[16, 16], %y: bf16[16, 66000]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %a = add(%f, 100)\n %v = m2(%a, dim=[1])\n %s = amax(%f, dim=[1])\n"
     " return %v, %s\n}\n",
     "mma=2 m=16 n=64 k=16 tm=16 tn=64 stages=2 warps=1"},
    {"graph(%x: bf16[6, 16], %y: bf16[16, 60000]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %w = view(%f, [2, 3, 2, 30000])\n %s = sum(%w, dim=[1, 3])\n return %s\n}\n",
     "mma=2 m=16 n=64 k=16 tm=16 tn=64 stages=2 warps=1"},
    {"graph(%x: bf16[72, 40], %y: bf16[40, 420]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %v = view(%f, [24, 3, 2, 210])\n %s = sum(%v, dim=[1, 3])\n %q = m2(%v, dim=[1, 3])\n"
     " %g = gelu(%f)\n return %s, %q, %g\n}\n",
     "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[20, 24], %y: f32[24, 512]) {\n %z = mm(%x, %y)\n %m = gt(%z, 9)\n"
     " %a = where(%m, inf, %z)\n %v = view(%a, [20, 4, 128])\n %s = amin(%v, dim=[2])\n"
     " %t = sum(%v, dim=[2])\n return %s, %t\n}\n",
     "mma=2 m=16 n=64 k=64 tm=16 tn=16 stages=2 warps=4"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %a = add(%f, 50)\n %v = m2(%a, dim=[1], keepdim=True)\n %s = sum(%a, dim=[1])\n"
     " %r = sqrt(%v)\n return %r, %s\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[70, 200], %y: f32[200, 136]) {\n %z = mm(%x, %y)\n"
     " %v = m2(%z, dim=[0])\n return %v\n}\n",
     "mma=2 m=32 n=128 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " %s = sum(%r, dim=[1])\n return %s\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 128]) {\n %z = mm(%x, %y)\n %g = gelu(%z)\n"
     " %s = sum(%g, dim=[1])\n return %g, %s\n}\n",
     "mma=2 m=64 n=32 k=64 tm=32 tn=32 stages=3 warps=2"},
    {"graph(%x: f16[200, 40], %y: f16[40, 72], %b: f16[72]) {\n %z = mm(%x, %y)\n"
     " %a = add(%z, %b)\n %s = sum(%a, dim=[0])\n %t = amax(%a, dim=[0])\n"
     " return %s, %t\n}\n",
     "mma=2 m=96 n=64 k=32 tm=48 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[70, 200], %y: f32[200, 136]) {\n %z = mm(%x, %y)\n"
     " %s = sum(%z, dim=[0])\n return %s\n}\n",
     "mma=2 m=32 n=128 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n %s = sum(%z, dim=[1])\n return %z, %s\n}\n",
     "mma=2 m=64 n=64 k=64 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: bf16[3, 72, 40], %y: bf16[3, 40, 64]) {\n %z = bmm(%x, %y)\n"
     " %s = sum(%z)\n return %s\n}\n",
     "mma=2 m=16 n=128 k=32 tm=16 tn=32 stages=3 warps=4 band=16"},
    {"graph(%x: bf16[67, 33], %y: bf16[33, 41]) {\n %z = mm(%x, %y)\n"
     " %s = argmin(%z, dim=0)\n return %s\n}\n",
     "mma=2 m=64 n=48 k=32 tm=32 tn=48 stages=2 warps=2"},
};

/* What rows come to, read by their elements: rows that one tile has whole, several tiles that wait
 * for each other; one meeting and two, batches, edges, results that are stored as well. */
static const struct product_case read_back[] = {
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=128 n=32 k=64 stages=2 warps=12"},
    {"graph(%x: f16[3, 72, 40], %y: f16[3, 40, 160]) {\n %z = bmm(%x, %y)\n"
     " %s = log_softmax(%z, 2)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[70, 40], %y: bf16[40, 130], %w: bf16[130], %b: bf16[130]) {\n"
     " %z = mm(%x, %y)\n %s = layer_norm(%z, [130], %w, %b)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[300, 40], %y: bf16[40, 130]) {\n %z = mm(%x, %y)\n %q = mul(%z, %z)\n"
     " %s = mean(%q, dim=[1], keepdim=True)\n %r = rsqrt(%s)\n %n = mul(%z, %r)\n"
     " return %n, %s, %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[70, 72], %y: f32[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[70, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %m = amax(%z, dim=[1], keepdim=True)\n %e = sub(%z, %m)\n %f = exp(%e)\n"
     " %s = sum(%f, dim=[1], keepdim=True)\n %l = log(%s)\n %t = add(%l, %m)\n"
     " return %t\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    /* what columns come to: they are rows then */
    {"graph(%x: bf16[88, 72], %y: bf16[72, 136]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 0)\n return %s\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8"},
    {"graph(%x: f32[130, 72], %y: f32[72, 70]) {\n %z = mm(%x, %y)\n"
     " %s = log_softmax(%z, 0)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: f16[40, 70], %y: f16[40, 130]) {\n %a = permute(%x, [1, 0])\n"
     " %z = mm(%a, %y)\n %m = amax(%z, dim=[0], keepdim=True)\n %d = sub(%z, %m)\n"
     " %e = exp(%d)\n %s = sum(%e, dim=[0])\n return %m, %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
};

static const struct product_case read_back_by_warps[] = {
    /* maxima of tiles that are -inf, of whole rows too */
    {"graph(%x: bf16[70, 40], %y: bf16[40, 90], %k: f32[70, 90]) {\n %z = mm(%x, %y)\n"
     " %f = float(%z)\n %c = gt(%k, 2)\n %a = where(%c, %f, -inf)\n %s = softmax(%a, 1)\n"
     " return %s\n}\n",
     "mma=2 m=32 n=32 k=32 tm=16 tn=32 stages=2 warps=2"},
    {"graph(%x: bf16[70, 40], %y: bf16[40, 120]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %m = amax(%f, dim=[1], keepdim=True)\n %d = sub(%f, %m)\n %e = exp(%d)\n"
     " %s = sum(%e, dim=[1], keepdim=True)\n %q = div(%e, %s)\n %g = relu(%f)\n"
     " return %q, %s, %m, %g\n}\n",
     "mma=2 m=64 n=48 k=32 tm=32 tn=16 stages=2 warps=6"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=2 m=64 n=96 k=64 tm=32 tn=48 stages=2 warps=4"},
    {"graph(%x: f32[70, 72], %y: f32[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=2 m=32 n=32 k=64 tm=16 tn=16 stages=2 warps=4"},
    {"graph(%x: bf16[2, 70, 40], %y: bf16[2, 40, 130], %w: bf16[130], %b: bf16[130]) {\n"
     " %z = bmm(%x, %y)\n %s = layer_norm(%z, [130], %w, %b)\n return %s\n}\n",
     "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=3 warps=4"},
    {"graph(%x: f32[64, 72], %y: f32[72, 64]) {\n %m = gt(%x, 2)\n %a = where(%m, inf, %x)\n"
     " %z = mm(%a, %y)\n %s = amax(%z, dim=[1], keepdim=True)\n %d = eq(%z, %s)\n"
     " %f = float(%d)\n return %f, %s\n}\n",
     "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=2 warps=4"},
};

/* By multiply-adds: panels across and along, copied and computed, with edges, in units of four, two
 * and one, warps of 4 by 8 threads and others, folds, types that are not f32. */
static const struct product_case by_threads[] = {
    {"graph(%x: f32[136, 72], %y: f32[72, 88]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=128 n=128 k=16 tm=8 tn=8 warps=8"},
    {"graph(%x: f32[72, 128], %y: f32[64, 72]) products strict {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=64 n=64 k=8 tm=4 tn=4 warps=8"},
    {"graph(%x: f32[72, 130], %y: f32[72, 66]) products strict {\n %a = permute(%x, [1, 0])\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "m=64 n=128 k=16 tm=8 tn=8 warps=4"},
    {"graph(%x: f32[2, 67, 33], %y: f32[2, 33, 41]) products strict {\n %z = bmm(%x, %y)\n"
     " %r = relu(%z)\n return %r\n}\n",
     "m=32 n=64 k=32 tm=4 tn=4 warps=4"},
    {"graph(%x: f32[64, 4352], %y: f32[4352, 32]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=64 n=64 k=16 tm=8 tn=8 warps=2"},
    {"graph(%x: f32[40, 300], %y: f32[300, 256], %b: f32[256]) products strict {\n"
     " %a = sigmoid(%x)\n %z = mm(%a, %y)\n %s = add(%z, %b)\n return %z, %s\n}\n",
     "m=128 n=256 k=8 tm=8 tn=16 warps=8"},
    {"graph(%x: bf16[72, 64], %y: bf16[64, 96]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %t = permute(%f, [1, 0])\n %c = exp(%t)\n return %z, %c\n}\n",
     "m=32 n=64 k=16 tm=2 tn=4 warps=8"},
    {"graph(%x: f64[36, 44], %y: f64[44, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=32 n=32 k=32 tm=2 tn=4 warps=4"},
    {"graph(%x: i32[20, 36], %y: i32[36, 24]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "m=48 n=48 k=12 tm=3 tn=3 warps=8"},
    {"graph(%x: f32[2, 6, 9, 9], %w: f32[12, 6, 3, 3]) convolutions strict {\n"
     " %c = convolution(%x, %w, padding=1)\n return %c\n}\n",
     "m=16 n=64 k=16 tm=2 tn=4 warps=4"},
    /* parts of the depth: uneven ones, more than units, folds, an epilogue, rows and columns that
     * hang over, results that are stored along the columns, windows */
    {"graph(%x: f32[70, 300], %y: f32[300, 88], %b: f32[88]) products strict {\n"
     " %z = mm(%x, %y)\n %s = add(%z, %b)\n %r = relu(%s)\n return %r\n}\n",
     "m=64 n=64 k=16 tm=8 tn=8 warps=2 split=3"},
    {"graph(%x: f32[9, 512], %y: f32[72, 512]) products strict {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "m=16 n=32 k=32 tm=2 tn=2 warps=4 split=5"},
    {"graph(%x: f32[40, 2600], %y: f32[2600, 40]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=64 n=64 k=16 tm=8 tn=8 warps=2 split=4"},
    {"graph(%x: f32[2, 36, 600], %y: f32[2, 600, 33]) products strict {\n %z = bmm(%x, %y)\n"
     " %t = permute(%z, [0, 2, 1])\n %c = relu(%t)\n return %c\n}\n",
     "m=32 n=32 k=32 tm=4 tn=2 warps=4 split=18"},
    {"graph(%x: f32[2, 6, 9, 9], %w: f32[12, 6, 3, 3]) convolutions strict {\n"
     " %c = convolution(%x, %w, padding=1)\n return %c\n}\n",
     "m=16 n=64 k=16 tm=2 tn=4 warps=4 split=2"},
    /* panels ahead: copied across, upright and by elements, in pieces that lie evenly and with
     * edges; folds in shared memory and in local memory; no more panels than stages; parts */
    {"graph(%x: f32[256, 176], %y: f32[176, 128]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=128 n=128 k=8 tm=8 tn=16 warps=4 stages=3"},
    {"graph(%x: f32[256, 144], %y: f32[256, 144]) products strict {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "m=128 n=128 k=8 tm=16 tn=8 warps=4 stages=4"},
    {"graph(%x: f32[100, 144], %y: f32[144, 132]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=96 n=128 k=8 tm=12 tn=8 warps=4 stages=3"},
    {"graph(%x: f32[176, 128], %y: f32[128, 176]) products strict {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=64 n=128 k=16 tm=8 tn=8 warps=4 stages=3"},
    {"graph(%x: f32[2, 67, 333], %y: f32[2, 333, 41]) products strict {\n %z = bmm(%x, %y)\n"
     " %r = relu(%z)\n return %r\n}\n",
     "m=32 n=64 k=16 tm=4 tn=4 warps=4 stages=4"},
    {"graph(%x: f32[64, 2176], %y: f32[2176, 32]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=64 n=64 k=16 tm=8 tn=8 warps=2 stages=3 split=3"},
    {"graph(%x: f32[40, 300], %y: f32[72, 300], %b: f32[72]) products strict {\n"
     " %t = permute(%y, [1, 0])\n %z = mm(%x, %t)\n %s = add(%z, %b)\n return %s\n}\n",
     "m=32 n=64 k=32 tm=4 tn=4 warps=4 stages=3"},
    {"graph(%x: f32[9, 28], %y: f32[72, 28]) products strict {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n return %z\n}\n",
     "m=16 n=32 k=8 tm=2 tn=2 warps=4 stages=4"},
    {"graph(%x: f32[9, 512], %y: f32[136, 512]) products strict {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n %t = permute(%z, [1, 0])\n return %t\n}\n",
     "m=8 n=128 k=32 tm=4 tn=4 warps=2 stages=3 split=5"},
    /* ... slices of a panel, the last of which is not whole, and tiles that begin in the one
     * before, copied by elements, along and across, by vectors, and in parts of the depth; four
     * folded sums in registers */
    {"graph(%x: f32[131, 219], %y: f32[219, 133]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=128 n=128 k=16 tm=16 tn=8 warps=4 stages=2"},
    {"graph(%x: f32[200, 68], %y: f32[200, 132]) products strict {\n %a = permute(%x, [1, 0])\n"
     " %z = mm(%a, %y)\n return %z\n}\n",
     "m=64 n=128 k=16 tm=16 tn=8 warps=2 stages=2"},
    {"graph(%x: f32[132, 160], %y: f32[130, 160]) products strict {\n %b = permute(%y, [1, 0])\n"
     " %z = mm(%x, %b)\n %r = relu(%z)\n return %r\n}\n",
     "m=128 n=128 k=16 tm=16 tn=8 warps=4 stages=3"},
    {"graph(%x: f32[2, 67, 333], %y: f32[2, 333, 97], %b: f32[97]) products strict {\n"
     " %z = bmm(%x, %y)\n %s = add(%z, %b)\n %t = permute(%s, [0, 2, 1])\n %r = relu(%t)\n"
     " return %r\n}\n",
     "m=64 n=96 k=16 tm=8 tn=12 warps=2 stages=2 split=3"},
    /* ... of factors that launches turn before: the left one, the right one, both; rows that are
     * no lines, a depth that is no tile, batches of both and of one, parts, tiles that begin in
     * the one before */
    {"graph(%x: f32[100, 219], %y: f32[219, 132]) products strict {\n %z = mm(%x, %y)\n"
     " return %z\n}\n",
     "m=96 n=128 k=8 tm=12 tn=8 warps=4 stages=3 turn=1"},
    {"graph(%x: f32[176, 68], %y: f32[132, 176]) products strict {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "m=64 n=128 k=16 tm=16 tn=8 warps=2 stages=2 turn=2"},
    {"graph(%x: f32[2, 68, 333], %y: f32[96, 333], %b: f32[96]) products strict {\n"
     " %t = permute(%y, [1, 0])\n %z = matmul(%x, %t)\n %s = add(%z, %b)\n return %s\n}\n",
     "m=64 n=96 k=16 tm=8 tn=12 warps=2 stages=2 turn=3 split=3"},
    {"graph(%x: f32[2, 68, 333], %y: f32[2, 96, 333]) products strict {\n"
     " %t = permute(%y, [0, 2, 1])\n %z = bmm(%x, %t)\n return %z\n}\n",
     "m=64 n=96 k=16 tm=8 tn=12 warps=2 stages=3 turn=3"},
};

/* Where terms count (kernel/edges.c): half of the results, above or below a diagonal that is none
 * of the tiles'; factors that are 0 beyond one, along the depth and the rows, both of them; a band;
 * rows with a part that no product reaches; and reductions of results that are hidden, all of
 * them. */
#define ABOVE "{\n %z = mm(%x, %y)\n %t = triu(%z, 3)\n return %t\n}\n"
#define BELOW "{\n %z = bmm(%x, %y)\n %t = tril(%z, -40)\n return %t\n}\n"
#define FACTOR "{\n %a = tril(%x, 5)\n %z = mm(%a, %y)\n return %z\n}\n"
#define FACTORS                                                                                    \
    "{\n %p = permute(%x, [1, 0])\n %a = triu(%p, -20)\n %b = triu(%y, 9)\n %z = mm(%a, %b)\n"     \
    " %t = triu(%z)\n return %t\n}\n"
#define NO_DEPTH "{\n %a = tril(%x, -70)\n %z = mm(%a, %y)\n %s = add(%z, 1)\n return %s\n}\n"
#define NOTHING "{\n %z = mm(%x, %y)\n %t = tril(%z, -6)\n %r = sum(%t, [0])\n return %r\n}\n"
#define ROWS(n) " %r = arange(0, " #n ")\n %i = view(%r, [" #n ", 1])\n"
#define BAND                                                                                       \
    "{\n" ROWS(200) " %d = sub(%i, %r)\n %e = abs(%d)\n %c = le(%e, 30)\n %z = mm(%x, %y)\n"       \
                    " %t = where(%c, %z, -1)\n return %t\n}\n"
#define CAUSAL                                                                                     \
    "{\n" ROWS(150) " %c = gt(%r, %i)\n %z = bmm(%x, %y)\n %m = mul(%z, 0.25)\n"                   \
                    " %t = masked_fill(%m, %c, -inf)\n"
#define SOFTMAX " %s = softmax(%t, 2)\n return %s\n}\n"
#define LARGEST " %s = amax(%t, 2)\n return %t, %s\n}\n"

static const struct product_case masked[] = {
    {"graph(%x: bf16[200, 72], %y: bf16[72, 216]) " ABOVE, "mma=1 m=64 n=64 k=32 stages=3 warps=8"},
    {"graph(%x: f32[200, 520], %y: f32[520, 200]) " ABOVE,
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 pairs=1"},
    {"graph(%x: f32[136, 520], %y: f32[520, 200]) " ABOVE,
     "mma=1 m=64 n=32 k=64 stages=2 warps=8 split=2 pairs=1"},
    {"graph(%x: f16[2, 136, 72], %y: f16[2, 72, 200]) " BELOW,
     "mma=1 m=64 n=128 k=16 stages=3 cluster=2 warps=8"},
    {"graph(%x: bf16[200, 232], %y: bf16[232, 72]) " FACTOR,
     "mma=1 m=64 n=64 k=32 stages=3 warps=8"},
    {"graph(%x: bf16[200, 232], %y: bf16[232, 72]) " FACTOR,
     "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8"},
    {"graph(%x: bf16[200, 232], %y: bf16[232, 72]) " FACTOR,
     "mma=1 m=64 n=64 k=16 stages=4 split=3 warps=8"},
    {"graph(%x: f32[200, 232], %y: f32[232, 72]) " FACTOR, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[232, 200], %y: bf16[232, 216]) " FACTORS,
     "mma=1 m=128 n=32 k=32 stages=2 warps=12"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 64]) " NO_DEPTH,
     "mma=1 m=64 n=64 k=16 stages=3 warps=8"},
    {"graph(%x: bf16[200, 72], %y: bf16[72, 200]) " BAND, "mma=1 m=64 n=32 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[2, 150, 40], %y: bf16[2, 40, 150]) " CAUSAL SOFTMAX,
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[2, 150, 40], %y: bf16[2, 40, 150]) " CAUSAL LARGEST,
     "mma=1 m=64 n=128 k=32 stages=2 cluster=2 warps=8"},
    {"graph(%x: bf16[6, 64], %y: bf16[64, 72]) " NOTHING, "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
};

static const struct product_case masked_by_warps[] = {
    {"graph(%x: bf16[200, 72], %y: bf16[72, 216]) " ABOVE,
     "mma=2 m=64 n=32 k=32 tm=32 tn=16 stages=3 warps=4"},
    {"graph(%x: f32[200, 232], %y: f32[232, 72]) " FACTOR,
     "mma=2 m=64 n=32 k=64 tm=32 tn=16 stages=2 warps=4"},
    {"graph(%x: bf16[232, 200], %y: bf16[232, 216]) " FACTORS,
     "mma=2 m=32 n=32 k=16 tm=16 tn=16 stages=4 warps=4 split=2"},
    {"graph(%x: bf16[136, 72], %y: bf16[72, 64]) " NO_DEPTH,
     "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: bf16[2, 150, 40], %y: bf16[2, 40, 150]) " CAUSAL SOFTMAX,
     "mma=2 m=32 n=64 k=32 tm=16 tn=32 stages=2 warps=4"},
};

#define ALONG(x) " %t = permute(" x ", [1, 0])\n"

/* Factors that warps make of runs of the depth: bytes with scales of rows and of groups, halves of
 * bytes, float8, rows that are looked up, masks of positions and of elements; of the left factor,
 * of the right one; depths that end within a step, rows that end within a tile, batches, parts of
 * the depth, turns. */
static const struct product_case of_runs[] = {
    {"graph(%x: bf16[16, 320], %w: i8[200, 320], %s: bf16[200, 1]) {\n %f = bfloat16(%w)\n"
     " %d = mul(%f, %s)\n" ALONG("%d") " %z = mm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=128 k=64 stages=2 warps=8 make=1"},
    {"graph(%x: f16[40, 208], %w: u8[96, 208], %s: f16[96, 13, 1], %o: f16[96, 13, 1]) {\n"
     " %f = to(%w, f16)\n %g = view(%f, [96, 13, 16])\n %a = sub(%g, %o)\n %b = mul(%a, %s)\n"
     " %d = view(%b, [96, 208])\n" ALONG("%d") " %z = mm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=3 warps=12 make=2"},
    {"graph(%x: bf16[3, 192], %w: u8[72, 96], %s: bf16[72, 3, 1]) {\n %l = bitwise_and(%w, 15)\n"
     " %h = bitwise_right_shift(%w, 4)\n %u = unsqueeze(%l, 2)\n %v = unsqueeze(%h, 2)\n"
     " %c = cat([%u, %v], 2)\n %i = to(%c, i8)\n %q = sub(%i, 8)\n %f = to(%q, bf16)\n"
     " %g = view(%f, [72, 3, 64])\n %b = mul(%g, %s)\n %d = view(%b, [72, 192])\n" ALONG(
         "%d") " %z = mm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=96 k=64 stages=2 warps=8 make=1 split=2"},
    {"graph(%w: f8e4m3[150, 240], %x: bf16[240, 24]) {\n %f = to(%w, bf16)\n %z = mm(%f, %x)\n"
     " %r = relu(%z)\n return %r\n}\n",
     "mma=1 m=128 n=32 k=64 stages=3 warps=12 make=1"},
    {"graph(%x: bf16[24, 128], %w: bf16[300, 128], %i: i64[90]) {\n %f = index(%w, [%i], "
     "[0])\n" ALONG("%f") " %z = mm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=12 make=2"},
    {"graph(%x: bf16[24, 128], %w: bf16[300, 128], %i: i64[90]) {\n %f = index(%w, [%i], "
     "[0])\n" ALONG("%f") " %z = mm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[2, 48, 96], %w: bf16[2, 64, 96], %k: bool[2, 64, 96]) {\n %a = tril(%w)\n"
     " %b = where(%k, %a, 0)\n %t = permute(%b, [0, 2, 1])\n %z = bmm(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 make=1"},
};

/* Float8, summed up as units do: along the depth, across, both kinds, odd sizes, scales of rows and
 * columns and of all, what is behind, parts of the depth, more than one sum is promoted, rows
 * reduced, factors that are quantised in the graph; by warps. Whole numbers are summed up
 * exactly. */
#define SCALED " %d = mul(%z, %s)\n %e = mul(%d, %u)\n %g = bfloat16(%e)\n return %g\n}\n"
static const struct product_case float8[] = {
    {"graph(%x: f8e4m3[136, 80], %y: f8e4m3[88, 80]) {\n" ALONG(
         "%y") " %z = mm_float8(%x, %t)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=128 stages=2 warps=8"},
    {"graph(%x: f8e4m3[136, 80], %y: f8e5m2[80, 96]) {\n %z = mm_float8(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=96 k=128 stages=3 warps=12"},
    {"graph(%x: f8e5m2[200, 70], %y: f8e4m3[40, 70], %s: f32[200, 1], %u: f32[40]) {\n" ALONG(
         "%y") " %z = mm_float8(%x, %t)\n" SCALED,
     "mma=1 m=192 n=40 k=128 stages=2 warps=16"},
    {"graph(%x: f8e5m2[64, 1040], %y: f8e5m2[24, 1040], %s: f32[1], %u: f32[1]) {\n" ALONG(
         "%y") " %z = mm_float8(%x, %t)\n" SCALED,
     "mma=1 m=64 n=24 k=128 stages=4 warps=8 split=3"},
    {"graph(%x: f32[70, 640], %y: f8e4m3[64, 640]) {\n %q = to(%x, f8e4m3)\n" ALONG(
         "%y") " %z = mm_float8(%q, %t)\n %r = relu(%z)\n return %r\n}\n",
     "mma=1 m=64 n=64 k=128 stages=2 warps=8 cluster=2"},
    {"graph(%x: f8e4m3[136, 272], %y: f8e4m3[40, 272]) {\n" ALONG(
         "%y") " %z = mm_float8(%x, %t)\n %r = sum(%z, [1])\n return %r\n}\n",
     "mma=1 m=128 n=40 k=128 stages=2 warps=12"},
    {"graph(%x: f8e4m3[136, 272], %y: f8e5m2[88, 272]) {\n" ALONG(
         "%y") " %z = mm_float8(%x, %t)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=128 tm=32 tn=32 stages=2 warps=4"},
    {"graph(%x: f8e5m2[40, 76], %y: f8e4m3[76, 52], %s: f32[40, 1], %u: f32[52]) {\n"
     " %z = mm_float8(%x, %y)\n" SCALED,
     "mma=2 m=32 n=32 k=128 tm=16 tn=32 stages=3 warps=2"},
};

/* Tiles of a warpgroup each, in turn: of one instruction's rows and of several, steps that end
 * within a round of the stages, clusters; epilogues that exchange along columns, and that wait for
 * other tiles of their rows; a last tile whose turn is the first one's, and one block with one; by
 * two warpgroups, three, four. */
static const struct product_case pingpong[] = {
    {"graph(%x: bf16[500, 136], %y: bf16[136, 264]) {\n %z = mm(%x, %y)\n %r = gelu(%z)\n"
     " return %r\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=16 pingpong=2"},
    {"graph(%x: bf16[600, 136], %y: bf16[136, 328]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=20 cluster=2 pingpong=3"},
    {"graph(%x: bf16[700, 72], %y: bf16[72, 200]) {\n %z = mm(%x, %y)\n"
     " %r = relu(%z)\n %s = sum(%r, [0])\n return %s\n}\n",
     "mma=1 m=64 n=64 k=16 stages=4 warps=20 pingpong=3"},
    {"graph(%x: bf16[200, 136], %y: bf16[136, 200]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[300, 136], %y: bf16[136, 328], %c: bf16[328]) {\n %z = mm(%x, %y)\n"
     " %s = add(%z, %c)\n %r = gelu(%s)\n return %r\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12 pingpong=1 cluster=2"},
    {"graph(%x: f16[72, 520], %y: f16[264, 72]) {\n %a = permute(%x, [1, 0])\n"
     " %b = permute(%y, [1, 0])\n %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=16 stages=4 warps=12 pingpong=1"},
    {"graph(%x: bf16[2, 72, 40], %y: bf16[2, 40, 64]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=12 pingpong=1"},
    {"graph(%x: bf16[600, 72], %y: bf16[72, 202]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %r = relu(%f)\n return %r\n}\n",
     "mma=1 m=192 n=64 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[600, 136], %y: bf16[136, 520]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=192 k=64 stages=3 warps=12 cluster=2 pingpong=1"},
    {"graph(%x: bf16[400, 72], %y: bf16[72, 520]) {\n %z = mm(%x, %y)\n %t = permute(%z, [1, 0])\n"
     " %r = relu(%t)\n return %r\n}\n",
     "mma=1 m=128 n=192 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[400, 72], %y: bf16[72, 200]) {\n %z = mm(%x, %y)\n"
     " %r = relu(%z)\n %s = sum(%r, [0])\n return %s\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12 pingpong=1"},
    {"graph(%x: bf16[400, 72], %y: bf16[72, 200]) {\n %z = mm(%x, %y)\n"
     " %r = relu(%z)\n %s = sum(%r, [1])\n return %s\n}\n",
     "mma=1 m=128 n=64 k=16 stages=4 warps=12 pingpong=1 cluster=2"},
    {"graph(%x: bf16[400, 72], %y: bf16[72, 200]) {\n %z = mm(%x, %y)\n"
     " %r = relu(%z)\n %s = sum(%r)\n return %s\n}\n",
     "mma=1 m=128 n=64 k=64 stages=2 warps=12 pingpong=1"},
    {"graph(%x: bf16[530, 72], %y: bf16[72, 120]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[530, 72], %y: bf16[72, 120]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=128 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[2, 12, 9, 40], %w: bf16[72, 40, 3, 3]) {\n"
     " %p = permute(%x, [0, 3, 1, 2])\n %c = convolution(%p, %w, padding=1)\n return %c\n}\n",
     "mma=1 m=64 n=32 k=64 stages=2 warps=12 pingpong=1"},
    {"graph(%x: i8[264, 208], %y: u8[208, 72]) {\n %a = to(%x, i32)\n %b = to(%y, i32)\n"
     " %z = mm(%a, %b)\n return %z\n}\n",
     "mma=1 m=128 n=32 k=64 stages=3 warps=12 pingpong=1"},
};

/* Rows of 16-bit results that begin anywhere in memory (store_is_staged in kernel/matrix.c): odd
 * ones, by twos and by fours; tiles that rows end within, a few columns and two tiles on; with
 * batches, two outputs, factors behind the product, rows that are reduced or read back, tiles in
 * turn, the last tiles in parts, warps of sixteens, eighties; by warps. */
static const struct product_case anywhere[] = {
    {"graph(%x: bf16[136, 72], %y: bf16[72, 167]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=128 n=64 k=32 stages=3 warps=12"},
    {"graph(%x: f16[67, 40], %y: f16[40, 353]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=256 k=16 stages=3 cluster=2 warps=8"},
    {"graph(%x: bf16[3, 67, 40], %y: bf16[3, 40, 49]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=48 k=16 stages=3 warps=8"},
    {"graph(%x: bf16[70, 40], %y: bf16[40, 90], %b: bf16[90], %c: bf16[70, 90]) {\n"
     " %z = mm(%x, %y)\n %s = add(%z, %b)\n %r = add(%s, %c)\n %f = float(%r)\n"
     " %h = neg(%r)\n return %h, %f, %r\n}\n",
     "mma=1 m=64 n=80 k=16 stages=2 warps=8 fit=2"},
    {"graph(%x: bf16[70, 40], %y: bf16[40, 100]) {\n %z = mm(%x, %y)\n %r = relu(%z)\n"
     " return %r\n}\n",
     "mma=1 m=64 n=96 k=16 stages=2 warps=8"},
    {"graph(%x: bf16[530, 72], %y: bf16[72, 203], %b: bf16[203]) {\n %z = mm(%x, %y)\n"
     " %s = add(%z, %b)\n return %s\n}\n",
     "mma=1 m=192 n=128 k=32 stages=3 warps=12 pingpong=1"},
    {"graph(%x: bf16[200, 136], %y: bf16[136, 197]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=32 stages=3 warps=8 split=2 tail=3"},
    {"graph(%x: bf16[2, 197, 72], %y: bf16[2, 72, 197]) {\n %z = bmm(%x, %y)\n"
     " %s = softmax(%z, 2)\n return %s\n}\n",
     "mma=1 m=64 n=128 k=32 stages=2 warps=8"},
    {"graph(%x: bf16[130, 72], %y: bf16[72, 197]) {\n %z = mm(%x, %y)\n %f = float(%z)\n"
     " %s = sum(%f, [1])\n return %z, %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 warps=8"},
    {"graph(%x: f32[70, 200], %y: f32[200, 67]) {\n %z = mm(%x, %y)\n %b = bfloat16(%z)\n"
     " return %b\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8"},
    {"graph(%x: bf16[67, 40], %y: bf16[40, 75]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=2 m=64 n=64 k=32 tm=32 tn=32 stages=2 warps=4"},
};

static const struct product_case masked_by_threads[] = {
    {"graph(%x: f32[200, 72], %y: f32[72, 216]) products strict " ABOVE,
     "m=64 n=64 k=16 tm=8 tn=8 warps=2"},
    {"graph(%x: f32[200, 1232], %y: f32[1232, 72]) products strict " FACTOR,
     "m=64 n=64 k=8 tm=4 tn=4 warps=8"},
    {"graph(%x: f32[232, 200], %y: f32[232, 216]) products strict " FACTORS,
     "m=32 n=64 k=16 tm=4 tn=4 warps=4"},
    {"graph(%x: f32[136, 72], %y: f32[72, 64]) products strict " NO_DEPTH,
     "m=64 n=64 k=16 tm=8 tn=8 warps=2"},
};

/* Clusters share columns, and each block waits for the others of its rows: blocks all of whose rows
 * are beyond the last, batches, results that are stored as well, tiles in turn. */
static const struct product_case read_back_by_clusters[] = {
    {"graph(%x: bf16[136, 72], %y: bf16[72, 88]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=16 stages=3 cluster=2 warps=8"},
    {"graph(%x: f16[2, 200, 40], %y: f16[2, 160, 40]) {\n"
     " %t = permute(%y, [0, 2, 1])\n %z = bmm(%x, %t)\n %s = log_softmax(%z, 2)\n"
     " return %s\n}\n",
     "mma=1 m=64 n=64 k=32 stages=2 cluster=4 warps=8"},
    {"graph(%x: bf16[300, 40], %y: bf16[40, 130], %w: bf16[130], %b: bf16[130]) {\n"
     " %z = mm(%x, %y)\n %s = layer_norm(%z, [130], %w, %b)\n return %z, %s\n}\n",
     "mma=1 m=128 n=96 k=16 stages=2 cluster=2 warps=12"},
    {"graph(%x: bf16[530, 72], %y: bf16[72, 120]) {\n %z = mm(%x, %y)\n"
     " %s = softmax(%z, 1)\n return %s\n}\n",
     "mma=1 m=64 n=64 k=16 stages=3 cluster=2 warps=12 pingpong=1"},
};

static void add(struct arena *a, case_vec *out, const struct product_case *p, bool old, bool tiny) {
    vec_push(a, out,
             ((struct case_graph){.text = p->text,
                                  .every = CASES_DEFAULT,
                                  .old = old,
                                  .tiny = tiny,
                                  .config = p->config}));
}

/* What lies between kernels begins at lines of memory (schedule/pitch.c): read along both of its
 * axes by products, by rows and columns, and through another shape. */
static const struct product_case by_lines[] = {
    {"graph(%x: bf16[64, 264], %w: bf16[264, 205], %v: bf16[205, 264], %u: bf16[64, 264]) {\n"
     " %y = mm(%x, %w)\n %p = softmax(%y, 1)\n %t = permute(%p, [1, 0])\n %o = mm(%p, %v)\n"
     " %r = mm(%t, %u)\n return %o, %r\n}\n",
     NULL},
    {"graph(%x: f32[48, 264], %w: f32[264, 99], %v: f32[99, 264], %u: f32[48, 264]) products tf32 "
     "{\n %y = mm(%x, %w)\n %p = softmax(%y, 1)\n %t = permute(%p, [1, 0])\n %o = mm(%p, %v)\n"
     " %r = mm(%t, %u)\n return %o, %r\n}\n",
     NULL},
    {"graph(%x: f32[2, 40, 264], %w: f32[264, 133], %v: f32[133, 264]) {\n %y = matmul(%x, %w)\n"
     " %p = softmax(%y, 2)\n %s = sum(%p, [0])\n %o = matmul(%p, %v)\n return %o, %s\n}\n",
     NULL},
    {"graph(%x: f16[80, 264], %w: f16[264, 101], %v: f16[101, 264], %z: f16[20, 404]) {\n"
     " %y = mm(%x, %w)\n %p = softmax(%y, 1)\n %o = mm(%p, %v)\n %a = view(%p, [20, 404])\n"
     " %b = mul(%a, %z)\n return %o, %b\n}\n",
     NULL},
};

void cases_products(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof by_warpgroups / sizeof *by_warpgroups; i++)
        add(a, out, &by_warpgroups[i], false, i % 2 == 0);
    for (size_t i = 0; i < sizeof by_warps / sizeof *by_warps; i++)
        add(a, out, &by_warps[i], i % 3 != 0, i % 3 == 0);
    for (size_t i = 0; i < sizeof reduced / sizeof *reduced; i++)
        add(a, out, &reduced[i], false, i % 2 == 0);
    for (size_t i = 0; i < sizeof reduced_by_warps / sizeof *reduced_by_warps; i++)
        add(a, out, &reduced_by_warps[i], i % 3 != 0, i % 3 == 0);
    for (size_t i = 0; i < sizeof read_back / sizeof *read_back; i++)
        add(a, out, &read_back[i], false, i % 2 == 0);
    for (size_t i = 0; i < sizeof read_back_by_warps / sizeof *read_back_by_warps; i++)
        add(a, out, &read_back_by_warps[i], i % 2 == 0, i % 3 == 0);
    for (size_t i = 0; i < sizeof by_threads / sizeof *by_threads; i++)
        add(a, out, &by_threads[i], i % 2 == 0, false);
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++)
        add(a, out, &masked[i], false, i % 3 != 0);
    for (size_t i = 0; i < sizeof masked_by_warps / sizeof *masked_by_warps; i++)
        add(a, out, &masked_by_warps[i], i % 3 == 0, i % 3 != 0);
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++)
        add(a, out, &of_runs[i], false, i % 2 != 0);
    for (size_t i = 0; i < sizeof float8 / sizeof *float8; i++)
        add(a, out, &float8[i], false, i % 2 != 0);
    for (size_t i = 0; i < sizeof pingpong / sizeof *pingpong; i++)
        add(a, out, &pingpong[i], false, true);
    for (size_t i = 0; i < sizeof masked_by_threads / sizeof *masked_by_threads; i++)
        add(a, out, &masked_by_threads[i], i % 2 == 0, false);
    for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++)
        add(a, out, &anywhere[i], false, i % 2 == 0);
    for (size_t i = 0; i < sizeof read_back_by_clusters / sizeof *read_back_by_clusters; i++)
        add(a, out, &read_back_by_clusters[i], false, i % 2 == 0);
    for (size_t i = 0; i < sizeof by_lines / sizeof *by_lines; i++)
        add(a, out, &by_lines[i], false, false);
}
