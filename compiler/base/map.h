/* map.h: byte string -> 64-bit value, open addressing, hashed with xxHash. Iteration is in
 * insertion order, so whatever is printed from a map is deterministic. Keys are copied into the
 * arena. */
#ifndef WS_BASE_MAP_H
#define WS_BASE_MAP_H

#include <stdbool.h>

#include "base/arena.h"

struct map_entry {
    const char *key; /* 0-terminated copy */
    uint32_t len;
    uint64_t value;
};

struct map {
    struct arena *arena;
    struct map_entry *entries; /* insertion order */
    uint32_t n, cap;
    uint32_t *slots; /* index + 1 into entries, 0 = empty */
    uint32_t n_slots;
};

struct map map_new(struct arena *a);
void map_reserve(struct map *m,
                 uint32_t n); /* room for so many keys: growing leaves the old room */
/* Sets key to value; returns true if the key was new. */
bool map_put(struct map *m, const void *key, size_t len, uint64_t value);
bool map_get(const struct map *m, const void *key, size_t len, uint64_t *value);
/* The same for 0-terminated strings. */
bool map_puts(struct map *m, const char *key, uint64_t value);
bool map_gets(const struct map *m, const char *key, uint64_t *value);

/* The project's one content hash (XXH3, 64 bit): stable across machines and runs. */
uint64_t hash_bytes(const void *p, size_t n);

#endif
