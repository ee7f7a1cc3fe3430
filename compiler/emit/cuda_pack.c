/* cuda_pack.c: the launch before a product on the matrix units that writes a factor's image into
 * the workspace, or, of a factor of constants, once into memory that is kept across calls, where
 * the factor cannot be copied from as it lies in memory (kernel/operand.c):
 *
 *     for (long long line = ...; line < 8192; line += ...) {      eight neighbours each
 *         const k_idx at = line % 4096, z = line / 4096;
 *         float x[8];
 *         k_pack<k_f32, 8> l0[1];
 *         l0[0] = k_load<k_f32, 8>(p0 + (at * 4096 + c));
 *         for (int e = 0; e < 8; e++) x[e] = k_get(l0[e / 8], e % 8);
 *         k_store<k_bf16, 8, 0>(image + (line * 4096 + c), k_plane(x));
 *     }
 *
 * Three planes hold an f32's 24 bits: what is left of x goes to the next plane. tf32 is rounded to.
 * What of a group of eight is beyond the line's end is 0, and nobody reads it.
 *
 * Where the factor runs across the image, blocks turn tiles of it in shared memory, so that what
 * they read lies together, and what they write, too:
 *
 *     for (long long i = blockIdx.x; i < 8192; i += gridDim.x) {     64 lines of 64 each
 *         ...                                     four neighbouring lines at one place of theirs:
 *         for (int e = 0; e < 4; e++) tile[l + e][c] = x[e];
 *         __syncthreads();
 *         for (int e = 0; e < 4; e++) x[e] = tile[l][c + e];          four neighbours of a line
 *         k_store<k_f32, 4, 0>(image + ..., w);
 *         __syncthreads();
 *     }
 *
 * A factor that is read through windows (kernel/im2col.c) is written pixel by pixel, channels
 * innermost, as it is inside of its guard: a convolution's input once, not once for each tap.
 * A thread has some neighbouring pixels, which are a vector of memory, of eight channels; a warp
 * has some of these beside each other along both, so that it reads and writes whole sectors:
 *
 *     k_pack<k_f32, 4> l2[8];
 *     for (int e = 0; e < 8; e++) l2[e] = k_load<k_f32, 4>(p1 + (at0 + at1*56 + (c + e)*3136));
 *     for (int j = 0; j < 4; j++) {
 *         for (int e = 0; e < 8; e++) x[e] = k_get(l2[e], j);
 *         k_store<k_bf16, 8, 0>(image + ((pixel + j) * 64 + c), k_plane(x));
 *     }
 *
 * The other factor's depth then is taps, of each all channels. Runs of few channels (im2col_runs)
 * have the zeros around the input in their image, and a thread has some neighbouring pixels with
 * all their channels. What is read as it lies has positions innermost, as memory has, or would
 * have. */
#include "emit/cuda_mma.h"

enum { EACH = PACK_EACH, THREADS = PACK_THREADS, TILE = PACK_TILE, QUAD = 4 };

/* Neighbours that a thread has of a line that it writes: 16 bytes, so that a warp's store is whole
 * sectors: 32 bytes of tf32, in two stores, take an H100 twice as long. */
static int elements_of_thread(const struct operand *o) {
    enum { VECTOR = 16 };
    return VECTOR / dtype_bytes(o->dtype);
}

/* How many of so many neighbours along the image's lines the load has side by side, and aligned, in
 * memory: 8, 4 or 2; 1: each is loaded by itself, as where a guard may tell them apart. */
static int vector_of(struct emitter *w, const struct operand *o, const struct value_node *x,
                     int each) {
    enum axis along = o->along || o->across ? o->axis : AXIS_R;
    bool same = !x->guarded || !(w->k->values.at[x->args[0]].mask & 1 << along);
    for (int n = each; n > 1 && !o->order && same; n /= 2)
        if (load_is_vector(w->k, x, along, n)) return n;
    return 1;
}

/* Vectors of the neighbours from number `at` on, of `size`; the axis is there by name. */
static void put_vectors(struct emitter *w, const struct operand *o, const bool *needed,
                        const char *at, int64_t size, int each) {
    ex axis = w->k->axis[o->along || o->across ? o->axis : AXIS_R];
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        int n = needed[v] && x->kind == INST_LOAD ? vector_of(w, o, x, each) : 1;
        if (n == 1) continue;
        for (int a = 0; a < x->n_args; a++) put_expression(w, x->args[a]); /* subscripts, a guard */
        const char *type = memory_type(w, buffer_dtype(w, x->buffer));
        line(w, "k_pack<%s, %d> l%u[%d];", type, n, v, each / n);
        for (int i = 0; i < each / n; i++) {
            ex from = axis, to = ex_add(w->k->ex, axis, ex_const(w->k->ex, i * n));
            const char *inside = "";
            if (i && size % each)
                inside = arena_printf(w->arena, "if (%s + %d < %lld) ", at, i * n, (long long)size);
            const char *guard =
                x->guarded ? arena_printf(w->arena, "%s, ", ref(w, x->args[0])) : "";
            line(w, "%sl%u[%d] = k_load%s<%s, %d>(%sp%d + (%s));", inside, v, i,
                 x->guarded ? "_if" : "", type, n, guard, argument_of(w, x->buffer),
                 ex_text(w, ex_subst(w->k->ex, x->index, &from, &to, 1)));
        }
    }
}

static void put_element(struct emitter *w, const struct operand *o, const bool *needed, int each) {
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || w->where[v] == LOCAL) continue; /* subscripts are the same for all */
        int n = x->kind == INST_LOAD ? vector_of(w, o, x, each) : 1;
        if (n == 1) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = k_get(l%u[e / %d], e %% %d);", math_type(x->dtype), v, v, n, n);
        w->where[v] = LOCAL;
    }
    line(w, "x[e] = (%s)%s;", math_type(o->dtype), ref(w, o->factor));
}

/* See operand_tap. */
static void put_tap_of_depth(struct emitter *w, const struct operand *o) {
    long long channels = o->channels, each = o->step_channels;
    if (!o->step_taps) {
        line(w, "const k_idx tap = (c + e) / %lld, channel = (c + e) %% %lld;", channels, channels);
        return;
    }
    if (operand_has_pairs_of_slots(o))
        line(w,
             "const k_idx of = (c + e) %% 16, at = c + e - of + (of / 8 * 2 + of %% 2) * %d + of "
             "%% 8 / 2;",
             LYING_SLOT);
    else
        line(w, "const k_idx at = c + e;");
    line(w, "const k_idx step = at / %lld, place = at / %lld %% %d;", each * o->step_places, each,
         o->step_places);
    line(w, "const k_idx tap = step / %lld * %d + place;", channels / each, o->step_taps);
    const char *none = o->step_places > o->step_taps
                           ? arena_printf(w->arena, "place >= %d ? %lld : ", o->step_taps, channels)
                           : "";
    line(w, "const k_idx channel = %sstep %% %lld * %lld + at %% %lld;", none, channels / each,
         each, each);
}

/* r of number c + e along an image whose depth is taps, of each all channels, or runs of taps. */
static void put_depth(struct emitter *w, const struct operand *o) {
    const struct im2col *of = o->order->of ? o->order->of : o->order;
    if (o->order->of) {
        line(w, "const k_idx run = (c + e) / %lld, at = (c + e) %% %lld;", (long long)o->channels,
             (long long)o->channels);
        line(w, "const k_idx part = at %% %lld, channel = part %% %lld;",
             (long long)o->order->pixel, (long long)of->channels);
        line(w, "const k_idx tap = (run * %lld + part / %lld) * %lld + at / %lld;",
             (long long)o->order->pixel_taps, (long long)of->channels, (long long)of->dim[0].taps,
             (long long)o->order->pixel);
        open_brace(w, "if (at < %lld && part < %lld)", (long long)o->order->channels,
                   (long long)(o->order->pixel_taps * of->channels));
    } else {
        put_tap_of_depth(w, o);
        line(w, "(void)tap;");
        open_brace(w, "if (channel < %lld)", (long long)of->channels);
    }
    line(w, "const k_idx r = %s;", ex_text(w, im2col_other(w->k, of)));
}

/* x[e] of so many neighbours from `at` on, along the axis of this name and size. */
static void put_neighbours(struct emitter *w, const struct operand *o, const char *axis,
                           const char *at, int64_t size, int each) {
    const struct kernel *k = w->k;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, o->factor, needed);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    open_scope(w);
    line(w, "const k_idx %s = %s;", axis, at);
    put_vectors(w, o, needed, at, size, each);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", each);
    line(w, "x[e] = 0;");
    bool whole = size % each == 0;
    if (!whole) open_brace(w, "if (%s + e < %lld)", at, (long long)size);
    if (o->order)
        put_depth(w, o);
    else
        line(w, "const k_idx %s = %s + e;", axis, at);
    put_element(w, o, needed, each);
    if (o->order) close_brace(w);
    if (!whole) close_brace(w);
    close_brace(w);
    close_brace(w);
}

/* Of f16: its data have to be in range. */
static bool of_pairs(const struct operand *o) { return o->planes == 2 && o->dtype == DT_F16; }

/* The values x[e] as planes, from element `to` of the image on. Pairs are in range if the largest
 * of some neighbours along the depth is: the thread's, and those of so many lanes beside it. The
 * more these are the better: all of them but a small one may be 0, as behind a relu. */
static void put_planes(struct emitter *w, const struct operand *o, int each, const char *to,
                       int lanes, bool samples) {
    if (samples) {
        line(w, "k_top_finite(most, x);");
        return;
    }
    const char *t = memory_type(w, o->dtype);
    line(w, "k_pack<%s, %d> w;", t, each);
    if (o->dtype == DT_F32) {
        line(w, "#pragma unroll");
        line(w, "for (int e = 0; e < %d; e++) x[e] = k_as_float(k_tf32_bits(x[e]));", each);
    }
    bool pairs = of_pairs(o);
    if (pairs && !o->along) line(w, "unsigned top[1] = {0};");
    if (pairs) line(w, "k_top(top, x);");
    if (pairs && lanes > 1) line(w, "k_top_of_lanes<%d>(top);", lanes);
    if (pairs && !o->along) line(w, "odd |= k_out_of_range(top, scale);");
    for (int p = 0; p < o->planes; p++) {
        if (o->planes == 1)
            line(w, "k_put(w, x);");
        else if (pairs)
            line(w, "k_halve<%s>(w, x, scale);", p ? "false" : "true");
        else
            line(w, "k_split<%s>(w, x);", p ? "false" : "true");
        line(w, "k_store<%s, %d, 0>(image + (%s + %lldLL), w);", t, each, to,
             (long long)o->plane * p);
    }
}

/* ---- what is copied as the product has it ---------------------------------------------------- */

/* Of so many eights, the threads of a warp have one each in turn: so many lanes that begin at a
 * multiple of their number have eights of one line. */
static int lanes_of_line(int64_t eights, int most) {
    int lanes = 1;
    while (lanes < most && eights % (2 * lanes) == 0) lanes *= 2;
    return lanes;
}

/* For so many groups of eight neighbours; samples: of these, one for each thread of a block, the
 * same in all blocks. */
static void open_loop(struct emitter *w, int64_t groups, bool samples) {
    if (samples) { /* an odd step, so that not all are of one column */
        open_brace(w,
                   "for (long long i = threadIdx.x * %lldLL, end = i + 1; i < end && i < %lldLL; "
                   "i++)",
                   (long long)(groups > THREADS ? groups / THREADS | 1 : 1), (long long)groups);
        return;
    }
    open_brace(w,
               "for (long long i = (long long)blockIdx.x * %d + threadIdx.x; i < %lldLL; i += "
               "(long long)gridDim.x * %d)",
               THREADS, (long long)groups, THREADS);
}

static const char *row_name(const struct operand *o) { return o->axis == AXIS_M ? "m" : "n"; }

/* Of pairs whose lines are rows: a thread has so many lines, neighbours along the depth. */
static void put_lines_of_rows(struct emitter *w, const struct operand *o, bool samples) {
    enum { DEEP = 16 };
    long long chunks = tile_count(o->rows, EACH), groups = tile_count(o->depth, DEEP);
    open_loop(w, chunks * groups * o->batches, samples);
    line(w, "const k_idx c = (k_idx)(i %% %lld) * %d, first = (k_idx)(i / %lld %% %lld) * %d;",
         chunks, EACH, chunks, groups, DEEP);
    line(w, "const k_idx z = (k_idx)(i / %lldLL);", chunks * groups);
    line(w, "(void)z;");
    if (!samples) line(w, "unsigned top[%d];", EACH);
    if (!samples) line(w, "for (int e = 0; e < %d; e++) top[e] = 0;", EACH);
    line(w, "#pragma unroll 2");
    open_brace(w, "for (int d = 0; d < %d; d++)", samples ? 1 : DEEP);
    line(w, "const k_idx r = first + d;");
    if (o->depth % DEEP) line(w, "if (r >= %lld) break;", (long long)o->depth);
    line(w, "float x[%d];", EACH);
    put_neighbours(w, o, row_name(o), "c", o->rows, EACH);
    put_planes(w, o, EACH,
               arena_printf(w->arena, "z * %lldLL + (long long)r * %lld + c", (long long)o->batch,
                            (long long)o->pitch),
               1, samples);
    close_brace(w);
    if (!samples) line(w, "odd |= k_out_of_range(top, scale);");
    close_brace(w);
}

/* Where an axis stands as a warp's loads are counted. */
struct place {
    const struct kernel *k;
    enum axis line_axis, width_axis;
    int64_t line, at;
};

static int64_t coordinate(void *ctx, ex symbol) {
    const struct place *p = ctx;
    if (symbol == p->k->axis[p->line_axis]) return p->line;
    return symbol == p->k->axis[p->width_axis] ? p->at : 0;
}

/* Lines of memory in which a warp finds the first elements of its threads, of all loads, if
 * `abreast` threads lie along a line of the image, in its midst. */
static int lines_of_warp(struct emitter *w, const struct operand *o, int64_t chunks, int64_t lines,
                         int each, int64_t abreast) {
    enum { LINE = 128, WARP = 32 };
    const struct kernel *k = w->k;
    struct place p = {.k = k,
                      .line_axis = o->along ? AXIS_R : o->axis,
                      .width_axis = o->along ? o->axis : AXIS_R};
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    int n = 0;
    mark_needed(w, o->factor, needed);
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        int64_t seen[WARP];
        int found = 0;
        if (!needed[v] || x->kind != INST_LOAD) continue;
        for (int t = 0; t < w->k->limits->warp && t < WARP; t++) {
            p.line = lines / 2 + t / abreast;
            p.at = t % abreast % chunks * each;
            int64_t at = ex_eval(k->ex, x->index, coordinate, &p) *
                         dtype_bytes(buffer_dtype(w, x->buffer)) / LINE;
            int i = 0;
            while (i < found && seen[i] != at) i++;
            if (i == found) seen[found++] = at;
        }
        n += found;
    }
    return n;
}

/* Opens the loop over what threads have of lines. Where a line has few such, each thread has the
 * same of many lines: of an image of 401408 windows of 3 x 7 x 7, where in a window an element lies
 * would take most instructions of each. Of pairs all lanes of a line are to be there. Where what
 * neighbours along a line read lies apart, as taps of few channels do, a warp has two of each of 16
 * lines, a sector of what it stores. */
static void open_lines(struct emitter *w, const struct operand *o, int64_t chunks, int64_t lines,
                       int each, bool samples) {
    enum { ABREAST = 2, NEARER = 2, MANY = 4096 };
    long long all = (long long)lines * o->batches;
    int warp = w->k->limits->warp;
    if (samples || of_pairs(o) || chunks > THREADS) {
        open_loop(w, chunks * all, samples);
        line(w, "const k_idx c = (k_idx)(i %% %lld) * %d;", (long long)chunks, each);
        line(w, "const long long line = i / %lld;", (long long)chunks);
    } else {
        bool across = !o->order && chunks > ABREAST && lines >= MANY &&
                      NEARER * lines_of_warp(w, o, chunks, lines, each, ABREAST) <
                          lines_of_warp(w, o, chunks, lines, each, chunks);
        long long groups = tile_count(chunks, ABREAST);
        int rows = warp / ABREAST;
        line(w, "const int thread = (int)(blockIdx.x * %d + threadIdx.x);", THREADS);
        if (across) {
            line(w, "const int group = thread / %d, apart = (int)(gridDim.x * %d) / %lld * %d;",
                 warp, THREADS / warp, groups, rows);
            line(w, "const int first = group / %lld * %d + thread %% %d / %d;", groups, rows, warp,
                 ABREAST);
            line(w, "const k_idx c = (k_idx)(group %% %lld * %d + thread %% %d) * %d;", groups,
                 ABREAST, ABREAST, each);
        } else {
            line(w, "const int apart = (int)(gridDim.x * %d) / %lld, first = thread / %lld;",
                 THREADS, (long long)chunks, (long long)chunks);
            line(w, "const k_idx c = (k_idx)(thread %% %lld) * %d;", (long long)chunks, each);
        }
        const char *is_one = across && chunks % ABREAST
                                 ? arena_printf(w->arena, " && c < %lld", (long long)chunks * each)
                                 : "";
        open_brace(
            w,
            "for (long long line = first < apart%s ? first : %lldLL; line < %lldLL; line += apart)",
            is_one, all, all);
    }
    line(w, "const k_idx at = (k_idx)(line %% %lldLL), z = (k_idx)(line / %lldLL);",
         (long long)lines, (long long)lines);
    line(w, "(void)z;");
}

/* Of a stacked image: where element number c of row `at` of batch z is. */
static const char *stacked_place(struct emitter *w, const struct operand *o, const char *at,
                                 const char *c) {
    enum { LINE = 128 };
    int elements = LINE / dtype_bytes(o->dtype), each = o->paired ? PAIRED_DEPTH : elements;
    return arena_printf(w->arena, "z * %lldLL + %s / %d * %lldLL + (long long)(%s) * %d + %s %% %d",
                        (long long)o->batch, c, each, (long long)o->rows * elements, at, elements,
                        c, each);
}

/* Lines of an image, and what lies along them. */
static void put_lines(struct emitter *w, const struct operand *o, bool samples) {
    int64_t lines = o->along ? o->depth : o->rows, width = o->along ? o->rows : o->depth;
    int each = elements_of_thread(o);
    int64_t chunks = tile_count(width, each);
    open_lines(w, o, chunks, lines, each, samples);
    line(w, "const k_idx %s = at;", o->along ? "r" : row_name(o));
    line(w, "%s x[%d];", math_type(o->dtype), each);
    put_neighbours(w, o, o->along ? row_name(o) : "r", "c", width, each);
    const char *place = o->paired ? arena_printf(w->arena, "c / %d * %d + c %% %d", PAIRED_DEPTH,
                                                 PAIRED_DEPTH * o->planes, PAIRED_DEPTH)
                                  : "c";
    place = o->stacked ? stacked_place(w, o, "at", "c")
                       : arena_printf(w->arena, "line * %lld + %s", (long long)o->pitch, place);
    put_planes(w, o, each, place, lanes_of_line(chunks, w->k->limits->warp), samples);
    close_brace(w);
}

/* Of a tile's 64 by 64 elements a thread has four, some times: first of neighbouring lines, then of
 * one. These are 16 bytes of memory, both times, and those of half a warp lie beside each other:
 * more of a thread's would be parts of sectors in each of its stores. */
static void open_share(struct emitter *w, const char *line_of, const char *along) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", TILE * TILE / QUAD / THREADS);
    line(w, "const int l = %s, c = %s;", line_of, along);
}

static void put_tiles(struct emitter *w, const struct operand *o, bool samples) {
    const char *type = math_type(o->dtype), *stored = memory_type(w, o->dtype);
    bool tf32 = o->dtype == DT_F32;
    WS_ASSERT(!samples && (tf32 || dtype_bytes(o->dtype) == 1));
    long long across = tile_count(o->rows, TILE), along = tile_count(o->depth, TILE);
    enum { PER = TILE / QUAD, BELOW = THREADS / PER };
    const char *quad = arena_printf(w->arena, "(int)threadIdx.x %% %d * %d", PER, QUAD);
    const char *rest = arena_printf(w->arena, "(int)threadIdx.x / %d + u * %d", PER, BELOW);
    bool whole = o->rows % TILE == 0 && o->depth % TILE == 0;
    line(w, "__shared__ %s tile[%d][%d];", type, TILE, TILE + 1); /* columns lie in all banks */
    open_brace(w, "for (long long i = blockIdx.x; i < %lldLL; i += gridDim.x)",
               across * along * (long long)o->batches);
    line(w, "const k_idx l0 = (k_idx)(i %% %lld) * %d, c0 = (k_idx)(i / %lld %% %lld) * %d;",
         across, TILE, across, along, TILE);
    line(w, "const k_idx z = (k_idx)(i / %lldLL);", across * along);
    line(w, "(void)z;");
    line(w, "%s all[%d][%d];", type, TILE * TILE / QUAD / THREADS, QUAD); /* loads go together */
    open_share(w, quad, rest);
    line(w, "%s(&x)[%d] = all[u];", type, QUAD);
    line(w, "const k_idx r = c0 + c, at = l0 + l;");
    line(w, "for (int e = 0; e < %d; e++) x[e] = 0;", QUAD);
    if (!whole) line(w, "if (r < %lld && at < %lld)", (long long)o->depth, (long long)o->rows);
    put_neighbours(w, o, row_name(o), "at", o->rows, QUAD);
    close_brace(w);
    open_share(w, quad, rest);
    line(w, "#pragma unroll");
    line(w, "for (int e = 0; e < %d; e++) tile[l + e][c] = %s;", QUAD,
         tf32 ? "k_as_float(k_tf32_bits(all[u][e]))" : "all[u][e]");
    close_brace(w);
    line(w, "__syncthreads();");
    open_share(w, rest, quad);
    line(w, "%s x[%d];", type, QUAD);
    line(w, "#pragma unroll");
    line(w, "for (int e = 0; e < %d; e++) x[e] = tile[l][c + e];", QUAD);
    line(w, "k_pack<%s, %d> w;", stored, QUAD);
    line(w, "k_put(w, x);");
    if (!whole)
        line(w, "if (l0 + l < %lld && c0 + c < %lld)", (long long)o->rows, (long long)o->depth);
    const char *place =
        o->stacked ? stacked_place(w, o, "l0 + l", "(c0 + c)")
                   : arena_printf(w->arena, "z * %lldLL + (long long)(l0 + l) * %lld + c0 + c",
                                  (long long)o->batch, (long long)o->pitch);
    line(w, "k_store<%s, %d, 0>(image + (%s), w);", stored, QUAD, place);
    close_brace(w);
    line(w, "__syncthreads();");
    close_brace(w);
}

/* ---- what windows read ----------------------------------------------------------------------- */

/* By how much a load grows with the channel. */
static int64_t channel_stride(struct emitter *w, const struct operand *o, value_id load) {
    ex index = im2col_index(w->k, o->order, w->k->values.at[load].index);
    int64_t stride;
    return index_take(w->k, &index, o->order->channel, &stride) ? stride : -1;
}

/* Does it matter to the load which pixel of an image it is? */
static bool reads_pixels(struct emitter *w, const struct im2col *of, value_id load) {
    ex index = im2col_index(w->k, of, w->k->values.at[load].index);
    bool reads = false;
    for (int d = 0; d < of->n; d++) reads |= ex_uses(w->k->ex, index, of->at[d]);
    return reads;
}

/* Do n pixels from each multiple of n on lie beside each other in what the load reads, at a
 * multiple of n? */
static bool pixels_are_vector(struct emitter *w, const struct im2col *of, value_id load, int n) {
    struct exprs *p = w->k->ex;
    ex rest = im2col_index(w->k, of, w->k->values.at[load].index);
    const ex apart[] = {of->channel, of->image, w->k->axis[AXIS_Z]};
    int64_t c, below = 1;
    bool flat = true,
         whole = of->dim[0].size % n == 0; /* a row behind the other; each is vectors */
    for (int d = 0; d < of->n; d++) {
        if (!index_take(w->k, &rest, of->at[d], &c) || (!d && c != 1)) return false;
        flat &= c == below;
        whole &= !d || c % n == 0;
        below *= of->dim[d].size;
    }
    if (!whole && (!flat || below % n)) return false;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (!index_take(w->k, &rest, apart[i], &c) || c % n) return false;
    return ex_is_const(p, rest, &c) && c % n == 0;
}

/* Pixels that a thread has, all of one picture, as a vector of what is read; 1: they are none. */
static int pixels_of_thread(struct emitter *w, const struct operand *o, const bool *needed) {
    enum { VECTOR = 16 };
    int64_t picture = 1;
    for (int d = 0; d < o->order->n; d++) picture *= o->order->dim[d].size;
    int n = EACH;
    while (picture % n) n /= 2;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !reads_pixels(w, o->order, v)) continue;
        int own = dtype_bytes(buffer_dtype(w, x->buffer));
        if (n * own > VECTOR) n = VECTOR / own;
        while (n > 1 && !pixels_are_vector(w, o->order, v, n)) n /= 2;
    }
    return n;
}

/* Pixels that a warp has beside each other, of as many channels as then are left for its threads:
 * they read 32 bytes of memory and write the same of lines, which is what memory has at least; 0:
 * the threads have neighbouring channels, for what is read runs along these. */
static int neighbours_of_warp(struct emitter *w, const struct operand *o, const bool *needed,
                              int pixels) {
    enum { SECTOR = 32, LINE = 128, MOST = 4 };
    int bytes = 0, beside = MOST;
    for (value_id v = 0; v <= o->factor; v++) {
        if (!needed[v] || w->k->values.at[v].kind != INST_LOAD) continue;
        if (channel_stride(w, o, v) >= 0 && channel_stride(w, o, v) <= 1) continue;
        int own = dtype_bytes(buffer_dtype(w, w->k->values.at[v].buffer));
        if (!bytes || own < bytes) bytes = own;
    }
    if (!bytes) return 0;
    if (pixels * bytes * w->k->limits->warp / MOST < LINE)
        beside = w->k->limits->warp * bytes / SECTOR;
    while (o->plane / elements_of_thread(o) % beside) beside /= 2;
    return w->k->limits->warp / beside;
}

/* x[e] where the guard of the windows, which are no runs, holds: of the thread's pixel, or of
 * number j of so many. */
static void put_inside(struct emitter *w, const struct operand *o, const struct im2col *of,
                       const bool *needed, int pixels) {
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v]) continue;
        if (v == of->guard)
            line(w, "const k_flag v%u = (k_flag)1;", v);
        else if (x->kind == INST_LOAD && pixels > 1 && reads_pixels(w, of, v))
            line(w, "const %s v%u = k_get(l%u[e], j);", math_type(x->dtype), v, v);
        else if (x->kind == INST_LOAD)
            line(w, "const %s v%u = k_load1(p%d + (%s));", math_type(x->dtype), v,
                 argument_of(w, x->buffer), ex_text(w, im2col_index(w->k, of, x->index)));
        else
            put_local(w, v);
        if (x->kind != INST_CONST) w->where[v] = LOCAL;
    }
    line(w, "x[e] = (%s)%s;", math_type(o->dtype), ref(w, o->factor));
}

/* The first of the thread's pixels, `each` of them, and of its channels. */
static void put_pixel(struct emitter *w, const struct operand *o, int64_t pixels, int neighbours,
                      int each) {
    const struct im2col *of = o->order;
    int64_t chunks = o->plane / elements_of_thread(o), below = 1;
    if (!neighbours) {
        line(w, "const k_idx c = (k_idx)(i %% %lld) * %d;", (long long)chunks,
             elements_of_thread(o));
        line(w, "const k_idx pixel = (k_idx)(i / %lld);", (long long)chunks);
    } else {
        int beside = w->k->limits->warp / neighbours;
        line(w, "const k_idx c = (k_idx)(i / %d %% %lld * %d + i %% %d) * %d;", w->k->limits->warp,
             (long long)chunks / beside, beside, beside, elements_of_thread(o));
        line(w, "const k_idx pixel = (k_idx)(i / %lld * %d + i / %d %% %d) * %d;",
             (long long)chunks * neighbours, neighbours, beside, neighbours, each);
        line(w, "if (pixel >= %lld) continue;", (long long)pixels);
    }
    for (int d = 0; d < of->n; d++) {
        line(w, "const k_idx at%d = pixel / %lld %% %lld;", d, (long long)below,
             (long long)of->dim[d].size);
        below *= of->dim[d].size;
    }
    line(w, "const k_idx picture = pixel / %lld, z = c / %lld;", (long long)below,
         (long long)o->channels);
    line(w, "(void)picture, (void)z;");
}

/* Opens what is done for channel e of the thread's, if there is such. */
static void open_channel(struct emitter *w, const struct operand *o, bool clears) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", elements_of_thread(o));
    if (clears) line(w, "x[e] = 0;");
    line(w, "const k_idx channel = c %% %lld + e;", (long long)o->channels);
    open_brace(w, "if (channel < %lld)", (long long)o->order->channels);
}

static void close_channel(struct emitter *w) {
    close_brace(w);
    close_brace(w);
}

/* All loads of a thread, so many pixels of each channel at a time. */
static void put_pixel_vectors(struct emitter *w, const struct operand *o, const bool *needed,
                              int n) {
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !reads_pixels(w, o->order, v)) continue;
        const char *type = memory_type(w, buffer_dtype(w, x->buffer));
        line(w, "k_pack<%s, %d> l%u[%d];", type, n, v, elements_of_thread(o));
        open_channel(w, o, false);
        line(w, "l%u[e] = k_load<%s, %d>(p%d + (%s));", v, type, n, argument_of(w, x->buffer),
             ex_text(w, im2col_index(w->k, o->order, x->index)));
        close_channel(w);
    }
}

/* Where a pixel is among the images' positions. */
static void put_position(struct emitter *w, const struct operand *o, const char *pixel) {
    const struct im2col *of = o->order;
    struct buf at = buf_new(w->arena);
    int64_t below = 1, positions = 1;
    for (int d = 0; d < of->n; d++) {
        buf_printf(&at, " + (long long)(%s / %lld %% %lld + %lld) * %lld", pixel, (long long)below,
                   (long long)of->dim[d].size, (long long)-of->dim[d].first, (long long)positions);
        below *= of->dim[d].size;
        positions *= o->padded[d];
    }
    line(w, "const long long position = %s / %lld * %lldLL%s;", pixel, (long long)below,
         (long long)positions, at.p);
}

/* Positions around the images are 0. */
static void put_around(struct emitter *w, const struct operand *o) {
    const struct im2col *of = o->order;
    const char *t = memory_type(w, o->dtype);
    struct buf inside = buf_new(w->arena);
    int64_t below = 1;
    open_loop(w, o->rows, false);
    for (int d = 0; d < of->n; d++) {
        line(w, "const k_idx at%d = (k_idx)(i / %lld %% %lld) + %lld;", d, (long long)below,
             (long long)o->padded[d], (long long)of->dim[d].first);
        buf_printf(&inside, "%sat%d >= 0 && at%d < %lld", d ? " && " : "", d, d,
                   (long long)of->dim[d].size);
        below *= o->padded[d];
    }
    line(w, "if (%s) continue;", inside.p);
    line(w, "float x[%d];", EACH);
    line(w, "k_zero(x);");
    line(w, "k_pack<%s, %d> w;", t, EACH);
    line(w, "k_put(w, x);");
    line(w, "for (int c = 0; c < %lld; c += %d)", (long long)o->pitch, EACH);
    line(w, "    k_store<%s, %d, 0>(image + (i * %lld + c), w);", t, EACH, (long long)o->pitch);
    close_brace(w);
}

static void put_windows(struct emitter *w, const struct operand *o, bool samples) {
    const struct kernel *k = w->k;
    int64_t pixels = o->order->images;
    int channels = elements_of_thread(o);
    for (int d = 0; d < o->order->n; d++) pixels *= o->order->dim[d].size;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    if (o->order->guard != NO_VALUE) needed[o->order->guard] = true;
    mark_needed(w, o->factor, needed);
    int each = pixels_of_thread(w, o, needed);
    int neighbours = neighbours_of_warp(w, o, needed, each);
    if (!neighbours) each = 1;
    int64_t all = pixels;
    if (neighbours) all = tile_count(pixels, neighbours * each) * neighbours;
    open_loop(w, all * o->plane / channels, samples);
    put_pixel(w, o, pixels, neighbours, each);
    if (each > 1) {
        put_pixel_vectors(w, o, needed, each);
        line(w, "#pragma unroll");
        open_brace(w, "for (int j = 0; j < %d; j++)", each);
    }
    line(w, "float x[%d];", channels);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    open_channel(w, o, true);
    put_inside(w, o, o->order, needed, each);
    close_channel(w);
    const char *pixel = each > 1 ? "(pixel + j)" : "pixel";
    if (o->flat) put_position(w, o, pixel), pixel = "position";
    put_planes(w, o, channels,
               arena_printf(w->arena, "(long long)%s * %lld + c", pixel, (long long)o->pitch),
               lanes_of_line(o->channels / channels,
                             neighbours ? w->k->limits->warp / neighbours : w->k->limits->warp),
               samples);
    if (each > 1) close_brace(w);
    close_brace(w);
    if (o->flat && !samples) put_around(w, o);
}

/* The line of a run's image that a thread has some of: where in the windows' dimensions, or, of
 * those that pixels have the taps of, which window. */
static void put_line_of_runs(struct emitter *w, const struct operand *o) {
    const struct im2col *runs = o->order;
    long long lines = 1;
    for (int d = 1; d < runs->n; d++) {
        bool around = o->flat && d > runs->folded; /* with the zeros around the input */
        int64_t size = o->flat ? o->padded[d] : runs->dim[d].size;
        line(w, "const k_idx %s%d = line / %lld %% %lld%s;", d <= runs->folded ? "window" : "at", d,
             lines, (long long)size,
             around ? arena_printf(w->arena, " + %lld", (long long)runs->dim[d].first) : "");
        lines *= size;
    }
    line(w, "const k_idx picture = line / %lld %% %lld, z = line / %lld;", lines,
         (long long)runs->images, lines * runs->images);
    line(w, "(void)picture, (void)z;");
}

/* Where elements begin in a pixel: which channel, of which tap. */
static void put_first_element(struct emitter *w, const struct im2col *runs, int each) {
    long long pixel = runs->pixel, channels = runs->of->channels;
    if (pixel < each) return;
    line(w, "const k_idx at0 = c / %lld + %lld;", pixel, (long long)runs->of->dim[0].first);
    line(w, "k_idx part = c %% %lld, tap = part / %lld, channel = part %% %lld;", pixel, channels,
         channels);
    line(w, "(void)tap;");
}

/* Opens what is done for element e if it is one of the tensor's: channel, and where that is. */
static void open_element_of_run(struct emitter *w, const struct operand *o, int each) {
    const struct im2col *runs = o->order, *of = runs->of;
    long long pixel = runs->pixel, taps = 1;
    struct buf inside = buf_new(w->arena);
    if (pixel < each) {
        line(w, "const k_idx at0 = c / %lld + e / %lld + %lld, part = e %% %lld;", pixel, pixel,
             (long long)of->dim[0].first, pixel);
        line(w, "const k_idx tap = part / %lld, channel = part %% %lld;", (long long)of->channels,
             (long long)of->channels);
        line(w, "(void)tap;");
    }
    buf_printf(&inside, "part < %lld && at0 >= 0 && at0 < %lld",
               (long long)(runs->pixel_taps * of->channels), (long long)of->dim[0].size);
    for (int d = 1; d <= runs->folded; d++) {
        const struct im2col_dim *x = &of->dim[d];
        const char *below = taps > 1 ? arena_printf(w->arena, " / %lld", taps) : "";
        const char *in =
            d < runs->folded ? arena_printf(w->arena, " %% %lld", (long long)x->taps) : "";
        line(w, "const k_idx at%d = window%d * %lld + tap%s%s * %lld + %lld;", d, d,
             (long long)x->step, below, in, (long long)x->apart, (long long)x->first);
        buf_printf(&inside, " && at%d >= 0 && at%d < %lld", d, d, (long long)x->size);
        taps *= x->taps;
    }
    for (int d = runs->folded + 1; d < runs->n && o->flat; d++)
        buf_printf(&inside, " && at%d >= 0 && at%d < %lld", d, d, (long long)of->dim[d].size);
    open_brace(w, "if (%s)", inside.p);
}

/* Of a line, some elements each: pixels or parts of one, some of which lie outside. */
static void put_runs(struct emitter *w, const struct operand *o, bool samples) {
    const struct kernel *k = w->k;
    const struct im2col *of = o->order->of;
    int each = elements_of_thread(o);
    int64_t chunks = o->step[1] / each;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    if (of->guard != NO_VALUE) needed[of->guard] = true;
    mark_needed(w, o->factor, needed);
    open_loop(w, o->plane / each, samples);
    line(w, "const k_idx c = (k_idx)i %% %lld * %d, line = (k_idx)i / %lld;", (long long)chunks,
         each, (long long)chunks);
    put_line_of_runs(w, o);
    put_first_element(w, o->order, each);
    line(w, "float x[%d];", each);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", each);
    line(w, "x[e] = 0;");
    open_element_of_run(w, o, each);
    put_inside(w, o, of, needed, 1);
    close_brace(w);
    if (o->order->pixel >= each)
        line(w, "if (part++, ++channel == %lld) channel = 0, tap++;", (long long)of->channels);
    close_brace(w);
    put_planes(w, o, each, arena_printf(w->arena, "i * %d", each), 1, samples);
    close_brace(w);
}

/* ---- what is read as it lies ----------------------------------------------------------------- */

enum { POSITIONS = 4 }; /* that a thread has of a line */

/* Which line of positions number `line` is: where in the outer dimensions, and of which channel. */
static void put_line_of_positions(struct emitter *w, const struct operand *o) {
    const struct im2col *of = o->order;
    long long below = 1;
    struct buf to = buf_new(w->arena);
    for (int d = 1; d < of->n; d++) {
        line(w, "const k_idx at%d = line / %lld %% %lld;", d, below, (long long)of->dim[d].size);
        buf_printf(&to, " + at%d * %lld", d, (long long)o->step[d]);
        below *= of->dim[d].size;
    }
    line(w, "const k_idx plane = line / %lld, channel = plane %% %lld;", below,
         (long long)of->channels);
    line(w, "const k_idx z = plane / %lld %% %lld, picture = plane / %lld;",
         (long long)of->channels, (long long)o->batches, (long long)(of->channels * o->batches));
    line(w, "(void)channel, (void)z, (void)picture;");
    line(w, "const long long to = plane * %lldLL + first%s;", (long long)o->pitch, to.p);
}

/* What positions of a line are read as one vector, where all begin at multiples of it. */
static bool put_position_vectors(struct emitter *w, const struct operand *o, const bool *needed) {
    const struct im2col *of = o->order;
    bool whole = of->dim[0].size % POSITIONS == 0;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (needed[v] && x->kind == INST_LOAD && reads_pixels(w, of, v))
            whole = whole && pixels_are_vector(w, of, v, POSITIONS);
    }
    for (value_id v = 0; v <= o->factor && whole; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !reads_pixels(w, of, v)) continue;
        const char *type = memory_type(w, buffer_dtype(w, x->buffer));
        line(w, "k_pack<%s, %d> l%u[1];", type, POSITIONS, v);
        open_brace(w, "if (first < %lld)", (long long)of->dim[0].size);
        line(w, "const k_idx at0 = first;");
        line(w, "l%u[0] = k_load<%s, %d>(p%d + (%s));", v, type, POSITIONS,
             argument_of(w, x->buffer), ex_text(w, im2col_index(w->k, of, x->index)));
        close_brace(w);
    }
    return whole;
}

/* Channel by channel, some neighbouring positions of a line each; behind its end they are 0. */
static void put_lying(struct emitter *w, const struct operand *o, bool samples) {
    const struct kernel *k = w->k;
    const struct im2col *of = o->order;
    int64_t chunks = (of->n > 1 ? o->step[1] : o->pitch) / POSITIONS, lines = 1;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    WS_ASSERT(!samples);
    if (of->guard != NO_VALUE) needed[of->guard] = true;
    mark_needed(w, o->factor, needed);
    for (int d = 1; d < of->n; d++) lines *= of->dim[d].size;
    open_loop(w, lines * of->channels * o->batches * of->images * chunks, false);
    line(w, "const k_idx first = (k_idx)(i %% %lld) * %d, line = (k_idx)(i / %lld);",
         (long long)chunks, POSITIONS, (long long)chunks);
    put_line_of_positions(w, o);
    bool vectors = put_position_vectors(w, o, needed);
    line(w, "float values[%d];", POSITIONS);
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", POSITIONS);
    line(w, "const int e = 0;");
    line(w, "float x[1] = {0};");
    line(w, "const k_idx at0 = first + j;");
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    open_brace(w, "if (at0 < %lld)", (long long)of->dim[0].size);
    put_inside(w, o, of, needed, vectors ? POSITIONS : 1);
    close_brace(w);
    line(w, "values[j] = x[0];");
    close_brace(w);
    line(w, "k_pack<k_f32, %d> w;", POSITIONS);
    line(w, "k_put(w, values);");
    line(w, "k_store<k_f32, %d, 0>(image + to, w);", POSITIONS);
    close_brace(w);
}

/* ---- the launch ------------------------------------------------------------------------------ */

struct ws_arg image_argument(const struct operand *o, int64_t image) {
    return (struct ws_arg){.kind = o->at_load ? WS_ARG_KEPT : WS_ARG_WORKSPACE, .value = image};
}

void emit_cuda_pack(struct emitter *w, const struct tile_program *t, int ring, const char *name) {
    const struct operand *o = t->ring[ring].operand;
    int64_t image = t->image[ring];
    bool pairs = of_pairs(o);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = name,
                            .grid = {tile_pack_blocks(t, ring), 1, 1},
                            .threads = THREADS,
                            .at_load = o->at_load};
    add_arguments(w, l);
    l->args[l->n_args++] = image_argument(o, image);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, name);
    put_parameters(w);
    buf_printf(&w->b, ", %s *__restrict__ image", memory_type(w, o->stored));
    if (pairs) {
        l->args[l->n_args++] = image_argument(o, t->flags[ring]);
        buf_puts(&w->b, ", unsigned *flags");
    }
    put_verdict_parameter(w, t, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "k_enter();");
    put_unless_wide(w, t);
    void (*const put)(struct emitter *, const struct operand *, bool) =
        o->lying              ? put_lying
        : operand_has_runs(o) ? put_runs
        : o->windows          ? put_windows
        : o->across           ? put_tiles
        : pairs && o->along   ? put_lines_of_rows
                              : put_lines;
    if (pairs) {
        line(w, "unsigned most = 0;");
        put(w, o, true);
        line(w, "const float scale = k_scale_of_pairs(most);");
        line(w, "bool odd = false;");
    }
    put(w, o, false);
    if (pairs) line(w, "k_leave_flag(flags, odd, scale);");
    close_brace(w);
}
