/* shrink.c: delta debugging on graphs.
 *
 *   %a = add(%x, %y)              outputs are dropped, a node becomes an output of its own or an
 *   %s = softmax(%a, -1)    ->    input, a node is replaced by its operand, every 33 in the text
 *   %t = relu(%s)                 becomes a 2, every bf16 an f32; whatever still parses and still
 *   return %t, %a                 fails is kept
 *
 * An edit makes candidate number k of a graph. They are tried in the order of the table, the ones
 * that remove most first, until none of any kind helps any more (Zeller: Yesterday, my program
 * worked; ESEC 1999). */
#include "tests/fuzz/shrink.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/gen.h"

struct shrinker {
    struct arena *a;
    struct graph *g; /* the smallest so far */
    shrink_test *fails;
    void *ctx;
    int tests_left;
    double end_ms;
};

static struct graph *parse(struct arena *a, const char *text) {
    struct source *s = NEW(a, struct source);
    struct diag d = diag_new(a);
    *s = (struct source){"shrink.graph", text, strlen(text)};
    return graph_parse(a, exprs_new(a), s, &d);
}

static const char *print(struct arena *a, const struct graph *g) {
    struct buf b = buf_new(a);
    graph_print(&b, g);
    return b.p;
}

/* ---- edits of the graph ---------------------------------------------------------------------- */

/* A copy in which node `from` is `to` (an earlier one), or a new input if they are the same;
 * from == nodes.n: a plain copy. */
static struct graph *copy_with(const struct graph *g, node_id from, node_id to) {
    struct graph *out = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id n = 0; n < g->nodes.n; n++) {
        const struct node *x = &g->nodes.at[n];
        if (n == from && from == to)
            map[n] = graph_input(out, x->name, INPUT_ARG,
                                 arena_printf(g->arena, "L['%s']", x->name), &x->meta, 0);
        else if (n == from)
            map[n] = map[to];
        else
            map[n] = graph_copy(out, g, n, map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &out->outputs, map[g->outputs.at[i]]);
    return out;
}

static bool is_computed(const struct graph *g, node_id n) {
    return n < g->nodes.n && g->nodes.at[n].op != OP_INPUT;
}

/* Node k is the only output. */
static const char *edit_one_output(struct shrinker *s, int k) {
    struct graph *out = copy_with(s->g, s->g->nodes.n, 0);
    if ((uint32_t)k >= s->g->nodes.n) return NULL;
    if (!is_computed(s->g, (node_id)k)) return "";
    out->outputs.n = 0;
    vec_push(out->arena, &out->outputs, (node_id)k);
    return print(s->a, gen_prune(out));
}

static const char *edit_drop_output(struct shrinker *s, int k) {
    struct graph *out = copy_with(s->g, s->g->nodes.n, 0);
    if ((uint32_t)k >= s->g->outputs.n) return NULL;
    if (s->g->outputs.n == 1) return "";
    out->outputs.n--;
    memmove(&out->outputs.at[k], &out->outputs.at[k + 1],
            (out->outputs.n - (uint32_t)k) * sizeof(node_id));
    return print(s->a, gen_prune(out));
}

static const char *edit_node_to_input(struct shrinker *s, int k) {
    if ((uint32_t)k >= s->g->nodes.n) return NULL;
    if (!is_computed(s->g, (node_id)k)) return "";
    return print(s->a, gen_prune(copy_with(s->g, (node_id)k, (node_id)k)));
}

static bool same_type(const struct meta *a, const struct meta *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
    return same;
}

/* Node k / 4 is its operand k % 4. */
static const char *edit_node_to_operand(struct shrinker *s, int k) {
    node_id n = (node_id)k / 4;
    int i = k % 4;
    if (n >= s->g->nodes.n) return NULL;
    const struct node *x = &s->g->nodes.at[n];
    if (i >= x->n_args || x->args[i].kind != ARG_NODE) return "";
    if (!same_type(&x->meta, &s->g->nodes.at[x->args[i].node].meta)) return "";
    return print(s->a, gen_prune(copy_with(s->g, n, x->args[i].node)));
}

/* ---- edits of the text ----------------------------------------------------------------------- */

/* The text without the types of nodes, which follow from those of the inputs:
 * "  %y: f32[3, 4] = relu(%x)" -> "  %y = relu(%x)" */
static const char *untyped(struct arena *a, const char *text) {
    struct buf b = buf_new(a);
    for (const char *p = text, *end; *p; p = end) {
        end = p + strcspn(p, "\n");
        end += *end == '\n';
        const char *colon = strchr(p, ':'), *equals = strstr(p, " = ");
        bool node = !strncmp(p, "  %", 3) && colon && equals && colon < equals && equals < end;
        if (!node) {
            buf_write(&b, p, (size_t)(end - p));
            continue;
        }
        buf_write(&b, p, (size_t)(colon - p));
        buf_write(&b, equals, (size_t)(end - equals));
    }
    return b.p;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

/* The length of the whole number at p in text; 0 if there is none. */
static size_t number_at(const char *text, const char *p) {
    size_t n = strspn(p, "0123456789");
    bool alone = n && !is_word(p[n]) && (p == text || !is_word(p[-1]));
    return alone ? n : 0;
}

static const char *replace_number(struct arena *a, const char *text, long from, long to) {
    struct buf b = buf_new(a);
    for (const char *p = text; *p;) {
        size_t n = number_at(text, p);
        if (n && strtol(p, NULL, 10) == from)
            buf_printf(&b, "%ld", to);
        else
            buf_write(&b, p, n ? n : 1);
        p += n ? n : 1;
    }
    return b.p;
}

/* The distinct numbers of the text, the largest first. */
static int numbers_in(const char *text, long *out, int cap) {
    int count = 0;
    for (const char *p = text; *p; p++) {
        size_t n = number_at(text, p);
        if (!n) continue;
        long v = strtol(p, NULL, 10);
        int i = 0;
        while (i < count && out[i] > v) i++;
        if ((i == count || out[i] != v) && count < cap) {
            memmove(&out[i + 1], &out[i], (size_t)(count - i) * sizeof *out);
            out[i] = v;
            count++;
        }
        p += n - 1;
    }
    return count;
}

/* Every number v is 1, 2, 3 or v / 2. */
static const char *edit_number(struct shrinker *s, int k) {
    enum { MAX_NUMBERS = 64, TO = 4 };
    long at[MAX_NUMBERS + 1];
    const char *text = untyped(s->a, print(s->a, s->g));
    int n = numbers_in(text, at, MAX_NUMBERS);
    if (k / TO >= n) return NULL;
    long from = at[k / TO], to = k % TO == TO - 1 ? from / 2 : k % TO + 1;
    return to < from && to > 0 ? replace_number(s->a, text, from, to) : "";
}

static const char *replace_text(struct arena *a, const char *text, const char *from,
                                const char *to) {
    struct buf b = buf_new(a);
    for (const char *hit; (hit = strstr(text, from)); text = hit + strlen(from)) {
        buf_write(&b, text, (size_t)(hit - text));
        buf_puts(&b, to);
    }
    buf_puts(&b, text);
    return b.p;
}

static const char *edit_type(struct shrinker *s, int k) {
    static const char *const types[] = {"bf16", "f16", "f64", "i32", "i64", "bool"};
    if (k >= (int)(sizeof types / sizeof *types)) return NULL;
    const char *text = untyped(s->a, print(s->a, s->g));
    return replace_text(s->a, text, arena_printf(s->a, ": %s[", types[k]), ": f32[");
}

/* Input k is row-major. */
static const char *edit_strides(struct shrinker *s, int k) {
    struct graph *out = copy_with(s->g, s->g->nodes.n, 0);
    if ((uint32_t)k >= out->inputs.n) return NULL;
    meta_contiguous(out->ex, &out->nodes.at[out->inputs.at[k].node].meta);
    return untyped(s->a, print(s->a, out));
}

typedef const char *edit(struct shrinker *s, int k); /* NULL: no more; "": not this one */
static edit *const edits[] = {edit_one_output,      edit_node_to_input, edit_drop_output,
                              edit_node_to_operand, edit_strides,       edit_type,
                              edit_number};

/* ---- the search ------------------------------------------------------------------------------ */

static bool is_over(const struct shrinker *s) {
    return s->tests_left <= 0 || clock_ms() > s->end_ms;
}

/* Keep the candidate if it is another graph and fails. */
static bool accept(struct shrinker *s, const char *text) {
    struct graph *g = *text ? parse(s->a, text) : NULL;
    if (!g || graph_verify(g, false)) return false;
    text = print(s->a, g);
    if (!strcmp(text, print(s->a, s->g)) || is_over(s)) return false;
    s->tests_left--;
    if (!s->fails(s->ctx, text)) return false;
    s->g = g;
    return true;
}

static bool try_edit(struct shrinker *s, edit *e) {
    bool any = false;
    const char *text;
    for (int k = 0; !is_over(s) && (text = e(s, k));)
        if (accept(s, text))
            any = true; /* what is now number k is another candidate */
        else
            k++;
    return any;
}

const char *shrink(struct arena *a, const char *text, shrink_test *fails, void *ctx,
                   struct shrink_budget budget) {
    struct shrinker s = {.a = a,
                         .g = parse(a, text),
                         .fails = fails,
                         .ctx = ctx,
                         .tests_left = budget.tests,
                         .end_ms = clock_ms() + budget.seconds * 1000};
    if (!s.g) return text; /* what does not parse is small enough */
    for (bool again = true; again && !is_over(&s);) {
        again = false;
        for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) again |= try_edit(&s, edits[i]);
    }
    return print(a, s.g);
}
