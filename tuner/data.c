/* data.c: inputs, outputs and reference of a workload. */
#include "tuner/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/guarded.h"

void data_open(struct data *x, struct machine *m, const struct ws_program *p, struct arena *a) {
    const struct ws_captured *c = p->captured;
    *x = (struct data){.machine = m, .captured = c, .first_output = p->first_output, .arena = a};
    x->host_inputs = NEW_ARRAY(a, void *, c->n_inputs);
    x->host_want = NEW_ARRAY(a, void *, c->n_outputs);
    x->inputs = NEW_ARRAY(a, dptr, c->n_inputs);
    x->memory = NEW_ARRAY(a, dptr, c->n_outputs);
    x->outputs = NEW_ARRAY(a, dptr, c->n_outputs);
    x->kept = NEW_ARRAY(a, bool, c->n_inputs);
    x->expected = NEW_ARRAY(a, struct expected, c->n_outputs);
    x->host_bound = NEW_ARRAY(a, float *, c->n_outputs);
    x->share = NEW_ARRAY(a, double, c->n_outputs);
    x->worst = NEW_ARRAY(a, struct mismatch, c->n_outputs);
}

enum ws_status data_make_inputs(struct data *x, struct diag *d) {
    return ws_make_inputs(x->captured, x->host_inputs, d);
}

enum ws_status data_make_reference(struct data *x, struct diag *d) {
    return ws_make_reference(x->captured, x->machine->limits.kind, x->host_inputs, x->host_want,
                             x->host_bound, d);
}

enum ws_status data_upload(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_input_info(x->captured, i);
        x->kept[i] = false;
        if (guarded_alloc(dev, t.bytes, &x->inputs[i], d) == WS_OK)
            device_upload(dev, x->inputs[i], x->host_inputs[i], t.bytes, d);
    }
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        x->memory[i] = x->outputs[i] = 0;
        if (x->host_want[i] && d->status == WS_OK)
            expected_upload(dev, t.dtype, x->host_want[i], x->host_bound[i], t.numel,
                            &x->expected[i], d);
    }
    return d->status;
}

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

enum ws_status data_trust_outputs(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (check_take(dev, x->outputs[i], t.dtype, t.numel, x->share[i], &x->host_want[i],
                       &x->host_bound[i], d) == WS_OK)
            expected_upload(dev, t.dtype, x->host_want[i], x->host_bound[i], t.numel,
                            &x->expected[i], d);
    }
    return d->status;
}

/* *message is NULL if all outputs are right. */
static enum ws_status compare_outputs(struct data *x, const char **message, struct diag *d) {
    *message = NULL;
    for (int i = 0; i < x->captured->n_outputs && !*message; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (check_buffer(x->machine->device, x->outputs[i], &x->expected[i], t.size, t.rank,
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
    return off > 0 && m->bound > 0 ? off / m->bound : 0;
}

const char *data_unjudged(const struct data *x) {
    struct buf b = buf_new(x->arena);
    for (int i = 0; i < x->captured->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (x->worst[i].unbounded)
            buf_printf(&b, "check: %lld of %lld elements of %s have no bound: not judged\n",
                       (long long)x->worst[i].unbounded, (long long)t.numel, t.name);
    }
    return b.p;
}

const char *data_remark(const struct data *x) {
    struct buf b = buf_new(x->arena);
    int far = 0;
    for (int i = 1; i < x->captured->n_outputs; i++)
        if (part_of(&x->worst[i]) > part_of(&x->worst[far])) far = i;
    const struct mismatch *m = &x->worst[far];
    if (part_of(m) > 0) {
        struct ws_tensor_info t = ws_output_info(x->captured, far);
        buf_printf(&b, "check: %s", t.name);
        check_print_index(&b, m->worst, t.size, t.rank);
        buf_printf(&b, " is the furthest off, by %.3g where %.3g is allowed\n",
                   fabs(m->got - m->want), m->bound);
    }
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
        free(x->host_inputs[i]);
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
