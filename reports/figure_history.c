/* figure_history.c: the times of a case's tuned program over its runs, oldest first, and where its
 * driver or its compiler was another than the run before: a step there is theirs until shown
 * otherwise. */
#include <math.h>
#include <string.h>

#include "reports/figures.h"

enum { WIDE = 960, NARROW = 380, LEAST = 3, MOST_EVENTS = 12 };

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

bool figure_history(struct figure *f, const struct model *m, const struct case_ *c) {
    struct drawing *d = &f->drawing;
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
    put_time_tics(&d->wide, c, 7);
    put_time_tics(&d->narrow, c, 3);
    gnuplot_set_number(&d->wide, "width", WIDE);
    gnuplot_set_number(&d->wide, "height", 280);
    gnuplot_set_number(&d->narrow, "width", NARROW);
    gnuplot_set_number(&d->narrow, "height", 240);
    d->script = gnuplot_history;
    struct text label = {0};
    case_label(&label, m, c, false, 0);
    text_puts(&f->id, "history");
    text_printf(&f->title, "History: %s", label.p);
    text_printf(&f->alt, "Times of %zu runs of the tuned program, from %.10s to %.10s.",
                c->n_history, c->history[0]->timestamp, c->history[c->n_history - 1]->timestamp);
    text_puts(&f->note, "A point for each run, with 95 % of its median. Hollow: unsteady; a cross: "
                        "implausible. Dotted: "
                        "another driver or compiler from here on.");
    text_free(&label);
    return true;
}
