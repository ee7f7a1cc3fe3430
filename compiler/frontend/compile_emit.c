/* compile_emit.c: appending instructions, constants and names to the code under construction. */
#include "frontend/compile.h"

/* ---- units */

static bool has_locals(const struct scope *s) {
    return s->kind != CODE_MODULE && s->kind != CODE_CLASS;
}

/* Parameters were the first names that the scope saw, so they come first here too (C4). */
static void lay_out_variables(struct unit *u) {
    struct code *c = u->code;
    const uint32_t elsewhere = SYMBOL_GLOBAL | SYMBOL_NONLOCAL | SYMBOL_FREE | SYMBOL_CELL;
    for (uint32_t i = 0; i < u->scope->symbols.n; i++) {
        const char *name = u->scope->symbols.entries[i].key;
        uint32_t use = (uint32_t)u->scope->symbols.entries[i].value;
        bool local = (use & SYMBOL_PARAM) || ((use & SYMBOL_BOUND) && !(use & elsewhere));
        if (has_locals(u->scope) && local) {
            map_puts(&u->local_index, name, c->locals.n);
            vec_push(u->f->arena, &c->locals, name);
        }
        if (use & SYMBOL_CELL) vec_push(u->f->arena, &c->cells, name);
        if (use & SYMBOL_FREE) vec_push(u->f->arena, &c->frees, name);
    }
}

static int32_t local_index(const struct unit *u, const char *name) {
    uint64_t i;
    return map_gets(&u->local_index, name, &i) ? (int32_t)i : -1;
}

void unit_open(struct unit *u, struct frontend *f, struct unit *parent, struct scope *scope,
               const char *name, uint32_t line) {
    *u = (struct unit){.f = f, .parent = parent, .scope = scope};
    u->const_index = map_new(f->scratch);
    u->name_index = map_new(f->scratch);
    u->local_index = map_new(f->scratch);
    u->span = (struct span){line, 1, 2};
    u->code = NEW(f->arena, struct code);
    u->code->kind = scope->kind;
    u->code->name = name;
    u->code->qualname = name;
    u->code->source = f->src;
    u->code->first_line = line;
    const char *outer = parent ? parent->code->qualname : NULL;
    bool is_global = parent && (scope_use(parent->scope, name) & SYMBOL_GLOBAL);
    if (parent && parent->code->kind != CODE_MODULE && !is_global)
        u->code->qualname = arena_printf(f->arena, "%s.%s%s", outer,
                                         parent->code->kind == CODE_CLASS ? "" : "<locals>.", name);
    lay_out_variables(u);
    for (uint32_t i = 0; i < u->code->cells.n; i++)
        unit_emit(u, OP_MAKE_CELL, (int32_t)i, local_index(u, u->code->cells.at[i]));
}

void unit_enter(struct unit *u, struct place at) {
    if (++u->f->depth > MAX_TREE_DEPTH) syntax_error(u->f, at, "expression is too deeply nested");
}

/* ---- instructions and labels */

void unit_emit(struct unit *u, enum opcode op, int32_t a, int32_t b) {
    if (u->dead) return;
    if (++u->f->n_emitted > MAX_EMITTED)
        frontend_fail_at(u->f,
                         (struct place){u->span.line, u->span.col, u->span.line, u->span.end_col},
                         "the code for this file grows too large");
    struct instr in = {(uint8_t)op, a, b};
    vec_push(u->f->arena, &u->instrs, in);
    vec_push(u->f->arena, &u->spans, u->span);
    if (opcode_operand(op, 0) == OPERAND_JUMP) u->labels.at[a].used = true;
    u->dead = op == OP_JUMP || op == OP_RETURN_VALUE || op == OP_RAISE || op == OP_RERAISE;
}

int32_t unit_label(struct unit *u) {
    struct label l = {.target = -1};
    vec_push(u->f->scratch, &u->labels, l);
    return (int32_t)u->labels.n - 1;
}

void unit_bind(struct unit *u, int32_t label) {
    struct label *l = &u->labels.at[label];
    l->target = (int32_t)u->instrs.n;
    if (l->used) u->dead = false;
}

/* ---- constants */

/* Bytes that are equal exactly for equal constants: 1, 1.0 and True differ, and so do 0.0 and -0.0.
 */
static void put_key(struct buf *b, const struct constant *k) {
    buf_putc(b, (char)('a' + k->kind));
    switch (k->kind) {
    case CONSTANT_NONE:
    case CONSTANT_FALSE:
    case CONSTANT_TRUE:
    case CONSTANT_ELLIPSIS: break;
    case CONSTANT_INT: buf_write(b, (const char *)&k->i, sizeof k->i); break;
    case CONSTANT_FLOAT: buf_write(b, (const char *)&k->f, sizeof k->f); break;
    case CONSTANT_CODE: buf_write(b, (const char *)&k->code, sizeof k->code); break;
    case CONSTANT_STRING:
        buf_write(b, (const char *)&k->n, sizeof k->n);
        buf_write(b, k->s, k->n);
        break;
    case CONSTANT_TUPLE:
        buf_write(b, (const char *)&k->n, sizeof k->n);
        for (uint32_t i = 0; i < k->n; i++) put_key(b, &k->items[i]);
        break;
    }
}

int32_t unit_const(struct unit *u, struct constant k) {
    if (u->dead) return 0;
    struct buf key = buf_new(u->f->scratch);
    put_key(&key, &k);
    uint64_t index;
    if (map_get(&u->const_index, key.p, key.n, &index)) return (int32_t)index;
    map_put(&u->const_index, key.p, key.n, u->consts.n);
    vec_push(u->f->arena, &u->consts, k);
    return (int32_t)u->consts.n - 1;
}

void unit_emit_const(struct unit *u, struct constant k) {
    unit_emit(u, OP_LOAD_CONST, unit_const(u, k), 0);
}

void unit_emit_none(struct unit *u) {
    unit_emit_const(u, (struct constant){.kind = CONSTANT_NONE});
}

/* ---- names */

int32_t unit_name(struct unit *u, const char *name) {
    if (u->dead) return 0;
    uint64_t index;
    if (map_gets(&u->name_index, name, &index)) return (int32_t)index;
    map_puts(&u->name_index, name, u->code->names.n);
    vec_push(u->f->arena, &u->code->names, name);
    return (int32_t)u->code->names.n - 1;
}

static int32_t cell_index(const struct unit *u, const char *name) {
    const struct code *c = u->code;
    for (uint32_t i = 0; i < c->cells.n; i++)
        if (strcmp(c->cells.at[i], name) == 0) return (int32_t)i;
    for (uint32_t i = 0; i < c->frees.n; i++)
        if (strcmp(c->frees.at[i], name) == 0) return (int32_t)(c->cells.n + i);
    WS_BUG("%s is no cell of %s", name, c->qualname);
}

/* How the current scope reaches a variable; the row of access[] below. */
enum reach { REACH_FAST, REACH_DEREF, REACH_GLOBAL, REACH_NAME, REACH_CLASS_FREE };

static enum reach reach_of(const struct unit *u, const char *name) {
    uint32_t use = scope_use(u->scope, name);
    bool own = (use & SYMBOL_BOUND) && !(use & SYMBOL_NONLOCAL);
    switch (u->scope->kind) {
    case CODE_MODULE: return REACH_NAME;
    case CODE_CLASS:
        if (use & SYMBOL_GLOBAL) return REACH_GLOBAL;
        if (!(use & SYMBOL_FREE) || own) return REACH_NAME;
        return use & SYMBOL_NONLOCAL ? REACH_DEREF : REACH_CLASS_FREE;
    default:
        if (use & SYMBOL_GLOBAL) return REACH_GLOBAL;
        if (use & (SYMBOL_CELL | SYMBOL_FREE)) return REACH_DEREF;
        return use & SYMBOL_BOUND ? REACH_FAST : REACH_GLOBAL;
    }
}

static void emit_access(struct unit *u, const char *name, int verb) {
    static const enum opcode access[][3] = {
        [REACH_FAST] = {OP_LOAD_FAST, OP_STORE_FAST, OP_DELETE_FAST},
        [REACH_DEREF] = {OP_LOAD_DEREF, OP_STORE_DEREF, OP_DELETE_DEREF},
        [REACH_GLOBAL] = {OP_LOAD_GLOBAL, OP_STORE_GLOBAL, OP_DELETE_GLOBAL},
        [REACH_NAME] = {OP_LOAD_NAME, OP_STORE_NAME, OP_DELETE_NAME},
        [REACH_CLASS_FREE] = {OP_LOAD_CLASSDEREF, OP_STORE_DEREF, OP_DELETE_DEREF},
    };
    enum reach reach = reach_of(u, name);
    int32_t index = 0;
    switch (reach) {
    case REACH_FAST: index = local_index(u, name); break;
    case REACH_DEREF:
    case REACH_CLASS_FREE: index = cell_index(u, name); break;
    case REACH_GLOBAL:
    case REACH_NAME: index = unit_name(u, name); break;
    }
    unit_emit(u, access[reach][verb], index, 0);
}

void unit_emit_load(struct unit *u, const char *name) { emit_access(u, name, 0); }
void unit_emit_store(struct unit *u, const char *name) { emit_access(u, name, 1); }
void unit_emit_delete(struct unit *u, const char *name) { emit_access(u, name, 2); }

void unit_emit_function(struct unit *u, struct code *inner, int32_t flags) {
    for (uint32_t i = 0; i < inner->frees.n; i++)
        unit_emit(u, OP_LOAD_CLOSURE, cell_index(u, inner->frees.at[i]), 0);
    if (inner->frees.n) {
        unit_emit(u, OP_BUILD_TUPLE, (int32_t)inner->frees.n, 0);
        flags |= MAKE_CLOSURE;
    }
    struct constant k = {.kind = CONSTANT_CODE, .code = inner};
    unit_emit(u, OP_MAKE_FUNCTION, flags, unit_const(u, k));
}
