#ifndef CVIPS_H
#define CVIPS_H

#include <stddef.h>
#include <stdint.h>

/* The calls of libvips that Errand makes, each with a fixed list of arguments, because Swift can call no variadic C
 * function. Nothing of libvips or GLib is included, so that Swift never parses their headers.
 *
 * A function that can fail returns NULL or a number other than 0, and then cvips_take_error says why. Not for several
 * threads at once. */

/* An image of libvips, held until cvips_release. */
typedef struct _VipsImage CVipsImage;

/* What a file's header says of it. Nothing is decoded for it. */
typedef struct {
    int width, height;      /* as stored, before the orientation is applied */
    int orientation;        /* 1...8 as in EXIF, 1 where the file says nothing */
    int bands;
    int has_profile;        /* an ICC profile is embedded */
    int is_cmyk;
    char loader[32];        /* libvips' name of the loader that it would use, such as "VipsForeignLoadJpegBuffer" */
} CVipsHeader;

/* Starts libvips with one thread an image, no cache, and only the loaders of the formats that are read. Once. */
int cvips_start(const char *program);

/* Encodes and decodes a tiny picture in every format, so that each library has loaded what it needs from disk. */
int cvips_warm(void);

/* Gives the memory that is kept for the next picture back to the kernel. */
void cvips_give_back_memory(void);

/* The version of the libvips that is loaded, such as "8.14.1". */
const char *cvips_version(void);

int cvips_read_header(const void *bytes, size_t count, CVipsHeader *header);

/* Decodes into memory: upright, with exactly these sides, 8 bit sRGB without alpha.
 * `to_srgb` converts by the embedded profile; leave it 0 where there is none, because colours would shift. */
CVipsImage *cvips_decode(const void *bytes, size_t count, int width, int height, int to_srgb,
                         const double background[3]);

/* Decodes as its rows are read: with exactly these sides, but as stored: neither upright nor converted. */
CVipsImage *cvips_open(const void *bytes, size_t count, int width, int height);

/* Whether a pixel is red, green and blue in a byte each. */
int cvips_has_three_bytes(CVipsImage *image);

/* One to be written to, of this width and with all else that `image` is and says of itself. */
CVipsImage *cvips_blank(CVipsImage *image, int width);

/* Reads an image from top to bottom, in the calling thread. */
typedef struct _VipsRegion CVipsRows;
CVipsRows *cvips_rows(CVipsImage *image);

/* The pixels of a row, until the next call; NULL where they can't be decoded. */
const uint8_t *cvips_read_row(CVipsRows *rows, int row);
void cvips_release_rows(CVipsRows *rows);

/* The same picture in memory, turned as its orientation says, and converted by its profile where `to_srgb` is set. */
CVipsImage *cvips_upright(CVipsImage *image, int to_srgb);

/* The same picture, with exactly these sides. */
CVipsImage *cvips_shrink(CVipsImage *image, int width, int height);

int cvips_width(CVipsImage *image);
int cvips_height(CVipsImage *image);

/* The pixels of an image in memory, three bytes each, row by row. They live as long as the image. */
uint8_t *cvips_pixels(CVipsImage *image);

/* Encode without any metadata. The bytes are the caller's, to be given back to cvips_free. */
int cvips_encode_jpeg(CVipsImage *image, int quality, int full_chroma, void **bytes, size_t *count);
int cvips_encode_webp(CVipsImage *image, int quality, void **bytes, size_t *count);
int cvips_encode_avif(CVipsImage *image, int quality, void **bytes, size_t *count);

void cvips_free(void *bytes);
void cvips_release(CVipsImage *image);

/* Copies the text of the last failure, at most `size` - 1 characters, and forgets it. */
void cvips_take_error(char *text, size_t size);

#endif
