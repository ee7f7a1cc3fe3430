/* Traits of ops.def that say something about text: beside the code that operators have, the
 * preludes that it calls, and the text that is emitted of it. */
#include "graph/traits.h"

#include <ctype.h>

#include "emit/emit.h"
#include "lower_test.h"
#include "ws_tune.h"

/* "k_exp" of "k_exp($0)", "k_randn" of "k_randn_$t(..)"; NULL: it calls nothing. */
static const char *called(struct arena *a, const char *code) {
    const char *at = strstr(code, "k_");
    size_t n = 0;
    while (at && (isalnum((unsigned char)at[n]) || at[n] == '_')) n++;
    return at ? arena_strndup(a, at, n - (at[n] == '$')) : NULL;
}

/* What stands behind "#define k_exp(" in the prelude of C; NULL: it is no macro. */
static const char *macro(struct arena *a, const char *name) {
    const char *at = strstr(prelude_c, arena_printf(a, "#define %s(", name));
    return at ? arena_strndup(a, at, strcspn(at, ")") + strcspn(strchr(at, ')'), "#")) : NULL;
}

static void complain(enum op op, const char *trait, bool has) {
    fail_msg("%s %s %s", op_info(op)->name, has ? "is not" : "lacks", trait);
}

static void test_functions(void **state) {
    struct arena *a = arena_new();
    int calls = 0, wraps = 0;
    for (enum op op = 0; op < OP_COUNT; op++) {
        const char *code = op_info(op)->code, *name = called(a, code);
        if (op_calls(op) != (name != NULL)) complain(op, "CALLS", op_calls(op));
        if (op_is_expensive(op) && !op_calls(op)) complain(op, "EXPENSIVE", true);
        /* A function has a body for vectors, or is made of C's operators, which take them. */
        const char *def = name ? macro(a, name) : NULL, *generic = def ? strstr(def, "K_") : NULL;
        bool vectors = def && (!generic || strstr(def, "_v)"));
        if (name && vectors != op_takes_vectors(op)) complain(op, "VECTOR", op_takes_vectors(op));
        bool casts = op == OP_CAST || op == OP_CONVERT || op_info(op)->class != POINTWISE;
        bool floats = !casts && op_takes(op) != TAKES_WHOLE && op != OP_LOGICAL_XOR;
        if (!name && floats != op_takes_vectors(op)) complain(op, "VECTOR", op_takes_vectors(op));
        const char *wrap = arena_printf(a, "#define k_wrap_%s(", op_info(op)->name);
        bool whole = strstr(prelude_c, wrap) != NULL;
        if (op_wraps(op) != whole) complain(op, "WRAPS", op_wraps(op));
        calls += name != NULL, wraps += whole;
    }
    assert_true(calls >= 50);
    assert_int_equal(wraps, 4);
    arena_free(a);
}

/* The text of the kernel that has this operator alone, below the prelude; NULL: it takes no t. */
static const char *emitted(struct arena *a, enum op op, enum dtype t,
                           const struct device_limits *limits) {
    const struct op_info *info = op_info(op);
    struct buf in = buf_new(a), args = buf_new(a);
    const char *why, *text;
    int n = 0;
    for (int i = 0; i < info->n_params; i++) {
        bool condition = !strcmp(info->params[i].name, "condition");
        if (info->params[i].kind != 'T' && info->params[i].kind != '|') continue;
        buf_printf(&in, "%s%%a%d: %s[64]", n ? ", " : "", n, condition ? "bool" : dtype_name(t));
        buf_printf(&args, "%s%%a%d", n ? ", " : "", n);
        n++;
    }
    text =
        arena_printf(a, "graph(%s) {\n  %%r = %s(%s)\n  return %%r\n}\n", in.p, info->name, args.p);
    struct graph *g = try_parse(a, text, &why);
    if (!g) return NULL;
    struct ws_captured c = {.arena = a, .graph = g, .guards = "", .workload = "test"};
    struct diag d = diag_new(a);
    struct ws_program *p = ws_lower(&c, limits, WS_FUSE, NULL, &d);
    const struct config *all;
    struct ws_source s;
    int pruned;
    if (!p) fail_msg("%s: %s", info->name, d.text);
    if (!p->n_kernels) return NULL;
    ws_configs(p, 0, &all, &n, &pruned);
    if (ws_emit(p, 0, &all[0], a, &s, &d) != WS_OK) fail_msg("%s: %s", info->name, d.text);
    return strstr(s.text, "/* ---- kernel text");
}

/* What is in the table calls what the table says, on integers that may overflow what wraps, and
 * narrow results are cut off unless they have no more bits. */
static void test_text(void **state) {
    struct device_limits limits[] = {test_gpu("sm_90a"), test_cpu()};
    int seen = 0;
    for (enum op op = 0; op < OP_COUNT; op++)
        for (int k = 0; k < 4; k++) {
            struct arena *a = arena_new();
            enum dtype t = k / 2 ? DT_I8 : DT_F32;
            bool conversion = op == OP_CAST || op == OP_CONVERT;
            const char *text = op_info(op)->class == POINTWISE && !conversion
                                   ? emitted(a, op, t, &limits[k % 2])
                                   : NULL;
            const char *name = called(a, op_info(op)->code);
            if (text && name && t == DT_F32) /* floor of integers is none */
                assert_non_null(strstr(text, arena_printf(a, "%s(", name)));
            if (text && t == DT_I8 && op_info(op)->dtype != RULE_BOOL &&
                op_info(op)->dtype != RULE_FLOAT) {
                const char *wrap = arena_printf(a, "k_wrap_%s(", op_info(op)->name);
                assert_int_equal(strstr(text, wrap) != NULL, op_wraps(op));
                bool cut = strstr(text, " = (k_i8)") != NULL;
                if (cut == op_keeps_bits(op)) complain(op, "KEEPS_BITS", !cut);
            }
            seen += text != NULL;
            arena_free(a);
        }
    assert_true(seen > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
