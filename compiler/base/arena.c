/* arena.c: a list of chunks; allocation bumps a pointer in the newest one.
 *
 * Under the address sanitizer there are bytes behind each allocation that nobody may touch, as
 * behind one of malloc(). */
#include "base/arena.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/budget.h"

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined SANITIZED
#include <sanitizer/asan_interface.h>
enum { ZONE = 16 };
#define forbid(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define allow(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
enum { ZONE = 0 };
#define forbid(p, n) ((void)(p), (void)(n))
#define allow(p, n) ((void)(p), (void)(n))
#endif

struct chunk {
    struct chunk *next;
    size_t used, cap; /* bytes of data[] */
    _Alignas(16) unsigned char data[];
};

struct arena {
    struct chunk *head;
    size_t total;
    struct budget *budget; /* NULL: nobody counts */
    struct arena *owner;   /* frees it at the latest; NULL: nobody does */
    struct arena *inner;   /* the last of those that it owns; beside it are the others */
    struct arena *beside;
};

/* Large chunks are pages of their own, as zeroed as a chunk must be: what of one nobody touches
 * takes no memory, and all of it is the system's again when it is freed. malloc keeps holes of up
 * to 32 MB, and what it hands out of them is written whole to be zero. Tools that look for leaks
 * see into malloc's memory alone. */
enum { FIRST_CHUNK = 1 << 16, LARGE = ZONE ? INT_MAX : 1 << 20 };

enum { MACHINE_CANNOT = 3 }; /* exit code: WS_MACHINE */

static void *must(void *p) {
    if (!p) {
        fputs("warpsmith: out of memory\n", stderr);
        _exit(MACHINE_CANNOT);
    }
    return p;
}

static void *pages_new(size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void chunk_free(struct chunk *c) {
    allow(c->data, c->cap);
    if (c->cap < LARGE)
        free(c);
    else
        munmap(c, sizeof *c + c->cap);
}

static struct chunk *chunk_new(size_t cap, struct chunk *next) {
    size_t n = sizeof(struct chunk) + cap;
    struct chunk *c = must(cap < LARGE ? calloc(1, n) : pages_new(n));
    c->cap = cap;
    c->next = next;
    forbid(c->data, cap);
    return c;
}

struct arena *arena_new(void) {
    struct arena *a = must(calloc(1, sizeof *a));
    a->head = chunk_new(FIRST_CHUNK, NULL);
    return a;
}

struct arena *arena_within(struct arena *owner) {
    struct arena *a = arena_new();
    a->owner = owner;
    a->beside = owner->inner;
    owner->inner = a;
    return a;
}

static void leave_owner(struct arena *a) {
    if (!a->owner) return;
    struct arena **at = &a->owner->inner;
    while (*at != a) at = &(*at)->beside;
    *at = a->beside;
}

void arena_free(struct arena *a) {
    if (!a) return;
    while (a->inner) arena_free(a->inner);
    leave_owner(a);
    for (struct chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        chunk_free(c);
    }
    free(a);
}

void arena_charge(struct arena *a, struct budget *b) { a->budget = b; }

/* Who does not leave gets memory all the same: whoever began looks at the budget in the end. */
static void charge(struct budget *b, size_t n) {
    budget_memory(b, n);
    budget_step(b, 4 + n / 256);
}

void *arena_alloc(struct arena *a, size_t n) {
    size_t need = n < SIZE_MAX - 16 ? (n + 15) & ~(size_t)15 : SIZE_MAX;
    if (need == 0) need = 16;
    if (a->budget) charge(a->budget, need);
    if (need > PTRDIFF_MAX / 2) must(NULL); /* more than any address space has */
    struct chunk *c = a->head;
    if (c->cap - c->used < need + ZONE) {
        size_t cap = c->cap * 2;
        while (cap < need + ZONE) cap *= 2;
        c = a->head = chunk_new(cap, c);
    }
    void *p = c->data + c->used;
    c->used += need + ZONE;
    a->total += need;
    allow(p, n);
    return p;
}

void *arena_array(struct arena *a, size_t size, size_t n) {
    size_t bytes;
    return arena_alloc(a, __builtin_mul_overflow(size, n, &bytes) ? SIZE_MAX : bytes);
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

bool arena_owns(const struct arena *a, const void *p) {
    const unsigned char *at = p;
    for (const struct chunk *c = a->head; c; c = c->next)
        if (at >= c->data && at < c->data + c->used) return true;
    return false;
}

size_t arena_used(const struct arena *a) { return a->total; }
