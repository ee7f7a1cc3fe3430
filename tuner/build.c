/* build.c: emit, look for the binary, else compile in the background.
 *
 * Two configs may have one source (they differ in the grid alone), and so may two kernels: it is
 * compiled once. */
#include "tuner/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/interrupt.h"

/* A CPU's binary holds for the very CPU (-march=native), a cubin for its architecture. */
static const char *binary_options(const struct machine *m) {
    if (m->limits.kind == DEVICE_CUDA || !m->device) return m->limits.arch;
    return arena_printf(m->arena, "%s %s", m->limits.arch, device_facts(m->device)->name);
}

enum ws_status builder_open(struct builder *b, struct machine *m, struct store *s, struct arena *a,
                            struct diag *d) {
    *b = (struct builder){
        .machine = m, .store = s, .arena = a, .options = binary_options(m), .begun = map_new(a)};
    b->pool = compile_pool_start(m->toolchain, machine_cores());
    return b->pool ? WS_OK : diag_fail(d, WS_MACHINE, "cannot start a thread to compile in");
}

void builder_close(struct builder *b) {
    compile_pool_stop(b->pool);
    b->pool = NULL;
}

static struct variant *find_twin(const struct builder *b, const char *key) {
    uint64_t twin;
    return map_gets(&b->begun, key, &twin) ? (struct variant *)(uintptr_t)twin : NULL;
}

static enum ws_status take_stored(struct builder *b, struct variant *v, struct diag *d) {
    struct store_binary stored;
    bool found = false;
    if (b->store && store_get_binary(b->store, v->binary_key, &stored, &found, d) != WS_OK)
        return d->status;
    if (!found) return WS_OK;
    v->binary = stored.bytes;
    v->size = stored.size;
    v->compile_ms = stored.compile_ms;
    b->n_stored++;
    return WS_OK;
}

enum ws_status builder_begin(struct builder *b, struct variant *v, struct diag *d) {
    if (!variant_emit(v, b->arena)) return WS_OK;
    v->binary_key = store_binary_key(b->arena, toolchain_key(b->machine->toolchain, b->arena),
                                     b->options, v->source.text);
    v->twin = find_twin(b, v->binary_key);
    if (v->twin) return WS_OK;
    map_puts(&b->begun, v->binary_key, (uintptr_t)v);
    if (take_stored(b, v, d) != WS_OK) return d->status;
    if (!v->binary)
        v->job = compile_pool_add(b->pool, variant_kernel(v)->name, v->source.text, false);
    return WS_OK;
}

static enum ws_status keep_binary(struct builder *b, struct variant *v, const char *log,
                                  struct diag *d) {
    if (!b->store) return WS_OK;
    struct store_binary kept = {v->binary, v->size, log, v->compile_ms};
    return store_put_binary(b->store, v->binary_key, &kept, d);
}

static enum ws_status take_compiled(struct builder *b, struct variant *v, struct diag *d) {
    double begun = clock_ms();
    struct compiled c = compile_pool_wait(b->pool, v->job);
    if (c.killed && !interrupted()) { /* by somebody else: once more */
        compiled_free(&c);
        v->job = compile_pool_add(b->pool, variant_kernel(v)->name, v->source.text, false);
        c = compile_pool_wait(b->pool, v->job);
    }
    b->waited_ms += clock_ms() - begun;
    b->compile_ms += c.ms;
    b->n_compiled++;
    v->job = NULL;
    v->compile_ms = c.ms;
    /* A default is what others are compared with, however slow the compiler says it is. */
    if (c.ok && (!c.serialized || v->is_default)) {
        void *bytes = arena_alloc(b->arena, c.size);
        memcpy(bytes, c.binary, c.size);
        v->binary = bytes;
        v->size = c.size;
        if (!c.serialized) keep_binary(b, v, c.log ? c.log : "", d);
    } else if (!interrupted()) { /* Ctrl-C reaches the compiler too: that says nothing about v */
        const char *said = variant_compile_message(c.log, b->arena);
        variant_refuse(v, STATUS_compile_error,
                       c.serialized ? arena_printf(b->arena, "refused: %s", said) : said);
    }
    compiled_free(&c);
    return d->status;
}

enum ws_status builder_finish(struct builder *b, struct variant *v, struct diag *d) {
    if (v->job) return take_compiled(b, v, d);
    if (!v->twin || v->binary || variant_refused(v)) return WS_OK;
    if (builder_finish(b, v->twin, d) != WS_OK) return d->status;
    v->binary = v->twin->binary;
    v->size = v->twin->size;
    v->compile_ms = v->twin->compile_ms;
    if (v->twin->status == STATUS_compile_error)
        variant_refuse(v, STATUS_compile_error, v->twin->message);
    return WS_OK;
}

/* ---- texts of references --------------------------------------------------------------------- */

/* What the store does not give, for whatever reason, is compiled. */
void builder_begin_text(struct builder *b, const char *text, struct builder_text *out) {
    struct diag quiet = diag_new(b->arena);
    bool found = false;
    *out = (struct builder_text){.text = text};
    out->key = store_binary_key(b->arena, toolchain_key(b->machine->toolchain, b->arena),
                                b->options, text);
    if (b->store) store_get_binary(b->store, out->key, &out->stored, &found, &quiet);
    if (!found) {
        out->stored = (struct store_binary){0};
        out->job = compile_pool_add_first(b->pool, "reference", text);
    }
}

struct compiled builder_finish_text(struct builder *b, const struct builder_text *t) {
    struct diag quiet = diag_new(b->arena);
    if (!t->job) {
        struct compiled c = {.ok = true, .size = t->stored.size};
        c.binary = malloc(c.size + 1);
        if (!c.binary) WS_BUG("out of memory for a binary of %zu bytes", c.size);
        memcpy(c.binary, t->stored.bytes, c.size);
        return c;
    }
    struct compiled c = compile_pool_wait(b->pool, t->job);
    struct store_binary kept = {c.binary, c.size, "", c.ms};
    if (c.ok && b->store) store_put_binary(b->store, t->key, &kept, &quiet);
    return c;
}
