/* figure_sizes.c: a sweep as lines over its axis: GB/s, TFLOP/s and how many times as fast as
 * unfused, a line for each way to run it. */
#include "reports/figures.h"

#include <math.h>
#include <string.h>

enum { MAX_LINES = 2 + OPPONENT_COUNT };

static const struct result_row *row_of(const struct case_ *c, int line) {
    if (line == 0) return c->bench->role[ROLE_tuned];
    return case_opponent(c, (enum opponent)(line - 1));
}

static const char *line_name(int line) {
    return line ? opponent_name((enum opponent)(line - 1)) : "tuned";
}
static unsigned line_colour(int line) {
    return line ? opponent_colour((enum opponent)(line - 1)) : 0x2f6d9e;
}

/* What a row moves or computes a second, with its bounds. */
static struct estimate rate(const struct result_row *r, double work, double unit) {
    struct estimate t = row_time(r), v = {NAN, NAN, NAN};
    if (!(work > 0)) return v;
    v.value = v.low = v.high = work / t.value / unit;
    if (isfinite(t.low) && t.low > 0) v.low = work / t.high / unit, v.high = work / t.low / unit;
    return v;
}

static void put_estimate(struct text *out, const struct estimate *v) {
    if (!isfinite(v->value)) {
        text_puts(out, " NaN NaN NaN");
        return;
    }
    bool known = isfinite(v->low) && isfinite(v->high);
    text_printf(out, " %.6g %.6g %.6g", v->value, known ? v->low : v->value,
                known ? v->high : v->value);
}

enum { GBPS, TFLOPS, SPEEDUP, PANELS };

struct lines {
    size_t n;
    double high[PANELS];
    struct text legend_wide, legend_narrow, colours;
};

static bool put_line(struct figure *f, struct lines *l, const struct model *m,
                     const struct sweep *s, int line) {
    struct text block = {0};
    bool any = false;
    for (size_t i = s->first; i < s->first + s->n; i++) {
        const struct case_ *c = &m->cases[i];
        const struct result_row *r = row_of(c, line), *unfused = c->bench->role[ROLE_eager];
        if (!result_row_measured(r)) continue;
        any = true;
        figure_add_row(f, r);
        struct estimate v[PANELS] = {rate(r, r->bytes, 1e3), rate(r, r->flops, 1e6),
                                     speedup_of(unfused, r)};
        text_printf(&block, "%.9g", c->size);
        for (int p = 0; p < PANELS; p++) {
            put_estimate(&block, &v[p]);
            if (v[p].value > l->high[p]) l->high[p] = v[p].value;
        }
        text_puts(&block, "\n");
    }
    if (any) text_printf(&f->drawing.data, "%s\n\n", block.p);
    text_free(&block);
    return any;
}

static void put_legend(struct text *out, size_t k, const char *name, double x, double y) {
    text_printf(out, "%g %g 0 \"\"\n%g %g 1 \"%s\"\n\n\n", x, y, x + 26, y, name);
    (void)k;
}

bool figure_sizes(struct figure *f, const struct model *m, const struct sweep *s) {
    struct drawing *d = &f->drawing;
    struct lines l = {0};
    const struct case_ *first = &m->cases[s->first];
    double wide_x = 14, narrow_x = 14, narrow_y = 0;
    text_puts(&d->data, "$lines << EOD\n");
    for (int line = 0; line < MAX_LINES - 1; line++) {
        if (!put_line(f, &l, m, s, line)) continue;
        double width = 46 + 7 * (double)strlen(line_name(line));
        if (narrow_x + width > NARROW) narrow_x = 14, narrow_y += 15;
        put_legend(&l.legend_wide, l.n, line_name(line), wide_x, -1);
        put_legend(&l.legend_narrow, l.n, line_name(line), narrow_x, -1 - narrow_y);
        wide_x += width;
        narrow_x += width;
        text_printf(&l.colours, "%s#%06x", l.n++ ? " " : "", line_colour(line));
    }
    text_puts(&d->data, "EOD\n");
    if (l.n)
        text_printf(&d->data, "$legend_wide << EOD\n%sEOD\n$legend_narrow << EOD\n%sEOD\n",
                    l.legend_wide.p, l.legend_narrow.p);
    struct text panels = {0}, names = {0}, highs = {0}, roofs = {0}, ticks = {0};
    static const char *const panel_names[] = {"GB/s that must move", "TFLOP/s",
                                              "times as fast as unfused"};
    size_t n_panels = 0;
    for (int p = 0; p < PANELS; p++) {
        if (!(l.high[p] > 0)) continue;
        double roof = !first->roof  ? NAN
                      : p == GBPS   ? first->roof->gbps
                      : p == TFLOPS ? first->roof->tflops
                                    : NAN;
        bool near = roof > 0 && roof < 4 * l.high[p]; /* else it would flatten all lines */
        text_printf(&panels, "%s%d", n_panels++ ? " " : "", 2 + 3 * p);
        put_word(&names, panel_names[p]);
        text_printf(&highs, "%s%.6g", highs.n ? " " : "", near ? fmax(roof, l.high[p]) : l.high[p]);
        text_printf(&roofs, "%s%.6g", roofs.n ? " " : "", near ? roof : 0);
    }
    for (size_t i = s->first; i < s->first + s->n; i++) {
        size_t every = (s->n + 4) / 5; /* no more ticks than have room */
        if ((i - s->first) % every == 0)
            text_printf(&ticks, "%s%.9g", ticks.n ? ", " : "(", m->cases[i].size);
    }
    text_puts(&ticks, ")");
    struct text axis = {0};
    text_write(&axis, s->axis, s->n_axis);
    gnuplot_set_number(&d->data, "n_lines", (double)l.n);
    gnuplot_set_number(&d->data, "n_panels", (double)n_panels);
    gnuplot_set_text(&d->data, "line_colours", text_str(&l.colours));
    gnuplot_set_text(&d->data, "panels", text_str(&panels));
    gnuplot_set_text(&d->data, "panel_names", text_str(&names));
    gnuplot_set_text(&d->data, "panel_highs", text_str(&highs));
    gnuplot_set_text(&d->data, "panel_roofs", text_str(&roofs));
    gnuplot_set_text(&d->data, "axis_name", text_str(&axis));
    gnuplot_set_text(&d->data, "tics", ticks.p);
    gnuplot_set_number(&d->data, "x_low", m->cases[s->first].size * 0.85);
    gnuplot_set_number(&d->data, "x_high", m->cases[s->first + s->n - 1].size * 1.18);
    drawing_set_heights(d, 340, 24 + narrow_y + 250 * (double)n_panels);
    gnuplot_set_number(&d->wide, "legend_height", 24);
    gnuplot_set_number(&d->narrow, "legend_height", 24 + narrow_y);
    d->script = gnuplot_sizes;
    text_puts(&f->id, "sizes");
    text_printf(&f->title, "By size: %s over %s", text_str(&first->type), axis.p);
    if (m->n_devices > 1) text_printf(&f->title, ", %s", first->bench->key->device);
    text_printf(
        &f->alt,
        "Lines over %zu sizes of %s, one for each of %zu ways to run it: bandwidth%s and speedup.",
        s->n, axis.p, l.n, l.high[TFLOPS] > 0 ? ", arithmetic" : "");
    text_puts(&f->note, "Whiskers: 95 % of the median. Dashed: the roof.");
    text_free(&l.legend_wide);
    text_free(&l.legend_narrow);
    text_free(&l.colours);
    text_free(&panels);
    text_free(&names);
    text_free(&highs);
    text_free(&roofs);
    text_free(&ticks);
    text_free(&axis);
    return l.n > 0 && first->size > 0;
}
