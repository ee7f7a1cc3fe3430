/* timing.c: device_time on a GPU.
 *
 *   repetition 0:  [flush L2]  kernel 0  kernel 1 ...
 *   repetition 1:  [flush L2]  kernel 0  kernel 1 ...
 *
 * us[s*n + i] is end - start of the record of kernel i in repetition s; of one that overlaps the
 * one before, end - the other's end. The flush gives the host time to submit what follows, and is
 * repeated where that is much: a repetition whose first kernel began after its last was submitted
 * is `queued`, and the gaps between its kernels are the device's own.
 *
 * Without a flush, repetitions are queued without waiting in between; a flush waits for the one
 * before. Records are matched to launches by correlation id, so the flush is in no window; those of
 * a graph's launches share its id, and come in the order in which they began. A repetition whose
 * record is missing or has no timestamps is measured again; after a few rounds that is an error,
 * never a guess. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/cuda/cuda_device.h"

enum {
    ROUNDS = 4,        /* of measuring again what has no times */
    QUEUE_DEPTH = 256, /* launches in flight: fewer than would make a launch block */
    COVERED = 6,       /* launches that the host submits while one flush runs, and to spare */
};

struct timing {
    struct cuda_device *c;
    const struct ready *ready;
    cu_graph_exec graph; /* of all of them; NULL: launched one by one */
    int n, samples;
    bool flush;
    uint32_t *ids;       /* [samples][n] correlation ids, 0 = no launch (empty grid) */
    bool *done;          /* [samples] */
    uint64_t *submitted; /* [samples] when its last launch was, ns */
    double *us;
    struct sample_extra *extra;
};

static int launches_per_sample(const struct timing *t) {
    int live = 0;
    for (int i = 0; i < t->n; i++) live += t->ready[i].function != NULL;
    return live;
}

static enum ws_status submit_graph(struct timing *t, uint32_t *ids, struct diag *d) {
    cupti_take_correlation(t->c->cupti);
    if (cuda_graph_submit(t->c, t->graph, t->ready[0].entry, d) != WS_OK) return d->status;
    uint32_t id = cupti_take_correlation(t->c->cupti);
    for (int i = 0; i < t->n; i++) ids[i] = t->ready[i].function ? id : 0;
    return id ? WS_OK : diag_fail(d, WS_MACHINE, "CUPTI did not see the launch of a graph");
}

static enum ws_status submit_launches(struct timing *t, uint32_t *ids, struct diag *d) {
    for (int i = 0; i < t->n; i++) {
        ids[i] = 0;
        if (!t->ready[i].function) continue;
        cupti_take_correlation(t->c->cupti);
        if (cuda_submit(t->c, &t->ready[i], d) != WS_OK) return d->status;
        ids[i] = cupti_take_correlation(t->c->cupti);
        if (!ids[i])
            return diag_fail(d, WS_MACHINE, "CUPTI did not see the launch of '%s'",
                             t->ready[i].entry);
    }
    return WS_OK;
}

static int flushes(const struct timing *t) {
    return t->flush ? 1 + launches_per_sample(t) / COVERED : 0;
}

static enum ws_status submit_sample(struct timing *t, int s, struct diag *d) {
    if (t->flush && helpers_flush(t->c, flushes(t), d) != WS_OK) return d->status;
    double start = clock_ms();
    uint32_t *ids = t->ids + s * t->n;
    if ((t->graph ? submit_graph : submit_launches)(t, ids, d) != WS_OK) return d->status;
    if (t->extra) t->extra[s].host_us = (clock_ms() - start) * 1e3;
    t->submitted[s] = cupti_now(t->c->cupti);
    return WS_OK;
}

/* Queue every repetition that has no time yet; returns how many kernels were queued, -1 on an
 * error. */
static int submit_missing(struct timing *t, struct diag *d) {
    int queued = 0, waiting = 0, per_sample = launches_per_sample(t);
    for (int s = 0; s < t->samples; s++) {
        if (t->done[s]) continue;
        if (submit_sample(t, s, d) != WS_OK) return -1;
        queued += per_sample + flushes(t);
        waiting += per_sample + 1;
        if (waiting < QUEUE_DEPTH) continue;
        if (cuda_synchronize(t->c, "timed kernels", d) != WS_OK) return -1;
        waiting = 0;
    }
    return cuda_synchronize(t->c, "timed kernels", d) == WS_OK ? queued : -1;
}

/* Of the records with that id, the one that `before` others began before. */
static const struct kernel_time *find_time(const struct kernel_time *times, int n, uint32_t id,
                                           int before) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (times[mid].correlation < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    lo += before;
    return lo < n && times[lo].correlation == id ? &times[lo] : NULL;
}

static bool read_sample(struct timing *t, int s, const struct kernel_time *times, int n_times) {
    uint64_t first = 0, last = 0;
    for (int i = 0, live = 0; i < t->n; i++) {
        uint32_t id = t->ids[s * t->n + i];
        double *us = &t->us[s * t->n + i];
        *us = 0;
        if (!id) continue;
        const struct kernel_time *k = find_time(times, n_times, id, t->graph ? live++ : 0);
        if (!k || !k->start || k->end <= k->start) return false;
        uint64_t begun = k->start > last ? k->start : last; /* it may have waited for the last */
        *us = k->end > begun ? (double)(k->end - begun) / 1e3 : 0;
        if (!first || k->start < first) first = k->start;
        if (k->end > last) last = k->end;
    }
    if (t->extra) {
        t->extra[s].span_us = (double)(last - first) / 1e3;
        t->extra[s].queued = t->submitted[s] <= first;
    }
    return true;
}

static enum ws_status measure(struct timing *t, struct diag *d) {
    int missing = t->samples;
    size_t dropped = cupti_dropped(t->c->cupti);
    for (int round = 0; round < ROUNDS && missing; round++) {
        const struct kernel_time *times = NULL;
        int n_times = 0;
        cupti_begin(t->c->cupti);
        int queued = submit_missing(t, d);
        if (queued < 0) return d->status;
        if (cupti_end(t->c->cupti, queued, &times, &n_times, d) != WS_OK) return d->status;
        for (int s = 0; s < t->samples; s++)
            if (!t->done[s] && read_sample(t, s, times, n_times)) t->done[s] = true, missing--;
    }
    if (!missing) return WS_OK;
    return diag_fail(d, WS_MACHINE,
                     "CUPTI delivered no usable record for %d of %d repetitions of '%s' in %d "
                     "tries (%zu records dropped)",
                     missing, t->samples, t->ready[0].entry, ROUNDS,
                     cupti_dropped(t->c->cupti) - dropped);
}

/* Until what was freed has been cleared, which takes the device's memory from whoever runs. */
static void wait_for_clearing(const struct cuda_device *c) {
    const double MOST_MS = 1000;
    double left = c->cleared_ms - clock_ms();
    if (left <= 0) return;
    if (left > MOST_MS) left = MOST_MS;
    struct timespec t = {.tv_sec = (time_t)(left / 1e3), .tv_nsec = (long)(fmod(left, 1e3) * 1e6)};
    nanosleep(&t, NULL);
}

enum ws_status cuda_time(struct device *dev, const struct launch *l, int n, int samples, bool flush,
                         double *us, struct sample_extra *extra, struct diag *d) {
    struct cuda_device *c = (struct cuda_device *)dev;
    if (!c->cupti) return diag_fail(d, WS_MACHINE, "%s was opened without a clock", dev->facts.id);
    if (cuda_enter(c, d) != WS_OK || profiler_leave(c, d) != WS_OK ||
        cupti_resume(c->cupti, d) != WS_OK || (flush && helpers_prepare(c, d) != WS_OK))
        return d->status;
    struct ready *ready = NULL;
    struct timing t = {
        .c = c, .n = n, .samples = samples, .flush = flush, .us = us, .extra = extra};
    t.ids = calloc((size_t)n * (size_t)samples, sizeof *t.ids);
    t.done = calloc((size_t)samples, sizeof *t.done);
    t.submitted = calloc((size_t)samples, sizeof *t.submitted);
    enum ws_status s = WS_OK;
    if (!t.ids || !t.done || !t.submitted)
        s = diag_fail(d, WS_MACHINE, "out of memory for %d samples", samples);
    if (s == WS_OK) s = cuda_ready_all(c, l, n, false, &ready, d);
    t.ready = ready;
    /* The first time once outside any window: module loading is lazy, the first launch pays. */
    if (s == WS_OK && cuda_first_timed(l, n)) {
        for (int i = 0; i < n && s == WS_OK; i++) s = cuda_submit(c, &ready[i], d);
        if (s == WS_OK) s = cuda_synchronize(c, l[0].entry, d);
    }
    if (s == WS_OK && cuda_wants_graph(c, ready, n))
        s = cuda_graph_record(c, ready, n, &t.graph, d);
    if (s == WS_OK) wait_for_clearing(c);
    if (s == WS_OK) s = measure(&t, d);
    cuda_graph_free(c, t.graph);
    free(t.submitted);
    free(t.done);
    free(t.ids);
    cuda_ready_free(ready, n);
    return s;
}
