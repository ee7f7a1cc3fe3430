/* Every kernel kind, on small shapes chosen to hit edges: all legal configs of every kernel of a
 * graph are generated, run and compared with the reference interpreter; CUDA text on the emulator,
 * C text on the CPU device.
 *
 *     test_compile_generated [filter]             only the graphs whose text contains the filter
 *     test_compile_generated --device cuda:0      the same on a real device instead of the emulator
 */
#include <stdio.h>

#include "../emulator/emu.h"
#include "emit/emit.h"
#include "graph_test.h"
#include "runtime/runtime.h"
#include "ws_tune.h"

enum { MAX_BUFFERS = 64, BATCH = 96 };

struct bench {
    struct arena *a;
    struct ws_captured captured;
    struct ws_program *p;
    struct graph *g;
    struct value in[MAX_TEST_VALUES], want[MAX_TEST_VALUES];
};

/* Storage of input k, in its dtype and strides. */
static void fill(const struct bench *b, int k, void *to) {
    const struct meta *m = &b->g->nodes.at[b->g->inputs.at[k].node].meta;
    for (int64_t i = 0; i < b->in[k].n; i++) {
        int64_t left = i, at = 0;
        for (int d = m->rank - 1; d >= 0; d--) {
            at += left % ex_value(b->g->ex, m->size[d]) * ex_value(b->g->ex, m->stride[d]);
            left /= ex_value(b->g->ex, m->size[d]);
        }
        dtype_store(m->dtype, to, (size_t)at, b->in[k].v[i]);
    }
}

static struct bench *begin(struct arena *a, const char *text, const struct device_limits *limits,
                           enum ws_fusion fusion) {
    struct bench *b = NEW(a, struct bench);
    b->a = a;
    b->g = must_parse(a, text);
    b->captured = (struct ws_captured){.arena = a, .graph = b->g, .guards = "", .workload = "test"};
    struct diag d = diag_new(a);
    b->p = ws_lower(&b->captured, limits, fusion, NULL, &d);
    if (!b->p) fail_msg("%s", d.text);
    random_inputs(b->g, b->in);
    for (uint32_t k = 0; k < b->g->inputs.n;
         k++) { /* what storage holds is what the reference sees */
        enum dtype t = b->g->nodes.at[b->g->inputs.at[k].node].meta.dtype;
        for (int64_t i = 0; i < b->in[k].n; i++) {
            double cell;
            dtype_store(t, &cell, 0, b->in[k].v[i]);
            b->in[k].v[i] = dtype_load(t, &cell, 0);
        }
    }
    if (!graph_eval(b->g, b->in, b->want, &d)) fail_msg("%s", d.text);
    return b;
}

static void end(struct bench *b) {
    for (uint32_t k = 0; k < b->g->inputs.n; k++) free(b->in[k].v);
    for (uint32_t k = 0; k < b->g->outputs.n; k++) free(b->want[k].v);
}

static double tolerance(enum dtype t) {
    return t == DT_BF16 ? 1.6e-2 : t == DT_F16 ? 2e-3 : t == DT_F64 ? 1e-9 : 2e-5;
}

static bool agrees(const struct bench *b, const struct ws_buffer *x, const void *got,
                   const char *what) {
    const struct value *want = &b->want[x->index];
    double tol = tolerance(x->dtype), sum = 0;
    for (int64_t i = 0; i < want->n; i++) sum += isfinite(want->v[i]) ? want->v[i] * want->v[i] : 0;
    double rms = want->n ? sqrt(sum / (double)want->n) : 0;
    for (int64_t i = 0; i < want->n; i++) {
        double g = dtype_load(x->dtype, got, (size_t)i), w = want->v[i];
        if ((isnan(g) && isnan(w)) || g == w) continue;
        if (isnan(w) && !dtype_is_float(x->dtype))
            continue; /* integer division by zero: undefined */
        if (fabs(g - w) <= tol * (fabs(w) + rms)) continue;
        print_error("%s: element %lld is %.9g, not %.9g\n", what, (long long)i, g, w);
        return false;
    }
    return true;
}

/* ---- CUDA on the emulator -------------------------------------------------------------------- */

struct variant {
    int kernel;
    struct config config;
    struct ws_source source;
};

struct emulation {
    struct bench *b;
    struct emu *e;
    char *buffers[MAX_BUFFERS];
    VEC(struct variant)
    variants; /* all configs of all kernels; the first of each kernel is its default */
    struct emu_module **modules; /* per variant / BATCH */
};

/* Many kernels in one text: one prelude, then each under names of its own. */
static struct emu_module *open_batch(struct emulation *s, uint32_t from, uint32_t to) {
    struct buf text = buf_new(s->b->a);
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
            vec_push(s->b->a, &names,
                     (const char *)arena_printf(s->b->a, "%s_%u", src->launches[l].entry, i));
        }
        buf_puts(&text, "#undef k_idx\n");
    }
    struct diag d = diag_new(s->b->a);
    struct emu_module *m = emu_open(s->e, text.p, names.at, (int)names.n, &d);
    if (!m) fail_msg("%s", d.text);
    return m;
}

static char *buffer_of(struct emulation *s, int b) { return s->buffers[b]; }

static bool run_emulated(struct emulation *s, uint32_t index, bool check) {
    struct variant *v = &s->variants.at[index];
    const struct ws_program *p = s->b->p;
    char *workspace =
        v->source.workspace ? emu_alloc(s->e, "workspace", v->source.workspace) : NULL;
    bool ok = true;
    for (int l = 0; l < v->source.n_launches && ok; l++) {
        const struct ws_launch *w = &v->source.launches[l];
        void *values[WS_MAX_ARGS], *args[WS_MAX_ARGS];
        enum emu_role roles[WS_MAX_ARGS];
        for (int i = 0; i < w->n_args; i++) {
            const struct ws_arg *x = &w->args[i];
            args[i] = &values[i];
            roles[i] = EMU_VALUE;
            if (x->kind == WS_ARG_SIZE) {
                memcpy(&values[i], &x->value, 8);
            } else if (x->kind == WS_ARG_WORKSPACE) {
                values[i] = workspace + x->value;
                roles[i] = EMU_INOUT; /* two partial results share it */
            } else {
                values[i] = buffer_of(s, x->buffer);
                roles[i] = EMU_IN;
                for (int k = 0; k < p->kernels[v->kernel].n_writes; k++)
                    if (p->kernels[v->kernel].writes[k] == x->buffer)
                        roles[i] = v->source.n_launches > 1 && l == 0 ? EMU_INOUT : EMU_OUT;
            }
        }
        struct emu_launch e = {
            .kernel = arena_printf(s->b->a, "%s_%u", w->entry, index),
            .grid = {(unsigned)w->grid[0], (unsigned)w->grid[1], (unsigned)w->grid[2]},
            .threads = {(unsigned)w->threads},
            .shared = (size_t)w->smem,
            .args = args,
            .n_args = w->n_args,
            .roles = roles};
        if (!w->grid[0]) continue;
        struct emu_report r = check ? emu_check(s->modules[index / BATCH], &e)
                                    : emu_run(s->modules[index / BATCH], &e);
        if (!r.ok) print_error("%s\n  config %s\n", r.message, config_str(s->b->a, &v->config));
        ok = r.ok;
    }
    if (workspace) emu_release(s->e, workspace);
    return ok;
}

static int emulate(struct bench *b, const char *text, int most) {
    struct emulation s = {.b = b, .e = emu_new()};
    const struct ws_program *p = b->p;
    uint32_t first[32];
    for (int k = 0; k < p->n_kernels; k++) {
        const struct config *c;
        int n, pruned;
        ws_configs(p, k, &c, &n, &pruned);
        first[k] = s.variants.n;
        for (int i = 0; i < n && i < most; i++) {
            struct variant v = {.kernel = k, .config = c[i]};
            struct diag d = diag_new(b->a);
            if (ws_emit(p, k, &c[i], b->a, &v.source, &d) != WS_OK) fail_msg("%s", d.text);
            vec_push(b->a, &s.variants, v);
        }
    }
    for (int i = 0; i < p->n_buffers; i++) {
        if (!p->buffers[i].bytes && p->buffers[i].kind == WS_BUF_TEMP) continue;
        s.buffers[i] =
            emu_alloc(s.e, p->buffers[i].name, p->buffers[i].bytes ? p->buffers[i].bytes : 1);
        if (p->buffers[i].kind == WS_BUF_INPUT) fill(b, p->buffers[i].index, s.buffers[i]);
    }
    uint32_t batches = (s.variants.n + BATCH - 1) / BATCH;
    s.modules = NEW_ARRAY(b->a, struct emu_module *, batches + 1);
    for (uint32_t i = 0; i < batches; i++)
        s.modules[i] = open_batch(&s, i * BATCH,
                                  (i + 1) * BATCH < s.variants.n ? (i + 1) * BATCH : s.variants.n);
    int cases = 0;
    bool ok = true;
    for (uint32_t v = 0; v < s.variants.n && ok; v++) {
        for (int k = 0; k < p->n_kernels && ok; k++) { /* the others by their defaults */
            bool mine = k == s.variants.at[v].kernel;
            ok = run_emulated(&s, mine ? v : first[k], mine && v % 4 == 0);
        }
        for (int i = 0; i < p->n_buffers && ok; i++)
            if (p->buffers[i].kind == WS_BUF_OUTPUT)
                ok = agrees(b, &p->buffers[i], s.buffers[i],
                            config_str(b->a, &s.variants.at[v].config));
        cases++;
    }
    emu_free(s.e);
    if (!ok) fail_msg("on the emulator:\n%s", text);
    return cases;
}

/* ---- on a device ----------------------------------------------------------------------------- */

static bool launch_all(struct bench *b, struct device *dev, struct toolchain *t,
                       const struct ws_source *src, dptr *mem, struct diag *d) {
    struct compiled c;
    toolchain_compile(t, "variant", src->text, false, &c);
    if (!c.ok) fail_msg("%s\n%s", c.log, strstr(src->text, "kernel text"));
    struct module *m;
    if (device_load(dev, c.binary, c.size, &m, d) != WS_OK) return false;
    dptr workspace = 0;
    if (src->workspace && device_alloc(dev, src->workspace, &workspace, d) != WS_OK) return false;
    bool ok = true;
    for (int l = 0; l < src->n_launches && ok; l++) {
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
        ok = device_run(dev, &x, 1, d) == WS_OK;
    }
    if (workspace) device_free(dev, workspace);
    device_unload(dev, m);
    compiled_free(&c);
    return ok;
}

/* The outputs as they lie on the device. */
static bool outputs_agree(struct bench *b, struct device *dev, const dptr *mem, struct diag *d) {
    bool ok = true;
    for (int i = 0; i < b->p->n_buffers && ok; i++) {
        const struct ws_buffer *x = &b->p->buffers[i];
        if (x->kind != WS_BUF_OUTPUT) continue;
        void *host = malloc(x->bytes + 1);
        ok =
            device_download(dev, host, mem[i], x->bytes, d) == WS_OK && agrees(b, x, host, x->name);
        free(host);
    }
    return ok;
}

static int run_on_device(struct bench *b, struct device *dev, struct toolchain *t, const char *text,
                         int every) {
    const struct ws_program *p = b->p;
    struct diag d = diag_new(b->a);
    dptr mem[MAX_BUFFERS] = {0};
    int cases = 0;
    for (int i = 0; i < p->n_buffers; i++) {
        if (device_alloc(dev, p->buffers[i].bytes + 1, &mem[i], &d) != WS_OK)
            fail_msg("%s", d.text);
        if (p->buffers[i].kind != WS_BUF_INPUT) continue;
        void *host = calloc(1, p->buffers[i].bytes + 1);
        fill(b, p->buffers[i].index, host);
        if (device_upload(dev, mem[i], host, p->buffers[i].bytes, &d) != WS_OK)
            fail_msg("%s", d.text);
        free(host);
    }
    int most = 0;
    for (int round = 0; round == 0 || round < most;
         round += every) { /* config `round` of each kernel, or its last */
        for (int k = 0; k < p->n_kernels; k++) {
            const struct config *c;
            struct ws_source src;
            int n, pruned;
            ws_configs(p, k, &c, &n, &pruned);
            if (n > most) most = n;
            if (ws_emit(p, k, &c[round < n ? round : n - 1], b->a, &src, &d) != WS_OK)
                fail_msg("%s", d.text);
            for (int i = 0; i < p->kernels[k].n_writes; i++)
                device_fill(dev, mem[p->kernels[k].writes[i]], 0xFF,
                            p->buffers[p->kernels[k].writes[i]].bytes, &d);
            if (!launch_all(b, dev, t, &src, mem, &d)) fail_msg("%s", d.text);
            cases++;
        }
        if (!outputs_agree(b, dev, mem, &d))
            fail_msg("config %d of\n%s%s", round, text, d.text ? d.text : "");
    }
    for (int i = 0; i < p->n_buffers; i++) device_free(dev, mem[i]);
    return cases;
}

/* ---- the graphs ------------------------------------------------------------------------------ */

static const char *const graphs[] = {
    "graph(%x: f32[5, 64]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[3, 1000]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: bf16[4, 256]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: bf16[3, 33]) {\n %s = log_softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[7, 1]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[64, 40]) {\n %s = softmax(%x, 0)\n return %s\n}\n",
    "graph(%x: f32[3, 8, 20]) {\n %s = softmax(%x, 1)\n return %s\n}\n",
    "graph(%x: f32[6, 32], %y: f32[6, 32]) {\n %a = add(%x, %y)\n %b = mul(%a, 2)\n %c = "
    "relu(%b)\n return %c\n}\n",
    "graph(%x: f16[1025], %y: f16[1025]) {\n %a = add(%x, %y)\n %c = relu(%a)\n return %c\n}\n",
    "graph(%x: f32[33, 17], %y: f32[33, 17]) {\n %a = add(%x, %y)\n %b = mul(%a, 2)\n %c = "
    "relu(%b)\n %s = silu(%c)\n"
    " %d = sum(%s, 1)\n %m = mean(%d)\n return %m\n}\n",
    "graph(%x: f32[4, 96], %w: f32[96], %b: f32[96]) {\n %y = layer_norm(%x, [96], %w, %b)\n "
    "return %y\n}\n",
    "graph(%x: bf16[2, 3, 64], %w: bf16[64]) {\n %y = rms_norm(%x, [64], %w)\n return %y\n}\n",
    "graph(%x: bf16[5, 48], %b: bf16[48]) {\n %a = add(%x, %b)\n %y = gelu(%a)\n return %y\n}\n",
    "graph(%g: f32[6, 40], %u: f32[6, 40]) {\n %a = silu(%g)\n %y = mul(%a, %u)\n return %y\n}\n",
    "graph(%x: f32[24, 36]) {\n %y = permute(%x, [1, 0])\n %z = mul(%y, 3)\n return %z\n}\n",
    "graph(%x: f32[24, 24]) {\n %y = permute(%x, [1, 0])\n %z = add(%x, %y)\n return %z\n}\n",
    "graph(%x: f32[100, 12]) {\n %s = sum(%x, 0)\n return %s\n}\n",
    "graph(%x: f32[3000]) {\n %s = sum(%x)\n %m = amax(%x)\n %r = div(%s, %m)\n return %r, %m\n}\n",
    "graph(%x: i64[9, 20]) {\n %s = sum(%x, 1)\n return %s\n}\n",
    "graph(%x: f64[3, 40]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[16, 24], %y: f32[24, 20]) {\n %z = matmul(%x, %y)\n %s = softmax(%z, 1)\n "
    "return %s\n}\n",
    "graph(%x: bf16[20, 16], %w: bf16[16, 32], %b: bf16[32]) {\n %z = matmul(%x, %w)\n %a = "
    "add(%z, %b)\n"
    " %y = gelu(%a)\n return %y\n}\n",
    "graph(%x: f32[2, 9, 16], %w: f32[24, 16], %b: f32[24]) {\n %y = linear(%x, %w, %b)\n %z = "
    "relu(%y)\n return %z\n}\n",
    "graph(%x: f32[2, 5, 7], %y: f32[2, 7, 6]) {\n %z = bmm(%x, %y)\n return %z\n}\n",
    "graph(%x: f32[4, 32][1, 4]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[0, 32]) {\n %s = softmax(%x, -1)\n return %s\n}\n",
    "graph(%x: f32[]) {\n %y = exp(%x)\n return %y\n}\n",
    "graph(%x: f32[5, 6]) {\n return %x\n}\n",
    "graph(%x: f32[8, 6], %y: f32[8, 1]) {\n %c = gt(%x, %y)\n %w = where(%c, %x, 0.5)\n %s = "
    "sum(%w, 1)\n return %w, %s, %c\n}\n",
    "graph(%x: f32[4, 10]) {\n %m = mean(%x, 1, True)\n %d = sub(%x, %m)\n %v = var(%x, 1)\n "
    "return %d, %v, %m\n}\n",
    "graph(%x: f32[6, 8]) {\n %s = slice(%x, 1, 2, 7, 1)\n %t = slice(%x, 1, 1, 6, 1)\n %y = "
    "sub(%s, %t)\n return %y\n}\n",
};

/* Every pointwise operator of the table, a dozen to a graph, on two operands of type t. */
static int operator_graphs(struct arena *a, enum dtype t, const char **out, int cap) {
    int n = 0, in_graph = 0;
    struct buf b = buf_new(a), results = buf_new(a);
    for (int o = 0; o <= OP_COUNT; o++) {
        const struct op_info *op = o < OP_COUNT ? op_info((enum op)o) : NULL;
        int tensors = 0;
        if (op && (op->class != POINTWISE || op->id == OP_CAST)) continue;
        for (int i = 0; op && i < op->n_params; i++)
            tensors += strchr("T|", op->params[i].kind) && !op->params[i].has_default;
        bool integer = op && strstr("bitwise_and bitwise_or bitwise_xor bitwise_not", op->name);
        bool fits = op && tensors && (t == DT_I64 ? op->dtype != RULE_FLOAT || integer : !integer);
        if (op && t == DT_I64 && strstr("floor ceil round trunc pow", op->name)) continue;
        if (fits) {
            if (!in_graph) {
                b = buf_new(a), results = buf_new(a);
                buf_printf(&b, "graph(%%x: %s[2, 40], %%y: %s[2, 40], %%c: bool[2, 40]) {\n",
                           dtype_name(t), dtype_name(t));
            }
            static const char *const operands[] = {"%x", "%y", "%x"};
            buf_printf(&b, " %%r%d = %s(", in_graph, op->name);
            bool where = op->id == OP_WHERE;
            for (int i = 0; i < tensors; i++)
                buf_printf(&b, "%s%s", i ? ", " : "",
                           where && i == 0 ? "%c" : operands[where ? i - 1 : i]);
            buf_puts(&b, ")\n");
            buf_printf(&results, "%s%%r%d", in_graph ? ", " : "", in_graph);
            in_graph++;
        }
        if (in_graph == 12 || (!op && in_graph)) {
            buf_printf(&b, " return %s\n}\n", results.p);
            WS_ASSERT(n < cap);
            out[n++] = b.p;
            in_graph = 0;
        }
    }
    return n;
}

struct setup {
    struct device *dev;
    struct toolchain *compiler;
    const char *filter;
    const char *graphs[128];
    int n, n_shapes; /* the first n_shapes in every config, operators in one */
};

static void test_emulated(void **state) {
    struct setup *s = *state;
    struct device_limits limits;
    assert_true(device_limits_for_arch("sm_90a", &limits));
    int cases = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->filter && !strstr(s->graphs[i], s->filter)) continue;
        for (int f = WS_EAGER; f <= WS_FUSE; f++) {
            if (f == WS_EAGER && (i % 4 || i >= s->n_shapes) && !s->filter) continue;
            struct arena *a = arena_new();
            struct bench *b = begin(a, s->graphs[i], &limits, (enum ws_fusion)f);
            cases += emulate(b, s->graphs[i], i < s->n_shapes ? INT32_MAX : 1);
            end(b);
            arena_free(a);
        }
    }
    print_message("             %d cases of generated CUDA\n", cases);
}

static void test_device(void **state) {
    struct setup *s = *state;
    int cases = 0;
    bool gpu = device_limits(s->dev)->kind == DEVICE_CUDA;
    for (int i = 0; i < s->n; i++) {
        if (s->filter && !strstr(s->graphs[i], s->filter)) continue;
        struct arena *a = arena_new();
        struct bench *b = begin(a, s->graphs[i], device_limits(s->dev), WS_FUSE);
        cases += run_on_device(b, s->dev, s->compiler, s->graphs[i],
                               i >= s->n_shapes ? 64
                               : s->filter      ? 1
                               : gpu            ? 3
                                                : 9);
        end(b);
        arena_free(a);
    }
    print_message("             %d cases on %s\n", cases, device_facts(s->dev)->name);
}

int main(int argc, char **argv) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct setup s = {0};
    const char *name = "cpu";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--device") && i + 1 < argc)
            name = argv[++i];
        else
            s.filter = argv[i];
    }
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) s.graphs[s.n++] = graphs[i];
    s.n_shapes = s.n;
    s.n += operator_graphs(a, DT_F32, s.graphs + s.n, 16);
    s.n += operator_graphs(a, DT_F64, s.graphs + s.n, 16);
    s.n += operator_graphs(a, DT_I64, s.graphs + s.n, 16);
    if (device_open(name, &env, a, &d, &s.dev, NULL) != WS_OK ||
        toolchain_open(device_limits(s.dev)->kind, device_limits(s.dev)->arch, &env, a, &d,
                       &s.compiler) != WS_OK) {
        fputs(d.text, stderr);
        return 3;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_device, &s),
        cmocka_unit_test_prestate(test_emulated, &s),
    };
    bool gpu = device_limits(s.dev)->kind ==
               DEVICE_CUDA; /* what runs on a GPU need not be emulated there */
    int failed = gpu ? _cmocka_run_group_tests("device", tests, 1, NULL, NULL)
                     : cmocka_run_group_tests(tests, NULL, NULL);
    toolchain_close(s.compiler);
    device_close(s.dev);
    arena_free(a);
    return failed;
}
