/* store_tables.c: structs <-> rows, and the schema, all driven by the lists of store_tables.h.
 *
 *   {.config = "x=1 warps=8", .us.n = 30, ...}   <->   trials: 7 | x=1 warps=8 | ok | 30 | ...
 *
 * One row of `keys` is one thing that was tuned; winners, programs and trials refer to it and go
 * with it. Binaries and facts stand alone. */
#include "tuner/store_tables.h"

#include <string.h>
#include <time.h>

/* ---- structs and rows ------------------------------------------------------------------------ */

#define FIELDS_OF(table, T, LIST)                                                                  \
    static const struct field table##_list[] = {LIST(FIELD_PLACE_##T)};                            \
    const struct fields table##_fields = {table##_list, sizeof table##_list / sizeof *table##_list}
#define FIELD_PLACE(T, kind, member) {FIELD_##kind, offsetof(struct T, member)},
#define FIELD_PLACE_store_graph(kind, column, member) FIELD_PLACE(store_graph, kind, member)
#define FIELD_PLACE_store_winner(kind, column, member) FIELD_PLACE(store_winner, kind, member)
#define FIELD_PLACE_store_program(kind, column, member) FIELD_PLACE(store_program, kind, member)
#define FIELD_PLACE_store_trial(kind, column, member) FIELD_PLACE(store_trial, kind, member)
#define FIELD_PLACE_store_rung(kind, column, member) FIELD_PLACE(store_rung, kind, member)

FIELDS_OF(graph, store_graph, GRAPH_FIELDS);
FIELDS_OF(winner, store_winner, WINNER_FIELDS);
FIELDS_OF(program, store_program, PROGRAM_FIELDS);
FIELDS_OF(trial, store_trial, TRIAL_FIELDS);
FIELDS_OF(rung, store_rung, RUNG_FIELDS);

void put_fields(struct query *q, const struct fields *f, const void *record) {
    for (int i = 0; i < f->n; i++) {
        const void *p = (const char *)record + f->at[i].offset;
        switch (f->at[i].kind) {
        case FIELD_TEXT: put_text(q, *(const char *const *)p); break;
        case FIELD_INT: put_int(q, *(const int *)p); break;
        case FIELD_LONG: put_int(q, *(const int64_t *)p); break;
        case FIELD_REAL: put_real(q, *(const double *)p); break;
        case FIELD_TIME: put_int(q, *(const int64_t *)p ? *(const int64_t *)p : time(NULL)); break;
        case FIELD_STATUS: put_text(q, result_status_name(*(const enum result_status *)p)); break;
        }
    }
}

static bool parse_status(const char *word, enum result_status *out) {
    for (int i = 0; i < STATUS_COUNT; i++) {
        *out = (enum result_status)i;
        if (strcmp(result_status_name(*out), word) == 0) return true;
    }
    return false;
}

bool take_fields(struct query *q, const struct fields *f, void *record) {
    bool known = true;
    for (int i = 0; i < f->n; i++) {
        void *p = (char *)record + f->at[i].offset;
        switch (f->at[i].kind) {
        case FIELD_TEXT: *(const char **)p = take_text(q); break;
        case FIELD_INT: *(int *)p = (int)take_int(q); break;
        case FIELD_LONG: *(int64_t *)p = take_int(q); break;
        case FIELD_REAL: *(double *)p = take_real(q); break;
        case FIELD_TIME: *(int64_t *)p = take_int(q); break;
        case FIELD_STATUS: known &= parse_status(take_text(q), p); break;
        }
    }
    return known;
}

void put_key(struct query *q, const struct store_key *k) {
#define KEY(name, what) put_text(q, k->name);
    STORE_KEYS(KEY)
#undef KEY
}

void take_key(struct query *q, struct store_key *k) {
#define KEY(name, what) k->name = take_text(q);
    STORE_KEYS(KEY)
#undef KEY
}

/* ---- schema ---------------------------------------------------------------------------------- */

#define TYPE_TEXT "TEXT"
#define TYPE_INT "INTEGER"
#define TYPE_LONG "INTEGER"
#define TYPE_REAL "REAL"
#define TYPE_TIME "INTEGER"
#define TYPE_STATUS "TEXT"
#define FIELD_DECLARE(kind, column, member) ", \"" #column "\" " TYPE_##kind
#define GRAPH_COLUMNS GRAPH_FIELDS(FIELD_DECLARE)
#define WINNER_COLUMNS OLD_WINNER_FIELDS(FIELD_DECLARE)
#define PROGRAM_COLUMNS OLD_PROGRAM_FIELDS(FIELD_DECLARE)
#define TRIAL_COLUMNS OLD_TRIAL_FIELDS(FIELD_DECLARE)
#define RUNG_COLUMNS RUNG_FIELDS(FIELD_DECLARE)
#define KEY_DECLARE(name, what) ", " #name " TEXT NOT NULL"
#define KEY_COLUMNS STORE_KEYS(KEY_DECLARE) ", generator TEXT NOT NULL"
/* Bytes last: the other columns are read without them. */
#define BINARY_COLUMNS                                                                             \
    ", size INTEGER, created INTEGER, sum INTEGER, compile_ms REAL, log TEXT, bytes BLOB"
#define OF_KEY " REFERENCES keys ON DELETE CASCADE"

/* By the version that brought them: an older file is given what it lacks. It may have some already:
 * tables may be newer than the version, of a copy that was restored in part, say. */
struct step {
    int since;
    const char *text;
};

#define TABLE "CREATE TABLE IF NOT EXISTS "
static const struct step tables[] = {
    {1, TABLE "graphs (graph TEXT PRIMARY KEY" GRAPH_COLUMNS ")"},
    {1, TABLE "keys (id INTEGER PRIMARY KEY AUTOINCREMENT" KEY_COLUMNS ", UNIQUE (" ALL_KEYS "))"},
    {1, TABLE "winners (key INTEGER PRIMARY KEY" OF_KEY WINNER_COLUMNS ")"},
    {1, TABLE "programs (key INTEGER PRIMARY KEY" OF_KEY PROGRAM_COLUMNS ")"},
    {1, TABLE "trials (id INTEGER PRIMARY KEY, key INTEGER NOT NULL" OF_KEY TRIAL_COLUMNS ")"},
    {1, TABLE "binaries (key TEXT PRIMARY KEY" BINARY_COLUMNS ")"},
    {1, TABLE "facts (key TEXT PRIMARY KEY, value REAL, created INTEGER)"},
    {2, TABLE "rungs (id INTEGER PRIMARY KEY, key INTEGER NOT NULL" OF_KEY RUNG_COLUMNS ")"},
    {2, TABLE "uses (key INTEGER PRIMARY KEY" OF_KEY ", hits INTEGER, nearest INTEGER)"},
};
#define INDEX "CREATE INDEX IF NOT EXISTS "
static const struct step indexes[] = {
    {1, INDEX "trials_of_key ON trials (key, config)"},
    {1, INDEX "binaries_by_age ON binaries (created, size)"},
    {2, INDEX "rungs_of_key ON rungs (key, size)"},
};
enum { N_TABLES = sizeof tables / sizeof *tables, N_INDEXES = sizeof indexes / sizeof *indexes };

static int64_t pragma(struct sql *db, const char *text) {
    struct query q = sql_query(db, text);
    return query_int(&q);
}

/* Those of versions after `since`, up to `version`. */
static void take_steps(struct sql *db, const struct step *steps, int n, int64_t since,
                       int64_t version) {
    for (int i = 0; i < n; i++)
        if (steps[i].since > since && steps[i].since <= version) sql_run(db, steps[i].text);
}

static bool has_hash(struct sql *db, const char *table) {
    struct query q =
        sql_query(db, "SELECT count(*) FROM pragma_table_info(?) WHERE name = 'text_hash'");
    put_text(&q, table);
    return query_int(&q) > 0;
}

static void make_tables(struct sql *db, int64_t since, int64_t version, struct arena *a) {
    static const char *const hashed[] = {"winners", "programs", "trials"};
    take_steps(db, tables, N_TABLES, since, version);
    for (int i = 0; i < 3 && version >= 3; i++)
        if (!has_hash(db, hashed[i]))
            sql_run(db, arena_printf(a, "ALTER TABLE %s ADD COLUMN text_hash TEXT", hashed[i]));
}

/* What a statement reads or writes of a table depends on the names and the order of its columns. */
static const char *columns_of(struct sql *db, const char *table, struct arena *a) {
    struct query q = sql_query(db, "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid");
    struct buf b = buf_new(a);
    put_text(&q, table);
    while (query_step(&q)) {
        const char *name = take_text(&q), *type = take_text(&q);
        buf_printf(&b, "%s %s %d, ", name, type, (int)take_int(&q));
    }
    query_end(&q);
    buf_puts(&b, "");
    return b.p;
}

/* Other tables, and indexes, do no harm; a view or a trigger of a file from elsewhere may. */
static void check_tables(struct sql *db, int64_t version, struct arena *a) {
    struct sql *model = sql_open(":memory:", true, a);
    make_tables(model, 0, version, a);
    struct query q = sql_query(model, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (query_step(&q)) {
        const char *table = take_text(&q);
        if (strcmp(columns_of(db, table, a), columns_of(model, table, a)) != 0)
            sql_blame(db, SQL_DAMAGED,
                      arena_printf(a, "has another table '%s' than version %lld has", table,
                                   (long long)version));
    }
    query_end(&q);
    sql_close(model);
    if (pragma(db, "SELECT count(*) FROM sqlite_schema WHERE type IN ('view', 'trigger')") > 0)
        sql_blame(db, SQL_DAMAGED, "has views or triggers, which no store has");
}

#define SAME_KEY(name, what) " AND k." #name " = keys." #name
void store_adopt_keys(struct sql *db) {
    sql_run(db, "UPDATE OR IGNORE keys SET generator = '' WHERE generator <> '' AND id = (SELECT "
                "k.id FROM keys k LEFT JOIN winners w ON w.key = k.id WHERE TRUE" STORE_KEYS(
                    SAME_KEY) " ORDER BY k.generator = '' DESC, w.key IS NULL, k.id DESC LIMIT 1)");
}

/* From `version`, 0 for an empty file, to ours. */
static void bring_schema(struct sql *db, int64_t version, struct arena *a) {
    make_tables(db, version, STORE_SCHEMA, a);
    check_tables(db, STORE_SCHEMA, a);
    take_steps(db, indexes, N_INDEXES, version, STORE_SCHEMA);
    store_adopt_keys(db);
    sql_run(db, arena_printf(a, "PRAGMA application_id = %d", STORE_APPLICATION));
    sql_run(db, arena_printf(a, "PRAGMA user_version = %d", STORE_SCHEMA));
}

void store_check_schema(struct sql *db, struct arena *a) {
    int64_t version = pragma(db, "PRAGMA user_version");
    if (pragma(db, "PRAGMA application_id") != STORE_APPLICATION)
        sql_blame(db, SQL_OTHER, "is an SQLite file of another program");
    else if (version > STORE_SCHEMA)
        sql_blame(db, SQL_OTHER,
                  arena_printf(a,
                               "was written by a newer warpsmith (schema %lld, this one knows %d)",
                               (long long)version, STORE_SCHEMA));
    else if (version < 1)
        sql_blame(db, SQL_DAMAGED, "has no schema version");
    else
        check_tables(db, version, a);
}

static bool is_empty(struct sql *db) {
    return pragma(db, "SELECT count(*) FROM sqlite_schema") == 0;
}

/* The version that the file has, 0 if it is empty; ours if nothing is to be done. */
static int64_t version_of(struct sql *db) {
    if (is_empty(db)) return 0;
    int64_t version = pragma(db, "PRAGMA user_version");
    bool older = pragma(db, "PRAGMA application_id") == STORE_APPLICATION && version >= 1 &&
                 version < STORE_SCHEMA;
    return older ? version : STORE_SCHEMA;
}

/* Of processes that start together, the second to get the lock finds the tables made. */
void store_prepare_schema(struct sql *db, struct arena *a) {
    if (version_of(db) < STORE_SCHEMA && sql_begin(db)) {
        int64_t version = version_of(db);
        if (version < STORE_SCHEMA) bring_schema(db, version, a);
        sql_commit(db);
    }
    store_check_schema(db, a);
}
