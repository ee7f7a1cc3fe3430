/* test_compile_steps.c: a mistake in one step of a loop that is one kernel is found, where the
 * kernel is judged step by step from what it has left itself: each value that a point of a step
 * makes is off by a share of itself in the middle step, once each, in the text that runs on the
 * emulator. Without one every step is right (test_compile_loops.c, too). */
#include <stdlib.h>
#include <string.h>

#include "graph_test.h"
#include "tests/fuzz/cases.h"
#include "tests/fuzz/drive.h"
#include "tests/fuzz/judge.h"

enum { MIDDLE = 4 }; /* of nine, or of ten of two layers */

/* The text with one more factor behind the value that line `which` of the points makes; NULL: there
 * are fewer. Points are what is behind the last barrier of a phase. */
static const char *mutated(struct arena *a, const char *text, int which, double share) {
    const char *at = strstr(text, "#pragma unroll 1\n    for (int t = 0;");
    for (int n = 0; at && (at = strstr(at, "            const float v")); at++) {
        const char *is = strstr(at, " = "), *end = strchr(at, '\n');
        if (!is || is > end || n++ < which) continue;
        return arena_printf(a, "%.*s = (%.*s) * (t == %d ? %.9gf : 1.0f);%s", (int)(is - text),
                            text, (int)(end - is - 4), is + 3, MIDDLE, 1 + share, end);
    }
    return NULL;
}

/* What the outputs as a whole say of it, which is another matter. */
struct seen {
    struct judge *judge;
    bool wrong;
};

static bool sees_output(struct drive *b, const struct ws_buffer *x, const double *got,
                        struct diag *d) {
    struct seen *seen = b->ctx;
    struct diag own = diag_new(d->arena);
    seen->wrong |= !judge_output(seen->judge, (uint32_t)x->index, got, &own);
    return true;
}

static bool none(void *ctx, int config, int n) {
    (void)ctx, (void)config, (void)n;
    return false;
}

struct found {
    int kernels, by_step, by_outputs, all;
};

/* A variant for each value that kernel k makes, the text that is right first. */
static void add_variants(struct emulation *s, uint32_t right, double share) {
    for (int i = 0;; i++) {
        struct variant v = s->variants.at[right];
        v.source.text = mutated(s->a, v.source.text, i, share);
        if (!v.source.text) break;
        vec_push(s->a, &s->variants, v);
    }
}

static void run_program(const char *text, double share, struct found *found) {
    struct arena *a = arena_new();
    struct device_limits limits;
    struct diag d = diag_new(a);
    assert_true(device_limits_for_arch("sm_90a", &limits));
    limits.units = 4;
    limits.regs_unit /= 8;
    struct graph *g = must_parse(a, text);
    struct drive *b = drive_begin(a, g, drive_inputs(g, 7), &limits, WS_PERSISTENT, &d);
    if (!b) fail_msg("%s", d.text);
    struct graph *whole = graph_simplify(graph_decompose(graph_simplify(b->g)));
    struct seen seen = {.judge = judge_new(a, whole, b->in, b->want)};
    b->ctx = &seen;
    b->judge = sees_output;
    struct emulation *s = emulation_new(a);
    if (!emulation_add_all(s, b, none, NULL, &d)) fail_msg("%s", d.text);
    uint32_t defaults = s->variants.n;
    for (int k = 0; k < b->p->n_kernels; k++) {
        if (!b->p->kernels[k].all_steps) continue;
        add_variants(s, b->first[k], share);
        found->kernels++;
    }
    if (!emulation_compile(s, &d)) fail_msg("%s", d.text);
    for (uint32_t i = 0; i < s->variants.n; i++) {
        struct diag own = diag_new(a);
        if (!b->p->kernels[s->variants.at[i].kernel].all_steps) continue;
        seen.wrong = false;
        bool ok = emulation_case(s, i, false, &own);
        if (i < defaults && !ok) fail_msg("%s", own.text);
        if (i < defaults) continue;
        found->all++;
        found->by_step += !ok;
        found->by_outputs += seen.wrong;
        if (ok) print_message("             not found: mutant %u of\n%s", i - defaults, text);
    }
    emulation_free(s);
    drive_end(b);
    arena_free(a);
}

/* One per cent of f32 and TF32; of bf16, whose gradients pass through several roundings of half of
 * that, five. With gradients, which go back in kernels of their own. */
static void test_one_step(void **state) {
    struct arena *a = arena_new();
    case_vec all = {0};
    struct found found = {0};
    cases_loops(a, &all);
    uint32_t every = getenv("TEST_LONG") ? 1 : 2; /* by turns of f32 and TF32 */
    for (uint32_t i = 0, n = 0; i < all.n; i++) {
        const struct case_graph *x = &all.at[i];
        if (!x->persistent || (n++, (n / 2 + n) % every)) continue;
        run_program(x->text, strstr(x->text, "bf16") ? 0.05 : 0.01, &found);
    }
    print_message("             of %d values of %d kernels %d are found by steps, %d by outputs\n",
                  found.all, found.kernels, found.by_step, found.by_outputs);
    assert_true(found.kernels > (int)(30 / every));
    assert_int_equal(found.by_step, found.all);
    assert_true(found.by_outputs < found.all); /* or else all this would be for nothing */
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_one_step)};
    return cmocka_run_group_tests(all, NULL, NULL);
}
