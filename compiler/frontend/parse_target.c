/* parse_target.c: which expressions may be assigned to or deleted. The parser reads a target as an
 * expression and asks here once it meets the `=`. */
#include "frontend/parse.h"

const char *expr_describe(const struct expr *e) {
    switch (e->kind) {
    case E_NAME: return "name";
    case E_CONSTANT:
        switch (e->constant.value.kind) {
        case CONSTANT_NONE: return "None";
        case CONSTANT_TRUE: return "True";
        case CONSTANT_FALSE: return "False";
        case CONSTANT_ELLIPSIS: return "ellipsis";
        default: return "literal";
        }
    case E_TUPLE: return "tuple";
    case E_LIST: return "list";
    case E_SET: return "set display";
    case E_DICT: return "dict literal";
    case E_BINARY:
    case E_UNARY:
    case E_AND:
    case E_OR: return "expression";
    case E_COMPARE: return "comparison";
    case E_TERNARY: return "conditional expression";
    case E_LAMBDA: return "lambda";
    case E_CALL: return "function call";
    case E_ATTRIBUTE: return "attribute";
    case E_SUBSCRIPT: return "subscript";
    case E_SLICE: return "slice";
    case E_STARRED: return "starred";
    case E_WALRUS: return "named expression";
    case E_YIELD: return "yield expression";
    case E_COMPREHENSION:
        switch (e->comprehension.kind) {
        case COMPREHEND_LIST: return "list comprehension";
        case COMPREHEND_SET: return "set comprehension";
        case COMPREHEND_DICT: return "dict comprehension";
        case COMPREHEND_GENERATOR: return "generator expression";
        }
        break;
    case E_JOINED:
    case E_FORMATTED: return "f-string expression";
    }
    WS_BUG("expression of unknown kind %d", e->kind);
}

/* True, False, None and ... can never be meant as the left side of a comparison. */
static bool is_keyword_constant(const struct expr *e) {
    return e->kind == E_CONSTANT &&
           (e->constant.value.kind <= CONSTANT_TRUE || e->constant.value.kind == CONSTANT_ELLIPSIS);
}

__attribute__((noreturn)) static void refuse(struct parser *p, const struct expr *e,
                                             enum target_use use, bool outermost) {
    const char *what = expr_describe(e);
    if (use == TARGET_DELETE) syntax_error(p->f, e->at, "cannot delete %s", what);
    bool hint = use == TARGET_ASSIGN && outermost && !is_keyword_constant(e);
    syntax_error(p->f, e->at, "cannot assign to %s%s", what,
                 hint ? " here. Maybe you meant '==' instead of '='?" : "");
}

static void check(struct parser *p, const struct expr *e, enum target_use use, bool outermost);

static void check_items(struct parser *p, const struct expr *list, enum target_use use) {
    uint32_t n_starred = 0;
    for (uint32_t i = 0; i < list->items.n; i++) {
        const struct expr *item = list->items.at[i];
        if (item->kind == E_STARRED && use != TARGET_DELETE) {
            if (n_starred++)
                syntax_error(p->f, list->at, "multiple starred expressions in assignment");
            item = item->starred;
        }
        check(p, item, use, false);
    }
}

static void check(struct parser *p, const struct expr *e, enum target_use use, bool outermost) {
    parser_deeper(p);
    switch (e->kind) {
    case E_NAME:
    case E_ATTRIBUTE:
    case E_SUBSCRIPT: break;
    case E_TUPLE:
    case E_LIST: check_items(p, e, use); break;
    case E_STARRED:
        if (use != TARGET_DELETE)
            syntax_error(p->f, e->at, "starred assignment target must be in a list or tuple");
        refuse(p, e, use, outermost);
    default: refuse(p, e, use, outermost);
    }
    p->f->depth--;
}

void check_target(struct parser *p, const struct expr *e, enum target_use use) {
    check(p, e, use, true);
}

static bool is_single_target(const struct expr *e) {
    return e->kind == E_NAME || e->kind == E_ATTRIBUTE || e->kind == E_SUBSCRIPT;
}

void check_augmented_target(struct parser *p, const struct expr *e) {
    if (!is_single_target(e))
        syntax_error(p->f, e->at, "'%s' is an illegal expression for augmented assignment",
                     expr_describe(e));
}

void check_annotated_target(struct parser *p, const struct expr *e) {
    if (is_single_target(e)) return;
    if (e->kind == E_LIST || e->kind == E_TUPLE)
        syntax_error(p->f, e->at, "only single target (not %s) can be annotated", expr_describe(e));
    syntax_error(p->f, e->at, "illegal target for annotation");
}

static struct expr *parse_for_item(struct parser *p) {
    struct place from = token_peek(p)->at;
    if (!token_accept(p, T_MUL)) return parse_operand(p);
    struct expr *value = parse_operand(p);
    struct expr *e = tree_expr(p, E_STARRED, place_join(from, value->at));
    e->starred = value;
    return e;
}

struct expr *parse_for_target(struct parser *p) {
    struct expr *first = parse_for_item(p);
    struct expr *target = first;
    if (token_is(p, T_COMMA)) {
        target = tree_expr(p, E_TUPLE, first->at);
        vec_push(p->f->arena, &target->items, first);
        while (token_accept(p, T_COMMA) && starts_expression(p))
            vec_push(p->f->arena, &target->items, parse_for_item(p));
        target->at = place_join(first->at, token_last_place(p));
    }
    check_target(p, target, TARGET_FOR);
    return target;
}
