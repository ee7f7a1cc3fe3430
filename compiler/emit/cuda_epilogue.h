/* cuda_epilogue.h: what becomes of a tile's sums is printed by three files: cuda_epilogue.c goes
 * over rows, columns and phases; cuda_epilogue_loads.c has what is read, ahead and across;
 * cuda_epilogue_stores.c where elements are stored, and by how many. Private to these. */
#ifndef WS_EMIT_CUDA_EPILOGUE_H
#define WS_EMIT_CUDA_EPILOGUE_H

#include "emit/cuda_mma.h"

enum { PAIR = 2, OCTET = 8, QUAD = 4 };

/* cuda_epilogue.c: a phase's values and stores that are of elements, rows or columns; does v vary
 * with rows alone, of what the epilogue has? */
struct phase phase_of(struct emitter *w, int n);
bool of_row(struct emitter *w, value_id v);

/* Of the epilogue: loads of two neighbours, or of what two neighbours share, and what does not vary
 * with n. */
enum pair_load { EACH_OF_PAIR, TWO_OF_PAIR, ONE_OF_PAIR, ACROSS_PAIR };
enum pair_load pair_load(struct emitter *w, value_id v);
void put_pairs(struct emitter *w, const struct phase *f);
/* What columns have, before the rows: declared, and loaded from an octet on. */
void declare_columns(struct emitter *w, const struct phase *f, int octets);
void put_loads_of_columns(struct emitter *w, const struct phase *f, const char *first, int octets);
/* cuda_epilogue_loads.c: of elements whose columns are neighbours in memory: which they are, the
 * next one of a phase from i on, words that a thread has of all, and the loads. */
bool is_loaded_across(struct emitter *w, const struct value_node *x);
bool next_across(struct emitter *w, const struct phase *f, uint32_t *i);
int words_across(struct emitter *w, const struct phase *f, int octets);
void put_loads_across(struct emitter *w, const struct phase *f, const char *from, int octets);
/* Is a load made before the first store of several chunks, how many, and where they begin. */
bool is_ahead(struct emitter *w, value_id v);
int chunks_ahead(struct emitter *w, const struct phase *f, int chunks, int chunk);
/* Are elements that the row has alone among these, which lie evenly: they take no register but
 * their own. */
bool alone_ahead_evenly(struct emitter *w, const struct phase *f, int chunks, int chunk);
void open_ahead(struct emitter *w, const struct phase *f, int chunks, int chunk, int ahead);

/* Where a store's elements are, and which of them there are, as what rows have to themselves, and
 * what columns have: of few rows and many columns a thread computes either once. Conditions are on
 * digits of both, which take 32 bits. */
struct placing {
    ex of_row, of_column, guard;
    struct axis_digits columns; /* that the index counts apart; n 0: none */
    ex digit[GROUP_MAX_AXES];   /* of rows, innermost first, as symbols m0, m1, ... */
    int n_digits;               /* of these, that the guard uses */
};
struct placing placing_of(struct emitter *w, const struct store_node *s);
void put_row_place(struct emitter *w, const struct placing *x);
void put_column_place(struct emitter *w, const struct placing *x);
const char *put_inside(struct emitter *w, const struct placing *x);
/* cuda_epilogue_stores.c: an operand's own number of a flat one; bytes that a store has at once,
 * whether those of 16 bits move on to memory's vectors, or lie across; octets of a chunk. */
void put_number(struct emitter *w, const struct operand *o, const char *name, const char *flat,
                const char *end);
int store_width(struct emitter *w, const struct store_node *s);
bool any_moved_on(struct emitter *w, const struct phase *f);
bool is_across(struct emitter *w, const struct store_node *s);
int chunk_of(struct emitter *w, const struct phase *f);
const char *how_to_store(struct emitter *w);
/* What of a row waits for the next chunk, and the store. */
void declare_rests(struct emitter *w, const struct phase *f, const char *dims);
void put_rests(struct emitter *w, const struct phase *f, const char *subscript);
/* Of products that gather lines, behind each chunk: stores what is whole of them. */
void put_lines(struct emitter *w, const struct phase *f);
void put_store(struct emitter *w, uint32_t i, int width, int chunk, const char *rest);

#endif
