/* parse_def.c: functions, classes, decorators, parameters. Annotations are parsed, so that mistakes
 * in them are found, and dropped. What an `async def` does is not read: it may be there, and
 * refuses to be called. */
#include "frontend/parse.h"

#include <string.h>

/* ---- parameters */

struct params_reader {
    struct params out;
    bool lambda;       /* no annotations */
    bool keyword_only; /* a `*` went by */
    bool bare_star;    /* ... which must be followed by a name */
};

static void skip_annotation(struct parser *p, bool starred) {
    if (!token_accept(p, T_COLON)) return;
    if (starred)
        parse_starred_expression(p);
    else
        parse_expression(p);
}

static struct param read_param(struct parser *p, const struct params_reader *r, bool starred) {
    struct param param = {.at = token_peek(p)->at};
    param.name = token_expect_name(p);
    if (!r->lambda) skip_annotation(p, starred);
    return param;
}

static struct param *copy_param(struct parser *p, struct param param) {
    struct param *copy = NEW(p->f->arena, struct param);
    *copy = param;
    return copy;
}

static void read_plain_param(struct parser *p, struct params_reader *r) {
    struct param param = read_param(p, r, false);
    if (token_accept(p, T_ASSIGN)) {
        if (token_is(p, T_COMMA) || token_is(p, T_RPAR))
            syntax_error(p->f, token_last_place(p), "expected default value expression");
        param.value = parse_expression(p);
    } else if (!r->keyword_only && r->out.list.n && vec_last(&r->out.list).value) {
        syntax_error(p->f, param.at, "non-default argument follows default argument");
    }
    if (!r->keyword_only) r->out.n_args++;
    r->bare_star = false;
    vec_push(p->f->arena, &r->out.list, param);
}

static void read_slash(struct parser *p, struct params_reader *r) {
    struct place where = token_expect(p, T_DIV);
    if (r->keyword_only) syntax_error(p->f, where, "/ must be ahead of *");
    if (r->out.n_posonly) syntax_error(p->f, where, "/ may appear only once");
    if (!r->out.n_args) syntax_error(p->f, where, "at least one argument must precede /");
    r->out.n_posonly = r->out.n_args;
}

static void read_star(struct parser *p, struct params_reader *r) {
    struct place where = token_expect(p, T_MUL);
    if (r->keyword_only) syntax_error(p->f, where, "* argument may appear only once");
    r->keyword_only = true;
    r->bare_star = !token_is(p, T_NAME);
    if (r->bare_star) {
        if (!token_is(p, T_COMMA)) syntax_error(p->f, where, "named arguments must follow bare *");
        return;
    }
    r->out.vararg = copy_param(p, read_param(p, r, true));
    if (token_is(p, T_ASSIGN))
        syntax_error(p->f, token_peek(p)->at, "var-positional argument cannot have default value");
}

static void read_double_star(struct parser *p, struct params_reader *r) {
    struct place where = token_expect(p, T_POW);
    if (r->bare_star) syntax_error(p->f, where, "named arguments must follow bare *");
    r->out.kwarg = copy_param(p, read_param(p, r, false));
    if (token_is(p, T_ASSIGN))
        syntax_error(p->f, token_peek(p)->at, "var-keyword argument cannot have default value");
}

struct params parse_params(struct parser *p, enum token_kind end) {
    struct params_reader r = {.lambda = end == T_COLON};
    while (!token_is(p, end)) {
        if (r.out.kwarg)
            syntax_error(p->f, token_peek(p)->at, "arguments cannot follow var-keyword argument");
        if (token_is(p, T_DIV))
            read_slash(p, &r);
        else if (token_is(p, T_MUL))
            read_star(p, &r);
        else if (token_is(p, T_POW))
            read_double_star(p, &r);
        else
            read_plain_param(p, &r);
        if (!token_accept(p, T_COMMA)) break;
    }
    if (!token_is(p, end)) invalid_syntax(p);
    if (r.bare_star) syntax_error(p->f, token_last_place(p), "named arguments must follow bare *");
    return r.out;
}

/* ---- def and class */

/* A block of an `async def`, whose statements are not read: awaits are nowhere else. */
static void skip_block(struct parser *p) {
    token_expect(p, T_COLON);
    int deep = 0;
    bool block = token_is(p, T_NEWLINE) && token_peek_at(p, 1)->kind == T_INDENT;
    p->i += block ? 1 : 0;
    do {
        if (token_is(p, T_END) || token_is(p, T_ERROR)) invalid_syntax(p);
        deep += token_is(p, T_INDENT) - token_is(p, T_DEDENT);
        p->i++;
    } while (block ? deep > 0 : p->tokens.at[p->i - 1].kind != T_NEWLINE);
}

/* raise NotImplementedError("f() is async, which is not supported") */
static struct stmt *refusal(struct parser *p, const char *name, struct place at) {
    struct expr *text = tree_expr(p, E_CONSTANT, at), *call = tree_expr(p, E_CALL, at);
    const char *said = arena_printf(p->f->arena, "%s() is async, which is not supported", name);
    text->constant.value =
        (struct constant){.kind = CONSTANT_STRING, .s = said, .n = (uint32_t)strlen(said)};
    call->call.function = tree_expr(p, E_NAME, at);
    call->call.function->name = "NotImplementedError";
    vec_push(p->f->arena, &call->call.args, text);
    struct stmt *s = tree_stmt(p, S_RAISE, at);
    s->raise.exception = call;
    return s;
}

struct stmt *parse_def(struct parser *p, struct expr_list decorators) {
    struct place from = token_peek(p)->at;
    bool is_async = token_is(p, T_K_ASYNC) && token_peek_at(p, 1)->kind == T_K_DEF;
    p->i += is_async ? 1 : 0;
    token_expect(p, T_K_DEF);
    struct stmt *s = tree_stmt(p, S_FUNCTION, from);
    s->function.decorators = decorators;
    s->function.name = token_expect_name(p);
    token_expect(p, T_LPAR);
    s->function.params = parse_params(p, T_RPAR);
    token_expect(p, T_RPAR);
    if (token_accept(p, T_ARROW)) parse_expressions(p);
    s->at = place_join(from, token_last_place(p));
    if (is_async) {
        skip_block(p);
        struct stmt *only = refusal(p, s->function.name, s->at);
        vec_push(p->f->arena, &s->function.body, only);
        return s;
    }
    s->function.body = parse_block(p, "function definition", from.line);
    return s;
}

struct stmt *parse_class(struct parser *p, struct expr_list decorators) {
    struct place from = token_expect(p, T_K_CLASS);
    struct stmt *s = tree_stmt(p, S_CLASS, from);
    s->class_.decorators = decorators;
    s->class_.name = token_expect_name(p);
    if (token_accept(p, T_LPAR)) {
        struct expr *call = tree_expr(p, E_CALL, from);
        parse_arguments(p, call);
        for (uint32_t i = 0; i < call->call.args.n; i++)
            if (call->call.args.at[i]->kind == E_STARRED)
                syntax_error(p->f, call->call.args.at[i]->at, "starred bases are not supported");
        s->class_.bases = call->call.args;
        for (uint32_t i = 0; i < call->call.keywords.n; i++) {
            struct keyword k = call->call.keywords.at[i];
            if (!k.name) syntax_error(p->f, k.at, "** in the bases of a class is not supported");
            vec_push(p->f->arena, &s->class_.keywords, k);
        }
    }
    s->at = place_join(from, token_last_place(p));
    const char *outer = p->class_name;
    p->class_name = s->class_.name;
    s->class_.body = parse_block(p, "class definition", from.line);
    p->class_name = outer;
    return s;
}

struct stmt *parse_decorated(struct parser *p) {
    struct expr_list decorators = {0};
    while (token_accept(p, T_MATMUL)) {
        struct expr *e = parse_named_expression(p);
        vec_push(p->f->arena, &decorators, e);
        token_expect(p, T_NEWLINE);
    }
    if (token_is(p, T_K_CLASS)) return parse_class(p, decorators);
    if (token_is(p, T_K_DEF) || token_peek_at(p, 1)->kind == T_K_DEF)
        return parse_def(p, decorators);
    invalid_syntax(p);
}
