/* eval_ops.c: the reference loops of the primitives.
 *
 * Every operator with a `ref` becomes a C function ref_ADD(a, b, c, d, e) here, and one loop with
 * broadcasting calls them. A primitive's loop is the definition one would write on paper. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"

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
    for (int i = 0; i < c->rank; i++)
        if (set >> i & 1) {
            l.size[l.along] = c->size[i];
            l.stride[l.along++] = stride[i];
            l.length *= c->size[i];
        } else {
            l.kept_size[l.kept] = c->size[i];
            l.kept_stride[l.kept++] = stride[i];
            l.n *= c->size[i];
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

typedef double ref_fn(double a, double b, double c, double d, double e);

#define OP(id, name, class, schema, dtype, ref, ...)                                               \
    static double ref_##id(double a, double b, double c, double d, double e) { return ref; }
#include "graph/ops.def"
#undef OP

static ref_fn *const refs[OP_COUNT] = {
#define OP(id, ...) [OP_##id] = ref_##id,
#include "graph/ops.def"
#undef OP
};

double eval_ref(enum op op, const double *x) { return refs[op](x[0], x[1], x[2], x[3], x[4]); }

enum { MAX_OPERANDS = 5 };

struct operand {
    const double *v;
    double number; /* v points here if the operand is a Python number */
    int64_t stride[WS_MAX_RANK];
    int64_t last; /* stride of the last dimension */
};

static int elementwise_operands(const struct job *j, const struct cell *over, struct operand *x) {
    const struct op_info *op = op_info(j->node->op);
    int n = 0, rank = over->rank;
    for (int i = 0; i < op->n_params; i++) {
        if (!strchr("T|S", op->params[i].kind)) continue;
        WS_ASSERT(n < MAX_OPERANDS);
        struct operand *o = &x[n++];
        *o = (struct operand){.v = &o->number};
        if (j->in[i]) {
            o->v = j->in[i]->v;
            strides_broadcast(j->in[i], over, o->stride);
            o->last = rank ? o->stride[rank - 1] : 0;
        } else {
            bool none = j->node->args[i].kind == ARG_NONE; /* a weight */
            o->number = none ? 1 : arg_number(j->g, &j->node->args[i]);
        }
    }
    return n;
}

/* The operator at every element of `out`, which its operands broadcast to. */
static void each_element(const struct job *j, const struct cell *out) {
    struct operand x[MAX_OPERANDS] = {0};
    int n = elementwise_operands(j, out, x);
    for (int k = n; k < MAX_OPERANDS; k++) x[k].v = &x[k].number;
    ref_fn *f = refs[j->node->op];
    bool whole = j->node->op == OP_CONVERT && !dtype_is_float(out->dtype);
    bool rounds =
        j->node->op == OP_CAST || whole || out->dtype == DT_BOOL; /* True + True is True */
    enum dtype from = j->in[0] ? j->in[0]->dtype : out->dtype;
    double zero = dtype_is_float(out->dtype) ? -0.0 : 0.0; /* integers have only one */
    struct runs runs = runs_of(out);
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t r = 0; r < runs.n; r++) {
        if (eval_stops(j, 0)) continue;
        int64_t len, first = run_first(&runs, r, &len);
        const double *v[MAX_OPERANDS];
        for (int k = 0; k < MAX_OPERANDS; k++)
            v[k] = x[k].v + strided_at(out->rank, out->size, x[k].stride, first);
        for (int64_t i = 0; i < len; i++) {
            double y = f(v[0][i * x[0].last], v[1][i * x[1].last], v[2][i * x[2].last],
                         v[3][i * x[3].last], v[4][i * x[4].last]);
            out->v[first + i] = rounds ? value_convert(out->dtype, from, y) : y + zero;
        }
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

void eval_elementwise(const struct job *j) {
    int k;
    bool loss = op_param(j->node->op, "reduction", &k) != NULL;
    if (!loss || !strcmp(j->node->args[k].s, "none")) return each_element(j, j->out);
    struct cell all = broadcast_shape(j);
    all.v = malloc((size_t)(all.n + 1) * sizeof *all.v);
    if (!all.v) WS_BUG("no memory for %lld losses", (long long)all.n);
    each_element(j, &all);
    eval_reduced(j, all.v, all.n);
    free(all.v);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Of reductions and scans. */
static long double reduce_start(enum op op) {
    switch ((int)op) {
    case OP_SUM:
    case OP_CUMSUM: return 0;
    case OP_PROD:
    case OP_CUMPROD: return 1;
    case OP_AMAX:
    case OP_CUMMAX: return -INFINITY;
    case OP_AMIN:
    case OP_CUMMIN: return INFINITY;
    }
    WS_BUG("%s is no reduction", op_info(op)->name);
}

/* A nan, once in, stays. */
static long double reduce_step(enum op op, long double r, long double v) {
    switch ((int)op) {
    case OP_SUM:
    case OP_CUMSUM: return r + v;
    case OP_PROD:
    case OP_CUMPROD: return r * v;
    case OP_AMAX:
    case OP_CUMMAX: return r != r || r > v ? r : v;
    case OP_AMIN:
    case OP_CUMMIN: return r != r || r < v ? r : v;
    }
    WS_BUG("%s is no reduction", op_info(op)->name);
}

/* Where the first of a line's largest or smallest elements is. */
static void eval_argument(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        int64_t best = 0;
        double most = x->v[line_at(&l, line, 0)];
        for (int64_t i = 1; i < l.length && most == most; i++) {
            double v = x->v[line_at(&l, line, i)];
            bool beats = j->node->op == OP_ARGMAX ? !(v <= most) : !(v >= most);
            if (beats) most = v, best = i;
        }
        j->out->v[line] = (double)best;
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
    enum op op = j->node->op;
    if (op == OP_ARGMAX || op == OP_ARGMIN) return eval_argument(j);
    if (op == OP_M2) return eval_m2(j);
    if (op == OP_EXPSUM) return eval_expsum(j);
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
    bool truncates = dtype_is_float(x->dtype) && !dtype_is_float(j->out->dtype);
    int64_t n_blocks = (l.length + BLOCK - 1) / BLOCK;
    long double *part = malloc((size_t)(l.n * n_blocks + 1) * sizeof *part);
    if (!part) WS_BUG("no memory for %lld partial results", (long long)(l.n * n_blocks));
#pragma omp parallel for if (l.n * n_blocks > 16)
    for (int64_t k = 0; k < l.n * n_blocks; k++) {
        if (eval_stops(j, 0)) continue;
        int64_t line = k / n_blocks, from = k % n_blocks * BLOCK;
        int64_t to = from + BLOCK < l.length ? from + BLOCK : l.length;
        int64_t base = strided_at(l.kept, l.kept_size, l.kept_stride, line);
        long double r = reduce_start(op);
        for (int64_t i = from; i < to; i++) {
            double v = x->v[base + strided_at(l.along, l.size, l.stride, i)];
            r = reduce_step(op, r, truncates ? value_round(j->out->dtype, v) : v);
        }
        part[k] = r;
    }
    for (int64_t line = 0; line < l.n; line++) {
        long double r = reduce_start(op);
        for (int64_t k = 0; k < n_blocks; k++) r = reduce_step(op, r, part[line * n_blocks + k]);
        j->out->v[line] = j->out->dtype == DT_BOOL ? r != 0 : (double)r;
    }
    free(part);
}

void eval_scan(const struct job *j) {
    const struct cell *x = j->in[0];
    struct lines l = lines_along(x, dims_of(j->g, j->node, "dim", x->rank));
    bool truncates = dtype_is_float(x->dtype) && !dtype_is_float(j->out->dtype);
#pragma omp parallel for
    for (int64_t line = 0; line < l.n; line++) {
        if (eval_stops(j, 0)) continue;
        long double r = reduce_start(j->node->op);
        for (int64_t i = 0; i < l.length; i++) {
            int64_t at = line_at(&l, line, i);
            r = reduce_step(j->node->op, r,
                            truncates ? value_round(j->out->dtype, x->v[at]) : x->v[at]);
            j->out->v[at] = j->out->dtype == DT_BOOL ? r != 0 : (double)r;
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
    const double *x = j->in[0]->v;
    int64_t last = out->rank ? stride[out->rank - 1] : 0;
    struct runs runs = runs_of(out);
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t r = 0; r < runs.n; r++) {
        if (eval_stops(j, 0)) continue;
        int64_t len, first = run_first(&runs, r, &len);
        const double *from = x + base + strided_at(out->rank, out->size, stride, first);
        for (int64_t i = 0; i < len; i++) out->v[first + i] = from[i * last];
    }
}

/* ---- matrix products ------------------------------------------------------------------------- */

/* c [m, n] = a [m, k] b [k, n], for each of `batch` */
void eval_matmul(const struct job *j) {
    const struct cell *a = j->in[0], *b = j->in[1];
    int64_t m = a->size[a->rank - 2], k = a->size[a->rank - 1], n = b->size[b->rank - 1];
    int64_t batch = a->rank == 3 ? a->size[0] : 1;
#pragma omp parallel for
    for (int64_t row = 0; row < batch * m; row++) {
        if (eval_stops(j, 0)) continue;
        const double *from = b->v + row / m * k * n;
        double *c = j->out->v + row * n;
        memset(c, 0, (size_t)n * sizeof *c);
        for (int64_t p = 0; p < k; p++)
            for (int64_t q = 0; q < n; q++) c[q] += a->v[row * k + p] * from[p * n + q];
    }
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Elements first .. first+n-1. */
static void create_run(const struct job *j, int64_t first, int64_t n) {
    const struct arg *a = j->node->args;
    uint64_t seed = j->g->seed;
    double *v = j->out->v + first;
    switch ((int)j->node->op) {
    case OP_FULL:
        for (int64_t i = 0; i < n; i++) v[i] = arg_number(j->g, &a[1]);
        return;
    case OP_ARANGE:
        for (int64_t i = 0; i < n; i++)
            v[i] = arg_number(j->g, &a[0]) + (double)(first + i) * arg_number(j->g, &a[2]);
        return;
    case OP_RAND:
        random_uniforms(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n, v);
        return;
    case OP_RANDN:
        random_normals(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n, v);
        return;
    }
    WS_BUG("%s creates nothing", op_info(j->node->op)->name);
}

void eval_create(const struct job *j) {
    enum { RUN = 4096 }; /* elements a thread makes at a time */
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t first = 0; first < j->out->n; first += RUN) {
        if (eval_stops(j, 0)) continue;
        int64_t n = j->out->n - first < RUN ? j->out->n - first : RUN;
        create_run(j, first, n);
        for (int64_t i = first; i < first + n; i++)
            j->out->v[i] = value_round(j->out->dtype, j->out->v[i]);
    }
}
