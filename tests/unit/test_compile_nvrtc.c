/* Joined texts of many kernels, as device_generated hands them to NVRTC on a GPU, compile here too,
 * and what text relies on the compiler to merge is merged; skipped where there is no NVRTC. */
#include "emit/emit.h"
#include "graph_test.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/drive_impl.h"

enum { GRAPHS = 12 };

static bool the_last(void *ctx, int config, int n) { return config == n - 1; }

static void compile_for(const char *arch, uint32_t from) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct toolchain *t = NULL;
    struct device_limits limits;
    struct drive *b[GRAPHS];
    case_vec graphs = {0};
    variant_vec all = {0};
    struct compiled c;
    if (toolchain_open(DEVICE_CUDA, arch, &env, a, &d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
    assert_true(device_limits_for_arch(arch, &limits));
    cases_shapes(a, &graphs);
    cases_edges(a, &graphs);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        struct graph *g = must_parse(a, graphs.at[from + i * (graphs.n / GRAPHS)].text);
        b[i] = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
        if (!b[i] || !drive_add_variants(a, &all, b[i], the_last, NULL, &d)) fail_msg("%s", d.text);
    }
    toolchain_compile(t, "variants", drive_join(a, &all, 0, all.n), false, &c);
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
    struct env env = env_read(a);
    struct toolchain *t = NULL;
    struct device_limits limits;
    variant_vec all = {0};
    struct compiled c;
    if (toolchain_open(DEVICE_CUDA, arch, &env, a, &d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
    assert_true(device_limits_for_arch(arch, &limits));
    struct graph *g = must_parse(a, text);
    struct drive *b = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
    if (!b || !drive_add_variants(a, &all, b, NULL, NULL, &d)) fail_msg("%s", d.text);
    toolchain_compile(t, "variant", drive_join(a, &all, 0, 1), true, &c);
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
    struct env env = env_read(a);
    struct toolchain *t = NULL;
    struct compiled c;
    if (toolchain_open(DEVICE_CUDA, arch, &env, a, &d, &t) != WS_OK) {
        arena_free(a);
        skip();
    }
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_gpu), cmocka_unit_test(test_old_gpu),
        cmocka_unit_test(test_random_blocks), cmocka_unit_test(test_precisions),
        cmocka_unit_test(test_matrix_units)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
