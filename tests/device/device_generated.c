/* device_generated: the cases that `make test` runs on the emulator, on a device.
 *
 *     device_generated DEVICE [--every N] [--graphs N [--first K]] [--list FILE]
 *                      [FILTER]
 *
 *     --every 4   a quarter of the configs that each graph asks for
 *     --graphs 8  one graph in eight, from the K-th on (0): eight processes with K = 0 to 7 run all
 *     --list      write a line for each distinct case
 *     FILTER      only graphs whose text contains it
 *
 * The last line is "N passed, N failed". Exit status: 0 all passed, 1 some failed, 2 a wrong call,
 * 3 no such device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/cases.h"

static int run(struct cases *c, struct device *dev, struct toolchain *t) {
    bool ok = cases_on_device(c, dev, t);
    printf("%d cases on %s, %u of them distinct\n", c->run, device_facts(dev)->name, c->seen->n);
    if (!ok) c->failed++;
    printf("%d passed, %d failed\n", c->run > c->failed ? c->run - c->failed : 0, c->failed);
    return c->failed ? 1 : 0;
}

int main(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev = NULL;
    struct toolchain *t = NULL;
    struct map seen = map_new(a);
    case_vec graphs = {0};
    struct cases c = {.graphs = &graphs, .every = 1, .log = stdout, .seen = &seen};
    const char *list = NULL;
    if (argc < 2)
        return fputs("usage: device_generated DEVICE [--every N] [--graphs N [--first K]] "
                     "[--list FILE] [FILTER]\n",
                     stderr),
               2;
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--every") && i + 1 < argc)
            c.every = atoi(argv[++i]) > 0 ? atoi(argv[i]) : 1;
        else if (!strcmp(argv[i], "--graphs") && i + 1 < argc)
            c.graph_step = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--first") && i + 1 < argc)
            c.graph_first = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--list") && i + 1 < argc)
            list = argv[++i];
        else
            c.filter = argv[i];
    }
    cases_shapes(a, &graphs);
    cases_move(a, &graphs);
    cases_edges(a, &graphs);
    cases_products(a, &graphs);
    cases_loops(a, &graphs);
    cases_recurrences(a, &graphs);
    cases_chained(a, 1, &graphs);
    cases_random_products(a, 7, 60, &graphs);
    cases_random_chained(a, 7, 40, &graphs);
    int status = 3;
    if (device_open_untimed(argv[1], &env, a, &d, &dev) == WS_OK &&
        toolchain_open(device_limits(dev)->kind, device_limits(dev)->arch, &env, a, &d, &t) ==
            WS_OK)
        status = run(&c, dev, t);
    else
        fputs(d.text, stderr);
    if (list && !cases_write_list(&seen, list)) perror(list), status = 2;
    if (t) toolchain_close(t);
    if (dev) device_close(dev);
    arena_free(a);
    return status;
}
