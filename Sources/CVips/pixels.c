#include "pixels.h"

/* Red, green, blue and an unused fourth. */
typedef float Vector __attribute__((vector_size(16)));

static uint8_t byte(float value) { return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)(value + 0.5f); }

void pixels_shrink_row(const PixelShrink *shrink, const uint8_t *row, uint8_t *result, void *scratch) {
    const long from = shrink->from, to = shrink->to, taps = shrink->taps;
    Vector *pixels = (Vector *)scratch + taps;
    for (long i = 0; i < from; i++, row += 3) pixels[i] = (Vector){row[0], row[1], row[2], 0};
    for (long i = 0; i < taps; i++) {
        pixels[-1 - i] = pixels[0];
        pixels[from + i] = pixels[from - 1];
    }
    const float *weights = shrink->weights;
    for (long i = 0; i < to; i++, weights += taps, result += 3) {
        const Vector *window = pixels + shrink->starts[i];
        Vector sum = {0};
        for (long tap = 0; tap < taps; tap++) sum += window[tap] * weights[tap];
        for (int colour = 0; colour < 3; colour++) result[colour] = byte(sum[colour]);
    }
}
