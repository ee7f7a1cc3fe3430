/* test_reports_csv.c: result files survive odd text, foreign and damaged files, a full disk, many
 * writers and kills. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/results.h"

static char folder[] = "/tmp/test_reports_csv.XXXXXX";
static char path[64], damaged[80];

static int make_folder(void **state) {
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/r.csv", folder);
    snprintf(damaged, sizeof damaged, "%s.damaged", path);
    return 0;
}

static int empty_folder(void **state) {
    unlink(path);
    unlink(damaged);
    return 0;
}

static int remove_folder(void **state) { return rmdir(folder); }

static void write_file(const char *text, const char *how) {
    FILE *f = fopen(path, how);
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static struct text read_file(const char *from) {
    struct text t = {0};
    FILE *f = fopen(from, "r");
    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF;) text_write(&t, (char[]){(char)c}, 1);
    fclose(f);
    return t;
}

static struct result_row sample_row(const char *config, double us) {
    struct result_row r = result_row_new();
    r.run_id = "20260901T020000Z-1";
    r.device = "NVIDIA H200";
    r.workload = "softmax";
    r.axes = "dim=4096 rows=4096";
    r.kernel = "fused_softmax";
    r.config = config;
    r.n = 30;
    r.median_us = us;
    r.bytes = 134217728;
    return r;
}

static void append_ok(const struct result_row *rows, size_t n) {
    struct report_error e = {0};
    if (result_append(path, rows, n, NULL, &e) != REPORT_OK) fail_msg("%s", e.text);
}

static struct results read_ok(void) {
    struct report_error e = {0};
    struct results r;
    if (results_read(path, &r, &e) != REPORT_OK) fail_msg("%s", e.text);
    return r;
}

static void test_round_trip(void **state) {
    const char *odd[] = {"plain",    "a,b", "say \"hi\"", "two\nlines", "\r\n",
                         " blanks ", "",    "\"",         "é"};
    size_t n = sizeof odd / sizeof *odd;
    for (size_t i = 0; i < n; i++) {
        struct result_row row = sample_row(odd[i], 0.1 + (double)i);
        row.status = (enum result_status)(i % STATUS_COUNT);
        row.role = ROLE_tuned;
        append_ok(&row, 1);
    }
    struct results r = read_ok();
    assert_int_equal(r.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(r.rows[i].config, odd[i]);
        assert_string_equal(r.rows[i].workload, "softmax");
        assert_string_equal(r.rows[i].host, "");
        assert_float_equal(r.rows[i].median_us, 0.1 + (double)i, 1e-6);
        assert_int_equal(r.rows[i].status, i % STATUS_COUNT);
        assert_int_equal(r.rows[i].role, ROLE_tuned);
        assert_true(r.rows[i].bytes == 134217728);
        assert_true(isnan(r.rows[i].temp_c));
        assert_true(r.rows[i].schema == RESULT_SCHEMA);
    }
    assert_string_equal(text_str(&r.table.warnings), "");
    results_free(&r);
}

static void test_no_rows(void **state) {
    write_file("", "w");
    struct results r = read_ok();
    assert_int_equal(r.n, 0);
    results_free(&r);
    append_ok(NULL, 0); /* the header alone */
    r = read_ok();
    assert_int_equal(r.n, 0);
    assert_true(r.table.n_columns > 40);
    results_free(&r);
}

static void expect_error(const char *part) {
    struct report_error e = {0};
    struct results r;
    assert_int_equal(results_read(path, &r, &e), REPORT_WRONG);
    if (!strstr(e.text, part)) fail_msg("'%s' does not say '%s'", e.text, part);
    results_free(&r);
}

static void test_foreign_header(void **state) {
    write_file("name,value\na,1\n", "w");
    expect_error("column 'schema' is missing");

    struct report_error e = {0};
    struct result_row row = sample_row("x=1", 1);
    assert_int_equal(result_append(path, &row, 1, NULL, &e), REPORT_WRONG);
    assert_non_null(strstr(e.text, "column 1 is 'name', expected 'schema'"));
    struct text t = read_file(path);
    assert_string_equal(t.p, "name,value\na,1\n");
    text_free(&t);

    write_file("just a line without an end",
               "w"); /* not the start of our header: not ours to move */
    e = (struct report_error){0};
    assert_int_equal(result_append(path, &row, 1, NULL, &e), REPORT_WRONG);
    t = read_file(path);
    assert_string_equal(t.p, "just a line without an end");
    text_free(&t);
}

/* Our header with one column renamed, and with one more. */
static void test_missing_and_unknown_column(void **state) {
    append_ok(NULL, 0);
    struct text t = read_file(path);
    char *at = strstr(t.p, "median_us");
    assert_non_null(at);
    memcpy(at, "median_ms", 9);
    write_file(t.p, "w");
    expect_error("column 'median_us' is missing");
    memcpy(at, "median_us", 9);
    t.p[t.n - 1] = 0;
    write_file(t.p, "w");
    write_file(",colour\n", "a");
    expect_error("column 'colour' is unknown");
    text_free(&t);
}

/* A word where only some are known, and a word for a number. */
static void test_bad_cells(void **state) {
    static const struct {
        const char *good, *bad, *says;
    } cells[] = {
        {",ok,", ",no,", "line 2: 'no' is not a status"},
        {",variant,", ",varianT,", "line 2: 'varianT' is not a role"},
        {",134217728,", ",13421772B,", "line 2: '13421772B' is not a bytes"},
        {",30,", ",3O,", "line 2: '3O' is not a n"},
    };
    struct result_row row = sample_row("BAD", 1);
    append_ok(&row, 1);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        struct text t = read_file(path);
        char *at = strstr(t.p, cells[i].good);
        assert_non_null(at);
        memcpy(at, cells[i].bad, strlen(cells[i].bad));
        write_file(t.p, "w");
        expect_error(cells[i].says);
        memcpy(at, cells[i].good, strlen(cells[i].good));
        write_file(t.p, "w");
        text_free(&t);
    }
    write_file("\"a\"b,c\n", "w");
    expect_error("not valid CSV");
    unlink(path);
}

/* A file that is not there was named wrongly; one that is there and foreign is wrong itself. */
static void test_missing_file(void **state) {
    struct results r;
    struct report_error e = {0};
    assert_int_equal(results_read(path, &r, &e), REPORT_USAGE);
    assert_non_null(strstr(e.text, "cannot open"));
    results_free(&r);
}

static void test_newer_schema(void **state) {
    struct result_row row = sample_row("x=1", 1);
    row.schema = RESULT_SCHEMA + 1;
    append_ok(&row, 1);
    expect_error("reads up to 9");
}

/* What the first version wrote: its header, and one row. */
static const char old_file[] =
    "schema,run_id,timestamp,git_rev,host,device,arch,driver,toolchain,timer,workload,mode,dtype,"
    "axes,graph,kernel,guard,config,status,role,is_winner,n,median_us,q1_us,q3_us,min_us,ci_us,"
    "host_us,clock_mhz,temp_c,throttle,bytes,flops,gbps,tflops,roof_pct,dram_bytes,occupancy,regs,"
    "smem_bytes,compile_ms\n"
    "1,20260101T000000Z-1,2026-01-01T00:00:00Z,,h,NVIDIA H200,sm_90a,580,NVRTC 13.0,cupti,softmax,"
    "fwd,f32,dim=4,abc,k,,x=1,ok,variant,1,30,2.5,2.4,2.6,2.3,0.1,5,1980,40,none,32,8,1,,50,,0.5,"
    "40,0,12\n";

/* It is read, and goes on as it is: rows of both programs in one file. */
static void test_older_schema(void **state) {
    write_file(old_file, "w");
    struct report_error e = {0};
    struct text notes = {0};
    if (result_append(path, NULL, 0, &notes, &e) != REPORT_OK) fail_msg("%s", e.text);
    assert_non_null(strstr(text_str(&notes), "is of schema 1"));
    text_free(&notes);
    struct result_row row = sample_row("x=2", 1.5);
    row.dram_bytes = 4096;
    row.dram_read_bytes = 2048;
    row.counters = "cupti";
    row.kernels_us = 1.25; /* an old file's times leave the gaps between kernels out */
    row.q1_us = 1.4;
    assert_int_equal(result_append(path, &row, 1, &notes, &e), REPORT_OK);
    assert_string_equal(text_str(&notes), "");
    row.counters = "counted"; /* the file has no column to say so */
    append_ok(&row, 1);
    struct results r = read_ok();
    assert_int_equal(r.n, 3);
    assert_true(isnan(r.rows[2].dram_bytes));
    assert_true(r.rows[0].median_us == 2.5 && r.rows[0].occupancy == 0.5);
    assert_true(r.rows[1].schema == 1 && r.rows[1].dram_bytes == 4096);
    assert_true(r.rows[1].median_us == 1.25 && r.rows[1].q1_us == 1.15);
    for (int i = 0; i < 2; i++) {
        assert_true(isnan(r.rows[i].dram_read_bytes) && isnan(r.rows[i].l2_hit_pct));
        assert_string_equal(r.rows[i].counters, "");
        assert_string_equal(r.rows[i].pipe, "");
    }
    results_free(&r);
}

/* A row must be of its file's schema: a newer one in an older file has lost columns. */
static void test_row_of_another_schema(void **state) {
    write_file(old_file, "w");
    struct text t = read_file(path);
    char *at = strstr(t.p, "\n1,2026");
    at[1] = '2';
    write_file(t.p, "w");
    expect_error("line 2: schema 2 in a file of schema 1");
    text_free(&t);
}

static void test_counters(void **state) {
    struct result_row row = sample_row("x=1", 1);
    row.dram_read_bytes = 1e9;
    row.l2_hit_pct = 33.25;
    row.stall = "long_scoreboard";
    row.stall_pct = 81.5;
    row.counters = "cupti";
    append_ok(&row, 1);
    struct results r = read_ok();
    assert_true(r.rows[0].dram_read_bytes == 1e9 && r.rows[0].l2_hit_pct == 33.25);
    assert_true(r.rows[0].stall_pct == 81.5 && isnan(r.rows[0].pipe_pct));
    assert_string_equal(r.rows[0].stall, "long_scoreboard");
    assert_string_equal(r.rows[0].counters, "cupti");
    results_free(&r);
}

static void test_damaged_tail(void **state) {
    struct result_row row = sample_row("first", 1);
    append_ok(&row, 1);
    write_file("1,half,\"quoted\nnewline", "a");
    struct results r = read_ok();
    assert_int_equal(r.n, 1);
    assert_non_null(strstr(text_str(&r.table.warnings), "half-written last row ignored"));
    results_free(&r);

    struct report_error e = {0};
    struct text notes = {0};
    row.config = "second";
    assert_int_equal(result_append(path, &row, 1, &notes, &e), REPORT_OK);
    assert_non_null(strstr(text_str(&notes), "moved to"));
    text_free(&notes);
    r = read_ok();
    assert_int_equal(r.n, 2);
    assert_string_equal(r.rows[1].config, "second");
    assert_string_equal(text_str(&r.table.warnings), "");
    results_free(&r);
    struct text t = read_file(damaged);
    assert_string_equal(t.p, "1,half,\"quoted\nnewline\n");
    text_free(&t);
}

static void test_half_header(void **state) {
    write_file("schema,run_", "w");
    struct result_row row = sample_row("x=1", 1);
    append_ok(&row, 1);
    struct results r = read_ok();
    assert_int_equal(r.n, 1);
    results_free(&r);
}

static void test_short_row_in_the_middle(void **state) {
    struct result_row row = sample_row("x=1", 1);
    append_ok(&row, 1);
    write_file("1,too,short\n", "a");
    append_ok(&row, 1);
    struct results r = read_ok();
    assert_int_equal(r.n, 2);
    assert_non_null(strstr(text_str(&r.table.warnings), "line 3 has 3 fields"));
    results_free(&r);
}

/* What spreadsheets and editors make of a file: a byte order mark, line ends of DOS, quotes around
 * everything; and columns in another order. */
static void test_dress(void **state) {
    struct result_row row = sample_row("grün, \"x\"\nzwei", 1.5);
    append_ok(&row, 1);
    append_ok(&row, 1);
    struct text t = read_file(path), dressed = {0};
    text_puts(&dressed, "\xef\xbb\xbf");
    bool quoted = false;
    for (const char *p = t.p; *p; p++) {
        if (*p == '"') quoted = !quoted;
        if (*p == '\n' && !quoted) text_puts(&dressed, "\r");
        text_write(&dressed, p, 1);
    }
    write_file(dressed.p, "w");
    struct results r = read_ok();
    assert_int_equal(r.n, 2);
    assert_string_equal(r.rows[1].config, row.config);
    assert_true(r.rows[1].schema == RESULT_SCHEMA && r.rows[1].median_us == 1.5);
    assert_string_equal(text_str(&r.table.warnings), "");
    results_free(&r);
    append_ok(&row, 1); /* and appended to */
    r = read_ok();
    assert_int_equal(r.n, 3);
    results_free(&r);
    text_free(&t);
    text_free(&dressed);
}

/* Line numbers are those of an editor, though rows before have newlines in them. */
static void test_line_numbers(void **state) {
    struct result_row row = sample_row("one\ntwo\nthree", 1);
    append_ok(&row, 1); /* lines 2 to 4 */
    append_ok(&row, 1);
    write_file("1,too,short\n", "a"); /* line 8 */
    write_file("\n", "a");            /* an empty line is none */
    row.config = "BAD";
    append_ok(&row, 1); /* line 10 */
    struct results r = read_ok();
    assert_string_equal(text_str(&r.table.warnings), "line 8 has 3 fields, expected 75: ignored\n");
    results_free(&r);
    struct text t = read_file(path);
    char *at = strstr(t.p, "BAD,ok");
    memcpy(at, "BAD,no", 6);
    write_file(t.p, "w");
    expect_error("line 10: 'no' is not a status");
    memcpy(at, "BAD\"ok", 6);
    write_file(t.p, "w");
    expect_error("line 10: not valid CSV");
    memcpy(at, "BAD,ok", 6);
    FILE *f = fopen(path, "w");
    at[1] = 0;
    fwrite(t.p, 1, t.n, f);
    fclose(f);
    expect_error("line 10: a NUL byte");
    text_free(&t);
}

/* Thousands of foreign rows are not a message each. */
/* Rows without quotes are split otherwise than those with some: a last cell in quotes makes libcsv
 * split the same row. */
static void compare_splits(const struct table_row *row, void *context, struct report_error *e) {
    struct text *said = context;
    text_printf(said, "%zu:", row->line);
    for (size_t i = 0; i < row->n; i++) text_printf(said, "[%s]", row->cells[i]);
    text_puts(said, "\n");
}

static struct text split_of(const char *csv) {
    struct text said = {0}, none = {0};
    struct report_error e = {0};
    struct table_file f;
    write_file(csv, "w");
    assert_int_equal(table_open(path, &f, &e), REPORT_OK);
    table_scan(&f, &(struct table_place){0, 1}, UINT64_MAX, compare_splits, &said, &none, &e);
    if (e.status != REPORT_OK) fail_msg("%s", e.text);
    table_close(&f);
    text_free(&none);
    return said;
}

static void test_plain_rows(void **state) {
    static const char *const alphabet[] = {",",  " ",        "\t",   "a", "b c",
                                           ",,", "\xc3\xa9", "\x7f", "'"};
    struct text plain = {0}, quoted = {0};
    unsigned seed = 1;
    for (int i = 0; i < 3000; i++) {
        for (int k = 0; k < i % 9; k++) {
            seed = seed * 1103515245 + 12345;
            const char *piece = alphabet[(seed >> 16) % (sizeof alphabet / sizeof *alphabet)];
            text_puts(&plain, piece);
            text_puts(&quoted, piece);
        }
        text_puts(&plain, ",z\n");
        text_puts(&quoted, ",\"z\"\n");
    }
    struct text one = split_of(plain.p), other = split_of(quoted.p);
    assert_string_equal(one.p, other.p);
    text_free(&plain), text_free(&quoted), text_free(&one), text_free(&other);
    struct text said = split_of("a, b\t,c\n\n \t\n,\n  x y  \na,\r\n\r\nb\rc\n");
    assert_string_equal(said.p, "1:[a][b][c]\n4:[][]\n5:[x y]\n6:[a][]\n8:[b][c]\n");
    text_free(&said);
}

static void test_many_short_rows(void **state) {
    append_ok(NULL, 0);
    for (int i = 0; i < 500; i++) write_file("1,too,short\n", "a");
    struct results r = read_ok();
    assert_int_equal(r.n, 0);
    assert_non_null(strstr(text_str(&r.table.warnings), "line 12 and others have other numbers"));
    assert_null(strstr(text_str(&r.table.warnings), "line 13"));
    results_free(&r);
}

/* A quote that is never closed is not a half row of any size. */
static void test_open_quote(void **state) {
    struct result_row row = sample_row("x=1", 1);
    append_ok(&row, 1);
    write_file("1,\"", "a");
    FILE *f = fopen(path, "a");
    for (int i = 0; i < 17 << 20; i += 64)
        fputs("0123456789 0123456789 0123456789 0123456789 0123456789 01234567\n", f);
    fclose(f);
    expect_error("line 3: the row that begins here has no end: a quote is not closed");
    struct report_error e = {0};
    assert_int_equal(result_append(path, &row, 1, NULL, &e), REPORT_WRONG);
    assert_non_null(strstr(e.text, "no end; nothing was written"));
}

static void test_numbers(void **state) {
    static const char *const good[] = {"0",
                                       "1",
                                       "33.51175",
                                       "134217728",
                                       "0.0965",
                                       "-3",
                                       "1e3",
                                       ".5",
                                       "5.",
                                       "3964.371",
                                       "1.17e-30",
                                       "00012.50",
                                       "999999999999999",
                                       "9007199254740993",
                                       "0.12345678901234"};
    static const char *const bad[] = {".", "1.2.3", "1,2", " 1x", "0x", "inf", "nan", "--1", "1 2"};
    double v;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(table_number(good[i], &v));
        assert_true(v == strtod(good[i], NULL));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(table_number(bad[i], &v));
}

/* Numbers are written as printf writes them: those of few digits, half way, of other sizes. */
static void test_written_numbers(void **state) {
    static const double ends[] = {
        0,        -0.0,      1980,     -41,           9.9999999, 999999.95,     1000000, 1234567,
        12345678, 99999.995, 0.0001,   0.0000999999,  123456.75, 1234.5625,     1e22,    0.1,
        1e-300,   NAN,       INFINITY, 0.00012345675, 0.5,       99999.94999999};
    struct text said = {0};
    char want[64];
    double v = 1.0000001e-7;
    for (int i = 0; i < 200000; i++, v *= 1.0002347) {
        double is = i < (int)(sizeof ends / sizeof *ends) ? ends[i] : i % 2 ? -v : v;
        if (i % 3 == 0 && fabs(is) < 1e9) is = round(is * 1024) / 1024; /* half way, many of them */
        snprintf(want, sizeof want, "%.7g", is);
        said.n = 0;
        text_csv_number(&said, is);
        text_write(&said, "", 0);
        assert_string_equal(said.p, isfinite(is) ? want : "");
    }
    text_free(&said);
}

static void test_not_a_file(void **state) {
    struct report_error e = {0};
    struct result_row row = sample_row("x=1", 1);
    assert_int_equal(result_append("/dev/full", &row, 1, NULL, &e), REPORT_WRONG);
    assert_non_null(strstr(e.text, "not a regular file"));
    e = (struct report_error){0};
    assert_int_equal(result_append("/no/such/folder/r.csv", &row, 1, NULL, &e), REPORT_WRONG);
    assert_non_null(strstr(e.text, "No such file"));
}

/* A file size limit lets the kernel take part of the batch, then refuse: as a disk does that fills
 * up. */
static void test_disk_full(void **state) {
    struct result_row rows[40];
    for (int i = 0; i < 40; i++) rows[i] = sample_row("x=1", i + 1);
    append_ok(rows, 2);
    struct text before = read_file(path);

    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = before.n + 300; /* one row and a half */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct report_error e = {0};
    enum report_status s = result_append(path, rows, 40, NULL, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);

    assert_int_equal(s, REPORT_MACHINE);
    assert_non_null(strstr(e.text, "nothing was written"));
    struct text after = read_file(path);
    assert_string_equal(after.p, before.p);
    text_free(&before);
    text_free(&after);
    append_ok(rows, 40);
    struct results r = read_ok();
    assert_int_equal(r.n, 42);
    results_free(&r);
}

static void append_many(int writer, int n) {
    char config[64];
    for (int i = 0; i < n; i++) {
        struct report_error e = {0};
        snprintf(config, sizeof config, "writer=%d row=%d, \"quoted\"\n", writer, i);
        struct result_row row = sample_row(config, i + 1);
        if (result_append(path, &row, 1, NULL, &e) != REPORT_OK) _exit(1);
    }
}

static void test_concurrent_writers(void **state) {
    enum { WRITERS = 8, ROWS = 50 };
    pid_t pids[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        pids[w] = fork();
        assert_true(pids[w] >= 0);
        if (pids[w] == 0) {
            append_many(w, ROWS);
            _exit(0);
        }
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    struct results r = read_ok();
    assert_int_equal(r.n, WRITERS * ROWS);
    assert_string_equal(text_str(&r.table.warnings), "");
    int next[WRITERS] = {0}; /* every row of a writer, in its order */
    for (size_t i = 0; i < r.n; i++) {
        int writer = -1, row = -1;
        assert_int_equal(sscanf(r.rows[i].config, "writer=%d row=%d", &writer, &row), 2);
        assert_int_equal(row, next[writer]++);
    }
    results_free(&r);
}

static void test_killed_writers(void **state) {
    size_t seen = 0;
    for (int round = 0; round < 20; round++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            append_many(round, 1000000);
            _exit(0);
        }
        usleep(1000 + 700 * (useconds_t)round);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct result_row row = sample_row("survivor", 1);
        append_ok(&row, 1);
        struct results r = read_ok();
        assert_string_equal(text_str(&r.table.warnings), "");
        assert_true(r.n > seen); /* nothing that was there is lost */
        assert_string_equal(r.rows[r.n - 1].config, "survivor");
        seen = r.n;
        results_free(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_round_trip, empty_folder),
        cmocka_unit_test_teardown(test_no_rows, empty_folder),
        cmocka_unit_test_teardown(test_foreign_header, empty_folder),
        cmocka_unit_test_teardown(test_missing_and_unknown_column, empty_folder),
        cmocka_unit_test_teardown(test_bad_cells, empty_folder),
        cmocka_unit_test_teardown(test_newer_schema, empty_folder),
        cmocka_unit_test_teardown(test_missing_file, empty_folder),
        cmocka_unit_test_teardown(test_older_schema, empty_folder),
        cmocka_unit_test_teardown(test_row_of_another_schema, empty_folder),
        cmocka_unit_test_teardown(test_counters, empty_folder),
        cmocka_unit_test_teardown(test_damaged_tail, empty_folder),
        cmocka_unit_test_teardown(test_half_header, empty_folder),
        cmocka_unit_test_teardown(test_short_row_in_the_middle, empty_folder),
        cmocka_unit_test_teardown(test_dress, empty_folder),
        cmocka_unit_test_teardown(test_line_numbers, empty_folder),
        cmocka_unit_test_teardown(test_many_short_rows, empty_folder),
        cmocka_unit_test_teardown(test_plain_rows, empty_folder),
        cmocka_unit_test_teardown(test_open_quote, empty_folder),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_written_numbers),
        cmocka_unit_test_teardown(test_not_a_file, empty_folder),
        cmocka_unit_test_teardown(test_disk_full, empty_folder),
        cmocka_unit_test_teardown(test_concurrent_writers, empty_folder),
        cmocka_unit_test_teardown(test_killed_writers, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
