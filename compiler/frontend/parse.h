/* parse.h: what the files parse_*.c share. Recursive descent; functions are named after what they
 * read and leave the parser at the first token after it. */
#ifndef WS_FRONTEND_PARSE_H
#define WS_FRONTEND_PARSE_H

#include "frontend/ast.h"

struct parser {
    struct frontend *f;
    struct tokens tokens;
    uint32_t i;             /* the current token */
    const char *class_name; /* innermost class, for private names; NULL outside */
    bool in_fstring;        /* reading the inside of {...} */
    uint32_t n_subjects;    /* variables of patterns */
};

/* parse.c: tokens and mistakes */
const struct token *token_peek(const struct parser *p); /* the current token */
const struct token *token_peek_at(const struct parser *p,
                                  int n);              /* n further on, at most the last */
struct place token_last_place(const struct parser *p); /* of the token just read */
bool token_is(const struct parser *p, enum token_kind kind);
bool token_is_word(const struct parser *p, const char *word);
bool token_accept(struct parser *p, enum token_kind kind);         /* read it if it is there */
struct place token_expect(struct parser *p, enum token_kind kind); /* else "expected ':'" */
const char *token_expect_name(struct parser *p);                   /* else invalid syntax */
const char *parser_mangle(struct parser *p, const char *name);     /* __x in class C: _C__x */
void invalid_syntax(struct parser *p) __attribute__((noreturn));
/* `left` was read where a value is wanted: complain if a single `=` follows it, as in `if x = 1:`.
 */
void check_no_assignment(struct parser *p, const struct expr *left);
/* `item` was read inside brackets: read the comma after it (true) or stop at `end` (false). */
bool token_accept_comma(struct parser *p, const struct expr *item, enum token_kind end);
void parser_deeper(struct parser *p); /* one more level of recursion; f->depth-- undoes it */

struct expr *tree_expr(struct parser *p, enum expr_kind kind, struct place at);

/* parse_expr.c */
struct expr *parse_expression(struct parser *p);         /* no walrus, no star, no bare tuple */
struct expr *parse_named_expression(struct parser *p);   /* also x := 1 */
struct expr *parse_starred_expression(struct parser *p); /* also *x */
struct expr *parse_starred_argument(struct parser *p);   /* of a call, where *x or y is *(x or y) */
struct expr *parse_expressions(struct parser *p);        /* also a, *b */
struct expr *parse_values(struct parser *p);             /* the same, or yield */
struct expr *parse_disjunction(struct parser *p);        /* binds tighter than `if`: a or b */
struct expr *parse_operand(struct parser *p);            /* binds tighter than comparisons: a | b */
bool starts_expression(const struct parser *p);

/* parse_atom.c: names, literals, displays, comprehensions, and what follows them: calls,
 * attributes, subscripts */
struct expr *parse_primary(struct parser *p);
/* Arguments up to and with the closing parenthesis, into call->call. */
void parse_arguments(struct parser *p, struct expr *call);

/* parse_string.c: the strings from here on, joined */
struct expr *parse_strings(struct parser *p);

/* parse_target.c: may this expression stand there? Else "cannot assign to literal" and so on. */
enum target_use { TARGET_ASSIGN, TARGET_FOR, TARGET_WITH, TARGET_DELETE };
void check_target(struct parser *p, const struct expr *e, enum target_use use);
void check_augmented_target(struct parser *p, const struct expr *e);
void check_annotated_target(struct parser *p, const struct expr *e);
struct expr *parse_for_target(struct parser *p); /* up to `in` */
const char *expr_describe(const struct expr *e); /* "function call" */

/* parse_def.c */
/* Parameters up to `end`, which is not read; of a lambda they have no annotations. */
struct params parse_params(struct parser *p, enum token_kind end);
struct stmt *parse_decorated(struct parser *p);
struct stmt *parse_def(struct parser *p, struct expr_list decorators);
struct stmt *parse_class(struct parser *p, struct expr_list decorators);

/* parse_stmt.c */
/* The colon and what it governs; what and line are for "expected an indented block after 'if'
 * statement on line 2". */
struct stmts parse_block(struct parser *p, const char *what, uint32_t line);
struct stmt *tree_stmt(struct parser *p, enum stmt_kind kind, struct place at);

/* parse_match.c: from `match` on */
struct stmt *parse_match(struct parser *p);

/* parse_simple.c: the statements of one line; appends what stands between semicolons */
void parse_simple_line(struct parser *p, struct stmts *out);

#endif
