/* suite_file.h: a file of cases, and where they run.
 *
 *   softmax --dtype bf16 -D dim=1024,4096     a case: what would stand behind `warpsmith bench`
 *   # a comment
 *   softmax --config "x=1 warps=8"            quotes as a shell has them, without escapes */
#ifndef TUNER_SUITE_FILE_H
#define TUNER_SUITE_FILE_H

#include "tuner/command_line.h"

struct suite_lines {
    struct suite_line {
        const char *text; /* as it stands, without blanks at its ends */
        struct texts words;
        int number; /* of the line */
    } * at;
    int n;
};

/* Every case is a call that bench would take, and leaves to the suite what is the suite's. WS_USAGE says the line. */
enum ws_status suite_read(const char *path, struct arena *a, struct suite_lines *out,
                          struct diag *d);

/* "cuda:0,cuda:2": these, a worker each; "all": all GPUs, or the CPU where there is none; "cpu,cpu": two halves of it. A
 * GPU twice is WS_USAGE, one that is not there WS_MACHINE. NULL: the default device. */
enum ws_status suite_devices(const char *list, struct arena *a, struct texts *out, struct diag *d);

#endif
