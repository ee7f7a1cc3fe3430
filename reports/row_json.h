/* row_json.h: result rows as JSON objects, named as the columns of columns.def. */
#ifndef REPORTS_ROW_JSON_H
#define REPORTS_ROW_JSON_H

#include <jansson.h>

#include "reports/results.h"

/* What is empty or was not measured is left out. */
json_t *result_row_json(const struct result_row *r);
/* null where v is not finite: JSON has no such numbers. */
json_t *json_number(double v);
/* "" for NULL; bytes that are no UTF-8 become '?'. */
json_t *json_text(const char *s);

/* The value and a line's end; takes over the value. REPORT_MACHINE if it could not be written. */
enum report_status json_print(json_t *value, FILE *out);

#endif
