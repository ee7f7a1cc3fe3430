/* store_binary.c: compiled kernels by the hash of what they were compiled from, and single numbers.
 *
 *   "NVRTC 13.0.88" "sm_90a" "extern "C" __global__ ..."   ->   cubin, log */
#include <string.h>
#include <time.h>

#include "tuner/store_tables.h"

/* Two hashes over different texts: 128 bits, so that two sources never share a key by chance. */
const char *store_binary_key(struct arena *a, const char *toolchain, const char *options,
                             const char *source) {
    struct arena *scratch = arena_new(); /* of a network's thousand sources it would be 60 MB */
    const char *setting = arena_printf(scratch, "%s\n%s", toolchain, options);
    const char *forward = arena_printf(scratch, "%s\n%s", setting, source);
    const char *back = arena_printf(scratch, "%s\n%s", source, setting);
    const char *key =
        arena_printf(a, "%016llx%016llx", (unsigned long long)hash_bytes(forward, strlen(forward)),
                     (unsigned long long)hash_bytes(back, strlen(back)));
    arena_free(scratch);
    return key;
}

void store_limit_binaries(struct store *s, int64_t bytes) { s->binary_bytes = bytes; }

/* The key is summed, too: a binary under the key of another text is none. SQLite's integers are
 * signed. */
static int64_t checksum(const struct store *s, const char *key, const void *bytes, size_t n) {
    const char *text = arena_printf(s->arena, "%s %zu %016llx", key, n,
                                    (unsigned long long)store_keyed_sum(&s->secret, bytes, n));
    return (int64_t)store_keyed_sum(&s->secret, text, strlen(text));
}

enum ws_status store_get_binary(struct store *s, const char *key, struct store_binary *out,
                                bool *found, struct diag *d) {
    struct query q =
        sql_query(s->sql, "SELECT sum, compile_ms, log, bytes FROM binaries WHERE key = ?");
    put_text(&q, key);
    *found = query_step(&q);
    if (*found) {
        int64_t sum = take_int(&q);
        out->compile_ms = take_real(&q);
        out->log = take_text(&q);
        out->bytes = take_bytes(&q, &out->size);
        *found = checksum(s, key, out->bytes, out->size) == sum;
    }
    return query_end(&q) ? WS_OK : store_fail(s, d);
}

/* Down to three quarters of the limit, so that not every later call has to make room again. */
static void make_room(struct store *s) {
    struct query total = sql_query(s->sql, "SELECT sum(size) FROM binaries");
    if (query_int(&total) <= s->binary_bytes) return;
    struct query q = sql_query(
        s->sql,
        "DELETE FROM binaries WHERE rowid IN (SELECT rowid FROM (SELECT rowid, sum(size) "
        "OVER (ORDER BY created DESC, rowid DESC) AS newer FROM binaries) WHERE newer > ?)");
    put_int(&q, s->binary_bytes / 4 * 3);
    query_run(&q);
}

enum ws_status store_put_binary(struct store *s, const char *key, const struct store_binary *b,
                                struct diag *d) {
    sql_begin(s->sql);
    struct query q =
        sql_query(s->sql, "INSERT OR REPLACE INTO binaries (key, size, created, sum, compile_ms, "
                          "log, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)");
    put_text(&q, key);
    put_int(&q, (int64_t)b->size);
    put_int(&q, time(NULL));
    put_int(&q, checksum(s, key, b->bytes, b->size));
    put_real(&q, b->compile_ms);
    put_text(&q, b->log);
    put_bytes(&q, b->bytes, b->size);
    query_run(&q);
    make_room(s);
    return sql_commit(s->sql) ? WS_OK : store_fail(s, d);
}

enum ws_status store_get_fact(struct store *s, const char *key, double *value, bool *found,
                              struct diag *d) {
    struct query q = sql_query(s->sql, "SELECT value FROM facts WHERE key = ?");
    put_text(&q, key);
    *found = query_step(&q);
    if (*found) *value = take_real(&q);
    return query_end(&q) ? WS_OK : store_fail(s, d);
}

enum ws_status store_put_fact(struct store *s, const char *key, double value, struct diag *d) {
    struct query q =
        sql_query(s->sql, "INSERT OR REPLACE INTO facts (key, value, created) VALUES (?, ?, ?)");
    put_text(&q, key);
    put_real(&q, value);
    put_int(&q, time(NULL));
    return query_run(&q) ? WS_OK : store_fail(s, d);
}
