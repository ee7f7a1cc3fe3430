/* test_frontend_compile.c: what is refused and how it is said; what folds; bounds; that damaged
 * text never crashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/frontend.h"

static const struct code *compiled(struct arena *a, const char *text, struct diag *d) {
    struct source *src = NEW(a, struct source);
    *src = (struct source){"t.py", text, strlen(text)};
    *d = diag_new(a);
    return frontend_compile(a, src, d);
}

/* ---- mistakes */

static const struct {
    const char *text, *message; /* what stands behind "t.py:" on the first line */
} mistakes[] = {
    {"x = = 1", "1:5: SyntaxError: invalid syntax"},
    {"x = a b", "1:7: SyntaxError: invalid syntax"},
    {"if x\n    pass", "1:5: SyntaxError: expected ':'"},
    {"if x = 3: pass",
     "1:4: SyntaxError: invalid syntax. Maybe you meant '==' or ':=' instead of '='?"},
    {"x = (1,\ny = 2", "1:5: SyntaxError: '(' was never closed"},
    {"x = [1, 2 3]", "1:9: SyntaxError: invalid syntax. Perhaps you forgot a comma?"},
    {"x = {1: 2, 3}", "1:13: SyntaxError: ':' expected after dictionary key"},
    {"s = 'abc", "1:5: SyntaxError: unterminated string literal (detected at line 1)"},
    {"  x = 1", "1:3: IndentationError: unexpected indent"},
    {"x\nif x:\ny",
     "3:1: IndentationError: expected an indented block after 'if' statement on line 2"},
    {"def f():\ny",
     "2:1: IndentationError: expected an indented block after function definition on line 1"},
    {"x = = 1\ny = 'abc", "1:5: SyntaxError: invalid syntax"},
    {"return 1", "1:1: SyntaxError: 'return' outside function"},
    {"class A:\n    return 1", "2:5: SyntaxError: 'return' outside function"},
    {"break", "1:1: SyntaxError: 'break' outside loop"},
    {"for i in x:\n    def f():\n        continue",
     "3:9: SyntaxError: 'continue' not properly in loop"},
    {"try:\n    pass\nx", "3:1: SyntaxError: expected 'except' or 'finally' block"},
    {"try: x\nexcept: x\nexcept A: x", "2:1: SyntaxError: default 'except:' must be last"},
    {"f() = 1",
     "1:1: SyntaxError: cannot assign to function call here. Maybe you meant '==' instead of '='?"},
    {"None = 1", "1:1: SyntaxError: cannot assign to None"},
    {"for f() in x: pass", "1:5: SyntaxError: cannot assign to function call"},
    {"del 1", "1:5: SyntaxError: cannot delete literal"},
    {"*a = 1", "1:1: SyntaxError: starred assignment target must be in a list or tuple"},
    {"a, *b, *c = 1", "1:1: SyntaxError: multiple starred expressions in assignment"},
    {"a, b += 1", "1:1: SyntaxError: 'tuple' is an illegal expression for augmented assignment"},
    {"f(a=1, 2)", "1:8: SyntaxError: positional argument follows keyword argument"},
    {"f(**a, *b)",
     "1:8: SyntaxError: iterable argument unpacking follows keyword argument unpacking"},
    {"f(a=1, a=2)", "1:8: SyntaxError: keyword argument repeated: a"},
    {"f(x for x in y, 1)", "1:3: SyntaxError: Generator expression must be parenthesized"},
    {"def f(a=1, b): pass", "1:12: SyntaxError: non-default argument follows default argument"},
    {"def f(a, a): pass", "1:10: SyntaxError: duplicate argument 'a' in function definition"},
    {"def f(*): pass", "1:7: SyntaxError: named arguments must follow bare *"},
    {"def f():\n    x = 1\n    global x",
     "3:5: SyntaxError: name 'x' is assigned to before global declaration"},
    {"def f():\n    nonlocal x", "2:5: SyntaxError: no binding for nonlocal 'x' found"},
    {"def f():\n    from x import *", "2:5: SyntaxError: import * only allowed at module level"},
    {"print 'x'",
     "1:1: SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?"},
    {"f'{}'", "1:3: SyntaxError: f-string: empty expression not allowed"},
    {"f'{x'", "1:1: SyntaxError: f-string: expecting '}'"},
    {"f'a}'", "1:4: SyntaxError: f-string: single '}' is not allowed"},
    {"f'{a b}'", "1:6: SyntaxError: f-string: invalid syntax"},
    {"f'{x:{y:{z}}}'", "1:9: SyntaxError: f-string: expressions nested too deeply"},
    {"'\\x1'", "1:2: SyntaxError: (unicode error) 'unicodeescape' codec can't decode bytes: "
               "truncated \\xXX escape"},
    /* Python, but not ours */
    {"x = 9223372036854775808", "1:5: SyntaxError: integer literal does not fit in 64 bits"},
    {"x = 0x8000000000000001", "1:5: SyntaxError: integer literal does not fit in 64 bits"},
    {"x = 2jx", "1:5: SyntaxError: invalid decimal literal"},
    {"async with f(): pass", "1:1: SyntaxError: 'async' is not supported"},
    {"def f():\n    await g()", "2:5: SyntaxError: 'await' is not supported"},
    {"async def f(a, a): pass", "1:16: SyntaxError: duplicate argument 'a' in function definition"},
    {"async def f():\n    await g()\n  x = 1",
     "3:3: IndentationError: unindent does not match any outer indentation level"},
    {"x = yield 1", "1:5: SyntaxError: 'yield' outside function"},
    {"def f():\n    class A:\n        yield", "3:9: SyntaxError: 'yield' outside function"},
    {"def f():\n    return {(yield): 1 for x in y}",
     "2:14: SyntaxError: 'yield' inside dict comprehension"},
    {"def f():\n    f((yield) for x in y)",
     "2:8: SyntaxError: 'yield' inside generator expression"},
    {"def f():\n    f(yield 1)", "2:7: SyntaxError: invalid syntax"},
    {"match x:\n    case [*a, *b]: pass",
     "2:10: SyntaxError: multiple starred expressions in sequence pattern"},
    {"match x:\n    case C(a=1, 2): pass",
     "2:17: SyntaxError: positional patterns follow keyword patterns"},
    {"match x:\n    pass", "2:5: SyntaxError: invalid syntax"},
    {"from .. import", "1:15: SyntaxError: invalid syntax"},
    {"'\\N{DASH}'", "1:2: SyntaxError: \\N{...} escapes are not supported"},
};

static void test_mistakes(void **state) {
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct arena *a = arena_new();
        struct diag d;
        assert_null(compiled(a, mistakes[i].text, &d));
        assert_int_equal(d.status, WS_WRONG);
        const char *want = arena_printf(a, "t.py:%s", mistakes[i].message);
        assert_string_equal(arena_strndup(a, d.text, strcspn(d.text, "\n")), want);
        arena_free(a);
    }
}

static void test_caret(void **state) {
    struct arena *a = arena_new();
    struct diag d;
    compiled(a, "def f(x):\n\treturn f(x, k=1, k=2)\n", &d);
    assert_string_equal(d.text, "t.py:2:19: SyntaxError: keyword argument repeated: k\n"
                                "    \treturn f(x, k=1, k=2)\n"
                                "    \t                 ^\n");
    arena_free(a);
}

/* ---- what comes out */

static const char *constants(struct arena *a, const char *text) {
    struct diag d;
    const struct code *c = compiled(a, text, &d);
    if (!c) fail_msg("%s", d.text);
    struct buf b = buf_new(a);
    for (uint32_t i = 0; i < c->n_consts; i++) {
        if (i) buf_putc(&b, ' ');
        constant_print(&b, &c->consts[i]);
    }
    return b.p;
}

static void test_constants(void **state) {
    struct arena *a = arena_new();
    assert_string_equal(constants(a, "f(1, True, 1.0, 1, -1, 0.0, -0.0)"),
                        "1 True 1.0 -1 0.0 -0.0 None");
    assert_string_equal(constants(a, "x = (1, (-2.5, 'a'), ...); x[0]"),
                        "(1, (-2.5, 'a'), Ellipsis) 0 None");
    assert_string_equal(constants(a, "x = -9223372036854775808"), "-9223372036854775808 None");
    assert_string_equal(constants(a, "x = 0xFFFF_FFFF, 1e-05, 0.1, 1e22, 1e16, 1e400, 123456.5"),
                        "(4294967295, 1e-05, 0.1, 1e+22, 1e+16, inf, 123456.5) None");
    assert_string_equal(constants(a, "x = 'a\\0b' '\\u20ac' r'\\n' '\\q'"),
                        "'a\\x00b\xE2\x82\xAC\\\\n\\\\q' None");
    arena_free(a);
}

static const struct code *first_code(const struct code *c) {
    uint32_t i = 0;
    while (i < c->n_consts && c->consts[i].kind != CONSTANT_CODE) i++;
    if (i == c->n_consts) fail_msg("%s holds no code", c->qualname);
    return c->consts[i].code;
}

static void test_code_object(void **state) {
    struct arena *a = arena_new();
    struct diag d;
    const struct code *m = compiled(a,
                                    "class A:\n"
                                    "    def f(self, a, /, b=1, *r, k, **w):\n"
                                    "        'doc'\n"
                                    "        return lambda: (a, q)\n",
                                    &d);
    assert_non_null(m);
    const struct code *body = first_code(m), *f = first_code(body);
    assert_int_equal(body->kind, CODE_CLASS);
    assert_string_equal(f->qualname, "A.f");
    assert_string_equal(f->doc, "doc");
    assert_int_equal(f->first_line, 2);
    assert_int_equal(f->n_posonly, 2);
    assert_int_equal(f->n_args, 3);
    assert_int_equal(f->n_kwonly, 1);
    assert_true(f->varargs && f->varkw);
    const char *const locals[] = {"self", "a", "b", "k", "r", "w"};
    assert_int_equal(f->locals.n, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(f->locals.at[i], locals[i]);
    assert_int_equal(f->cells.n, 1);
    assert_string_equal(f->cells.at[0], "a");
    const struct code *lambda = first_code(f);
    assert_string_equal(lambda->qualname, "A.f.<locals>.<lambda>");
    assert_string_equal(lambda->frees.at[0], "a");
    assert_string_equal(code_cell_name(lambda, 0), "a");
    assert_string_equal(lambda->names.at[0], "q");
    arena_free(a);
}

/* An error at run time points at the operands of the operator it came from, not at the line. */
static void test_spans(void **state) {
    struct arena *a = arena_new();
    struct diag d;
    const struct code *c = compiled(a, "y = f(x) + g(\n    a @ bb)\n", &d);
    bool found = false;
    for (uint32_t i = 0; i < c->n_instrs; i++) {
        if (c->instrs[i].op != OP_BINARY_OP || c->instrs[i].a != BINARY_MATMUL) continue;
        found = true;
        assert_int_equal(c->spans[i].line, 2);
        assert_int_equal(c->spans[i].col, 5);
        assert_int_equal(c->spans[i].end_col, 11);
    }
    assert_true(found);
    arena_free(a);
}

/* ---- bounds */

static void expect_bounded(const char *head, const char *unit, int n, const char *tail) {
    struct arena *a = arena_new();
    struct diag d;
    struct buf b = buf_new(a);
    buf_puts(&b, head);
    for (int i = 0; i < n; i++) buf_puts(&b, unit);
    buf_puts(&b, tail);
    assert_null(compiled(a, b.p, &d));
    assert_true(strstr(d.text, "too many nested") || strstr(d.text, "too deeply nested"));
    arena_free(a);
}

static void test_bounds(void **state) {
    const int n = 50000;
    expect_bounded("x = ", "(", n, "");
    expect_bounded("x = ", "not ", n, "y");
    expect_bounded("x = ", "-", n, "y");
    expect_bounded("x = ", "y ** ", n, "y");
    expect_bounded("x = ", "y + ", n, "y");
    expect_bounded("x = y", ".z", n, "");
    expect_bounded("x = y", "()", n, "");
    expect_bounded("x = ", "lambda: ", n, "y");
    expect_bounded("x = ", "y if z else ", n, "y");
    expect_bounded("x = [y ", "for y in z ", n, "]");
    expect_bounded("with ", "y, ", n, "y: pass");
    expect_bounded("if x: y\n", "elif x: y\n", n, "");
}

/* The final body is compiled once for each way out of its try, here twice a level: 2^40 in all. */
static void test_finally_growth(void **state) {
    struct arena *a = arena_new();
    struct diag d;
    struct buf b = buf_new(a);
    for (int i = 0; i < 40; i++) buf_printf(&b, "%*stry: f()\n%*sfinally:\n", i, "", i, "");
    buf_printf(&b, "%*spass\n", 40, "");
    assert_null(compiled(a, b.p, &d));
    assert_non_null(strstr(d.text, "the code for this file grows too large"));
    arena_free(a);
}

/* ---- damage: every prefix of a program, and every program with one byte changed, ends in code or
 * in a message */

static const char program[] =
    "@d\n"
    "class A(B, k=1):\n"
    "    def f(self, *a, x=[1, 2], **k) -> int:\n"
    "        with a as b, c: return f'{x!r:>{w}} {y=}' + '\\x41'\n"
    "        for i, *j in a[1:, ...]:\n"
    "            try: x += {**k, 'a': 0x1F}\n"
    "            except (E, F) as e: raise G from e\n"
    "            finally: del x[0]; continue\n"
    "        else: nonlocal_ = lambda u, /, v=1: (z := u if v else -1.5e3)\n"
    "        return [p for q in r if s for p in {*q}], \"\"\"t\n\"\"\"\n";

static void expect_end(const char *text, size_t len) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    char *copy = arena_strndup(a, text, len);
    struct source src = {"t.py", copy, len};
    const struct code *c = frontend_compile(a, &src, &d);
    struct buf b = buf_new(a);
    if (c) code_print(&b, c);
    assert_int_equal(c ? WS_OK : WS_WRONG, d.status);
    assert_true((c != NULL) == (d.text == NULL));
    arena_free(a);
}

static void test_damage(void **state) {
    static const char bytes[] = "\0\n\t ()[]{}'\"\\:,=*.#f0x\xFF\xC3";
    size_t n = sizeof program - 1;
    char text[sizeof program];
    expect_end(program, n);
    for (size_t i = 0; i < n; i++) {
        expect_end(program, i);
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            memcpy(text, program, sizeof program);
            text[i] = bytes[k];
            expect_end(text, n);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),       cmocka_unit_test(test_caret),
        cmocka_unit_test(test_constants),      cmocka_unit_test(test_code_object),
        cmocka_unit_test(test_spans),          cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_finally_growth), cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests_name("frontend_compile", tests, NULL, NULL);
}
