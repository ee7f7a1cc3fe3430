/* guarded.c: zones of 1 KiB keep the alignment that device_alloc gives, and are wider than the
 * widest access of a warp. */
#include "tuner/guarded.h"

enum { ZONE = 1024, PATTERN = 0xA5 };

/* The second zone begins at the last byte's end, so that one element too many is seen. */
enum ws_status guarded_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    dptr p;
    *out = 0;
    if (device_alloc(dev, bytes + 2 * ZONE, &p, d) != WS_OK ||
        device_fill(dev, p, PATTERN, ZONE, d) != WS_OK ||
        device_fill(dev, p + ZONE + bytes, PATTERN, ZONE, d) != WS_OK)
        return d->status;
    *out = p + ZONE;
    return WS_OK;
}

void guarded_free(struct device *dev, dptr p) {
    if (p) device_free(dev, p - ZONE);
}

/* A program has hundreds of buffers, and every check of every variant looks at all: in one call. */
enum ws_status guarded_check(struct device *dev, const struct guarded *all, int n,
                             const char **message, struct diag *d) {
    struct arena *a = arena_new();
    dptr *zones = NEW_ARRAY(a, dptr, 2 * n);
    const struct guarded **of = NEW_ARRAY(a, const struct guarded *, n);
    int some = 0, first;
    *message = NULL;
    for (int i = 0; i < n; i++) {
        if (!all[i].at) continue;
        zones[2 * some] = all[i].at - ZONE;
        zones[2 * some + 1] = all[i].at + all[i].bytes;
        of[some++] = &all[i];
    }
    if (device_find_changed(dev, zones, 2 * some, ZONE, PATTERN, &first, d) == WS_OK && first >= 0)
        *message = arena_printf(d->arena, "memory %s %s was written",
                                first % 2 ? "behind" : "before", of[first / 2]->name);
    arena_free(a);
    return d->status;
}
