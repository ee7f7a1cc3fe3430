/* drive.c: see drive.h. */
#include "tests/fuzz/drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit.h"

enum { BATCH = 96 }; /* kernels in one text: enough that the prelude's cost is shared */

static bool fail(struct diag *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct diag *d, const char *fmt, ...) {
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

/* Storage of input k, in its type and strides. */
static void fill(const struct drive *b, int k, void *to) {
    const struct meta *m = meta_of(b->g, b->g->inputs.at[k].node);
    for (int64_t i = 0; i < b->in[k].n; i++)
        dtype_store(m->dtype, to, place_of(b->g, m, i), b->in[k].v[i]);
}

/* Output x, as it lies in memory, judged. */
static bool judge(struct drive *b, const struct ws_buffer *x, const void *memory, struct diag *d) {
    int64_t n = b->want[x->index].n;
    double *got = malloc((size_t)n * sizeof *got + 1);
    for (int64_t i = 0; i < n; i++) got[i] = dtype_load(x->dtype, memory, (size_t)i);
    bool ok = b->judge(b, x, got, d);
    free(got);
    return ok;
}

static void free_values(struct value *v, uint32_t n) {
    for (uint32_t i = 0; v && i < n; i++) free(v[i].v);
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

/* ---- comparison ------------------------------------------------------------------------------ */

double drive_tolerance(enum dtype t) {
    return t == DT_BF16 ? 1.6e-2 : t == DT_F16 ? 2e-3 : t == DT_F32 ? 2e-5 : t == DT_F64 ? 1e-9 : 0;
}

double drive_rms(const struct value *v) {
    double sum = 0;
    for (int64_t i = 0; i < v->n; i++) sum += isfinite(v->v[i]) ? v->v[i] * v->v[i] : 0;
    return v->n ? sqrt(sum / (double)v->n) : 0;
}

bool drive_agrees(struct drive *b, const struct ws_buffer *x, const double *got, struct diag *d) {
    const struct value *want = &b->want[x->index];
    double tol = drive_tolerance(x->dtype), rms = drive_rms(want);
    for (int64_t i = 0; i < want->n; i++) {
        double g = got[i], w = want->v[i];
        if ((isnan(g) && isnan(w)) || g == w) continue;
        if (!isfinite(w) && !dtype_is_float(x->dtype)) continue; /* integers divided by zero */
        if (fabs(g - w) <= tol * (fabs(w) + rms)) continue;
        return fail(d, "%s: element %lld is %.9g, not %.9g", x->name, (long long)i, g, w);
    }
    return true;
}

/* ---- on the emulator ------------------------------------------------------------------------- */

struct emulation *emulation_new(struct arena *a) {
    struct emulation *s = NEW(a, struct emulation);
    *s = (struct emulation){.a = a, .e = emu_new()};
    return s;
}

void emulation_free(struct emulation *s) {
    if (s) emu_free(s->e);
}

static void alloc_buffers(struct emulation *s, struct drive *b) {
    const struct ws_program *p = b->p;
    b->emulated = NEW_ARRAY(b->a, char *, p->n_buffers);
    for (int i = 0; i < p->n_buffers; i++) {
        const struct ws_buffer *x = &p->buffers[i];
        if (!x->bytes && x->kind == WS_BUF_TEMP) continue;
        b->emulated[i] = emu_alloc(s->e, x->name, x->bytes ? x->bytes : 1);
        if (x->kind == WS_BUF_INPUT) fill(b, x->index, b->emulated[i]);
    }
}

bool emulation_add_all(struct emulation *s, struct drive *b, drive_pick *pick, void *ctx,
                       struct diag *d) {
    alloc_buffers(s, b);
    b->first = NEW_ARRAY(b->a, uint32_t, b->p->n_kernels);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(b->p, k, &c, &n, &pruned);
        if (!n) return fail(d, "kernel %s has no legal config", b->p->kernels[k].name);
        b->first[k] = s->variants.n;
        for (int i = 0; i < n; i++) {
            struct variant v = {.program = b, .kernel = k, .config = c[i]};
            if (i && pick && !pick(ctx, i, n)) continue;
            if (ws_emit(b->p, k, &c[i], b->a, &v.source, d) != WS_OK) return false;
            vec_push(s->a, &s->variants, v);
        }
    }
    return true;
}

/* Many kernels in one text: one prelude, then each under names of its own. */
static struct emu_module *open_batch(struct emulation *s, uint32_t from, uint32_t to,
                                     struct diag *d) {
    struct buf text = buf_new(s->a);
    VEC(const char *) names = {0};
    buf_puts(&text, prelude_cuda);
    for (uint32_t i = from; i < to; i++) {
        const struct ws_source *src = &s->variants.at[i].source;
        buf_printf(&text, "\n#define k_idx k_idx_%u\n", i);
        for (int l = 0; l < src->n_launches; l++)
            buf_printf(&text, "#define %s %s_%u\n", src->launches[l].entry, src->launches[l].entry,
                       i);
        buf_puts(&text, strstr(src->text, "/* ---- kernel text"));
        for (int l = 0; l < src->n_launches; l++) {
            buf_printf(&text, "#undef %s\n", src->launches[l].entry);
            vec_push(s->a, &names,
                     (const char *)arena_printf(s->a, "%s_%u", src->launches[l].entry, i));
        }
        buf_puts(&text, "#undef k_idx\n");
    }
    return emu_open(s->e, text.p, names.at, (int)names.n, d);
}

bool emulation_compile(struct emulation *s, struct diag *d) {
    uint32_t n = s->variants.n;
    s->modules = NEW_ARRAY(s->a, struct emu_module *, n / BATCH + 1);
    for (uint32_t i = 0; i < n; i += BATCH) {
        s->modules[i / BATCH] = open_batch(s, i, i + BATCH < n ? i + BATCH : n, d);
        if (!s->modules[i / BATCH]) return false;
    }
    return true;
}

/* A buffer that the first of several launches writes in part is finished by the others. */
static enum emu_role role_of(const struct variant *v, int launch, int buffer) {
    const struct ws_kernel *k = &v->program->p->kernels[v->kernel];
    for (int i = 0; i < k->n_writes; i++)
        if (k->writes[i] == buffer)
            return v->source.n_launches > 1 && launch == 0 ? EMU_INOUT : EMU_OUT;
    return EMU_IN;
}

static struct emu_report run_launch(struct emulation *s, uint32_t index, int l, char *workspace,
                                    bool check) {
    struct variant *v = &s->variants.at[index];
    const struct ws_launch *w = &v->source.launches[l];
    struct emu_module *m = s->modules[index / BATCH];
    void *values[WS_MAX_ARGS], *args[WS_MAX_ARGS];
    enum emu_role roles[WS_MAX_ARGS];
    for (int i = 0; i < w->n_args; i++) {
        const struct ws_arg *x = &w->args[i];
        args[i] = &values[i];
        roles[i] = EMU_VALUE;
        if (x->kind == WS_ARG_SIZE) {
            memcpy(&values[i], &x->value, sizeof x->value);
        } else if (x->kind == WS_ARG_WORKSPACE) {
            values[i] = workspace + x->value;
            roles[i] = EMU_INOUT; /* two partial results share it */
        } else {
            values[i] = v->program->emulated[x->buffer];
            roles[i] = role_of(v, l, x->buffer);
        }
    }
    struct emu_launch e = {
        .kernel = arena_printf(s->a, "%s_%u", w->entry, index),
        .grid = {(unsigned)w->grid[0], (unsigned)w->grid[1], (unsigned)w->grid[2]},
        .threads = {(unsigned)w->threads},
        .shared = (size_t)w->smem,
        .cluster = (unsigned)w->cluster,
        .args = args,
        .n_args = w->n_args,
        .roles = roles};
    return check ? emu_check(m, &e) : emu_run(m, &e);
}

static bool run_variant(struct emulation *s, uint32_t index, bool check, struct diag *d) {
    struct variant *v = &s->variants.at[index];
    size_t bytes = v->source.workspace;
    char *workspace = bytes ? emu_alloc(s->e, "workspace", bytes) : NULL;
    bool ok = true;
    for (int l = 0; l < v->source.n_launches && ok; l++) {
        if (!v->source.launches[l].grid[0]) continue; /* an empty grid */
        struct emu_report r = run_launch(s, index, l, workspace, check);
        ok = r.ok;
        if (!ok) fail(d, "%s\n  config %s", r.message, config_str(s->a, &v->config));
    }
    if (workspace) emu_release(s->e, workspace);
    return ok;
}

bool emulation_case(struct emulation *s, uint32_t index, bool check, struct diag *d) {
    const struct variant *v = &s->variants.at[index];
    struct drive *b = v->program;
    for (int k = 0; k < b->p->n_kernels; k++) {
        bool mine = k == v->kernel;
        if (!run_variant(s, mine ? index : b->first[k], mine && check, d)) return false;
    }
    for (int i = 0; i < b->p->n_buffers; i++) {
        struct diag wrong = diag_new(s->a);
        if (b->p->buffers[i].kind != WS_BUF_OUTPUT) continue;
        if (!judge(b, &b->p->buffers[i], b->emulated[i], &wrong))
            return fail(d, "%s  kernel %s, config %s", wrong.text, b->p->kernels[v->kernel].name,
                        config_str(s->a, &v->config));
    }
    return true;
}

/* ---- on a device ----------------------------------------------------------------------------- */

static bool launch_all(struct device *dev, struct module *m, const struct ws_source *src,
                       const dptr *mem, dptr workspace, struct diag *d) {
    for (int l = 0; l < src->n_launches; l++) {
        const struct ws_launch *w = &src->launches[l];
        int64_t values[WS_MAX_ARGS];
        struct launch x = {.module = m,
                           .entry = w->entry,
                           .grid = {w->grid[0], w->grid[1], w->grid[2]},
                           .threads = w->threads,
                           .smem = w->smem,
                           .n_args = w->n_args};
        for (int i = 0; i < w->n_args; i++) {
            const struct ws_arg *g = &w->args[i];
            values[i] = g->kind == WS_ARG_SIZE        ? g->value
                        : g->kind == WS_ARG_WORKSPACE ? (int64_t)workspace + g->value
                                                      : (int64_t)mem[g->buffer];
            x.args[i] = &values[i];
        }
        if (device_run(dev, &x, 1, d) != WS_OK) return false;
    }
    return true;
}

static bool compile_and_launch(struct device *dev, struct toolchain *t, const struct ws_source *src,
                               const dptr *mem, struct diag *d) {
    struct compiled c;
    struct module *m = NULL;
    dptr workspace = 0;
    toolchain_compile(t, "variant", src->text, false, &c);
    if (!c.ok) fail(d, "%s\n%s", c.log, strstr(src->text, "kernel text"));
    bool ok = c.ok && device_load(dev, c.binary, c.size, &m, d) == WS_OK &&
              (!src->workspace || device_alloc(dev, src->workspace, &workspace, d) == WS_OK) &&
              launch_all(dev, m, src, mem, workspace, d);
    if (workspace) device_free(dev, workspace);
    if (m) device_unload(dev, m);
    compiled_free(&c);
    return ok;
}

static bool outputs_agree(struct drive *b, struct device *dev, const dptr *mem, struct diag *d) {
    bool ok = true;
    for (int i = 0; i < b->p->n_buffers && ok; i++) {
        const struct ws_buffer *x = &b->p->buffers[i];
        if (x->kind != WS_BUF_OUTPUT) continue;
        void *host = malloc(x->bytes + 1);
        ok = device_download(dev, host, mem[i], x->bytes, d) == WS_OK && judge(b, x, host, d);
        free(host);
    }
    return ok;
}

static bool upload(struct drive *b, struct device *dev, dptr *mem, struct diag *d) {
    bool ok = true;
    for (int i = 0; i < b->p->n_buffers && ok; i++) {
        const struct ws_buffer *x = &b->p->buffers[i];
        ok = device_alloc(dev, x->bytes + 1, &mem[i], d) == WS_OK;
        if (!ok || x->kind != WS_BUF_INPUT) continue;
        void *host = calloc(1, x->bytes + 1);
        fill(b, x->index, host);
        ok = device_upload(dev, mem[i], host, x->bytes, d) == WS_OK;
        free(host);
    }
    return ok;
}

static bool run_kernel(struct drive *b, struct device *dev, struct toolchain *t, int k,
                       const struct config *c, const dptr *mem, struct diag *d) {
    const struct ws_kernel *kernel = &b->p->kernels[k];
    struct ws_source src;
    struct diag wrong = diag_new(b->a);
    if (ws_emit(b->p, k, c, b->a, &src, d) != WS_OK) return false;
    for (int i = 0; i < kernel->n_writes; i++)
        device_fill(dev, mem[kernel->writes[i]], 0xFF, b->p->buffers[kernel->writes[i]].bytes, d);
    if (compile_and_launch(dev, t, &src, mem, &wrong)) return true;
    return fail(d, "%s  kernel %s, config %s", wrong.text, kernel->name, config_str(b->a, c));
}

int drive_most_configs(const struct drive *b) {
    int most = 0;
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(b->p, k, &c, &n, &pruned);
        if (n > most) most = n;
    }
    return most;
}

/* Each kernel under one config; says in `configs` under which. */
static bool run_round(struct drive *b, struct device *dev, struct toolchain *t, int round,
                      drive_choose *choose, void *ctx, const dptr *mem, struct buf *configs,
                      struct diag *d) {
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(b->p, k, &c, &n, &pruned);
        if (!n) return fail(d, "kernel %s has no legal config", b->p->kernels[k].name);
        c += choose(ctx, round, n);
        buf_printf(configs, "  kernel %s, config %s\n", b->p->kernels[k].name, config_str(b->a, c));
        if (!run_kernel(b, dev, t, k, c, mem, d)) return false;
    }
    return true;
}

int drive_on_device(struct drive *b, struct device *dev, struct toolchain *t, int rounds,
                    drive_choose *choose, void *ctx, struct diag *d) {
    dptr *mem = NEW_ARRAY(b->a, dptr, b->p->n_buffers);
    bool ok = upload(b, dev, mem, d);
    for (int round = 0; round < rounds && ok; round++) {
        struct buf configs = buf_new(b->a);
        struct diag wrong = diag_new(b->a);
        ok = run_round(b, dev, t, round, choose, ctx, mem, &configs, d);
        if (ok && !outputs_agree(b, dev, mem, &wrong)) ok = fail(d, "%s%s", wrong.text, configs.p);
    }
    for (int i = 0; i < b->p->n_buffers; i++)
        if (mem[i]) device_free(dev, mem[i]);
    return ok ? rounds * b->p->n_kernels : -1;
}
