/* cases.h: the graphs whose generated kernels the tests run, and running them: each kernel under
 * many configs is a case, on the emulator or on a device, judged by the reference interpreter.
 *
 *     case_vec graphs = {0};
 *     cases_edges(a, &graphs);
 *     struct cases c = {.graphs = &graphs, .every = 1};
 *     cases_on_emulator(&c);
 *     c.run cases, c.failed of them wrong, the keys of c.seen are the distinct ones */
#ifndef FUZZ_CASES_H
#define FUZZ_CASES_H

#include <stdio.h>

#include "tests/fuzz/drive.h"

enum { CASES_DEFAULT = 1 << 20 };

struct case_graph {
    const char *text;
    int every;       /* which configs: the default and one in so many; CASES_DEFAULT: the default */
    bool eager;      /* also with a kernel for each operator */
    bool old;        /* on the emulator: for sm_80, not sm_90a */
    bool tensor;     /* on the emulator: for sm_100a */
    bool chained;    /* products behind products are one kernel, whatever they take apart */
    bool persistent; /* steps of loops are one kernel, whatever they take apart */
    bool launches;   /* they are a kernel each */
    bool sequence;   /* all of its kernels, which are small, are one launch */
    bool tiny; /* on the emulator: a sm_90a of 4 multiprocessors with an eighth of its registers and
                   an L2 of 1 KiB; with fit= in the config, of 2 with all */
    const char *config; /* one more, of every kernel that it is legal for; NULL: none */
    bool maybe;         /* it need not be for any */
    bool bound; /* each element is judged by the bound of its own, not by a tolerance of its type */
    bool nans;  /* the same, and what is nan is no number by any rounding */
};
typedef VEC(struct case_graph) case_vec;
const char *case_text(const struct graph *g); /* of g's arena */
/* The same forward, and with gradients of its first three parameters, as attention has them. */
const char *case_with_gradients(struct arena *a, const char *text);

/* By hand: all kinds of kernels on small shapes chosen to hit edges, in all configs, or in every
 * second or third where those are many. */
void cases_shapes(struct arena *a, case_vec *out);
/* The same of kernels that move elements. */
void cases_move(struct arena *a, case_vec *out);
/* Products on the matrix units, in a config each. */
void cases_products(struct arena *a, case_vec *out);
/* Those of them, and random ones, and convolutions, whose sums lie in tensor memory. */
void cases_tensor(struct arena *a, case_vec *out);
/* n products of random sizes, layouts, factors, epilogues and configs of the matrix units. */
void cases_random_products(struct arena *a, uint64_t seed, int n, case_vec *out);
/* n convolutions and transposed ones of stride 1. */
void cases_convolutions(struct arena *a, uint64_t seed, int n, case_vec *out);
/* Products by packed panels on the CPU, in a config each. */
void cases_panels(struct arena *a, case_vec *out);
/* n transposed convolutions with strides. */
void cases_phases(struct arena *a, uint64_t seed, int n, case_vec *out);
/* The same of many filters, on the matrix units. */
void cases_many_filters(struct arena *a, uint64_t seed, int n, case_vec *out);
/* Products of whose sums several elements are stored each. */
void cases_arms(struct arena *a, uint64_t seed, int n, case_vec *out);
/* n graphs of tests/fuzz/gen.h, every third with gradients; large ones only to be lowered. */
void cases_random(struct arena *a, uint64_t seed, int n, bool large, case_vec *out);
/* What differentiation makes of programs. */
void cases_gradients(struct arena *a, case_vec *out);
/* Loops and their gradients. */
void cases_loops(struct arena *a, case_vec *out);
/* And without products, whose elements go their own way. */
void cases_recurrences(struct arena *a, case_vec *out);
/* Products behind products, in a config each: of shapes with functions, one in `step`. */
void cases_chained(struct arena *a, int step, case_vec *out);
/* n times attention of random sizes, layouts, masks and configs, forward or with its gradients. */
void cases_random_chained(struct arena *a, uint64_t seed, int n, case_vec *out);
/* By rule: kinds of kernels x sizes around the edges of vectors, warps and blocks x dtypes, in a
 * few configs each. */
void cases_edges(struct arena *a, case_vec *out);

struct cases {
    const case_vec *graphs;
    const char *filter; /* only graphs whose text contains it; NULL: all */
    int every;          /* of the configs that the graphs ask for, one in so many */
    int graph_step;     /* of the graphs, one in so many; 0: all */
    int graph_first;    /* the first of these, below graph_step */
    int run_step;       /* of these again: only one in so many is more than lowered and printed */
    FILE *log;          /* what went wrong */

    int run, failed;
    struct map *seen; /* variant_hash of each case, if the caller made it; the rest is counted */
};

/* False: something else than a case failed, and the log says what. */
bool cases_on_emulator(struct cases *c);
bool cases_on_device(struct cases *c, struct device *dev, struct toolchain *t);

/* The hashes of `seen`, one a line in hexadecimal. */
bool cases_write_list(const struct map *seen, const char *path);

#endif
