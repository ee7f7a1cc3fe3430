/* The bar's line: never wider than the terminal, whatever is to be said; and what takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tuner/doing.h"
#include "tuner/progress.h"

static const char *line(struct progress p, const char *detail, int columns, double now_ms) {
    static char text[512];
    progress_line(&p, detail, columns, now_ms, text, sizeof text);
    return text;
}

static void test_fits_every_width(void **state) {
    struct progress p = {.what = "k_a_kernel_with_a_name_that_is_longer_than_a_terminal_is_wide_0",
                         .whole = {.where = "size 3 of 10"},
                         .most = 64};
    for (p.done = 0; p.done <= 64; p.done++)
        for (int columns = 1; columns < 300; columns++) {
            const char *said =
                line(p, "best 33.90 us  x=1 r=4096 warps=8 vec=8 keep=1", columns, 0);
            assert_true((int)strlen(said) < columns || columns == 1);
            assert_null(strchr(said, '\n'));
        }
}

static void test_says_most_and_the_whole(void **state) {
    struct progress p = {
        .what = "softmax_0",
        .whole = {.where = "size 2 of 4", .started_ms = 1, .before = 0.25, .share = 0.25},
        .most = 20,
        .done = 10};
    /* 3/8 are done after 60 s: 100 s are left */
    const char *said = line(p, "best 3 us", 200, 60001);
    assert_non_null(strstr(said, "10 of at most 20  size 2 of 4, 2 min left  best 3 us"));
    assert_non_null(strstr(said, "############............"));
    assert_null(strstr(line(p, "", 200, 500), "left")); /* too soon to tell */
    p.whole = (struct progress_whole){0};
    assert_non_null(strstr(line(p, "best 3 us", 200, 500), "10 of at most 20  best 3 us"));
}

/* From catch_stderr to let_stderr_go, stderr is a file. */
struct caught {
    FILE *file;
    int stderr_before;
    char text[4096]; /* as said has found it */
};

static struct caught catch_stderr(void) {
    struct caught c = {.file = tmpfile(), .stderr_before = dup(STDERR_FILENO)};
    assert_non_null(c.file);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

static const char *said(struct caught *c) {
    fflush(stderr);
    ssize_t n = pread(fileno(c->file), c->text, sizeof c->text - 1, 0);
    c->text[n > 0 ? n : 0] = 0;
    return c->text;
}

static const char *let_stderr_go(struct caught *c) {
    said(c);
    dup2(c->stderr_before, STDERR_FILENO);
    close(c->stderr_before);
    fclose(c->file);
    return c->text;
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

/* What takes long is said while it does, again and again; what is worth no line is not, nor what
 * has not taken long yet. */
static void test_says_what_takes_long(void **state) {
    (void)state;
    struct caught c = catch_stderr();
    struct doing *soon = doing_start(1), *late = doing_start(1e9);
    doing_what(late, "counting slowly");
    doing_what(soon, "counting");
    do usleep(500);
    while (count(said(&c), "counting: ") < 2);
    doing_what(soon, "");
    doing_stop(soon);
    doing_stop(late);
    doing_what(NULL, "nobody hears"), doing_stop(NULL);
    const char *text = let_stderr_go(&c);
    assert_null(strstr(text, "slowly"));
    assert_null(strstr(text, "hears"));
    assert_null(strstr(text, "\n: "));
}

/* Steps of a run whose stderr is no terminal: a line for each quarter, and none where there is
 * nothing to do, or little. */
static void test_says_quarters(void **state) {
    static const struct {
        int most, steps, lines;
    } cases[] = {{16, 16, 4}, {8, 8, 4}, {7, 7, 0}, {0, 3, 0}, {16, 3, 0}, {16, 9, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct caught c = catch_stderr();
        struct progress p =
            progress_start("k", cases[i].most, (struct progress_whole){.plain = true});
        for (int k = 0; k < cases[i].steps; k++) progress_step(&p, "");
        progress_end(&p);
        const char *text = let_stderr_go(&c);
        assert_int_equal(count(text, "k: "), cases[i].lines);
        if (cases[i].lines == 4) assert_int_equal(count(text, "of at most"), 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits_every_width),
        cmocka_unit_test(test_says_most_and_the_whole),
        cmocka_unit_test(test_says_what_takes_long),
        cmocka_unit_test(test_says_quarters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
