/* cases_loops.c: loops, with their gradients too: what is carried, sliced forwards and backwards,
 * whole, and stacked, in steps of sizes that fit no vector; layers and directions, which go
 * together on a GPU (graph/wavefront.c); and in one kernel each (kernel/persistent.h). */
#include "graph/autograd.h"
#include "graph/loop.h"
#include "tests/fuzz/cases.h"

enum { STEPS = 9 };

#define STACK(h) "[%" h "1, %" h "2, %" h "3, %" h "4, %" h "5, %" h "6, %" h "7, %" h "8, %" h "9]"
/* A cell over slices of x, of states h and c of 5; its names begin with n. */
#define LSTM(x, h, c, u, n)                                                                        \
    "%" n "x@ = select(%" x ", 0, ~)\n%" n "p@ = linear(%" h "~, %" u ")\n"                        \
    "%" n "g@ = add(%" n "x@, %" n "p@)\n%" n "k@ = slice(%" n "g@, 1, 0, 5)\n"                    \
    "%" n "l@ = slice(%" n "g@, 1, 5, 10)\n%" n "m@ = slice(%" n "g@, 1, 10, 15)\n"                \
    "%" n "n@ = slice(%" n "g@, 1, 15, 20)\n%" n "i@ = sigmoid(%" n "k@)\n"                        \
    "%" n "f@ = sigmoid(%" n "l@)\n%" n "t@ = tanh(%" n "m@)\n%" n "o@ = sigmoid(%" n "n@)\n"      \
    "%" n "q@ = mul(%" n "f@, %" c "~)\n%" n "r@ = mul(%" n "i@, %" n "t@)\n"                      \
    "%" c "@ = add(%" n "q@, %" n "r@)\n%" n "s@ = tanh(%" c "@)\n"                                \
    "%" h "@ = mul(%" n "o@, %" n "s@)\n"

/* Cells, @ the step and ~ the one before, and what comes after; of a second layer or direction its
 * cell and what comes before that. */
static const struct program {
    const char *inputs, *step, *after, *between, *second;
} programs[] = {
    /* a plain cell whose every state is wanted; the product with the input goes before the loop */
    {"%x: f32[9, 3, 7], %h0: f32[3, 5], %u: f32[5, 5], %w: f32[5, 7]",
     "%x@ = select(%x, 0, ~)\n%i@ = linear(%x@, %w)\n%p@ = mm(%h~, %u)\n%a@ = add(%i@, %p@)\n"
     "%h@ = tanh(%a@)\n",
     "%y = stack([%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8, %h9])\nreturn %y\n", NULL, NULL},
    /* two carried values, gates that are slices of one product, only the end is wanted */
    {"%x: f32[9, 3, 16], %h0: f32[3, 4], %c0: f32[3, 4], %u: f32[16, 4], %b: f32[16]",
     "%x@ = select(%x, 0, ~)\n%p@ = linear(%h~, %u, %b)\n%g@ = add(%x@, %p@)\n"
     "%k@ = slice(%g@, 1, 0, 4)\n%l@ = slice(%g@, 1, 4, 8)\n%m@ = slice(%g@, 1, 8, 12)\n"
     "%n@ = slice(%g@, 1, 12, 16)\n%i@ = sigmoid(%k@)\n%f@ = sigmoid(%l@)\n%t@ = tanh(%m@)\n"
     "%o@ = sigmoid(%n@)\n%q@ = mul(%f@, %c~)\n%r@ = mul(%i@, %t@)\n%c@ = add(%q@, %r@)\n"
     "%s@ = tanh(%c@)\n%h@ = mul(%o@, %s@)\n",
     "return %h9, %c9\n", NULL, NULL},
    /* bf16; a state that is a row, and one of its values on the way */
    {"%h0: bf16[1, 33], %u: bf16[33, 33], %v: bf16[33]",
     "%p@ = mm(%h~, %u)\n%a@ = add(%p@, %v)\n%h@ = sigmoid(%a@)\n", "return %h9, %h4\n", NULL,
     NULL},
    /* two layers, one loop of ten steps on a GPU; the end of one, all steps of the other */
    {"%x: f32[9, 3, 20], %h0: f32[3, 5], %c0: f32[3, 5], %u: f32[20, 5], %g0: f32[3, 5], "
     "%d0: f32[3, 5], %v: f32[20, 5], %w: f32[20, 5], %b: f32[20]",
     LSTM("x", "h", "c", "u", "a"), "%z = stack(" STACK("g") ")\nreturn %z, %h9, %d9\n",
     "%y = stack(" STACK("h") ")\n%j = linear(%y, %w, %b)\n", LSTM("j", "g", "d", "v", "b")},
    /* two directions, bf16 */
    {"%x: bf16[9, 2, 16], %h0: bf16[2, 16], %u: bf16[16, 16], %g0: bf16[2, 16], %v: bf16[16, 16]",
     "%ax@ = select(%x, 0, ~)\n%ap@ = mm(%h~, %u)\n%as@ = add(%ax@, %ap@)\n%h@ = tanh(%as@)\n",
     "%y = stack(" STACK("h") ")\n%z = stack(" STACK("g") ")\n%f = flip(%z, [0])\n"
                                                          "%c = cat([%y, %f], 2)\nreturn %c\n",
     "%j = flip(%x, [0])\n",
     "%bx@ = select(%j, 0, ~)\n%bp@ = mm(%g~, %v)\n%bs@ = add(%bx@, %bp@)\n%g@ = tanh(%bs@)\n"},
    /* a cell with a product behind what it makes of another one */
    {"%x: f32[9, 19, 14], %h0: f32[19, 7], %u: f32[14, 7], %v: f32[7, 7]",
     "%x@ = select(%x, 0, ~)\n%p@ = linear(%h~, %u)\n%g@ = add(%x@, %p@)\n"
     "%k@ = slice(%g@, 1, 0, 7)\n%l@ = slice(%g@, 1, 7, 14)\n%r@ = sigmoid(%k@)\n"
     "%z@ = sigmoid(%l@)\n%q@ = mul(%r@, %h~)\n%n@ = linear(%q@, %v)\n%t@ = tanh(%n@)\n"
     "%d@ = sub(%h~, %t@)\n%e@ = mul(%z@, %d@)\n%h@ = add(%t@, %e@)\n",
     "%y = stack(" STACK("h") ")\nreturn %y\n", NULL, NULL},
};

static void put_steps(struct buf *b, const char *step) {
    for (int t = 0; t < STEPS; t++)
        for (const char *p = step; *p; p++)
            if (*p == '@' || *p == '~')
                buf_printf(b, "%d", *p == '@' ? t + 1 : t);
            else
                buf_putc(b, *p);
}

static const char *steps_text(struct arena *a, const struct program *x, const char *products) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%s)%s {\n", x->inputs, products);
    put_steps(&b, x->step);
    if (x->second) {
        buf_puts(&b, x->between);
        put_steps(&b, x->second);
    }
    buf_printf(&b, "%s}\n", x->after);
    return b.p;
}

static struct graph *rolled(struct arena *a, const struct program *x, const char *products) {
    struct diag d = diag_new(a);
    const char *text = steps_text(a, x, products);
    struct source src = {"program", text, strlen(text)};
    struct graph *g = graph_parse(a, exprs_new(a), &src, &d);
    if (!g) WS_BUG("%s", d.text);
    struct graph *loop = graph_roll(g);
    if (loop == g) WS_BUG("no loop: %s", text);
    return loop;
}

void cases_loops(struct arena *a, case_vec *out) {
    enum { PROGRAMS = sizeof programs / sizeof *programs };
    for (size_t i = 0; i < PROGRAMS; i++) {
        struct diag d = diag_new(a);
        bool wants[16] = {true, true, true, true, true};
        struct graph *loop = rolled(a, &programs[i], ""), *joint = graph_backward(loop, wants, &d);
        if (!joint) WS_BUG("%s", d.text);
        vec_push(a, out,
                 ((struct case_graph){.text = case_text(loop), .every = 12, .launches = true}));
        vec_push(a, out, ((struct case_graph){.text = case_text(graph_hoist(joint)), .every = 48}));
    }
    for (size_t i = 0; i < 2 * PROGRAMS; i++) { /* by multiply-adds; on the matrix units */
        const char *products = i % 2 ? " products tf32" : "";
        struct graph *loop = rolled(a, &programs[i / 2], products);
        vec_push(a, out,
                 ((struct case_graph){
                     .text = case_text(loop), .every = 8, .persistent = true, .tiny = true}));
    }
    for (size_t i = 0; i < 2 * PROGRAMS; i++) {
        struct diag d = diag_new(a);
        bool wants[16] = {true, true, true, true, true};
        struct graph *loop = rolled(a, &programs[i / 2], i % 2 ? " products tf32" : ""),
                     *joint = graph_backward(loop, wants, &d);
        vec_push(a, out,
                 ((struct case_graph){.text = case_text(graph_hoist(joint)),
                                      .every = 24,
                                      .persistent = true,
                                      .tiny = true}));
    }
}
