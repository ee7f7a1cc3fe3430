/* explain.c: `warpsmith explain`: what was captured, under which guards, and which kernels it
 * becomes. Needs no device with --arch. */
#include <stdio.h>
#include <string.h>

#include "reports/row_json.h"
#include "tuner/commands.h"
#include "tuner/json_output.h"
#include "tuner/machine.h"
#include "tuner/run_script.h"
#include "tuner/sweep.h"

/* One object, as the text says it: the graph, its guards, the kernels that it becomes. */
static void explain_json(json_t *o, const struct ws_captured *c, const struct ws_program *p,
                         const char *device) {
    json_t *guards = json_array(), *kernels = json_array();
    int ops = 0;
    for (const char *s = c->guards; *s; s += strcspn(s, "\n") + (s[strcspn(s, "\n")] != 0))
        json_array_append_new(guards, json_stringn(s, strcspn(s, "\n")));
    for (uint32_t i = 0; i < c->graph->nodes.n; i++)
        ops += op_info(c->graph->nodes.at[i].op)->class != INPUT;
    for (int i = 0; i < p->n_kernels; i++) {
        const struct ws_kernel *k = &p->kernels[i];
        json_array_append_new(kernels,
                              json_pack("{ss ss sf sf ss}", "name", k->name, "kind", k->kind,
                                        "bytes", k->bytes, "flops", k->flops, "hash", k->hash));
    }
    struct buf graph = buf_new(c->arena);
    graph_print(&graph, c->graph);
    json_object_set_new(o, "workload", json_text(c->workload));
    json_object_set_new(o, "axes", json_text(c->axes));
    json_object_set_new(o, "dtype", json_text(c->dtype));
    json_object_set_new(o, "precision", json_text(precision_name(c->precision)));
    json_object_set_new(o, "mode", json_text(c->mode));
    json_object_set_new(o, "device", json_text(device));
    json_object_set_new(o, "graph_count", json_integer(1));
    json_object_set_new(o, "graph_break_count", json_integer(0));
    json_object_set_new(o, "op_count", json_integer(ops));
    json_object_set_new(o, "guards", guards);
    json_object_set_new(o, "graph", json_text(graph.p));
    json_object_set_new(o, "kernels", kernels);
    json_object_set_new(o, "bytes", json_real(p->bytes));
    json_object_set_new(o, "bytes_in_turn", json_real(p->bytes_in_turn));
}

static enum ws_status explain(const struct command_line *line, struct machine *m, json_t *json,
                              struct arena *a, struct diag *d) {
    struct sweep sweep;
    if (sweep_parse(&line->axes, a, &sweep, d) != WS_OK) return d->status;
    if (sweep.n_points > 1)
        return diag_fail(d, WS_USAGE, "explain takes one value an axis; bench sweeps");
    if (line->arch)
        machine_for_arch(line->arch, a, m, d);
    else
        machine_open(line->device, a, m, d);
    if (d->status != WS_OK) return d->status;
    struct stages stages = stages_new(a, line->dump, m->env.logs);
    struct ws_captured *c =
        capture_file(line, &m->limits, sweep_point(&sweep, 0, a), sweep.n_axes, a, &stages, d);
    struct ws_program *p = c ? ws_lower(c, &m->limits, line->fusion, &stages, d) : NULL;
    if (!p || command_line_suits(line, false, d) != WS_OK) return d->status;
    struct buf b = buf_new(a);
    ws_explain(c, p, &b);
    puts(m->why);
    fputs(b.p, stdout);
    if (json) explain_json(json, c, p, m->why);
    return WS_OK;
}

int explain_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct machine m = {0};
    struct json_output json = json_output_open(line->json);
    int status;
    if (script_is_workload(a, line->file)) {
        status = explain(line, &m, json.value, a, &d);
        if (status != WS_OK) status = run_broken(line, true, &d, a);
    } else if ((status = command_line_suits(line, true, &d)) == WS_OK)
        status = run_script(line, true, a, &d);
    if (status != WS_OK) command_line_fail("explain", &d);
    machine_close(&m);
    arena_free(a);
    return json_output_close(&json, status);
}
