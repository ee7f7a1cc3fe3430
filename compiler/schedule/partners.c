/* partners.c: which two groups are worth a merge, and of all such pairs the next that saves more
 * than the best so far.
 *
 *   a  writes x   b  reads x, y   c  reads y      pairs: a b, by x; b c, by y
 *
 * Pairs are those of groups that touch a common buffer, in order. What a merge of two saves stays
 * true until one of them changes, so it is kept with the pair, and the most of each group's pairs
 * in a tree over all groups: a program of thousands of nests has as many merges, and each is found
 * without a look at all pairs.
 *
 * A buffer that very many touch makes no pair of each two of them: a group is paired with the
 * nearest of them, on either side, and with none any more once its kernel has no place for another
 * tensor, which the log says once. */
#include "schedule/fuse.h"

enum { NEAREST = 128 };

static const int64_t FIRST = INT64_C(1) << 62;

int64_t pair_saves(struct partner p) { return p.worth & (FIRST - 1); }

/* ---- a tree of maxima ------------------------------------------------------------------------ */

static void set_most(struct fuser *f, uint32_t g, int64_t worth) {
    uint32_t i = g + f->n_leaves;
    f->most[i] = worth;
    while (i /= 2) {
        int64_t left = f->most[2 * i], right = f->most[2 * i + 1];
        f->most[i] = left > right ? left : right;
    }
}

/* The first group from `from` on which has, or may have, a pair that is worth more. */
static uint32_t next_above(const struct fuser *f, uint32_t from, int64_t worth) {
    uint32_t i = from + f->n_leaves;
    if (from >= f->n_leaves) return f->n;
    while (f->most[i] <= worth) { /* up, to the next one right of it */
        while (i & 1) i /= 2;
        if (!i) return f->n;
        i++;
    }
    while (i < f->n_leaves) i = f->most[2 * i] > worth ? 2 * i : 2 * i + 1;
    return i - f->n_leaves;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The partner of that number, or where it would stand. */
static uint32_t find_partner(const struct partners *p, uint32_t group) {
    uint32_t low = 0, high = p->list.n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (p->list.at[mid].group < group)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_at(const struct partners *p, uint32_t at, uint32_t group) {
    return at < p->list.n && p->list.at[at].group == group;
}

static void put_partner(struct fuser *f, uint32_t g, struct partner x) {
    struct partners *p = &f->partners[g];
    uint32_t at = find_partner(p, x.group);
    if (!is_at(p, at, x.group)) {
        vec_push(f->arena, &p->list, x);
        memmove(&p->list.at[at + 1], &p->list.at[at], (p->list.n - 1 - at) * sizeof x);
    }
    p->list.at[at] = x;
}

static void drop_partner(struct fuser *f, uint32_t g, uint32_t h) {
    struct partners *p = &f->partners[g];
    uint32_t at = find_partner(p, h);
    if (!is_at(p, at, h)) return;
    p->list.n--;
    memmove(&p->list.at[at], &p->list.at[at + 1], (p->list.n - at) * sizeof *p->list.at);
}

/* Both have that pair, the first of them for whoever looks for the best. */
static void judge_pair(struct fuser *f, uint32_t g, uint32_t h) {
    uint32_t a = g < h ? g : h, b = g < h ? h : g;
    bool apart = (f->size[a].full || f->size[b].full) && !depends(f, a, b) && !depends(f, b, a);
    int64_t worth = apart ? 0 : bytes_saved(f, a, b); /* if apart, it was said of another */
    if (!worth) {
        drop_partner(f, a, b);
        drop_partner(f, b, a);
        return;
    }
    if (comes_first(f, a, b)) worth |= FIRST;
    put_partner(f, a, (struct partner){b, worth});
    put_partner(f, b, (struct partner){a, worth});
    if (worth > f->most[a + f->n_leaves]) set_most(f, a, worth);
}

static int64_t most_of(const struct fuser *f, uint32_t g) {
    int64_t most = 0;
    const struct partners *p = &f->partners[g];
    for (uint32_t i = find_partner(p, g); i < p->list.n; i++)
        if (f->alive[p->list.at[i].group] && p->list.at[i].worth > most) most = p->list.at[i].worth;
    return most;
}

/* Those near g that touch b, those before it only if it has changed: they know of it. */
static void judge_touchers(struct fuser *f, uint32_t g, buffer_id b, bool all) {
    const struct touchers *t = &f->touchers[b];
    uint32_t low = 0, high = t->list.n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (t->list.at[mid] < g)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t from = !all ? low : low > NEAREST ? low - NEAREST : 0;
    uint32_t to = t->list.n - low > NEAREST ? low + NEAREST + 1 : t->list.n;
    for (uint32_t i = from; i < to; i++)
        if (t->list.at[i] != g) judge_pair(f, g, t->list.at[i]);
}

void find_partners(struct fuser *f) {
    struct arena *a = f->arena;
    f->n_leaves = 1;
    while (f->n_leaves < f->n) f->n_leaves *= 2;
    f->most = NEW_ARRAY(a, int64_t, 2 * (size_t)f->n_leaves);
    f->partners = NEW_ARRAY(a, struct partners, f->n);
    for (uint32_t g = 0; g < f->n; g++)
        for (uint32_t i = 0; i < f->touched[g].list.n; i++)
            judge_touchers(f, g, f->touched[g].list.at[i].buffer, false);
}

void join_partners(struct fuser *f, uint32_t host, uint32_t guest) {
    struct partners known = f->partners[host];
    f->size[host].full = false;
    f->partners[host] = f->partners[guest] = (struct partners){0};
    set_most(f, host, 0);
    set_most(f, guest, 0);
    for (uint32_t i = 0; i < f->touched[host].list.n; i++)
        judge_touchers(f, host, f->touched[host].list.at[i].buffer, true);
    for (uint32_t i = 0; i < known.list.n; i++) /* others may have come between */
        if (f->alive[known.list.at[i].group]) judge_pair(f, host, known.list.at[i].group);
}

/* ---- looking for the best -------------------------------------------------------------------- */

bool next_pair(struct fuser *f, uint32_t *a, uint32_t *i, int64_t above, struct partner *out) {
    for (;;) {
        const struct partners *p = *a < f->n ? &f->partners[*a] : NULL;
        for (; p && *i < p->list.n; ++*i) {
            struct partner x = p->list.at[*i];
            if (x.group < *a || !f->alive[x.group] || x.worth <= above) continue;
            *out = x;
            return true;
        }
        if (p && f->most[*a + f->n_leaves]) set_most(f, *a, most_of(f, *a));
        *a = next_above(f, p ? *a + 1 : 0, above);
        *i = 0;
        if (*a == f->n) return false;
    }
}

void refuse_pair(struct fuser *f, uint32_t a, uint32_t b) {
    drop_partner(f, a, b);
    drop_partner(f, b, a);
}
