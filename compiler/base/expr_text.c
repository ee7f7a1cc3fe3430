/* expr_text.c: symbolic integers as text: as people and C read them, and back. */
#include "base/expr_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

/* ---- text ------------------------------------------------------------------------------------ */

static const struct {
    const char *python, *c;
    int level; /* binds tighter when larger */
} ops[] = {
    [EX_ADD] = {" + ", " + ", 4}, [EX_MUL] = {"*", "*", 5},      [EX_DIV] = {" // ", " / ", 5},
    [EX_MOD] = {" % ", " % ", 5}, [EX_EQ] = {" == ", " == ", 2}, [EX_NE] = {" != ", " != ", 2},
    [EX_LT] = {" < ", " < ", 3},  [EX_LE] = {" <= ", " <= ", 3}, [EX_AND] = {" and ", " && ", 1},
};

static void put(struct buf *b, const struct exprs *p, ex e, int level, bool c);

/* C divides towards 0, we towards the smaller: a dividend that may be below 0, but not by more than
 * some multiples of the divisor, is moved up by these. (5 - r) // 3 is 1 + (2 - r) // 3 here, and
 * with r < 6 it prints as 1 + ((2 - r + 3) / 3 - 1). */
static bool put_moved(struct buf *b, const struct exprs *p, const struct ex_node *x) {
    int64_t lo, hi, d;
    ex_range(p, x->a, &lo, &hi);
    const int64_t most = INT64_C(1) << 61; /* lo and a divisor are moved by no more than that */
    if (lo >= 0 || lo < -most || !ex_is_const(p, x->b, &d) || d > most) return false;
    int64_t up = (-lo + d - 1) / d;
    bool division = x->kind == EX_DIV;
    buf_puts(b, "((");
    put(b, p, x->a, ops[EX_ADD].level, true);
    buf_printf(b, " + %lld) %c %lld", (long long)(up * d), division ? '/' : '%', (long long)d);
    if (division) buf_printf(b, " - %lld", (long long)up);
    buf_putc(b, ')');
    return true;
}

static void put(struct buf *b, const struct exprs *p, ex e, int level, bool c) {
    const struct ex_node *x = ex_at(p, e);
    enum ex_kind k = (enum ex_kind)x->kind;
    if (c && (k == EX_DIV || k == EX_MOD) && put_moved(b, p, x)) return;
    if (k == EX_CONST) {
        buf_printf(b, "%lld", (long long)x->value);
    } else if (k == EX_SYM) {
        const struct ex_symbol *s = ex_symbol(p, e);
        buf_printf(b, "%s%s", c && s->bound == EX_NONE ? "size_" : "", s->name);
    } else if (k == EX_MIN || k == EX_MAX) {
        if (c) {
            buf_puts(b, k == EX_MIN ? "k_min_i(" : "k_max_i(");
        } else {
            buf_puts(b, k == EX_MIN ? "min(" : "max(");
        }
        put(b, p, x->a, 0, c);
        buf_puts(b, ", ");
        put(b, p, x->b, 0, c);
        buf_putc(b, ')');
    } else {
        int64_t v;
        bool paren = ops[k].level < level, minus = k == EX_ADD && ex_is_const(p, x->b, &v) && v < 0;
        bool tight = k == EX_DIV ||
                     k == EX_MOD; /* (a*b) // c keeps its order; products under // get brackets */
        if (paren) buf_putc(b, '(');
        put(b, p, x->a, ops[k].level + tight, c);
        buf_puts(b, minus ? " - " : c ? ops[k].c : ops[k].python);
        if (minus)
            buf_printf(b, "%llu", (unsigned long long)ex_magnitude(v));
        else
            put(b, p, x->b, ops[k].level + (k != EX_ADD && k != EX_AND), c);
        if (paren) buf_putc(b, ')');
    }
}

void ex_print(struct buf *b, const struct exprs *p, ex e) { put(b, p, e, 0, false); }
void ex_print_c(struct buf *b, const struct exprs *p, ex e) { put(b, p, e, 0, true); }

const char *ex_str(struct arena *a, const struct exprs *p, ex e) {
    struct buf b = buf_new(a);
    ex_print(&b, p, e);
    return b.p;
}

struct parser {
    struct exprs *p;
    const char *s, *error;
    bool create;
    int depth;
};

static void skip(struct parser *q) { q->s += strspn(q->s, " \t"); }

static bool eat(struct parser *q, const char *word) {
    skip(q);
    size_t n = strlen(word);
    if (strncmp(q->s, word, n) != 0) return false;
    q->s += n;
    return true;
}

static ex fail(struct parser *q) {
    if (!q->error) q->error = q->s;
    return ex_const(q->p, 0);
}

/* How many terms and factors e has at most, and how large its numbers are: what arrives as text
 * must not overflow what an expression can hold. */
struct bulk {
    double terms, factors, number;
};

static struct bulk bulk_of(const struct exprs *p, ex e) {
    const struct ex_node *x = ex_at(p, e);
    if (x->kind == EX_CONST) return (struct bulk){1, 1, fmax(1, fabs((double)x->value))};
    if (x->kind == EX_SYM) return (struct bulk){1, 1, 1};
    struct bulk a = bulk_of(p, x->a), b = bulk_of(p, x->b);
    if (x->kind == EX_ADD)
        return (struct bulk){a.terms + b.terms, fmax(a.factors, b.factors), a.number + b.number};
    if (x->kind == EX_MUL)
        return (struct bulk){a.terms * b.terms, a.factors + b.factors, a.number * b.number};
    return (struct bulk){1, 1, a.number * b.number};
}

static const int64_t MOST = 1ll << 60; /* the size of a number beside others */

/* Is the combination of a and b too much? Division multiplies, too: (a // 4) // 6 is a // 24. */
static bool is_bulky(const struct exprs *p, enum ex_kind k, ex a, ex b) {
    struct bulk x = bulk_of(p, a), y = bulk_of(p, b);
    bool adds = k != EX_MUL && k != EX_DIV && k != EX_MOD;
    return (adds ? x.terms + y.terms : x.terms * y.terms) > MAX_TERMS ||
           x.factors + y.factors > MAX_TERMS ||
           (adds ? x.number + y.number : x.number * y.number) > (double)MOST;
}

/* What is accepted is well below those limits, so that it reads back in whatever order it prints;
 * and sizes are as large as graph_impl.h's MAX_NUMEL. */
static bool is_modest(struct bulk x) {
    return x.terms <= MAX_TERMS / 2 && x.factors <= MAX_TERMS / 2 && x.number <= 0x1p59;
}

bool ex_mul_fits(const struct exprs *p, ex a, ex b) {
    struct bulk x = bulk_of(p, a), y = bulk_of(p, b);
    return is_modest((struct bulk){x.terms * y.terms, x.factors + y.factors, x.number * y.number});
}

static ex parse_level(struct parser *q, int level);

static ex parse_atom(struct parser *q) {
    skip(q);
    if (++q->depth > 200) return fail(q);
    ex e;
    if (eat(q, "(")) {
        e = parse_level(q, 1);
        if (!eat(q, ")")) return fail(q);
    } else if (eat(q, "min(") || eat(q, "max(")) {
        bool is_min = q->s[-3] == 'i';
        ex a = parse_level(q, 1);
        if (!eat(q, ",")) return fail(q);
        ex b = parse_level(q, 1);
        if (!eat(q, ")") || is_bulky(q->p, EX_MIN, a, b)) return fail(q);
        e = is_min ? ex_min(q->p, a, b) : ex_max(q->p, a, b);
    } else if ((*q->s >= '0' && *q->s <= '9') || *q->s == '-') {
        char *end;
        errno = 0;
        long long v = strtoll(q->s, &end, 10);
        if (end == q->s || errno) return fail(q);
        q->s = end;
        e = ex_const(q->p, v);
    } else {
        size_t n = 0;
        while (q->s[n] == '_' || (q->s[n] >= '0' && q->s[n] <= '9') ||
               (q->s[n] >= 'a' && q->s[n] <= 'z') || (q->s[n] >= 'A' && q->s[n] <= 'Z'))
            n++;
        if (!n) return fail(q);
        char *name = arena_strndup(q->p->arena, q->s, n);
        if (!strcmp(name, "inf") || !strcmp(name, "nan")) return fail(q); /* no integers */
        e = ex_find(q->p, name);
        if (!e && !q->create) return fail(q);
        if (!e) e = ex_size(q->p, name, 2, 0);
        q->s += n;
    }
    q->depth--;
    return e;
}

/* One precedence level: and, == !=, < <=, + -, * // %. */
static ex parse_level(struct parser *q, int level) {
    if (level == 6) return parse_atom(q);
    ex a = parse_level(q, level + 1);
    while (!q->error) {
        skip(q);
        enum ex_kind k;
        bool minus = false;
        int64_t lo, hi;
        if (level == 1 && eat(q, "and "))
            k = EX_AND;
        else if (level == 2 && eat(q, "=="))
            k = EX_EQ;
        else if (level == 2 && eat(q, "!="))
            k = EX_NE;
        else if (level == 3 && eat(q, "<="))
            k = EX_LE;
        else if (level == 3 && eat(q, "<"))
            k = EX_LT;
        else if (level == 4 && eat(q, "+"))
            k = EX_ADD;
        else if (level == 4 && eat(q, "-"))
            k = EX_ADD, minus = true;
        else if (level == 5 && eat(q, "//"))
            k = EX_DIV;
        else if (level == 5 && eat(q, "*"))
            k = EX_MUL;
        else if (level == 5 && eat(q, "%"))
            k = EX_MOD;
        else
            break;
        ex b = parse_level(q, level + 1);
        if (is_bulky(q->p, k, a, b)) return fail(q);
        if (k == EX_DIV || k == EX_MOD) {
            ex_range(q->p, b, &lo, &hi);
            if (lo <= 0) return fail(q);
        }
        a = minus ? ex_sub(q->p, a, b) : ex_rebuild(q->p, k, a, b);
    }
    return a;
}

ex ex_parse(struct exprs *p, const char *text, const char **end, bool create) {
    struct parser q = {.p = p, .s = text, .create = create};
    ex e = parse_level(&q, 1);
    bool lone = ex_is_const(p, e, NULL); /* any number may stand alone */
    if (!q.error && !lone && !is_modest(bulk_of(p, e))) q.error = text;
    *end = q.error ? q.error : q.s;
    return q.error ? EX_NONE : e;
}
