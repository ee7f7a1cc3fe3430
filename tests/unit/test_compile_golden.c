/* test_compile_golden.c: what each stage of the back end makes of the graphs in
 * tests/golden/loop/NAME.graph:
 *
 *     loop/NAME.loops             the nests before fusion
 *     schedule/NAME.schedule      every fusion considered, the groups, the memory plan (for sm_90a)
 *     kernel/NAME.sm_90a, .cpu    kernel bodies, and a block program for each config
 *     emit/NAME.sm_90a, .cpu      launches and source text below the prelude
 *
 * Comment lines at the head of a graph say what to do besides the default config:
 *
 *     # options: eager s0=64              one kernel per operator; the hint of a symbolic size
 *     # config sm_90a: x=1 r=64 warps=1   one more config for every kernel; a refusal is expected
 *                                         text, too
 *
 * `test_compile_golden --update` writes what is there now. Read the diff before you commit it. */
#include <glob.h>
#include <stdio.h>

#include "emit/emit.h"
#include "lower_test.h"
#include "ws_tune.h"

#define GRAPHS "tests/golden/loop/*.graph"

struct golden {
    struct arena *arena;
    const char *name, *text, *options;
    bool eager;
};

static bool update; /* --update */

/* ---- files ----------------------------------------------------------------------------------- */

static int compare(const struct golden *g, const char *stage, const char *suffix, const char *got) {
    char *path = arena_printf(g->arena, "tests/golden/%s/%s.%s", stage, g->name, suffix);
    if (update) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
        return 0;
    }
    struct diag d = diag_new(g->arena);
    const struct source *want = source_read(g->arena, path, &d);
    if (want && !strcmp(want->text, got)) return 0;
    size_t line = 1, from = 0;
    for (size_t i = 0; want && want->text[i] && want->text[i] == got[i]; i++)
        if (got[i] == '\n') line++, from = i + 1;
    print_error("%s: %s\n", path, want ? "differs" : "is missing");
    if (want)
        print_error("  line %zu is:       %.*s\n  and should be:  %.*s\n", line,
                    (int)strcspn(got + from, "\n"), got + from,
                    (int)strcspn(want->text + from, "\n"), want->text + from);
    return 1;
}

/* What follows "# key:" in the head of the graph, for the nth such line; NULL if there is none. */
static const char *head_line(const struct golden *g, const char *key, int nth) {
    char *start = arena_printf(g->arena, "# %s: ", key);
    size_t n = strlen(start);
    for (const char *p = g->text; *p == '#'; p += strcspn(p, "\n") + 1)
        if (!strncmp(p, start, n) && nth-- == 0)
            return arena_strndup(g->arena, p + n, strcspn(p + n, "\n"));
    return NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void put_map(struct buf *b, const struct ws_arg *x, struct arena *a) {
    struct tensor_map m = ws_map_at(x->map, 0);
    if (x->base == WS_ARG_BUFFER)
        buf_printf(b, " map b%d+%lld", x->buffer, (long long)x->value);
    else
        buf_printf(b, " map %s+%lld", x->base == WS_ARG_KEPT ? "kept" : "workspace",
                   (long long)x->value);
    buf_printf(b, " (%s)", tensor_map_str(&m, a));
}

static void put_launches(struct buf *b, const struct ws_source *s, struct arena *a) {
    for (int l = 0; l < s->n_launches; l++) {
        const struct ws_launch *w = &s->launches[l];
        buf_printf(b, "launch %s: grid %lld x %lld x %lld, threads %d, shared %d", w->entry,
                   (long long)w->grid[0], (long long)w->grid[1], (long long)w->grid[2], w->threads,
                   w->smem);
        if (w->cluster > 1) buf_printf(b, ", clusters of %d", w->cluster);
        if (w->at_load) buf_puts(b, ", at load");
        if (w->alone) buf_puts(b, ", alone");
        buf_puts(b, ", arguments");
        for (int i = 0; i < w->n_args; i++) {
            const struct ws_arg *x = &w->args[i];
            if (x->kind == WS_ARG_MAP)
                put_map(b, x, a);
            else if (x->kind == WS_ARG_BUFFER)
                buf_printf(b, " b%d", x->buffer);
            else
                buf_printf(b,
                           x->kind == WS_ARG_SIZE        ? " size %lld"
                           : x->kind == WS_ARG_WORKSPACE ? " workspace+%lld"
                           : x->kind == WS_ARG_KEPT      ? " kept+%lld"
                                                         : " tickets+%lld",
                           (long long)x->value);
        }
        buf_putc(b, '\n');
    }
    if (s->workspace) buf_printf(b, "workspace %zu bytes\n", s->workspace);
    if (s->kept) buf_printf(b, "kept %zu bytes\n", s->kept);
    if (s->tickets) buf_printf(b, "tickets %zu bytes\n", s->tickets);
}

static void put_variant(const struct golden *g, const struct ws_program *p, int k,
                        const struct config *c, struct buf *blocks, struct buf *sources) {
    struct diag d = diag_new(g->arena);
    struct ws_source s;
    const char *why = ws_config_illegal(p, k, c, g->arena);
    if (why) {
        buf_printf(blocks, "\nrefused %s: %s\n", config_str(g->arena, c), why);
        return;
    }
    if (ws_emit(p, k, c, g->arena, &s, &d) != WS_OK) fail_msg("%s: %s", g->name, d.text);
    bool alone = p->n_kernels == 1 && s.n_launches == 1;
    for (int l = 0; l < s.n_launches; l++) /* what waits for none is launched behind none */
        if (s.launches[l].alone &&
            (!(alone || s.launches[l].together) || strstr(s.text, "k_enter")))
            fail_msg("%s: %s is not alone", g->name, s.launches[l].entry);
    const char *body = strstr(s.text, "/* ---- kernel text");
    assert_non_null(body);
    buf_printf(blocks, "\n%s", s.block);
    if (sources->n) buf_putc(sources, '\n');
    put_launches(sources, &s, g->arena);
    ws_print_lines(sources, p, k);
    buf_puts(sources, body);
}

static int check_device(const struct golden *g, const struct device_limits *limits) {
    struct exprs *ex = exprs_new(g->arena);
    struct diag d = diag_new(g->arena);
    define_sizes(g->arena, ex, g->options);
    struct graph *graph = graph_parse(g->arena, ex, test_source(g->arena, g->text), &d);
    if (!graph) fail_msg("%s", d.text);
    struct ws_captured captured = {
        .arena = g->arena, .graph = graph, .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(&captured, limits, g->eager ? WS_EAGER : WS_FUSE, NULL, &d);
    if (!p) fail_msg("%s: %s", g->name, d.text);
    struct buf blocks = buf_new(g->arena), sources = buf_new(g->arena);
    for (int k = 0; k < p->n_kernels; k++) {
        const struct config *all;
        const char *text;
        int n, pruned;
        ws_configs(p, k, &all, &n, &pruned);
        if (k) buf_putc(&blocks, '\n');
        kernel_print(&blocks, p->kernels[k].ir);
        put_variant(g, p, k, &all[0], &blocks, &sources);
        for (int i = 0; (text = head_line(g, arena_printf(g->arena, "config %s", limits->arch), i));
             i++) {
            struct config c;
            if (!config_parse(text, &c, &d)) fail_msg("%s: %s", g->name, d.text);
            put_variant(g, p, k, &c, &blocks, &sources);
        }
    }
    return compare(g, "kernel", limits->arch, blocks.p) +
           compare(g, "emit", limits->arch, sources.p);
}

static int check_stages(const struct golden *g) {
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    struct buf nests = buf_new(g->arena), plan = buf_new(g->arena);
    struct schedule *s = must_schedule(g->arena, g->text, g->options, &gpu, g->eager);
    loops_print(&nests, must_lower(g->arena, g->text, g->options));
    buf_printf(&plan, "%s%s", s->log.p, s->log.n ? "\n" : "");
    schedule_print(&plan, s);
    buf_putc(&plan, '\n');
    schedule_print_memory(&plan, s);
    return compare(g, "loop", "loops", nests.p) + compare(g, "schedule", "schedule", plan.p) +
           check_device(g, &gpu) + check_device(g, &cpu);
}

static void test_golden_files(void **state) {
    glob_t files;
    int wrong = 0;
    assert_int_equal(glob(GRAPHS, 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= 12);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        const struct source *src = source_read(a, files.gl_pathv[i], &d);
        assert_non_null(src);
        const char *file = strrchr(files.gl_pathv[i], '/') + 1;
        struct golden g = {a, arena_strndup(a, file, strlen(file) - strlen(".graph")), src->text,
                           "", false};
        const char *options = head_line(&g, "options", 0);
        if (options) g.options = options;
        g.eager = strstr(g.options, "eager") != NULL;
        wrong += check_stages(&g);
        arena_free(a);
    }
    globfree(&files);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    update = argc > 1 && !strcmp(argv[1], "--update");
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
