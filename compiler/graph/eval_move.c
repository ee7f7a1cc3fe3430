/* eval_move.c: the reference of what moves elements, written from the definitions: for each element
 * of the result, where it comes from.
 *
 *   gather:  y[i][j] = x[index[i][j]][j]  along dimension 0
 *
 * Indices are looked at first: one that is out of bounds is the user's mistake and is reported with
 * PyTorch's message; kernels would move it to the nearest element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/traits.h"

/* A move: which index tensors it looks at, if any, and where there for element i of the result; and
 * then where that comes from. */
typedef struct lookups tables(const struct job *j);
typedef void looks(const struct job *j, int64_t i, int64_t *at);
typedef struct origin comes(const struct job *j, int64_t i, const int64_t *index);

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

static struct origin from(const struct cell *x, int64_t at) { return (struct origin){x, at}; }

static struct origin from_place(const struct cell *x, const struct place *p) {
    return from(x, offset_at(x, p));
}

/* The fill, outside of x. */
static struct origin from_inside(const struct cell *x, const struct place *p) {
    return inside(x, p) ? from_place(x, p) : from(NULL, 0);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* 0 .. n-1, or, where negative ones count from the end, -n .. n-1. */
static bool is_inside(const struct job *j, int64_t v, int64_t n, int dim, bool wraps) {
    if (v < n && v >= (wraps ? -n : 0)) return true;
    diag_fail_at(j->d, WS_WRONG, j->g->src, j->node->where,
                 "index %lld is out of bounds for dimension %d with size %lld", (long long)v, dim,
                 (long long)n);
    return false;
}

static bool check_bounds(const struct job *j, const struct cell *index, int64_t n, int dim,
                         bool wraps) {
    for (int64_t i = 0; i < index->n; i++)
        if (!is_inside(j, index->w[i], n, dim, wraps)) return false;
    return true;
}

bool lookup_is_inside(const struct job *j, const struct lookups *l, int k, int64_t v) {
    return is_inside(j, v, l->size[k], l->dim[k], l->wraps);
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

static struct origin cat_origin(const struct job *j, int64_t i, const int64_t *index) {
    int dim = (int)int_at(j, 1);
    struct place p = place_of(j->out, i);
    uint32_t k = 0;
    if (j->node->op == OP_STACK) {
        k = (uint32_t)p.at[dim];
        for (int d = dim; d + 1 < j->out->rank; d++) p.at[d] = p.at[d + 1];
    } else {
        while (cell_of(j, 0, k)->rank != j->out->rank || p.at[dim] >= cell_of(j, 0, k)->size[dim]) {
            bool counts = cell_of(j, 0, k)->rank == j->out->rank;
            p.at[dim] -= counts ? cell_of(j, 0, k)->size[dim] : 0;
            k++;
        }
    }
    WS_ASSERT(k < arg_of(j, 0)->nodes.n);
    return from(cell_of(j, 0, k), offset_at(cell_of(j, 0, k), &p));
}

/* Position i of a dimension of n, where the padding shows x again. */
static int64_t reflected(const char *mode, int64_t i, int64_t n) {
    if (!strcmp(mode, "reflect")) return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    if (!strcmp(mode, "replicate")) return i < 0 ? 0 : i >= n ? n - 1 : i;
    return i < 0 ? i + n : i >= n ? i - n : i; /* circular */
}

/* pad, constant_pad_nd */
static struct origin pad_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    bool constant = j->node->op != OP_PAD || !strcmp(arg_of(j, 2)->s, "constant");
    struct place p = place_of(j->out, i);
    for (uint32_t k = 0; k < arg_of(j, 1)->ints.n; k += 2) {
        int dim = x->rank - 1 - (int)k / 2;
        p.at[dim] -= entry(j, 1, k);
        if (!constant) p.at[dim] = reflected(arg_of(j, 2)->s, p.at[dim], x->size[dim]);
    }
    return from_inside(x, &p);
}

static struct origin flip_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    struct place p = place_of(j->out, i);
    for (uint32_t k = 0; k < arg_of(j, 1)->ints.n; k++) {
        int64_t dim = entry(j, 1, k);
        p.at[dim] = x->size[dim] - 1 - p.at[dim];
    }
    return from_place(x, &p);
}

static struct origin windows_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    uint32_t n = arg_of(j, 1)->ints.n;
    struct place p = place_of(j->out, i);
    for (uint32_t k = 0; k < n; k++) {
        int dim = x->rank - (int)n + (int)k;
        p.at[dim] =
            p.at[dim] * entry(j, 2, k) - entry(j, 3, k) + p.at[x->rank + (int)k] * entry(j, 4, k);
    }
    return from_inside(x, &p);
}

/* ---- turned and repeated --------------------------------------------------------------------- */

static int64_t modulo(int64_t a, int64_t n) { return (a % n + n) % n; }

static struct origin roll_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    struct place p = place_of(x, i);
    if (!arg_of(j, 2)->ints.n) return from(x, modulo(i - entry(j, 1, 0) % x->n, x->n));
    for (uint32_t k = 0; k < arg_of(j, 2)->ints.n && x->rank; k++) {
        int64_t dim = entry(j, 2, k);
        p.at[dim] = modulo(p.at[dim] - entry(j, 1, k) % x->size[dim], x->size[dim]);
    }
    return from_place(x, &p);
}

/* repeat, tile: x again and again in every dimension */
static struct origin repeat_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    int more = j->out->rank - x->rank;
    struct place p = place_of(j->out, i);
    for (int k = 0; k < x->rank; k++) p.at[k] = p.at[k + more] % x->size[k];
    return from_place(x, &p);
}

static struct origin interleave_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    int64_t times = int_at(j, 1);
    if (arg_of(j, 2)->kind == ARG_NONE || !x->rank) return from(x, i / times);
    struct place p = place_of(j->out, i);
    p.at[int_at(j, 2)] /= times;
    return from_place(x, &p);
}

static struct origin diagonal_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    int64_t offset = int_at(j, 1), row = int_at(j, 2), column = int_at(j, 3);
    struct place on = {{0}}, p = place_of(j->out, i);
    int64_t e = p.at[j->out->rank - 1];
    for (int k = 0, o = 0; k < x->rank; k++)
        if (k != row && k != column) on.at[k] = p.at[o++];
    on.at[row] = e + (offset < 0 ? -offset : 0);
    on.at[column] = e + (offset > 0 ? offset : 0);
    return from_place(x, &on);
}

static struct origin diag_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    int64_t offset = int_at(j, 1), down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    if (x->rank == 2) return from(x, (i + down) * x->size[1] + i + right);
    int64_t row = i / j->out->size[1], column = i % j->out->size[1];
    return column - row == offset ? from(x, row - down) : from(NULL, 0);
}

static void eval_eye(const struct job *j) {
    int64_t columns = j->out->size[1];
    for (int64_t i = 0; i < j->out->n; i++) {
        bool on = i / columns == i % columns;
        cell_put(j->out, i, (struct number){on, on});
    }
}

/* ---- looked up ------------------------------------------------------------------------------- */

static struct lookups one_table(const struct cell *index, int64_t dim, int64_t size) {
    return (struct lookups){.n = 1, .index = {index}, .dim = {(int)dim}, .size = {size}};
}

/* gather, take_along_dim: their arguments stand in another order. Without a dimension x is one
 * line. */
static bool goes_along(const struct job *j) { return j->node->op == OP_TAKE_ALONG_DIM; }
static const struct cell *gather_index(const struct job *j) { return j->in[goes_along(j) ? 1 : 2]; }
static const struct arg *gather_dim(const struct job *j) {
    return arg_of(j, goes_along(j) ? 2 : 1);
}
static bool gathers_flat(const struct job *j) {
    return gather_dim(j)->kind == ARG_NONE || !j->in[0]->rank;
}

static struct lookups gather_tables(const struct job *j) {
    if (gathers_flat(j)) return one_table(gather_index(j), 0, j->in[0]->n);
    int64_t dim = ex_value(j->g->ex, gather_dim(j)->i);
    return one_table(gather_index(j), dim, j->in[0]->size[dim]);
}

static void gather_looks(const struct job *j, int64_t i, int64_t *at) {
    int64_t stride[WS_MAX_RANK];
    *at = i;
    if (gathers_flat(j)) return;
    strides_broadcast(gather_index(j), j->out, stride);
    *at = strided_at(j->out->rank, j->out->size, stride, i);
}

/* The place of the result, dimension dim replaced by the index there. */
static struct origin gather_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    if (gathers_flat(j)) return from(x, *index);
    int64_t dim = ex_value(j->g->ex, gather_dim(j)->i);
    struct place p = place_of(j->out, i);
    p.at[dim] = *index;
    for (int k = 0; k < x->rank; k++)
        if (k != dim && x->size[k] == 1) p.at[k] = 0;
    return from_place(x, &p);
}

static struct lookups index_tables(const struct job *j) {
    struct lookups l = {.n = (int)arg_of(j, 2)->ints.n, .wraps = true};
    for (int k = 0; k < l.n; k++) {
        l.index[k] = cell_of(j, 1, (uint32_t)k);
        l.dim[k] = (int)entry(j, 2, (uint32_t)k);
        l.size[k] = j->in[0]->size[l.dim[k]];
    }
    return l;
}

/* Of index: where the dimensions of the index tensors stand in the result, and how many. */
static int index_first(const struct job *j) {
    return graph_index_position(j->g->ex, arg_of(j, 2), j->in[0]->rank);
}
static int index_width(const struct job *j) {
    return j->out->rank - (j->in[0]->rank - (int)arg_of(j, 2)->ints.n);
}

static void index_looks(const struct job *j, int64_t i, int64_t *at) {
    int end = index_first(j) + index_width(j);
    struct place p = place_of(j->out, i);
    for (uint32_t k = 0; k < arg_of(j, 2)->ints.n; k++) {
        const struct cell *c = cell_of(j, 1, k);
        struct place own = {{0}};
        for (int e = 0; e < c->rank; e++) own.at[e] = c->size[e] == 1 ? 0 : p.at[end - c->rank + e];
        at[k] = offset_at(c, &own);
    }
}

static struct origin index_origin(const struct job *j, int64_t i, const int64_t *index) {
    const struct cell *x = j->in[0];
    int first = index_first(j), wide = index_width(j);
    struct place p = place_of(j->out, i), on = {{0}};
    bool indexed[WS_MAX_RANK] = {false};
    for (uint32_t k = 0; k < arg_of(j, 2)->ints.n; k++) {
        int64_t dim = entry(j, 2, k);
        on.at[dim] = wrapped(index[k], x->size[dim]);
        indexed[dim] = true;
    }
    for (int k = 0, o = first ? 0 : wide; k < x->rank; k++) {
        if (indexed[k]) {
            if (first == o) o += wide;
            continue;
        }
        on.at[k] = p.at[o++];
    }
    return from_place(x, &on);
}

static struct lookups select_tables(const struct job *j) {
    int64_t dim = int_at(j, 1);
    return one_table(j->in[2], dim, j->in[0]->rank ? j->in[0]->size[dim] : 1);
}

static void select_looks(const struct job *j, int64_t i, int64_t *at) {
    *at = place_of(j->out, i).at[int_at(j, 1)];
}

static struct origin select_origin(const struct job *j, int64_t i, const int64_t *index) {
    struct place p = place_of(j->out, i);
    p.at[int_at(j, 1)] = *index;
    return from_place(j->in[0], &p);
}

static struct lookups embedding_tables(const struct job *j) {
    return one_table(j->in[0], 0, j->in[1]->size[0]);
}

static void embedding_looks(const struct job *j, int64_t i, int64_t *at) {
    *at = i / j->in[1]->size[1];
}

static struct origin embedding_origin(const struct job *j, int64_t i, const int64_t *index) {
    int64_t width = j->in[1]->size[1];
    return from(j->in[1], *index * width + i % width);
}

static struct lookups take_tables(const struct job *j) {
    struct lookups l = one_table(j->in[1], 0, j->in[0]->n);
    l.wraps = true;
    return l;
}

static void take_looks(const struct job *j, int64_t i, int64_t *at) { *at = i; }

static struct origin take_origin(const struct job *j, int64_t i, const int64_t *index) {
    return from(j->in[0], wrapped(*index, j->in[0]->n));
}

/* ---- which source ---------------------------------------------------------------------------- */

static const struct move {
    comes *origin;
    tables *tables;
    looks *looks;
    int fill; /* the argument that says what stands where nothing does; 0: nothing does, or 0 */
} moves[OP_COUNT] = {
    [OP_CAT] = {.origin = cat_origin},
    [OP_STACK] = {.origin = cat_origin},
    [OP_CONSTANT_PAD] = {.origin = pad_origin, .fill = 2},
    [OP_PAD] = {.origin = pad_origin, .fill = 3},
    [OP_FLIP] = {.origin = flip_origin},
    [OP_WINDOWS] = {.origin = windows_origin, .fill = 6},
    [OP_ROLL] = {.origin = roll_origin},
    [OP_REPEAT] = {.origin = repeat_origin},
    [OP_TILE] = {.origin = repeat_origin},
    [OP_REPEAT_INTERLEAVE] = {.origin = interleave_origin},
    [OP_DIAGONAL] = {.origin = diagonal_origin},
    [OP_DIAG] = {.origin = diag_origin},
    [OP_GATHER] = {.origin = gather_origin, .tables = gather_tables, .looks = gather_looks},
    [OP_TAKE_ALONG_DIM] = {.origin = gather_origin, .tables = gather_tables, .looks = gather_looks},
    [OP_INDEX] = {.origin = index_origin, .tables = index_tables, .looks = index_looks},
    [OP_INDEX_SELECT] = {.origin = select_origin, .tables = select_tables, .looks = select_looks},
    [OP_EMBEDDING] = {.origin = embedding_origin,
                      .tables = embedding_tables,
                      .looks = embedding_looks},
    [OP_TAKE] = {.origin = take_origin, .tables = take_tables, .looks = take_looks},
};

static const struct move *move_of(const struct job *j) { return &moves[j->node->op]; }

struct lookups move_lookups(const struct job *j) {
    return move_of(j)->tables ? move_of(j)->tables(j) : (struct lookups){.n = 0};
}

void move_looks(const struct job *j, int64_t i, int64_t *at) { move_of(j)->looks(j, i, at); }

struct origin move_origin(const struct job *j, int64_t i, const int64_t *index) {
    return move_of(j)->origin(j, i, index);
}

struct number move_fill(const struct job *j) {
    return move_of(j)->fill ? fill_of(j, move_of(j)->fill) : (struct number){0, 0};
}

static void eval_origins(const struct job *j) {
    struct lookups l = move_lookups(j);
    struct number fill = move_fill(j);
    for (int k = 0; k < l.n; k++)
        if (!check_bounds(j, l.index[k], l.size[k], l.dim[k], l.wraps)) return;
#pragma omp parallel for if (j->out->n > EVAL_SMALL)
    for (int64_t i = 0; i < j->out->n; i++) {
        int64_t index[WS_MAX_RANK];
        if (eval_stops(j, i)) continue;
        if (l.n) move_looks(j, i, index);
        for (int k = 0; k < l.n; k++) index[k] = l.index[k]->w[index[k]];
        struct origin o = move_origin(j, i, index);
        if (o.x)
            cell_take(j->out, i, o.x, o.at);
        else
            cell_put(j->out, i, fill);
    }
}

/* Piece by piece: of many pieces, looking for each element's own would take long. */
static void eval_cat(const struct job *j) {
    enum { WORTH_THREADS = 4096 };
    int dim = (int)int_at(j, 1);
    int64_t inner = 1, begin = 0;
    for (int d = dim + 1; d < j->out->rank; d++) inner *= j->out->size[d];
    for (uint32_t k = 0; k < arg_of(j, 0)->nodes.n; k++) {
        const struct cell *x = cell_of(j, 0, k);
        if (x->rank != j->out->rank) continue; /* one without elements may be of another rank */
        int64_t run = x->size[dim] * inner;
#pragma omp parallel for if (x->n >= WORTH_THREADS)
        for (int64_t i = 0; i < x->n; i++) {
            if (eval_stops(j, i)) continue;
            int64_t at = (i / run * j->out->size[dim] + begin) * inner + i % run;
            cell_take(j->out, at, x, i);
        }
        begin += x->size[dim];
    }
}

/* ---- scattered: source by source, in order; the last one on an element stays ------------------
 */

struct lookups landing_lookups(const struct job *j) {
    return select_tables(j);
}

int64_t landings(const struct job *j) { return j->in[j->node->op == OP_INDEX_ADD ? 3 : 2]->n; }

int64_t landing_looks(const struct job *j, int64_t i) {
    return j->node->op == OP_INDEX_ADD ? place_of(j->in[3], i).at[int_at(j, 1)] : i;
}

int64_t landing_at(const struct job *j, int64_t i, int64_t index) {
    struct place to = place_of(j->in[j->node->op == OP_INDEX_ADD ? 3 : 2], i);
    to.at[int_at(j, 1)] = index;
    return offset_at(j->in[0], &to);
}

int64_t landing_origin(const struct job *j, int64_t i) {
    struct place p;
    if (j->node->op == OP_INDEX_ADD) return i;
    p = place_of(j->in[2], i);
    return offset_at(j->in[3], &p);
}

static void eval_scatter(const struct job *j) {
    const struct cell *self = j->in[0], *index = j->in[2], *src = j->in[3], *out = j->out;
    struct lookups l = landing_lookups(j);
    bool adds = j->node->op == OP_SCATTER_ADD;
    if (!check_bounds(j, index, l.size[0], l.dim[0], false)) return;
    for (int64_t i = 0; i < self->n; i++) cell_copy(out, i, self, i);
    struct number fill = src ? (struct number){0, 0} : fill_of(j, 3);
    for (int64_t i = 0; i < index->n; i++) {
        int64_t at = landing_at(j, i, index->w[i]), from = src ? landing_origin(j, i) : 0;
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
    struct lookups l = landing_lookups(j);
    struct number alpha = number_of_arg(j->g, arg_of(j, 4), out->dtype);
    if (!check_bounds(j, index, l.size[0], l.dim[0], false)) return;
    for (int64_t i = 0; i < self->n; i++) cell_copy(out, i, self, i);
    for (int64_t i = 0; i < src->n; i++) {
        int64_t at = landing_at(j, i, index->w[landing_looks(j, i)]);
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

void eval_move(const struct job *j) {
    enum op op = j->node->op;
    if (op == OP_CAT) return eval_cat(j);
    if (moves[op].origin) return eval_origins(j);
    if (op == OP_EYE) return eval_eye(j);
    if (op == OP_ONE_HOT) return eval_one_hot(j);
    if (op == OP_INDEX_ADD) return eval_index_add(j);
    if (!op_lands(op)) WS_BUG("no loop for %s", op_info(op)->name);
    eval_scatter(j);
}
