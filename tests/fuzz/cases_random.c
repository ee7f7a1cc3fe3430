/* cases_random.c: random graphs of all operators, by seed. Every third has the gradients of those
 * of its inputs that are floats.
 *
 * Large ones are never run: at sizes as they are in use, rules of what pays choose otherwise than
 * on small tensors, and these graphs are there for what they choose. */
#include "graph/autograd.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/gen.h"

static const char *with_gradients(struct graph *g) {
    struct diag d = diag_new(g->arena);
    bool *wants = NEW_ARRAY(g->arena, bool, g->inputs.n + 1);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        wants[i] = dtype_is_float(g->nodes.at[g->inputs.at[i].node].meta.dtype);
    struct graph *joint = graph_backward(g, wants, &d);
    return case_text(joint ? joint : g); /* of some operators there is none */
}

void cases_random(struct arena *a, uint64_t seed, int n, bool large, case_vec *out) {
    for (int i = 0; i < n; i++) {
        uint64_t s = seed + (uint64_t)i;
        struct graph *g = large ? gen_large_graph(a, s) : gen_graph(a, s);
        vec_push(a, out,
                 ((struct case_graph){.text = i % 3 ? case_text(g) : with_gradients(g),
                                      .every = CASES_DEFAULT,
                                      .eager = true}));
    }
}
