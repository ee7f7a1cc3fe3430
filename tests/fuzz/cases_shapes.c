/* cases_shapes.c: graphs written by hand, in every config, and every pointwise operator. */
#include <string.h>

#include "tests/fuzz/cases.h"

static const char *const shapes[] = {
    "graph(%x: f32[5, 64]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[3, 8200]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: bf16[2, 16384], %w: bf16[16384]) {\n %s = layer_norm(%x, [16384], %w)\n return "
    "%s\n}\n",
    "graph(%x: f32[2, 9001]) {\n %s = log_softmax(%x, -1)\n %m = amax(%x, 1)\n return %s, %m\n}\n",
    "graph(%x: f32[3, 1000]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: bf16[4, 256]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: bf16[3, 33]) {\n %s = log_softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[7, 1]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[64, 40]) {\n %s = softmax(%x, 0)\n return %s\n}\n",
    "graph(%x: f32[3, 8, 20]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
    "graph(%x: f32[6, 32], %y: f32[6, 32]) {\n %a = add(%x, %y)\n %b = mul(%a, 2)\n %c = "
    "relu(%b)\n return %c\n}\n",
    "graph(%x: f16[1025], %y: f16[1025]) {\n %a = add(%x, %y)\n %c = relu(%a)\n return %c\n}\n",
    "graph(%x: f32[33, 17], %y: f32[33, 17]) {\n %a = add(%x, %y)\n %b = mul(%a, 2)\n %c = "
    "relu(%b)\n %s = silu(%c)\n"
    " %d = sum(%s, 1)\n %m = mean(%d)\n return %m\n}\n",
    "graph(%x: f32[4, 96], %w: f32[96], %b: f32[96]) {\n %y = layer_norm(%x, [96], %w, %b)\n "
    "return %y\n}\n",
    "graph(%x: bf16[2, 3, 64], %w: bf16[64]) {\n %y = rms_norm(%x, [64], %w)\n return %y\n}\n",
    "graph(%x: bf16[5, 48], %b: bf16[48]) {\n %a = add(%x, %b)\n %y = gelu(%a)\n return %y\n}\n",
    "graph(%g: f32[6, 40], %u: f32[6, 40]) {\n %a = silu(%g)\n %y = mul(%a, %u)\n return %y\n}\n",
    "graph(%x: f32[24, 36]) {\n %y = permute(%x, [1, 0])\n %z = mul(%y, 3)\n return %z\n}\n",
    "graph(%x: f32[24, 24]) {\n %y = permute(%x, [1, 0])\n %z = add(%x, %y)\n return %z\n}\n",
    /* operands that lie across, of two widths and with ragged tiles: they turn in shared memory */
    "graph(%x: f32[37, 72], %y: f32[72, 37], %h: bf16[72, 37]) {\n %p = permute(%y, [1, 0])\n"
    " %q = permute(%h, [1, 0])\n %a = add(%x, %p)\n %z = mul(%a, %q)\n return %z\n}\n",
    "graph(%x: f32[100, 12]) {\n %s = sum(%x, 0)\n return %s\n}\n",
    /* columns in blocks of rows, whole vectors of them and not; what lies across is kept */
    "graph(%x: f32[70, 9, 32]) {\n %e = exp(%x)\n %c = cumsum(%e, 1)\n %y = mul(%c, %x)\n"
    " return %y\n}\n",
    "graph(%x: bf16[90, 9, 24]) {\n %c = cumsum(%x, 1)\n return %c\n}\n",
    "graph(%x: f32[33, 100]) {\n %s = silu(%x)\n %t = sin(%s)\n %m = mean(%t, [0], True)\n"
    " %d = sub(%t, %m)\n %q = mul(%d, %d)\n %v = mean(%q, [0], True)\n %y = div(%d, %v)\n"
    " %e = exp(%v)\n %z = mul(%s, %e)\n return %y, %z\n}\n",
    /* maths of what no vector follows: integers, runs of odd lengths that end within vectors, runs
     * backwards, what is looked up, flags in memory */
    "graph(%x: i8[6, 7, 43], %y: f32[43], %n: bool[6, 7, 43]) {\n %f = to(%x, f32)\n"
    " %a = mul(%f, %y)\n %e = sigmoid(%a)\n %w = where(%n, %e, %a)\n %s = sum(%w, [1, 2])\n"
    " %c = gt(%a, 1)\n return %w, %s, %c\n}\n",
    "graph(%x: f32[5, 3, 4, 34]) {\n %e = silu(%x)\n %m = amax(%x, [0, 3])\n"
    " return %m, %e\n}\n",
    "graph(%x: bf16[9, 96]) {\n %f = flip(%x, [1])\n %a = add(%x, %f)\n %s = sin(%a)\n"
    " %m = amax(%x)\n return %s, %m\n}\n",
    "graph(%x: f16[4, 9, 33], %i: i64[4, 9, 33]) {\n %j = remainder(%i, 33)\n %g = gather(%x, 2, "
    "%j)\n %e = exp(%g)\n"
    " %p = permute(%e, [0, 2, 1])\n %s = sum(%p, 1)\n %c = contiguous(%p)\n"
    " return %s, %c\n}\n",
    /* rows that are shorter than vectors */
    "graph(%x: f32[300, 6, 7]) {\n %i = argmax(%x, 1)\n %m = amax(%x, 1, True)\n"
    " %d = sub(%x, %m)\n %p = permute(%d, [0, 2, 1])\n %c = contiguous(%p)\n return %i, %c\n}\n",
    "graph(%x: f32[3000]) {\n %s = sum(%x)\n %m = amax(%x)\n %r = div(%s, %m)\n return %r, %m\n}\n",
    "graph(%x: i64[9, 20]) {\n %s = sum(%x, 1)\n return %s\n}\n",
    "graph(%x: f64[3, 40]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[16, 24], %y: f32[24, 20]) {\n %z = matmul(%x, %y)\n %s = softmax(%z, 1)\n "
    "return %s\n}\n",
    "graph(%x: bf16[20, 16], %w: bf16[16, 32], %b: bf16[32]) {\n %z = matmul(%x, %w)\n %a = "
    "add(%z, %b)\n"
    " %y = gelu(%a)\n return %y\n}\n",
    "graph(%x: f32[2, 9, 16], %w: f32[24, 16], %b: f32[24]) {\n %y = linear(%x, %w, %b)\n %z = "
    "relu(%y)\n return %z\n}\n",
    "graph(%x: f32[2, 5, 7], %y: f32[2, 7, 6]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
    "graph(%x: f32[4, 32][1, 4]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    /* rows, and all that they come to */
    "graph(%x: bf16[20, 96], %y: bf16[20, 96]) {\n %l = log_softmax(%x, 1)\n %p = softmax(%y, 1)\n"
    " %k = kl_div(%l, %p, 'batchmean')\n return %k\n}\n",
    "graph(%x: f32[3, 7, 33]) {\n %p = softmax(%x, 2)\n %q = mul(%p, %x)\n %s = sum(%q, [0, 2])\n"
    " %m = amin(%q)\n return %s, %m\n}\n",
    "graph(%x: f32[3, 20, 12]) {\n %p = softmax(%x, 1)\n %s = sum(%p, [1, 2])\n %r = prod(%p)\n"
    " return %s, %r\n}\n",
    "graph(%x: f32[5, 12, 3, 6]) {\n %n = group_norm(%x, 3)\n %q = mul(%n, %x)\n"
    " %v = view(%q, [1080])\n %s = sum(%v)\n return %s\n}\n",
    "graph(%x: f32[0, 32]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[]) {\n %y = exp(%x)\n return %y\n}\n",
    "graph(%x: f32[5, 6]) {\n return %x\n}\n",
    "graph(%x: f32[8, 6], %y: f32[8, 1]) {\n %c = gt(%x, %y)\n %w = where(%c, %x, 0.5)\n %s = "
    "sum(%w, 1)\n return %w, %s, %c\n}\n",
    "graph(%x: f32[4, 10]) {\n %m = mean(%x, 1, True)\n %d = sub(%x, %m)\n %v = var(%x, 1)\n "
    "return %d, %v, %m\n}\n",
    "graph(%x: f32[6, 8]) {\n %s = slice(%x, 1, 2, 7, 1)\n %t = slice(%x, 1, 1, 6, 1)\n %y = "
    "sub(%s, %t)\n return %y\n}\n",
    /* fewer rows and columns than threads in a warp */
    "graph(%x: f32[2, 3], %b: f32[3]) {\n %y = add(%x, %b)\n return %y\n}\n",
    /* shifts, by less than nothing and more than all bits, too */
    "graph(%x: i64[5, 33], %n: i32[33]) {\n %k = remainder(%n, 7)\n %a = bitwise_left_shift(%x, "
    "%k)\n %b = bitwise_right_shift(%x, 2)\n %c = bitwise_right_shift(%n, %k)\n return %a, %b, "
    "%c\n}\n",
    "graph(%x: i8[5, 33], %y: u8[5, 33], %z: i64[5, 33], %n: i8[33], %m: i64[33]) {\n"
    " %a = bitwise_left_shift(%x, %n)\n %b = bitwise_right_shift(%x, %n)\n"
    " %c = bitwise_left_shift(%y, 9)\n %d = bitwise_right_shift(%y, %y)\n"
    " %e = bitwise_left_shift(%z, %m)\n %f = bitwise_right_shift(%z, %m)\n"
    " return %a, %b, %c, %d, %e, %f\n}\n",
    "graph(%x: f32[12]) {\n %y = sum(%x)\n return %y\n}\n",
    "graph(%x: f32[3, 3]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
    "graph(%x: f32[100, 2]) {\n %y = sum(%x, 0)\n return %y\n}\n",
    /* nothing to sum, nothing to compute */
    "graph(%x: f32[4, 0], %y: f32[0, 5]) {\n %z = mm(%x, %y)\n %r = add(%z, 1)\n return %r\n}\n",
    "graph(%x: f32[4, 0]) {\n %s = sum(%x, 1)\n return %s\n}\n",
    "graph(%x: f32[2, 0, 3], %y: f32[3, 0, 2]) {\n %p = permute(%y, [2, 1, 0])\n %z = add(%x, %p)\n"
    " %v = view(%z, [0, 6])\n %r = exp(%v)\n return %z, %r\n}\n",
    /* numbers at the edge of their type; True + True; 1 // 0.1, whose f32 quotient rounds up to 10
     */
    "graph(%x: f32[4, 8]) {\n %a = clamp(%x, -1e300, 1e300)\n %b = mul(%a, 1e300)\n return %a, "
    "%b\n}\n",
    "graph(%x: bool[4, 8], %y: bool[4, 8]) {\n %a = add(%x, %y)\n %b = to(%a, i64)\n %c = sum(%a, "
    "1)\n return %a, %b, %c\n}\n",
    "graph(%x: i64[40]) {\n %a = arange(0, 4000000000, 100000000)\n %b = mul(%x, %a)\n return "
    "%b\n}\n",
    "graph(%x: i32[4, 8]) {\n %a = to(%x, f32)\n %t = full([4, 8], 0.1)\n %q = floor_divide(%a, "
    "%t)\n return %q\n}\n",
    /* rows in pieces that lie apart: a piece is vectors, or is not */
    "graph(%x: f32[3, 5, 8, 8]) {\n %y = batch_norm(%x, None, None, training=True)\n"
    " return %y\n}\n",
    "graph(%x: bf16[4, 3, 6]) {\n %s = sum(%x, [0, 2])\n %m = amax(%x, [0, 2])\n"
    " return %s, %m\n}\n",
    "graph(%x: f32[2, 24, 16], %w: f32[24, 16]) {\n %p = permute(%x, [1, 0, 2])\n"
    " %v = view(%p, [24, 32])\n %a = cumsum(%v, 1)\n return %a\n}\n",
    "graph(%x: f32[9, 40], %t: i64[9]) {\n %l = cross_entropy(%x, %t, label_smoothing=0.1)\n"
    " return %l\n}\n",
    /* where an extremum is: the first of equal ones */
    "graph(%x: f32[5, 70]) {\n %q = floor(%x)\n %i = argmax(%q, 1)\n %m = amax(%q, 1)\n"
    " return %i, %m\n}\n",
    "graph(%x: bf16[3, 9001]) {\n %i = argmin(%x, -1, True)\n return %i\n}\n",
    "graph(%x: i64[60, 33]) {\n %i = argmax(%x, 0)\n %j = argmin(%x, 0)\n return %i, %j\n}\n",
    "graph(%x: f64[2, 33, 5]) {\n %i = argmax(%x)\n %n = gt(%x, 0)\n %j = argmax(%n, 1)\n"
    " return %i, %j\n}\n",
    "graph(%x: f32[7, 1], %y: f32[4, 40]) {\n %i = argmax(%x, 1)\n %a = arange(40)\n"
    " %m = argmax(%y, 1, True)\n %h = eq(%a, %m)\n %o = where(%h, -inf, %y)\n"
    " %s = amax(%o, 1)\n return %i, %s\n}\n",
    "graph(%x: f32[40, 6]) {\n %n = log(%x)\n %i = argmax(%n, 1)\n %j = argmin(%n, 1)\n"
    " return %i, %j\n}\n",
    /* scans, along rows and across them, with what feeds and what reads them */
    "graph(%x: f32[5, 70]) {\n %e = exp(%x)\n %c = cumsum(%e, 1)\n %y = mul(%c, %x)\n"
    " return %c, %y\n}\n",
    "graph(%x: bf16[3, 9001]) {\n %c = cumsum(%x, -1)\n return %c\n}\n",
    "graph(%x: f32[1000]) {\n %p = mul(%x, 0.01)\n %q = add(%p, 1)\n %c = cumprod(%q, 0)\n"
    " %m = cummax(%x, 0)\n %n = cummin(%c, 0)\n return %c, %m, %n\n}\n",
    "graph(%x: i64[33, 1030]) {\n %c = cumsum(%x, 0)\n %s = sum(%c, 1)\n return %c, %s\n}\n",
    "graph(%x: f64[2, 40, 3]) {\n %c = cumsum(%x, 1)\n %d = cumsum(%c, 1)\n return %d\n}\n",
    "graph(%x: bool[4, 64], %y: f32[1, 5]) {\n %c = cumsum(%x, 1)\n %d = cumsum(%y, 0)\n"
    " %m = amax(%c, 1)\n return %c, %d, %m\n}\n",
    /* sums of all beside those of rows, and of columns; of 16 bits; of what is made of both */
    "graph(%x: bf16[530, 50]) {\n %e = exp(%x)\n %s = sum(%e)\n %m = amax(%x, 1)\n"
    " %n = amin(%x)\n return %s, %m, %n\n}\n",
    "graph(%x: f32[600, 33]) {\n %m = amax(%x, 0)\n %s = sum(%x)\n %t = mul(%m, %s)\n"
    " return %s, %t\n}\n",
    "graph(%x: f32[9, 70, 20]) {\n %s = sum(%x, [0, 2])\n %m = amax(%x, 2)\n"
    " %a = prod(%m)\n return %s, %m, %a\n}\n",
    /* scans beside reductions of the same rows, of what is scanned, before it, and behind both */
    "graph(%x: f32[5, 70]) {\n %c = cumsum(%x, 1)\n %s = sum(%x, 1)\n %m = amax(%c, 1)\n"
    " %y = mul(%s, %m)\n return %c, %s, %y\n}\n",
    "graph(%x: f32[5, 1407]) {\n %e = exp(%x)\n %c = cumsum(%e, 1)\n %s = mean(%c, 1)\n"
    " %m = amin(%x, 1)\n %t = sub(%s, %m)\n return %c, %t\n}\n",
    "graph(%x: bf16[9, 130, 48]) {\n %c = cumsum(%x, 1)\n %s = sum(%c, 1)\n %m = amax(%x, 1)\n"
    " return %c, %s, %m\n}\n",
    "graph(%x: bf16[30, 300]) {\n %p = softmax(%x, 1)\n %c = cumsum(%p, 1)\n %s = sum(%c, 1)\n"
    " return %c, %s\n}\n",
    "graph(%x: f32[70, 33]) {\n %p = softmax(%x, 0)\n %c = cumsum(%p, 0)\n %m = amax(%c, 0, True)\n"
    " %d = div(%c, %m)\n return %d\n}\n",
    "graph(%x: i64[40, 90], %b: bool[40, 90]) {\n %c = cumsum(%x, 1)\n %s = sum(%x, 1)\n"
    " %a = any(%b, 1)\n %n = cumsum(%b, 1)\n %m = cummax(%x, 1)\n return %c, %s, %a, %n, %m\n}\n",
    "graph(%x: f32[20, 5, 37]) {\n %c = cumsum(%x, 1)\n %s = sum(%c)\n %m = amax(%x, [0, 1])\n"
    " return %c, %s, %m\n}\n",
    /* few long rows: tiles are blocks of their own; more than a group of them; two scans */
    "graph(%x: f32[3, 40000], %y: f32[3, 40000]) {\n %p = mul(%x, %y)\n %c = cumsum(%p, 1)\n"
    " %m = cummax(%x, 1)\n %z = sub(%c, %m)\n return %z\n}\n",
    "graph(%x: i64[2, 9003]) {\n %c = cumsum(%x, -1)\n return %c\n}\n",
    "graph(%x: bool[70001]) {\n %c = cumsum(%x, 0)\n return %c\n}\n",
    /* squared deviations along with sums: by rows, columns, of everything; far from 0; used again
     */
    "graph(%x: f32[7, 300], %y: f64[40, 6]) {\n %f = add(%x, 1000)\n %a = m2(%f, [1], True)\n"
    " %s = sum(%f, [1], True)\n %d = sub(%f, %s)\n %e = mul(%d, %a)\n %b = m2(%y, [0])\n"
    " %c = m2(%y)\n return %e, %b, %c\n}\n",
    "graph(%x: bf16[2, 9001]) {\n %f = float(%x)\n %a = m2(%f, [1])\n %s = sum(%f, [1])\n"
    " return %a, %s\n}\n",
    "graph(%x: f32[7, 300], %y: f64[40, 6]) {\n %c = gt(%x, -0.5)\n %f = where(%c, %x, -inf)\n"
    " %a = expsum(%f, [1], True)\n %d = div(%x, %a)\n %b = expsum(%y, [0])\n %m = amax(%y)\n"
    " %e = expsum(%y)\n return %d, %b, %m, %e\n}\n",
    "graph(%x: bf16[2, 9001], %y: f32[5, 1]) {\n %f = float(%x)\n %a = expsum(%f, [1])\n"
    " %m = amax(%f, [1])\n %i = log(%y)\n %e = expsum(%i, [1])\n return %a, %m, %e\n}\n",
    "graph(%x: f32[2, 66000]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
    "graph(%x: f32[4, 1, 9], %y: f32[3, 0]) {\n %a = m2(%x, [1])\n %b = m2(%y, [1])\n"
    " return %a, %b\n}\n",
    "graph(%x: f32[2, 66000]) {\n %v = var(%x, 1)\n %m = mean(%x, 1)\n return %v, %m\n}\n",
    /* random numbers: the same in kernels as in the reference; dropout */
    "graph(%x: f32[5, 60]) {\n %r = rand_like(%x)\n %k = ge(%r, 0.25)\n %d = mul(%x, %k)\n"
    " %n = randn([60], 1)\n %y = add(%d, %n)\n %s = sum(%y, 1)\n return %y, %s, %r\n}\n",
    "graph(%x: bf16[33]) {\n %r = rand_like(%x)\n %n = randn([33], dtype=f16)\n"
    " %m = randn([33], dtype=f64)\n %a = float(%r)\n %b = float(%n)\n return %a, %b, %m\n}\n",
    /* of blocks that a vector has whole, and not: heads and tails, columns, numbers that others
     * read */
    "graph(%x: bf16[3, 301]) {\n %r = rand_like(%x)\n %k = ge(%r, 0.25)\n %d = mul(%x, %k)\n"
    " %n = randn([301], 1)\n %y = add(%d, %n)\n %s = sum(%y, 1)\n return %y, %s\n}\n",
    "graph(%x: f32[19, 44]) {\n %r = rand_like(%x)\n %k = ge(%r, 0.25)\n %d = mul(%x, %k)\n"
    " %s = sum(%d, 0)\n return %s\n}\n",
    "graph(%x: f64[19, 44]) {\n %n = randn([19, 44], 3, dtype=f64)\n %p = permute(%n, [1, 0])\n"
    " %d = mul(%x, %n)\n %q = exp(%p)\n return %d, %q\n}\n",
    "graph(%x: f32[64]) {\n %r = rand([64], 1)\n %i = arange(0, 64)\n %s = add(%x, %i)\n"
    " %y = mul(%s, %r)\n return %y\n}\n",
    /* rows to int8 with their scales, and back; pixels; columns of small integers. What is rounded
     * is f32: bf16 often lie half way between two integers, and these go either way */
    "graph(%x: f32[5, 256], %w: f32[256]) {\n %y = rms_norm(%x, [256], %w)\n %a = abs(%y)\n"
    " %m = amax(%a, [1], True)\n %s = div(%m, 127)\n %q = div(%y, %s)\n %r = round(%q)\n"
    " %c = clamp(%r, -128, 127)\n %i = char(%c)\n return %i, %s\n}\n",
    "graph(%q: i8[9, 65], %s: f32[9, 1], %z: u8[9, 1]) {\n %f = sub(%q, %z)\n"
    " %y = mul(%f, %s)\n %b = bfloat16(%y)\n return %b\n}\n",
    "graph(%x: u8[2, 3, 5, 32], %m: f32[3, 1, 1]) {\n %f = div(%x, 255)\n %y = sub(%f, %m)\n"
    " return %y\n}\n",
    "graph(%x: u8[33, 96], %y: i16[33, 96]) {\n %s = sum(%x, 1)\n %a = amax(%x, 1)\n"
    " %i = argmin(%y, 1)\n %b = amin(%y, 0)\n return %s, %a, %i, %b\n}\n",
    "graph(%x: i8[3, 9001], %y: i8[40, 6]) {\n %s = sum(%x, 1)\n %t = sum(%x, 1, dtype=i8)\n"
    " %c = cumsum(%y, 0, dtype=i16)\n %m = cummax(%y, 1)\n return %s, %t, %c, %m\n}\n",
    "graph(%x: i8[9, 12], %y: i8[12, 7]) {\n %z = matmul(%x, %y)\n %w = add(%z, 100)\n"
    " return %w\n}\n",
    /* what leaves the type's bits is cut off before anything reads it */
    "graph(%x: u8[6, 40], %y: i8[6, 40], %z: i16[40]) {\n %a = add(%x, 200)\n %b = mul(%y, %y)\n"
    " %c = add(%a, %b)\n %d = mul(%z, 300)\n %e = float(%a)\n %f = float(%d)\n"
    " %g = add(%e, %f)\n %h = neg(%x)\n %i = lt(%h, %a)\n %k = char(%x)\n %l = byte(%d)\n"
    " %n = sum(%b, 1)\n return %c, %g, %i, %k, %l, %n\n}\n",
    /* floats of 8 bits: rounded, too large, subnormal; stored and not; moved */
    "graph(%x: f32[5, 256], %w: f8e4m3[256]) {\n %a = abs(%x)\n %m = amax(%a, [1], True)\n"
    " %s = div(%m, 448)\n %d = div(%x, %s)\n %q = to(%d, f8e4m3)\n %f = float(%q)\n"
    " %v = float(%w)\n %y = mul(%f, %v)\n %z = mul(%y, %s)\n return %q, %s, %z\n}\n",
    "graph(%x: bf16[4, 33], %y: f8e5m2[33, 4]) {\n %a = mul(%x, 100000)\n %b = mul(%x, 0.0001)\n"
    " %p = to(%a, f8e5m2)\n %q = to(%b, f8e5m2)\n %r = to(%b, f8e4m3)\n %s = to(%a, f8e4m3)\n"
    " %t = permute(%y, [1, 0])\n %c = cat([%p, %t, %q], 0)\n %f = float(%r)\n"
    " %n = sum(%f, 1)\n return %c, %r, %s, %n\n}\n",
    /* comparisons of positions: causal, a window, and sums of positions that are computed with */
    "graph(%x: bf16[3, 40, 40]) {\n %o = ones([40, 40], dtype=bool)\n %m = triu(%o, 1)\n"
    " %f = masked_fill(%x, %m, -inf)\n %s = softmax(%f, -1)\n return %s\n}\n",
    "graph(%x: f32[2, 37, 52]) {\n %r = arange(0, 37)\n %c = arange(0, 52)\n"
    " %u = unsqueeze(%r, 1)\n %d = sub(%u, %c)\n %a = ge(%d, -3)\n %b = lt(%d, 8)\n"
    " %m = logical_and(%a, %b)\n %y = where(%m, %x, 0)\n %s = sum(%y, -1)\n %e = add(%d, %u)\n"
    " return %y, %s, %e\n}\n",
    /* a cast rounds, though its result is not stored */
    "graph(%x: f32[4, 24]) {\n %b = to(%x, bf16)\n %f = float(%b)\n %d = sub(%x, %f)\n"
    " %h = half(%x)\n %e = mul(%h, 1)\n %g = double(%e)\n %s = sum(%d, 1)\n"
    " return %d, %g, %s\n}\n",
    /* three reductions of a prime row, and the row again: many numbers in a thread */
    "graph(%x: f64[33, 257]) {\n %a = amax(%x, 1, True)\n %b = amin(%x, 1)\n %s = sum(%x, 1)\n"
    " %d = sub(%x, %a)\n return %d, %b, %s\n}\n",
    /* the gradient of a bias: elements are stored by the parts of a split sum */
    "graph(%g: bf16[300, 48], %x: bf16[300, 48]) {\n %p = gt(%x, 0)\n %d = mul(%g, %p)\n"
    " %s = sum(%d, 0)\n return %d, %s\n}\n",
    /* several sums of 8 bytes of each column: more parts than a thread has under way at a time */
    "graph(%x: f64[560, 24]) {\n %s = softmax(%x, 1)\n %q = mul(%s, %s)\n %c = sum(%s, 0)\n"
    " %d = sum(%q, 0)\n %m = amax(%s, 0)\n %n = amin(%s, 0)\n return %s, %c, %d, %m, %n\n}\n",
    "graph(%x: f32[2, 9000]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %m = amax(%x, 1)\n"
    " return %e, %s, %m\n}\n",
    /* rows that no vector divides: weights out of step with them, two widths, an offset */
    "graph(%x: bf16[5, 531], %w: bf16[531]) {\n %y = rms_norm(%x, [531], %w)\n return %y\n}\n",
    "graph(%x: bf16[3, 257], %y: f32[3, 257], %b: f16[257]) {\n %a = add(%x, %y)\n"
    " %z = mul(%a, %b)\n return %a, %z\n}\n",
    "graph(%x: bf16[7, 67], %t: i64[7]) {\n %l = cross_entropy(%x, %t)\n return %l\n}\n",
    "graph(%x: f32[4, 70]) {\n %s = slice(%x, 1, 3, 70, 1)\n %y = softmax(%s, 1)\n"
    " return %y\n}\n",
    "graph(%i: i64[6], %w: f16[11, 131]) {\n %j = remainder(%i, 11)\n %e = embedding(%j, %w)\n"
    " %s = sum(%e, -1)\n return %e, %s\n}\n",
    "graph(%x: bf16[10007]) {\n %s = sum(%x)\n %m = amax(%x)\n return %s, %m\n}\n",
    /* sums of what one column has: looked up, with and without another sum; of two columns */
    "graph(%x: f32[9, 40], %t: i64[9]) {\n %l = nll_loss(%x, %t)\n return %l\n}\n",
    "graph(%x: f32[5, 33], %t: i64[5, 1]) {\n %i = arange(33)\n %h = eq(%i, %t)\n"
    " %e = exp(%x)\n %w = where(%h, %e, 0)\n %s = sum(%w, 1)\n return %s, %h\n}\n",
    "graph(%x: f32[5, 40], %t: i64[5, 1], %u: i64[5, 1]) {\n %i = arange(40)\n %h = eq(%t, %i)\n"
    " %j = remainder(%u, 40)\n %k = eq(%i, %j)\n %m = amax(%x, 1, True)\n %d = sub(%x, %m)\n"
    " %v = where(%h, %d, 0)\n %w = where(%k, %x, 0)\n %s = sum(%v, 1)\n %r = sum(%w, 1)\n"
    " return %s, %r\n}\n",
    /* sums of exponentials along with their maximum: with a factor; of rows that are -inf */
    "graph(%x: f32[5, 300], %w: f32[5, 300]) {\n %m = amax(%x, 1, True)\n %d = sub(%x, %m)\n"
    " %e = exp(%d)\n %p = mul(%w, %e)\n %s = sum(%e, 1)\n %t = sum(%p, 1)\n %y = div(%t, %s)\n"
    " return %y, %d\n}\n",
    "graph(%x: bf16[6, 77]) {\n %c = gt(%x, 1.5)\n %h = where(%c, %x, -inf)\n"
    " %s = softmax(%h, -1)\n return %s\n}\n",
    /* rows that sum up their columns, of which blocks may have some each */
    "graph(%x: bf16[1200, 264], %w: bf16[264]) {\n %y = mul(%x, %w)\n %c = sum(%y, 0)\n"
    " %m = amax(%x, 0)\n return %y, %c, %m\n}\n",
    "graph(%x: f32[1200, 389]) {\n %y = mul(%x, %x)\n %c = sum(%y, 0)\n return %y, %c\n}\n",
    /* rows that are reduced and sum up their columns; the second: backward of a layer norm */
    "graph(%x: bf16[400, 24]) {\n %s = softmax(%x, 1)\n %c = sum(%s, 0)\n %d = mul(%c, 0.5)\n"
    " %m = amax(%x, 0)\n return %s, %d, %m\n}\n",
    "graph(%x: f32[280, 24], %g: f32[280, 24], %w: f32[24]) {\n"
    " %m = mean(%x, 1, True)\n"
    " %c = sub(%x, %m)\n"
    " %q = mul(%c, %c)\n"
    " %v = mean(%q, 1, True)\n"
    " %e = add(%v, 0.00001)\n"
    " %r = rsqrt(%e)\n"
    " %n = mul(%c, %r)\n"
    " %h = mul(%g, %w)\n"
    " %p = mean(%h, 1, True)\n"
    " %hn = mul(%h, %n)\n"
    " %s = mean(%hn, 1, True)\n"
    " %t = mul(%n, %s)\n"
    " %d = sub(%h, %p)\n"
    " %f = sub(%d, %t)\n"
    " %y = mul(%f, %r)\n"
    " %gn = mul(%g, %n)\n"
    " %dw = sum(%gn, 0)\n"
    " %db = sum(%g, 0)\n"
    " return %y, %dw, %db\n"
    "}\n",
    "graph(%x: f64[14, 20, 35], %y: f64[35]) {\n %p = mul(%x, %y)\n %s = sum(%p, 2, True)\n"
    " %q = sub(%p, %s)\n %c = sum(%q, [0, 1])\n %i = argmax(%q, 2)\n %z = add(%c, %y)\n"
    " return %i, %z\n}\n",
    "graph(%x: f32[300, 9]) {\n %s = sum(%x, 1)\n %c = sum(%x, 0)\n %a = argmax(%x, 0)\n"
    " return %s, %c, %a\n}\n",
    /* two that have nothing in common but their shape */
    "graph(%x: f32[30, 20], %y: bf16[30, 20], %v: bf16[20]) {\n %a = exp(%x)\n %b = mul(%y, %v)\n"
    " %r = rand_like(%x)\n return %a, %b, %r\n}\n",
    /* reductions of reductions: one over the axes of both */
    "graph(%x: f32[33, 40], %y: f32[33, 40]) {\n %a = add(%x, %y)\n %b = relu(%a)\n"
    " %d = sum(%b, 1)\n %m = mean(%d)\n return %m\n}\n",
    "graph(%x: bf16[6, 7, 40]) {\n %e = exp(%x)\n %s = sum(%e, [0, 2])\n %m = mean(%s)\n"
    " %a = amax(%x, 1)\n %b = amax(%a, 1)\n %i = sum(%x, 0, True)\n %j = sum(%i, 2)\n"
    " return %m, %b, %j\n}\n",
    /* reshapes between rows and what reads them: axes are split for each other */
    "graph(%x: f32[12, 96], %w: f32[2, 1, 1]) {\n %s = softmax(%x, 1)\n %v = view(%s, [6, 2, 8, "
    "12])\n"
    " %y = mul(%v, %w)\n %a = add(%x, 1)\n %u = view(%a, [12, 8, 12])\n %z = mul(%u, 2)\n"
    " return %y, %z\n}\n",
    "graph(%x: f32[3, 8, 6, 8], %w: f32[8], %b: f32[8]) {\n %y = group_norm(%x, 4, %w, %b)\n"
    " return %y\n}\n",
    "graph(%x: bf16[5, 12, 7, 5], %w: bf16[12], %b: bf16[12]) {\n"
    " %y = group_norm(%x, 2, %w, %b)\n %z = silu(%y)\n return %z\n}\n",
    "graph(%x: f32[9, 24], %w: f32[24], %b: f32[24]) {\n %y = group_norm(%x, 8, %w, %b)\n"
    " return %y\n}\n",
    "graph(%x: f32[2, 9, 64], %w: f32[64], %b: f32[64]) {\n"
    " %y = layer_norm(%x, [64], %w, %b)\n %v = view(%y, [2, 9, 4, 16])\n"
    " %p = permute(%v, [0, 2, 1, 3])\n return %p\n}\n",
    "graph(%x: bf16[3, 5, 40], %w: bf16[40], %c: f32[5, 20]) {\n"
    " %y = rms_norm(%x, [40], %w)\n %v = view(%y, [3, 5, 2, 20])\n"
    " %p = permute(%v, [0, 2, 1, 3])\n %z = mul(%p, %c)\n return %z, %y\n}\n",
    "graph(%x: f32[2, 9, 16], %w: f32[32, 16], %b: f32[32]) {\n %y = linear(%x, %w, %b)\n"
    " %z = gelu(%y)\n %v = view(%y, [2, 9, 2, 16])\n %p = permute(%v, [0, 2, 1, 3])\n"
    " %q = mul(%p, 0.25)\n return %z, %q\n}\n",
    "graph(%x: bf16[6, 5, 8], %y: bf16[6, 8, 5], %m: bf16[2, 1, 5, 5]) {\n %z = bmm(%x, %y)\n"
    " %v = view(%z, [2, 3, 5, 5])\n %a = add(%v, %m)\n return %a\n}\n",
    "graph(%x: f16[4, 60], %y: f16[2, 2, 60]) {\n %a = exp(%x)\n %v = view(%a, [2, 2, 60])\n"
    " %b = mul(%v, %y)\n %u = view(%b, [240])\n %c = add(%u, 1)\n return %a, %b, %c\n}\n",
    "graph(%x: f32[280, 24], %g: f32[20, 14, 24]) {\n %v = view(%x, [20, 14, 24])\n"
    " %p = mul(%v, %g)\n %s = sum(%p, 2, True)\n %q = sub(%p, %s)\n %u = view(%q, [280, 24])\n"
    " %h = mul(%u, 2)\n %c = sum(%h, 0)\n %d = sum(%x, 0)\n return %h, %c, %d\n}\n",
    "graph(%x: f32[2, 8, 6, 20], %w: f32[20]) {\n %y = rms_norm(%x, [20], %w)\n"
    " %v = view(%y, [2, 2, 4, 3, 2, 20])\n %p = permute(%v, [0, 1, 3, 2, 4, 5])\n"
    " %u = view(%p, [12, 8, 20])\n %z = mul(%u, 2)\n return %z\n}\n",
    "graph(%x: f32[3, 12, 20], %w: f32[12, 1]) {\n %y = relu(%x)\n %v = view(%y, [3, 2, 6, 20])\n"
    " %p = permute(%v, [0, 2, 1, 3])\n %u = view(%p, [3, 12, 20])\n %z = mul(%u, %w)\n"
    " return %y, %z\n}\n",
    /* a residual around a square product */
    "graph(%x: f32[8, 8], %w: f32[8, 8]) {\n %m = mm(%x, %w)\n %y = add(%x, %m)\n return %y\n}\n",
    /* a maximum and its exponentials, of few long rows; a scan down very many columns; of bools */
    "graph(%x: bf16[2, 66000]) {\n %y = logsumexp(%x, 1)\n return %y\n}\n",
    "graph(%x: bf16[5, 26500]) {\n %e = neg(%x)\n %c = cumsum(%e, 0)\n return %c\n}\n",
    "graph(%x: f32[2, 5]) {\n %c = cumsum(%x, 1, dtype=bool)\n %y = add(%c, 1.0)\n return %y\n}\n",
    /* scans down columns whose tiles are blocks: narrow, wide, of odd widths and heights, several
     * at once, of all types */
    "graph(%x: f32[3001, 8]) {\n %c = cumsum(%x, 0)\n return %c\n}\n",
    "graph(%x: bf16[611, 33], %y: bf16[611, 33]) {\n %e = exp(%x)\n %c = cumsum(%e, 0)\n"
    " %l = log(%c)\n %z = add(%l, %y)\n return %z\n}\n",
    "graph(%x: f32[2, 260, 36], %w: f32[36]) {\n %p = mul(%x, %w)\n %c = cumsum(%p, 1)\n"
    " %m = cummax(%p, 1)\n %z = sub(%c, %m)\n return %z\n}\n",
    "graph(%x: f64[530, 70]) {\n %c = cummin(%x, 0)\n return %c\n}\n",
    "graph(%x: bool[900, 48]) {\n %c = cumsum(%x, 0)\n %d = cumsum(%x, 0, dtype=bool)\n"
    " return %c, %d\n}\n",
    /* reductions of columns that lie out of step with vectors: of odd numbers, of a part, with what
     * is one for all rows */
    "graph(%x: bf16[520, 99]) {\n %y = sum(%x, 0)\n return %y\n}\n",
    "graph(%x: f32[48, 3, 101], %w: f32[101]) {\n %p = mul(%x, %w)\n %y = logsumexp(%p, 0)\n"
    " return %y\n}\n",
    "graph(%x: f32[40, 66]) {\n %a = slice(%x, 1, 1, 65)\n %v = var(%a, 0)\n"
    " %i = argmax(%a, 0)\n return %v, %i\n}\n",
    "graph(%x: f16[1024, 9], %y: bf16[1024, 9]) {\n %p = mul(%x, %y)\n %s = sum(%p, 0)\n"
    " %m = amax(%x, 0)\n return %s, %m\n}\n",
    "graph(%x: f16[300, 6]) {\n %q = mul(%x, 0.01)\n %p = add(%q, 1)\n %c = cumprod(%p, 0)\n"
    " return %c\n}\n",
    /* numbers that share a byte, of a row's product */
    "graph(%x: bf16[1, 192], %w: u8[40, 96], %s: bf16[40, 3, 1]) {\n %l = bitwise_and(%w, 15)\n"
    " %h = bitwise_right_shift(%w, 4)\n %u = unsqueeze(%l, 2)\n %v = unsqueeze(%h, 2)\n"
    " %c = cat([%u, %v], 2)\n %i = to(%c, i8)\n %q = sub(%i, 8)\n %f = to(%q, bf16)\n"
    " %g = view(%f, [40, 3, 64])\n %b = mul(%g, %s)\n %d = view(%b, [40, 192])\n"
    " %t = permute(%d, [1, 0])\n %z = mm(%x, %t)\n return %z\n}\n",
    /* products with diagonals: rows, columns, both, a batch of them */
    "graph(%x: f32[40], %y: f32[40, 33]) {\n %i = arange(0, 40)\n %j = unsqueeze(%i, 1)\n"
    " %c = eq(%i, %j)\n %s = unsqueeze(%x, 1)\n %f = where(%c, %s, 0)\n %z = mm(%f, %y)\n"
    " %t = permute(%y, [1, 0])\n %w = mm(%t, %f)\n %v = mm(%w, %f)\n return %z, %v\n}\n",
    "graph(%x: bf16[3, 16], %y: bf16[3, 24, 16]) {\n %i = arange(0, 16)\n %j = unsqueeze(%i, 1)\n"
    " %c = eq(%i, %j)\n %b = to(%c, bf16)\n %s = unsqueeze(%x, 1)\n %f = mul(%b, %s)\n"
    " %z = bmm(%y, %f)\n return %z\n}\n",
};

/* Rows and their columns, so wide for a small device that clusters share them. */
static const char *const wide[] = {
    "graph(%x: f32[23, 512], %g: f32[23, 512]) {\n %s = sum(%x, 1, True)\n %m = amax(%g, 1, True)\n"
    " %c = sub(%x, %s)\n %p = mul(%c, %g)\n %q = sum(%p, 1, True)\n %d = sub(%p, %q)\n"
    " %e = sub(%d, %m)\n %w = sum(%p, 0)\n %b = sum(%g, 0)\n return %e, %w, %b\n}\n",
    "graph(%x: bf16[40, 1000], %g: bf16[40, 1000]) {\n %p = mul(%x, %g)\n %k = mul(%p, 0.03125)\n"
    " %s = sum(%k, 1, True)\n %y = sub(%g, %s)\n %c = sum(%y, 0)\n %a = amax(%p, 0)\n"
    " return %y, %c, %a\n}\n",
    /* no row is reduced: sums of columns alone, by whole rows */
    "graph(%g: bf16[101, 48], %x: bf16[101, 48], %b: bf16[48]) {\n %p = add(%x, %b)\n"
    " %m = gt(%p, 0)\n %d = mul(%g, %m)\n %s = sum(%d, 0)\n %a = amax(%x, 0)\n"
    " %h = mul(%s, %b)\n return %d, %h, %a\n}\n",
    ("graph(%x: f64[7, 9, 33], %y: f64[9, 33]) {\n %e = mul(%x, %y)\n %s = sum(%e, [0, 1])\n"
     " %i = argmax(%e, 0)\n return %e, %s, %i\n}\n"),
    /* no columns are summed up: rows of persistent blocks, copied ahead; long ones by clusters */
    "graph(%x: bf16[61, 256], %w: bf16[256], %b: bf16[256]) {\n"
    " %y = layer_norm(%x, [256], %w, %b)\n return %y\n}\n",
    /* operands of all rows, out of step with rows of odd length: one for two or four rows a thread
     */
    "graph(%x: bf16[81, 515], %b: bf16[515]) {\n %s = add(%x, %b)\n %r = relu(%s)\n return %r\n}\n",
    "graph(%x: f32[21, 3, 301], %b: f32[301], %c: bf16[301]) {\n %s = mul(%x, %b)\n"
    " %r = sub(%s, %c)\n return %r\n}\n",
    "graph(%x: bf16[53, 517], %w: bf16[517]) {\n %y = rms_norm(%x, [517], %w)\n return %y\n}\n",
    /* rows that are kept in shared memory: with heads and tails and weights out of step with them,
     * of two tensors, in pieces */
    "graph(%x: bf16[9, 5003], %w: bf16[5003]) {\n %y = rms_norm(%x, [5003], %w)\n return %y\n}\n",
    "graph(%x: f32[5, 4100], %y: bf16[5, 4100]) {\n %s = add(%x, %y)\n %p = softmax(%s, 1)\n"
    " %m = mean(%x, 1)\n return %p, %m\n}\n",
    "graph(%x: f16[7, 3, 1400]) {\n %v = var(%x, [0, 2], 0, True)\n %m = mean(%x, [0, 2], True)\n"
    " %c = sub(%x, %m)\n %d = div(%c, %v)\n return %d\n}\n",
    "graph(%x: f32[11, 8208], %m: bool[8208]) {\n %h = where(%m, %x, -inf)\n"
    " %y = log_softmax(%h, 1)\n %s = sum(%x, 1)\n return %y, %s\n}\n",
    /* what lands on rows: short ones, long ones, of bf16, in the middle, of one element; counted */
    "graph(%x: f32[700, 24], %i: i64[4000], %s: f32[4000, 24]) {\n %j = remainder(%i, 700)\n"
    " %y = index_add(%x, 0, %j, %s)\n return %y\n}\n",
    "graph(%x: bf16[140, 128], %i: i64[5, 50], %g: bf16[250, 128]) {\n %k = view(%i, [250])\n"
    " %j = remainder(%k, 140)\n %p = ne(%j, 3)\n %u = unsqueeze(%p, 1)\n %s = where(%u, %g, 0)\n"
    " %y = index_add(%x, 0, %j, %s, alpha=2)\n return %y\n}\n",
    "graph(%x: f32[3, 140, 33], %i: i64[190], %s: f32[3, 190, 33]) {\n %j = remainder(%i, 140)\n"
    " %y = index_add(%x, 1, %j, %s)\n return %y\n}\n",
    "graph(%x: f32[83, 1000], %i: i64[170], %s: f32[170, 1000]) {\n %j = remainder(%i, 83)\n"
    " %y = index_add(%x, 0, %j, %s)\n %z = mul(%y, 0.5)\n return %z\n}\n",
    "graph(%x: f32[40, 4096], %i: i64[100], %s: f32[100, 4096]) {\n %j = remainder(%i, 40)\n"
    " %y = index_add(%x, 0, %j, %s)\n return %y\n}\n",
    "graph(%x: f64[5000], %i: i64[1700], %s: f64[1700]) {\n %j = remainder(%i, 5000)\n"
    " %y = scatter_add(%x, 0, %j, %s)\n %z = scatter(%x, 0, %j, 2)\n return %y, %z\n}\n",
    "graph(%x: f32[64, 4], %i: i64[5000], %s: f32[5000, 4]) {\n %j = remainder(%i, 60)\n"
    " %y = index_add(%x, 0, %j, %s)\n return %y\n}\n",
    "graph(%x: i64[350, 32], %i: i64[390], %s: i64[390, 32]) {\n %j = remainder(%i, 350)\n"
    " %y = index_add(%x, 0, %j, %s)\n %o = ones_like(%s)\n %n = index_add(%x, 0, %j, %o)\n"
    " return %y, %n\n}\n",
    /* the last source that lands on an element stays */
    "graph(%x: f32[3000], %i: i64[300], %s: f32[300]) {\n %j = remainder(%i, 3000)\n"
    " %y = scatter(%x, 0, %j, %s)\n return %y\n}\n",
};

/* Where an extremum is, by vectors: of what is loaded and, fused, of what is computed; with heads
 * and tails. The first of equal ones; rows of nothing but infinities; nan at the end of a row, and
 * in its midst. */
static const char *const extrema[] = {
    "graph(%x: bf16[3, 1003]) {\n %q = sign(%x)\n %i = argmax(%q, 1)\n %j = argmin(%q, 1)\n"
    " %a = amax(%q, 1)\n %b = amin(%q, 1)\n return %i, %j, %a, %b\n}\n",
    "graph(%x: f16[5, 264]) {\n %q = sign(%x)\n %i = argmax(%q, 1)\n %j = argmin(%q, 1)\n"
    " %a = amin(%q, 1)\n return %i, %j, %a\n}\n",
    "graph(%x: f32[6, 516]) {\n %c = lt(%x, 1000)\n %q = where(%c, -inf, %x)\n"
    " %p = where(%c, inf, %x)\n %i = argmax(%q, 1)\n %j = argmin(%p, 1)\n %a = amax(%q, 1)\n"
    " return %i, %j, %a\n}\n",
    "graph(%x: bf16[4, 520]) {\n %a = arange(0, 520)\n %c = ge(%a, 517)\n"
    " %q = where(%c, nan, %x)\n %i = argmax(%q, 1)\n %j = argmin(%q, 1)\n %m = amax(%q, 1)\n"
    " return %i, %j, %m\n}\n",
    "graph(%x: f32[9, 261]) {\n %q = log(%x)\n %r = sqrt(%x)\n %i = argmax(%q, 1)\n"
    " %j = argmin(%r, 1)\n return %i, %j\n}\n",
    "graph(%x: i32[3, 392], %y: f64[3, 392]) {\n %q = remainder(%x, 9)\n %r = round(%y)\n"
    " %i = argmax(%q, 1)\n %j = argmin(%q, 1)\n %k = argmax(%r, 1)\n %m = amax(%q, 1)\n"
    " return %i, %j, %k, %m\n}\n",
};

/* What rows are that blocks share: values of one word, of less and more, pairs; one in a block and
 * several, in threads of a warp, ragged; as many parts as the last block has threads, and more. */
static const struct {
    const char *text, *config;
} split[] = {
    {"graph(%x: f16[4, 4097]) {\n %f = float(%x)\n %i = argmax(%x, 1)\n %j = argmin(%x, 1)\n %v = "
     "m2(%f, [1])\n %a = amax(%x, 1)\n return %i, %j, %v, %a\n}\n",
     "x=4 r=128 warps=4 rows=2 cluster=8"},
    {"graph(%x: f32[4, 2048]) {\n %i = argmax(%x, 1)\n %s = softmax(%x, 1)\n return %i, %s\n}\n",
     "x=1 r=128 warps=4 cluster=8 online=1"},
    {"graph(%x: f32[4, 2048]) {\n %i = argmax(%x, 1)\n %s = softmax(%x, 1)\n return %i, %s\n}\n",
     "x=16 r=32 warps=1 vec=4 cluster=8 online=1 keep=2"},
    {"graph(%x: bf16[1201, 512], %w: bf16[512]) {\n %y = mul(%x, %w)\n %c = sum(%y, 0)\n return "
     "%y, %c\n}\n",
     "x=4 r=64 warps=1 vec=8 keep=1 cluster=8 blocks=2 stages=2"},
    {"graph(%x: f64[1201, 389]) {\n %y = mul(%x, %x)\n %c = sum(%y, 0)\n return %y, %c\n}\n",
     "x=32 r=25 warps=1 keep=1 cluster=16 blocks=1"},
    {"graph(%x: f64[1201, 389]) {\n %y = mul(%x, %x)\n %c = sum(%y, 0)\n return %y, %c\n}\n",
     "x=8 r=200 warps=2 keep=1 cluster=2 blocks=1"},
    /* steps without a guard, and the last block's part with fewer of them */
    {"graph(%x: f32[500, 20]) {\n %s = softmax(%x, 0)\n return %s\n}\n",
     "x=16 r=64 warps=2 vec=2 keep=1 cluster=8"},
    {"graph(%x: f32[5, 3000]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
     "x=1 r=1536 warps=2 vec=4 keep=1 cluster=2"},
    {"graph(%x: f32[1100, 4]) {\n %s = mean(%x, 1)\n %a = amax(%x, 1)\n return %s, %a\n}\n",
     "x=256 r=4 warps=2 vec=4 rows=4"},
    {"graph(%x: bf16[301, 60]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
     "x=32 r=64 warps=2 vec=8 rows=4 keep=1"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = sum(%f, [1])\n return %a\n}\n",
     "x=2 r=128 warps=1 vec=8 split=7 last_block=1"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = sum(%f, [1])\n return %a\n}\n",
     "x=2 r=128 warps=1 vec=8 cluster=8"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = softmax(%f, 1)\n return %a\n}\n",
     "x=2 r=128 warps=1 vec=8 keep=2 cluster=8"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = softmax(%f, 1)\n return %a\n}\n",
     "x=1 r=512 warps=2 vec=8 cluster=8 keep=2"},
    {"graph(%x: f32[3, 650]) {\n %v = m2(%x, [1])\n %a = expsum(%x, [1])\n return %v, %a\n}\n",
     "x=1 r=128 warps=2 cluster=4"},
    {"graph(%x: f32[3, 650]) {\n %v = m2(%x, [1])\n %a = expsum(%x, [1])\n return %v, %a\n}\n",
     "x=4 r=32 warps=1 cluster=8"},
    {"graph(%x: f32[3, 650]) {\n %v = m2(%x, [1])\n %a = expsum(%x, [1])\n %i = argmax(%x, 1)\n "
     "return %v, %a, %i\n}\n",
     "x=32 r=32 warps=1 split=8 last_block=1"},
    {"graph(%x: f32[3, 650]) {\n %v = m2(%x, [1])\n %a = expsum(%x, [1])\n %i = argmax(%x, 1)\n "
     "return %v, %a, %i\n}\n",
     "x=32 r=1 warps=1 split=9"},
    {"graph(%x: f32[3, 4096]) {\n %i = argmax(%x, 1)\n return %i\n}\n",
     "x=1 r=512 warps=2 cluster=4"},
    {"graph(%x: f64[3, 4096]) {\n %i = argmax(%x, 1)\n %s = sum(%x, 1)\n return %i, %s\n}\n",
     "x=2 r=512 warps=2 cluster=2"},
    {"graph(%x: f64[3, 4096]) {\n %s = sum(%x, 1)\n %m = amax(%x, 1)\n return %m, %s\n}\n",
     "x=2 r=64 warps=1 rows=2 cluster=8"},
    {"graph(%x: bf16[3, 4100]) {\n %f = float(%x)\n %a = expsum(%f, [1])\n %v = m2(%f, [1])\n "
     "return %a, %v\n}\n",
     "x=4 r=64 warps=1 rows=4 vec=2 cluster=4"},
    {"graph(%x: f32[5, 1000]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
     "x=2 r=32 warps=2 keep=2 cluster=8"},
    {"graph(%x: f32[5, 1003]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
     "x=2 r=64 warps=1 vec=2 keep=2 cluster=2"},
    {"graph(%x: f64[5, 1003]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
     "x=2 r=64 warps=1 vec=2 online=1 cluster=8"},
    /* squares about a mean that is known later: far from 0; of a cluster; beside a maximum; of
     * heads and tails; along x; of a thread with nothing */
    {"graph(%x: f32[5, 1003]) {\n %a = add(%x, 4096)\n %v = var(%a, 1)\n return %v\n}\n",
     "x=1 r=128 warps=1 vec=4 online=1"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = layer_norm(%f, [4101])\n return %a\n}\n",
     "x=2 r=128 warps=1 vec=8 keep=2 online=1 cluster=8"},
    {"graph(%x: bf16[3, 4101]) {\n %f = float(%x)\n %a = layer_norm(%f, [4101])\n return %a\n}\n",
     "x=1 r=1280 warps=2 vec=4 rows=1 keep=1 online=1 cluster=4"},
    {"graph(%x: f32[3, 700]) {\n %a = layer_norm(%x, [700])\n %m = amax(%x, 1, True)\n"
     " %e = sub(%x, %m)\n %f = exp(%e)\n %s = sum(%f, 1)\n return %a, %s\n}\n",
     "x=2 r=256 warps=2 vec=4 online=1"},
    {"graph(%x: f32[700, 36]) {\n %v = var(%x, 0)\n %m = mean(%x, 0)\n return %v, %m\n}\n",
     "x=32 r=64 warps=4 vec=4 online=1"},
    {"graph(%x: f32[700, 36]) {\n %v = var(%x, 0)\n %m = mean(%x, 0, True)\n %y = sub(%x, %m)\n "
     "return %v, %y\n}\n",
     "x=32 r=16 warps=4 vec=4 online=1 cluster=8"},
    {"graph(%x: f32[33, 4096]) {\n %i = arange(0, 4096)\n %z = eq(%i, 0)\n"
     " %o = where(%z, 1000.3, %x)\n %v = var(%o, 1)\n return %v\n}\n",
     "x=32 r=64 warps=1 vec=4 online=1"}, /* the first is far from all others */
    {"graph(%x: f32[4096, 33]) {\n %i = arange(0, 4096)\n %j = unsqueeze(%i, 1)\n %z = eq(%j, 0)\n"
     " %o = where(%z, 1000.3, %x)\n %v = m2(%o, [0])\n return %v\n}\n",
     "x=32 r=1 warps=1 vec=1"},
    {"graph(%x: f32[4096, 36]) {\n %i = arange(0, 4096)\n %j = unsqueeze(%i, 1)\n %z = eq(%j, 0)\n"
     " %o = where(%z, 1000.3, %x)\n %v = var(%o, 0)\n return %v\n}\n",
     "x=32 r=32 warps=1 vec=4 online=1"},
    {"graph(%x: f32[700, 36]) {\n %v = var(%x, 0)\n %m = amax(%x, 0, True)\n %d = sub(%x, %m)\n"
     " %e = exp(%d)\n %s = sum(%e, 0)\n return %v, %s\n}\n",
     "x=32 r=16 warps=4 vec=4 online=1 cluster=8"},
    {"graph(%x: bf16[3, 4100]) {\n %f = float(%x)\n %v = var(%f, 1)\n %p = softmax(%f, 1)\n"
     " return %v, %p\n}\n",
     "x=1 r=128 warps=1 vec=4 keep=2 online=1 cluster=4 stay_l2=1"},
    {"graph(%x: f64[9, 40]) {\n %a = layer_norm(%x, [40])\n return %a\n}\n",
     "x=4 r=64 warps=2 rows=2 vec=2 keep=1 online=1"},
    {"graph(%x: f64[5, 3001]) {\n %s = sum(%x, 1)\n %i = argmin(%x, 1)\n return %s, %i\n}\n",
     "x=4 r=64 warps=2 rows=2 split=7 last_block=1"},
    {"graph(%x: f64[5, 3001]) {\n %s = sum(%x, 1)\n %i = argmin(%x, 1)\n return %s, %i\n}\n",
     "x=8 r=32 warps=4 split=5 last_block=1"},
    {"graph(%x: f64[5, 3001]) {\n %s = sum(%x, 1)\n %i = argmin(%x, 1)\n return %s, %i\n}\n",
     "x=1 r=32 warps=1 split=90 last_block=1"},
    {"graph(%x: i64[2, 2048]) {\n %f = remainder(%x, 1000)\n %s = sum(%f, 1)\n %c = gt(%x, 40)\n"
     " %a = amax(%c, 1)\n return %s, %a\n}\n",
     "x=2 r=128 warps=2 split=3 last_block=1"},
    {"graph(%x: f16[9000]) {\n %i = argmax(%x)\n %m = amin(%x)\n return %i, %m\n}\n",
     "x=1 r=64 warps=1 vec=2 split=16 last_block=1"},
    {"graph(%x: f16[9000]) {\n %m = amin(%x)\n return %m\n}\n",
     "x=1 r=32 warps=1 split=270 last_block=1"},
    {"graph(%x: bf16[3, 4100]) {\n %f = float(%x)\n %a = expsum(%f, [1])\n %v = m2(%f, [1])\n"
     " return %a, %v\n}\n",
     "x=4 r=64 warps=1 rows=4 vec=2 split=5 last_block=1"},
    /* accumulators that are folded: twice; of one tile; along x, in registers and in memory; with
     * their maximum, with their mean; of heads and tails; parts, in words, by the last block and by
     * a second launch; columns of many rows; a deep product, by few and by many steps; totals of
     * many tiles, and carries */
    {"graph(%x: f32[3, 9000]) {\n %s = sum(%x, 1)\n %v = m2(%x, [1])\n %a = expsum(%x, [1])\n"
     " return %s, %v, %a\n}\n",
     "x=8 r=16 warps=2 vec=2"},
    {"graph(%x: bf16[2, 8192]) {\n %f = float(%x)\n %a = softmax(%f, 1)\n return %a\n}\n",
     "x=1 r=8192 warps=1 vec=8 keep=1"},
    {"graph(%x: f32[9000, 8]) {\n %s = sum(%x, 0)\n %p = prod(%x, 0)\n return %s, %p\n}\n",
     "x=8 r=32 warps=2 vec=4"},
    {"graph(%x: f32[9000, 8]) {\n %s = m2(%x, [0])\n return %s\n}\n", "x=8 r=16 warps=1 vec=4"},
    {"graph(%x: f32[3, 9000]) {\n %a = softmax(%x, 1)\n %l = log_softmax(%x, 1)\n"
     " return %a, %l\n}\n",
     "x=8 r=16 warps=2 vec=2 online=1"},
    {"graph(%x: f32[3, 9000]) {\n %a = add(%x, 4096)\n %v = var(%a, 1)\n return %v\n}\n",
     "x=8 r=16 warps=2 vec=2 online=1"},
    {"graph(%x: f32[9000, 3]) {\n %a = softmax(%x, 0)\n %b = add(%x, 4096)\n %v = var(%b, 0)\n"
     " return %a, %v\n}\n",
     "x=32 r=4 warps=1 online=1"},
    {"graph(%x: f64[3, 9001]) {\n %s = sum(%x, 1)\n return %s\n}\n", "x=8 r=128 warps=2 vec=2"},
    {"graph(%x: f32[3, 12000]) {\n %s = sum(%x, 1)\n return %s\n}\n",
     "x=32 r=1 warps=1 split=300 last_block=1"},
    {"graph(%x: f32[12000, 3]) {\n %s = sum(%x, 0)\n return %s\n}\n",
     "x=32 r=1 warps=1 split=300 last_block=1"},
    {"graph(%x: f32[2100, 2000]) {\n %s = sum(%x, 0)\n return %s\n}\n",
     "x=256 r=1 warps=8 split=2000"},
    {"graph(%x: f32[40000, 32]) {\n %y = mul(%x, %x)\n %s = sum(%y, 0)\n return %y, %s\n}\n",
     "x=1 r=32 warps=1 keep=1 blocks=1"},
    {"graph(%x: f32[33, 900], %y: f32[900, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "warps=4 m=16 n=32 k=32 tm=2 tn=2"},
    {"graph(%x: f32[33, 900], %y: f32[900, 40]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "warps=4 m=16 n=32 k=200 tm=2 tn=2"},
    {"graph(%x: f32[3, 9000]) {\n %s = cumsum(%x, 1)\n return %s\n}\n",
     "x=32 r=1 warps=1 look_back=1"},
    {"graph(%x: f32[9000, 3]) {\n %s = cumsum(%x, 0)\n return %s\n}\n",
     "x=32 r=1 warps=1 look_back=1"},
    /* in one round; and where tiles wait, of blocks that have no second one */
    {"graph(%x: f32[3, 9000]) {\n %s = cumsum(%x, 1)\n return %s\n}\n",
     "x=1 r=512 warps=2 vec=4 blocks=1 look_back=1"},
    {"graph(%x: bf16[9001]) {\n %s = cumsum(%x, 0)\n %y = mul(%s, %x)\n return %y\n}\n",
     "x=1 r=512 warps=2 vec=8 blocks=1 stages=3 look_back=1"},
    {"graph(%x: f32[9000, 3]) {\n %s = cumsum(%x, 0)\n return %s\n}\n", "x=32 r=4 warps=1"},
    {"graph(%x: f64[9000, 3]) {\n %s = cumsum(%x, 0)\n return %s\n}\n", "x=4 r=32 warps=2"},
    {"graph(%x: f32[3, 9000]) {\n %s = cumsum(%x, 1)\n return %s\n}\n", "x=1 r=128 warps=2 vec=2"},
    /* and what lands where many others do */
    {"graph(%i: i64[700], %v: f32[700, 8]) {\n %z = zeros([64, 8])\n %j = remainder(%i, 3)\n %k = "
     "abs(%j)\n"
     " %s = index_add(%z, 0, %k, %v)\n return %s\n}\n",
     "x=32 r=4 warps=1 hits=4"},
    /* several rows a thread, of a split row that is combined with one */
    {"graph(%x: f32[9, 2100], %y: f32[2100]) {\n %m = mul(%x, %y)\n %s = sum(%m, 1)\n return "
     "%s\n}\n",
     "x=4 r=512 warps=4 vec=4 rows=4 split=4 last_block=1"},
    {"graph(%x: f32[9, 2100], %y: f32[2100]) {\n %m = mul(%x, %y)\n %s = sum(%m, 1)\n return "
     "%s\n}\n",
     "x=4 r=256 warps=2 vec=2 rows=2 split=2"},
    /* windows that a thread has to itself, in a straight line */
    {"graph(%x: f32[2, 47, 58]) {\n %w = windows(%x, [11, 11], [11, 11], [0, 0], [1, 1])\n %s = "
     "sum(%w, [3, 4])\n %y = div(%s, 121)\n return %y\n}\n",
     "x=64 r=121 warps=2 vec=1"},
    /* rows that are stored out of step with vectors, which lanes pass on to each other: of each
     * width, by more rows than there are, in steps */
    {"graph(%x: bf16[7, 2048]) {\n %w = windows(%x, [4], [2], [0], [1])\n %y = amax(%w, 2)\n"
     " return %y\n}\n",
     "x=1 r=512 warps=1 vec=8 window=1"},
    {"graph(%x: bf16[7, 2048]) {\n %w = windows(%x, [4], [2], [0], [1])\n %y = amax(%w, 2)\n"
     " return %y\n}\n",
     "x=4 r=128 warps=2 vec=4 rows=2 window=1"},
    {"graph(%x: f32[9, 182], %y: f32[9, 187]) {\n %p = constant_pad_nd(%x, [2, 3], 1.5)\n"
     " %z = mul(%p, %y)\n return %z\n}\n",
     "x=4 r=128 warps=4 vec=4 window=1"},
    {"graph(%x: u8[9, 512]) {\n %y = constant_pad_nd(%x, [3, 0], 7)\n return %y\n}\n",
     "x=2 r=256 warps=2 vec=8 window=1"},
    {"graph(%x: f64[9, 142]) {\n %y = constant_pad_nd(%x, [1, 0], 7)\n return %y\n}\n",
     "x=2 r=64 warps=2 vec=2 window=1"},
    {"graph(%x: f32[6, 130]) {\n %s = slice(%x, 1, 1, 130)\n %e = exp(%s)\n return %e\n}\n",
     "x=1 r=128 warps=1 vec=2 window=1 nt=1"},
    /* sines of what is known to be within a quarter turn, near, and neither */
    {"graph(%x: f32[6, 64]) {\n %t = tanh(%x)\n %a = mul(%t, 1.5)\n %s = sin(%a)\n"
     " %n = mul(%x, 134217728)\n %g = maximum(%n, -65000)\n %h = minimum(%g, 65000)\n"
     " %k = minimum(%g, 200000000)\n %c = sin(%h)\n %d = cos(%h)\n %e = sin(%k)\n %f = cos(%g)\n"
     " return %s, %c, %d, %e, %f\n}\n",
     "x=2 r=64 warps=1 vec=4"},
    /* the same where all that is stored has 16 bits; vectors of which some are far */
    {"graph(%x: bf16[6, 64]) {\n %f = float(%x)\n %n = mul(%f, 65536)\n %s = sin(%n)\n"
     " %c = cos(%n)\n %t = sin(%x)\n %y = bfloat16(%s)\n %z = bfloat16(%c)\n return %y, %z, "
     "%t\n}\n",
     "x=4 r=64 warps=1 vec=8"},
    /* rows of what was padded as one row */
    {"graph(%x: bf16[64]) {\n %p = constant_pad_nd(%x, [1, 3], 0.5)\n %v = view(%p, [4, 17])\n"
     " %y = cos(%v)\n return %y\n}\n",
     "x=1 r=128 warps=1 vec=4 window=1"},
    /* planes that are rolled, of images that are one axis with them, read through windows or not: a
     * thread has all planes of an image */
    {"graph(%x: f32[4, 3, 6, 40]) {\n %r = roll(%x, [1], [1])\n %a = sub(%x, %r)\n"
     " %f = view(%a, [12, 6, 40])\n %w = windows(%f, [4], [2], [0], [1])\n %y = amax(%w, 3)\n "
     "return %y\n}\n",
     "x=2 r=64 warps=1 vec=4 window=1"},
    {"graph(%x: f32[4, 3, 64]) {\n %r = roll(%x, [2], [1])\n %a = sub(%x, %r)\n"
     " %f = view(%a, [12, 64])\n %y = exp(%f)\n return %y\n}\n",
     "x=2 r=64 warps=1 vec=4"},
    /* many short rows that no vector divides, as one row */
    {"graph(%x: f64[9000, 26], %w: f64[29], %b: f64[9000, 1]) {\n"
     " %p = constant_pad_nd(%x, [2, 1], 0.5)\n %a = mul(%p, %w)\n %y = add(%a, %b)\n return "
     "%y\n}\n",
     "x=1 r=1024 warps=4 vec=2"},
    {"graph(%x: bf16[25000, 46]) {\n %p = constant_pad_nd(%x, [2, 3], 0)\n return %p\n}\n",
     "x=1 r=2048 warps=4 vec=8"},
    /* two loads of a tensor, of which a condition of rows wants one: rolled rows, also by windows;
     * halves of a concatenation that are reduced; one that somebody looks at elsewhere */
    {"graph(%x: bf16[6, 5, 64]) {\n %r = roll(%x, [2], [1])\n %y = sub(%x, %r)\n return %y\n}\n",
     "x=4 r=64 warps=1 vec=8"},
    {"graph(%x: f32[3, 4, 66]) {\n %r = roll(%x, [1], [1])\n %a = sub(%x, %r)\n"
     " %w = windows(%a, [4], [2], [0], [1])\n %y = amax(%w, 3)\n return %y\n}\n",
     "x=2 r=64 warps=1 vec=4 window=1"},
    {"graph(%x: f32[4, 70, 32]) {\n %a = abs(%x)\n %e = exp(%a)\n %c = cat([%x, %e], 0)\n"
     " %s = sum(%c, 1)\n %m = amax(%c, 1)\n return %s, %m\n}\n",
     "x=32 r=16 warps=1 vec=4"},
    {"graph(%x: f32[6, 64]) {\n %p = constant_pad_nd(%x, [0, 0, 0, 2], 0)\n"
     " %q = constant_pad_nd(%x, [0, 0, 6, -4], 0)\n %a = exp(%p)\n %y = mul(%a, %q)\n return "
     "%y\n}\n",
     "x=2 r=64 warps=1 vec=4"},
    /* pairs that turn: of whole vectors, of rows with heads, where rows and columns end; beside
     * what goes along rows, of more pairs than threads have */
    {"graph(%x: bf16[72, 50]) {\n %p = permute(%x, [1, 0])\n %y = mul(%p, 2)\n return %y\n}\n",
     "x=32 r=64 warps=2 vec=8 rows=2 turn=1"},
    {"graph(%x: f16[69, 50], %w: f16[69]) {\n %p = permute(%x, [1, 0])\n %y = mul(%p, %w)\n"
     " return %y\n}\n",
     "x=32 r=64 warps=4 vec=4 rows=2 turn=1"},
    {"graph(%x: i16[70, 36]) {\n %p = permute(%x, [1, 0])\n %y = add(%p, %p)\n return %y\n}\n",
     "x=4 r=64 warps=4 vec=2 turn=1"},
    {"graph(%x: bf16[70, 36]) {\n %p = permute(%x, [1, 0])\n %y = mul(%p, 2)\n return %y\n}\n",
     "x=8 r=128 warps=1 vec=8 rows=2 turn=1"},
    /* columns of odd rows, by single elements and two neighbours */
    {"graph(%x: f32[2, 150, 67]) {\n %m = amax(%x, 1)\n return %m\n}\n",
     "x=128 r=64 warps=16 vec=1"},
    {"graph(%x: f32[2, 150, 67]) {\n %m = amax(%x, 1)\n return %m\n}\n", "x=64 r=32 warps=4 vec=2"},
    /* columns in shared memory: of a block, of a cluster; beside a maximum; with parameters of
     * columns and of rows; blocks that have less than others */
    {"graph(%x: f32[700, 36]) {\n %y = softmax(%x, 0)\n return %y\n}\n",
     "x=32 r=32 warps=4 vec=4 keep=2"},
    {"graph(%x: f32[700, 36]) {\n %y = softmax(%x, 0)\n return %y\n}\n",
     "x=32 r=32 warps=4 vec=4 keep=2 cluster=8 online=1"},
    {"graph(%x: bf16[333, 64], %w: f32[64], %b: f32[333, 1]) {\n %f = float(%x)\n %a = add(%f, "
     "%b)\n"
     " %v = var(%a, 0, True)\n %m = mean(%a, 0, True)\n %d = sub(%a, %m)\n %e = div(%d, %v)\n"
     " %y = mul(%e, %w)\n return %y\n}\n",
     "x=64 r=32 warps=2 vec=8 keep=2 cluster=4"},
    {"graph(%x: bf16[333, 64], %w: f32[64], %b: f32[333, 1]) {\n %f = float(%x)\n %a = add(%f, "
     "%b)\n"
     " %v = var(%a, 0, True)\n %m = mean(%a, 0, True)\n %d = sub(%a, %m)\n %e = div(%d, %v)\n"
     " %y = mul(%e, %w)\n return %y\n}\n",
     "x=32 r=32 warps=4 vec=4 keep=2 cluster=2 online=1 stay_l2=1"},
    /* a row of 512 KB in a cluster's shared memory */
    {"graph(%x: f32[2, 131072]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
     "x=1 r=4096 warps=32 vec=4 keep=2 cluster=8 online=1"},
};

/* Reductions that read along another axis than they store along: of two short axes, of one that is
 * split, of two results; and with rows that keep what they read. */
static const char *const across[] = {
    "graph(%x: i8[5, 6, 72], %s: f32[72], %i: i64[6]) {\n %f = to(%x, dtype=f32)\n"
    " %m = mul(%f, %s)\n %p = permute(%m, [2, 0, 1])\n %c = contiguous(%p)\n %j = remainder(%i, "
    "8)\n"
    " %k = abs(%j)\n %z = zeros([72, 5, 8])\n %y = index_add(%z, 2, %k, %c)\n return %y\n}\n",
    "graph(%x: f32[3, 9, 40, 37]) {\n %s = sum(%x, 1)\n %p = permute(%s, [2, 0, 1])\n"
    " %y = mul(%p, 2)\n return %y\n}\n",
    "graph(%x: bf16[10, 9, 7, 33]) {\n %m = amax(%x, 1)\n %p = permute(%m, [2, 0, 1])\n"
    " %y = mul(%p, 2)\n %s = sum(%x, 1)\n return %y, %s\n}\n",
    "graph(%x: f32[8, 20, 64]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %v = var(%x, 1)\n"
    " %a = permute(%s, [1, 0])\n %b = permute(%v, [1, 0])\n %y = mul(%a, %b)\n return %y\n}\n",
};

/* Vectors that are normalized, or made of what they come to, by the products that multiply them. */
static const char *const multiplied[] = {
    "graph(%x: bf16[1, 96], %w: bf16[40, 96], %g: bf16[96], %b: bf16[40]) {\n"
    " %n = layer_norm(%x, [96], %g)\n %y = linear(%n, %w, %b)\n %z = gelu(%y)\n return %z\n}\n",
    "graph(%x: f32[1, 1, 50], %r: f32[1, 1, 50], %w: f32[23, 50], %u: f32[23]) {\n"
    " %s = add(%x, %r)\n %n = rms_norm(%s, [50])\n %y = linear(%n, %w)\n %z = add(%y, %u)\n"
    " return %s, %z\n}\n",
    "graph(%x: f32[1, 70], %w: f32[33, 70]) {\n %p = softmax(%x, 1)\n %y = linear(%p, %w)\n"
    " return %y\n}\n",
};

/* Concatenations behind reductions, stored part by part: of rows, along them, of three parts, with
 * what is stored once; and in pieces. */
static const char *const joined[] = {
    "graph(%x: f32[3, 40, 9]) {\n %s = sum(%x, 1)\n %c = relu(%s)\n %y = cat([%s, %c], 1)\n"
    " %m = mul(%s, 2)\n return %y, %m\n}\n",
    "graph(%x: bf16[30, 4, 8]) {\n %m = mul(%x, 0.5)\n %s = sum(%m, 1)\n %e = sin(%m)\n"
    " %c = cat([%m, %e], 2)\n return %s, %c\n}\n",
    "graph(%x: f32[5, 64]) {\n %p = softmax(%x, 1)\n %c = cat([%p, %x], 1)\n return %c\n}\n",
    "graph(%x: f32[40, 70]) {\n %s = sum(%x, 1)\n %e = exp(%s)\n %r = relu(%s)\n"
    " %c = cat([%s, %e, %r], 0)\n %y = mul(%c, 3)\n return %y\n}\n",
    "graph(%x: f32[8, 9, 64]) {\n %y = layer_norm(%x, [64])\n %v = view(%y, [8, 9, 16, 4])\n"
    " %p = permute(%v, [0, 2, 1, 3])\n %z = mul(%p, 2)\n return %z\n}\n",
    /* reductions that have nothing in common but their shape: of what is looked up, of columns, of
     * rows in phases */
    "graph(%i: i64[2, 9, 4], %v: bf16[30, 24], %w: bf16[30, 24]) {\n %a = remainder(%i, 30)\n"
    " %j = select(%a, 0, 0)\n %k = select(%a, 0, 1)\n %f = index(%v, [%j], [0])\n"
    " %g = index(%w, [%k], [0])\n %s = sum(%f, 1)\n %t = sum(%g, 1)\n return %s, %t\n}\n",
    "graph(%x: f32[40, 30], %y: bf16[40, 30], %z: f32[40, 30]) {\n %s = sum(%x, 0)\n"
    " %m = amax(%y, 0)\n %e = exp(%z)\n %t = prod(%e, 0)\n return %s, %m, %t\n}\n",
    "graph(%x: f32[5, 200], %y: bf16[5, 200]) {\n %p = softmax(%x, 1)\n"
    " %n = layer_norm(%y, [200])\n return %p, %n\n}\n",
    /* pieces that read the same, which a thread has one of each of: of the outermost axis, one in
     * the middle, the innermost; three of them, with what all read; and of odd sizes */
    "graph(%x: i8[5, 64], %w: bf16[64]) {\n %f = to(%x, bf16)\n %m = mul(%f, %w)\n %e = tanh(%m)\n"
    " %c = cat([%m, %e], 0)\n return %c\n}\n",
    "graph(%x: f32[3, 4, 40]) {\n %s = sqrt(%x)\n %c = cat([%x, %s], 1)\n %y = mul(%c, 0.5)\n"
    " return %y\n}\n",
    "graph(%x: f32[6, 32], %w: f32[96]) {\n %e = sin(%x)\n %r = relu(%x)\n"
    " %c = cat([%x, %e, %r], 1)\n %y = add(%c, %w)\n return %y\n}\n",
    "graph(%x: bf16[7, 9]) {\n %e = abs(%x)\n %c = cat([%e, %x], 1)\n return %c\n}\n",
    /* where the extremum is of what changes nothing but its type */
    "graph(%x: bf16[3, 1003]) {\n %f = float(%x)\n %i = argmax(%f, 1)\n return %i\n}\n",
};

/* Every pointwise operator of the table, a dozen to a graph, on two operands of type t. */
static void operator_graphs(struct arena *a, enum dtype t, case_vec *out) {
    int in_graph = 0;
    struct buf b = buf_new(a), results = buf_new(a);
    for (int o = 0; o <= OP_COUNT; o++) {
        const struct op_info *op = o < OP_COUNT ? op_info((enum op)o) : NULL;
        int tensors = 0;
        if (op && (op->class != POINTWISE || op->id == OP_CAST || op->id == OP_CONVERT)) continue;
        if (op && (op->id == OP_SHIFT_LEFT || op->id == OP_SHIFT_RIGHT)) continue;
        for (int i = 0; op && i < op->n_params; i++)
            tensors += strchr("T|", op->params[i].kind) && !op->params[i].has_default;
        bool integer = op && strstr("bitwise_and bitwise_or bitwise_xor bitwise_not", op->name);
        bool fits =
            op && tensors && (dtype_is_int(t) ? op->dtype != RULE_FLOAT || integer : !integer);
        if (op && dtype_is_int(t) && strstr("floor ceil round trunc pow", op->name)) continue;
        if (fits) {
            if (!in_graph) {
                b = buf_new(a), results = buf_new(a);
                buf_printf(&b, "graph(%%x: %s[2, 40], %%y: %s[2, 40], %%c: bool[2, 40]) {\n",
                           dtype_name(t), dtype_name(t));
            }
            static const char *const operands[] = {"%x", "%y", "%x"};
            buf_printf(&b, " %%r%d = %s(", in_graph, op->name);
            bool where = op->id == OP_WHERE;
            for (int i = 0; i < tensors; i++)
                buf_printf(&b, "%s%s", i ? ", " : "",
                           where && i == 0 ? "%c" : operands[where ? i - 1 : i]);
            buf_puts(&b, ")\n");
            buf_printf(&results, "%s%%r%d", in_graph ? ", " : "", in_graph);
            in_graph++;
        }
        if (in_graph == 12 || (!op && in_graph)) {
            buf_printf(&b, " return %s\n}\n", results.p);
            vec_push(a, out, ((struct case_graph){.text = b.p, .every = CASES_DEFAULT}));
            in_graph = 0;
        }
    }
}

/* So many values stand on a sum of columns: more than have a loop each. */
static void long_tail(struct arena *a, case_vec *out) {
    enum { VALUES = 80 };
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%x: f32[5, 200], %y: f32[200]) {\n %v0 = sum(%x, 0)\n");
    for (int i = 1; i <= VALUES; i++)
        buf_printf(&b, " %%v%d = %s(%%v%d, %%%s)\n", i, i % 3 ? "add" : "maximum", i - 1,
                   i % 2 ? "y" : "v0");
    buf_printf(&b, " return %%v%d\n}\n", VALUES);
    vec_push(a, out, ((struct case_graph){.text = b.p, .every = 4}));
}

/* Two batch norms and a ReLU, whose columns the blocks of a cluster share: kept, and read twice,
 * with squares about a mean that is known later. */
static const char batch_norms[] =
    "graph(%x: bf16[1000, 100], %y: bf16[1000, 100], %w: bf16[100], %r: bf16[100]) {\n"
    " %f = float(%x)\n %g = float(%y)\n %a = mean(%f, 0, True)\n %b = mean(%g, 0, True)\n"
    " %c = sub(%f, %a)\n %d = sub(%g, %b)\n %i = var(%f, 0, 0, True)\n %j = var(%g, 0, 0, True)\n"
    " %k = rsqrt(%i)\n %l = rsqrt(%j)\n %m = mul(%c, %k)\n %n = mul(%d, %l)\n %o = mul(%m, %w)\n"
    " %p = add(%o, %n)\n %q = relu(%p)\n %s = to(%q, bf16)\n %t = view(%i, [100])\n"
    " %u = mul(%t, 0.1)\n %v = add(%r, %u)\n %z = to(%v, bf16)\n return %s, %z, %a, %l\n}\n";
static const char *const batch_norm_configs[] = {
    "x=8 r=128 warps=8 keep=1 cluster=8", "x=64 r=64 warps=16 vec=4 cluster=8 skip_l1=1 online=1"};

/* Columns of several rows a thread, of which the last are none. */
static const char rows_of_columns[] =
    "graph(%x: bf16[2201, 64], %w: bf16[64]) {\n %y = mul(%x, %w)\n %c = sum(%y, 0)\n"
    " return %y, %c\n}\n";

/* Tensors that are read both ways, along an axis that L2 does not hold: rows, some behind others,
 * columns, in blocks that are parts of them and not. */
static const char *const mirrored[] = {
    "graph(%x: f32[33, 40]) {\n %f = flip(%x, [0])\n %y = add(%x, %f)\n return %y\n}\n",
    "graph(%x: f32[3, 10, 64]) {\n %f = flip(%x, [1])\n %s = sin(%f)\n %y = mul(%x, %s)\n"
    " return %y\n}\n",
    "graph(%x: bf16[2, 5, 6, 24]) {\n %f = flip(%x, [1])\n %y = add(%x, %f)\n return %y\n}\n",
    "graph(%x: f32[3000]) {\n %f = flip(%x, [0])\n %y = sub(%x, %f)\n return %y\n}\n",
    "graph(%x: f32[2, 1501]) {\n %f = flip(%x, [1])\n %y = sub(%x, %f)\n return %y\n}\n",
    /* rows that are reduced, of both ends and of both halves */
    "graph(%x: f32[33, 40]) {\n %f = flip(%x, [0])\n %y = add(%x, %f)\n %s = softmax(%y, 1)\n"
    " return %s\n}\n",
    "graph(%x: f32[6, 20, 24]) {\n %e = sin(%x)\n %c = cat([%x, %e], 0)\n %s = sum(%c, 1)\n"
    " return %s\n}\n",
};

/* Small kernels that wait for each other: reductions one way and the other, of several blocks a
 * part; scans; columns, and a total; what one part stores others read as it is stored, in 16 bits;
 * and some that do not wait for each other. */
static const char *const sequences[] = {
    "graph(%x: f32[32, 32]) {\n %m = mean(%x, [0], True)\n %c = sub(%x, %m)\n"
    " %s = softmax(%c, 1)\n return %s\n}\n",
    "graph(%x: f32[37, 65]) {\n %q = mul(%x, %x)\n %m = mean(%q, [0], True)\n"
    " %y = div(%x, %m)\n %s = sum(%y, 1, True)\n %z = sub(%y, %s)\n %t = amax(%z, 0)\n"
    " return %z, %t\n}\n",
    "graph(%x: bf16[3, 5, 16]) {\n %a = cumsum(%x, 0)\n %b = cumsum(%a, 2)\n %c = mul(%b, 2)\n"
    " %d = cumsum(%c, 1)\n return %d\n}\n",
    "graph(%x: f32[40, 8]) {\n %q = mul(%x, %x)\n %m = mean(%q)\n %y = mul(%x, %m)\n"
    " %s = softmax(%y, 0)\n %t = sum(%s, 1)\n return %s, %t\n}\n",
    "graph(%x: f16[5, 33, 7], %w: f16[7]) {\n %a = mul(%x, %w)\n %s = softmax(%a, 1)\n"
    " %p = permute(%s, [0, 2, 1])\n %m = amax(%p, [0, 1], True)\n %y = sub(%p, %m)\n"
    " return %y\n}\n",
    /* beside each other: shapes that share no index */
    "graph(%x: bf16[40, 4, 8], %y: f32[9, 33]) {\n %m = amax(%x, [0, 1])\n %e = exp(%y)\n"
    " return %m, %e\n}\n",
    "graph(%x: f32[300], %y: f32[70, 65]) {\n %c = cumsum(%x, 0)\n %s = sum(%y, 0)\n"
    " return %c, %s\n}\n",
    "graph(%x: i64[11, 13]) {\n %s = sum(%x, 0, True)\n %y = add(%x, %s)\n %m = amax(%y, 1)\n"
    " %i = argmax(%y, 1)\n return %m, %i, %y\n}\n",
};

/* Blocks that meet: of one row and of several; once and three times; what they keep is all, the
 * end, or nothing; some have fewer tiles than others, or none; of heads and tails. */
static const struct {
    const char *text, *config;
} meeting[] = {
    {"graph(%x: f32[5000]) {\n %q = mul(%x, %x)\n %m = mean(%q)\n %r = rsqrt(%m)\n %y = mul(%x, "
     "%r)\n return %y\n}\n",
     "x=1 r=128 warps=1 vec=4 split=7 meet=1"},
    {"graph(%x: f32[5000]) {\n %q = mul(%x, %x)\n %m = mean(%q)\n %r = rsqrt(%m)\n %y = mul(%x, "
     "%r)\n return %y\n}\n",
     "x=1 r=128 warps=1 vec=4 split=3 meet=1 keep=2"},
    {"graph(%x: f32[5000]) {\n %q = mul(%x, %x)\n %m = mean(%q)\n %r = rsqrt(%m)\n %y = mul(%x, "
     "%r)\n return %y\n}\n",
     "x=1 r=128 warps=1 vec=4 split=2 meet=1 keep=2 fit=32"},
    {"graph(%x: bf16[3, 9002]) {\n %f = float(%x)\n %a = softmax(%f, 1)\n return %a\n}\n",
     "x=1 r=256 warps=1 vec=8 split=2 meet=1 keep=2 fit=32"},
    {"graph(%x: f32[3, 9001]) {\n %a = layer_norm(%x, [9001])\n %i = argmax(%x, 1)\n %l = amin(%a, "
     "1, True)\n %y = sub(%a, %l)\n return %i, %y\n}\n",
     "x=1 r=128 warps=2 vec=2 split=8 meet=1 keep=2 fit=16"},
    {"graph(%x: f64[3, 1300]) {\n %s = softmax(%x, 1)\n %m = amax(%s, 1)\n return %s, %m\n}\n",
     "x=1 r=64 warps=2 split=6 meet=1"},
    {"graph(%x: f32[2, 3000], %w: f32[3000]) {\n %s = softmax(%x, 1)\n %y = mul(%s, %w)\n return "
     "%y\n}\n",
     "x=1 r=256 warps=1 vec=4 split=5 meet=1 keep=2 stay_l2=1 fit=2"},
};

/* One launch, too: what lands by an index, before a scan, behind a softmax; beside what looks up by
 * it. */
static const char *const landing[] = {
    "graph(%x: f32[2, 24, 3], %i: i64[24]) {\n %r = remainder(%i, 7)\n"
    " %z = zeros(size=[2, 7, 3], dtype=f32)\n"
    " %a = index_add(%z, dim=1, index=%r, source=%x, alpha=1)\n %s = cumsum(%a, 1)\n"
    " return %s\n}\n",
    "graph(%x: bf16[21, 6], %i: i64[21]) {\n %r = remainder(%i, 9)\n %p = softmax(%x, 0)\n"
    " %z = zeros(size=[9, 6], dtype=bf16)\n"
    " %a = index_add(%z, dim=0, index=%r, source=%p, alpha=1)\n return %a\n}\n",
    "graph(%x: bf16[64], %t: bf16[64], %i: i64[64]) {\n %r = remainder(%i, 64)\n"
    " %z = zeros(size=[64], dtype=bf16)\n"
    " %a = index_add(%z, dim=0, index=%r, source=%x, alpha=1)\n"
    " %b = index_select(%t, dim=0, index=%r)\n return %a, %b\n}\n",
};

/* Rows, and columns of each batch of them: of more batches than multiprocessors, which store their
 * columns themselves, and of few; batches that are the rows' inner axis; narrow rows. And what rows
 * and columns are made of is stored, of neither's results. */
static const char *const batches[] = {
    "graph(%x: f32[140, 21, 5], %b: f32[140, 1, 1]) {\n %y = mul(%x, %b)\n %s = sum(%y, 2)\n"
    " %m = amax(%y, 1)\n %e = exp(%m)\n %r = relu(%y)\n return %s, %e, %r\n}\n",
    "graph(%x: bf16[3, 200, 40]) {\n %e = exp(%x)\n %s = sum(%e, 2)\n %m = mean(%e, 1)\n"
    " return %s, %m\n}\n",
    "graph(%x: f32[6, 150, 64]) {\n %s = sum(%x, 2, True)\n %m = mean(%x, 0)\n"
    " %i = argmax(%x, 0)\n %d = sub(%x, %s)\n return %m, %i, %d\n}\n",
    /* scanned rows: of one step of a thread and several, of a warp and several; what is scanned is
     * summed up, too */
    "graph(%x: f32[5, 140, 128]) {\n %e = exp(%x)\n %m = mean(%e, 0)\n %c = cumsum(%e, 2)\n"
    " return %m, %c\n}\n",
    "graph(%x: bf16[3, 400, 100]) {\n %c = cumsum(%x, 2)\n %m = amax(%c, 1)\n %s = sum(%x, 2)\n"
    " %d = mul(%m, 2)\n return %c, %d, %s\n}\n",
    "graph(%x: f32[140, 4, 300]) {\n %c = cumsum(%x, 2)\n %m = amin(%c, 1)\n return %c, %m\n}\n",
    /* few long rows, by slabs */
    "graph(%x: bf16[9, 38400]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n %m = amax(%e, 0)\n"
    " %t = sqrt(%s)\n %r = relu(%x)\n return %t, %m, %r\n}\n",
    "graph(%x: f32[300, 48]) {\n %e = exp(%x)\n %c = sum(%e, 0)\n %m = amax(%e, 1, True)\n"
    " %d = sub(%e, %m)\n %r = sigmoid(%d)\n return %e, %c, %r\n}\n",
};

void cases_shapes(struct arena *a, case_vec *out) {
    long_tail(a, out);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        vec_push(a, out, ((struct case_graph){.text = shapes[i], .every = 1, .eager = i % 4 == 0}));
    for (size_t i = 0; i < sizeof extrema / sizeof *extrema; i++)
        vec_push(a, out, ((struct case_graph){.text = extrema[i], .every = 16, .eager = true}));
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        vec_push(a, out, ((struct case_graph){.text = wide[i], .every = 1, .tiny = true}));
    for (size_t i = 0; i < sizeof mirrored / sizeof *mirrored; i++)
        vec_push(a, out, ((struct case_graph){.text = mirrored[i], .every = 2, .tiny = true}));
    for (size_t i = 0; i < sizeof split / sizeof *split; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = split[i].text, .every = CASES_DEFAULT, .config = split[i].config}));
    operator_graphs(a, DT_F32, out);
    operator_graphs(a, DT_F64, out);
    operator_graphs(a, DT_I64, out);
    operator_graphs(a, DT_I8, out);
    operator_graphs(a, DT_U8, out);
    for (size_t i = 0; i < sizeof across / sizeof *across; i++)
        vec_push(a, out, ((struct case_graph){.text = across[i], .every = 1}));
    for (size_t i = 0; i < sizeof multiplied / sizeof *multiplied; i++)
        vec_push(a, out, ((struct case_graph){.text = multiplied[i], .every = 4}));
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
        vec_push(a, out, ((struct case_graph){.text = joined[i], .every = 1}));
    for (size_t i = 0; i < sizeof batch_norm_configs / sizeof *batch_norm_configs; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = batch_norms,
                                      .every = CASES_DEFAULT,
                                      .config = batch_norm_configs[i]}));
    vec_push(a, out,
             ((struct case_graph){.text = rows_of_columns,
                                  .every = CASES_DEFAULT,
                                  .config = "x=16 r=64 warps=1 vec=8 rows=4 keep=1 blocks=1"}));
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        vec_push(a, out, ((struct case_graph){.text = sequences[i], .every = 1, .sequence = true}));
    for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++)
        vec_push(a, out,
                 ((struct case_graph){.text = meeting[i].text,
                                      .every = CASES_DEFAULT,
                                      .config = meeting[i].config}));
    for (size_t i = 0; i < sizeof landing / sizeof *landing; i++)
        vec_push(a, out, ((struct case_graph){.text = landing[i], .every = 1, .sequence = true}));
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        vec_push(a, out, ((struct case_graph){.text = batches[i], .every = 1}));
}
