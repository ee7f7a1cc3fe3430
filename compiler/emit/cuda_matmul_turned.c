/* cuda_matmul_turned.c: the launch before a product by multiply-adds that writes a factor whose
 * memory runs along the depth as an image [z][depth][row], in CUDA C++:
 *
 *     for (int u = 0; u < 16; u++) tile[u * 4 + tid / 64][tid % 64] = p0[...];   along the depth
 *     __syncthreads();
 *     for (int u = 0; u < 16; u++) image[(r0 + u * 4 + tid / 64) * pitch + m0 + tid % 64] = ...;
 *
 * Rows beyond the factor's last one, to the end of a line, are 0. */
#include "emit/cuda_matmul.h"

enum { THREADS = 256, TILE = 64 };

static const enum axis sides[] = {AXIS_M, AXIS_N};

static int64_t image_at(struct emitter *w, enum axis axis) {
    int64_t first = (int64_t)w->p->images;
    return axis == AXIS_N && is_turned(w->y, AXIS_M) ? first + turned_bytes(w->k, AXIS_M) : first;
}

static void add_image(struct emitter *w, struct ws_launch *l, enum axis axis) {
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = image_at(w, axis)};
}

/* The tile's elements of a thread: one of `along` of every fourth of the other side. */
static void open_elements(struct emitter *w, const char *along, const char *down) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", TILE * TILE / THREADS);
    line(w, "const int %s_of = tid %% %d, %s_of = u * %d + tid / %d;", along, TILE, down,
         THREADS / TILE, TILE);
    line(w, "const k_idx %s = %s0 + %s_of, %s = %s0 + %s_of;", along, along, along, down, down,
         down);
}

static void put_turned_factor(struct emitter *w, enum axis axis) {
    const struct kernel *k = w->k;
    const struct value_node *x = &k->values.at[axis == AXIS_M ? k->dot_a : k->dot_b];
    const char *s = axis == AXIS_M ? "m" : "n", *type = memory_type(w, x->dtype),
               *name = arena_printf(w->arena, "%s_turned_%c", k->entry, axis == AXIS_M ? 'a' : 'b');
    int64_t pitch = turned_pitch(k, axis), down = tile_count(pitch, TILE),
            along = tile_count(kernel_size(k, AXIS_R), TILE),
            batches = x->mask & MASK_Z ? kernel_size(k, AXIS_Z) : 1;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){
        .entry = name, .grid = {along * down * batches, 1, 1}, .threads = THREADS};
    add_arguments(w, l);
    add_image(w, l, axis);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, name);
    put_parameters(w);
    buf_printf(&w->b, ", %s *__restrict__ image) {\n", type);
    w->indent++;
    line(w, "__shared__ %s tile[%d][%d];", type, TILE, TILE + 1);
    line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x;");
    line(w, "const k_idx n%s = %s, nr = %s;", s, ex_text(w, k->bound[axis]),
         ex_text(w, k->bound[AXIS_R]));
    line(w, "const k_idx r0 = blockIdx.x %% %lld * %d, %s0 = blockIdx.x / %lld %% %lld * %d;",
         (long long)along, TILE, s, (long long)along, (long long)down, TILE);
    line(w, "const k_idx z = blockIdx.x / %lld;", (long long)(along * down));
    line(w, "(void)z;");
    open_elements(w, "r", s);
    line(w, "tile[%s_of][r_of] = 0;", s);
    line(w, "if (r < nr && %s < n%s) tile[%s_of][r_of] = p%d[%s];", s, s, s,
         argument_of(w, x->buffer), ex_text(w, x->index));
    close_brace(w);
    line(w, "__syncthreads();");
    open_elements(w, s, "r");
    line(w, "if (r < nr && %s < %lld) image[(z * nr + r) * %lld + %s] = tile[%s_of][r_of];", s,
         (long long)pitch, (long long)pitch, s, s);
    close_brace(w);
    close_brace(w);
}

void emit_cuda_turned_factors(struct emitter *w) {
    for (int i = 0; i < 2; i++)
        if (is_turned(w->y, sides[i])) put_turned_factor(w, sides[i]);
}

void put_turned_parameters(struct emitter *w, struct ws_launch *l) {
    for (int i = 0; i < 2; i++) {
        if (!is_turned(w->y, sides[i])) continue;
        add_image(w, l, sides[i]);
        buf_printf(&w->b, ", float *__restrict__ turned_%c", i ? 'b' : 'a');
    }
}
