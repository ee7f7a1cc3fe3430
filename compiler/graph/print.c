/* print.c: a graph as text that graph_parse reads back byte for byte; graph.h shows the form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_impl.h"

/* Python's repr: the shortest digits that read back as v, with a point or an exponent so that it is
 * no integer. */
void print_float(struct buf *b, double v) {
    char digits[40];
    if (isnan(v)) return buf_puts(b, "nan");
    if (isinf(v)) return buf_puts(b, v < 0 ? "-inf" : "inf");
    int n = 0; /* digits after the first */
    do snprintf(digits, sizeof digits, "%.*e", n, v);
    while (strtod(digits, NULL) != v && n++ < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= 16)
        buf_puts(b, digits);
    else if (exponent < -4)
        buf_puts(b, digits);
    else
        buf_printf(b, "%.*f", n > exponent ? n - exponent : 1, v);
}

static void print_string(struct buf *b, const char *s) {
    buf_putc(b, '\'');
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\') buf_putc(b, '\\');
        if (*s == '\n')
            buf_puts(b, "\\n");
        else
            buf_putc(b, *s);
    }
    buf_putc(b, '\'');
}

static void print_exprs(struct buf *b, const struct graph *g, const ex *at, uint32_t n) {
    buf_putc(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) buf_puts(b, ", ");
        ex_print(b, g->ex, at[i]);
    }
    buf_putc(b, ']');
}

static void print_node(struct buf *b, const struct graph *g, node_id n) {
    buf_printf(b, "%%%s", g->nodes.at[n].name);
}

static void print_graph(struct buf *b, const struct graph *g, int depth);

void graph_print_arg(struct buf *b, const struct graph *g, const struct arg *a) {
    switch (a->kind) {
    case ARG_NONE: buf_puts(b, "None"); break;
    case ARG_NODE: print_node(b, g, a->node); break;
    case ARG_INT: ex_print(b, g->ex, a->i); break;
    case ARG_INTS: print_exprs(b, g, a->ints.at, a->ints.n); break;
    case ARG_FLOAT: print_float(b, a->f); break;
    case ARG_BOOL: buf_puts(b, a->b ? "True" : "False"); break;
    case ARG_DTYPE: buf_puts(b, dtype_name(a->dtype)); break;
    case ARG_STR: print_string(b, a->s); break;
    case ARG_GRAPH: print_graph(b, a->graph, 1); break;
    case ARG_NODES:
        buf_putc(b, '[');
        for (uint32_t i = 0; i < a->nodes.n; i++) {
            if (i) buf_puts(b, ", ");
            print_node(b, g, a->nodes.at[i]);
        }
        buf_putc(b, ']');
        break;
    }
}

void graph_print_shape(struct buf *b, const struct graph *g, const struct meta *m) {
    print_exprs(b, g, m->size, m->rank);
}

/* f32[8, 4] or, where not row-major, f32[8, 4][1, 8] */
void print_meta(struct buf *b, const struct graph *g, const struct meta *m) {
    struct meta dense = *m;
    meta_contiguous(g->ex, &dense);
    buf_puts(b, dtype_name(m->dtype));
    graph_print_shape(b, g, m);
    for (int i = 0; i < m->rank; i++)
        if (m->stride[i] != dense.stride[i]) {
            print_exprs(b, g, m->stride, m->rank);
            break;
        }
}

static void print_call(struct buf *b, const struct graph *g, const struct node *n, int depth) {
    const struct op_info *op = op_info(n->op);
    bool named = false;
    buf_printf(b, "%s(", op->name);
    for (int i = 0; i < n->n_args; i++) {
        if (i) buf_puts(b, ", ");
        named |= op->params[i].kind != 'T' && op->params[i].kind != '|';
        if (named) buf_printf(b, "%s=", op->params[i].name);
        if (n->args[i].kind == ARG_GRAPH)
            print_graph(b, n->args[i].graph, depth + 1);
        else
            graph_print_arg(b, g, &n->args[i]);
    }
    buf_putc(b, ')');
}

static void print_input(struct buf *b, const struct graph *g, uint32_t i) {
    static const char *const kinds[] = {
        [INPUT_ARG] = "arg ", [INPUT_PARAMETER] = "parameter ", [INPUT_BUFFER] = "buffer "};
    const struct graph_input *in = &g->inputs.at[i];
    print_node(b, g, in->node);
    buf_puts(b, ": ");
    print_meta(b, g, &g->nodes.at[in->node].meta);
    if (!in->source) return;
    buf_puts(b, " = ");
    if (in->kind != INPUT_ARG || in->init != i) buf_puts(b, kinds[in->kind]);
    if (in->init != i) buf_printf(b, "%u ", in->init);
    buf_puts(b, in->source);
}

static void print_precision(struct buf *b, const struct graph *g) {
    if (g->products != PRECISION_F32) buf_printf(b, " products %s", precision_name(g->products));
    if (g->convolutions != PRECISION_F32)
        buf_printf(b, "%s convolutions %s", g->products != PRECISION_F32 ? "," : "",
                   precision_name(g->convolutions));
}

static void print_nodes(struct buf *b, const struct graph *g, int depth) {
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        if (n->op == OP_INPUT) continue;
        buf_printf(b, "%*s", 2 * depth + 2, "");
        print_node(b, g, i);
        buf_puts(b, ": ");
        print_meta(b, g, &n->meta);
        buf_puts(b, " = ");
        print_call(b, g, n, depth);
        buf_putc(b, '\n');
    }
}

static void print_graph(struct buf *b, const struct graph *g, int depth) {
    buf_puts(b, "graph(");
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        if (i) buf_printf(b, ",\n%*s", 2 * depth + 6, "");
        print_input(b, g, i);
    }
    buf_puts(b, ")");
    print_precision(b, g);
    buf_puts(b, " {\n");
    print_nodes(b, g, depth);
    buf_printf(b, "%*sreturn ", 2 * depth + 2, "");
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        if (i) buf_puts(b, ", ");
        for (uint32_t k = 0; k < g->inputs.n; k++) {
            if (g->inputs.at[k].becomes != i + 1) continue;
            print_node(b, g, g->inputs.at[k].node);
            buf_puts(b, " = ");
        }
        print_node(b, g, g->outputs.at[i]);
    }
    buf_printf(b, "\n%*s}", 2 * depth, "");
}

void graph_print(struct buf *b, const struct graph *g) {
    print_graph(b, g, 0);
    buf_putc(b, '\n');
}
