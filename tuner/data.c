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
    x->trusted = NEW_ARRAY(a, void *, c->n_outputs);
    x->inputs = NEW_ARRAY(a, dptr, c->n_inputs);
    x->memory = NEW_ARRAY(a, dptr, c->n_outputs);
    x->outputs = NEW_ARRAY(a, dptr, c->n_outputs);
    x->kept = NEW_ARRAY(a, bool, c->n_inputs);
    x->expected = NEW_ARRAY(a, struct expected, c->n_outputs);
    x->widened = NEW_ARRAY(a, double, c->n_outputs);
    x->noise = NEW_ARRAY(a, double, c->n_outputs);
}

enum ws_status data_make_inputs(struct data *x, struct diag *d) {
    return ws_make_inputs(x->captured, x->host_inputs, d);
}

enum ws_status data_make_reference(struct data *x, struct diag *d) {
    return ws_make_reference(x->captured, x->host_inputs, x->host_want, d);
}

static bool takes_floats(const struct data *x) {
    for (int i = 0; i < x->captured->n_inputs; i++)
        if (dtype_is_float(ws_input_info(x->captured, i).dtype)) return true;
    return false;
}

/* Let outputs be off by what is known of their conditioning, if their type does not allow more.
 * Integers of integers are never off. */
static void widen(struct data *x) {
    enum { MARGIN = 16 }; /* a kernel rounds at other places, and within operators, too */
    bool floats = takes_floats(x);
    for (int i = 0; i < x->captured->n_outputs; i++) {
        struct expected *e = &x->expected[i];
        if (dtype_is_int(e->dtype)) e->share = floats ? fmax(e->share, x->widened[i]) : 0;
        if (!dtype_is_float(e->dtype)) continue;
        if (x->widened[i] > e->rtol) {
            e->atol *= x->widened[i] / e->rtol;
            e->rtol = x->widened[i];
        }
        e->atol = fmax(e->atol, MARGIN * x->noise[i]);
    }
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
        const void *want = x->host_want[i] ? x->host_want[i] : x->trusted[i];
        if (want && d->status == WS_OK)
            expected_upload(dev, t.dtype, want, t.numel, &x->expected[i], d);
    }
    if (d->status == WS_OK) widen(x);
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
        size_t bytes = (size_t)dtype_bytes(dtype_reference(t.dtype)) * (size_t)t.numel;
        if (!x->trusted[i]) x->trusted[i] = large_alloc(bytes);
        if (!x->trusted[i]) return diag_fail(d, WS_MACHINE, "out of memory for '%s'", t.name);
        if (expected_snapshot(dev, x->outputs[i], t.dtype, t.numel, &x->expected[i], d) == WS_OK)
            device_download(dev, x->trusted[i], x->expected[i].want, bytes, d);
    }
    if (d->status == WS_OK) widen(x);
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

static double largest_difference(const float *a, const float *b, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (isfinite(difference) && difference > most) most = difference;
    }
    return most;
}

/* From now on, outputs are compared with what they are when every operator's value is stored. */
static enum ws_status use_eager_reference(struct data *x, struct diag *d) {
    struct device *dev = x->machine->device;
    void **exact = NEW_ARRAY(x->arena, void *, x->captured->n_outputs);
    for (int i = 0; i < x->captured->n_outputs; i++) {
        exact[i] = x->host_want[i];
        x->host_want[i] = NULL;
        expected_free(dev, &x->expected[i]);
    }
    x->eager_reference = true;
    ws_make_eager_reference(x->captured, x->host_inputs, x->host_want, d);
    for (int i = 0; i < x->captured->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        if (d->status == WS_OK && dtype_is_float(t.dtype))
            x->noise[i] = largest_difference(x->host_want[i], exact[i], t.numel);
        free(exact[i]);
    }
    for (int i = 0; i < x->captured->n_outputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(x->captured, i);
        expected_upload(dev, t.dtype, x->host_want[i], t.numel, &x->expected[i], d);
    }
    if (d->status == WS_OK) widen(x);
    return d->status;
}

enum ws_status data_check_outputs(struct data *x, const char *what, struct diag *d) {
    enum { MARGIN = 2 }; /* roundings happen at every step, not at the inputs alone */
    const char *message;
    if (compare_outputs(x, &message, d) != WS_OK) return d->status;
    if (message && !x->conditioned) {
        if (data_condition(x, x->widened, d) != WS_OK) return d->status;
        for (int i = 0; i < x->captured->n_outputs; i++) x->widened[i] *= MARGIN;
        x->conditioned = true;
        widen(x);
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
    double most = 0;
    for (int i = 0; i < x->captured->n_outputs; i++)
        if (dtype_is_float(x->expected[i].dtype) && x->widened[i] > 0 &&
            x->widened[i] >= x->expected[i].rtol)
            most = fmax(most, x->widened[i]);
    static const char stored[] = "a reference that stores every operator's value in its type";
    if (most > 0)
        return arena_printf(x->arena,
                            "ill-conditioned: rounded inputs change the outputs too; checked to "
                            "%.2g relative%s%s\n",
                            most, x->eager_reference ? ", against " : "",
                            x->eager_reference ? stored : "");
    return x->eager_reference ? arena_printf(x->arena, "checked against %s\n", stored) : "";
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
        free(x->trusted[i]);
        guarded_free(dev, x->memory[i]);
        expected_free(dev, &x->expected[i]);
    }
    *x = (struct data){0};
}
