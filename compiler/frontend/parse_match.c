/* parse_match.c: match statements and their patterns.
 *
 *     match command:
 *         case ["go", ("north" | "south") as where]: ...
 *         case Point(x=0, y=y) if y > 1: ...
 *         case {"name": name, **rest}: ...
 *
 * `match`, `case` and `_` are names elsewhere. What a pattern looks at is in a variable that the
 * program cannot name (".m3"), and so is what it binds (".n"), until all of it has matched. */
#include "frontend/parse.h"

#include <string.h>

static struct pattern *parse_pattern(struct parser *p);

static struct pattern *pattern_new(struct parser *p, enum pattern_kind kind, struct place at) {
    struct pattern *x = NEW(p->f->arena, struct pattern);
    x->kind = kind;
    x->at = at;
    x->subject = arena_printf(p->f->arena, ".m%u", p->n_subjects++);
    return x;
}

static struct pattern *capture(struct parser *p, enum pattern_kind kind) {
    struct pattern *x = pattern_new(p, kind, token_peek(p)->at);
    const char *name = token_expect_name(p);
    x->name = strcmp(name, "_") == 0 ? NULL : name;
    return x;
}

/* One item of a sequence; at most one has a star. */
static void parse_item(struct parser *p, struct pattern *x) {
    struct pattern *item;
    if (token_accept(p, T_MUL)) {
        if (x->n_starred++)
            syntax_error(p->f, x->at, "multiple starred expressions in sequence pattern");
        x->star = x->items.n;
        item = capture(p, PATTERN_CAPTURE);
    } else {
        item = parse_pattern(p);
    }
    vec_push(p->f->arena, &x->items, item);
}

/* Patterns up to and with the bracket `end`. */
static void parse_items(struct parser *p, struct pattern *x, enum token_kind end) {
    while (!token_is(p, end)) {
        parse_item(p, x);
        if (!token_accept(p, T_COMMA)) break;
    }
    token_expect(p, end);
}

/* (p) is p; (p,) and () are sequences */
static struct pattern *parse_group(struct parser *p) {
    struct pattern *x = pattern_new(p, PATTERN_SEQUENCE, token_expect(p, T_LPAR));
    parse_items(p, x, T_RPAR);
    bool comma = p->tokens.at[p->i - 2].kind == T_COMMA;
    return x->items.n == 1 && !comma && !x->n_starred ? x->items.at[0] : x;
}

/* a.b.c, from the name on */
static struct expr *parse_dotted(struct parser *p) {
    struct expr *e = tree_expr(p, E_NAME, token_peek(p)->at);
    e->name = token_expect_name(p);
    while (token_accept(p, T_DOT)) {
        struct expr *whole = tree_expr(p, E_ATTRIBUTE, e->at);
        whole->attribute.object = e;
        whole->attribute.name = token_expect_name(p);
        whole->at = place_join(e->at, token_last_place(p));
        e = whole;
    }
    return e;
}

static struct expr *parse_literal(struct parser *p) {
    struct place from = token_peek(p)->at;
    if (!token_accept(p, T_SUB)) return parse_primary(p);
    struct expr *e = tree_expr(p, E_UNARY, from);
    e->unary.op = UNARY_NEG;
    e->unary.value = parse_primary(p);
    return e;
}

static struct pattern *parse_mapping(struct parser *p) {
    struct pattern *x = pattern_new(p, PATTERN_MAPPING, token_expect(p, T_LBRACE));
    while (!token_is(p, T_RBRACE)) {
        if (token_accept(p, T_POW)) {
            x->name = token_expect_name(p);
        } else {
            struct expr *key = token_is(p, T_NAME) ? parse_dotted(p) : parse_literal(p);
            token_expect(p, T_COLON);
            vec_push(p->f->arena, &x->values, key);
            struct pattern *item = parse_pattern(p);
            vec_push(p->f->arena, &x->items, item);
        }
        if (!token_accept(p, T_COMMA)) break;
    }
    token_expect(p, T_RBRACE);
    return x;
}

static bool at_keyword(const struct parser *p) {
    return token_is(p, T_NAME) && token_peek_at(p, 1)->kind == T_ASSIGN;
}

/* Point(0, y=p) */
static struct pattern *parse_class_pattern(struct parser *p, struct expr *class) {
    struct pattern *x = pattern_new(p, PATTERN_CLASS, class->at);
    vec_push(p->f->arena, &x->values, class);
    token_expect(p, T_LPAR);
    while (!token_is(p, T_RPAR)) {
        if (at_keyword(p)) {
            const char *name = token_expect_name(p);
            vec_push(p->f->arena, &x->names, name);
            token_expect(p, T_ASSIGN);
        } else if (x->names.n) {
            syntax_error(p->f, token_peek(p)->at, "positional patterns follow keyword patterns");
        }
        struct pattern *item = parse_pattern(p);
        vec_push(p->f->arena, &x->items, item);
        if (!token_accept(p, T_COMMA)) break;
    }
    token_expect(p, T_RPAR);
    return x;
}

static struct pattern *parse_name(struct parser *p) {
    bool alone = token_peek_at(p, 1)->kind != T_DOT && token_peek_at(p, 1)->kind != T_LPAR;
    if (alone) return capture(p, PATTERN_CAPTURE);
    struct expr *e = parse_dotted(p);
    if (token_is(p, T_LPAR)) return parse_class_pattern(p, e);
    struct pattern *x = pattern_new(p, PATTERN_VALUE, e->at);
    vec_push(p->f->arena, &x->values, e);
    return x;
}

static struct pattern *parse_closed(struct parser *p) {
    struct place from = token_peek(p)->at;
    switch (token_peek(p)->kind) {
    case T_NAME: return parse_name(p);
    case T_LPAR: return parse_group(p);
    case T_LBRACE: return parse_mapping(p);
    case T_LSQB: {
        struct pattern *x = pattern_new(p, PATTERN_SEQUENCE, from);
        p->i++;
        parse_items(p, x, T_RSQB);
        return x;
    }
    case T_K_NONE:
    case T_K_TRUE:
    case T_K_FALSE:
    case T_INT:
    case T_FLOAT:
    case T_STRING:
    case T_SUB: {
        bool single = token_peek(p)->kind > T_STRING && token_peek(p)->kind != T_SUB;
        struct pattern *x = pattern_new(p, single ? PATTERN_SINGLE : PATTERN_VALUE, from);
        struct expr *e = parse_literal(p);
        vec_push(p->f->arena, &x->values, e);
        return x;
    }
    default: invalid_syntax(p);
    }
}

static struct pattern *parse_alternatives(struct parser *p) {
    struct pattern *first = parse_closed(p);
    if (!token_is(p, T_OR)) return first;
    struct pattern *x = pattern_new(p, PATTERN_OR, first->at);
    vec_push(p->f->arena, &x->items, first);
    while (token_accept(p, T_OR)) {
        struct pattern *next = parse_closed(p);
        vec_push(p->f->arena, &x->items, next);
    }
    return x;
}

static struct pattern *parse_pattern(struct parser *p) {
    parser_deeper(p);
    struct pattern *x = parse_alternatives(p);
    if (token_accept(p, T_K_AS)) {
        struct pattern *inner = x;
        x = pattern_new(p, PATTERN_AS, inner->at);
        x->name = token_expect_name(p);
        vec_push(p->f->arena, &x->items, inner);
    }
    p->f->depth--;
    return x;
}

/* `case a, *b:` is a sequence without its brackets. */
static struct pattern *parse_open(struct parser *p) {
    bool starred = token_is(p, T_MUL);
    struct pattern *first = starred ? NULL : parse_pattern(p);
    if (!starred && !token_is(p, T_COMMA)) return first;
    struct pattern *x = pattern_new(p, PATTERN_SEQUENCE, token_peek(p)->at);
    if (first) {
        vec_push(p->f->arena, &x->items, first);
        p->i++;
    }
    while (!token_is(p, T_COLON) && !token_is(p, T_K_IF)) {
        parse_item(p, x);
        if (!token_accept(p, T_COMMA)) break;
    }
    return x;
}

static void parse_case(struct parser *p, struct stmt *s) {
    struct place from = token_peek(p)->at;
    if (!token_is_word(p, "case")) invalid_syntax(p);
    p->i++;
    struct match_case c = {.pattern = parse_open(p)};
    if (token_accept(p, T_K_IF)) c.guard = parse_named_expression(p);
    c.body = parse_block(p, "'case' statement", from.line);
    vec_push(p->f->arena, &s->match.cases, c);
}

struct stmt *parse_match(struct parser *p) {
    struct place from = token_peek(p)->at;
    p->i++;
    struct stmt *s = tree_stmt(p, S_MATCH, from);
    s->match.subject = parse_expressions(p);
    s->at = place_join(from, s->match.subject->at);
    token_expect(p, T_COLON);
    token_expect(p, T_NEWLINE);
    if (!token_accept(p, T_INDENT))
        frontend_fail_at(p->f, token_peek(p)->at,
                         "IndentationError: expected an indented block after 'match' statement on "
                         "line %u",
                         from.line);
    while (!token_accept(p, T_DEDENT)) parse_case(p, s);
    return s;
}
