/* accesses.c: what groups read and write while nests become groups, which have that in common, and
 * who comes behind whom. A graph has thousands of nests, and each is looked at again and again:
 * what a group touches is a list in order, and who comes behind whom is a bit for each two, both
 * ways round, so that a merge looks at those alone for which something changes. */
#include <stdlib.h>

#include "schedule/fuse.h"

static bool has_bit(const uint64_t *set, uint32_t i) { return set[i / 64] >> i % 64 & 1; }
static void set_bit(uint64_t *set, uint32_t i) { set[i / 64] |= UINT64_C(1) << i % 64; }
static void clear_bit(uint64_t *set, uint32_t i) { set[i / 64] &= ~(UINT64_C(1) << i % 64); }

static void add_bits(uint64_t *to, const uint64_t *from, size_t words) {
    for (size_t k = 0; k < words; k++) to[k] |= from[k];
}

/* The groups that g comes behind; those that come behind g. */
static uint64_t *before(const struct fuser *f, uint32_t g) { return &f->before[g * f->n_words]; }
static uint64_t *behind(const struct fuser *f, uint32_t g) { return &f->behind[g * f->n_words]; }

static const struct touched_buffer *find_touched(const struct fuser *f, uint32_t g, buffer_id b) {
    const struct touched *t = &f->touched[g];
    uint32_t low = 0, high = t->list.n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (t->list.at[mid].buffer < b)
            low = mid + 1;
        else
            high = mid;
    }
    return low < t->list.n && t->list.at[low].buffer == b ? &t->list.at[low] : NULL;
}

bool group_reads(struct fuser *f, uint32_t g, buffer_id b) {
    const struct touched_buffer *t = find_touched(f, g, b);
    return t && t->read;
}

bool group_writes(struct fuser *f, uint32_t g, buffer_id b) {
    return f->s->writer[b] != NO_NEST && f->s->group_of[f->s->writer[b]] == g;
}

bool group_touches(struct fuser *f, uint32_t g, buffer_id b) {
    return find_touched(f, g, b) != NULL;
}

/* Does a group other than g and h read b? */
static bool read_elsewhere(struct fuser *f, buffer_id b, uint32_t g, uint32_t h) {
    for (uint32_t i = 0; i < f->touchers[b].list.n; i++) {
        uint32_t k = f->touchers[b].list.at[i];
        if (k != g && k != h && group_reads(f, k, b)) return true;
    }
    return false;
}

bool escapes(struct fuser *f, buffer_id b, uint32_t g, uint32_t h) {
    enum buffer_kind kind = f->l->buffers.at[b].kind;
    return (kind != BUFFER_TEMP && kind != BUFFER_INPUT) || read_elsewhere(f, b, g, h);
}

int64_t bytes_saved(struct fuser *f, uint32_t a, uint32_t b) {
    const struct touched *A = &f->touched[a], *B = &f->touched[b];
    int64_t saved = 0;
    for (uint32_t i = 0, j = 0; i < A->list.n && j < B->list.n;) {
        buffer_id x = A->list.at[i].buffer, y = B->list.at[j].buffer;
        i += x <= y;
        j += y <= x;
        if (x != y) continue;
        saved += buffer_bytes(f->l, x); /* one read less */
        bool written = group_writes(f, a, x) || group_writes(f, b, x);
        if (written && !escapes(f, x, a, b)) saved += buffer_bytes(f->l, x); /* and no write */
    }
    return saved;
}

/* ---- who stands behind whom ------------------------------------------------------------------ */

/* The group that writes what the ith buffer of g's list is read from; g itself if there is none. */
static uint32_t needed(const struct fuser *f, uint32_t g, uint32_t i) {
    const struct touched_buffer *t = &f->touched[g].list.at[i];
    uint32_t writer = t->read ? f->s->writer[t->buffer] : NO_NEST;
    return writer == NO_NEST ? g : f->s->group_of[writer];
}

bool depends(struct fuser *f, uint32_t reader, uint32_t writer) {
    if (reader == writer || !has_bit(before(f, reader), writer)) return false;
    for (uint32_t i = 0; i < f->touched[reader].list.n; i++)
        if (needed(f, reader, i) == writer) return true;
    return false;
}

static int by_number(const void *a, const void *b) {
    buffer_id x = ((const struct touched_buffer *)a)->buffer,
              y = ((const struct touched_buffer *)b)->buffer;
    return (x > y) - (x < y);
}

/* What a group touches that is one nest. */
static void find_accesses(struct fuser *f, uint32_t g) {
    const struct nest *n = nest_at(f, g);
    struct touched *t = &f->touched[g];
    for (uint32_t i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD)
            vec_push(f->arena, &t->list, ((struct touched_buffer){n->insts.at[i].buffer, true}));
    vec_push(f->arena, &t->list, ((struct touched_buffer){n->out, false}));
    qsort(t->list.at, t->list.n, sizeof *t->list.at, by_number);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->list.n; i++) {
        struct touched_buffer x = t->list.at[i];
        if (kept && t->list.at[kept - 1].buffer == x.buffer)
            t->list.at[kept - 1].read |= x.read;
        else
            t->list.at[kept++] = x;
    }
    t->list.n = kept;
    for (uint32_t i = 0; i < kept; i++)
        vec_push(f->arena, &f->touchers[t->list.at[i].buffer].list, g);
}

/* Those that touch b: the host for the guest, in order. */
static void replace_toucher(struct fuser *f, buffer_id b, uint32_t host, uint32_t guest) {
    struct touchers *t = &f->touchers[b];
    uint32_t kept = 0, at = 0;
    bool there = false;
    for (uint32_t i = 0; i < t->list.n; i++) {
        uint32_t g = t->list.at[i];
        there |= g == host;
        if (g == guest) continue;
        t->list.at[kept++] = g;
        if (g < host) at = kept;
    }
    t->list.n = kept;
    if (there) return;
    vec_push(f->arena, &t->list, host);
    memmove(&t->list.at[at + 1], &t->list.at[at], (kept - at) * sizeof *t->list.at);
    t->list.at[at] = host;
}

static void join_touched(struct fuser *f, uint32_t host, uint32_t guest) {
    struct touched all = {0};
    const struct touched *H = &f->touched[host], *G = &f->touched[guest];
    for (uint32_t i = 0, j = 0; i < H->list.n || j < G->list.n;) { /* both are in order: merge */
        bool from_host =
            j == G->list.n || (i < H->list.n && H->list.at[i].buffer <= G->list.at[j].buffer);
        struct touched_buffer x = from_host ? H->list.at[i++] : G->list.at[j];
        if (j < G->list.n && G->list.at[j].buffer == x.buffer) x.read |= G->list.at[j++].read;
        vec_push(f->arena, &all.list, x);
    }
    for (uint32_t j = 0; j < G->list.n; j++) replace_toucher(f, G->list.at[j].buffer, host, guest);
    f->touched[host] = all;
}

/* What of a group's `before` is new to those that come behind another: few words of all. */
struct news {
    uint32_t *word, n;
    uint64_t *bits;
};

static struct news find_news(struct fuser *f, uint32_t of, uint32_t to) {
    struct news o = {.word = f->news_word, .bits = f->news_bits};
    const uint64_t *of_one = before(f, of), *of_other = before(f, to);
    for (size_t w = 0; w < f->n_words; w++) {
        uint64_t bits = of_one[w] & ~of_other[w];
        if (of / 64 == w) bits |= UINT64_C(1) << of % 64;
        bits &= f->living[w];
        if (!bits) continue;
        o.word[o.n] = (uint32_t)w;
        o.bits[o.n++] = bits;
    }
    return o;
}

static void tell(struct fuser *f, uint32_t k, const struct news *o) {
    uint64_t *of_k = before(f, k);
    for (uint32_t i = 0; i < o->n; i++) {
        uint32_t w = o->word[i];
        uint64_t bits = o->bits[i] & ~of_k[w];
        of_k[w] |= bits;
        for (; bits; bits &= bits - 1)
            set_bit(behind(f, w * 64 + (uint32_t)__builtin_ctzll(bits)), k);
    }
}

/* Those that come behind `to` and not behind `of` learn what is before `of`, and itself. */
static void follow(struct fuser *f, uint32_t to, uint32_t of) {
    const uint64_t *all = behind(f, to), *others = behind(f, of);
    struct news o = find_news(f, of, to);
    for (size_t w = 0; w < f->n_words; w++)
        for (uint64_t left = all[w] & ~others[w] & f->living[w]; left; left &= left - 1) {
            uint32_t k = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left);
            if (k != of && k != to) tell(f, k, &o);
        }
}

/* Who came behind one of both comes behind both, and behind all that either came behind. */
static void join_order(struct fuser *f, uint32_t host, uint32_t guest) {
    follow(f, host, guest);
    follow(f, guest, host);
    struct news o = find_news(f, guest, host);
    tell(f, host, &o);
    clear_bit(f->living, guest);
    add_bits(behind(f, host), behind(f, guest), f->n_words);
    for (int side = 0; side < 2; side++) {
        clear_bit(before(f, host), side ? host : guest);
        clear_bit(behind(f, host), side ? host : guest);
    }
}

void join_accesses(struct fuser *f, uint32_t host, uint32_t guest) {
    join_touched(f, host, guest);
    join_order(f, host, guest);
}

/* Does the reader need the writer by way of a third group? */
static bool third_on_the_way(const struct fuser *f, uint32_t reader, uint32_t writer) {
    for (uint32_t i = 0; i < f->touched[reader].list.n; i++) {
        uint32_t k = needed(f, reader, i);
        if (k != reader && has_bit(before(f, k), writer)) return true;
    }
    return false;
}

bool third_between(struct fuser *f, uint32_t a, uint32_t b) {
    return third_on_the_way(f, a, b) || third_on_the_way(f, b, a);
}

/* Does group g, which follows h, wait for what reader t of something that h reads leads to, which
 * reduces it on the way and neither stands on h nor is stood on by it? */
static bool waits_for_reader(struct fuser *f, uint32_t g, uint32_t h, uint32_t t) {
    const uint64_t *of_g = before(f, g), *of_h = before(f, h);
    if (t == h || !has_bit(of_g, t) || has_bit(of_h, t) || has_bit(before(f, t), h)) return false;
    for (uint32_t q = 0; q < f->n; q++) {
        bool way = f->alive[q] && q != h && has_bit(of_g, q) && !has_bit(of_h, q) &&
                   !has_bit(before(f, q), h);
        if (way && (q == t || has_bit(before(f, q), t)) && group_at(f, q)->n_r) return true;
    }
    return false;
}

bool waits_beside(struct fuser *f, uint32_t g, uint32_t h) {
    enum { LARGE = 1 << 20 }; /* bytes: of less the second pass takes no longer than a launch */
    for (uint32_t i = 0; i < f->touched[h].list.n; i++) {
        buffer_id b = f->touched[h].list.at[i].buffer;
        const struct touchers *t = &f->touchers[b];
        if (group_writes(f, h, b) || buffer_bytes(f->l, b) < LARGE) continue;
        for (uint32_t k = 0; k < t->list.n; k++)
            if (waits_for_reader(f, g, h, t->list.at[k])) return true;
    }
    return false;
}

void find_all_accesses(struct fuser *f) {
    struct arena *a = f->arena;
    f->n_words = (f->n + 63) / 64;
    f->touched = NEW_ARRAY(a, struct touched, f->n);
    f->before = NEW_ARRAY(a, uint64_t, f->n * f->n_words);
    f->behind = NEW_ARRAY(a, uint64_t, f->n * f->n_words);
    f->living = NEW_ARRAY(a, uint64_t, f->n_words);
    f->news_word = NEW_ARRAY(a, uint32_t, f->n_words);
    f->news_bits = NEW_ARRAY(a, uint64_t, f->n_words);
    for (uint32_t n = 0; n < f->n; n++) set_bit(f->living, n);
    f->touchers = NEW_ARRAY(a, struct touchers, f->l->buffers.n);
    for (uint32_t n = 0; n < f->n; n++) {
        find_accesses(f, n);
        for (uint32_t i = 0; i < f->touched[n].list.n; i++) {
            uint32_t w = needed(f, n, i);
            if (w == n) continue;
            add_bits(before(f, n), before(f, w), f->n_words);
            set_bit(before(f, n), w);
        }
    }
    for (uint32_t n = f->n; n-- > 0;) /* readers stand behind what they read */
        for (uint32_t i = 0; i < f->touched[n].list.n; i++) {
            uint32_t w = needed(f, n, i);
            if (w == n) continue;
            add_bits(behind(f, w), behind(f, n), f->n_words);
            set_bit(behind(f, w), n);
        }
}
