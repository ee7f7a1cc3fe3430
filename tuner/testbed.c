/* testbed.c: inputs in place, outputs known. */
#include "tuner/testbed.h"

#include <math.h>

#include "tuner/patience.h"

/* How far what two right kernels leave may be apart, as a share: see expected_take. Factors that
 * are rounded to tf32 may be rounded otherwise where they were made of other sums, as in a step
 * behind others. */
static double share_of(enum dtype t, enum precision p) {
    const double TF32 = 0x1p-11; /* a rounding */
    if (!dtype_is_float(t)) return 0;
    if (t == DT_F32) return p == PRECISION_TF32 ? 4 * TF32 : 1e-4;
    return t == DT_F64 ? 1e-12 : 4 * dtype_roundoff(t);
}

static enum ws_status snapshot(struct testbed *t, int at, enum precision p, struct diag *d) {
    const struct ws_buffer *b = &t->plan->program->buffers[at];
    struct device *dev = t->machine->device;
    return expected_take(dev, t->buffers.at[at], b->dtype, b->numel, share_of(b->dtype, p),
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
        else if (snapshot(t, at, k->precision, d) == WS_OK)
            t->taken[at] = true;
    }
    return d->status;
}

/* Buffer b against what is expected: of its own elements alone where others lie between, those of
 * other pieces of a whole or what fills up rows. What a program left in it is expected of all. */
static enum ws_status compare_own(struct testbed *t, int b, const char **message, struct diag *d) {
    const struct ws_buffer *x = &t->plan->program->buffers[b];
    const struct expected *e = &t->expected[b];
    int size = dtype_bytes(x->dtype);
    struct runs own = {(int64_t)x->run_bytes / size, (int64_t)x->pitch / size};
    bool apart = x->pitch && e->n == own.length * x->runs;
    int64_t shape[] = {x->runs, own.length};
    struct mismatch worst;
    if (check_buffer(t->machine->device, t->buffers.at[b], apart ? &own : NULL, e,
                     apart ? shape : NULL, apart ? 2 : 0, &worst, message, d) == WS_OK)
        t->unbounded += worst.unbounded;
    return d->status;
}

enum ws_status testbed_compare(struct testbed *t, const struct variant *v, const char **message,
                               struct diag *d) {
    const struct ws_kernel *k = variant_kernel(v);
    *message = NULL;
    for (int i = 0; i < k->n_writes && d->status == WS_OK && !*message; i++) {
        int b = k->writes[i];
        if (compare_own(t, b, message, d) != WS_OK) break;
        if (*message)
            *message = arena_printf(d->arena, "%s%s", t->plan->program->buffers[b].name, *message);
    }
    return d->status;
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
}

enum ws_status testbed_run(struct testbed *t, struct diag *d) {
    patience_set(t->machine->device, t->default_ms);
    double begun = clock_ms();
    if (plan_check(t->plan, t->data, &t->buffers, false, d) == WS_OK)
        t->default_ms = clock_ms() - begun;
    return d->status;
}

/* From here on no call may take much longer than the default program, which is right as a whole:
 * variants are held to what its kernels have written. */
enum ws_status testbed_know(struct testbed *t, struct diag *d) {
    patience_set(t->machine->device, t->default_ms);
    for (int k = 0; k < t->plan->program->n_kernels && d->status == WS_OK; k++)
        know_written(t, &t->plan->program->kernels[k], d);
    return d->status;
}

static enum ws_status fill(struct testbed *t, struct diag *d) {
    return testbed_run(t, d) == WS_OK ? testbed_know(t, d) : d->status;
}

enum ws_status testbed_place(struct testbed *t, struct data *x, const struct plan *p,
                             struct arena *a, struct diag *d) {
    *t = (struct testbed){.machine = x->machine, .data = x, .plan = p, .default_ms = NAN};
    t->expected = NEW_ARRAY(a, struct expected, p->program->n_buffers);
    t->taken = NEW_ARRAY(a, bool, p->program->n_buffers);
    return buffers_place(&t->buffers, x, p->program, true, a, d);
}

enum ws_status testbed_open(struct testbed *t, struct data *x, const struct plan *p,
                            struct arena *a, struct diag *d) {
    return testbed_place(t, x, p, a, d) == WS_OK ? fill(t, d) : d->status;
}

void testbed_close(struct testbed *t) {
    if (!t->machine) return;
    forget(t);
    buffers_free(&t->buffers);
    *t = (struct testbed){0};
}

enum ws_status testbed_check(struct testbed *t, const struct variant *v, bool again,
                             const char **message, bool *spoilt, struct diag *d) {
    const struct ws_kernel *k = variant_kernel(v);
    struct launches l = {0};
    *message = NULL;
    *spoilt = false;
    if (again)
        variant_launches_again(v, &t->buffers, &l, d);
    else
        variant_launches(v, &t->buffers, &l, d);
    if (d->status != WS_OK || buffers_poison(&t->buffers, k->writes, k->n_writes, d) != WS_OK ||
        device_run(t->machine->device, l.at, l.n, d) != WS_OK ||
        buffers_check(&t->buffers, message, d) != WS_OK)
        return d->status;
    *spoilt = *message != NULL;
    return *spoilt ? WS_OK : testbed_compare(t, v, message, d);
}

enum ws_status testbed_restore(struct testbed *t, int kernel, struct diag *d) {
    struct launches l;
    const struct ws_kernel *k = &t->plan->program->kernels[kernel];
    if (variant_launches(t->plan->chosen[kernel], &t->buffers, &l, d) != WS_OK) return d->status;
    for (int i = 0; i < k->n_writes && d->status == WS_OK; i++) /* what stays, too */
        if (t->plan->program->buffers[k->writes[i]].keeps)
            buffers_poison(&t->buffers, &k->writes[i], 1, d);
    if (d->status != WS_OK) return d->status;
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
