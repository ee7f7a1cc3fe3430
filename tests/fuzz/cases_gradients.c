/* cases_gradients.c: what differentiation makes of programs: each with its gradients as one graph,
 * and the backward alone.
 *
 * Square tensors are among them, whose rows and columns unify, and sizes that fit no vector. */
#include "graph/autograd.h"
#include "graph/partition.h"
#include "tests/fuzz/cases.h"

static const char *const programs[] = {
    "graph(%x: f32[5, 70]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
    "graph(%x: bf16[33, 33]) {\n %y = log_softmax(%x, 1)\n return %y\n}\n",
    "graph(%x: f32[2, 9001]) {\n %y = logsumexp(%x, 1)\n return %y\n}\n",
    "graph(%x: f32[40, 40], %w: f32[40], %b: f32[40]) {\n %y = layer_norm(%x, [40], %w, %b)\n "
    "return %y\n}\n",
    "graph(%x: bf16[7, 96], %w: bf16[96]) {\n %y = rms_norm(%x, [96], %w)\n return %y\n}\n",
    "graph(%x: f32[6, 8, 12], %w: f32[8], %b: f32[8]) {\n %y = group_norm(%x, 4, %w, %b)\n return "
    "%y\n}\n",
    "graph(%x: f32[9, 48], %b: f32[48]) {\n %a = add(%x, %b)\n %y = gelu(%a)\n return %y\n}\n",
    "graph(%g: bf16[6, 40], %u: bf16[6, 40]) {\n %a = silu(%g)\n %y = mul(%a, %u)\n return %y\n}\n",
    "graph(%x: f32[33, 17], %y: f32[33, 17]) {\n %a = add(%x, %y)\n %r = relu(%a)\n %s = sum(%r, "
    "1)\n %m = mean(%s)\n return %m\n}\n",
    "graph(%x: f32[16, 24], %w: f32[20, 24], %b: f32[20], %t: f32[16, 20]) {\n %z = linear(%x, %w, "
    "%b)\n %g = gelu(%z)\n %l = mse_loss(%g, %t)\n return %l\n}\n",
    "graph(%q: f32[2, 12, 8], %k: f32[2, 20, 8], %v: f32[2, 20, 8]) {\n %y = "
    "scaled_dot_product_attention(%q, %k, %v)\n return %y\n}\n",
    "graph(%x: f32[30, 30]) {\n %m = amax(%x, 1, True)\n %v = var(%x, 0)\n %y = sub(%x, %m)\n %t = "
    "transpose(%y, 0, 1)\n return %t, %v\n}\n",
    "graph(%x: f32[2, 3, 9, 9], %w: f32[4, 3, 3, 3], %b: f32[4], %u: f32[4, 1, 2, 2]) {\n %c = "
    "convolution(%x, %w, %b, 2, 1)\n %r = relu(%c)\n %y = convolution(%r, %u, None, 1, 1, 1, "
    "False, "
    "0, 4)\n return %y\n}\n",
    "graph(%x: f32[3, 5, 7], %w: f32[5], %b: f32[5]) {\n %y = batch_norm(%x, None, None, %w, %b, "
    "True)\n return %y\n}\n",
    "graph(%x: bf16[2, 9, 10, 16], %v: bf16[16, 16, 3, 3], %w: bf16[16], %u: bf16[16, 16, 3, 3]) "
    "{\n"
    " %p = permute(%x, [0, 3, 1, 2])\n %c = convolution(%p, %v, None, 1, 1)\n"
    " %m = mean(%c, [0, 2, 3])\n %n = batch_norm(%c, None, None, %w, None, True)\n"
    " %r = mul(%n, %n)\n %d = convolution(%r, %u, None, 1, 1)\n %e = add(%d, %p)\n"
    " %y = permute(%e, [0, 2, 3, 1])\n return %y, %m\n}\n",
    "graph(%x: f32[6, 40]) {\n %c = cumsum(%x, 1)\n %p = slice(%c, 1, 3, 40, 2)\n %y = tanh(%p)\n "
    "return %y\n}\n",
    /* windows: strides whose phases are in other windows each; paddings; ends that no window
     * reaches, or that it goes beyond; holes; 1 to 3 dimensions; whole vectors */
    "graph(%x: bf16[2, 3, 16, 32]) {\n %y = max_pool(%x, [3], [2], [1])\n return %y\n}\n",
    "graph(%x: f32[2, 9, 16]) {\n %y = max_pool(%x, [3, 2], [2, 1], [1, 0])\n return %y\n}\n",
    "graph(%x: bf16[3, 2, 40]) {\n %y = max_pool(%x, [5], [2], [2], [1], True, 1)\n return "
    "%y\n}\n",
    "graph(%x: f32[2, 3, 21]) {\n %y = max_pool(%x, [2], [3], [0], [1], False, 1)\n return "
    "%y\n}\n",
    "graph(%x: f32[2, 12, 16]) {\n %y = max_pool(%x, [3], [2], [1], [2])\n return %y\n}\n",
    "graph(%x: f32[2, 5, 6, 8]) {\n %y = max_pool(%x, [3], [2], [1], [1], False, 3)\n return "
    "%y\n}\n",
    "graph(%x: bf16[2, 3, 16, 32]) {\n %y = avg_pool(%x, [3], [2], [1])\n return %y\n}\n",
    "graph(%x: f32[3, 7, 16]) {\n %y = avg_pool(%x, [3], [1], [1], True, False)\n return %y\n}\n",
    "graph(%x: f32[2, 3, 8, 16]) {\n %y = im2col(%x, [2, 3], [1], [1], [1])\n %z = tanh(%y)\n "
    "return %z\n}\n",
    /* compared with their own extrema, and computed in several kernels */
    "graph(%x: bf16[24, 40], %w: bf16[40]) {\n %a = mul(%x, %w)\n %s = sigmoid(%a)\n"
    " %y = mul(%s, %x)\n %m = amax(%y, 0)\n %t = sum(%y, 1)\n %n = amax(%y, 1)\n"
    " return %m, %t, %n\n}\n",
    "graph(%x: f32[24, 40], %w: f32[40]) {\n %s = sigmoid(%x)\n %y = mul(%s, %w)\n"
    " %m = amin(%y, 0)\n %t = sum(%y, 1)\n %n = amax(%y)\n return %m, %t, %n\n}\n",
    "graph(%x: f16[12, 64]) {\n %c = mean(%x, 1, True)\n %y = sub(%x, %c)\n"
    " %m = amax(%y, 0)\n %t = sum(%y, 0)\n return %m, %t, %y\n}\n",
};

void cases_gradients(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct diag d = diag_new(a);
        struct source src = {"program", programs[i], strlen(programs[i])};
        struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
        bool wants[8] = {true, true, true, true};
        struct graph *joint = g ? graph_backward(g, wants, &d) : NULL;
        if (!joint) WS_BUG("%s", d.text);
        struct graph *flat = graph_simplify(graph_decompose(joint));
        struct partition *p = graph_partition(flat, g->inputs.n, g->outputs.n);
        const char *texts[] = {case_text(joint), case_text(p->backward)};
        /* A norm enlarges what was rounded before it: PyTorch's gradients in bf16 are off by up
         * to 2 where most are below 100. */
        bool bound = strstr(programs[i], "bf16") && strstr(programs[i], "batch_norm");
        for (int k = 0; k < 2; k++)
            vec_push(a, out,
                     ((struct case_graph){
                         .text = texts[k], .every = 1, .eager = i % 3 == 0, .bound = bound}));
    }
}
