/* cases_loops.c: loops, with their gradients too: what is carried, sliced forwards and backwards,
 * whole, and stacked, in steps of sizes that fit no vector. */
#include "graph/autograd.h"
#include "graph/loop.h"
#include "tests/fuzz/cases.h"

enum { STEPS = 9 };

/* Cells, @ the step and ~ the one before, and what comes after. */
static const struct program {
    const char *inputs, *step, *after;
} programs[] = {
    /* a plain cell whose every state is wanted; the product with the input goes before the loop */
    {"%x: f32[9, 3, 7], %h0: f32[3, 5], %u: f32[5, 5], %w: f32[5, 7]",
     "%x@ = select(%x, 0, ~)\n%i@ = linear(%x@, %w)\n%p@ = mm(%h~, %u)\n%a@ = add(%i@, %p@)\n"
     "%h@ = tanh(%a@)\n",
     "%y = stack([%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8, %h9])\nreturn %y\n"},
    /* two carried values, gates that are slices of one product, only the end is wanted */
    {"%x: f32[9, 3, 16], %h0: f32[3, 4], %c0: f32[3, 4], %u: f32[16, 4], %b: f32[16]",
     "%x@ = select(%x, 0, ~)\n%p@ = linear(%h~, %u, %b)\n%g@ = add(%x@, %p@)\n"
     "%k@ = slice(%g@, 1, 0, 4)\n%l@ = slice(%g@, 1, 4, 8)\n%m@ = slice(%g@, 1, 8, 12)\n"
     "%n@ = slice(%g@, 1, 12, 16)\n%i@ = sigmoid(%k@)\n%f@ = sigmoid(%l@)\n%t@ = tanh(%m@)\n"
     "%o@ = sigmoid(%n@)\n%q@ = mul(%f@, %c~)\n%r@ = mul(%i@, %t@)\n%c@ = add(%q@, %r@)\n"
     "%s@ = tanh(%c@)\n%h@ = mul(%o@, %s@)\n",
     "return %h9, %c9\n"},
    /* bf16; a state that is a row, and one of its values on the way */
    {"%h0: bf16[1, 33], %u: bf16[33, 33], %v: bf16[33]",
     "%p@ = mm(%h~, %u)\n%a@ = add(%p@, %v)\n%h@ = sigmoid(%a@)\n", "return %h9, %h4\n"},
};

static const char *steps_text(struct arena *a, const struct program *x) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%s) {\n", x->inputs);
    for (int t = 0; t < STEPS; t++)
        for (const char *p = x->step; *p; p++)
            if (*p == '@' || *p == '~')
                buf_printf(&b, "%d", *p == '@' ? t + 1 : t);
            else
                buf_putc(&b, *p);
    buf_printf(&b, "%s}\n", x->after);
    return b.p;
}

void cases_loops(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct diag d = diag_new(a);
        const char *text = steps_text(a, &programs[i]);
        struct source src = {"program", text, strlen(text)};
        struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
        if (!g) WS_BUG("%s", d.text);
        bool wants[8] = {true, true, true, true, true};
        struct graph *loop = graph_roll(g), *joint = graph_backward(loop, wants, &d);
        if (!joint) WS_BUG("%s", d.text);
        if (loop == g) WS_BUG("no loop: %s", text);
        vec_push(a, out, ((struct case_graph){.text = case_text(loop), .every = 12}));
        vec_push(a, out, ((struct case_graph){.text = case_text(graph_hoist(joint)), .every = 48}));
    }
}
