/* testbed.c: inputs in place, outputs known. */
#include "tuner/testbed.h"

#include <math.h>

#include "tuner/patience.h"

/* How far what two right kernels leave may be apart, as a share: see expected_take. */
static double share_of(enum dtype t) {
    if (!dtype_is_float(t)) return 0;
    return t == DT_F32 ? 1e-4 : t == DT_F64 ? 1e-12 : 4 * dtype_roundoff(t);
}

static enum ws_status snapshot(struct testbed *t, int at, struct diag *d) {
    const struct ws_buffer *b = &t->plan->program->buffers[at];
    struct device *dev = t->machine->device;
    return expected_take(dev, t->buffers.at[at], b->dtype, b->numel, share_of(b->dtype),
                         &t->expected[at], d);
}

/* Outputs of the graph are known as a whole at least. */
static enum ws_status know_written(struct testbed *t, const struct ws_kernel *k, struct diag *d) {
    for (int i = 0; i < k->n_writes && d->status == WS_OK; i++) {
        int at = k->writes[i];
        const struct ws_buffer *b = &t->plan->program->buffers[at];
        if (t->expected[at].want) continue;
        if (b->kind == WS_BUF_OUTPUT)
            t->expected[at] = t->data->expected[b->index];
        else if (snapshot(t, at, d) == WS_OK)
            t->taken[at] = true;
    }
    return d->status;
}

static enum ws_status compare(struct testbed *t, const struct variant *v, const char **message,
                              struct diag *d) {
    const struct ws_kernel *k = variant_kernel(v);
    struct mismatch worst;
    *message = NULL;
    for (int i = 0; i < k->n_writes && d->status == WS_OK && !*message; i++) {
        int b = k->writes[i];
        if (check_buffer(t->machine->device, t->buffers.at[b], &t->expected[b], NULL, 0, &worst,
                         message, d) == WS_OK &&
            *message)
            *message = arena_printf(d->arena, "%s%s", t->plan->program->buffers[b].name, *message);
    }
    return d->status;
}

/* What each of several kernels should write, from what is in place. */
static enum ws_status know_alone(struct testbed *t, struct diag *d) {
    const struct ws_program *p = t->plan->program;
    if (p->n_kernels < 2) return WS_OK;
    if (!t->alone.kernels) t->alone = ws_alone_of(p);
    const struct ws_captured *c = t->alone.kernels;
    if (!c || !c->n_outputs) return WS_OK;
    dptr *inputs = NEW_ARRAY(t->buffers.arena, dptr, c->n_inputs);
    for (int i = 0; i < c->n_inputs; i++)
        inputs[i] = t->alone.inputs[i] < 0 ? t->data->inputs[i] : t->buffers.at[t->alone.inputs[i]];
    data_open_lent(&t->kernels, t->data, &t->alone, inputs, t->buffers.arena);
    patience_endless(t->machine->device); /* plain kernels take as long as they take */
    if (data_make_reference(&t->kernels, d) != WS_OK) return d->status;
    for (int i = 0; i < c->n_outputs; i++)
        t->expected[t->alone.outputs[i]] = t->kernels.expected[i];
    return WS_OK;
}

/* The memory went with the device, unless it is there to be freed. */
static void forget(struct testbed *t) {
    struct device *dev = t->machine->device;
    bool there = t->buffers.generation == device_generation(dev);
    for (int i = 0; i < t->plan->program->n_buffers; i++) {
        if (t->taken[i] && there) expected_free(dev, &t->expected[i]);
        t->expected[i] = (struct expected){0};
        t->taken[i] = false;
    }
    for (int i = 0; t->kernels.machine && !there && i < t->kernels.captured->n_outputs; i++)
        t->kernels.expected[i] = (struct expected){0};
    data_close(&t->kernels);
}

/* Kernel k of the plan, from what is in place: *message if what it writes is wrong. */
static enum ws_status judge_alone(struct testbed *t, int k, const char **message, struct diag *d) {
    const struct ws_program *p = t->plan->program;
    bool in_place = false, spoilt;
    for (int i = 0; i < p->kernels[k].n_writes; i++)
        in_place |= p->buffers[p->kernels[k].writes[i]].in_place >= 0;
    *message = NULL;
    if (in_place) /* the memory has been the input's again since */
        testbed_check(t, t->plan->chosen[k], message, &spoilt, d);
    else
        compare(t, t->plan->chosen[k], message, d);
    if (*message)
        *message = arena_printf(d->arena, "kernel %s alone: %s", p->kernels[k].name, *message);
    return d->status;
}

/* The first kernel that is wrong. */
static enum ws_status judge_all(struct testbed *t, const char **message, struct diag *d) {
    *message = NULL;
    for (int k = 0; k < t->plan->program->n_kernels && !*message && t->kernels.reference; k++)
        if (judge_alone(t, k, message, d) != WS_OK) return d->status;
    return WS_OK;
}

/* From here on no call may take much longer than the default program, which is right as a whole:
 * variants are held to what its kernels have written. */
static enum ws_status fill(struct testbed *t, struct diag *d) {
    patience_set(t->machine->device, t->default_ms);
    double begun = clock_ms();
    if (plan_check(t->plan, t->data, &t->buffers, false, d) != WS_OK) return d->status;
    t->default_ms = clock_ms() - begun;
    patience_set(t->machine->device, t->default_ms);
    for (int k = 0; k < t->plan->program->n_kernels && d->status == WS_OK; k++)
        know_written(t, &t->plan->program->kernels[k], d);
    return d->status;
}

static enum ws_status place(struct testbed *t, struct data *x, const struct plan *p,
                            struct arena *a, struct diag *d) {
    *t = (struct testbed){.machine = x->machine, .data = x, .plan = p, .default_ms = NAN};
    t->expected = NEW_ARRAY(a, struct expected, p->program->n_buffers);
    t->taken = NEW_ARRAY(a, bool, p->program->n_buffers);
    return buffers_place(&t->buffers, x, p->program, true, a, d);
}

enum ws_status testbed_open(struct testbed *t, struct data *x, const struct plan *p,
                            struct arena *a, struct diag *d) {
    return place(t, x, p, a, d) == WS_OK ? fill(t, d) : d->status;
}

void testbed_close(struct testbed *t) {
    if (!t->machine) return;
    forget(t);
    buffers_free(&t->buffers);
    *t = (struct testbed){0};
}

enum ws_status testbed_judge(struct data *x, const struct plan *p, struct arena *a,
                             const char **remark, struct diag *d) {
    struct diag whole = diag_new(a);
    struct testbed t;
    const char *message = NULL;
    *remark = "";
    if (p->program->n_kernels < 2) return WS_OK;
    if (place(&t, x, p, a, d) == WS_OK &&
        (plan_check(p, x, &t.buffers, false, &whole) == WS_OK || whole.status == WS_WRONG) &&
        know_alone(&t, d) == WS_OK && judge_all(&t, &message, d) == WS_OK) {
        *remark = testbed_remark(&t, a);
        if (message) diag_fail(d, WS_WRONG, "%s", message);
    }
    testbed_close(&t);
    return d->status;
}

const char *testbed_blame(struct data *x, const struct plan *p, struct arena *a) {
    struct diag own = diag_new(a);
    const char *remark;
    testbed_judge(x, p, a, &remark, &own);
    return own.status == WS_WRONG ? own.message : remark;
}

const char *testbed_remark(const struct testbed *t, struct arena *a) {
    if (!t->alone.kernels) return "";
    int known = t->kernels.reference ? t->alone.kernels->n_outputs : 0;
    return arena_printf(a, "each kernel alone: %d of the %d buffers that they write are judged\n",
                        known, t->alone.kernels->n_outputs + t->alone.n_unknown);
}

enum ws_status testbed_check(struct testbed *t, const struct variant *v, const char **message,
                             bool *spoilt, struct diag *d) {
    const struct ws_kernel *k = variant_kernel(v);
    struct launches l;
    *message = NULL;
    *spoilt = false;
    if (variant_launches(v, &t->buffers, &l, d) != WS_OK ||
        buffers_poison(&t->buffers, k->writes, k->n_writes, d) != WS_OK ||
        device_run(t->machine->device, l.at, l.n, d) != WS_OK ||
        buffers_check(&t->buffers, message, d) != WS_OK)
        return d->status;
    *spoilt = *message != NULL;
    return *spoilt ? WS_OK : compare(t, v, message, d);
}

enum ws_status testbed_restore(struct testbed *t, int kernel, struct diag *d) {
    struct launches l;
    if (variant_launches(t->plan->chosen[kernel], &t->buffers, &l, d) != WS_OK) return d->status;
    return device_run(t->machine->device, l.at, l.n, d);
}

enum ws_status testbed_recover(struct testbed *t, struct diag *d) {
    struct arena *a = t->buffers.arena;
    patience_endless(t->machine->device);
    if (device_reset(t->machine->device, d) != WS_OK) return d->status;
    for (int k = 0; k < t->plan->program->n_kernels && d->status == WS_OK; k++) {
        variant_unload(t->plan->chosen[k], t->machine);
        variant_load(t->plan->chosen[k], t->machine, d);
    }
    forget(t);
    if (d->status != WS_OK || data_restore(t->data, d) != WS_OK) return d->status;
    if (buffers_place(&t->buffers, t->data, t->plan->program, true, a, d) != WS_OK)
        return d->status;
    return fill(t, d);
}
