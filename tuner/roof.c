/* roof.c: rooflines. GB/s is bytes per nanosecond, TFLOP/s operations per picosecond. */
#include "tuner/roof.h"

#include <math.h>
#include <string.h>

static bool runs_on_matrix_units(const struct ws_program *p, int kernel) {
    const struct ws_kernel *k = &p->kernels[kernel];
    if (!strcmp(k->kind, "pointwise") || !strcmp(k->kind, "reduce") || !strcmp(k->kind, "scan"))
        return false;
    for (int i = 0; i < k->n_reads; i++) {
        enum dtype t = p->buffers[k->reads[i]].dtype;
        if (t == DT_BF16 || t == DT_F16) return true;
    }
    return false;
}

/* A product of f32 in that precision: kernel/matrix.c. */
static bool is_f32_product(const struct ws_program *p, int kernel, enum precision precision) {
    const struct ws_kernel *k = &p->kernels[kernel];
    if (strcmp(k->kind, "matmul") != 0 || k->precision != precision) return false;
    for (int i = 0; i < k->n_reads; i++)
        if (p->buffers[k->reads[i]].dtype == DT_F64) return false;
    return !runs_on_matrix_units(p, kernel);
}

struct work work_of_kernel(const struct ws_program *p, int kernel) {
    const struct ws_kernel *k = &p->kernels[kernel];
    double written = 0;
    for (int i = 0; i < k->n_writes; i++) written += (double)p->buffers[k->writes[i]].bytes;
    return (struct work){.bytes = k->bytes,
                         .write_bytes = fmin(written, k->bytes),
                         .flops = k->flops,
                         .spared = k->spared,
                         .matrix = runs_on_matrix_units(p, kernel),
                         .planes = is_f32_product(p, kernel, PRECISION_F32),
                         .tf32 = is_f32_product(p, kernel, PRECISION_TF32),
                         .float8 = is_f32_product(p, kernel, PRECISION_F8)};
}

struct work work_of_program(const struct ws_program *p) {
    struct work w = {.bytes = p->bytes, .flops = p->flops};
    for (int b = 0; b < p->n_buffers; b++)
        if (p->buffers[b].kind == WS_BUF_OUTPUT) w.write_bytes += (double)p->buffers[b].bytes;
    for (int k = 0; k < p->n_kernels; k++) {
        w.spared += p->kernels[k].spared * p->kernels[k].steps;
        w.matrix |= runs_on_matrix_units(p, k);
        w.planes |= is_f32_product(p, k, PRECISION_F32);
        w.tf32 |= is_f32_product(p, k, PRECISION_TF32);
        w.float8 |= is_f32_product(p, k, PRECISION_F8);
    }
    w.write_bytes = fmin(w.write_bytes, w.bytes);
    return w;
}

static double us_at_gbps(double bytes, double gbps) { return gbps > 0 ? bytes / gbps / 1e3 : 0; }

static double us_at_tflops(double flops, double tflops) {
    return tflops > 0 ? flops / tflops / 1e6 : 0;
}

/* That are done whatever data are. */
static double sure_flops(const struct work *w) { return fmax(w->flops - w->spared, 0); }

static double compute_us(const struct roof *r, const struct work *w) {
    const struct device_limits *l = r->limits;
    enum { OF_PAIRS = 3, OF_THREE = 6, OF_TF32 = 2 }; /* times as long as one product of bf16 */
    enum { FLOAT8 = 89 };
    int passes = l->wgmma || l->tensor_memory ? OF_PAIRS : OF_THREE;
    double tflops = w->matrix && l->matrix_tflops > 0 ? l->matrix_tflops : l->f32_tflops;
    if (w->planes && l->sm >= 80) tflops = fmax(tflops, l->matrix_tflops / passes);
    if (w->tf32 && l->sm >= 80) tflops = fmax(tflops, l->matrix_tflops / OF_TF32);
    if (w->float8 && l->sm >= FLOAT8) tflops = fmax(tflops, l->matrix_tflops * 2);
    return us_at_tflops(sure_flops(w), tflops);
}

double roof_floor_us(const struct roof *r, const struct work *w) {
    double us = fmax(us_at_gbps(w->bytes, r->copy_gbps), compute_us(r, w));
    return us > 0 ? us : NAN;
}

bool roof_bound_by_compute(const struct roof *r, const struct work *w) {
    return compute_us(r, w) > us_at_gbps(w->bytes, r->copy_gbps);
}

bool roof_is_beaten(const struct roof *r, const struct work *w, double us) {
    const double more_reads = 1.05;
    return !roof_bound_by_compute(r, w) && roof_floor_us(r, w) > more_reads * us;
}

/* The caches are flushed before every sample, so all reads come from memory; what is written last
 * may still be in the last-level cache when the kernel ends. */
double roof_physical_us(const struct roof *r, const struct work *w) {
    const struct device_limits *l = r->limits;
    double through = w->bytes - fmin(w->write_bytes, (double)l->l2_bytes);
    double peak = fmax(l->f32_tflops, l->matrix_tflops * (w->float8 ? 2 : 1));
    return fmax(us_at_gbps(through, l->peak_gbps), us_at_tflops(sure_flops(w), peak));
}

bool roof_implausible(const struct roof *r, const struct work *w, double us) {
    const double slack = 0.9; /* data sheets round, and clocks are boosted */
    return us < slack * roof_physical_us(r, w);
}
