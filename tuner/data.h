/* data.h: the tensors of a captured workload: inputs and outputs on the device, and what the
 * outputs should be.
 *
 *   data_begin_inputs, data_begin_reference
 *                         kernels that make them are begun to be compiled
 *   data_make_inputs      random values on the device
 *   data_make_reference   what the outputs should be, in double precision, there too
 *   data_restore          all of it again, after the device was reset
 *   data_close
 *
 * Large ones are made by kernels, and never leave the device (reference.h); small ones by the
 * interpreter, on the host, and uploaded. */
#ifndef TUNER_DATA_H
#define TUNER_DATA_H

#include "tuner/build.h"
#include "tuner/check.h"
#include "tuner/machine.h"

/* How it is known what outputs should be. */
enum reference_made {
    REFERENCE_NONE,
    REFERENCE_EVAL,    /* by the interpreter */
    REFERENCE_DEVICE,  /* by plain kernels in double precision */
    REFERENCE_SLICED,  /* by them, some rows at a time, for want of memory */
    REFERENCE_SAMPLED, /* some elements by the interpreter, for want of memory even so */
    REFERENCE_TRUSTED, /* left by a program that was right before */
};
const char *reference_name(enum reference_made m); /* "eval", "device_f64", "sliced", ... */

struct data {
    struct machine *machine;
    const struct ws_captured *captured;
    struct arena *arena;
    enum reference_made reference;
    double reference_ms; /* wall time of making and judging it */
    int64_t judged;      /* elements that the interpreter made: of what plain kernels made, too, or
                            of what is sampled */
    void **host_inputs;  /* malloc'ed, in storage order; NULL: on the device alone */
    void **host_want;    /* the same, as dtype_reference says */
    float **host_bound;  /* how far from it an element may be; NULL: not at all, or on the device */
    dptr *inputs;
    dptr *memory;                        /* of each output, its own, or 0 while nobody needs it */
    dptr *outputs;                       /* where the program that ran last has left them */
    bool *kept;                          /* of each input: is it put back before every run? */
    void **before;                       /* malloc'ed: what data_put_back puts there; NULL */
    struct expected *expected;           /* of the outputs; want is 0 until it is known */
    double *share;                       /* of outputs that are trusted: see expected_take */
    struct reference_binaries *binaries; /* of kernels that make inputs and references */
    struct builder *builder;             /* of them; NULL: each is compiled when it is run */
    struct map *texts; /* that it has begun -> struct builder_text; both are the lender's */
    bool has_inputs;
    struct mismatch *worst; /* of the outputs compared last, the element furthest off */
    bool *by_kernels; /* of each output: has every kernel behind it been judged alone (alone.h)? */
    struct alone_ahead *ahead; /* what alone_begin has made; NULL: nothing */
    const struct data *lender; /* whose inputs come first, of what is lent; NULL: all are its own */
};

/* Of what the program captured; outputs that are one tensor share their memory. */
void data_open(struct data *x, struct machine *m, const struct ws_program *p, struct arena *a);
/* Go on with another program of the same workload, none of whose kernels has been judged: inputs
 * and references stay. Texts are that builder's from then on. */
void data_go_on(struct data *x, struct builder *b);
/* Of kernels side by side: inputs[i] is the memory of others, and is full; the first are those of
 * the lender. The reference is all that is made of it, and may stay unknown for want of memory. */
void data_open_lent(struct data *x, const struct data *lender, const struct ws_captured *kernels,
                    const dptr *inputs, struct arena *a);
/* Texts of kernels are the builder's from then on. Inputs that no kernels make are made at once:
 * the interpreter wants the cores that compilers take. */
enum ws_status data_begin_inputs(struct data *x, struct builder *b, struct diag *d);
void data_begin_reference(struct data *x);
/* The same of kernels that are lent its inputs later. */
void data_begin_reference_of(struct data *x, const struct ws_captured *kernels);
/* Unless they were. */
enum ws_status data_make_inputs(struct data *x, struct diag *d);
/* host_inputs are there. */
enum ws_status data_fetch_inputs(struct data *x, struct diag *d);
enum ws_status data_make_reference(struct data *x, struct diag *d);
enum ws_status data_restore(struct data *x, struct diag *d);
/* Where a program writes output i, the first of those that are one tensor: memory of its own, or
 * that of an input, which from then on holds its value again before every run. */
enum ws_status data_place_output(struct data *x, int i, dptr *at, struct diag *d);
enum ws_status data_place_update(struct data *x, int input, dptr *at, struct diag *d);
/* The same of an output that keeps some of the input's value, and is run again on what it has left.
 * data_put_back: what the input was at first. */
enum ws_status data_place_kept(struct data *x, int input, dptr *at, struct diag *d);
enum ws_status data_put_back(struct data *x, int input, struct diag *d);
/* Take what the outputs hold now as the reference. */
enum ws_status data_trust_outputs(struct data *x, struct diag *d);
/* Compare all outputs. WS_WRONG names the program and the worst element. */
enum ws_status data_check_outputs(struct data *x, const char *what, struct diag *d);
/* Of the outputs compared last, the element that was the furthest off, of its bound. */
struct data_worst {
    const char *where; /* "out0[3, 17]"; NULL: nothing was compared, or all may be anything */
    double error, bound;
    int64_t unbounded; /* elements that had no bound through the whole program, ... */
    int64_t unjudged;  /* ... behind which not all kernels have been judged alone, either */
};
struct data_worst data_worst(const struct data *x);
/* The same as a line; "" if all are equal. */
const char *data_remark(const struct data *x);
/* A line for each output of the last check with elements that may be anything, and one for those
 * that have no bound as a whole but are judged kernel by kernel; or "". */
const char *data_unjudged(const struct data *x);
void data_close(struct data *x);

#endif
