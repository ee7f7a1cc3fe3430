/* gnuplot.c: the figure scripts, carried in the binary, and the process that draws them. */
#include "reports/gnuplot.h"

#include <errno.h>
#include <spawn.h>
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

static enum report_status write_script(const char *path, const struct text *settings,
                                       const char *script, struct report_error *e) {
    FILE *f = fopen(path, "w");
    if (f) fprintf(f, "%s\n%s", text_str(settings), script);
    if (!f || ferror(f) | fclose(f))
        return report_fail(e, REPORT_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    return REPORT_OK;
}

/* gnuplot -e "format = 'svg'; out = 'results/softmax.svg'" results/softmax.gp */
static enum report_status run(const char *prefix, const char *format, char *script,
                              struct report_error *e) {
    struct text set = {0};
    text_printf(&set, "format = '%s'; out = '", format);
    for (const char *p = prefix; *p; p++)
        text_write(&set, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
    text_printf(&set, ".%s'", format);
    pid_t pid;
    int status = 0;
    char *argv[] = {"gnuplot", "-e", set.p, script, NULL};
    int failed = posix_spawnp(&pid, "gnuplot", NULL, NULL, argv, environ);
    while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    text_free(&set);
    if (failed == ENOENT)
        return report_fail(e, REPORT_MACHINE, "gnuplot is not installed: no figures");
    if (failed) return report_fail(e, REPORT_MACHINE, "cannot run gnuplot: %s", strerror(failed));
    if (status != 0) return report_fail(e, REPORT_MACHINE, "gnuplot failed on '%s'", script);
    return REPORT_OK;
}

enum report_status gnuplot_draw(const char *prefix, const struct text *settings, const char *script,
                                struct report_error *e) {
    struct text path = {0};
    text_printf(&path, "%s.gp", prefix);
    if (write_script(path.p, settings, script, e) == REPORT_OK &&
        run(prefix, "svg", path.p, e) == REPORT_OK)
        run(prefix, "png", path.p, e);
    text_free(&path);
    return e->status;
}
