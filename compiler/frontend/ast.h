/* ast.h: the tree between the parser and the compiler. Private.
 *
 * Nodes live in the arena and are not changed once parsed, but for `scope`, which symtable.c fills
 * in. Whether a name is read or written follows from where it stands (targets are plain
 * expressions, checked by parse_target.c). */
#ifndef WS_FRONTEND_AST_H
#define WS_FRONTEND_AST_H

#include "frontend/lexer.h"

struct scope;

struct expr_list {
    struct expr **at;
    uint32_t n, cap;
};

enum expr_kind {
    E_NAME,
    E_CONSTANT,
    E_TUPLE,
    E_LIST,
    E_SET,
    E_DICT,
    E_BINARY,
    E_UNARY,
    E_AND,
    E_OR,
    E_COMPARE,
    E_TERNARY,
    E_LAMBDA,
    E_CALL,
    E_ATTRIBUTE,
    E_SUBSCRIPT,
    E_SLICE,
    E_STARRED,
    E_WALRUS,
    E_YIELD,
    E_COMPREHENSION,
    E_JOINED,    /* f-string: constants and E_FORMATTED */
    E_FORMATTED, /* {value!conversion:spec} */
};

struct param {
    const char *name;
    struct expr *value; /* default or NULL */
    struct place at;
};

struct params {
    VEC(struct param) list; /* positional, then keyword-only */
    uint32_t n_posonly, n_args;
    struct param *vararg, *kwarg; /* NULL if absent */
};

struct keyword {
    const char *name; /* NULL: **value */
    struct expr *value;
    struct place at;
};

/* for target in iter if test if test */
struct for_clause {
    struct expr *target, *iter;
    struct expr_list tests;
};

enum comprehension_kind { COMPREHEND_LIST, COMPREHEND_SET, COMPREHEND_DICT, COMPREHEND_GENERATOR };

struct expr {
    enum expr_kind kind;
    bool in_parens; /* written in parentheses of its own */
    struct place at;
    union {
        const char *name; /* E_NAME, with private names mangled */
        struct {
            struct constant value;
            bool minus_only; /* 9223372036854775808: fits only behind a minus; value is its negative
                              */
        } constant;
        struct expr_list items; /* E_TUPLE E_LIST E_SET E_AND E_OR E_JOINED */
        struct {
            struct expr_list keys, values; /* a NULL key: **value */
        } dict;
        struct {
            enum binary_operator op;
            struct expr *left, *right;
        } binary;
        struct {
            enum unary_operator op;
            struct expr *value;
        } unary;
        struct {
            struct expr_list operands; /* a < b < c */
            VEC(enum compare_operator) ops;
        } compare;
        struct {
            struct expr *test, *yes, *no;
        } ternary;
        struct {
            struct params params;
            struct expr *body;
            struct scope *scope;
        } lambda;
        struct {
            struct expr *function;
            struct expr_list args; /* may hold E_STARRED */
            VEC(struct keyword) keywords;
        } call;
        struct {
            struct expr *object;
            const char *name;
        } attribute;
        struct {
            struct expr *object, *index;
        } subscript;
        struct {
            struct expr *low, *high, *step; /* NULL where left out */
        } slice;
        struct expr *starred;
        struct {
            struct expr *target, *value;
        } walrus;
        struct {
            struct expr *value; /* NULL: None */
            bool from;          /* of another iterable, one by one */
        } yield;
        struct {
            enum comprehension_kind kind;
            struct expr *element, *value; /* value: of a dict's pair, else NULL */
            VEC(struct for_clause) clauses;
            struct scope *scope;
        } comprehension;
        struct {
            struct expr *value, *spec; /* spec: E_JOINED or NULL */
            enum conversion conversion;
        } formatted;
    };
};

struct stmts {
    struct stmt **at;
    uint32_t n, cap;
};

enum stmt_kind {
    S_EXPR,
    S_ASSIGN,
    S_AUGMENTED,
    S_ANNOTATED,
    S_RETURN,
    S_RAISE,
    S_ASSERT,
    S_DELETE,
    S_PASS,
    S_BREAK,
    S_CONTINUE,
    S_GLOBAL,
    S_NONLOCAL,
    S_IMPORT,
    S_FROM,
    S_IF,
    S_WHILE,
    S_FOR,
    S_WITH,
    S_TRY,
    S_MATCH,
    S_FUNCTION,
    S_CLASS,
};

enum pattern_kind {
    PATTERN_VALUE,   /* == values[0] */
    PATTERN_SINGLE,  /* is values[0]: None, True, False */
    PATTERN_CAPTURE, /* anything, as name */
    PATTERN_SEQUENCE,
    PATTERN_MAPPING, /* values are the keys of items; the rest as name */
    PATTERN_CLASS,   /* of class values[0]; the last items are of the attributes names */
    PATTERN_OR,      /* one of items */
    PATTERN_AS,      /* items[0], as name */
};

struct pattern {
    enum pattern_kind kind;
    struct place at;
    const char *subject; /* the variable with what it looks at */
    const char *name;    /* NULL: bound to nothing */
    struct expr_list values;
    struct names names;
    VEC(struct pattern *) items;
    uint32_t star, n_starred; /* sequences: which item takes the rest, if n_starred */
};

struct match_case {
    struct pattern *pattern;
    struct expr *guard; /* NULL: none */
    struct stmts body;
};

/* One name of an import: `import dotted as name`, or of `from x import dotted as name`. */
struct alias {
    const char *dotted, *name; /* name NULL: no `as` */
    struct place at;
};

struct with_item {
    struct expr *manager, *target; /* target may be NULL */
};

struct handler {
    struct expr *type; /* NULL: bare except */
    const char *name;  /* NULL: no `as` */
    struct stmts body;
    struct place at; /* of the head, without the body */
};

struct stmt {
    enum stmt_kind kind;
    struct place at; /* of the whole statement; of the head for those with a body */
    union {
        struct expr *expr; /* S_EXPR; S_RETURN (may be NULL) */
        struct {
            struct expr_list targets;
            struct expr *value;
        } assign;
        struct {
            enum binary_operator op;
            struct expr *target, *value;
        } augmented;
        struct {
            struct expr *target, *value; /* value may be NULL */
            const char *annotation;      /* its text */
        } annotated;
        struct {
            struct expr *exception, *cause; /* NULL where left out */
        } raise;
        struct {
            struct expr *test, *message; /* message may be NULL */
        } assert_;
        struct expr_list targets; /* S_DELETE */
        struct names names;       /* S_GLOBAL S_NONLOCAL */
        struct {
            const char *module; /* S_FROM */
            bool star;
            VEC(struct alias) aliases;
        } import;
        struct {
            struct expr *test;
            struct stmts body, orelse;
        } branch; /* S_IF S_WHILE */
        struct {
            struct expr *target, *iter;
            struct stmts body, orelse;
        } for_;
        struct {
            VEC(struct with_item) items;
            struct stmts body;
        } with;
        struct {
            struct expr *subject;
            VEC(struct match_case) cases;
        } match;
        struct {
            struct stmts body, orelse, final;
            VEC(struct handler) handlers;
        } try_;
        struct {
            const char *name;
            struct expr_list decorators;
            struct params params;
            struct stmts body;
            struct scope *scope;
        } function;
        struct {
            const char *name;
            struct expr_list decorators, bases;
            VEC(struct keyword) keywords;
            struct stmts body;
            struct scope *scope;
        } class_;
    };
};

struct module {
    struct stmts body;
    struct scope *scope;
};

/* parse_stmt.c: the whole file. Leaves through f->escape on a mistake. */
struct module *parse_module(struct frontend *f);

#endif
