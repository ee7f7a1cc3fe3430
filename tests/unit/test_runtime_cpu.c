/* The CPU device from C text to numbers: load, run, time, compare, poison, flush, facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/cpu/cpu_device.h"

struct fixture {
    struct arena *arena;
    struct env env;
    struct diag diag;
    struct toolchain *cc;
    struct device *dev;
};

static int setup(void **state) {
    static struct fixture f;
    const char *why;
    f = (struct fixture){.arena = arena_new()};
    f.env = env_read(f.arena);
    f.diag = diag_new(f.arena);
    *state = &f;
    if (toolchain_open(DEVICE_CPU, NULL, &f.env, f.arena, &f.diag, &f.cc) != WS_OK) return -1;
    return device_open("cpu", &f.env, f.arena, &f.diag, &f.dev, &why) == WS_OK ? 0 : -1;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    device_close(f->dev);
    toolchain_close(f->cc);
    arena_free(f->arena);
    return 0;
}

static struct module *load(struct fixture *f, const char *source) {
    struct compiled c;
    struct module *m = NULL;
    toolchain_compile(f->cc, "test.c", source, false, &c);
    if (!c.ok) fail_msg("%s", c.log);
    assert_int_equal(device_load(f->dev, c.binary, c.size, &m, &f->diag), WS_OK);
    compiled_free(&c);
    return m;
}

static dptr upload(struct fixture *f, const void *p, size_t bytes) {
    dptr out;
    assert_int_equal(device_alloc(f->dev, bytes, &out, &f->diag), WS_OK);
    assert_int_equal(device_upload(f->dev, out, p, bytes, &f->diag), WS_OK);
    return out;
}

/* ---- facts ------------------------------------------------------------------------------------
 */

static void test_facts(void **state) {
    struct fixture *f = *state;
    const struct device_facts *facts = device_facts(f->dev);
    const struct device_limits *l = device_limits(f->dev);
    assert_string_equal(facts->id, "cpu");
    assert_string_equal(facts->timer, "monotonic");
    assert_true(strlen(facts->name) > 0);
    assert_int_equal(l->kind, DEVICE_CPU);
    assert_true(l->units >= 1 && l->units <= 4096);
    assert_true(l->simd_bytes == 16 || l->simd_bytes == 32 || l->simd_bytes == 64);
    assert_true(l->l2_bytes >= 64 << 10);
    assert_true(strlen(l->arch) > 0);
    struct health h;
    device_health(f->dev, &h);
    assert_int_equal(h.temp_c, -1);
    assert_string_equal(h.throttle, "");
}

static void test_open_tells_why(void **state) {
    struct fixture *f = *state;
    struct device *dev;
    const char *why;
    assert_int_equal(device_open("cpu", &f->env, f->arena, &f->diag, &dev, &why), WS_OK);
    assert_non_null(strstr(why, "device cpu: "));
    assert_non_null(strstr(why, "(as asked)"));
    device_close(dev);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static void test_memory(void **state) {
    struct fixture *f = *state;
    static const size_t sizes[] = {0, 1, 255, 4096, 3 << 20, (5 << 20) + 7};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dptr p;
        assert_int_equal(device_alloc(f->dev, sizes[i], &p, &f->diag), WS_OK);
        assert_int_equal(p % 256, 0);
        assert_true(p != 0);
        assert_int_equal(device_fill(f->dev, p, 0xff, sizes[i], &f->diag), WS_OK);
        unsigned char last = 0xff;
        if (sizes[i])
            assert_int_equal(device_download(f->dev, &last, p + sizes[i] - 1, 1, &f->diag), WS_OK);
        assert_int_equal(last, 0xff);
        device_free(f->dev, p);
    }
}

/* Pieces of 3 bytes, wherever they begin. */
static void test_find_changed(void **state) {
    struct fixture *f = *state;
    int first = 7;
    dptr p, at[3];
    assert_int_equal(device_alloc(f->dev, 64, &p, &f->diag), WS_OK);
    device_fill(f->dev, p, 0xa5, 64, &f->diag);
    for (int i = 0; i < 3; i++) at[i] = p + 1 + 5 * (dptr)i;
    assert_int_equal(device_find_changed(f->dev, at, 3, 3, 0xa5, &first, &f->diag), WS_OK);
    assert_int_equal(first, -1);
    for (int i = 0; i < 16; i++) {
        bool inside = i >= 1 && (i - 1) % 5 < 3;
        device_fill(f->dev, p + (dptr)i, 0xa4, 1, &f->diag);
        assert_int_equal(device_find_changed(f->dev, at, 3, 3, 0xa5, &first, &f->diag), WS_OK);
        assert_int_equal(first, inside ? (i - 1) / 5 : -1);
        device_fill(f->dev, p + (dptr)i, 0xa5, 1, &f->diag);
    }
    device_fill(f->dev, at[1], 0, 8, &f->diag);
    assert_int_equal(device_find_changed(f->dev, at, 3, 3, 0xa5, &first, &f->diag), WS_OK);
    assert_int_equal(first, 1);
    assert_int_equal(device_find_changed(f->dev, at, 0, 3, 0xa5, &first, &f->diag), WS_OK);
    assert_int_equal(first, -1);
    device_free(f->dev, p);
}

/* 0xFF bytes are NaN in every floating type: what a kernel does not write cannot pass for a result.
 */
static void test_poison_is_nan(void **state) {
    struct fixture *f = *state;
    static const enum dtype types[] = {DT_F16, DT_BF16, DT_F32, DT_F64};
    unsigned char element[8];
    dptr p;
    assert_int_equal(device_alloc(f->dev, 64, &p, &f->diag), WS_OK);
    device_fill(f->dev, p, 0xff, 64, &f->diag);
    device_download(f->dev, element, p, sizeof element, &f->diag);
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        assert_true(isnan(dtype_load(types[i], element, 0)));
    device_free(f->dev, p);
}

static void test_alloc_too_much(void **state) {
    struct fixture *f = *state;
    dptr p = 1;
    assert_int_equal(device_alloc(f->dev, SIZE_MAX - 5, &p, &f->diag), WS_MACHINE);
    assert_int_equal(p, 0);
    assert_non_null(strstr(f->diag.text, "cannot allocate"));
}

/* ---- modules and launches ---------------------------------------------------------------------
 */

static const char AXPY[] = "#include <stdint.h>\n"
                           "void axpy(void *const *args) {\n"
                           "    float *y = *(float **)args[0];\n"
                           "    const float *x = *(float **)args[1];\n"
                           "    int64_t n = *(int64_t *)args[2];\n"
                           "    #pragma omp parallel for\n"
                           "    for (int64_t i = 0; i < n; i++) y[i] += 2 * x[i];\n"
                           "}\n"
                           "void twice(void *const *args) {\n"
                           "    float *y = *(float **)args[0];\n"
                           "    int64_t n = *(int64_t *)args[2];\n"
                           "    for (int64_t i = 0; i < n; i++) y[i] *= 2;\n"
                           "}\n";

enum { N = 10000 };

struct axpy {
    struct module *m;
    dptr y, x;
    int64_t n;
};

static struct axpy axpy_new(struct fixture *f) {
    static float zeros[N], ramp[N];
    for (int i = 0; i < N; i++) ramp[i] = (float)i;
    return (struct axpy){load(f, AXPY), upload(f, zeros, sizeof zeros),
                         upload(f, ramp, sizeof ramp), N};
}

static void axpy_free(struct fixture *f, struct axpy *a) {
    device_free(f->dev, a->y);
    device_free(f->dev, a->x);
    device_unload(f->dev, a->m);
}

static struct launch axpy_launch(struct axpy *a, const char *entry) {
    return (struct launch){.module = a->m,
                           .entry = entry,
                           .grid = {1, 1, 1},
                           .threads = 1,
                           .n_args = 3,
                           .args = {&a->y, &a->x, &a->n}};
}

static void test_run_in_order(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l[] = {axpy_launch(&a, "axpy"), axpy_launch(&a, "twice"),
                         axpy_launch(&a, "axpy")};
    float y[N];
    assert_int_equal(device_run(f->dev, l, 3, &f->diag), WS_OK);
    assert_int_equal(device_download(f->dev, y, a.y, sizeof y, &f->diag), WS_OK);
    for (int i = 0; i < N; i++) assert_true(y[i] == 6.0f * (float)i); /* (0 + 2i) * 2 + 2i */
    assert_false(device_is_lost(f->dev));
    assert_int_equal(device_reset(f->dev, &f->diag), WS_OK);
    axpy_free(f, &a);
}

static void test_empty_grid_runs_nothing(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l = axpy_launch(&a, "axpy");
    double us[2] = {-1, -1};
    float y;
    l.grid[0] = 0;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    assert_int_equal(device_time(f->dev, &l, 1, 2, false, us, NULL, &f->diag), WS_OK);
    assert_true(us[0] == 0 && us[1] == 0);
    device_download(f->dev, &y, a.y + 4, sizeof y, &f->diag);
    assert_true(y == 0);
    axpy_free(f, &a);
}

/* One warm-up and three repetitions have run, each launch with a positive time of its own. */
static void test_time(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l[] = {axpy_launch(&a, "axpy"), axpy_launch(&a, "axpy")};
    double us[6];
    struct sample_extra extra[3] = {{.host_us = -1}};
    float y;
    for (int i = 0; i < 6; i++) us[i] = -1;
    assert_int_equal(device_time(f->dev, l, 2, 3, true, us, extra, &f->diag), WS_OK);
    for (int i = 0; i < 6; i++) assert_true(us[i] > 0);
    for (int i = 0; i < 3; i++)
        assert_true(extra[i].host_us == 0 && extra[i].span_us >= us[2 * i] + us[2 * i + 1]);
    device_download(f->dev, &y, a.y + sizeof y, sizeof y, &f->diag);
    assert_true(y == 2.0f * 8);
    axpy_free(f, &a);
}

/* What is kept is there again before every run and every repetition; not before the calls of one.
 */
static void test_keep(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l[] = {axpy_launch(&a, "axpy"), axpy_launch(&a, "axpy")};
    double us[6];
    float y;
    assert_int_equal(device_keep(f->dev, a.y, N * sizeof y, &f->diag), WS_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(device_run(f->dev, l, 2, &f->diag), WS_OK);
    device_download(f->dev, &y, a.y + sizeof y, sizeof y, &f->diag);
    assert_true(y == 2.0f * 2);
    assert_int_equal(device_time(f->dev, l, 1, 3, true, us, NULL, &f->diag), WS_OK);
    device_download(f->dev, &y, a.y + (N - 1) * sizeof y, sizeof y, &f->diag);
    assert_true(y == 2.0f * (N - 1));
    assert_int_equal(device_keep(f->dev, a.y, 0, &f->diag), WS_OK);
    assert_int_equal(device_run(f->dev, l, 1, &f->diag), WS_OK);
    device_download(f->dev, &y, a.y + sizeof y, sizeof y, &f->diag);
    assert_true(y == 2.0f * 2);
    axpy_free(f, &a);
}

/* More than the caches hold, whatever they hold; and every line of it is written every time. */
static void test_flush_sweeps_the_caches(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l = axpy_launch(&a, "axpy");
    struct cpu_device *c = (struct cpu_device *)f->dev;
    double us[3];
    for (int64_t cache = 1 << 20; cache < (int64_t)4 << 30; cache = cache * 3 / 2)
        assert_true(cpu_flush_size(cache) >= (size_t)(cache + cache / 4));
    assert_int_equal(device_time(f->dev, &l, 1, 3, true, us, NULL, &f->diag), WS_OK);
    assert_true(c->flush_bytes >= (size_t)f->dev->limits.l2_bytes * 5 / 4);
    for (size_t i = 0; i < c->flush_bytes; i += 64)
        if (c->flush[i] != 3) fail_msg("byte %zu was written %d times", i, c->flush[i]);
    axpy_free(f, &a);
}

static void test_missing_entry(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l = axpy_launch(&a, "saxpy");
    struct function_facts facts;
    double us;
    struct diag d = diag_new(f->arena);
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "no entry 'saxpy'"));
    assert_int_equal(device_time(f->dev, &l, 1, 1, false, &us, NULL, &d), WS_MACHINE);
    d = diag_new(f->arena);
    assert_int_equal(device_function_facts(f->dev, a.m, "saxpy", 1, 0, &facts, &d), WS_MACHINE);
    d = diag_new(f->arena);
    assert_int_equal(device_function_facts(f->dev, a.m, "axpy", 1, 0, &facts, &d), WS_OK);
    assert_int_equal(facts.blocks_per_unit, 1);
    assert_int_equal(facts.regs, 0);
    axpy_free(f, &a);
}

static void test_bad_grid(void **state) {
    struct fixture *f = *state;
    struct axpy a = axpy_new(f);
    struct launch l = axpy_launch(&a, "axpy");
    l.grid[1] = -3;
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_MACHINE);
    assert_non_null(strstr(f->diag.text, "1 x -3 x 1"));
    axpy_free(f, &a);
}

static void test_tensor_map(void **state) {
    struct fixture *f = *state;
    struct tensor_map map = {.dtype = DT_F32, .rank = 1, .size = {64}, .stride = {4}, .box = {64}};
    double us;
    struct module *m = load(f, AXPY);
    struct launch l = {
        .module = m, .entry = "axpy", .grid = {1, 1, 1}, .threads = 1, .n_args = 1, .maps = {&map}};
    for (int timed = 0; timed < 2; timed++) {
        f->diag = diag_new(f->arena);
        assert_int_equal(timed ? device_time(f->dev, &l, 1, 1, false, &us, NULL, &f->diag)
                               : device_run(f->dev, &l, 1, &f->diag),
                         WS_MACHINE);
        assert_non_null(
            strstr(f->diag.text, "cannot launch 'axpy': argument 0 is a tensor map, and cpu ("));
    }
    device_unload(f->dev, m);
}

static void test_bad_binary(void **state) {
    struct fixture *f = *state;
    struct module *m;
    struct diag d = diag_new(f->arena);
    assert_int_equal(device_load(f->dev, "this is no shared object", 24, &m, &f->diag), WS_MACHINE);
    assert_null(m);
    assert_non_null(strstr(f->diag.text, "cannot load a module of 24 bytes"));
    assert_int_equal(device_load(f->dev, "", 0, &m, &d), WS_MACHINE);
}

/* The loader knows objects by name: a module loaded after another was unloaded must be the new one.
 */
static void test_modules_are_not_confused(void **state) {
    struct fixture *f = *state;
    for (int i = 0; i < 6; i++) {
        int out = -1;
        int *p = &out;
        struct module *m = load(
            f, arena_printf(f->arena, "void set(void *const *a) { **(int **)a[0] = %d; }\n", i));
        struct launch l = {.module = m,
                           .entry = "set",
                           .grid = {1, 1, 1},
                           .threads = 1,
                           .n_args = 1,
                           .args = {&p}};
        assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
        assert_int_equal(out, i);
        device_unload(f->dev, m);
    }
}

/* A parallel loop gets one thread a physical core, however many the machine would give. */
static void test_thread_count(void **state) {
    struct fixture *f = *state;
    int out = -1;
    int *p = &out;
    struct module *m =
        load(f, "#include <omp.h>\n"
                "void count(void *const *a) {\n"
                "    #pragma omp parallel\n"
                "    if (omp_get_thread_num() == 0) **(int **)a[0] = omp_get_num_threads();\n"
                "}\n");
    struct launch l = {
        .module = m, .entry = "count", .grid = {1, 1, 1}, .threads = 1, .n_args = 1, .args = {&p}};
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    assert_int_equal(out, device_limits(f->dev)->units);
    device_unload(f->dev, m);
}

enum { MANY = 1000, FEW = 3, MOST_THREADS = 1024 };

struct visits {
    int count[MANY];
    int64_t thread[MANY];
};

static void visit(void *arg, int64_t i) {
    struct visits *v = arg;
    v->count[i]++;
    v->thread[i] = (int64_t)syscall(SYS_gettid);
}

/* Our own loops run on the very threads of the kernels: another team would spin against them. */
static void test_loops_share_the_kernels_threads(void **state) {
    struct fixture *f = *state;
    static struct visits v, few;
    static int64_t of_kernel[MOST_THREADS];
    const struct cpu_device *c = (const struct cpu_device *)f->dev;
    int64_t *p = of_kernel;
    struct module *m = load(f, "#define _GNU_SOURCE\n"
                               "#include <omp.h>\n"
                               "#include <stdint.h>\n"
                               "#include <sys/syscall.h>\n"
                               "#include <unistd.h>\n"
                               "void who(void *const *a) {\n"
                               "    int64_t *out = *(int64_t **)a[0];\n"
                               "    #pragma omp parallel\n"
                               "    out[omp_get_thread_num()] = syscall(SYS_gettid);\n"
                               "}\n");
    struct launch l = {
        .module = m, .entry = "who", .grid = {1, 1, 1}, .threads = 1, .n_args = 1, .args = {&p}};
    assert_int_equal(device_run(f->dev, &l, 1, &f->diag), WS_OK);
    memset(&v, 0, sizeof v), memset(&few, 0, sizeof few);
    cpu_each(c, MANY, visit, &v);
    cpu_each(c, FEW, visit, &few);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(v.count[i], 1);
        assert_int_equal(v.thread[i], of_kernel[(i * c->threads + c->threads - 1) / MANY]);
    }
    for (int i = 0; i < MANY; i++) assert_int_equal(few.count[i], i < FEW);
    device_unload(f->dev, m);
}

/* ---- compare ----------------------------------------------------------------------------------
 */

struct expect {
    float got;
    double want;
    float bound;
    bool bad;
};

static dptr upload_same(struct fixture *f, float bound, int n) {
    float *all = malloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = bound;
    dptr p = upload(f, all, (size_t)n * sizeof *all);
    free(all);
    return p;
}

static void test_compare_special_values(void **state) {
    struct fixture *f = *state;
    static const struct expect cases[] = {
        {1, 1, 0, false},
        {1, 1.05, 0.06f, false}, /* within the bound */
        {1, 1.05, 0.04f, true},
        {1, 1 + 0x1p-40, 0, true}, /* a double that no float is */
        {NAN, NAN, 1, false},
        {NAN, 1, 1, true},
        {1, NAN, 1, true},
        {INFINITY, INFINITY, 1, false},
        {-INFINITY, INFINITY, 1, true},
        {INFINITY, 1, 1, true},
        {1, INFINITY, 1, true},
        {1e30f, -INFINITY, 1, true},
        {0.0f, -0.0, 0, false},
        {NAN, INFINITY, 1, true},
        {NAN, 1, INFINITY, false}, /* anything goes */
        {INFINITY, 1, INFINITY, false},
        {1, -INFINITY, INFINITY, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mismatch r;
        dptr got = upload(f, &cases[i].got, 4), want = upload(f, &cases[i].want, 8);
        dptr bound = upload(f, &cases[i].bound, 4);
        assert_int_equal(device_compare(f->dev, got, DT_F32, want, 1, bound, &r, &f->diag), WS_OK);
        if (r.bad != cases[i].bad)
            fail_msg("case %u: got %g want %g", i, cases[i].got, cases[i].want);
        assert_int_equal(r.worst, 0);
        assert_int_equal(r.unbounded, isinf(cases[i].bound));
        assert_true(r.bound == (double)cases[i].bound);
        device_free(f->dev, got);
        device_free(f->dev, bound);
        device_free(f->dev, want);
    }
}

/* The worst element: NaN before infinity before the largest ratio; of equals the first. */
static void test_compare_ranks(void **state) {
    struct fixture *f = *state;
    enum { COUNT = 5000 };
    static float got[COUNT];
    static double want[COUNT];
    struct mismatch r;
    for (int i = 0; i < COUNT; i++) got[i] = 1, want[i] = 1;
    dptr bound = upload_same(f, 1e-3f, COUNT);
    dptr g = upload(f, got, sizeof got), w = upload(f, want, sizeof want);
    const struct {
        int at;
        float value;
        int worst, bad;
    } steps[] = {{4000, 3, 4000, 1},   {100, -1, 100, 2}, /* same distance, smaller index */
                 {2000, 9, 2000, 3},   {4999, INFINITY, 4999, 4},
                 {3000, NAN, 3000, 5}, {1, INFINITY, 3000, 6}};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
        device_upload(f->dev, g + (dptr)steps[i].at * 4, &steps[i].value, 4, &f->diag);
        assert_int_equal(device_compare(f->dev, g, DT_F32, w, COUNT, bound, &r, &f->diag), WS_OK);
        assert_int_equal(r.worst, steps[i].worst);
        assert_int_equal(r.bad, steps[i].bad);
        assert_true(r.want == 1);
    }
    const float anything = INFINITY;
    for (dptr at = 0; at < COUNT; at += 1000)
        device_upload(f->dev, bound + at * 4, &anything, 4, &f->diag);
    assert_int_equal(device_compare(f->dev, g, DT_F32, w, COUNT, bound, &r, &f->diag), WS_OK);
    assert_true(r.unbounded == 5 && r.bad == 3 && r.worst == 1); /* at 3000: nan, and 4000, 2000 */
    assert_int_equal(device_compare(f->dev, g, DT_F32, w, COUNT, 0, &r, &f->diag), WS_OK);
    assert_int_equal(r.unbounded, 0);
    device_free(f->dev, bound);
    device_free(f->dev, g);
    device_free(f->dev, w);
}

/* Rows of 3 that begin 8 elements apart: what lies between them is nobody's. */
static void test_compare_runs(void **state) {
    struct fixture *f = *state;
    enum { ROWS = 5, LENGTH = 3, PITCH = 8, COUNT = ROWS * LENGTH };
    float got[ROWS * PITCH];
    double want[COUNT];
    struct mismatch r;
    for (int i = 0; i < ROWS * PITCH; i++) got[i] = i % PITCH < LENGTH ? 1 : NAN;
    for (int i = 0; i < COUNT; i++) want[i] = 1;
    got[3 * PITCH + 2] = 7;
    dptr g = upload(f, got, sizeof got), w = upload(f, want, sizeof want);
    struct runs runs = {LENGTH, PITCH};
    assert_int_equal(device_compare_runs(f->dev, g, runs, DT_F32, w, COUNT, 0, &r, &f->diag),
                     WS_OK);
    assert_int_equal(r.bad, 1);
    assert_int_equal(r.worst, 3 * LENGTH + 2);
    assert_true(r.got == 7 && r.want == 1);
    device_free(f->dev, g);
    device_free(f->dev, w);
}

static void test_compare_every_dtype(void **state) {
    struct fixture *f = *state;
    enum { COUNT = 100 };
    for (int t = 0; t < DT_COUNT; t++) {
        unsigned char got[COUNT * 8] = {0}, want[COUNT * 8] = {0};
        enum dtype as = dtype_reference((enum dtype)t);
        struct mismatch r;
        for (int i = 0; i < COUNT; i++) {
            dtype_store(as, want, (size_t)i, i % 2);
            dtype_store((enum dtype)t, got, (size_t)i, i % 2);
        }
        dptr w = upload(f, want, sizeof want), g = upload(f, got, sizeof got);
        assert_int_equal(device_compare(f->dev, g, (enum dtype)t, w, COUNT, 0, &r, &f->diag),
                         WS_OK);
        assert_int_equal(r.bad, 0);
        dtype_store(as, want, 77, 0);
        device_upload(f->dev, w, want, sizeof want, &f->diag);
        assert_int_equal(device_compare(f->dev, g, (enum dtype)t, w, COUNT, 0, &r, &f->diag),
                         WS_OK);
        assert_int_equal(r.bad, 1);
        assert_int_equal(r.worst, 77);
        assert_true(r.got == 1 && r.want == 0);
        device_free(f->dev, w);
        device_free(f->dev, g);
    }
}

/* What doubles and floats take for equal is not. */
static void test_compare_integers(void **state) {
    struct fixture *f = *state;
    int64_t got[] = {INT64_MAX, INT64_MIN, (1ll << 53) + 1, -1}, want[4];
    struct mismatch r;
    memcpy(want, got, sizeof want);
    want[2]--;
    dptr w = upload(f, want, sizeof want), g = upload(f, got, sizeof got);
    assert_int_equal(device_compare(f->dev, g, DT_I64, w, 4, 0, &r, &f->diag), WS_OK);
    assert_true(r.bad == 1 && r.worst == 2);
    assert_true(r.got_int == (1ll << 53) + 1 && r.want_int == 1ll << 53);
    want[2] = got[2], want[0] = INT64_MIN, want[1] = INT64_MAX; /* as far apart as they can be */
    device_upload(f->dev, w, want, sizeof want, &f->diag);
    dptr bound = upload_same(f, 1, 4);
    assert_int_equal(device_compare(f->dev, g, DT_I64, w, 4, bound, &r, &f->diag), WS_OK);
    assert_true(r.bad == 2 && r.worst == 0);
    device_free(f->dev, bound);
    device_free(f->dev, w);
    device_free(f->dev, g);
}

static void test_compare_nothing(void **state) {
    struct fixture *f = *state;
    struct mismatch r = {.bad = 9};
    assert_int_equal(device_compare(f->dev, 0, DT_F32, 0, 0, 0, &r, &f->diag), WS_OK);
    assert_int_equal(r.bad, 0);
    assert_int_equal(r.worst, -1);
}

static void test_copy_bandwidth(void **state) {
    struct fixture *f = *state;
    double gbps = -1;
    assert_int_equal(device_copy_gbps(f->dev, &gbps, &f->diag), WS_OK);
    assert_true(gbps > 0.05 && gbps < 1e5 && isfinite(gbps));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_facts),
        TEST(test_open_tells_why),
        TEST(test_memory),
        TEST(test_find_changed),
        TEST(test_poison_is_nan),
        TEST(test_alloc_too_much),
        TEST(test_run_in_order),
        TEST(test_empty_grid_runs_nothing),
        TEST(test_time),
        TEST(test_keep),
        TEST(test_flush_sweeps_the_caches),
        TEST(test_missing_entry),
        TEST(test_bad_grid),
        TEST(test_tensor_map),
        TEST(test_bad_binary),
        TEST(test_modules_are_not_confused),
        TEST(test_thread_count),
        TEST(test_loops_share_the_kernels_threads),
        TEST(test_compare_special_values),
        TEST(test_compare_ranks),
        TEST(test_compare_every_dtype),
        TEST(test_compare_runs),
        TEST(test_compare_integers),
        TEST(test_compare_nothing),
        TEST(test_copy_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
