/* npy.c: the .npy format, version 1.0: magic, a Python dict as header, then row-major values. */
#include "tuner/npy.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/folder.h"

enum { ALIGN = 64 /* of the values in the file */ };

static const char *descriptor(enum dtype t) {
    switch (t) {
    case DT_BOOL: return "|b1";
    case DT_U8: return "|u1";
    case DT_I8: return "|i1";
    case DT_I16: return "<i2";
    case DT_I32: return "<i4";
    case DT_I64: return "<i8";
    case DT_F16: return "<f2";
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_BF16:
    case DT_F32: return "<f4";
    case DT_F64: return "<f8";
    case DT_COUNT: break;
    }
    WS_BUG("no dtype: %d", (int)t);
}

static void put_header(struct buf *b, const struct ws_tensor_info *t) {
    struct buf dict = buf_new(b->arena);
    buf_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descriptor(t->dtype));
    for (int i = 0; i < t->rank; i++)
        buf_printf(&dict, "%lld%s", (long long)t->size[i],
                   i + 1 < t->rank ? ", "
                   : t->rank == 1  ? ","
                                   : "");
    buf_puts(&dict, "), }");
    while ((10 + dict.n + 1) % ALIGN) buf_putc(&dict, ' ');
    buf_putc(&dict, '\n');
    const char magic[10] = {(char)0x93,         'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(dict.n & 255),
                            (char)(dict.n >> 8)};
    buf_write(b, magic, sizeof magic);
    buf_write(b, dict.p, dict.n);
}

enum ws_status npy_write(const char *path, const struct ws_tensor_info *t, const void *bytes,
                         struct diag *d) {
    bool unknown = t->dtype == DT_BF16 || dtype_is_float8(t->dtype); /* to NumPy */
    enum dtype as = unknown ? DT_F32 : t->dtype;
    struct buf header = buf_new(d->arena);
    put_header(&header, t);
    size_t width = (size_t)dtype_bytes(as), n = header.n + width * (size_t)t->numel;
    char *out = malloc(n);
    if (!out) return diag_fail(d, WS_MACHINE, "out of memory for '%s'", path);
    memcpy(out, header.p, header.n);
    char *values = out + header.n;
    for (int64_t i = 0; i < t->numel; i++) {
        size_t from = (size_t)strided_at(t->rank, t->size, t->stride, i);
        if (as == t->dtype)
            memcpy(values + width * (size_t)i, (const char *)bytes + width * from, width);
        else
            dtype_store(as, values, (size_t)i, dtype_load(t->dtype, bytes, from));
    }
    file_write(path, out, n, d);
    free(out);
    return d->status;
}
