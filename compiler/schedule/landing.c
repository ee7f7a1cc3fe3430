/* landing.c: reductions to which a source contributes where it lands, and nowhere else:
 *
 *   sum over j of where(index[j] == i, x[j], 0)      lands by `index`
 *
 * A kernel finds the sources of a row without a look at all of them (kernel/hits.c) if all of its
 * reductions land by the same index: others had better have a kernel of their own. */
#include "schedule/fuse.h"

/* Where `index` is the row, both in the axes of the nest at hand. */
struct landing_place {
    buffer_id index;
    ex row, at; /* at: uses what the place in `index` does */
    int steps; /* that the search may still take: flags that share flags have very many ways down */
};
enum { MOST_STEPS = 256 };

static bool find_place(struct fuser *f, const struct nest *n, inst_id i, struct landing_place *p);

/* Of a value that another nest computes. */
static bool find_loaded(struct fuser *f, const struct inst *load, struct landing_place *p) {
    uint32_t writer = f->s->writer[load->buffer];
    if (writer == NO_NEST || nest_at(f, writer)->n_reduce) return false;
    const struct nest *n = nest_at(f, writer);
    if (!find_place(f, n, n->insts.n - 1, p)) return false;
    ex from[WS_MAX_RANK], to[WS_MAX_RANK];
    int count = 0;
    for (int d = 0; d < load->n_index; d++) {
        if (ex_kind(f->l->ex, n->out_index[d]) != EX_SYM) continue;
        from[count] = n->out_index[d];
        to[count++] = load->index[d];
    }
    p->row = ex_subst(f->l->ex, p->row, from, to, count);
    p->at = ex_subst(f->l->ex, p->at, from, to, count);
    return true;
}

bool compares_place(const struct nest *n, const struct inst *x, const struct inst **index,
                    const struct inst **load) {
    if (x->kind != INST_OP || x->op != OP_EQ) return false;
    *index = &n->insts.at[x->args[0]];
    *load = &n->insts.at[x->args[1]];
    if ((*index)->kind == INST_LOAD) {
        const struct inst *swap = *index;
        *index = *load;
        *load = swap;
    }
    return (*index)->kind == INST_INDEX && (*load)->kind == INST_LOAD;
}

static bool find_compared(struct fuser *f, const struct nest *n, const struct inst *x,
                          struct landing_place *p) {
    const struct inst *index, *load;
    if (!compares_place(n, x, &index, &load)) return false;
    p->index = load->buffer;
    p->row = index->index[0];
    p->at = ex_const(f->l->ex, 0);
    for (int d = 0; d < load->n_index; d++) p->at = ex_max(f->l->ex, p->at, load->index[d]);
    return true;
}

/* The comparison that instruction i is nothing without. */
static bool find_place(struct fuser *f, const struct nest *n, inst_id i, struct landing_place *p) {
    const struct inst *x = &n->insts.at[i];
    if (p->steps-- <= 0) return false;
    if (x->kind == INST_LOAD) return find_loaded(f, x, p);
    if (x->kind == INST_CAST) return find_place(f, n, x->args[0], p);
    if (x->kind != INST_OP) return false;
    if (x->op == OP_EQ) return find_compared(f, n, x, p);
    if (x->op != OP_WHERE && x->op != OP_LOGICAL_AND) return false;
    return find_place(f, n, x->args[0], p) || find_place(f, n, x->args[1], p);
}

enum { NOWHERE = UINT32_MAX };

/* The index by which a reduction lands. */
static buffer_id lands_by(struct fuser *f, const struct nest *n) {
    struct landing_place p = {.steps = MOST_STEPS};
    if (!find_place(f, n, n->insts.at[n->insts.n - 1].args[0], &p)) return NOWHERE;
    for (int k = 0; k < n->n_reduce; k++)
        if (ex_uses(f->l->ex, p.row, n->reduce[k])) return NOWHERE;
    for (int k = 0; k < n->n_axes; k++)
        if (ex_uses(f->l->ex, p.at, n->axes[k])) return NOWHERE;
    return p.index;
}

/* The first reduction of a group says it for all, as this is asked of every merge. */
static bool reduces(struct fuser *f, uint32_t g, buffer_id *index) {
    const struct group *G = group_at(f, g);
    for (uint32_t k = 0; k < G->members.n; k++) {
        const struct nest *n = nest_at(f, G->members.at[k].nest);
        if (!n->n_reduce) continue;
        *index = lands_by(f, n);
        return true;
    }
    return false;
}

const char *landing_reason(struct fuser *f, const struct merge *m) {
    buffer_id a, b;
    if (!reduces(f, m->a, &a) || !reduces(f, m->b, &b) || a == b) return NULL;
    return "they go along the sources of different rows";
}

bool group_compares_places(struct fuser *f, uint32_t g) {
    const struct group *G = group_at(f, g);
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_at(f, G->members.at[m].nest);
        if (n->n_reduce && lands_by(f, n) != NOWHERE) return true; /* others may compare for it */
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *index, *load;
            if (compares_place(n, &n->insts.at[i], &index, &load)) return true;
        }
    }
    return false;
}
