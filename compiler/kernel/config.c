/* config.c: configs as text. */
#include "kernel/config.h"

#include <ctype.h>
#include <stdlib.h>

static const struct {
    const char *name, *help;
} knobs[] = {
#define KNOB(name, what) {#name, what},
    KNOBS(KNOB)
#undef KNOB
};

const char *knob_name(enum knob k) { return knobs[k].name; }
const char *knob_help(enum knob k) { return knobs[k].help; }

void config_print(struct buf *b, const struct config *c) {
    bool any = false;
    for (int k = 0; k < KNOB_COUNT; k++) {
        if (!c->knob[k]) continue;
        buf_printf(b, "%s%s=%d", any ? " " : "", knobs[k].name, c->knob[k]);
        any = true;
    }
}

const char *config_str(struct arena *a, const struct config *c) {
    struct buf b = buf_new(a);
    config_print(&b, c);
    return b.p;
}

bool config_equal(const struct config *a, const struct config *b) {
    for (int k = 0; k < KNOB_COUNT; k++)
        if (a->knob[k] != b->knob[k]) return false;
    return true;
}

static int find_knob(const char *name, size_t n) {
    for (int k = 0; k < KNOB_COUNT; k++)
        if (strlen(knobs[k].name) == n && !memcmp(knobs[k].name, name, n)) return k;
    return -1;
}

static const char *knob_list(struct arena *a) {
    struct buf b = buf_new(a);
    for (int k = 0; k < KNOB_COUNT; k++) buf_printf(&b, "%s%s", k ? ", " : "", knobs[k].name);
    return b.p;
}

bool config_parse(const char *text, struct config *out, struct diag *d) {
    bool seen[KNOB_COUNT] = {false}, any = false;
    memset(out, 0, sizeof *out);
    for (const char *s = text; *s;) {
        if (isspace((unsigned char)*s)) {
            s++;
            continue;
        }
        size_t n = strcspn(s, "= \t\n");
        int k = find_knob(s, n);
        if (k < 0)
            return diag_fail(d, WS_USAGE, "config '%s': no knob '%.*s'; knobs: %s", text, (int)n, s,
                             knob_list(d->arena)),
                   false;
        if (s[n] != '=')
            return diag_fail(d, WS_USAGE, "config '%s': expected '=' after '%s'", text,
                             knobs[k].name),
                   false;
        char *end;
        long v = strtol(s + n + 1, &end, 10);
        if (end == s + n + 1 || (*end && !isspace((unsigned char)*end)) || v < 0 || v > 1 << 30)
            return diag_fail(d, WS_USAGE, "config '%s': %s needs a number from 0 to 2^30", text,
                             knobs[k].name),
                   false;
        if (seen[k])
            return diag_fail(d, WS_USAGE, "config '%s': %s is given twice", text, knobs[k].name),
                   false;
        seen[k] = any = true;
        out->knob[k] = (int32_t)v;
        s = end;
    }
    if (!any) return diag_fail(d, WS_USAGE, "empty config"), false;
    return true;
}
