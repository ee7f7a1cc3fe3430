/* data.c: inputs, outputs and reference of a workload. */
#include "tuner/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/guarded.h"

const char *reference_name(enum reference_made m) {
    static const char *const names[] = {"", "eval", "device_f64", "sliced", "sampled", "trusted"};
    return names[m];
}

static void open_for(struct data *x, struct machine *m, const struct ws_captured *c,
                     struct arena *a) {
    *x = (struct data){.machine = m, .captured = c, .arena = a};
    x->host_inputs = NEW_ARRAY(a, void *, c->n_inputs);
    x->host_want = NEW_ARRAY(a, void *, c->n_outputs);
    x->inputs = NEW_ARRAY(a, dptr, c->n_inputs);
    x->memory = NEW_ARRAY(a, dptr, c->n_outputs);
    x->outputs = NEW_ARRAY(a, dptr, c->n_outputs);
    x->kept = NEW_ARRAY(a, bool, c->n_inputs);
    x->before = NEW_ARRAY(a, void *, c->n_inputs);
    x->expected = NEW_ARRAY(a, struct expected, c->n_outputs);
    x->host_bound = NEW_ARRAY(a, float *, c->n_outputs);
    x->share = NEW_ARRAY(a, double, c->n_outputs);
    x->worst = NEW_ARRAY(a, struct mismatch, c->n_outputs);
    x->by_kernels = NEW_ARRAY(a, bool, c->n_outputs);
    for (int i = 0; i < c->n_outputs; i++) x->worst[i].worst = -1;
}

void data_open(struct data *x, struct machine *m, const struct ws_program *p, struct arena *a) {
    open_for(x, m, p->captured, a);
    x->binaries = NEW(a, struct reference_binaries);
    *x->binaries = reference_binaries_new(a);
    x->texts = NEW(a, struct map);
    *x->texts = map_new(a);
}

/* What the builder before has begun, and nobody asked for, went with it. */
void data_go_on(struct data *x, struct builder *b) {
    x->builder = b;
    x->ahead = NULL;
    *x->texts = map_new(x->arena);
    for (int i = 0; i < x->captured->n_outputs; i++) x->by_kernels[i] = false;
}

/* Is input i on the host that of the lender? */
static bool is_lent(const struct data *x, int i) {
    return x->lender && i < x->lender->captured->n_inputs && x->lender->host_inputs[i];
}

void data_open_lent(struct data *x, const struct data *lender, const struct ws_captured *kernels,
                    const dptr *inputs, struct arena *a) {
    open_for(x, lender->machine, kernels, a);
    x->lender = lender;
    x->builder = lender->builder;
    x->binaries = lender->binaries;
    x->texts = lender->texts;
    for (int i = 0; i < x->captured->n_inputs; i++) {
        x->inputs[i] = inputs[i];
        if (is_lent(x, i)) x->host_inputs[i] = lender->host_inputs[i];
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static enum ws_status place_inputs(struct data *x, struct diag *d) {
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++) {
        x->kept[i] = false;
        guarded_alloc(x->machine->device, ws_input_info(x->captured, i).bytes, &x->inputs[i], d);
    }
    return d->status;
}

/* Of texts that nobody has begun: they are compiled from the map's copies, as r may go before. */
static void begin_texts(struct data *x, const struct reference *r) {
    for (uint32_t i = 0; i < r->plain.texts.n; i++) {
        const char *text = r->plain.texts.at[i];
        uint64_t begun;
        if (map_gets(x->texts, text, &begun) || reference_has_binary(x->binaries, text)) continue;
        struct builder_text *t = NEW(x->builder->arena, struct builder_text);
        map_puts(x->texts, text, (uintptr_t)t);
        builder_begin_text(x->builder, x->texts->entries[x->texts->n - 1].key, t);
    }
}

/* What did not compile is tried again, to say why, by who wants to run it. */
static void finish_texts(struct data *x, const struct reference *r) {
    begin_texts(x, r);
    for (uint32_t i = 0; i < r->plain.texts.n; i++) {
        const char *text = r->plain.texts.at[i];
        uint64_t begun;
        if (reference_has_binary(x->binaries, text) || !map_gets(x->texts, text, &begun)) continue;
        const struct builder_text *t = (const struct builder_text *)(uintptr_t)begun;
        struct compiled made = builder_finish_text(x->builder, t);
        if (made.ok) reference_keep_binary(x->binaries, text, &made);
        compiled_free(&made);
    }
}

/* Did kernels do it? What they fail at, for want of memory above all, is the interpreter's. */
static bool run_here(struct data *x, const struct reference *r, const dptr *outputs,
                     int64_t *slices, struct arena *a) {
    struct diag own = diag_new(a);
    struct machine *m = x->machine;
    if (!r) return false;
    double begun = clock_ms();
    doing_what(m->doing, arena_printf(a, "compiling %u kernels of the reference%s",
                                      r->plain.texts.n, x->lender ? ", of each kernel" : ""));
    if (x->builder) finish_texts(x, r);
    machine_log_stage(m, arena_printf(a, "reference: wait for %u texts", r->plain.texts.n), begun);
    begun = clock_ms();
    doing_what(m->doing, arena_printf(a, "making values on the device, in %u launches%s",
                                      r->plain.launches.n, x->lender ? ", of each kernel" : ""));
    bool done = reference_run(r, m->device, m->toolchain, x->binaries, x->inputs, outputs, slices,
                              a, &own) == WS_OK;
    machine_log_stage(m, arena_printf(a, "reference: %u launches", r->plain.launches.n), begun);
    return done;
}

/* What the user ended half way, nothing else is to make instead. */
static bool goes_on(const struct data *x, struct diag *d) {
    if (d->status == WS_OK && device_is_stopped(x->machine->device))
        diag_fail(d, WS_MACHINE, "interrupted");
    return d->status == WS_OK;
}

static enum ws_status upload_inputs(struct data *x, struct diag *d) {
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++)
        device_upload(x->machine->device, x->inputs[i], x->host_inputs[i],
                      ws_input_info(x->captured, i).bytes, d);
    return d->status;
}

/* A device that kernels were lost on is a new one. */
static enum ws_status renew_device(struct data *x, struct diag *d) {
    if (!device_is_lost(x->machine->device)) return WS_OK;
    return device_reset(x->machine->device, d) == WS_OK ? place_inputs(x, d) : d->status;
}

static enum ws_status make_inputs(struct data *x, struct diag *d) {
    struct arena *a = arena_new();
    if (place_inputs(x, d) == WS_OK &&
        !run_here(x, ws_lower_inputs(x->captured, x->machine->limits.kind), x->inputs, NULL, a) &&
        goes_on(x, d) && renew_device(x, d) == WS_OK &&
        ws_make_inputs(x->captured, x->host_inputs, d) == WS_OK)
        upload_inputs(x, d);
    arena_free(a);
    x->has_inputs = d->status == WS_OK;
    return d->status;
}

enum ws_status data_make_inputs(struct data *x, struct diag *d) {
    return x->has_inputs ? WS_OK : make_inputs(x, d);
}

enum ws_status data_begin_inputs(struct data *x, struct builder *b, struct diag *d) {
    const struct reference *here = ws_lower_inputs(x->captured, x->machine->limits.kind);
    x->builder = b;
    if (here) begin_texts(x, here);
    return here ? WS_OK : make_inputs(x, d);
}

void data_begin_reference_of(struct data *x, const struct ws_captured *c) {
    const struct reference *here = ws_lower_reference(c, x->machine->limits.kind);
    if (here) begin_texts(x, here);
}

void data_begin_reference(struct data *x) { data_begin_reference_of(x, x->captured); }

enum ws_status data_fetch_inputs(struct data *x, struct diag *d) {
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++) {
        size_t bytes = ws_input_info(x->captured, i).bytes;
        if (x->host_inputs[i]) continue;
        x->host_inputs[i] = large_alloc(bytes);
        if (!x->host_inputs[i])
            return diag_fail(d, WS_MACHINE, "out of memory for %zu bytes of inputs", bytes);
        device_download(x->machine->device, x->host_inputs[i], x->inputs[i], bytes, d);
    }
    return d->status;
}

/* ---- what outputs should be ------------------------------------------------------------------ */

static void forget_expected(struct data *x) {
    for (int i = 0; i < x->captured->n_outputs; i++)
        if (device_is_lost(x->machine->device))
            x->expected[i] = (struct expected){0};
        else
            expected_free(x->machine->device, &x->expected[i]);
}

static bool make_reference_here(struct data *x, const struct reference *r, struct arena *a) {
    struct diag own = diag_new(a);
    int n = x->captured->n_outputs;
    dptr *places = NEW_ARRAY(a, dptr, 2 * n);
    int64_t slices = 1;
    if (!r) return false;
    for (int i = 0; i < n && own.status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_alloc(x->machine->device, t.dtype, true, t.numel, &x->expected[i], &own);
        places[i] = x->expected[i].want;
        places[n + i] = x->expected[i].bound;
    }
    bool done = own.status == WS_OK && run_here(x, r, places, &slices, a);
    if (!done) forget_expected(x);
    x->reference = slices > 1 ? REFERENCE_SLICED : REFERENCE_DEVICE;
    return done;
}

/* References as they are on the device. */
static bool load_expected(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v,
                          int64_t *w, struct diag *d) {
    const struct data *x = ctx;
    const struct expected *e = &x->expected[i];
    enum dtype as = dtype_reference(e->dtype);
    size_t size = (size_t)dtype_bytes(as);
    for (int64_t k = 0; k < n; k++) {
        double cell;
        dptr from = e->want + (dptr)at[k] * size;
        if (device_download(x->machine->device, &cell, from, size, d) != WS_OK) return false;
        if (w)
            w[k] = dtype_load_int(as, &cell, 0);
        else
            v[k] = dtype_load(as, &cell, 0);
    }
    return true;
}

static enum ws_status judge_reference(struct data *x, struct diag *d) {
    struct sample_source outputs = {x, load_expected};
    double begun = clock_ms();
    doing_what(x->machine->doing, "computing elements of the outputs alone");
    ws_judge_reference(x->captured, x->host_inputs, &outputs, &x->judged, d);
    machine_log_stage(x->machine, "reference: judge it", begun);
    return d->status;
}

static enum ws_status upload_expected(struct data *x, struct diag *d) {
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_upload(x->machine->device, t.dtype, x->host_want[i], x->host_bound[i], t.numel,
                        &x->expected[i], d);
    }
    return d->status;
}

/* On the host it is made once. */
static enum ws_status interpret_reference(struct data *x, struct diag *d) {
    doing_what(x->machine->doing, "computing the reference on the host");
    x->reference = REFERENCE_EVAL;
    if (x->captured->n_outputs && !x->host_want[0] &&
        (data_fetch_inputs(x, d) != WS_OK ||
         ws_make_reference(x->captured, x->machine->limits.kind, x->host_inputs, x->host_want,
                           x->host_bound, d) != WS_OK))
        return d->status;
    return upload_expected(x, d);
}

/* ---- what there is no memory for ------------------------------------------------------------- */

/* Is there none for the interpreter? The inputs are there. */
static bool is_too_large(const struct data *x) {
    struct ws_memory w = ws_memory_of(x->captured, x->machine->limits.kind);
    size_t left = memory_available();
    return left != SIZE_MAX && w.reference - w.kept_inputs > (double)left;
}

/* No element has a bound. */
static enum ws_status unbind(struct data *x, int output, struct diag *d) {
    enum { STEP = 1 << 16 };
    const struct expected *e = &x->expected[output];
    float *none = NEW_ARRAY(d->arena, float, STEP);
    for (int i = 0; i < STEP; i++) none[i] = INFINITY;
    for (int64_t at = 0; at < e->n && d->status == WS_OK; at += STEP) {
        int64_t n = e->n - at < STEP ? e->n - at : STEP;
        device_upload(x->machine->device, e->bound + (dptr)at * sizeof *none, none,
                      (size_t)n * sizeof *none, d);
    }
    return d->status;
}

static enum ws_status bind(struct data *x, int output, const struct sample_taken *s,
                           struct diag *d) {
    const struct expected *e = &x->expected[output];
    const char *want = s->want;
    for (int64_t i = 0; i < s->n && d->status == WS_OK; i++) {
        float bound = ws_bound_up(s->bound[i]);
        dptr at = (dptr)s->at[i];
        device_upload(x->machine->device, e->want + 8 * at, want + 8 * i, 8, d);
        device_upload(x->machine->device, e->bound + sizeof bound * at, &bound, sizeof bound, d);
    }
    return d->status;
}

static enum ws_status sample_reference(struct data *x, struct diag *d) {
    int n = x->captured->n_outputs;
    struct sample_taken *taken = NEW_ARRAY(d->arena, struct sample_taken, n);
    bool any = false;
    x->reference = REFERENCE_SAMPLED;
    ws_sample_reference(x->captured, x->machine->limits.kind, x->host_inputs, taken, d);
    for (int i = 0; i < n; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (d->status == WS_OK &&
            expected_alloc(x->machine->device, t.dtype, true, t.numel, &x->expected[i], d) ==
                WS_OK &&
            unbind(x, i, d) == WS_OK && bind(x, i, &taken[i], d) == WS_OK)
            x->judged += taken[i].n;
        free(taken[i].at);
        free(taken[i].want);
        free(taken[i].bound);
        any |= t.numel > 0;
    }
    if (d->status == WS_OK && any && !x->judged)
        diag_fail(d, WS_MACHINE,
                  "there is no memory for a reference, nor for one element of the outputs alone");
    return d->status;
}

/* On a device that kernels were lost on, or that was reset. */
static enum ws_status restore_inputs(struct data *x, struct diag *d) {
    if (device_is_lost(x->machine->device) && device_reset(x->machine->device, d) != WS_OK)
        return d->status;
    bool fetched = x->captured->n_inputs && x->host_inputs[0];
    if (!fetched) return make_inputs(x, d);
    return place_inputs(x, d) == WS_OK ? upload_inputs(x, d) : d->status;
}

/* What kernels would have made sooner, and could not, the interpreter is not asked for. */
static enum ws_status make_lent(struct data *x, struct diag *d) {
    struct arena *a = arena_new();
    const struct reference *here = ws_lower_reference(x->captured, x->machine->limits.kind);
    bool done = make_reference_here(x, here, a);
    if (!goes_on(x, d))
        x->reference = REFERENCE_NONE;
    else if (device_is_lost(x->machine->device))
        diag_fail(d, WS_MACHINE, "the device was lost while references were made");
    else if (!here)
        interpret_reference(x, d);
    else if (!done)
        x->reference = REFERENCE_NONE;
    arena_free(a);
    return d->status;
}

enum ws_status data_make_reference(struct data *x, struct diag *d) {
    if (x->lender) return make_lent(x, d);
    struct arena *a = arena_new();
    double begun = clock_ms();
    x->judged = 0;
    bool interpreted = x->captured->n_outputs && x->host_want[0];
    const struct reference *here =
        interpreted ? NULL : ws_lower_reference(x->captured, x->machine->limits.kind);
    if (make_reference_here(x, here, a))
        judge_reference(x, d);
    else if (!goes_on(x, d))
        x->reference = REFERENCE_NONE;
    else if (device_is_lost(x->machine->device) && restore_inputs(x, d) != WS_OK)
        x->reference = REFERENCE_NONE;
    else if (!interpreted && is_too_large(x))
        sample_reference(x, d);
    else
        interpret_reference(x, d);
    x->reference_ms = clock_ms() - begun;
    if (here) ws_drop_lowered(x->captured, x->machine->limits.kind);
    doing_what(x->machine->doing, "going on behind the reference");
    arena_free(a);
    return d->status;
}

enum ws_status data_trust_outputs(struct data *x, struct diag *d) {
    x->reference = REFERENCE_TRUSTED;
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_take(x->machine->device, x->outputs[i], t.dtype, t.numel, x->share[i],
                      &x->expected[i], d);
    }
    return d->status;
}

/* What a trusted program left is gone; the real one is made in its place. */
enum ws_status data_restore(struct data *x, struct diag *d) {
    for (int i = 0; i < x->captured->n_outputs; i++) {
        x->memory[i] = x->outputs[i] = 0;
        x->expected[i] = (struct expected){0};
    }
    if (restore_inputs(x, d) != WS_OK || !x->reference) return d->status;
    return data_make_reference(x, d);
}

/* ---- places of outputs ----------------------------------------------------------------------- */

enum ws_status data_place_output(struct data *x, int i, dptr *at, struct diag *d) {
    if (!x->memory[i])
        guarded_alloc(x->machine->device, ws_output_info(x->captured, i).bytes, &x->memory[i], d);
    *at = x->memory[i];
    return d->status;
}

enum ws_status data_place_update(struct data *x, int input, dptr *at, struct diag *d) {
    size_t bytes = ws_input_info(x->captured, input).bytes;
    *at = x->inputs[input];
    if (!x->kept[input]) device_keep(x->machine->device, *at, bytes, d);
    x->kept[input] = true;
    return d->status;
}

enum ws_status data_place_kept(struct data *x, int input, dptr *at, struct diag *d) {
    size_t bytes = ws_input_info(x->captured, input).bytes;
    *at = x->inputs[input];
    if (x->before[input]) return WS_OK;
    x->before[input] = malloc(bytes + 1);
    if (!x->before[input])
        return diag_fail(d, WS_MACHINE, "cannot allocate %zu bytes for what an input was", bytes);
    return device_download(x->machine->device, x->before[input], *at, bytes, d);
}

enum ws_status data_put_back(struct data *x, int input, struct diag *d) {
    size_t bytes = ws_input_info(x->captured, input).bytes;
    return device_upload(x->machine->device, x->inputs[input], x->before[input], bytes, d);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* *message is NULL if all outputs are right. */
static enum ws_status compare_outputs(struct data *x, const char **message, struct diag *d) {
    *message = NULL;
    for (int i = 0; i < x->captured->n_outputs && !*message; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (check_buffer(x->machine->device, x->outputs[i], NULL, &x->expected[i], t.size, t.rank,
                         &x->worst[i], message, d) != WS_OK)
            return d->status;
        if (*message) *message = arena_printf(x->arena, "%s%s", t.name, *message);
    }
    return WS_OK;
}

enum ws_status data_check_outputs(struct data *x, const char *what, struct diag *d) {
    const char *message;
    if (compare_outputs(x, &message, d) != WS_OK) return d->status;
    return message ? diag_fail(d, WS_WRONG, "%s is wrong: %s", what, message) : WS_OK;
}

/* What part of its bound an output is off. */
static double part_of(const struct mismatch *m) {
    double off = fabs(m->got - m->want);
    return off > 0 && m->bound > 0 && !isinf(m->bound) ? off / m->bound : 0;
}

const char *data_unjudged(const struct data *x) {
    struct buf b = buf_new(x->arena);
    int64_t elements = 0;
    int outputs = 0;
    const char *first = NULL;
    for (int i = 0; i < x->captured->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        int64_t n = x->worst[i].unbounded;
        if (n && !x->by_kernels[i])
            buf_printf(&b, "check: %lld of %lld elements of %s have no bound: not judged\n",
                       (long long)n, (long long)t.numel, t.name);
        if (!n || !x->by_kernels[i]) continue;
        if (!first) first = t.name;
        elements += n;
        outputs++;
    }
    if (outputs)
        buf_printf(&b,
                   "check: %lld elements of %d output%s, the first of them %s, have no bound as a "
                   "whole: judged kernel by kernel\n",
                   (long long)elements, outputs, outputs == 1 ? "" : "s", first);
    return b.p;
}

struct data_worst data_worst(const struct data *x) {
    struct buf b = buf_new(x->arena);
    struct data_worst w = {0};
    int far = 0;
    for (int i = 0; i < x->captured->n_outputs; i++) {
        if (part_of(&x->worst[i]) > part_of(&x->worst[far])) far = i;
        w.unbounded += x->worst[i].unbounded;
        if (!x->by_kernels[i]) w.unjudged += x->worst[i].unbounded;
    }
    const struct mismatch *m = &x->worst[far];
    struct ws_tensor_info t = ws_output_info(x->captured, far);
    if (m->worst < 0 || isinf(m->bound)) return w;
    buf_puts(&b, t.name);
    check_print_index(&b, m->worst, t.size, t.rank);
    w.where = b.p;
    w.error = fabs(m->got - m->want);
    w.bound = m->bound;
    return w;
}

const char *data_remark(const struct data *x) {
    struct data_worst w = data_worst(x);
    struct buf b = buf_new(x->arena);
    if (w.where && w.error > 0 && w.bound > 0)
        buf_printf(&b, "check: %s is the furthest off, by %.3g where %.3g is allowed\n", w.where,
                   w.error, w.bound);
    buf_puts(&b, data_unjudged(x));
    return b.p;
}

/* Of a lost device there is nothing to give back. */
static void keep_no_longer(struct data *x, int input) {
    struct diag d = diag_new(x->arena);
    if (!device_is_lost(x->machine->device))
        device_keep(x->machine->device, x->inputs[input], 0, &d);
}

void data_close(struct data *x) {
    if (!x->machine) return;
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_inputs; i++) {
        if (!is_lent(x, i)) free(x->host_inputs[i]);
        free(x->before[i]);
        if (x->lender) continue;
        if (x->kept[i]) keep_no_longer(x, i);
        guarded_free(dev, x->inputs[i]);
    }
    for (int i = 0; i < x->captured->n_outputs; i++) {
        free(x->host_want[i]);
        free(x->host_bound[i]);
        guarded_free(dev, x->memory[i]);
        expected_free(dev, &x->expected[i]);
    }
    *x = (struct data){0};
}
