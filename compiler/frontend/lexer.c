/* lexer.c: text to tokens.
 *
 *     if x:          NAME(if)->K_IF NAME(x) COLON NEWLINE
 *         f(1,       INDENT NAME(f) LPAR INT(1) COMMA          a bracket is open: no NEWLINE
 *           2)       INT(2) RPAR NEWLINE DEDENT END
 *
 * What cannot be read becomes one T_ERROR token and ends the list, so that a mistake earlier in the
 * file, which only the parser can see, is reported first, as CPython does. */
#include "frontend/lexer.h"

#include <ctype.h>
#include <string.h>

struct lexer {
    struct frontend *f;
    struct tokens out;
    const char *p, *end;
    const char *line_start;
    uint32_t line;
    bool piece; /* of a file: as inside brackets */
    bool failed;
    VEC(int32_t) brackets; /* tokens of the open ones */
    /* Width of each open block with tabs to multiples of 8, and with tabs as one blank: both must
     * agree. */
    uint32_t indent[MAX_INDENTS], alt_indent[MAX_INDENTS];
    int n_indents;
};

static uint32_t column(const struct lexer *l, const char *p) {
    return (uint32_t)(p - l->line_start) + 1;
}

static struct place here(const struct lexer *l, const char *from, const char *to) {
    return (struct place){l->line, column(l, from), l->line, column(l, to)};
}

static void add(struct lexer *l, enum token_kind kind, const char *from, struct place at) {
    struct token t = {.kind = kind, .at = at, .text = from, .len = (uint32_t)(l->p - from)};
    t.open = l->brackets.n ? vec_last(&l->brackets) : -1;
    vec_push(l->f->tokens, &l->out, t);
}

/* The first one stands; what follows in the text is not looked at. */
__attribute__((format(printf, 3, 4))) static void fail(struct lexer *l, struct place at,
                                                       const char *fmt, ...) {
    if (l->failed) return;
    va_list ap;
    va_start(ap, fmt);
    add(l, T_ERROR, l->p, at);
    vec_last(&l->out).error = arena_vprintf(l->f->arena, fmt, ap);
    va_end(ap);
    l->failed = true;
}

/* p has just moved past a '\n'. */
static void next_line(struct lexer *l) {
    l->line++;
    l->line_start = l->p;
}

static bool at_newline(const struct lexer *l, const char *p) {
    return p < l->end && (*p == '\n' || (*p == '\r' && p + 1 < l->end && p[1] == '\n'));
}

static void skip_newline(struct lexer *l) {
    l->p += *l->p == '\r' ? 2 : 1;
    next_line(l);
}

static char peek(const struct lexer *l, int ahead) {
    return l->end - l->p > ahead ? l->p[ahead] : 0;
}

/* ---- indentation */

static bool line_is_blank(const struct lexer *l, const char *p) {
    return p >= l->end || *p == '#' || at_newline(l, p);
}

/* At the start of a line that holds code: INDENT or DEDENTs. */
static void lex_indentation(struct lexer *l, uint32_t width, uint32_t alt) {
    struct place at = here(l, l->p, l->p + 1);
    const char *tabs = "TabError: inconsistent use of tabs and spaces in indentation";
    int top = l->n_indents - 1;
    uint32_t now = l->indent[top];
    if (width == now) {
        if (alt != l->alt_indent[top]) fail(l, at, "%s", tabs);
    } else if (width > now) {
        if (alt <= l->alt_indent[top]) {
            fail(l, at, "%s", tabs);
        } else if (l->n_indents == MAX_INDENTS) {
            fail(l, at, "IndentationError: too many levels of indentation");
        } else {
            l->indent[l->n_indents] = width;
            l->alt_indent[l->n_indents++] = alt;
            add(l, T_INDENT, l->p, at);
        }
    } else {
        while (l->indent[l->n_indents - 1] > width) {
            l->n_indents--;
            add(l, T_DEDENT, l->p, at);
        }
        if (l->indent[l->n_indents - 1] != width)
            fail(l, at, "IndentationError: unindent does not match any outer indentation level");
        else if (l->alt_indent[l->n_indents - 1] != alt)
            fail(l, at, "%s", tabs);
    }
}

/* Skip blank lines and comments, then handle the indentation of the first line that holds code. */
static void lex_line_start(struct lexer *l) {
    for (;;) {
        uint32_t width = 0, alt = 0;
        for (;; l->p++) {
            char c = peek(l, 0);
            if (c == ' ') {
                width++, alt++;
            } else if (c == '\t') {
                width = (width / 8 + 1) * 8, alt++;
            } else if (c == '\f') {
                width = alt = 0;
            } else {
                break;
            }
        }
        if (!line_is_blank(l, l->p)) {
            lex_indentation(l, width, alt);
            return;
        }
        while (l->p < l->end && !at_newline(l, l->p)) l->p++;
        if (l->p >= l->end) return;
        skip_newline(l);
    }
}

/* ---- names */

static bool starts_name(char c) { return isalpha((unsigned char)c) || c == '_' || (c & 0x80); }
static bool continues_name(char c) { return starts_name(c) || isdigit((unsigned char)c); }

/* Letters of the world's scripts, roughly: punctuation, symbols, blanks and emoji are what people
 * paste by accident, so these ranges are refused and the rest is let through. */
static bool is_letter(uint32_t c) {
    if (c < 0x80) return true;
    if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
    if (c == 0xD7 || c == 0xF7) return false;
    if (c >= 0x2000 && c < 0x2C00) return c >= 0x2070 && c < 0x218C && !(c >= 0x20A0 && c < 0x2100);
    if (c >= 0x3000 && c < 0x3005) return false;
    if (c >= 0x3008 && c < 0x3021) return false;
    if (c >= 0xD800 && c < 0xF900) return false;
    if (c >= 0xFE10 && c < 0xFE70) return false;
    if (c >= 0xFF00 && c < 0xFF21) return c >= 0xFF10 && c < 0xFF1A;
    return c != 0xFEFF && c < 0x1F000;
}

static bool is_blank_like(uint32_t c) {
    return c == 0xA0 || (c >= 0x2000 && c < 0x2010) || (c >= 0x2028 && c < 0x2030) || c == 0x3000 ||
           c == 0xFEFF;
}

static void fail_character(struct lexer *l, const char *p, int n, uint32_t c) {
    struct place at = here(l, p, p + n);
    if (c < 0x20 || c == 0x7F || is_blank_like(c))
        fail(l, at, "SyntaxError: invalid non-printable character U+%04X", c);
    else
        fail(l, at, "SyntaxError: invalid character '%.*s' (U+%04X)", n, p, c);
}

static enum token_kind keyword(const char *p, size_t n) {
    static const struct {
        const char *text;
        enum token_kind kind;
    } table[] = {
#define TOKEN(id, text) {text, T_##id},
        KEYWORD_TOKENS(TOKEN)
#undef TOKEN
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (*table[i].text == *p && strlen(table[i].text) == n && !memcmp(table[i].text, p, n))
            return table[i].kind;
    return T_NAME;
}

static void lex_name(struct lexer *l) {
    const char *from = l->p;
    while (l->p < l->end && continues_name(*l->p)) {
        uint32_t c = 0;
        int n = utf8_decode(l->p, l->end, &c);
        if (!is_letter(c)) {
            fail_character(l, l->p, n, c);
            return;
        }
        l->p += n;
    }
    add(l, keyword(from, (size_t)(l->p - from)), from, here(l, from, l->p));
}

/* ---- numbers */

/* Digits with single underscores between them. */
static void skip_digits(struct lexer *l, int base) {
    for (;; l->p++) {
        char c = peek(l, 0);
        if (c == '_' && isalnum((unsigned char)peek(l, 1))) c = *++l->p;
        bool digit = base == 16 ? isxdigit((unsigned char)c) : c >= '0' && c < '0' + base;
        if (!digit) return;
    }
}

/* After a number: a name may not touch it, but a keyword may (`1if x else 2`). */
static void check_number_end(struct lexer *l, const char *from, const char *kind) {
    char c = peek(l, 0);
    struct place at = here(l, from, l->p);
    if (!continues_name(c)) return;
    const char *end = l->p;
    while (end < l->end && continues_name(*end)) end++;
    enum token_kind k = keyword(l->p, (size_t)(end - l->p));
    bool fits = k == T_K_AND || k == T_K_ELSE || k == T_K_FOR || k == T_K_IF || k == T_K_IN ||
                k == T_K_IS || k == T_K_NOT || k == T_K_OR;
    if (!fits) fail(l, at, "SyntaxError: invalid %s literal", kind);
}

static void lex_based_int(struct lexer *l, int base, const char *kind) {
    const char *from = l->p;
    l->p += 2;
    const char *digits = l->p;
    skip_digits(l, base);
    if (l->p == digits)
        fail(l, here(l, from, l->p), "SyntaxError: invalid %s literal", kind);
    else if (isdigit((unsigned char)peek(l, 0)))
        fail(l, here(l, from, l->p + 1), "SyntaxError: invalid digit '%c' in %s literal", *l->p,
             kind);
    else
        check_number_end(l, from, kind);
    add(l, T_INT, from, here(l, from, l->p));
}

static void lex_exponent(struct lexer *l) {
    char c = peek(l, 0);
    if (c != 'e' && c != 'E') return;
    int sign = peek(l, 1) == '+' || peek(l, 1) == '-';
    if (!isdigit((unsigned char)peek(l, 1 + sign))) return;
    l->p += 1 + sign;
    skip_digits(l, 10);
}

static void lex_number(struct lexer *l) {
    const char *from = l->p;
    char x = (char)tolower((unsigned char)peek(l, 1));
    if (*from == '0' && x == 'x') return lex_based_int(l, 16, "hexadecimal");
    if (*from == '0' && x == 'o') return lex_based_int(l, 8, "octal");
    if (*from == '0' && x == 'b') return lex_based_int(l, 2, "binary");
    skip_digits(l, 10);
    const char *whole_end = l->p;
    if (peek(l, 0) == '.') {
        l->p++;
        if (isdigit((unsigned char)peek(l, 0))) skip_digits(l, 10);
    }
    lex_exponent(l);
    bool is_int = l->p == whole_end;
    bool zeros = strspn(from, "0_") >= (size_t)(whole_end - from);
    zeros |= is_int && (peek(l, 0) | 0x20) == 'j';
    if (is_int && *from == '0' && !zeros)
        fail(l, here(l, from, l->p),
             "SyntaxError: leading zeros in decimal integer literals are not permitted; use an 0o "
             "prefix for octal integers");
    bool imaginary = (peek(l, 0) | 0x20) == 'j' && !continues_name(peek(l, 1));
    l->p += imaginary;
    check_number_end(l, from, imaginary ? "imaginary" : "decimal");
    add(l, is_int && !imaginary ? T_INT : T_FLOAT, from, here(l, from, l->p));
}

/* ---- strings */

/* Length of a string prefix at p that a quote follows, 0 for none (then *p may be the quote
 * itself). */
static int string_prefix(const struct lexer *l) {
    int n = 0;
    while (n < 2 && peek(l, n) && strchr("rRbBfFuU", peek(l, n))) n++;
    if (peek(l, n) != '"' && peek(l, n) != '\'') return 0;
    if (n < 2) return n;
    char a = (char)tolower((unsigned char)l->p[0]), b = (char)tolower((unsigned char)l->p[1]);
    bool raw = a == 'r' || b == 'r';
    return raw && a != b && a != 'u' && b != 'u' ? 2 : 0;
}

static void lex_string(struct lexer *l, int prefix) {
    const char *from = l->p;
    struct place at = here(l, from, from + 1);
    l->p += prefix;
    char quote = *l->p;
    bool triple = peek(l, 1) == quote && peek(l, 2) == quote;
    l->p += triple ? 3 : 1;
    for (;;) {
        bool over = l->p >= l->end || (!triple && at_newline(l, l->p));
        if (over) {
            fail(l, at, "SyntaxError: unterminated %sstring literal (detected at line %u)",
                 triple ? "triple-quoted " : "", l->line - (l->p == l->line_start));
            return;
        }
        if (*l->p == '\\' && l->p + 1 < l->end) {
            l->p++;
            if (*l->p == '\r' && peek(l, 1) == '\n') l->p++;
        } else if (*l->p == quote && (!triple || (peek(l, 1) == quote && peek(l, 2) == quote))) {
            break;
        }
        if (*l->p++ == '\n') next_line(l);
    }
    l->p += triple ? 3 : 1;
    at.end_line = l->line;
    at.end_col = column(l, l->p);
    add(l, T_STRING, from, at);
}

/* ---- operators and brackets */

static char closer(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

static void close_bracket(struct lexer *l) {
    struct place at = here(l, l->p, l->p + 1);
    if (!l->brackets.n) {
        fail(l, at, "SyntaxError: unmatched '%c'", *l->p);
        return;
    }
    const struct token *open = &l->out.at[vec_last(&l->brackets)];
    if (closer(*open->text) == *l->p) {
        l->brackets.n--;
        return;
    }
    const char *where =
        open->at.line == l->line ? "" : arena_printf(l->f->arena, " on line %u", open->at.line);
    fail(l, at, "SyntaxError: closing parenthesis '%c' does not match opening parenthesis '%c'%s",
         *l->p, *open->text, where);
}

static bool lex_operator(struct lexer *l) {
    static const struct {
        const char *text;
        enum token_kind kind;
    } table[] = {
#define TOKEN(id, text) {text, T_##id},
        OPERATOR_TOKENS(TOKEN)
#undef TOKEN
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (*table[i].text != *l->p) continue;
        size_t n = strlen(table[i].text);
        if ((size_t)(l->end - l->p) < n || memcmp(l->p, table[i].text, n) != 0) continue;
        const char *from = l->p;
        enum token_kind kind = table[i].kind;
        bool opens = kind == T_LPAR || kind == T_LSQB || kind == T_LBRACE;
        if (kind == T_RPAR || kind == T_RSQB || kind == T_RBRACE) close_bracket(l);
        l->p += n;
        if (l->failed) return true;
        add(l, kind, from, here(l, from, l->p));
        if (opens) vec_push(l->f->tokens, &l->brackets, (int32_t)l->out.n - 1);
        if (l->brackets.n > MAX_NESTING)
            fail(l, here(l, from, l->p), "SyntaxError: too many nested parentheses");
        return true;
    }
    return false;
}

/* ---- the whole */

/* After a backslash outside strings: only the end of the line may follow. */
static void lex_continuation(struct lexer *l) {
    struct place at = here(l, l->p, l->p + 1);
    l->p++;
    if (l->p >= l->end) {
        fail(l, at, "SyntaxError: unexpected EOF while parsing");
    } else if (!at_newline(l, l->p)) {
        fail(l, at, "SyntaxError: unexpected character after line continuation character");
    } else {
        skip_newline(l);
        if (l->p >= l->end) fail(l, at, "SyntaxError: unexpected EOF while parsing");
    }
}

static void lex_newline(struct lexer *l) {
    const char *from = l->p;
    struct place at = here(l, from, from + 1);
    skip_newline(l);
    if (l->piece || l->brackets.n) return;
    add(l, T_NEWLINE, from, at);
    lex_line_start(l);
}

static void lex_token(struct lexer *l) {
    char c = *l->p;
    int prefix = string_prefix(l);
    if (at_newline(l, l->p)) {
        lex_newline(l);
    } else if (c == ' ' || c == '\t' || c == '\f') {
        l->p++;
    } else if (c == '#') {
        while (l->p < l->end && !at_newline(l, l->p)) l->p++;
    } else if (c == '\\') {
        lex_continuation(l);
    } else if (prefix || c == '"' || c == '\'') {
        lex_string(l, prefix);
    } else if (starts_name(c)) {
        lex_name(l);
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(l, 1)))) {
        lex_number(l);
    } else if (c == '!' && peek(l, 1) != '=') {
        fail(l, here(l, l->p, l->p + 1), "SyntaxError: invalid syntax");
    } else if (!lex_operator(l)) {
        if (c == '$' || c == '?' || c == '`')
            fail(l, here(l, l->p, l->p + 1), "SyntaxError: invalid syntax");
        else
            fail_character(l, l->p, 1, (unsigned char)c);
    }
}

/* The last line may lack its newline; blocks still open end with the file. */
static void lex_end(struct lexer *l) {
    struct place at = here(l, l->p, l->p + 1);
    bool open = l->piece || l->brackets.n;
    if (!open && l->out.n && vec_last(&l->out).kind != T_NEWLINE &&
        vec_last(&l->out).kind != T_DEDENT)
        add(l, T_NEWLINE, l->p, at);
    for (; !open && l->n_indents > 1; l->n_indents--) add(l, T_DEDENT, l->p, at);
    add(l, T_END, l->p, at);
}

static struct tokens lex(struct lexer *l) {
    l->n_indents = 1;
    if (!l->piece) lex_line_start(l);
    while (l->p < l->end && !l->failed) lex_token(l);
    if (!l->failed) lex_end(l);
    /* A helper may have added its token after the error: the error is where the list ends. */
    while (l->failed && vec_last(&l->out).kind != T_ERROR) l->out.n--;
    return l->out;
}

enum { MAX_SOURCE = 1 << 30 }; /* bytes: places are 32 bits wide */

static uint32_t count_lines(const struct source *src) {
    const char *p = src->text, *end = p + src->len;
    uint32_t n = 1;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) n++, p++;
    return n;
}

/* Record where lines start, and refuse what is not text, with its line. */
static void check_text(struct frontend *f) {
    const char *text = f->src->text, *p = text, *end = p + f->src->len;
    const char *line = p;
    if (f->src->len > MAX_SOURCE)
        syntax_error(f, (struct place){0}, "source code of more than %d bytes", MAX_SOURCE);
    f->lines = NEW_ARRAY(f->arena, uint32_t, count_lines(f->src));
    f->n_lines = 1;
    while (p < end) {
        uint32_t c;
        int n = utf8_decode(p, end, &c);
        struct place at = {f->n_lines, (uint32_t)(p - line) + 1, f->n_lines,
                           (uint32_t)(p - line) + 2};
        if (!n)
            syntax_error(f, at, "(unicode error) 'utf-8' codec can't decode byte 0x%02x",
                         (unsigned char)*p);
        if (c == 0) syntax_error(f, at, "source code cannot contain null bytes");
        p += n;
        if (c != '\n') continue;
        f->lines[f->n_lines++] = (uint32_t)(p - text);
        line = p;
    }
}

struct tokens lex_file(struct frontend *f) {
    check_text(f);
    const char *text = f->src->text;
    struct lexer l = {.f = f, .p = text, .end = text + f->src->len, .line_start = text, .line = 1};
    if (f->src->len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) l.p += 3;
    return lex(&l);
}

struct tokens lex_range(struct frontend *f, const char *from, const char *to, uint32_t line) {
    struct lexer l = {.f = f, .p = from, .end = to, .line = line, .piece = true};
    l.line_start = f->src->text + f->lines[line - 1];
    return lex(&l);
}
