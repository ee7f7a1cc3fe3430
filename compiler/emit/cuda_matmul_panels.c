/* cuda_matmul_panels.c: how factors of a product by multiply-adds come to shared memory, panel by
 * panel, and from there to registers (cuda_matmul.c).
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

#include "emit/cuda_matmul.h"

enum { EIGHT = 8 };
enum { MOST_APART = 1 << 23 };    /* bytes that an instruction's address has a number for */
enum { MOST_WRITTEN_OUT = 1024 }; /* multiply-adds: a loop of 20 KB stays near who executes it */

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

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
int panel_quads(const struct panel *p) { return p->depth / QUAD; }

static bool may_be_upright(struct emitter *w, const struct panel *p) {
    int threads = w->y->threads, lines = threads / panel_quads(p);
    bool even = threads % panel_quads(p) == 0 && lines % EIGHT == 0 && p->size % lines == 0 &&
                p->size / p->elements % EIGHT == 0;
    return p->along_depth && even && p->each == QUAD;
}

/* Of panels ahead, where there are as many rows as a tile has: then none of it is outside. What the
 * tile before has, too, that one stores. */
bool tile_is_shifted(struct emitter *w, enum axis axis) {
    int64_t rows;
    int size = w->p->config.knob[axis == AXIS_M ? KNOB_m : KNOB_n];
    return w->y->stages && ex_is_const(w->k->ex, w->k->bound[axis], &rows) && rows >= size &&
           rows % size != 0;
}

/* Of a tile's rows, or columns, the first. */
const char *tile_begin(struct emitter *w, enum axis axis) {
    char x = axis == AXIS_M ? 'm' : 'n';
    if (tile_is_shifted(w, axis)) return x == 'm' ? "from_m" : "from_n";
    return arena_printf(w->arena, "p%c * %d", x, w->p->config.knob[x == 'm' ? KNOB_m : KNOB_n]);
}

/* What the text says of row or column `at` that this tile stores. */
const char *tile_stored_if(struct emitter *w, enum axis axis, const char *at) {
    char x = axis == AXIS_M ? 'm' : 'n';
    if (!tile_is_shifted(w, axis)) return arena_printf(w->arena, "%s < n%c", at, x);
    return arena_printf(w->arena, "%s >= p%c * %d", at, x,
                        w->p->config.knob[x == 'm' ? KNOB_m : KNOB_n]);
}

static void set_rounds(struct emitter *w, struct panel *p) {
    if (w->y->stages && p->along_depth && !p->upright) p->each = 1;
    p->shifted = tile_is_shifted(w, p->axis);
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
                      .turned = is_turned(w->y, axis),
                      .each = 1};
    for (value_id v = 0; v <= factor; v++) {
        if (!needed[v] || at(w, v)->kind != INST_LOAD) continue;
        p.along_depth |= load_stride(w->k, at(w, v), AXIS_R) == 1 && !p.turned;
        p.gathered |= at(w, v)->n_args > 0;
    }
    int width = p.along_depth ? p.depth : p.size;
    if (width % QUAD == 0 && (p.turned || loads_vectors(w, &p, p.along_depth ? AXIS_R : axis)))
        p.each = QUAD;
    p.copied = copied_load(w, &p);
    p.upright = w->y->stages && may_be_upright(w, &p);
    set_rounds(w, &p);
    return p;
}

/* Of panels that may be upright the larger one is, and the other one, too, where registers hold two
 * quads of each of a thread's elements; not beside many sums, which leave no room to read them a
 * little at a time. */
void panels_make(struct emitter *w, struct panel *a, struct panel *b) {
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

int panel_slices(const struct panel *p) { return p->depth / p->slice; }

/* From the beginning of a panel to depth kk of it. */
static int depth_place(const struct panel *p, int kk) {
    return kk / p->slice * p->apart + kk % p->slice * p->pitch;
}

/* Neighbours that a thread has of a tile's rows or columns, and from those to its next ones. */
int tile_thread_unit(struct emitter *w, enum axis axis) {
    struct panel a, b;
    panels_make(w, &a, &b);
    const struct panel *p = axis == AXIS_M ? &a : &b;
    return p->upright ? 1 : layout_unit(p->elements);
}

int tile_unit_distance(struct emitter *w, enum axis axis) {
    const struct layout *y = w->y;
    return (axis == AXIS_M ? y->bx / y->ex : y->br / y->vec) * tile_thread_unit(w, axis);
}

/* Where row number `row` lies at depth kk. */
static const char *swizzled(struct emitter *w, const struct panel *p, const char *row) {
    if (!p->along_depth || p->size % 32 || p->pitch > p->size) return row;
    return arena_printf(w->arena, "(%s ^ kk %s)", row, p->each == QUAD ? "/ 4 % 4 * 8" : "% 8 * 4");
}

/* Which quad of row `row`, number `quad` of the depth, lies as which. */
const char *panel_upright_quad(struct emitter *w, const struct panel *p, const char *row,
                               const char *quad) {
    return arena_printf(w->arena, "(%s ^ %s / %d %% %d)", quad, row, 8 / panel_quads(p),
                        panel_quads(p));
}

/* Where a piece from row ss and depth kk on lies. */
static const char *position(struct emitter *w, const struct panel *p) {
    if (p->upright)
        return arena_printf(w->arena, "ss * %d + %s * %d", p->depth,
                            panel_upright_quad(w, p, "ss", "kk / 4"), QUAD);
    const char *row = swizzled(w, p, "ss");
    if (panel_slices(p) == 1) return arena_printf(w->arena, "kk * %d + %s", p->pitch, row);
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

/* Where the factor's element of this side and depth r is. */
static const char *source_of(struct emitter *w, const struct panel *p) {
    const struct value_node *x = at(w, p->copied);
    if (!p->turned)
        return arena_printf(w->arena, "p%d + (%s", argument_of(w, x->buffer), ex_text(w, x->index));
    const char *line = x->mask & MASK_Z ? "(z * nr + r)" : "r";
    return arena_printf(w->arena, "turned_%c + (%s * %lld + %s", p->letter, line,
                        (long long)turned_pitch(w->k, p->axis), p->side);
}

/* From it to the next one along an axis; -1: it is not known. */
static int64_t source_step(struct emitter *w, const struct panel *p, enum axis x) {
    if (!p->turned) return load_stride(w->k, at(w, p->copied), x);
    return x == AXIS_R ? turned_pitch(w->k, p->axis) : 1;
}

/* The same where each piece lies as far from the first as the text says. */
static bool put_even_copy(struct emitter *w, const struct panel *p, bool whole) {
    const struct value_node *x = at(w, p->copied);
    struct even_pieces e = even_pieces(w, p);
    int64_t along = source_step(w, p, p->axis), deeper = source_step(w, p, AXIS_R);
    if (!w->y->stages || !e.fit || along < 0 || deeper < 0) return false;
    const char *lines = lines_inside(w, p, whole);
    if (lines && e.turns > 1) return false;
    open_scope(w);
    put_even_piece(w, p, &e, true);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    line(w, "%s *const to = %cs + %s;", math_type(at(w, w->k->dot)->dtype),
         p->letter == 'a' ? 'A' : 'B', position(w, p));
    line(w, "const %s *const from = %s);", memory_type(w, buffer_dtype(w, x->buffer)),
         source_of(w, p));
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
    const char *guard = inside(w, p, whole);
    bool last = w->y->stages && !whole && guard;
    if (!last && put_even_copy(w, p, whole)) return;
    line(w, last ? "#pragma unroll 1" : "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rounds);
    put_piece(w, p);
    line(w, "const k_idx %s = %s + ss, r = next + kk;", p->side, tile_begin(w, p->axis));
    if (guard) line(w, "const bool inside = %s;", guard);
    int bytes = p->each * 4;
    line(w, "k_cp_async<%d>(%cs + %s, %s%s);", bytes, p->letter == 'a' ? 'A' : 'B', position(w, p),
         source_of(w, p),
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
void put_panel_operands(struct emitter *w, const struct panel *p, int elements, const char *to) {
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

void put_panel_fetches(struct emitter *w, const struct panel *const *side, bool whole) {
    for (int i = 0; i < 2; i++) {
        if (side[i]->gathered) continue;
        if (is_staged(side[i]))
            put_fetch(w, side[i]);
        else
            put_copy(w, side[i], whole);
    }
}

void put_panel_fills(struct emitter *w, const struct panel *const *side) {
    for (int i = 0; i < 2; i++)
        if (side[i]->copied == NO_VALUE) (side[i]->gathered ? put_gathered : put_fill)(w, side[i]);
}

void declare_staged_panels(struct emitter *w, const struct panel *const *side) {
    const char *t = math_type(at(w, w->k->dot)->dtype);
    for (int i = 0; i < 2; i++)
        if (is_staged(side[i]))
            line(w, "%s r%c[%d][%d];", t, side[i]->letter, side[i]->rounds, side[i]->each);
}
