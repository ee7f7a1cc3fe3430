/* c_fold.c: accumulators of C with others above them (kernel/chain.c):
 *
 *     float c1[32], b1[2 * 32];          b: of 16 blocks, of 256
 *     long long folds = 0;
 *     ...                                16 terms go to each of c1
 *     folds++;
 *     for (l) b1[l] = b1[l] + c1[l], c1[l] = 0;
 *     for (long long n = folds, up = 1; up < 2 && n % 16 == 0; n /= 16, up++)
 *         for (l) b1[up * 32 + l] += b1[(up - 1) * 32 + l], b1[(up - 1) * 32 + l] = 0;
 *     ...
 *     for (int up = 0; up < 2; up++)
 *         for (l) c1[l] = c1[l] + b1[up * 32 + l]; */
#include "emit/c_rows.h"

static bool is_folded(struct emitter *w, const struct c_folds *c, uint32_t i) {
    return c->f.levels && reduction_rounds(w->k, c->list[i]);
}

static const char *type_of(struct emitter *w, const struct c_folds *c, value_id v) {
    return c->type ? c->type : accumulator_type(w, v);
}

static const char *nothing(struct emitter *w, const struct c_folds *c, value_id v) {
    return c->type ? arena_printf(w->arena, "k_splat(%s)", identity_text(w, v))
                   : identity_text(w, v);
}

/* An accumulator above: of the first level, or of a level that is a text. */
static const char *upper(struct emitter *w, const struct c_folds *c, value_id v,
                         const char *level) {
    const char *cell = *c->at ? c->at : "0";
    return level ? arena_printf(w->arena, "b%u[%s * %s + %s]", v, level, c->cells, cell)
                 : arena_printf(w->arena, "b%u[%s]", v, cell);
}

void declare_c_folds(struct emitter *w, const struct c_folds *c) {
    bool any = false;
    for (uint32_t i = 0; i < c->n; i++) {
        value_id v = c->list[i];
        if (!is_folded(w, c, i)) continue;
        any = true;
        if (!c->rows) line(w, "%s b%u[%d * %s];", type_of(w, c, v), v, c->f.levels, c->cells);
        line(w, "for (int up = 0; up < %d; up++)", c->f.levels);
        line(w, "    %s %s = %s;", c->loop, upper(w, c, v, "up"), nothing(w, c, v));
    }
    if (any) line(w, "long long folds = 0;");
}

/* One accumulator into another, and it has nothing again. */
static void put_fold(struct emitter *w, const struct c_folds *c, value_id v, const char *to,
                     const char *from) {
    line(w, "%s", c->loop);
    line(w, "    %s = %s, %s = %s;", to, combine_text(w, v, to, from), from, nothing(w, c, v));
}

static const char *lowest(struct emitter *w, const struct c_folds *c, value_id v) {
    return *c->at ? arena_printf(w->arena, "%c%u[%s]", c->acc, v, c->at)
                  : arena_printf(w->arena, "%c%u", c->acc, v);
}

void put_c_folds(struct emitter *w, const struct c_folds *c) {
    line(w, "folds++;");
    for (uint32_t i = 0; i < c->n; i++) {
        value_id v = c->list[i];
        if (!is_folded(w, c, i)) continue;
        if (c->type) line(w, "#pragma GCC unroll 16"); /* registers have no subscripts */
        put_fold(w, c, v, upper(w, c, v, NULL), lowest(w, c, v));
        if (c->f.levels == 1) continue;
        open_brace(w, "for (long long n = folds, up = 1; up < %d && n %% %d == 0; n /= %d, up++)",
                   c->f.levels, c->f.radix, c->f.radix);
        put_fold(w, c, v, upper(w, c, v, "up"), upper(w, c, v, "(up - 1)"));
        close_brace(w);
    }
}

void put_c_unfolded(struct emitter *w, const struct c_folds *c) {
    for (uint32_t i = 0; i < c->n; i++) {
        value_id v = c->list[i];
        if (!is_folded(w, c, i)) continue;
        const char *a = lowest(w, c, v);
        open_brace(w, "for (int up = 0; up < %d; up++)", c->f.levels);
        line(w, "%s", c->loop);
        line(w, "    %s = %s;", a, combine_text(w, v, a, upper(w, c, v, "up")));
        close_brace(w);
    }
}

void put_fold_rows(struct emitter *w, const struct c_folds *c, bool declare) {
    for (uint32_t i = 0; i < c->n; i++) {
        value_id v = c->list[i];
        const char *t = type_of(w, c, v);
        if (!is_folded(w, c, i)) continue;
        if (declare)
            line(w, "%s *restrict b%u = k_row(sizeof(%s) * %d * (long long)%s);", t, v, t,
                 c->f.levels, c->cells);
        else
            line(w, "free(b%u);", v);
    }
}

void put_c_parts(struct emitter *w, value_id v, int parts, const char *part) {
    const struct c_folds c = {.f = layout_part_folds(w->k, parts),
                              .list = &v,
                              .n = 1,
                              .acc = 'a',
                              .cells = "1",
                              .loop = "",
                              .at = ""};
    const char *a = arena_printf(w->arena, "a%u", v), *one = combine_text(w, v, a, part);
    line(w, "%s %s = %s;", accumulator_type(w, v), a, identity_text(w, v));
    w->where[v] = ARRAY;
    if (!is_folded(w, &c, 0)) {
        line(w, "for (int s = 0; s < %d; s++) %s = %s;", parts, a, one);
        return;
    }
    open_scope(w);
    declare_c_folds(w, &c);
    open_brace(w, "for (int s = 0; s < %d; s++)", parts);
    line(w, "%s = %s;", a, one);
    open_brace(w, "if (s %% %d == %d)", c.f.block, c.f.block - 1);
    put_c_folds(w, &c);
    close_brace(w);
    close_brace(w);
    put_c_unfolded(w, &c);
    close_brace(w);
}
