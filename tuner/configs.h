/* configs.h: --config: which config the user wants for which kernel. */
#ifndef TUNER_CONFIGS_H
#define TUNER_CONFIGS_H

#include "tuner/command_line.h"
#include "ws_tune.h"

/* given: "NAME: x=1 warps=8" or, where there is one kernel, "x=1 warps=8". (*out)[k] is NULL for
 * kernels that were not named. WS_USAGE: no such kernel, a bad or illegal config and why. */
enum ws_status configs_parse(const struct ws_program *p, const struct texts *given, struct arena *a,
                             const struct config ***out, struct diag *d);

#endif
