/* backend_inductor.c: captured graphs of scripts as compiled kernels.
 *
 *   graph(%x: f32[s0, 256])   s0 = 16   lowered at that size, each kernel under its default config
 *                             s0 = 32   lowered again: the same texts, whose binaries are there
 *
 * Sizes are arguments of the kernels; what depends on them beyond that (grids, which config is the
 * default) is decided anew for every combination of sizes met, and kept. */
#include "tuner/backend_inductor.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/plan.h"

/* One combination of sizes. */
struct instance {
    struct instance *next;
    struct arena *arena;
    int64_t *values; /* of the symbols */
    struct ws_program *program;
    struct plan plan;
    struct buffers memory;
    struct launches launches;
    dptr *inputs, *outputs; /* device memory */
};

struct callable {
    struct graph *graph;
    struct instance *instances;
    struct callable *next;
};

struct backend_inductor {
    struct machine *machine;
    struct store *store;
    struct arena *arena;
    struct builder builder;
    struct callable *callables;
    struct stages stages;
    struct backend backend;
    int n_graphs;
};

/* ---- building -------------------------------------------------------------------------------- */

static void *compile(void *ctx, struct graph *g, struct diag *d) {
    struct backend_inductor *b = ctx;
    struct callable *c = NEW(b->arena, struct callable);
    *c = (struct callable){.graph = g, .next = b->callables};
    return b->callables = c;
}

static enum ws_status choose(struct backend_inductor *b, struct instance *x, struct diag *d) {
    x->plan = plan_new("compiled", x->program, x->arena);
    for (int k = 0; k < x->program->n_kernels; k++) {
        const struct config *configs;
        int n, pruned;
        ws_configs(x->program, k, &configs, &n, &pruned);
        struct variant *v = x->plan.chosen[k] = NEW(x->arena, struct variant);
        *v = variant_new(x->program, k, &configs[0], x->arena);
        v->is_default = true; /* whatever it spills, it is what will run */
    }
    if (plan_begin(&x->plan, &b->builder, d) != WS_OK) return d->status;
    for (int k = 0; k < x->program->n_kernels; k++)
        stage_dump(&b->stages, arena_printf(x->arena, "%s.block", x->program->kernels[k].name),
                   LOG_OUTPUT_CODE, x->plan.chosen[k]->source.block, d);
    return plan_finish(&x->plan, &b->builder, d);
}

static size_t storage_bytes(const struct array *a) {
    int64_t last = 0;
    for (int i = 0; i < a->rank; i++) {
        if (!a->size[i]) return 0;
        last += (a->size[i] - 1) * a->stride[i];
    }
    return (size_t)(last + 1) * (size_t)dtype_bytes(a->dtype);
}

static enum ws_status place(struct backend_inductor *b, struct instance *x,
                            const struct array *inputs, const struct array *outputs,
                            struct diag *d) {
    struct device *dev = b->machine->device;
    const struct ws_program *p = x->program;
    int n_in = p->captured->n_inputs, n_out = p->captured->n_outputs;
    x->inputs = NEW_ARRAY(x->arena, dptr, n_in);
    x->outputs = NEW_ARRAY(x->arena, dptr, n_out);
    for (int i = 0; i < n_in && d->status == WS_OK; i++)
        device_alloc(dev, storage_bytes(&inputs[i]), &x->inputs[i], d);
    for (int i = 0; i < n_out && d->status == WS_OK; i++)
        device_alloc(dev, storage_bytes(&outputs[i]), &x->outputs[i], d);
    struct data data = {.machine = b->machine, .inputs = x->inputs, .outputs = x->outputs};
    if (d->status != WS_OK || buffers_place(&x->memory, &data, p, false, x->arena, d) != WS_OK)
        return d->status;
    return plan_launches(&x->plan, &x->memory, &x->launches, d);
}

static struct instance *build(struct backend_inductor *b, struct callable *c,
                              const struct bindings *sizes, const struct array *inputs,
                              const struct array *outputs, struct diag *d) {
    struct arena *a = arena_new();
    struct instance *x = NEW(a, struct instance);
    x->arena = a;
    x->values = NEW_ARRAY(a, int64_t, sizes->n);
    for (uint32_t i = 0; i < sizes->n; i++) {
        x->values[i] = sizes->values[i];
        ex_set_hint(c->graph->ex, sizes->symbols[i], sizes->values[i]);
    }
    x->next = c->instances;
    c->instances = x;
    struct ws_captured *captured = ws_captured_of(a, c->graph, "graph");
    x->program = ws_lower(captured, &b->machine->limits, WS_FUSE, &b->stages, d);
    if (!x->program || choose(b, x, d) != WS_OK || place(b, x, inputs, outputs, d) != WS_OK)
        return NULL;
    return x;
}

/* ---- running --------------------------------------------------------------------------------- */

static struct instance *find(const struct callable *c, const struct bindings *sizes) {
    uint32_t n = sizes->n - sizes->draws;
    for (struct instance *x = c->instances; x; x = x->next)
        if (!n || !memcmp(x->values, sizes->values, n * sizeof *x->values)) return x;
    return NULL;
}

/* The numbers of this call's random tensors, where kernels take them. */
static enum ws_status number_streams(struct instance *x, const struct bindings *sizes,
                                     struct arena *a, struct diag *d) {
    struct exprs *p = x->program->captured->graph->ex;
    ex_set_hint(p, sizes->symbols[sizes->n - 1], sizes->values[sizes->n - 1]);
    for (int k = 0; k < x->program->n_kernels; k++) {
        struct ws_source *s = &x->plan.chosen[k]->source;
        for (int l = 0; l < s->n_launches; l++)
            for (int i = 0; i < s->launches[l].n_args; i++) {
                struct ws_arg *arg = &s->launches[l].args[i];
                if (arg->kind == WS_ARG_SIZE && ex_uses(p, arg->expr, sizes->symbols[sizes->n - 1]))
                    arg->value = ex_hint(p, arg->expr);
            }
    }
    x->memory.arena = a;
    return plan_launches(&x->plan, &x->memory, &x->launches, d);
}

static bool run(void *ctx, void *callable, const struct bindings *sizes, uint64_t seed,
                const struct array *inputs, const struct array *outputs, struct diag *d) {
    struct backend_inductor *b = ctx;
    struct callable *c = callable;
    struct device *dev = b->machine->device;
    struct instance *x = find(c, sizes);
    if (!x) x = build(b, c, sizes, inputs, outputs, d);
    if (!x || !x->launches.at) {
        if (d->status == WS_OK) diag_fail(d, WS_WRONG, "this graph could not be compiled before");
        return false;
    }
    const struct ws_captured *captured = x->program->captured;
    struct arena *scratch = arena_new();
    if (sizes->draws) number_streams(x, sizes, scratch, d);
    for (int i = 0; i < captured->n_inputs && d->status == WS_OK; i++)
        device_upload(dev, x->inputs[i], inputs[i].bytes, storage_bytes(&inputs[i]), d);
    if (d->status == WS_OK) device_run(dev, x->launches.at, x->launches.n, d);
    for (int i = 0; i < captured->n_outputs && d->status == WS_OK; i++)
        device_download(dev, outputs[i].bytes, x->outputs[i], storage_bytes(&outputs[i]), d);
    arena_free(scratch);
    return d->status == WS_OK;
}

/* ---- its life -------------------------------------------------------------------------------- */

enum ws_status backend_inductor_open(struct machine *m, struct store *s, struct arena *a,
                                     struct backend_inductor **out, struct diag *d) {
    struct backend_inductor *b = *out = NEW(a, struct backend_inductor);
    *b = (struct backend_inductor){.machine = m, .store = s, .arena = a};
    b->stages = stages_new(a, NULL, m->env.logs);
    b->backend = (struct backend){.name = "inductor", .ctx = b, .compile = compile, .run = run};
    return builder_open(&b->builder, m, s, a, d);
}

const struct backend *backend_inductor_of(const struct backend_inductor *b) { return &b->backend; }

static void close_instance(struct backend_inductor *b, struct instance *x) {
    struct device *dev = b->machine->device;
    const struct ws_captured *c = x->program ? x->program->captured : NULL;
    for (int i = 0; c && x->inputs && i < c->n_inputs; i++) device_free(dev, x->inputs[i]);
    for (int i = 0; c && x->outputs && i < c->n_outputs; i++) device_free(dev, x->outputs[i]);
    buffers_free(&x->memory);
    plan_unload(&x->plan, b->machine);
    arena_free(x->arena);
}

void backend_inductor_close(struct backend_inductor *b) {
    if (!b) return;
    for (struct callable *c = b->callables; c; c = c->next)
        for (struct instance *x = c->instances, *next; x; x = next) {
            next = x->next;
            close_instance(b, x);
        }
    builder_close(&b->builder);
}
