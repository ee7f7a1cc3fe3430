/* device.h: the limits of a device as plain data, so that everything left of runtime/ can choose
 * and refuse configs with no device present. The runtime fills it from the driver; `compile --arch`
 * fills it from a table. */
#ifndef WS_BASE_DEVICE_H
#define WS_BASE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

enum device_kind { DEVICE_CPU, DEVICE_CUDA };
enum { DEVICE_KINDS = DEVICE_CUDA + 1 };

struct device_limits {
    enum device_kind kind;
    char arch[24];         /* "sm_90a", or the CPU's "x86-64-avx512" */
    int units;             /* multiprocessors, or cores */
    int warp;              /* threads in a warp; 1 on a CPU */
    int max_threads_block; /* 1024 */
    int max_threads_unit;  /* resident threads per multiprocessor, 2048 */
    int max_blocks_unit;   /* resident blocks per multiprocessor, 32 */
    int64_t regs_unit;     /* 32-bit registers per multiprocessor, 65536 */
    int64_t smem_block;    /* bytes of shared memory a block may ask for (opt-in limit) */
    int64_t smem_unit;     /* bytes of shared memory per multiprocessor */
    int64_t l2_bytes;      /* last-level cache */
    int64_t memory_bytes;  /* GPU: of the device; 0 = unknown */
    int simd_bytes;    /* CPU: width of a vector register; GPU: 16, the widest load of a thread */
    int max_cluster;   /* blocks that may share their shared memory; 1 = no clusters */
    double clock_ghz;  /* boost clock */
    double peak_gbps;  /* theoretical DRAM bandwidth; 0 = unknown */
    double f32_tflops; /* theoretical, plain FMA */
    double matrix_tflops; /* theoretical, dense bf16 matrix units; 0 = none */

    /* What its instructions are, which follows from arch: device_set_features. */
    int sm;             /* compute capability: 90 is 9.0; 0 on a CPU */
    bool wgmma;         /* products of four warps, which only sm_90a admits */
    bool tensor_memory; /* tcgen05: products whose sums lie there, which only sm_100a admits */
    bool tma;           /* copies of boxes of tensors (tensor_map.h) */

    int simd_registers; /* CPU: vector registers of a core; 0: not known, 16 at least */
    bool sequences;     /* GPU: small kernels that follow each other may be one launch, of one block
                       (kernel/sequence.h); tests of kernels want these by themselves */
};

/* Do its matrix units multiply numbers of type t, in that precision if they are f32? */
bool device_has_matrix_units(const struct device_limits *d, enum dtype t, enum precision precision);
/* Boost clock and DRAM bandwidth for estimates: 1.5 GHz and 1000 GB/s where they are unknown. */
double device_clock_ghz(const struct device_limits *d);
double device_gbps(const struct device_limits *d);
/* Most extent of an axis of a product on the matrix units: what tensor maps and counters hold. */
enum { MATRIX_SIZE = 1 << 30 };
/* Most bytes of the image of a product's factor that is not copied from where it lies. */
int64_t device_image_bytes(const struct device_limits *d);

/* Do a block for each of so many rows, or a cluster where it can keep a row of so many bytes, give
 * most of a GPU something to do? Else their reductions are better split over blocks. Where
 * neighbours in memory belong to different rows (rows_inner), a block takes a sector's rows. Of a
 * CPU more than half of the cores must have a row: apart, values that rows are gone over for again
 * are made twice. */
bool device_rows_fill(const struct device_limits *d, int64_t rows, int64_t row_bytes,
                      bool rows_inner);
/* May blocks that meet keep a good part of such rows on the chip, which has to be all of it: rows
 * that are neighbours in memory are none of theirs. */
bool device_rows_meet(const struct device_limits *d, int64_t rows, int64_t row_bytes,
                      bool rows_inner);

/* Bytes of a row that a cluster can keep: in half of its registers, or in shared memory, if these
 * are neighbours. */
int64_t device_kept_bytes(const struct device_limits *d, bool rows_inner);
/* Are rows of so many columns better reduced by a kernel of their own than by one that goes along
 * them again with what they came to? If they are long and do not fill the device; and where a
 * cluster hardly keeps the rows of a sector, 25,088 pixels of eight channels: its blocks wait for
 * each other, so that all of the device reads, and then all writes. What no cluster keeps is read
 * twice in any case. */
enum { DEVICE_LONG_ROW = 65536 };
bool device_rows_apart(const struct device_limits *d, int64_t rows, int64_t columns,
                       bool rows_inner);

/* Limits of an architecture by name ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100",
 * "sm_100a", "sm_120"), as of its largest common part; false if unknown. device_arch_names lists
 * them for messages. */
bool device_limits_for_arch(const char *arch, struct device_limits *out);
/* sm, wgmma, tensor_memory and tma of a GPU whose arch is known. */
void device_set_features(struct device_limits *d);
const char *device_arch_names(void);

#endif
