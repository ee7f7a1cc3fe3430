/* test_compile_sums.c: how far sums are off whose terms are alike, under many configs, on the
 * emulator and on the CPU. Each addition of a chain of equal numbers may round the same way, so
 * that the errors add up: of 64 of 0.01 they make 9 units of u = 2^-24, of a tree of them none. And
 * prefixes of numbers of all sizes, which on the CPU are rounded once; and products of positive
 * factors, of which the units of a GPU cut off all terms alike. */
#include "generated_test.h"

#include <math.h>

static const double u = 0x1p-24;

/* ---- what comes in, and how far what comes out is off ---------------------------------------- */

static double constant(uint64_t i) {
    (void)i;
    return 0.1f;
}

/* Of which a chain of 32 is 8 units off, and one of 16 none. */
static double unlucky(uint64_t i) {
    (void)i;
    return 0.2407f;
}

static double positive(uint64_t i) { return (float)random_uniform(5, 0, i); }

static double wide(uint64_t i) {
    return (float)(exp2(8 * random_normal(3, 0, i)) * random_normal(3, 1, i));
}

/* 64 columns about 1000, of which one begins elsewhere: what is near the first is near no other. */
static double distant(uint64_t i) {
    return (float)(i % 64 == 5 && i < 64 ? -5e4 : 1000 + random_normal(11, 0, i));
}

struct sums {
    const char *graph, *config; /* of a GPU, besides its own; NULL: none */
    double (*term)(uint64_t i);
    double on_gpu, on_cpu; /* units that it may be off; 0: not run */
};

/* A chain of 16 of 0.1 is 2.5 units off. */
static const struct sums all[] = {
    {"graph(%x: f32[16384]) {\n %y = sum(%x)\n return %y\n}\n", "x=1 r=16384 warps=32 vec=4",
     constant, 3, 3},
    {"graph(%x: f32[1024]) {\n %y = mean(%x)\n return %y\n}\n", "x=1 r=1024 warps=4 vec=4",
     constant, 0.5, 3},
    {"graph(%x: f32[16384]) {\n %f = flip(%x, [0])\n %m = mul(%x, %f)\n %y = sum(%m)\n"
     " return %y\n}\n",
     NULL, constant, 3, 3},
    {"graph(%x: f32[512]) {\n %f = flip(%x, [0])\n %m = add(%x, %f)\n %y = sum(%m)\n"
     " return %y\n}\n",
     NULL, unlucky, 1, 1},
    {"graph(%x: f32[64, 512], %y: f32[512, 64]) {\n %z = mm(%x, %y)\n return %z\n}\n",
     "mma=1 m=64 n=64 k=64 stages=2 warps=8 pairs=1", positive, 5.6, 0},
    {"graph(%x: f32[4096, 64]) {\n %y = m2(%x, [0])\n return %y\n}\n",
     "x=32 r=128 warps=8 vec=4 split=16 last_block=1", distant, 64, 0},
    {"graph(%x: f32[2, 1100]) {\n %y = cumsum(%x, 1)\n return %y\n}\n", NULL, wide, 0, 1.001},
};

/* Units of u sum|terms| of the element, or of half its ulp where that is more. */
static bool is_near(struct drive *b, const struct ws_buffer *x, const double *got, struct diag *d) {
    const struct sums *s = b->ctx;
    double most = b->p->limits.kind == DEVICE_CPU ? s->on_cpu : s->on_gpu;
    const struct value *want = &b->want[x->index];
    int64_t each = b->in[0].n / (want->n == 1 ? 1 : 2);
    double behind = 0;
    for (int64_t i = 0; i < want->n; i++) {
        double exact = value_number(want, i);
        if (s->term == wide) behind = i % each ? behind + fabs(b->in[0].v[i]) : fabs(b->in[0].v[i]);
        int e;
        frexp(exact, &e);
        double half = ldexp(1, e - 25);
        double unit = u * (s->term == wide ? behind : fabs(exact));
        if (unit < half) unit = half;
        if (fabs(got[i] - exact) <= most * unit) continue;
        diag_fail(d, WS_WRONG, "element %lld is %.9g, exactly %.9g: %.3g units off, at most %g",
                  (long long)i, got[i], exact, fabs(got[i] - exact) / unit, most);
        return false;
    }
    return true;
}

static struct drive *must_begin(struct arena *a, const struct sums *s,
                                const struct device_limits *limits, struct diag *d) {
    struct source *text = NEW(a, struct source);
    *text = (struct source){"sums.graph", s->graph, strlen(s->graph)};
    struct graph *g = graph_parse(a, exprs_new(a), text, d);
    struct value *in = g ? drive_inputs(g, 7) : NULL;
    for (uint32_t k = 0; in && k < g->inputs.n; k++)
        for (int64_t i = 0; i < in[k].n; i++)
            in[k].v[i] = s->term((uint64_t)i + ((uint64_t)k << 32));
    struct drive *b = in ? drive_begin(a, g, in, limits, WS_FUSE, d) : NULL;
    if (!b) fail_msg("%s", d->text);
    b->judge = is_near;
    b->ctx = (void *)s;
    b->config = s->config;
    return b;
}

static bool some(void *every, int config, int n) {
    (void)n;
    return *(int *)every && config % *(int *)every == 0;
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_emulated_sums(void **state) {
    (void)state;
    struct device_limits limits;
    WS_ASSERT(device_limits_for_arch("sm_90a", &limits));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].on_gpu) continue;
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct drive *b = must_begin(a, &all[i], &limits, &d);
        struct emulation *s = emulation_new(a);
        int every = is_long() ? 3 : 24, wrong = 0;
        if (all[i].term == positive) every = 0; /* its own config alone */
        if (!emulation_add_all(s, b, some, &every, &d) || !emulation_compile(s, &d))
            fail_msg("%s", d.text);
        for (uint32_t v = 0; v < s->variants.n; v++) {
            struct diag said = diag_new(a);
            if (emulation_case(s, v, false, &said)) continue;
            print_message("%s\n", said.text);
            wrong++;
        }
        assert_int_equal(wrong, 0);
        emulation_free(s);
        drive_end(b);
        arena_free(a);
    }
}

static void emulate_scan(const struct sums *scan, const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct drive *b = must_begin(a, scan, limits, &d);
    struct emulation *s = emulation_new(a);
    int every = 0;
    if (!emulation_add_all(s, b, some, &every, &d) || !emulation_compile(s, &d))
        fail_msg("%s", d.text);
    assert_true(s->variants.n > 0);
    for (uint32_t v = 0; v < s->variants.n; v++)
        if (!emulation_case(s, v, true, &d)) fail_msg("%s: %s", scan->config, d.text);
    emulation_free(s);
    drive_end(b);
    arena_free(a);
}

/* Tiles of a row that are blocks, in whichever order they begin; warps have totals of steps in one
 * lane or in several. */
static void test_emulated_scans(void **state) {
    (void)state;
    static const char ROWS[] = "graph(%x: f32[2, 9004]) {\n %y = cumsum(%x, 1)\n return %y\n}\n",
                      COLUMNS[] = "graph(%x: f32[700, 24]) {\n %y = cumsum(%x, 0)\n"
                                  " return %y\n}\n";
    static const struct sums scans[] = {
        {ROWS, "x=1 r=1024 warps=8 vec=4 look_back=1", positive, 16, 0},
        {ROWS, "x=1 r=2048 warps=4 vec=2 look_back=1", positive, 16, 0},
        {ROWS, "x=2 r=4096 warps=16 vec=4 look_back=1", positive, 16, 0},
        {ROWS, "x=1 r=512 warps=16 vec=1 look_back=1", positive, 16, 0},
        {ROWS, "x=1 r=64 warps=1 vec=1 look_back=1", positive, 16, 0},
        {COLUMNS, "x=8 r=64 warps=2 vec=2 look_back=1", positive, 16, 0},
    };
    struct device_limits limits;
    WS_ASSERT(device_limits_for_arch("sm_90a", &limits));
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) emulate_scan(&scans[i], &limits);
}

/* Blocks that go through tiles in rounds: as many as there are tiles; fewer, with one row at
 * a time, so that rows end between two tiles of a block, or two; more than a warp looks at. */
static void test_emulated_rounds(void **state) {
    (void)state;
    static const char ROWS[] = "graph(%x: f32[3, 2252]) {\n %y = cumsum(%x, 1)\n return %y\n}\n",
                      OTHERS[] =
                          "graph(%x: f32[2, 1300], %z: f32[2, 1300], %w: f32[2, 1]) {\n %a = "
                          "mul(%x, %z)\n %b = add(%a, %w)\n %c = cumsum(%b, 1)\n %e = "
                          "cumsum(%z, 1)\n %f = mul(%c, %z)\n return %f, %e\n}\n",
                      ODD[] = "graph(%x: f32[1301]) {\n %y = cumsum(%x, 0)\n %z = mul(%x, %y)\n "
                              "return %z\n}\n",
                      WIDE[] = "graph(%x: i64[5000]) {\n %y = cumsum(%x, 0)\n return %y\n}\n";
    static const struct sums scans[] = {
        {ROWS, "x=1 r=1024 warps=8 vec=4 look_back=1 blocks=2", positive, 16, 0},
        {ROWS, "x=1 r=256 warps=2 vec=2 look_back=1 blocks=1", positive, 16, 0},
        {ROWS, "x=2 r=128 warps=2 vec=1 look_back=1 blocks=1", positive, 16, 0},
        {ROWS, "x=1 r=32 warps=1 vec=1 look_back=1 blocks=8", positive, 16, 0},
        {ROWS, "x=1 r=64 warps=1 vec=1 look_back=1 blocks=1", positive, 16, 0},
        {OTHERS, "x=1 r=64 warps=1 vec=2 look_back=1 blocks=1", positive, 16, 0},
        {OTHERS, "x=2 r=64 warps=2 vec=2 look_back=1 blocks=1", positive, 16, 0},
        {WIDE, "x=1 r=128 warps=2 vec=2 look_back=1 blocks=2", positive, 16, 0},
        {ROWS, "x=1 r=1024 warps=8 vec=4 stages=2 look_back=1 blocks=2", positive, 16, 0},
        {ROWS, "x=2 r=128 warps=2 vec=1 stages=2 look_back=1 blocks=1", positive, 16, 0},
        {ROWS, "x=1 r=64 warps=1 vec=1 stages=2 look_back=1 blocks=1", positive, 16, 0},
        {OTHERS, "x=1 r=64 warps=1 vec=2 stages=2 look_back=1 blocks=1", positive, 16, 0},
        {WIDE, "x=1 r=128 warps=2 vec=2 stages=2 look_back=1 blocks=2", positive, 16, 0},
        {ROWS, "x=1 r=256 warps=2 vec=4 stages=3 look_back=1 blocks=1", positive, 16, 0},
        {ROWS, "x=2 r=128 warps=2 vec=1 stages=3 look_back=1 blocks=1", positive, 16, 0},
        {ROWS, "x=1 r=64 warps=1 vec=1 stages=4 look_back=1 blocks=1", positive, 16, 0},
        {OTHERS, "x=1 r=64 warps=1 vec=2 stages=3 look_back=1 blocks=1", positive, 16, 0},
        {WIDE, "x=1 r=128 warps=2 vec=2 stages=3 look_back=1 blocks=2", positive, 16, 0},
        {ODD, "x=1 r=64 warps=1 vec=2 stages=3 look_back=1 blocks=1", positive, 16, 0},
        {ODD, "x=1 r=128 warps=1 vec=4 stages=4 look_back=1 blocks=1", positive, 16, 0},
        {ODD, "x=1 r=128 warps=1 vec=4 look_back=1 blocks=1", positive, 16, 0},
    };
    struct device_limits limits;
    WS_ASSERT(device_limits_for_arch("sm_90a", &limits));
    limits.units = 5;
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) emulate_scan(&scans[i], &limits);
}

static void test_cpu_sums(void **state) {
    (void)state;
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev = NULL;
    struct toolchain *t = NULL;
    if (device_open_untimed("cpu", &env, a, &d, &dev) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(dev)->arch, &env, a, &d, &t) != WS_OK)
        fail_msg("%s", d.text);
    struct trial *s = trial_new(a, dev, t);
    struct drive *b[sizeof all / sizeof *all] = {NULL};
    int every = is_long() ? 1 : 4, wrong = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i].on_cpu) continue;
        b[i] = must_begin(a, &all[i], device_limits(dev), &d);
        if (!trial_add_all(s, b[i], some, &every, &d)) fail_msg("%s", d.text);
    }
    if (!trial_compile(s, &d)) fail_msg("%s", d.text);
    for (uint32_t v = 0; v < s->variants.n; v++) {
        struct diag said = diag_new(a);
        if (trial_case(s, v, &said)) continue;
        print_message("%s\n", said.text);
        wrong++;
    }
    assert_int_equal(wrong, 0);
    trial_free(s);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (b[i]) drive_end(b[i]);
    toolchain_close(t);
    device_close(dev);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emulated_sums), cmocka_unit_test(test_emulated_scans),
        cmocka_unit_test(test_emulated_rounds), cmocka_unit_test(test_cpu_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
