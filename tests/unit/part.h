/* part.h: what part of many like cases a test takes.
 *
 *     for (int i = 0; i < n; i += PART)      all, and under the address sanitizer or for coverage
 *                                            one in PART
 *
 * The sanitizer looks for other mistakes than wrong results, which the plain run finds, and a line
 * counts as run only once; both take many times as long. */
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

#endif
