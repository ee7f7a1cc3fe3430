/* test_compile_plain.c: the reference's own kernels compute what the reference interpreter does, on
 * random graphs of all operators and types, place outputs as they are to lie, and make the same
 * random numbers: by C on the CPU, and by CUDA as far as it compiles. Of such graphs single
 * elements are computed on demand, too, and judge those kernels. tests/device/device_reference is
 * the same on a GPU. */
#include <stdio.h>

#include "lower_test.h"
#include "part.h"
#include "runtime/vtable.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/plain.h"
#include "tests/fuzz/serial.h"
#include "ws_backend.h"
#include "ws_tune.h"

enum { GRAPHS = 9, LONG = 300 };

static struct env env;
static struct plain_place here;
static struct plain_place serial; /* CUDA's text, thread after thread */
static struct plain_place sliced; /* the same with no memory to speak of: by rows */
static int n_sliced;
static struct toolchain *nvrtc; /* NULL: there is none here */

static void check_cuda(struct graph *g, uint64_t seed) {
    struct reference *r = reference_lower(g, &(struct reference_options){.cuda = true}, g->arena);
    for (uint32_t i = 0; r && nvrtc && i < r->plain.texts.n; i++) {
        struct compiled made;
        toolchain_compile(nvrtc, "reference.cu", r->plain.texts.at[i], false, &made);
        if (!made.ok) {
            fprintf(stderr, "%s\n", r->plain.texts.at[i]);
            fail_msg("seed %llu: %s", (unsigned long long)seed, made.log);
        }
        compiled_free(&made);
    }
}

static void check_at(const struct plain_place *at, struct graph *g, struct value *in, uint64_t seed,
                     struct plain_seen *all) {
    struct plain_seen seen;
    const char *wrong = plain_check_graph(at, g, in, seed, &seen);
    all->slices += seen.slices;
    all->judged += seen.judged;
    all->asked += seen.asked;
    if (!wrong) return;
    struct buf b = buf_new(g->arena);
    graph_print(&b, g);
    fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, wrong, b.p);
}

static void check_graph(struct graph *g, struct value *in, uint64_t seed, struct plain_seen *all) {
    struct plain_seen seen = {0};
    check_at(&here, g, in, seed, all);
    if (seed % 2) check_at(&serial, g, in, seed, &seen);
    if (seed % 4 == 1) check_at(&sliced, g, in, seed, &seen);
    if (seed % 4 == 1) n_sliced += seen.slices > 2;
}

/* With its bound, too, and by rows where memory is short. */
static void check_text(const char *text) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, text);
    struct value *in = drive_inputs(g, 1);
    struct plain_seen seen = {0};
    check_graph(g, in, 1, &seen);
    check_graph(plain_with_bound(g), in, 5, &seen);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

static void test_random_graphs(void **state) {
    uint64_t n = is_long() ? LONG : GRAPHS / PART;
    struct plain_seen all = {0};
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct arena *a = arena_new();
        struct graph *g = gen_graph(a, seed);
        if (!graph_verify(g, false)) {
            struct value *in = drive_inputs(g, seed);
            check_graph(seed % 2 ? plain_with_bound(g) : g, in, seed, &all);
            if (seed % 4 == 0) check_cuda(g, seed);
            free_values(in, g->inputs.n);
            free(in);
        }
        arena_free(a);
    }
    assert_true(all.slices > (int64_t)n / 2);
    assert_true(all.judged > all.asked * 8 / 10);
    assert_true(n_sliced > 0);
}

/* Rows are a matrix of a batch whether its axes are one or two; what all of them read, a mask or a
 * bias by head, is there before; what is summed over rows, after. */
static void test_rows(void **state) {
    static const char text[] =
        "graph(%q: f32[2, 3, 5, 4], %k: f32[2, 3, 4, 7], %s: f32[3, 1, 1], %g: f32[6, 5, 7]) {\n"
        " %a = view(%q, [6, 5, 4])\n %b = view(%k, [6, 4, 7])\n %m = bmm(%a, %b)\n"
        " %i = arange(0, 7, 1)\n %r = arange(0, 5, 1)\n %j = unsqueeze(%r, 1)\n"
        " %d = sub(%i, %j)\n %h = le(%d, 1)\n %c = mul(%s, %d)\n %t = view(%m, [2, 3, 5, 7])\n"
        " %u = add(%t, %c)\n %w = where(%h, %u, -1.0)\n %x = amax(%w, [-1], True)\n"
        " %y = sub(%w, %x)\n %e = exp(%y)\n %z = view(%e, [6, 5, 7])\n %o = mul(%z, %g)\n"
        " %p = sum(%o, [0, 1, 2])\n %v = mul(%p, 2.0)\n return %o, %v\n}\n";
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, text);
    struct value *in = drive_inputs(g, 3);
    struct plain_seen seen = {0};
    check_at(&sliced, g, in, 3, &seen);
    assert_true(seen.slices >= 6);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

/* A number has the digits of the maths, not those of a tensor of few bits beside it. */
static void test_numbers(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: bf16[64], %y: f16[64]) {\n  %m = mul(%x, 0.3)\n"
                                    "  %s = add(%y, 0.1)\n  %d = div(1, %y)\n"
                                    "  %l = gt(%x, 0.3)\n  return %m, %s, %d, %l\n}\n");
    struct value *in = drive_inputs(g, 1);
    struct plain_seen seen = {0};
    check_graph(g, in, 1, &seen);
    assert_int_equal(seen.slices, 1);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

/* Reductions whose state is more than a number are two passes again. */
static void test_one_pass(void **state) {
    struct arena *a = arena_new();
    struct graph *g =
        must_parse(a, "graph(%x: f32[24, 40], %y: bf16[24, 40]) {\n"
                      "  %m = m2(%x, dim=[1])\n  %e = expsum(%y, dim=[1], keepdim=True)\n"
                      "  %a = m2(%y)\n  return %m, %e, %a\n}\n");
    struct value *in = drive_inputs(g, 1);
    struct plain_seen seen = {0};
    check_graph(plain_with_bound(g), in, 1, &seen);
    assert_int_equal(seen.slices, 1);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

/* Reductions across and along memory, by some steps at a time and the rest of them; of integers,
 * and of what has no sum. */
static void test_steps(void **state) {
    static const int lengths[] = {1, 3, 4, 7, 127, 128, 133, 161};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i += is_long() ? 1 : 2) {
        struct arena *a = arena_new();
        int n = lengths[i];
        struct graph *g = must_parse(
            a, arena_printf(
                   a,
                   "graph(%%x: f32[11, %d], %%y: f32[%d, 70], %%z: bf16[70, %d], %%i: i32[9, %d]) "
                   "{\n  %%a = matmul(%%x, %%y)\n  %%t = permute(%%z, dims=[1, 0])\n"
                   "  %%f = to(%%x, dtype=bf16)\n  %%b = matmul(%%f, %%t)\n"
                   "  %%c = sum(%%i, dim=[1])\n  %%d = amax(%%x, dim=[1])\n"
                   "  %%e = prod(%%x, dim=1)\n  %%g = sum(%%y, dim=[0])\n  %%h = amin(%%i, "
                   "dim=[0])\n  return %%a, %%b, %%c, %%d, %%e, %%g, %%h\n}\n",
                   n, n, n, n));
        struct value *in = drive_inputs(g, (uint64_t)n);
        struct plain_seen seen = {0};
        check_graph(g, in, 1, &seen);
        check_graph(plain_with_bound(g), in, 1, &seen);
        free_values(in, g->inputs.n);
        free(in);
        arena_free(a);
    }
}

/* What steps of a loop should have left of what is in memory, and how far off that may be: states
 * begin where vectors do, and cells are carried. */
static void test_steps_alone(void **state) {
    struct arena *a = arena_new();
    case_vec all = {0};
    cases_loops(a, &all);
    for (uint32_t i = 0, n = 0; i < all.n; i++) {
        if (!all.at[i].persistent || n++ % 4 || (!is_long() && n > 9)) continue;
        struct device_limits limits = test_gpu("sm_90a");
        struct diag d = diag_new(a);
        struct ws_captured *c = ws_captured_of(a, must_parse(a, all.at[i].text), "test");
        struct ws_program *p = ws_lower(c, &limits, WS_PERSISTENT, NULL, &d);
        if (!p) fail_msg("%s", d.text);
        bool *which = NEW_ARRAY(a, bool, p->n_kernels);
        for (int k = 0; k < p->n_kernels; k++) which[k] = p->kernels[k].all_steps;
        struct ws_alone alone = ws_alone_of(p, a);
        const int *outputs;
        struct graph *g = ws_alone_join(&alone, which, a, &outputs)->values[DEVICE_CUDA].reference;
        struct value *in = drive_inputs(g, 1);
        struct plain_seen seen = {0};
        check_graph(g, in, 1, &seen);
        check_cuda(g, 1);
        free_values(in, g->inputs.n);
        free(in);
    }
    arena_free(a);
}

/* Lines that lanes share, a part each: along memory and across, of lengths that parts do not
 * divide, of numbers and integers; with their bounds, and by rows where memory is short. */
static void test_scans(void **state) {
    check_text(
        "graph(%x: f32[3, 1037], %i: i32[2, 515], %u: f32[64]) {\n"
        "  %s = cumsum(%x, dim=1)\n  %t = cumsum(%i, dim=1)\n  %y = permute(%x, dims=[1, 0])\n"
        "  %e = exp(%y)\n  %p = cumsum(%e, dim=0)\n  %q = cumprod(%u, dim=0)\n"
        "  return %s, %t, %p, %q\n}\n");
}

/* Products of so many outputs that a thread of CUDA's has several: along the outermost axis, by
 * rows where memory is short, along one within, and where a window reaches out; the last block is
 * not full. Two columns within, which are not a multiple of two threads, too. As many functions as
 * `several` have them. */
static void test_several(void **state) {
    static const struct {
        const char *text;
        int several;
    } cases[] = {
        {"graph(%x: f32[525, 5], %y: f32[5, 520]) {\n  %a = matmul(%x, %y)\n  return %a\n}\n", 1},
        {"graph(%x: f32[9, 169, 7], %y: bf16[9, 180, 7]) {\n  %t = permute(%y, dims=[0, 2, 1])\n"
         "  %u = to(%t, dtype=f32)\n  %a = matmul(%x, %u)\n  return %a\n}\n",
         1},
        {"graph(%x: f32[5, 2, 60, 43], %w: f32[26, 2, 3, 3]) {\n"
         "  %a = convolution(%x, %w, padding=[1, 1])\n  return %a\n}\n",
         1},
        {"graph(%x: f32[525, 520, 5]) {\n  %a = sum(%x, dim=[2])\n  return %a\n}\n", 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k += PART) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(a, cases[k].text);
        struct value *in = drive_inputs(g, 1);
        struct plain_seen seen = {0}, by_rows = {0};
        struct reference_options cuda = {.cuda = true};
        struct reference *r = reference_lower(g, &cuda, a);
        int several = 0;
        for (uint32_t i = 0; i < r->plain.texts.n; i++)
            for (const char *p = r->plain.texts.at[i]; (p = strstr(p, "int same = ")); p++)
                several++;
        assert_int_equal(several, cases[k].several);
        check_at(&serial, g, in, 1, &seen);
        assert_int_equal(seen.slices, 1);
        /* Slices of some rows: of one each, hundreds of launches of all threads. */
        struct plain_place parts = sliced;
        parts.memory = 300000;
        check_at(&parts, plain_with_bound(g), in, 1, &by_rows);
        assert_true(by_rows.slices > 2);
        free_values(in, g->inputs.n);
        free(in);
        arena_free(a);
    }
}

/* Reductions of several short axes that lanes share, of all kinds: sums, extrema and where they
 * are, integers. */
static void test_short_axes(void **state) {
    check_text(
        "graph(%x: f32[9, 3, 11, 13], %i: i32[7, 2, 12, 9]) {\n"
        "  %s = sum(%x, dim=[0, 2, 3])\n  %m = amax(%x, dim=[0, 2])\n  %t = sum(%i, dim=[0, 3])\n"
        "  %v = view(%x, [27, 143])\n  %p = prod(%v, dim=1)\n  %k = argmax(%x)\n"
        "  return %s, %m, %t, %p, %k\n}\n");
}

/* What a GPU has is computed there if it would take long to fetch, however little is computed. */
static void test_large_inputs(void **state) {
    (void)state;
    static const char *const texts[] = {
        "graph(%x: f32[128, 4096, 4095]) {\n  %m = amax(%x, dim=[1])\n  return %m\n}\n",
        "graph(%x: f32[128, 64, 63]) {\n  %m = amax(%x, dim=[1])\n  return %m\n}\n"};
    for (int k = 0; k < 2; k++) {
        struct arena *a = arena_new();
        struct reference_options gpu = {.cuda = true, .sooner = true};
        assert_true((reference_lower(must_parse(a, texts[k]), &gpu, a) != NULL) == (k == 0));
        arena_free(a);
    }
}

/* What a kernel would make of so many pairs of a source and a place is the interpreter's, which
 * takes each source once. */
static void test_many_pairs(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct arena *a = arena_new();
        int n = k ? 1 << 26 : 1 << 12;
        struct reference_options gpu = {.cuda = true, .sooner = true};
        struct graph *g =
            must_parse(a, arena_printf(a,
                                       "graph(%%x: f32[%d], %%i: i64[%d], %%y: f32[8192, 4096]) {\n"
                                       "  %%z = zeros([%d])\n  %%s = index_add(%%z, 0, %%i, %%x)\n"
                                       "  %%e = exp(%%y)\n  return %%s, %%e\n}\n",
                                       n, n, n));
        assert_true((reference_lower(g, &gpu, a) != NULL) == (k == 0));
        gpu.sooner = false;
        assert_non_null(reference_lower(g, &gpu, a)); /* it has kernels all the same */
        arena_free(a);
    }
}

static const struct device_ops *true_ops;
static int placed, held, most_held;

static enum ws_status counted_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    enum ws_status status = true_ops->alloc(dev, bytes, out, d);
    placed += status == WS_OK, held += status == WS_OK;
    return status;
}

static void counted_free(struct device *dev, dptr p) {
    held -= p != 0;
    true_ops->free(dev, p);
}

/* The graph's plain kernels are right on a device that allocates so; counts what it has placed, all
 * of which is given back. */
static void check_counted(struct graph *g, struct value *in,
                          enum ws_status (*alloc)(struct device *, size_t, dptr *, struct diag *)) {
    struct plain_seen seen = {0};
    true_ops = here.dev->ops;
    struct device_ops counted = *true_ops;
    counted.alloc = alloc, counted.free = counted_free;
    here.dev->ops = &counted;
    placed = held = 0;
    check_at(&here, g, in, 1, &seen);
    here.dev->ops = true_ops;
    assert_int_equal(held, 0);
}

/* Temporaries go when all is computed. */
static void test_nothing_stays(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[64, 6]) {\n  %a = exp(%x)\n"
                                    "  %s = sum(%a, dim=[1], keepdim=True)\n  %d = div(%a, %s)\n"
                                    "  %m = amax(%d, dim=[0])\n  return %m\n}\n");
    struct value *in = drive_inputs(g, 1);
    check_counted(g, in, counted_alloc);
    assert_true(placed > 3);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

static size_t little_left(struct device *dev) {
    (void)dev;
    return 1000;
}

/* What no slices make room for is not begun: there may be millions of them. */
static void test_no_room(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct graph *g = must_parse(a, "graph(%x: f32[64, 48]) {\n  %e = exp(%x)\n"
                                    "  %s = sum(%e, dim=[0], keepdim=True)\n  %d = div(%e, %s)\n"
                                    "  %t = tanh(%d)\n  return %t\n}\n");
    struct reference *r = reference_lower(g, &(struct reference_options){.cuda = true}, a);
    struct device_ops scarce = *(true_ops = serial.dev->ops);
    dptr nowhere[2] = {0};
    (void)state;
    scarce.memory_left = little_left;
    scarce.alloc = counted_alloc;
    serial.dev->ops = &scarce;
    placed = 0;
    assert_int_equal(reference_run(r, serial.dev, serial.cc, NULL, nowhere, nowhere, NULL, a, &d),
                     WS_MACHINE);
    serial.dev->ops = true_ops;
    assert_non_null(strstr(d.message, "the reference needs "));
    assert_int_equal(placed, 0);
    arena_free(a);
}

/* Nor are there as many slices as elements where all but a little is whole in each of them: behind
 * a sum of everything nothing goes by rows. */
static void test_slices_that_save_little(void **state) {
    enum { CHAIN = 12 };
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    buf_puts(&text, "graph(%x: f32[64, 96]) {\n  %e = exp(%x)\n  %s = sum(%e)\n"
                    "  %d0 = div(%e, %s)\n");
    for (int i = 0; i < CHAIN; i++) buf_printf(&text, "  %%d%d = tanh(%%d%d)\n", i + 1, i);
    buf_puts(&text, "  %t = sum(%d0)\n  %r = div(%d1, %t)\n");
    for (int i = 1; i < CHAIN; i++) buf_printf(&text, "  %%r%d = mul(%%r, %%d%d)\n", i, i);
    buf_printf(&text, "  return %%r1, %%r%d\n}\n", CHAIN - 1);
    struct graph *g = must_parse(a, text.p);
    struct value *in = drive_inputs(g, 1);
    struct plain_seen seen = {0};
    (void)state;
    check_at(&sliced, g, in, 1, &seen);
    assert_in_range(seen.slices, 1, 4);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

static int until_stopped, asked_since;

static bool stops_soon(void) {
    asked_since += until_stopped <= 0;
    return until_stopped-- <= 0;
}

/* A device whose calls nobody ends. */
static enum ws_status deaf_run(struct device *dev, const struct launch *l, int n, struct diag *d) {
    bool (*stopped)(void) = dev->stopped;
    dev->stopped = NULL;
    enum ws_status status = true_ops->run(dev, l, n, d);
    dev->stopped = stopped;
    return status;
}

/* Who asks for an end waits for the launches that are under way, not for all; no memory stays. */
static void test_stopped(void **state) {
    enum { LINKS = 1100, TOGETHER = 256 };
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct buf text = buf_new(a);
    buf_puts(&text, "graph(%x: f32[4]) {\n  %a0 = exp(%x)\n");
    for (int i = 0; i < LINKS; i++) buf_printf(&text, "  %%a%d = tanh(%%a%d)\n", i + 1, i);
    buf_printf(&text, "  return %%a%d\n}\n", LINKS);
    struct graph *g = must_parse(a, text.p);
    struct reference *r = reference_lower(g, &(struct reference_options){0}, a);
    dptr in, out;
    (void)state;
    assert_true(r->plain.launches.n > 4 * TOGETHER);
    assert_int_equal(device_alloc(here.dev, 64, &in, &d), WS_OK);
    assert_int_equal(device_alloc(here.dev, 64, &out, &d), WS_OK);
    struct device_ops counted = *(true_ops = here.dev->ops);
    counted.alloc = counted_alloc, counted.free = counted_free, counted.run = deaf_run;
    here.dev->ops = &counted;
    held = 0;
    device_stop_when(here.dev, stops_soon);
    until_stopped = 2, asked_since = 0;
    assert_int_equal(reference_run(r, here.dev, here.cc, NULL, &in, &out, NULL, a, &d), WS_MACHINE);
    device_stop_when(here.dev, NULL);
    here.dev->ops = true_ops;
    assert_string_equal(d.message, "interrupted");
    assert_int_equal(asked_since, 1);
    assert_int_equal(held, 0);
    device_free(here.dev, in);
    device_free(here.dev, out);
    arena_free(a);
}

static enum ws_status scarce_alloc(struct device *dev, size_t bytes, dptr *out, struct diag *d) {
    if (held >= most_held) return diag_fail(d, WS_MACHINE, "no more memory");
    return counted_alloc(dev, bytes, out, d);
}

/* A chain's temporaries take each other's memory; what lies idle in another size goes where memory
 * is short. */
static void test_memory_is_taken_again(void **state) {
    enum { LINKS = 60 };
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    buf_puts(&text, "graph(%x: f32[6, 512]) {\n  %a0 = exp(%x)\n");
    for (int i = 0; i < LINKS; i++) buf_printf(&text, "  %%a%d = tanh(%%a%d)\n", i + 1, i);
    buf_printf(&text,
               "  %%s = sum(%%a%d, dim=[1])\n  %%e = exp(%%s)\n  %%f = tanh(%%e)\n"
               "  return %%f\n}\n",
               LINKS);
    struct graph *g = must_parse(a, text.p);
    struct value *in = drive_inputs(g, 1);
    (void)state;
    check_counted(g, in, counted_alloc);
    assert_true(placed < LINKS / 4);
    most_held = 5; /* inputs and outputs, and two temporaries of a chain */
    check_counted(g, in, scarce_alloc);
    free_values(in, g->inputs.n);
    free(in);
    arena_free(a);
}

/* A program is the same everywhere if all of its operators are, not only the first. */
static void test_exact(void **state) {
    static const struct {
        const char *body;
        bool exact;
    } cases[] = {{"%r = add(%x, 1)\n  %m = amax(%r, dim=[1])\n  return %m", true},
                 {"%r = add(%x, 1)\n  %m = sum(%r, dim=[1])\n  return %m", false},
                 {"%r = add(%x, 1)\n  %m = exp(%r)\n  return %m", false},
                 {"%r = exp(%x)\n  %m = add(%r, 1)\n  return %m", false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct arena *a = arena_new();
        struct diag d = diag_new(a);
        struct graph *g =
            must_parse(a, arena_printf(a, "graph(%%x: f32[4, 6]) {\n  %s\n}\n", cases[k].body));
        assert_int_equal(plain_is_exact(loops_lower(g, a, &d)), cases[k].exact);
        arena_free(a);
    }
}

static bool takes(const struct ws_launch *l, enum ws_arg_kind kind, int buffer) {
    for (int i = 0; i < l->n_args; i++)
        if (l->args[i].kind == kind && (kind != WS_ARG_BUFFER || l->args[i].buffer == buffer))
            return true;
    return false;
}

/* On CUDA few outputs of long reductions are shared by lanes, whose parts the last launch folds;
 * all else is one launch that writes its buffer. */
static void test_lanes(void **state) {
    static const struct {
        const char *text;
        bool folds;
    } cases[] = {
        {"graph(%x: f32[2, 65536]) {\n  %s = sum(%x, dim=[1])\n  return %s\n}\n", true},
        {"graph(%x: f32[65536, 2]) {\n  %s = sum(%x, dim=[1])\n  return %s\n}\n", false},
        {"graph(%x: f32[2, 65536]) {\n  %s = exp(%x)\n  return %s\n}\n", false},
        {"graph(%x: f32[2, 65536]) {\n  %s = cumsum(%x, dim=1)\n  return %s\n}\n", true},
        {"graph(%x: f32[65536, 20]) {\n  %s = cumsum(%x, dim=1)\n  return %s\n}\n", false},
        {"graph(%x: f32[9, 3, 11, 13]) {\n  %s = sum(%x, dim=[0, 2, 3])\n  return %s\n}\n", true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(a, cases[k].text);
        struct diag d = diag_new(a);
        struct loops *l = loops_lower(g, a, &d);
        struct plain out = {0};
        assert_non_null(l);
        assert_true(emit_plain(l, NULL, false, true, a, &out));
        assert_true(cases[k].folds ? out.launches.n > 1 : out.launches.n == 1);
        const struct ws_launch *first = &out.launches.at[0], *last = &vec_last(&out.launches);
        int result = (int)l->nests.at[l->nests.n - 1].out;
        assert_true(takes(first, WS_ARG_WORKSPACE, 0) == cases[k].folds);
        assert_true(takes(last, WS_ARG_BUFFER, result));
        arena_free(a);
    }
}

/* Functions that CUDA has of a graph; which are right. */
static uint64_t functions_of(struct arena *a, const char *body) {
    struct graph *g = must_parse(a, body);
    struct value *in = drive_inputs(g, 1);
    struct plain_seen seen = {0};
    check_at(&serial, g, in, 1, &seen);
    free_values(in, g->inputs.n);
    free(in);
    struct reference *r = reference_lower(g, &(struct reference_options){.cuda = true}, a);
    assert_non_null(r);
    return r->plain.functions.n;
}

/* Sizes and constants are arguments: like nests are one function. Where a nest takes so many
 * buffers that they have no room beside these, they are in the text. */
static void test_sizes(void **state) {
    struct arena *a = arena_new();
    uint64_t one = functions_of(a, "graph(%x: f32[20, 300]) {\n  %a = mul(%x, 3)\n"
                                   "  %b = sum(%a, dim=[1])\n  return %b\n}\n");
    assert_int_equal(functions_of(a,
                                  "graph(%x: f32[20, 300], %y: f32[40, 500], %z: f32[60, 270]) {\n"
                                  "  %a = mul(%x, 3)\n  %b = sum(%a, dim=[1])\n"
                                  "  %c = mul(%y, 0.7)\n  %d = sum(%c, dim=[1])\n"
                                  "  %e = mul(%z, 1e-5)\n  %f = sum(%e, dim=[1])\n"
                                  "  return %b, %d, %f\n}\n"),
                     one);
    for (int n = 30; n < 34; n++) {
        struct buf b = buf_new(a);
        buf_puts(&b, "graph(");
        for (int i = 0; i < n; i++)
            buf_printf(&b, "%s%%x%d: f32[%d, %d]", i ? ", " : "", i, 17 + i, 90 - i);
        buf_puts(&b, ") {\n");
        for (int i = 0; i < n; i++) buf_printf(&b, "  %%y%d = sum(%%x%d, dim=[1])\n", i, i);
        buf_puts(&b, "  %c = cat([");
        for (int i = 0; i < n; i++) buf_printf(&b, "%s%%y%d", i ? ", " : "", i);
        buf_puts(&b, "], 0)\n  return %c\n}\n");
        functions_of(a, b.p);
    }
    arena_free(a);
}

static double most_made(const struct loops *l) {
    double most = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        double all = 1;
        for (int i = 0; i < l->nests.at[k].n_axes; i++)
            all *= (double)ex_value(l->ex, ex_symbol(l->ex, l->nests.at[k].axes[i])->bound);
        if (all > most) most = all;
    }
    return most;
}

/* What sums alone read and is far larger than all else is no tensor: pairs of a source and a place,
 * which two sums may read, of the value and of its bound; products of all with all, in a chain,
 * whose links read it, too. What others read as well, and what is summed in part, is one. */
static void test_within(void **state) {
    static const struct {
        const char *text;
        double most; /* elements of a tensor */
    } cases[] = {
        {"graph(%x: f32[37, 11], %i: i64[40], %s: f32[40, 11]) {\n"
         "  %r = index_add(%x, dim=0, index=%i, source=%s)\n  return %r\n}\n",
         37 * 40},
        {"graph(%x: f32[70, 1], %y: f32[1, 90]) {\n  %p = mul(%x, %y)\n  %e = exp(%p)\n"
         "  %q = add(%e, %p)\n  %s = sum(%q, dim=[1])\n  %t = amax(%e, dim=[0, 1])\n"
         "  return %s, %t\n}\n",
         90},
        {"graph(%x: f32[70, 1], %y: f32[1, 90]) {\n  %p = mul(%x, %y)\n"
         "  %s = sum(%p, dim=[1])\n  return %s, %p\n}\n",
         70 * 90},
        {"graph(%x: f32[70, 1], %y: f32[1, 90]) {\n  %p = mul(%x, %y)\n"
         "  %c = slice(%p, dim=1, start=3, end=77)\n  %s = sum(%c, dim=[1])\n"
         "  %t = amax(%p, dim=[1])\n  return %s, %t\n}\n",
         70 * 90},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct arena *a = arena_new();
        struct graph *g = must_parse(a, cases[k].text), *bound = plain_with_bound(g);
        for (int cuda = 0; cuda < 2; cuda++) {
            struct reference_options o = {.cuda = cuda};
            assert_true(most_made(reference_lower(g, &o, a)->loops) <= cases[k].most);
            if (!k) assert_true(most_made(reference_lower(bound, &o, a)->loops) <= cases[k].most);
        }
        check_text(cases[k].text);
        arena_free(a);
    }
}

static int reductions_of(const struct loops *l) {
    int n = 0;
    for (uint32_t k = 0; k < l->nests.n; k++) n += l->nests.at[k].n_reduce > 0;
    return n;
}

/* A composite and its bound are made of the same product, which is computed once; the bound has one
 * of its own. */
static void test_shared(void **state) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, "graph(%x: f32[2048, 2048], %y: f32[2048, 2048]) {\n"
                                    "  %m = matmul(%x, %y)\n  return %m\n}\n");
    const struct ws_captured *c = ws_captured_of(a, g, "product");
    const struct reference *r = ws_lower_reference(c, DEVICE_CUDA);
    assert_non_null(r);
    assert_int_equal(reductions_of(r->loops), 2);
    assert_ptr_equal(ws_lower_reference(c, DEVICE_CUDA), r);
    arena_free(a);
}

/* Every element alone is what it is among all. */
static void test_random_elements(void **state) {
    uint64_t n = is_long() ? 4 * LONG : 4 * GRAPHS / PART, met = 0;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct arena *a = arena_new();
        struct graph *g = gen_graph(a, seed);
        if (!graph_verify(g, false)) {
            struct graph *h = graph_decompose_but_landings(g);
            struct value *in = drive_inputs(g, seed), *want = calloc(h->outputs.n, sizeof *want);
            struct diag d = diag_new(a);
            if (graph_eval(h, in, want, &d)) must_sample(h, in, want), met++;
            free_values(in, g->inputs.n);
            free_values(want, h->outputs.n);
            free(in);
            free(want);
        }
        arena_free(a);
    }
    assert_true(met > n / 2);
}

static void test_places(void **state) {
    struct arena *a = arena_new();
    const char *wrong = plain_check_places(&here, a);
    if (wrong) fail_msg("%s", wrong);
    arena_free(a);
}

static void test_random_numbers(void **state) {
    struct arena *a = arena_new();
    const char *wrong = plain_check_random(&here, a);
    if (wrong) fail_msg("%s", wrong);
    arena_free(a);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    env = env_read(a);
    if (device_open("cpu", &env, a, &d, &here.dev, NULL) != WS_OK ||
        toolchain_open(DEVICE_CPU, device_limits(here.dev)->arch, &env, a, &d, &here.cc) != WS_OK) {
        fprintf(stderr, "%s", d.text);
        return 1;
    }
    struct reference_binaries kept = reference_binaries_new(a), kept_cuda = kept;
    here.kept = &kept;
    serial = (struct plain_place){
        .dev = here.dev, .cc = serial_open(here.cc, a), .cuda = true, .kept = &kept_cuda};
    sliced = serial;
    sliced.memory = 1;
    struct diag quiet = diag_new(a);
    toolchain_open(DEVICE_CUDA, "sm_90a", &env, a, &quiet, &nvrtc);
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_random_graphs),   cmocka_unit_test(test_rows),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_one_pass),
        cmocka_unit_test(test_random_elements), cmocka_unit_test(test_places),
        cmocka_unit_test(test_random_numbers),  cmocka_unit_test(test_steps_alone),
        cmocka_unit_test(test_steps),           cmocka_unit_test(test_scans),
        cmocka_unit_test(test_several),         cmocka_unit_test(test_short_axes),
        cmocka_unit_test(test_large_inputs),    cmocka_unit_test(test_many_pairs),
        cmocka_unit_test(test_shared),          cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_within),          cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_exact),           cmocka_unit_test(test_nothing_stays),
        cmocka_unit_test(test_no_room),         cmocka_unit_test(test_slices_that_save_little),
        cmocka_unit_test(test_stopped),         cmocka_unit_test(test_memory_is_taken_again)};
    int failed = cmocka_run_group_tests(all, NULL, NULL);
    toolchain_close(here.cc);
    if (nvrtc) toolchain_close(nvrtc);
    device_close(here.dev);
    arena_free(a);
    return failed;
}
