/* parse.c: reading tokens, and saying what is wrong with them. */
#include "frontend/parse.h"

#include <string.h>

const struct token *token_peek(const struct parser *p) { return &p->tokens.at[p->i]; }

const struct token *token_peek_at(const struct parser *p, int n) {
    uint32_t i = p->i + (uint32_t)n;
    return &p->tokens.at[i < p->tokens.n ? i : p->tokens.n - 1];
}

struct place token_last_place(const struct parser *p) {
    return p->i ? p->tokens.at[p->i - 1].at : token_peek(p)->at;
}

bool token_is(const struct parser *p, enum token_kind kind) { return token_peek(p)->kind == kind; }

bool token_is_word(const struct parser *p, const char *word) {
    const struct token *t = token_peek(p);
    return t->kind == T_NAME && t->len == strlen(word) && memcmp(t->text, word, t->len) == 0;
}

bool token_accept(struct parser *p, enum token_kind kind) {
    if (!token_is(p, kind)) return false;
    p->i++;
    return true;
}

static void check_readable(struct parser *p) {
    if (token_is(p, T_ERROR)) frontend_fail_at(p->f, token_peek(p)->at, "%s", token_peek(p)->error);
}

/* A bracket opened on an earlier line and never closed is the likelier mistake than what the parser
 * met inside it. */
static void check_bracket_closed(struct parser *p) {
    const struct token *t = token_peek(p);
    if (t->open < 0) return;
    const struct token *last = &p->tokens.at[p->tokens.n - 1];
    const struct token *open = &p->tokens.at[t->open];
    if (last->kind == T_END && last->open >= 0 && (t == last || open->at.line < t->at.line))
        syntax_error(p->f, open->at, "'%s' was never closed", token_text(open->kind));
}

void invalid_syntax(struct parser *p) {
    check_readable(p);
    check_bracket_closed(p);
    const struct token *t = token_peek(p);
    const char *where = p->in_fstring ? "f-string: " : "";
    if (t->kind == T_INDENT) frontend_fail_at(p->f, t->at, "IndentationError: unexpected indent");
    if (t->kind == T_DEDENT) frontend_fail_at(p->f, t->at, "IndentationError: unexpected unindent");
    if (t->kind == T_K_ASYNC || t->kind == T_K_AWAIT)
        syntax_error(p->f, t->at, "'%s' is not supported", token_text(t->kind));
    syntax_error(p->f, t->at, "%sinvalid syntax", where);
}

void check_no_assignment(struct parser *p, const struct expr *left) {
    if (!token_is(p, T_ASSIGN) || p->in_fstring) return;
    check_bracket_closed(p);
    if (left->kind == E_NAME)
        syntax_error(p->f, place_join(left->at, token_peek(p)->at),
                     "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    syntax_error(p->f, left->at, "cannot assign to %s here. Maybe you meant '==' instead of '='?",
                 expr_describe(left));
}

bool token_accept_comma(struct parser *p, const struct expr *item, enum token_kind end) {
    if (token_accept(p, T_COMMA)) return true;
    if (token_is(p, end)) return false;
    check_readable(p);
    check_no_assignment(p, item);
    check_bracket_closed(p);
    if (starts_expression(p) && !p->in_fstring)
        syntax_error(p->f, place_join(item->at, token_peek(p)->at),
                     "invalid syntax. Perhaps you forgot a comma?");
    invalid_syntax(p);
}

struct place token_expect(struct parser *p, enum token_kind kind) {
    struct place where = token_peek(p)->at;
    if (token_accept(p, kind)) return where;
    check_readable(p);
    if (kind == T_NEWLINE || kind == T_RPAR || kind == T_RSQB || kind == T_RBRACE ||
        token_is(p, T_K_YIELD) || token_is(p, T_K_AWAIT))
        invalid_syntax(p);
    check_bracket_closed(p);
    syntax_error(p->f, where, "expected '%s'", token_text(kind));
}

const char *parser_mangle(struct parser *p, const char *name) {
    if (!p->class_name || strncmp(name, "__", 2) != 0) return name;
    size_t n = strlen(name);
    if (strcmp(name + n - 2, "__") == 0 || strchr(name, '.')) return name;
    const char *class_name = p->class_name + strspn(p->class_name, "_");
    return *class_name ? arena_printf(p->f->arena, "_%s%s", class_name, name) : name;
}

const char *token_expect_name(struct parser *p) {
    const struct token *t = token_peek(p);
    if (!token_accept(p, T_NAME)) invalid_syntax(p);
    return parser_mangle(p, arena_strndup(p->f->arena, t->text, t->len));
}

void parser_deeper(struct parser *p) {
    if (++p->f->depth > MAX_PARSER_DEPTH)
        syntax_error(p->f, token_peek(p)->at, "too many nested expressions or blocks");
}

struct expr *tree_expr(struct parser *p, enum expr_kind kind, struct place where) {
    struct expr *e = NEW(p->f->arena, struct expr);
    e->kind = kind;
    e->at = where;
    return e;
}
