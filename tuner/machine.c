/* machine.c: open a device or take an arch's limits; capture a file for it. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "tuner/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "tuner/interrupt.h"

static struct device_limits limits_from(const struct device_limits *of) {
    struct device_limits l = *of;
    l.sequences = l.kind == DEVICE_CUDA;
    return l;
}

enum ws_status machine_open(const char *name, struct arena *a, struct machine *out,
                            struct diag *d) {
    *out = (struct machine){.arena = a, .env = env_read(a)};
    if (device_open(name, &out->env, a, d, &out->device, &out->why) != WS_OK) return d->status;
    out->limits = limits_from(device_limits(out->device));
    return machine_open_toolchain(out, d);
}

/* From now on no call outlasts an interrupt for long. */
static void heed_interrupts(struct machine *m) {
    if (m->toolchain) toolchain_stop_when(m->toolchain, interrupted);
    if (m->device) device_stop_when(m->device, interrupted);
}

enum ws_status machine_open_for(const struct command_line *c, struct arena *a, struct machine *out,
                                struct diag *d) {
    if (c->in_process) {
        machine_open(c->device, a, out, d);
        heed_interrupts(out);
        return d->status;
    }
    *out = (struct machine){.arena = a, .env = env_read(a)};
    struct toolchain_warming nvrtc = {0};
    if (!c->device || strcmp(c->device, "cpu")) toolchain_warm(&nvrtc, &out->env);
    device_open_isolated(c->device, a, d, &out->device, &out->why);
    toolchain_warmed(&nvrtc);
    if (d->status != WS_OK) return d->status;
    out->limits = limits_from(device_limits(out->device));
    machine_isolate_toolchain(out, d);
    heed_interrupts(out);
    return d->status;
}

enum ws_status machine_for_arch(const char *arch, struct arena *a, struct machine *out,
                                struct diag *d) {
    *out = (struct machine){.arena = a, .env = env_read(a)};
    out->why = arena_printf(a, "for %s, no device needed", arch);
    if (!strcmp(arch, "cpu")) {
        struct device *cpu;
        const char *why;
        if (device_open("cpu", &out->env, a, d, &cpu, &why) != WS_OK) return d->status;
        out->limits = *device_limits(cpu);
        device_close(cpu);
        return WS_OK;
    }
    if (!device_limits_for_arch(arch, &out->limits))
        return diag_fail(d, WS_USAGE, "unknown --arch '%s': expected one of %s, cpu", arch,
                         device_arch_names());
    out->limits = limits_from(&out->limits);
    return WS_OK;
}

enum ws_status machine_isolate_toolchain(struct machine *m, struct diag *d) {
    return toolchain_open_isolated(m->limits.kind, m->limits.arch, &m->env, m->arena, d,
                                   &m->toolchain);
}

enum ws_status machine_open_toolchain(struct machine *m, struct diag *d) {
    return toolchain_open(m->limits.kind, m->limits.arch, &m->env, m->arena, d, &m->toolchain);
}

int machine_cores(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

void machine_log_stage(const struct machine *m, const char *what, double begun_ms) {
    stage_log(m->env.logs, what, begun_ms);
}

void machine_close_toolchain(struct machine *m) {
    if (m->toolchain) toolchain_close(m->toolchain);
    m->toolchain = NULL;
}

void machine_close(struct machine *m) {
    machine_close_toolchain(m);
    if (m->device) device_close(m->device);
    m->device = NULL;
}

struct ws_captured *capture_file(const struct command_line *c, const struct device_limits *l,
                                 const struct ws_axis *axes, int n_axes, struct arena *a,
                                 struct stages *s, struct diag *d) {
    struct ws_captured *x = capture_symbolic(c, l, axes, n_axes, NULL, a, s, d);
    if (x && c->mode == WS_FWD && ws_is_training(x))
        fputs("training mode: dropout draws, batch statistics are computed; --eval for inference\n",
              stderr);
    return x;
}

struct ws_captured *capture_symbolic(const struct command_line *c, const struct device_limits *l,
                                     const struct ws_axis *axes, int n_axes, const char *symbolic,
                                     struct arena *a, struct stages *s, struct diag *d) {
    const struct budget_limits limits = command_line_limits(c, false);
    struct ws_options o = {.arena = a,
                           .path = c->file,
                           .axes = axes,
                           .n_axes = n_axes,
                           .cast = c->cast,
                           .dtype = c->dtype,
                           .mode = c->mode,
                           .cuda = l->kind == DEVICE_CUDA,
                           .eval = c->eval,
                           .weights_change = c->weights_change,
                           .precision = c->precise ? &c->precision : NULL,
                           .seed = c->seed,
                           .symbolic = symbolic,
                           .limits = &limits};
    return ws_capture(&o, s, d);
}
