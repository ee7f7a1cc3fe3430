/* print_graph.c: a backend that prints every graph it is handed and leaves the computing to the
 * interpreter.
 *
 *     cc -shared -fPIC -I compiler -o print_graph.so examples/print_graph.c
 *     warpsmith run script.py --backend ./print_graph.so */
#include <stdio.h>

#include "ws_backend.h"

int ws_backend(const struct ws_backend_graph *g, struct ws_callable *out);

int ws_backend(const struct ws_backend_graph *g, struct ws_callable *out) {
    printf("%d inputs, %d outputs\n%s", g->n_inputs, g->n_outputs, g->readable);
    fflush(stdout);
    return 0; /* *out is the interpreter's */
}
