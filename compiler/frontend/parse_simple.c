/* parse_simple.c: statements that fit on a line: assignments, return, import, del and the like. */
#include "frontend/parse.h"

#include <string.h>

/* ---- assignment and expression statements */

static bool augmented_operator(enum token_kind kind, enum binary_operator *op) {
    switch (kind) {
    case T_ADD_ASSIGN: *op = BINARY_ADD; return true;
    case T_SUB_ASSIGN: *op = BINARY_SUB; return true;
    case T_MUL_ASSIGN: *op = BINARY_MUL; return true;
    case T_DIV_ASSIGN: *op = BINARY_DIV; return true;
    case T_FLOORDIV_ASSIGN: *op = BINARY_FLOORDIV; return true;
    case T_MOD_ASSIGN: *op = BINARY_MOD; return true;
    case T_POW_ASSIGN: *op = BINARY_POW; return true;
    case T_MATMUL_ASSIGN: *op = BINARY_MATMUL; return true;
    case T_AND_ASSIGN: *op = BINARY_AND; return true;
    case T_OR_ASSIGN: *op = BINARY_OR; return true;
    case T_XOR_ASSIGN: *op = BINARY_XOR; return true;
    case T_LSHIFT_ASSIGN: *op = BINARY_LSHIFT; return true;
    case T_RSHIFT_ASSIGN: *op = BINARY_RSHIFT; return true;
    default: return false;
    }
}

/* A value on its own: a star in it must be inside a tuple. */
static struct expr *check_value(struct parser *p, struct expr *e) {
    if (e->kind == E_STARRED) syntax_error(p->f, e->at, "can't use starred expression here");
    if (e->kind == E_WALRUS && !e->in_parens) {
        p->i--;
        syntax_error(p->f, e->at, "invalid syntax");
    }
    return e;
}

static struct stmt *parse_annotated(struct parser *p, struct expr *target) {
    check_annotated_target(p, target);
    struct stmt *s = tree_stmt(p, S_ANNOTATED, target->at);
    s->annotated.target = target;
    token_expect(p, T_COLON);
    const struct token *first = token_peek(p);
    parse_expression(p);
    const struct token *last = &p->tokens.at[p->i - 1];
    s->annotated.annotation =
        arena_strndup(p->f->arena, first->text, (size_t)(last->text + last->len - first->text));
    if (token_accept(p, T_ASSIGN)) s->annotated.value = check_value(p, parse_values(p));
    return s;
}

static struct stmt *parse_augmented(struct parser *p, struct expr *target,
                                    enum binary_operator op) {
    check_augmented_target(p, target);
    struct stmt *s = tree_stmt(p, S_AUGMENTED, target->at);
    p->i++;
    s->augmented.op = op;
    s->augmented.target = target;
    s->augmented.value = check_value(p, parse_values(p));
    return s;
}

/* a = b = value: every expression but the last is a target. */
static struct stmt *parse_assignment(struct parser *p, struct expr *first) {
    struct stmt *s = tree_stmt(p, S_ASSIGN, first->at);
    struct expr *last = first;
    while (token_accept(p, T_ASSIGN)) {
        check_target(p, last, TARGET_ASSIGN);
        vec_push(p->f->arena, &s->assign.targets, last);
        last = parse_values(p);
    }
    s->assign.value = check_value(p, last);
    return s;
}

/* `print x` and `exec x` of Python 2. */
static void check_print(struct parser *p, const struct expr *e) {
    const struct token *t = token_peek(p);
    if (e->kind != E_NAME || (strcmp(e->name, "print") && strcmp(e->name, "exec"))) return;
    if (t->kind == T_NAME || t->kind == T_STRING || t->kind == T_INT || t->kind == T_FLOAT)
        syntax_error(p->f, place_join(e->at, t->at),
                     "Missing parentheses in call to '%s'. Did you mean %s(...)?", e->name,
                     e->name);
}

static struct stmt *parse_expression_statement(struct parser *p) {
    struct expr *e = parse_values(p);
    enum binary_operator op;
    if (token_is(p, T_COLON)) return parse_annotated(p, e);
    if (token_is(p, T_ASSIGN)) return parse_assignment(p, e);
    if (augmented_operator(token_peek(p)->kind, &op)) return parse_augmented(p, e, op);
    check_print(p, e);
    struct stmt *s = tree_stmt(p, S_EXPR, e->at);
    s->expr = check_value(p, e);
    return s;
}

/* ---- statements that begin with a keyword */

static bool at_line_end(const struct parser *p) {
    return token_is(p, T_NEWLINE) || token_is(p, T_SEMI) || token_is(p, T_END);
}

static struct stmt *parse_return(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_RETURN, token_expect(p, T_K_RETURN));
    if (!at_line_end(p)) s->expr = check_value(p, parse_expressions(p));
    return s;
}

static struct stmt *parse_raise(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_RAISE, token_expect(p, T_K_RAISE));
    if (at_line_end(p)) return s;
    s->raise.exception = parse_expression(p);
    if (token_accept(p, T_K_FROM)) s->raise.cause = parse_expression(p);
    return s;
}

static struct stmt *parse_assert(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_ASSERT, token_expect(p, T_K_ASSERT));
    s->assert_.test = parse_expression(p);
    check_no_assignment(p, s->assert_.test);
    if (token_accept(p, T_COMMA)) s->assert_.message = parse_expression(p);
    return s;
}

static struct stmt *parse_delete(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_DELETE, token_expect(p, T_K_DEL));
    do {
        struct expr *target = parse_operand(p);
        check_target(p, target, TARGET_DELETE);
        vec_push(p->f->arena, &s->targets, target);
    } while (token_accept(p, T_COMMA) && !at_line_end(p));
    return s;
}

static struct stmt *parse_scope_names(struct parser *p, enum stmt_kind kind) {
    struct stmt *s = tree_stmt(p, kind, token_peek(p)->at);
    p->i++;
    do {
        const char *name = token_expect_name(p);
        vec_push(p->f->arena, &s->names, name);
    } while (token_accept(p, T_COMMA));
    return s;
}

/* ---- imports */

static const char *parse_dotted_name(struct parser *p) {
    struct buf b = buf_new(p->f->arena);
    buf_puts(&b, token_expect_name(p));
    while (token_accept(p, T_DOT)) {
        buf_putc(&b, '.');
        buf_puts(&b, token_expect_name(p));
    }
    return b.p;
}

static void parse_alias(struct parser *p, struct stmt *s, bool dotted) {
    struct alias alias = {.at = token_peek(p)->at};
    alias.dotted = dotted ? parse_dotted_name(p) : token_expect_name(p);
    if (token_accept(p, T_K_AS)) alias.name = token_expect_name(p);
    alias.at = place_join(alias.at, token_last_place(p));
    vec_push(p->f->arena, &s->import.aliases, alias);
}

static struct stmt *parse_import(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_IMPORT, token_expect(p, T_K_IMPORT));
    do {
        parse_alias(p, s, true);
    } while (token_accept(p, T_COMMA));
    return s;
}

static struct stmt *parse_from(struct parser *p) {
    struct stmt *s = tree_stmt(p, S_FROM, token_expect(p, T_K_FROM));
    struct buf module = buf_new(p->f->arena);
    while (token_is(p, T_DOT) || token_is(p, T_ELLIPSIS))
        buf_puts(&module, token_accept(p, T_DOT) ? "." : (token_accept(p, T_ELLIPSIS), "..."));
    if (!module.n || !token_is(p, T_K_IMPORT)) buf_puts(&module, parse_dotted_name(p));
    s->import.module = module.p;
    token_expect(p, T_K_IMPORT);
    if (token_accept(p, T_MUL)) {
        s->import.star = true;
        return s;
    }
    bool parens = token_accept(p, T_LPAR);
    do {
        if (parens && s->import.aliases.n && token_is(p, T_RPAR)) break;
        if (!parens && s->import.aliases.n && at_line_end(p))
            syntax_error(p->f, token_last_place(p),
                         "trailing comma not allowed without surrounding parentheses");
        parse_alias(p, s, false);
    } while (token_accept(p, T_COMMA));
    if (parens) token_expect(p, T_RPAR);
    return s;
}

/* ---- one line */

static struct stmt *parse_bare(struct parser *p, enum stmt_kind kind) {
    struct stmt *s = tree_stmt(p, kind, token_peek(p)->at);
    p->i++;
    return s;
}

static struct stmt *parse_simple(struct parser *p) {
    switch (token_peek(p)->kind) {
    case T_K_RETURN: return parse_return(p);
    case T_K_RAISE: return parse_raise(p);
    case T_K_ASSERT: return parse_assert(p);
    case T_K_DEL: return parse_delete(p);
    case T_K_PASS: return parse_bare(p, S_PASS);
    case T_K_BREAK: return parse_bare(p, S_BREAK);
    case T_K_CONTINUE: return parse_bare(p, S_CONTINUE);
    case T_K_GLOBAL: return parse_scope_names(p, S_GLOBAL);
    case T_K_NONLOCAL: return parse_scope_names(p, S_NONLOCAL);
    case T_K_IMPORT: return parse_import(p);
    case T_K_FROM: return parse_from(p);
    default: return parse_expression_statement(p);
    }
}

void parse_simple_line(struct parser *p, struct stmts *out) {
    do {
        struct place from = token_peek(p)->at;
        struct stmt *s = parse_simple(p);
        s->at = place_join(from, token_last_place(p));
        vec_push(p->f->arena, out, s);
    } while (token_accept(p, T_SEMI) && !token_is(p, T_NEWLINE));
    token_expect(p, T_NEWLINE);
}
