/* estimate.c: intervals of times and of their ratios, and how they are written.
 *
 *   36.96 +-0.04 against 18.48 +-0.05   ->   2.000 [1.993, 2.008]   ->   "2.00"
 *   36.96 +-20   against 18.48 +-0.05   ->   2.000 [0.915, 3.091]   ->   "~2" */
#include "reports/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double row_half_us(const struct result_row *r) {
    if (r->ci_us >= 0) return r->ci_us;
    double half = 1.57 * (r->q3_us - r->q1_us) / sqrt(r->n);
    return half >= 0 && isfinite(half) ? half : NAN;
}

double row_scatter(const struct result_row *r) {
    return (r->q3_us - r->q1_us) / 1.349 / r->median_us;
}

void rows_alike(const struct result_row **a, const struct result_row **b,
                struct result_row own[2]) {
    if (((*a)->schema < 3) == ((*b)->schema < 3)) return;
    own[0] = result_row_without_gaps(*a), *a = &own[0];
    own[1] = result_row_without_gaps(*b), *b = &own[1];
}

bool row_unsteady(const struct result_row *r) {
    return row_half_us(r) > UNSTEADY_SHARE * r->median_us;
}

struct estimate row_time(const struct result_row *r) {
    if (!r || !(r->median_us > 0) || !isfinite(r->median_us))
        return (struct estimate){NAN, NAN, NAN};
    double half = row_half_us(r);
    return (struct estimate){r->median_us, fmax(r->median_us - half, 0), r->median_us + half};
}

struct estimate speedup_of(const struct result_row *from, const struct result_row *to) {
    if (!result_row_measured(from) || !result_row_measured(to))
        return (struct estimate){NAN, NAN, NAN};
    struct result_row own[2];
    rows_alike(&from, &to, own);
    struct estimate a = row_time(from), b = row_time(to);
    double value = a.value / b.value;
    if (isnan(row_half_us(from)) || isnan(row_half_us(to)))
        return (struct estimate){value, NAN, NAN};
    return (struct estimate){value, a.low / b.high, b.low > 0 ? a.high / b.low : INFINITY};
}

int speedup_sign(const struct estimate *s) { return s->low > 1 ? 1 : s->high < 1 ? -1 : 0; }

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_time(double *us, size_t n) {
    if (!n) return NAN;
    qsort(us, n, sizeof *us, by_size);
    return n % 2 ? us[n / 2] : sqrt(us[n / 2 - 1] * us[n / 2]);
}

/* Of the decimals that fit the number's size those that its half width does not make meaningless.
 */
static int decimals_known(double value, double half) {
    int fit = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    if (!(half > 0)) return fit;
    int known = (int)ceil(-log10(half));
    return known < 0 ? 0 : known < fit ? known : fit;
}

void put_ratio(struct text *out, const struct estimate *s) {
    if (!isfinite(s->value)) {
        text_puts(out, "–");
        return;
    }
    double half = (s->high - s->low) / 2;
    bool vague = half > s->value / 10;
    int decimals = vague ? s->value < 0.95 : decimals_known(s->value, half);
    text_printf(out, "%s%.*f", vague ? "~" : "", decimals, s->value);
}

void put_us(struct text *out, double us) {
    static const char *const units[] = {"µs", "ms", "s"};
    int unit = 0;
    if (!isfinite(us)) {
        text_puts(out, "–");
        return;
    }
    for (; unit < 2 && us >= 999.5; unit++) us /= 1000;
    text_printf(out, "%.*f\u00a0%s", us < 9.995 ? 2 : us < 99.95 ? 1 : 0, us, units[unit]);
}

void put_thousands(struct text *out, double v, int decimals) {
    char digits[64];
    if (!isfinite(v) ||
        snprintf(digits, sizeof digits, "%.*f", decimals, v) >= (int)sizeof digits) {
        text_puts(out, "–");
        return;
    }
    size_t first = digits[0] == '-', whole = strcspn(digits + first, ".");
    text_write(out, digits, first);
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0) text_puts(out, "\u202f");
        text_write(out, digits + first + i, 1);
    }
    text_puts(out, digits + first + whole);
}
