/* large.c: malloc with huge pages. */
#include "base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/memory.h"

enum { SMALL = 256, HUGE = 2 << 20 }; /* bytes of alignment; a huge page */

/* From here on it is asked first what is left. */
static const size_t MUCH = (size_t)64 << 20;

void *large_alloc(size_t n) {
    size_t unit = n < 2 * (size_t)HUGE ? SMALL : HUGE;
    if (n > PTRDIFF_MAX / 2) return NULL; /* more than any address space has */
    if (n >= MUCH && n > memory_available()) return NULL;
    void *p = aligned_alloc(unit, n ? (n + unit - 1) / unit * unit : unit);
#ifdef MADV_HUGEPAGE
    if (p && unit == HUGE) madvise(p, n, MADV_HUGEPAGE); /* a wish: refusing it changes no result */
#endif
    return p;
}
