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

FIELDS_OF(graph, store_graph, GRAPH_FIELDS);
FIELDS_OF(winner, store_winner, WINNER_FIELDS);
FIELDS_OF(program, store_program, PROGRAM_FIELDS);
FIELDS_OF(trial, store_trial, TRIAL_FIELDS);

void put_fields(struct query *q, const struct fields *f, const void *record) {
    for (int i = 0; i < f->n; i++) {
        const void *p = (const char *)record + f->at[i].offset;
        switch (f->at[i].kind) {
        case FIELD_TEXT: put_text(q, *(const char *const *)p); break;
        case FIELD_INT: put_int(q, *(const int *)p); break;
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
#define TYPE_REAL "REAL"
#define TYPE_TIME "INTEGER"
#define TYPE_STATUS "TEXT"
#define FIELD_DECLARE(kind, column, member) ", \"" #column "\" " TYPE_##kind
#define GRAPH_COLUMNS GRAPH_FIELDS(FIELD_DECLARE)
#define WINNER_COLUMNS WINNER_FIELDS(FIELD_DECLARE)
#define PROGRAM_COLUMNS PROGRAM_FIELDS(FIELD_DECLARE)
#define TRIAL_COLUMNS TRIAL_FIELDS(FIELD_DECLARE)
#define KEY_DECLARE(name, what) ", " #name " TEXT NOT NULL"
#define KEY_COLUMNS STORE_KEYS(KEY_DECLARE)
/* Bytes last: the other columns are read without them. */
#define BINARY_COLUMNS                                                                             \
    ", size INTEGER, created INTEGER, sum INTEGER, compile_ms REAL, log TEXT, bytes BLOB"
#define OF_KEY " REFERENCES keys ON DELETE CASCADE"

static const char *const schema[] = {
    "CREATE TABLE graphs (graph TEXT PRIMARY KEY" GRAPH_COLUMNS ")",
    "CREATE TABLE keys (id INTEGER PRIMARY KEY AUTOINCREMENT" KEY_COLUMNS ", UNIQUE (" ALL_KEYS
    "))",
    "CREATE TABLE winners (key INTEGER PRIMARY KEY" OF_KEY WINNER_COLUMNS ")",
    "CREATE TABLE programs (key INTEGER PRIMARY KEY" OF_KEY PROGRAM_COLUMNS ")",
    "CREATE TABLE trials (id INTEGER PRIMARY KEY, key INTEGER NOT NULL" OF_KEY TRIAL_COLUMNS ")",
    "CREATE INDEX trials_of_key ON trials (key, config)",
    "CREATE TABLE binaries (key TEXT PRIMARY KEY" BINARY_COLUMNS ")",
    "CREATE INDEX binaries_by_age ON binaries (created, size)",
    "CREATE TABLE facts (key TEXT PRIMARY KEY, value REAL, created INTEGER)",
};

static int64_t pragma(struct sql *db, const char *text) {
    struct query q = sql_query(db, text);
    return query_int(&q);
}

static void create_schema(struct sql *db, struct arena *a) {
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++) sql_run(db, schema[i]);
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
    else if (version < STORE_SCHEMA)
        sql_blame(db, SQL_OTHER, "has no schema version");
}

static bool is_empty(struct sql *db) {
    return pragma(db, "SELECT count(*) FROM sqlite_schema") == 0;
}

/* Of processes that start together, the second to get the lock finds the tables made. */
void store_prepare_schema(struct sql *db, struct arena *a) {
    if (is_empty(db) && sql_begin(db)) {
        if (is_empty(db)) create_schema(db, a);
        sql_commit(db);
    }
    store_check_schema(db, a);
}
