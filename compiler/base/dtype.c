/* dtype.c: facts and conversions of element types. */
#include "base/dtype.h"

#include <string.h>

#include "base/diag.h"

static const struct {
    const char *name, *torch;
    int bytes;
    char class;
    int rank;
    enum dtype math;
    int digits;
    double smallest, largest;
} table[] = {
#define DTYPE(name, printed, torch, bytes, class, rank, math, digits, smallest, largest)           \
    {printed, torch, bytes, class, rank, DT_##math, digits, smallest, largest},
    DTYPES(DTYPE)
#undef DTYPE
};

const char *dtype_name(enum dtype d) { return table[d].name; }
const char *dtype_torch_name(enum dtype d) { return table[d].torch; }
int dtype_bytes(enum dtype d) { return table[d].bytes; }
bool dtype_is_float(enum dtype d) { return table[d].class == 'F'; }
bool dtype_is_int(enum dtype d) { return table[d].class == 'I' || table[d].class == 'U'; }
bool dtype_is_float8(enum dtype d) { return table[d].class == 'F' && table[d].bytes == 1; }
bool dtype_is_index(enum dtype d) { return d == DT_I32 || d == DT_I64; }

bool dtype_is_narrow(enum dtype d) { return dtype_is_int(d) && table[d].bytes < 4; }

bool dtype_has_gradient(enum dtype d) { return dtype_is_float(d) && !dtype_is_float8(d); }

int dtype_digits(enum dtype d) { return table[d].digits; }

int64_t int_most(enum dtype d) {
    WS_ASSERT(!dtype_is_float(d));
    return (int64_t)(UINT64_MAX >> (64 - table[d].digits));
}

int64_t int_least(enum dtype d) { return table[d].class == 'I' ? -int_most(d) - 1 : 0; }

double dtype_roundoff(enum dtype d) {
    WS_ASSERT(dtype_is_float(d));
    return __builtin_ldexp(1, -table[d].digits);
}

double dtype_largest(enum dtype d) {
    WS_ASSERT(dtype_is_float(d));
    return table[d].largest;
}

double dtype_smallest(enum dtype d) {
    WS_ASSERT(dtype_is_float(d));
    return table[d].smallest;
}

bool dtype_holds(enum dtype d, enum dtype a) {
    if (a == d || a == DT_BOOL) return true;
    if (d == DT_BOOL) return false;
    if (dtype_is_float(a)) return table[d].class == 'F' && table[d].bytes > table[a].bytes;
    return table[a].digits <= table[d].digits && (table[a].class == 'U' || table[d].class != 'U');
}

static const char *const precisions[] = {[PRECISION_F32] = "f32",
                                         [PRECISION_STRICT] = "strict",
                                         [PRECISION_TF32] = "tf32",
                                         [PRECISION_F8] = "f8"};

const char *precision_name(enum precision p) { return precisions[p]; }

bool precision_parse(const char *s, enum precision *out) {
    for (int p = 0; p <= PRECISION_TF32; p++)
        if (!strcmp(precisions[p], s)) return *out = (enum precision)p, true;
    return false;
}

bool dtype_may_be_chained(enum dtype d, enum precision p) {
    return d == DT_BF16 || d == DT_F16 || (d == DT_F32 && p != PRECISION_STRICT);
}

bool dtype_parse(const char *s, enum dtype *out) {
    static const struct {
        const char *name;
        enum dtype d;
    } alias[] = {{"half", DT_F16}, {"float", DT_F32}, {"double", DT_F64}, {"int", DT_I32},
                 {"long", DT_I64}, {"short", DT_I16}, {"fp32", DT_F32}};
    for (int d = 0; d < DT_COUNT; d++)
        if (!strcmp(s, table[d].name) || !strcmp(s, table[d].torch))
            return *out = (enum dtype)d, true;
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (!strcmp(s, alias[i].name)) return *out = alias[i].d, true;
    return false;
}

int dtype_category(enum dtype d) {
    return table[d].class == 'B' ? 0 : table[d].class == 'F' ? 2 : 1;
}

enum dtype dtype_promote(enum dtype a, enum dtype b) {
    if (a == b) return a;
    if (dtype_category(a) != dtype_category(b))
        return dtype_category(a) > dtype_category(b) ? a : b;
    if (table[a].rank == table[b].rank) /* f16 with bf16; u8 with i8 */
        return dtype_is_float(a) ? DT_F32 : DT_I16;
    return table[a].rank > table[b].rank ? a : b;
}

enum dtype dtype_opmath(enum dtype d) { return table[d].math; }

enum dtype dtype_reference(enum dtype d) { return dtype_is_float(d) ? DT_F64 : DT_I64; }

int64_t dtype_load_int(enum dtype d, const void *p, size_t i) {
    switch (d) {
    case DT_BOOL: return ((const uint8_t *)p)[i] != 0;
    case DT_U8: return ((const uint8_t *)p)[i];
    case DT_I8: return ((const int8_t *)p)[i];
    case DT_I16: return ((const int16_t *)p)[i];
    case DT_I32: return ((const int32_t *)p)[i];
    case DT_I64: return ((const int64_t *)p)[i];
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
    case DT_BF16:
    case DT_F32:
    case DT_F64:
    case DT_COUNT: break;
    }
    WS_BUG("no integers: %s", dtype_name(d));
}

void dtype_store_int(enum dtype d, void *p, size_t i, int64_t v) {
    switch (d) {
    case DT_BOOL: ((uint8_t *)p)[i] = v != 0; return;
    case DT_U8: ((uint8_t *)p)[i] = (uint8_t)v; return;
    case DT_I8: ((int8_t *)p)[i] = (int8_t)v; return;
    case DT_I16: ((int16_t *)p)[i] = (int16_t)v; return;
    case DT_I32: ((int32_t *)p)[i] = (int32_t)v; return;
    case DT_I64: ((int64_t *)p)[i] = v; return;
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
    case DT_BF16:
    case DT_F32:
    case DT_F64:
    case DT_COUNT: break;
    }
    WS_BUG("no integers: %s", dtype_name(d));
}

int64_t int_wrap(enum dtype d, int64_t v) {
    switch (d) {
    case DT_BOOL: return v != 0;
    case DT_U8: return (uint8_t)v;
    case DT_I8: return (int8_t)v;
    case DT_I16: return (int16_t)v;
    case DT_I32: return (int32_t)v;
    case DT_I64: return v;
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
    case DT_BF16:
    case DT_F32:
    case DT_F64:
    case DT_COUNT: break;
    }
    WS_BUG("no integers: %s", dtype_name(d));
}

int64_t int_of_double(enum dtype d, double v) {
    if (d == DT_BOOL) return v != 0;
    // cppcheck-suppress incorrectLogicOperator ; it does not read -0x1p63
    if (d == DT_I64) return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
    return int_wrap(d, v > -0x1p31 - 1 && v < 0x1p31 ? (int32_t)v : INT32_MIN);
}

static float bf16_to_float(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* By way of float, rounded to odd there (cut off, last bit set if anything was lost): rounding to
 * nearest twice would take what is just above half way for half way. */
static uint16_t bf16_from_double(double v) {
    if (v != v) return 0x7fc0;
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != v) u = (u - (__builtin_fabs(f) > __builtin_fabs(v))) | 1;
    u += 0x7fff + ((u >> 16) & 1);
    return (uint16_t)(u >> 16);
}

static double f16_to_double(uint16_t h) {
    uint32_t sign = h >> 15, e = (h >> 10) & 31, m = h & 1023;
    double v;
    if (e == 31)
        v = m ? __builtin_nan("") : __builtin_inf();
    else if (e == 0)
        v = __builtin_ldexp((double)m, -24);
    else
        v = __builtin_ldexp((double)(m + 1024), (int)e - 25);
    return sign ? -v : v;
}

/* a >= 0, in units of 2^least where it is small, with so many digits behind the first elsewhere: as
 * exponent and mantissa of such a format, however large. */
static uint32_t small_float(double a, int digits_behind, int least) {
    int e;
    if (a == 0) return 0;
    __builtin_frexp(a, &e); /* a = f * 2^e, 0.5 <= f < 1 */
    int shift = e - 1 - digits_behind < least ? least : e - 1 - digits_behind;
    uint32_t m = (uint32_t)__builtin_rint(__builtin_ldexp(a, -shift)); /* ties to even */
    /* A mantissa that rounded up to the next power of two carries into the exponent field by
     * itself. */
    if (shift == least && m < 1u << digits_behind) return m;
    return ((uint32_t)(shift - least) << digits_behind) + m;
}

static uint16_t f16_from_double(double v) {
    uint16_t sign = __builtin_signbit(v) ? 0x8000 : 0;
    if (v != v) return 0x7e00;
    double a = v < 0 ? -v : v;
    if (a >= 65520.0) return sign | 0x7c00;
    return (uint16_t)(sign | small_float(a, 10, -24));
}

static double f8e4m3_to_double(uint8_t h) {
    int e = (h >> 3) & 15, m = h & 7;
    double v = e ? __builtin_ldexp(m + 8, e - 10) : __builtin_ldexp(m, -9);
    if ((h & 0x7f) == 0x7f) v = __builtin_nan("");
    return h & 0x80 ? -v : v;
}

static uint8_t f8e4m3_from_double(double v) {
    uint8_t sign = __builtin_signbit(v) ? 0x80 : 0;
    double a = v < 0 ? -v : v;
    return (uint8_t)(sign | (a < 480 ? small_float(a, 3, -9) : 0x7f)); /* nan is not < 480 */
}

/* It is the upper half of an f16. */
static double f8e5m2_to_double(uint8_t h) { return f16_to_double((uint16_t)(h << 8)); }

static uint8_t f8e5m2_from_double(double v) {
    uint8_t sign = __builtin_signbit(v) ? 0x80 : 0;
    double a = v < 0 ? -v : v;
    if (v != v) return sign | 0x7f;
    return (uint8_t)(sign | (a < 65536 ? small_float(a, 2, -16) : 0x7c));
}

double dtype_load(enum dtype d, const void *p, size_t i) {
    switch (d) {
    case DT_BOOL: return ((const uint8_t *)p)[i] != 0;
    case DT_U8: return ((const uint8_t *)p)[i];
    case DT_I8: return ((const int8_t *)p)[i];
    case DT_I16: return ((const int16_t *)p)[i];
    case DT_I32: return ((const int32_t *)p)[i];
    case DT_I64: return (double)((const int64_t *)p)[i];
    case DT_F8E4M3: return f8e4m3_to_double(((const uint8_t *)p)[i]);
    case DT_F8E5M2: return f8e5m2_to_double(((const uint8_t *)p)[i]);
    case DT_F16: return f16_to_double(((const uint16_t *)p)[i]);
    case DT_BF16: return bf16_to_float(((const uint16_t *)p)[i]);
    case DT_F32: return ((const float *)p)[i];
    case DT_F64: return ((const double *)p)[i];
    case DT_COUNT: break;
    }
    return 0;
}

void dtype_store(enum dtype d, void *p, size_t i, double v) {
    switch (d) {
    case DT_BOOL:
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64: dtype_store_int(d, p, i, int_of_double(d, v)); break;
    case DT_F8E4M3: ((uint8_t *)p)[i] = f8e4m3_from_double(v); break;
    case DT_F8E5M2: ((uint8_t *)p)[i] = f8e5m2_from_double(v); break;
    case DT_F16: ((uint16_t *)p)[i] = f16_from_double(v); break;
    case DT_BF16: ((uint16_t *)p)[i] = bf16_from_double(v); break;
    case DT_F32: ((float *)p)[i] = (float)v; break;
    case DT_F64: ((double *)p)[i] = v; break;
    case DT_COUNT: break;
    }
}
