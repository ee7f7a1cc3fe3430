/* meta_shape.h: the shape rules and what they share. A rule fills out's rank and sizes, and a
 * view's strides; the caller makes other strides row-major and adds the type. On a user's mistake
 * it records a message and says false. */
#ifndef WS_GRAPH_META_SHAPE_H
#define WS_GRAPH_META_SHAPE_H

#include "graph/graph_impl.h"

typedef bool shape_rule(const struct infer *in, struct meta *out);

/* meta_view.c */
shape_rule shape_view, shape_view_as, shape_flatten, shape_unflatten, shape_permute, shape_alias,
    shape_set_data;
shape_rule shape_expand, shape_expand_as, shape_slice, shape_narrow, shape_select;
shape_rule shape_unsqueeze, shape_squeeze;

/* meta_move.c */
shape_rule shape_cat, shape_stack, shape_constant_pad, shape_pad, shape_flip, shape_roll;
shape_rule shape_repeat, shape_tile, shape_repeat_interleave, shape_diagonal, shape_diag, shape_eye;
shape_rule shape_gather, shape_index, shape_index_select, shape_embedding, shape_take;
shape_rule shape_take_along_dim, shape_scatter, shape_index_add, shape_one_hot;

/* loop.c */
shape_rule shape_loop, shape_loop_step, shape_loop_stack;

/* meta_pool.c */
shape_rule shape_windows, shape_pool, shape_adaptive_pool, shape_resize, shape_unfold;
shape_rule shape_tensor_unfold;

/* Is there one constant for each of n dimensions, or one for all? None where that is allowed. */
bool infer_entries(const struct infer *in, int arg, uint32_t n, bool optional);

/* meta_convolution.c */
shape_rule shape_convolve, shape_convolve_phases, shape_convolution;

static inline int64_t infer_entry(const struct infer *in, int arg, uint32_t k, int64_t absent) {
    return arg_entry(in->g, &in->args[arg], k, absent);
}

static inline const char *infer_text(const struct infer *in, ex e) {
    return ex_str(in->g->arena, in->g->ex, e);
}

static inline ex constant(const struct infer *in, int64_t v) { return ex_const(in->g->ex, v); }

static inline bool is_one(const struct infer *in, ex e) { return e == constant(in, 1); }

static inline void append(struct meta *m, ex size, ex stride) {
    m->size[m->rank] = size;
    m->stride[m->rank++] = stride;
}

static inline double number_at(const struct infer *in, int i) {
    return arg_number(in->g, &in->args[i]);
}

static inline int dim_at(const struct infer *in, int i) {
    return (int)ex_value(in->g->ex, in->args[i].i);
}

#endif
