/* bytes_text.c: the readers of our own texts: graphs, configs, expressions. */
#include <string.h>

#include "graph/graph.h"
#include "kernel/config.h"
#include "tests/fuzz/bytes.h"

static const char *as_text(struct arena *a, const uint8_t *data, size_t n) {
    return arena_strndup(a, (const char *)data, strnlen((const char *)data, n));
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static struct graph *parse(struct arena *a, const char *text, struct diag *d) {
    struct source *s = NEW(a, struct source);
    *s = (struct source){"fuzz.graph", text, strlen(text)};
    return graph_parse(a, exprs_new(a), s, d);
}

static const char *print(struct arena *a, const struct graph *g) {
    struct buf b = buf_new(a);
    graph_print(&b, g);
    return b.p;
}

static void check_verifies(struct graph *g, bool decomposed, const char *after) {
    const char *wrong = graph_verify(g, decomposed);
    BYTES_CHECK(!wrong, "after %s: %s", after, wrong);
}

void bytes_graph(const uint8_t *data, size_t n) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct graph *g = parse(a, as_text(a, data, n), &d);
    BYTES_CHECK(!g == (d.status != WS_OK) && !g == (d.text != NULL), "a graph or a message");
    if (g) {
        const char *once = print(a, g);
        struct graph *again = parse(a, once, &d);
        BYTES_CHECK(again, "%s\n%s", d.text, once);
        BYTES_CHECK(!strcmp(once, print(a, again)), "%s\nbecomes\n%s", once, print(a, again));
        check_verifies(g, false, "parse");
        g = graph_simplify(g);
        check_verifies(g, false, "simplify");
        g = graph_decompose(g);
        check_verifies(g, true, "decompose");
        check_verifies(graph_simplify(g), true, "simplify after decompose");
    }
    arena_free(a);
}

/* ---- configs --------------------------------------------------------------------------------- */

void bytes_config(const uint8_t *data, size_t n) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct config c, again;
    bool ok = config_parse(as_text(a, data, n), &c, &d);
    BYTES_CHECK(ok == (d.status == WS_OK) && !ok == (d.text != NULL), "a config or a message");
    const char *text = ok ? config_str(a, &c) : "";
    if (*text) /* all knobs 0 print as nothing, which is no config */
        BYTES_CHECK(config_parse(text, &again, &d) && config_equal(&c, &again), "%s", text);
    arena_free(a);
}

/* ---- expressions ----------------------------------------------------------------------------- */

void bytes_expr(const uint8_t *data, size_t n) {
    struct arena *a = arena_new();
    struct exprs *p = exprs_new(a);
    const char *text = as_text(a, data, n), *end = text;
    ex e = ex_parse(p, text, &end, true);
    BYTES_CHECK(end >= text && end <= text + strlen(text), "the end is elsewhere");
    if (e != EX_NONE) {
        int64_t lo, hi;
        const char *once = ex_str(a, p, e);
        ex again = ex_parse(p, once, &end, false);
        BYTES_CHECK(again == e && !*end, "%s reads back as %s", once,
                    again == EX_NONE ? "nothing" : ex_str(a, p, again));
        ex_range(p, e, &lo, &hi);
        BYTES_CHECK(lo <= hi, "%s: from %lld to %lld", once, (long long)lo, (long long)hi);
    }
    arena_free(a);
}
