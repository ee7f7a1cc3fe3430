/* variant.h: one kernel under one config: source, binary, module, time, and what was held against
 * it. */
#ifndef TUNER_VARIANT_H
#define TUNER_VARIANT_H

#include "reports/results.h"
#include "tuner/compile_pool.h"
#include "tuner/machine.h"
#include "tuner/measure.h"

struct variant {
    const struct ws_program *program;
    int kernel;
    const struct config *config;
    const char *text; /* config_str of it */

    enum result_status status; /* ok: nothing against it so far */
    const char *message;       /* why it was refused; "" */

    struct ws_source source; /* its text is NULL until it is emitted */
    const char *text_hash;   /* source_hash of it; NULL: not emitted, or it cannot be */
    const char *binary_key;
    struct variant *twin;    /* has the same source, and was begun before */
    struct compile_job *job; /* being compiled */
    const void *binary;
    size_t size;
    double compile_ms; /* NAN: unknown */
    double trial_ms;   /* wall time of loading, checking and timing */

    struct module *module;             /* NULL unless loaded */
    int generation;                    /* of the device that it was loaded into */
    int regs, spill_bytes, smem_bytes; /* of its first launch; -1: unknown */
    int spill_allowed; /* bytes that do not refuse it: the default's; any, of what was asked for */
    double occupancy;  /* NAN: unknown */

    struct counters counters;  /* of all its launches */
    const char *counters_from; /* NULL: not asked; "cupti"; "counted": there are none */

    struct timing timing;
    bool is_default, is_winner;
    bool glanced; /* its time is of a few samples, and no verdict */
    bool killed;  /* somebody ended the process that it ran in, once; a second time counts */
    bool again;   /* what was going on then is to be done again */
    bool counted; /* among those that the search has tried */
    bool said;    /* in the log */
};

struct variant variant_new(const struct ws_program *p, int kernel, const struct config *c,
                           struct arena *a);
const struct ws_kernel *variant_kernel(const struct variant *v);

/* ws_emit, of which a keeps the source alone: making it takes many times as much. */
enum ws_status source_emit(const struct ws_program *p, int kernel, const struct config *c,
                           struct arena *a, struct ws_source *out, struct diag *d);
/* What a time of this source is a time of: 16 hex digits of its text, which has the parts of the
 * prelude that it uses in front, and of how it is launched. */
const char *source_hash(const struct ws_source *s, struct arena *a);
/* Source and hash, once. False: the config cannot be emitted, and the variant is refused. */
bool variant_emit(struct variant *v, struct arena *a);
/* The same, emitted elsewhere. */
void variant_take_source(struct variant *v, const struct ws_source *s, struct arena *a);

/* What its launches take of a symbol whose hint has changed; a is as long as the source. */
void variant_renew(struct variant *v, struct exprs *p, ex symbol, struct arena *a);

/* The first refusal stands. */
void variant_refuse(struct variant *v, enum result_status status, const char *message);
bool variant_refused(const struct variant *v);

/* Make it ready to launch. What the device cannot launch, or what spills registers, is refused; the
 * default is only refused if it cannot be launched, for it is what others are compared with. */
/* False also if what was loaded went with a lost device. */
bool variant_loaded(const struct variant *v, const struct machine *m);
enum ws_status variant_load(struct variant *v, struct machine *m, struct diag *d);
void variant_unload(struct variant *v, struct machine *m);

/* What of a compiler's log is worth a message: its first lines about an error, else its start. */
const char *variant_compile_message(const char *log, struct arena *a);

/* Same code, launched the same way. */
bool variant_same(const struct variant *a, const struct variant *b);

#endif
