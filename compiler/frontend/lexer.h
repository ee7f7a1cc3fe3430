/* lexer.h: tokens, places in the source, and the context that every stage of the frontend shares.
 * Private. */
#ifndef WS_FRONTEND_LEXER_H
#define WS_FRONTEND_LEXER_H

#include <setjmp.h>

#include "base/map.h"
#include "base/vec.h"
#include "frontend/frontend.h"

/* From (line, col) up to, not including, (end_line, end_col); 1-based, columns count bytes. */
struct place {
    uint32_t line, col, end_line, end_col;
};

/* The first error leaves through `escape`: arenas leave nothing to free, and no function has to
 * pass a failure on. */
struct frontend {
    struct arena *arena;
    struct arena *tokens;  /* which are many, and of no use behind the parser */
    struct arena *scratch; /* what is of no use behind all stages */
    const struct source *src;
    struct diag *diag;
    jmp_buf escape;
    uint32_t *lines; /* where each line starts in the text */
    uint32_t n_lines;
    uint32_t depth;     /* how deep the recursion of the running stage is */
    uint32_t n_emitted; /* instructions so far, over all code objects */
};

enum {
    MAX_NESTING = 200,      /* brackets inside each other, as in CPython */
    MAX_PARSER_DEPTH = 500, /* expressions and blocks inside each other */
    MAX_TREE_DEPTH =
        2000,          /* of the tree, which chains like a + b + c + ... deepen without nesting */
    MAX_INDENTS = 100, /* levels of indentation, as in CPython */
    MAX_EMITTED = 1u << 22, /* instructions; inlined `finally` bodies can double at every level */
};

/* Report at a place and leave. syntax_error puts "SyntaxError: " before the message, fail_at
 * nothing. */
void syntax_error(struct frontend *f, struct place at, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void frontend_fail_at(struct frontend *f, struct place at, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

struct place place_join(struct place from, struct place to);

/* The part of a place on its first line: what a caret can point at. */
struct span place_span(const struct frontend *f, struct place at);

/* TOKEN(id, text): the tokens that have one spelling. Longer operators stand before their prefixes.
 */
#define OPERATOR_TOKENS(TOKEN)                                                                     \
    TOKEN(LSHIFT_ASSIGN, "<<=")                                                                    \
    TOKEN(RSHIFT_ASSIGN, ">>=")                                                                    \
    TOKEN(POW_ASSIGN, "**=")                                                                       \
    TOKEN(FLOORDIV_ASSIGN, "//=")                                                                  \
    TOKEN(ELLIPSIS, "...")                                                                         \
    TOKEN(ADD_ASSIGN, "+=")                                                                        \
    TOKEN(SUB_ASSIGN, "-=")                                                                        \
    TOKEN(MUL_ASSIGN, "*=")                                                                        \
    TOKEN(DIV_ASSIGN, "/=")                                                                        \
    TOKEN(MOD_ASSIGN, "%=")                                                                        \
    TOKEN(MATMUL_ASSIGN, "@=")                                                                     \
    TOKEN(AND_ASSIGN, "&=")                                                                        \
    TOKEN(OR_ASSIGN, "|=")                                                                         \
    TOKEN(XOR_ASSIGN, "^=")                                                                        \
    TOKEN(POW, "**")                                                                               \
    TOKEN(FLOORDIV, "//")                                                                          \
    TOKEN(LSHIFT, "<<")                                                                            \
    TOKEN(RSHIFT, ">>")                                                                            \
    TOKEN(LE, "<=")                                                                                \
    TOKEN(GE, ">=")                                                                                \
    TOKEN(EQ, "==")                                                                                \
    TOKEN(NE, "!=")                                                                                \
    TOKEN(ARROW, "->")                                                                             \
    TOKEN(WALRUS, ":=")                                                                            \
    TOKEN(LPAR, "(")                                                                               \
    TOKEN(RPAR, ")")                                                                               \
    TOKEN(LSQB, "[")                                                                               \
    TOKEN(RSQB, "]")                                                                               \
    TOKEN(LBRACE, "{")                                                                             \
    TOKEN(RBRACE, "}")                                                                             \
    TOKEN(COMMA, ",")                                                                              \
    TOKEN(COLON, ":")                                                                              \
    TOKEN(SEMI, ";")                                                                               \
    TOKEN(DOT, ".")                                                                                \
    TOKEN(ASSIGN, "=")                                                                             \
    TOKEN(ADD, "+")                                                                                \
    TOKEN(SUB, "-")                                                                                \
    TOKEN(MUL, "*")                                                                                \
    TOKEN(DIV, "/")                                                                                \
    TOKEN(MOD, "%")                                                                                \
    TOKEN(MATMUL, "@")                                                                             \
    TOKEN(AND, "&")                                                                                \
    TOKEN(OR, "|")                                                                                 \
    TOKEN(XOR, "^")                                                                                \
    TOKEN(INVERT, "~")                                                                             \
    TOKEN(LT, "<")                                                                                 \
    TOKEN(GT, ">")

#define KEYWORD_TOKENS(TOKEN)                                                                      \
    TOKEN(K_FALSE, "False")                                                                        \
    TOKEN(K_NONE, "None")                                                                          \
    TOKEN(K_TRUE, "True")                                                                          \
    TOKEN(K_AND, "and")                                                                            \
    TOKEN(K_AS, "as")                                                                              \
    TOKEN(K_ASSERT, "assert")                                                                      \
    TOKEN(K_ASYNC, "async")                                                                        \
    TOKEN(K_AWAIT, "await")                                                                        \
    TOKEN(K_BREAK, "break")                                                                        \
    TOKEN(K_CLASS, "class")                                                                        \
    TOKEN(K_CONTINUE, "continue")                                                                  \
    TOKEN(K_DEF, "def")                                                                            \
    TOKEN(K_DEL, "del")                                                                            \
    TOKEN(K_ELIF, "elif")                                                                          \
    TOKEN(K_ELSE, "else")                                                                          \
    TOKEN(K_EXCEPT, "except")                                                                      \
    TOKEN(K_FINALLY, "finally")                                                                    \
    TOKEN(K_FOR, "for")                                                                            \
    TOKEN(K_FROM, "from")                                                                          \
    TOKEN(K_GLOBAL, "global")                                                                      \
    TOKEN(K_IF, "if")                                                                              \
    TOKEN(K_IMPORT, "import")                                                                      \
    TOKEN(K_IN, "in")                                                                              \
    TOKEN(K_IS, "is")                                                                              \
    TOKEN(K_LAMBDA, "lambda")                                                                      \
    TOKEN(K_NONLOCAL, "nonlocal")                                                                  \
    TOKEN(K_NOT, "not")                                                                            \
    TOKEN(K_OR, "or")                                                                              \
    TOKEN(K_PASS, "pass")                                                                          \
    TOKEN(K_RAISE, "raise")                                                                        \
    TOKEN(K_RETURN, "return")                                                                      \
    TOKEN(K_TRY, "try")                                                                            \
    TOKEN(K_WHILE, "while")                                                                        \
    TOKEN(K_WITH, "with")                                                                          \
    TOKEN(K_YIELD, "yield")

enum token_kind {
    T_END,
    T_ERROR, /* the text cannot be read past here; reported if the parser gets this far */
    T_NEWLINE,
    T_INDENT,
    T_DEDENT,
    T_NAME,
    T_INT,
    T_FLOAT,
    T_STRING, /* prefix, quotes and all */
#define TOKEN(id, text) T_##id,
    OPERATOR_TOKENS(TOKEN) KEYWORD_TOKENS(TOKEN)
#undef TOKEN
        TOKEN_COUNT
};

struct token {
    enum token_kind kind;
    struct place at;
    const char *text; /* len bytes of the source */
    uint32_t len;
    int32_t open;      /* token of the innermost bracket open here, -1 for none */
    const char *error; /* T_ERROR: "SyntaxError: ..." */
};

struct tokens {
    struct token *at; /* ends in T_END or T_ERROR */
    uint32_t n, cap;
};

/* All tokens of the file. */
struct tokens lex_file(struct frontend *f);

/* Tokens of a piece of one, read as inside brackets: no NEWLINE, INDENT, DEDENT. from..to lies on
 * line `line` and those after it. For the expressions in f-strings. */
struct tokens lex_range(struct frontend *f, const char *from, const char *to, uint32_t line);

const char *token_text(enum token_kind kind); /* the spelling, or NULL */

#endif
