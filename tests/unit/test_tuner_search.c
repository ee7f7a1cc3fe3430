/* Search strategies on times that the test makes up: trials are looked up, nothing runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/search.h"

/* 4 x 4 x 3 x 2 configs, worst guess of the cost model last; times are a bowl around some config,
 * with a little roughness that no smooth model explains. */
enum { WARPS = 4, VECS = 4, ROWS = 3, KEEPS = 2, N = WARPS * VECS * ROWS * KEEPS };

struct world {
    struct arena *arena;
    struct machine machine;
    struct device_limits limits;
    struct ws_kernel kernel;
    struct ws_program program;
    struct tuning tuning;
    struct config configs[N];
    struct variant truth[N];
    double best_us;
    int fails; /* every so-manieth variant is refused; 0: none */
};

static double bowl(const struct config *c, int warps, int vec, int x, int keep) {
    double a = log2(c->knob[KNOB_warps]) - warps, b = log2(c->knob[KNOB_vec]) - vec,
           d = log2(c->knob[KNOB_x]) - x, e = c->knob[KNOB_keep] - keep;
    return 100 * (1 + 0.08 * a * a + 0.05 * b * b + 0.1 * d * d + 0.3 * e * e);
}

static struct variant variant_of(struct world *w, int i) {
    return (struct variant){.program = &w->program,
                            .config = &w->configs[i],
                            .text = config_str(w->arena, &w->configs[i]),
                            .message = "",
                            .timing = timing_none()};
}

static void make_counting(struct world *w, int warps, int vec, int x, int keep, int fails,
                          bool counts) {
    *w = (struct world){.arena = arena_new(), .best_us = INFINITY, .fails = fails};
    w->limits.kind = DEVICE_CUDA;
    w->kernel = (struct ws_kernel){.name = "k", .kind = "reduce"};
    w->program = (struct ws_program){.n_kernels = 1, .kernels = &w->kernel};
    w->machine.limits = w->limits;
    w->tuning = (struct tuning){
        .machine = &w->machine, .arena = w->arena, .roof = {&w->limits, NAN}, .samples_max = 100};
    for (int i = 0; i < N; i++) {
        struct config *c = &w->configs[i];
        c->knob[KNOB_keep] = i % KEEPS;
        c->knob[KNOB_x] = 1 << i / KEEPS % ROWS;
        c->knob[KNOB_vec] = 1 << i / (KEEPS * ROWS) % VECS;
        c->knob[KNOB_warps] = 1 << i / (KEEPS * ROWS * VECS);
        w->truth[i] = variant_of(w, i);
        if (fails && i % fails == 0) {
            w->truth[i].status = STATUS_spill;
            continue;
        }
        double us = bowl(c, warps, vec, x, keep) * (1 + 0.004 * (i * 7 % 5));
        w->truth[i].timing.us = (struct stats){20, us, us, us, us, us, us};
        w->best_us = fmin(w->best_us, us);
        /* Whatever runs waits for memory: more bytes in flight are what to try. */
        w->truth[i].counters_from = counts ? "cupti" : "counted";
        w->truth[i].counters = counters_unknown();
        w->truth[i].counters.stall_pct[STALL_long_scoreboard] = 60;
        w->truth[i].counters.occupancy = 0.9;
    }
}

static void make(struct world *w, int warps, int vec, int x, int keep, int fails) {
    make_counting(w, warps, vec, x, keep, fails, true);
}

/* What a search finds. */
static struct tune run(struct world *w, enum search_strategy search, int trials) {
    struct diag d = diag_new(w->arena);
    struct tune t = {.shared = &w->tuning,
                     .n = N,
                     .search = search,
                     .deadline_ms = INFINITY,
                     .trials_left = trials,
                     .best_us = INFINITY,
                     .oracle = w->truth};
    t.variants = NEW_ARRAY(w->arena, struct variant, N);
    for (int i = 0; i < N; i++) t.variants[i] = variant_of(w, i);
    assert_int_equal(search_run(&t, &d), WS_OK);
    return t;
}

static int count_seen(const struct tune *t) {
    int n = 0;
    for (int i = 0; i < N; i++) n += search_seen(t, i);
    return n;
}

static void test_exhaustive_tries_all(void **state) {
    struct world w;
    (void)state;
    make(&w, 3, 3, 2, 1, 0);
    struct tune t = run(&w, SEARCH_exhaustive, INT_MAX);
    assert_int_equal(t.n_tried, N);
    assert_true(t.best_us == w.best_us);
    arena_free(w.arena);
}

/* The best is wherever; the model's guesses are of no use. */
static void test_model_finds_a_bowl(void **state) {
    (void)state;
    int far = 0;
    for (int i = 0; i < 48; i++) {
        struct world w;
        make(&w, i % 4, i / 4 % 4, i / 16 % 3, i % 2, 0);
        struct tune t = run(&w, SEARCH_model, INT_MAX);
        assert_true(t.n_tried <= 24);
        far += t.best_us > 1.02 * w.best_us;
        arena_free(w.arena);
    }
    assert_true(far <= 4);
}

/* Once there are times, what one hint does to the best is asked before anything else. */
static void test_model_turns_hints_over(void **state) {
    (void)state;
    enum { FIRST_WAVE = 8 };
    for (int i = 0; i < 48; i++) {
        struct world w;
        make(&w, i % 4, i / 4 % 4, i / 16 % 3, i % 2, 0);
        struct tune first = run(&w, SEARCH_model, FIRST_WAVE);
        int best = search_best(&first), sibling = best ^ 1; /* it differs in keep */
        struct tune next = run(&w, SEARCH_model, FIRST_WAVE + 1);
        assert_true(search_seen(&next, sibling));
        arena_free(w.arena);
    }
}

/* What was the best without a hint, though not of all, is asked for with it, if that has helped
 * others enough. */
static void test_model_reasons_by_analogy(void **state) {
    (void)state;
    enum { FIRST_WAVE = 8, TWO_WAVES = 16 };
    const double helped = 0.96; /* keep=1, everywhere */
    int asked = 0;
    for (int i = 0; i < 48; i++) {
        struct world w;
        make(&w, i % 4, i / 4 % 4, i / 16 % 3, 0, 0);
        for (int j = 0; j < N; j++) {
            double us = bowl(&w.configs[j & ~1], i % 4, i / 4 % 4, i / 16 % 3, 0);
            us *= (1 + 0.02 * (j / 2 * 7 % 5)) * (j & 1 ? helped : 1);
            w.truth[j].timing.us = (struct stats){20, us, us, us, us, us, us};
        }
        struct tune first = run(&w, SEARCH_model, FIRST_WAVE);
        int plain = -1;
        for (int j = 0; j < N; j += 2)
            if (search_seen(&first, j) &&
                (plain < 0 || w.truth[j].timing.us.median < w.truth[plain].timing.us.median))
                plain = j;
        bool promises = w.truth[plain].timing.us.median * helped < first.best_us;
        struct tune next = run(&w, SEARCH_model, TWO_WAVES);
        if (promises) assert_true(search_seen(&next, plain + 1));
        asked += promises && search_best(&first) % 2;
        arena_free(w.arena);
    }
    assert_true(asked > 0);
}

/* A search that pauses after a wave finds what one finds that does not. */
static void test_model_goes_on_after_a_pause(void **state) {
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct world w;
        make(&w, i % 4, i / 4 % 4, i / 16 % 3, i % 2, 0);
        struct diag d = diag_new(w.arena);
        struct tune whole = run(&w, SEARCH_model, INT_MAX), t = run(&w, SEARCH_model, 1);
        for (int v = 0; v < N; v++) t.variants[v] = variant_of(&w, v);
        for (int pause = 1; pause <= 3; pause++) {
            t.pause_after = pause % 3; /* the last time none */
            t.trials_left = INT_MAX;
            t.best_us = INFINITY;
            t.n_tried = 0;
            for (int v = 0; v < N; v++) t.variants[v].counted = false;
            assert_int_equal(search_run(&t, &d), WS_OK);
            if (t.pause_after == 1) assert_int_equal(count_seen(&t), 8);
            if (t.pause_after == 2) assert_true(count_seen(&t) > 8 && count_seen(&t) <= 16);
        }
        for (int v = 0; v < N; v++) assert_int_equal(search_seen(&t, v), search_seen(&whole, v));
        arena_free(w.arena);
    }
}

/* Where a kernel takes compilers seconds there are two waves, the second one of what they have been
 * given beside the first; what is quick to compile is chosen by what it promises. */
static void test_model_asks_for_what_is_compiled(void **state) {
    (void)state;
    enum { FIRST = 8, NEXT = 6 };
    for (int slow = 0; slow < 2; slow++) {
        struct world w;
        make(&w, 3, 3, 2, 1, 0);
        struct diag d = diag_new(w.arena);
        struct tune t = run(&w, SEARCH_model, 1);
        int first[N], next[N];
        t.trials_left = INT_MAX;
        for (int v = 0; v < N; v++) {
            t.variants[v] = variant_of(&w, v);
            t.variants[v].compile_ms = slow ? 2000 : 20;
        }
        assert_int_equal(search_model_first(&t, first), FIRST);
        assert_int_equal(search_model_next(&t, next, NEXT), NEXT);
        for (int i = 0; i < FIRST; i++) t.variants[first[i]].binary_key = "begun";
        for (int i = 0; i < NEXT; i++) {
            assert_null(t.variants[next[i]].binary_key); /* all are different */
            t.variants[next[i]].binary_key = "begun";
        }
        t.best_us = INFINITY;
        t.n_tried = 0;
        assert_int_equal(search_run(&t, &d), WS_OK);
        int not_begun = 0;
        for (int v = 0; v < N; v++) not_begun += search_seen(&t, v) && !t.variants[v].binary_key;
        if (slow) assert_true(!not_begun && count_seen(&t) <= FIRST + NEXT);
        if (!slow) assert_true(not_begun > 0);
        arena_free(w.arena);
    }
}

/* Where trials take long there is a third wave only if the second one has gained something. */
static void test_model_ends_where_waves_gain_nothing(void **state) {
    (void)state;
    int third[2] = {0};
    for (int i = 0; i < 48; i++)
        for (int slow = 0; slow < 2; slow++) {
            struct world w;
            make(&w, i % 4, i / 4 % 4, i / 16 % 3, i % 2, 0);
            struct diag d = diag_new(w.arena);
            struct tune t = run(&w, SEARCH_model, 1), two = run(&w, SEARCH_model, 16);
            t.trials_left = INT_MAX;
            for (int v = 0; v < N; v++) {
                t.variants[v] = variant_of(&w, v);
                t.variants[v].trial_ms = slow ? 300 : 30;
            }
            t.best_us = INFINITY;
            t.n_tried = 0;
            assert_int_equal(search_run(&t, &d), WS_OK);
            struct tune one = run(&w, SEARCH_model, 8);
            third[slow] += t.n_tried > 16;
            if (slow && t.n_tried > 16) assert_true(two.best_us < 0.99 * one.best_us);
            arena_free(w.arena);
        }
    assert_true(third[1] < third[0]);
}

static int steps_between(const struct config *a, const struct config *b) {
    static const enum knob knobs[] = {KNOB_warps, KNOB_vec, KNOB_x};
    double steps = abs(a->knob[KNOB_keep] - b->knob[KNOB_keep]);
    for (int i = 0; i < 3; i++) steps += fabs(log2(a->knob[knobs[i]]) - log2(b->knob[knobs[i]]));
    return (int)steps;
}

/* What was tried tells of what is like it: where the knobs do nothing, the search spreads out. */
static void test_model_asks_far_from_what_it_knows(void **state) {
    (void)state;
    struct world w;
    make(&w, 0, 0, 0, 0, 0);
    for (int i = 0; i < N; i++) w.truth[i].timing.us = (struct stats){20, 9, 9, 9, 9, 9, 9};
    struct tune t = run(&w, SEARCH_model, INT_MAX);
    int farthest = 0;
    for (int i = 0; i < N; i++) {
        int nearest = INT_MAX;
        for (int j = 0; j < N; j++)
            if (search_seen(&t, j)) {
                int steps = steps_between(&w.configs[i], &w.configs[j]);
                nearest = steps < nearest ? steps : nearest;
            }
        farthest = nearest > farthest ? nearest : farthest;
    }
    assert_true(farthest <= 2);
    arena_free(w.arena);
}

static void test_coordinate_walks_downhill(void **state) {
    (void)state;
    int far = 0;
    for (int i = 0; i < 48; i++) {
        struct world w;
        make(&w, i % 4, i / 4 % 4, i / 16 % 3, i % 2, 0);
        struct tune t = run(&w, SEARCH_coordinate, INT_MAX);
        assert_true(t.n_tried < N);
        far += t.best_us > 1.05 * w.best_us;
        arena_free(w.arena);
    }
    assert_true(far <= 12);
}

/* The advice is right where the best is all the way up, and must not hurt where it is not; without
 * counters the neighbours are asked. */
static void test_profile_takes_advice(void **state) {
    (void)state;
    int tried[2] = {0}, far[2] = {0};
    for (int counts = 0; counts < 2; counts++) {
        for (int i = 0; i < 12; i++) {
            struct world w;
            make_counting(&w, i % 2 ? 3 : 2, 3, i / 4, i / 2 % 2, 0, counts);
            struct tune t = run(&w, SEARCH_profile, INT_MAX);
            tried[counts] += t.n_tried;
            far[counts] += t.best_us > 1.05 * w.best_us;
            arena_free(w.arena);
        }
    }
    assert_true(tried[1] < 12 * N / 2);
    assert_true(far[1] <= 4 && far[0] <= 6);
    assert_true(far[1] <= far[0]);
}

static void test_halving_keeps_the_best(void **state) {
    struct world w;
    (void)state;
    make(&w, 2, 1, 0, 1, 0);
    struct tune t = run(&w, SEARCH_halving, INT_MAX);
    assert_true(t.best_us == w.best_us);
    assert_true(t.n_tried <= 9); /* in full */
    arena_free(w.arena);
}

static void test_random_is_repeatable(void **state) {
    struct world w;
    (void)state;
    make(&w, 2, 1, 0, 1, 0);
    struct tune a = run(&w, SEARCH_random, 10), b = run(&w, SEARCH_random, 10);
    for (int i = 0; i < N; i++) assert_int_equal(search_seen(&a, i), search_seen(&b, i));
    w.tuning.seed = 1;
    struct tune c = run(&w, SEARCH_random, 10);
    int differ = 0;
    for (int i = 0; i < N; i++) differ += search_seen(&a, i) != search_seen(&c, i);
    assert_true(differ > 4);
    assert_true(search_seen(&a, 0)); /* the default is what others are compared with */
    arena_free(w.arena);
}

static void test_trials_are_a_budget(void **state) {
    struct world w;
    (void)state;
    make(&w, 2, 1, 0, 1, 0);
    for (int s = 0; s < SEARCH_COUNT; s++) {
        struct tune t = run(&w, (enum search_strategy)s, 7);
        assert_true(count_seen(&t) >= 1 && count_seen(&t) <= 7);
    }
    arena_free(w.arena);
}

/* Refused ones, the default among them, are no end and no winner. */
static void test_refused_variants_are_passed_by(void **state) {
    struct world w;
    (void)state;
    for (int fails = 1; fails <= 3; fails++) {
        make(&w, 2, 1, 0, 1, fails);
        for (int s = 0; s < SEARCH_COUNT; s++) {
            struct tune t = run(&w, (enum search_strategy)s, INT_MAX);
            assert_true(fails == 1 ? isinf(t.best_us) : t.best_us < 2 * w.best_us);
        }
        arena_free(w.arena);
    }
}

/* How many configs it tries if the best of all takes this share of the roof's time. */
static int tried_below_roof(double share) {
    struct world w;
    make(&w, 0, 0, 0, 0, 0);
    w.tuning.roof.copy_gbps = 1000;
    struct diag d = diag_new(w.arena);
    struct tune t = {.shared = &w.tuning,
                     .n = N,
                     .deadline_ms = INFINITY,
                     .trials_left = INT_MAX,
                     .best_us = INFINITY,
                     .oracle = w.truth};
    t.work.bytes = w.best_us / share * 1e6; /* bytes at 1000 GB/s */
    t.variants = NEW_ARRAY(w.arena, struct variant, N);
    for (int i = 0; i < N; i++) t.variants[i] = variant_of(&w, i);
    assert_int_equal(search_model(&t, &d), WS_OK);
    arena_free(w.arena);
    return t.n_tried;
}

static void test_the_roof_is_the_end(void **state) {
    (void)state;
    int unbounded = tried_below_roof(INFINITY);
    assert_true(unbounded > 12);
    assert_int_equal(tried_below_roof(0.99), 12);
    assert_int_equal(tried_below_roof(1 / 0.98), unbounded);
    assert_int_equal(tried_below_roof(0.5), unbounded); /* no roof: it was measured too low */
}

/* Every variant is a point: of each knob that differs, doublings count, shifted and scaled to mean
 * 0 and deviation 1; so the first variant is as far from the second as the second from the first,
 * and a knob that is the same everywhere is no dimension. */
static void test_variants_are_points(void **state) {
    (void)state;
    struct world w;
    make(&w, 3, 3, 2, 1, 0);
    for (int i = 0; i < N; i++) w.configs[i].knob[KNOB_stages] = 3;
    struct tune t = {
        .shared = &w.tuning, .n = N, .variants = NEW_ARRAY(w.arena, struct variant, N)};
    for (int i = 0; i < N; i++) t.variants[i] = variant_of(&w, i);
    struct search_space s = search_space_of(&t);
    assert_int_equal(s.n, N);
    assert_int_equal(s.dims, 4);
    for (int k = 0; k < s.dims; k++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < N; i++) {
            sum += s.at[i * s.dims + k];
            squares += s.at[i * s.dims + k] * s.at[i * s.dims + k];
        }
        assert_true(fabs(sum) < 1e-9);
        assert_true(fabs(squares / N - 1) < 1e-9);
    }
    /* Variants 2n and 2n + 1 differ in `keep` alone, n and n + N/2 in one more doubling of warps
     * twice: the same distance wherever they are. */
    for (int i = 0; i < N; i += KEEPS) assert_true(fabs(search_distance2(&s, i, i + 1) - 4) < 1e-9);
    for (int i = 1; i < N / WARPS; i++)
        assert_true(fabs(search_distance2(&s, i, i + N / WARPS) -
                         search_distance2(&s, 0, N / WARPS)) < 1e-9);
    bool seen[N] = {[N - 1] = true};
    assert_int_equal(search_farthest(&s, seen), 0); /* the corner on the other side */
    int which[3];
    seen[N - 1] = false;
    assert_int_equal(search_nearest(&s, 0, seen, which, 3), 3);
    for (int j = 0; j < 3; j++)
        for (int i = 1; i < N; i++) {
            bool listed = i == which[0] || i == which[1] || i == which[2];
            assert_true(listed ||
                        search_distance2(&s, 0, i) >= search_distance2(&s, 0, which[j]) - 1e-9);
        }
    arena_free(w.arena);
}

static void test_names(void **state) {
    (void)state;
    enum search_strategy s;
    for (int i = 0; i < SEARCH_COUNT; i++) {
        assert_true(search_parse(search_name((enum search_strategy)i), &s));
        assert_int_equal(s, i);
    }
    assert_false(search_parse("luck", &s));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exhaustive_tries_all),
        cmocka_unit_test(test_model_finds_a_bowl),
        cmocka_unit_test(test_model_turns_hints_over),
        cmocka_unit_test(test_model_reasons_by_analogy),
        cmocka_unit_test(test_model_goes_on_after_a_pause),
        cmocka_unit_test(test_model_asks_for_what_is_compiled),
        cmocka_unit_test(test_model_ends_where_waves_gain_nothing),
        cmocka_unit_test(test_model_asks_far_from_what_it_knows),
        cmocka_unit_test(test_coordinate_walks_downhill),
        cmocka_unit_test(test_profile_takes_advice),
        cmocka_unit_test(test_halving_keeps_the_best),
        cmocka_unit_test(test_random_is_repeatable),
        cmocka_unit_test(test_trials_are_a_budget),
        cmocka_unit_test(test_refused_variants_are_passed_by),
        cmocka_unit_test(test_the_roof_is_the_end),
        cmocka_unit_test(test_variants_are_points),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("tuner_search", tests, NULL, NULL);
}
