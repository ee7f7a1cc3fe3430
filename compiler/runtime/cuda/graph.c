/* graph.c: several launches as one CUDA graph, recorded from a stream of its own: the host submits
 * once, and the device knows beforehand what comes next. */
#include "runtime/cuda/cuda_device.h"

bool cuda_wants_graph(const struct cuda_device *c, const struct ready *r, int n) {
    int live = 0;
    for (int i = 0; i < n; i++) live += r[i].function != NULL;
    return c->env.graphs && live > 1;
}

/* What a stream that records is told to launch; the recording ends either way. */
static enum ws_status capture(struct cuda_device *c, cu_stream stream, const struct ready *r, int n,
                              cu_graph *out, struct diag *d) {
    cu_status s = c->api.capture_begin(stream, CU_CAPTURE_THREAD_LOCAL);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuStreamBeginCapture");
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        struct ready mine = r[i];
        mine.stream = stream;
        cuda_submit(c, &mine, d);
    }
    s = c->api.capture_end(stream, out);
    if (d->status != WS_OK) return d->status;
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuStreamEndCapture of %d launches", n);
}

enum ws_status cuda_graph_record(struct cuda_device *c, const struct ready *r, int n,
                                 cu_graph_exec *out, struct diag *d) {
    cu_stream stream = NULL;
    cu_graph graph = NULL;
    cu_status s = c->api.stream_create(&stream, 0);
    if (s != CU_OK) return cuda_fail(c, d, s, "cuStreamCreate");
    if (capture(c, stream, r, n, &graph, d) == WS_OK) {
        s = c->api.graph_instantiate(out, graph, 0);
        if (s != CU_OK) cuda_fail(c, d, s, "cuGraphInstantiate of %d launches", n);
    }
    if (graph) c->api.graph_destroy(graph);
    c->api.stream_destroy(stream);
    return d->status;
}

enum ws_status cuda_graph_submit(struct cuda_device *c, cu_graph_exec g, const char *first,
                                 struct diag *d) {
    cu_status s = c->api.graph_launch(g, NULL);
    return s == CU_OK ? WS_OK : cuda_fail(c, d, s, "cuGraphLaunch of '%s' and what follows", first);
}

void cuda_graph_free(struct cuda_device *c, cu_graph_exec g) {
    if (g) c->api.graph_exec_destroy(g);
}
