/* cuda_pack.c: the launch before a product on the matrix units that writes a factor's image into
 * the workspace, where the factor cannot be copied from as it lies in memory (kernel/matrix.c):
 *
 *     for (long long i = ...; i < 4194304; i += ...) {      eight neighbours each
 *         const k_idx c = i % 512 * 8, line = i / 512 % 4096, z = i / 2097152;
 *         float x[8];
 *         const k_pack<k_f32, 8> l0 = k_load<k_f32, 8>(p0 + (line * 4096 + c));
 *         for (int e = 0; e < 8; e++) x[e] = k_get(l0, e);
 *         k_store<k_bf16, 8, 0>(image + i * 8, k_plane(x));
 *     }
 *
 * Three planes hold an f32's 24 bits: what is left of x goes to the next plane. tf32 is rounded to.
 * What is beyond the factor's end is 0, and nobody reads it but tensor maps that count it in.
 *
 * Where the factor runs across the image, neighbouring threads have neighbouring lines: they read
 * what lies together, and each writes 32 bytes of its line. */
#include "emit/cuda_mma.h"

enum { EACH = 8, THREADS = 256 };

/* A vector of the load's, for eight neighbours along the image's lines. */
static bool by_vector(struct emitter *w, const struct operand *o, const struct value_node *x) {
    return !x->guarded && load_is_vector(w->k, x, o->along ? o->axis : AXIS_R, EACH);
}

static void put_vectors(struct emitter *w, const struct operand *o, const bool *needed) {
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !by_vector(w, o, x)) continue;
        line(w, "const k_pack<%s, %d> l%u = k_load<%s, %d>(p%d + (%s));",
             memory_type(w, buffer_dtype(w, x->buffer)), EACH, v,
             memory_type(w, buffer_dtype(w, x->buffer)), EACH, argument_of(w, x->buffer),
             ex_text(w, x->index));
    }
}

static void put_element(struct emitter *w, const struct operand *o, const bool *needed) {
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v]) continue;
        if (x->kind != INST_LOAD || !by_vector(w, o, x)) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = k_get(l%u, e);", math_type(x->dtype), v, v);
        w->where[v] = LOCAL;
    }
    line(w, "x[e] = (float)%s;", ref(w, o->factor));
}

static void put_planes(struct emitter *w, const struct operand *o) {
    const char *t = memory_type(w, o->dtype);
    line(w, "k_pack<%s, %d> w;", t, EACH);
    if (o->dtype == DT_F32) {
        line(w, "#pragma unroll");
        line(w, "for (int e = 0; e < %d; e++) x[e] = k_as_float(k_tf32_bits(x[e]));", EACH);
    }
    for (int p = 0; p < o->planes; p++) {
        if (o->planes == 1)
            line(w, "k_put(w, x);");
        else
            line(w, "k_split<%s>(w, x);", p ? "false" : "true");
        line(w, "k_store<%s, %d, 0>(image + (%s * %d + %lldLL), w);", t, EACH,
             o->across ? "to" : "i", EACH, (long long)o->plane * p);
    }
}

void emit_cuda_pack(struct emitter *w, const struct operand *o, int64_t image, const char *name) {
    const struct kernel *k = w->k;
    int64_t lines = o->along ? o->depth : o->rows, n = o->plane / EACH;
    int64_t width = o->along ? o->rows : o->depth, chunks = o->pitch / EACH;
    int64_t blocks = tile_count(n, THREADS), most = (int64_t)k->limits->units * 8;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){
        .entry = name, .grid = {blocks < most ? blocks : most, 1, 1}, .threads = THREADS};
    add_arguments(w, l);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = image};
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", THREADS, name);
    put_parameters(w);
    buf_printf(&w->b, ", %s *__restrict__ image) {\n", memory_type(w, o->dtype));
    w->indent++;
    line(w, "k_enter();");
    open_brace(w,
               "for (long long i = (long long)blockIdx.x * %d + threadIdx.x; i < %lldLL; i += "
               "(long long)gridDim.x * %d)",
               THREADS, (long long)n, THREADS);
    const char *row = o->axis == AXIS_M ? "m" : "n";
    if (o->across) {
        line(w, "const k_idx c = (k_idx)(i / %lld %% %lld) * %d, at = (k_idx)(i %% %lld);",
             (long long)lines, (long long)chunks, EACH, (long long)lines);
        line(w, "const long long to = (i / %lld * %lld + at) * %lld + c / %d;",
             (long long)(chunks * lines), (long long)lines, (long long)chunks, EACH);
    } else {
        line(w, "const k_idx c = (k_idx)(i %% %lld) * %d, at = (k_idx)(i / %lld %% %lld);",
             (long long)chunks, EACH, (long long)chunks, (long long)lines);
    }
    line(w, "const k_idx z = (k_idx)(i / %lldLL);", (long long)(chunks * lines));
    line(w, "(void)z;");
    line(w, "const k_idx %s = at;", o->along ? "r" : row);
    line(w, "float x[%d];", EACH);
    bool *needed = NEW_ARRAY(w->arena, bool, k->values.n);
    mark_needed(w, o->factor, needed);
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    open_scope(w);
    line(w, "const k_idx %s = c;", o->along ? row : "r");
    put_vectors(w, o, needed);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", EACH);
    line(w, "x[e] = 0;");
    bool whole = width % EACH == 0;
    if (!whole) open_brace(w, "if (c + e < %lld)", (long long)width);
    line(w, "const k_idx %s = c + e;", o->along ? row : "r");
    put_element(w, o, needed);
    if (!whole) close_brace(w);
    close_brace(w);
    close_brace(w);
    put_planes(w, o);
    close_brace(w);
    close_brace(w);
}
