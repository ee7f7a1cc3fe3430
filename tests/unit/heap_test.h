/* heap_test.h: bytes that malloc has given and were not freed, to the last one: what it keeps at
 * hand for the next call, of each thread and size, counts as given, so nothing is kept at hand.
 *
 *   int main(int argc, char **argv) { heap_exact(argv); ... }
 *
 * Under the address sanitizer the heap is not malloc's: nothing is seen here, and leaks are looked
 * for at exit. */
#ifndef HEAP_TEST_H
#define HEAP_TEST_H

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

static inline void heap_exact(char **argv) {
    static const char tunables[] = "glibc.malloc.tcache_count=0";
    const char *set = getenv("GLIBC_TUNABLES");
    if (!set || strcmp(set, tunables) != 0) {
        setenv("GLIBC_TUNABLES", tunables, 1);
        execv("/proc/self/exe", argv);
    }
    mallopt(M_MXFAST, 0);
    mallopt(M_ARENA_MAX, 1); /* of all threads: other heaps than the main one are not counted */
}

static inline size_t heap_in_use(void) { return mallinfo2().uordblks; }

#endif
