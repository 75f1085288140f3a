import CVips
import ErrandImages

/// One photo, from its bytes to those of the result.
struct Compression {
    let photo: UnsafeRawBufferPointer
    let request: ImageRequest

    /// - Throws: ``ImageError`` with the reason, before decoding if the header is enough to tell.
    func run() throws(ImageError) -> (ImageReport, [UInt8]) {
        try request.check()
        let format = try ImageFormat(of: photo)
        // Even reading the header with libvips takes time that grows with the square of the segments.
        if format == .jpeg, let excess = JPEGSegments(photo).excess { throw ImageError(.tooComplex, excess) }
        do {
            guard format == .png else { return try run(format) }
            let chunks = PNGChunks(photo)
            guard chunks.hasText else { return try run(format) }
            // Texts may unpack to a thousand times their size, and no picture needs them.
            let plain = chunks.withoutText(photo)
            let outcome = plain.withUnsafeBytes { bytes in
                Result { () throws(ImageError) in try Compression(photo: bytes, request: request).run(format) }
            }
            var made = try outcome.get()
            made.0.sourceBytes = photo.count
            return made
        } catch {
            guard error.code == .corrupt, format.isCutShort(photo) else { throw error }
            throw ImageError(.truncated, error.detail)
        }
    }

    private func run(_ format: ImageFormat) throws(ImageError) -> (ImageReport, [UInt8]) {
        let header = try Picture.header(of: photo)
        guard name(of: header) == format.loader else {
            throw ImageError(.notAnImage, "begins like \(format.rawValue), and is something else")
        }
        let pixels = Int(header.width) * Int(header.height)
        guard pixels <= request.maxPixels else {
            throw ImageError(.tooManyPixels, "\(header.width) x \(header.height), at most \(request.maxPixels) pixels")
        }
        let needsSRGB = header.has_profile != 0 || header.is_cmyk != 0
        let source = upright(header)
        let picture = try decode(format, header, to: source.within(request.maxEdge), toSRGB: needsSRGB)
        if let kept = unchangedBytes(format, header) {
            return (report(kept.count, picture.size, format, header, quality: nil, encodes: 0), kept)
        }

        let encoded = try Encoding(request: request).run(picture, of: source)
        return (report(encoded, format, header), encoded.bytes)
    }

    private func decode(
        _ format: ImageFormat, _ header: CVipsHeader, to size: PixelSize, toSRGB: Bool
    ) throws(ImageError) -> Picture {
        do {
            return try decoded(format, header, to: size, toSRGB: toSRGB)
        } catch  where toSRGB && error.code == .corrupt {
            // A profile that can't be used is no reason to lose the photo: it is taken for sRGB. If it wasn't the
            // profile, this fails as well.
            return try decoded(format, header, to: size, toSRGB: false)
        }
    }

    private func decoded(
        _ format: ImageFormat, _ header: CVipsHeader, to size: PixelSize, toSRGB: Bool
    ) throws(ImageError) -> Picture {
        let width = Int(header.width)
        let stored = header.orientation < 5 ? size : PixelSize(width: size.height, height: size.width)
        // From four times on libvips lets the decoder itself leave pixels out.
        if format == .jpeg, stored.width < width, width < 4 * stored.width,
            let picture = try Picture.decode(photo, to: stored, shrinkingRowsFrom: width, toSRGB: toSRGB)
        {
            return picture
        }
        return try Picture.decode(photo, to: size, toSRGB: toSRGB, background: request.background)
    }

    /// The source's own pixels, and nothing else that was in the file, where they are all that was asked for: an encode
    /// would only lose quality.
    private func unchangedBytes(_ format: ImageFormat, _ header: CVipsHeader) -> [UInt8]? {
        guard format == .jpeg, request.format == .jpeg, photo.count < 2 * request.maxBytes,
            max(header.width, header.height) <= request.maxEdge, header.orientation <= 1
        else { return nil }
        let segments = JPEGSegments(photo)
        guard segments.isComplete, !segments.needsDecoding else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: request.maxBytes - 1) { buffer, count in
            count = jpeg_rewrite(photo.baseAddress, photo.count, buffer.baseAddress, buffer.count)
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// The picture's sides once it is turned upright: orientations from 5 on lie on their side.
    private func upright(_ header: CVipsHeader) -> PixelSize {
        let (width, height) = (Int(header.width), Int(header.height))
        return header.orientation < 5
            ? PixelSize(width: width, height: height) : PixelSize(width: height, height: width)
    }

    private func name(of header: CVipsHeader) -> String {
        withUnsafeBytes(of: header.loader) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private func report(_ encoded: Encoding.Result, _ format: ImageFormat, _ header: CVipsHeader) -> ImageReport {
        report(
            encoded.bytes.count, encoded.size, format, header, quality: encoded.quality, encodes: encoded.encodes)
    }

    private func report(
        _ bytes: Int, _ size: PixelSize, _ format: ImageFormat, _ header: CVipsHeader, quality: Int?, encodes: Int
    ) -> ImageReport {
        ImageReport(
            bytes: bytes, width: size.width, height: size.height, quality: quality, encodes: encodes,
            milliseconds: 0, format: request.format, sourceFormat: format, sourceWidth: Int(header.width),
            sourceHeight: Int(header.height), sourceBytes: photo.count)
    }
}
