/* arguments.c: `--name value` pairs and --help, nothing else.
 *
 *   compare --base a.csv --new b.csv   ->   base = "a.csv", new = "b.csv" */
#include "reports/arguments.h"

#include <string.h>

enum report_status arguments_parse(int argc, char **argv, const struct argument *known, size_t n,
                                   bool *help, struct report_error *e) {
    *help = false;
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < n && strcmp(known[k].name, argv[i]) != 0) k++;
        if (strcmp(argv[i], "--help") == 0)
            *help = true;
        else if (k == n)
            return report_fail(e, REPORT_USAGE, "unknown argument '%s'", argv[i]);
        else if (i + 1 == argc)
            return report_fail(e, REPORT_USAGE, "%s needs a value", argv[i]);
        else
            *known[k].value = argv[++i];
    }
    return REPORT_OK;
}
