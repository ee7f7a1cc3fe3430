/* run_python.c: the body of a Python file as the capture's VM runs it, with what it prints on
 * standard output. For python_diff.py.
 *
 *   run_python FILE.py
 *
 * Exit status: 0 the body ran to its end; 1 an exception left it, or something is not supported,
 * with the message on standard error. */
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"

static void print(void *ctx, const char *text) { fputs(text, ctx); }

int main(int argc, char **argv) {
    if (argc != 2) return fputs("usage: run_python FILE.py\n", stderr), 2;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct capture_options o = {.path = argv[1], .seed = 1, .print = print, .print_ctx = stdout};
    /* A file with no model ends in this refusal, once its body has run. */
    bool ran = capture(a, &o, NULL, &d) || strstr(d.text, "nothing to compile");
    if (!ran) fputs(d.text, stderr);
    arena_free(a);
    return ran ? 0 : 1;
}
