/* plan.c: programs in memory. */
#include "tuner/plan.h"

#include <string.h>

#include "tuner/guarded.h"
#include "tuner/interrupt.h"

struct plan plan_new(const char *name, const struct ws_program *p, struct arena *a) {
    return (struct plan){name, p, NEW_ARRAY(a, struct variant *, p->n_kernels)};
}

const char *plan_text(const struct plan *p, struct arena *a) {
    struct buf b = buf_new(a);
    if (p->program->n_kernels == 1) return p->chosen[0]->text;
    for (int k = 0; k < p->program->n_kernels; k++)
        buf_printf(&b, "%s%s: %s", k ? "; " : "", p->program->kernels[k].name, p->chosen[k]->text);
    return b.p;
}

const char *plan_guard(const struct plan *p, struct arena *a) {
    struct buf b = buf_new(a);
    for (int k = 0; k < p->program->n_kernels; k++) {
        const char *guard = p->program->kernels[k].guard;
        if (!guard || !*guard || strstr(b.p, guard)) continue;
        buf_printf(&b, "%s%s", b.n ? " && " : "", guard);
    }
    return b.p;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static enum ws_status place_temporary(struct buffers *b, int i, struct diag *d) {
    const struct ws_buffer *t = &b->program->buffers[i];
    if (b->apart) return guarded_alloc(b->machine->device, t->bytes, &b->at[i], d);
    WS_ASSERT(t->offset + t->bytes <= b->program->temp_bytes);
    b->at[i] = b->pool + t->offset;
    return WS_OK;
}

static enum ws_status place_output(struct buffers *b, int i, struct diag *d) {
    const struct ws_buffer *out = &b->program->buffers[i];
    if (out->in_place < 0) return data_place_output(b->data, out->index, &b->at[i], d);
    int input = b->program->buffers[out->in_place].index;
    return out->keeps ? data_place_kept(b->data, input, &b->at[i], d)
                      : data_place_update(b->data, input, &b->at[i], d);
}

enum ws_status buffers_place(struct buffers *b, struct data *x, const struct ws_program *p,
                             bool apart, struct arena *a, struct diag *d) {
    *b = (struct buffers){.machine = x->machine,
                          .arena = a,
                          .data = x,
                          .generation = device_generation(x->machine->device),
                          .program = p,
                          .apart = apart};
    b->at = NEW_ARRAY(a, dptr, p->n_buffers);
    if (!apart && guarded_alloc(x->machine->device, p->temp_bytes, &b->pool, d) != WS_OK)
        return d->status;
    for (int i = 0; i < p->n_buffers && d->status == WS_OK; i++) {
        switch (p->buffers[i].kind) {
        case WS_BUF_INPUT: b->at[i] = x->inputs[p->buffers[i].index]; break;
        case WS_BUF_OUTPUT: place_output(b, i, d); break;
        case WS_BUF_TEMP: place_temporary(b, i, d); break;
        case WS_BUF_WINDOW: break;
        }
    }
    for (int i = 0; i < p->n_buffers && d->status == WS_OK; i++) { /* of what is placed by now */
        size_t from;
        if (p->buffers[i].kind == WS_BUF_WINDOW)
            b->at[i] = b->at[ws_window_last(p, i, &from)] + from;
    }
    return d->status;
}

static enum ws_status buffers_renew(struct buffers *b, struct diag *d) {
    if (b->generation == device_generation(b->machine->device)) return WS_OK;
    return buffers_place(b, b->data, b->program, b->apart, b->arena, d);
}

enum ws_status buffers_poison(const struct buffers *b, const int *which, int n, struct diag *d) {
    for (int i = 0; i < n; i++) {
        const struct ws_buffer *x = &b->program->buffers[which[i]];
        if (x->keeps) { /* what stays has to be there */
            data_put_back(b->data, b->program->buffers[x->in_place].index, d);
            continue;
        }
        int64_t runs = x->pitch ? x->runs : 1;
        for (int64_t k = 0; k < runs && d->status == WS_OK; k++)
            device_fill(b->machine->device, b->at[which[i]] + (size_t)k * x->pitch, 0xFF,
                        x->pitch ? x->run_bytes : x->bytes, d);
    }
    if (b->scratch && d->status == WS_OK)
        device_fill(b->machine->device, b->scratch, 0xFF, b->scratch_bytes, d);
    return d->status;
}

enum ws_status buffers_check(const struct buffers *b, const char **message, struct diag *d) {
    const struct ws_program *p = b->program;
    struct arena *a = arena_new();
    struct guarded *all = NEW_ARRAY(a, struct guarded, p->n_buffers + (int)b->kept.n + 3);
    int n = 0;
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].kind != WS_BUF_WINDOW && (b->apart || p->buffers[i].kind != WS_BUF_TEMP))
            all[n++] = (struct guarded){b->at[i], p->buffers[i].bytes, p->buffers[i].name};
    for (uint32_t i = 0; i < b->kept.n; i++)
        all[n++] =
            (struct guarded){b->kept.at[i].at, b->kept.at[i].bytes, "what is kept across calls"};
    all[n++] = (struct guarded){b->pool, p->temp_bytes, "the temporaries"};
    all[n++] = (struct guarded){b->scratch, b->scratch_bytes, "the workspace"};
    all[n++] = (struct guarded){b->tickets, b->ticket_bytes, "the counters"};
    guarded_check(b->machine->device, all, n, message, d);
    arena_free(a);
    return d->status;
}

/* But for those of that kernel. */
static void forget_kept(struct buffers *b, int kernel) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < b->kept.n; i++) {
        if (b->kept.at[i].kernel == kernel)
            b->kept.at[n++] = b->kept.at[i];
        else
            guarded_free(b->machine->device, b->kept.at[i].at);
    }
    b->kept.n = n;
}

/* What was placed before a reset is gone, and another's memory may lie there. */
void buffers_free(struct buffers *b) {
    struct device *dev = b->machine ? b->machine->device : NULL;
    if (!dev || b->generation != device_generation(dev)) {
        *b = (struct buffers){0};
        return;
    }
    for (int i = 0; b->apart && b->at && i < b->program->n_buffers; i++)
        if (b->program->buffers[i].kind == WS_BUF_TEMP) guarded_free(dev, b->at[i]);
    forget_kept(b, -1);
    guarded_free(dev, b->pool);
    guarded_free(dev, b->scratch);
    guarded_free(dev, b->tickets);
    *b = (struct buffers){0};
}

/* ---- launches -------------------------------------------------------------------------------- */

static enum ws_status need_scratch(struct buffers *b, size_t bytes, struct diag *d) {
    if (bytes <= b->scratch_bytes) return WS_OK;
    guarded_free(b->machine->device, b->scratch);
    b->scratch_bytes = 0;
    if (guarded_alloc(b->machine->device, bytes, &b->scratch, d) == WS_OK) b->scratch_bytes = bytes;
    return d->status;
}

/* All 0, whatever the kernels before, of which one may have been wrong, have left. */
static enum ws_status need_tickets(struct buffers *b, size_t bytes, struct diag *d) {
    if (bytes > b->ticket_bytes) {
        guarded_free(b->machine->device, b->tickets);
        b->ticket_bytes = 0;
        if (guarded_alloc(b->machine->device, bytes, &b->tickets, d) != WS_OK) return d->status;
        b->ticket_bytes = bytes;
    }
    if (bytes) device_fill(b->machine->device, b->tickets, 0, bytes, d);
    return d->status;
}

/* Where the variant's launches at load write; 0: it has none. */
static dptr find_kept(const struct variant *v, const struct buffers *b) {
    for (uint32_t i = 0; i < b->kept.n; i++)
        if (b->kept.at[i].kernel == v->kernel && b->kept.at[i].load == v->source.load &&
            b->kept.at[i].bytes == v->source.kept)
            return b->kept.at[i].at;
    return 0;
}

static enum ws_status need_kept(const struct variant *v, struct buffers *b, struct diag *d) {
    struct kept x = {.kernel = v->kernel, .load = v->source.load, .bytes = v->source.kept};
    if (!x.bytes || find_kept(v, b)) return WS_OK;
    if (guarded_alloc(b->machine->device, x.bytes, &x.at, d) == WS_OK)
        vec_push(b->arena, &b->kept, x);
    return d->status;
}

/* In the last step of its loop a window is where it stays. */
enum { LAST_STEP = -1 };

static dptr place_of(const struct buffers *b, int buffer, int64_t step) {
    size_t from;
    if (step == LAST_STEP || b->program->buffers[buffer].kind != WS_BUF_WINDOW)
        return b->at[buffer];
    int of = ws_window_at(b->program, buffer, step, &from);
    return b->at[of] + from;
}

/* Of a map: where its tensor begins. */
static uint64_t argument_value(const struct ws_arg *arg, const struct buffers *b, dptr kept,
                               int64_t step) {
    switch (arg->kind == WS_ARG_MAP ? arg->base : arg->kind) {
    case WS_ARG_BUFFER:
        return place_of(b, arg->buffer, step) +
               (arg->kind == WS_ARG_MAP ? (uint64_t)arg->value : 0);
    case WS_ARG_SIZE: return (uint64_t)arg->value;
    case WS_ARG_WORKSPACE: return b->scratch + (uint64_t)arg->value;
    case WS_ARG_KEPT: return kept + (uint64_t)arg->value;
    case WS_ARG_TICKETS: return b->tickets;
    case WS_ARG_MAP: break;
    }
    WS_BUG("no such kind of argument: %d", (int)arg->kind);
}

static void bind_launch(const struct variant *v, const struct ws_launch *from,
                        const struct buffers *b, int64_t step, struct launch *to) {
    uint64_t *values = NEW_ARRAY(b->arena, uint64_t, from->n_args);
    *to = (struct launch){.module = v->module,
                          .entry = from->entry,
                          .grid = {from->grid[0], from->grid[1], from->grid[2]},
                          .threads = from->threads,
                          .smem = from->smem,
                          .overlaps = !from->alone,
                          .n_args = from->n_args};
    for (int i = 0; i < from->n_args; i++) {
        const struct ws_arg *arg = &from->args[i];
        values[i] = argument_value(arg, b, find_kept(v, b), step);
        to->args[i] = &values[i];
        if (arg->kind != WS_ARG_MAP) continue;
        struct tensor_map *map = NEW(b->arena, struct tensor_map);
        *map = ws_map_at(arg->map, values[i]);
        to->maps[i] = map;
    }
}

/* at_load: the whole kernel is. */
static void bind(const struct variant *v, const struct buffers *b, bool at_load,
                 struct launches *out) {
    for (int i = 0; i < v->source.n_launches; i++) {
        const struct ws_launch *l = &v->source.launches[i];
        bind_launch(v, l, b, LAST_STEP,
                    at_load || l->at_load ? &out->load[out->n_load++] : &out->at[out->n++]);
    }
}

/* Kernels k .. end-1, of a loop, a step after the other. */
static void bind_loop(const struct plan *p, const struct buffers *b, int k, int end,
                      struct launches *out) {
    for (int64_t t = 0; t < p->program->kernels[k].steps; t++)
        for (int i = k; i < end; i++) {
            const struct ws_source *s = &p->chosen[i]->source;
            for (int n = 0; n < s->n_launches; n++) {
                bool load = s->launches[n].at_load;
                if (load && t) continue;
                bind_launch(p->chosen[i], &s->launches[n], b, t,
                            load ? &out->load[out->n_load++] : &out->at[out->n++]);
            }
        }
}

/* The kernel behind the loop that kernel k is of; of none, behind k. */
static int bind_from(const struct plan *p, const struct buffers *b, int k, struct launches *out) {
    const struct ws_kernel *kernels = p->program->kernels;
    int end = k + 1;
    if (!kernels[k].loop) {
        bind(p->chosen[k], b, kernels[k].at_load, out);
        return end;
    }
    while (end < p->program->n_kernels && kernels[end].loop == kernels[k].loop) end++;
    bind_loop(p, b, k, end, out);
    return end;
}

/* runs: in all steps of loops. */
static struct launches launches_new(const struct buffers *b, int launches, int runs) {
    return (struct launches){.at = NEW_ARRAY(b->arena, struct launch, runs),
                             .load = NEW_ARRAY(b->arena, struct launch, launches)};
}

enum ws_status variant_launches_again(const struct variant *v, struct buffers *b,
                                      struct launches *out, struct diag *d) {
    WS_ASSERT(variant_loaded(v, b->machine));
    if (b->apart) forget_kept(b, v->kernel);
    if (buffers_renew(b, d) != WS_OK || need_scratch(b, v->source.workspace, d) != WS_OK ||
        need_tickets(b, v->source.tickets, d) != WS_OK || need_kept(v, b, d) != WS_OK)
        return d->status;
    *out = launches_new(b, v->source.n_launches, v->source.n_launches);
    out->kept = v->source.kept;
    bind(v, b, false, out);
    return WS_OK;
}

static enum ws_status poison_kept(const struct variant *v, const struct buffers *b,
                                  struct diag *d) {
    dptr kept = find_kept(v, b);
    return kept ? device_fill(b->machine->device, kept, 0xFF, v->source.kept, d) : WS_OK;
}

static enum ws_status run_load(const struct buffers *b, const struct launches *l, struct diag *d) {
    return l->n_load ? device_run(b->machine->device, l->load, l->n_load, d) : WS_OK;
}

enum ws_status variant_launches(const struct variant *v, struct buffers *b, struct launches *out,
                                struct diag *d) {
    if (variant_launches_again(v, b, out, d) != WS_OK || poison_kept(v, b, d) != WS_OK)
        return d->status;
    return run_load(b, out, d);
}

static enum ws_status ready(struct variant *v, struct machine *m, struct diag *d) {
    if (!variant_loaded(v, m) && variant_load(v, m, d) != WS_OK) return d->status;
    if (variant_loaded(v, m)) return WS_OK;
    return diag_fail(d, WS_MACHINE, "'%s' could be run before and cannot now: %s", v->text,
                     v->message);
}

static enum ws_status launches_again(const struct plan *p, struct buffers *b, struct launches *out,
                                     struct diag *d) {
    int n_kernels = p->program->n_kernels, launches = 0, runs = 0;
    size_t scratch = 0, tickets = 0; /* of the greediest: kernels run one after the other */
    for (int k = 0; k < n_kernels; k++) {
        const struct ws_source *s = &p->chosen[k]->source;
        if (s->workspace > scratch) scratch = s->workspace;
        if (s->tickets > tickets) tickets = s->tickets;
        const struct ws_kernel *kernel = &p->program->kernels[k];
        launches += s->n_launches;
        runs += s->n_launches * (kernel->loop ? kernel->steps : 1);
    }
    if (buffers_renew(b, d) != WS_OK || need_scratch(b, scratch, d) != WS_OK ||
        need_tickets(b, tickets, d) != WS_OK)
        return d->status;
    *out = launches_new(b, launches, runs);
    for (int k = 0; k < n_kernels; k++) {
        if (ready(p->chosen[k], b->machine, d) != WS_OK || need_kept(p->chosen[k], b, d) != WS_OK)
            return d->status;
        out->kept += p->chosen[k]->source.kept;
    }
    for (int k = 0; k < n_kernels;) k = bind_from(p, b, k, out);
    for (int i = 0; i < p->program->n_buffers; i++)
        if (p->program->buffers[i].fixed) out->kept += p->program->buffers[i].bytes;
    return WS_OK;
}

static enum ws_status poison_load(const struct plan *p, const struct buffers *b, struct diag *d) {
    for (int k = 0; k < p->program->n_kernels && d->status == WS_OK; k++)
        poison_kept(p->chosen[k], b, d);
    int *fixed = NEW_ARRAY(d->arena, int, p->program->n_buffers), n = 0;
    for (int i = 0; i < p->program->n_buffers; i++)
        if (p->program->buffers[i].fixed) fixed[n++] = i;
    return n ? buffers_poison(b, fixed, n, d) : d->status;
}

enum ws_status plan_launches(const struct plan *p, struct buffers *b, struct launches *out,
                             struct diag *d) {
    if (launches_again(p, b, out, d) != WS_OK) return d->status;
    if (out->n_load && poison_load(p, b, d) != WS_OK) return d->status;
    return run_load(b, out, d);
}

/* ---- whole programs -------------------------------------------------------------------------- */

enum ws_status plan_begin(const struct plan *p, struct builder *b, struct diag *d) {
    for (int k = 0; k < p->program->n_kernels && d->status == WS_OK; k++)
        if (!p->chosen[k]->binary_key && !variant_refused(p->chosen[k]))
            builder_begin(b, p->chosen[k], d);
    return d->status;
}

enum ws_status plan_finish(const struct plan *p, struct builder *b, struct diag *d) {
    for (int k = 0; k < p->program->n_kernels && d->status == WS_OK && !interrupted(); k++) {
        struct variant *v = p->chosen[k];
        if (builder_finish(b, v, d) != WS_OK) return d->status;
        if (v->binary && !variant_loaded(v, b->machine) && variant_load(v, b->machine, d) != WS_OK)
            return d->status;
        if (variant_refused(v))
            return diag_fail(d, v->status == STATUS_compile_error ? WS_WRONG : WS_MACHINE,
                             "the %s program cannot run: kernel %s under '%s': %s: %s", p->name,
                             variant_kernel(v)->name, v->text, result_status_name(v->status),
                             v->message);
    }
    return d->status;
}

void plan_unload(const struct plan *p, struct machine *m) {
    for (int k = 0; p->program && k < p->program->n_kernels; k++)
        if (p->chosen[k]) variant_unload(p->chosen[k], m);
}

/* What calls write, the workspace among it. A window lies in one of these, or in an input;
 * temporaries that share their memory are one piece. */
static enum ws_status poison_written(const struct buffers *b, struct diag *d) {
    const struct ws_program *p = b->program;
    int *which = NEW_ARRAY(d->arena, int, p->n_buffers), n = 0;
    bool fixed = false; /* and made at load, among the temporaries */
    for (int i = 0; i < p->n_buffers; i++) fixed |= p->buffers[i].fixed;
    bool pool = !b->apart && !fixed && b->pool;
    for (int i = 0; i < p->n_buffers; i++) {
        const struct ws_buffer *x = &p->buffers[i];
        if (x->kind == WS_BUF_INPUT || x->kind == WS_BUF_WINDOW || x->fixed) continue;
        if (!pool || x->kind != WS_BUF_TEMP) which[n++] = i;
    }
    if (pool && device_fill(b->machine->device, b->pool, 0xFF, p->temp_bytes, d) != WS_OK)
        return d->status;
    return buffers_poison(b, which, n, d);
}

/* What the data's outputs are from now on. */
static void show_outputs(const struct buffers *b) {
    struct data *x = b->data;
    for (int i = 0; i < b->program->n_buffers; i++)
        if (b->program->buffers[i].kind == WS_BUF_OUTPUT)
            x->outputs[b->program->buffers[i].index] = b->at[i];
    for (int i = 0; i < x->captured->n_outputs; i++) {
        int input = b->program->returned_input[i];
        x->outputs[i] = input < 0 ? x->outputs[b->program->first_output[i]] : x->inputs[input];
    }
}

static enum ws_status run(const struct plan *p, struct buffers *b, bool again, struct diag *d) {
    struct diag own = diag_new(d->arena);
    struct launches l = {0};
    if (again)
        launches_again(p, b, &l, d);
    else
        plan_launches(p, b, &l, d);
    if (d->status != WS_OK) return d->status;
    show_outputs(b);
    if (device_run(b->machine->device, l.at, l.n, &own) == WS_OK) return d->status;
    return diag_fail(d, own.status, "the %s program failed: %s\nits configs: %s", p->name,
                     own.message, plan_text(p, d->arena));
}

enum ws_status plan_run(const struct plan *p, struct buffers *b, struct diag *d) {
    return run(p, b, false, d);
}

static enum ws_status check(const struct plan *p, struct data *x, struct buffers *b, bool again,
                            bool trust, struct diag *d) {
    const char *message;
    if (buffers_renew(b, d) != WS_OK || poison_written(b, d) != WS_OK ||
        run(p, b, again, d) != WS_OK || buffers_check(b, &message, d) != WS_OK)
        return d->status;
    if (message) return diag_fail(d, WS_WRONG, "the %s program is wrong: %s", p->name, message);
    if (trust) return data_trust_outputs(x, d);
    return data_check_outputs(x, arena_printf(d->arena, "the %s program", p->name), d);
}

enum ws_status plan_check(const struct plan *p, struct data *x, struct buffers *b, bool trust,
                          struct diag *d) {
    return check(p, x, b, false, trust, d);
}

enum ws_status plan_check_again(const struct plan *p, struct data *x, struct buffers *b,
                                struct diag *d) {
    return check(p, x, b, true, false, d);
}
