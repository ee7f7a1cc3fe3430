/* roof.h: the least time that the device allows.
 *
 *   expected floor   bytes at the measured copy bandwidth, or operations at the peak: what
 *                    "percent of roof" is about
 *   physical floor   from the data sheet, writes that may stay in the cache left out: a time below
 *                    it was not measured right */
#ifndef TUNER_ROOF_H
#define TUNER_ROOF_H

#include "ws_tune.h"

struct roof {
    const struct device_limits *limits;
    double copy_gbps; /* NAN: unknown */
};

/* What a kernel or a program has to do at least. */
struct work {
    double bytes, write_bytes; /* bytes: read and written */
    double flops;
    double spared; /* of these: data may make them superfluous, so no time is too short for them */
    bool matrix;   /* on the matrix units */
    bool planes;   /* or, of f32, as six products of bf16 there, or three of f16 */
    bool tf32;     /* or, of f32, in tf32 */
    bool float8;   /* or of float8, twice as many at a time as of bf16 */
};

struct work work_of_kernel(const struct ws_program *p, int kernel);
struct work work_of_program(const struct ws_program *p);

double roof_floor_us(const struct roof *r, const struct work *w);    /* NAN: unknown */
double roof_physical_us(const struct roof *r, const struct work *w); /* 0: unknown */
bool roof_bound_by_compute(const struct roof *r, const struct work *w);

/* Is this time, bound by memory, so far below that floor that the bandwidth cannot be right? Who
 * reads more than he writes is some percent faster than a copy. NAN was not measured. */
bool roof_is_beaten(const struct roof *r, const struct work *w, double us);

/* Was this time, of `work` with flushed caches, measured wrong? NAN was not measured. */
bool roof_implausible(const struct roof *r, const struct work *w, double us);

#endif
