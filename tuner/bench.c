/* bench.c: `warpsmith bench`: tune every kernel of a PyTorch file, and time the whole.
 *
 * A point of the sweep runs through the stages listed below (bench_stages). When the store knows
 * every winner, nothing is compiled or searched: the binaries come from the store, the programs are
 * timed afresh, and the eager program, whose binaries once passed the check against the reference,
 * stands in for the reference. */
#include "tuner/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reports/figure.h"
#include "tuner/alone.h"
#include "tuner/commands.h"
#include "tuner/interrupt.h"
#include "tuner/json_output.h"
#include "tuner/patience.h"
#include "tuner/room.h"
#include "tuner/winners.h"

/* ---- the stages ------------------------------------------------------------------------------ */

static enum ws_status capture_workload(struct bench_point *b) {
    const struct bench_run *r = b->run;
    if (b->other) {
        b->stages = b->other->stages;
        b->captured = b->other->captured;
        return WS_OK;
    }
    struct ws_axis *axes = sweep_point(&r->sweep, b->point, b->arena);
    b->stages = stages_new(b->arena, r->line.dump, r->machine.env.logs);
    b->captured = capture_file(&r->line, &r->machine.limits, axes, r->sweep.n_axes, b->arena,
                               &b->stages, b->d);
    if (b->captured) room_check(&r->machine, b->captured, true, b->d);
    return b->d->status;
}

static enum ws_status lower_programs(struct bench_point *b) {
    const struct device_limits *limits = &b->run->machine.limits;
    struct stages quiet = stages_new(b->arena, NULL, 0);
    b->fused_program = ws_lower(b->captured, limits, b->fusion, &b->stages, b->d);
    if (b->other)
        b->eager_program = b->other->eager_program;
    else if (b->fused_program)
        b->eager_program = ws_lower(b->captured, limits, WS_EAGER, &quiet, b->d);
    if (b->d->status == WS_OK) bench_print_subject(b);
    return b->d->status;
}

static enum ws_status open_results(struct bench_point *b) {
    struct bench_run *r = b->run;
    if (r->replay) return WS_OK;
    return recorder_open(&r->recorder, r->line.results, b->captured, b->arena, b->d);
}

static const char *roof_key(const struct bench_run *r) {
    const struct device_facts *f = device_facts(r->machine.device);
    return arena_printf(r->arena, "copy_gbps %s %s %s", f->name, f->uuid, f->driver);
}

/* Measured once per device and driver. */
static enum ws_status know_roof(struct bench_run *r, struct diag *d) {
    bool found = false;
    r->roof = (struct roof){&r->machine.limits, NAN};
    if (r->store && store_get_fact(r->store, roof_key(r), &r->roof.copy_gbps, &found, d) != WS_OK)
        return d->status;
    if (found) return WS_OK;
    if (device_copy_gbps(r->machine.device, &r->roof.copy_gbps, d) != WS_OK) return d->status;
    return r->store ? store_put_fact(r->store, roof_key(r), r->roof.copy_gbps, d) : WS_OK;
}

/* A program beat the roof: others may have used the memory when that was measured (seen on virtual
 * machines: 54 GB/s for a minute, then 82). It is measured again, and the better one stays. */
static enum ws_status doubt_roof(struct bench_point *b) {
    struct bench_run *r = b->run;
    struct work work = work_of_program(b->fused_program);
    double best = fmin(b->default_time.us.median, b->tuned_time.us.median), gbps = 0;
    struct diag quiet = diag_new(b->arena); /* no memory for it: no reason to fail */
    if (!roof_is_beaten(&r->roof, &work, best) ||
        device_copy_gbps(r->machine.device, &gbps, &quiet) != WS_OK || gbps <= r->roof.copy_gbps)
        return WS_OK;
    r->roof.copy_gbps = gbps;
    return r->store ? store_put_fact(r->store, roof_key(r), gbps, b->d) : WS_OK;
}

static enum ws_status load_ranges(struct bench_run *r, struct diag *d) {
    struct store_key here = winner_machine_key(&r->machine, r->arena);
    return range_table_load(r->arena, r->store, &here, &r->ranges, d);
}

/* At the first point whose file is known to be good: a call that is wrong leaves no store. */
static enum ws_status open_store(struct bench_point *b) {
    struct bench_run *r = b->run;
    const char *note = "";
    if (r->opened) return WS_OK;
    if (!r->replay && !r->store)
        store_open(r->machine.env.store_path, r->arena, b->d, &r->store, &note);
    fputs(note, stderr);
    if (b->d->status || know_roof(r, b->d) || (!r->replay && load_ranges(r, b->d)))
        return b->d->status;
    r->opened = true;
    return WS_OK;
}

/* What another program does otherwise, and how; and how the one by rule does it. */
static const char *const
    what_else[] = {[WS_APART] = "reductions behind products", [WS_PERSISTENT] = "steps of loops"},
    *const other_how[] = {[WS_APART] = "apart", [WS_PERSISTENT] = "one kernel"},
    *const by_rule[] = {[WS_APART] = "fused", [WS_PERSISTENT] = "launches"};

/* The program by rule, another one if the store says so, or both are tuned: of points that stand
 * for themselves. */
static enum ws_status choose_program(struct bench_point *b) {
    struct bench_run *r = b->run;
    const struct command_line *line = &r->line;
    bool faster, found;
    enum ws_fusion another = ws_another(b->fused_program);
    if (b->fusion != WS_FUSE || r->replay || r->sweep.ladder >= 0 || another == WS_FUSE)
        return WS_OK;
    if (winner_another(r->store, &r->machine, b->fused_program, &faster, &found, b->arena, b->d) !=
        WS_OK)
        return b->d->status;
    b->open = !line->no_search && (!found || line->retune);
    if (!faster || b->open) return WS_OK;
    struct stages quiet = stages_new(b->arena, NULL, 0);
    b->fusion = another;
    b->fused_program = ws_lower(b->captured, &r->machine.limits, another, &quiet, b->d);
    if (b->fused_program)
        printf("%s are %s: it was faster when tuned\n", what_else[another], other_how[another]);
    return b->d->status;
}

static enum ws_status open_kernels(struct bench_point *b) {
    const struct ws_program *p = b->fused_program;
    b->tuning = (struct tuning){.machine = &b->run->machine,
                                .store = b->run->store,
                                .builder = &b->builder,
                                .bed = &b->bed,
                                .roof = b->run->roof,
                                .arena = arena_within(b->arena),
                                .run_id = b->run->recorder.run_id,
                                .samples_max = b->run->line.samples_max,
                                .seed = b->run->line.seed,
                                .check_ms = b->tuning.check_ms,
                                .time_ms = b->other ? b->other->tuning.time_ms : 0,
                                .log = b->run->machine.env.logs >> LOG_AUTOTUNE & 1};
    b->tuning.graph = winner_graph(b->captured, p, b->arena);
    b->tunes = NEW_ARRAY(b->arena, struct tune, p->n_kernels);
    for (int k = 0; k < p->n_kernels && b->d->status == WS_OK; k++) {
        tune_open(&b->tunes[k], &b->tuning, p, k,
                  winner_key(&b->run->machine, b->captured, p, k, b->arena));
        b->tunes[k].search = b->run->line.search;
        builder_begin(&b->builder, &b->tunes[k].variants[0], b->d); /* as eager kernels are */
    }
    if (b->d->status != WS_OK) return b->d->status;
    b->lookups = NEW_ARRAY(b->arena, struct bench_lookup, p->n_kernels);
    for (int k = 0; k < p->n_kernels; k++) b->lookups[k].how = LOOKUP_MISS;
    return bench_look_up(b);
}

/* Eager kernels run under their default config, of which nobody lists the others. */
static enum ws_status begin_eager_kernels(struct bench_point *b) {
    const struct ws_program *p = b->eager_program;
    b->eager = plan_new(result_role_shown(ROLE_eager), p, b->arena);
    for (int k = 0; k < p->n_kernels && b->d->status == WS_OK; k++) {
        b->eager.chosen[k] = NEW(b->arena, struct variant);
        *b->eager.chosen[k] = variant_new(p, k, ws_default_config(p, k), b->arena);
        b->eager.chosen[k]->is_default = true;
        builder_begin(&b->builder, b->eager.chosen[k], b->d);
    }
    return b->d->status;
}

/* What hangs on the workload alone is there, and right. What was only trusted is not shared: this
 * program wants a reference. */
static void share_values(struct bench_point *b) {
    struct bench_point *o = b->other;
    b->data = o->data;
    b->eager_memory = o->eager_memory;
    b->eager = o->eager;
    b->eager_worst = o->eager_worst;
    b->program_ms = o->program_ms;
    data_go_on(b->data, &b->builder);
}

/* Of the whole, and of each kernel alone: lowered, and its texts begun. */
static void begin_reference(struct bench_point *b) {
    double begun = clock_ms();
    if (!b->shares) data_begin_reference(b->data);
    alone_begin(b->data, b->fused_program, b->arena);
    b->reference_begun = true;
    b->tuning.check_ms += clock_ms() - begun;
}

/* A program that the store does not know has nothing to trust: its reference is compiled while
 * configs are listed, of which a network has many thousands. */
static enum ws_status begin_reference_of_new(struct bench_point *b) {
    struct bench_run *r = b->run;
    struct store_key key = winner_key(&r->machine, b->captured, b->fused_program, -1, b->arena);
    struct store_program known;
    bool found = false;
    if (r->store && store_lookup_program(r->store, &key, &known, &found, NULL, b->d) != WS_OK)
        return b->d->status;
    if (!found) begin_reference(b);
    return WS_OK;
}

/* Nothing of it hangs on winners. */
static enum ws_status begin_eager(struct bench_point *b) {
    struct bench_run *r = b->run;
    if (builder_open(&b->builder, &r->machine, r->store, b->arena, b->d) != WS_OK)
        return b->d->status;
    b->tuning.check_ms = b->other ? b->other->tuning.check_ms : 0;
    if (b->shares) return share_values(b), begin_reference_of_new(b);
    b->eager_memory = NEW(b->arena, struct buffers);
    b->data = NEW(b->arena, struct data);
    data_open(b->data, &r->machine, b->fused_program, b->arena);
    if (data_begin_inputs(b->data, &b->builder, b->d) != WS_OK ||
        begin_reference_of_new(b) != WS_OK)
        return b->d->status;
    return begin_eager_kernels(b);
}

static enum ws_status begin_building(struct bench_point *b) {
    const struct ws_program *p = b->fused_program;
    b->dflt = plan_new("default", p, b->arena);
    for (int k = 0; k < p->n_kernels; k++) b->dflt.chosen[k] = &b->tunes[k].variants[0];
    if (bench_recall_reference(b) != WS_OK) return b->d->status;
    if (!b->trusts && !b->reference_begun) begin_reference(b);
    if (plan_begin(&b->dflt, &b->builder, b->d) != WS_OK) return b->d->status;
    return bench_begin_tuning(b);
}

/* While the pool compiles. */
static enum ws_status make_values(struct bench_point *b) {
    if (b->shares) return WS_OK;
    if (data_make_inputs(b->data, b->d) != WS_OK) return b->d->status;
    double begun = clock_ms();
    if (!b->trusts && data_make_reference(b->data, b->d) != WS_OK) return b->d->status;
    b->tuning.check_ms += clock_ms() - begun;
    return b->d->status;
}

/* Is this another program, and not the better one? */
static bool has_lost(const struct bench_point *b) {
    const double WORTH = 0.99; /* of the other's time: else the simpler one stays */
    return b->other && !(b->tuned_time.us.median < WORTH * b->other->tuned_time.us.median);
}

/* Which of the two programs stays. */
static enum ws_status keep_program(struct bench_point *b) {
    if (!b->other) return WS_OK;
    const struct bench_point *o = b->other;
    bool lost = has_lost(b);
    printf("%s: %s %.2f us (%.2f us untuned), %s %.2f us (%.2f us untuned); they %s %s%s\n",
           what_else[b->fusion], by_rule[b->fusion], o->tuned_time.us.median,
           o->default_time.us.median, other_how[b->fusion], b->tuned_time.us.median,
           b->default_time.us.median, lost ? "stay" : "are",
           (lost ? by_rule : other_how)[b->fusion], lost ? "" : " from now on");
    return winner_keep_another(b->run->store, &b->run->machine, b->other->fused_program,
                               !has_lost(b), b->arena, b->d);
}

static enum ws_status keep_evidence(struct bench_point *b) {
    if (!b->run->store || has_lost(b)) return WS_OK;
    struct store_key key =
        winner_key(&b->run->machine, b->captured, b->fused_program, -1, b->arena);
    const struct timing *t = &b->tuned_time;
    struct store_program p = {
        .arch = b->run->machine.limits.arch,
        .eager = b->eager_time.us,
        .dflt = b->default_time.us,
        .tuned = t->us,
        .health = {device_facts(b->run->machine.device)->timer, t->clock_mhz, t->temp_c,
                   t->throttle},
        .run_id = b->run->recorder.run_id,
    };
    if (b->all_found || b->untuned) return WS_OK;
    p.text_hash = bench_text_hash(b);
    return store_put_program(b->run->store, &key, &b->tuning.graph, &p, b->d);
}

static enum ws_status write_rows(struct bench_point *b) {
    struct recorder *r = &b->run->recorder;
    if (b->run->replay) return WS_OK;
    if (has_lost(b)) return recorder_flush(r, b->d); /* its trials */
    recorder_add_roof(r, &b->run->roof);
    recorder_add_program(r, ROLE_eager, &b->eager, &b->eager_time, &b->run->roof);
    recorder_set_check(r, b->trusts ? NULL : b->data, &b->eager_worst);
    recorder_add_program(r, ROLE_default, &b->dflt, &b->default_time, &b->run->roof);
    recorder_set_check(r, b->data, &b->default_worst);
    if (!b->defaulted) {
        recorder_add_program(r, ROLE_tuned, &b->tuned, &b->tuned_time, &b->run->roof);
        recorder_set_check(r, b->data, &b->tuned_worst);
        recorder_set_cost(r, &b->cost);
        recorder_set_all(r, b->tuning.check_ms, b->tuning.time_ms, clock_ms() - b->started_ms);
    }
    return recorder_flush(r, b->d);
}

static enum ws_status print_results(struct bench_point *b) {
    bench_print_results(b);
    return WS_OK;
}

#define STAGE(f, words)                                                                            \
    { #f, words, f }
static const struct {
    const char *name, *words; /* words: for logs, where it takes long */
    enum ws_status (*run)(struct bench_point *);
} bench_stages[] = {
    /* file -> graph, guards, inputs */
    STAGE(capture_workload, "capturing the file"),
    /* graph -> kernels: eager, and fused */
    STAGE(lower_programs, "making kernels of the graph"),
    /* before anything is measured: can the CSV be written? */
    STAGE(open_results, ""),
    /* what earlier runs have learnt */
    STAGE(open_store, "asking the store"),
    /* what is fused, if the store knows better */
    STAGE(choose_program, ""),
    /* source -> binaries, in the background; references, if new */
    STAGE(begin_eager, "lowering the reference, choosing configs of unfused kernels"),
    /* configs of every kernel, defaults begun; what the store knows */
    STAGE(open_kernels, "listing the configs of fused kernels"),
    /* texts of references, if known, and what is tried first, too */
    STAGE(begin_building, "beginning to compile"),
    /* random inputs, and what the outputs should be */
    STAGE(make_values, "making inputs and the reference"),
    /* one kernel per operation, against the reference */
    STAGE(bench_check_eager, "checking the unfused program"),
    /* fused */
    STAGE(bench_check_default, "checking the fused program"),
    /* try the configs, one kernel after the other */
    STAGE(bench_tune_kernels, "tuning"),
    /* the winners together; eager, default, tuned in turns */
    STAGE(bench_time_programs, "timing the programs"),
    /* the copy bandwidth once more, if they beat it */
    STAGE(doubt_roof, "measuring the copy bandwidth"),
    /* of two, the better one */
    STAGE(keep_program, ""),
    /* store */
    STAGE(keep_evidence, ""),
    /* --profile: hardware counters */
    STAGE(bench_profile, "reading counters"),
    /* CSV */
    STAGE(write_rows, ""),
    /* of a ladder: what its ranges will be made of */
    STAGE(bench_note_rung, ""),
    STAGE(print_results, ""),
};
enum { N_STAGES = sizeof bench_stages / sizeof *bench_stages };

/* ---- one point ------------------------------------------------------------------------------- */

/* What another program of the same workload has no use for. */
static void close_program(struct bench_point *b) {
    struct machine *m = &b->run->machine;
    patience_endless(m->device); /* the next point's tensors may be larger */
    builder_close(&b->builder);
    plan_unload(&b->dflt, m);
    plan_unload(&b->tuned, m);
    testbed_close(&b->bed);
    buffers_free(&b->fused_memory);
    if (b->data) alone_end(b->data);
    arena_free(b->tuning.arena);
}

static void close_values(struct bench_point *b) {
    if (b->shares || !b->data) return;
    plan_unload(&b->eager, &b->run->machine);
    buffers_free(b->eager_memory);
    data_close(b->data);
    b->data = NULL;
}

static void run_stage(struct bench_point *b, int stage) {
    double begun = clock_ms();
    doing_what(b->run->machine.doing, bench_stages[stage].words);
    bench_stages[stage].run(b);
    doing_what(b->run->machine.doing, "");
    machine_log_stage(&b->run->machine,
                      arena_printf(b->arena, "bench %s", bench_stages[stage].name), begun);
}

/* Another program may have more intermediates, and its check more references: where a device has no
 * memory for them, the one by rule is all there is, and stays. Was that so? */
static bool goes_without(struct bench_point *b) {
    if (!b->other || b->d->status != WS_MACHINE || interrupted()) return false;
    struct diag quiet = diag_new(b->arena);
    fprintf(stderr, "%s: %s not measured, they stay %s: %s\n", what_else[b->fusion],
            other_how[b->fusion], by_rule[b->fusion], b->d->message);
    winner_keep_another(b->run->store, &b->run->machine, b->other->fused_program, false, b->arena,
                        &quiet);
    return true;
}

/* Returns the exit code. other: the point by rule, which was right; this one is the other program.
 */
static int run_program(struct bench_run *r, int point, struct bench_point *other) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct bench_point b = {.run = r,
                            .point = point,
                            .arena = a,
                            .d = &d,
                            .started_ms = other ? other->started_ms : clock_ms(),
                            .fusion = other ? ws_another(other->fused_program) : r->line.fusion,
                            .other = other,
                            .shares = other && !other->trusts};
    for (int i = 0; i < N_STAGES && d.status == WS_OK && !interrupted(); i++) run_stage(&b, i);
    if (goes_without(&b)) d.status = WS_OK;
    /* What was measured before it went wrong is kept. */
    struct diag flush = diag_new(a);
    if (!r->replay && r->recorder.n) recorder_flush(&r->recorder, &flush);
    if (interrupted())
        fputs("interrupted: what was measured is kept; the same call goes on from there\n", stderr);
    else if (d.status != WS_OK)
        command_line_fail("bench", &d);
    else if (flush.status != WS_OK)
        command_line_fail("bench", &flush);
    close_program(&b);
    if (!b.open || b.trusts) close_values(&b);
    r->recorder.n = 0;
    int status = interrupted() ? interrupt_exit_code()
                 : d.status    ? (int)d.status
                               : (int)flush.status;
    if (b.open && status == WS_OK) status = run_program(r, point, &b);
    close_values(&b);
    arena_free(a);
    return status;
}

static int run_point(struct bench_run *r, int point) { return run_program(r, point, NULL); }

/* ---- the command ----------------------------------------------------------------------------- */

static enum ws_status open_run(struct bench_run *r, struct diag *d) {
    r->replay = r->line.configs.n > 0;
    if (sweep_parse(&r->line.axes, r->arena, &r->sweep, d) != WS_OK ||
        machine_open_for(&r->line, r->arena, &r->machine, d) != WS_OK)
        return d->status;
    puts(r->machine.why);
    fflush(stdout);
    if (room_check_sweep(&r->machine, &r->line, &r->sweep, d) != WS_OK) return d->status;
    recorder_start(&r->recorder, &r->machine, r->arena);
    r->recorder.json = r->json_rows;
    return WS_OK;
}

static void draw_figure(struct bench_run *r) {
    struct report_error e = {0};
    if (r->replay || r->line.no_figures || !r->recorder.path) return;
    struct text drawn = {0};
    if (figure_bench(r->recorder.path, r->recorder.run_id, NULL, &drawn, &e) == REPORT_OK)
        printf("figures: %s.svg, %s.png\n", drawn.p, drawn.p);
    else
        fprintf(stderr, "no figure: %s\n", e.text);
    text_free(&drawn);
}

static int bench_all_points(struct bench_run *r) {
    int worst = 0;
    for (int i = 0; i < r->sweep.n_points && !interrupted(); i++) {
        int status = run_point(r, i);
        if (status > worst) worst = status;
        if (status == WS_MACHINE) break; /* it will not do better at the next point */
    }
    /* Even before the first point: what was not measured is not fine. */
    return interrupted() ? interrupt_exit_code() : worst;
}

/* What a ladder found, and how often the store was asked; whatever happened to the points. */
static int finish(struct bench_run *r) {
    struct diag d = diag_new(r->arena);
    if (!r->ranges) return WS_OK;
    bench_ladder(r, &d);
    bench_print_known(r);
    if (d.status == WS_OK) range_table_keep(r->ranges, r->store, &d);
    if (d.status != WS_OK) command_line_fail("bench", &d);
    return (int)d.status;
}

/* What takes longer is said while it does. */
static const double LONG_MS = 10e3;

int bench_command(const struct command_line *line) {
    struct bench_run r = {.arena = arena_new(), .line = *line, .started_ms = clock_ms()};
    struct diag d = diag_new(r.arena);
    struct json_output json = json_output_open(line->json);
    if (json.value) json_object_set_new(json.value, "rows", r.json_rows = json_array());
    interrupt_install();
    int status = open_run(&r, &d);
    machine_log_stage(&r.machine, "bench open_run", r.started_ms);
    r.machine.doing = doing_start(LONG_MS);
    if (status != WS_OK) command_line_fail("bench", &d);
    if (status == WS_OK) {
        status = bench_all_points(&r);
        int finished = finish(&r);
        if (finished > status) status = finished;
    }
    if (status == WS_OK) draw_figure(&r);
    doing_stop(r.machine.doing);
    store_close(r.store);
    machine_close(&r.machine);
    arena_free(r.arena);
    return json_output_close(&json, status);
}
