/* options.c: the only file that calls getenv. */
#include "base/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
#define L(id, text) text,
    WS_LOG_NAMES(L)
#undef L
};

const char *log_names(void) {
    return "graph_breaks, guards, recompiles, bytecode, dynamic, graph_code, aot_graphs, fusion, "
           "schedule, output_code, autotune, stages, all";
}

int log_find(const char *name) {
    for (int i = 0; i < LOG_COUNT; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

static const char *get(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : NULL;
}

static void read_logs(struct arena *a, struct env *e) {
    const char *s = get("WS_LOGS");
    while (s && *s) {
        size_t n = strcspn(s, ",");
        const char *word =
            *s == '+' ? s + 1 : s; /* torch's "+name" for verbose: accepted, same meaning */
        size_t len = n - (size_t)(word - s);
        bool known = len == 0;
        for (int i = 0; i < LOG_COUNT; i++)
            if ((strlen(names[i]) == len && !memcmp(word, names[i], len)) ||
                (len == 3 && !memcmp(word, "all", 3)))
                e->logs |= 1u << i, known = true;
        if (!known) e->bad_log = arena_strndup(a, word, len);
        s += n + (s[n] == ',');
    }
}

struct env env_read(struct arena *a) {
    struct env e = {
        .cuda_home = get("CUDA_HOME"),
        .cc = get("CC"),
        .cpu_cache = get("WARPSMITH_CPU_CACHE"),
        .run_id = get("WARPSMITH_RUN_ID"),
        .precision = get("WARPSMITH_PRECISION"),
        .limit_seconds = get("WARPSMITH_LIMIT_SECONDS"),
        .limit_memory = get("WARPSMITH_LIMIT_MEMORY"),
    };
    if (!e.cuda_home) e.cuda_home = get("CUDA_PATH");
    if (!e.cc) e.cc = "cc";
    e.tmp = get("TMPDIR");
    if (!e.tmp) e.tmp = "/tmp";
    const char *overlap = get("WARPSMITH_OVERLAP"), *graph = get("WARPSMITH_GRAPH");
    e.no_overlap = overlap && !strcmp(overlap, "0");
    const char *term = get("TERM");
    e.plain_terminal = get("NO_COLOR") || !term || !strcmp(term, "dumb");
    e.graphs = graph && !strcmp(graph, "1");
    e.threads_placed = get("OMP_PROC_BIND") || get("OMP_PLACES") || get("GOMP_CPU_AFFINITY");
    const char *cache = get("WARPSMITH_CACHE"), *xdg = get("XDG_CACHE_HOME"), *home = get("HOME");
    if (cache)
        e.store_path = arena_strdup(a, cache);
    else if (xdg)
        e.store_path = arena_printf(a, "%s/warpsmith/store.db", xdg);
    else if (home)
        e.store_path = arena_printf(a, "%s/.cache/warpsmith/store.db", home);
    else /* never in the current folder, where anything may lie */
        e.store_path =
            arena_printf(a, "%s/warpsmith-store-%u/store.db", e.tmp, (unsigned)geteuid());
    read_logs(a, &e);
    return e;
}
