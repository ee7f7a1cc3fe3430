/* parse_expr.c: operators, from the loosest to the tightest.
 *
 *     a if b else c; or; and; not; < == in is; |; ^; &; << >>; + -; * / // % @; unary - + ~; **
 *
 * The binary operators are one precedence-climbing loop over a table. */
#include "frontend/parse.h"

#include <string.h>

/* ---- binary operators */

static int binary_precedence(enum token_kind kind, enum binary_operator *op) {
    static const struct {
        enum token_kind token;
        enum binary_operator op;
        int precedence;
    } table[] = {
        {T_OR, BINARY_OR, 1},         {T_XOR, BINARY_XOR, 2},
        {T_AND, BINARY_AND, 3},       {T_LSHIFT, BINARY_LSHIFT, 4},
        {T_RSHIFT, BINARY_RSHIFT, 4}, {T_ADD, BINARY_ADD, 5},
        {T_SUB, BINARY_SUB, 5},       {T_MUL, BINARY_MUL, 6},
        {T_DIV, BINARY_DIV, 6},       {T_MOD, BINARY_MOD, 6},
        {T_MATMUL, BINARY_MATMUL, 6}, {T_FLOORDIV, BINARY_FLOORDIV, 6},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].token != kind) continue;
        *op = table[i].op;
        return table[i].precedence;
    }
    return 0;
}

static struct expr *binary_new(struct parser *p, enum binary_operator op, struct expr *left,
                               struct expr *right) {
    struct expr *e = tree_expr(p, E_BINARY, place_join(left->at, right->at));
    e->binary.op = op;
    e->binary.left = left;
    e->binary.right = right;
    return e;
}

/* -x, +x, ~x, and x ** y, whose right side is a unary again: -x ** -y is -(x ** (-y)). */
static struct expr *parse_unary(struct parser *p) {
    struct place from = token_peek(p)->at;
    enum unary_operator op;
    if (token_is(p, T_SUB)) {
        op = UNARY_NEG;
    } else if (token_is(p, T_ADD)) {
        op = UNARY_POS;
    } else if (token_is(p, T_INVERT)) {
        op = UNARY_INVERT;
    } else {
        struct expr *base = parse_primary(p);
        if (!token_accept(p, T_POW)) return base;
        parser_deeper(p);
        struct expr *power = binary_new(p, BINARY_POW, base, parse_unary(p));
        p->f->depth--;
        return power;
    }
    p->i++;
    parser_deeper(p);
    struct expr *value = parse_unary(p);
    p->f->depth--;
    struct expr *e = tree_expr(p, E_UNARY, place_join(from, value->at));
    e->unary.op = op;
    e->unary.value = value;
    return e;
}

static struct expr *parse_binary(struct parser *p, int least) {
    struct expr *left = parse_unary(p);
    for (;;) {
        enum binary_operator op;
        int precedence = binary_precedence(token_peek(p)->kind, &op);
        if (precedence < least || precedence == 0) return left;
        p->i++;
        left = binary_new(p, op, left, parse_binary(p, precedence + 1));
    }
}

struct expr *parse_operand(struct parser *p) {
    return parse_binary(p, 1);
}

/* ---- comparisons and logic */

static bool accept_comparison(struct parser *p, enum compare_operator *op) {
    enum token_kind next = token_peek_at(p, 1)->kind;
    switch (token_peek(p)->kind) {
    case T_LT: *op = COMPARE_LT; break;
    case T_LE: *op = COMPARE_LE; break;
    case T_EQ: *op = COMPARE_EQ; break;
    case T_NE: *op = COMPARE_NE; break;
    case T_GT: *op = COMPARE_GT; break;
    case T_GE: *op = COMPARE_GE; break;
    case T_K_IN: *op = COMPARE_IN; break;
    case T_K_IS: *op = next == T_K_NOT ? COMPARE_IS_NOT : COMPARE_IS; break;
    case T_K_NOT:
        if (next != T_K_IN) return false;
        *op = COMPARE_NOT_IN;
        break;
    default: return false;
    }
    p->i += *op == COMPARE_IS_NOT || *op == COMPARE_NOT_IN ? 2 : 1;
    return true;
}

static struct expr *parse_comparison(struct parser *p) {
    struct expr *left = parse_operand(p);
    enum compare_operator op;
    if (!accept_comparison(p, &op)) return left;
    struct expr *e = tree_expr(p, E_COMPARE, left->at);
    vec_push(p->f->arena, &e->compare.operands, left);
    do {
        struct expr *right = parse_operand(p);
        vec_push(p->f->arena, &e->compare.ops, op);
        vec_push(p->f->arena, &e->compare.operands, right);
        e->at = place_join(left->at, right->at);
    } while (accept_comparison(p, &op));
    return e;
}

static struct expr *parse_not(struct parser *p) {
    struct place from = token_peek(p)->at;
    if (!token_accept(p, T_K_NOT)) return parse_comparison(p);
    parser_deeper(p);
    struct expr *value = parse_not(p);
    p->f->depth--;
    struct expr *e = tree_expr(p, E_UNARY, place_join(from, value->at));
    e->unary.op = UNARY_NOT;
    e->unary.value = value;
    return e;
}

/* item (word item)*, flat. */
static struct expr *parse_chain(struct parser *p, struct expr *(*item)(struct parser *),
                                enum token_kind word, enum expr_kind kind) {
    struct expr *first = item(p);
    if (!token_is(p, word)) return first;
    struct expr *e = tree_expr(p, kind, first->at);
    vec_push(p->f->arena, &e->items, first);
    while (token_accept(p, word)) {
        struct expr *next = item(p);
        vec_push(p->f->arena, &e->items, next);
        e->at = place_join(first->at, next->at);
    }
    return e;
}

static struct expr *parse_and(struct parser *p) {
    return parse_chain(p, parse_not, T_K_AND, E_AND);
}

struct expr *parse_disjunction(struct parser *p) {
    return parse_chain(p, parse_and, T_K_OR, E_OR);
}

/* ---- the loosest: lambda, a if b else c, x := y, *x, a, b */

static struct expr *parse_lambda(struct parser *p) {
    struct place from = token_expect(p, T_K_LAMBDA);
    struct expr *e = tree_expr(p, E_LAMBDA, from);
    e->lambda.params = parse_params(p, T_COLON);
    token_expect(p, T_COLON);
    e->lambda.body = parse_expression(p);
    e->at = place_join(from, e->lambda.body->at);
    return e;
}

static struct expr *parse_ternary(struct parser *p) {
    struct expr *yes = parse_disjunction(p);
    if (!token_accept(p, T_K_IF)) return yes;
    struct expr *test = parse_disjunction(p);
    if (token_is(p, T_COLON) || token_is(p, T_NEWLINE) || token_is(p, T_RPAR))
        syntax_error(p->f, place_join(yes->at, test->at), "expected 'else' after 'if' expression");
    token_expect(p, T_K_ELSE);
    struct expr *no = parse_expression(p);
    struct expr *e = tree_expr(p, E_TERNARY, place_join(yes->at, no->at));
    e->ternary.test = test;
    e->ternary.yes = yes;
    e->ternary.no = no;
    return e;
}

struct expr *parse_expression(struct parser *p) {
    parser_deeper(p);
    struct expr *e = token_is(p, T_K_LAMBDA) ? parse_lambda(p) : parse_ternary(p);
    p->f->depth--;
    return e;
}

struct expr *parse_named_expression(struct parser *p) {
    struct expr *target = parse_expression(p);
    if (!token_is(p, T_WALRUS)) return target;
    if (target->kind != E_NAME || target->in_parens)
        syntax_error(p->f, target->at, "cannot use assignment expressions with %s",
                     expr_describe(target));
    p->i++;
    struct expr *value = parse_expression(p);
    struct expr *e = tree_expr(p, E_WALRUS, place_join(target->at, value->at));
    e->walrus.target = target;
    e->walrus.value = value;
    return e;
}

static struct expr *parse_starred(struct parser *p, struct expr *(*parse)(struct parser *)) {
    struct place from = token_peek(p)->at;
    if (!token_accept(p, T_MUL)) return parse_named_expression(p);
    struct expr *value = parse(p);
    struct expr *e = tree_expr(p, E_STARRED, place_join(from, value->at));
    e->starred = value;
    return e;
}

struct expr *parse_starred_expression(struct parser *p) {
    return parse_starred(p, parse_operand);
}
struct expr *parse_starred_argument(struct parser *p) {
    return parse_starred(p, parse_expression);
}

bool starts_expression(const struct parser *p) {
    switch (token_peek(p)->kind) {
    case T_NAME:
    case T_INT:
    case T_FLOAT:
    case T_STRING:
    case T_LPAR:
    case T_LSQB:
    case T_LBRACE:
    case T_SUB:
    case T_ADD:
    case T_MUL:
    case T_INVERT:
    case T_ELLIPSIS:
    case T_K_NOT:
    case T_K_LAMBDA:
    case T_K_NONE:
    case T_K_TRUE:
    case T_K_FALSE:
    case T_K_AWAIT: return true;
    default: return false;
    }
}

struct expr *parse_expressions(struct parser *p) {
    struct expr *first = parse_starred_expression(p);
    if (!token_is(p, T_COMMA)) return first;
    struct expr *tuple = tree_expr(p, E_TUPLE, first->at);
    vec_push(p->f->arena, &tuple->items, first);
    while (token_accept(p, T_COMMA) && starts_expression(p))
        vec_push(p->f->arena, &tuple->items, parse_starred_expression(p));
    tuple->at = place_join(first->at, token_last_place(p));
    return tuple;
}

/* yield, yield a, b, yield from c: as loose as an assignment's value. */
struct expr *parse_values(struct parser *p) {
    if (!token_is(p, T_K_YIELD)) return parse_expressions(p);
    struct expr *e = tree_expr(p, E_YIELD, token_expect(p, T_K_YIELD));
    e->yield.from = token_accept(p, T_K_FROM);
    if (e->yield.from)
        e->yield.value = parse_expression(p);
    else if (starts_expression(p))
        e->yield.value = parse_expressions(p);
    if (e->yield.value) e->at = place_join(e->at, e->yield.value->at);
    return e;
}
