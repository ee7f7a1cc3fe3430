/* suite_cases.c: `warpsmith nightly cases`: what a night's suite runs, for scripts/nightly.sh. */
#include <stdio.h>

#include "tuner/commands.h"
#include "tuner/suite_file.h"

int cases_command(const struct command_line *line) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    struct suite_lines cases;
    if (suite_read_with_devices(line->operands.at[0], a, &cases, &d) != WS_OK)
        command_line_fail("nightly cases", &d);
    for (int i = 0; d.status == WS_OK && i < cases.n; i++)
        for (int w = 0; w < cases.at[i].words.n; w++)
            printf("%s%s", cases.at[i].words.at[w], w + 1 < cases.at[i].words.n ? "\t" : "\n");
    int status = d.status;
    arena_free(a);
    return status;
}
