/* step_memory.c: what kernels that go through all steps of a loop have as memory: m0, m1, .., whose
 * windows are where a step reads and stores, and p0, p1, .., those of the kernel's buffers that do
 * not move.
 *
 *     b12: f32[6144]             of all steps, m2               m2, a parameter
 *     b40: window of b12, 0 + 1 t of 6144                       what the step at hand has of it
 *     b9:  f32[16]                                              p5 is m0 */
#include "emit/impl.h"

const struct buffer *buffer_of(const struct emitter *w, buffer_id b) {
    return &w->k->schedule->loops->buffers.at[b];
}

int memory_of(const struct emitter *w, buffer_id b) {
    for (uint32_t i = 0; i < w->memory.n; i++)
        if (w->memory.at[i] == b) return (int)i;
    WS_BUG("buffer is no memory");
}

const char *type_in_memory(const struct emitter *w, buffer_id b) {
    return memory_type(w, buffer_dtype(w, b));
}

static bool is_written(const struct emitter *w, buffer_id memory) {
    for (uint32_t i = 0; i < w->k->stores.n; i++) {
        buffer_id b = w->k->stores.at[i].buffer;
        bool window = buffer_of(w, b)->kind == BUFFER_WINDOW;
        if ((window ? buffer_of(w, b)->window.of : b) == memory) return true;
    }
    return false;
}

static const char *qualifier(const struct emitter *w, buffer_id memory) {
    return is_written(w, memory) ? "" : "const ";
}

void put_step_memory(struct emitter *w, struct ws_launch *l) {
    for (uint32_t i = 0; i < w->memory.n; i++) {
        buffer_id b = w->memory.at[i];
        const char *type = arena_printf(w->arena, "%s%s *", qualifier(w, b), type_in_memory(w, b));
        if (w->cuda)
            buf_printf(&w->b, "%s%s__restrict__ m%u", i ? ", " : "", type, i);
        else
            line(w, "%srestrict m%u = *(%sconst *)args[%d];", type, i, type, l->n_args);
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)b};
    }
}

void put_unmoved_memory(struct emitter *w) {
    for (uint32_t i = 0; i < w->k->buffers.n; i++) {
        buffer_id b = w->k->buffers.at[i];
        if (buffer_of(w, b)->kind != BUFFER_WINDOW)
            line(w, "%s%s *const p%u = m%d;", qualifier(w, b), type_in_memory(w, b), i,
                 memory_of(w, b));
    }
}
