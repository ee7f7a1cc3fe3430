/* store.h: what tuning has learnt, kept in one SQLite file that many processes share.
 *
 *     store_open(env.store_path, arena, &d, &store, &note)
 *     store_lookup(store, &key, &winner, &found, &why, &d)   the winner, or why there is none
 *     store_tune_begin(store, &key, true, &claim, &d)        one tunes, the others wait and look
 *       store_trials(store, &key, &trials, &n, &d)           what a killed process had measured
 *       store_add_trial(store, &key, &graph, &trial, &d)     after every single measurement
 *       store_put_winner(store, &key, &graph, &winner, &d)
 *     store_tune_end(&claim)
 *
 * Promises:
 *   S1  whoever changes the graph, kernel, device, driver, toolchain or guard gets a miss with the
 *       reason, never a wrong hit; whether the kernel's text is still the one that was timed is for
 *       the caller to say, by the hash that lies beside each winner and trial (winners.h);
 *   S2  every call that writes is one transaction: after a kill at any moment the file is valid
 *       and holds every call that returned WS_OK;
 *   S3  a file that is no database, a damaged one, or one with other tables than its version has,
 *       is moved to PATH.damaged-N, never deleted, and a note says so;
 *   S4  a full disk, a read-only folder, a file of a newer version or of another program: a status
 *       with a message, and what was stored stays;
 *   S5  what others could have put there is not used: files and folder are this user's alone
 *       (0600, 0700), else opening fails with a message; binaries carry sums keyed with
 *       PATH.key, which only this user can read.
 *
 * All failures are WS_MACHINE unless a line says otherwise. Everything returned lives in the arena
 * given to store_open. A store belongs to one thread of one process: open it after a fork, not
 * before. Texts given may be NULL where no comment forbids it, and come back as "". */
#ifndef TUNER_STORE_H
#define TUNER_STORE_H

#include "reports/results.h"
#include "tuner/stats.h"
#include "ws.h"

struct store;

/* *note: complete lines for the user ("store: '...' was damaged, moved to '...'; a new one was
 * made"), or "". */
enum ws_status store_open(const char *path, struct arena *a, struct diag *d, struct store **out,
                          const char **note);
void store_close(struct store *s); /* s may be NULL */
const char *store_path(const struct store *s);

/* ---- keys ------------------------------------------------------------------------------------ */

/* All that a stored time depends on. No text may be NULL.
 *   KEY(name, what a reader calls it) */
#define STORE_KEYS(KEY)                                                                            \
    KEY(graph, "graph")         /* hash of the captured graph: ws_captured.graph_hash */           \
    KEY(kernel, "kernel")       /* ws_kernel.hash; STORE_PROGRAM for the whole graph */            \
    KEY(guard, "sizes")         /* "" for a point; of a range, the condition on its symbols */     \
    KEY(device, "device")       /* name, and what else sets the speed: "AMD ..., 16 cores" */      \
    KEY(driver, "driver")       /* device_facts.driver */                                          \
    KEY(toolchain, "toolchain") /* toolchain_version */

struct store_key {
#define KEY(name, what) const char *name;
    STORE_KEYS(KEY)
#undef KEY
};

#define STORE_PROGRAM "program"

/* Whence a graph came: for people, no part of any key. */
struct store_graph {
    const char *text;     /* canonical text of the graph */
    const char *workload; /* "softmax" */
    const char *mode, *dtype, *axes;
};

/* ---- winners --------------------------------------------------------------------------------- */

/* How the device was while something was timed. */
struct store_health {
    const char *timer;        /* "cupti", "monotonic" */
    double clock_mhz, temp_c; /* NAN: unknown */
    const char *throttle;
};

/* A kernel's winner and the evidence for it. */
struct store_winner {
    const char *kernel_name; /* "softmax_amax_sub_exp_sum_div_0" */
    const char *arch;        /* "sm_90a" */
    const char *config;      /* config_str; not NULL */
    struct stats us;
    double default_us; /* the rule's config, timed interleaved with the winner; NAN: not timed */
    int tried;         /* configs measured */
    int tied; /* of these, equal to the winner as far as samples can tell, itself included */
    struct store_health health;
    const char *run_id;
    int64_t created;       /* seconds since 1970; 0 when writing: now */
    const char *text_hash; /* source_hash under this config; "": from before hashes were kept */
};

/* The whole graph: what a cache hit reports. Its key's kernel is STORE_PROGRAM and its guard "". */
struct store_program {
    const char *arch;
    struct stats eager, dflt, tuned; /* n = 0: not measured */
    struct store_health health;
    const char *run_id;
    int64_t created;
    const char *text_hash; /* of all winners' hashes, in launch order */
};

/* Hit: *found is true and *out filled. Miss: *found is false and *why says why, one line without a
 * newline: "never tuned", "driver changed: 570.1 -> 580.2", "tuning was cut short after 17 trials".
 * why may be NULL. */
enum ws_status store_lookup(struct store *s, const struct store_key *k, struct store_winner *out,
                            bool *found, const char **why, struct diag *d);
enum ws_status store_put_winner(struct store *s, const struct store_key *k,
                                const struct store_graph *g, const struct store_winner *w,
                                struct diag *d);
/* The key's winner turned out to be none. */
enum ws_status store_drop_winner(struct store *s, const struct store_key *k, struct diag *d);
enum ws_status store_lookup_program(struct store *s, const struct store_key *k,
                                    struct store_program *out, bool *found, const char **why,
                                    struct diag *d);
enum ws_status store_put_program(struct store *s, const struct store_key *k,
                                 const struct store_graph *g, const struct store_program *p,
                                 struct diag *d);

/* ---- ranges ---------------------------------------------------------------------------------- */

/* A range is a winner whose graph has symbols for sizes and whose guard says for which sizes the
 * config was found (guard_range.h). Its evidence are the rungs of a ladder: sizes tuned one by one,
 * each with a winner of its own. */
struct store_rung {
    const char *axis;   /* the axis that the symbol stands for: "dim" */
    int64_t size;       /* of s0 */
    const char *graph;  /* hash of the graph at this size, under which its trials are kept */
    const char *kernel; /* and of its kernel */
    const char *winner; /* config; the range's own, or one that ties with it here */
    struct stats us;    /* of the range's config at this size */
    double winner_us, default_us; /* medians; NAN: not timed */
    const char *run_id;
};

struct store_range {
    const char *guard; /* "256 <= s0 && s0 < 4096 && s0 % 8 == 0" */
    struct store_winner winner;
    struct store_rung *rungs; /* by size */
    int n_rungs;
};

/* Ranges of one ladder, of one kernel of a symbolic graph; k->guard is not looked at. They take the
 * place of older ones of the key that lie between the ladder's first and last rung. */
enum ws_status store_put_ranges(struct store *s, const struct store_key *k,
                                const struct store_graph *g, const struct store_range *ranges,
                                int n, struct diag *d);

/* All winners, of points and ranges, under k's device, driver and toolchain; newest first. */
struct store_config {
    int64_t id; /* of the entry */
    const char *graph, *kernel, *guard, *config, *text_hash;
    int64_t size; /* of a range: its first rung, which text_hash is of; 0: it has none */
};
enum ws_status store_configs(struct store *s, const struct store_key *k, struct store_config **out,
                             int *n, struct diag *d);
/* Along which axes a workload was tuned, ever and anywhere. */
enum ws_status store_ladder_axes(struct store *s, const char *workload, const char ***out, int *n,
                                 struct diag *d);
/* Why there is no range under k: what differs from the nearest key with one, or "no ranges". */
enum ws_status store_why_no_range(struct store *s, const struct store_key *k, const char **why,
                                  struct diag *d);

/* ---- other sizes ----------------------------------------------------------------------------- */

/* A winner of a graph that is g, of the same workload, but for the numbers in its text. Its kernel
 * is one of k's graph if it has that one's name. */
struct store_near {
    const char *graph, *kernel; /* hashes */
    const char *kernel_name, *config;
    const char *axes; /* "rows=4096 dim=1024" */
};
/* Those under k's device, driver and toolchain, of the nearest graph first; of k's own, and of
 * ranges, none. */
enum ws_status store_nearest(struct store *s, const struct store_key *k,
                             const struct store_graph *g, struct store_near **out, int *n,
                             struct diag *d);

/* How often an entry answered a lookup. id 0: what no entry answered, in `misses`. */
struct store_uses {
    int64_t id, hits, nearest, misses;
};
enum ws_status store_add_uses(struct store *s, const struct store_uses *uses, int n,
                              struct diag *d);
/* Of one entry; id 0: of all, with the misses. */
enum ws_status store_get_uses(struct store *s, int64_t id, struct store_uses *out, struct diag *d);

/* ---- trials ---------------------------------------------------------------------------------- */

struct store_trial {
    const char *config; /* not NULL */
    enum result_status status;
    struct stats us;                   /* n = 0 unless it was timed */
    int regs, spill_bytes, smem_bytes; /* -1: unknown */
    double compile_ms;                 /* NAN: not compiled */
    const char *message;               /* why it was refused; "" if ok */
    const char *run_id;
    int64_t at;            /* seconds since 1970; 0 when writing: now */
    const char *text_hash; /* of what was tried; "": unknown, or nothing could be emitted */
};

/* graph may be NULL if it was given with an earlier call for this key. */
enum ws_status store_add_trial(struct store *s, const struct store_key *k,
                               const struct store_graph *g, const struct store_trial *t,
                               struct diag *d);
/* The newest trial of every config under exactly this key, oldest first: these need no second
 * measurement, if the config's text is what it was. */
enum ws_status store_trials(struct store *s, const struct store_key *k, struct store_trial **out,
                            int *n, struct diag *d);

/* ---- binaries and facts ---------------------------------------------------------------------- */

struct store_binary {
    const void *bytes;
    size_t size;
    const char *log; /* what the compiler said */
    double compile_ms;
};

/* The content key of a binary. options: whatever else decides the bytes, as the arch; for the CPU's
 * -march=native the device's name. */
const char *store_binary_key(struct arena *a, const char *toolchain, const char *options,
                             const char *source);
/* A binary whose bytes no longer match their checksum, or that another store made, is a miss. */
enum ws_status store_get_binary(struct store *s, const char *key, struct store_binary *out,
                                bool *found, struct diag *d);
/* Once all binaries together exceed the limit, the oldest make room. */
enum ws_status store_put_binary(struct store *s, const char *key, const struct store_binary *b,
                                struct diag *d);
void store_limit_binaries(struct store *s, int64_t bytes); /* default: STORE_BINARY_BYTES */
#define STORE_BINARY_BYTES ((int64_t)512 << 20)

/* Numbers worth measuring once: "copy_gbps NVIDIA H200 GPU-1b2c 580.65". */
enum ws_status store_get_fact(struct store *s, const char *key, double *value, bool *found,
                              struct diag *d);
enum ws_status store_put_fact(struct store *s, const char *key, double value, struct diag *d);

/* ---- one tuner at a time --------------------------------------------------------------------- */

/* The right to tune a key: a lock on the file PATH.lock-<hash of the key>, which the system
 * releases when its owner dies. */
struct store_claim {
    bool held;
    int fd;
    const char *path;
};

/* Without wait, claim->held is false if another process tunes this key: say so and call again with
 * wait. After a wait look the key up again: the other may have stored the winner. One process must
 * not claim a key twice. */
enum ws_status store_tune_begin(struct store *s, const struct store_key *k, bool wait,
                                struct store_claim *claim, struct diag *d);
void store_tune_end(struct store_claim *claim); /* nothing to do if it is not held */

/* ---- housekeeping: `warpsmith cache` --------------------------------------------------------- */

/* One line of `cache ls`: a winner, a program, or tuning that was cut short. */
struct store_entry {
    int64_t id; /* never used again once removed */
    struct store_key key;
    struct store_graph graph;
    int n_trials;
    bool has_winner, has_program;
    struct store_winner winner;
    struct store_program program;
    struct store_rung *rungs; /* of a range */
    int n_rungs;
    int64_t newest; /* when anything was last written about it */
};
enum ws_status store_entries(struct store *s, struct store_entry **out, int *n, struct diag *d);
enum ws_status store_entry(struct store *s, int64_t id, struct store_entry *out, bool *found,
                           struct diag *d);
/* All trials of an entry in the order they were made. */
enum ws_status store_entry_trials(struct store *s, int64_t id, struct store_trial **out, int *n,
                                  struct diag *d);

enum ws_status store_remove(struct store *s, int64_t id, bool *found, struct diag *d);
/* Entries and binaries last written before `time`; INT64_MAX removes everything, facts included. */
enum ws_status store_remove_older(struct store *s, int64_t time, int *n, struct diag *d);

/* Entries, trials and graphs as a file of the same format, which another machine can import.
 * Replaces the file only when the new one is whole. */
enum ws_status store_export(struct store *s, const char *path, int *n, struct diag *d);
/* Merge such a file; of two winners for one key the newer stays. All or nothing. WS_WRONG: the file
 * is foreign, damaged or of a newer version; WS_USAGE: it does not exist. *n: entries new or
 * replaced. */
enum ws_status store_import(struct store *s, const char *path, int *n, struct diag *d);
/* The same. *n_other: kernels for which both have a winner, and not the same config. Of two that
 * were found in the same second the larger run_id and config stays: the order of merges does not
 * matter. */
enum ws_status store_merge(struct store *s, const char *path, int *n, int *n_other, struct diag *d);

#endif
