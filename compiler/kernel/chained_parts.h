/* chained_parts.h: what the parts of chained.c ask each other. */
#ifndef WS_KERNEL_CHAINED_PARTS_H
#define WS_KERNEL_CHAINED_PARTS_H

#include "kernel/builder.h"

/* chained.c */
bool is_zero(const struct kernel *k, value_id v);
bool is_scale(const struct kernel *k, value_id v);

/* chained_own.c */
const struct value_node *load_of(const struct kernel *k, value_id v);
void find_own(const struct kernel *k, struct chained *x);

#endif
