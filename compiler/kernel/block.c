/* block.c: body + config -> block program: which value is computed where.
 *
 * softmax over [4096, 4096], x=1 r=4096 warps=8 vec=4 keep=1:
 *
 *     phase 0   load the row; accumulate amax;  combine over 256 threads
 *     phase 1   sub, exp; accumulate sum;       combine
 *     phase 2   sub, exp, div; store
 *
 * A value that varies with r is computed in every phase that needs it (raw loads stay in registers
 * when the row is read once; the rest is recomputed and the compiler shares what pays). A value
 * that does not vary with r is computed once: before the phases, or after the phase that finishes
 * the reductions it stands on. What waits for loads and is not needed before waits for the first
 * phase, whose loads are then under way. */
#include "kernel/kernel.h"

/* Mark everything that value v needs. */
static void mark(const struct block *p, value_id v, bool *need) {
    if (need[v]) return;
    need[v] = true;
    if (v == p->kept) return; /* it is at hand */
    const struct value_node *x = &p->kernel->values.at[v];
    if (layout_lands_always(p->kernel, &p->layout, v)) return;
    if (x->kind == INST_REDUCE || x->kind == INST_SCAN)
        return; /* its argument is the business of the phase that accumulates it */
    for (int a = 0; a < x->n_args; a++) mark(p, x->args[a], need);
}

static bool loaded_before(const struct block *p, uint32_t phase, value_id v) {
    if (!p->layout.one_read) return false;
    for (uint32_t i = 0; i < phase; i++)
        for (uint32_t j = 0; j < p->phases.at[i].loads.n; j++)
            if (p->phases.at[i].loads.at[j] == v) return true;
    return false;
}

static void build_phase(struct block *p, uint32_t index, bool *row_values) {
    const struct kernel *k = p->kernel;
    struct arena *a = k->arena;
    struct phase f = {0};
    bool *need = NEW_ARRAY(a, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool accumulates = x->kind == INST_REDUCE || x->kind == INST_SCAN;
        int after = (int)index + !goes_across(x); /* a column's sum is no level of its own */
        if (!accumulates || layout_phase(&p->layout, x->level) != after) continue;
        bool online = p->layout.online && x->level == p->layout.online + 1;
        value_id about, f_of = online ? kernel_online_square(k, v, &about) : NO_VALUE;
        if (f_of != NO_VALUE) {
            vec_push(a, &f.squares, v);
            mark(p, f_of, need), mark(p, about, need);
            continue;
        }
        if (goes_across(x))
            vec_push(a, &f.across, v);
        else
            vec_push(a, &f.reduce, v);
        if (online) vec_push(a, &f.online, v);
        for (int i = 0; i < x->n_args; i++) mark(p, x->args[i], need);
    }
    for (uint32_t s = 0; s < k->stores.n; s++) {
        const struct store_node *st = &k->stores.at[s];
        int level = k->values.at[st->value].level;
        if (is_column_store(k, st)) continue;
        if (!(st->mask & MASK_R) || layout_phase(&p->layout, level) != (int)index) continue;
        vec_push(a, &f.stores, s);
        mark(p, st->value, need);
    }
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!need[v] || x->kind == INST_SCAN) continue; /* it is in registers */
        if (!(x->mask & MASK_R)) {
            row_values[v] = true;
            continue;
        }
        vec_push(a, &f.compute, v);
        if (x->kind == INST_LOAD && !loaded_before(p, index, v)) vec_push(a, &f.loads, v);
    }
    vec_push(a, &p->phases, f);
}

/* Which values do loads stand before? To compute them is to wait for these. */
static bool *find_waiting(const struct kernel *k) {
    bool *waits = NEW_ARRAY(k->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        for (int a = 0; a < x->n_args; a++)
            waits[v] |= k->values.at[x->args[a]].kind == INST_LOAD || waits[x->args[a]];
    }
    return waits;
}

static void build_phases(struct block *p) {
    const struct kernel *k = p->kernel;
    struct arena *a = k->arena;
    bool *row = NEW_ARRAY(a, bool, k->values.n), *all = NEW_ARRAY(a, bool, k->values.n),
         *early = NEW_ARRAY(a, bool, k->values.n), *waits = find_waiting(k);
    /* the phase after the last reduction may only store */
    uint32_t last = (uint32_t)layout_phase(&p->layout, k->levels);
    bool stores_last = false;
    for (uint32_t s = 0; s < k->stores.n; s++)
        stores_last |=
            k->stores.at[s].mask & MASK_R && !is_column_store(k, &k->stores.at[s]) &&
            layout_phase(&p->layout, k->values.at[k->stores.at[s].value].level) == (int)last;
    for (value_id v = 0; v < k->values.n; v++)
        stores_last |= goes_across(&k->values.at[v]) &&
                       layout_phase(&p->layout, k->values.at[v].level) == (int)last;
    for (uint32_t i = 0; i < last + stores_last; i++) build_phase(p, i, row);
    for (value_id v = 0; v < k->values.n; v++)
        if (row[v]) mark(p, v, early);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        if (k->stores.at[s].mask & MASK_R) continue;
        vec_push(a, &p->row_stores, s);
        row[k->stores.at[s].value] = true;
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (row[v]) mark(p, v, all);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!all[v] || x->mask & MASK_R || x->kind == INST_REDUCE) continue;
        bool late = k->kind == KERNEL_REDUCE && k->levels && !early[v] && waits[v];
        if (x->level == 0 && late)
            vec_push(a, &p->phases.at[0].after, v);
        else if (x->level == 0)
            vec_push(a, &p->before, v);
        else
            vec_push(a, &p->phases.at[layout_phase(&p->layout, x->level) - 1].after, v);
    }
}

void block_split_after(const struct block *p, const struct phase *f, struct phase *before,
                       struct phase *rest) {
    memset(&rest->after, 0, sizeof rest->after);
    for (uint32_t i = 0; i < f->after.n; i++) {
        value_id v = f->after.at[i];
        bool now = p->kernel->values.at[v].level <= p->layout.online;
        vec_push(p->kernel->arena, now ? &before->after : &rest->after, v);
    }
}

uint32_t block_meetings(const struct block *p) {
    uint32_t n = 0;
    while (n < p->phases.n && p->phases.at[n].reduce.n) n++;
    return n;
}

/* The second launch of a kernel with column sums. */
static void build_finish(struct block *p) {
    const struct kernel *k = p->kernel;
    bool *need = NEW_ARRAY(k->arena, bool, k->values.n);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        if (!is_column_store(k, &k->stores.at[s])) continue;
        vec_push(k->arena, &p->column_stores, s);
        mark(p, k->stores.at[s].value, need);
    }
    for (value_id v = 0; v < k->values.n; v++) {
        if (goes_across(&k->values.at[v]))
            vec_push(k->arena, &p->across, v);
        else if (need[v])
            vec_push(k->arena, &p->finish, v);
    }
}

size_t partial_bytes(const struct kernel *k, const struct layout *y, value_id v) {
    bool across = goes_across(&k->values.at[v]);
    size_t n = across         ? (size_t)(kernel_size(k, AXIS_R) * y->blocks * kernel_batches(k))
               : y->look_back ? (size_t)(layout_totals(k, y) * y->bx)
                              : (size_t)(kernel_size(k, AXIS_X) * y->split);
    return (n * (size_t)reduction_bytes(k, v) + 15) / 16 * 16;
}

/* Matrix product: everything after the dot is an epilogue over a thread's outputs. */
static void build_epilogue(struct block *p) {
    const struct kernel *k = p->kernel;
    struct arena *a = k->arena;
    bool *need = NEW_ARRAY(a, bool, k->values.n);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        mark(p, k->stores.at[s].value, need);
        vec_push(a, &p->row_stores, s);
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (need[v] && v != k->dot) vec_push(a, &p->before, v);
}

/* Reductions of what the product has summed up: phase i has those that stand on i others, and the
 * stores that do, but those of the results, which the finish has. */
static void build_reductions(struct block *p) {
    const struct kernel *k = p->kernel;
    struct arena *a = k->arena;
    int *stage = epilogue_stages(k), phases = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (stage[v] > phases) phases = stage[v];
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (!store_is_of_results(k, &k->stores.at[s]) && stage[k->stores.at[s].value] == phases) {
            phases++; /* which only stores */
            break;
        }
    value_id kept = phases > 1 ? epilogue_kept(k) : NO_VALUE;
    if (kept != NO_VALUE) {
        bool *need = NEW_ARRAY(a, bool, k->values.n);
        p->keep.at_hand = k->dot;
        mark(p, kept, need);
        for (value_id v = 0; v < k->values.n; v++)
            if (need[v] && k->values.at[v].kind != INST_REDUCE) vec_push(a, &p->keep.compute, v);
    }
    for (int i = 0; i < phases; i++) {
        if (i == 1) p->kept = kept;
        struct phase f = {.at_hand = p->kept != NO_VALUE ? p->kept : k->dot};
        bool *need = NEW_ARRAY(a, bool, k->values.n);
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *x = &k->values.at[v];
            if (x->kind != INST_REDUCE || v == k->dot || stage[v] != i + 1) continue;
            vec_push(a, &f.reduce, v);
            for (int n = 0; n < x->n_args; n++) mark(p, x->args[n], need);
        }
        for (uint32_t s = 0; s < k->stores.n; s++) {
            const struct store_node *st = &k->stores.at[s];
            if (store_is_of_results(k, st) || stage[st->value] != i) continue;
            vec_push(a, &f.stores, s);
            mark(p, st->value, need);
        }
        for (value_id v = 0; v < k->values.n; v++)
            if (need[v] && k->values.at[v].kind != INST_REDUCE && v != p->kept)
                vec_push(a, &f.compute, v);
        vec_push(a, &p->phases, f);
    }
    bool *need = NEW_ARRAY(a, bool, k->values.n);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        if (!store_is_of_results(k, &k->stores.at[s])) continue;
        vec_push(a, &p->column_stores, s);
        mark(p, k->stores.at[s].value, need);
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (need[v] && k->values.at[v].kind != INST_REDUCE) vec_push(a, &p->finish, v);
}

/* Chained products: reductions along n of level `late` or not, and the second products' terms, made
 * of what is kept or of the first product. */
static struct phase chained_phase(const struct block *p, bool late, bool *need) {
    const struct kernel *k = p->kernel;
    struct phase f = {.at_hand = p->kept != NO_VALUE ? p->kept : k->dot};
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || is_first_product(k, v)) continue;
        if ((kernel_online_maximum(k, v) != NO_VALUE) != late) continue;
        if (!is_second_product(k, v)) vec_push(k->arena, &f.reduce, v);
        mark(p, v == k->second ? k->second_a : v == k->twin ? k->twin_a : x->args[0], need);
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (need[v] && k->values.at[v].kind != INST_REDUCE && v != p->kept)
            vec_push(k->arena, &f.compute, v);
    return f;
}

/* Phase 1, of what takes the place of the first product, p->kept: what there is a maximum of, or
 * the last that this is made of, as scores are whose -inf the maximum is not of. NO_VALUE: all that
 * does not ask for the product again. */
static struct phase relative_phase(struct block *p, value_id max) {
    const struct kernel *k = p->kernel;
    double by;
    value_id of = k->values.at[max].args[0], first = chained_scaled(k, max, &by);
    const bool *parts = kernel_parts(k, of);
    for (value_id v = of + 1; v-- > 0;) {
        const struct value_node *x = &k->values.at[v];
        p->kept = v == of ? first : v;
        if (p->kept != first && (!parts[v] || x->kind != INST_OP || x->dtype != DT_F32)) continue;
        if (x->mask != k->values.at[of].mask) continue;
        bool *need = NEW_ARRAY(k->arena, bool, k->values.n);
        struct phase f = chained_phase(p, true, need);
        if (!need[k->dot] || p->kept == k->dot) return f;
    }
    p->kept = NO_VALUE;
    return chained_phase(p, true, NEW_ARRAY(k->arena, bool, k->values.n));
}

static bool *stands_on_beside(const struct kernel *k) {
    bool *stands = NEW_ARRAY(k->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        stands[v] = v == k->beside;
        for (int i = 0; i < x->n_args && x->kind != INST_REDUCE; i++)
            stands[v] |= stands[x->args[i]];
    }
    return stands;
}

static void mark_terms(const struct block *p, bool *need) {
    mark(p, p->kernel->second_a, need);
    if (p->kernel->twin != NO_VALUE) mark(p, p->kernel->twin_a, need);
}

/* exp(s - l) of exp(s - l) (t - d), where s and t are first products: the last value that all terms
 * need of the first one, if it is made of that alone, and takes something to make. */
static void find_early_phase(struct block *p) {
    const struct kernel *k = p->kernel;
    const struct layout *y = &p->layout;
    if (k->beside == NO_VALUE || y->chained->by_warp || y->chained->ping_pong || y->split > 1 ||
        chained_maximum(k) != NO_VALUE || p->phases.at[0].reduce.n)
        return;
    const bool *late = stands_on_beside(k);
    for (value_id v = k->values.n; v-- > 0 && !p->one_by_one;) {
        const struct value_node *x = &k->values.at[v];
        if (late[v] || x->kind != INST_OP || dtype_opmath(x->dtype) != DT_F32) continue;
        bool *parts = NEW_ARRAY(k->arena, bool, k->values.n),
             *need = NEW_ARRAY(k->arena, bool, k->values.n);
        mark(p, v, parts);
        if (!parts[k->dot]) continue;
        p->kept = v;
        mark_terms(p, need);
        p->kept = NO_VALUE;
        if (need[k->dot] || !need[v]) continue;
        p->one_by_one = true;
        p->early.at_hand = k->dot;
        p->late.at_hand = v;
        for (value_id u = 0; u < k->values.n; u++) {
            if (k->values.at[u].kind == INST_REDUCE) continue;
            if (need[u] && u != v) vec_push(k->arena, &p->late.compute, u);
            if (parts[u]) vec_push(k->arena, &p->early.compute, u);
        }
    }
}

bool chained_has_sections(const struct block *p) {
    const struct kernel *k = p->kernel;
    const struct layout *y = &p->layout;
    if (!p->one_by_one || k->twin == NO_VALUE || y->chained->skips) return false;
    bool differ = kernel_size(k, AXIS_N) > y->br && kernel_size(k, AXIS_N) % y->br, holds;
    for (value_id v = 0; v < k->values.n; v++) differ |= edges_decide(k, v, &holds);
    return differ;
}

int chained_early_product(const struct block *p) {
    const struct kernel *k = p->kernel;
    if (!p->one_by_one || p->layout.chained->skips) return 0;
    if (k->second_a == p->late.at_hand) return 1;
    return k->twin != NO_VALUE && k->twin_a == p->late.at_hand ? 2 : 0;
}

/* Phase 0 is what stands on no row; phase 1, if there is a maximum, what is relative to it; the
 * last phase what is stored. */
static void build_chained(struct block *p) {
    const struct kernel *k = p->kernel;
    struct arena *a = k->arena;
    value_id max = chained_maximum(k);
    vec_push(a, &p->phases, chained_phase(p, false, NEW_ARRAY(a, bool, k->values.n)));
    if (max != NO_VALUE) vec_push(a, &p->phases, relative_phase(p, max));
    find_early_phase(p);
    struct phase last = {.at_hand = k->second};
    bool *need = NEW_ARRAY(a, bool, k->values.n);
    for (uint32_t s = 0; s < k->stores.n; s++) {
        vec_push(a, &last.stores, s);
        mark(p, k->stores.at[s].value, need);
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (need[v] && k->values.at[v].kind != INST_REDUCE) vec_push(a, &last.compute, v);
    vec_push(a, &p->phases, last);
}

enum { TILE = 256 }; /* bytes of a multiple of which images begin in the workspace */

struct block *block_build(const struct kernel *k, const struct config *c, struct arena *a) {
    struct block *p = NEW(a, struct block);
    *p = (struct block){.kernel = k, .config = *c, .kept = NO_VALUE};
    const char *bad = kernel_layout(k, c, &p->layout, a);
    if (bad) WS_BUG("illegal config: %s", bad);
    const struct layout *y = &p->layout;
    if (k->kind == KERNEL_PERSISTENT) {
        p->grid = y->persistent->blocks;
        p->tickets = 4;
        return p;
    }
    if (k->kind == KERNEL_RECURRENCE) {
        p->grid = y->recurrent->blocks;
        return p;
    }
    if (k->kind == KERNEL_SORT) {
        p->workspace = (size_t)layout_sort_bytes(k, y);
        return p;
    }
    if (k->kind == KERNEL_CHAINED) {
        build_chained(p);
        p->grid = kernel_size(k, AXIS_Z) * tile_count(kernel_size(k, AXIS_M), y->bx) * y->split;
        if (y->chained->persists) {
            p->grid = (int64_t)k->limits->units * y->chained->resident;
            p->tickets = 4;
        }
        if (y->split > 1) {
            p->tickets = (size_t)(p->grid / y->split) * 4;
            p->workspace = (size_t)p->grid * (size_t)y->threads * 4 *
                           (size_t)chained_part_floats(k, y->chained);
        }
        if (y->chained->images) {
            p->images = (size_t)round_up((int64_t)p->workspace, TILE);
            p->workspace = p->images + (size_t)y->chained->images;
        }
        if (!y->chained->skips) return p;
        size_t lists = (size_t)skipped_lists(k, y);
        if (p->tickets < lists * 4) p->tickets = lists * 4;
        p->lists = p->workspace;
        p->workspace += lists * (size_t)skipped_length(k, y) * 4;
        return p;
    }
    if (k->kind == KERNEL_MATMUL) {
        (k->over ? build_reductions : build_epilogue)(p);
        if (y->product) return p->grid = matrix_blocks(k, y), p;
        int64_t tiles = kernel_size(k, AXIS_Z) * tile_count(kernel_size(k, AXIS_M), y->bx) *
                        tile_count(kernel_size(k, AXIS_N), y->br);
        p->grid = tiles * y->split;
        if (y->split > 1) {
            p->tickets = (size_t)tiles * 4;
            p->workspace = (size_t)(p->grid * y->bx * y->br) * 4;
        }
        p->images = (size_t)round_up((int64_t)p->workspace, TILE);
        int64_t images = 0;
        if (is_turned(y, AXIS_M)) images += turned_bytes(k, AXIS_M);
        if (is_turned(y, AXIS_N)) images += turned_bytes(k, AXIS_N);
        if (images) p->workspace = p->images + (size_t)images;
        return p;
    }
    build_phases(p);
    p->grid = tile_count(kernel_size(k, AXIS_X), y->bx) *
              (y->grid_r ? layout_column_tiles(k, y) : 1) * y->split * y->cluster;
    if (y->held)
        p->grid = tile_count(tile_count(kernel_size(k, AXIS_X), y->bx), y->held) * y->split;
    if (y->own)
        p->grid = tile_count(layout_span(k), y->bx / y->ex) * tile_count(layout_spans(k), y->ex);
    int64_t counters = tile_count(kernel_size(k, AXIS_X), y->bx);
    if (y->last_block) p->tickets = (size_t)counters * 4;
    if (y->meets) p->tickets = (size_t)(1 + counters * block_meetings(p)) * 4;
    if (y->in_words)
        p->tickets = (size_t)(tile_count(counters, COUNTERS_OF_LINE) * COUNTERS_OF_LINE) * 4 +
                     (size_t)(counters * y->bx * y->split) * (size_t)kernel_part_words(k) * 8;
    if (y->circle) {
        int64_t words = 0;
        for (uint32_t i = 0; i < p->phases.at[0].reduce.n; i++)
            words += layout_circle_words(k, y, p->phases.at[0].reduce.at[i]);
        p->grid = y->circle;
        p->tickets = 2 * 4 + (size_t)words * 8;
    } else if (y->look_back) {
        p->grid *= tile_count(kernel_size(k, AXIS_R), y->br);
        p->tickets = 2 * 4 + (size_t)(p->phases.at[0].reduce.n * layout_totals(k, y)) *
                                 (size_t)layout_flag_bytes(y);
    }
    if (k->columns) build_finish(p);
    if (layout_sorts(k, y)) p->workspace += (size_t)layout_sort_bytes(k, y);
    if (y->blocks) p->grid = (int64_t)y->blocks * y->cluster * kernel_batches(k);
    for (uint32_t v = 0; v < k->values.n; v++)
        if ((goes_across(&k->values.at[v]) && !y->whole_columns) ||
            (k->values.at[v].kind == INST_REDUCE && y->split > 1 && !y->in_words) ||
            (k->values.at[v].kind == INST_SCAN && y->look_back && !y->circle))
            p->workspace += partial_bytes(k, y, v);
    return p;
}
