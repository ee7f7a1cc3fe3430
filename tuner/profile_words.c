/* profile_words.c: a verdict in words, wrapped to lines.
 *
 *     bound by DRAM: 134.2 MB in 34.35 us are 3907 GB/s, 91 % of the measured copy bandwidth. DRAM
 *     moved 67.1 MB in and 67.1 MB out, 1.00 times the least possible. To try: fewer bytes (fusing
 *     it with a neighbour, a narrower dtype). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuner/profile.h"

enum { WIDTH = 100, INDENT = 4 };

/* ---- sentences ------------------------------------------------------------------------------- */

static const char *amount(struct arena *a, double bytes) {
    if (isnan(bytes)) return "? MB";
    if (bytes < 1e5) return arena_printf(a, "%.1f kB", bytes / 1e3);
    return arena_printf(a, "%.*f MB", bytes < 1e7 ? 2 : 1, bytes / 1e6);
}

static const char *percent(struct arena *a, double pct) {
    return isnan(pct) ? "? %" : arena_printf(a, "%.0f %%", pct);
}

/* "L2 30 %, issue slots 25 %, busiest pipe alu 12 %" */
static void say_chip(struct buf *b, const struct profile_facts *f,
                     const struct profile_verdict *v) {
    struct arena *a = b->arena;
    const struct counters *c = &f->counters;
    buf_printf(b, "L2 %s, issue slots %s", percent(a, c->l2_busy_pct), percent(a, c->issue_pct));
    if (v->pipe >= 0)
        buf_printf(b, ", busiest pipe %s %s", counter_pipe_name(v->pipe),
                   percent(a, c->pipe_pct[v->pipe]));
}

static void say_units(struct buf *b, const struct profile_facts *f,
                      const struct profile_verdict *v) {
    buf_printf(b, "DRAM %s of the copy bandwidth, ", percent(b->arena, v->dram_pct));
    say_chip(b, f, v);
}

static void say_memory(struct buf *b, const struct profile_facts *f,
                       const struct profile_verdict *v) {
    buf_printf(b, "%s in %.2f us are %.0f GB/s, %.0f %% of the measured copy bandwidth",
               amount(b->arena, v->busy_bytes), f->us, v->gbps, v->dram_pct);
    if (!f->counted || v->dram_pct >= 90) return;
    buf_puts(b, " (");
    say_chip(b, f, v);
    buf_puts(b, ")");
}

static void say_compute(struct buf *b, const struct profile_facts *f,
                        const struct profile_verdict *v) {
    buf_printf(b, "%.4g MFLOP in %.2f us are %.3f TFLOP/s, %s of the peak arithmetic",
               f->work.flops / 1e6, f->us, f->work.flops / f->us / 1e6,
               percent(b->arena, v->peak_pct));
}

static void say_pipe(struct buf *b, const struct profile_facts *f,
                     const struct profile_verdict *v) {
    buf_printf(b, "the pipe of %s is %s busy (", counter_pipe_text(v->pipe),
               percent(b->arena, f->counters.pipe_pct[v->pipe]));
    say_units(b, f, v);
    buf_puts(b, ")");
}

static void say_latency(struct buf *b, const struct profile_facts *f,
                        const struct profile_verdict *v) {
    const struct counters *c = &f->counters;
    const struct device_limits *l = f->roof->limits;
    buf_puts(b, "no unit is busy (");
    say_units(b, f, v);
    buf_puts(b, ")");
    if (v->stall >= 0)
        buf_printf(b, "; %s of the time a resident warp %s (%s)",
                   percent(b->arena, c->stall_pct[v->stall]), counter_stall_text(v->stall),
                   counter_stall_name(v->stall));
    if (v->next_stall >= 0)
        buf_printf(b, ", %s it %s (%s)", percent(b->arena, c->stall_pct[v->next_stall]),
                   counter_stall_text(v->next_stall), counter_stall_name(v->next_stall));
    if (!isnan(c->occupancy)) {
        buf_printf(b, "; %.0f %% of the warps that a multiprocessor can hold are resident",
                   100 * c->occupancy);
        if (!isnan(f->fits)) buf_printf(b, ", %.0f %% would fit", 100 * f->fits);
    }
    if (l->kind == DEVICE_CUDA && f->blocks < l->units)
        buf_printf(b, "; its %lld block%s leave%s %lld of %d multiprocessors idle",
                   (long long)f->blocks, f->blocks == 1 ? "" : "s", f->blocks == 1 ? "s" : "",
                   (long long)(l->units - f->blocks), l->units);
}

static void say_launch(struct buf *b, const struct profile_facts *f) {
    double floor_us = roof_floor_us(f->roof, &f->work);
    buf_printf(b, "%.2f us in %d launch%s for work of %.2f us; starting and ending take the rest",
               f->us, f->n_launches, f->n_launches == 1 ? "" : "es",
               isnan(floor_us) ? 0 : floor_us);
}

static void say_unknown(struct buf *b, const struct profile_facts *f,
                        const struct profile_verdict *v) {
    bool compute = !isnan(v->peak_pct);
    if (f->us > 0)
        buf_printf(b, "%.2f us are %s of the %s; what holds it back, only counters could tell",
                   f->us, percent(b->arena, compute ? v->peak_pct : v->dram_pct),
                   compute ? "peak arithmetic" : "measured copy bandwidth");
    else
        buf_puts(b, "it was not timed");
}

static void say_bound(struct buf *b, const struct profile_facts *f,
                      const struct profile_verdict *v) {
    buf_printf(b, "%s: ", profile_bound_text(v->bound));
    switch (v->bound) {
    case BOUND_memory: say_memory(b, f, v); break;
    case BOUND_compute: say_compute(b, f, v); break;
    case BOUND_pipe: say_pipe(b, f, v); break;
    case BOUND_l2:
    case BOUND_issue: say_units(b, f, v); break;
    case BOUND_latency: say_latency(b, f, v); break;
    case BOUND_launch: say_launch(b, f); break;
    case BOUND_unknown: say_unknown(b, f, v); break;
    }
    buf_puts(b, ".");
}

static void say_bytes(struct buf *b, const struct profile_facts *f,
                      const struct profile_verdict *v) {
    const struct counters *c = &f->counters;
    if (isnan(v->ratio)) {
        buf_printf(b, " It has to move %s at least; what it moved was not counted.",
                   amount(b->arena, f->work.bytes));
        return;
    }
    buf_printf(b, " DRAM moved %s in and %s out, %.2f times the least possible",
               amount(b->arena, c->dram_read_bytes), amount(b->arena, c->dram_write_bytes),
               v->ratio);
    if (v->advice & (1u << ADVICE_read_once | 1u << ADVICE_whole_sectors))
        buf_puts(b, ": something is read again, or in part");
    else if (v->ratio > 1.05 && v->advice & 1u << ADVICE_fewer_registers)
        buf_puts(b, ": spilled registers are among them");
    else if (v->ratio < 0.9)
        buf_puts(b, ": the rest is still in the L2 when it ends");
    buf_puts(b, ".");
}

static void say_local(struct buf *b, const struct profile_facts *f,
                      const struct profile_verdict *v) {
    if (!(v->advice & 1u << ADVICE_fewer_registers)) return;
    if (f->counted && !isnan(f->counters.local_bytes))
        buf_printf(b, " Spilled registers and local arrays move %s besides.",
                   amount(b->arena, f->counters.local_bytes));
    else
        buf_printf(b, " Every thread spills %d bytes of registers.", f->spill_bytes);
}

static void say_advice(struct buf *b, const struct profile_facts *f,
                       const struct profile_verdict *v) {
    bool product = !strcmp(f->kind, "matmul");
    const char *between = " To try: ";
    for (int i = 0; i < N_ADVICE; i++) {
        if (!(v->advice & 1u << i)) continue;
        const char *how = profile_advice_how((enum profile_advice)i, product);
        buf_printf(b, "%s%s", between, profile_advice_what((enum profile_advice)i));
        if (*how) buf_printf(b, " (%s)", how);
        between = "; ";
    }
    if (v->advice) buf_puts(b, ".");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A number is not parted from its unit. */
static int word(const char *p) {
    size_t n = strcspn(p, " ");
    while (p[n] && n && p[n - 1] >= '0' && p[n - 1] <= '9') n += 1 + strcspn(p + n + 1, " ");
    return (int)n;
}

static void wrap(struct buf *b, const char *text) {
    int column = 0;
    for (const char *p = text; *p;) {
        p += *p == ' ';
        int n = word(p);
        if (column && column + 1 + n > WIDTH) column = 0, buf_puts(b, "\n");
        column += column ? (buf_puts(b, " "), 1) : (buf_printf(b, "%*s", INDENT, ""), INDENT);
        buf_printf(b, "%.*s", n, p);
        column += n;
        p += n;
    }
    buf_puts(b, "\n");
}

void profile_words(struct buf *b, const struct profile_facts *f) {
    struct profile_verdict v = profile_judge(f);
    struct buf text = buf_new(b->arena);
    say_bound(&text, f, &v);
    say_bytes(&text, f, &v);
    say_local(&text, f, &v);
    say_advice(&text, f, &v);
    wrap(b, text.p);
}

static void put(struct buf *b, int width, int digits, double v) {
    if (isfinite(v))
        buf_printf(b, "  %*.*f", width, digits, v);
    else
        buf_printf(b, "  %*s", width, "-");
}

/* "xu 92": padded to the width. */
static void put_named(struct buf *b, int width, const char *name, double pct) {
    char text[64] = "-";
    if (name) snprintf(text, sizeof text, "%s %.0f", name, pct);
    buf_printf(b, "  %*s", width, text);
}

static void put_head(struct buf *b, bool counted) {
    buf_printf(b, "    %-8s  %9s  %9s  %7s  %6s", "", "us", "DRAM MB", "GB/s", "% copy");
    if (counted)
        buf_printf(b, "  %6s  %5s  %5s  %6s  %5s  %9s  %19s  %8s", "/least", "warps", "L2 %",
                   "L2 hit", "issue", "pipe", "main stall", "local MB");
    buf_puts(b, "\n");
}

static void put_counters(struct buf *b, const struct counters *c, const struct profile_verdict *v) {
    bool pipe = v->pipe >= 0, stall = v->stall >= 0;
    put(b, 6, 2, v->ratio);
    put(b, 5, 2, c->occupancy);
    put(b, 5, 0, c->l2_busy_pct);
    put(b, 6, 0, c->l2_hit_pct);
    put(b, 5, 0, c->issue_pct);
    put_named(b, 9, pipe ? counter_pipe_name(v->pipe) : NULL, pipe ? c->pipe_pct[v->pipe] : 0);
    put_named(b, 19, stall ? counter_stall_name(v->stall) : NULL,
              stall ? c->stall_pct[v->stall] : 0);
    put(b, 8, 2, c->local_bytes / 1e6);
}

void profile_table(struct buf *b, const char *const *names, const struct profile_facts *f, int n) {
    bool counted = false;
    for (int i = 0; i < n; i++) counted |= f[i].counted;
    put_head(b, counted);
    for (int i = 0; i < n; i++) {
        struct profile_verdict v = profile_judge(&f[i]);
        buf_printf(b, "    %-8s", names[i]);
        put(b, 9, 2, f[i].us);
        put(b, 9, 2, v.dram_bytes / 1e6);
        put(b, 7, 0, v.gbps);
        put(b, 6, 1, v.dram_pct);
        if (counted) put_counters(b, &f[i].counters, &v);
        buf_puts(b, "\n");
    }
}
