/* bytes_python.c: a workload file: compiled, disassembled, executed symbolically. */
#include <string.h>

#include "capture/capture.h"
#include "frontend/frontend.h"
#include "tests/fuzz/bytes.h"

static void check_frontend(const uint8_t *data, size_t n) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct source s = {"fuzz.py", arena_strndup(a, (const char *)data, n), n};
    const struct code *c = frontend_compile(a, &s, &d);
    BYTES_CHECK(!c == (d.status != WS_OK) && !c == (d.text != NULL), "code or a message");
    if (c) {
        struct buf b = buf_new(a);
        code_print(&b, c);
    }
    arena_free(a);
}

void bytes_python(const uint8_t *data, size_t n) {
    check_frontend(data, n);
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct capture_options o = {.path = bytes_file("fuzz.py", data, n), .seed = 1};
    struct captured *c = capture(a, &o, NULL, &d);
    BYTES_CHECK(!c == (d.status != WS_OK) && !c == (d.text != NULL), "a graph or a message");
    if (c) {
        const char *wrong = graph_verify(c->graph, false);
        BYTES_CHECK(!wrong, "%s", wrong);
    }
    arena_free(a);
}
