/* room.c: what the steps of a run hold at a time, against what is left. */
#include "tuner/room.h"

#include <math.h>

#include "tuner/interrupt.h"

/* Bytes: while inputs are made, while kernels run. A reference that does not fit is sampled. */
static double needed(const struct machine *m, const struct ws_captured *c, bool reference,
                     const struct ws_memory *w, double *outputs) {
    double running = w->kept_inputs + (reference ? w->kept_reference : 0), most = w->inputs;
    *outputs = 0;
    for (int i = 0; i < c->n_outputs; i++) *outputs += (double)ws_output_info(c, i).bytes;
    if (m->limits.kind == DEVICE_CPU) running += w->kept_inputs + *outputs;
    return running > most ? running : most;
}

/* Nothing of it is on the host then. */
static bool is_made_there(const struct machine *m, const struct ws_captured *c, bool reference) {
    return m->limits.kind == DEVICE_CUDA && ws_lower_inputs(c, DEVICE_CUDA) &&
           (!reference || ws_lower_reference(c, DEVICE_CUDA));
}

enum ws_status room_check(const struct machine *m, const struct ws_captured *c, bool reference,
                          struct diag *d) {
    struct ws_memory w = ws_memory_of(c, m->limits.kind);
    size_t left = memory_available();
    double outputs, need = needed(m, c, reference, &w, &outputs);
    if (left == SIZE_MAX || need <= (double)left || is_made_there(m, c, reference)) return WS_OK;
    return diag_fail(d, WS_MACHINE,
                     "%s needs %.3g GB of memory while %s (inputs %.3g GB, outputs %.3g GB), and "
                     "%.3g GB are left",
                     c->workload, need / 1e9,
                     need == w.inputs ? "inputs are made as doubles" : "kernels run",
                     w.kept_inputs / 1e9, outputs / 1e9, (double)left / 1e9);
}

/* Prints nothing, keeps nothing. */
static enum ws_status check_point(const struct machine *m, const struct command_line *line,
                                  const struct sweep *s, int i, struct diag *d) {
    struct arena *a = arena_new();
    struct diag own = diag_new(a);
    struct stages quiet = stages_new(a, NULL, 0);
    const struct ws_axis *at = sweep_point(s, i, a);
    struct ws_captured *c = capture_file(line, &m->limits, at, s->n_axes, a, &quiet, &own);
    if (c) room_check(m, c, true, &own);
    /* A ladder whose last rung is too large for a tensor would be climbed for ever. What else is
     * wrong with a point is said when its turn comes. */
    bool last = s->ladder >= 0 && i + 1 == s->n_points;
    if (own.status == WS_MACHINE || (own.status != WS_OK && last)) {
        struct buf b = buf_new(a);
        for (int k = 0; k < s->n_axes; k++)
            buf_printf(&b, "%s%s=%s", k ? " " : "", at[k].name, at[k].value);
        diag_fail(d, own.status, "at %s: %s", b.p, own.message);
    }
    arena_free(a);
    return d->status;
}

enum ws_status room_check_sweep(const struct machine *m, const struct command_line *line,
                                const struct sweep *s, struct diag *d) {
    if (s->n_points == 1) return WS_OK;
    for (int i = s->n_points; i-- > 0 && !interrupted();)
        if (check_point(m, line, s, i, d) != WS_OK) return d->status;
    return WS_OK;
}
