/* The traits column of ops.def beside what the operators do, in numbers: a row that says of an
 * operator what it is not, or leaves out what it is, is found by its ref, its rounding errors
 * (bounds.def) or its arithmetic on integers of 8 bits. */
#include "graph/traits.h"

#include "graph/eval.h"
#include "graph_test.h"

static const double points[] = {-INFINITY, -7.5, -3, -1.5, -1, -0.5, -0.0,    0,
                                0.25,      1,    2,  2.5,  3,  7.5,  INFINITY};
enum { POINTS = sizeof points / sizeof *points };

/* Exact: neither a CPU nor a GPU rounds the result. */
static bool is_exact(enum op op) {
    static const char *const rows[OP_COUNT][2] = {
#define BOUND(id, cpu, cuda, ...) [OP_##id] = {cpu, cuda},
#include "graph/bounds.def"
#undef BOUND
    };
    return rows[op][0] && !strcmp(rows[op][0], "0") && !strcmp(rows[op][1], "0");
}

static int operands(enum op op) {
    const struct op_info *info = op_info(op);
    int n = 0;
    for (int i = 0; i < info->n_params; i++)
        n += info->params[i].kind == 'T' || info->params[i].kind == '|';
    return n;
}

static bool is_number(enum op op) { /* of numbers */
    const struct op_info *info = op_info(op);
    return info->class == POINTWISE && info->dtype != RULE_BOOL && op_takes(op) != TAKES_WHOLE;
}

static bool is_conversion(enum op op) { return op == OP_CAST || op == OP_CONVERT; }

static void complain(enum op op, const char *trait, bool has) {
    fail_msg("%s %s %s", op_info(op)->name, has ? "is not" : "lacks", trait);
}

/* ---- monotone -------------------------------------------------------------------------------- */

/* As operand k goes up from point to point, and is nan at last, whatever the others are. */
static bool rises(enum op op, int k) {
    for (int others = 0; others < POINTS; others++) {
        double x[5] = {1, 1, 1, 1, 1}, last = -INFINITY;
        for (int i = 0; i < operands(op); i++) x[i] = points[others];
        for (int i = 0; i < POINTS; i++) {
            x[k] = points[i];
            double y = eval_ref(op, x);
            if (!(y >= last)) return false;
            last = y;
        }
        x[k] = NAN;
        if (!isnan(eval_ref(op, x))) return false;
    }
    return true;
}

static void test_monotone(void **state) {
    int found = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        bool all = is_number(op) && is_exact(op);
        for (int k = 0; all && k < operands(op); k++) all = rises(op, k);
        if (all != op_is_monotone(op)) complain(op, "MONOTONE", op_is_monotone(op));
        found += all;
    }
    assert_true(found >= 7);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Is every result of numbers of type t one of t, in maths of 64 bits? */
static bool stays(enum op op, enum dtype t) {
    int n = operands(op), lo = (int)int_least(t), hi = (int)int_most(t);
    bool chooses = n == 3; /* by a condition */
    for (int c = 0; c <= chooses; c++)
        for (int a = lo; a <= hi; a++)
            for (int b = lo; b <= (n > 1 ? hi : lo); b++) {
                int64_t y = chooses ? eval_int_ref(op)(c, a, b, 1)
                                    : eval_int_ref(op)(a, n > 1 ? b : 1, 1, 1);
                if (int_wrap(t, y) != y) return false;
            }
    return true;
}

static void test_bits(void **state) {
    int found = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = op_info(op);
        bool whole = info->class == POINTWISE && info->dtype != RULE_BOOL && eval_int_ref(op) &&
                     !is_conversion(op);
        bool all = whole && stays(op, DT_I8) && stays(op, DT_U8);
        if (all != op_keeps_bits(op)) complain(op, "KEEPS_BITS", op_keeps_bits(op));
        /* What may overflow is a function of the prelude, or has one. */
        bool wraps = whole && !all && !op_calls(op);
        if (wraps != op_wraps(op)) complain(op, "WRAPS", op_wraps(op));
        found += all;
    }
    assert_true(found >= 11);
}

/* Is the expression of a and b the operator's result? Some are none. */
static bool is_index(struct exprs *p, enum op op, int a, int b) {
    int64_t v;
    ex e;
    if (!op_of_indices(p, op, ex_const(p, a), ex_const(p, b), &e)) return false;
    if (!ex_is_const(p, e, &v) || v != eval_int_ref(op)(a, b, 1, 1))
        fail_msg("%s of %d and %d has another expression", op_info(op)->name, a, b);
    return true;
}

static void test_index(void **state) {
    struct arena *a = arena_new();
    struct exprs *p = exprs_new(a);
    int found = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        bool any = false;
        for (int x = -7; x <= 7; x++)
            for (int y = -7; y <= 7; y++) any |= is_index(p, op, x, y);
        assert_int_equal(any, op_index(op) != INDEX_NONE);
        found += any;
    }
    assert_int_equal(found, INDEX_COUNT - 1);
    arena_free(a);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

struct seen {
    bool any;
    double lo, hi;
};

static void note(struct seen *s, double y) {
    s->lo = s->any ? fmin(s->lo, y) : y;
    s->hi = s->any ? fmax(s->hi, y) : y;
    s->any = true;
}

/* Results of numbers so far apart that lie in a[0], a[1], .. */
static struct seen results(enum op op, const struct interval *a, double step) {
    struct seen s = {0};
    double x[5] = {a[0].lo, a[1].lo, a[2].lo, 1, 1};
    int n = operands(op), k = 0;
    for (int i = n; i < 3; i++) x[i] = 1; /* alpha */
    while (k < n) {
        note(&s, eval_ref(op, x));
        for (k = 0; k < n && (x[k] += step) > a[k].hi; k++) x[k] = a[k].lo;
    }
    return s;
}

/* All results lie in the range, and some at its ends; a remainder may be of fewer numbers, and a
 * wave of a part of a turn. */
static bool check_range(enum op op, const struct interval *a, enum dtype t) {
    struct interval r = op_range(op, a, t);
    if (!interval_is_known(r)) return false;
    struct seen s = results(op, a, dtype_is_float(t) ? 0.5 : 1);
    bool tight = op_divides(op) || op == OP_SIN || op == OP_COS || (s.lo == r.lo && s.hi == r.hi);
    if (s.lo < r.lo || s.hi > r.hi || !tight)
        fail_msg("%s of [%g, %g] and [%g, %g] is in [%g, %g], not [%g, %g]", op_info(op)->name,
                 a[0].lo, a[0].hi, a[1].lo, a[1].hi, s.lo, s.hi, r.lo, r.hi);
    return true;
}

static void test_range(void **state) {
    static const struct interval some[] = {{-5, -2}, {-3, 4}, {0, 3}, {3, 3}, {2, 6}, {-1, 0}};
    enum { SOME = sizeof some / sizeof *some };
    int found = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        bool any = false;
        if (op_info(op)->class != POINTWISE) continue;
        for (int k = 0; k < 2 * SOME * SOME; k++) {
            struct interval a[3] = {some[k % SOME], some[k / SOME % SOME], some[(k / 3) % SOME]};
            if (operands(op) == 3) a[0] = (struct interval){0, 1}; /* a condition */
            any |= check_range(op, a, k % 2 ? DT_F64 : DT_I64);
        }
        found += any;
    }
    assert_int_equal(found, 22);
}

/* ---- constants ------------------------------------------------------------------------------- */

static float add_f(float a, float b) { return a + b; }
static float sub_f(float a, float b) { return a - b; }
static float mul_f(float a, float b) { return a * b; }
static float div_f(float a, float b) { return a / b; }
static float neg_f(float a, float b) { return -a; }
static float abs_f(float a, float b) { return fabsf(a); }
static float same_f(float a, float b) { return a; }

/* Maths in f32 of those that fold; one that has none here may not. */
static void test_folds(void **state) {
    static float (*const in_f32[OP_COUNT])(float, float) = {
        [OP_ADD] = add_f, [OP_SUB] = sub_f, [OP_MUL] = mul_f,   [OP_DIV] = div_f,
        [OP_NEG] = neg_f, [OP_ABS] = abs_f, [OP_CAST] = same_f, [OP_CONVERT] = same_f};
    static const float some[] = {0,       -0.0f,    1,     -3,      0.1f,  1e-40f,  -1e-45f,
                                 1.5e38f, -3.4e38f, 1e30f, 7.7e-9f, 33.3f, 1 / 3.0f};
    enum { SOME = sizeof some / sizeof *some };
    for (enum op op = 0; op < OP_COUNT; op++) {
        if (op_folds(op) != (in_f32[op] != NULL)) complain(op, "FOLDS", op_folds(op));
        for (int k = 0; in_f32[op] && k < SOME * SOME; k++) {
            float a = some[k % SOME], b = some[k / SOME];
            float want = in_f32[op](a, b), got = (float)eval_ref(op, (double[]){a, b, 1, 1, 1});
            if (got != want && (got == got || want == want))
                fail_msg("%s of %g and %g is %g, not %g", op_info(op)->name, (double)a, (double)b,
                         (double)want, (double)got);
        }
    }
}

/* ---- reductions and scans -------------------------------------------------------------------- */

/* The last element of the result on 3, 1, 4. */
static double folded(enum op op) {
    struct arena *a = arena_new();
    struct graph *g = one_op(a, "%x: f64[3]", arena_printf(a, "%s(%%x, 0)", op_info(op)->name));
    double x[] = {3, 1, 4}, last;
    struct value in = {.v = x, .n = 3}, out = {0};
    struct diag d = diag_new(a);
    if (!graph_eval(g, &in, &out, &d)) fail_msg("%s", d.text);
    last = value_number(&out, out.n - 1);
    value_free(&out);
    arena_free(a);
    return last;
}

static void test_folds_of_elements(void **state) {
    const double m = 8 / 3.0;
    const double want[FOLD_COUNT] = {[FOLD_SUM] = 8,
                                     [FOLD_PROD] = 12,
                                     [FOLD_AMAX] = 4,
                                     [FOLD_AMIN] = 1,
                                     [FOLD_M2] =
                                         (3 - m) * (3 - m) + (1 - m) * (1 - m) + (4 - m) * (4 - m),
                                     [FOLD_EXPSUM] = 1 + exp(-1) + exp(-3),
                                     [FOLD_ARGMAX] = 2,
                                     [FOLD_ARGMIN] = 1};
    for (enum op op = 0; op < OP_COUNT; op++) {
        bool reduces = op_info(op)->class == REDUCE || op_info(op)->class == SCAN;
        assert_int_equal(op_fold(op) != FOLD_NONE, reduces);
        if (reduces) assert_true(fabs(folded(op) - want[op_fold(op)]) < 1e-12);
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Is every element that of operand 0? */
static bool is_same(enum op op) {
    bool same = true;
    for (int i = 0; i < POINTS; i++) {
        double x[5] = {points[i], 1, 1, 1, 1};
        same &= memcmp(&(double){eval_ref(op, x)}, x, sizeof *x) == 0;
    }
    return same;
}

static void test_elements(void **state) {
    for (enum op op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = op_info(op);
        bool moves = info->class == VIEW || info->class == MOVE || op_only_reshapes(op);
        bool numbers = info->class == POINTWISE && op_takes(op) != TAKES_WHOLE;
        bool same = numbers && operands(op) == 1 && is_same(op);
        if (moves && !op_keeps_elements(op)) complain(op, "SAME_ELEMENTS", false);
        if (numbers && same != op_keeps_elements(op)) complain(op, "SAME_ELEMENTS", !same);
    }
}

/* ---- what names say -------------------------------------------------------------------------- */

static void test_names(void **state) {
    for (enum op op = 0; op < OP_COUNT; op++) {
        const struct op_info *info = op_info(op);
        size_t n = strlen(info->name);
        bool like = n > 5 && !strcmp(info->name + n - 5, "_like");
        bool random = !strncmp(info->name, "rand", 4);
        bool ends = like || !strcmp(info->name, "detach");
        if (like != op_is_like(op)) complain(op, "LIKE", op_is_like(op));
        if (random != op_is_random(op)) complain(op, "RANDOM", op_is_random(op));
        if (ends != op_ends_gradient(op)) complain(op, "ENDS_GRADIENT", op_ends_gradient(op));
        bool condition = info->n_params && !strcmp(info->params[0].name, "condition");
        assert_int_equal(op_first_number(op), condition);
        if (op_is_expensive(op) && op_size(op, DT_F64) < 25) complain(op, "EXPENSIVE", true);
        bool maths = info->class == POINTWISE && info->dtype == RULE_FLOAT && !op_is_exact(op);
        bool quick = !strcmp(info->name, "rsqrt"); /* one instruction, and a step of Newton's */
        if (maths && !quick && !op_is_expensive(op)) complain(op, "EXPENSIVE", false);
    }
}

/* ---- one of the operands --------------------------------------------------------------------- */

/* Whatever two operands are, the result is one of them. */
static bool chooses(enum op op) {
    int first = op_first_number(op);
    if (!is_number(op) || operands(op) != first + 2) return false;
    for (int i = 0; i < POINTS * POINTS; i++)
        for (int condition = 0; condition < 2; condition++) {
            double x[5] = {condition}, a = points[i / POINTS], b = points[i % POINTS];
            x[first] = a, x[first + 1] = b;
            double y = eval_ref(op, x);
            if (y != a && y != b) return false;
        }
    return true;
}

static void test_choices(void **state) {
    for (enum op op = 0; op < OP_COUNT; op++) {
        if (chooses(op) != op_chooses(op)) complain(op, "CHOOSES", op_chooses(op));
        const struct op_info *info = op_info(op);
        bool index = false, source = false;
        for (int i = 0; i < info->n_params; i++) {
            index |= !strcmp(info->params[i].name, "index") && info->params[i].kind == 'T';
            source |=
                !strcmp(info->params[i].name, "src") || !strcmp(info->params[i].name, "source");
        }
        if (op_lands(op) && !(index && source)) complain(op, "LANDS", true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotone), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_index),    cmocka_unit_test(test_range),
        cmocka_unit_test(test_folds),    cmocka_unit_test(test_folds_of_elements),
        cmocka_unit_test(test_elements), cmocka_unit_test(test_names),
        cmocka_unit_test(test_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
