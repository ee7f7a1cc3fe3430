/* run_script.c: `warpsmith run` of a file that is no workload: from top to bottom, as python3 with
 * PyTorch would run it, functions under torch.compile compiled. */
#include "tuner/run_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/backend_inductor.h"
#include "tuner/backend_plugin.h"
#include "tuner/sweep.h"

static void print(void *ctx, const char *text) { fputs(text, stdout); }

/* For people: beside the program's own output. */
static void log_line(void *ctx, const char *text) {
    fflush(stdout);
    fputs(text, stderr);
}

static void print_explanation(const struct script_counts *n, const char *lookups) {
    uint32_t guards = 0;
    for (uint32_t i = 0; i < n->graphs.n; i++) guards += n->graphs.at[i].n_guards;
    printf("Graph Count: %u\nGraph Break Count: %u\nOp Count: %u\nGuard Count: %u\n", n->graphs.n,
           n->breaks.n, n->n_calls, guards);
    printf("Capture: %.1f ms, %.0f us an operator; backends %.1f ms\n", n->capture_ms,
           n->n_calls ? 1000 * n->capture_ms / n->n_calls : 0, n->compile_ms);
    printf("Cache hits: %u, guards checked in %.2f us at best\n", n->n_hits, 1000 * n->check_ms);
    printf("Configs known before: %s\n", lookups);
    printf("Break Reasons:%s\n", n->breaks.n ? "" : " none");
    for (uint32_t i = 0; i < n->breaks.n; i++)
        printf("  %u: %s:%u: %s\n", i + 1, n->breaks.at[i].path, n->breaks.at[i].where.line,
               n->breaks.at[i].reason);
    for (uint32_t i = 0; i < n->graphs.n; i++)
        printf("\nGraph %u of %s, %u operators, guards:\n%s%s", i + 1, n->graphs.at[i].function,
               n->graphs.at[i].n_ops, n->graphs.at[i].guards, n->graphs.at[i].text);
}

static void give_axes(struct script_options *o, const struct sweep *s, struct arena *a) {
    const struct ws_axis *at = sweep_point(s, 0, a);
    struct capture_axis *axes = NEW_ARRAY(a, struct capture_axis, s->n_axes);
    for (int i = 0; i < s->n_axes; i++) axes[i] = (struct capture_axis){at[i].name, at[i].value};
    o->axes = axes;
    o->n_axes = s->n_axes;
}

/* sweep: of a workload; NULL: a script. */
static enum ws_status run_with(const struct command_line *line, bool explain,
                               const struct sweep *sweep, struct arena *a, struct diag *d) {
    struct machine m;
    struct store *store = NULL;
    struct backend_inductor *inductor = NULL;
    struct backend_plugin *plugin = NULL;
    struct script_counts counts = {0};
    const struct budget_limits limits = command_line_limits(line, true);
    const char *note = "";
    if (machine_open(line->device, a, &m, d) != WS_OK) return d->status;
    store_open(m.env.store_path, a, d, &store, &note);
    fputs(note, stderr);
    if (d->status == WS_OK) backend_inductor_open(&m, store, a, &inductor, d);
    if (d->status == WS_OK && line->backend && strchr(line->backend, '/'))
        backend_plugin_open(line->backend, a, &plugin, d);
    if (d->status == WS_OK) {
        const struct backend *backends[] = {backend_inductor_of(inductor),
                                            plugin ? backend_plugin_of(plugin) : NULL, NULL};
        struct script_options o = {.path = line->file,
                                   .seed = line->seed,
                                   .precision = line->precise ? &line->precision : NULL,
                                   .has_cuda = m.limits.kind == DEVICE_CUDA,
                                   .cuda_name = device_facts(m.device)->name,
                                   .cuda_capability =
                                       m.limits.kind == DEVICE_CUDA ? atoi(m.limits.arch + 3) : 0,
                                   .backends = backends,
                                   .backend = line->backend,
                                   .timed = explain,
                                   .logs = m.env.logs,
                                   .limits = &limits,
                                   .is_workload = sweep != NULL,
                                   .eval = line->eval,
                                   .print = print,
                                   .log = log_line};
        if (sweep) give_axes(&o, sweep, a);
        script_run(a, &o, &counts, d);
        if (explain) print_explanation(&counts, backend_inductor_lookups(inductor, a));
    }
    backend_inductor_close(inductor);
    backend_plugin_close(plugin);
    store_close(store);
    machine_close(&m);
    return d->status;
}

enum ws_status run_script(const struct command_line *line, bool explain, struct arena *a,
                          struct diag *d) {
    return run_with(line, explain, NULL, a, d);
}

/* What a script takes, too, and what a workload's entry does. */
static bool suits_segments(const struct command_line *line) {
    struct command_line given = *line;
    struct arena *a = arena_new();
    struct diag quiet = diag_new(a);
    given.axes.n = 0;
    given.eval = false;
    bool suits = command_line_suits(&given, true, &quiet) == WS_OK;
    arena_free(a);
    return suits;
}

enum ws_status run_broken(const struct command_line *line, bool explain, struct diag *broke,
                          struct arena *a) {
    struct sweep sweep;
    if (!capture_broke(broke) || !suits_segments(line)) return broke->status;
    fflush(stdout);
    fprintf(stderr, "%srunning it in compiled segments, as a script\n", broke->text);
    *broke = diag_new(broke->arena);
    if (sweep_parse(&line->axes, a, &sweep, broke) != WS_OK) return broke->status;
    return run_with(line, explain, &sweep, a, broke);
}
