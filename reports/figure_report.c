/* figure_report.c: the two figures over all benchmarks, for the report page.
 *
 * speedup: one group of bars for each benchmark, the tuned program against unfused kernels, torch
 * eager and torch.compile. roofline: one point for each tuned program, and a roof for each device
 * from its newest row of role roof. Many memory-bound programs share a corner of that plane, so
 * labels are placed here: each is moved down until it is clear of those above it, and a thin line
 * leads from the label to its point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/figure.h"
#include "reports/gnuplot.h"

enum { MAX_DEVICES = 6 };

/* The devices of all benches, in order of appearance. */
struct devices {
    const char *names[MAX_DEVICES];
    size_t n;
};

/* 1-based place of a device; a seventh one shares the last place. */
static size_t device_index(struct devices *d, const char *name) {
    size_t i = 0;
    while (i < d->n && strcmp(d->names[i], name) != 0) i++;
    if (i == MAX_DEVICES) return MAX_DEVICES;
    if (i == d->n) d->names[d->n++] = name;
    return i + 1;
}

static struct devices devices_of(const struct benches *b) {
    struct devices d = {0};
    for (size_t i = 0; i < b->n; i++) device_index(&d, b->all[i].key->device);
    return d;
}

static void put_bench_name(struct text *out, const struct bench *b, bool with_device) {
    const struct result_row *k = b->key;
    text_printf(out, "%s ", k->workload);
    bench_type(out, k);
    if (strcmp(k->mode, "fwd") != 0) text_printf(out, " %s", k->mode);
    if (*k->axes) text_printf(out, "  %s", k->axes);
    if (with_device) text_printf(out, "  %s", k->device);
}

/* ---- speedup --------------------------------------------------------------------------------- */

enum { BENCH_NAME_MAX = 54 };

enum report_status figure_speedup(const struct benches *b, const char *out_prefix,
                                  struct report_error *e) {
    static const unsigned colours[] = {0x9aa3af, 0xc9ae79, 0xb98245};
    struct text settings = {0}, ticks = {0};
    size_t n = 0, widest = 1, n_devices = devices_of(b).n;
    double longest = 1;
    text_puts(&settings, "$bars << EOD\n");
    text_puts(&ticks, "$ticks << EOD\n");
    for (size_t i = 0; i < b->n; i++) {
        const struct bench *bench = &b->all[i];
        const struct result_row *tuned = bench->role[ROLE_tuned];
        const struct result_row *others[] = {bench->role[ROLE_eager], bench->role[ROLE_torch_eager],
                                             bench_best_compiled(bench)};
        if (!result_row_measured(tuned)) continue;
        n++;
        struct text name = {0};
        put_bench_name(&name, bench, n_devices > 1);
        if (name.n > BENCH_NAME_MAX) name.p[name.n = BENCH_NAME_MAX] = 0;
        if (name.n > widest) widest = name.n;
        text_printf(&ticks, "%zu ", n);
        text_gnuplot(&ticks, name.p);
        text_puts(&ticks, "\n");
        text_free(&name);
        for (int k = 0; k < 3; k++) {
            if (!result_row_measured(others[k])) continue;
            double speedup = others[k]->median_us / tuned->median_us;
            text_printf(&settings, "%.4g %.5g %u \"%.2f×\"\n", (double)n + (k - 1) * 0.27, speedup,
                        colours[k], speedup);
            longest = fmax(longest, speedup);
        }
    }
    text_puts(&settings, "EOD\n");
    text_printf(&settings, "%sEOD\n", ticks.p);
    double width = 1100;
    gnuplot_set_number(&settings, "n_benches", (double)n);
    gnuplot_set_number(&settings, "longest", longest);
    gnuplot_set_number(&settings, "width", width);
    gnuplot_set_number(&settings, "height", 110 + 62 * (double)n);
    gnuplot_set_number(&settings, "label_share", 0.03 + 7.6 * (double)widest / width);
    if (n)
        gnuplot_draw(out_prefix, &settings, gnuplot_speedup, e);
    else
        report_fail(e, REPORT_WRONG, "no tuned program was measured");
    text_free(&settings);
    text_free(&ticks);
    return e->status;
}

/* ---- roofline -------------------------------------------------------------------------------- */

struct point {
    double x, y, label_x, label_y; /* FLOP/byte, GFLOP/s; in log10 */
    size_t device;
    struct text name;
};

struct plane {
    double x_min, x_max, y_min, y_max; /* log10 */
    double width, height;              /* pixels inside the axes */
};

static struct plane plane_around(const struct point *p, size_t n) {
    struct plane a = {p[0].x, p[0].x, p[0].y, p[0].y, 820, 430};
    for (size_t i = 1; i < n; i++) {
        a.x_min = fmin(a.x_min, p[i].x);
        a.x_max = fmax(a.x_max, p[i].x);
        a.y_min = fmin(a.y_min, p[i].y);
        a.y_max = fmax(a.y_max, p[i].y);
    }
    a.x_min = floor(a.x_min - 0.3);
    a.x_max = ceil(a.x_max + 0.7);
    a.y_min = floor(a.y_min - 0.5);
    a.y_max = ceil(a.y_max + 0.1);
    return a;
}

static int by_height(const void *a, const void *b) {
    const struct point *p = a, *q = b;
    if (p->y != q->y) return p->y > q->y ? -1 : 1;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Move label i down until it is clear of the labels above it: a line is 15 pixels, a character 7.
 */
static void place_label(struct point *p, size_t i, const struct plane *a) {
    double line = 15 * (a->y_max - a->y_min) / a->height;
    double character = 7 * (a->x_max - a->x_min) / a->width;
    p[i].label_x = p[i].x;
    p[i].label_y = p[i].y;
    for (size_t j = 0; j < i;) {
        bool beside = p[j].label_x > p[i].label_x + character * (double)(p[i].name.n + 2) ||
                      p[i].label_x > p[j].label_x + character * (double)(p[j].name.n + 2);
        if (beside || fabs(p[j].label_y - p[i].label_y) >= line * 0.99) {
            j++;
        } else {
            p[i].label_y = p[j].label_y - line;
            p[i].label_x = p[i].x + 1.5 * character;
            j = 0;
        }
    }
}

static size_t collect_points(struct point *p, const struct benches *b, struct devices *d) {
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct result_row *r = b->all[i].role[ROLE_tuned];
        if (!result_row_measured(r) || !(r->bytes > 0) || !(r->flops > 0)) continue;
        p[n] = (struct point){.x = log10(r->flops / r->bytes),
                              .y = log10(r->flops / r->median_us / 1e3),
                              .device = device_index(d, r->device)};
        text_printf(&p[n].name, "%s ", r->workload);
        bench_type(&p[n].name, r);
        n++;
    }
    qsort(p, n, sizeof *p, by_height);
    return n;
}

/* The roof of a device: a slope of its copy bandwidth up to its peak, if that is known. */
static void put_roof(struct text *out, const char *device, const struct results *all, size_t n,
                     const struct plane *a, double *gbps) {
    double peak = INFINITY;
    *gbps = NAN;
    for (size_t f = 0; f < n; f++) {
        for (size_t i = 0; i < all[f].n; i++) {
            const struct result_row *r = &all[f].rows[i];
            if (r->role != ROLE_roof || strcmp(r->device, device) != 0) continue;
            if (r->gbps > 0) *gbps = r->gbps;
            if (r->tflops > 0) peak = 1e3 * r->tflops;
        }
    }
    if (*gbps > 0) {
        double first = pow(10, a->x_min), last = pow(10, a->x_max), knee = peak / *gbps;
        text_printf(out, "%.6g %.6g\n", first, fmin(*gbps * first, peak));
        if (knee > first && knee < last) text_printf(out, "%.6g %.6g\n", knee, peak);
        text_printf(out, "%.6g %.6g\n\n\n", last, fmin(*gbps * last, peak));
    } else {
        text_puts(out, "NaN NaN\n\n\n"); /* keeps the count of the blocks */
    }
}

static void put_plane(struct text *out, const struct plane *a) {
    gnuplot_set_number(out, "x_min", pow(10, a->x_min));
    gnuplot_set_number(out, "x_max", pow(10, a->x_max));
    gnuplot_set_number(out, "y_min", pow(10, a->y_min));
    gnuplot_set_number(out, "y_max", pow(10, a->y_max));
    gnuplot_set_number(out, "width", a->width + 90);
    gnuplot_set_number(out, "height", a->height + 110);
}

/* gnuplot's word() splits at blanks: "NVIDIA H200" is one word with a no-break space. */
static void put_device_names(struct text *out, const struct devices *d, const double gbps[]) {
    struct text names = {0}, line = {0};
    for (size_t i = 0; i < d->n; i++) {
        text_free(&line);
        text_puts(&line, d->names[i]);
        if (gbps[i] > 0) text_printf(&line, ", copies %.0f GB/s", gbps[i]);
        for (const char *p = line.p; *p; p++)
            text_write(&names, *p == ' ' ? "\u00a0" : p, *p == ' ' ? 2 : 1);
        text_puts(&names, " ");
    }
    gnuplot_set_text(out, "device_names", text_str(&names));
    gnuplot_set_number(out, "n_devices", (double)d->n);
    text_free(&names);
    text_free(&line);
}

enum report_status figure_roofline(const struct benches *b, const struct results *all, size_t n_all,
                                   const char *out_prefix, struct report_error *e) {
    struct point *points = memory_resize(NULL, b->n, sizeof *points);
    struct devices d = {0};
    struct text settings = {0};
    double gbps[MAX_DEVICES];
    size_t n = collect_points(points, b, &d);
    if (n) {
        struct plane a = plane_around(points, n);
        text_puts(&settings, "$points << EOD\n");
        for (size_t i = 0; i < n; i++) {
            place_label(points, i, &a);
            text_printf(&settings, "%.6g %.6g %zu %.6g %.6g ", pow(10, points[i].x),
                        pow(10, points[i].y), points[i].device, pow(10, points[i].label_x),
                        pow(10, points[i].label_y));
            text_gnuplot(&settings, points[i].name.p);
            text_puts(&settings, "\n");
        }
        text_puts(&settings, "EOD\n$roofs << EOD\n");
        for (size_t i = 0; i < d.n; i++) put_roof(&settings, d.names[i], all, n_all, &a, &gbps[i]);
        text_puts(&settings, "EOD\n");
        put_device_names(&settings, &d, gbps);
        put_plane(&settings, &a);
        gnuplot_draw(out_prefix, &settings, gnuplot_roofline, e);
    } else {
        report_fail(e, REPORT_WRONG, "no tuned program with bytes and flops was measured");
    }
    for (size_t i = 0; i < n; i++) text_free(&points[i].name);
    free(points);
    text_free(&settings);
    return e->status;
}
