/* Fusion of graphs that are big, or whose nodes are read along many paths: they must be compiled in
 * a time that grows with their size, not with the number of paths, and into kernels that a launch
 * can hold the arguments of. A compile that follows every path does not end. */
#include "graph/loop.h"
#include "graph_test.h"
#include "lower_test.h"
#include "ws_tune.h"

static struct ws_program *lower_by(struct arena *a, struct graph *g, enum ws_fusion fusion) {
    struct ws_captured *c = NEW(a, struct ws_captured);
    struct device_limits *limits = NEW(a, struct device_limits);
    struct diag d = diag_new(a);
    assert_true(device_limits_for_arch("sm_90a", limits));
    *c = (struct ws_captured){.arena = a, .graph = g, .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(c, limits, fusion, NULL, &d);
    if (!p) fail_msg("%s", d.text);
    return p;
}

static struct ws_program *lower(struct arena *a, const char *text) {
    return lower_by(a, must_parse(a, text), WS_FUSE);
}

/* A recurrence whose states only sums behind it read has them in no memory. */
#define STATES                                                                                     \
    "graph(%a: f32[64, 4, 128, 16], %b: f32[64, 4, 128, 16], %c: f32[64, 4, 16]) {\n"              \
    " %h = zeros([4, 128, 16], dtype=f32)\n"                                                       \
    " %hs = loop([%h, %a, %b], carried=[0, -1, -1], first=[0, 0, 0], way=[0, 1, 1], steps=64, "    \
    "body=graph(%h: f32[4, 128, 16], %a: f32[4, 128, 16], %b: f32[4, 128, 16]) {\n"                \
    "  %p: f32[4, 128, 16] = mul(%a, %h)\n  %n: f32[4, 128, 16] = add(%p, %b)\n  return %n\n}, "   \
    "output=0)\n %u = unsqueeze(%c, 2)\n %m = mul(%hs, %u)\n"
static void test_readouts(void **state) {
    static const struct {
        const char *behind;
        int states; /* tensors of all states that are read or written */
    } cases[] = {{" %y = sum(%m, [3])\n return %y\n}\n", 2},
                 {" %y = sum(%m, [0, 1])\n return %y\n}\n", 2},
                 {" %y = sum(%m, [0])\n %z = sum(%hs, [3])\n return %y, %z\n}\n", 2},
                 {" %y = sum(%m, [3])\n return %y, %hs\n}\n", 5},
                 {" %y = cumsum(%hs, 0)\n return %y\n}\n", 5}};
    const double bytes = 64 * 4 * 128 * 16 * 4;
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_program *p = lower(a, arena_printf(a, "%s%s", STATES, cases[i].behind));
        double moved = 0;
        for (int k = 0; k < p->n_kernels; k++) moved += p->kernels[k].bytes;
        assert_int_equal((int)(moved / bytes), cases[i].states);
    }
    arena_free(a);
}

/* y60 = y59 * y59, ...: 2^60 paths lead to the input. */
static void test_paths(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%x: f32[64, 64]) {\n %y0 = exp(%x)\n");
    for (int i = 1; i <= 60; i++) buf_printf(&b, " %%y%d = mul(%%y%d, %%y%d)\n", i, i - 1, i - 1);
    buf_puts(&b, " return %y60\n}\n");
    assert_int_equal(lower(a, b.p)->n_kernels, 1);
    arena_free(a);
}

static void test_arguments(void **state) {
    enum { N = 70 };
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(");
    for (int i = 0; i < N; i++) buf_printf(&b, "%s%%x%d: f32[4, 8]", i ? ", " : "", i);
    buf_puts(&b, ") {\n %y0 = exp(%x0)\n");
    for (int i = 1; i < N; i++) buf_printf(&b, " %%y%d = add(%%y%d, %%x%d)\n", i, i - 1, i);
    buf_printf(&b, " return %%y%d\n}\n", N - 1);
    struct ws_program *p = lower(a, b.p);
    assert_in_range(p->n_kernels, 3, 6);
    for (int k = 0; k < p->n_kernels; k++)
        assert_in_range(p->kernels[k].n_reads + p->kernels[k].n_writes, 2, 32);
    arena_free(a);
}

/* 300 operators: every pair of kernels is weighed, but not again after every merge. Strict products
 * are not chained. */
static void test_size(void **state) {
    enum { N = 100 };
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%x: f32[64, 64], %w: f32[64, 64]) products strict {\n %y0 = exp(%x)\n");
    for (int i = 1; i <= N; i++)
        buf_printf(&b,
                   " %%m%d = matmul(%%y%d, %%w)\n %%a%d = add(%%m%d, %%x)\n %%y%d = relu(%%a%d)\n",
                   i, i - 1, i, i, i, i);
    buf_printf(&b, " return %%y%d\n}\n", N);
    assert_int_equal(lower(a, b.p)->n_kernels, N + 1);
    arena_free(a);
}

/* Pixels of strides of 2, the last of which ends within one, whose channels are reduced, and read
 * what they come to: one kernel if they are few. Of many, phases would store parts of sectors, if
 * anything of a pixel's channels is stored, and exponentials take less in a kernel of their own. */
static void test_channels_of_phases(void **state) {
    static const struct {
        const char *size, *behind;
        int kernels;
    } cases[] = {{"5, 6", "softmax(%c, 1)", 1},
                 {"5, 6", "logsumexp(%c, [1], True)", 1},
                 {"240, 200", "softmax(%c, 1)", 2},
                 {"240, 200", "logsumexp(%c, [1], True)", 2},
                 {"240, 200", "amax(%c, [1], True)", 1}};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text =
            arena_printf(a,
                         "graph(%%x: f32[2, 16, %s], %%w: f32[16, 12, 3, 3]) {\n"
                         " %%c = convolution(%%x, %%w, None, [2, 2], [1, 1], [1, 1], True, [0, 0], "
                         "1)\n %%s = %s\n return %%s\n}\n",
                         cases[i].size, cases[i].behind);
        int n = lower(a, text)->n_kernels;
        if (n != cases[i].kernels)
            fail_msg("%s of %s: %d kernels", cases[i].behind, cases[i].size, n);
    }
    arena_free(a);
}

/* A product behind a product is one kernel where both by themselves do not take far less: not of
 * two layers, the first of which each block of the second one would compute again; but of one
 * query, too, whose keys few blocks go along; of f32 in tf32; and with a small product that goes
 * into the scores. */
static void test_products_behind_products(void **state) {
    static const char layers[] =
        "graph(%x: bf16[2048, 100], %w: bf16[512, 100], %b: bf16[512], %v: bf16[256, 512]) {\n"
        " %wt = permute(%w, [1, 0])\n %m = mm(%x, %wt)\n %a = add(%m, %b)\n %r = relu(%a)\n"
        " %vt = permute(%v, [1, 0])\n %y = mm(%r, %vt)\n return %y\n}\n",
                      attention[] = "graph(%%q: bf16[12, %d, 64], %%k: bf16[12, 1024, 64], "
                                    "%%v: bf16[12, 1024, 64]) {\n"
                                    " %%kt = permute(%%k, [0, 2, 1])\n %%s = bmm(%%q, %%kt)\n"
                                    " %%p = softmax(%%s, -1)\n %%o = bmm(%%p, %%v)\n"
                                    " return %%o\n}\n",
                      tf32[] = "graph(%q: f32[12, 1024, 64], %k: f32[12, 1024, 64], "
                               "%v: f32[12, 1024, 64]) products tf32 {\n"
                               " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n"
                               " %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n return %o\n}\n",
                      places[] = "graph(%q: bf16[24, 256, 64], %k: bf16[24, 256, 64], "
                                 "%v: bf16[24, 256, 64], %t: bf16[65536, 16], %w: bf16[16, 12]) {\n"
                                 " %a = mm(%t, %w)\n %b = permute(%a, [1, 0])\n"
                                 " %c = view(%b, [1, 12, 256, 256])\n"
                                 " %kt = permute(%k, [0, 2, 1])\n %s = bmm(%q, %kt)\n"
                                 " %u = view(%s, [2, 12, 256, 256])\n %f = add(%u, %c)\n"
                                 " %p = softmax(%f, -1)\n %x = view(%p, [24, 256, 256])\n"
                                 " %o = bmm(%x, %v)\n return %o\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, layers)->n_kernels, 2);
    assert_int_equal(lower(a, tf32)->n_kernels, 1);
    assert_int_equal(lower(a, places)->n_kernels, 2);
    assert_int_equal(lower(a, arena_printf(a, attention, 1024))->n_kernels, 1);
    assert_int_equal(lower(a, arena_printf(a, attention, 1))->n_kernels, 1);
    arena_free(a);
}

/* A norm behind a product meets twice: rows of three blocks are normed sooner by another kernel. */
static void test_norms_apart(void **state) {
    static const char norm[] =
        "graph(%x: bf16[1576, 768], %w: bf16[768, 768], %r: bf16[1576, 768]) {\n"
        " %m = mm(%x, %w)\n %a = add(%m, %r)\n %f = float(%a)\n %u = mean(%f, [1], True)\n"
        " %d = sub(%f, %u)\n %q = mul(%d, %d)\n %v = mean(%q, [1], True)\n %s = rsqrt(%v)\n"
        " %n = mul(%d, %s)\n %y = to(%n, bf16)\n return %y, %a\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, norm)->n_kernels, 2);
    arena_free(a);
}

/* What is stored across the rows of a sum has another kernel, if that takes long enough; which may
 * be one of others that reduce by the order that it is stored in. */
static void test_stored_across(void **state) {
    static const char sums[] = "graph(%%x: bf16[%d, 8, 136, 288]) {\n %%s = sum(%%x, [2, 3])\n"
                               " %%t = permute(%%x, [2, 1, 3, 0])\n %%y = clone(%%t)\n"
                               " %%z = view(%%y, [%d])\n return %%s, %%z\n}\n",
                      lands[] = "graph(%i: i64[9089], %x: f32[9089, 85]) {\n"
                                " %o = zeros([9089, 85], f32)\n %a = index_add(%o, 0, %i, %x)\n"
                                " %m = mean(%a, [1])\n %t = permute(%a, [1, 0])\n"
                                " %y = clone(%t)\n %z = view(%y, [772565])\n"
                                " return %m, %z\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, arena_printf(a, sums, 128, 128 * 8 * 136 * 288))->n_kernels, 2);
    assert_int_equal(lower(a, arena_printf(a, sums, 1, 8 * 136 * 288))->n_kernels, 1);
    const struct ws_program *p = lower(a, lands);
    assert_int_equal(p->n_kernels, 2);
    assert_int_equal(p->kernels[0].n_writes, 1);
    arena_free(a);
}

/* Windows of a reflected image: no run of elements has one guard, so none is read as a run. */
static void test_reflected_windows(void **state) {
    static const char windows[] =
        "graph(%x: f32[8, 1, 512, 512]) {\n"
        " %p = pad(%x, pad=[1, 1, 1, 1], mode='reflect', value=None)\n"
        " %w = im2col(%p, kernel_size=[3], stride=[1], padding=[0], dilation=[1])\n"
        " %n = ne(%w, %w)\n %y = any(%n, dim=[1], keepdim=False)\n return %y\n}\n";
    struct arena *a = arena_new();
    struct ws_program *p = lower(a, windows);
    for (int k = 0; k < p->n_kernels; k++) assert_non_null(ws_default_config(p, k));
    arena_free(a);
}

/* A filter along columns reads one along rows from memory, if making that for each of its terms
 * takes long enough. */
static void test_filters_apart(void **state) {
    struct arena *a = arena_new();
    for (int large = 0; large < 2; large++) {
        struct buf b = buf_new(a);
        int rows = large ? 4096 : 64;
        buf_printf(&b, "graph(%%x: f32[8, %d, 1024]) {\n", rows);
        for (int i = 0; i < 5; i++)
            buf_printf(&b, " %%x%d = slice(%%x, 2, %d, %d)\n %%e%d = exp(%%x%d)\n", i, i, 1020 + i,
                       i, i);
        buf_puts(&b, " %y1 = add(%e0, %e1)\n %y2 = add(%y1, %e2)\n %y3 = add(%y2, %e3)\n"
                     " %y = add(%y3, %e4)\n");
        for (int i = 0; i < 5; i++)
            buf_printf(&b, " %%c%d = slice(%%y, 1, %d, %d)\n", i, i, rows - 4 + i);
        buf_puts(&b, " %z1 = add(%c0, %c1)\n %z2 = add(%z1, %c2)\n %z3 = add(%z2, %c3)\n"
                     " %z = add(%z3, %c4)\n return %z\n}\n");
        assert_int_equal(lower(a, b.p)->n_kernels, 1 + large);
    }
    arena_free(a);
}

/* So has what is read across the rows that it is reduced or scanned along; of few elements not. */
static void test_read_across(void **state) {
    static const char soft[] = "graph(%%x: bf16[%d, 8, %d, %d, 36]) {\n"
                               " %%p = permute(%%x, [2, 4, 0, 3, 1])\n %%c = contiguous(%%p)\n"
                               " %%y = softmax(%%c, 4)\n return %%y\n}\n",
                      scan[] = "graph(%x: bf16[496, 8, 8192], %y: bf16[8192, 496, 8]) {\n"
                               " %p = permute(%x, [2, 0, 1])\n %a = add(%p, %y)\n"
                               " %m = mul(%a, %a)\n %c = cumsum(%m, 2)\n return %c\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, arena_printf(a, soft, 16, 56, 256))->n_kernels, 2);
    assert_int_equal(lower(a, arena_printf(a, soft, 2, 1, 64))->n_kernels, 1);
    const struct ws_program *p = lower(a, scan);
    assert_int_equal(p->n_kernels, 2);
    assert_int_equal(p->kernels[0].n_writes, 1);
    arena_free(a);
}

/* Of two copies one is in the order that both are read in, and has a kernel of its own. */
static void test_stored_both_ways(void **state) {
    static const char copies[] = "graph(%%x: f32[%d, 1024, 133]) {\n %%s = slice(%%x, 2, 2, 130)\n"
                                 " %%t = permute(%%s, [1, 2, 0])\n %%y = contiguous(%%t)\n"
                                 " %%z = mul(%%s, 2)\n return %%y, %%z\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, arena_printf(a, copies, 1024))->n_kernels, 2);
    assert_int_equal(lower(a, arena_printf(a, copies, 4))->n_kernels, 1);
    arena_free(a);
}

/* n sums over what indices find in tables of their own, then `rest`. */
static const char *bags(struct arena *a, int n, int rows, const char *rest) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%i: i64[%d, %d, 4]", n, rows);
    for (int t = 0; t < n; t++) buf_printf(&b, ", %%w%d: bf16[100000, 64]", t);
    buf_puts(&b, ") {\n");
    for (int t = 0; t < n; t++)
        buf_printf(&b,
                   " %%i%d = select(%%i, 0, %d)\n %%f%d = index(%%w%d, [%%i%d], [0])\n"
                   " %%s%d = sum(%%f%d, 1)\n",
                   t, t, t, t, t, t, t);
    buf_printf(&b, "%s}\n", rest);
    return b.p;
}

/* Two sums of channels that make the same values again read what these are made of once; what has
 * another shape, or reads another tensor, stays. */
static void test_beside_shared(void **state) {
    static const char head[] = "graph(%w: bf16[100352, 64, 4], %m: bool[100352, 64], "
                               "%z: bf16[100352, 64], %u: bf16[100352, 64]) {\n"
                               " %s = sum(%w, 2)\n %y = where(%m, 0, %s)\n %f = float(%y)\n"
                               " %a = sum(%f, 0)\n";
    static const char tail[] = " %b = sum(%p, 0)\n %c = sub(%f, %a)\n %d = sub(%c, %b)\n"
                               " %e = to(%d, bf16)\n return %e, %a, %b\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, arena_printf(a, "%s %%p = mul(%%f, %%z)\n%s", head, tail))->n_kernels,
                     3); /* sums of rows of four; both sums of channels; what reads these */
    assert_int_equal(lower(a, arena_printf(a, "%s %%p = mul(%%u, %%z)\n%s", head, tail))->n_kernels,
                     4);
    arena_free(a);
}

/* The gradient of a norm of channels: columns that a cluster hardly keeps are summed up by a kernel
 * of their own, and read again by another; shorter ones by one. */
static void test_long_columns(void **state) {
    static const int pixels[] = {25088, 16000};
    struct arena *a = arena_new();
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            lower(a,
                  arena_printf(a,
                               "graph(%%g: bf16[%d, 512], %%x: bf16[%d, 512]) {\n"
                               " %%f = float(%%g)\n %%p = mul(%%f, %%x)\n %%a = mean(%%f, 0)\n"
                               " %%b = mean(%%p, 0)\n %%c = mul(%%x, %%b)\n %%d = sub(%%f, %%c)\n"
                               " %%e = sub(%%d, %%a)\n %%y = to(%%e, bf16)\n return %%y\n}\n",
                               pixels[i], pixels[i]))
                ->n_kernels,
            i ? 1 : 2);
    arena_free(a);
}

/* Small reductions of one shape are one kernel, unless one stands on another, or they are large, or
 * of other shapes. */
static void test_beside(void **state) {
    struct arena *a = arena_new();
    assert_int_equal(lower(a, bags(a, 3, 2048, " return %s0, %s1, %s2\n"))->n_kernels, 1);
    assert_int_equal(
        lower(a, bags(a, 8, 2048, " return %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7\n"))->n_kernels,
        1);
    assert_int_equal(lower(a, bags(a, 2, 200000, " return %s0, %s1\n"))->n_kernels, 2);
    assert_int_equal(lower(a, bags(a, 2, 2048,
                                   " %m = sum(%s0, 0)\n %p = add(%s1, %m)\n %q = exp(%p)\n"
                                   " %z = amax(%q, 1)\n return %z, %m, %s1\n"))
                         ->n_kernels,
                     3); /* both bags, what the columns of one come to, and the rows of all */
    assert_int_equal(lower(a, "graph(%x: f32[64, 300], %y: f32[64, 200]) {\n %a = sum(%x, 1)\n"
                              " %b = amax(%y, 1)\n return %a, %b\n}\n")
                         ->n_kernels,
                     2);
    assert_int_equal(lower(a, "graph(%x: f32[64, 300], %y: f32[64, 300]) {\n %a = softmax(%x, 1)\n"
                              " %b = amax(%y, 1)\n return %a, %b\n}\n")
                         ->n_kernels,
                     1);
    arena_free(a);
}

/* What a depthwise convolution reads is stored where each of its taps would make it again, unless
 * that is little beside what storing it takes. */
static void test_windows_of_values(void **state) {
    const char *depthwise =
        "graph(%%x: f32[32, 64, 112, 112], %%s: f32[1, 64, 1, 1], %%t: f32[1, 64, 1, 1],\n"
        "      %%w: f32[64, 1, %d, %d]) {\n"
        "  %%n = mul(%%x, %%s)\n  %%a = add(%%n, %%t)\n  %%r = relu6(%%a)\n"
        "  %%y = convolution(%%r, %%w, None, stride=[%d, %d], padding=[%d, %d],\n"
        "                   dilation=[1, 1], groups=64)\n  return %%y\n}\n";
    struct arena *a = arena_new();
    assert_int_equal(lower(a, arena_printf(a, depthwise, 5, 5, 1, 1, 2, 2))->n_kernels, 2);
    assert_int_equal(lower(a, arena_printf(a, depthwise, 1, 1, 1, 1, 0, 0))->n_kernels, 1);
    arena_free(a);
}

/* What kernels are judged by goes with its arena: of it the program's keeps at most sizes. */
static void leaves_little(const struct ws_program *p) {
    struct arena *own = arena_new();
    size_t before = arena_used(p->arena);
    const int *outputs;
    bool *all = NEW_ARRAY(own, bool, p->n_kernels);
    for (int k = 0; k < p->n_kernels; k++) all[k] = true;
    struct ws_alone alone = ws_alone_of(p, own);
    struct ws_captured *c = ws_alone_join(&alone, all, own, &outputs);
    ws_lower_reference(c, DEVICE_CUDA);
    ws_drop_lowered(c, DEVICE_CUDA);
    assert_true(arena_used(p->arena) - before < arena_used(own) / 4);
    arena_free(own);
}

/* Rows that lie between kernels begin at lines of memory where products read them, unless they are
 * whole pieces of 16 bytes already. */
static void test_pitch(void **state) {
    static const struct {
        int columns, bytes;
    } cases[] = {{205, (63 * 256 + 205) * 2}, {208, 64 * 208 * 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        int n = cases[i].columns, found = 0;
        const char *text = arena_printf(
            a,
            "graph(%%x: bf16[64, 264], %%w: bf16[264, %d], %%v: bf16[%d, 264], %%u: bf16[64, 264]) "
            "{\n %%y = mm(%%x, %%w)\n %%p = softmax(%%y, 1)\n %%t = permute(%%p, [1, 0])\n"
            " %%o = mm(%%p, %%v)\n %%r = mm(%%t, %%u)\n return %%o, %%r\n}\n",
            n, n);
        struct ws_program *p = lower(a, text);
        for (int b = 0; b < p->n_buffers; b++) {
            if (p->buffers[b].kind != WS_BUF_TEMP || !p->buffers[b].bytes) continue;
            assert_int_equal(p->buffers[b].bytes, cases[i].bytes);
            found++;
        }
        assert_int_equal(found, 1);
        struct ws_alone alone = ws_alone_of(p, a); /* and each kernel is judged by itself */
        for (int k = 0; k < p->n_kernels; k++) {
            assert_int_equal(alone.parts[k].n_known, 1);
            assert_int_equal(alone.parts[k].n_unknown, 0);
        }
        leaves_little(p);
        arena_free(a);
    }
}

/* What is concatenated is stored where it belongs, if all of it is made and lies where sectors do.
 */
static void test_pieces(void **state) {
    static const struct {
        const char *pieces;
        int kernels;
    } cases[] = {
        {"%a, %b", 3},     /* two, and a third that reads them */
        {"%a, %b, %s", 5}, /* a row's */
        {"%a, %x", 3},     /* an input is where it is, */
        {"%a, %a", 3},     /* and so is what belongs there twice */
        {"%a, %o", 4},     /* 4 columns are half a sector, */
        {"%o, %a", 4},     /* and more begin in the midst of one */
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(
            a,
            "graph(%%x: f32[40, 24], %%u: f32[24, 32], %%v: f32[24, 64], %%w: f32[24, 8],\n"
            "      %%h: f32[24, 4], %%z: f32[16, 40]) {\n"
            "  %%a = matmul(%%x, %%u)\n  %%b = matmul(%%x, %%v)\n  %%o = matmul(%%x, %%h)\n"
            "  %%d = matmul(%%x, %%w)\n  %%s = softmax(%%d, 1)\n"
            "  %%c = cat([%s], 1)\n  %%y = matmul(%%z, %%c)\n  return %%c, %%y\n}\n",
            cases[i].pieces);
        struct ws_program *p = lower(a, text);
        if (p->n_kernels != cases[i].kernels)
            fail_msg("%d kernels for cat([%s])", p->n_kernels, cases[i].pieces);
        struct ws_alone alone = ws_alone_of(p, a); /* and each kernel is judged by itself */
        for (int k = 0; k < p->n_kernels; k++) assert_int_equal(alone.parts[k].n_unknown, 0);
    }
    arena_free(a);
}

/* What many elements share, and takes long, is made once; what goes along other dimensions of the
 * same tensor has another kernel. Neither where tensors are small. */
static void test_shared(void **state) {
    static const struct {
        const char *text;
        int kernels;
    } cases[] = {
        /* relative positions of a batch's scores, looked up */
        {"graph(%x: f32[64, 8, 256, 256], %t: f32[32, 8], %i: i64[256, 256]) {\n"
         " %e = exp(%t)\n %b = index(%e, [%i], [0])\n %p = permute(%b, [2, 0, 1])\n"
         " %l = log(%p)\n %y = add(%x, %l)\n return %y\n}\n",
         2},
        {"graph(%x: f32[2, 8, 16, 16], %t: f32[32, 8], %i: i64[16, 16]) {\n"
         " %e = exp(%t)\n %b = index(%e, [%i], [0])\n %p = permute(%b, [2, 0, 1])\n"
         " %l = log(%p)\n %y = add(%x, %l)\n return %y\n}\n",
         1},
        /* differences along rows and along columns */
        {"graph(%x: f32[1024, 1024]) {\n %a = slice(%x, 0, 1, 1024)\n"
         " %b = slice(%x, 0, 0, 1023)\n %d = sub(%a, %b)\n %s = sum(%d)\n"
         " %e = slice(%x, 1, 1, 1024)\n %f = slice(%x, 1, 0, 1023)\n %g = sub(%e, %f)\n"
         " %t = sum(%g)\n %y = add(%s, %t)\n return %y\n}\n",
         2},
        {"graph(%x: f32[64, 64]) {\n %a = slice(%x, 0, 1, 64)\n %b = slice(%x, 0, 0, 63)\n"
         " %d = sub(%a, %b)\n %s = sum(%d)\n %e = slice(%x, 1, 1, 64)\n"
         " %f = slice(%x, 1, 0, 63)\n %g = sub(%e, %f)\n %t = sum(%g)\n %y = add(%s, %t)\n"
         " return %y\n}\n",
         1},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_program *p = lower(a, cases[i].text);
        if (p->n_kernels != cases[i].kernels)
            fail_msg("%d kernels for %s", p->n_kernels, cases[i].text);
    }
    arena_free(a);
}

/* A norm between linear layers of few columns is read by those behind it, as attention's are, each
 * of which could go along with a copy of the layer before: that moves more. */
static void test_norm_between_narrow(void **state) {
    static const char text[] =
        "graph(%x: bf16[800, 256], %r: bf16[800, 256], %u: bf16[256, 256], %q: bf16[256, 256],\n"
        "      %k: bf16[256, 256], %v: bf16[256, 256], %z: bf16[800, 256]) {\n"
        " %y = mm(%x, %u)\n %a = add(%y, %r)\n %n = layer_norm(%a, [256])\n %p = add(%n, %z)\n"
        " %s = mm(%p, %q)\n %t = mm(%p, %k)\n %w = mm(%n, %v)\n"
        " %s1 = view(%s, [100, 64, 32])\n %t1 = view(%t, [100, 64, 32])\n"
        " %w1 = view(%w, [100, 64, 32])\n %s2 = permute(%s1, [1, 0, 2])\n"
        " %t2 = permute(%t1, [1, 2, 0])\n %w2 = permute(%w1, [1, 0, 2])\n"
        " %d = bmm(%s2, %t2)\n %e = softmax(%d, -1)\n %o = bmm(%e, %w2)\n return %o, %n\n}\n";
    struct arena *a = arena_new();
    struct ws_program *p = lower(a, text);
    int alone = 0, chains = 0;
    for (int k = 0; k < p->n_kernels; k++) {
        alone += !strcmp(p->kernels[k].kind, "matmul");
        chains += !strcmp(p->kernels[k].kind, "products");
    }
    assert_int_equal(alone, 4);
    assert_int_equal(chains, 1);
    assert_int_equal(p->n_kernels, 5);
    arena_free(a);
}

/* A nest that has gone makes those behind it lower ones, chained products too, and twins. */
static void test_pieces_before_chains(void **state) {
    static const char *const chains[] = {
        (" %pb = softmax(%s, -1)\n %o = bmm(%pb, %v)\n"
         " return %c, %y, %o\n}\n"),
        (" %pb = relu(%s)\n %gv = bmm(%g, %vt)\n %ds = mul(%gv, %pb)\n"
         " %dt = permute(%ds, [0, 2, 1])\n %dk = bmm(%dt, %q)\n"
         " %pt = permute(%pb, [0, 2, 1])\n %dv = bmm(%pt, %g)\n"
         " return %c, %y, %dk, %dv\n}\n"),
    };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(
            a,
            "graph(%%x: f32[40, 24], %%u: f32[24, 32], %%w: f32[24, 64], %%z: f32[16, 40],\n"
            "      %%q: bf16[8, 64, 32], %%k: bf16[8, 64, 32], %%v: bf16[8, 64, 32],\n"
            "      %%g: bf16[8, 64, 32]) {\n"
            "  %%a = matmul(%%x, %%u)\n  %%b = matmul(%%x, %%w)\n"
            "  %%c = cat([%%a, %%b], 1)\n  %%y = matmul(%%z, %%c)\n"
            " %%kt = permute(%%k, [0, 2, 1])\n %%vt = permute(%%v, [0, 2, 1])\n"
            " %%s = bmm(%%q, %%kt)\n%s",
            chains[i]);
        struct ws_program *p = lower(a, text);
        assert_int_equal(p->n_kernels, 4);
        arena_free(a);
    }
    (void)state;
}

static int count_steps(const struct ws_program *p) {
    int n = 0;
    for (int k = 0; k < p->n_kernels; k++) {
        bool one = !strcmp(p->kernels[k].kind, "steps");
        assert_true(!one || (p->kernels[k].steps == 1 && !p->kernels[k].loop));
        n += one;
    }
    return n;
}

/* Twelve steps that may be one kernel where each is pointwise on products of what it carries: by
 * rule they are where that takes less, and else another program is offered. */
static void test_persistent(void **state) {
    static const struct {
        const char *inputs, *step;
        bool persists, pays;
        bool chains; /* a step's products may be one kernel, or two */
    } cases[] = {
        {"%h0: f32[10, 96], %u: f32[96, 96]", "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n", true, true,
         false},
        /* rows that each block has to copy */
        {"%h0: f32[160, 96], %u: f32[96, 96]", "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n", true, false,
         false},
        /* of half of what it carries; rows are a tensor's two outer dimensions */
        {"%h0: f32[2, 5, 96], %u: f32[96, 96]",
         "%p@ = matmul(%h~, %u)\n%s@ = sigmoid(%p@)\n%h@ = mul(%s@, %h~)\n", true, true, false},
        /* a product behind another one */
        {"%h0: f32[10, 96], %u: f32[96, 96], %v: f32[96, 96]",
         "%p@ = mm(%h~, %u)\n%t@ = tanh(%p@)\n%q@ = mm(%t@, %v)\n%h@ = tanh(%q@)\n", true, true,
         true},
        /* the same, of sums as they are */
        {"%h0: f32[10, 96], %u: f32[96, 96], %v: f32[96, 96]",
         "%p@ = mm(%h~, %u)\n%q@ = mm(%p@, %v)\n%h@ = tanh(%q@)\n", false, false, true},
        /* a sum along what it carries */
        {"%h0: f32[10, 96], %u: f32[96, 96]",
         "%p@ = mm(%h~, %u)\n%s@ = sum(%h~, [1], True)\n%h@ = mul(%p@, %s@)\n", false, false,
         false},
        /* right factors that have no room on the device */
        {"%h0: f32[10, 4096], %u: f32[4096, 4096]", "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n", false,
         false, false},
    };
    enum { STEPS = 12 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        buf_printf(&b, "graph(%s) {\n", cases[i].inputs);
        for (int t = 0; t < STEPS; t++)
            for (const char *p = cases[i].step; *p; p++)
                if (*p == '@' || *p == '~')
                    buf_printf(&b, "%d", *p == '@' ? t + 1 : t);
                else
                    buf_putc(&b, *p);
        buf_printf(&b, "return %%h%d\n}\n", STEPS);
        struct graph *g = graph_roll(must_parse(a, b.p));
        struct ws_program *by_rule = lower_by(a, g, WS_FUSE), *launches = lower_by(a, g, WS_APART),
                          *steps = lower_by(a, g, WS_PERSISTENT);
        if (count_steps(steps) != cases[i].persists || count_steps(by_rule) != cases[i].pays)
            fail_msg("%d kernels of all steps, %d by rule: %s", count_steps(steps),
                     count_steps(by_rule), cases[i].step);
        assert_int_equal(count_steps(launches), 0);
        bool offered = cases[i].persists && !cases[i].pays;
        assert_int_equal(by_rule->may_persist, offered);
        assert_int_equal(ws_another(by_rule), offered           ? WS_PERSISTENT
                                              : cases[i].chains ? WS_APART
                                                                : WS_FUSE);
        assert_true(!cases[i].persists || steps->n_kernels <= launches->n_kernels);
        arena_free(a);
    }
}

/* Products of f32 are multiply-adds, and those in tf32 are of the matrix units, which round. Blocks
 * look at elements where each step has its own. */
static void test_persistent_configs(void **state) {
    static const struct {
        const char *products, *config, *why;
    } cases[] = {
        {"", "warps=4 n=4 k=32 tm=10 tn=4", NULL},
        {"", "warps=1 n=2 tn=8 mma=2", "mma=2 needs factors of 16 bits, or tf32"},
        {" products tf32", "warps=4 n=4 k=32 tm=10 tn=4", "tf32 is of the matrix units"},
        {" products tf32", "warps=1 n=2 tn=8 mma=2", NULL},
        {"", "warps=4 n=4 k=32 tm=10 tn=4 look_back=1", NULL},
        {"", "warps=1 n=4 k=32 tm=10 tn=4 look_back=2", "look_back is 0 or 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        buf_printf(&b, "graph(%%h0: f32[10, 96], %%u: f32[96, 96])%s {\n", cases[i].products);
        for (int t = 0; t < 12; t++)
            buf_printf(&b, "%%p%d = mm(%%h%d, %%u)\n%%h%d = tanh(%%p%d)\n", t, t, t + 1, t);
        buf_puts(&b, "return %h12\n}\n");
        struct ws_program *p = lower_by(a, graph_roll(must_parse(a, b.p)), WS_PERSISTENT);
        struct diag d = diag_new(a);
        struct config c;
        int k = 0;
        while (strcmp(p->kernels[k].kind, "steps") != 0) k++;
        assert_true(config_parse(cases[i].config, &c, &d));
        const char *why = ws_config_illegal(p, k, &c, a);
        if (!why != !cases[i].why || (why && !strstr(why, cases[i].why)))
            fail_msg("%s%s: %s", cases[i].config, cases[i].products, why ? why : "legal");
        arena_free(a);
    }
}

/* What a step's products read of the one before has memory of all steps on a GPU, if that is not
 * too much, and else of two. */
static void test_states(void **state) {
    static const struct {
        int rows, memory; /* in steps */
        bool on_cpu;
        const char *step;
    } cases[] = {
        {10, 12, false, "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n"},
        {10, 2, true, "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n"},
        {1 << 20, 2, false, "%p@ = mm(%h~, %u)\n%h@ = tanh(%p@)\n"},
        {10, 2, false, "%p@ = mm(%h~, %u)\n%c@ = add(%c~, %p@)\n%h@ = tanh(%c@)\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        struct diag d = diag_new(a);
        struct device_limits limits;
        int found = 0;
        buf_printf(&b, "graph(%%h0: f32[%d, 16], %%c0: f32[%d, 16], %%u: f32[16, 16]) {\n",
                   cases[i].rows, cases[i].rows);
        for (int t = 0; t < 12; t++)
            for (const char *p = cases[i].step; *p; p++)
                if (*p == '@' || *p == '~')
                    buf_printf(&b, "%d", *p == '@' ? t + 1 : t);
                else
                    buf_putc(&b, *p);
        buf_puts(&b, "return %h12\n}\n");
        limits = cases[i].on_cpu ? test_cpu() : test_gpu("sm_90a");
        struct ws_captured *c = ws_captured_of(a, graph_roll(must_parse(a, b.p)), "test");
        struct ws_program *p = ws_lower(c, &limits, WS_APART, NULL, &d);
        for (int k = 0; k < p->n_buffers; k++)
            found += p->loops->buffers.at[k].kind == BUFFER_STACK &&
                     p->buffers[k].bytes == (size_t)cases[i].memory * (size_t)cases[i].rows * 64;
        if (found != 1) fail_msg("%d stacks of %d steps: case %zu", found, cases[i].memory, i);
        arena_free(a);
    }
}

/* Eager, a kernel is an operator: of two exponentials of 2 GB, which a device of 2 GB has no room
 * for, one is. */
static void test_eager_without_room(void **state) {
    (void)state;
    for (int small = 0; small < 2; small++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct device_limits limits = test_gpu("sm_90a");
        limits.memory_bytes = INT64_C(1) << (small ? 31 : 38);
        struct graph *g = must_parse(a, "graph(%x: f32[1024, 1], %y: f32[1, 524288]) {\n"
                                        " %z = add(%x, %y)\n %e = exp(%z)\n %s = sum(%e, 1)\n"
                                        " %n = neg(%s)\n return %n\n}\n");
        struct ws_program *p = ws_lower(ws_captured_of(a, g, "test"), &limits, WS_EAGER, NULL, &d);
        assert_non_null(p);
        assert_int_equal(p->n_kernels, small ? 2 : 4);
        arena_free(a);
    }
}

/* Eager operators that land by one index compare it each for itself: no byte for each pair. */
static void test_eager_lands_alone(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device_limits limits = test_gpu("sm_90a");
    struct graph *g = must_parse(
        a, "graph(%x: f32[512, 8], %i: i64[4096], %m: f32[4096, 8], %n: f32[4096, 8]) {\n"
           " %a = index_add(%x, 0, %i, %m)\n %b = index_add(%a, 0, %i, %n)\n return %b\n}\n");
    struct ws_program *p = ws_lower(ws_captured_of(a, g, "test"), &limits, WS_EAGER, NULL, &d);
    assert_non_null(p);
    assert_int_equal(p->n_kernels, 2);
    for (int k = 0; k < p->n_buffers; k++) assert_true(p->buffers[k].bytes < 512 * 4096);
    arena_free(a);
}

/* What several kernels add up by one index is sorted once, where that takes less; by an index that
 * is the same in every call at load. */
static void test_sorted_once(void **state) {
    (void)state;
    static const struct {
        int rows;
        const char *other; /* by which the second one goes */
        enum ws_fusion fusion;
        int sorts;
        const char *kind; /* of the index's input */
    } cases[] = {
        {20000, "i", WS_FUSE, 1, ""},    {20000, "k", WS_FUSE, 0, ""},
        {300, "i", WS_FUSE, 0, ""},      {20000, "i", WS_EAGER, 0, ""},
        {20000, "k", WS_FUSE, 1, "buf"}, {20000, "i", WS_FUSE, 1, "buf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct device_limits limits = test_gpu("sm_90a");
        int rows = cases[i].rows, sorts = 0;
        struct graph *g = must_parse(
            a, arena_printf(a,
                            "graph(%%i: i64[33000], %%k: i64[33000], %%s: f32[33000], "
                            "%%t: f32[33000, 12]) {\n"
                            " %%d = zeros([%d], f32)\n %%e = index_add(%%d, 0, %%i, %%s)\n"
                            " %%g = index(%%e, [%%i], [0])\n %%u = unsqueeze(%%g, 1)\n"
                            " %%m = mul(%%t, %%u)\n %%x = zeros([%d, 12], f32)\n"
                            " %%a = index_add(%%x, 0, %%%s, %%m)\n return %%a\n}\n",
                            rows, rows, cases[i].other));
        bool fixed = *cases[i].kind != 0;
        if (fixed) g->fixed = true, g->inputs.at[0].kind = INPUT_BUFFER;
        struct ws_program *p =
            ws_lower(ws_captured_of(a, g, "test"), &limits, cases[i].fusion, NULL, &d);
        assert_non_null(p);
        for (int k = 0; k < p->n_kernels; k++) {
            bool sort = !strcmp(p->kernels[k].kind, "sort");
            sorts += sort;
            if (sort) assert_int_equal(p->kernels[k].at_load, fixed);
            if (sort) assert_true(k + 1 < p->n_kernels && p->kernels[k].n_writes == 1);
        }
        if (sorts != cases[i].sorts) fail_msg("%d sorts: case %zu", sorts, i);
        arena_free(a);
    }
}

/* An index that is the same for whole rows lists rows, not elements. */
static void test_scattered_rows(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device_limits limits = test_gpu("sm_90a");
    struct graph *g = must_parse(a, "graph(%i: i64[33000], %s: f32[33000, 8]) {\n"
                                    " %u = unsqueeze(%i, 1)\n %e = expand(%u, [33000, 8])\n"
                                    " %z = zeros([20000, 8], f32)\n"
                                    " %a = scatter_add(%z, 0, %e, %s)\n return %a\n}\n");
    struct ws_program *p = ws_lower(ws_captured_of(a, g, "test"), &limits, WS_FUSE, NULL, &d);
    assert_non_null(p);
    assert_int_equal(p->n_kernels, 1);
    const struct kernel *k = p->kernels[0].ir;
    assert_non_null(k->landing);
    assert_int_equal(ex_hint(k->ex, k->landing->rows), 20000);
    assert_int_equal(kernel_size(k, AXIS_R), 33000);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_once),
        cmocka_unit_test(test_scattered_rows),
        cmocka_unit_test(test_eager_without_room),
        cmocka_unit_test(test_eager_lands_alone),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_persistent_configs),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_readouts),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_products_behind_products),
        cmocka_unit_test(test_beside),
        cmocka_unit_test(test_channels_of_phases),
        cmocka_unit_test(test_beside_shared),
        cmocka_unit_test(test_long_columns),
        cmocka_unit_test(test_windows_of_values),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_norm_between_narrow),
        cmocka_unit_test(test_pieces_before_chains),
        cmocka_unit_test(test_pitch),
        cmocka_unit_test(test_norms_apart),
        cmocka_unit_test(test_filters_apart),
        cmocka_unit_test(test_reflected_windows),
        cmocka_unit_test(test_stored_across),
        cmocka_unit_test(test_read_across),
        cmocka_unit_test(test_stored_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
