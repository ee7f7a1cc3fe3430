/* sample.c: elements of outputs alone. From the last node to the first it is worked out which
 * elements are needed of whom, and from the first to the last they are computed.
 *
 *   %y: f32[1024, 64] = mm(%x, %w)           needed: [3, 5] and [3, 7]
 *   %r: f32[1024] = sum(%y, dim=[1])         needed: [3]
 * ->
 *   needed of %x: [3, 0], [3, 1], ..  each once, of %w: [0, 0], [1, 0], ..
 *
 * A node is computed by the interpreter's own loop (eval.h), of a smaller tensor: of what it reads,
 * packed. That of an operator element by element is a vector; that of a reduction has a row for
 * each element; a landing's places are those that are needed. Which operands' elements an element
 * reads is said by the loops, too, where that is more than a broadcast. Indices by which elements
 * are looked up are computed first, in the same way. */
#include "graph/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/traits.h"

bool value_load(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                struct diag *d) {
    const struct value *from = (const struct value *)ctx + i;
    for (int64_t k = 0; k < n; k++)
        if (w)
            w[k] = from->w ? from->w[at[k]] : (int64_t)from->v[at[k]];
        else
            v[k] = from->v[at[k]];
    return true;
}

/* ---- what is needed of a node ---------------------------------------------------------------- */

/* An operand's element that is read: cell `at` of what is needed of a node. */
struct entry {
    node_id node; /* NOWHERE: it is what a move fills with, or 0 */
    uint32_t at;
};
#define NOWHERE UINT32_MAX

/* In scans and landings: where in a line, or which of the elements that are needed. */
struct spot {
    int64_t line, at;
    uint32_t cell;
};

struct need {
    int64_t *element; /* each once, in the order in which they were asked for */
    uint32_t n, cap;
    uint32_t *slots; /* of a hash table: 1 + where in element[]; 2^bits of them */
    int bits;
    struct entry *entry; /* operand after operand, of each what element after element reads */
    int64_t n_entries, cap_entries;
    struct spot *spot;
    int64_t n_spots;
    double *v; /* once computed */
    int64_t *w;
};

struct sampler {
    struct graph *g;
    struct sample_source inputs;
    struct cell *shapes; /* of every node, without values */
    uint32_t *input_of;  /* of INPUT nodes */
    struct arg second;   /* dimension 1, of packed lines */
    int64_t left;        /* of the budget */
    bool stopping;
    struct diag *d;
};

struct walk {
    struct sampler *s;
    struct need *needs; /* by node, up to the one that is asked for */
};

static void *grown(void *p, int64_t n, size_t size) {
    void *out = realloc(p, (size_t)(n ? n : 1) * size);
    if (!out) WS_BUG("no memory for %lld sampled cells", (long long)n);
    return out;
}

static uint32_t *slot_of(const struct need *e, int64_t element) {
    uint64_t mask = (1ull << e->bits) - 1;
    uint64_t at = (uint64_t)element * 0x9E3779B97F4A7C15u >> (64 - e->bits);
    while (e->slots[at] && e->element[e->slots[at] - 1] != element) at = (at + 1) & mask;
    return &e->slots[at];
}

static void rehash(struct need *e) {
    e->bits = e->bits ? e->bits + 1 : 5;
    free(e->slots);
    e->slots = calloc(1ull << e->bits, sizeof *e->slots);
    if (!e->slots) WS_BUG("no memory for %u sampled cells", e->n);
    e->cap = 1u << (e->bits - 1);
    e->element = grown(e->element, e->cap, sizeof *e->element);
    for (uint32_t i = 0; i < e->n; i++) *slot_of(e, e->element[i]) = i + 1;
}

static uint32_t need_element(struct need *e, int64_t element) {
    if (e->n == e->cap) rehash(e);
    uint32_t *slot = slot_of(e, element);
    if (!*slot) {
        e->element[e->n++] = element;
        *slot = e->n;
    }
    return *slot - 1;
}

static void need_free(struct need *e) {
    free(e->element);
    free(e->slots);
    free(e->entry);
    free(e->spot);
    free(e->v);
    free(e->w);
}

/* Room in the budget, and in memory, for so many more entries of a node? */
static bool take(struct walk *k, struct need *e, double n) {
    if (n > (double)k->s->left) return false;
    k->s->left -= (int64_t)n;
    e->cap_entries += (int64_t)n;
    e->entry = grown(e->entry, e->cap_entries, sizeof *e->entry);
    return true;
}

static void read_element(struct walk *k, struct need *e, node_id of, int64_t element) {
    WS_ASSERT(e->n_entries < e->cap_entries);
    struct entry entry = {of, of == NOWHERE ? 0 : need_element(&k->needs[of], element)};
    e->entry[e->n_entries++] = entry;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The node over whole tensors, of which nobody has the values. */
static struct job whole_job(struct sampler *s, node_id id) {
    const struct node *n = &s->g->nodes.at[id];
    struct job j = {.g = s->g,
                    .node = n,
                    .cells = s->shapes,
                    .out = &s->shapes[id],
                    .d = s->d,
                    .stopping = &s->stopping};
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i].kind == ARG_NODE) j.in[i] = &s->shapes[n->args[i].node];
    return j;
}

static node_id node_of(const struct sampler *s, const struct cell *shape) {
    return shape ? (node_id)(shape - s->shapes) : NOWHERE;
}

static struct cell packed(enum dtype t, int64_t rows, int64_t columns) {
    struct cell c = {.rank = 2, .size = {rows, columns}, .n = rows * columns, .dtype = t};
    if (dtype_is_float(t))
        c.v = grown(NULL, c.n, sizeof *c.v);
    else
        c.w = grown(NULL, c.n, sizeof *c.w);
    return c;
}

static void unpack(struct cell *c) {
    free(c->v);
    free(c->w);
}

/* The values of entries first .. first + rows*columns - 1, those of a node of type t. */
static struct cell gathered(const struct walk *k, const struct need *e, enum dtype t, int64_t first,
                            int64_t rows, int64_t columns) {
    struct cell c = packed(t, rows, columns);
    for (int64_t i = 0; i < c.n; i++) {
        struct entry from = e->entry[first + i];
        struct number x = {0, 0};
        if (from.node != NOWHERE && c.w) x.w = k->needs[from.node].w[from.at];
        if (from.node != NOWHERE && c.v) x.v = k->needs[from.node].v[from.at];
        cell_put(&c, i, x);
    }
    return c;
}

static struct cell result_of(const struct need *e, enum dtype t) {
    struct cell c = {.v = e->v, .w = e->w, .rank = 1, .size = {e->n}, .n = e->n, .dtype = t};
    return c;
}

/* n, along dimension `dim` of packed operands. */
static struct node along(const struct node *n, struct arg dim, struct arg *args) {
    struct node out = *n;
    int k;
    if (!op_param(n->op, "dim", &k)) WS_BUG("%s has no dimension", op_info(n->op)->name);
    memcpy(args, n->args, (size_t)n->n_args * sizeof *args);
    args[k] = dim;
    out.args = args;
    return out;
}

static struct lines lines_of(const struct job *j) {
    return lines_along(j->in[0], dims_of(j->g, j->node, "dim", j->in[0]->rank));
}

/* How many terms an element is the sum of. */
static int64_t terms_of(const struct job *j) {
    return op_convolves(j->node->op) ? convolve_terms(j) : j->in[0]->size[j->in[0]->rank - 1];
}

/* How many operands' elements so many elements of a node read; at least, element by element. */
static double reads_of(const struct job *j, double n) {
    enum op_class class = op_info(j->node->op)->class;
    if (class == INPUT || class == CREATE) return 0;
    if (class == REDUCE) return n * (double)lines_of(j).length;
    return class == MATMUL ? 2 * n * (double)terms_of(j) : n;
}

/* ---- element by element ---------------------------------------------------------------------- */

static bool need_elementwise(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    for (int i = 0; i < j.node->n_args; i++) {
        int64_t stride[WS_MAX_RANK];
        if (!j.in[i]) continue;
        if (!take(k, e, e->n)) return false;
        strides_broadcast(j.in[i], j.out, stride);
        for (uint32_t c = 0; c < e->n; c++)
            read_element(k, e, j.node->args[i].node,
                         strided_at(j.out->rank, j.out->size, stride, e->element[c]));
    }
    return true;
}

static void make_elementwise(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct cell out = result_of(e, j.out->dtype), in[MAX_PARAMS] = {{0}};
    int64_t first = 0;
    for (int i = 0; i < j.node->n_args; i++) {
        if (!j.in[i]) continue;
        in[i] = gathered(k, e, j.in[i]->dtype, first, 1, e->n);
        in[i].rank = 1;
        in[i].size[0] = e->n;
        j.in[i] = &in[i];
        first += e->n;
    }
    j.out = &out;
    eval_job(&j);
    for (int i = 0; i < j.node->n_args; i++) unpack(&in[i]);
}

/* ---- reductions and scans -------------------------------------------------------------------- */

static bool need_lines(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct lines l = lines_of(&j);
    if (!take(k, e, reads_of(&j, e->n))) return false;
    for (uint32_t c = 0; c < e->n; c++) {
        int64_t base = strided_at(l.kept, l.kept_size, l.kept_stride, e->element[c]);
        for (int64_t i = 0; i < l.length; i++)
            read_element(k, e, j.node->args[0].node,
                         base + strided_at(l.along, l.size, l.stride, i));
    }
    return true;
}

static void make_lines(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct arg args[MAX_PARAMS];
    struct node n = along(j.node, k->s->second, args);
    struct cell out = result_of(e, j.out->dtype);
    struct cell in = gathered(k, e, j.in[0]->dtype, 0, e->n, lines_of(&j).length);
    j.node = &n;
    j.in[0] = &in;
    j.out = &out;
    eval_job(&j);
    unpack(&in);
}

/* The number that the digits of an offset in these dimensions make. */
static int64_t digits(int rank, const int64_t *size, const int64_t *stride, int64_t offset) {
    int64_t out = 0;
    for (int i = 0; i < rank; i++) out = out * size[i] + offset / stride[i] % size[i];
    return out;
}

static int by_line(const void *a, const void *b) {
    const struct spot *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* How many spots are of the line of spot i; the last is the furthest. */
static int64_t on_line(const struct need *e, int64_t i) {
    int64_t n = 1;
    while (i + n < e->n_spots && e->spot[i + n].line == e->spot[i].line) n++;
    return n;
}

/* Of each line the beginning, up to the furthest element that is needed. */
static bool need_prefixes(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct lines l = lines_of(&j);
    e->n_spots = e->n;
    e->spot = grown(NULL, e->n, sizeof *e->spot);
    for (uint32_t c = 0; c < e->n; c++)
        e->spot[c] = (struct spot){digits(l.kept, l.kept_size, l.kept_stride, e->element[c]),
                                   digits(l.along, l.size, l.stride, e->element[c]), c};
    qsort(e->spot, e->n, sizeof *e->spot, by_line);
    for (int64_t i = 0, n; i < e->n_spots; i += n) {
        n = on_line(e, i);
        int64_t length = e->spot[i + n - 1].at + 1;
        if (!take(k, e, (double)length)) return false;
        for (int64_t p = 0; p < length; p++)
            read_element(k, e, j.node->args[0].node, line_at(&l, e->spot[i].line, p));
    }
    return true;
}

static void make_prefixes(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct arg args[MAX_PARAMS];
    struct node node = along(j.node, k->s->second, args);
    struct cell out = result_of(e, j.out->dtype);
    enum dtype from = j.in[0]->dtype;
    j.node = &node;
    for (int64_t i = 0, n, first = 0; i < e->n_spots; i += n) {
        n = on_line(e, i);
        int64_t length = e->spot[i + n - 1].at + 1;
        struct cell in = gathered(k, e, from, first, 1, length),
                    sums = packed(out.dtype, 1, length);
        j.in[0] = &in;
        j.out = &sums;
        eval_job(&j);
        for (int64_t c = i; c < i + n; c++) cell_copy(&out, e->spot[c].cell, &sums, e->spot[c].at);
        unpack(&in);
        unpack(&sums);
        first += length;
    }
}

/* ---- views and moves ------------------------------------------------------------------------- */

static bool need_view(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    int64_t stride[WS_MAX_RANK], base = 0;
    bool same = op_only_reshapes(j.node->op);
    if (!same) base = eval_view_strides(&j, stride);
    if (!take(k, e, e->n)) return false;
    for (uint32_t c = 0; c < e->n; c++) {
        int64_t at = e->element[c];
        if (!same) at = base + strided_at(j.out->rank, j.out->size, stride, at);
        read_element(k, e, j.node->args[0].node, at);
    }
    return true;
}

static enum sampled resolve(struct sampler *s, node_id root, const int64_t *at, int64_t n,
                            double *v, int64_t *w);

/* What is in an index tensor at at[0..n-1], inside of a dimension. NULL: refused, or failed. */
static int64_t *looked_up(struct walk *k, const struct job *j, const struct lookups *l, int which,
                          const int64_t *at, int64_t n, enum sampled *how) {
    int64_t *index = grown(NULL, n, sizeof *index);
    *how = resolve(k->s, node_of(k->s, l->index[which]), at, n, NULL, index);
    for (int64_t i = 0; i < n && *how == SAMPLED; i++)
        if (!lookup_is_inside(j, l, which, index[i])) *how = SAMPLE_FAILED;
    if (*how == SAMPLED) return index;
    free(index);
    return NULL;
}

static enum sampled need_move(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct lookups l = move_lookups(&j);
    int64_t *index[WS_MAX_RANK] = {NULL}, *at = grown(NULL, e->n, sizeof *at);
    enum sampled how = take(k, e, e->n) ? SAMPLED : SAMPLE_REFUSED;
    for (int t = 0; t < l.n && how == SAMPLED; t++) {
        for (uint32_t c = 0; c < e->n; c++) {
            int64_t places[WS_MAX_RANK];
            move_looks(&j, e->element[c], places);
            at[c] = places[t];
        }
        index[t] = looked_up(k, &j, &l, t, at, e->n, &how);
    }
    for (uint32_t c = 0; c < e->n && how == SAMPLED; c++) {
        int64_t places[WS_MAX_RANK];
        for (int t = 0; t < l.n; t++) places[t] = index[t][c];
        struct origin o = move_origin(&j, e->element[c], places);
        read_element(k, e, node_of(k->s, o.x), o.at);
    }
    for (int t = 0; t < l.n; t++) free(index[t]);
    free(at);
    return how;
}

/* Views, too. */
static void make_moved(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct cell out = result_of(e, j.out->dtype);
    struct number fill = op_info(j.node->op)->class == VIEW ? (struct number){0, 0} : move_fill(&j);
    for (uint32_t c = 0; c < e->n; c++) {
        struct entry from = e->entry[c];
        if (from.node == NOWHERE) {
            cell_put(&out, c, fill);
            continue;
        }
        struct cell x = result_of(&k->needs[from.node], k->s->shapes[from.node].dtype);
        cell_take(&out, c, &x, from.at);
    }
}

/* ---- landings -------------------------------------------------------------------------------- */

/* All indices are looked at, for those that name an element which is needed. */
static enum sampled need_landing(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct lookups l = landing_lookups(&j);
    int64_t n = landings(&j), n_index = l.index[0]->n;
    enum sampled how = SAMPLE_REFUSED;
    if (!take(k, e, e->n)) return how;
    for (uint32_t c = 0; c < e->n; c++) read_element(k, e, j.node->args[0].node, e->element[c]);
    if ((double)n + (double)n_index > (double)k->s->left) return how;
    k->s->left -= n;
    int64_t *all = grown(NULL, n_index, sizeof *all);
    for (int64_t i = 0; i < n_index; i++) all[i] = i;
    int64_t *index = looked_up(k, &j, &l, 0, all, n_index, &how);
    for (int64_t i = 0; i < n && how == SAMPLED; i++) {
        uint32_t *slot = slot_of(e, landing_at(&j, i, index[landing_looks(&j, i)]));
        if (!*slot) continue;
        if (!take(k, e, 1)) how = SAMPLE_REFUSED;
        if (how != SAMPLED) break;
        e->spot = grown(e->spot, e->n_spots + 1, sizeof *e->spot);
        e->spot[e->n_spots++] = (struct spot){.cell = *slot - 1};
        if (j.in[3])
            read_element(k, e, j.node->args[3].node, landing_origin(&j, i));
        else
            read_element(k, e, NOWHERE, 0);
    }
    free(index);
    free(all);
    return how;
}

static void make_landing(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    struct arg args[MAX_PARAMS];
    struct node n = along(j.node, arg_int(k->s->g, 0), args);
    struct cell out = result_of(e, j.out->dtype);
    struct cell self = gathered(k, e, j.in[0]->dtype, 0, 1, e->n), src = {0};
    struct cell index = packed(j.in[2]->dtype, e->n_spots, 1);
    for (int64_t i = 0; i < e->n_spots; i++) index.w[i] = e->spot[i].cell;
    if (j.in[3]) src = gathered(k, e, j.in[3]->dtype, e->n, e->n_spots, 1);
    self.rank = index.rank = src.rank = 1;
    self.size[0] = e->n;
    j.node = &n;
    j.in[0] = &self;
    j.in[2] = &index;
    if (j.in[3]) j.in[3] = &src;
    j.out = &out;
    eval_job(&j);
    unpack(&self);
    unpack(&index);
    unpack(&src);
}

/* ---- matrix products ------------------------------------------------------------------------- */

/* Which elements of the two operands element i is the products of; -1: none, but 0. A product of
 * two such is no term. */
static void factors(const struct job *j, int64_t i, int64_t *x, int64_t *y) {
    const struct cell *a = j->in[0], *b = j->in[1];
    if (op_convolves(j->node->op)) return convolve_sources(j, i, x, y);
    int64_t m = a->size[a->rank - 2], k = a->size[a->rank - 1], n = b->size[b->rank - 1];
    int64_t row = i / n, column = i % n;
    for (int64_t t = 0; t < k; t++) {
        x[t] = row * k + t;
        y[t] = (row / m * k + t) * n + column;
    }
}

static bool need_product(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    int64_t terms = terms_of(&j);
    if (!take(k, e, reads_of(&j, e->n))) return false;
    int64_t *x = grown(NULL, e->n * terms, sizeof *x), *y = grown(NULL, e->n * terms, sizeof *y);
    for (uint32_t c = 0; c < e->n; c++) factors(&j, e->element[c], x + c * terms, y + c * terms);
    for (int64_t t = 0; t < e->n * terms; t++)
        read_element(k, e, x[t] < 0 ? NOWHERE : j.node->args[0].node, x[t]);
    for (int64_t t = 0; t < e->n * terms; t++)
        read_element(k, e, y[t] < 0 ? NOWHERE : j.node->args[1].node, y[t]);
    free(x);
    free(y);
    return true;
}

/* What the interpreter has no integers for. */
static void to_doubles(struct cell *c) {
    if (!c->w) return;
    c->v = grown(NULL, c->n, sizeof *c->v);
    for (int64_t i = 0; i < c->n; i++) c->v[i] = (double)c->w[i];
    free(c->w);
    c->w = NULL;
}

/* As products of a row and a column each. Terms without an element of x are 0 times the weight,
 * which adds nothing unless that is infinite. */
static void make_product(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
    int64_t terms = terms_of(&j);
    struct cell out = result_of(e, j.out->dtype), sums = packed(out.dtype, e->n, 1);
    struct cell x = gathered(k, e, j.in[0]->dtype, 0, e->n, terms);
    struct cell y = gathered(k, e, j.in[1]->dtype, e->n * terms, e->n, terms);
    if (op_convolves(j.node->op)) to_doubles(&x), to_doubles(&y), to_doubles(&sums);
    for (uint32_t c = 0; c < e->n; c++) {
        multiply_row(&x, c * terms, &y, c * terms, terms, 1, &sums, c);
        if (!out.w == !sums.w)
            cell_copy(&out, c, &sums, c);
        else
            out.w[c] = int_of_double(out.dtype, sums.v[c]);
    }
    unpack(&x);
    unpack(&y);
    unpack(&sums);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static bool load_inputs(struct walk *k, node_id id, struct need *e) {
    const struct sampler *s = k->s;
    enum dtype t = s->shapes[id].dtype;
    if (!s->inputs.load(s->inputs.ctx, s->input_of[id], e->element, e->n, e->v, e->w, s->d))
        return false;
    for (uint32_t c = 0; c < e->n; c++)
        if (e->w)
            e->w[c] = int_wrap(t, e->w[c]);
        else
            e->v[c] = value_round(t, e->v[c]);
    return true;
}

static void make_created(struct walk *k, node_id id, struct need *e) {
    struct job j = whole_job(k->s, id);
#pragma omp parallel for schedule(static) if (e->n > 1 << 12)
    for (uint32_t c = 0; c < e->n; c++)
        eval_created(&j, e->element[c], 1, e->v ? e->v + c : NULL, e->w ? e->w + c : NULL);
}

/* ---- down and up ----------------------------------------------------------------------------- */

static enum sampled as_sampled(bool fits) { return fits ? SAMPLED : SAMPLE_REFUSED; }

static enum sampled need_operands(struct walk *k, node_id id, struct need *e) {
    const struct node *n = &k->s->g->nodes.at[id];
    if (eval_is_elementwise(n)) return as_sampled(need_elementwise(k, id, e));
    if (op_only_reshapes(n->op)) return as_sampled(need_view(k, id, e));
    if (op_lands(n->op)) return need_landing(k, id, e);
    switch (op_info(n->op)->class) {
    case INPUT:
    case CREATE: return SAMPLED;
    case VIEW: return as_sampled(need_view(k, id, e));
    case REDUCE: return as_sampled(need_lines(k, id, e));
    case SCAN: return as_sampled(need_prefixes(k, id, e));
    case MATMUL: return as_sampled(need_product(k, id, e));
    case MOVE: return need_move(k, id, e);
    case LOOP:
    case COMPOSITE: return SAMPLE_REFUSED;
    case POINTWISE: break;
    }
    WS_BUG("%s cannot be sampled", op_info(n->op)->name);
}

static bool make(struct walk *k, node_id id, struct need *e) {
    const struct node *n = &k->s->g->nodes.at[id];
    enum op_class class = op_info(n->op)->class;
    if (class == INPUT) return load_inputs(k, id, e);
    if (eval_is_elementwise(n))
        make_elementwise(k, id, e);
    else if (op_lands(n->op))
        make_landing(k, id, e);
    else if (class == REDUCE)
        make_lines(k, id, e);
    else if (class == SCAN)
        make_prefixes(k, id, e);
    else if (class == MATMUL)
        make_product(k, id, e);
    else if (class == CREATE)
        make_created(k, id, e);
    else
        make_moved(k, id, e);
    for (uint32_t c = 0; k->s->g->stores_values && e->v && c < e->n; c++)
        e->v[c] = value_round(n->meta.dtype, e->v[c]);
    return k->s->d->status == WS_OK;
}

static enum sampled walk(struct walk *k, node_id root) {
    struct graph *g = k->s->g;
    enum sampled how = SAMPLED;
    for (node_id id = root + 1; how == SAMPLED && id-- > 0;)
        if (k->needs[id].n) how = need_operands(k, id, &k->needs[id]);
    for (node_id id = 0; how == SAMPLED && id <= root; id++) {
        struct need *e = &k->needs[id];
        if (!e->n) continue;
        if (dtype_is_float(k->s->shapes[id].dtype))
            e->v = grown(NULL, e->n, sizeof *e->v);
        else
            e->w = grown(NULL, e->n, sizeof *e->w);
        if (!make(k, id, e)) how = SAMPLE_FAILED;
        if (how == SAMPLED && g->stopped && g->stopped())
            diag_fail(k->s->d, WS_MACHINE, "interrupted"), how = SAMPLE_FAILED;
    }
    return how;
}

/* Elements at[0..n-1] of node `root`. */
static enum sampled resolve(struct sampler *s, node_id root, const int64_t *at, int64_t n,
                            double *v, int64_t *w) {
    struct walk k = {s, calloc(root + 1, sizeof *k.needs)};
    uint32_t *cell = grown(NULL, n, sizeof *cell);
    if (!k.needs) WS_BUG("no memory to sample %u nodes", root);
    for (int64_t i = 0; i < n; i++) cell[i] = need_element(&k.needs[root], at[i]);
    enum sampled how = n ? walk(&k, root) : SAMPLED;
    for (int64_t i = 0; i < n && how == SAMPLED; i++)
        if (w)
            w[i] = k.needs[root].w[cell[i]];
        else
            v[i] = k.needs[root].v[cell[i]];
    for (node_id id = 0; id <= root; id++) need_free(&k.needs[id]);
    free(k.needs);
    free(cell);
    return how;
}

/* ---- what is too much ------------------------------------------------------------------------ */

/* Operand i of a node of which so many elements are needed is read in so many places at least, each
 * another one; 0: not known. A broadcast's is read by as many as it has copies. */
static double places_read(const struct job *j, int i, double n) {
    double share = (double)j->in[i]->n / (double)j->out->n;
    if (op_only_reshapes(j->node->op)) return n;
    if (eval_is_elementwise(j->node)) return ceil(n * share);
    if (op_info(j->node->op)->class == REDUCE && !i) return n * (double)lines_of(j).length;
    if (op_info(j->node->op)->class != MATMUL || op_convolves(j->node->op) || i > 1) return 0;
    return fmax((double)terms_of(j), ceil(n * share));
}

/* Of n elements of the root, on all the way, at least: what is refused by this costs nothing. Deep
 * networks have outputs by the hundred of which each element depends on nearly all there is. */
static double least_reads(struct sampler *s, node_id root, int64_t n) {
    double *needed = calloc(root + 1, sizeof *needed), all = 0;
    if (!needed) WS_BUG("no memory to sample %u nodes", root);
    needed[root] = (double)n;
    for (node_id id = root + 1; id-- > 0;) {
        struct job j = whole_job(s, id);
        if (!needed[id]) continue;
        all += reads_of(&j, needed[id]);
        for (int i = 0; i < j.node->n_args; i++)
            if (j.in[i] && j.in[i]->n > 0 && j.out->n > 0)
                needed[j.node->args[i].node] =
                    fmax(needed[j.node->args[i].node], places_read(&j, i, needed[id]));
    }
    free(needed);
    return all;
}

/* ---- the interface --------------------------------------------------------------------------- */

struct sampler *sampler_new(struct graph *g, const struct sample_source *inputs, struct diag *d) {
    struct sampler *s = NEW(g->arena, struct sampler);
    *s = (struct sampler){.g = g, .inputs = *inputs, .second = arg_int(g, 1)};
    s->shapes = NEW_ARRAY(g->arena, struct cell, g->nodes.n);
    s->input_of = NEW_ARRAY(g->arena, uint32_t, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++)
        if (!cell_shape(g, &g->nodes.at[id], &s->shapes[id], d)) return NULL;
    for (uint32_t i = 0; i < g->inputs.n; i++) s->input_of[g->inputs.at[i].node] = i;
    return s;
}

enum sampled sample_elements(struct sampler *s, uint32_t o, const int64_t *at, int64_t n,
                             int64_t budget, double *v, int64_t *w, int64_t *spent,
                             struct diag *d) {
    s->left = budget;
    s->d = d;
    *spent = 0;
    if (n && least_reads(s, s->g->outputs.at[o], n) > (double)budget) return SAMPLE_REFUSED;
    enum sampled how = resolve(s, s->g->outputs.at[o], at, n, v, w);
    *spent = budget - s->left;
    return how;
}

/* Below n, by the kth draw of a stream: a uniform number has 24 bits. */
static int64_t draw(uint64_t seed, uint64_t stream, int64_t k, int64_t n) {
    double u = random_uniform(seed, stream, (uint64_t)(2 * k));
    u += 0x1p-24 * random_uniform(seed, stream, (uint64_t)(2 * k + 1));
    int64_t at = (int64_t)(u * (double)n);
    return at < n ? at : n - 1;
}

int64_t sample_choose(uint64_t seed, uint64_t stream, int64_t numel, int64_t n, int64_t *at) {
    if (n > numel) n = numel;
    int64_t each = n ? numel / n : 0, more = n ? numel % n : 0;
    for (int64_t i = 0; i < n; i++)
        at[i] = i * each + (i < more ? i : more) + draw(seed, stream, i, each + (i < more));
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = draw(seed, stream, n + i, i + 1), last = at[i];
        at[i] = at[k];
        at[k] = last;
    }
    return n;
}
