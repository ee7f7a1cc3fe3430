/* cases_move.c: kernels that move elements: loads behind a guard, loads whose index was looked up,
 * and what fuses with them.
 *
 * Ends of pieces and pads are and are not multiples of a vector; indices are made valid by a
 * remainder, as inputs are any integers. */
#include "tests/fuzz/cases.h"

static const char *const graphs[] = {
    /* pieces put together: ends that are and are not multiples of a vector, transposed, of three
     * types, along the outer dimension */
    "graph(%x: f32[6, 8], %y: f32[6, 24]) {\n %c = cat([%x, %y], 1)\n %r = relu(%c)\n return "
    "%r\n}\n",
    "graph(%x: f32[5, 3], %y: f32[5, 1], %z: f32[5, 7]) {\n %e = exp(%y)\n %c = cat([%x, %e, %z], "
    "-1)\n %r = mul(%c, 2)\n return %r\n}\n",
    "graph(%x: bf16[3, 16], %y: f32[4, 16], %z: i64[2, 16]) {\n %c = cat([%x, %y, %z])\n %s = "
    "sum(%c, 1)\n return %c, %s\n}\n",
    "graph(%x: f32[8, 6], %y: f32[10, 6]) {\n %t = permute(%x, [1, 0])\n %u = permute(%y, [1, "
    "0])\n "
    "%c = cat([%t, %u], 1)\n %s = softmax(%c, 1)\n return %s\n}\n",
    "graph(%x: f32[4, 6], %y: f32[4, 6]) {\n %s = stack([%x, %y], 1)\n %m = mean(%s, 1)\n return "
    "%s, %m\n}\n",
    /* padded, turned */
    "graph(%x: f32[6, 13], %y: f32[6, 16]) {\n %p = constant_pad_nd(%x, [1, 2], 0.5)\n %r = "
    "add(%p, "
    "%y)\n return %r\n}\n",
    "graph(%x: f16[2, 3, 16]) {\n %e = relu(%x)\n %p = pad(%e, [8, 8, 1, 0])\n %s = amax(%p, "
    "2)\n return %s, %p\n}\n",
    "graph(%x: f32[3, 6, 7]) {\n %p = pad(%x, [2, 3, 1, 2], 'reflect')\n %q = pad(%x, [2, 3], "
    "'replicate')\n %c = pad(%x, [2, 3, 1, 2], 'circular')\n return %p, %q, %c\n}\n",
    "graph(%x: f32[5, 12]) {\n %f = flip(%x, [0, 1])\n %r = roll(%f, [3, -1], [1, 0])\n %t = "
    "tile(%r, [2, 3])\n return %r, %t\n}\n",
    /* looked up: rows, elements, both at once, what is only known from the position */
    "graph(%i: i64[3, 5], %w: bf16[11, 64], %g: bf16[64]) {\n %j = remainder(%i, 11)\n %e = "
    "embedding(%j, %w)\n %n = layer_norm(%e, [64], %g)\n return %n\n}\n",
    "graph(%i: i64[7, 5], %w: f32[13, 95]) {\n %j = remainder(%i, 13)\n %e = embedding(%j, %w)\n "
    "%n = softmax(%e, -1)\n return %n\n}\n",
    /* what is scanned is one number, the places it gives are not */
    "graph(%i: i64[6, 1], %x: f32[6, 64]) {\n %e = expand(%i, [6, 64])\n %o = eq(%e, %e)\n"
    " %n = cumsum(%o, 1)\n %j = sub(%n, 1)\n %g = gather(%x, 1, %j)\n %h = erf(%g)\n return "
    "%h\n}\n",
    "graph(%x: f32[6, 1]) {\n %e = expand(%x, [6, 64])\n %m = cummin(%e, 1)\n %r = erf(%m)\n"
    " return %r\n}\n",
    "graph(%x: f32[6, 9], %i: i64[4, 9]) {\n %j = remainder(%i, 6)\n %g = gather(%x, 0, %j)\n %h = "
    "gather(%x, 1, %j)\n %r = add(%g, 1)\n return %r, %h\n}\n",
    "graph(%x: f32[7, 8, 6], %i: i64[5, 1], %j: i32[3]) {\n %a = index(%x, [%i, %j], [0, 2])\n %b "
    "= "
    "index(%x, [%i, %j], [1, 2])\n %e = exp(%a)\n return %e, %b\n}\n",
    "graph(%x: f32[4, 20], %i: i64[4]) {\n %s = softmax(%x, 1)\n %u = unsqueeze(%i, 1)\n %j = "
    "remainder(%u, 20)\n %g = gather(%s, 1, %j)\n %l = log(%g)\n %m = mean(%l)\n return %m\n}\n",
    "graph(%x: f32[5, 7]) {\n %a = amax(%x, 1)\n %j = to(%a, i64)\n %k = remainder(%j, 5)\n %r = "
    "index(%x, [%k], [0])\n %s = sum(%r, 1)\n return %r, %s\n}\n",
    "graph(%x: f32[6, 9]) {\n %d = diagonal(%x, 1)\n %g = diag(%d, -1)\n %i = "
    "repeat_interleave(%x, 3, 1)\n %r = repeat(%x, [2, 1, 2])\n return %d, %g, %i, %r\n}\n",
    "graph(%x: f32[10, 4], %i: i64[6], %k: i64[3]) {\n %j = remainder(%i, 10)\n %m = remainder(%k, "
    "6)\n %a = index_select(%x, 0, %j)\n %b = relu(%a)\n %c = index_select(%b, 0, %m)\n %p = "
    "constant_pad_nd(%c, [1, 1, 2, 0], 7)\n return %p\n}\n",
    /* scattered */
    "graph(%x: f32[6, 5], %i: i64[3, 4], %s: f32[4, 4]) {\n %j = remainder(%i, 6)\n %a = "
    "scatter_add(%x, 0, %j, %s)\n %b = scatter(%x, 0, %j, 2)\n return %a, %b\n}\n",
    "graph(%x: bf16[5, 6], %i: i64[9], %s: bf16[5, 9]) {\n %j = remainder(%i, 6)\n %a = "
    "index_add(%x, "
    "1, %j, %s, 0.5)\n return %a\n}\n",
    "graph(%i: i64[3, 4]) {\n %j = remainder(%i, 5)\n %h = one_hot(%j, 5)\n return %h\n}\n",
    /* windows, and what reduces them: their taps in one kernel with it */
    "graph(%x: f32[3, 5, 16, 24]) {\n %p = max_pool(%x, [2])\n %h = tanh(%p)\n %m = mean(%h, [2, "
    "3])\n return %m\n}\n",
    "graph(%x: bf16[6, 96]) {\n %u = unsqueeze(%x, 1)\n %p = avg_pool(%u, [4], [2], [1], False, "
    "True, None, 1)\n %g = gelu(%p)\n %m = amax(%g, [1, 2])\n return %m\n}\n",
    "graph(%x: f32[40, 7, 9]) {\n %p = prod(%x, 1)\n %m = amin(%p, 0)\n return %m\n}\n",
    /* windows */
    "graph(%x: f32[2, 3, 9, 8]) {\n %m = max_pool(%x, [3], [2], [1])\n %a = avg_pool(%x, [2])\n %r "
    "= relu(%m)\n return %r, %a\n}\n",
    "graph(%x: bf16[2, 3, 12]) {\n %a = avg_pool(%x, [3], [2], [1], True, False, None, 1)\n %m = "
    "max_pool(%x, [2], None, [0], [3], True, 1)\n return %a, %m\n}\n",
    "graph(%x: f32[2, 3, 7, 8]) {\n %a = adaptive_avg_pool(%x, [3, 4])\n %m = "
    "adaptive_max_pool(%x, [1, 1])\n %u = upsample_nearest(%x, [14, 5])\n return %a, %m, %u\n}\n",
    "graph(%x: f32[2, 2, 4, 5, 6]) {\n %m = max_pool(%x, [2], None, [1], [1], False, 3)\n return "
    "%m\n}\n",
    "graph(%x: f32[2, 2, 5, 6]) {\n %i = im2col(%x, [2, 3], [1], [1], [1])\n %u = unfold(%x, 2, 3, "
    "2)\n return %i, %u\n}\n",
    /* convolutions: tiles of a product, with what comes behind it; a few filters; groups; strides
     * and holes; transposed; and over long rows one filter a channel */
    "graph(%x: f32[2, 5, 9, 11], %w: f32[20, 5, 3, 3], %b: f32[20]) {\n %y = convolution(%x, %w, "
    "%b, 1, 1)\n "
    "%r = relu(%y)\n return %r\n}\n",
    "graph(%x: bf16[3, 4, 13], %w: bf16[6, 2, 4]) {\n %y = convolution(%x, %w, None, [2], [3], "
    "[2], False, 0, 2, "
    "1)\n return %y\n}\n",
    "graph(%x: f32[2, 6, 5, 4], %w: f32[6, 3, 3, 2], %b: f32[6]) {\n %y = convolution(%x, %w, %b, "
    "[3, 2], [1, "
    "0], [1, 2], True, [2, 1], 2)\n return %y\n}\n",
    "graph(%x: f32[2, 3, 70], %w: f32[3, 1, 4], %b: f32[3]) {\n %y = convolution(%x, %w, %b, 1, 3, "
    "1, False, 0, "
    "3, 1)\n %c = slice(%y, 2, 0, 70)\n %s = silu(%c)\n return %s\n}\n",
    "graph(%x: bf16[2, 4, 16, 32], %w: bf16[4, 1, 3, 3]) {\n %y = convolution(%x, %w, None, 1, 1, "
    "1, False, 0, "
    "4)\n return %y\n}\n",
    "graph(%x: f32[1, 2, 3, 4, 5], %w: f32[3, 2, 2, 2, 2]) {\n %y = convolution(%x, %w, None, 1, "
    "0, 1, False, 0, "
    "1, 3)\n return %y\n}\n",
    /* windows whose rows are whole vectors, so that taps share some: edges on both sides, 16 and 32
     * bits, the window's elements and sums of others; shifts, every second element, paddings */
    "graph(%x: bf16[2, 2, 12, 32]) {\n %r = relu(%x)\n %m = max_pool(%r, [3], [2], [1])\n return "
    "%m\n}\n",
    "graph(%x: f32[2, 5, 16]) {\n %a = avg_pool(%x, [3], [1], [1], False, False, None, 1)\n %m = "
    "max_pool(%x, [5], [1], [2], [1], False, 1)\n %s = sub(%a, %m)\n return %s\n}\n",
    "graph(%x: f16[3, 8, 48]) {\n %a = avg_pool(%x, [2, 3], [2, 3], [0, 0])\n %e = exp(%a)\n "
    "return "
    "%e\n}\n",
    "graph(%x: bf16[5, 64]) {\n %a = slice(%x, 1, 0, 64, 2)\n %b = slice(%x, 1, 1, 64, 2)\n %c = "
    "slice(%x, 1, 3, 35)\n %d = mul(%a, %b)\n %e = add(%d, %c)\n return %e\n}\n",
    "graph(%x: f32[4, 24], %y: f32[8, 36]) {\n %p = pad(%x, [3, 5])\n %q = slice(%y, 1, 1, 33)\n "
    "%r "
    "= "
    "slice(%q, 0, 2, 6)\n %s = sub(%p, %r)\n return %s\n}\n",
    /* stacked along a short axis: a store for each piece, of what they share and do not */
    "graph(%x: bf16[3, 5, 2, 16], %c: bf16[5, 16], %s: bf16[5, 16]) {\n %a = select(%x, 2, 0)\n %b "
    "= "
    "select(%x, 2, 1)\n %ac = mul(%a, %c)\n %bs = mul(%b, %s)\n %d = sub(%ac, %bs)\n %bc = "
    "mul(%b, %c)\n %as = mul(%a, %s)\n %e = add(%bc, %as)\n %r = stack([%d, %e], 2)\n return "
    "%r\n}\n",
    "graph(%x: f32[4, 9], %y: f32[4, 9], %z: f32[9]) {\n %w = add(%x, %z)\n %s = stack([%w, %y, "
    "%x], "
    "0)\n %t = exp(%s)\n return %s, %t\n}\n",
    /* along the innermost axis: stores that lie between each other */
    "graph(%x: bf16[3, 5, 32], %c: bf16[5, 16], %s: bf16[5, 16]) {\n %a = slice(%x, 2, 0, 32, 2)\n "
    "%b = slice(%x, 2, 1, 32, 2)\n %ac = mul(%a, %c)\n %bs = mul(%b, %s)\n %d = sub(%ac, %bs)\n "
    "%bc = mul(%b, %c)\n %as = mul(%a, %s)\n %e = add(%bc, %as)\n %r = stack([%d, %e], 3)\n "
    "return %r\n}\n",
    "graph(%x: f32[4, 9], %y: f32[4, 9]) {\n %s = stack([%y, %x], 2)\n %t = exp(%s)\n return %s, "
    "%t\n}\n",
    "graph(%x: f16[7, 24], %y: f16[24]) {\n %z = add(%x, %y)\n %s = stack([%z, %x, %z, %x], 2)\n "
    "return %s\n}\n",
    "graph(%x: f32[3, 16], %y: bf16[3, 16]) {\n %z = exp(%x)\n %s = stack([%x, %z], 2)\n %t = "
    "stack([%y, %y], 2)\n return %s, %t\n}\n",
    /* neighbours that share vectors, though they are not one step apart: repeated, shuffled,
     * backwards */
    "graph(%x: bf16[3, 4, 24], %y: f32[3, 4, 48]) {\n %u = unsqueeze(%x, 3)\n %e = expand(%u, [3, "
    "4, 24, 2])\n %v = view(%e, [3, 4, 48])\n %a = add(%v, %y)\n return %a\n}\n",
    "graph(%x: f16[2, 4, 6, 16]) {\n %v = view(%x, [2, 1, 2, 2, 6, 16])\n %p = permute(%v, [0, 1, "
    "4, 2, 5, 3])\n %s = view(%p, [2, 1, 12, 32])\n %r = relu(%s)\n return %r\n}\n",
    "graph(%x: bf16[5, 32], %y: bf16[5, 24]) {\n %a = flip(%x, [1])\n %b = flip(%y, [0, 1])\n %p = "
    "pad(%b, [8, 0])\n %s = sub(%a, %p)\n return %s\n}\n",
    "graph(%x: f32[6, 40]) {\n %a = flip(%x, [1])\n %b = slice(%a, 1, 3, 35)\n %c = roll(%b, [5], "
    "[1])\n return %b, %c\n}\n",
    "graph(%x: bf16[2, 48], %y: i64[7]) {\n %u = unsqueeze(%x, 2)\n %e = expand(%u, [2, 48, 3])\n "
    "%v = view(%e, [2, 144])\n %w = view(%v, [4, 72])\n %t = exp(%w)\n return %t\n}\n",
    /* sampled at places that are known to be inside, or may be negative; the same numbers stored,
     * summed, and times what needs 64 bits */
    "graph(%x: f32[3, 5, 24]) {\n %a = arange(0, 48)\n %f = to(%a, f32)\n %h = add(%f, 0.5)\n %m "
    "= mul(%h, 0.5)\n %s = sub(%m, 0.5)\n %c = clamp(%s, 0, None)\n %l = floor(%c)\n %i = to(%l, "
    "i64)\n %b = add(%i, 1)\n %j = clamp(%b, None, 23)\n %u = sub(%c, %i)\n %p = index(%x, [%i], "
    "[2])\n %q = index(%x, [%j], [2])\n %d = sub(%q, %p)\n %e = mul(%d, %u)\n %r = add(%p, %e)\n "
    "return %r\n}\n",
    "graph(%x: f32[6, 20]) {\n %a = arange(-8, 8)\n %t = mul(%a, 2)\n %v = index(%x, [%t], [1])\n "
    "%w = arange(0, 20, 3)\n %y = index(%x, [%w], [1])\n %z = floor_divide(%w, 7)\n %o = index(%y, "
    "[%z], [1])\n return %v, %o\n}\n",
    "graph(%x: f32[5, 16], %k: i8[5, 1]) {\n %a = arange(0, 16)\n %f = to(%a, f16)\n %h = mul(%f, "
    "0.6)\n %i = to(%h, i64)\n %m = mul(%i, 400000000)\n %s = sum(%m)\n %g = index(%x, [%i], "
    "[1])\n %w = to(%k, i64)\n %n = add(%w, %i)\n %c = clamp(%n, -3, 15)\n %q = remainder(%n, 9)\n "
    "%d = floor_divide(%n, -4)\n %y = gather(%x, 1, %q)\n return %i, %s, %g, %c, %d, %y\n}\n",
    "graph(%x: f32[4, 32], %k: i64[4, 6]) {\n %c = clamp(%k, 0, 31)\n %g = gather(%x, 1, %c)\n %m "
    "= mul(%k, 3000000000)\n %n = minimum(%m, 5)\n %r = relu(%c)\n %s = sub(%r, %n)\n return %g, "
    "%n, %s\n}\n",
    /* a pool over channels: rows lie as they are stored. What a pad reads nowhere is 0 already, of
     * windows whose pieces end where rows do and of others */
    "graph(%x: bf16[2, 12, 5, 16]) {\n %s = mul(%x, %x)\n %p = permute(%s, [0, 2, 3, 1])\n %q = "
    "constant_pad_nd(%p, [2, 1], 0)\n %a = avg_pool(%q, [1, 4], [1, 1])\n %r = permute(%a, [0, 3, "
    "1, "
    "2])\n %e = add(%r, 1)\n %d = div(%x, %e)\n return %d\n}\n",
    "graph(%x: f32[3, 4, 9, 16], %y: f32[3, 4, 9, 14]) {\n %p = constant_pad_nd(%x, [3, 3, 1, 1], "
    "0)\n %a = avg_pool(%p, [3, 7], [1, 1])\n %q = constant_pad_nd(%y, [1, 1], 0)\n %e = mul(%q, "
    "%q)\n %b = avg_pool(%e, [3], [1])\n return %a, %b\n}\n",
    /* rows whose last vector of shared loads is cut off */
    "graph(%x: f32[2, 3, 8, 16]) {\n %m = max_pool(%x, [4], [1], [1])\n %r = relu(%m)\n return "
    "%r\n}\n",
    "graph(%x: bf16[3, 5, 32], %b: bf16[5, 1]) {\n %a = avg_pool(%x, [3], [1], [0], False, True, "
    "None, 1)\n %s = add(%a, %b)\n return %s\n}\n",
    "graph(%x: f32[2, 4, 9, 24]) {\n %a = avg_pool(%x, [3], [2])\n %m = max_pool(%x, [2, 5], [1, "
    "1])\n return %a, %m\n}\n",
    "graph(%x: f16[4, 48], %y: f16[4, 93]) {\n %e = repeat_interleave(%x, 2, 1)\n %s = slice(%e, "
    "1, 0, 93)\n %a = add(%s, %y)\n return %a\n}\n",
    "graph(%x: f32[3, 4, 6, 16], %w: f32[4, 1, 3, 3], %b: f32[4]) {\n %c = convolution(%x, %w, %b, "
    "[1, 1], [1, 0], [1, 1], False, [0, 0], 4)\n %r = relu(%c)\n return %r\n}\n",
    /* dilated windows, which overlap others than their neighbours */
    "graph(%x: f32[3, 4, 32]) {\n %m = max_pool(%x, [8], [1], [4], [3], False, 1)\n %r = neg(%m)\n "
    "return %r\n}\n",
    "graph(%x: bf16[2, 3, 20, 24]) {\n %m = max_pool(%x, [3], [2], [1], [3])\n return %m\n}\n",
    /* stored from the end */
    "graph(%x: f32[5, 70]) {\n %f = flip(%x, [1])\n %c = cumsum(%f, 1)\n %r = flip(%c, [1])\n %d = "
    "cumsum(%x, 0)\n %e = flip(%d, [0])\n return %r, %e\n}\n",
    "graph(%x: bf16[6, 96]) {\n %s = softmax(%x, 1)\n %r = flip(%s, [0, 1])\n %m = amax(%x, 0)\n "
    "%f = flip(%m, [0])\n return %r, %f\n}\n",
    /* turned in shared memory, a word of several elements at a time */
    "graph(%x: bf16[64, 96], %y: bf16[96, 64]) {\n %p = permute(%y, [1, 0])\n %a = add(%x, %p)\n "
    "return %a\n}\n",
    "graph(%x: f16[2, 24, 40]) {\n %p = permute(%x, [0, 2, 1])\n %c = contiguous(%p)\n return "
    "%c\n}\n",
    "graph(%x: i8[40, 64], %y: bool[64, 40]) {\n %p = permute(%x, [1, 0])\n %w = where(%y, %p, "
    "3)\n "
    "%q = permute(%y, [1, 0])\n %n = logical_not(%q)\n return %w, %n\n}\n",
    "graph(%x: bf16[3, 33, 34]) {\n %p = permute(%x, [0, 2, 1])\n %e = exp(%p)\n return %e\n}\n",
    /* columns compared with a number of each row: it may lie before them, or behind */
    "graph(%x: f32[7, 72], %i: i64[7, 1], %s: f32[7, 1]) {\n %n = arange(0, 72)\n %j = mul(%i, "
    "9)\n "
    "%e = eq(%n, %j)\n %l = lt(%j, %n)\n %g = ge(%n, %i)\n %a = where(%e, %s, %x)\n %b = where(%l, "
    "%a, 2.5)\n %t = exp(%b)\n %c = where(%g, %t, %x)\n return %c\n}\n",
    "graph(%x: f32[4, 40], %i: i64[4, 1]) {\n %n = arange(0, 40)\n %a = ne(%i, %n)\n %b = le(%n, "
    "%i)\n %c = gt(%i, %n)\n %d = logical_and(%a, %b)\n %f = where(%d, %x, 1.5)\n %h = where(%c, "
    "%f, "
    "%x)\n %m = amax(%h, [1])\n return %m, %h\n}\n",
    "graph(%x: f32[5, 64], %k: u8[5, 1], %j: i32[5, 1]) {\n %n = arange(0, 64)\n %w = to(%k, "
    "i64)\n %l = lt(%n, %w)\n %a = where(%l, %x, 2.5)\n %i = arange(0, 64, dtype=i32)\n %g = "
    "ge(%j, %i)\n %b = where(%g, %a, 0.5)\n return %b\n}\n",
    /* a part in the middle of what is computed is replaced: once, twice, along two dimensions */
    "graph(%x: f32[6, 24], %y: f32[2, 24], %z: f32[6, 5]) {\n %e = exp(%x)\n %h = slice(%e, 0, 0, "
    "2)\n %t = slice(%e, 0, 4, 6)\n %c = cat([%h, %y, %t], 0)\n %i = slice(%c, 1, 0, 7)\n %u = "
    "slice(%c, 1, 12, 24)\n %d = cat([%i, %z, %u], 1)\n return %d\n}\n",
    "graph(%x: bf16[5, 32], %y: bf16[5, 8]) {\n %e = relu(%x)\n %h = slice(%e, 1, 0, 8)\n %m = "
    "slice(%e, 1, 3, 11)\n %t = slice(%e, 1, 24, 32)\n %c = cat([%h, %y, %m, %t], 1)\n %w = "
    "cat([%h, %y, %t, %m], 1)\n return %c, %w\n}\n",
    "graph(%x: f32[6, 8], %y: f32[6, 2]) {\n %e = exp(%x)\n %p = permute(%e, [1, 0])\n %q = "
    "permute(%y, [1, 0])\n %h = slice(%p, 0, 0, 3)\n %t = slice(%p, 0, 5, 8)\n %c = cat([%h, %q, "
    "%t], 0)\n %k = contiguous(%c)\n return %k\n}\n",
    /* far lookups: an index from a scan, from a reduction of what was looked up; a mask on both */
    "graph(%x: f32[40, 3], %i: i64[2, 33]) {\n %p = remainder(%i, 2)\n %c = cumsum(%p, 1)\n %e = "
    "embedding(%c, %x)\n return %e\n}\n",
    "graph(%x: f32[6, 8], %y: f32[6, 3]) {\n %i = argmax(%y, 1, True)\n %g = gather(%x, 1, %i)\n "
    "%p = "
    "pad(%g, [1, 2])\n %e = exp(%p)\n return %e\n}\n",
    "graph(%x: f32[5, 8], %y: f32[5, 8]) {\n %s = softmax(%x, 1)\n %c = cat([%s, %y], 1)\n %d = "
    "cumsum(%c, 1)\n return %d\n}\n",
    "graph(%x: f32[8, 5], %i: i64[6, 5], %g: f32[6, 5]) {\n %j = remainder(%i, 8)\n %z = "
    "zeros_like(%x)\n %s = scatter_add(%z, 0, %j, %g)\n %m = amax(%s, 0)\n return %s, %m\n}\n",
    "graph(%a: f32[6, 8], %b: f32[8, 10]) {\n %f = flip(%a, [1])\n %m = mm(%f, %b)\n %p = pad(%m, "
    "[2, 2])\n %r = relu(%p)\n return %r\n}\n",
    /* where the maximum of a window is: the first of equal ones, of rectified numbers, or of nan */
    "graph(%x: bf16[2, 12, 32]) {\n %r = relu(%x)\n %w = windows(%r, [3, 3], [2, 2], [1, 1], [1, "
    "1], "
    "False, -1)\n %v = view(%w, [2, 6, 16, 9])\n %i = argmax(%v, 3)\n %m = amax(%v, 3)\n return "
    "%i, "
    "%m\n}\n",
    "graph(%x: f32[3, 32]) {\n %r = sqrt(%x)\n %w = windows(%r, [4], [2], [1], [1], value=9)\n %i "
    "= "
    "argmin(%w, 2)\n %j = to(%i, u8)\n return %j\n}\n",
    "graph(%x: i32[3, 40]) {\n %r = remainder(%x, 3)\n %w = windows(%r, [3], [1], [0], [1])\n %i = "
    "argmax(%w, "
    "2)\n return %i\n}\n",
    /* sums of all that stands before: rows as long as memory has them, and of another length */
    "graph(%x: f32[5, 64]) {\n %z = full([5, 1], 0.0)\n %n = slice(%x, 1, 0, 63)\n %c = "
    "cumsum(%n, 1)\n %y = cat([%z, %c], 1)\n %e = mul(%y, %x)\n return %e\n}\n",
    "graph(%x: bf16[3, 37]) {\n %p = cumprod(%x, 1)\n %y = pad(%p, [2, 0], 'constant', 1.0)\n "
    "return %y\n}\n",
};

/* Sources that are sorted by where they land: one digit, two, three; several blocks of them, and a
 * list that has no room for all that lands; all on few rows; in a row's middle; some nowhere. */
static const char *const sorted[][2] = {
    {"graph(%x: f32[300, 12], %i: i64[9000], %s: f32[9000, 12]) {\n %j = remainder(%i, 300)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=1024 r=4 warps=4 vec=2 rows=4 hits=4 sort=1"},
    {"graph(%x: f32[90, 40], %i: i64[3000], %s: f32[3000, 40]) {\n %j = remainder(%i, 90)\n"
     " %c = gt(%j, 70)\n %u = view(%c, [3000, 1])\n %t = where(%u, 0.0, %s)\n"
     " %a = index_add(%x, 0, %j, %t)\n %b = relu(%a)\n return %b\n}\n",
     "x=32 r=2 warps=1 hits=4 sort=1"},
    {"graph(%i: i64[3000], %s: f32[3000, 24]) {\n %r = remainder(%i, 180)\n %j = sub(%r, 90)\n"
     " %z = zeros([90, 24], f32)\n %n = lt(%j, 0)\n %p = add(%j, 90)\n %k = where(%n, %p, %j)\n"
     " %a = index_add(%z, 0, %k, %s)\n return %a\n}\n",
     "x=64 r=8 warps=1 vec=2 hits=4 sort=1"},
    {"graph(%x: bf16[66000, 2], %i: i64[700], %s: bf16[700, 2]) {\n %j = remainder(%i, 9)\n"
     " %k = mul(%j, 8000)\n %a = index_add(%x, 0, %k, %s, 0.5)\n return %a\n}\n",
     "x=8192 r=4 warps=8 vec=2 rows=16 hits=4 sort=1"},
    {"graph(%x: i64[3, 260], %i: i32[4100], %s: i64[3, 4100]) {\n %j = remainder(%i, 260)\n"
     " %a = index_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=128 r=1 warps=2 vec=2 hits=4 sort=1"},
    /* each column has an index of its own */
    {"graph(%x: f32[2048, 3], %i: i64[2900, 2], %s: f32[2900, 3]) {\n %j = remainder(%i, 2048)\n"
     " %a = scatter_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=256 r=2 warps=1 vec=1 rows=8 hits=4 sort=1"},
    {"graph(%x: bf16[3, 2048], %i: i64[3, 3000], %s: bf16[3, 3000]) {\n"
     " %j = remainder(%i, 2048)\n %a = scatter_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=256 r=2 warps=1 vec=1 rows=8 hits=4 sort=1"},
};

/* The same where threads go along the sources of their own elements: few sources, which are
 * counted, some, which are listed, and many; more to a row than one chain of additions takes; rows
 * that begin again, of which the last thread has fewer; rows that nobody lands on, at either
 * end. */
static const char *const own[][2] = {
    {"graph(%x: f32[300, 12], %i: i64[9000], %s: f32[9000, 12]) {\n %j = remainder(%i, 300)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=128 r=4 warps=1 vec=4 hits=1 sort=2"},
    {"graph(%x: f32[90, 40], %i: i64[3000], %s: f32[3000, 40]) {\n %j = remainder(%i, 90)\n"
     " %c = gt(%j, 70)\n %u = view(%c, [3000, 1])\n %t = where(%u, 0.0, %s)\n"
     " %a = index_add(%x, 0, %j, %t)\n %b = relu(%a)\n return %b\n}\n",
     "x=128 r=2 warps=2 vec=2 hits=1 sort=2"},
    {"graph(%x: bf16[66000, 2], %i: i64[700], %s: bf16[700, 2]) {\n %j = remainder(%i, 9)\n"
     " %k = mul(%j, 7000)\n %l = add(%k, 100)\n %a = index_add(%x, 0, %l, %s, 0.5)\n return "
     "%a\n}\n",
     "x=512 r=8 warps=8 vec=2 hits=1 sort=2"},
    {"graph(%x: i64[3, 260], %i: i32[4100], %s: i64[3, 4100]) {\n %j = remainder(%i, 260)\n"
     " %a = index_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=64 r=4 warps=1 vec=1 rows=2 hits=1 sort=2"},
    {"graph(%x: f32[5, 48, 4], %i: i64[9000], %s: f32[5, 9000, 4]) {\n %j = remainder(%i, 48)\n"
     " %a = index_add(%x, 1, %j, %s)\n %e = exp(%a)\n return %e\n}\n",
     "x=512 r=2 warps=2 vec=2 rows=4 hits=1 sort=2"},
    {"graph(%x: f32[300], %i: i64[33000], %s: f32[33000]) {\n %j = remainder(%i, 300)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=64 r=4 warps=2 vec=1 hits=1 sort=2"},
    {"graph(%i: i64[5000], %s: f32[5000, 2]) {\n %r = remainder(%i, 1800)\n %j = sub(%r, 900)\n"
     " %z = zeros([900, 2], f32)\n %n = lt(%j, 0)\n %p = add(%j, 900)\n %k = where(%n, %p, %j)\n"
     " %m = clamp(%k, 890, 899)\n %a = index_add(%z, 0, %m, %s)\n return %a\n}\n",
     "x=64 r=4 warps=1 vec=2 hits=1 sort=2"},
    {"graph(%x: f32[2048, 3], %i: i64[2900, 2], %s: f32[2900, 3]) {\n %j = remainder(%i, 2048)\n"
     " %a = scatter_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=256 r=2 warps=8 vec=1 hits=1 sort=2"},
    {"graph(%x: bf16[3, 2048], %i: i64[3, 3000], %s: bf16[3, 3000]) {\n"
     " %j = remainder(%i, 2048)\n %a = scatter_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=64 r=1 warps=2 vec=1 hits=1 sort=2"},
};

/* Several kernels of the same sources, which are sorted once, for all of them: counted, listed, and
 * digit by digit; some land nowhere; in blocks with lists, in threads' own, in turns beside them;
 * looked up again, and gradients of that. */
static const char *const shared[][2] = {
    {"graph(%x: f32[9000, 4], %i: i64[2000], %s: f32[2000], %t: f32[2000, 4]) {\n"
     " %h = mul(%i, 997)\n %r = remainder(%h, 9000)\n %j = clamp(%r, 40, 8000)\n"
     " %d = zeros([9000], f32)\n %e = index_add(%d, 0, %j, %s)\n"
     " %g = index(%e, [%j], [0])\n %u = unsqueeze(%g, 1)\n %m = mul(%t, %u)\n"
     " %a = index_add(%x, 0, %j, %m)\n return %e, %a\n}\n",
     "x=128 r=2 warps=1 vec=4 hits=1 sort=2"},
    {"graph(%x: f32[9000, 4], %i: i64[9000], %s: f32[9000], %t: f32[9000, 4]) {\n"
     " %h = mul(%i, 997)\n %r = remainder(%h, 9000)\n %j = clamp(%r, 40, 8000)\n"
     " %d = zeros([9000], f32)\n %e = index_add(%d, 0, %j, %s)\n"
     " %g = index(%e, [%j], [0])\n %u = unsqueeze(%g, 1)\n %m = mul(%t, %u)\n"
     " %a = index_add(%x, 0, %j, %m)\n return %e, %a\n}\n",
     "x=256 r=4 warps=1 vec=2 rows=4 hits=4 sort=1"},
    {"graph(%x: f32[20000, 2], %i: i64[33000], %s: f32[33000], %t: f32[33000, 2]) {\n"
     " %h = mul(%i, 997)\n %r = remainder(%h, 20000)\n %j = clamp(%r, 40, 18000)\n"
     " %d = zeros([20000], f32)\n %e = index_add(%d, 0, %j, %s)\n"
     " %g = index(%e, [%j], [0])\n %u = unsqueeze(%g, 1)\n %m = mul(%t, %u)\n"
     " %a = index_add(%x, 0, %j, %m)\n return %e, %a\n}\n",
     "x=128 r=2 warps=2 vec=2 hits=1 sort=2"},
    {"graph(%x: f32[20000, 2], %i: i64[33000], %s: f32[33000], %t: f32[33000, 2]) {\n"
     " %h = mul(%i, 997)\n %r = remainder(%h, 20000)\n %j = clamp(%r, 40, 18000)\n"
     " %d = zeros([20000], f32)\n %e = index_add(%d, 0, %j, %s)\n"
     " %g = index(%e, [%j], [0])\n %u = unsqueeze(%g, 1)\n %m = mul(%t, %u)\n"
     " %a = index_add(%x, 0, %j, %m)\n return %e, %a\n}\n",
     "x=256 r=4 warps=1 vec=1 rows=8 hits=4 sort=1"},
    /* what lands is a piece of what is stored */
    {"graph(%h: f32[500, 8], %i: i64[9000], %s: f32[9000, 8]) {\n"
     " %k = mul(%i, 37)\n %j = remainder(%k, 500)\n %z = zeros([500, 8], f32)\n"
     " %a = index_add(%z, 0, %j, %s)\n %c = cat([%h, %a], 1)\n return %c\n}\n",
     "x=128 r=2 warps=1 vec=4 hits=1 sort=2"},
    {"graph(%h: f32[500, 8], %i: i64[9000], %s: f32[9000, 8]) {\n"
     " %k = mul(%i, 37)\n %j = remainder(%k, 500)\n %z = zeros([500, 8], f32)\n"
     " %a = index_add(%z, 0, %j, %s)\n %c = cat([%h, %a], 1)\n %r = relu(%c)\n return %r\n}\n",
     "x=256 r=4 warps=1 vec=2 rows=4 hits=4 sort=1"},
};

/* The same in turns: many sources of few rows, which take more additions than one chain; rows and
 * sources that no block has whole; several reductions; some land nowhere; all on one row; more
 * blocks than one has threads. */
static const char *const turns[][2] = {
    {"graph(%x: f32[40], %i: i64[9000], %s: f32[9000]) {\n %j = remainder(%i, 40)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=64 r=4 warps=1 vec=1 rows=2 hits=1 sort=3"},
    {"graph(%x: bf16[3000], %i: i64[7000], %s: bf16[7000]) {\n %j = remainder(%i, 3000)\n"
     " %e = exp(%s)\n %a = index_add(%x, 0, %j, %e, 0.5)\n %b = relu(%a)\n return %b\n}\n",
     "x=256 r=2 warps=1 vec=1 rows=8 hits=1 sort=3"},
    {"graph(%x: i32[5000], %i: i64[12000], %s: i32[12000]) {\n %j = remainder(%i, 300)\n"
     " %k = add(%j, 1000)\n %a = index_add(%x, 0, %k, %s)\n return %a\n}\n",
     "x=512 r=1 warps=1 vec=1 rows=16 hits=1 sort=3"},
    {"graph(%i: i64[3000], %s: f32[3000]) {\n %r = remainder(%i, 180)\n %j = sub(%r, 90)\n"
     " %z = zeros([90], f32)\n %n = lt(%j, 0)\n %p = add(%j, 90)\n %k = where(%n, %p, %j)\n"
     " %a = index_add(%z, 0, %k, %s)\n return %a\n}\n",
     "x=32 r=8 warps=1 vec=1 hits=1 sort=3"},
    {"graph(%x: f32[70], %i: i64[2000], %s: f32[2000]) {\n %j = remainder(%i, 1)\n"
     " %k = add(%j, 69)\n %a = index_add(%x, 0, %k, %s)\n return %a\n}\n",
     "x=32 r=4 warps=1 vec=1 hits=1 sort=3"},
    {"graph(%x: f32[9000], %i: i64[5000], %s: f32[5000]) {\n %j = remainder(%i, 9000)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=32 r=2 warps=1 vec=1 hits=1 sort=3"},
    {"graph(%x: bf16[3, 2048], %i: i64[3, 3000], %s: bf16[3, 3000]) {\n"
     " %j = remainder(%i, 2048)\n %a = scatter_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=1024 r=2 warps=1 vec=1 rows=32 hits=1 sort=3"},
};

/* Sources enough for blocks of 512 threads, and of 1024, that sort: in turns, some behind the last
 * that a block has at a time, of as few buckets as warps, and of an odd number. */
static const char *const many[][2] = {
    {"graph(%x: f32[1500], %i: i64[25000], %s: f32[25000]) {\n %h = mul(%i, 997)\n"
     " %j = remainder(%h, 1500)\n %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=256 r=4 warps=1 vec=1 rows=8 hits=2 sort=3"},
    {"graph(%x: bf16[60000], %i: i64[40000], %s: bf16[40000]) {\n %h = mul(%i, 997)\n"
     " %j = remainder(%h, 60000)\n %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=256 r=2 warps=1 vec=1 rows=8 hits=4 sort=3"},
};

/* The same added up as whole numbers: by the largest of each row, of f16 and of whole numbers
 * without; rows and sources that no block has whole; some land nowhere, all on one row, rows begin
 * again; several reductions; numbers near the ends of f32, infinities and nan. */
static const char *const adds[][2] = {
    {"graph(%x: f32[40], %i: i64[9000], %s: f32[9000]) {\n %j = remainder(%i, 40)\n"
     " %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=64 r=4 warps=2 vec=1 hits=1 sort=4"},
    {"graph(%x: f16[3000], %i: i64[7000], %k: i64[7000]) {\n %j = remainder(%i, 3000)\n"
     " %h = remainder(%k, 3000)\n %s = index(%x, [%h], [0])\n %z = zeros([3000], f16)\n"
     " %a = index_add(%z, 0, %j, %s)\n %b = relu(%a)\n return %b\n}\n",
     "x=128 r=2 warps=2 vec=2 hits=1 sort=4"},
    {"graph(%x: bf16[3000], %i: i64[7000], %s: bf16[7000]) {\n %j = remainder(%i, 3000)\n"
     " %e = exp(%s)\n %a = index_add(%x, 0, %j, %e, 0.5)\n %b = relu(%a)\n return %b\n}\n",
     "x=256 r=1 warps=4 vec=1 rows=2 hits=1 sort=4"},
    {"graph(%x: i32[5000], %i: i64[12000], %s: i32[12000]) {\n %j = remainder(%i, 300)\n"
     " %k = add(%j, 1000)\n %a = index_add(%x, 0, %k, %s)\n return %a\n}\n",
     "x=512 r=8 warps=4 vec=4 hits=1 sort=4"},
    {"graph(%i: i64[3000], %s: f32[3000]) {\n %r = remainder(%i, 180)\n %j = sub(%r, 90)\n"
     " %z = zeros([90], f32)\n %n = lt(%j, 0)\n %p = add(%j, 90)\n %k = where(%n, %p, %j)\n"
     " %a = index_add(%z, 0, %k, %s)\n return %a\n}\n",
     "x=32 r=8 warps=1 vec=1 hits=1 sort=4"},
    {"graph(%x: f32[70], %i: i64[2000], %s: f32[2000]) {\n %j = remainder(%i, 1)\n"
     " %k = add(%j, 69)\n %a = index_add(%x, 0, %k, %s)\n return %a\n}\n",
     "x=64 r=4 warps=1 vec=2 hits=1 sort=4"},
    {"graph(%x: bf16[3, 2048], %i: i64[3, 3000], %s: bf16[3, 3000]) {\n"
     " %j = remainder(%i, 2048)\n %a = scatter_add(%x, 1, %j, %s)\n return %a\n}\n",
     "x=512 r=2 warps=4 vec=4 hits=1 sort=4"},
    {"graph(%x: f32[5, 48, 4], %i: i64[900], %s: f32[5, 900, 4]) {\n %j = remainder(%i, 48)\n"
     " %a = index_add(%x, 1, %j, %s)\n %e = exp(%a)\n return %e\n}\n",
     "x=128 r=4 warps=2 vec=2 hits=1 sort=4"},
    {"graph(%h: f16[500, 8], %i: i64[900], %s: f16[900, 8]) {\n"
     " %k = mul(%i, 37)\n %j = remainder(%k, 500)\n %z = zeros([500, 8], f16)\n"
     " %a = index_add(%z, 0, %j, %s)\n %c = add(%h, %a)\n return %c\n}\n",
     "x=128 r=2 warps=1 vec=4 hits=1 sort=4"},
    {"graph(%x: f32[300], %i: i64[2000], %s: f32[2000]) {\n %j = remainder(%i, 300)\n"
     " %l = mul(%s, %s)\n"
     " %e = mul(%l, 4.0)\n %g = exp(%e)\n %a = index_add(%x, 0, %j, %g)\n return %a\n}\n",
     "x=64 r=1 warps=2 vec=1 hits=1 sort=4"},
    {"graph(%x: f32[300], %i: i64[700], %s: f32[700], %t: f32[700]) {\n"
     " %j = remainder(%i, 300)\n %q = floor(%s)\n %d = div(%t, %q)\n"
     " %a = index_add(%x, 0, %j, %d)\n return %a\n}\n",
     "x=64 r=1 warps=2 vec=1 hits=1 sort=4"},
    {"graph(%x: f16[300], %i: i64[700], %s: f16[700], %t: f16[700]) {\n"
     " %j = remainder(%i, 300)\n %q = floor(%s)\n %d = div(%t, %q)\n"
     " %a = index_add(%x, 0, %j, %d)\n return %a\n}\n",
     "x=256 r=3 warps=8 vec=1 hits=1 sort=5"},
    /* in shared memory of blocks by which sources are sorted, whose numbers come along or not */
    {"graph(%x: f32[4000], %i: i64[9000], %s: f32[9000]) {\n %h = mul(%i, 997)\n"
     " %j = remainder(%h, 4000)\n %a = index_add(%x, 0, %j, %s)\n return %a\n}\n",
     "x=1024 r=2 warps=8 vec=1 rows=4 hits=1 sort=3"},
    {"graph(%x: bf16[3000], %i: i64[7000], %s: bf16[7000], %t: bf16[3000]) {\n"
     " %j = remainder(%i, 3000)\n %u = index(%t, [%j], [0])\n %m = mul(%u, %s)\n"
     " %a = index_add(%x, 0, %j, %m)\n %b = relu(%a)\n return %b\n}\n",
     "x=512 r=1 warps=16 vec=1 hits=2 sort=3"},
    /* in shared memory: of all sources of a span, whose places blocks share, or one has */
    {"graph(%x: f32[5, 48, 4], %i: i64[900], %s: f32[5, 900, 4]) {\n %j = remainder(%i, 48)\n"
     " %a = index_add(%x, 1, %j, %s)\n %e = exp(%a)\n return %e\n}\n",
     "x=256 r=16 warps=8 vec=1 hits=1 sort=5"},
    {"graph(%x: f32[1048], %i: i64[1100], %s: f32[1100], %t: f32[1048]) {\n"
     " %j = remainder(%i, 1048)\n %u = index(%t, [%j], [0])\n %v = mul(%u, %s)\n"
     " %a = index_add(%x, 0, %j, %v)\n return %a\n}\n",
     "x=512 r=8 warps=8 vec=1 rows=2 hits=1 sort=5"},
    {"graph(%i: i64[3000], %s: f32[3000]) {\n %r = remainder(%i, 180)\n %j = sub(%r, 90)\n"
     " %z = zeros([90], f32)\n %n = lt(%j, 0)\n %p = add(%j, 90)\n %k = where(%n, %p, %j)\n"
     " %m = mul(%s, %s)\n %b = mul(%m, 4.0)\n %e = exp(%b)\n"
     " %a = index_add(%z, 0, %k, %e)\n return %a\n}\n",
     "x=256 r=16 warps=8 vec=1 hits=1 sort=5"},
    {"graph(%x: f32[70], %i: i64[2000], %s: f32[2000]) {\n %j = remainder(%i, 1)\n"
     " %k = add(%j, 69)\n %a = index_add(%x, 0, %k, %s)\n return %a\n}\n",
     "x=256 r=8 warps=8 vec=1 hits=1 sort=5"},
};

/* What lies across, within guards: pads and pieces that end within a tile; rows that neighbours in
 * memory are, whose order in what is stored is another. */
static const char *const turned[][2] = {
    {"graph(%x: f32[37, 21], %y: f32[24, 40]) {\n %p = constant_pad_nd(%x, [1, 2, 3, 0], 0.5)\n"
     " %t = permute(%p, [1, 0])\n %r = add(%t, %y)\n return %r\n}\n",
     "x=16 r=8 warps=2 vec=2 turn=1"},
    {"graph(%x: bf16[9, 40], %y: bf16[11, 40]) {\n %e = exp(%y)\n %c = cat([%x, %e], 0)\n"
     " %t = permute(%c, [1, 0])\n %r = clone(%t)\n %s = view(%r, [800])\n return %s\n}\n",
     "x=32 r=16 warps=4 vec=4 turn=1"},
    {"graph(%x: f32[20, 5, 33], %y: f32[33, 5, 20]) {\n %t = permute(%x, [2, 1, 0])\n"
     " %r = add(%t, %y)\n return %r\n}\n",
     "x=32 r=16 warps=4 vec=2 turn=1"},
    {"graph(%x: bf16[40, 3, 4, 18], %y: bf16[18, 4, 3, 40]) {\n %t = permute(%x, [3, 2, 1, 0])\n"
     " %r = add(%t, %y)\n return %r\n}\n",
     "x=32 r=32 warps=4 vec=4 turn=1"},
    {"graph(%x: f32[3, 4, 33], %y: f32[33, 4, 3]) {\n %t = permute(%x, [2, 1, 0])\n"
     " %r = add(%t, %y)\n return %r\n}\n",
     "x=32 r=4 warps=1 vec=1"},
};

/* Rows that run backwards, and short ones. */
/* Windows one below the other, of which a thread has several: of all rows and of some, at strides,
 * dilated, with pads and without; with a residual, along the first axis of three, of several
 * filters, of rows that are no whole vectors. */
static const char *const below[] = {
    "graph(%x: bf16[4, 4, 24, 32], %w: bf16[4, 1, 3, 3], %b: bf16[4]) {\n %y = convolution(%x, %w, "
    "%b, 1, 1, 1, False, 0, 4)\n %r = relu(%y)\n return %r\n}\n",
    "graph(%x: f32[80, 4, 7, 7], %w: f32[4, 1, 5, 5]) {\n %y = convolution(%x, %w, None, 1, 2, 1, "
    "False, 0, 4)\n return %y\n}\n",
    "graph(%x: f16[6, 4, 33, 34], %w: f16[4, 1, 3, 3], %z: f16[6, 4, 16, 32]) {\n %y = "
    "convolution(%x, %w, None, [2, 1], 0, 1, False, 0, 4)\n %s = add(%y, %z)\n return %s\n}\n",
    "graph(%x: f32[6, 4, 28, 25], %w: f32[4, 1, 4, 3]) {\n %y = convolution(%x, %w, None, 1, [1, "
    "2], 2, False, 0, 4)\n return %y\n}\n",
    "graph(%x: bf16[1, 4, 18, 8, 34], %w: bf16[4, 1, 3, 1, 3]) {\n %y = convolution(%x, %w, None, "
    "1, 0, 1, False, 0, 4, 3)\n return %y\n}\n",
    "graph(%x: f32[8, 4, 16, 16], %w: f32[8, 1, 3, 3]) {\n %y = convolution(%x, %w, None, 1, 1, 1, "
    "False, 0, 4)\n return %y\n}\n",
};

static const char *const rows[] = {
    /* gradients of running sums */
    "graph(%x: bf16[5, 96], %y: bf16[5, 96], %g: f32[]) {\n %f = flip(%x, [1])\n %h = flip(%y, "
    "[1])\n %a = add(%f, %h)\n %c = cumsum(%a, 1)\n %r = flip(%c, [1])\n %m = mul(%r, %g)\n"
    " return %r, %m\n}\n",
    /* short and odd rows, one tensor's behind another's, and behind rows of padding */
    "graph(%x: bf16[9, 22], %y: bf16[7, 22]) {\n %e = exp(%x)\n %c = cat([%e, %y], 0)\n %r = "
    "mul(%c, 2)\n return %r\n}\n",
    "graph(%x: f32[6, 12]) {\n %p = pad(%x, [0, 0, 1, 2], value=3)\n %e = relu(%p)\n return "
    "%e\n}\n",
    "graph(%x: f32[3, 4, 10], %y: f32[3, 2, 10]) {\n %c = cat([%x, %y], 1)\n %e = neg(%c)\n "
    "return %e\n}\n",
};

/* Rows that no vector divides, of what is transposed: vectors of a tile begin where each row's head
 * ends. Short rows of what is transposed, of which some are a tile's columns, where a reshape
 * takes an axis apart, too; slices of what something lands on; rows that are scanned: many short
 * ones, and one that no vector divides. */
static const char *const short_rows[] = {
    "graph(%x: bf16[75, 40], %b: bf16[75]) {\n %p = permute(%x, [1, 0])\n %r = mul(%p, %b)\n "
    "return "
    "%r\n}\n",
    "graph(%x: f32[133, 33], %y: f32[33, 133]) {\n %p = permute(%x, [1, 0])\n %r = add(%p, %y)\n "
    "return %r\n}\n",
    "graph(%x: u8[301, 6, 5], %y: bf16[301, 5, 6]) {\n %p = permute(%x, [2, 1, 0])\n %f = to(%p, "
    "bf16)\n %q = permute(%y, [1, 2, 0])\n %r = mul(%f, %q)\n return %r\n}\n",
    "graph(%x: bf16[4, 24, 72]) {\n %p = permute(%x, [2, 1, 0])\n %c = contiguous(%p)\n %r = "
    "mul(%c, 0.5)\n return %r\n}\n",
    "graph(%x: bf16[3, 4, 24, 10, 4], %y: bf16[10, 12, 24, 4]) {\n %p = permute(%x, [3, 4, 0, 2, "
    "1])\n %q = contiguous(%p)\n %c = view(%q, [10, 12, 24, 4])\n %r = add(%c, %y)\n return "
    "%r\n}\n",
    "graph(%x: f32[6, 3, 5, 40]) {\n %p = permute(%x, [3, 0, 2, 1])\n %c = contiguous(%p)\n %r = "
    "exp(%c)\n return %r\n}\n",
    "graph(%x: bf16[2, 8, 3, 16, 36]) {\n %p = permute(%x, [2, 4, 0, 3, 1])\n %c = contiguous(%p)\n"
    " %r = mul(%c, 2)\n return %r\n}\n",
    "graph(%x: bf16[40, 72], %y: bf16[72, 40]) {\n %f = flip(%x, [1])\n %a = add(%x, %f)\n %p = "
    "permute(%a, [1, 0])\n %r = mul(%p, %y)\n return %r\n}\n",
    "graph(%x: f16[400], %i: i64[900], %s: f16[900]) {\n %j = remainder(%i, 400)\n %a = "
    "index_add(%x, 0, %j, %s)\n %b = slice(%a, 0, 33, 390, 1)\n %r = mul(%b, 2)\n return "
    "%r\n}\n",
    "graph(%x: f32[3, 40, 6], %i: i64[90], %s: f32[3, 90, 6]) {\n %j = remainder(%i, 40)\n %a = "
    "index_add(%x, 1, %j, %s)\n %b = slice(%a, 1, 7, 33, 1)\n %r = neg(%b)\n return %r\n}\n",
    "graph(%x: bf16[2200, 12], %m: u8[2200, 12]) {\n %b = gt(%m, 0)\n %z = masked_fill(%x, %b, "
    "0)\n %c = cumsum(%z, 1)\n return %c\n}\n",
    "graph(%x: bf16[9001], %y: f32[9001]) {\n %e = exp(%x)\n %c = cumsum(%e, 0)\n %r = mul(%c, "
    "%y)\n return %r, %c\n}\n",
    "graph(%x: f64[1, 1405], %y: i64[2101]) {\n %c = cumsum(%x, 1)\n %d = cumsum(%y, 0)\n return "
    "%c, %d\n}\n",
    "graph(%x: f32[4003], %y: f32[2000], %g: f32[4003]) {\n %p = constant_pad_nd(%y, [3, 2000], "
    "1)\n"
    " %a = mul(%x, %p)\n %c = cumsum(%a, 0)\n %f = flip(%g, [0])\n %h = cumsum(%f, 0)\n %k = "
    "flip(%h, [0])\n return %c, %k\n}\n",
    /* every second element, or third, of what lands or is reduced */
    "graph(%x: f16[400], %i: i64[900], %s: f16[900]) {\n %j = remainder(%i, 400)\n %a = "
    "index_add(%x, 0, %j, %s)\n %b = slice(%a, 0, 33, 390, 3)\n %r = mul(%b, 2)\n return "
    "%r\n}\n",
    "graph(%z: f32[30, 64], %i: i64[256], %s: f32[30, 256], %y: f32[30, 27]) {\n"
    " %j = remainder(%i, 64)\n %a = index_add(%z, 1, %j, %s)\n %b = slice(%a, 1, 3, 57, 2)\n"
    " %r = mul(%b, %y)\n return %r\n}\n",
    "graph(%x: f32[12, 40, 70]) {\n %s = sum(%x, 2)\n %e = exp(%s)\n %a = slice(%e, 1, 1, 40, 6)\n"
    " %b = slice(%e, 1, 4, 40, 3)\n %c = slice(%b, 1, 0, 6, 1)\n %m = sum(%a, 1)\n"
    " %r = neg(%c)\n %t = slice(%e, 0, 0, 12, 4)\n %u = neg(%t)\n return %m, %r, %u\n}\n",
    "graph(%x: f32[12, 40, 70]) {\n %s = amax(%x, 2)\n %a = slice(%s, 1, 1, 38, 4)\n"
    " %b = slice(%s, 1, 3, 40, 4)\n %r = sub(%b, %a)\n return %r\n}\n",
};

void cases_move(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        vec_push(a, out, ((struct case_graph){.text = graphs[i], .every = 1, .eager = i % 4 == 0}));
    for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = sorted[i][0], .every = CASES_DEFAULT, .config = sorted[i][1]}));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        vec_push(
            a, out,
            ((struct case_graph){.text = own[i][0], .every = CASES_DEFAULT, .config = own[i][1]}));
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = turns[i][0], .every = CASES_DEFAULT, .config = turns[i][1]}));
    for (size_t i = 0; i < sizeof adds / sizeof *adds; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = adds[i][0], .every = CASES_DEFAULT, .config = adds[i][1]}));
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = many[i][0], .every = CASES_DEFAULT, .config = many[i][1]}));
    for (size_t i = 0; i < sizeof turned / sizeof *turned; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = turned[i][0], .every = CASES_DEFAULT, .config = turned[i][1]}));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        vec_push(a, out, ((struct case_graph){.text = rows[i], .every = 1}));
    for (size_t i = 0; i < sizeof short_rows / sizeof *short_rows; i++)
        vec_push(a, out, ((struct case_graph){.text = short_rows[i], .every = 1}));
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        vec_push(a, out, ((struct case_graph){.text = below[i], .every = 16, .tiny = true}));
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        vec_push(a, out,
                 ((struct case_graph){
                     .text = shared[i][0], .every = CASES_DEFAULT, .config = shared[i][1]}));
}
