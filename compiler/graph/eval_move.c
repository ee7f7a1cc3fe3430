/* eval_move.c: the reference loops of what moves elements, written from the definitions: for each
 * element of the result, where it comes from.
 *
 *   gather:  y[i][j] = x[index[i][j]][j]  along dimension 0
 *
 * Indices are looked at first: one that is out of bounds is the user's mistake and is reported with
 * PyTorch's message; kernels would move it to the nearest element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"

typedef void move(const struct job *j);

static const struct arg *arg_of(const struct job *j, int i) { return &j->node->args[i]; }
static int64_t int_at(const struct job *j, int i) {
    return (int64_t)arg_number(j->g, arg_of(j, i));
}

static int64_t entry(const struct job *j, int i, uint32_t k) {
    return ex_value(j->g->ex, arg_of(j, i)->ints.at[k]);
}

static const struct cell *cell_of(const struct job *j, int arg, uint32_t k) {
    return &j->cells[arg_of(j, arg)->nodes.at[k]];
}

/* ---- positions ------------------------------------------------------------------------------- */

struct place {
    int64_t at[WS_MAX_RANK];
};

/* Element i of c, as one position for each dimension. */
static struct place place_of(const struct cell *c, int64_t i) {
    struct place p = {{0}};
    for (int k = c->rank - 1; k >= 0; k--) {
        p.at[k] = i % c->size[k];
        i /= c->size[k];
    }
    return p;
}

static bool inside(const struct cell *c, const struct place *p) {
    for (int k = 0; k < c->rank; k++)
        if (p->at[k] < 0 || p->at[k] >= c->size[k]) return false;
    return true;
}

static int64_t offset_at(const struct cell *c, const struct place *p) {
    int64_t offset = 0;
    for (int k = 0; k < c->rank; k++) offset = offset * c->size[k] + p->at[k];
    return offset;
}

static void copy_from(const struct job *j, int64_t i, const struct cell *x, const struct place *p) {
    cell_copy(j->out, i, x, offset_at(x, p));
}

/* An index. */
static int64_t index_at(const struct cell *c, const struct place *p) {
    return c->w[offset_at(c, p)];
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Are all elements of index 0 .. n-1, or, where negative ones count from the end, -n .. n-1? */
static bool check_bounds(const struct job *j, const struct cell *index, int64_t n, int dim,
                         bool wraps) {
    for (int64_t i = 0; i < index->n; i++) {
        int64_t v = index->w[i];
        if (v < n && v >= (wraps ? -n : 0)) continue;
        diag_fail_at(j->d, WS_WRONG, j->g->src, j->node->where,
                     "index %lld is out of bounds for dimension %d with size %lld", (long long)v,
                     dim, (long long)n);
        return false;
    }
    return true;
}

static int64_t wrapped(int64_t v, int64_t n) { return v < 0 ? v + n : v; }

/* What stands where nothing does: a number among the arguments, as the result's type holds it. */
static struct number fill_of(const struct job *j, int arg) {
    enum dtype t = j->out->dtype;
    struct number fill = {0, 0};
    if (arg_of(j, arg)->kind != ARG_NONE) fill = number_of_arg(j->g, arg_of(j, arg), t);
    if (dtype_is_float(t)) fill.v = value_round(t, fill.v);
    return fill;
}

/* ---- cat, stack, pad, flip, windows ---------------------------------------------------------- */

/* The parts may be of several types. */
static void put_from(const struct job *j, int64_t i, const struct cell *x, const struct place *p) {
    int64_t at = offset_at(x, p);
    if (!j->out->w == !x->w)
        cell_copy(j->out, i, x, at);
    else
        cell_put(j->out, i, (struct number){.v = double_of_int(j->out->dtype, x->w[at])});
}

static void eval_cat(const struct job *j) {
    const struct arg *list = arg_of(j, 0);
    int dim = (int)int_at(j, 1);
    bool stacks = j->node->op == OP_STACK;
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        uint32_t k = 0;
        if (stacks) {
            k = (uint32_t)p.at[dim];
            for (int d = dim; d + 1 < j->out->rank; d++) p.at[d] = p.at[d + 1];
        } else {
            while (cell_of(j, 0, k)->rank != j->out->rank ||
                   p.at[dim] >= cell_of(j, 0, k)->size[dim]) {
                bool counts = cell_of(j, 0, k)->rank == j->out->rank;
                p.at[dim] -= counts ? cell_of(j, 0, k)->size[dim] : 0;
                k++;
            }
        }
        WS_ASSERT(k < list->nodes.n);
        put_from(j, i, cell_of(j, 0, k), &p);
    }
}

/* Position i of a dimension of n, where the padding shows x again. */
static int64_t reflected(const char *mode, int64_t i, int64_t n) {
    if (!strcmp(mode, "reflect")) return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    if (!strcmp(mode, "replicate")) return i < 0 ? 0 : i >= n ? n - 1 : i;
    return i < 0 ? i + n : i >= n ? i - n : i; /* circular */
}

/* pad, constant_pad_nd */
static void eval_pad(const struct job *j) {
    const struct cell *x = j->in[0];
    bool named = j->node->op == OP_PAD, constant = !named || !strcmp(arg_of(j, 2)->s, "constant");
    int fill_arg = named ? 3 : 2;
    struct number fill = fill_of(j, fill_arg);
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        for (uint32_t k = 0; k < arg_of(j, 1)->ints.n; k += 2) {
            int dim = x->rank - 1 - (int)k / 2;
            p.at[dim] -= entry(j, 1, k);
            if (!constant) p.at[dim] = reflected(arg_of(j, 2)->s, p.at[dim], x->size[dim]);
        }
        if (inside(x, &p))
            copy_from(j, i, x, &p);
        else
            cell_put(j->out, i, fill);
    }
}

static void eval_flip(const struct job *j) {
    const struct cell *x = j->in[0];
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        for (uint32_t k = 0; k < arg_of(j, 1)->ints.n; k++) {
            int64_t dim = entry(j, 1, k);
            p.at[dim] = x->size[dim] - 1 - p.at[dim];
        }
        copy_from(j, i, x, &p);
    }
}

static void eval_windows(const struct job *j) {
    const struct cell *x = j->in[0];
    uint32_t n = arg_of(j, 1)->ints.n;
    struct number fill = fill_of(j, 6);
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        for (uint32_t k = 0; k < n; k++) {
            int dim = x->rank - (int)n + (int)k;
            p.at[dim] = p.at[dim] * entry(j, 2, k) - entry(j, 3, k) +
                        p.at[x->rank + (int)k] * entry(j, 4, k);
        }
        if (inside(x, &p))
            copy_from(j, i, x, &p);
        else
            cell_put(j->out, i, fill);
    }
}

/* ---- turned and repeated --------------------------------------------------------------------- */

static int64_t modulo(int64_t a, int64_t n) { return (a % n + n) % n; }

static void eval_roll(const struct job *j) {
    const struct cell *x = j->in[0];
#pragma omp parallel for
    for (int64_t i = 0; i < x->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(x, i);
        for (uint32_t k = 0; k < arg_of(j, 2)->ints.n && x->rank; k++) {
            int64_t dim = entry(j, 2, k);
            p.at[dim] = modulo(p.at[dim] - entry(j, 1, k), x->size[dim]);
        }
        bool flat = !arg_of(j, 2)->ints.n;
        cell_copy(j->out, i, x, flat ? modulo(i - entry(j, 1, 0), x->n) : offset_at(x, &p));
    }
}

/* repeat, tile: x again and again in every dimension */
static void eval_repeat(const struct job *j) {
    const struct cell *x = j->in[0];
    int more = j->out->rank - x->rank;
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        for (int k = 0; k < x->rank; k++) p.at[k] = p.at[k + more] % x->size[k];
        copy_from(j, i, x, &p);
    }
}

static void eval_repeat_interleave(const struct job *j) {
    const struct cell *x = j->in[0];
    bool flat = arg_of(j, 2)->kind == ARG_NONE || !x->rank;
    int64_t dim = flat ? 0 : int_at(j, 2), times = int_at(j, 1);
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        p.at[dim] /= times;
        cell_copy(j->out, i, x, flat ? i / times : offset_at(x, &p));
    }
}

static void eval_diagonal(const struct job *j) {
    const struct cell *x = j->in[0];
    int64_t offset = int_at(j, 1), row = int_at(j, 2), column = int_at(j, 3);
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place from = {{0}}, p = place_of(j->out, i);
        int64_t e = p.at[j->out->rank - 1];
        for (int k = 0, o = 0; k < x->rank; k++)
            if (k != row && k != column) from.at[k] = p.at[o++];
        from.at[row] = e + (offset < 0 ? -offset : 0);
        from.at[column] = e + (offset > 0 ? offset : 0);
        copy_from(j, i, x, &from);
    }
}

static void eval_diag(const struct job *j) {
    const struct cell *x = j->in[0];
    int64_t offset = int_at(j, 1), down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    for (int64_t i = 0; i < j->out->n; i++) {
        if (x->rank == 2) {
            cell_copy(j->out, i, x, (i + down) * x->size[1] + i + right);
            continue;
        }
        int64_t row = i / j->out->size[1], column = i % j->out->size[1];
        if (column - row == offset)
            cell_copy(j->out, i, x, row - down);
        else
            cell_put(j->out, i, (struct number){0, 0});
    }
}

static void eval_eye(const struct job *j) {
    int64_t columns = j->out->size[1];
    for (int64_t i = 0; i < j->out->n; i++) {
        bool on = i / columns == i % columns;
        cell_put(j->out, i, (struct number){on, on});
    }
}

/* ---- looked up ------------------------------------------------------------------------------- */

/* gather, take_along_dim: the place of the result, dimension dim replaced by the index there. */
static void eval_gather(const struct job *j) {
    bool along = j->node->op == OP_TAKE_ALONG_DIM;
    const struct cell *x = j->in[0], *index = j->in[along ? 1 : 2];
    const struct arg *d = arg_of(j, along ? 2 : 1);
    bool flat = d->kind == ARG_NONE || !x->rank;
    int64_t dim = flat ? 0 : ex_value(j->g->ex, d->i), n = flat ? x->n : x->size[dim];
    if (!check_bounds(j, index, n, (int)dim, false)) return;
    int64_t stride[WS_MAX_RANK];
    if (!flat) strides_broadcast(index, j->out, stride);
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        if (flat) {
            cell_copy(j->out, i, x, index->w[i]);
            continue;
        }
        struct place p = place_of(j->out, i);
        p.at[dim] = index->w[strided_at(j->out->rank, j->out->size, stride, i)];
        for (int k = 0; k < x->rank; k++)
            if (k != dim && x->size[k] == 1) p.at[k] = 0;
        copy_from(j, i, x, &p);
    }
}

static void eval_index(const struct job *j) {
    const struct cell *x = j->in[0];
    const struct arg *dims = arg_of(j, 2);
    int n = (int)dims->ints.n, wide = j->out->rank - (x->rank - n);
    int first = graph_index_position(j->g->ex, dims, x->rank);
    for (int k = 0; k < n; k++) {
        int dim = (int)entry(j, 2, (uint32_t)k);
        if (!check_bounds(j, cell_of(j, 1, (uint32_t)k), x->size[dim], dim, true)) return;
    }
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i), from = {{0}};
        bool indexed[WS_MAX_RANK] = {false};
        for (int k = 0; k < n; k++) {
            const struct cell *c = cell_of(j, 1, (uint32_t)k);
            struct place own = {{0}};
            int64_t dim = entry(j, 2, (uint32_t)k);
            for (int e = 0; e < c->rank; e++)
                own.at[e] = c->size[e] == 1 ? 0 : p.at[first + wide - c->rank + e];
            from.at[dim] = wrapped(index_at(c, &own), x->size[dim]);
            indexed[dim] = true;
        }
        for (int k = 0, o = first ? 0 : wide; k < x->rank; k++) {
            if (indexed[k]) {
                if (first == o) o += wide;
                continue;
            }
            from.at[k] = p.at[o++];
        }
        copy_from(j, i, x, &from);
    }
}

static void eval_index_select(const struct job *j) {
    const struct cell *x = j->in[0], *index = j->in[2];
    int64_t dim = int_at(j, 1), n = x->rank ? x->size[dim] : 1;
    if (!check_bounds(j, index, n, (int)dim, false)) return;
#pragma omp parallel for
    for (int64_t i = 0; i < j->out->n; i++) {
        if (eval_stops(j, i)) continue;
        struct place p = place_of(j->out, i);
        p.at[dim] = index->w[p.at[dim]];
        copy_from(j, i, x, &p);
    }
}

static void eval_embedding(const struct job *j) {
    const struct cell *index = j->in[0], *w = j->in[1];
    int64_t width = w->size[1];
    if (!check_bounds(j, index, w->size[0], 0, false)) return;
#pragma omp parallel for
    for (int64_t i = 0; i < index->n; i++)
        for (int64_t k = 0; k < width && !eval_stops(j, i); k++)
            cell_copy(j->out, i * width + k, w, index->w[i] * width + k);
}

static void eval_take(const struct job *j) {
    const struct cell *x = j->in[0], *index = j->in[1];
    if (!check_bounds(j, index, x->n, 0, true)) return;
    for (int64_t i = 0; i < j->out->n; i++) cell_copy(j->out, i, x, wrapped(index->w[i], x->n));
}

/* ---- scattered: source by source, in order; the last one on an element stays ------------------
 */

static void eval_scatter(const struct job *j) {
    const struct cell *self = j->in[0], *index = j->in[2], *src = j->in[3], *out = j->out;
    int64_t dim = int_at(j, 1), n = self->rank ? self->size[dim] : 1;
    bool adds = j->node->op == OP_SCATTER_ADD;
    if (!check_bounds(j, index, n, (int)dim, false)) return;
    for (int64_t i = 0; i < self->n; i++) cell_copy(out, i, self, i);
    struct number fill = src ? (struct number){0, 0} : fill_of(j, 3);
    for (int64_t i = 0; i < index->n; i++) {
        struct place p = place_of(index, i), to = p;
        to.at[dim] = index->w[i];
        int64_t at = offset_at(self, &to), from = src ? offset_at(src, &p) : 0;
        if (adds && out->w)
            out->w[at] = int_wrap(out->dtype, int_add(out->w[at], src->w[from]));
        else if (adds)
            out->v[at] += src->v[from];
        else if (src)
            cell_copy(out, at, src, from);
        else
            cell_put(out, at, fill);
    }
}

static void eval_index_add(const struct job *j) {
    const struct cell *self = j->in[0], *index = j->in[2], *src = j->in[3], *out = j->out;
    int64_t dim = int_at(j, 1), n = self->rank ? self->size[dim] : 1;
    struct number alpha = number_of_arg(j->g, arg_of(j, 4), out->dtype);
    if (!check_bounds(j, index, n, (int)dim, false)) return;
    for (int64_t i = 0; i < self->n; i++) cell_copy(out, i, self, i);
    for (int64_t i = 0; i < src->n; i++) {
        struct place p = place_of(src, i);
        p.at[dim] = index->w[p.at[dim]];
        int64_t at = offset_at(self, &p);
        if (out->w)
            out->w[at] = int_wrap(out->dtype, int_add(out->w[at], int_mul(alpha.w, src->w[i])));
        else
            out->v[at] += alpha.v * src->v[i];
    }
}

static void eval_one_hot(const struct job *j) {
    int64_t classes = int_at(j, 1);
    for (int64_t i = 0; i < j->in[0]->n; i++) {
        int64_t v = j->in[0]->w[i];
        if (v < 0 || v >= classes) {
            diag_fail_at(j->d, WS_WRONG, j->g->src, j->node->where,
                         v < 0 ? "one_hot: Class values must be non-negative, got %lld"
                               : "one_hot: Class values must be smaller than num_classes, got %lld",
                         (long long)v);
            return;
        }
        for (int64_t k = 0; k < classes; k++) j->out->w[i * classes + k] = k == v;
    }
}

/* ---- which loop ------------------------------------------------------------------------------ */

static move *const moves[OP_COUNT] = {
    [OP_CAT] = eval_cat,
    [OP_STACK] = eval_cat,
    [OP_CONSTANT_PAD] = eval_pad,
    [OP_PAD] = eval_pad,
    [OP_FLIP] = eval_flip,
    [OP_WINDOWS] = eval_windows,
    [OP_ROLL] = eval_roll,
    [OP_REPEAT] = eval_repeat,
    [OP_TILE] = eval_repeat,
    [OP_REPEAT_INTERLEAVE] = eval_repeat_interleave,
    [OP_DIAGONAL] = eval_diagonal,
    [OP_DIAG] = eval_diag,
    [OP_EYE] = eval_eye,
    [OP_GATHER] = eval_gather,
    [OP_TAKE_ALONG_DIM] = eval_gather,
    [OP_INDEX] = eval_index,
    [OP_INDEX_SELECT] = eval_index_select,
    [OP_EMBEDDING] = eval_embedding,
    [OP_TAKE] = eval_take,
    [OP_SCATTER] = eval_scatter,
    [OP_SCATTER_ADD] = eval_scatter,
    [OP_INDEX_ADD] = eval_index_add,
    [OP_ONE_HOT] = eval_one_hot,
};

void eval_move(const struct job *j) {
    move *loop = moves[j->node->op];
    if (!loop) WS_BUG("no loop for %s", op_info(j->node->op)->name);
    loop(j);
}
