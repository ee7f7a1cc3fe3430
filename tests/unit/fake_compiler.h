/* fake_compiler.h: a compiler of one made-up workload, for tests of the tuner.
 *
 * y = 2 * x + 1 over FAKE_N floats, as two operations: eager is two kernels with a temporary
 * between them, fused is one. The knob x says what a variant of the fused kernel is:
 *
 *   1 right (the default)    2 right, other code    3 wrong    4 does not compile
 *   5 cannot be emitted      6 the same code as 1   7 leaves one element as it was
 *   8 crashes                9 writes behind y     10 is right twice, then wrong
 *  11 never ends (only where a test asks for it: it is waited for)
 *
 * A test can plant something in variant 2, which then is by far the faster of the first two, the
 * only ones: a C statement that is executed in every call where a condition holds. The condition
 * may ask for
 *
 *   calls   of the entry, this one included, since it was loaded: from 1
 *   loads   of the variant: 1 in its trial, 2 among the finalists
 *   EAGER   calls of the eager program: 1 is its check, more are the final times
 *   ONCE    true the first time that it is asked for, ever
 *   ASKED   has ONCE been asked for?
 *
 * and so may the one under which the eager program is wrong, for which the plant has to be there.
 *
 * y and x are the output and the input, was is what y held before the call.
 *
 * Included once, by the test: its functions stand in for those of the real compiler. */
#ifndef FAKE_COMPILER_H
#define FAKE_COMPILER_H

#include <stdlib.h>
#include <string.h>

#include "ws_tune.h"

enum { FAKE_N = 4096, FAKE_VARIANTS = 10, FAKE_SLEEP_US = 5000 };
static bool fake_hangs;   /* the eleventh variant is there */
static double fake_flops; /* that the fused kernel is said to do */
static bool fake_knob;    /* a knob came: there is a variant x=1 k=1, which is right */
/* Other than 0: under WS_APART there are two kernels as well, and only variant 1 of each; all spin
 * so often in the fused one, and so often in each of these. */
static int fake_spins, fake_spins_apart;
static size_t fake_bytes_apart; /* of the intermediate of the program apart, if not 0 */
static int fake_references;     /* how many were made */
static const char *fake_comment[2] = {"", ""}; /* in the texts of the first and second kernel */
static struct {
    const char *when, *code; /* NULL: nothing is planted */
    const char *eager;       /* NULL: it is always right */
    const char *folder;      /* for what is counted across processes */
    bool two;                /* the fused program has two kernels; the second one is planted in */
    bool whole; /* between which are integers, eighths; variant 3 of the first is off by one */
} fake_plant;

static struct ws_tensor_info fake_tensor(const char *name) {
    return (struct ws_tensor_info){.name = name,
                                   .dtype = DT_F32,
                                   .rank = 1,
                                   .size = {FAKE_N},
                                   .stride = {1},
                                   .numel = FAKE_N,
                                   .bytes = FAKE_N * sizeof(float)};
}

struct ws_captured *ws_capture(const struct ws_options *o, struct stages *s, struct diag *d) {
    struct ws_captured *c = NEW(o->arena, struct ws_captured);
    (void)s, (void)d;
    *c = (struct ws_captured){.arena = o->arena,
                              .workload = "fake",
                              .axes = "n=4096",
                              .dtype = "f32",
                              .mode = "fwd",
                              .weights = "",
                              .graph_hash = "00112233445566ff",
                              .guards = "",
                              .n_inputs = 1,
                              .n_outputs = 1};
    return c;
}

/* The fake knows one workload, and no graphs of scripts. */
struct ws_captured *ws_captured_of(struct arena *a, struct graph *g, const char *name) {
    (void)a, (void)g, (void)name;
    return NULL;
}

struct ws_tensor_info ws_input_info(const struct ws_captured *c, int i) {
    (void)c, (void)i;
    return fake_tensor("x");
}

struct ws_tensor_info ws_output_info(const struct ws_captured *c, int i) {
    (void)c, (void)i;
    return fake_tensor("out0");
}

enum ws_status ws_make_inputs(const struct ws_captured *c, void **bytes, struct diag *d) {
    float *x = malloc(FAKE_N * sizeof *x);
    (void)c, (void)d;
    for (int i = 0; i < FAKE_N; i++) x[i] = (float)(i % 97) / 8;
    bytes[0] = x;
    return WS_OK;
}

enum ws_status ws_make_reference(const struct ws_captured *c, enum device_kind device,
                                 void *const *input_bytes, void **outputs, float **bounds,
                                 struct diag *d) {
    const float *x = input_bytes[0];
    (void)c, (void)device, (void)d;
    double *y = outputs[0] = malloc(FAKE_N * sizeof *y);
    fake_references++;
    bounds[0] = NULL; /* eighths: nothing is rounded */
    for (int i = 0; i < FAKE_N; i++) y[i] = 2 * (double)x[i] + 1;
    return WS_OK;
}

/* Buffers: 0 the input, 1 the output, 2 the temporary of the eager program. */
struct ws_program *ws_lower(struct ws_captured *c, const struct device_limits *limits,
                            enum ws_fusion fusion, struct stages *s, struct diag *d) {
    struct ws_program *p = NEW(c->arena, struct ws_program);
    double bytes = 2.0 * FAKE_N * sizeof(float);
    (void)s, (void)d;
    *p = (struct ws_program){.arena = c->arena, .captured = c, .limits = *limits, .bytes = bytes};
    p->first_output = NEW_ARRAY(c->arena, int, 1);
    p->returned_input = NEW_ARRAY(c->arena, int, 1);
    p->returned_input[0] = -1;
    p->buffers = NEW_ARRAY(c->arena, struct ws_buffer, 3);
    for (int i = 0; i < 3; i++)
        p->buffers[i] = (struct ws_buffer){.name = "b",
                                           .kind = (enum ws_buffer_kind)i,
                                           .dtype = DT_F32,
                                           .numel = FAKE_N,
                                           .bytes = FAKE_N * sizeof(float)};
    if (fusion == WS_APART && fake_bytes_apart) p->buffers[2].bytes = fake_bytes_apart;
    if (fake_plant.whole && fusion != WS_EAGER) p->buffers[2].dtype = DT_I32;
    static const char *const eager[] = {"mul", "add"}, *const one[] = {"mul_add"},
                             *const two[] = {"first", "second"};
    static const char *const split[] = {"split_mul", "split_add"};
    const char *const *names = fusion == WS_EAGER   ? eager
                               : fusion == WS_APART ? split
                               : fake_plant.two     ? two
                                                    : one;
    p->may_be_apart = fusion == WS_FUSE && fake_spins;
    bool apart = names != one;
    p->n_buffers = apart ? 3 : 2;
    p->temp_bytes = apart ? p->buffers[2].bytes : 0;
    p->n_kernels = apart ? 2 : 1;
    p->kernels = NEW_ARRAY(c->arena, struct ws_kernel, 2);
    for (int k = 0; k < p->n_kernels; k++)
        p->kernels[k] = (struct ws_kernel){.name = names[k],
                                           .kind = "pointwise",
                                           .hash = names[k],
                                           .same = k,
                                           .guard = "",
                                           .n_reads = 1,
                                           .n_writes = 1,
                                           .reads = {k ? 2 : 0},
                                           .writes = {k || !apart ? 1 : 2},
                                           .bytes = bytes,
                                           .flops = fusion == WS_FUSE ? fake_flops : 0};
    return p;
}

static bool fake_is_eager(const struct ws_program *p) { return !strcmp(p->kernels[0].name, "mul"); }

const struct config *ws_default_config(const struct ws_program *p, int k) {
    const struct config *configs;
    int n, pruned;
    ws_configs(p, k, &configs, &n, &pruned);
    return configs;
}

void ws_configs(const struct ws_program *p, int k, const struct config **configs, int *n,
                int *pruned) {
    int all = fake_spins ? 1 : fake_plant.when ? 2 : FAKE_VARIANTS + fake_hangs + fake_knob;
    struct config *c = NEW_ARRAY(p->arena, struct config, all);
    (void)k;
    for (int i = 0; i < all; i++) c[i].knob[KNOB_x] = i + 1;
    if (fake_knob) c[all - 1].knob[KNOB_x] = c[all - 1].knob[KNOB_k] = 1;
    *configs = c;
    *n = fake_is_eager(p) ? 1 : all;
    *pruned = 3;
}

const char *ws_config_illegal(const struct ws_program *p, int k, const struct config *c,
                              struct arena *a) {
    (void)p, (void)k;
    int x = c->knob[KNOB_x];
    return x >= 1 && x <= FAKE_VARIANTS + 1 ? NULL : arena_printf(a, "x=%d is no variant", x);
}

/* No axis of the fake can be a symbol. */
void ws_print_lines(struct buf *b, const struct ws_program *p, int k) { (void)b, (void)p, (void)k; }

bool ws_is_training(const struct ws_captured *c) { return false; }

int ws_window_at(const struct ws_program *p, int b, int64_t t, size_t *from) {
    return *from = 0, b;
}
int ws_window_last(const struct ws_program *p, int b, size_t *from) {
    return ws_window_at(p, b, 0, from);
}
bool ws_captures_same(const struct ws_captured *symbolic, const struct ws_captured *numbers,
                      const char **why) {
    (void)symbolic, (void)numbers;
    *why = "it is made up";
    return false;
}

struct ws_captured *ws_captured_stepped(const struct ws_captured *c, const int64_t *step) {
    (void)c, (void)step;
    return NULL;
}

struct ws_captured *ws_captured_at(const struct ws_captured *c, const int64_t *size) {
    (void)c, (void)size;
    return NULL;
}

int ws_config_vectors(const struct ws_program *p, int k, const struct config *c, struct arena *a) {
    (void)p, (void)k, (void)c, (void)a;
    return 0;
}

static const char *fake_plant_head(struct arena *a) {
    return arena_printf(a,
                        "#include <fcntl.h>\n"
                        "#include <unistd.h>\n"
                        "static int counted(const char *path, int more) {\n"
                        "    int fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);\n"
                        "    if (more && write(fd, path, 1) != 1) _exit(9);\n"
                        "    int n = (int)lseek(fd, 0, SEEK_END);\n"
                        "    close(fd);\n"
                        "    return n;\n"
                        "}\n"
                        "#define EAGER counted(\"%s/eager\", 0)\n"
                        "#define ONCE (counted(\"%s/once\", 1) == 1)\n"
                        "#define ASKED (counted(\"%s/once\", 0) > 0)\n",
                        fake_plant.folder, fake_plant.folder, fake_plant.folder);
}

/* Long enough for a sample to be of one call. Others than variant 2 sleep, far longer than a busy
 * machine keeps a thread waiting for a core: however much runs beside the test, variant 2 is the
 * fastest. */
static const char *fake_plant_end(const struct ws_program *p, int kernel, int variant,
                                  struct arena *a) {
    bool fast = !fake_is_eager(p) && variant == 2;
    struct buf b = buf_new(a);
    buf_printf(&b, "for (volatile int k = 0; k < 40000; k++) continue;\n");
    if (!fast) buf_printf(&b, "usleep(%d);\n", FAKE_SLEEP_US);
    if (fake_is_eager(p) && !kernel)
        buf_printf(&b, "counted(\"%s/eager\", 1);\n", fake_plant.folder);
    if (fake_is_eager(p) && fake_plant.eager && kernel == p->n_kernels - 1)
        buf_printf(&b, "if (%s) y[5] = 0;\n", fake_plant.eager);
    if (fast && kernel == p->n_kernels - 1)
        buf_printf(&b,
                   "    static int loads;\n"
                   "    if (!loads) loads = counted(\"%s/loads\", 1);\n"
                   "    calls++;\n"
                   "    if (%s) { %s; }\n",
                   fake_plant.folder, fake_plant.when, fake_plant.code);
    return b.p;
}

enum ws_status ws_emit(const struct ws_program *p, int k, const struct config *c, struct arena *a,
                       struct ws_source *out, struct diag *d) {
    static const char *const fused[] = {"2 * x[i] + 1",
                                        "2 * (double)x[i] + 1",
                                        "2 * x[i] + 3",
                                        "2 * x[i] + oops",
                                        "",
                                        "2 * x[i] + 1",
                                        "i == 7 ? y[i] : 2 * x[i] + 1",
                                        "*(volatile float *)8",
                                        "(y[4096] = 5, 2 * x[i] + 1)",
                                        "2 * x[i] + (calls++ < 2 * 4096 ? 1 : 3)",
                                        "({ for (volatile int k = 0;;) k++; 0; })",
                                        "2 * ((double)x[i] + 0.5)"};
    int variant = c->knob[KNOB_x];
    if (variant == 5) return diag_fail(d, WS_WRONG, "variant 5 cannot be emitted");
    if (c->knob[KNOB_k]) variant = 12;
    const char *value = p->n_kernels == 1 ? fused[variant - 1] : k ? "x[i] + 1" : "2 * x[i]";
    bool whole = p->n_kernels > 1 && p->buffers[2].dtype == DT_I32;
    if (whole) value = k ? "x[i] / 4.0f + 1" : variant == 3 ? "8 * x[i] + 1" : "8 * x[i]";
    *out = (struct ws_source){.n_launches = 1, .launches = NEW(a, struct ws_launch), .block = ""};
    out->text =
        arena_printf(a,
                     "static int calls; /* %s */\n"
                     "%s"
                     "void entry(void *const *args) {\n"
                     "    for (volatile int k = 0; k < %d; k++) continue;\n"
                     "    %s *y = *(void *const *)args[1];\n"
                     "    const %s *x = *(void *const *)args[0];\n"
                     "    calls += 0;\n"
                     "%s"
                     "    for (int i = 0; i < %d; i++) y[i] = %s;\n"
                     "%s"
                     "}\n",
                     fake_comment[k], fake_plant.when ? fake_plant_head(a) : "",
                     p->n_kernels == 1 ? fake_spins : fake_spins_apart,
                     whole && !k ? "int" : "float", whole && k ? "int" : "float",
                     fake_plant.when ? "static float was[4096];\n"
                                       "for (int i = 0; i < 4096; i++) was[i] = y[i];\n"
                                     : "",
                     FAKE_N, value, fake_plant.when ? fake_plant_end(p, k, variant, a) : "");
    out->launches[0] =
        (struct ws_launch){.entry = "entry",
                           .grid = {1, 1, 1},
                           .threads = 1,
                           .n_args = 2,
                           .args = {{.kind = WS_ARG_BUFFER, .buffer = p->kernels[k].reads[0]},
                                    {.kind = WS_ARG_BUFFER, .buffer = p->kernels[k].writes[0]}}};
    return WS_OK;
}

const struct reference *ws_lower_inputs(const struct ws_captured *c, enum device_kind device) {
    (void)c, (void)device;
    return NULL;
}

const struct reference *ws_lower_reference(const struct ws_captured *c, enum device_kind device) {
    return ws_lower_inputs(c, device);
}

void ws_drop_lowered(const struct ws_captured *c, enum device_kind device) {
    (void)c, (void)device;
}

/* Nothing is known of kernels by themselves. */
struct ws_alone ws_alone_of(const struct ws_program *p, struct arena *a) {
    return (struct ws_alone){.parts = NEW_ARRAY(a, struct ws_alone_part, p->n_kernels)};
}

struct ws_captured *ws_alone_join(const struct ws_alone *x, const bool *kernels, struct arena *a,
                                  const int **outputs) {
    (void)x, (void)kernels, (void)a, (void)outputs;
    return NULL;
}

float ws_bound_up(double bound) { return (float)bound; }

enum ws_status ws_sample_reference(const struct ws_captured *c, enum device_kind device,
                                   void *const *input_bytes, struct sample_taken *out,
                                   struct diag *d) {
    (void)c, (void)device, (void)input_bytes, (void)out;
    return diag_fail(d, WS_MACHINE, "fake");
}

double ws_reference_work(const struct ws_captured *c, enum device_kind device) {
    (void)c, (void)device;
    return 0;
}

enum ws_status ws_judge_reference(const struct ws_captured *c, void *const *input_bytes,
                                  const struct sample_source *outputs, int64_t *judged,
                                  struct diag *d) {
    (void)c, (void)input_bytes, (void)outputs, (void)judged;
    return diag_fail(d, WS_MACHINE, "fake");
}

struct reference_binaries reference_binaries_new(struct arena *a) {
    return (struct reference_binaries){map_new(a)};
}

bool reference_has_binary(const struct reference_binaries *kept, const char *text) {
    (void)kept, (void)text;
    return false;
}

void reference_keep_binary(struct reference_binaries *kept, const char *text,
                           const struct compiled *made) {
    (void)kept, (void)text, (void)made;
}

enum ws_status reference_run(const struct reference *r, struct device *dev, struct toolchain *cc,
                             struct reference_binaries *kept, const dptr *inputs,
                             const dptr *outputs, int64_t *slices, struct arena *a,
                             struct diag *d) {
    (void)r, (void)kept, (void)dev, (void)cc, (void)inputs, (void)outputs, (void)slices, (void)a;
    return diag_fail(d, WS_MACHINE, "fake");
}

struct ws_memory ws_memory_of(const struct ws_captured *c, enum device_kind device) {
    (void)device;
    return (struct ws_memory){0};
}

void ws_explain(const struct ws_captured *c, const struct ws_program *p, struct buf *b) {
    (void)c, (void)p;
    buf_puts(b, "fake\n");
}

#endif
