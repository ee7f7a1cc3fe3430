/* suite_file.c: reads the cases of a suite, and its list of devices. */
#include "tuner/suite_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/csv_table.h"
#include "tuner/sweep.h"
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

enum { WORKLOAD, AXES, DTYPE, PRECISION, MODE, DEVICE, N_COLUMNS };
static const struct {
    const char *name, *option; /* NULL: the word stands by itself */
} columns[N_COLUMNS] = {{"workload", NULL},           {"axes", "-D"},     {"dtype", "--dtype"},
                        {"precision", "--precision"}, {"mode", "--mode"}, {"device", "--device"}};

/* "cuda" is cuda:0, as elsewhere. -1: the CPU; -2: neither. */
static int gpu_number(const char *name) {
    char *end;
    if (!strcmp(name, "cpu")) return -1;
    if (!strcmp(name, "cuda")) return 0;
    if (strncmp(name, "cuda:", 5) != 0 || name[5] < '0' || name[5] > '9') return -2;
    long n = strtol(name + 5, &end, 10);
    return *end || n >= 1024 ? -2 : (int)n;
}

/* What a suite says itself. */
static const char *not_for_a_case(const struct command_line *line, bool with_device) {
    if (line->device && !with_device) return "--device: a suite chooses, see --devices";
    if (strcmp(line->results, "results") != 0) return "--results: it is the suite's";
    if (line->json) return "--json";
    if (line->compare_searches) return "--compare-searches";
    return NULL;
}

static bool has_axes(const struct command_line *line, struct arena *a, struct diag *d) {
    struct sweep sweep;
    if (sweep_parse(&line->axes, a, &sweep, d) != WS_OK) return false;
    struct capture_axis *axes = NEW_ARRAY(a, struct capture_axis, sweep.n_axes);
    for (int i = 0; i < sweep.n_points; i++) {
        const struct ws_axis *point = sweep_point(&sweep, i, a);
        for (int k = 0; k < sweep.n_axes; k++)
            axes[k] = (struct capture_axis){point[k].name, point[k].value};
        if (!workload_has_axes(a, line->file, axes, sweep.n_axes, d)) return false;
    }
    return true;
}

/* What is being read. */
struct reading {
    const char *path;
    bool with_device;
    struct arena *arena;
    struct diag *d;
    struct suite_lines *out;
    int cap, number;                   /* number: of the line */
    int columns[N_COLUMNS], n_columns; /* of a table: which it has, in their order */
};

static void refuse(struct reading *r, const char *why) {
    diag_fail(r->d, WS_USAGE, "'%s', line %d: %s", r->path, r->number, why);
}

static void check_case(struct reading *r, const struct suite_line *x) {
    struct arena *a = r->arena;
    char **argv = NEW_ARRAY(a, char *, x->words.n + 3);
    struct command_line line;
    struct diag own = diag_new(a);
    argv[0] = arena_strdup(a, "warpsmith");
    argv[1] = arena_strdup(a, "bench");
    for (int i = 0; i < x->words.n; i++) argv[i + 2] = arena_strdup(a, x->words.at[i]);
    if (command_line_read(x->words.n + 2, argv, a, &line, &own) != WS_OK ||
        (line.axes.n && !has_axes(&line, a, &own)))
        return refuse(r, own.message);
    const char *not = not_for_a_case(&line, r->with_device);
    if (not ) return refuse(r, arena_printf(a, "not in a case: %s", not ));
    if (line.device && gpu_number(line.device) == -2)
        refuse(r, arena_printf(a, "a device is cpu, cuda or cuda:N, not '%s'", line.device));
}

static void add_case(struct reading *r, const struct suite_line *x) {
    struct suite_lines *out = r->out;
    check_case(r, x);
    if (out->n == r->cap) {
        struct suite_line *more = NEW_ARRAY(r->arena, struct suite_line, r->cap = 2 * r->cap + 16);
        if (out->n) memcpy(more, out->at, sizeof *more * (size_t)out->n);
        out->at = more;
    }
    out->at[out->n++] = *x;
}

static void read_words(struct reading *r, const char *text) {
    struct suite_line x = {.text = text, .number = r->number};
    if (!split_words(text, r->arena, &x.words)) return refuse(r, "a quote is not closed");
    if (x.words.n) add_case(r, &x);
}

/* ---- a table --------------------------------------------------------------------------------- */

static void read_header(struct reading *r, const struct table_row *row) {
    for (size_t i = 0; i < row->n; i++) {
        int c = 0;
        while (c < N_COLUMNS && strcmp(columns[c].name, row->cells[i]) != 0) c++;
        if (c == N_COLUMNS)
            return refuse(r, arena_printf(r->arena,
                                          "no column '%s'; there are workload, axes, dtype, "
                                          "precision, mode and device",
                                          row->cells[i]));
        for (int k = 0; k < r->n_columns; k++)
            if (r->columns[k] == c)
                return refuse(r, arena_printf(r->arena, "two columns '%s'", row->cells[i]));
        r->columns[r->n_columns++] = c;
    }
    for (int k = 0; k < r->n_columns; k++)
        if (r->columns[k] == WORKLOAD) return;
    refuse(r, "no column 'workload'");
}

/* Every combination of one word of each cell, but for axes, of which all belong together. */
static void add_cases(struct reading *r, const struct texts words[N_COLUMNS], int column,
                      const struct texts *so_far) {
    if (r->d->status != WS_OK) return;
    if (column == N_COLUMNS) {
        struct suite_line x = {.words = *so_far, .number = r->number};
        struct buf text = buf_new(r->arena);
        for (int i = 0; i < so_far->n; i++) buf_printf(&text, "%s%s", i ? " " : "", so_far->at[i]);
        x.text = text.p;
        return add_case(r, &x);
    }
    bool together = column == AXES;
    int n = together || !words[column].n ? 1 : words[column].n;
    for (int i = 0; i < n; i++) {
        struct texts more = *so_far;
        for (int k = together ? 0 : i; k < (together ? words[column].n : i + 1); k++) {
            if (k == words[column].n) break;
            if (columns[column].option) add_word(r->arena, &more, columns[column].option);
            add_word(r->arena, &more, words[column].at[k]);
        }
        add_cases(r, words, column + 1, &more);
    }
}

static void read_row(const struct table_row *row, void *context, struct report_error *e) {
    struct reading *r = context;
    struct texts words[N_COLUMNS] = {{0}}, none = {0};
    (void)e; /* what is wrong with words says r->d */
    if (!r->n_columns) return read_header(r, row);
    if ((int)row->n != r->n_columns)
        return refuse(r, arena_printf(r->arena, "cells: %zu, columns: %d", row->n, r->n_columns));
    for (int i = 0; i < r->n_columns; i++)
        for (const char *p = row->cells[i]; *(p += strspn(p, " \t"));) {
            size_t n = strcspn(p, " \t");
            add_word(r->arena, &words[r->columns[i]], arena_strndup(r->arena, p, n));
            p += n;
        }
    if (!words[WORKLOAD].n) return refuse(r, "no workload");
    add_cases(r, words, 0, &none);
}

static void read_table_line(struct reading *r, const char *text) {
    struct report_error e = {0};
    if (!*text || *text == '#') return;
    if (table_take_line(r->path, (size_t)r->number, text, read_row, r, &e) != REPORT_OK)
        diag_fail(r->d, WS_USAGE, "%s", e.text);
}

static bool is_table(const char *path) {
    size_t n = strlen(path);
    return n > 4 && !strcmp(path + n - 4, ".csv");
}

static enum ws_status read_cases(const char *path, bool with_device, struct arena *a,
                                 struct suite_lines *out, struct diag *d) {
    struct reading r = {.path = path, .with_device = with_device, .arena = a, .d = d, .out = out};
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    *out = (struct suite_lines){0};
    if (!f) return diag_fail(d, WS_USAGE, "cannot read '%s': %s", path, strerror(errno));
    for (ssize_t n; d->status == WS_OK && (n = getline(&text, &size, f)) >= 0;) {
        const char *p = text;
        if (!r.number++ && !strncmp(p, "\xef\xbb\xbf", 3)) p += 3; /* a byte order mark */
        while (n && (is_blank(text[n - 1]) || text[n - 1] == '\n')) text[--n] = 0;
        while (is_blank(*p)) p++;
        p = arena_strdup(a, p);
        if (is_table(path))
            read_table_line(&r, p);
        else
            read_words(&r, p);
    }
    if (ferror(f)) diag_fail(d, WS_USAGE, "cannot read '%s': %s", path, strerror(errno));
    free(text);
    fclose(f);
    if (d->status == WS_OK && !out->n) diag_fail(d, WS_USAGE, "'%s' has no case", path);
    return d->status;
}

enum ws_status suite_read(const char *path, struct arena *a, struct suite_lines *out,
                          struct diag *d) {
    return read_cases(path, false, a, out, d);
}

enum ws_status suite_read_with_devices(const char *path, struct arena *a, struct suite_lines *out,
                                       struct diag *d) {
    return read_cases(path, true, a, out, d);
}

/* ---- devices --------------------------------------------------------------------------------- */

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
