/* operand_parts.h: what the parts of operand.c ask each other. */
#ifndef WS_KERNEL_OPERAND_PARTS_H
#define WS_KERNEL_OPERAND_PARTS_H

#include "kernel/kernel.h"

enum {
    ALIGNED = 8, /* elements that lines of images are multiples of, of bytes twice as many; */
    LINE = 128, /* bytes of a line of memory, which these begin at if that takes little more: a tile
                    of others is in twice as many */
    PIECE = 16, /* bytes, which tensor maps count in */
    FEW = 128, /* rows of the other factor: it reads less of memory as f32 than as three planes, and
                   not often enough for making these anew to matter */
    SMALL = 16, /* times smaller than the other: a factor that many blocks read, and soon packed */
};

/* operand.c */
value_id plain_load(const struct kernel *k, value_id v);
int64_t round_to_lines(int64_t n, int bytes);
bool fits_bf16(const struct kernel *k, value_id v);
bool is_tf32(const struct kernel *k);
void set_image(struct operand *o, int64_t pitch);

/* operand_image.c */
int64_t image_pitch(int64_t width, int bytes);
int64_t lying_digit(const struct operand *o, int64_t row, int d);

/* operand_windows.c */
void choose_windows(const struct kernel *k, struct product *p, int side, int tile, int other_tile,
                    int depth, struct arena *a);
void choose_windows_along(const struct kernel *k, struct product *p, int side, int tile, int depth,
                          struct arena *a);
void choose_lying(const struct kernel *k, struct product *p, int rows, int depth, struct arena *a);
int64_t flat_window(const struct operand *o, int64_t row);

/* operand_made.c */
void choose_made(const struct kernel *k, struct product *p);

#endif
