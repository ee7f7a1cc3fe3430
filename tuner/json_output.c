/* json_output.c: stdout becomes stderr for as long as people are written to. */
#include "tuner/json_output.h"

#include <unistd.h>

#include "reports/row_json.h"

struct json_output json_output_open(bool wanted) {
    struct json_output j = {0};
    if (!wanted) return j;
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    j.out = was >= 0 ? fdopen(was, "w") : NULL;
    if (j.out) dup2(STDERR_FILENO, STDOUT_FILENO);
    j.value = json_object();
    return j;
}

int json_output_close(struct json_output *j, int status) {
    if (!j->value) return status;
    fflush(stdout);
    bool ok = j->out && json_print(j->value, j->out) == REPORT_OK;
    if (j->out) {
        dup2(fileno(j->out), STDOUT_FILENO);
        ok = fclose(j->out) == 0 && ok;
    }
    if (!ok) perror("warpsmith: cannot write the output");
    *j = (struct json_output){0};
    return ok || status ? status : REPORT_MACHINE;
}
