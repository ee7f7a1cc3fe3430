/* operand.c: where the tiles of a product's factors come from on the matrix units:
 *
 *     a[m, k] bf16, rows of 4096      tiles of p0 as it is
 *     relu(a)[m, k] bf16              an image of relu(a), which a launch before writes
 *     a[m, k] f32                     tiles of p0, of which threads make three planes of bf16,
 *                                     which add up to a
 *     b[n, k] f32                     an image of three planes; mma=2: as a
 *     the same, pairs=2               tiles of p1, which become two planes of f16 where they lie
 *     a[m, k] f8                      tiles of p0; where there are no units for it, or sums are to
 *                                     be f32's own: an image of a in bf16, which has all of f8
 *     a[m, k] f32, in tf32            tiles of p0, which are rounded on their way
 *     the same, constants, of GBs,    an image of a, rounded, whose lines are stacked
 *         in rows that are long
 *     a[m, k] i8, to i32              tiles of p0
 *     a[k, m] f32, in tf32            mma=1: tiles of p0, which threads read into registers
 *     b[k, n] f32, in tf32            an image of b, rounded and across: the units take tf32 along
 *                                     the depth alone, and bytes
 *     a[i, k, pixel], rows i, pixel   an image of a; mma=2: pieces of p0, as large as are aligned
 *     the same, make=1                its tiles are made by warps of the block, out of what x
 *                                     reads, whatever that is: no image of it is in memory
 *     where(inside, x[window, k], 0)  an image of x alone, channels innermost, each element once;
 *                                     tiles are windows of it (im2col.c); of few channels
 *                                     the image has zeros around it, and lines of a tile are runs
 *                                     of neighbours, which overlap in memory
 *     the same, pixels innermost,     flat=2: tiles of p0, or of an image of x, channel by channel,
 *         in tf32 or f32              of pixels one behind the other, which threads read into
 *                                     registers tap by tap
 *     the depth is windows, in tf32   of more than a line of depth: an image of two planes of bf16,
 *                                     which hold more digits and may run along the rows, as the
 *                                     other factor's then do
 *
 * Which of these it is, is chosen here; where elements of an image and of a tile lie is in
 * operand_image.c, windows are in operand_windows.c, what warps make in operand_made.c. */
#include "kernel/operand_parts.h"

static bool is_byte(enum dtype t) { return t == DT_I8 || t == DT_U8; }

/* Is it a cast of an integer to a wider one? */
static bool widens(const struct kernel *k, const struct value_node *x) {
    if (x->kind != INST_CAST || dtype_is_float(x->dtype)) return false;
    enum dtype from = k->values.at[x->args[0]].dtype;
    return !dtype_is_float(from) && dtype_bytes(from) < dtype_bytes(x->dtype);
}

/* The type of bytes that hold all that an integer factor may be, for it is one of these, widened;
 * DT_COUNT: it is none. */
static enum dtype byte_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (is_byte(x->dtype)) return x->dtype;
    return widens(k, x) ? byte_of(k, x->args[0]) : DT_COUNT;
}

/* The float8 that a factor is, widened; DT_COUNT: it is none. */
static enum dtype float8_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (dtype_is_float8(x->dtype)) return x->dtype;
    bool widened = x->kind == INST_CAST && dtype_is_float(x->dtype) &&
                   dtype_holds(x->dtype, k->values.at[x->args[0]].dtype);
    return widened ? float8_of(k, x->args[0]) : DT_COUNT;
}

/* Those that matrix units multiply as they are: integers, and float8 where its sums are asked for,
 * and there are units for it. */
static enum dtype unit_byte(const struct kernel *k, value_id v) {
    enum { ADA = 89 };
    if (k->values.at[k->dot].dtype == DT_I32) return byte_of(k, v);
    bool has = k->precision == PRECISION_F8 && k->limits->sm >= ADA;
    return has ? float8_of(k, v) : DT_COUNT;
}

bool product_is_of_bytes(const struct kernel *k) {
    return unit_byte(k, k->dot_a) != DT_COUNT && unit_byte(k, k->dot_b) != DT_COUNT;
}

/* A read of elements that are what the product multiplies, of 8 or 16 bits or f32; NO_VALUE if v is
 * none. */
value_id plain_load(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST && dtype_is_float(x->dtype)) /* exact: to more digits */
        return dtype_digits(x->dtype) >= dtype_digits(k->values.at[x->args[0]].dtype)
                   ? plain_load(k, x->args[0])
                   : NO_VALUE;
    if (widens(k, x)) return plain_load(k, x->args[0]);
    if (x->kind != INST_LOAD) return NO_VALUE;
    enum dtype t = k->schedule->loops->buffers.at[x->buffer].meta.dtype;
    bool has_units = t == DT_BF16 || t == DT_F16 || t == DT_F32 || is_byte(t) || dtype_is_float8(t);
    return t == x->dtype && has_units ? v : NO_VALUE;
}

/* Elements that an image's lines have a multiple of. */
int64_t round_to_lines(int64_t n, int bytes) { return round_up(n, bytes == 1 ? PIECE : ALIGNED); }

/* Has bf16 all that it may be, as it is read? */
bool fits_bf16(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (dtype_is_float8(x->dtype)) return true;
    if (x->kind == INST_CAST)
        return dtype_holds(x->dtype, k->values.at[x->args[0]].dtype) && fits_bf16(k, x->args[0]);
    return x->kind == INST_LOAD && dtype_holds(DT_BF16, x->dtype) &&
           k->schedule->loops->buffers.at[x->buffer].meta.dtype == x->dtype;
}

bool product_may_be_tf32(const struct kernel *k) {
    return k->precision == PRECISION_TF32 && k->values.at[k->dot].dtype == DT_F32;
}

/* Of factors of bf16 a product in bf16 is exact, and faster. */
bool is_tf32(const struct kernel *k) {
    return product_may_be_tf32(k) && !(fits_bf16(k, k->dot_a) && fits_bf16(k, k->dot_b));
}

/* Can tensor maps say where the load's elements lie? Then o has it. */
static bool is_matrix(const struct kernel *k, value_id v, struct operand *o) {
    const struct value_node *x = &k->values.at[v];
    if (x->n_args) return false;
    ex from[] = {k->axis[AXIS_Z], k->axis[o->axis], k->axis[AXIS_R]}, zero = ex_const(k->ex, 0);
    ex to[] = {zero, zero, zero}, first = x->index;
    for (int i = 0; i < 3; i++)
        if (from[i]) first = ex_subst(k->ex, first, &from[i], &to[i], 1);
    if (!ex_is_const(k->ex, first, &o->offset)) return false;
    int64_t row = o->rows > 1 ? index_stride(k, x->index, o->axis) : 0;
    int64_t depth = o->depth > 1 ? index_stride(k, x->index, AXIS_R) : 0;
    o->batch = o->batches > 1 ? index_stride(k, x->index, AXIS_Z) : 0;
    o->along = depth != 1 && row == 1;
    o->pitch = o->along ? depth : row;
    int64_t lines = o->along ? o->depth : o->rows, line = o->along ? o->rows : o->depth;
    if (!o->along && depth != 1 && o->depth > 1) return false;
    int64_t unit = PIECE / dtype_bytes(o->stored);
    int bytes = dtype_bytes(o->stored);
    if (lines == 1) o->pitch = round_to_lines(line, bytes);
    if (o->batches == 1) o->batch = round_to_lines(o->pitch * lines, bytes);
    o->plane = 0;
    return o->pitch >= line && o->batch > 0 && !(o->pitch % unit) && !(o->batch % unit) &&
           !(o->offset % unit);
}

/* Where what axis x reaches lies in runs, of one image's pixels each: how long these are, and how
 * far apart; 0: all of it is one. False if it does not lie so. */
static bool find_run(const struct kernel *k, ex index, enum axis x, int64_t *run, int64_t *jump) {
    struct exprs *p = k->ex;
    const struct axis_digits *d = &k->digits[x];
    *run = *jump = 0;
    if (index_stride(k, index, x) == 1) return true;
    if (d->n < 2 || !ex_is_const(p, d->size[d->n - 1], run) || *run < 1) return false;
    ex axis = k->axis[x], zero = ex_const(p, 0), second = ex_const(p, *run);
    ex first = ex_subst(p, index, &axis, &zero, 1);
    ex apart = ex_sub(p, ex_subst(p, index, &axis, &second, 1), first);
    if (!ex_is_const(p, apart, jump) || *jump < *run) return false;
    ex lies = ex_add(p, ex_mul(p, ex_div(p, axis, second), apart), ex_mod(p, axis, second));
    return ex_sub(p, index, first) == lies;
}

/* Can threads copy the load's elements, by pieces that may be smaller than a tensor map's? Then o
 * has how. */
static bool lies_in_pieces(const struct kernel *k, value_id v, struct operand *of) {
    const struct value_node *x = &k->values.at[v];
    struct operand o = *of;
    ex from[] = {k->axis[AXIS_Z], k->axis[o.axis], k->axis[AXIS_R]}, zero = ex_const(k->ex, 0);
    ex first = x->index;
    for (int i = 0; i < 3; i++)
        if (from[i]) first = ex_subst(k->ex, first, &from[i], &zero, 1);
    if (x->n_args || !ex_is_const(k->ex, first, &o.offset) || o.rows < 2 || o.depth < 2)
        return false;
    int64_t row = index_stride(k, x->index, o.axis), depth = index_stride(k, x->index, AXIS_R);
    o.batch = o.batches > 1 ? index_stride(k, x->index, AXIS_Z) : 0;
    o.along = depth != 1;
    o.pitch = o.along ? depth : row;
    if (o.along && !find_run(k, x->index, o.axis, &o.run, &o.jump)) return false;
    if (o.pitch < 1 || o.batch < 0) return false;
    int64_t lies[] = {o.pitch, o.batch, o.offset, o.run, o.jump};
    int bytes = dtype_bytes(o.stored);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        while (o.piece >= 4 && lies[i] * bytes % o.piece) o.piece /= 2;
    o.plane = 0;
    if (o.piece < 4) return false;
    *of = o;
    return true;
}

/* Does memory run along o's rows, in what the factor reads? So do the pixels of images, if their
 * number is no multiple of a vector: 49 of each, one beside the other. */
static bool runs_along_rows(const struct kernel *k, const struct operand *o) {
    const bool *needed = kernel_parts(k, o->factor);
    bool rows = false;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD) continue;
        if (load_stride(k, x, AXIS_R) == 1) return false;
        rows |= load_first_step(k, x, o->axis) == 1;
    }
    return rows;
}

/* An image of the factor in the workspace, its lines so many elements apart. */
void set_image(struct operand *o, int64_t pitch) {
    o->load = NO_VALUE;
    o->stored = o->dtype;
    o->stacked = o->splits = false;
    o->pitch = pitch;
    o->batch = pitch * (o->along ? o->depth : o->rows);
    o->plane = o->batch * o->batches;
    o->offset = o->run = 0;
    o->piece = PIECE;
    o->bytes = round_up(o->plane * o->planes * dtype_bytes(o->dtype), 1024);
}

static void set_paired(struct operand *o) {
    o->paired = true;
    o->pitch = o->depth * o->planes;
    o->batch = o->pitch * o->rows;
    o->plane = PAIRED_DEPTH;
    o->bytes = round_up(o->batch * o->batches * dtype_bytes(o->dtype), 1024);
}

/* A step copies whole lines, of which there are no others. */
static void stack_lines(struct operand *o, int depth) {
    int planes = o->paired ? o->planes : 1, elements = LINE / dtype_bytes(o->dtype);
    o->stacked = !o->along && o->pitch == o->depth * planes && o->depth % depth == 0 &&
                 depth * planes % elements == 0;
}

/* Does a tile of so large a factor of few rows' product reach over so much of memory that this is
 * read slower than it could be? 32768 rows of 128 KB in tf32, by 128 x 32768, take an H200 1011 us
 * stacked and 1110 as they lie; 16384 of them 522 and 546. Of rows of 64 KB it gains less. */
static bool is_far_apart(const struct kernel *k, const struct operand *o, int64_t others,
                         int depth) {
    const int64_t LONG = INT64_C(128) << 10, LARGE = INT64_C(1) << 30, PART = 16;
    int64_t row = o->pitch * dtype_bytes(o->stored), bytes = row * o->rows * o->batches;
    bool whole = o->depth % depth == 0 && depth * dtype_bytes(o->stored) % LINE == 0;
    return !o->along && whole && others <= FEW && row >= LONG && bytes >= LARGE &&
           bytes <= k->limits->memory_bytes / PART;
}

/* Lines of 128 bytes, of f32 and of each plane, and a warp has whole lines of a step. */
static bool tile_may_split(const struct operand *o, int tile, int depth) {
    enum { MOST = 128 };
    int line = o->along ? tile : depth;
    return depth == PROMOTE_DEPTH && tile % (LINE / 2) == 0 && tile <= MOST &&
           line * dtype_bytes(o->dtype) % LINE == 0;
}

/* tile, depth: of the tile in shared memory. */
static struct operand make_operand(const struct kernel *k, value_id factor, enum axis axis,
                                   int tile, int depth, const struct product *p) {
    const struct value_node *x = &k->values.at[factor];
    bool batched = k->axis[AXIS_Z] && x->mask & MASK_Z;
    value_id load = plain_load(k, factor);
    enum dtype sums = k->values.at[k->dot].dtype;
    bool wide = sums == DT_F32, tf32 = is_tf32(k) && !p->halves, by_warp = p->by_warp;
    bool reads = !by_warp && !p->tensor; /* may its threads read the left factor? */
    bool bytes = product_is_of_bytes(k);
    bool deep = tf32 || bytes; /* its lines run along the depth, whatever memory does */
    enum dtype of_planes = p->pairs ? DT_F16 : DT_BF16;
    struct operand o = {.factor = factor,
                        .load = load,
                        .axis = axis,
                        .dtype = bytes           ? unit_byte(k, factor)
                                 : wide && !tf32 ? of_planes
                                                 : sums,
                        .planes = 1,
                        .piece = PIECE,
                        .rows = kernel_size(k, axis),
                        .depth = kernel_size(k, AXIS_R),
                        .batches = batched ? kernel_size(k, AXIS_Z) : 1};
    o.stored = o.dtype;
    bool is_exact = load != NO_VALUE && k->values.at[load].dtype == o.dtype;
    bool is_one_plane = is_exact || bytes || (!p->pairs && fits_bf16(k, factor));
    if (wide && !is_one_plane && !tf32) o.planes = p->pairs || p->halves ? 2 : 3;
    bool fixed = axis == AXIS_M ? k->a_fixed : k->b_fixed; /* packed in no call's time */
    int64_t others = kernel_size(k, axis == AXIS_M ? AXIS_N : AXIS_M);
    if (is_exact && is_matrix(k, load, &o)) {
        o.in_registers = tf32 && o.along && axis == AXIS_M && reads && !fixed;
        bool lies = !(deep && o.along) || o.in_registers;
        if (lies && (!fixed || by_warp || !is_far_apart(k, &o, others, depth))) return o;
    }
    struct operand pieces = o;
    if (is_exact && by_warp && !fixed && lies_in_pieces(k, load, &pieces) &&
        !(deep && pieces.along))
        return pieces;
    o.stored = DT_F32;
    bool is_f32 = load != NO_VALUE && k->values.at[load].dtype == DT_F32;
    o.in_registers = o.planes == 3 && reads && axis == AXIS_M && is_f32 && !p->crowded &&
                     (!fixed || others <= FEW) && is_matrix(k, load, &o) &&
                     operand_line(&o, tile, depth) == LINE;
    if (o.in_registers) return o;
    o.splits = p->splits && reads && is_f32 && !fixed && is_matrix(k, load, &o) &&
               tile_may_split(&o, tile, depth);
    if (o.splits) return o;
    if (o.planes > 1 && by_warp && o.rows * SMALL > others && (!fixed || others <= FEW) && is_f32 &&
        (is_matrix(k, load, &o) || lies_in_pieces(k, load, &o)) &&
        operand_line(&o, tile, depth) == 128)
        return o;
    o.across = runs_along_rows(k, &o);
    o.along = o.across && !deep;
    o.across &= deep;
    set_image(&o, image_pitch(o.along ? o.rows : o.depth, dtype_bytes(o.dtype)));
    if (p->pairs && depth == PAIRED_DEPTH && !o.along) set_paired(&o);
    if (fixed && !by_warp) stack_lines(&o, depth);
    return o;
}

void product_operands(const struct kernel *k, struct product *p, int m, int n, int depth,
                      struct arena *a) {
    bool windows = im2col_has_taps(k->im2col[0][1]) || im2col_has_taps(k->im2col[1][1]);
    bool lines = depth * dtype_bytes(DT_F32) > LINE; /* of more of tf32 there are none */
    p->halves = is_tf32(k) && windows && lines && !p->by_warp && !p->pairs && !p->makers;
    p->a = make_operand(k, k->dot_a, AXIS_M, m, depth, p);
    p->b = make_operand(k, k->dot_b, AXIS_N, n, depth, p);
    if (p->makers) choose_made(k, p);
    if (p->lying) choose_lying(k, p, m, depth, a);
    choose_windows(k, p, 1, n, m, depth, a);
    choose_windows(k, p, 0, m, n, depth, a);
    /* Where rows or columns are reduced, they are in the product's own order. */
    if (!k->over) choose_windows_along(k, p, 1, n, depth, a);
    if (!k->over) choose_windows_along(k, p, 0, m, depth, a);
    p->a.at_load = k->a_fixed && p->a.bytes;
    p->b.at_load = k->b_fixed && p->b.bytes;
}
