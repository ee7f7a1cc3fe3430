/* profile_judge.c: what bounds a kernel, from counters by general rules.
 *
 *   DRAM 91 % of the copy bandwidth                                  -> memory
 *   DRAM 45 %, special-function pipe 92 %                            -> pipe xu: cheaper functions
 *   not counted, operations at 72 % of the peak arithmetic           -> compute
 *   DRAM 45 %, nothing busy, 61 % of the stalls wait for memory      -> latency: bytes in flight
 *
 * The first rule that holds: too little work for a launch; a memory at its limit; the busiest of
 * memory, pipes, issue slots and L2, if one is busy; else latency, named by what warps wait for. A
 * unit counts as busy at some three quarters of what it can do at most: queues hardly let one do
 * more. A memory that is busy, yet not at its limit, may be so for another reason besides. */
#include "tuner/profile.h"

#include <math.h>
#include <string.h>

#define MEMORY_BUSY 75.0 /* % of the measured copy bandwidth */
#define MEMORY_FULL 90.0 /* from here on only fewer bytes help */
#define UNIT_BUSY 70.0   /* % of a peak on paper */
#define L2_BUSY 80.0     /* a copy at full speed, which DRAM bounds, takes it to 84 */
#define GPU_LAUNCH_US 2.0
#define CPU_LAUNCH_US 5.0
#define LAUNCH_SLACK 3.0     /* a kernel of so many launches' time may still be one */
#define AGAIN 1.15           /* bytes over the least that are no accident of alignment */
#define LOCAL_MATTERS 0.01   /* of the least bytes */
#define SPILLS_EXPLAIN 0.5   /* of the bytes over the least */
#define FEW_WARPS 0.5        /* occupancy below which more warps may hide latency */
#define WRITES_MATTER 0.25   /* of the least bytes */
#define CONFLICTS_MATTER 0.1 /* of the cycles of all multiprocessors */
#define FITS_MORE 1.25       /* more warps would fit than are there: it is not their size */
#define ABOUT_AS_LARGE 0.6   /* of the main stall */

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
static const struct {
    const char *what, *rows, *product;
} advices[] = {
#define A(name, what, rows, product) {what, rows, product},
    PROFILE_ADVICE(A)
#undef A
};

const char *profile_bound_name(enum profile_bound b) { return bound_names[b]; }
const char *profile_bound_text(enum profile_bound b) { return bound_texts[b]; }
const char *profile_advice_what(enum profile_advice a) { return advices[a].what; }
const char *profile_advice_how(enum profile_advice a, bool product) {
    return product ? advices[a].product : advices[a].rows;
}

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

/* How busy each is, and whether that is much; the order breaks ties. */
static enum profile_bound busiest_unit(const struct profile_facts *f,
                                       const struct profile_verdict *v) {
    const struct counters *c = &f->counters;
    const struct {
        double pct, busy;
        enum profile_bound bound;
    } units[] = {{known(v->dram_pct), MEMORY_BUSY, BOUND_memory},
                 {v->pipe < 0 ? 0 : c->pipe_pct[v->pipe], UNIT_BUSY, BOUND_pipe},
                 {known(c->issue_pct), UNIT_BUSY, BOUND_issue},
                 {known(c->l2_busy_pct), L2_BUSY, BOUND_l2}};
    int best = -1;
    for (int i = 0; i < (int)(sizeof units / sizeof *units); i++)
        if (units[i].pct >= units[i].busy && (best < 0 || units[i].pct > units[best].pct)) best = i;
    return best < 0 ? BOUND_latency : units[best].bound;
}

static enum profile_bound find_bound(const struct profile_facts *f,
                                     const struct profile_verdict *v) {
    if (!(f->us > 0)) return BOUND_unknown;
    if (is_launch(f)) return BOUND_launch;
    if (v->dram_pct >= MEMORY_FULL) return BOUND_memory;
    if (f->counted) return busiest_unit(f, v);
    if (v->dram_pct >= MEMORY_BUSY) return BOUND_memory;
    return v->peak_pct >= UNIT_BUSY ? BOUND_compute : BOUND_unknown;
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
    advise(v, ADVICE_fewer_instructions);
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

/* A product of numbers that they take, without them. */
static bool wants_matrix_units(const struct profile_facts *f) {
    return f->work.matrix && f->roof->limits->matrix_tflops > 0 && f->counted &&
           f->counters.pipe_pct[PIPE_tensor] < 1;
}

static bool leaves_units_idle(const struct profile_facts *f) {
    return f->roof->limits->kind == DEVICE_CUDA && f->blocks < f->roof->limits->units;
}

static void advise_latency(struct profile_verdict *v, const struct profile_facts *f) {
    double occupancy = f->counters.occupancy;
    advise_stall(v, v->stall);
    if (v->next_stall >= 0) advise_stall(v, v->next_stall);
    if (leaves_units_idle(f) || (occupancy < FEW_WARPS && f->fits > FITS_MORE * occupancy))
        advise(v, ADVICE_more_blocks);
    else if (occupancy < FEW_WARPS)
        advise(v, ADVICE_more_warps);
}

/* What else holds a memory back that is busy, but not at its limit. */
static void advise_nearly(struct profile_verdict *v, const struct profile_facts *f) {
    if (!f->counted) return;
    if (f->counters.issue_pct >= UNIT_BUSY)
        advise(v, ADVICE_fewer_instructions);
    else if (v->pipe >= 0 && f->counters.pipe_pct[v->pipe] >= UNIT_BUSY)
        advise_pipe(v, f, v->pipe);
    else
        advise_latency(v, f);
}

static bool spills(const struct profile_facts *f) {
    if (f->counted && !isnan(f->counters.local_bytes))
        return f->counters.local_bytes > LOCAL_MATTERS * f->work.bytes;
    return f->spill_bytes > 0;
}

/* Spills that fall out of the L1 and the L2 are bytes of DRAM, too. */
static bool spills_explain(const struct profile_verdict *v, const struct profile_facts *f) {
    double over = v->dram_bytes - f->work.bytes;
    return spills(f) && !(f->counters.local_bytes < SPILLS_EXPLAIN * over);
}

static void advise_bytes(struct profile_verdict *v, const struct profile_facts *f) {
    if (!(v->ratio > AGAIN) || spills_explain(v, f)) return;
    bool keeps = f->config && f->config->knob[KNOB_keep] == 1;
    bool rows = !strcmp(f->kind, "reduce") || !strcmp(f->kind, "scan");
    advise(v, rows && !keeps ? ADVICE_read_once : ADVICE_whole_sectors);
}

/* Does it store much that its loads could make leave the L2? */
static bool stores_stay(const struct profile_facts *f) {
    return f->roof->limits->kind == DEVICE_CUDA && strcmp(f->kind, "matmul") != 0 && f->config &&
           !f->config->knob[KNOB_stay_l2] && f->work.write_bytes > WRITES_MATTER * f->work.bytes;
}

static bool conflicts(const struct profile_facts *f) {
    const struct counters *c = &f->counters;
    return f->counted && c->bank_conflicts > CONFLICTS_MATTER * c->cycles * f->roof->limits->units;
}

static void find_advice(struct profile_verdict *v, const struct profile_facts *f) {
    switch (v->bound) {
    case BOUND_memory:
        if (!(v->ratio > AGAIN)) advise(v, ADVICE_fewer_bytes);
        if (stores_stay(f)) advise(v, ADVICE_stores_first);
        if (v->dram_pct < MEMORY_FULL) advise_nearly(v, f);
        break;
    case BOUND_l2: advise(v, ADVICE_wider_loads); break;
    case BOUND_compute: advise(v, ADVICE_fewer_instructions); break;
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
    if (wants_matrix_units(f)) advise(v, ADVICE_matrix_units);
    if (spills(f)) advise(v, ADVICE_fewer_registers);
    if (conflicts(f)) advise(v, ADVICE_no_conflicts);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static int next_stall(const struct counters *c, int top) {
    struct counters others = *c;
    if (top < 0) return -1;
    others.stall_pct[top] = 0;
    int next = counters_top_stall(&others);
    return next >= 0 && c->stall_pct[next] >= ABOUT_AS_LARGE * c->stall_pct[top] ? next : -1;
}

/* What is written last is still in the L2 when the kernel ends, and not counted; it displaces as
 * much, so the memory was as busy as if it had been. */
struct profile_verdict profile_judge(const struct profile_facts *f) {
    struct profile_verdict v = {.ratio = NAN, .pipe = -1, .stall = -1, .next_stall = -1};
    double counted = f->counters.dram_read_bytes + f->counters.dram_write_bytes;
    bool known_bytes = f->counted && !isnan(counted);
    v.dram_bytes = known_bytes ? counted : f->work.bytes;
    if (known_bytes) v.ratio = counted / f->work.bytes;
    v.busy_bytes = fmax(v.dram_bytes, f->work.bytes);
    v.gbps = v.busy_bytes / f->us / 1e3;
    v.dram_pct = 100 * v.gbps / f->roof->copy_gbps;
    v.peak_pct = NAN;
    if (roof_bound_by_compute(f->roof, &f->work))
        v.peak_pct = 100 * roof_floor_us(f->roof, &f->work) / f->us;
    if (f->counted) {
        v.pipe = counters_busiest_pipe(&f->counters);
        v.stall = counters_top_stall(&f->counters);
        v.next_stall = next_stall(&f->counters, v.stall);
    }
    v.bound = find_bound(f, &v);
    find_advice(&v, f);
    return v;
}
