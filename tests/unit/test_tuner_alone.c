/* test_tuner_alone.c: a mistake planted into one of five kernels has the name of that kernel, also
 * where all behind it work on what it left, and where the outputs do not show it; without one
 * nothing is wrong, and all is judged. A kernel that reads what is no tensor of the graph is judged
 * from what that was made of. What would be far more work than the whole is left out. What another
 * config writes may differ from the default's where a rounding decides, and nowhere else.
 *
 * The mistake: the element at `place` of what a kernel writes is off by a share of itself. */
#include <stdio.h>

#include "graph_test.h"
#include "machine_test.h"
#include "part.h"
#include "tests/fuzz/gen.h"
#include "tuner/alone.h"

/* Eager: a kernel for each line. */
#define CHAIN                                                                                      \
    "graph(%a: f32[32, 64] = L['a'], %w: f32[32, 32] = L['w']) {\n"                                \
    "  %b = exp(%a)\n  %c = sum(%b, dim=[1], keepdim=True)\n  %d = log1p(%c)\n"                    \
    "  %e = matmul(%w, %d)\n  %f = sigmoid(%e)\n  return %f\n}\n"
#define CHAIN_INPUTS                                                                               \
    "graph() {\n  %a = randn([32, 64], index=0)\n  %w = rand([32, 32], index=1)\n"                 \
    "  return %a, %w\n}\n"

/* A sum of all that goes along its rows first, in the kernel that reads them anyway. */
#define ROWS                                                                                       \
    "graph(%a: f32[512, 1024] = L['a']) {\n  %b = softmax(%a, dim=1)\n  %c = mul(%b, %a)\n"        \
    "  %d = sum(%c)\n  %e = log(%d)\n  return %e\n}\n"
#define ROWS_INPUTS "graph() {\n  %a = randn([512, 1024], index=0)\n  return %a\n}\n"

/* Of b and c only the middle is read, so no more is made of them. */
#define MIDDLE                                                                                     \
    "graph(%a: f32[9, 32] = L['a']) {\n  %b = exp(%a)\n  %s = slice(%b, 1, 3, 21)\n"               \
    "  %c = log1p(%s)\n  %t = slice(%c, 0, 2, 8)\n  %d = sum(%t, dim=[1])\n  return %d\n}\n"
#define MIDDLE_INPUTS "graph() {\n  %a = randn([9, 32], index=0)\n  return %a\n}\n"

/* b and c make no difference to f, as they are multiplied by very little, or are not chosen. */
#define HIDDEN                                                                                     \
    "graph(%a: @[32, 64] = L['a']) {\n  %b = exp(%a)\n  %c = sum(%b, dim=[1], keepdim=True)\n"     \
    "  %d = mul(%c, 1e-30)\n  %m = gt(%a, 100)\n  %e = where(%m, %b, %a)\n"                        \
    "  %f = add(%e, %d)\n  return %f\n}\n"
#define HIDDEN_INPUTS "graph() {\n  %a = randn([32, 64], index=0)\n  return %a\n}\n"

/* d is 0 up to roundings, so e may be anything; c is added to it where nothing is lost. */
#define POLE                                                                                       \
    "graph(%a: f32[4, 64] = L['a']) {\n  %b = sum(%a, dim=[1])\n  %f = flip(%a, dims=[1])\n"       \
    "  %c = sum(%f, dim=[1])\n  %d = sub(%b, %c)\n  %e = reciprocal(%d)\n  return %e, %b\n}\n"
#define POLE_INPUTS "graph() {\n  %a = randn([4, 64], index=0)\n  return %a\n}\n"

/* What is added at indices is as much work as its sources; what is put there is that to the
 * reference of the whole, and to that of its kernel as there are pairs of a source and a place. */
#define PUT                                                                                        \
    "graph(%x: f32[4096, 4] = L['x'], %i: i64[8192] = L['i'], %s: f32[8192, 4] = L['s']) {\n"      \
    "  %u = unsqueeze(%i, 1)\n  %e = expand(%u, [8192, 4])\n"                                      \
    "  %y = scatter(%x, 0, %e, %s)\n  %z = exp(%y)\n  return %z\n}\n"
#define PUT_LAST                                                                                   \
    "graph(%x: f32[4096, 4] = L['x'], %i: i64[8192] = L['i'], %s: f32[8192, 4] = L['s']) {\n"      \
    "  %z = exp(%x)\n  %u = unsqueeze(%i, 1)\n  %e = expand(%u, [8192, 4])\n"                      \
    "  %y = scatter(%z, 0, %e, %s)\n  return %y\n}\n"
#define LANDING                                                                                    \
    "graph(%x: f32[4096, 4] = L['x'], %i: i64[8192] = L['i'], %s: f32[8192, 4] = L['s']) {\n"      \
    "  %y = index_add(%x, 0, %i, %s)\n  %z = exp(%y)\n  return %z\n}\n"
#define LANDING_INPUTS                                                                             \
    "graph() {\n  %x = randn([4096, 4], index=0)\n  %i = arange(0, 8192, 1, dtype=i64)\n"          \
    "  %j = bitwise_and(%i, 4095)\n  %s = randn([8192, 4], index=1)\n  return %x, %j, %s\n}\n"

/* A bool of which rounding decides where d is nearly a whole number: at one of thousands. */
#define EDGE                                                                                       \
    "graph(%a: f32[64, 4096] = L['a']) {\n  %b = sum(%a, dim=[1], keepdim=True)\n"                 \
    "  %c = div(%a, %b)\n  %d = mul(%c, 2e6)\n  %e = floor(%d)\n  %f = remainder(%e, 2)\n"         \
    "  %g = gt(%f, 0)\n  %h = to(%g, dtype=i64)\n  %i = cumsum(%h, dim=0)\n  return %i\n}\n"
#define EDGE_INPUTS "graph() {\n  %a = rand([64, 4096], index=0)\n  return %a\n}\n"

struct bed {
    struct arena *a;
    struct diag d;
    struct ws_program *p;
    struct plan plan;
    struct builder builder;
    struct data data;
};

/* `text` with a last statement in the function that it ends with. What has 16 bits is off by whole
 * units in the last place. */
static const char *planted(struct arena *a, const char *text, enum dtype t, int arg, int place,
                           double share) {
    const char *end = strrchr(text, '}');
    const char *mistake = t == DT_BF16 ? arena_printf(a, "(*(k_bf16 *const *)args[%d])[%d] += %d",
                                                      arg, place, (int)(share * 128))
                                       : arena_printf(a, "(*(float *const *)args[%d])[%d] *= %.9gf",
                                                      arg, place, 1 + share);
    return arena_printf(a, "%.*s    %s;\n}\n", (int)(end - text), text, mistake);
}

static void plant(struct bed *b, int kernel, int place, double share) {
    struct variant *v = b->plan.chosen[kernel];
    assert_true(variant_emit(v, b->a));
    struct ws_source s = v->source;
    const struct ws_launch *l = &s.launches[s.n_launches - 1];
    for (int i = 0; i < l->n_args; i++)
        if (l->args[i].kind == WS_ARG_BUFFER &&
            l->args[i].buffer == b->p->kernels[kernel].writes[0])
            s.text = planted(b->a, v->source.text, b->p->buffers[l->args[i].buffer].dtype, i, place,
                             share);
    assert_ptr_not_equal(s.text, v->source.text);
    variant_take_source(v, &s, b->a);
}

/* One element of bools is the other one. */
static void plant_bool(struct bed *b, struct variant *v) {
    assert_true(variant_emit(v, b->a));
    struct ws_source s = v->source;
    const struct ws_launch *l = &s.launches[s.n_launches - 1];
    for (int i = 0; i < l->n_args; i++)
        if (l->args[i].kind == WS_ARG_BUFFER && l->args[i].buffer == variant_kernel(v)->writes[0])
            s.text = arena_printf(b->a, "%.*s    (*(k_bool *const *)args[%d])[5] ^= 1;\n}\n",
                                  (int)(strrchr(s.text, '}') - s.text), s.text, i);
    variant_take_source(v, &s, b->a);
}

/* False: d says why the graph has no kernels. */
static bool open_graph(struct bed *b, struct graph *g, struct graph *init, enum ws_fusion fusion) {
    *b = (struct bed){.a = g->arena};
    b->d = diag_new(b->a);
    struct ws_captured *c = ws_captured_of(b->a, g, "test");
    c->init = init;
    b->p = ws_lower(c, &machine.limits, fusion, NULL, &b->d);
    if (!b->p) return false;
    b->plan = plan_new("planted", b->p, b->a);
    for (int k = 0; k < b->p->n_kernels; k++) {
        const struct config *configs;
        int n, pruned;
        ws_configs(b->p, k, &configs, &n, &pruned);
        b->plan.chosen[k] = NEW(b->a, struct variant);
        *b->plan.chosen[k] = variant_new(b->p, k, &configs[0], b->a);
    }
    data_open(&b->data, &machine, b->p, b->a);
    assert_int_equal(builder_open(&b->builder, &machine, NULL, b->a, &b->d), WS_OK);
    return true;
}

static void open_bed(struct bed *b, const char *graph, const char *inputs, enum ws_fusion fusion) {
    struct arena *a = arena_new();
    assert_true(open_graph(b, must_parse(a, graph), must_parse(a, inputs), fusion));
}

static bool try_to_build(struct bed *b) {
    return plan_begin(&b->plan, &b->builder, &b->d) == WS_OK &&
           plan_finish(&b->plan, &b->builder, &b->d) == WS_OK &&
           data_make_inputs(&b->data, &b->d) == WS_OK &&
           data_make_reference(&b->data, &b->d) == WS_OK;
}

static void build(struct bed *b) {
    if (!try_to_build(b)) fail_msg("%s", b->d.text);
}

static void close_bed(struct bed *b) {
    builder_close(&b->builder);
    plan_unload(&b->plan, &machine);
    data_close(&b->data);
    arena_free(b->a);
}

static void test_right(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b, CHAIN, CHAIN_INPUTS, WS_EAGER);
    build(&b);
    assert_int_equal(b.p->n_kernels, 5);
    if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_string_equal(remark,
                        "each kernel alone: 5 of the 5 buffers that they write are judged\n");
    close_bed(&b);
}

/* A variant is small, as a network's kernels have thousands that are never tried, and keeps of what
 * it was emitted by its source alone. */
static void test_memory(void **state) {
    struct bed b;
    (void)state;
    open_bed(&b, CHAIN, CHAIN_INPUTS, WS_FUSE);
    struct variant *v = b.plan.chosen[0];
    size_t before = arena_used(b.a);
    assert_true(variant_emit(v, b.a));
    size_t kept = strlen(v->source.text) + strlen(v->source.block) +
                  (size_t)v->source.n_launches * sizeof *v->source.launches;
    assert_true(arena_used(b.a) - before < kept + 4096);
    assert_true(sizeof *v < 1024);
    close_bed(&b);
}

/* Trimmed tensors are known, too, by those who read them and by those who write them. */
static void test_trimmed(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b, MIDDLE, MIDDLE_INPUTS, WS_EAGER);
    build(&b);
    assert_int_equal(b.p->buffers[b.p->kernels[0].writes[0]].numel, 6 * 18);
    if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_string_equal(remark,
                        "each kernel alone: 3 of the 3 buffers that they write are judged\n");
    close_bed(&b);
}

static void test_planted(void **state) {
    static const double shares[] = {1e-5, 0.5};
    static const struct {
        const char *graph, *inputs;
        int n, place;
    } rows[] = {{CHAIN, CHAIN_INPUTS, 5, 17}, {MIDDLE, MIDDLE_INPUTS, 3, 4}};
    for (int i = 0; i < rows[0].n + rows[1].n; i++) {
        int which = i >= rows[0].n, kernel = which ? i - rows[0].n : i;
        struct bed b;
        const char *remark;
        open_bed(&b, rows[which].graph, rows[which].inputs, WS_EAGER);
        plant(&b, kernel, rows[which].place, shares[kernel % 2]);
        build(&b);
        assert_int_equal(alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d), WS_WRONG);
        const char *want = arena_printf(b.a, "kernel %s alone: ", b.p->kernels[kernel].name);
        if (!strstr(b.d.text, want)) fail_msg("no '%s' in: %s", want, b.d.text);
        assert_non_null(strstr(b.d.text, "(1 of "));
        assert_string_equal(alone_blame(&b.data, &b.plan, b.a), b.d.message);
        close_bed(&b);
    }
}

/* The outputs are right, as they are found to be. */
static void must_be_right(struct bed *b) {
    struct buffers memory;
    if (buffers_place(&memory, &b->data, b->p, false, b->a, &b->d) != WS_OK ||
        plan_check(&b->plan, &b->data, &memory, false, &b->d) != WS_OK)
        fail_msg("%s", b->d.text);
    buffers_free(&memory);
}

static const char *of_type(struct arena *a, const char *graph, const char *type) {
    struct buf b = buf_new(a);
    for (; *graph; graph++) {
        if (*graph == '@')
            buf_puts(&b, type);
        else
            buf_putc(&b, *graph);
    }
    return b.p;
}

static void test_hidden(void **state) {
    static const struct {
        const char *type;
        double share;
        int kernel; /* exp, sum */
    } rows[] = {{"f32", 1e-5, 0}, {"f32", 1e-4, 1}, {"bf16", 0.05, 0}, {"bf16", 0.25, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena *a = arena_new();
        for (int mistake = 0; mistake < 2; mistake++) {
            struct bed b;
            const char *remark;
            open_bed(&b, of_type(a, HIDDEN, rows[i].type), HIDDEN_INPUTS, WS_EAGER);
            if (mistake) plant(&b, rows[i].kernel, 5, rows[i].share);
            build(&b);
            must_be_right(&b);
            enum ws_status found = alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d);
            if (!mistake && found != WS_OK) fail_msg("%s", b.d.text);
            const char *name = b.p->kernels[rows[i].kernel].name;
            if (mistake && !strstr(b.d.text, arena_printf(a, "kernel %s alone: ", name)))
                fail_msg("%s %s is not found: %s", name, rows[i].type, b.d.text);
            close_bed(&b);
        }
        arena_free(a);
    }
}

/* Whichever of the two kernels comes first. */
static void test_too_much(void **state) {
    static const char *const graphs[] = {PUT, PUT_LAST};
    for (int i = 0; i < 2; i++) {
        struct bed b;
        const char *remark;
        open_bed(&b, graphs[i], LANDING_INPUTS, WS_EAGER);
        build(&b);
        if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK)
            fail_msg("%s", b.d.text);
        assert_int_equal(b.p->n_kernels, 2);
        assert_string_equal(remark,
                            "each kernel alone: 1 of the 2 buffers that they write are judged; the "
                            "references of 1 kernel would be too much work\n");
        close_bed(&b);
    }
}

/* Sums of what lands on each place are judged, and found wrong where they are. */
static void test_landed(void **state) {
    for (int mistake = 0; mistake < 2; mistake++) {
        struct bed b;
        const char *remark;
        open_bed(&b, LANDING, LANDING_INPUTS, WS_EAGER);
        if (mistake) plant(&b, 0, 5, 0.5);
        build(&b);
        enum ws_status found = alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d);
        assert_int_equal(b.p->n_kernels, 2);
        if (mistake) {
            const char *says = arena_printf(b.a, "kernel %s alone: ", b.p->kernels[0].name);
            if (!strstr(b.d.text, says)) fail_msg("not found: %s", b.d.text);
        } else {
            if (found != WS_OK) fail_msg("%s", b.d.text);
            assert_string_equal(
                remark, "each kernel alone: 2 of the 2 buffers that they write are judged\n");
        }
        close_bed(&b);
    }
}

/* An output without a bound is judged where all kernels behind it are, and is none where one of
 * them has no bound itself, or has not been judged. */
static void test_kernel_by_kernel(void **state) {
    static const struct {
        const char *graph, *inputs;
        enum ws_fusion fusion;
        int64_t unbounded, unjudged;
        bool by_kernels;
        const char *says;
    } rows[] = {
        {POLE, POLE_INPUTS, WS_EAGER, 4, 0, true,
         "check: 4 elements of 1 output, the first of them out0, have no bound as a whole: judged "
         "kernel by kernel\n"},
        {POLE, POLE_INPUTS, WS_FUSE, 4, 4, false,
         "check: 4 of 4 elements of out0 have no bound: not judged\n"},
        {CHAIN, CHAIN_INPUTS, WS_EAGER, 0, 0, true, ""},
        {LANDING, LANDING_INPUTS, WS_EAGER, 0, 0, true, ""},
        {PUT, LANDING_INPUTS, WS_EAGER, 0, 0, false, ""},
        {ROWS, ROWS_INPUTS, WS_FUSE, 0, 0, true, ""}, /* parts of the sum are the next kernel's */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bed b;
        const char *remark;
        open_bed(&b, rows[i].graph, rows[i].inputs, rows[i].fusion);
        build(&b);
        must_be_right(&b);
        struct data_worst before = data_worst(&b.data);
        if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK)
            fail_msg("%s", b.d.text);
        struct data_worst after = data_worst(&b.data);
        assert_int_equal(before.unbounded, rows[i].unbounded);
        assert_int_equal(before.unjudged, rows[i].unbounded);
        assert_int_equal(after.unbounded, rows[i].unbounded);
        assert_int_equal(after.unjudged, rows[i].unjudged);
        assert_int_equal(b.data.by_kernels[0], rows[i].by_kernels);
        assert_string_equal(data_unjudged(&b.data), rows[i].says);
        close_bed(&b);
    }
}

/* e may be anything, and says nothing of g, which is made of the same input. */
static void test_beside(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b,
             "graph(%a: f32[4, 64] = L['a']) {\n  %f = flip(%a, dims=[1])\n"
             "  %s = sum(%f, dim=[1])\n  %b = sum(%a, dim=[1])\n  %d = sub(%b, %s)\n"
             "  %e = reciprocal(%d)\n  %t = permute(%a, [1, 0])\n  %g = matmul(%a, %t)\n"
             "  return %e, %g\n}\n",
             POLE_INPUTS, WS_FUSE);
    build(&b);
    must_be_right(&b);
    if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_int_equal(b.p->n_kernels, 2);
    assert_false(b.data.by_kernels[0]);
    assert_true(b.data.by_kernels[1]);
    close_bed(&b);
}

static void test_parts_of_a_sum(void **state) {
    struct bed b;
    const char *remark;
    open_bed(&b, ROWS, ROWS_INPUTS, WS_FUSE);
    build(&b);
    if (alone_judge(&b.data, &b.plan, NULL, b.a, &remark, &b.d) != WS_OK) fail_msg("%s", b.d.text);
    assert_string_equal(remark,
                        "each kernel alone: 1 of the 2 buffers that they write are judged\n");
    close_bed(&b);
}

/* Configs add up in other orders, so bools turn: the default's are not what counts, but what the
 * reference leaves open. A bool that it knows is wrong. */
static void test_edge(void **state) {
    struct bed b;
    struct testbed bed;
    const struct config *configs;
    const char *remark, *message;
    int n, pruned, turned = 0;
    bool spoilt;
    open_bed(&b, EDGE, EDGE_INPUTS, WS_FUSE);
    build(&b);
    assert_int_equal(b.p->n_kernels, 2);
    assert_int_equal(b.p->buffers[b.p->kernels[0].writes[0]].dtype, DT_BOOL);
    if (alone_judge(&b.data, &b.plan, &bed, b.a, &remark, &b.d) != WS_OK ||
        testbed_know(&bed, &b.d) != WS_OK)
        fail_msg("%s", b.d.text);
    ws_configs(b.p, 0, &configs, &n, &pruned);
    for (int i = 0; i < 8 && i < n; i++) {
        struct plan other = plan_new("other", b.p, b.a);
        struct variant v[] = {variant_new(b.p, 0, &configs[i], b.a), *b.plan.chosen[1]};
        bool wrong = i == 7;
        for (int k = 0; k < 2; k++) other.chosen[k] = &v[k];
        if (wrong) plant_bool(&b, v);
        if (plan_begin(&other, &b.builder, &b.d) != WS_OK ||
            plan_finish(&other, &b.builder, &b.d) != WS_OK ||
            testbed_check(&bed, v, false, &message, &spoilt, &b.d) != WS_OK)
            fail_msg("%s", b.d.text);
        turned += message != NULL;
        if (wrong) assert_non_null(message);
        if (message && alone_acquit(&bed, v, &message, &b.d) != WS_OK) fail_msg("%s", b.d.text);
        if (!wrong && message) fail_msg("%s: %s", v->text, message);
        if (wrong) {
            assert_non_null(message);
            assert_non_null(strstr(message, "(1 of 262144 elements is wrong)"));
        }
        variant_unload(v, &machine);
    }
    assert_true(turned > 1);
    testbed_close(&bed);
    close_bed(&b);
}

/* A product in tf32 may be off by a few roundings of its factors from the default's, in f32 not. */
static void test_tf32(void **state) {
    static const struct {
        enum precision precision;
        double share;
        bool wrong;
    } rows[] = {{PRECISION_F32, 1e-5, false},
                {PRECISION_F32, 2e-3, true},
                {PRECISION_TF32, 2e-3, false},
                {PRECISION_TF32, 2e-2, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum { PRODUCT = 3 };
        struct bed b;
        struct testbed bed;
        const char *remark, *message = NULL;
        bool spoilt;
        open_bed(&b, CHAIN, CHAIN_INPUTS, WS_EAGER);
        b.p->kernels[PRODUCT].precision = rows[i].precision;
        build(&b);
        if (alone_judge(&b.data, &b.plan, &bed, b.a, &remark, &b.d) != WS_OK ||
            testbed_know(&bed, &b.d) != WS_OK)
            fail_msg("%s", b.d.text);
        struct plan sound = b.plan;
        b.plan = plan_new("other", b.p, b.a);
        struct variant v = variant_new(b.p, PRODUCT, ws_default_config(b.p, PRODUCT), b.a);
        for (int k = 0; k < b.p->n_kernels; k++) b.plan.chosen[k] = sound.chosen[k];
        b.plan.chosen[PRODUCT] = &v;
        plant(&b, PRODUCT, 17, rows[i].share);
        if (plan_begin(&b.plan, &b.builder, &b.d) != WS_OK ||
            plan_finish(&b.plan, &b.builder, &b.d) != WS_OK ||
            testbed_check(&bed, &v, false, &message, &spoilt, &b.d) != WS_OK)
            fail_msg("%s", b.d.text);
        if (!message == rows[i].wrong)
            fail_msg("%g: %s", rows[i].share, message ? message : "right");
        variant_unload(&v, &machine);
        b.plan = sound;
        testbed_close(&bed);
        close_bed(&b);
    }
}

/* ---- random graphs --------------------------------------------------------------------------- */

/* Normal numbers; integers that are small, bools of them. */
static struct graph *inputs_of(const struct graph *g) {
    struct buf b = buf_new(g->arena), names = buf_new(g->arena);
    buf_puts(&b, "graph() {\n");
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[i].node].meta;
        bool real = dtype_is_float(m->dtype) && !dtype_is_float8(m->dtype);
        buf_printf(&b, "  %%r%u = randn([", i);
        for (int k = 0; k < m->rank; k++)
            buf_printf(&b, "%s%lld", k ? ", " : "", (long long)ex_value(g->ex, m->size[k]));
        buf_printf(&b, "], index=%u)\n", i);
        buf_printf(&b, "  %%s%u = mul(%%r%u, %d)\n", i, i, real ? 1 : 3);
        buf_printf(&b, "  %%t%u = to(%%s%u, dtype=%s)\n", i, i, dtype_name(m->dtype));
        buf_printf(&names, "%s%%t%u", i ? ", " : "", i);
    }
    buf_printf(&b, "  return %s\n}\n", names.p);
    return must_parse(g->arena, b.p);
}

struct seen {
    int programs, kernels;
};

/* Whether or not the outputs are right, and where a right one may be anything. */
static void judge_graph(uint64_t seed, enum ws_fusion fusion, struct seen *seen) {
    struct arena *a = arena_new();
    struct graph *g = gen_graph(a, seed);
    struct bed b;
    const char *remark;
    if (!graph_verify(g, false) && g->inputs.n && open_graph(&b, g, inputs_of(g), fusion)) {
        if (b.p->n_kernels > 1 && try_to_build(&b)) {
            seen->programs++;
            seen->kernels += b.p->n_kernels;
            if (alone_judge(&b.data, &b.plan, NULL, a, &remark, &b.d) != WS_OK) {
                struct buf text = buf_new(a);
                graph_print(&text, g);
                fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, b.d.text, text.p);
            }
        }
        close_bed(&b);
    } else
        arena_free(a);
}

static void test_random_graphs(void **state) {
    const char *first = getenv("SEED");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1, n = is_long() ? 200 : 12 / PART;
    struct seen seen = {0};
    for (uint64_t i = 0; i < n; i++) judge_graph(seed + i, i % 2 ? WS_FUSE : WS_EAGER, &seen);
    print_message("             %d programs, %d kernels\n", seen.programs, seen.kernels);
    assert_true(seen.programs > 0);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_right),
                                     cmocka_unit_test(test_trimmed),
                                     cmocka_unit_test(test_planted),
                                     cmocka_unit_test(test_parts_of_a_sum),
                                     cmocka_unit_test(test_beside),
                                     cmocka_unit_test(test_hidden),
                                     cmocka_unit_test(test_landed),
                                     cmocka_unit_test(test_too_much),
                                     cmocka_unit_test(test_kernel_by_kernel),
                                     cmocka_unit_test(test_memory),
                                     cmocka_unit_test(test_edge),
                                     cmocka_unit_test(test_tf32),
                                     cmocka_unit_test(test_random_graphs)};
    return cmocka_run_group_tests(all, open_cpu, close_cpu);
}
