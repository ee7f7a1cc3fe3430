/* bench_print.c: what bench says on stdout. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/bench.h"
#include "tuner/table.h"

void bench_print_subject(const struct bench_point *b) {
    const struct ws_captured *c = b->captured;
    const struct ws_program *p = b->fused_program;
    int ops = b->eager_program->n_kernels;
    printf("\n%s  %s  %s  %s\n", c->workload, c->axes, c->dtype, c->mode);
    printf("graph %s: %d kernel%s unfused, %d fused\n", c->graph_hash, ops, ops == 1 ? "" : "s",
           p->n_kernels);
    for (int k = 0; k < p->n_kernels; k++)
        printf("  %s (%s)%s%s\n", p->kernels[k].name, p->kernels[k].kind,
               *p->kernels[k].guard ? "  for " : "", p->kernels[k].guard);
    fflush(stdout);
}

static void print_stored(const struct bench_point *b) {
    const struct store_program *e = &b->evidence;
    printf("stored   %10.2f us, %d samples, by run %s", e->tuned.median, e->tuned.n, e->run_id);
    if (stats_tied(&e->tuned, &b->tuned_time.us))
        puts("; today's time agrees, within noise");
    else
        printf("; today's time is %+.1f %% off\n",
               100 * (b->tuned_time.us.median / e->tuned.median - 1));
}

static void print_costs(const struct bench_point *b) {
    const struct builder *u = &b->builder;
    printf("compiled %d, %d from the store: %.2f s on all cores, waited %.2f s; "
           "checking %.2f s (%.2f x timing), timing %.2f s, total %.2f s\n",
           u->n_compiled, u->n_stored, u->compile_ms / 1e3, u->waited_ms / 1e3,
           b->tuning.check_ms / 1e3, b->tuning.check_ms / b->tuning.time_ms,
           b->tuning.time_ms / 1e3, (clock_ms() - b->started_ms) / 1e3);
}

static void print_throttle(const struct bench_point *b) {
    const struct timing *t[] = {&b->eager_time, &b->default_time, &b->tuned_time};
    for (int i = 0; i < 3; i++) {
        if (!t[i]->n_throttled) continue;
        printf("the clock was throttled (%s): %d samples set aside\n", t[i]->throttle,
               t[i]->n_throttled);
        return;
    }
}

void bench_print_results(const struct bench_point *b) {
    struct buf out = buf_new(b->arena);
    struct work w = work_of_program(b->fused_program);
    const struct table_line lines[] = {{b->eager.name, &b->eager_time},
                                       {"default", &b->default_time},
                                       {b->tuned.name, &b->tuned_time}};
    buf_puts(&out, "\n");
    table_programs(&out, lines, 3, &w, &b->run->roof);
    if (!b->point) table_legend(&out, &w, &b->run->roof);
    for (int k = 0; k < b->fused_program->n_kernels; k++) table_kernel(&out, &b->tunes[k]);
    cost_print(&out, &b->cost, b->eager_time.us.median, b->default_time.us.median,
               b->tuned_time.us.median);
    table_unsteady(&out, lines, 3);
    fputs(out.p, stdout);
    fputs(data_unjudged(&b->data), stdout);
    if (b->kernels_judged) fputs(b->kernels_judged, stdout);
    if (b->all_found) print_stored(b);
    print_throttle(b);
    print_costs(b);
    if (b->profile) printf("\n%s\n", b->profile);
    if (!b->run->replay) printf("results: %s\n", b->run->recorder.path);
    fflush(stdout);
}
