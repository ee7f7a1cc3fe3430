/* once.c: what is computed once, however many kernels read it.
 *
 *   x = a * b + c     m = amax(x, 1)     hit = eq(x, m)
 *
 * The largest element is hit if it is one number on both sides. Where two loops compute it, it need
 * not be: in one of them a compiler makes the product and the sum one instruction, in the other it
 * wants the product by itself, or one is in vectors. So x is stored, and both load it: no kernel
 * both computes x and reads it.
 *
 * Which values: those that are compared with an extremum of what is made of them element by
 * element, which `where` may choose from. Inputs lie in memory anyway. And those that had better be
 * stored for the windows that read them (apart.c).
 *
 *   x = sigmoid(a) * b     is one number wherever it is computed, and may be computed again
 *
 * Not so those that no compiler can make in two ways: of what lies in memory by moves, choices and
 * products, none of which is added to anything, nor handed to a function that may add to it; and by
 * functions, where all of them are scalar code, on a GPU. A value of 16 bits is such a one if it is
 * rounded (graph/rounded_once.c): what is computed stays wider where it is not stored. */
#include "graph/traits.h"
#include "schedule/fuse.h"

enum { MOST_STEPS = 64 }; /* from an extremum back to the value */

static const struct inst *last_of(const struct nest *n) { return &n->insts.at[n->insts.n - 1]; }

static bool loads_twice(const struct nest *n) {
    for (uint32_t i = 0; i < n->insts.n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (n->insts.at[i].kind == INST_LOAD && n->insts.at[k].kind == INST_LOAD &&
                n->insts.at[i].buffer == n->insts.at[k].buffer)
                return true;
    return false;
}

/* A reduction, or one of few elements that is written out (unroll.c). */
static bool is_extremum(const struct nest *n) {
    const struct inst *x = last_of(n);
    if (x->kind == INST_REDUCE)
        return x->reduction == REDUCTION_AMAX || x->reduction == REDUCTION_AMIN;
    bool most = x->kind == INST_OP && op_index(x->op) == INDEX_MAX;
    bool least = x->kind == INST_OP && op_index(x->op) == INDEX_MIN;
    return (most || least) && loads_twice(n);
}

/* Is some of what n reads x, or made of x element by element, or an extremum of some of x, where
 * rows are reduced in parts (by_rows.c)? */
static bool made_of(const struct schedule *s, const struct nest *n, buffer_id x, int *steps) {
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *load = &n->insts.at[i];
        if (load->kind != INST_LOAD) continue;
        if (load->buffer == x) return true;
        uint32_t writer = s->writer[load->buffer];
        if (writer == NO_NEST || --*steps < 0) continue;
        const struct nest *from = &s->loops->nests.at[writer];
        if ((!from->n_reduce || is_extremum(from)) && made_of(s, from, x, steps)) return true;
    }
    return false;
}

/* The extremum that a value comes from, through nests that change nothing; or NULL. */
static const struct nest *extremum_of(const struct schedule *s, buffer_id b) {
    for (int steps = 0; steps < MOST_STEPS && s->writer[b] != NO_NEST; steps++) {
        const struct nest *n = &s->loops->nests.at[s->writer[b]];
        if (is_extremum(n)) return n;
        if (last_of(n)->kind != INST_LOAD) return NULL;
        b = last_of(n)->buffer;
    }
    return NULL;
}

static void note_comparison(const struct schedule *s, const struct nest *n, const struct inst *c,
                            bool *once) {
    for (int side = 0; side < 2; side++) {
        const struct inst *x = &n->insts.at[c->args[side]], *m = &n->insts.at[c->args[1 - side]];
        if (x->kind != INST_LOAD || m->kind != INST_LOAD) continue;
        const struct nest *extremum = extremum_of(s, m->buffer);
        int steps = MOST_STEPS;
        if (extremum && s->writer[x->buffer] != NO_NEST && made_of(s, extremum, x->buffer, &steps))
            once[x->buffer] = true;
    }
}

/* ---- one number wherever it is computed ------------------------------------------------------ */

/* What a compiler may do with a value that it computes. */
enum made {
    MADE_KNOWN,   /* nothing: it is loaded, a whole number, or rounded */
    MADE_PRODUCT, /* a product, or what a function ends with: one instruction with an addition */
    MADE_SUM,     /* an addition, of no product */
    MADE_WIDE,    /* one number that is rounded to 16 bits where it is stored, and nowhere else */
    MADE_OPEN     /* more than one number, or it is not known */
};

struct alike {
    const struct schedule *s;
    bool scalar; /* functions are the same code everywhere */
    int steps;
};

static enum made made(struct alike *a, const struct nest *n);

static enum made worse(enum made x, enum made y) { return x > y ? x : y; }

static enum made op_made(const struct alike *a, const struct inst *x, const enum made *of) {
    enum made args = MADE_KNOWN;
    bool product = false;
    for (int i = x->op == OP_WHERE; i < x->n_args; i++) {
        args = worse(args, of[x->args[i]]);
        product |= of[x->args[i]] == MADE_PRODUCT;
    }
    bool choice = x->op == OP_WHERE && of[x->args[0]] >= MADE_WIDE;
    if (args >= MADE_WIDE || choice) return MADE_OPEN;
    /* Decided by numbers that are what they are. */
    if (op_compares(x->op) || !dtype_is_float(x->dtype)) return MADE_KNOWN;
    if (x->op == OP_WHERE || op_chooses(x->op) || x->op == OP_NEG || x->op == OP_ABS) return args;
    if (x->op == OP_MUL) return MADE_PRODUCT;
    if (x->op == OP_ADD || x->op == OP_SUB) return product ? MADE_OPEN : MADE_SUM;
    return a->scalar && !product && !op_is_random(x->op) ? MADE_PRODUCT : MADE_OPEN;
}

static enum made cast_made(const struct inst *from, const struct inst *x, enum made of) {
    if (of == MADE_OPEN) return of;
    if (x->rounds) return MADE_KNOWN;
    if (!dtype_is_float(x->dtype)) return of == MADE_WIDE ? MADE_OPEN : of;
    return dtype_bytes(x->dtype) < 4 && from->dtype != x->dtype ? MADE_WIDE : of;
}

/* What is loaded: of memory, or made by a nest that may be inlined. */
static enum made load_made(struct alike *a, const struct inst *x) {
    uint32_t writer = a->s->writer[x->buffer];
    if (writer == NO_NEST) return MADE_KNOWN;
    const struct nest *n = &a->s->loops->nests.at[writer];
    bool reduced = n->n_reduce || n->scan || n->matmul;
    bool narrow = dtype_is_float(x->dtype) && dtype_bytes(x->dtype) < 4;
    if (reduced) return narrow ? MADE_WIDE : MADE_KNOWN; /* for one of its readers alone */
    return --a->steps < 0 ? MADE_OPEN : made(a, n);
}

static enum made made(struct alike *a, const struct nest *n) {
    enum { MOST = 64 };
    enum made of[MOST];
    if (n->insts.n > MOST) return MADE_OPEN;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        switch (x->kind) {
        case INST_CONST:
        case INST_INDEX:
        case INST_SUBSCRIPT: of[i] = MADE_KNOWN; break;
        case INST_LOAD: of[i] = load_made(a, x); break;
        case INST_CAST: of[i] = cast_made(&n->insts.at[x->args[0]], x, of[x->args[0]]); break;
        case INST_OP: of[i] = op_made(a, x, of); break;
        case INST_SCAN:
        case INST_REDUCE: of[i] = MADE_OPEN; break;
        }
        if (x->kind == INST_OP && dtype_is_float(x->dtype) && dtype_bytes(x->dtype) < 4 &&
            of[i] != MADE_KNOWN && of[i] != MADE_OPEN)
            of[i] = MADE_WIDE;
    }
    return of[n->insts.n - 1];
}

static bool made_alike(const struct schedule *s, buffer_id b, bool scalar) {
    struct alike a = {.s = s, .scalar = scalar, .steps = MOST_STEPS};
    return made(&a, &s->loops->nests.at[s->writer[b]]) < MADE_WIDE;
}

bool *values_made_once(const struct schedule *s, bool scalar) {
    bool *once = NEW_ARRAY(s->arena, bool, s->loops->buffers.n);
    for (uint32_t k = 0; k < s->loops->nests.n; k++) {
        const struct nest *n = &s->loops->nests.at[k];
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind == INST_OP && op_compares(x->op)) note_comparison(s, n, x, once);
        }
    }
    for (buffer_id b = 0; b < s->loops->buffers.n; b++)
        once[b] = once[b] && !made_alike(s, b, scalar);
    return once;
}

/* Does one group make such a value that the other one reads? */
static bool reads_once(struct fuser *f, uint32_t reader, uint32_t writer, buffer_id *value) {
    for (uint32_t i = 0; i < f->touched[writer].list.n; i++) {
        buffer_id b = *value = f->touched[writer].list.at[i].buffer;
        if (f->s->once[b] && group_writes(f, writer, b) && group_reads(f, reader, b)) return true;
    }
    return false;
}

const char *once_reason(struct fuser *f, const struct merge *m) {
    buffer_id value;
    if (!reads_once(f, m->a, m->b, &value) && !reads_once(f, m->b, m->a, &value)) return NULL;
    return f->apart && f->apart[value] & APART_WINDOWS
               ? "it would be made for each of the windows that read it"
               : "what is compared with its own extremum is computed once, and stored";
}
