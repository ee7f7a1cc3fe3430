/* drive_emulator.c: CUDA text on the emulator; see drive.h. */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "loop/loop.h"
#include "tests/fuzz/drive_impl.h"

enum {
    BATCH = 96,                 /* kernels in one text: enough that the prelude's cost is shared */
    MOST_SIDE_BY_SIDE = 64,     /* blocks that the emulator has room for at a time, */
    MOST_SEEN = 16 * 16 * 1024, /* and for what each thread knows of each block */
};

static bool side_by_side(const struct ws_launch *l) {
    return l->grid[0] <= MOST_SIDE_BY_SIDE && l->grid[0] * l->grid[0] * l->threads <= MOST_SEEN;
}

static bool fits(const struct variant *v) {
    for (int i = 0; i < v->source.n_launches; i++)
        if (v->source.launches[i].together && !side_by_side(&v->source.launches[i])) return false;
    return true;
}

struct emulation *emulation_new(struct arena *a) {
    struct emulation *s = NEW(a, struct emulation);
    *s = (struct emulation){.a = a, .e = emu_new()};
    return s;
}

void emulation_free(struct emulation *s) {
    if (s) emu_free(s->e);
}

static void alloc_buffers(struct emulation *s, struct drive *b) {
    const struct ws_program *p = b->p;
    b->emulated = NEW_ARRAY(b->a, char *, p->n_buffers);
    for (int i = 0; i < p->n_buffers; i++) {
        const struct ws_buffer *x = &p->buffers[i];
        if ((!x->bytes && x->kind == WS_BUF_TEMP) || drive_is_window(b, i)) continue;
        if (x->in_place >= 0) continue;
        b->emulated[i] = emu_alloc(s->e, x->name, x->bytes ? x->bytes : 1);
        if (x->kind == WS_BUF_INPUT) drive_fill(b, x->index, b->emulated[i]);
    }
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].in_place >= 0) b->emulated[i] = b->emulated[p->buffers[i].in_place];
}

/* What the variant before has updated in place. */
static void fill_again(const struct drive *b) {
    for (int i = 0; i < b->p->n_buffers; i++) {
        int input = b->p->buffers[i].in_place;
        if (input >= 0) drive_fill(b, b->p->buffers[input].index, b->emulated[input]);
    }
}

bool emulation_add_all(struct emulation *s, struct drive *b, drive_pick *pick, void *ctx,
                       struct diag *d) {
    alloc_buffers(s, b);
    b->fits = fits;
    return drive_add_variants(s->a, &s->variants, b, pick, ctx, d);
}

static struct emu_module *open_batch(struct emulation *s, const text_vec *texts, uint32_t from,
                                     uint32_t to, struct diag *d) {
    VEC(const char *) names = {0};
    for (uint32_t i = from; i < to; i++) {
        const struct ws_source *src = &texts->at[i]->source;
        for (int l = 0; l < src->n_launches; l++)
            vec_push(s->a, &names, drive_entry(s->a, src->launches[l].entry, texts->at[i]));
    }
    const char *text = drive_join(s->a, texts, from, to);
    return emu_open(s->e, text, names.at, (int)names.n, d);
}

bool emulation_compile(struct emulation *s, struct diag *d) {
    text_vec texts = {0};
    drive_number_texts(s->a, &s->variants, &texts);
    uint32_t n = texts.n;
    s->modules = NEW_ARRAY(s->a, struct emu_module *, n / BATCH + 1);
    for (uint32_t i = 0; i < n; i += BATCH) {
        s->modules[i / BATCH] = open_batch(s, &texts, i, i + BATCH < n ? i + BATCH : n, d);
        if (!s->modules[i / BATCH]) return false;
    }
    return true;
}

/* Several launches share what they write: each may write some buffers, or parts of them; so do the
 * steps of a loop, whose stacks have gaps between them, as rows that begin at lines of memory have.
 */
static enum emu_role role_of(const struct variant *v, int buffer) {
    const struct ws_program *p = v->program->p;
    const struct ws_kernel *k = &p->kernels[v->kernel];
    const struct buffer *b = &p->loops->buffers.at[buffer];
    bool parts = v->source.n_launches > 1 || b->kind == BUFFER_WINDOW || b->kind == BUFFER_STACK ||
                 (b->kind == BUFFER_TEMP && !meta_is_contiguous(p->loops->ex, &b->meta));
    parts |= p->buffers[buffer].in_place >= 0; /* some of it stays */
    for (int i = 0; i < k->n_writes; i++)
        if (k->writes[i] == buffer) return parts ? EMU_INOUT : EMU_OUT;
    return EMU_IN;
}

/* What several launches leave unwritten must not be what another variant wrote: it is nan. */
static void poison_shared(const struct variant *v, int64_t step) {
    const struct ws_kernel *k = &v->program->p->kernels[v->kernel];
    for (int i = 0; i < k->n_writes; i++) {
        size_t from;
        int of = drive_place(v->program, k->writes[i], step, &from);
        if (v->program->p->buffers[k->writes[i]].in_place >= 0) continue; /* some of it stays */
        if (v->source.n_launches > 1 || drive_is_window(v->program, k->writes[i]))
            memset(v->program->emulated[of] + from, 0xff,
                   v->program->p->buffers[k->writes[i]].bytes);
    }
}

/* What a device reads from the text: its cluster must be the launch's, and divide the grid. */
static bool declares_cluster(struct arena *a, const char *text, const struct ws_launch *w) {
    static const char DIMS[] = "__cluster_dims__(";
    const char *entry = strstr(text, arena_printf(a, " %s(", w->entry)), *kernel = text;
    for (const char *at = text; at && at < entry; at = strstr(at + 1, "__global__")) kernel = at;
    const char *dims = strstr(kernel, DIMS);
    int declared = entry && dims && dims < entry ? atoi(dims + sizeof DIMS - 1) : 1;
    return entry && declared == (w->cluster > 1 ? w->cluster : 1) && w->grid[0] % declared == 0;
}

static struct emu_report run_launch(struct emulation *s, uint32_t index, int l, int64_t step,
                                    char *workspace, char *kept, char *tickets, bool check) {
    struct variant *v = &s->variants.at[index];
    const struct ws_launch *w = &v->source.launches[l];
    if (!declares_cluster(s->a, v->source.text, w))
        return (struct emu_report){.kind = EMU_BAD_LAUNCH,
                                   .message = "the text declares another cluster than the launch"};
    struct emu_module *m = s->modules[v->text / BATCH];
    void *values[WS_MAX_ARGS], *args[WS_MAX_ARGS];
    struct emu_map maps[WS_MAX_ARGS];
    enum emu_role roles[WS_MAX_ARGS];
    for (int i = 0; i < w->n_args; i++) {
        const struct ws_arg *x = &w->args[i];
        enum ws_arg_kind kind = x->kind == WS_ARG_MAP ? x->base : x->kind;
        args[i] = &values[i];
        roles[i] = EMU_VALUE;
        if (kind == WS_ARG_SIZE) {
            memcpy(&values[i], &x->value, sizeof x->value);
        } else if (kind == WS_ARG_WORKSPACE) {
            values[i] = workspace + x->value;
            roles[i] = EMU_INOUT; /* two partial results share it */
        } else if (kind == WS_ARG_KEPT) {
            values[i] = kept + x->value;
            roles[i] = w->at_load ? EMU_INOUT : EMU_IN;
        } else if (kind == WS_ARG_TICKETS) {
            values[i] = tickets;
            roles[i] = EMU_INOUT;
        } else {
            size_t from;
            int of = drive_place(v->program, x->buffer, step, &from);
            values[i] = v->program->emulated[of] + from;
            roles[i] = role_of(v, x->buffer);
        }
        if (x->kind != WS_ARG_MAP) continue;
        char *at = (char *)values[i] + (kind == WS_ARG_BUFFER ? x->value : 0);
        struct tensor_map map = ws_map_at(x->map, (uint64_t)(uintptr_t)at);
        maps[i] = emu_map_of(&map);
        args[i] = &maps[i];
    }
    /* Blocks that talk to each other, if they are few: as a cluster does. */
    bool together = tickets && side_by_side(w);
    struct emu_launch e = {
        .kernel = drive_entry(s->a, w->entry, v),
        .grid = {(unsigned)w->grid[0], (unsigned)w->grid[1], (unsigned)w->grid[2]},
        .threads = {(unsigned)w->threads},
        .shared = (size_t)w->smem,
        .cluster = (unsigned)w->cluster,
        .args = args,
        .n_args = w->n_args,
        .roles = roles,
        .blocks_communicate = tickets,
        .all_at_work = together};
    return check ? emu_check(m, &e) : emu_run(m, &e);
}

static bool run_variant(struct emulation *s, uint32_t index, int64_t step, bool check,
                        struct diag *d) {
    struct variant *v = &s->variants.at[index];
    size_t bytes = v->source.workspace;
    char *workspace = bytes ? emu_alloc(s->e, "workspace", bytes) : NULL;
    size_t n_tickets = v->source.tickets;
    size_t n_kept = v->source.kept;
    char *kept = n_kept ? emu_alloc(s->e, "kept", n_kept) : NULL;
    char *tickets = n_tickets ? emu_alloc(s->e, "tickets", n_tickets) : NULL;
    if (tickets) memset(tickets, 0, n_tickets);
    bool ok = true;
    /* What is kept serves two calls. */
    for (int call = 0; call < (kept ? 2 : 1) && ok; call++) {
        if (workspace && kept) memset(workspace, 0xff, bytes);
        poison_shared(v, step);
        for (int l = 0; l < v->source.n_launches && ok; l++) {
            if (!v->source.launches[l].grid[0]) continue; /* an empty grid */
            if (v->source.launches[l].at_load && call) continue;
            struct emu_report r = run_launch(s, index, l, step, workspace, kept, tickets, check);
            ok = r.ok;
            if (!ok) drive_fail(d, "%s\n  config %s", r.message, config_str(s->a, &v->config));
        }
    }
    for (size_t i = 0; i < n_tickets && ok; i++)
        if (tickets[i])
            ok = drive_fail(d, "a counter is not 0 again\n  config %s",
                            config_str(s->a, &v->config));
    if (workspace) emu_release(s->e, workspace);
    if (kept) emu_release(s->e, kept);
    if (tickets) emu_release(s->e, tickets);
    return ok;
}

struct running {
    struct emulation *s;
    uint32_t index;
    bool check;
    struct diag *d;
};

/* The default of every kernel but the one that the case is of; a loop's is checked twice. */
static bool run_kernel(void *ctx, int kernel, int64_t step) {
    const struct running *r = ctx;
    const struct variant *v = &r->s->variants.at[r->index];
    bool mine = kernel == v->kernel;
    return run_variant(r->s, mine ? r->index : v->program->first[kernel], step,
                       mine && r->check && step < 2, r->d);
}

bool emulation_case(struct emulation *s, uint32_t index, bool check, struct diag *d) {
    const struct variant *v = &s->variants.at[index];
    struct drive *b = v->program;
    struct running r = {s, index, check, d};
    fill_again(b);
    if (!drive_kernels(b, run_kernel, &r)) return false;
    for (int i = 0; i < b->p->n_buffers; i++) {
        struct diag wrong = diag_new(s->a);
        if (b->p->buffers[i].kind != WS_BUF_OUTPUT) continue;
        if (!drive_judge_memory(b, &b->p->buffers[i], b->emulated[i], &wrong))
            return drive_fail(d, "%s  kernel %s, config %s", wrong.text,
                              b->p->kernels[v->kernel].name, config_str(s->a, &v->config));
    }
    struct diag wrong = diag_new(s->a);
    int judged;
    if (!drive_judge_steps(b, v->kernel, &judged, &wrong) ||
        judged < (b->p->kernels[v->kernel].ir->kind == KERNEL_PERSISTENT
                      ? b->p->kernels[v->kernel].n_writes
                      : 0))
        return drive_fail(d, "%s%d buffers judged  kernel %s, config %s", wrong.text, judged,
                          b->p->kernels[v->kernel].name, config_str(s->a, &v->config));
    return true;
}
