/* index.h: how a body's indices grow along an axis: strides, vectors, whole rows.
 *
 * Of a body alone. index.c. */
#ifndef WS_KERNEL_INDEX_H
#define WS_KERNEL_INDEX_H

#include "kernel/body.h"

/* Of a kernel of columns: whether each batch of rows has its own, how many batches there are, or 1;
 * and the rows of all. What varies with the batch, z, is the same for all that a block has of it,
 * and is not said by masks. */
bool kernel_has_batches(const struct kernel *k);
int64_t kernel_batches(const struct kernel *k);
int64_t kernel_rows(const struct kernel *k);
int64_t kernel_size(const struct kernel *k,
                    enum axis x); /* at the hints; 1 if the axis is missing */
/* Can `index` be loaded or stored `vec` elements at a time along axis x (contiguous, aligned, no
 * vector cut)? */
bool index_is_vector(const struct kernel *k, ex index, enum axis x, int vec);
/* All but the last one, which may be cut? */
bool index_has_vectors(const struct kernel *k, ex index, enum axis x, int vec);
/* The first, if they run backwards: 255 - r, four at a time, from 252 - r on. */
bool index_is_reversed(const struct kernel *k, ex index, enum axis x, int vec);
/* Elements from the buffer's first to its last: where a vector divides them, one in which any of
 * them lies may be read. */
ex kernel_extent(const struct kernel *k, buffer_id b);
/* Is it contiguous for vec neighbours along the axis, the first of which is a multiple of vec? */
bool index_runs(const struct kernel *k, ex index, enum axis x, int vec);
/* By how much it grows from one of these to the next; -1 if that differs, or is not known. */
int64_t index_stride_inside(const struct kernel *k, ex index, enum axis x, int vec);
/* Is the value the same for such neighbours? */
bool value_is_uniform(const struct kernel *k, value_id v, enum axis x, int vec);
/* Coefficient of axis x in index, or -1 if not a constant. */
int64_t index_stride(const struct kernel *k, ex index, enum axis x);
/* Takes the multiple of a symbol out of an index: by how much it grows with it, 0 of EX_NONE. False
 * if that is no number. */
bool index_take(const struct kernel *k, ex *index, ex symbol, int64_t *step);
/* The same, or by how much it grows between neighbours, if that holds for eights of them: rows that
 * lie apart in memory are long enough to count as contiguous. */
int64_t index_local_stride(const struct kernel *k, ex index, enum axis x);
/* The same almost everywhere: where a row ends, and the next begins elsewhere, is left out. What
 * runs backwards has neighbours as well. */
int64_t index_usual_stride(const struct kernel *k, ex index, enum axis x);
/* The three of a load, whose guard and subscripts may vary along the axis. */
bool load_is_vector(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
bool load_has_vectors(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
bool load_is_reversed(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
/* Is it the same for vec neighbours, the first of which is a multiple of vec? */
bool load_is_uniform(const struct kernel *k, const struct value_node *load, enum axis x, int vec);
int64_t load_stride(const struct kernel *k, const struct value_node *load, enum axis x);
int64_t load_usual_stride(const struct kernel *k, const struct value_node *load, enum axis x);
/* From the first to the second: where rows of any length lie apart, mostly that. */
int64_t load_first_step(const struct kernel *k, const struct value_node *load, enum axis x);

#endif
