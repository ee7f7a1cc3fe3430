/* measure.c: batches of samples until the noise says stop.
 *
 *   warm-up | 3 samples: hopeless? | batches until median +-1 %, 100 samples or 0.5 s
 *
 * How long a batch is comes from the warm-up: about 20 ms, so that the clock is read often and a
 * batch is short beside the limits. */
#include "tuner/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/interrupt.h"

enum {
    FIRST_BATCH = 1,      /* samples that decide whether a variant is hopeless */
    GROUP_MOST = 16,      /* repetitions of something short that make up one sample */
    BATCH_MOST = 16,      /* samples */
    TURN = 2,             /* samples of one subject before the next has its turn */
    SLOW_MIN_N = 5,       /* samples that are enough where one takes long */
    THROTTLED_MOST = 3,   /* throttled batches in a row, then they count */
    COOL_DOWN_US = 50000, /* after a throttled batch */
    HEALTH_MOST = 256,    /* readings kept */
};
#define BATCH_MS 20.0
#define SHORT_US 20.0 /* what is no longer than this is repeated within a sample, */
#define GROUP_US 80.0 /* until the sample is of about so long */
#define SLOW_SAMPLE_MS 20.0

struct series {
    double *at;
    int n, cap;
};

struct sampler {
    struct device *dev;
    const struct subject *subject;
    struct series kept, throttled, host, span;
    double clock[HEALTH_MOST], temp[HEALTH_MOST];
    int n_clock, n_temp;
    char throttle[TIMING_THROTTLE];
    int throttled_in_a_row;
    double sample_ms; /* wall time of one, flush included */
    int group;        /* repetitions that make up one sample; 0: not known yet */
    double started_ms;
};

struct timing timing_none(void) {
    return (struct timing){.us = stats_none(),
                           .host_us = NAN,
                           .span_us = NAN,
                           .clock_mhz = NAN,
                           .temp_c = NAN,
                           .throttle = ""};
}

struct measure_rule measure_rule_default(int max_n) {
    return (struct measure_rule){
        .rel_ci = 0.01, .min_n = 10, .max_n = max_n, .wall_ms = 500, .drop_us = INFINITY};
}

struct measure_rule measure_rule_final(int max_n, int n) {
    return (struct measure_rule){.rel_ci = 0.003,
                                 .min_n = max_n < 30 ? max_n : 30,
                                 .max_n = 4 * max_n,
                                 .wall_ms = 500 * n,
                                 .drop_us = INFINITY};
}

static void series_add(struct series *s, double v) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->at = realloc(s->at, sizeof *s->at * (size_t)s->cap);
        if (!s->at) WS_BUG("out of memory for %d samples", s->cap);
    }
    s->at[s->n++] = v;
}

static double middle(const double *samples, int n) { return n ? stats_of(samples, n).median : NAN; }

/* ---- one batch ------------------------------------------------------------------------------- */

/* Which list the batch belongs to. Clock and temperature of a throttled one are no one's. */
static struct series *judge_health(struct sampler *s) {
    struct health h;
    device_health(s->dev, &h);
    if (h.throttle_bits && s->throttled_in_a_row < THROTTLED_MOST) {
        s->throttled_in_a_row++;
        memcpy(s->throttle, h.throttle, sizeof h.throttle);
        return &s->throttled;
    }
    if (h.throttle_bits || (h.throttle[0] && !s->throttle[0]))
        memcpy(s->throttle, h.throttle, sizeof h.throttle);
    if (!h.throttle_bits) s->throttled_in_a_row = 0;
    if (h.clock_mhz >= 0 && s->n_clock < HEALTH_MOST) s->clock[s->n_clock++] = h.clock_mhz;
    if (h.temp_c >= 0 && s->n_temp < HEALTH_MOST) s->temp[s->n_temp++] = h.temp_c;
    return &s->kept;
}

/* Repetitions of something short vary by more than their median is wanted to be known: a sample is
 * of several. Each has its own flush, outside of what is timed. */
static int group_for(double us) {
    if (!(us > 0) || us > SHORT_US) return 1;
    double n = ceil(GROUP_US / us);
    return n < GROUP_MOST ? (int)n : GROUP_MOST;
}

static enum ws_status take_batch(struct sampler *s, int samples, bool keep, struct diag *d) {
    int n = s->subject->n, group = s->group ? s->group : 1, runs = samples * group;
    double *us = calloc((size_t)runs * (size_t)(n + 3), sizeof *us);
    struct sample_extra *extra = calloc((size_t)runs, sizeof *extra);
    if (!us || !extra) {
        free(us);
        free(extra);
        return diag_fail(d, WS_MACHINE, "out of memory for %d samples", runs);
    }
    double *sum = us + (size_t)runs * (size_t)n, *host = sum + runs, *span = host + runs;
    double begun = clock_ms();
    if (device_time(s->dev, s->subject->launches, n, runs, true, us, extra, d) == WS_OK) {
        s->sample_ms = (clock_ms() - begun) / samples;
        for (int k = 0; k < runs; k++) {
            for (int i = 0; i < n; i++) sum[k] += us[(size_t)k * (size_t)n + (size_t)i];
            host[k] = extra[k].host_us;
            span[k] = extra[k].span_us;
        }
        if (!s->group) s->group = group_for(sum[0]);
        struct series *to = keep ? judge_health(s) : NULL;
        for (int k = 0; to && k < samples; k++) {
            series_add(to, stats_middle_mean(sum + k * group, group));
            series_add(&s->host, stats_middle_mean(host + k * group, group));
            series_add(&s->span, stats_middle_mean(span + k * group, group));
        }
        if (to == &s->throttled) usleep(COOL_DOWN_US);
    }
    free(us);
    free(extra);
    return d->status;
}

static struct sampler sampler_start(struct device *dev, const struct subject *subject) {
    return (struct sampler){.dev = dev, .subject = subject, .started_ms = clock_ms()};
}

/* Never no samples: if every batch was throttled, these are what there is, and the column says so.
 */
static struct timing sampler_end(struct sampler *s) {
    struct timing t = timing_none();
    const struct series *use = s->kept.n ? &s->kept : &s->throttled;
    t.us = stats_of(use->at, use->n);
    t.n_throttled = s->throttled.n;
    t.host_us = middle(s->host.at, s->host.n);
    t.span_us = middle(s->span.at, s->span.n);
    t.clock_mhz = middle(s->clock, s->n_clock);
    t.temp_c = middle(s->temp, s->n_temp);
    memcpy(t.throttle, s->throttle, sizeof t.throttle);
    free(s->kept.at);
    free(s->throttled.at);
    free(s->host.at);
    free(s->span.at);
    return t;
}

/* ---- when to stop ---------------------------------------------------------------------------- */

static int least_samples(const struct sampler *s, const struct measure_rule *r) {
    return s->sample_ms > SLOW_SAMPLE_MS && r->min_n > SLOW_MIN_N ? SLOW_MIN_N : r->min_n;
}

static bool is_known(const struct sampler *s, const struct measure_rule *r) {
    int n = s->kept.n, least = least_samples(s, r);
    if (n >= r->max_n) return true;
    /* stats_enough cannot answer below STATS_MIN_N: slow subjects then end by the wall clock. */
    if (stats_enough(s->kept.at, n, r->rel_ci, least)) return true;
    return n >= least && clock_ms() - s->started_ms > r->wall_ms;
}

static bool is_hopeless(const struct sampler *s, const struct measure_rule *r) {
    return s->kept.n && stats_of(s->kept.at, s->kept.n).min > r->drop_us;
}

static int next_batch(const struct sampler *s, const struct measure_rule *r) {
    if (!s->kept.n) return r->max_n < FIRST_BATCH ? r->max_n : FIRST_BATCH;
    int n = (int)fmax(1, fmin(BATCH_MOST, BATCH_MS / fmax(s->sample_ms, 1e-3)));
    return s->kept.n + n > r->max_n ? r->max_n - s->kept.n : n;
}

enum ws_status measure_alone(struct device *dev, struct subject *subject,
                             const struct measure_rule *r, struct diag *d) {
    struct sampler s = sampler_start(dev, subject);
    bool dropped = false;
    take_batch(&s, 1, false, d);
    while (d->status == WS_OK && !is_known(&s, r) && !dropped && !interrupted()) {
        take_batch(&s, next_batch(&s, r), true, d);
        dropped = is_hopeless(&s, r);
    }
    subject->timing = sampler_end(&s);
    subject->timing.dropped = dropped;
    return d->status;
}

enum ws_status measure_together(struct device *dev, struct subject *subjects, int n,
                                const struct measure_rule *r, struct diag *d) {
    struct sampler *s = calloc((size_t)n + 1, sizeof *s);
    if (!s) return diag_fail(d, WS_MACHINE, "out of memory for %d subjects", n);
    for (int i = 0; i < n; i++) {
        s[i] = sampler_start(dev, &subjects[i]);
        if (d->status == WS_OK) take_batch(&s[i], 1, false, d);
    }
    for (bool all_known = false; !all_known && d->status == WS_OK && !interrupted();) {
        for (int i = 0; i < n && d->status == WS_OK; i++) take_batch(&s[i], TURN, true, d);
        all_known = true;
        for (int i = 0; i < n; i++) all_known &= is_known(&s[i], r);
    }
    for (int i = 0; i < n; i++) subjects[i].timing = sampler_end(&s[i]);
    free(s);
    return d->status;
}
