/* chained_layout.c: what a config means for chained products: tiles of factors, stages, barriers,
 * and why it is illegal. Asks a finished body; fills in struct chained. */
#include <stdlib.h>

#include "kernel/chained_parts.h"

enum { SIXTEEN = 16, OCTET = 8, LINE_BYTES = 64, PLANES_LINE = 32 /* elements */ };

static bool has_planes(const struct kernel *k) {
    return k->values.at[k->dot].dtype == DT_F32 && k->precision != PRECISION_TF32;
}

static int line_of(int bytes) { return bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32; }

static struct factor factor_of(const struct kernel *k, value_id v, enum axis axis, enum axis along,
                               int rows, int depth) {
    const struct value_node *x = load_of(k, v);
    enum dtype t = k->values.at[k->dot].dtype;
    struct factor f = {.value = v,
                       .axis = axis,
                       .along = along,
                       .dtype = t,
                       .rows = rows,
                       .depth = depth,
                       .bytes = rows * depth * dtype_bytes(t)};
    int piece = factor_piece(&f);
    bool whole = load_is_vector(k, x, along, piece) && !x->guarded;
    f.across = !whole && (load_is_vector(k, x, axis, piece) || load_stride(k, x, axis) == 1);
    f.whole = whole || (load_is_vector(k, x, axis, piece) && !x->guarded);
    f.line = line_of((f.across ? rows : depth) * dtype_bytes(t));
    return f;
}

/* A size in whole lines of 64 bytes, which take as long to copy as shorter ones, if it has one. */
static int filled(const struct kernel *k, int64_t n) {
    int line = LINE_BYTES / dtype_bytes(k->values.at[k->dot].dtype);
    return (int)round_up(n, has_planes(k) ? PLANES_LINE : n > SIXTEEN ? line : SIXTEEN);
}

/* A number that divides e wherever it is. */
static int64_t divisor_of(const struct kernel *k, ex e) {
    int64_t number;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (ex_is_const(k->ex, e, &number)) return llabs(number);
    if (kind == EX_ADD)
        return common_divisor(divisor_of(k, ex_lhs(k->ex, e)), divisor_of(k, ex_rhs(k->ex, e)));
    if (kind == EX_MUL && ex_is_const(k->ex, ex_rhs(k->ex, e), &number))
        return llabs(number) * divisor_of(k, ex_lhs(k->ex, e));
    return 1;
}

/* Tiles are boxes of a tensor of matrices, of which that of batch z is number `matrix`, whatever
 * batches have to do with memory. */
static void find_boxes(const struct kernel *k, struct factor *f) {
    const struct value_node *x = load_of(k, f->value);
    enum axis line = f->across ? f->axis : f->along, down = f->across ? f->along : f->axis;
    int64_t step, lo, hi, all, bytes = dtype_bytes(f->dtype);
    ex rest = x->index;
    if (!f->whole || !index_take(k, &rest, k->axis[line], &step) || step != 1 ||
        !index_take(k, &rest, k->axis[down], &f->pitch))
        return;
    for (int a = 0; a < AXIS_COUNT; a++)
        if (a != AXIS_Z && k->axis[a] && ex_uses(k->ex, rest, k->axis[a])) return;
    int64_t unit = divisor_of(k, rest);
    int piece = factor_piece(f);
    if (unit == 0) unit = piece; /* there is one */
    ex_range(k->ex, rest, &lo, &hi);
    if (lo < 0 || hi == INT64_MAX || unit % piece || f->pitch % piece || f->pitch < 1) return;
    f->matrix = ex_div(k->ex, rest, ex_const(k->ex, unit));
    all = hi / unit + 1;
    f->map = (struct tensor_map){.dtype = f->dtype,
                                 .rank = 3,
                                 .size = {kernel_size(k, line), kernel_size(k, down), all},
                                 .stride = {bytes, f->pitch * bytes, unit * bytes},
                                 .box = {f->line / bytes, f->across ? f->depth : f->rows, 1},
                                 .swizzle = f->line,
                                 .tf32 = f->dtype == DT_F32};
    f->boxed = !tensor_map_illegal(&f->map, k->arena);
}

/* Boxes of the image of a factor that is turned, which begins at byte `image` of all: its end. */
static int64_t find_turned_boxes(const struct kernel *k, struct factor *f, int64_t image) {
    enum { TILE = 256 };
    int64_t bytes = dtype_bytes(f->dtype), rows = kernel_size(k, f->axis),
            batches = kernel_size(k, AXIS_Z);
    f->turned = f->whole = true;
    f->across = false;
    f->line = line_of(f->depth * (int)bytes);
    f->image = image;
    f->pitch = round_up(kernel_size(k, f->along), OCTET);
    f->matrix = k->axis[AXIS_Z];
    f->map = (struct tensor_map){.dtype = f->dtype,
                                 .rank = 3,
                                 .size = {f->pitch, rows, batches},
                                 .stride = {bytes, f->pitch * bytes, rows * f->pitch * bytes},
                                 .box = {f->line / (int)bytes, f->rows, 1},
                                 .swizzle = f->line};
    f->boxed = !tensor_map_illegal(&f->map, k->arena);
    return round_up(image + batches * rows * f->pitch * bytes, TILE);
}

/* Does the tile of a second product's right factor lie in memory as that of a first one's does? So
 * it is where gradients are made: dK sums up dS^T Q, where S^T is K Q^T. */
static bool is_same_tile(const struct kernel *k, const struct factor *b, const struct factor *c) {
    const struct value_node *x = load_of(k, b->value), *y = load_of(k, c->value);
    return x->buffer == y->buffer && !x->n_args && !y->n_args && b->across != c->across &&
           b->whole == c->whole && b->line == c->line && b->bytes == c->bytes &&
           kernel_size(k, b->along) == kernel_size(k, c->axis) &&
           ex_subst(k->ex, x->index, &k->axis[b->along], &k->axis[c->axis], 1) == y->index;
}

/* Tiles of what is between that a thread has at a time. */
static int tiles_between(const struct chained *x) {
    return x->n_first > x->n_second ? x->n_first : x->n_second;
}

bool chained_is_in_turn(const struct layout *y) {
    return y->chained->by_warp || y->chained->n_second > 1 || y->split > 1;
}

bool chained_lags(const struct layout *y) {
    return !chained_is_in_turn(y) && !y->chained->c[0].shared;
}

int chained_rows_barrier(const struct layout *y) {
    return 2 * y->stages + (y->chained->ping_pong ? y->chained->warpgroups : 0);
}

int chained_barriers(const struct layout *y) {
    return chained_rows_barrier(y) + (y->chained->persists ? 2 : 0);
}

int chained_part_rows(const struct kernel *k, const struct chained *x) {
    bool one = x->warp_rows == SIXTEEN && kernel_size(k, AXIS_M) <= OCTET;
    return one ? 1 : x->warp_rows / OCTET;
}

int chained_part_floats(const struct kernel *k, const struct chained *x) {
    int rows = chained_part_rows(k, x), n = chained_maximum(k) == NO_VALUE ? 0 : rows;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                     !is_second_product(k, v)
                 ? rows
                 : 0;
    return n + x->n_second * rows * x->columns / OCTET * 2;
}

int chained_join_bytes(const struct kernel *k, const struct chained *x) {
    return x->shares > 1 ? x->shares * k->limits->warp * chained_part_floats(k, x) * 4 : 0;
}

/* Do warps share a tile's columns, tn each? Where rows are few, a warp for each sixteen of them is
 * no more than one, which waits for all that it does. */
static const char *check_shares(const struct kernel *k, int n, int tn, struct chained *x,
                                struct arena *a) {
    x->warp_columns = tn ? tn : n;
    x->shares = n / x->warp_columns;
    if (!tn) return NULL;
    if (tn % SIXTEEN || n % tn || tn == n)
        return arena_printf(a, "warps cannot share n=%d columns by tn=%d: sixteens of them", n, tn);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && reduction_bytes(k, v) != 4)
            return "tn needs sums of floats";
    return NULL;
}

/* Few blocks share the columns of what is between, each a part: see emit/cuda_chained_parts.c. */
static const char *check_parts(const struct kernel *k, int n, const struct layout *y,
                               struct arena *a) {
    int64_t steps = (kernel_size(k, AXIS_N) + n - 1) / n;
    if (y->split == 1) return NULL;
    if (y->split > steps)
        return arena_printf(a, "split=%d but there are only %lld tiles of n=%d", y->split,
                            (long long)steps, n);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && reduction_bytes(k, v) != 4)
            return "split needs sums of floats";
    return NULL;
}

/* By warps: so many rows each. */
static const char *check_warps(const struct kernel *k, const struct config *c, struct layout *y,
                               struct chained *x, struct arena *a) {
    enum { MOST_REGISTERS = 216, MOST_OF_TWINS = 192, MOST_BESIDE_PLANES = 112, MOST_STAGES = 4 };
    int m = c->knob[KNOB_m], tm = c->knob[KNOB_tm];
    if (c->knob[KNOB_pingpong]) return "pingpong is a knob of mma=1";
    if (c->knob[KNOB_blocks]) return "chained products by warps have a block for each tile";
    for (int i = 0; i < x->n_first && x->planes; i++)
        if (x->a[i].line != 128 || x->b[i].line != 128) return "planes need lines of 128 bytes";
    for (int i = 0; i < x->n_second && x->planes; i++)
        if (x->c[i].line != 128) return "planes need lines of 128 bytes";
    if (tm != SIXTEEN && tm != 2 * SIXTEEN)
        return "chained products by warps need a tm of 16 or 32";
    if (m < tm || m % tm || m > 256) return arena_printf(a, "m=%d is no multiple of tm=%d", m, tm);
    if (y->stages > MOST_STAGES) return arena_printf(a, "mma=2 has %d stages at most", MOST_STAGES);
    x->warp_rows = tm;
    int n = c->knob[KNOB_n], tn = c->knob[KNOB_tn];
    if (tn && (m != tm || tm != SIXTEEN)) return "tn is for tiles of 16 rows, and needs tm=16";
    const char *bad = check_shares(k, n, tn, x, a);
    if (bad) return bad;
    n = x->warp_columns;
    bool narrow = dtype_bytes(x->a[0].dtype) == 2;
    int terms = narrow && x->n_second > 1 ? n : 0; /* of both; of f32 the sums are */
    int sums = tm * (tiles_between(x) * n + terms + x->n_second * x->columns) / k->limits->warp;
    int most = x->planes ? MOST_BESIDE_PLANES : x->n_second > 1 ? MOST_OF_TWINS : MOST_REGISTERS;
    if (sums > most) return arena_printf(a, "%d sums a thread; %d is the limit", sums, most);
    y->threads = m / tm * x->shares * k->limits->warp;
    return check_parts(k, c->knob[KNOB_n], y, a);
}

/* By warpgroups, of 64 rows each, and one that copies. While the second product of a step is under
 * way, its terms beside it, in 16 bits or tf32, the next step's sums are there; but for twins,
 * whose terms take the place of the step's sums: with registers for both, as of heads of 64 in
 * steps of 64, an H200 takes 1648 us for dK and dV of 4 x 32 x 4096 causal rows, 1594 in turn. */
static const char *check_warpgroups(const struct kernel *k, const struct config *c,
                                    struct layout *y, struct chained *x, struct arena *a) {
    enum {
        ROWS = 64,
        THREADS = 128,
        OTHERS = 40,
        MOST_STAGES = 8,
        MOST_OF_TURNS = 6,
        MOST_OF_BLOCKS = 5
    };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n];
    if (!k->limits->wgmma || !k->limits->tma) return "mma=1 needs sm_90a";
    int bytes = dtype_bytes(x->a[0].dtype);
    if (x->planes || bytes > 4) return "mma=1 chains products of 16 bits, or in tf32";
    if (c->knob[KNOB_tm] || c->knob[KNOB_tn]) return "tm and tn are no knobs of mma=1";
    x->warp_columns = n, x->shares = 1;
    x->ping_pong = c->knob[KNOB_pingpong];
    x->persists = c->knob[KNOB_blocks] > 0;
    if (x->ping_pong && m <= ROWS) return "pingpong needs two warpgroups: m of 128 or 192";
    if (x->ping_pong && y->stages > MOST_OF_TURNS)
        return arena_printf(a, "pingpong has %d stages at most", MOST_OF_TURNS);
    if (c->knob[KNOB_blocks] && (y->split > 1 || y->stages > MOST_OF_BLOCKS))
        return arena_printf(a, "blocks is for no split, and for %d stages at most", MOST_OF_BLOCKS);
    if (y->split > 1 && (m != ROWS || kernel_size(k, AXIS_M) > SIXTEEN))
        return "mma=1 shares columns of sixteen rows at most, and needs m=64";
    if (m % ROWS || m < ROWS || m > 3 * ROWS) return "mma=1 needs m of 64, 128 or 192";
    if (y->stages > MOST_STAGES) return arena_printf(a, "mma=1 has %d stages at most", MOST_STAGES);
    bool boxed = true;
    for (int i = 0; i < x->n_second; i++) boxed &= x->c[i].boxed;
    for (int i = 0; i < x->n_first; i++) {
        boxed &= x->a[i].boxed && x->b[i].boxed;
        if (x->a[i].across && x->a[i].line != 128) return "m=64 at least";
        if (bytes == 4 && (x->a[i].across || x->b[i].across))
            return "mma=1 takes tf32 along the depth";
    }
    if (!boxed) return "mma=1 needs factors that tensor maps take";
    x->warpgroups = m / ROWS;
    x->warp_rows = SIXTEEN;
    x->registers = x->warpgroups == 1 ? 0 : x->warpgroups == 2 ? 232 : 160;
    x->copier_registers = x->warpgroups == 1 ? 0 : x->warpgroups == 2 ? 40 : 32;
    if (x->warpgroups == 2 && x->n_second > 1) x->registers = 240, x->copier_registers = 24;
    int terms = x->n_second > 1 ? 0 : n * bytes / 8;
    int sums = tiles_between(x) * n / 2 + terms + x->n_second * x->columns / 2,
        most = x->registers ? x->registers : 232;
    if (sums + OTHERS > most)
        return arena_printf(a, "%d sums a thread; %d is the limit", sums, most - OTHERS);
    y->threads = (x->warpgroups + 1) * THREADS;
    return check_parts(k, n, y, a);
}

static const char *check_skip(const struct kernel *k, int n) {
    if (!k->questions.n) return "skip=1 needs a mask of data";
    return kernel_size(k, AXIS_N) <= n ? "skip=1 needs two tiles of n" : NULL;
}

const char *chained_layout(const struct kernel *k, const struct config *c, struct layout *y,
                           struct arena *a) {
    enum { TILE = 1024, BARRIERS = 128 };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = filled(k, kernel_size(k, AXIS_R));
    bool by_warp = c->knob[KNOB_mma] == 2;
    if (c->knob[KNOB_mma] != 1 && !by_warp) return "chained products need mma=1 or 2";
    if (n < SIXTEEN || n % SIXTEEN || n > 256) return "chained products need an n of sixteens";
    if (m < SIXTEEN || m % SIXTEEN || m > 256) return "chained products need an m of sixteens";
    if (c->knob[KNOB_k] || c->knob[KNOB_cluster] || c->knob[KNOB_fit] || c->knob[KNOB_make] ||
        c->knob[KNOB_band] || c->knob[KNOB_flat] || c->knob[KNOB_pairs] || c->knob[KNOB_tail])
        return "chained products have the knobs m, n, tm, tn, mma, stages, split, skip, "
               "pingpong, blocks and warps";
    y->stages = c->knob[KNOB_stages];
    if (y->stages < 2) return "chained products need 2 stages at least";
    struct chained *x = NEW(a, struct chained);
    x->by_warp = by_warp;
    x->planes = has_planes(k);
    x->columns = filled(k, kernel_size(k, AXIS_C));
    x->n_first = k->beside == NO_VALUE ? 1 : 2;
    x->n_second = k->twin == NO_VALUE ? 1 : 2;
    for (int i = 0; i < x->n_first; i++) {
        x->a[i] = factor_of(k, i ? k->beside_a : k->dot_a, AXIS_M, AXIS_R, m, depth);
        x->b[i] = factor_of(k, i ? k->beside_b : k->dot_b, AXIS_N, AXIS_R, n, depth);
        x->a[i].at = x->first;
        x->b[i].at = x->stage;
        x->first += (int)round_up(x->a[i].bytes, TILE);
        x->stage += (int)round_up(x->b[i].bytes, TILE);
        if (!by_warp) find_boxes(k, &x->a[i]), find_boxes(k, &x->b[i]);
    }
    for (int i = 0; i < x->n_second; i++) {
        struct factor *f = &x->c[i];
        *f = factor_of(k, i ? k->twin_b : k->second_b, AXIS_C, AXIS_N, x->columns, n);
        f->at = x->stage;
        if (!by_warp && f->dtype == DT_F32) x->images = find_turned_boxes(k, f, x->images);
        /* Lines of planes are swizzled as they are read. */
        for (int j = 0; j < x->n_first && !f->shared && !x->planes; j++) {
            f->shared = is_same_tile(k, &x->b[j], f);
            if (f->shared) f->at = x->b[j].at;
        }
        if (!f->shared) x->stage += (int)round_up(f->bytes, TILE);
        if (!by_warp && !f->turned) find_boxes(k, f);
    }
    const char *bad = (by_warp ? check_warps : check_warpgroups)(k, c, y, x, a);
    if (!bad && c->knob[KNOB_skip]) bad = check_skip(k, n);
    if (bad) return bad;
    x->skips = c->knob[KNOB_skip] == 1;
    x->barriers = x->first + y->stages * x->stage;
    int64_t smem = (int64_t)x->first + (int64_t)y->stages * x->stage;
    if (!by_warp) smem += BARRIERS + TILE + y->threads * 4; /* a word each: k_before */
    find_own(k, x);
    x->own_apart = x->n_own && !x->persists;
    int64_t own = (int64_t)(x->own_apart ? y->stages : x->warpgroups * 4) * n * x->own_floats * 4;
    if (smem + own > k->limits->smem_block) own = x->n_own = x->own_floats = x->own_apart = 0;
    x->own_bytes = (int)own;
    x->own_at = x->barriers + BARRIERS + y->threads * 4;
    smem += own;
    if (smem < chained_join_bytes(k, x)) smem = chained_join_bytes(k, x);
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory; %lld is the limit",
                            (long long)smem, (long long)k->limits->smem_block);
    if (c->knob[KNOB_warps] * k->limits->warp != y->threads)
        return arena_printf(a, "the tile takes %d warps, but warps=%d",
                            y->threads / k->limits->warp, c->knob[KNOB_warps]);
    y->smem = (int)smem;
    y->bx = m;
    y->br = n;
    y->ex = y->ur = 1;
    y->vec = 2;
    y->chained = x;
    x->resident = 1;
    if (x->warpgroups == 1 && 2 * (smem + 1024) <= k->limits->smem_unit) {
        x->resident = 2; /* each of half the registers, of which the copier leaves most */
        x->registers = 232, x->copier_registers = 24;
    }
    int64_t blocks = c->knob[KNOB_blocks],
            tiles = kernel_size(k, AXIS_Z) * tile_count(kernel_size(k, AXIS_M), m);
    if (blocks && blocks != x->resident)
        return arena_printf(a, "blocks=%lld, but a multiprocessor has %d", (long long)blocks,
                            x->resident);
    if (blocks && tiles <= blocks * k->limits->units) return "a block for each tile is at work";
    if (blocks && x->warpgroups == 3) return "three warpgroups have no registers for blocks";
    return NULL;
}
