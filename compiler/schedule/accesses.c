/* accesses.c: what groups read and write while nests become groups, which have that in common, and
 * who comes behind whom. A graph has thousands of nests, and each is looked at again and again:
 * sets are of bits, and what is known of two groups is kept until one of them grows. */
#include <stdlib.h>

#include "schedule/fuse.h"

static bool has_bit(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static void set_bit(uint64_t *set, uint32_t i) { set[i / 64] |= UINT64_C(1) << i % 64; }
static void clear_bit(uint64_t *set, uint32_t i) { set[i / 64] &= ~(UINT64_C(1) << i % 64); }

static void add_bits(uint64_t *to, const uint64_t *from, size_t words) {
    for (size_t k = 0; k < words; k++) to[k] |= from[k];
}

static uint64_t *reads_of(const struct fuser *f, uint32_t g) {
    return &f->reads[g * f->n_buffer_words];
}
static uint64_t *needs_of(const struct fuser *f, uint32_t g) { return &f->needs[g * f->n_words]; }
static uint64_t *follows_of(const struct fuser *f, uint32_t g) {
    return &f->follows[g * f->n_words];
}

bool group_reads(struct fuser *f, uint32_t g, buffer_id b) { return has_bit(reads_of(f, g), b); }

bool group_writes(struct fuser *f, uint32_t g, buffer_id b) {
    return f->s->writer[b] != NO_NEST && f->s->group_of[f->s->writer[b]] == g;
}

bool group_touches(struct fuser *f, uint32_t g, buffer_id b) {
    return group_reads(f, g, b) || group_writes(f, g, b);
}

/* Does a group other than g and h read b? */
static bool read_elsewhere(struct fuser *f, buffer_id b, uint32_t g, uint32_t h) {
    for (uint32_t i = 0; i < f->touchers[b].list.n; i++) {
        uint32_t k = f->touchers[b].list.at[i];
        if (f->alive[k] && k != g && k != h && group_reads(f, k, b)) return true;
    }
    return false;
}

bool escapes(struct fuser *f, buffer_id b, uint32_t g, uint32_t h) {
    return f->l->buffers.at[b].kind == BUFFER_OUTPUT || read_elsewhere(f, b, g, h);
}

int64_t bytes_saved(struct fuser *f, uint32_t a, uint32_t b) {
    int64_t saved = 0;
    for (uint32_t i = 0; i < f->touched[a].list.n; i++) {
        buffer_id x = f->touched[a].list.at[i];
        bool aw = group_writes(f, a, x), bw = group_writes(f, b, x);
        if (!bw && !group_reads(f, b, x)) continue;
        saved += buffer_bytes(f->l, x);                                         /* one read less */
        if ((aw || bw) && !escapes(f, x, a, b)) saved += buffer_bytes(f->l, x); /* and no write */
    }
    return saved;
}

/* ---- who stands behind whom ------------------------------------------------------------------ */

bool depends(struct fuser *f, uint32_t reader, uint32_t writer) {
    return has_bit(needs_of(f, reader), writer);
}

static bool comes_behind(const struct fuser *f, uint32_t reader, uint32_t writer) {
    return has_bit(follows_of(f, reader), writer);
}

/* The reader comes behind the writer and all that this comes behind. */
static void follow(struct fuser *f, uint32_t reader, uint32_t writer) {
    add_bits(follows_of(f, reader), follows_of(f, writer), f->n_words);
    set_bit(follows_of(f, reader), writer);
}

/* What group g reads and whom it needs, while every nest is still a group of its own. */
static void find_accesses(struct fuser *f, uint32_t g) {
    const struct nest *n = nest_at(f, g);
    for (uint32_t i = 0; i < n->insts.n; i++) {
        if (n->insts.at[i].kind != INST_LOAD) continue;
        buffer_id b = n->insts.at[i].buffer;
        if (!group_reads(f, g, b)) vec_push(f->s->arena, &f->touched[g].list, b);
        set_bit(reads_of(f, g), b);
        if (f->s->writer[b] == NO_NEST) continue;
        set_bit(needs_of(f, g), f->s->writer[b]);
        follow(f, g, f->s->writer[b]);
    }
}

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

/* What merging g and h saves is not known, or not any more. */
static void unknown_gain(struct fuser *f, uint32_t g, uint32_t h) {
    struct partners *p = &f->partners[g < h ? g : h];
    struct partner last = {g < h ? h : g, UNKNOWN};
    uint32_t at = find_partner(p, last.group);
    if (at == p->list.n || p->list.at[at].group != last.group) {
        vec_push(f->s->arena, &p->list, last);
        memmove(&p->list.at[at + 1], &p->list.at[at], (p->list.n - 1 - at) * sizeof last);
    }
    p->list.at[at] = last;
}

/* All that touch what g does. */
static void find_partners(struct fuser *f, uint32_t g) {
    for (uint32_t i = 0; i < f->touched[g].list.n; i++) {
        const struct touchers *by = &f->touchers[f->touched[g].list.at[i]];
        for (uint32_t k = 0; k < by->list.n; k++)
            if (by->list.at[k] != g && f->alive[by->list.at[k]]) unknown_gain(f, g, by->list.at[k]);
    }
}

void join_accesses(struct fuser *f, uint32_t host, uint32_t guest) {
    struct touched all = {0};
    const struct touched *H = &f->touched[host], *G = &f->touched[guest];
    for (uint32_t i = 0, j = 0; i < H->list.n || j < G->list.n;) { /* both are in order: merge */
        bool from_host = j == G->list.n || (i < H->list.n && H->list.at[i] <= G->list.at[j]);
        buffer_id b = from_host ? H->list.at[i] : G->list.at[j];
        if (!from_host) vec_push(f->s->arena, &f->touchers[b].list, host);
        if (from_host && j < G->list.n && G->list.at[j] == b) j++;
        if (from_host)
            i++;
        else
            j++;
        vec_push(f->s->arena, &all.list, b);
    }
    f->touched[host] = all;
    add_bits(reads_of(f, host), reads_of(f, guest), f->n_buffer_words);
    add_bits(needs_of(f, host), needs_of(f, guest), f->n_words);
    follow(f, host, guest);
    clear_bit(follows_of(f, host), host), clear_bit(follows_of(f, host), guest);
    for (uint32_t k = 0; k < f->n; k++) {
        if (depends(f, k, guest)) set_bit(needs_of(f, k), host);
        /* who came behind both has what both come behind */
        if (comes_behind(f, k, host) != comes_behind(f, k, guest)) follow(f, k, host);
    }
    clear_bit(needs_of(f, host), host);
    f->partners[host].list.n = 0;
    find_partners(f, host);
}

/* Does the reader need the writer by way of a third group? */
static bool third_on_the_way(const struct fuser *f, uint32_t reader, uint32_t writer) {
    const uint64_t *needs = needs_of(f, reader);
    for (size_t w = 0; w < f->n_words; w++)
        for (uint64_t left = needs[w]; left; left &= left - 1) {
            uint32_t k = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
            if (f->alive[k] && comes_behind(f, k, writer)) return true;
        }
    return false;
}

bool third_between(struct fuser *f, uint32_t a, uint32_t b) {
    return third_on_the_way(f, a, b) || third_on_the_way(f, b, a);
}

static int by_number(const void *a, const void *b) {
    buffer_id x = *(const buffer_id *)a, y = *(const buffer_id *)b;
    return (x > y) - (x < y);
}

void find_all_accesses(struct fuser *f) {
    struct arena *a = f->s->arena;
    f->n_words = (f->n + 63) / 64;
    f->n_buffer_words = (f->l->buffers.n + 63) / 64;
    f->reads = NEW_ARRAY(a, uint64_t, f->n * f->n_buffer_words);
    f->touched = NEW_ARRAY(a, struct touched, f->n);
    f->needs = NEW_ARRAY(a, uint64_t, f->n * f->n_words);
    f->follows = NEW_ARRAY(a, uint64_t, f->n * f->n_words);
    f->touchers = NEW_ARRAY(a, struct touchers, f->l->buffers.n);
    f->partners = NEW_ARRAY(a, struct partners, f->n);
    for (uint32_t n = 0; n < f->n; n++) {
        find_accesses(f, n);
        vec_push(a, &f->touched[n].list, nest_at(f, n)->out);
        qsort(f->touched[n].list.at, f->touched[n].list.n, sizeof(buffer_id), by_number);
        for (uint32_t i = 0; i < f->touched[n].list.n; i++)
            vec_push(a, &f->touchers[f->touched[n].list.at[i]].list, n);
    }
    for (uint32_t n = 0; n < f->n; n++) find_partners(f, n);
}
