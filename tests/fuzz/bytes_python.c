/* bytes_python.c: a workload file: compiled, disassembled, executed symbolically; a state dict,
 * loaded by a script. */
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/script.h"
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

/* ---- a state dict ---------------------------------------------------------------------------- */

static const char load[] =
    "import sys, torch\n"
    "def look(x):\n"
    "    if isinstance(x, torch.Tensor):\n"
    "        return x.to(torch.float64).sum().item() if x.numel() < 10000 else x.shape\n"
    "    if isinstance(x, dict):\n"
    "        return [look(key) or look(value) for key, value in x.items()]\n"
    "    return [look(item) for item in x] if isinstance(x, (list, tuple)) else repr(x)\n"
    "try:\n"
    "    look(torch.load(sys.argv[1]))\n"
    "except (RuntimeError, FileNotFoundError, OSError, AttributeError) as e:\n"
    "    assert str(e)\n";

static void say_nothing(void *ctx, const char *text) {}

/* A whole file of PyTorch's with other bytes: two of place, one of value, each. */
void bytes_checkpoint(const uint8_t *data, size_t n) {
    static char whole[1 << 16], copy[sizeof whole];
    static size_t size;
    FILE *f = size ? NULL : fopen("tests/scripts/checkpoint.pt", "rb");
    if (f) size = fread(whole, 1, sizeof whole, f);
    if (f) fclose(f);
    BYTES_CHECK(size > 0 && size < sizeof whole, "tests/scripts/checkpoint.pt cannot be read");
    memcpy(copy, whole, size);
    for (size_t i = 0; i + 3 <= n; i += 3)
        copy[((size_t)data[i] << 8 | data[i + 1]) % size] = (char)data[i + 2];
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct script_counts counts;
    const char *argv[] = {arena_strdup(a, bytes_file("fuzz.pt", copy, size)), NULL};
    struct script_options o = {
        .path = bytes_file("load.py", load, sizeof load - 1), .argv = argv, .print = say_nothing};
    enum ws_status s = script_run(a, &o, &counts, &d);
    BYTES_CHECK(s == d.status, "a status of its own");
    BYTES_CHECK(s == WS_OK || d.text, "an error without a message");
    arena_free(a);
}
