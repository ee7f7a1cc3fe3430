/* block.h: the block program: a body under a config, phase by phase, as it is emitted.
 *
 * Of a body and its layout. block.c, print.c. */
#ifndef WS_KERNEL_BLOCK_H
#define WS_KERNEL_BLOCK_H

#include "kernel/layout.h"

struct phase {
    VEC(value_id)
    loads; /* raw loads of values that vary with r, needed here and not yet in registers */
    VEC(value_id) compute; /* values that vary with r, in order, loads included */
    VEC(value_id) reduce;  /* reductions accumulated here */
    VEC(value_id) online;  /* of these, sums that are rescaled when a maximum of them grows */
    VEC(value_id) squares; /* sums about what stands on these, reduced when that is known */
    VEC(value_id) across;  /* those of columns */
    VEC(uint32_t) stores;  /* stores that vary with r */
    VEC(value_id) after;   /* values that do not vary with r, computed when the phase is over */
    value_id at_hand;      /* behind a product: it, or what is kept in its place */
};

struct block {
    const struct kernel *kernel;
    struct config config;
    struct layout layout;
    VEC(value_id) before; /* values without r of level 0 */
    VEC(struct phase) phases;
    VEC(uint32_t) row_stores; /* stores that do not vary with r, at the end */
    value_id kept; /* behind a product: takes the place of its sums after phase 0, by what `keep` */
    struct phase keep; /* computes; NO_VALUE: nothing does */
    /* Chained, of two first products by warpgroups: these are begun one by one. What is made of the
     * first one's sums alone is `early`, while the other one is under way; its last value,
     * late.at_hand, takes the sums' place, and `late` is made of that and of the other sums. */
    bool one_by_one;
    struct phase early, late;
    VEC(value_id) across; /* all of the phases */
    VEC(value_id) finish; /* what the columns' stores need, in order */
    VEC(uint32_t) column_stores;
    int64_t grid;     /* blocks of the main launch */
    size_t workspace; /* split: bytes of partial results */
    size_t lists;     /* chained products that skip: where in these the lists lie, */
    size_t images;    /* and of those that turn factors their images */
    size_t tickets;   /* last_block: bytes of a counter for each tile of rows, and of its words;
                         look_back: of two, and a flag for each tile and group of each scan;
                         circle: and words of some rounds' totals */
};

/* block.c: needs a legal config. */
struct block *block_build(const struct kernel *k, const struct config *c, struct arena *a);
void block_print(struct buf *b, const struct block *p);
/* Of a phase with squares, what follows its reductions before they are settled, and what does
 * after. */
/* Phases whose reductions all blocks of a row wait for, where these meet. */
uint32_t block_meetings(const struct block *p);
void block_split_after(const struct block *p, const struct phase *f, struct phase *before,
                       struct phase *rest);

/* Of products one by one, that second product whose terms are the early phase's value: 1, or 2,
 * twins' other one; it is begun while the late phase is made. 0: none is, nor where steps go along
 * a list of tiles, which differ in what is between: ptxas lets no terms become a product's factor
 * in branches while another one is under way, and waits for each instruction instead. */
int chained_early_product(const struct block *p);
/* And so that there are no branches where positions decide: have tiles whose elements all count a
 * loop of their own, between two of others? */
bool chained_has_sections(const struct block *p);

/* Facts that config, block and emit share. */
/* Bytes that hold what reduction v has so far: its value, or a pair. */
int reduction_bytes(const struct kernel *k, value_id v);
/* Is it a store of the columns, which the second launch does? */
bool is_column_store(const struct kernel *k, const struct store_node *s);
/* Bytes of the partial results of a split or across reduction, aligned for any type. */
size_t partial_bytes(const struct kernel *k, const struct layout *y, value_id v);
/* in_words: the words, of 8 bytes with 4 of a value, that a part of one row takes. Those of all
 * tiles of rows lie behind the counters, at a multiple of a line of memory. */
int kernel_part_words(const struct kernel *k);
int reduction_words(const struct kernel *k, value_id v); /* of these, a reduction's */
enum { COUNTERS_OF_LINE = 32 };

#endif
