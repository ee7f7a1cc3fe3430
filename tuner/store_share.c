/* store_share.c: list, remove, export and import: what `warpsmith cache` does.
 *
 * An exported file is a store without binaries and facts. Export and import are the same merge: of
 * this store into an empty file, or of a file into this store. Row ids differ from file to file, so
 * rows meet by the texts of their key. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/store_tables.h"

/* ---- listing --------------------------------------------------------------------------------- */

#define NEWEST                                                                                     \
    "max(ifnull((SELECT created FROM winners WHERE key = keys.id), 0), "                           \
    "ifnull((SELECT created FROM programs WHERE key = keys.id), 0), "                              \
    "ifnull((SELECT max(created) FROM trials WHERE key = keys.id), 0))"

#define KEY_OF_ENTRY(name, what) ", keys." #name
#define ENTRY_KEY STORE_KEYS(KEY_OF_ENTRY)
#define SELECT_ENTRY                                                                               \
    "SELECT id, (SELECT count(*) FROM trials WHERE key = keys.id), " NEWEST ENTRY_KEY GRAPH_NAMES  \
    " FROM keys LEFT JOIN graphs USING (graph)"

static struct store_entry take_entry(struct query *q) {
    struct store_entry e = {.id = take_int(q)};
    e.n_trials = (int)take_int(q);
    e.newest = take_int(q);
    take_key(q, &e.key);
    take_fields(q, &graph_fields, &e.graph);
    return e;
}

static void read_records(struct store *s, struct store_entry *e) {
    e->has_winner = store_read_winner(s, e->id, &e->winner);
    e->has_program = store_read_program(s, e->id, &e->program);
    store_read_rungs(s, e->id, &e->rungs, &e->n_rungs);
}

enum ws_status store_entries(struct store *s, struct store_entry **out, int *n, struct diag *d) {
    VEC(struct store_entry) entries = {0};
    struct query q = sql_query(s->sql, SELECT_ENTRY " ORDER BY id");
    while (query_step(&q)) {
        struct store_entry e = take_entry(&q);
        read_records(s, &e);
        vec_push(s->arena, &entries, e);
    }
    *out = entries.at;
    *n = (int)entries.n;
    return query_end(&q) ? WS_OK : store_fail(s, d);
}

enum ws_status store_entry(struct store *s, int64_t id, struct store_entry *out, bool *found,
                           struct diag *d) {
    struct query q = sql_query(s->sql, SELECT_ENTRY " WHERE id = ?");
    put_int(&q, id);
    *found = query_step(&q);
    if (*found) {
        *out = take_entry(&q);
        read_records(s, out);
    }
    return query_end(&q) ? WS_OK : store_fail(s, d);
}

enum ws_status store_entry_trials(struct store *s, int64_t id, struct store_trial **out, int *n,
                                  struct diag *d) {
    store_read_trials(s, "SELECT id" TRIAL_NAMES " FROM trials WHERE key = ? ORDER BY id", id, out,
                      n);
    return sql_fault(s->sql) == SQL_FINE ? WS_OK : store_fail(s, d);
}

/* ---- removing -------------------------------------------------------------------------------- */

static void remove_orphans(struct store *s) {
    sql_run(s->sql, "DELETE FROM graphs WHERE graph NOT IN (SELECT graph FROM keys)");
}

enum ws_status store_remove(struct store *s, int64_t id, bool *found, struct diag *d) {
    sql_begin(s->sql);
    struct query q = sql_query(s->sql, "DELETE FROM keys WHERE id = ?");
    put_int(&q, id);
    query_run(&q);
    *found = sql_changes(s->sql) > 0;
    remove_orphans(s);
    return sql_commit(s->sql) ? WS_OK : store_fail(s, d);
}

enum ws_status store_remove_older(struct store *s, int64_t time, int *n, struct diag *d) {
    sql_begin(s->sql);
    struct query entries = sql_query(s->sql, "DELETE FROM keys WHERE " NEWEST " < ?");
    put_int(&entries, time);
    query_run(&entries);
    *n = (int)sql_changes(s->sql);
    struct query binaries = sql_query(s->sql, "DELETE FROM binaries WHERE created < ?");
    put_int(&binaries, time);
    query_run(&binaries);
    if (time == INT64_MAX) sql_run(s->sql, "DELETE FROM facts");
    remove_orphans(s);
    if (!sql_commit(s->sql)) return store_fail(s, d);
    /* Give the space back. It needs as much again for a moment: without it, the file stays large
     * and its free pages are used again. */
    if (!sql_run(s->sql, "VACUUM")) sql_forgive(s->sql);
    return WS_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* What {words} of a statement stand for. */
struct merging {
    const char *from, *to; /* the files */
    const char *hash;      /* text_hash of a row r; NULL in files that have none */
};

static const char *fill_in(struct store *s, const char *text, const struct merging *m) {
    const struct {
        const char *word, *meaning;
    } words[] = {{"{from}", m->from}, {"{to}", m->to}, {"{hash}", m->hash}};
    enum { N = sizeof words / sizeof *words };
    struct buf b = buf_new(s->arena);
    for (const char *p = text; *p;) {
        int w = 0;
        while (w < N && strncmp(p, words[w].word, strlen(words[w].word)) != 0) w++;
        if (w < N)
            buf_puts(&b, words[w].meaning);
        else
            buf_putc(&b, *p);
        p += w < N ? strlen(words[w].word) : 1;
    }
    return b.p;
}

/* One statement of the merge. */
static int64_t merge_table(struct store *s, const char *text, const struct merging *m) {
    return sql_run(s->sql, fill_in(s, text, m)) ? sql_changes(s->sql) : 0;
}

/* Rows r of a table, with the id t.id that their key has in the other file. */
#define ROWS_OF(table)                                                                             \
    " FROM {from}." table " r JOIN {from}.keys f ON f.id = r.key"                                  \
    " JOIN {to}.keys t USING (" ALL_KEYS ")"
#define FIELD_OF_ROW(kind, column, member) ", r." #column
#define WINNER_ROWS OLD_WINNER_FIELDS(FIELD_OF_ROW) ", {hash}" ROWS_OF("winners")
#define PROGRAM_ROWS OLD_PROGRAM_FIELDS(FIELD_OF_ROW) ", {hash}" ROWS_OF("programs")
#define RUNG_ROWS RUNG_FIELDS(FIELD_OF_ROW) ROWS_OF("rungs")
#define TRIAL_ROWS OLD_TRIAL_FIELDS(FIELD_OF_ROW) ", {hash}" ROWS_OF("trials")

static const char merge_graphs[] = "INSERT OR IGNORE INTO {to}.graphs SELECT * FROM {from}.graphs";
static const char merge_keys[] = "INSERT OR IGNORE INTO {to}.keys (" ALL_KEYS ") SELECT " ALL_KEYS
                                 " FROM {from}.keys ORDER BY id";
/* Of two records for one key the newer stays. */
static const char merge_winners[] =
    "INSERT OR REPLACE INTO {to}.winners SELECT t.id" WINNER_ROWS
    " LEFT JOIN {to}.winners o ON o.key = t.id WHERE o.key IS NULL"
    " OR (o.created, o.run_id, o.config) < (r.created, r.run_id, r.config)";
static const char other_winners[] = "SELECT count(*) " ROWS_OF(
    "winners") " JOIN {to}.winners o ON o.key = t.id AND o.config <> r.config";
static const char merge_programs[] =
    "INSERT OR REPLACE INTO {to}.programs SELECT t.id" PROGRAM_ROWS
    " LEFT JOIN {to}.programs o ON o.key = t.id WHERE o.key IS NULL"
    " OR (o.created, o.run_id) < (r.created, r.run_id)";
static const char merge_trials[] =
    "INSERT INTO {to}.trials SELECT NULL, t.id" TRIAL_ROWS
    " WHERE NOT EXISTS (SELECT 1 FROM {to}.trials o WHERE o.key = t.id AND o.config = r.config "
    "AND o.run_id = r.run_id AND o.created = r.created) ORDER BY r.id";

/* Rungs are those of the winner that stayed: where both files now have the same, its rungs. */
#define SAME_WINNER                                                                                \
    " JOIN {from}.winners n ON n.key = f.id JOIN {to}.winners o ON o.key = t.id AND o.created = "  \
    "n.created AND o.run_id = n.run_id AND o.config = n.config"
static const char forget_rungs[] =
    "DELETE FROM {to}.rungs WHERE key IN (SELECT t.id" ROWS_OF("rungs") SAME_WINNER ")";
static const char merge_rungs[] =
    "INSERT INTO {to}.rungs SELECT NULL, t.id" RUNG_ROWS SAME_WINNER " ORDER BY r.id";

static int64_t version_of(struct store *s, const char *file) {
    struct query q = sql_query(s->sql, arena_printf(s->arena, "PRAGMA %s.user_version", file));
    return query_int(&q);
}

/* Returns how many winners and programs are new or newer. */
static int merge(struct store *s, const char *from, const char *to, int *n_other) {
    int64_t version = version_of(s, from);
    const struct merging m = {from, to, version >= 3 ? "r.text_hash" : "NULL"};
    merge_table(s, merge_graphs, &m);
    merge_table(s, merge_keys, &m);
    struct query other = sql_query(s->sql, fill_in(s, other_winners, &m));
    *n_other = (int)query_int(&other);
    int64_t n = merge_table(s, merge_winners, &m);
    n += merge_table(s, merge_programs, &m);
    merge_table(s, merge_trials, &m);
    if (version < 2) return (int)n;
    merge_table(s, forget_rungs, &m);
    merge_table(s, merge_rungs, &m);
    return (int)n;
}

static bool attach(struct store *s, const char *path) {
    struct query q = sql_query(s->sql, "ATTACH ? AS other");
    put_text(&q, path);
    return query_run(&q);
}

/* Merge with the file at path, already known to be good, in one transaction. */
static bool merge_with(struct store *s, const char *path, bool import, int *n, int *n_other) {
    if (!attach(s, path)) return false;
    sql_begin(s->sql);
    *n = import ? merge(s, "other", "main", n_other) : merge(s, "main", "other", n_other);
    if (import) store_adopt_keys(s->sql);
    bool ok = sql_commit(s->sql);
    const char *message = sql_message(s->sql);
    enum sql_fault fault = sql_fault(s->sql);
    sql_forgive(s->sql);
    sql_run(s->sql, "DETACH other");
    sql_forgive(s->sql);
    if (!ok) sql_blame(s->sql, fault, message);
    return ok;
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* An empty store with its own journal, in one file: portable without a -wal beside it. */
static bool make_empty(const char *path, struct arena *a, const char **message) {
    struct sql *db = sql_open(path, true, a);
    store_prepare_schema(db, a);
    bool ok = sql_fault(db) == SQL_FINE;
    *message = sql_message(db);
    sql_close(db);
    return ok;
}

enum ws_status store_export(struct store *s, const char *path, int *n, struct diag *d) {
    if (is_same_file(path, s->path))
        return diag_fail(d, WS_USAGE, "'%s' is the store itself", path);
    const char *part = arena_printf(s->arena, "%s.part-%ld", path, (long)getpid());
    const char *message = "";
    int n_other;
    unlink(part);
    bool ok = make_empty(part, s->arena, &message);
    if (ok && !merge_with(s, part, false, n, &n_other)) {
        ok = false;
        message = sql_message(s->sql);
        sql_forgive(s->sql);
    }
    if (ok && rename(part, path) != 0) {
        ok = false;
        message = strerror(errno);
    }
    if (ok) return WS_OK;
    unlink(part);
    return diag_fail(d, WS_MACHINE, "cannot export to '%s': %s", path, message);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* The whole file is read before anything of it is believed. */
static enum ws_status check_import(const char *path, struct arena *a, struct diag *d) {
    struct stat st;
    if (stat(path, &st) != 0)
        return diag_fail(d, WS_USAGE, "cannot import '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return diag_fail(d, WS_WRONG, "cannot import '%s': is not an exported store", path);
    struct sql *db = sql_open(path, false, a);
    store_check_schema(db, a);
    struct query q = sql_query(db, "PRAGMA quick_check");
    if (query_step(&q) && strcmp(take_text(&q), "ok") != 0)
        sql_blame(db, SQL_DAMAGED, "is damaged");
    query_end(&q);
    if (sql_fault(db) != SQL_FINE)
        diag_fail(d, WS_WRONG, "cannot import '%s': %s", path, sql_message(db));
    bool ok = sql_fault(db) == SQL_FINE;
    sql_close(db);
    return ok ? WS_OK : WS_WRONG;
}

enum ws_status store_merge(struct store *s, const char *path, int *n, int *n_other,
                           struct diag *d) {
    *n = *n_other = 0;
    enum ws_status status = check_import(path, s->arena, d);
    if (status != WS_OK) return status;
    if (is_same_file(path, s->path)) return WS_OK;
    return merge_with(s, path, true, n, n_other) ? WS_OK : store_fail(s, d);
}

enum ws_status store_import(struct store *s, const char *path, int *n, struct diag *d) {
    int n_other;
    return store_merge(s, path, n, &n_other, d);
}
