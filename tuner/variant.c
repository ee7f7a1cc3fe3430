/* variant.c: the life of a variant outside of compiling, checking and timing. */
#include "tuner/variant.h"

#include <math.h>
#include <string.h>

struct variant variant_new(const struct ws_program *p, int kernel, const struct config *c,
                           struct arena *a) {
    return (struct variant){.program = p,
                            .kernel = kernel,
                            .config = c,
                            .text = config_str(a, c),
                            .status = STATUS_ok,
                            .message = "",
                            .compile_ms = NAN,
                            .regs = -1,
                            .spill_bytes = -1,
                            .smem_bytes = -1,
                            .occupancy = NAN,
                            .counters = counters_unknown(),
                            .timing = timing_none()};
}

const struct ws_kernel *variant_kernel(const struct variant *v) {
    return &v->program->kernels[v->kernel];
}

/* What the text does not say of its arguments. */
static void put_maps(struct buf *b, const struct ws_launch *l, struct arena *a) {
    for (int i = 0; i < l->n_args; i++) {
        if (l->args[i].kind != WS_ARG_MAP) continue;
        const struct ws_arg *x = &l->args[i];
        struct tensor_map map = ws_map_at(x->map, 0);
        buf_printf(b, "argument %d maps %s %d + %lld: %s\n", i,
                   x->base == WS_ARG_BUFFER      ? "buffer"
                   : x->base == WS_ARG_WORKSPACE ? "workspace"
                                                 : "kept",
                   x->buffer, (long long)x->value, tensor_map_str(&map, a));
    }
}

const char *source_hash(const struct ws_source *s, struct arena *a) {
    struct arena *scratch = arena_new();
    struct buf b = buf_new(scratch);
    buf_puts(&b, s->text);
    for (int i = 0; i < s->n_launches; i++) {
        const struct ws_launch *l = &s->launches[i];
        buf_printf(&b, "%s %lld %lld %lld, %d threads, %d bytes, cluster %d%s\n", l->entry,
                   (long long)l->grid[0], (long long)l->grid[1], (long long)l->grid[2], l->threads,
                   l->smem, l->cluster, l->at_load ? ", at load" : "");
        put_maps(&b, l, scratch);
    }
    const char *hash = arena_printf(a, "%016llx", (unsigned long long)hash_bytes(b.p, b.n));
    arena_free(scratch);
    return hash;
}

static struct ws_launch *kept_launches(const struct ws_source *s, struct arena *a) {
    struct ws_launch *kept = NEW_ARRAY(a, struct ws_launch, s->n_launches);
    for (int l = 0; l < s->n_launches; l++) {
        kept[l] = s->launches[l];
        kept[l].entry = arena_strdup(a, s->launches[l].entry);
        for (int i = 0; i < kept[l].n_args; i++) {
            if (kept[l].args[i].kind != WS_ARG_MAP) continue;
            struct ws_map *map = NEW(a, struct ws_map);
            *map = *kept[l].args[i].map;
            kept[l].args[i].map = map;
        }
    }
    return kept;
}

enum ws_status source_emit(const struct ws_program *p, int kernel, const struct config *c,
                           struct arena *a, struct ws_source *out, struct diag *d) {
    struct arena *scratch = arena_new();
    struct ws_source s;
    if (ws_emit(p, kernel, c, scratch, &s, d) == WS_OK) {
        *out = s;
        out->text = arena_strdup(a, s.text);
        out->block = arena_strdup(a, s.block);
        out->launches = kept_launches(&s, a);
    }
    arena_free(scratch);
    return d->status;
}

bool variant_emit(struct variant *v, struct arena *a) {
    struct diag own = diag_new(a);
    if (v->text_hash) return true;
    if (source_emit(v->program, v->kernel, v->config, a, &v->source, &own) == WS_OK)
        v->text_hash = source_hash(&v->source, a);
    else
        variant_refuse(v, STATUS_compile_error, own.text);
    return v->text_hash != NULL;
}

void variant_take_source(struct variant *v, const struct ws_source *s, struct arena *a) {
    v->source = *s;
    v->text_hash = source_hash(s, a);
}

static bool renew(int64_t *value, ex e, struct exprs *p, ex symbol) {
    int64_t before = *value;
    if (e != EX_NONE && ex_uses(p, e, symbol)) *value = ex_hint(p, e);
    return *value != before;
}

static void renew_map(struct ws_arg *arg, struct exprs *p, ex symbol, struct arena *a) {
    struct ws_map now = *arg->map;
    bool changed = false;
    for (int i = 0; i < now.rank; i++) {
        changed |= renew(&now.size[i], now.size_expr[i], p, symbol);
        changed |= renew(&now.stride[i], now.stride_expr[i], p, symbol);
    }
    if (!changed) return;
    struct ws_map *kept = NEW(a, struct ws_map);
    *kept = now;
    arg->map = kept;
}

void variant_renew(struct variant *v, struct exprs *p, ex symbol, struct arena *a) {
    for (int l = 0; l < v->source.n_launches; l++)
        for (int i = 0; i < v->source.launches[l].n_args; i++) {
            struct ws_arg *arg = &v->source.launches[l].args[i];
            if (arg->kind == WS_ARG_SIZE) renew(&arg->value, arg->expr, p, symbol);
            if (arg->kind == WS_ARG_MAP) renew_map(arg, p, symbol, a);
        }
}

void variant_refuse(struct variant *v, enum result_status status, const char *message) {
    if (v->status != STATUS_ok) return;
    v->status = status;
    v->message = message;
}

bool variant_refused(const struct variant *v) { return v->status != STATUS_ok; }

static void read_facts(struct variant *v, const struct device_limits *l,
                       const struct function_facts *f, const struct ws_launch *launch) {
    if (f->regs > v->regs) v->regs = f->regs;
    bool on_purpose = f->spill_bytes >= 0 && f->spill_bytes <= launch->stack;
    int spilled = on_purpose ? 0 : f->spill_bytes - launch->stack;
    if (spilled > v->spill_bytes) v->spill_bytes = spilled;
    if (f->smem_static + launch->smem > v->smem_bytes)
        v->smem_bytes = f->smem_static + launch->smem;
    if (l->kind != DEVICE_CUDA || !l->max_threads_unit) return;
    double occupancy = (double)f->blocks_per_unit * launch->threads / l->max_threads_unit;
    v->occupancy = isnan(v->occupancy) ? occupancy : fmin(v->occupancy, occupancy);
}

bool variant_loaded(const struct variant *v, const struct machine *m) {
    return v->module && v->generation == device_generation(m->device);
}

enum ws_status variant_load(struct variant *v, struct machine *m, struct diag *d) {
    struct diag own = diag_new(d->arena);
    struct device *dev = m->device;
    bool refused = variant_refused(v); /* for another reason: it may be a default, and has to run */
    variant_unload(v, m);              /* of an earlier generation */
    v->generation = device_generation(dev);
    device_load(dev, v->binary, v->size, &v->module, &own);
    for (int i = 0; i < v->source.n_launches && own.status == WS_OK; i++) {
        const struct ws_launch *l = &v->source.launches[i];
        struct function_facts f;
        if (device_function_facts(dev, v->module, l->entry, l->threads, l->smem, &f, &own) != WS_OK)
            break;
        read_facts(v, &m->limits, &f, l);
        if (f.blocks_per_unit == 0)
            variant_refuse(v, STATUS_launch_error, "no block of it fits on a multiprocessor");
        else if (l->together > f.blocks_per_unit * m->limits.units) /* they would wait forever */
            variant_refuse(v, STATUS_launch_error,
                           arena_printf(d->arena,
                                        "%d blocks wait for each other, of which the device has %d "
                                        "at a time",
                                        l->together, f.blocks_per_unit * m->limits.units));
    }
    if (device_is_lost(dev)) return diag_fail(d, own.status, "%s", own.text);
    if (own.status != WS_OK) variant_refuse(v, STATUS_launch_error, own.text);
    if (v->spill_bytes > 0 && v->spill_bytes > v->spill_allowed && !v->is_default)
        variant_refuse(v, STATUS_spill,
                       arena_printf(d->arena, "%d bytes of registers spilled", v->spill_bytes));
    if (variant_refused(v) && !refused) variant_unload(v, m);
    return WS_OK;
}

void variant_unload(struct variant *v, struct machine *m) {
    if (v->module) device_unload(m->device, v->module);
    v->module = NULL;
}

const char *variant_compile_message(const char *log, struct arena *a) {
    enum { MOST = 600, LINES = 4 };
    struct buf b = buf_new(a);
    int lines = 0;
    if (!log || !*log) return "the compiler said nothing";
    for (const char *p = log; *p && lines < LINES && b.n < MOST;) {
        size_t n = strcspn(p, "\n");
        const char *line = arena_strndup(a, p, n < MOST ? n : MOST);
        if (strstr(line, "error") || strstr(line, "C75"))
            buf_printf(&b, "%s%s", lines++ ? "\n" : "", line);
        p += n + (p[n] == '\n');
    }
    return lines ? b.p : arena_strndup(a, log, strnlen(log, MOST));
}

static bool same_map(const struct ws_map *a, const struct ws_map *b) {
    if (a->dtype != b->dtype || a->tf32 != b->tf32 || a->rank != b->rank ||
        a->swizzle != b->swizzle || a->windows != b->windows)
        return false;
    for (int i = 0; i < TENSOR_MAP_WINDOWS && a->windows; i++)
        if (a->window[i].first != b->window[i].first || a->window[i].last != b->window[i].last ||
            a->window[i].step != b->window[i].step)
            return false;
    for (int i = 0; i < a->rank; i++)
        if (a->size[i] != b->size[i] || a->stride[i] != b->stride[i] || a->box[i] != b->box[i])
            return false;
    return true;
}

static bool same_arg(const struct ws_arg *a, const struct ws_arg *b) {
    return a->kind == b->kind && a->buffer == b->buffer && a->value == b->value &&
           (a->kind != WS_ARG_MAP || (a->base == b->base && same_map(a->map, b->map)));
}

static bool same_launch(const struct ws_launch *a, const struct ws_launch *b) {
    if (strcmp(a->entry, b->entry) != 0 || a->threads != b->threads || a->smem != b->smem ||
        a->n_args != b->n_args || a->at_load != b->at_load)
        return false;
    for (int i = 0; i < 3; i++)
        if (a->grid[i] != b->grid[i]) return false;
    for (int i = 0; i < a->n_args; i++)
        if (!same_arg(&a->args[i], &b->args[i])) return false;
    return true;
}

bool variant_same(const struct variant *a, const struct variant *b) {
    if (a->size != b->size || a->source.n_launches != b->source.n_launches || !a->binary ||
        !b->binary)
        return false;
    for (int i = 0; i < a->source.n_launches; i++)
        if (!same_launch(&a->source.launches[i], &b->source.launches[i])) return false;
    return a->binary == b->binary || !memcmp(a->binary, b->binary, a->size);
}
