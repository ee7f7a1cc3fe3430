/* builder.h: a kernel's body while it is made. Private to body.c and the passes that it calls. */
#ifndef WS_KERNEL_BUILDER_H
#define WS_KERNEL_BUILDER_H

#include "kernel/kernel.h"

/* A parallel axis that is no loop: a thread has n of its places: all of them; or some neighbours,
 * that is axis = n*of + 0, 1 ... n - 1, where `of` takes its place; or one of each of n parts, that
 * lie `apart` from each other: axis = of + 0, apart, 2*apart ... */
struct arm {
    ex axis;
    int64_t n;     /* 0: no arm */
    ex of;         /* EX_NONE: all */
    int64_t apart; /* 0: neighbours, or all */
};

ex arm_place(struct exprs *p, const struct arm *a, int64_t place); /* arms.c: of the axis */

struct builder {
    struct kernel *k;
    const struct schedule *s;
    const struct loops *l;
    const struct group *g;
    uint32_t group;
    bool by_rows;       /* the reductions are across rows, which are along the reduce axes */
    bool reduces;       /* something is reduced: the group's reduce axes are those of the kernel */
    bool taps;          /* windows are no loops, see taps.c */
    bool keeps_choices; /* `where` stays, also where it is known which way it goes */
    bool swaps;         /* the right factor of a product is the left one */
    int n_arms;         /* see arms.c; a group may say */
    struct arm arms[GROUP_MAX_AXES];
    bool in_product;     /* of a loop's steps: what these store is read, not made again */
    bool folds;          /* values were folded, see positions.c: some may be wanted no more */
    struct map numbers;  /* value bytes -> value id */
    bool captured;       /* chained products: what is reduced along n is read along it */
    struct map expanded; /* struct access -> value id: what is read along two paths is built once */
};

/* The value; one like it that is there already serves. */
value_id number(struct builder *w, struct value_node v);
/* The symbol that stands for subscript v: one for each value. */
ex symbol_of(struct builder *w, value_id v);

/* body.c: what nest n computes where its indices axes[] are at places[], in the group's axes; with
 * taps, what it would reduce. `guard`: where it is wanted; NO_VALUE for everywhere. over: the axes
 * that a reduction goes along; BEHIND: of those behind a product, which choose_axes finds. */
enum { BEHIND = MASK_N };
value_id expand_nest(struct builder *w, const struct nest *n, const ex *axes, const ex *places,
                     int count, value_id guard, uint8_t over);

/* body.c: kernel_new: without values. builder_of: of this group's kernel, from nothing, with no
 * choice made. name_kernel: by the group's nests. expand_group: its values and stores, in its own
 * axes. find_masks: masks and levels, of the kernel's axes. */
struct kernel *kernel_new(const struct schedule *s, const struct device_limits *limits,
                          struct arena *a);
struct builder builder_of(struct kernel *k, uint32_t group);
void name_kernel(struct builder *w);
void expand_group(struct builder *w);
void find_masks(struct kernel *k);

/* taps.c. reduces_windows needs the group expanded, in its own axes: are all of its reductions over
 * windows that are short, and overlap or are too narrow for vectors? expand_taps: reduction n as
 * arithmetic on its elements, its own indices from[] at to[], in the group's axes. */
bool reduces_windows(const struct builder *w);
/* Needs that: a short axis along which the same windows are read, with weights that are few enough
 * for a thread; EX_NONE. */
struct arm find_filters(const struct builder *w);
/* Needs that: the axis along which windows lie one below the other, and how many of these a thread
 * has, since they share lines of what they read. */
struct arm find_below(const struct builder *w);
value_id expand_taps(struct builder *w, const struct nest *n, const ex *from, const ex *to,
                     int count);

/* positions.c: the value that v, which has no number yet, can be had as; or NO_VALUE. */
value_id fold_positions(struct builder *w, const struct value_node *v);
/* ... and what op makes of sums of positions, times a number or compared; false: nothing. */
bool op_of_sums(struct exprs *p, enum op op, ex a, ex b, ex *out);
/* Is v a position, below a dimension's size and not negative? Then this is where. */
bool position_inside(const struct builder *w, value_id v, ex size, ex *at);

/* arms.c. all_of: an axis whose size is known. find_arm needs the group expanded, in its own axes:
 * the axis along which its loads are chosen, which is short, or parts of it. taps: its reductions
 * are to be straight lines. */
struct arm all_of(const struct builder *w, ex axis);
struct arm find_arm(const struct builder *w, bool taps);

/* narrow.c. Breaks value ids. */
void narrow_integers(struct builder *w);

/* axes.c. choose_axes: indices in the group's own axes become those in the kernel's; sets its kind.
 * inner_axis: of the group's parallel axes, before that, the one whose neighbours are neighbours in
 * memory; EX_NONE if it has none. each_index: call f on every index of the kernel. */
ex inner_axis(const struct builder *w);
void choose_axes(struct builder *w);
/* Neighbours of the list become one where every access allows it; how many are left. Then one flat
 * axis of them. Is a value made of anything at an index that has the symbol? */
int merge_axes(struct kernel *k, ex *axes, int n);
void flatten(struct kernel *k, enum axis which, const char *name, const ex *axes, int n);
bool value_uses(const struct kernel *k, value_id v, ex sym);
void each_index(struct kernel *k, void (*f)(void *ctx, ex *index), void *ctx);

/* one_hot.c. renumber: what stores, and the first so many subscripts, say of values, when old value
 * v has become now[v]. drop_unused: values that no store needs go; returns the same `now`, NO_VALUE
 * for these. */
void renumber(struct kernel *k, const value_id *now, uint32_t subscripts);
const value_id *drop_unused(struct builder *w);

/* edges.c. find_zeros, before choose_axes: where factors are 0 in memory. find_edges needs the
 * kernel's axes, masks and levels. */
void find_zeros(struct builder *w);
void find_edges(struct kernel *k);

/* chained.c. choose_chained_axes: of both products, false if these are none. hoist_factors: what
 * does not vary with n leaves a second product; needs masks and levels, breaks them, and value
 * ids. */
bool choose_chained_axes(struct builder *w);
void hoist_factors(struct builder *w, bool twin);
void scale_exponents(struct builder *w);
/* Both need masks and levels. edges.c: edges of terms that count where a condition is `holds`;
 * true: it is so wherever the edges have them. */
void find_chained_edges(struct kernel *k);
bool add_chained_edges(struct kernel *k, value_id condition, bool holds);

/* repeats.c. largest_divisor: the largest number by which e divides an axis of known size, or takes
 * its remainders, if the axis has several of it; else 0. split_repeats: of batches z, those that
 * right factors repeat along become rows, if rows m are few. Of both there is room for
 * GROUP_MAX_AXES. */
int64_t largest_divisor(const struct kernel *k, ex e, ex axis);
void split_repeats(struct kernel *k, ex *z, int *nz, ex *m, int *nm, const value_id *right, int n);

/* join_loads.c. Needs the kernel's axes, and masks; breaks these, levels, and value ids. */
void join_loads(struct builder *w);

/* mirror.c. Needs: masks, and what the kernel reads. */
void find_mirror(struct kernel *k);

/* hits.c. Needs: masks and levels, which it keeps. Loads that count only where a source lands are
 * guarded. */
void find_landing(struct kernel *k);
/* sorted.c: who sorts the kernel's sources, or that it is the kernel that does. */
void find_lists(struct builder *w);

/* one_hot.c. Needs: indices in the group's own axes, no masks or levels. Keeps what the stores
 * mean; breaks value ids. */
void look_up_one_hot_sums(struct builder *w);

#endif
