/* compile.h: scopes and code under construction: what symtable.c, compile_*.c and assemble.c share.
 * Private. */
#ifndef WS_FRONTEND_COMPILE_H
#define WS_FRONTEND_COMPILE_H

#include "frontend/ast.h"

/* ---- symtable.c: what each name means in each scope */

enum symbol_use {
    SYMBOL_BOUND = 1, /* assigned, imported, deleted, a parameter ... */
    SYMBOL_READ = 2,
    SYMBOL_PARAM = 4,
    SYMBOL_GLOBAL = 8, /* declared so */
    SYMBOL_NONLOCAL = 16,
    SYMBOL_CELL = 32, /* own variable, used by nested code */
    SYMBOL_FREE = 64, /* variable of an enclosing function */
};

struct scope {
    enum code_kind kind;
    struct scope *parent;
    bool yields;                           /* a function that is a generator */
    enum comprehension_kind comprehension; /* COMPREHENSION, GENEXPR: of a what */
    struct map symbols; /* name -> bits of enum symbol_use, in order of first use */
};

/* Build and resolve the scopes of a module; sets ->scope of every node that has one. */
void symtable_build(struct frontend *f, struct module *m);

uint32_t scope_use(const struct scope *s,
                   const char *name); /* bits, 0 if the scope does not know it */

/* ---- code under construction */

struct label {
    int32_t target; /* -1 until bound */
    bool used;
};

/* What leaving a statement early has to undo, innermost first; lives on the C stack of the
 * compiler. */
enum unwind_kind {
    UNWIND_WHILE,
    UNWIND_FOR,     /* the iterator is on the stack */
    UNWIND_TRY,     /* a try block with handlers */
    UNWIND_FINALLY, /* a try block with a final body */
    UNWIND_WITH,    /* a try block above __exit__ */
    UNWIND_HANDLER, /* a handler block, the exception on the stack */
    UNWIND_NAME,    /* a try block that unbinds the name of `except ... as name` */
    UNWIND_VALUE,   /* the value being returned, while a final body runs */
};

struct unwind {
    enum unwind_kind kind;
    struct unwind *outer;
    int32_t next_label, end_label; /* loops: where continue and break go */
    const struct stmt *final_of;   /* UNWIND_FINALLY: the try statement */
    const char *name;              /* UNWIND_NAME */
    struct place at;
};

/* One code object in the making. */
struct unit {
    struct frontend *f;
    struct unit *parent;
    struct scope *scope;
    struct code *code;
    VEC(struct instr) instrs;
    VEC(struct span) spans;
    VEC(struct constant) consts;
    VEC(struct label) labels;
    struct map const_index, name_index, local_index; /* what is there already -> where */
    struct unwind *unwind;
    struct span span; /* of what is being compiled */
    bool dead;        /* no way leads here: nothing is emitted until a label is bound */
};

/* compile_emit.c */
void unit_open(struct unit *u, struct frontend *f, struct unit *parent, struct scope *scope,
               const char *name, uint32_t line);
void unit_emit(struct unit *u, enum opcode op, int32_t a, int32_t b);
int32_t unit_label(struct unit *u);
void unit_bind(struct unit *u, int32_t label); /* the next instruction is where it leads */
void unit_emit_const(struct unit *u, struct constant k);
void unit_emit_none(struct unit *u);
int32_t unit_const(struct unit *u, struct constant k);
int32_t unit_name(struct unit *u, const char *name);
void unit_emit_load(struct unit *u, const char *name);
void unit_emit_store(struct unit *u, const char *name);
void unit_emit_delete(struct unit *u, const char *name);
/* Make the inner code (finished) a function of this unit; flags of what is on the stack already. */
void unit_emit_function(struct unit *u, struct code *inner, int32_t flags);
void unit_enter(struct unit *u, struct place at); /* one level deeper; u->f->depth-- undoes it */

/* assemble.c: resolve labels, find the depth of the stack, check C1 to C4 */
struct code *unit_close(struct unit *u);

/* compile_expr.c */
void compile_expr(struct unit *u, const struct expr *e); /* leaves its value on the stack */
void compile_jump_if(struct unit *u, const struct expr *e, int32_t label, bool when);
void compile_store(struct unit *u, const struct expr *target); /* takes the value from the stack */
void compile_delete(struct unit *u, const struct expr *target);
bool expr_constant(struct unit *u, const struct expr *e, struct constant *out); /* does it fold? */

/* compile_call.c: calls, displays, comprehensions, f-strings */
void compile_call(struct unit *u, const struct expr *e);
int32_t compile_keywords(struct unit *u, const struct keyword *k,
                         uint32_t n);                       /* values; returns KEYWORDS */
void compile_display(struct unit *u, const struct expr *e); /* tuple, list, set, dict */
void compile_comprehension(struct unit *u, const struct expr *e);
void compile_joined(struct unit *u, const struct expr *e);
void compile_formatted(struct unit *u, const struct expr *e);

/* compile_def.c */
void compile_lambda(struct unit *u, const struct expr *e);
void compile_def(struct unit *u, const struct stmt *s);
void compile_class(struct unit *u, const struct stmt *s);

/* compile_stmt.c */
void compile_body(struct unit *u, const struct stmts *body);
const char *body_docstring(const struct stmts *body); /* NULL if it has none */

/* compile_match.c */
void compile_match(struct unit *u, const struct stmt *s);
/* Where what a pattern binds is until all of it has matched. */
const char *pattern_variable(struct frontend *f, const char *name);

/* compile_try.c: try, with, and leaving blocks early */
void compile_try(struct unit *u, const struct stmt *s);
void compile_with(struct unit *u, const struct stmt *s);
void compile_return(struct unit *u, const struct stmt *s);
void compile_loop_exit(struct unit *u, const struct stmt *s); /* break, continue */

#endif
