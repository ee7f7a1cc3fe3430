/* eval_ops.c: the reference loops of the primitives.
 *
 * Every operator with a `ref` becomes a C function ref_ADD(a, b, c, d, e) here, and one loop with
 * broadcasting calls them. A primitive's loop is the definition one would write on paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/eval_text.h"
#include "graph/traits.h"

/* ---- indices --------------------------------------------------------------------------------- */

void strides_of(const struct cell *c, int64_t *stride) {
    int64_t step = 1;
    for (int i = c->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= c->size[i];
    }
}

void strides_broadcast(const struct cell *c, const struct cell *over, int64_t *stride) {
    int64_t own[WS_MAX_RANK];
    strides_of(c, own);
    for (int i = 0; i < over->rank; i++) {
        int k = i - (over->rank - c->rank);
        stride[i] = k < 0 || c->size[k] == 1 ? 0 : own[k];
    }
}

struct lines lines_along(const struct cell *c, uint32_t set) {
    struct lines l = {.n = 1, .length = 1};
    int64_t stride[WS_MAX_RANK];
    strides_of(c, stride);
    for (int i = 0; i < c->rank; i++) { /* neighbours of one kind are one dimension */
        bool along = set >> i & 1, joined = i > 0 && (set >> (i - 1) & 1) == along;
        if (along) {
            l.along += !joined;
            l.size[l.along - 1] = (joined ? l.size[l.along - 1] : 1) * c->size[i];
            l.stride[l.along - 1] = stride[i];
            l.length *= c->size[i];
        } else {
            l.kept += !joined;
            l.kept_size[l.kept - 1] = (joined ? l.kept_size[l.kept - 1] : 1) * c->size[i];
            l.kept_stride[l.kept - 1] = stride[i];
            l.n *= c->size[i];
        }
    }
    return l;
}

int64_t line_at(const struct lines *l, int64_t line, int64_t i) {
    return strided_at(l->kept, l->kept_size, l->kept_stride, line) +
           strided_at(l->along, l->size, l->stride, i);
}

/* A tensor cut into runs: up to RUN elements next to each other in the last dimension, so that
 * offsets are worked out once a run and threads share even a vector. */
enum { RUN = 4096 };
struct runs {
    int64_t inner, per_row, n;
};

static struct runs runs_of(const struct cell *c) {
    int64_t inner = c->rank ? c->size[c->rank - 1] : 1;
    int64_t per_row = (inner + RUN - 1) / RUN;
    return (struct runs){inner, per_row, inner ? c->n / inner * per_row : 0};
}

static int64_t run_first(const struct runs *r, int64_t k, int64_t *n) {
    int64_t from = k % r->per_row * RUN;
    *n = r->inner - from < RUN ? r->inner - from : RUN;
    return k / r->per_row * r->inner + from;
}

/* ---- element by element ---------------------------------------------------------------------- */

/* The operator of n elements, of which those of operand k stand step[k] apart. */
typedef void ref_loop(double *y, const double *const *x, const int64_t *step, int64_t n);

#define OP(id, name, class, schema, dtype, ref, ...)                                               \
    static double ref_##id(double a, double b, double c, double d, double e) { return ref; }       \
    static void loop_##id(double *y, const double *const *x, const int64_t *step, int64_t n) {     \
        int64_t s0 = step[0], s1 = step[1], s2 = step[2], s3 = step[3], s4 = step[4];              \
        for (int64_t i = 0; i < n; i++)                                                            \
            y[i] = ref_##id(x[0][i * s0], x[1][i * s1], x[2][i * s2], x[3][i * s3], x[4][i * s4]); \
    }
#include "graph/ops.def"
#undef OP

static ref_loop *const loops[OP_COUNT] = {
#define OP(id, ...) [OP_##id] = loop_##id,
#include "graph/ops.def"
#undef OP
};

/* The same as texts. */
static const char *const texts[OP_COUNT] = {
#define OP(id, name, class, schema, dtype, ref, ...) [OP_##id] = #ref,
#include "graph/ops.def"
#undef OP
};

const char *eval_text(enum op op) { return texts[op]; }

double eval_ref(enum op op, const double *x) {
    const double *const at[] = {x, x + 1, x + 2, x + 3, x + 4};
    double y;
    loops[op](&y, at, (const int64_t[5]){0}, 1);
    return y;
}

enum { MAX_OPERANDS = 5, CHUNK = 1024 };

/* Of a node in a group. */
struct operand {
    const struct cell *cell; /* NULL: a number */
    int member;              /* of the group, whose result this is; -1: it was there before */
    struct number number;
    int rank; /* of what it is repeated over, without dimensions that add nothing */
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK];
};

struct member {
    const struct job *job;
    enum dtype math;
    ref_loop *loop;
    int_ref *whole; /* instead, of integers */
    bool casts, rounds;
    int n;
    struct operand x[MAX_OPERANDS];
};

/* The type that the operator computes in: its result's, but a comparison's and a cast's is that of
 * what it looks at. */
static enum dtype maths_of(const struct job *j) {
    enum op op = j->node->op;
    if (op == OP_CAST || op == OP_CONVERT) return j->in[0]->dtype;
    bool compares = op_info(op)->dtype == RULE_BOOL;
    return compares ? graph_common_dtype((struct graph *)j->g, j->node) : j->out->dtype;
}

/* Losses that are reduced are floats. */
static bool is_reduced_loss(const struct node *n) {
    int k;
    return op_param(n->op, "reduction", &k) && strcmp(n->args[k].s, "none") != 0;
}

/* Are its elements in 64 bits? Those of a member that is not kept, too. */
static bool is_whole(const struct cell *c) {
    return c->w != NULL || (!c->v && !dtype_is_float(c->dtype));
}

/* A number is as PyTorch's kernels have it where the least difference decides: compared, in the
 * type of what it is compared with, and as a divisor that leaves a remainder, in that of the maths.
 * Elsewhere it keeps its digits, so that a formula and what it is decomposed to are the same. */
static double as_maths(const struct job *j, enum dtype t, double v) {
    enum op op = j->node->op;
    if (!dtype_is_float(t)) return v;
    if (op_info(op)->dtype == RULE_BOOL) return value_round(t, v);
    return op_divides(op) ? value_round(dtype_opmath(t), v) : v;
}

/* How x repeats over the shape of `over`: dimensions of 1 are left out, and neighbours in which the
 * elements stand as in one dimension become one. */
static void repeat_over(struct operand *x, const struct cell *over) {
    int64_t stride[WS_MAX_RANK];
    strides_broadcast(x->cell, over, stride);
    for (int i = 0; i < over->rank; i++) {
        int last = x->rank - 1;
        if (over->size[i] == 1) continue;
        if (last >= 0 && x->stride[last] == stride[i] * over->size[i]) {
            x->size[last] *= over->size[i];
            x->stride[last] = stride[i];
        } else {
            x->size[x->rank] = over->size[i];
            x->stride[x->rank++] = stride[i];
        }
    }
}

/* A power of a number's half is a root: PyTorch's of -inf and -0.0 are those of sqrt. */
static ref_loop *loop_of(const struct job *j) {
    const struct arg *exponent = &j->node->args[1];
    bool number = j->node->op == OP_POW && exponent->kind == ARG_FLOAT;
    if (number && exponent->f == 0.5) return loops[OP_SQRT];
    if (number && exponent->f == -0.5) return loops[OP_RSQRT];
    return loops[j->node->op];
}

static struct operand operand_of(const struct member *m, const struct job *group, int i,
                                 const struct cell *over) {
    const struct job *j = m->job;
    struct operand x = {.cell = j->in[i], .member = -1};
    for (int k = 0; x.cell && &group[k] != j; k++)
        if (group[k].out == x.cell) x.member = k;
    if (x.member >= 0) {
        x.rank = 1;
        x.size[0] = over->n;
        x.stride[0] = 1;
    } else if (x.cell) {
        repeat_over(&x, over);
    }
    if (!x.cell && j->node->args[i].kind == ARG_NONE) /* a weight */
        x.number = (struct number){1, 1};
    else if (!x.cell)
        x.number = number_of_arg(j->g, &j->node->args[i], m->math);
    if (!x.cell && j->node->args[i].kind != ARG_NONE && !m->whole)
        x.number.v = as_maths(j, m->math, arg_number(j->g, &j->node->args[i]));
    return x;
}

static struct member member_of(const struct job *group, int at, const struct cell *over) {
    const struct job *j = &group[at];
    enum op op = j->node->op;
    const struct op_info *info = op_info(op);
    struct member m = {.job = j,
                       .math = maths_of(j),
                       .loop = loop_of(j),
                       .casts = op == OP_CAST && j->in[0]->dtype != j->out->dtype};
    m.rounds = m.casts || (j->g->stores_values && !is_reduced_loss(j->node));
    if (!dtype_is_float(m.math)) m.whole = eval_int_ref(op);
    for (int i = 0; i < info->n_params; i++) {
        if (!strchr("T|S", info->params[i].kind)) continue;
        WS_ASSERT(m.n < MAX_OPERANDS);
        m.x[m.n++] = operand_of(&m, group, i, over);
    }
    return m;
}

/* n elements that stand `step` apart as the operator sees them: doubles or integers. Floats become
 * integers where a float value fills an integer tensor. */
static void convert(const struct member *m, const double *v, const int64_t *w, int64_t step,
                    int64_t n, void *to) {
    int64_t *whole = to;
    double *real = to;
    enum dtype t = dtype_opmath(m->math);
    if (m->whole && w)
        for (int64_t i = 0; i < n; i++) whole[i] = w[i * step];
    else if (m->whole)
        for (int64_t i = 0; i < n; i++) whole[i] = int_of_double(m->math, v[i * step]);
    else if (w)
        for (int64_t i = 0; i < n; i++) real[i] = double_of_int(t, w[i * step]);
    else
        for (int64_t i = 0; i < n; i++) real[i] = v[i * step];
}

/* What a thread works in: chunks of the results of members, and of operands that do not stand as
 * they are needed; of doubles or of integers. */
typedef double chunk[CHUNK];
struct room {
    chunk *results, *operands;
};

/* Elements first .. first+n-1 of operand k: where they are, and how far apart. */
static const void *fetch(const struct member *m, int k, int64_t first, int64_t n,
                         const struct room *room, int64_t *step) {
    const struct operand *x = &m->x[k];
    *step = 0;
    if (!x->cell) return m->whole ? (const void *)&x->number.w : &x->number.v;
    const double *v = x->cell->v;
    const int64_t *w = x->cell->w;
    bool kept = v || w, whole = is_whole(x->cell);
    const void *made = kept ? NULL : room->results[x->member];
    if (!kept) v = made, w = made;
    int last = x->rank - 1;
    int64_t row = last < 0 ? n : x->size[last], apart = last < 0 ? 0 : x->stride[last];
    int64_t at = kept ? strided_at(x->rank, x->size, x->stride, first) : 0;
    int64_t len = last < 1 ? n : row - first % row; /* to the end of the row */
    *step = apart;
    if (len >= n && apart <= 1 && whole == (m->whole != NULL))
        return whole ? (const void *)(w + at) : v + at;
    *step = 1;
    for (int64_t i = 0; i < n; i += len) {
        if (i > 0) at = strided_at(x->rank, x->size, x->stride, first + i), len = row;
        if (len > n - i) len = n - i;
        convert(m, whole ? NULL : v + at, whole ? w + at : NULL, apart, len, room->operands[k] + i);
    }
    return room->operands[k];
}

static void run_whole(const struct member *m, void *y, const void *const *v, const int64_t *step,
                      int64_t n) {
    const int64_t *x[MAX_OPERANDS];
    const struct cell *out = m->job->out;
    enum dtype t = out->dtype, as = m->rounds ? t : dtype_opmath(t);
    for (int k = 0; k < MAX_OPERANDS; k++) x[k] = v[k];
    int64_t *to = y;
    double *real = y;
    bool whole = is_whole(out);
    for (int64_t i = 0; i < n; i++) {
        int64_t r = m->whole(x[0][i * step[0]], x[1][i * step[1]], x[2][i * step[2]],
                             x[3][i * step[3]], x[4][i * step[4]]);
        if (whole)
            to[i] = int_wrap(t, r);
        else
            real[i] = double_of_int(as, r);
    }
}

/* Elements first .. first+n-1 of a member's result, in its cell if it is kept. */
static void run_member(const struct member *m, int64_t first, int64_t n, const struct room *room,
                       void *y) {
    static const double none = 0;
    const struct cell *out = m->job->out;
    const void *at[MAX_OPERANDS] = {&none, &none, &none, &none, &none};
    int64_t step[MAX_OPERANDS] = {0};
    bool whole = is_whole(out);
    if (out->v) y = out->v + first;
    if (out->w) y = out->w + first;
    int64_t *to = y;
    double *real = y;
    for (int k = 0; k < m->n; k++) at[k] = fetch(m, k, first, n, room, &step[k]);
    if (m->whole) return run_whole(m, y, at, step, n);
    const double *x[MAX_OPERANDS];
    for (int k = 0; k < MAX_OPERANDS; k++) x[k] = at[k];
    m->loop(real, x, step, n);
    for (int64_t i = 0; i < n && whole; i++) to[i] = int_of_double(out->dtype, real[i]);
    for (int64_t i = 0; i < n && !whole && m->rounds; i++)
        real[i] = value_round(out->dtype, real[i]);
}

/* The operators of a group at every element of `over`, which their operands broadcast to: chunk
 * after chunk, so that what only others of the group read never leaves the cache. */
static void each_element(const struct job *group, int n, const struct cell *over) {
    struct member m[EVAL_GROUP];
    for (int i = 0; i < n; i++) m[i] = member_of(group, i, over);
#pragma omp parallel if (over->n > EVAL_SMALL)
    {
        chunk *chunks = malloc((size_t)(n + MAX_OPERANDS) * sizeof *chunks);
        if (!chunks) WS_BUG("no memory for %d chunks", n + MAX_OPERANDS);
        struct room room = {chunks, chunks + n};
#pragma omp for schedule(static)
        for (int64_t first = 0; first < over->n; first += CHUNK) {
            if (eval_stops(group, 0)) continue;
            int64_t len = over->n - first < CHUNK ? over->n - first : CHUNK;
            for (int i = 0; i < n; i++) run_member(&m[i], first, len, &room, room.results[i]);
        }
        free(chunks);
    }
}

/* The shape that the operands of a loss broadcast to. */
static struct cell broadcast_shape(const struct job *j) {
    struct cell all = {.n = 1, .dtype = j->out->dtype};
    for (int k = 0; k < j->node->n_args; k++)
        if (j->in[k] && j->in[k]->rank > all.rank) all.rank = j->in[k]->rank;
    for (int i = 0; i < all.rank; i++) {
        all.size[i] = 1;
        for (int k = 0; k < j->node->n_args; k++) {
            int at = j->in[k] ? i - (all.rank - j->in[k]->rank) : -1;
            if (at >= 0 && j->in[k]->size[at] != 1) all.size[i] = j->in[k]->size[at];
        }
        all.n *= all.size[i];
    }
    return all;
}

bool eval_is_elementwise(const struct node *n) {
    return op_info(n->op)->elementwise && !is_reduced_loss(n);
}

void eval_elementwise(const struct job *j, int n) {
    if (!is_reduced_loss(j->node)) return each_element(j, n, j->out);
    struct cell all = broadcast_shape(j);
    struct job losses = *j;
    losses.out = &all;
    all.v = malloc((size_t)(all.n + 1) * sizeof *all.v);
    if (!all.v) WS_BUG("no memory for %lld losses", (long long)all.n);
    each_element(&losses, 1, &all);
    eval_reduced(j, all.v, all.n);
    free(all.v);
}

bool eval_takes_integers(const struct job *j) {
    enum op op = j->node->op;
    if (op_info(op)->elementwise) return !is_reduced_loss(j->node);
    switch (op_info(op)->class) {
    case REDUCE: return op != OP_M2 && op != OP_EXPSUM;
    case SCAN:
    case VIEW:
    case MOVE: return true;
    case MATMUL: return op != OP_CONVOLVE;
    case CREATE: return op == OP_FULL || op == OP_ARANGE;
    case COMPOSITE: return composite_takes_integers(op);
    case POINTWISE:
    case INPUT: break;
    }
    WS_BUG("%s cannot be evaluated", op_info(op)->name);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Of reductions and scans. Integers go in 64 bits, whatever they were: the type of the result cuts
 * them off. */
struct partial {
    long double v;
    int64_t w;
};

/* Those that go element by element: others have loops of their own. */
static struct partial reduce_start(enum op_fold fold) {
    switch (fold) {
    case FOLD_SUM: return (struct partial){0, 0};
    case FOLD_PROD: return (struct partial){1, 1};
    case FOLD_AMAX: return (struct partial){-INFINITY, INT64_MIN};
    case FOLD_AMIN: return (struct partial){INFINITY, INT64_MAX};
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* A nan, once in, stays. */
static long double reduce_step(enum op_fold fold, long double r, long double v) {
    switch (fold) {
    case FOLD_SUM: return r + v;
    case FOLD_PROD: return r * v;
    case FOLD_AMAX: return r != r || r > v ? r : v;
    case FOLD_AMIN: return r != r || r < v ? r : v;
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* n elements that stand `step` apart, one after the other: of the commonest, the loop alone. */
static long double reduce_doubles(enum op_fold fold, long double r, const double *x, int64_t step,
                                  int64_t n) {
    if (fold == FOLD_SUM)
        for (int64_t i = 0; i < n; i++) r += x[i * step];
    else
        for (int64_t i = 0; i < n; i++) r = reduce_step(fold, r, x[i * step]);
    return r;
}

static int64_t reduce_step_int(enum op_fold fold, int64_t r, int64_t v) {
    switch (fold) {
    case FOLD_SUM: return int_add(r, v);
    case FOLD_PROD: return int_mul(r, v);
    case FOLD_AMAX: return r > v ? r : v;
    case FOLD_AMIN: return r < v ? r : v;
    case FOLD_M2:
    case FOLD_EXPSUM:
    case FOLD_ARGMAX:
    case FOLD_ARGMIN:
    case FOLD_NONE:
    case FOLD_COUNT: break;
    }
    WS_BUG("fold %d has no steps", fold);
}

/* With element i of x, seen as the type of the result. */
static void reduce_element(const struct job *j, struct partial *r, int64_t i) {
    const struct cell *x = j->in[0], *out = j->out;
    enum op_fold fold = op_fold(j->node->op);
    if (!out->w)
        r->v = reduce_step(fold, r->v,
                           x->w ? double_of_int(dtype_opmath(out->dtype), x->w[i]) : x->v[i]);
    else if (x->w)
        r->w = reduce_step_int(fold, r->w, out->dtype == DT_BOOL ? x->w[i] != 0 : x->w[i]);
    else
        r->w = reduce_step_int(fold, r->w, int_of_double(out->dtype, x->v[i]));
}

static void reduce_store(const struct cell *out, int64_t i, const struct partial *r) {
    if (out->w)
        out->w[i] = int_wrap(out->dtype, r->w);
    else
        out->v[i] = (double)r->v;
}

/* Does element i of x stand before what was the best so far? */
static bool beats(const struct cell *x, bool largest, int64_t i, int64_t best) {
    if (x->w) return largest ? x->w[i] > x->w[best] : x->w[i] < x->w[best];
    double v = x->v[i], most = x->v[best];
    return most == most && (largest ? !(v <= most) : !(v >= most));
}

/* Where the first of a line's largest or smallest elements is. */
static void eval_argument(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        int64_t best = 0, at = line_at(&l, line, 0);
        for (int64_t i = 1; i < l.length; i++) {
            int64_t k = line_at(&l, line, i);
            if (beats(x, j->node->op == OP_ARGMAX, k, at)) best = i, at = k;
        }
        j->out->w[line] = best;
    }
}

/* Squared deviations of a line from its mean, in two passes. */
static void eval_m2(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        long double sum = 0, m2 = 0;
        for (int64_t i = 0; i < l.length; i++) sum += x->v[line_at(&l, line, i)];
        for (int64_t i = 0; i < l.length; i++) {
            long double d = x->v[line_at(&l, line, i)] - sum / l.length;
            m2 += d * d;
        }
        j->out->v[line] = (double)m2;
    }
}

/* exp(x - max) of a line, in two passes. */
static void eval_expsum(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        double max = -INFINITY;
        long double sum = 0;
        for (int64_t i = 0; i < l.length; i++) {
            double v = x->v[line_at(&l, line, i)];
            if (!(v <= max)) max = v != v || max == max ? v : max;
        }
        for (int64_t i = 0; i < l.length; i++) sum += exp(x->v[line_at(&l, line, i)] - max);
        j->out->v[line] = (double)sum;
    }
}

/* Each line is cut into blocks; blocks are reduced in parallel, then combined in order. */
void eval_reduce(const struct job *j) {
    enum { BLOCK = 1 << 16 };
    const struct cell *x = j->in[0];
    enum op_fold fold = op_fold(j->node->op);
    if (fold == FOLD_ARGMAX || fold == FOLD_ARGMIN) return eval_argument(j);
    if (fold == FOLD_M2) return eval_m2(j);
    if (fold == FOLD_EXPSUM) return eval_expsum(j);
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
    int64_t n_blocks = (l.length + BLOCK - 1) / BLOCK;
    struct partial *part = malloc((size_t)(l.n * n_blocks + 1) * sizeof *part);
    if (!part) WS_BUG("no memory for %lld partial results", (long long)(l.n * n_blocks));
#pragma omp parallel for if (l.n * n_blocks > 16)
    for (int64_t k = 0; k < l.n * n_blocks; k++) {
        if (eval_stops(j, 0)) continue;
        int64_t line = k / n_blocks, from = k % n_blocks * BLOCK;
        int64_t to = from + BLOCK < l.length ? from + BLOCK : l.length;
        int64_t base = strided_at(l.kept, l.kept_size, l.kept_stride, line);
        struct partial r = reduce_start(fold);
        if (l.along == 1 && x->v && j->out->v)
            r.v =
                reduce_doubles(fold, r.v, x->v + base + from * l.stride[0], l.stride[0], to - from);
        else
            for (int64_t i = from; i < to; i++)
                reduce_element(j, &r, base + strided_at(l.along, l.size, l.stride, i));
        part[k] = r;
    }
    for (int64_t line = 0; line < l.n; line++) {
        struct partial r = reduce_start(fold);
        for (int64_t k = 0; k < n_blocks; k++) {
            const struct partial *p = &part[line * n_blocks + k];
            r.v = reduce_step(fold, r.v, p->v);
            r.w = reduce_step_int(fold, r.w, p->w);
        }
        reduce_store(j->out, line, &r);
    }
    free(part);
}

void eval_scan(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        struct partial r = reduce_start(op_fold(j->node->op));
        for (int64_t i = 0; i < l.length; i++) {
            int64_t at = line_at(&l, line, i);
            reduce_element(j, &r, at);
            reduce_store(j->out, at, &r);
        }
    }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* The operand's strides in the order of the result's dimensions, and the offset of its first
 * element. */
static int64_t view_strides(const struct job *j, int64_t *stride) {
    const struct node *n = j->node;
    const struct cell *x = j->in[0];
    int64_t own[WS_MAX_RANK];
    int from[WS_MAX_RANK];
    strides_of(x, own);
    if (n->op == OP_EXPAND) {
        strides_broadcast(x, j->out, stride);
        return 0;
    }
    if (n->op == OP_PERMUTE) {
        permutation_of(j->g->ex, n->op, n->args, x->rank, from);
        for (int i = 0; i < x->rank; i++) stride[i] = own[from[i]];
        return 0;
    }
    WS_ASSERT(n->op == OP_SLICE);
    int64_t dim = ex_value(j->g->ex, n->args[1].i), start = (int64_t)arg_number(j->g, &n->args[2]);
    int64_t first = start * own[dim];
    memcpy(stride, own, sizeof own);
    stride[dim] *= (int64_t)arg_number(j->g, &n->args[4]);
    return first;
}

void eval_view(const struct job *j) {
    int64_t stride[WS_MAX_RANK];
    int64_t base = view_strides(j, stride);
    const struct cell *out = j->out;
    const struct cell *x = j->in[0];
    int64_t last = out->rank ? stride[out->rank - 1] : 0;
    struct runs runs = runs_of(out);
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t r = 0; r < runs.n; r++) {
        if (eval_stops(j, 0)) continue;
        int64_t len, first = run_first(&runs, r, &len);
        int64_t from = base + strided_at(out->rank, out->size, stride, first);
        for (int64_t i = 0; i < len; i++) cell_copy(j->out, first + i, x, from + i * last);
    }
}

/* ---- matrix products ------------------------------------------------------------------------- */

void multiply_row(const struct cell *a, int64_t at, const struct cell *b, int64_t from, int64_t k,
                  int64_t n, const struct cell *out, int64_t to) {
    double *c = out->v + (out->v ? to : 0);
    int64_t *d = out->w + (out->w ? to : 0);
    for (int64_t q = 0; q < n; q++) cell_put(out, to + q, (struct number){0, 0});
    for (int64_t p = 0; c && p < k; p++)
        for (int64_t q = 0; q < n; q++) c[q] += a->v[at + p] * b->v[from + p * n + q];
    for (int64_t p = 0; d && p < k; p++)
        for (int64_t q = 0; q < n; q++)
            d[q] = int_add(d[q], int_mul(a->w[at + p], b->w[from + p * n + q]));
    for (int64_t q = 0; d && q < n; q++) d[q] = int_wrap(out->dtype, d[q]);
}

/* ROWS rows at once, each added up in the same order: b is read once for all of them. */
enum { ROWS = 8 };
static void multiply_rows(const double *a, const double *b, int64_t k, int64_t n, double *c) {
    memset(c, 0, (size_t)(ROWS * n) * sizeof *c);
    for (int64_t p = 0; p < k; p++)
        for (int r = 0; r < ROWS; r++) {
            double v = a[r * k + p], *to = c + r * n;
            const double *from = b + p * n;
#pragma omp simd
            for (int64_t q = 0; q < n; q++) to[q] += v * from[q];
        }
}

/* c [m, n] = a [m, k] b [k, n], for each of `batch` */
void eval_matmul(const struct job *j) {
    const struct cell *a = j->in[0], *b = j->in[1];
    int64_t m = a->size[a->rank - 2], k = a->size[a->rank - 1], n = b->size[b->rank - 1];
    int64_t batch = a->rank == 3 ? a->size[0] : 1;
#pragma omp parallel for
    for (int64_t row = 0; row < batch * m; row += ROWS) {
        int64_t rows = batch * m - row < ROWS ? batch * m - row : ROWS;
        bool one = row / m == (row + ROWS - 1) / m; /* b for all */
        if (eval_stops(j, 0)) continue;
        if (j->out->v && rows == ROWS && one)
            multiply_rows(a->v + row * k, b->v + row / m * k * n, k, n, j->out->v + row * n);
        else
            for (int64_t r = row; r < row + rows; r++)
                multiply_row(a, r * k, b, r / m * k * n, k, n, j->out, r * n);
    }
}

/* ---- creation -------------------------------------------------------------------------------- */

/* start + k step for element k; floats from doubles, whatever start and step are. */
static struct number arange_at(const struct job *j, int64_t k) {
    const struct arg *a = j->node->args;
    bool whole = a[0].kind == ARG_INT && a[2].kind == ARG_INT;
    if (whole && j->out->w) {
        int64_t start = ex_value(j->g->ex, a[0].i), step = ex_value(j->g->ex, a[2].i);
        return (struct number){.w = int_add(start, int_mul(k, step))};
    }
    double v = arg_number(j->g, &a[0]) + (double)k * arg_number(j->g, &a[2]);
    return (struct number){v, int_of_double(DT_I64, v)};
}

/* Elements first .. first+n-1. */
static void create_run(const struct job *j, int64_t first, int64_t n) {
    const struct arg *a = j->node->args;
    uint64_t seed = j->g->seed;
    switch (op_create(j->node->op)) {
    case CREATE_FULL:
        for (int64_t i = first; i < first + n; i++)
            cell_put(j->out, i, number_of_arg(j->g, &a[1], j->out->dtype));
        return;
    case CREATE_ARANGE:
        for (int64_t i = first; i < first + n; i++) cell_put(j->out, i, arange_at(j, i));
        return;
    case CREATE_RAND:
        random_uniforms(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n,
                        j->out->v + first);
        return;
    case CREATE_RANDN:
        random_normals(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n,
                       j->out->v + first);
        return;
    }
}

void eval_create(const struct job *j) {
    enum { RUN = 4096 }; /* elements a thread makes at a time */
    struct cell *out = j->out;
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t first = 0; first < out->n; first += RUN) {
        if (eval_stops(j, 0)) continue;
        int64_t n = out->n - first < RUN ? out->n - first : RUN;
        create_run(j, first, n);
        for (int64_t i = first; i < first + n; i++)
            if (out->w)
                out->w[i] = int_wrap(out->dtype, out->w[i]);
            else
                out->v[i] = value_round(out->dtype, out->v[i]);
    }
}
