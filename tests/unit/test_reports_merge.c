/* test_reports_merge.c: what is appended while files are merged is not lost, and nothing is there
 * twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/merge.h"
#include "reports/results.h"

enum { APPENDED = 150, MERGES = 40 };

static void append(const char *path, const char *run, const char *config, double us) {
    struct report_error e = {0};
    struct result_row r = result_row_new();
    r.run_id = run;
    r.workload = "softmax";
    r.config = config;
    r.median_us = us;
    if (result_append(path, &r, 1, NULL, &e) != REPORT_OK) {
        fprintf(stderr, "%s\n", e.text);
        _exit(1);
    }
}

static size_t rows_in(const char *path) {
    struct report_error e = {0};
    struct results r;
    assert_int_equal(results_read(path, &r, &e), REPORT_OK);
    size_t n = r.n;
    results_free(&r);
    return n;
}

static void test_appended_meanwhile(void **state) {
    char folder[] = "/tmp/test_reports_merge.XXXXXX", to[64], path[96], shard[96];
    assert_non_null(mkdtemp(folder));
    snprintf(to, sizeof to, "%s/to", folder);
    snprintf(path, sizeof path, "%s/softmax.csv", to);
    snprintf(shard, sizeof shard, "%s/softmax.csv", folder);
    assert_int_equal(mkdir(to, 0777), 0);
    append(path, "first", "", 1);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < APPENDED; i++) append(path, "bench", "", i);
        _exit(0);
    }
    for (int i = 0; i < MERGES; i++) { /* each replaces the file */
        char config[16];
        struct report_error e = {0};
        struct merged done;
        struct text notes = {0};
        const char *inputs[] = {shard};
        struct merge_request r = {inputs, 1, to, false};
        snprintf(config, sizeof config, "x=%d", i);
        append(shard, "shard", config, i);
        if (merge_results(&r, &done, &notes, &e) != REPORT_OK) fail_msg("%s", e.text);
        assert_int_equal(done.n_new, 1);
        assert_int_equal(done.n_old, i);
        text_free(&notes);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(rows_in(path), 1 + APPENDED + MERGES);
    unlink(path);
    unlink(shard);
    rmdir(to);
    assert_int_equal(rmdir(folder), 0);
}

/* Of inputs that are known to be measured by themselves equal rows are two, and the folder's are
 * theirs. */
static void test_apart(void **state) {
    char folder[] = "/tmp/test_reports_merge.XXXXXX", to[64], path[96], a[64], b[64], name[96];
    struct report_error e = {0};
    struct merged done;
    struct text notes = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(to, sizeof to, "%s/to", folder);
    snprintf(path, sizeof path, "%s/softmax.csv", to);
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    const char *folders[] = {to, a, b};
    for (int i = 0; i < 3; i++) assert_int_equal(mkdir(folders[i], 0777), 0);
    for (int i = 1; i < 3; i++) {
        snprintf(name, sizeof name, "%s/softmax.csv", folders[i]);
        append(name, "run", "x=1", 3);
        append(name, "run", "x=2", i); /* no conflict here */
    }
    for (int i = 0; i < 2; i++) {
        struct merge_request r = {folders + 1, 2, to, true};
        assert_int_equal(merge_results(&r, &done, &notes, &e), REPORT_OK);
        assert_int_equal(done.n_new, i ? 0 : 4);
        assert_int_equal(rows_in(path), 4);
    }
    struct merge_request r = {folders + 1, 2, to, false};
    assert_int_equal(merge_results(&r, &done, &notes, &e), REPORT_OK); /* the folder has it all */
    unlink(path);
    assert_int_equal(merge_results(&r, &done, &notes, &e), REPORT_WRONG);
    assert_int_equal(access(path, F_OK), -1);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s/softmax.csv", folders[i]);
        unlink(name);
        assert_int_equal(rmdir(folders[i]), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    text_free(&notes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appended_meanwhile),
        cmocka_unit_test(test_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
