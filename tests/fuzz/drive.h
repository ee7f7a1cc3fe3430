/* drive.h: run what the compiler generated for a graph, and compare with the reference: CUDA text
 * on the emulator (an emulation), or CUDA and C text on the device that it is for (a trial).
 *
 *     struct drive *b = drive_begin(arena, graph, values, &limits, WS_FUSE, &d);
 *     struct emulation *s = emulation_new(arena);
 *     emulation_add_all(s, b, pick, ctx, &d);            variants: kernels under configs
 *     emulation_compile(s, &d);                          one compiler run for many variants
 *     for each variant v: emulation_case(s, v, check, &d)
 *     emulation_free(s), drive_end(b)
 *
 * Every failure is a diag that says what was run: programs of several graphs may share an
 * emulation or a trial.
 *
 * Ownership: a drive owns the values it computed, an emulation and a trial their buffers; the rest
 * is the arena's. */
#ifndef FUZZ_DRIVE_H
#define FUZZ_DRIVE_H

#include "graph/graph.h"
#include "tests/emulator/emu.h"
#include "ws_tune.h"

struct drive;
struct variant;

/* Is output x right? got: its elements, row-major. Fills d if not. */
typedef bool drive_judge(struct drive *b, const struct ws_buffer *x, const double *got,
                         struct diag *d);

struct drive {
    struct arena *a;
    struct ws_captured captured;
    struct ws_program *p;
    struct graph *g;
    struct value *in, *want; /* per input, per output; row-major */
    char **emulated;         /* per buffer, on the emulator */
    dptr *mem;               /* per buffer, on a device */
    const char *config;      /* of the caller: one more, of kernels on a GPU; NULL: none */
    bool maybe;              /* that config need not be legal for any */
    uint32_t *first;         /* per kernel: the variant of its default config, or one that fits */
    bool (*fits)(
        const struct variant *); /* there is room for it where it is to run; NULL: always */
    drive_judge *judge;          /* drive_agrees, unless the caller sets another */
    void *ctx;                   /* the caller's */
};

/* Values for the inputs of g: normals for floats, -4..4 for integers, coins for bools, rounded to
 * the input's type. malloc'ed; drive_end frees them. */
struct value *drive_inputs(const struct graph *g, uint64_t seed);

/* Lower g for these limits and evaluate the reference on `in`, which the drive then owns. */
struct drive *drive_begin(struct arena *a, struct graph *g, struct value *in,
                          const struct device_limits *limits, enum ws_fusion fusion,
                          struct diag *d);
void drive_end(struct drive *b);

/* drive_steps.c. Of a kernel of all steps of a loop, which has been run on the emulator: is each
 * step what it should have made of what the one before it has left (ws_alone_of)? *judged: how many
 * of the buffers that it writes are; 0: it is none. */
bool drive_judge_steps(struct drive *b, int kernel, int *judged, struct diag *d);

/* |got - want| <= tolerance of the type * (|want| + root mean square of want) everywhere; NaN
 * matches NaN, and integers match exactly. */
drive_judge drive_agrees;
double drive_tolerance(enum dtype t);
double drive_rms(const struct value *v);

/* ---- variants -------------------------------------------------------------------------------- */

struct variant {
    struct drive *program;
    int kernel;
    struct config config;
    struct ws_source source;
    uint32_t text; /* which of the distinct texts it runs, once these are numbered */
};
typedef VEC(struct variant) variant_vec;

/* Which configs of a kernel, besides its default, become variants. */
typedef bool drive_pick(void *ctx, int config, int n_configs);

/* Append the default of every kernel of b, followed by those of its other configs that pick() wants
 * (NULL: all). */
bool drive_add_variants(struct arena *a, variant_vec *all, struct drive *b, drive_pick *pick,
                        void *ctx, struct diag *d);

/* Equal for two variants only if the same text is launched in the same way on the same sizes. */
uint64_t variant_hash(struct arena *a, const struct variant *v);

/* ---- on the emulator ------------------------------------------------------------------------- */

struct emulation {
    struct arena *a;
    struct emu *e;
    variant_vec variants;
    struct emu_module **modules; /* one per batch of variants */
};

struct emulation *emulation_new(struct arena *a);
void emulation_free(struct emulation *s);

/* The buffers of b with its inputs in them, and the default of every kernel as a variant, followed
 * by those of its other configs that pick() wants (NULL: all). */
bool emulation_add_all(struct emulation *s, struct drive *b, drive_pick *pick, void *ctx,
                       struct diag *d);
bool emulation_compile(struct emulation *s, struct diag *d);
/* Run the whole program of variant v, its other kernels by their defaults, and judge the outputs.
 * check: in several orders of threads. */
bool emulation_case(struct emulation *s, uint32_t v, bool check, struct diag *d);

/* ---- on a device, in the same way ------------------------------------------------------------ */

struct trial {
    struct arena *a;
    struct device *dev;
    struct toolchain *toolchain;
    variant_vec variants;
    VEC(struct drive *) drives;
    struct module **modules; /* one per batch of variants */
    uint32_t n_modules;
};

struct trial *trial_new(struct arena *a, struct device *dev, struct toolchain *t);
void trial_free(struct trial *s);
bool trial_add_all(struct trial *s, struct drive *b, drive_pick *pick, void *ctx, struct diag *d);
bool trial_compile(struct trial *s, struct diag *d); /* on all cores */
bool trial_case(struct trial *s, uint32_t v, struct diag *d);

#endif
