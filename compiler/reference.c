/* reference.c: lowers a graph to plain kernels, compiles them in one piece, and runs them one after
 * the other; what is computed on the way is there from its kernel to its last reader. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "schedule/schedule.h"

/* ---- lowering -------------------------------------------------------------------------------- */

static int64_t points_of(const struct exprs *p, const ex *axes, int n) {
    int64_t all = 1;
    for (int i = 0; i < n; i++) all *= ex_value(p, ex_symbol(p, axes[i])->bound);
    return all;
}

static void count_work(struct reference *r) {
    const struct loops *l = r->loops;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        double made = (double)points_of(l->ex, n->axes, n->n_axes);
        r->made += made;
        r->work += made * (double)points_of(l->ex, n->reduce, n->n_reduce) * n->insts.n;
    }
}

static int64_t elements(const struct loops *l, buffer_id b) {
    return buffer_storage(l, b) / dtype_bytes(l->buffers.at[b].meta.dtype);
}

static size_t cell_bytes(const struct loops *l, buffer_id b) {
    return (size_t)elements(l, b) * (size_t)dtype_bytes(plain_dtype(&l->buffers.at[b]));
}

/* One more than the last launch that takes the buffer. */
static uint32_t *last_uses(const struct reference *r, struct arena *a) {
    uint32_t *last = NEW_ARRAY(a, uint32_t, r->loops->buffers.n);
    for (uint32_t k = 0; k < r->plain.launches.n; k++)
        for (int i = 0; i < r->plain.launches.at[k].n_args; i++) {
            const struct ws_arg *arg = &r->plain.launches.at[k].args[i];
            if (arg->kind == WS_ARG_BUFFER) last[arg->buffer] = k + 1;
        }
    return last;
}

struct reference *reference_lower(struct graph *g, bool cuda, struct arena *a) {
    struct diag d = diag_new(a);
    struct reference *r = NEW(a, struct reference);
    const struct loops *l = loops_lower(graph_decompose(g), a, &d);
    if (!l) return NULL;
    *r = (struct reference){.loops = l};
    count_work(r);
    return emit_plain(l, cuda, a, &r->plain) ? r : NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

struct running {
    const struct reference *r;
    struct device *dev;
    struct module *module;
    dptr *at; /* by buffer */
    dptr workspace;
    const uint32_t *last;
    struct diag *d;
};

static bool is_temp(const struct running *x, int b) {
    return x->r->loops->buffers.at[b].kind == BUFFER_TEMP;
}

static bool run_launch(struct running *x, uint32_t k) {
    const struct ws_launch *from = &x->r->plain.launches.at[k];
    struct launch l = {.module = x->module, .entry = from->entry, .threads = from->threads};
    dptr places[WS_MAX_ARGS];
    memcpy(l.grid, from->grid, sizeof l.grid);
    for (int i = 0; i < from->n_args; i++) {
        int b = from->args[i].buffer;
        bool buffer = from->args[i].kind == WS_ARG_BUFFER;
        if (buffer && !x->at[b] &&
            device_alloc(x->dev, cell_bytes(x->r->loops, (buffer_id)b), &x->at[b], x->d) != WS_OK)
            return false;
        places[i] = buffer ? x->at[b] : x->workspace + (dptr)from->args[i].value;
        l.args[l.n_args++] = &places[i];
    }
    if (device_run(x->dev, &l, 1, x->d) != WS_OK) return false;
    for (int i = 0; i < from->n_args; i++) {
        int b = from->args[i].buffer;
        if (from->args[i].kind != WS_ARG_BUFFER || !is_temp(x, b) || x->last[b] != k + 1) continue;
        device_free(x->dev, x->at[b]);
        x->at[b] = 0;
    }
    return true;
}

static bool run_all(struct running *x) {
    if (x->r->plain.workspace &&
        device_alloc(x->dev, x->r->plain.workspace, &x->workspace, x->d) != WS_OK)
        return false;
    for (uint32_t k = 0; k < x->r->plain.launches.n; k++)
        if (!run_launch(x, k)) return false;
    return true;
}

enum ws_status reference_run(const struct reference *r, struct device *dev, struct toolchain *cc,
                             const dptr *inputs, const dptr *outputs, struct arena *a,
                             struct diag *d) {
    const struct loops *l = r->loops;
    struct running x = {.r = r, .dev = dev, .d = d, .last = last_uses(r, a)};
    struct compiled made;
    if (!r->plain.launches.n) return WS_OK;
    toolchain_compile(cc, "reference", r->plain.text, false, &made);
    if (!made.ok) diag_fail(d, WS_MACHINE, "the reference does not compile: %s", made.log);
    if (made.ok) device_load(dev, made.binary, made.size, &x.module, d);
    compiled_free(&made);
    x.at = NEW_ARRAY(a, dptr, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *buffer = &l->buffers.at[b];
        if (buffer->kind == BUFFER_INPUT) x.at[b] = inputs[buffer->index];
        if (buffer->kind == BUFFER_OUTPUT) x.at[b] = outputs[buffer->index];
    }
    bool ok = d->status == WS_OK && run_all(&x);
    if (!device_is_lost(dev)) {
        for (buffer_id b = 0; b < l->buffers.n; b++)
            if (is_temp(&x, (int)b) && x.at[b]) device_free(dev, x.at[b]);
        if (x.workspace) device_free(dev, x.workspace);
    }
    if (x.module) device_unload(dev, x.module);
    return ok ? WS_OK : d->status;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Is a compiler, and what it makes, done before the interpreter is? That computes some 10^9
 * instructions a second on each core; a kernel takes some 40 ms to compile, by NVRTC as by cc. On a
 * CPU, kernels gain something where products are: elsewhere memory is what counts, of which the
 * interpreter needs less, as it computes neighbours together. */
static bool is_worth(const struct reference *r, bool cuda) {
    enum { WORK_OF_PRODUCTS = 64 }; /* for each element that is made */
    double interpreted = r->work / (1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN));
    double compiled = 0.2 + 0.04 * r->plain.texts.n;
    return interpreted > compiled && (cuda || r->work >= WORK_OF_PRODUCTS * r->made);
}

struct strided {
    int rank;
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK], cells; /* of memory */
};

static struct strided strided_of(const struct exprs *p, const struct meta *m) {
    struct strided s = {.rank = m->rank, .cells = 1};
    for (int k = 0; k < m->rank; k++) {
        s.size[k] = ex_value(p, m->size[k]);
        s.stride[k] = ex_value(p, m->stride[k]);
        s.cells += (s.size[k] - 1) * s.stride[k];
    }
    return s;
}

/* Values as they lie in memory, on the device. */
static dptr upload(struct device *dev, const struct exprs *p, const struct meta *m,
                   const struct value *v, struct diag *d) {
    struct strided s = strided_of(p, m);
    size_t bytes = (size_t)(v->n ? s.cells : 1) * (size_t)dtype_bytes(m->dtype);
    char *cells = large_alloc(bytes);
    dptr at = 0;
    if (!cells) return diag_fail(d, WS_MACHINE, "no memory"), (dptr)0;
#pragma omp parallel for
    for (int64_t i = 0; i < v->n; i++) {
        size_t cell = (size_t)strided_at(s.rank, s.size, s.stride, i);
        if (v->w)
            dtype_store_int(m->dtype, cells, cell, v->w[i]);
        else
            dtype_store(m->dtype, cells, cell, v->v[i]);
    }
    if (device_alloc(dev, bytes, &at, d) == WS_OK) device_upload(dev, at, cells, bytes, d);
    free(cells);
    return at;
}

static void download(struct device *dev, dptr from, enum dtype t, struct value *out, int64_t n,
                     struct diag *d) {
    if (!value_alloc(out, t, n)) diag_fail(d, WS_MACHINE, "no memory");
    if (d->status != WS_OK) return;
    if (out->v) {
        device_download(dev, out->v, from, (size_t)n * sizeof *out->v, d);
        return;
    }
    size_t bytes = (size_t)n * (size_t)dtype_bytes(t);
    char *cells = large_alloc(bytes);
    if (!cells) diag_fail(d, WS_MACHINE, "no memory");
    if (cells) device_download(dev, cells, from, bytes, d);
    for (int64_t i = 0; cells && i < n; i++) out->w[i] = dtype_load_int(t, cells, (size_t)i);
    free(cells);
}

static bool eval_on(const struct reference *r, const struct value *inputs, struct value *outputs,
                    const struct reference_place *at, struct arena *a, struct diag *d) {
    const struct graph *g = r->loops->graph;
    struct device *dev = at->device;
    uint32_t n_in = g->inputs.n, n_out = g->outputs.n;
    dptr *in = NEW_ARRAY(a, dptr, n_in), *out = NEW_ARRAY(a, dptr, n_out);
    for (uint32_t i = 0; i < n_in && d->status == WS_OK; i++)
        in[i] = upload(dev, g->ex, &g->nodes.at[g->inputs.at[i].node].meta, &inputs[i], d);
    for (uint32_t o = 0; o < n_out && d->status == WS_OK; o++) {
        const struct meta *m = &g->nodes.at[g->outputs.at[o]].meta;
        if (graph_first_output(g, o) == o)
            device_alloc(dev, (size_t)ex_value(g->ex, meta_numel(g->ex, m)) * 8 + 8, &out[o], d);
    }
    if (d->status == WS_OK) reference_run(r, dev, at->toolchain, in, out, a, d);
    for (uint32_t o = 0; o < n_out && d->status == WS_OK; o++) {
        const struct meta *m = &g->nodes.at[g->outputs.at[o]].meta;
        download(dev, out[graph_first_output(g, o)], m->dtype, &outputs[o],
                 ex_value(g->ex, meta_numel(g->ex, m)), d);
    }
    if (!device_is_lost(dev)) {
        for (uint32_t i = 0; i < n_in; i++) device_free(dev, in[i]);
        for (uint32_t o = 0; o < n_out; o++) device_free(dev, out[o]);
    }
    return d->status == WS_OK;
}

bool reference_eval(struct graph *g, const struct value *inputs, struct value *outputs,
                    const struct reference_place *at, struct diag *d) {
    struct arena *a = arena_new();
    struct diag own = diag_new(a);
    bool cuda = device_limits(at->device)->kind == DEVICE_CUDA;
    struct reference *r = g->stores_values ? NULL : reference_lower(g, cuda, a);
    memset(outputs, 0, g->outputs.n * sizeof *outputs);
    bool done = r && is_worth(r, cuda) && eval_on(r, inputs, outputs, at, a, &own);
    for (uint32_t o = 0; !done && o < g->outputs.n; o++) value_free(&outputs[o]);
    if (device_is_lost(at->device)) device_reset(at->device, &own);
    arena_free(a);
    return done;
}
