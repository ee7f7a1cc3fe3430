/* store_tables.h: the tables of the store and the inside of struct store, for store*.c alone.
 *
 * A list below is the one definition of a table's columns: the CREATE statement, what is written,
 * what is read back and what export and import copy all come from it.
 *
 *   F(kind, column, member of the struct)
 *
 * kind: TEXT, INT, LONG (64 bits), REAL (NAN is NULL), TIME (seconds since 1970; 0 becomes now),
 * STATUS (by name). A change of any list is a new STORE_SCHEMA, and store_open then needs a step
 * from the old one. */
#ifndef TUNER_STORE_TABLES_H
#define TUNER_STORE_TABLES_H

#include "tuner/sql.h"
#include "tuner/store.h"

enum {
    STORE_SCHEMA = 3, /* PRAGMA user_version; 1 had no rungs and uses, 2 no hashes of texts */
    STORE_APPLICATION = 0x57536d31 /* PRAGMA application_id, "WSm1": the file is ours */
};

#define STATS_FIELDS(F, column, member)                                                            \
    F(INT, column##_n, member.n)                                                                   \
    F(REAL, column##_median_us, member.median)                                                     \
    F(REAL, column##_q1_us, member.q1)                                                             \
    F(REAL, column##_q3_us, member.q3)                                                             \
    F(REAL, column##_min_us, member.min)                                                           \
    F(REAL, column##_lo_us, member.lo)                                                             \
    F(REAL, column##_hi_us, member.hi)

#define HEALTH_FIELDS(F)                                                                           \
    F(TEXT, timer, health.timer)                                                                   \
    F(REAL, clock_mhz, health.clock_mhz)                                                           \
    F(REAL, temp_c, health.temp_c)                                                                 \
    F(TEXT, throttle, health.throttle)

#define GRAPH_FIELDS(F)                                                                            \
    F(TEXT, text, text)                                                                            \
    F(TEXT, workload, workload)                                                                    \
    F(TEXT, mode, mode)                                                                            \
    F(TEXT, dtype, dtype)                                                                          \
    F(TEXT, axes, axes)

/* What came with version 3 stands behind the columns that older files have. */
#define HASH_FIELDS(F) F(TEXT, text_hash, text_hash)

#define OLD_WINNER_FIELDS(F)                                                                       \
    F(TEXT, kernel_name, kernel_name)                                                              \
    F(TEXT, arch, arch)                                                                            \
    F(TEXT, config, config)                                                                        \
    STATS_FIELDS(F, winner, us)                                                                    \
    F(REAL, default_us, default_us)                                                                \
    F(INT, tried, tried)                                                                           \
    F(INT, tied, tied)                                                                             \
    HEALTH_FIELDS(F)                                                                               \
    F(TEXT, run_id, run_id)                                                                        \
    F(TIME, created, created)

#define WINNER_FIELDS(F) OLD_WINNER_FIELDS(F) HASH_FIELDS(F)

#define OLD_PROGRAM_FIELDS(F)                                                                      \
    F(TEXT, arch, arch)                                                                            \
    STATS_FIELDS(F, eager, eager)                                                                  \
    STATS_FIELDS(F, default, dflt)                                                                 \
    STATS_FIELDS(F, tuned, tuned)                                                                  \
    HEALTH_FIELDS(F)                                                                               \
    F(TEXT, run_id, run_id)                                                                        \
    F(TIME, created, created)

#define PROGRAM_FIELDS(F) OLD_PROGRAM_FIELDS(F) HASH_FIELDS(F)

#define OLD_TRIAL_FIELDS(F)                                                                        \
    F(TEXT, config, config)                                                                        \
    F(STATUS, status, status)                                                                      \
    STATS_FIELDS(F, trial, us)                                                                     \
    F(INT, regs, regs)                                                                             \
    F(INT, spill_bytes, spill_bytes)                                                               \
    F(INT, smem_bytes, smem_bytes)                                                                 \
    F(REAL, compile_ms, compile_ms)                                                                \
    F(TEXT, message, message)                                                                      \
    F(TEXT, run_id, run_id)                                                                        \
    F(TIME, created, at)
#define TRIAL_FIELDS(F) OLD_TRIAL_FIELDS(F) HASH_FIELDS(F)

#define RUNG_FIELDS(F)                                                                             \
    F(TEXT, axis, axis)                                                                            \
    F(LONG, size, size)                                                                            \
    F(TEXT, point_graph, graph)                                                                    \
    F(TEXT, point_kernel, kernel)                                                                  \
    F(TEXT, winner, winner)                                                                        \
    STATS_FIELDS(F, rung, us)                                                                      \
    F(REAL, winner_us, winner_us)                                                                  \
    F(REAL, default_us, default_us)                                                                \
    F(TEXT, run_id, run_id)

/* In SQL, ", a, b" and ", ?, ?" of each list; the first column of every table is its key. */
#define FIELD_NAME(kind, column, member) ", " #column
#define FIELD_MARK(kind, column, member) ", ?"
#define KEY_MARK(name, what) ", ?"
#define GRAPH_NAMES GRAPH_FIELDS(FIELD_NAME)
#define GRAPH_MARKS GRAPH_FIELDS(FIELD_MARK)
#define WINNER_NAMES WINNER_FIELDS(FIELD_NAME)
#define WINNER_MARKS WINNER_FIELDS(FIELD_MARK)
#define PROGRAM_NAMES PROGRAM_FIELDS(FIELD_NAME)
#define PROGRAM_MARKS PROGRAM_FIELDS(FIELD_MARK)
#define TRIAL_NAMES TRIAL_FIELDS(FIELD_NAME)
#define TRIAL_MARKS TRIAL_FIELDS(FIELD_MARK)
#define RUNG_NAMES RUNG_FIELDS(FIELD_NAME)
#define RUNG_MARKS RUNG_FIELDS(FIELD_MARK)
#define KEY_MARKS STORE_KEYS(KEY_MARK)
#define KEY_NAMES "graph, kernel, guard, device, driver, toolchain" /* in STORE_KEYS' order */
/* Versions 1 and 2 had a number of the generator of texts in their keys. What they left under older
 * numbers is listed and travels; it is not looked up. */
#define NO_GENERATOR "generator = ''"
#define ALL_KEYS KEY_NAMES ", generator"

enum field_kind { FIELD_TEXT, FIELD_INT, FIELD_LONG, FIELD_REAL, FIELD_TIME, FIELD_STATUS };

struct field {
    enum field_kind kind;
    size_t offset; /* in the struct */
};

struct fields {
    const struct field *at;
    int n;
};

extern const struct fields graph_fields, winner_fields, program_fields, trial_fields, rung_fields;

void put_fields(struct query *q, const struct fields *f, const void *record);
/* False if a word is unknown to this version: the row is to be left out. */
bool take_fields(struct query *q, const struct fields *f, void *record);
void put_key(struct query *q, const struct store_key *k);
void take_key(struct query *q, struct store_key *k);

struct store_secret {
    unsigned char bytes[16];
};

struct store {
    struct arena *arena;
    const char *path; /* without symbolic links */
    struct sql *sql;
    int64_t binary_bytes; /* limit of all binaries together */
    struct store_secret secret;
};

/* store_trust.c. NULL, or why what lies at the path, which has no symbolic links, may not be
 * believed: somebody else can write to it. Files of this user's that are open to others are closed;
 * *note is a line if they could be written. */
const char *store_guard(struct arena *a, const char *path, const char **note);
/* An empty file that only this user can read and write, unless there is one. */
void store_make_file(const char *path);
/* The key of the store's sums, made if there is none that only this user could read. NULL, or what
 * went wrong. */
const char *store_open_key(struct arena *a, const char *path, struct store_secret *out);
uint64_t store_keyed_sum(const struct store_secret *secret, const void *bytes, size_t n);

/* Is the file ours, of a version we know, and has it that version's tables? If not, a failure
 * sticks in db. */
void store_check_schema(struct sql *db, struct arena *a);
/* The same, after making the tables in an empty file, and what an older file lacks. */
void store_prepare_schema(struct sql *db, struct arena *a);
/* Of the entries of older versions, which had a generator's number in their keys, one for each key
 * of ours that has none yet: one with a winner, and the newest of these. */
void store_adopt_keys(struct sql *db);
/* Report the connection's failure, so that the next call starts afresh. */
enum ws_status store_fail(struct store *s, struct diag *d);

/* What belongs to the row `key` of keys. The select wants one key and yields an id and the fields
 * of a trial. A failure sticks. */
bool store_read_winner(struct store *s, int64_t key, struct store_winner *out);
bool store_read_program(struct store *s, int64_t key, struct store_program *out);
void store_read_trials(struct store *s, const char *select, int64_t key, struct store_trial **out,
                       int *n);

void store_read_rungs(struct store *s, int64_t key, struct store_rung **out, int *n);

/* store.c. The row of a key, made if it is missing, and its graph's; insert: "INSERT OR REPLACE" or
 * "INSERT OR IGNORE". Within a transaction. */
int64_t store_make_key(struct store *s, const struct store_key *k);
void store_put_graph(struct store *s, const char *insert, const char *hash,
                     const struct store_graph *g);
/* Append "driver changed: 1 -> 2" if they differ. */
void store_say_difference(struct buf *b, const char *what, const char *was, const char *is);

/* Remove the lock files that killed processes have left beside the store. */
void claim_sweep(struct arena *a, const char *store_path);
/* A lock on a file of this name, which goes with its owner. False with errno set if it cannot be
 * had; true but not held if another process holds it and wait is not set. */
bool claim_file(const char *path, bool wait, struct store_claim *claim);

#endif
