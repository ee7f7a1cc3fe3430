/* configs.c: reads --config, and lets the kernel's own rules judge it. */
#include "tuner/configs.h"

#include <string.h>

static enum ws_status unknown_kernel(const struct ws_program *p, const char *why, struct diag *d) {
    struct buf names = buf_new(d->arena);
    for (int k = 0; k < p->n_kernels; k++)
        buf_printf(&names, "%s%s", k ? ", " : "", p->kernels[k].name);
    return diag_fail(d, WS_USAGE, "--config: %s; the kernels are: %s", why, names.p);
}

static int find_kernel(const struct ws_program *p, const char *name, size_t n) {
    for (int k = 0; k < p->n_kernels; k++)
        if (strlen(p->kernels[k].name) == n && !memcmp(p->kernels[k].name, name, n)) return k;
    return -1;
}

static enum ws_status parse_one(const struct ws_program *p, const char *text, struct arena *a,
                                const struct config **out, struct diag *d) {
    const char *colon = strchr(text, ':'), *words = text;
    int kernel = p->n_kernels == 1 ? 0 : -1;
    if (colon) {
        kernel = find_kernel(p, text, (size_t)(colon - text));
        words = colon + 1 + strspn(colon + 1, " ");
    }
    if (kernel < 0 && colon)
        return unknown_kernel(p, arena_printf(a, "no kernel '%.*s'", (int)(colon - text), text), d);
    if (kernel < 0) return unknown_kernel(p, "which kernel? write \"NAME: x=1\"", d);
    struct config *c = NEW(a, struct config);
    if (!config_parse(words, c, d)) return d->status;
    const char *why = ws_config_illegal(p, kernel, c, a);
    if (why)
        return diag_fail(d, WS_USAGE, "--config '%s' is illegal for %s: %s", words,
                         p->kernels[kernel].name, why);
    out[kernel] = c;
    return WS_OK;
}

enum ws_status configs_parse(const struct ws_program *p, const struct texts *given, struct arena *a,
                             const struct config ***out, struct diag *d) {
    *out = NEW_ARRAY(a, const struct config *, p->n_kernels);
    for (int i = 0; i < given->n; i++)
        if (parse_one(p, given->at[i], a, *out, d) != WS_OK) return d->status;
    return WS_OK;
}
