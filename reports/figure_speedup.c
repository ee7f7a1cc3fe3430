/* figure_speedup.c: how many times as fast the tuned program is as each opponent: a column of bars
 * for each, a row for each case, the cases of a workload together, the fastest first. A sweep is
 * one row, its whisker from its slowest to its fastest size: its sizes are lines, in
 * figure_sizes.c. */
#include "reports/figures.h"

#include <math.h>
#include <stdlib.h>

enum { ROW = 17 };

struct rows {
    struct text rows, bars;
    size_t n;                                               /* rows so far */
    double lines;                                           /* of a small screen */
    double highest[OPPONENT_COUNT], lowest[OPPONENT_COUNT]; /* of each column */
    size_t widest;                                          /* letters of a label */
    int column[OPPONENT_COUNT];                             /* 1-based; 0: left out */
    size_t unsteady, slower, implausible;
};

static void put_row(struct rows *r, int kind, const char *text, size_t letters) {
    text_printf(&r->rows, "%zu %d ", r->n, kind);
    text_gnuplot(&r->rows, text);
    text_printf(&r->rows, " %g\n", r->lines);
    if (letters > r->widest) r->widest = letters;
}

static void put_bar(struct rows *r, enum opponent o, const struct estimate *s, bool unsteady,
                    const char *suffix) {
    struct text label = {0};
    put_ratio(&label, s);
    text_printf(&label, "×%s", suffix);
    int state = unsteady ? 2 : speedup_sign(s) < 0 ? 1 : 0;
    bool known = isfinite(s->low) && isfinite(s->high);
    text_printf(&r->bars, "%d %zu %.5g %.5g %.5g %d %u ", r->column[o], r->n, s->value,
                known ? s->low : s->value, known ? s->high : s->value, state,
                state == 1 ? 0xb4532au : opponent_colour(o));
    text_gnuplot(&r->bars, label.p);
    text_printf(&r->bars, " %g\n", r->lines);
    text_free(&label);
    r->unsteady += unsteady;
    r->slower += state == 1;
    if (unsteady) return; /* what is not known sets no scale */
    r->highest[o] = fmax(r->highest[o], s->value);
    r->lowest[o] = fmin(r->lowest[o], s->value);
}

static bool is_unsteady(const struct case_ *c, enum opponent o) {
    return row_unsteady(c->ours) || row_unsteady(case_opponent(c, o));
}

/* A time that nobody believes is drawn, hatched, and called so: a missing bar would say nothing. */
static void put_claimed(struct figure *f, struct rows *r, const struct case_ *c) {
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        const struct result_row *from = case_opponent(c, (enum opponent)o);
        if (!r->column[o] || from == c->claimed || !result_row_measured(from)) continue;
        double ratio = from->median_us / c->claimed->median_us;
        struct estimate s = {ratio, ratio, ratio};
        figure_add_row(f, from);
        put_bar(r, (enum opponent)o, &s, true, " implausible");
        r->implausible++;
    }
    figure_add_row(f, c->claimed);
}

static void put_case(struct figure *f, struct rows *r, const struct case_ *c) {
    if (!c->ours && c->claimed) {
        put_claimed(f, r, c);
        return;
    }
    figure_add_row(f, c->ours);
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        struct estimate s = case_speedup(c, (enum opponent)o);
        if (!r->column[o] || !isfinite(s.value)) continue;
        figure_add_row(f, case_opponent(c, (enum opponent)o));
        put_bar(r, (enum opponent)o, &s, is_unsteady(c, (enum opponent)o), "");
    }
}

static void put_sweep(struct figure *f, struct rows *r, const struct model *m,
                      const struct sweep *s) {
    for (size_t i = s->first; i < s->first + s->n; i++) figure_add_row(f, m->cases[i].ours);
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        struct estimate range = {NAN, INFINITY, 0};
        bool unsteady = false;
        if (!r->column[o]) continue;
        for (int all = 0; all < 2 && !isfinite(range.value);
             all++) { /* the steady sizes, else whatever there is */
            double sum = 0;
            size_t n = 0;
            for (size_t i = s->first; i < s->first + s->n; i++) {
                struct estimate one = case_speedup(&m->cases[i], (enum opponent)o);
                if (!isfinite(one.value) || (!all && is_unsteady(&m->cases[i], (enum opponent)o)))
                    continue;
                figure_add_row(f, case_opponent(&m->cases[i], (enum opponent)o));
                range.low = fmin(range.low, one.value);
                range.high = fmax(range.high, one.value);
                sum += log(one.value);
                n++;
            }
            if (n) range.value = exp(sum / (double)n), unsteady = all;
        }
        if (!isfinite(range.value)) continue;
        struct estimate mean = {range.value, range.value, range.value};
        struct text label = {0};
        put_ratio(&label, &mean);
        text_printf(&r->bars, "%d %zu %.5g %.5g %.5g %d %u \"%s×\" %g\n", r->column[o], r->n,
                    range.value, range.low, range.high, unsteady ? 2 : range.high < 1,
                    opponent_colour((enum opponent)o), label.p, r->lines);
        text_free(&label);
        r->highest[o] = fmax(r->highest[o], unsteady ? 1 : range.high);
        r->lowest[o] = fmin(r->lowest[o], unsteady ? 1 : range.low);
    }
}

static bool has_valid(const struct case_ *c) {
    for (int o = 0; o < OPPONENT_COUNT; o++)
        if (isfinite(case_speedup(c, (enum opponent)o).value)) return true;
    return false;
}

static bool has_speedup(const struct case_ *c) { return has_valid(c) || (!c->ours && c->claimed); }

enum { LABEL_MAX = 44 };

/* The rows of one workload: its name above several, in the same line with one. */
static void put_workload(struct figure *f, struct rows *r, const struct model *m,
                         const struct workload *w) {
    size_t shown = 0;
    for (size_t i = w->first; i < w->first + w->n;) {
        const struct case_ *c = &m->cases[i];
        const struct sweep *s = c->sweep ? &m->sweeps[w->sweeps + c->sweep - 1] : NULL;
        size_t n = s ? s->n : 1;
        bool any = false;
        for (size_t k = i; k < i + n; k++) any |= has_speedup(&m->cases[k]);
        i += n;
        if (!any) continue;
        bool alone = w->n == n;
        if (!alone && !shown++) {
            r->n++;
            r->lines += r->n > 1 ? 2 : 1;
            put_row(r, 0, w->name, 0);
            r->lines -= 1;
        }
        struct text label = {0};
        r->n++;
        r->lines += r->n > 1 ? 2 : 1;
        if (s) {
            if (alone) text_printf(&label, "%s ", w->name);
            text_printf(&label, "%s", text_str(&c->type));
            if (m->n_devices > 1) {
                text_puts(&label, " ");
                device_short(&label, m, c->bench->key->device);
            }
            text_printf(&label, ", %zu sizes of %.*s", s->n, (int)s->n_axis, s->axis);
            size_t valid = 0;
            for (size_t k = s->first; k < s->first + s->n; k++) valid += has_valid(&m->cases[k]);
            if (valid < s->n) text_printf(&label, ", %zu valid", valid);
        } else {
            case_label(&label, m, c, alone, LABEL_MAX);
        }
        put_row(r, alone ? 0 : 1, label.p, label.n < LABEL_MAX ? label.n : LABEL_MAX);
        text_free(&label);
        if (s)
            put_sweep(f, r, m, s);
        else
            put_case(f, r, c);
    }
}

static void set_layout(struct text *out, double width, double label, double height) {
    gnuplot_set_number(out, "width", width);
    gnuplot_set_number(out, "height", height);
    gnuplot_set_number(out, "label_share", label / width);
    gnuplot_set_number(out, "bar", width < 500 ? 0.36 : 0.34);
}

/* A scale for each column: opponents differ by a tenth, or by ten times. */
static void put_scales(struct text *out, const struct rows *r, int columns) {
    struct text lows = {0}, highs = {0}, tics = {0};
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        if (!r->column[o]) continue;
        const char *gap = lows.n ? " " : "";
        double high = fmax(r->highest[o] * 1.02, 1.2), low = fmin(0.95, r->lowest[o] * 0.95);
        text_printf(&lows, "%s%.6g", gap, low);
        text_printf(&highs, "%s%.6g", gap, high);
        text_puts(&tics, gap);
        put_log_list(&tics, low, high, columns > 2 ? 4 : 7);
    }
    gnuplot_set_text(out, "x_lows", text_str(&lows));
    gnuplot_set_text(out, "x_highs", text_str(&highs));
    gnuplot_set_text(out, "tics", text_str(&tics));
    text_free(&lows);
    text_free(&highs);
    text_free(&tics);
}

bool figure_speedup(struct figure *f, const struct model *m, size_t first, size_t n) {
    struct rows r = {.n = 0};
    struct text names = {0};
    struct drawing *d =
        &f->drawing; /* gnuplot 5.4 faults on labels of which none is drawn: row 0 */
    int columns = 0;
    for (int o = 0; o < OPPONENT_COUNT; o++) r.highest[o] = r.lowest[o] = 1;
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        for (size_t i = first; i < first + n && !r.column[o]; i++)
            if (isfinite(case_speedup(&m->cases[i], (enum opponent)o).value))
                r.column[o] = ++columns;
        if (!r.column[o]) continue;
        struct text name = {0};
        text_printf(&name, columns == 1 ? "over %s" : "%s", opponent_name((enum opponent)o));
        put_word(&names, name.p);
        text_free(&name);
    }
    for (size_t i = 0; i < m->n_workloads; i++)
        if (m->workloads[i].first >= first && m->workloads[i].first < first + n)
            put_workload(f, &r, m, &m->workloads[i]);
    if (!columns) return text_free(&names), false;
    text_printf(&d->data, "$rows << EOD\n0 0 \"\" 0\n0 1 \"\" 0\n%sEOD\n$bars << EOD\n%sEOD\n",
                text_str(&r.rows), text_str(&r.bars));
    gnuplot_set_number(&d->data, "n_rows", (double)r.n);
    gnuplot_set_number(&d->data, "n_columns", columns);
    gnuplot_set_text(&d->data, "opponents", names.p);
    put_scales(&d->data, &r, columns);
    gnuplot_set_number(&d->data, "label_width", r.implausible ? 110 : 46); /* pixels */
    set_layout(&d->wide, WIDE, 34 + 6.9 * (double)r.widest, 74 + ROW * ((double)r.n + 0.4));
    set_layout(&d->narrow, NARROW, 6,
               (columns > 3 ? (columns + 2) / 3 : 1) * (74 + 15 * (r.lines + 1.3)));
    gnuplot_set_number(&d->data, "n_lines", r.lines + 1);
    d->script = gnuplot_speedup;
    text_puts(&f->id, "speedup");
    text_puts(&f->title, "Speedup of the tuned program");
    text_printf(&f->alt,
                "Bars: how many times as fast the tuned program is as %d other way%s to run it, "
                "for %zu cases.",
                columns, columns == 1 ? "" : "s", n);
    text_puts(&f->note, "Logarithmic; bars begin at 1, equally fast. A bar to the left of it, in "
                        "red, is a loss. The dark "
                        "line in a bar is its interval, of a sweep its range.");
    if (r.implausible)
        text_puts(
            &f->note,
            " Hatched and called implausible: faster than the device can be, so the time or the "
            "limit is wrong.");
    if (r.unsteady > r.implausible)
        text_puts(&f->note,
                  " Hatched: unsteady, a time is known to no better than 5 %, and sets no scale.");
    text_free(&names);
    text_free(&r.rows);
    text_free(&r.bars);
    return true;
}
