/* profiler.c: device_count on a GPU, by CUPTI's range profiler.
 *
 *   once          known metrics -> config image: which counters in which pass
 *   each launch   pass 0:  [flush L2]  kernel 0  start push (kernel 1) pop stop  kernel 2
 *                 pass 1:  [flush L2]  kernel 0  start push (kernel 1) pop stop  kernel 2   ...
 *                 decode -> values by metric -> struct counters
 *
 * Few counters exist, so a set of them takes several passes, and we repeat the launches ourselves:
 * CUPTI's own replay would save and restore memory, which leaves it in the caches. Each launch
 * follows those before it as in device_time, in the state of the caches that they leave. The flush
 * is read once more than there: what it left to be written back would be counted as ours.
 *
 * Tracing (cupti.c) pauses meanwhile. To enable the profiler takes long, so it stays enabled, and
 * tracing paused, until somebody wants a time (profiler_leave), the context goes or counting fails:
 * whoever counts several kernels in a row pays once.
 *
 * A metric that the chip does not know is left out, and its counter is NAN. What stands in the way
 * of all of them (no permission, another profiler, an old library) is remembered and said again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/cuda_device.h"

/* ---- metrics --------------------------------------------------------------------------------- */

/* A counter is the sum of its rows, which stand together, scaled. */
struct metric {
    const char *name;
    size_t offset; /* in struct counters */
    double scale;
};

#define METRIC(field, scale, name)                                                                 \
    { name, offsetof(struct counters, field), scale }
#define ACTIVE ".avg.pct_of_peak_sustained_active"
static const struct metric metrics[] = {
    METRIC(dram_read_bytes, 1, "dram__bytes_read.sum"),
    METRIC(dram_write_bytes, 1, "dram__bytes_write.sum"),
    METRIC(local_bytes, 1, "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum"),
    METRIC(local_bytes, 1, "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum"),
    METRIC(bank_conflicts, 1, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    METRIC(instructions, 1, "smsp__inst_executed.sum"),
    METRIC(cycles, 1, "gpc__cycles_elapsed.max"),
    METRIC(occupancy, 0.01, "sm__warps_active" ACTIVE),
    METRIC(l2_hit_pct, 1, "lts__t_sector_hit_rate.pct"), /* of two passes: may exceed 100 */
    METRIC(l2_busy_pct, 1, "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    METRIC(issue_pct, 1, "smsp__issue_active" ACTIVE),
    METRIC(pipe_pct[PIPE_alu], 1, "sm__inst_executed_pipe_alu" ACTIVE),
    METRIC(pipe_pct[PIPE_fma], 1, "sm__inst_executed_pipe_fma" ACTIVE),
    METRIC(pipe_pct[PIPE_xu], 1, "sm__inst_executed_pipe_xu" ACTIVE),
    METRIC(pipe_pct[PIPE_lsu], 1, "sm__inst_executed_pipe_lsu" ACTIVE),
    METRIC(pipe_pct[PIPE_tensor], 1, "sm__pipe_tensor_cycles_active" ACTIVE),
    METRIC(pipe_pct[PIPE_fp64], 1, "sm__inst_executed_pipe_fp64" ACTIVE),
#define S(name, text)                                                                              \
    METRIC(stall_pct[STALL_##name], 1, "smsp__warp_issue_stalled_" #name "_per_warp_active.pct"),
    COUNTER_STALLS(S)
#undef S
};
enum {
    N_METRICS = sizeof metrics / sizeof *metrics,
    MOST_PASSES = 100, /* of one launch; a set like ours takes about ten */
};

const char *profiler_metric_name(int i) { return i < N_METRICS ? metrics[i].name : NULL; }

/* What CUPTI's functions have taken, by name. */
struct cost {
    const char *name;
    int calls;
    double ms;
};

struct profiler {
    struct profiler_api api;
    struct cupti_api cupti;
    const char *chip; /* "GH100" */
    uint8_t *availability;
    profiler_host host;
    const char *names[N_METRICS]; /* known here, and what they are of */
    const struct metric *of[N_METRICS];
    size_t n;
    uint8_t *config;
    size_t config_size;
    profiler_object object; /* NULL: not enabled, and tracing goes on */
    const char *refused;    /* NULL, or why nothing can be counted */
    struct cost costs[32];
};

/* One call's worth. */
struct session {
    struct cuda_device *c;
    struct profiler *p;
    uint8_t *data;
    size_t data_size;
    const struct ready *ready;
    int n;
};

/* Parameters with their size set. */
#define PARAMS(type, ...) ((struct type){.size = type##_SIZE, __VA_ARGS__})

/* The first failure of CUPTI's stands for the life of the device. */
static enum ws_status refuse(struct profiler *p, struct arena *a, struct diag *d, cupti_status s,
                             const char *what) {
    const char *text = NULL, *hint = "";
    if (p->cupti.result_string(s, &text) != CUPTI_OK || !text) text = "unknown CUPTI error";
    if (s == CUPTI_C_ERROR_INSUFFICIENT_PRIVILEGES ||
        s == CUPTI_C_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        hint = "; the driver keeps hardware counters for administrators "
               "(NVreg_RestrictProfilingToAdminUsers=0 opens them to all)";
    if (s == CUPTI_C_ERROR_HARDWARE_BUSY) hint = "; another profiler uses them";
    p->refused = arena_printf(a, "no hardware counters: %s: %s (%d)%s", what, text, s, hint);
    return diag_fail(d, WS_MACHINE, "%s", p->refused);
}

#define CALL(s, function, ...)                                                                     \
    ({                                                                                             \
        double begun_ms = clock_ms();                                                              \
        cupti_status called = (s)->p->api.function(__VA_ARGS__);                                   \
        add_cost((s)->p, #function, clock_ms() - begun_ms);                                        \
        judge(s, called, #function, d);                                                            \
    })

static void add_cost(struct profiler *p, const char *name, double ms) {
    for (struct cost *c = p->costs; c < p->costs + sizeof p->costs / sizeof *p->costs; c++) {
        if (c->name && strcmp(c->name, name) != 0) continue;
        c->name = name;
        c->calls++;
        c->ms += ms;
        return;
    }
}

void profiler_put_costs(const struct cuda_device *c, struct buf *b) {
    if (!c->profiler) return;
    for (const struct cost *k = c->profiler->costs; k->name; k++)
        buf_printf(b, "%s%s %.1f ms in %d", k == c->profiler->costs ? "" : ", ", k->name, k->ms,
                   k->calls);
}

static enum ws_status judge(struct session *s, cupti_status status, const char *what,
                            struct diag *d) {
    if (status == CUPTI_OK) return WS_OK;
    return refuse(s->p, s->c->arena, d, status,
                  arena_printf(d->arena, "CUPTI's profiler, %s", what));
}

static enum ws_status out_of_memory(struct diag *d, size_t bytes) {
    return diag_fail(d, WS_MACHINE, "out of memory for %zu bytes of counters", bytes);
}

/* ---- which metrics there are ----------------------------------------------------------------- */

static cupti_status try_host(struct profiler *p, const uint8_t *availability) {
    struct profiler_host_open open =
        PARAMS(profiler_host_open, .type = CUPTI_C_PROFILER_TYPE_RANGE_PROFILER, .chip = p->chip,
               .availability = availability);
    cupti_status status = p->api.host_open(&open);
    p->host = status == CUPTI_OK ? open.host : NULL;
    return status;
}

static enum ws_status open_host(struct session *s, struct diag *d) {
    return judge(s, try_host(s->p, s->p->availability), "host_open", d);
}

static void close_host(struct profiler *p) {
    struct profiler_host_close close = PARAMS(profiler_host_close, .host = p->host);
    if (p->host) p->api.host_close(&close);
    p->host = NULL;
}

static cupti_status add_metrics(struct profiler *p, const char **names, size_t n) {
    struct profiler_metrics add = PARAMS(profiler_metrics, .host = p->host, .names = names, .n = n);
    return p->api.add_metrics(&add);
}

static void keep_known(struct profiler *p) {
    p->n = 0;
    for (int i = 0; i < N_METRICS; i++) {
        struct profiler_metric m =
            PARAMS(profiler_metric, .host = p->host, .name = metrics[i].name);
        if (p->api.metric(&m) != CUPTI_OK) continue;
        p->names[p->n] = metrics[i].name;
        p->of[p->n++] = &metrics[i];
    }
}

/* A name may be known and its counters not available (a virtual GPU, a slice of one): each is tried
 * on a host of its own, for one that is refused spoils it. */
static enum ws_status keep_available(struct session *s, struct diag *d) {
    struct profiler *p = s->p;
    size_t n = p->n;
    p->n = 0;
    for (size_t i = 0; i < n; i++) {
        close_host(p);
        if (open_host(s, d) != WS_OK) return d->status;
        if (add_metrics(p, &p->names[i], 1) != CUPTI_OK) continue;
        p->names[p->n] = p->names[i];
        p->of[p->n++] = p->of[i];
    }
    close_host(p);
    return open_host(s, d);
}

/* All in one call: added one by one, each would get passes of its own. First as they are; what is
 * available is asked only if that is refused, or the library does not know the chip: whether
 * counters that are not of one context (the DRAM's) count as available depends on its version. */
static enum ws_status choose_metrics(struct session *s, struct diag *d) {
    struct profiler *p = s->p;
    if (try_host(p, NULL) != CUPTI_OK && open_host(s, d) != WS_OK) return d->status;
    keep_known(p);
    if (add_metrics(p, p->names, p->n) == CUPTI_OK) return WS_OK;
    if (keep_available(s, d) != WS_OK) return d->status;
    return judge(s, add_metrics(p, p->names, p->n), "add_metrics", d);
}

/* A driver that keeps counters for administrators says so here, if not before. */
static enum ws_status read_availability(struct session *s, struct diag *d) {
    struct profiler_availability a = PARAMS(profiler_availability, .ctx = s->c->ctx);
    if (CALL(s, availability, &a) != WS_OK) return d->status;
    s->p->availability = a.image = calloc(1, a.image_size + 1);
    if (!a.image) return out_of_memory(d, a.image_size);
    return CALL(s, availability, &a);
}

static enum ws_status make_config(struct session *s, struct diag *d) {
    struct profiler_config_size size = PARAMS(profiler_config_size, .host = s->p->host);
    if (CALL(s, config_size, &size) != WS_OK) return d->status;
    s->p->config_size = size.image_size;
    s->p->config = calloc(1, size.image_size + 1);
    if (!s->p->config) return out_of_memory(d, size.image_size);
    struct profiler_config config = PARAMS(profiler_config, .host = s->p->host,
                                           .image_size = size.image_size, .image = s->p->config);
    return CALL(s, config, &config);
}

static enum ws_status profiler_open(struct session *s, struct diag *d) {
    struct cuda_device *c = s->c;
    struct profiler *p = s->p = c->profiler = NEW(c->arena, struct profiler);
    struct profiler_library library = PARAMS(profiler_library, 0);
    struct profiler_chip chip = PARAMS(profiler_chip, .device = (size_t)c->dev);
    if (cupti_api_open(&p->cupti, &c->env, c->arena, d) != WS_OK ||
        profiler_api_open(&p->api, &c->env, c->arena, d) != WS_OK) {
        p->refused = arena_printf(c->arena, "no hardware counters: %s", d->message);
        return d->status;
    }
    if (CALL(s, initialize, &library) != WS_OK || CALL(s, chip_name, &chip) != WS_OK)
        return d->status;
    p->chip = arena_strdup(c->arena, chip.name);
    if (read_availability(s, d) != WS_OK || choose_metrics(s, d) != WS_OK) return d->status;
    return make_config(s, d);
}

void profiler_close(struct profiler *p) {
    if (!p) return;
    struct profiler_library library = PARAMS(profiler_library, 0);
    close_host(p);
    if (p->api.deinitialize) p->api.deinitialize(&library);
    free(p->config);
    free(p->availability);
    p->config = p->availability = NULL;
}

/* ---- counting -------------------------------------------------------------------------------- */

static enum ws_status clear_data(struct session *s, struct diag *d) {
    struct profiler *p = s->p;
    struct profiler_data_size size =
        PARAMS(profiler_data_size, .object = s->p->object, .names = p->names, .n = p->n,
               .most_ranges = 1, .most_nodes = 1);
    if (!s->data) {
        if (CALL(s, data_size, &size) != WS_OK) return d->status;
        s->data_size = size.data_size;
        s->data = calloc(1, size.data_size + 1);
        if (!s->data) return out_of_memory(d, size.data_size);
    }
    struct profiler_data_clear clear = PARAMS(profiler_data_clear, .object = s->p->object,
                                              .data_size = s->data_size, .data = s->data);
    struct profiler_setup setup =
        PARAMS(profiler_setup, .object = s->p->object, .config_size = p->config_size,
               .config = p->config, .data_size = s->data_size, .data = s->data,
               .range = CUPTI_C_UserRange, .replay = CUPTI_C_UserReplay, .most_ranges = 1,
               .levels = 1, .first_level = 1, .target_level = 1);
    if (CALL(s, data_clear, &clear) != WS_OK) return d->status;
    return CALL(s, setup, &setup);
}

static enum ws_status submit(struct session *s, int from, int to, struct diag *d) {
    for (int i = from; i < to; i++)
        if (cuda_submit(s->c, &s->ready[i], d) != WS_OK) return d->status;
    return cuda_synchronize(s->c, s->ready[0].entry, d);
}

/* Launch i between push and pop. Once started, the profiler is stopped: what it holds is lost with
 * it if the launch fails. */
static enum ws_status run_counted(struct session *s, int i, bool *all, struct diag *d) {
    struct profiler_call call = PARAMS(profiler_call, .object = s->p->object);
    struct profiler_push push = PARAMS(profiler_push, .object = s->p->object, .name = "launch");
    struct profiler_stop stop = PARAMS(profiler_stop, .object = s->p->object);
    if (CALL(s, start, &call) != WS_OK) return d->status;
    if (CALL(s, push, &push) == WS_OK) {
        cuda_submit(s->c, &s->ready[i], d);
        if (d->status == WS_OK)
            CALL(s, pop, &call);
        else
            s->p->api.pop(&call);
    }
    if (d->status == WS_OK)
        CALL(s, stop, &stop);
    else
        s->p->api.stop(&stop);
    *all = stop.all_submitted;
    return d->status == WS_OK ? cuda_synchronize(s->c, s->ready[i].entry, d) : d->status;
}

static enum ws_status run_pass(struct session *s, int i, bool *all, struct diag *d) {
    if (helpers_flush(s->c, 1, d) != WS_OK || helpers_drain_launch(s->c, d) != WS_OK ||
        submit(s, 0, i, d) != WS_OK || run_counted(s, i, all, d) != WS_OK)
        return d->status;
    return submit(s, i + 1, s->n, d);
}

/* Metric by metric: one that cannot be evaluated must not take the others with it. */
static void read_values(struct session *s, struct counters *out) {
    struct profiler *p = s->p;
    double v[N_METRICS];
    for (int i = 0; i < N_METRICS; i++) v[i] = NAN;
    for (size_t i = 0; i < p->n; i++) {
        struct profiler_values values =
            PARAMS(profiler_values, .host = p->host, .data = s->data, .data_size = s->data_size,
                   .names = &p->names[i], .n = 1, .values = &v[p->of[i] - metrics]);
        if (p->api.values(&values) != CUPTI_OK) v[p->of[i] - metrics] = NAN;
    }
    *out = counters_unknown();
    for (int i = 0; i < N_METRICS; i++) {
        bool first = i == 0 || metrics[i - 1].offset != metrics[i].offset;
        void *field = (char *)out + metrics[i].offset;
        double *to = field;
        *to = (first ? 0 : *to) + metrics[i].scale * v[i];
    }
    if (out->l2_hit_pct > 100) out->l2_hit_pct = 100;
}

static enum ws_status count_launch(struct session *s, int i, struct counters *out, struct diag *d) {
    bool all = false;
    int passes = 0;
    if (clear_data(s, d) != WS_OK) return d->status;
    for (; passes < MOST_PASSES && !all; passes++)
        if (run_pass(s, i, &all, d) != WS_OK) return d->status;
    struct profiler_decode decode = PARAMS(profiler_decode, .object = s->p->object);
    struct profiler_data_info info =
        PARAMS(profiler_data_info, .data = s->data, .data_size = s->data_size);
    if (CALL(s, decode, &decode) != WS_OK || CALL(s, data_info, &info) != WS_OK) return d->status;
    if (!all || decode.dropped || info.n_ranges != 1)
        return diag_fail(d, WS_MACHINE,
                         "CUPTI's profiler lost what it counted of '%s': %d passes, %zu ranges, "
                         "%zu dropped",
                         s->ready[i].entry, passes, info.n_ranges, decode.dropped);
    read_values(s, out);
    return WS_OK;
}

static struct counters nothing_launched(void) {
    struct counters c = counters_unknown();
    c.dram_read_bytes = c.dram_write_bytes = c.local_bytes = c.bank_conflicts = 0;
    c.instructions = c.cycles = 0;
    return c;
}

/* ---- entering and leaving -------------------------------------------------------------------- */

static enum ws_status enter(struct session *s, struct diag *d) {
    struct profiler_enable enable = PARAMS(profiler_enable, .ctx = s->c->ctx);
    if (s->p->object) return WS_OK;
    if (s->c->cupti) cupti_pause(s->c->cupti);
    if (CALL(s, enable, &enable) == WS_OK) {
        s->p->object = enable.object;
        return WS_OK;
    }
    struct diag quiet = diag_new(d->arena);
    if (s->c->cupti) cupti_resume(s->c->cupti, &quiet);
    return d->status;
}

/* That the profiler cannot be left is no news where the context is lost. */
enum ws_status profiler_leave(struct cuda_device *c, struct diag *d) {
    struct profiler *p = c->profiler;
    if (!p || !p->object) return WS_OK;
    struct profiler_call disable = PARAMS(profiler_call, .object = p->object);
    struct session s = {.c = c, .p = p};
    if (c->base.lost)
        p->api.disable(&disable);
    else
        CALL(&s, disable, &disable);
    p->object = NULL;
    if (!c->cupti) return d->status;
    struct diag own = diag_new(d->arena);
    if (cupti_resume(c->cupti, &own) != WS_OK && d->status == WS_OK)
        diag_fail(d, own.status, "%s", own.message);
    return d->status;
}

/* ---- device_count ---------------------------------------------------------------------------- */

static enum ws_status count_all(struct session *s, struct counters *out, struct diag *d) {
    struct cuda_device *c = s->c;
    s->p = c->profiler;
    if (!s->p && profiler_open(s, d) != WS_OK) {
        if (!s->p->refused) s->p->refused = arena_strdup(c->arena, d->message);
        return d->status;
    }
    if (enter(s, d) != WS_OK) return d->status;
    for (int i = 0; i < s->n && d->status == WS_OK; i++) {
        if (s->ready[i].function)
            count_launch(s, i, &out[i], d);
        else
            out[i] = nothing_launched();
    }
    free(s->data);
    struct diag quiet = diag_new(d->arena);
    if (d->status != WS_OK) profiler_leave(c, &quiet);
    return d->status;
}

enum ws_status cuda_count_launches(struct device *dev, const struct launch *l, int n,
                                   struct counters *out, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (c->profiler && c->profiler->refused)
        return diag_fail(d, WS_MACHINE, "%s", c->profiler->refused);
    if (cuda_enter(c, d) != WS_OK || helpers_prepare(c, d) != WS_OK) return d->status;
    struct ready *ready;
    cuda_ready_all(c, l, n, true, &ready, d);
    struct session s = {.c = c, .ready = ready, .n = n};
    /* Once outside of it all: module loading is lazy and the first launch pays for it. */
    if (d->status == WS_OK) submit(&s, 0, n, d);
    if (d->status == WS_OK) count_all(&s, out, d);
    cuda_ready_free(ready, n);
    if (d->status != WS_OK)
        for (int i = 0; i < n; i++) out[i] = counters_unknown();
    return d->status;
}
