/* test_compile_map.c: kernels that take tensor maps, driven on the emulator as those that the
 * compiler prints: a kernel by hand in place of the printed one. */
#include "lower_test.h"
#include "tests/fuzz/drive.h"

/* y = -x of f32[20, 64] by two maps: of the first 4 rows and of the other 16. */
static const char TEXT[] =
    "/* ---- kernel text */\n"
    "extern \"C\" __global__ void negate(const __grid_constant__ k_map first,\n"
    "                                  const __grid_constant__ k_map rest, float *y) {\n"
    "    __shared__ __align__(1024) float s[2][16 * 64];\n"
    "    __shared__ unsigned long long bar;\n"
    "    if (threadIdx.x == 0) k_mbar_init(&bar, 1), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 0)\n"
    "        k_mbar_arrive_expect_tx(&bar, sizeof s), k_map_load(s[0], &first, &bar, 0, 0),\n"
    "            k_map_load(s[1], &rest, &bar, 0, 0);\n"
    "    k_mbar_wait(&bar, 0);\n"
    "    for (int i = (int)threadIdx.x; i < 20 * 64; i += 128)\n"
    "        y[i] = -(i < 4 * 64 ? s[0][i] : s[1][i - 4 * 64]);\n"
    "}\n";

static void test_maps(void **state) {
    struct device_limits limits = test_gpu("sm_90a");
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct emulation *s = emulation_new(a);
    struct graph *g = must_parse(a, "graph(%x: f32[20, 64]) {\n %y = neg(%x)\n return %y\n}\n");
    struct drive *b = drive_begin(a, g, drive_inputs(g, 7), &limits, WS_FUSE, &d);
    struct ws_map map = {
        .dtype = DT_F32, .rank = 2, .size = {64, 4}, .stride = {4, 256}, .box = {64, 16}};
    struct ws_map rest = map;
    rest.size[1] = 16;
    if (!b || !emulation_add_all(s, b, NULL, NULL, &d)) fail_msg("%s", d.text);
    const struct ws_kernel *k = &b->p->kernels[0];
    struct ws_source *source = &s->variants.at[0].source;
    struct ws_launch launch = {.entry = "negate", .grid = {1, 1, 1}, .threads = 128, .n_args = 3};
    *source = (struct ws_source){.text = TEXT, .n_launches = 1, .launches = &launch};
    struct ws_arg *args = launch.args;
    args[0] = (struct ws_arg){
        .kind = WS_ARG_MAP, .base = WS_ARG_BUFFER, .buffer = k->reads[0], .map = &map};
    args[1] = args[0];
    args[1].value = 4 * 256;
    args[1].map = &rest;
    args[2] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = k->writes[0]};
    s->variants.n = 1;
    if (!emulation_compile(s, &d) || !emulation_case(s, 0, true, &d)) fail_msg("%s", d.text);
    map.size[1] = 3; /* the fourth row is 0 then */
    assert_false(emulation_case(s, 0, false, &d));
    emulation_free(s);
    drive_end(b);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_maps)};
    return cmocka_run_group_tests_name("compile_map", tests, NULL, NULL);
}
