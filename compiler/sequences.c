/* sequences.c: small kernels of a program that follow each other become one kernel of it, one
 * launch (kernel/sequence.h): which may, by what they read and write; and how the tuner sees it.
 *
 *     kernels 0, 1, 2: mean; softmax; amax     ->     kernel 0: "sequence" of three parts */
#include "base/base.h"
#include "compile_impl.h"
#include "loop/loop.h"

static bool is_listed(const int *list, int n, int b) {
    for (int i = 0; i < n; i++)
        if (list[i] == b) return true;
    return false;
}

/* Kernel k of the program, and the n - 1 behind it, as one. What one of them writes and another one
 * reads is written, and not read: it is judged like the rest. */
static struct ws_kernel describe_sequence(struct compile *c, const struct ws_kernel *k,
                                          const struct kernel *const *parts, int n, bool beside) {
    struct ws_kernel out = k[0];
    struct buf text = buf_new(c->arena);
    struct map places = map_new(c->arena);
    out.name = arena_printf(c->arena, "%s_%s_%d", k[0].name, beside ? "beside" : "to",
                            (int)parts[n - 1]->group);
    out.kind = beside ? "beside" : "sequence";
    out.beside = beside;
    out.parts = parts;
    out.n_parts = n;
    out.bytes = out.flops = 0;
    out.n_reads = out.n_writes = 0;
    buf_puts(&text, out.kind);
    for (int i = 0; i < n; i++) {
        buf_printf(&text, " %s ", k[i].hash);
        out.flops += k[i].flops;
        for (int j = 0; j < k[i].n_reads; j++) {
            int b = k[i].reads[j];
            if (is_listed(out.writes, out.n_writes, b) || is_listed(out.reads, out.n_reads, b))
                continue;
            out.reads[out.n_reads++] = b;
            out.bytes += kernel_bytes_of(parts[i], (buffer_id)b);
        }
        for (int j = 0; j < k[i].n_writes; j++) {
            int b = k[i].writes[j];
            out.writes[out.n_writes++] = b;
            if (c->program->buffers[b].kind == WS_BUF_OUTPUT)
                out.bytes += (double)buffer_bytes(c->loops, (buffer_id)b);
        }
        /* which buffers of the parts are the same is no part of their texts */
        for (uint32_t j = 0; j < parts[i]->buffers.n; j++) {
            uint64_t place = places.n;
            buffer_id b = parts[i]->buffers.at[j];
            if (!map_get(&places, &b, sizeof b, &place)) map_put(&places, &b, sizeof b, place);
            buf_printf(&text, "%d ", (int)place);
        }
    }
    out.hash = arena_printf(c->arena, "%016llx", (unsigned long long)hash_bytes(text.p, text.n));
    return out;
}

/* Does a launch have room for the buffers of both, and those lists? */
static bool has_room(const struct kernel *const *parts, int n) {
    uint32_t all = 0;
    for (int i = 0; i < n; i++) all += parts[i]->buffers.n;
    return all <= GROUP_MAX_BUFFERS;
}

/* The buffer that b is a piece of (schedule/pieces.c); b itself if it is of none. */
static int whole_of(const struct ws_program *p, int b) {
    size_t from;
    return p->buffers[b].kind == WS_BUF_WINDOW ? ws_window_at(p, b, 0, &from) : b;
}

/* Do buffers a and b share memory? Pieces of one whole do not overlap each other, but the whole. A
 * temporary's place in the pool may be another one's, that is no longer read when launches follow
 * each other. */
static bool is_in_way(const struct ws_program *p, int a, int b) {
    int of_a = whole_of(p, a), of_b = whole_of(p, b);
    const struct ws_buffer *x = &p->buffers[of_a], *y = &p->buffers[of_b];
    if (of_a == of_b) return a == b || a == of_a || b == of_b;
    if (x->kind != WS_BUF_TEMP || y->kind != WS_BUF_TEMP) return false;
    return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

/* Which buffers are stored in pieces. No part of a sequence may read such a one: what parts read of
 * each other is what one of them has stored. */
static bool *find_wholes(const struct ws_program *p, struct arena *a) {
    bool *whole = NEW_ARRAY(a, bool, p->n_buffers);
    for (int b = 0; b < p->n_buffers; b++)
        if (whole_of(p, b) != b) whole[whole_of(p, b)] = true;
    return whole;
}

static bool reads_any(const struct ws_kernel *k, const bool *of) {
    for (int i = 0; i < k->n_reads; i++)
        if (of[k->reads[i]]) return true;
    return false;
}

static bool writes_into(const struct ws_program *p, const struct ws_kernel *from, const int *to,
                        int n) {
    for (int i = 0; i < from->n_writes; i++)
        for (int j = 0; j < n; j++)
            if (is_in_way(p, from->writes[i], to[j])) return true;
    return false;
}

static bool is_independent(int from, int i, void *ctx) {
    const struct ws_program *p = ctx;
    const struct ws_kernel *k = &p->kernels[i];
    for (int j = from; j < i; j++) {
        const struct ws_kernel *o = &p->kernels[j];
        if (writes_into(p, o, k->reads, k->n_reads) || writes_into(p, o, k->writes, k->n_writes) ||
            writes_into(p, k, o->reads, o->n_reads))
            return false;
    }
    return true;
}

void make_sequences(struct compile *c, struct kernel *const *kernels) {
    struct ws_program *p = c->program;
    int n = p->n_kernels, made = 0;
    bool *takes = NEW_ARRAY(c->arena, bool, n);
    const struct kernel **all = NEW_ARRAY(c->arena, const struct kernel *, n);
    if (c->fusion == WS_EAGER || !c->limits->sequences) return;
    const bool *wholes = find_wholes(p, c->arena);
    for (int i = 0; i < n; i++) {
        all[i] = kernels[i];
        takes[i] = !p->kernels[i].at_load && !p->kernels[i].loop && !p->kernels[i].all_steps &&
                   !reads_any(&p->kernels[i], wholes);
    }
    struct sequences found = sequences_find(all, takes, n, is_independent, p, c->arena);
    int *length = found.length;
    for (int i = 0; i < n; i += length[i]) {
        while (length[i] > 1 && !has_room(&all[i], length[i])) length[i + --length[i]] = 1;
        p->kernels[made++] = length[i] > 1 ? describe_sequence(c, &p->kernels[i], &all[i],
                                                               length[i], found.beside[i])
                                           : p->kernels[i];
    }
    p->n_kernels = made;
}
