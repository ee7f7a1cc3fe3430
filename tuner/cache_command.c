/* cache_command.c: `warpsmith cache ls|show|rm|export|import`.
 *
 * $ warpsmith cache ls
 * id  workload  mode  dtype  axes       kernel     device       config       median us  trials  age
 *  3  softmax   fwd   f32    rows=4096  softmax_0  NVIDIA H200  x=1 warps=8      36.96      17  2 d
 *
 * Tables go to stdout, everything else to stderr. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reports/row_json.h"
#include "tuner/commands.h"
#include "tuner/store.h"

struct cache {
    struct arena *arena;
    struct diag *d;
    struct store *store;
};

/* ---- words for numbers ----------------------------------------------------------------------- */

static const char *or_dash(const char *s) { return s && *s ? s : "-"; }

static const char *number(struct arena *a, double v, int decimals, const char *unit) {
    return isfinite(v) ? arena_printf(a, "%.*f%s", decimals, v, unit) : "-";
}

static const char *known(struct arena *a, int v) { return v < 0 ? "-" : arena_printf(a, "%d", v); }

static const char *age(struct arena *a, int64_t then) {
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    int64_t now = time(NULL), s = now > then ? now - then : 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (s >= units[i].seconds)
            return arena_printf(a, "%" PRId64 " %s", s / units[i].seconds, units[i].unit);
    return "0 s";
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { MAX_COLUMNS = 13 };

/* Cells row by row, the header first. A column whose name begins with '>' is right-aligned. */
struct table_out {
    struct arena *arena;
    int n_columns;
    VEC(const char *) cells;
};

static void add_cell(struct table_out *t, const char *text) { vec_push(t->arena, &t->cells, text); }

static struct table_out new_table(struct arena *a, const char *const *names, int n) {
    struct table_out t = {.arena = a, .n_columns = n};
    WS_ASSERT(n <= MAX_COLUMNS);
    for (int i = 0; i < n; i++) add_cell(&t, names[i]);
    return t;
}

/* Columns of text in UTF-8: continuation bytes take no room. */
static int width(const char *s) {
    int n = 0;
    for (; *s; s++) n += (*s & 0xc0) != 0x80;
    return n;
}

static void print_table(const struct table_out *t, FILE *out) {
    int widest[MAX_COLUMNS] = {0};
    bool right[MAX_COLUMNS] = {0};
    for (int c = 0; c < t->n_columns; c++) {
        right[c] = t->cells.at[c][0] == '>';
        if (right[c]) t->cells.at[c]++;
    }
    for (uint32_t i = 0; i < t->cells.n; i++) {
        int *w = &widest[i % (uint32_t)t->n_columns], n = width(t->cells.at[i]);
        if (n > *w) *w = n;
    }
    for (uint32_t i = 0; i < t->cells.n; i++) {
        int c = (int)(i % (uint32_t)t->n_columns);
        const char *text = t->cells.at[i];
        bool last = c + 1 == t->n_columns;
        int pad = widest[c] - width(text);
        if (c > 0 && (!last || *text)) fputs("  ", out);
        fprintf(out, "%*s%s", right[c] ? pad : 0, "", text);
        fprintf(out, "%*s%s", right[c] || last ? 0 : pad, "", last ? "\n" : "");
    }
}

/* ---- ls -------------------------------------------------------------------------------------- */

/* What an entry is about, in the columns that all three kinds share. */
static const char *entry_kernel(const struct store_entry *e) {
    if (e->has_winner) return or_dash(e->winner.kernel_name);
    return strcmp(e->key.kernel, STORE_PROGRAM) == 0 ? "(program)" : e->key.kernel;
}

static const char *entry_config(const struct store_entry *e) {
    if (e->has_winner) return e->winner.config;
    return e->has_program ? "-" : "(cut short)";
}

static struct stats entry_time(const struct store_entry *e) {
    return e->has_winner ? e->winner.us : e->has_program ? e->program.tuned : stats_none();
}

/* A range's sizes stand beside its axes. */
static const char *entry_axes(struct arena *a, const struct store_entry *e) {
    const char *axes = or_dash(e->graph.axes);
    return e->n_rungs ? arena_printf(a, "%s: %s", axes, e->key.guard) : axes;
}

static const char *uses_text(struct arena *a, const struct store_uses *u) {
    return arena_printf(a, "%" PRId64 " found, %" PRId64 " by the nearest sizes", u->hits,
                        u->nearest);
}

static enum ws_status list(struct cache *c) {
    static const char *const names[] = {">id",        "workload", "mode",   "dtype",
                                        "axes",       "kernel",   "device", "config",
                                        ">median us", ">samples", ">tried", ">age"};
    enum { N = sizeof names / sizeof *names };
    struct store_entry *e;
    int n;
    if (store_entries(c->store, &e, &n, c->d) != WS_OK) return c->d->status;
    struct table_out t = new_table(c->arena, names, N);
    for (int i = 0; i < n; i++) {
        struct stats us = entry_time(&e[i]);
        add_cell(&t, arena_printf(c->arena, "%" PRId64, e[i].id));
        add_cell(&t, or_dash(e[i].graph.workload));
        add_cell(&t, or_dash(e[i].graph.mode));
        add_cell(&t, or_dash(e[i].graph.dtype));
        add_cell(&t, entry_axes(c->arena, &e[i]));
        add_cell(&t, entry_kernel(&e[i]));
        add_cell(&t, or_dash(e[i].key.device));
        add_cell(&t, entry_config(&e[i]));
        add_cell(&t, number(c->arena, us.median, 2, ""));
        add_cell(&t, arena_printf(c->arena, "%d", us.n));
        add_cell(&t, arena_printf(c->arena, "%d", e[i].n_trials));
        add_cell(&t, age(c->arena, e[i].newest));
    }
    struct store_uses u;
    if (store_get_uses(c->store, 0, &u, c->d) != WS_OK) return c->d->status;
    if (n) print_table(&t, stdout);
    fprintf(stderr, "%d entr%s in %s; lookups: %s, %" PRId64 " not found\n", n,
            n == 1 ? "y" : "ies", store_path(c->store), uses_text(c->arena, &u), u.misses);
    return WS_OK;
}

/* The same as an array of objects; what an entry has not is null. */
static enum ws_status list_json(struct cache *c) {
    struct store_entry *e;
    int n;
    if (store_entries(c->store, &e, &n, c->d) != WS_OK) return c->d->status;
    json_t *all = json_array();
    for (int i = 0; i < n; i++) {
        struct stats us = entry_time(&e[i]);
        json_t *o = json_object();
        json_object_set_new(o, "id", json_integer(e[i].id));
        json_object_set_new(o, "workload", json_text(e[i].graph.workload));
        json_object_set_new(o, "mode", json_text(e[i].graph.mode));
        json_object_set_new(o, "dtype", json_text(e[i].graph.dtype));
        json_object_set_new(o, "axes", json_text(entry_axes(c->arena, &e[i])));
        json_object_set_new(o, "kernel", json_text(entry_kernel(&e[i])));
        json_object_set_new(o, "device", json_text(e[i].key.device));
        json_object_set_new(o, "config",
                            e[i].has_winner ? json_text(e[i].winner.config) : json_null());
        json_object_set_new(o, "text_hash",
                            e[i].has_winner && *e[i].winner.text_hash
                                ? json_text(e[i].winner.text_hash)
                                : json_null());
        json_object_set_new(o, "median_us", json_number(us.n ? us.median : NAN));
        json_object_set_new(o, "n", json_integer(us.n));
        json_object_set_new(o, "trials", json_integer(e[i].n_trials));
        json_object_set_new(o, "stored", json_integer(e[i].newest));
        json_array_append_new(all, o);
    }
    json_print(all, stdout); /* main says if stdout is broken */
    return WS_OK;
}

/* ---- show ------------------------------------------------------------------------------------ */

static void print_line(const char *name, const char *value) {
    printf("%-12s %s\n", name, or_dash(value));
}

static const char *times(struct arena *a, const struct stats *s) {
    if (!s->n) return "not measured";
    return arena_printf(a,
                        "median %.3f us, quartiles %.3f .. %.3f, min %.3f, 95 %% interval %.3f .. "
                        "%.3f (+-%.2f %%), %d samples",
                        s->median, s->q1, s->q3, s->min, s->lo, s->hi, 100 * stats_rel_ci(s), s->n);
}

static void print_evidence(struct arena *a, const char *arch, const struct store_health *h,
                           const char *run_id, int64_t created) {
    char when[32] = "-";
    time_t t = (time_t)created;
    struct tm tm;
    if (gmtime_r(&t, &tm)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    print_line("arch", arch);
    print_line("timer", h->timer);
    print_line("clock", number(a, h->clock_mhz, 0, " MHz"));
    print_line("temperature", number(a, h->temp_c, 0, " C"));
    print_line("throttle", h->throttle);
    print_line("run", run_id);
    print_line("stored", when);
}

/* The sizes of a range that were tuned, each with its own winner. */
static void print_rungs(struct arena *a, const struct store_entry *e) {
    static const char *const names[] = {">size",       ">median us",  ">samples",
                                        ">fastest us", ">default us", "fastest"};
    struct table_out t = new_table(a, names, sizeof names / sizeof *names);
    for (int i = 0; i < e->n_rungs; i++) {
        const struct store_rung *r = &e->rungs[i];
        add_cell(&t, arena_printf(a, "%" PRId64, r->size));
        add_cell(&t, number(a, r->us.median, 3, ""));
        add_cell(&t, arena_printf(a, "%d", r->us.n));
        add_cell(&t, number(a, r->winner_us, 3, ""));
        add_cell(&t, number(a, r->default_us, 3, ""));
        add_cell(&t, strcmp(r->winner, e->winner.config) ? r->winner : "the same");
    }
    printf("\n");
    print_table(&t, stdout);
}

static void print_range(struct arena *a, const struct store_entry *e) {
    const struct store_winner *w = &e->winner;
    print_line("name", w->kernel_name);
    print_line("s0", e->rungs[0].axis);
    print_line("config", w->config);
    print_line("choice", arena_printf(a, "%d tried at %d size%s", w->tried, e->n_rungs,
                                      e->n_rungs == 1 ? "" : "s"));
    print_evidence(a, w->arch, &w->health, w->run_id, w->created);
    print_rungs(a, e);
}

static void print_winner(struct arena *a, const struct store_winner *w) {
    print_line("name", w->kernel_name);
    print_line("config", w->config);
    print_line("text", w->text_hash);
    print_line("time", times(a, &w->us));
    print_line("default", number(a, w->default_us, 3, " us"));
    print_line("speedup", number(a, w->default_us / w->us.median, 3, " over the default"));
    print_line("choice", arena_printf(a, "fastest of %d tried; %d more as fast, within noise",
                                      w->tried, w->tied > 0 ? w->tied - 1 : 0));
    print_evidence(a, w->arch, &w->health, w->run_id, w->created);
}

static void print_program(struct arena *a, const struct store_program *p) {
    print_line("unfused", times(a, &p->eager));
    print_line("default", times(a, &p->dflt));
    print_line("tuned", times(a, &p->tuned));
    print_line("speedup", number(a, p->eager.median / p->tuned.median, 3, " over unfused kernels"));
    print_evidence(a, p->arch, &p->health, p->run_id, p->created);
}

static void print_trials(struct arena *a, const struct store_trial *t, int n) {
    static const char *const names[] = {"config",      "status",   ">median us", ">q1",    ">q3",
                                        ">min",        ">samples", ">regs",      ">spill", ">smem",
                                        ">compile ms", "text",     "message"};
    struct table_out table = new_table(a, names, sizeof names / sizeof *names);
    for (int i = 0; i < n; i++) {
        add_cell(&table, t[i].config);
        add_cell(&table, result_status_name(t[i].status));
        add_cell(&table, number(a, t[i].us.median, 3, ""));
        add_cell(&table, number(a, t[i].us.q1, 3, ""));
        add_cell(&table, number(a, t[i].us.q3, 3, ""));
        add_cell(&table, number(a, t[i].us.min, 3, ""));
        add_cell(&table, arena_printf(a, "%d", t[i].us.n));
        add_cell(&table, known(a, t[i].regs));
        add_cell(&table, known(a, t[i].spill_bytes));
        add_cell(&table, known(a, t[i].smem_bytes));
        add_cell(&table, number(a, t[i].compile_ms, 1, ""));
        add_cell(&table, arena_printf(a, "%.8s", or_dash(t[i].text_hash)));
        add_cell(&table, arena_strndup(a, t[i].message, strcspn(t[i].message, "\n")));
    }
    if (n) printf("\n"), print_table(&table, stdout);
}

static enum ws_status no_such(struct cache *c, int64_t id) {
    return diag_fail(c->d, WS_WRONG, "no entry %" PRId64 " in %s (warpsmith cache ls lists them)",
                     id, store_path(c->store));
}

static enum ws_status show(struct cache *c, int64_t id) {
    struct store_entry e;
    struct store_trial *t;
    struct store_uses u;
    bool found;
    int n;
    if (store_entry(c->store, id, &e, &found, c->d) != WS_OK) return c->d->status;
    if (!found) return no_such(c, id);
    if (store_entry_trials(c->store, id, &t, &n, c->d) != WS_OK ||
        store_get_uses(c->store, id, &u, c->d) != WS_OK)
        return c->d->status;
    print_line("entry", arena_printf(c->arena, "%" PRId64, id));
    print_line("workload", e.graph.workload);
    print_line("mode", e.graph.mode);
    print_line("dtype", e.graph.dtype);
    print_line("axes", e.graph.axes);
#define KEY(name, what) print_line(what, e.key.name);
    STORE_KEYS(KEY)
#undef KEY
    print_line("lookups", uses_text(c->arena, &u));
    if (e.n_rungs)
        print_range(c->arena, &e);
    else if (e.has_winner)
        print_winner(c->arena, &e.winner);
    if (e.has_program) print_program(c->arena, &e.program);
    if (!e.has_winner && !e.has_program) print_line("config", "none yet: tuning was cut short");
    print_trials(c->arena, t, n);
    return WS_OK;
}

/* ---- rm, export, import ---------------------------------------------------------------------- */

static enum ws_status remove_one(struct cache *c, int64_t id) {
    bool found;
    if (store_remove(c->store, id, &found, c->d) != WS_OK) return c->d->status;
    return found ? WS_OK : no_such(c, id);
}

static enum ws_status remove_older(struct cache *c, int64_t before) {
    int n;
    if (store_remove_older(c->store, before, &n, c->d) != WS_OK) return c->d->status;
    fprintf(stderr, "removed %d entr%s\n", n, n == 1 ? "y" : "ies");
    return WS_OK;
}

static enum ws_status export_to(struct cache *c, const char *file) {
    int n;
    if (store_export(c->store, file, &n, c->d) != WS_OK) return c->d->status;
    fprintf(stderr, "wrote %d tuned kernel%s to %s\n", n, n == 1 ? "" : "s", file);
    return WS_OK;
}

static enum ws_status import_from(struct cache *c, const char *file) {
    int n;
    if (store_import(c->store, file, &n, c->d) != WS_OK) return c->d->status;
    fprintf(stderr, "%d tuned kernel%s new or newer in %s\n", n, n == 1 ? "" : "s", file);
    return WS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

enum { SECONDS_A_DAY = 86400, MOST_DAYS = 1000000 };

/* What is asked for: read before the store is touched. */
struct request {
    int64_t number; /* an entry, or the time before which entries are old */
    bool one;       /* of rm: one entry */
};

static enum ws_status read_id(const char *text, int64_t *out, struct diag *d) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && errno == 0) return WS_OK;
    return diag_fail(d, WS_USAGE, "an ID is a number, not '%s'", text);
}

static enum ws_status read_request(const struct command_line *line, struct request *r,
                                   struct diag *d) {
    const char *id = line->operands.n ? line->operands.at[0] : NULL;
    *r = (struct request){0};
    if (line->command == CACHE_SHOW) return read_id(id, &r->number, d);
    if (line->command != CACHE_RM) return WS_OK;
    if ((id != NULL) + line->all + (line->older_than >= 0) != 1)
        return diag_fail(d, WS_USAGE, "it takes one ID, --all or --older-than DAYS");
    r->one = id != NULL;
    if (id) return read_id(id, &r->number, d);
    int64_t days = (int64_t)fmin(line->older_than, MOST_DAYS);
    r->number = line->all ? INT64_MAX : (int64_t)time(NULL) - days * SECONDS_A_DAY;
    return WS_OK;
}

static enum ws_status serve(struct cache *c, const struct command_line *line,
                            const struct request *r) {
    const char *file = line->operands.n ? line->operands.at[0] : NULL;
    switch (line->command) {
    case CACHE_LS: return line->json ? list_json(c) : list(c);
    case CACHE_SHOW: return show(c, r->number);
    case CACHE_RM: return r->one ? remove_one(c, r->number) : remove_older(c, r->number);
    case CACHE_EXPORT: return export_to(c, file);
    case CACHE_IMPORT: return import_from(c, file);
    default: WS_BUG("command %d", (int)line->command);
    }
}

int cache_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct cache c = {a, &d, NULL};
    struct request r;
    const char *note = "";
    enum ws_status status = read_request(line, &r, &d);
    if (status == WS_OK) status = store_open(env_read(a).store_path, a, &d, &c.store, &note);
    fputs(note, stderr);
    if (status == WS_OK) status = serve(&c, line, &r);
    if (status != WS_OK) command_line_fail("cache", &d);
    store_close(c.store);
    arena_free(a);
    return (int)status;
}
