/* plain_cuda.c: a nest as a plain kernel for CUDA: outputs, and lanes of them, are dealt to
 * threads. It takes the first of a range of outputs and the one behind it: it makes what lies
 * between. */
#include "emit/plain_nest.h"

enum {
    ENOUGH = 1 << 19, /* threads that fill a device */
    LEAST_STEPS = 16, /* of a lane */
};

struct lanes plain_lanes_of(const struct plain_emitter *w, int64_t outputs) {
    struct lanes s = {.n = 1};
    if (w->n->scan || !w->n->n_reduce) return s;
    for (int k = 0; k < w->n->n_reduce; k++)
        if (!s.shared || plain_bound(w, w->n->reduce[k]) > plain_bound(w, s.shared))
            s.shared = w->n->reduce[k];
    int64_t longest = plain_bound(w, s.shared);
    while (outputs * s.n < ENOUGH && s.n * 2 * LEAST_STEPS <= longest) s.n *= 2;
    s.first = plain_lies_along(w, s.shared) && s.n >= 32;
    return s;
}

/* Over each of the range's outputs so many times, neighbours in a row: t is the number of both. */
void plain_open_threads(struct plain_emitter *w, int64_t times) {
    const char *n = times > 1 ? arena_printf(w->arena, " * %s", plain_long_size(w, times)) : "";
    plain_put(
        w,
        "for (long long t = first%s + blockIdx.x * %dLL + threadIdx.x; t < end%s; t += gridDim.x * "
        "%dLL) {",
        n, PLAIN_THREADS, n, PLAIN_THREADS);
}

/* The same, but so many times one after the other, each over all outputs: o. */
static void open_rounds(struct plain_emitter *w, int64_t times, int64_t outputs,
                        const char *round) {
    const char *n = plain_long_size(w, outputs);
    plain_put(
        w, "for (long long t = blockIdx.x * %dLL + threadIdx.x; t < %s; t += gridDim.x * %dLL) {",
        PLAIN_THREADS, plain_long_size(w, times * outputs), PLAIN_THREADS);
    plain_put(w, "const long long o = t %% %s; const place %s = (place)(t / %s);", n, round, n);
    plain_put(w, "if (o < first || o >= end) continue;");
}

/* Where lane `lane` of output `o` leaves what it has; two arrays beside each other, where pairs. */
static void put_part(struct plain_emitter *w, const char *array, int64_t lanes, int64_t outputs) {
    const char *n = plain_long_size(w, outputs);
    plain_put(w, "%s[lane * %s + o] = a;", array, n);
    if (plain_of_pairs(w))
        plain_put(w, "((wide *)%s)[%s + lane * %s + o] = at;", array,
                  plain_long_size(w, lanes * outputs), n);
}

void plain_put_cuda(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    if (s->n > 1 && !s->first) {
        open_rounds(w, s->n, outputs, "lane");
    } else {
        plain_open_threads(w, s->n);
        const char *n = plain_long_size(w, s->n);
        plain_put(w, "const long long o = t / %s;", n);
        if (s->n > 1) plain_put(w, "const place lane = (place)(t %% %s);", n);
    }
    plain_put(w, "place left = (place)o; (void)left;");
    plain_put_axes(w, "left", w->n->scan);
    if (w->n->scan) {
        plain_put_scan(w);
    } else if (!w->n->n_reduce) {
        plain_put_insts(w);
        plain_put_store(w, arena_printf(w->arena, "v%u", w->n->insts.n - 1));
    } else {
        plain_put_accumulator(w);
        plain_open(w, w->n->n_reduce, s->shared, "lane", s->n);
        plain_put_insts(w);
        plain_put_step(w, "a", "at");
        plain_close(w, w->n->n_reduce);
        if (s->n > 1)
            put_part(w, "part", s->n, outputs);
        else
            plain_put_store(w, plain_result(w));
    }
    plain_put(w, "}");
}

/* From lanes in `from`, n of each output, to fewer in `to`; to the output itself, if to one. */
void plain_put_fold(struct plain_emitter *w, int64_t n, int64_t lanes, int64_t outputs) {
    const char *type = plain_value_type(plain_operand(w));
    open_rounds(w, lanes, outputs, "lane");
    plain_put(w, "place left = (place)o; (void)left; (void)lane;");
    plain_put_axes(w, "left", EX_NONE);
    plain_put_accumulator(w);
    const char *row = plain_long_size(w, outputs);
    plain_put(w, "for (long long k = lane; k < %s; k += %s) {", plain_long_size(w, n),
              plain_long_size(w, lanes));
    plain_put(w, "const %s v = from[k * %s + o];", type, row);
    if (plain_of_pairs(w))
        plain_put(w, "const wide number = ((const wide *)from)[%s + k * %s + o];",
                  plain_long_size(w, n * outputs), row);
    plain_put(w, "%s", plain_step(w, "a", "at", "v", "number"));
    plain_put(w, "}");
    if (lanes > 1)
        put_part(w, "to", lanes, outputs);
    else
        plain_put_store(w, plain_result(w));
    plain_put(w, "}");
}
