/* merge.h: what `warpsmith merge` and `warpsmith suite` do when all is measured. */
#ifndef TUNER_MERGE_H
#define TUNER_MERGE_H

#include "tuner/command_line.h"

/* Result files, or all of folders, into the folder, as reports/merge.h says; says how many rows. */
enum ws_status merge_folders(const struct texts *inputs, const char *folder, bool apart,
                             struct diag *d);

#endif
