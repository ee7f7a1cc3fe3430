/* test_kernel_costs.c: what the cost model says of some configs of all kinds of kernels,
 * on a GPU and a CPU, as in tests/golden/kernel/costs: every term of the model counts in some line.
 *
 *   gpu f32[64, 4096] softmax 1 | x=1 r=4096 warps=8 vec=4 keep=1 | 7.2345
 *
 * UPDATE=1 rewrites the file: the last column is to be read against what has been measured. */
#include "lower_test.h"

#include <stdio.h>
#include <stdlib.h>

#define FILE_NAME "tests/golden/kernel/costs"

enum { LINES = 24 }; /* of a graph, at most */

static const char *const graphs[][2] = {
    {"relu", "graph(%x: f32[1000, 4096]) {\n %y = relu(%x)\n return %y\n}\n"},
    {"odd product", "graph(%x: bf16[512, 256], %y: bf16[256, 1001]) {\n %z = mm(%x, %y)\n "
                    "return %z\n}\n"},
    {"erf bf16", "graph(%x: bf16[333, 555]) {\n %y = erf(%x)\n return %y\n}\n"},
    {"transposed", "graph(%x: f32[2000, 3000]) {\n %p = permute(%x, [1, 0])\n %y = relu(%p)\n "
                   "return %y\n}\n"},
    {"reversed, padded",
     "graph(%x: f32[214, 508, 1024]) {\n %p = constant_pad_nd(%x, [0, 0, 4, 0])\n"
     " %q = permute(%p, [2, 1, 0])\n %y = relu(%q)\n return %y\n}\n"},
    {"padded short", "graph(%x: f16[46, 128, 128]) {\n %p = permute(%x, [1, 0, 2])\n"
                     " %y = constant_pad_nd(%p, [2, 3], 0)\n return %y\n}\n"},
    {"reversed", "graph(%x: f32[214, 512, 1024]) {\n %p = permute(%x, [2, 1, 0])\n %y = relu(%p)\n "
                 "return %y\n}\n"},
    {"stored both ways",
     "graph(%x: f32[64, 64, 3136], %z: f32[64, 3136, 64]) {\n %p = permute(%z, [0, 2, 1])\n"
     " %y = add(%x, %p)\n %r = relu(%y)\n %q = permute(%y, [0, 2, 1])\n %c = clone(%q)\n"
     " return %r, %c\n}\n"},
    {"turned to odd rows",
     "graph(%x: bf16[512, 142164], %z: bf16[1, 485]) {\n %p = permute(%x, [1, 0])\n"
     " %s = slice(%p, 1, 8, 493)\n %y = mul(%s, %z)\n return %y\n}\n"},
    {"bias", "graph(%x: f32[4096, 1024], %b: f32[1024]) {\n %y = add(%x, %b)\n return %y\n}\n"},
    {"rows", "graph(%x: f32[16, 100000]) {\n %y = sum(%x, 1)\n return %y\n}\n"},
    {"short rows", "graph(%x: bf16[100000, 24]) {\n %y = sum(%x, 1)\n return %y\n}\n"},
    {"columns", "graph(%x: f32[8192, 512]) {\n %y = sum(%x, 0)\n return %y\n}\n"},
    {"all of a turned one",
     "graph(%x: bf16[4096, 1024]) {\n %r = relu(%x)\n %t = permute(%r, [1, 0])\n %f = float(%t)\n"
     " %s = sum(%f)\n return %s, %r\n}\n"},
    {"all", "graph(%x: f32[4096, 4096]) {\n %y = sum(%x)\n return %y\n}\n"},
    {"softmax", "graph(%x: f32[4096, 4096]) {\n %y = softmax(%x, 1)\n return %y\n}\n"},
    {"wide softmax", "graph(%x: bf16[64, 131072]) {\n %y = softmax(%x, 1)\n return %y\n}\n"},
    {"softmax of columns", "graph(%x: f32[512, 4096]) {\n %y = softmax(%x, 0)\n return %y\n}\n"},
    {"argmax", "graph(%x: f32[256, 50000]) {\n %y = argmax(%x, 1)\n return %y\n}\n"},
    {"scan", "graph(%x: f32[64, 30000]) {\n %y = cumsum(%x, 1)\n return %y\n}\n"},
    {"scan of columns", "graph(%x: f32[30000, 64]) {\n %y = cumsum(%x, 0)\n return %y\n}\n"},
    {"long scan", "graph(%x: f32[4000000]) {\n %y = cumsum(%x, 0)\n return %y\n}\n"},
    {"product", "graph(%x: f32[777, 1024], %z: f32[1024, 512]) {\n %y = mm(%x, %z)\n return "
                "%y\n}\n"},
    {"product bf16", "graph(%x: bf16[4096, 64], %z: bf16[64, 4096]) {\n %y = mm(%x, %z)\n return "
                     "%y\n}\n"},
    {"landing", "graph(%x: f32[1000, 192], %i: i64[4000], %s: f32[4000, 192]) {\n %y = "
                "index_add(%x, 0, %i, %s)\n return %y\n}\n"},
    {"landing in turn", "graph(%x: f32[2097152], %i: i64[2097152], %s: f32[2097152]) {\n %y = "
                        "index_add(%x, 0, %i, %s)\n return %y\n}\n"},
    {"wide landing", "graph(%x: f32[100, 4096], %i: i64[600], %s: f32[600, 4096]) {\n %y = "
                     "index_add(%x, 0, %i, %s)\n return %y\n}\n"},
    {"shared rows", "graph(%x: f32[512, 1, 2048], %z: f32[1, 64, 2048]) {\n %m = mul(%x, %z)\n %y "
                    "= sum(%m, 2)\n return %y\n}\n"},
    {"rows by turns", "graph(%x: f32[64, 2, 16, 3000]) {\n %p = permute(%x, [0, 2, 3, 1])\n"
                      " %v = view(%p, [64, 16, 6000])\n %s = slice(%v, 2, 0, 5999)\n"
                      " %y = sum(%s, [0, 2])\n return %y\n}\n"},
    {"pooled rows",
     "graph(%x: f32[64, 8, 190, 190]) {\n"
     " %w = windows(%x, kernel=[4, 4], stride=[4, 4], padding=[0, 0], dilation=[1, 1], "
     "ceil_mode=False, value=0.0)\n"
     " %p = sum(%w, dim=[4, 5], keepdim=False, dtype=None)\n %g = sigmoid(%p)\n"
     " %y = sum(%g, [1, 2, 3])\n return %y\n}\n"},
    {"values of a token", "graph(%p: bf16[12, 1, 1024], %v: bf16[12, 1024, 64]) {\n"
                          " %y = bmm(%p, %v)\n return %y\n}\n"},
    {"norm of a token", "graph(%x: bf16[1, 768], %w: bf16[2304, 768]) {\n %f = float(%x)\n"
                        " %m = mean(%f, dim=[1], keepdim=True, dtype=None)\n %c = sub(%f, %m)\n"
                        " %q = mul(%c, %c)\n %v = mean(%q, dim=[1], keepdim=True, dtype=None)\n"
                        " %r = rsqrt(%v)\n %n = mul(%c, %r)\n %b = to(%n, dtype=bfloat16)\n"
                        " %p = permute(%w, [1, 0])\n %z = mm(%b, %p)\n return %z\n}\n"},
    {"tiles that stay",
     "graph(%x: bf16[256, 512], %y: bf16[512, 6272], %a: bf16[256, 6272], %b: bf16[256, 6272], "
     "%c: bf16[256, 6272]) {\n"
     " %z = mm(%x, %y)\n %s = add(%z, %a)\n %t = mul(%s, %b)\n %f = float(%t)\n"
     " %m = sum(%f, dim=[1], keepdim=True, dtype=None)\n %d = sub(%f, %m)\n %e = mul(%d, %c)\n"
     " return %e\n}\n"},
};

/* One line for each config, below each other. */
static void print_costs(struct arena *a, struct buf *b, const char *device,
                        const struct device_limits *limits, const char *const graph[2]) {
    struct schedule *s = must_schedule(a, graph[1], "", limits, false);
    for (uint32_t g = 0; g < s->groups.n; g++) {
        struct kernel *k = must_build(s, g, limits);
        const struct config *c;
        int n, pruned;
        kernel_configs(k, a, &c, &n, &pruned);
        for (int i = 0; i < n; i += n / LINES + 1) {
            struct layout y;
            assert_null(kernel_layout(k, &c[i], &y, a));
            buf_printf(b, "%s %s | %s | %.5g\n", device, graph[0], config_str(a, &c[i]),
                       kernel_cost(k, &y));
        }
    }
}

static const char *next_line(const char **at) {
    const char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    return line;
}

/* The same but for what compilers make of the last digits. */
static bool is_alike(const char *got, const char *want) {
    size_t n = strcspn(got, "\n"), m = strcspn(want, "\n");
    while (n && got[n - 1] != '|') n--;
    while (m && want[m - 1] != '|') m--;
    if (n != m || !n || memcmp(got, want, n)) return false;
    double x = strtod(got + n, NULL), y = strtod(want + m, NULL);
    return fabs(x - y) <= 2e-4 * fabs(y);
}

static void test_costs(void **state) {
    struct arena *a = arena_new();
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    struct buf b = buf_new(a);
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        print_costs(a, &b, "gpu", &gpu, graphs[i]);
        print_costs(a, &b, "cpu", &cpu, graphs[i]);
    }
    if (getenv("UPDATE")) {
        FILE *f = fopen(FILE_NAME, "w");
        assert_non_null(f);
        fputs(b.p, f);
        fclose(f);
    }
    struct diag d = diag_new(a);
    const struct source *src = source_read(a, FILE_NAME, &d);
    assert_non_null(src);
    const char *got = b.p, *want = src->text;
    while (*got || *want) {
        const char *line = next_line(&got), *expected = next_line(&want);
        if (!is_alike(line, expected))
            fail_msg("%.*s; expected\n%.*s", (int)strcspn(line, "\n"), line,
                     (int)strcspn(expected, "\n"), expected);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
