/* measure.c: batches of samples until the noise says stop.
 *
 *   warm-up | 2 samples: hopeless? | batches until median +-1 %, 100 samples or 0.25 s
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
    HOPELESS_N = 2,       /* single samples that decide whether a variant is hopeless: one alone */
                          /* may have met a process that was stopped, or a busy core */
    GROUP_MOST = 16,      /* repetitions of something short that make up one sample */
    BATCH_MOST = 16,      /* samples */
    TURN = 2,             /* samples of one subject before the next has its turn */
    SLOW_TUNING = 3,      /* samples that are enough where one takes long, to find who is good, */
    SLOW_FINAL = 5,       /* and to say how good */
    LONG_MIN_N = 2,       /* and where one takes very long */
    THROTTLED_MOST = 3,   /* throttled batches in a row, then they count */
    COOL_DOWN_US = 50000, /* after a throttled batch, and again until the device is so no more; */
    COOL_DOWN_MOST = 8,   /* so often, then it will not be soon; */
    RESTS_TUNING = 2,  /* and so often for one subject: a GPU at its power limit loses 2 to 4 %, */
    RESTS_FINAL = 30,  /* which tells nobody who may be the best, but is what is reported: of all */
                       /* subjects, which have their turns under the same power */
    HEALTH_MOST = 256, /* readings kept */
};
#define BATCH_MS 20.0
#define SHORT_US 20.0 /* what is no longer than this is repeated within a sample, */
#define GROUP_US 80.0 /* until the sample is of about so long */
#define SLOW_SAMPLE_MS 20.0
#define LONG_SAMPLE_MS 200.0
#define TUNING_MS 250.0 /* wall time after which a subject is known well enough to be chosen by, */
#define FINAL_MS 500.0  /* and to be reported */
#define PATIENCE 50     /* a batch may take so many times as long as the ones before */

struct series {
    double *at;
    int n, cap;
};

struct sampler {
    struct device *dev;
    const struct subject *subject;
    struct series kept, throttled, host; /* kept, throttled: kernels' times, added up */
    struct series span, throttled_span;  /* of those repetitions that were queued as a whole */
    double clock[HEALTH_MOST], temp[HEALTH_MOST];
    int n_clock, n_temp;
    char throttle[TIMING_THROTTLE];
    int throttled_in_a_row;
    double sample_ms; /* wall time of one, flush included */
    double first_us;  /* of the warm-up, its launches added up */
    double limit_ms;  /* of the rule */
    int rests;        /* left, of the rule's */
    int group;        /* repetitions that make up one sample; 0: not known yet */
    double started_ms;
};

struct timing timing_none(void) {
    return (struct timing){.us = stats_none(),
                           .host_us = NAN,
                           .kernels_us = NAN,
                           .span_us = NAN,
                           .load_us = NAN,
                           .kept_bytes = NAN,
                           .clock_mhz = NAN,
                           .temp_c = NAN,
                           .throttle = ""};
}

struct measure_rule measure_rule_default(int max_n) {
    return (struct measure_rule){.rel_ci = 0.01,
                                 .min_n = 10,
                                 .slow_n = SLOW_TUNING,
                                 .max_n = max_n,
                                 .wall_ms = TUNING_MS,
                                 .drop_us = INFINITY,
                                 .limit_ms = INFINITY,
                                 .rests = RESTS_TUNING};
}

struct measure_rule measure_rule_final(int max_n, int n) {
    return (struct measure_rule){.rel_ci = 0.003,
                                 .min_n = max_n < 30 ? max_n : 30,
                                 .slow_n = SLOW_FINAL,
                                 .max_n = 4 * max_n,
                                 .wall_ms = FINAL_MS * n,
                                 .drop_us = INFINITY,
                                 .limit_ms = INFINITY,
                                 .rests = RESTS_FINAL / n > RESTS_TUNING ? RESTS_FINAL / n
                                                                         : RESTS_TUNING + 1};
}

struct measure_rule measure_rule_choice(int max_n, int n) {
    struct measure_rule r = measure_rule_final(max_n, n);
    r.wall_ms = TUNING_MS * n;
    return r;
}

struct measure_rule measure_rule_of_part(struct measure_rule r, double part) {
    enum { LEAST_N = 10 };
    const double WHOLE = 0.25, COARSEST = 0.02;
    double less = fmin(WHOLE / fmax(part, 1e-6), COARSEST / r.rel_ci);
    if (!(less > 1)) return r;
    r.rel_ci *= less;
    r.wall_ms /= less;
    r.min_n = (int)fmax(r.min_n / less, r.min_n < LEAST_N ? r.min_n : LEAST_N);
    r.max_n = (int)fmax(r.max_n / less, r.min_n < r.max_n ? r.min_n : r.max_n);
    return r;
}

static void series_add(struct series *s, double v) {
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->at = realloc(s->at, sizeof *s->at * (size_t)s->cap);
        if (!s->at) WS_BUG("out of memory for %d samples", s->cap);
    }
    s->at[s->n++] = v;
}

static double middle(const struct series *s) { return s->n ? stats_of(s->at, s->n).median : NAN; }

/* What a subject is judged by. One launch takes as long as its kernel. Of several, what the caller
 * waits for is the time from the first one's start to the last one's end; unless most repetitions
 * had gaps in which the device waited for the host. */
static const struct series *judged_by(const struct sampler *s) {
    bool span = s->subject->n > 1 && s->span.n && 2 * s->span.n >= s->kept.n;
    return span ? &s->span : &s->kept;
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* Is the batch to be set aside, as the device was held back? Clock and temperature of such a one
 * are no one's. *hot: it was, even if the batch counts. */
static bool is_throttled(struct sampler *s, bool *hot) {
    struct health h;
    device_health(s->dev, &h);
    *hot = h.throttle_bits != 0;
    if (h.throttle_bits && s->throttled_in_a_row < THROTTLED_MOST) {
        s->throttled_in_a_row++;
        memcpy(s->throttle, h.throttle, sizeof h.throttle);
        return true;
    }
    if (h.throttle_bits || (h.throttle[0] && !s->throttle[0]))
        memcpy(s->throttle, h.throttle, sizeof h.throttle);
    if (!h.throttle_bits) s->throttled_in_a_row = 0;
    if (h.clock_mhz >= 0 && s->n_clock < HEALTH_MOST) s->clock[s->n_clock++] = h.clock_mhz;
    if (h.temp_c >= 0 && s->n_temp < HEALTH_MOST) s->temp[s->n_temp++] = h.temp_c;
    return false;
}

/* Repetitions of something short vary by more than their median is wanted to be known: a sample is
 * of several. Each has its own flush, outside of what is timed. */
static int group_for(double us) {
    if (!(us > 0) || us > SHORT_US) return 1;
    double n = ceil(GROUP_US / us);
    return n < GROUP_MOST ? (int)n : GROUP_MOST;
}

/* Repetitions as a batch has them: device times of the launches added up, and the rest. */
struct repetitions {
    int n, group; /* group: of them make up a sample */
    double *sum, *host, *span;
    bool *queued;
};

static void keep_sample(struct sampler *s, struct repetitions *r, int first, bool throttled) {
    int queued = 0;
    for (int k = first; k < first + r->group; k++)
        if (r->queued[k]) r->span[first + queued++] = r->span[k];
    series_add(throttled ? &s->throttled : &s->kept, stats_middle_mean(r->sum + first, r->group));
    series_add(&s->host, stats_middle_mean(r->host + first, r->group));
    if (queued)
        series_add(throttled ? &s->throttled_span : &s->span,
                   stats_middle_mean(r->span + first, queued));
}

/* Batches that count although they are throttled have a rest before them, too: a device that is
 * always at its power limit would else be slower the more is timed on it. */
static void cool_down(struct sampler *s) {
    struct health h = {.throttle_bits = 1};
    for (int i = 0; h.throttle_bits && i < COOL_DOWN_MOST && s->rests; i++) {
        usleep(COOL_DOWN_US);
        s->rests--;
        device_health(s->dev, &h);
    }
}

static void keep_batch(struct sampler *s, struct repetitions *r) {
    bool hot, set_aside = is_throttled(s, &hot);
    for (int k = 0; k + r->group <= r->n; k += r->group) keep_sample(s, r, k, set_aside);
    if (hot) cool_down(s);
}

static enum ws_status take_batch(struct sampler *s, int samples, bool keep, struct diag *d) {
    int n = s->subject->n, group = s->group ? s->group : 1, runs = samples * group;
    double *us = calloc((size_t)runs * (size_t)(n + 3), sizeof *us);
    struct sample_extra *extra = calloc((size_t)runs, sizeof *extra);
    bool *queued = calloc((size_t)runs, sizeof *queued);
    if (us && extra && queued) {
        double *sum = us + (size_t)runs * (size_t)n, begun = clock_ms();
        struct repetitions r = {runs, group, sum, sum + runs, sum + 2 * runs, queued};
        if (s->limit_ms < INFINITY)
            device_limit(s->dev, fmax(s->limit_ms, PATIENCE * samples * s->sample_ms));
        if (device_time(s->dev, s->subject->launches, n, runs, true, us, extra, d) == WS_OK) {
            s->sample_ms = (clock_ms() - begun) / samples;
            for (int k = 0; k < runs; k++) {
                for (int i = 0; i < n; i++) sum[k] += us[(size_t)k * (size_t)n + (size_t)i];
                r.host[k] = extra[k].host_us;
                r.span[k] = extra[k].span_us;
                r.queued[k] = extra[k].queued;
            }
            if (!s->group) s->group = group_for(sum[0]), s->first_us = sum[0];
            if (keep) keep_batch(s, &r);
        }
        if (s->limit_ms < INFINITY) device_limit(s->dev, s->limit_ms);
    } else {
        diag_fail(d, WS_MACHINE, "out of memory for %d samples", runs);
    }
    free(us);
    free(extra);
    free(queued);
    return d->status;
}

static struct sampler sampler_start(struct device *dev, const struct subject *subject,
                                    const struct measure_rule *r) {
    return (struct sampler){.dev = dev,
                            .subject = subject,
                            .limit_ms = r->limit_ms,
                            .rests = r->rests,
                            .started_ms = clock_ms()};
}

/* Never no samples: if every batch was throttled, these are what there is, and the column says so.
 */
static struct timing sampler_end(struct sampler *s) {
    struct timing t = timing_none();
    t.n_throttled = s->throttled.n;
    if (!s->kept.n) {
        struct series none = s->kept, no_span = s->span;
        s->kept = s->throttled, s->throttled = none;
        s->span = s->throttled_span, s->throttled_span = no_span;
    }
    const struct series *use = judged_by(s);
    t.us = stats_of(use->at, use->n);
    t.kernels_us = middle(&s->kept);
    t.span_us = middle(&s->span);
    t.host_us = middle(&s->host);
    t.clock_mhz = s->n_clock ? stats_of(s->clock, s->n_clock).median : NAN;
    t.temp_c = s->n_temp ? stats_of(s->temp, s->n_temp).median : NAN;
    memcpy(t.throttle, s->throttle, sizeof t.throttle);
    free(s->kept.at);
    free(s->throttled.at);
    free(s->host.at);
    free(s->span.at);
    free(s->throttled_span.at);
    return t;
}

/* ---- when to stop ---------------------------------------------------------------------------- */

static bool is_slow(const struct sampler *s) { return s->sample_ms > SLOW_SAMPLE_MS; }

static int least_samples(const struct sampler *s, const struct measure_rule *r) {
    int least = s->sample_ms > LONG_SAMPLE_MS ? LONG_MIN_N : r->slow_n;
    return is_slow(s) && r->min_n > least ? least : r->min_n;
}

/* Of fewer than STATS_MIN_N, which slow subjects have, the interval is their whole range. */
static bool is_exact(const struct series *by, const struct measure_rule *r, int least) {
    if (by->n < least || by->n < LONG_MIN_N) return false;
    struct stats us = stats_of(by->at, by->n);
    return stats_rel_ci(&us) <= r->rel_ci;
}

static bool is_known(const struct sampler *s, const struct measure_rule *r) {
    const struct series *by = judged_by(s);
    int n = s->kept.n, least = least_samples(s, r);
    if (n >= r->max_n) return true;
    if (is_slow(s) ? is_exact(by, r, least) : stats_enough(by->at, by->n, r->rel_ci, least))
        return true;
    return n >= least && clock_ms() - s->started_ms > r->wall_ms;
}

static bool seems_hopeless(const struct sampler *s, const struct measure_rule *r) {
    const struct series *by = judged_by(s);
    return by->n && stats_of(by->at, by->n).min > r->drop_us;
}

/* Where one takes long the warm-up is the second that says so. */
static bool is_hopeless(const struct sampler *s, const struct measure_rule *r) {
    int first = is_slow(s) && s->first_us > r->drop_us;
    return s->kept.n + first >= HOPELESS_N && seems_hopeless(s, r);
}

static int next_batch(const struct sampler *s, const struct measure_rule *r) {
    if (!s->kept.n || seems_hopeless(s, r)) return 1;
    int n = (int)fmax(1, fmin(BATCH_MOST, BATCH_MS / fmax(s->sample_ms, 1e-3)));
    return s->kept.n + n > r->max_n ? r->max_n - s->kept.n : n;
}

enum ws_status measure_alone(struct device *dev, struct subject *subject,
                             const struct measure_rule *r, struct diag *d) {
    struct sampler s = sampler_start(dev, subject, r);
    bool dropped = false;
    take_batch(&s, 1, false, d);
    while (d->status == WS_OK && !is_known(&s, r) && !dropped && !interrupted()) {
        take_batch(&s, next_batch(&s, r), true, d);
        dropped = is_hopeless(&s, r);
    }
    subject->failed = d->status != WS_OK;
    subject->timing = sampler_end(&s);
    subject->timing.dropped = dropped;
    return d->status;
}

/* Whose batch it was is told with the failure. */
static void take_turn(struct sampler *s, struct subject *subject, int samples, bool keep,
                      struct diag *d) {
    if (d->status != WS_OK) return;
    subject->failed = take_batch(s, samples, keep, d) != WS_OK;
}

/* What is slow is sampled no more once it is known, however long others take. */
static void take_turns(struct sampler *s, struct subject *subjects, int n,
                       const struct measure_rule *r, struct diag *d) {
    for (int i = 0; i < n; i++)
        if (!is_slow(&s[i]) || !is_known(&s[i], r))
            take_turn(&s[i], &subjects[i], s[i].sample_ms > LONG_SAMPLE_MS ? 1 : TURN, true, d);
}

enum ws_status measure_together(struct device *dev, struct subject *subjects, int n,
                                const struct measure_rule *r, struct diag *d) {
    struct sampler *s = calloc((size_t)n + 1, sizeof *s);
    if (!s) return diag_fail(d, WS_MACHINE, "out of memory for %d subjects", n);
    for (int i = 0; i < n; i++) {
        s[i] = sampler_start(dev, &subjects[i], r);
        subjects[i].failed = false;
        take_turn(&s[i], &subjects[i], 1, false, d);
    }
    for (bool all_known = false; !all_known && d->status == WS_OK && !interrupted();) {
        take_turns(s, subjects, n, r, d);
        all_known = true;
        for (int i = 0; i < n; i++) all_known &= is_known(&s[i], r);
    }
    for (int i = 0; i < n; i++) subjects[i].timing = sampler_end(&s[i]);
    free(s);
    return d->status;
}
