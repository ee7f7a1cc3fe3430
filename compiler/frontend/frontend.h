/* frontend.h: a Python file in, code objects out.
 *
 *   def f(x):                 function f(x)  line 1, stack 2
 *       return x * 2            2:12-13    0 LOAD_FAST        x
 *                               2:16-17    1 LOAD_CONST       2
 *                               2:12-17    2 BINARY_OP        *
 *                               2:5-17     3 RETURN_VALUE
 *
 * The stages are lexer.c (text -> tokens), parse_*.c (tokens -> the tree of ast.h), symtable.c
 * (which names are local, shared or global), compile_*.c (tree -> instructions) and assemble.c
 * (stack depth). print.c prints.
 *
 * The language is Python 3.11 as PyTorch files use it. Annotations are parsed and dropped. A
 * generator expression is a function that builds the whole list at once (CODE_GENEXPR). Refused,
 * each with its line: async and await (a function that is async may be there, but not be called),
 * integers beyond 64 bits, except*, starred bases of a class, \N{...} in strings.
 *
 * Ownership: everything lives in the arena given; the code points into the source, which must live
 * as long.
 *
 * Invariants, checked for every code object:
 *   C1  every operand lies in its table; every jump lands on an instruction
 *   C2  the depth of the stack at an instruction does not depend on the way there, is never
 *       negative and never exceeds max_stack
 *   C3  no instruction runs off the end
 *   C4  locals begin with the parameters: positional, keyword-only, *args, **kwargs
 *
 * Blocks. A frame has a stack of blocks besides the stack of values. SETUP_FINALLY and SETUP_WITH
 * push a try block (handler, depth); POP_BLOCK drops it. When an exception e leaves an instruction:
 *     pop blocks down to and including the innermost try block; no such block: e leaves the frame
 *     cut the stack to its depth; push e; push a handler block (e); go to its handler
 * POP_EXCEPT and RERAISE drop the handler block. The blocks at an instruction, like the depth, do
 * not depend on the way there. `finally` and `__exit__` on the way of return, break and continue
 * are compiled in line. */
#ifndef WS_FRONTEND_H
#define WS_FRONTEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"

enum opcode {
#define OPCODE(name, ...) OP_##name,
#include "frontend/opcodes.def"
#undef OPCODE
    OPCODE_COUNT
};

enum operand_kind {
    OPERAND_NONE,
    OPERAND_CONST,
    OPERAND_NAME,
    OPERAND_LOCAL,
    OPERAND_LOCAL_OR_NONE,
    OPERAND_CELL,
    OPERAND_COUNT,
    OPERAND_FLAG,
    OPERAND_JUMP,
    OPERAND_BINARY,
    OPERAND_UNARY,
    OPERAND_COMPARE,
    OPERAND_CONVERSION,
    OPERAND_KEYWORDS,
    OPERAND_FUNCTION,
};

/* Operand a of BINARY_OP:  BINARY(id, sign, __method__ without the underscores). __r..__ and
 * __i..__ follow. */
#define BINARY_OPERATORS(BINARY)                                                                   \
    BINARY(ADD, "+", "add")                                                                        \
    BINARY(SUB, "-", "sub")                                                                        \
    BINARY(MUL, "*", "mul")                                                                        \
    BINARY(DIV, "/", "truediv")                                                                    \
    BINARY(FLOORDIV, "//", "floordiv")                                                             \
    BINARY(MOD, "%", "mod")                                                                        \
    BINARY(POW, "**", "pow")                                                                       \
    BINARY(MATMUL, "@", "matmul")                                                                  \
    BINARY(AND, "&", "and")                                                                        \
    BINARY(OR, "|", "or")                                                                          \
    BINARY(XOR, "^", "xor")                                                                        \
    BINARY(LSHIFT, "<<", "lshift")                                                                 \
    BINARY(RSHIFT, ">>", "rshift")

enum binary_operator {
#define BINARY(id, sign, method) BINARY_##id,
    BINARY_OPERATORS(BINARY)
#undef BINARY
        BINARY_COUNT
};

#define UNARY_OPERATORS(UNARY)                                                                     \
    UNARY(NEG, "-", "neg")                                                                         \
    UNARY(POS, "+", "pos")                                                                         \
    UNARY(NOT, "not", "")                                                                          \
    UNARY(INVERT, "~", "invert")

enum unary_operator {
#define UNARY(id, sign, method) UNARY_##id,
    UNARY_OPERATORS(UNARY)
#undef UNARY
        UNARY_COUNT
};

#define COMPARE_OPERATORS(COMPARE)                                                                 \
    COMPARE(LT, "<", "lt")                                                                         \
    COMPARE(LE, "<=", "le")                                                                        \
    COMPARE(EQ, "==", "eq")                                                                        \
    COMPARE(NE, "!=", "ne")                                                                        \
    COMPARE(GT, ">", "gt")                                                                         \
    COMPARE(GE, ">=", "ge")                                                                        \
    COMPARE(IS, "is", "")                                                                          \
    COMPARE(IS_NOT, "is not", "")                                                                  \
    COMPARE(IN, "in", "contains")                                                                  \
    COMPARE(NOT_IN, "not in", "contains")

enum compare_operator {
#define COMPARE(id, sign, method) COMPARE_##id,
    COMPARE_OPERATORS(COMPARE)
#undef COMPARE
        COMPARE_COUNT
};

/* Operand a of FORMAT_VALUE: what is called on the value before format(). */
enum conversion { CONVERT_NONE, CONVERT_STR, CONVERT_REPR, CONVERT_ASCII };

/* Operand a of MAKE_FUNCTION: what is on the stack, in this order. */
enum make_function {
    MAKE_DEFAULTS = 1,   /* tuple: defaults of the last positional parameters */
    MAKE_KWDEFAULTS = 2, /* dict: name -> default of keyword-only parameters */
    MAKE_CLOSURE = 4,    /* tuple of cells, one for each of the code's frees */
};

struct instr {
    uint8_t op; /* enum opcode */
    int32_t a, b;
};

enum constant_kind {
    CONSTANT_NONE,
    CONSTANT_FALSE,
    CONSTANT_TRUE,
    CONSTANT_ELLIPSIS,
    CONSTANT_INT,
    CONSTANT_FLOAT,
    CONSTANT_STRING,
    CONSTANT_TUPLE, /* of constants other than code */
    CONSTANT_CODE,
};

struct code;

struct constant {
    enum constant_kind kind;
    uint32_t n; /* bytes of the string, or items of the tuple */
    union {
        int64_t i;
        double f;
        const char *s; /* UTF-8, 0-terminated; may contain zeros */
        const struct constant *items;
        const struct code *code;
    };
};

struct names {
    const char **at;
    uint32_t n, cap;
};

enum code_kind {
    CODE_MODULE,
    CODE_FUNCTION,
    CODE_LAMBDA,
    CODE_CLASS,         /* a class body: a function of no parameters with a namespace of its own */
    CODE_COMPREHENSION, /* one parameter ".0", the iterator of the outermost `for`; returns list,
                           set or dict */
    CODE_GENEXPR,       /* the same; returns a list that stands for the generator */
};

struct code {
    enum code_kind kind;
    const char *name;     /* "forward", "<module>", "<lambda>", "<listcomp>", "<genexpr>" ... */
    const char *qualname; /* "Model.forward", "f.<locals>.g" */
    const char *doc;      /* docstring or NULL */
    const struct source *source;
    uint32_t first_line;

    uint32_t n_posonly; /* parameters before `/`, counted in n_args too */
    uint32_t n_args;    /* positional parameters */
    uint32_t n_kwonly;
    bool varargs, varkw; /* has *args, **kwargs */
    bool yields;         /* a call makes a generator */

    struct names locals; /* C4; functions, lambdas and comprehensions only */
    struct names cells;  /* own variables that nested code uses; a parameter is in locals too
                            (MAKE_CELL copies it) */
    struct names
        frees; /* variables of enclosing code: CELL operand n_cells + i, filled from the closure */
    struct names names; /* of globals, attributes, modules */

    struct constant *consts;
    uint32_t n_consts;
    struct instr *instrs;
    struct span *spans; /* spans[i] is the expression or statement that instrs[i] came from */
    uint32_t n_instrs;
    uint32_t max_stack;
};

/* Compile a whole module. NULL with a diag (WS_WRONG, CPython's words, line and caret) if it is not
 * a program. */
const struct code *frontend_compile(struct arena *a, const struct source *src, struct diag *d);

/* A readable disassembly, nested code after its user, in order of first use. Stable: golden tests
 * are made of it. */
void code_print(struct buf *b, const struct code *c);
void constant_print(struct buf *b,
                    const struct constant *k); /* as Python's repr(); code as <code NAME> */

const char *opcode_name(enum opcode op);
enum operand_kind opcode_operand(enum opcode op, int which); /* which: 0 = a, 1 = b */
const char *binary_sign(enum binary_operator op);            /* "+" */
const char *binary_method(enum binary_operator op);          /* "add" */
const char *unary_sign(enum unary_operator op);
const char *compare_sign(enum compare_operator op);

/* Change of the stack's depth by an instruction: on the way to the next one, or (jump) to its
 * target. */
int instr_effect(struct instr in, bool jump);

/* Name behind a CELL operand. */
const char *code_cell_name(const struct code *c, int32_t cell);

bool constant_equal(const struct constant *x, const struct constant *y); /* same kind, same bits */

/* lexer.c */
/* Bytes of the UTF-8 sequence at p and its code point; 0 if it is malformed or cut off by end. */
int utf8_decode(const char *p, const char *end, uint32_t *code_point);
void utf8_put(struct buf *b, uint32_t code_point);

#endif
