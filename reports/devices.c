/* devices.c: pairs of cases that differ in their device alone, and tables of them.
 *
 *   softmax f32 H100 24.0 µs \
 *   softmax f32 H200 17.0 µs /  ->  1.41x; memory's roofs say 1.42x: the gain is memory's */
#include "reports/devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- pairs ----------------------------------------------------------------------------------- */

static void find_devices(struct comparison_of_devices *c, const struct model *m) {
    c->devices = memory_resize(NULL, m->n_devices, sizeof *c->devices);
    for (size_t d = 0; d < m->n_devices; d++) {
        struct device *device = &c->devices[c->n_devices++];
        *device = (struct device){m->devices[d], NAN, NAN, NULL};
        for (size_t f = 0; f < m->n_files; f++)
            for (size_t i = 0; i < m->files[f].n; i++) {
                const struct result_row *r = &m->files[f].rows[i];
                if (r->role != ROLE_roof || strcmp(r->device, device->name) != 0) continue;
                if (device->timestamp && strcmp(r->timestamp, device->timestamp) < 0) continue;
                *device = (struct device){device->name, r->gbps, r->tflops, r->timestamp};
            }
    }
    for (size_t d = 1; d < c->n_devices; d++)
        if (c->devices[d].gbps < c->devices[0].gbps || isnan(c->devices[0].gbps)) {
            struct device first = c->devices[0];
            c->devices[0] = c->devices[d];
            c->devices[d] = first;
        }
}

static bool same_case(const struct case_ *a, const struct case_ *b) {
    const struct result_row *k = a->bench->key, *l = b->bench->key;
    return !strcmp(k->workload, l->workload) && !strcmp(text_str(&a->axes), text_str(&b->axes)) &&
           !strcmp(k->dtype, l->dtype) && !strcmp(k->mode, l->mode) &&
           !strcmp(bench_precision(k), bench_precision(l));
}

/* The fastest way of PyTorch's that both were timed in: the same on either. */
static struct estimate torch_speedup(const struct case_ *a, const struct case_ *b) {
    static const enum opponent ways[] = {OPPONENT_MAX_AUTOTUNE, OPPONENT_TORCH_COMPILE,
                                         OPPONENT_TORCH_EAGER};
    struct estimate best = {NAN, NAN, NAN};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct result_row *x = case_opponent(a, ways[i]), *y = case_opponent(b, ways[i]);
        if (!result_row_measured(x) || !result_row_measured(y) || x->median_us >= least) continue;
        least = x->median_us;
        best = speedup_of(x, y);
    }
    return best;
}

/* What binds a row is told by its floor: as long as moving its bytes takes, or longer. */
static enum binding binding_of(const struct result_row *r, double gbps) {
    double floor = row_floor_us(r), memory_us = r->bytes / gbps / 1e3;
    if (!(floor > 0) || !(memory_us > 0)) return BOUND_UNKNOWN;
    return floor > 1.1 * memory_us ? BOUND_ARITHMETIC : BOUND_MEMORY;
}

static int by_speedup(const void *p, const void *q) {
    const struct device_pair *a = p, *b = q;
    int device = strcmp(a->b->bench->key->device, b->b->bench->key->device);
    if (device) return device;
    if (a->ours.value != b->ours.value) return a->ours.value > b->ours.value ? -1 : 1;
    return a->a < b->a ? -1 : a->a > b->a;
}

void devices_compare(struct comparison_of_devices *c, const struct model *m) {
    *c = (struct comparison_of_devices){0};
    find_devices(c, m);
    bool *matched = memory_resize(NULL, m->n, sizeof *matched);
    memset(matched, 0, m->n * sizeof *matched);
    for (size_t i = 0; i < m->n && c->n_devices > 1; i++) {
        const struct case_ *a = &m->cases[i];
        if (strcmp(a->bench->key->device, c->devices[0].name) != 0 || !a->ours) continue;
        for (size_t k = 0; k < m->n; k++) {
            const struct case_ *b = &m->cases[k];
            if (k == i || !b->ours || !same_case(a, b)) continue;
            const struct device *other = NULL;
            for (size_t d = 1; d < c->n_devices; d++)
                if (!strcmp(c->devices[d].name, b->bench->key->device)) other = &c->devices[d];
            if (!other) continue;
            c->pairs = memory_resize(c->pairs, c->n + 1, sizeof *c->pairs);
            c->pairs[c->n++] =
                (struct device_pair){.a = a,
                                     .b = b,
                                     .ours = speedup_of(a->ours, b->ours),
                                     .torch = torch_speedup(a, b),
                                     .bound = binding_of(a->ours, c->devices[0].gbps),
                                     .memory = other->gbps / c->devices[0].gbps,
                                     .arithmetic = other->tflops / c->devices[0].tflops};
            matched[i] = matched[k] = true;
        }
    }
    for (size_t i = 0; i < m->n; i++) c->only_one += !matched[i];
    free(matched);
    if (c->n) qsort(c->pairs, c->n, sizeof *c->pairs, by_speedup);
}

void devices_free(struct comparison_of_devices *c) {
    free(c->devices);
    free(c->pairs);
    *c = (struct comparison_of_devices){0};
}

/* ---- readings -------------------------------------------------------------------------------- */

double pair_roofs(const struct device_pair *p) {
    switch (p->bound) {
    case BOUND_MEMORY: return p->memory;
    case BOUND_ARITHMETIC: return p->arithmetic;
    case BOUND_UNKNOWN: break;
    }
    return NAN;
}

#define ALIKE 0.03 /* ratios that differ by no more are called the same */

static bool alike(double a, double b) { return fabs(log(a / b)) <= log(1 + ALIKE); }

/* Where nobody recorded what binds the case, PyTorch's own gain is what the device gives, else both
 * roofs are looked at. */
static void put_unbound(struct text *out, const struct device_pair *p) {
    double low = fmin(p->memory, p->arithmetic), high = fmax(p->memory, p->arithmetic),
           v = p->ours.value, beyond = v / p->torch.value;
    if (isfinite(beyond) && !alike(v, p->torch.value)) {
        if (beyond > 1)
            text_printf(out, "ours: %.2f× beyond PyTorch's", beyond);
        else
            text_printf(out, "%.2f× short of PyTorch's", 1 / beyond);
        return;
    }
    if (isfinite(beyond)) text_puts(out, "the device's, as PyTorch's: ");
    if (!isfinite(low) || !isfinite(high))
        text_puts(out, "no roofs recorded");
    else if (alike(v, p->arithmetic))
        text_puts(out, "as arithmetic's");
    else if (alike(v, p->memory))
        text_puts(out, "as memory's");
    else if (v > low && v < high)
        text_puts(out, "between arithmetic's and memory's");
    else
        text_printf(out, "%s both roofs", v < low ? "less than" : "more than");
}

void put_reading(struct text *out, const struct device_pair *p) {
    double roofs = pair_roofs(p), rest = p->ours.value / roofs;
    const char *whose = p->bound == BOUND_MEMORY ? "memory's" : "arithmetic's";
    if (p->bound == BOUND_UNKNOWN || !isfinite(roofs))
        put_unbound(out, p);
    else if (alike(p->ours.value, roofs))
        text_puts(out, whose);
    else if (rest > 1)
        text_printf(out, "%s, and %.2f× of ours", whose, rest);
    else
        text_printf(out, "%s, of which %.2f× is lost", whose, 1 / rest);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_interval(struct text *out, const struct estimate *s) {
    if (isfinite(s->low))
        text_printf(out, "%.3f to %.3f", s->low, s->high);
    else
        text_puts(out, "not recorded");
}

static void put_name(struct text *out, const struct device_pair *p) {
    text_printf(out, "%s %s %s", p->a->bench->key->workload, text_str(&p->a->type),
                text_str(&p->a->axes));
}

static void put_or_dash(struct text *out, double v, const char *format_unit) {
    if (isfinite(v))
        text_printf(out, "%.2f%s", v, format_unit);
    else
        text_puts(out, "–");
}

struct summary {
    double ours, torch; /* geometric means */
    size_t n, n_torch;
};

static struct summary summarise(const struct comparison_of_devices *c, const char *device) {
    struct summary s = {0};
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->pairs[i].b->bench->key->device, device) != 0) continue;
        s.ours += log(c->pairs[i].ours.value);
        s.n++;
        if (isfinite(c->pairs[i].torch.value)) s.torch += log(c->pairs[i].torch.value), s.n_torch++;
    }
    s.ours = s.n ? exp(s.ours / (double)s.n) : NAN;
    s.torch = s.n_torch ? exp(s.torch / (double)s.n_torch) : NAN;
    return s;
}

/* "NVIDIA H200 over NVIDIA H100: 1.21x over 40 cases; memory 1.42x, peak 1.00x; PyTorch 1.20x
 * over 40." */
static void put_summary(struct text *out, const struct comparison_of_devices *c,
                        const struct device *b) {
    struct summary s = summarise(c, b->name);
    const struct device *a = &c->devices[0];
    text_printf(out, "%s over %s: ", b->name, a->name);
    if (!s.n) {
        text_puts(out, "no case in common.");
        return;
    }
    text_printf(out, "%.2f× in the geometric mean of %zu case%s", s.ours, s.n, s.n == 1 ? "" : "s");
    if (s.n_torch) text_printf(out, ", PyTorch itself %.2f× of %zu", s.torch, s.n_torch);
    text_puts(out, ". Roofs: copies ");
    put_or_dash(out, b->gbps / a->gbps, "×");
    text_printf(out, " (%.0f over %.0f GB/s), highest peak ", b->gbps, a->gbps);
    put_or_dash(out, b->tflops / a->tflops, "×");
    text_puts(out, ".");
}

static void put_missing(struct text *out, const struct comparison_of_devices *c) {
    if (c->only_one)
        text_printf(out, "%zu case%s of one device alone %s left out.", c->only_one,
                    c->only_one == 1 ? "" : "s", c->only_one == 1 ? "is" : "are");
}

void put_devices_html(struct text *out, const struct comparison_of_devices *c,
                      const struct model *m) {
    struct text line = {0};
    (void)m;
    for (size_t d = 1; d < c->n_devices; d++) {
        line.n = 0;
        put_summary(&line, c, &c->devices[d]);
        text_puts(out, "<p>");
        text_html(out, line.p);
        text_puts(out, "</p>\n");
    }
    line.n = 0;
    put_missing(&line, c);
    text_puts(out, "<p class=facts>");
    text_html(out, line.n ? line.p : "");
    text_puts(
        out,
        " As a table: <a href=\"devices.md\">Markdown</a>, <a href=\"devices.csv\">CSV</a>.</p>\n");
    if (c->n) {
        text_puts(
            out,
            "<div class=scroll tabindex=0><table class=cards><thead><tr><th scope=col>case</th>"
            "<th scope=col>B</th><th scope=col class=n>A</th><th scope=col class=n>B</th>"
            "<th scope=col class=n>B over A</th><th scope=col>95 %</th><th scope=col "
            "class=n>roofs</th>"
            "<th scope=col class=n>PyTorch</th><th scope=col>whose "
            "gain</th></tr></thead><tbody>\n");
        for (size_t i = 0; i < c->n; i++) {
            const struct device_pair *p = &c->pairs[i];
            line.n = 0;
            put_name(&line, p);
            text_puts(out, "<tr><td class=axes>");
            text_html(out, line.p);
            text_puts(out, "</td><td data-label=B>");
            text_html(out, p->b->bench->key->device);
            text_puts(out, "</td><td class=n data-label=A>");
            put_us(out, p->a->ours->median_us);
            text_puts(out, "</td><td class=n data-label=B>");
            put_us(out, p->b->ours->median_us);
            text_puts(out, "</td><td class=\"n b\" data-label=\"B over A\">");
            put_ratio(out, &p->ours);
            text_puts(out, "×</td><td data-label=\"95 %\">");
            put_interval(out, &p->ours);
            text_puts(out, "</td><td class=n data-label=roofs>");
            put_or_dash(out, pair_roofs(p), "×");
            text_puts(out, "</td><td class=n data-label=PyTorch>");
            put_or_dash(out, p->torch.value, "×");
            text_puts(out, "</td><td data-label=\"whose gain\">");
            put_reading(out, p);
            text_puts(out, "</td></tr>\n");
        }
        text_puts(out, "</tbody></table></div>\n");
    }
    text_free(&line);
}

void put_devices_markdown(struct text *out, const struct comparison_of_devices *c) {
    text_puts(out, "# Device against device\n\n");
    for (size_t d = 1; d < c->n_devices; d++) {
        put_summary(out, c, &c->devices[d]);
        text_puts(out, "\n\n");
    }
    put_missing(out, c);
    text_puts(out, "\n\n| case | B | A, µs | of | B, µs | of | B over A | 95 % | roofs | PyTorch | "
                   "whose gain |\n"
                   "|---|---|---:|---|---:|---|---:|---|---:|---:|---|\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct device_pair *p = &c->pairs[i];
        text_puts(out, "| ");
        put_name(out, p);
        text_printf(out, " | %s | %.4g | %.10s | %.4g | %.10s | ", p->b->bench->key->device,
                    p->a->ours->median_us, p->a->ours->timestamp, p->b->ours->median_us,
                    p->b->ours->timestamp);
        put_ratio(out, &p->ours);
        text_puts(out, "× | ");
        put_interval(out, &p->ours);
        text_puts(out, " | ");
        put_or_dash(out, pair_roofs(p), "×");
        text_puts(out, " | ");
        put_or_dash(out, p->torch.value, "×");
        text_puts(out, " | ");
        put_reading(out, p);
        text_puts(out, " |\n");
    }
}

void put_devices_csv(struct text *out, const struct comparison_of_devices *c) {
    text_puts(out,
              "workload,mode,dtype,precision,axes,device_a,device_b,date_a,date_b,role_a,role_b,a_"
              "us,b_us,"
              "b_over_a,low,high,memory_roofs,arithmetic_roofs,roofs,torch_b_over_a,reading\n");
    for (size_t i = 0; i < c->n; i++) {
        const struct device_pair *p = &c->pairs[i];
        const struct result_row *a = p->a->ours, *b = p->b->ours;
        const char *texts[] = {a->workload,
                               a->mode,
                               a->dtype,
                               bench_precision(a),
                               a->axes,
                               a->device,
                               b->device,
                               a->timestamp,
                               b->timestamp,
                               result_role_name(a->role),
                               result_role_name(b->role)};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            if (k) text_puts(out, ",");
            text_csv(out, texts[k]);
        }
        const double numbers[] = {a->median_us,  b->median_us,  p->ours.value,
                                  p->ours.low,   p->ours.high,  p->memory,
                                  p->arithmetic, pair_roofs(p), p->torch.value};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            text_puts(out, ",");
            text_csv_number(out, numbers[k]);
        }
        struct text reading = {0};
        put_reading(&reading, p);
        text_puts(out, ",");
        text_csv(out, reading.p);
        text_puts(out, "\n");
        text_free(&reading);
    }
}
