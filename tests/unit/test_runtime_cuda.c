/* The CUDA device against the fake driver of fake_cuda.c: what happens when records are lost,
 * stamps are missing, another profiler is there, a kernel goes astray. No GPU needed. */
#include "tests/unit/cuda_fixture.h"

/* ---- opening ----------------------------------------------------------------------------------
 */

static void test_facts_and_limits(void **state) {
    struct fixture *f = *state;
    open_device(f);
    const struct device_facts *facts = device_facts(f->dev);
    const struct device_limits *l = device_limits(f->dev);
    assert_string_equal(facts->name, "Fake H200");
    assert_string_equal(facts->driver, "580.1.2 (CUDA 13.0)");
    assert_string_equal(facts->timer, "cupti");
    assert_string_equal(facts->id, "cuda:1");
    assert_string_equal(facts->uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
    assert_string_equal(l->arch, "sm_90a");
    assert_int_equal(l->kind, DEVICE_CUDA);
    assert_int_equal(l->units, 132);
    assert_int_equal(l->smem_block, 232448);
    assert_int_equal(l->l2_bytes, 1 << 20);
    assert_int_equal(l->memory_bytes, INT64_C(141) << 30);
    assert_int_equal((int)l->peak_gbps, 4916); /* 3201 MHz x 2 x 768 bytes */
    assert_int_equal((int)(l->matrix_tflops + 0.5), 990);
}

static void test_arch_names(void **state) {
    struct fixture *f = *state;
    static const struct {
        int major, minor;
        const char *arch;
        bool wgmma, tma;
    } cases[] = {{8, 0, "sm_80", false, false},
                 {8, 9, "sm_89", false, false},
                 {9, 0, "sm_90a", true, true},
                 {10, 0, "sm_100a", false, true},
                 {12, 0, "sm_120", false, true}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->kit->fake->major = cases[i].major;
        f->kit->fake->minor = cases[i].minor;
        open_device(f);
        const struct device_limits *l = device_limits(f->dev);
        assert_string_equal(l->arch, cases[i].arch);
        assert_int_equal(l->sm, 10 * cases[i].major + cases[i].minor);
        assert_int_equal(l->wgmma, cases[i].wgmma);
        assert_int_equal(l->tma, cases[i].tma);
        device_close(f->dev);
        f->dev = NULL;
    }
}

static void test_default_is_the_gpu(void **state) {
    struct fixture *f = *state;
    const char *why;
    assert_int_equal(device_open(NULL, &f->env, f->arena, &f->diag, &f->dev, &why), WS_OK);
    assert_string_equal(
        why, "device cuda:0: Fake H200, sm_90a, 132 multiprocessors (default: a GPU is present)");
}

static void test_default_without_gpus(void **state) {
    struct fixture *f = *state;
    const char *why;
    f->kit->fake->gpus = 0;
    assert_int_equal(device_open(NULL, &f->env, f->arena, &f->diag, &f->dev, &why), WS_OK);
    assert_string_equal(device_facts(f->dev)->id, "cpu");
    assert_non_null(strstr(why, "(default: no GPU)"));
}

static void test_no_such_gpu(void **state) {
    struct fixture *f = *state;
    const char *why;
    assert_int_equal(device_open("cuda:2", &f->env, f->arena, &f->diag, &f->dev, &why), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuda:2; the driver shows 2"));
}

/* CUPTI in other hands is an error, never another clock; and it is no error any more once it is
 * free. */
static void test_another_profiler(void **state) {
    struct fixture *f = *state;
    const char *why;
    f->kit->fake->subscribe_status = 39;
    assert_int_equal(device_open("cuda:0", &f->env, f->arena, &f->diag, &f->dev, &why), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "another profiler"));
    assert_non_null(strstr(f->diag.text, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"));
    f->kit->fake->subscribe_status = 0;
    f->diag = diag_new(f->arena);
    open_device(f);
}

static void test_two_devices_at_once(void **state) {
    struct fixture *f = *state;
    struct device *second;
    const char *why;
    open_device(f);
    assert_int_equal(device_open("cuda:0", &f->env, f->arena, &f->diag, &second, &why), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "already open in this process"));
}

static void test_library_that_does_not_load(void **state) {
    struct fixture *f = *state;
    struct toolkit broken;
    struct device *dev;
    const char *why;
    snprintf(broken.home, sizeof broken.home, P_tmpdir "/fake-cuda-XXXXXX");
    assert_non_null(mkdtemp(broken.home));
    const char *folder = arena_printf(f->arena, "%s/lib64", broken.home);
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *path = lib_path(f->arena, &broken, NAMES[0]);
    write_file(path, "no library", 10);
    f->env.cuda_home = broken.home;
    /* Where there is a real driver it is found elsewhere; else the broken file is named. */
    if (device_open("cuda:1000", &f->env, f->arena, &f->diag, &dev, &why) != WS_OK &&
        !strstr(f->diag.text, "no such GPU")) {
        assert_non_null(strstr(f->diag.text, "libcuda.so.1 does not load"));
        assert_non_null(strstr(f->diag.text, path));
    }
    unlink(path);
    rmdir(folder);
    rmdir(broken.home);
}

/* ---- timing -----------------------------------------------------------------------------------
 */

enum { SAMPLES = 7 };

/* Kernel "a" takes 1 us and "b" 2 us, whatever else happens around them. */
static void expect_times(struct fixture *f, bool flush) {
    struct module *m = load(f);
    struct launch l[] = {launch(m, "a"), launch(m, "b"), launch(m, "a")};
    double us[3 * SAMPLES];
    struct sample_extra extra[SAMPLES];
    l[2].grid[0] = 0;
    if (device_time(f->dev, l, 3, SAMPLES, flush, us, extra, &f->diag) != WS_OK)
        fail_msg("%s", f->diag.text);
    for (int i = 0; i < SAMPLES; i++) {
        assert_true(us[3 * i] == 1.0);
        assert_true(us[3 * i + 1] == 2.0);
        assert_true(us[3 * i + 2] == 0.0); /* an empty grid is not launched */
        assert_true(extra[i].host_us >= 0 && extra[i].span_us >= 0);
    }
    device_unload(f->dev, m);
}

static void test_time(void **state) {
    struct fixture *f = *state;
    open_device(f);
    expect_times(f, false);
    assert_int_equal(f->kit->fake->flushes, 0);
    assert_int_equal(f->kit->fake->launches, 2 * (SAMPLES + 1)); /* one warm-up */
    expect_times(f, true);
    assert_int_equal(f->kit->fake->flushes, SAMPLES);
    assert_int_equal(f->kit->fake->l2_resets, SAMPLES);
}

/* What takes long is timed a sample at a time: the warm-up is not made again each time. */
static void test_one_warm_up_a_module(void **state) {
    struct fixture *f = *state;
    double us[1];
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    for (int i = 0; i < 3; i++)
        assert_int_equal(device_time(f->dev, &l, 1, 1, false, us, NULL, &f->diag), WS_OK);
    assert_int_equal(f->kit->fake->launches, 3 + 1);
    device_unload(f->dev, m);
    l.module = m = load(f);
    assert_int_equal(device_time(f->dev, &l, 1, 1, false, us, NULL, &f->diag), WS_OK);
    assert_int_equal(f->kit->fake->launches, 3 + 1 + 2);
    device_unload(f->dev, m);
}

/* The driver clears what was freed: at 0.5 GB in a ms times wait for that. */
static void test_freed_is_cleared(void **state) {
    const size_t BYTES = 900 << 20;
    const double CLEARING_MS = 1.8, JITTER_MS = 0.1;
    struct fixture *f = *state;
    double us[1];
    dptr p;
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    assert_int_equal(device_alloc(f->dev, BYTES, &p, &f->diag), WS_OK);
    double freed = clock_ms();
    device_free(f->dev, p);
    assert_int_equal(device_time(f->dev, &l, 1, 1, false, us, NULL, &f->diag), WS_OK);
    assert_true(clock_ms() - freed > CLEARING_MS - JITTER_MS);
    device_unload(f->dev, m);
}

/* A flush for every few launches, so that the host is done with all of them before the first
 * begins. */
static void test_flush_of_many_launches(void **state) {
    struct fixture *f = *state;
    enum { LAUNCHES = 20, LEAST = LAUNCHES / 10 };
    struct launch l[LAUNCHES];
    double us[LAUNCHES * SAMPLES];
    open_device(f);
    struct module *m = load(f);
    for (int i = 0; i < LAUNCHES; i++) l[i] = launch(m, "a");
    assert_int_equal(device_time(f->dev, l, LAUNCHES, SAMPLES, true, us, NULL, &f->diag), WS_OK);
    assert_true(f->kit->fake->flushes > LEAST * SAMPLES);
    assert_int_equal(f->kit->fake->l2_resets, SAMPLES);
    device_unload(f->dev, m);
}

/* What a kernel keeps in the L2 would otherwise be there for the next repetition. */
static void test_lines_that_stay(void **state) {
    struct fixture *f = *state;
    open_device(f);
    f->kit->fake->l2_status = 801; /* a device without such lines */
    expect_times(f, true);
    f->kit->fake->l2_status = 1;
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    double us;
    assert_int_equal(device_time(f->dev, &l, 1, 1, true, &us, NULL, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuCtxResetPersistingL2Cache"));
    device_unload(f->dev, m);
}

/* A span counts where the host was done before the device began. */
static void test_gaps_of_a_slow_host(void **state) {
    struct fixture *f = *state;
    enum { BEHIND = 3 };
    double us[2 * SAMPLES];
    struct sample_extra extra[SAMPLES];
    open_device(f);
    struct module *m = load(f);
    struct launch l[] = {launch(m, "a"), launch(m, "b")};
    f->kit->fake->behind = BEHIND;
    assert_int_equal(device_time(f->dev, l, 2, SAMPLES, true, us, extra, &f->diag), WS_OK);
    for (int i = 0; i < SAMPLES; i++) {
        assert_int_equal(extra[i].queued, i >= BEHIND);
        assert_true(extra[i].span_us == 3);
    }
    device_unload(f->dev, m);
}

/* Launches that may overlap do so with the one before them in the same call, where the GPU can; the
 * time that they wait is no time of theirs. */
static void test_overlapping(void **state) {
    struct fixture *f = *state;
    double us[4 * SAMPLES];
    struct sample_extra extra[SAMPLES];
    for (int i = 0; i < 3; i++) {
        f->kit->fake->major = i == 1 ? 8 : 9;
        f->kit->fake->overlapping = 0;
        f->env.no_overlap = i == 2;
        open_device(f);
        struct module *m = load(f);
        struct launch l[] = {launch(m, "a"), launch(m, "a"), launch(m, "b"), launch(m, "a")};
        for (int k = 0; k < 3; k++) l[k].overlaps = true;
        l[0].grid[0] = 0; /* so that the second is the first */
        assert_int_equal(device_run(f->dev, l, 4, &f->diag), WS_OK);
        assert_int_equal(f->kit->fake->overlapping, i == 0);
        assert_int_equal(device_time(f->dev, l, 4, SAMPLES, true, us, extra, &f->diag), WS_OK);
        assert_int_equal(f->kit->fake->overlapping, i == 0 ? SAMPLES + 2 : 0);
        for (int k = 0; k < SAMPLES; k++) {
            assert_true(us[4 * k] == 0 && us[4 * k + 1] == 1);
            assert_true(us[4 * k + 2] == 2 && us[4 * k + 3] == 1);
            assert_true(extra[k].span_us == 4);
        }
        device_unload(f->dev, m);
        device_close(f->dev);
        f->dev = NULL;
    }
}

/* Several launches as one graph: submitted at once, timed one by one; one launch is none. */
static void test_graphs(void **state) {
    struct fixture *f = *state;
    double us[4 * SAMPLES];
    struct sample_extra extra[SAMPLES];
    f->env.graphs = true;
    open_device(f);
    struct module *m = load(f);
    struct launch l[] = {launch(m, "b"), launch(m, "a"), launch(m, "b"), launch(m, "a")};
    for (int k = 0; k < 4; k++) l[k].overlaps = k != 1;
    l[0].grid[0] = 0;
    assert_int_equal(device_run(f->dev, l, 4, &f->diag), WS_OK);
    assert_int_equal(f->kit->fake->graph_launches, 1);
    assert_int_equal(f->kit->fake->launches, 3);
    f->kit->fake->drop = 5; /* the warm-up, and two of a repetition that is made again */
    assert_int_equal(device_time(f->dev, l, 4, SAMPLES, true, us, extra, &f->diag), WS_OK);
    assert_int_equal(f->kit->fake->graph_launches, SAMPLES + 2);
    for (int k = 0; k < SAMPLES; k++) {
        assert_true(us[4 * k] == 0 && us[4 * k + 1] == 1);
        assert_true(us[4 * k + 2] == 2 && us[4 * k + 3] == 1);
        assert_true(extra[k].span_us == 4);
    }
    int before = f->kit->fake->graph_launches;
    assert_int_equal(device_time(f->dev, l + 1, 1, SAMPLES, true, us, NULL, &f->diag), WS_OK);
    assert_int_equal(f->kit->fake->graph_launches, before);
    f->kit->fake->graph_status = 1;
    assert_int_equal(device_run(f->dev, l, 4, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuGraphInstantiate of 4 launches"));
    assert_int_equal(f->kit->fake->leaked, 0);
    device_unload(f->dev, m);
}

/* Enough launches to fill several buffers and to pass the queue's depth. */
static void test_time_many(void **state) {
    struct fixture *f = *state;
    enum { MANY = 1500 };
    static double us[MANY];
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "b");
    assert_int_equal(device_time(f->dev, &l, 1, MANY, true, us, NULL, &f->diag), WS_OK);
    for (int i = 0; i < MANY; i++) assert_true(us[i] == 2.0);
    device_unload(f->dev, m);
}

static void test_lost_records_are_measured_again(void **state) {
    struct fixture *f = *state;
    open_device(f);
    f->kit->fake->drop = 2 + 3; /* the warm-up's two, then three of the first repetitions */
    expect_times(f, true);
    assert_int_equal(f->kit->fake->drop, 0);
    assert_true(f->kit->fake->flushes > SAMPLES);
}

static void test_zero_stamps_are_measured_again(void **state) {
    struct fixture *f = *state;
    open_device(f);
    f->kit->fake->zero = 2 + 5;
    expect_times(f, false);
    assert_true(f->kit->fake->launches > 2 * (SAMPLES + 1));
}

static void test_no_stamps_at_all(void **state) {
    struct fixture *f = *state;
    double us[SAMPLES];
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    f->kit->fake->zero = 1 << 20;
    assert_int_equal(device_time(f->dev, &l, 1, SAMPLES, false, us, NULL, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "no usable record for 7 of 7 repetitions of 'a'"));
    assert_false(device_is_lost(f->dev));
    device_unload(f->dev, m);
}

static void test_unseen_launch(void **state) {
    struct fixture *f = *state;
    double us;
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    f->kit->fake->silent = 1;
    assert_int_equal(device_time(f->dev, &l, 1, 1, false, &us, NULL, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "CUPTI did not see the launch of 'a'"));
    device_unload(f->dev, m);
}

static void test_helpers_do_not_compile(void **state) {
    struct fixture *f = *state;
    double us;
    f->kit->fake->bad_nvrtc = 1; /* they are compiled while the device opens, which it does */
    open_device(f);
    struct module *m = load(f);
    struct launch l = launch(m, "a");
    assert_int_equal(device_time(f->dev, &l, 1, 1, true, &us, NULL, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "NVRTC_ERROR_COMPILATION"));
    device_unload(f->dev, m);
}

/* ---- the runtime's own kernels ------------------------------------------------------------------
 */

static void test_compare(void **state) {
    enum { N = 8 };
    struct fixture *f = *state;
    const unsigned short got[N] = {[5] = 0x3fc0}; /* bf16 1.5 */
    const double want[N] = {[5] = 2};
    dptr at[2];
    struct mismatch m;
    open_device(f);
    f->kit->fake->bad = 3;
    f->kit->fake->worst = 5;
    f->kit->fake->unbounded = 2;
    assert_int_equal(device_alloc(f->dev, sizeof got, &at[0], &f->diag), WS_OK);
    assert_int_equal(device_alloc(f->dev, sizeof want, &at[1], &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, at[0], got, sizeof got, &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, at[1], want, sizeof want, &f->diag), WS_OK);
    assert_int_equal(device_compare(f->dev, at[0], DT_BF16, at[1], N, 0, &m, &f->diag), WS_OK);
    assert_int_equal(m.bad, 3);
    assert_int_equal(m.worst, 5);
    assert_int_equal(m.unbounded, 2);
    assert_true(m.got == 1.5 && m.want == 2 && m.bound == 0);
    f->kit->fake->worst = N;
    assert_int_equal(device_compare(f->dev, at[0], DT_BF16, at[1], N, 0, &m, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "found no worst element"));
    device_free(f->dev, at[0]);
    device_free(f->dev, at[1]);
}

/* A quarter of the free gigabyte is copied in the fake's 50 us, read and written. */
static void test_copy_gbps(void **state) {
    struct fixture *f = *state;
    double gbps = 0;
    open_device(f);
    assert_int_equal(device_copy_gbps(f->dev, &gbps, &f->diag), WS_OK);
    assert_true(gbps == 2.0 * (1 << 28) / 50000);
    f->kit->fake->silent = 1;
    assert_int_equal(device_copy_gbps(f->dev, &gbps, &f->diag), WS_MACHINE);
}

/* ---- errors -----------------------------------------------------------------------------------
 */

static void test_launch_errors(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *entry, *said;
        int threads, smem;
        int64_t gy;
    } cases[] = {{"missing", "CUDA_ERROR_NOT_FOUND", 256, 0, 1},
                 {"a", "0 threads", 0, 0, 1},
                 {"a", "2048 threads", 2048, 0, 1},
                 {"a", "232449 bytes of shared memory", 32, 232449, 1},
                 {"a", "over 65535", 32, 0, 70000}};
    open_device(f);
    struct module *m = load(f);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct launch l = launch(m, cases[i].entry);
        struct diag d = diag_new(f->arena);
        l.threads = cases[i].threads;
        l.smem = cases[i].smem;
        l.grid[1] = cases[i].gy;
        assert_int_equal(device_run(f->dev, &l, 1, &d), WS_MACHINE);
        if (!strstr(d.text, cases[i].said)) fail_msg("case %u: %s", i, d.text);
    }
    assert_int_equal(f->kit->fake->launches, 0);
    assert_false(device_is_lost(f->dev));
    device_unload(f->dev, m);
}

static void test_bad_cubin(void **state) {
    struct fixture *f = *state;
    struct module *m;
    open_device(f);
    assert_int_equal(device_load(f->dev, "\177ELF", 4, &m, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "it is no cubin"));
    assert_int_equal(f->kit->fake->loaded, 0);
}

static void test_out_of_memory(void **state) {
    struct fixture *f = *state;
    dptr p;
    open_device(f);
    assert_int_equal(device_alloc(f->dev, (size_t)2 << 30, &p, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "2147483648 bytes (1073741824 of 1073741824 bytes free)"));
    assert_false(device_is_lost(f->dev));
}

static void lose(struct fixture *f, struct module *m) {
    struct launch l = launch(m, "a");
    f->kit->fake->sync_status = 700;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_non_null(strstr(f->diag.text, "cuda:1"));
    assert_true(device_is_lost(f->dev));
    f->diag = diag_new(f->arena);
}

static void test_lost_and_reset(void **state) {
    struct fixture *f = *state;
    struct diag d = diag_new(f->arena);
    dptr p;
    open_device(f);
    struct module *m = load(f);
    expect_times(f, true); /* the helpers are loaded, and will be lost too */
    lose(f, m);
    assert_int_equal(device_alloc(f->dev, 16, &p, &d), WS_MACHINE);
    assert_non_null(strstr(d.text, "cuda:1 is lost after CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    assert_false(device_is_lost(f->dev));

    struct launch l = launch(m, "a");
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "before cuda:1 was reset"));
    f->diag = diag_new(f->arena);
    int loaded = f->kit->fake->loaded;
    device_unload(f->dev, m);
    assert_int_equal(f->kit->fake->loaded, loaded); /* its handle died with the old context */
    expect_times(f, true);
}

static void test_reset_that_fails(void **state) {
    struct fixture *f = *state;
    open_device(f);
    struct module *m = load(f);
    lose(f, m);
    f->kit->fake->reset_status = 999;
    assert_int_equal(device_reset(f->dev, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "cuDevicePrimaryCtxReset"));
    assert_true(device_is_lost(f->dev));
    device_unload(f->dev, m);
}

/* ---- health -----------------------------------------------------------------------------------
 */

static void test_health(void **state) {
    struct fixture *f = *state;
    struct health h;
    open_device(f);
    f->kit->fake->throttle = 0x1 | 0x2; /* idle, clocks set by hand */
    device_health(f->dev, &h);
    assert_int_equal(h.clock_mhz, 1980);
    assert_int_equal(h.mem_clock_mhz, 3201);
    assert_int_equal(h.temp_c, 41);
    assert_int_equal(h.power_w, 124);
    assert_int_equal(h.throttle_bits, 0);
    assert_string_equal(h.throttle, "none");
    f->kit->fake->throttle = 0x1 | 0x8 | 0x20;
    device_health(f->dev, &h);
    assert_int_equal(h.throttle_bits, 0x28);
    assert_string_equal(h.throttle, "hw_slowdown+sw_thermal");
}

static void test_function_facts(void **state) {
    struct fixture *f = *state;
    struct function_facts facts;
    open_device(f);
    struct module *m = load(f);
    assert_int_equal(device_function_facts(f->dev, m, "a", 256, 0, &facts, &f->diag), WS_OK);
    assert_int_equal(facts.regs, 40);
    assert_int_equal(facts.spill_bytes, 16);
    assert_int_equal(facts.smem_static, 1024);
    assert_int_equal(facts.blocks_per_unit, 8);
    assert_int_equal(device_function_facts(f->dev, m, "a", 256, 232448, &facts, &f->diag), WS_OK);
    assert_int_equal(facts.blocks_per_unit, 0); /* with its static memory that is too much */
    device_unload(f->dev, m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_facts_and_limits),
        TEST(test_arch_names),
        TEST(test_default_is_the_gpu),
        TEST(test_default_without_gpus),
        TEST(test_no_such_gpu),
        TEST(test_another_profiler),
        TEST(test_two_devices_at_once),
        TEST(test_library_that_does_not_load),
        TEST(test_time),
        TEST(test_one_warm_up_a_module),
        TEST(test_freed_is_cleared),
        TEST(test_flush_of_many_launches),
        TEST(test_lines_that_stay),
        TEST(test_gaps_of_a_slow_host),
        TEST(test_overlapping),
        TEST(test_graphs),
        TEST(test_time_many),
        TEST(test_lost_records_are_measured_again),
        TEST(test_zero_stamps_are_measured_again),
        TEST(test_no_stamps_at_all),
        TEST(test_unseen_launch),
        TEST(test_helpers_do_not_compile),
        TEST(test_compare),
        TEST(test_copy_gbps),
        TEST(test_launch_errors),
        TEST(test_bad_cubin),
        TEST(test_out_of_memory),
        TEST(test_lost_and_reset),
        TEST(test_reset_that_fails),
        TEST(test_health),
        TEST(test_function_facts),
    };
    return cmocka_run_group_tests(tests, make_toolkit, remove_toolkit);
}
