/* cuda_tcgen05.c: products whose sums lie in tensor memory, in CUDA C++ on sm_100a: one thread of
 * the warps beside the one that copies issues them, warps read what they come to.
 *
 *     role 96       else if (threadIdx.x < 128) { if (threadIdx.x == 32) {
 *     wait read         k_mbar_wait_block(read + set * 8, set_phase ^ 1), k_tensor_fence_after();
 *     dot               for (int i = 0; i < 4; i++)
 *                           k_tensor_multiply<0>(sums_at, k_operand_on(of_a, at + i * 2), ...);
 *     release           k_tensor_commit(empty + s * 8);
 *     offer             k_tensor_commit(offered + set * 8), next set
 *
 *     role 256      else {
 *     read              k_mbar_wait_block(offered + set * 8, set_phase), k_tensor_fence_after();
 *                       k_read_sums(sums, tensor + ...);
 *                       k_tensor_fence_before(), arrive at read + set * 8, next set
 *
 * Where sums are: of an instruction of 128 rows row r is in lane r; of 64 it is in lane
 * r / 16 * 32 + r % 16; column c is in column c (CUTLASS, tmem_frg in
 * include/cute/atom/mma_traits_sm100_frag.hpp). Warp w of a warpgroup reads lanes 32 w to
 * 32 w + 31. tcgen05.ld.16x256b gives its threads of 16 lanes and 8 columns what wgmma's and
 * mma.sync's threads have of sums: rows lane / 4 and 8 on, two neighbours of columns 2 (lane % 4)
 * (SM100_TMEM_LOAD_16dp256b1x in include/cute/atom/copy_traits_sm100.hpp), so that epilogues are
 * the same. Loads of 32 lanes, a row of each thread, have more throughput, CUTLASS says
 * (include/cutlass/epilogue/collective/builders/sm100_builder.inl): nobody has measured it here. */
#include "emit/cuda_mma.h"

enum { WARPGROUP = 128, ROWS = 64, BARRIER = 8 };

static const struct tile_ring *ring(const struct tile_program *t, int i) { return &t->ring[i]; }

/* A product of pairs has one in bf16 beside it. */
static const char *reading_name(const struct tile_program *t) {
    return t->product->pairs ? "k_read_pairs" : "k_read_sums";
}

static bool of_integers(const struct tile_program *t) {
    return !dtype_is_float(t->product->a.dtype);
}

/* The PTX of a load of so many eights of columns of 16 lanes: "tcgen05.ld ... {%0, ...}, [%64];" */
static void put_load(struct emitter *w, int eights, int first, int address) {
    line(w, "        \" tcgen05.ld.sync.aligned.16x256b.x%d.b32 {\"", eights);
    for (int i = 0; i < 4 * eights; i += 8) {
        struct buf text = buf_new(w->arena);
        for (int j = i; j < i + 8 && j < 4 * eights; j++)
            buf_printf(&text, "%%%d%s", first + j, j + 1 < 4 * eights ? ", " : "");
        line(w, "        \"%s\"", text.p);
    }
    line(w, "        \"}, [%%%d];\"", address);
}

/* The most eights of columns, a power of two, that one load brings of so many. */
static int load_eights(int eights) {
    int n = 32;
    while (n > eights) n /= 2;
    return n;
}

/* One for its number of sums: PTX names each register. They are there behind the wait. */
void put_tensor_reading(struct emitter *w, const struct tile_program *t) {
    const struct product *p = t->product;
    int sums = product_thread_sums(p), octets = p->warp_columns / 8, n = 0, at[16];
    const char *type = sum_type(t);
    line(w, "K_DEVICE void %s(%s (&d)[%d], unsigned at) {", reading_name(t), type, sums);
    line(w, "#ifdef WS_EMULATOR");
    for (int f = 0; f < p->warp_rows / 16; f++)
        for (int g = 0; g < octets; g += load_eights(octets - g), n++) {
            at[n] = f << 20 | g * 8;
            line(w, "    emu_tensor_load(d + %d, %d, at + %d);", (f * octets + g) * 4,
                 load_eights(octets - g), at[n]);
        }
    line(w, "    emu_tensor_wait();");
    line(w, "#else");
    line(w, "    asm volatile(");
    n = 0;
    for (int f = 0; f < p->warp_rows / 16; f++)
        for (int g = 0; g < octets; g += load_eights(octets - g))
            put_load(w, load_eights(octets - g), (f * octets + g) * 4, sums + n++);
    line(w, "        \" tcgen05.wait::ld.sync.aligned;\"");
    for (int i = 0; i < sums; i += 8) {
        struct buf text = buf_new(w->arena);
        for (int j = i; j < i + 8 && j < sums; j++)
            buf_printf(&text, "\"=%c\"(d[%d])%s", of_integers(t) ? 'r' : 'f', j,
                       j + 1 < sums ? ", " : "");
        line(w, "        %s %s", i ? " " : ":", text.p);
    }
    struct buf text = buf_new(w->arena);
    for (int i = 0; i < n; i++) buf_printf(&text, "%s\"r\"(at + %d)", i ? ", " : "", at[i]);
    line(w, "        : %s", text.p);
    line(w, "        : \"memory\");");
    line(w, "#endif");
    line(w, "}");
}

/* ---- the block's tensor memory --------------------------------------------------------------- */

/* Behind the stages' barriers: those of the sums, and where these lie. */
void put_tensor_barriers(struct emitter *w, const struct tile_program *t) {
    bool crosses = product_crosses_in_tensor(t->product);
    int sets = t->product->sums_at_once, warps = t->product->group_threads / w->k->limits->warp;
    line(w, "const k_shared offered = empty + %d, read = offered + %d;", tile_stages(t) * BARRIER,
         (sets + crosses) * BARRIER);
    line(w, "const k_shared tensor_at = read + %d;", (sets + crosses) * BARRIER);
    open_brace(w, "if (threadIdx.x == 0)");
    line(w, "unsigned long long *const of_sums = bars + %d;", 2 * tile_stages(t));
    line(w,
         "for (int i = 0; i < %d; i++) k_mbar_init(of_sums + i, 1), k_mbar_init(of_sums + %d + i, "
         "%d);",
         sets + crosses, sets + crosses, warps);
    line(w, "k_fence_mbar_init();");
    close_brace(w);
}

/* Behind where a block may end without it. */
void put_tensor_place(struct emitter *w, const struct tile_program *t) {
    line(w, "if (threadIdx.x / %d == 1) k_tensor_make<%d>(tensor_at);", w->k->limits->warp,
         t->product->tensor_columns);
    line(w, "k_tensor_fence_before();");
    line(w, "__syncthreads();");
    line(w, "k_tensor_fence_after();");
    line(w, "const unsigned tensor = k_load_shared(tensor_at);");
}

void put_tensor_end(struct emitter *w, const struct tile_program *t) {
    line(w, "k_tensor_fence_before();");
    line(w, w->y->cluster > 1 ? "k_cluster_sync();" : "__syncthreads();");
    open_brace(w, "if (threadIdx.x / %d == 1)", w->k->limits->warp);
    line(w, "k_tensor_fence_after();");
    line(w, "k_tensor_free<%d>(tensor);", t->product->tensor_columns);
    close_brace(w);
}

/* ---- roles ----------------------------------------------------------------------------------- */

static void put_operands(struct emitter *w, const struct tile_program *t) {
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = ring(t, i);
        int lead = r->operand->along ? r->depth * r->line : 16;
        line(w, "const unsigned long long of_%c = k_tensor_operand<%d>(stages + %d, %d, %d);",
             'a' + i, r->line, r->offset, lead, 8 * r->line);
    }
}

void put_tensor_role(struct emitter *w, const struct tile_program *t, bool issues) {
    const struct product *p = t->product;
    int warp = w->k->limits->warp;
    if (issues) {
        put_operands(w, t);
    } else {
        line(w, "const int group = 0;");
        line(w, "const int tid = (int)threadIdx.x - %d;", t->copiers + t->issuers);
        /* As a warp's number, so that the compiler keeps it in a uniform register. */
        line(w, "const int of_group = __shfl_sync(0xffffffffu, tid / %d, 0);", warp);
        line(w, "const unsigned of_warp = tensor + (of_group %% 4 << 21) + of_group / 4 * %d;",
             p->warp_columns);
    }
    line(w, "int set = 0;");
    line(w, "unsigned set_phase = 0;");
    if (product_crosses_in_tensor(p)) line(w, "unsigned crossed_phase = 0;");
}

/* What an instruction is told: see k_tensor_make. */
static unsigned instruction_of(const struct tile_program *t) {
    enum { F32 = 1, S32 = 2 };
    const struct operand *a = &t->product->a, *b = &t->product->b;
    const struct operand *const of[] = {a, b};
    unsigned what = (of_integers(t) ? S32 : F32) << 4;
    for (int i = 0; i < 2; i++) {
        enum dtype x = of[i]->dtype;
        unsigned format = x == DT_F32 ? 2 : x == DT_BF16 || x == DT_I8 || x == DT_F8E5M2;
        what |= format << (7 + 3 * i) | (unsigned)of[i]->along << (15 + i);
    }
    return what | (unsigned)ring(t, TILE_B)->rows / 8 << 17 |
           (unsigned)ring(t, TILE_A)->rows / 16 << 24;
}

static int instruction_kind(const struct tile_program *t) {
    enum { SIXTEEN_BITS, TF32, BYTES, FLOAT8 };
    enum dtype x = t->product->a.dtype;
    if (dtype_is_float8(x)) return FLOAT8;
    return of_integers(t) ? BYTES : x == DT_F32 ? TF32 : SIXTEEN_BITS;
}

static void put_products(struct emitter *w, const struct tile_program *t, int depth, bool fresh) {
    const struct product *p = t->product;
    bool begun[2] = {false, false}; /* sums, crossed ones */
    for (int i = 0; i < p->n_passes; i++) {
        bool crossed = p->pass[i].crossed;
        int columns = ring(t, TILE_B)->rows;
        const char *first = fresh ? "i" : "step | i";
        if (crossed) first = arena_printf(w->arena, "step %% %d | i", CROSS_STEPS);
        line(w, "#pragma unroll");
        open_brace(w, "for (int i = 0; i < %d; i++)", depth / instruction_depth(&p->a));
        line(w, "k_tensor_multiply<%d>(tensor + %s, %s, %s, 0x%x, %s);", instruction_kind(t),
             crossed ? arena_printf(w->arena, "%d", p->sums_at_once * columns)
                     : arena_printf(w->arena, "set * %d", columns),
             operand_of(w, ring(t, TILE_A), p->pass[i].a),
             operand_of(w, ring(t, TILE_B), p->pass[i].b), instruction_of(t),
             begun[crossed] ? "1" : first);
        close_brace(w);
        begun[crossed] = true;
    }
}

void put_tensor_dot(struct emitter *w, const struct tile_program *t, bool fresh) {
    const struct tile_ring *kept = tile_staying(t);
    const struct short_steps *shorts = &t->product->shorts;
    int depth = ring(t, TILE_A)->depth;
    line(w, "const unsigned at = (unsigned)s * %d;", moving_ring(t)->stage / 16);
    if (kept) line(w, "const unsigned at_step = (unsigned)step * %d;", kept->stage / 16);
    put_whole_step(w, t);
    if (!tile_has_both_steps(t)) {
        put_products(w, t, shorts->every ? shorts->depth : depth, fresh);
        return;
    }
    open_brace(w, "if (whole)");
    put_products(w, t, depth, fresh);
    close_brace(w);
    open_brace(w, "else");
    put_products(w, t, shorts->depth, fresh);
    close_brace(w);
}

static void put_next_set(struct emitter *w, const struct tile_program *t) {
    if (t->product->sums_at_once > 1)
        line(w, "if (++set == %d) set = 0, set_phase ^= 1;", t->product->sums_at_once);
    else
        line(w, "set_phase ^= 1;");
}

static void put_read(struct emitter *w, const struct tile_program *t) {
    line(w, "k_mbar_wait_block(offered + set * %d, set_phase);", BARRIER);
    line(w, "k_tensor_fence_after();");
    bool none = t->product->bounded && !t->product->promotes; /* there may be no steps */
    if (none) line(w, "if (!steps) k_zero(sums);");
    line(w, "%s%s(sums, of_warp + set * %d);", none ? "else " : "", reading_name(t),
         ring(t, TILE_B)->rows);
    line(w, "k_tensor_fence_before();");
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(read + set * %d);", w->k->limits->warp, BARRIER);
    put_next_set(w, t);
}

/* Those of crossed sums are behind the others: barriers, columns. */
void open_tensor_cross(struct emitter *w, const struct tile_program *t, int steps) {
    int sets = t->product->sums_at_once;
    open_brace(w, "if (step %% %d == %d || step + 1 == steps)", steps, steps - 1);
    line(w, "k_mbar_wait_block(offered + %d, crossed_phase);", sets * BARRIER);
    line(w, "k_tensor_fence_after();");
    line(w, "%s(sums, of_warp + %d);", reading_name(t), sets * ring(t, TILE_B)->rows);
    line(w, "k_tensor_fence_before();");
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(read + %d);", w->k->limits->warp, sets * BARRIER);
    line(w, "crossed_phase ^= 1;");
}

static void put_wait_crossed(struct emitter *w, const struct tile_program *t, int steps) {
    open_brace(w, "if (step %% %d == 0)", steps);
    line(w, "k_mbar_wait_block(read + %d, crossed_phase ^ 1);", t->product->sums_at_once * BARRIER);
    line(w, "k_tensor_fence_after();");
    line(w, "crossed_phase ^= 1;");
    close_brace(w);
}

void put_tensor_inst(struct emitter *w, const struct tile_program *t, const struct tile_inst *x) {
    int blocks = w->y->cluster;
    enum tile_op op = x->op;
    if (op == TILE_WAIT_READ || op == TILE_WAIT_FULL) {
        if (op == TILE_WAIT_READ)
            line(w, "k_mbar_wait_block(read + set * %d, set_phase ^ 1);", BARRIER);
        else
            line(w, "k_mbar_wait_block(full + s * %d, phase);", BARRIER);
        line(w, "k_tensor_fence_after();");
    } else if (op == TILE_WAIT_CROSSED) {
        put_wait_crossed(w, t, x->n);
    } else if (op == TILE_OFFER_CROSSED) {
        line(w, "if (step %% %d == %d || step + 1 == steps) k_tensor_commit(offered + %d);", x->n,
             x->n - 1, t->product->sums_at_once * BARRIER);
    } else if (op == TILE_RELEASE && blocks > 1) {
        line(w, "k_tensor_commit_to(empty + s * %d, %d);", BARRIER, (1 << blocks) - 1);
    } else if (op == TILE_RELEASE) {
        line(w, "k_tensor_commit(empty + s * %d);", BARRIER);
    } else if (op == TILE_OFFER) {
        line(w, "k_tensor_commit(offered + set * %d);", BARRIER);
        put_next_set(w, t);
    } else {
        put_read(w, t);
    }
}
