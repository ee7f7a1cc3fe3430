/* range_table.c: lookups without text and without SQLite.
 *
 *   (graph, kernel)  ->  "" x=1 ;  "256 <= s0 && s0 < 4096" x=1 warps=8 ;  ...
 *
 * A lookup is one probe of the map and a walk over the intervals of the kernel's entries, which lie
 * side by side, three numbers each. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "tuner/range_table.h"

#include <string.h>
#include <time.h>

/* What nearly every guard is: an interval of s0, and what it must be a multiple of. */
struct band {
    int64_t least, most;
    int step; /* 0: the guard is more than that */
};

struct range_list {
    struct range_entry *at;
    struct band *bands; /* of the same */
    int n, cap;
};

struct range_table {
    struct arena *arena;
    struct map lists; /* "graph kernel" -> struct range_list * */
    VEC(struct range_list *) all;
    int64_t n[LOOKUP_COUNT], n_stale, misses_kept;
    int64_t ns, n_timed;
    bool met_stale; /* in the lookup at hand */
};

const char *lookup_name(enum lookup l) {
    static const char *const names[] = {[LOOKUP_POINT] = "hit",
                                        [LOOKUP_RANGE] = "hit",
                                        [LOOKUP_NEAREST] = "nearest",
                                        [LOOKUP_MISS] = "miss"};
    return names[l];
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { KEY_MOST = 128 }; /* bytes of a key; hashes have 16 each */

static size_t make_key(const char *graph, const char *kernel, char *out) {
    size_t n = strlen(graph), m = strlen(kernel);
    if (n + m + 1 > KEY_MOST) return 0;
    memcpy(out, graph, n);
    out[n] = ' ';
    memcpy(out + n + 1, kernel, m);
    return n + m + 1;
}

static struct range_list *find(const struct range_table *t, const char *graph, const char *kernel) {
    char key[KEY_MOST];
    size_t n = make_key(graph, kernel, key);
    uint64_t list;
    return n && map_get(&t->lists, key, n, &list) ? (struct range_list *)(uintptr_t)list : NULL;
}

static struct range_list *make(struct range_table *t, const char *graph, const char *kernel) {
    struct range_list *l = find(t, graph, kernel);
    char key[KEY_MOST];
    size_t n = make_key(graph, kernel, key);
    if (l || !n) return l;
    l = NEW(t->arena, struct range_list);
    map_put(&t->lists, key, n, (uintptr_t)l);
    vec_push(t->arena, &t->all, l);
    return l;
}

static struct band band_of(const struct guard_range *g) {
    struct band b = {.step = 1};
    guard_range_bounds(g, 0, &b.least, &b.most);
    for (int i = 0; i < g->n; i++) {
        const struct guard_term *t = &g->at[i];
        bool multiple = t->test == GUARD_MULTIPLE;
        if (t->symbol || (multiple && (b.step > 1 || t->number > INT32_MAX)))
            return (struct band){.step = 0};
        if (multiple) b.step = (int)t->number;
    }
    if (!g->n) b.least = INT64_MIN; /* whatever the sizes are, and if there are none */
    return b;
}

static void grow(struct range_table *t, struct range_list *l) {
    struct range_entry *at = NEW_ARRAY(t->arena, struct range_entry, l->cap = 2 * l->cap + 4);
    struct band *bands = NEW_ARRAY(t->arena, struct band, l->cap);
    if (l->n) memcpy(at, l->at, sizeof *at * (size_t)l->n);
    if (l->n) memcpy(bands, l->bands, sizeof *bands * (size_t)l->n);
    l->at = at;
    l->bands = bands;
}

static void add(struct range_table *t, const struct store_config *c) {
    struct diag quiet = diag_new(t->arena);
    struct range_entry e = {.id = c->id,
                            .guard_text = c->guard,
                            .config_text = c->config,
                            .text_hash = c->text_hash,
                            .size = c->size};
    if (!guard_range_parse(c->guard, &e.guard) || !config_parse(c->config, &e.config, &quiet))
        return;
    struct range_list *l = make(t, c->graph, c->kernel);
    if (!l) return;
    if (l->n == l->cap) grow(t, l);
    l->bands[l->n] = band_of(&e.guard);
    l->at[l->n++] = e;
}

struct range_table *range_table_new(struct arena *a, const struct store_config *configs, int n) {
    struct range_table *t = NEW(a, struct range_table);
    *t = (struct range_table){.arena = a, .lists = map_new(a)};
    for (int i = 0; i < n; i++) add(t, &configs[i]);
    return t;
}

enum ws_status range_table_load(struct arena *a, struct store *s, const struct store_key *key,
                                struct range_table **out, struct diag *d) {
    struct store_config *configs;
    int n;
    if (store_configs(s, key, &configs, &n, d) == WS_OK) *out = range_table_new(a, configs, n);
    return d->status;
}

/* ---- lookups --------------------------------------------------------------------------------- */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The time that the kernel's own rules take is not the lookup's. */
static bool is_usable(struct range_table *t, const struct range_question *q,
                      const struct range_entry *e) {
    if (!q->judge) return true;
    int64_t begun = now_ns();
    enum range_verdict v = q->judge(q->ctx, e);
    t->ns -= now_ns() - begun;
    t->met_stale |= v == RANGE_STALE;
    return v == RANGE_USABLE;
}

static bool holds(const struct range_list *l, int i, const struct range_question *q, int64_t s0) {
    const struct band *b = &l->bands[i];
    if (!b->step) return guard_range_holds(&l->at[i].guard, q->sizes, q->n_sizes);
    return b->least <= s0 && s0 <= b->most && (b->step == 1 || s0 % b->step == 0);
}

/* As guard_range_distance has it. */
static double distance(const struct range_list *l, int i, const struct range_question *q,
                       int64_t s0) {
    const struct band *b = &l->bands[i];
    if (!b->step || s0 < 1) return guard_range_distance(&l->at[i].guard, q->sizes, q->n_sizes);
    if (s0 < b->least) return (double)b->least / (double)s0;
    return s0 > b->most ? (double)s0 / (double)b->most : 1;
}

/* Without sizes only what has no condition can hold. */
static int64_t first_size(const struct range_question *q) {
    return q->n_sizes ? q->sizes[0] : INT64_MIN;
}

static struct range_entry *find_holding(struct range_table *t, const struct range_list *l,
                                        const struct range_question *q) {
    int64_t s0 = first_size(q);
    for (int i = 0; i < l->n; i++)
        if (holds(l, i, q, s0) && is_usable(t, q, &l->at[i])) return &l->at[i];
    return NULL;
}

/* The nearest of all without a division for each: of the intervals below, the one that ends last,
 * of those above, the one that begins first. NULL: not all guards are intervals. */
static struct range_entry *nearest_band(const struct range_list *l, int64_t s0) {
    const struct band *below = NULL, *above = NULL;
    for (const struct band *b = l->bands; b < l->bands + l->n; b++) {
        if (!b->step) return NULL;
        if (b->most < s0) {
            if (!below || b->most > below->most) below = b;
        } else if (b->least > s0) {
            if (!above || b->least < above->least) above = b;
        } else {
            return &l->at[b - l->bands];
        }
    }
    bool up =
        !below || (above && (double)above->least / (double)s0 < (double)s0 / (double)below->most);
    return &l->at[(up ? above : below) - l->bands];
}

/* Of those at one distance the first one, which is the newest. One of no use gives way to the
 * next nearest, so each turn looks at what lies behind the last. */
static struct range_entry *find_nearest(struct range_table *t, const struct range_list *l,
                                        const struct range_question *q) {
    int64_t s0 = first_size(q);
    struct range_entry *first = s0 > 0 ? nearest_band(l, s0) : NULL;
    if (first && is_usable(t, q, first)) return first;
    double last = 0;
    int last_at = -1;
    for (;;) {
        struct range_entry *best = NULL;
        double least = 0;
        for (int i = 0; i < l->n; i++) {
            double d = distance(l, i, q, s0);
            bool seen = d < last || (d == last && i <= last_at);
            if (seen || (best && d >= least)) continue;
            best = &l->at[i];
            least = d;
        }
        if (!best || is_usable(t, q, best)) return best;
        last = least;
        last_at = (int)(best - l->at);
    }
}

static enum lookup look_up(struct range_table *t, const struct range_question *q,
                           struct range_entry **out) {
    const struct range_list *l = find(t, q->graph, q->kernel);
    if (!l) return LOOKUP_MISS;
    if ((*out = find_holding(t, l, q))) return (*out)->guard.n ? LOOKUP_RANGE : LOOKUP_POINT;
    return (*out = find_nearest(t, l, q)) ? LOOKUP_NEAREST : LOOKUP_MISS;
}

enum lookup range_look_up(struct range_table *t, const struct range_question *q,
                          const struct range_entry **out) {
    struct range_entry *e = NULL;
    int64_t begun = now_ns();
    t->met_stale = false;
    enum lookup l = look_up(t, q, &e);
    t->ns += now_ns() - begun;
    t->n_timed++;
    t->n[l]++;
    t->n_stale += t->met_stale;
    if (e && l == LOOKUP_NEAREST) e->nearest++;
    if (e && l != LOOKUP_NEAREST) e->hits++;
    *out = e;
    return l;
}

bool range_met_stale(const struct range_table *t) { return t->met_stale; }

/* ---- counts ---------------------------------------------------------------------------------- */

void range_count_point(struct range_table *t, const char *graph, const char *kernel) {
    struct range_list *l = find(t, graph, kernel);
    if (l) l->at[0].hits++;
    t->n[LOOKUP_POINT]++;
}

void range_count_nearest(struct range_table *t, const char *graph, const char *kernel,
                         bool missed) {
    struct range_list *l = find(t, graph, kernel);
    if (l) l->at[0].nearest++;
    t->n[LOOKUP_NEAREST]++;
    t->n[LOOKUP_MISS] -= missed;
}

void range_count_miss(struct range_table *t) { t->n[LOOKUP_MISS]++; }

struct range_counts range_counts(const struct range_table *t) {
    struct range_counts out = {.stale = t->n_stale,
                               .us = t->n_timed ? 1e-3 * (double)t->ns / (double)t->n_timed : 0};
    memcpy(out.n, t->n, sizeof out.n);
    return out;
}

const char *range_counts_text(const struct range_table *t, struct arena *a) {
    struct range_counts c = range_counts(t);
    const char *text = arena_printf(a,
                                    "%lld tuned at this size, %lld in a tuned range, %lld from the "
                                    "nearest sizes, %lld not known",
                                    (long long)c.n[LOOKUP_POINT], (long long)c.n[LOOKUP_RANGE],
                                    (long long)c.n[LOOKUP_NEAREST], (long long)c.n[LOOKUP_MISS]);
    if (c.stale)
        text =
            arena_printf(a, "%s, %lld of these passed over stale ones", text, (long long)c.stale);
    return c.us > 0 ? arena_printf(a, "%s, %.2f us each", text, c.us) : text;
}

enum ws_status range_table_keep(struct range_table *t, struct store *s, struct diag *d) {
    VEC(struct store_uses) uses = {0};
    for (uint32_t i = 0; i < t->all.n; i++)
        for (int k = 0; k < t->all.at[i]->n; k++) {
            struct range_entry *e = &t->all.at[i]->at[k];
            if (!e->hits && !e->nearest) continue;
            vec_push(t->arena, &uses, ((struct store_uses){e->id, e->hits, e->nearest, 0}));
            e->hits = e->nearest = 0;
        }
    int64_t missed = t->n[LOOKUP_MISS] - t->misses_kept;
    if (missed) vec_push(t->arena, &uses, ((struct store_uses){.misses = missed}));
    t->misses_kept = t->n[LOOKUP_MISS];
    return uses.n ? store_add_uses(s, uses.at, (int)uses.n, d) : WS_OK;
}
