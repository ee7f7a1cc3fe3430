/* compile_stmt.c: statements, and the module as a whole. */
#include "frontend/compile.h"

/* ---- assignments */

static void compile_assign(struct unit *u, const struct stmt *s) {
    uint32_t n = s->assign.targets.n;
    compile_expr(u, s->assign.value);
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 < n) unit_emit(u, OP_COPY, 1, 0);
        compile_store(u, s->assign.targets.at[i]);
    }
}

/* x.a += v and x[i] += v evaluate x and i once: they stay on the stack under the value. */
static void compile_augmented(struct unit *u, const struct stmt *s) {
    const struct expr *t = s->augmented.target;
    if (t->kind == E_NAME) {
        unit_emit_load(u, t->name);
    } else if (t->kind == E_ATTRIBUTE) {
        compile_expr(u, t->attribute.object);
        unit_emit(u, OP_COPY, 1, 0);
        unit_emit(u, OP_LOAD_ATTR, unit_name(u, t->attribute.name), 0);
    } else {
        compile_expr(u, t->subscript.object);
        compile_expr(u, t->subscript.index);
        unit_emit(u, OP_COPY, 2, 0);
        unit_emit(u, OP_COPY, 2, 0);
        unit_emit(u, OP_BINARY_SUBSCR, 0, 0);
    }
    compile_expr(u, s->augmented.value);
    unit_emit(u, OP_BINARY_OP, (int32_t)s->augmented.op, 1);
    if (t->kind == E_NAME) {
        unit_emit_store(u, t->name);
    } else if (t->kind == E_ATTRIBUTE) {
        unit_emit(u, OP_SWAP, 2, 0);
        unit_emit(u, OP_STORE_ATTR, unit_name(u, t->attribute.name), 0);
    } else {
        unit_emit(u, OP_SWAP, 3, 0);
        unit_emit(u, OP_SWAP, 2, 0);
        unit_emit(u, OP_STORE_SUBSCR, 0, 0);
    }
}

static void emit_text(struct unit *u, const char *text) {
    unit_emit_const(
        u, (struct constant){.kind = CONSTANT_STRING, .n = (uint32_t)strlen(text), .s = text});
}

/* Annotations are not evaluated, but a class keeps the names that have one, in their order, and its
 * text, as with `from __future__ import annotations`: it is what @dataclass asks for. */
static void note_annotation(struct unit *u, const char *name, const char *annotation) {
    emit_text(u, annotation);
    unit_emit_load(u, "__annotations__");
    emit_text(u, name);
    unit_emit(u, OP_STORE_SUBSCR, 0, 0);
}

static void compile_annotated(struct unit *u, const struct stmt *s) {
    const struct expr *target = s->annotated.target;
    if (s->annotated.value) {
        compile_expr(u, s->annotated.value);
        compile_store(u, target);
    }
    if (u->code->kind == CODE_CLASS && target->kind == E_NAME)
        note_annotation(u, target->name, s->annotated.annotation);
}

/* ---- control */

static void compile_if(struct unit *u, const struct stmt *s) {
    int32_t orelse = unit_label(u), end = unit_label(u);
    compile_jump_if(u, s->branch.test, orelse, false);
    compile_body(u, &s->branch.body);
    if (s->branch.orelse.n) unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, orelse);
    compile_body(u, &s->branch.orelse);
    unit_bind(u, end);
}

static void compile_while(struct unit *u, const struct stmt *s) {
    int32_t next = unit_label(u), orelse = unit_label(u), end = unit_label(u);
    struct unwind loop = {
        .kind = UNWIND_WHILE, .outer = u->unwind, .next_label = next, .end_label = end};
    unit_bind(u, next);
    compile_jump_if(u, s->branch.test, orelse, false);
    u->unwind = &loop;
    compile_body(u, &s->branch.body);
    u->unwind = loop.outer;
    unit_emit(u, OP_JUMP, next, 0);
    unit_bind(u, orelse);
    compile_body(u, &s->branch.orelse);
    unit_bind(u, end);
}

static void compile_for(struct unit *u, const struct stmt *s) {
    int32_t next = unit_label(u), orelse = unit_label(u), end = unit_label(u);
    struct unwind loop = {
        .kind = UNWIND_FOR, .outer = u->unwind, .next_label = next, .end_label = end};
    u->span = place_span(u->f, s->for_.iter->at);
    compile_expr(u, s->for_.iter);
    unit_emit(u, OP_GET_ITER, 0, 0);
    unit_bind(u, next);
    unit_emit(u, OP_FOR_ITER, orelse, 0);
    compile_store(u, s->for_.target);
    u->unwind = &loop;
    compile_body(u, &s->for_.body);
    u->unwind = loop.outer;
    unit_emit(u, OP_JUMP, next, 0);
    unit_bind(u, orelse);
    compile_body(u, &s->for_.orelse);
    unit_bind(u, end);
}

static void compile_assert(struct unit *u, const struct stmt *s) {
    int32_t end = unit_label(u);
    compile_jump_if(u, s->assert_.test, end, true);
    unit_emit(u, OP_LOAD_ASSERTION_ERROR, 0, 0);
    if (s->assert_.message) {
        compile_expr(u, s->assert_.message);
        unit_emit(u, OP_CALL, 1, -1);
    }
    unit_emit(u, OP_RAISE, 1, 0);
    unit_bind(u, end);
}

static void compile_raise(struct unit *u, const struct stmt *s) {
    if (s->raise.exception) compile_expr(u, s->raise.exception);
    if (s->raise.cause) compile_expr(u, s->raise.cause);
    unit_emit(u, OP_RAISE, (s->raise.exception != NULL) + (s->raise.cause != NULL), 0);
}

/* ---- imports */

static void compile_import(struct unit *u, const struct stmt *s) {
    for (uint32_t i = 0; i < s->import.aliases.n; i++) {
        const struct alias *a = &s->import.aliases.at[i];
        u->span = place_span(u->f, a->at);
        unit_emit(u, OP_IMPORT_NAME, unit_name(u, a->dotted), a->name != NULL);
        unit_emit_store(
            u, a->name ? a->name : arena_strndup(u->f->arena, a->dotted, strcspn(a->dotted, ".")));
    }
}

static void compile_from(struct unit *u, const struct stmt *s) {
    if (strcmp(s->import.module, "__future__") == 0) return; /* what it asks for is so anyway */
    unit_emit(u, OP_IMPORT_NAME, unit_name(u, s->import.module), 1);
    if (s->import.star) {
        unit_emit(u, OP_IMPORT_STAR, 0, 0);
        return;
    }
    struct span whole = u->span;
    for (uint32_t i = 0; i < s->import.aliases.n; i++) {
        const struct alias *a = &s->import.aliases.at[i];
        u->span = place_span(u->f, a->at);
        unit_emit(u, OP_IMPORT_FROM, unit_name(u, a->dotted), 0);
        unit_emit_store(u, a->name ? a->name : a->dotted);
    }
    u->span = whole;
    unit_emit(u, OP_POP_TOP, 0, 0);
}

/* ---- all */

static void compile_stmt(struct unit *u, const struct stmt *s) {
    u->span = place_span(u->f, s->at);
    switch (s->kind) {
    case S_EXPR:
        if (s->expr->kind == E_CONSTANT) break; /* a docstring, or `...` */
        compile_expr(u, s->expr);
        unit_emit(u, OP_POP_TOP, 0, 0);
        break;
    case S_ASSIGN: compile_assign(u, s); break;
    case S_AUGMENTED: compile_augmented(u, s); break;
    case S_ANNOTATED: compile_annotated(u, s); break;
    case S_RETURN: compile_return(u, s); break;
    case S_RAISE: compile_raise(u, s); break;
    case S_ASSERT: compile_assert(u, s); break;
    case S_DELETE:
        for (uint32_t i = 0; i < s->targets.n; i++) compile_delete(u, s->targets.at[i]);
        break;
    case S_PASS: break;
    case S_BREAK:
    case S_CONTINUE: compile_loop_exit(u, s); break;
    case S_GLOBAL:
    case S_NONLOCAL: break;
    case S_IMPORT: compile_import(u, s); break;
    case S_FROM: compile_from(u, s); break;
    case S_IF: compile_if(u, s); break;
    case S_WHILE: compile_while(u, s); break;
    case S_FOR: compile_for(u, s); break;
    case S_WITH: compile_with(u, s); break;
    case S_TRY: compile_try(u, s); break;
    case S_MATCH: compile_match(u, s); break;
    case S_FUNCTION: compile_def(u, s); break;
    case S_CLASS: compile_class(u, s); break;
    }
}

void compile_body(struct unit *u, const struct stmts *body) {
    struct span outer = u->span;
    for (uint32_t i = 0; i < body->n; i++) compile_stmt(u, body->at[i]);
    u->span = outer;
}

const char *body_docstring(const struct stmts *body) {
    if (!body->n || body->at[0]->kind != S_EXPR) return NULL;
    const struct expr *e = body->at[0]->expr;
    bool string = e->kind == E_CONSTANT && e->constant.value.kind == CONSTANT_STRING;
    return string ? e->constant.value.s : NULL;
}

static const struct code *compile_module(struct frontend *f, const struct module *m) {
    struct unit u;
    f->depth = 0;
    unit_open(&u, f, NULL, m->scope, "<module>", 1);
    u.code->doc = body_docstring(&m->body);
    compile_body(&u, &m->body);
    unit_emit_none(&u);
    unit_emit(&u, OP_RETURN_VALUE, 0, 0);
    return unit_close(&u);
}

const struct code *frontend_compile(struct arena *a, const struct source *src, struct diag *d) {
    struct frontend *f = NEW(a, struct frontend);
    f->arena = a;
    f->src = src;
    f->diag = d;
    f->tokens = arena_within(a); /* a budget that ends leaves without a word */
    f->scratch = arena_within(a);
    if (setjmp(f->escape)) {
        arena_free(f->tokens);
        arena_free(f->scratch);
        return NULL;
    }
    struct module *m = parse_module(f);
    arena_free(f->tokens);
    f->tokens = NULL;
    symtable_build(f, m);
    const struct code *code = compile_module(f, m);
    arena_free(f->scratch);
    return code;
}
