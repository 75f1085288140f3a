#ifndef PIXELS_H
#define PIXELS_H

#include <stdint.h>

/* Loops over pixels, in C because a debug build of Swift takes 30 times as long for them, and the tests compress
 * photos. */

/* How rows of pixels are shrunk in width. A pixel of the result is the weighted sum of `taps` neighbours. */
typedef struct {
    long from;            /* pixels of a row */
    long to;              /* pixels of a row of the result */
    long taps;
    const float *weights; /* `taps` for each pixel of the result */
    const long *starts;   /* the first neighbour of each, between -taps and from */
} PixelShrink;

/* Shrinks a row of three bytes a pixel. Beyond its edges the last pixel repeats. `scratch` has room for from + 2 * taps
 * vectors of four floats, and is aligned for them. */
void pixels_shrink_row(const PixelShrink *shrink, const uint8_t *row, uint8_t *result, void *scratch);

#endif
