/* devices.h: the same cases on two devices: how many times as fast B is as A, and what their roofs
 * say to that.
 *
 *   speedup of B over A  =  ratio of the roofs that bind  x  share of B's roof / share of A's
 *
 * A is the device with the least copy bandwidth, B each other one. */
#ifndef REPORTS_DEVICES_H
#define REPORTS_DEVICES_H

#include "reports/figures.h"

enum binding { BOUND_UNKNOWN, BOUND_MEMORY, BOUND_ARITHMETIC };

struct device {
    const char *name;
    double gbps, tflops; /* of its newest row of role roof: copy bandwidth, its highest peak; NAN */
    const char *timestamp; /* of that row; NULL: there is none */
};

struct device_pair {
    const struct case_ *a, *b;
    struct estimate ours,
        torch;                 /* speedups of B over A; torch: of its fastest way that both have */
    enum binding bound;        /* on A */
    double memory, arithmetic; /* ratios of the devices' roofs; NAN: not known */
};

struct comparison_of_devices {
    struct device *devices; /* as the model's; A first */
    size_t n_devices;
    struct device_pair *pairs; /* of all B, the fastest first */
    size_t n;
    size_t only_one; /* cases that one device alone has */
};

void devices_compare(struct comparison_of_devices *c, const struct model *m);
void devices_free(struct comparison_of_devices *c);

/* The ratio of the roofs that bind, or NAN. */
double pair_roofs(const struct device_pair *p);
/* "memory's", "arithmetic's", "ours: 1.12x more than memory's": whose the gain is, in words. */
void put_reading(struct text *out, const struct device_pair *p);

void put_devices_html(struct text *out, const struct comparison_of_devices *c,
                      const struct model *m);
void put_devices_markdown(struct text *out, const struct comparison_of_devices *c);
void put_devices_csv(struct text *out, const struct comparison_of_devices *c);
bool figure_devices(struct figure *f, const struct model *m, const struct comparison_of_devices *c);

#endif
