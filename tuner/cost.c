/* cost.c: cost against gain. */
#include "tuner/cost.h"

#include <math.h>

double cost_of_search(const struct cost *c) {
    return fmax(0, c->all - c->compile - c->check - c->measure - c->count);
}

double cost_calls(const struct cost *c, double slow_us, double fast_us) {
    if (!c->trials) return NAN;
    return slow_us > fast_us ? ceil(c->all * 1e6 / (slow_us - fast_us)) : INFINITY;
}

/* 40132 -> "40,132" */
static void put_count(struct buf *b, double n) {
    if (n < 1000)
        buf_printf(b, "%.0f", n);
    else {
        put_count(b, floor(n / 1000));
        buf_printf(b, ",%03.0f", fmod(n, 1000));
    }
}

static void put_saving(struct buf *b, const struct cost *c, const char *over, double slow_us,
                       double fast_us) {
    double calls = cost_calls(c, slow_us, fast_us);
    if (isfinite(calls)) {
        buf_printf(b, "%.2f us a call over %s (worth the tuning after ", slow_us - fast_us, over);
        put_count(b, calls);
        buf_puts(b, " calls)");
    } else {
        buf_printf(b, "nothing over %s", over);
    }
}

void cost_print(struct buf *b, const struct cost *c, double eager_us, double default_us,
                double tuned_us) {
    if (!c->trials) return;
    buf_printf(b, "tuning   %10.2f s: %.2f compiling, %.2f checking, %.2f measuring, ", c->all,
               c->compile, c->check, c->measure);
    if (c->count > 0) buf_printf(b, "%.2f counting, ", c->count);
    buf_printf(b, "%.2f searching; %d trial%s\nsaves    ", cost_of_search(c), c->trials,
               c->trials == 1 ? "" : "s");
    put_saving(b, c, "the default", default_us, tuned_us);
    buf_puts(b, ", ");
    put_saving(b, c, "unfused kernels", eager_us, tuned_us);
    buf_puts(b, "\n");
}
