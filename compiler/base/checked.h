/* checked.h: arithmetic on sizes, which programs choose: no product or sum wraps round.
 *
 *   *_fits      false where the result has no 64 bits; *out is then untouched
 *   sat_*       the nearest number there is; INT64_MAX and INT64_MIN stand for "any" and stay
 *   array_bytes SIZE_MAX, which no allocator has, where there are more bytes than that */
#ifndef WS_BASE_CHECKED_H
#define WS_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool add_fits(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}

static inline bool mul_fits(int64_t a, int64_t b, int64_t *out) {
    int64_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}

static inline int64_t sat_add(int64_t a, int64_t b) {
    int64_t r;
    if (a == INT64_MAX || b == INT64_MAX) return INT64_MAX;
    if (a == INT64_MIN || b == INT64_MIN) return INT64_MIN;
    return add_fits(a, b, &r) ? r : a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t sat_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0) return 0;
    if (a == INT64_MAX || b == INT64_MAX || a == INT64_MIN || b == INT64_MIN || !mul_fits(a, b, &r))
        return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
    return r;
}

/* Towards the smaller; not of INT64_MIN by -1. */
static inline int64_t floor_div(int64_t a, int64_t b) {
    // cppcheck-suppress zerodivcond ; callers know their b
    int64_t q = a / b;
    // cppcheck-suppress zerodivcond
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* With the sign of b; b > 0. */
static inline int64_t floor_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

static inline size_t array_bytes(int64_t n, size_t each) {
    size_t r;
    return n < 0 || __builtin_mul_overflow((size_t)n, each, &r) ? SIZE_MAX : r;
}

#endif
