/* report_page.c: results -> one self-contained HTML page: header, figures, program table, winners,
 * failures.
 *
 *   device "A<B>"  ->  <td>A&lt;B&gt;</td>
 *
 * A row of the tables is a benchmark (device, workload, mode, dtype, precision, axes); its numbers
 * are the newest ones. */
#include "reports/report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/figure.h"

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;color:#2b2f36;background:#fff;max-width:1360px;"
    "margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}\n"
    "p,dl{margin:.4rem 0;color:#666d78}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.28rem .7rem .28rem 0;text-align:left;border-bottom:1px solid #e3e6ea;"
    "white-space:nowrap}\n"
    "th{font-weight:600;color:#666d78;border-color:#9aa1ab}\n"
    ".n{text-align:right}.b{font-weight:600}.bad{color:#b4532a}\n"
    "code{font:12px/1.4 ui-monospace,monospace}\n"
    "figure{margin:.6rem 0}svg{max-width:100%;height:auto}\n";

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_cell(struct text *h, const char *s) {
    text_puts(h, "<td>");
    text_html(h, s);
    text_puts(h, "</td>");
}

static void put_code(struct text *h, const char *s) {
    text_puts(h, "<td><code>");
    text_html(h, s);
    text_puts(h, "</code></td>");
}

/* A number, or a dash where nothing was measured. */
static void put_number(struct text *h, int decimals, double v, const char *unit) {
    if (isfinite(v))
        text_printf(h, "<td class=n>%.*f%s</td>", decimals, v, unit);
    else
        text_puts(h, "<td class=n>–</td>");
}

static void put_time(struct text *h, const struct result_row *r) {
    if (r && r->status != STATUS_ok)
        text_printf(h, "<td class=\"n bad\">%s</td>", result_status_name(r->status));
    else
        put_number(h, 2, r ? r->median_us : NAN, "");
}

static double speedup(const struct result_row *from, const struct result_row *to) {
    if (!result_row_measured(from) || !result_row_measured(to)) return NAN;
    return from->median_us / to->median_us;
}

static void put_head(struct text *h, const char *const *names, size_t n) {
    text_puts(h, "<div class=scroll><table><thead><tr>");
    for (size_t i = 0; i < n; i++) {
        bool right = names[i][0] == '>'; /* a column of numbers */
        text_printf(h, "<th%s>%s</th>", right ? " class=n" : "", names[i] + right);
    }
    text_puts(h, "</tr></thead><tbody>\n");
}

static void put_key(struct text *h, const struct result_row *k) {
    put_cell(h, k->workload);
    put_cell(h, k->mode);
    struct text type = {0};
    bench_type(&type, k);
    put_cell(h, text_str(&type));
    text_free(&type);
    put_cell(h, k->axes);
    put_cell(h, k->device);
}

#define HEAD(h, ...)                                                                               \
    do {                                                                                           \
        static const char *const names[] = {__VA_ARGS__};                                          \
        put_head(h, names, sizeof names / sizeof *names);                                          \
    } while (0)
#define KEY_HEAD "workload", "mode", "dtype", "axes", "device"

static const char table_end[] = "</tbody></table></div>\n";

/* ---- header ---------------------------------------------------------------------------------- */

/* The distinct values of a column, in order of appearance: "A, B". */
static void put_distinct(struct text *h, const struct report_page *p, size_t offset) {
    struct text seen = {0};
    for (size_t f = 0; f < p->n_files; f++) {
        for (size_t i = 0; i < p->files[f].n; i++) {
            struct text entry = {0};
            const char *value = *(const char *const *)((const char *)&p->files[f].rows[i] + offset);
            text_printf(&entry, "\n%s\n", value);
            if (*value && !strstr(text_str(&seen), entry.p)) {
                if (seen.n) text_puts(h, ", ");
                text_html(h, value);
                text_puts(&seen, entry.p);
            }
            text_free(&entry);
        }
    }
    text_free(&seen);
}

static void put_header(struct text *h, const struct report_page *p) {
    const char *first = NULL, *last = NULL; /* ISO 8601 sorts as text */
    size_t rows = 0;
    for (size_t f = 0; f < p->n_files; f++) {
        rows += p->files[f].n;
        for (size_t i = 0; i < p->files[f].n; i++) {
            const char *t = p->files[f].rows[i].timestamp;
            if (*t && (!first || strcmp(t, first) < 0)) first = t;
            if (*t && (!last || strcmp(t, last) > 0)) last = t;
        }
    }
    text_puts(h, "<h1>warpsmith: results</h1>\n<p>");
    put_distinct(h, p, offsetof(struct result_row, device));
    text_puts(h, "</p>\n<p>drivers: ");
    put_distinct(h, p, offsetof(struct result_row, driver));
    text_puts(h, " · toolchains: ");
    put_distinct(h, p, offsetof(struct result_row, toolchain));
    text_puts(h, "</p>\n<p>");
    text_html(h, first ? first : "no date");
    text_puts(h, " to ");
    text_html(h, last ? last : "no date");
    text_printf(h, " · %zu rows in %zu files · %zu benchmarks</p>\n", rows, p->n_files,
                p->benches->n);
    if (*p->notes) {
        text_puts(h, "<p class=bad>");
        text_html(h, p->notes);
        text_puts(h, "</p>\n");
    }
}

/* An SVG file without its XML prologue, as part of the page. */
static void put_figure(struct text *h, const char *title, const char *svg) {
    const char *body = svg ? strstr(svg, "<svg") : NULL;
    if (!body) return;
    text_printf(h, "<h2>%s</h2>\n<figure>", title);
    text_puts(h, body);
    text_puts(h, "</figure>\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_programs(struct text *h, const struct benches *b) {
    text_puts(h,
              "<h2>Programs: time of one call, median in µs</h2>\n"
              "<p>unfused: a kernel per operation, without PyTorch; default: fused, configs by "
              "rule; tuned: fused, fastest configs; % of roof: of what the copy bandwidth or the "
              "peak arithmetic of the device allows.</p>\n");
    HEAD(h, KEY_HEAD, ">unfused", ">default", ">tuned", ">torch eager", ">torch.compile",
         ">speedup over unfused", ">over torch.compile", ">GB/s", ">TFLOP/s", ">% of roof");
    for (size_t i = 0; i < b->n; i++) {
        const struct bench *bench = &b->all[i];
        const struct result_row *tuned = bench->role[ROLE_tuned];
        const struct result_row *compiled = bench_best_compiled(bench);
        bool timed = result_row_measured(tuned);
        if (!compiled) compiled = bench->role[ROLE_torch_compile];
        text_puts(h, "<tr>");
        put_key(h, bench->key);
        put_time(h, bench->role[ROLE_eager]);
        put_time(h, bench->role[ROLE_default]);
        put_time(h, tuned);
        put_time(h, bench->role[ROLE_torch_eager]);
        put_time(h, compiled);
        put_number(h, 2, speedup(bench->role[ROLE_eager], tuned), "×");
        put_number(h, 2, speedup(compiled, tuned), "×");
        put_number(h, 0, timed ? tuned->gbps : NAN, "");
        put_number(h, 1, timed ? tuned->tflops : NAN, "");
        put_number(h, 1, timed ? tuned->roof_pct : NAN, "");
        text_puts(h, "</tr>\n");
    }
    text_puts(h, table_end);
}

/* Calls after which what tuning cost is saved; INFINITY: it saved nothing. */
static double calls_to_pay(const struct result_row *slow, const struct result_row *tuned) {
    if (!result_row_measured(slow)) return NAN;
    double saved = slow->median_us - tuned->median_us;
    return saved > 0 ? ceil(tuned->tuning_s * 1e6 / saved) : INFINITY;
}

static void put_calls(struct text *h, const struct result_row *slow,
                      const struct result_row *tuned) {
    double calls = calls_to_pay(slow, tuned);
    if (isinf(calls))
        text_puts(h, "<td class=n>never</td>");
    else
        put_number(h, 0, calls, "");
}

/* Older rows say only what tuning took. */
static double check_ratio(const struct result_row *tuned) {
    bool newer = !isnan(tuned->all_check_s);
    return newer ? tuned->all_check_s / tuned->all_timing_s
                 : (tuned->reference_s + tuned->check_s) / tuned->measure_s;
}

static void put_costs(struct text *h, const struct benches *b) {
    text_puts(h,
              "<h2>Tuning: its cost in seconds, and the calls after which it has paid off</h2>\n");
    HEAD(h, KEY_HEAD, ">trials", ">all", ">compiling", ">checking", ">measuring", ">searching",
         ">reference", ">all checks / all timing", ">µs saved a call", ">calls, against default",
         ">calls, against unfused");
    for (size_t i = 0; i < b->n; i++) {
        const struct result_row *tuned = b->all[i].role[ROLE_tuned];
        const struct result_row *dflt = b->all[i].role[ROLE_default];
        if (!result_row_measured(tuned) || isnan(tuned->tuning_s)) continue;
        text_puts(h, "<tr>");
        put_key(h, b->all[i].key);
        put_number(h, 0, tuned->trials, "");
        put_number(h, 2, tuned->tuning_s, "");
        put_number(h, 2, tuned->compile_s, "");
        put_number(h, 2, tuned->check_s, "");
        put_number(h, 2, tuned->measure_s, "");
        put_number(h, 2, tuned->search_s, "");
        put_number(h, 2, tuned->reference_s, "");
        put_number(h, 2, check_ratio(tuned), "");
        put_number(h, 2, result_row_measured(dflt) ? dflt->median_us - tuned->median_us : NAN, "");
        put_calls(h, dflt, tuned);
        put_calls(h, b->all[i].role[ROLE_eager], tuned);
        text_puts(h, "</tr>\n");
    }
    text_puts(h, table_end);
}

/* A variant row that belongs to the tuned program of a bench: same run, same key. */
static bool belongs(const struct result_row *r, const struct bench *b) {
    const struct result_row *tuned = b->role[ROLE_tuned];
    return r->role == ROLE_variant && tuned && strcmp(r->run_id, tuned->run_id) == 0 &&
           bench_same_key(r, b->key);
}

static void put_winner(struct text *h, const struct result_row *r) {
    text_puts(h, "<tr>");
    put_key(h, r);
    put_code(h, r->kernel);
    put_code(h, r->config);
    put_code(h, r->guard);
    put_number(h, 0, r->n, "");
    put_number(h, 2, r->median_us, "");
    put_number(h, 1, 100 * (r->q3_us - r->q1_us) / r->median_us, " %");
    put_number(h, 0, r->clock_mhz, "");
    put_number(h, 1, r->roof_pct, "");
    put_number(h, 0, r->regs, "");
    put_number(h, 0, 100 * r->occupancy, " %");
    put_number(h, 2, strcmp(r->counters, "cupti") == 0 ? r->dram_bytes / r->bytes : NAN, "×");
    text_puts(h, "</tr>\n");
}

static void put_winners(struct text *h, const struct report_page *p) {
    text_puts(h, "<h2>The fastest config of each kernel, and its measurements</h2>\n");
    HEAD(h, KEY_HEAD, "kernel", "config", "sizes", ">samples", ">median µs", ">IQR", ">clock MHz",
         ">% of roof", ">regs", ">occupancy", ">DRAM bytes / least");
    for (size_t i = 0; i < p->benches->n; i++)
        for (size_t f = 0; f < p->n_files; f++)
            for (size_t k = 0; k < p->files[f].n; k++) {
                const struct result_row *r = &p->files[f].rows[k];
                if (r->is_winner == 1 && belongs(r, &p->benches->all[i])) put_winner(h, r);
            }
    text_puts(h, table_end);
}

static void put_variant_counts(struct text *h, const struct report_page *p) {
    text_puts(h, "<h2>Variants tried, by outcome</h2>\n");
    text_puts(h, "<div class=scroll><table><thead><tr>");
    static const char *const key[] = {KEY_HEAD};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) text_printf(h, "<th>%s</th>", key[i]);
    for (int s = 0; s < STATUS_COUNT; s++)
        text_printf(h, "<th class=n>%s</th>", result_status_name((enum result_status)s));
    text_puts(h, "</tr></thead><tbody>\n");
    for (size_t i = 0; i < p->benches->n; i++) {
        size_t count[STATUS_COUNT] = {0}, all = 0;
        for (size_t f = 0; f < p->n_files; f++)
            for (size_t k = 0; k < p->files[f].n; k++)
                if (belongs(&p->files[f].rows[k], &p->benches->all[i])) {
                    count[p->files[f].rows[k].status]++;
                    all++;
                }
        if (!all) continue;
        text_puts(h, "<tr>");
        put_key(h, p->benches->all[i].key);
        for (int s = 0; s < STATUS_COUNT; s++) put_number(h, 0, (double)count[s], "");
        text_puts(h, "</tr>\n");
    }
    text_puts(h, table_end);
}

void report_page(struct text *html, const struct report_page *page) {
    text_puts(html, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                    "<meta name=viewport content=\"width=device-width\">\n"
                    "<title>warpsmith: results</title>\n<style>\n");
    text_puts(html, style);
    text_puts(html, "</style>\n</head>\n<body>\n");
    put_header(html, page);
    put_figure(html, "Speedup", page->speedup_svg);
    put_programs(html, page->benches);
    put_figure(html, "Roofline", page->roofline_svg);
    put_costs(html, page->benches);
    put_winners(html, page);
    put_variant_counts(html, page);
    text_puts(html, "</body>\n</html>\n");
}
