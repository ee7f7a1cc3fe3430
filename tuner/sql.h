/* sql.h: the little of SQLite that the store needs. sql.c is the one file that knows sqlite3.h.
 *
 * The first failure sticks: from then on every call on the connection does nothing and returns
 * false, 0, NAN or "", so a sequence of calls is checked once, at its end:
 *
 *     sql_begin(db);
 *     struct query q = sql_query(db, "INSERT INTO facts VALUES (?, ?)");
 *     put_text(&q, key);
 *     put_real(&q, value);
 *     query_run(&q);
 *     if (!sql_commit(db)) say(sql_message(db)), sql_forgive(db);
 *
 * Ownership: texts and bytes taken from a row are copies in the connection's arena. A query ends
 * with query_end, query_run or sql_close. */
#ifndef TUNER_SQL_H
#define TUNER_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "ws.h"

struct sql;

enum sql_fault {
    SQL_FINE,
    SQL_DAMAGED, /* not a database, or a broken one */
    SQL_OTHER,   /* disk full, locked for long, unreadable, ... */
};

/* Never NULL. The file is made if it is missing and `create` is set. */
struct sql *sql_open(const char *path, bool create, struct arena *a);
void sql_close(struct sql *db); /* db may be NULL */

enum sql_fault sql_fault(const struct sql *db);
const char *sql_message(const struct sql *db); /* one line without its newline */
void sql_forgive(struct sql *db);              /* forget the failure */
/* Record a failure that SQLite did not see. */
void sql_blame(struct sql *db, enum sql_fault f, const char *message);

bool sql_run(struct sql *db, const char *text); /* statements without parameters or rows */
bool sql_begin(struct sql *db);
bool sql_commit(struct sql *db); /* or roll back, if anything since sql_begin failed */

struct query {
    struct sql *db;
    void *statement;
    int parameter, column; /* used so far */
};

struct query sql_query(struct sql *db, const char *text);

/* Bind the next parameter. The text and the bytes must live until the query ends. */
void put_text(struct query *q, const char *text); /* NULL: "" */
void put_int(struct query *q, int64_t v);
void put_real(struct query *q, double v); /* NAN: NULL */
void put_bytes(struct query *q, const void *p, size_t n);

bool query_step(struct query *q); /* is there a row? */

/* Read the next column of the row. */
const char *take_text(struct query *q);
int64_t take_int(struct query *q);
double take_real(struct query *q); /* NULL: NAN */
const void *take_bytes(struct query *q, size_t *n);

bool query_end(struct query *q);    /* did it go well? */
bool query_run(struct query *q);    /* step and end: for statements without rows */
int64_t query_int(struct query *q); /* first column of the first row, and end; 0 if there is none */

int64_t sql_changes(const struct sql *db); /* rows changed by the last statement */

#endif
