/* place.c: places in the source, errors at them, and the few things about UTF-8 that the frontend
 * needs. */
#include "frontend/lexer.h"

struct place place_join(struct place from, struct place to) {
    return (struct place){from.line, from.col, to.end_line, to.end_col};
}

struct span place_span(const struct frontend *f, struct place at) {
    if (at.end_line == at.line) return (struct span){at.line, at.col, at.end_col};
    const char *line = f->src->text + f->lines[at.line - 1];
    return (struct span){at.line, at.col, (uint32_t)strcspn(line, "\r\n") + 1};
}

void frontend_fail_at(struct frontend *f, struct place at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(f->arena, fmt, ap);
    va_end(ap);
    diag_fail_at(f->diag, WS_WRONG, f->src, place_span(f, at), "%s", text);
    longjmp(f->escape, 1);
}

void syntax_error(struct frontend *f, struct place at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(f->arena, fmt, ap);
    va_end(ap);
    frontend_fail_at(f, at, "SyntaxError: %s", text);
}

const char *token_text(enum token_kind kind) {
    static const char *const text[TOKEN_COUNT] = {
#define TOKEN(id, spelling) [T_##id] = spelling,
        OPERATOR_TOKENS(TOKEN) KEYWORD_TOKENS(TOKEN)
#undef TOKEN
    };
    return text[kind];
}

int utf8_decode(const char *p, const char *end, uint32_t *code_point) {
    unsigned char c = (unsigned char)*p;
    int n = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (n == 0 || end - p < n) return 0;
    uint32_t v = n == 1 ? c : c & (0xFFu >> (n + 1));
    for (int i = 1; i < n; i++) {
        unsigned char d = (unsigned char)p[i];
        if ((d & 0xC0) != 0x80) return 0;
        v = v << 6 | (d & 0x3F);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (v < least[n] || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) return 0;
    *code_point = v;
    return n;
}

void utf8_put(struct buf *b, uint32_t c) {
    if (c < 0x80) {
        buf_putc(b, (char)c);
    } else if (c < 0x800) {
        buf_putc(b, (char)(0xC0 | c >> 6));
        buf_putc(b, (char)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buf_putc(b, (char)(0xE0 | c >> 12));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (c & 0x3F)));
    } else {
        buf_putc(b, (char)(0xF0 | c >> 18));
        buf_putc(b, (char)(0x80 | (c >> 12 & 0x3F)));
        buf_putc(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_putc(b, (char)(0x80 | (c & 0x3F)));
    }
}
