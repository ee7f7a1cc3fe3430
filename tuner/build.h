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

/* The text of no variant: a kernel of a reference. Its binary comes from the store, or is compiled
 * before whatever waits. The text lives as long as the builder. */
struct builder_text {
    const char *text, *key;
    struct store_binary stored; /* bytes are NULL: it was not */
    struct compile_job *job;
};
void builder_begin_text(struct builder *b, const char *text, struct builder_text *out);
/* Its binary is the caller's, to be freed with compiled_free; ask once. */
struct compiled builder_finish_text(struct builder *b, const struct builder_text *t);

#endif
