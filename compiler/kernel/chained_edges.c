/* chained_edges.c: which terms of chained products count: the edges that conditions of places draw,
 * and those of what an exponential makes 0. Fills in the body's edges (edges.c). */
#include <math.h>
#include <string.h>

#include "kernel/chained_parts.h"

/* Of s, what has at + by i >= 0. */
static void narrow(struct depth_range *s, int64_t at, int64_t by) {
    int64_t from = by > 0 && at < 0 ? (by - 1 - at) / by : 0;
    int64_t end = by < 0 && at >= 0 ? at / -by + 1 : by > 0 || at >= 0 ? s->end : 0;
    if (from > s->from) s->from = from;
    if (end < s->end) s->end = end;
}

/* Does a term along `along` count at (z, i), by the edges from the first on? */
static bool any_counts(const struct kernel *k, uint32_t first, enum axis along, int64_t z,
                       int64_t i) {
    struct depth_range s = {0, kernel_size(k, along)};
    enum axis other = along == AXIS_M ? AXIS_N : AXIS_M;
    for (uint32_t j = first; j < k->edges.n; j++) {
        const struct edge *e = &k->edges.at[j];
        narrow(&s, e->first + e->by[AXIS_Z] * z + e->by[other] * i, e->by[along]);
    }
    return s.from < s.end;
}

/* And everywhere? */
static bool all_count(const struct kernel *k, uint32_t first, enum axis along) {
    enum { MOST = 1 << 20 };
    int64_t nz = 1, n = kernel_size(k, along == AXIS_M ? AXIS_N : AXIS_M);
    for (uint32_t i = first; i < k->edges.n; i++)
        if (k->edges.at[i].by[AXIS_Z]) nz = kernel_size(k, AXIS_Z);
    if ((double)nz * (double)n > MOST) return false;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t i = 0; i < n; i++)
            if (!any_counts(k, first, along, z, i)) return false;
    return true;
}

/* Is v a mask's number where it does not hold: -inf, or, of lows, one so low that no score that is
 * seen comes near it, whatever is_scale multiplies it by? */
static bool is_hidden(const struct kernel *k, value_id v, bool lows) {
    const double LOW = -1e36;
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) return is_hidden(k, x->args[0], lows);
    return x->kind == INST_CONST && (x->number == -INFINITY || (lows && x->number <= LOW));
}

/* Is v taken to be finite: it has no numbers that hide, and reads none that differ along a row, as
 * a mask's do? A row's axis is `along`. */
static bool is_finite(const struct kernel *k, value_id v, uint8_t along) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CONST) return !is_hidden(k, v, true);
    if (x->kind == INST_LOAD) return !(x->mask & along);
    if (x->kind == INST_INDEX || is_first_product(k, v)) return true;
    bool op = x->kind == INST_OP, by_number = op && x->op == OP_DIV && is_scale(k, x->args[1]);
    bool finite = x->kind == INST_CAST || by_number ||
                  (op && (x->op == OP_MUL || x->op == OP_ADD || x->op == OP_SUB ||
                          x->op == OP_NEG || x->op == OP_TANH || x->op == OP_WHERE));
    for (int i = 0; i < x->n_args && finite; i++)
        finite = (x->op == OP_WHERE && !i) || is_finite(k, x->args[i], along);
    return finite;
}

static bool add_edges_of_condition(struct kernel *k, value_id c, bool holds, value_id of);

/* Where f, an exponent, is not hidden; by low numbers, too, in rows along `lows`, if that is no 0.
 * True: it is hidden nowhere else, if is_finite is right. */
static bool add_edges_of_exponent(struct kernel *k, value_id f, uint8_t lows) {
    const struct value_node *x = &k->values.at[f];
    const value_id *args = x->args;
    if (x->kind == INST_CAST) return add_edges_of_exponent(k, args[0], lows);
    if (x->kind != INST_OP) return is_finite(k, f, lows);
    for (int i = 1; i <= 2 && x->op == OP_WHERE; i++) {
        if (!is_hidden(k, args[3 - i], lows)) continue;
        bool all = add_edges_of_condition(k, args[0], i == 1, args[i]);
        return add_edges_of_exponent(k, args[i], lows) && all;
    }
    if (x->op == OP_SUB)
        return add_edges_of_exponent(k, args[0], lows) && is_finite(k, args[1], lows);
    if (x->op == OP_ADD) { /* what is hidden stays so with what is finite, or hidden */
        bool all = add_edges_of_exponent(k, args[0], lows);
        return add_edges_of_exponent(k, args[1], lows) && all;
    }
    if ((x->op == OP_MUL || x->op == OP_DIV) && is_scale(k, args[1]))
        return add_edges_of_exponent(k, args[0], lows);
    return is_finite(k, f, lows);
}

/* Where the condition is `holds`; true: and everywhere else it is not. x != -inf holds where x, an
 * exponent, is not hidden, and where that is `of`, is asked about so. */
static bool add_edges_of_condition(struct kernel *k, value_id c, bool holds, value_id of) {
    const struct value_node *x = &k->values.at[c];
    bool compares = x->kind == INST_OP && x->op == (holds ? OP_NE : OP_EQ);
    if (!compares || !is_hidden(k, x->args[1], false)) return add_chained_edges(k, c, holds);
    return x->args[0] == of || add_edges_of_exponent(k, x->args[0], 0);
}

/* The same of f in exp(f - what rows along `along` have come to), which is 0 where f is hidden from
 * a row that sees something. False: some may see nothing. */
static bool add_edges_of_rows(struct kernel *k, value_id f, enum axis along) {
    uint32_t n = k->edges.n;
    if (add_edges_of_exponent(k, f, along == AXIS_M ? MASK_M : MASK_N) && all_count(k, n, along))
        return true;
    k->edges.n = n;
    return false;
}

/* Where exp(f) is not 0. Sums over rows, as the gradients of keys and values are, have a term of
 * every row: that of one that sees -inf alone is nan, for all keys alike. So each row has to see
 * something by positions alone: what tensors hide of it is not known. */
static void add_edges_of_exponential(struct kernel *k, value_id f) {
    const struct value_node *x = &k->values.at[f];
    bool relative = x->kind == INST_OP && x->op == OP_SUB,
         over_rows = relative && k->values.at[x->args[1]].mask & MASK_N;
    if (relative && add_edges_of_rows(k, x->args[0], over_rows ? AXIS_M : AXIS_N)) return;
    if (!over_rows) add_edges_of_exponent(k, f, 0);
}

/* Where v, a term, is not 0. */
static void add_edges_of_term(struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) add_edges_of_term(k, x->args[0]);
    if (x->kind != INST_OP) return;
    for (int i = 1; i <= 2 && x->op == OP_WHERE; i++) {
        if (!is_zero(k, x->args[3 - i])) continue;
        add_edges_of_condition(k, x->args[0], i == 1, NO_VALUE);
        add_edges_of_term(k, x->args[i]);
        return;
    }
    if (x->op == OP_EXP) add_edges_of_exponential(k, x->args[0]);
    if (x->op == OP_RELU || x->op == OP_SIGMOID) add_edges_of_exponent(k, x->args[0], 0);
    for (int i = 0; i < 2 && (x->op == OP_MUL || (x->op == OP_DIV && !i)); i++)
        add_edges_of_term(k, x->args[i]); /* 0 times what is finite */
}

/* Does a store have what a row's own reductions come to, where the second product is 0? */
static bool shows_rows(const struct kernel *k) {
    enum { OTHER, ZERO, ROW };
    uint8_t *is = NEW_ARRAY(k->arena, uint8_t, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        int first = x->n_args ? is[x->args[0]] : OTHER;
        for (int i = 0; i < x->n_args; i++)
            if (is[x->args[i]] == ROW) is[v] = ROW;
        bool keeps = x->kind == INST_CAST || (x->kind == INST_OP && x->op == OP_DIV);
        bool product = x->kind == INST_OP && x->op == OP_MUL;
        if (x->kind == INST_REDUCE) is[v] = is_first_product(k, v) ? OTHER : ROW;
        if ((keeps && first == ZERO) || (product && (first == ZERO || is[x->args[1]] == ZERO)) ||
            v == k->second)
            is[v] = ZERO;
    }
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (is[k->stores.at[s].value] == ROW) return true;
    return false;
}

/* The one number that f is wherever it is hidden, or 0. */
static double hidden_number(const struct kernel *k, value_id f) {
    const struct value_node *x = &k->values.at[f];
    for (int i = 1; i <= 2 && x->kind == INST_OP && x->op == OP_WHERE; i++) {
        const struct value_node *low = &k->values.at[x->args[3 - i]];
        if (low->kind != INST_CONST || !is_hidden(k, x->args[3 - i], true)) continue;
        bool one = is_finite(k, x->args[i], MASK_N) || hidden_number(k, x->args[i]) == low->number;
        return one && isfinite(low->number) ? low->number : 0;
    }
    return 0;
}

/* Are all sums of what rows have between the products those of exp(f - max)? */
static bool sums_are_exponential(const struct kernel *k, value_id f, value_id max) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || v == max || is_first_product(k, v) || is_second_product(k, v))
            continue;
        const struct value_node *e = &k->values.at[x->args[0]];
        if (x->reduction != REDUCTION_SUM || e->kind != INST_OP || e->op != OP_EXP) return false;
        const struct value_node *sub = &k->values.at[e->args[0]];
        if (sub->kind != INST_OP || sub->op != OP_SUB || sub->args[0] != f || sub->args[1] != max)
            return false;
    }
    return true;
}

static bool has_edge(const struct edge *all, uint32_t n, const struct edge *e) {
    for (uint32_t i = 0; i < n; i++)
        if (!memcmp(&all[i], e, sizeof *e)) return true;
    return false;
}

static uint32_t take_edges(struct kernel *k, struct edge *out) {
    uint32_t n = k->edges.n;
    if (n) memcpy(out, k->edges.at, sizeof *out * n);
    k->edges.n = 0;
    return n;
}

/* Of exponentials of f relative to their row's maximum, which sums and the second product are made
 * of. Where a low number hides all of a row, that is its maximum, and sums count elements: nobody
 * sees how many if the second product's own terms are 0 there, as those of attention are; or those
 * that are left out are added. */
static void add_edges_of_softmax(struct kernel *k, value_id max) {
    struct edge low[MOST_EDGES], sure[MOST_EDGES];
    value_id f = k->values.at[max].args[0];
    if (add_edges_of_rows(k, f, AXIS_N)) return;
    bool shows = shows_rows(k), counts = shows && sums_are_exponential(k, f, max);
    double hidden = counts ? hidden_number(k, f) : 0;
    add_edges_of_exponent(k, f, MASK_N);
    uint32_t n_low = take_edges(k, low);
    add_edges_of_exponent(k, f, 0);
    if (!shows || hidden != 0) add_edges_of_term(k, k->second_a);
    uint32_t n_sure = take_edges(k, sure);
    for (uint32_t i = 0; i < n_low; i++)
        if (has_edge(sure, n_sure, &low[i])) vec_push(k->arena, &k->edges, low[i]);
    if (k->edges.n) k->hidden = hidden;
}

/* Of two second products those that both have. */
static void keep_edges_of_twin(struct kernel *k) {
    struct edge own[MOST_EDGES], both[MOST_EDGES];
    uint32_t n_own = take_edges(k, own);
    add_edges_of_term(k, k->twin_a);
    uint32_t n = take_edges(k, both);
    for (uint32_t i = 0; i < n; i++)
        if (has_edge(own, n_own, &both[i])) vec_push(k->arena, &k->edges, both[i]);
}

/* Of all sums along n alike, each once. Needs axes and masks. */
void find_chained_edges(struct kernel *k) {
    value_id max = chained_maximum(k);
    struct edge all[MOST_EDGES];
    bool others = false;
    for (value_id v = 0; v < k->values.n; v++)
        others |= k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                  !is_second_product(k, v);
    if (max != NO_VALUE)
        add_edges_of_softmax(k, max);
    else if (!others)
        add_edges_of_term(k, k->second_a);
    if (k->twin != NO_VALUE) keep_edges_of_twin(k);
    uint32_t n = take_edges(k, all);
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *e = &all[i];
        if (has_edge(all, i, e)) continue;
        if (e->asks)
            vec_push(k->arena, &k->questions, ((struct asked_value){e->asks - 1, e->holds}));
        else
            vec_push(k->arena, &k->edges, *e);
    }
}

struct depth_range chained_range(const struct kernel *k, int64_t z, int64_t m, int64_t rows) {
    struct depth_range s = {0, kernel_size(k, AXIS_N)};
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        int64_t down = e->by[AXIS_M] > 0 ? m + rows - 1 : m;
        narrow(&s, e->first + e->by[AXIS_Z] * z + e->by[AXIS_M] * down, e->by[AXIS_N]);
    }
    if (s.end <= s.from) s = (struct depth_range){0, 1};
    return s;
}

double chained_counts(const struct kernel *k) {
    enum { SAMPLES = 64 };
    int64_t m = kernel_size(k, AXIS_M), n = kernel_size(k, AXIS_N),
            rows = m < SAMPLES ? m : SAMPLES;
    double all = 0;
    if (!k->edges.n || !rows || !n) return 1;
    for (int64_t i = 0; i < rows; i++) {
        struct depth_range s =
            chained_range(k, kernel_size(k, AXIS_Z) / 2, (2 * i + 1) * m / (2 * rows), 1);
        all += (double)(s.end - s.from);
    }
    return all / ((double)rows * (double)n);
}
