/* library.c: find NVIDIA's libraries at run time, one table of functions each.
 *
 *   libnvrtc.so not found; looked for libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so in
 *       $CUDA_HOME (not set)
 *       the loader's path
 *       /usr/lib/x86_64-linux-gnu ...
 *
 * Order: CUDA_HOME (a toolkit, a Python environment or its site-packages), what the loader finds by
 * itself, toolkits in their usual places, the wheels that `scripts/deps.sh cuda` installs where
 * this program was built. What lies in the current folder is nobody's choice, and is never looked
 * at. */
#include <dlfcn.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cuda/cuda_device.h"

enum { MAX_NAMES = 3 };

struct library {
    const char *title;
    const char *names[MAX_NAMES]; /* best first */
};

struct symbol {
    const char *name;
    size_t offset; /* of its pointer in the table */
};

/* Where toolkits and wheels keep libraries, relative to CUDA_HOME. */
static const char *const HOME_FOLDERS[] = {
    "lib64",
    "lib",
    "extras/CUPTI/lib64",
    "targets/*/lib",
    "cuda_nvrtc/lib", /* CUDA_HOME may be site-packages/nvidia itself */
    "cuda_cupti/lib",
    "cu1[0-9]/lib",
    "nvidia/*/lib",
    "lib/python3*/site-packages/nvidia/*/lib",
    "../cuda_*/lib", /* or one of the folders in it */
};

static const char *const FOLDERS[] = {
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/extras/CUPTI/lib64",
    "/usr/local/cuda*/targets/*/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/nvidia/lib64", /* where containers mount the driver */
    "/usr/lib/wsl/lib",
};

/* The folder of the sources, as an absolute path. It may be anyone's by now, on another machine
 * say: a file is loaded from there only if nobody else could have put it there. */
#ifdef WS_WHEELS
static const char *const WHEELS = WS_WHEELS "/lib/python3*/site-packages/nvidia/*/lib";
#else
static const char *const WHEELS = NULL;
#endif

struct search {
    const struct library *lib;
    struct arena *arena;
    struct buf tried;   /* one line a place */
    const char *broken; /* a file that is there but does not load: why not */
    const char *path;   /* what was opened */
};

static void *try_file(struct search *s, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle) {
        s->path = path;
        return handle;
    }
    const char *why = dlerror();
    if (strchr(path, '/') && access(path, R_OK) == 0 && !s->broken)
        s->broken = arena_strdup(s->arena, why ? why : path);
    return NULL;
}

static void *try_private_file(struct search *s, const char *path) {
    const char *why = access(path, F_OK) == 0 ? path_exposed(path, s->arena) : NULL;
    if (!why) return try_file(s, path);
    buf_printf(&s->tried, "\n        not loaded: %s", why);
    return NULL;
}

static void *try_folders(struct search *s, const char *pattern, bool private) {
    void *handle = NULL;
    glob_t found = {0};
    buf_printf(&s->tried, "\n    %s", pattern);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !handle; i++)
            for (int k = 0; k < MAX_NAMES && s->lib->names[k] && !handle; k++) {
                const char *path =
                    arena_printf(s->arena, "%s/%s", found.gl_pathv[i], s->lib->names[k]);
                handle = private ? try_private_file(s, path) : try_file(s, path);
            }
    globfree(&found);
    return handle;
}

static void *find(struct search *s, const char *home) {
    void *handle = NULL;
    if (!home) buf_puts(&s->tried, "\n    $CUDA_HOME (not set)");
    for (unsigned i = 0; home && i < sizeof HOME_FOLDERS / sizeof *HOME_FOLDERS && !handle; i++)
        handle = try_folders(s, arena_printf(s->arena, "%s/%s", home, HOME_FOLDERS[i]), false);
    if (handle) return handle;
    buf_puts(&s->tried, "\n    the loader's path");
    for (int k = 0; k < MAX_NAMES && s->lib->names[k] && !handle; k++)
        handle = try_file(s, s->lib->names[k]);
    for (unsigned i = 0; i < sizeof FOLDERS / sizeof *FOLDERS && !handle; i++)
        handle = try_folders(s, FOLDERS[i], false);
    return handle || !WHEELS ? handle : try_folders(s, WHEELS, true);
}

static enum ws_status not_found(const struct search *s, struct diag *d) {
    struct buf names = buf_new(s->arena);
    for (int k = 0; k < MAX_NAMES && s->lib->names[k]; k++)
        buf_printf(&names, "%s%s", k ? ", " : "", s->lib->names[k]);
    if (s->broken)
        return diag_fail(d, WS_MACHINE, "%s does not load: %s; looked for %s in%s", s->lib->title,
                         s->broken, names.p, s->tried.p);
    return diag_fail(d, WS_MACHINE, "%s not found; looked for %s in%s", s->lib->title, names.p,
                     s->tried.p);
}

static enum ws_status open_library(const struct library *lib, const struct symbol *symbols, int n,
                                   void *table, const struct env *env, struct arena *a,
                                   struct diag *d) {
    struct search s = {.lib = lib, .arena = a, .tried = buf_new(a)};
    void *handle = find(&s, env->cuda_home);
    if (!handle) return not_found(&s, d);
    for (int i = 0; i < n; i++) {
        void *p = dlsym(handle, symbols[i].name);
        if (!p)
            return diag_fail(d, WS_MACHINE, "%s is too old: it has no %s", s.path, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &p, sizeof p);
    }
    return WS_OK;
}

/* One open function a table. */
#define OPEN(prefix, TABLE, ...)                                                                   \
    enum ws_status prefix##_api_open(struct prefix##_api *api, const struct env *env,              \
                                     struct arena *a, struct diag *d) {                            \
        static const struct library lib = {__VA_ARGS__};                                           \
        static const struct symbol symbols[] = {TABLE(SYMBOL_OF_##prefix)};                        \
        return open_library(&lib, symbols, sizeof symbols / sizeof *symbols, api, env, a, d);      \
    }
#define SYMBOL_OF_cuda(type, field, symbol, args) {symbol, offsetof(struct cuda_api, field)},
#define SYMBOL_OF_nvrtc(type, field, symbol, args) {symbol, offsetof(struct nvrtc_api, field)},
#define SYMBOL_OF_cupti(type, field, symbol, args) {symbol, offsetof(struct cupti_api, field)},
#define SYMBOL_OF_profiler(type, field, symbol, args)                                              \
    {symbol, offsetof(struct profiler_api, field)},
#define SYMBOL_OF_nvml(type, field, symbol, args) {symbol, offsetof(struct nvml_api, field)},

OPEN(cuda, CU_FUNCTIONS, "libcuda.so.1", {"libcuda.so.1"})
OPEN(nvrtc, NVRTC_FUNCTIONS, "libnvrtc.so", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
OPEN(cupti, CUPTI_FUNCTIONS, "libcupti.so", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
OPEN(profiler, PROFILER_FUNCTIONS, "libcupti.so",
     {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
OPEN(nvml, NVML_FUNCTIONS, "libnvidia-ml.so.1", {"libnvidia-ml.so.1"})
