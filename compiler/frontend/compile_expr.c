/* compile_expr.c: expressions and targets.
 *
 *     a < b < c      LOAD a; LOAD b; SWAP 2; COPY 2; COMPARE <; JUMP_IF_FALSE_OR_POP failed;
 *                    LOAD c; COMPARE <; JUMP end; failed: SWAP 2; POP_TOP; end:
 *
 * Where only the truth of an expression matters (if, while, assert), compile_jump_if jumps out of
 * the middle of and, or, not and chained comparisons instead of building their value. */
#include "frontend/compile.h"

/* ---- constants */

static bool fold_negative(struct unit *u, const struct expr *value, struct constant *out) {
    if (value->kind != E_CONSTANT) return false;
    if (value->constant.minus_only) {
        *out = value->constant.value;
        return true;
    }
    if (!expr_constant(u, value, out)) return false;
    if (out->kind == CONSTANT_INT)
        out->i = -out->i;
    else if (out->kind == CONSTANT_FLOAT)
        out->f = -out->f;
    else
        return false;
    return true;
}

static bool fold_tuple(struct unit *u, const struct expr *e, struct constant *out) {
    struct constant *items = NEW_ARRAY(u->f->arena, struct constant, e->items.n);
    for (uint32_t i = 0; i < e->items.n; i++)
        if (!expr_constant(u, e->items.at[i], &items[i])) return false;
    *out = (struct constant){.kind = CONSTANT_TUPLE, .n = e->items.n, .items = items};
    return true;
}

bool expr_constant(struct unit *u, const struct expr *e, struct constant *out) {
    if (e->kind == E_UNARY && e->unary.op == UNARY_NEG)
        return fold_negative(u, e->unary.value, out);
    if (e->kind == E_TUPLE) return fold_tuple(u, e, out);
    if (e->kind != E_CONSTANT) return false;
    if (e->constant.minus_only)
        syntax_error(u->f, e->at, "integer literal does not fit in 64 bits");
    *out = e->constant.value;
    return true;
}

/* 1 or 0 if the truth of e is known before it runs, else -1. */
static int known_truth(const struct expr *e) {
    if (e->kind != E_CONSTANT || e->constant.minus_only) return -1;
    const struct constant *k = &e->constant.value;
    switch (k->kind) {
    case CONSTANT_NONE:
    case CONSTANT_FALSE: return 0;
    case CONSTANT_TRUE:
    case CONSTANT_ELLIPSIS: return 1;
    case CONSTANT_INT: return k->i != 0;
    case CONSTANT_FLOAT: return k->f != 0;
    case CONSTANT_STRING: return k->n != 0;
    case CONSTANT_TUPLE:
    case CONSTANT_CODE: break;
    }
    return -1;
}

/* ---- logic and comparisons */

static void compile_logic(struct unit *u, const struct expr *e) {
    int32_t end = unit_label(u);
    enum opcode jump = e->kind == E_AND ? OP_JUMP_IF_FALSE_OR_POP : OP_JUMP_IF_TRUE_OR_POP;
    for (uint32_t i = 0; i < e->items.n; i++) {
        compile_expr(u, e->items.at[i]);
        if (i + 1 < e->items.n) unit_emit(u, jump, end, 0);
    }
    unit_bind(u, end);
}

/* x [op y], with y kept under the result for the next link. */
static void compile_link(struct unit *u, const struct expr *e, uint32_t i) {
    compile_expr(u, e->compare.operands.at[i + 1]);
    unit_emit(u, OP_SWAP, 2, 0);
    unit_emit(u, OP_COPY, 2, 0);
    unit_emit(u, OP_COMPARE_OP, (int32_t)e->compare.ops.at[i], 0);
}

static void compile_last_link(struct unit *u, const struct expr *e) {
    uint32_t last = e->compare.ops.n - 1;
    compile_expr(u, e->compare.operands.at[last + 1]);
    unit_emit(u, OP_COMPARE_OP, (int32_t)e->compare.ops.at[last], 0);
}

static void compile_comparison(struct unit *u, const struct expr *e) {
    int32_t failed = unit_label(u), end = unit_label(u);
    compile_expr(u, e->compare.operands.at[0]);
    for (uint32_t i = 0; i + 1 < e->compare.ops.n; i++) {
        compile_link(u, e, i);
        unit_emit(u, OP_JUMP_IF_FALSE_OR_POP, failed, 0);
    }
    compile_last_link(u, e);
    if (e->compare.ops.n == 1) return;
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, failed);
    unit_emit(u, OP_SWAP, 2, 0);
    unit_emit(u, OP_POP_TOP, 0, 0);
    unit_bind(u, end);
}

static void jump_if_chain(struct unit *u, const struct expr *e, int32_t label, bool when) {
    int32_t failed = unit_label(u), end = unit_label(u);
    compile_expr(u, e->compare.operands.at[0]);
    for (uint32_t i = 0; i + 1 < e->compare.ops.n; i++) {
        compile_link(u, e, i);
        unit_emit(u, OP_POP_JUMP_IF_FALSE, failed, 0);
    }
    compile_last_link(u, e);
    unit_emit(u, when ? OP_POP_JUMP_IF_TRUE : OP_POP_JUMP_IF_FALSE, label, 0);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, failed);
    unit_emit(u, OP_POP_TOP, 0, 0);
    if (!when) unit_emit(u, OP_JUMP, label, 0);
    unit_bind(u, end);
}

/* `a and b` jumps to label as soon as one is false (when = false), or once all are true; `or` is
 * its mirror. */
static void jump_if_logic(struct unit *u, const struct expr *e, int32_t label, bool when) {
    bool decides = e->kind == E_OR; /* the truth of one operand that settles the whole */
    int32_t skip = unit_label(u);
    for (uint32_t i = 0; i < e->items.n; i++) {
        bool last = i + 1 == e->items.n;
        if (last || when == decides)
            compile_jump_if(u, e->items.at[i], label, when);
        else
            compile_jump_if(u, e->items.at[i], skip, decides);
    }
    unit_bind(u, skip);
}

void compile_jump_if(struct unit *u, const struct expr *e, int32_t label, bool when) {
    struct span outer = u->span;
    u->span = place_span(u->f, e->at);
    unit_enter(u, e->at);
    int known = known_truth(e);
    if (known >= 0) {
        if (known == when) unit_emit(u, OP_JUMP, label, 0);
    } else if (e->kind == E_UNARY && e->unary.op == UNARY_NOT) {
        compile_jump_if(u, e->unary.value, label, !when);
    } else if (e->kind == E_AND || e->kind == E_OR) {
        jump_if_logic(u, e, label, when);
    } else if (e->kind == E_COMPARE && e->compare.ops.n > 1) {
        jump_if_chain(u, e, label, when);
    } else {
        compile_expr(u, e);
        unit_emit(u, when ? OP_POP_JUMP_IF_TRUE : OP_POP_JUMP_IF_FALSE, label, 0);
    }
    u->f->depth--;
    u->span = outer;
}

static void compile_ternary(struct unit *u, const struct expr *e) {
    int32_t no = unit_label(u), end = unit_label(u);
    compile_jump_if(u, e->ternary.test, no, false);
    compile_expr(u, e->ternary.yes);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, no);
    compile_expr(u, e->ternary.no);
    unit_bind(u, end);
}

/* ---- the rest */

static void compile_slice(struct unit *u, const struct expr *e) {
    const struct expr *parts[] = {e->slice.low, e->slice.high, e->slice.step};
    int n = e->slice.step ? 3 : 2;
    for (int i = 0; i < n; i++) {
        if (parts[i])
            compile_expr(u, parts[i]);
        else
            unit_emit_none(u);
    }
    unit_emit(u, OP_BUILD_SLICE, n, 0);
}

/* yield from it: each of it, and what it has returned. */
static void compile_yield_from(struct unit *u, const struct expr *e) {
    int32_t next = unit_label(u), end = unit_label(u);
    compile_expr(u, e->yield.value);
    unit_emit(u, OP_GET_ITER, 0, 0);
    unit_emit(u, OP_COPY, 1, 0);
    unit_bind(u, next);
    unit_emit(u, OP_FOR_ITER, end, 0);
    unit_emit(u, OP_YIELD_VALUE, 1, 0);
    unit_emit(u, OP_POP_TOP, 0, 0);
    unit_emit(u, OP_JUMP, next, 0);
    unit_bind(u, end);
    unit_emit(u, OP_GENERATOR_RESULT, 0, 0);
}

static void compile_yield(struct unit *u, const struct expr *e) {
    if (e->yield.from) {
        compile_yield_from(u, e);
        return;
    }
    if (e->yield.value)
        compile_expr(u, e->yield.value);
    else
        unit_emit_none(u);
    unit_emit(u, OP_YIELD_VALUE, 0, 0);
}

static void compile_value(struct unit *u, const struct expr *e) {
    switch (e->kind) {
    case E_NAME: unit_emit_load(u, e->name); break;
    case E_CONSTANT: break; /* folded */
    case E_TUPLE:
    case E_LIST:
    case E_SET:
    case E_DICT: compile_display(u, e); break;
    case E_BINARY:
        compile_expr(u, e->binary.left);
        compile_expr(u, e->binary.right);
        unit_emit(u, OP_BINARY_OP, (int32_t)e->binary.op, 0);
        break;
    case E_UNARY:
        compile_expr(u, e->unary.value);
        unit_emit(u, OP_UNARY_OP, (int32_t)e->unary.op, 0);
        break;
    case E_AND:
    case E_OR: compile_logic(u, e); break;
    case E_COMPARE: compile_comparison(u, e); break;
    case E_TERNARY: compile_ternary(u, e); break;
    case E_LAMBDA: compile_lambda(u, e); break;
    case E_CALL: compile_call(u, e); break;
    case E_ATTRIBUTE:
        compile_expr(u, e->attribute.object);
        unit_emit(u, OP_LOAD_ATTR, unit_name(u, e->attribute.name), 0);
        break;
    case E_SUBSCRIPT:
        compile_expr(u, e->subscript.object);
        compile_expr(u, e->subscript.index);
        unit_emit(u, OP_BINARY_SUBSCR, 0, 0);
        break;
    case E_SLICE: compile_slice(u, e); break;
    case E_STARRED: syntax_error(u->f, e->at, "can't use starred expression here");
    case E_WALRUS:
        compile_expr(u, e->walrus.value);
        unit_emit(u, OP_COPY, 1, 0);
        unit_emit_store(u, e->walrus.target->name);
        break;
    case E_YIELD: compile_yield(u, e); break;
    case E_COMPREHENSION: compile_comprehension(u, e); break;
    case E_JOINED: compile_joined(u, e); break;
    case E_FORMATTED: compile_formatted(u, e); break;
    }
}

void compile_expr(struct unit *u, const struct expr *e) {
    struct span outer = u->span;
    u->span = place_span(u->f, e->at);
    unit_enter(u, e->at);
    struct constant k;
    if (expr_constant(u, e, &k))
        unit_emit_const(u, k);
    else
        compile_value(u, e);
    u->f->depth--;
    u->span = outer;
}

/* ---- targets */

static void compile_unpack(struct unit *u, const struct expr *e) {
    uint32_t star = 0;
    while (star < e->items.n && e->items.at[star]->kind != E_STARRED) star++;
    if (star == e->items.n)
        unit_emit(u, OP_UNPACK_SEQUENCE, (int32_t)e->items.n, 0);
    else
        unit_emit(u, OP_UNPACK_EX, (int32_t)star, (int32_t)(e->items.n - star - 1));
    for (uint32_t i = 0; i < e->items.n; i++) {
        const struct expr *item = e->items.at[i];
        compile_store(u, item->kind == E_STARRED ? item->starred : item);
    }
}

void compile_store(struct unit *u, const struct expr *target) {
    struct span outer = u->span;
    u->span = place_span(u->f, target->at);
    switch (target->kind) {
    case E_NAME: unit_emit_store(u, target->name); break;
    case E_ATTRIBUTE:
        compile_expr(u, target->attribute.object);
        unit_emit(u, OP_STORE_ATTR, unit_name(u, target->attribute.name), 0);
        break;
    case E_SUBSCRIPT:
        compile_expr(u, target->subscript.object);
        compile_expr(u, target->subscript.index);
        unit_emit(u, OP_STORE_SUBSCR, 0, 0);
        break;
    case E_TUPLE:
    case E_LIST: compile_unpack(u, target); break;
    default: WS_BUG("assignment to a %d", target->kind);
    }
    u->span = outer;
}

void compile_delete(struct unit *u, const struct expr *target) {
    struct span outer = u->span;
    u->span = place_span(u->f, target->at);
    switch (target->kind) {
    case E_NAME: unit_emit_delete(u, target->name); break;
    case E_ATTRIBUTE:
        compile_expr(u, target->attribute.object);
        unit_emit(u, OP_DELETE_ATTR, unit_name(u, target->attribute.name), 0);
        break;
    case E_SUBSCRIPT:
        compile_expr(u, target->subscript.object);
        compile_expr(u, target->subscript.index);
        unit_emit(u, OP_DELETE_SUBSCR, 0, 0);
        break;
    case E_TUPLE:
    case E_LIST:
        for (uint32_t i = 0; i < target->items.n; i++) compile_delete(u, target->items.at[i]);
        break;
    default: WS_BUG("deletion of a %d", target->kind);
    }
    u->span = outer;
}
