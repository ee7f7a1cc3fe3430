/* backend_plugin.h: backends that are shared objects of the user's (ws_backend.h). */
#ifndef TUNER_BACKEND_PLUGIN_H
#define TUNER_BACKEND_PLUGIN_H

#include "ws_tune.h"

struct backend_plugin;

/* WS_USAGE: no such file, one that others can write to, no ws_backend in it. All of it lives in a
 * until close. */
enum ws_status backend_plugin_open(const char *path, struct arena *a, struct backend_plugin **out,
                                   struct diag *d);
const struct backend *backend_plugin_of(const struct backend_plugin *p);
void backend_plugin_close(struct backend_plugin *p); /* p may be NULL */

#endif
