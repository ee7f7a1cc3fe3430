/* parse_atom.c: names, literals, displays and comprehensions, and the calls, attributes and
 * subscripts after them.
 *
 *     [f(x, *xs, k=1)[0, ...].y for x in xs if x]
 *
 * Inside brackets the lexer gives no NEWLINE, so nothing here has to think of lines. */
#include "frontend/parse.h"

#include <stdlib.h>
#include <string.h>

static struct expr *constant_new(struct parser *p, enum constant_kind kind, struct place where) {
    struct expr *e = tree_expr(p, E_CONSTANT, where);
    e->constant.value.kind = kind;
    return e;
}

/* ---- numbers */

/* 2j is complex(0.0, 2.0) */
static struct expr *imaginary(struct parser *p, struct expr *part) {
    struct expr *e = tree_expr(p, E_CALL, part->at),
                *zero = constant_new(p, CONSTANT_FLOAT, part->at);
    e->call.function = tree_expr(p, E_NAME, part->at);
    e->call.function->name = "complex";
    vec_push(p->f->arena, &e->call.args, zero);
    vec_push(p->f->arena, &e->call.args, part);
    return e;
}

static struct expr *parse_float(struct parser *p) {
    const struct token *t = token_peek(p);
    struct expr *e = constant_new(p, CONSTANT_FLOAT, t->at);
    struct buf digits = buf_new(p->f->arena);
    for (uint32_t i = 0; i < t->len; i++)
        if (t->text[i] != '_') buf_putc(&digits, t->text[i]);
    e->constant.value.f = strtod(digits.p, NULL);
    p->i++;
    return (t->text[t->len - 1] | 0x20) == 'j' ? imaginary(p, e) : e;
}

/* A decimal literal beyond 64 bits, as tables of coefficients have them, is the float that
 * arithmetic on tensors would make of it; one of bits is hexadecimal, and an error. */
static struct expr *parse_int(struct parser *p) {
    const struct token *t = token_peek(p);
    struct expr *e = constant_new(p, CONSTANT_INT, t->at);
    const char *s = t->text, *end = s + t->len;
    unsigned base = 10;
    if (t->len > 2 && *s == '0' && strchr("xXoObB", s[1])) {
        base = strchr("xX", s[1]) ? 16 : strchr("oO", s[1]) ? 8 : 2;
        s += 2;
    }
    uint64_t v = 0, limit = (uint64_t)INT64_MAX + 1;
    for (; s < end; s++) {
        if (*s == '_') continue;
        unsigned digit = (unsigned)(*s <= '9' ? *s - '0' : (*s | 0x20) - 'a' + 10);
        if (v > (limit - digit) / base) {
            if (base == 10) return parse_float(p);
            syntax_error(p->f, t->at, "integer literal does not fit in 64 bits");
        }
        v = v * base + digit;
    }
    e->constant.minus_only = v == limit;
    e->constant.value.i = (int64_t)v;
    p->i++;
    return e;
}

/* ---- comprehensions */

static void parse_for_clauses(struct parser *p, struct expr *e) {
    do {
        struct for_clause clause = {0};
        token_expect(p, T_K_FOR);
        clause.target = parse_for_target(p);
        token_expect(p, T_K_IN);
        clause.iter = parse_disjunction(p);
        while (token_accept(p, T_K_IF)) {
            struct expr *test = parse_disjunction(p);
            vec_push(p->f->arena, &clause.tests, test);
        }
        vec_push(p->f->arena, &e->comprehension.clauses, clause);
    } while (token_is(p, T_K_FOR));
    if (token_is(p, T_K_ASYNC)) invalid_syntax(p);
}

static struct expr *comprehension_new(struct parser *p, enum comprehension_kind kind,
                                      struct place from, struct expr *element, struct expr *value) {
    if (element->kind == E_STARRED)
        syntax_error(p->f, element->at, "iterable unpacking cannot be used in comprehension");
    struct expr *e = tree_expr(p, E_COMPREHENSION, from);
    e->comprehension.kind = kind;
    e->comprehension.element = element;
    e->comprehension.value = value;
    parse_for_clauses(p, e);
    return e;
}

/* element [: value] has been read and `for` comes; from is the opening bracket, end the closing
 * one. */
static struct expr *parse_comprehension(struct parser *p, enum comprehension_kind kind,
                                        struct place from, struct expr *element, struct expr *value,
                                        enum token_kind end) {
    struct expr *e = comprehension_new(p, kind, from, element, value);
    e->at = place_join(from, token_expect(p, end));
    return e;
}

/* f(x for x in y): the argument is what stands between the call's parentheses. */
static struct expr *parse_bare_generator(struct parser *p, struct expr *element) {
    struct expr *e = comprehension_new(p, COMPREHEND_GENERATOR, element->at, element, NULL);
    e->at = place_join(element->at, token_last_place(p));
    return e;
}

static bool at_for(const struct parser *p) {
    return token_is(p, T_K_FOR) || token_is(p, T_K_ASYNC);
}

/* ---- displays */

/* Items after the first, up to and with the closing bracket. */
static void parse_items(struct parser *p, struct expr *list, struct expr *first,
                        enum token_kind end) {
    struct place from = list->at;
    struct expr *item = first;
    vec_push(p->f->arena, &list->items, first);
    while (token_accept_comma(p, item, end) && !token_is(p, end)) {
        item = parse_starred_expression(p);
        if (at_for(p) && list->items.n)
            syntax_error(p->f, place_join(first->at, item->at),
                         "did you forget parentheses around the comprehension target?");
        vec_push(p->f->arena, &list->items, item);
    }
    list->at = place_join(from, token_expect(p, end));
}

static struct expr *parse_list(struct parser *p) {
    struct place from = token_expect(p, T_LSQB);
    struct expr *list = tree_expr(p, E_LIST, from);
    if (token_is(p, T_RSQB)) {
        list->at = place_join(from, token_expect(p, T_RSQB));
        return list;
    }
    struct expr *first = parse_starred_expression(p);
    if (at_for(p)) return parse_comprehension(p, COMPREHEND_LIST, from, first, NULL, T_RSQB);
    parse_items(p, list, first, T_RSQB);
    return list;
}

/* (), (x), (x, y), (x for x in y) */
static struct expr *parse_parenthesis(struct parser *p) {
    struct place from = token_expect(p, T_LPAR);
    struct expr *tuple = tree_expr(p, E_TUPLE, from);
    tuple->in_parens = true;
    if (token_is(p, T_RPAR)) {
        tuple->at = place_join(from, token_expect(p, T_RPAR));
        return tuple;
    }
    bool yields = token_is(p, T_K_YIELD);
    struct expr *first = yields ? parse_values(p) : parse_starred_expression(p);
    if (at_for(p)) return parse_comprehension(p, COMPREHEND_GENERATOR, from, first, NULL, T_RPAR);
    if (token_is(p, T_COMMA)) {
        parse_items(p, tuple, first, T_RPAR);
        return tuple;
    }
    token_accept_comma(p, first, T_RPAR);
    if (first->kind == E_STARRED)
        syntax_error(p->f, first->at, "cannot use starred expression here");
    token_expect(p, T_RPAR);
    first->in_parens = true;
    return first;
}

static struct expr *parse_pair_value(struct parser *p) {
    struct place colon = token_expect(p, T_COLON);
    if (token_is(p, T_COMMA) || token_is(p, T_RBRACE))
        syntax_error(p->f, colon, "expression expected after dictionary key and ':'");
    return parse_expression(p);
}

/* key: value, or **value with a NULL key. */
static struct expr *parse_pair(struct parser *p, struct expr **key) {
    if (token_accept(p, T_POW)) {
        *key = NULL;
        return parse_operand(p);
    }
    *key = parse_expression(p);
    if (!token_is(p, T_COLON)) {
        if (token_is(p, T_COMMA) || token_is(p, T_RBRACE))
            syntax_error(p->f, token_peek(p)->at, "':' expected after dictionary key");
        invalid_syntax(p);
    }
    return parse_pair_value(p);
}

static struct expr *parse_dict(struct parser *p, struct place from, struct expr *key,
                               struct expr *value) {
    struct expr *dict = tree_expr(p, E_DICT, from);
    for (;;) {
        vec_push(p->f->arena, &dict->dict.keys, key);
        vec_push(p->f->arena, &dict->dict.values, value);
        if (!token_accept_comma(p, value, T_RBRACE) || token_is(p, T_RBRACE)) break;
        value = parse_pair(p, &key);
    }
    dict->at = place_join(from, token_expect(p, T_RBRACE));
    return dict;
}

/* {}, {k: v}, {x}, and the two comprehensions. Only what follows the first expression tells them
 * apart. */
static struct expr *parse_brace(struct parser *p) {
    struct place from = token_expect(p, T_LBRACE);
    struct place end = token_peek(p)->at;
    if (token_accept(p, T_RBRACE)) return tree_expr(p, E_DICT, place_join(from, end));
    if (token_is(p, T_POW)) {
        struct place stars = token_peek(p)->at;
        struct expr *key, *value = parse_pair(p, &key);
        if (at_for(p))
            syntax_error(p->f, stars, "dict unpacking cannot be used in dict comprehension");
        return parse_dict(p, from, key, value);
    }
    struct expr *first = parse_starred_expression(p);
    if (first->kind != E_STARRED && token_is(p, T_COLON)) {
        struct expr *value = parse_pair_value(p);
        if (at_for(p)) return parse_comprehension(p, COMPREHEND_DICT, from, first, value, T_RBRACE);
        return parse_dict(p, from, first, value);
    }
    if (at_for(p)) return parse_comprehension(p, COMPREHEND_SET, from, first, NULL, T_RBRACE);
    struct expr *set = tree_expr(p, E_SET, from);
    parse_items(p, set, first, T_RBRACE);
    return set;
}

/* ---- calls */

static void check_keyword_is_new(struct parser *p, const struct expr *call, const char *name,
                                 struct place where) {
    for (uint32_t i = 0; i < call->call.keywords.n; i++) {
        const char *other = call->call.keywords.at[i].name;
        if (other && strcmp(other, name) == 0)
            syntax_error(p->f, where, "keyword argument repeated: %s", name);
    }
}

static void parse_keyword(struct parser *p, struct expr *call) {
    struct keyword k = {.at = token_peek(p)->at};
    if (!token_accept(p, T_POW)) {
        k.name = token_expect_name(p);
        check_keyword_is_new(p, call, k.name, k.at);
        token_expect(p, T_ASSIGN);
        if (token_is(p, T_COMMA) || token_is(p, T_RPAR))
            syntax_error(p->f, place_join(k.at, token_last_place(p)),
                         "expected argument value expression");
    }
    k.value = parse_expression(p);
    k.at = place_join(k.at, k.value->at);
    if (at_for(p) && k.name)
        syntax_error(p->f, k.at, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
    vec_push(p->f->arena, &call->call.keywords, k);
}

/* A positional argument: x, *x, x := 1, or a generator without parentheses of its own, for which it
 * returns true. */
static bool parse_positional(struct parser *p, struct expr *call) {
    struct expr *arg = parse_starred_argument(p);
    const struct keyword *last = call->call.keywords.n ? &vec_last(&call->call.keywords) : NULL;
    if (arg->kind == E_STARRED) {
        bool unpacked = false;
        for (uint32_t i = 0; i < call->call.keywords.n; i++)
            unpacked |= call->call.keywords.at[i].name == NULL;
        if (unpacked)
            syntax_error(p->f, arg->at,
                         "iterable argument unpacking follows keyword argument unpacking");
    } else if (last) {
        syntax_error(p->f, arg->at, "positional argument follows keyword argument%s",
                     last->name ? "" : " unpacking");
    }
    if (token_is(p, T_ASSIGN) && arg->kind == E_CONSTANT &&
        arg->constant.value.kind <= CONSTANT_TRUE)
        syntax_error(p->f, arg->at, "cannot assign to %s", expr_describe(arg));
    if (token_is(p, T_ASSIGN))
        syntax_error(p->f, place_join(arg->at, token_peek(p)->at),
                     "expression cannot contain assignment, perhaps you meant \"==\"?");
    bool generator = at_for(p);
    if (generator) arg = parse_bare_generator(p, arg);
    vec_push(p->f->arena, &call->call.args, arg);
    return generator;
}

void parse_arguments(struct parser *p, struct expr *call) {
    struct expr *generator = NULL;
    while (!token_is(p, T_RPAR)) {
        bool named = token_is(p, T_NAME) && token_peek_at(p, 1)->kind == T_ASSIGN;
        struct expr *item;
        if (named || token_is(p, T_POW)) {
            parse_keyword(p, call);
            item = vec_last(&call->call.keywords).value;
        } else {
            bool bare = parse_positional(p, call);
            item = vec_last(&call->call.args);
            if (bare) generator = item;
        }
        if (!token_accept_comma(p, item, T_RPAR)) break;
    }
    if (generator && call->call.args.n + call->call.keywords.n > 1)
        syntax_error(p->f, generator->at, "Generator expression must be parenthesized");
    token_expect(p, T_RPAR);
}

/* ---- subscripts */

static bool at_slice_part(const struct parser *p) {
    return !token_is(p, T_COLON) && !token_is(p, T_COMMA) && !token_is(p, T_RSQB);
}

/* x, *x, or low:high:step with any part left out. */
static struct expr *parse_slice(struct parser *p) {
    struct place from = token_peek(p)->at;
    struct expr *low = token_is(p, T_COLON) ? NULL : parse_starred_expression(p);
    if (!token_is(p, T_COLON) || (low && low->kind == E_STARRED)) return low;
    struct expr *e = tree_expr(p, E_SLICE, from);
    token_expect(p, T_COLON);
    e->slice.low = low;
    if (at_slice_part(p)) e->slice.high = parse_expression(p);
    if (token_accept(p, T_COLON) && at_slice_part(p)) e->slice.step = parse_expression(p);
    e->at = place_join(from, token_last_place(p));
    return e;
}

static struct expr *parse_index(struct parser *p) {
    struct expr *first = parse_slice(p);
    if (!token_is(p, T_COMMA) && first->kind != E_STARRED) return first;
    struct expr *tuple = tree_expr(p, E_TUPLE, first->at);
    struct expr *item = first;
    vec_push(p->f->arena, &tuple->items, first);
    while (token_accept_comma(p, item, T_RSQB) && !token_is(p, T_RSQB)) {
        item = parse_slice(p);
        vec_push(p->f->arena, &tuple->items, item);
    }
    tuple->at = place_join(first->at, token_last_place(p));
    return tuple;
}

/* ---- atoms and primaries */

static struct expr *parse_keyword_constant(struct parser *p, enum constant_kind kind) {
    struct expr *e = constant_new(p, kind, token_peek(p)->at);
    p->i++;
    return e;
}

static struct expr *parse_atom(struct parser *p) {
    switch (token_peek(p)->kind) {
    case T_NAME: {
        struct expr *e = tree_expr(p, E_NAME, token_peek(p)->at);
        e->name = token_expect_name(p);
        return e;
    }
    case T_INT: return parse_int(p);
    case T_FLOAT: return parse_float(p);
    case T_STRING: return parse_strings(p);
    case T_LPAR: return parse_parenthesis(p);
    case T_LSQB: return parse_list(p);
    case T_LBRACE: return parse_brace(p);
    case T_ELLIPSIS: return parse_keyword_constant(p, CONSTANT_ELLIPSIS);
    case T_K_NONE: return parse_keyword_constant(p, CONSTANT_NONE);
    case T_K_TRUE: return parse_keyword_constant(p, CONSTANT_TRUE);
    case T_K_FALSE: return parse_keyword_constant(p, CONSTANT_FALSE);
    default: invalid_syntax(p);
    }
}

struct expr *parse_primary(struct parser *p) {
    struct expr *e = parse_atom(p);
    struct place from = e->at;
    for (;;) {
        struct expr *object = e;
        if (token_accept(p, T_DOT)) {
            e = tree_expr(p, E_ATTRIBUTE, from);
            e->attribute.object = object;
            e->attribute.name = token_expect_name(p);
        } else if (token_accept(p, T_LPAR)) {
            e = tree_expr(p, E_CALL, from);
            e->call.function = object;
            parse_arguments(p, e);
        } else if (token_accept(p, T_LSQB)) {
            e = tree_expr(p, E_SUBSCRIPT, from);
            e->subscript.object = object;
            e->subscript.index = parse_index(p);
            token_accept_comma(p, e->subscript.index, T_RSQB);
            token_expect(p, T_RSQB);
        } else {
            return e;
        }
        e->at = place_join(from, token_last_place(p));
    }
}
