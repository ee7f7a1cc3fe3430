/* check_sample.c: is a reference right? Some elements of each output are computed on demand and
 * compared with it.
 *
 *   out0[3, 5]: 17.25000000000031 of the reference, 17.25 by itself, 4.4e-12 allowed: right
 *
 * What is allowed is no guess: graph_bound of doubles says how far two computations in doubles of
 * that very element may be apart, roundoff by roundoff, each weighed with the terms that it is of,
 * and with jumps where a comparison may fall either way. It is computed on demand as well, where
 * the two differ by more than the last digits. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "graph/sample.h"

/* An element, of the reference and by itself. */
struct pair {
    int64_t at;
    double got, want, apart; /* apart: relative to what it is */
};

struct judging {
    struct sampler *s;
    const struct sample_source *reference;
    const struct sample_options *o;
    int64_t n_outputs;
    int64_t left;    /* of the budget in all */
    int64_t refused; /* spent on elements that were too much */
    struct sample_verdict *v;
    struct diag *d;
};

/* at[1..n-1], of which the first alone has read `first`. So many at once as read AT_ONCE together,
 * or twice what one does: memory goes with that, some 40 bytes for each. */
static int64_t sample_rest(struct judging *j, uint32_t o, const int64_t *at, int64_t n,
                           int64_t first, int64_t limit, double *v, int64_t *w, enum sampled *how) {
    enum { AT_ONCE = 1 << 19 };
    int64_t most = 2 * first > AT_ONCE ? 2 * first : AT_ONCE, had = 1, spent;
    int64_t each = first < AT_ONCE ? AT_ONCE / first : 1;
    bool shares = true; /* maybe: until twice as many turn out to be too much */
    while (had < n && each) {
        int64_t k = each < n - had ? each : n - had;
        int64_t room = limit < j->left ? limit : j->left;
        *how = sample_elements(j->s, o, at + had, k, most < room ? most : room, v ? v + had : NULL,
                               w ? w + had : NULL, &spent, j->d);
        j->left -= spent;
        limit -= spent;
        if (*how == SAMPLE_FAILED) return 0;
        had += *how == SAMPLED ? k : 0;
        shares &= *how == SAMPLED;
        if (*how == SAMPLE_REFUSED) each = k / 2;
        if (shares && spent < most / 4 * 3) each *= 2;
    }
    *how = SAMPLED;
    return had;
}

/* As many of at[0..n-1], from the first on, as the budget allows; *how is SAMPLE_REFUSED if that is
 * not even one. The first says what each costs; they may share something. Of a deep network, all
 * outputs may be too much: of hundreds, none may try much more than its share. */
static int64_t sample_some(struct judging *j, uint32_t o, const int64_t *at, int64_t n, double *v,
                           int64_t *w, enum sampled *how) {
    enum { SHARE = 8, LEAST = 1 << 10, FAIR = 4 };
    int64_t spent, limit = j->o->per_output < j->left ? j->o->per_output : j->left;
    int64_t one = limit / 2, spare = j->o->in_all / SHARE - j->refused;
    int64_t fair = FAIR * j->o->in_all / (j->n_outputs ? j->n_outputs : 1);
    if (spare > fair) spare = fair;
    if (one > spare) one = spare > LEAST ? spare : one < LEAST ? one : LEAST;
    *how = sample_elements(j->s, o, at, 1, one, v, w, &spent, j->d);
    j->left -= spent;
    if (*how == SAMPLE_REFUSED) j->refused += spent;
    if (*how != SAMPLED || n == 1) return *how == SAMPLED;
    if (spent < 1) spent = 1;
    return sample_rest(j, o, at, n < limit / spent ? n : limit / spent, spent, limit, v, w, how);
}

static double relative(double got, double want) {
    if (got == want || (got != got && want != want)) return 0;
    double off = fabs(got - want) / fmax(fabs(want), DBL_MIN);
    return off == off ? off : INFINITY;
}

static int by_distance(const void *a, const void *b) {
    const struct pair *x = a, *y = b;
    return (x->apart < y->apart) - (x->apart > y->apart);
}

static void report(struct judging *j, uint32_t o, const struct pair *p, double allowed) {
    if (j->v->differs) return;
    j->v->differs = true;
    j->v->output = o;
    j->v->element = p->at;
    j->v->got = p->got;
    j->v->want = p->want;
    j->v->allowed = allowed;
}

/* Those that are not the same up to their last digits, the furthest first. */
static bool judge_far(struct judging *j, uint32_t o, uint32_t bound, const struct pair *far,
                      int64_t n) {
    int64_t *at = malloc((size_t)n * sizeof *at);
    double *allowed = malloc((size_t)n * sizeof *allowed);
    enum sampled how = SAMPLE_FAILED;
    if (!at || !allowed) diag_fail(j->d, WS_MACHINE, "no memory");
    for (int64_t i = 0; at && i < n; i++) at[i] = far[i].at;
    int64_t had = at && allowed ? sample_some(j, bound, at, n, allowed, NULL, &how) : 0;
    for (int64_t i = 0; i < had; i++)
        if (!(fabs(far[i].got - far[i].want) <= allowed[i]) && allowed[i] != INFINITY)
            report(j, o, &far[i], allowed[i]);
    j->v->judged += had;
    free(at);
    free(allowed);
    return how != SAMPLE_FAILED;
}

/* got, want: doubles or, as `whole` says, integers. */
static bool judge(struct judging *j, uint32_t o, uint32_t bound, const int64_t *at, int64_t n,
                  bool whole, const void *got, const void *want) {
    struct pair *far = malloc((size_t)n * sizeof *far);
    int64_t n_far = 0;
    if (!far) return diag_fail(j->d, WS_MACHINE, "no memory"), false;
    for (int64_t i = 0; i < n; i++) {
        const double *x = got, *y = want;
        const int64_t *p = got, *q = want;
        struct pair e = {at[i], whole ? (double)p[i] : x[i], whole ? (double)q[i] : y[i], 0};
        e.apart = relative(e.got, e.want);
        if (whole && p[i] == q[i]) e.apart = 0;
        if (whole && p[i] != q[i] && !e.apart)
            e.apart = DBL_EPSILON; /* in digits that doubles lack */
        if (e.apart > (whole ? 0 : 4 * DBL_EPSILON))
            far[n_far++] = e;
        else
            j->v->judged++;
    }
    qsort(far, (size_t)n_far, sizeof *far, by_distance);
    bool ok = !n_far || judge_far(j, o, bound, far, n_far);
    free(far);
    return ok;
}

static bool judge_output(struct judging *j, const struct graph *g, uint32_t o, uint32_t bound) {
    const struct meta *m = &g->nodes.at[g->outputs.at[o]].meta;
    int64_t n = j->o->elements;
    bool whole = !dtype_is_float(m->dtype), ok = false;
    int64_t *at = malloc((size_t)n * sizeof *at);
    void *want = malloc((size_t)n * 8), *got = malloc((size_t)n * 8); /* f64, or i64 if whole */
    enum sampled how;
    if (at && want && got) {
        n = sample_choose(j->o->seed, o, ex_value(g->ex, meta_numel(g->ex, m)), n, at);
        j->v->asked += n;
        int64_t had =
            n ? sample_some(j, o, at, n, whole ? NULL : want, whole ? want : NULL, &how) : 0;
        ok = !n || how == SAMPLE_REFUSED ||
             (how == SAMPLED &&
              j->reference->load(j->reference->ctx, o, at, had, whole ? NULL : got,
                                 whole ? got : NULL, j->d) &&
              judge(j, o, bound, at, had, whole, got, want));
    } else {
        diag_fail(j->d, WS_MACHINE, "no memory");
    }
    free(at);
    free(want);
    free(got);
    return ok;
}

bool sample_check(struct graph *g, const struct sample_source *inputs,
                  const struct sample_source *reference, const struct sample_options *o,
                  struct sample_verdict *v, struct diag *d) {
    struct rounding how = {.device = DEVICE_CUDA, .doubles = true};
    struct graph *h = graph_simplify(graph_decompose_but_landings(graph_simplify(g)));
    struct graph *both = graph_join(h, graph_bound(h, how));
    both->seed = g->seed;
    both->stopped = g->stopped;
    *v = (struct sample_verdict){0};
    struct judging j = {.s = sampler_new(both, inputs, d),
                        .reference = reference,
                        .o = o,
                        .n_outputs = g->outputs.n,
                        .left = o->in_all,
                        .v = v,
                        .d = d};
    for (uint32_t i = 0; j.s && i < g->outputs.n && d->status == WS_OK; i++)
        if (graph_first_output(g, i) == i) judge_output(&j, both, i, g->outputs.n + i);
    return d->status == WS_OK;
}

/* ---- where there is no reference ------------------------------------------------------------- */

bool sample_take(struct sampler *s, const struct graph *g, uint32_t o, uint32_t bound,
                 const struct sample_options *options, int64_t *left, struct sample_taken *out,
                 struct diag *d) {
    struct judging j = {.s = s, .o = options, .n_outputs = 1, .left = *left, .d = d};
    const struct meta *m = &g->nodes.at[g->outputs.at[o]].meta;
    int64_t n = options->elements, numel = ex_value(g->ex, meta_numel(g->ex, m));
    size_t size = sizeof(double) * (size_t)n;
    bool whole = !dtype_is_float(m->dtype);
    enum sampled how = SAMPLED;
    *out = (struct sample_taken){.at = malloc(size), .want = malloc(size), .bound = malloc(size)};
    if (!out->at || !out->want || !out->bound) {
        diag_fail(d, WS_MACHINE, "no memory");
        return false;
    }
    n = sample_choose(options->seed, o, numel, n, out->at);
    if (n)
        n = sample_some(&j, o, out->at, n, whole ? NULL : out->want, whole ? out->want : NULL,
                        &how);
    if (n) n = sample_some(&j, bound, out->at, n, out->bound, NULL, &how);
    out->n = n;
    *left = j.left;
    return how != SAMPLE_FAILED;
}
