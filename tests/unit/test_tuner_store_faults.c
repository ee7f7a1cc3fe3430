/* test_tuner_store_faults.c: the store when processes are killed, race, and when files are damaged,
 * foreign, read-only or the disk is full. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/sql.h"
#include "tuner/store.h"
#include "tuner/store_tables.h"

struct fixture {
    struct arena *arena;
    const char *folder, *path;
};

static int set_up(void **state) {
    struct arena *a = arena_new();
    struct fixture *f = NEW(a, struct fixture);
    char *folder = arena_strdup(a, "/tmp/test_tuner_store.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    *f = (struct fixture){a, folder, arena_printf(a, "%s/store.db", folder)};
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    int rc = system(arena_printf(f->arena, "rm -rf %s", f->folder));
    arena_free(f->arena);
    return rc;
}

static const struct store_key key = {
    "00000000000000aa", "00000000000000bb", "", "cpu", "Linux 6", "cc 12"};
static const struct store_graph graph = {"graph(x)\n", "softmax", "fwd", "f32", "rows=4096"};

static struct store_trial trial(const char *config) {
    return (struct store_trial){.config = config,
                                .status = STATUS_ok,
                                .us = {30, 10, 9, 11, 8, 9.5, 10.5},
                                .compile_ms = NAN,
                                .run_id = "r1"};
}

static struct store *open_store(struct fixture *f, const char **note) {
    struct diag d = diag_new(f->arena);
    struct store *s;
    if (store_open(f->path, f->arena, &d, &s, note) != WS_OK) fail_msg("%s", d.text);
    return s;
}

static enum ws_status put(struct fixture *f, struct store *s, const char *config, struct diag *d) {
    struct store_winner w = {
        .config = config, .us = {30, 10, 9, 11, 8, 9.5, 10.5}, .default_us = NAN};
    return store_put_winner(s, &key, &graph, &w, d);
}

static const char *winner_of(struct fixture *f, struct store *s) {
    struct diag d = diag_new(f->arena);
    struct store_winner w;
    bool found;
    if (store_lookup(s, &key, &w, &found, NULL, &d) != WS_OK) fail_msg("%s", d.text);
    return found ? w.config : "none";
}

static const char *pragma(struct fixture *f, const char *text) {
    struct sql *db = sql_open(f->path, false, f->arena);
    struct query q = sql_query(db, text);
    const char *s = query_step(&q) ? take_text(&q) : sql_message(db);
    query_end(&q);
    sql_close(db);
    return s;
}

static void write_at(const char *path, long offset, const void *p, size_t n) {
    FILE *out = fopen(path, offset < 0 ? "w" : "r+");
    assert_non_null(out);
    if (offset > 0) fseek(out, offset, SEEK_SET);
    assert_int_equal(fwrite(p, 1, n, out), n);
    fclose(out);
}

static void expect_open_fails(struct fixture *f, const char *path, const char *text) {
    struct diag d = diag_new(f->arena);
    struct store *s;
    const char *note;
    assert_int_equal(store_open(path, f->arena, &d, &s, &note), WS_MACHINE);
    assert_null(s);
    if (!strstr(d.text, text)) fail_msg("expected '%s' in: %s", text, d.text);
}

/* ---- kills and races ------------------------------------------------------------------------- */

/* Adds trials 0, 1, ... and winners without end; says each number after it was committed. */
static void write_until_killed(struct fixture *f, int start, int out) {
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    for (int i = start;; i++) {
        struct store_trial t = trial(arena_printf(f->arena, "x=%d", i));
        if (store_add_trial(s, &key, &graph, &t, &d) != WS_OK) _exit(1);
        if (write(out, &i, sizeof i) != sizeof i) _exit(1);
        if (i % 3 == 0 && put(f, s, t.config, &d) != WS_OK) _exit(1);
        if (i % 50 == 0) store_close(s), s = open_store(f, &note);
    }
}

static void test_kill_at_any_moment(void **state) {
    struct fixture *f = *state;
    int next = 0;
    for (int round = 0; round < 30; round++) {
        int ends[2], last = next - 1, seen;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) write_until_killed(f, next, ends[1]);
        close(ends[1]);
        /* At least one commit, then some moment. */
        if (read(ends[0], &seen, sizeof seen) == sizeof seen) last = seen;
        usleep((useconds_t)(round * 997 % 20000));
        kill(child, SIGKILL);
        while (read(ends[0], &seen, sizeof seen) == sizeof seen) last = seen;
        close(ends[0]);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));

        const char *note;
        struct store *s = open_store(f, &note);
        struct store_trial *t;
        struct diag d = diag_new(f->arena);
        int n;
        assert_string_equal(note, "");
        assert_int_equal(store_trials(s, &key, &t, &n, &d), WS_OK);
        /* Everything that was committed, and at most the trial in flight. */
        assert_in_range(n, last + 1, last + 2);
        for (int i = 0; i < n; i++) assert_int_equal(atoi(t[i].config + 2), i);
        next = n;
        store_close(s);
    }
    assert_string_equal(pragma(f, "PRAGMA integrity_check"), "ok");
}

/* Of a new file, and of a damaged one: which is set aside once. */
static void expect_many_openers(struct fixture *f) {
    enum { N = 8 };
    pid_t child[N];
    int failed = 0;
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            struct diag d = diag_new(f->arena);
            struct store *s;
            const char *note;
            if (store_open(f->path, f->arena, &d, &s, &note) != WS_OK) {
                fputs(d.text, stderr);
                _exit(1);
            }
            struct store_trial t = trial(arena_printf(f->arena, "x=%d", i));
            for (int k = 0; k < 10; k++)
                if (store_add_trial(s, &key, &graph, &t, &d) != WS_OK) _exit(1);
            store_close(s);
            _exit(0);
        }
    }
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(child[i], &status, 0);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    assert_string_equal(pragma(f, "SELECT count(*) FROM trials"), "80");
}

static void test_many_openers_at_once(void **state) {
    struct fixture *f = *state;
    expect_many_openers(f);
    write_at(f->path, -1, "this is no database, but a text of more than 16 bytes\n", 53);
    expect_many_openers(f);
    assert_int_equal(access(arena_printf(f->arena, "%s.damaged-1", f->path), F_OK), 0);
    assert_int_equal(access(arena_printf(f->arena, "%s.damaged-2", f->path), F_OK), -1);
}

/* A lock that cannot be opened is a failure, and no claim. */
static void test_no_lock(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct store_claim claim;
    struct diag d = diag_new(f->arena);
    assert_int_equal(store_tune_begin(s, &key, false, &claim, &d), WS_OK);
    const char *path = claim.path;
    store_tune_end(&claim);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(store_tune_begin(s, &key, false, &claim, &d), WS_MACHINE);
    assert_false(claim.held);
    if (!strstr(d.text, "cannot lock")) fail_msg("it says: %s", d.text);
    assert_int_equal(rmdir(path), 0);
    store_close(s);
}

/* The first to claim tunes; the second is told, waits, and finds the winner. */
static void test_second_tuner_waits(void **state) {
    struct fixture *f = *state;
    int ready[2], told[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    const char *note;
    struct store *s = open_store(f, &note);
    struct store_claim claim;
    struct diag d = diag_new(f->arena);
    if (child == 0) {
        if (store_tune_begin(s, &key, false, &claim, &d) != WS_OK || !claim.held) _exit(1);
        if (write(ready[1], "x", 1) != 1 || read(told[0], &byte, 1) != 1) _exit(1);
        usleep(100000); /* the other one should be waiting by now; if not, that is right, too */
        if (put(f, s, "x=7", &d) != WS_OK) _exit(1);
        store_tune_end(&claim);
        store_close(s);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(store_tune_begin(s, &key, false, &claim, &d), WS_OK);
    assert_false(claim.held);
    assert_int_equal(write(told[1], "x", 1), 1);
    assert_int_equal(store_tune_begin(s, &key, true, &claim, &d), WS_OK);
    assert_true(claim.held);
    assert_string_equal(winner_of(f, s), "x=7");
    const char *path = claim.path;
    store_tune_end(&claim);
    struct store_claim next;
    assert_int_equal(store_tune_begin(s, &key, false, &next, &d), WS_OK);
    store_tune_end(&claim); /* harmless, whoever has it by now */
    assert_true(next.held && access(next.path, F_OK) == 0 && fcntl(next.fd, F_GETFD) >= 0);
    store_tune_end(&next);
    assert_int_equal(access(path, F_OK), -1);
    store_close(s);
    close(ready[0]);
    close(ready[1]);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_killed_tuner_lets_go(void **state) {
    struct fixture *f = *state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    const char *note;
    struct store *s = open_store(f, &note);
    struct store_claim claim, other;
    struct diag d = diag_new(f->arena);
    if (child == 0) {
        if (store_tune_begin(s, &key, true, &claim, &d) != WS_OK) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(store_tune_begin(s, &key, false, &claim, &d), WS_OK);
    assert_true(claim.held);
    /* Another key is nobody's business. */
    struct store_key k = key;
    k.driver = "Linux 7";
    assert_int_equal(store_tune_begin(s, &k, false, &other, &d), WS_OK);
    assert_true(other.held);
    store_tune_end(&other);
    store_tune_end(&claim);
    store_close(s);
    close(ready[0]);
    close(ready[1]);
}

/* Many processes take turns in the same place: never two at once. */
static void test_claims_exclude(void **state) {
    struct fixture *f = *state;
    enum { N = 4, TURNS = 50 };
    const char *inside = arena_printf(f->arena, "%s/inside", f->folder), *note;
    pid_t child[N];
    for (int i = 0; i < N; i++) {
        child[i] = fork();
        if (child[i] != 0) continue;
        struct store *s = open_store(f, &note);
        struct diag d = diag_new(f->arena);
        for (int k = 0; k < TURNS; k++) {
            struct store_claim claim;
            if (store_tune_begin(s, &key, true, &claim, &d) != WS_OK || !claim.held) _exit(1);
            int fd = open(inside, O_CREAT | O_EXCL, 0600);
            if (fd < 0 || close(fd) != 0 || unlink(inside) != 0) _exit(2);
            store_tune_end(&claim);
        }
        _exit(0);
    }
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(child[i], &status, 0);
        assert_int_equal(status, 0);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void expect_set_aside(struct fixture *f, int number) {
    const char *note, *to = arena_printf(f->arena, "%s.damaged-%d", f->path, number);
    struct store *s = open_store(f, &note);
    if (!strstr(note, to)) fail_msg("expected '%s' in: '%s'", to, note);
    assert_int_equal(access(to, F_OK), 0);
    struct diag d = diag_new(f->arena);
    assert_string_equal(winner_of(f, s), "none");
    assert_int_equal(put(f, s, "x=1", &d), WS_OK);
    store_close(s);
    s = open_store(f, &note);
    assert_string_equal(note, "");
    assert_string_equal(winner_of(f, s), "x=1");
    store_close(s);
}

static void test_no_database_is_set_aside(void **state) {
    struct fixture *f = *state;
    for (int i = 1; i <= 2; i++) {
        write_at(f->path, -1, "this is no database, but a text of more than 16 bytes\n", 53);
        expect_set_aside(f, i);
    }
}

static void test_damaged_tables_are_set_aside(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    for (int i = 0; i < 500; i++) {
        struct store_trial t = trial(arena_printf(f->arena, "x=%d", i));
        assert_int_equal(store_add_trial(s, &key, &graph, &t, &d), WS_OK);
    }
    store_close(s);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    char junk[4096];
    memset(junk, 0xa5, sizeof junk);
    for (long at = 4096 * 6; at + 4096 <= st.st_size; at += 4096)
        write_at(f->path, at, junk, sizeof junk);
    expect_set_aside(f, 1);
}

static void test_truncated_file_is_set_aside(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    store_close(s);
    assert_int_equal(truncate(f->path, 5000), 0);
    expect_set_aside(f, 1);
}

/* Damage where the start does not look is met by a call, which fails; the next start looks
 * everywhere. */
static void test_damage_met_later(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    static char bytes[200000], junk[4096];
    memset(bytes, 'b', sizeof bytes);
    memset(junk, 0xa5, sizeof junk);
    struct store_binary b = {bytes, sizeof bytes, "", 1}, got;
    struct stat before, after;
    assert_int_equal(stat(f->path, &before), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(store_put_binary(s, arena_printf(f->arena, "%d", i), &b, &d), WS_OK);
    store_close(s);
    assert_int_equal(stat(f->path, &after), 0);
    /* The chains of pages that hold the bytes begin with the number of the next page. */
    for (long at = 4096 * 40; at + 4096 <= after.st_size; at += 4096)
        write_at(f->path, at, junk, sizeof junk);
    s = open_store(f, &note);
    assert_string_equal(note, "");
    bool found;
    enum ws_status status = WS_OK;
    for (int i = 0; i < 100 && status == WS_OK; i++) {
        status = store_get_binary(s, arena_printf(f->arena, "%d", i), &got, &found, &d);
        if (status == WS_OK && found) assert_memory_equal(got.bytes, bytes, sizeof bytes);
    }
    assert_int_equal(status, WS_MACHINE);
    assert_non_null(strstr(d.text, "damaged"));
    store_close(s);
    expect_set_aside(f, 1);
}

static void test_changed_binary_is_a_miss(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    struct store_binary b = {"0123456789", 10, "", 1}, got;
    bool found;
    assert_int_equal(store_put_binary(s, "k", &b, &d), WS_OK);
    struct sql *db = sql_open(f->path, false, f->arena);
    assert_true(sql_run(db, "UPDATE binaries SET bytes = x'00'"));
    sql_close(db);
    assert_int_equal(store_get_binary(s, "k", &got, &found, &d), WS_OK);
    assert_false(found);
    store_close(s);
}

/* ---- files that are not ours, places that cannot be written ---------------------------------- */

static void test_foreign_database(void **state) {
    struct fixture *f = *state;
    struct sql *db = sql_open(f->path, true, f->arena);
    assert_true(sql_run(db, "CREATE TABLE bookmarks (url TEXT)"));
    sql_close(db);
    expect_open_fails(f, f->path, "another program");
    assert_string_equal(pragma(f, "SELECT name FROM sqlite_schema"), "bookmarks");
}

static void test_newer_version(void **state) {
    struct fixture *f = *state;
    const char *note;
    store_close(open_store(f, &note));
    assert_string_not_equal(pragma(f, "PRAGMA user_version"), "99");
    pragma(f, "PRAGMA user_version = 99");
    expect_open_fails(f, f->path, "newer warpsmith (schema 99");
    assert_string_equal(pragma(f, "PRAGMA user_version"), "99");
}

static void change(struct fixture *f, const char *text) {
    struct sql *db = sql_open(f->path, false, f->arena);
    if (!sql_run(db, text)) fail_msg("%s: %s", text, sql_message(db));
    sql_close(db);
}

/* Version 1, and the tables of version 3: as wanted, they are taken over; with other columns, the
 * file is set aside, and is not changed before. */
static void test_tables_newer_than_the_version(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    assert_int_equal(put(f, s, "x=1", &d), WS_OK);
    store_close(s);
    pragma(f, "PRAGMA user_version = 1");
    s = open_store(f, &note);
    assert_string_equal(note, "");
    assert_string_equal(winner_of(f, s), "x=1");
    store_close(s);
    assert_string_equal(pragma(f, "PRAGMA user_version"), "3");
    pragma(f, "PRAGMA user_version = 1");
    change(f, "DROP TABLE rungs");
    change(f, "CREATE TABLE rungs (id INTEGER PRIMARY KEY, something TEXT)");
    expect_set_aside(f, 1);
    f->path = arena_printf(f->arena, "%s.damaged-1", f->path);
    assert_string_equal(pragma(f, "PRAGMA user_version"), "1");
}

static void test_other_columns_are_set_aside(void **state) {
    struct fixture *f = *state;
    static const char *const changes[] = {
        "ALTER TABLE trials RENAME COLUMN config TO setting",
        "ALTER TABLE trials ADD COLUMN more TEXT",
        "ALTER TABLE uses DROP COLUMN nearest",
        "DROP TABLE facts",
        "DROP TABLE keys",
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN DELETE FROM trials; END",
        "DROP TABLE facts; CREATE VIEW facts AS SELECT 1 AS key, 2 AS value, 3 AS created",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = -1",
    };
    const char *note;
    store_close(open_store(f, &note));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change(f, changes[i]);
        expect_set_aside(f, (int)i + 1);
    }
}

/* ---- whose it is ----------------------------------------------------------------------------- */

static unsigned mode_of(struct fixture *f, const char *suffix) {
    struct stat st;
    const char *path = arena_printf(f->arena, "%s%s", f->path, suffix);
    if (lstat(path, &st) != 0) fail_msg("no %s", path);
    return st.st_mode & 07777;
}

static void test_new_stores_are_private(void **state) {
    struct fixture *f = *state;
    const char *note;
    f->path = arena_printf(f->arena, "%s/a/b/store.db", f->folder);
    mode_t before = umask(0);
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    assert_int_equal(put(f, s, "x=1", &d), WS_OK);
    umask(before);
    assert_int_equal(mode_of(f, ""), 0600);
    assert_int_equal(mode_of(f, "-wal"), 0600);
    assert_int_equal(mode_of(f, "-shm"), 0600);
    assert_int_equal(mode_of(f, ".key"), 0600);
    store_close(s);
    f->path = arena_printf(f->arena, "%s/a/b", f->folder);
    assert_int_equal(mode_of(f, ""), 0700);
}

static bool has_binary(struct fixture *f, struct store *s, const char *name) {
    struct diag d = diag_new(f->arena);
    struct store_binary got;
    bool found;
    if (store_get_binary(s, name, &got, &found, &d) != WS_OK) fail_msg("%s", d.text);
    return found;
}

/* Closed again; what others could write was said; no binary is believed if they could know the
 * key. */
static void test_loose_modes_are_tightened(void **state) {
    struct fixture *f = *state;
    const char *note, *key = arena_printf(f->arena, "%s.key", f->path);
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    struct store_binary b = {"0123456789", 10, "", 1};
    assert_int_equal(store_put_binary(s, "k", &b, &d), WS_OK);
    store_close(s);
    assert_int_equal(chmod(f->path, 0644), 0);
    s = open_store(f, &note);
    assert_string_equal(note, "");
    assert_int_equal(mode_of(f, ""), 0600);
    assert_true(has_binary(f, s, "k"));
    store_close(s);
    assert_int_equal(chmod(f->path, 0666), 0);
    s = open_store(f, &note);
    assert_non_null(strstr(note, "could be written by others"));
    assert_int_equal(mode_of(f, ""), 0600);
    assert_true(has_binary(f, s, "k"));
    store_close(s);
    assert_int_equal(chmod(key, 0640), 0);
    s = open_store(f, &note);
    assert_int_equal(mode_of(f, ".key"), 0600);
    assert_false(has_binary(f, s, "k"));
    store_close(s);
}

/* A binary with a sum that fits it, of another key, or of another name. */
static void test_planted_binaries_are_misses(void **state) {
    struct fixture *f = *state;
    const char *note, *mine = f->path;
    struct diag d = diag_new(f->arena);
    struct store_binary b = {"\177ELF planted", 12, "", 1};
    f->path = arena_printf(f->arena, "%s/theirs/store.db", f->folder);
    struct store *s = open_store(f, &note);
    assert_int_equal(store_put_binary(s, "wanted", &b, &d), WS_OK);
    assert_int_equal(store_put_binary(s, "other", &b, &d), WS_OK);
    store_close(s);
    assert_int_equal(rename(f->path, mine), 0);
    f->path = mine;
    s = open_store(f, &note);
    assert_false(has_binary(f, s, "wanted"));
    assert_int_equal(store_put_binary(s, "other", &b, &d), WS_OK);
    store_close(s);
    change(f, "DELETE FROM binaries WHERE key = 'wanted'");
    change(f, "UPDATE binaries SET key = 'wanted' WHERE key = 'other'");
    s = open_store(f, &note);
    assert_false(has_binary(f, s, "wanted"));
    store_close(s);
}

static void test_places_of_others_are_refused(void **state) {
    struct fixture *f = *state;
    const char *note;
    store_close(open_store(f, &note));
    assert_int_equal(chmod(f->folder, 0777), 0);
    expect_open_fails(f, f->path, "can be written by others");
    assert_int_equal(chmod(f->folder, 01777), 0); /* as /tmp: nobody can replace the file */
    store_close(open_store(f, &note));
    const char *link = arena_printf(f->arena, "%s/link.db", f->folder);
    assert_int_equal(symlink("/nowhere/store.db", link), 0);
    expect_open_fails(f, link, "no plain file");
    if (geteuid() != 0) return;
    const char *const files[] = {"", ".key", "-wal"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = arena_printf(f->arena, "%s%s", f->path, files[i]);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        close(fd);
        assert_int_equal(chown(path, 1234, 1234), 0);
        expect_open_fails(f, f->path, "belongs to another user (1234)");
        assert_int_equal(chown(path, 0, 0), 0);
        if (i == 2) unlink(path);
    }
    store_close(open_store(f, &note));
    assert_int_equal(chown(f->folder, 1234, 1234), 0);
    expect_open_fails(f, f->path, "belongs to another user (1234)");
    assert_int_equal(chown(f->folder, 0, 0), 0);
}

/* Vectors of the paper: the key and the message are 00 01 02 ... */
static void test_keyed_sums(void **state) {
    static const uint64_t want[] = {0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a};
    struct store_secret secret;
    unsigned char message[15];
    (void)state;
    for (unsigned i = 0; i < 16; i++) secret.bytes[i] = (unsigned char)i;
    for (unsigned i = 0; i < 15; i++) message[i] = (unsigned char)i;
    for (size_t n = 0; n < 3; n++) assert_true(store_keyed_sum(&secret, message, n) == want[n]);
    assert_true(store_keyed_sum(&secret, message, 15) == 0xa129ca6149be45e5);
}

static void test_left_locks_are_swept(void **state) {
    struct fixture *f = *state;
    const char *note, *left = arena_printf(f->arena, "%s.lock-00112233", f->path);
    struct store_claim held;
    struct diag d = diag_new(f->arena);
    write_at(left, -1, "", 0);
    struct store *s = open_store(f, &note), *other;
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(store_tune_begin(s, &key, false, &held, &d), WS_OK);
    other = open_store(f, &note);
    assert_int_equal(access(held.path, F_OK), 0); /* its owner lives */
    store_close(other);
    store_tune_end(&held);
    store_close(s);
}

static void test_bad_places(void **state) {
    struct fixture *f = *state;
    write_at(f->path, -1, "x", 1);
    expect_open_fails(f, arena_printf(f->arena, "%s/store.db", f->path), "Not a directory");
    expect_open_fails(f, f->folder, "is a folder");
    expect_open_fails(f, "/proc/none/store.db", "cannot make its folder");
}

static void test_read_only_folder(void **state) {
    struct fixture *f = *state;
    const char *note;
    store_close(open_store(f, &note));
    assert_int_equal(chmod(f->path, 0444), 0);
    assert_int_equal(chmod(f->folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        /* The rules of permissions are not for root. */
        if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
        struct diag d = diag_new(f->arena), e = diag_new(f->arena);
        struct store *s;
        const char *fresh = arena_printf(f->arena, "%s/b/store.db", f->folder);
        if (store_open(f->path, f->arena, &d, &s, &note) != WS_MACHINE) _exit(2);
        if (!strstr(d.text, "WARPSMITH_CACHE")) _exit(3);
        if (store_open(fresh, f->arena, &e, &s, &note) != WS_MACHINE) _exit(4);
        _exit(strstr(e.text, "Permission denied") ? 0 : 5);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(chmod(f->folder, 0755), 0);
    assert_int_equal(status, 0);
}

/* A limit on the file size stands for a full disk: the same write fails. */
static void test_full_disk(void **state) {
    struct fixture *f = *state;
    const char *note;
    struct store *s = open_store(f, &note);
    struct diag d = diag_new(f->arena);
    assert_int_equal(put(f, s, "x=1", &d), WS_OK);
    store_close(s);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {300000, 300000};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
        static char bytes[1000000];
        struct store_binary b = {bytes, sizeof bytes, "", 1};
        s = open_store(f, &note);
        if (store_put_binary(s, "k", &b, &d) != WS_MACHINE) _exit(2);
        if (!strstr(d.text, "cannot be ") || !strstr(d.text, f->path)) _exit(3);
        /* It goes on with what fits. */
        d = diag_new(f->arena);
        if (put(f, s, "x=2", &d) != WS_OK) _exit(4);
        if (strcmp(winner_of(f, s), "x=2") != 0) _exit(5);
        int n;
        for (int i = 0; i < 5000; i++) {
            struct store_trial t = trial(arena_printf(f->arena, "x=%d", i));
            if (store_add_trial(s, &key, &graph, &t, &d) != WS_OK) break;
        }
        if (d.status != WS_MACHINE) _exit(6);
        d = diag_new(f->arena);
        if (store_export(s, arena_printf(f->arena, "%s/out.db", f->folder), &n, &d) == WS_OK)
            _exit(0);
        _exit(strstr(d.text, "cannot export") ? 0 : 7);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    s = open_store(f, &note);
    assert_string_equal(note, "");
    assert_string_equal(winner_of(f, s), "x=2");
    store_close(s);
    assert_string_equal(pragma(f, "PRAGMA integrity_check"), "ok");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kill_at_any_moment),
        TEST(test_many_openers_at_once),
        TEST(test_no_lock),
        TEST(test_second_tuner_waits),
        TEST(test_killed_tuner_lets_go),
        TEST(test_claims_exclude),
        TEST(test_no_database_is_set_aside),
        TEST(test_damaged_tables_are_set_aside),
        TEST(test_truncated_file_is_set_aside),
        TEST(test_damage_met_later),
        TEST(test_changed_binary_is_a_miss),
        TEST(test_foreign_database),
        TEST(test_newer_version),
        TEST(test_tables_newer_than_the_version),
        TEST(test_other_columns_are_set_aside),
        TEST(test_new_stores_are_private),
        TEST(test_loose_modes_are_tightened),
        TEST(test_planted_binaries_are_misses),
        TEST(test_places_of_others_are_refused),
        TEST(test_keyed_sums),
        TEST(test_left_locks_are_swept),
        TEST(test_bad_places),
        TEST(test_read_only_folder),
        TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
