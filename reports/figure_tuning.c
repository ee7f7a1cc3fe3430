/* figure_tuning.c: the search for a kernel's config: every trial in its order and the fastest so
 * far; all configs by the two knobs that explain most of their times, the winner marked; the
 * samples of the fastest.
 *
 * Which two knobs: those whose values' means differ most, in squares about the mean of all log
 * times (as an analysis of variance has it). A cell shows its fastest config. */
#include "reports/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KNOBS = 32, MAX_VALUES = 12, MAX_BOXES = 8 };

struct knob {
    const char *name; /* n letters */
    size_t n;
    long values[MAX_VALUES + 1];
    size_t n_values;
    double explained;
};

static bool knob_value(const char *config, const char *name, size_t n, long *value) {
    for (const char *p = config; *p;) {
        size_t length = strcspn(p, " ");
        if (length > n && !memcmp(p, name, n) && p[n] == '=') {
            char *end;
            *value = strtol(p + n + 1, &end, 10);
            return end == p + length;
        }
        p += length + strspn(p + length, " ");
    }
    return false;
}

static int by_value(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

static void add_value(struct knob *k, long value) {
    for (size_t i = 0; i < k->n_values; i++)
        if (k->values[i] == value) return;
    if (k->n_values <= MAX_VALUES) k->values[k->n_values++] = value;
}

/* The squares between the means of a knob's values. */
static double explained_by(const struct knob *k, const struct kernel *kernel) {
    double mean = 0, between = 0;
    size_t n = 0;
    for (size_t i = 0; i < kernel->n; i++)
        if (result_row_measured(kernel->trials[i])) mean += log(kernel->trials[i]->median_us), n++;
    if (!n) return 0;
    mean /= (double)n;
    for (size_t v = 0; v < k->n_values; v++) {
        double sum = 0;
        size_t count = 0;
        long value;
        for (size_t i = 0; i < kernel->n; i++) {
            const struct result_row *r = kernel->trials[i];
            if (!result_row_measured(r) || !knob_value(r->config, k->name, k->n, &value) ||
                value != k->values[v])
                continue;
            sum += log(r->median_us);
            count++;
        }
        if (count)
            between += (double)count * (sum / (double)count - mean) * (sum / (double)count - mean);
    }
    return between;
}

static int by_explained(const void *a, const void *b) {
    const struct knob *x = a, *y = b;
    if (x->explained != y->explained) return x->explained > y->explained ? -1 : 1;
    size_t n = x->n < y->n ? x->n : y->n;
    return memcmp(x->name, y->name, n);
}

/* The knobs that differ among the trials, those that explain most first. */
static size_t find_knobs(struct knob knobs[MAX_KNOBS], const struct kernel *kernel) {
    size_t n = 0;
    for (size_t i = 0; i < kernel->n; i++)
        for (const char *p = kernel->trials[i]->config; *p;) {
            size_t length = strcspn(p, " "), name = strcspn(p, "=");
            long value;
            if (name < length && knob_value(p, p, name, &value)) {
                size_t k = 0;
                while (k < n && (knobs[k].n != name || memcmp(knobs[k].name, p, name) != 0)) k++;
                if (k == n && n < MAX_KNOBS) {
                    knobs[n] = (struct knob){.name = p, .n = name};
                    n++;
                }
                if (k < n) add_value(&knobs[k], value);
            }
            p += length + strspn(p + length, " ");
        }
    size_t kept = 0;
    for (size_t k = 0; k < n; k++)
        if (knobs[k].n_values > 1 && knobs[k].n_values <= MAX_VALUES) knobs[kept++] = knobs[k];
    for (size_t k = 0; k < kept; k++) {
        qsort(knobs[k].values, knobs[k].n_values, sizeof *knobs[k].values, by_value);
        knobs[k].explained = explained_by(&knobs[k], kernel);
    }
    if (kept) qsort(knobs, kept, sizeof *knobs, by_explained);
    return kept;
}

/* ---- landscape ------------------------------------------------------------------------------- */

/* From the fastest, dark, to 1.5 times its time and more, light. */
static unsigned heat(double us, double best) {
    static const int dark[] = {0x1d, 0x4f, 0x7a}, light[] = {0xdf, 0xea, 0xf2};
    double share = fmin(log(us / best) / log(1.5), 1);
    unsigned colour = 0;
    for (int i = 0; i < 3; i++)
        colour = colour << 8 | (unsigned)lround(dark[i] + share * (light[i] - dark[i]));
    return colour;
}

/* Relative luminance (WCAG 2): below it white letters are the clearer ones, above it black ones,
 * and 4.5 either way. */
static bool is_dark(unsigned colour) {
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double luminance = 0;
    for (int i = 0; i < 3; i++) {
        double v = (colour >> (16 - 8 * i) & 255) / 255.0;
        luminance += weights[i] * (v <= 0.03928 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return luminance < 0.179;
}

static void put_tics(struct text *out, const char *name, const struct knob *k) {
    text_printf(out, "%s = '(", name);
    for (size_t i = 0; i < k->n_values; i++)
        text_printf(out, "%s\"%ld\" %zu", i ? ", " : "", k->values[i], i + 1);
    text_puts(out, ")'\n");
}

static void put_short_us(struct text *out, double us) {
    text_printf(out, "%.*f", us < 9.995 ? 2 : us < 99.95 ? 1 : 0, us);
}

static void put_cell(struct text *out, const struct kernel *kernel, const struct knob *x,
                     const struct knob *y, size_t column, size_t row) {
    double best = NAN;
    bool winner = false, tried = false;
    long value;
    for (size_t i = 0; i < kernel->n; i++) {
        const struct result_row *r = kernel->trials[i];
        if (!knob_value(r->config, x->name, x->n, &value) || value != x->values[column]) continue;
        if (!knob_value(r->config, y->name, y->n, &value) || value != y->values[row]) continue;
        tried = true;
        winner |= r->is_winner == 1;
        if (result_row_measured(r)) best = fmin(best, r->median_us);
    }
    if (!tried) return;
    struct text label = {0};
    if (isfinite(best))
        put_short_us(&label, best);
    else
        text_puts(&label, "×");
    unsigned colour = isfinite(best) ? heat(best, kernel->best_us) : 0xffffff;
    bool on_dark = is_dark(colour);
    text_printf(out, "%zu %zu 0 %u %d %d \"%s\"\n", column + 1, row + 1, colour, winner, on_dark,
                label.p);
    text_free(&label);
}

static void put_landscape(struct text *out, const struct kernel *kernel) {
    struct knob knobs[MAX_KNOBS];
    size_t n = find_knobs(knobs, kernel);
    text_puts(out, "$cells << EOD\n");
    if (n < 2 || !isfinite(kernel->best_us)) {
        text_puts(out,
                  "NaN NaN 0 0 0 0 \"\"\nEOD\nmap_title = \"Configs\"\nn_columns = 0\nn_rows = 0\n"
                  "column_tics = \"()\"\nrow_tics = \"()\"\ncolumn_knob = \"\"\nrow_knob = \"\"\n");
        return;
    }
    const struct knob *x = &knobs[0], *y = &knobs[1];
    for (size_t column = 0; column < x->n_values; column++)
        for (size_t row = 0; row < y->n_values; row++) put_cell(out, kernel, x, y, column, row);
    text_puts(out, "EOD\n");
    gnuplot_set_text(out, "map_title", "Configs: least µs by two knobs; framed: winner");
    gnuplot_set_number(out, "n_columns", (double)x->n_values);
    gnuplot_set_number(out, "n_rows", (double)y->n_values);
    put_tics(out, "column_tics", x);
    put_tics(out, "row_tics", y);
    text_printf(out, "column_knob = \"%.*s\"\nrow_knob = \"%.*s\"\n", (int)x->n, x->name, (int)y->n,
                y->name);
}

/* ---- search and samples ---------------------------------------------------------------------- */

static void put_trials(struct text *out, const struct kernel *k) {
    double best = 0, low = INFINITY, high = 0;
    text_puts(out, "$trials << EOD\n");
    for (size_t i = 0; i < k->n; i++) {
        const struct result_row *r = k->trials[i];
        bool timed = result_row_measured(r);
        if (timed) {
            best = best > 0 ? fmin(best, r->median_us) : r->median_us;
            low = fmin(low, r->median_us);
            high = fmax(high, r->median_us);
        }
        text_printf(out, "%zu %.6g %.6g %d\n", i + 1, timed ? r->median_us : 0, best,
                    !timed              ? 2
                    : r->is_winner == 1 ? 1
                                        : 0);
    }
    text_puts(out, "EOD\n");
    gnuplot_set_number(out, "n_trials", (double)k->n);
    put_log_ticks(out, "us_tics", low / 1.08, high * 1.12);
    gnuplot_set_number(out, "us_low", low / 1.08);
    gnuplot_set_number(out, "us_high", high * 1.12);
}

static int by_time(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    if (x->median_us != y->median_us) return x->median_us < y->median_us ? -1 : 1;
    return strcmp(x->config, y->config);
}

static bool shared_word(const struct result_row *const *rows, size_t n, const char *word,
                        size_t length) {
    for (size_t i = 0; i < n; i++) {
        const char *p = rows[i]->config;
        bool found = false;
        while (*p && !found) {
            size_t w = strcspn(p, " ");
            found = w == length && !memcmp(p, word, w);
            p += w + strspn(p + w, " ");
        }
        if (!found) return false;
    }
    return n > 1;
}

/* The knobs of a config that the others shown do not share. */
static void put_own_words(struct text *out, const struct result_row *const *rows, size_t n,
                          const char *config, size_t most) {
    for (const char *p = config; *p;) {
        size_t w = strcspn(p, " ");
        if (!shared_word(rows, n, p, w)) {
            if (out->n && out->n + w + 3 > most) {
                text_puts(out, " …");
                return;
            }
            if (out->n) text_puts(out, " ");
            text_write(out, p, w);
        }
        p += w + strspn(p + w, " ");
    }
}

static void put_boxes(struct text *out, const struct kernel *k) {
    const struct result_row **rows = memory_resize(NULL, k->n, sizeof *rows);
    size_t n = 0;
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < k->n; i++)
        if (result_row_measured(k->trials[i])) rows[n++] = k->trials[i];
    if (n) qsort(rows, n, sizeof *rows, by_time);
    if (n > MAX_BOXES) n = MAX_BOXES;
    text_puts(out, "$boxes << EOD\n");
    for (size_t i = 0; i < n; i++) {
        const struct result_row *r = rows[i];
        double half = row_half_us(r), q1 = isfinite(r->q1_us) ? r->q1_us : r->median_us,
               q3 = isfinite(r->q3_us) ? r->q3_us : r->median_us,
               least = isfinite(r->min_us) ? r->min_us : q1;
        struct text label = {0};
        put_own_words(&label, rows, n, r->config, 30);
        if (!label.n) text_puts(&label, "only config");
        text_printf(&label, ", n=%.0f%s", r->n, r->is_winner == 1 ? ", winner" : "");
        text_printf(out, "%zu %.6g %.6g %.6g %.6g %.6g %d %u ", i + 1, least, q1, r->median_us, q3,
                    isfinite(half) ? half : 0, r->is_winner == 1,
                    r->is_winner == 1 ? 0x2f6d9e : 0x9fbdd6);
        text_gnuplot(out, label.p);
        text_puts(out, "\n");
        text_free(&label);
        low = fmin(low, least);
        high = fmax(high, fmax(q3, r->median_us + (isfinite(half) ? half : 0)));
    }
    text_puts(out, "EOD\n");
    double margin = fmax((high - low) * 0.04, high * 0.001);
    gnuplot_set_number(out, "n_boxes", (double)n);
    gnuplot_set_number(out, "box_low", low - margin);
    gnuplot_set_number(out, "box_high", high + margin);
    free(rows);
}

bool figure_tuning(struct figure *f, const struct model *m, const struct case_ *c) {
    struct drawing *d = &f->drawing;
    const struct kernel *k = c->tuning.n ? &c->tuning.kernels[0] : NULL;
    if (!k || !isfinite(k->best_us)) return false;
    for (size_t i = 0; i < k->n; i++) figure_add_row(f, k->trials[i]);
    put_trials(&d->data, k);
    put_landscape(&d->data, k);
    put_boxes(&d->data, k);
    drawing_set_heights(d, 330, 3 * 300);
    d->script = gnuplot_tuning;
    struct text label = {0};
    case_label(&label, m, c, false, 0);
    text_puts(&f->id, "tuning");
    text_printf(&f->title, "Tuning: %s", label.p);
    text_printf(
        &f->alt,
        "Kernel %s: times of %zu trials in order, its configs by two knobs, and the samples of the "
        "fastest.",
        k->name, k->n);
    text_puts(&f->note, "Kernel <code>");
    text_html(&f->note, k->name);
    text_puts(&f->note, "</code>");
    if (c->tuning.n > 1) text_printf(&f->note, ", the slowest of %zu", c->tuning.n);
    text_puts(&f->note, ". Crosses: not timed. Finalists are timed again, interleaved, and ties "
                        "are broken by a fixed "
                        "order: the winner need not have the least median here.");
    text_free(&label);
    return true;
}
