/* cuda_matmul.c: a tiled matrix product by multiply-adds with a fused epilogue, in CUDA C++.
 *
 *     for (k_idx next = 0, s = 0;; next += 16, s ^= 1) {
 *         if (next < nr) ra[...], rb[...] = the next panel's factors, in opmath type
 *         if (next) for kk:                                      the panel in the other stage
 *             a[0..3] = quad of As[kk], ...;  acc[i][j] += a[i] * b[j]
 *         if (next >= nr) break;
 *         As[kk][m], Bs[kk][n] of stage s = ra, rb;  barrier
 *     }
 *     for i, j: epilogue values at (m, n); store
 *
 * In parts of the depth (split), each block leaves its sums in the workspace, meets the others of
 * its tile, and has the epilogue of every so manieth unit of each thread's:
 *
 *     k_store_parts<4>(of_part + unit * 1024, acc[i] + j0);  for all units
 *     k_meet_parts<256>(tickets + blockIdx.x / 8, 8, 1);
 *     for (int unit = part; unit < 16; unit += 8)
 *         own[e] = sum of k_load_parts<4>(of_tile + (p * 16 + unit) * 1024) over p; epilogue; store
 *
 * The factors are any values of (z, m, r) and (z, n, r): a transposed or strided operand is only
 * another index. What memory has along m or n, or along the depth, a thread reads as vectors of
 * four, under way while the panel before is multiplied; what lies in memory as it will in a panel
 * is copied there meanwhile, and is in no register. Nor is what is gathered, as by the windows of a
 * convolution: it is read when it is written.
 *
 * A thread's rows and columns are quads, so far apart that a warp, 4 by 8 threads, reads 64 and 128
 * bytes of shared memory side by side: at most a wavefront each. A panel that is written across,
 * for memory runs along the depth, is swizzled by quads, or all of it would go to a few banks. */
#include <string.h>

#include "emit/impl.h"

enum { QUAD = 4, EIGHT = 8, LANES_M = 4, LANES_N = 8 };
enum { MOST_APART = 1 << 23 };    /* bytes that an instruction's address has a number for */
enum { MOST_WRITTEN_OUT = 1024 }; /* multiply-adds: a loop of 20 KB stays near who executes it */

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* ---- panels ---------------------------------------------------------------------------------- */

/* A factor's panel: `size` rows, of m or n, by `depth`. */
struct panel {
    value_id factor;
    enum axis axis;
    const char *side; /* "m" */
    char letter;      /* of its arrays: ra, As */
    int size, depth;
    int slice;        /* of the depth, that the loop has written out: all of it, or eights */
    int pitch;        /* from depth kk to kk + 1, */
    int apart;        /* and from a slice to the next one; the other panel's is in between */
    bool shifted;     /* the last tile ends where the factor does, and begins in the one before */
    bool along_depth; /* is memory */
    int each;         /* elements that a thread reads at once, along memory */
    value_id copied;  /* a load that is the factor, of elements as they are; NO_VALUE: none */
    bool gathered;    /* where its elements are takes many registers: it is read as it is written */
    bool upright;     /* panels ahead: it is as memory has it, along the depth, and read by fours */
    int elements;     /* of a thread */
    int rounds;       /* of all threads */
    const bool *needed;
};

static bool is_staged(const struct panel *p) { return p->copied == NO_VALUE && !p->gathered; }

static bool loads_vectors(struct emitter *w, const struct panel *p, enum axis along) {
    for (value_id v = 0; v <= p->factor; v++) {
        const struct value_node *x = at(w, v);
        if (!p->needed[v] || x->kind != INST_LOAD) continue;
        if (x->n_args || !load_is_vector(w->k, x, along, QUAD)) return false;
    }
    return true;
}

/* Vectors of four where the panel lies as memory does, else one element at a time. */
static value_id copied_load(struct emitter *w, const struct panel *p) {
    const struct value_node *x = at(w, p->factor);
    bool is_load = x->kind == INST_LOAD && buffer_dtype(w, x->buffer) == x->dtype &&
                   x->dtype == dtype_opmath(at(w, w->k->dot)->dtype);
    bool fits = p->each * dtype_bytes(x->dtype) == 16 && !p->along_depth;
    return w->y->stages || (is_load && fits && w->k->limits->sm >= 80) ? p->factor : NO_VALUE;
}

/* Rows of as many quads of the depth, of which eight lie in all banks, whoever reads which. */
static int quads(const struct panel *p) { return p->depth / QUAD; }

static bool may_be_upright(struct emitter *w, const struct panel *p) {
    int threads = w->y->threads, lines = threads / quads(p);
    bool even = threads % quads(p) == 0 && lines % EIGHT == 0 && p->size % lines == 0 &&
                p->size / p->elements % EIGHT == 0;
    return p->along_depth && even && p->each == QUAD;
}

/* Of panels ahead, where there are as many rows as a tile has: then none of it is outside. What the
 * tile before has, too, that one stores. */
static bool is_shifted(struct emitter *w, enum axis axis) {
    int64_t rows;
    int size = w->p->config.knob[axis == AXIS_M ? KNOB_m : KNOB_n];
    return w->y->stages && ex_is_const(w->k->ex, w->k->bound[axis], &rows) && rows >= size &&
           rows % size != 0;
}

/* Of a tile's rows, or columns, the first. */
static const char *tile_begin(struct emitter *w, enum axis axis) {
    char x = axis == AXIS_M ? 'm' : 'n';
    if (is_shifted(w, axis)) return x == 'm' ? "from_m" : "from_n";
    return arena_printf(w->arena, "p%c * %d", x, w->p->config.knob[x == 'm' ? KNOB_m : KNOB_n]);
}

/* What the text says of row or column `at` that this tile stores. */
static const char *stored_if(struct emitter *w, enum axis axis, const char *at) {
    char x = axis == AXIS_M ? 'm' : 'n';
    if (!is_shifted(w, axis)) return arena_printf(w->arena, "%s < n%c", at, x);
    return arena_printf(w->arena, "%s >= p%c * %d", at, x,
                        w->p->config.knob[x == 'm' ? KNOB_m : KNOB_n]);
}

static void set_rounds(struct emitter *w, struct panel *p) {
    if (w->y->stages && p->along_depth && !p->upright) p->each = 1;
    p->shifted = is_shifted(w, p->axis);
    int pieces = p->size * p->depth / p->each;
    p->rounds = (pieces + w->y->threads - 1) / w->y->threads;
}

static struct panel make_panel(struct emitter *w, value_id factor, enum axis axis) {
    const int32_t *c = w->p->config.knob;
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n), is_m = axis == AXIS_M;
    mark_needed(w, factor, needed);
    struct panel p = {.factor = factor,
                      .axis = axis,
                      .side = is_m ? "m" : "n",
                      .letter = is_m ? 'a' : 'b',
                      .size = c[is_m ? KNOB_m : KNOB_n],
                      .depth = c[KNOB_k],
                      .elements = c[is_m ? KNOB_tm : KNOB_tn],
                      .pitch = c[is_m ? KNOB_m : KNOB_n] + (w->y->stages ? PANEL_GAP : 0),
                      .needed = needed,
                      .each = 1};
    for (value_id v = 0; v <= factor; v++) {
        if (!needed[v] || at(w, v)->kind != INST_LOAD) continue;
        p.along_depth |= load_stride(w->k, at(w, v), AXIS_R) == 1;
        p.gathered |= at(w, v)->n_args > 0;
    }
    int width = p.along_depth ? p.depth : p.size;
    if (width % QUAD == 0 && loads_vectors(w, &p, p.along_depth ? AXIS_R : axis)) p.each = QUAD;
    p.copied = copied_load(w, &p);
    p.upright = w->y->stages && may_be_upright(w, &p);
    set_rounds(w, &p);
    return p;
}

/* Of panels that may be upright the larger one is, and the other one, too, where registers hold two
 * quads of each of a thread's elements; not beside many sums, which leave no room to read them a
 * little at a time. */
static void make_panels(struct emitter *w, struct panel *a, struct panel *b) {
    enum { FEW = 64, REGISTERS = 112 }; /* of 128; the others are addresses */
    *a = make_panel(w, w->k->dot_a, AXIS_M), *b = make_panel(w, w->k->dot_b, AXIS_N);
    struct panel *const order[] = {b->size > a->size ? b : a, b->size > a->size ? a : b};
    int sums = a->elements * b->elements,
        left = sums > FEW ? 0 : REGISTERS - sums - 2 * (a->elements + b->elements);
    for (int i = 0; i < 2; i++) {
        int more = 2 * (QUAD - 1) * order[i]->elements;
        order[i]->upright &= more <= left;
        if (order[i]->upright) left -= more;
        set_rounds(w, order[i]);
    }
    bool upright = a->upright || b->upright;
    a->slice = a->depth;
    while (w->y->stages && !upright && a->slice > EIGHT &&
           (a->depth % a->slice || sums * a->slice > MOST_WRITTEN_OUT))
        a->slice -= EIGHT;
    b->slice = a->slice;
    a->apart = b->apart = (a->pitch + b->pitch) * a->slice;
}

static int slices(const struct panel *p) { return p->depth / p->slice; }

/* From the beginning of a panel to depth kk of it. */
static int depth_place(const struct panel *p, int kk) {
    return kk / p->slice * p->apart + kk % p->slice * p->pitch;
}

/* Neighbours that a thread has of a tile's rows or columns, and from those to its next ones. */
static int thread_unit(struct emitter *w, enum axis axis) {
    struct panel a, b;
    make_panels(w, &a, &b);
    const struct panel *p = axis == AXIS_M ? &a : &b;
    return p->upright ? 1 : layout_unit(p->elements);
}

static int unit_distance(struct emitter *w, enum axis axis) {
    const struct layout *y = w->y;
    return (axis == AXIS_M ? y->bx / y->ex : y->br / y->vec) * thread_unit(w, axis);
}

/* Where row number `row` lies at depth kk. */
static const char *swizzled(struct emitter *w, const struct panel *p, const char *row) {
    if (!p->along_depth || p->size % 32 || p->pitch > p->size) return row;
    return arena_printf(w->arena, "(%s ^ kk %s)", row, p->each == QUAD ? "/ 4 % 4 * 8" : "% 8 * 4");
}

/* Which quad of row `row`, number `quad` of the depth, lies as which. */
static const char *upright_quad(struct emitter *w, const struct panel *p, const char *row,
                                const char *quad) {
    return arena_printf(w->arena, "(%s ^ %s / %d %% %d)", quad, row, 8 / quads(p), quads(p));
}

/* Where a piece from row ss and depth kk on lies. */
static const char *position(struct emitter *w, const struct panel *p) {
    if (p->upright)
        return arena_printf(w->arena, "ss * %d + %s * %d", p->depth,
                            upright_quad(w, p, "ss", "kk / 4"), QUAD);
    const char *row = swizzled(w, p, "ss");
    if (slices(p) == 1) return arena_printf(w->arena, "kk * %d + %s", p->pitch, row);
    return arena_printf(w->arena, "kk / %d * %d + kk %% %d * %d + %s", p->slice, p->apart, p->slice,
                        p->pitch, row);
}

/* Pieces of a thread that lie apart by the same everywhere: of a panel whose memory runs along the
 * depth single elements of eight steps, which go to a bank each. */
struct even_pieces {
    int width, lines; /* threads along memory, and across */
    int turns;        /* pieces along memory, of those across each */
    bool fit;
};

static struct even_pieces even_pieces(struct emitter *w, const struct panel *p) {
    int along = (p->along_depth ? p->depth : p->size) / p->each,
        across = p->along_depth ? p->size : p->depth;
    struct even_pieces e = {.width = along, .turns = 1};
    if (p->along_depth && p->each == 1 && along % EIGHT == 0)
        e.width = EIGHT, e.turns = along / EIGHT;
    else if (!p->along_depth && along % w->y->threads == 0)
        e.width = w->y->threads, e.turns = along / w->y->threads;
    e.lines = w->y->threads / e.width;
    e.fit = w->y->threads % e.width == 0 && across % e.lines == 0;
    if (e.fit && !p->along_depth) e.fit = p->slice % e.lines == 0 || e.lines % p->slice == 0;
    return e;
}

static void put_even_piece(struct emitter *w, const struct panel *p, const struct even_pieces *e,
                           bool first) {
    const char *turn =
                   first ? ""
                         : arena_printf(w->arena, " + i %% %d * %d", e->turns, e->width * p->each),
               *line_of = first ? "" : arena_printf(w->arena, " + i / %d * %d", e->turns, e->lines);
    line(w, "const int %s = tid %% %d * %d%s, %s = tid / %d%s;", p->along_depth ? "kk" : "ss",
         e->width, p->each, turn, p->along_depth ? "ss" : "kk", e->width, line_of);
}

/* Which elements of the panel a thread's piece number i begins with. */
static void put_piece(struct emitter *w, const struct panel *p) {
    int width = (p->along_depth ? p->depth : p->size) / p->each;
    int pieces = p->size * p->depth / p->each;
    struct even_pieces e = even_pieces(w, p);
    if (w->y->stages && e.fit) {
        put_even_piece(w, p, &e, false);
        return;
    }
    line(w, "const int at = i * %d + tid;", w->y->threads);
    if (pieces % w->y->threads) line(w, "if (at >= %d) break;", pieces);
    line(w, "const int %s = at %% %d * %d, %s = at / %d;", p->along_depth ? "kk" : "ss", width,
         p->each, p->along_depth ? "ss" : "kk", width);
}

static void put_element(struct emitter *w, const struct panel *p) {
    for (value_id v = 0; v <= p->factor; v++) {
        if (!p->needed[v]) continue;
        if (at(w, v)->kind != INST_LOAD || p->each == 1) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = k_get(l%u, e);", math_type(at(w, v)->dtype), v, v);
        w->where[v] = LOCAL;
    }
}

static void put_vectors(struct emitter *w, const struct panel *p) {
    for (value_id v = 0; v <= p->factor; v++) {
        const struct value_node *x = at(w, v);
        if (!p->needed[v] || x->kind != INST_LOAD) continue;
        const char *type = memory_type(w, buffer_dtype(w, x->buffer));
        line(w, "const k_pack<%s, %d> l%u = k_load<%s, %d>(p%d + (%s));", type, QUAD, v, type, QUAD,
             argument_of(w, x->buffer), ex_text(w, x->index));
    }
}

/* What of a piece lies in the factor: quads do so as a whole, as vectors divide their axis. whole:
 * all of the panel's depth does. */
static const char *inside(struct emitter *w, const struct panel *p, bool whole) {
    bool rows = !p->shifted && !ex_divides(w->k->ex, p->size, w->k->bound[p->axis]),
         depth = !whole && !ex_divides(w->k->ex, p->depth, w->k->bound[AXIS_R]);
    const char *row = arena_printf(w->arena, "%s < n%s", p->side, p->side);
    return rows && depth ? arena_printf(w->arena, "%s && r < nr", row)
           : rows        ? row
           : depth       ? "r < nr"
                         : NULL;
}

/* How many of an even piece's lines, from the first on, are inside; NULL: all are. */
static const char *lines_inside(struct emitter *w, const struct panel *p, bool whole) {
    const char *const row[] = {p->side, arena_printf(w->arena, "n%s", p->side)}, *const depth[] = {
                                                                                     "r", "nr"};
    const char *const *across = p->along_depth ? row : depth, *const *along =
                                                                  p->along_depth ? depth : row;
    if (!inside(w, p, whole)) return NULL;
    return arena_printf(w->arena, "%s < %s ? %s - %s : 0", along[0], along[1], across[1],
                        across[0]);
}

/* The same where each piece lies as far from the first as the text says. */
static bool put_even_copy(struct emitter *w, const struct panel *p, bool whole) {
    const struct value_node *x = at(w, p->copied);
    struct even_pieces e = even_pieces(w, p);
    int64_t along = load_stride(w->k, x, p->axis), deeper = load_stride(w->k, x, AXIS_R);
    if (!w->y->stages || !e.fit || along < 0 || deeper < 0) return false;
    const char *lines = lines_inside(w, p, whole);
    if (lines && e.turns > 1) return false;
    open_scope(w);
    put_even_piece(w, p, &e, true);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    line(w, "%s *const to = %cs + %s;", math_type(at(w, w->k->dot)->dtype),
         p->letter == 'a' ? 'A' : 'B', position(w, p));
    line(w, "const %s *const from = p%d + (%s);", memory_type(w, buffer_dtype(w, x->buffer)),
         argument_of(w, x->buffer), ex_text(w, x->index));
    if (lines) line(w, "const k_idx lines = %s;", lines);
    int bytes = p->each * 4;
    int64_t turn = e.width * p->each * (p->along_depth ? deeper : along),
            line_from = e.lines * (p->along_depth ? along : deeper);
    for (int i = 0; i < p->rounds; i++) {
        int t = i % e.turns, l = i / e.turns;
        int64_t to = p->upright       ? l * e.lines * p->depth
                     : p->along_depth ? depth_place(p, t * e.width) + l * e.lines
                                      : t * e.width * p->each + depth_place(p, l * e.lines),
                apart = t * turn + l * line_from;
        bool fits = apart * 4 < MOST_APART;
        const char *valid =
            lines ? arena_printf(w->arena, ", lines > %d ? %du : 0u", l * e.lines, bytes) : "";
        line(w, "k_cp_async_apart<%d, %lld, %lld>(to, from%s%s);", bytes, (long long)to * 4,
             fits ? (long long)apart * 4 : 0,
             fits ? "" : arena_printf(w->arena, " + %lldll", (long long)apart), valid);
    }
    close_brace(w);
    return true;
}

/* Straight into the panel; of what lies outside, zeros. A panel ahead that is not whole is the last
 * one. */
static void put_copy(struct emitter *w, const struct panel *p, bool whole) {
    const struct value_node *x = at(w, p->copied);
    const char *guard = inside(w, p, whole);
    bool last = w->y->stages && !whole && guard;
    if (!last && put_even_copy(w, p, whole)) return;
    line(w, last ? "#pragma unroll 1" : "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rounds);
    put_piece(w, p);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    if (guard) line(w, "const bool inside = %s;", guard);
    int bytes = p->each * 4;
    line(w, "k_cp_async<%d>(%cs + %s, p%d + (%s%s);", bytes, p->letter == 'a' ? 'A' : 'B',
         position(w, p), argument_of(w, x->buffer), ex_text(w, x->index),
         guard ? arena_printf(w->arena, ") * inside, inside ? %du : 0u", bytes) : ")");
    close_brace(w);
}

static void put_fetch(struct emitter *w, const struct panel *p) {
    const char *t = math_type(at(w, w->k->dot)->dtype), *guard = inside(w, p, false);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rounds);
    put_piece(w, p);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    if (guard) {
        line(w, "for (int e = 0; e < %d; e++) r%c[i][e] = 0;", p->each, p->letter);
        open_brace(w, "if (%s)", guard);
    }
    if (p->each > 1) {
        put_vectors(w, p);
        const char *x = p->along_depth ? "r" : p->side;
        line(w, "const k_idx %s0 = %s;", x, x);
        line(w, "#pragma unroll");
        open_brace(w, "for (int e = 0; e < %d; e++)", QUAD);
        line(w, "const k_idx %s = %s0 + e;", x, x);
        put_element(w, p);
        line(w, "r%c[i][e] = (%s)%s;", p->letter, t, ref(w, p->factor));
        close_brace(w);
    } else {
        put_element(w, p);
        line(w, "r%c[i][0] = (%s)%s;", p->letter, t, ref(w, p->factor));
    }
    if (guard) close_brace(w);
    close_brace(w);
}

static void put_gathered(struct emitter *w, const struct panel *p) {
    const char *t = math_type(at(w, w->k->dot)->dtype), *guard = inside(w, p, false);
    line(w, "#pragma unroll 4");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rounds);
    put_piece(w, p);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "%s x = 0;", t);
    if (guard)
        open_brace(w, "if (%s)", guard);
    else
        open_scope(w);
    put_element(w, p);
    line(w, "x = (%s)%s;", t, ref(w, p->factor));
    close_brace(w);
    line(w, "%cs[kk * %d + %s] = x;", p->letter == 'a' ? 'A' : 'B', p->pitch, swizzled(w, p, "ss"));
    close_brace(w);
}

static void put_fill(struct emitter *w, const struct panel *p) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    char array = p->letter == 'a' ? 'A' : 'B';
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rounds);
    put_piece(w, p);
    if (p->each == 1) {
        line(w, "%cs[kk * %d + %s] = r%c[i][0];", array, p->pitch, swizzled(w, p, "ss"), p->letter);
    } else if (p->along_depth) {
        line(w, "#pragma unroll");
        line(w, "for (int e = 0; e < %d; e++) %cs[(kk + e) * %d + %s] = r%c[i][e];", QUAD, array,
             p->pitch, swizzled(w, p, "ss"), p->letter);
    } else {
        line(w, "k_put_side_by_side<%s, %d>(%cs + kk * %d + ss, r%c[i]);", t, QUAD, array, p->pitch,
             p->letter);
    }
    close_brace(w);
}

/* A thread's elements of a panel at depth kk, in a[] or b[] or what is called so. */
static void put_operands(struct emitter *w, const struct panel *p, int elements, const char *to) {
    const char *t = math_type(at(w, w->k->dot)->dtype), *thread = p->letter == 'a' ? "ty" : "tx";
    int unit = layout_unit(elements), distance = p->size / elements * unit;
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i += %d)", elements, unit);
    const char *row =
        arena_printf(w->arena, w->y->stages ? "%s * %d + i / %d * %d" : "(%s * %d + i / %d * %d)",
                     thread, unit, unit, distance);
    line(w, "    k_get_side_by_side<%s, %d>(%s + i, %cs + kk * %d + %s);", t, unit, to,
         p->letter == 'a' ? 'A' : 'B', p->pitch, swizzled(w, p, row));
}

/* What is above a thread's accumulators (kernel/chain.c) is in local memory, as cuda_fold.c has it:
 * they fill the registers, and need that once in 128 steps of the depth. */
static void open_cells(struct emitter *w, const struct folds *f, int tm, int tn) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "%s (&up)[%d][%d] = k_in_memory(local[i]);", math_type(at(w, w->k->dot)->dtype), tn,
         f->levels);
    line(w, "#pragma unroll");
}

/* ... or, four by four, beside those of the other threads in shared memory, but for four of them
 * where that has no room for these. */
static int folded_in_shared(struct emitter *w) {
    return (w->y->smem - w->y->folded) / (w->y->threads * 4);
}

static void put_folded_in_shared(struct emitter *w, int tm, int tn, const char *each,
                                 const char *after) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    int there = folded_in_shared(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int q = 0; q < %d; q += %d)", there, QUAD);
    line(w, "%s up[%d], *const at = (%s *)(k_smem + %d) + q * %d + tid * %d;", t, QUAD, t,
         w->y->folded, w->y->threads, QUAD);
    if (strstr(each, "+=")) line(w, "k_get_side_by_side<%s, %d>(up, at);", t, QUAD);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", QUAD);
    line(w, "%s &sum = acc[(q + e) / %d][(q + e) %% %d];", t, tn, tn);
    line(w, "%s;%s", each, after);
    close_brace(w);
    if (strncmp(each, "sum", 3)) line(w, "k_put_side_by_side<%s, %d>(at, up);", t, QUAD);
    close_brace(w);
    if (there == tm * tn) return;
    open_scope(w);
    line(w, "%s (&up)[%d] = kept;", t, QUAD);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", QUAD);
    line(w, "%s &sum = acc[(%d + e) / %d][(%d + e) %% %d];", t, there, tn, there, tn);
    line(w, "%s;%s", each, after);
    close_brace(w);
    close_brace(w);
}

static void declare_folded(struct emitter *w, const struct folds *f, int tm, int tn) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    if (w->y->folded) {
        if (folded_in_shared(w) < tm * tn) line(w, "%s kept[%d];", t, QUAD);
        put_folded_in_shared(w, tm, tn, "up[e] = sum", "");
        return;
    }
    line(w, "%s local[%d][%d][%d];", t, tm, tn, f->levels);
    if (f->levels > 1) line(w, "unsigned folds = 0;");
    open_cells(w, f, tm, tn);
    line(w, "for (int j = 0; j < %d; j++)", tn);
    line(w, "    for (int l = 0; l < %d; l++) up[j][l] = 0;", f->levels);
    close_brace(w);
    int bytes = dtype_bytes(dtype_opmath(at(w, w->k->dot)->dtype));
    add_stack(&w->out->launches[w->out->n_launches - 1], tm * tn * f->levels * bytes);
}

static void put_folded(struct emitter *w, const struct folds *f, int tm, int tn, bool unfold) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    if (w->y->folded) {
        put_folded_in_shared(w, tm, tn, unfold ? "sum += up[e]" : "up[e] += sum",
                             unfold ? "" : " sum = 0;");
        return;
    }
    open_cells(w, f, tm, tn);
    if (unfold)
        line(w, "for (int j = 0; j < %d; j++) acc[i][j] = k_unfold<k_sum>(up[j], acc[i][j]);", tn);
    else
        line(w, "for (int j = 0; j < %d; j++) k_fold<k_sum, %d>(up[j], acc[i][j], (%s)0, %s);", tn,
             f->radix, t, f->levels > 1 ? "folds" : "0");
    close_brace(w);
    if (!unfold && f->levels > 1) line(w, "folds++;");
}

/* The products of the panel in the other stage, which begins at depth next - k. */
static void put_panel(struct emitter *w, const struct panel *a, const struct panel *b) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], tm = c[KNOB_tm], tn = c[KNOB_tn];
    const char *t = math_type(at(w, w->k->dot)->dtype);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    line(w, "const %s *const As = panels + (s ^ 1) * %d, *const Bs = As + %d;", t,
         (a->size + b->size) * depth, a->size * depth);
    line(w, "#pragma unroll");
    open_brace(w, "for (int kk = 0; kk < %d; kk++)", depth);
    line(w, "%s a[%d], b[%d];", t, tm, tn);
    put_operands(w, a, tm, "a");
    put_operands(w, b, tn, "b");
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) %s", tn,
         multiply_add_text(w, value_math(w, w->k->dot), "acc[i][j]", "a[i]", "b[j]"));
    close_brace(w);
    if (f.levels && depth > f.block) {
        open_brace(w, "if (kk %% %d == %d)", f.block, f.block - 1);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
    close_brace(w);
    if (f.levels && depth > f.block) {
        put_folded(w, &f, tm, tn, false);
    } else if (f.levels) {
        int panels = f.block / depth;
        const char *done = w->y->split > 1 ? "(next - begin)" : "next";
        open_brace(w, "if (%s / %d %% %d == 0)", done, depth, panels);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
}

/* Where the depth of this block begins and ends, as text. */
struct range {
    const char *begin, *end;
    bool from_0;
};

static struct range put_range(struct emitter *w) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], parts = w->y->split;
    if (parts > 1) {
        line(w, "const int part = (int)blockIdx.x %% %d;", parts);
        line(w, "const long long steps = (nr + %d) / %d;", depth - 1, depth);
        line(w, "const k_idx begin = (k_idx)(part * steps / %d * %d);", parts, depth);
        line(w, "const k_idx end = (k_idx)((part + 1) * steps / %d * %d);", parts, depth);
        return (struct range){"begin", "end", false};
    }
    if (!w->k->edges.n) return (struct range){"0", "nr", true};
    put_depth_range(w, "k_idx", arena_printf(w->arena, "pm * %d", c[KNOB_m]), c[KNOB_m],
                    arena_printf(w->arena, "pn * %d", c[KNOB_n]), c[KNOB_n], "nr");
    line(w, "const k_idx begin = r_from / %d * %d;", depth, depth);
    return (struct range){"begin", "r_end", false};
}

static void put_fetches(struct emitter *w, const struct panel *const *side, bool whole) {
    for (int i = 0; i < 2; i++) {
        if (side[i]->gathered) continue;
        if (is_staged(side[i]))
            put_fetch(w, side[i]);
        else
            put_copy(w, side[i], whole);
    }
}

static void put_fills(struct emitter *w, const struct panel *const *side) {
    for (int i = 0; i < 2; i++)
        if (side[i]->copied == NO_VALUE) (side[i]->gathered ? put_gathered : put_fill)(w, side[i]);
}

static void declare_staged(struct emitter *w, const struct panel *const *side) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    for (int i = 0; i < 2; i++)
        if (is_staged(side[i]))
            line(w, "%s r%c[%d][%d];", t, side[i]->letter, side[i]->rounds, side[i]->each);
}

/* The arrays of the panel of a stage, or of a slice of it, counted through all stages. */
static void put_stage(struct emitter *w, const struct panel *const *side, const char *stage,
                      bool is_const) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    line(w, "%s%s *const As = panels + %s * %d, *const Bs = As + %d;", is_const ? "const " : "", t,
         stage, side[0]->apart, side[0]->pitch * side[0]->slice);
}

/* One of two panels is multiplied while the next one's factors are under way. */
static void put_loop(struct emitter *w, const struct panel *const *side, const struct range *r) {
    int depth = side[0]->depth;
    line(w, "int s = 0;");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx next = %s;; next += %d, s ^= 1)", r->begin, depth);
    put_stage(w, side, "s", false);
    declare_staged(w, side);
    bool copies = side[0]->copied != NO_VALUE || side[1]->copied != NO_VALUE;
    open_brace(w, "if (next < %s)", r->end);
    put_fetches(w, side, false);
    if (copies) line(w, "k_cp_async_commit();");
    close_brace(w);
    open_brace(w, r->from_0 ? "if (next)" : "if (next > begin)");
    put_panel(w, side[0], side[1]);
    close_brace(w);
    line(w, "if (next >= %s) break;", r->end);
    put_fills(w, side);
    if (copies) line(w, "k_cp_async_wait<0>();");
    line(w, "__syncthreads();");
    close_brace(w);
}

/* ---- panels ahead ---------------------------------------------------------------------------- */

/* At depth k a thread's elements at depth k + 1 are read, of an upright panel a quarter of those at
 * the next four: of this panel, or of the next one; behind the last one of another, for nothing. */
static void put_read(struct emitter *w, const struct panel *const *side, int i, const char *stage) {
    const struct panel *p = side[i];
    int last = p->depth - QUAD;
    const char *t = math_type(at(w, w->k->dot)->dtype), *thread = i ? "tx" : "ty";
    char x = p->letter;
    put_stage(w, side, stage, true);
    line(w, "(void)As, (void)Bs;");
    if (!p->upright) {
        line(w, "const int kk = (k + 1) %% %d;", p->slice);
        put_operands(w, p, p->elements, arena_printf(w->arena, "%c[(k + 1) %% 2]", x));
        return;
    }
    line(w, "const int quad = (k / %d + 1) %% %d;", QUAD, quads(p));
    line(w, "#pragma unroll");
    line(w,
         "for (int i = k < %d ? k %% %d * %d / %d : 0; i < (k < %d ? (k %% %d + 1) * %d / %d : "
         "k == %d ? %d : 0); i++)",
         last, QUAD, p->elements, QUAD, last, QUAD, p->elements, QUAD, p->depth - 1, p->elements);
    line(w,
         "    k_get_side_by_side<%s, %d>(%c[(k / %d + 1) %% 2][i], %cs + %s * %d + i * %d + %s * "
         "%d);",
         t, QUAD, x, QUAD, i ? 'B' : 'A', thread, p->depth, p->size / p->elements * p->depth,
         upright_quad(w, p, thread, "quad"), QUAD);
}

static void put_reads(struct emitter *w, const struct panel *const *side, const char *stage) {
    for (int i = 0; i < 2; i++) {
        open_scope(w);
        put_read(w, side, i, stage);
        close_brace(w);
    }
}

/* In snakes: of two sums that are made one after the other, one factor is in the same register, so
 * that a scheduler has no more than two to fetch. */
static void put_snake(struct emitter *w, const struct panel *a, const struct panel *b) {
    const char *x = a->upright ? "a[k / 4 % 2][i][k % 4]" : "a[k % 2][i]",
               *y = b->upright ? "b[k / 4 % 2][j][k % 4]" : "b[k % 2][j]";
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", a->elements);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", b->elements);
    line(w, "const int j = i %% 2 ? %d - e : e;", b->elements - 1);
    line(w, "%s", multiply_add_text(w, value_math(w, w->k->dot), "acc[i][j]", x, y));
    close_brace(w);
    close_brace(w);
}

/* Copies of the panel at depth `next`, of which the last one may be less than whole. */
static void put_fetches_ahead(struct emitter *w, const struct panel *const *side) {
    int depth = side[0]->depth;
    bool all = ex_divides(w->k->ex, depth, w->k->bound[AXIS_R]);
    if (!all) open_brace(w, "if (next + %d <= nr)", depth);
    put_fetches(w, side, true);
    if (all) return;
    close_brace(w);
    open_brace(w, "else");
    put_fetches(w, side, false);
    close_brace(w);
}

/* Before the last depth of a panel is multiplied all have read it: then the next one is there for
 * all, and copies of the one `stages` further on begin in its place. */
static void put_loop_ahead(struct emitter *w, const struct panel *const *side,
                           const struct range *r) {
    int depth = side[0]->depth, stages = w->y->stages, tm = w->y->ex, tn = w->y->vec,
        slice = side[0]->slice, many = slices(side[0]);
    const char *t = math_type(at(w, w->k->dot)->dtype);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int s = 0; s < %d; s++)", stages);
    line(w, "const k_idx next = %s + s * %d;", r->begin, depth);
    put_stage(w, side, many > 1 ? arena_printf(w->arena, "s * %d", many) : "s", false);
    put_fetches_ahead(w, side);
    line(w, "k_cp_async_commit();");
    close_brace(w);
    line(w, "k_cp_async_wait<%d>();", stages - 1);
    line(w, "__syncthreads();");
    line(w, "%s a[2][%d]%s, b[2][%d]%s;", t, tm, side[0]->upright ? "[4]" : "", tn,
         side[1]->upright ? "[4]" : "");
    open_scope(w);
    line(w, "const int k = %d;", slice - 1);
    put_reads(w, side, "0");
    close_brace(w);
    line(w, "int read = 0, after = 1;");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx done = %s; done < %s;)", r->begin, r->end);
    if (many > 1) line(w, "const bool last = after %% %d == 0; /* slice of a panel */", many);
    const char *at_end =
        arena_printf(w->arena, many > 1 ? "if (k == %d && last)" : "if (k == %d)", slice - 1);
    line(w, "#pragma unroll");
    open_brace(w, "for (int k = 0; k < %d; k++)", slice);
    open_brace(w, "%s", at_end);
    line(w, "k_cp_async_wait<%d>();", stages - 2);
    line(w, "__syncthreads();");
    close_brace(w);
    put_reads(w, side, arena_printf(w->arena, "(k < %d ? read : after)", slice - 1));
    open_brace(w, "%s", at_end);
    line(w, "const k_idx next = done + %d;", (stages - 1) * depth + slice);
    put_stage(w, side, many > 1 ? arena_printf(w->arena, "(read - %d)", many - 1) : "read", false);
    open_brace(w, "if (next < %s)", r->end);
    put_fetches_ahead(w, side);
    close_brace(w);
    line(w, "k_cp_async_commit();");
    close_brace(w);
    put_snake(w, side[0], side[1]);
    close_brace(w);
    line(w, "read = after, after = after == %d ? 0 : after + 1;", stages * many - 1);
    line(w, "done += %d;", slice);
    if (f.levels) {
        const char *terms = r->from_0 ? "done" : arena_printf(w->arena, "(done - %s)", r->begin);
        open_brace(w, "if (%s / %d %% %d == 0)", terms, slice, f.block / slice);
        put_folded(w, &f, tm, tn, false);
        close_brace(w);
    }
    close_brace(w);
}

static void put_main_loop(struct emitter *w) {
    const int32_t *c = w->p->config.knob;
    int depth = c[KNOB_k], tm = c[KNOB_tm], tn = c[KNOB_tn];
    const char *t = math_type(at(w, w->k->dot)->dtype);
    struct panel a, b;
    make_panels(w, &a, &b);
    const struct panel *const side[] = {&a, &b};
    line(w, "%s *const panels = (%s *)k_smem;", t, t);
    line(w, "%s acc[%d][%d];", t, tm, tn);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", tm);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) acc[i][j] = 0;", tn);
    close_brace(w);
    const struct folds f = layout_depth_folds(w->k, depth, w->y->split);
    if (f.levels) declare_folded(w, &f, tm, tn);
    const struct range r = put_range(w);
    (w->y->stages ? put_loop_ahead : put_loop)(w, side, &r);
    if (f.levels) put_folded(w, &f, tm, tn, true);
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* Elements of a tile's row, or column, that a thread has side by side. */
static int unit_along(struct emitter *w, enum axis axis) { return thread_unit(w, axis); }

/* Vector stores along an axis where a thread's elements are contiguous, none hangs over the edge,
 * and memory has an instruction for so many. */
static bool vector_store(struct emitter *w, const struct store_node *s, int axis) {
    int unit = unit_along(w, axis);
    return unit > 1 && !s->guard && index_is_vector(w->k, s->index, axis, unit);
}

/* Along which axis a thread goes through what it has: pixels of a convolution are rows whose
 * neighbours in memory are below each other. */
static int stored_along(struct emitter *w) {
    bool rows = false;
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        if (vector_store(w, &w->k->stores.at[s], AXIS_N)) return AXIS_N;
        rows |= vector_store(w, &w->k->stores.at[s], AXIS_M);
    }
    return rows ? AXIS_M : AXIS_N;
}

/* Elements i, from i0 on, or j, of a row or a column, whose n or m is known; `sum` is one's. */
static void put_unit(struct emitter *w, int axis, const char *sum) {
    const struct loops *l = w->k->schedule->loops;
    int unit = unit_along(w, axis);
    char along = axis == AXIS_N ? 'n' : 'm', i = axis == AXIS_N ? 'j' : 'i';
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        if (vector_store(w, &w->k->stores.at[s], axis))
            line(w, "%s o%u[%d];", math_type(l->buffers.at[w->k->stores.at[s].buffer].meta.dtype),
                 s, unit);
    line(w, "const k_idx %c0 = %s + t%c * %d + %c0 / %d * %d;", along,
         tile_begin(w, (enum axis)axis), axis == AXIS_N ? 'x' : 'y', unit, i, unit,
         unit_distance(w, axis));
    const char *each = arena_printf(w->arena, "%c", along),
               *first = arena_printf(w->arena, "%c0", along);
    line(w, "#pragma unroll");
    open_brace(w, "for (int %c = 0; %c < %d; %c++)", i, i, unit, i);
    line(w, "const k_idx %c = %c0 + %c;", along, along, i);
    open_brace(w, "if (%s)", stored_if(w, (enum axis)axis, each));
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "const %s v%u = %s;", math_type(at(w, w->k->dot)->dtype), w->k->dot, sum);
    w->where[w->k->dot] = LOCAL;
    for (uint32_t b = 0; b < w->p->before.n; b++) put_local(w, w->p->before.at[b]);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (vector_store(w, st, axis))
            line(w, "o%u[%c] = %s;", s, i, ref(w, st->value));
        else
            put_guarded_store1(w, st);
    }
    close_brace(w);
    close_brace(w);
    for (uint32_t s = 0; s < w->k->stores.n; s++) {
        const struct store_node *st = &w->k->stores.at[s];
        if (!vector_store(w, st, axis)) continue;
        const char *m = memory_type(w, l->buffers.at[st->buffer].meta.dtype);
        open_brace(w, "if (%s)", stored_if(w, (enum axis)axis, first));
        line(w, "const k_idx %c = %c0;", along, along);
        line(w, "k_pack<%s, %d> w%u;", m, unit, s);
        line(w, "k_put(w%u, o%u);", s, s);
        line(w, "k_store<%s, %d, %d>(p%d + (%s), w%u);", m, unit, w->y->streaming,
             argument_of(w, st->buffer), ex_text(w, st->index), s);
        close_brace(w);
    }
}

/* Row or column number i, or j, of a thread's; nothing more of it where it hangs over the edge. */
static void put_line(struct emitter *w, int axis, const char *outside) {
    int rows = thread_unit(w, AXIS_M), columns = thread_unit(w, AXIS_N);
    if (axis == AXIS_N)
        line(w, "const k_idx m = %s + ty * %d + i / %d * %d + i %% %d;", tile_begin(w, AXIS_M),
             rows, rows, unit_distance(w, AXIS_M), rows);
    else
        line(w, "const k_idx n = %s + tx * %d + j / %d * %d + j %% %d;", tile_begin(w, AXIS_N),
             columns, columns, unit_distance(w, AXIS_N), columns);
    enum axis across = axis == AXIS_N ? AXIS_M : AXIS_N;
    if (is_shifted(w, across))
        line(w, "if (!(%s)) continue;", stored_if(w, across, across == AXIS_M ? "m" : "n"));
    else
        line(w, axis == AXIS_N ? "if (m >= nm) %s;" : "if (n >= nn) %s;", outside);
}

static void put_epilogue(struct emitter *w, int axis) {
    int tm = w->y->ex, tn = w->y->vec, unit = unit_along(w, axis);
    bool across = axis == AXIS_N;
    line(w, "#pragma unroll");
    open_brace(w, across ? "for (int i = 0; i < %d; i++)" : "for (int j = 0; j < %d; j++)",
               across ? tm : tn);
    put_line(w, axis, "break");
    line(w, "#pragma unroll");
    open_brace(
        w, across ? "for (int j0 = 0; j0 < %d; j0 += %d)" : "for (int i0 = 0; i0 < %d; i0 += %d)",
        across ? tn : tm, unit);
    put_unit(w, axis, across ? "acc[i][j0 + j]" : "acc[i0 + i][j]");
    close_brace(w);
    close_brace(w);
}

/* ---- parts of the depth ---------------------------------------------------------------------- */

/* Number `unit` of a thread's, which go along an axis: i and j0, or j and i0. */
static void put_unit_place(struct emitter *w, int axis, int units) {
    const char *line_of = axis == AXIS_N ? "i" : "j", *first = axis == AXIS_N ? "j0" : "i0";
    line(w, "const int %s = unit / %d, %s = unit %% %d * %d;", line_of, units, first, units,
         unit_along(w, axis));
}

static void put_leave(struct emitter *w, int axis, int units, int all) {
    int unit = unit_along(w, axis), threads = w->y->threads;
    line(w, "float *const of_tile = parts + ((long long)(blockIdx.x / %d) * %lld + tid * %d);",
         w->y->split, (long long)w->y->split * all * unit * threads, unit);
    line(w, "#pragma unroll");
    open_brace(w, "for (int unit = 0; unit < %d; unit++)", all);
    put_unit_place(w, axis, units);
    line(w, "float x[%d];", unit);
    line(w, "#pragma unroll");
    line(w, "for (int e = 0; e < %d; e++) x[e] = acc[%s];", unit,
         axis == AXIS_N ? "i][j0 + e" : "i0 + e][j");
    line(w, "k_store_parts<%d>(of_tile + (part * %d + unit) * %d, x);", unit, all, threads * unit);
    close_brace(w);
    line(w, "k_meet_parts<%d>(tickets + blockIdx.x / %d, %d, 1);", threads, w->y->split,
         w->y->split);
}

/* What all parts come to, in their order: the same bits in every run. */
static void put_sum_of_parts(struct emitter *w, int unit, int all) {
    enum { AT_ONCE = 16 };
    int parts = w->y->split, rounds = (parts + AT_ONCE - 1) / AT_ONCE,
        many = (parts + rounds - 1) / rounds;
    line(w, "float own[%d];", unit);
    line(w, "k_zero(own);");
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int first = 0; first < %d; first += %d)", parts, many);
    line(w, "float x[%d][%d];", many, unit);
    line(w, "#pragma unroll");
    line(w, "for (int p = 0; p < %d; p++)", many);
    const char *there = parts % many ? arena_printf(w->arena, "if (first + p < %d) ", parts) : "";
    line(w, "    %sk_load_parts<%d>(x[p], of_tile + ((first + p) * %d + unit) * %d);", there, unit,
         all, unit * w->y->threads);
    line(w, "#pragma unroll");
    line(w, "for (int p = 0; p < %d; p++)", many);
    line(w, "    for (int e = 0; %se < %d; e++) own[e] += x[p][e];",
         parts % many ? arena_printf(w->arena, "first + p < %d && ", parts) : "", unit);
    close_brace(w);
}

static void put_share(struct emitter *w, int axis) {
    int unit = unit_along(w, axis), along = axis == AXIS_N ? w->y->vec : w->y->ex;
    int units = along / unit, all = w->y->ex * w->y->vec / unit;
    put_leave(w, axis, units, all);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int unit = part; unit < %d; unit += %d)", all, w->y->split);
    put_unit_place(w, axis, units);
    put_line(w, axis, "continue");
    put_sum_of_parts(w, unit, all);
    put_unit(w, axis, axis == AXIS_N ? "own[j]" : "own[i]");
    close_brace(w);
}

/* A thread of 64 accumulators has some 128 registers: what folds need besides is not to cost a
 * multiprocessor a block. A few values that no product reads may lie in memory meanwhile. */
static const char *least_blocks(struct emitter *w) {
    enum { REGISTERS = 128, MOVED = 64 /* bytes */ };
    const int32_t *c = w->p->config.knob;
    int blocks = (int)(w->k->limits->regs_unit / (w->y->threads * REGISTERS));
    bool folds = layout_depth_folds(w->k, c[KNOB_k], w->y->split).levels > 0;
    bool fits = dtype_opmath(at(w, w->k->dot)->dtype) != DT_F64 && c[KNOB_tm] * c[KNOB_tn] == 64;
    if (!folds || !fits || blocks < 2) return "";
    add_stack(&w->out->launches[w->out->n_launches - 1], MOVED);
    return arena_printf(w->arena, ", %d", blocks);
}

/* Warps of 4 by 8 threads, of `down` by `across` in all; rows of threads where these do not fit.
 * Neighbours are pairs in a column: reads of 128 bits are made for half a warp at a time where two
 * of them want the same. */
static void put_threads(struct emitter *w, int down, int across) {
    line(w, "const int tid = (int)threadIdx.x;");
    if (down % LANES_M || across % LANES_N) {
        line(w, "const int tx = tid %% %d, ty = tid / %d;", across, across);
        return;
    }
    int warps = across / LANES_N, warp = w->k->limits->warp, half = warp / 2;
    WS_ASSERT(LANES_M * LANES_N == warp);
    line(w, "const int tx = tid / %d %% %d * %d + tid %% %d / 2;", warp, warps, LANES_N, half);
    line(w, "const int ty = tid / %d / %d * %d + tid %% %d / %d * 2 + tid %% 2;", warp, warps,
         LANES_M, warp, half);
}

static void put_shifted(struct emitter *w, enum axis axis) {
    char x = axis == AXIS_M ? 'm' : 'n';
    int size = w->p->config.knob[axis == AXIS_M ? KNOB_m : KNOB_n];
    if (is_shifted(w, axis))
        line(w, "const k_idx from_%c = k_clamp(p%c * %d, n%c - %d);", x, x, size, x, size);
}

void emit_cuda_matmul(struct emitter *w) {
    const struct kernel *k = w->k;
    const int32_t *c = w->p->config.knob;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem,
                            .meets = w->y->split > 1};
    add_arguments(w, l);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d%s) %s(", w->y->threads,
               least_blocks(w), k->entry);
    put_parameters(w);
    if (w->y->split > 1) {
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE};
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
        buf_puts(&w->b, ", float *parts, unsigned *tickets");
    }
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    put_threads(w, c[KNOB_m] / c[KNOB_tm], c[KNOB_n] / c[KNOB_tn]);
    line(w, "const k_idx nm = %s, nn = %s, nr = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]));
    line(w, "const k_idx tiles_m = (nm + %d) / %d, tiles_n = (nn + %d) / %d;", c[KNOB_m] - 1,
         c[KNOB_m], c[KNOB_n] - 1, c[KNOB_n]);
    const char *block = w->y->split > 1
                            ? arena_printf(w->arena, "((k_idx)blockIdx.x / %d)", w->y->split)
                            : "(k_idx)blockIdx.x";
    line(w, "const k_idx tile = %s %% (tiles_m * tiles_n), z = %s / (tiles_m * tiles_n);", block,
         block);
    line(w, "/* bands of 8 tile rows, column by column inside a band: neighbours in time share "
            "operands in L2 */");
    line(w, "const k_idx band = tile / (8 * tiles_n), rows = k_clamp(tiles_m - band * 8, "
            "(k_idx)8), in = "
            "tile - band * 8 * tiles_n;");
    line(w, "const k_idx pm = band * 8 + in %% rows, pn = in / rows;");
    line(w, "(void)z;");
    put_shifted(w, AXIS_M), put_shifted(w, AXIS_N);
    put_main_loop(w);
    int axis = stored_along(w);
    (w->y->split > 1 ? put_share : put_epilogue)(w, axis);
    close_brace(w);
}
