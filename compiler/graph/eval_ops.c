/* eval_ops.c: how elements are counted, and the reference loops of views, products and creation:
 *
 *   mm(%a: f32[2, 3], %b: f32[3, 4])   ->   c[i, j] is the sum over k of a[i, k] b[k, j]
 *
 * A primitive's loop is the definition one would write on paper. Others are in eval_pointwise.c,
 * eval_reduce.c, eval_move.c and eval_convolution.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
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

/* ---- what has loops of integers -------------------------------------------------------------- */

bool eval_takes_integers(const struct job *j) {
    enum op op = j->node->op;
    if (op_info(op)->elementwise) return eval_is_elementwise(j->node);
    switch (op_info(op)->class) {
    case REDUCE: return op != OP_M2 && op != OP_EXPSUM;
    case SCAN:
    case VIEW:
    case MOVE: return true;
    case MATMUL: return !op_convolves(op);
    case CREATE: return !op_is_random(op);
    case LOOP: return true;
    case COMPOSITE: return composite_takes_integers(op);
    case POINTWISE:
    case INPUT: break;
    }
    WS_BUG("%s cannot be evaluated", op_info(op)->name);
}

/* ---- views ----------------------------------------------------------------------------------- */

int64_t eval_view_strides(const struct job *j, int64_t *stride) {
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
    int64_t base = eval_view_strides(j, stride);
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
#pragma omp parallel for if (a->n * n > EVAL_SMALL)
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
    if (whole && !dtype_is_float(j->out->dtype)) {
        int64_t start = ex_value(j->g->ex, a[0].i), step = ex_value(j->g->ex, a[2].i);
        return (struct number){.w = int_add(start, int_mul(k, step))};
    }
    double v = arg_number(j->g, &a[0]) + (double)k * arg_number(j->g, &a[2]);
    return (struct number){v, int_of_double(DT_I64, v)};
}

/* Before it is rounded to the result's type. */
static void create_run(const struct job *j, int64_t first, int64_t n, const struct cell *to) {
    const struct arg *a = j->node->args;
    uint64_t seed = j->g->seed;
    switch (op_create(j->node->op)) {
    case CREATE_FULL:
        for (int64_t i = 0; i < n; i++) cell_put(to, i, number_of_arg(j->g, &a[1], to->dtype));
        return;
    case CREATE_ARANGE:
        for (int64_t i = 0; i < n; i++) cell_put(to, i, arange_at(j, first + i));
        return;
    case CREATE_RAND:
        random_uniforms(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n, to->v);
        return;
    case CREATE_RANDN:
        random_normals(seed, (uint64_t)arg_number(j->g, &a[1]), (uint64_t)first, n, to->v);
        return;
    }
}

/* As kernels draw: in f32, whatever narrower type they are rounded to then. */
double value_drawn(enum dtype t, double v) {
    return value_round(t, dtype_bytes(t) < dtype_bytes(DT_F32) ? value_round(DT_F32, v) : v);
}

void eval_created(const struct job *j, int64_t first, int64_t n, double *v, int64_t *w) {
    struct cell to = {.v = v, .w = w, .n = n, .dtype = j->out->dtype};
    bool random = j->node->op == OP_RAND || j->node->op == OP_RANDN;
    create_run(j, first, n, &to);
    for (int64_t i = 0; i < n; i++)
        if (w)
            w[i] = int_wrap(to.dtype, w[i]);
        else
            v[i] = random ? value_drawn(to.dtype, v[i]) : value_round(to.dtype, v[i]);
}

void eval_create(const struct job *j) {
    enum { RUN = 4096 }; /* elements a thread makes at a time */
    struct cell *out = j->out;
#pragma omp parallel for if (out->n > EVAL_SMALL)
    for (int64_t first = 0; first < out->n; first += RUN) {
        if (eval_stops(j, 0)) continue;
        int64_t n = out->n - first < RUN ? out->n - first : RUN;
        eval_created(j, first, n, out->v ? out->v + first : NULL, out->w ? out->w + first : NULL);
    }
}
