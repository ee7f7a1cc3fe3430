/* profile.c: from a variant and its launches to what profile_judge wants to know. */
#include "tuner/profile.h"

#include <math.h>
#include <string.h>

enum ws_status profile_count(struct variant *v, const struct launches *l, struct device *dev,
                             struct diag *d) {
    struct counters *each = NEW_ARRAY(d->arena, struct counters, l->n);
    v->counters_from = "counted";
    v->counters = counters_unknown();
    if (device_count(dev, l->at, l->n, each, d) != WS_OK) return d->status;
    v->counters = counters_total(each, l->n);
    v->counters_from = "cupti";
    return WS_OK;
}

static int64_t most_blocks(const struct ws_source *s) {
    int64_t most = 0;
    for (int i = 0; i < s->n_launches; i++) {
        const int64_t *g = s->launches[i].grid;
        if (g[0] * g[1] * g[2] > most) most = g[0] * g[1] * g[2];
    }
    return most;
}

struct profile_facts profile_facts_of(const struct variant *v, const struct work *w,
                                      const struct roof *r) {
    return (struct profile_facts){
        .kernel = variant_kernel(v)->name,
        .kind = variant_kernel(v)->kind,
        .config_text = v->text,
        .config = v->config,
        .roof = r,
        .work = *w,
        .us = v->timing.us.n ? v->timing.us.median : NAN,
        .n_launches = v->source.n_launches,
        .blocks = most_blocks(&v->source),
        .fits = v->occupancy,
        .spill_bytes = v->spill_bytes > 0 ? v->spill_bytes : 0,
        .counted = v->counters_from && !strcmp(v->counters_from, "cupti"),
        .counters = v->counters,
    };
}
