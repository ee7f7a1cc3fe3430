/* winners.h: the store's word on a kernel: the key that its times depend on, and its winner. */
#ifndef TUNER_WINNERS_H
#define TUNER_WINNERS_H

#include "tuner/machine.h"
#include "tuner/store.h"
#include "tuner/variant.h"

/* What people read as the type of such a graph: "bf16", "f32 tf32". */
const char *winner_type(const struct ws_captured *c, struct arena *a);

/* What all keys on this machine share; graph and kernel are "". */
struct store_key winner_machine_key(const struct machine *m, struct arena *a);
/* kernel -1: the whole program. */
struct store_key winner_key(const struct machine *m, const struct ws_captured *c,
                            const struct ws_program *p, int kernel, struct arena *a);

/* What the store keeps of the graph, for people and store_nearest. */
struct store_graph winner_graph(const struct ws_captured *c, const struct ws_program *p,
                                struct arena *a);

struct winner {
    const struct config *config; /* NULL: a miss */
    struct ws_source source;     /* under it */
    const char *why;             /* of a miss */
    bool stale; /* a miss whose evidence is of another text: worth trying first, and no more */
    struct store_winner evidence; /* of a hit, and of what is stale */
};

/* A stored config that the kernel's rules refuse is a miss, and one under which the kernel's text
 * is not the one that was timed is stale. */
enum ws_status winner_look_up(struct store *s, const struct store_key *key,
                              const struct ws_program *p, int kernel, struct winner *out,
                              struct arena *a, struct diag *d);

/* Of n, nearest first: the first that is of this kernel at other sizes, and whose config, *out, the
 * kernel may have at these. Never measured here. NULL: none. */
const struct store_near *winner_nearest(const struct store_near *near, int n,
                                        const struct ws_program *p, int kernel, struct config *out,
                                        struct arena *a);
/* What it was tuned for, as rows say it: "dim == 256", those of its sizes that are others than
 * these axes'. */
const char *winner_near_guard(const struct store_near *near, const char *axes, struct arena *a);

/* Of a program by rule: has bench found that ws_another is faster? found: it has tried both. */
enum ws_status winner_another(struct store *s, const struct machine *m, const struct ws_program *p,
                              bool *faster, bool *found, struct arena *a, struct diag *d);
enum ws_status winner_keep_another(struct store *s, const struct machine *m,
                                   const struct ws_program *p, bool faster, struct arena *a,
                                   struct diag *d);

#endif
