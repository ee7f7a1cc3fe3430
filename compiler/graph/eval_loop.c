/* eval_loop.c: a loop by the interpreter: its body evaluated a step at a time, what is carried
 * handed on as it is, unrounded. */
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"
#include "graph/loop.h"

struct looping {
    const struct job *job;
    struct graph body;
    struct value *in;   /* of a step; nothing here is owned */
    struct value *last; /* outputs of the step before, and of this one */
    struct value *made;
};

static struct value part_of(const struct cell *c, int64_t at, int64_t n) {
    return (struct value){.v = c->v ? c->v + at : NULL, .n = n, .w = c->w ? c->w + at : NULL};
}

static void take_inputs(struct looping *l, int64_t t) {
    const struct job *j = l->job;
    const struct arg *args = j->node->args;
    for (uint32_t i = 0; i < l->body.inputs.n; i++) {
        const struct cell *c = &j->cells[args[LOOP_OPERANDS].nodes.at[i]];
        struct loop_role r = loop_role(j->g, args, i);
        int64_t each = r.is == LOOP_IS_SLICED ? c->n / c->size[0] : c->n;
        int64_t at = r.is == LOOP_IS_SLICED ? (r.first + r.way * t) * each : 0;
        l->in[i] = r.is == LOOP_IS_CARRIED && t ? l->last[r.output] : part_of(c, at, each);
    }
}

static void keep_outputs(struct looping *l, struct cell *const *out, int64_t t) {
    for (uint32_t k = 0; k < l->body.outputs.n; k++) {
        const struct value *v = &l->made[k];
        if (!out[k]) continue;
        if (v->w)
            memcpy(out[k]->w + t * v->n, v->w, (size_t)v->n * sizeof *v->w);
        else
            memcpy(out[k]->v + t * v->n, v->v, (size_t)v->n * sizeof *v->v);
    }
}

static void free_values(struct value *v, uint32_t n) {
    for (uint32_t k = 0; k < n; k++) value_free(&v[k]);
}

void eval_loop(const struct job *j, struct cell *const *out) {
    const struct graph *body = j->node->args[LOOP_BODY].graph;
    uint32_t n = body->outputs.n;
    struct looping l = {.job = j, .body = *body};
    l.in = calloc(body->inputs.n + 2 * n + 1, sizeof *l.in);
    if (!l.in) WS_BUG("no memory for a step of %u inputs", body->inputs.n);
    l.last = l.in + body->inputs.n;
    l.made = l.last + n;
    l.body.seed = j->g->seed;
    l.body.stopped = j->g->stopped;
    l.body.budget = j->g->budget;
    l.body.stores_values = j->g->stores_values;
    l.body.given_exactly = true;
    for (int64_t t = 0; t < loop_steps(j->g, j->node->args) && j->d->status == WS_OK; t++) {
        take_inputs(&l, t);
        if (!graph_eval(&l.body, l.in, l.made, j->d)) break;
        keep_outputs(&l, out, t);
        free_values(l.last, n);
        memcpy(l.last, l.made, n * sizeof *l.made);
        memset(l.made, 0, n * sizeof *l.made);
    }
    free_values(l.last, n);
    free(l.in);
}
