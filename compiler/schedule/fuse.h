/* fuse.h: what fuse.c, bind.c, partners.c, split.c, copies.c, columns.c, abreast.c, epilogue.c and
 * by_rows.c share.
 * Private to schedule/. */
#ifndef WS_SCHEDULE_FUSE_H
#define WS_SCHEDULE_FUSE_H

#include "schedule/schedule.h"

struct touched_buffer {
    buffer_id buffer;
    bool read;
};
struct touched {
    VEC(struct touched_buffer) list; /* in order */
};

/* Groups that touch a buffer. */
struct touchers {
    VEC(uint32_t) list; /* in order */
};

/* Another group that touches what this one does. */
struct partner {
    uint32_t group;
    int64_t worth; /* bytes that merging both saves; more than any number of them if one follows the
                      other's rows (comes_first) */
};
struct partners {
    VEC(struct partner) list; /* in order, without those that save nothing or are refused */
};

struct group_size {
    int size, subscripts; /* instructions an element; index tensors */
    bool full;            /* no tensor more: who would share but what it reads was refused */
};

struct fuser {
    struct schedule *s;
    struct loops *l;
    struct arena *arena; /* of what is known of groups while they are made */
    const struct device_limits *limits;
    bool eager;
    const uint8_t *apart;      /* per buffer that a product writes: what has kernels of its own
                                  (enum apart); NULL: nothing */
    uint32_t n;                /* groups at the start; merged ones die */
    bool *alive;               /* per group */
    struct group_size *size;   /* per group */
    struct touched *touched;   /* per group: what it reads or writes, each once */
    struct touchers *touchers; /* per buffer */
    struct partners *partners; /* per group */
    int64_t *most;             /* a tree: of each group's partners that come later, the most */
    uint32_t n_leaves;
    uint64_t *before;    /* [group][n_words] of bits, of each group: the first comes behind it */
    uint64_t *behind;    /* the same the other way round */
    uint64_t *living;    /* a bit for each group that is not dead */
    uint32_t *news_word; /* words of such a set that change, while two groups become one */
    uint64_t *news_bits;
    size_t n_words;
    uint32_t abreast;         /* no group before it goes beside another (abreast.c) */
    struct map seen;          /* log lines already written */
    ex dims[2 * WS_MAX_RANK]; /* for those of whoever reads, and reduces (copies.c) */
    struct map halves;        /* of an axis and a size: the two that it splits into (split.c) */
    struct arena *scratch;    /* of what is asked about a pair; nothing outlives its plan */
};

/* What a merge would look like: the guest's axes as the host's. */
struct merge {
    uint32_t a, b; /* a's nests come first in the program */
    uint32_t host, guest;
    bool inline_guest; /* the guest is pointwise and vanishes into its readers */
    bool across;       /* the guest reduces the host's rows, and keeps its columns (columns.c) */
    bool in_batches;   /* across: it keeps some of the rows' axes, too */
    bool makes;        /* the guest makes the vector of the host's product, once a row */
    bool by_columns;   /* while S3 is checked: the reader covers no row */
    bool by_places;    /* axes are told by their steps through memory (split.c) */
    struct group *split[2]; /* a and b with axes split for each other; NULL: as they are */
    int n;
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES];
    int64_t saved;
    const char *why_not;
    struct map followed; /* struct access: pointwise values found readable, or being looked at */
};

static inline struct group *group_at(struct fuser *f, uint32_t g) { return &f->s->groups.at[g]; }
static inline struct nest *nest_at(struct fuser *f, uint32_t n) { return &f->l->nests.at[n]; }

/* accesses.c. find_all_accesses: while every nest is still a group of its own, whose writers are
 * known. bytes_saved: if a and b were one. join_accesses: the guest's become the host's, which
 * writes all that is written by now; the guest is dead. */
void find_all_accesses(struct fuser *f);
bool group_reads(struct fuser *f, uint32_t g, buffer_id b);
bool group_writes(struct fuser *f, uint32_t g, buffer_id b);
bool group_touches(struct fuser *f, uint32_t g, buffer_id b); /* either */
/* b leaves the pair {g, h}: it is an output or another group reads it. */
bool escapes(struct fuser *f, buffer_id b, uint32_t g, uint32_t h);
bool depends(struct fuser *f, uint32_t reader, uint32_t writer); /* directly */
bool third_between(struct fuser *f, uint32_t a, uint32_t b);     /* a path through another group */
/* Does g, behind h, wait for a reduction besides of what h reads? As one with h, it would keep
 * these from being one pass. */
bool waits_beside(struct fuser *f, uint32_t g, uint32_t h);
int64_t bytes_saved(struct fuser *f, uint32_t a, uint32_t b);
void join_accesses(struct fuser *f, uint32_t host, uint32_t guest);

/* partners.c. Needs accesses. next_pair: the next that is worth more than `above`, in order; the
 * search begins at a = n_groups. join_partners comes after join_accesses. */
void find_partners(struct fuser *f);
void join_partners(struct fuser *f, uint32_t host, uint32_t guest);
bool next_pair(struct fuser *f, uint32_t *a, uint32_t *i, int64_t above, struct partner *out);
void refuse_pair(struct fuser *f, uint32_t a, uint32_t b);
int64_t pair_saves(struct partner p);

/* bind.c */
static inline ex axis_bound(struct fuser *f, ex axis) { return ex_symbol(f->l->ex, axis)->bound; }
/* The index with which a member touches buffer b, in group axes: the nth store or load found. */
bool touch(struct fuser *f, uint32_t g, buffer_id b, uint32_t nth, ex *index);
void bind_axes(struct fuser *f, struct merge *m); /* fills in which guest axis is which host's */
void try_bind(struct fuser *f, struct merge *m, ex guest, ex host);
bool axis_is_taken(struct fuser *f, const struct merge *m, ex host); /* is a guest's bound to it? */
bool is_axis(const struct group *g, ex e, bool *reduce);
const struct member *member_of(struct fuser *f, uint32_t nest);
bool all_readable(struct fuser *f, struct merge *m); /* S3 */

/* fuse.c */
/* Is one of them what follows the other's reduction row by row? */
bool comes_first(struct fuser *f, uint32_t a, uint32_t b);
struct schedule *fuse_nests(struct loops *l, const struct device_limits *limits, enum fusing what,
                            const struct apart_marks *marks, struct arena *a); /* as they are */
/* Fill in how both fit together without either vanishing into the other; or why_not. */
void plan_fit(struct fuser *f, struct merge *m);
bool meet_in(struct fuser *f, const struct merge *m,
             buffer_id b); /* both touch it at the same place, as far as one can see */
bool they_meet(struct fuser *f, const struct merge *m); /* in any buffer */

uint32_t epoch_of(struct fuser *f, uint32_t g);               /* of its nests */
const char *too_big(struct fuser *f, uint32_t a, uint32_t b); /* why a kernel cannot hold both */

/* abreast.c: two small kernels of one shape that have nothing to do with each other, if any.
 * pair_bytes: of what one or both read or write. Is that so little that launches take longer? */
bool find_abreast(struct fuser *f, struct merge *m);
int64_t pair_bytes(struct fuser *f, uint32_t a, uint32_t b);
bool pair_is_small(struct fuser *f, uint32_t a, uint32_t b);

/* split.c: for a merge that was refused, or in which both read the same at different places: how
 * both fit together with axes split for each other; leaves m alone if they do not. */
void plan_split(struct fuser *f, struct merge *m);
void bind_by_places(struct fuser *f, struct merge *m);
/* What the guest has and the host, whose group is split.c's copy, has not: its arms. */
void take_arms(struct fuser *f, struct merge *m);
/* What an axis is divided by in e; EX_NONE: by nothing. */
ex axis_divisor(const struct exprs *p, ex e, ex axis);

/* landing.c: why a kernel of both could not list what lands on its rows; NULL if it can, or if that
 * is not asked. */
const char *landing_reason(struct fuser *f, const struct merge *m);
/* Are its elements pairs of a source and a place, of which a kernel looks at those that meet? */
bool group_compares_places(struct fuser *f, uint32_t g);

/* epilogue.c: why a product's kernel could not reduce its tiles as a kernel of both would; NULL if
 * it can, or if that is not asked. */
const char *epilogue_reason(struct fuser *f, const struct merge *m);

/* once.c: per buffer: does a program need it to be one number wherever it is read? Needs writers.
 * Why a kernel of both would compute such a value and read it; NULL if it would not. */
bool *values_made_once(const struct schedule *s, bool scalar);
const char *once_reason(struct fuser *f, const struct merge *m);

/* at_load.c: why a kernel would be of the load and of calls; NULL if it would not. */
bool one_at_load(struct fuser *f, uint32_t a, uint32_t b); /* and not both */
const char *at_load_reason(struct fuser *f, const struct merge *m);

/* copies.c: why a kernel of both would make its values too often; NULL if it would not. */
const char *copies_reason(struct fuser *f, const struct merge *m);

/* columns.c: bytes of what a group touches that are neighbours along one of these axes. */
int64_t bytes_along(struct fuser *f, uint32_t g, const ex *axes, int n);
/* The guest as reductions of the host's columns, or the other way round; false with
 * why_not if that cannot be, or leaves why_not alone if it is out of the question. */
bool plan_columns(struct fuser *f, struct merge *m);
/* Is the merged group's axis x, the host's k-th, one that columns' sums keep? */
bool is_batch_axis(struct fuser *f, const struct merge *m, int k);
/* The batch's axes come first. */
void bring_batches_first(struct fuser *f, const struct merge *m, struct group *out);
/* The reason why a kernel of both groups could not hold its column sums; NULL if it can. */
const char *columns_too_wide(struct fuser *f, const struct merge *m);

#endif
