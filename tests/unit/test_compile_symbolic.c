/* test_compile_symbolic.c: sizes that are arguments of the kernels. A graph over s0, s1, ... is
 * compiled as it is and run with its sizes at their hints; the reference is that of the same text
 * with numbers for names. Some configs of every kernel: CUDA text on the emulator, C text on the
 * CPU device. */
#include "lower_test.h"
#include "part.h"
#include "runtime/runtime.h"
#include "symbolic.h"
#include "tests/fuzz/drive.h"

static const struct {
    const char *sizes, *text;
} cases[] = {
    {"s0=33",
     "graph(%x: f32[s0], %y: f32[s0]) {\n %a = add(%x, %y)\n %z = mul(%a, s0)\n return %z\n}\n"},
    {"s0=6 s1=100", "graph(%x: f32[s0, s1], %b: f32[s1]) {\n %a = add(%x, %b)\n %y = softmax(%a, "
                    "1)\n return %y\n}\n"},
    {"s0=40 s1=12", "graph(%x: bf16[s0, 8*s1]) {\n %y = softmax(%x, 0)\n return %y\n}\n"},
    {"s0=5 s1=24",
     "graph(%x: f32[s0, 4*s1], %w: f32[4*s1]) {\n %y = rms_norm(%x, [4*s1], %w)\n return %y\n}\n"},
    {"s0=3 s1=700",
     "graph(%x: f32[s0, s1]) {\n %s = sum(%x, 1)\n %m = mean(%x)\n return %s, %m\n}\n"},
    {"s0=3 s1=1031", "graph(%x: bf16[s0, s1], %w: bf16[s1]) {\n %y = layer_norm(%x, [s1], %w)\n"
                     " %s = slice(%x, 1, 1, s1, 1)\n %z = mul(%s, 2)\n return %y, %z\n}\n"},
    {"s0=9 s1=14",
     "graph(%x: f32[s0, s1], %z: f32[s1, s0]) {\n %p = permute(%z, [1, 0])\n %y = add(%x, %p)\n"
     " return %y\n}\n"},
    {"s0=4 s1=5 s2=6", "graph(%x: f32[s0, s1, s2], %b: f32[s1, 1]) {\n %y = mul(%x, %b)\n %v = "
                       "view(%y, [s0*s1, s2])\n"
                       " %z = exp(%v)\n return %z\n}\n"},
    {"s0=7 s1=20 s2=9",
     "graph(%x: f32[s0, s1], %y: f32[s0, s2], %z: f32[s1, s1]) {\n %c = cat([%x, %y, %x], 1)\n %e "
     "= "
     "exp(%c)\n %f = flip(%z, [0])\n %p = pad(%f, [1, 2, 3, 0], value=2)\n return %e, %p\n}\n"},
    {"s0=6 s1=11 s2=40",
     "graph(%i: i64[s0, 5], %w: f32[s1, s2], %x: f32[2, s0, 8]) {\n %j = remainder(%i, s1)\n %e = "
     "embedding(%j, %w)\n %s = sum(%e, -1)\n %m = max_pool(%x, [2], None, [0], [1], False, 1)\n "
     "return %s, %m\n}\n"},
    /* few long rows: a scan by tiles, a variance along with its mean */
    {"s0=2 s1=9000", "graph(%x: f32[s0, s1]) {\n %c = cumsum(%x, 1)\n return %c\n}\n"},
    {"s0=12", "graph(%x: bf16[64, 8*s0+1]) {\n %s = sum(%x, 0)\n return %s\n}\n"},
    {"s0=310 s1=9", "graph(%x: f32[s0, 4*s1]) {\n %c = cumsum(%x, 0)\n return %c\n}\n"},
    {"s0=2 s1=16500", "graph(%x: f32[s0, 4*s1]) {\n %v = var(%x, 1)\n return %v\n}\n"},
    {"s0=20 s1=24 s2=40",
     "graph(%x: f32[s0, s1], %w: f32[s1, s2], %b: f32[s2]) {\n %z = mm(%x, %w)\n"
     " %a = add(%z, %b)\n %y = relu(%a)\n return %y\n}\n"},
    /* what lands on rows, of a known length or not, and in the middle */
    {"s0=150 s1=90 s2=24",
     "graph(%x: f32[s1, s2], %i: i64[s0], %s: f32[s0, s2]) {\n %j = remainder(%i, s1)\n"
     " %y = index_add(%x, 0, %j, %s)\n return %y\n}\n"},
    {"s0=130 s1=700",
     "graph(%x: bf16[s1, 32], %i: i64[s0], %s: bf16[s0, 32]) {\n %j = remainder(%i, s1)\n"
     " %y = index_add(%x, 0, %j, %s)\n return %y\n}\n"},
    {"s0=60 s1=90 s2=3",
     "graph(%x: f32[s2, s1, 8], %i: i64[s0], %s: f32[s2, s0, 8]) {\n %j = remainder(%i, s1)\n"
     " %y = index_add(%x, 1, %j, %s)\n return %y\n}\n"},
    /* where extrema are, by vectors, with tails and without; blocks of random numbers */
    {"s0=5 s1=131", "graph(%x: bf16[s0, 8*s1], %y: i8[s0, s1]) {\n %i = argmax(%x, 1)\n"
                    " %a = amax(%x, 1)\n %j = argmin(%y, 1)\n return %i, %a, %j\n}\n"},
    {"s0=5 s1=33", "graph(%x: bf16[s0, 4*s1]) {\n %r = rand_like(%x)\n %k = ge(%r, 0.25)\n"
                   " %y = mul(%x, %k)\n %n = randn([s0, s1], 1)\n %s = sum(%n, 1)\n"
                   " return %y, %s\n}\n"},
    /* rows, and all that they come to, also by parts of an axis */
    {"s0=20 s1=96", "graph(%x: f32[s0, s1], %y: f32[s0, s1]) {\n %l = log_softmax(%x, 1)\n"
                    " %p = softmax(%y, 1)\n %k = kl_div(%l, %p, 'batchmean')\n return %k\n}\n"},
    {"s0=20 s1=96", "graph(%x: f32[s0, s1]) {\n %p = softmax(%x, 1)\n %q = mul(%p, %x)\n"
                    " %v = view(%q, [s0*s1])\n %s = sum(%v)\n return %s\n}\n"},
};

/* The text with every size's name replaced by its hint. */
static const char *with_numbers(struct arena *a, const char *text, const char *sizes) {
    struct buf b = buf_new(a);
    for (const char *s = text; *s;) {
        const char *found =
            *s == 's' && s[1] >= '0' && s[1] <= '9' ? strstr(sizes, arena_strndup(a, s, 2)) : NULL;
        if (!found) {
            buf_putc(&b, *s++);
            continue;
        }
        buf_printf(&b, "%lld", atoll(found + 3));
        s += 2;
    }
    return b.p;
}

/* A drive of the static graph, whose program is that of the symbolic one. */
static struct drive *begin(struct arena *a, const char *text, const char *sizes,
                           const struct device_limits *limits) {
    struct diag d = diag_new(a);
    struct graph *g = must_parse(a, with_numbers(a, text, sizes));
    struct drive *b = drive_begin(a, g, drive_inputs(g, 7), limits, WS_FUSE, &d);
    if (!b) fail_msg("%s", d.text);
    struct exprs *ex = exprs_new(a);
    define_sizes(a, ex, sizes);
    b->captured.graph = graph_parse(a, ex, test_source(a, text), &d);
    if (b->captured.graph) b->p = ws_lower(&b->captured, limits, WS_FUSE, NULL, &d);
    if (d.status != WS_OK) fail_msg("%s", d.text);
    return b;
}

/* Every kernel takes the sizes it uses, at their hints. */
static void test_arguments(void **state) {
    struct device_limits limits = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct drive *b = begin(a, cases[i].text, cases[i].sizes, &limits);
        for (int k = 0; k < b->p->n_kernels; k++) {
            const struct config *c;
            struct diag d = diag_new(a);
            struct ws_source s;
            int n, pruned, sizes = 0;
            ws_configs(b->p, k, &c, &n, &pruned);
            assert_int_equal(ws_emit(b->p, k, &c[0], a, &s, &d), WS_OK);
            for (int x = 0; x < s.launches[0].n_args; x++) {
                const struct ws_arg *arg = &s.launches[0].args[x];
                if (arg->kind != WS_ARG_SIZE) continue;
                assert_non_null(
                    strstr(cases[i].sizes, arena_printf(a, "=%lld", (long long)arg->value)));
                sizes++;
            }
            assert_true(sizes > 0);
        }
        drive_end(b);
        arena_free(a);
    }
}

static bool some_configs(void *ctx, int config, int n_configs) {
    return config % (is_long() ? 8 : 16 * PART) == 7;
}

static void test_emulated(void **state) {
    enum { N = sizeof cases / sizeof *cases };
    struct device_limits limits = test_gpu("sm_90a");
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct emulation *s = emulation_new(a);
    struct drive *b[N];
    bool ok = true;
    for (int i = 0; i < N; i++) {
        b[i] = begin(a, cases[i].text, cases[i].sizes, &limits);
        ok = ok && emulation_add_all(s, b[i], some_configs, NULL, &d);
    }
    ok = ok && emulation_compile(s, &d);
    for (uint32_t v = 0; v < s->variants.n && ok; v++) ok = emulation_case(s, v, v % 4 == 0, &d);
    emulation_free(s);
    for (int i = 0; i < N; i++) drive_end(b[i]);
    if (!ok) fail_msg("%s", d.text);
    arena_free(a);
}

/* Besides the default. */
static bool the_last(void *ctx, int config, int n_configs) { return config == n_configs - 1; }

static void test_cpu_device(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev;
    struct toolchain *t;
    if (device_open("cpu", &env, a, &d, &dev, NULL) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(dev)->arch, &env, a, &d, &t) != WS_OK)
        fail_msg("%s", d.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct drive *b = begin(a, cases[i].text, cases[i].sizes, device_limits(dev));
        struct trial *s = trial_new(a, dev, t);
        bool ok = trial_add_all(s, b, the_last, NULL, &d) && trial_compile(s, &d);
        for (uint32_t v = 0; v < s->variants.n && ok; v++) ok = trial_case(s, v, &d);
        trial_free(s);
        if (!ok) fail_msg("%s\n%s", d.text, cases[i].text);
        drive_end(b);
    }
    toolchain_close(t);
    device_close(dev);
    arena_free(a);
}

/* Under its canonical text a graph is known: sizes have other names there, and nothing else has. */
static void test_renamed(void **state) {
    struct arena *a = arena_new();
    struct exprs *ex = exprs_new(a);
    struct diag d = diag_new(a);
    define_sizes(a, ex, "s3=8 s1=6");
    const char *text = "graph(%s3: f32[s3, s1] = L['s3'].s1) {\n"
                       "  %s1: f32[s3, s1] = exp(%s3)\n  return %s1\n}\n";
    struct ws_captured c = {.arena = a, .graph = graph_parse(a, ex, test_source(a, text), &d)};
    assert_non_null(c.graph);
    symbols_collect(&c);
    assert_string_equal(symbols_rename(&c, text),
                        "graph(%s3: f32[s0, s1] = L['s3'].s1) {\n"
                        "  %s1: f32[s0, s1] = exp(%s3)\n  return %s1\n}\n");
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_emulated),
        cmocka_unit_test(test_cpu_device),
        cmocka_unit_test(test_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
