/* test_frontend_lexer.c: text to tokens, on good and on bad text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/lexer.h"

/* The tokens of a text in words: names and literals as written, layout in capitals, an error as its
 * message. */
static const char *lexed(struct arena *a, const char *text, size_t len) {
    struct diag d = diag_new(a);
    struct source src = {"t.py", text, len};
    struct frontend f = {.arena = a, .tokens = a, .src = &src, .diag = &d};
    if (setjmp(f.escape)) return d.text;
    struct tokens tokens = lex_file(&f);
    struct buf b = buf_new(a);
    for (uint32_t i = 0; i < tokens.n; i++) {
        const struct token *t = &tokens.at[i];
        if (i) buf_putc(&b, ' ');
        switch (t->kind) {
        case T_END: buf_puts(&b, "END"); break;
        case T_NEWLINE: buf_puts(&b, "NL"); break;
        case T_INDENT: buf_puts(&b, "IN"); break;
        case T_DEDENT: buf_puts(&b, "OUT"); break;
        case T_ERROR: buf_printf(&b, "%u:%u %s", t->at.line, t->at.col, t->error); break;
        default: buf_write(&b, t->text, t->len);
        }
    }
    return b.p;
}

static void expect_tokens(const char *text, const char *want) {
    struct arena *a = arena_new();
    assert_string_equal(lexed(a, text, strlen(text)), want);
    arena_free(a);
}

static void test_layout(void **state) {
    expect_tokens("", "END");
    expect_tokens("# nothing\n\n   \n", "END");
    expect_tokens("x", "x NL END");
    expect_tokens("x\r\ny\r\n", "x NL y NL END");
    expect_tokens("if x:\n    y\n\n# c\n  # c\nz\n", "if x : NL IN y NL OUT z NL END");
    expect_tokens("if x:\n  if y:\n    z", "if x : NL IN if y : NL IN z NL OUT OUT END");
    expect_tokens("f(1,\n  2)\ny", "f ( 1 , 2 ) NL y NL END");
    expect_tokens("x = 1 + \\\n  2\n", "x = 1 + 2 NL END");
    expect_tokens("\xEF\xBB\xBFx\n", "x NL END");
}

static void test_bad_layout(void **state) {
    expect_tokens("if x:\n    y\n  z\n",
                  "if x : NL IN y NL OUT 3:3 IndentationError: unindent does "
                  "not match any outer indentation level");
    expect_tokens(
        "if x:\n\ty\n        z\n",
        "if x : NL IN y NL 3:9 TabError: inconsistent use of tabs and spaces in indentation");
    expect_tokens("x \\ y\n",
                  "x 1:3 SyntaxError: unexpected character after line continuation character");
    expect_tokens("x \\", "x 1:3 SyntaxError: unexpected EOF while parsing");
    expect_tokens(")\n", "1:1 SyntaxError: unmatched ')'");
    expect_tokens("(\n]\n", "( 2:1 SyntaxError: closing parenthesis ']' does not match opening "
                            "parenthesis '(' on line 1");
}

static void test_numbers(void **state) {
    expect_tokens("1_000 0xFf 0b1 0o7 00 1. .5 1e5 1.5E-3 1_0.0_1",
                  "1_000 0xFf 0b1 0o7 00 1. .5 1e5 1.5E-3 1_0.0_1 NL END");
    expect_tokens("1if x else 2", "1 if x else 2 NL END");
    expect_tokens("1abc", "1:1 SyntaxError: invalid decimal literal");
    expect_tokens("0xg", "1:1 SyntaxError: invalid hexadecimal literal");
    expect_tokens("0b12", "1:1 SyntaxError: invalid digit '2' in binary literal");
    expect_tokens("1__0", "1:1 SyntaxError: invalid decimal literal");
    expect_tokens("1_", "1:1 SyntaxError: invalid decimal literal");
    expect_tokens("2j 1.5J 007j", "2j 1.5J 007j NL END");
    expect_tokens("2jx", "1:1 SyntaxError: invalid decimal literal");
    expect_tokens("0777", "1:1 SyntaxError: leading zeros in decimal integer literals are not "
                          "permitted; use an 0o prefix for octal integers");
}

static void test_strings(void **state) {
    expect_tokens("'a' \"b\" r'\\' rb", "'a' \"b\" 1:9 SyntaxError: unterminated string literal "
                                        "(detected at line 1)");
    expect_tokens("f'{x}' Rf\"\" u''", "f'{x}' Rf\"\" u'' NL END");
    expect_tokens("'it\\'s' '''a\n'b''' fr x", "'it\\'s' '''a\n'b''' fr x NL END");
    expect_tokens("'a\\\nb'", "'a\\\nb' NL END");
    expect_tokens("x = 'abc\n",
                  "x = 1:5 SyntaxError: unterminated string literal (detected at line 1)");
    expect_tokens("\n'''abc\n\n", "2:1 SyntaxError: unterminated triple-quoted string literal "
                                  "(detected at line 3)");
    expect_tokens("b'x' Rb'\\xff'", "b'x' Rb'\\xff' NL END");
    expect_tokens("bu'x'", "bu 'x' NL END");
}

static void test_operators(void **state) {
    expect_tokens("a//=b**c->d:=e...f!=g<<=h@i",
                  "a //= b ** c -> d := e ... f != g <<= h @ i NL END");
    expect_tokens("a ! b", "a 1:3 SyntaxError: invalid syntax");
    expect_tokens("a $ b", "a 1:3 SyntaxError: invalid syntax");
}

static void test_characters(void **state) {
    struct arena *a = arena_new();
    expect_tokens("gr\xC3\xB6\xC3\x9F\x65 = \xCE\xB1", "gr\xC3\xB6\xC3\x9F\x65 = \xCE\xB1 NL END");
    expect_tokens("\xE2\x80\x9Cx", "1:1 SyntaxError: invalid character '\xE2\x80\x9C' (U+201C)");
    expect_tokens("x\xC2\xA0= 1", "1:2 SyntaxError: invalid non-printable character U+00A0");
    expect_tokens("x\ry", "x 1:2 SyntaxError: invalid non-printable character U+000D");
    assert_non_null(strstr(lexed(a, "x\n\0y", 4), "t.py:2:1: SyntaxError: source code cannot "
                                                  "contain null bytes"));
    assert_non_null(strstr(lexed(a, "x = '\xFF'", 7), "can't decode byte 0xff"));
    assert_non_null(strstr(lexed(a, "x\xC3", 2), "can't decode byte 0xc3"));
    arena_free(a);
}

static void test_nesting(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    for (int i = 0; i < 5000; i++) buf_putc(&b, '[');
    assert_non_null(strstr(lexed(a, b.p, b.n), "SyntaxError: too many nested parentheses"));
    b = buf_new(a);
    for (int i = 0; i < 150; i++) buf_printf(&b, "%*sif x:\n", i, "");
    assert_non_null(strstr(lexed(a, b.p, b.n), "IndentationError: too many levels of indentation"));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),    cmocka_unit_test(test_bad_layout),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_strings),
        cmocka_unit_test(test_operators), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_nesting),
    };
    return cmocka_run_group_tests_name("frontend_lexer", tests, NULL, NULL);
}
