/* report_commands.c: `compare`, `report`, `nightly` and `history`: from the command line to
 * reports/. */
#include "reports/reports.h"
#include "tuner/commands.h"

int compare_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct compare_request r = {.base = line->base.at,
                                .n_base = (size_t)line->base.n,
                                .now = line->now.at,
                                .n_now = (size_t)line->now.n,
                                .threshold = line->threshold};
    if (line->json) r.output = COMPARE_JSON;
    if (line->markdown) r.output = COMPARE_MARKDOWN;
    for (int i = 0; i < line->operands.n; i++) {
        const char *const **side = !r.n_base ? &r.base : &r.now;
        size_t *n = !r.n_base ? &r.n_base : &r.n_now;
        if (*n)
            diag_fail(&d, WS_USAGE, "two results at a time, not also '%s'", line->operands.at[i]);
        *side = &line->operands.at[i], *n = 1;
    }
    if (!r.n_base || !r.n_now)
        diag_fail(&d, WS_USAGE, "compare what? Two results: BASE.csv[@RUN] NEW.csv[@RUN]");
    if (line->json && line->markdown) diag_fail(&d, WS_USAGE, "--json or --markdown, not both");
    int status = d.status;
    if (status != WS_OK)
        command_line_fail("compare", &d);
    else
        status = compare_files(&r, stdout, stderr);
    arena_free(a);
    return status;
}

int report_command(const struct command_line *line) {
    struct report_request r = {.folder = line->results,
                               .out = line->out,
                               .figure = line->figure,
                               .run = line->run,
                               .json = line->json};
    return report_write(&r, stdout, stderr);
}

int nightly_command(const struct command_line *line) {
    struct history_request r = {.folder = line->results, .threshold = line->threshold};
    if (line->command == NIGHTLY_JUDGE) return history_judge(&r, stdout, stderr);
    r.workload = line->operands.n ? line->operands.at[0] : NULL;
    return history_accept(&r, stdout, stderr);
}

int history_command(const struct command_line *line) {
    struct import_request r = {.folder = line->results,
                               .map = line->map,
                               .paths = line->operands.at,
                               .n = line->operands.n};
    return history_import(&r, stdout, stderr);
}
