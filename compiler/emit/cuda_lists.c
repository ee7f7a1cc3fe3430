/* cuda_lists.c: the launch before chained products that lists, of each tile of rows, the tiles of
 * what is between of which masks of data leave something (kernel/skipped.c), in CUDA C++:
 *
 *     const int list = blockIdx.x / 64, tile = blockIdx.x % 64;
 *     const k_idx z = list / 64 * 32, m0 = list % 64 * 128;
 *     bool some = false, others = false;              are there elements that count, that do not?
 *     for (int c = warp * 32; c < 128; c += 128) {    a lane has a column
 *         const long long v1 = k_load1(p0 + n);
 *         for (int r = 0; r < 128; r += 16) {
 *             for (int i = 0; i < 16; i++) {
 *                 const long long v0 = k_load1(p0 + m);
 *                 const bool counts = v0 == v1;
 *                 some |= counts, others |= !counts;
 *             }
 *             if (__any_sync(0xffffffffu, some) && __any_sync(0xffffffffu, others)) break;
 *         }
 *     }
 *     k_list_tile(lists + list * 65, tickets + list, tile, 64, some, others, first);
 *
 * The last block of a list leaves out the tiles that have nothing. */
#include "emit/cuda_chained.h"

enum { THREADS = 128, ROUND = 16 };

const char *chained_list_text(struct emitter *w) {
    long long down = tile_count(kernel_size(w->k, AXIS_M), w->y->bx);
    return arena_printf(w->arena, "(z / %lld * %lld + m0 / %d)", (long long)chained_alike(w->k),
                        down, w->y->bx);
}

void put_lists_parameter(struct emitter *w, struct ws_launch *l) {
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = (int64_t)w->p->lists};
    buf_puts(&w->b, ", int *lists");
}

/* Of the values that questions are made of those that vary with rows, or those that do not. */
static void put_asked(struct emitter *w, bool by_rows) {
    const struct kernel *k = w->k;
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    for (uint32_t i = 0; i < k->questions.n; i++) mark_needed(w, k->questions.at[i].value, needed);
    for (value_id v = 0; v < k->values.n; v++)
        if (needed[v] && by_rows == !!(k->values.at[v].mask & MASK_M)) put_local(w, v);
}

static void put_answer(struct emitter *w) {
    const struct kernel *k = w->k;
    struct buf all = buf_new(w->arena);
    for (uint32_t i = 0; i < k->questions.n; i++)
        buf_printf(&all, "%s%s%s", i ? " && " : "", k->questions.at[i].holds ? "" : "!",
                   ref(w, k->questions.at[i].value));
    line(w, "const bool counts = %s;", all.p);
    line(w, "some |= inside && row < nm && counts;");
    line(w, "others |= inside && row < nm && !counts;");
}

static void put_columns(struct emitter *w) {
    int n = w->y->br, warp = w->k->limits->warp;
    open_brace(w, "for (int c = (int)threadIdx.x / %d * %d; c < %d; c += %d)", warp, warp, n,
               THREADS);
    line(w,
         "const k_idx column = tile * %d + c + (int)threadIdx.x %% %d, n = k_clamp(column, nn - "
         "1);",
         n, warp);
    line(w, "const bool inside = c + (int)threadIdx.x %% %d < %d && column < nn;", warp, n);
    line(w, "(void)n;");
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    put_asked(w, false);
    open_brace(w, "for (int r = 0; r < %d; r += %d)", w->y->bx, ROUND);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", ROUND);
    line(w, "const k_idx row = m0 + r + i, m = k_clamp(row, nm - 1);");
    line(w, "(void)m;");
    put_asked(w, true);
    put_answer(w);
    close_brace(w);
    line(w, "if (__any_sync(0xffffffffu, some) && __any_sync(0xffffffffu, others)) break;");
    close_brace(w);
    close_brace(w);
}

void emit_cuda_lists(struct emitter *w) {
    const struct kernel *k = w->k;
    long long tiles = tile_count(kernel_size(k, AXIS_N), w->y->br),
              down = tile_count(kernel_size(k, AXIS_M), w->y->bx);
    const char *name = arena_printf(w->arena, "%s_lists", k->entry);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){
        .entry = name, .grid = {skipped_lists(k, w->y) * tiles, 1, 1}, .threads = THREADS};
    add_arguments(w, l);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, name);
    put_parameters(w);
    put_lists_parameter(w, l);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
    buf_puts(&w->b, ", unsigned *tickets) {\n");
    w->indent++;
    line(w, "k_enter();");
    line(w, "const k_idx nm = %s, nn = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]));
    line(w, "const int list = blockIdx.x / %lld, tile = blockIdx.x %% %lld;", tiles, tiles);
    line(w, "const k_idx z = list / %lld * %lld, m0 = list %% %lld * %d;", down,
         (long long)chained_alike(k), down, w->y->bx);
    line(w, "(void)z;");
    if (k->edges.n)
        put_chained_columns(w);
    else
        line(w, "const k_idx from = 0, end = nn;");
    line(w, "bool some = false, others = false;");
    open_brace(w, "if (tile * %d < end && tile * %d + %d > from)", w->y->br, w->y->br, w->y->br);
    put_columns(w);
    close_brace(w);
    line(w,
         "k_list_tile(lists + list * %lld, tickets + list, tile, %lld, some, others, "
         "(int)(from / %d));",
         (long long)skipped_length(k, w->y), tiles, w->y->br);
    close_brace(w);
}
