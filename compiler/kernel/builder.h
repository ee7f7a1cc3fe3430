/* builder.h: a kernel's body while it is made. Private to body.c and the passes that it calls. */
#ifndef WS_KERNEL_BUILDER_H
#define WS_KERNEL_BUILDER_H

#include "kernel/kernel.h"

struct builder {
    struct kernel *k;
    const struct schedule *s;
    const struct loops *l;
    const struct group *g;
    uint32_t group;
    bool by_rows;        /* the reductions are across rows, which are along the reduce axes */
    bool reduces;        /* something is reduced: the group's reduce axes are those of the kernel */
    struct map numbers;  /* value bytes -> value id */
    struct map expanded; /* struct access -> value id: what is read along two paths is built once */
};

/* The value; one like it that is there already serves. */
value_id number(struct builder *w, struct value_node v);
/* The symbol that stands for subscript v: one for each value. */
ex symbol_of(struct builder *w, value_id v);

/* one_hot.c. Needs: indices in the group's own axes, no masks or levels. Keeps what the stores
 * mean; breaks value ids. */
void look_up_one_hot_sums(struct builder *w);

#endif
