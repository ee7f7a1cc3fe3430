/* test_capture_limits.c: a few lines of a file make no more of us than the budget allows: whatever
 * they do ends in a result, an exception of Python's, or one message; what is long but not too long
 * is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "capture/capture.h"

/* Small, so that the test is quick; of one of both there is more than any of its programs takes. */
static const struct budget_limits little_time = {.seconds = 0.15, .memory = 512 << 20},
                                  little_memory = {.seconds = 600, .memory = 64 << 20};

/* The body of f(x), captured under limits -> what went wrong, or "". */
static const char *capture_body(struct arena *a, const char *body,
                                const struct budget_limits *limits) {
    char path[] = "/tmp/test_capture_limits_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fprintf(file, "import torch, copy\nfrom torch import nn\ndef f(x):\n    %s\n", body);
    fprintf(
        file,
        "def forward(x):\n    return x * f(x)\ndef get_inputs():\n    return [torch.randn(3)]\n");
    assert_int_equal(fclose(file), 0);
    struct diag d = diag_new(a);
    struct capture_options o = {.path = path, .limits = limits};
    struct captured *c = capture(a, &o, NULL, &d);
    unlink(path);
    assert_true(c ? d.status == WS_OK : d.status == WS_WRONG);
    return c ? "" : d.text;
}

#define DEEP "RecursionError: maximum recursion depth exceeded"
#define EITHER "either"

struct program {
    const char *body, *expected; /* "": it is captured; EITHER: or it is too deep */
};

static void check(const struct program *p, size_t n, const struct budget_limits *limits) {
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        const char *got = capture_body(a, p[i].body, limits);
        bool either = !strcmp(p[i].expected, EITHER);
        if (either           ? *got && !strstr(got, DEEP)
            : *p[i].expected ? !strstr(got, p[i].expected)
                             : *got != 0)
            fail_msg("%s\n    gives \"%s\", not \"%s\"", p[i].body, got, p[i].expected);
        arena_free(a);
    }
}
#define CHECK(limits, ...)                                                                         \
    do {                                                                                           \
        static const struct program all[] = {__VA_ARGS__};                                         \
        check(all, sizeof all / sizeof *all, limits);                                              \
    } while (0)

#define TIME "stopped after 0.15 s: is this an infinite loop?"
#define MEMORY "stopped: the program made more than 64 MB of values"

static void test_time(void **state) {
    CHECK(&little_time, {"while True: pass", TIME}, {"return sum(range(10 ** 12))", TIME},
          {"s, n = 'ab' * 10**6, 0\n    while True: n += s.count('z')", TIME},
          {"s, n = 'ab' * 10**6, 0\n    while True: n += s.rfind('z')", TIME},
          {"s, n = 'ab' * 10**6, 0\n    while True: n += 'z' in s", TIME},
          {"s, n = 'ab' * 10**6, 0\n    while True: n += s == s[:5]", TIME},
          {"s, n = 'ab' * 10**6, 0\n    while True: n += len(s)", TIME},
          {"l = [1] * 10**6\n    while True: l.reverse()", TIME},
          {"l = [1] * 10**6\n    while True: l.pop(0); l.insert(0, 1)", TIME},
          {"l = [1] * 10**6\n    while True: l.count(2)", TIME},
          {"a, b = [], []\n    for i in range(60): a, b = [a, a], [b, b]\n    return a == b", TIME},
          {"a, b = [], []\n    for i in range(60): a, b = [a, a], [b, b]\n    return a < b", TIME},
          {"t = int\n    for i in range(60): t = (t, t)\n    return isinstance('a', t)", TIME},
          {"t = int\n    for i in range(60): t = (t, t)\n    return issubclass(str, t)", TIME},
          {"try:\n        while True: pass\n    except BaseException: return 1", TIME});
}

/* Tensors that are computed while the file runs count as what it does: 4,096 rows of 32 ms each. */
static void test_time_of_tensors(void **state) {
    struct arena *a = arena_new();
    struct timespec begun, done;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    const char *got = capture_body(a,
                                   "return 1\n"
                                   "n = 4096\n"
                                   "t = (torch.ones(n, n) @ torch.ones(n, n)).sum().item()",
                                   &little_time);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &done);
    if (!strstr(got, TIME)) fail_msg("a product gives \"%s\"", got);
    double seconds =
        (double)(done.tv_sec - begun.tv_sec) + 1e-9 * (double)(done.tv_nsec - begun.tv_nsec);
    if (seconds > 3) fail_msg("a product was stopped after %g s", seconds);
    arena_free(a);
}

static void test_memory(void **state) {
    CHECK(&little_memory, {"return len(('a' * 10**6).replace('', 'x' * 1000))", MEMORY},
          {"return len(('a' * 10**5).replace('a', 'x' * 1000))", MEMORY},
          {"a = [1]\n    while True: a.extend(a)", MEMORY},
          {"s = 'a'\n    while True: s += s", MEMORY}, {"return len(list(range(10**12)))", MEMORY},
          {"s = set()\n    while True: s.add(len(s))", MEMORY}, {"return len([0] * 10**8)", MEMORY},
          {"return len('a' * 10**9)", MEMORY}, {"return len(f'{1:{10**9}}')", MEMORY},
          {"return len(f'{1.5:.{10**9}f}')", MEMORY}, {"return len('%*d' % (10**9, 1))", MEMORY},
          {"return len('a'.center(10**9))", MEMORY},
          {"return len('ab'.join(['c' * 1000] * 10**5))", MEMORY},
          {"l = []\n    for i in range(60): l = [l, l]\n    return len(str(l))", MEMORY},
          {"return len([0] * 10**12)", "MemoryError"}, {"return len('a' * 10**12)", "MemoryError"},
          {"return len(f'{1:{10**12}}')", "MemoryError"},
          {"return len('a'.ljust(10**12))", "MemoryError"},
          {"return len(f'{1.5:.{10**12}f}')", "ValueError: precision too big"});
}

/* 50,000 of something inside each other. */
#define NEST(start, step) start "\n    for i in range(50000): " step "\n    "

static void test_depth(void **state) {
    CHECK(&little_memory, {NEST("l = []", "l = [l]") "return len(str(l))", DEEP},
          {"d = {}\n    for i in range(30000): d = {1: d}\n    return len(repr(d))", DEEP},
          {NEST("a, b = [], []", "a, b = [a], [b]") "return a == b", DEEP},
          {NEST("a, b = (), ()", "a, b = (a,), (b,)") "return a < b", DEEP},
          {"a, b = {}, {}\n    for i in range(18000): a, b = {1: a}, {1: b}\n    return a == b",
           DEEP},
          {NEST("t = ()", "t = (t,)") "return len({t: 1})", "TypeError: unhashable type"},
          {NEST("t = int", "t = (t,)") "return isinstance('a', t)", EITHER},
          {NEST("t = int", "t = (t, int)") "return issubclass(str, t)", EITHER},
          {NEST("l = []", "l = [l]") "return len(copy.deepcopy(l))", DEEP},
          {NEST("l = 1.0", "l = [l]") "return torch.tensor(l)", DEEP},
          {NEST("l = 1.0", "l = [l]") "return torch.Tensor(l)", "at most 8 dimensions"},
          {NEST("f = len", "f = staticmethod(f)") "return f([1])", DEEP},
          {"e = Exception(1)\n    for i in range(20000): e = Exception(e)\n    return len(str(e))",
           EITHER},
          {"class A: pass\n    A.__call__ = A()\n    return A()()", DEEP},
          {"class A:\n        def __repr__(self): return repr(self)\n    return len(repr(A()))",
           DEEP},
          {"class A:\n        def __len__(self): return len(self)\n    return len(A())", DEEP},
          {"class A:\n        def __iter__(self): return iter(self)\n    return len(list(A()))",
           DEEP},
          {"class A:\n        def __getattr__(self, n): return getattr(self, n + 'a')\n    return "
           "A().b",
           DEEP},
          {"def g(n):\n        if n: yield from g(n - 1)\n        yield n\n    return "
           "len(list(g(9999)))",
           DEEP},
          {"m = nn.Module(); m.a = m\n    return len(str(m))", DEEP},
          {"m = nn.Sequential(); m.append(m)\n    return len(str(m))", DEEP},
          {"m = nn.Sequential(); m.append(m)\n    return m(x)", DEEP},
          {"l = []; l.append(l)\n    return len(str(l))", ""},
          {"d = {}; d[1] = d\n    return len(repr(d))", ""});
}

/* What an element's __index__ does to the list comes too late for the call that asked it. */
#define CHANGES(how, list)                                                                         \
    "class I:\n        def __index__(self): " how "; return 2\n    l = [" list "]\n    "
static void test_changed_meanwhile(void **state) {
    CHECK(
        &little_memory,
        {CHANGES("l.append(3)", "I()") "assert torch.zeros(l).shape == (2,)\n    return 1", ""},
        {CHANGES("l.extend([1] * 1000)", "I()") "assert x.new_ones(l).shape == (2,)\n"
                                                "    return 1",
         ""},
        {CHANGES("l.clear()", "I(), 3") "assert torch.zeros(l).shape == (2, 3)\n    return 1", ""});
}

/* What is long is done, in time that grows as it does. */
static void test_long(void **state) {
    CHECK(&little_memory, {"return len(str([0] * 10**5))", ""}, {"return len(f'{1:{10**5}}')", ""},
          {"return len(f'{1.5:.{10**5}f}')", ""}, {"return torch.cat([x] * 10**4).sum()", ""},
          {"l = [torch.ones(3)] * 10**4\n    return len(l)", ""});
    struct arena *a = arena_new();
    struct buf many = buf_new(a);
    buf_puts(&many, "l = [");
    for (int i = 0; i < 100000; i++) buf_puts(&many, "1,");
    buf_puts(&many, "]\n    n = 3\n    s = f'");
    for (int i = 0; i < 30000; i++) buf_puts(&many, "{n}");
    buf_puts(&many, "'\n    assert len(l) == 100000 and len(s) == 30000\n    return 1");
    struct budget_limits limits = {.seconds = 600, .memory = 256 << 20};
    assert_string_equal(capture_body(a, many.p, &limits), "");
    struct buf comments = buf_new(a);
    for (int i = 0; i < 1000000; i++) buf_puts(&comments, "#\n");
    buf_puts(&comments, "    return 1");
    limits.memory = 32 << 20;
    assert_string_equal(capture_body(a, comments.p, &limits), "");
    arena_free(a);
}

/* What steers a terminal does not come out of a message. */
static void test_control(void **state) {
    CHECK(&little_memory,
          {"raise ValueError('a\\x1b[2Jb\\x07\\x7f\\x9bc\\n\\u00e9')",
           "ValueError: a\\x1b[2Jb\\x07\\x7f\\x9bc\n\u00e9\n"},
          {"return getattr(torch, 'a\\x1b[2Jb')", "torch.a\\x1b[2Jb is not supported"},
          {"return {}['\\x1b']", "KeyError: '\\x1b'"});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_time),
                                       cmocka_unit_test(test_time_of_tensors),
                                       cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_changed_meanwhile),
                                       cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_control)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
