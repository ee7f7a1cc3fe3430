/* cost_model.c: the cost model, asked about configs that were measured, for scripts/cost_model.py.
 *
 * Lines of words separated by tabs come in, and one line answers each:
 *
 *   precision NAME                    "ok": of products of f32 in workloads from here on
 *   plan NAME                         "ok": "fused" or "apart", of workloads from here on: in one
 *                                     kernel with what reduces it, or not, is each product
 *   workload FILE MODE DTYPE AXES     "ok" or why not; AXES is "dim=4096 rows=4096"
 *   kernel NAME                       "ok" or "none": of the workload; configs that follow are its
 *   guesses N                         the configs that a search tries first, best guess first, N at
 *                                     most, one behind the other
 *   config TEXT                       its number, from 0, or "-1 why it is illegal"
 *   memory GBPS                       "ok": what the device's memory can, from here on
 *   costs                             what the model says of every config so far, in microseconds
 *   numbers                           the model's numbers
 *   number I VALUE                    "ok": number I is VALUE from here on
 *
 * The model's numbers are the floating-point literals of compiler/kernel/cost.c, cost_gpu.c,
 * cost_scatter.c, cost_products.c and cost_chained.c: open_numbers.py makes a copy in which they
 * can be changed, which takes the place of these. */
#define _GNU_SOURCE /* getline, strsep */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tests/cost/numbers.h"
#include "ws_tune.h"

struct known {
    const struct kernel *kernel;
    struct layout layout;
};

struct asked {
    struct arena *arena;
    VEC(struct arena *) workloads; /* one each: what a capture may take is bounded by its arena */
    struct device_limits limits;
    struct ws_program *program; /* NULL: no workload yet */
    const struct kernel *kernel;
    enum precision precision;
    enum ws_fusion plan;
    VEC(struct known) configs;
};

static char *next_word(char **rest) {
    char *word = strsep(rest, "\t\n");
    return word ? word : "";
}

static int parse_axes(char *text, struct ws_axis *axes, int most) {
    int n = 0;
    for (char *word; (word = strsep(&text, " ")) && n < most;) {
        char *equals = strchr(word, '=');
        if (!equals) continue;
        *equals = 0;
        axes[n++] = (struct ws_axis){word, equals + 1};
    }
    return n;
}

static void take_workload(struct asked *a, char *rest) {
    enum { MOST = 32 };
    struct ws_axis axes[MOST];
    struct arena *own = arena_new();
    struct diag d = diag_new(own);
    struct stages quiet = stages_new(own, NULL, 0);
    struct ws_options o = {.arena = own, .axes = axes, .cast = true, .precision = &a->precision};
    vec_push(a->arena, &a->workloads, own);
    o.path = arena_strdup(own, next_word(&rest));
    const char *mode = next_word(&rest);
    o.eval = !strncmp(mode, "eval", 4);
    if (o.eval) mode += mode[4] == '_' ? 5 : 4;
    o.mode = !strcmp(mode, "bwd") ? WS_BWD : !strcmp(mode, "train") ? WS_TRAIN : WS_FWD;
    if (!dtype_parse(next_word(&rest), &o.dtype)) o.cast = false;
    o.n_axes = parse_axes(arena_strdup(own, next_word(&rest)), axes, MOST);
    struct ws_captured *c = ws_capture(&o, &quiet, &d);
    a->kernel = NULL;
    a->program = c ? ws_lower(c, &a->limits, a->plan, &quiet, &d) : NULL;
    puts(a->program ? "ok" : d.message);
}

static void take_kernel(struct asked *a, char *rest) {
    const char *name = next_word(&rest);
    a->kernel = NULL;
    for (int k = 0; a->program && k < a->program->n_kernels; k++)
        if (!strcmp(a->program->kernels[k].name, name)) a->kernel = a->program->kernels[k].ir;
    puts(a->kernel ? "ok" : "none");
}

static void take_config(struct asked *a, char *rest) {
    struct diag d = diag_new(a->arena);
    struct known *known = NEW(a->arena, struct known);
    struct config c;
    known->kernel = a->kernel;
    const char *why = !a->kernel                                ? "no kernel"
                      : !config_parse(next_word(&rest), &c, &d) ? d.message
                                                                : NULL;
    if (!why) why = kernel_layout(a->kernel, &c, &known->layout, a->arena);
    if (why) {
        printf("-1 %s\n", why);
        return;
    }
    vec_push(a->arena, &a->configs, *known);
    printf("%u\n", a->configs.n - 1);
}

static void say_guesses(const struct asked *a, int most) {
    const struct config *configs;
    int n = 0, pruned;
    for (int k = 0; a->kernel && k < a->program->n_kernels; k++)
        if (a->program->kernels[k].ir == a->kernel)
            ws_configs(a->program, k, &configs, &n, &pruned);
    for (int i = 0; i < n && i < most; i++)
        printf("%s%s", i ? "\t" : "", config_str(a->arena, &configs[i]));
    puts("");
}

static void say_costs(const struct asked *a) {
    for (uint32_t i = 0; i < a->configs.n; i++)
        printf("%s%.9g", i ? " " : "",
               kernel_cost(a->configs.at[i].kernel, &a->configs.at[i].layout));
    puts("");
}

static void say_numbers(void) {
    for (int i = 0; i < cost_n_numbers; i++) printf("%s%.9g", i ? " " : "", cost_numbers[i]);
    puts("");
}

static void set_number(char *rest) {
    int i = atoi(next_word(&rest));
    double value = atof(next_word(&rest));
    if (i >= 0 && i < cost_n_numbers) cost_numbers[i] = value;
    puts("ok");
}

int main(int argc, char **argv) {
    struct asked a = {.arena = arena_new(), .precision = PRECISION_F32, .plan = WS_FUSE};
    char *line = NULL;
    size_t size = 0;
    if (argc != 2 || !device_limits_for_arch(argv[1], &a.limits)) {
        fprintf(stderr, "usage: cost_model ARCH <LINES\n");
        return 2;
    }
    while (getline(&line, &size, stdin) > 0) {
        char *rest = line;
        const char *what = next_word(&rest);
        if (!strcmp(what, "precision"))
            puts(precision_parse(next_word(&rest), &a.precision) ? "ok" : "no such precision");
        else if (!strcmp(what, "plan")) {
            a.plan = strcmp(next_word(&rest), "apart") ? WS_FUSE : WS_APART;
            puts("ok");
        } else if (!strcmp(what, "workload"))
            take_workload(&a, rest);
        else if (!strcmp(what, "kernel"))
            take_kernel(&a, rest);
        else if (!strcmp(what, "config"))
            take_config(&a, rest);
        else if (!strcmp(what, "guesses"))
            say_guesses(&a, atoi(next_word(&rest)));
        else if (!strcmp(what, "memory")) {
            a.limits.peak_gbps = atof(next_word(&rest));
            puts("ok");
        } else if (!strcmp(what, "costs"))
            say_costs(&a);
        else if (!strcmp(what, "numbers"))
            say_numbers();
        else if (!strcmp(what, "number"))
            set_number(rest);
        else
            puts("what?");
        fflush(stdout);
    }
    free(line);
    for (uint32_t i = 0; i < a.workloads.n; i++) arena_free(a.workloads.at[i]);
    arena_free(a.arena);
    return 0;
}
