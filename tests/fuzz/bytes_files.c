/* bytes_files.c: the readers of files that outlive a process: the table of results, the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/csv_table.h"
#include "tests/fuzz/bytes.h"
#include "tuner/store.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* Where the row before ended. */
static void see_row(const struct table_row *row, void *context, struct report_error *e) {
    struct table_place *before = context;
    (void)e;
    BYTES_CHECK(row->n && row->length, "an empty row");
    BYTES_CHECK(row->offset >= before->offset && row->line >= before->line, "rows overlap");
    *before = (struct table_place){row->offset + row->length, row->line + 1};
    for (size_t c = 0; c < row->n; c++) {
        double v;
        BYTES_CHECK(row->cells[c], "a cell is missing");
        table_number(row->cells[c], &v);
    }
}

void bytes_csv(const uint8_t *data, size_t n) {
    struct table_file f;
    struct table_place at = {0, 1}, before = {0, 1};
    struct text warnings = {0};
    struct report_error e = {0};
    if (table_open(bytes_file("fuzz.csv", data, n), &f, &e) == REPORT_OK) {
        table_scan(&f, &at, UINT64_MAX, see_row, &before, &warnings, &e);
        BYTES_CHECK(at.offset <= n && at.offset >= before.offset, "rows end behind the file");
        table_close(&f);
    }
    BYTES_CHECK((e.status == REPORT_OK) == !*e.text, "rows or a message");
    text_free(&warnings);
}

/* ---- the store ------------------------------------------------------------------------------- */

static const struct store_key key = {"graph", "kernel", "", "device", "driver", "cc"};

/* A winner and a few trials; the store must take them, or say why not. */
static void fill(struct store *s, struct diag *d) {
    struct store_graph g = {"graph() {\n}\n", "softmax", "fwd", "f32", "rows=1"};
    struct store_winner w = {.kernel_name = "k", .arch = "sm_90a", .config = "x=1", .tried = 3};
    struct store_trial t = {.config = "x=1", .status = STATUS_ok, .message = ""};
    static const char *const configs[] = {"x=1", "x=2", "x=4"};
    for (int i = 0; i < 3 && d->status == WS_OK; i++) {
        t.config = configs[i];
        store_add_trial(s, &key, &g, &t, d);
    }
    if (d->status == WS_OK) store_put_winner(s, &key, &g, &w, d);
    if (d->status == WS_OK) store_put_fact(s, "copy_gbps", 100, d);
}

static char *read_all(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    BYTES_CHECK(f, "%s cannot be read", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*n);
    BYTES_CHECK(p && fread(p, 1, *n, f) == *n, "%s cannot be read", path);
    fclose(f);
    return p;
}

/* The bytes of a whole store, made once. */
static const char *whole_store(size_t *n) {
    static char *bytes;
    static size_t size;
    if (!bytes) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct store *s;
        const char *note, *path = arena_strdup(a, bytes_file("whole.db", "", 0));
        remove(path);
        BYTES_CHECK(store_open(path, a, &d, &s, &note) == WS_OK, "%s", d.text);
        fill(s, &d);
        BYTES_CHECK(d.status == WS_OK, "%s", d.text);
        store_close(s);
        bytes = read_all(path, &size);
        arena_free(a);
    }
    *n = size;
    return bytes;
}

/* Everything that reads. Each call may fail with a message, and the next one is fine again. */
static void read_everything(struct store *s, struct arena *a) {
    struct store_winner w;
    struct store_trial *t;
    struct store_entry *e;
    bool found;
    double v;
    int n;
    const char *why;
    struct diag d[4] = {diag_new(a), diag_new(a), diag_new(a), diag_new(a)};
    store_lookup(s, &key, &w, &found, &why, &d[0]);
    store_trials(s, &key, &t, &n, &d[1]);
    store_get_fact(s, "copy_gbps", &v, &found, &d[2]);
    store_entries(s, &e, &n, &d[3]);
    for (int i = 0; i < 4; i++)
        BYTES_CHECK((d[i].status != WS_OK) == (d[i].text != NULL), "a result or a message");
}

/* A raw file, or patches to a whole one: three bytes of place, one of value, each. */
static const char *damaged_file(const char *name, const uint8_t *data, size_t n) {
    size_t size;
    const char *whole = whole_store(&size);
    if (n >= 6 && !memcmp(data, "SQLite", 6)) return bytes_file(name, data, n);
    char *copy = malloc(size);
    BYTES_CHECK(copy, "no memory");
    memcpy(copy, whole, size);
    for (size_t i = 0; i + 4 <= n; i += 4) {
        size_t at = (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];
        copy[at % size] = (char)data[i + 3];
    }
    const char *path = bytes_file(name, copy, size);
    free(copy);
    return path;
}

static void remove_store(struct arena *a, const char *path) {
    static const char *const endings[] = {"",           "-wal",       "-shm",
                                          ".damaged-1", ".damaged-2", ".damaged-1-wal"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        remove(arena_printf(a, "%s%s", path, endings[i]));
}

void bytes_store(const uint8_t *data, size_t n) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a), imported = diag_new(a);
    struct store *s = NULL;
    const char *note = "";
    int count;
    const char *other = arena_strdup(a, damaged_file("other.db", data, n));
    const char *path = arena_strdup(a, damaged_file("fuzz.db", data, n));
    enum ws_status status = store_open(path, a, &d, &s, &note);
    BYTES_CHECK((status == WS_OK) == (d.text == NULL) && note, "a store or a message");
    if (status == WS_OK) {
        read_everything(s, a);
        struct diag filled = diag_new(a);
        fill(s, &filled);
        store_import(s, other, &count, &imported);
        read_everything(s, a);
        store_close(s);
    }
    remove_store(a, path);
    remove_store(a, other);
    arena_free(a);
}
