/* eval_loss.c: reference loops of the losses that know classes, and what a reduction makes of the
 * losses of all elements.
 *
 *   cross_entropy: loss of a sample = -weight[target] log(exp(x[target]) / sum of exp(x)) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/eval.h"

static const char *reduction_of(const struct node *n) {
    int k;
    op_param(n->op, "reduction", &k);
    return n->args[k].s;
}

void eval_reduced(const struct job *j, const double *loss, int64_t n) {
    const char *how = reduction_of(j->node);
    const struct cell *x = j->in[0];
    long double total = 0;
    for (int64_t i = 0; i < n; i++) total += loss[i];
    if (!strcmp(how, "mean")) total /= n;
    if (!strcmp(how, "batchmean")) total /= x->rank ? x->size[0] : 1;
    j->out->v[0] = (double)total;
}

/* Where the classes of a sample are: the input is [N, C, rest] or [C]. */
struct samples {
    int64_t n, classes, rest;
};

static struct samples samples_of(const struct cell *x) {
    struct samples s = {1, x->size[x->rank == 1 ? 0 : 1], 1};
    for (int i = 2; i < x->rank; i++) s.rest *= x->size[i];
    s.n = (x->rank == 1 ? 1 : x->size[0]) * s.rest;
    return s;
}

static int64_t class_at(const struct samples *s, int64_t i, int64_t c) {
    return (i / s->rest * s->classes + c) * s->rest + i % s->rest;
}

static double weight_of(const struct job *j, int64_t c) { return j->in[2] ? j->in[2]->v[c] : 1; }

/* The log probability of class c; of what the input holds already, or by softmax. */
static double log_total(const struct job *j, const struct samples *s, int64_t i) {
    const double *x = j->in[0]->v;
    double most = -INFINITY;
    long double sum = 0;
    if (j->node->op == OP_NLL_LOSS) return 0;
    for (int64_t c = 0; c < s->classes; c++)
        if (!(x[class_at(s, i, c)] <= most)) most = x[class_at(s, i, c)];
    for (int64_t c = 0; c < s->classes; c++) sum += exp(x[class_at(s, i, c)] - most);
    // cppcheck-suppress invalidFunctionArg ; of no class at all the logarithm is -inf
    return log((double)sum) + most;
}

/* How much class c is the target of sample i: 1 or 0, or its probability; smoothed. */
static double target_at(const struct job *j, const struct samples *s, int64_t i, int64_t c) {
    const struct cell *t = j->in[1];
    double smoothing = j->node->op == OP_NLL_LOSS ? 0 : j->node->args[5].f;
    double p = dtype_is_float(t->dtype) ? t->v[class_at(s, i, c)] : t->v[i] == (double)c;
    return p * (1 - smoothing) + smoothing / (double)s->classes;
}

static double loss_at(const struct job *j, const struct samples *s, int64_t i) {
    double total = log_total(j, s, i);
    long double loss = 0;
    bool probabilities = dtype_is_float(j->in[1]->dtype);
    for (int64_t c = 0; c < s->classes; c++) {
        double p = target_at(j, s, i, c);
        if (p == 0 && !probabilities) continue; /* 0 * inf is not looked at */
        loss -= p * weight_of(j, c) * (j->in[0]->v[class_at(s, i, c)] - total);
    }
    return (double)loss;
}

/* An index that is ignored, or none of a class, is no sample. */
static bool is_sample(const struct job *j, const struct samples *s, int64_t i) {
    double t = j->in[1]->v[i], ignored = arg_number(j->g, &j->node->args[3]);
    return t >= 0 && t < (double)s->classes && t != ignored;
}

void eval_class_loss(const struct job *j) {
    struct samples s = samples_of(j->in[0]);
    const struct cell *t = j->in[1];
    const char *how = reduction_of(j->node);
    bool probabilities = dtype_is_float(t->dtype);
    double *loss = malloc((size_t)(s.n + 1) * sizeof *loss);
    long double total = 0, weight = 0;
    if (!loss) WS_BUG("no memory for %lld losses", (long long)s.n);
#pragma omp parallel for if (j->in[0]->n > EVAL_SMALL)
    for (int64_t i = 0; i < s.n; i++)
        if (!eval_stops(j, i))
            loss[i] = probabilities || is_sample(j, &s, i) ? loss_at(j, &s, i) : 0;
    for (int64_t i = 0; i < s.n; i++) {
        total += loss[i];
        if (probabilities)
            weight += 1;
        else if (is_sample(j, &s, i))
            weight += weight_of(j, (int64_t)t->v[i]);
    }
    if (!strcmp(how, "none"))
        memcpy(j->out->v, loss, (size_t)s.n * sizeof *loss);
    else
        j->out->v[0] = (double)(strcmp(how, "mean") ? total : total / weight);
    free(loss);
}
