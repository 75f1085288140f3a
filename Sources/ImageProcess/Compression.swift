import CVips
import ErrandImages

/// One photo, from its bytes to those of the result and the variants. It is decoded once.
struct Compression {
    let photo: UnsafeRawBufferPointer
    let request: ImageRequest
    let variants: [String: ImageRequest]
    /// Size of the source, if `photo` is what was made of it.
    var sourceBytes: Int?

    /// - Throws: ``ImageError`` with the reason, before decoding if the header is enough to tell.
    func run() throws(ImageError) -> ImageResults {
        try request.check()
        try ImageRequest.check(variants)
        let format = try ImageFormat(of: photo)
        // Even reading the header with libvips takes time that grows with the square of the segments.
        if format == .jpeg, let excess = JPEGSegments(photo).excess { throw ImageError(.tooComplex, excess) }
        do {
            guard format == .png else { return try run(format) }
            let chunks = PNGChunks(photo)
            guard chunks.hasText else { return try run(format) }
            // Texts may unpack to a thousand times their size, and no picture needs them.
            return try run(format, on: chunks.withoutText(photo))
        } catch {
            guard error.code == .corrupt, format.isCutShort(photo) else { throw error }
            throw ImageError(.truncated, error.detail)
        }
    }

    /// Runs on what was made of the photo.
    private func run(_ format: ImageFormat, on bytes: [UInt8]) throws(ImageError) -> ImageResults {
        let outcome = bytes.withUnsafeBytes { bytes in
            let other = Compression(photo: bytes, request: request, variants: variants, sourceBytes: photo.count)
            return Result { () throws(ImageError) in try other.run(format) }
        }
        return try outcome.get()
    }

    private func run(_ format: ImageFormat) throws(ImageError) -> ImageResults {
        let header = try Picture.header(of: photo)
        guard name(of: header) == format.loader else {
            throw ImageError(.notAnImage, "begins like \(format.rawValue), and is something else")
        }
        let pixels = Int(header.width) * Int(header.height)
        guard pixels <= request.maxPixels else {
            throw ImageError(.tooManyPixels, "\(header.width) x \(header.height), at most \(request.maxPixels) pixels")
        }
        if format == .jpeg, sourceBytes == nil, !JPEGSegments(photo).isComplete {
            // libvips fails without the end marker, whatever is missing beside it.
            guard jpeg_lacks_only_its_end(photo.baseAddress, photo.count) != 0 else {
                throw ImageError(.truncated, "the file ends before its picture does")
            }
            return try run(format, on: Array(photo) + [0xFF, 0xD9])
        }
        let needsSRGB = header.has_profile != 0 || header.is_cmyk != 0
        let source = upright(header)
        let largest = variants.values.map(\.maxEdge).reduce(request.maxEdge, max)
        var decodes = 0
        var picture = try decode(format, header, to: source.within(largest), toSRGB: needsSRGB, &decodes)
        // One after the other, so that beside the decoded picture there is one smaller one at most.
        var made: [String: ImageResult] = [:]
        for (name, variant) in variants {
            do {
                let smaller = try picture.shrunk(to: source.within(variant.maxEdge))
                made[name] = try result(as: variant, smaller, format, header)
            } catch {
                throw error.of(variant: name)
            }
        }
        // From here on, the decoded picture is in memory only as long as the result needs it.
        picture = try picture.shrunk(to: source.within(request.maxEdge))
        return ImageResults(
            result: try result(as: request, picture, format, header), variants: made,
            decodes: decodes)
    }

    private func result(
        as request: ImageRequest, _ picture: consuming Picture, _ format: ImageFormat, _ header: CVipsHeader
    ) throws(ImageError) -> ImageResult {
        if let kept = unchangedBytes(as: request, format, header) {
            return ImageResult(report: report(kept.count, picture.size, as: request, format, header), bytes: kept)
        }
        let encoded = try Encoding(request: request).run(picture, of: upright(header))
        var report = report(encoded.bytes.count, encoded.size, as: request, format, header)
        (report.quality, report.encodes) = (encoded.quality, encoded.encodes)
        return ImageResult(report: report, bytes: encoded.bytes)
    }

    private func decode(
        _ format: ImageFormat, _ header: CVipsHeader, to size: PixelSize, toSRGB: Bool, _ decodes: inout Int
    ) throws(ImageError) -> Picture {
        decodes += 1
        do {
            return try decoded(format, header, to: size, toSRGB: toSRGB)
        } catch  where toSRGB && error.code == .corrupt {
            // A profile that can't be used is no reason to lose the photo: it is taken for sRGB. If it wasn't the
            // profile, this fails as well.
            decodes += 1
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
    private func unchangedBytes(
        as request: ImageRequest, _ format: ImageFormat, _ header: CVipsHeader
    ) -> [UInt8]? {
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

    /// The report of the source's own pixels: no quality, no encodes.
    private func report(
        _ bytes: Int, _ size: PixelSize, as request: ImageRequest, _ format: ImageFormat, _ header: CVipsHeader
    ) -> ImageReport {
        ImageReport(
            bytes: bytes, width: size.width, height: size.height, quality: nil, encodes: 0, milliseconds: 0,
            format: request.format, sourceFormat: format, sourceWidth: Int(header.width),
            sourceHeight: Int(header.height), sourceBytes: sourceBytes ?? photo.count)
    }
}
