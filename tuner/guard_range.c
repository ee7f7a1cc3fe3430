/* guard_range.c: conditions on sizes: read, written, decided.
 *
 *   "256 <= s0 && s0 % 8 == 0"   <->   {LEAST s0 256} {MULTIPLE s0 8}
 *   s0 = 1536                    ->    holds */
#include "tuner/guard_range.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

static void skip_spaces(const char **p) {
    while (**p == ' ') (*p)++;
}

static bool take(const char **p, const char *word) {
    skip_spaces(p);
    size_t n = strlen(word);
    if (strncmp(*p, word, n) != 0) return false;
    *p += n;
    return true;
}

static bool take_number(const char **p, int64_t *out) {
    skip_spaces(p);
    if (!isdigit((unsigned char)**p)) return false;
    char *end;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    *p = end;
    return errno == 0;
}

static bool take_symbol(const char **p, int *out) {
    int64_t n;
    if (!take(p, "s") || !isdigit((unsigned char)**p) || !take_number(p, &n) || n >= GUARD_SYMBOLS)
        return false;
    *out = (int)n;
    return true;
}

static bool take_term(const char **p, struct guard_term *t) {
    int64_t zero;
    if (take_number(p, &t->number)) {
        t->test = GUARD_LEAST;
        return take(p, "<=") && take_symbol(p, &t->symbol);
    }
    if (!take_symbol(p, &t->symbol)) return false;
    if (take(p, "%")) {
        t->test = GUARD_MULTIPLE;
        return take_number(p, &t->number) && t->number > 0 && take(p, "==") &&
               take_number(p, &zero) && !zero;
    }
    if (take(p, "<="))
        t->test = GUARD_MOST;
    else if (take(p, "<"))
        t->test = GUARD_BELOW;
    else if (take(p, "=="))
        t->test = GUARD_IS;
    else
        return false;
    return take_number(p, &t->number);
}

bool guard_range_parse(const char *text, struct guard_range *out) {
    *out = (struct guard_range){0};
    skip_spaces(&text);
    while (*text) {
        if (out->n == GUARD_TERMS || (out->n && !take(&text, "&&")) ||
            !take_term(&text, &out->at[out->n]))
            return false;
        out->n++;
        skip_spaces(&text);
    }
    return true;
}

void guard_range_print(struct buf *b, const struct guard_range *g, const char *const *names) {
    for (int i = 0; i < g->n; i++) {
        const struct guard_term *t = &g->at[i];
        char own[24];
        const char *name = names ? names[t->symbol] : own;
        snprintf(own, sizeof own, "s%d", t->symbol);
        if (i) buf_puts(b, " && ");
        long long n = t->number;
        switch (t->test) {
        case GUARD_LEAST: buf_printf(b, "%lld <= %s", n, name); break;
        case GUARD_BELOW: buf_printf(b, "%s < %lld", name, n); break;
        case GUARD_MOST: buf_printf(b, "%s <= %lld", name, n); break;
        case GUARD_IS: buf_printf(b, "%s == %lld", name, n); break;
        case GUARD_MULTIPLE: buf_printf(b, "%s %% %lld == 0", name, n); break;
        }
    }
}

/* ---- decisions ------------------------------------------------------------------------------- */

static bool term_holds(const struct guard_term *t, int64_t s) {
    switch (t->test) {
    case GUARD_LEAST: return t->number <= s;
    case GUARD_BELOW: return s < t->number;
    case GUARD_MOST: return s <= t->number;
    case GUARD_IS: return s == t->number;
    case GUARD_MULTIPLE: return s % t->number == 0;
    }
    return false;
}

bool guard_range_holds(const struct guard_range *g, const int64_t *sizes, int n) {
    for (int i = 0; i < g->n; i++)
        if (g->at[i].symbol >= n || !term_holds(&g->at[i], sizes[g->at[i].symbol])) return false;
    return true;
}

double guard_range_distance(const struct guard_range *g, const int64_t *sizes, int n) {
    double factor = 1;
    for (int i = 0; i < g->n; i++) {
        const struct guard_term *t = &g->at[i];
        if (t->symbol >= n || t->test == GUARD_MULTIPLE || term_holds(t, sizes[t->symbol]))
            continue;
        int64_t nearest = t->test == GUARD_BELOW ? t->number - 1 : t->number;
        double s = (double)(sizes[t->symbol] > 1 ? sizes[t->symbol] : 1),
               bound = (double)(nearest > 1 ? nearest : 1);
        factor *= s < bound ? bound / s : s / bound;
    }
    return factor;
}

void guard_range_bounds(const struct guard_range *g, int symbol, int64_t *least, int64_t *most) {
    *least = 0;
    *most = INT64_MAX;
    for (int i = 0; i < g->n; i++) {
        const struct guard_term *t = &g->at[i];
        if (t->symbol != symbol) continue;
        if (t->test == GUARD_LEAST || t->test == GUARD_IS) *least = t->number;
        if (t->test == GUARD_MOST || t->test == GUARD_IS) *most = t->number;
        if (t->test == GUARD_BELOW) *most = t->number - 1;
    }
}
