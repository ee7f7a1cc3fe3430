/* compile_pool.h: sources compiled on all cores while the main thread does something else.
 *
 * Jobs are taken in the order they were added, but for those that are added first. Only
 * toolchain_compile runs on the pool's threads: arenas and the store stay with the thread that owns
 * them. */
#ifndef TUNER_COMPILE_POOL_H
#define TUNER_COMPILE_POOL_H

#include "ws_tune.h"

struct compile_pool;
struct compile_job;

/* NULL if no thread can be started. */
struct compile_pool *compile_pool_start(struct toolchain *t, int threads);

/* name and source must live until the pool stops. */
struct compile_job *compile_pool_add(struct compile_pool *p, const char *name, const char *source,
                                     bool want_ptx);
/* Before all that nobody has begun, but behind what was to be first before: somebody waits for
 * it. */
struct compile_job *compile_pool_add_first(struct compile_pool *p, const char *name,
                                           const char *source);

/* Block until the job is done. The result is the caller's, to be freed with compiled_free; ask
 * once. */
struct compiled compile_pool_wait(struct compile_pool *p, struct compile_job *j);

/* Drop what was not begun, wait for what was, free everything. p may be NULL. */
void compile_pool_stop(struct compile_pool *p);

#endif
