/* options.h: the environment, read in one place (options.c) and nowhere else.
 *
 *   WS_LOGS          comma list of log names below, "all" for every one; mirrors TORCH_LOGS
 *   WARPSMITH_CACHE  path of the store; default $XDG_CACHE_HOME/warpsmith/store.db, else
 *                    ~/.cache/..., and where there is no home $TMPDIR/warpsmith-store-UID/...
 *   WARPSMITH_OVERLAP  0: no launch is made ready before the one before it has ended
 *   WARPSMITH_GRAPH  1: a program of several launches is one CUDA graph
 *   WARPSMITH_CPU_CACHE  bytes of the CPU's last-level caches, as 32M; default: those of /sys
 *   WARPSMITH_LIMIT_SECONDS, WARPSMITH_LIMIT_MEMORY  as --limit-seconds and --limit-memory
 *   CUDA_HOME        where a CUDA toolkit is looked for first
 *   NO_COLOR, TERM   set, or "dumb": no escape sequences on a terminal
 *   CC               the C compiler of the CPU device; default cc
 *   TMPDIR           where it works; default /tmp
 */
#ifndef WS_BASE_OPTIONS_H
#define WS_BASE_OPTIONS_H

#include <stdbool.h>

#include "base/arena.h"

#define WS_LOG_NAMES(L)                                                                            \
    L(GRAPH_BREAKS, "graph_breaks")                                                                \
    L(GUARDS, "guards")                                                                            \
    L(RECOMPILES, "recompiles")                                                                    \
    L(BYTECODE, "bytecode")                                                                        \
    L(DYNAMIC, "dynamic")                                                                          \
    L(GRAPH_CODE, "graph_code")                                                                    \
    L(AOT_GRAPHS, "aot_graphs")                                                                    \
    L(FUSION, "fusion")                                                                            \
    L(SCHEDULE, "schedule")                                                                        \
    L(OUTPUT_CODE, "output_code")                                                                  \
    L(AUTOTUNE, "autotune")                                                                        \
    L(STAGES, "stages")

enum log_name {
#define L(id, text) LOG_##id,
    WS_LOG_NAMES(L)
#undef L
        LOG_COUNT
};
_Static_assert(LOG_COUNT <= 32, "a bit of logs for each");

struct env {
    uint32_t logs;          /* bit per enum log_name */
    const char *bad_log;    /* an unknown name in WS_LOGS, or NULL */
    const char *store_path; /* never NULL */
    const char *cuda_home;  /* NULL if not set */
    const char *cc, *tmp;
    const char *cpu_cache; /* NULL if not set */
    const char *run_id;    /* of result rows; NULL if not set */
    const char *limit_seconds, *limit_memory, *precision;
    bool no_overlap, graphs;
    bool plain_terminal; /* no escape sequences */
    bool threads_placed; /* OpenMP was told where threads go: nobody else is to pin them */
};

struct env env_read(struct arena *a);
const char *log_names(void);    /* "graph_breaks, guards, ..." for messages */
int log_find(const char *name); /* enum log_name, or -1 */

#endif
