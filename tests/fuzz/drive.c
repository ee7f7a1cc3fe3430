/* drive.c: programs, their inputs and what must come out; see drive.h. */
#include "tests/fuzz/drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"
#include "tests/fuzz/drive_impl.h"

bool drive_fail(struct diag *d, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    diag_fail(d, WS_WRONG, "%s", text);
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static double random_value(enum dtype t, uint64_t seed, uint64_t tensor, uint64_t i) {
    double u = random_uniform(seed, tensor, i);
    if (t == DT_BOOL) return u < 0.5;
    if (dtype_is_narrow(t)) return floor(u * 199) - 99; /* overflows now and then */
    return dtype_is_float(t) ? random_normal(seed, tensor, i) : floor(u * 9) - 4;
}

static double as_stored(enum dtype t, double v) {
    double cell;
    dtype_store(t, &cell, 0, v);
    return dtype_load(t, &cell, 0);
}

/* Where element i (row-major) of a tensor lies in its storage. */
static size_t place_of(const struct graph *g, const struct meta *m, int64_t i) {
    int64_t at = 0;
    for (int d = m->rank - 1; d >= 0; d--) {
        int64_t size = ex_value(g->ex, m->size[d]);
        at += i % size * ex_value(g->ex, m->stride[d]);
        i /= size;
    }
    return (size_t)at;
}

static const struct meta *meta_of(const struct graph *g, node_id n) { return &g->nodes.at[n].meta; }

struct value *drive_inputs(const struct graph *g, uint64_t seed) {
    struct value *in = calloc(g->inputs.n + 1, sizeof *in);
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        const struct meta *m = meta_of(g, g->inputs.at[k].node);
        in[k].n = ex_value(g->ex, meta_numel(g->ex, m));
        in[k].v = calloc((size_t)in[k].n + 1, sizeof *in[k].v);
        for (int64_t i = 0; i < in[k].n;
             i++) /* by place: an element that is repeated is the same */
            in[k].v[i] = as_stored(m->dtype, random_value(m->dtype, seed, k, place_of(g, m, i)));
    }
    return in;
}

void drive_fill(const struct drive *b, int k, void *to) {
    const struct meta *m = meta_of(b->g, b->g->inputs.at[k].node);
    for (int64_t i = 0; i < b->in[k].n; i++)
        dtype_store(m->dtype, to, place_of(b->g, m, i), b->in[k].v[i]);
}

bool drive_judge_memory(struct drive *b, const struct ws_buffer *x, const void *memory,
                        struct diag *d) {
    int64_t n = b->want[x->index].n;
    double *got = malloc((size_t)n * sizeof *got + 1);
    for (int64_t i = 0; i < n; i++) got[i] = dtype_load(x->dtype, memory, (size_t)i);
    bool ok = b->judge(b, x, got, d);
    free(got);
    return ok;
}

static void free_values(struct value *v, uint32_t n) {
    for (uint32_t i = 0; v && i < n; i++) value_free(&v[i]);
    free(v);
}

struct drive *drive_begin(struct arena *a, struct graph *g, struct value *in,
                          const struct device_limits *limits, enum ws_fusion fusion,
                          struct diag *d) {
    struct drive *b = NEW(a, struct drive);
    *b = (struct drive){.a = a, .g = g, .in = in, .judge = drive_agrees};
    b->captured = (struct ws_captured){.arena = a, .graph = g, .guards = "", .workload = "test"};
    b->want = calloc(g->outputs.n, sizeof *b->want);
    b->p = ws_lower(&b->captured, limits, fusion, NULL, d);
    if (b->p && graph_eval(g, in, b->want, d)) return b;
    drive_end(b);
    return NULL;
}

void drive_end(struct drive *b) {
    free_values(b->in, b->g->inputs.n);
    free_values(b->want, b->g->outputs.n);
}

/* ---- kernels in loops ------------------------------------------------------------------------ */

bool drive_is_window(const struct drive *b, int buffer) {
    return b->p->buffers[buffer].kind == WS_BUF_WINDOW;
}

int drive_place(const struct drive *b, int buffer, int64_t step, size_t *from) {
    *from = 0;
    return drive_is_window(b, buffer) ? ws_window_at(b->p, buffer, step, from) : buffer;
}

bool drive_kernels(const struct drive *b, drive_run *run, void *ctx) {
    const struct ws_kernel *kernels = b->p->kernels;
    for (int k = 0, end; k < b->p->n_kernels; k = end) {
        for (end = k + 1; kernels[k].loop && end < b->p->n_kernels;)
            if (kernels[end].loop == kernels[k].loop)
                end++;
            else
                break;
        for (int64_t t = 0; t < (kernels[k].loop ? kernels[k].steps : 1); t++)
            for (int i = k; i < end; i++)
                if (!run(ctx, i, t)) return false;
    }
    return true;
}

/* ---- comparison ------------------------------------------------------------------------------ */

double drive_tolerance(enum dtype t) {
    if (!dtype_is_float(t)) return 0;
    if (dtype_opmath(t) == t) return t == DT_F32 ? 2e-5 : 1e-9;
    return dtype_roundoff(t) * (dtype_is_float8(t) ? 2.1 : 4.1);
}

double drive_rms(const struct value *v) {
    double sum = 0;
    for (int64_t i = 0; i < v->n; i++) {
        double x = value_number(v, i);
        sum += isfinite(x) ? x * x : 0;
    }
    return v->n ? sqrt(sum / (double)v->n) : 0;
}

bool drive_agrees(struct drive *b, const struct ws_buffer *x, const double *got, struct diag *d) {
    const struct value *want = &b->want[x->index];
    double tol = drive_tolerance(x->dtype), rms = drive_rms(want);
    for (int64_t i = 0; i < want->n; i++) {
        double g = got[i], w = value_number(want, i);
        if ((isnan(g) && isnan(w)) || g == w) continue;
        if (!isfinite(w) && !dtype_is_float(x->dtype)) continue; /* integers divided by zero */
        if (fabs(g - w) <= tol * (fabs(w) + rms)) continue;
        return drive_fail(d, "%s: element %lld is %.9g, not %.9g", x->name, (long long)i, g, w);
    }
    return true;
}

/* ---- variants -------------------------------------------------------------------------------- */

static bool add_variant(struct arena *a, variant_vec *all, struct drive *b, int kernel,
                        const struct config *c, struct diag *d) {
    struct variant v = {.program = b, .kernel = kernel, .config = *c};
    if (ws_emit(b->p, kernel, c, b->a, &v.source, d) != WS_OK) return false;
    if (b->fits && !b->fits(&v)) return true;
    vec_push(a, all, v);
    return true;
}

/* The config that the caller has named, where it is legal. */
static bool add_named(struct arena *a, variant_vec *all, struct drive *b, int kernel,
                      struct diag *d) {
    struct config c;
    if (!config_parse(b->config, &c, d)) return false;
    const char *why = ws_config_illegal(b->p, kernel, &c, b->a);
    if (!why) return add_variant(a, all, b, kernel, &c, d);
    bool meant = !b->maybe && b->p->n_kernels == 1 && b->p->limits.kind == DEVICE_CUDA;
    return meant ? drive_fail(d, "%s: %s", b->config, why) : true;
}

bool drive_add_variants(struct arena *a, variant_vec *all, struct drive *b, drive_pick *pick,
                        void *ctx, struct diag *d) {
    b->first = NEW_ARRAY(b->a, uint32_t, b->p->n_kernels);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(b->p, k, &c, &n, &pruned);
        if (!n) return drive_fail(d, "kernel %s has no legal config", b->p->kernels[k].name);
        b->first[k] = all->n;
        for (int i = 0; i < n; i++) {
            if (all->n > b->first[k] && pick && !pick(ctx, i, n)) continue;
            if (!add_variant(a, all, b, k, &c[i], d)) return false;
        }
        if (b->config && !add_named(a, all, b, k, d)) return false;
    }
    return true;
}

const char *drive_entry(struct arena *a, const char *entry, const struct variant *v) {
    return arena_printf(a, "%s_%u", entry, v->text);
}

static const char *kernel_text(const struct ws_source *s) {
    return strstr(s->text, "/* ---- kernel text");
}

/* What a kernel's text declares beside its entries: each has its own. */
static const char *const declared[] = {
    "k_idx",        "k_wgmma",       "k_wgmma_first", "k_wgmma_beside", "k_wgmma_second",
    "k_wgmma_twin", "k_wgmma_pairs", "k_read_sums",   "k_read_pairs",   "k_again",
    "k_panel",      "k_block",       "k_part_0",      "k_part_1",       "k_part_2",
    "k_part_3",     "k_part_4",      "k_part_5",      "k_part_6",       "k_part_7",
    "k_part_8",     "k_part_9",      "k_part_10",     "k_part_11",      "k_part_12",
    "k_part_13",    "k_part_14",     "k_part_15"};
enum { N_DECLARED = sizeof declared / sizeof *declared };

/* Graphs of the same shapes share kernels. A text names its entries. */
void drive_number_texts(struct arena *a, variant_vec *all, text_vec *out) {
    struct map seen = map_new(a);
    for (uint32_t i = 0; i < all->n; i++) {
        struct variant *v = &all->at[i];
        uint64_t text = out->n;
        if (!map_gets(&seen, v->source.text, &text)) {
            map_puts(&seen, v->source.text, text);
            vec_push(a, out, v);
        }
        v->text = (uint32_t)text;
    }
}

const char *drive_join(struct arena *a, const text_vec *texts, uint32_t from, uint32_t to) {
    struct buf text = buf_new(a);
    bool cuda = texts->at[from]->program->p->limits.kind == DEVICE_CUDA;
    for (uint32_t i = from; i < to; i++) {
        const struct ws_source *src = &texts->at[i]->source;
        buf_putc(&text, '\n');
        for (int j = 0; j < N_DECLARED; j++)
            buf_printf(&text, "#define %s %s_%u\n", declared[j], declared[j], i);
        for (int l = 0; l < src->n_launches; l++)
            buf_printf(&text, "#define %s %s\n", src->launches[l].entry,
                       drive_entry(a, src->launches[l].entry, texts->at[i]));
        buf_puts(&text, kernel_text(src));
        for (int l = 0; l < src->n_launches; l++)
            buf_printf(&text, "#undef %s\n", src->launches[l].entry);
        for (int j = 0; j < N_DECLARED; j++) buf_printf(&text, "#undef %s\n", declared[j]);
    }
    return arena_printf(a, "%s%s", prelude_parts(a, cuda, text.p), text.p);
}

static void put_map(struct buf *b, const struct ws_arg *x, struct arena *a) {
    struct tensor_map m = ws_map_at(x->map, 0);
    buf_printf(b, " %lld %s", (long long)x->value, tensor_map_str(&m, a));
}

uint64_t variant_hash(struct arena *a, const struct variant *v) {
    struct buf b = buf_new(a);
    buf_puts(&b, kernel_text(&v->source));
    for (int l = 0; l < v->source.n_launches; l++) {
        const struct ws_launch *w = &v->source.launches[l];
        buf_printf(&b, "%s %lld %lld %lld, %d, %d, %d:", w->entry, (long long)w->grid[0],
                   (long long)w->grid[1], (long long)w->grid[2], w->threads, w->smem, w->cluster);
        for (int i = 0; i < w->n_args; i++)
            if (w->args[i].kind == WS_ARG_SIZE)
                buf_printf(&b, " %lld", (long long)w->args[i].value);
            else if (w->args[i].kind == WS_ARG_MAP)
                put_map(&b, &w->args[i], a);
    }
    return hash_bytes(b.p, b.n);
}
