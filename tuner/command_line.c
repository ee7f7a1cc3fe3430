/* command_line.c: arguments by table.
 *
 *   OPTION(kind, name, member of struct given, value in --help, who takes it, help)
 *
 * kind: TEXT takes a value and the last one wins, LIST collects values, FLAG takes none. Texts are
 * read into numbers and enums afterwards, so that a bad value is said in one place. */
#include "tuner/command_line.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tuner/folder.h"
#include "tuner/interrupt.h"
#include "tuner/search.h"

struct given {
    const char *device, *dtype, *mode, *arch, *fusion, *results, *dump, *save, *backend;
    const char *search, *budget, *seed, *samples_max, *limit_seconds, *limit_memory;
    struct texts axes, configs;
    bool check, explain, retune, no_search, profile, compare_searches, in_process, no_figures, help;
};

#define OPTIONS(OPTION)                                                                            \
    OPTION(TEXT, "--device", device, "cuda:N|cpu", BENCH | RUN | EXPLAIN,                          \
           "where to run; default: a GPU if there is one")                                         \
    OPTION(TEXT, "--arch", arch, "ARCH", COMPILE | EXPLAIN,                                        \
           "sm_80, sm_89, sm_90a, sm_100, ... or cpu; needs no such device")                       \
    OPTION(TEXT, "--dtype", dtype, "DTYPE", BENCH | RUN | EXPLAIN | COMPILE,                       \
           "cast floating inputs and parameters: f32, bf16, f16, f64")                             \
    OPTION(LIST, "-D", axes, "AXIS=VALUE", BENCH | RUN | EXPLAIN | COMPILE,                        \
           "set a module-level constant; bench sweeps dim=8,16 and climbs dim=64:512:*2 or +64")   \
    OPTION(TEXT, "--mode", mode, "MODE", BENCH | RUN | EXPLAIN | COMPILE, "fwd, bwd or train")     \
    OPTION(TEXT, "--seed", seed, "N", BENCH | RUN, "of the random inputs; default 0")              \
    OPTION(LIST, "--config", configs, "CONFIG", BENCH | RUN | COMPILE,                             \
           "replay \"x=1 warps=8\" or, for one kernel of several, \"NAME: x=1 warps=8\"")          \
    OPTION(TEXT, "--fusion", fusion, "MODE", COMPILE | EXPLAIN,                                    \
           "fuse (default), or eager: one kernel per operation")                                   \
    OPTION(TEXT, "--results", results, "DIR", BENCH, "where the CSV goes; default results")        \
    OPTION(FLAG, "--retune", retune, "", BENCH, "measure again what the store knows")              \
    OPTION(                                                                                        \
        FLAG, "--no-search", no_search, "", BENCH,                                                 \
        "measure nothing new: what the store has, else the nearest range's config or the default") \
    OPTION(FLAG, "--profile", profile, "", BENCH,                                                  \
           "count what the default and the winner of every kernel do, and explain their times")    \
    OPTION(TEXT, "--search", search, "NAME", BENCH,                                                \
           "model (default), exhaustive, random, coordinate, halving or profile")                  \
    OPTION(FLAG, "--compare-searches", compare_searches, "", BENCH,                                \
           "try all configs, then say what every strategy would have found: DIR/searches.csv")     \
    OPTION(TEXT, "--budget", budget, "SECONDS|Nt", BENCH,                                          \
           "stop searching after so many seconds of it, or N trials a kernel")                     \
    OPTION(TEXT, "--samples-max", samples_max, "N", BENCH, "most samples a variant; default 100")  \
    OPTION(FLAG, "--in-process", in_process, "", BENCH | RUN,                                      \
           "run kernels in this very process: for debuggers and sanitizers")                       \
    OPTION(FLAG, "--no-figures", no_figures, "", BENCH, "draw nothing")                            \
    OPTION(FLAG, "--check", check, "", RUN, "compare the outputs with the reference")              \
    OPTION(TEXT, "--backend", backend, "NAME", RUN | EXPLAIN,                                      \
           "of a script's torch.compile: inductor, aot_eager, eager, ./mine.so")                   \
    OPTION(FLAG, "--explain", explain, "", RUN, "of a script: say at the end what was captured")   \
    OPTION(TEXT, "--save", save, "DIR", RUN, "write inputs and outputs as .npy")                   \
    OPTION(TEXT, "--limit-seconds", limit_seconds, "N", BENCH | RUN | EXPLAIN | COMPILE,           \
           "processor time that capturing and lowering a file may take, 0: any; default 10, of a " \
           "script any")                                                                           \
    OPTION(TEXT, "--limit-memory", limit_memory, "MB", BENCH | RUN | EXPLAIN | COMPILE,            \
           "memory of its values meanwhile, tensors not counted, 0: any; default 1024, of a "      \
           "script 8192")                                                                          \
    OPTION(TEXT, "--dump", dump, "DIR", BENCH | RUN | EXPLAIN | COMPILE,                           \
           "write what every stage made, numbered")                                                \
    OPTION(FLAG, "--help", help, "", BENCH | RUN | EXPLAIN | COMPILE, "this text")

enum option_kind { TEXT, LIST, FLAG };

struct option {
    enum option_kind kind;
    const char *name;
    size_t offset; /* in struct given */
    const char *value;
    int who;
    const char *help;
};

static const struct option options[] = {
#define OPTION(kind, name, member, value, who, help)                                               \
    {kind, name, offsetof(struct given, member), value, who, help},
    OPTIONS(OPTION)
#undef OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* The option called `word` ("--seed" or "--seed=3"); *value is what stands after '='. */
static const struct option *find_option(enum command who, const char *word, const char **value) {
    size_t n = strcspn(word, "=");
    *value = word[0] == '-' && word[1] == '-' && word[n] ? word + n + 1 : NULL;
    if (!*value) n = strlen(word);
    for (int i = 0; i < N_OPTIONS; i++)
        if (options[i].who & (int)who && strlen(options[i].name) == n &&
            !memcmp(options[i].name, word, n))
            return &options[i];
    return NULL;
}

static void append_text(struct arena *a, struct texts *t, const char *value) {
    const char **at = NEW_ARRAY(a, const char *, t->n + 1);
    if (t->n) memcpy(at, t->at, sizeof *at * (size_t)t->n);
    at[t->n++] = value;
    t->at = at;
}

static enum ws_status read_words(enum command who, int argc, char **argv, struct arena *a,
                                 struct given *g, const char **file, struct diag *d) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value;
        if (word[0] != '-' || !word[1]) {
            if (*file) return diag_fail(d, WS_USAGE, "one file at a time: '%s'", word);
            *file = word;
            continue;
        }
        /* -Ddim=4096, as compilers take it */
        bool glued = word[1] == 'D' && word[2];
        const struct option *o = find_option(who, glued ? "-D" : word, &value);
        if (glued) value = word + 2;
        if (!o) return diag_fail(d, WS_USAGE, "unknown option '%s'; --help lists them", word);
        if (o->kind == FLAG && value) return diag_fail(d, WS_USAGE, "%s takes no value", o->name);
        if (o->kind != FLAG && !value && i + 1 == argc)
            return diag_fail(d, WS_USAGE, "%s needs a value: %s", o->name, o->value);
        if (o->kind != FLAG && !value) value = argv[++i];
        void *member = (char *)g + o->offset;
        if (o->kind == FLAG) *(bool *)member = true;
        if (o->kind == TEXT) *(const char **)member = value;
        if (o->kind == LIST) append_text(a, member, value);
    }
    return WS_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static enum ws_status read_number(const char *name, const char *text, double least, double most,
                                  bool whole, double *out, struct diag *d) {
    if (!text) return WS_OK;
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (!*text || *end || errno || !(v >= least && v <= most) || (whole && v != floor(v)))
        return diag_fail(d, WS_USAGE, "%s takes a %snumber from %g to %g, not '%s'", name,
                         whole ? "whole " : "", least, most, text);
    *out = v;
    return WS_OK;
}

static enum ws_status read_choice(const char *name, const char *text, const char *const *choices,
                                  int *out, struct diag *d) {
    if (!text) return WS_OK;
    struct buf all = buf_new(d->arena);
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(choices[i], text)) return *out = i, WS_OK;
        buf_printf(&all, "%s%s", i ? ", " : "", choices[i]);
    }
    return diag_fail(d, WS_USAGE, "%s takes one of %s, not '%s'", name, all.p, text);
}

/* "2.5": seconds; "15t": trials. */
static enum ws_status read_budget(const char *text, struct command_line *out, struct diag *d) {
    size_t n = text ? strlen(text) : 0;
    double trials = INT_MAX;
    out->budget_s = INFINITY;
    if (n && text[n - 1] == 't')
        read_number("--budget", arena_strndup(d->arena, text, n - 1), 1, INT_MAX, true, &trials, d);
    else
        read_number("--budget", text, 0, 1e9, false, &out->budget_s, d);
    out->budget_trials = (int)trials;
    return d->status;
}

/* Given, else by the environment. */
static void read_limits(const struct given *g, struct command_line *out, struct diag *d) {
    struct env e = env_read(d->arena);
    out->limit_seconds = out->limit_memory_mb = NAN;
    read_number("WARPSMITH_LIMIT_SECONDS", e.limit_seconds, 0, 1e9, false, &out->limit_seconds, d);
    read_number("WARPSMITH_LIMIT_MEMORY", e.limit_memory, 0, 1e9, true, &out->limit_memory_mb, d);
    read_number("--limit-seconds", g->limit_seconds, 0, 1e9, false, &out->limit_seconds, d);
    read_number("--limit-memory", g->limit_memory, 0, 1e9, true, &out->limit_memory_mb, d);
}

struct budget_limits command_line_limits(const struct command_line *line, bool script) {
    struct budget_limits l = {BUDGET_SECONDS, BUDGET_MEMORY, interrupted};
    if (script) l.seconds = BUDGET_SCRIPT_SECONDS, l.memory = BUDGET_SCRIPT_MEMORY;
    if (!isnan(line->limit_seconds)) l.seconds = line->limit_seconds;
    if (!isnan(line->limit_memory_mb)) l.memory = (size_t)line->limit_memory_mb << 20;
    return l;
}

static enum ws_status read_values(const struct given *g, struct command_line *out, struct diag *d) {
    static const char *const modes[] = {"fwd", "bwd", "train", NULL};
    static const char *const fusions[] = {"eager", "fuse", NULL};
    int mode = WS_FWD, fusion = WS_FUSE;
    double seed = 0, samples_max = 100;
    enum search_strategy search = SEARCH_model;
    read_choice("--mode", g->mode, modes, &mode, d);
    read_choice("--fusion", g->fusion, fusions, &fusion, d);
    read_number("--seed", g->seed, 0, 9e15, true, &seed, d);
    read_number("--samples-max", g->samples_max, 1, 100000, true, &samples_max, d);
    read_budget(g->budget, out, d);
    read_limits(g, out, d);
    if (g->search && !search_parse(g->search, &search))
        diag_fail(d, WS_USAGE, "--search takes one of %s, not '%s'", search_names(d->arena),
                  g->search);
    out->compare_searches = g->compare_searches;
    out->in_process = g->in_process;
    out->search = g->compare_searches ? SEARCH_exhaustive : search;
    if (g->dtype && (!dtype_parse(g->dtype, &out->dtype) || !dtype_is_float(out->dtype)))
        diag_fail(d, WS_USAGE, "--dtype takes one of f32, bf16, f16, f64, not '%s'", g->dtype);
    out->cast = g->dtype != NULL;
    out->mode = (enum ws_mode)mode;
    out->fusion = (enum ws_fusion)fusion;
    out->seed = (uint64_t)seed;
    out->samples_max = (int)samples_max;
    return d->status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static enum ws_status check_file(const char *path, struct arena *a, struct diag *d) {
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) return WS_OK;
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? arena_strndup(a, path, (size_t)(slash - path)) : ".";
    struct texts known = folder_list(a, folder, ".py");
    if (!known.n) known = folder_list(a, folder = "workloads", ".py");
    struct buf b = buf_new(a);
    for (int i = 0; i < known.n; i++) buf_printf(&b, "%s%s", i ? ", " : "", known.at[i]);
    if (!known.n) return diag_fail(d, WS_USAGE, "no workload '%s'", path);
    return diag_fail(d, WS_USAGE, "no workload '%s'; %s has: %s", path, folder, b.p);
}

enum ws_status command_line_parse(enum command who, int argc, char **argv, struct arena *a,
                                  struct command_line *out, struct diag *d) {
    struct given g = {.results = "results"};
    *out = (struct command_line){0};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) return out->help = true, WS_OK;
    if (read_words(who, argc, argv, a, &g, &out->file, d) != WS_OK ||
        read_values(&g, out, d) != WS_OK)
        return d->status;
    if (!out->file) return diag_fail(d, WS_USAGE, "which file? --help shows an example");
    if (g.device && g.arch) return diag_fail(d, WS_USAGE, "--device or --arch, not both");
    out->device = g.device;
    out->arch = g.arch;
    out->results = g.results;
    out->dump = g.dump;
    out->save = g.save;
    out->backend = g.backend;
    out->explain = g.explain;
    out->axes = g.axes;
    out->configs = g.configs;
    out->check = g.check;
    out->retune = g.retune;
    out->profile = g.profile;
    out->no_search = g.no_search;
    out->no_figures = g.no_figures;
    return check_file(out->file, a, d);
}

void command_line_help(enum command who, const char *usage, const char *example, struct buf *b) {
    buf_printf(b, "usage: warpsmith %s\n\n", usage);
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &options[i];
        if (!(o->who & (int)who)) continue;
        size_t at = b->n;
        buf_printf(b, "  %s%s%s", o->name, *o->value ? " " : "", o->value);
        buf_printf(b, "%*s%s\n", (int)(b->n - at < 25 ? 26 - (b->n - at) : 1), "", o->help);
    }
    buf_printf(b, "\nexample: warpsmith %s\n", example);
}

void command_line_fail(const char *command, const struct diag *d) {
    fflush(stdout);
    fprintf(stderr, "warpsmith %s: %s", command, d->text);
}
