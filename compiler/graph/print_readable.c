/* print_readable.c: a graph as PyTorch's print_readable() shows it: Python that calls ATen.
 *
 *   class GraphModule(torch.nn.Module):
 *       def forward(self, l_x_: "f32[100, 100]", l_y_: "f32[100, 100]"):
 *           # File: example.py:4 in f, code: a = x + y
 *           add: "f32[100, 100]" = torch.ops.aten.add.Tensor(l_x_, l_y_)
 *           return (add,)
 *
 * For people; graph_print's text is what parses back. */
#include <ctype.h>
#include <string.h>

#include "graph/graph_impl.h"

/* "L['self'].linear.weight" -> "l_self_linear_weight", as torch._dynamo names inputs. */
const char *graph_readable_name(const struct graph *g, const struct graph_input *in) {
    struct buf b = buf_new(g->arena);
    for (const char *s = in->source ? in->source : g->nodes.at[in->node].name; *s; s++) {
        bool word = isalnum((unsigned char)*s) || *s == '_';
        if (word) buf_putc(&b, (char)tolower((unsigned char)*s));
        if (!word && b.n && b.p[b.n - 1] != '_') buf_putc(&b, '_');
    }
    return b.p;
}

static const char *node_name(const struct graph *g, node_id n) {
    for (uint32_t i = 0; g->nodes.at[n].op == OP_INPUT && i < g->inputs.n; i++)
        if (g->inputs.at[i].node == n) return graph_readable_name(g, &g->inputs.at[i]);
    return g->nodes.at[n].name;
}

static void print_type(struct buf *b, const struct graph *g, const struct meta *m) {
    buf_printf(b, "\"%s", dtype_name(m->dtype));
    graph_print_shape(b, g, m);
    buf_putc(b, '"');
}

static void print_arg(struct buf *b, const struct graph *g, const struct arg *a) {
    if (a->kind == ARG_DTYPE) {
        buf_printf(b, "torch.%s", dtype_torch_name(a->dtype));
    } else if (a->kind == ARG_NODE) {
        buf_puts(b, node_name(g, a->node));
    } else if (a->kind == ARG_NODES) {
        buf_putc(b, '[');
        for (uint32_t i = 0; i < a->nodes.n; i++)
            buf_printf(b, "%s%s", i ? ", " : "", node_name(g, a->nodes.at[i]));
        buf_putc(b, ']');
    } else {
        graph_print_arg(b, g, a);
    }
}

/* Which of the overloads of an operator this call is. */
static const char *overload(const struct op_info *op, const struct node *n) {
    const char *out = "default";
    for (int i = 0; i < op->n_params; i++) {
        if (i && op->params[i].kind == '|')
            return n->args[i].kind == ARG_NODE ? "Tensor" : "Scalar";
        if (op->class == REDUCE && op->params[i].kind == 'D' && n->args[i].kind == ARG_INTS)
            out = op->dtype == RULE_SUM ? "dim_IntList" : "dim";
    }
    return out;
}

bool graph_is_default(const struct graph *g, const struct param *p, const struct arg *a) {
    int64_t v;
    if (!p->has_default || a->kind != p->def.kind) return false;
    switch (a->kind) {
    case ARG_NONE: return true;
    case ARG_BOOL: return a->b == p->def.b;
    case ARG_FLOAT: return a->f == p->def.f;
    case ARG_INT: return ex_is_const(g->ex, a->i, &v) && (double)v == p->def.f;
    default: return false;
    }
}

/* Tensors and what follows them in order; trailing defaults are left out. */
static void print_call(struct buf *b, const struct graph *g, const struct node *n) {
    const struct op_info *op = op_info(n->op);
    int n_args = n->n_args;
    while (n_args && graph_is_default(g, &op->params[n_args - 1], &n->args[n_args - 1])) n_args--;
    buf_printf(b, "torch.ops.aten.%s.%s(", op->name, overload(op, n));
    for (int i = 0; i < n_args; i++) {
        if (i) buf_puts(b, ", ");
        if (graph_is_default(g, &op->params[i], &n->args[i]))
            buf_printf(b, "%s = ", op->params[i].name);
        print_arg(b, g, &n->args[i]);
    }
    buf_putc(b, ')');
}

void graph_print_place(struct buf *b, const struct graph *g, struct span at) {
    if (!g->src || !at.line) return;
    const char *s = g->src->text;
    for (uint32_t line = 1; s && line < at.line; line++) {
        s = strchr(s, '\n');
        if (s) s++;
    }
    if (!s) return;
    s += strspn(s, " \t");
    buf_printf(b, "%s:%u, code: %.*s", g->src->path, at.line, (int)strcspn(s, "\r\n"), s);
}

/* The line of the program, once for all nodes that came from it. */
static void print_place(struct buf *b, const struct graph *g, struct span at) {
    struct buf place = buf_new(g->arena);
    graph_print_place(&place, g, at);
    if (place.n) buf_printf(b, "        # File: %s\n", place.p);
}

void graph_print_readable(struct buf *b, const struct graph *g) {
    buf_puts(b, "class GraphModule(torch.nn.Module):\n    def forward(self");
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        buf_printf(b, ", %s: ", graph_readable_name(g, &g->inputs.at[i]));
        print_type(b, g, &g->nodes.at[g->inputs.at[i].node].meta);
    }
    buf_puts(b, "):\n");
    uint32_t line = 0;
    for (node_id i = 0; i < g->nodes.n; i++) {
        const struct node *n = &g->nodes.at[i];
        if (n->op == OP_INPUT) continue;
        if (n->where.line != line) print_place(b, g, n->where);
        line = n->where.line;
        buf_printf(b, "        %s: ", n->name);
        print_type(b, g, &n->meta);
        buf_puts(b, " = ");
        print_call(b, g, n);
        buf_putc(b, '\n');
    }
    buf_puts(b, "        return (");
    for (uint32_t i = 0; i < g->outputs.n; i++)
        buf_printf(b, "%s%s", node_name(g, g->outputs.at[i]),
                   i + 1 < g->outputs.n ? ", "
                   : g->outputs.n == 1  ? ","
                                        : "");
    buf_puts(b, ")\n");
}
