/* gnuplot.c: the figure scripts, carried in the binary, and the process that draws them. */
#include "reports/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The bytes of a file of this folder, 0-terminated. The path is relative to the root, where make
 * runs. */
#define EMBED(symbol, path)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " #symbol "\n"                                                                \
            ".type " #symbol ", @object\n" #symbol ":\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n")

EMBED(gnuplot_bench, "reports/bench.gp");
EMBED(gnuplot_speedup, "reports/speedup.gp");
EMBED(gnuplot_roofline, "reports/roofline.gp");

extern char **environ;

void gnuplot_set_text(struct text *settings, const char *name, const char *value) {
    text_printf(settings, "%s = ", name);
    text_gnuplot(settings, value);
    text_puts(settings, "\n");
}

void gnuplot_set_number(struct text *settings, const char *name, double value) {
    text_printf(settings, "%s = %.9g\n", name, value);
}

static bool write_script(FILE *f, const struct text *settings, const char *script) {
    return f && fprintf(f, "%s\n%s", text_str(settings), script) > 0 && fflush(f) == 0;
}

/* For people, and to draw from: a script may start programs, and others may be able to write where
 * the figure is to lie. What is drawn is a copy that nobody else has. NULL: e says why. */
static FILE *write_both(const char *path, const struct text *settings, const char *script,
                        struct report_error *e) {
    FILE *shown = fopen(path, "w"), *own = shown ? tmpfile() : NULL;
    bool ok = write_script(shown, settings, script) && write_script(own, settings, script);
    if (!ok) report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    if (shown && fclose(shown) != 0 && ok)
        ok = !report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    if (ok) return own;
    if (own) fclose(own);
    return NULL;
}

enum { SCRIPT = 3 }; /* the descriptor that gnuplot reads it from */
#define SCRIPT_FILE "/proc/self/fd/3"

static int spawn(pid_t *pid, char *const *argv, FILE *script) {
    posix_spawn_file_actions_t files;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    posix_spawn_file_actions_adddup2(&files, fileno(script), SCRIPT);
    failed = posix_spawnp(pid, "gnuplot", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

/* gnuplot -d -e "format = 'svg'; out = 'results/softmax.svg'" /proc/self/fd/3
 * -d: no file of the current folder or the home tells it anything. */
static enum report_status run(const char *prefix, const char *format, FILE *script,
                              struct report_error *e) {
    struct text set = {0};
    text_printf(&set, "format = '%s'; out = '", format);
    for (const char *p = prefix; *p; p++)
        text_write(&set, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
    text_printf(&set, ".%s'", format);
    pid_t pid;
    int status = 0;
    char *argv[] = {"gnuplot", "-d", "-e", set.p, SCRIPT_FILE, NULL};
    int failed = spawn(&pid, argv, script);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    text_free(&set);
    if (failed == ENOENT)
        return report_fail(e, REPORT_MACHINE, "gnuplot is not installed: no figures");
    if (failed) return report_fail(e, REPORT_MACHINE, "cannot run gnuplot: %s", strerror(failed));
    if (status != 0) return report_fail(e, REPORT_MACHINE, "gnuplot failed on '%s.gp'", prefix);
    return REPORT_OK;
}

enum report_status gnuplot_draw(const char *prefix, const struct text *settings, const char *script,
                                struct report_error *e) {
    struct text path = {0};
    text_printf(&path, "%s.gp", prefix);
    FILE *own = write_both(path.p, settings, script, e);
    if (own && run(prefix, "svg", own, e) == REPORT_OK) run(prefix, "png", own, e);
    if (own) fclose(own);
    text_free(&path);
    return e->status;
}
