/* cuda_chained_parts.c: chained products whose columns of what is between are shared by blocks, as
 * where one query has many keys, in CUDA C++. Each block leaves what its threads have, each float
 * of all threads together, and the last one to come takes up all of that, part by part:
 *
 *     leave    of_part[0 * 32] = a7[0][0]; ... of_part[6 * 32] = out[0]; ...
 *     last     if (!k_is_last_block(tickets + tile, 8)) return;
 *              a7 = -inf, a10 = 0, out[..] = 0
 *              for (int s = 0; s < 8; s++) {
 *                  before = a7; a7 = max(a7, its a7); ...
 *                  a10 = a10 * mine + its a10 * theirs, out[..] = out[..] * mine + ...
 *              }
 *
 * Of a warpgroup, that has sixteen rows at most, the first warp does so.
 *
 * Warps that share a tile's columns do the same in shared memory, and in the end the first one has
 * what all have come to.
 *
 * Each part stands on the maximum that it had, l, in units of log2, or is -inf where it has seen
 * nothing. All parts are read again, in their order: the same bits in every run. */
#include "emit/cuda_chained.h"

/* Of a thread. It has two of each sixteen, of which the second is eight below: no row if there are
 * eight at most. */
static int rows_of(const struct emitter *w) { return chained_part_rows(w->k, w->y->chained); }
static bool is_one_row(const struct emitter *w) { return rows_of(w) == 1; }

static int sums_of_product(const struct emitter *w) {
    return rows_of(w) * chained_column_octets(w) * 2;
}

/* Where row i, and sum i, are in what a thread has. */
static const char *row_at(const struct emitter *w) {
    return is_one_row(w) ? "[0][0]" : "[i / 2][i % 2]";
}
static const char *sum_at(const struct emitter *w) {
    return is_one_row(w) ? "i / 2 * 4 + i % 2" : "i";
}

static int floats_of(const struct emitter *w) { return chained_part_floats(w->k, w->y->chained); }

void put_chained_parts_parameters(struct emitter *w, struct ws_launch *l) {
    if (w->y->chained->persists) {
        WS_ASSERT(l->n_args < WS_MAX_ARGS);
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
        buf_puts(&w->b, ", unsigned *tickets");
    }
    if (w->y->split == 1) return;
    WS_ASSERT(l->n_args + 2 <= WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE};
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
    buf_puts(&w->b, ", float *parts, unsigned *tickets");
}

static void put_place(struct emitter *w, const char *name, const char *part) {
    line(w, "%sfloat *const %s = parts + ((long long)tile * %d + %s) * %d + tid;",
         *name == 'i' ? "const " : "", name, w->y->split, part, floats_of(w) * w->y->threads);
}

/* What a thread has, at `of_part`, so many floats apart. */
static void put_left(struct emitter *w, int apart) {
    int at = 0, rows = rows_of(w), n = sums_of_product(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", rows);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v)) continue;
        line(w, "of_part[(%d + i) * %d] = a%u%s;", at, apart, v, row_at(w));
        at += rows;
    }
    if (chained_maximum(w->k) != NO_VALUE) {
        line(w, "of_part[(%d + i) * %d] = l%s;", at, apart, row_at(w));
        at += rows;
    }
    close_brace(w);
    for (int p = 0; p < w->y->chained->n_second; p++, at += n) {
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) of_part[(%d + i) * %d] = %s[%s];", n, at, apart,
             chained_out_of(p), sum_at(w));
    }
    WS_ASSERT(at == floats_of(w));
}

void put_chained_leave(struct emitter *w) {
    if (!w->y->chained->by_warp) line(w, "if (warp_m) return;"); /* it has no rows */
    open_scope(w);
    put_place(w, "of_part", "part");
    put_left(w, w->y->threads);
    close_brace(w);
}

/* Of a part: what a block has left in memory, or a warp in shared memory. */
static const char *its(struct emitter *w, bool shared, int at) {
    if (shared) return arena_printf(w->arena, "its[(%d + i) * %d]", at, w->k->limits->warp);
    return arena_printf(w->arena, "k_load_part(its + (%d + i) * %d)", at, w->y->threads);
}

/* What rows have come to, and by what the sums so far, and the part's, are multiplied then. */
static int put_rows(struct emitter *w, bool shared) {
    int at = 0, rows = rows_of(w);
    value_id max = chained_maximum(w->k);
    if (max != NO_VALUE) line(w, "float mine[%d], theirs[%d];", rows, rows);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", rows);
    if (max != NO_VALUE) {
        int place = 0, of_l = 0;
        for (value_id v = 0; v < w->k->values.n; v++) {
            if (chained_is_between(w, v)) of_l += rows;
            if (chained_is_between(w, v) && v < max) place += rows;
        }
        line(w, "float &most = a%u%s, &of = l%s;", max, row_at(w), row_at(w));
        /* by is loaded where x is: behind a choice the loads of the next part would wait for it */
        line(w, "const float before = most, was = of, x = %s, by = %s;", its(w, shared, place),
             its(w, shared, of_l));
        line(w, "most = %s;", combine_text(w, max, "most", "x"));
        line(w, "const float base = most == (-k_inf()) ? 0.0f : most;");
        line(w, "b%u%s = base;", max, row_at(w));
        line(w, "of = fabsf(base) < 1e30f ? base * 1.44269504f : base;");
        line(w, "mine[i] = before == (-k_inf()) ? 0.0f : k_exp2(was - of);");
        line(w, "theirs[i] = x == (-k_inf()) ? 0.0f : k_exp2(by - of);");
    }
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v)) continue;
        const char *all = arena_printf(w->arena, "a%u%s", v, row_at(w));
        if (v != max && max != NO_VALUE && kernel_online_maximum(w->k, v) == max)
            line(w, "%s = %s * mine[i] + %s * theirs[i];", all, all, its(w, shared, at));
        else if (v != max)
            line(w, "%s = %s;", all, combine_text(w, v, all, its(w, shared, at)));
        at += rows;
    }
    close_brace(w);
    return at + (max != NO_VALUE ? rows : 0);
}

/* As before the first part. */
static void put_nothing_yet(struct emitter *w) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", 2 * chained_sixteens(w));
    for (value_id v = 0; v < w->k->values.n; v++)
        if (chained_is_between(w, v)) line(w, "a%u[i / 2][i %% 2] = %s;", v, identity_text(w, v));
    if (chained_maximum(w->k) != NO_VALUE) line(w, "l[i / 2][i %% 2] = 0;");
    close_brace(w);
    for (int p = 0; p < w->y->chained->n_second; p++) line(w, "k_zero(%s);", chained_out_of(p));
}

/* Takes up the part at `its`. */
static void put_part(struct emitter *w, bool shared) {
    int at = put_rows(w, shared), n = sums_of_product(w), of_sixteen = chained_column_octets(w) * 4;
    for (int p = 0; p < w->y->chained->n_second; p++, at += n) {
        line(w, "#pragma unroll");
        open_brace(w, "for (int i = 0; i < %d; i++)", n);
        const char *out = arena_printf(w->arena, "%s[%s]", chained_out_of(p), sum_at(w)),
                   *row = "0";
        if (!is_one_row(w)) row = arena_printf(w->arena, "i / %d * 2 + i / 2 %% 2", of_sixteen);
        if (chained_maximum(w->k) != NO_VALUE)
            line(w, "%s = %s * mine[%s] + %s * theirs[%s];", out, out, row, its(w, shared, at),
                 row);
        else
            line(w, "%s += %s;", out, its(w, shared, at));
        close_brace(w);
    }
}

void put_chained_last(struct emitter *w) {
    line(w, "if (!k_is_last_%s(tickets + tile, %d)) return;",
         w->y->chained->by_warp ? "block" : "warp", w->y->split);
    put_nothing_yet(w);
    line(w, "#pragma unroll %d", is_one_row(w) ? 4 : 2); /* under way at a time */
    open_brace(w, "for (int s = 0; s < %d; s++)", w->y->split);
    put_place(w, "its", "s");
    put_part(w, false);
    close_brace(w);
}

/* Stages are read no more. */
void put_chained_join(struct emitter *w) {
    int lanes = w->k->limits->warp, floats = floats_of(w) * lanes;
    open_scope(w);
    line(w, "float *const of_part = (float *)tiles + tid / %d * %d + tid %% %d;", lanes, floats,
         lanes);
    put_left(w, lanes);
    close_brace(w);
    line(w, "__syncthreads();");
    line(w, "if (warp_n) return;");
    put_nothing_yet(w);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int s = 0; s < %d; s++)", w->y->chained->shares);
    line(w, "const float *const its = (float *)tiles + s * %d + tid;", floats);
    put_part(w, true);
    close_brace(w);
}
