/* configs.c: what the tuner asks of a program: the configs of a kernel, which are legal, and its
 * text under one of them; and what `explain` says of all kernels. */
#include <string.h>

#include "compile_impl.h"
#include "emit/emit.h"

void ws_configs(const struct ws_program *p, int k, const struct config **configs, int *n,
                int *pruned) {
    struct ws_configs *c = &p->configs[p->kernels[k].same];
    if (!c->at) {
        struct arena *scratch = arena_new(); /* proposals, layouts: a hundred times as much */
        const struct config *listed;
        const struct ws_kernel *same = &p->kernels[p->kernels[k].same];
        const struct sequence all = sequence_of(same);
        if (all.n)
            c->n = sequence_configs(&all, scratch, &listed), c->pruned = 0;
        else
            kernel_configs(same->ir, scratch, &listed, &c->n, &c->pruned);
        struct config *kept = NEW_ARRAY(p->arena, struct config, c->n);
        memcpy(kept, listed, sizeof *kept * (size_t)c->n);
        c->at = kept;
        arena_free(scratch);
    }
    *configs = c->at;
    *n = c->n;
    *pruned = c->pruned;
}

const struct config *ws_default_config(const struct ws_program *p, int k) {
    struct ws_configs *c = &p->configs[p->kernels[k].same];
    if (!c->at && p->kernels[p->kernels[k].same].n_parts) {
        const struct config *all;
        int n, pruned;
        ws_configs(p, k, &all, &n, &pruned);
    }
    if (c->at) return c->at;
    if (!c->first) {
        struct arena *scratch = arena_new();
        struct config *first = NEW(p->arena, struct config);
        *first = kernel_default_config(p->kernels[p->kernels[k].same].ir, scratch);
        c->first = first;
        arena_free(scratch);
    }
    return c->first;
}

const char *ws_config_illegal(const struct ws_program *p, int k, const struct config *c,
                              struct arena *a) {
    struct layout y;
    const struct sequence all = sequence_of(&p->kernels[k]);
    const char *why = NULL;
    struct config part;
    for (int i = 0; i < all.n && !why; i++) why = sequence_config(&all, i, c, &part, a);
    return all.n ? why : kernel_layout(p->kernels[k].ir, c, &y, a);
}

static int vectors_of(const struct kernel *ir, const struct config *c, struct arena *a) {
    struct layout y;
    int n = 0;
    if (kernel_layout(ir, c, &y, a) || ir->limits->kind == DEVICE_CPU) return 0;
    bool chained = ir->kind == KERNEL_CHAINED, dot = ir->kind == KERNEL_MATMUL || chained;
    enum axis along = chained ? AXIS_C : dot ? AXIS_N : y.rows_inner ? AXIS_X : AXIS_R;
    for (uint32_t i = 0; i < ir->values.n && !dot; i++)
        n += ir->values.at[i].kind == INST_LOAD &&
             load_is_vector(ir, &ir->values.at[i], along, y.vec);
    for (uint32_t i = 0; i < ir->stores.n; i++)
        n += index_is_vector(ir, ir->stores.at[i].index, along,
                             dot && !y.product && !chained ? layout_unit(y.vec) : y.vec);
    return n;
}

int ws_config_vectors(const struct ws_program *p, int k, const struct config *c, struct arena *a) {
    const struct sequence all = sequence_of(&p->kernels[k]);
    struct config part;
    int n = all.n ? 0 : vectors_of(p->kernels[k].ir, c, a);
    for (int i = 0; i < all.n; i++)
        if (!sequence_config(&all, i, c, &part, a)) n += vectors_of(all.parts[i], &part, a);
    return n;
}

static enum ws_status emit_parts(const struct sequence *all, const struct config *c,
                                 struct arena *a, struct ws_source *out, struct diag *d) {
    const struct block **blocks = NEW_ARRAY(a, const struct block *, all->n);
    for (int i = 0; i < all->n; i++) {
        struct config part;
        const char *why = sequence_config(all, i, c, &part, a);
        if (why) return diag_fail(d, WS_USAGE, "illegal config: %s", why);
        blocks[i] = block_build(all->parts[i], &part, a);
    }
    return emit_sequence(blocks, all->n, all->beside, c, a, out, d) ? WS_OK : d->status;
}

enum ws_status ws_emit(const struct ws_program *p, int k, const struct config *c, struct arena *a,
                       struct ws_source *out, struct diag *d) {
    struct layout y;
    const struct sequence all = sequence_of(&p->kernels[k]);
    if (all.n) return emit_parts(&all, c, a, out, d);
    const char *why = kernel_layout(p->kernels[k].ir, c, &y, a);
    if (why) return diag_fail(d, WS_USAGE, "illegal config for %s: %s", p->kernels[k].name, why);
    return emit_source(block_build(p->kernels[k].ir, c, a), a, out, d) ? WS_OK : d->status;
}

void ws_print_lines(struct buf *b, const struct ws_program *p, int k) {
    const struct ws_kernel *at = &p->kernels[k];
    for (int i = 0; i < at->n_parts; i++) kernel_print_lines(b, at->parts[i]);
    if (!at->n_parts) kernel_print_lines(b, at->ir);
}

void ws_explain(const struct ws_captured *c, const struct ws_program *p, struct buf *b) {
    int ops = 0, guards = 0;
    for (uint32_t i = 0; i < c->graph->nodes.n; i++)
        ops += op_info(c->graph->nodes.at[i].op)->class != INPUT;
    for (const char *s = c->guards; *s; s++) guards += *s == '\n';
    buf_printf(b,
               "Graph Count: 1\nGraph Break Count: 0\nOp Count: %d\nGuard Count: %d\nBreak "
               "Reasons: none\n",
               ops, guards);
    buf_printf(b, "\nGuards:\n%s\nGraph:\n", c->guards);
    graph_print(b, c->graph);
    buf_printf(b, "\nKernels: %d\n", p->n_kernels);
    for (int i = 0; i < p->n_kernels; i++) {
        const struct ws_kernel *k = &p->kernels[i];
        buf_printf(b, "  %s  %s%s", k->name, k->kind, k->at_load ? ", once at load" : "");
        if (k->loop) buf_printf(b, ", in each of %d steps", k->steps);
        buf_printf(b, ", moves %.4g MB, computes %.4g MFLOP, hash %s\n", k->bytes / 1e6,
                   k->flops / 1e6, k->hash);
        for (int j = 0; j < k->n_parts; j++)
            buf_printf(b, "    part %d: %s, %s\n", j, k->parts[j]->name,
                       kernel_kind_name(k->parts[j]->kind));
        if (k->ir->a_fixed || k->ir->b_fixed)
            buf_printf(b, "    a factor is the same in every call: what it is packed into is "
                          "packed once at load\n");
    }
    for (int i = 0; i < c->n_outputs; i++)
        if (p->returned_input[i] >= 0)
            buf_printf(b, "  out%d is %s\n", i, ws_input_info(c, p->returned_input[i]).name);
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].in_place >= 0)
            buf_printf(b, "  out%d lies where %s does\n", p->buffers[i].index,
                       ws_input_info(c, p->buffers[p->buffers[i].in_place].index).name);
}
