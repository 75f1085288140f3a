#include "cvips.h"

#include <malloc.h>
#include <string.h>
#include <vips/vips.h>

static void say_nothing(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain; (void)level; (void)message; (void)data;
}

int cvips_start(const char *program) {
    /* Every arena reserves 64 MB of address space. The memory of a photo of 12 megapixels is reused for the next one:
     * new pages from the kernel took a sixth of a photo's time. */
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);

    g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_INFO | G_LOG_LEVEL_MESSAGE, say_nothing, NULL);
    if (vips_init(program) != 0) return -1;
    vips_concurrency_set(1);
    vips_cache_set_max(0);

    /* Debian's libvips passes unknown files to ImageMagick, poppler and OpenSlide. Block all loaders, then allow a
     * few. */
    static const char *const loaders[] = {"VipsForeignLoadJpeg", "VipsForeignLoadPng", "VipsForeignLoadWebp",
                                          "VipsForeignLoadNsgif", "VipsForeignLoadHeif"};
    vips_operation_block_set("VipsForeignLoad", TRUE);
    for (size_t i = 0; i < sizeof loaders / sizeof loaders[0]; i++) vips_operation_block_set(loaders[i], FALSE);
    return 0;
}

void cvips_give_back_memory(void) { malloc_trim(0); }

const char *cvips_version(void) { return vips_version_string(); }

int cvips_warm(void) {
    static const char *const suffixes[] = {".jpg", ".png", ".webp", ".avif"};
    static const double white[3] = {255, 255, 255};
    VipsImage *seed = NULL, *picture = NULL;
    if (vips_black(&seed, 64, 64, "bands", 3, NULL) != 0) return -1;
    int failed = vips_copy(seed, &picture, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    for (size_t i = 0; !failed && i < sizeof suffixes / sizeof suffixes[0]; i++) {
        void *bytes = NULL;
        size_t count = 0;
        /* A build without AV1 still reads and writes all other formats. */
        if (vips_image_write_to_buffer(picture, suffixes[i], &bytes, &count, NULL) != 0) {
            vips_error_clear();
            continue;
        }
        CVipsImage *decoded = cvips_decode(bytes, count, 16, 16, 1, white);
        if (decoded == NULL) failed = -1;
        cvips_release(decoded);
        g_free(bytes);
    }
    if (picture != NULL) g_object_unref(picture);
    g_object_unref(seed);
    return failed;
}

CVipsImage *cvips_retain(CVipsImage *image) { return g_object_ref(image); }

int cvips_read_header(const void *bytes, size_t count, CVipsHeader *header) {
    const char *loader = vips_foreign_find_load_buffer(bytes, count);
    if (loader == NULL) return -1;
    g_strlcpy(header->loader, loader, sizeof header->loader);
    VipsImage *image = vips_image_new_from_buffer(bytes, count, "", NULL);
    if (image == NULL) return -1;
    /* Loaders that rejected the file have left error messages. */
    vips_error_clear();
    header->width = vips_image_get_width(image);
    header->height = vips_image_get_height(image);
    header->bands = vips_image_get_bands(image);
    header->orientation = vips_image_get_orientation(image);
    header->has_profile = vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0;
    header->is_cmyk = vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK;
    g_object_unref(image);
    return 0;
}

/* Replaces *image with the result of an operation, or with NULL if it failed. */
static int replace(VipsImage **image, VipsImage **made, int failed) {
    g_object_unref(*image);
    *image = failed ? NULL : *made;
    return failed;
}

static int to_plain_srgb(VipsImage **image, const double background[3]) {
    VipsImage *made = NULL;
    if (vips_image_get_interpretation(*image) != VIPS_INTERPRETATION_sRGB ||
        vips_image_get_format(*image) != VIPS_FORMAT_UCHAR)
        if (replace(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_sRGB, NULL))) return -1;
    if (vips_image_hasalpha(*image)) {
        VipsArrayDouble *colour = vips_array_double_new(background, 3);
        made = NULL;
        int failed = vips_flatten(*image, &made, "background", colour, NULL);
        vips_area_unref(VIPS_AREA(colour));
        if (replace(image, &made, failed)) return -1;
    }
    if (vips_image_get_bands(*image) > 3) {
        made = NULL;
        if (replace(image, &made, vips_extract_band(*image, &made, 0, "n", 3, NULL))) return -1;
    }
    if (vips_image_get_format(*image) != VIPS_FORMAT_UCHAR) {
        made = NULL;
        if (replace(image, &made, vips_cast(*image, &made, VIPS_FORMAT_UCHAR, NULL))) return -1;
    }
    return 0;
}

/* Decodes all pixels into memory, so that several encodes need one decode. */
static int into_memory(VipsImage **image) {
    VipsImage *made = vips_image_copy_memory(*image);
    return replace(image, &made, made == NULL);
}

CVipsImage *cvips_decode(const void *bytes, size_t count, int width, int height, int to_srgb,
                         const double background[3]) {
    VipsImage *image = NULL;
    /* VIPS_SIZE_FORCE, to a size with the same proportions. Without it, libvips rounds one side and shifts the
     * picture by up to half a pixel, which costs 2 points of SSIMULACRA2.
     * The option "fail_on" of vips_thumbnail_buffer is ignored (8.14.1); in the loader's own options it works. */
    int failed = to_srgb
        ? vips_thumbnail_buffer((void *)bytes, count, &image, width, "height", height, "size", VIPS_SIZE_FORCE,
                                "option_string", "fail_on=error", "export_profile", "srgb", NULL)
        : vips_thumbnail_buffer((void *)bytes, count, &image, width, "height", height, "size", VIPS_SIZE_FORCE,
                                "option_string", "fail_on=error", NULL);
    if (failed || to_plain_srgb(&image, background) != 0 || into_memory(&image) != 0) return NULL;
    if (vips_image_get_bands(image) == 3) return image;
    g_object_unref(image);
    vips_error("cvips", "the picture has no three colours");
    return NULL;
}

CVipsImage *cvips_open(const void *bytes, size_t count, int width, int height) {
    VipsImage *image = NULL;
    if (vips_thumbnail_buffer((void *)bytes, count, &image, width, "height", height, "size", VIPS_SIZE_FORCE, "no_rotate",
                              TRUE, "option_string", "fail_on=error", NULL) != 0)
        return NULL;
    return image;
}

int cvips_has_three_bytes(CVipsImage *image) {
    return vips_image_get_bands(image) == 3 && vips_image_get_format(image) == VIPS_FORMAT_UCHAR &&
        vips_image_get_interpretation(image) == VIPS_INTERPRETATION_sRGB;
}

CVipsImage *cvips_blank(CVipsImage *image, int width) {
    VipsImage *blank = vips_image_new_memory();
    if (vips_image_pipelinev(blank, VIPS_DEMAND_STYLE_ANY, image, NULL) == 0) {
        blank->Xsize = width;
        if (vips_image_write_prepare(blank) == 0) return blank;
    }
    g_object_unref(blank);
    return NULL;
}

CVipsRows *cvips_rows(CVipsImage *image) { return vips_region_new(image); }

const uint8_t *cvips_read_row(CVipsRows *rows, int row) {
    VipsImage *image = rows->im;
    if (row < rows->valid.top || row >= rows->valid.top + rows->valid.height) {
        VipsRect strip = {0, row, image->Xsize, VIPS_MIN(16, image->Ysize - row)};
        if (vips_region_prepare(rows, &strip) != 0) return NULL;
    }
    return VIPS_REGION_ADDR(rows, 0, row);
}

void cvips_release_rows(CVipsRows *rows) { g_object_unref(rows); }

CVipsImage *cvips_upright(CVipsImage *image, int to_srgb) {
    VipsImage *made = NULL;
    if (vips_autorot(image, &made, NULL) != 0) return NULL;
    image = made;
    made = NULL;
    if (to_srgb &&
        replace(&image, &made, vips_icc_transform(image, &made, "srgb", "embedded", TRUE, NULL)))
        return NULL;
    return into_memory(&image) == 0 ? image : NULL;
}

CVipsImage *cvips_shrink(CVipsImage *image, int width, int height) {
    VipsImage *smaller = NULL;
    if (vips_thumbnail_image(image, &smaller, width, "height", height, "size", VIPS_SIZE_FORCE, NULL) != 0) return NULL;
    return into_memory(&smaller) == 0 ? smaller : NULL;
}

CVipsImage *cvips_gradient(int width, int height, const double top[3], const double bottom[3]) {
    VipsImage *image = vips_image_new_memory();
    vips_image_init_fields(image, width, height, 3, VIPS_FORMAT_UCHAR, VIPS_CODING_NONE, VIPS_INTERPRETATION_sRGB, 1, 1);
    if (vips_image_write_prepare(image) != 0) {
        g_object_unref(image);
        return NULL;
    }
    for (int y = 0; y < height; y++) {
        double share = height > 1 ? (double)y / (height - 1) : 0;
        uint8_t *pixel = VIPS_IMAGE_ADDR(image, 0, y);
        for (int x = 0; x < width; x++)
            for (int band = 0; band < 3; band++)
                *pixel++ = (uint8_t)(top[band] + (bottom[band] - top[band]) * share + 0.5);
    }
    return image;
}

CVipsImage *cvips_text(const char *markup, const char *font, int width, int breaks_words) {
    VipsImage *image = NULL;
    /* At 72 dots per inch a point is a pixel. */
    if (vips_text(&image, markup, "font", font, "width", width, "align", VIPS_ALIGN_CENTRE, "dpi", 72, "rgba", TRUE,
                  "wrap", breaks_words ? VIPS_TEXT_WRAP_WORD_CHAR : VIPS_TEXT_WRAP_WORD, NULL) != 0)
        return NULL;
    return into_memory(&image) == 0 ? image : NULL;
}

CVipsImage *cvips_put(CVipsImage *below, CVipsImage *above, int x, int y) {
    static const double unused[3] = {0, 0, 0};
    VipsImage *image = NULL;
    if (vips_composite2(below, above, &image, VIPS_BLEND_MODE_OVER, "x", x, "y", y, NULL) != 0) return NULL;
    return to_plain_srgb(&image, unused) == 0 && into_memory(&image) == 0 ? image : NULL;
}

int cvips_fill(CVipsImage *image, int x, int y, int width, int height, const double colour[3]) {
    return vips_draw_rect(image, (double *)colour, 3, x, y, width, height, "fill", TRUE, NULL);
}

int cvips_width(CVipsImage *image) { return vips_image_get_width(image); }
int cvips_height(CVipsImage *image) { return vips_image_get_height(image); }
uint8_t *cvips_pixels(CVipsImage *image) { return (uint8_t *)vips_image_get_data(image); }

int cvips_encode_jpeg(CVipsImage *image, int quality, int full_chroma, void **bytes, size_t *count) {
    return vips_jpegsave_buffer(image, bytes, count, "Q", quality, "optimize_coding", TRUE, "interlace", TRUE, "strip",
                                TRUE, "subsample_mode",
                                full_chroma ? VIPS_FOREIGN_SUBSAMPLE_OFF : VIPS_FOREIGN_SUBSAMPLE_ON, NULL);
}

int cvips_encode_webp(CVipsImage *image, int quality, void **bytes, size_t *count) {
    return vips_webpsave_buffer(image, bytes, count, "Q", quality, "effort", 4, "strip", TRUE, NULL);
}

int cvips_encode_avif(CVipsImage *image, int quality, void **bytes, size_t *count) {
    return vips_heifsave_buffer(image, bytes, count, "Q", quality, "effort", 1, "compression",
                                VIPS_FOREIGN_HEIF_COMPRESSION_AV1, "strip", TRUE, NULL);
}

void cvips_free(void *bytes) { g_free(bytes); }

void cvips_release(CVipsImage *image) {
    if (image != NULL) g_object_unref(image);
}

void cvips_take_error(char *text, size_t size) {
    g_strlcpy(text, vips_error_buffer(), size);
    vips_error_clear();
}
