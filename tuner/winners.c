/* winners.c: keys, and stored configs read back.
 *
 *   softmax    x=1 warps=8, of text 51eccb75...    emitted under x=1 warps=8: 51eccb75...    a hit
 *   gelu       x=4, of text 07a1b2c3...            emitted under x=4: 99d0e1f2...            stale
 *
 * A winner is a hit as long as its own text is the same, whatever has become of other kernels'. */
#include "tuner/winners.h"

#include <string.h>

struct store_key winner_machine_key(const struct machine *m, struct arena *a) {
    const struct device_facts *f = device_facts(m->device);
    return (struct store_key){
        .graph = "",
        .kernel = "",
        .guard = "", /* sizes are in the hashes */
        .device = arena_printf(a, "%s, %s, %d %s", f->name, m->limits.arch, m->limits.units,
                               m->limits.kind == DEVICE_CUDA ? "multiprocessors" : "cores"),
        .driver = f->driver,
        .toolchain = toolchain_key(m->toolchain, a)};
}

const char *winner_type(const struct ws_captured *c, struct arena *a) {
    if (c->precision == PRECISION_F32) return arena_strdup(a, c->dtype);
    return arena_printf(a, "%s %s", c->dtype, precision_name(c->precision));
}

struct store_key winner_key(const struct machine *m, const struct ws_captured *c,
                            const struct ws_program *p, int kernel, struct arena *a) {
    struct store_key key = winner_machine_key(m, a);
    key.graph = c->graph_hash;
    key.kernel = kernel >= 0 ? p->kernels[kernel].hash : STORE_PROGRAM;
    if (kernel < 0 && !strcmp(c->weights, "fixed"))
        key.graph = arena_printf(a, "%s fixed", c->graph_hash);
    return key;
}

struct store_graph winner_graph(const struct ws_captured *c, const struct ws_program *p,
                                struct arena *a) {
    struct buf text = buf_new(a);
    ws_explain(c, p, &text);
    return (struct store_graph){text.p, c->workload, c->mode, winner_type(c, a), c->axes};
}

/* ---- what a winner is valid for -------------------------------------------------------------- */

/* NULL: it is the text that was timed. */
static const char *why_stale(const struct store_winner *w, const char *now, struct arena *a) {
    enum { DIGITS = 8 };
    if (!*w->text_hash)
        return arena_printf(a, "tuned by run %s, which kept no hash of the text", w->run_id);
    if (!strcmp(now, w->text_hash)) return NULL;
    return arena_printf(a, "the text changed since run %s: %.*s -> %.*s", w->run_id, DIGITS,
                        w->text_hash, DIGITS, now);
}

enum ws_status winner_look_up(struct store *s, const struct store_key *key,
                              const struct ws_program *p, int kernel, struct winner *out,
                              struct arena *a, struct diag *d) {
    bool found;
    struct diag own = diag_new(a);
    struct config *c = NEW(a, struct config);
    *out = (struct winner){0};
    if (store_lookup(s, key, &out->evidence, &found, &out->why, d) != WS_OK || !found)
        return d->status;
    if (!config_parse(out->evidence.config, c, &own) || ws_config_illegal(p, kernel, c, a) ||
        source_emit(p, kernel, c, a, &out->source, &own) != WS_OK) {
        out->why = "the stored config is not legal any more";
        return WS_OK;
    }
    out->why = why_stale(&out->evidence, source_hash(&out->source, a), a);
    out->stale = out->why != NULL;
    if (!out->why) out->config = c;
    return WS_OK;
}

/* ---- other sizes ----------------------------------------------------------------------------- */

/* Of kernels that are the same the first one's winner is kept. */
const struct store_near *winner_nearest(const struct store_near *near, int n,
                                        const struct ws_program *p, int kernel, struct config *out,
                                        struct arena *a) {
    const char *name = p->kernels[p->kernels[kernel].same].name;
    for (int i = 0; i < n; i++) {
        struct diag own = diag_new(a);
        struct ws_source source;
        if (!strcmp(near[i].kernel_name, name) && config_parse(near[i].config, out, &own) &&
            !ws_config_illegal(p, kernel, out, a) &&
            source_emit(p, kernel, out, a, &source, &own) == WS_OK)
            return &near[i];
    }
    return NULL;
}

static bool has_axis(const char *axes, const char *axis, size_t n) {
    for (; *axes; axes += strcspn(axes, " "), axes += *axes == ' ')
        if (strcspn(axes, " ") == n && !memcmp(axes, axis, n)) return true;
    return false;
}

const char *winner_near_guard(const struct store_near *near, const char *axes, struct arena *a) {
    struct buf b = buf_new(a);
    size_t n;
    for (const char *at = near->axes; *at; at += n, at += *at == ' ') {
        n = strcspn(at, " ");
        int name = (int)strcspn(at, " =");
        if (has_axis(axes, at, n) || at[name] != '=') continue;
        buf_printf(&b, "%s%.*s == %.*s", b.n ? " && " : "", name, at, (int)n - name - 1,
                   at + name + 1);
    }
    return b.n ? b.p : "other sizes";
}

/* ---- another program ------------------------------------------------------------------------- */

/* p is the program by rule. */
static const char *another_fact(const struct machine *m, const struct ws_program *p,
                                struct arena *a) {
    struct store_key key = winner_key(m, p->captured, p, -1, a);
    struct buf kernels = buf_new(a);
    for (int k = 0; k < p->n_kernels; k++) buf_printf(&kernels, "%s ", p->kernels[k].hash);
    return arena_printf(a, "%s %s %016llx %s %s %s",
                        ws_another(p) == WS_PERSISTENT ? "persistent" : "apart", key.graph,
                        (unsigned long long)hash_bytes(kernels.p, kernels.n), key.device,
                        key.driver, key.toolchain);
}

enum ws_status winner_another(struct store *s, const struct machine *m, const struct ws_program *p,
                              bool *faster, bool *found, struct arena *a, struct diag *d) {
    double value = 0;
    *faster = *found = false;
    if (ws_another(p) == WS_FUSE || !s) return WS_OK;
    if (store_get_fact(s, another_fact(m, p, a), &value, found, d) != WS_OK) return d->status;
    *faster = *found && value > 0;
    return WS_OK;
}

enum ws_status winner_keep_another(struct store *s, const struct machine *m,
                                   const struct ws_program *p, bool faster, struct arena *a,
                                   struct diag *d) {
    return store_put_fact(s, another_fact(m, p, a), faster, d);
}
