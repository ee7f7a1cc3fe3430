/* parse_stmt.c: statements with blocks, and the file as a whole. */
#include "frontend/parse.h"

#include <string.h>

static void parse_statement(struct parser *p, struct stmts *out);

struct stmt *tree_stmt(struct parser *p, enum stmt_kind kind, struct place where) {
    struct stmt *s = NEW(p->f->arena, struct stmt);
    s->kind = kind;
    s->at = where;
    return s;
}

struct stmts parse_block(struct parser *p, const char *what, uint32_t line) {
    struct stmts body = {0};
    parser_deeper(p);
    token_expect(p, T_COLON);
    if (token_accept(p, T_NEWLINE)) {
        if (!token_accept(p, T_INDENT)) {
            if (token_is(p, T_ERROR)) invalid_syntax(p);
            frontend_fail_at(p->f, token_peek(p)->at,
                             "IndentationError: expected an indented block after %s on line %u",
                             what, line);
        }
        while (!token_accept(p, T_DEDENT)) parse_statement(p, &body);
    } else {
        parse_simple_line(p, &body);
    }
    p->f->depth--;
    return body;
}

/* ---- if, while, for */

static struct expr *parse_condition(struct parser *p) {
    struct expr *test = parse_named_expression(p);
    check_no_assignment(p, test);
    return test;
}

static struct stmts parse_else(struct parser *p) {
    struct stmts none = {0};
    uint32_t line = token_peek(p)->at.line;
    return token_accept(p, T_K_ELSE) ? parse_block(p, "'else' statement", line) : none;
}

/* An `elif` is an `if` alone in the else branch. */
static struct stmt *parse_if(struct parser *p) {
    struct place from = token_peek(p)->at;
    const char *what = token_is(p, T_K_IF) ? "'if' statement" : "'elif' statement";
    p->i++;
    parser_deeper(p);
    struct stmt *s = tree_stmt(p, S_IF, from);
    s->branch.test = parse_condition(p);
    s->at = place_join(from, s->branch.test->at);
    s->branch.body = parse_block(p, what, from.line);
    if (token_is(p, T_K_ELIF)) {
        struct stmt *elif = parse_if(p);
        vec_push(p->f->arena, &s->branch.orelse, elif);
    } else {
        s->branch.orelse = parse_else(p);
    }
    p->f->depth--;
    return s;
}

static struct stmt *parse_while(struct parser *p) {
    struct place from = token_expect(p, T_K_WHILE);
    struct stmt *s = tree_stmt(p, S_WHILE, from);
    s->branch.test = parse_condition(p);
    s->at = place_join(from, s->branch.test->at);
    s->branch.body = parse_block(p, "'while' statement", from.line);
    s->branch.orelse = parse_else(p);
    return s;
}

static struct stmt *parse_for(struct parser *p) {
    struct place from = token_expect(p, T_K_FOR);
    struct stmt *s = tree_stmt(p, S_FOR, from);
    s->for_.target = parse_for_target(p);
    if (!token_is(p, T_K_IN)) invalid_syntax(p);
    p->i++;
    s->for_.iter = parse_expressions(p);
    s->at = place_join(from, s->for_.iter->at);
    s->for_.body = parse_block(p, "'for' statement", from.line);
    s->for_.orelse = parse_else(p);
    return s;
}

/* ---- with */

/* Is the parenthesis here around several items (`with (a as b, c):`), and not part of an
 * expression? It is if its partner comes just before the colon and an `as` or a comma stands
 * directly inside. */
static bool with_items_in_parens(const struct parser *p) {
    if (!token_is(p, T_LPAR)) return false;
    bool several = false;
    for (uint32_t i = p->i + 1; i < p->tokens.n; i++) {
        const struct token *t = &p->tokens.at[i];
        if (t->kind == T_RPAR && t->open == token_peek(p)->open)
            return several && p->tokens.at[i + 1].kind == T_COLON;
        if (t->open == (int32_t)p->i) several |= t->kind == T_K_AS || t->kind == T_COMMA;
    }
    return false;
}

static struct stmt *parse_with(struct parser *p) {
    struct place from = token_expect(p, T_K_WITH);
    struct stmt *s = tree_stmt(p, S_WITH, from);
    bool parens = with_items_in_parens(p);
    if (parens) p->i++;
    do {
        if (parens && s->with.items.n && token_is(p, T_RPAR)) break;
        struct with_item item = {.manager = parse_expression(p)};
        if (token_accept(p, T_K_AS)) {
            item.target = parse_primary(p);
            check_target(p, item.target, TARGET_WITH);
        }
        vec_push(p->f->arena, &s->with.items, item);
    } while (token_accept(p, T_COMMA));
    if (parens) token_expect(p, T_RPAR);
    s->at = place_join(from, token_last_place(p));
    s->with.body = parse_block(p, "'with' statement", from.line);
    return s;
}

/* ---- try */

static void parse_handler(struct parser *p, struct stmt *s) {
    struct handler h = {.at = token_expect(p, T_K_EXCEPT)};
    struct place from = h.at;
    if (token_is(p, T_MUL)) syntax_error(p->f, token_peek(p)->at, "'except*' is not supported");
    if (!token_is(p, T_COLON)) {
        h.type = parse_expression(p);
        if (token_is(p, T_COMMA))
            syntax_error(p->f, h.type->at, "multiple exception types must be parenthesized");
        if (token_accept(p, T_K_AS)) h.name = token_expect_name(p);
    }
    h.at = place_join(from, token_last_place(p));
    h.body = parse_block(p, "'except' statement", from.line);
    vec_push(p->f->arena, &s->try_.handlers, h);
}

static void check_bare_except_is_last(struct parser *p, const struct stmt *s) {
    for (uint32_t i = 0; i + 1 < s->try_.handlers.n; i++)
        if (!s->try_.handlers.at[i].type)
            syntax_error(p->f, s->try_.handlers.at[i].at, "default 'except:' must be last");
}

static struct stmt *parse_try(struct parser *p) {
    struct place from = token_expect(p, T_K_TRY);
    struct stmt *s = tree_stmt(p, S_TRY, from);
    s->try_.body = parse_block(p, "'try' statement", from.line);
    while (token_is(p, T_K_EXCEPT)) parse_handler(p, s);
    check_bare_except_is_last(p, s);
    if (s->try_.handlers.n) s->try_.orelse = parse_else(p);
    struct place final = token_peek(p)->at;
    if (token_accept(p, T_K_FINALLY))
        s->try_.final = parse_block(p, "'finally' statement", final.line);
    else if (!s->try_.handlers.n) {
        if (token_is(p, T_ERROR)) invalid_syntax(p);
        syntax_error(p->f, token_peek(p)->at, "expected 'except' or 'finally' block");
    }
    return s;
}

/* ---- the whole */

/* `match x:` at the end of its line is the statement; match(x), match = 1, match[0]: int are names.
 */
static bool at_match_statement(const struct parser *p) {
    if (!token_is_word(p, "match") || token_peek_at(p, 1)->kind == T_COLON) return false;
    uint32_t i = p->i;
    while (p->tokens.at[i].kind > T_NEWLINE) i++;
    return p->tokens.at[i].kind == T_NEWLINE && p->tokens.at[i - 1].kind == T_COLON &&
           token_peek_at(p, 1)->kind != T_ASSIGN;
}

static struct stmt *parse_compound(struct parser *p) {
    struct expr_list none = {0};
    switch (token_peek(p)->kind) {
    case T_K_IF: return parse_if(p);
    case T_K_WHILE: return parse_while(p);
    case T_K_FOR: return parse_for(p);
    case T_K_WITH: return parse_with(p);
    case T_K_TRY: return parse_try(p);
    case T_K_DEF: return parse_def(p, none);
    case T_K_ASYNC: return token_peek_at(p, 1)->kind == T_K_DEF ? parse_def(p, none) : NULL;
    case T_K_CLASS: return parse_class(p, none);
    case T_MATMUL: return parse_decorated(p);
    default: return NULL;
    }
}

static void parse_statement(struct parser *p, struct stmts *out) {
    struct stmt *compound = at_match_statement(p) ? parse_match(p) : parse_compound(p);
    if (compound)
        vec_push(p->f->arena, out, compound);
    else
        parse_simple_line(p, out);
}

struct module *parse_module(struct frontend *f) {
    struct parser p = {.f = f, .tokens = lex_file(f)};
    struct module *m = NEW(f->arena, struct module);
    f->depth = 0;
    while (!token_is(&p, T_END)) parse_statement(&p, &m->body);
    return m;
}
