/* suite_file.c: reads the cases of a suite, and its list of devices. */
#include "tuner/suite_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ws_tune.h"

static void add_word(struct arena *a, struct texts *t, const char *text) {
    const char **at = NEW_ARRAY(a, const char *, t->n + 1);
    if (t->n) memcpy(at, t->at, sizeof *at * (size_t)t->n);
    at[t->n++] = text;
    t->at = at;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* False: a quote is not closed. */
static bool split_words(const char *p, struct arena *a, struct texts *out) {
    struct buf word = buf_new(a);
    bool any = false;
    for (char quote = 0;; p++) {
        if (!*p && quote) return false;
        if (quote ? *p == quote : (*p == '"' || *p == '\'')) {
            quote = quote ? 0 : *p;
            any = true;
        } else if (!*p || (!quote && is_blank(*p))) {
            if (any) add_word(a, out, word.n ? arena_strndup(a, word.p, word.n) : "");
            word = buf_new(a);
            any = false;
            if (!*p) return true;
        } else if (!quote && !any && *p == '#') {
            return true;
        } else {
            buf_putc(&word, *p);
            any = true;
        }
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* What a suite says itself. */
static const char *not_for_a_case(const struct command_line *line) {
    if (line->device) return "--device: a suite chooses, see --devices";
    if (strcmp(line->results, "results") != 0) return "--results: it is the suite's";
    if (line->json) return "--json";
    if (line->compare_searches) return "--compare-searches";
    return NULL;
}

static enum ws_status check_case(const char *path, const struct suite_line *x, struct arena *a,
                                 struct diag *d) {
    char **argv = NEW_ARRAY(a, char *, x->words.n + 3);
    struct command_line line;
    struct diag own = diag_new(a);
    argv[0] = arena_strdup(a, "warpsmith");
    argv[1] = arena_strdup(a, "bench");
    for (int i = 0; i < x->words.n; i++) argv[i + 2] = arena_strdup(a, x->words.at[i]);
    if (command_line_read(x->words.n + 2, argv, a, &line, &own) != WS_OK)
        return diag_fail(d, WS_USAGE, "'%s', line %d: %s", path, x->number, own.message);
    const char *not = not_for_a_case(&line);
    return not ? diag_fail(d, WS_USAGE, "'%s', line %d: not in a case: %s", path, x->number, not )
               : WS_OK;
}

enum ws_status suite_read(const char *path, struct arena *a, struct suite_lines *out,
                          struct diag *d) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    int number = 0, cap = 0;
    *out = (struct suite_lines){0};
    if (!f) return diag_fail(d, WS_USAGE, "cannot read '%s': %s", path, strerror(errno));
    for (ssize_t n; d->status == WS_OK && (n = getline(&text, &size, f)) >= 0;) {
        char *p = text;
        number++;
        while (n && (is_blank(text[n - 1]) || text[n - 1] == '\n')) text[--n] = 0;
        while (is_blank(*p)) p++;
        struct suite_line x = {.text = arena_strdup(a, p), .number = number};
        if (!split_words(x.text, a, &x.words))
            diag_fail(d, WS_USAGE, "'%s', line %d: a quote is not closed", path, number);
        if (!x.words.n || d->status != WS_OK || check_case(path, &x, a, d) != WS_OK) continue;
        if (out->n == cap) {
            struct suite_line *more = NEW_ARRAY(a, struct suite_line, cap = 2 * cap + 16);
            if (out->n) memcpy(more, out->at, sizeof *more * (size_t)out->n);
            out->at = more;
        }
        out->at[out->n++] = x;
    }
    if (ferror(f)) diag_fail(d, WS_USAGE, "cannot read '%s': %s", path, strerror(errno));
    free(text);
    fclose(f);
    if (d->status == WS_OK && !out->n) diag_fail(d, WS_USAGE, "'%s' has no case", path);
    return d->status;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* "cuda" is cuda:0, as elsewhere. -1: the CPU; -2: neither. */
static int gpu_number(const char *name) {
    char *end;
    if (!strcmp(name, "cpu")) return -1;
    if (!strcmp(name, "cuda")) return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9') return -2;
    long n = strtol(name + 5, &end, 10);
    return *end || n >= 1024 ? -2 : (int)n;
}

static enum ws_status add_device(const char *name, int n_gpus, struct arena *a, struct texts *out,
                                 struct diag *d) {
    int gpu = gpu_number(name);
    if (gpu == -2)
        return diag_fail(d, WS_USAGE, "--devices takes all, or a list of cuda:N and cpu, not '%s'",
                         name);
    for (int i = 0; gpu >= 0 && i < out->n; i++)
        if (gpu_number(out->at[i]) == gpu)
            return diag_fail(d, WS_USAGE, "--devices has cuda:%d twice", gpu);
    if (gpu >= n_gpus)
        return diag_fail(d, WS_MACHINE, "no %s: the driver shows %d GPU%s", name, n_gpus,
                         n_gpus == 1 ? "" : "s");
    add_word(a, out, name);
    return WS_OK;
}

enum ws_status suite_devices(const char *list, struct arena *a, struct texts *out, struct diag *d) {
    struct env env = env_read(a);
    struct diag why = diag_new(a);
    int n_gpus = 0;
    *out = (struct texts){0};
    if (!list) return add_word(a, out, NULL), WS_OK;
    if (strstr(list, "cuda") || !strcmp(list, "all")) device_gpus(&env, a, &why, &n_gpus);
    if (!strcmp(list, "all")) {
        for (int i = 0; i < n_gpus; i++) add_word(a, out, arena_printf(a, "cuda:%d", i));
        if (!n_gpus) add_word(a, out, "cpu");
        return WS_OK;
    }
    if (why.status != WS_OK) return diag_fail(d, WS_MACHINE, "no GPU can be used: %s", why.message);
    for (const char *p = list; d->status == WS_OK; p++) {
        size_t n = strcspn(p, ",");
        add_device(arena_strndup(a, p, n), n_gpus, a, out, d);
        if (!*(p += n)) break;
    }
    return d->status;
}
