/* part.h: what part of many like cases a test takes.
 *
 *     for (int i = 0; i < n; i += PART)      all, and under the address sanitizer or for coverage
 *                                            one in PART
 *
 * The sanitizer looks for other mistakes than wrong results, which the plain run finds, and a line
 * counts as run only once; both take many times as long. So do orders in which threads take turns:
 *
 *     for (uint64_t seed = 0; seed < 4; seed += PART) */
#ifndef PART_H
#define PART_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(COVERAGE)
enum { PART = 4 };
#else
enum { PART = 1 };
#endif

/* make test-long has all; make test has a part of what only more of the same would show. */
static inline int is_long(void) { return getenv("TEST_LONG") != NULL; }

/* Before the environment is read: of hundreds of small kernels in C it is asked what they compute,
 * and make test does not have them optimised. */
static inline void quick_compiler(void) {
    char *path = is_long() ? NULL : realpath("scripts/quick-cc.sh", NULL);
    if (path) setenv("CC", path, 1);
    free(path);
}

#endif
