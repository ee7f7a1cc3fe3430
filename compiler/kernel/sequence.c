/* sequence.c: which kernels are one launch (sequence.h), by what the cost model says of them, and
 * the configs of that. */
#include "kernel/sequence.h"

#include <math.h>

#include "kernel/cost.h"
#include "kernel/space.h"

/* us: a launch; from one part to the next a barrier, and what has just been stored comes from L2;
 * a part's barriers, of each warp. And of what a part takes by itself, from memory, what it takes
 * from L2. A softmax and a norm of 1344 elements take an H200 1.78 us by 8 warps in turn, 2.09 by
 * 16, and 2.36 as launches; two norms of [32, 32] 1.54 and 2.40, three parts of 320 elements 2.47
 * and 3.70. */
static const double LAUNCH = 1.1, BETWEEN = 0.1, OF_WARP = 0.009, OF_PART = 0.6;
enum { N_WARPS = RANKED_WARPS };

/* Are its blocks of rows alone, and of no others' launches? What lands by an index does, compared
 * with each place (stands_alone: no lists of sources). */
static bool is_of_rows(const struct kernel *k) {
    bool rows = k->kind == KERNEL_POINTWISE || k->kind == KERNEL_REDUCE || k->kind == KERNEL_SCAN;
    if (!rows || k->lists || k->columns || k->of_vector) return false;
    return !k->wide_index && !k->sizes.n && !k->steps && kernel_size(k, AXIS_X) > 0 &&
           kernel_size(k, AXIS_R) > 0;
}

/* Does a launch matter more than that all parts have the same warps? Two transposes of 3 MB each
 * take an H200 10.1 us so, and 5.6 as launches. */
static bool goes_beside(const struct kernel *k) {
    const double MOST_BYTES = 1 << 18;
    return is_of_rows(k) && k->bytes_read + k->bytes_written <= MOST_BYTES;
}

/* Is all of it little work for one block, about 2 us of a multiprocessor? Of scans, whose threads
 * wait for each other in each turn, less: two of 6480 elements take an H200 3.5 us as one block's,
 * and 2.8 as launches. */
static bool goes_in_turn(const struct kernel *k) {
    enum { MOST_ELEMENTS = 1 << 15, MOST_SCANNED = 1 << 10 };
    int64_t elements = size_of(k, AXIS_X) * size_of(k, AXIS_R);
    if (k->kind == KERNEL_SCAN && elements > MOST_SCANNED) return false;
    return goes_beside(k) && elements <= MOST_ELEMENTS;
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
    int64_t turns = turns_of(b->k, &y), steps = tile_count(size_of(b->k, AXIS_R), y.br);
    if (b->k->kind == KERNEL_SCAN && turns * steps > 1) return;
    double us = cost_in_turns(b->k, &y, (double)turns);
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
        try(b,
            CONFIG(K(x, x), K(r, (int)round_up(nr, step)), K(warps, threads / b->k->limits->warp),
                   K(vec, vec), K(keep, 1), K(rows, more ? rows : 0)));
    for (int few = 1; few <= u; few *= u > 1 ? u : 2)
        try(b, CONFIG(K(x, x), K(r, step * few), K(warps, threads / b->k->limits->warp),
                      K(vec, vec), K(rows, more ? rows : 0)));
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

/* The same of a part beside others, with all blocks at once. */
static struct best best_beside(const struct kernel *k, int warps, struct arena *a) {
    struct best b = {.k = k, .us = INFINITY, .arena = a};
    struct ranked r = {.allows = stands_alone};
    int w = 0;
    kernel_rank_by_warps(k, &r, a);
    while (1 << w < warps) w++;
    b.us = fmax(0, r.us[w] - LAUNCH);
    b.config = r.of[w];
    return b;
}

const char *sequence_config(const struct sequence *s, int part, const struct config *c,
                            struct config *out, struct arena *a) {
    const struct kernel *k = s->parts[part];
    int warps = c->knob[KNOB_warps];
    if (!is_only_warps(k, c)) return "a sequence takes `warps` alone, a power of two";
    struct best b = (s->beside ? best_beside : best_of)(k, warps, a);
    if (b.us == INFINITY) return arena_printf(a, "part %d has no layout of %d warps", part, warps);
    *out = b.config;
    return NULL;
}

/* us of a kernel as a part, by warps, without a launch, and as a launch. */
struct part_times {
    double in_turn[N_WARPS], beside[N_WARPS], alone;
};

static void time_in_turn(const struct kernel *k, struct part_times *us, struct arena *a) {
    for (int w = 0; w < N_WARPS; w++) {
        struct arena *scratch = arena_within(a);
        us->in_turn[w] = OF_PART * best_of(k, 1 << w, scratch).us;
        arena_free(scratch);
    }
}

static void time_beside(const struct kernel *k, struct part_times *us, struct arena *a) {
    struct arena *scratch = arena_within(a);
    struct ranked r = {.allows = stands_alone};
    kernel_rank_by_warps(k, &r, scratch);
    for (int w = 0; w < N_WARPS; w++) us->beside[w] = fmax(0, r.us[w] - LAUNCH);
    arena_free(scratch);
}

static struct part_times no_times(void) {
    struct part_times us = {.alone = 0};
    for (int w = 0; w < N_WARPS; w++) us.in_turn[w] = us.beside[w] = INFINITY;
    return us;
}

static struct part_times times_of(const struct kernel *k, struct arena *a) {
    struct part_times us = no_times();
    if (goes_in_turn(k)) time_in_turn(k, &us, a);
    if (goes_beside(k)) time_beside(k, &us, a);
    struct arena *scratch = arena_within(a); /* all configs that are looked at */
    us.alone = fmax(LAUNCH, kernel_least_cost(k, NULL, scratch));
    arena_free(scratch);
    return us;
}

/* us of the launch of n of them with so many warps. Beside each other the longest is waited for,
 * and others take a part of its time from it. */
static double sequence_us(const struct part_times *us, int n, bool beside, int w) {
    const double TAKEN = 0.3;
    double sum = 0, most = 0;
    for (int i = 0; i < n; i++) {
        double one = beside ? us[i].beside[w] : us[i].in_turn[w];
        sum += one;
        most = fmax(most, one);
    }
    if (most == INFINITY) return most;
    return LAUNCH + (beside ? most + TAKEN * (sum - most)
                            : sum + BETWEEN * (n - 1) + OF_WARP * (1 << w) * n);
}

int sequence_configs(const struct sequence *s, struct arena *a, const struct config **out) {
    struct candidate all[N_WARPS];
    struct part_times *us = NEW_ARRAY(a, struct part_times, s->n);
    int n = 0;
    for (int i = 0; i < s->n; i++) us[i] = times_of(s->parts[i], a);
    for (int w = 0; w < N_WARPS; w++) {
        struct candidate x = {.c = CONFIG(K(warps, 1 << w))};
        x.cost = sequence_us(us, s->n, s->beside, w);
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

/* ---- which ----------------------------------------------------------------------------------- */

struct finding {
    const struct part_times *us; /* by kernel */
    const bool *takes;
    int n;
    independent_fn *independent;
    void *ctx;
    double *least; /* us of all from kernel i on */
    struct sequences out;
};

/* Kernel i and those behind it, of which what follows them is known. */
static void extend(struct finding *f, int i, bool beside) {
    const double WORTH = 0.05; /* us: what the model may be off by */
    for (int n = 2; n <= SEQUENCE_MOST && i + n <= f->n && f->takes[i + n - 1]; n++) {
        double us = INFINITY;
        if (beside && !f->independent(i, i + n - 1, f->ctx)) return;
        for (int w = 0; w < N_WARPS; w++) us = fmin(us, sequence_us(&f->us[i], n, beside, w));
        if (us == INFINITY) return;
        us += WORTH + f->least[i + n];
        if (us >= f->least[i]) continue;
        f->least[i] = us;
        f->out.length[i] = n;
        f->out.beside[i] = beside;
    }
}

struct sequences sequences_find(const struct kernel *const *kernels, const bool *takes, int n,
                                independent_fn *independent, void *ctx, struct arena *a) {
    struct part_times *us = NEW_ARRAY(a, struct part_times, n);
    struct finding f = {us,
                        takes,
                        n,
                        independent,
                        ctx,
                        NEW_ARRAY(a, double, n + 1),
                        {NEW_ARRAY(a, int, n), NEW_ARRAY(a, bool, n)}};
    const struct part_times never = no_times();
    for (int i = n - 1; i >= 0; i--) {
        bool near = (i > 0 && takes[i - 1]) || (i + 1 < n && takes[i + 1]);
        f.out.length[i] = 1;
        f.least[i] = f.least[i + 1];
        us[i] = never;
        if (!takes[i] || !near || !goes_beside(kernels[i])) continue;
        us[i] = times_of(kernels[i], a);
        f.least[i] += us[i].alone;
        extend(&f, i, false);
        extend(&f, i, true);
    }
    for (int i = 0; i < n; i += f.out.length[i])
        for (int j = i + 1; j < i + f.out.length[i]; j++) f.out.length[j] = 0;
    return f.out;
}
