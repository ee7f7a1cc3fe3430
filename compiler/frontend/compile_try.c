/* compile_try.c: try, with, and leaving them early.
 *
 *     try: A                    SETUP_FINALLY handler; A; POP_BLOCK; F; JUMP end
 *     finally: F                handler: F; RERAISE
 *                               end:
 *
 * The final body F is compiled once for each way out of A: the normal one, the exceptional one, and
 * every return, break and continue inside A.
 *
 * While a statement is compiled, u->unwind lists what encloses it. A return, break or continue
 * walks that list outwards and undoes each entry; a final body met on the way is compiled as if it
 * stood outside of its own try. */
#include "frontend/compile.h"

static void push(struct unit *u, struct unwind *w) {
    w->outer = u->unwind;
    u->unwind = w;
}

static void pop(struct unit *u) { u->unwind = u->unwind->outer; }

/* ---- leaving early */

/* Bring what is to be undone to the top, from under the value being returned. */
static void uncover(struct unit *u, bool has_value) {
    if (has_value) unit_emit(u, OP_SWAP, 2, 0);
}

static void unbind_name(struct unit *u, const char *name) {
    unit_emit_none(u);
    unit_emit_store(u, name);
    unit_emit_delete(u, name);
}

static void compile_final(struct unit *u, const struct stmt *s, bool has_value) {
    struct unwind value = {.kind = UNWIND_VALUE};
    if (u->dead) return;
    struct span outer = u->span;
    if (has_value) push(u, &value);
    compile_body(u, &s->try_.final);
    if (has_value) pop(u);
    u->span = outer;
}

static void undo(struct unit *u, const struct unwind *w, bool has_value) {
    switch (w->kind) {
    case UNWIND_WHILE: break;
    case UNWIND_FOR:
    case UNWIND_VALUE:
        uncover(u, has_value);
        unit_emit(u, OP_POP_TOP, 0, 0);
        break;
    case UNWIND_TRY: unit_emit(u, OP_POP_BLOCK, 0, 0); break;
    case UNWIND_FINALLY:
        unit_emit(u, OP_POP_BLOCK, 0, 0);
        compile_final(u, w->final_of, has_value);
        break;
    case UNWIND_WITH:
        unit_emit(u, OP_POP_BLOCK, 0, 0);
        uncover(u, has_value);
        unit_emit(u, OP_WITH_EXIT, 0, 0);
        break;
    case UNWIND_HANDLER:
        uncover(u, has_value);
        unit_emit(u, OP_POP_EXCEPT, 0, 0);
        break;
    case UNWIND_NAME:
        unit_emit(u, OP_POP_BLOCK, 0, 0);
        unbind_name(u, w->name);
        break;
    }
}

static bool is_loop(const struct unwind *w) {
    return w->kind == UNWIND_WHILE || w->kind == UNWIND_FOR;
}

/* Undo everything from the innermost entry up to, not including, `stop`. */
static void undo_until(struct unit *u, const struct unwind *stop, bool has_value) {
    struct unwind *all = u->unwind;
    for (struct unwind *w = all; w != stop; w = w->outer) {
        u->unwind = w->outer; /* what w needs is compiled outside of it */
        undo(u, w, has_value);
    }
    u->unwind = all;
}

void compile_return(struct unit *u, const struct stmt *s) {
    if (u->scope->kind != CODE_FUNCTION) syntax_error(u->f, s->at, "'return' outside function");
    bool in_block = false; /* the iterators of loops alone need no undoing: the frame goes */
    for (struct unwind *w = u->unwind; w; w = w->outer) in_block |= !is_loop(w);
    if (s->expr)
        compile_expr(u, s->expr);
    else
        unit_emit_none(u);
    if (in_block) undo_until(u, NULL, true);
    unit_emit(u, OP_RETURN_VALUE, 0, 0);
}

void compile_loop_exit(struct unit *u, const struct stmt *s) {
    bool is_break = s->kind == S_BREAK;
    struct unwind *loop = u->unwind;
    while (loop && !is_loop(loop)) loop = loop->outer;
    if (!loop && is_break) syntax_error(u->f, s->at, "'break' outside loop");
    if (!loop) syntax_error(u->f, s->at, "'continue' not properly in loop");
    undo_until(u, loop, false);
    if (is_break && loop->kind == UNWIND_FOR) unit_emit(u, OP_POP_TOP, 0, 0);
    unit_emit(u, OP_JUMP, is_break ? loop->end_label : loop->next_label, 0);
}

/* ---- try */

/* except type as name: the name is unbound at the end, however the body ends. */
static void compile_named_handler(struct unit *u, const struct handler *h) {
    int32_t cleanup = unit_label(u), end = unit_label(u);
    struct unwind w = {.kind = UNWIND_NAME, .name = h->name};
    unit_emit(u, OP_COPY, 1, 0);
    unit_emit_store(u, h->name);
    unit_emit(u, OP_SETUP_FINALLY, cleanup, 0);
    push(u, &w);
    compile_body(u, &h->body);
    pop(u);
    unit_emit(u, OP_POP_BLOCK, 0, 0);
    unbind_name(u, h->name);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, cleanup);
    unbind_name(u, h->name);
    unit_emit(u, OP_RERAISE, 0, 0);
    unit_bind(u, end);
}

static void compile_handler(struct unit *u, const struct handler *h, int32_t end) {
    int32_t next = unit_label(u);
    struct span outer = u->span;
    u->span = place_span(u->f, h->at);
    if (h->type) {
        compile_expr(u, h->type);
        unit_emit(u, OP_MATCH_EXCEPTION, 0, 0);
        unit_emit(u, OP_POP_JUMP_IF_FALSE, next, 0);
    }
    if (h->name)
        compile_named_handler(u, h);
    else
        compile_body(u, &h->body);
    unit_emit(u, OP_POP_EXCEPT, 0, 0);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, next);
    u->span = outer;
}

static void compile_try_except(struct unit *u, const struct stmt *s) {
    int32_t handlers = unit_label(u), end = unit_label(u);
    struct unwind body = {.kind = UNWIND_TRY}, handling = {.kind = UNWIND_HANDLER};
    unit_emit(u, OP_SETUP_FINALLY, handlers, 0);
    push(u, &body);
    compile_body(u, &s->try_.body);
    pop(u);
    unit_emit(u, OP_POP_BLOCK, 0, 0);
    compile_body(u, &s->try_.orelse);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, handlers);
    push(u, &handling);
    for (uint32_t i = 0; i < s->try_.handlers.n; i++)
        compile_handler(u, &s->try_.handlers.at[i], end);
    pop(u);
    unit_emit(u, OP_RERAISE, 0, 0);
    unit_bind(u, end);
}

static void compile_try_finally(struct unit *u, const struct stmt *s) {
    int32_t handler = unit_label(u), end = unit_label(u);
    struct unwind body = {.kind = UNWIND_FINALLY, .final_of = s},
                  handling = {.kind = UNWIND_HANDLER};
    unit_emit(u, OP_SETUP_FINALLY, handler, 0);
    push(u, &body);
    if (s->try_.handlers.n)
        compile_try_except(u, s);
    else
        compile_body(u, &s->try_.body);
    pop(u);
    unit_emit(u, OP_POP_BLOCK, 0, 0);
    compile_final(u, s, false);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, handler);
    push(u, &handling);
    compile_body(
        u, &s->try_.final); /* also where no way leads here, so that mistakes in it are found */
    pop(u);
    unit_emit(u, OP_RERAISE, 0, 0);
    unit_bind(u, end);
}

void compile_try(struct unit *u, const struct stmt *s) {
    if (s->try_.final.n)
        compile_try_finally(u, s);
    else
        compile_try_except(u, s);
}

/* ---- with */

static void compile_with_item(struct unit *u, const struct stmt *s, uint32_t i) {
    if (i == s->with.items.n) {
        compile_body(u, &s->with.body);
        return;
    }
    const struct with_item *item = &s->with.items.at[i];
    int32_t handler = unit_label(u), suppressed = unit_label(u), end = unit_label(u);
    struct unwind w = {.kind = UNWIND_WITH};
    struct span outer = u->span;
    unit_enter(u, s->at);
    u->span = place_span(u->f, item->manager->at);
    compile_expr(u, item->manager);
    unit_emit(u, OP_SETUP_WITH, handler, 0);
    push(u, &w);
    if (item->target)
        compile_store(u, item->target);
    else
        unit_emit(u, OP_POP_TOP, 0, 0);
    compile_with_item(u, s, i + 1);
    pop(u);
    unit_emit(u, OP_POP_BLOCK, 0, 0);
    unit_emit(u, OP_WITH_EXIT, 0, 0);
    unit_emit(u, OP_JUMP, end, 0);
    unit_bind(u, handler);
    unit_emit(u, OP_WITH_EXCEPT, 0, 0);
    unit_emit(u, OP_POP_JUMP_IF_TRUE, suppressed, 0);
    unit_emit(u, OP_RERAISE, 0, 0);
    unit_bind(u, suppressed);
    unit_emit(u, OP_POP_EXCEPT, 0, 0);
    unit_emit(u, OP_POP_TOP, 0, 0);
    unit_bind(u, end);
    u->f->depth--;
    u->span = outer;
}

void compile_with(struct unit *u, const struct stmt *s) { compile_with_item(u, s, 0); }
