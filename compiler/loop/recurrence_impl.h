/* recurrence_impl.h: what recurrence.c, again.c, distribute.c, fission.c, sink.c and
 * readout.c share. Private to loop/.
 */
#ifndef WS_LOOP_RECURRENCE_IMPL_H
#define WS_LOOP_RECURRENCE_IMPL_H

#include "loop/loop.h"

enum {
    MOST_READ = 20, /* tensors, by a step */
    DEEPEST = 8,    /* makers behind each other, for what is worth it only together */
};

/* sink.c: what steps read is made of what else is there. */
struct sinking {
    struct loops *l;
    uint32_t loop;
    bool *sunk;       /* by buffer: made where it is read */
    uint32_t *writer; /* by buffer: the nest; NONE */
    bool *others;     /* by buffer: see find_others */
    bool *counted;    /* by buffer: its bytes are, in the sum that is being made */
    int n_counted;    /* of these, tensors that are read */
    ex step;          /* what stands for the place along a window's steps, while a nest is made */
    VEC(struct inst) made;    /* the nest's instructions */
    struct loop_window along; /* of the window whose elements are made */
};
#define NONE UINT32_MAX

/* Adds an instruction to `made`. */
inst_id sink_put(struct sinking *s, struct inst x);
uint32_t *loops_writers(const struct loops *l, uint32_t n_buffers);
void recurrence_sink(struct loops *l, uint32_t loop);

/* recurrence.c: all that passes change which only try. */
struct saved {
    struct nest *nests;
    struct buffer *buffers;
    int64_t *steps;
    const uint32_t *epoch;
    bool *recurs;
    ex *step;
    uint32_t n_nests, n_buffers, n_steps;
};
struct saved recurrence_save(const struct loops *l);
void recurrence_restore(struct loops *l, struct saved x);
/* Does the loop read more than it may? */
bool recurrence_reads_too_many(const struct loops *l, const struct recurrence *r);

/* distribute.c: what no step waits for leaves the loop, to go before it, or behind it, too. What
 * goes before it is read by nothing that stays; or, `gives`, is all that steps sum of what they
 * were given. False: there is nothing that could; the loop may be half changed then. */
bool recurrence_distribute(struct loops *l, uint32_t loop, bool behind, bool gives);
/* Memory of all steps of what a nest's steps have as b: `copy`, one more of the loop, leaves it
 * there. */
buffer_id recurrence_keep(struct loops *l, const struct nest *like, buffer_id b, struct nest *copy);

/* fission.c: the loop as two, `loop` and the one behind it; false: it is none that could be. */
bool recurrence_split(struct loops *l, uint32_t loop);
/* Loops behind this one get the next number: there is room for one in between. */
void loops_make_room(struct loops *l, uint32_t loop);
/* A nest with axes of its own. */
struct nest nest_renewed(const struct loops *l, const struct nest *of);

/* readout.c: memory of so many steps of an element each of which has these axes, the last `turns`
 * of them if that is not 0; and the step's window. */
buffer_id recurrence_memory(struct loops *l, enum dtype t, const ex *axes, int n, int64_t steps,
                            bool turns, buffer_id *window);
/* Sums behind the loop of what its steps left, and of that alone, are taken in it. */
void recurrence_readouts(struct loops *l, uint32_t loop);
/* The same of nest k alone: false, and all is as it was, if it may not be. */
bool recurrence_readout(struct loops *l, uint32_t loop, uint32_t k);
/* Is nest k a sum of what the loop's steps left in this memory, among others? */
bool recurrence_sums(struct loops *l, uint32_t loop, uint32_t k, buffer_id memory);

/* again.c: the loop once more, behind it, for such sums, where that moves less than the states of
 * all steps; a step of it takes as long as so many bytes. */
bool recurrence_again(struct loops *l, uint32_t loop, double step_bytes);

#endif
