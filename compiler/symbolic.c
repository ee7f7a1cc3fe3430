/* symbolic.c: graphs whose sizes are symbols: their canonical names, whether such a graph is what
 * was captured with numbers, and what it is where a size is a multiple of something.
 *
 *   graph(%x: f32[s3, s1])       hashed as        graph(%x: f32[s0, s1])
 *   s1 = 64                      is the same as   graph(%x: f32[s0, 64])     captured at dim=64
 *   s1 a multiple of 8           lowered as       graph(%x: f32[s0, 8*s1_8]) */
#include "symbolic.h"

#include <ctype.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/loop.h"

/* ---- canonical names ------------------------------------------------------------------------- */

struct collect {
    struct ws_captured *c;
    VEC(ex) found;
};

static void add_symbols(struct collect *s, ex e) {
    enum { MOST = 64 };
    const struct exprs *p = s->c->graph->ex;
    ex at[MOST];
    if (e == EX_NONE || ex_is_const(p, e, NULL)) return;
    int n = ex_symbols(p, e, at, MOST);
    for (int i = 0; i < n && i < MOST; i++) {
        bool known = false;
        for (uint32_t k = 0; k < s->found.n; k++) known |= s->found.at[k] == at[i];
        if (!known) vec_push(s->c->arena, &s->found, at[i]);
    }
}

void symbols_collect(struct ws_captured *c) {
    const struct graph *g = c->graph;
    struct collect s = {.c = c};
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *x = &g->nodes.at[i];
        for (int k = 0; k < x->n_args; k++) {
            if (x->args[k].kind == ARG_INT) add_symbols(&s, x->args[k].i);
            for (uint32_t j = 0; x->args[k].kind == ARG_INTS && j < x->args[k].ints.n; j++)
                add_symbols(&s, x->args[k].ints.at[j]);
        }
        for (int k = 0; k < x->meta.rank; k++) add_symbols(&s, x->meta.size[k]);
        for (int k = 0; k < x->meta.rank; k++) add_symbols(&s, x->meta.stride[k]);
    }
    c->symbols = s.found.at;
    c->n_symbols = (int)s.found.n;
}

static const char *symbol_name(const struct ws_captured *c, int i) {
    return ex_symbol(c->graph->ex, c->symbols[i])->name;
}

static bool is_canonical(const struct ws_captured *c) {
    for (int i = 0; i < c->n_symbols; i++)
        if (strcmp(symbol_name(c, i), arena_printf(c->arena, "s%d", i)) != 0) return false;
    return true;
}

static bool is_word(char ch) { return isalnum((unsigned char)ch) || ch == '_'; }

/* The number of the symbol called so; -1: it is something else. */
static int symbol_called(const struct ws_captured *c, const char *word, size_t n) {
    for (int i = 0; i < c->n_symbols; i++)
        if (strlen(symbol_name(c, i)) == n && !memcmp(symbol_name(c, i), word, n)) return i;
    return -1;
}

/* Names of nodes (%s0), attributes (L['self'].s0) and what stands in quotes stay as they are. */
const char *symbols_rename(const struct ws_captured *c, const char *text) {
    if (is_canonical(c)) return text;
    struct buf b = buf_new(c->arena);
    bool quoted = false;
    for (const char *p = text; *p;) {
        quoted ^= *p == '\'';
        size_t n = 0;
        while (is_word(p[n])) n++;
        bool name = n && !quoted && (p == text || !strchr("%.", p[-1]));
        int symbol = name ? symbol_called(c, p, n) : -1;
        if (symbol >= 0)
            buf_printf(&b, "s%d", symbol);
        else
            buf_printf(&b, "%.*s", n ? (int)n : 1, p);
        p += n ? n : 1;
    }
    return b.p;
}

/* ---- at one size, at many -------------------------------------------------------------------- */

static const char *line_at(struct arena *a, const char *text, const char *p) {
    while (p > text && p[-1] != '\n') p--;
    while (*p == ' ') p++;
    return arena_strndup(a, p, strcspn(p, "\n"));
}

struct ws_captured *ws_captured_at(const struct ws_captured *c, const int64_t *size) {
    struct ws_captured *out = NEW(c->arena, struct ws_captured);
    *out = *c;
    out->graph = graph_specialize(c->graph, c->symbols, size, (uint32_t)c->n_symbols, c->arena);
    out->graph = graph_roll(out->graph); /* of sizes that are symbols there are no loops */
    symbols_collect(out);
    return out;
}

bool ws_captures_same(const struct ws_captured *symbolic, const struct ws_captured *numbers,
                      const char **why) {
    struct arena *a = symbolic->arena;
    const struct graph *g = symbolic->graph;
    int64_t *values = NEW_ARRAY(a, int64_t, symbolic->n_symbols);
    struct buf now = buf_new(a), want = buf_new(a);
    for (int i = 0; i < symbolic->n_symbols; i++) values[i] = ex_hint(g->ex, symbolic->symbols[i]);
    graph_print(&now, graph_roll(graph_specialize(g, symbolic->symbols, values,
                                                  (uint32_t)symbolic->n_symbols, a)));
    graph_print(&want, numbers->graph);
    if (!strcmp(now.p, want.p)) return true;
    size_t n = 0;
    while (now.p[n] == want.p[n]) n++;
    *why = line_at(a, want.p, want.p + n);
    return false;
}

struct ws_captured *ws_captured_stepped(const struct ws_captured *c, const int64_t *step) {
    struct exprs *p = c->graph->ex;
    struct ws_captured *out = NEW(c->arena, struct ws_captured);
    ex *to = NEW_ARRAY(c->arena, ex, c->n_symbols);
    *out = *c;
    out->values = NEW_ARRAY(c->arena, struct ws_values, DEVICE_KINDS);
    for (int i = 0; i < c->n_symbols; i++) {
        int64_t hint = ex_hint(p, c->symbols[i]);
        to[i] = c->symbols[i];
        if (step[i] < 2) continue;
        const char *name = arena_printf(c->arena, "%s_%lld", symbol_name(c, i), (long long)step[i]);
        ex units = ex_find(p, name);
        if (units == EX_NONE) units = ex_size(p, name, 1, 1);
        ex_set_hint(p, units, hint / step[i]);
        to[i] = ex_mul(p, ex_const(p, step[i]), units);
    }
    out->graph = graph_substitute(c->graph, c->symbols, to, (uint32_t)c->n_symbols, c->arena);
    symbols_collect(out);
    return out;
}
