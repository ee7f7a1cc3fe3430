/* sql.c: the connection to SQLite: pragmas, sticky errors, messages a user can act on. */
#include "tuner/sql.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

enum { WAIT_MS = 30000 }; /* how long another process may keep the file locked */

struct sql {
    struct arena *arena;
    sqlite3 *handle; /* NULL if it could not even be opened */
    enum sql_fault fault;
    const char *message;
};

/* ---- failures -------------------------------------------------------------------------------- */

enum sql_fault sql_fault(const struct sql *db) { return db->fault; }
const char *sql_message(const struct sql *db) { return db->message; }

void sql_blame(struct sql *db, enum sql_fault f, const char *message) {
    if (db->fault != SQL_FINE) return;
    db->fault = f;
    db->message = arena_strdup(db->arena, message);
}

void sql_forgive(struct sql *db) {
    db->fault = SQL_FINE;
    db->message = "";
}

/* What SQLite calls "disk I/O error" has a reason in errno: quota, file size limit, a lost mount.
 */
static const char *reason(const struct sql *db) {
    int error = db->handle ? sqlite3_system_errno(db->handle) : 0;
    return error ? strerror(error) : sqlite3_errstr(sqlite3_errcode(db->handle));
}

/* Record the failure rc of the connection, if it is one. */
static bool check(struct sql *db, int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE) return true;
    struct arena *a = db->arena;
    switch (rc & 0xff) {
    case SQLITE_NOTADB: sql_blame(db, SQL_DAMAGED, "is not a database"); break;
    case SQLITE_CORRUPT: sql_blame(db, SQL_DAMAGED, "is damaged"); break;
    case SQLITE_FULL: sql_blame(db, SQL_OTHER, "cannot be written: the disk is full"); break;
    case SQLITE_BUSY:
        sql_blame(db, SQL_OTHER,
                  arena_printf(a, "is locked by another process since %d s", WAIT_MS / 1000));
        break;
    case SQLITE_READONLY: sql_blame(db, SQL_OTHER, "cannot be written: it is read-only"); break;
    case SQLITE_CANTOPEN:
        sql_blame(db, SQL_OTHER, arena_printf(a, "cannot be opened: %s", reason(db)));
        break;
    case SQLITE_IOERR:
        sql_blame(db, SQL_OTHER, arena_printf(a, "cannot be read or written: %s", reason(db)));
        break;
    default: sql_blame(db, SQL_OTHER, sqlite3_errmsg(db->handle));
    }
    return false;
}

/* ---- connection ------------------------------------------------------------------------------ */

struct sql *sql_open(const char *path, bool create, struct arena *a) {
    struct sql *db = NEW(a, struct sql);
    db->arena = a;
    db->message = "";
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    if (!check(db, sqlite3_open_v2(path, &db->handle, flags, NULL))) return db;
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_timeout(db->handle, WAIT_MS);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sql_run(db, "PRAGMA foreign_keys = ON");
    return db;
}

void sql_close(struct sql *db) {
    if (!db || !db->handle) return;
    for (sqlite3_stmt *s; (s = sqlite3_next_stmt(db->handle, NULL));) sqlite3_finalize(s);
    sqlite3_close(db->handle);
    db->handle = NULL;
}

bool sql_run(struct sql *db, const char *text) {
    return db->fault == SQL_FINE && check(db, sqlite3_exec(db->handle, text, NULL, NULL, NULL));
}

/* IMMEDIATE: a transaction that starts as a reader and cannot become a writer would fail at once,
 * where one that waits for its turn at the start does not. */
bool sql_begin(struct sql *db) { return sql_run(db, "BEGIN IMMEDIATE"); }

bool sql_commit(struct sql *db) {
    if (sql_run(db, "COMMIT")) return true;
    if (db->handle && !sqlite3_get_autocommit(db->handle))
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

int64_t sql_changes(const struct sql *db) { return sqlite3_changes64(db->handle); }

/* ---- queries --------------------------------------------------------------------------------- */

struct query sql_query(struct sql *db, const char *text) {
    struct query q = {.db = db};
    sqlite3_stmt *s = NULL;
    if (db->fault == SQL_FINE) check(db, sqlite3_prepare_v2(db->handle, text, -1, &s, NULL));
    q.statement = s;
    return q;
}

static bool is_live(const struct query *q) { return q->statement && q->db->fault == SQL_FINE; }

void put_text(struct query *q, const char *text) {
    if (!is_live(q)) return;
    check(q->db, sqlite3_bind_text(q->statement, ++q->parameter, text ? text : "", -1, NULL));
}

void put_int(struct query *q, int64_t v) {
    if (is_live(q)) check(q->db, sqlite3_bind_int64(q->statement, ++q->parameter, v));
}

void put_real(struct query *q, double v) {
    if (is_live(q)) check(q->db, sqlite3_bind_double(q->statement, ++q->parameter, v));
}

/* A NULL pointer would be bound as NULL, not as no bytes. */
void put_bytes(struct query *q, const void *p, size_t n) {
    if (!is_live(q)) return;
    check(q->db, sqlite3_bind_blob64(q->statement, ++q->parameter, n ? p : "", n, NULL));
}

bool query_step(struct query *q) {
    if (!is_live(q)) return false;
    q->column = 0;
    int rc = sqlite3_step(q->statement);
    return check(q->db, rc) && rc == SQLITE_ROW;
}

const char *take_text(struct query *q) {
    if (!is_live(q)) return "";
    const unsigned char *s = sqlite3_column_text(q->statement, q->column++);
    return s ? arena_strdup(q->db->arena, (const char *)s) : "";
}

int64_t take_int(struct query *q) {
    return is_live(q) ? sqlite3_column_int64(q->statement, q->column++) : 0;
}

double take_real(struct query *q) {
    if (!is_live(q)) return NAN;
    int c = q->column++;
    bool is_null = sqlite3_column_type(q->statement, c) == SQLITE_NULL;
    return is_null ? NAN : sqlite3_column_double(q->statement, c);
}

const void *take_bytes(struct query *q, size_t *n) {
    *n = 0;
    if (!is_live(q)) return "";
    const void *p = sqlite3_column_blob(q->statement, q->column);
    *n = (size_t)sqlite3_column_bytes(q->statement, q->column++);
    void *copy = arena_alloc(q->db->arena, *n);
    if (*n) memcpy(copy, p, *n);
    return copy;
}

bool query_end(struct query *q) {
    sqlite3_finalize(q->statement);
    q->statement = NULL;
    return q->db->fault == SQL_FINE;
}

bool query_run(struct query *q) {
    query_step(q);
    return query_end(q);
}

int64_t query_int(struct query *q) {
    int64_t v = query_step(q) ? take_int(q) : 0;
    query_end(q);
    return v;
}
