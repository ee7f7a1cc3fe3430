/* json_output.h: stdout under --json.
 *
 * Commands print what people read to stdout. With --json that goes to stderr, and stdout has one
 * JSON value. */
#ifndef TUNER_JSON_OUTPUT_H
#define TUNER_JSON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct json_output {
    FILE *out;     /* what stdout was; NULL: not asked for */
    json_t *value; /* an object, written when it is closed; NULL: not asked for */
};

struct json_output json_output_open(bool wanted);
/* Returns an exit code: `status`, or 3 if that is 0 and the value could not be written. */
int json_output_close(struct json_output *j, int status);

#endif
