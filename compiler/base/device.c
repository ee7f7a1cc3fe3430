/* device.c: the table behind `compile --arch`. Figures are the vendor's data sheets (A100 80GB SXM,
 * A10, L40S, H100/H200 SXM, B200, RTX 5090); a real device overrides them with what its driver
 * says. */
#include "base/device.h"

#include <stdlib.h>
#include <string.h>

/* Four of the last follow from the name: device_set_features. */
#define GPU(...)                                                                                   \
    { DEVICE_CUDA, __VA_ARGS__, 0, false, false, false, 0, false }

#define GB (INT64_C(1) << 30)
static const struct device_limits table[] = {
    /* arch, units, warp, thr/blk, thr/sm, blk/sm, regs, smem/blk, smem/sm, L2, memory, vec, GHz,
       GB/s, f32, matrix */
    GPU("sm_80", 108, 32, 1024, 2048, 32, 65536, 166912, 167936, 40 << 20, 80 * GB, 16, 1, 1.41,
        2039, 19.5, 312),
    GPU("sm_86", 72, 32, 1024, 1536, 16, 65536, 101376, 102400, 6 << 20, 24 * GB, 16, 1, 1.70, 600,
        31.2, 125),
    GPU("sm_89", 142, 32, 1024, 1536, 24, 65536, 101376, 102400, 96 << 20, 48 * GB, 16, 1, 2.52,
        864, 91.6, 362),
    GPU("sm_90", 132, 32, 1024, 2048, 32, 65536, 232448, 233472, 50 << 20, 80 * GB, 16, 8, 1.98,
        4800, 67, 990),
    GPU("sm_90a", 132, 32, 1024, 2048, 32, 65536, 232448, 233472, 50 << 20, 80 * GB, 16, 8, 1.98,
        4800, 67, 990),
    GPU("sm_100", 148, 32, 1024, 2048, 32, 65536, 232448, 233472, 126 << 20, 180 * GB, 16, 8, 1.96,
        8000, 75, 2250),
    GPU("sm_100a", 148, 32, 1024, 2048, 32, 65536, 232448, 233472, 126 << 20, 180 * GB, 16, 8, 1.96,
        8000, 75, 2250),
    GPU("sm_120", 170, 32, 1024, 1536, 24, 65536, 101376, 102400, 96 << 20, 32 * GB, 16, 8, 2.41,
        1792, 105, 210),
};
#undef GPU
#undef GB

bool device_limits_for_arch(const char *arch, struct device_limits *out) {
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].arch, arch)) {
            *out = table[i];
            device_set_features(out);
            return true;
        }
    return false;
}

void device_set_features(struct device_limits *d) {
    d->sm = atoi(d->arch + strlen("sm_"));
    d->wgmma = !strcmp(d->arch, "sm_90a");
    d->tensor_memory = !strcmp(d->arch, "sm_100a");
    d->tma = d->sm >= 90;
}

bool device_has_matrix_units(const struct device_limits *d, enum dtype t,
                             enum precision precision) {
    if (t == DT_F32 && precision == PRECISION_STRICT) return false;
    return d->sm >= 80 && (t == DT_BF16 || t == DT_F16 || t == DT_F32);
}

double device_clock_ghz(const struct device_limits *d) {
    return d->clock_ghz > 0 ? d->clock_ghz : 1.5;
}

double device_gbps(const struct device_limits *d) { return d->peak_gbps > 0 ? d->peak_gbps : 1000; }

int64_t device_image_bytes(const struct device_limits *d) {
    const int64_t least = INT64_C(1) << 30, part = d->memory_bytes / 6;
    return part > least ? part : least;
}

static int64_t registers_kept(const struct device_limits *d) { return d->regs_unit * 4 / 2; }

int64_t device_kept_bytes(const struct device_limits *d, bool rows_inner) {
    enum { RESULTS = 4 << 10 }; /* of shared memory: what a block's reductions exchange */
    int64_t registers = registers_kept(d), shared = rows_inner ? 0 : d->smem_block - RESULTS;
    return (registers > shared ? registers : shared) * d->max_cluster;
}

bool device_rows_fill(const struct device_limits *d, int64_t rows, int64_t row_bytes,
                      bool rows_inner) {
    /* f32 of a sector, or of a CPU's vector */
    int neighbours = d->kind == DEVICE_CPU ? d->simd_bytes / 4 : 8;
    if (rows_inner) rows = (rows + neighbours - 1) / neighbours, row_bytes *= neighbours;
    if (d->kind == DEVICE_CPU) return rows * 2 > d->units;
    if (rows * 4 >= d->units) return true;
    return d->max_cluster > 1 && row_bytes <= registers_kept(d) * d->max_cluster &&
           rows * d->max_cluster * 2 >= d->units;
}

/* Of more rows than the chip keeps at a time all blocks would meet again and again, and memory
 * idle meanwhile. A norm of 134 MB takes an H200 98 us so and 99 by two launches, a norm and
 * another one of its 67 MB 69 and 88; but a batch norm and its gradient, 32 rows of 4.2 MB, take
 * it 264 us and 235, 64 rows of 67 MB 3655 and 2928. */
bool device_rows_meet(const struct device_limits *d, int64_t rows, int64_t row_bytes,
                      bool rows_inner) {
    const double ALONE = 2.5, BESIDE = 1.25; /* times what the chip keeps */
    if (d->kind != DEVICE_CUDA || d->sm < 80 || rows_inner) return false;
    int64_t chip = (int64_t)d->smem_unit * d->units + d->l2_bytes / 2,
            least = d->l2_bytes / 8 * 5; /* less stays in L2 from launch to launch */
    bool alone =
        device_rows_fill(d, rows, row_bytes, false) && row_bytes <= device_kept_bytes(d, false);
    double all = (double)rows * (double)row_bytes;
    return !alone && all >= (double)least && all <= (rows > 1 ? BESIDE : ALONE) * (double)chip;
}

bool device_rows_apart(const struct device_limits *d, int64_t rows, int64_t columns,
                       bool rows_inner) {
    enum { NEIGHBOURS = 8 /* f32 of a sector */ };
    if (columns >= DEVICE_LONG_ROW && !device_rows_fill(d, rows, columns * 4, rows_inner))
        return true;
    int64_t strip = NEIGHBOURS * 4 * columns, kept = device_kept_bytes(d, rows_inner);
    bool clusters = d->kind == DEVICE_CUDA && d->max_cluster > 1;
    return clusters && rows_inner && strip <= kept && 2 * strip > kept;
}

const char *device_arch_names(void) {
    return "sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_120";
}
