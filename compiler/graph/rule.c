/* rule.c: the language of derivatives.def, text to terms. What it means is derivatives.c's.
 *
 *   "s = sigmoid(input); input: grad * s"
 *     -> { s, binding, sigmoid(input) }, { input, mul(grad, s) }
 *
 * One function per level of precedence: & comparison sum product sign atom. Only the first differs
 * from Python, where & binds tighter: the rules put its operands in parentheses. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph/derivatives.h"

const char *const function_names[FN_COUNT] = {
    [FN_UNREDUCE] = "unreduce", [FN_AS_SELF] = "as_self", [FN_ROWS] = "rows",
    [FN_INVERSE] = "inverse",   [FN_PLACES] = "places",   [FN_CHANNELS] = "channels",
    [FN_TIE] = "tie",
};

struct reader {
    struct arena *arena;
    const char *text, *p;
};

static const struct term *expression(struct reader *r);

static void skip_blanks(struct reader *r) {
    while (*r->p == ' ') r->p++;
}

static bool accept(struct reader *r, const char *sign) {
    skip_blanks(r);
    size_t n = strlen(sign);
    if (strncmp(r->p, sign, n)) return false;
    r->p += n;
    return true;
}

static void expect(struct reader *r, const char *sign) {
    if (!accept(r, sign)) WS_BUG("rule \"%s\": '%s' expected at '%s'", r->text, sign, r->p);
}

static const char *word(struct reader *r) {
    skip_blanks(r);
    const char *start = r->p;
    while (isalnum((unsigned char)*r->p) || *r->p == '_') r->p++;
    if (r->p == start) WS_BUG("rule \"%s\": a name expected at '%s'", r->text, start);
    return arena_strndup(r->arena, start, (size_t)(r->p - start));
}

static struct term *new_term(struct reader *r, enum term_kind kind) {
    struct term *t = NEW(r->arena, struct term);
    t->kind = kind;
    return t;
}

static const struct term *apply(struct reader *r, enum op op, const struct term *a,
                                const struct term *b) {
    struct term *t = new_term(r, TERM_OP);
    t->op = op;
    t->args[t->n++] = a;
    if (b) t->args[t->n++] = b;
    return t;
}

static const struct term *number(struct reader *r) {
    struct term *t = new_term(r, TERM_NUMBER);
    char *end;
    t->number.f = strtod(r->p, &end);
    t->number.kind = memchr(r->p, '.', (size_t)(end - r->p)) ? ARG_FLOAT : ARG_INT;
    r->p = end;
    return t;
}

static const struct term *truth(struct reader *r, bool v) {
    struct term *t = new_term(r, TERM_NUMBER);
    t->number = arg_bool(v);
    return t;
}

static void find_called(struct reader *r, struct term *t, const char *name) {
    for (int i = 0; i < FN_COUNT; i++)
        if (!strcmp(name, function_names[i])) {
            t->kind = TERM_FUNCTION;
            t->function = (enum function)i;
            return;
        }
    t->kind = TERM_OP;
    if (!op_find(name, &t->op)) WS_BUG("rule \"%s\": no operator '%s'", r->text, name);
}

static const struct term *call_of(struct reader *r, const char *name) {
    struct term *t = new_term(r, TERM_OP);
    find_called(r, t, name);
    do {
        WS_ASSERT(t->n < MAX_TERM_ARGS);
        t->args[t->n++] = expression(r);
    } while (accept(r, ","));
    expect(r, ")");
    return t;
}

static const struct term *atom(struct reader *r) {
    if (accept(r, "(")) {
        const struct term *t = expression(r);
        expect(r, ")");
        return t;
    }
    if (isdigit((unsigned char)*r->p)) return number(r);
    const char *name = word(r);
    if (accept(r, "(")) return call_of(r, name);
    if (!strcmp(name, "True") || !strcmp(name, "False")) return truth(r, *name == 'T');
    struct term *t = new_term(r, TERM_NAME);
    t->name = name;
    return t;
}

static const struct term *sign(struct reader *r) {
    return accept(r, "-") ? apply(r, OP_NEG, sign(r), NULL) : atom(r);
}

static const struct term *product(struct reader *r) {
    const struct term *t = sign(r);
    for (;;)
        if (accept(r, "*"))
            t = apply(r, OP_MUL, t, sign(r));
        else if (accept(r, "/"))
            t = apply(r, OP_DIV, t, sign(r));
        else
            return t;
}

static const struct term *sum(struct reader *r) {
    const struct term *t = product(r);
    for (;;)
        if (accept(r, "+"))
            t = apply(r, OP_ADD, t, product(r));
        else if (accept(r, "-"))
            t = apply(r, OP_SUB, t, product(r));
        else
            return t;
}

static const struct term *comparison(struct reader *r) {
    static const struct {
        const char *sign;
        enum op op;
    } signs[] = {{"==", OP_EQ}, {"<=", OP_LE}, {">=", OP_GE}, {"<", OP_LT}, {">", OP_GT}};
    const struct term *t = sum(r);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (accept(r, signs[i].sign)) return apply(r, signs[i].op, t, sum(r));
    return t;
}

static const struct term *expression(struct reader *r) {
    const struct term *t = comparison(r);
    while (accept(r, "&")) t = apply(r, OP_LOGICAL_AND, t, comparison(r));
    return t;
}

const struct rule *rule_parse(struct arena *a, const char *text) {
    struct reader r = {a, text, text};
    struct rule *rule = NEW(a, struct rule);
    do {
        WS_ASSERT(rule->n < MAX_CLAUSES);
        struct clause *c = &rule->clauses[rule->n++];
        c->name = word(&r);
        c->binding = accept(&r, "=");
        if (!c->binding) expect(&r, ":");
        c->body = expression(&r);
    } while (accept(&r, ";"));
    skip_blanks(&r);
    if (*r.p) WS_BUG("rule \"%s\": ';' expected at '%s'", text, r.p);
    return rule;
}
