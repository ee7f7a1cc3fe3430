/* digest_test.h: texts of the compiler's stages as digests, a line for each thing that is compiled:
 *
 *   amax | 2 of 180 refused, meta 2b1c | parts 5d10 | gradient 77aa | bounds 0c3f
 *   shapes 0, cpu | 1 kernels | nests 82e9 | program b2be | bodies 49ef | 37 configs 4256 | ...
 *
 * A line that differs says which stage has changed. `--show "shapes 0, cpu"` prints the texts
 * behind it: do so before and after, and compare. UPDATE=1 rewrites the files of
 * tests/golden/digests. */
#ifndef DIGEST_TEST_H
#define DIGEST_TEST_H

#include <stdio.h>

#include "graph_test.h"
#include "part.h"

static const char *show; /* the key of the line whose texts are printed */

struct line {
    struct arena *a;
    const char *key;
    struct buf text;
};

static inline struct line line_of(struct arena *a, const char *key) {
    struct line l = {a, key, buf_new(a)};
    buf_puts(&l.text, key);
    return l;
}

/* Adds "| what 1f3a", of 16 bits: no two texts that one mistake tells apart need more. */
static inline void add_digest(struct line *l, const char *what, const struct buf *of) {
    buf_printf(&l->text, " | %s %04x", what, (unsigned)(hash_bytes(of->p, of->n) & 0xffff));
    if (show && !strcmp(show, l->key)) printf("---- %s\n%s\n", what, of->p);
}

static inline void end_line(struct buf *to, const struct line *l) {
    buf_printf(to, "%s\n", l->text.p);
}

static inline int judge_lines(const char *name, const char *got, struct arena *a) {
    const char *path = arena_printf(a, "tests/golden/digests/%s", name);
    struct diag d = diag_new(a);
    int wrong = 0;
    if (PART > 1) return 0; /* not all lines are there */
    if (getenv("UPDATE")) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        fputs(got, f);
        fclose(f);
        return 0;
    }
    const struct source *want = source_read(a, path, &d);
    if (!want) fail_msg("%s", d.text);
    const char *w = want->text;
    while (*got || *w) {
        size_t n = strcspn(got, "\n"), m = strcspn(w, "\n");
        if ((n != m || memcmp(got, w, n) != 0) && wrong++ < 8)
            print_error("%s says:  %.*s\n  and now: %.*s\n", path, (int)m, w, (int)n, got);
        got += n + (got[n] != 0);
        w += m + (w[m] != 0);
    }
    return wrong;
}

static inline int digest_main(int argc, char **argv, const char *name, CMUnitTestFunction f) {
    const struct CMUnitTest tests[] = {{name, f, NULL, NULL, NULL}};
    if (argc > 2 && !strcmp(argv[1], "--show")) show = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
