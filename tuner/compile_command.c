/* compile_command.c: `warpsmith compile`: every kernel of a file under one config, for any
 * architecture, on a machine without it.
 *
 *   warpsmith compile workloads/softmax.py --arch sm_90a --dump dump
 *
 *   kernel      config               binary   compile
 *   softmax_0   x=1 warps=8 vec=8    12.3 kB    31 ms
 *
 * The stages dump what they made by themselves; each kernel adds its block program, source, PTX,
 * compile log and binary. Kernels that do the same are compiled once: the others of them say whose
 * binary is theirs. */
#include <stdio.h>
#include <string.h>

#include "tuner/commands.h"
#include "tuner/compile_pool.h"
#include "tuner/configs.h"
#include "tuner/folder.h"
#include "tuner/machine.h"
#include "tuner/sweep.h"
#include "tuner/variant.h"

struct compilation {
    const struct command_line *line;
    struct arena *arena;
    struct machine machine;
    struct stages stages;
    struct ws_program *program;
    const struct config **configs; /* one a kernel */
    struct ws_source *sources;
    int *same;                 /* the first kernel that does the same: itself, or one before it */
    struct compile_job **jobs; /* of those; out: what became of them */
    struct compiled *out;
};

static enum ws_status lower(struct compilation *c, struct diag *d) {
    struct sweep sweep;
    const char *arch = c->line->arch;
    if (sweep_parse(&c->line->axes, c->arena, &sweep, d) != WS_OK) return d->status;
    if (!arch)
        return diag_fail(d, WS_USAGE, "--arch is needed: one of %s, cpu", device_arch_names());
    if (sweep.n_points > 1)
        return diag_fail(d, WS_USAGE, "compile takes one value an axis; bench sweeps");
    if (machine_for_arch(arch, c->arena, &c->machine, d) != WS_OK ||
        machine_open_toolchain(&c->machine, d) != WS_OK)
        return d->status;
    c->stages = stages_new(c->arena, c->line->dump, c->machine.env.logs);
    struct ws_captured *captured =
        capture_file(c->line, &c->machine.limits, sweep_point(&sweep, 0, c->arena), sweep.n_axes,
                     c->arena, &c->stages, d);
    if (captured)
        c->program = ws_lower(captured, &c->machine.limits, c->line->fusion, &c->stages, d);
    if (!c->program) return d->status;
    return configs_parse(c->program, &c->line->configs, c->arena, &c->configs, d);
}

/* Who has the same body under the same config has the same source. Returns how many differ. */
static int find_same(struct compilation *c) {
    struct map first = map_new(c->arena);
    for (int k = 0; k < c->program->n_kernels; k++) {
        const struct config *given = c->configs[k];
        const char *key = arena_printf(c->arena, "%s %s", c->program->kernels[k].hash,
                                       given ? config_str(c->arena, given) : "");
        uint64_t same = (uint64_t)k;
        if (!map_gets(&first, key, &same)) map_puts(&first, key, same);
        c->same[k] = (int)same;
    }
    return (int)first.n;
}

/* NVRTC compiles one text at a time in a process, however many threads ask it to. Where texts are
 * many there are more of these, which take a while to begin. */
static enum ws_status open_compilers(struct compilation *c, int texts, struct diag *d) {
    enum { MANY = 4 };
    if (texts < MANY || machine_cores() == 1) return WS_OK;
    machine_close_toolchain(&c->machine);
    return machine_isolate_toolchain(&c->machine, d);
}

static enum ws_status emit(struct compilation *c, int kernel, struct diag *d) {
    if (!c->configs[kernel]) {
        int n, pruned;
        ws_configs(c->program, kernel, &c->configs[kernel], &n, &pruned);
        WS_ASSERT(n > 0);
    }
    return ws_emit(c->program, kernel, c->configs[kernel], c->arena, &c->sources[kernel], d);
}

/* ---- dumps ----------------------------------------------------------------------------------- */

static enum ws_status dump_text(struct compilation *c, int kernel, const char *suffix, int log,
                                const char *text, struct diag *d) {
    if (!text || d->status != WS_OK) return d->status;
    const char *name = arena_printf(c->arena, "%s%s", c->program->kernels[kernel].name, suffix);
    return stage_dump(&c->stages, name, log, text, d);
}

static enum ws_status dump_binary(struct compilation *c, int kernel, const struct compiled *out,
                                  struct diag *d) {
    if (!c->line->dump || !out->ok || d->status != WS_OK) return d->status;
    bool cuda = c->machine.limits.kind == DEVICE_CUDA;
    const char *path = arena_printf(c->arena, "%s/%02d_%s.%s", c->line->dump, ++c->stages.n_dumps,
                                    c->program->kernels[kernel].name, cuda ? "cubin" : "so");
    return file_write(path, out->binary, out->size, d);
}

static const char *lines_of_kernel(const struct compilation *c, int kernel) {
    struct buf b = buf_new(c->arena);
    ws_print_lines(&b, c->program, kernel);
    return b.p;
}

static enum ws_status dump_kernel(struct compilation *c, int kernel, const struct compiled *out,
                                  struct diag *d) {
    bool cuda = c->machine.limits.kind == DEVICE_CUDA;
    if (!c->line->dump && !c->stages.logs) return d->status;
    const struct ws_source *s = &c->sources[kernel];
    if (c->same[kernel] != kernel)
        return dump_text(c, kernel, ".same", -1,
                         arena_printf(c->arena, "%s%s\n", lines_of_kernel(c, kernel),
                                      c->program->kernels[c->same[kernel]].name),
                         d);
    dump_text(c, kernel, ".block", LOG_SCHEDULE, s->block, d);
    dump_text(c, kernel, cuda ? ".cu" : ".c", LOG_OUTPUT_CODE,
              arena_printf(c->arena, "%s%s", lines_of_kernel(c, kernel), s->text), d);
    dump_text(c, kernel, ".ptx", -1, out->ptx, d);
    dump_text(c, kernel, ".log", -1, out->log, d);
    return dump_binary(c, kernel, out, d);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int name_width(const struct ws_program *p) {
    int width = 8;
    for (int k = 0; k < p->n_kernels; k++)
        if ((int)strlen(p->kernels[k].name) > width) width = (int)strlen(p->kernels[k].name);
    return width;
}

static enum ws_status report_kernel(struct compilation *c, int kernel, int width, struct diag *d) {
    const struct compiled *out = &c->out[c->same[kernel]];
    const char *name = c->program->kernels[kernel].name;
    const char *config = config_str(c->arena, c->configs[c->same[kernel]]);
    if (dump_kernel(c, kernel, out, d) != WS_OK) return d->status;
    bool asked = c->line->configs.n > 0; /* a default runs, however slow the compiler says it is */
    if (!out->ok || (out->serialized && asked))
        return diag_fail(d, WS_WRONG, "%s under '%s' %s: %s", name, config,
                         out->ok ? "is refused" : "does not compile",
                         variant_compile_message(out->log, c->arena));
    if (out->serialized && c->same[kernel] == kernel)
        fprintf(stderr, "warning: %s: %s\n", name, variant_compile_message(out->log, c->arena));
    if (c->same[kernel] == kernel)
        printf("%-*s  %8zu  %7.0f ms  %s\n", width, name, out->size, out->ms, config);
    else
        printf("%-*s  %8zu  %10s  %s\n", width, name, out->size, "the same", config);
    return WS_OK;
}

static enum ws_status compile_all(struct compilation *c, struct diag *d) {
    int n = c->program->n_kernels, width = name_width(c->program);
    bool want_ptx = c->line->dump != NULL;
    if (open_compilers(c, find_same(c), d) != WS_OK) return d->status;
    struct compile_pool *pool = compile_pool_start(c->machine.toolchain, machine_cores());
    if (!pool) return diag_fail(d, WS_MACHINE, "cannot start a thread to compile in");
    for (int k = 0; k < n && d->status == WS_OK; k++)
        if (c->same[k] == k && emit(c, k, d) == WS_OK)
            c->jobs[k] =
                compile_pool_add(pool, c->program->kernels[k].name, c->sources[k].text, want_ptx);
    stage_end(&c->stages, "emit");
    if (d->status == WS_OK)
        printf("%s, %s\n%-*s  %8s  %10s  config\n", c->machine.limits.arch,
               toolchain_version(c->machine.toolchain), width, "kernel", "bytes", "compile");
    for (int k = 0; k < n && d->status == WS_OK; k++) {
        if (c->same[k] == k) c->out[k] = compile_pool_wait(pool, c->jobs[k]);
        report_kernel(c, k, width, d);
    }
    for (int k = 0; k < n; k++) compiled_free(&c->out[k]);
    compile_pool_stop(pool);
    machine_close_toolchain(&c->machine); /* its processes' time is known once they have ended */
    stage_end(&c->stages, "compile");
    return d->status;
}

static enum ws_status compile(struct compilation *c, struct diag *d) {
    if (lower(c, d) != WS_OK) return d->status;
    c->sources = NEW_ARRAY(c->arena, struct ws_source, c->program->n_kernels);
    c->same = NEW_ARRAY(c->arena, int, c->program->n_kernels);
    c->out = NEW_ARRAY(c->arena, struct compiled, c->program->n_kernels);
    c->jobs = NEW_ARRAY(c->arena, struct compile_job *, c->program->n_kernels);
    return compile_all(c, d);
}

int compile_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct compilation c = {.line = line, .arena = a};
    int status = compile(&c, &d);
    if (status != WS_OK) command_line_fail("compile", &d);
    machine_close(&c.machine);
    arena_free(a);
    return status;
}
