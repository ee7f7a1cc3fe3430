/* page_tables.c: tiles and tables of the pages: cases, what tuning cost, winners, what became of
 * the trials.
 *
 * A row of the tables is a case (device, workload, mode, dtype, precision, axes); its numbers are
 * the newest ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/page.h"

/* The cases of a page: those of its workload, or all. */
struct range {
    size_t first, end;
};

static struct range cases_of(const struct page *p) {
    if (p->workload) return (struct range){p->workload->first, p->workload->first + p->workload->n};
    return (struct range){0, p->model->n};
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static void put_tile(struct text *h, const char *name, const char *value, const char *more) {
    text_printf(h, "<div><dt>%s</dt><dd>%s<span class=sub>%s</span></dd></div>\n", name, value,
                more);
}

static void put_mean_tile(struct text *h, const struct page *p, enum opponent o) {
    struct range r = cases_of(p);
    struct mean mean = model_mean(p->model, r.first, r.end - r.first, o);
    if (!mean.n) return;
    struct text name = {0}, value = {0}, more = {0};
    text_printf(&name, "faster than %s", opponent_name(o));
    text_printf(&value, "%.2f×", mean.value);
    text_printf(&more, "geometric mean of %zu case%s; %zu clearly slower", mean.n,
                mean.n == 1 ? "" : "s", mean.losses);
    put_tile(h, name.p, value.p, more.p);
    text_free(&name);
    text_free(&value);
    text_free(&more);
}

#define AT_ROOF 90 /* % */

static bool is_bad(const struct result_row *r) { return r && r->status != STATUS_ok; }

/* What a reader must know of a case: words for the filter. */
static bool case_unsteady(const struct case_ *c) { return c->ours && row_unsteady(c->ours); }
static bool case_broken(const struct case_ *c) {
    for (int role = 0; role < ROLE_COUNT; role++)
        if (is_bad(c->bench->role[role])) return true;
    return false;
}
static bool case_slower(const struct case_ *c) {
    for (int o = 0; o < OPPONENT_COUNT; o++) {
        struct estimate s = case_speedup(c, (enum opponent)o);
        if (isfinite(s.value) && speedup_sign(&s) < 0) return true;
    }
    return false;
}

void put_tiles(struct text *h, const struct page *p) {
    struct range r = cases_of(p);
    size_t roofed = 0, at_roof = 0, slower = 0, unsteady = 0, broken = 0;
    struct text value = {0}, more = {0};
    for (size_t i = r.first; i < r.end; i++) {
        const struct case_ *c = &p->model->cases[i];
        slower += case_slower(c);
        unsteady += case_unsteady(c);
        broken += case_broken(c);
        if (!c->ours || !(c->ours->roof_pct > 0)) continue;
        roofed++;
        at_roof += c->ours->roof_pct >= AT_ROOF;
    }
    text_puts(h, "<dl class=tiles>\n");
    for (int o = 0; o < OPPONENT_COUNT; o++) put_mean_tile(h, p, (enum opponent)o);
    text_printf(&value, "%zu of %zu", at_roof, roofed);
    text_printf(&more, "at %d %% of the roofline or more", AT_ROOF);
    if (roofed) put_tile(h, "at the roof", value.p, more.p);
    value.n = more.n = 0;
    text_printf(&value, "%zu", slower);
    put_tile(h, "losses", value.p, "cases where another way to run it is clearly faster");
    value.n = 0;
    text_printf(&value, "%zu", unsteady);
    if (unsteady) put_tile(h, "unsteady", value.p, "median known to no better than 5 %");
    value.n = 0;
    text_printf(&value, "%zu", broken);
    if (broken) put_tile(h, "not valid", value.p, "a time is wrong, implausible or missing");
    text_puts(h, "</dl>\n");
    text_free(&value);
    text_free(&more);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_none(struct text *h) { text_puts(h, "<td class=\"n none\" data-v=\"\">–</td>"); }

/* A number with its unit in the label, or a dash where nothing was measured. */
static void put_number(struct text *h, const char *label, int decimals, double v) {
    if (!isfinite(v)) {
        put_none(h);
        return;
    }
    text_printf(h, "<td class=n data-label=\"%s\" data-v=\"%.7g\">", label, v);
    put_thousands(h, v, decimals);
    text_puts(h, "</td>");
}

static void put_time(struct text *h, const char *label, const struct result_row *r) {
    if (!r) {
        put_none(h);
        return;
    }
    text_printf(h, "<td class=n data-label=\"%s\" data-v=\"%.7g\">", label, r->median_us);
    put_us(h, r->median_us);
    double share = 100 * row_half_us(r) / r->median_us;
    if (isfinite(share))
        text_printf(h, " <span class=sub>±%.*f&nbsp;%%</span>", share < 0.95 ? 1 : 0, share);
    if (is_bad(r)) text_printf(h, "<span class=mark>⚠ %s</span>", result_status_name(r->status));
    text_puts(h, "</td>");
}

static void put_speedup(struct text *h, const char *label, const struct estimate *s) {
    if (!isfinite(s->value)) {
        put_none(h);
        return;
    }
    text_printf(h, "<td class=\"n%s\" data-label=\"%s\" data-v=\"%.7g\"",
                speedup_sign(s) < 0 ? " bad" : " b", label, s->value);
    if (isfinite(s->low)) text_printf(h, " title=\"%.3f to %.3f\"", s->low, s->high);
    text_puts(h, ">");
    put_ratio(h, s);
    text_printf(h, "×%s</td>", speedup_sign(s) < 0 ? " slower" : "");
}

static void put_case_name(struct text *h, const struct page *p, size_t i) {
    const struct model *m = p->model;
    const struct case_ *c = &m->cases[i];
    text_puts(h, "<td>");
    if (!p->workload)
        for (size_t w = 0; w < m->n_workloads; w++)
            if (m->workloads[w].first <= i && i < m->workloads[w].first + m->workloads[w].n) {
                text_puts(h, "<a class=b href=\"");
                text_html(h, text_str(&m->workloads[w].page));
                text_puts(h, ".html\">");
                text_html(h, c->bench->key->workload);
                text_puts(h, "</a> ");
            }
    text_html(h, text_str(&c->type));
    if (m->n_devices > 1) {
        struct text device = {0};
        device_short(&device, m, c->bench->key->device);
        text_puts(h, " · ");
        text_html(h, device.p);
        text_free(&device);
    }
    text_puts(h, " <span class=\"sub axes\">");
    text_html(h, text_str(&c->axes));
    text_puts(h, "</span>");
    if (c->ours && c->ours->role == ROLE_default && !c->bench->role[ROLE_tuned])
        text_puts(h, "<span class=sub>not tuned</span>");
    if (case_unsteady(c)) text_puts(h, "<span class=mark>~ unsteady</span>");
    text_puts(h, "</td>");
}

/* ---- cases ----------------------------------------------------------------------------------- */

struct column {
    const char *name;
    bool number;
};

static void put_table_head(struct text *h, const char *id, const struct column *columns, size_t n) {
    text_printf(h, "<div class=scroll tabindex=0><table class=cards%s%s><thead><tr>",
                *id ? " id=" : "", id);
    for (size_t i = 0; i < n; i++)
        text_printf(h, "<th scope=col%s>%s</th>", columns[i].number ? " class=n" : "",
                    columns[i].name);
    text_puts(h, "</tr></thead><tbody>\n");
}

static const char table_end[] = "</tbody></table></div>\n";

static void put_options(struct text *h, const char *name, const char *label,
                        const char *const *values, size_t n) {
    if (n < 2) return;
    text_printf(h, "<label>%s<select name=%s><option value=\"\">all</option>", label, name);
    for (size_t i = 0; i < n; i++) {
        text_puts(h, "<option>");
        text_html(h, values[i]);
        text_puts(h, "</option>");
    }
    text_puts(h, "</select></label>");
}

static size_t add_distinct(const char **values, size_t n, size_t most, const char *value) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(values[i], value)) return n;
    if (n < most) values[n++] = value;
    return n;
}

static void put_filter(struct text *h, const struct page *p) {
    static const char *const marks[] = {"slower", "unsteady", "invalid"};
    enum { MOST = 32 };
    const char *types[MOST];
    struct range r = cases_of(p);
    size_t n_types = 0;
    for (size_t i = r.first; i < r.end; i++)
        n_types = add_distinct(types, n_types, MOST, text_str(&p->model->cases[i].type));
    text_puts(h, "<form id=filter hidden><label>Contains<input name=words type=search "
                 "placeholder=\"softmax bf16\"></label>");
    put_options(h, "device", "Device", p->model->devices, p->model->n_devices);
    put_options(h, "type", "Type", types, n_types);
    put_options(h, "mark", "Only", marks, 3);
    text_puts(h, "<span id=shown role=status class=sub></span></form>\n");
}

static const struct result_row *shown_time(const struct case_ *c, int column) {
    return column == 2 ? c->bench->role[ROLE_tuned]
                       : case_opponent(c, (enum opponent)(column < 2 ? column : column - 1));
}

void put_cases(struct text *h, const struct page *p) {
    static const char *const times[] = {"unfused",     "default",       "tuned",
                                        "torch eager", "torch.compile", "max-autotune"};
    enum { TIMES = sizeof times / sizeof *times };
    struct range r = cases_of(p);
    struct column columns[TIMES + OPPONENT_COUNT + 8] = {{"case", false}};
    bool has[TIMES] = {false}, over[OPPONENT_COUNT] = {false};
    size_t n = 1;
    for (size_t i = r.first; i < r.end; i++) {
        for (int t = 0; t < TIMES; t++) has[t] |= shown_time(&p->model->cases[i], t) != NULL;
        for (int o = 0; o < OPPONENT_COUNT; o++)
            over[o] |= isfinite(case_speedup(&p->model->cases[i], (enum opponent)o).value);
    }
    static const char *const over_names[] = {"over unfused", "over default", "over torch eager",
                                             "over torch.compile", "over max-autotune"};
    for (int t = 0; t < TIMES; t++)
        if (has[t]) columns[n++] = (struct column){times[t], true};
    for (int o = 0; o < OPPONENT_COUNT; o++)
        if (over[o]) columns[n++] = (struct column){over_names[o], true};
    static const char *const rest[] = {"GB/s", "TFLOP/s", "% of roof", "n", "MHz", "°C"};
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++)
        columns[n++] = (struct column){rest[k], true};
    columns[n++] = (struct column){"date", false};
    text_puts(h, "<section id=all><h2>Cases: time of one call, median and its 95 % interval</h2>\n"
                 "<p>unfused: a kernel for each operation, without PyTorch; default: fused, "
                 "configs by rule; tuned: "
                 "fused, fastest configs; torch: PyTorch itself. % of roof: of what the copy "
                 "bandwidth or the peak "
                 "arithmetic of the device allows.</p>\n");
    put_filter(h, p);
    put_table_head(h, "cases", columns, n);
    for (size_t i = r.first; i < r.end; i++) {
        const struct case_ *c = &p->model->cases[i];
        const struct result_row *ours = c->ours;
        text_puts(h, "<tr data-device=\"");
        text_html(h, c->bench->key->device);
        text_puts(h, "\" data-type=\"");
        text_html(h, text_str(&c->type));
        text_printf(h, "\" data-mark=\"%s%s%s\">", case_slower(c) ? "slower " : "",
                    case_unsteady(c) ? "unsteady " : "", case_broken(c) ? "invalid" : "");
        put_case_name(h, p, i);
        for (int t = 0; t < TIMES; t++)
            if (has[t]) put_time(h, times[t], shown_time(c, t));
        for (int o = 0; o < OPPONENT_COUNT; o++) {
            struct estimate s = case_speedup(c, (enum opponent)o);
            if (over[o]) put_speedup(h, over_names[o], &s);
        }
        put_number(h, "GB/s", 0, ours ? ours->gbps : NAN);
        put_number(h, "TFLOP/s", 1, ours ? ours->tflops : NAN);
        put_number(h, "% of roof", 1, ours ? ours->roof_pct : NAN);
        put_number(h, "n", 0, ours ? ours->n : NAN);
        put_number(h, "MHz", 0, ours ? ours->clock_mhz : NAN);
        put_number(h, "°C", 0, ours ? ours->temp_c : NAN);
        text_printf(h, "<td data-label=date>%.10s</td></tr>\n", ours ? ours->timestamp : "");
    }
    text_puts(h, table_end);
    text_puts(h, "</section>\n");
}

/* ---- what tuning cost ------------------------------------------------------------------------ */

/* Calls after which what tuning cost is saved; INFINITY: it saved nothing. */
static double calls_to_pay(const struct result_row *slow, const struct result_row *tuned) {
    if (!result_row_measured(slow)) return NAN;
    double saved = slow->median_us - tuned->median_us;
    return saved > 0 ? ceil(tuned->tuning_s * 1e6 / saved) : INFINITY;
}

static void put_calls(struct text *h, const char *label, const struct result_row *slow,
                      const struct result_row *tuned) {
    double calls = calls_to_pay(slow, tuned);
    if (isinf(calls))
        text_printf(h, "<td class=n data-label=\"%s\">never</td>", label);
    else
        put_number(h, label, 0, calls);
}

/* Older rows say only what tuning took. */
static double check_ratio(const struct result_row *tuned) {
    bool newer = !isnan(tuned->all_check_s);
    return newer ? tuned->all_check_s / tuned->all_timing_s
                 : (tuned->reference_s + tuned->check_s) / tuned->measure_s;
}

static void put_costs(struct text *h, const struct page *p) {
    static const struct column columns[] = {{"case", false},
                                            {"trials", true},
                                            {"seconds", true},
                                            {"compiling", true},
                                            {"checking", true},
                                            {"measuring", true},
                                            {"searching", true},
                                            {"reference", true},
                                            {"all checks / all timing", true},
                                            {"µs saved a call", true},
                                            {"calls to pay, against default", true},
                                            {"against unfused", true}};
    struct range r = cases_of(p);
    put_table_head(h, "", columns, sizeof columns / sizeof *columns);
    for (size_t i = r.first; i < r.end; i++) {
        const struct bench *b = p->model->cases[i].bench;
        const struct result_row *tuned = b->role[ROLE_tuned], *dflt = b->role[ROLE_default];
        if (!result_row_measured(tuned) || isnan(tuned->tuning_s)) continue;
        text_puts(h, "<tr>");
        put_case_name(h, p, i);
        put_number(h, "trials", 0, tuned->trials);
        put_number(h, "seconds", 2, tuned->tuning_s);
        put_number(h, "compiling", 2, tuned->compile_s);
        put_number(h, "checking", 2, tuned->check_s);
        put_number(h, "measuring", 2, tuned->measure_s);
        put_number(h, "searching", 2, tuned->search_s);
        put_number(h, "reference", 2, tuned->reference_s);
        put_number(h, "all checks / all timing", 2, check_ratio(tuned));
        put_number(h, "µs saved a call", 2,
                   result_row_measured(dflt) ? dflt->median_us - tuned->median_us : NAN);
        put_calls(h, "calls to pay, against default", dflt, tuned);
        put_calls(h, "against unfused", b->role[ROLE_eager], tuned);
        text_puts(h, "</tr>\n");
    }
    text_puts(h, table_end);
}

static void put_code(struct text *h, const char *label, const char *s) {
    text_printf(h, "<td data-label=\"%s\"><code>", label);
    text_html(h, s);
    text_puts(h, "</code></td>");
}

static void put_winners(struct text *h, const struct page *p) {
    static const struct column columns[] = {{"case", false},
                                            {"kernel", false},
                                            {"config", false},
                                            {"sizes", false},
                                            {"n", true},
                                            {"time", true},
                                            {"quartiles apart", true},
                                            {"% of roof", true},
                                            {"registers", true},
                                            {"occupancy %", true},
                                            {"DRAM bytes / least", true}};
    struct range r = cases_of(p);
    put_table_head(h, "", columns, sizeof columns / sizeof *columns);
    for (size_t i = r.first; i < r.end; i++) {
        const struct tuning *t = &p->model->cases[i].tuning;
        for (size_t k = 0; k < t->n; k++) {
            const struct result_row *w = t->kernels[k].winner;
            if (!w) continue;
            text_puts(h, "<tr>");
            put_case_name(h, p, i);
            put_code(h, "kernel", w->kernel);
            put_code(h, "config", w->config);
            put_code(h, "sizes", w->guard);
            put_number(h, "n", 0, w->n);
            put_time(h, "time", w);
            put_number(h, "quartiles apart, %", 1, 100 * (w->q3_us - w->q1_us) / w->median_us);
            put_number(h, "% of roof", 1, w->roof_pct);
            put_number(h, "registers", 0, w->regs);
            put_number(h, "occupancy %", 0, 100 * w->occupancy);
            put_number(h, "DRAM bytes / least", 2,
                       strcmp(w->counters, "cupti") == 0 ? w->dram_bytes / w->bytes : NAN);
            text_puts(h, "</tr>\n");
        }
    }
    text_puts(h, table_end);
}

static void put_outcomes(struct text *h, const struct page *p) {
    struct column columns[1 + STATUS_COUNT] = {{"case", false}};
    size_t all[STATUS_COUNT] = {0}, n = 1;
    struct range r = cases_of(p);
    for (size_t i = r.first; i < r.end; i++)
        for (size_t k = 0; k < p->model->cases[i].tuning.n; k++)
            for (size_t j = 0; j < p->model->cases[i].tuning.kernels[k].n; j++)
                all[p->model->cases[i].tuning.kernels[k].trials[j]->status]++;
    for (int s = 0; s < STATUS_COUNT; s++)
        if (all[s]) columns[n++] = (struct column){result_status_name((enum result_status)s), true};
    put_table_head(h, "", columns, n);
    for (size_t i = r.first; i < r.end; i++) {
        const struct tuning *t = &p->model->cases[i].tuning;
        size_t count[STATUS_COUNT] = {0};
        if (!t->n) continue;
        for (size_t k = 0; k < t->n; k++)
            for (size_t j = 0; j < t->kernels[k].n; j++) count[t->kernels[k].trials[j]->status]++;
        text_puts(h, "<tr>");
        put_case_name(h, p, i);
        for (int s = 0; s < STATUS_COUNT; s++)
            if (all[s])
                put_number(h, result_status_name((enum result_status)s), 0, (double)count[s]);
        text_puts(h, "</tr>\n");
    }
    text_puts(h, table_end);
}

/* A table that is closed until it is asked for, but on a workload's own page; nothing if it would
 * have no row. */
static void put_details(struct text *h, const struct page *p, const char *title,
                        void (*put)(struct text *, const struct page *)) {
    struct text table = {0};
    put(&table, p);
    if (strstr(text_str(&table), "<tbody>\n<tr"))
        text_printf(h, "<details%s><summary>%s</summary>\n%s</details>\n",
                    p->workload ? " open" : "", title, table.p);
    text_free(&table);
}

void put_tuning(struct text *h, const struct page *p) {
    text_puts(h, "<section id=tuning-cost><h2>Tuning</h2>\n");
    put_details(h, p, "Its cost in seconds, and the calls after which it has paid off", put_costs);
    put_details(h, p, "The fastest config of each kernel, and its measurements", put_winners);
    put_details(h, p, "Variants tried, by outcome", put_outcomes);
    text_puts(h, "</section>\n");
}
