/* device_map.c: do a GPU's copies through tensor maps move what the host says they move?
 *
 *   device_map [cuda:0]
 *
 * Boxes of random tensors of one to five dimensions, at random coordinates, some of them outside,
 * are loaded into shared memory, swizzled or not, and compared byte by byte. Once in this process
 * and once in an isolated one, which is sent descriptions. Exit 0: all fine, 1: something is wrong,
 * 3: no GPU with a TMA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"

#define HEAD                                                                                       \
    "struct __align__(128) map { unsigned long long opaque[16]; };\n"                              \
    "extern __shared__ unsigned char shared[];\n"                                                  \
    "static __device__ unsigned aligned() {\n"                                                     \
    "    return ((unsigned)__cvta_generic_to_shared(shared) + 1023) / 1024 * 1024;\n"              \
    "}\n"

/* Kernels of one rank: load a box at `at`, copy it out. */
#define RANK(n, coordinates, operands)                                                             \
    "extern \"C\" __global__ void load_" n "(const __grid_constant__ map m,\n"                     \
    "        unsigned char *data, const int *at, long long bytes) {\n"                             \
    "    __shared__ unsigned long long bar;\n"                                                     \
    "    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), box = aligned(), done = 0;\n"      \
    "    if (threadIdx.x == 0) {\n"                                                                \
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" : : \"r\"(b) : "              \
    "\"memory\");\n"                                                                               \
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" : : : \"memory\");\n"           \
    "        asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\"\n"            \
    "                     : : \"r\"(b), \"r\"((unsigned)bytes) : \"memory\");\n"                   \
    "        asm volatile(\"cp.async.bulk.tensor." n "d.shared::cluster.global\"\n"                \
    "                     \".mbarrier::complete_tx::bytes [%0], [%1, {" coordinates                \
    "}], [%2];\"\n"                                                                                \
    "                     : : \"r\"(box), \"l\"(&m), \"r\"(b), " operands " : \"memory\");\n"      \
    "    }\n"                                                                                      \
    "    __syncthreads();\n"                                                                       \
    "    while (!done)\n"                                                                          \
    "        asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], "    \
    "0;\"\n"                                                                                       \
    "                     \" selp.u32 %0, 1, 0, p; }\" : \"=r\"(done) : \"r\"(b) : \"memory\");\n" \
    "    for (long long i = threadIdx.x; i < bytes; i += blockDim.x) {\n"                          \
    "        unsigned v;\n"                                                                        \
    "        asm volatile(\"ld.shared.u8 %0, [%1];\" : \"=r\"(v) : \"r\"(box + (unsigned)i));\n"   \
    "        data[i] = (unsigned char)v;\n"                                                        \
    "    }\n"                                                                                      \
    "}\n"

static const char SOURCE[] =
    HEAD RANK("1", "%3", "\"r\"(at[0])") RANK("2", "%3, %4", "\"r\"(at[0]), \"r\"(at[1])")
        RANK("3", "%3, %4, %5", "\"r\"(at[0]), \"r\"(at[1]), \"r\"(at[2])")
            RANK("4", "%3, %4, %5, %6", "\"r\"(at[0]), \"r\"(at[1]), \"r\"(at[2]), \"r\"(at[3])")
                RANK("5", "%3, %4, %5, %6, %7",
                     "\"r\"(at[0]), \"r\"(at[1]), \"r\"(at[2]), \"r\"(at[3]), \"r\"(at[4])");

enum {
    CASES = 300,
    TENSOR_BYTES = 8 << 20,
    BOX_BYTES = 32 << 10,
    SHARED = BOX_BYTES + 1024, /* a swizzle counts from where 1024 bytes begin */
    TOLD = 5,                  /* failures that are told in full */
};

struct test {
    struct arena *arena;
    struct device *dev;
    struct module *m;
    dptr tensor, box, at;           /* on the device */
    unsigned char *memory;          /* TENSOR_BYTES */
    unsigned char *loaded, *in_box; /* BOX_BYTES */
    uint64_t random;
    int failures;
};

static bool check(struct test *t, bool ok, const char *what, const struct diag *d) {
    printf("%s %s\n", ok ? "ok   " : "FAIL ", what);
    if (!ok && d && d->text) printf("      %s", d->text);
    t->failures += !ok;
    fflush(stdout);
    return ok;
}

/* 0 to n - 1 */
static int draw(struct test *t, int n) {
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((t->random >> 33) % (uint64_t)n);
}

/* ---- what the host says ---------------------------------------------------------------------- */

static int box_bytes(const struct tensor_map *m) {
    int n = dtype_bytes(m->dtype);
    for (int i = 0; i < m->rank; i++) n *= m->box[i];
    return n;
}

/* Rows of the swizzle's width; of 16-byte pieces the number is xored with the row's, counted in 128
 * bytes. */
static int swizzled(const struct tensor_map *m, int place) {
    int pieces = m->swizzle / 16;
    return pieces ? place ^ ((place >> 7) % pieces << 4) : place;
}

/* Where in the tensor's memory element i of the box at these coordinates lies; -1: outside. */
static int64_t element_at(const struct tensor_map *m, const int *at, int i) {
    int64_t place = 0;
    for (int k = 0; k < m->rank; k++) {
        int64_t index = at[k] + i % m->box[k];
        i /= m->box[k];
        if (index < 0 || index >= m->size[k]) return -1;
        place += index * m->stride[k];
    }
    return place;
}

static void load_here(const struct tensor_map *m, const int *at, const unsigned char *memory,
                      unsigned char *box) {
    int size = dtype_bytes(m->dtype), n = box_bytes(m) / size;
    for (int i = 0; i < n; i++) {
        int64_t from = element_at(m, at, i);
        for (int b = 0; b < size; b++)
            box[swizzled(m, i * size + b)] = from < 0 ? 0 : memory[from + b];
    }
}

/* ---- random maps ----------------------------------------------------------------------------- */

/* A box as wide as a swizzle, or of any width without one. */
static void draw_box(struct test *t, struct tensor_map *m) {
    int size = dtype_bytes(m->dtype), most;
    m->swizzle = 16 << draw(t, 4);
    m->box[0] = m->swizzle / size;
    if (m->swizzle == 16) {
        m->swizzle = 0;
        most = 256 * size / 16;
        m->box[0] = 16 * (1 + draw(t, most < 64 ? most : 64)) / size;
    }
    for (int i = 1; i < m->rank; i++) {
        int left = BOX_BYTES / box_bytes(m) < 256 ? BOX_BYTES / box_bytes(m) : 256;
        m->box[i] = 1;
        if (left > 1) m->box[i] += draw(t, left < 13 || draw(t, 3) == 0 ? left : 13);
    }
}

/* Dimensions lie in any order in memory, with gaps. */
static struct tensor_map draw_map(struct test *t, int *at) {
    static const enum dtype types[] = {DT_U8, DT_BF16, DT_F16, DT_F32, DT_F64, DT_I32};
    struct tensor_map m = {.dtype = types[draw(t, 6)], .rank = 1 + draw(t, TENSOR_MAP_RANK)};
    int size = dtype_bytes(m.dtype), order[TENSOR_MAP_RANK];
    m.address = t->tensor;
    for (int i = 0; i < TENSOR_MAP_RANK; i++) m.box[i] = 1;
    draw_box(t, &m);
    m.size[0] = 1 + draw(t, 300);
    m.stride[0] = size;
    int64_t extent = (m.size[0] * size + 15) / 16 * 16;
    for (int i = 1; i < m.rank; i++) {
        int k = 1 + draw(t, i);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 1; i < m.rank; i++) {
        int k = order[i];
        m.size[k] = 1 + draw(t, m.rank < 4 ? 40 : 7);
        m.stride[k] = extent + 16 * draw(t, 3);
        extent = m.stride[k] * m.size[k];
    }
    for (int i = 0; i < m.rank; i++) /* its corner inside, or anywhere from before all to behind */
        at[i] = draw(t, 4) ? draw(t, (int)m.size[i])
                           : draw(t, (int)m.size[i] + m.box[i] + 1) - m.box[i];
    at[0] &= -(16 / size); /* else an H100 meets an illegal instruction */
    return m;
}

/* ---- on the device --------------------------------------------------------------------------- */

static struct launch launch_of(struct test *t, const struct tensor_map *m, int64_t *bytes) {
    return (struct launch){.module = t->m,
                           .entry = arena_printf(t->arena, "load_%d", m->rank),
                           .grid = {1, 1, 1},
                           .threads = 128,
                           .smem = SHARED,
                           .n_args = 4,
                           .args = {NULL, &t->box, &t->at, bytes},
                           .maps = {m}};
}

static bool run_map(struct test *t, const struct tensor_map *m, const int *at, struct diag *d) {
    int64_t bytes = box_bytes(m);
    struct launch l = launch_of(t, m, &bytes);
    return device_upload(t->dev, t->at, at, sizeof *at * TENSOR_MAP_RANK, d) == WS_OK &&
           device_run(t->dev, &l, 1, d) == WS_OK;
}

static bool load_there(struct test *t, const struct tensor_map *m, const int *at, struct diag *d) {
    size_t bytes = (size_t)box_bytes(m);
    load_here(m, at, t->memory, t->in_box);
    return run_map(t, m, at, d) && device_download(t->dev, t->loaded, t->box, bytes, d) == WS_OK &&
           !memcmp(t->loaded, t->in_box, bytes);
}

static void random_maps(struct test *t) {
    int wrong = 0;
    for (int i = 0; i < CASES && !device_is_lost(t->dev); i++) {
        int at[TENSOR_MAP_RANK] = {0};
        struct tensor_map m = draw_map(t, at);
        struct diag d = diag_new(t->arena);
        if (load_there(t, &m, at, &d) || wrong++ >= TOLD) continue;
        printf("      %s at %d %d %d %d %d: %s\n", tensor_map_str(&m, t->arena), at[0], at[1],
               at[2], at[3], at[4], d.text ? d.text : "other bytes");
    }
    check(t, !wrong, "boxes are loaded as the host loads them", NULL);
}

/* Of what the tensor core does not read nothing is left. */
static void rounds_to_tf32(struct test *t) {
    struct tensor_map m = {.address = t->tensor,
                           .dtype = DT_F32,
                           .tf32 = true,
                           .rank = 1,
                           .size = {32},
                           .stride = {4},
                           .box = {32}};
    int at[TENSOR_MAP_RANK] = {0};
    float x[32];
    uint32_t bits[32];
    struct diag d = diag_new(t->arena);
    for (int i = 0; i < 32; i++) x[i] = 1 + (float)i / 3000;
    bool ok = device_upload(t->dev, t->tensor, x, sizeof x, &d) == WS_OK &&
              run_map(t, &m, at, &d) &&
              device_download(t->dev, bits, t->box, sizeof bits, &d) == WS_OK;
    for (int i = 0; ok && i < 32; i++) {
        float y;
        memcpy(&y, &bits[i], sizeof y);
        ok = bits[i] % 8192 == 0 && y - x[i] <= 0x1p-11f && x[i] - y <= 0x1p-11f;
        if (i % 8 == 1) printf("      %.9g becomes %.9g\n", (double)x[i], (double)y);
    }
    check(t, ok, "f32 is rounded to the nearest tf32 on the way", &d);
    device_upload(t->dev, t->tensor, t->memory, TENSOR_BYTES, &d);
}

/* What the driver's rules leave open; nothing depends on it. */
static void tell(struct test *t) {
    struct tensor_map m = {.address = t->tensor,
                           .dtype = DT_F32,
                           .rank = 2,
                           .size = {32, 8},
                           .stride = {4, 0},
                           .box = {32, 8}};
    int at[TENSOR_MAP_RANK] = {0};
    struct diag d = diag_new(t->arena);
    bool ok = load_there(t, &m, at, &d);
    printf("      a stride of 0: %s\n", ok ? "repeats" : d.text ? d.text : "other bytes");
    m.stride[1] = 64;
    d = diag_new(t->arena);
    ok = load_there(t, &m, at, &d);
    printf("      rows that overlap: %s\n", ok ? "are" : d.text ? d.text : "other bytes");
    m = (struct tensor_map){.address = t->tensor,
                            .dtype = DT_BF16,
                            .rank = 2,
                            .size = {64, 8},
                            .stride = {2, 128},
                            .box = {16, 8},
                            .swizzle = 128};
    d = diag_new(t->arena);
    ok = load_there(t, &m, at, &d);
    printf("      rows of 32 bytes under a swizzle of 128: %s\n", ok       ? "lie end to end"
                                                                  : d.text ? d.text
                                                                           : "other bytes");
    m.swizzle = 0;
    m.address += 8;
    d = diag_new(t->arena);
    check(t, !load_there(t, &m, at, &d) && !device_is_lost(t->dev), "a bad address is refused",
          NULL);
    printf("      %s", d.text ? d.text : "no message\n");
}

static bool prepare(struct test *t, const struct env *env) {
    struct diag d = diag_new(t->arena);
    struct toolchain *nvrtc;
    struct compiled c;
    const char *arch = device_limits(t->dev)->arch;
    if (!check(t, toolchain_open(DEVICE_CUDA, arch, env, t->arena, &d, &nvrtc) == WS_OK,
               "open NVRTC", &d))
        return false;
    toolchain_compile(nvrtc, "map.cu", SOURCE, false, &c);
    if (!check(t, c.ok, "compile", NULL)) printf("      %s\n", c.log);
    bool ok = c.ok && device_load(t->dev, c.binary, c.size, &t->m, &d) == WS_OK &&
              device_alloc(t->dev, TENSOR_BYTES, &t->tensor, &d) == WS_OK &&
              device_alloc(t->dev, BOX_BYTES, &t->box, &d) == WS_OK &&
              device_alloc(t->dev, sizeof(int) * TENSOR_MAP_RANK, &t->at, &d) == WS_OK;
    compiled_free(&c);
    toolchain_close(nvrtc);
    for (int i = 0; ok && i < TENSOR_BYTES; i++) t->memory[i] = (unsigned char)draw(t, 256);
    ok = ok && device_upload(t->dev, t->tensor, t->memory, TENSOR_BYTES, &d) == WS_OK;
    return check(t, ok, "load and allocate", &d);
}

static enum ws_status run_all(struct test *t, const char *name, bool isolated) {
    const char *why = "";
    struct env env = env_read(t->arena);
    struct diag d = diag_new(t->arena);
    enum ws_status s = isolated ? device_open_isolated(name, t->arena, &d, &t->dev, &why)
                                : device_open_untimed(name, &env, t->arena, &d, &t->dev);
    if (s != WS_OK) {
        printf("no device: %s", d.text);
        return WS_MACHINE;
    }
    if (!device_limits(t->dev)->tma) {
        printf("%s has no TMA\n", device_facts(t->dev)->id);
        device_close(t->dev);
        return WS_MACHINE;
    }
    printf("%s, %s\n", device_facts(t->dev)->name, isolated ? "isolated" : "in this process");
    if (prepare(t, &env)) {
        random_maps(t);
        rounds_to_tf32(t);
        if (!isolated) tell(t);
    }
    device_close(t->dev);
    return WS_OK;
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    struct test t = {.arena = arena_new(),
                     .memory = malloc(TENSOR_BYTES),
                     .loaded = malloc(BOX_BYTES),
                     .in_box = malloc(BOX_BYTES),
                     .random = 1};
    WS_ASSERT(t.memory && t.loaded && t.in_box);
    const char *name = argc > 1 ? argv[1] : "cuda:0";
    enum ws_status s = run_all(&t, name, false);
    if (s == WS_OK) s = run_all(&t, name, true);
    if (s == WS_OK) printf("%s: %d failures\n", t.failures ? "FAILED" : "PASSED", t.failures);
    free(t.memory);
    free(t.loaded);
    free(t.in_box);
    arena_free(t.arena);
    return s != WS_OK ? s : t.failures ? WS_WRONG : WS_OK;
}
