/* Tensor maps as arguments, against the fake driver: what is encoded of them, on every way to a
 * launch, and what is refused. */
#include "tests/unit/cuda_fixture.h"

#include "runtime/cuda/api.h"

static const struct tensor_map PLANE = {.dtype = DT_BF16,
                                        .rank = 2,
                                        .size = {4000, 123},
                                        .stride = {2, 8192},
                                        .box = {64, 128},
                                        .swizzle = 128};

static const struct tensor_map BLOCK = {.dtype = DT_F32,
                                        .tf32 = true,
                                        .rank = 5,
                                        .size = {1ll << 32, 2, 3, 4, 5},
                                        .stride = {4, 16, 1ll << 39, 64, 48},
                                        .box = {8, 256, 1, 2, 3},
                                        .swizzle = 32};

/* The fake's kernel, which copies its maps to `to`, one behind the other. */
static struct launch launch_map(struct module *m, const struct tensor_map *map,
                                const struct tensor_map *second, dptr *to) {
    struct launch l = launch(m, "map");
    l.n_args = 3;
    l.maps[0] = map;
    l.args[1] = to;
    l.maps[2] = second;
    return l;
}

static struct fake_map download(struct fixture *f, dptr from) {
    struct fake_map got;
    assert_int_equal(device_download(f->dev, &got, from, sizeof got, &f->diag), WS_OK);
    assert_int_equal(device_fill(f->dev, from, 0, sizeof got, &f->diag), WS_OK);
    return got;
}

static void expect_map(struct fixture *f, dptr from, const struct tensor_map *want, int type,
                       int swizzle) {
    struct fake_map got = download(f, from);
    assert_int_equal(got.address, want->address);
    assert_int_equal(got.type, type);
    assert_int_equal(got.rank, want->rank);
    assert_int_equal(got.swizzle, swizzle);
    assert_int_equal(got.promotion, CU_MAP_L2_PROMOTION_L2_256B);
    assert_true(got.plain);
    for (int i = 0; i < want->rank; i++) {
        assert_int_equal(got.size[i], want->size[i]);
        assert_int_equal(got.box[i], want->box[i]);
        if (i > 0) assert_int_equal(got.stride[i - 1], want->stride[i]);
    }
}

static dptr alloc_maps(struct fixture *f) {
    dptr p = 0;
    assert_int_equal(device_alloc(f->dev, 2 * sizeof(struct cu_tensor_map), &p, &f->diag), WS_OK);
    return p;
}

/* device_run, device_time and device_count of two launches, each with maps of its own. */
static void launch_every_way(struct fixture *f, bool counts) {
    enum { SAMPLES = 3 };
    struct tensor_map plane = PLANE, block = BLOCK;
    dptr first = alloc_maps(f), second = alloc_maps(f);
    double us[2 * SAMPLES];
    struct counters c[2];
    struct module *m = load(f);
    struct launch l[] = {launch_map(m, &plane, &block, &first),
                         launch_map(m, &block, &plane, &second)};
    plane.address = 0x7f0012345670;
    block.address = 0x7f0000000010;
    for (int way = 0; way < 2 + counts; way++) {
        enum ws_status s = way == 0 ? device_run(f->dev, l, 2, &f->diag)
                           : way == 1
                               ? device_time(f->dev, l, 2, SAMPLES, false, us, NULL, &f->diag)
                               : device_count(f->dev, l, 2, c, &f->diag);
        if (s != WS_OK) fail_msg("%s", f->diag.text);
        for (int i = 0; i < 2; i++) {
            dptr to = i ? second : first, next = to + sizeof(struct cu_tensor_map);
            expect_map(f, i ? next : to, &plane, CU_MAP_DATA_TYPE_BFLOAT16, CU_MAP_SWIZZLE_128B);
            expect_map(f, i ? to : next, &block, CU_MAP_DATA_TYPE_TFLOAT32, CU_MAP_SWIZZLE_32B);
        }
        plane.address += 256; /* launched again with another tensor */
    }
    device_unload(f->dev, m);
    device_free(f->dev, first);
    device_free(f->dev, second);
}

static void test_launches(void **state) {
    struct fixture *f = *state;
    f->kit->fake->passes = 1;
    open_device(f);
    launch_every_way(f, true);
    assert_int_equal(f->kit->fake->maps, 3 * 4); /* once a call, however often it is repeated */
}

static void test_graphs(void **state) {
    struct fixture *f = *state;
    f->env.graphs = true;
    open_device(f);
    launch_every_way(f, false);
    assert_true(f->kit->fake->graph_launches > 0);
}

/* The worker gets the map as it was described, and makes the driver's of it. */
static void test_isolated(void **state) {
    struct fixture *f = *state;
    const char *why;
    setenv("CUDA_HOME", f->kit->home, 1);
    setenv("FAKE_CUDA_GPUS", "1", 1);
    if (device_open_isolated("cuda:0", f->arena, &f->diag, &f->dev, &why) != WS_OK)
        fail_msg("%s", f->diag.text);
    unsetenv("FAKE_CUDA_GPUS");
    unsetenv("CUDA_HOME");
    assert_true(device_limits(f->dev)->tma);
    launch_every_way(f, false);
    assert_int_equal(f->kit->fake->maps, 0); /* here */
}

static void test_types(void **state) {
    struct fixture *f = *state;
    static const int types[DT_COUNT] = {
        [DT_BOOL] = 0,   [DT_U8] = 0,     [DT_I8] = 0,  [DT_I16] = 1,  [DT_I32] = 3, [DT_I64] = 5,
        [DT_F8E4M3] = 0, [DT_F8E5M2] = 0, [DT_F16] = 6, [DT_BF16] = 9, [DT_F32] = 7, [DT_F64] = 8};
    static const int modes[] = {0, 32, 64, 128};
    open_device(f);
    struct module *m = load(f);
    dptr to = alloc_maps(f);
    for (int t = 0; t < DT_COUNT; t++)
        for (int mode = 0; mode < 4; mode++) {
            int bytes = dtype_bytes((enum dtype)t);
            struct tensor_map map = {.address = 16,
                                     .dtype = (enum dtype)t,
                                     .rank = 1,
                                     .size = {100},
                                     .stride = {bytes},
                                     .box = {32 / bytes},
                                     .swizzle = modes[mode]};
            struct launch l = launch_map(m, &map, &map, &to);
            if (device_run(f->dev, &l, 1, &f->diag) != WS_OK) fail_msg("%s", f->diag.text);
            expect_map(f, to, &map, types[t], mode);
        }
    device_unload(f->dev, m);
    device_free(f->dev, to);
}

/* One message for each rule, before the driver is asked. */
static void test_illegal_maps(void **state) {
    struct fixture *f = *state;
    struct tensor_map map[14];
    static const char *const why[] = {
        "the rank is 0, not 1 to 5",
        "the rank is 6, not 1 to 5",
        "elements of bf16 do not round to tf32",
        "the size of dimension 1 is 0, not 1 to 2^32",
        "the size of dimension 0 is 4294967297, not 1 to 2^32",
        "the box is 257 along dimension 1, not 1 to 256",
        "the box is 0 along dimension 0, not 1 to 256",
        "the stride of dimension 0 is 4 bytes, not the element's 2",
        "the stride of dimension 1 is 8008 bytes, not a multiple of 16 below 2^40",
        "the stride of dimension 1 is 1099511627776 bytes, not a multiple of 16 below 2^40",
        "a row of the box has 24 bytes, not a multiple of 16",
        "a row of the box has 128 bytes, more than the swizzle's 64",
        "the swizzle is 48 bytes, not 0, 32, 64 or 128",
        "the address 0x1008 is no multiple of 16",
    };
    for (int i = 0; i < 14; i++) map[i] = PLANE;
    map[0].rank = 0;
    map[1].rank = 6;
    map[2].tf32 = true;
    map[3].size[1] = 0;
    map[4].size[0] = (1ll << 32) + 1;
    map[5].box[1] = 257;
    map[6].box[0] = 0;
    map[7].stride[0] = 4;
    map[8].stride[1] = 8008;
    map[9].stride[1] = 1ll << 40;
    map[10].box[0] = 12;
    map[11].swizzle = 64;
    map[12].swizzle = 48;
    map[13].address = 0x1008;
    open_device(f);
    struct module *m = load(f);
    dptr to = alloc_maps(f);
    for (int i = 0; i < 14; i++) {
        struct launch l = launch_map(m, &map[i], &map[i], &to);
        double us;
        for (int way = 0; way < 2; way++) {
            f->diag = diag_new(f->arena);
            assert_int_equal(way ? device_time(f->dev, &l, 1, 1, false, &us, NULL, &f->diag)
                                 : device_run(f->dev, &l, 1, &f->diag),
                             WS_MACHINE);
            if (!strstr(f->diag.message, why[i])) fail_msg("'%s': %s", why[i], f->diag.message);
            assert_non_null(
                strstr(f->diag.message, "cannot launch 'map': argument 0 is no tensor"));
            assert_null(strchr(f->diag.message, '\n'));
        }
    }
    assert_string_equal(tensor_map_str(&PLANE, f->arena),
                        "bf16 4000 x 123 by 8192, box 64 x 128, swizzle 128");
    assert_string_equal(tensor_map_str(&BLOCK, f->arena),
                        "tf32 4294967296 x 2 x 3 x 4 x 5 by 16, 549755813888, 64, 48, "
                        "box 8 x 256 x 1 x 2 x 3, swizzle 32");
    assert_int_equal(f->kit->fake->maps, 0);
    assert_int_equal(f->kit->fake->launches, 0);
    assert_false(device_is_lost(f->dev));
    /* Nothing is launched over no elements, and nothing is asked of its maps. */
    struct launch none = launch_map(m, &map[3], &map[3], &to);
    none.grid[0] = 0;
    f->diag = diag_new(f->arena);
    assert_int_equal(device_run(f->dev, &none, 1, &f->diag), WS_OK);
    device_unload(f->dev, m);
    device_free(f->dev, to);
}

/* Corners: where the first window is, and the last one from the tensor's last element. */
static void test_windows(void **state) {
    struct fixture *f = *state;
    struct tensor_map map = {.address = 256,
                             .dtype = DT_BF16,
                             .rank = 4,
                             .size = {64, 56, 57, 16},
                             .stride = {2, 128, 56 * 128, 57 * 56 * 128},
                             .box = {64, 512, 1, 1},
                             .windows = true,
                             .window = {{-1, 54, 1}, {-3, 55, 2}},
                             .swizzle = 128};
    struct tensor_map bad[4] = {map, map, map, map};
    static const char *const why[] = {"windows are 9 apart, not 1 to 8",
                                      "there is no window along dimension 1",
                                      "corners of -129 and -1; they have 8 bits",
                                      "the box is 1025 along dimension 1, not 1 to 1024"};
    open_device(f);
    struct module *m = load(f);
    dptr to = alloc_maps(f);
    struct launch l = launch_map(m, &map, &map, &to);
    struct fake_map got;
    if (device_run(f->dev, &l, 1, &f->diag) != WS_OK) fail_msg("%s", f->diag.text);
    if (device_download(f->dev, &got, to, sizeof got, &f->diag) != WS_OK)
        fail_msg("%s", f->diag.text);
    assert_true(got.windows && got.plain);
    assert_int_equal(got.rank, 4);
    assert_int_equal(got.box[0], 64);
    assert_int_equal(got.box[1], 512);
    for (int i = 0; i < 4; i++) assert_int_equal(got.size[i], map.size[i]);
    for (int i = 0; i < 3; i++) assert_int_equal(got.stride[i], map.stride[i + 1]);
    static const int lower[] = {-1, -3}, upper[] = {-1, -1}, step[] = {1, 2};
    for (int d = 0; d < 2; d++) {
        assert_int_equal(got.lower[d], lower[d]);
        assert_int_equal(got.upper[d], upper[d]);
        assert_int_equal(got.step[d], step[d]);
    }
    assert_string_equal(tensor_map_str(&map, f->arena),
                        "bf16 64 x 56 x 57 x 16 by 128, 7168, 408576, box 64 x 512, windows -1 to "
                        "54 by 1 x -3 to 55 by 2, swizzle 128");
    assert_int_equal(tensor_map_offset_end(&map), 256);
    bad[0].window[1].step = 9;
    bad[1].window[1].last = -4;
    bad[2].window[0].first = -129;
    bad[3].box[1] = 1025;
    for (int i = 0; i < 4; i++) assert_string_equal(tensor_map_illegal(&bad[i], f->arena), why[i]);
    f->kit->fake->map_status = 1;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuTensorMapEncodeIm2col of argument 0 of 'map'"));
    device_unload(f->dev, m);
    device_free(f->dev, to);
}

static void test_driver_that_refuses(void **state) {
    struct fixture *f = *state;
    struct tensor_map map = PLANE;
    open_device(f);
    struct module *m = load(f);
    dptr to = alloc_maps(f);
    struct launch l = launch_map(m, &map, &map, &to);
    f->kit->fake->map_status = 1;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuTensorMapEncodeTiled of argument 0 of 'map' (bf16 4000 "
                                         "x 123 by 8192, box 64 x 128, swizzle 128) on cuda:1"));
    assert_int_equal(f->kit->fake->launches, 0);
    assert_false(device_is_lost(f->dev));
    device_unload(f->dev, m);
    device_free(f->dev, to);
}

static void refuse_on(struct fixture *f, const char *what) {
    struct tensor_map map = PLANE;
    struct module *m = load(f);
    dptr to = 1;
    struct launch l = launch_map(m, &map, &map, &to);
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    if (!strstr(f->diag.text, what)) fail_msg("'%s': %s", what, f->diag.text);
    device_unload(f->dev, m);
}

static void test_older_gpu(void **state) {
    struct fixture *f = *state;
    f->kit->fake->major = 8;
    f->kit->fake->minor = 9;
    open_device(f);
    refuse_on(f, "cannot launch 'map': argument 0 is a tensor map, and cuda:1 (sm_89) has no TMA");
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        TEST(test_launches),  TEST(test_graphs),       TEST(test_isolated),
        TEST(test_types),     TEST(test_illegal_maps), TEST(test_driver_that_refuses),
        TEST(test_older_gpu), TEST(test_windows),
    };
    return cmocka_run_group_tests_name("runtime_map", tests, make_toolkit, remove_toolkit);
}
