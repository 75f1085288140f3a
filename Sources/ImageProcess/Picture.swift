import CVips
import ErrandImages

/// A decoded picture in memory, 8 bit sRGB, upright. It owns libvips' image.
struct Picture: ~Copyable {
    private let image: OpaquePointer

    private init(_ image: OpaquePointer) { self.image = image }

    deinit { cvips_release(image) }

    var size: PixelSize { PixelSize(width: Int(cvips_width(image)), height: Int(cvips_height(image))) }

    /// Bytes that a JPEG of it is expected to have at each level.
    func forecast(_ levels: ClosedRange<Int>, limit: Int) -> [Int: Double] {
        JPEGLevel.forecast(levels, limit: limit, pixels: pixels, width: size.width, height: size.height)
    }

    /// The header of a file, without decoding any of it.
    static func header(of photo: UnsafeRawBufferPointer) throws(ImageError) -> CVipsHeader {
        var header = CVipsHeader()
        guard cvips_read_header(photo.baseAddress, photo.count, &header) == 0 else { throw failure() }
        return header
    }

    /// Decodes a photo of three colours to exactly `stored`, its sides before it is turned upright, and turns it.
    ///
    /// libvips decodes it and shrinks its columns; ``RowShrink`` shrinks its rows. Nil if the photo has other than
    /// three colours.
    static func decode(
        _ photo: UnsafeRawBufferPointer, to stored: PixelSize, shrinkingRowsFrom width: Int, toSRGB: Bool
    ) throws(ImageError) -> Picture? {
        guard let source = cvips_open(photo.baseAddress, photo.count, Int32(width), Int32(stored.height)) else {
            throw failure()
        }
        defer { cvips_release(source) }
        guard cvips_has_three_bytes(source) != 0 else { return nil }
        guard let picture = cvips_blank(source, Int32(stored.width)) else { throw failure() }
        defer { cvips_release(picture) }
        guard let rows = cvips_rows(source) else { throw failure() }
        defer { cvips_release_rows(rows) }
        let pixels = cvips_pixels(picture)!
        var shrink = RowShrink(from: width, to: stored.width)
        for row in 0..<stored.height {
            guard let from = cvips_read_row(rows, Int32(row)) else { throw failure() }
            shrink.shrink(from, into: pixels + 3 * row * stored.width)
        }
        guard let upright = cvips_upright(picture, toSRGB ? 1 : 0) else { throw failure() }
        return Picture(upright)
    }

    /// Decodes a photo to exactly `size`, which is upright.
    static func decode(
        _ photo: UnsafeRawBufferPointer, to size: PixelSize, toSRGB: Bool, background: ImageRequest.Colour
    ) throws(ImageError) -> Picture {
        let colour = [Double(background.red), Double(background.green), Double(background.blue)]
        guard
            let image = cvips_decode(
                photo.baseAddress, photo.count, Int32(size.width), Int32(size.height), toSRGB ? 1 : 0, colour)
        else {
            throw failure()
        }
        return Picture(image)
    }

    /// The same picture with exactly `size`, which is no larger.
    func shrunk(to size: PixelSize) throws(ImageError) -> Picture {
        // Nothing draws on a decoded picture, so two may have the same pixels.
        if size == self.size { return Picture(cvips_retain(image)) }
        guard let smaller = cvips_shrink(image, Int32(size.width), Int32(size.height)) else { throw Self.failure() }
        return Picture(smaller)
    }

    /// A picture whose colour changes evenly from top to bottom.
    static func gradient(
        _ size: PixelSize, from top: ImageRequest.Colour, to bottom: ImageRequest.Colour
    ) throws(ImageError) -> Picture {
        guard let image = cvips_gradient(Int32(size.width), Int32(size.height), top.parts, bottom.parts) else {
            throw failure()
        }
        return Picture(image)
    }

    /// Text on a transparent ground, cut to its ink. Lines wrap at `width`; a word that is wider stays whole unless
    /// `breaksWords`.
    ///
    /// - Throws: ``ImageError`` with code `cannotFit` if it is larger than any picture.
    static func text(
        _ markup: String, font: String, width: Int, breaksWords: Bool
    ) throws(ImageError) -> Picture {
        guard let image = cvips_text(markup, font, Int32(width), breaksWords ? 1 : 0) else {
            let error = failure()
            // Cairo's surfaces have at most 32,767 pixels on a side.
            throw error.detail.contains("too big") ? ImageError(.cannotFit, error.detail) : error
        }
        return Picture(image)
    }

    /// The picture with another one on it.
    func with(_ other: borrowing Picture, x: Int, y: Int) throws(ImageError) -> Picture {
        guard let image = cvips_put(image, other.image, Int32(x), Int32(y)) else { throw Self.failure() }
        return Picture(image)
    }

    /// Fills a rectangle of the picture.
    func fill(x: Int, y: Int, size: PixelSize, with colour: ImageRequest.Colour) throws(ImageError) {
        let (width, height) = (Int32(size.width), Int32(size.height))
        guard cvips_fill(image, Int32(x), Int32(y), width, height, colour.parts) == 0 else { throw Self.failure() }
    }

    /// The pixels, three bytes each, row by row.
    var pixels: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: cvips_pixels(image), count: size.width * size.height * 3)
    }

    /// The file of the picture, without any metadata.
    func encoded(as format: ImageRequest.Format, quality: Int) throws(ImageError) -> [UInt8] {
        var bytes: UnsafeMutableRawPointer?
        var count = 0
        let failed =
            switch format {
            case .jpeg:
                cvips_encode_jpeg(
                    image, Int32(JPEGLevel(quality).quality), JPEGLevel(quality).hasFullChroma ? 1 : 0, &bytes, &count)
            case .webp: cvips_encode_webp(image, Int32(quality), &bytes, &count)
            case .avif: cvips_encode_avif(image, Int32(quality), &bytes, &count)
            }
        guard failed == 0, let bytes else { throw Self.failure() }
        defer { cvips_free(bytes) }
        let file = Array(UnsafeRawBufferPointer(start: bytes, count: count))
        guard format == .webp else { return file }
        // The option "strip" has no effect on WebP (8.14.1): the file has the source's EXIF, with the place, and XMP.
        guard let bare = WebPChunks.pictureAlone(file) else { throw ImageError(.corrupt, "the encoder made no WebP") }
        return bare
    }

    /// The last failure of libvips, as an error code.
    private static func failure() -> ImageError {
        let text = takeVipsError()
        func says(_ words: String...) -> Bool { words.contains { text.lowercased().contains($0) } }
        if says("memory", "alloc") { return ImageError(.memoryLimit, text) }
        if says("premature end", "truncated", "end of stream", "unexpected end", "end of file", "end of data") {
            return ImageError(.truncated, text)
        }
        return ImageError(.corrupt, text)
    }
}

/// The text of libvips' last failure, which is then cleared.
func takeVipsError() -> String {
    var text = [CChar](repeating: 0, count: 1_024)
    cvips_take_error(&text, text.count)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
