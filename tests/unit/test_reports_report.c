/* test_reports_report.c: the page escapes what it shows, holds its figures, counts failures, and
 * does without gnuplot. */
#define _GNU_SOURCE /* nftw */
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/model.h"
#include "reports/page.h"
#include "reports/reports.h"
#include "tests/unit/heap_test.h"

static char folder[] = "/tmp/test_reports_report.XXXXXX";
static char *old_path;

static const char *in_folder(const char *name) {
    static char path[2][128];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static int make_folder(void **state) {
    old_path = strdup(getenv("PATH"));
    return mkdtemp(folder) && mkdir(in_folder("bin"), 0777) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
    return at->level == 0 ? 0 : remove(path);
}

static int empty_folder(void **state) {
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    mkdir(in_folder("bin"), 0777);
    setenv("PATH", old_path, 1);
    return 0;
}

static int remove_folder(void **state) {
    free(old_path);
    rmdir(in_folder("bin"));
    return rmdir(folder);
}

/* Stand-in for gnuplot: `draws` is what it does, a line of sh. Figures then need no gnuplot on the
 * machine. */
static void fake_gnuplot(const char *draws) {
    FILE *f = fopen(in_folder("bin/gnuplot"), "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", draws);
    fclose(f);
    chmod(in_folder("bin/gnuplot"), 0755);
    struct text path = {0};
    text_printf(&path, "%s:%s", in_folder("bin"), old_path);
    setenv("PATH", path.p, 1);
    text_free(&path);
}

static struct text read_file(const char *path) {
    struct text t = {0};
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("there is no '%s'", path);
    for (int c; (c = getc(f)) != EOF;) text_write(&t, (char[]){(char)c}, 1);
    fclose(f);
    return t;
}

static struct result_row sample(enum result_role role, const char *kernel, double us) {
    struct result_row r = result_row_new();
    r.run_id = "run1";
    r.timestamp = "2026-09-01T02:00:00Z";
    r.device = "GPU <b>&\"1\"</b>";
    r.driver = "580.1";
    r.workload = "<script>alert('x')</script>";
    r.mode = "fwd";
    r.dtype = "f32";
    r.axes = "dim=4096";
    r.kernel = kernel;
    r.role = role;
    r.n = 30;
    r.median_us = us;
    r.q1_us = us * 0.99;
    r.q3_us = us * 1.01;
    r.bytes = 1e8;
    r.flops = 1e8;
    r.gbps = 1e5 / us;
    r.roof_pct = 80;
    return r;
}

/* Eager, default, tuned, torch.compile, four variants of which two failed. */
static void write_results_of(const char *path, const char *device) {
    struct result_row rows[] = {
        sample(ROLE_eager, "program", 90),    sample(ROLE_default, "program", 45),
        sample(ROLE_tuned, "program", 30),    sample(ROLE_torch_compile, "program", 36),
        sample(ROLE_variant, "fused_k", 30),  sample(ROLE_variant, "fused_k", 45),
        sample(ROLE_variant, "fused_k", 0.5), sample(ROLE_variant, "fused_k", 1)};
    static const char *const configs[] = {"x=1 warps=8 stages=1", "x=1 warps=4 stages=1",
                                          "x=2 warps=1 stages=1", "x=4 warps=1 stages=1"};
    for (int i = 0; i < 4; i++) rows[4 + i].config = configs[i];
    rows[3].config = "max-autotune-no-cudagraphs";
    rows[4].is_winner = 1;
    rows[4].guard = "1024 <= dim";
    rows[6].status = STATUS_implausible;
    rows[7].status = STATUS_wrong;
    for (int i = 0; i < 8 && device; i++) rows[i].device = device;
    struct report_error e = {0};
    if (result_append(path, rows, 8, NULL, &e) != REPORT_OK) fail_msg("%s", e.text);
}

static void write_results(const char *path) { write_results_of(path, NULL); }

static int report(struct text *said) {
    char *p = NULL;
    size_t size;
    FILE *f = open_memstream(&p, &size);
    int rc = report_write(&(struct report_request){.folder = folder}, f, f);
    fclose(f);
    text_puts(said, p);
    free(p);
    return rc;
}

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("no '%s' in:\n%s", part, text);
}

static void test_escaping(void **state) {
    struct text t = {0};
    text_html(&t, "a<b & \"c\" > 'd' é");
    assert_string_equal(t.p, "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39; é");
    text_free(&t);
    text_gnuplot(&t, "say \"`rm`\"\n\\x");
    assert_string_equal(t.p, "\"say '''rm''' /x\"");
    text_free(&t);
}

/* A stand-in that writes an SVG wherever the script has an output. */
static void drawing_gnuplot(void) {
    fake_gnuplot("case $2 in *.gp) exit 1 ;; esac\n"
                 "[ \"$1\" = -d ] && grep -q '^ *plot' \"$2\" || exit 1\n"
                 "sed -n \"s/.*; out = '\\(.*\\)'$/\\1/p\" \"$2\" | while read -r out; do\n"
                 "echo '<?xml version=\"1.0\"?><svg\n viewBox=\"0 0 9 9\"><rect x=\"0\" y=\"0\" "
                 "fill=\"#ffffff\"/><title>plot</title><path id=\"p\" stroke='\"'\"'rgb( 47, 109, "
                 "158)'\"'\"' "
                 "/><!--figure--></svg>' > \"$out\"; done");
}

/* The script that is drawn is no file that others could have changed since. */
static void test_page(void **state) {
    drawing_gnuplot();
    write_results(in_folder("a.csv"));
    struct text said = {0};
    int rc = report(&said);
    if (rc != 0) fail_msg("exit %d: %s", rc, said.p);
    struct text page = read_file(in_folder("report/index.html"));
    expect_in(page.p, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    expect_in(page.p, "GPU &lt;b&gt;&amp;&quot;1&quot;&lt;/b&gt;");
    assert_null(strstr(page.p, "<script>alert"));
    assert_null(strstr(page.p, "<?xml"));
    assert_null(strstr(page.p, "http://")); /* nothing is fetched */
    assert_null(strstr(page.p, "https://"));
    /* gnuplot's background and tooltips go, ids are a figure's own, colours are the page's */
    expect_in(page.p, "<path id=\"f0p\" stroke='var(--x2f6d9e,#2f6d9e)' />");
    assert_null(strstr(page.p, "<title>plot"));
    assert_null(strstr(page.p, "<rect"));
    expect_in(page.p, "<!--figure-->");
    expect_in(page.p, "2026-09-01T02:00:00Z to 2026-09-01T02:00:00Z · 8 rows in 1 file · 1 case<");
    expect_in(page.p, ">3.00×</td>"); /* over unfused */
    expect_in(page.p, ">1.20×</td>"); /* over max-autotune */
    expect_in(page.p, "<th scope=col class=n>over max-autotune</th>");
    assert_null(strstr(page.p, "over torch eager")); /* of which there is no row */
    expect_in(page.p, "<td data-label=\"config\"><code>x=1 warps=8 stages=1</code></td>"
                      "<td data-label=\"sizes\"><code>1024 &lt;= dim</code></td>");
    expect_in(page.p, " · driver 580.1 · revision not recorded · 2026-09-01 · n 30 · ");
    expect_in(page.p, "<a href=\"../a.csv\">a.csv</a> (4)");
    expect_in(page.p, "<a href=\"figures/index-speedup.png\">PNG</a>");
    expect_in(page.p, "<a class=b href=\"workload-script-alert-x-script.html\">");
    text_free(&page);
    page = read_file(in_folder("report/workload-script-alert-x-script.html"));
    expect_in(page.p, "<h1>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</h1>");
    expect_in(page.p, "<section id=\"tuning\"><h2>Tuning: f32 dim=4096</h2>");
    text_free(&page);
    text_free(&said);
}

/* Nor does a report keep anything, of two devices that are compared and a figure of each. The C
 * library keeps up to seven freed blocks of a size for later, which are counted as in use. */
static void test_keeps_no_memory(void **state) {
    enum { WARM = 8, MORE = 3 };
    size_t kept = 0;
    fake_gnuplot("exit 0");
    write_results(in_folder("a.csv"));
    write_results_of(in_folder("b.csv"), "another GPU");
    for (int i = 0; i < WARM + MORE; i++) {
        struct text said = {0};
        struct report_error e = {0};
        if (i == WARM) kept = heap_in_use();
        report(&said);
        text_free(&said);
        if (figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e) != REPORT_OK)
            fail_msg("%s", e.text);
    }
    assert_true(heap_in_use() <= kept);
}

/* One figure cannot be drawn: the others are. */
static void test_one_figure_fails(void **state) {
    fake_gnuplot("grep -q index-roofline \"$2\" && exit 1\n"
                 "sed -n \"s/.*; out = '\\(.*\\)'$/\\1/p\" \"$2\" | while read -r out; do\n"
                 "echo '<svg viewBox=\"0 0 9 9\"><!--figure--></svg>' > \"$out\"; done");
    write_results(in_folder("a.csv"));
    struct result_row rows[] = {sample(ROLE_tuned, "program", 50)};
    rows[0].axes = "dim=8192";
    struct report_error e = {0};
    assert_int_equal(result_append(in_folder("a.csv"), rows, 1, NULL, &e), REPORT_OK);
    struct text said = {0};
    assert_int_equal(report(&said), 0);
    expect_in(said.p, "/report/figures/index-roofline.gp'");
    struct text page = read_file(in_folder("report/index.html"));
    expect_in(page.p, "<section id=\"speedup\">");
    assert_null(strstr(page.p, "<section id=\"roofline\">"));
    text_free(&page);
    text_free(&said);
}

/* A figure with nothing to draw, here a roofline of one point among two cases, leaves nothing to
 * the next: its rows are its own. */
static void test_rows_of_a_figure(void **state) {
    drawing_gnuplot();
    write_results(in_folder("a.csv"));
    struct result_row rows[] = {sample(ROLE_tuned, "program", 50)};
    rows[0].axes = "dim=8192";
    rows[0].flops = NAN;
    struct report_error e = {0};
    assert_int_equal(result_append(in_folder("a.csv"), rows, 1, NULL, &e), REPORT_OK);
    struct text said = {0};
    assert_int_equal(report(&said), 0);
    struct text page = read_file(in_folder("report/workload-script-alert-x-script.html"));
    assert_null(strstr(page.p, "<section id=\"roofline\">"));
    const char *tuning = strstr(page.p, "<section id=\"tuning\">");
    assert_non_null(tuning);
    expect_in(tuning, "<a href=\"../a.csv\">a.csv</a> (4)"); /* its four trials */
    text_free(&page);
    text_free(&said);
}

static void add_sizes(int from, int n) {
    struct report_error e = {0};
    char axes[32];
    for (int i = from; i < from + n; i++) {
        struct result_row row = sample(ROLE_tuned, "program", 50 + i);
        snprintf(axes, sizeof axes, "dim=%d", 8192 + i);
        row.axes = axes;
        assert_int_equal(result_append(in_folder("a.csv"), &row, 1, NULL, &e), REPORT_OK);
    }
}

/* Of many benchmarks the overview's figures alone are PNGs; a workload's that are there show what a
 * smaller report said, and go. */
static void test_pngs_of_many(void **state) {
    static const char *const png = "report/figures/workload-script-alert-x-script-tuning.png";
    struct text said = {0};
    drawing_gnuplot();
    write_results(in_folder("a.csv"));
    add_sizes(0, 99);
    assert_int_equal(report(&said), 0);
    struct text page = read_file(in_folder("report/workload-script-alert-x-script.html"));
    expect_in(page.p, "-tuning.png\">PNG</a>");
    assert_int_equal(access(in_folder(png), F_OK), 0);
    text_free(&page);
    add_sizes(99, 1);
    assert_int_equal(report(&said), 0);
    page = read_file(in_folder("report/workload-script-alert-x-script.html"));
    assert_null(strstr(page.p, "PNG"));
    expect_in(page.p, " · <a href=\"figures/workload-script-alert-x-script-tuning.svg\">SVG</a>");
    assert_int_equal(access(in_folder(png), F_OK), -1);
    text_free(&page);
    page = read_file(in_folder("report/index.html"));
    expect_in(page.p, "index-speedup.png\">PNG</a>");
    text_free(&page);
    text_free(&said);
}

static void test_no_gnuplot(void **state) {
    write_results(in_folder("a.csv"));
    setenv("PATH", "/no/such/folder", 1);
    struct text said = {0};
    assert_int_equal(report(&said), 0);
    const char *first = strstr(said.p, "gnuplot is not installed: no figures");
    assert_non_null(first);
    assert_null(strstr(first + 1, "gnuplot is not installed")); /* said once */
    struct text page = read_file(in_folder("report/index.html"));
    assert_null(strstr(page.p, "<svg"));
    expect_in(page.p, "<summary>The fastest config of each kernel, and its measurements</summary>");
    text_free(&page);
    text_free(&said);
}

static void test_foreign_file_is_left_out(void **state) {
    fake_gnuplot("exit 1");
    write_results(in_folder("a.csv"));
    FILE *f = fopen(in_folder("b.csv"), "w");
    assert_non_null(f);
    fputs("x,y\n1,2\n", f);
    fclose(f);
    struct text said = {0};
    assert_int_equal(report(&said), 1);
    expect_in(said.p, "left out: ");
    expect_in(said.p, "column 'schema' is missing");
    expect_in(said.p, "gnuplot failed on");
    expect_in(said.p, "1 benchmark from 1 file\n");
    text_free(&said);
}

static void test_usage(void **state) {
    struct text said = {0};
    assert_int_equal(report(&said), 1); /* an empty folder */
    expect_in(said.p, "no results in");
    text_free(&said);
    FILE *null = fopen("/dev/null", "w");
    assert_non_null(null);
    struct report_request missing = {.folder = "/no/such/folder"};
    assert_int_equal(report_write(&missing, null, null), 2);
    write_results(in_folder("a.csv"));
    struct report_request unwritable = {.folder = folder, .out = "/dev/null/x.html"};
    assert_int_equal(report_write(&unwritable, null, null), 3);
    struct report_request nowhere = {.folder = folder, .figure = in_folder("a.csv")};
    assert_int_equal(report_write(&nowhere, null, null), 2);
    fclose(null);
}

/* The figure's script: shared knobs are said once, the failed are counted, the winner stands first.
 */
static void test_bench_figure(void **state) {
    fake_gnuplot("exit 0");
    write_results(in_folder("a.csv"));
    struct report_error e = {0};
    if (figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e) != REPORT_OK)
        fail_msg("%s", e.text);
    struct text gp = read_file(in_folder("figure.gp"));
    expect_in(gp.p, "left_title = \"fused_k: 2 timed, 2 failed\"");
    expect_in(gp.p, "common = \"x=1 stages=1\"");
    expect_in(gp.p, "\"warps=8\" \"30.0\u00a0µs  winner\"\n2 45 ");
    expect_in(gp.p, "3 30 3108254 \"3.00×\" \"30.0\u00a0µs\"");
    expect_in(gp.p, "\"torch\" \"max-autotune\"");
    expect_in(gp.p, "variants_floor = 24\n");
    text_free(&gp);

    e = (struct report_error){0};
    assert_int_equal(figure_bench(in_folder("a.csv"), "nosuch", in_folder("figure"), NULL, &e),
                     REPORT_WRONG);
    e = (struct report_error){0};
    setenv("PATH", "/no/such/folder", 1);
    assert_int_equal(figure_bench(in_folder("a.csv"), "last", in_folder("figure"), NULL, &e),
                     REPORT_MACHINE);
    expect_in(e.text, "gnuplot is not installed");
}

/* Two panels are wider than one, and 30 variants at most take 19 pixels of height each. */
static void test_size_of_a_bench_figure(void **state) {
    fake_gnuplot("exit 0");
    static const struct {
        int variants;
        const char *width, *height;
    } sizes[] = {{0, "\nwidth = 760\n", "\nheight = 500\n"},
                 {14, "\nwidth = 1280\n", "\nheight = 500\n"},
                 {20, "\nwidth = 1280\n", "\nheight = 600\n"},
                 {40, "\nwidth = 1280\n", "\nheight = 790\n"}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct result_row rows[41] = {sample(ROLE_tuned, "program", 30)};
        char config[40][24];
        for (int v = 0; v < sizes[i].variants; v++) {
            snprintf(config[v], sizeof config[v], "warps=%d", v + 1);
            rows[v + 1] = sample(ROLE_variant, "fused_k", 30 + v);
            rows[v + 1].config = config[v];
        }
        struct report_error e = {0};
        size_t n = (size_t)sizes[i].variants + 1;
        assert_int_equal(result_append(in_folder("a.csv"), rows, n, NULL, &e), REPORT_OK);
        if (figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e) != REPORT_OK)
            fail_msg("%s", e.text);
        struct text gp = read_file(in_folder("figure.gp"));
        expect_in(gp.p, sizes[i].width);
        expect_in(gp.p, sizes[i].height);
        text_free(&gp);
        unlink(in_folder("a.csv"));
    }
}

/* Two points: groups of speedups, named by what differs between them. */
static void test_sweep_figure(void **state) {
    fake_gnuplot("exit 0");
    write_results(in_folder("a.csv"));
    struct result_row rows[] = {sample(ROLE_eager, "program", 200),
                                sample(ROLE_tuned, "program", 50)};
    rows[0].axes = rows[1].axes = "dim=8192";
    struct report_error e = {0};
    assert_int_equal(result_append(in_folder("a.csv"), rows, 2, NULL, &e), REPORT_OK);
    if (figure_bench(in_folder("a.csv"), "run1", in_folder("figure"), NULL, &e) != REPORT_OK)
        fail_msg("%s", e.text);
    struct text gp = read_file(in_folder("figure.gp"));
    expect_in(gp.p, "n_variants = 0\n"); /* the last point has none */
    expect_in(gp.p, "2 4 3108254 \"\" \"4.00\"");
    expect_in(gp.p, "speedup over unfused kernels"); /* our own eager is not PyTorch's */
    expect_in(gp.p, "legend = \"default tuned torch.compile\"\n");
    expect_in(gp.p, "1 \"dim=4096\" \"\"\n2 \"dim=8192\" \"\"\n");
    text_free(&gp);
}

/* Of several kernels, the tuned bar shows the share of each; of a benchmark without PyTorch's
 * times no figure speaks of them. */
static void test_parts_of_the_tuned_bar(void **state) {
    fake_gnuplot("exit 0");
    struct result_row rows[] = {
        sample(ROLE_eager, "program", 200), sample(ROLE_tuned, "program", 50),
        sample(ROLE_variant, "k_a_0", 30), sample(ROLE_variant, "k_b_1", 10),
        sample(ROLE_variant, "k_b_1", 90)};
    rows[2].is_winner = rows[3].is_winner = 1;
    struct report_error e = {0};
    assert_int_equal(result_append(in_folder("a.csv"), rows, 5, NULL, &e), REPORT_OK);
    if (figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e) != REPORT_OK)
        fail_msg("%s", e.text);
    struct text gp = read_file(in_folder("figure.gp"));
    expect_in(gp.p, "$parts << EOD\n2 37.5 18.75 \"#0 75 %\"\n2 50 43.75 \"#1 25 %\"\nEOD\n");
    expect_in(gp.p, "whole program; × is the speedup over unfused");
    text_free(&gp);

    struct result_row next[] = {rows[0], rows[1]};
    next[0].axes = next[1].axes = "dim=8192";
    assert_int_equal(result_append(in_folder("a.csv"), next, 2, NULL, &e), REPORT_OK);
    assert_int_equal(figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e),
                     REPORT_OK);
    gp = read_file(in_folder("figure.gp"));
    expect_in(gp.p, "legend = \"tuned\"\n"); /* no default was measured */
    text_free(&gp);
}

/* From three sizes on a ladder is lines, however many they are; an implausible time is drawn. */
static void test_ladder_figure(void **state) {
    fake_gnuplot("exit 0");
    struct report_error e = {0};
    char axes[16][16];
    for (int i = 0; i < 10; i++) {
        struct result_row rows[] = {sample(ROLE_eager, "program", 100),
                                    sample(ROLE_tuned, "program", 100.0 / (i + 1))};
        snprintf(axes[i], sizeof axes[i], "dim=%d", 256 << i);
        rows[0].axes = rows[1].axes = axes[i];
        assert_int_equal(result_append(in_folder("a.csv"), rows, 2, NULL, &e), REPORT_OK);
    }
    assert_int_equal(figure_bench(in_folder("a.csv"), NULL, in_folder("figure"), NULL, &e),
                     REPORT_OK);
    struct text gp = read_file(in_folder("figure.gp"));
    expect_in(gp.p, "$lines << EOD\n256 1 0.9886 1.01153\n512 2 ");
    expect_in(gp.p, "\n131072 10 ");
    expect_in(gp.p, "size_axis = \"dim\"\n");
    expect_in(gp.p, "sizes = \"(256,1024,4096,16384,65536)\"\n");
    text_free(&gp);
}

static void test_bars_of_doubtful_times(void **state) {
    fake_gnuplot("exit 0");
    struct result_row rows[] = {sample(ROLE_eager, "program", 90),
                                sample(ROLE_default, "program", 45),
                                sample(ROLE_tuned, "program", 30)};
    rows[1].ci_us = 40;
    rows[2].status = STATUS_implausible;
    struct report_error e = {0}, none = {0};
    assert_int_equal(result_append(in_folder("a.csv"), rows, 3, NULL, &e), REPORT_OK);
    struct text drawn = {0};
    assert_int_equal(figure_bench(in_folder("a.csv"), NULL, NULL, &drawn, &none), REPORT_OK);
    expect_in(drawn.p, "/script-alert-x-script-f32-fwd-dim-4096-GPU-b-1-b");
    text_puts(&drawn, ".gp");
    struct text gp = read_file(drawn.p);
    expect_in(gp.p, "\"~2×\" \"45.0\u00a0µs unsteady\" 5 85 1\n");
    expect_in(gp.p, "\"~3×\" \"30.0\u00a0µs implausible\" ");
    text_free(&gp);
    text_free(&drawn);
}

int main(int argc, char **argv) {
    heap_exact(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escaping),
        cmocka_unit_test_teardown(test_page, empty_folder),
        cmocka_unit_test_teardown(test_keeps_no_memory, empty_folder),
        cmocka_unit_test_teardown(test_one_figure_fails, empty_folder),
        cmocka_unit_test_teardown(test_rows_of_a_figure, empty_folder),
        cmocka_unit_test_teardown(test_pngs_of_many, empty_folder),
        cmocka_unit_test_teardown(test_no_gnuplot, empty_folder),
        cmocka_unit_test_teardown(test_foreign_file_is_left_out, empty_folder),
        cmocka_unit_test_teardown(test_usage, empty_folder),
        cmocka_unit_test_teardown(test_bench_figure, empty_folder),
        cmocka_unit_test_teardown(test_size_of_a_bench_figure, empty_folder),
        cmocka_unit_test_teardown(test_sweep_figure, empty_folder),
        cmocka_unit_test_teardown(test_parts_of_the_tuned_bar, empty_folder),
        cmocka_unit_test_teardown(test_ladder_figure, empty_folder),
        cmocka_unit_test_teardown(test_bars_of_doubtful_times, empty_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
