/* gnuplot.c: the figure scripts, carried in the binary, and the process that draws them. */
#include "reports/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reports/embed.h"

EMBED(gnuplot_style, "reports/style.gp");
EMBED(gnuplot_bench, "reports/bench.gp");
EMBED(gnuplot_speedup, "reports/speedup.gp");
EMBED(gnuplot_roofline, "reports/roofline.gp");
EMBED(gnuplot_sizes, "reports/sizes.gp");
EMBED(gnuplot_tuning, "reports/tuning.gp");
EMBED(gnuplot_history, "reports/history.gp");
EMBED(gnuplot_gain, "reports/gain.gp");
EMBED(gnuplot_devices, "reports/devices.gp");
extern const char gnuplot_style[];

extern char **environ;

void gnuplot_set_text(struct text *settings, const char *name, const char *value) {
    text_printf(settings, "%s = ", name);
    text_gnuplot(settings, value);
    text_puts(settings, "\n");
}

void gnuplot_set_number(struct text *settings, const char *name, double value) {
    text_printf(settings, "%s = %.9g\n", name, value);
}

/* ---- scripts --------------------------------------------------------------------------------- */

/* A whole script of one figure: data, what differs between wide and narrow, style, and the drawing.
 */
static void put_script(struct text *out, const struct drawing *d) {
    text_puts(out, "if (!exists(\"narrow\")) narrow = 0\n");
    text_puts(out, text_str(&d->data));
    text_printf(out, "if (narrow) {\n%s} else {\n%s}\n", text_str(&d->narrow), text_str(&d->wide));
    text_puts(out, gnuplot_style);
    text_puts(out, d->script);
}

enum { OUTPUTS = 3 };
static const struct {
    const char *format, *suffix;
    bool narrow, png;
} outputs[OUTPUTS] = {{"svg", ".svg", false, false},
                      {"svg", ".narrow.svg", true, false},
                      {"png", ".png", false, true}};

static void put_quoted(struct text *out, const char *s) {
    text_puts(out, "'");
    for (; *s; s++) text_write(out, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
    text_puts(out, "'");
}

/* Each picture begins anew: gnuplot keeps its settings from one to the next otherwise. */
static void put_pictures(struct text *out, const struct drawing *d) {
    for (int i = 0; i < OUTPUTS; i++) {
        if ((outputs[i].narrow && !d->narrow.n) || (outputs[i].png && d->without_png)) continue;
        text_printf(out, "reset session\nformat = '%s'; narrow = %d; out = ", outputs[i].format,
                    outputs[i].narrow);
        struct text path = {0};
        text_printf(&path, "%s%s", d->prefix.p, outputs[i].suffix);
        put_quoted(out, path.p);
        text_puts(out, "\n");
        text_free(&path);
        put_script(out, d);
        text_puts(out, "\nunset output\n");
    }
}

static enum report_status write_file(const char *path, const struct text *t,
                                     struct report_error *e) {
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text_str(t), 1, t->n, f) == t->n;
    if (f && fclose(f) != 0) ok = false;
    return ok ? REPORT_OK
              : report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
}

static void write_shown(const struct drawing *d, struct report_error *e) {
    struct text path = {0}, script = {0};
    text_printf(&path, "%s.gp", d->prefix.p);
    put_script(&script, d);
    write_file(path.p, &script, e);
    text_free(&path);
    text_printf(&path, "%s.png", d->prefix.p);
    if (d->without_png) unlink(path.p); /* of another report: it would show other rows */
    text_free(&path);
    text_free(&script);
}

/* ---- the process ----------------------------------------------------------------------------- */

enum { SCRIPT = 3 }; /* the descriptor that gnuplot reads it from */
#define SCRIPT_FILE "/proc/self/fd/3"

/* -d: no file of the current folder or the home tells it anything. It warns of every column without
 * a point: whoever wants to read that runs it on the .gp. */
static int spawn(pid_t *pid, FILE *script) {
    posix_spawn_file_actions_t files;
    char *argv[] = {"gnuplot", "-d", SCRIPT_FILE, NULL};
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    posix_spawn_file_actions_adddup2(&files, fileno(script), SCRIPT);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(pid, "gnuplot", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

struct process {
    FILE *script;
    pid_t pid; /* 0: not started */
};

/* A script may start programs, and others may be able to write where the figure is to lie: what is
 * run is a file that nobody else has. */
static enum report_status start(struct process *p, const struct text *script,
                                struct report_error *e) {
    *p = (struct process){.script = tmpfile()};
    if (!p->script || fwrite(script->p, 1, script->n, p->script) != script->n ||
        fflush(p->script) != 0)
        return report_fail(e, REPORT_MACHINE, "cannot write a script for gnuplot: %s",
                           strerror(errno));
    int failed = spawn(&p->pid, p->script);
    if (failed) p->pid = 0;
    if (failed == ENOENT) report_fail(e, REPORT_MACHINE, "gnuplot is not installed: no figures");
    if (failed) report_fail(e, REPORT_MACHINE, "cannot run gnuplot: %s", strerror(failed));
    return e->status;
}

static void finish(struct process *p, const char *what, struct report_error *e) {
    int status = 0;
    while (p->pid && waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (p->script) fclose(p->script);
    if (status != 0) report_fail(e, REPORT_MACHINE, "gnuplot failed on '%s.gp'", what);
}

/* Drawings that one gnuplot draws; each alone where that fails, so that the others are drawn
 * although one cannot be. */
struct batch {
    struct drawing *drawings;
    size_t n;
    struct process process;
    struct report_error error;
};

static void start_batch(struct batch *b) {
    struct text script = {0};
    for (size_t i = 0; i < b->n; i++) put_pictures(&script, &b->drawings[i]);
    start(&b->process, &script, &b->error);
    text_free(&script);
}

static void finish_batch(struct batch *b, struct report_error *e) {
    finish(&b->process, b->drawings[0].prefix.p, &b->error);
    bool alone = b->error.status != REPORT_OK && b->n > 1 && b->process.pid;
    for (size_t i = 0; i < b->n; i++) {
        struct batch one = {.drawings = &b->drawings[i], .n = 1};
        if (alone) {
            start_batch(&one);
            finish(&one.process, one.drawings->prefix.p, &one.error);
        }
        const struct report_error *own = alone ? &one.error : &b->error;
        b->drawings[i].drawn = own->status == REPORT_OK;
        if (own->status != REPORT_OK) report_fail(e, own->status, "%s", own->text);
    }
}

enum { PROCESSES = 16 }; /* most of them */

struct gnuplot_work {
    struct batch batches[PROCESSES];
    size_t n;
    struct report_error error;
};

struct gnuplot_work *gnuplot_begin(struct drawing *drawings, size_t n) {
    struct gnuplot_work *w = memory_resize(NULL, 1, sizeof *w);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cores > PROCESSES ? PROCESSES : cores > 1 ? (size_t)cores : 1, begun = 0;
    *w = (struct gnuplot_work){0};
    for (size_t i = 0; i < n; i++) write_shown(&drawings[i], &w->error);
    if (w->error.status != REPORT_OK) return w;
    w->n = n < most ? n : most;
    for (size_t i = 0; i < w->n; i++) {
        size_t end = n * (i + 1) / w->n;
        w->batches[i] = (struct batch){.drawings = &drawings[begun], .n = end - begun};
        start_batch(&w->batches[i]);
        begun = end;
    }
    return w;
}

enum report_status gnuplot_end(struct gnuplot_work *w, struct report_error *e) {
    for (size_t i = 0; i < w->n; i++) finish_batch(&w->batches[i], &w->error);
    if (w->error.status != REPORT_OK) *e = w->error;
    free(w);
    return e->status;
}

enum report_status gnuplot_draw(struct drawing *drawings, size_t n, struct report_error *e) {
    return gnuplot_end(gnuplot_begin(drawings, n), e);
}

void drawing_free(struct drawing *d) {
    text_free(&d->prefix);
    text_free(&d->data);
    text_free(&d->wide);
    text_free(&d->narrow);
}
