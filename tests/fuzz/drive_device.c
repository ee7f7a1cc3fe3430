/* drive_device.c: generated text on the device that it is for; see drive.h. */
#include <stdlib.h>

#include "tests/fuzz/drive_impl.h"

enum { BATCH = 32 }; /* kernels in one text; texts are compiled side by side */

struct trial *trial_new(struct arena *a, struct device *dev, struct toolchain *t) {
    struct trial *s = NEW(a, struct trial);
    *s = (struct trial){.a = a, .dev = dev, .toolchain = t};
    return s;
}

static void free_buffers(struct trial *s, struct drive *b) {
    for (int i = 0; i < b->p->n_buffers; i++)
        if (b->mem[i] && b->p->buffers[i].in_place < 0) device_free(s->dev, b->mem[i]);
}

void trial_free(struct trial *s) {
    for (uint32_t i = 0; i < s->n_modules; i++)
        if (s->modules[i]) device_unload(s->dev, s->modules[i]);
    for (uint32_t i = 0; i < s->drives.n; i++) free_buffers(s, s->drives.at[i]);
}

static bool upload_input(struct trial *s, struct drive *b, int i, struct diag *d) {
    const struct ws_buffer *x = &b->p->buffers[i];
    void *host = calloc(1, x->bytes + 1);
    drive_fill(b, x->index, host);
    enum ws_status done = device_upload(s->dev, b->mem[i], host, x->bytes, d);
    free(host);
    return done == WS_OK;
}

/* What the variant before has updated in place. */
static bool upload_again(struct trial *s, struct drive *b, struct diag *d) {
    bool ok = true;
    for (int i = 0; i < b->p->n_buffers && ok; i++)
        if (b->p->buffers[i].in_place >= 0) ok = upload_input(s, b, b->p->buffers[i].in_place, d);
    return ok;
}

static bool upload(struct trial *s, struct drive *b, struct diag *d) {
    bool ok = true;
    b->mem = NEW_ARRAY(b->a, dptr, b->p->n_buffers);
    vec_push(s->a, &s->drives, b);
    for (int i = 0; i < b->p->n_buffers && ok; i++) {
        const struct ws_buffer *x = &b->p->buffers[i];
        if (x->in_place >= 0 || drive_is_window(b, i)) continue;
        ok = device_alloc(s->dev, x->bytes + 1, &b->mem[i], d) == WS_OK;
        if (ok && x->kind == WS_BUF_INPUT) ok = upload_input(s, b, i, d);
    }
    for (int i = 0; i < b->p->n_buffers && ok; i++)
        if (b->p->buffers[i].in_place >= 0) b->mem[i] = b->mem[b->p->buffers[i].in_place];
    return ok;
}

bool trial_add_all(struct trial *s, struct drive *b, drive_pick *pick, void *ctx, struct diag *d) {
    return upload(s, b, d) && drive_add_variants(s->a, &s->variants, b, pick, ctx, d);
}

bool trial_compile(struct trial *s, struct diag *d) {
    text_vec distinct = {0};
    drive_number_texts(s->a, &s->variants, &distinct);
    uint32_t n = distinct.n, batches = (n + BATCH - 1) / BATCH;
    const char **texts = NEW_ARRAY(s->a, const char *, batches);
    struct compiled *c = NEW_ARRAY(s->a, struct compiled, batches);
    bool ok = true;
    for (uint32_t i = 0; i < batches; i++)
        texts[i] = drive_join(s->a, &distinct, i * BATCH, i + 1 < batches ? (i + 1) * BATCH : n);
#pragma omp parallel for schedule(dynamic)
    for (uint32_t i = 0; i < batches; i++)
        toolchain_compile(s->toolchain, "variants", texts[i], false, &c[i]);
    s->modules = NEW_ARRAY(s->a, struct module *, batches);
    s->n_modules = batches;
    for (uint32_t i = 0; i < batches; i++) {
        if (ok && !c[i].ok) ok = drive_fail(d, "the kernels do not compile:\n%s", c[i].log);
        ok = ok && device_load(s->dev, c[i].binary, c[i].size, &s->modules[i], d) == WS_OK;
        compiled_free(&c[i]);
    }
    return ok;
}

static dptr memory_of(const struct drive *b, int buffer, int64_t step) {
    size_t from;
    int of = drive_place(b, buffer, step, &from);
    return b->mem[of] + from;
}

/* All launches of a variant at once: they overlap, where the device can. */
static bool launch_all(struct trial *s, uint32_t index, int64_t step, dptr workspace, dptr kept,
                       dptr tickets, struct diag *d) {
    const struct variant *v = &s->variants.at[index];
    struct launch launches[WS_MAX_LAUNCHES];
    int64_t values[WS_MAX_LAUNCHES][WS_MAX_ARGS];
    struct tensor_map maps[WS_MAX_LAUNCHES][WS_MAX_ARGS];
    for (int l = 0; l < v->source.n_launches; l++) {
        const struct ws_launch *w = &v->source.launches[l];
        launches[l] = (struct launch){.module = s->modules[v->text / BATCH],
                                      .entry = drive_entry(s->a, w->entry, v),
                                      .grid = {w->grid[0], w->grid[1], w->grid[2]},
                                      .threads = w->threads,
                                      .smem = w->smem,
                                      .overlaps = true,
                                      .n_args = w->n_args};
        for (int i = 0; i < w->n_args; i++) {
            const struct ws_arg *g = &w->args[i];
            enum ws_arg_kind kind = g->kind == WS_ARG_MAP ? g->base : g->kind;
            values[l][i] = kind == WS_ARG_SIZE        ? g->value
                           : kind == WS_ARG_WORKSPACE ? (int64_t)workspace + g->value
                           : kind == WS_ARG_KEPT      ? (int64_t)kept + g->value
                           : kind == WS_ARG_TICKETS
                               ? (int64_t)tickets
                               : (int64_t)memory_of(v->program, g->buffer, step);
            launches[l].args[i] = &values[l][i];
            if (g->kind != WS_ARG_MAP) continue;
            dptr at = (dptr)values[l][i] + (kind == WS_ARG_BUFFER ? (dptr)g->value : 0);
            maps[l][i] = ws_map_at(g->map, at);
            launches[l].maps[i] = &maps[l][i];
        }
    }
    return device_run(s->dev, launches, v->source.n_launches, d) == WS_OK;
}

static bool run_variant(struct trial *s, uint32_t index, int64_t step, struct diag *d) {
    const struct variant *v = &s->variants.at[index];
    const struct drive *b = v->program;
    const struct ws_kernel *kernel = &b->p->kernels[v->kernel];
    struct diag wrong = diag_new(s->a);
    dptr workspace = 0, kept = 0, tickets = 0;
    for (int i = 0; i < kernel->n_writes; i++) {
        const struct ws_buffer *out = &b->p->buffers[kernel->writes[i]];
        if (out->in_place >= 0) continue;
        device_fill(s->dev, memory_of(b, kernel->writes[i], step), 0xFF, out->bytes,
                    d); /* NaN, -1, true */
    }
    bool ok = (!v->source.workspace ||
               device_alloc(s->dev, v->source.workspace, &workspace, &wrong) == WS_OK) &&
              (!v->source.kept || device_alloc(s->dev, v->source.kept, &kept, &wrong) == WS_OK) &&
              (!v->source.tickets ||
               (device_alloc(s->dev, v->source.tickets, &tickets, &wrong) == WS_OK &&
                device_fill(s->dev, tickets, 0, v->source.tickets, &wrong) == WS_OK)) &&
              launch_all(s, index, step, workspace, kept, tickets, &wrong);
    if (workspace) device_free(s->dev, workspace);
    if (kept) device_free(s->dev, kept);
    if (tickets) device_free(s->dev, tickets);
    return ok || drive_fail(d, "%s  kernel %s, config %s", wrong.text, kernel->name,
                            config_str(s->a, &v->config));
}

static bool outputs_agree(struct trial *s, struct drive *b, struct diag *d) {
    bool ok = true;
    for (int i = 0; i < b->p->n_buffers && ok; i++) {
        const struct ws_buffer *x = &b->p->buffers[i];
        if (x->kind != WS_BUF_OUTPUT) continue;
        void *host = malloc(x->bytes + 1);
        ok = device_download(s->dev, host, b->mem[i], x->bytes, d) == WS_OK &&
             drive_judge_memory(b, x, host, d);
        free(host);
    }
    return ok;
}

struct running {
    struct trial *s;
    uint32_t index;
    struct diag *d;
};

static bool run_kernel(void *ctx, int kernel, int64_t step) {
    const struct running *r = ctx;
    const struct variant *v = &r->s->variants.at[r->index];
    return run_variant(r->s, kernel == v->kernel ? r->index : v->program->first[kernel], step,
                       r->d);
}

bool trial_case(struct trial *s, uint32_t index, struct diag *d) {
    const struct variant *v = &s->variants.at[index];
    struct drive *b = v->program;
    struct diag wrong = diag_new(s->a);
    if (!upload_again(s, b, d)) return false;
    struct running r = {s, index, d};
    if (!drive_kernels(b, run_kernel, &r)) return false;
    return outputs_agree(s, b, &wrong) ||
           drive_fail(d, "%s  kernel %s, config %s", wrong.text, b->p->kernels[v->kernel].name,
                      config_str(s->a, &v->config));
}
