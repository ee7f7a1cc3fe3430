/* test_reports_import.c: rows of older and of foreign CSVs come into a folder of results, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/history.h"
#include "reports/import.h"

static char folder[] = "/tmp/test_reports_import.XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[8][96];
    static int n;
    char *p = paths[n++ % 8];
    snprintf(p, sizeof *paths, "%s/%s", folder, name);
    return p;
}

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }
static int empty_folder(void **state) {
    static const char *const files[] = {"a.csv", "m.txt", "old/a.csv", "old/b.csv"};
    static const char *const results[] = {"softmax.csv",        "imported_1.csv",
                                          "imported_2.csv",     "imported_9.csv",
                                          "nightly/nightly.md", "nightly/timeline.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(in_folder(files[i]));
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        char name[64];
        snprintf(name, sizeof name, "r/%s", results[i]);
        unlink(in_folder(name));
    }
    rmdir(in_folder("r/nightly"));
    rmdir(in_folder("r"));
    rmdir(in_folder("old"));
    return 0;
}
static int remove_folder(void **state) { return rmdir(folder); }

static void write_text(const char *name, const char *text) {
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Exit code and a part of what is said. */
static void expect(int want, const char *path, const char *map, const char *says) {
    char *said = NULL;
    size_t size;
    FILE *f = open_memstream(&said, &size);
    const char *paths[] = {in_folder(path)};
    struct import_request r = {in_folder("r"), map ? in_folder(map) : NULL, paths, 1};
    int rc = history_import(&r, f, f);
    assert_int_equal(fclose(f), 0);
    if (rc != want || !strstr(said, says))
        fail_msg("exit %d, expected %d and '%s', said:\n%s", rc, want, says, said);
    free(said);
}

static struct results read_back(const char *name) {
    struct report_error e = {0};
    struct results r;
    if (results_read(in_folder(name), &r, &e) != REPORT_OK) fail_msg("%s", e.text);
    return r;
}

static void expect_no_file(const char *name) {
    assert_int_equal(access(in_folder(name), F_OK), -1);
}

/* The columns of a schema, each row made of a word for each by its name; NULL ends. */
static struct text csv_of(int schema, const char *const (*rows)[2], size_t n_rows, size_t n) {
    struct text t = {0};
    int width = result_columns_of(schema);
    for (int c = 0; c < width; c++) text_printf(&t, "%s%s", c ? "," : "", result_column_name(c));
    text_puts(&t, "\n");
    for (size_t r = 0; r < n_rows; r++)
        for (int c = 0; c < width; c++) {
            const char *value = "";
            for (size_t i = 0; i < n; i++)
                if (!strcmp(rows[r * n + i][0], result_column_name(c))) value = rows[r * n + i][1];
            text_printf(&t, "%s%s", value, c + 1 < width ? "," : "\n");
        }
    return t;
}

/* Results of an older schema stay of it: a time meant something else then. Also what was counted,
 * which is no longer written into files that cannot say so. */
static void test_older(void **state) {
    static const char *const rows[][2] = {
        {"schema", "2"},         {"run_id", "A"},      {"timestamp", "2026-09-01T02:00:00Z"},
        {"device", "GPU"},       {"workload", "relu"}, {"mode", "fwd"},
        {"dtype", "bf16"},       {"axes", "dim=8"},    {"kernel", "program"},
        {"status", "ok"},        {"role", "eager"},    {"median_us", "12.345678901"},
        {"counters", "counted"}, {"dram_bytes", "64"}};
    struct text t = csv_of(2, rows, 1, sizeof rows / sizeof *rows);
    write_text("a.csv", t.p);
    text_free(&t);
    expect(0, "a.csv", NULL, "a.csv: 1 row taken, 0 there already, 0 skipped\n");
    expect(0, "a.csv", NULL, "a.csv: 0 rows taken, 1 there already, 0 skipped\n");
    struct results r = read_back("r/imported_2.csv");
    assert_int_equal(r.n, 1);
    assert_int_equal(r.rows[0].schema, 2);
    assert_int_equal(r.rows[0].role, ROLE_eager);
    assert_float_equal(r.rows[0].median_us, 12.34568, 1e-9);
    assert_true(r.rows[0].dram_bytes == 64);
    results_free(&r);
    expect(0, "r/imported_2.csv", NULL, "0 rows taken, 1 there already"); /* a folder of its own */
}

/* Columns in another order, missing and foreign ones, and what rows do not say. */
static void test_other_columns(void **state) {
    write_text("a.csv", "\xef\xbb\xbfmedian_us,note,workload,timestamp,device,dtype\n"
                        "33.9,\"two\nlines, \"\"so\"\"\",softmax,2026-09-01T02:00:00Z,\"H, 200\",\n"
                        "33.7,,s\xc3\xa9,2026-09-02T02:00:00Z,\"H, 200\",bf16\n");
    expect(0, "a.csv", NULL,
           "a.csv: 2 rows taken, 0 there already, 0 skipped\n"
           "  it has no columns: schema, run_id, git_rev, host, arch, driver, "
           "toolchain, timer and 10 more\n"
           "  left out, no columns of results: note\n");
    expect(0, "a.csv", NULL, "0 rows taken, 2 there already");
    struct results r = read_back("r/imported_9.csv");
    assert_int_equal(r.n, 2);
    assert_string_equal(r.rows[0].run_id, "20260901T020000Z");
    assert_string_equal(r.rows[0].device, "H, 200");
    assert_string_equal(r.rows[0].kernel, "program");
    assert_string_equal(r.rows[0].mode, "fwd");
    assert_string_equal(r.rows[0].dtype, "f32");
    assert_int_equal(r.rows[0].role, ROLE_tuned);
    assert_int_equal(r.rows[0].status, STATUS_ok);
    assert_string_equal(r.rows[1].workload, "s\xc3\xa9");
    assert_string_equal(r.rows[1].dtype, "bf16");
    results_free(&r);
}

/* Each row that is wrong is said by its line; the others are there. */
static void test_wrong_rows(void **state) {
    write_text("a.csv", "schema,workload,timestamp,device,median_us,role,status\n"
                        "9,softmax,2026-09-01T02:00:00Z,GPU,1,tuned,ok\n"
                        "9,softmax,2026-09-01T02:00:00Z,GPU,soon,tuned,ok\n"
                        "9,softmax,2026-09-01T02:00:00Z,GPU,1,teacher,ok\n"
                        "9,softmax,2026-09-01T02:00:00Z,GPU,1,tuned,fine\n"
                        "9,softmax,yesterday,GPU,1,tuned,ok\n"
                        "9,,2026-09-01T02:00:00Z,GPU,1,tuned,ok\n"
                        "9,softmax,2026-09-01T02:00:00Z,,1,tuned,ok\n"
                        "9,softmax\n"
                        "schema,workload,timestamp,device,median_us,role,status\n"
                        "10,softmax,2026-09-01T02:00:00Z,GPU,1,tuned,ok\n"
                        "2.5,softmax,2026-09-01T02:00:00Z,GPU,1,tuned,ok\n"
                        "9,softmax,2026-09-01T03:00:00Z,GPU,2,tuned,ok\n"
                        "1,softmax,2026-09-01T03:00:00Z,GPU,2,tuned,ok\n"
                        "9,softmax,2026-09-01T04:0");
    expect(1, "a.csv", NULL,
           "a.csv: 3 rows taken, 0 there already, 11 skipped\n"
           "    line 3: 'soon' is no median_us\n"
           "    line 4: 'teacher' is no role\n"
           "    line 5: 'fine' is no status\n"
           "    line 6: 'yesterday' is no time of day, as 2021-03-01T02:00:00Z\n"
           "    line 7: no workload\n"
           "    line 8: no device\n"
           "    line 9: 2 fields, expected 7\n"
           "    line 10: the header again\n"
           "    line 11: schema 10; this program knows 1 to 9\n"
           "    line 12: schema 2.5; this program knows 1 to 9\n"
           "    line 15: half-written last row ignored (25 bytes)\n");
    struct results r = read_back("r/imported_9.csv");
    assert_int_equal(r.n, 2);
    results_free(&r);
    r = read_back("r/imported_1.csv");
    assert_int_equal(r.n, 1);
    results_free(&r);
}

/* Of a file that is refused nothing is taken. */
static void test_wrong_files(void **state) {
    write_text("a.csv", "workload,timestamp,device,median_us\n"
                        "softmax,2026-09-01T02:00:00Z,GPU,1\n"
                        "softmax,2026-09-01T02:00:00Z,\"GPU\" 2,1\n");
    expect(1, "a.csv", NULL, "a.csv', line 3: not valid CSV");
    expect_no_file("r/imported_9.csv");
    write_text("a.csv", "workload,timestamp,median_us\nsoftmax,2026-09-01T02:00:00Z,1\n");
    expect(1, "a.csv", NULL, "a.csv' has no column 'device' in line 1: a map (--map)");
    write_text("a.csv", "workload,workload,timestamp,device\n");
    expect(1, "a.csv", NULL, "a.csv' has two columns 'workload'");
    write_text("a.csv", "");
    expect(1, "a.csv", NULL, "a.csv' is empty");
    expect(2, "none.csv", NULL, "cannot open");
    write_text("m.txt", "");
    expect(1, "m.txt", NULL, "m.txt' is empty");
}

static void test_map(void **state) {
    write_text("a.csv", "benchmark,mean (ns),when * 1,workload\n"
                        "softmax,33900,2021-03-01 02:00,x\n"
                        "gelu,far,2021-03-01 02:00,x\n"
                        "gelu,,2021-03-01 02:00,x\n");
    write_text("m.txt", "# of another program\n\n"
                        "workload = benchmark # not the column of that name\n"
                        "  median_us=mean (ns) * 0.001  \n"
                        "timestamp = when * 1\n"
                        "device = \"Tesla V100 # 2\" # which it was\n"
                        "role = \"default\"\n");
    expect(1, "a.csv", "m.txt", "has no column 'when', of which the map makes timestamp");
    write_text("a.csv", "benchmark,mean (ns),when,workload\n"
                        "softmax,33900,2021-03-01 02:00,x\n"
                        "gelu,far,2021-03-01 02:00,x\n"
                        "gelu,,2021-03-01 02:00,x\n");
    write_text("m.txt", "# of another program\n\n"
                        "workload = benchmark # not the column of that name\n"
                        "  median_us=mean (ns) * 0.001  \n"
                        "timestamp = when\n"
                        "device = \"Tesla V100 # 2\" # which it was\n");
    expect(1, "a.csv", "m.txt",
           "1 row taken, 0 there already, 2 skipped\n"
           "    line 3: 'far' is no number\n"
           "    line 4: no time: median_us is empty or 0\n"
           "  it has no columns: schema, run_id");
    expect(1, "a.csv", "m.txt", "0 rows taken, 1 there already, 2 skipped");
    struct results r = read_back("r/imported_9.csv");
    assert_int_equal(r.n, 1);
    assert_string_equal(r.rows[0].workload, "softmax");
    assert_string_equal(r.rows[0].device, "Tesla V100 # 2");
    assert_string_equal(r.rows[0].timestamp, "2021-03-01T02:00:00Z");
    assert_float_equal(r.rows[0].median_us, 33.9, 1e-9);
    results_free(&r);
    static const char *const wrong[][2] = {
        {"workload benchmark\n", "m.txt', line 1: no '='"},
        {"\nwhat = benchmark\n", "m.txt', line 2: 'what' is no column of results"},
        {"device = \"V100\n", "line 1: a text ends in a quote"},
        {"device = \"V100\" 2\n", "line 1: a text ends in a quote"},
        {"device = # none\n", "line 1: 'device' of what?"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text("m.txt", wrong[i][0]);
        expect(2, "a.csv", "m.txt", wrong[i][1]);
    }
    expect(2, "a.csv", "none.txt", "cannot open");
}

static void test_times_of_day(void **state) {
    static const char *const times[][2] = {
        {"2021-03-01T02:00:00Z", "2021-03-01T02:00:00Z"},
        {"2021-03-01 02:00", "2021-03-01T02:00:00Z"},
        {"2021-03-01 02:00:59.9", "2021-03-01T02:00:59Z"},
        {"2021-03-01T00:30:00+02:00", "2021-02-28T22:30:00Z"},
        {"2021-02-28 22:30 -0130", "2021-03-01T00:00:00Z"},
        {"1614564000", "2021-03-01T02:00:00Z"},
        {"2021-02-29 02:00", NULL},
        {"2021-13-01 02:00", NULL},
        {"2021-03-01 24:00", NULL},
        {"2021-03-01 02:00 CET", NULL},
        {"2021-03-01", NULL},
        {"12", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct text t = {0};
        text_printf(&t, "workload,timestamp,device,median_us\nsoftmax,%s,GPU,1\n", times[i][0]);
        write_text("a.csv", t.p);
        text_free(&t);
        expect(times[i][1] ? 0 : 1, "a.csv", NULL, times[i][1] ? "1 row taken" : "time of day");
        if (!times[i][1]) continue;
        struct results r = read_back("r/imported_9.csv");
        assert_int_equal(r.n, 1);
        assert_string_equal(r.rows[0].timestamp, times[i][1]);
        results_free(&r);
        unlink(in_folder("r/imported_9.csv"));
    }
}

/* What bench wrote there itself is not added; a folder is all of its CSVs; judge reads them. */
static void test_folder(void **state) {
    struct report_error e = {0};
    struct result_row row = result_row_new();
    row.run_id = "20260902T020000Z.1", row.timestamp = "2026-09-02T02:00:00Z";
    row.device = "GPU", row.workload = "softmax", row.mode = "fwd", row.dtype = "f32";
    row.kernel = "program", row.role = ROLE_tuned, row.median_us = 34;
    mkdir(in_folder("old"), 0777);
    mkdir(in_folder("r"), 0777);
    assert_int_equal(result_append(in_folder("old/a.csv"), &row, 1, NULL, &e), REPORT_OK);
    assert_int_equal(result_append(in_folder("r/softmax.csv"), &row, 1, NULL, &e), REPORT_OK);
    row.run_id = "20260901T020000Z.1", row.timestamp = "2026-09-01T02:00:00Z";
    assert_int_equal(result_append(in_folder("old/b.csv"), &row, 1, NULL, &e), REPORT_OK);
    assert_int_equal(result_append(in_folder("old/a.csv"), &row, 1, NULL, &e), REPORT_OK);
    expect(0, "old", NULL,
           "b.csv: 0 rows taken, 1 there already, 0 skipped\n"
           "in all: 1 row taken, 2 there already, 0 skipped\n");
    expect(0, "old", NULL, "in all: 0 rows taken, 3 there already, 0 skipped\n");
    FILE *f = fopen("/dev/null", "w");
    struct history_request judge = {.folder = in_folder("r"), .threshold = 0.015};
    assert_int_equal(history_judge(&judge, f, f), 0);
    fclose(f);
    char line[400];
    f = fopen(in_folder("r/nightly/timeline.csv"), "r");
    assert_non_null(f);
    for (int i = 0; i < 3; i++) assert_non_null(fgets(line, sizeof line, f));
    assert_non_null(strstr(line, "20260902T020000Z"));
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    write_text("m.txt", "");
    struct import_request r = {in_folder("m.txt"), NULL, (const char *[]){in_folder("old")}, 1};
    f = fopen("/dev/null", "w");
    assert_int_equal(history_import(&r, f, f), 3); /* the results would lie in a file */
    fclose(f);
}

/* More rows than are written at once. */
static void test_many(void **state) {
    FILE *f = fopen(in_folder("a.csv"), "w");
    fputs("workload,timestamp,device,median_us\n", f);
    for (int i = 0; i < 20001; i++) fprintf(f, "softmax,2026-09-01T02:00:00Z,GPU,%d\n", 1 + i);
    fclose(f);
    expect(0, "a.csv", NULL, "20001 rows taken, 0 there");
    expect(0, "a.csv", NULL, "0 rows taken, 20001 there");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_older, empty_folder),
        cmocka_unit_test_teardown(test_other_columns, empty_folder),
        cmocka_unit_test_teardown(test_wrong_rows, empty_folder),
        cmocka_unit_test_teardown(test_wrong_files, empty_folder),
        cmocka_unit_test_teardown(test_map, empty_folder),
        cmocka_unit_test_teardown(test_times_of_day, empty_folder),
        cmocka_unit_test_teardown(test_folder, empty_folder),
        cmocka_unit_test_teardown(test_many, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
