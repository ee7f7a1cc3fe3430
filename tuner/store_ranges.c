/* store_ranges.c: winners that hold for a range of sizes, the rungs that they were found at, and
 * how often entries were used.
 *
 *   keys     graph kernel "256 <= s0 && s0 < 4096" device ...      winners  the config
 *   rungs    256: x=1 won, 12.3 us;  512: x=2 won, x=1 ties;  ...  uses     7 hits, 1 nearest
 *
 * A range is an entry like any other, with its condition as the guard of its key. */
#include <time.h>

#include "tuner/guard_range.h"
#include "tuner/store_tables.h"

static enum ws_status finish(struct store *s, struct diag *d) {
    return sql_fault(s->sql) == SQL_FINE ? WS_OK : store_fail(s, d);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Of all older ranges of the key, those inside [least, most]. */
static void remove_covered(struct store *s, const struct store_key *k, int64_t least,
                           int64_t most) {
    VEC(int64_t) covered = {0};
    struct query q = sql_query(
        s->sql, "SELECT id, guard FROM keys WHERE graph = ? AND kernel = ? AND guard <> ? "
                "AND device = ? AND driver = ? AND toolchain = ? AND " NO_GENERATOR);
    struct store_key any = *k;
    any.guard = "";
    put_key(&q, &any);
    while (query_step(&q)) {
        int64_t id = take_int(&q), from, to;
        struct guard_range g;
        if (!guard_range_parse(take_text(&q), &g)) continue;
        guard_range_bounds(&g, 0, &from, &to);
        if (from >= least && to <= most) vec_push(s->arena, &covered, id);
    }
    query_end(&q);
    for (uint32_t i = 0; i < covered.n; i++) {
        struct query gone = sql_query(s->sql, "DELETE FROM keys WHERE id = ?");
        put_int(&gone, covered.at[i]);
        query_run(&gone);
    }
}

static void put_range(struct store *s, const struct store_key *k, const struct store_range *r) {
    struct store_key own = *k;
    own.guard = r->guard;
    int64_t key = store_make_key(s, &own);
    struct query q = sql_query(s->sql, "INSERT OR REPLACE INTO winners VALUES (?" WINNER_MARKS ")");
    put_int(&q, key);
    put_fields(&q, &winner_fields, &r->winner);
    query_run(&q);
    struct query old = sql_query(s->sql, "DELETE FROM rungs WHERE key = ?");
    put_int(&old, key);
    query_run(&old);
    for (int i = 0; i < r->n_rungs; i++) {
        struct query rung = sql_query(s->sql, "INSERT INTO rungs VALUES (NULL, ?" RUNG_MARKS ")");
        put_int(&rung, key);
        put_fields(&rung, &rung_fields, &r->rungs[i]);
        query_run(&rung);
    }
}

enum ws_status store_put_ranges(struct store *s, const struct store_key *k,
                                const struct store_graph *g, const struct store_range *ranges,
                                int n, struct diag *d) {
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < n; i++) {
        struct guard_range guard;
        int64_t from, to;
        if (!guard_range_parse(ranges[i].guard, &guard))
            WS_BUG("no condition on sizes: '%s'", ranges[i].guard);
        guard_range_bounds(&guard, 0, &from, &to);
        if (from < least) least = from;
        if (to > most) most = to;
    }
    sql_begin(s->sql);
    remove_covered(s, k, least, most);
    store_put_graph(s, "INSERT OR REPLACE", k->graph, g);
    for (int i = 0; i < n; i++) put_range(s, k, &ranges[i]);
    return sql_commit(s->sql) ? WS_OK : store_fail(s, d);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum ws_status store_configs(struct store *s, const struct store_key *k, struct store_config **out,
                             int *n, struct diag *d) {
    VEC(struct store_config) found = {0};
    struct query q = sql_query(
        s->sql, "SELECT keys.id, graph, kernel, guard, config, text_hash, (SELECT min(size) FROM "
                "rungs WHERE key = keys.id) FROM keys JOIN winners ON key = keys.id WHERE device = "
                "? AND driver = ? AND toolchain = ? AND " NO_GENERATOR
                " ORDER BY created DESC, keys.id DESC");
    put_text(&q, k->device);
    put_text(&q, k->driver);
    put_text(&q, k->toolchain);
    while (query_step(&q)) {
        struct store_config c = {.id = take_int(&q)};
        c.graph = take_text(&q);
        c.kernel = take_text(&q);
        c.guard = take_text(&q);
        c.config = take_text(&q);
        c.text_hash = take_text(&q);
        c.size = take_int(&q);
        vec_push(s->arena, &found, c);
    }
    query_end(&q);
    *out = found.at;
    *n = (int)found.n;
    return finish(s, d);
}

enum ws_status store_ladder_axes(struct store *s, const char *workload, const char ***out, int *n,
                                 struct diag *d) {
    VEC(const char *) found = {0};
    struct query q = sql_query(
        s->sql, "SELECT DISTINCT axis FROM rungs JOIN keys ON keys.id = rungs.key JOIN graphs "
                "USING (graph) WHERE workload = ? ORDER BY axis");
    put_text(&q, workload);
    while (query_step(&q)) vec_push(s->arena, &found, take_text(&q));
    query_end(&q);
    *out = found.at;
    *n = (int)found.n;
    return finish(s, d);
}

enum ws_status store_why_no_range(struct store *s, const struct store_key *k, const char **why,
                                  struct diag *d) {
    struct query q = sql_query(
        s->sql, "SELECT " KEY_NAMES " FROM keys JOIN winners ON winners.key = keys.id WHERE graph "
                "= ? AND kernel = ? AND guard <> ? AND " NO_GENERATOR " ORDER BY (device <> ?) + "
                "(driver <> ?) + (toolchain <> ?), created DESC, id LIMIT 1");
    struct store_key own = *k, was;
    own.guard = "";
    put_key(&q, &own);
    struct buf b = buf_new(s->arena);
    if (query_step(&q)) {
        take_key(&q, &was);
        own.guard = was.guard;
#define KEY(name, what) store_say_difference(&b, what, was.name, own.name);
        STORE_KEYS(KEY)
#undef KEY
    }
    query_end(&q);
    *why = b.n ? b.p : "no ranges";
    return finish(s, d);
}

void store_read_rungs(struct store *s, int64_t key, struct store_rung **out, int *n) {
    VEC(struct store_rung) rungs = {0};
    struct query q =
        sql_query(s->sql, "SELECT id" RUNG_NAMES " FROM rungs WHERE key = ? ORDER BY size");
    put_int(&q, key);
    while (query_step(&q)) {
        struct store_rung r;
        take_int(&q); /* the id */
        take_fields(&q, &rung_fields, &r);
        vec_push(s->arena, &rungs, r);
    }
    query_end(&q);
    *out = rungs.at;
    *n = (int)rungs.n;
}

/* ---- uses ------------------------------------------------------------------------------------ */

static const char missed[] = "lookups missed";

static void add_misses(struct store *s, int64_t n) {
    struct query q = sql_query(s->sql, "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (key) DO "
                                       "UPDATE SET value = value + excluded.value");
    put_text(&q, missed);
    put_real(&q, (double)n);
    put_int(&q, time(NULL));
    query_run(&q);
}

/* An entry that was removed meanwhile counts no more. */
static void add_uses(struct store *s, const struct store_uses *u) {
    struct query q = sql_query(
        s->sql, "INSERT INTO uses SELECT id, ?, ? FROM keys WHERE id = ? ON CONFLICT (key) DO "
                "UPDATE SET hits = hits + excluded.hits, nearest = nearest + excluded.nearest");
    put_int(&q, u->hits);
    put_int(&q, u->nearest);
    put_int(&q, u->id);
    query_run(&q);
}

enum ws_status store_add_uses(struct store *s, const struct store_uses *uses, int n,
                              struct diag *d) {
    sql_begin(s->sql);
    for (int i = 0; i < n; i++) {
        if (uses[i].id) add_uses(s, &uses[i]);
        if (uses[i].misses) add_misses(s, uses[i].misses);
    }
    return sql_commit(s->sql) ? WS_OK : store_fail(s, d);
}

enum ws_status store_get_uses(struct store *s, int64_t id, struct store_uses *out, struct diag *d) {
    *out = (struct store_uses){.id = id};
    struct query q = sql_query(s->sql, "SELECT ifnull(sum(hits), 0), ifnull(sum(nearest), 0) FROM "
                                       "uses WHERE key = ?1 OR ?1 = 0");
    put_int(&q, id);
    if (query_step(&q)) {
        out->hits = take_int(&q);
        out->nearest = take_int(&q);
    }
    query_end(&q);
    double misses = 0;
    bool found;
    if (!id && store_get_fact(s, missed, &misses, &found, d) == WS_OK && found)
        out->misses = (int64_t)misses;
    return finish(s, d);
}
