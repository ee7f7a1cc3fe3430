/* figure_history.c: the times of a case's tuned program over its runs, oldest first; where its
 * driver or its compiler was another than the run before, since a step there is theirs until shown
 * otherwise; and where its level has changed (change.h), dated to the first night of the new one
 * and the revisions on either side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/change.h"
#include "reports/figures.h"

#define THRESHOLD 0.02 /* as `compare` has it */
#define PRIOR 0.01     /* noise from night to night before there are nights */

enum { LEAST = 3, MOST_EVENTS = 12, MOST_RUNS = 500 };

static const char *text_of(const char *s) { return s && *s ? s : "?"; }

/* "driver 580.1 to 580.2"; nothing where neither changed. */
static void put_event(struct text *out, const struct result_row *before,
                      const struct result_row *r) {
    if (strcmp(text_of(before->driver), text_of(r->driver)) != 0)
        text_printf(out, "driver %s", text_of(r->driver));
    if (strcmp(text_of(before->toolchain), text_of(r->toolchain)) != 0)
        text_printf(out, "%s%s", out->n ? ", " : "", text_of(r->toolchain));
}

static void put_events(struct text *out, const struct case_ *c) {
    struct text times = {0}, texts = {0};
    size_t n = 0;
    for (size_t i = 1; i < c->n_history && n < MOST_EVENTS; i++) {
        struct text event = {0};
        put_event(&event, c->history[i - 1], c->history[i]);
        if (event.n) {
            put_word(&times, c->history[i]->timestamp);
            put_word(&texts, event.p);
            n++;
        }
        text_free(&event);
    }
    gnuplot_set_number(out, "n_events", (double)n);
    gnuplot_set_text(out, "event_times", text_str(&times));
    gnuplot_set_text(out, "event_texts", text_str(&texts));
    text_free(&times);
    text_free(&texts);
}

/* The runs of one day are a night: the median of their logarithms. */
struct nights {
    struct change_night *all;
    const struct result_row **first; /* run of each */
    size_t n;
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct nights nights_of(const struct case_ *c) {
    struct nights n = {memory_resize(NULL, c->n_history, sizeof *n.all),
                       memory_resize(NULL, c->n_history, sizeof *n.first), 0};
    double *logs = memory_resize(NULL, c->n_history, sizeof *logs);
    for (size_t i = 0; i < c->n_history;) {
        const struct result_row *first = c->history[i], *before = i ? c->history[i - 1] : NULL;
        size_t runs = 0, k = i;
        for (; k < c->n_history && !strncmp(c->history[k]->timestamp, first->timestamp, 10); k++)
            if (result_row_measured(c->history[k])) logs[runs++] = log(c->history[k]->median_us);
        i = k;
        if (!runs) continue;
        qsort(logs, runs, sizeof *logs, by_value);
        struct text event = {0};
        if (before) put_event(&event, before, first);
        double median = (logs[(runs - 1) / 2] + logs[runs / 2]) / 2;
        n.all[n.n] = (struct change_night){median, PRIOR, runs, event.n > 0};
        n.first[n.n++] = first;
        text_free(&event);
    }
    free(logs);
    return n;
}

/* "+4.1 %, 3 nights: abc..def" at the night since when. A change is marked once: as it was last
 * said. */
static void put_changes(struct text *out, const struct case_ *c) {
    struct nights nights = nights_of(c);
    struct change *after = memory_resize(NULL, nights.n, sizeof *after);
    struct text times = {0}, texts = {0};
    size_t n = 0;
    change_follow(nights.all, nights.n, THRESHOLD, after);
    for (size_t i = 0; i < nights.n && n < MOST_EVENTS; i++) {
        const struct change *now = &after[i], *next = i + 1 < nights.n ? &after[i + 1] : NULL;
        bool changed = now->verdict == CHANGE_SLOWER || now->verdict == CHANGE_FASTER;
        if (!changed || (next && next->verdict == now->verdict)) continue;
        const struct result_row *to = nights.first[now->since],
                                *from = now->since ? nights.first[now->since - 1] : to;
        struct text label = {0};
        text_printf(&label, "%s%+.1f %%", now->shape == CHANGE_DRIFT ? "drift " : "",
                    100 * expm1(now->shift));
        if (*text_of(from->git_rev) != '?' && strcmp(from->git_rev, text_of(to->git_rev)) != 0)
            text_printf(&label, ", %.8s..%.8s", from->git_rev, text_of(to->git_rev));
        put_word(&times, to->timestamp);
        put_word(&texts, label.p);
        text_free(&label);
        n++;
    }
    gnuplot_set_number(out, "n_changes", (double)n);
    gnuplot_set_text(out, "change_times", text_str(&times));
    gnuplot_set_text(out, "change_texts", text_str(&texts));
    text_free(&times);
    text_free(&texts);
    free(after);
    free(nights.all);
    free(nights.first);
}

/* A few dates, which are those of runs. */
static void put_time_tics(struct text *out, const struct case_ *c, size_t most) {
    struct text tics = {0};
    const char *last = "";
    for (size_t k = 0; k < most; k++) {
        const char *t = c->history[k * (c->n_history - 1) / (most - 1)]->timestamp;
        if (strncmp(t, last, 10) == 0) continue;
        text_printf(&tics, "%s\"%s\"", tics.n ? ", " : "(", t);
        last = t;
    }
    text_printf(out, "time_tics = '%s)'\n", tics.p);
    text_free(&tics);
}

bool figure_history(struct figure *f, const struct model *m, const struct case_ *of) {
    struct drawing *d = &f->drawing;
    struct case_ recent = *of; /* years of nights would be a grey band, of many megabytes */
    const struct case_ *c = &recent;
    if (of->n_history > MOST_RUNS) {
        recent.history += of->n_history - MOST_RUNS;
        recent.n_history = MOST_RUNS;
    }
    double low = INFINITY, high = 0;
    if (c->n_history < LEAST) return false;
    text_puts(&d->data, "$runs << EOD\n");
    for (size_t i = 0; i < c->n_history; i++) {
        const struct result_row *r = c->history[i];
        struct estimate t = row_time(r);
        bool known = isfinite(t.low), steady = r->status == STATUS_ok && !row_unsteady(r);
        int state = r->status == STATUS_implausible ? 2 : !steady;
        text_printf(&d->data, "%s %.7g %.7g %.7g %d\n", r->timestamp, t.value,
                    known ? t.low : t.value, known ? t.high : t.value, state);
        low = fmin(low, steady && known ? t.low : t.value);
        high = fmax(high, steady && known ? t.high : t.value);
        figure_add_row(f, r);
    }
    text_puts(&d->data, "EOD\n");
    double margin = fmax((high - low) * 0.12, high * 0.02); /* noise of a percent looks like one */
    gnuplot_set_text(&d->data, "first_time", c->history[0]->timestamp);
    gnuplot_set_text(&d->data, "last_time", c->history[c->n_history - 1]->timestamp);
    gnuplot_set_number(&d->data, "us_low", fmax(low - margin, 0));
    gnuplot_set_number(&d->data, "us_high", high + margin);
    put_events(&d->data, c);
    put_changes(&d->data, c);
    put_time_tics(&d->wide, c, 7);
    put_time_tics(&d->narrow, c, 3);
    drawing_set_heights(d, 280, 240);
    d->script = gnuplot_history;
    struct text label = {0};
    case_label(&label, m, c, false, 0);
    text_puts(&f->id, "history");
    text_printf(&f->title, "History: %s", label.p);
    if (c->n_history < of->n_history)
        text_printf(&f->title, ", last %zu of %zu runs", c->n_history, of->n_history);
    text_printf(&f->alt, "Times of %zu runs of the tuned program, from %.10s to %.10s.",
                c->n_history, c->history[0]->timestamp, c->history[c->n_history - 1]->timestamp);
    text_puts(&f->note, "A point for each run, with 95 % of its median. Hollow: unsteady; a cross: "
                        "implausible. Dotted: "
                        "another driver or compiler from here on. Line, in red: the level changed "
                        "here, against the "
                        "nights before, by more than 2 % and for certain.");
    text_free(&label);
    return true;
}
