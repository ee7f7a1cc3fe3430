/* command_line.c: words to struct command_line, by getopt_long over commands.def.
 *
 * Texts are read into numbers and enums after all words have been seen, so that a bad value is said
 * in one place. */
#define _GNU_SOURCE /* getopt_long */
#include "tuner/command_line.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reports/history.h"
#include "tuner/commands.h"
#include "tuner/folder.h"
#include "tuner/interrupt.h"
#include "tuner/search.h"
#include "tuner/version.h"

struct given {
    const char *device, *dtype, *precision, *mode, *arch, *fusion, *results, *dump, *save, *backend;
    const char *search, *budget, *seed, *samples_max, *weights;
    const char *map, *threshold, *out, *figure, *run, *older_than, *limit_seconds, *limit_memory,
        *devices, *part;
    struct texts axes, configs, base, now;
    bool check, explain, retune, no_search, profile, compare_searches, in_process, no_figures;
    bool json, markdown, all, help, eval, collect;
};

enum option_kind { TEXT, LIST, FLAG };

static const struct option_row {
    enum option_kind kind;
    const char *name;
    size_t offset; /* in struct given */
    const char *value;
    int who;
} options[] = {
#define OPTION(kind, name, member, value, who, help)                                               \
    {kind, name, offsetof(struct given, member), value, who},
#include "tuner/commands.def"
#undef OPTION
};
enum { N_OPTIONS = sizeof options / sizeof *options, VALUE_BASE = 256 /* past all characters */ };

static const struct command_row {
    const char *words, *operands;
    int least, most;
    command_function *run;
} commands[] = {
#define COMMAND(id, words, operands, least, most, function, ...)                                   \
    {words, operands, least, most, function},
#include "tuner/commands.def"
#undef COMMAND
};

/* ---- which command --------------------------------------------------------------------------- */

/* How many of the words of the command ("cache ls") argv begins with; 0 if not with all of them. */
static int match_command(const char *words, int argc, char **argv) {
    int n = 0;
    for (const char *p = words; *p; p += strspn(p, " "), n++) {
        size_t length = strcspn(p, " ");
        if (n >= argc || strlen(argv[n]) != length || memcmp(p, argv[n], length) != 0) return 0;
        p += length;
    }
    return n;
}

/* "ls, show, rm": the second words of the commands that begin with this one; "" if none does. */
static const char *second_words(const char *first, struct arena *a) {
    struct buf b = buf_new(a);
    size_t n = strlen(first);
    for (int i = 0; i < N_COMMANDS; i++)
        if (!strncmp(commands[i].words, first, n) && commands[i].words[n] == ' ')
            buf_printf(&b, "%s%s", b.n ? ", " : "", commands[i].words + n + 1);
    return b.n ? b.p : "";
}

static int find_command(int argc, char **argv, int *n_words, struct diag *d) {
    for (int i = 0; i < N_COMMANDS; i++)
        if ((*n_words = match_command(commands[i].words, argc, argv)) > 0) return i;
    const char *more = second_words(argv[0], d->arena);
    if (*more && argc > 1)
        diag_fail(d, WS_USAGE, "no command '%s %s'; there are: %s", argv[0], argv[1], more);
    else if (*more)
        diag_fail(d, WS_USAGE, "%s what? There are: %s", argv[0], more);
    else {
        struct nearest near = nearest_new(argv[0]);
        for (int i = 0; i < N_COMMANDS; i++) nearest_offer(&near, commands[i].words);
        diag_fail(d, WS_USAGE, "no command '%s'; did you mean '%s'? `warpsmith help` lists them",
                  argv[0], near.word);
    }
    return -1;
}

/* ---- options --------------------------------------------------------------------------------- */

static void append_text(struct arena *a, struct texts *t, const char *value) {
    const char **at = NEW_ARRAY(a, const char *, t->n + 1);
    if (t->n) memcpy(at, t->at, sizeof *at * (size_t)t->n);
    at[t->n++] = value;
    t->at = at;
}

/* "--seed", "-D" */
static const char *dashed(const struct option_row *o, struct arena *a) {
    return arena_printf(a, "%s%s", o->name[1] ? "--" : "-", o->name);
}

/* Why getopt_long did not take `word`: the start of several options, or of none. */
static enum ws_status refuse_option(int command, const char *word, struct diag *d) {
    struct buf several = buf_new(d->arena);
    size_t n = strcspn(word, "=");
    word = arena_strndup(d->arena, word, n);
    struct nearest near = nearest_new(word);
    int starts = 0;
    for (int i = 0; i < N_OPTIONS; i++) {
        if (!(options[i].who >> command & 1)) continue;
        const char *name = dashed(&options[i], d->arena);
        nearest_offer(&near, name);
        if (strncmp(name, word, n) != 0) continue;
        buf_printf(&several, "%s%s", starts++ ? ", " : "", name);
    }
    if (starts > 1) return diag_fail(d, WS_USAGE, "'%s' may be %s", word, several.p);
    return diag_fail(d, WS_USAGE, "unknown option '%s'; did you mean '%s'? --help lists them", word,
                     near.word);
}

static void take_option(const struct option_row *o, struct given *g, const char *value,
                        struct arena *a) {
    void *member = (char *)g + o->offset;
    if (o->kind == FLAG) *(bool *)member = true;
    if (o->kind == TEXT) *(const char **)member = value;
    if (o->kind == LIST) append_text(a, member, value);
}

/* argv[0] is the command's last word. Operands are left in *operands. */
static enum ws_status read_words(int command, int argc, char **argv, struct given *g,
                                 struct texts *operands, struct diag *d) {
    struct option longs[N_OPTIONS + 1] = {0};
    char shorts[2 * N_OPTIONS + 8] = ":h"; /* ':': a missing value is told from an unknown option */
    int n = 0;
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option_row *o = &options[i];
        if (!(o->who >> command & 1)) continue;
        if (!o->name[1])
            sprintf(shorts + strlen(shorts), "%c%s", o->name[0], o->kind == FLAG ? "" : ":");
        else
            longs[n++] = (struct option){o->name, o->kind == FLAG ? no_argument : required_argument,
                                         NULL, VALUE_BASE + i};
    }
    optind = 0, opterr = 0;
    for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        const struct option_row *o = NULL;
        int which = c == '?' || c == ':' ? optopt : c;
        for (int i = 0; i < N_OPTIONS; i++)
            if (which == VALUE_BASE + i || (!options[i].name[1] && which == options[i].name[0]))
                o = &options[i];
        if (c == 'h')
            g->help = true;
        else if (c == ':')
            return diag_fail(d, WS_USAGE, "%s needs a value: %s", dashed(o, d->arena), o->value);
        else if (c == '?' && which >= VALUE_BASE)
            return diag_fail(d, WS_USAGE, "%s takes no value", dashed(o, d->arena));
        else if (c == '?')
            return refuse_option(
                command, which ? arena_printf(d->arena, "-%c", which) : argv[optind - 1], d);
        else
            take_option(o, g, optarg, d->arena);
    }
    for (int i = optind; i < argc; i++) append_text(d->arena, operands, argv[i]);
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
    struct diag own = diag_new(d->arena);
    double trials = INT_MAX;
    out->budget_s = INFINITY;
    if (n && text[n - 1] == 't')
        read_number("--budget", arena_strndup(d->arena, text, n - 1), 1, INT_MAX, true, &trials,
                    &own);
    else
        read_number("--budget", text, 0, 1e9, false, &out->budget_s, &own);
    out->budget_trials = (int)trials;
    if (own.status != WS_OK)
        diag_fail(d, WS_USAGE, "--budget takes seconds, 2.5, or a number of trials, 20t, not '%s'",
                  text);
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

static void read_precision(const char *option, const char *text, struct command_line *out,
                           struct diag *d) {
    if (!text) return;
    if (!precision_parse(text, &out->precision))
        diag_fail(d, WS_USAGE, "%s takes one of strict, f32, tf32, not '%s'", option, text);
    out->precise = true;
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
    static const char *const fusions[] = {"eager", "fuse", "apart", "persistent", NULL};
    static const char *const weights[] = {"fixed", "changing", NULL};
    int mode = WS_FWD, fusion = WS_FUSE, change = 0;
    double seed = 0, samples_max = 100;
    enum search_strategy search = SEARCH_model;
    read_choice("--mode", g->mode, modes, &mode, d);
    read_choice("--fusion", g->fusion, fusions, &fusion, d);
    read_choice("--weights", g->weights, weights, &change, d);
    read_number("--seed", g->seed, 0, 9e15, true, &seed, d);
    read_number("--samples-max", g->samples_max, 1, 100000, true, &samples_max, d);
    read_number("--threshold", g->threshold, 1e-6, 1, false, &out->threshold, d);
    read_number("--older-than", g->older_than, 0, 1e12, true, &out->older_than, d);
    read_budget(g->budget, out, d);
    read_limits(g, out, d);
    read_precision("WARPSMITH_PRECISION", env_read(d->arena).precision, out, d);
    read_precision("--precision", g->precision, out, d);
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
    out->weights_change = change;
    out->seed = (uint64_t)seed;
    out->samples_max = (int)samples_max;
    return d->status;
}

/* ---- operands ---------------------------------------------------------------------------------
 */

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Where workloads lie that are named without a path: here, in a checkout that this command was
 * built in, and where `make install` puts them. */
static struct texts workload_folders(struct arena *a) {
    struct texts t = {0};
    char self[PATH_MAX];
    append_text(a, &t, "workloads");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    while (n > 0 && self[n - 1] != '/') n--;
    if (n <= 0) return t;
    append_text(a, &t, arena_printf(a, "%.*s../workloads", (int)n, self));
    append_text(a, &t, arena_printf(a, "%.*s../share/warpsmith/workloads", (int)n, self));
    return t;
}

/* The file that is called `name`: "softmax" is workloads/softmax.py, unless there is a file
 * softmax, and "models/gpt2" is workloads/models/gpt2.py. */
static enum ws_status find_workload(const char *name, const char **file, struct diag *d) {
    struct arena *a = d->arena;
    if (is_file(*file = name)) return WS_OK;
    const char *slash = strrchr(name, '/'), *suffix = strstr(name, ".py") ? "" : ".py";
    struct texts folders = workload_folders(a), known = {0};
    for (int i = 0; i < folders.n; i++)
        if (is_file(*file = arena_printf(a, "%s/%s%s", folders.at[i], name, suffix))) return WS_OK;
    const char *folder = slash ? arena_strndup(a, name, (size_t)(slash - name)) : NULL;
    const char *within = folder;
    if (folder) known = folder_list(a, folder, ".py");
    for (int i = 0; i < folders.n && within && !known.n; i++)
        known = folder_list(a, folder = arena_printf(a, "%s/%s", folders.at[i], within), ".py");
    for (int i = 0; i < folders.n && !known.n; i++)
        known = folder_list(a, folder = folders.at[i], ".py");
    if (!known.n) return diag_fail(d, WS_USAGE, "no workload '%s'", name);
    struct nearest near = nearest_new(slash ? slash + 1 : name);
    for (int i = 0; i < known.n; i++) nearest_offer(&near, known.at[i]);
    struct buf b = buf_new(a);
    for (int i = 0; i < known.n; i++) buf_printf(&b, "%s%s", i ? ", " : "", known.at[i]);
    return diag_fail(d, WS_USAGE, "no workload '%s'; did you mean '%s'? %s has: %s", name,
                     near.word, folder, b.p);
}

static enum ws_status check_operands(const struct command_row *c, struct texts given,
                                     struct diag *d) {
    if (given.n >= c->least && given.n <= c->most) return WS_OK;
    if (given.n < c->least)
        return diag_fail(d, WS_USAGE, "which %s? --help shows an example", c->operands);
    if (!c->most) return diag_fail(d, WS_USAGE, "what is '%s'? It takes options only", given.at[0]);
    return diag_fail(d, WS_USAGE, "one %s at a time, not also '%s'", c->operands,
                     given.at[c->most]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void take(const struct given *g, struct command_line *out) {
    out->device = g->device;
    out->arch = g->arch;
    out->results = g->results;
    out->map = g->map;
    out->dump = g->dump;
    out->save = g->save;
    out->backend = g->backend;
    out->base = g->base;
    out->now = g->now;
    out->out = g->out;
    out->figure = g->figure;
    out->run = g->run;
    out->axes = g->axes;
    out->configs = g->configs;
    out->explain = g->explain;
    out->check = g->check;
    out->retune = g->retune;
    out->profile = g->profile;
    out->no_search = g->no_search;
    out->no_figures = g->no_figures;
    out->json = g->json;
    out->markdown = g->markdown;
    out->all = g->all;
    out->eval = g->eval;
    out->devices = g->devices;
    out->part = g->part;
    out->collect = g->collect;
}

static bool asks_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h"); }

static enum ws_status parse_command(int command, int argc, char **argv, struct command_line *out,
                                    const char **text, struct diag *d) {
    struct given g = {.results = "results"};
    *out = (struct command_line){
        .command = (enum command)(1 << command), .threshold = 0.02, .older_than = -1};
    if (out->command & (NIGHTLY_JUDGE | NIGHTLY_ACCEPT)) out->threshold = NIGHTS_THRESHOLD;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) g.help |= asks_help(argv[i]);
    if (!g.help && read_words(command, argc, argv, &g, &out->operands, d) != WS_OK)
        return d->status;
    if (g.help) { /* nothing else is looked at */
        struct buf b = buf_new(d->arena);
        command_help(&b, (enum command_number)command);
        *text = b.p;
        return WS_OK;
    }
    if (read_values(&g, out, d) != WS_OK ||
        check_operands(&commands[command], out->operands, d) != WS_OK)
        return d->status;
    if (g.device && g.arch) return diag_fail(d, WS_USAGE, "--device or --arch, not both");
    take(&g, out);
    if (!(out->command & WORKLOADS)) return WS_OK;
    return find_workload(out->operands.at[0], &out->file, d);
}

static enum ws_status parse(int argc, char **argv, struct arena *a, struct command_line *out,
                            command_function **run, const char **name, const char **text,
                            struct diag *d) {
    struct buf b = buf_new(a);
    int n_words = 0;
    *run = NULL, *name = "", *text = NULL;
    const char *first = argc > 1 ? argv[1] : "";
    if (asks_help(first))
        command_list(&b);
    else if (!strcmp(first, "--version") || !strcmp(first, "-V"))
        version_print(&b);
    else if (argc > 2 && asks_help(argv[2])) /* "cache --help" */
        command_help_words(&b, first);
    if (b.n) return *text = b.p, WS_OK;
    if (argc < 2) return diag_fail(d, WS_USAGE, "which command? `warpsmith help` lists them");
    int command = find_command(argc - 1, argv + 1, &n_words, d);
    if (command < 0) return d->status;
    *name = commands[command].words;
    *run = commands[command].run;
    parse_command(command, argc - n_words, argv + n_words, out, text, d);
    if (*text) *run = NULL;
    return d->status;
}

enum ws_status command_line_read(int argc, char **argv, struct arena *a, struct command_line *out,
                                 struct diag *d) {
    command_function *run;
    const char *name, *text;
    if (parse(argc, argv, a, out, &run, &name, &text, d) == WS_OK && text)
        diag_fail(d, WS_USAGE, "--help stands alone");
    return d->status;
}

enum ws_status command_line_suits(const struct command_line *line, bool script, struct diag *d) {
    const struct {
        bool given;
        const char *name;
        bool script;
    } only[] = {{line->backend, "--backend", true},
                {line->explain, "--explain", true},
                {line->axes.n > 0, "-D", false},
                {line->cast, "--dtype", false},
                {line->mode != WS_FWD, "--mode", false},
                {line->eval, "--eval", false},
                {line->weights_change, "--weights", false},
                {line->configs.n > 0, "--config", false},
                {line->fusion != WS_FUSE, "--fusion", false},
                {line->arch, "--arch", false},
                {line->check, "--check", false},
                {line->save, "--save", false},
                {line->dump, "--dump", false},
                {line->json, "--json", false}};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (only[i].given && only[i].script != script)
            return diag_fail(d, WS_USAGE, "%s is for %s; '%s' is a %s get_inputs()", only[i].name,
                             script ? "workload files" : "scripts", line->file,
                             script ? "script: it has no" : "workload: it has");
    return WS_OK;
}

void command_line_fail(const char *command, const struct diag *d) {
    fflush(stdout);
    fprintf(stderr, "warpsmith%s%s: %s", *command ? " " : "", command, d->text);
}

/* The environment is part of every call. */
static enum ws_status check_environment(struct arena *a, struct diag *d) {
    struct env e = env_read(a);
    if (!e.bad_log) return WS_OK;
    return diag_fail(d, WS_USAGE, "WS_LOGS has no '%s'; it takes: %s", e.bad_log, log_names());
}

int command_line_run(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct command_line line;
    command_function *run;
    const char *name, *text;
    int status = parse(argc, argv, a, &line, &run, &name, &text, &d);
    if (status == WS_OK && run) status = check_environment(a, &d);
    if (status != WS_OK) command_line_fail(name, &d);
    if (status == WS_OK && text) fputs(text, stdout);
    if (status == WS_OK && run) status = run(&line);
    arena_free(a);
    return status;
}
