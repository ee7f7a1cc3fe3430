/* cuda_epilogue_stores.c: where the elements of an epilogue are stored, in CUDA C++, and how many
 * at once:
 *
 *     k_store_octets<4>(p3 + (m*4096 + n), o0, row < 4096);       four threads' pairs, exchanged */
#include "emit/cuda_epilogue.h"

/* Of positions, of which some are no windows. */
static void put_window_number(struct emitter *w, const struct operand *o, const char *name,
                              const char *flat, const char *end) {
    const struct im2col *of = o->order;
    struct buf inside = buf_new(w->arena), number = buf_new(w->arena);
    int64_t below = 1, windows = 1;
    for (int d = 0; d < of->n; d++) {
        const char *at =
            below > 1 ? arena_printf(w->arena, "flat / %lld", (long long)below) : "flat";
        if (o->lying) {
            at = arena_printf(w->arena, "flat %% %lld", (long long)o->positions);
            if (d) at = arena_printf(w->arena, "%s / %lld", at, (long long)o->step[d]);
        }
        if (!o->lying || d + 1 < of->n)
            at = arena_printf(w->arena, "%s %% %lld", at, (long long)o->padded[d]);
        if (o->padded[d] > of->dim[d].windows || (o->lying && d + 1 == of->n))
            buf_printf(&inside, " && %s < %lld", at, (long long)of->dim[d].windows);
        buf_printf(&number, "%s%s", d ? " + " : "", at);
        if (d) buf_printf(&number, " * %lld", (long long)windows);
        below *= o->padded[d];
        windows *= of->dim[d].windows;
    }
    if (o->lying) below = o->positions;
    line(w, "k_idx %s = %s;", name, end);
    line(w, "if (const k_idx flat = %s; flat < %lld%s) %s = %s + flat / %lld * %lld;", flat,
         (long long)o->rows, inside.p ? inside.p : "", name, number.p, (long long)below,
         (long long)windows);
}

/* Columns that are neighbours, from a multiple of so many on, are neighbours of the product. */
static bool keeps_neighbours(struct emitter *w, int n) {
    const struct operand *b = &w->y->product->b;
    return !operand_has_order(b) ||
           (b->flat && b->order->dim[0].windows % n == 0 && b->padded[0] % n == 0);
}

void put_number(struct emitter *w, const struct operand *o, const char *name, const char *flat,
                const char *end) {
    if (!operand_has_order(o)) {
        line(w, "const k_idx %s = %s;", name, flat);
        return;
    }
    if (o->flat) {
        put_window_number(w, o, name, flat, end);
        return;
    }
    const struct im2col *of = o->order;
    struct exprs *p = w->k->ex;
    ex all = ex_const(p, o->rows), number = ex_index(p, "flat", all),
       channels = ex_const(p, o->channels);
    ex from[] = {of->tap, of->channel},
       to[] = {ex_div(p, number, channels), ex_mod(p, number, channels)};
    line(w, "k_idx %s = %s;", name, end);
    line(w, "if (const k_idx flat = %s; flat < %lld && flat %% %lld < %lld) %s = %s;", flat,
         (long long)o->rows, (long long)o->channels, (long long)of->channels, name,
         ex_text(w, ex_subst(p, im2col_other(w->k, of), from, to, 2)));
}

/* Elements that a store puts at once: eight of 16 bits, two, or one. */
int store_width(struct emitter *w, const struct store_node *s) {
    if (!keeps_neighbours(w, PAIR) || s->guard) return 1;
    bool narrow = dtype_bytes(buffer_dtype(w, s->buffer)) == 2;
    if (narrow && keeps_neighbours(w, OCTET) && w->y->product->warp_columns % (OCTET * QUAD) == 0 &&
        index_is_vector(w->k, s->index, AXIS_N, OCTET))
        return OCTET;
    return index_is_vector(w->k, s->index, AXIS_N, PAIR) ? PAIR : 1;
}

/* Do four threads' pairs lie in one sector, or in two, of which the next octet's have the rest? */
static bool in_sectors(struct emitter *w, const struct store_node *s) {
    const struct product *p = w->y->product;
    return dtype_bytes(buffer_dtype(w, s->buffer)) == 4 && (p->parts == 1 || p->whole) &&
           store_width(w, s) == PAIR && p->warp_columns > OCTET &&
           index_usual_stride(w->k, s->index, AXIS_N) == 1 &&
           !index_is_vector(w->k, s->index, AXIS_N, OCTET);
}

/* May a row of memory end between two octets of a row? */
static bool rows_end(struct emitter *w, const struct store_node *s) {
    struct exprs *p = w->k->ex;
    ex step, rest;
    bool straight = ex_linear(p, s->index, w->k->axis[AXIS_N], &step, &rest);
    return operand_has_order(&w->y->product->b) || !straight || step != ex_const(p, 1);
}

/* Does a row go to memory by vectors that begin elsewhere than its octets do? */
static bool is_moved_on(struct emitter *w, const struct store_node *s) {
    const struct product *p = w->y->product;
    return (p->parts == 1 || p->whole) && p->warp_columns % (2 * OCTET) == 0 &&
           !(w->k->over && !(w->k->over & MASK_N)) && store_begins_anywhere(w->k, p, s);
}

bool any_moved_on(struct emitter *w, const struct phase *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->stores.n; i++)
        any |= is_moved_on(w, &w->k->stores.at[f->stores.at[i]]);
    return any;
}

/* Do rows of a column lie side by side, of 16 bits each, as channels do in an image where they are
 * innermost? Four threads have eight of them and other columns, and turn these around. */
bool is_across(struct emitter *w, const struct store_node *s) {
    const struct product *p = w->y->product;
    return dtype_bytes(buffer_dtype(w, s->buffer)) == 2 && !s->guard && p->parts == 1 &&
           !operand_has_order(&p->a) && !kernel_has_spans(w->k) &&
           kernel_size(w->k, AXIS_M) % QUAD == 0 && index_is_vector(w->k, s->index, AXIS_M, QUAD);
}

/* Octets of a row that are stored together. */
int chunk_of(struct emitter *w, const struct phase *f) {
    for (uint32_t s = 0; s < f->stores.n; s++)
        if (store_width(w, &w->k->stores.at[f->stores.at[s]]) == OCTET) return QUAD;
    if (!any_moved_on(w, f)) return 1;
    return w->y->product->warp_columns % (OCTET * QUAD) ? 2 : QUAD;
}

/* Elements of which are gone along for each span that these columns are of. */
static const char *stores_once(struct emitter *w) {
    return kernel_has_spans(w->k) ? " && stores" : "";
}

const char *how_to_store(struct emitter *w) { return w->y->streaming ? "<1>" : ""; }

/* Four pairs of a row's columns, eight apart, become eight neighbours, one octet for each thread of
 * four: what one has at j goes to thread j. */
static void put_octet(struct emitter *w, uint32_t s, const char *type, const char *p,
                      const char *index) {
    open_scope(w);
    line(w, "k_pack<%s, %d> x;", type, OCTET);
    line(w, "k_put(x, &o%u[0][0]);", s);
    line(w, "k_transpose_quad(x.w);");
    put_number(w, &w->y->product->b, "n", arena_printf(w->arena, "column + quad * %d", OCTET),
               "nn");
    line(w, "if (row < nm && n < nn%s) k_store<%s, %d, %d>(%s + (%s), x);", stores_once(w), type,
         OCTET, w->y->streaming, p, index);
    close_brace(w);
}

/* Octets of columns that a warp's lines have. */
static int line_octets(struct emitter *w) { return product_line_columns(w->y->product) / OCTET; }

/* Into the warp's lines, a pair of 32 bits of this thread's row, which is one of eight. */
static void put_in_line(struct emitter *w, uint32_t s, const char *type) {
    int octets = line_octets(w);
    open_scope(w);
    line(w, "k_pack<%s, %d> x;", type, PAIR);
    line(w, "k_put(x, &o%u[0][0]);", s);
    line(w, "k_put_in_lines<%d>(lines, g %% %d, x.w);", octets * OCTET * 4, octets);
    close_brace(w);
}

/* Are rows or columns of some tiles none of the product's? */
static bool tiles_end(struct emitter *w) {
    const struct layout *y = w->y;
    return kernel_size(w->k, AXIS_M) % ((int64_t)y->bx * y->cluster) ||
           kernel_size(w->k, AXIS_N) % ((int64_t)y->br * y->cluster);
}

/* Pieces of 16 bytes: lanes have neighbours of a line, and where it is short, of several. */
void put_lines(struct emitter *w, const struct phase *f) {
    enum { PIECE = 4 };
    const struct store_node *s = &w->k->stores.at[f->stores.at[0]];
    const char *type = memory_type(w, buffer_dtype(w, s->buffer));
    int octets = line_octets(w), columns = octets * OCTET, pieces = columns / PIECE,
        warp = w->k->limits->warp, n = OCTET * pieces / warp;
    const char *where =
        pieces >= warp
            ? arena_printf(w->arena, "const int line = i / %d, piece = i %% %d * %d + lane;",
                           pieces / warp, pieces / warp, warp)
            : arena_printf(w->arena, "const int line = i * %d + lane / %d, piece = lane %% %d;",
                           warp / pieces, pieces, pieces);
    if (octets * OCTET < w->y->product->warp_columns)
        line(w, "if (g %% %d != %d) continue;", octets, octets - 1);
    else
        line(w, "if (g != %d) continue;", octets - 1);
    line(w, "__syncwarp();");
    line(w, "k_pack<%s, %d> x[%d];", type, PIECE, n);
    line(w, "const int lane = tid %% %d;", warp);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", n);
    line(w, "%s", where);
    line(w, "k_get_of_line(x[i].w, k_piece_of_line<%d>(lines, line, piece));", columns * 4);
    close_brace(w);
    line(w, "__syncwarp();");
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", n);
    line(w, "%s", where);
    line(w, "const k_idx m = first_row - lane / %d + f * %d + h * 8 + line;", QUAD,
         product_sixteens_apart(w->y->product));
    line(w, "const k_idx n = first_column + (g - %d) * %d + piece * %d;", octets - 1, OCTET, PIECE);
    line(w, "%sk_store<%s, %d, %d>(p%d + (%s), x[i]);",
         tiles_end(w) ? "if (m < nm && n < nn) " : "", type, PIECE, w->y->streaming,
         argument_of(w, s->buffer), ex_text(w, s->index));
    close_brace(w);
}

/* The digits of columns that a store's index counts apart, innermost first, as symbols; of those
 * that it counts as one number one. The index without them, and the column's part of it, and the
 * guard if there is one, in terms of these. False if the index counts columns as one number, or by
 * no digits. */
static bool columns_apart(struct emitter *w, const struct store_node *s, struct axis_digits *out,
                          ex *index, ex *column, ex *guard) {
    const struct kernel *k = w->k;
    struct exprs *p = k->ex;
    const struct axis_digits *d = &k->digits[AXIS_N];
    int64_t size[GROUP_MAX_AXES], step[GROUP_MAX_AXES];
    ex sum = ex_const(p, 0), axis = k->axis[AXIS_N], symbol[GROUP_MAX_AXES];
    *column = ex_const(p, 0);
    if (d->n < 2) return false;
    for (int i = 0; i < d->n; i++) {
        if (!ex_is_const(p, d->size[i], &size[i])) return false;
        symbol[i] = ex_index(p, arena_printf(w->arena, "n%d", d->n - 1 - i), d->size[i]);
        sum = ex_add(p, ex_mul(p, sum, d->size[i]), symbol[i]);
    }
    *index = ex_subst(p, s->index, &axis, &sum, 1);
    *guard = s->guard ? ex_subst(p, s->guard, &axis, &sum, 1) : EX_NONE;
    for (int i = 0; i < d->n; i++)
        if (!index_take(k, index, symbol[i], &step[i])) return false;
    out->n = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        int64_t all = size[i];
        int last = i;
        while (i > 0 && !s->guard && step[i - 1] == step[i] * size[i]) all *= size[--i];
        ex digit = symbol[d->n - 1 - out->n];
        if (!s->guard) digit = ex_index(p, arena_printf(w->arena, "n%d", out->n), ex_const(p, all));
        *column = ex_add(p, *column, ex_mul(p, digit, ex_const(p, step[last])));
        out->size[out->n++] = ex_const(p, all);
    }
    return out->n > 1;
}

/* The column's digits, divided as the 32 bits that it has. */
static void put_digits(struct emitter *w, const struct axis_digits *d) {
    int64_t below = 1, size;
    for (int i = 0; i < d->n; i++) {
        struct buf b = buf_new(w->arena);
        ex_is_const(w->k->ex, d->size[i], &size);
        buf_puts(&b, "(unsigned)n");
        if (below > 1) buf_printf(&b, " / %lldu", (long long)below);
        if (i + 1 < d->n) buf_printf(&b, " %% %lldu", (long long)size);
        line(w, "const k_idx n%d = (k_idx)(%s);", i, b.p);
        below *= size;
    }
}

/* Where the store's element of row m, column n is: before it is known whether there is one, so that
 * rows share what follows from the column, and columns what does from the row. *also: what else has
 * to hold for it to be stored. */
static const char *put_place(struct emitter *w, const struct store_node *s, const char **also) {
    struct axis_digits d;
    ex index, column, guard;
    *also = "";
    if (!columns_apart(w, s, &d, &index, &column, &guard)) {
        index = s->index, guard = s->guard, column = ex_const(w->k->ex, 0);
        d.n = 0;
    }
    put_digits(w, &d);
    index = ex_add(w->k->ex, index, column);
    if (guard) *also = arena_printf(w->arena, " && %s", ex_text(w, guard));
    if (!d.n && w->k->digits[AXIS_M].n < 2)
        return arena_printf(w->arena, "(%s)", ex_text(w, index));
    line(w, "const k_idx at = %s;", ex_text(w, index));
    return "at";
}

/* A condition without branches. */
static const char *all_at_once(struct emitter *w, ex e) {
    const struct exprs *p = w->k->ex;
    if (ex_kind(p, e) != EX_AND) return arena_printf(w->arena, "(%s)", ex_text(w, e));
    return arena_printf(w->arena, "%s & %s", all_at_once(w, ex_lhs(p, e)),
                        all_at_once(w, ex_rhs(p, e)));
}

struct placing placing_of(struct emitter *w, const struct store_node *s) {
    const struct kernel *k = w->k;
    struct exprs *p = k->ex;
    struct placing x = {0};
    ex m = k->axis[AXIS_M], n = k->axis[AXIS_N], zero = ex_const(p, 0), sum = zero;
    if (!columns_apart(w, s, &x.columns, &x.of_row, &x.of_column, &x.guard)) {
        x.columns.n = 0;
        x.of_row = ex_subst(p, s->index, &n, &zero, 1);
        x.of_column = ex_sub(p, s->index, x.of_row);
        x.guard = s->guard;
    }
    const struct axis_digits *d = &k->digits[AXIS_M];
    for (int i = 0; i < d->n; i++) {
        int number = d->n - 1 - i;
        x.digit[number] = ex_index(p, arena_printf(w->arena, "m%d", number), d->size[i]);
        sum = ex_add(p, ex_mul(p, sum, d->size[i]), x.digit[number]);
    }
    if (!x.guard || d->n < 2) return x;
    x.guard = ex_subst(p, x.guard, &m, &sum, 1);
    for (int i = 0; i < d->n; i++)
        if (ex_uses(p, x.guard, x.digit[i])) x.n_digits = i + 1;
    return x;
}

/* For each of so many rows m, whose number is i, before any column: of_row and digits. */
void put_row_place(struct emitter *w, const struct placing *x) {
    int64_t below = 1;
    line(w, "of_row[i] = k_anew(%s);", ex_text(w, x->of_row));
    for (int i = 0; i < x->n_digits; i++) {
        int64_t size = ex_value(w->k->ex, ex_symbol(w->k->ex, x->digit[i])->bound);
        line(w, "of_m%d[i] = k_anew((int)((unsigned)m / %lldu %% %lldu));", i, (long long)below,
             (long long)size);
        below *= size;
    }
}

/* For column n, before any row: of_column and the column's digits. */
void put_column_place(struct emitter *w, const struct placing *x) {
    put_digits(w, &x->columns);
    line(w, "const k_idx of_column = k_anew(%s);", ex_text(w, x->of_column));
}

/* Within row m, of number i: what has to hold for the element to be stored but that there is such a
 * row and such a column. */
const char *put_inside(struct emitter *w, const struct placing *x) {
    struct buf names = buf_new(w->arena), arguments = buf_new(w->arena);
    if (!x->guard) return "";
    for (int i = 0; i < x->n_digits; i++) {
        buf_printf(&names, ", int m%d", i);
        buf_printf(&arguments, ", of_m%d[i]", i);
    }
    for (int i = 0; i < x->columns.n; i++) {
        buf_printf(&names, ", int n%d", i);
        buf_printf(&arguments, ", (int)n%d", i);
    }
    line(w, "const bool inside = [](int z, int m, int n%s) {", names.p ? names.p : "");
    line(w, "    (void)z, (void)m, (void)n;");
    line(w, "    return %s;", all_at_once(w, x->guard));
    line(w, "}((int)z, (int)m, (int)n%s);", arguments.p ? arguments.p : "");
    return " & inside";
}

/* Of a row, what its octets leave for the next. dims: of an array of these. */
void declare_rests(struct emitter *w, const struct phase *f, const char *dims) {
    for (uint32_t i = 0; i < f->stores.n && !w->y->product->lines; i++) {
        const struct store_node *s = &w->k->stores.at[f->stores.at[i]];
        if (in_sectors(w, s))
            line(w, "k_rest<%s> rest%u%s = {};", memory_type(w, buffer_dtype(w, s->buffer)),
                 f->stores.at[i], dims);
        if (is_moved_on(w, s)) line(w, "k_moved moved%u%s = k_not_moved();", f->stores.at[i], dims);
    }
}

/* Octets of a row, or what is left behind its last ones. */
static void put_moved_row(struct emitter *w, uint32_t i, const char *rest, int octets, bool ends) {
    const struct store_node *s = &w->k->stores.at[i];
    int columns = w->y->product->warp_columns,
        pairs = index_is_vector(w->k, s->index, AXIS_N, PAIR);
    ex n = w->k->axis[AXIS_N], first = ex_index(w->k->ex, "first_column", w->k->bound[AXIS_N]);
    const char *at = ex_text(w, ex_subst(w->k->ex, s->index, &n, &first, 1));
    const char *which = ends ? arena_printf(w->arena, "%d", columns / OCTET / octets)
                             : arena_printf(w->arena, "g, o%u[0]", i);
    line(w,
         "k_%s_row<%d, %d, %d>(moved%u%s, p%d + (%s), row < nm ? k_clamp(nn - first_column, "
         "(k_idx)%d) : 0, %s);",
         ends ? "end" : "store", octets, pairs, w->y->streaming, i, rest, argument_of(w, s->buffer),
         at, columns, which);
}

void put_rests(struct emitter *w, const struct phase *f, const char *subscript) {
    for (uint32_t i = 0; i < f->stores.n && !w->y->product->lines; i++) {
        const struct store_node *s = &w->k->stores.at[f->stores.at[i]];
        if (in_sectors(w, s))
            line(w, "k_store_rest<%d>(rest%u%s);", w->y->streaming, f->stores.at[i], subscript);
        if (is_moved_on(w, s)) put_moved_row(w, f->stores.at[i], subscript, chunk_of(w, f), true);
    }
}

static void put_store_across(struct emitter *w, uint32_t i, const char *type, const char *p,
                             int chunk) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", chunk);
    line(w, "k_pack<%s, %d> x;", type, PAIR);
    line(w, "k_put(x, o%u[j]);", i);
    line(w, "const unsigned turned = k_turn_matrix(x.w[0]);");
    line(w, "if (h == 0) lower%u[j] = turned;", i);
    line(w, "if (h == 0) continue;");
    line(w, "const int i = tid %% %d / 4;", w->k->limits->warp);
    line(w, "const k_idx m = row - 8 - i + quad %% 2 * 8 + quad / 2 * 4;");
    put_number(w, &w->y->product->b, "n", arena_printf(w->arena, "column + j * %d + i", OCTET),
               "nn");
    const char *also, *at = put_place(w, &w->k->stores.at[i], &also);
    line(w, "k_store_across<%d>(%s + %s, lower%u[j], turned, m < nm && n < nn%s);", w->y->streaming,
         p, at, i, also);
    close_brace(w);
}

/* rest: the subscript of what a row's octets leave; NULL: its octets are not gone along in turn. */
void put_store(struct emitter *w, uint32_t i, int width, int chunk, const char *rest) {
    const struct store_node *s = &w->k->stores.at[i];
    const char *type = memory_type(w, buffer_dtype(w, s->buffer)), *index = ex_text(w, s->index);
    const char *p = arena_printf(w->arena, "p%d", argument_of(w, s->buffer));
    if (is_across(w, s)) {
        put_store_across(w, i, type, p, chunk);
        return;
    }
    if (w->y->product->lines) {
        put_in_line(w, i, type);
        return;
    }
    if (width == OCTET) {
        put_octet(w, i, type, p, index);
        return;
    }
    if (rest && is_moved_on(w, s)) {
        put_moved_row(w, i, rest, chunk, false);
        return;
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", chunk);
    if (width == PAIR) {
        put_number(w, &w->y->product->b, "n",
                   arena_printf(w->arena, "column + j * %d + quad * %d", OCTET, PAIR), "nn");
        line(w, "k_pack<%s, %d> x;", type, PAIR);
        line(w, "k_put(x, o%u[j]);", i);
        const char *also, *at = put_place(w, s, &also);
        if (rest && in_sectors(w, s))
            line(w, "k_store_sectors<%s, %d>(rest%u%s, %s + %s, x, row < nm && n < nn%s);",
                 rows_end(w, s) ? "true" : "false", w->y->streaming, i, rest, p, at,
                 stores_once(w));
        else
            line(w, "if (row < nm && n < nn%s) k_store<%s, %d, %d>(%s + %s, x);", stores_once(w),
                 type, PAIR, w->y->streaming, p, at);
    } else {
        line(w, "#pragma unroll");
        open_brace(w, "for (int e = 0; e < %d; e++)", PAIR);
        put_number(w, &w->y->product->b, "n",
                   arena_printf(w->arena, "column + j * %d + quad * %d + e", OCTET, PAIR), "nn");
        const char *also, *at = put_place(w, s, &also);
        line(w, "if (row < nm && n < nn%s%s) k_store1%s(%s + %s, o%u[j][e]);", stores_once(w), also,
             how_to_store(w), p, at, i);
        close_brace(w);
    }
    close_brace(w);
}
