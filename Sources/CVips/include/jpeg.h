#ifndef CVIPS_JPEG_H
#define CVIPS_JPEG_H

#include <stddef.h>

/* Writes a JPEG anew from the coefficients of another: the same picture, bit for bit, and nothing else that was in the
 * file, wherever it was hidden: metadata, tables that no scan uses, bytes between, within and behind the scans.
 * Progressive, with tables of its own. Returns the bytes written, at most `room`; 0 where the file can't be read or
 * there is no room. */
size_t jpeg_rewrite(const void *bytes, size_t count, void *result, size_t room);

#endif
