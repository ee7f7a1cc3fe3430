/* cuda_fold.c: accumulators of a thread with others above them (kernel/chain.c), in CUDA:
 *
 *     float up1[1][2]; ...  unsigned n1 = 0; int since = 0;
 *     for (base ...) {
 *         ...                                            a tile's terms go to a1[e]
 *         if (++since == 4) {
 *             k_fold<k_sum, 16>(up1[e], a1[e], 0.0f, n1);
 *             ...
 *     }
 *     a1[e] = k_unfold<k_sum>(up1[e], a1[e]);
 *
 * A few of them are registers. More would leave a multiprocessor fewer threads, and are needed once
 * in a hundred additions: they are in local memory, on purpose. Sums that go along with a maximum
 * or a mean are folded with what they are relative to. */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

enum { REGISTERS = 8 }; /* of a thread, for what is above the accumulators of a reduction */

void add_stack(struct ws_launch *l, int bytes) {
    enum {
        BESIDE = 32
    }; /* which compilers may put there for the registers that the address takes */
    l->stack += (bytes + 15) / 16 * 16 + BESIDE;
}

static bool in_memory(const struct uppers *u) {
    return u->cells * u->levels * u->bytes > 4 * REGISTERS;
}

void declare_uppers(struct emitter *w, const struct uppers *u) {
    bool memory = in_memory(u);
    line(w, "%s %s%u%s[%d];", u->type, memory ? "local" : "up", u->v, u->dims, u->levels);
    if (u->levels > 1) line(w, "unsigned n%u = 0;", u->v);
    struct ws_launch *l = &w->out->launches[w->out->n_launches - 1];
    if (memory) add_stack(l, u->cells * u->levels * u->bytes);
}

/* Their address is found again each time: it would be two registers more. */
void open_uppers(struct emitter *w, const struct uppers *u) {
    open_scope(w);
    if (in_memory(u))
        line(w, "%s (&up%u)%s[%d] = k_in_memory(local%u);", u->type, u->v, u->dims, u->levels,
             u->v);
}

void close_uppers(struct emitter *w, const struct uppers *u, bool fold) {
    if (fold && u->levels > 1) line(w, "n%u++;", u->v);
    close_brace(w);
}

/* What is folded, and by what: the accumulators of v. */
enum what { NOT_FOLDED, VALUES, ONLINE, SQUARES };

static value_id maximum_of(struct emitter *w, value_id v) { return kernel_online_maximum(w->k, v); }

static bool is_online(const struct phase *f, value_id v) {
    for (uint32_t i = 0; i < f->online.n; i++)
        if (f->online.at[i] == v) return true;
    return false;
}

/* The sums relative to one maximum are folded together, as the first of them. */
static int online_sums(struct emitter *w, const struct phase *f, value_id v, value_id *sums) {
    int n = 0;
    for (uint32_t i = 0; i < f->online.n; i++)
        if (maximum_of(w, f->online.at[i]) == maximum_of(w, v)) sums[n++] = f->online.at[i];
    return n;
}

static enum what what_of(struct emitter *w, const struct phase *f, value_id v) {
    if (!w->folds.levels || !reduction_rounds(w->k, v)) return NOT_FOLDED;
    if (!is_online(f, v)) return VALUES;
    value_id *sums = NEW_ARRAY(w->arena, value_id, f->online.n);
    online_sums(w, f, v, sums);
    return sums[0] == v ? ONLINE : NOT_FOLDED;
}

static const char *type_of(struct emitter *w, const struct phase *f, value_id v, enum what what,
                           int *bytes) {
    const char *t = accumulator_type(w, v);
    value_id *sums = NEW_ARRAY(w->arena, value_id, f->online.n + 1);
    *bytes = reduction_bytes(w->k, v);
    if (what == SQUARES) {
        *bytes *= 4;
        return arena_printf(w->arena, "k_squares<%s>", t);
    }
    if (what != ONLINE) return t;
    int n = online_sums(w, f, v, sums);
    *bytes *= n + 1;
    return arena_printf(w->arena, "k_online<%d, %s>", n, t);
}

static struct uppers uppers_of(struct emitter *w, const struct phase *f, value_id v,
                               enum what what) {
    const struct layout *y = w->y;
    struct uppers u = {.v = v, .levels = w->folds.levels};
    u.type = type_of(w, f, v, what, &u.bytes);
    u.dims = y->held ? arena_printf(w->arena, "[%d][%d]", y->held, y->vec) : accumulator_dims(w);
    u.cells = y->held ? y->held * y->vec : y->rows_inner ? y->ex * y->vec : y->ex;
    return u;
}

static const char *nothing(struct emitter *w, const struct uppers *u, enum what what) {
    return what == ONLINE    ? arena_printf(w->arena, "k_no_online<%s>()", u->type)
           : what == SQUARES ? arena_printf(w->arena, "%s{0, 0, 0, 0}", u->type)
                             : identity_text(w, u->v);
}

/* A loop over the accumulators, with the subscript of one. */
static void open_cells(struct emitter *w) {
    if (!w->y->held) {
        open_accumulators(w);
        return;
    }
    open_brace(w, "for (int held = 0; held < %d; held++)", w->y->held);
    open_unrolled(w, "v", w->y->vec);
    w->subscript = "[held][v]";
}

static void close_cells(struct emitter *w) {
    if (w->y->held) close_brace(w);
    w->y->held ? close_brace(w) : close_rows(w);
}

static void clear_one(struct emitter *w, const struct phase *f, value_id v, enum what what) {
    if (what == NOT_FOLDED) return;
    const struct uppers u = uppers_of(w, f, v, what);
    open_uppers(w, &u);
    open_cells(w);
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) up%u%s[i] = %s;", u.levels, v, w->subscript,
         nothing(w, &u, what));
    close_cells(w);
    close_uppers(w, &u, false);
}

static void declare_one(struct emitter *w, const struct phase *f, value_id v, enum what what) {
    if (what == NOT_FOLDED) return;
    const struct uppers u = uppers_of(w, f, v, what);
    declare_uppers(w, &u);
    if (!w->y->turns) clear_one(w, f, v, what);
}

/* Not where all of a row is one tile. */
static bool folds_tiles(const struct emitter *w) { return !w->y->one_read || w->y->hits; }

void declare_folds(struct emitter *w, const struct phase *f) {
    if (!w->folds.levels) return;
    for (uint32_t i = 0; i < f->reduce.n; i++)
        declare_one(w, f, f->reduce.at[i], what_of(w, f, f->reduce.at[i]));
    for (uint32_t i = 0; i < f->squares.n; i++) declare_one(w, f, f->squares.at[i], SQUARES);
    if (!folds_tiles(w)) return;
    line(w, "int since = 0;");
    line(w, "(void)since;");
}

void clear_folds(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        clear_one(w, f, f->reduce.at[i], what_of(w, f, f->reduce.at[i]));
}

void put_upper_step(struct emitter *w, const struct uppers *u, const char *op, const char *acc,
                    const char *subscript, const char *none, int radix) {
    if (!radix)
        line(w, "%s = k_unfold<%s>(up%u%s, %s);", acc, op, u->v, subscript, acc);
    else
        line(w, "k_fold<%s, %d>(up%u%s, %s, (%s)%s, %s);", op, radix, u->v, subscript, acc, u->type,
             none, u->levels > 1 ? arena_printf(w->arena, "n%u", u->v) : "0");
}

/* The accumulators of v; or, in the end, all of what is above. */
static void put_one(struct emitter *w, const struct phase *f, value_id v, enum what what,
                    bool unfold) {
    if (what == NOT_FOLDED) return;
    const struct uppers u = uppers_of(w, f, v, what);
    const char *op = what == ONLINE    ? "k_join_online"
                     : what == SQUARES ? "k_join_squares"
                                       : reduction_operator(at(w, v)->reduction);
    value_id *sums = NEW_ARRAY(w->arena, value_id, f->online.n + 1);
    int n = what == ONLINE ? online_sums(w, f, v, sums) : 0;
    open_uppers(w, &u);
    open_cells(w);
    const char *s = w->subscript,
               *acc = w->y->held
                          ? sum_of_hit(w, v)
                          : arena_printf(w->arena, "%c%u%s", what == SQUARES ? 's' : 'a', v, s);
    if (n) {
        acc = "o";
        line(w, "%s o;", u.type);
        line(w, "o.max = a%u%s;", maximum_of(w, v), s);
        for (int i = 0; i < n; i++) line(w, "o.sum[%d] = a%u%s;", i, sums[i], s);
    }
    put_upper_step(w, &u, op, acc, s, nothing(w, &u, what), unfold ? 0 : w->folds.radix);
    for (int i = 0; i < n; i++) line(w, "a%u%s = o.sum[%d];", sums[i], s, i);
    close_cells(w);
    close_uppers(w, &u, !unfold);
}

static void put_all(struct emitter *w, const struct phase *f, bool unfold) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        put_one(w, f, f->reduce.at[i], what_of(w, f, f->reduce.at[i]), unfold);
    for (uint32_t i = 0; i < f->squares.n; i++) put_one(w, f, f->squares.at[i], SQUARES, unfold);
}

void put_all_folds(struct emitter *w, const struct phase *f) { put_all(w, f, false); }

void put_step_folds(struct emitter *w, const struct phase *f) {
    int steps = w->ends || !w->folds.levels ? w->y->ur : layout_fold_steps(w->y);
    if (steps >= w->y->ur) return;
    open_brace(w, "if (u %% %d == %d)", steps, steps - 1);
    put_all(w, f, false);
    close_brace(w);
}

static void put_due_folds(struct emitter *w, const struct phase *f, int tiles) {
    if (!w->folds.levels) return;
    if (tiles <= 1) {
        put_all(w, f, false);
        return;
    }
    if (w->y->kept) { /* whose loop is unrolled */
        open_brace(w, "if (slot %% %d == %d)", tiles, tiles - 1);
    } else {
        open_brace(w, "if (++since == %d)", tiles);
        line(w, "since = 0;");
    }
    put_all(w, f, false);
    close_brace(w);
}

void put_tile_folds(struct emitter *w, const struct phase *f) {
    if (folds_tiles(w)) put_due_folds(w, f, layout_fold_tiles(w->y));
}

void put_part_folds(struct emitter *w, const struct phase *f, int at_once) {
    put_due_folds(w, f, w->folds.block / at_once);
}

void put_unfolded(struct emitter *w, const struct phase *f) {
    if (w->folds.levels) put_all(w, f, true);
}
