/* stage.c: dumps and times of the pipeline's stages. */
#include "base/stage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/options.h"

double clock_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double cpu_ms(const struct rusage *u) {
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

struct stages stages_new(struct arena *a, const char *dump_dir, uint32_t logs) {
    return (struct stages){.arena = a, .dump_dir = dump_dir, .logs = logs, .last_ms = clock_ms()};
}

void stage_end(struct stages *s, const char *name) {
    double now = clock_ms();
    if (s->n < STAGE_MAX) {
        s->stage[s->n].name = name;
        s->stage[s->n].ms = now - s->last_ms;
        s->n++;
    }
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children); /* those that have ended */
    double cpu = cpu_ms(&own) + cpu_ms(&children);
    if (s->logs >> LOG_STAGES & 1)
        fprintf(stderr, "[stages] %s: %.1f ms, %.1f ms of CPU, at most %ld MB so far\n", name,
                now - s->last_ms, cpu - s->last_cpu_ms, own.ru_maxrss / 1024);
    s->last_ms = now;
    s->last_cpu_ms = cpu;
}

void stage_log(uint32_t logs, const char *what, double begun_ms) {
    struct rusage own;
    if (!(logs >> LOG_STAGES & 1)) return;
    getrusage(RUSAGE_SELF, &own);
    fprintf(stderr, "[stages] %s: %.1f ms, at most %ld MB so far\n", what, clock_ms() - begun_ms,
            own.ru_maxrss / 1024);
}

enum ws_status stage_dump(struct stages *s, const char *name, int log, const char *text,
                          struct diag *d) {
    if (log >= 0 && s->logs >> log & 1) fprintf(stderr, "[%s]\n%s", name, text);
    if (!s->dump_dir) return WS_OK;
    if (mkdir(s->dump_dir, 0777) != 0 && errno != EEXIST)
        return diag_fail(d, WS_MACHINE, "cannot create '%s': %s", s->dump_dir, strerror(errno));
    char *path = arena_printf(s->arena, "%s/%02d_%s", s->dump_dir, ++s->n_dumps, name);
    FILE *f = fopen(path, "wb");
    size_t n = strlen(text);
    bool ok = f && fwrite(text, 1, n, f) == n;
    if (f && fclose(f) != 0) ok = false;
    if (!ok) return diag_fail(d, WS_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    return WS_OK;
}
