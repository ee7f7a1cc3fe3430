/* im2col.h: which factors of a product are read through windows, and how.
 *
 * Of a body alone. im2col.c. */
#ifndef WS_KERNEL_IM2COL_H
#define WS_KERNEL_IM2COL_H

#include "kernel/body.h"

/* im2col.c: a factor that is read through windows: of an image that has, innermost first, channels,
 * up to three dimensions that windows slide along, and images. The rows (or columns) of the
 * product are windows, image by image; its depth are taps and channels; or the other way round.
 * Position `first + i * step + t * apart` of a dimension is that of window i and tap t, and the
 * element is 0 outside of the image. */
enum { IM2COL_DIMS = 3, LYING_UNIT = 8, LYING_BEHIND = 40, LYING_SLOT = 4 };
struct im2col {
    int n;
    struct im2col_dim {
        int64_t size, windows, taps;
        int64_t step, apart, first;  /* step, apart > 0 */
        int window_digit, tap_digit; /* of the axes; tap_digit -1: one tap */
        bool backward;               /* tap t is number taps - 1 - t of the other axis's digit */
        ex shift;                    /* of all positions, by the batch z; EX_NONE: none */
        const int64_t *shift_of;     /* the same for each z, from 0 to most_shift */
        int64_t most_shift;
    } dim[IM2COL_DIMS]; /* innermost first */
    int64_t images, channels, taps;
    value_id guard;        /* the factor is 0 where it does not hold; NO_VALUE: it always does */
    enum axis axis, other; /* of the windows; of taps and channels */
    ex image, channel;     /* where in the image, as symbols, */
    ex at[IM2COL_DIMS];
    ex tap; /* and a tap, those of the innermost dimension beside each other */
    struct axis_digits digits[2]; /* that these axes are made of, of windows perhaps fewer */
    ex window_digit[GROUP_MAX_AXES], other_digit[GROUP_MAX_AXES]; /* as symbols */
    uint32_t image_digits, channel_digits; /* bits of those that are neither windows nor taps */
    /* Of runs (im2col_runs), what these are made of, else NULL; a pixel's elements, of which the
     * first pixel_taps * of->channels count; dimensions from 1 on whose taps a pixel has. */
    const struct im2col *of;
    int64_t pixel, pixel_taps;
    int folded;
    /* Batches are phases, which all look at the same images: by their shift, and, unless EX_NONE,
     * at those taps alone for which this holds, of z and tap; the same is is_there[z * taps + tap].
     */
    bool phases;
    ex there;
    const bool *is_there;
};

/* NULL if the factor is none, or its windows are pixels beside each other. */
const struct im2col *im2col_find(const struct kernel *k, value_id factor, enum axis axis,
                                 enum axis other);
/* Is a window more than a pixel where it lies? */
bool im2col_has_taps(const struct im2col *w); /* NULL: no */
/* A load's index in terms of image, at and channel; that of the other axis in terms of tap and
 * channel. */
ex im2col_index(const struct kernel *k, const struct im2col *w, ex index);
ex im2col_other(const struct kernel *k, const struct im2col *w);
/* How far tap `tap` is from the window's first one along dimension d. */
int64_t im2col_offset(const struct im2col *w, int d, int64_t tap);
/* phases: has batch z the tap, and how far is it from there? */
bool im2col_is_there(const struct im2col *w, int64_t z, int64_t tap);
int64_t im2col_shift(const struct im2col *w, int d, int64_t z);
/* The same windows with all taps of the innermost dimension as channels of one tap, if these lie
 * side by side: a run of memory, where a pixel has `pixel` elements. Windows then are positions of
 * the innermost dimension, and of so many next ones, `folded`, the taps of which are in a pixel:
 * [tap][channel]. The symbols are those of w. NULL: taps are apart, or but one. */
const struct im2col *im2col_runs(const struct im2col *w, int folded, int64_t pixel,
                                 struct arena *a);
/* Taps of dimensions 1 to `folded`. */
int64_t im2col_folded_taps(const struct im2col *w, int folded);
/* Pixels that the windows of the innermost dimension reach, from the first one on. */
int64_t im2col_reach(const struct im2col *w);

#endif
