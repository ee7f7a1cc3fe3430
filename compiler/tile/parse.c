/* parse.c: tile programs from text, as print.c writes it.
 *
 *     program of 128 threads, 24576 bytes shared
 *     ...
 *     draw
 *         fill
 *         loop
 *             wait full
 *
 * The head follows from the block program, and is compared with it: a text of another kernel or
 * config is refused. It may be left out of what is written by hand, as may the indentation, which
 * is the regions' own. Lines of blanks mean nothing. */
#include <string.h>

#include "base/words.h"
#include "tile/tile.h"

/* No count is more: threads, steps and tiles that share rows are fewer by far. */
enum { MOST = 65536 };

struct reader {
    struct tile_program *t;
    const struct source *src;
    struct diag *d;
    const char *at; /* where the next line begins */
    uint32_t line;  /* number of the one at hand, which is text[n] without blanks around it */
    const char *text;
    size_t n;
    uint32_t col; /* of text[0] */
};

#define REFUSE(r, ...) refuse(r, arena_printf((r)->d->arena, __VA_ARGS__))
static bool refuse(struct reader *r, const char *why) {
    struct span at = {r->line, r->col, r->col + (uint32_t)r->n};
    diag_fail_at(r->d, WS_WRONG, r->src, at, "%s", why);
    return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next line that says something; false at the end. */
static bool next_line(struct reader *r) {
    const char *end = r->src->text + r->src->len;
    while (r->at < end) {
        const char *line = r->at, *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        r->at = stop < end ? stop + 1 : end;
        r->line++;
        r->text = line;
        while (r->text < stop && is_blank(*r->text)) r->text++;
        while (stop > r->text && is_blank(stop[-1])) stop--;
        r->n = (size_t)(stop - r->text);
        r->col = (uint32_t)(r->text - line) + 1;
        if (r->n) return true;
    }
    return false;
}

static bool begins(const struct reader *r, const char *word) {
    size_t n = strlen(word);
    return r->n >= n && !memcmp(r->text, word, n) && (r->n == n || r->text[n] == ' ');
}

static bool is(const struct reader *r, const char *text, size_t n) {
    return r->n == n && !memcmp(r->text, text, n);
}

/* The head, line by line as the block's; what comes behind it is the line at hand. */
static bool read_head(struct reader *r, bool *more) {
    if (!*more || !begins(r, "program")) return true;
    struct buf head = buf_new(r->d->arena);
    tile_print_head(&head, r->t);
    for (const char *want = head.p; *want; *more = next_line(r)) {
        size_t n = strcspn(want, "\n");
        if (!*more) return REFUSE(r, "the text ends before '%.*s'", (int)n, want);
        if (!is(r, want, n))
            return REFUSE(r, "of this kernel and config the line is '%.*s'", (int)n, want);
        want += n + 1;
    }
    return true;
}

/* The instruction whose name the line begins with, the longest there is: "dot add" is no "dot". */
static bool read_op(struct reader *r, struct tile_inst *x) {
    size_t longest = 0;
    for (int op = 0; op < TILE_OPS; op++) {
        size_t n = strlen(tile_op_name((enum tile_op)op));
        if (n <= longest || !begins(r, tile_op_name((enum tile_op)op))) continue;
        longest = n;
        x->op = (enum tile_op)op;
    }
    if (longest) return true;
    const char *meant = arena_strndup(r->d->arena, r->text, r->n);
    struct nearest near = nearest_new(meant);
    for (int op = 0; op < TILE_OPS; op++) nearest_offer(&near, tile_op_name((enum tile_op)op));
    return REFUSE(r, "no instruction begins so; the nearest is '%s'", near.word);
}

static const char *skip_blank(const char *at, const char *end) {
    return at < end && *at == ' ' ? at + 1 : at;
}

/* Digits of at most MOST; NULL: there are none, or too many. */
static const char *read_count(const char *at, const char *end, int *n) {
    const char *begin = at;
    *n = 0;
    for (; at < end && *at >= '0' && *at <= '9' && *n <= MOST; at++) *n = *n * 10 + (*at - '0');
    return at == begin || *n > MOST ? NULL : at;
}

static bool read_inst(struct reader *r, struct tile_inst *x) {
    if (!read_op(r, x)) return false;
    const struct block *p = r->t->block;
    struct tile_words w = tile_op_words(x->op);
    const char *end = r->text + r->n, *at = skip_blank(r->text + strlen(w.text), end);
    if (w.ring) {
        bool third = at < end && *at == 'C' && r->t->chained;
        if (at == end || (*at != 'A' && *at != 'B' && !third))
            return REFUSE(r, "%s is of A or of B", w.text);
        x->ring = *at - 'A';
        at = skip_blank(at + 1, end);
    }
    if (w.counts || (w.may_count && at < end)) {
        at = read_count(at, end, &x->n);
        if (!at) return REFUSE(r, "a number from 0 to %d stands behind '%s'", MOST, w.text);
    }
    if (w.phase && (uint32_t)x->n >= p->phases.n && x->n)
        return REFUSE(r, "the epilogue has no phase %d, but %u", x->n, p->phases.n);
    if (w.phase && w.counts && !p->phases.n) return REFUSE(r, "the epilogue has no phases");
    if (x->op == TILE_KEEP && p->kept == NO_VALUE)
        return REFUSE(r, "the epilogue has nothing to keep");
    struct buf whole = buf_new(r->d->arena);
    tile_print_inst(&whole, r->t, x);
    return is(r, whole.p, whole.n) || REFUSE(r, "the whole line would be '%s'", whole.p);
}

/* Instructions to the end of the text, whose regions nest. */
static bool read_code(struct reader *r, bool more) {
    struct tile_program *t = r->t;
    int open = 0;
    for (; more; more = next_line(r)) {
        struct tile_inst x = {TILE_END, 0, 0};
        if (!read_inst(r, &x)) return false;
        open += tile_op_opens(x.op) - (x.op == TILE_END);
        if (open < 0) return REFUSE(r, "nothing is open that this would end");
        if (x.op == TILE_ROLE && !t->copiers)
            t->copiers = x.n;
        else if (x.op == TILE_ROLE && t->product->tensor && !t->issuers)
            t->issuers = x.n;
        if (x.op == TILE_AHEAD) t->ahead = x.n;
        vec_push(t->arena, &t->code, x);
    }
    return !open || REFUSE(r, "the text ends, and %d regions have no 'end'", open);
}

struct tile_program *tile_parse(const struct block *p, const struct source *src, struct arena *a,
                                struct diag *d) {
    struct reader r = {.t = p->layout.chained ? tile_chained(p, a) : tile_dot(p, a),
                       .src = src,
                       .d = d,
                       .at = src->text};
    r.t->code.n = 0;
    bool more = next_line(&r);
    return read_head(&r, &more) && read_code(&r, more) ? r.t : NULL;
}
