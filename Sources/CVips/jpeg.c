#include "jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

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
