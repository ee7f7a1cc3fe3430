/* parse.c: the inverse of print.c, by recursive descent; functions are named after what they read:
 *
 *   graph   := "graph(" input, ... ")" precision, ... "{" node* "return" %name, ... "}"
 *   precision := ("products" | "convolutions") ("f32" | "strict" | "tf32")
 *   input   := %name ":" type [ "=" [arg|parameter|buffer] [number] source ]
 *   node    := %name [":" type] "=" operator "(" [arg | name "=" arg], ... ")"
 *   arg     := %name | number | ... | graph, the body of a loop
 *   type    := dtype "[" size, ... "]" [ "[" stride, ... "]" ]
 *
 * A source is Python text up to the comma or parenthesis that ends the input. # starts a comment.
 * Calls go through graph_bind, so a written graph may use Python's conventions (dim=-1, defaults
 * left out). */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_impl.h"

struct parser {
    struct graph *g;
    const char *p; /* next character */
    struct diag *d;
    struct map *bodies; /* by text: bodies that read the same are one */
};

enum { MAX_CALL_ARGS = 2 * MAX_PARAMS, MAX_LIST = 64 };

static struct span span_between(const struct parser *s, const char *from, const char *to) {
    struct span at = {.line = 1};
    const char *line = s->g->src->text;
    for (const char *q = line; q < from; q++)
        if (*q == '\n') line = q + 1, at.line++;
    at.col = (uint32_t)(from - line) + 1;
    at.end_col = (uint32_t)(to - line) + 1;
    return at;
}

#define fail_at(s, from, ...)                                                                      \
    (diag_fail_at((s)->d, WS_WRONG, (s)->g->src, span_between(s, from, (from) + 1), __VA_ARGS__),  \
     false)

static void skip_blank(struct parser *s) {
    for (;; s->p++) {
        if (*s->p == '#') s->p += strcspn(s->p, "\n");
        if (!*s->p || !isspace((unsigned char)*s->p)) return;
    }
}

static bool accept(struct parser *s, const char *text) {
    skip_blank(s);
    size_t n = strlen(text);
    if (strncmp(s->p, text, n)) return false;
    s->p += n;
    return true;
}

static bool expect(struct parser *s, const char *text) {
    return accept(s, text) || fail_at(s, s->p, "expected '%s'", text);
}

/* letters, digits and underscores; may be empty */
static const char *word(struct parser *s) {
    skip_blank(s);
    size_t n = 0;
    while (isalnum((unsigned char)s->p[n]) || s->p[n] == '_') n++;
    const char *w = arena_strndup(s->g->arena, s->p, n);
    s->p += n;
    return w;
}

static bool accept_word(struct parser *s, const char *text) {
    const char *from = s->p;
    if (!strcmp(word(s), text)) return true;
    s->p = from;
    return false;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool expr(struct parser *s, ex *out) {
    const char *end;
    skip_blank(s);
    *out = ex_parse(s->g->ex, s->p, &end, true);
    if (*out == EX_NONE) return fail_at(s, end, "expected an integer expression");
    s->p = end;
    return true;
}

/* "4, s0]" after the opening bracket */
static bool exprs(struct parser *s, ex *at, uint32_t cap, uint32_t *n) {
    *n = 0;
    if (accept(s, "]")) return true;
    do {
        skip_blank(s);
        if (*n == cap) return fail_at(s, s->p, "more than %u entries", cap);
        if (!expr(s, &at[(*n)++])) return false;
    } while (accept(s, ","));
    return expect(s, "]");
}

static bool type(struct parser *s, struct meta *m) {
    uint32_t n;
    skip_blank(s);
    const char *from = s->p;
    memset(m, 0, sizeof *m);
    if (!dtype_parse(word(s), &m->dtype))
        return fail_at(s, from, "expected a type such as f32[4, 8]");
    if (!expect(s, "[") || !exprs(s, m->size, WS_MAX_RANK, &n)) return false;
    m->rank = (uint8_t)n;
    memset(m->stride, 0, sizeof m->stride);
    if (!meta_is_addressable(s->g->ex, m)) return fail_at(s, from, "no tensor has such sizes");
    meta_contiguous(s->g->ex, m);
    if (*s->p != '[') return true;
    s->p++;
    from = s->p;
    if (!exprs(s, m->stride, WS_MAX_RANK, &n)) return false;
    if (n != m->rank) return fail_at(s, from, "%u strides for %u sizes", n, m->rank);
    return meta_is_addressable(s->g->ex, m) || fail_at(s, from, "no tensor has such strides");
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool new_name(struct parser *s, const char **name) {
    node_id id;
    if (!expect(s, "%")) return false;
    const char *from = s->p - 1;
    *name = word(s);
    if (!is_identifier(*name)) return fail_at(s, from, "expected a name");
    if (graph_find(s->g, *name, &id)) return fail_at(s, from, "%%%s is defined twice", *name);
    return true;
}

static bool old_name(struct parser *s, node_id *out) {
    if (!expect(s, "%")) return false;
    const char *from = s->p - 1, *name = word(s);
    return graph_find(s->g, name, out) || fail_at(s, from, "%%%s is not defined", name);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool string(struct parser *s, struct arg *out) {
    const char *from = s->p++;
    struct buf b = buf_new(s->g->arena);
    for (; *s->p && *s->p != '\''; s->p++) {
        if (*s->p == '\n') break;
        bool escape = *s->p == '\\' && s->p[1];
        if (escape) s->p++;
        buf_putc(&b, escape && *s->p == 'n' ? '\n' : *s->p);
    }
    if (*s->p != '\'') return fail_at(s, from, "the string does not end");
    s->p++;
    *out = arg_str(b.p);
    return true;
}

/* The end of a float at p ("1.5", "-1e-05", "inf"), or NULL: an integer expression starts there. */
static const char *float_end(const char *p) {
    const char *q = p + (*p == '-');
    if (!strncmp(q, "inf", 3) || !strncmp(q, "nan", 3))
        return isalnum((unsigned char)q[3]) || q[3] == '_' ? NULL : q + 3;
    size_t digits = strspn(q, "0123456789");
    if (!digits || !q[digits] || !strchr(".eE", q[digits])) return NULL;
    char *end;
    strtod(p, &end);
    return end;
}

static bool node_list(struct parser *s, struct arg *out) {
    node_id at[MAX_LIST];
    uint32_t n = 0;
    do {
        skip_blank(s);
        if (n == MAX_LIST) return fail_at(s, s->p, "more than %d entries", MAX_LIST);
        if (!old_name(s, &at[n++])) return false;
    } while (accept(s, ","));
    struct arg a = {.kind = ARG_NODES};
    a.nodes.at = at;
    a.nodes.n = n;
    *out = arg_copy(s->g, &a);
    return expect(s, "]");
}

static bool list(struct parser *s, struct arg *out) {
    ex at[MAX_LIST];
    uint32_t n;
    s->p++;
    skip_blank(s);
    if (*s->p == '%') return node_list(s, out);
    if (!exprs(s, at, MAX_LIST, &n)) return false;
    *out = arg_ints(s->g, at, n);
    return true;
}

static bool constant(struct parser *s, struct arg *out) {
    const char *from = s->p, *w = word(s);
    enum dtype t;
    if (!strcmp(w, "None")) return *out = arg_none(), true;
    if (!strcmp(w, "True")) return *out = arg_bool(true), true;
    if (!strcmp(w, "False")) return *out = arg_bool(false), true;
    if (dtype_parse(w, &t)) return *out = arg_dtype(t), true;
    s->p = from;
    return false;
}

/* A number of 64 bits by itself; in expressions, which are sizes, they have fewer. */
static bool integer(struct parser *s, struct arg *out) {
    size_t n = strspn(s->p + (*s->p == '-'), "0123456789") + (*s->p == '-');
    const char *after = s->p + n + strspn(s->p + n, " ");
    if (!isdigit((unsigned char)s->p[n ? n - 1 : 0]) || (*after != ',' && *after != ')'))
        return false;
    errno = 0;
    long long v = strtoll(s->p, NULL, 10);
    if (errno) return false;
    *out = arg_int(s->g, v);
    s->p += n;
    return true;
}

static bool graph(struct parser *s);

/* The body of a loop: a graph of its own. */
static bool body(struct parser *s, struct arg *out) {
    const char *from = s->p;
    struct parser inner = *s;
    uint64_t known;
    inner.g = graph_like(s->g);
    if (!graph(&inner)) return false;
    size_t n = (size_t)(inner.p - from);
    s->p = inner.p;
    *out = (struct arg){.kind = ARG_GRAPH, .graph = inner.g};
    if (map_get(s->bodies, from, n, &known))
        out->graph = (struct graph *)(uintptr_t)known;
    else
        map_put(s->bodies, from, n, (uintptr_t)inner.g);
    return true;
}

static bool arg(struct parser *s, struct arg *out) {
    skip_blank(s);
    if (!strncmp(s->p, "graph(", 6)) return body(s, out);
    if (*s->p == '\'') return string(s, out);
    if (*s->p == '[') return list(s, out);
    if (*s->p == '%') return out->kind = ARG_NODE, old_name(s, &out->node);
    const char *end = float_end(s->p);
    if (end) {
        *out = arg_float(strtod(s->p, NULL));
        s->p = end;
        return true;
    }
    if (constant(s, out) || integer(s, out)) return true;
    out->kind = ARG_INT;
    return expr(s, &out->i);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct arguments {
    struct arg pos[MAX_CALL_ARGS], named[MAX_CALL_ARGS];
    const char *names[MAX_CALL_ARGS];
    int n_pos, n_named;
};

/* "dim=" but not "s0 == ..." */
static const char *keyword(struct parser *s) {
    const char *from = s->p, *w = word(s);
    if (*w && !isdigit((unsigned char)*w) && accept(s, "=")) return w;
    s->p = from;
    return NULL;
}

static bool arguments(struct parser *s, struct arguments *a) {
    if (!expect(s, "(")) return false;
    if (accept(s, ")")) return true;
    do {
        skip_blank(s);
        const char *from = s->p, *name = keyword(s);
        if (a->n_pos + a->n_named == MAX_CALL_ARGS) return fail_at(s, from, "too many arguments");
        if (!name && a->n_named)
            return fail_at(s, from, "positional argument follows keyword argument");
        if (name) a->names[a->n_named] = name;
        if (!arg(s, name ? &a->named[a->n_named] : &a->pos[a->n_pos])) return false;
        name ? a->n_named++ : a->n_pos++;
    } while (accept(s, ","));
    return expect(s, ")");
}

static bool same_meta(struct graph *g, const struct meta *a, const struct meta *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->size[i] == b->size[i] && a->stride[i] == b->stride[i];
    return same;
}

static bool node(struct parser *s) {
    const char *name;
    struct meta said;
    struct arguments *a = NEW(s->g->arena, struct arguments);
    enum op op;
    node_id id;
    if (!new_name(s, &name)) return false;
    bool typed = accept(s, ":");
    skip_blank(s);
    const char *type_at = s->p;
    if ((typed && !type(s, &said)) || !expect(s, "=")) return false;
    skip_blank(s);
    const char *from = s->p, *op_name = word(s);
    if (!op_find(op_name, &op) || op == OP_INPUT)
        return fail_at(s, from, "no operator is called '%s'", op_name);
    if (!arguments(s, a)) return false;
    if (!graph_bind(s->g, op, a->pos, a->n_pos, a->names, a->named, a->n_named,
                    span_between(s, from, s->p), s->d, &id))
        return false;
    graph_rename(s->g, id, name); /* bind named it after the operator */
    if (typed && !same_meta(s->g, &said, &s->g->nodes.at[id].meta)) {
        struct buf b = buf_new(s->g->arena);
        print_meta(&b, s->g, &s->g->nodes.at[id].meta);
        return fail_at(s, type_at, "%%%s is %s", name, b.p);
    }
    return true;
}

/* Python text up to a comma or parenthesis outside brackets and quotes; "" if those do not close.
 */
static const char *source_text(struct parser *s) {
    skip_blank(s);
    const char *q = s->p;
    int depth = 0;
    char quote = 0;
    for (; *q && *q != '\n'; q++) {
        if (quote) {
            if (*q == '\\' && q[1])
                q++;
            else if (*q == quote)
                quote = 0;
        } else if (*q == '\'' || *q == '"') {
            quote = *q;
        } else if (depth == 0 && (*q == ',' || *q == ')')) {
            break;
        } else {
            depth += (*q == '[' || *q == '(') - (*q == ']' || *q == ')');
        }
    }
    if (quote || depth) return ""; /* it would not end where it ends when printed */
    const char *text = arena_strndup(s->g->arena, s->p, (size_t)(q - s->p));
    s->p = q;
    return text;
}

static bool input(struct parser *s) {
    const char *name, *source = NULL;
    struct meta m;
    enum input_kind kind = INPUT_ARG;
    uint32_t init = s->g->inputs.n;
    if (!new_name(s, &name) || !expect(s, ":") || !type(s, &m)) return false;
    if (accept(s, "=")) {
        if (accept_word(s, "parameter"))
            kind = INPUT_PARAMETER;
        else if (accept_word(s, "buffer"))
            kind = INPUT_BUFFER;
        else
            accept_word(s, "arg");
        skip_blank(s);
        size_t digits = strspn(s->p, "0123456789");
        if (digits > 9) return fail_at(s, s->p, "there is no such output of the init graph");
        if (digits) init = (uint32_t)strtoul(s->p, NULL, 10);
        s->p += digits;
        source = source_text(s);
        if (!*source || isdigit((unsigned char)*source))
            return fail_at(s, s->p, "expected a source such as L['x']");
    }
    graph_input(s->g, name, kind, source, &m, init);
    return true;
}

/* %y, or %x = %y for the new value of input %x. */
static bool output(struct parser *s, node_id *id) {
    struct graph *g = s->g;
    skip_blank(s);
    const char *from = s->p;
    if (!old_name(s, id)) return false;
    if (!accept(s, "=")) return true;
    if (*id >= g->inputs.n || g->inputs.at[*id].becomes)
        return fail_at(s, from, "only an input becomes something else, and once");
    g->inputs.at[*id].becomes = g->outputs.n + 1;
    return old_name(s, id);
}

static bool outputs(struct parser *s) {
    do {
        node_id id;
        if (!output(s, &id)) return false;
        vec_push(s->g->arena, &s->g->outputs, id);
    } while (accept(s, ","));
    return true;
}

static bool precision(struct parser *s, enum precision *out) {
    for (int p = 0; p <= PRECISION_TF32; p++)
        if (accept_word(s, precision_name((enum precision)p)))
            return *out = (enum precision)p, true;
    return fail_at(s, s->p, "expected f32, strict or tf32");
}

static bool precisions(struct parser *s) {
    do {
        if (accept_word(s, "products")) {
            if (!precision(s, &s->g->products)) return false;
        } else if (accept_word(s, "convolutions")) {
            if (!precision(s, &s->g->convolutions)) return false;
        }
    } while (accept(s, ","));
    return true;
}

static bool graph(struct parser *s) {
    if (!expect(s, "graph") || !expect(s, "(")) return false;
    if (!accept(s, ")")) {
        do
            if (!input(s)) return false;
        while (accept(s, ","));
        if (!expect(s, ")")) return false;
    }
    if (!precisions(s) || !expect(s, "{")) return false;
    while (!accept_word(s, "return"))
        if (!node(s)) return false;
    return outputs(s) && expect(s, "}");
}

static bool whole(struct parser *s) {
    if (!graph(s)) return false;
    skip_blank(s);
    return !*s->p || fail_at(s, s->p, "text after the graph");
}

struct graph *graph_parse(struct arena *a, struct exprs *ex, const struct source *src,
                          struct diag *d) {
    struct graph *g = graph_new(a, ex, src);
    struct map bodies = map_new(a);
    struct parser s = {g, src->text, d, &bodies};
    return whole(&s) ? g : NULL;
}
