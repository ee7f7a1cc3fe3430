/* captured.c: the front end of the pipeline, and the tuner's view of a captured workload: its
 * tensors, their values, and the reference.
 *
 * Values are made by evaluating the init graph in double precision, then stored in the dtype and
 * the strides of the input; the reference is computed from those very bytes, so both sides see the
 * same rounded numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "graph/eval.h"
#include "graph/loop.h"
#include "judged.h"
#include "limited.h"
#include "symbolic.h"
#include "training.h"

static const char *mode_name(enum ws_mode mode, bool eval) {
    static const char *const names[][2] = {[WS_FWD] = {"fwd", "eval"},
                                           [WS_BWD] = {"bwd", "eval_bwd"},
                                           [WS_TRAIN] = {"train", "eval_train"}};
    return names[mode][eval];
}

/* ---- capture --------------------------------------------------------------------------------- */

static enum dtype common_dtype(const struct graph *g) {
    bool found = false;
    enum dtype common = g->nodes.at[g->outputs.at[0]].meta.dtype;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        enum dtype t = g->nodes.at[g->inputs.at[i].node].meta.dtype;
        if (!dtype_is_float(t)) continue;
        common = found ? dtype_promote(common, t) : t;
        found = true;
    }
    return common;
}

/* Of what is computed, on what and how; not of where it is written down. */
static const char *graph_hash(struct ws_captured *c) {
    symbols_collect(c);
    struct buf b = buf_new(c->arena);
    graph_print(&b, c->graph);
    buf_printf(&b, "\n%s\n%s\n", c->dtype, c->mode);
    const char *text = symbols_rename(c, b.p);
    return arena_printf(c->arena, "%016llx", (unsigned long long)hash_bytes(text, strlen(text)));
}

struct training {
    struct ws_captured *c;
    enum ws_mode mode;
    struct stages *stages;
    struct diag *d;
};

static void make_training(void *ctx) {
    struct training *t = ctx;
    differentiate(t->c, t->mode, t->stages, t->d);
}

/* Are there parameters and buffers that might stay as they are? */
static bool has_weights(const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].kind != INPUT_ARG && !g->inputs.at[i].becomes) return true;
    return false;
}

struct ws_captured *ws_capture(const struct ws_options *o, struct stages *s, struct diag *d) {
    struct capture_axis *axes = NEW_ARRAY(o->arena, struct capture_axis, o->n_axes);
    for (int i = 0; i < o->n_axes; i++)
        axes[i] = (struct capture_axis){o->axes[i].name, o->axes[i].value};
    struct capture_options *options = NEW(o->arena, struct capture_options);
    *options = (struct capture_options){.path = o->path,
                                        .axes = axes,
                                        .n_axes = o->n_axes,
                                        .cast = o->cast,
                                        .dtype = o->dtype,
                                        .eval = o->eval,
                                        .differentiated = o->mode != WS_FWD,
                                        .cuda = o->cuda,
                                        .precision = o->precision,
                                        .seed = o->seed,
                                        .symbolic = o->symbolic,
                                        .limits = o->limits};
    const struct captured *from = capture(o->arena, options, s, d);
    if (!from) return NULL;

    struct ws_captured *c = NEW(o->arena, struct ws_captured);
    c->arena = o->arena;
    c->workload = from->workload;
    c->axes = from->axes;
    c->guards = from->guards;
    c->graph = from->graph;
    c->init = from->init;
    if (o->mode != WS_BWD) c->updates = from->updates;
    c->seed = o->seed;
    c->dtype = dtype_name(o->cast ? o->dtype : common_dtype(c->graph));
    c->mode = mode_name(o->mode, o->eval);
    c->precision = c->graph->products;
    bool may_stay = o->mode == WS_FWD && has_weights(c->graph);
    c->graph->fixed = may_stay && !o->weights_change;
    c->weights = !may_stay ? "" : o->weights_change ? "changing" : "fixed";
    c->limits = o->limits ? *o->limits : budget_new(NULL).limits;
    c->graph = graph_roll(c->graph);
    struct training t = {c, o->mode, s, d};
    if (o->mode != WS_FWD && !run_limited(c->arena, c->graph->ex, &c->limits, make_training, &t, d))
        return NULL;
    c->init = graph_roll(c->init);
    c->n_inputs = (int)c->graph->inputs.n;
    c->n_outputs = (int)c->graph->outputs.n;
    c->graph_hash = graph_hash(c);
    c->values = NEW_ARRAY(c->arena, struct ws_values, DEVICE_KINDS);
    return c;
}

bool ws_is_training(const struct ws_captured *c) {
    return strstr(c->guards, ".training is True") != NULL;
}

struct ws_captured *ws_captured_of(struct arena *a, struct graph *g, const char *name) {
    struct ws_captured *c = NEW(a, struct ws_captured);
    g = graph_roll(g);
    *c = (struct ws_captured){.arena = a,
                              .workload = name,
                              .axes = "",
                              .guards = "",
                              .weights = "",
                              .graph = g,
                              .seed = g->seed,
                              .precision = g->products,
                              .dtype = dtype_name(common_dtype(g)),
                              .mode = mode_name(WS_FWD, false),
                              .n_inputs = (int)g->inputs.n,
                              .n_outputs = (int)g->outputs.n};
    c->graph_hash = graph_hash(c);
    c->values = NEW_ARRAY(a, struct ws_values, DEVICE_KINDS);
    return c;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static struct ws_tensor_info tensor_info(const struct graph *g, const struct meta *m,
                                         const char *name) {
    struct ws_tensor_info t = {.name = name, .dtype = m->dtype, .rank = m->rank, .numel = 1};
    int64_t last = 0; /* element of storage that is furthest away */
    for (int i = 0; i < m->rank; i++) {
        t.size[i] = ex_value(g->ex, m->size[i]);
        t.stride[i] = ex_value(g->ex, m->stride[i]);
        t.numel *= t.size[i];
        last += (t.size[i] - 1) * t.stride[i];
    }
    t.bytes = t.numel ? (size_t)(last + 1) * (size_t)dtype_bytes(m->dtype) : 0;
    return t;
}

struct ws_tensor_info ws_input_info(const struct ws_captured *c, int i) {
    const struct node *n = &c->graph->nodes.at[c->graph->inputs.at[i].node];
    return tensor_info(c->graph, &n->meta, n->name);
}

struct ws_tensor_info ws_output_info(const struct ws_captured *c, int i) {
    struct meta m = c->graph->nodes.at[c->graph->outputs.at[i]].meta;
    meta_contiguous(c->graph->ex, &m); /* kernels write outputs row-major, views too */
    return tensor_info(c->graph, &m, arena_printf(c->arena, "out%d", i));
}

/* ---- values ---------------------------------------------------------------------------------- */

static void store(enum dtype t, void *bytes, size_t at, const struct value *v, int64_t i) {
    if (v->w)
        dtype_store_int(t, bytes, at, v->w[i]);
    else
        dtype_store(t, bytes, at, v->v[i]);
}

static bool is_dense(const struct ws_tensor_info *t) {
    int64_t expected = 1;
    for (int i = t->rank; i-- > 0; expected *= t->size[i])
        if (t->size[i] != 1 && t->stride[i] != expected) return false;
    return true;
}

static enum ws_status no_memory(struct diag *d, size_t bytes, const char *name) {
    return diag_fail(d, WS_MACHINE, "cannot allocate %zu bytes for %s", bytes, name);
}

static enum ws_status encode(const struct ws_tensor_info *t, const struct value *v, void **out,
                             struct diag *d) {
    char *bytes = large_alloc(t->bytes);
    if (!bytes) return no_memory(d, t->bytes, t->name);
    bool dense = is_dense(t);
#pragma omp parallel for
    for (int64_t i = 0; i < t->numel; i++)
        store(t->dtype, bytes, (size_t)(dense ? i : strided_at(t->rank, t->size, t->stride, i)), v,
              i);
    *out = bytes;
    return WS_OK;
}

static enum ws_status decode(const struct ws_tensor_info *t, const void *bytes, struct value *out,
                             struct diag *d) {
    if (!value_alloc(out, t->dtype, t->numel))
        return no_memory(d, (size_t)t->numel * sizeof *out->v, t->name);
    bool dense = is_dense(t);
#pragma omp parallel for
    for (int64_t i = 0; i < t->numel; i++) {
        size_t at = (size_t)(dense ? i : strided_at(t->rank, t->size, t->stride, i));
        if (out->w)
            out->w[i] = dtype_load_int(t->dtype, bytes, at);
        else
            out->v[i] = dtype_load(t->dtype, bytes, at);
    }
    return WS_OK;
}

/* As dtype_reference says it, which values are. */
static void *take_reference(const struct ws_tensor_info *t, struct value *v) {
    void *out = v->w ? (void *)v->w : v->v;
    WS_ASSERT((dtype_reference(t->dtype) == DT_I64) == (v->w != NULL));
    *v = (struct value){0};
    return out;
}

/* The outputs, of the graph as it is, and how far off they may be, by way of what its composites
 * decompose to. */
static struct graph *reference_graph(const struct ws_captured *c, enum device_kind device) {
    struct graph **made = &c->values[device].reference;
    struct rounding how = {.device = device, .stores = true};
    if (!*made) {
        struct graph *g = graph_pools_either_way(graph_simplify(c->graph));
        g = graph_totals_either_way(g, TOTALS_PAY);
        g = graph_simplify(graph_decompose_but_landings(g));
        *made = graph_join(c->graph, graph_bound(graph_sums_either_way(g), how));
    }
    return *made;
}

double ws_reference_work(const struct ws_captured *c, enum device_kind device) {
    return graph_work(reference_graph(c, device));
}

struct ws_memory ws_memory_of(const struct ws_captured *c, enum device_kind device) {
    struct ws_memory m = {0};
    double in = 0, out = 0; /* as doubles */
    for (int i = 0; i < c->n_inputs; i++) {
        struct ws_tensor_info t = ws_input_info(c, i);
        m.kept_inputs += (double)t.bytes;
        in += sizeof(double) * (double)t.numel;
    }
    for (int i = 0; i < c->n_outputs; i++) {
        struct ws_tensor_info t = ws_output_info(c, i);
        m.kept_reference +=
            ((double)dtype_bytes(dtype_reference(t.dtype)) + sizeof(float)) * (double)t.numel;
        out += sizeof(double) * (double)t.numel;
    }
    double made = c->n_inputs ? graph_eval_bytes(c->init) : 0;
    m.inputs = made > in + m.kept_inputs ? made : in + m.kept_inputs;
    double computed = graph_eval_bytes(c->graph);
    if (computed > 0) computed = graph_eval_bytes(reference_graph(c, device));
    m.reference = m.kept_inputs + in;
    m.reference += computed > out + m.kept_reference ? computed : out + m.kept_reference;
    return m;
}

static void free_values(struct value *v, int n) {
    for (int i = 0; v && i < n; i++) value_free(&v[i]);
    free(v);
}

static struct value *new_values(int n) { return calloc(n ? (size_t)n : 1, sizeof(struct value)); }

/* The graph under the seed that the workload has now, and stopped when that is. What is made of it
 * lives as long as a. */
static struct graph *seeded(const struct ws_captured *c, const struct graph *g, struct arena *a) {
    struct graph *copy = NEW(a, struct graph);
    *copy = *g;
    copy->arena = a;
    copy->seed = c->seed;
    copy->stopped = c->limits.stopped;
    return copy;
}

static bool eval(const struct ws_captured *c, const struct graph *g, const struct value *inputs,
                 struct value *outputs, struct diag *d) {
    return graph_eval(seeded(c, g, d->arena), inputs, outputs, d);
}

struct encoding {
    const struct ws_captured *c;
    void **bytes;
};

static bool encode_input(void *ctx, uint32_t i, struct value v, struct diag *d) {
    struct encoding *e = ctx;
    struct ws_tensor_info t = ws_input_info(e->c, (int)i);
    enum ws_status s = encode(&t, &v, &e->bytes[i], d);
    value_free(&v);
    return s == WS_OK;
}

enum ws_status ws_make_inputs(const struct ws_captured *c, void **bytes, struct diag *d) {
    struct encoding e = {c, bytes};
    struct value_taker taker = {encode_input, &e};
    for (int i = 0; i < c->n_inputs; i++) bytes[i] = NULL;
    if (c->n_inputs == 0 || graph_eval_each(seeded(c, c->init, d->arena), NULL, &taker, d))
        return WS_OK;
    for (int i = 0; i < c->n_inputs; i++) {
        free(bytes[i]);
        bytes[i] = NULL;
    }
    return d->status;
}

float ws_bound_up(double bound) {
    float b = (float)bound;
    if ((double)b < bound) b = nextafterf(b, INFINITY);
    return isnan(bound) ? INFINITY : b;
}

/* *out is NULL if all are 0. */
static enum ws_status to_bound(const struct ws_tensor_info *t, const double *v, float **out,
                               struct diag *d) {
    bool any = false;
    float *b = *out = large_alloc((size_t)t->numel * sizeof **out);
    if (!b) return no_memory(d, (size_t)t->numel * sizeof *b, t->name);
#pragma omp parallel for reduction(|| : any)
    for (int64_t i = 0; i < t->numel; i++) {
        b[i] = ws_bound_up(v[i]);
        any = any || b[i] != 0;
    }
    if (!any) free(b), *out = NULL;
    return WS_OK;
}

static enum ws_status decode_inputs(const struct ws_captured *c, void *const *bytes,
                                    struct value *in, struct diag *d) {
    for (int i = 0; i < c->n_inputs && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_input_info(c, i);
        decode(&t, bytes[i], &in[i], d);
    }
    return d->status;
}

enum ws_status ws_make_reference(const struct ws_captured *c, enum device_kind device,
                                 void *const *input_bytes, void **outputs, float **bounds,
                                 struct diag *d) {
    int n = c->n_outputs;
    for (int i = 0; i < n; i++) outputs[i] = NULL, bounds[i] = NULL;
    struct value *in = new_values(c->n_inputs), *out = new_values(2 * n);
    if (!in || !out)
        no_memory(d, 0, "the reference");
    else if (decode_inputs(c, input_bytes, in, d) == WS_OK)
        eval(c, reference_graph(c, device), in, out, d);
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        struct ws_tensor_info t = ws_output_info(c, i);
        outputs[i] = take_reference(&t, &out[i]);
        to_bound(&t, out[n + i].v, &bounds[i], d);
        value_free(&out[n + i]);
    }
    free_values(in, c->n_inputs);
    free_values(out, 2 * n);
    for (int i = 0; i < n && d->status != WS_OK; i++) {
        free(outputs[i]);
        free(bounds[i]);
        outputs[i] = NULL, bounds[i] = NULL;
    }
    return d->status;
}

/* ---- the same by kernels --------------------------------------------------------------------- */

static struct placement placement_of(const struct ws_tensor_info *t, enum dtype dtype, bool up) {
    struct placement p = {.dtype = dtype, .up = up, .rank = t->rank};
    memcpy(p.size, t->size, sizeof t->size);
    memcpy(p.stride, t->stride, sizeof t->stride);
    return p;
}

static struct reference *lower_inputs(const struct ws_captured *c, enum device_kind device) {
    struct placement *at = NEW_ARRAY(c->arena, struct placement, c->n_inputs);
    struct reference_options o = {
        .cuda = device == DEVICE_CUDA, .exact = true, .sooner = true, .outputs = at};
    if (!c->n_inputs || device != DEVICE_CUDA) return NULL;
    for (int i = 0; i < c->n_inputs; i++) {
        struct ws_tensor_info t = ws_input_info(c, i);
        at[i] = placement_of(&t, t.dtype, false);
    }
    return reference_lower(seeded(c, c->init, c->arena), &o, c->arena);
}

static struct reference *lower_reference(const struct ws_captured *c, enum device_kind device) {
    int n = c->n_outputs;
    struct placement *at = NEW_ARRAY(c->arena, struct placement, 2 * n);
    struct reference_options o = {.cuda = device == DEVICE_CUDA, .sooner = true, .outputs = at};
    if (c->graph->stores_values) return NULL;
    for (int i = 0; i < n; i++) {
        struct ws_tensor_info t = ws_output_info(c, i);
        at[i] = placement_of(&t, dtype_reference(t.dtype), false);
        at[n + i] = placement_of(&t, DT_F32, true);
    }
    return reference_lower(seeded(c, reference_graph(c, device), c->arena), &o, c->arena);
}

static const struct reference *
lowered_once(const struct ws_captured *c, enum device_kind device, struct ws_lowered *at,
             struct reference *lower(const struct ws_captured *, enum device_kind)) {
    if (!at->asked) at->by = lower(c, device);
    at->asked = true;
    return at->by;
}

const struct reference *ws_lower_inputs(const struct ws_captured *c, enum device_kind device) {
    return lowered_once(c, device, &c->values[device].inputs, lower_inputs);
}

const struct reference *ws_lower_reference(const struct ws_captured *c, enum device_kind device) {
    return lowered_once(c, device, &c->values[device].outputs, lower_reference);
}

void ws_drop_lowered(const struct ws_captured *c, enum device_kind device) {
    struct ws_lowered *all[] = {&c->values[device].inputs, &c->values[device].outputs};
    for (int i = 0; i < 2; i++) {
        if (!all[i]->by) continue;
        reference_free(all[i]->by);
        *all[i] = (struct ws_lowered){0};
    }
}

/* ---- judging what kernels made --------------------------------------------------------------- */

/* Elements of inputs: of their bytes, or, where those are on a device, as the init graph computes
 * them on demand. */
struct input_elements {
    const struct ws_captured *c;
    void *const *bytes; /* NULL: computed */
    struct sampler *init;
};

static bool load_bytes(const struct ws_tensor_info *t, const void *bytes, const int64_t *at,
                       int64_t n, double *v, int64_t *w) {
    for (int64_t k = 0; k < n; k++) {
        size_t cell = (size_t)strided_at(t->rank, t->size, t->stride, at[k]);
        if (w)
            w[k] = dtype_load_int(t->dtype, bytes, cell);
        else
            v[k] = dtype_load(t->dtype, bytes, cell);
    }
    return true;
}

static bool load_input(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                       struct diag *d) {
    const struct input_elements *x = ctx;
    struct ws_tensor_info t = ws_input_info(x->c, (int)i);
    int64_t spent;
    if (x->bytes[i]) return load_bytes(&t, x->bytes[i], at, n, v, w);
    if (sample_elements(x->init, i, at, n, INT64_MAX, v, w, &spent, d) != SAMPLED) {
        if (d->status == WS_OK)
            diag_fail(d, WS_MACHINE, "elements of '%s' cannot be computed by themselves", t.name);
        return false;
    }
    for (int64_t k = 0; k < n && v; k++) v[k] = value_round(t.dtype, v[k]);
    return true;
}

static bool load_nothing(void *ctx, uint32_t i, const int64_t *at, int64_t n, double *v, int64_t *w,
                         struct diag *d) {
    WS_BUG("an init graph has no inputs");
}

/* The init graph as a sampler takes it. */
static struct graph *init_sampled(const struct ws_captured *c, struct arena *a) {
    return graph_decompose_but_landings(seeded(c, c->init, a));
}

/* False: said in d. */
static bool open_inputs(struct input_elements *x, struct arena *a, struct diag *d) {
    struct sample_source none = {NULL, load_nothing};
    bool here = true;
    for (int i = 0; i < x->c->n_inputs; i++) here &= x->bytes[i] != NULL;
    if (!here) x->init = sampler_new(init_sampled(x->c, a), &none, d);
    return here || x->init;
}

enum ws_status ws_judge_reference(const struct ws_captured *c, void *const *input_bytes,
                                  const struct sample_source *outputs, int64_t *judged,
                                  struct diag *d) {
    struct arena *a = arena_new();
    struct sample_verdict v = {0};
    struct input_elements x = {.c = c, .bytes = input_bytes};
    struct sample_source inputs = {&x, load_input};
    struct graph *g = seeded(c, c->graph, a);
    if (open_inputs(&x, a, d)) reference_judge(g, &inputs, outputs, &v, d);
    *judged = v.judged;
    arena_free(a);
    return d->status;
}

enum ws_status ws_sample_reference(const struct ws_captured *c, enum device_kind device,
                                   void *const *input_bytes, struct sample_taken *out,
                                   struct diag *d) {
    enum { A_READ = 32 /* bytes */, MOST = 1 << 28 };
    struct arena *a = arena_new();
    struct sample_options o = SAMPLE_DEFAULTS;
    struct input_elements x = {.c = c, .bytes = input_bytes};
    struct sample_source inputs = {&x, load_input};
    double room = fmin((double)(memory_available() / 2 / A_READ), MOST);
    o.per_output = (int64_t)fmax(room, (double)o.per_output);
    o.in_all = o.per_output * (c->n_outputs + 1);
    struct graph *g = graph_decompose_but_landings(seeded(c, reference_graph(c, device), a));
    struct sampler *s = open_inputs(&x, a, d) ? sampler_new(g, &inputs, d) : NULL;
    o.seed = c->seed;
    for (int i = 0; i < c->n_outputs; i++) out[i] = (struct sample_taken){0};
    for (int i = 0; s && i < c->n_outputs; i++) {
        uint32_t bound = (uint32_t)(c->n_outputs + i);
        if (!sample_take(s, g, (uint32_t)i, bound, &o, &o.in_all, &out[i], d)) break;
    }
    arena_free(a);
    return d->status;
}
