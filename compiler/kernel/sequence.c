/* sequence.c: which kernels are one launch of one block (sequence.h), by what the cost model says of
 * them, and the configs of that. */
#include "kernel/sequence.h"

#include <math.h>

#include "kernel/cost.h"
#include "kernel/space.h"

bool sequence_takes(const struct kernel *k) {
    enum { MOST_ELEMENTS = 1 << 15, MOST_BYTES = 1 << 18 }; /* about 2 us of a multiprocessor */
    bool rows =
        k->kind == KERNEL_POINTWISE || k->kind == KERNEL_REDUCE || k->kind == KERNEL_SCAN;
    if (k->limits->kind != DEVICE_CUDA || !rows || k->landing || k->lists || k->columns) return false;
    if (k->of_vector || k->wide_index || k->sizes.n || k->steps) return false;
    int64_t elements = size_of(k, AXIS_X) * size_of(k, AXIS_R);
    return elements <= MOST_ELEMENTS && k->bytes_read + k->bytes_written <= MOST_BYTES;
}

/* Does each block of the layout only compute and store its own elements? */
static bool stands_alone(const struct layout *y) {
    return y->split == 1 && y->cluster <= 1 && !y->blocks && !y->look_back && !y->hits &&
           y->stages <= 1 && !y->kept && !y->mirrored;
}

/* Blocks that the one of the sequence goes through. */
static int64_t turns_of(const struct kernel *k, const struct layout *y) {
    return tile_count(size_of(k, AXIS_X), y->bx) * (y->grid_r ? layout_column_tiles(k, y) : 1);
}

struct best {
    const struct kernel *k;
    struct config config;
    double us;
    struct arena *arena;
};

static void try(struct best *b, struct config c) {
    struct layout y;
    if (kernel_layout(b->k, &c, &y, b->arena) || !stands_alone(&y)) return;
    double us = cost_in_turns(b->k, &y, (double)turns_of(b->k, &y));
    if (us < b->us) b->us = us, b->config = c;
}

/* Column steps of a tile that has all of a row, if that is few; else a few. */
static int steps_of(int64_t nr, int step) {
    enum { MOST = 8 };
    int u = 1;
    while (u < MOST && (int64_t)step * u < nr) u *= 2;
    return u;
}

static void try_columns(struct best *b, int threads, int vec, int t1, int rows) {
    int64_t nr = size_of(b->k, AXIS_R);
    int step = t1 * vec, x = threads / t1 * rows, u = steps_of(nr, step);
    bool more = rows > 1;
    if (b->k->kind == KERNEL_REDUCE)
        try(b, CONFIG(K(x, x), K(r, (int)round_up(nr, step)), K(warps, threads / b->k->limits->warp),
                      K(vec, vec), K(keep, 1), K(rows, more ? rows : 0)));
    for (int few = 1; few <= u; few *= u > 1 ? u : 2)
        try(b, CONFIG(K(x, x), K(r, step * few), K(warps, threads / b->k->limits->warp), K(vec, vec),
                      K(rows, more ? rows : 0)));
}

static void try_rows(struct best *b, int threads, int vec, int t0) {
    int64_t nr = size_of(b->k, AXIS_R);
    int t1 = threads / t0, u = steps_of(nr, t1), warps = threads / b->k->limits->warp;
    if (b->k->kind == KERNEL_REDUCE)
        try(b, CONFIG(K(x, t0 * vec), K(r, (int)round_up(nr, t1)), K(warps, warps), K(vec, vec),
                      K(keep, 1)));
    for (int few = 1; few <= u; few *= u > 1 ? u : 2)
        try(b, CONFIG(K(x, t0 * vec), K(r, t1 * few), K(warps, warps), K(vec, vec)));
}

/* The best config of a part with so many warps, all of which take part; us is infinite if there is
 * none. Finer grids than a sequence's elements are worth are not tried. */
static struct best best_of(const struct kernel *k, int warps, struct arena *a) {
    struct best b = {.k = k, .us = INFINITY, .arena = a};
    int threads = warps * k->limits->warp;
    bool across = k->rows_inner && k->kind != KERNEL_POINTWISE;
    enum axis along = across ? AXIS_X : AXIS_R;
    for (int vec = 1, most = widest_vector(k, along); vec <= most; vec *= 2)
        for (int t = 1; t <= threads; t *= 2) {
            if (across)
                try_rows(&b, threads, vec, t);
            else
                for (int rows = 1; rows <= 4; rows *= 2) try_columns(&b, threads, vec, t, rows);
        }
    return b;
}

static bool is_only_warps(const struct kernel *k, const struct config *c) {
    int warps = c->knob[KNOB_warps];
    for (int i = 0; i < KNOB_COUNT; i++)
        if (i != KNOB_warps && c->knob[i]) return false;
    return warps > 0 && warps <= k->limits->max_threads_block / k->limits->warp &&
           !(warps & (warps - 1));
}

const char *sequence_config(const struct sequence *s, int part, const struct config *c,
                            struct config *out, struct arena *a) {
    const struct kernel *k = s->parts[part];
    if (!is_only_warps(k, c)) return "a sequence takes `warps` alone, a power of two";
    struct best b = best_of(k, c->knob[KNOB_warps], a);
    if (b.us == INFINITY)
        return arena_printf(a, "part %d has no layout of %d warps", part, c->knob[KNOB_warps]);
    *out = b.config;
    return NULL;
}

/* us: a launch; and from one part to the next: a barrier, and what has just been stored comes from
 * L2. */
static const double LAUNCH = 1.1, BETWEEN = 0.4;

static double part_us(const struct kernel *k, int warps, struct arena *a) {
    struct arena *scratch = arena_within(a);
    double us = best_of(k, warps, scratch).us;
    arena_free(scratch);
    return us;
}

double sequence_cost(const struct sequence *s, const struct config *c, struct arena *a) {
    double us = LAUNCH;
    if (!is_only_warps(s->parts[0], c)) return INFINITY;
    for (int i = 0; i < s->n; i++)
        us += part_us(s->parts[i], c->knob[KNOB_warps], a) + (i ? BETWEEN : 0);
    return us;
}

enum { LEAST_WARPS = 2, MOST_WARPS = 32, N_WARPS = 5 };

int sequence_configs(const struct sequence *s, struct arena *a, const struct config **out) {
    struct candidate all[N_WARPS];
    int n = 0;
    for (int warps = LEAST_WARPS; warps <= MOST_WARPS; warps *= 2) {
        struct candidate x = {.c = CONFIG(K(warps, warps))};
        x.cost = sequence_cost(s, &x.c, a);
        if (x.cost == INFINITY) continue;
        int at = n++;
        for (; at > 0 && all[at - 1].cost > x.cost; at--) all[at] = all[at - 1];
        all[at] = x;
    }
    struct config *list = NEW_ARRAY(a, struct config, n);
    for (int i = 0; i < n; i++) list[i] = all[i].c;
    *out = list;
    return n;
}

/* us of each kernel as a part, by warps. */
struct part_times {
    double of[N_WARPS];
};

static void time_parts(const struct kernel *const *kernels, int from, int end,
                       struct part_times *us, struct arena *a) {
    for (int i = from; i < end; i++)
        for (int w = 0; w < N_WARPS; w++) us[i].of[w] = part_us(kernels[i], LEAST_WARPS << w, a);
}

/* As a launch. One block is a kernel, too, whose cost is known better than a small scan's. */
static double alone_us(const struct kernel *k, const struct part_times *us, struct arena *a) {
    double least = kernel_least_cost(k, NULL, a);
    for (int w = 0; w < N_WARPS; w++) least = fmin(least, LAUNCH + us->of[w]);
    return fmax(LAUNCH, least);
}

/* From `from` on, where a sequence saves most; from itself if it saves nothing. */
static int last_of(const struct kernel *const *kernels, int from, int end,
                   const struct part_times *us, struct arena *a) {
    const double WORTH = 0.05; /* us: what the model may be off by */
    double apart = 0, together[N_WARPS], most = WORTH;
    int last = from;
    for (int w = 0; w < N_WARPS; w++) together[w] = LAUNCH - BETWEEN;
    for (int i = from; i < end && i < from + SEQUENCE_MOST; i++) {
        double least = INFINITY;
        apart += alone_us(kernels[i], &us[i], a);
        for (int w = 0; w < N_WARPS; w++) {
            together[w] += us[i].of[w] + BETWEEN;
            least = fmin(least, together[w]);
        }
        if (i > from && apart - least > most) most = apart - least, last = i;
    }
    return last;
}

void sequences_find(const struct kernel *const *kernels, const bool *takes, int n, int *length,
                    struct arena *a) {
    struct part_times *us = NEW_ARRAY(a, struct part_times, n);
    for (int i = 0, end = 0, last; i < n; i = last + 1) {
        length[i] = 1;
        last = i;
        if (end <= i) {
            for (end = i; end < n && takes[end]; end++) {}
            if (end - i > 1) time_parts(kernels, i, end, us, a);
        }
        if (end - i > 1) last = last_of(kernels, i, end, us, a);
        length[i] = last - i + 1;
        for (int j = i + 1; j <= last; j++) length[j] = 0;
    }
}
