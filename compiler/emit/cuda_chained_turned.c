/* cuda_chained_turned.c: the launch before chained products by warpgroups in tf32 that writes a
 * second product's right factor along its depth, which is the only way that units read tf32, in
 * CUDA C++:
 *
 *     const k_idx c0 = blockIdx.x % 1 * 64, n0 = blockIdx.x / 1 % 16 * 64, z = blockIdx.x / 16;
 *     for (int u = 0; u < 4; u++) ... = k_load<k_f32, 4>(p2 + (c + n*2304 + ...));
 *     for (int u = 0; u < 4; u++) tile[n - n0][c - c0 + e] = ...;               rounded
 *     __syncthreads();
 *     for (int u = 0; u < 4; u++) {                      four of an eight: 0, 2, 4, 6, or 1, 3, ...
 *         for (int e = 0; e < 4; e++) x[e] = tile[quad / 2 * 8 + quad % 2 + e * 2][line];
 *         k_store<k_f32, 4, 0>(image + ..., w);
 *     }
 *
 * What of the last eight lies beyond the depth is 0: its terms are, too, and 0 times anything else
 * might be nan. */
#include "emit/cuda_chained.h"

enum { THREADS = 256, TILE = 64, QUAD = 4 };

/* A thread's elements, `each` neighbours at a time along the axis that memory has them along. */
static void put_loads(struct emitter *w, const struct factor *f, const struct value_node *x,
                      bool by_columns, int each) {
    const char *along = by_columns ? "c" : "n", *down = by_columns ? "n" : "c";
    int across = TILE / each, rounds = TILE * TILE / each / THREADS;
    line(w, "k_pack<k_f32, %d> all[%d];", each, rounds);
    for (int pass = 0; pass < 2; pass++) {
        open_chained_loop(w, "u", rounds);
        line(w, "const int at = u * %d + (int)threadIdx.x;", THREADS);
        line(w, "const k_idx %s = %s0 + at %% %d * %d, %s = %s0 + at / %d;", along, along, across,
             each, down, down, across);
        if (pass) {
            open_chained_loop(w, "e", each);
            line(w, "tile[n - n0%s][c - c0%s] = k_as_float(k_tf32_bits(k_get(all[u], e)));",
                 by_columns ? "" : " + e", by_columns ? " + e" : "");
            close_brace(w);
        } else {
            line(w, "all[u] = {};");
            open_brace(w, "if (c < nc && n < nn)");
            for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
            if (each > 1) {
                line(w, "all[u] = k_load<k_f32, %d>(p%d + (%s));", each, argument_of(w, x->buffer),
                     ex_text(w, x->index));
            } else {
                line(w, "const float x[1] = {%s};", put_expression(w, f->value));
                line(w, "k_put(all[u], x);");
            }
            close_brace(w);
        }
        close_brace(w);
    }
}

void emit_cuda_turned(struct emitter *w, const struct factor *f) {
    const struct kernel *k = w->k;
    const struct value_node *x = &k->values.at[f->value];
    while (x->kind == INST_CAST) x = &k->values.at[x->args[0]];
    bool by_columns = load_stride(k, x, AXIS_C) == 1;
    bool vectors = !x->guarded && load_is_vector(k, x, by_columns ? AXIS_C : AXIS_N, QUAD);
    long long rows = kernel_size(k, AXIS_C), across = tile_count(rows, TILE),
              along = tile_count(kernel_size(k, AXIS_N), TILE);
    const char *name = arena_printf(w->arena, "%s_turned_%c", k->entry, chained_factor_name(w, f));
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){
        .entry = name, .grid = {across * along * kernel_size(k, AXIS_Z), 1, 1}, .threads = THREADS};
    add_arguments(w, l);
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] =
        (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = (int64_t)w->p->images + f->image};
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, name);
    put_parameters(w);
    buf_puts(&w->b, ", k_f32 *__restrict__ image) {\n");
    w->indent++;
    line(w, "__shared__ float tile[%d][%d];", TILE, TILE + 1);
    line(w, "k_enter();");
    line(w, "const k_idx nn = %s, nc = %s;", ex_text(w, k->bound[AXIS_N]),
         ex_text(w, k->bound[AXIS_C]));
    line(w, "const k_idx c0 = blockIdx.x %% %lld * %d, n0 = blockIdx.x / %lld %% %lld * %d;",
         across, TILE, across, along, TILE);
    line(w, "const k_idx z = blockIdx.x / %lld;", across * along);
    put_loads(w, f, x, by_columns, vectors ? QUAD : 1);
    line(w, "__syncthreads();");
    open_chained_loop(w, "u", TILE * TILE / QUAD / THREADS);
    line(w, "const int at = u * %d + (int)threadIdx.x, quad = at %% %d, line = at / %d;", THREADS,
         TILE / QUAD, TILE / QUAD);
    line(w, "float x[%d];", QUAD);
    open_chained_loop(w, "e", QUAD);
    line(w, "x[e] = tile[quad / 2 * 8 + quad %% 2 + e * 2][line];");
    close_brace(w);
    line(w, "k_pack<k_f32, %d> w;", QUAD);
    line(w, "k_put(w, x);");
    line(w, "if (n0 + quad * %d < %lld && c0 + line < nc)", QUAD, (long long)f->pitch);
    line(
        w,
        "    k_store<k_f32, %d, 0>(image + ((z * %lldLL + c0 + line) * %lld + n0 + quad * %d), w);",
        QUAD, rows, (long long)f->pitch, QUAD);
    close_brace(w);
    close_brace(w);
}
