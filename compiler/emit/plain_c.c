/* plain_c.c: a nest as a plain function in C. A task takes a run along the last axis; the reduction
 * is the outer loop there where memory lies along that axis, and has sums side by side where it
 * lies along the reduction, so that compilers find vectors. */
#include "emit/plain_nest.h"

enum {
    CPU_RUN = 1024, /* elements of a task */
    CPU_SUMS = 64,  /* of them, where a reduction goes around them, ... */
    CPU_ROWS = 8,   /* ... in so many rows, ... */
    CPU_STEPS = 4,  /* ... each by so many steps at a time, ... */
    FEW_INSTS = 16, /* ... if one step is so short */
    CPU_LANES = 32, /* sums of one output, along memory */
};

/* How a CPU's tasks share a nest: each has a run along the last axis, and where the reduction goes
 * around that, some rows of the axis before it, which read the same memory. */
struct shares {
    ex last, rows;           /* EX_NONE: there is none */
    int64_t run, n_rows;     /* of a task, at most */
    int64_t runs, row_tasks; /* tasks along the axes */
    bool around;
};

static struct shares shares_of(const struct plain_emitter *w) {
    const struct nest *n = w->n;
    struct shares s = {.run = 1, .n_rows = 1, .runs = 1, .row_tasks = 1};
    s.last = n->n_axes ? n->axes[n->n_axes - 1] : EX_NONE;
    if (s.last == n->scan) s.last = EX_NONE;
    s.around = n->n_reduce && s.last && plain_lies_along(w, s.last) && !plain_of_pairs(w);
    if (s.around && n->n_axes > 1) s.rows = n->axes[n->n_axes - 2];
    if (!n->scan) s.run = s.around ? CPU_SUMS : n->n_reduce ? 1 : CPU_RUN;
    if (s.last) s.runs = (plain_bound(w, s.last) + s.run - 1) / s.run;
    if (s.rows)
        s.n_rows = CPU_ROWS, s.row_tasks = (plain_bound(w, s.rows) + CPU_ROWS - 1) / CPU_ROWS;
    return s;
}

/* A task's part of an axis: NAME to NAME_end. */
static void put_share(struct plain_emitter *w, const char *name, int64_t tasks, int64_t most,
                      int64_t length) {
    plain_put(w, "const place %s = (place)(left %% %lld) * %lld; left /= %lld;", name,
              (long long)tasks, (long long)most, (long long)tasks);
    plain_put(w, "const place %s_end = %s + %lld < %lld ? %s + %lld : %lld;", name, name,
              (long long)most, (long long)length, name, (long long)most, (long long)length);
}

static void open_share(struct plain_emitter *w, ex axis, const char *name) {
    const char *i = plain_index(w, axis);
    plain_put(w, "for (place %s = %s; %s < %s_end; %s++) {", i, name, i, name, i);
}

/* The loops over a task's sums, around one or several steps of the reduction. */
static void open_sums(struct plain_emitter *w, const struct shares *s) {
    if (s->rows) open_share(w, s->rows, "row");
    open_share(w, s->last, "from");
}
static void close_sums(struct plain_emitter *w, const struct shares *s) {
    plain_put(w, "}");
    if (s->rows) plain_put(w, "}");
}

/* A sum that goes to memory and back at every step waits for that: it takes some in a row, which
 * are the same additions in the same order. */
static void put_steps(struct plain_emitter *w, const struct shares *s, const char *at, ex axis,
                      int64_t end) {
    plain_put(w, "for (place step = 0; step < %lld; step += %d) {", (long long)end, CPU_STEPS);
    open_sums(w, s);
    plain_put(w, "%s a = %s;", plain_value_type(plain_operand(w)), at);
    for (int k = 0; k < CPU_STEPS; k++) {
        plain_put(w, "{");
        plain_put(w, "const place %s = step + %d;", plain_index(w, axis), k);
        plain_put_insts(w);
        plain_put_step(w, "a", "");
        plain_put(w, "}");
    }
    plain_put(w, "%s = a;", at);
    close_sums(w, s);
    plain_put(w, "}");
}

/* Sums of a task's rows, and along its run, side by side. */
static void put_around(struct plain_emitter *w, const struct shares *s) {
    const struct nest *n = w->n;
    const char *j = plain_index(w, s->last);
    const char *at = arena_printf(w->arena, "sums[%s - from]", j);
    if (s->rows)
        at = arena_printf(w->arena, "sums[(%s - row) * %d + %s - from]", plain_index(w, s->rows),
                          CPU_SUMS, j);
    plain_put(w, "%s sums[%lld];", plain_value_type(plain_operand(w)),
              (long long)(s->n_rows * CPU_SUMS));
    plain_put(w, "for (int k = 0; k < %lld; k++) sums[k] = %s;", (long long)(s->n_rows * CPU_SUMS),
              plain_identity(w));
    ex axis = n->reduce[n->n_reduce - 1];
    int64_t length = plain_bound(w, axis);
    int64_t stepped = n->insts.n <= FEW_INSTS ? length / CPU_STEPS * CPU_STEPS : 0;
    plain_open(w, n->n_reduce - 1, EX_NONE, "0", 1);
    if (stepped) put_steps(w, s, at, axis, stepped);
    if (stepped < length) {
        const char *r = plain_index(w, axis);
        plain_put(w, "for (place %s = %lld; %s < %lld; %s++) {", r, (long long)stepped, r,
                  (long long)length, r);
        open_sums(w, s);
        plain_put_insts(w);
        plain_put_step(w, at, "");
        close_sums(w, s);
        plain_put(w, "}");
    }
    plain_close(w, n->n_reduce - 1);
    open_sums(w, s);
    plain_put_store(w, at);
    close_sums(w, s);
}

/* Does one output have sums side by side? Of few steps that is not worth its folding; and what is
 * to be the same everywhere is added up in one order. */
static bool has_lanes(const struct plain_emitter *w) {
    const struct nest *n = w->n;
    ex axis = n->reduce[n->n_reduce - 1];
    return !w->exact && !plain_of_pairs(w) && n->insts.n <= FEW_INSTS &&
           plain_bound(w, axis) >= 4 * CPU_LANES && plain_lies_along(w, axis);
}

/* Neighbours along the reduction go to a sum each, as vectors do; in the end these are one. */
static void put_lanes(struct plain_emitter *w) {
    const struct nest *n = w->n;
    ex axis = n->reduce[n->n_reduce - 1];
    const char *r = plain_index(w, axis), *type = plain_value_type(plain_operand(w));
    int64_t length = plain_bound(w, axis), even = length / CPU_LANES * CPU_LANES;
    int parts = even < length ? 2 : 1;
    plain_put(w, "%s lanes[%d];", type, CPU_LANES);
    plain_put(w, "for (int k = 0; k < %d; k++) lanes[k] = %s;", CPU_LANES, plain_identity(w));
    plain_open(w, n->n_reduce - 1, EX_NONE, "0", 1);
    for (int rest = 0; rest < parts; rest++) {
        if (!rest)
            plain_put(w, "for (place step = 0; step < %lld; step += %d)", (long long)even,
                      CPU_LANES);
        plain_put(w, "for (int lane = 0; lane < %d; lane++) {",
                  rest ? (int)(length - even) : CPU_LANES);
        if (rest)
            plain_put(w, "const place %s = %lld + lane;", r, (long long)even);
        else
            plain_put(w, "const place %s = step + lane;", r);
        plain_put_insts(w);
        plain_put_step(w, "lanes[lane]", "");
        plain_put(w, "}");
    }
    plain_close(w, n->n_reduce - 1);
    plain_put(w, "%s a = %s;", type, plain_identity(w));
    plain_put(w, "for (int lane = 0; lane < %d; lane++) {", CPU_LANES);
    plain_put(w, "%s", plain_step(w, "a", "", "lanes[lane]", ""));
    plain_put(w, "}");
    plain_put_store(w, "a");
}

/* One element, or line of a scan. */
static void put_element(struct plain_emitter *w) {
    if (w->n->scan) {
        plain_put_whole_scan(w);
    } else if (!w->n->n_reduce) {
        plain_put_insts(w);
        plain_put_store(w, arena_printf(w->arena, "v%u", w->n->insts.n - 1));
    } else if (has_lanes(w)) {
        put_lanes(w);
    } else {
        plain_put_accumulator(w);
        plain_open(w, w->n->n_reduce, EX_NONE, "0", 1);
        plain_put_insts(w);
        plain_put_step(w, "a", "at");
        plain_close(w, w->n->n_reduce);
        plain_put_store(w, plain_result(w));
    }
}

void plain_put_c(struct plain_emitter *w) {
    const struct nest *n = w->n;
    struct shares s = shares_of(w);
    struct nest rest = *n;
    int64_t tasks = s.runs * s.row_tasks;
    if (s.last) rest.n_axes--;
    if (s.rows) rest.n_axes--;
    for (int k = 0; k < rest.n_axes; k++)
        if (rest.axes[k] != n->scan) tasks *= plain_bound(w, rest.axes[k]);
    if (tasks > 1) plain_put(w, "#pragma omp parallel for schedule(static)");
    plain_put(w, "for (long long t = 0; t < %lldLL; t++) {", (long long)tasks);
    plain_put(w, "long long left = t; (void)left;");
    if (s.last) put_share(w, "from", s.runs, s.run, plain_bound(w, s.last));
    if (s.rows) put_share(w, "row", s.row_tasks, s.n_rows, plain_bound(w, s.rows));
    w->n = &rest;
    plain_put_axes(w, "left", n->scan);
    w->n = n;
    if (s.around) {
        put_around(w, &s);
    } else {
        if (s.last) open_share(w, s.last, "from");
        put_element(w);
        if (s.last) plain_put(w, "}");
    }
    plain_put(w, "}");
}
