/* vec.h: a growable array in an arena.
 *
 *   VEC(int) xs = {0};
 *   vec_push(arena, &xs, 42);
 *   for (uint32_t i = 0; i < xs.n; i++) use(xs.at[i]);
 *
 * Growing copies: pointers into the array die on a push, 32-bit ids do not. That is why IRs refer
 * by id. */
#ifndef WS_BASE_VEC_H
#define WS_BASE_VEC_H

#include <string.h>

#include "base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *at;                                                                                     \
        uint32_t n, cap;                                                                           \
    }

/* Make room for one more element; returns the (possibly moved) data. */
static inline void *vec_grow_(struct arena *a, void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    uint32_t want = *cap ? *cap * 2 : 8;
    void *p = arena_alloc(a, want * size);
    if (n) memcpy(p, at, n * size);
    *cap = want;
    return p;
}

#define vec_push(arena, v, x)                                                                      \
    ((v)->at = vec_grow_((arena), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at),                    \
     (v)->at[(v)->n] = (x), (v)->n++)

/* Room for so many in all, where that is known: growing leaves as much behind as it ends with. */
#define vec_reserve(arena, v, want)                                                                \
    do {                                                                                           \
        uint32_t room_ = (want);                                                                   \
        if ((v)->cap >= room_) break;                                                              \
        void *old_ = (v)->at;                                                                      \
        (v)->at = arena_alloc((arena), room_ * sizeof *(v)->at);                                   \
        if ((v)->n) memcpy((v)->at, old_, (v)->n * sizeof *(v)->at);                               \
        (v)->cap = room_;                                                                          \
    } while (0)

#define vec_last(v) ((v)->at[(v)->n - 1])

#endif
