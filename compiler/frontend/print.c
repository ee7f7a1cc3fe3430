/* print.c: disassembly, and the tables of opcodes.def and frontend.h as functions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/frontend.h"

/* ---- tables */

const char *opcode_name(enum opcode op) {
    static const char *const names[] = {
#define OPCODE(name, ...) #name,
#include "frontend/opcodes.def"
#undef OPCODE
    };
    return names[op];
}

enum operand_kind opcode_operand(enum opcode op, int which) {
    static const uint8_t kinds[][2] = {
#define OPCODE(name, a, b, ...) {OPERAND_##a, OPERAND_##b},
#include "frontend/opcodes.def"
#undef OPCODE
    };
    return (enum operand_kind)kinds[op][which];
}

int instr_effect(struct instr in, bool jump) {
    int a = in.a, b = in.b;
    (void)a, (void)b;
    switch ((enum opcode)in.op) {
#define OPCODE(name, ka, kb, next, jumped, ...)                                                    \
    case OP_##name:                                                                                \
        return jump ? (jumped) : (next);
#include "frontend/opcodes.def"
#undef OPCODE
    case OPCODE_COUNT: break;
    }
    WS_BUG("instruction of unknown kind %d", in.op);
}

const char *binary_sign(enum binary_operator op) {
    static const char *const signs[] = {
#define BINARY(id, sign, method) sign,
        BINARY_OPERATORS(BINARY)
#undef BINARY
    };
    return signs[op];
}

const char *binary_method(enum binary_operator op) {
    static const char *const methods[] = {
#define BINARY(id, sign, method) method,
        BINARY_OPERATORS(BINARY)
#undef BINARY
    };
    return methods[op];
}

const char *unary_sign(enum unary_operator op) {
    static const char *const signs[] = {
#define UNARY(id, sign, method) sign,
        UNARY_OPERATORS(UNARY)
#undef UNARY
    };
    return signs[op];
}

const char *compare_sign(enum compare_operator op) {
    static const char *const signs[] = {
#define COMPARE(id, sign, method) sign,
        COMPARE_OPERATORS(COMPARE)
#undef COMPARE
    };
    return signs[op];
}

const char *code_cell_name(const struct code *c, int32_t cell) {
    uint32_t i = (uint32_t)cell;
    return i < c->cells.n ? c->cells.at[i] : c->frees.at[i - c->cells.n];
}

/* ---- constants */

/* The shortest digits that read back as the same number, with a point or an exponent, as Python
 * prints it. */
static void put_float(struct buf *b, double v) {
    char text[40];
    if (!isfinite(v)) {
        buf_puts(b, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 1;
    do {
        snprintf(text, sizeof text, "%.*g", digits, v);
    } while (strtod(text, NULL) != v && ++digits <= 17);
    bool small = fabs(v) < 1e16 && (v == 0 || fabs(v) >= 1e-4);
    if (small && strchr(text, 'e')) snprintf(text, sizeof text, "%.1f", v);
    if (!small && !strchr(text, 'e')) snprintf(text, sizeof text, "%.*e", digits - 1, v);
    buf_puts(b, text);
    if (!strpbrk(text, ".e")) buf_puts(b, ".0");
}

static void put_string(struct buf *b, const char *s, uint32_t n) {
    char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';
    buf_putc(b, quote);
    for (uint32_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == quote || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c == '\n')
            buf_puts(b, "\\n");
        else if (c == '\t')
            buf_puts(b, "\\t");
        else if (c == '\r')
            buf_puts(b, "\\r");
        else if (c < 0x20 || c == 0x7F)
            buf_printf(b, "\\x%02x", c);
        else
            buf_putc(b, (char)c);
    }
    buf_putc(b, quote);
}

static void put_tuple(struct buf *b, const struct constant *k) {
    buf_putc(b, '(');
    for (uint32_t i = 0; i < k->n; i++) {
        if (i) buf_puts(b, ", ");
        constant_print(b, &k->items[i]);
    }
    buf_puts(b, k->n == 1 ? ",)" : ")");
}

void constant_print(struct buf *b, const struct constant *k) {
    switch (k->kind) {
    case CONSTANT_NONE: buf_puts(b, "None"); break;
    case CONSTANT_FALSE: buf_puts(b, "False"); break;
    case CONSTANT_TRUE: buf_puts(b, "True"); break;
    case CONSTANT_ELLIPSIS: buf_puts(b, "Ellipsis"); break;
    case CONSTANT_INT: buf_printf(b, "%lld", (long long)k->i); break;
    case CONSTANT_FLOAT: put_float(b, k->f); break;
    case CONSTANT_STRING: put_string(b, k->s, k->n); break;
    case CONSTANT_TUPLE: put_tuple(b, k); break;
    case CONSTANT_CODE: buf_printf(b, "<code %s>", k->code->qualname); break;
    }
}

bool constant_equal(const struct constant *x, const struct constant *y) {
    if (x->kind != y->kind) return false;
    switch (x->kind) {
    case CONSTANT_NONE:
    case CONSTANT_FALSE:
    case CONSTANT_TRUE:
    case CONSTANT_ELLIPSIS: return true;
    case CONSTANT_INT: return x->i == y->i;
    case CONSTANT_FLOAT: return memcmp(&x->f, &y->f, sizeof x->f) == 0;
    case CONSTANT_STRING: return x->n == y->n && memcmp(x->s, y->s, x->n) == 0;
    case CONSTANT_CODE: return x->code == y->code;
    case CONSTANT_TUPLE: break;
    }
    if (x->n != y->n) return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (!constant_equal(&x->items[i], &y->items[i])) return false;
    return true;
}

/* ---- instructions */

static void put_function_flags(struct buf *b, int32_t flags) {
    static const char *const names[] = {"defaults", "kwdefaults", "closure"};
    for (int i = 0, n = 0; i < 3; i++)
        if (flags & 1 << i) buf_printf(b, "%s%s", n++ ? "+" : "", names[i]);
}

static void put_operand(struct buf *b, const struct code *c, enum operand_kind kind, int32_t v) {
    static const char *const conversions[] = {"", "!s", "!r", "!a"};
    switch (kind) {
    case OPERAND_NONE: break;
    case OPERAND_CONST: constant_print(b, &c->consts[v]); break;
    case OPERAND_NAME: buf_puts(b, c->names.at[v]); break;
    case OPERAND_LOCAL: buf_puts(b, c->locals.at[v]); break;
    case OPERAND_LOCAL_OR_NONE: buf_puts(b, v < 0 ? "" : c->locals.at[v]); break;
    case OPERAND_CELL: buf_puts(b, code_cell_name(c, v)); break;
    case OPERAND_COUNT: buf_printf(b, "%d", v); break;
    case OPERAND_FLAG: buf_printf(b, "%d", v); break;
    case OPERAND_JUMP: buf_printf(b, "-> %d", v); break;
    case OPERAND_BINARY: buf_puts(b, binary_sign((enum binary_operator)v)); break;
    case OPERAND_UNARY: buf_puts(b, unary_sign((enum unary_operator)v)); break;
    case OPERAND_COMPARE: buf_puts(b, compare_sign((enum compare_operator)v)); break;
    case OPERAND_CONVERSION: buf_puts(b, conversions[v]); break;
    case OPERAND_FUNCTION: put_function_flags(b, v); break;
    case OPERAND_KEYWORDS:
        if (v >= 0) constant_print(b, &c->consts[v]);
        break;
    }
}

static void put_instr(struct buf *b, const struct code *c, uint32_t i, bool is_target) {
    struct instr in = c->instrs[i];
    struct span at = c->spans[i];
    char where[48];
    snprintf(where, sizeof where, "%u:%u-%u", at.line, at.col, at.end_col);
    struct buf operands = buf_new(b->arena);
    put_operand(&operands, c, opcode_operand(in.op, 0), in.a);
    if (operands.n) buf_putc(&operands, ' ');
    if (in.op == OP_BINARY_OP)
        buf_puts(&operands, in.b ? "in place" : "");
    else
        put_operand(&operands, c, opcode_operand(in.op, 1), in.b);
    while (operands.n && operands.p[operands.n - 1] == ' ') operands.p[--operands.n] = 0;
    buf_printf(b, "  %-11s %s%4u %s", where, is_target ? ">" : " ", i, opcode_name(in.op));
    if (operands.n) buf_printf(b, "%*s%s", 21 - (int)strlen(opcode_name(in.op)), " ", operands.p);
    buf_putc(b, '\n');
}

/* ---- code objects */

/* (a, /, b, *args, k, **kw) */
static void put_params(struct buf *b, const struct code *c) {
    uint32_t named = c->n_args + c->n_kwonly;
    const char *comma = "";
    buf_putc(b, '(');
    for (uint32_t i = 0; i <= named; i++) {
        if (i == c->n_args && c->varargs) {
            buf_printf(b, "%s*%s", comma, c->locals.at[named]);
            comma = ", ";
        } else if (i == c->n_args && c->n_kwonly) {
            buf_printf(b, "%s*", comma);
            comma = ", ";
        }
        if (i == named) break;
        buf_printf(b, "%s%s", comma, c->locals.at[i]);
        comma = ", ";
        if (i + 1 == c->n_posonly) buf_puts(b, ", /");
    }
    if (c->varkw) buf_printf(b, "%s**%s", comma, c->locals.at[named + c->varargs]);
    buf_putc(b, ')');
}

static void put_names(struct buf *b, const char *what, const struct names *names) {
    if (!names->n) return;
    buf_printf(b, "  %s", what);
    for (uint32_t i = 0; i < names->n; i++) buf_printf(b, " %s", names->at[i]);
    buf_putc(b, '\n');
}

static void put_header(struct buf *b, const struct code *c) {
    static const char *const kinds[] = {"module", "function",      "lambda",
                                        "class",  "comprehension", "generator expression"};
    buf_printf(b, "%s %s", kinds[c->kind], c->qualname);
    if (c->kind != CODE_MODULE && c->kind != CODE_CLASS) put_params(b, c);
    buf_printf(b, "  line %u, stack %u\n", c->first_line, c->max_stack);
    if (c->doc) {
        buf_puts(b, "  doc ");
        put_string(b, c->doc, (uint32_t)strlen(c->doc));
        buf_putc(b, '\n');
    }
    put_names(b, "locals", &c->locals);
    put_names(b, "cells", &c->cells);
    put_names(b, "frees", &c->frees);
}

void code_print(struct buf *b, const struct code *c) {
    bool *target = NEW_ARRAY(b->arena, bool, c->n_instrs);
    for (uint32_t i = 0; i < c->n_instrs; i++)
        if (opcode_operand(c->instrs[i].op, 0) == OPERAND_JUMP) target[c->instrs[i].a] = true;
    put_header(b, c);
    for (uint32_t i = 0; i < c->n_instrs; i++) put_instr(b, c, i, target[i]);
    for (uint32_t i = 0; i < c->n_consts; i++) {
        if (c->consts[i].kind != CONSTANT_CODE) continue;
        buf_putc(b, '\n');
        code_print(b, c->consts[i].code);
    }
}
