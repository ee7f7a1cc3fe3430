/* flow.c: maximum flow, and by it the minimum cut, by shortest augmenting paths (Edmonds and Karp,
 * 1972): as long as capacity is left on some way from source to sink, fill the shortest such way.
 * What can still reach the sink then is its side of the cut. */
#include "graph/flow.h"

struct flow *flow_new(struct arena *a, uint32_t n_vertices) {
    struct flow *f = NEW(a, struct flow);
    *f = (struct flow){.arena = a, .n = n_vertices};
    f->of = arena_alloc(a, sizeof *f->of * n_vertices);
    return f;
}

static void add_edge(struct flow *f, uint32_t from, uint32_t to, int64_t capacity) {
    vec_push(f->arena, &f->of[from], f->edges.n);
    vec_push(f->arena, &f->edges, ((struct flow_edge){to, capacity}));
}

void flow_connect(struct flow *f, uint32_t from, uint32_t to, int64_t capacity) {
    add_edge(f, from, to, capacity);
    add_edge(f, to, from, 0);
}

#define NO_EDGE UINT32_MAX

/* The edge by which a shortest way from the source enters each vertex; is there one to the sink? */
static bool find_path(const struct flow *f, uint32_t source, uint32_t sink, uint32_t *entered,
                      uint32_t *queue) {
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < f->n; v++) entered[v] = NO_EDGE;
    for (queue[tail++] = source; head < tail && entered[sink] == NO_EDGE; head++) {
        uint32_t v = queue[head];
        for (uint32_t i = 0; i < f->of[v].n; i++) {
            uint32_t e = f->of[v].at[i], to = f->edges.at[e].to;
            if (!f->edges.at[e].left || entered[to] != NO_EDGE || to == source) continue;
            entered[to] = e;
            queue[tail++] = to;
        }
    }
    return entered[sink] != NO_EDGE;
}

static int64_t fill_path(struct flow *f, uint32_t source, uint32_t sink, const uint32_t *entered) {
    int64_t least = FLOW_INFINITE;
    for (uint32_t v = sink; v != source; v = f->edges.at[entered[v] ^ 1].to)
        if (f->edges.at[entered[v]].left < least) least = f->edges.at[entered[v]].left;
    for (uint32_t v = sink; v != source; v = f->edges.at[entered[v] ^ 1].to) {
        f->edges.at[entered[v]].left -= least;
        f->edges.at[entered[v] ^ 1].left += least;
    }
    return least;
}

/* Against the edges, from the sink. */
static void mark_sink_side(const struct flow *f, uint32_t sink, bool *side, uint32_t *queue) {
    uint32_t head = 0, tail = 0;
    for (uint32_t v = 0; v < f->n; v++) side[v] = v == sink;
    for (queue[tail++] = sink; head < tail; head++) {
        uint32_t v = queue[head];
        for (uint32_t i = 0; i < f->of[v].n; i++) {
            uint32_t e = f->of[v].at[i], from = f->edges.at[e].to;
            if (side[from] || !f->edges.at[e ^ 1].left) continue;
            side[from] = true;
            queue[tail++] = from;
        }
    }
}

int64_t flow_cut(struct flow *f, uint32_t source, uint32_t sink, bool *sink_side) {
    uint32_t *entered = NEW_ARRAY(f->arena, uint32_t, f->n);
    uint32_t *queue = NEW_ARRAY(f->arena, uint32_t, f->n);
    int64_t total = 0;
    while (find_path(f, source, sink, entered, queue)) total += fill_path(f, source, sink, entered);
    mark_sink_side(f, sink, sink_side, queue);
    WS_ASSERT(total < FLOW_INFINITE && !sink_side[source]);
    return total;
}
