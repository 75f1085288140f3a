#ifndef PIXELS_H
#define PIXELS_H

#include <stdint.h>

/* Loops over pixels. They are in C because the tests compress photos, and a debug build of Swift takes 30 times as
 * long. */

/* The weights for shrinking rows of pixels. A pixel of the result is the weighted sum of `taps` neighbours. */
typedef struct {
    long from;            /* pixels of a row */
    long to;              /* pixels of a row of the result */
    long taps;
    const float *weights; /* `taps` for each pixel of the result */
    const long *starts;   /* the first neighbour of each, between -taps and from */
} PixelShrink;

/* Shrinks a row with three bytes per pixel. The first and the last pixel repeat beyond the edges. `scratch` has space
 * for from + 2 * taps vectors of four floats, and their alignment. */
void pixels_shrink_row(const PixelShrink *shrink, const uint8_t *row, uint8_t *result, void *scratch);

#endif
