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

static enum ws_status zone_is_whole(struct device *dev, dptr at, bool *whole, struct diag *d) {
    unsigned char zone[ZONE];
    if (device_download(dev, zone, at, ZONE, d) != WS_OK) return d->status;
    *whole = true;
    for (int i = 0; i < ZONE; i++) *whole &= zone[i] == PATTERN;
    return WS_OK;
}

enum ws_status guarded_check(struct device *dev, dptr p, size_t bytes, const char **where,
                             struct diag *d) {
    bool before = true, behind = true;
    *where = NULL;
    if (zone_is_whole(dev, p - ZONE, &before, d) != WS_OK ||
        zone_is_whole(dev, p + bytes, &behind, d) != WS_OK)
        return d->status;
    *where = !before ? "before" : !behind ? "behind" : NULL;
    return WS_OK;
}
