/* cuda_turns.c: reductions to which a source contributes where it lands, with sort=3
 * (kernel/hits.c), in CUDA. Launches before have sorted the sources by blocks, and kept their order
 * within each. A block is a warp, which goes along its sources, a thread each; what the threads
 * bring is added to results in shared memory, in turn where several go to one row:
 *
 *     for (unsigned from = begin[px]; from < begin[px + 1]; from += 4 * 32)
 *         for (u) places[u], named[u] = ahead[u], ahead[u] = pairs[from + (4 + u) * 32 + tx];
 *         for (u) ranks[u] = k_turn(lands, landed);         how many threads before go there, too
 *         for (u) turns = ...; for (turn < turns) if (lands && ranks[u] == turn) s6[landed - first] = ...
 *
 * Ranks need nothing that sums have: their votes are under way together. What is above the sums
 * (kernel/chain.c) is made where a row is folded first, which few are.
 *
 * A pair has where the source lands and its number; or, where all that a source brings is one
 * number, that (layout_carried). The order of additions is that of the sources. A row's chain is no
 * longer than the turns since it was folded. */
#include "emit/cuda_rows.h"

enum { LONGEST_CHAIN = 128 };

/* Behind the last source it is the last again, which then does not land. */
void open_turn(struct emitter *w) {
    line(w, "const bool lands = from + u * %d + tx < to;", w->y->t0);
    line(w, "const k_idx landed = (k_idx)places[u];");
    if (!w->carried) line(w, "const k_idx r = (k_idx)named[u];");
    if (!w->carried) line(w, "(void)r;");
    put_rows_of_tile(w, true);
}

void put_turn_sums(struct emitter *w, const struct phase *f) {
    line(w, "const int turns = (int)__reduce_max_sync(0xffffffffu, ranks[u]) + 1;");
    if (w->folds.levels) {
        open_brace(w, "if (__builtin_expect(since + turns > %d, 0))", LONGEST_CHAIN);
        open_brace(w, "if (!folded)");
        put_no_folds(w, f);
        close_brace(w);
        line(w, "since = 0, folded = true;");
        put_all_folds(w, f);
        line(w, "__syncwarp();");
        close_brace(w);
        line(w, "since += turns;");
    }
    line(w, "#pragma unroll 1"); /* most are one or two */
    open_brace(w, "for (int turn = 0; turn < turns; turn++)");
    open_brace(w, "if (lands && (int)ranks[u] == turn)");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "s%u[landed - first_tile * %d]", v, w->y->bx);
        line(w, "%s = %s;", acc, combine_text(w, v, acc, operand_text(w, v)));
    }
    close_brace(w);
    line(w, "__syncwarp();");
    close_brace(w);
}

/* Those of the sources from there on, or the block's last one again. */
static void put_ahead(struct emitter *w, const char *from) {
    open_unrolled(w, "u", w->y->ur);
    line(w, "const unsigned at = %s + u * %d + tx;", from, w->y->t0);
    line(w, "ahead[u] = pairs[at < last ? at : last];");
    close_brace(w);
}

/* Where the sources at hand land, and which they are, or what each brings; those behind them are
 * under way meanwhile. */
static void put_names(struct emitter *w) {
    line(w, "unsigned places[%d], named[%d];", w->y->ur, w->y->ur);
    open_unrolled(w, "u", w->y->ur);
    line(w, "places[u] = (unsigned)ahead[u], named[u] = (unsigned)(ahead[u] >> 32);");
    close_brace(w);
    put_ahead(w, arena_printf(w->arena, "from + %d", w->y->ur * w->y->t0));
}

static void put_ranks(struct emitter *w) {
    int bits = 0;
    while (1 << bits < w->y->bx * w->y->held) bits++; /* rows of a block, a power of two */
    line(w, "unsigned ranks[%d];", w->y->ur);
    line(w, "#pragma unroll");
    line(w,
         "for (int u = 0; u < %d; u++) ranks[u] = k_turn<%d>(from + u * %d + tx < to, places[u]);",
         w->y->ur, bits, w->y->t0);
}

void put_turns_loop(struct emitter *w, const struct phase *f) {
    const value_id carried = layout_carried(w->k, w->y);
    line(w, "__syncwarp(); /* sums are nothing yet */");
    line(w, "unsigned from = begin[px];");
    line(w, "const unsigned to = begin[px + 1], last = to ? to - 1 : 0;");
    line(w, "unsigned long long ahead[%d];", w->y->ur);
    put_ahead(w, "from");
    if (w->folds.levels) line(w, "bool folded = false; /* few sources of a row are not */");
    open_brace(w, "for (; from < to; from += %d)", w->y->ur * w->y->t0);
    put_names(w);
    if (carried != NO_VALUE) w->carried = &carried;
    w->by_source = true;
    if (!w->carried) {
        declare_packs(w, f);
        put_loads(w, f);
    }
    put_ranks(w);
    put_tile(w, f);
    w->by_source = false;
    w->carried = NULL;
    close_brace(w);
    if (w->folds.levels) open_brace(w, "if (folded)");
    put_unfolded(w, f);
    if (w->folds.levels) close_brace(w);
}
