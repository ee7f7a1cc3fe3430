/* range_table.h: what the store knows, in memory: which config a kernel gets at the sizes at hand.
 *
 *     range_table_load(a, store, &key, &table, &d)          once; key: device, driver, ...
 *     range_look_up(table, &question, &entry)               about a tenth of a microsecond
 *     range_table_keep(table, store, &d)                    adds what was counted to the store
 *
 * A point is an entry without a condition, and is found before any range. Ranges are asked from the
 * newest on, so where two hold the newer one answers. The tables belong to their arena. */
#ifndef TUNER_RANGE_TABLE_H
#define TUNER_RANGE_TABLE_H

#include "tuner/guard_range.h"
#include "tuner/store.h"
#include "ws_tune.h"

enum lookup {
    LOOKUP_POINT,   /* tuned at exactly these sizes */
    LOOKUP_RANGE,   /* a range holds, and its config is legal */
    LOOKUP_NEAREST, /* none does; the config of the nearest one, or of a point, is legal */
    LOOKUP_MISS,
    LOOKUP_COUNT
};
const char *lookup_name(enum lookup l); /* "hit at this very size", ... */

struct range_entry {
    struct guard_range guard;
    struct config config;
    int64_t id; /* in the store */
    const char *guard_text, *config_text, *text_hash;
    int64_t size;          /* of a range, that text_hash is of */
    int64_t hits, nearest; /* not yet in the store */
};

/* May an entry be used? Stale: its kernel's text is another than the one that was timed. */
enum range_verdict { RANGE_USABLE, RANGE_ILLEGAL, RANGE_STALE };

struct range_table;

struct range_question {
    const char *graph, *kernel; /* hashes */
    const int64_t *sizes;       /* of s0, s1, ... */
    int n_sizes;
    enum range_verdict (*judge)(void *ctx, const struct range_entry *e); /* NULL: any may */
    void *ctx;
};

/* Entries whose guard or config this version cannot read are left out. */
enum ws_status range_table_load(struct arena *a, struct store *s, const struct store_key *key,
                                struct range_table **out, struct diag *d);
/* The same from a list. */
struct range_table *range_table_new(struct arena *a, const struct store_config *configs, int n);

/* *out is NULL on a miss. Counted. */
enum lookup range_look_up(struct range_table *t, const struct range_question *q,
                          const struct range_entry **out);
/* Did the last lookup pass a stale entry over? */
bool range_met_stale(const struct range_table *t);
/* A point that was looked up with all its evidence, in the store itself. */
void range_count_point(struct range_table *t, const char *graph, const char *kernel);
/* A point of other sizes was the nearest. missed: a lookup has been counted as a miss before. */
void range_count_nearest(struct range_table *t, const char *graph, const char *kernel, bool missed);
/* A kernel that nothing is known of. */
void range_count_miss(struct range_table *t);

struct range_counts {
    int64_t n[LOOKUP_COUNT];
    int64_t stale; /* lookups that passed a stale entry over */
    double us;     /* of one lookup on average, without judge(); 0: there was none */
};
struct range_counts range_counts(const struct range_table *t);
/* "2 tuned at this size, 1 in a tuned range, ... 1 not known, 0.11 us each" */
const char *range_counts_text(const struct range_table *t, struct arena *a);

/* Add the counts to those in the store, and forget them. */
enum ws_status range_table_keep(struct range_table *t, struct store *s, struct diag *d);

#endif
