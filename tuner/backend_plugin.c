/* backend_plugin.c: hand captured graphs to a shared object, and run what it gives back. */
#include "tuner/backend_plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ws_backend.h"

/* A graph, and what runs it: the plugin's callable, or ours through it. */
struct plugin_graph {
    struct backend_plugin *plugin;
    struct graph *graph;
    struct ws_callable callable;
    struct plugin_graph *next;
    /* Of the call that is going on: what the interpreter needs beside the arrays. */
    const struct bindings *bindings;
    uint64_t seed;
    const struct array *inputs, *outputs;
};

struct backend_plugin {
    struct arena *arena;
    void *handle;
    ws_backend_function *make;
    struct plugin_graph *graphs;
    struct backend backend;
};

/* The callable that a plugin is offered. */
static int interpret(void *ctx, const struct ws_array *inputs, const struct ws_array *outputs,
                     char *message, size_t cap) {
    struct plugin_graph *g = ctx;
    struct diag d = diag_new(g->plugin->arena);
    if (backend_eager.run(NULL, g->graph, g->bindings, g->seed, g->inputs, g->outputs, &d))
        return 0;
    snprintf(message, cap, "%s", d.message ? d.message : "the interpreter failed");
    return 1;
}

static void *compile(void *ctx, struct graph *graph, struct diag *d) {
    struct backend_plugin *p = ctx;
    struct plugin_graph *g = NEW(p->arena, struct plugin_graph);
    *g = (struct plugin_graph){.plugin = p, .graph = graph, .next = p->graphs};
    g->callable = (struct ws_callable){.ctx = g, .run = interpret};
    struct buf text = buf_new(p->arena), readable = buf_new(p->arena);
    graph_print(&text, graph);
    graph_print_readable(&readable, graph);
    struct ws_backend_graph handed = {.version = WS_BACKEND_VERSION,
                                      .text = text.p,
                                      .readable = readable.p,
                                      .n_inputs = (int)graph->inputs.n,
                                      .n_outputs = (int)graph->outputs.n};
    int status = p->make(&handed, &g->callable);
    if (status || !g->callable.run) {
        diag_fail(d, WS_WRONG, "%s refused the graph (%d)", p->backend.name, status);
        return NULL;
    }
    return p->graphs = g;
}

static struct ws_array public_array(const struct array *a) {
    struct ws_array out = {.data = a->bytes, .dtype = dtype_name(a->dtype), .rank = a->rank};
    memcpy(out.size, a->size, sizeof out.size);
    memcpy(out.stride, a->stride, sizeof out.stride);
    return out;
}

static bool run(void *ctx, void *callable, const struct bindings *b, uint64_t seed,
                const struct array *inputs, const struct array *outputs, struct diag *d) {
    struct plugin_graph *g = callable;
    struct arena *a = arena_new();
    struct ws_array *in = NEW_ARRAY(a, struct ws_array, g->graph->inputs.n),
                    *out = NEW_ARRAY(a, struct ws_array, g->graph->outputs.n);
    for (uint32_t i = 0; i < g->graph->inputs.n; i++) in[i] = public_array(&inputs[i]);
    for (uint32_t i = 0; i < g->graph->outputs.n; i++) out[i] = public_array(&outputs[i]);
    g->bindings = b;
    g->seed = seed;
    g->inputs = inputs;
    g->outputs = outputs;
    char message[256] = "no reason given";
    int status = g->callable.run(g->callable.ctx, in, out, message, sizeof message);
    if (status) diag_fail(d, WS_WRONG, "%s: %s", g->plugin->backend.name, message);
    arena_free(a);
    return status == 0;
}

enum ws_status backend_plugin_open(const char *path, struct arena *a, struct backend_plugin **out,
                                   struct diag *d) {
    const char *why = path_exposed(path, a);
    if (why) return diag_fail(d, WS_USAGE, "--backend: %s: not loaded", why);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return diag_fail(d, WS_USAGE, "--backend: %s", dlerror());
    void *make = dlsym(handle, "ws_backend");
    if (!make) {
        dlclose(handle);
        return diag_fail(d, WS_USAGE, "--backend: '%s' has no function ws_backend (ws_backend.h)",
                         path);
    }
    struct backend_plugin *p = *out = NEW(a, struct backend_plugin);
    *p = (struct backend_plugin){.arena = a, .handle = handle};
    memcpy(&p->make, &make, sizeof p->make); /* ISO C has no cast from data to functions */
    p->backend = (struct backend){.name = path, .ctx = p, .compile = compile, .run = run};
    return WS_OK;
}

const struct backend *backend_plugin_of(const struct backend_plugin *p) { return &p->backend; }

void backend_plugin_close(struct backend_plugin *p) {
    if (!p) return;
    for (struct plugin_graph *g = p->graphs; g; g = g->next)
        if (g->callable.release) g->callable.release(g->callable.ctx);
    dlclose(p->handle);
}
