/* figure_history.c: the times of a case's tuned program over its runs, oldest first, with what
 * `nightly judge` says of its nights (nights.h): where its baseline starts anew, for another
 * driver, say, and where its level has changed, dated to the first night of the new one and the
 * revisions on either side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/figures.h"
#include "reports/nights.h"

enum { LEAST = 3, MOST_EVENTS = 12, MOST_RUNS = 500 };

/* Marks at nights: words for gnuplot. */
struct marks {
    struct text times, texts;
    size_t n;
};

static void add_mark(struct marks *m, const struct result_brief *at, const char *text) {
    if (m->n == MOST_EVENTS) return;
    put_word(&m->times, at->timestamp);
    put_word(&m->texts, text);
    m->n++;
}

static void put_marks(struct text *out, const char *name, struct marks *m) {
    struct text variable = {0};
    text_printf(&variable, "n_%ss", name);
    gnuplot_set_number(out, variable.p, (double)m->n);
    text_free(&variable);
    text_printf(&variable, "%s_times", name);
    gnuplot_set_text(out, variable.p, text_str(&m->times));
    text_free(&variable);
    text_printf(&variable, "%s_texts", name);
    gnuplot_set_text(out, variable.p, text_str(&m->texts));
    text_free(&variable);
    text_free(&m->times);
    text_free(&m->texts);
}

/* The first run that is drawn: marks before it are left out. */
static bool is_drawn(const struct case_ *c, const struct result_brief *r) {
    return strcmp(r->timestamp, c->history[0]->timestamp) >= 0;
}

/* "driver 590.2" where the baseline starts anew. */
static void put_events(struct text *out, const struct case_ *c, const struct nights *nights) {
    struct marks marks = {0};
    for (size_t m = 1; m < nights->n_measured; m++) {
        const struct night *night = nights_at(nights, m);
        if (!night->why || !is_drawn(c, night->row)) continue;
        struct text event = {0};
        text_puts(&event, night->why);
        if (!strcmp(night->why, "driver")) text_printf(&event, " %s", night->row->like->driver);
        if (!strcmp(night->why, "toolchain"))
            text_printf(&event, " %s", night->row->like->toolchain);
        add_mark(&marks, night->row, event.p);
        text_free(&event);
    }
    put_marks(out, "event", &marks);
}

/* "+4.1 %, abc..def" at the night since when, and "SLOWER by +4.1 % since 20261110T020000Z, commits
 * abc..def; " into said. A change is marked once: as it was last said. */
static void put_changes(struct text *out, struct text *said, const struct case_ *c,
                        const struct nights *nights) {
    struct marks marks = {0};
    for (size_t m = 0; m < nights->n_measured; m++) {
        const struct change *now = &nights->is[m];
        bool last = m + 1 == nights->n_measured || nights->is[m + 1].verdict != now->verdict;
        if (!nights_changed(nights, m) || !last) continue;
        const struct result_brief *to = nights_at(nights, now->since)->row, *from = to;
        if (now->since) from = nights_at(nights, now->since - 1)->row;
        if (!is_drawn(c, to)) continue;
        struct text label = {0};
        double percent = 100 * expm1(now->shift);
        if (now->shape == CHANGE_DRIFT) text_puts(&label, "drift ");
        if (nights_by_clock(nights, m)) text_puts(&label, "clock ");
        text_printf(&label, "%+.1f %%", percent);
        if (*from->git_rev && strcmp(from->git_rev, to->git_rev) != 0)
            text_printf(&label, ", %.8s..%.8s", from->git_rev, to->git_rev);
        add_mark(&marks, to, label.p);
        text_printf(said, "%s%s by %+.1f %% ", said->n ? "; " : "", nights_verdict(nights, m),
                    percent);
        put_since(said, nights, m);
        text_free(&label);
    }
    put_marks(out, "change", &marks);
}

static void put_nights(struct figure *f, const struct model *m, const struct case_ *drawn,
                       const struct case_ *all) {
    struct nights nights = {0};
    struct text said = {0};
    struct result_brief *rows = memory_resize(NULL, all->n_history, sizeof *rows);
    for (size_t i = 0; i < all->n_history; i++) {
        rows[i] = result_brief_of(all->history[i]);
        nights_add(&nights, &rows[i]);
    }
    nights_judge(&nights, m->accepted, NIGHTS_THRESHOLD);
    put_events(&f->drawing.data, drawn, &nights);
    put_changes(&f->drawing.data, &said, drawn, &nights);
    text_printf(&f->note,
                "A point for each run, with 95 %% of its median. Hollow: unsteady; a cross: "
                "implausible. Dotted: the baseline starts anew here. Line, in red: the level "
                "changed here, as <code>warpsmith nightly judge</code> says it, by %g %% or more",
                100 * NIGHTS_THRESHOLD);
    text_puts(&f->note, said.n ? ": " : ".");
    if (said.n) text_html(&f->note, said.p);
    if (said.n) text_puts(&f->note, ".");
    text_free(&said);
    nights_free(&nights);
    free(rows);
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
    put_nights(f, m, c, of);
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
    text_free(&label);
    return true;
}
