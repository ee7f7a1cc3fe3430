/* map.c: see map.h. The table is kept at most half full. */
#include "base/map.h"

#include <string.h>
#include <xxhash.h>

uint64_t hash_bytes(const void *p, size_t n) { return XXH3_64bits(p, n); }

struct map map_new(struct arena *a) {
    return (struct map){.arena = a};
}

static uint32_t find_slot(const struct map *m, const void *key, size_t len) {
    uint32_t mask = m->n_slots - 1, i = (uint32_t)hash_bytes(key, len) & mask;
    for (;; i = (i + 1) & mask) {
        if (!m->slots[i]) return i;
        const struct map_entry *e = &m->entries[m->slots[i] - 1];
        if (e->len == len && memcmp(e->key, key, len) == 0) return i;
    }
}

static void grow(struct map *m, uint32_t cap) {
    struct map_entry *e = NEW_ARRAY(m->arena, struct map_entry, cap);
    if (m->n) memcpy(e, m->entries, m->n * sizeof *e);
    m->entries = e;
    m->cap = cap;
    for (m->n_slots = 32; m->n_slots < 2 * cap;) m->n_slots *= 2;
    m->slots = NEW_ARRAY(m->arena, uint32_t, m->n_slots);
    for (uint32_t i = 0; i < m->n; i++) m->slots[find_slot(m, e[i].key, e[i].len)] = i + 1;
}

void map_reserve(struct map *m, uint32_t n) {
    if (n > m->cap) grow(m, n);
}

bool map_put(struct map *m, const void *key, size_t len, uint64_t value) {
    if (m->n == m->cap) grow(m, m->cap ? m->cap * 2 : 16);
    uint32_t s = find_slot(m, key, len);
    if (m->slots[s]) {
        m->entries[m->slots[s] - 1].value = value;
        return false;
    }
    m->entries[m->n] = (struct map_entry){arena_strndup(m->arena, key, len), (uint32_t)len, value};
    m->slots[s] = ++m->n;
    return true;
}

bool map_get(const struct map *m, const void *key, size_t len, uint64_t *value) {
    if (!m->n) return false;
    uint32_t s = find_slot(m, key, len);
    if (!m->slots[s]) return false;
    *value = m->entries[m->slots[s] - 1].value;
    return true;
}

bool map_puts(struct map *m, const char *key, uint64_t value) {
    return map_put(m, key, strlen(key), value);
}

bool map_gets(const struct map *m, const char *key, uint64_t *value) {
    return map_get(m, key, strlen(key), value);
}
