/* profile.h: why a kernel takes its time: what hardware counters and the facts of a kernel say.
 *
 *   profile_judge.c   facts -> what bounds it, what to try; for people and for searches
 *   profile_words.c   the same as text
 *   profile.c         counters and facts of a variant */
#ifndef TUNER_PROFILE_H
#define TUNER_PROFILE_H

#include "tuner/plan.h"
#include "tuner/roof.h"

/* ---- counting -------------------------------------------------------------------------------- */

/* Count the launches of a variant, caches flushed before, into v->counters. Where the device cannot
 * count: WS_MACHINE with the reason, v->counters_from is "counted", and the least bytes of its work
 * stand for those that it moves. */
enum ws_status profile_count(struct variant *v, const struct launches *l, struct device *dev,
                             struct diag *d);
/* Everything that judging wants, from a variant that was loaded. */
struct profile_facts profile_facts_of(const struct variant *v, const struct work *w,
                                      const struct roof *r);

/* ---- judging --------------------------------------------------------------------------------- */

/* What is known of one kernel under one config. Numbers are NAN where unknown. */
struct profile_facts {
    const char *kernel, *kind, *config_text;
    const struct config *config;
    const struct roof *roof;
    struct work work; /* the least it has to do */
    double us;        /* median */
    int n_launches;
    int64_t blocks;  /* of the largest launch */
    double fits;     /* occupancy that registers and shared memory allow */
    int spill_bytes; /* a thread */
    bool counted;    /* counters are the hardware's; else nothing is known of them */
    struct counters counters;
};

/* B(name, what is said of it) */
#define PROFILE_BOUNDS(B)                                                                          \
    B(memory, "bound by DRAM")                                                                     \
    B(l2, "bound by the L2")                                                                       \
    B(compute, "bound by arithmetic")                                                              \
    B(pipe, "bound by one pipe")                                                                   \
    B(issue, "bound by issuing instructions")                                                      \
    B(latency, "bound by latency")                                                                 \
    B(launch, "bound by its launch")                                                               \
    B(unknown, "not explained")

enum profile_bound {
#define B(name, text) BOUND_##name,
    PROFILE_BOUNDS(B)
#undef B
};

/* A(name, what to try, by which knobs of rows, by which knobs of a product); in the order in which
 * they are said. */
#define PROFILE_ADVICE(A)                                                                          \
    A(fewer_bytes, "fewer bytes", "fusing it with a neighbour, a narrower dtype",                  \
      "fusing it with a neighbour, a narrower dtype")                                              \
    A(stores_first, "stores that reach memory while it is read", "stay_l2=1", "")                  \
    A(read_once, "reading every row once", "keep=1; cluster= or online=1 for long rows", "")       \
    A(whole_sectors, "reading whole sectors, and only once",                                       \
      "larger r= or vec=; smaller x=, so that what is read again is still in the L2",              \
      "larger m= and n=")                                                                          \
    A(fewer_registers, "fewer registers a thread", "smaller x=, r=, rows= or vec=; keep=0",        \
      "smaller tm= or tn=")                                                                        \
    A(bytes_in_flight, "more bytes in flight",                                                     \
      "larger vec=, rows= or x=; more warps=", "larger k=; more warps=")                           \
    A(more_warps, "more resident warps, by fewer registers or less shared memory",                 \
      "smaller r=, vec= or rows=", "smaller tm= or tn=; smaller m=, n= or k=")                     \
    A(more_blocks, "more blocks",                                                                  \
      "smaller x=, larger split=; more warps=", "smaller m= or n=; more warps=")                   \
    A(fewer_barriers, "fewer warps that wait for each other",                                      \
      "smaller warps=, larger vec= or x=", "larger k=")                                            \
    A(fewer_fences, "fewer blocks that wait for each other",                                       \
      "smaller split= or cluster=", "smaller split= or cluster=")                                  \
    A(wider_loads, "wider loads and stores", "larger vec=", "n= and k= of whole vectors")          \
    A(less_shared, "less traffic through shared memory",                                           \
      "larger vec=, smaller warps=: more work a thread between exchanges", "larger tm= and tn=")   \
    A(no_conflicts, "a layout of shared memory without bank conflicts",                            \
      "other r= or vec=", "other k= or tn=")                                                       \
    A(cheaper_functions, "cheaper functions",                                                      \
      "fewer exp, log, divisions and conversions an element",                                      \
      "fewer exp, log, divisions and conversions an element")                                      \
    A(fewer_instructions, "fewer instructions an element",                                         \
      "larger vec= and rows=; keep=1 in place of a second pass", "larger tm= and tn=")             \
    A(matrix_units, "the matrix units", "", "which this product leaves idle")                      \
    A(single_precision, "single precision", "this chip has few units for double",                  \
      "this chip has few units for double")                                                        \
    A(smaller_code, "shorter code", "smaller r=, x= or rows=, which are unrolled",                 \
      "smaller tm=, tn= or k=, which are unrolled")                                                \
    A(fewer_launches, "more work a launch", "fusing it, larger batches; split=1 or last_block=1",  \
      "fusing it, larger batches")

enum profile_advice {
#define A(name, what, rows, product) ADVICE_##name,
    PROFILE_ADVICE(A)
#undef A
        N_ADVICE
};
_Static_assert(N_ADVICE <= 32, "a bit of profile_verdict.advice for each");

struct profile_verdict {
    enum profile_bound bound;
    unsigned advice;   /* bits 1u << ADVICE_... */
    double dram_bytes; /* counted by the hardware, else the least */
    double ratio;      /* of them to the least; NAN if not counted */
    double busy_bytes; /* that DRAM was busy with: no fewer than the least */
    double gbps;       /* busy_bytes / us */
    double dram_pct;   /* of the measured copy bandwidth */
    double peak_pct;   /* of the peak arithmetic; NAN if its work is bound by bytes */
    int pipe, stall;   /* busiest, main; -1: unknown */
    int next_stall;    /* another that is about as large as the main one; -1: none */
};

struct profile_verdict profile_judge(const struct profile_facts *f);

const char *profile_bound_name(enum profile_bound b);
const char *profile_bound_text(enum profile_bound b);
const char *profile_advice_what(enum profile_advice a);
const char *profile_advice_how(enum profile_advice a, bool product); /* "": no knob does it */

/* ---- words ----------------------------------------------------------------------------------- */

/* A paragraph: what bounds the kernel, by which numbers, and what to try. */
void profile_words(struct buf *b, const struct profile_facts *f);
/* One line for each of n configs of a kernel, by name ("default", "tuned"), under a head. */
void profile_table(struct buf *b, const char *const *names, const struct profile_facts *f, int n);

#endif
