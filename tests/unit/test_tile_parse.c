/* test_tile_parse.c: tile programs from text: what is printed is read back as the same program,
 * over all configs of some products and over texts that are damaged at random; programs written by
 * hand, which the machine runs; and what is said of each kind of malformed text. */
#include <stdlib.h>

#include "tile_test.h"

static const char plain[] = "graph(%a: bf16[70, 72], %b: bf16[72, 40]) {\n"
                            "  %c: bf16[70, 40] = mm(%a, %b)\n"
                            "  return %c\n}\n";
static const char softmax[] = "graph(%a: bf16[200, 40], %b: bf16[40, 72]) {\n"
                              "  %c: bf16[200, 72] = mm(%a, %b)\n"
                              "  %s: bf16[200, 72] = softmax(%c, 1)\n"
                              "  return %s\n}\n";
static const char wide[] = "graph(%a: f32[130, 4264], %b: f32[4264, 40]) {\n"
                           "  %c: f32[130, 40] = mm(%a, %b)\n"
                           "  return %c\n}\n";
/* whose factors' planes warps make */
static const char thin[] = "graph(%a: f32[16, 1024], %b: f32[512, 1024]) {\n"
                           "  %t: f32[1024, 512][1, 1024] = permute(%b, [1, 0])\n"
                           "  %c: f32[16, 512] = mm(%a, %t)\n"
                           "  return %c\n}\n";
static const char sliding[] =
    "graph(%x: bf16[2, 3, 23, 21], %w: bf16[40, 3, 7, 7]) {\n"
    "  %c: bf16[2, 40, 12, 11] = convolution(%x, %w, None, [2, 2], [3, 3])\n"
    "  return %c\n}\n";

static struct tile_program *parse(struct arena *a, const struct block *p, const char *text,
                                  const char **why) {
    struct diag d = diag_new(a);
    struct tile_program *t = tile_parse(p, test_source(a, text), a, &d);
    *why = d.text;
    assert_true(!t == (d.status == WS_WRONG));
    return t;
}

static const char *as_text(struct arena *a, const struct tile_program *t) {
    struct buf b = buf_new(a);
    tile_print(&b, t);
    return b.p;
}

static void expect_same(struct arena *a, const struct tile_program *t, const char *config) {
    const char *text = as_text(a, t), *why;
    const struct tile_program *back = parse(a, t->block, text, &why);
    if (!back) fail_msg("%s: %s", config, why);
    assert_string_equal(as_text(a, back), text);
    assert_int_equal(back->code.n, t->code.n);
    for (uint32_t i = 0; i < t->code.n; i++) {
        const struct tile_inst *x = &t->code.at[i], *y = &back->code.at[i];
        assert_true(x->op == y->op && x->ring == y->ring && x->n == y->n);
    }
    assert_int_equal(back->copiers, t->copiers);
    assert_int_equal(back->ahead, t->ahead);
    assert_int_equal(back->smem, t->smem);
}

/* Every config that is proposed for these, before the pipeline and behind it. */
static void test_round_trip(void **state) {
    static const char *const graphs[] = {plain, softmax, wide, thin, sliding};
    int programs = 0, seen[TILE_OPS] = {0};
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        struct arena *a = arena_new();
        struct kernel *k = product_of(a, graphs[g]);
        const struct config *c;
        int n, pruned;
        kernel_configs(k, a, &c, &n, &pruned);
        for (int i = 0; i < n; i++) {
            struct block *p = block_build(k, &c[i], a);
            if (!p->layout.product) continue;
            const char *config = config_str(a, &c[i]);
            struct tile_program *t = tile_dot(p, a);
            expect_same(a, t, config);
            tile_pipeline(t);
            expect_same(a, t, config);
            for (uint32_t j = 0; j < t->code.n; j++) seen[t->code.at[j].op]++;
            programs++;
        }
        arena_free(a);
    }
    assert_true(programs > 50);
    static const enum tile_op some[] = {TILE_ROLE, TILE_DOT,    TILE_DOT_ADD,       TILE_CROSS,
                                        TILE_KEEP, TILE_REDUCE, TILE_MEET_PARTIALS, TILE_LANDED};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (!seen[some[i]]) fail_msg("no program has %s", tile_op_name(some[i]));
}

static const struct block *block_of(struct arena *a, const char *graph, const char *config) {
    return program_of(a, graph, config)->block;
}

static const char groups[] = "mma=1 m=64 n=64 k=16 stages=2 warps=8";

/* ---- by hand --------------------------------------------------------------------------------- */

static const char by_hand[] = "role 128\n"
                              "  draw\n"
                              "    loop\n"
                              "      wait empty\n"
                              "      copy B\n" /* in another order than the pipeline's */
                              "      copy A\n"
                              "      next\n"
                              "    end\n"
                              "  end\n"
                              "end\n"
                              "\n"
                              "role 128\n"
                              "  draw\n"
                              "    fill\n"
                              "    loop\n"
                              "      wait full\n"
                              "      dot\n"
                              "      drain 0\n"
                              "      arrive 0\n"
                              "      next\n"
                              "    end\n"
                              "    store\n"
                              "  end\n"
                              "end\n";

/* How many sums are not those of small whole numbers, which are exact. */
static int wrong_sums(struct arena *a, const struct tile_program *t, uint64_t seed,
                      const char **why) {
    enum { M = 70, N = 40, K = 72 };
    float *x = NEW_ARRAY(a, float, M *K), *y = NEW_ARRAY(a, float, N *K);
    float *out = NEW_ARRAY(a, float, M *N);
    for (int i = 0; i < M * K; i++) x[i] = (float)(i % 13 - 6);
    for (int i = 0; i < N * K; i++) y[i] = (float)(i % 11 - 5);
    const float *const in[] = {x, y};
    int wrong = 0;
    *why = tile_run(t, in, out, seed, a);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += x[m * K + k] * y[n * K + k];
            wrong += out[m * N + n] != sum;
        }
    return wrong;
}

/* `by_hand`, with the first `from` (none: NULL) replaced. */
static struct tile_program *hand(struct arena *a, const char *from, const char *to) {
    const char *why, *at = from ? strstr(by_hand, from) : by_hand + strlen(by_hand);
    assert_non_null(at);
    const char *text = arena_printf(a, "%.*s%s%s", (int)(at - by_hand), by_hand, from ? to : "",
                                    from ? at + strlen(from) : "");
    struct tile_program *t = parse(a, block_of(a, plain, groups), text, &why);
    if (!t) fail_msg("%s", why);
    return t;
}

static void test_by_hand(void **state) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct arena *a = arena_new();
        const char *why;
        struct tile_program *t = hand(a, NULL, NULL);
        assert_null(tile_verify(t, a));
        assert_int_equal(wrong_sums(a, t, seed, &why), 0);
        assert_null(why);
        arena_free(a);
    }
}

/* Mistakes in it that the verifier and the machine both find. */
static void test_mistakes_by_hand(void **state) {
    static const struct {
        const char *from, *to, *number;
    } cases[] = {
        {"drain 0\n      arrive 0", "drain 1\n      arrive 0", "T4"}, /* read while it is filled */
        {"      arrive 0\n", "", "T4"},
        {"      wait full\n", "", "T3"},
        {"      wait empty\n", "", "T4"},
        {"drain 0\n      arrive 0", "drain 1\n      arrive 1", "T5"}, /* stored too early */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool found = false;
        for (uint64_t seed = 0; seed < 8 && !found; seed++) {
            struct arena *a = arena_new();
            struct tile_program *t = hand(a, cases[i].from, cases[i].to);
            const char *why, *bad = tile_verify(t, a);
            if (!bad || strncmp(bad, cases[i].number, 2))
                fail_msg("%s: %s", cases[i].from, bad ? bad : "fine");
            found = wrong_sums(a, t, seed, &why) || why;
            arena_free(a);
        }
        if (!found) fail_msg("nothing is wrong with '%s' for '%s'", cases[i].to, cases[i].from);
    }
}

/* ---- malformed ------------------------------------------------------------------------------- */

static void test_malformed(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"draw\n    wiat full\nend\n",
         "test.graph:2:5: no instruction begins so; the nearest is 'wait full'\n"
         "        wiat full\n        ^^^^^^^^^\n"},
        {"draw\n", "test.graph:1:1: the text ends, and 1 regions have no 'end'\n"},
        {"draw\nend\nend\n", "test.graph:3:1: nothing is open that this would end\n"},
        {"copy\n", "test.graph:1:1: copy is of A or of B\n"},
        {"copy C\n", "test.graph:1:1: copy is of A or of B\n"},
        {"copy AB\n", "test.graph:1:1: a number from 0 to 65536 stands behind 'copy'\n"},
        {"copy A 0\n", "test.graph:1:1: the whole line would be 'copy A'\n"},
        {"drain\n", "test.graph:1:1: a number from 0 to 65536 stands behind 'drain'\n"},
        {"drain -1\n", "test.graph:1:1: a number from 0 to 65536 stands behind 'drain'\n"},
        {"drain 99999999999999\n",
         "test.graph:1:1: a number from 0 to 65536 stands behind 'drain'\n"},
        {"drain 0 0\n", "test.graph:1:1: the whole line would be 'drain 0'\n"},
        {"drain  0\n", "test.graph:1:1: a number from 0 to 65536 stands behind 'drain'\n"},
        {"fill 3\n", "test.graph:1:1: the whole line would be 'fill'\n"},
        {"dotted\n", "test.graph:1:1: no instruction begins so; the nearest is 'dot'\n"},
        {"store 7\n", "test.graph:1:1: the epilogue has no phase 7, but 3\n"},
        {"reduce 0 v6\n", "test.graph:1:1: the whole line would be 'reduce 0 v5'\n"},
        {"keep v70\n", "test.graph:1:1: the whole line would be 'keep v7'\n"},
        {"program of 3 threads\n", "test.graph:1:1: of this kernel and config the line is "
                                   "'program of 256 threads, "},
        {"program\n", "test.graph:1:1: of this kernel and config the line is 'program of 256"},
    };
    struct arena *a = arena_new();
    const struct block *p = block_of(a, softmax, "mma=1 m=64 n=32 k=32 stages=2 warps=8");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why;
        if (parse(a, p, cases[i].text, &why)) fail_msg("%s is fine", cases[i].text);
        if (strncmp(why, cases[i].says, strlen(cases[i].says)))
            fail_msg("%s is said:\n%s", cases[i].text, why);
    }
    arena_free(a);
}

/* A head of another config, or one that ends early. */
static void test_other_head(void **state) {
    struct arena *a = arena_new();
    const char *why, *text = as_text(a, program_of(a, plain, groups));
    const struct block *p = block_of(a, plain, "mma=1 m=64 n=64 k=16 stages=3 warps=8");
    assert_null(parse(a, p, text, &why));
    assert_non_null(strstr(why, "test.graph:1:1: of this kernel and config the line is "));
    p = block_of(a, plain, groups);
    assert_null(parse(a, p, arena_strndup(a, text, strcspn(text, "\n") + 1), &why));
    assert_non_null(strstr(why, "test.graph:1:1: the text ends before 'a = v0, bf16[1 z, 70 m, "));
    arena_free(a);
}

/* Lines go, come twice or trade places, and letters change: what is still read is printed and read
 * again as it was, and the verifier survives it. */
static void test_damaged(void **state) {
    struct arena *a = arena_new();
    const struct tile_program *t = program_of(a, softmax, "mma=1 m=64 n=32 k=32 stages=2 warps=8");
    const char *whole = as_text(a, t);
    unsigned seed = 1;
    int read = 0, refused = 0;
    for (int i = 0; i < 2000; i++) {
        struct arena *b = arena_new();
        struct buf text = buf_new(b);
        seed = seed * 1664525u + 1013904223u;
        unsigned lines = 0, kind = seed >> 8 & 3, at = seed >> 10;
        for (const char *s = whole; *s; s++) lines += *s == '\n';
        at %= lines;
        const char *s = whole;
        for (unsigned n = 0; *s; n++) {
            int long_as = (int)strcspn(s, "\n") + 1;
            const char *next = s + long_as;
            int and_next = (int)strcspn(next, "\n") + 1;
            char *line = arena_strndup(b, s, (size_t)long_as);
            if (n != at || kind == 1) buf_puts(&text, line);
            if (n == at && kind == 1) buf_puts(&text, line);
            if (n == at && kind == 2 && *next)
                buf_printf(&text, "%.*s%s", and_next, next, line), s = next;
            if (n == at && kind == 3) {
                line[(seed >> 20) % (unsigned)long_as] = (char)(seed >> 24);
                buf_puts(&text, line);
            }
            s += strcspn(s, "\n") + 1;
        }
        const char *why;
        const struct tile_program *x = parse(b, t->block, text.p, &why);
        x ? read++ : refused++;
        if (x) expect_same(b, x, text.p);
        if (x) tile_verify(x, b);
        arena_free(b);
    }
    assert_true(read > 100 && refused > 100);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),       cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_mistakes_by_hand), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_other_head),       cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
