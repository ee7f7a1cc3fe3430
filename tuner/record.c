/* record.c: from what was measured to rows of the result file. */
#define _GNU_SOURCE /* gethostname, popen */
#include "tuner/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tuner/folder.h"
#include "tuner/version.h"

enum { LEAST_FREE = 1 << 20 /* bytes that must be free before a run starts */ };

/* ---- facts of the run ------------------------------------------------------------------------ */

static const char *host_name(struct arena *a) {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return arena_strdup(a, name);
}

static const char *utc(struct arena *a, const char *format) {
    char text[64];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, format, &tm);
    return arena_strdup(a, text);
}

void recorder_start(struct recorder *r, const struct machine *m, struct arena *a) {
    const struct device_facts *f = device_facts(m->device);
    *r = (struct recorder){.arena = a, .common = result_row_new()};
    r->run_id = m->env.run_id && *m->env.run_id
                    ? m->env.run_id
                    : arena_printf(a, "%s-%d", utc(a, "%Y%m%dT%H%M%SZ"), (int)getpid());
    r->common.run_id = r->run_id;
    r->common.timestamp = utc(a, "%Y-%m-%dT%H:%M:%SZ");
    r->common.git_rev = version_revision;
    r->common.host = host_name(a);
    r->common.device = f->name;
    r->common.arch = m->limits.arch;
    r->common.driver = f->driver;
    r->common.toolchain = toolchain_version(m->toolchain);
    r->common.timer = f->timer;
    r->has_tf32 = m->limits.kind == DEVICE_CUDA && m->limits.sm >= 80;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *record_axes(const char *axes, struct arena *a) {
    const char **word = NEW_ARRAY(a, const char *, strlen(axes) + 1);
    struct buf b = buf_new(a);
    int n = 0, depth = 0;
    for (const char *p = axes, *start = axes;; p++) {
        if (*p && strchr("([{", *p)) depth++;
        if (*p && strchr(")]}", *p)) depth--;
        if (*p && (*p != ' ' || depth > 0)) continue;
        if (p > start) word[n++] = arena_strndup(a, start, (size_t)(p - start));
        start = p + 1;
        if (!*p) break;
    }
    if (n) qsort(word, (size_t)n, sizeof *word, by_text);
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? " " : "", word[i]);
    return b.p;
}

static enum ws_status append(struct recorder *r, struct diag *d) {
    struct report_error e = {0};
    struct text notes = {0};
    result_append(r->path, r->rows, (size_t)r->n, &notes, &e);
    fputs(text_str(&notes), stderr);
    text_free(&notes);
    if (e.status == REPORT_OK) return WS_OK;
    return diag_fail(d, e.status == REPORT_WRONG ? WS_WRONG : WS_MACHINE, "%s", e.text);
}

enum ws_status recorder_open(struct recorder *r, const char *folder, const struct ws_captured *c,
                             struct arena *a, struct diag *d) {
    r->row_arena = a;
    r->rows = NULL;
    r->n = r->cap = 0;
    r->path = arena_printf(r->arena, "%s/%s.csv", folder, c->workload);
    r->common.workload = c->workload;
    r->common.mode = c->mode;
    r->common.dtype = c->dtype;
    r->common.weights = c->weights;
    bool in_f32 = c->precision == PRECISION_TF32 && !r->has_tf32;
    r->common.precision = precision_name(in_f32 ? PRECISION_F32 : c->precision);
    r->common.axes = record_axes(c->axes, a);
    r->common.graph = c->graph_hash;
    if (folder_make(a, folder, d) != WS_OK) return d->status;
    int64_t space = folder_free_bytes(folder);
    if (space >= 0 && space < LEAST_FREE)
        return diag_fail(d, WS_MACHINE, "the disk of '%s' is full: %lld bytes are free", folder,
                         (long long)space);
    return append(r, d);
}

enum ws_status recorder_flush(struct recorder *r, struct diag *d) {
    if (!r->n || append(r, d) != WS_OK) return d->status;
    for (int i = 0; i < r->n && r->json; i++)
        json_array_append_new(r->json, result_row_json(&r->rows[i]));
    r->n = 0;
    return WS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct result_row *add_row(struct recorder *r) {
    if (r->n == r->cap) {
        struct result_row *more =
            NEW_ARRAY(r->row_arena, struct result_row, r->cap = 2 * r->cap + 64);
        if (r->n) memcpy(more, r->rows, sizeof *more * (size_t)r->n);
        r->rows = more;
    }
    r->rows[r->n] = r->common;
    return &r->rows[r->n++];
}

static void set_timing(struct result_row *row, const struct timing *t, const struct work *w,
                       const struct roof *roof, struct arena *a) {
    row->bytes = w->bytes;
    row->flops = w->flops;
    if (!t->us.n) return;
    row->n = t->us.n;
    row->median_us = t->us.median;
    row->q1_us = t->us.q1;
    row->q3_us = t->us.q3;
    row->min_us = t->us.min;
    row->ci_us = stats_ci(&t->us);
    row->host_us = t->host_us;
    row->span_us = t->span_us;
    row->kernels_us = t->kernels_us;
    row->load_us = t->load_us;
    row->kept_bytes = t->kept_bytes;
    row->clock_mhz = t->clock_mhz;
    row->temp_c = t->temp_c;
    row->throttle = arena_strdup(a, t->throttle);
    row->gbps = w->bytes / t->us.median / 1e3;
    row->tflops = w->flops / t->us.median / 1e6;
    row->roof_pct = 100 * roof_floor_us(roof, w) / t->us.median;
}

/* "counted": what the kernel has to move stands for what nobody saw it move. */
static void set_counters(struct result_row *row, const struct variant *v, const struct work *w) {
    const struct counters *c = &v->counters;
    int pipe = counters_busiest_pipe(c), stall = counters_top_stall(c);
    row->counters = v->counters_from;
    if (!v->counters_from) return;
    if (strcmp(v->counters_from, "cupti") != 0) {
        row->dram_bytes = w->bytes;
        return;
    }
    row->dram_read_bytes = c->dram_read_bytes;
    row->dram_write_bytes = c->dram_write_bytes;
    row->dram_bytes = c->dram_read_bytes + c->dram_write_bytes;
    row->occupancy = c->occupancy;
    row->l2_hit_pct = c->l2_hit_pct;
    row->issue_pct = c->issue_pct;
    row->local_bytes = c->local_bytes;
    if (pipe >= 0) {
        row->pipe = counter_pipe_name(pipe);
        row->pipe_pct = c->pipe_pct[pipe];
    }
    if (stall >= 0) {
        row->stall = counter_stall_name(stall);
        row->stall_pct = c->stall_pct[stall];
    }
}

/* NULL: appended already, or never added. */
static struct result_row *find_variant(struct recorder *r, const struct variant *v) {
    for (int i = 0; i < r->n; i++) {
        struct result_row *row = &r->rows[i];
        if (row->role == ROLE_variant && !strcmp(row->kernel, variant_kernel(v)->name) &&
            !strcmp(row->config, v->text))
            return row;
    }
    return NULL;
}

void recorder_add_variant(struct recorder *r, const struct variant *v, const struct work *w,
                          const struct roof *roof) {
    struct result_row *row = find_variant(r, v);
    if (row)
        *row = r->common;
    else
        row = add_row(r);
    row->kernel = variant_kernel(v)->name;
    row->guard = variant_kernel(v)->guard;
    row->config = v->text;
    row->status = v->status;
    row->role = ROLE_variant;
    row->is_winner = v->is_winner;
    row->occupancy = v->occupancy;
    row->regs = v->regs >= 0 ? v->regs : NAN;
    row->smem_bytes = v->smem_bytes >= 0 ? v->smem_bytes : NAN;
    row->compile_ms = v->compile_ms;
    set_timing(row, &v->timing, w, roof, r->row_arena);
    set_counters(row, v, w);
}

void recorder_set_counters(struct recorder *r, const struct variant *v, const struct work *w,
                           const struct roof *roof) {
    struct result_row *row = find_variant(r, v);
    if (row)
        set_counters(row, v, w);
    else
        recorder_add_variant(r, v, w, roof);
}

void recorder_add_program(struct recorder *r, enum result_role role, const struct plan *p,
                          const struct timing *t, const struct roof *roof) {
    struct result_row *row = add_row(r);
    struct work w = work_of_program(p->program);
    row->kernel = "program";
    row->guard = plan_guard(p, r->row_arena);
    row->config = role == ROLE_eager ? "" : plan_text(p, r->row_arena);
    row->status = roof_implausible(roof, &w, t->us.median) ? STATUS_implausible : STATUS_ok;
    row->role = role;
    row->is_winner = 0;
    set_timing(row, t, &w, roof, r->row_arena);
}

void recorder_set_check(struct recorder *r, const struct data *x, const struct data_worst *worst) {
    struct result_row *row = &r->rows[r->n - 1];
    if (!x) return;
    row->reference = reference_name(x->reference);
    if (x->reference != REFERENCE_TRUSTED) row->reference_s = x->reference_ms / 1e3;
    if (x->reference == REFERENCE_DEVICE || x->reference == REFERENCE_SLICED ||
        x->reference == REFERENCE_SAMPLED) {
        row->judged = (double)x->judged;
        row->judged_of = 0;
        for (int i = 0; i < x->captured->n_outputs; i++)
            row->judged_of += (double)ws_output_info(x->captured, i).numel;
    }
    row->unbounded = (double)worst->unbounded;
    row->unjudged = (double)worst->unjudged;
    if (!worst->where) return;
    row->error = worst->error;
    row->bound = worst->bound;
    row->error_at = worst->where;
}

void recorder_set_cost(struct recorder *r, const struct cost *c) {
    if (!c->trials) return;
    struct result_row *row = &r->rows[r->n - 1];
    row->trials = c->trials;
    row->tuning_s = c->all;
    row->compile_s = c->compile;
    row->check_s = c->check;
    row->measure_s = c->measure;
    row->search_s = cost_of_search(c) + c->count;
}

void recorder_set_all(struct recorder *r, double check_ms, double timing_ms, double all_ms) {
    struct result_row *row = &r->rows[r->n - 1];
    row->all_check_s = check_ms / 1e3;
    row->all_timing_s = timing_ms / 1e3;
    row->all_s = all_ms / 1e3;
}

void recorder_add_roof(struct recorder *r, const struct roof *roof) {
    const struct device_limits *l = roof->limits;
    double peak = fmax(l->f32_tflops, l->matrix_tflops);
    struct result_row *row = add_row(r);
    row->kernel = "program";
    row->weights = "";
    row->status = STATUS_ok;
    row->role = ROLE_roof;
    row->is_winner = 0;
    row->gbps = roof->copy_gbps;
    row->tflops = peak > 0 ? peak : NAN;
}
