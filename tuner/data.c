/* data.c: inputs, outputs and reference of a workload. */
#include "tuner/data.h"

#include <stdlib.h>
#include <string.h>

void data_open(struct data *x, struct machine *m, const struct ws_captured *c, struct arena *a) {
    *x = (struct data){.machine = m, .captured = c, .arena = a};
    x->host_inputs = NEW_ARRAY(a, void *, c->n_inputs);
    x->host_want = NEW_ARRAY(a, float *, c->n_outputs);
    x->inputs = NEW_ARRAY(a, dptr, c->n_inputs);
    x->outputs = NEW_ARRAY(a, dptr, c->n_outputs);
    x->expected = NEW_ARRAY(a, struct expected, c->n_outputs);
}

enum ws_status data_make_inputs(struct data *x, struct diag *d) {
    return ws_make_inputs(x->captured, x->host_inputs, d);
}

static bool is_row_major(const struct ws_tensor_info *t) {
    int64_t stride = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->size[i] != 1 && t->stride[i] != stride) return false;
        stride *= t->size[i];
    }
    return true;
}

/* The reference comes row-major; the buffer holds the tensor in its own strides. */
static enum ws_status to_storage_order(const struct ws_tensor_info *t, float *values,
                                       struct diag *d) {
    if (is_row_major(t)) return WS_OK;
    size_t bytes = sizeof *values * (size_t)t->numel;
    float *copy = malloc(bytes + 1);
    if (!copy) return diag_fail(d, WS_MACHINE, "out of memory for '%s'", t->name);
    memcpy(copy, values, bytes);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t rest = i, at = 0;
        for (int k = t->rank - 1; k >= 0; k--) {
            at += rest % t->size[k] * t->stride[k];
            rest /= t->size[k];
        }
        WS_ASSERT(at >= 0 && at < t->numel);
        values[at] = copy[i];
    }
    free(copy);
    return WS_OK;
}

enum ws_status data_make_reference(struct data *x, struct diag *d) {
    if (ws_make_reference(x->captured, x->host_inputs, x->host_want, d) != WS_OK) return d->status;
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        to_storage_order(&t, x->host_want[i], d);
    }
    return d->status;
}

enum ws_status data_upload(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_input_info(x->captured, i);
        if (device_alloc(dev, t.bytes, &x->inputs[i], d) == WS_OK)
            device_upload(dev, x->inputs[i], x->host_inputs[i], t.bytes, d);
    }
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        device_alloc(dev, t.bytes, &x->outputs[i], d);
        if (x->host_want[i] && d->status == WS_OK)
            expected_upload(dev, t.dtype, x->host_want[i], t.numel, &x->expected[i], d);
    }
    if (d->status == WS_OK && x->widened > 0) data_widen(x, x->widened);
    return d->status;
}

enum ws_status data_trust_outputs(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_snapshot(dev, x->outputs[i], t.dtype, t.numel, &x->expected[i], d);
    }
    if (d->status == WS_OK && x->widened > 0) data_widen(x, x->widened);
    return d->status;
}

/* *message is NULL if all outputs are right. */
static enum ws_status compare_outputs(struct data *x, const char **message, struct diag *d) {
    *message = NULL;
    for (int i = 0; i < x->captured->n_outputs && !*message; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        int rank = is_row_major(&t) ? t.rank : 0;
        if (check_buffer(x->machine->device, x->outputs[i], &x->expected[i], t.size, rank, message,
                         d) != WS_OK)
            return d->status;
        if (*message) *message = arena_printf(x->arena, "%s%s", t.name, *message);
    }
    return WS_OK;
}

enum ws_status data_check_outputs(struct data *x, const char *what, struct diag *d) {
    enum { MARGIN = 2 }; /* roundings happen at every step, not at the inputs alone */
    const char *message;
    if (compare_outputs(x, &message, d) != WS_OK) return d->status;
    if (message && !x->widened) {
        double change;
        if (data_condition(x, &change, d) != WS_OK) return d->status;
        data_widen(x, MARGIN * change);
        if (compare_outputs(x, &message, d) != WS_OK) return d->status;
    }
    if (message) return diag_fail(d, WS_WRONG, "%s is wrong: %s", what, message);
    return WS_OK;
}

void data_widen(struct data *x, double rtol) {
    for (int i = 0; i < x->captured->n_outputs; i++) {
        struct expected *e = &x->expected[i];
        if (!dtype_is_float(e->dtype) || !(rtol > e->rtol)) continue;
        e->atol *= rtol / e->rtol;
        e->rtol = rtol;
        x->widened = rtol;
    }
}

void data_close(struct data *x) {
    if (!x->machine) return;
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_inputs; i++) {
        free(x->host_inputs[i]);
        device_free(dev, x->inputs[i]);
    }
    for (int i = 0; i < x->captured->n_outputs; i++) {
        free(x->host_want[i]);
        device_free(dev, x->outputs[i]);
        expected_free(dev, &x->expected[i]);
    }
    *x = (struct data){0};
}
