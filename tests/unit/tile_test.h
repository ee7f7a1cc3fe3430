/* tile_test.h: what the tests of tile programs share: graphs of one product as programs, and
 * whether what the interpreter makes of them is right. */
#ifndef TILE_TEST_H
#define TILE_TEST_H

#include <math.h>

#include "lower_test.h"
#include "part.h"
#include "tile/tile.h"

static inline struct kernel *product_on(struct arena *a, const char *text, const char *arch) {
    static struct device_limits gpu;
    gpu = test_gpu(arch);
    gpu.units = 4; /* so that a block has several tiles */
    gpu.regs_unit /= 8;
    struct schedule *s = must_schedule(a, text, "", &gpu, false);
    uint32_t group = 0; /* what a factor is made of comes before */
    while (group + 1 < s->groups.n && !s->groups.at[group].matmul) group++;
    return must_build(s, group, &gpu);
}

static inline struct kernel *product_of(struct arena *a, const char *text) {
    return product_on(a, text, "sm_90a");
}

static inline struct config parsed(struct arena *a, const char *text) {
    struct diag d = diag_new(a);
    struct config c;
    if (!config_parse(text, &c, &d)) fail_msg("%s", d.text);
    return c;
}

static inline struct tile_program *program_on(struct arena *a, const char *text, const char *config,
                                              const char *arch) {
    struct kernel *k = product_on(a, text, arch);
    struct config c = parsed(a, config);
    struct layout y;
    const char *bad = kernel_layout(k, &c, &y, a);
    if (bad) fail_msg("%s: %s", config, bad);
    struct tile_program *t = tile_dot(block_build(k, &c, a), a);
    if ((bad = tile_verify(t, a))) fail_msg("%s", bad);
    tile_pipeline(t);
    if ((bad = tile_verify(t, a))) fail_msg("%s", bad);
    return t;
}

static inline struct tile_program *program_of(struct arena *a, const char *text,
                                              const char *config) {
    return program_on(a, text, config, "sm_90a");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static inline float *numbers(struct arena *a, size_t n, unsigned seed) {
    float *x = NEW_ARRAY(a, float, n);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)((int)(seed >> 24) - 128) / 64;
    }
    return x;
}

/* Elements of a plane, each smaller than the one before, but of pairs; in images of windows, not
 * runs, all planes of a pixel lie side by side. */
static inline float *planes_of(struct arena *a, const struct operand *o, unsigned seed) {
    bool beside = o->windows && !operand_has_runs(o);
    int64_t elements = operand_has_runs(o) ? o->plane
                       : beside            ? o->step[o->order->n] * o->order->images / o->planes
                                           : o->batches * o->rows * o->depth;
    size_t n = (size_t)elements;
    float *x = numbers(a, n * (size_t)o->planes, seed);
    if (o->planes == 2) return x;
    for (size_t i = 0; i < n * (size_t)o->planes && beside && o->planes > 1; i++)
        x[i] /= 1 << (8 * (i % (size_t)o->pitch / (size_t)o->plane));
    for (int p = 1; p < o->planes && !beside; p++)
        for (size_t i = 0; i < n; i++) x[(size_t)p * n + i] /= 1 << (8 * p);
    return x;
}

static inline double element(const struct operand *o, const float *in, int plane, int64_t z,
                             int64_t row, int64_t k) {
    if (!o->windows && o->batches == 1) z = 0;
    if (!o->windows) return in[((plane * o->batches + z) * o->rows + row) * o->depth + k];
    int64_t at = operand_element(o, plane, z, row, k);
    return at < 0 ? 0 : in[at];
}

/* Of one z, rows of both factors as the passes want them, so that each element is looked up once:
 * [row][k][pass]. */
struct passes {
    const struct tile_program *t;
    const float *in[2];
    float *rows[2];
};

static inline struct passes passes_new(struct arena *a, const struct tile_program *t,
                                       const float *const in[]) {
    struct passes p = {t, {in[0], in[1]}, {NULL, NULL}};
    const struct operand *o[] = {&t->product->a, &t->product->b};
    for (int f = 0; f < 2; f++)
        p.rows[f] = NEW_ARRAY(a, float, (size_t)(o[f]->rows * o[f]->depth * t->product->n_passes));
    return p;
}

static inline void passes_at(const struct passes *p, int64_t z) {
    const struct product *all = p->t->product;
    for (int f = 0; f < 2; f++) {
        const struct operand *o = f ? &all->b : &all->a;
        float *to = p->rows[f];
        for (int64_t row = 0; row < o->rows; row++)
            for (int64_t k = 0; k < o->depth; k++)
                for (int q = 0; q < all->n_passes; q++)
                    *to++ =
                        (float)element(o, p->in[f], f ? all->pass[q].b : all->pass[q].a, z, row, k);
    }
}

static inline double exact(const struct passes *p, int64_t m, int64_t n, double *terms) {
    const struct product *all = p->t->product;
    int64_t length = all->a.depth * all->n_passes;
    const float *x = p->rows[0] + m * length, *y = p->rows[1] + n * length;
    double sum = 0, size = 0;
    for (int64_t k = 0; k < all->a.depth; k++)
        for (int q = 0; q < all->n_passes; q++) {
            double term = (double)*x++ * (double)*y++ * (all->pass[q].crossed ? 0x1p-11 : 1);
            sum += term;
            size += fabs(term);
        }
    *terms = size;
    return sum;
}

/* How many elements are further from exact than roundings of a float's last bits. */
static inline int64_t wrong_of(struct arena *a, const struct tile_program *t, uint64_t seed,
                               const char **why) {
    const struct kernel *k = t->block->kernel;
    const float *in[] = {planes_of(a, &t->product->a, 1), planes_of(a, &t->product->b, 2)};
    int64_t nz = kernel_size(k, AXIS_Z), nm = kernel_size(k, AXIS_M), nn = kernel_size(k, AXIS_N);
    float *out = NEW_ARRAY(a, float, (size_t)(nz * nm * nn));
    int64_t wrong = 0;
    *why = tile_run(t, in, out, seed, a);
    const struct operand *x = &t->product->a, *y = &t->product->b;
    struct passes passes = passes_new(a, t, in);
    int64_t compared = 0;
    for (int64_t z = 0; z < nz; z++) {
        passes_at(&passes, z);
        for (int64_t m = 0; m < x->rows; m++)
            for (int64_t n = 0; n < y->rows; n++) {
                int64_t row = operand_row(k, x, m), column = operand_row(k, y, n);
                if (row < 0 || column < 0) continue;
                double terms, want = exact(&passes, m, n, &terms);
                wrong += !(fabs(out[(z * nm + row) * nn + column] - want) <= terms * 0x1p-20);
                compared++;
            }
    }
    assert_int_equal(compared, nz * nm * nn);
    return wrong;
}

/* ---- planted mistakes ------------------------------------------------------------------------ */

static inline uint32_t find(const struct tile_program *t, enum tile_op op, int nth) {
    for (uint32_t i = 0; i < t->code.n; i++)
        if (t->code.at[i].op == op && !nth--) return i;
    fail_msg("no %s", tile_op_name(op));
    return 0;
}

static inline void take_out(struct tile_program *t, uint32_t at) {
    for (uint32_t i = at + 1; i < t->code.n; i++) t->code.at[i - 1] = t->code.at[i];
    t->code.n--;
}

#endif
