/* cuda_turns.c: reductions to which a source contributes where it lands, with sort=3
 * (kernel/hits.c), in CUDA. Launches before have sorted the sources by blocks, and kept their order
 * within each. A block is a warp, which goes along its sources, a thread each; what the threads
 * bring is added to results in shared memory, in turn where several go to one row:
 *
 *     for (unsigned from = begin[px]; from < begin[px + 1]; from += 4 * 32)
 *         for (u) places[u], named[u] = pairs[from + u * 32 + tx];
 *         for (u)
 *             rank = k_turn(lands, landed), turns = ...     how many threads before go there, too
 *             for (turn < turns) if (lands && rank == turn) s6[landed - first] = ...
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
    int bits = 0;
    while (1 << bits < w->y->bx * w->y->held) bits++; /* rows of a block, a power of two */
    line(w, "const unsigned rank = k_turn<%d>(lands, (unsigned)landed);", bits);
    line(w, "const int turns = (int)__reduce_max_sync(0xffffffffu, rank) + 1;");
    if (w->folds.levels) {
        open_brace(w, "if (since + turns > %d)", LONGEST_CHAIN);
        open_brace(w, "if (!folded)"); /* rarely: few have memory for it written */
        clear_folds(w, f);
        close_brace(w);
        line(w, "since = 0, folded = true;");
        put_all_folds(w, f);
        line(w, "__syncwarp();");
        close_brace(w);
        line(w, "since += turns;");
    }
    open_brace(w, "for (int turn = 0; turn < turns; turn++)");
    open_brace(w, "if (lands && (int)rank == turn)");
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *acc = arena_printf(w->arena, "s%u[landed - first_tile * %d]", v, w->y->bx);
        line(w, "%s = %s;", acc, combine_text(w, v, acc, operand_text(w, v)));
    }
    close_brace(w);
    line(w, "__syncwarp();");
    close_brace(w);
}

/* Where the sources at hand land, and which they are, or what each brings. */
static void put_names(struct emitter *w) {
    line(w, "unsigned places[%d], named[%d];", w->y->ur, w->y->ur);
    open_unrolled(w, "u", w->y->ur);
    line(w, "const unsigned wanted = from + u * %d + tx, at = wanted < to ? wanted : to - 1;",
         w->y->t0);
    line(w, "const unsigned long long pair = pairs[at];");
    line(w, "places[u] = (unsigned)pair, named[u] = (unsigned)(pair >> 32);");
    close_brace(w);
}

void put_turns_loop(struct emitter *w, const struct phase *f) {
    const value_id carried = layout_carried(w->k, w->y);
    open_scope(w);
    if (!w->y->adds) line(w, "__syncwarp(); /* sums are nothing yet */");
    line(w, "const unsigned to = begin[px + 1];");
    if (w->folds.levels) line(w, "bool folded = false; /* few sources of a row are not */");
    open_brace(w, "for (unsigned from = begin[px]; from < to; from += %d)", w->y->ur * w->y->t0);
    put_names(w);
    if (carried != NO_VALUE) w->carried = &carried;
    w->by_source = true;
    if (!w->carried) {
        declare_packs(w, f);
        put_loads(w, f);
    }
    put_tile(w, f);
    w->by_source = false;
    w->carried = NULL;
    close_brace(w);
    if (w->folds.levels) open_brace(w, "if (folded)");
    put_unfolded(w, f);
    if (w->folds.levels) close_brace(w);
    close_brace(w);
}
