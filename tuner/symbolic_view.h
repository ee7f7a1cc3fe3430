/* symbolic_view.h: a workload at one point, with one of its axes as a symbol. */
#ifndef TUNER_SYMBOLIC_VIEW_H
#define TUNER_SYMBOLIC_VIEW_H

#include "tuner/machine.h"
#include "tuner/range_table.h"

/* What ranges are valid for: their kernels' texts at single sizes, with numbers for symbols. */
struct symbolic_texts {
    const struct ws_captured *captured;
    const struct device_limits *limits;
    VEC(struct text_at { /* programs lowered before */
                         int64_t size;
                         struct ws_program *program; /* NULL: it cannot be */
    })
    at;
};
/* Hash of what the kernel, which has that name there too, is emitted as where s0 is that size;
 * NULL: it is not, or not under c. */
const char *symbolic_text_hash(struct symbolic_texts *t, int64_t size, int kernel, const char *name,
                               const struct config *c);

struct symbolic_view {
    const char *axis;
    int64_t size;                 /* of s0 at the point */
    struct ws_captured *captured; /* both NULL: see why */
    struct ws_program *program;   /* kernel by kernel like that of the point */
    const char *why;
    struct symbolic_texts texts;
};

/* p is the fused program of the point, captured with these axes. A view is the same computation as
 * p, or none. */
struct symbolic_view symbolic_view(const struct command_line *line, const struct ws_axis *axes,
                                   int n_axes, const char *axis, const struct ws_program *p,
                                   struct arena *a);

/* Do two programs have the same kernels, by name? */
bool same_kernels(const struct ws_program *p, const struct ws_program *q);

/* range_question.judge, and its ctx: may the config be used for this kernel? */
struct judge {
    const struct ws_program *program;
    int kernel;
    struct symbolic_texts *texts;
    struct arena *arena;
};
enum range_verdict judge_entry(void *judge, const struct range_entry *e);

/* What the table has for a kernel of p, at the size of the view. */
enum lookup symbolic_look_up(struct range_table *t, struct symbolic_view *v,
                             const struct ws_program *p, int kernel, struct arena *a,
                             const struct range_entry **out);

/* The guard with the axis for the symbol: "256 <= dim && dim < 4096". */
const char *symbolic_guard(const struct range_entry *e, const char *axis, struct arena *a);

#endif
