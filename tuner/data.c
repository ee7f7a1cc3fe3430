/* data.c: inputs, outputs and reference of a workload. */
#include "tuner/data.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/guarded.h"

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

enum ws_status data_make_reference(struct data *x, struct diag *d) {
    return ws_make_reference(x->captured, x->host_inputs, x->host_want, d);
}

enum ws_status data_upload(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_inputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_input_info(x->captured, i);
        if (guarded_alloc(dev, t.bytes, &x->inputs[i], d) == WS_OK)
            device_upload(dev, x->inputs[i], x->host_inputs[i], t.bytes, d);
    }
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        guarded_alloc(dev, t.bytes, &x->outputs[i], d);
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
        if (check_buffer(x->machine->device, x->outputs[i], &x->expected[i], t.size, t.rank,
                         message, d) != WS_OK)
            return d->status;
        if (*message) *message = arena_printf(x->arena, "%s%s", t.name, *message);
    }
    return WS_OK;
}

/* From now on, outputs are compared with what they are when every operator's value is stored. */
static enum ws_status use_eager_reference(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    for (int i = 0; i < x->captured->n_outputs; i++) {
        free(x->host_want[i]);
        x->host_want[i] = NULL;
        expected_free(dev, &x->expected[i]);
    }
    x->eager_reference = true;
    if (ws_make_eager_reference(x->captured, x->host_inputs, x->host_want, d) != WS_OK)
        return d->status;
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_upload(dev, t.dtype, x->host_want[i], t.numel, &x->expected[i], d);
    }
    if (d->status == WS_OK && x->widened > 0) data_widen(x, x->widened);
    return d->status;
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
    const char *first = message;
    if (message && !x->eager_reference && x->host_want[0]) {
        if (use_eager_reference(x, d) != WS_OK) return d->status;
        if (compare_outputs(x, &message, d) != WS_OK) return d->status;
    }
    if (message) return diag_fail(d, WS_WRONG, "%s is wrong: %s", what, first);
    return WS_OK;
}

const char *data_remark(const struct data *x) {
    if (!(x->widened > 0)) return "";
    return arena_printf(x->arena,
                        "ill-conditioned: rounded inputs change the outputs too; checked to %.2g "
                        "relative%s\n",
                        x->widened,
                        x->eager_reference
                            ? ", against a reference that stores every operator's value in its type"
                            : "");
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
        guarded_free(dev, x->inputs[i]);
    }
    for (int i = 0; i < x->captured->n_outputs; i++) {
        free(x->host_want[i]);
        guarded_free(dev, x->outputs[i]);
        expected_free(dev, &x->expected[i]);
    }
    *x = (struct data){0};
}
