/* serial.c: CUDA C++ of plain kernels in, C out. One block is launched, for they stride over their
 * outputs. */
#include "tests/fuzz/serial.h"

#include <string.h>

#include "runtime/vtable.h"

struct serial {
    struct toolchain base;
    struct toolchain *cc;
};

static const char head[] = "static struct { int x; } blockIdx, threadIdx, gridDim = {1};\n";
static const char kernel[] = "extern \"C\" __global__ void ";

/* "const m_f32 *p0, long long first" -> "*(const m_f32 **)args[0], *(long long *)args[1]" */
static void put_arguments(struct buf *b, const char *list, size_t length) {
    const char *end = list + length;
    for (int i = 0; list < end; i++) {
        const char *comma = memchr(list, ',', (size_t)(end - list)), *stop = comma ? comma : end;
        const char *name = stop;
        while (name[-1] != ' ' && name[-1] != '*') name--;
        list += strspn(list, " ");
        buf_printf(b, "%s*(%.*s *)args[%d]", i ? ", " : "", (int)(name - list), list, i);
        list = stop + 1;
    }
}

static void put_entry(struct buf *b, const char *name, size_t n, const char *list, size_t length) {
    buf_printf(b,
               "void %.*s(void *const *args) {\n"
               "    for (threadIdx.x = 0; threadIdx.x < 256; threadIdx.x++) %.*s_thread(",
               (int)n, name, (int)n, name);
    put_arguments(b, list, length);
    buf_puts(b, ");\n}\n");
}

static const char *in_c(const char *text, struct arena *a) {
    struct buf b = buf_new(a), entries = buf_new(a);
    buf_puts(&b, head);
    for (const char *next; (next = strstr(text, kernel));) {
        const char *name = next + strlen(kernel), *list = strchr(name, '(') + 1;
        const char *end = strchr(list, ')');
        size_t n = (size_t)(list - 1 - name);
        buf_printf(&b, "%.*sstatic void %.*s_thread", (int)(next - text), text, (int)n, name);
        put_entry(&entries, name, n, list, (size_t)(end - list));
        text = name + n;
    }
    buf_printf(&b, "%s%s", text, entries.p);
    return b.p;
}

static void serial_compile(struct toolchain *base, const char *name, const char *source,
                           bool want_ptx, struct compiled *out) {
    struct serial *t = (struct serial *)base;
    struct arena *a = arena_new();
    toolchain_compile(t->cc, name, in_c(source, a), want_ptx, out);
    arena_free(a);
}

static const struct toolchain_ops ops = {.compile = serial_compile};

struct toolchain *serial_open(struct toolchain *cc, struct arena *a) {
    struct serial *t = NEW(a, struct serial);
    *t = (struct serial){.base = {.ops = &ops, .version = cc->version, .settings = cc->settings},
                         .cc = cc};
    return &t->base;
}
