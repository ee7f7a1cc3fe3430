/* store.c: open the store; look up and write winners, programs and trials.
 *
 * Every call is one statement or one transaction, and reports a failure once: the connection
 * remembers the first (sql.h), store_fail turns it into a diag. */
#include "tuner/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tuner/store_tables.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* Folders of a path, "a/b/c.db" -> a, a/b. What exists may be a folder of someone else's, where
 * mkdir says "permission denied" or "read-only" first. False with errno set. */
static bool make_folders(struct arena *a, const char *path) {
    char *p = arena_strdup(a, path);
    for (char *slash = strchr(p + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (access(p, F_OK) != 0 && mkdir(p, 0700) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    return true;
}

static const char *join(struct arena *a, const char *text, const char *suffix) {
    return arena_printf(a, "%s%s", text, suffix);
}

/* Binaries carry a checksum of their own and may be large: they are read only if a call has met
 * damage since the last start, which left the mark PATH.suspect. */
static void check_pages(struct sql *db, const char *path, struct arena *a) {
    static const char *const some[] = {"(graphs)", "(keys)",  "(winners)", "(programs)",
                                       "(trials)", "(facts)", "(rungs)",   "(uses)"};
    static const char *const all[] = {""};
    const char *suspect = join(a, path, ".suspect");
    bool check_all = access(suspect, F_OK) == 0;
    const char *const *what = check_all ? all : some;
    int n = check_all ? 1 : (int)(sizeof some / sizeof *some);
    for (int i = 0; i < n; i++) {
        struct query q = sql_query(db, arena_printf(a, "PRAGMA quick_check%s", what[i]));
        if (query_step(&q) && strcmp(take_text(&q), "ok") != 0)
            sql_blame(db, SQL_DAMAGED, "is damaged");
        query_end(&q);
    }
    if (check_all && sql_fault(db) == SQL_FINE) unlink(suspect);
}

/* WAL: readers do not wait for a writer, and a commit is one write. synchronous NORMAL: a killed
 * process loses nothing, a power cut at most the last commits, never the file. */
static struct sql *connect(const char *path, struct arena *a) {
    store_make_file(path);
    struct sql *db = sql_open(path, true, a);
    struct query q = sql_query(db, "PRAGMA journal_mode = WAL");
    query_run(&q);
    sql_run(db, "PRAGMA synchronous = NORMAL");
    store_prepare_schema(db, a);
    check_pages(db, path, a);
    return db;
}

static void move(struct arena *a, const char *from, const char *to, const char *suffix) {
    rename(join(a, from, suffix), join(a, to, suffix));
}

/* Rename the file and its journals to the first free PATH.damaged-N. A journal left behind would be
 * replayed into the new file. */
static const char *set_aside(struct arena *a, const char *path) {
    const char *to = NULL;
    struct stat st;
    for (int n = 1; !to || lstat(to, &st) == 0; n++) to = arena_printf(a, "%s.damaged-%d", path, n);
    if (rename(path, to) != 0) return NULL;
    move(a, path, to, "-wal");
    move(a, path, to, "-journal");
    unlink(join(a, path, "-shm"));
    unlink(join(a, path, ".suspect"));
    return to;
}

static struct sql *connect_or_replace(const char *path, struct arena *a, const char **note) {
    struct sql *db = connect(path, a);
    if (sql_fault(db) != SQL_DAMAGED) return db;
    const char *message = sql_message(db);
    sql_close(db);
    const char *to = set_aside(a, path);
    if (to)
        *note = arena_printf(a, "%sstore: '%s' %s; moved to '%s' and a new one made\n", *note, path,
                             message, to);
    return connect(path, a);
}

/* SQLite takes a journal that cannot be made for one that is not there. */
static const char *why_not_opened(const char *path, const struct sql *db, struct arena *a) {
    struct statvfs fs;
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? arena_strndup(a, path, (size_t)(slash - path + 1)) : ".";
    bool read_only = statvfs(folder, &fs) == 0 && fs.f_flag & ST_RDONLY;
    return read_only ? "is on a read-only file system" : sql_message(db);
}

static enum ws_status refuse(struct diag *d, const char *path, const char *why) {
    return diag_fail(d, WS_MACHINE, "store '%s': %s (WARPSMITH_CACHE names another place)", path,
                     why);
}

/* One at a time: SQLite does not wait its turn to switch to WAL, and of two that meet the same
 * damage the second must find the new file. Where no lock can be had, nothing can be written. */
static enum ws_status open_alone(struct store *s, const char **note, struct diag *d) {
    struct store_claim claim;
    claim_file(join(s->arena, s->path, ".lock-open"), true, &claim);
    s->sql = connect_or_replace(s->path, s->arena, note);
    const char *why = NULL;
    if (sql_fault(s->sql) != SQL_FINE) why = why_not_opened(s->path, s->sql, s->arena);
    if (!why) why = store_open_key(s->arena, s->path, &s->secret);
    if (!why) claim_sweep(s->arena, s->path);
    store_tune_end(&claim);
    if (!why) return WS_OK;
    sql_close(s->sql);
    return refuse(d, s->path, why);
}

enum ws_status store_open(const char *path, struct arena *a, struct diag *d, struct store **out,
                          const char **note) {
    *note = "";
    *out = NULL;
    struct stat st;
    if (!make_folders(a, path))
        return diag_fail(d, WS_MACHINE, "store '%s': cannot make its folder: %s", path,
                         strerror(errno));
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return diag_fail(d, WS_MACHINE, "store '%s': is a folder", path);
    struct store *s = NEW(a, struct store);
    *s = (struct store){
        .arena = a, .path = path_resolve(path, a), .binary_bytes = STORE_BINARY_BYTES};
    if (!s->path) return refuse(d, path, strerror(errno));
    const char *why = store_guard(a, s->path, note);
    if (why) return refuse(d, path, arena_printf(a, "%s: what is stored may be anybody's", why));
    if (open_alone(s, note, d) != WS_OK) return d->status;
    *out = s;
    return WS_OK;
}

void store_close(struct store *s) {
    if (s) sql_close(s->sql);
}

const char *store_path(const struct store *s) { return s->path; }

enum ws_status store_fail(struct store *s, struct diag *d) {
    if (sql_fault(s->sql) == SQL_DAMAGED) {
        int fd = open(join(s->arena, s->path, ".suspect"),
                      O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0) close(fd);
    }
    diag_fail(d, WS_MACHINE, "store '%s': %s", s->path, sql_message(s->sql));
    sql_forgive(s->sql);
    return WS_MACHINE;
}

static enum ws_status finish(struct store *s, struct diag *d) {
    return sql_fault(s->sql) == SQL_FINE ? WS_OK : store_fail(s, d);
}

/* ---- keys and graphs ------------------------------------------------------------------------- */

static int64_t find_key(struct store *s, const struct store_key *k) {
    struct query q = sql_query(s->sql, "SELECT id FROM keys WHERE graph = ? AND kernel = ? AND "
                                       "guard = ? AND device = ? AND driver = ? AND toolchain = ? "
                                       "AND " NO_GENERATOR);
    put_key(&q, k);
    return query_int(&q);
}

int64_t store_make_key(struct store *s, const struct store_key *k) {
    int64_t id = find_key(s, k);
    if (id) return id;
    struct query q = sql_query(s->sql, "INSERT INTO keys VALUES (NULL" KEY_MARKS ", '')");
    put_key(&q, k);
    query_run(&q);
    return find_key(s, k);
}

void store_put_graph(struct store *s, const char *insert, const char *hash,
                     const struct store_graph *g) {
    if (!g) return;
    struct query q =
        sql_query(s->sql, join(s->arena, insert, " INTO graphs VALUES (?" GRAPH_MARKS ")"));
    put_text(&q, hash);
    put_fields(&q, &graph_fields, g);
    query_run(&q);
}

/* ---- why a lookup missed --------------------------------------------------------------------- */

void store_say_difference(struct buf *b, const char *what, const char *was, const char *is) {
    if (strcmp(was, is) == 0) return;
    buf_printf(b, "%s%s changed: %s -> %s", b->n ? ", " : "", what, *was ? was : "none",
               *is ? is : "none");
}

/* The nearest key of the same graph and kernel in `table`: fewest differences, then the newest. */
static const char *why_missed(struct store *s, const char *table, const struct store_key *k) {
    struct query q = sql_query(
        s->sql,
        arena_printf(s->arena,
                     "SELECT " KEY_NAMES " FROM keys JOIN %s ON %s.key = keys.id WHERE graph = ? "
                     "AND kernel = ? AND " NO_GENERATOR " ORDER BY (guard <> ?) + (device <> ?) + "
                     "(driver <> ?) + (toolchain <> ?), created DESC, id LIMIT 1",
                     table, table));
    put_key(&q, k);
    struct buf b = buf_new(s->arena);
    if (query_step(&q)) {
        struct store_key was;
        take_key(&q, &was);
#define KEY(name, what) store_say_difference(&b, what, was.name, k->name);
        STORE_KEYS(KEY)
#undef KEY
    }
    query_end(&q);
    return b.n ? b.p : "never tuned";
}

static const char *why_unfinished(struct store *s, int64_t key) {
    struct query q = sql_query(s->sql, "SELECT count(*) FROM trials WHERE key = ?");
    put_int(&q, key);
    int64_t n = query_int(&q);
    return n ? arena_printf(s->arena, "tuning was cut short after %lld trial%s", (long long)n,
                            n == 1 ? "" : "s")
             : NULL;
}

/* ---- winners and programs -------------------------------------------------------------------- */

static bool read_record(struct store *s, const char *select, int64_t key, const struct fields *f,
                        void *out) {
    struct query q = sql_query(s->sql, select);
    put_int(&q, key);
    bool found = query_step(&q);
    if (found) {
        take_int(&q); /* the key */
        found = take_fields(&q, f, out);
    }
    return query_end(&q) && found;
}

bool store_read_winner(struct store *s, int64_t key, struct store_winner *out) {
    return read_record(s, "SELECT key" WINNER_NAMES " FROM winners WHERE key = ?", key,
                       &winner_fields, out);
}

bool store_read_program(struct store *s, int64_t key, struct store_program *out) {
    return read_record(s, "SELECT key" PROGRAM_NAMES " FROM programs WHERE key = ?", key,
                       &program_fields, out);
}

enum ws_status store_lookup(struct store *s, const struct store_key *k, struct store_winner *out,
                            bool *found, const char **why, struct diag *d) {
    int64_t key = find_key(s, k);
    *found = store_read_winner(s, key, out);
    if (!*found && why) {
        *why = why_unfinished(s, key);
        if (!*why) *why = why_missed(s, "winners", k);
    }
    return finish(s, d);
}

enum ws_status store_lookup_program(struct store *s, const struct store_key *k,
                                    struct store_program *out, bool *found, const char **why,
                                    struct diag *d) {
    *found = store_read_program(s, find_key(s, k), out);
    if (!*found && why) *why = why_missed(s, "programs", k);
    return finish(s, d);
}

/* One row that belongs to a key, made with it. */
static enum ws_status put_record(struct store *s, const char *insert, const struct store_key *k,
                                 const char *graph_insert, const struct store_graph *g,
                                 const struct fields *f, const void *record, struct diag *d) {
    sql_begin(s->sql);
    int64_t key = store_make_key(s, k);
    store_put_graph(s, graph_insert, k->graph, g);
    struct query q = sql_query(s->sql, insert);
    put_int(&q, key);
    put_fields(&q, f, record);
    query_run(&q);
    return sql_commit(s->sql) ? WS_OK : store_fail(s, d);
}

enum ws_status store_put_winner(struct store *s, const struct store_key *k,
                                const struct store_graph *g, const struct store_winner *w,
                                struct diag *d) {
    return put_record(s, "INSERT OR REPLACE INTO winners VALUES (?" WINNER_MARKS ")", k,
                      "INSERT OR REPLACE", g, &winner_fields, w, d);
}

enum ws_status store_drop_winner(struct store *s, const struct store_key *k, struct diag *d) {
    struct query q = sql_query(s->sql, "DELETE FROM winners WHERE key = ?");
    put_int(&q, find_key(s, k));
    query_run(&q);
    return finish(s, d);
}

enum ws_status store_put_program(struct store *s, const struct store_key *k,
                                 const struct store_graph *g, const struct store_program *p,
                                 struct diag *d) {
    return put_record(s, "INSERT OR REPLACE INTO programs VALUES (?" PROGRAM_MARKS ")", k,
                      "INSERT OR REPLACE", g, &program_fields, p, d);
}

/* ---- trials ---------------------------------------------------------------------------------- */

enum ws_status store_add_trial(struct store *s, const struct store_key *k,
                               const struct store_graph *g, const struct store_trial *t,
                               struct diag *d) {
    return put_record(s, "INSERT INTO trials VALUES (NULL, ?" TRIAL_MARKS ")", k,
                      "INSERT OR IGNORE", g, &trial_fields, t, d);
}

void store_read_trials(struct store *s, const char *select, int64_t key, struct store_trial **out,
                       int *n) {
    VEC(struct store_trial) trials = {0};
    struct query q = sql_query(s->sql, select);
    put_int(&q, key);
    while (query_step(&q)) {
        struct store_trial t;
        take_int(&q); /* the id */
        if (take_fields(&q, &trial_fields, &t)) vec_push(s->arena, &trials, t);
    }
    query_end(&q);
    *out = trials.at;
    *n = (int)trials.n;
}

enum ws_status store_trials(struct store *s, const struct store_key *k, struct store_trial **out,
                            int *n, struct diag *d) {
    store_read_trials(s,
                      "SELECT id" TRIAL_NAMES " FROM trials WHERE id IN (SELECT "
                      "max(id) FROM trials WHERE key = ? GROUP BY config) ORDER BY id",
                      find_key(s, k), out, n);
    return finish(s, d);
}
