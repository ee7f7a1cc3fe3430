/* guarded.h: device memory with a zone before and behind it that nobody may write.
 *
 *   | zone | bytes | zone |      a variant that writes outside of its tensors is found out by what
 *          ^ the pointer         it leaves in a zone, before it spoils what others are judged by */
#ifndef TUNER_GUARDED_H
#define TUNER_GUARDED_H

#include "ws_tune.h"

/* What is guarded; at may be 0: nothing. */
struct guarded {
    dptr at;
    size_t bytes;
    const char *name;
};

enum ws_status guarded_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d);
void guarded_free(struct device *dev, dptr p); /* p may be 0 */
/* *message is NULL if the zones of all n are as they were, else "memory behind b1 was written". */
enum ws_status guarded_check(struct device *dev, const struct guarded *all, int n,
                             const char **message, struct diag *d);

#endif
