/* operators.c: the operators for people to read, from graph/ops.def and graph/derivatives.def. */
#include <string.h>

#include "graph/derivatives.h"
#include "ws.h"

static const char *class_name(enum op_class c) {
    switch (c) {
    case POINTWISE: return "pointwise";
    case REDUCE: return "reduction";
    case SCAN: return "scan";
    case VIEW: return "view";
    case MOVE: return "move";
    case MATMUL: return "product";
    case CREATE: return "creation";
    case COMPOSITE: return "composite";
    case LOOP: return "loop";
    case INPUT: return "input";
    }
    WS_BUG("no operator class: %d", (int)c);
}

/* How the type of the result follows. */
static const char *rule_name(enum dtype_rule r) {
    switch (r) {
    case RULE_PROMOTE: return "promote";
    case RULE_FLOAT: return "float";
    case RULE_SAME: return "same";
    case RULE_BOOL: return "bool";
    case RULE_SUM: return "sum";
    case RULE_ARG: return "argument";
    case RULE_I64: return "i64";
    case RULE_CUSTOM: return "own";
    }
    WS_BUG("no type rule: %d", (int)r);
}

static const char *derivative_name(const struct op_info *op) {
    switch (derivative_of(op->id)->kind) {
    case DERIVATIVE_ZERO: return "zero";
    case DERIVATIVE_RULE:
    case DERIVATIVE_CODE: return "rule";
    case DERIVATIVE_MISSING: break;
    }
    return op->class == COMPOSITE ? "by parts" : "-";
}

static const char *becomes(const struct op_info *op) {
    if (op->class == COMPOSITE) return "primitives";
    return *op->code ? op->code : "-";
}

int ws_list_operators(struct arena *a, const char *part, const struct ws_operator **out) {
    struct ws_operator *all = NEW_ARRAY(a, struct ws_operator, OP_COUNT);
    int n = 0;
    for (int o = 0; o < OP_COUNT; o++) {
        const struct op_info *op = op_info((enum op)o);
        if (op->class == INPUT) continue;
        if (part && !strstr(op->name, part) && !strstr(op->python, part)) continue;
        all[n++] = (struct ws_operator){.name = op->name,
                                        .class = class_name(op->class),
                                        .result = rule_name(op->dtype),
                                        .derivative = derivative_name(op),
                                        .becomes = becomes(op),
                                        .call = arena_printf(a, "(%s)", op->schema),
                                        .python = *op->python ? op->python : "-"};
    }
    *out = all;
    return n;
}

const char *ws_suggest_operators(struct arena *a, const char *name) { return op_suggest(a, name); }
