/* compile_call.c: calls, displays, comprehensions and f-strings: what gathers many values into one.
 *
 *     f(a, *b, k=1)     LOAD f; LOAD a; BUILD_LIST 1; LOAD b; LIST_EXTEND 1; LIST_TO_TUPLE;
 *                       LOAD_CONST 'k'; LOAD_CONST 1; BUILD_DICT 1; CALL_EX 1 */
#include "frontend/compile.h"

/* ---- sequences, perhaps with stars in them */

static bool any_starred(const struct expr_list *list) {
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i]->kind == E_STARRED) return true;
    return false;
}

/* Push all items; the plain ones before the first star at once, the rest one by one into the
 * collection. */
static void compile_sequence(struct unit *u, const struct expr_list *list, enum opcode build,
                             enum opcode add, enum opcode extend) {
    uint32_t plain = 0;
    for (; plain < list->n && list->at[plain]->kind != E_STARRED; plain++)
        compile_expr(u, list->at[plain]);
    unit_emit(u, build, (int32_t)plain, 0);
    for (uint32_t i = plain; i < list->n; i++) {
        const struct expr *item = list->at[i];
        bool star = item->kind == E_STARRED;
        compile_expr(u, star ? item->starred : item);
        unit_emit(u, star ? extend : add, 1, 0);
    }
}

static void compile_tuple(struct unit *u, const struct expr_list *list) {
    if (any_starred(list)) {
        compile_sequence(u, list, OP_BUILD_LIST, OP_LIST_APPEND, OP_LIST_EXTEND);
        unit_emit(u, OP_LIST_TO_TUPLE, 0, 0);
    } else {
        compile_sequence(u, list, OP_BUILD_TUPLE, OP_LIST_APPEND, OP_LIST_EXTEND);
    }
}

static void compile_dict(struct unit *u, const struct expr *e) {
    const struct expr_list *keys = &e->dict.keys, *values = &e->dict.values;
    uint32_t plain = 0;
    for (; plain < keys->n && keys->at[plain]; plain++) {
        compile_expr(u, keys->at[plain]);
        compile_expr(u, values->at[plain]);
    }
    unit_emit(u, OP_BUILD_DICT, (int32_t)plain, 0);
    for (uint32_t i = plain; i < keys->n; i++) {
        if (keys->at[i]) compile_expr(u, keys->at[i]);
        compile_expr(u, values->at[i]);
        unit_emit(u, keys->at[i] ? OP_MAP_ADD : OP_DICT_UPDATE, 1, 0);
    }
}

void compile_display(struct unit *u, const struct expr *e) {
    if (e->kind == E_TUPLE)
        compile_tuple(u, &e->items);
    else if (e->kind == E_LIST)
        compile_sequence(u, &e->items, OP_BUILD_LIST, OP_LIST_APPEND, OP_LIST_EXTEND);
    else if (e->kind == E_SET)
        compile_sequence(u, &e->items, OP_BUILD_SET, OP_SET_ADD, OP_SET_UPDATE);
    else
        compile_dict(u, e);
}

/* ---- calls */

static struct constant string_constant(const char *s) {
    return (struct constant){.kind = CONSTANT_STRING, .n = (uint32_t)strlen(s), .s = s};
}

int32_t compile_keywords(struct unit *u, const struct keyword *k, uint32_t n) {
    if (n == 0) return -1;
    struct constant *names = NEW_ARRAY(u->f->arena, struct constant, n);
    for (uint32_t i = 0; i < n; i++) {
        names[i] = string_constant(k[i].name);
        compile_expr(u, k[i].value);
    }
    return unit_const(u, (struct constant){.kind = CONSTANT_TUPLE, .n = n, .items = names});
}

static bool any_unpacked(const struct expr *call) {
    for (uint32_t i = 0; i < call->call.keywords.n; i++)
        if (!call->call.keywords.at[i].name) return true;
    return any_starred(&call->call.args);
}

/* The keywords as one dict. A name that is there twice is an error, which DICT_MERGE finds. */
static void compile_keyword_dict(struct unit *u, const struct expr *e) {
    uint32_t n = e->call.keywords.n, i = 0;
    const struct keyword *k = e->call.keywords.at;
    for (; i < n && k[i].name; i++) {
        unit_emit_const(u, string_constant(k[i].name));
        compile_expr(u, k[i].value);
    }
    unit_emit(u, OP_BUILD_DICT, (int32_t)i, 0);
    for (; i < n; i++) {
        if (k[i].name) unit_emit_const(u, string_constant(k[i].name));
        compile_expr(u, k[i].value);
        if (k[i].name) unit_emit(u, OP_BUILD_DICT, 1, 0);
        unit_emit(u, OP_DICT_MERGE, 1, 0);
    }
}

void compile_call(struct unit *u, const struct expr *e) {
    compile_expr(u, e->call.function);
    if (any_unpacked(e)) {
        compile_tuple(u, &e->call.args);
        if (e->call.keywords.n) compile_keyword_dict(u, e);
        unit_emit(u, OP_CALL_EX, e->call.keywords.n > 0, 0);
        return;
    }
    uint32_t n = e->call.args.n + e->call.keywords.n;
    for (uint32_t i = 0; i < e->call.args.n; i++) compile_expr(u, e->call.args.at[i]);
    int32_t keywords = compile_keywords(u, e->call.keywords.at, e->call.keywords.n);
    unit_emit(u, OP_CALL, (int32_t)n, keywords);
}

/* ---- comprehensions */

static void compile_element(struct unit *u, const struct expr *e) {
    int32_t depth =
        (int32_t)e->comprehension.clauses.n + 1; /* the iterators lie above the collection */
    compile_expr(u, e->comprehension.element);
    switch (e->comprehension.kind) {
    case COMPREHEND_LIST: unit_emit(u, OP_LIST_APPEND, depth, 0); break;
    case COMPREHEND_GENERATOR:
        unit_emit(u, OP_YIELD_VALUE, 0, 0);
        unit_emit(u, OP_POP_TOP, 0, 0);
        break;
    case COMPREHEND_SET: unit_emit(u, OP_SET_ADD, depth, 0); break;
    case COMPREHEND_DICT:
        compile_expr(u, e->comprehension.value);
        unit_emit(u, OP_MAP_ADD, depth, 0);
        break;
    }
}

static void compile_clause(struct unit *u, const struct expr *e, uint32_t i) {
    if (i == e->comprehension.clauses.n) {
        compile_element(u, e);
        return;
    }
    const struct for_clause *c = &e->comprehension.clauses.at[i];
    int32_t next = unit_label(u), end = unit_label(u);
    unit_enter(u, e->at);
    if (i == 0) {
        unit_emit_load(u, ".0");
    } else {
        compile_expr(u, c->iter);
        unit_emit(u, OP_GET_ITER, 0, 0);
    }
    unit_bind(u, next);
    unit_emit(u, OP_FOR_ITER, end, 0);
    compile_store(u, c->target);
    for (uint32_t k = 0; k < c->tests.n; k++) compile_jump_if(u, c->tests.at[k], next, false);
    compile_clause(u, e, i + 1);
    unit_emit(u, OP_JUMP, next, 0);
    unit_bind(u, end);
    u->f->depth--;
}

void compile_comprehension(struct unit *u, const struct expr *e) {
    static const char *const names[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    static const enum opcode build[] = {OP_BUILD_LIST, OP_BUILD_SET, OP_BUILD_DICT};
    enum comprehension_kind kind = e->comprehension.kind;
    struct unit inner;
    unit_open(&inner, u->f, u, e->comprehension.scope, names[kind], e->at.line);
    inner.span = u->span;
    inner.code->n_args = 1;
    inner.code->yields = kind == COMPREHEND_GENERATOR;
    if (!inner.code->yields) unit_emit(&inner, build[kind], 0, 0);
    compile_clause(&inner, e, 0);
    if (inner.code->yields) unit_emit_none(&inner);
    unit_emit(&inner, OP_RETURN_VALUE, 0, 0);
    unit_emit_function(u, unit_close(&inner), 0);
    compile_expr(u, e->comprehension.clauses.at[0].iter);
    unit_emit(u, OP_GET_ITER, 0, 0);
    unit_emit(u, OP_CALL, 1, -1);
}

/* ---- f-strings */

void compile_formatted(struct unit *u, const struct expr *e) {
    compile_expr(u, e->formatted.value);
    if (e->formatted.spec) compile_expr(u, e->formatted.spec);
    unit_emit(u, OP_FORMAT_VALUE, (int32_t)e->formatted.conversion, e->formatted.spec != NULL);
}

void compile_joined(struct unit *u, const struct expr *e) {
    for (uint32_t i = 0; i < e->items.n; i++) compile_expr(u, e->items.at[i]);
    if (e->items.n == 0) unit_emit_const(u, string_constant(""));
    if (e->items.n > 1) unit_emit(u, OP_BUILD_STRING, (int32_t)e->items.n, 0);
}
