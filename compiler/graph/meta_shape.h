/* meta_shape.h: the shape rules and what they share. A rule fills out's rank and sizes, and a
 * view's strides; the caller makes other strides row-major and adds the type. On a user's mistake
 * it records a message and says false. */
#ifndef WS_GRAPH_META_SHAPE_H
#define WS_GRAPH_META_SHAPE_H

#include "graph/graph_impl.h"

typedef bool shape_rule(const struct infer *in, struct meta *out);

/* meta_view.c */
shape_rule shape_view, shape_view_as, shape_flatten, shape_unflatten, shape_permute, shape_alias;
shape_rule shape_expand, shape_expand_as, shape_slice, shape_narrow, shape_select;
shape_rule shape_unsqueeze, shape_squeeze;

static inline ex constant(const struct infer *in, int64_t v) { return ex_const(in->g->ex, v); }

static inline bool is_one(const struct infer *in, ex e) { return e == constant(in, 1); }

static inline void append(struct meta *m, ex size, ex stride) {
    m->size[m->rank] = size;
    m->stride[m->rank++] = stride;
}

static inline int dim_at(const struct infer *in, int i) {
    return (int)ex_value(in->g->ex, in->args[i].i);
}

#endif
