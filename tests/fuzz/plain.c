/* plain.c: graphs in, outputs compared. */
#include "tests/fuzz/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/random.h"
#include "graph/sample.h"

static void *encoded(const struct meta *m, const struct exprs *p, const struct value *v,
                     size_t *bytes) {
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK], most = 1;
    for (int k = 0; k < m->rank; k++) {
        size[k] = ex_value(p, m->size[k]);
        stride[k] = ex_value(p, m->stride[k]);
        most += (size[k] - 1) * stride[k];
    }
    *bytes = (size_t)(v->n ? most : 1) * (size_t)dtype_bytes(m->dtype);
    char *out = calloc(1, *bytes);
    for (int64_t i = 0; i < v->n; i++) {
        size_t at = (size_t)strided_at(m->rank, size, stride, i);
        if (v->w)
            dtype_store_int(m->dtype, out, at, v->w[i]);
        else
            dtype_store(m->dtype, out, at, v->v[i]);
    }
    return out;
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct run {
    const struct plain_place *at;
    struct reference *r;
    const struct graph *g;
    dptr *in, *out;
    struct arena *a;
    struct diag d;
    int64_t slices;
};

static bool alloc(struct run *x, size_t bytes, dptr *p) {
    return device_alloc(x->at->dev, bytes, p, &x->d) == WS_OK;
}

static bool compute(struct run *x, const size_t *bytes, struct toolchain *cc,
                    struct reference_binaries *kept) {
    for (uint32_t o = 0; o < x->g->outputs.n && x->d.status == WS_OK; o++)
        device_fill(x->at->dev, x->out[o], 0xff, bytes[o] + 8, &x->d);
    return x->d.status == WS_OK && reference_run(x->r, x->at->dev, cc, kept, x->in, x->out,
                                                 &x->slices, x->a, &x->d) == WS_OK;
}

/* Outputs take at most so many bytes, which are 0xff before. Computed twice, as after a reset: what
 * was compiled once needs no compiler. */
static bool run(struct run *x, const struct value *in, const size_t *bytes) {
    uint32_t n_in = x->g->inputs.n, n_out = x->g->outputs.n;
    x->in = NEW_ARRAY(x->a, dptr, n_in);
    x->out = NEW_ARRAY(x->a, dptr, n_out);
    x->r->memory = x->at->memory;
    for (uint32_t i = 0; i < n_in && x->d.status == WS_OK; i++) {
        size_t size;
        void *p = encoded(&x->g->nodes.at[x->g->inputs.at[i].node].meta, x->g->ex, &in[i], &size);
        if (alloc(x, size, &x->in[i])) device_upload(x->at->dev, x->in[i], p, size, &x->d);
        free(p);
    }
    for (uint32_t o = 0; o < n_out && x->d.status == WS_OK; o++) alloc(x, bytes[o] + 8, &x->out[o]);
    struct reference_binaries own = reference_binaries_new(x->a);
    struct reference_binaries *kept = x->at->kept ? x->at->kept : &own;
    return compute(x, bytes, x->at->cc, kept) && compute(x, bytes, NULL, kept);
}

static void end(struct run *x) {
    for (uint32_t i = 0; i < x->g->inputs.n; i++) device_free(x->at->dev, x->in[i]);
    for (uint32_t o = 0; o < x->g->outputs.n; o++) device_free(x->at->dev, x->out[o]);
}

static void *output(struct run *x, uint32_t o, size_t bytes) {
    void *got = malloc(bytes + 8);
    device_download(x->at->dev, got, x->out[o], bytes, &x->d);
    return got;
}

static struct placement row_major(const struct graph *g, uint32_t o, enum dtype t) {
    const struct meta *m = &g->nodes.at[g->outputs.at[o]].meta;
    struct placement p = {.dtype = t, .rank = m->rank};
    int64_t stride = 1;
    for (int k = m->rank; k-- > 0; stride *= p.size[k]) {
        p.size[k] = ex_value(g->ex, m->size[k]);
        p.stride[k] = stride;
    }
    return p;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Doubles are added up in another order, and an f64 of no dimensions beside a tensor of few bits is
 * rounded to the type of their maths. */
static bool agree(double got, double want, double rms, double slack) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= 1e-6 * (fabs(want) + rms) + slack;
}

static enum dtype dtype_of(const struct graph *g, uint32_t o) {
    return g->nodes.at[g->outputs.at[o]].meta.dtype;
}

static bool has_bounds(const struct graph *g) {
    for (node_id id = 0; id < g->nodes.n; id++)
        if (!strncmp(op_info(g->nodes.at[id].op)->name, "error_", 6)) return true;
    return false;
}

/* What a bound of doubles may be off by, where it is the difference of numbers of its output's
 * size: roundings of these. */
static double slack_of(const struct run *x, const struct value *want, uint32_t o) {
    uint32_t half = x->g->outputs.n / 2;
    return has_bounds(x->g) && o >= half ? 0x1p-49 * drive_rms(&want[o - half]) : 0;
}

static const char *check_output(struct run *x, uint32_t o, const void *got,
                                const struct value *all) {
    const struct value *want = &all[o];
    enum dtype t = dtype_of(x->g, o), as = dtype_reference(t);
    double rms = drive_rms(want), slack = slack_of(x, all, o);
    for (int64_t i = 0; i < want->n; i++) {
        double v = dtype_load(as, got, (size_t)i);
        bool right = dtype_is_float(t) ? agree(v, want->v[i], rms, slack)
                                       : dtype_load_int(as, got, (size_t)i) == want->w[i];
        if (!right)
            return arena_printf(x->a, "out%u[%lld] is %.17g, expected %.17g", o, (long long)i, v,
                                value_number(want, i));
    }
    return NULL;
}

/* ---- single elements ------------------------------------------------------------------------- */

struct made {
    const struct graph *g;
    void **at; /* by output, as dtype_reference says */
};

static bool load_made(void *ctx, uint32_t o, const int64_t *at, int64_t n, double *v, int64_t *w,
                      struct diag *d) {
    const struct made *m = ctx;
    enum dtype as = dtype_reference(dtype_of(m->g, o));
    for (int64_t k = 0; k < n; k++)
        if (w)
            w[k] = dtype_load_int(as, m->at[o], (size_t)at[k]);
        else
            v[k] = dtype_load(as, m->at[o], (size_t)at[k]);
    return true;
}

static const char *check_samples(struct run *x, struct graph *g, struct value *in, void **got,
                                 uint64_t seed, struct plain_seen *seen) {
    struct made made = {g, got};
    struct sample_source inputs = {in, value_load}, reference = {&made, load_made};
    struct sample_options o = SAMPLE_DEFAULTS;
    struct sample_verdict v;
    o.seed = seed;
    if (!sample_check(g, &inputs, &reference, &o, &v, &x->d)) return x->d.text;
    seen->asked = v.asked;
    seen->judged = v.judged;
    if (!v.differs) return NULL;
    return arena_printf(x->a, "out%u[%lld] is %.17g, %.17g by itself, %.3g allowed", v.output,
                        (long long)v.element, v.got, v.want, v.allowed);
}

/* ---- all of a graph -------------------------------------------------------------------------- */

static const char *check_outputs(struct run *x, struct graph *g, struct value *in,
                                 struct value *want, uint64_t seed, struct plain_seen *seen) {
    uint32_t n = g->outputs.n;
    size_t *bytes = NEW_ARRAY(x->a, size_t, n);
    void **got = NEW_ARRAY(x->a, void *, n);
    const char *message = NULL;
    for (uint32_t o = 0; o < n; o++) bytes[o] = (size_t)want[o].n * 8;
    if (!run(x, in, bytes)) message = x->d.text;
    for (uint32_t o = 0; o < n && !message; o++) {
        got[o] = output(x, o, bytes[o]);
        message = check_output(x, o, got[o], want);
    }
    /* The roundings of bounds are nobody's business. */
    if (!message && !has_bounds(g)) message = check_samples(x, g, in, got, seed, seen);
    for (uint32_t o = 0; o < n; o++) free(got[o]);
    end(x);
    seen->slices = x->slices;
    return message;
}

const char *plain_check_graph(const struct plain_place *at, struct graph *g, struct value *in,
                              uint64_t seed, struct plain_seen *seen) {
    struct arena *a = g->arena;
    struct run x = {.at = at, .g = g, .a = a, .d = diag_new(a)};
    uint32_t n = g->outputs.n;
    struct placement *placed = NEW_ARRAY(a, struct placement, n);
    struct value *want = calloc(n, sizeof *want);
    const char *message = NULL;
    for (uint32_t o = 0; o < n; o++) placed[o] = row_major(g, o, dtype_reference(dtype_of(g, o)));
    struct reference_options options = {.cuda = at->cuda, .outputs = placed};
    *seen = (struct plain_seen){0};
    x.r = reference_lower(g, &options, a);
    if (x.r && graph_eval(g, in, want, &x.d)) message = check_outputs(&x, g, in, want, seed, seen);
    for (uint32_t o = 0; o < n; o++) value_free(&want[o]);
    free(want);
    return message;
}

struct graph *plain_with_bound(struct graph *g) {
    struct graph *simple = graph_simplify(graph_decompose_but_landings(graph_simplify(g)));
    struct rounding how = {.device = DEVICE_CUDA, .stores = true};
    return graph_join(g, graph_bound(simple, how));
}

/* ---- places ---------------------------------------------------------------------------------- */

enum { ROWS = 6, COLUMNS = 32, PLACED = ROWS * COLUMNS };

/* Ties, subnormals, overflows, infinities, zeros and NaN of every float. */
static void odd_values(double *v) {
    static const double some[] = {0,       -0.0,      1,          -1,         448,    464,
                                  465,     65504,     65519,      65520,      3.4e38, 3.5e38,
                                  1e-45,   0x1p-149,  0x1.8p-149, 0x1p-24,    0x1p-9, 0x1.8p-10,
                                  NAN,     INFINITY,  -INFINITY,  57344,      61439,  61440,
                                  0x1p-16, 0x1.8p-17, 0x1p-133,   0x1.8p-134, -448,   1.0 / 3};
    enum { SOME = sizeof some / sizeof *some };
    for (int i = 0; i < PLACED; i++)
        v[i] = i < SOME ? some[i] : ldexp(random_normal(7, 7, (uint64_t)i), i % 64 - 32);
}

static struct graph *one_input(struct arena *a, enum dtype t, enum op op) {
    struct graph *g = graph_new(a, exprs_new(a), NULL);
    struct diag d = diag_new(a);
    struct meta m = {.dtype = t, .rank = 2};
    node_id x, y;
    m.size[0] = ex_const(g->ex, ROWS);
    m.size[1] = ex_const(g->ex, COLUMNS);
    meta_contiguous(g->ex, &m);
    x = graph_input(g, "x", INPUT_ARG, "L['x']", &m, 0);
    struct arg arg = {.kind = ARG_NODE, .node = x};
    if (!graph_call(g, op, &arg, 1, (struct span){0}, &d, &y)) WS_BUG("%s", d.text);
    vec_push(a, &g->outputs, y);
    return g;
}

static const char *check_place(const struct plain_place *at, struct arena *a, enum dtype t,
                               bool transposed, bool up) {
    bool real = dtype_is_float(t);
    struct graph *g = one_input(a, real ? DT_F64 : t, OP_NEG);
    struct placement p = row_major(g, 0, t);
    struct reference_options o = {.cuda = at->cuda, .outputs = &p};
    double v[PLACED];
    int64_t w[PLACED];
    struct value in = {.v = real ? v : NULL, .w = real ? NULL : w, .n = PLACED};
    struct run x = {.at = at, .g = g, .a = a, .d = diag_new(a)};
    size_t bytes = PLACED * (size_t)dtype_bytes(t);
    const char *message = NULL;
    odd_values(v);
    for (int i = 0; i < PLACED && !real; i++) w[i] = int_wrap(t, i * 37 - 100);
    if (transposed) p.stride[0] = 1, p.stride[1] = ROWS;
    p.up = up;
    x.r = reference_lower(g, &o, a);
    if (!x.r || !run(&x, &in, &bytes)) return arena_printf(a, "%s", x.r ? x.d.text : "refused");
    char *got = output(&x, 0, bytes), want[PLACED * 8];
    memset(want, 0xff, sizeof want);
    for (int64_t i = 0; i < PLACED; i++) {
        size_t cell = (size_t)strided_at(2, p.size, p.stride, i);
        float f = (float)-v[i];
        if (up && (double)f < -v[i]) f = nextafterf(f, INFINITY);
        if (up && isnan(v[i])) f = INFINITY;
        if (up)
            dtype_store(t, want, cell, (double)f);
        else if (real)
            dtype_store(t, want, cell, -v[i]);
        else
            dtype_store_int(t, want, cell, int_wrap(t, -w[i]));
    }
    for (size_t i = 0; i < PLACED && !message; i++) {
        size_t size = (size_t)dtype_bytes(t);
        bool nan = real && isnan(dtype_load(t, want, i)) && isnan(dtype_load(t, got, i));
        if (!nan && memcmp(got + i * size, want + i * size, size))
            message = arena_printf(a, "cell %zu of %s%s is %.17g, expected %.17g", i, dtype_name(t),
                                   up ? ", rounded up," : "", dtype_load(t, got, i),
                                   dtype_load(t, want, i));
    }
    free(got);
    end(&x);
    return message;
}

const char *plain_check_places(const struct plain_place *at, struct arena *a) {
    const char *message = check_place(at, a, DT_F32, false, true);
    for (int t = 0; t < DT_COUNT && !message; t++)
        for (int transposed = 0; transposed < 2 && !message; transposed++)
            if (t != DT_BOOL) message = check_place(at, a, (enum dtype)t, transposed, false);
    return message;
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* Uniforms and normals in f64; normals in f32, then as bf16: rounded twice, which shows. */
enum { STREAMS = 3 };

static double random_value(const struct graph *g, uint32_t k, uint64_t i) {
    if (k == 0) return random_uniform(g->seed, 5, i);
    double v = random_normal(g->seed, 5 + k, i);
    return k == 1 ? v : value_round(DT_BF16, (double)(float)v);
}

static bool add_stream(struct graph *g, uint32_t k, int64_t n, struct diag *d) {
    ex size = ex_const(g->ex, n);
    struct arg args[] = {{.kind = ARG_INTS, .ints = {&size, 1}},
                         {.kind = ARG_INT, .i = ex_const(g->ex, 5 + k)},
                         {.kind = ARG_DTYPE, .dtype = k == 2 ? DT_F32 : DT_F64}};
    node_id made;
    if (!graph_call(g, k ? OP_RANDN : OP_RAND, args, 3, (struct span){0}, d, &made)) return false;
    struct arg cast[] = {{.kind = ARG_NODE, .node = made}, {.kind = ARG_DTYPE, .dtype = DT_BF16}};
    if (k == 2 && !graph_call(g, OP_CAST, cast, 2, (struct span){0}, d, &made)) return false;
    vec_push(g->arena, &g->outputs, made);
    return true;
}

const char *plain_check_random(const struct plain_place *at, struct arena *a) {
    enum { N = 1 << 18 };
    struct graph *g = graph_new(a, exprs_new(a), NULL);
    struct placement placed[STREAMS];
    struct reference_options o = {.cuda = at->cuda, .exact = true, .outputs = placed};
    struct run x = {.at = at, .g = g, .a = a, .d = diag_new(a)};
    const char *message = NULL;
    g->seed = 12345678901;
    for (uint32_t k = 0; k < STREAMS; k++) {
        if (!add_stream(g, k, N, &x.d)) return x.d.text;
        placed[k] = row_major(g, k, DT_F64);
    }
    x.r = reference_lower(g, &o, a);
    if (!x.r || !run(&x, NULL, (size_t[]){N * 8, N * 8, N * 8}))
        return arena_printf(a, "%s", x.r ? x.d.text : "refused");
    for (uint32_t k = 0; k < STREAMS && !message; k++) {
        double *got = output(&x, k, N * 8);
        for (uint64_t i = 0; i < N && !message; i++)
            if (got[i] != random_value(g, k, i))
                message = arena_printf(a, "element %llu of stream %u is %a, expected %a",
                                       (unsigned long long)i, k, got[i], random_value(g, k, i));
        free(got);
    }
    end(&x);
    return message;
}
