/* test_graphs.c: the graph fuzzer finds what it should, shrinks it, and no longer finds what it
 * found before. */
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fuzz/check.h"
#include "tests/fuzz/found.h"
#include "tests/fuzz/gen.h"
#include "tests/fuzz/judge.h"
#include "tests/fuzz/shrink.h"

static struct fuzz_cpu cpu;

static const char *text_of(struct arena *a, uint64_t seed) {
    struct buf b = buf_new(a);
    graph_print(&b, gen_graph(a, seed));
    return b.p;
}

static struct graph *must_parse(struct arena *a, const char *text) {
    struct source *s = NEW(a, struct source);
    struct diag d = diag_new(a);
    *s = (struct source){"test.graph", text, strlen(text)};
    struct graph *g = graph_parse(a, exprs_new(a), s, &d);
    if (!g) fail_msg("%s", d.text);
    return g;
}

/* ---- the generator --------------------------------------------------------------------------- */

static void test_same_seed_same_graph(void **state) {
    struct arena *a = arena_new();
    for (uint64_t seed = 0; seed < 20; seed++)
        assert_string_equal(text_of(a, seed), text_of(a, seed));
    assert_string_not_equal(text_of(a, 1), text_of(a, 2));
    arena_free(a);
}

/* Every operator that can be compiled comes up. */
static void test_every_operator(void **state) {
    struct arena *a = arena_new();
    bool seen[OP_COUNT] = {0};
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const struct graph *g = gen_graph(a, seed);
        for (node_id n = 0; n < g->nodes.n; n++) seen[g->nodes.at[n].op] = true;
    }
    for (int o = 0; o < OP_COUNT; o++)
        if (!seen[o] && !gen_excludes((enum op)o))
            fail_msg("no graph has %s", op_info((enum op)o)->name);
    arena_free(a);
}

/* ---- the judge ------------------------------------------------------------------------------- */

/* Does it accept the reference of the one output with its first element changed by `error`? */
static bool accepts(const char *text, double error) {
    struct arena *a = arena_new();
    struct graph *g = must_parse(a, text);
    struct value *in = drive_inputs(g, 3), want = {0};
    struct diag d = diag_new(a);
    assert_true(graph_eval(g, in, &want, &d));
    struct judge *j = judge_new(a, graph_decompose(g), in, &want);
    double *got = NEW_ARRAY(a, double, want.n);
    for (int64_t i = 0; i < want.n; i++) got[i] = value_number(&want, i);
    got[0] += error;
    bool ok = judge_output(j, 0, got, &d);
    for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&in[i]);
    free(in);
    value_free(&want);
    arena_free(a);
    return ok;
}

static void test_judge(void **state) {
    const char *sum = "graph(%x: f32[4, 8]) {\n %s = sum(%x, 1)\n return %s\n}\n";
    assert_true(accepts(sum, 0));
    assert_true(accepts(sum, 1e-6));
    assert_false(accepts(sum, 1e-3));
    assert_false(accepts(sum, NAN));
    /* x + 1e6 - 1e6 has no digit after the first */
    const char *cancel = "graph(%x: f32[4]) {\n %a = add(%x, 1e6)\n %b = sub(%a, 1e6)\n"
                         " return %b\n}\n";
    assert_true(accepts(cancel, 0.05));
    assert_false(accepts(cancel, 50));
    /* on a step */
    const char *step = "graph(%x: f32[4]) {\n %a = div(%x, %x)\n %b = floor(%a)\n"
                       " return %b\n}\n";
    assert_true(accepts(step, -1));
    assert_false(accepts(step, -3 * 4));
    /* integers are exact */
    const char *whole = "graph(%x: i64[4]) {\n %a = mul(%x, 3)\n return %a\n}\n";
    assert_true(accepts(whole, 0));
    assert_false(accepts(whole, 1));
}

/* ---- the shrinker ---------------------------------------------------------------------------- */

static bool has_log_of_two_dims(void *ctx, const char *text) {
    struct arena *a = arena_new();
    const struct graph *g = must_parse(a, text);
    bool found = false;
    ++*(int *)ctx;
    for (node_id n = 0; n < g->nodes.n; n++)
        found |= g->nodes.at[n].op == OP_LOG && g->nodes.at[n].meta.rank == 2;
    arena_free(a);
    return found;
}

static void test_shrink(void **state) {
    struct arena *a = arena_new();
    int tests = 0;
    const char *big = "graph(%x: bf16[33, 17][1, 33], %y: bf16[17]) {\n %s = softmax(%x, -1)\n"
                      " %m = mul(%s, %y)\n %l = log(%m)\n %t = relu(%l)\n %u = sum(%t, 0)\n"
                      " %v = matmul(%t, %y)\n return %u, %v\n}\n";
    const char *small = shrink(a, big, has_log_of_two_dims, &tests,
                               (struct shrink_budget){.tests = 200, .seconds = 1e9});
    const struct graph *g = must_parse(a, small);
    assert_int_equal(g->nodes.n, 2);
    assert_int_equal(g->inputs.n, 1);
    assert_non_null(strstr(small, "f32[1, 1] = log("));
    assert_true(tests <= 200);
    arena_free(a);
}

/* ---- whole checks ---------------------------------------------------------------------------- */

static enum finding finding_of(const char *text) {
    struct fuzz_verdict v = {0};
    struct fuzz_counts counts = {0};
    struct fuzz_case c = {.text = text, .seed = 1};
    fuzz_check_safely(&c, 1, &cpu, &v, &counts);
    return v.finding;
}

static void test_findings(void **state) {
    assert_int_equal(finding_of("graph(%x: f32[2]) {\n return %x\n}\n"), FOUND_FINE);
    assert_int_equal(finding_of("graph(%x: f32[2]) {\n return %y\n}\n"), FOUND_TEXT);
    assert_int_equal(finding_of("graph(%x: i64[2]) {\n %y = floor_divide(%x, 0)\n"
                                " return %y\n}\n"),
                     FOUND_FINE); /* integers are exact, also where they are divided by 0 */
    assert_int_equal(finding_of(NULL), FOUND_CRASH);
}

/* A kernel that subtracts where the graph adds. */
static void test_wrong_kernel(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct device_limits limits;
    assert_true(device_limits_for_arch("sm_80", &limits));
    struct graph *g =
        must_parse(a, "graph(%x: f32[33], %y: f32[33]) {\n %z = add(%x, %y)\n return %z\n}\n");
    struct drive *b = drive_begin(a, g, drive_inputs(g, 1), &limits, WS_FUSE, &d);
    struct emulation *s = emulation_new(a);
    assert_non_null(b);
    assert_true(emulation_add_all(s, b, NULL, NULL, &d));
    assert_true(s->variants.n > 1);
    struct ws_source *planted = &s->variants.at[1].source;
    char *text = arena_strdup(a, planted->text);
    char *plus = strstr(strstr(text, "/* ---- kernel text"), " = (v");
    assert_non_null(plus);
    plus = strchr(plus, '+');
    assert_non_null(plus);
    *plus = '-';
    planted->text = text;
    assert_true(emulation_compile(s, &d));
    assert_true(emulation_case(s, 0, false, &d));
    assert_false(emulation_case(s, 1, false, &d));
    assert_non_null(strstr(d.text, "element 0 is"));
    emulation_free(s);
    drive_end(b);
    arena_free(a);
}

/* All are lowered, and their kernels' text is made. What the address sanitizer looks for is found
 * on the way there: few are run under it. make test runs every third one, make test-long all. */
static bool is_run(uint64_t i) {
#if defined(__SANITIZE_ADDRESS__)
    return i % 8 == 0;
#else
    return i % 3 == 0 || getenv("TEST_LONG") != NULL;
#endif
}

static void must_be_fine(const struct fuzz_case *c, int n) {
    struct fuzz_verdict v = {0};
    struct fuzz_counts counts = {0};
    int failed = fuzz_check_safely(c, n, &cpu, &v, &counts);
    if (failed >= 0)
        fail_msg("seed %llu: %s: %s\n%s", failed < n ? (unsigned long long)c[failed].seed : 0,
                 finding_name(v.finding), v.text, failed < n ? c[failed].text : "");
    assert_int_equal(counts.graphs, n);
}

static void test_slice(void **state) {
    enum { GRAPHS = 20, BATCH = 20 };
    struct arena *a = arena_new();
    struct fuzz_case c[BATCH];
    for (uint64_t seed = 0; seed < GRAPHS; seed += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++)
            c[i] = (struct fuzz_case){
                .text = text_of(a, seed + i), .seed = seed + i, .lower_only = !is_run(i)};
        must_be_fine(c, BATCH);
    }
    arena_free(a);
}

/* Lowered and emitted, not run. */
static void test_slice_lowered(void **state) {
    enum { GRAPHS = 70 };
    struct arena *a = arena_new();
    struct fuzz_case *c = NEW_ARRAY(a, struct fuzz_case, GRAPHS);
    for (int i = 0; i < GRAPHS; i++)
        c[i] = (struct fuzz_case){
            .text = text_of(a, 1000 + (uint64_t)i), .seed = 1000 + (uint64_t)i, .lower_only = true};
    must_be_fine(c, GRAPHS);
    arena_free(a);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_found(void **state) {
    const char *folder = "tests/fuzz/found";
    struct arena *a = arena_new();
    VEC(char *) paths = {0};
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') vec_push(a, &paths, arena_printf(a, "%s/%s", folder, e->d_name));
    closedir(dir);
    qsort(paths.at, paths.n, sizeof *paths.at, by_name);
    struct fuzz_case *c = NEW_ARRAY(a, struct fuzz_case, paths.n);
    for (uint32_t i = 0; i < paths.n; i++) {
        struct diag d = diag_new(a);
        if (!found_read(a, paths.at[i], &c[i], &d)) fail_msg("%s", d.text);
        c[i].lower_only |= !is_run(i);
    }
    assert_true(paths.n > 0);
    must_be_fine(c, (int)paths.n);
    arena_free(a);
}

int main(void) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    omp_set_num_threads(1);
    if (!fuzz_cpu_open(a, &cpu, &d)) {
        fputs(d.text, stderr);
        return 3;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_graph),
        cmocka_unit_test(test_every_operator),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_findings),
        cmocka_unit_test(test_wrong_kernel),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_slice_lowered),
        cmocka_unit_test(test_slice),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fuzz_cpu_close(&cpu);
    arena_free(a);
    return failed;
}
