/* test_base_diag.c: an error is said once, with the line and a caret under the right columns. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/shown.h"

static int setup(void **state) { return *state = arena_new(), 0; }
static int teardown(void **state) { return arena_free(*state), 0; }

static struct source source_of(const char *text) {
    return (struct source){"softmax.py", text, strlen(text)};
}

/* What diag_fail_at says of `text` at a span. */
static const char *say_at(struct arena *a, const char *text, struct span at) {
    struct diag d = diag_new(a);
    struct source src = source_of(text);
    assert_int_equal(diag_fail_at(&d, WS_WRONG, &src, at, "no such %s", "name"), WS_WRONG);
    assert_int_equal(d.status, WS_WRONG);
    return d.text;
}

static void test_caret(void **state) {
    const char *text = "import torch\n"
                       "def softmax(x):\n"
                       "    y = x + z\n"
                       "    return y";
    assert_string_equal(say_at(*state, text, (struct span){3, 9, 14}),
                        "softmax.py:3:9: no such name\n"
                        "        y = x + z\n"
                        "            ^^^^^\n");
    /* The first line, the last one without a newline, one column. */
    assert_string_equal(say_at(*state, text, (struct span){1, 1, 7}),
                        "softmax.py:1:1: no such name\n"
                        "    import torch\n"
                        "    ^^^^^^\n");
    assert_string_equal(say_at(*state, text, (struct span){4, 12, 13}),
                        "softmax.py:4:12: no such name\n"
                        "        return y\n"
                        "               ^\n");
}

/* Tabs stay tabs under the line, so the caret stands where the eye expects it. */
static void test_caret_after_tabs(void **state) {
    assert_string_equal(say_at(*state, "\tif x:\n\t\ty\n", (struct span){2, 3, 4}),
                        "softmax.py:2:3: no such name\n"
                        "    \t\ty\n"
                        "    \t\t^\n");
}

static void test_caret_at_the_edges(void **state) {
    /* Behind the end of the line: one caret there, and a range is cut at the end of its line. */
    assert_string_equal(say_at(*state, "x = (\ny", (struct span){1, 6, 6}),
                        "softmax.py:1:6: no such name\n"
                        "    x = (\n"
                        "         ^\n");
    assert_string_equal(say_at(*state, "x = (\ny", (struct span){1, 5, 40}),
                        "softmax.py:1:5: no such name\n"
                        "    x = (\n"
                        "        ^\n");
    /* Carriage returns are not part of the line; column 0 means the first. */
    assert_string_equal(say_at(*state, "a\r\nbc\r\n", (struct span){2, 0, 0}),
                        "softmax.py:2:1: no such name\n"
                        "    bc\n"
                        "    ^\n");
    /* An empty text and a line that is not there. */
    assert_string_equal(say_at(*state, "", (struct span){1, 1, 2}), "softmax.py:1:1: no such name\n"
                                                                    "    \n"
                                                                    "    ^\n");
    assert_string_equal(say_at(*state, "a\n", (struct span){7, 1, 2}),
                        "softmax.py:7:1: no such name\n");
}

/* Carets stand under characters, not bytes; what a terminal would obey is written out. */
static void test_caret_after_characters(void **state) {
    assert_string_equal(say_at(*state, "\xc3\xa9 = z\n", (struct span){1, 6, 7}),
                        "softmax.py:1:6: no such name\n"
                        "    \xc3\xa9 = z\n"
                        "        ^\n");
    assert_string_equal(say_at(*state, "'\xe4\xb8\xad' + z", (struct span){1, 9, 10}), /* wide */
                        "softmax.py:1:9: no such name\n"
                        "    '\xe4\xb8\xad' + z\n"
                        "           ^\n");
    assert_string_equal(say_at(*state, "e\xcc\x81 + z", (struct span){1, 7, 8}), /* an accent */
                        "softmax.py:1:7: no such name\n"
                        "    e\xcc\x81 + z\n"
                        "        ^\n");
    assert_string_equal(say_at(*state, "'\x1b[2J\xff' + z", (struct span){1, 11, 12}),
                        "softmax.py:1:11: no such name\n"
                        "    '\\x1b[2J\\xff' + z\n"
                        "                    ^\n");
    assert_string_equal(say_at(*state, "'\x1b' + z", (struct span){1, 1, 4}),
                        "softmax.py:1:1: no such name\n"
                        "    '\\x1b' + z\n"
                        "    ^^^^^^\n");
    assert_string_equal(
        say_at(*state, "a\xe2\x80\xae = z", (struct span){1, 1, 2}), /* right to left */
        "softmax.py:1:1: no such name\n"
        "    a\\u202e = z\n"
        "    ^\n");
}

/* Of a line of a megabyte there is what is around the caret. */
static void test_long_line(void **state) {
    enum { N = 1 << 20 };
    char *text = arena_alloc(*state, N + 1);
    static const uint32_t columns[] = {1, 2, N / 2, N - 1, N};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        memset(text, 'x', N);
        text[columns[i] - 1] = '!';
        const char *said = say_at(*state, text, (struct span){1, columns[i], N});
        const char *mark = strchr(said, '!'), *caret = strchr(said, '^');
        assert_true(strlen(said) < 500);
        assert_non_null(mark);
        const char *line = strchr(said, '\n') + 1, *under = strchr(line, '\n') + 1;
        assert_int_equal(mark - line, caret - under);
    }
    memset(text, '\xc3', N); /* the first halves of characters */
    assert_true(strlen(say_at(*state, text, (struct span){1, N / 2, N})) < 2000);
}

/* Names and texts of the program in what is said. */
static void test_messages(void **state) {
    struct diag d = diag_new(*state);
    diag_fail(&d, WS_WRONG, "KeyError: '%s'", "\x1b[31m\r\tred\x07 \xc3\xa9 \xc2\x9b");
    assert_string_equal(d.text, "KeyError: '\\x1b[31m\\x0d\tred\\x07 \xc3\xa9 \\u009b'\n");
    assert_non_null(strchr(d.message, '\x1b')); /* which a program may catch and look at */
    struct buf b = buf_new(*state);
    for (int i = 0; i < 100000; i++) buf_puts(&b, "line\n");
    d = diag_new(*state);
    diag_fail(&d, WS_WRONG, "%s", b.p);
    int lines = 0;
    for (const char *p = d.text; (p = strchr(p, '\n')); p++) lines++;
    assert_in_range(lines, 10, 22);
    assert_non_null(strstr(d.text, "and 99979 more lines"));
    b = buf_new(*state);
    for (int i = 0; i < 100000; i++) buf_puts(&b, "word ");
    d = diag_new(*state);
    diag_fail(&d, WS_WRONG, "%s", b.p);
    assert_in_range(strlen(d.text), 1000, 5000);
}

static void test_unknown_place(void **state) {
    assert_string_equal(say_at(*state, "a\n", (struct span){0}), "softmax.py: no such name\n");
    struct diag d = diag_new(*state);
    diag_fail_at(&d, WS_USAGE, NULL, (struct span){1, 1, 2}, "no place");
    assert_string_equal(d.text, "no place\n");
}

static void test_first_error_wins(void **state) {
    struct diag d = diag_new(*state);
    assert_int_equal(d.status, WS_OK);
    assert_null(d.text);
    assert_int_equal(diag_fail(&d, WS_MACHINE, "no driver: %d", 35), WS_MACHINE);
    assert_int_equal(diag_fail(&d, WS_USAGE, "a consequence"), WS_MACHINE);
    struct source src = source_of("x\n");
    assert_int_equal(diag_fail_at(&d, WS_WRONG, &src, (struct span){1, 1, 2}, "another"),
                     WS_MACHINE);
    assert_string_equal(d.text, "no driver: 35\n");
}

static void test_source_read(void **state) {
    char path[] = "/tmp/warpsmith-diag-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a = 1\n\0b", 8), 8);
    close(fd);
    struct diag d = diag_new(*state);
    const struct source *s = source_read(*state, path, &d);
    unlink(path);
    assert_non_null(s);
    assert_int_equal(d.status, WS_OK);
    assert_string_equal(s->path, path);
    assert_int_equal(s->len, 8);
    assert_memory_equal(s->text, "a = 1\n\0b", 9); /* and a 0 behind it */
}

static void test_source_read_refuses(void **state) {
    struct diag d = diag_new(*state);
    assert_null(source_read(*state, "no/such/file.py", &d));
    assert_int_equal(d.status, WS_USAGE);
    assert_string_equal(d.text, "cannot read 'no/such/file.py': No such file or directory\n");
    d = diag_new(*state);
    errno = ENOTTY; /* what an earlier call left behind says nothing about this one */
    assert_null(source_read(*state, "/", &d));
    assert_int_equal(d.status, WS_USAGE);
    assert_string_equal(d.text, "cannot read '/': not a regular file\n");
}

/* Of two, three and four bytes, whatever bits the first of these ends in; and what is no UTF-8. */
static void test_characters(void **state) {
    static const struct {
        const char *text;
        int bytes, columns;
    } x[] = {{"a", 1, 1},
             {"\xc3\xa9", 2, 1},
             {"\xe3\x81\xae", 3, 2},
             {"\xe4\xba\x8c", 3, 2},
             {"\xf0\x9f\x98\x80", 4, 2}};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        struct shown got = shown_char(x[i].text, strlen(x[i].text));
        assert_int_equal(got.bytes, x[i].bytes);
        assert_int_equal(got.columns, x[i].columns);
        assert_string_equal(got.text, x[i].text);
    }
    assert_int_not_equal(shown_char("\xe3\x81", 2).bytes, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_caret, setup, teardown),
        cmocka_unit_test_setup_teardown(test_caret_after_tabs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_caret_at_the_edges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_caret_after_characters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_error_wins, setup, teardown),
        cmocka_unit_test(test_characters),
        cmocka_unit_test_setup_teardown(test_source_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_source_read_refuses, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
