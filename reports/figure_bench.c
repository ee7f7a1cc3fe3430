/* figure_bench.c: the figure that `bench` draws: which of its rows become bars, and what the bars
 * are called.
 *
 *   fused_softmax: 62 timed, 30 shown; 9 failed          unfused ████████████ 56.8 µs
 *   x=1 warps=8 vec=8  ████████  33.9                    default ████████ 43.6  1.30x
 *   x=1 warps=4 vec=8  █████████ 36.1                    tuned   ██████ 33.9    1.68x
 *
 * A config is dozens of characters, most of them the same in every variant: only the knobs that
 * differ among the shown ones become labels, the others are said once under the axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/estimate.h"
#include "reports/figure.h"
#include "reports/gnuplot.h"
#include "reports/model.h"

enum { MAX_SHOWN = 30, MAX_GROUPS = 8 };

/* ---- names and colours ----------------------------------------------------------------------- */

const char *figure_row_name(const struct result_row *r, char name[64]) {
    const char *text = result_role_shown(r->role);
    if (r->role != ROLE_torch_compile) return snprintf(name, 64, "%s", text), name;
    static const char suffix[] = "-no-cudagraphs";
    size_t n = strlen(r->config), s = sizeof suffix - 1;
    if (n > s && strcmp(r->config + n - s, suffix) == 0) n -= s;
    bool plain = strcmp(r->config, "default") == 0;
    snprintf(name, 64, "%s%s%.*s", text, plain ? "" : " ", plain ? 0 : (int)n, r->config);
    return name;
}

unsigned figure_row_colour(const struct result_row *r) {
    switch (r->role) {
    case ROLE_eager: return 0xb3bac4;
    case ROLE_default: return 0x8fb3d1;
    case ROLE_tuned: return 0x2f6d9e;
    case ROLE_torch_eager: return 0xdccaa8;
    case ROLE_torch_compile: return strcmp(r->config, "default") == 0 ? 0xd3a468 : 0xb98245;
    case ROLE_variant:
    case ROLE_roof:
    case ROLE_COUNT: break;
    }
    return 0x888888;
}

/* ---- words that differ ----------------------------------------------------------------------- */

/* Texts made of words, of which the shared ones are said once: "x=1 warps=8" and "x=1 warps=4"
 * differ in warps alone. */
struct wordings {
    const char **all;
    size_t n;
};

static bool has_word(const char *text, const char *word, size_t length) {
    while (*text) {
        size_t n = strcspn(text, " ");
        if (n == length && memcmp(text, word, n) == 0) return true;
        text += n + strspn(text + n, " ");
    }
    return false;
}

/* The words of `one` (a text of w) that all texts share, or those that they do not. */
static struct text select_words(const struct wordings *w, const char *one, bool shared) {
    struct text out = {0};
    for (const char *p = one; *p;) {
        size_t n = strcspn(p, " "), in = 0;
        while (in < w->n && has_word(w->all[in], p, n)) in++;
        if ((w->n > 1 && in == w->n) == shared) {
            if (out.n) text_puts(&out, " ");
            text_write(&out, p, n);
        }
        p += n + strspn(p + n, " ");
    }
    return out;
}

/* ---- variants -------------------------------------------------------------------------------- */

struct variants {
    const struct result_row **rows; /* measured ones of one kernel, fastest first */
    size_t n, shown;
    size_t failed, skipped; /* failed: tried in vain; skipped: pruned or a duplicate */
    const char *kernel;
    size_t n_kernels;
    const char *run_id; /* that tried them: an older one where this one knew the winner */
    bool older;
};

static bool is_variant(const struct result_row *r, const char *run_id,
                       const struct result_row *key) {
    return r->role == ROLE_variant && strcmp(r->run_id, run_id) == 0 && bench_same_key(r, key);
}

/* The kernel where the time goes: the one whose best variant is slowest. */
static void choose_kernel(struct variants *v, const struct results *r, const char *run_id,
                          const struct result_row *key) {
    double slowest = -1;
    for (size_t i = 0; i < r->n; i++) {
        const char *kernel = r->rows[i].kernel;
        double best = INFINITY;
        bool seen = !is_variant(&r->rows[i], run_id, key);
        for (size_t j = 0; j < r->n && !seen; j++) {
            const struct result_row *other = &r->rows[j];
            if (!is_variant(other, run_id, key) || strcmp(other->kernel, kernel) != 0) continue;
            seen = j < i;
            if (result_row_measured(other)) best = fmin(best, other->median_us);
        }
        if (seen) continue;
        v->n_kernels++;
        if (!v->kernel || (isfinite(best) && best > slowest)) {
            v->kernel = kernel;
            slowest = isfinite(best) ? best : slowest;
        }
    }
}

static int by_time(const void *a, const void *b) {
    const struct result_row *x = *(const struct result_row *const *)a,
                            *y = *(const struct result_row *const *)b;
    if (x->median_us != y->median_us) return x->median_us < y->median_us ? -1 : 1;
    return strcmp(x->config, y->config);
}

/* This run, or the last one that tried variants of the same: one that knows the winner tries none.
 */
static const char *run_with_variants(const struct results *r, const char *run_id,
                                     const struct result_row *key) {
    const char *found = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct result_row *row = &r->rows[i];
        if (row->role != ROLE_variant || !bench_same_key(row, key)) continue;
        if (!strcmp(row->run_id, run_id)) return run_id;
        if (!found || strcmp(row->timestamp, key->timestamp) <= 0) found = row->run_id;
    }
    return found ? found : run_id;
}

static void collect_variants(struct variants *v, const struct results *r, const char *run_id,
                             const struct result_row *key) {
    v->run_id = run_with_variants(r, run_id, key);
    v->older = strcmp(v->run_id, run_id) != 0;
    run_id = v->run_id;
    choose_kernel(v, r, run_id, key);
    v->rows = memory_resize(NULL, r->n, sizeof *v->rows);
    for (size_t i = 0; i < r->n; i++) {
        const struct result_row *row = &r->rows[i];
        if (!is_variant(row, run_id, key) || strcmp(row->kernel, v->kernel) != 0) continue;
        if (result_row_measured(row))
            v->rows[v->n++] = row;
        else if (row->status == STATUS_pruned || row->status == STATUS_duplicate)
            v->skipped++;
        else
            v->failed++;
    }
    if (v->n) qsort(v->rows, v->n, sizeof *v->rows, by_time);
    v->shown = v->n < MAX_SHOWN ? v->n : MAX_SHOWN;
}

static void put_title(struct text *out, const struct variants *v) {
    text_puts(out, v->kernel);
    if (v->n_kernels > 1) text_printf(out, " (slowest of %zu kernels)", v->n_kernels);
    text_printf(out, ": %zu timed", v->n);
    if (v->shown < v->n) text_printf(out, ", %zu fastest shown", v->shown);
    if (v->failed) text_printf(out, ", %zu failed", v->failed);
    if (v->skipped) text_printf(out, ", %zu skipped", v->skipped);
}

enum { LABEL_MAX = 46 }; /* characters of a config label */

/* $variants: place, median, q1, q3, colour, label, time. Returns the longest label in characters.
 */
static size_t put_variants(struct text *out, const struct variants *v, const struct wordings *w) {
    double longest_us = 0, floor = NAN, slowest = v->shown ? v->rows[v->shown - 1]->median_us : 0;
    size_t widest = 0;
    text_puts(out, "$variants << EOD\n");
    for (size_t i = 0; i < v->shown; i++) {
        const struct result_row *r = v->rows[i];
        struct text label = select_words(w, r->config, false);
        if (label.n > LABEL_MAX) {
            label.n = LABEL_MAX - 3;
            text_puts(&label, "...");
        }
        if (label.n > widest) widest = label.n;
        double q1 = isfinite(r->q1_us) ? r->q1_us : r->median_us;
        double q3 = isfinite(r->q3_us) ? r->q3_us : r->median_us;
        q3 = fmin(q3,
                  fmax(r->median_us, 1.15 * slowest)); /* one whisker does not squeeze all others */
        text_printf(out, "%zu %.7g %.7g %.7g %u ", i + 1, r->median_us, q1, q3,
                    r->is_winner == 1 ? 0x2f6d9eu : 0xb9cddfu);
        text_gnuplot(out, label.n ? label.p : "(only config)");
        struct text us = {0};
        put_us(&us, r->median_us);
        text_printf(out, " \"%s%s\"\n", us.p, r->is_winner == 1 ? "  winner" : "");
        text_free(&us);
        longest_us = fmax(longest_us, fmax(q3, r->median_us));
        if (!isfinite(floor)) floor = row_floor_us(r);
        text_free(&label);
    }
    text_puts(out, "EOD\n");
    gnuplot_set_number(out, "n_variants", (double)v->shown);
    gnuplot_set_number(out, "variants_max", longest_us > 0 ? longest_us : 1);
    gnuplot_set_number(out, "variants_floor", isfinite(floor) ? floor : 0);
    struct text floor_text = {0};
    put_us(&floor_text, floor);
    gnuplot_set_text(out, "floor_text", floor_text.p);
    text_free(&floor_text);
    return widest;
}

static size_t put_variant_panel(struct text *out, const struct variants *v) {
    struct text title = {0}, common = {0};
    struct wordings w = {memory_resize(NULL, v->shown, sizeof *w.all), v->shown};
    for (size_t i = 0; i < v->shown; i++) w.all[i] = v->rows[i]->config;
    if (v->kernel) put_title(&title, v);
    if (v->shown) common = select_words(&w, v->rows[0]->config, true);
    gnuplot_set_text(out, "left_title", text_str(&title));
    gnuplot_set_text(out, "common", text_str(&common));
    struct text note = {0};
    if (v->older) text_printf(&note, "tried by run %s", v->run_id);
    if (v->shown && v->rows[0]->is_winner != 1)
        text_printf(&note,
                    "%swinner: finalists are timed again, interleaved; ties go by a fixed order",
                    note.n ? "; " : "");
    gnuplot_set_text(out, "winner_note", text_str(&note));
    text_free(&note);
    size_t widest = put_variants(out, v, &w);
    text_free(&title);
    text_free(&common);
    free(w.all);
    return widest;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A time to draw: measured, or implausible, which is drawn hatched. */
static bool is_drawn(const struct result_row *r) {
    return result_row_measured(r) ||
           (r && r->status == STATUS_implausible && isfinite(r->median_us) && r->median_us > 0);
}

enum { STATE_STEADY, STATE_UNSTEADY, STATE_IMPLAUSIBLE };

static int bar_state(const struct result_row *r) {
    if (r->status == STATUS_implausible) return STATE_IMPLAUSIBLE;
    return row_unsteady(r) ? STATE_UNSTEADY : STATE_STEADY;
}

static const char *state_words(int state) {
    static const char *const words[] = {"", " unsteady", " implausible"};
    return words[state];
}

/* The drawn rows of a bench in the order of the bars. */
static size_t bench_bars(const struct bench *b, const struct result_row *bars[]) {
    const struct result_row *wanted[4 + BENCH_COMPILE_MODES] = {
        b->role[ROLE_eager], b->role[ROLE_default], b->role[ROLE_tuned], b->role[ROLE_torch_eager]};
    size_t n_wanted = 4, n = 0;
    for (size_t i = 0; i < b->n_compiled; i++) wanted[n_wanted++] = b->compiled[i];
    for (size_t i = 0; i < n_wanted; i++)
        if (is_drawn(wanted[i])) bars[n++] = wanted[i];
    return n;
}

enum { MAX_PARTS = 32 };

/* The winners that a tuned program was made of in its run, in the order of its launches. */
static size_t find_winners(const struct results *r, const struct result_row *tuned,
                           const struct result_row *winners[MAX_PARTS]) {
    size_t n = 0;
    for (size_t i = 0; i < r->n && n < MAX_PARTS; i++) {
        const struct result_row *row = &r->rows[i];
        if (row->is_winner == 1 && is_variant(row, tuned->run_id, tuned) &&
            result_row_measured(row))
            winners[n++] = row;
    }
    return n;
}

/* $parts: place, upper edge, middle and label of each kernel's share of the tuned bar. A kernel is
 * called by the number that its name ends in. A program of one kernel has a line that nobody sees.
 */
static void put_parts(struct text *out, const struct results *r, const struct result_row *tuned,
                      double place) {
    const struct result_row *winners[MAX_PARTS];
    size_t n = result_row_measured(tuned) && r ? find_winners(r, tuned, winners) : 0;
    double whole = tuned ? tuned->median_us : 0, all = 0, below = 0;
    for (size_t i = 0; i < n; i++) all += winners[i]->median_us;
    text_puts(out, "$parts << EOD\n");
    if (n < 2) text_puts(out, "-10 0 0 \"\"\n");
    for (size_t i = 0; i < n && n > 1; i++) {
        const char *number = strrchr(winners[i]->kernel, '_');
        double share = winners[i]->median_us / all, height = share * whole;
        text_printf(out, "%.4g %.7g %.7g ", place, below + height, below + height / 2);
        if (share < 0.08 || !number)
            text_puts(out, "\"\"\n");
        else
            text_printf(out, "\"#%s %.0f %%\"\n", number + 1, 100 * share);
        below += height;
    }
    text_puts(out, "EOD\n");
    gnuplot_set_text(out, "parts_note",
                     n < 2 ? "" : "tuned: # of each kernel's name, and its share of their time");
}

/* What stands under a bar, in two lines. */
static void put_tick(struct text *ticks, double x, const char *above, const char *below) {
    text_printf(ticks, "%.4g ", x);
    text_gnuplot(ticks, above);
    text_puts(ticks, " ");
    text_gnuplot(ticks, below);
    text_puts(ticks, "\n");
}

/* torch / max-autotune: "torch.compile max-autotune" in one line is too wide to stand beside
 * another. */
static void put_row_tick(struct text *ticks, double x, const struct result_row *r) {
    char name[64];
    const char *blank = strchr(figure_row_name(r, name), ' ');
    bool torch = r->role == ROLE_torch_eager || r->role == ROLE_torch_compile;
    if (torch)
        put_tick(ticks, x, "torch", blank ? blank + 1 : "compile");
    else
        put_tick(ticks, x, name, "");
}

/* One point: a bar in us for each way to run it, with its speedup over the first. */
static void put_one_bench(struct text *out, struct text *ticks, const struct results *r,
                          const struct bench *b) {
    const struct result_row *bars[4 + BENCH_COMPILE_MODES];
    size_t n = bench_bars(b, bars);
    double highest = 0, floor = NAN, tuned = 0;
    char name[64];
    text_puts(out, "$programs << EOD\n");
    for (size_t i = 0; i < n; i++) {
        if (bars[i]->role == ROLE_tuned) tuned = (double)i + 1;
        int state = bar_state(bars[i]);
        struct estimate t = row_time(bars[i]), times = speedup_of(bars[0], bars[i]);
        struct text ratio = {0}, us = {0};
        if (state == STATE_IMPLAUSIBLE || !isfinite(times.value))
            text_printf(&ratio, "~%.0f", bars[0]->median_us / bars[i]->median_us);
        else
            put_ratio(&ratio, &times);
        put_us(&us, bars[i]->median_us);
        text_printf(out, "%zu %.7g %u \"%s×\" \"%s%s\" %.7g %.7g %d\n", i + 1, bars[i]->median_us,
                    figure_row_colour(bars[i]), ratio.p, us.p, state_words(state),
                    isfinite(t.low) ? t.low : t.value, isfinite(t.high) ? t.high : t.value, state);
        text_free(&ratio);
        text_free(&us);
        put_row_tick(ticks, (double)i + 1, bars[i]);
        highest = fmax(highest, bars[i]->median_us);
        if (!isfinite(floor)) floor = row_floor_us(bars[i]);
    }
    text_puts(out, "EOD\n");
    put_parts(out, r, b->role[ROLE_tuned], tuned);
    struct text title = {0};
    text_printf(&title, "whole program; × is the speedup over %s",
                n ? figure_row_name(bars[0], name) : result_role_shown(ROLE_eager));
    gnuplot_set_text(out, "right_title", text_str(&title));
    gnuplot_set_text(out, "programs_axis", "time of one call, median in µs");
    gnuplot_set_number(out, "programs_last", n ? (double)n : 1);
    gnuplot_set_number(out, "programs_max", highest > 0 ? highest : 1);
    gnuplot_set_number(out, "programs_floor", isfinite(floor) ? floor : 0);
    gnuplot_set_number(out, "bar_width", 0.62);
    gnuplot_set_number(out, "n_lines", 0);
    gnuplot_set_text(out, "legend", "");
    text_free(&title);
}

/* A point is called by what differs: its first word above, the others below. */
static void put_point_tick(struct text *ticks, double x, const struct wordings *w,
                           const char *point) {
    struct text name = select_words(w, point, false), above = {0};
    size_t n = strcspn(text_str(&name), " ");
    text_write(&above, text_str(&name), n);
    put_tick(ticks, x, above.p, text_str(&name) + n);
    text_free(&above);
    text_free(&name);
}

/* The bars of one point of a sweep, around x, as speedups over unfused kernels. Returns the
 * highest. */
static double put_point(struct text *out, double x, const struct bench *b) {
    const struct result_row *eager = b->role[ROLE_eager];
    const struct result_row *bars[] = {b->role[ROLE_default], b->role[ROLE_tuned],
                                       bench_best_compiled(b)};
    double highest = 0;
    for (int i = 0; i < 3 && result_row_measured(eager); i++) {
        if (!result_row_measured(bars[i])) continue;
        struct estimate times = speedup_of(eager, bars[i]);
        struct text ratio = {0};
        int state = bar_state(bars[i]);
        if (state == STATE_STEADY) state = bar_state(eager);
        bool known = isfinite(times.low) && isfinite(times.high);
        put_ratio(&ratio, &times);
        text_printf(out, "%.4g %.5g %u \"\" \"%s\" %.5g %.5g %d\n", x + (i - 1) * 0.27, times.value,
                    figure_row_colour(bars[i]), ratio.p, known ? times.low : times.value,
                    known ? times.high : times.value, state);
        if (state == STATE_STEADY)
            highest = fmax(highest, times.value); /* what is not known sets no scale */
        text_free(&ratio);
    }
    return highest;
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* The number in which the points differ, if it is all that they differ in: a ladder of one axis. */
static bool find_sizes(const struct wordings *w, double *sizes, struct text *axis) {
    for (size_t i = 0; i < w->n; i++) {
        struct text word = select_words(w, w->all[i], false);
        char *equals = word.p ? strchr(word.p, '=') : NULL, *end = NULL;
        if (equals) sizes[i] = strtod(equals + 1, &end);
        bool ok = end && end > equals + 1 && !*end && sizes[i] > 0;
        if (ok && i == 0) text_write(axis, word.p, (size_t)(equals - word.p));
        ok = ok && axis->n == (size_t)(equals - word.p) && !strncmp(axis->p, word.p, axis->n);
        text_free(&word);
        if (!ok) return false;
    }
    return true;
}

/* $lines: a block for each way to run it: size, speedup over unfused, its bounds. From 3 sizes on:
 * bars would be many. */
static size_t put_lines(struct text *out, const struct benches *b, const double *sizes,
                        double *highest, struct text *legend, struct text *colours) {
    size_t n = 0;
    text_puts(out, "$lines << EOD\n");
    for (int way = 0; way < 3; way++) {
        static const char *const names[] = {"default", "tuned", "torch.compile"};
        struct text block = {0};
        unsigned colour = 0;
        for (size_t i = 0; i < b->n; i++) {
            const struct bench *bench = &b->all[i];
            const struct result_row *r = way == 2 ? bench_best_compiled(bench)
                                                  : bench->role[way ? ROLE_tuned : ROLE_default];
            struct estimate s = speedup_of(bench->role[ROLE_eager], r);
            if (!isfinite(s.value)) continue;
            bool known = isfinite(s.low) && isfinite(s.high);
            colour = figure_row_colour(r);
            text_printf(&block, "%.9g %.6g %.6g %.6g\n", sizes[i], s.value, known ? s.low : s.value,
                        known ? s.high : s.value);
            if (!row_unsteady(r) && !row_unsteady(bench->role[ROLE_eager]))
                *highest = fmax(*highest, s.value);
        }
        if (block.n) {
            text_printf(out, "%s\n\n", block.p);
            text_printf(legend, "%s%s", n ? " " : "", names[way]);
            text_printf(colours, "%s#%06x", n ? " " : "", colour);
            n++;
        }
        text_free(&block);
    }
    text_puts(out, "EOD\n");
    return n;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* No more ticks than have room. */
static void put_size_ticks(struct text *out, double *sizes, size_t n) {
    struct text tics = {0};
    qsort(sizes, n, sizeof *sizes, by_number);
    size_t every = (n + 4) / 5;
    for (size_t i = 0; i < n; i++)
        if (i % every == 0) text_printf(&tics, "%s%.9g", tics.n ? "," : "(", sizes[i]);
    text_puts(&tics, ")");
    gnuplot_set_text(out, "sizes", tics.p);
    gnuplot_set_number(out, "size_low", sizes[0] / 1.2);
    gnuplot_set_number(out, "size_high", sizes[n - 1] * 1.2);
    text_free(&tics);
}

/* A sweep: a group of bars for each point, as speedups, since times of different sizes share no
 * scale. A group is called by what differs between the points. */
static void put_sweep(struct text *out, struct text *ticks, const struct benches *b) {
    struct wordings w = {memory_resize(NULL, b->n, sizeof *w.all), 0};
    struct text *names = memory_resize(NULL, b->n, sizeof *names), legend = {0}, colours = {0},
                axis = {0}, title = {0};
    double highest = 1, *sizes = memory_resize(NULL, b->n, sizeof *sizes);
    size_t n_lines = 0;
    for (size_t g = 0; g < b->n; g++) {
        const struct result_row *key = b->all[g].key;
        names[g] = (struct text){0};
        text_printf(&names[g], "%s ", key->axes);
        bench_type(&names[g], key);
        text_printf(&names[g], " %s %s", key->mode, key->device);
        w.all[w.n++] = names[g].p;
    }
    text_puts(&title, "speedup over unfused kernels at each point of the sweep");
    if (b->n >= 3 && find_sizes(&w, sizes, &axis)) {
        gnuplot_set_number(out, "programs_last", (double)b->n);
        n_lines = put_lines(out, b, sizes, &highest, &legend, &colours);
        put_size_ticks(out, sizes, b->n);
        text_puts(out, "$programs << EOD\n0 0 0 \"\" \"\" 0 0 9\nEOD\n");
    } else {
        size_t first = b->n > MAX_GROUPS ? b->n - MAX_GROUPS : 0;
        if (first) text_printf(&title, ": the last %d of %zu", MAX_GROUPS, b->n);
        struct wordings shown = {w.all + first, b->n - first};
        bool has[3] = {false};
        text_puts(out, "$programs << EOD\n");
        for (size_t i = 0; i < shown.n; i++) {
            const struct bench *bench = &b->all[first + i];
            put_point_tick(ticks, (double)i + 1, &shown, shown.all[i]);
            highest = fmax(highest, put_point(out, (double)i + 1, bench));
            has[0] |= result_row_measured(bench->role[ROLE_default]);
            has[1] |= result_row_measured(bench->role[ROLE_tuned]);
            has[2] |= result_row_measured(bench_best_compiled(bench));
        }
        text_puts(out, "EOD\n");
        static const char *const ways[] = {"default #8fb3d1", "tuned #2f6d9e",
                                           "torch.compile #b98245"};
        for (int i = 0; i < 3; i++) {
            size_t blank = strcspn(ways[i], " ");
            if (!has[i]) continue;
            text_printf(&legend, "%s%.*s", legend.n ? " " : "", (int)blank, ways[i]);
            text_printf(&colours, "%s%s", colours.n ? " " : "", ways[i] + blank + 1);
        }
        gnuplot_set_number(out, "programs_last", (double)shown.n);
    }
    put_parts(out, NULL, NULL, 0);
    gnuplot_set_text(out, "right_title", title.p);
    gnuplot_set_text(out, "programs_axis", "speedup over unfused kernels");
    gnuplot_set_number(out, "n_lines", (double)n_lines);
    gnuplot_set_text(out, "size_axis", text_str(&axis));
    gnuplot_set_number(out, "programs_max", highest);
    gnuplot_set_number(out, "programs_floor", 0);
    gnuplot_set_number(out, "bar_width", 0.24);
    gnuplot_set_text(out, "legend", text_str(&legend));
    gnuplot_set_text(out, "legend_colours", text_str(&colours));
    for (size_t i = 0; i < w.n; i++) text_free(&names[i]);
    text_free(&legend);
    text_free(&colours);
    text_free(&axis);
    text_free(&title);
    free(names);
    free(sizes);
    free(w.all);
}

static void put_program_panel(struct text *out, const struct results *r, const struct benches *b) {
    struct text ticks = {0};
    text_puts(&ticks, "$ticks << EOD\n");
    if (b->n == 1)
        put_one_bench(out, &ticks, r, &b->all[0]);
    else
        put_sweep(out, &ticks, b);
    text_puts(&ticks, "EOD\n");
    text_puts(out, ticks.p);
    text_free(&ticks);
}

/* ---- the figure ------------------------------------------------------------------------------ */

static void put_titles(struct text *out, const struct result_row *r) {
    struct text title = {0}, subtitle = {0}, second = {0};
    text_printf(&title, "%s  ", r->workload);
    bench_type(&title, r);
    text_printf(&title, "  %s", r->mode);
    if (*r->axes) text_printf(&title, "   %s", r->axes);
    text_puts(&subtitle, r->device);
    const char *facts[] = {r->arch, r->driver, r->toolchain, r->timer, r->git_rev, r->timestamp};
    static const char *const names[] = {"", "driver ", "", "timer ", "revision ", ""};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        struct text *line = i < 2 ? &subtitle : &second;
        if (facts[i] && *facts[i])
            text_printf(line, "%s%s%s", line->n ? "  ·  " : "", names[i], facts[i]);
    }
    gnuplot_set_text(out, "title", text_str(&title));
    gnuplot_set_text(out, "subtitle", text_str(&subtitle));
    gnuplot_set_text(out, "subtitle2", text_str(&second));
    text_free(&title);
    text_free(&subtitle);
    text_free(&second);
}

static enum report_status draw(const struct results *r, const struct benches *b, const char *run_id,
                               const char *out_prefix, struct report_error *e) {
    const struct result_row *key = b->all[b->n - 1].key;
    struct text settings = {0};
    struct variants v = {0};
    collect_variants(&v, r, run_id, key);
    put_titles(&settings, key);
    size_t label = put_variant_panel(&settings, &v);
    put_program_panel(&settings, r, b);
    double width = v.shown ? 1280 : 760, height = fmax(500, 220 + 19.0 * (double)v.shown);
    gnuplot_set_number(&settings, "width", width);
    gnuplot_set_number(&settings, "height", height);
    gnuplot_set_number(&settings, "label_share", 0.025 + 7.7 * (double)label / width);
    gnuplot_set_number(&settings, "split", v.shown ? 0.61 : 0.06);
    struct drawing d = {.data = settings, .script = gnuplot_bench};
    text_puts(&d.prefix, out_prefix);
    gnuplot_draw(&d, 1, e);
    drawing_free(&d);
    free(v.rows);
    return e->status;
}

/* The words of an axes text that all benches share: of a sweep, what does not differ. */
static void put_shared_axes(struct text *out, const struct benches *b) {
    struct wordings w = {memory_resize(NULL, b->n, sizeof *w.all), b->n};
    for (size_t i = 0; i < b->n; i++) w.all[i] = b->all[i].key->axes;
    struct text shared = b->n > 1 ? select_words(&w, w.all[0], true) : (struct text){0};
    text_puts(out, b->n > 1 ? text_str(&shared) : w.all[0]);
    if (b->n > 1) text_puts(out, " sweep");
    text_free(&shared);
    free(w.all);
}

enum { NAME_MAX_BYTES = 200 }; /* of 255 that file systems take, with an ending */

void figure_bench_name(struct text *out, const struct benches *b) {
    const struct result_row *k = b->all[b->n - 1].key;
    struct text words = {0}, type = {0}, name = {0};
    bench_type(&type, k);
    text_printf(&words, "%s %s %s ", k->workload, text_str(&type), k->mode);
    put_shared_axes(&words, b);
    text_printf(&words, " %s", k->device);
    put_file_name(&name, words.p);
    if (name.n > NAME_MAX_BYTES) {   /* told apart by all of it */
        unsigned hash = 2166136261u; /* FNV-1a */
        for (size_t i = 0; i < words.n; i++) hash = (hash ^ (unsigned char)words.p[i]) * 16777619u;
        name.p[name.n = NAME_MAX_BYTES - 9] = 0;
        text_printf(&name, "-%08x", hash);
    }
    text_puts(out, name.p);
    text_free(&words);
    text_free(&type);
    text_free(&name);
}

enum report_status figure_bench(const char *csv_path, const char *run_id, const char *out_prefix,
                                struct text *drawn, struct report_error *e) {
    struct text prefix = {0};
    struct results r;
    struct benches b = {0};
    if (results_read(csv_path, &r, e) == REPORT_OK) {
        const char *run = run_find(&r, run_id ? run_id : "last");
        if (run) benches_add(&b, &r, run);
        if (b.n) {
            const char *slash = strrchr(csv_path, '/');
            if (out_prefix) {
                text_puts(&prefix, out_prefix);
            } else {
                text_write(&prefix, csv_path, slash ? (size_t)(slash - csv_path) + 1 : 0);
                figure_bench_name(&prefix, &b);
            }
            if (draw(&r, &b, run, prefix.p, e) == REPORT_OK && drawn) text_puts(drawn, prefix.p);
        } else
            report_fail(e, REPORT_WRONG, "'%s' has no program row of run '%s'", csv_path,
                        run_id ? run_id : "last");
    }
    text_free(&prefix);
    benches_free(&b);
    results_free(&r);
    return e->status;
}
