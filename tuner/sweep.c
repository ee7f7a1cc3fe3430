/* sweep.c: "-D name=v1,v2" arguments, and their cartesian product. */
#include "tuner/sweep.h"

#include <string.h>

#include "tuner/ladder.h"

/* Length of the value at p: up to a comma that no bracket or quote encloses. */
static size_t value_length(const char *p) {
    size_t n = 0;
    int depth = 0;
    char quote = 0;
    for (; p[n]; n++) {
        char c = p[n];
        if (quote) {
            if (c == quote) quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (strchr("([{", c)) {
            depth++;
        } else if (strchr(")]}", c)) {
            depth--;
        } else if (c == ',' && depth == 0) {
            break;
        }
    }
    return n;
}

static enum ws_status read_axis(const char *text, struct arena *a, struct sweep_axis *out,
                                struct diag *d) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return diag_fail(d, WS_USAGE, "-D takes AXIS=VALUE, not '%s'", text);
    out->name = arena_strndup(a, text, (size_t)(equals - text));
    out->values.at = NEW_ARRAY(a, const char *, strlen(equals));
    for (const char *p = equals + 1;;) {
        size_t n = value_length(p);
        if (!n) return diag_fail(d, WS_USAGE, "-D %s: a value is missing", text);
        out->values.at[out->values.n++] = arena_strndup(a, p, n);
        if (!p[n]) return WS_OK;
        p += n + 1;
    }
}

/* A ladder stands alone: as an axis's only value, and as the only one of the call. */
static enum ws_status expand_ladder(struct sweep *s, int axis, struct arena *a, struct diag *d) {
    struct texts *v = &s->axes[axis].values;
    bool any = false;
    for (int i = 0; i < v->n; i++) any |= ladder_is(v->at[i]);
    if (!any) return WS_OK;
    if (v->n > 1 || s->ladder >= 0)
        return diag_fail(d, WS_USAGE, "-D %s: one range of sizes at a time; other axes take values",
                         s->axes[axis].name);
    s->ladder = axis;
    return ladder_parse(v->at[0], a, &v->at, &v->n, d);
}

enum ws_status sweep_parse(const struct texts *given, struct arena *a, struct sweep *out,
                           struct diag *d) {
    *out = (struct sweep){NEW_ARRAY(a, struct sweep_axis, given->n), given->n, 1, -1};
    for (int i = 0; i < given->n; i++) {
        if (read_axis(given->at[i], a, &out->axes[i], d) != WS_OK ||
            expand_ladder(out, i, a, d) != WS_OK)
            return d->status;
        for (int j = 0; j < i; j++)
            if (!strcmp(out->axes[j].name, out->axes[i].name))
                return diag_fail(d, WS_USAGE, "-D %s is given twice", out->axes[i].name);
        if (out->axes[i].values.n > SWEEP_MOST / out->n_points)
            return diag_fail(d, WS_USAGE, "-D spans more than %d points", SWEEP_MOST);
        out->n_points *= out->axes[i].values.n;
    }
    return WS_OK;
}

struct ws_axis *sweep_point(const struct sweep *s, int i, struct arena *a) {
    struct ws_axis *point = NEW_ARRAY(a, struct ws_axis, s->n_axes);
    for (int k = s->n_axes - 1; k >= 0; k--) {
        const struct texts *v = &s->axes[k].values;
        point[k] = (struct ws_axis){s->axes[k].name, v->at[i % v->n]};
        i /= v->n;
    }
    return point;
}

int sweep_ladder_stride(const struct sweep *s) {
    int stride = 1;
    for (int k = s->ladder + 1; k < s->n_axes; k++) stride *= s->axes[k].values.n;
    return stride;
}

int sweep_rung(const struct sweep *s, int i) {
    return i / sweep_ladder_stride(s) % s->axes[s->ladder].values.n;
}
