/* profile_judge.c: what bounds a kernel, from counters by general rules.
 *
 *   DRAM 91 % of the copy bandwidth                                  -> memory
 *   DRAM 45 %, special-function pipe 92 %                            -> pipe xu: cheaper functions
 *   DRAM 45 %, nothing busy, 61 % of the stalls wait for memory      -> latency: bytes in flight
 *
 * The first rule that holds: too little work for a launch; a busy memory; the busiest of pipes,
 * issue slots and L2, if one is busy; else latency, named by what warps wait for. A unit counts as
 * busy at some three quarters of what it can do at most: queues hardly let one do more. */
#include "tuner/profile.h"

#include <math.h>
#include <string.h>

#define MEMORY_BUSY 75.0 /* % of the measured copy bandwidth */
#define UNIT_BUSY 70.0   /* % of a peak on paper */
#define GPU_LAUNCH_US 2.0
#define CPU_LAUNCH_US 5.0
#define LAUNCH_SLACK 3.0     /* a kernel of so many launches' time may still be one */
#define AGAIN 1.15           /* bytes over the least that are no accident of alignment */
#define LOCAL_MATTERS 0.01   /* of the least bytes */
#define FEW_WARPS 0.5        /* occupancy below which more warps may hide latency */
#define CONFLICTS_MATTER 0.1 /* of the cycles of all multiprocessors */

static const char *const bound_names[] = {
#define B(name, text) #name,
    PROFILE_BOUNDS(B)
#undef B
};
static const char *const bound_texts[] = {
#define B(name, text) text,
    PROFILE_BOUNDS(B)
#undef B
};
static const char *const advice_texts[] = {
#define A(name, text) text,
    PROFILE_ADVICE(A)
#undef A
};

const char *profile_bound_name(enum profile_bound b) { return bound_names[b]; }
const char *profile_bound_text(enum profile_bound b) { return bound_texts[b]; }
const char *profile_advice_text(enum profile_advice a) { return advice_texts[a]; }

static void advise(struct profile_verdict *v, enum profile_advice a) { v->advice |= 1u << a; }

/* ---- what bounds it -------------------------------------------------------------------------- */

/* So little that starting and ending takes most of the time. */
static bool is_launch(const struct profile_facts *f) {
    double each = f->roof->limits->kind == DEVICE_CUDA ? GPU_LAUNCH_US : CPU_LAUNCH_US;
    double all = each * (f->n_launches > 0 ? f->n_launches : 1);
    double floor_us = roof_floor_us(f->roof, &f->work);
    return !(floor_us >= all) && f->us <= LAUNCH_SLACK * all;
}

/* Unknown units are not busy. */
static double known(double pct) { return isnan(pct) ? 0 : pct; }

static enum profile_bound busiest_unit(const struct counters *c, int pipe) {
    double by_pipe = pipe < 0 ? 0 : c->pipe_pct[pipe];
    double by_issue = known(c->issue_pct), by_l2 = known(c->l2_busy_pct);
    double most = fmax(by_pipe, fmax(by_issue, by_l2));
    if (most < UNIT_BUSY) return BOUND_latency;
    if (by_pipe == most) return BOUND_pipe;
    return by_issue == most ? BOUND_issue : BOUND_l2;
}

static enum profile_bound find_bound(const struct profile_facts *f,
                                     const struct profile_verdict *v) {
    if (!(f->us > 0)) return BOUND_unknown;
    if (is_launch(f)) return BOUND_launch;
    if (v->dram_pct >= MEMORY_BUSY) return BOUND_memory;
    return f->counted ? busiest_unit(&f->counters, v->pipe) : BOUND_unknown;
}

/* ---- what to try ----------------------------------------------------------------------------- */

static void advise_pipe(struct profile_verdict *v, const struct profile_facts *f, int pipe) {
    switch ((enum counter_pipe)pipe) {
    case PIPE_xu: advise(v, ADVICE_cheaper_functions); return;
    case PIPE_lsu: advise(v, ADVICE_wider_loads); return;
    case PIPE_fp64: advise(v, ADVICE_single_precision); return;
    case PIPE_tensor: return; /* where a product should be */
    case PIPE_alu:
    case PIPE_fma:
    case N_PIPES: break;
    }
    bool product = !strcmp(f->kind, "matmul") && f->roof->limits->matrix_tflops > 0;
    advise(v, product ? ADVICE_matrix_units : ADVICE_fewer_instructions);
}

static void advise_stall(struct profile_verdict *v, int stall) {
    switch ((enum counter_stall)stall) {
    case STALL_long_scoreboard: advise(v, ADVICE_bytes_in_flight); return;
    case STALL_lg_throttle: advise(v, ADVICE_wider_loads); return;
    case STALL_barrier: advise(v, ADVICE_fewer_barriers); return;
    case STALL_membar: advise(v, ADVICE_fewer_fences); return;
    case STALL_short_scoreboard:
    case STALL_mio_throttle: advise(v, ADVICE_less_shared); return;
    case STALL_no_instruction: advise(v, ADVICE_smaller_code); return;
    case STALL_drain: advise(v, ADVICE_wider_loads); return;
    case STALL_wait:
    case STALL_math_pipe_throttle:
    case STALL_branch_resolving:
    case STALL_not_selected: advise(v, ADVICE_fewer_instructions); return;
    case STALL_gmma:
    case N_STALLS: return;
    }
}

static bool leaves_units_idle(const struct profile_facts *f) {
    return f->roof->limits->kind == DEVICE_CUDA && f->blocks < f->roof->limits->units;
}

static void advise_latency(struct profile_verdict *v, const struct profile_facts *f) {
    double occupancy = f->counters.occupancy;
    advise_stall(v, v->stall);
    if (leaves_units_idle(f))
        advise(v, ADVICE_more_blocks);
    else if (occupancy < FEW_WARPS)
        advise(v, ADVICE_more_warps);
}

static void advise_bytes(struct profile_verdict *v, const struct profile_facts *f) {
    if (!(v->ratio > AGAIN)) return;
    bool keeps = f->config && f->config->knob[KNOB_keep] == 1;
    bool rows = !strcmp(f->kind, "reduce") || !strcmp(f->kind, "scan");
    advise(v, rows && !keeps ? ADVICE_read_once : ADVICE_whole_sectors);
}

static bool spills(const struct profile_facts *f) {
    if (f->counted && !isnan(f->counters.local_bytes))
        return f->counters.local_bytes > LOCAL_MATTERS * f->work.bytes;
    return f->spill_bytes > 0;
}

static bool conflicts(const struct profile_facts *f) {
    const struct counters *c = &f->counters;
    return f->counted && c->bank_conflicts > CONFLICTS_MATTER * c->cycles * f->roof->limits->units;
}

static void find_advice(struct profile_verdict *v, const struct profile_facts *f) {
    switch (v->bound) {
    case BOUND_memory:
        if (!(v->ratio > AGAIN)) advise(v, ADVICE_fewer_bytes);
        break;
    case BOUND_l2: advise(v, ADVICE_wider_loads); break;
    case BOUND_pipe: advise_pipe(v, f, v->pipe); break;
    case BOUND_issue:
        advise(v, ADVICE_fewer_instructions);
        if (f->counters.pipe_pct[PIPE_xu] > UNIT_BUSY / 2) advise(v, ADVICE_cheaper_functions);
        break;
    case BOUND_latency: advise_latency(v, f); break;
    case BOUND_launch: advise(v, ADVICE_fewer_launches); return;
    case BOUND_unknown: break;
    }
    advise_bytes(v, f);
    if (spills(f)) advise(v, ADVICE_fewer_registers);
    if (conflicts(f)) advise(v, ADVICE_no_conflicts);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* What is written last is still in the L2 when the kernel ends, and not counted; it displaces as
 * much, so the memory was as busy as if it had been. */
static double busy_bytes(double counted, double least) { return fmax(counted, least); }

struct profile_verdict profile_judge(const struct profile_facts *f) {
    struct profile_verdict v = {.ratio = NAN, .pipe = -1, .stall = -1};
    double counted = f->counters.dram_read_bytes + f->counters.dram_write_bytes;
    bool known_bytes = f->counted && !isnan(counted);
    v.dram_bytes = known_bytes ? counted : f->work.bytes;
    if (known_bytes) v.ratio = counted / f->work.bytes;
    v.gbps = v.dram_bytes / f->us / 1e3;
    v.dram_pct = 100 * busy_bytes(v.dram_bytes, f->work.bytes) / f->us / 1e3 / f->roof->copy_gbps;
    if (f->counted) {
        v.pipe = counters_busiest_pipe(&f->counters);
        v.stall = counters_top_stall(&f->counters);
    }
    v.bound = find_bound(f, &v);
    find_advice(&v, f);
    return v;
}
