/* store_nearest.c: winners of the same kernels at other sizes.
 *
 *   asked for   (%x: f32[16, 200]) { %softmax: f32[16, 200] = softmax(%x, dim=1) ...
 *   kept        (%x: f32[16, 256]) { %softmax: f32[16, 256] = softmax(%x, dim=1) ...  2 log 256/200
 *               (%x: f32[32, 100]) { %softmax: f32[32, 100] = softmax(%x, dim=1) ...  4 log 2
 *               (%x: f64[16, 200]) { %softmax: f64[16, 200] = softmax(%x, dim=1) ...  another graph
 *
 * Graphs are the same but for sizes if their texts are but for numbers. How far they are apart is
 * the sum of the logarithms of the numbers' ratios: a size that many tensors have counts as often.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/store_tables.h"

/* ---- graphs' texts --------------------------------------------------------------------------- */

/* The graph alone: what is said of its kernels has hashes in it. */
static const char *begin_of(const char *text) {
    static const char head[] = "\nGraph:\n";
    const char *at = strstr(text, head);
    return at ? at + strlen(head) : text;
}

static const char *end_of(const char *text) {
    const char *at = strstr(text, "\nKernels: ");
    return at ? at : text + strlen(text);
}

/* A number, and no part of a name, as f32 or %x_1 are. */
static bool at_number(const char *begin, const char *at) {
    if (!isdigit((unsigned char)*at)) return false;
    return at == begin || !(isalnum((unsigned char)at[-1]) || strchr("_%$.", at[-1]));
}

/* Fractions are no sizes: a scale such as dim ** -0.5 follows one. */
static double log_size(double x) { return x > 1 ? log(x) : 0; }

/* INFINITY: another graph. */
static double distance(const char *a, const char *b) {
    const char *a_begin = a = begin_of(a), *a_end = end_of(a), *b_begin = b = begin_of(b),
               *b_end = end_of(b);
    double d = 0;
    while (a < a_end && b < b_end) {
        if (at_number(a_begin, a) && at_number(b_begin, b)) {
            char *a_next, *b_next;
            d += fabs(log_size(strtod(a, &a_next)) - log_size(strtod(b, &b_next)));
            a = a_next;
            b = b_next;
        } else if (*a++ != *b++) {
            return INFINITY;
        }
    }
    return a == a_end && b == b_end ? d : INFINITY;
}

/* ---- near winners ---------------------------------------------------------------------------- */

struct near_graph {
    const char *hash, *axes;
    double distance;
};
struct near_graphs {
    struct near_graph *at;
    uint32_t n, cap;
};

/* Behind those that are as near: what was written last comes first. */
static void insert(struct arena *a, struct near_graphs *to, struct near_graph g) {
    vec_push(a, to, g);
    for (uint32_t i = to->n - 1; i && to->at[i - 1].distance > g.distance; i--) {
        to->at[i] = to->at[i - 1];
        to->at[i - 1] = g;
    }
}

static struct near_graphs find_graphs(struct store *s, const char *hash,
                                      const struct store_graph *g) {
    struct near_graphs out = {0};
    struct query q = sql_query(s->sql, "SELECT graph, axes, text FROM graphs WHERE graph <> ? AND "
                                       "workload = ? AND mode = ? AND dtype = ? ORDER BY rowid "
                                       "DESC");
    put_text(&q, hash);
    put_text(&q, g->workload);
    put_text(&q, g->mode);
    put_text(&q, g->dtype);
    while (query_step(&q)) {
        struct near_graph near = {.hash = take_text(&q), .axes = take_text(&q)};
        near.distance = distance(g->text, take_text(&q));
        if (near.distance < INFINITY) insert(s->arena, &out, near);
    }
    query_end(&q);
    return out;
}

enum ws_status store_nearest(struct store *s, const struct store_key *k,
                             const struct store_graph *g, struct store_near **out, int *n,
                             struct diag *d) {
    VEC(struct store_near) found = {0};
    struct near_graphs graphs = find_graphs(s, k->graph, g);
    for (uint32_t i = 0; i < graphs.n; i++) {
        struct store_near near = {.graph = graphs.at[i].hash, .axes = graphs.at[i].axes};
        struct query q = sql_query(
            s->sql, "SELECT kernel, kernel_name, config FROM keys JOIN winners ON key = keys.id "
                    "WHERE graph = ? AND guard = '' AND device = ? AND driver = ? AND toolchain = "
                    "? AND " NO_GENERATOR " ORDER BY keys.id");
        put_text(&q, near.graph);
        put_text(&q, k->device);
        put_text(&q, k->driver);
        put_text(&q, k->toolchain);
        while (query_step(&q)) {
            near.kernel = take_text(&q);
            near.kernel_name = take_text(&q);
            near.config = take_text(&q);
            vec_push(s->arena, &found, near);
        }
        query_end(&q);
    }
    *out = found.at;
    *n = (int)found.n;
    return sql_fault(s->sql) == SQL_FINE ? WS_OK : store_fail(s, d);
}
