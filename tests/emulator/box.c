/* box.c: boxes of tensors, which loads through a tensor map bring to shared memory.
 *
 *     x: [5, 20] of f32    box {8, 2} at {16, 4}    line 0: x[4][16..19] 0 0 0 0
 *                                                   line 1: 0 0 0 0 0 0 0 0
 *
 * A box's lines, along its innermost dimension, lie one behind the other; of a swizzled one the
 * 16-byte pieces change places within the swizzle's width, by the number of 128 bytes before.
 *
 * Through windows, a line is a window's channels, at the tap asked for; windows follow each other
 * along dimension 1, then the next ones, image by image, and behind the last image all is 0. */
#include <string.h>

#include "base/base.h"
#include "tests/emulator/internal.h"

static enum dtype type_of(const struct emu_map *m) {
    switch (m->bytes) {
    case 1: return DT_U8;
    case 2: return DT_BF16;
    case 4: return DT_F32;
    default: return DT_F64;
    }
}

struct emu_map emu_map_of(const struct tensor_map *m) {
    struct emu_map to = {.address = (void *)(uintptr_t)m->address,
                         .rank = (unsigned char)m->rank,
                         .bytes = (unsigned char)dtype_bytes(m->dtype),
                         .swizzle = (unsigned char)m->swizzle,
                         .tf32 = m->tf32,
                         .windows = m->windows};
    _Static_assert(sizeof to <= 128, "what a k_map has");
    for (int i = 0; i < m->rank; i++) {
        to.size[i] = m->size[i];
        to.stride[i] = m->stride[i];
        to.box[i] = (unsigned short)m->box[i];
    }
    for (int d = 0; d < m->rank - 2 && m->windows; d++) {
        to.lower[d] = (short)m->window[d].first;
        to.upper[d] = (short)(m->window[d].last - (m->size[d + 1] - 1));
        to.step[d] = (unsigned char)m->window[d].step;
    }
    return to;
}

static unsigned line_bytes(const struct box *b) { return (unsigned)(b->map.box[0] * b->map.bytes); }

unsigned box_lines(const struct box *b) {
    unsigned n = 1;
    if (b->map.windows) return (unsigned)b->map.box[1];
    for (int i = 1; i < b->map.rank; i++) n *= (unsigned)b->map.box[i];
    return n;
}

unsigned box_bytes(const struct box *b) { return box_lines(b) * line_bytes(b); }

/* Windows of a dimension that are before the position. */
static long long windows_before(const struct emu_map *m, int d, long long at) {
    return (at - m->lower[d]) / m->step[d];
}

static long long last_window(const struct emu_map *m, int d) {
    return m->size[d + 1] - 1 + m->upper[d];
}

static void place_of_line(const struct box *b, unsigned line, long long *place) {
    const struct emu_map *m = &b->map;
    if (!m->windows) {
        for (int i = 1; i < m->rank; i++) {
            place[i] = b->at[i] + (long long)(line % (unsigned)m->box[i]);
            line /= (unsigned)m->box[i];
        }
        return;
    }
    long long carry = line;
    for (int d = 0; d < m->rank - 2; d++) {
        long long n = windows_before(m, d, last_window(m, d)) + 1;
        long long at = windows_before(m, d, b->at[d + 1]) + carry;
        carry = at / n;
        place[d + 1] = m->lower[d] + at % n * m->step[d] + b->offset[d];
    }
    place[m->rank - 1] = b->at[m->rank - 1] + carry;
}

const unsigned char *box_line(const struct box *b, unsigned line, unsigned *first, unsigned *n) {
    const struct emu_map *m = &b->map;
    const unsigned char *from = m->address;
    long long place[5];
    place_of_line(b, line, place);
    long long begin = b->at[0], end = begin + m->box[0];
    *first = *n = 0;
    for (int i = 1; i < m->rank; i++) {
        if (place[i] < 0 || place[i] >= m->size[i]) return NULL;
        from += place[i] * m->stride[i];
    }
    if (begin < 0) begin = 0;
    if (end > m->size[0]) end = m->size[0];
    if (begin >= end) return NULL;
    *first = (unsigned)((begin - b->at[0]) * m->bytes);
    *n = (unsigned)((end - begin) * m->bytes);
    return from + begin * m->bytes;
}

static void round_to_tf32(unsigned char *at, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i += 4) {
        uint32_t u;
        memcpy(&u, at + i, 4);
        if ((u & 0x7f800000) != 0x7f800000) u = (u + 0xfff + (u >> 13 & 1)) & 0xffffe000;
        memcpy(at + i, &u, 4);
    }
}

void box_put(const struct box *b, unsigned char *to) {
    unsigned char line[256 * 8];
    unsigned bytes = line_bytes(b), pieces = (unsigned)b->map.swizzle / 16, first, n;
    for (unsigned i = 0; i < box_lines(b); i++) {
        const unsigned char *from = box_line(b, i, &first, &n);
        memset(line, 0, bytes);
        if (n) memcpy(line + first, from, n);
        if (b->map.tf32) round_to_tf32(line, bytes);
        for (unsigned k = 0; k < bytes; k += 16) {
            unsigned place = i * bytes + k;
            if (pieces) place ^= (place >> 7) % pieces << 4;
            memcpy(to + place, line + k, 16);
        }
    }
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static void check_map(struct emu *e, const struct emu_map *m) {
    if ((uintptr_t)m % 64) block_mistake(e, EMU_MISALIGNED, "a k_map needs an alignment of 64");
    if (m->bytes != 1 && m->bytes != 2 && m->bytes != 4 && m->bytes != 8)
        block_mistake(e, EMU_COPY, "this is no k_map: elements of %d bytes", m->bytes);
    struct tensor_map t = {.address = (uintptr_t)m->address,
                           .dtype = type_of(m),
                           .tf32 = m->tf32 != 0,
                           .rank = m->rank,
                           .swizzle = m->swizzle};
    for (int i = 0; i < TENSOR_MAP_RANK; i++) {
        t.size[i] = m->size[i];
        t.stride[i] = m->stride[i];
        t.box[i] = m->box[i];
    }
    t.windows = m->windows != 0;
    for (int d = 0; d < m->rank - 2 && t.windows; d++)
        t.window[d] = (struct tensor_windows){m->lower[d], last_window(m, d), m->step[d]};
    struct arena *a = arena_new();
    const char *why = tensor_map_illegal(&t, a);
    if (why)
        block_report(e, EMU_COPY, e->current, e->frame, "no hardware takes this k_map: %s", why);
    arena_free(a);
    if (why) block_stop(e);
    if (m->swizzle && m->box[0] * m->bytes != m->swizzle)
        block_mistake(e, EMU_COPY,
                      "lines of %d bytes under a swizzle of %d: it is not known here "
                      "where the hardware puts these",
                      m->box[0] * m->bytes, m->swizzle);
}

void box_prefetch(struct emu *e, const void *map) {
    e->frame = __builtin_frame_address(0);
    check_map(e, map);
}

/* A copy begins at a window, and its tap is one that the instruction has bits for. */
static void check_windows(struct emu *e, const struct box *b) {
    const struct emu_map *m = &b->map;
    struct tensor_map t = {.rank = m->rank};
    for (int d = 0; d < m->rank - 2; d++) {
        long long at = b->at[d + 1], end = tensor_map_offset_end(&t);
        if (at < m->lower[d] || at > last_window(m, d) || (at - m->lower[d]) % m->step[d])
            block_mistake(e, EMU_COPY, "k_map_load_windows: no window is at %lld of dimension %d",
                          at, d + 1);
        if (b->offset[d] < 0 || b->offset[d] >= end)
            block_mistake(e, EMU_COPY,
                          "k_map_load_windows: a tap %d from the window's first; "
                          "the instruction has room for less than %lld",
                          b->offset[d], end);
    }
}

void box_load(struct emu *e, void *to, const void *map, void *bar, unsigned blocks, int rank,
              const int *at, const int *offset) {
    struct box b = {.map = *(const struct emu_map *)map};
    e->frame = __builtin_frame_address(0);
    check_map(e, map);
    if (b.map.rank != rank)
        block_mistake(e, EMU_COPY, "%d coordinates for a k_map of rank %d", rank, b.map.rank);
    memcpy(b.at, at, sizeof b.at);
    if (at[0] * b.map.bytes % 16)
        block_mistake(e, EMU_MISALIGNED,
                      "k_map_load: coordinate %d of elements of %d bytes: a box begins at a "
                      "multiple of 16 bytes",
                      at[0], b.map.bytes);
    if ((offset != NULL) != (b.map.windows != 0))
        block_mistake(e, EMU_COPY, "k_map_load%s of a k_map that is %s", offset ? "_windows" : "",
                      offset ? "of boxes" : "through windows");
    if (offset) memcpy(b.offset, offset, sizeof b.offset), check_windows(e, &b);
    if (!memory_is_shared(e, to)) block_mistake(e, EMU_COPY, "k_map_load: not to shared memory");
    unsigned align = b.map.swizzle ? 8 * (unsigned)b.map.swizzle : 128;
    if ((uintptr_t)to % align)
        block_mistake(e, EMU_MISALIGNED, "k_map_load: its shared address needs an alignment of %u",
                      align);
    copy_box(e, &b, to, bar, blocks);
}
