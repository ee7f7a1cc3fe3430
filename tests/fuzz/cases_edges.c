/* cases_edges.c: kinds of kernels x sizes x dtypes.
 *
 *   "graph(%x: $t[3, $n]) {\n %s = softmax(%x, -1)\n ..."  with  n = 257, t = bf16
 *
 * The sizes lie around what a kernel counts in: nothing and one, a vector of 16 bytes, a warp, a
 * block, and primes, which nothing divides. Every kind meets every size; each meeting takes another
 * dtype of those that the kind has, and sizes around a vector take all of them. */
#include <string.h>

#include "tests/fuzz/cases.h"

static const int sizes[] = {0,   1,   2,   3,   4,   5,   6,   7,   8,    9,    12,   15,   16,
                            17,  24,  31,  32,  33,  63,  64,  65,  127,  128,  129,  131,  192,
                            251, 255, 256, 257, 509, 511, 512, 513, 1021, 1023, 1024, 1025, 2053};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* $t is the dtype, $n the size, $2 twice, $3 three more. */
struct kind {
    const char *dtypes; /* names; all of them in turn */
    int least, most;    /* sizes */
    const char *text;
};

#define FLOATS "f32 bf16 f16 f64"
#define NUMBERS "f32 i64 bf16 i32 f16 f64"
#define ALL "f32 bool i64 bf16 i32 f16 f64"

static const struct kind kinds[] = {
    {NUMBERS, 0, 5000,
     "graph(%x: $t[$n], %y: $t[$n]) {\n %a = add(%x, %y)\n %b = mul(%a, 3)\n %c = relu(%b)\n"
     " return %c\n}\n"},
    {"bool", 0, 5000,
     "graph(%x: $t[$n], %y: $t[$n]) {\n %a = logical_xor(%x, %y)\n %b = logical_not(%x)\n"
     " return %a, %b\n}\n"},
    {FLOATS, 0, 5000, /* broadcast along rows and along columns */
     "graph(%x: $t[3, $n], %b: $t[$n], %c: $t[3, 1]) {\n %a = add(%x, %b)\n %m = mul(%a, %c)\n"
     " %y = gelu(%m)\n return %y\n}\n"},
    {NUMBERS, 0, 5000, "graph(%x: $t[$n, 2], %y: $t[$n, 1]) {\n %z = sub(%x, %y)\n return %z\n}\n"},
    {ALL, 0, 5000, /* compared and selected */
     "graph(%x: $t[$n], %y: $t[$n]) {\n %c = ge(%x, %y)\n %w = where(%c, %x, %y)\n"
     " return %c, %w\n}\n"},
    {ALL, 0, 5000,
     "graph(%x: $t[2, $n]) {\n %y = to(%x, f32)\n %z = to(%x, i64)\n return %y, %z\n}\n"},
    {FLOATS, 0, 5000,
     "graph(%x: $t[$n]) {\n %y = to(%x, bf16)\n %z = to(%x, bool)\n return %y, %z\n}\n"},
    /* rows that are reduced */
    {FLOATS, 1, 5000, "graph(%x: $t[3, $n]) {\n %s = softmax(%x, -1)\n return %s\n}\n"},
    {FLOATS, 1, 5000, "graph(%x: $t[$n, 3]) {\n %s = log_softmax(%x, -1)\n return %s\n}\n"},
    {ALL, 0, 5000, "graph(%x: $t[5, $n]) {\n %s = sum(%x, 1)\n return %s\n}\n"},
    {ALL, 0, 5000, "graph(%x: $t[$n, 5]) {\n %s = sum(%x, 1)\n return %s\n}\n"},
    {NUMBERS, 0, 5000, "graph(%x: $t[$n]) {\n %s = sum(%x)\n return %s\n}\n"},
    {NUMBERS, 1, 5000,
     "graph(%x: $t[1, $n]) {\n %a = amax(%x, 1)\n %b = amin(%x, 1)\n return %a, %b\n}\n"},
    {FLOATS, 1, 5000,
     "graph(%x: $t[2, $n], %w: $t[$n], %b: $t[$n]) {\n %y = layer_norm(%x, [$n], %w, %b)\n"
     " return %y\n}\n"},
    {FLOATS, 2, 5000,
     "graph(%x: $t[4, $n]) {\n %m = mean(%x, 1, True)\n %v = var(%x, 1)\n %d = sub(%x, %m)\n"
     " return %d, %v\n}\n"},
    /* columns that are reduced, and the middle */
    {ALL, 0, 5000, "graph(%x: $t[$n, 7]) {\n %s = sum(%x, 0)\n return %s\n}\n"},
    {NUMBERS, 0, 1100, "graph(%x: $t[9, $n]) {\n %s = sum(%x, 0)\n return %s\n}\n"},
    {FLOATS, 1, 600, "graph(%x: $t[$n, 6]) {\n %s = softmax(%x, 0)\n return %s\n}\n"},
    {FLOATS, 1, 600, "graph(%x: $t[5, $n]) {\n %s = softmax(%x, 0)\n return %s\n}\n"},
    {NUMBERS, 1, 600, "graph(%x: $t[2, $n, 3]) {\n %s = amax(%x, 1)\n return %s\n}\n"},
    {FLOATS, 1, 300, "graph(%x: $t[2, 3, $n]) {\n %s = softmax(%x, 1)\n return %s\n}\n"},
    /* scanned along, and where an extremum is */
    {NUMBERS, 0, 2100, "graph(%x: $t[3, $n]) {\n %s = cumsum(%x, 1)\n return %s\n}\n"},
    {NUMBERS, 0, 2100, "graph(%x: $t[4, $n]) {\n %s = cummax(%x, 0)\n return %s\n}\n"},
    {NUMBERS, 1, 2100, "graph(%x: $t[3, $n]) {\n %s = argmax(%x, 1)\n return %s\n}\n"},
    /* not contiguous: transposed, with gaps, repeated, cut */
    {NUMBERS, 0, 1100,
     "graph(%x: $t[3, $n][1, 3], %y: $t[3, $n]) {\n %z = sub(%x, %y)\n return %z\n}\n"},
    {FLOATS, 1, 600, "graph(%x: $t[4, $n][1, 4]) {\n %s = log_softmax(%x, -1)\n return %s\n}\n"},
    {NUMBERS, 0, 600,
     "graph(%x: $t[$n, 6]) {\n %p = permute(%x, [1, 0])\n %z = mul(%p, 2)\n return %z\n}\n"},
    {ALL, 0, 600,
     "graph(%x: $t[3, $n][$3, 1], %y: $t[3, $n][$2, 2]) {\n %z = eq(%x, %y)\n return %z\n}\n"},
    {NUMBERS, 0, 600, "graph(%x: $t[3, $n][0, 1]) {\n %z = add(%x, 1)\n return %z\n}\n"},
    {FLOATS, 1, 600, "graph(%x: $t[3, $n][0, 1]) {\n %s = sum(%x, 1)\n return %s\n}\n"},
    {NUMBERS, 1, 600, "graph(%x: $t[$n, 4][1, 0]) {\n %s = amax(%x, 0)\n return %s\n}\n"},
    {NUMBERS, 0, 1100, /* rows that begin at an odd place */
     "graph(%x: $t[2, $3]) {\n %s = slice(%x, 1, 1, $m, 1)\n %t = slice(%x, 1, 0, $n, 1)\n"
     " %y = sub(%s, %t)\n return %y\n}\n"},
    {NUMBERS, 0, 1100,
     "graph(%x: $t[2, $2]) {\n %s = slice(%x, 1, 0, $2, 2)\n %y = mul(%s, 3)\n return %y\n}\n"},
    {NUMBERS, 0, 600,
     "graph(%x: $t[2, $3]) {\n %s = slice(%x, 1, 1, $m, 1)\n %y = sum(%s, 1)\n return %y\n}\n"},
    /* where an extremum is, and what moves elements */
    {NUMBERS, 1, 1100, "graph(%x: $t[3, $n]) {\n %i = argmax(%x, 1)\n return %i\n}\n"},
    {NUMBERS, 1, 600, "graph(%x: $t[$n, 5]) {\n %i = argmin(%x, 0)\n return %i\n}\n"},
    {ALL, 0, 600,
     "graph(%x: $t[2, $n], %y: $t[2, $3]) {\n %c = cat([%x, %y], 1)\n %z = eq(%c, 1)\n"
     " return %c, %z\n}\n"},
    {NUMBERS, 1, 600,
     "graph(%x: $t[3, $n]) {\n %p = pad(%x, [1, 2])\n %s = sum(%p, 1)\n return %p, %s\n}\n"},
    {NUMBERS, 1, 600,
     "graph(%x: $t[3, $n]) {\n %f = flip(%x, [1])\n %y = sub(%x, %f)\n return %y\n}\n"},
    {NUMBERS, 1, 600, /* rows taken by number */
     "graph(%x: $t[7, $n], %i: i64[$n]) {\n %j = remainder(%i, 7)\n"
     " %y = index_select(%x, 0, %j)\n %z = mul(%y, 2)\n return %z\n}\n"},
    /* products: rows, columns, depth */
    {NUMBERS, 0, 140, "graph(%x: $t[$n, 9], %y: $t[9, 7]) {\n %z = mm(%x, %y)\n return %z\n}\n"},
    {FLOATS, 0, 140,
     "graph(%x: $t[4, 6], %y: $t[6, $n], %b: $t[$n]) {\n %z = mm(%x, %y)\n %a = add(%z, %b)\n"
     " %g = gelu(%a)\n return %g\n}\n"},
    {NUMBERS, 0, 260, "graph(%x: $t[5, $n], %y: $t[$n, 3]) {\n %z = mm(%x, %y)\n return %z\n}\n"},
    {FLOATS, 0, 70,
     "graph(%x: $t[2, $n, 3], %y: $t[2, 3, $n]) {\n %z = bmm(%x, %y)\n return %z\n}\n"},
    {FLOATS, 1, 140,
     "graph(%x: $t[3, $n], %w: $t[17, $n]) {\n %z = linear(%x, %w)\n return %z\n}\n"},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const char *expand(struct arena *a, const char *text, const char *dtype, int n) {
    struct buf b = buf_new(a);
    for (; *text; text++) {
        if (*text != '$') {
            buf_putc(&b, *text);
            continue;
        }
        switch (*++text) {
        case 't': buf_puts(&b, dtype); break;
        case 'n': buf_printf(&b, "%d", n); break;
        case 'm': buf_printf(&b, "%d", n + 1); break;
        case '2': buf_printf(&b, "%d", 2 * n); break;
        case '3': buf_printf(&b, "%d", n + 3); break;
        default: WS_BUG("no such size");
        }
    }
    return b.p;
}

/* The names in "f32 bf16", one by one. */
static int split(struct arena *a, const char *names, const char **out) {
    int n = 0;
    for (const char *p = names; *p; p += *p == ' ') {
        size_t length = strcspn(p, " ");
        out[n++] = arena_strndup(a, p, length);
        p += length;
    }
    return n;
}

/* Sizes at which a vector begins or ends, for some dtype. */
static bool near_a_vector(int n) { return n >= 1 && n <= 9; }

void cases_edges(struct arena *a, case_vec *out) {
    for (int k = 0; k < N_KINDS; k++) {
        const char *dtypes[DT_COUNT];
        int n_dtypes = split(a, kinds[k].dtypes, dtypes);
        for (int s = 0; s < N_SIZES; s++) {
            if (sizes[s] < kinds[k].least || sizes[s] > kinds[k].most) continue;
            for (int t = 0; t < n_dtypes; t++) {
                if (!near_a_vector(sizes[s]) && t != (s + k) % n_dtypes) continue;
                struct case_graph g = {.text = expand(a, kinds[k].text, dtypes[t], sizes[s]),
                                       .every = 64,
                                       .old = (s + t) % 3 == 0};
                vec_push(a, out, g);
            }
        }
    }
}
