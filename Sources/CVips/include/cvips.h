#ifndef CVIPS_H
#define CVIPS_H

#include <stddef.h>
#include <stdint.h>

/* Calls of libvips with fixed arguments, because Swift can't call variadic C functions. No header of libvips or GLib is
 * included, so Swift never parses them.
 *
 * A function that can fail returns NULL or a number other than 0; then cvips_take_error returns the reason. Not
 * thread-safe. */

/* An image of libvips, valid until cvips_release. */
typedef struct _VipsImage CVipsImage;

/* The header of a file. The pixels are not decoded. */
typedef struct {
    int width, height;      /* as stored, before the orientation is applied */
    int orientation;        /* 1...8 as in EXIF, 1 if the file has none */
    int bands;
    int has_profile;        /* an ICC profile is embedded */
    int is_cmyk;
    char loader[32];        /* the loader's name in libvips, such as "VipsForeignLoadJpegBuffer" */
} CVipsHeader;

/* Starts libvips with one thread per image, no cache, and only the loaders of the supported formats. Call it once. */
int cvips_start(const char *program);

/* Encodes and decodes a tiny picture in every format, so that each library has loaded its files from disk. */
int cvips_warm(void);

/* Returns the memory that is reserved for the next picture to the kernel. */
void cvips_give_back_memory(void);

/* The version of the loaded libvips, such as "8.14.1". */
const char *cvips_version(void);

/* The same image once more: it is valid until both are released. */
CVipsImage *cvips_retain(CVipsImage *image);

int cvips_read_header(const void *bytes, size_t count, CVipsHeader *header);

/* Decodes into memory: upright, with exactly these sides, 8 bit sRGB without alpha.
 * `to_srgb` converts with the embedded profile. It must be 0 if there is none, because colours would shift. */
CVipsImage *cvips_decode(const void *bytes, size_t count, int width, int height, int to_srgb,
                         const double background[3]);

/* Decodes row by row as the rows are read, to exactly these sides, but as stored: neither upright nor converted. */
CVipsImage *cvips_open(const void *bytes, size_t count, int width, int height);

/* Whether a pixel is red, green and blue in a byte each. */
int cvips_has_three_bytes(CVipsImage *image);

/* A new image to write to, of this width and with the other properties and metadata of `image`. */
CVipsImage *cvips_blank(CVipsImage *image, int width);

/* Reads an image from top to bottom, in the calling thread. */
typedef struct _VipsRegion CVipsRows;
CVipsRows *cvips_rows(CVipsImage *image);

/* The pixels of a row, valid until the next call; NULL if they can't be decoded. */
const uint8_t *cvips_read_row(CVipsRows *rows, int row);
void cvips_release_rows(CVipsRows *rows);

/* The same picture in memory, upright, and converted with its profile if `to_srgb` is set. */
CVipsImage *cvips_upright(CVipsImage *image, int to_srgb);

/* The same picture, with exactly these sides. */
CVipsImage *cvips_shrink(CVipsImage *image, int width, int height);

/* A new image in memory whose colour changes evenly from top to bottom. */
CVipsImage *cvips_gradient(int width, int height, const double top[3], const double bottom[3]);

/* Text as Pango lays it out, on a transparent ground, cut to its ink. `markup` is Pango's, in UTF-8; `font` is a
 * family, a style and a size in pixels, such as "serif italic 40". Lines are centred and at most `width` pixels wide;
 * only with `breaks_words` is a word that is wider broken. */
CVipsImage *cvips_text(const char *markup, const char *font, int width, int breaks_words);

/* The picture `below` with `above` on it, whose left upper corner is at x and y. */
CVipsImage *cvips_put(CVipsImage *below, CVipsImage *above, int x, int y);

/* Fills a rectangle of an image in memory. */
int cvips_fill(CVipsImage *image, int x, int y, int width, int height, const double colour[3]);

int cvips_width(CVipsImage *image);
int cvips_height(CVipsImage *image);

/* The pixels of an image in memory, three bytes each, row by row. They live as long as the image. */
uint8_t *cvips_pixels(CVipsImage *image);

/* Encode without metadata. The caller must pass the bytes to cvips_free. */
int cvips_encode_jpeg(CVipsImage *image, int quality, int full_chroma, void **bytes, size_t *count);
int cvips_encode_webp(CVipsImage *image, int quality, void **bytes, size_t *count);
int cvips_encode_avif(CVipsImage *image, int quality, void **bytes, size_t *count);

void cvips_free(void *bytes);
void cvips_release(CVipsImage *image);

/* Copies the message of the last failure, at most `size` - 1 characters, and clears it. */
void cvips_take_error(char *text, size_t size);

#endif
