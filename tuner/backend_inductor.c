/* backend_inductor.c: captured graphs of scripts as compiled kernels.
 *
 *   graph(%x: f32[s0, 256])   s0 = 16   lowered at that size, each kernel under its tuned config,
 *                                       or the default
 *                             s0 = 32   lowered again: the same texts, whose binaries are there
 *
 * Sizes are arguments of the kernels; what depends on them beyond that (grids, configs) is decided
 * anew for every combination of sizes met, and kept. Nothing is searched here: what bench has tuned
 * for these sizes is used, else what it has for the nearest ones (range_table.h). Where a range
 * wants multiples of 8, the kernels are made for multiples of 8. */
#include "tuner/backend_inductor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/plan.h"
#include "tuner/symbolic_view.h"
#include "tuner/winners.h"

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
    struct data data;       /* of these two */
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
    struct range_table *ranges;
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

/* In a log alone: it asks the store. */
static const char *why_missed(struct backend_inductor *b, const struct instance *x, int kernel) {
    const struct ws_captured *c = x->program->captured;
    struct diag own = diag_new(x->arena);
    struct store_key key = winner_key(b->machine, c, x->program, kernel, x->arena);
    struct store_winner w;
    const char *why = "there is no store";
    bool found;
    if (range_met_stale(b->ranges)) return "its text changed since it was tuned";
    if (b->store && c->n_symbols)
        store_why_no_range(b->store, &key, &why, &own);
    else if (b->store)
        store_lookup(b->store, &key, &w, &found, &why, &own);
    return own.status == WS_OK && why ? why : "its config is not legal here";
}

static void say_lookup(struct backend_inductor *b, const struct instance *x, int kernel,
                       enum lookup how, const struct range_entry *e) {
    const char *name = x->program->kernels[kernel].name;
    if (!(b->stages.logs >> LOG_AUTOTUNE & 1)) return;
    fflush(stdout);
    if (e)
        fprintf(stderr, "[autotune] %s: %s: %s%s%s\n", name, lookup_name(how), e->config_text,
                *e->guard_text ? ", tuned for " : "", e->guard_text);
    else
        fprintf(stderr, "[autotune] %s: miss, the default config: %s\n", name,
                why_missed(b, x, kernel));
}

/* Sizes of the symbols at hand. */
static int64_t *sizes_of(const struct ws_captured *c, struct arena *a) {
    int64_t *sizes = NEW_ARRAY(a, int64_t, c->n_symbols);
    for (int i = 0; i < c->n_symbols; i++) sizes[i] = ex_hint(c->graph->ex, c->symbols[i]);
    return sizes;
}

static const struct range_entry *look_up(struct backend_inductor *b, const struct instance *x,
                                         int kernel, const int64_t *sizes,
                                         struct symbolic_texts *texts) {
    const struct ws_kernel *k = &x->program->kernels[kernel];
    const struct ws_captured *c = x->program->captured;
    struct judge judge = {x->program, kernel, texts, x->arena};
    struct range_question q = {.graph = c->graph_hash,
                               .kernel = k->hash,
                               .sizes = sizes,
                               .n_sizes = c->n_symbols,
                               .judge = judge_entry,
                               .ctx = &judge};
    const struct range_entry *e;
    enum lookup how = range_look_up(b->ranges, &q, &e);
    say_lookup(b, x, kernel, how, e);
    return e;
}

/* The program for sizes that are multiples of what the chosen ranges want, if they are here. */
static struct ws_program *lower_stepped(struct backend_inductor *b, const struct instance *x,
                                        const struct range_entry *const *found,
                                        const int64_t *sizes) {
    struct ws_captured *c = x->program->captured;
    int64_t *step = NEW_ARRAY(x->arena, int64_t, c->n_symbols);
    bool any = false;
    for (int k = 0; k < x->program->n_kernels; k++)
        for (int i = 0; found[k] && i < found[k]->guard.n; i++) {
            const struct guard_term *t = &found[k]->guard.at[i];
            bool wanted = t->test == GUARD_MULTIPLE && t->symbol < c->n_symbols &&
                          sizes[t->symbol] % t->number == 0 && t->number > step[t->symbol];
            if (wanted) step[t->symbol] = t->number;
            any |= wanted;
        }
    if (!any) return x->program;
    struct diag own = diag_new(x->arena);
    struct stages quiet = stages_new(x->arena, NULL, 0);
    struct ws_program *p =
        ws_lower(ws_captured_stepped(c, step), &b->machine->limits, WS_FUSE, &quiet, &own);
    return p && same_kernels(p, x->program) ? p : x->program;
}

static void choose_configs(struct backend_inductor *b, struct instance *x) {
    int n = x->program->n_kernels;
    const int64_t *sizes = sizes_of(x->program->captured, x->arena);
    const struct range_entry **found = NEW_ARRAY(x->arena, const struct range_entry *, n);
    struct symbolic_texts texts = {.captured = x->program->captured, .limits = &b->machine->limits};
    for (int k = 0; k < n; k++) found[k] = look_up(b, x, k, sizes, &texts);
    x->program = lower_stepped(b, x, found, sizes);
    x->plan = plan_new("compiled", x->program, x->arena);
    for (int k = 0; k < n; k++) {
        const struct config *c = found[k] ? &found[k]->config : NULL;
        if (!c || ws_config_illegal(x->program, k, c, x->arena))
            c = ws_default_config(x->program, k);
        struct variant *v = x->plan.chosen[k] = NEW(x->arena, struct variant);
        *v = variant_new(x->program, k, c, x->arena);
        v->is_default = true; /* whatever it spills, it is what will run */
    }
}

static enum ws_status choose(struct backend_inductor *b, struct instance *x, struct diag *d) {
    choose_configs(b, x);
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
        if (p->returned_input[i] >= 0)
            x->outputs[i] = x->inputs[p->returned_input[i]];
        else if (p->first_output[i] < i)
            x->outputs[i] = x->outputs[p->first_output[i]];
        else
            device_alloc(dev, storage_bytes(&outputs[i]), &x->outputs[i], d);
    x->data = (struct data){.machine = b->machine, .inputs = x->inputs, .memory = x->outputs};
    if (d->status != WS_OK || buffers_place(&x->memory, &x->data, p, false, x->arena, d) != WS_OK)
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
    ex symbol = sizes->symbols[sizes->n - 1];
    ex_set_hint(p, symbol, sizes->values[sizes->n - 1]);
    for (int k = 0; k < x->program->n_kernels; k++)
        variant_renew(x->plan.chosen[k], p, symbol, x->arena);
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

static void set_logs(void *ctx, uint32_t logs) {
    struct backend_inductor *b = ctx;
    b->stages.logs = logs;
}

/* ---- its life -------------------------------------------------------------------------------- */

enum ws_status backend_inductor_open(struct machine *m, struct store *s, struct arena *a,
                                     struct backend_inductor **out, struct diag *d) {
    struct backend_inductor *b = *out = NEW(a, struct backend_inductor);
    *b = (struct backend_inductor){.machine = m, .store = s, .arena = a};
    b->stages = stages_new(a, NULL, m->env.logs);
    b->backend = (struct backend){
        .name = "inductor", .ctx = b, .set_logs = set_logs, .compile = compile, .run = run};
    b->ranges = range_table_new(a, NULL, 0);
    struct store_key here = winner_machine_key(m, a);
    if (s && range_table_load(a, s, &here, &b->ranges, d) != WS_OK) return d->status;
    return builder_open(&b->builder, m, s, a, d);
}

const char *backend_inductor_lookups(const struct backend_inductor *b, struct arena *a) {
    return range_counts_text(b->ranges, a);
}

const struct backend *backend_inductor_of(const struct backend_inductor *b) { return &b->backend; }

static void close_instance(struct backend_inductor *b, struct instance *x) {
    struct device *dev = b->machine->device;
    const struct ws_captured *c = x->program ? x->program->captured : NULL;
    for (int i = 0; c && x->inputs && i < c->n_inputs; i++) device_free(dev, x->inputs[i]);
    for (int i = 0; c && x->outputs && i < c->n_outputs; i++)
        if (x->program->first_output[i] == i && x->program->returned_input[i] < 0)
            device_free(dev, x->outputs[i]);
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
    /* What was counted is worth no failure. */
    struct diag quiet = diag_new(b->arena);
    if (b->store) range_table_keep(b->ranges, b->store, &quiet);
    builder_close(&b->builder);
}
