/* sample.h: single elements of a graph's outputs, computed on demand: backwards from the element to
 * the elements of inputs that it depends on, of which there are few even where tensors are large.
 *
 *   y = softmax(x @ w)[17, 4]      x: [8192, 4096], w: [4096, 64]
 *      needs 64 elements of x @ w, those 4096 of x and 64 x 4096 of w
 *
 * It computes what graph_eval does, in doubles and 64-bit integers, by the same loops, and so
 * judges references that were made by other means. */
#ifndef WS_GRAPH_SAMPLE_H
#define WS_GRAPH_SAMPLE_H

#include "graph/graph.h"

/* Where values of tensors are, inputs or outputs: load() puts elements at[0..n-1] of tensor i,
 * counted row-major over its sizes, into v or, of integers and bools, into w. False: it could not,
 * and says so in d. */
struct sample_source {
    void *ctx;
    bool (*load)(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                 struct diag *d);
};

/* Values in memory as a source: ctx is an array of them. */
bool value_load(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                struct diag *d);

enum sampled {
    SAMPLED,
    SAMPLE_REFUSED, /* more cells would be read than the budget allows, or there is no rule */
    SAMPLE_FAILED   /* said in d */
};

struct sampler;
/* Needs: constant sizes; a decomposed graph (landings may be left): composites have no rules. The
 * sampler lives in the graph's arena. NULL: said in d. */
struct sampler *sampler_new(struct graph *g, const struct sample_source *inputs, struct diag *d);

/* Elements at[0..n-1] of output o into v or w. `budget`: how many operands' elements may be read on
 * the way, each time one is read; some 30 bytes of memory for each. *spent: how many were. */
enum sampled sample_elements(struct sampler *s, uint32_t o, const int64_t *at, int64_t n,
                             int64_t budget, double *v, int64_t *w, int64_t *spent, struct diag *d);

/* n different elements of `numel` (at most all) by seed: one of each stretch of numel / n, in
 * random order. Returns how many. */
int64_t sample_choose(uint64_t seed, uint64_t stream, int64_t numel, int64_t n, int64_t *at);

/* check_sample.c. Judge a reference by some elements of each output, computed on demand: how far
 * they may be apart is said by graph_bound of doubles, where each rounding of both sides counts, in
 * whichever order terms are added up. g: as captured, with constant sizes. False: said in d. */
struct sample_options {
    uint64_t seed;      /* which elements */
    int64_t elements;   /* of each output, at most */
    int64_t per_output; /* budget of sample_elements; one element may take half of it */
    int64_t in_all;     /* of all outputs */
};
#define SAMPLE_DEFAULTS ((struct sample_options){0, 256, 8 << 20, 32 << 20})

struct sample_verdict {
    int64_t asked, judged; /* elements; others depend on too many, or nothing can be said of them */
    bool differs;
    uint32_t output; /* the first that differs, and where */
    int64_t element;
    double got, want, allowed; /* the reference's, by itself, and how far those may be apart */
};
bool sample_check(struct graph *g, const struct sample_source *inputs,
                  const struct sample_source *reference, const struct sample_options *o,
                  struct sample_verdict *v, struct diag *d);

/* check_sample.c. What some elements of output o of g should be, and how far off they may be, which
 * its output `bound` says: for what nothing else can be made of. g as sampler_new needs it. *left
 * is what is left of options.in_all, or that. False: said in d; n is 0 where elements depend on too
 * many. */
struct sample_taken {
    int64_t n, *at;
    void *want;    /* f64 or i64, as dtype_reference says */
    double *bound; /* all three are malloc'ed: the caller frees */
};
bool sample_take(struct sampler *s, const struct graph *g, uint32_t o, uint32_t bound,
                 const struct sample_options *options, int64_t *left, struct sample_taken *out,
                 struct diag *d);

#endif
