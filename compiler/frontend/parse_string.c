/* parse_string.c: string literals: escapes, joining of neighbours, f-strings.
 *
 *     "a\n" f"{x!r:>{w}} b"
 *     JOINED["a\n", FORMATTED(x, repr, JOINED[">", FORMATTED(w)]), " b"]
 *
 * An f-string arrives as one token. The text of each {expression} is cut out as CPython 3.11 does
 * it, by looking for the !, :, = or } that ends it outside of brackets and quotes, and is lexed and
 * parsed where it stands, so that carets inside f-strings point at the right column. */
#include "frontend/parse.h"

#include <ctype.h>
#include <string.h>

enum { MAX_SPEC_NESTING = 2 }; /* f"{x:{y}}" is allowed, f"{x:{y:{z}}}" is not: as in CPython */

struct string_reader {
    struct parser *p;
    const struct token *token;
    const char *at, *end; /* what is left of the body */
    bool raw, formatted, bytes;
    struct expr *joined; /* what was read before the literal text being collected */
    struct buf literal;
    struct place literal_at;
};

/* The place of n bytes of the token; they may follow line breaks. */
static struct place place_of(const struct string_reader *r, const char *from, const char *to) {
    const struct frontend *f = r->p->f;
    const uint32_t at = (uint32_t)(from - f->src->text);
    uint32_t line = r->token->at.line, behind = f->n_lines + 1;
    while (behind - line > 1) { /* the last line that starts before it */
        uint32_t middle = line + (behind - line) / 2;
        if (f->lines[middle - 1] <= at)
            line = middle;
        else
            behind = middle;
    }
    uint32_t col = at - f->lines[line - 1] + 1;
    return (struct place){line, col, line, col + (uint32_t)(to - from)};
}

/* ---- escapes */

static uint32_t read_hex(struct string_reader *r, const char *escape, int n) {
    uint32_t v = 0;
    for (int i = 0; i < n; i++) {
        if (r->at >= r->end || !isxdigit((unsigned char)*r->at))
            syntax_error(r->p->f, place_of(r, escape, r->at),
                         "(unicode error) 'unicodeescape' codec can't decode bytes: truncated "
                         "\\%c%.*s escape",
                         escape[1], n, "XXXXXXXX");
        char c = *r->at++;
        v = v * 16 + (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
        syntax_error(r->p->f, place_of(r, escape, r->at),
                     "(unicode error) 'unicodeescape' codec can't decode bytes: illegal Unicode "
                     "character");
    return v;
}

static void read_octal(struct string_reader *r) {
    uint32_t v = 0;
    for (int i = 0; i < 3 && r->at < r->end && *r->at >= '0' && *r->at <= '7'; i++)
        v = v * 8 + (uint32_t)(*r->at++ - '0');
    utf8_put(&r->literal, v);
}

/* r->at stands on a backslash. An escape Python does not know stays as it is written. */
static void read_escape(struct string_reader *r) {
    static const char letters[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    const char *escape = r->at++;
    char c = r->at < r->end ? *r->at : 0;
    const char *simple = c ? strchr(letters, c) : NULL;
    if (c >= '0' && c <= '7') {
        read_octal(r);
        return;
    }
    if (c) r->at++;
    if (simple) {
        buf_putc(&r->literal, values[simple - letters]);
    } else if (c == '\n') {
        /* a line break behind a backslash is no part of the string */
    } else if (c == '\r' && r->at < r->end && *r->at == '\n') {
        r->at++;
    } else if (c == 'x') {
        utf8_put(&r->literal, read_hex(r, escape, 2));
    } else if (c == 'u') {
        utf8_put(&r->literal, read_hex(r, escape, 4));
    } else if (c == 'U') {
        utf8_put(&r->literal, read_hex(r, escape, 8));
    } else if (c == 'N') {
        syntax_error(r->p->f, place_of(r, escape, r->at), "\\N{...} escapes are not supported");
    } else {
        r->at = escape + 1;
        buf_putc(&r->literal, '\\');
    }
}

/* One character of literal text. Line ends of the file count as \n. */
static void read_literal(struct string_reader *r) {
    if (*r->at == '\\' && !r->raw) {
        read_escape(r);
    } else if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n') {
        r->at++;
    } else {
        buf_putc(&r->literal, *r->at++);
    }
}

/* ---- putting the parts together */

static struct expr *string_constant(struct string_reader *r) {
    struct expr *e = tree_expr(r->p, E_CONSTANT, r->literal_at);
    e->constant.value.kind = CONSTANT_STRING;
    e->constant.value.s = arena_strndup(r->p->f->arena, r->literal.p, r->literal.n);
    e->constant.value.n = (uint32_t)r->literal.n;
    r->literal.n = 0;
    return e;
}

static void add_part(struct string_reader *r, struct expr *part) {
    if (r->literal.n) vec_push(r->p->f->arena, &r->joined->items, string_constant(r));
    if (part) vec_push(r->p->f->arena, &r->joined->items, part);
}

/* ---- f-strings */

static void read_fstring(struct string_reader *r, int level);

__attribute__((noreturn)) static void fail_inside(struct string_reader *r, const char *c,
                                                  const char *message) {
    syntax_error(r->p->f, place_of(r, c, c + 1), "f-string%s", message);
}

static void check_closer(struct string_reader *r, const char *c, const char *open) {
    char want = *open == '(' ? ')' : *open == '[' ? ']' : '}';
    if (*c != want)
        syntax_error(r->p->f, place_of(r, c, c + 1),
                     "f-string: closing parenthesis '%c' does not match opening parenthesis '%c'",
                     *c, *open);
}

/* Where the expression that starts at r->at ends: on `!`, `:`, `=` or `}` outside of brackets and
 * quotes. */
static const char *find_expression_end(struct string_reader *r) {
    const char *open[MAX_NESTING]; /* the brackets not closed yet */
    int depth = 0, quotes = 0;     /* quotes: 1 or 3 while inside a string */
    char quote = 0;
    for (const char *c = r->at; c < r->end; c++) {
        char next = c + 1 < r->end ? c[1] : 0;
        bool triple = next == *c && c + 2 < r->end && c[2] == *c;
        if (*c == '\\') fail_inside(r, c, " expression part cannot include a backslash");
        if (quotes) {
            if (*c != quote || (quotes == 3 && !triple)) continue;
            c += quotes - 1;
            quotes = 0;
        } else if (*c == '\'' || *c == '"') {
            quote = *c;
            quotes = triple ? 3 : 1;
            c += quotes - 1;
        } else if (*c == '#') {
            fail_inside(r, c, " expression part cannot include '#'");
        } else if (strchr("([{", *c)) {
            if (depth == MAX_NESTING) fail_inside(r, c, ": too many nested parentheses");
            open[depth++] = c;
        } else if (depth && strchr(")]}", *c)) {
            check_closer(r, c, open[--depth]);
        } else if (depth == 0 && strchr("!=<>", *c) && next == '=') {
            c++; /* a comparison */
        } else if (depth == 0 && strchr("!:=}", *c)) {
            return c;
        } else if (depth == 0 && strchr(")]", *c)) {
            fail_inside(r, c, *c == ')' ? ": unmatched ')'" : ": unmatched ']'");
        }
    }
    if (quotes) syntax_error(r->p->f, r->token->at, "f-string: unterminated string");
    syntax_error(r->p->f, r->token->at, "f-string: expecting '}'");
}

static struct expr *parse_piece(struct string_reader *r, const char *from, const char *to) {
    struct parser *p = r->p;
    struct place where = place_of(r, from, to);
    bool blank = true;
    for (const char *c = from; c < to; c++) blank &= isspace((unsigned char)*c) != 0;
    if (blank)
        syntax_error(p->f, place_of(r, from - 1, to + 1), "f-string: empty expression not allowed");
    struct parser inner = *p;
    inner.tokens = lex_range(p->f, from, to, where.line);
    inner.i = 0;
    inner.in_fstring = true;
    struct expr *e = parse_expressions(&inner);
    if (!token_is(&inner, T_END)) invalid_syntax(&inner);
    return e;
}

static enum conversion read_conversion(struct string_reader *r) {
    const char *from = r->at++;
    char c = r->at < r->end ? *r->at : 0;
    if (c == 0 || c == '}' || c == ':' || !strchr("sra", c))
        syntax_error(r->p->f, place_of(r, from, from + 1),
                     "f-string: invalid conversion character: expected 's', 'r', or 'a'");
    r->at++;
    return c == 's' ? CONVERT_STR : c == 'r' ? CONVERT_REPR : CONVERT_ASCII;
}

/* The format specification after a colon, itself an f-string that ends before `}`. */
static struct expr *read_spec(struct string_reader *r, int level) {
    struct string_reader inner = *r;
    inner.joined = tree_expr(r->p, E_JOINED, place_of(r, r->at, r->at + 1));
    inner.literal = buf_new(r->p->f->arena);
    inner.literal_at = inner.joined->at;
    read_fstring(&inner, level + 1);
    add_part(&inner, NULL);
    r->at = inner.at;
    return inner.joined;
}

/* {expression [=] [!conversion] [:spec]}; r->at stands behind the brace. */
static void read_replacement(struct string_reader *r, int level) {
    struct frontend *f = r->p->f;
    const char *brace = r->at - 1, *from = r->at;
    if (level >= MAX_SPEC_NESTING)
        syntax_error(f, place_of(r, brace, from), "f-string: expressions nested too deeply");
    r->at = find_expression_end(r);
    struct expr *value = parse_piece(r, from, r->at);
    struct expr *e = tree_expr(r->p, E_FORMATTED, value->at);
    e->formatted.value = value;
    bool debug = r->at < r->end && *r->at == '=';
    if (debug) {
        r->at++;
        while (r->at < r->end && isspace((unsigned char)*r->at)) r->at++;
        buf_write(&r->literal, from, (size_t)(r->at - from));
        e->formatted.conversion = CONVERT_REPR;
    }
    bool converted = r->at < r->end && *r->at == '!';
    if (converted) e->formatted.conversion = read_conversion(r);
    if (r->at < r->end && *r->at == ':') {
        r->at++;
        e->formatted.spec = read_spec(r, level);
        if (!converted) e->formatted.conversion = CONVERT_NONE;
    }
    if (r->at >= r->end || *r->at != '}') syntax_error(f, r->token->at, "f-string: expecting '}'");
    r->at++;
    e->at = place_join(place_of(r, brace, from), place_of(r, r->at - 1, r->at));
    add_part(r, e);
}

/* level 0: the string to its end; else a format specification up to the brace that ends it. */
static void read_fstring(struct string_reader *r, int level) {
    while (r->at < r->end) {
        char c = *r->at, next = r->at + 1 < r->end ? r->at[1] : 0;
        if (level && c == '}') return;
        if (level == 0 && (c == '{' || c == '}') && next == c) {
            buf_putc(&r->literal, c);
            r->at += 2;
        } else if (c == '{') {
            r->at++;
            read_replacement(r, level);
        } else if (c == '}') {
            syntax_error(r->p->f, place_of(r, r->at, r->at + 1),
                         "f-string: single '}' is not allowed");
        } else {
            read_literal(r);
        }
    }
}

/* ---- one token, then all neighbours */

static void open_token(struct string_reader *r, const struct token *t) {
    r->token = t;
    r->at = t->text;
    r->end = t->text + t->len;
    r->raw = r->formatted = r->bytes = false;
    for (; isalpha((unsigned char)*r->at); r->at++) {
        r->raw |= tolower((unsigned char)*r->at) == 'r';
        r->formatted |= tolower((unsigned char)*r->at) == 'f';
        r->bytes |= tolower((unsigned char)*r->at) == 'b';
    }
    r->raw |= r->bytes; /* whose escapes are others */
    int n = t->text + t->len - r->at >= 6 && r->at[1] == *r->at && r->at[2] == *r->at ? 3 : 1;
    r->at += n;
    r->end -= n;
}

/* b'x' is bytes('x'), which is refused where it runs, and not where it stands. */
static struct expr *bytes_of(struct parser *p, struct expr *text) {
    struct expr *e = tree_expr(p, E_CALL, text->at);
    e->call.function = tree_expr(p, E_NAME, text->at);
    e->call.function->name = "bytes";
    vec_push(p->f->arena, &e->call.args, text);
    return e;
}

struct expr *parse_strings(struct parser *p) {
    struct place from = token_peek(p)->at;
    struct string_reader r = {.p = p, .literal = buf_new(p->f->arena), .literal_at = from};
    r.joined = tree_expr(p, E_JOINED, from);
    bool formatted = false, bytes = false;
    while (token_is(p, T_STRING)) {
        open_token(&r, token_peek(p));
        formatted |= r.formatted;
        bytes |= r.bytes;
        if (r.formatted) {
            parser_deeper(p);
            read_fstring(&r, 0);
            p->f->depth--;
        }
        while (r.at < r.end) read_literal(&r);
        p->i++;
    }
    r.literal_at = r.joined->at = place_join(from, token_last_place(p));
    if (!formatted) return bytes ? bytes_of(p, string_constant(&r)) : string_constant(&r);
    add_part(&r, NULL);
    return r.joined;
}
