/* kernel.h: one group of nests as a kernel: first its *body* (what is computed per element,
 * independent of any config), then, with a config, a *block program* (who computes it: tiles,
 * threads, phases).
 *
 * Body. All nests of the group are expanded into one value-numbered list over flat axes:
 *
 *     rows    x: 0 <= x < nx        (all parallel axes of the group, merged where memory allows)
 *     columns r: 0 <= r < nr        (the reduce axes; in a pointwise kernel the innermost parallel
 *                                   axis)
 *     matmul  z, m, n and r = k     (batch, rows, columns, depth)
 *
 * A guarded load is 0 where its guard (a value) does not hold. A subscript is an integer value made
 * an index (loop.h); the symbol that stands for it appears in the indices of others, which have it
 * among their arguments. A guard or subscript that is the same for a whole vector leaves a vector
 * load whole: a row of an embedding is read 16 bytes at a time, wherever it lies.
 *
 * A value varies with a set of these axes (its mask) and has a level: how many reductions stand
 * between it and the inputs. Softmax over [4096, 4096]:
 *
 *     v0 = load b0[x*4096 + r]   {x r}  level 0
 *     v1 = reduce amax v0        {x}    level 1
 *     v2 = sub v0 v1             {x r}  level 1
 *     v3 = exp v2                {x r}  level 1
 *     v4 = reduce sum v3         {x}    level 2
 *     v5 = div v3 v4             {x r}  level 2
 *     store b5[x*4096 + r] = v5
 *
 * Block program. Phase p runs over the columns and does every reduction of a level-p value and
 * every store of a level-p value; after it the rows' values of level p+1 are computed. See block.c.
 *
 * Columns. A reduction may be *across*: along x, of a column over all rows. It has the mask {r} and
 * its argument's level; the phase of that level accumulates it. Its block program is *persistent*:
 * a fixed number of blocks goes over the rows with a stride, a thread has the same columns in each
 * row and keeps their sums in registers, a block writes them when its rows are through, and a
 * second launch adds up the blocks and computes what stands on the sums (masks without x; the store
 * of such a value is the *column's*). Backward of a layer norm:
 *
 *     v2 = mul v0 v1            {x r}  level 0
 *     v3 = reduce sum v2        {x}    level 1     for dx
 *     v4 = reduce sum v2 over x {r}    level 0     dw
 *
 * If batches of rows have columns of their own, the axis z counts batches and x the rows of one; a
 * block has rows of one batch. So z is the same for all of a block, and masks do not have it. Where
 * a block has all rows of its batch, there is no second launch: it stores the columns.
 *
 * Behind a product. What a matrix product has summed up may be reduced along m, along n, or both,
 * with batches or without: all such reductions of a kernel go along the same axes, `over`. A tile
 * has a part of each result; another launch adds up the parts and computes what stands on them
 * (masks without `over`). relu(a @ b).sum(1):
 *
 *     v3 = reduce sum v2             {m n}  level 1     the product
 *     v4 = relu v3                   {m n}  level 1
 *     v5 = reduce sum v4 over n      {m}    level 2
 *
 * Of m and n a result may take a `span` alone, as the pixels of one of several images, or these
 * and the channels of a group: a norm's statistics, a mean of each image. Each warp then leaves
 * what its columns of a row come to, one part for each image that these are of.
 *
 * If elements read what their rows come to, as softmax does, all is done in one launch: a tile that
 * has whole rows knows it; else the blocks that share rows are all at work at a time, leave their
 * parts, wait for each other, and go on with what they have in registers (tile.h). Columns are not
 * read so.
 *
 * Chained products (chained.c). Behind a product, and what is computed of its elements and of what
 * rows of them come to, stands another one, along n, whose columns are an axis of their own, c.
 * What does not vary with n has left the sum, so that its terms can be had before a row is known
 * whole:
 *
 *     v2 = reduce sum v1             {z m n}  level 1
 *     v3 = reduce amax v2 over n     {z m}    level 2
 *     v5 = exp(v2 - v3)              {z m n}  level 2
 *     v6 = reduce sum v5 over n      {z m}    level 3
 *     v9 = reduce sum v5 * v7 over n {z m c}  level 3      the second product
 *     v10 = v9 / v6                  {z m c}  level 3
 *
 * What is between may stand on two first products, of the same rows and columns, if no row of it is
 * reduced: a gradient's terms, of scores and of what their own gradient is made of. And two second
 * products, twins, may stand behind the same first ones, if they have the same rows, go along the
 * same n and have as many columns: gradients of keys and of values.
 *
 * A scan kernel does both of its phases on one tile after the other; what the rows have so far is
 * carried along. A scan's values vary with r and have the next level. What it reduces is carried
 * along, too, unless it is wanted along the row: then a tile is a whole row (whole_rows).
 *
 * Invariants (kernel_verify reports these numbers):
 *   K1  a value's arguments are values before it;
 *   K2  mask = union of the arguments' masks and of the axes in the index; a reduction removes the
 *       axes that it goes along, a scan adds {r}; a subscript in an index is an argument;
 *   K3  level = the largest of the arguments' levels, plus 1 for a reduction, but for one across,
 *       or scan;
 *   K4  a store's index varies with every axis that its value varies with;
 *   K5  every store's index is injective over its axes, and every element of an output buffer is
 *       stored exactly once, all by one store but for arms (arms.c);
 *   K6  what stands on a reduction across (`column`) does not vary with x, and nothing in the rows
 *       needs it;
 *   K7  a reduction goes along r, or across along x; behind a product along all of the axes `over`,
 *       none of which is r; where it has a span of n, not along z, and no place is looked for;
 *   K8  of chained products, what varies with n goes along with the second one: it stands on no
 *       more than a maximum of which it can be rescaled; and nothing is stored that varies with n.
 *
 * Ownership: in kernel.arena. */
#ifndef WS_KERNEL_H
#define WS_KERNEL_H

#include "kernel/block.h"
#include "kernel/body.h"
#include "kernel/chained.h"
#include "kernel/im2col.h"
#include "kernel/index.h"
#include "kernel/layout.h"
#include "kernel/persistent.h"
#include "kernel/product.h"
#include "kernel/recurrence.h"

/* sorted.c: the nest that sorts the sources of a kernel with a landing, all but its name and what
 * it writes, and a text that is the same for the same sources and rows; false: there is none. */
bool kernel_sort_key(const struct kernel *k, struct arena *a, struct nest *key, const char **text);

/* cost.c */
double kernel_flops(const struct kernel *k);
int64_t kernel_size_of_element(const struct kernel *k); /* instructions, about */
/* Are a thread's elements so many that functions are called, not written out for each of them? */
bool rows_call_maths(const struct kernel *k, const struct layout *y);
/* Is it a load of a row that all rows are combined with, and that is too long to stay in L1? */
bool load_is_long_row(const struct kernel *k, const struct value_node *x);
bool dtype_takes_vectors(enum dtype t); /* the C prelude loads and stores k_v of it */

/* space.c: every legal config worth trying, default first; *pruned counts those left out by the
 * cost model. */
void kernel_configs(const struct kernel *k, struct arena *a, const struct config **out, int *n,
                    int *pruned);
/* The first of them alone. */
struct config kernel_default_config(const struct kernel *k, struct arena *a);
/* What the cost model has for the default, *best unless NULL; infinite: no config is legal. */
double kernel_least_cost(const struct kernel *k, struct config *best, struct arena *a);
struct ranking *ranking_unknown(struct arena *a); /* of a kernel that is being made */

/* Estimated microseconds; only their order matters. */
double kernel_cost(const struct kernel *k, const struct layout *y);
/* Does it, on a GPU, move so little that this takes no longer than to wait for it once? */
bool kernel_is_short(const struct kernel *k);
/* Blocks that a multiprocessor of a GPU has registers for if all that a step loads is under way; 0:
 * it is others' business, as elements take longer than to load. */
int kernel_blocks_loading(const struct kernel *k, const struct layout *y);

#endif
