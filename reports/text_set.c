/* text_set.c: a hash table of texts by XXH3, with linear probing, over blocks that never move.
 *
 *   "softmax", "f32", "softmax"   ->   0, 1, 0 */
#include "reports/text_set.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "reports/text.h"

struct kept_text {
    const char *text;
    uint64_t hash;
    size_t number;
};

enum { BLOCK = 1 << 16 };

struct set_block {
    struct set_block *before;
    size_t used, size;
    char bytes[];
};

static const char *copy(struct text_set *t, const char *s, size_t n) {
    struct set_block *b = t->blocks;
    if (!b || b->size - b->used < n) {
        size_t size = n > BLOCK ? n : BLOCK;
        b = memory_resize(NULL, sizeof *b + size, 1);
        *b = (struct set_block){.before = t->blocks, .size = size};
        t->blocks = b;
    }
    char *at = b->bytes + b->used;
    b->used += n;
    return memcpy(at, s, n);
}

static struct kept_text *find(const struct text_set *t, const char *s, uint64_t hash) {
    for (size_t i = (size_t)hash;; i++) {
        struct kept_text *slot = &t->slots[i & (t->n_slots - 1)];
        if (!slot->text || (slot->hash == hash && strcmp(slot->text, s) == 0)) return slot;
    }
}

static void grow(struct text_set *t) {
    struct text_set wider = {.n_slots = t->n_slots ? 2 * t->n_slots : 64};
    wider.slots = memory_resize(NULL, wider.n_slots, sizeof *wider.slots);
    memset(wider.slots, 0, wider.n_slots * sizeof *wider.slots);
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].text) *find(&wider, t->slots[i].text, t->slots[i].hash) = t->slots[i];
    free(t->slots);
    t->slots = wider.slots;
    t->n_slots = wider.n_slots;
}

const char *text_set_keep(struct text_set *t, const char *s, size_t *number) {
    if (2 * (t->n + 1) > t->n_slots) grow(t);
    size_t length = strlen(s);
    uint64_t hash = XXH3_64bits(s, length);
    struct kept_text *slot = find(t, s, hash);
    if (!slot->text) *slot = (struct kept_text){copy(t, s, length + 1), hash, t->n++};
    if (number) *number = slot->number;
    return slot->text;
}

void text_set_free(struct text_set *t) {
    for (struct set_block *b = t->blocks, *before; b; b = before) {
        before = b->before;
        free(b);
    }
    free(t->slots);
    *t = (struct text_set){0};
}
