/* operators.c: the table of operators as text, from graph/ops.def and graph/derivatives.def.
 *
 *   operator   class      result   derivative  becomes       call                        python
 *   softmax    composite  float    rule        primitives    (self:T dim:D dtype:Y?)     F.softmax
 *   exp        pointwise  float    rule        k_exp($0)     (self:T)                    torch.exp
 */
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

/* "(self:T alpha:S=1)" */
static const char *call_text(struct arena *a, const struct op_info *op) {
    return arena_printf(a, "(%s)", op->schema);
}

enum { COLUMNS = 6, GAP = 2 };

/* The last column, the Python names, is as long as it is. */
static void put_row(struct buf *b, const char *const *cells, const int *width, const char *names) {
    for (int i = 0; i < COLUMNS; i++) buf_printf(b, "%-*s", width[i] + GAP, cells[i]);
    buf_printf(b, "%s\n", *names ? names : "-");
}

static void fill_row(struct arena *a, const struct op_info *op, const char **cells) {
    cells[0] = op->name;
    cells[1] = class_name(op->class);
    cells[2] = rule_name(op->dtype);
    cells[3] = derivative_name(op);
    cells[4] = becomes(op);
    cells[5] = call_text(a, op);
}

int ws_list_operators(struct buf *b, const char *part) {
    static const char *const head[COLUMNS] = {"operator",   "class",   "result",
                                              "derivative", "becomes", "call"};
    struct arena *a = b->arena;
    int width[COLUMNS] = {0}, found = 0;
    for (int i = 0; i < COLUMNS; i++) width[i] = (int)strlen(head[i]);
    for (int print = 0; print <= 1; print++) {
        if (print) put_row(b, head, width, "python");
        for (int o = 0; o < OP_COUNT; o++) {
            const struct op_info *op = op_info((enum op)o);
            const char *cells[COLUMNS];
            if (op->class == INPUT) continue;
            if (part && !strstr(op->name, part) && !strstr(op->python, part)) continue;
            fill_row(a, op, cells);
            for (int i = 0; i < COLUMNS && !print; i++)
                if ((int)strlen(cells[i]) > width[i]) width[i] = (int)strlen(cells[i]);
            if (print) put_row(b, cells, width, op->python);
            found += print;
        }
    }
    return found;
}

const char *ws_suggest_operators(struct arena *a, const char *name) { return op_suggest(a, name); }
