/* suite_plan.c: cases in their order, to whoever asks. */
#include "tuner/suite_plan.h"

struct suite_plan suite_plan_new(int n_cases, int n_devices, struct arena *a) {
    struct suite_plan p = {.n_cases = n_cases, .n_devices = n_devices};
    p.cases = NEW_ARRAY(a, struct suite_case, n_cases);
    p.devices = NEW_ARRAY(a, struct suite_device, n_devices);
    for (int i = 0; i < n_cases; i++) p.cases[i].failed_on = NEW_ARRAY(a, bool, n_devices);
    return p;
}

/* Is there a device that is not lost, and that the case has not failed on? */
static bool has_fresh_device(const struct suite_plan *p, const struct suite_case *c) {
    for (int d = 0; d < p->n_devices; d++)
        if (!p->devices[d].lost && !c->failed_on[d]) return true;
    return false;
}

static bool may_have(const struct suite_plan *p, int device, const struct suite_case *c) {
    if (c->done || c->running || p->devices[device].lost || c->tries >= SUITE_TRIES) return false;
    return !c->failed_on[device] || (c->tries < 2 && !has_fresh_device(p, c));
}

int suite_plan_next(struct suite_plan *p, int device) {
    for (int i = 0; i < p->n_cases; i++) {
        struct suite_case *c = &p->cases[i];
        if (!may_have(p, device, c)) continue;
        c->running = true;
        c->tries++;
        return i;
    }
    return -1;
}

void suite_plan_done(struct suite_plan *p, int i, int device) {
    p->cases[i].running = false;
    p->cases[i].done = true;
    if (device >= 0) p->devices[device].failed = 0;
}

void suite_plan_failed(struct suite_plan *p, int i, int device) {
    struct suite_device *d = &p->devices[device];
    int others = 0;
    p->cases[i].running = false;
    p->cases[i].failed_on[device] = true;
    d->failed++;
    for (int k = 0; k < p->n_devices; k++) others += k != device && !p->devices[k].lost;
    d->lost = d->failed >= SUITE_LOST && others;
}

bool suite_plan_over(const struct suite_plan *p) {
    for (int i = 0; i < p->n_cases; i++) {
        if (p->cases[i].running) return false;
        for (int d = 0; d < p->n_devices; d++)
            if (may_have(p, d, &p->cases[i])) return false;
    }
    return true;
}

int suite_plan_left(const struct suite_plan *p) {
    int left = 0;
    for (int i = 0; i < p->n_cases; i++) left += !p->cases[i].done;
    return left;
}
