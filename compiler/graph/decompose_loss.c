/* decompose_loss.c: losses as arithmetic and sums.
 *
 *   cross_entropy(x [N, C], target [N])
 *     -> s = x - amax(x); hot = target == arange(C);
 *        loss = log(sum(exp(s))) - sum(where(hot, s, 0))
 *
 * A target that is an index becomes a comparison with all indices: nothing is gathered, and the
 * whole loss is reductions over one reading of x. A sample whose index is no class is ignored. */
#include <math.h>
#include <string.h>

#include "graph/decompose.h"

static node_id add(struct build *b, node_id x, node_id y) { return binary(b, OP_ADD, x, y); }
static node_id sub(struct build *b, node_id x, node_id y) { return binary(b, OP_SUB, x, y); }
static node_id mul(struct build *b, node_id x, node_id y) { return binary(b, OP_MUL, x, y); }
static node_id div_by(struct build *b, node_id x, node_id y) { return binary(b, OP_DIV, x, y); }
static node_id times(struct build *b, node_id x, double y) { return scalar(b, OP_MUL, x, y); }
static node_id plus(struct build *b, node_id x, double y) { return scalar(b, OP_ADD, x, y); }
static node_id choose(struct build *b, node_id condition, struct arg x, struct arg y) {
    return call(b, OP_WHERE, arg_node(condition), x, y);
}

static const struct arg *param_of(const struct node *n, const char *name) {
    int k;
    if (!op_param(n->op, name, &k)) WS_BUG("%s has no parameter %s", op_info(n->op)->name, name);
    return &n->args[k];
}

/* The loss of each element, as the reduction says; batchmean divides by the first size. */
static node_id reduced(struct build *b, const struct node *n, node_id loss) {
    const char *how = param_of(n, "reduction")->s;
    if (!strcmp(how, "none")) return loss;
    if (!strcmp(how, "mean")) return mean(b, loss, arg_none(), false);
    node_id sum = reduce(b, OP_SUM, loss, arg_none(), false);
    const struct meta *m = meta_of(b, n->args[0].node);
    bool batch = !strcmp(how, "batchmean") && m->rank;
    return batch ? call(b, OP_DIV, arg_node(sum), arg_ex(m->size[0])) : sum;
}

/* x times argument i, where that is given. */
static node_id weighted(struct build *b, const struct node *n, node_id x, int i) {
    return n->args[i].kind == ARG_NODE ? mul(b, x, operand(b, n, i)) : x;
}

/* ---- element by element ---------------------------------------------------------------------- */

/* From d = |x - y|: mse d d;  l1 d;  huber d d / 2 up to delta, then delta (d - delta / 2);
 * smooth_l1 the same over delta, with beta for delta */
static node_id of_difference(struct build *b, const struct node *n) {
    node_id d = sub(b, operand(b, n, 0), operand(b, n, 1));
    if (n->op == OP_MSE_LOSS) return mul(b, d, d);
    node_id a = unary(b, OP_ABS, d);
    if (n->op == OP_L1_LOSS) return a;
    double knee = number_of(b, &n->args[3]);
    if (n->op == OP_SMOOTH_L1_LOSS) {
        if (knee == 0) return a;
        node_id square = scalar(b, OP_DIV, mul(b, times(b, a, 0.5), a), knee);
        return choose(b, scalar(b, OP_LT, a, knee), arg_node(square),
                      arg_node(plus(b, a, -0.5 * knee)));
    }
    return choose(b, scalar(b, OP_LE, a, knee), arg_node(mul(b, times(b, a, 0.5), a)),
                  arg_node(times(b, plus(b, a, -0.5 * knee), knee)));
}

node_id expand_difference_loss(struct build *b, const struct node *n) {
    return reduced(b, n, of_difference(b, n));
}

/* (y - 1) log(1 - x) - y log(x), logarithms at least -100 */
node_id expand_bce(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1);
    node_id no = scalar(b, OP_MAXIMUM, unary(b, OP_LOG1P, unary(b, OP_NEG, x)), -100);
    node_id yes = scalar(b, OP_MAXIMUM, unary(b, OP_LOG, x), -100);
    node_id loss = sub(b, mul(b, plus(b, y, -1), no), mul(b, y, yes));
    return reduced(b, n, weighted(b, n, loss, 2));
}

/* (1 - y) x - (1 + (pos_weight - 1) y) log(sigmoid(x)), by the operator whose gradient is smooth at
 * 0 */
node_id expand_bce_logits(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1);
    node_id soft = unary(b, OP_NEG, unary(b, OP_LOGSIGMOID, x));
    if (n->args[4].kind == ARG_NODE) {
        node_id extra = mul(b, plus(b, operand(b, n, 4), -1), y);
        soft = mul(b, soft, plus(b, extra, 1));
    }
    node_id other = mul(b, plus(b, unary(b, OP_NEG, y), 1), x);
    return reduced(b, n, weighted(b, n, add(b, other, soft), 2));
}

/* target (log(target) - x), 0 log(0) being 0; exp(target) (target - x) of a logarithm */
node_id expand_kl_div(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1), loss;
    if (number_of(b, &n->args[3]) != 0)
        loss = mul(b, unary(b, OP_EXP, y), sub(b, y, x));
    else
        loss = sub(b, binary(b, OP_XLOGY, y, y), mul(b, y, x));
    return reduced(b, n, loss);
}

/* x where the target is 1, max(margin - x, 0) where it is -1, their sum elsewhere */
node_id expand_hinge_embedding_loss(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1);
    node_id far = plus(b, unary(b, OP_NEG, x), number_of(b, &n->args[2]));
    struct arg zero = arg_int(b->g, 0);
    node_id apart = choose(b, scalar(b, OP_NE, y, 1), arg_node(unary(b, OP_RELU, far)), zero);
    node_id near = choose(b, scalar(b, OP_NE, y, -1), arg_node(x), zero);
    return reduced(b, n, add(b, apart, near));
}

/* max(margin - y (x1 - x2), 0) */
node_id expand_margin_ranking_loss(struct build *b, const struct node *n) {
    node_id d = sub(b, operand(b, n, 0), operand(b, n, 1));
    node_id wrong = unary(b, OP_NEG, mul(b, operand(b, n, 2), d));
    return reduced(b, n, unary(b, OP_RELU, plus(b, wrong, number_of(b, &n->args[3]))));
}

/* log1p(exp(-y x)) */
node_id expand_soft_margin_loss(struct build *b, const struct node *n) {
    node_id x = mul(b, unary(b, OP_NEG, operand(b, n, 1)), operand(b, n, 0));
    return reduced(b, n, unary(b, OP_LOG1P, unary(b, OP_EXP, x)));
}

/* exp(x) - y x, or x - y log(x + eps); full adds Stirling's y log(y) - y + log(2 pi y) / 2 */
node_id expand_poisson_nll_loss(struct build *b, const struct node *n) {
    node_id x = operand(b, n, 0), y = operand(b, n, 1), loss;
    if (number_of(b, &n->args[2]) != 0) {
        loss = sub(b, unary(b, OP_EXP, x), mul(b, y, x));
    } else {
        node_id shifted_x = plus(b, x, number_of(b, &n->args[4]));
        loss = sub(b, x, mul(b, y, unary(b, OP_LOG, shifted_x)));
    }
    if (number_of(b, &n->args[3]) != 0) {
        node_id entropy = sub(b, mul(b, y, unary(b, OP_LOG, y)), y);
        node_id half = times(b, unary(b, OP_LOG, times(b, y, 2 * M_PI)), 0.5);
        loss = add(
            b, loss,
            choose(b, scalar(b, OP_GT, y, 1), arg_node(add(b, entropy, half)), arg_int(b->g, 0)));
    }
    return reduced(b, n, loss);
}

/* (log(var) + (x - y)^2 / var) / 2, var at least eps; full adds log(2 pi) / 2 */
node_id expand_gaussian_nll_loss(struct build *b, const struct node *n) {
    node_id d = sub(b, operand(b, n, 0), operand(b, n, 1));
    node_id var = scalar(b, OP_MAXIMUM, operand(b, n, 2), number_of(b, &n->args[4]));
    node_id loss = add(b, unary(b, OP_LOG, var), div_by(b, mul(b, d, d), var));
    loss = times(b, loss, 0.5);
    if (number_of(b, &n->args[3]) != 0) loss = plus(b, loss, 0.5 * log(2 * M_PI));
    return reduced(b, n, loss);
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The input is [C] or [N, C, ...]: this dimension holds the classes. */
static int class_dim(const struct meta *m) { return m->rank == 1 ? 0 : 1; }

/* One value for each class, [C], in the shape that broadcasts to the input. */
static node_id for_classes(struct build *b, node_id x, const struct meta *input) {
    struct meta m = {.rank = (uint8_t)(input->rank - class_dim(input))};
    for (int i = 1; i < m.rank; i++) m.size[i] = ex_const(b->g->ex, 1);
    m.size[0] = input->size[class_dim(input)];
    return reshape(b, x, &m);
}

/* What the two losses of an index have in common. */
struct classes {
    struct arg dims;        /* the classes */
    node_id hot, valid;     /* which class is the target; is it a class, and not to be ignored? */
    struct arg weight, own; /* of each class; of the target's class; or none */
};

static node_id over_classes(struct build *b, const struct classes *c, node_id x) {
    return reduce(b, OP_SUM, x, c->dims, false);
}

static node_id pick(struct build *b, const struct classes *c, struct arg x) {
    return over_classes(b, c, choose(b, c->hot, x, arg_int(b->g, 0)));
}

static bool may_be_class(const struct build *b, const struct arg *index, ex classes) {
    int64_t i, n;
    if (!ex_is_const(b->g->ex, index->i, &i)) return true;
    return i >= 0 && (!ex_is_const(b->g->ex, classes, &n) || i < n);
}

static struct classes compare_classes(struct build *b, const struct node *n) {
    const struct meta *m = meta_of(b, n->args[0].node);
    int dim = class_dim(m);
    struct classes c = {.dims = one_dim(b, dim)};
    if (n->args[2].kind == ARG_NODE) c.weight = arg_node(for_classes(b, operand(b, n, 2), m));
    if (dtype_is_float(meta_of(b, n->args[1].node)->dtype)) return c; /* probabilities */
    node_id target = n->args[1].node;
    node_id all = for_classes(b, call(b, OP_ARANGE, arg_int(b->g, 0), arg_ex(m->size[dim])), m);
    node_id one = call(b, OP_UNSQUEEZE, arg_node(target), arg_int(b->g, dim));
    c.hot = binary(b, OP_EQ, one, all);
    c.valid = binary(b, OP_LOGICAL_AND, scalar(b, OP_GE, target, 0),
                     call(b, OP_LT, arg_node(target), arg_ex(m->size[dim])));
    if (may_be_class(b, &n->args[3], m->size[dim]))
        c.valid = binary(b, OP_LOGICAL_AND, c.valid, call(b, OP_NE, arg_node(target), n->args[3]));
    if (c.weight.kind == ARG_NODE) c.own = arg_node(pick(b, &c, c.weight));
    return c;
}

/* The mean is weighted by what the samples weigh, those that are ignored nothing. */
static node_id reduced_samples(struct build *b, const struct node *n, const struct classes *c,
                               node_id loss) {
    loss = choose(b, c->valid, arg_node(loss), arg_int(b->g, 0));
    if (strcmp(param_of(n, "reduction")->s, "mean")) return reduced(b, n, loss);
    node_id weight = c->own.kind == ARG_NODE ? choose(b, c->valid, c->own, arg_int(b->g, 0))
                                             : cast(b, c->valid, meta_of(b, loss)->dtype);
    return div_by(b, reduce(b, OP_SUM, loss, arg_none(), false),
                  reduce(b, OP_SUM, weight, arg_none(), false));
}

static node_id times_arg(struct build *b, node_id x, struct arg weight) {
    return weight.kind == ARG_NODE ? mul(b, x, weight.node) : x;
}

/* -weight of the target's class times its log probability */
node_id expand_nll_loss(struct build *b, const struct node *n) {
    struct classes c = compare_classes(b, n);
    node_id picked = pick(b, &c, arg_node(operand(b, n, 0)));
    return reduced_samples(b, n, &c, times_arg(b, unary(b, OP_NEG, picked), c.own));
}

/* The target is a distribution t: -sum(w t log_softmax(x)), as log(total) sum(w t) - sum(w t s). */
static node_id cross_distribution(struct build *b, const struct node *n, const struct classes *c,
                                  node_id s, node_id log_total) {
    double smoothing = n->args[5].f;
    node_id t = operand(b, n, 1);
    if (smoothing != 0) {
        const struct meta *m = meta_of(b, t);
        double classes = (double)ex_value(b->g->ex, m->size[class_dim(m)]);
        t = plus(b, times(b, t, 1 - smoothing), smoothing / classes);
    }
    t = times_arg(b, t, c->weight);
    node_id all = mul(b, log_total, over_classes(b, c, t));
    return reduced(b, n, sub(b, all, over_classes(b, c, mul(b, t, s))));
}

/* The mean over the classes of -w log_softmax(x) */
static node_id uniform_loss(struct build *b, const struct classes *c, node_id s,
                            node_id log_total) {
    ex classes = count(b, s, &c->dims);
    struct arg total = arg_ex(classes);
    if (c->weight.kind == ARG_NODE)
        total = arg_node(reduce(b, OP_SUM, c->weight.node, arg_none(), false));
    node_id all = call(b, OP_MUL, arg_node(log_total), total);
    node_id rest = over_classes(b, c, times_arg(b, s, c->weight));
    return call(b, OP_DIV, arg_node(sub(b, all, rest)), arg_ex(classes));
}

node_id expand_cross_entropy(struct build *b, const struct node *n) {
    struct classes c = compare_classes(b, n);
    double smoothing = n->args[5].f;
    node_id s = shifted(b, operand(b, n, 0), c.dims);
    node_id log_total = unary(b, OP_LOG, over_classes(b, &c, unary(b, OP_EXP, s)));
    if (dtype_is_float(meta_of(b, n->args[1].node)->dtype))
        return cross_distribution(b, n, &c, s, log_total);
    node_id loss = times_arg(b, sub(b, log_total, pick(b, &c, arg_node(s))), c.own);
    if (smoothing != 0)
        loss = add(b, times(b, loss, 1 - smoothing),
                   times(b, uniform_loss(b, &c, s, log_total), smoothing));
    return reduced_samples(b, n, &c, loss);
}
