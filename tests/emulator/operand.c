/* operand.c: operands of wgmma and tcgen05 in shared memory, as 64 bits say where they are
 * (matrix_operand). They lie in lines of 16 to 128 bytes whose 16-byte pieces change places by
 * three bits of the address, in groups of eight lines ("K major": a line is along the depth). */
#include "tests/emulator/internal.h"

enum { PIECE = 16 };

struct operand {
    unsigned at, lead, stride; /* bytes; `at` from where the dynamic shared memory begins, */
    unsigned width;            /* of a line */
    bool transposed;           /* lines along m or n */
};

static struct operand decode(uint64_t word, bool transposed) {
    static const unsigned WIDTHS[] = {16, 128, 64, 32};
    return (struct operand){.at = (unsigned)(word & 0x3fff) * PIECE,
                            .lead = (unsigned)(word >> 16 & 0x3fff) * PIECE,
                            .stride = (unsigned)(word >> 32 & 0x3fff) * PIECE,
                            .width = WIDTHS[word >> 62],
                            .transposed = transposed};
}

/* 16 bytes of an operand: along the depth, which has two of them, at row i; or along the rows, the
 * i-th ones, at that depth. */
static const unsigned char *piece(const struct emu *e, const struct operand *o, unsigned i,
                                  unsigned depth) {
    const struct emu_module *m = e->module;
    unsigned at = o->at, wide = o->width / PIECE;
    if (!o->transposed)
        at += i % 8 * o->width + i / 8 * o->stride + depth * (wide > 1 ? PIECE : o->lead);
    else if (wide > 1)
        at += i % wide * PIECE + i / wide * o->lead + depth % 8 * o->width + depth / 8 * o->stride;
    else
        at += i * o->stride + depth % 8 * PIECE + depth / 8 * o->lead;
    at ^= (at >> 7 & (wide - 1)) << 4;
    at &= 0x3ffff;
    /* Static shared memory may lie before. */
    const unsigned char *p = m->dynamic + at;
    return p < m->shared + m->shared_bytes ? p : p - 0x40000;
}

/* Pieces of the rows from `row` on; whole groups of eight. */
void operand_each(struct emu *e, uint64_t word, bool transposed, unsigned row, unsigned rows,
                  operand_action *act, unsigned unit) {
    struct operand o = decode(word, transposed);
    unsigned n = transposed ? rows / 8 : rows, from = transposed ? row / 8 : row;
    for (unsigned i = from; i < from + n; i++)
        for (unsigned k = 0; k < (transposed ? 16u : 2u); k++) act(e, piece(e, &o, i, k), unit);
}

/* Bits 46 and 47; wgmma has none. */
unsigned operand_version(uint64_t word) { return word >> 46 & 3; }

void operand_judge(struct emu *e, const unsigned char *at, unsigned unit) {
    memory_judge_unit(e, at, PIECE, BY_UNIT + e->b->rank * N_UNITS + unit);
    copy_check_fence(e, "a product", at, PIECE);
}

void operand_mark(struct emu *e, const unsigned char *at, unsigned unit) {
    (void)unit;
    struct shadow *s = memory_shadow(e, e->b, at);
    for (unsigned i = 0; i < PIECE; i++) s[i].copies_read++;
}

void operand_release(struct emu *e, const unsigned char *at, unsigned unit) {
    (void)unit;
    struct shadow *s = memory_shadow(e, e->b, at);
    for (unsigned i = 0; i < PIECE; i++) s[i].copies_read--;
}

/* ... and it has been read, as late as now. */
void operand_end_reading(struct emu *e, const unsigned char *at, unsigned unit) {
    struct shadow *s = memory_shadow(e, e->b, at);
    for (unsigned i = 0; i < PIECE; i++)
        memory_note_read(e, s + i, (uint16_t)(BY_UNIT + e->b->rank * N_UNITS + unit));
    operand_release(e, at, unit);
}

void operand_fetch(const struct emu *e, int type, bool left, uint64_t word, bool transposed,
                   unsigned rows, double *to) {
    enum { MOST_K = MMA_MOST_DEPTH };
    struct operand o = decode(word, transposed);
    unsigned size = mma_size(type), each = PIECE / size;
    for (unsigned i = 0; i < (transposed ? rows / 8 : rows); i++)
        for (unsigned k = 0; k < (transposed ? 16u : 2u); k++) {
            const unsigned char *p = piece(e, &o, i, k);
            for (unsigned j = 0; j < each; j++)
                to[transposed ? (i * 8 + j) * MOST_K + k : i * MOST_K + k * each + j] =
                    mma_number(type, left, p + j * size);
        }
}
