/* table.c: columns line up by width in characters; numbers are right-aligned. */
#include "tuner/table.h"

#include <math.h>
#include <string.h>

static void put_number(struct buf *b, int width, int digits, double v) {
    if (isfinite(v))
        buf_printf(b, "  %*.*f", width, digits, v);
    else
        buf_printf(b, "  %*s", width, "-");
}

static int digits_for(double us) { return us < 10 ? 3 : us < 1000 ? 2 : 1; }

static void put_speedup(struct buf *b, double ratio) {
    if (isfinite(ratio)) buf_printf(b, "  %8.2fx", ratio);
}

void table_programs(struct buf *b, const struct table_line *lines, int n, const struct work *w,
                    const struct roof *roof) {
    bool compute = roof_bound_by_compute(roof, w);
    double floor_us = roof_floor_us(roof, w);
    buf_printf(b, "%-8s  %10s  %8s  %9s  %7s  %9s\n", "", "us", "+-", compute ? "TFLOP/s" : "GB/s",
               "% roof", "speed-up");
    for (int i = 0; i < n; i++) {
        const struct stats *s = &lines[i].timing->us;
        double rate = compute ? w->flops / s->median / 1e6 : w->bytes / s->median / 1e3;
        buf_printf(b, "%-8s", lines[i].name);
        put_number(b, 10, digits_for(s->median), s->median);
        put_number(b, 8, digits_for(s->median), stats_ci(s));
        put_number(b, 9, rate < 10 ? 3 : 1, rate);
        put_number(b, 7, 1, 100 * floor_us / s->median);
        if (i) put_speedup(b, lines[0].timing->us.median / s->median);
        buf_puts(b, "\n");
    }
}

void table_load(struct buf *b, const struct timing *dflt, const struct timing *tuned) {
    if (!(dflt->load_us > 0) && !(tuned->load_us > 0)) return;
    buf_printf(
        b, "at load, once: %.*f us for the default, %.*f us tuned; %.4g MB are kept across calls\n",
        digits_for(dflt->load_us), dflt->load_us, digits_for(tuned->load_us), tuned->load_us,
        tuned->kept_bytes / 1e6);
}

void table_legend(struct buf *b, const struct work *w, const struct roof *roof) {
    buf_printf(b,
               "  unfused: one operator a kernel; default: fused, by rule; tuned: fastest config\n"
               "  us: median, +- half its 95 %% interval; %% roof: of what %s allows\n",
               roof_bound_by_compute(roof, w) ? "peak arithmetic" : "copy bandwidth");
}

/* Defects, of a kernel or of what judges it. One shows in many configs: the first ones say it. */
static void put_wrong(struct buf *b, const struct tune *t) {
    enum { MOST = 8 };
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        const struct variant *v = &t->variants[i];
        if (v->status == STATUS_wrong && v->message && n++ < MOST)
            buf_printf(b, "    wrong: %s: %s\n", v->text, v->message);
    }
    if (n > MOST) buf_printf(b, "    and %d more are wrong\n", n - MOST);
}

static void put_counts(struct buf *b, const struct tune *t) {
    int count[STATUS_COUNT] = {0}, untried = 0;
    for (int i = 0; i < t->n; i++) {
        const struct variant *v = &t->variants[i];
        if (v->status == STATUS_ok && !v->timing.us.n)
            untried++;
        else
            count[v->status]++;
    }
    buf_printf(b, "    %d configs: %d timed", t->n + t->n_pruned, count[STATUS_ok]);
    if (t->n_pruned) buf_printf(b, ", %d pruned", t->n_pruned);
    for (int s = 0; s < STATUS_COUNT; s++)
        if (s != STATUS_ok && count[s])
            buf_printf(b, ", %d %s", count[s], result_status_name((enum result_status)s));
    if (untried) buf_printf(b, ", %d not tried", untried);
    if (t->n_known) buf_printf(b, "; %d known from an earlier run", t->n_known);
    if (t->n_tied > 1) buf_printf(b, "; %d more as fast, within noise", t->n_tied - 1);
    buf_puts(b, "\n");
    put_wrong(b, t);
}

void table_unsteady(struct buf *b, const struct table_line *lines, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, stats_rel_ci(&lines[i].timing->us));
    if (worst > STATS_TIE_MOST)
        buf_printf(b,
                   "unsteady: medians are known to +-%.0f %% only (95 %% interval); other work on "
                   "this machine "
                   "is the usual reason\n",
                   100 * worst);
}

void table_implausible(struct buf *b, const struct table_line *line, const struct work *w,
                       const struct roof *roof) {
    double us = line->timing->us.median, least = roof_physical_us(roof, w);
    if (!roof_implausible(roof, w, us)) return;
    buf_printf(
        b,
        "implausible: %s takes %.*f us, and the device's data sheet allows no less than %.*f: "
        "its time or the count\n  of its work is wrong; it counts as not measured, and "
        "figures show it hatched\n",
        line->name, digits_for(us), us, digits_for(least), least);
}

void table_kernel(struct buf *b, const struct tune *t) {
    const struct stats *dflt = &t->variants[0].timing.us;
    if (!t->winner) return;
    buf_printf(b, "  %s  %s", t->program->kernels[t->kernel].name, t->winner->text);
    if (t->winner->timing.us.n) {
        buf_printf(b, "   %.*f us", digits_for(t->winner->timing.us.median),
                   t->winner->timing.us.median);
        if (t->winner->is_default)
            buf_puts(b, ", the default");
        else if (dflt->n)
            buf_printf(b, ", %.2fx default", dflt->median / t->winner->timing.us.median);
    }
    buf_puts(b, "\n");
    if (t->n_tried) put_counts(b, t);
}
