/* eval_pointwise.c: the reference loop of everything that goes element by element.
 *
 *   add(%x, %y, alpha=2)   ->   ref_ADD(x[i], y[i], 2, 0, 0), "a + c * b" of ops.def, for each i
 *
 * Every operator with a `ref` becomes a C function ref_ADD(a, b, c, d, e) here, and one loop with
 * broadcasting calls them. Of integers, those of eval_int.c are called. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/eval_text.h"
#include "graph/traits.h"

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
    else if (!x.cell && (j->node->op == OP_CLAMP_MIN || j->node->op == OP_CLAMP_MAX))
        x.number = number_nearest(j->g, &j->node->args[i], m->math);
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
        int64_t r =
            m->whole(x[0][i * step[0]], x[1][i * step[1]], x[2][i * step[2]], x[3][i * step[3]]);
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
