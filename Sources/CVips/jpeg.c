#include "jpeg.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

typedef struct {
    struct jpeg_error_mgr manager;
    jmp_buf back;
} Failure;

static void give_up(j_common_ptr codec) { longjmp(((Failure *)codec->err)->back, 1); }
static void say_nothing(j_common_ptr codec) { (void)codec; }
static void count_warning(j_common_ptr codec, int level) {
    if (level < 0) codec->err->num_warnings++;
}

static void nothing_to_do(j_compress_ptr codec) { (void)codec; }
static boolean no_room(j_compress_ptr codec) {
    give_up((j_common_ptr)codec);
    return FALSE;
}

size_t jpeg_rewrite(const void *bytes, size_t count, void *result, size_t room) {
    Failure failure;
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_destination_mgr destination = {
        .next_output_byte = result,
        .free_in_buffer = room,
        .init_destination = nothing_to_do,
        .empty_output_buffer = no_room,
        .term_destination = nothing_to_do,
    };
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    from.err = to.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = give_up;
    failure.manager.emit_message = count_warning;
    failure.manager.output_message = say_nothing;
    if (setjmp(failure.back) != 0) {
        jpeg_destroy_compress(&to);
        jpeg_destroy_decompress(&from);
        return 0;
    }
    jpeg_create_decompress(&from);
    jpeg_create_compress(&to);
    jpeg_mem_src(&from, bytes, count);
    jpeg_read_header(&from, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&from);
    jpeg_copy_critical_parameters(&from, &to);
    to.optimize_coding = TRUE;
    jpeg_simple_progression(&to);
    to.dest = &destination;
    jpeg_write_coefficients(&to, coefficients);
    jpeg_finish_compress(&to);
    size_t written = room - destination.free_in_buffer;
    jpeg_destroy_compress(&to);
    jpeg_destroy_decompress(&from);
    return written;
}

/* Counts what says that a part of the picture is missing or damaged: all but the missing end itself, and other bytes in
 * its place. */
static void count_damage(j_common_ptr codec, int level) {
    int code = codec->err->msg_code;
    if (level < 0 && code != JWRN_JPEG_EOF && code != JWRN_EXTRANEOUS_DATA) codec->err->num_warnings++;
}

/* Whether the scans that were read hold every bit of every coefficient. */
static int has_all_scans(const struct jpeg_decompress_struct *from) {
    for (int component = 0; component < from->num_components; component++) {
        /* The first scan of a component saves its table. */
        if (from->comp_info[component].quant_table == NULL) return 0;
        for (int index = 0; from->coef_bits != NULL && index < DCTSIZE2; index++)
            if (from->coef_bits[component][index] != 0) return 0;
    }
    return 1;
}

int jpeg_lacks_only_its_end(const void *bytes, size_t count) {
    /* A download or a disk that was interrupted leaves zeros, which a decoder takes for a grey picture. A scan may end
     * with a zero and, as a stuffed byte, with another one. */
    const uint8_t *file = bytes;
    while (count > 2 && file[count - 1] == 0 && file[count - 2] == 0 && file[count - 3] == 0) count--;
    Failure failure;
    struct jpeg_decompress_struct from;
    memset(&from, 0, sizeof from);
    from.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = give_up;
    failure.manager.emit_message = count_damage;
    failure.manager.output_message = say_nothing;
    if (setjmp(failure.back) != 0) {
        jpeg_destroy_decompress(&from);
        return 0;
    }
    jpeg_create_decompress(&from);
    /* At the end of the bytes, this source returns an end marker. */
    jpeg_mem_src(&from, bytes, count);
    jpeg_read_header(&from, TRUE);
    /* All bits are read, but for as few pixels as possible. */
    from.scale_denom = 8;
    from.out_color_space = from.jpeg_color_space;
    jpeg_start_decompress(&from);
    JSAMPARRAY row = from.mem->alloc_sarray(
        (j_common_ptr)&from, JPOOL_IMAGE, from.output_width * (JDIMENSION)from.output_components, 1);
    while (from.output_scanline < from.output_height) jpeg_read_scanlines(&from, row, 1);
    /* An arithmetic decoder doesn't tell missing bits from zeros. */
    int has_all = !from.arith_code && has_all_scans(&from) && failure.manager.num_warnings == 0;
    jpeg_destroy_decompress(&from);
    return has_all;
}
