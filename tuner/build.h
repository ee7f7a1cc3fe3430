/* build.h: from configs to binaries, through the store or the compile pool. */
#ifndef TUNER_BUILD_H
#define TUNER_BUILD_H

#include "tuner/store.h"
#include "tuner/variant.h"

struct builder {
    struct machine *machine;
    struct store *store; /* NULL: binaries are neither looked up nor kept */
    struct arena *arena;
    struct compile_pool *pool;
    const char *options; /* what decides the bytes beside source and toolchain */
    struct map begun;    /* binary key -> the variant that compiles it */

    int n_compiled, n_stored; /* binaries made, and found */
    double compile_ms;        /* of all threads together */
    double waited_ms;         /* of the main thread */
};

enum ws_status builder_open(struct builder *b, struct machine *m, struct store *s, struct arena *a,
                            struct diag *d);
void builder_close(struct builder *b);

/* Emit the source and, unless its binary is stored, start compiling. A config that cannot be
 * emitted is refused. */
enum ws_status builder_begin(struct builder *b, struct variant *v, struct diag *d);
/* Wait for the binary and keep it in the store. What does not compile is refused. */
enum ws_status builder_finish(struct builder *b, struct variant *v, struct diag *d);

#endif
