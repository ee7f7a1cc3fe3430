/* run.c: `warpsmith run`: run a PyTorch file's model once, check the outputs, save them.
 *
 * Each kernel runs under the config given, else the stored winner of these sizes, of a range of
 * sizes that holds, of the nearest one, or of the nearest other sizes, else the default by rule. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/alone.h"
#include "tuner/commands.h"
#include "tuner/configs.h"
#include "tuner/folder.h"
#include "tuner/interrupt.h"
#include "tuner/npy.h"
#include "tuner/plan.h"
#include "tuner/room.h"
#include "tuner/run_script.h"
#include "tuner/sweep.h"
#include "tuner/symbolic_view.h"
#include "tuner/winners.h"

struct run {
    struct command_line line;
    struct arena *arena;
    struct machine machine;
    struct store *store;
    struct range_table *ranges;  /* NULL: not asked yet */
    struct symbolic_view *views; /* one for each axis that has ranges */
    int n_views;
    struct store_near *near; /* other sizes, asked for with the ranges */
    int n_near;
    const struct ws_axis *axes; /* as given */
    int n_axes;
    struct stages stages;
    struct ws_captured *captured;
    struct ws_program *program;
    struct builder builder;
    struct data data;
    struct plan plan;
    struct buffers memory;
};

static enum ws_status lower(struct run *r, struct diag *d) {
    struct sweep sweep;
    if (sweep_parse(&r->line.axes, r->arena, &sweep, d) != WS_OK) return d->status;
    if (sweep.n_points > 1)
        return diag_fail(d, WS_USAGE, "run takes one value an axis; bench sweeps");
    if (machine_open_for(&r->line, r->arena, &r->machine, d) != WS_OK) return d->status;
    puts(r->machine.why);
    r->stages = stages_new(r->arena, r->line.dump, r->machine.env.logs);
    r->axes = sweep_point(&sweep, 0, r->arena);
    r->n_axes = sweep.n_axes;
    r->captured =
        capture_file(&r->line, &r->machine.limits, r->axes, r->n_axes, r->arena, &r->stages, d);
    if (r->captured && room_check(&r->machine, r->captured, r->line.check, d) == WS_OK)
        r->program = ws_lower(r->captured, &r->machine.limits, r->line.fusion, &r->stages, d);
    return d->status;
}

static enum ws_status open_ranges(struct run *r, struct diag *d) {
    struct store_key here = winner_machine_key(&r->machine, r->arena);
    const char **axes;
    if (store_ladder_axes(r->store, r->captured->workload, &axes, &r->n_views, d) != WS_OK ||
        range_table_load(r->arena, r->store, &here, &r->ranges, d) != WS_OK)
        return d->status;
    struct store_key key = winner_key(&r->machine, r->captured, r->program, 0, r->arena);
    struct store_graph graph = winner_graph(r->captured, r->program, r->arena);
    if (store_nearest(r->store, &key, &graph, &r->near, &r->n_near, d) != WS_OK) return d->status;
    r->views = NEW_ARRAY(r->arena, struct symbolic_view, r->n_views);
    for (int i = 0; i < r->n_views; i++)
        r->views[i] = symbolic_view(&r->line, r->axes, r->n_axes, axes[i], r->program, r->arena);
    return WS_OK;
}

/* NULL: the ranges have nothing for this kernel; *stale: they had, and *origin says so. */
static const struct config *of_ranges(struct run *r, int kernel, const char **origin, bool *stale) {
    const struct config *out = NULL;
    enum lookup best = LOOKUP_MISS;
    for (int i = 0; i < r->n_views && best != LOOKUP_RANGE; i++) {
        const struct range_entry *e;
        if (!r->views[i].program) continue;
        enum lookup how =
            symbolic_look_up(r->ranges, &r->views[i], r->program, kernel, r->arena, &e);
        if (how == LOOKUP_MISS && range_met_stale(r->ranges)) {
            *origin = "default; the text changed since its ranges were tuned";
            *stale = true;
        }
        if (how >= best) continue;
        best = how;
        out = &e->config;
        *origin = arena_printf(r->arena, "%s %s", how == LOOKUP_RANGE ? "tuned for" : "nearest is",
                               symbolic_guard(e, r->views[i].axis, r->arena));
    }
    return out;
}

/* NULL: no other sizes have been tuned. */
static const struct config *of_other_sizes(struct run *r, int kernel, bool missed,
                                           const char **origin) {
    struct config *c = NEW(r->arena, struct config);
    const struct store_near *near =
        winner_nearest(r->near, r->n_near, r->program, kernel, c, r->arena);
    if (!near) return NULL;
    range_count_nearest(r->ranges, near->graph, near->kernel, missed);
    *origin = arena_printf(r->arena, "nearest is %s",
                           winner_near_guard(near, r->captured->axes, r->arena));
    return c;
}

/* As bench has found to be faster. */
static enum ws_status take_another(struct run *r, struct diag *d) {
    bool faster, found;
    if (winner_another(r->store, &r->machine, r->program, &faster, &found, r->arena, d) != WS_OK ||
        !faster)
        return d->status;
    struct stages quiet = stages_new(r->arena, NULL, 0);
    r->program = ws_lower(r->captured, &r->machine.limits, ws_another(r->program), &quiet, d);
    return d->status;
}

static enum ws_status look_up(struct run *r, int kernel, const struct config **c,
                              const char **origin, struct diag *d) {
    struct winner w;
    struct store_key key = winner_key(&r->machine, r->captured, r->program, kernel, r->arena);
    *origin = "tuned";
    if (winner_look_up(r->store, &key, r->program, kernel, &w, r->arena, d) != WS_OK)
        return d->status;
    if ((*c = w.config)) return WS_OK;
    if (!r->ranges && open_ranges(r, d) != WS_OK) return d->status;
    *origin = w.stale ? arena_printf(r->arena, "default; %s is stale: %s", w.evidence.config, w.why)
                      : "default";
    int64_t misses = range_counts(r->ranges).n[LOOKUP_MISS];
    *c = of_ranges(r, kernel, origin, &w.stale);
    if (!*c && !w.stale)
        *c = of_other_sizes(r, kernel, range_counts(r->ranges).n[LOOKUP_MISS] > misses, origin);
    if (!*c) *c = ws_default_config(r->program, kernel);
    return WS_OK;
}

static enum ws_status choose(struct run *r, struct diag *d) {
    const struct config **given;
    const char *note = "";
    if (configs_parse(r->program, &r->line.configs, r->arena, &given, d) == WS_OK)
        store_open(r->machine.env.store_path, r->arena, d, &r->store, &note);
    fputs(note, stderr);
    bool chosen = r->line.configs.n > 0; /* of these kernels */
    if (d->status != WS_OK || (!chosen && take_another(r, d) != WS_OK) ||
        (!chosen && configs_parse(r->program, &r->line.configs, r->arena, &given, d) != WS_OK))
        return d->status;
    r->plan = plan_new("chosen", r->program, r->arena);
    for (int k = 0; k < r->program->n_kernels; k++) {
        const char *origin = "given";
        const struct config *c = given[k];
        if (!c && look_up(r, k, &c, &origin, d) != WS_OK) return d->status;
        r->plan.chosen[k] = NEW(r->arena, struct variant);
        *r->plan.chosen[k] = variant_new(r->program, k, c, r->arena);
        r->plan.chosen[k]->is_default = true; /* whatever it spills, it is what will run */
        printf("  %s  %s  (%s)\n", r->program->kernels[k].name, r->plan.chosen[k]->text, origin);
    }
    return r->ranges ? range_table_keep(r->ranges, r->store, d) : WS_OK;
}

/* ---- outputs --------------------------------------------------------------------------------- */

enum { PIECE = 1 << 24 }; /* elements that are looked at at a time */

struct summary {
    double least, most, sum;
    int64_t odd; /* not finite */
};

/* In blocks, whose sums are added in order: they do not depend on the number of threads. */
static void add_piece(struct summary *s, enum dtype t, const void *bytes, int64_t n) {
    enum { BLOCK = 1 << 16, MOST = PIECE / BLOCK };
    double sums[MOST], least = s->least, most = s->most;
    int64_t odd = 0;
#pragma omp parallel for reduction(min : least) reduction(max : most) reduction(+ : odd) \
    if (n > BLOCK)
    for (int64_t b = 0; b < (n + BLOCK - 1) / BLOCK; b++) {
        double sum = 0;
        for (int64_t i = b * BLOCK; i < n && i < (b + 1) * BLOCK; i++) {
            double v = dtype_load(t, bytes, (size_t)i);
            if (!isfinite(v)) {
                odd++;
                continue;
            }
            least = fmin(least, v);
            most = fmax(most, v);
            sum += v;
        }
        sums[b] = sum;
    }
    for (int64_t b = 0; b < (n + BLOCK - 1) / BLOCK; b++) s->sum += sums[b];
    s->least = least, s->most = most, s->odd += odd;
}

static void print_summary(const struct ws_tensor_info *t, const struct summary *s) {
    printf("%s  %s [", t->name, dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++) printf("%s%lld", i ? ", " : "", (long long)t->size[i]);
    if (t->numel > s->odd)
        printf("]  min %.6g  mean %.6g  max %.6g", s->least, s->sum / (double)(t->numel - s->odd),
               s->most);
    else
        printf("]");
    if (s->odd) printf("  %lld not finite", (long long)s->odd);
    puts("");
}

static enum ws_status save(struct run *r, const struct ws_tensor_info *t, const void *bytes,
                           struct diag *d) {
    if (!r->line.save) return WS_OK;
    return npy_write(arena_printf(r->arena, "%s/%s.npy", r->line.save, t->name), t, bytes, d);
}

/* A large output comes in pieces, unless it is saved. */
static enum ws_status show_output(struct run *r, int output, struct diag *d) {
    struct ws_tensor_info t = ws_output_info(r->captured, output);
    size_t width = (size_t)dtype_bytes(t.dtype);
    int64_t room = r->line.save || t.numel < PIECE ? t.numel : PIECE;
    struct summary s = {.least = INFINITY, .most = -INFINITY};
    char *bytes = large_alloc((size_t)room * width);
    if (!bytes) return diag_fail(d, WS_MACHINE, "out of memory for '%s'", t.name);
    for (int64_t at = 0; at < t.numel && d->status == WS_OK; at += PIECE) {
        int64_t n = t.numel - at < PIECE ? t.numel - at : PIECE;
        char *to = bytes + (r->line.save ? (size_t)at * width : 0);
        if (device_download(r->machine.device, to, r->data.outputs[output] + (size_t)at * width,
                            (size_t)n * width, d) == WS_OK)
            add_piece(&s, t.dtype, to, n);
    }
    if (d->status == WS_OK) print_summary(&t, &s);
    if (d->status == WS_OK) save(r, &t, bytes, d);
    free(bytes);
    return d->status;
}

static enum ws_status show_outputs(struct run *r, struct diag *d) {
    for (int i = 0; i < r->captured->n_outputs && d->status == WS_OK && !interrupted(); i++)
        show_output(r, i, d);
    return d->status;
}

/* ---- what is saved --------------------------------------------------------------------------- */

static const char *kind_of(const struct graph_input *in) {
    if (!strncmp(in->source, "tangents[", 9)) return "tangent";
    switch (in->kind) {
    case INPUT_ARG: return "argument";
    case INPUT_PARAMETER: return "parameter";
    case INPUT_BUFFER: return "buffer";
    }
    WS_BUG("no kind of input: %d", (int)in->kind);
}

/* tensors.txt: what each saved file holds, inputs in the order of the graph, then outputs. A line
 * is "x.npy argument f32 L['x']": file, kind, dtype (a file of bf16 holds f32), source; an output
 * that is what a tensor was updated to is "out1.npy update f32 L['self'].running_mean". */
static enum ws_status save_list(struct run *r, struct diag *d) {
    struct buf b = buf_new(r->arena);
    for (int i = 0; i < r->captured->n_inputs; i++) {
        struct ws_tensor_info t = ws_input_info(r->captured, i);
        const struct graph_input *in = &r->captured->graph->inputs.at[i];
        buf_printf(&b, "%s.npy %s %s %s\n", t.name, kind_of(in), dtype_name(t.dtype), in->source);
    }
    for (int i = 0; i < r->captured->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(r->captured, i);
        const struct updates *u = &r->captured->updates;
        uint32_t k = (uint32_t)i - u->first;
        bool update = (uint32_t)i >= u->first && k < u->sources.n;
        buf_printf(&b, "%s.npy %s %s %s\n", t.name, update ? "update" : "output",
                   dtype_name(t.dtype), update ? u->sources.at[k] : t.name);
    }
    return file_write(arena_printf(r->arena, "%s/tensors.txt", r->line.save), b.p, b.n, d);
}

static enum ws_status save_inputs(struct run *r, struct diag *d) {
    if (!r->line.save) return WS_OK;
    if (folder_make(r->arena, r->line.save, d) == WS_OK && save_list(r, d) == WS_OK)
        data_fetch_inputs(&r->data, d);
    for (int i = 0; i < r->captured->n_inputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_input_info(r->captured, i);
        save(r, &t, r->data.host_inputs[i], d);
    }
    return d->status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum ws_status run_once(struct run *r, struct diag *d) {
    return plan_run(&r->plan, &r->memory, d);
}

/* What is wrong, and which kernel is, by itself. */
static enum ws_status fail_check(struct run *r, const struct diag *checked, struct diag *d) {
    const char *who = checked->status == WS_WRONG ? alone_blame(&r->data, &r->plan, r->arena) : "";
    return diag_fail(d, checked->status, "%s%s%s", checked->message, *who ? "\n" : "", who);
}

/* The outputs are right; are the kernels? */
static enum ws_status judge_right(struct run *r, struct diag *d) {
    const char *remark;
    if (alone_judge(&r->data, &r->plan, NULL, r->arena, &remark, d) != WS_OK) return d->status;
    fputs(data_remark(&r->data), stdout);
    fputs(remark, stdout);
    puts(r->data.reference == REFERENCE_SAMPLED ? "check: sampled elements of all outputs agree "
                                                  "with the interpreter; there is no memory "
                                                  "for a reference"
                                                : "check: all outputs agree with the reference");
    return WS_OK;
}

static enum ws_status run_file(struct run *r, struct diag *d) {
    if (lower(r, d) != WS_OK || command_line_suits(&r->line, false, d) != WS_OK ||
        choose(r, d) != WS_OK ||
        builder_open(&r->builder, &r->machine, r->store, r->arena, d) != WS_OK)
        return d->status;
    data_open(&r->data, &r->machine, r->program, r->arena);
    if (data_begin_inputs(&r->data, &r->builder, d) != WS_OK) return d->status;
    if (r->line.check) {
        data_begin_reference(&r->data);
        alone_begin(&r->data, r->program, r->arena);
    }
    if (plan_begin(&r->plan, &r->builder, d) != WS_OK || data_make_inputs(&r->data, d) != WS_OK ||
        save_inputs(r, d) != WS_OK ||
        (r->line.check && data_make_reference(&r->data, d) != WS_OK) ||
        plan_finish(&r->plan, &r->builder, d) != WS_OK || interrupted() ||
        buffers_place(&r->memory, &r->data, r->program, false, r->arena, d) != WS_OK)
        return d->status;
    struct diag checked = diag_new(r->arena);
    if (r->line.check)
        plan_check(&r->plan, &r->data, &r->memory, false, &checked);
    else
        run_once(r, &checked);
    /* Wrong outputs are shown too: they are what one wants to see then. */
    struct diag own = diag_new(r->arena);
    if (checked.status == WS_OK || checked.status == WS_WRONG) show_outputs(r, &own);
    if (checked.status != WS_OK) return fail_check(r, &checked, d);
    if (own.status != WS_OK) return diag_fail(d, own.status, "%s", own.text);
    return r->line.check && !interrupted() ? judge_right(r, d) : WS_OK;
}

static void close_run(struct run *r) {
    builder_close(&r->builder);
    plan_unload(&r->plan, &r->machine);
    buffers_free(&r->memory);
    data_close(&r->data);
    store_close(r->store);
    machine_close(&r->machine);
}

int run_command(const struct command_line *line) {
    struct run r = {.arena = arena_new(), .line = *line};
    struct diag d = diag_new(r.arena);
    bool workload = script_is_workload(r.arena, line->file);
    if (workload) interrupt_install(); /* a script ends at once */
    int status;
    if (workload)
        status = run_file(&r, &d) == WS_OK ? WS_OK : run_broken(&r.line, false, &d, r.arena);
    else if ((status = command_line_suits(line, true, &d)) == WS_OK)
        status = run_script(&r.line, line->explain, r.arena, &d);
    if (status != WS_OK)
        command_line_fail("run", &d);
    else if (interrupted())
        fputs("warpsmith run: interrupted\n", stderr);
    close_run(&r);
    if (interrupted()) status = interrupt_exit_code();
    arena_free(r.arena);
    return status;
}
