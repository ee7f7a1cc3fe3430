/* alone.c: chooses kernels, makes what they should have written, some at a time, and compares. */
#include "tuner/alone.h"

#include <math.h>
#include <stdlib.h>

#include "tuner/patience.h"

/* Of the work of the reference of the whole, whose parts these are. Layers that go through a loop's
 * steps together have products of twice their depth. */
static const double RIGHT = 2, RIGHT_STEPS = 4, WRONG = 16;
/* Elements: no wish to save. */
static const double A_MOMENT = 1 << 24;

/* Kernels that are judged together, and what was lowered for that. */
struct batch {
    struct arena *arena; /* of it alone; NULL: there is none */
    const struct ws_captured *kernels;
    const int *outputs;
};

/* What kernels can be judged by, and the first batch, as alone_begin has chosen it. */
struct alone_ahead {
    struct arena *arena; /* all of it lives there */
    const struct ws_program *program;
    struct ws_alone alone;
    bool *chosen;
    struct batch batch;
};

struct judging {
    struct testbed *bed;
    const struct ws_program *program;
    struct data *data;
    struct ws_alone alone;
    bool *chosen; /* by kernel; those of a batch, once they are judged, no longer */
    bool *batch;
    bool *right; /* by kernel: has been judged, and everything that is known of it had a bound */
    bool *known; /* by buffer: has been judged */
    int n_judged, n_buffers, n_too_much;
    const char *message; /* of the first that is wrong */
    struct arena *arena;
};

static const struct ws_program *program_of(const struct judging *j) { return j->program; }

static bool has_steps(const struct ws_program *p) {
    bool any = false;
    for (int k = 0; k < p->n_kernels; k++) any |= p->kernels[k].all_steps;
    return any;
}

/* Of one kernel the program's reference says as much, but of all steps of a loop, behind which
 * bounds are wide. */
static bool is_judged(const struct ws_program *p) { return p->n_kernels > 1 || has_steps(p); }

static double right_share(const struct ws_program *p) { return has_steps(p) ? RIGHT_STEPS : RIGHT; }

/* ---- which kernels --------------------------------------------------------------------------- */

struct cost {
    double work;
    int kernel;
};

static int by_work(const void *a, const void *b) {
    const struct cost *x = a, *y = b;
    return x->work != y->work ? (x->work > y->work) - (x->work < y->work) : x->kernel - y->kernel;
}

/* As many as `most` allows, those of the least work first. */
static void choose(struct judging *j, double most) {
    int n = program_of(j)->n_kernels;
    struct cost *costs = NEW_ARRAY(j->arena, struct cost, n);
    double work = 0;
    for (int k = 0; k < n; k++) costs[k] = (struct cost){j->alone.parts[k].work, k};
    qsort(costs, (size_t)n, sizeof *costs, by_work);
    for (int i = 0; i < n; i++) {
        const struct ws_alone_part *part = &j->alone.parts[costs[i].kernel];
        j->n_buffers += part->n_known + part->n_unknown;
        work += part->work;
        j->chosen[costs[i].kernel] = part->n_known && work <= most;
        j->n_too_much += part->n_known && work > most;
    }
}

/* The next of those that are chosen, whose references have room together. False: none is left. */
static bool next_batch(struct judging *j) {
    size_t left = device_memory_left(j->data->machine->device);
    double room = left == SIZE_MAX ? INFINITY : (double)left / 2, bytes = 0;
    bool any = false, full = false;
    for (int k = 0; k < program_of(j)->n_kernels; k++) {
        full |= any && j->chosen[k] && bytes + j->alone.parts[k].bytes > room;
        j->batch[k] = j->chosen[k] && !full;
        if (!j->batch[k]) continue;
        bytes += j->alone.parts[k].bytes;
        j->chosen[k] = false;
        any = true;
    }
    return any;
}

/* ---- are they right -------------------------------------------------------------------------- */

static struct batch join(const struct judging *j) {
    struct batch b = {.arena = arena_within(j->arena)};
    b.kernels = ws_alone_join(&j->alone, j->batch, b.arena, &b.outputs);
    return b;
}

/* Was it joined ahead? Then it is lowered, and its texts are compiled by now. */
static struct batch take_batch(struct judging *j) {
    struct alone_ahead *ahead = j->data->ahead;
    bool same = ahead && ahead->program == j->program && ahead->batch.arena;
    for (int k = 0; same && k < j->program->n_kernels; k++) same = ahead->chosen[k] == j->batch[k];
    if (!same) return join(j);
    struct batch taken = ahead->batch;
    ahead->batch = (struct batch){0};
    return taken;
}

/* What the batch should have written, from what is in place. */
static enum ws_status make_references(struct judging *j, const struct batch *b,
                                      struct data *kernels, struct diag *d) {
    struct testbed *t = j->bed;
    dptr *inputs = NEW_ARRAY(b->arena, dptr, b->kernels->n_inputs);
    for (int i = 0; i < b->kernels->n_inputs; i++) {
        int buffer = j->alone.inputs[i];
        inputs[i] = buffer < 0 ? t->data->inputs[i] : t->buffers.at[buffer];
    }
    data_open_lent(kernels, t->data, b->kernels, inputs, b->arena);
    return data_make_reference(kernels, d);
}

/* What the variant has left, or, where that lies in an input's memory, leaves once more: it is the
 * input's again since. */
static enum ws_status compare(const struct judging *j, const struct variant *v,
                              const char **message, struct diag *d) {
    const struct ws_kernel *kernel = variant_kernel(v);
    bool in_place = false, spoilt;
    for (int i = 0; i < kernel->n_writes; i++)
        in_place |= program_of(j)->buffers[kernel->writes[i]].in_place >= 0;
    return in_place ? testbed_check(j->bed, v, false, message, &spoilt, d)
                    : testbed_compare(j->bed, v, message, d);
}

static enum ws_status judge_kernel(struct judging *j, int k, struct diag *d) {
    const struct variant *v = j->bed->plan->chosen[k];
    int64_t unbounded = j->bed->unbounded;
    const char *message;
    enum ws_status s = compare(j, v, &message, d);
    if (s == WS_OK && message)
        j->message =
            arena_printf(j->arena, "kernel %s alone: %s", variant_kernel(v)->name, message);
    j->right[k] = s == WS_OK && !message && j->bed->unbounded == unbounded;
    return s;
}

static enum ws_status judge_batch(struct judging *j, struct diag *d) {
    struct testbed *t = j->bed;
    struct data kernels = {0};
    struct batch b = take_batch(j);
    make_references(j, &b, &kernels, d);
    int n = d->status == WS_OK && kernels.reference ? b.kernels->n_outputs : 0;
    for (int i = 0; i < n; i++) {
        t->expected[b.outputs[i]] = kernels.expected[i];
        j->known[b.outputs[i]] = true;
    }
    double begun = clock_ms();
    doing_what(t->machine->doing, "comparing each kernel with its reference");
    for (int k = 0; n && k < program_of(j)->n_kernels && !j->message; k++)
        if (j->batch[k] && judge_kernel(j, k, d) != WS_OK) break;
    machine_log_stage(t->machine, "alone: compare", begun);
    for (int i = 0; i < n; i++) t->expected[b.outputs[i]] = (struct expected){0};
    j->n_judged += n;
    data_close(&kernels);
    arena_free(b.arena);
    return d->status;
}

static const char *remark_of(const struct judging *j) {
    struct buf b = buf_new(j->arena);
    buf_printf(&b, "each kernel alone: %d of the %d buffers that they write are judged",
               j->n_judged, j->n_buffers);
    if (j->n_too_much)
        buf_printf(&b, "; the references of %d kernel%s would be too much work", j->n_too_much,
                   j->n_too_much == 1 ? "" : "s");
    if (j->bed->unbounded)
        buf_printf(&b, "; %lld of their elements have no bound", (long long)j->bed->unbounded);
    buf_puts(&b, "\n");
    return b.p;
}

/* ---- are the outputs right by that ----------------------------------------------------------- */

/* Those that no wrong or unjudged kernel is behind. Of what is no tensor of the graph nothing is
 * known but by who reads it. */
static void tell_outputs(const struct judging *j, struct data *x) {
    const struct ws_program *p = program_of(j);
    bool *wrong = NEW_ARRAY(j->arena, bool, p->n_buffers);
    for (int k = 0; k < p->n_kernels; k++) { /* each behind what it reads */
        const struct ws_kernel *kernel = &p->kernels[k];
        bool bad = !j->right[k] && j->alone.parts[k].n_known;
        for (int i = 0; i < kernel->n_reads; i++) bad |= wrong[kernel->reads[i]];
        for (int i = 0; i < kernel->n_writes; i++) wrong[kernel->writes[i]] |= bad;
    }
    for (int b = 0; b < p->n_buffers; b++)
        if (p->buffers[b].kind == WS_BUF_OUTPUT)
            x->by_kernels[p->buffers[b].index] = j->known[b] && !wrong[b];
    for (int i = 0; i < x->captured->n_outputs; i++)
        x->by_kernels[i] = p->returned_input[i] >= 0 || x->by_kernels[p->first_output[i]];
}

/* Outputs may be wrong. */
static enum ws_status fill(struct judging *j, struct diag *d) {
    struct diag whole = diag_new(j->arena);
    testbed_run(j->bed, &whole);
    patience_endless(j->bed->machine->device); /* plain kernels take as long as they take */
    if (whole.status != WS_OK && whole.status != WS_WRONG)
        return diag_fail(d, whole.status, "%s", whole.message);
    return WS_OK;
}

/* What there is to judge, of so large a share of the reference's work. */
static void open_judging(struct judging *j, struct data *x, const struct ws_program *p,
                         double share, struct arena *a) {
    double whole = ws_reference_work(x->captured, x->machine->limits.kind);
    int n = p->n_kernels;
    j->alone = x->ahead && x->ahead->program == p ? x->ahead->alone : ws_alone_of(p, a);
    j->chosen = NEW_ARRAY(a, bool, n);
    j->batch = NEW_ARRAY(a, bool, n);
    j->right = NEW_ARRAY(a, bool, n);
    j->known = NEW_ARRAY(a, bool, p->n_buffers);
    choose(j, share * whole > A_MOMENT ? share * whole : A_MOMENT);
}

static struct judging judging_of(struct data *x, const struct ws_program *p, struct arena *a) {
    return (struct judging){.arena = a, .data = x, .program = p};
}

void alone_begin(struct data *x, const struct ws_program *p, struct arena *a) {
    if (!is_judged(p)) return;
    struct arena *own = arena_within(a);
    struct judging j = judging_of(x, p, own);
    double begun = clock_ms();
    open_judging(&j, x, p, right_share(p), own);
    if (next_batch(&j)) {
        struct alone_ahead *ahead = x->ahead = NEW(own, struct alone_ahead);
        *ahead = (struct alone_ahead){
            .arena = own, .program = p, .alone = j.alone, .chosen = j.batch, .batch = join(&j)};
        data_begin_reference_of(x, ahead->batch.kernels);
    } else {
        arena_free(own);
    }
    machine_log_stage(x->machine, "alone: lower kernels", begun);
}

void alone_end(struct data *x) {
    if (x->ahead) arena_free(x->ahead->arena);
    x->ahead = NULL;
}

static enum ws_status judge(struct data *x, const struct plan *p, double share, struct testbed *bed,
                            struct arena *a, const char **remark, struct diag *d) {
    struct judging j = judging_of(x, p->program, a);
    struct testbed own = {0};
    j.bed = bed ? bed : &own;
    *remark = "";
    if (!is_judged(p->program) || x->reference == REFERENCE_SAMPLED)
        return WS_OK; /* there is no memory */
    double begun = clock_ms();
    if (testbed_place(j.bed, x, p, a, d) == WS_OK && fill(&j, d) == WS_OK) {
        machine_log_stage(x->machine, "alone: run the program", begun);
        open_judging(&j, x, p->program, share, a);
        while (!j.message && next_batch(&j) && judge_batch(&j, d) == WS_OK) {}
        tell_outputs(&j, x);
        *remark = remark_of(&j);
        if (j.message && d->status == WS_OK) diag_fail(d, WS_WRONG, "%s", j.message);
    }
    if (!bed) testbed_close(j.bed);
    return d->status;
}

enum ws_status alone_judge(struct data *x, const struct plan *p, struct testbed *bed,
                           struct arena *a, const char **remark, struct diag *d) {
    return judge(x, p, right_share(p->program), bed, a, remark, d);
}

/* What the bed knows of temporaries gives way to references of the kernel, and comes back. */
enum ws_status alone_acquit(struct testbed *t, const struct variant *v, const char **message,
                            struct diag *d) {
    struct judging j = judging_of(t->data, t->plan->program, d->arena);
    struct data kernels = {0};
    j.bed = t;
    if (!is_judged(j.program) || t->data->reference == REFERENCE_SAMPLED) return WS_OK;
    open_judging(&j, t->data, j.program, WRONG, d->arena);
    if (!j.chosen[v->kernel]) return WS_OK;
    j.batch[v->kernel] = true;
    patience_endless(t->machine->device); /* of plain kernels */
    struct batch b = take_batch(&j);
    make_references(&j, &b, &kernels, d);
    int n = d->status == WS_OK && kernels.reference ? b.kernels->n_outputs : 0;
    struct expected *known = NEW_ARRAY(d->arena, struct expected, n);
    for (int i = 0; i < n; i++) {
        known[i] = t->expected[b.outputs[i]];
        if (t->taken[b.outputs[i]]) t->expected[b.outputs[i]] = kernels.expected[i];
    }
    patience_set(t->machine->device, t->default_ms);
    if (n) compare(&j, v, message, d);
    for (int i = 0; i < n; i++) t->expected[b.outputs[i]] = known[i];
    data_close(&kernels);
    arena_free(b.arena);
    return d->status;
}

const char *alone_blame(struct data *x, const struct plan *p, struct arena *a) {
    struct diag own = diag_new(a);
    const char *remark;
    judge(x, p, WRONG, NULL, a, &remark, &own);
    return own.status == WS_WRONG ? own.message : remark;
}
