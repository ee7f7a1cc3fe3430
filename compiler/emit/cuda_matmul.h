/* cuda_matmul.h: panels of a product by multiply-adds, which cuda_matmul_panels.c fills and
 * cuda_matmul.c multiplies. */
#ifndef WS_EMIT_CUDA_MATMUL_H
#define WS_EMIT_CUDA_MATMUL_H

#include "emit/impl.h"

enum { QUAD = 4 };

/* A factor's panel: `size` rows, of m or n, by `depth`. */
struct panel {
    value_id factor;
    enum axis axis;
    const char *side; /* "m" */
    char letter;      /* of its arrays: ra, As */
    int size, depth;
    int slice;        /* of the depth, that the loop has written out: all of it, or eights */
    int pitch;        /* from depth kk to kk + 1, */
    int apart;        /* and from a slice to the next one; the other panel's is in between */
    bool shifted;     /* the last tile ends where the factor does, and begins in the one before */
    bool turned;      /* what is copied is an image [z][depth][row] of it (cuda_matmul_turned.c) */
    bool along_depth; /* is memory */
    int each;         /* elements that a thread reads at once, along memory */
    value_id copied;  /* a load that is the factor, of elements as they are; NO_VALUE: none */
    bool gathered;    /* where its elements are takes many registers: it is read as it is written */
    bool upright;     /* panels ahead: it is as memory has it, along the depth, and read by fours */
    int elements;     /* of a thread */
    int rounds;       /* of all threads */
    const bool *needed;
};

/* Those of both factors. */
void panels_make(struct emitter *w, struct panel *a, struct panel *b);

int panel_quads(const struct panel *p);  /* of a row, along the depth */
int panel_slices(const struct panel *p); /* of its depth */
/* Which quad of row `row`, number `quad` of the depth, lies as which: of an upright panel. */
const char *panel_upright_quad(struct emitter *w, const struct panel *p, const char *row,
                               const char *quad);

/* Of a tile's rows or columns: the first one; whether the last tile begins in the one before; what
 * says that this tile stores number `at`; neighbours that a thread has, and from those to its next
 * ones. */
const char *tile_begin(struct emitter *w, enum axis axis);
bool tile_is_shifted(struct emitter *w, enum axis axis);
const char *tile_stored_if(struct emitter *w, enum axis axis, const char *at);
int tile_thread_unit(struct emitter *w, enum axis axis);
int tile_unit_distance(struct emitter *w, enum axis axis);

/* Loads into registers, and copies, of the panels at depth `next`; whole: none of it is outside. */
void put_panel_fetches(struct emitter *w, const struct panel *const *side, bool whole);
/* What was loaded, and what is gathered, into the panels. */
void put_panel_fills(struct emitter *w, const struct panel *const *side);
void declare_staged_panels(struct emitter *w, const struct panel *const *side);
/* A thread's elements at depth kk, into the array `to`. */
void put_panel_operands(struct emitter *w, const struct panel *p, int elements, const char *to);

/* cuda_matmul_turned.c: the launches that write the images of factors that are turned; their
 * parameters, of the product's launch. */
void emit_cuda_turned_factors(struct emitter *w);
void put_turned_parameters(struct emitter *w, struct ws_launch *l);

#endif
