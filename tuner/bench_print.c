/* bench_print.c: what bench says on stdout. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/bench.h"
#include "tuner/table.h"

enum { COLUMNS = 80 };

/* As wide as the terminals that most logs are read on. */
static void say(struct arena *a, const char *text) {
    struct buf out = buf_new(a);
    buf_wrap(&out, text, COLUMNS);
    fputs(out.p, stdout);
}

void bench_print_subject(const struct bench_point *b) {
    const struct ws_captured *c = b->captured;
    const struct ws_program *p = b->fused_program;
    int ops = b->eager_program->n_kernels;
    struct buf out = buf_new(b->arena);
    buf_printf(&out, "\n%s  %s  %s  %s\n", c->workload, c->axes, c->dtype, c->mode);
    buf_printf(&out, "graph %s: %d kernel%s unfused, %d fused\n", c->graph_hash, ops,
               ops == 1 ? "" : "s", p->n_kernels);
    for (int k = 0; k < p->n_kernels; k++)
        buf_printf(&out, "  %s (%s)%s%s\n", p->kernels[k].name, p->kernels[k].kind,
                   *p->kernels[k].guard ? "  for " : "", p->kernels[k].guard);
    say(b->arena, out.p);
    fflush(stdout);
}

static void print_stored(struct buf *out, const struct bench_point *b) {
    const struct store_program *e = &b->evidence;
    buf_printf(out, "stored   %10.2f us, %d samples, by run %s", e->tuned.median, e->tuned.n,
               e->run_id);
    if (stats_tied(&e->tuned, &b->tuned_time.us))
        buf_puts(out, "; today's time agrees, within noise\n");
    else
        buf_printf(out, "; today's time is %+.1f %% off\n",
                   100 * (b->tuned_time.us.median / e->tuned.median - 1));
}

static void print_costs(struct buf *out, const struct bench_point *b) {
    const struct builder *u = &b->builder;
    buf_printf(out,
               "compiled %d, %d from the store: %.2f s on all cores, waited %.2f s; "
               "checking %.2f s (%.2f x timing), timing %.2f s, total %.2f s\n",
               u->n_compiled, u->n_stored, u->compile_ms / 1e3, u->waited_ms / 1e3,
               b->tuning.check_ms / 1e3, b->tuning.check_ms / b->tuning.time_ms,
               b->tuning.time_ms / 1e3, (clock_ms() - b->started_ms) / 1e3);
}

static void print_throttle(struct buf *out, const struct bench_point *b) {
    const struct timing *t[] = {&b->eager_time, &b->default_time, &b->tuned_time};
    for (int i = 0; i < 3; i++) {
        if (!t[i]->n_throttled) continue;
        buf_printf(out, "the clock was throttled (%s): %d samples set aside\n", t[i]->throttle,
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
    table_load(&out, &b->default_time, &b->tuned_time);
    if (!b->point) table_legend(&out, &w, &b->run->roof);
    for (int k = 0; k < b->fused_program->n_kernels; k++) table_kernel(&out, &b->tunes[k]);
    cost_print(&out, &b->cost, b->eager_time.us.median, b->default_time.us.median,
               b->tuned_time.us.median);
    table_unsteady(&out, lines, 3);
    const struct plan *plans[] = {&b->eager, &b->dflt, &b->tuned};
    for (int i = 0; i < 3; i++) {
        if (!plans[i]->program) continue;
        struct work own = work_of_program(plans[i]->program);
        table_implausible(&out, &lines[i], &own, &b->run->roof);
    }
    buf_puts(&out, data_unjudged(b->data));
    if (b->kernels_judged) buf_puts(&out, b->kernels_judged);
    if (b->all_found) print_stored(&out, b);
    print_throttle(&out, b);
    print_costs(&out, b);
    say(b->arena, out.p);
    if (b->profile) printf("\n%s\n", b->profile);
    if (!b->run->replay) printf("results: %s\n", b->run->recorder.path);
    fflush(stdout);
}

void bench_print_known(const struct bench_run *r) {
    say(r->arena, arena_printf(r->arena, "configs known before: %s\n",
                               range_counts_text(r->ranges, r->arena)));
}
