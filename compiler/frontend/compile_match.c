/* compile_match.c: match statements. A pattern jumps to the next case where it does not match.
 *
 *     case [1, x]:        .m1 = match_sequence(.m0, 2, -1)     the items, or None
 *         body            if .m1 is None: goto next
 *                         .m2 = .m1[0]; if not .m2 == 1: goto next
 *                         .m3 = .m1[1]; ..x = .m3
 *                         x = ..x
 *                         body; goto end
 *
 * Which objects have items, keys or attributes to match is decided by functions that only this file
 * names: match_sequence, match_mapping, match_class (capture/match.c). */
#include "frontend/compile.h"

const char *pattern_variable(struct frontend *f, const char *name) {
    return arena_printf(f->arena, "..%s", name);
}

static void compile_pattern(struct unit *u, const struct pattern *x, int32_t next);

static void emit_int(struct unit *u, int64_t i) {
    unit_emit_const(u, (struct constant){.kind = CONSTANT_INT, .i = i});
}

static void copy_variable(struct unit *u, const char *from, const char *to) {
    unit_emit_load(u, from);
    unit_emit_store(u, to);
}

static void keep(struct unit *u, const struct pattern *x) {
    if (x->name) copy_variable(u, x->subject, pattern_variable(u->f, x->name));
}

/* The call's result, a list, has what the items look at; there is none where it is None. */
static void compile_parts(struct unit *u, const struct pattern *x, int32_t n_arguments,
                          int32_t next) {
    const char *parts = arena_printf(u->f->arena, "%s.", x->subject);
    unit_emit(u, OP_CALL, n_arguments, -1);
    unit_emit(u, OP_COPY, 1, 0);
    unit_emit_store(u, parts);
    unit_emit_none(u);
    unit_emit(u, OP_COMPARE_OP, COMPARE_IS, 0);
    unit_emit(u, OP_POP_JUMP_IF_TRUE, next, 0);
    for (uint32_t i = 0; i < x->items.n; i++) {
        unit_emit_load(u, parts);
        emit_int(u, i);
        unit_emit(u, OP_BINARY_SUBSCR, 0, 0);
        unit_emit_store(u, x->items.at[i]->subject);
        compile_pattern(u, x->items.at[i], next);
    }
    if (x->kind != PATTERN_MAPPING || !x->name) return;
    unit_emit_load(u, parts);
    emit_int(u, x->items.n);
    unit_emit(u, OP_BINARY_SUBSCR, 0, 0);
    unit_emit_store(u, pattern_variable(u->f, x->name));
}

static void compile_sequence(struct unit *u, const struct pattern *x, int32_t next) {
    unit_emit(u, OP_LOAD_GLOBAL, unit_name(u, ".match_sequence"), 0);
    unit_emit_load(u, x->subject);
    emit_int(u, x->items.n);
    emit_int(u, x->n_starred ? (int64_t)x->star : -1);
    compile_parts(u, x, 3, next);
}

static void compile_mapping(struct unit *u, const struct pattern *x, int32_t next) {
    unit_emit(u, OP_LOAD_GLOBAL, unit_name(u, ".match_mapping"), 0);
    unit_emit_load(u, x->subject);
    for (uint32_t i = 0; i < x->values.n; i++) compile_expr(u, x->values.at[i]);
    unit_emit(u, OP_BUILD_TUPLE, (int32_t)x->values.n, 0);
    compile_parts(u, x, 2, next);
}

static void compile_class_pattern(struct unit *u, const struct pattern *x, int32_t next) {
    unit_emit(u, OP_LOAD_GLOBAL, unit_name(u, ".match_class"), 0);
    unit_emit_load(u, x->subject);
    compile_expr(u, x->values.at[0]);
    emit_int(u, (int64_t)x->items.n - x->names.n);
    for (uint32_t i = 0; i < x->names.n; i++)
        unit_emit_const(u, (struct constant){.kind = CONSTANT_STRING,
                                             .n = (uint32_t)strlen(x->names.at[i]),
                                             .s = x->names.at[i]});
    unit_emit(u, OP_BUILD_TUPLE, (int32_t)x->names.n, 0);
    compile_parts(u, x, 4, next);
}

static void compile_alternatives(struct unit *u, const struct pattern *x, int32_t next) {
    int32_t found = unit_label(u);
    for (uint32_t i = 0; i < x->items.n; i++) {
        bool last = i + 1 == x->items.n;
        int32_t other = last ? next : unit_label(u);
        copy_variable(u, x->subject, x->items.at[i]->subject);
        compile_pattern(u, x->items.at[i], other);
        if (last) break;
        unit_emit(u, OP_JUMP, found, 0);
        unit_bind(u, other);
    }
    unit_bind(u, found);
}

/* Goes on where x matches what is in its variable, else to next. */
static void compile_pattern(struct unit *u, const struct pattern *x, int32_t next) {
    unit_enter(u, x->at);
    switch (x->kind) {
    case PATTERN_CAPTURE: keep(u, x); break;
    case PATTERN_VALUE:
    case PATTERN_SINGLE:
        unit_emit_load(u, x->subject);
        compile_expr(u, x->values.at[0]);
        unit_emit(u, OP_COMPARE_OP, x->kind == PATTERN_VALUE ? COMPARE_EQ : COMPARE_IS, 0);
        unit_emit(u, OP_POP_JUMP_IF_FALSE, next, 0);
        break;
    case PATTERN_SEQUENCE: compile_sequence(u, x, next); break;
    case PATTERN_MAPPING: compile_mapping(u, x, next); break;
    case PATTERN_CLASS: compile_class_pattern(u, x, next); break;
    case PATTERN_OR: compile_alternatives(u, x, next); break;
    case PATTERN_AS:
        copy_variable(u, x->subject, x->items.at[0]->subject);
        compile_pattern(u, x->items.at[0], next);
        keep(u, x);
        break;
    }
    u->f->depth--;
}

/* All has matched: the names get what was kept for them. */
static void bind_names(struct unit *u, const struct pattern *x) {
    if (x->name) copy_variable(u, pattern_variable(u->f, x->name), x->name);
    uint32_t n = x->kind == PATTERN_OR ? 1 : x->items.n; /* alternatives bind the same names */
    for (uint32_t i = 0; i < n; i++) bind_names(u, x->items.at[i]);
}

void compile_match(struct unit *u, const struct stmt *s) {
    int32_t end = unit_label(u);
    struct span head = u->span;
    compile_expr(u, s->match.subject);
    unit_emit_store(u, s->match.cases.n ? s->match.cases.at[0].pattern->subject : ".m");
    for (uint32_t i = 0; i < s->match.cases.n; i++) {
        const struct match_case *c = &s->match.cases.at[i];
        int32_t next = unit_label(u);
        u->span = place_span(u->f, c->pattern->at);
        if (i) copy_variable(u, s->match.cases.at[0].pattern->subject, c->pattern->subject);
        compile_pattern(u, c->pattern, next);
        bind_names(u, c->pattern);
        if (c->guard) compile_jump_if(u, c->guard, next, false);
        compile_body(u, &c->body);
        unit_emit(u, OP_JUMP, end, 0);
        unit_bind(u, next);
        u->span = head;
    }
    unit_bind(u, end);
}
