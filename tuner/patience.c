/* patience.c: what runs in 1 ms is given 4 s, in 100 ms 20 s, and ten minutes what never ran. */
#include "tuner/patience.h"

#include <math.h>

#define TIMES 200
#define LEAST_MS 4000
#define UNKNOWN_MS 600000

double patience_ms(double about_ms) {
    return isnan(about_ms) ? UNKNOWN_MS : fmax(LEAST_MS, TIMES * about_ms);
}

void patience_set(struct device *dev, double about_ms) { device_limit(dev, patience_ms(about_ms)); }

void patience_endless(struct device *dev) { device_limit(dev, INFINITY); }
