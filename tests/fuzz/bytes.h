/* bytes.h: what reads bytes from outside, fed with bytes.
 *
 * A target gets any input at all, must not crash, and aborts if what it checks does not hold:
 * readers accept or say why not; what was accepted prints and reads back as the same. libFuzzer
 * drives one target per program (bytes_fuzz.c), the tests drive all over a small corpus
 * (test_bytes.c).
 *
 *   BYTES(name, what it reads) */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define BYTES_TARGETS(BYTES)                                                                       \
    BYTES(python, "a workload file: front end and capture")                                        \
    BYTES(graph, "a graph's text")                                                                 \
    BYTES(config, "a config's text")                                                               \
    BYTES(expr, "an index expression")                                                             \
    BYTES(csv, "a table of results")                                                               \
    BYTES(checkpoint, "patches to a file of torch.save")                                           \
    BYTES(store, "patches to a file of the store")

#define BYTES(name, what) void bytes_##name(const uint8_t *data, size_t n);
BYTES_TARGETS(BYTES)
#undef BYTES

/* The path of a file with these bytes, in a folder of this process; the same path every time. The
 * folder goes when the process ends. */
const char *bytes_file(const char *name, const void *data, size_t n);

#define BYTES_CHECK(cond, ...)                                                                     \
    do {                                                                                           \
        if (!(cond)) bytes_abort(__FILE__, __LINE__, __VA_ARGS__);                                 \
    } while (0)
void bytes_abort(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

#endif
