/* change.c: baselines, steps and drifts in a series of nights.
 *
 *   100 101 99 100 101 | 103 103 104   ->   SLOWER since the sixth night by 3.3 %
 *
 * Every night is judged in its turn by those before it, so that what was said of it stays said.
 * The noise counts as Student's t: a handful of nights says little about it, and the prior what
 * is left. Noise of two levels (a clock that sometimes boosts) is no bell curve, and its three
 * slow nights in a row are not rare: unless many nights show one level only, these nights must be
 * rare among all ways to choose as many of those that are known, too. That is right for noise of
 * any shape whose nights do not depend on each other (Fisher, Design of Experiments, 1935). */
#include "reports/change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reports/text.h"

/* How rare noise must be that is as far, for so many nights: the rates add up to less than one
 * false alarm in 1,000 nights (scripts/bench_history.sh). Three runs get most of it: they are to
 * find 3 % at 1 % noise. A faster level is not urgent, and moves the baseline: it must be a
 * hundred times rarer. */
static const struct window {
    size_t n;
    double alpha;
} windows[] = {{1, 2e-4}, {2, 2e-4}, {3, 1.5e-3}, {5, 5e-5}, {8, 5e-5}};
enum {
    N_WINDOWS = sizeof windows / sizeof *windows,
    MOST_NIGHTS = 8,  /* of a window */
    LEAST_KNOWN = 4,  /* nights before three of one run: there are 35 ways to choose 3 of 7 */
    SHAPE_KNOWN = 40, /* that show of how many levels they are */
    POOLED = 60,      /* most that are chosen from */
    PLACES = 512,     /* that their values are rounded to, from the least to the largest */
    LOOK_BACK = 8
};

#define PERMUTED 0.4 /* of the rate: of nights of two levels, or too few to tell */
#define WIDE 4.6     /* times the variance: one window of three in 100 is wider */
#define TREND_ALPHA 3e-5
#define FASTER_ALPHA 0.01 /* of that */
#define SUSPICIOUS 0.05
#define NOISE_WIDE 0.01

/* ---- distributions --------------------------------------------------------------------------- */

static double normal_tail(double z) { return 0.5 * erfc(z / sqrt(2)); }

/* Wallace's approximation (1959): the z whose normal tail is Student's tail of t. */
static double normal_of_student(double t, double freedom) {
    double z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
    return t < 0 ? -z : z;
}

double change_tail(double t, double freedom) { return normal_tail(normal_of_student(t, freedom)); }

/* The t with 2.5 % above it. */
static double student_975(double freedom) {
    double z = 1.959964 * (8 * freedom + 3) / (8 * freedom + 1);
    return sqrt(freedom * expm1(z * z / freedom));
}

/* ---- the nights that count ------------------------------------------------------------------- */

/* The nights of a start that are not left out, side by side, with sums of all before each: of the
 * values and their priors' squares; and of the values less the first, of their squares, and of
 * place times value. A night of a long history costs as much as one of a short one by these. */
struct sums {
    double value, prior, off, squares, moments;
};

struct kept {
    size_t *night;
    struct sums *before; /* n + 1 of them */
    size_t n;
};

static void keep_night(struct kept *k, const struct change_night *nights, size_t i) {
    struct sums s = k->n ? k->before[k->n] : (struct sums){0};
    if (!k->n) k->before[0] = s;
    double off = nights[i].value - nights[k->n ? k->night[0] : i].value;
    s.value += nights[i].value;
    s.prior += nights[i].prior * nights[i].prior;
    s.off += off;
    s.squares += off * off;
    s.moments += off * (double)k->n;
    k->night[k->n++] = i;
    k->before[k->n] = s;
}

/* How many are of nights before `end`. */
static size_t kept_before(const struct kept *k, size_t end) {
    size_t n = k->n;
    while (n && k->night[n - 1] >= end) n--;
    return n;
}

/* The sum of squares of nights [i, j) about their mean. */
static double about_mean(const struct kept *k, size_t i, size_t j) {
    double sum = k->before[j].off - k->before[i].off, n = (double)(j - i);
    return n > 0 ? fmax(0, k->before[j].squares - k->before[i].squares - sum * sum / n) : 0;
}

/* ---- the noise ------------------------------------------------------------------------------- */

struct series {
    const struct change_night *nights;
    bool *in;         /* the night is part of a baseline's level */
    size_t *from;     /* the start that its baseline goes back to */
    struct kept kept; /* of the last start */
};

/* The level, of the first nights of the baseline, and the noise, of all that are not left out. */
struct baseline {
    double mean;
    size_t first, n;
    size_t of;     /* nights that the noise is that of, of the kept ones */
    size_t n_pool; /* and how many there are to choose from: fill_pool */
    double sd, freedom;
};

/* The last nights of the noise, less the mean, or less that of their own level. */
struct pool {
    double off[POOLED];
    size_t n;
};

/* Nights [first, *end) of the level that ends before *end; false if there is none. */
static bool earlier_level(const struct series *s, size_t *first, size_t *end) {
    while (*end > 0 && !s->in[*end - 1]) --*end;
    if (*end) *first = s->from[*end - 1];
    return *end > 0;
}

/* Nights [first, end) of an earlier level: how many are in, and their sum of squares about the
 * mean. Those that are in go to the pool, if there is one, the last first, as wide as nights lie
 * about a mean that has none of them. */
static size_t level_noise(const struct series *s, size_t first, size_t end, double *squares,
                          struct pool *pool) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = first; i < end; i++)
        if (s->in[i] && s->from[i] == first) sum += s->nights[i].value, n++;
    *squares = 0;
    for (size_t i = end; i-- > first;) {
        if (!s->in[i] || s->from[i] != first) continue;
        double off = s->nights[i].value - sum / (double)n;
        *squares += off * off;
        if (pool && pool->n < POOLED && n > 1)
            pool->off[pool->n++] = off * sqrt((double)n / (double)(n - 1));
    }
    return n;
}

/* Kept nights [i, j), about their mean, into the pool: those that the level is the mean of as they
 * are, others as in level_noise. */
static void pool_kept(const struct series *s, size_t i, size_t j, bool pinned, struct pool *pool) {
    const struct kept *k = &s->kept;
    double n = (double)(j - i), mean = (k->before[j].value - k->before[i].value) / n;
    double wide = pinned ? 1 : sqrt(n / (n - 1));
    if (!pinned && j - i < 2) return;
    while (j-- > i && pool->n < POOLED)
        pool->off[pool->n++] = (s->nights[k->night[j]].value - mean) * wide;
}

/* Only a test that is about to pass needs it. */
static void fill_pool(const struct series *s, const struct baseline *b, struct pool *pool) {
    double squares;
    pool->n = 0;
    pool_kept(s, b->n, b->of, false, pool);
    pool_kept(s, 0, b->n, true, pool);
    for (size_t first = s->kept.night[0], last = first;
         pool->n < POOLED && earlier_level(s, &first, &last); last = first)
        level_noise(s, first, last, &squares, pool);
}

/* Of the kept nights before `end`. False if there is none. */
static bool know_baseline(const struct series *s, size_t start, size_t end, struct baseline *b) {
    const struct kept *k = &s->kept;
    size_t of = kept_before(k, end), pinned = of < CHANGE_PINNED ? of : CHANGE_PINNED;
    if (!of) return false;
    *b = (struct baseline){k->before[pinned].value / (double)pinned,     k->night[0], pinned, of,
                           pinned + (of - pinned > 1 ? of - pinned : 0), 0,           0};
    double squares = CHANGE_PRIOR * k->before[pinned].prior / (double)pinned +
                     about_mean(k, pinned, of) + about_mean(k, 0, pinned);
    size_t freedom = CHANGE_PRIOR + pinned - 1 + (of > pinned ? of - pinned - 1 : 0);
    for (size_t first = start, last = start; b->n_pool < POOLED && earlier_level(s, &first, &last);
         last = first) {
        double own;
        size_t n = level_noise(s, first, last, &own, NULL);
        squares += own;
        if (n > 1) freedom += n - 1, b->n_pool += n;
    }
    b->freedom = (double)freedom;
    b->sd = sqrt(squares / b->freedom);
    return true;
}

/* ---- one test -------------------------------------------------------------------------------- */

/* ways[k * width + sum]: how many choices of k of the places given so far have that sum. */
static void add_place(double *ways, size_t width, size_t n, size_t place) {
    for (size_t k = n; k > 0; k--)
        for (size_t sum = width; sum-- > place;)
            ways[k * width + sum] += ways[(k - 1) * width + sum - place];
}

/* Of all ways to choose n of the nights that are known and these n, how many have a mean that lies
 * as far as these n do; *all: of how many. Choices are counted by their sums, of values rounded to
 * places (Pagano and Tritchler, 1983). What is further off than any such mean needs is cut. */
static double count_choices(const struct pool *pool, const double *values, size_t n, double side,
                            double *all) {
    size_t known = pool->n + n, width = n * (PLACES - 1) + 1, ours = 0;
    double most = 0, low = INFINITY, high = -INFINITY, far = 0;
    double *v = memory_resize(NULL, known, sizeof *v);
    double *ways = memory_resize(NULL, (n + 1) * width, sizeof *ways);
    memset(ways, 0, (n + 1) * width * sizeof *ways);
    ways[0] = 1;
    for (size_t i = 0; i < n; i++) most = fmax(most, (double)(n + 1) * fabs(values[i]));
    for (size_t i = 0; i < known; i++) {
        v[i] = side * (i < n ? values[i] : pool->off[i - n]);
        v[i] = fmin(most, fmax(-most, v[i]));
        low = fmin(low, v[i]), high = fmax(high, v[i]);
    }
    for (size_t i = 0; i < known; i++) {
        size_t place = high > low ? (size_t)((v[i] - low) / (high - low) * (PLACES - 1)) : 0;
        if (i < n) ours += place;
        add_place(ways, width, n, place);
    }
    *all = 0;
    for (size_t sum = 0; sum < width; sum++) {
        *all += ways[n * width + sum];
        if (sum >= ours) far += ways[n * width + sum];
    }
    free(v);
    free(ways);
    return far;
}

/* Of two levels there are fewer nights half way to the other than there. Three nights of both are
 * further apart than those of one. */
static bool is_one_level(const struct baseline *b, const struct pool *pool, double shift,
                         const double *values, size_t n) {
    size_t there = 0, half_way = 0;
    double about = 0;
    if (pool->n < SHAPE_KNOWN) return false;
    for (size_t i = 0; i < pool->n; i++) {
        there += pool->off[i] / shift >= 0.75;
        half_way += pool->off[i] / shift >= 0.25 && pool->off[i] / shift < 0.75;
    }
    for (size_t i = 0; i < n; i++) about += (values[i] - shift) * (values[i] - shift);
    return half_way >= 2 * there && about <= WIDE * (double)(n - 1) * b->sd * b->sd;
}

struct test {
    double shift, error; /* the standard error of the shift */
    double tail;         /* P(noise alone is as far in this direction) */
    bool passed;         /* both gates */
    size_t window;
};

/* One night that is far off makes no three: most must be half as far as their mean. */
static bool nights_agree(const struct series *s, double base, size_t end, size_t n, double shift) {
    size_t far = 0;
    for (size_t i = end - n; i < end; i++) far += (s->nights[i].value - base) / shift >= 0.5;
    return 2 * far > n;
}

static struct test test_window(const struct series *s, const struct baseline *b, size_t end,
                               struct window w, double least) {
    double sum = 0;
    size_t runs = 0;
    for (size_t i = end - w.n; i < end; i++) {
        sum += s->nights[i].value;
        runs += s->nights[i].runs;
    }
    struct test t = {.window = w.n, .shift = sum / (double)w.n - b->mean};
    t.error = b->sd * sqrt(1 / (double)w.n + 1 / (double)b->n);
    t.tail = change_tail(fabs(t.shift) / t.error, b->freedom);
    /* Where noise is wide, the threshold keeps none of the tests back, and they share the rate. */
    double alpha = w.alpha * fmin(1, NOISE_WIDE / b->sd) * (t.shift < 0 ? FASTER_ALPHA : 1);
    if (t.tail > alpha || fabs(t.shift) < least || runs < CHANGE_RUNS || w.n > MOST_NIGHTS ||
        (w.n >= CHANGE_RUNS && b->n_pool < LEAST_KNOWN) ||
        !nights_agree(s, b->mean, end, w.n, t.shift))
        return t;
    double values[MOST_NIGHTS], all;
    struct pool pool;
    fill_pool(s, b, &pool);
    for (size_t i = 0; i < w.n; i++) values[i] = s->nights[end - w.n + i].value - b->mean;
    t.passed = is_one_level(b, &pool, t.shift, values, w.n);
    if (t.passed) return t;
    double far = count_choices(&pool, values, w.n, t.shift > 0 ? 1 : -1, &all);
    t.tail = fmax(t.tail, far / all);
    t.passed = far / all <= PERMUTED * alpha || far < 2;
    return t;
}

/* ---- where it began -------------------------------------------------------------------------- */

/* Where the second of the two levels begins that fit best, at `least` or later. */
static size_t best_split(const struct kept *k, size_t least, double *error) {
    size_t best = k->n - 1;
    *error = INFINITY;
    for (size_t split = least ? least : 1; split < k->n; split++) {
        double e = about_mean(k, 0, split) + about_mean(k, split, k->n);
        if (e < *error) *error = e, best = split;
    }
    return best;
}

struct line {
    double slope, error; /* a night; and its standard error */
    double squares;      /* about the line */
};

/* Through nights [i, j), three or more, by least squares. */
static struct line fit_line(const struct kept *k, size_t i, size_t j) {
    double n = (double)(j - i), sum = k->before[j].off - k->before[i].off;
    double xx = n * (n * n - 1) / 12;
    double xy = k->before[j].moments - k->before[i].moments - ((double)i + (n - 1) / 2) * sum;
    struct line l = {.slope = xy / xx};
    l.squares = fmax(0, about_mean(k, i, j) - xy * xy / xx);
    l.error = sqrt(l.squares / (n - 2) / xx);
    return l;
}

/* A line through the last nights rises or falls for certain, and by more than `least` in all. */
static bool is_drifting(const struct kept *k, double least, struct test *t) {
    size_t n = k->n < CHANGE_TREND_MOST ? k->n : CHANGE_TREND_MOST;
    if (n < CHANGE_TREND) return false;
    struct line l = fit_line(k, k->n - n, k->n);
    double all = l.slope * (double)(n - 1), error = l.error * (double)(n - 1);
    if (!(fabs(all) >= least)) return false;
    double tail = error > 0 ? change_tail(fabs(all) / error, (double)(n - 2)) : 0;
    if (tail > TREND_ALPHA * (all < 0 ? FASTER_ALPHA : 1)) return false;
    *t = (struct test){all, error, tail, true, n};
    return true;
}

/* A level and then, from *bend on, a line; false if two levels, whose error is `step`, fit as well.
 * What a bend can be fitted to more freely counts as in Schwarz's criterion (1978). */
static bool is_line(const struct kept *k, double step, size_t *bend) {
    double best = INFINITY, n = (double)k->n, freer = exp(3 * log(n) / n);
    *bend = 0;
    for (size_t i = 0; i + CHANGE_TREND <= k->n; i++) {
        double e = fit_line(k, i, k->n).squares + about_mean(k, 0, i);
        if (i) e *= freer;
        if (e < best) best = e, *bend = i;
    }
    return best < step;
}

/* ---- night after night ----------------------------------------------------------------------- */

struct follower {
    struct series s;
    double least;
    size_t start; /* of the baseline */
    bool changed; /* a change is on: nights since are not of the baseline */
    size_t since;
    enum change_verdict is;
    enum change_shape shape;
};

static void say(struct change *c, const struct baseline *b, const struct test *t) {
    c->window = t->window;
    c->base = b->mean, c->base_first = b->first, c->base_n = b->n;
    c->noise = b->sd;
    double wide = student_975(b->freedom) * t->error;
    c->shift = t->shift, c->low = t->shift - wide, c->high = t->shift + wide;
    c->confidence = 1 - t->tail;
}

/* Nights from there on, up to the last one, are left out. */
static void leave_out(struct follower *f, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) f->s.in[i] = false;
    f->s.kept.n = kept_before(&f->s.kept, from);
}

/* Nights behind all that are kept are, too. */
static void take_in(struct follower *f, size_t from, size_t end) {
    for (size_t i = from; i < end; i++) {
        f->s.in[i] = true;
        f->s.from[i] = f->start;
        keep_night(&f->s.kept, f->s.nights, i);
    }
}

static void start_at(struct follower *f, size_t start) {
    f->start = start;
    f->changed = false;
    f->s.kept.n = 0;
}

/* The change that is on: is it still there? Its nights stay out of the baseline if not, too. */
static bool goes_on(struct follower *f, size_t end, struct change *c) {
    struct baseline b;
    if (!know_baseline(&f->s, f->start, f->since, &b)) return false;
    size_t n = end - f->since, last = 0, runs = 0;
    while (last < n && runs < CHANGE_RUNS) runs += f->s.nights[end - ++last].runs;
    struct window tonight = {last, CHANGE_ALPHA},
                  whole = {f->shape == CHANGE_DRIFT ? last : n, CHANGE_ALPHA};
    struct test all = test_window(&f->s, &b, end, whole, f->least);
    struct test now = test_window(&f->s, &b, end, tonight, f->least);
    /* Nearer to the level before tonight than to the baseline? */
    double level = now.shift;
    if (last < n)
        level =
            test_window(&f->s, &b, end - last, (struct window){n - last, CHANGE_ALPHA}, f->least)
                .shift;
    bool there = f->is == CHANGE_SLOWER ? now.shift > level / 2 && level > 0
                                        : now.shift < level / 2 && level < 0;
    if (!there || fabs(all.shift) < f->least / 2) return false;
    say(c, &b, &all);
    c->verdict = f->is, c->shape = f->shape, c->since = f->since;
    return true;
}

/* Date the change by all nights that are known by now, and take those since out of the baseline.
 * What drifts from the start on is held against its first night. */
static void date(struct follower *f, size_t end) {
    const struct kept *k = &f->s.kept;
    double error;
    size_t look_from = f->changed ? f->since : end - 1, least = 1, bend;
    look_from = look_from > LOOK_BACK ? look_from - LOOK_BACK : 0;
    while (least + 1 < k->n && k->night[least] < look_from) least++;
    size_t split = best_split(k, least, &error);
    f->shape = is_line(k, error, &bend) ? CHANGE_DRIFT : CHANGE_STEP;
    if (f->shape == CHANGE_DRIFT) split = bend ? bend : 1;
    f->since = k->night[split];
    leave_out(f, f->since, end);
    f->changed = true;
}

/* Three nights and more are faster for certain: they are the baseline from now on. */
static void move_baseline(struct follower *f, size_t end, const struct change *c) {
    if (f->is != CHANGE_FASTER || end - f->since < CHANGE_CONFIRMED || f->shape == CHANGE_DRIFT ||
        1 - c->confidence > CHANGE_ALPHA || fabs(c->shift) < f->least)
        return;
    start_at(f, f->since);
    take_in(f, f->start, end);
}

static void look(struct follower *f, size_t end, const struct baseline *b, struct change *c) {
    struct test best = {.tail = 1},
                tonight = test_window(&f->s, b, end, (struct window){1, CHANGE_ALPHA}, f->least);
    for (size_t w = 0; w < N_WINDOWS; w++) {
        struct baseline before;
        size_t n = windows[w].n;
        if (n >= end - f->start || !know_baseline(&f->s, f->start, end - n, &before)) break;
        bool quiet = true; /* nights that were left out are another level */
        for (size_t i = end - n; i < end; i++) quiet &= f->s.in[i];
        if (!quiet) break;
        struct test t = test_window(&f->s, &before, end, windows[w], f->least);
        if (t.passed && t.tail < best.tail) best = t;
    }
    if (!best.passed) is_drifting(&f->s.kept, f->least, &best);
    say(c, b, best.passed ? &best : &tonight);
    if (best.passed) {
        f->is = best.shift > 0 ? CHANGE_SLOWER : CHANGE_FASTER;
        date(f, end);
        c->verdict = f->is, c->shape = f->shape, c->since = f->since;
    } else {
        bool suspicious = tonight.shift >= f->least && tonight.tail <= SUSPICIOUS;
        c->verdict = suspicious ? CHANGE_UNSURE : CHANGE_SAME;
    }
}

static void follow_night(struct follower *f, size_t i, struct change *c) {
    struct baseline b;
    *c = (struct change){
        .base = NAN, .shift = NAN, .low = NAN, .high = NAN, .confidence = NAN, .noise = NAN};
    if (i == 0 || f->s.nights[i].starts) start_at(f, i);
    take_in(f, f->changed ? f->since : i, i + 1); /* since then: until it is dated again */
    if (i == f->start) return;
    if (f->changed) {
        date(f, i + 1);
        if (goes_on(f, i + 1, c)) {
            move_baseline(f, i + 1, c);
            return;
        }
        f->changed = false;
        bool seldom = i - f->since > CHANGE_CONFIRMED; /* else it is noise, and counts as such */
        take_in(f, seldom ? i : f->since, i + 1);
    }
    if (know_baseline(&f->s, f->start, i, &b)) look(f, i + 1, &b, c);
}

void change_follow(const struct change_night *nights, size_t n, double threshold,
                   struct change *out) {
    struct follower f = {.s = {.nights = nights}, .least = log1p(threshold)};
    f.s.in = memory_resize(NULL, n, sizeof *f.s.in);
    f.s.from = memory_resize(NULL, n, sizeof *f.s.from);
    f.s.kept.night = memory_resize(NULL, n, sizeof *f.s.kept.night);
    f.s.kept.before = memory_resize(NULL, n + 1, sizeof *f.s.kept.before);
    for (size_t i = 0; i < n; i++) follow_night(&f, i, &out[i]);
    free(f.s.in);
    free(f.s.from);
    free(f.s.kept.night);
    free(f.s.kept.before);
}

/* ---- two sides ------------------------------------------------------------------------------- */

static double mean_of(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i];
    return sum / (double)n;
}

static double squares_about(const double *v, size_t n, double mean) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

struct change_between change_compare(const double *a, size_t n_a, const double *b, size_t n_b,
                                     double prior, const double own[2]) {
    double at_a = mean_of(a, n_a), at_b = mean_of(b, n_b);
    double squares = squares_about(a, n_a, at_a) + squares_about(b, n_b, at_b);
    double freedom = CHANGE_PRIOR + (double)(n_a + n_b - 2);
    double variance = (CHANGE_PRIOR * prior * prior + squares) / freedom;
    /* What differs from run to run has the samples' own error in it, but never less than that. */
    double error = sqrt(fmax(variance / (double)n_a, own[0] * own[0]) +
                        fmax(variance / (double)n_b, own[1] * own[1]));
    struct change_between r = {.shift = at_b - at_a};
    double wide = student_975(freedom) * error;
    r.low = r.shift - wide, r.high = r.shift + wide;
    r.confidence = 1 - change_tail(fabs(r.shift) / error, freedom);
    return r;
}
