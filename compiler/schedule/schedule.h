/* schedule.h: which nests become one kernel, in what order the kernels run, and where temporaries
 * live.
 *
 * A *group* is a set of nests over one iteration space: parallel axes X and reduce axes R (R empty:
 * pointwise; or the one axis of scans). Each nest that is stored or reduces has its own indices
 * mapped to the group's, whose axes may be finer: i0*4 + i1. A pointwise nest that nobody outside
 * reads needs no mapping: its readers recompute it at whatever index they read (it is *inlined*).
 *
 * A scan's group may reduce its rows, too. A group may reduce both ways: its rows along R, and
 * along X, over all rows, what a column of them sums up to (columns.c). A group with a matrix
 * product may reduce along some of X what the product has summed up along R (epilogue.c). What
 * reads a product may go along short axes that the product does not have: outputs of a transposed
 * convolution lie between those that a tap reaches. So may what is made of a reduction, along its
 * parts: cat([s, exp(s)]). These are *arms*, the last of X, along which a thread stores all that
 * there is (split.c).
 *
 * Invariants (schedule_verify reports these numbers):
 *   S1  every nest is in exactly one group;
 *   S2  groups are in dependency order, and in that of the epochs of their nests, of which a group
 *       has one;
 *   S3  inside a group a reader of a reduction reads it at the group's own X indices, a reader of
 *       a scan at its own X and R indices, and is no scan itself; a reduction along X is read at
 *       the group's own R indices, by what covers none of X; behind a product, at those X that it
 *       does not reduce;
 *   S4  a stored nest covers all of X, but in a recurrence, and all or none of R; in a group with
 *       reductions along X it may cover R alone, behind a product those of X that nothing reduces;
 *       arms are covered or not, and by no product;
 *   S5  temporaries that live at the same time do not overlap in the pool; what is made at load
 *       lives through all calls;
 *   S6  of a group of chained products the second one, and its twin, are members.
 *
 * Ownership: everything in schedule.arena. */
#ifndef WS_SCHEDULE_H
#define WS_SCHEDULE_H

#include "loop/loop.h"

enum {
    GROUP_MAX_AXES = 2 * WS_MAX_RANK,
    GROUP_MAX_NESTS = 128,     /* beyond, a compiler of kernels takes long and registers run out */
    GROUP_MAX_SIZE = 2048,     /* instructions an element; the same */
    GROUP_MAX_EPILOGUE = 256,  /* the same, behind a product, of which a thread has many elements */
    GROUP_MAX_VALUES = 2048,   /* the same, of what is made at several places */
    GROUP_MAX_BUFFERS = 32,    /* arguments that are tensors */
    GROUP_MAX_SUBSCRIPTS = 15, /* index tensors: an index may depend on all of them */
    CHAIN_WIDEST = 256, /* depth of the first product of a chain, and columns of the second one */
};

struct member {
    uint32_t nest;
    bool inlined; /* no mapping: recomputed by its readers */
    int n;        /* own indices: axes, then reduce axes */
    ex from[GROUP_MAX_AXES];
    ex to[GROUP_MAX_AXES]; /* an axis of the group, or a sum of those that it was split into */
};

struct group {
    int n_x, n_r;
    int n_arms;                              /* of x, the last ones */
    ex x[GROUP_MAX_AXES], r[GROUP_MAX_AXES]; /* index symbols with bounds */
    bool matmul;
    int n_between;   /* of r, the first ones: those along which a second product goes behind another
                        one (chained.c); 0: there is none */
    uint32_t second; /* n_between: that product's nest, */
    uint32_t twin;   /* and that of another one behind the same first ones; NO_NEST */
    bool scan;       /* R is scanned along, not reduced: every member may vary with it */
    bool columns;    /* some members reduce along X, what they keep is R */
    int n_batch;  /* columns: of x, the first ones, which these members keep, too: along the others
                        each batch of rows has columns of its own */
    bool at_load; /* runs once, when the program is loaded (at_load.c) */
    bool persistent; /* all steps of a loop (persistent.c): stored members are at X, products' depth
                        is R, wherever they are read */
    bool recurrent;  /* all steps of a recurrence (recurrence.c): stored members are at X, and may
                        be at R, which sums go along; what is carried is read where it was left */
    buffer_id lists; /* one more than the buffer that says which sources land on which row
                        (sorted.c); 0: it finds them itself */
    VEC(struct member) members; /* in nest order */
};
enum { NO_NEST = UINT32_MAX };

/* Is it a product behind another one? */
static inline bool group_is_second(const struct group *g, uint32_t nest) {
    return g->n_between && (nest == g->second || nest == g->twin);
}

struct schedule {
    struct arena *arena;
    struct loops *loops;
    VEC(struct group) groups; /* in launch order */
    uint32_t *group_of;       /* per nest */
    uint32_t *writer;         /* per buffer: the nest that writes it; NO_NEST for inputs */
    bool *once; /* per buffer of the loops as they were: computed in one place (once.c, apart.c) */
    bool *turned;   /* the same: what its kernel leaves is read, not made again (apart.c) */
    bool *fixed;    /* per buffer: holds the same in every call (at_load.c); while groups are made,
                       it would, were it made at load */
    bool *stored;   /* per buffer: exists in memory (input, output, or read by another group) */
    size_t *offset; /* per buffer: TEMP and stored: byte offset in the pool */
    size_t pool_bytes;
    struct buf log;     /* every fusion considered, and why or why not */
    bool may_be_apart;  /* some are what FUSING_APART leaves out */
    uint32_t n_buffers; /* of the loops as they were: recompute.c adds more */
};

/* nested.c, unroll.c (on a GPU, not for eager), by_rows.c (not for eager): the first steps of
 * schedule_fuse. */
void schedule_nested(struct loops *l, bool eager);
void schedule_unroll(struct loops *l);
void schedule_by_rows(struct loops *l, const struct device_limits *limits);
/* by_rows.c: what the kernels of these loops, which it changes, would move, in bytes, a launch as
 * what is moved meanwhile; infinite: of too many nests to fuse them for that. */
double schedule_bytes(struct loops *l, const struct device_limits *limits);
/* The same of kernels that are there. */
double schedule_moved(const struct schedule *s, const struct device_limits *limits);
/* What is fused: all that may be; the same, but reductions of what a product comes to have kernels
 * of their own, which may be faster: its tiles are then no longer held back by what their rows come
 * to; or only nests that came from the same operator of the captured graph. */
enum fusing { FUSING_ALL, FUSING_APART, FUSING_EAGER };
/* What has kernels of its own, of what one product comes to: bits. */
enum apart {
    APART_REDUCED = 1, /* what it is reduced to */
    APART_DEAR = 2,    /* transcendental functions of it, and what goes along with these */
    APART_WINDOWS = 4, /* no product's: whatever reads it, through windows that overlap */
    APART_ACROSS = 8,  /* no product's: this itself, which is stored across .. */
    APART_ALONG = 16,  /* .. the rows that these sums of the same kernel go along */
    APART_TURNED = 32  /* no product's: this itself, which is read across these rows */
};
/* fuse.c, recompute.c (not for eager), order.c, at_load.c, memory.c: the passes, in this order. */
struct schedule *schedule_fuse(struct loops *l, const struct device_limits *limits,
                               enum fusing what, struct arena *a);
/* FUSING_ALL, but for what is apart, per buffer of the loops that a product writes, that is read
 * through windows, or that is stored across; NULL: nothing. */
struct apart_marks {
    uint8_t *of;
    uint32_t n;
    bool any;
};
struct schedule *schedule_fuse_apart(struct loops *l, const struct device_limits *limits,
                                     const struct apart_marks *marks, struct arena *a);
/* needs groups; adds nests to the loops */
void schedule_recompute(struct schedule *s, const struct device_limits *limits);
/* ... for eager: which source lands at which place alone, as operators that land by one index share
 * that, and stored it is a byte for each pair */
void schedule_compare_again(struct schedule *s, const struct device_limits *limits);
/* The same step of it for others: members under their new numbers, in that order, by nest as they
 * were; NO_NEST: it has gone. Groups that have none left go. */
void schedule_renumber(struct schedule *s, const uint32_t *place);
/* us that a launch takes beside its kernel, which no kernel's cost counts. */
static const double LAUNCH_US = 1.5;
/* us that a group's kernel takes, about. */
typedef double group_us_fn(struct schedule *s, uint32_t group, void *ctx);
/* chained.c, on a GPU, not for eager, nor apart: `reason` is asked of the group of each nest that
 * may be the second one of chained products; if it has one, or if the kernels that there are
 * without that group take less by `group_us` (NULL: they are not asked), the group is undone; else
 * *us is what its kernel takes, about. Needs groups; leaves them in no order. */
typedef const char *chain_reason_fn(struct schedule *s, uint32_t group, double *us, void *ctx);
void schedule_chain(struct schedule *s, const struct device_limits *limits, chain_reason_fn *reason,
                    group_us_fn *group_us, void *ctx);
/* apart.c, on a GPU, not for eager: what a schedule, chains and all, had better have apart, as far
 * as `us` tells; of chained products nothing. Needs what kernels do: order and memory. `make` fuses
 * the loops anew with these marks, or with none, if NULL, and has that ready for kernels. */
typedef struct schedule *apart_schedule_fn(const struct apart_marks *marks, struct arena *a,
                                           void *ctx);
struct apart_marks schedule_apart(struct schedule *s, const struct device_limits *limits,
                                  apart_schedule_fn *make, group_us_fn *us, void *ctx);
/* beside.c, on a GPU, behind order and what runs at load, not for eager: `us` is what a group's
 * kernel takes, about; infinite: it is none that others may go beside. Leaves groups that are in
 * order, with what runs at load and memory. */
void schedule_beside(struct schedule *s, group_us_fn *us, void *ctx);
/* landing.c: is x a comparison of a place, an index, with where a source lands, a load? In either
 * order. */
bool compares_place(const struct nest *n, const struct inst *x, const struct inst **index,
                    const struct inst **load);
/* order.c: groups in place of those there are; at has room for `room` of them. Breaks group indices
 * held elsewhere, but group_of. */
void schedule_set_groups(struct schedule *s, struct group *at, uint32_t n, uint32_t room);
void schedule_order(struct schedule *s); /* needs groups; breaks group indices held elsewhere */
/* at_load.c: which groups run at load, and what is `fixed`; for eager nothing is. Needs order. */
void schedule_at_load(struct schedule *s, bool eager);
/* Per buffer: is it made of what is the same in every call alone? And group_at_load: the same pass
 * for a group that has become another one, of these values. */
bool *values_fixed(const struct loops *l, bool eager, struct arena *a);
void group_at_load(struct schedule *s, uint32_t g, const bool *fixed);
/* pieces.c, on a GPU, not for eager: what is concatenated is stored where its piece of the whole
 * is. The last that changes groups. */
void schedule_pieces(struct schedule *s);
/* pitch.c, on a GPU, not for eager, behind pieces: rows of temporaries begin at lines of memory
 * where `us`, what groups' kernels take, says that it pays. */
void schedule_pitch(struct schedule *s, group_us_fn *us, void *ctx);
/* persistent.c, on a GPU, not for eager, behind pitch: loops whose steps are one group, where that
 * is a kernel, which `persists` is asked of, `launches` being what its steps take as they are, in
 * us; how many there are. Needs order; memory comes anew. */
typedef bool persists_fn(struct schedule *s, uint32_t group, double launches, void *ctx);
int schedule_persistent(struct schedule *s, group_us_fn *us, persists_fn *persists, void *ctx);
/* The loop's groups, which follow each other, as `joined`; its number. */
uint32_t schedule_join_steps(struct schedule *s, uint32_t loop, struct group joined);
/* recurrence.c, behind pitch: loops that are recurrences (loops.recurs), each as one group. Needs
 * order; memory comes anew. */
void schedule_recurrences(struct schedule *s);
/* sorted.c, on a GPU, not for eager, behind all of these: sources that several groups add up where
 * they land are sorted once where `us` says that it pays. `key` makes the nest that sorts a group's
 * sources, all but its name and `out`, and a text that is the same for the same ones; false: it has
 * none. Needs order; memory comes anew. */
typedef bool sort_key_fn(struct schedule *s, uint32_t group, struct nest *key, const char **text,
                         void *ctx);
void schedule_sorts(struct schedule *s, sort_key_fn *key, group_us_fn *us, void *ctx);
/* Is it a group that sorts? */
bool group_sorts(const struct schedule *s, const struct group *g);
void schedule_memory(struct schedule *s); /* needs both */
/* memory.c. Has it a place in the pool? Per buffer, from which group to which, both included, that
 * has to be its own; needs order. */
bool buffer_in_pool(const struct schedule *s, buffer_id b);
void schedule_life(const struct schedule *s, uint32_t *born, uint32_t *dies);

void schedule_print(struct buf *b, const struct schedule *s); /* groups with their nests */
void schedule_print_memory(struct buf *b, const struct schedule *s);
const char *schedule_verify(const struct schedule *s);

/* readers.c: nests that read buffer b are nest[begin[b]] to nest[begin[b + 1] - 1]. */
struct reader_lists {
    uint32_t *nest, *begin;
};
struct reader_lists loops_readers(const struct loops *l, struct arena *a);

/* Shared with later stages. */
/* At the size hints: bytes of the distinct elements; bytes of memory from the first to the last. */
int64_t buffer_bytes(const struct loops *l, buffer_id b);
int64_t buffer_storage(const struct loops *l, buffer_id b);
bool member_is_along(const struct schedule *s, const struct member *m, const ex *axes,
                     int n);             /* a reduction, and along these axes of its group */
int nest_size(const struct nest *n);     /* about how many instructions an element */
bool nest_is_dear(const struct nest *n); /* one of them transcendental */
/* Does a load go along other elements than the nest stores, from one to the next? */
bool load_goes_across(const struct loops *l, const struct nest *n, const struct inst *load);
int64_t axes_numel(const struct loops *l, const ex *axes, int n);

#endif
