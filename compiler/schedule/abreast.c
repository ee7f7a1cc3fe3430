/* abreast.c: small pointwise kernels that have nothing in common but their shape become one.
 *
 *   a = exp(x): [1000, 64]   b = relu(y): [1000, 64]   ->   one kernel that writes both
 *
 * That saves no byte but a launch, which takes as long as some megabytes do; kernels that move more
 * than that are better off with their registers for themselves.
 *
 * Needs: fusion by bytes is through. */
#include "schedule/fuse.h"

enum { LAUNCH_BYTES = 8 << 20 }; /* of both, what a device moves in the time of a few launches */

int64_t pair_bytes(struct fuser *f, uint32_t a, uint32_t b) {
    int64_t bytes = 0;
    for (int side = 0; side < 2; side++) {
        const struct touched *t = &f->touched[side ? b : a];
        for (uint32_t i = 0; i < t->list.n; i++) {
            buffer_id x = t->list.at[i].buffer;
            if (side && group_touches(f, a, x)) continue; /* counted */
            bool written = group_writes(f, a, x) || group_writes(f, b, x);
            if (written && !escapes(f, x, a, b)) continue; /* in registers */
            bytes += buffer_bytes(f->l, x);
        }
    }
    return bytes;
}

bool pair_is_small(struct fuser *f, uint32_t a, uint32_t b) {
    return pair_bytes(f, a, b) <= LAUNCH_BYTES;
}

static bool is_pointwise(const struct group *G) { return !G->n_r && !G->matmul; }

static bool same_shape(struct fuser *f, const struct group *A, const struct group *B) {
    if (A->n_x != B->n_x || !is_pointwise(B)) return false;
    for (int k = 0; k < A->n_x; k++)
        if (ex_symbol(f->l->ex, A->x[k])->bound != ex_symbol(f->l->ex, B->x[k])->bound)
            return false;
    return true;
}

/* Neither stands on the other, not through others either. */
static bool independent(struct fuser *f, uint32_t a, uint32_t b) {
    return !depends(f, a, b) && !depends(f, b, a) && !third_between(f, a, b);
}

/* A pair that was refused stays so: groups grow. */
bool find_abreast(struct fuser *f, struct merge *m) {
    for (uint32_t a = f->abreast; a < f->s->groups.n; a++) {
        f->abreast = a;
        if (!f->alive[a] || !is_pointwise(group_at(f, a))) continue;
        for (uint32_t b = a + 1; b < f->s->groups.n; b++) {
            const struct group *A = group_at(f, a), *B = group_at(f, b);
            if (!f->alive[b] || !same_shape(f, A, B) || epoch_of(f, a) != epoch_of(f, b) ||
                !pair_is_small(f, a, b) || one_at_load(f, a, b) || too_big(f, a, b) ||
                !independent(f, a, b))
                continue;
            *m = (struct merge){.a = a, .b = b, .host = a, .guest = b, .n = A->n_x};
            memcpy(m->from, B->x, sizeof B->x);
            memcpy(m->to, A->x, sizeof A->x);
            return true;
        }
    }
    return false;
}
