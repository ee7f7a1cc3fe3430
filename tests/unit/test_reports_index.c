/* test_reports_index.c: the index of result files gives the rows that reading them gives, whatever
 * becomes of the files and of the index. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "reports/row_index.h"

static char folder[] = "/tmp/test_reports_index.XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[4][96];
    static int n;
    char *p = paths[n++ % 4];
    snprintf(p, sizeof *paths, "%s/%s", folder, name);
    return p;
}

static int make_folder(void **state) { return mkdtemp(folder) ? 0 : -1; }
static int empty_folder(void **state) {
    unlink(in_folder("a.csv"));
    unlink(in_folder("b.csv"));
    if (unlink(in_folder(ROW_INDEX_NAME)) != 0) rmdir(in_folder(ROW_INDEX_NAME));
    return 0;
}
static int remove_folder(void **state) { return rmdir(folder); }

/* A row of softmax f32, unless changed. */
static struct result_row row(int run, enum result_role role, double us) {
    static char texts[600][2][32];
    static int used;
    char(*t)[32] = texts[used++ % 600];
    snprintf(t[0], 32, "run%03d", run);
    snprintf(t[1], 32, "2026-%02d-%02dT02:00:00Z", 1 + run / 28, 1 + run % 28);
    struct result_row r = result_row_new();
    r.run_id = t[0], r.timestamp = t[1];
    r.device = "NVIDIA H200", r.workload = "softmax", r.mode = "fwd", r.dtype = "f32";
    r.axes = "dim=4096", r.role = role, r.median_us = us;
    r.kernel = role == ROLE_variant ? "k_0" : "program";
    return r;
}

static void append(const char *name, struct result_row r) {
    struct report_error e = {0};
    if (result_append(in_folder(name), &r, 1, NULL, &e) != REPORT_OK) fail_msg("%s", e.text);
}

static void write_text(const char *name, const char *text, const char *how) {
    FILE *f = fopen(in_folder(name), how);
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* What one reading said: a line for each row, "a.csv run001 tuned 34", and all warnings. */
struct said {
    struct text rows, warnings, errors, notes;
    size_t in_files, in_brief;
    struct row_choice choice;
};

static void take(const char *path, struct results *r, const struct report_error *own,
                 void *context) {
    struct said *s = context;
    for (size_t i = 0; i < r->n; i++)
        text_printf(&s->rows, "%s %s %s %s%g\n", strrchr(path, '/') + 1, r->rows[i].run_id,
                    result_role_name(r->rows[i].role), r->rows[i].config, r->rows[i].median_us);
    for (size_t i = 0; i < r->n_briefs; i++) {
        const struct result_brief *b = &r->briefs[i];
        text_printf(&s->rows, "%s %s %s %g\n", strrchr(path, '/') + 1, b->run_id,
                    result_role_name(b->like->role), b->median_us);
    }
    assert_true(!r->n || !r->n_briefs);
    s->in_brief += r->n_briefs;
    text_puts(&s->warnings, text_str(&r->table.warnings));
    if (own->status != REPORT_OK) text_printf(&s->errors, "%s\n", own->text);
    s->in_files += r->n_in_file;
    results_free(r);
}

static struct said read_with(struct row_choice choice) {
    struct said s = {.choice = choice};
    struct report_error e = {0};
    if (row_index_read(folder, &s.choice, take, &s, &s.notes, &e) != REPORT_OK)
        fail_msg("%s", e.text);
    return s;
}
static struct said read_all(void) { return read_with((struct row_choice){.most = 100000}); }

static void said_free(struct said *s) {
    text_free(&s->rows);
    text_free(&s->warnings);
    text_free(&s->errors);
    text_free(&s->notes);
}

/* All rows of both files, as results_read reads them. */
static struct text read_plainly(void) {
    struct said s = {0};
    static const char *const names[] = {"a.csv", "b.csv"};
    for (int i = 0; i < 2; i++) {
        struct results r;
        struct report_error e = {0};
        if (results_read(in_folder(names[i]), &r, &e) == REPORT_OK)
            take(in_folder(names[i]), &r, &e, &s);
        else
            results_free(&r);
    }
    text_free(&s.warnings);
    return s.rows;
}

/* The index says what the files do, of which it had to look at `parsed` rows. */
static void expect_right(size_t parsed) {
    struct text want = read_plainly();
    struct said s = read_all();
    assert_string_equal(text_str(&s.rows), text_str(&want));
    assert_string_equal(text_str(&s.notes), "");
    assert_int_equal(s.choice.n_parsed, parsed);
    assert_true(s.choice.all);
    text_free(&want);
    said_free(&s);
}

/* 3 and 2 rows. */
static void write_two_files(void) {
    append("a.csv", row(1, ROLE_eager, 90));
    append("a.csv", row(1, ROLE_tuned, 34));
    struct result_row odd = row(2, ROLE_variant, 35);
    odd.config = "two\nlines, \"quoted\", \xc3\xa9 ";
    append("a.csv", odd);
    append("b.csv", row(3, ROLE_tuned, 33));
    append("b.csv", row(3, ROLE_torch_eager, 80));
}

static void test_same_rows(void **state) {
    write_two_files();
    write_text("b.csv", "1,2\n", "a");
    append("b.csv", row(4, ROLE_tuned, 32));
    write_text("b.csv", "9,half", "a");
    expect_right(6);
    struct said s = read_all();
    assert_non_null(strstr(text_str(&s.rows), "two\nlines, \"quoted\", \xc3\xa9 35"));
    assert_string_equal(text_str(&s.warnings), "line 4 has 2 fields, expected 75: ignored\n"
                                               "line 6: half-written last row ignored (6 bytes)\n");
    assert_int_equal(s.in_files, 6);
    assert_int_equal(s.choice.n_parsed, 0);
    said_free(&s);
    assert_int_equal(access(in_folder(ROW_INDEX_NAME), F_OK), 0);
}

/* A file that grew is read from where it ended; all others that changed, anew. */
static void test_changed_files(void **state) {
    write_two_files();
    expect_right(5);
    append("a.csv", row(5, ROLE_tuned, 31));
    expect_right(1);
    expect_right(0);

    struct stat before;
    assert_int_equal(stat(in_folder("b.csv"), &before), 0);
    FILE *f = fopen(in_folder("b.csv"), "r+"); /* as long as it was, at the same time */
    char text[4096] = "";
    size_t n = fread(text, 1, sizeof text - 1, f);
    char *us = strstr(text, ",33,");
    assert_non_null(us);
    us[2] = '9';
    rewind(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    fclose(f);
    struct timespec times[2] = {before.st_atim, before.st_mtim};
    utimensat(AT_FDCWD, in_folder("b.csv"), times, 0);
    expect_right(2);
    struct said s = read_all();
    assert_non_null(strstr(text_str(&s.rows), "b.csv run003 tuned 39\n"));
    said_free(&s);

    assert_int_equal(truncate(in_folder("b.csv"), (off_t)n - 10), 0); /* within its last row */
    expect_right(1);
    *strstr(text, "\n9,") = 0;
    assert_int_equal(truncate(in_folder("b.csv"), (off_t)strlen(text) + 1), 0); /* its header */
    expect_right(0);
    append("b.csv", row(6, ROLE_tuned, 30));
    expect_right(1);

    unlink(in_folder("a.csv"));
    expect_right(0);
    rename(in_folder("b.csv"), in_folder("a.csv"));
    expect_right(1);
    write_text("b.csv", "", "w");
    expect_right(0);
}

/* What is wrong with a file is said each time, and the others are there. */
static void test_wrong_file(void **state) {
    write_two_files();
    expect_right(5);
    write_text("b.csv", "9,\"open\n", "a");
    append("a.csv", row(5, ROLE_tuned, 31));
    for (int i = 0; i < 2; i++) {
        struct said s = read_all();
        assert_non_null(strstr(text_str(&s.warnings), "line 4: half-written last row"));
        said_free(&s);
    }
    write_text("b.csv", "9,\"a\"b\n", "a");
    for (int i = 0; i < 2; i++) {
        struct said s = read_all();
        assert_non_null(strstr(text_str(&s.errors), "b.csv', line 4: not valid CSV"));
        assert_null(strstr(text_str(&s.rows), "b.csv"));
        assert_non_null(strstr(text_str(&s.rows), "a.csv run005 tuned 31"));
        said_free(&s);
    }
}

static void change_index(const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(in_folder(ROW_INDEX_NAME), &db), SQLITE_OK);
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) fail_msg("%s: %s", sql, error);
    sqlite3_close(db);
}

/* Whatever is wrong with it, it is made anew: all 5 rows are looked at, and none the next time. */
static void test_damaged_index(void **state) {
    static const char *const changes[] = {
        "PRAGMA user_version = 99",
        "DROP TABLE spans",
        "DROP TABLE spans; CREATE TABLE spans (other)",
        "UPDATE spans SET offset = offset + 1",
        "UPDATE spans SET length = length - 1",
        "UPDATE spans SET rows = rows + 1",
        "UPDATE spans SET offset = 1000000000000",
        "UPDATE files SET header = header + 1",
    };
    write_two_files();
    expect_right(5);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change_index(changes[i]);
        expect_right(5);
        expect_right(0);
    }
    write_text(ROW_INDEX_NAME, "this is no database, but long enough to be taken for one", "w");
    expect_right(5);
    struct stat st;
    assert_int_equal(stat(in_folder(ROW_INDEX_NAME), &st), 0);
    for (off_t size = 0; size < st.st_size; size += st.st_size / 7) {
        assert_int_equal(truncate(in_folder(ROW_INDEX_NAME), size), 0);
        expect_right(5);
        expect_right(0);
    }
    FILE *f = fopen(in_folder(ROW_INDEX_NAME), "r+"); /* a bad page in the middle */
    fseek(f, 4096, SEEK_SET);
    for (int i = 0; i < 4096; i++) putc(0xa5, f);
    fclose(f);
    expect_right(5);
    expect_right(0);
    unlink(in_folder(ROW_INDEX_NAME));
    expect_right(5);
}

/* Where there can be no file beside the results, they are read all the same. */
static void test_no_index(void **state) {
    write_two_files();
    assert_int_equal(mkdir(in_folder(ROW_INDEX_NAME), 0777), 0);
    struct said s = read_all();
    struct text want = read_plainly();
    assert_string_equal(text_str(&s.rows), text_str(&want));
    assert_non_null(strstr(text_str(&s.notes), "no index is kept"));
    said_free(&s);
    rmdir(in_folder(ROW_INDEX_NAME));
    s = read_with((struct row_choice){.most = 1000, .file_from = 1 << 20}); /* they are small */
    assert_string_equal(text_str(&s.rows), text_str(&want));
    assert_int_equal(access(in_folder(ROW_INDEX_NAME), F_OK), -1);
    said_free(&s);
    text_free(&want);
}

/* Of 20 runs the newest that are few enough; the variants of the newest run that has some; all
 * programs for whoever wants these alone. */
static void test_choice(void **state) {
    for (int i = 0; i < 20; i++) {
        if (i < 10) append("a.csv", row(i, ROLE_variant, 40));
        append("a.csv", row(i, ROLE_default, 36));
        append("a.csv", row(i, ROLE_tuned, 34));
        struct result_row other = row(19 - i, ROLE_tuned, 10); /* the newest comes first */
        other.dtype = "bf16";
        append("b.csv", other);
    }
    append("b.csv", row(0, ROLE_torch_eager, 80));
    struct said s = read_with((struct row_choice){.most = 10});
    assert_int_equal(s.choice.runs, 3); /* 2 + 1 + PyTorch's; 2 + 1; 2 + 1 */
    assert_false(s.choice.all);
    assert_int_equal(s.in_files, 71);
    assert_string_equal(text_str(&s.rows), "a.csv run009 variant 40\n"
                                           "a.csv run017 default 36\na.csv run017 tuned 34\n"
                                           "a.csv run018 default 36\na.csv run018 tuned 34\n"
                                           "a.csv run019 default 36\na.csv run019 tuned 34\n"
                                           "b.csv run019 tuned 10\nb.csv run018 tuned 10\n"
                                           "b.csv run017 tuned 10\nb.csv run000 torch_eager 80\n");
    said_free(&s);
    s = read_with((struct row_choice){.most = 0});
    assert_int_equal(s.choice.runs, 1);
    said_free(&s);
    s = read_with((struct row_choice){.programs_alone = true});
    size_t lines = 0;
    for (const char *p = text_str(&s.rows); (p = strchr(p, '\n')); p++) lines++;
    assert_int_equal(lines, 60);
    assert_int_equal(s.in_brief, 60);
    assert_null(strstr(text_str(&s.rows), "variant"));
    assert_null(strstr(text_str(&s.rows), "torch"));
    said_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_rows, empty_folder),
        cmocka_unit_test_teardown(test_changed_files, empty_folder),
        cmocka_unit_test_teardown(test_wrong_file, empty_folder),
        cmocka_unit_test_teardown(test_damaged_index, empty_folder),
        cmocka_unit_test_teardown(test_no_index, empty_folder),
        cmocka_unit_test_teardown(test_choice, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
