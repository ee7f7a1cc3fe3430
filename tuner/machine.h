/* machine.h: what a command works with: a device, the toolchain for it, and where words go. */
#ifndef TUNER_MACHINE_H
#define TUNER_MACHINE_H

#include "tuner/command_line.h"
#include "tuner/doing.h"
#include "ws_tune.h"

struct machine {
    struct arena *arena; /* lives as long as the command */
    struct env env;
    struct device *device;       /* NULL: compile for an arch without such a device */
    struct toolchain *toolchain; /* opened by one of the two that do that */
    struct device_limits limits;
    const char *why;     /* which device, and why that one */
    struct doing *doing; /* what it is at, for logs; NULL: nobody asks */
};

/* The device called name (NULL: the default one) with its toolchain. */
enum ws_status machine_open(const char *name, struct arena *a, struct machine *out, struct diag *d);
/* The device that the command line asks for, with the compiler in processes of their own, unless it
 * says otherwise: what untried code does to them costs the variant alone. */
enum ws_status machine_open_for(const struct command_line *c, struct arena *a, struct machine *out,
                                struct diag *d);
/* The limits of an arch by name, "cpu" included; no device, no toolchain yet. */
enum ws_status machine_for_arch(const char *arch, struct arena *a, struct machine *out,
                                struct diag *d);
enum ws_status machine_open_toolchain(struct machine *m, struct diag *d);
/* In processes of its own, as many as threads compile. */
enum ws_status machine_isolate_toolchain(struct machine *m, struct diag *d);
void machine_close_toolchain(struct machine *m); /* it may be opened again */
void machine_close(struct machine *m);           /* not its arena */

int machine_cores(void); /* that this process may use */

/* Under WS_LOGS=stages: "[stages] bench make_values: 12.3 ms", of what has begun then. */
void machine_log_stage(const struct machine *m, const char *what, double begun_ms);

/* Trace the command line's file with these axes, for a device of these limits. What is made lives
 * in a. */
struct ws_captured *capture_file(const struct command_line *c, const struct device_limits *l,
                                 const struct ws_axis *axes, int n_axes, struct arena *a,
                                 struct stages *s, struct diag *d);
/* The same with an axis as a symbol. */
struct ws_captured *capture_symbolic(const struct command_line *c, const struct device_limits *l,
                                     const struct ws_axis *axes, int n_axes, const char *symbolic,
                                     struct arena *a, struct stages *s, struct diag *d);

#endif
