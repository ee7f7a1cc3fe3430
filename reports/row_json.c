/* row_json.c: one object a row, by columns.def.
 *
 *   {"schema": 3, "run_id": "20260901T020000Z-4711", "workload": "softmax",
 *    "median_us": 36.96, ...} */
#include "reports/row_json.h"

#include <math.h>
#include <string.h>

json_t *json_number(double v) {
    if (!isfinite(v)) return json_null();
    if (v == floor(v) && fabs(v) < 0x1p53) return json_integer((json_int_t)v);
    return json_real(v);
}

json_t *json_text(const char *s) {
    json_t *t = json_string(s ? s : "");
    if (t) return t;
    struct text clean = {0};
    text_puts(&clean, s);
    for (size_t i = 0; i < clean.n; i++)
        if ((unsigned char)clean.p[i] >= 0x80) clean.p[i] = '?';
    t = json_string(text_str(&clean));
    text_free(&clean);
    return t;
}

static void set_TEXT(json_t *o, const char *name, const char *s) {
    if (s && *s) json_object_set_new(o, name, json_text(s));
}
static void set_REAL(json_t *o, const char *name, double v) {
    if (isfinite(v)) json_object_set_new(o, name, json_number(v));
}
static void set_COUNT(json_t *o, const char *name, double v) { set_REAL(o, name, v); }
static void set_STATUS(json_t *o, const char *name, enum result_status s) {
    set_TEXT(o, name, result_status_name(s));
}
static void set_ROLE(json_t *o, const char *name, enum result_role r) {
    set_TEXT(o, name, result_role_name(r));
}

json_t *result_row_json(const struct result_row *r) {
    json_t *o = json_object();
#define COLUMN(kind, name) set_##kind(o, #name, r->name);
#include "reports/columns.def"
    return o;
}

enum report_status json_print(json_t *value, FILE *out) {
    bool ok = json_dumpf(value, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    json_decref(value);
    return ok && fputc('\n', out) != EOF && fflush(out) == 0 ? REPORT_OK : REPORT_MACHINE;
}
