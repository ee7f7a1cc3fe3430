/* ops_command.c: `warpsmith ops [NAME]`: the operators that are known, and what becomes of each.
 *
 *   $ warpsmith ops argmax
 *   operator  class      result  derivative  becomes  call                                python
 *   argmax    reduction  i64     -           -        (self:T dim:D?=None keepdim:B=...)  torch...
 */
#include <stdio.h>
#include <string.h>

#include "reports/row_json.h"
#include "tuner/commands.h"
#include "tuner/json_output.h"

enum { COLUMNS = 7 };

static const char *const headings[COLUMNS] = {"operator", "class", "result", "derivative",
                                              "becomes",  "call",  "python"};

static const char *cell(const struct ws_operator *o, int column) {
    const char *const cells[COLUMNS] = {o->name,    o->class, o->result, o->derivative,
                                        o->becomes, o->call,  o->python};
    return cells[column];
}

static void print_table(const struct ws_operator *all, int n) {
    int width[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        width[c] = (int)strlen(headings[c]);
        for (int i = 0; i < n; i++)
            if ((int)strlen(cell(&all[i], c)) > width[c]) width[c] = (int)strlen(cell(&all[i], c));
    }
    for (int i = -1; i < n; i++)
        for (int c = 0; c < COLUMNS; c++) { /* the last is as long as it is */
            const char *text = i < 0 ? headings[c] : cell(&all[i], c);
            printf(c + 1 < COLUMNS ? "%-*s  " : "%.*s\n", c + 1 < COLUMNS ? width[c] : 4096, text);
        }
}

static json_t *operators_json(const struct ws_operator *all, int n) {
    json_t *rows = json_array();
    for (int i = 0; i < n; i++) {
        json_t *row = json_object();
        for (int c = 0; c < COLUMNS; c++)
            json_object_set_new(row, headings[c], json_text(cell(&all[i], c)));
        json_array_append_new(rows, row);
    }
    return rows;
}

int ops_command(const struct command_line *line) {
    const char *name = line->operands.n ? line->operands.at[0] : NULL;
    struct arena *a = arena_new();
    const struct ws_operator *all;
    int n = ws_list_operators(a, name, &all), status = WS_OK;
    if (!n) {
        const char *near = ws_suggest_operators(a, name);
        fprintf(stderr, "warpsmith ops: no operator '%s'%s%s; `warpsmith ops` lists them\n", name,
                *near ? "; nearest: " : "", near);
        status = WS_USAGE;
    } else if (line->json) {
        json_print(operators_json(all, n), stdout); /* main says if stdout is broken */
    } else {
        print_table(all, n);
    }
    arena_free(a);
    return status;
}
