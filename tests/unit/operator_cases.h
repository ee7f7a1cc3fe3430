/* operator_cases.h: graphs of one operator each, made of the table of operators alone: whatever a
 * schema says can be filled, with operands of edge shapes that broadcast in every way.
 *
 *   add, f32, shape 3    ->    graph(%a0: f32[3, 5], %a1: f32[5]) {
 *                                %r = add(self=%a0, other=%a1)
 *                                return %r
 *                              }
 */
#ifndef OPERATOR_CASES_H
#define OPERATOR_CASES_H

#include <string.h>

#include "graph/graph.h"

/* Shapes of up to three operands: nothing, one, primes; equal, and broadcast both ways. */
static const char *const operator_shapes[][3] = {
    {"[7]", "[7]", "[7]"},
    {"[]", "[]", "[]"},
    {"[1]", "[5]", "[]"},
    {"[3, 5]", "[5]", "[3, 1]"},
    {"[5]", "[3, 1]", "[3, 5]"},
    {"[2, 3, 11]", "[3, 11]", "[1]"},
    {"[13, 1, 2]", "[2]", "[7, 1]"},
    {"[0]", "[0]", "[1]"},
    {"[4, 0]", "[4, 1]", "[]"},
    {"[0, 3]", "[3]", "[0, 1]"},
    {"[1, 1, 1]", "[1]", "[]"},
    {"[17, 19]", "[17, 19]", "[17, 19]"},
    {"[2, 6, 9]", "[4, 6, 3]", "[4]"}, /* images, filters, biases: right, and wrong by one */
    {"[2, 6, 7, 9]", "[4, 6, 3, 3]", "[4]"},
    {"[2, 6, 7, 9]", "[4, 5, 3, 3]", "[3]"},
    {"[1, 2, 4, 5, 5]", "[3, 2, 2, 2, 2]", "[3]"},
    {"[2, 3, 5]", "[2, 5, 4]", "[2, 3, 4]"}, /* products */
    {"[3, 5]", "[5, 4]", "[4]"},
    {"[5, 5]", "[5]", "[5]"},
};
enum { N_SHAPES = sizeof operator_shapes / sizeof *operator_shapes };

/* How to fill what is no tensor: a first and a second way. */
static inline const char *argument(const struct param *p, int way) {
    switch (p->kind) {
    case 'D': return p->list ? way ? "[0, -1]" : "[-1]" : way ? "0" : "-1";
    case 'S': return way ? "0.75" : "2";
    case 'F': return "0.01";
    case 'B': return way ? "True" : "False";
    case 'Y': return way ? "f32" : "f64";
    case 'I': return p->list ? NULL : way ? "1" : "0";
    }
    return NULL;
}

/* A string has its default, and for a reduction each value; losses are of what they need. */
static inline const char *string_of(const struct param *p, int way) {
    static const char *const reductions[] = {"'none'", "'sum'", "'mean'"};
    if (!strcmp(p->name, "reduction")) return reductions[way];
    return way && !strcmp(p->name, "approximate") ? "'tanh'" : NULL;
}

/* Indices must lie inside. */
static inline bool takes_indices(const struct op_info *op) {
    for (int i = 0; i < op->n_params; i++)
        if (op->params[i].kind == 'T' && !strncmp(op->params[i].name, "ind", 3)) return true;
    return op->id == OP_EMBEDDING || op->id == OP_ONE_HOT;
}

/* "graph(%a0: f32[7], ...) { %r = op(%a0, ...) }", or NULL if a parameter cannot be filled. */
static inline const char *operator_case(struct arena *a, const struct op_info *op, enum dtype t,
                                        int shape, int way) {
    struct buf inputs = buf_new(a), call = buf_new(a);
    int n = 0;
    if (takes_indices(op)) return NULL;
    for (int i = 0; i < op->n_params; i++) {
        const struct param *p = &op->params[i];
        const char *given = p->kind == 's' ? string_of(p, way) : argument(p, way);
        bool tensor = p->kind == 'T' || p->kind == '|', keeps = p->has_default && way == 0;
        if (p->list && p->kind == 'T') return NULL;
        if (tensor && n < 3 && !(keeps && p->optional)) {
            bool truth = !strcmp(p->name, "condition") || !strcmp(p->name, "mask");
            buf_printf(&inputs, "%s%%a%d: %s%s", n ? ", " : "", n, truth ? "bool" : dtype_name(t),
                       operator_shapes[shape][n]);
            buf_printf(&call, "%s%s=%%a%d", n ? ", " : "", p->name, n);
            n++;
        } else if (given && !keeps && n) {
            buf_printf(&call, ", %s=%s", p->name, given);
        } else if (!p->has_default) {
            return NULL;
        }
    }
    if (!n) return NULL;
    return arena_printf(a, "graph(%s) {\n  %%r = %s(%s)\n  return %%r\n}\n", inputs.p, op->name,
                        call.p);
}

#endif
