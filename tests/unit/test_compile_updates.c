/* Inputs that are updated in place: which outputs lie where an input does, and what kernels that
 * write there compute: on the CPU, and on a GPU, where some of an input stays, in every config. */
#include "generated_test.h"
#include "graph_test.h"
#include "ws_tune.h"

static const struct {
    const char *text, *in_place; /* of the fused program: inputs that outputs take the place of */
} graphs[] = {
    {"graph(%p: f32[1003], %g: f32[1003], %m: f32[1003], %v: f32[1003]) {\n"
     " %d = mul(%p, 0.99)\n %a = mul(%m, 0.9)\n %b = add(%a, %g)\n %c = mul(%v, 0.999)\n"
     " %e = mul(%g, %g)\n %f = add(%c, %e)\n %s = sqrt(%f)\n %h = add(%s, 1e-3)\n"
     " %q = div(%b, %h)\n %r = sub(%d, %q)\n return %r, %p = %r, %m = %b, %v = %f\n}\n",
     "p m v"},
    {"graph(%x: bf16[37, 65]) {\n %y = gelu(%x)\n return %x = %y\n}\n", "x"},
    {"graph(%x: f32[7, 1000]) {\n %y = softmax(%x, 1)\n return %x = %y\n}\n", "x"},
    {"graph(%x: bf16[9, 257], %w: bf16[257]) {\n %y = layer_norm(%x, [257], %w)\n %s = sum(%y)\n"
     " return %s, %x = %y\n}\n",
     "x"},
    {"graph(%x: f32[65, 40]) {\n %y = softmax(%x, 0)\n return %x = %y\n}\n", "x"},
    /* an earlier kernel reads all of it, this one an element */
    {"graph(%x: f32[65, 40]) {\n %s = sum(%x)\n %m = mul(%x, 2)\n %y = sub(%m, %s)\n"
     " return %x = %y\n}\n",
     "x"},
    /* what changes places is read before either is written */
    {"graph(%x: f32[1000], %y: f32[1000]) {\n %a = mul(%x, 2)\n %b = mul(%y, 3)\n"
     " return %x = %b, %y = %a\n}\n",
     "x y"},
    {"graph(%x: f32[500], %y: f32[500]) {\n %a = exp(%y)\n return %x = %a\n}\n", "x"},
    /* one value cannot be in two places */
    {"graph(%x: f32[500], %y: f32[500]) {\n %a = add(%x, %y)\n return %x = %a, %y = %a\n}\n", "x"},
    /* a later kernel reads the new value */
    {"graph(%x: f32[40, 40], %w: f32[40, 40]) {\n %y = softmax(%x, 1)\n %z = mm(%w, %y)\n"
     " return %z, %x = %y\n}\n",
     ""},
    /* elements are read where others are written */
    {"graph(%x: f32[40, 40]) {\n %t = permute(%x, [1, 0])\n %y = add(%x, %t)\n"
     " return %x = %y\n}\n",
     ""},
    {"graph(%x: f32[40, 40]) {\n %r = select(%x, 0, 3)\n %y = add(%x, %r)\n return %x = %y\n}\n",
     ""},
    {"graph(%x: f32[64]) {\n %y = flip(%x, [0])\n return %x = %y\n}\n", ""},
    /* memory lies otherwise */
    {"graph(%x: f32[16, 24][1, 16]) {\n %y = exp(%x)\n return %x = %y\n}\n", ""},
    /* of one column or row */
    {"graph(%x: f32[64, 24], %m: f32[24]) {\n %a = sum(%x, 0)\n %b = mul(%m, 0.9)\n"
     " %c = add(%a, %b)\n %y = sub(%x, %m)\n return %y, %m = %c\n}\n",
     ""},
    {"graph(%x: f32[40, 200], %a: f32[40, 30], %b: f32[30, 200]) {\n %p = mm(%a, %b)\n"
     " %y = add(%x, %p)\n return %x = %y\n}\n",
     ""},
    {"graph(%x: f32[6, 300]) {\n %y = cumsum(%x, 1)\n return %x = %y\n}\n", ""},
};

/* Of which some stays, and the rest is written on a GPU. */
static const struct {
    const char *text, *in_place;
} kept[] = {
    /* a cache of which one row is written, and which is read with it */
    {"graph(%c: f32[2, 24, 40], %k: f32[2, 1, 40], %p: i64[1], %q: f32[2, 5, 40]) {\n"
     " %r = arange(start=0, end=24, step=1)\n %e = eq(%r, %p)\n %m = unsqueeze(%e, dim=1)\n"
     " %y = where(%m, %k, %c)\n %t = permute(%y, [0, 2, 1])\n %z = bmm(%q, %t)\n"
     " return %z, %c = %y\n}\n",
     "c"},
    /* rows, and of 16 bits */
    {"graph(%c: bf16[24, 3, 48], %x: bf16[24, 3, 48], %m: bool[24, 1, 1]) {\n %e = gelu(%x)\n"
     " %y = where(%m, %e, %c)\n return %c = %y\n}\n",
     "c"},
    /* what is chosen stays; along the row, by elements */
    {"graph(%c: f32[24, 40], %x: f32[24, 40], %m: bool[40]) {\n %y = where(%m, %c, %x)\n"
     " return %c = %y\n}\n",
     "c"},
    {"graph(%c: f32[24, 40], %x: f32[24, 1], %l: i64[24, 1]) {\n"
     " %r = arange(start=0, end=40, step=1)\n %m = eq(%r, %l)\n %y = where(%m, %x, %c)\n"
     " return %c = %y\n}\n",
     "c"},
    /* a slice, by its place */
    {"graph(%c: f32[3, 24, 16], %x: f32[3, 2, 16]) {\n %a = slice(%c, dim=1, start=0, end=5, "
     "step=1)\n"
     " %b = slice(%c, dim=1, start=7, end=24, step=1)\n %y = cat([%a, %x, %b], dim=1)\n"
     " return %c = %y\n}\n",
     "c"},
    {"graph(%c: bf16[3, 24, 16], %x: bf16[3, 2, 16]) {\n %b = slice(%c, dim=1, start=2, end=24, "
     "step=1)\n"
     " %y = cat([%x, %b], dim=1)\n return %c = %y\n}\n",
     "c"},
    /* another slice comes there */
    {"graph(%c: f32[3, 24, 16], %x: f32[3, 2, 16]) {\n %b = slice(%c, dim=1, start=0, end=22, "
     "step=1)\n"
     " %y = cat([%x, %b], dim=1)\n return %c = %y\n}\n",
     ""},
    /* zeros come where a guard does not hold */
    {"graph(%c: f32[24, 40], %x: f32[24, 40], %m: bool[24, 1]) {\n"
     " %s = slice(%c, dim=1, start=0, end=30, step=1)\n"
     " %p = constant_pad_nd(%s, [0, 10], 0.0)\n %y = where(%m, %x, %p)\n return %c = %y\n}\n",
     ""},
    /* a row's condition is a sum */
    {"graph(%c: f32[24, 40], %x: f32[24, 40], %w: f32[24, 70]) {\n %s = sum(%w, [1], True)\n"
     " %m = gt(%s, 0)\n %y = where(%m, %x, %c)\n return %c = %y\n}\n",
     "c"},
    {"graph(%c: f32[24], %x: f32[24], %w: f32[24, 70]) {\n %s = sum(%w, [1])\n"
     " %m = gt(%s, 0)\n %y = where(%m, %x, %c)\n return %c = %y\n}\n",
     "c"},
    {"graph(%c: f32[24], %x: f32[24], %w: f32[70, 24]) {\n %s = sum(%w, [0])\n"
     " %m = gt(%s, 0)\n %y = where(%m, %x, %c)\n return %c = %y\n}\n",
     "c"},
    /* sources by rows that the data say */
    {"graph(%c: f32[3, 64, 16], %x: f32[3, 2, 16], %q: i64[3, 2, 16]) {\n"
     " %p = clamp(%q, 0, 63)\n %y = scatter(%c, dim=1, index=%p, src=%x)\n return %c = %y\n}\n",
     "c"},
    {"graph(%c: bf16[400], %x: bf16[300], %q: i64[300]) {\n %p = clamp(%q, 0, 63)\n"
     " %y = scatter(%c, dim=0, index=%p, src=%x)\n return %c = %y\n}\n",
     "c"},
    /* two at once, with one condition */
    {"graph(%c: f32[9, 64], %d: f32[9, 64], %x: f32[64], %m: bool[9, 1]) {\n"
     " %y = where(%m, %x, %c)\n %n = neg(%x)\n %z = where(%m, %n, %d)\n"
     " return %c = %y, %d = %z\n}\n",
     "c d"},
    /* all of the new value is asked for where it is made */
    {"graph(%c: f32[24, 40], %x: f32[24, 1], %m: bool[24, 1]) {\n %y = where(%m, %x, %c)\n"
     " %s = sum(%y, 1)\n return %c = %y, %s\n}\n",
     ""},
    /* the old value is asked for: by what is written, by another kernel, by the same one */
    {"graph(%c: f32[24, 40], %m: bool[24, 1]) {\n %s = sum(%c, 0)\n %y = where(%m, %s, %c)\n"
     " return %c = %y\n}\n",
     ""},
    {"graph(%c: f32[24, 40], %x: f32[40], %m: bool[24, 1], %w: f32[40, 40]) {\n"
     " %y = where(%m, %x, %c)\n %z = mm(%c, %w)\n return %z, %c = %y\n}\n",
     ""},
    {"graph(%c: f32[24, 40], %m: bool[24, 1]) {\n %e = exp(%c)\n %y = where(%m, %e, %c)\n"
     " return %c = %y\n}\n",
     ""},
    {"graph(%c: f32[24, 40], %x: f32[40], %m: bool[24, 1]) {\n %y = where(%m, %x, %c)\n"
     " return %y\n}\n",
     ""},
};

static struct ws_program *lower(struct arena *a, const char *text, enum device_kind kind) {
    struct ws_captured *c = NEW(a, struct ws_captured);
    struct device_limits *limits = NEW(a, struct device_limits);
    struct diag d = diag_new(a);
    struct env env = env_read(a);
    struct device *dev = NULL;
    if (kind == DEVICE_CUDA)
        assert_true(device_limits_for_arch("sm_90a", limits));
    else if (device_open_untimed("cpu", &env, a, &d, &dev) == WS_OK)
        *limits = *device_limits(dev);
    else
        fail_msg("%s", d.text);
    device_close(dev);
    *c = (struct ws_captured){
        .arena = a, .graph = must_parse(a, text), .guards = "", .workload = "test"};
    struct ws_program *p = ws_lower(c, limits, WS_FUSE, NULL, &d);
    if (!p) fail_msg("%s", d.text);
    return p;
}

static const char *updated(struct arena *a, const struct ws_program *p) {
    struct buf b = buf_new(a);
    for (int i = 0; i < p->n_buffers; i++)
        for (int o = 0; o < p->n_buffers && p->buffers[i].kind == WS_BUF_INPUT; o++)
            if (p->buffers[o].in_place == i)
                buf_printf(&b, "%s%s", b.n ? " " : "",
                           ws_input_info(p->captured, p->buffers[i].index).name);
    return b.p;
}

static void test_which(void **state) {
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        struct arena *a = arena_new();
        const char *got = updated(a, lower(a, graphs[i].text, DEVICE_CPU));
        if (strcmp(got, graphs[i].in_place))
            fail_msg("'%s' in place, not '%s':\n%s", got, graphs[i].in_place, graphs[i].text);
        assert_string_equal(updated(a, lower(a, graphs[i].text, DEVICE_CUDA)), "");
        arena_free(a);
    }
}

static void test_which_keep(void **state) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        struct arena *a = arena_new();
        const struct ws_program *p = lower(a, kept[i].text, DEVICE_CUDA);
        const char *got = updated(a, p);
        if (strcmp(got, kept[i].in_place))
            fail_msg("'%s' in place, not '%s':\n%s", got, kept[i].in_place, kept[i].text);
        for (int b = 0; b < p->n_buffers; b++)
            assert_int_equal(p->buffers[b].keeps, p->buffers[b].in_place >= 0);
        arena_free(a);
    }
}

/* A kernel that writes there is another than one that does not. */
static void test_hash(void **state) {
    struct arena *a = arena_new();
    const struct ws_program *p = lower(a, graphs[1].text, DEVICE_CPU),
                            *q = lower(a,
                                       "graph(%x: bf16[37, 65]) {\n %y = gelu(%x)\n return %y\n}\n",
                                       DEVICE_CPU);
    assert_string_not_equal(p->kernels[0].hash, q->kernels[0].hash);
    struct config c = {0};
    c.knob[KNOB_vec] = 16;
    c.knob[KNOB_nt] = 1;
    assert_non_null(ws_config_illegal(p, 0, &c, a));
    assert_null(ws_config_illegal(q, 0, &c, a));
    arena_free(a);
}

static void kept_graphs(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        vec_push(a, out, ((struct case_graph){.text = kept[i].text, .every = 1}));
}

static void update_graphs(struct arena *a, case_vec *out) {
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        vec_push(a, out, ((struct case_graph){.text = graphs[i].text, .every = 1, .eager = true}));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which),
        cmocka_unit_test(test_which_keep),
        cmocka_unit_test(test_hash),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + generated_main(argc, argv, kept_graphs, 1, "test_emulated", test_emulated) +
           generated_main(argc, argv, update_graphs, 3, "test_cpu_device", test_cpu_device);
}
