/* at_load.c: what is made of parameters and buffers of the module alone is the same in every call:
 * made once, when the program is loaded, and kept.
 *
 *   norm = sum(v * v, 1)            at load: norm          parameters v, g; an argument x
 *   w = v * g / sqrt(norm)
 *   y = mm(x, w.t())                each call: y           whose factor w is packed at load, too
 *
 * Where nothing says that parameters stay (graph.fixed), nothing is. What the program updates, and
 * what is drawn at random, is no constant; outputs are written in each call.
 *
 * A kernel is either of the load or of the calls: a reduction, scan or product of constants is not
 * fused with what is none; nor what is made of them element by element, if calls then read fewer
 * bytes by a good deal: else they make it again as they go.
 *
 * Needs: order. Breaks: nothing. */
#include "graph/traits.h"
#include "schedule/fuse.h"

static bool input_fixed(const struct loops *l, buffer_id b) {
    const struct buffer *x = &l->buffers.at[b];
    return x->kind == BUFFER_INPUT && graph_input_fixed(l->graph, &l->graph->inputs.at[x->index]);
}

/* All that it reads is, and it draws nothing. */
static bool makes_fixed(const struct loops *l, const struct nest *n, const bool *fixed) {
    if (l->buffers.at[n->out].kind != BUFFER_TEMP) return false;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind == INST_LOAD && !fixed[x->buffer]) return false;
        if (x->kind == INST_OP && op_is_random(x->op)) return false;
    }
    return true;
}

bool *values_fixed(const struct loops *l, bool eager, struct arena *a) {
    bool *fixed = NEW_ARRAY(a, bool, l->buffers.n);
    if (eager || !l->graph->fixed) return fixed;
    for (buffer_id b = 0; b < l->buffers.n; b++) fixed[b] = input_fixed(l, b);
    for (uint32_t k = 0; k < l->nests.n; k++)
        fixed[l->nests.at[k].out] = makes_fixed(l, &l->nests.at[k], fixed);
    return fixed;
}

static bool all_fixed(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    for (uint32_t m = 0; m < G->members.n; m++)
        if (!f->s->fixed[nest_at(f, G->members.at[m].nest)->out]) return false;
    return true;
}

/* Bytes that a call reads less if what g makes of constants lies there. */
static int64_t bytes_less(struct fuser *f, uint32_t g, uint32_t reader) {
    int64_t less = 0;
    for (uint32_t i = 0; i < f->touched[g].list.n; i++) {
        buffer_id b = f->touched[g].list.at[i].buffer;
        if (!group_writes(f, g, b) && !group_reads(f, reader, b)) less += buffer_bytes(f->l, b);
        if (group_writes(f, g, b) && group_reads(f, reader, b)) less -= buffer_bytes(f->l, b);
    }
    return less;
}

bool one_at_load(struct fuser *f, uint32_t a, uint32_t b) {
    return all_fixed(f, a) != all_fixed(f, b);
}

const char *at_load_reason(struct fuser *f, const struct merge *m) {
    enum { WORTH_A_KERNEL = 64 << 10 }; /* bytes: 0.02 us of an H100's memory in each call */
    if (!one_at_load(f, m->a, m->b)) return NULL;
    uint32_t g = all_fixed(f, m->a) ? m->a : m->b, reader = g == m->a ? m->b : m->a;
    const struct group *G = group_at(f, g);
    bool again = !G->n_r && !G->matmul && !G->scan && depends(f, reader, g) &&
                 bytes_less(f, g, reader) < WORTH_A_KERNEL;
    return again ? NULL : "one is made at load, the other in each call";
}

/* Do all nests of the group make what is fixed, of what earlier groups made at load or it itself?
 */
static bool runs_at_load(const struct schedule *s, uint32_t g) {
    const struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &s->loops->nests.at[G->members.at[m].nest];
        if (!s->fixed[n->out]) return false;
        for (uint32_t i = 0; i < n->insts.n; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t writer = s->writer[n->insts.at[i].buffer];
            uint32_t from = writer == NO_NEST ? g : s->group_of[writer];
            if (from != g && !s->groups.at[from].at_load) return false;
        }
    }
    return true;
}

void group_at_load(struct schedule *s, uint32_t g, const bool *fixed) {
    struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        buffer_id out = s->loops->nests.at[G->members.at[m].nest].out;
        s->fixed[out] = fixed[out];
    }
    G->at_load = runs_at_load(s, g);
    for (uint32_t m = 0; m < G->members.n && !G->at_load; m++)
        s->fixed[s->loops->nests.at[G->members.at[m].nest].out] = false;
}

void schedule_at_load(struct schedule *s, bool eager) {
    s->fixed = values_fixed(s->loops, eager, s->arena);
    for (uint32_t g = 0; g < s->groups.n; g++) s->groups.at[g].at_load = runs_at_load(s, g);
    for (buffer_id b = 0; b < s->loops->buffers.n; b++) /* calls make it themselves */
        if (s->writer[b] != NO_NEST && !s->groups.at[s->group_of[s->writer[b]]].at_load)
            s->fixed[b] = false;
}
