#ifndef CVIPS_JPEG_H
#define CVIPS_JPEG_H

#include <stddef.h>

/* Writes a new JPEG from the coefficients of another. The picture is the same, bit for bit. All else of the file is
 * dropped: metadata, unused tables, and bytes between, within and after the scans. The result is progressive, with new
 * tables. Returns the number of written bytes, at most `room`; 0 if the file can't be read or `room` is too small. */
size_t jpeg_rewrite(const void *bytes, size_t count, void *result, size_t room);

/* Whether a JPEG that ends without its end marker has its whole picture before that: every bit of every pixel. This
 * reads all of it, and takes about as long as a small preview. */
int jpeg_lacks_only_its_end(const void *bytes, size_t count);

#endif
