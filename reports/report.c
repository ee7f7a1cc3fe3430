/* report.c: `warpsmith report`: read every result file of a folder, draw the figures, write the
 * pages.
 *
 *   results/softmax.csv            report/index.html               all workloads
 *   results/layernorm.csv    ->    report/workload-softmax.html    one: its sweeps, its searches
 *                                  report/figures/                 what they show; .svg, .png, .gp
 *
 * rows -> benches -> model (model.c) -> figures (figure_*.c) -> HTML (page*.c). */
#include "reports/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/devices.h"
#include "reports/figure.h"
#include "reports/page.h"
#include "reports/row_index.h"
#include "reports/row_json.h"

/* What was read: files that could not be are left out, and notes say why. */
struct input {
    struct results *files;
    struct text *paths; /* of them */
    size_t n;
    struct benches benches;
    struct accepted accepted;
    struct text notes;
    bool damaged;
};

enum {
    MOST_ROWS = 500000, /* of programs: some 350 MB of them */
    MOST_DRAWN = 100 /* benchmarks whose figures are PNGs, too: some 300 figures, 15 s of a core */
};

static void take_file(const char *path, struct results *r, const struct report_error *own,
                      void *context) {
    struct input *in = context;
    if (own->status != REPORT_OK) {
        text_printf(&in->notes, "left out: %s\n", own->text);
        in->damaged = true;
        results_free(r);
        return;
    }
    if (r->table.warnings.n) text_printf(&in->notes, "%s: %s", path, r->table.warnings.p);
    in->files = memory_resize(in->files, in->n + 1, sizeof *in->files);
    in->paths = memory_resize(in->paths, in->n + 1, sizeof *in->paths);
    in->files[in->n] = *r;
    in->paths[in->n] = (struct text){0};
    text_puts(&in->paths[in->n++], path);
}

static enum report_status read_folder(struct input *in, const char *folder,
                                      struct report_error *e) {
    struct row_choice choice = {.most = MOST_ROWS, .file_from = ROW_INDEX_FROM};
    if (row_index_read(folder, &choice, take_file, in, &in->notes, e) != REPORT_OK)
        return e->status;
    if (!choice.all)
        text_printf(&in->notes, "shown: the newest %zu runs of each benchmark\n", choice.runs);
    for (size_t i = 0; i < in->n; i++) benches_add(&in->benches, &in->files[i], NULL);
    if (!in->benches.n)
        return report_fail(e, REPORT_WRONG, "no results in '%s': run `warpsmith bench` first",
                           folder);
    struct report_error damaged = {0};
    if (accepted_read(&in->accepted, folder, &damaged) != REPORT_OK) {
        text_printf(&in->notes, "left out: %s\n", damaged.text);
        in->damaged = true;
    }
    return REPORT_OK;
}

static void input_free(struct input *in) {
    for (size_t i = 0; i < in->n; i++) {
        results_free(&in->files[i]);
        text_free(&in->paths[i]);
    }
    free(in->files);
    free(in->paths);
    benches_free(&in->benches);
    accepted_free(&in->accepted);
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

/* PATH as a reader in FOLDER names it: "../softmax.csv". Where one of them is not there: PATH
 * itself. */
static struct text link_from(const char *folder, const char *path) {
    char *from = realpath(folder, NULL), *to = realpath(path, NULL);
    struct text link = {0};
    size_t same = 0;
    if (!from || !to) {
        text_puts(&link, path);
    } else {
        for (size_t i = 0; from[i] == to[i] || (!from[i] && to[i] == '/'); i++) {
            if (to[i] == '/') same = i + 1;
            if (!from[i] || !to[i]) break;
        }
        size_t n = strlen(from);
        for (size_t i = same; i < n; i++)
            if (i == same || from[i] == '/') text_puts(&link, "../");
        text_puts(&link, to + same);
    }
    free(from);
    free(to);
    return link;
}

static enum report_status write_page(const char *folder, const char *name, const struct text *html,
                                     struct report_error *e) {
    struct text path = {0};
    if (strchr(name, '/'))
        text_puts(&path, name);
    else
        text_printf(&path, "%s/%s", folder, name);
    FILE *f = fopen(path.p, "w");
    bool ok = f && fwrite(html->p, 1, html->n, f) == html->n;
    if (f) ok = (fclose(f) == 0) && ok;
    if (!ok) report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path.p, strerror(errno));
    text_free(&path);
    return e->status;
}

/* ---- pages ----------------------------------------------------------------------------------- */

struct writer {
    const struct model *model;
    const char *folder; /* of the pages */
    const char **links; /* to the files of results */
    struct text *notes;
    const struct comparison_of_devices *devices;
};

/* A page whose figures are being drawn. */
struct drawn_page {
    const struct workload *of; /* NULL: the overview */
    struct figure *figures;
    size_t n;
    struct drawing *drawings; /* theirs */
    struct gnuplot_work *work;
};

static struct drawn_page page_of(const struct workload *of, size_t most) {
    struct drawn_page p = {.of = of, .figures = memory_resize(NULL, most, sizeof *p.figures)};
    memset(p.figures, 0, most * sizeof *p.figures);
    return p;
}

static void page_free(struct drawn_page *p) {
    for (size_t i = 0; i < p->n; i++) figure_free(&p->figures[i]);
    free(p->figures);
    free(p->drawings);
}

/* A page's figures get names that no other page's have: figures/PAGE-ID.svg, with numbers where an
 * id is not the only. */
static void begin_figures(const struct writer *w, struct drawn_page *p) {
    struct figure *figures = p->figures;
    p->drawings = memory_resize(NULL, p->n, sizeof *p->drawings);
    for (size_t i = 0; i < p->n; i++) {
        size_t before = 0, alike = 0;
        for (size_t k = 0; k < p->n; k++)
            if (!strncmp(text_str(&figures[k].id), text_str(&figures[i].id), figures[i].id.n))
                alike++, before += k < i;
        if (alike > 1) text_printf(&figures[i].id, "-%zu", before + 1);
        text_printf(&figures[i].drawing.prefix, "%s/figures/%s-%s", w->folder,
                    p->of ? p->of->page.p : "index", text_str(&figures[i].id));
        figures[i].drawing.without_png = p->of && w->model->n > MOST_DRAWN;
        p->drawings[i] = figures[i].drawing;
    }
    p->work = gnuplot_begin(p->drawings, p->n);
}

static void end_figures(const struct writer *w, struct drawn_page *p) {
    struct report_error e = {0};
    gnuplot_end(p->work, &e);
    for (size_t i = 0; i < p->n; i++) p->figures[i].drawing = p->drawings[i];
    if (e.status != REPORT_OK && !strstr(text_str(w->notes), e.text))
        text_printf(w->notes, "%s\n", e.text);
}

/* What there is nothing to draw of leaves its place to the next. */
static size_t keep(struct figure *f, bool drawn) {
    if (!drawn) figure_free(f);
    return drawn;
}

static struct drawn_page begin_workload(const struct writer *w, const struct workload *of) {
    const struct model *m = w->model;
    struct drawn_page p = page_of(of, 2 + of->n_sweeps + 2 * of->n);
    struct figure *figures = p.figures;
    size_t n = 0;
    n += keep(&figures[n], figure_speedup(&figures[n], m, of->first, of->n));
    for (size_t s = 0; s < of->n_sweeps; s++)
        n += keep(&figures[n], figure_sizes(&figures[n], m, &m->sweeps[of->sweeps + s]));
    for (size_t i = of->first; i < of->first + of->n; i++)
        n += keep(&figures[n], figure_history(&figures[n], m, &m->cases[i]));
    if (of->n > 1) n += keep(&figures[n], figure_roofline(&figures[n], m, of->first, of->n));
    for (size_t i = of->first; i < of->first + of->n; i++)
        n += keep(&figures[n], figure_tuning(&figures[n], m, &m->cases[i]));
    p.n = n;
    begin_figures(w, &p);
    return p;
}

static void end_workload(const struct writer *w, struct drawn_page *p, struct report_error *e) {
    struct text html = {0}, name = {0};
    end_figures(w, p);
    text_printf(&name, "%s.html", p->of->page.p);
    page_write(&html, &(struct page){.model = w->model,
                                     .workload = p->of,
                                     .links = w->links,
                                     .figures = p->figures,
                                     .n_figures = p->n,
                                     .notes = ""});
    write_page(w->folder, name.p, &html, e);
    page_free(p);
    text_free(&html);
    text_free(&name);
}

/* While one page is written, the figures of the next are drawn. */
static void write_workloads(const struct writer *w, struct report_error *e) {
    const struct model *m = w->model;
    struct drawn_page next = {0};
    for (size_t i = 0; i < m->n_workloads; i++) {
        struct drawn_page now = i ? next : begin_workload(w, &m->workloads[0]);
        if (i + 1 < m->n_workloads) next = begin_workload(w, &m->workloads[i + 1]);
        end_workload(w, &now, e);
    }
}

static void write_tables(const struct writer *w, struct report_error *e) {
    struct text markdown = {0}, csv = {0};
    put_devices_markdown(&markdown, w->devices);
    put_devices_csv(&csv, w->devices);
    write_page(w->folder, "devices.md", &markdown, e);
    write_page(w->folder, "devices.csv", &csv, e);
    text_free(&markdown);
    text_free(&csv);
}

static void write_overview(const struct writer *w, const char *path, struct report_error *e) {
    enum { MOST = 4 };
    struct drawn_page p = page_of(NULL, MOST);
    struct figure *figures = p.figures;
    struct text html = {0}, comparison = {0};
    size_t n = 0;
    n += keep(&figures[n], figure_speedup(&figures[n], w->model, 0, w->model->n));
    n += keep(&figures[n], figure_roofline(&figures[n], w->model, 0, w->model->n));
    n += keep(&figures[n], figure_gain(&figures[n], w->model, 0, w->model->n));
    if (w->devices->n_devices > 1) {
        n += keep(&figures[n], figure_devices(&figures[n], w->model, w->devices));
        put_devices_html(&comparison, w->devices, w->model);
        write_tables(w, e);
    }
    p.n = n;
    begin_figures(w, &p);
    end_figures(w, &p);
    page_write(&html, &(struct page){.model = w->model,
                                     .links = w->links,
                                     .figures = figures,
                                     .n_figures = n,
                                     .notes = text_str(w->notes),
                                     .comparison = comparison.n ? &comparison : NULL});
    write_page(w->folder, path, &html, e);
    page_free(&p);
    text_free(&html);
    text_free(&comparison);
}

static enum report_status make_pages(struct input *in, const char *path, struct report_error *e) {
    struct text folder = make_folder_of(path), figures = {0};
    struct model m;
    struct comparison_of_devices devices;
    struct text *links = memory_resize(NULL, in->n, sizeof *links);
    const char **texts = memory_resize(NULL, in->n, sizeof *texts);
    text_printf(&figures, "%s/figures", folder.p);
    mkdir(figures.p, 0777); /* what fails here fails again below */
    for (size_t i = 0; i < in->n; i++) {
        links[i] = link_from(folder.p, in->paths[i].p);
        texts[i] = links[i].p;
    }
    model_build(&m, in->files, in->n, &in->benches);
    m.accepted = &in->accepted;
    devices_compare(&devices, &m);
    struct writer w = {&m, folder.p, texts, &in->notes, &devices};
    write_workloads(&w, e);
    write_overview(&w, path, e);
    devices_free(&devices);
    model_free(&m);
    for (size_t i = 0; i < in->n; i++) text_free(&links[i]);
    free(links);
    free(texts);
    text_free(&figures);
    text_free(&folder);
    return e->status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static enum report_status draw_one(const struct report_request *r, FILE *out,
                                   struct report_error *e) {
    if (!r->out) return report_fail(e, REPORT_USAGE, "--figure needs --out PREFIX");
    if (figure_bench(r->figure, r->run, r->out, NULL, e) == REPORT_OK)
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
    if (read_folder(&in, r->folder, e) == REPORT_OK) make_pages(&in, path.p, e);
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
