/* arguments.h: `--name value` arguments of the commands in this folder. */
#ifndef REPORTS_ARGUMENTS_H
#define REPORTS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "reports/error.h"

struct argument {
    const char *name;   /* "--base" */
    const char **value; /* where it goes; the last one given wins */
};

/* Sort argv[1..] into the arguments. *help is set if --help was among them. */
enum report_status arguments_parse(int argc, char **argv, const struct argument *known, size_t n,
                                   bool *help, struct report_error *e);

#endif
