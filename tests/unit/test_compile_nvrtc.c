/* Joined texts of many kernels, as device_generated hands them to NVRTC on a GPU, compile here too,
 * and what text relies on the compiler to merge is merged; skipped where there is no NVRTC. */
#include "emit/emit.h"
#include "graph_test.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/drive_impl.h"

enum { GRAPHS = 12 };

static bool the_last(void *ctx, int config, int n) { return config == n - 1; }

/* Skips the test where there is none. */
static struct toolchain *toolchain_of(struct arena *a, const char *arch, struct diag *d) {
    struct env *env = NEW(a, struct env);
    struct toolchain *t = NULL;
    *env = env_read(a);
    if (toolchain_open(DEVICE_CUDA, arch, env, a, d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
    return t;
}

/* A program for that device, fused; NULL: d says why. */
static struct ws_program *fused(struct arena *a, const char *text, const char *arch,
                                struct diag *d) {
    struct device_limits *limits = NEW(a, struct device_limits);
    struct ws_captured *captured = NEW(a, struct ws_captured);
    assert_true(device_limits_for_arch(arch, limits));
    *captured = (struct ws_captured){
        .arena = a, .graph = must_parse(a, text), .guards = "", .workload = "test"};
    return ws_lower(captured, limits, WS_FUSE, NULL, d);
}

static void compile_for(const char *arch, uint32_t from) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain *t = toolchain_of(a, arch, &d);
    struct device_limits limits;
    struct drive *b[GRAPHS];
    case_vec graphs = {0};
    variant_vec all = {0};
    struct compiled c;
    assert_true(device_limits_for_arch(arch, &limits));
    cases_shapes(a, &graphs);
    cases_edges(a, &graphs);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct graph *g = must_parse(a, graphs.at[from + i * (graphs.n / GRAPHS)].text);
        b[i] = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
        if (!b[i] || !drive_add_variants(a, &all, b[i], the_last, NULL, &d)) fail_msg("%s", d.text);
    }
    text_vec texts = {0};
    drive_number_texts(a, &all, &texts);
    toolchain_compile(t, "variants", drive_join(a, &texts, 0, texts.n), false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    assert_true(c.size > 0);
    compiled_free(&c);
    for (int i = 0; i < GRAPHS; i++) drive_end(b[i]);
    toolchain_close(t);
    arena_free(a);
}

static void test_new_gpu(void **state) { compile_for("sm_90a", 0); }
static void test_old_gpu(void **state) { compile_for("sm_80", 1); }

/* PTX of the first kernel's default config. */
static const char *ptx_of(struct arena *a, const char *arch, const char *text,
                          struct config *config) {
    struct diag d = diag_new(a);
    struct toolchain *t = toolchain_of(a, arch, &d);
    struct device_limits limits;
    variant_vec all = {0};
    struct compiled c;
    assert_true(device_limits_for_arch(arch, &limits));
    struct graph *g = must_parse(a, text);
    struct drive *b = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
    if (!b || !drive_add_variants(a, &all, b, NULL, NULL, &d)) fail_msg("%s", d.text);
    text_vec texts = {0};
    drive_number_texts(a, &all, &texts);
    toolchain_compile(t, "variant", drive_join(a, &texts, 0, 1), true, &c);
    if (!c.ok) fail_msg("%s", c.log);
    const char *ptx = arena_strdup(a, c.ptx);
    *config = all.at[0].config;
    compiled_free(&c);
    drive_end(b);
    toolchain_close(t);
    return ptx;
}

static int occurrences(const char *text, const char *of) {
    int n = 0;
    for (; (text = strstr(text, of)); text++) n++;
    return n;
}

/* Four neighbours are drawn by one generator of ten rounds, each with this factor once. */
static void test_random_blocks(void **state) {
    struct arena *a = arena_new();
    struct config c;
    const char *ptx = ptx_of(a, "sm_90a",
                             "graph(%x: bf16[512, 4096]) {\n %r = rand_like(%x)\n"
                             " %k = ge(%r, 0.1)\n %y = mul(%x, %k)\n return %y\n}\n",
                             &c);
    int elements = c.knob[KNOB_x] * c.knob[KNOB_r] / (32 * c.knob[KNOB_warps]);
    int rounds = occurrences(ptx, "3528531795");
    assert_true(elements >= 4);
    assert_in_range(rounds, 1, 10 * elements / 4);
    arena_free(a);
}

/* A product in each precision, on each generation. */
static void test_precisions(void **state) {
    static const char *const archs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_120"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        struct arena *a = arena_new();
        struct config c;
        static const char text[] = "graph(%%x: f32[512, 512], %%y: f32[512, 512])%s {\n"
                                   " %%z = mm(%%x, %%y)\n return %%z\n}\n";
        const char *tf32 = ptx_of(a, archs[i], arena_printf(a, text, " products tf32"), &c);
        assert_true(c.knob[KNOB_mma] && strstr(tf32, ".f32.tf32.tf32"));
        bool by_maps = !strcmp(archs[i], "sm_90a"); /* which round what they copy */
        assert_true(by_maps || strstr(tf32, "cvt.rna.tf32.f32"));
        const char *f32 = ptx_of(a, archs[i], arena_printf(a, text, ""), &c);
        assert_true(!strstr(f32, ".tf32") && strstr(f32, ".f32.bf16.bf16"));
        const char *strict = ptx_of(a, archs[i], arena_printf(a, text, " products strict"), &c);
        assert_true(!c.knob[KNOB_mma] && !strstr(strict, "mma.") && strstr(strict, "fma.rn.f32"));
        arena_free(a);
    }
}

/* ---- helpers of the prelude that no kernel of the above has ---------------------------------- */

static const char HOPPER_TEXT[] =
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1)\n"
    "hopper(const __grid_constant__ k_map m, float *y, int c) {\n"
    "    extern __shared__ __align__(1024) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long bar;\n"
    "    float d[4] = {0, 0, 0, 0};\n"
    "    k_fewer_registers<40>();\n"
    "    k_map_prefetch(&m);\n"
    "    k_map_load(k_smem, &m, &bar, c, 1);\n"
    "    k_map_load(k_smem, &m, &bar, c, 1, 2);\n"
    "    k_map_load(k_smem, &m, &bar, c, 1, 2, 3);\n"
    "    k_map_load(k_smem, &m, &bar, c, 1, 2, 3, 4);\n"
    "    k_map_load_multicast(k_smem, &m, &bar, 3, c, 1);\n"
    "    k_map_load_multicast(k_smem, &m, &bar, 3, c, 1, 2);\n"
    "    k_map_load_multicast(k_smem, &m, &bar, 3, c, 1, 2, 3);\n"
    "    k_map_load_multicast(k_smem, &m, &bar, 3, c, 1, 2, 3, 4);\n"
    "    k_mbar_arrive_at(&bar, 1);\n"
    "    k_more_registers<240>();\n"
    "    k_barrier_sync(1, 128);\n"
    "    k_wgmma_hold(d), k_wgmma_begin();\n"
    "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3},\"\n"
    "                 \" %4, %5, 1, 1, 1, 0, 0;\"\n"
    "                 : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
    "                 : \"l\"(k_operand<128>(k_smem, 0, 1024)),\n"
    "                   \"l\"(k_operand<0>(k_smem + 8192, 128, 256)));\n"
    "    k_wgmma_commit(), k_wgmma_wait<0>(), k_wgmma_hold(d);\n"
    "    for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = d[i];\n"
    "}\n";

static const char AMPERE_TEXT[] = "extern \"C\" __global__ void ampere(float *y) {\n"
                                  "    extern __shared__ __align__(128) unsigned char k_smem[];\n"
                                  "    float d[4] = {0, 0, 0, 0};\n"
                                  "    unsigned a[4], b[4];\n"
                                  "    k_ldmatrix4<false>(a, k_smem + threadIdx.x * 16);\n"
                                  "    k_ldmatrix4<true>(b, k_smem + threadIdx.x * 16);\n"
                                  "    k_mma<k_bf16>(d, a, (const unsigned(&)[2])b);\n"
                                  "    k_mma<k_f16>(d, a, (const unsigned(&)[2])b);\n"
                                  "    a[0] = k_tf32_bits(d[0]);\n"
                                  "    k_mma_tf32(d, a, (const unsigned(&)[2])b);\n"
                                  "    k_barrier_sync(1, 32);\n"
                                  "    for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = d[i];\n"
                                  "}\n";

/* The text with what it needs of the prelude; in its PTX is each of the instructions, separated by
 * blanks. */
static void compile_helpers(const char *arch, const char *text, const char *const *instructions) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain *t = toolchain_of(a, arch, &d);
    struct compiled c;
    const char *whole = arena_printf(a, "%s\n%s", prelude_parts(a, true, text), text);
    toolchain_compile(t, "helpers", whole, true, &c);
    if (!c.ok) fail_msg("%s", c.log);
    if (c.serialized) fail_msg("%s", c.log);
    for (; *instructions; instructions++)
        if (!strstr(c.ptx, *instructions)) fail_msg("no %s", *instructions);
    compiled_free(&c);
    toolchain_close(t);
    arena_free(a);
}

static void test_matrix_units(void **state) {
    compile_helpers(
        "sm_90a", HOPPER_TEXT,
        (const char *const[]){
            "prefetch.tensormap",
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [",
            "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [",
            "bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast",
            "mbarrier.arrive.shared::cluster.b64", "setmaxnreg.dec", "setmaxnreg.inc",
            "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", NULL});
    static const char *const MMA[] = {"ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                                      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                                      "m16n8k16.row.col.f32.bf16.bf16.f32",
                                      "m16n8k16.row.col.f32.f16.f16.f32",
                                      "m16n8k8.row.col.f32.tf32.tf32.f32",
                                      "cvt.rna.tf32.f32",
                                      NULL};
    compile_helpers("sm_80", AMPERE_TEXT, MMA);
    compile_helpers("sm_90a", AMPERE_TEXT, MMA);
}

/* ---- tensor memory --------------------------------------------------------------------------- */

static const char TENSOR_TEXT[] =
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128, 1)\n"
    "tensor(float *y) {\n"
    "    extern __shared__ __align__(1024) unsigned char k_smem[];\n"
    "    const k_shared s = k_in_shared(k_smem);\n"
    "    if (threadIdx.x < 32) k_tensor_make<64>(s + 65536);\n"
    "    k_tensor_fence_before(), __syncthreads(), k_tensor_fence_after();\n"
    "    const unsigned sums = k_load_shared(s + 65536);\n"
    "    const unsigned long long a = k_tensor_operand<128>(s, 16, 1024);\n"
    "    if (threadIdx.x == 0) {\n"
    "        k_tensor_multiply<0>(sums, a, a, 0x4100490, 0);\n"
    "        k_tensor_multiply<1>(sums, a, a, 0x4100910, 0);\n"
    "        k_tensor_multiply<2>(sums, a, a, 0x41004a0, 0);\n"
    "        k_tensor_multiply<3>(sums, a, a, 0x4100010, 1);\n"
    "        k_tensor_commit(s + 65544), k_tensor_commit_to(s + 65544, 3);\n"
    "    }\n"
    "    __syncthreads();\n"
    "    y[threadIdx.x] = (float)sums;\n"
    "    if (threadIdx.x < 32) k_tensor_free<64>(sums);\n"
    "}\n";

/* Bytes of local memory that any function of a cubin has: spilled registers, arrays. */
static uint32_t frame_bytes(const unsigned char *elf) {
    enum { SECTIONS = 0x28, OF_SECTION = 0x3a, N_SECTIONS = 0x3c, NAMES = 0x3e };
    enum { AT = 24, BYTES = 32, WITH_VALUE = 4, FRAME_SIZE = 0x11 };
    uint64_t table, names, at, bytes;
    uint16_t each, n, of_names, size;
    uint32_t name, frame, most = 0;
    memcpy(&table, elf + SECTIONS, 8);
    memcpy(&each, elf + OF_SECTION, 2);
    memcpy(&n, elf + N_SECTIONS, 2);
    memcpy(&of_names, elf + NAMES, 2);
    memcpy(&names, elf + table + (uint64_t)of_names * each + AT, 8);
    for (unsigned i = 0; i < n; i++) {
        const unsigned char *section = elf + table + (uint64_t)i * each;
        memcpy(&name, section, 4);
        memcpy(&at, section + AT, 8);
        memcpy(&bytes, section + BYTES, 8);
        if (strcmp((const char *)elf + names + name, ".nv.info") != 0) continue;
        for (uint64_t o = at; o < at + bytes; o += 4 + (elf[o] == WITH_VALUE ? size : 0)) {
            memcpy(&size, elf + o + 2, 2);
            if (elf[o] != WITH_VALUE || elf[o + 1] != FRAME_SIZE) continue;
            memcpy(&frame, elf + o + 8, 4);
            if (frame > most) most = frame;
        }
    }
    return most;
}

#define PRODUCT(type, m, k, n, how)                                                                \
    "graph(%x: " type "[" m ", " k "], %y: " type "[" k ", " n "])" how " {\n"                     \
    " %z = mm(%x, %y)\n return %z\n}\n"

/* Products of all types and tiles: NVRTC has nothing to say, and no sums are spilled. */
static void test_tensor_memory(void **state) {
    static const char *const instructions[] = {
        "tcgen05.alloc.cta_group::1",
        "tcgen05.relinquish_alloc_permit",
        "tcgen05.dealloc",
        "tcgen05.fence::before_thread_sync",
        "tcgen05.fence::after_thread_sync",
        "tcgen05.mma.cta_group::1.kind::f16",
        "tcgen05.mma.cta_group::1.kind::tf32",
        "tcgen05.mma.cta_group::1.kind::i8",
        "tcgen05.mma.cta_group::1.kind::f8f6f4",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
        "shared::cluster.multicast::cluster.b64",
        NULL};
    static const struct {
        const char *graph, *config;
    } cases[] = {
        {PRODUCT("bf16", "4096", "4096", "4096", ""), "mma=1 m=128 n=256 k=64 stages=4 warps=12"},
        {PRODUCT("bf16", "4099", "2056", "4104", ""),
         "mma=1 m=128 n=256 k=64 stages=4 warps=12 cluster=2"},
        {PRODUCT("f16", "64", "8192", "1024", ""),
         "mma=1 m=64 n=128 k=64 stages=4 warps=8 split=4"},
        {PRODUCT("bf16", "1024", "1024", "1024", ""),
         "mma=1 m=64 n=128 k=64 stages=3 warps=8 fit=2"},
        {PRODUCT("f32", "1024", "1024", "1024", ""), "mma=1 m=128 n=128 k=64 stages=2 warps=12"},
        {PRODUCT("f32", "1024", "1024", "1024", ""), "mma=1 m=64 n=128 k=64 stages=2 warps=8"},
        {PRODUCT("f32", "1024", "1024", "1024", " products tf32"),
         "mma=1 m=128 n=256 k=32 stages=4 warps=12"},
        {"graph(%x: bf16[2048, 1024], %w: bf16[4096, 1024], %b: bf16[4096]) {\n"
         " %t = permute(%w, [1, 0])\n %z = mm(%x, %t)\n %a = add(%z, %b)\n %g = gelu(%a)\n"
         " return %g, %a\n}\n",
         "mma=1 m=128 n=256 k=64 stages=4 warps=12"},
        {"graph(%x: bf16[2048, 1024], %y: bf16[1024, 2048]) {\n %z = mm(%x, %y)\n"
         " %s = softmax(%z, 1)\n return %s\n}\n",
         "mma=1 m=128 n=128 k=64 stages=4 warps=12"},
        {"graph(%x: bf16[65536, 64], %y: bf16[64, 65536], %r: bf16[65536, 65536]) {\n"
         " %z = mm(%x, %y)\n %s = add(%z, %r)\n return %s\n}\n", /* places of 64 bits */
         "mma=1 m=128 n=128 k=64 stages=4 warps=12"},
        {"graph(%x: i8[2048, 1024], %y: i8[4096, 1024]) {\n %a = int(%x)\n %b = int(%y)\n"
         " %t = permute(%b, [1, 0])\n %z = mm(%a, %t)\n return %z\n}\n",
         "mma=1 m=128 n=256 k=128 stages=4 warps=12"},
        {PRODUCT("f32", "1024", "1024", "1024", ""),
         "mma=1 m=128 n=128 k=64 stages=3 warps=12 pairs=1"},
        {"graph(%x: bf16[8, 3, 224, 224], %w: bf16[64, 3, 7, 7]) {\n"
         " %z = convolution(%x, %w, None, [2, 2], [3, 3])\n return %z\n}\n",
         "mma=1 m=64 n=128 k=64 stages=3 warps=16 make=2"},
        {"graph(%x: f32[8, 3, 224, 224], %w: f32[64, 3, 7, 7]) {\n"
         " %z = convolution(%x, %w, None, [2, 2], [3, 3])\n return %z\n}\n",
         "mma=1 m=64 n=64 k=64 stages=2 warps=12 make=1"},
        {"graph(%x: f8e4m3[2048, 1024], %y: f8e5m2[1024, 2048]) {\n %z = mm_float8(%x, %y)\n"
         " return %z\n}\n",
         "mma=1 m=128 n=128 k=128 stages=4 warps=12"},
    };
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct compiled local;
    compile_helpers("sm_100a", TENSOR_TEXT, instructions);
    struct toolchain *t = toolchain_of(a, "sm_100a", &d);
    toolchain_compile(t, "local",
                      "extern \"C\" __global__ void local(float *y, int n) {\n"
                      "    float v[64];\n"
                      "    for (int i = 0; i < 64; i++) v[i] = y[i];\n"
                      "    for (int i = 0; i < n; i++) v[i * n % 64] += v[i % 64];\n"
                      "    y[0] = v[n];\n}\n",
                      false, &local);
    assert_true(local.ok && frame_bytes(local.binary) >= 256);
    compiled_free(&local);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_program *p = fused(a, cases[i].graph, "sm_100a", &d);
        struct ws_source source;
        struct config config;
        struct compiled c;
        if (!p || p->n_kernels != 1 || !config_parse(cases[i].config, &config, &d) ||
            ws_emit(p, 0, &config, a, &source, &d) != WS_OK)
            fail_msg("%s: %s", cases[i].config, d.text);
        toolchain_compile(t, "variant", source.text, true, &c);
        if (!c.ok || *c.log) fail_msg("%s: %s", cases[i].config, c.log);
        assert_non_null(strstr(c.ptx, "tcgen05.mma"));
        if (frame_bytes(c.binary))
            fail_msg("%s: %u bytes of local memory", cases[i].config, frame_bytes(c.binary));
        compiled_free(&c);
    }
    toolchain_close(t);
    arena_free(a);
}

/* Where places have 64 bits, what rows wait for is fetched ahead of its product, too: default
 * configs. */
static void test_wide_places(void **state) {
    static const char TEXT[] =
        "graph(%x: bf16[128, 4096, 64], %y: bf16[128, 64, 4096], %r: bf16[4096, 4096]) {\n"
        " %z = bmm(%x, %y)\n %s = add(%z, %r)\n %t = softmax(%s, 2)\n return %t\n}\n";
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain *t = toolchain_of(a, "sm_90a", &d);
    bool fetches = false;
    struct ws_program *p = fused(a, TEXT, "sm_90a", &d);
    for (int k = 0; p && k < p->n_kernels; k++) {
        struct ws_source source;
        struct compiled c;
        if (ws_emit(p, k, ws_default_config(p, k), a, &source, &d) != WS_OK) fail_msg("%s", d.text);
        fetches |= strstr(source.text, "k_prefetch(p") != NULL;
        toolchain_compile(t, "variant", source.text, false, &c);
        if (!c.ok) fail_msg("%s: %s", p->kernels[k].name, c.log);
        compiled_free(&c);
    }
    assert_true(fetches);
    toolchain_close(t);
    arena_free(a);
}

/* What is loaded of columns is used for both of a thread's rows, and not kept beside its sums; nor
 * are pairs of rows that are nearer to each other than columns. */
static void test_columns_first(void **state) {
    static const struct {
        const char *text, *config;
    } cases[] = {
        {"graph(%x: f32[4096, 1024], %y: f32[4096, 1024], %b: f32[4096], %c: f32[4096]) products "
         "tf32, convolutions tf32 {\n"
         " %p = permute(%y, [1, 0])\n %z = mm(%x, %p)\n %s = add(%z, %b)\n %t = sigmoid(%s)\n "
         "%u = mul(%t, %s)\n %v = add(%u, %c)\n return %v\n}\n",
         "warps=12 m=128 n=256 k=32 cluster=2 stages=4 mma=1"},
        {"graph(%x: f32[128, 32, 16, 16, 16], %w: f32[32, 64, 3, 3, 3], %b: f32[64], "
         "%r: f32[128, 64, 32, 32, 32]) convolutions tf32 {\n"
         " %c = convolution(%x, %w, %b, [2, 2, 2], [1, 1, 1], [1, 1, 1], True, [1, 1, 1], 1, 3)\n"
         " %s = add(%c, %r)\n %h = hardswish(%s)\n %v = mul(%s, %h)\n return %v\n}\n",
         "warps=16 m=192 n=128 k=32 cluster=2 stages=5 mma=1"},
    };
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct toolchain *t = toolchain_of(a, "sm_90a", &d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ws_source source;
        struct config config;
        struct compiled c;
        struct ws_program *p = fused(a, cases[i].text, "sm_90a", &d);
        if (!p || p->n_kernels != 1 || !config_parse(cases[i].config, &config, &d) ||
            ws_emit(p, 0, &config, a, &source, &d) != WS_OK)
            fail_msg("%s", d.text);
        toolchain_compile(t, "variant", source.text, false, &c);
        if (!c.ok) fail_msg("%s", c.log);
        assert_int_equal(frame_bytes(c.binary), 0);
        compiled_free(&c);
    }
    toolchain_close(t);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_gpu),       cmocka_unit_test(test_old_gpu),
        cmocka_unit_test(test_random_blocks), cmocka_unit_test(test_precisions),
        cmocka_unit_test(test_matrix_units),  cmocka_unit_test(test_tensor_memory),
        cmocka_unit_test(test_wide_places),   cmocka_unit_test(test_columns_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
