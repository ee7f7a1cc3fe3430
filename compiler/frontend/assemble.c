/* assemble.c: finishing a code object: labels become instruction numbers, the depth of the stack is
 * found, and the invariants C1 to C4 of frontend.h are checked. */
#include "frontend/compile.h"

/* C1. */
static bool operand_fits(const struct code *c, enum operand_kind kind, int32_t v) {
    uint32_t n = (uint32_t)v;
    switch (kind) {
    case OPERAND_NONE: return v == 0;
    case OPERAND_CONST: return n < c->n_consts;
    case OPERAND_NAME: return n < c->names.n;
    case OPERAND_LOCAL: return n < c->locals.n;
    case OPERAND_LOCAL_OR_NONE: return v == -1 || n < c->locals.n;
    case OPERAND_CELL: return n < c->cells.n + c->frees.n;
    case OPERAND_COUNT: return v >= 0;
    case OPERAND_FLAG: return n <= 1;
    case OPERAND_JUMP: return n < c->n_instrs;
    case OPERAND_BINARY: return n < BINARY_COUNT;
    case OPERAND_UNARY: return n < UNARY_COUNT;
    case OPERAND_COMPARE: return n < COMPARE_COUNT;
    case OPERAND_CONVERSION: return n <= CONVERT_ASCII;
    case OPERAND_KEYWORDS:
        return v == -1 || (n < c->n_consts && c->consts[n].kind == CONSTANT_TUPLE);
    case OPERAND_FUNCTION: return n <= (MAKE_DEFAULTS | MAKE_KWDEFAULTS | MAKE_CLOSURE);
    }
    return false;
}

static void check_operands(const struct code *c) {
    for (uint32_t i = 0; i < c->n_instrs; i++) {
        struct instr in = c->instrs[i];
        bool fits = operand_fits(c, opcode_operand(in.op, 0), in.a) &&
                    operand_fits(c, opcode_operand(in.op, 1), in.b);
        if (!fits) WS_BUG("C1: %s, instruction %u (%s)", c->qualname, i, opcode_name(in.op));
    }
    WS_ASSERT(c->locals.n >= c->n_args + c->n_kwonly + c->varargs + c->varkw); /* C4 */
}

/* ---- depth of the stack: follow every way through the code once */

struct walk {
    struct frontend *f;
    struct code *code;
    int32_t *depth; /* before each instruction; -1 where no way has led yet */
    VEC(uint32_t) todo;
};

static void reach(struct walk *w, uint32_t i, int32_t depth) {
    const struct code *c = w->code;
    if (i >= c->n_instrs) WS_BUG("C3: %s runs off its end", c->qualname);
    if (depth < 0 || (w->depth[i] >= 0 && w->depth[i] != depth))
        WS_BUG("C2: %s, instruction %u: depth %d, then %d", c->qualname, i, w->depth[i], depth);
    if (w->depth[i] >= 0) return;
    w->depth[i] = depth;
    if ((uint32_t)depth > w->code->max_stack) w->code->max_stack = (uint32_t)depth;
    vec_push(w->f->scratch, &w->todo, i);
}

static bool falls_through(enum opcode op) {
    return op != OP_JUMP && op != OP_RETURN_VALUE && op != OP_RAISE && op != OP_RERAISE;
}

static void find_depths(struct frontend *f, struct code *c) {
    struct walk w = {.f = f, .code = c, .depth = NEW_ARRAY(f->scratch, int32_t, c->n_instrs)};
    for (uint32_t i = 0; i < c->n_instrs; i++) w.depth[i] = -1;
    reach(&w, 0, 0);
    while (w.todo.n) {
        uint32_t i = w.todo.at[--w.todo.n];
        struct instr in = c->instrs[i];
        if (opcode_operand(in.op, 0) == OPERAND_JUMP)
            reach(&w, (uint32_t)in.a, w.depth[i] + instr_effect(in, true));
        if (falls_through(in.op)) reach(&w, i + 1, w.depth[i] + instr_effect(in, false));
    }
}

static void resolve_labels(struct unit *u) {
    for (uint32_t i = 0; i < u->instrs.n; i++) {
        struct instr *in = &u->instrs.at[i];
        if (opcode_operand(in->op, 0) == OPERAND_JUMP) in->a = u->labels.at[in->a].target;
    }
}

struct code *unit_close(struct unit *u) {
    struct code *c = u->code;
    resolve_labels(u);
    c->instrs = u->instrs.at;
    c->spans = u->spans.at;
    c->n_instrs = u->instrs.n;
    c->consts = u->consts.at;
    c->n_consts = u->consts.n;
    check_operands(c);
    find_depths(u->f, c);
    return c;
}
