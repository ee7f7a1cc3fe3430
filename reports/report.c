/* report.c: `warpsmith report`: read every result file of a folder, draw two figures, write one
 * page.
 *
 *   results/softmax.csv                      results/report/speedup.svg   (and .png, .gp)
 *   results/layernorm.csv    ->              results/report/roofline.svg
 *                                            results/report/index.html    both figures inside */
#include "reports/report.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/figure.h"
#include "reports/report_page.h"
#include "reports/row_json.h"

/* What was read: files that could not be are left out, and notes say why. */
struct input {
    struct results *files;
    size_t n;
    struct benches benches;
    struct text notes;
    bool damaged;
};

static int is_csv(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".csv") == 0;
}

static void read_file(struct input *in, const char *path) {
    struct report_error e = {0};
    in->files = memory_resize(in->files, in->n + 1, sizeof *in->files);
    struct results *r = &in->files[in->n];
    if (results_read(path, r, &e) == REPORT_OK) {
        if (r->table.warnings.n) text_printf(&in->notes, "%s: %s", path, r->table.warnings.p);
        in->n++;
        return;
    }
    text_printf(&in->notes, "left out: %s\n", e.text);
    in->damaged = true;
    results_free(r);
}

static enum report_status read_folder(struct input *in, const char *folder,
                                      struct report_error *e) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_csv, alphasort);
    if (n < 0)
        return report_fail(e, errno == ENOENT ? REPORT_USAGE : REPORT_WRONG, "cannot read '%s': %s",
                           folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        struct text path = {0};
        text_printf(&path, "%s/%s", folder, entries[i]->d_name);
        read_file(in, path.p);
        text_free(&path);
        free(entries[i]);
    }
    free(entries);
    for (size_t i = 0; i < in->n; i++) benches_add(&in->benches, &in->files[i], NULL);
    if (!in->benches.n)
        return report_fail(e, REPORT_WRONG, "no results in '%s': run `warpsmith bench` first",
                           folder);
    return REPORT_OK;
}

static void input_free(struct input *in) {
    for (size_t i = 0; i < in->n; i++) results_free(&in->files[i]);
    free(in->files);
    benches_free(&in->benches);
    text_free(&in->notes);
}

/* The folder of a file, created with its parents if it is not there. */
static struct text make_folder_of(const char *file) {
    const char *slash = strrchr(file, '/');
    struct text folder = {0};
    if (!slash) {
        text_puts(&folder, ".");
        return folder;
    }
    for (const char *p = file; p < slash; p++) {
        if (*p == '/' && folder.n) mkdir(folder.p, 0777); /* what fails here fails again below */
        text_write(&folder, p, 1);
    }
    if (!folder.n) text_puts(&folder, "/");
    mkdir(folder.p, 0777);
    return folder;
}

static struct text read_text(const char *prefix, const char *suffix) {
    struct text path = {0}, out = {0};
    char block[4096];
    text_printf(&path, "%s%s", prefix, suffix);
    FILE *f = fopen(path.p, "r");
    for (size_t n; f && (n = fread(block, 1, sizeof block, f)) > 0;) text_write(&out, block, n);
    if (f) fclose(f);
    text_free(&path);
    return out;
}

/* Draw one figure beside the page and return its SVG, empty if it could not be drawn. What stops a
 * figure is noted, once. */
static struct text draw(const struct input *in, const char *folder, const char *name, bool roofline,
                        struct text *notes) {
    struct report_error e = {0};
    struct text prefix = {0}, svg = {0};
    text_printf(&prefix, "%s/%s", folder, name);
    if (roofline)
        figure_roofline(&in->benches, in->files, in->n, prefix.p, &e);
    else
        figure_speedup(&in->benches, prefix.p, &e);
    if (e.status == REPORT_OK)
        svg = read_text(prefix.p, ".svg");
    else if (!strstr(text_str(notes), e.text))
        text_printf(notes, "%s\n", e.text);
    text_free(&prefix);
    return svg;
}

static enum report_status write_page(const char *path, const struct text *html,
                                     struct report_error *e) {
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(html->p, 1, html->n, f) == html->n;
    if (f) ok = (fclose(f) == 0) && ok;
    if (ok) return REPORT_OK;
    return report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
}

static enum report_status make_page(struct input *in, const char *path, struct report_error *e) {
    struct text folder = make_folder_of(path), html = {0};
    struct text speedup = draw(in, folder.p, "speedup", false, &in->notes);
    struct text roofline = draw(in, folder.p, "roofline", true, &in->notes);
    report_page(&html, &(struct report_page){.files = in->files,
                                             .n_files = in->n,
                                             .benches = &in->benches,
                                             .speedup_svg = speedup.p,
                                             .roofline_svg = roofline.p,
                                             .notes = text_str(&in->notes)});
    write_page(path, &html, e);
    text_free(&speedup);
    text_free(&roofline);
    text_free(&html);
    text_free(&folder);
    return e->status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum report_status draw_one(const struct report_request *r, FILE *out,
                                   struct report_error *e) {
    if (!r->out) return report_fail(e, REPORT_USAGE, "--figure needs --out PREFIX");
    if (figure_bench(r->figure, r->run, r->out, e) == REPORT_OK)
        fprintf(out, "%s.svg, %s.png\n", r->out, r->out);
    return e->status;
}

/* What the page shows of each benchmark: the newest row of every role. */
static json_t *benches_json(const struct input *in, const char *page) {
    json_t *o = json_object(), *all = json_array();
    for (size_t i = 0; i < in->benches.n; i++) {
        const struct bench *b = &in->benches.all[i];
        for (int r = 0; r < ROLE_COUNT; r++)
            if (b->role[r]) json_array_append_new(all, result_row_json(b->role[r]));
    }
    json_object_set_new(o, "page", json_text(page));
    json_object_set_new(o, "files", json_integer((json_int_t)in->n));
    json_object_set_new(o, "benchmarks", json_integer((json_int_t)in->benches.n));
    json_object_set_new(o, "notes", json_text(text_str(&in->notes)));
    json_object_set_new(o, "rows", all);
    return o;
}

static enum report_status write_report(const struct report_request *r, FILE *out, FILE *err,
                                       struct report_error *e) {
    struct input in = {0};
    struct text path = {0};
    if (r->out)
        text_puts(&path, r->out);
    else
        text_printf(&path, "%s/report/index.html", r->folder);
    if (read_folder(&in, r->folder, e) == REPORT_OK) make_page(&in, path.p, e);
    fputs(text_str(&in.notes), err);
    if (e->status == REPORT_OK)
        fprintf(r->json ? err : out, "%s: %zu benchmark%s from %zu file%s\n", path.p, in.benches.n,
                in.benches.n == 1 ? "" : "s", in.n, in.n == 1 ? "" : "s");
    if (e->status == REPORT_OK && r->json &&
        json_print(benches_json(&in, path.p), out) != REPORT_OK)
        report_fail(e, REPORT_MACHINE, "the output could not be written");
    enum report_status status = e->status == REPORT_OK && in.damaged ? REPORT_WRONG : e->status;
    input_free(&in);
    text_free(&path);
    return status;
}

int report_write(const struct report_request *r, FILE *out, FILE *err) {
    struct report_error e = {0};
    enum report_status status = r->figure ? draw_one(r, out, &e) : write_report(r, out, err, &e);
    if (e.status != REPORT_OK) fprintf(err, "warpsmith report: %s\n", e.text);
    return (int)status;
}
