/* cuda_wgmma.c: the products of warpgroups in CUDA C++ on sm_90a: the instruction, as a function
 * for its number of sums, its operands in shared memory, and a step's products:
 *
 *     dot          k_wgmma_hold(sums);
 *                  k_wgmma_begin();
 *                  for (int i = 0; i < 4; i++)
 *                      k_wgmma(sums, k_operand_on(of_a, at + i * 2), ..., step | i);
 *                  k_wgmma_commit();
 *                  k_wgmma_hold(sums); */
#include "emit/cuda_mma.h"

static const struct tile_ring *ring(const struct tile_program *t, int i) {
    struct tile_ring *r = NEW(t->arena, struct tile_ring);
    *r = ring_of_planes(&t->ring[i], t->arena);
    return r;
}

/* Elements of 32 bytes. */
int instruction_depth(const struct operand *o) { return 32 / dtype_bytes(o->dtype); }

/* A product of pairs has one in bf16 beside it. */
static const char *wgmma_name(const struct tile_program *t) {
    return t->product->pairs ? "k_wgmma_pairs" : "k_wgmma";
}

/* Is the left factor planes in registers, of one instruction's rows? Then a pass's instructions are
 * a statement. */
static bool goes_by_groups(const struct tile_program *t) {
    const struct product *of = t->product;
    return of->a.in_registers && !of->a.lying && !of->pairs && operand_makes_planes(&of->a) &&
           dtype_bytes(of->a.dtype) == 2 && product_thread_sums(of) == of->warp_columns / 2;
}

/* Of the steps that are as deep as they get. */
static int depth_of_whole(const struct tile_program *t) {
    const struct short_steps *shorts = &t->product->shorts;
    return shorts->every == 1 ? shorts->depth : t->ring[TILE_A].depth;
}

/* The sums as operands number 0 on, and in C++. */
static void put_wgmma_sums(struct emitter *w, int sums, bool names, const char *kind) {
    for (int i = 0; i < sums; i += 8) {
        struct buf text = buf_new(w->arena);
        for (int j = i; j < i + 8 && j < sums; j++) {
            const char *comma = j + 1 < sums ? ", " : "";
            if (names)
                buf_printf(&text, "\"+%s\"(d[%d])%s", kind, j, comma);
            else
                buf_printf(&text, "%%%d%s", j, comma);
        }
        if (names)
            line(w, "        %s %s", i ? " " : ":", text.p);
        else
            line(w, "        \"%s\"", text.p);
    }
}

/* So many instructions of planes that threads hold, each of which adds to what the one before
 * leaves: one statement, as a compiler takes its time for each that has all sums as operands. */
static void put_wgmma_group(struct emitter *w, const struct wgmma *x, int count) {
    int sums = x->columns / 2, b = sums + 4 * count, add = b + count;
    struct buf a_text = buf_new(w->arena), b_text = buf_new(w->arena);
    line(w,
         "K_DEVICE void %s(%s (&d)[%d], const unsigned (*a)[4], "
         "const unsigned long long (&b)[%d], int add) {",
         x->name, x->type, sums, count);
    line(w, "#ifdef WS_EMULATOR");
    line(w, "    for (int i = 0; i < %d; i++) %s(d, a[i], b[i], i ? 1 : add);", count, x->name);
    line(w, "#else");
    line(w, "    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %%%d, 0;\"", add);
    for (int i = 0; i < count; i++) {
        int a = sums + 4 * i;
        line(w, "        \" wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s {\"", x->columns,
             32 / dtype_bytes(x->a), unit_type(x->a), unit_type(x->b));
        put_wgmma_sums(w, sums, false, NULL);
        line(w, "        \"}, {%%%d, %%%d, %%%d, %%%d}, %%%d, %s, 1, 1, %d;\"", a, a + 1, a + 2,
             a + 3, b + i, i ? "1" : "p", x->along_b);
        buf_printf(&a_text, "\"r\"(a[%d][0]), \"r\"(a[%d][1]), \"r\"(a[%d][2]), \"r\"(a[%d][3]), ",
                   i, i, i, i);
        buf_printf(&b_text, "\"l\"(b[%d]), ", i);
    }
    line(w, "        \" }\"");
    put_wgmma_sums(w, sums, true, "f");
    line(w, "        : %s%s\"r\"(add));", a_text.p, b_text.p);
    line(w, "#endif");
    line(w, "}");
}

void put_wgmma_instruction(struct emitter *w, const struct wgmma *x) {
    int n = x->columns, sums = n / 2;
    bool whole = !dtype_is_float(x->a), held = x->held;
    line(w, "K_DEVICE void %s(%s (&d)[%d], %s, unsigned long long b, int add) {", x->name, x->type,
         sums, held ? "const unsigned (&a)[4]" : "unsigned long long a");
    line(w, "#ifdef WS_EMULATOR");
    line(w, "    emu_wgmma(%sd, %d, %d, %s, b, %d, %d, add);", whole ? "(float *)" : "", n,
         unit_number(x->a, x->b), held ? "a, 0" : "nullptr, a", x->along_a && !held, x->along_b);
    line(w, "#else");
    line(w, "    asm volatile(\"{ .reg .pred p; setp.ne.b32 p, %%%d, 0;\"", sums + (held ? 5 : 2));
    line(w, "        \" wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s {\"", n,
         32 / dtype_bytes(x->a), whole ? "s32" : "f32", unit_type(x->a), unit_type(x->b));
    put_wgmma_sums(w, sums, false, NULL);
    /* Signs of factors; lines along the rows, in shared memory: where there are such. */
    const char *how = whole ? "" : ", 1, 1";
    if (dtype_bytes(x->a) == 2)
        how = held ? arena_printf(w->arena, ", 1, 1, %d", x->along_b)
                   : arena_printf(w->arena, ", 1, 1, %d, %d", x->along_a, x->along_b);
    if (held)
        line(w, "        \"}, {%%%d, %%%d, %%%d, %%%d}, %%%d, p%s; }\"", sums, sums + 1, sums + 2,
             sums + 3, sums + 4, how);
    else
        line(w, "        \"}, %%%d, %%%d, p%s; }\"", sums, sums + 1, how);
    put_wgmma_sums(w, sums, true, whole ? "r" : "f");
    line(w, "        : %s, \"l\"(b), \"r\"(add));",
         held ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)");
    line(w, "#endif");
    line(w, "}");
}

/* One for its number of sums: PTX names each register. */
void put_wgmma(struct emitter *w, const struct tile_program *t) {
    const struct operand *a = &t->product->a, *b = &t->product->b;
    struct wgmma x = {.name = wgmma_name(t),
                      .type = sum_type(t),
                      .columns = ring(t, TILE_B)->rows,
                      .a = a->dtype,
                      .b = b->dtype,
                      .held = a->in_registers,
                      .along_a = a->along,
                      .along_b = b->along};
    put_wgmma_instruction(w, &x);
    if (!goes_by_groups(t)) return;
    int counts[] = {depth_of_whole(t) / instruction_depth(a),
                    tile_has_both_steps(t) ? t->product->shorts.depth / instruction_depth(a) : 0};
    for (int i = 0; i < 2; i++)
        if (counts[i] > 1 && (!i || counts[1] != counts[0])) put_wgmma_group(w, &x, counts[i]);
}

/* The rows of the warpgroup: so far behind those of the one before. */
static int group_bytes(const struct tile_ring *r) {
    return r->operand->along ? 64 / ring_line_elements(r) * r->depth * r->line : 64 * r->line;
}

/* How a left factor lies that threads read: along the rows, or, of f32 alone, along the depth. */
static const char *left_kind(const struct tile_ring *r) {
    return r->operand->along ? "true" : "false";
}

/* Before the first tile: the operands of the first stage. */
void put_wgmma_operands(struct emitter *w, const struct tile_program *t) {
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = ring(t, i);
        int lead = r->operand->along ? r->depth * r->line : 16;
        if (r->operand->lying) {
            line(w, "const int of_lane = group * 64 + tid / 32 * 16 + tid %% 32 / 4;");
            line(w, "const k_shared of_a = stages + (%d + (tid %% 4 * %d + of_lane) * 4);",
                 r->offset, operand_lying_pitch(r->rows));
            continue;
        }
        if (r->operand->in_registers) {
            line(w, "const k_shared of_a = k_left_of_lane<%s>(stages + (%d + group * %d), %d);",
                 left_kind(r), r->offset, group_bytes(r), ring_box_lines(r) * r->line);
            continue;
        }
        line(w, "const unsigned long long of_%c = k_operand<%d>(stages + (%d%s), %d, %d);", 'a' + i,
             r->line, r->offset,
             i == TILE_A ? arena_printf(w->arena, " + group * %d", group_bytes(r)) : "", lead,
             8 * r->line);
    }
}

/* A wgmma's operand, of a plane: 32 bytes of a box's lines, or of lines along the rows 16 lines, of
 * the depth from number i on. */
const char *operand_of(struct emitter *w, const struct tile_ring *r, int plane) {
    int step = r->operand->along ? 16 * r->line : 32, in_line = r->line / 32;
    char x = ring_letter(r);
    const char *at = r->operand->stays ? "at_step" : "at";
    if (!r->operand->along && ring_boxes(r) > 1)
        return arena_printf(
            w->arena, "k_operand_on(of_%c, %s + (%d + i / %d * %d + i %% %d * %d) / 16)", x, at,
            plane * r->bytes, in_line, ring_box_lines(r) * r->line, in_line, step);
    return arena_printf(w->arena, "k_operand_on(of_%c, %s + (%d + i * %d) / 16)", x, at,
                        plane * (r->operand->paired ? r->line / r->planes : r->bytes), step);
}

static void put_grouped_pass(struct emitter *w, const struct tile_program *t, int pass, int count,
                             const char *first) {
    const struct product *of = t->product;
    open_scope(w);
    if (strchr(first, 'i')) line(w, "const int i = 0;");
    line(w, "unsigned long long right[%d];", count);
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) right[i] = %s;", count,
         operand_of(w, ring(t, TILE_B), of->pass[pass].b));
    line(w, "%s(%s, left[%d], right, %s);", wgmma_name(t),
         of->pass[pass].crossed ? "crossed" : "sums", of->pass[pass].a, first);
    close_brace(w);
}

/* Products of two planes, of all the rows that the warpgroup has, instructions from number `from`
 * on; first: a text that is 0 where the sums begin. */
static void put_pass(struct emitter *w, const struct tile_program *t, int pass, int from, int end,
                     const char *first) {
    const struct product *of = t->product;
    const char *sums = of->pass[pass].crossed ? "crossed" : "sums",
               *left = of->a.in_registers ? arena_printf(w->arena, "left[%d][i]", of->pass[pass].a)
                                          : operand_of(w, ring(t, TILE_A), of->pass[pass].a),
               *right = operand_of(w, ring(t, TILE_B), of->pass[pass].b);
    int each = of->warp_columns / 2, instructions = product_thread_sums(of) / each;
    if (goes_by_groups(t) && !from && end > 1) {
        put_grouped_pass(w, t, pass, end, first);
        return;
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = %d; i < %d; i++)", from, end);
    for (int f = 0; f < instructions; f++) {
        const char *rows = left;
        if (f)
            rows = arena_printf(w->arena, "k_operand_on(%s, %d)", left,
                                f * group_bytes(ring(t, TILE_A)) / 16);
        if (instructions > 1)
            sums = arena_printf(w->arena, "*(%s(*)[%d])(sums + %d)", sum_type(t), each, f * each);
        line(w, "%s(%s, %s, %s, %s);", wgmma_name(t), sums, rows, right, first);
    }
    close_brace(w);
}

/* Tiles of f32 become their planes where they lie: of each, all who multiply have a part. */
void put_split(struct emitter *w, const struct tile_program *t) {
    enum { EACH = 8, BARRIER = 8, WARPGROUP = 128 };
    int threads = t->product->warpgroups * WARPGROUP;
    line(w, "const int splitter = group * %d + tid;", WARPGROUP);
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = &t->ring[i];
        bool along = r->operand->along;
        if (!r->operand->splits) continue;
        line(w,
             "k_split_in_place<%d, %d, %d, %s>(stages + (%d + s * %d), splitter, scale_%c, odd);",
             along ? r->depth : r->rows, (along ? r->rows : r->depth) / EACH, threads,
             along ? "true" : "false", r->offset, r->stage, ring_letter(r));
    }
    line(w, "k_fence_async_shared();");
    line(w, "k_barrier_sync(%d, %d);", BARRIER, threads);
}

/* Groups of instructions by turns: of first planes, whose sums begin anew every promote_pairs
 * of the depth, and crossed ones, which keep the units busy while those are added to the total. */
static void put_dot_of_pairs(struct emitter *w, const struct tile_program *t, int depth) {
    const struct product *of = t->product;
    int unit = instruction_depth(ring(t, TILE_A)->operand), all = depth / unit,
        each = of->promote_pairs / unit;
    for (int from = 0; from < all; from += each) {
        int end = from + each < all ? from + each : all;
        if (from) {
            line(w, "k_wgmma_wait<1>();");
            line(w, "k_wgmma_hold(sums);");
            put_add(w, t);
        }
        line(w, "k_wgmma_hold(sums);");
        line(w, "k_wgmma_begin();");
        for (int p = 0; p < of->n_passes; p++)
            if (!of->pass[p].crossed)
                put_pass(w, t, p, from, end, arena_printf(w->arena, "i - %d", from));
        line(w, "k_wgmma_commit();");
        for (int p = 0; p < of->n_passes; p++)
            if (of->pass[p].crossed)
                put_pass(w, t, p, from, end,
                         p ? "1" : arena_printf(w->arena, "step %% %d | i", CROSS_STEPS));
        line(w, "k_wgmma_commit();");
    }
    line(w, "k_wgmma_hold(sums);");
}

/* Where along dimension d the two rows of a thread are, whose windows an edge cuts off. */
void put_lying_rows(struct emitter *w, const struct tile_program *t) {
    const struct operand *o = &t->product->a;
    for (int d = 0; o->lying && d < o->order->n; d++) {
        if (!operand_has_edge(o, d)) continue;
        const char *text[2];
        for (int i = 0; i < 2; i++)
            text[i] = arena_printf(w->arena, "(m0 + of_lane + %d) %% %lld / %lld %% %lld", i * 8,
                                   (long long)o->positions, (long long)o->step[d],
                                   (long long)o->padded[d]);
        line(w, "const int row_at%d[2] = {%s, %s};", d, text[0], text[1]);
    }
}

/* Is what tap number `tap` of the step reads inside of the image's inner dimensions, for each of a
 * thread's two rows? All bits, or none. False: it always is. */
static bool put_inside_of_lying(struct emitter *w, const struct operand *o, const char *tap) {
    const struct im2col *of = o->order;
    struct buf text[2] = {buf_new(w->arena), buf_new(w->arena)};
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < of->n; d++)
            if (operand_has_edge(o, d))
                buf_printf(&text[i], "%s(unsigned)(row_at%d[%d] + %s + %lld) < %lldu",
                           text[i].n ? " & " : "", d, i, tap_digit_text(w, of, d, tap),
                           (long long)of->dim[d].first, (long long)of->dim[d].size);
    if (!text[0].n) return false;
    line(w, "const unsigned inside[2] = {0u - (%s), 0u - (%s)};", text[0].p, text[1].p);
    return true;
}

/* Slot number `slot` of the step has been read: of tf32 it is half of an instruction's left factor,
 * of f32 two are half of the planes of one. */
static void put_slot(struct emitter *w, const struct operand *o, int slot) {
    if (o->planes == 1) {
        for (int h = 0; h < 2; h++)
            line(w, "left[0][%d][%d] = lain[%d][%d];", slot / 2, slot % 2 * 2 + h, slot, h);
        return;
    }
    for (int h = 0; h < 2 && slot % 2; h++)
        line(w, "k_planes_of_lying(left, %d, %d, lain[%d][%d], lain[%d][%d]);", slot / 4,
             slot % 4 / 2 * 2 + h, slot - 1, h, slot, h);
}

/* Tap by tap: what one reads comes to registers while the one before is multiplied, but for planes,
 * whose small products come first. A slot of an instruction's depth is LYING_SLOT channels of a
 * tap, one for each of four neighbouring lanes. */
static void put_dot_of_lying(struct emitter *w, const struct tile_program *t, bool fresh) {
    const struct tile_ring *a = ring(t, TILE_A);
    const struct operand *o = a->operand;
    int each = instruction_depth(o) / LYING_SLOT, of_tap = o->step_channels / LYING_SLOT,
        slots = o->step_taps * of_tap, all = (slots + each - 1) / each, done = 0,
        lines = operand_lines_of_taps(o), of_line = o->step_taps / lines,
        bytes = dtype_bytes(o->stored), pitch = operand_lying_pitch(a->rows) * bytes;
    put_lying_step(w, t);
    line(w, "unsigned left[%d][%d][4], lain[%d][2];", o->planes, all, all * each);
    for (int i = slots; i < all * each; i++) line(w, "lain[%d][0] = lain[%d][1] = 0;", i, i);
    for (int l = 0; l < lines; l++)
        line(w, "const k_shared of_line%d = of_a + (s * %d + (further%d & %d) * %d);", l, a->stage,
             l, LYING_UNIT - 1, bytes);
    line(w, "k_wgmma_hold(sums);");
    for (int i = 0; i < o->step_taps; i++) {
        open_scope(w);
        const char *tap = i ? arena_printf(w->arena, "(tap + %d)", i) : "tap";
        bool edges = put_inside_of_lying(w, o, tap), last = i + 1 == o->step_taps;
        if (!edges) line(w, "const unsigned inside[2] = {0, 0};");
        for (int j = 0; j < of_tap; j++)
            line(w, "k_left_of_lying<%s>(lain[%d], of_line%d + %d, inside);",
                 edges ? "true" : "false", i * of_tap + j, i / of_line,
                 (i / of_line * of_tap + j) * LYING_SLOT * pitch +
                     i % of_line * (int)o->order->dim[0].apart * bytes);
        close_brace(w);
        for (int j = i * of_tap; j < (last ? all * each : (i + 1) * of_tap); j++) put_slot(w, o, j);
        int to = last ? all : (i + 1) * of_tap / each;
        if (to == done || (o->planes > 1 && !last)) continue;
        line(w, "k_wgmma_begin();");
        for (int p = 0; p < t->product->n_passes; p++)
            put_pass(w, t, p, done, to, p ? "1" : fresh ? "i" : "step | i");
        line(w, "k_wgmma_commit();");
        done = to;
    }
    line(w, "k_wgmma_hold(sums);");
}

/* Registers of a left factor's instructions for so much depth; planes are made for two of them. */
static int left_registers(const struct tile_program *t, int depth) {
    const struct operand *o = &t->product->a;
    int n = depth / instruction_depth(o);
    return operand_makes_planes(o) ? n + n % 2 : n;
}

/* What a thread has of the left factor, for so much of the step's depth. */
static void put_left(struct emitter *w, const struct tile_program *t, int depth) {
    const struct tile_ring *a = ring(t, TILE_A);
    const char *stage = a->operand->stays ? "step" : "s";
    line(w, "unsigned left[%d][%d][4];", a->operand->planes, left_registers(t, depth));
    if (operand_makes_planes(a->operand))
        line(w, "k_left_planes_of_lane<%s, %d>(left, of_a + %s * %d);", left_kind(a),
             ring_box_lines(a) * a->line, stage, a->stage);
    else
        line(w, "k_left_across(left[0], of_a + %s * %d);", stage, a->stage);
}

/* The products of so much of the step's depth: a group of instructions. shared: the left factor's
 * registers are there. */
static void put_dot_of_depth(struct emitter *w, const struct tile_program *t, int depth, bool fresh,
                             bool shared) {
    if (t->product->pairs) {
        put_dot_of_pairs(w, t, depth);
        return;
    }
    if (t->product->a.lying) {
        put_dot_of_lying(w, t, fresh);
        return;
    }
    if (t->product->a.in_registers && !shared) put_left(w, t, depth);
    line(w, "k_wgmma_hold(sums);");
    line(w, "k_wgmma_begin();");
    for (int p = 0; p < t->product->n_passes; p++)
        put_pass(w, t, p, 0, depth / instruction_depth(ring(t, TILE_A)->operand),
                 p       ? "1"
                 : fresh ? "i"
                         : "step | i");
    line(w, "k_wgmma_commit();");
    line(w, "k_wgmma_hold(sums);");
}

void put_dot_by_warpgroups(struct emitter *w, const struct tile_program *t, bool fresh) {
    const struct tile_ring *a = &t->ring[TILE_A], *kept = tile_staying(t);
    const struct short_steps *shorts = &t->product->shorts;
    line(w, "const unsigned at = (unsigned)s * %d;", moving_ring(t)->stage / 16);
    if (kept) line(w, "const unsigned at_step = (unsigned)step * %d;", kept->stage / 16);
    put_whole_step(w, t);
    if (!tile_has_both_steps(t)) {
        put_dot_of_depth(w, t, depth_of_whole(t), fresh, false);
        return;
    }
    /* A factor that threads read is read once for both: its text is the longer part of a step's. */
    const struct operand *left = &t->product->a;
    bool shared = left->in_registers && !left->lying && !t->product->pairs &&
                  left_registers(t, shorts->depth) == left_registers(t, a->depth);
    if (shared) put_left(w, t, a->depth);
    open_brace(w, "if (whole)");
    put_dot_of_depth(w, t, a->depth, fresh, shared);
    close_brace(w);
    open_brace(w, "else");
    put_dot_of_depth(w, t, shorts->depth, fresh, shared);
    close_brace(w);
}
