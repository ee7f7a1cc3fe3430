/* figure_devices.c: device B over A for each case, beside the ratio of the roofs that bind and
 * PyTorch's own ratio. */
#include <math.h>

#include "reports/devices.h"

enum { LABEL_MAX = 56 };

static void put_pair_label(struct text *out, const struct model *m, const struct device_pair *p,
                           bool with_device) {
    text_printf(out, "%s %s %s", p->a->bench->key->workload, text_str(&p->a->type),
                text_str(&p->a->axes));
    if (out->n > LABEL_MAX) { /* at a blank: no number is cut */
        while (out->n && out->p[out->n - 1] != ' ') out->n--;
        while (out->n > LABEL_MAX) {
            out->n--;
            while (out->n && out->p[out->n - 1] != ' ') out->n--;
        }
        out->p[out->n] = 0;
        text_puts(out, "…");
    }
    if (with_device) {
        text_puts(out, " ");
        device_short(out, m, p->b->bench->key->device);
    }
}

bool figure_devices(struct figure *f, const struct model *m,
                    const struct comparison_of_devices *c) {
    struct drawing *d = &f->drawing;
    struct text rows = {0}, bars = {0}, legend = {0};
    double low = 0.95, high = 1.2;
    size_t widest = 1;
    if (!c->n) return false;
    for (size_t i = 0; i < c->n; i++) {
        const struct device_pair *p = &c->pairs[i];
        struct text label = {0}, ratio = {0};
        bool known = isfinite(p->ours.low) && isfinite(p->ours.high);
        bool unsteady = row_unsteady(p->a->ours) || row_unsteady(p->b->ours);
        put_pair_label(&label, m, p, c->n_devices > 2);
        if (label.n > widest) widest = label.n < LABEL_MAX ? label.n : LABEL_MAX;
        put_ratio(&ratio, &p->ours);
        text_printf(&rows, "%zu ", i + 1);
        text_gnuplot(&rows, label.p);
        text_puts(&rows, "\n");
        text_printf(&bars, "%zu %.5g %.5g %.5g %d \"%s×\" %.5g %.5g\n", i + 1, p->ours.value,
                    known ? p->ours.low : p->ours.value, known ? p->ours.high : p->ours.value,
                    unsteady ? 2 : p->ours.value < 1, ratio.p, pair_roofs(p), p->torch.value);
        if (!unsteady)
            low = fmin(low, p->ours.value * 0.95), high = fmax(high, p->ours.value * 1.05);
        if (isfinite(p->torch.value))
            low = fmin(low, p->torch.value * 0.95), high = fmax(high, p->torch.value * 1.05);
        if (isfinite(pair_roofs(p))) high = fmax(high, pair_roofs(p) * 1.05);
        figure_add_row(f, p->a->ours);
        figure_add_row(f, p->b->ours);
        text_free(&label);
        text_free(&ratio);
    }
    text_printf(&d->data, "$rows << EOD\n%sEOD\n$bars << EOD\n%sEOD\n", rows.p, bars.p);
    bool roofs = false, torch = false;
    for (size_t i = 0; i < c->n; i++) {
        roofs |= isfinite(pair_roofs(&c->pairs[i]));
        torch |= isfinite(c->pairs[i].torch.value);
    }
    text_printf(&legend, "bar: ours%s%s", torch ? "   +  PyTorch" : "",
                roofs ? "   ◇  roofs that bind" : "");
    struct text title = {0};
    text_puts(&title, "times as fast as ");
    device_short(&title, m, c->devices[0].name);
    gnuplot_set_text(&d->data, "title", title.p);
    gnuplot_set_text(&d->data, "legend", legend.p);
    gnuplot_set_number(&d->data, "n_rows", (double)c->n);
    gnuplot_set_number(&d->data, "x_low", low);
    gnuplot_set_number(&d->data, "x_high", high);
    put_log_ticks(&d->data, "tics", low, high);
    drawing_set_heights(d, 90 + 17 * ((double)c->n + 0.4), 90 + 30 * ((double)c->n + 0.5));
    gnuplot_set_number(&d->wide, "label_share", (20 + 6.6 * (double)widest) / WIDE);
    gnuplot_set_number(&d->narrow, "label_share", 0.02);
    d->script = gnuplot_devices;
    text_puts(&f->id, "devices");
    text_puts(&f->title, c->n_devices == 2 ? c->devices[1].name : "Other devices");
    text_printf(&f->title, " over %s", c->devices[0].name);
    text_printf(&f->alt,
                "Bars: how many times as fast %zu cases are on the one device as on the other, "
                "beside the ratio "
                "of the devices' roofs.",
                c->n);
    text_puts(&f->note, "Logarithmic; 1: equally fast. Where the bar ends at the diamond, the gain "
                        "is the device's; "
                        "beyond it, the code makes more of the new device; before it, less. Dark "
                        "line: its interval, "
                        "where both rows recorded one.");
    text_free(&rows);
    text_free(&bars);
    text_free(&legend);
    text_free(&title);
    return true;
}
