/* winners.c: keys, and stored configs read back. */
#include "tuner/winners.h"

struct store_key winner_machine_key(const struct machine *m, struct arena *a) {
    const struct device_facts *f = device_facts(m->device);
    return (struct store_key){
        .graph = "",
        .kernel = "",
        .guard = "", /* sizes are in the hashes */
        .device = arena_printf(a, "%s, %s, %d %s", f->name, m->limits.arch, m->limits.units,
                               m->limits.kind == DEVICE_CUDA ? "multiprocessors" : "cores"),
        .driver = f->driver,
        .toolchain = toolchain_version(m->toolchain),
        .generator = ws_generator_version()};
}

struct store_key winner_key(const struct machine *m, const struct ws_captured *c,
                            const struct ws_program *p, int kernel, struct arena *a) {
    struct store_key key = winner_machine_key(m, a);
    key.graph = c->graph_hash;
    key.kernel = kernel >= 0 ? p->kernels[kernel].hash : STORE_PROGRAM;
    return key;
}

enum ws_status winner_look_up(struct store *s, const struct store_key *key,
                              const struct ws_program *p, int kernel, const struct config **out,
                              struct store_winner *evidence, const char **why, struct arena *a,
                              struct diag *d) {
    bool found;
    struct diag own = diag_new(a);
    struct config *c = NEW(a, struct config);
    *out = NULL;
    if (store_lookup(s, key, evidence, &found, why, d) != WS_OK || !found) return d->status;
    if (config_parse(evidence->config, c, &own) && !ws_config_illegal(p, kernel, c, a))
        *out = c;
    else
        *why = "the stored config is not legal any more";
    return WS_OK;
}
