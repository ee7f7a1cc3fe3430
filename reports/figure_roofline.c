/* figure_roofline.c: two planes of points that are called by numbers: arithmetic over intensity
 * under the roofs of each device and type, and what tuning gained over what it cost. */
#include "reports/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 6 };

/* The cases that are drawn: of one row each. */
struct spots {
    struct spot *all;
    size_t n;
    struct plane wide, narrow;
};

static void bound_plane(struct spots *s, double left, double below) {
    struct plane *a = &s->wide;
    *a = (struct plane){s->all[0].x, s->all[0].x, s->all[0].y, s->all[0].y, true, true, 0, 0};
    for (size_t i = 1; i < s->n; i++) {
        a->x_min = fmin(a->x_min, s->all[i].x);
        a->x_max = fmax(a->x_max, s->all[i].x);
        a->y_min = fmin(a->y_min, s->all[i].y);
        a->y_max = fmax(a->y_max, s->all[i].y);
    }
    a->width = WIDE - left;
    a->height = below;
}

static void put_axes(struct text *out, const struct plane *a) {
    gnuplot_set_number(out, "x_min", a->log_x ? pow(10, a->x_min) : a->x_min);
    gnuplot_set_number(out, "x_max", a->log_x ? pow(10, a->x_max) : a->x_max);
    gnuplot_set_number(out, "y_min", a->log_y ? pow(10, a->y_min) : a->y_min);
    gnuplot_set_number(out, "y_max", a->log_y ? pow(10, a->y_max) : a->y_max);
}

static const unsigned device_colours[] = {0x2f6d9e, 0xb4532a, 0x3f7d4e,
                                          0x7d5ba6, 0x8c6a1f, 0x5c636e};
static const int shapes[] = {7, 5, 9, 13, 11, 3}; /* of gnuplot's terminals, alike: filled */

static unsigned device_colour(const struct model *m, const char *device) {
    for (size_t i = 0; i < m->n_devices; i++)
        if (!strcmp(m->devices[i], device))
            return device_colours[i % (sizeof device_colours / sizeof *device_colours)];
    return device_colours[0];
}

/* A shape for each roof: points that are judged by another peak look different, also without
 * colour. */
static int roof_shape(const struct model *m, const struct roof *r) {
    return shapes[(size_t)(r - m->roofs) % (sizeof shapes / sizeof *shapes)];
}

/* ---- roofline -------------------------------------------------------------------------------- */

static bool is_roofed(const struct case_ *c) {
    return c->ours && c->ours->bytes > 0 && c->ours->flops > 0;
}

/* Devices' roofs that some case of these stands under. */
static bool roof_used(const struct model *m, const struct spots *s, const struct roof *r) {
    for (size_t i = 0; i < s->n; i++)
        if (m->cases[s->all[i].case_].roof == r) return r->gbps > 0;
    return false;
}

static void put_roof_name(struct text *names, const struct model *m, const struct roof *r) {
    struct text name = {0};
    device_short(&name, m, r->device);
    text_printf(&name, " %s", r->dtype);
    if (strcmp(r->precision, "f32") != 0) text_printf(&name, " %s", r->precision);
    text_puts(&name, ": copies ");
    put_thousands(&name, r->gbps, r->gbps < 100 ? 1 : 0);
    text_puts(&name, " GB/s");
    if (r->tflops > 0) {
        text_puts(&name, ", peak ");
        put_thousands(&name, r->tflops, r->tflops < 10 ? 2 : 0);
        text_puts(&name, " TFLOP/s");
    }
    put_word(names, name.p);
    text_free(&name);
}

static size_t put_roofs(struct text *out, const struct model *m, const struct spots *s) {
    struct text names = {0}, colours = {0};
    const struct plane *a = &s->wide;
    double first = pow(10, a->x_min), last = pow(10, a->x_max);
    size_t n = 0;
    text_puts(out, "$roofs << EOD\n");
    for (size_t i = 0; i < m->n_roofs; i++) {
        const struct roof *r = &m->roofs[i];
        if (!roof_used(m, s, r)) continue;
        double peak = r->tflops > 0 ? 1e3 * r->tflops : INFINITY, knee = peak / r->gbps;
        text_printf(out, "%.6g %.6g\n", first, fmin(r->gbps * first, peak));
        if (knee > first && knee < last) text_printf(out, "%.6g %.6g\n", knee, peak);
        text_printf(out, "%.6g %.6g\n\n\n", last, fmin(r->gbps * last, peak));
        put_roof_name(&names, m, r);
        text_printf(&colours, "%s#%06x", n++ ? " " : "", device_colour(m, r->device));
    }
    if (!n) text_puts(out, "NaN NaN\n\n\n");
    text_puts(out, "EOD\n");
    gnuplot_set_number(out, "n_roofs", (double)n);
    gnuplot_set_text(out, "roof_names", text_str(&names));
    gnuplot_set_text(out, "roof_colours", n ? colours.p : "#000000"); /* of the NaN */
    gnuplot_set_number(out, "roof_lines", n ? (double)n : 1);
    text_free(&names);
    text_free(&colours);
    return n;
}

static size_t list_columns(size_t n) { return n <= 12 ? 2 : 3; }

/* The spots' numbers, what they are, and the heights, `above` of them over the plane. */
static void put_lists(struct drawing *d, const struct model *m, const struct spots *s,
                      double above) {
    put_spot_numbers(&d->data, "$numbers_wide", s->all, s->n, &s->wide);
    put_spot_numbers(&d->data, "$numbers_narrow", s->all, s->n, &s->narrow);
    double wide = put_spot_list(&d->wide, m, s->all, s->n, list_columns(s->n), WIDE),
           narrow = put_spot_list(&d->narrow, m, s->all, s->n, 1, NARROW);
    drawing_set_heights(d, above + s->wide.height + 48 + wide,
                        above + s->narrow.height + 48 + narrow);
}

bool figure_roofline(struct figure *f, const struct model *m, size_t first, size_t n) {
    struct spots s = {.all = memory_resize(NULL, n, sizeof *s.all), .n = 0};
    struct drawing *d = &f->drawing;
    for (size_t i = first; i < first + n; i++) {
        const struct result_row *r = m->cases[i].ours;
        if (!is_roofed(&m->cases[i])) continue;
        s.all[s.n++] =
            (struct spot){log10(r->flops / r->bytes), log10(r->flops / r->median_us / 1e3), i};
        figure_add_row(f, r);
    }
    if (s.n < 2 && s.n < m->n)
        return free(s.all), false; /* a point alone says no more than the table */
    bool few = s.n <= FEW;
    bound_plane(&s, 74, few ? 240 : 420);
    s.wide.x_min -= 0.25, s.wide.x_max += 0.35, s.wide.y_min -= 0.35, s.wide.y_max += 0.45;
    s.narrow = s.wide;
    s.narrow.width = NARROW - 74;
    s.narrow.height = few ? 220 : 300;
    spots_number(s.all, s.n, &s.wide);
    text_puts(&d->data, "$points << EOD\n");
    for (size_t i = 0; i < s.n; i++) {
        const struct case_ *c = &m->cases[s.all[i].case_];
        text_printf(&d->data, "%.6g %.6g %d %u\n", pow(10, s.all[i].x), pow(10, s.all[i].y),
                    roof_shape(m, c->roof), device_colour(m, c->bench->key->device));
    }
    text_puts(&d->data, "EOD\n");
    put_log_ticks(&d->data, "x_tics", pow(10, s.wide.x_min), pow(10, s.wide.x_max));
    size_t roofs = put_roofs(&d->data, m, &s);
    put_axes(&d->data, &s.wide);
    put_lists(d, m, &s, 20 + 16 * (double)(roofs ? roofs : 1));
    d->script = gnuplot_roofline;
    text_puts(&f->id, "roofline");
    text_puts(&f->title, "Roofline");
    text_printf(&f->alt,
                "Points of %zu programs: operations a second over operations for each byte, under "
                "%zu roofs.",
                s.n, roofs);
    text_puts(&f->note, "A roof for each device and type: left its newest copy bandwidth, right "
                        "the peak that programs of "
                        "the type are judged by, where one of them is bound by arithmetic. Points "
                        "too close to tell "
                        "apart share a label.");
    free(s.all);
    return true;
}

/* ---- gain ------------------------------------------------------------------------------------ */

static bool was_tuned(const struct case_ *c) {
    return c->ours && c->ours->role == ROLE_tuned && c->ours->tuning_s > 0 &&
           isfinite(case_speedup(c, OPPONENT_DEFAULT).value);
}

bool figure_gain(struct figure *f, const struct model *m, size_t first, size_t n) {
    struct spots s = {.all = memory_resize(NULL, n, sizeof *s.all), .n = 0};
    struct drawing *d = &f->drawing;
    for (size_t i = first; i < first + n; i++) {
        const struct case_ *c = &m->cases[i];
        if (!was_tuned(c)) continue;
        s.all[s.n++] =
            (struct spot){log10(c->ours->tuning_s), case_speedup(c, OPPONENT_DEFAULT).value, i};
        figure_add_row(f, c->ours);
        figure_add_row(f, case_opponent(c, OPPONENT_DEFAULT));
    }
    if (s.n < 2) return free(s.all), false;
    bound_plane(&s, 64, 300);
    double margin = fmax((s.wide.y_max - s.wide.y_min) * 0.12, 0.02);
    s.wide.log_y = false;
    s.wide.x_min -= 0.2, s.wide.x_max += 0.2;
    s.wide.y_min = fmin(s.wide.y_min, 1) - margin, s.wide.y_max += margin;
    s.narrow = s.wide;
    s.narrow.width = NARROW - 64;
    s.narrow.height = 260;
    spots_number(s.all, s.n, &s.wide);
    text_puts(&d->data, "$points << EOD\n");
    for (size_t i = 0; i < s.n; i++) {
        const struct case_ *c = &m->cases[s.all[i].case_];
        struct estimate gain = case_speedup(c, OPPONENT_DEFAULT);
        bool known = isfinite(gain.low) && isfinite(gain.high);
        text_printf(&d->data, "%.6g %.6g %.6g %.6g %d %u\n", pow(10, s.all[i].x), gain.value,
                    known ? gain.low : gain.value, known ? gain.high : gain.value,
                    c->roof ? roof_shape(m, c->roof) : 7, device_colour(m, c->bench->key->device));
    }
    text_puts(&d->data, "EOD\n");
    put_axes(&d->data, &s.wide);
    put_lists(d, m, &s, 34);
    put_log_ticks(&d->data, "tics", pow(10, s.wide.x_min), pow(10, s.wide.x_max));
    d->script = gnuplot_gain;
    text_puts(&f->id, "gain");
    text_puts(&f->title, "What tuning cost, and what it gained");
    text_printf(&f->alt,
                "Points of %zu programs: how many times as fast as the default config, over "
                "seconds of tuning.",
                s.n);
    text_puts(&f->note, "The default config costs no search. Whiskers: bounds of the ratio.");
    free(s.all);
    return true;
}
