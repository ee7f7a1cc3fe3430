/* cuda_sort.c: with sort=1, sources are sorted by where they land (kernel/hits.c) before the kernel
 * that reduces them: its blocks look at those that land in their tiles, and at no others.
 *
 *     kernel_x_keys     keys[r] = where source r lands, or behind all rows
 *     kernel_x_count0   counts[digit][block]: keys of a block's own sources by their last 8 bits
 *     kernel_x_scan0    ... how many such keys blocks before it have
 *     kernel_x_move0    keys and their sources to where these belong by that digit
 *     kernel_x_count1   the same of the next 8 bits
 *     ...
 *     kernel_x          lists what lies between the first and the last row of its tiles
 *
 * With sort=2 a list of where each row's sources begin follows, by which threads find those of
 * their own elements (cuda_own.c); few sources are counted, all in one launch:
 *
 *     kernel_x_ranks    order[as many as land before source r] = r
 *
 * and some more are listed, in one launch as well, by blocks of some rows each:
 *
 *     kernel_x_lists    all keys; own sources in order; then row by row
 *
 * of more, blocks of rows have a pass first, and then each its own rows:
 *
 *     kernel_x_count, kernel_x_scan, kernel_x_move       pairs of a key and a source, by buckets
 *     kernel_x_lists                                     by row, and where each row's begin
 *
 * With sort=3 one pass sorts by the block that has the row (cuda_turns.c), without a list of keys:
 *
 *     kernel_x_count, kernel_x_scan, kernel_x_move
 *
 * What sorts alone, for several kernels behind it (kernel/sorted.c), has the same launches; but
 * both lists are an argument of it then, and of these, the sources first.
 *
 * A pass keeps the order of equal digits: so what lands on a row is added up in the order of the
 * sources, the same in every run. */
#include "emit/cuda_rows.h"

enum { THREADS = 256 };

/* Where in the workspace a pass reads, and the other half, which it writes. */
static int64_t half_of(const struct emitter *w, int pass) {
    return pass % 2 * 2 * layout_sort_array(w->k);
}

static void add_array(struct ws_launch *l, int64_t offset) {
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = offset};
}

static struct ws_launch *open_launch(struct emitter *w, const char *what, int64_t blocks,
                                     int threads) {
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    WS_ASSERT(w->out->n_launches < WS_MAX_LAUNCHES);
    *l = (struct ws_launch){.entry = arena_printf(w->arena, "%s_%s", w->k->entry, what),
                            .grid = {blocks, 1, 1},
                            .threads = threads};
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", threads,
               l->entry);
    return l;
}

/* The key of source r. */
static void put_key(struct emitter *w) {
    const char *counts, *target = put_target(w, &counts);
    line(w, "const unsigned key = (unsigned)(%s && %s >= 0 && %s < rows ? (k_idx)%s : rows);",
         counts, target, target, target);
}

static void put_sizes(struct emitter *w) {
    line(w, "k_enter();");
    line(w, "const k_idx nr = %s, rows = %s;", ex_text(w, w->k->bound[AXIS_R]),
         ex_text(w, w->k->landing->rows));
}

static void put_keys(struct emitter *w) {
    struct ws_launch *l =
        open_launch(w, "keys", tile_count(kernel_size(w->k, AXIS_R), THREADS), THREADS);
    add_arguments(w, l);
    add_array(l, half_of(w, 0));
    put_parameters(w);
    buf_puts(&w->b, ", unsigned *__restrict__ keys) {\n");
    w->indent++;
    put_sizes(w);
    line(w, "const k_idx r = (k_idx)blockIdx.x * %d + (int)threadIdx.x;", THREADS);
    line(w, "if (r >= nr) return;");
    put_key(w);
    line(w, "keys[r] = key;");
    close_brace(w);
}

/* The argument that has both lists. */
static uint32_t lists_argument(const struct emitter *w) {
    uint32_t i = 0;
    while (w->k->buffers.at[i] != w->k->lists - 1) i++;
    return i;
}

static bool sorts_alone(const struct emitter *w) { return w->k->kind == KERNEL_SORT; }

static void add_lists(struct emitter *w, struct ws_launch *l) {
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)(w->k->lists - 1)};
}

void put_lists(struct emitter *w) {
    const char *kind = sorts_alone(w) ? "" : "const ";
    line(w, "%sunsigned *const order = (%sunsigned *)p%u, *const begin = order + %lld;", kind, kind,
         lists_argument(w), (long long)kernel_size(w->k, AXIS_R));
}

/* Behind the name of a kernel that writes the whole list, with so many bytes of shared memory. */
static void open_sorter(struct emitter *w, struct ws_launch *l, int64_t bytes) {
    l->smem = (int)bytes;
    add_arguments(w, l);
    if (!sorts_alone(w)) add_array(l, layout_order_begin(w->k, w->y));
    if (!sorts_alone(w)) add_array(l, layout_rows_begin(w->k, w->y));
    put_parameters(w);
    buf_puts(&w->b, sorts_alone(w) ? ") {\n" : ", unsigned *order, unsigned *begin) {\n");
    w->indent++;
    if (sorts_alone(w)) put_lists(w);
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
}

/* Each block has the keys of all sources in shared memory, and places some: a warp each. */
static void put_ranks(struct emitter *w) {
    enum { EACH = 4 }; /* sources of a warp */
    int64_t nr = kernel_size(w->k, AXIS_R), a_block = (int64_t)THREADS / w->k->limits->warp * EACH;
    struct ws_launch *l = open_launch(w, "ranks", tile_count(nr + 1, a_block), THREADS);
    open_sorter(w, l, 4 * nr);
    line(w, "unsigned *const keys = (unsigned *)k_smem;");
    put_sizes(w);
    line(w, "#pragma unroll 8"); /* all loads under way together */
    open_brace(w, "for (k_idx own = (int)threadIdx.x; own - (int)threadIdx.x < nr; own += %d)",
               THREADS);
    line(w, "const k_idx r = k_clamp(own, nr - 1);");
    put_key(w);
    line(w, "if (own < nr) keys[r] = key;");
    close_brace(w);
    line(w, "__syncthreads();");
    line(w, "k_sort_ranks<%d>(keys, (unsigned)nr, (unsigned)rows, order, begin);", EACH);
    close_brace(w);
}

/* Each block looks at the keys of all sources, and lists those of its own rows. */
static void put_listing(struct emitter *w) {
    enum { LIST_THREADS = 1024 };
    int64_t nr = kernel_size(w->k, AXIS_R), each = tile_count(nr, LIST_THREADS),
            own_rows = layout_list_rows(w->k);
    int64_t blocks = tile_count(ex_hint(w->k->ex, w->k->landing->rows), own_rows);
    struct ws_launch *l = open_launch(w, "lists", blocks, LIST_THREADS);
    open_sorter(w, l, layout_list_bytes(w->k));
    line(w, "unsigned *const list = (unsigned *)k_smem, *const starts = list + %lld;",
         (long long)nr);
    put_sizes(w);
    line(w, "const unsigned lo = blockIdx.x * %lld;", (long long)own_rows);
    line(w, "const unsigned hi = lo + %lld < rows ? lo + %lld : (unsigned)rows;",
         (long long)own_rows, (long long)own_rows);
    line(w, "unsigned found = 0, less = 0;");
    line(w, "#pragma unroll 8"); /* loads under way together */
    open_brace(w, "for (int i = 0; i < %lld; i++)", (long long)each);
    line(w, "const k_idx own = (threadIdx.x / 32 * %lld + i) * 32 + threadIdx.x %% 32;",
         (long long)each);
    line(w, "const k_idx r = k_clamp(own, nr - 1);");
    put_key(w);
    line(w, "less += own < nr && key < lo;");
    line(w, "found |= (unsigned)(own < nr && key >= lo && key < hi) << i;");
    close_brace(w);
    line(w, "const unsigned n = k_sort_found<%lld>(found, less, list, starts);", (long long)each);
    open_brace(w, "for (unsigned i = threadIdx.x; i < n; i += %d)", LIST_THREADS);
    line(w, "const k_idx r = (k_idx)list[i];");
    put_key(w);
    line(w, "list[i] |= (key - lo) << 16;");
    close_brace(w);
    line(w, "if (hi == rows && threadIdx.x == 0) begin[hi] = less + n;");
    line(w, "k_sort_list(list, n, hi - lo, less, starts, order, begin + lo);");
    close_brace(w);
}

static void put_carried(struct emitter *w, value_id v) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, v, marks);
    open_scope(w);
    line(w, "named[i] = k_as_uint(%s);", put_expression(w, v));
    close_brace(w);
    for (value_id i = 0; i < w->k->values.n; i++)
        if (marks[i]) w->where[i] = NOWHERE;
}

static void open_thread_sources(struct emitter *w, int each) {
    int warp = w->k->limits->warp;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", each);
    line(w, "const unsigned own = from + (threadIdx.x / %d * %d + i) * %d + threadIdx.x %% %d;",
         warp, each, warp, warp);
    line(w, "const k_idx r = k_clamp((k_idx)own, nr - 1);");
}

/* The keys of EACH sources of a thread, in rows of warps from source `from` on: where they land, or
 * nowhere. */
static void put_thread_keys(struct emitter *w, int each) {
    line(w, "unsigned keys[%d];", each);
    open_thread_sources(w, each);
    const char *counts, *target = put_target(w, &counts);
    line(w, "keys[i] = own < end && %s && %s >= 0 && %s < rows ? (unsigned)%s : 0xffffffffu;",
         counts, target, target, target);
    close_brace(w);
}

/* And their names: their numbers, or what they bring. Behind the ranks: a thread has registers for
 * these, or for what it needs for them. */
static void put_thread_names(struct emitter *w, int each) {
    value_id carried = layout_carried(w->k, w->y);
    line(w, "unsigned named[%d];", each);
    open_thread_sources(w, each);
    if (carried == NO_VALUE)
        line(w, "named[i] = (unsigned)r;");
    else
        put_carried(w, carried);
    close_brace(w);
}

static void open_buckets(struct emitter *w) {
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    put_sizes(w);
    line(w, "const unsigned end = k_sort_begin(nr, blockIdx.x + 1);");
}

static int bits_of(int64_t numbers) {
    int bits = 0;
    while ((int64_t)1 << bits < numbers) bits++;
    return bits;
}

/* Where each block's own of a digit begin, by a block for each digit, and how many there are. */
static void put_scan(struct emitter *w, const char *name, int64_t digits, int64_t counts,
                     int64_t totals, int64_t blocks) {
    struct ws_launch *l = open_launch(w, name, digits, THREADS);
    l->smem = 4 * SORT_DIGITS;
    add_array(l, counts);
    add_array(l, totals);
    buf_puts(&w->b, "unsigned *counts, unsigned *totals) {\n");
    buf_printf(&w->b, "    k_enter();\n    k_sort_scan(counts, %lld, totals);\n}\n",
               (long long)blocks);
}

/* What blocks before have of each bucket, by a thread for each bucket and some blocks. */
static void put_bucket_scan(struct emitter *w, int64_t buckets, int64_t counts, int64_t totals) {
    int warp = w->k->limits->warp, blocks = (int)layout_bucket_blocks(w->k, w->y),
        each = (int)tile_count(blocks, warp), warps = (int)tile_count(blocks, each);
    struct ws_launch *l = open_launch(w, "scan", tile_count(buckets, warp), warps * warp);
    l->smem = 4 * warps * warp;
    add_array(l, counts);
    add_array(l, totals);
    buf_puts(&w->b, "unsigned *counts, unsigned *totals) {\n");
    buf_printf(&w->b, "    k_enter();\n    k_bucket_scan<%d, %d>(counts, %d, %lld, totals);\n}\n",
               warps, each, blocks, (long long)buckets);
}

static void put_buckets(struct emitter *w) {
    int each = layout_bucket_each(w->k, w->y);
    int threads = layout_bucket_threads(w->k, w->y), warps = threads / w->k->limits->warp;
    int64_t array = layout_sort_array(w->k), counts = 2 * array,
            blocks = layout_bucket_blocks(w->k, w->y), digits = layout_buckets(w->k, w->y),
            room = round_up(digits, 2), totals = counts + 4 * digits * blocks;
    int shift = w->y->own ? layout_bucket_bits(w->k) : bits_of(w->y->bx * w->y->held);
    struct ws_launch *l = open_launch(w, "count", blocks, threads);
    l->smem = (int)(4 * digits);
    add_arguments(w, l);
    add_array(l, counts);
    put_parameters(w);
    buf_puts(&w->b, ", unsigned *counts) {\n");
    w->indent++;
    open_buckets(w);
    line(w, "unsigned *const all = (unsigned *)k_smem;");
    line(w, "k_bucket_clear(all, %lld);", (long long)digits);
    open_brace(w, "for (unsigned from = k_sort_begin(nr, blockIdx.x); from < end; from += %d)",
               threads * each);
    put_thread_keys(w, each);
    line(w, "k_bucket_count(keys, %d, all);", shift);
    close_brace(w);
    line(w, "k_bucket_store(all, %lld, counts);", (long long)digits);
    close_brace(w);
    put_bucket_scan(w, digits, counts, totals);
    l = open_launch(w, "move", blocks, threads);
    l->smem = (int)layout_bucket_bytes(w->k, w->y);
    add_arguments(w, l);
    int64_t places[] = {counts, totals, 0, layout_sort_begin(w->k, w->y)};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) add_array(l, places[i]);
    put_parameters(w);
    buf_puts(&w->b, ", unsigned *counts, unsigned *totals, unsigned long long *pairs, "
                    "unsigned *begin) {\n");
    w->indent++;
    open_buckets(w);
    line(w, "unsigned *const next = (unsigned *)k_smem, *const starts = next + %lld;",
         (long long)room);
    line(w, "unsigned *const sums = starts + %lld;", (long long)room);
    line(w, "unsigned short *const warps = (unsigned short *)(sums + %d);", warps);
    line(w, "k_bucket_begin<%d, %lld>(counts, totals, %lld, next, (unsigned *)warps, begin);",
         warps, (long long)tile_count(digits, threads), (long long)digits);
    open_brace(w, "for (unsigned from = k_sort_begin(nr, blockIdx.x); from < end; from += %d)",
               threads * each);
    put_thread_keys(w, each);
    line(w, "unsigned rank[%d];", each / 2);
    if (w->y->adds)
        line(w, "k_bucket_deal(keys, rank, %d, %lld, warps);", shift, (long long)room);
    else
        line(w, "k_bucket_rank<%d, %d>(keys, rank, %d, %lld, warps);", bits_of(digits), warps,
             shift, (long long)room);
    put_thread_names(w, each);
    line(w,
         "k_bucket_move<%d, %lld, %d>(keys, named, rank, %d, %lld, next, starts, sums, warps, "
         "pairs);",
         warps, (long long)tile_count(room / 2, threads), layout_bucket_parts(w->k, w->y), shift,
         (long long)room);
    close_brace(w);
    close_brace(w);
}

/* By row, what a pass has sorted by buckets. */
static void put_bucket_lists(struct emitter *w) {
    enum { WARPS = THREADS / 32 };
    int bits = layout_bucket_bits(w->k);
    struct ws_launch *l = open_launch(w, "lists", layout_buckets(w->k, w->y), THREADS);
    l->smem = 4 * ((WARPS << bits) + WARPS + 1);
    add_array(l, 0);
    add_array(l, layout_sort_begin(w->k, w->y));
    sorts_alone(w) ? add_lists(w, l) : add_array(l, layout_order_begin(w->k, w->y));
    if (!sorts_alone(w)) add_array(l, layout_rows_begin(w->k, w->y));
    buf_printf(&w->b, "unsigned long long *pairs, unsigned *buckets, unsigned *order%s) {\n",
               sorts_alone(w) ? "" : ", unsigned *begin");
    w->indent++;
    line(w, "k_enter();");
    if (sorts_alone(w))
        line(w, "unsigned *const begin = order + %lld;", (long long)kernel_size(w->k, AXIS_R));
    line(w, "k_bucket_lists<%d>(pairs, buckets, %lldu, order, begin);", bits,
         (long long)ex_hint(w->k->ex, w->k->landing->rows));
    close_brace(w);
}

static void put_begins(struct emitter *w) {
    int64_t rows = ex_hint(w->k->ex, w->k->landing->rows);
    struct ws_launch *l = open_launch(w, "begins", tile_count(rows + 1, THREADS), THREADS);
    add_array(l, half_of(w, layout_sort_passes(w->k)));
    long long first = sorts_alone(w) ? (long long)kernel_size(w->k, AXIS_R) : 0;
    sorts_alone(w) ? add_lists(w, l) : add_array(l, layout_rows_begin(w->k, w->y));
    buf_puts(&w->b, "unsigned *keys, unsigned *begin) {\n");
    buf_printf(&w->b,
               "    k_enter();\n    const unsigned row = blockIdx.x * %d + threadIdx.x;\n"
               "    if (row <= %lld) begin[%lld + row] = k_sort_bound(keys, %lldu, row);\n}\n",
               THREADS, (long long)rows, first, (long long)kernel_size(w->k, AXIS_R));
}

static void put_pass(struct emitter *w, int pass) {
    int64_t keys = half_of(w, pass), array = layout_sort_array(w->k), counts = 4 * array,
            blocks = layout_sort_blocks(w->k), totals = counts + 4 * SORT_DIGITS * blocks;
    long long nr = kernel_size(w->k, AXIS_R);
    int shift = pass * SORT_BITS;
    struct ws_launch *l = open_launch(w, arena_printf(w->arena, "count%d", pass), blocks, THREADS);
    l->smem = 4 * SORT_DIGITS;
    add_array(l, keys);
    add_array(l, counts);
    buf_puts(&w->b, "unsigned *keys, unsigned *counts) {\n");
    buf_printf(&w->b, "    k_enter();\n    k_sort_count(keys, %lld, %d, counts);\n}\n", nr, shift);
    put_scan(w, arena_printf(w->arena, "scan%d", pass), SORT_DIGITS, counts, totals, blocks);
    l = open_launch(w, arena_printf(w->arena, "move%d", pass), blocks, THREADS);
    l->smem = 4 * SORT_DIGITS * (1 + THREADS / w->k->limits->warp);
    for (int from = 0; from < 2; from++) add_array(l, keys + from * array);
    add_array(l, counts);
    add_array(l, totals);
    bool last = sorts_alone(w) && pass + 1 == layout_sort_passes(w->k);
    add_array(l, half_of(w, pass + 1));
    last ? add_lists(w, l) : add_array(l, half_of(w, pass + 1) + array);
    buf_puts(&w->b, "unsigned *keys, unsigned *order, unsigned *counts, "
                    "unsigned *totals, unsigned *keys_to, unsigned *order_to) {\n");
    buf_printf(
        &w->b,
        "    k_enter();\n    k_sort_move<%s>(keys, order, %lld, %d, counts, totals, keys_to, "
        "order_to);\n}\n",
        pass ? "false" : "true", nr, shift);
}

static void put_all_passes(struct emitter *w) {
    put_keys(w);
    for (int pass = 0; pass < layout_sort_passes(w->k); pass++) put_pass(w, pass);
    if (w->y->own) put_begins(w);
}

void emit_cuda_sort(struct emitter *w) {
    if (w->y->turns)
        put_buckets(w);
    else if (layout_counts_sort(w->k, w->y))
        put_ranks(w);
    else if (layout_lists_sort(w->k, w->y))
        put_listing(w);
    else if (layout_buckets_sort(w->k, w->y))
        put_buckets(w), put_bucket_lists(w);
    else
        put_all_passes(w);
}

void put_sort_parameters(struct emitter *w, struct ws_launch *l) {
    if (w->y->turns) {
        add_array(l, layout_sort_begin(w->k, w->y));
        add_array(l, 0);
        buf_puts(&w->b, ", unsigned *__restrict__ begin, unsigned long long *__restrict__ pairs");
        return;
    }
    if (w->y->own) {
        add_array(l, layout_rows_begin(w->k, w->y));
        add_array(l, layout_order_begin(w->k, w->y));
        buf_puts(&w->b, ", unsigned *__restrict__ begin, unsigned *__restrict__ order");
        return;
    }
    int64_t at = half_of(w, layout_sort_passes(w->k));
    add_array(l, at);
    add_array(l, at + layout_sort_array(w->k));
    buf_puts(&w->b, ", unsigned *keys, unsigned *order");
}

void open_sorted(struct emitter *w) {
    if (w->k->lists) {
        put_lists(w);
        line(w, "const k_idx to = (k_idx)begin[hi + 1];");
        open_brace(w, "for (k_idx from = (k_idx)begin[lo]; from < to;)");
        return;
    }
    line(w, "const k_idx to = k_sort_bound(keys, nr, hi + 1);");
    open_brace(w, "for (k_idx from = k_sort_bound(keys, nr, lo); from < to;)");
}

void put_sorted_listing(struct emitter *w, const char *place) {
    const struct layout *y = w->y;
    line(w, "const int n_hits = (int)k_clamp(to - from, (k_idx)%d);", layout_listed(y));
    line(w, "__syncthreads(); /* what was listed has been taken up */");
    open_brace(w, "for (int i = tid; i < n_hits; i += %d)", y->threads);
    if (w->k->lists) {
        line(w, "const k_idx r = (k_idx)order[from + i];");
        const char *counts, *landed = put_target(w, &counts);
        line(w, "const k_idx target = (k_idx)%s;", landed);
    } else {
        line(w, "const k_idx target = (k_idx)keys[from + i];");
    }
    line(w, "(void)target;");
    line(w, "hits[i] = (k_idx)order[from + i];");
    line(w, "places[i] = %s;", place);
    close_brace(w);
    line(w, "__syncthreads();");
    line(w, "from += n_hits;");
}
