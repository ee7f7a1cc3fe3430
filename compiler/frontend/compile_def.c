/* compile_def.c: functions, lambdas and classes.
 *
 *     @d                       LOAD d
 *     def f(x, y=1): ...       LOAD_CONST (1,); MAKE_FUNCTION defaults <code f>; CALL 1; STORE f */
#include "frontend/compile.h"

/* ---- functions */

static void compile_defaults_tuple(struct unit *u, const struct params *p, uint32_t n) {
    struct expr_list values = {0};
    for (uint32_t i = p->n_args - n; i < p->n_args; i++)
        vec_push(u->f->arena, &values, p->list.at[i].value);
    struct expr tuple = {.kind = E_TUPLE, .at = values.at[0]->at, .items = values};
    compile_expr(u, &tuple);
}

static uint32_t compile_kwdefaults(struct unit *u, const struct params *p) {
    uint32_t n = 0;
    for (uint32_t i = p->n_args; i < p->list.n; i++) {
        const struct param *param = &p->list.at[i];
        if (!param->value) continue;
        struct constant name = {.kind = CONSTANT_STRING, .s = param->name};
        name.n = (uint32_t)strlen(param->name);
        unit_emit_const(u, name);
        compile_expr(u, param->value);
        n++;
    }
    if (n) unit_emit(u, OP_BUILD_DICT, (int32_t)n, 0);
    return n;
}

/* Push the defaults; returns the bits that say which kinds there are. */
static int32_t compile_defaults(struct unit *u, const struct params *p) {
    int32_t flags = 0;
    uint32_t n = 0;
    while (n < p->n_args && p->list.at[p->n_args - 1 - n].value) n++;
    if (n) {
        compile_defaults_tuple(u, p, n);
        flags |= MAKE_DEFAULTS;
    }
    if (compile_kwdefaults(u, p)) flags |= MAKE_KWDEFAULTS;
    return flags;
}

static void set_params(struct code *c, const struct params *p) {
    c->n_posonly = p->n_posonly;
    c->n_args = p->n_args;
    c->n_kwonly = p->list.n - p->n_args;
    c->varargs = p->vararg != NULL;
    c->varkw = p->kwarg != NULL;
}

void compile_lambda(struct unit *u, const struct expr *e) {
    int32_t flags = compile_defaults(u, &e->lambda.params);
    struct unit inner;
    unit_open(&inner, u->f, u, e->lambda.scope, "<lambda>", e->at.line);
    inner.span = place_span(u->f, e->lambda.body->at);
    set_params(inner.code, &e->lambda.params);
    inner.code->yields = e->lambda.scope->yields;
    compile_expr(&inner, e->lambda.body);
    unit_emit(&inner, OP_RETURN_VALUE, 0, 0);
    unit_emit_function(u, unit_close(&inner), flags);
}

static void compile_decorators(struct unit *u, const struct expr_list *decorators) {
    for (uint32_t i = 0; i < decorators->n; i++) compile_expr(u, decorators->at[i]);
}

/* The decorators lie under the function: call them from the inside out, each at its own place. */
static void apply_decorators(struct unit *u, const struct expr_list *decorators) {
    struct span outer = u->span;
    for (uint32_t i = decorators->n; i-- > 0;) {
        u->span = place_span(u->f, decorators->at[i]->at);
        unit_emit(u, OP_CALL, 1, -1);
    }
    u->span = outer;
}

void compile_def(struct unit *u, const struct stmt *s) {
    compile_decorators(u, &s->function.decorators);
    int32_t flags = compile_defaults(u, &s->function.params);
    struct unit inner;
    unit_open(&inner, u->f, u, s->function.scope, s->function.name, s->at.line);
    inner.span = u->span;
    set_params(inner.code, &s->function.params);
    inner.code->doc = body_docstring(&s->function.body);
    inner.code->yields = s->function.scope->yields;
    compile_body(&inner, &s->function.body);
    unit_emit_none(&inner);
    unit_emit(&inner, OP_RETURN_VALUE, 0, 0);
    unit_emit_function(u, unit_close(&inner), flags);
    apply_decorators(u, &s->function.decorators);
    unit_emit_store(u, s->function.name);
}

/* ---- classes */

/* The body ends by returning the cell __class__, if a method asked for it, so that BUILD_CLASS can
 * fill it. */
static struct code *compile_class_body(struct unit *u, const struct stmt *s) {
    struct unit inner;
    unit_open(&inner, u->f, u, s->class_.scope, s->class_.name, s->at.line);
    inner.span = u->span;
    inner.code->doc = body_docstring(&s->class_.body);
    bool annotated = false;
    for (uint32_t i = 0; i < s->class_.body.n; i++)
        annotated |= s->class_.body.at[i]->kind == S_ANNOTATED;
    if (annotated) {
        unit_emit(&inner, OP_BUILD_DICT, 0, 0);
        unit_emit_store(&inner, "__annotations__");
    }
    compile_body(&inner, &s->class_.body);
    if (inner.code->cells.n)
        unit_emit(&inner, OP_LOAD_CLOSURE, 0, 0); /* a class has no other cell */
    else
        unit_emit_none(&inner);
    unit_emit(&inner, OP_RETURN_VALUE, 0, 0);
    return unit_close(&inner);
}

void compile_class(struct unit *u, const struct stmt *s) {
    compile_decorators(u, &s->class_.decorators);
    unit_emit_function(u, compile_class_body(u, s), 0);
    for (uint32_t i = 0; i < s->class_.bases.n; i++) compile_expr(u, s->class_.bases.at[i]);
    int32_t keywords = compile_keywords(u, s->class_.keywords.at, s->class_.keywords.n);
    unit_emit(u, OP_BUILD_CLASS, (int32_t)(s->class_.bases.n + s->class_.keywords.n), keywords);
    apply_decorators(u, &s->class_.decorators);
    unit_emit_store(u, s->class_.name);
}
