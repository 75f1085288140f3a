/// Validates the response of a process. A photo may have taken the process over, so nothing is trusted unchecked.
enum ResultCheck {
    enum Verdict {
        /// The bytes are pictures of the requested formats, with the sizes of the reports.
        case made(ImageReport, [String: ImageReport])
        /// The photo can't be compressed, for a reason that a process may report.
        case failed(ImageError)
        /// The response is invalid: the process is killed.
        case invalid(String)
    }

    /// - Parameter files: the bytes of the variants, by name.
    static func verdict(
        on response: ResponseMessage, _ bytes: [UInt8], _ files: [String: [UInt8]] = [:], of source: ImageSource,
        as request: ImageRequest, variants: [String: ImageRequest] = [:]
    ) -> Verdict {
        guard let report = response.report else {
            guard let code = response.error, reasons.contains(code), bytes.isEmpty, files.isEmpty else {
                return .invalid("it failed for no reason of its own")
            }
            return .failed(ImageError(code, response.detail ?? ""))
        }
        let reports = response.variants ?? [:]
        guard Set(reports.keys) == Set(variants.keys), Set(files.keys) == Set(variants.keys) else {
            return .invalid("its variants are others than those requested")
        }
        if let objection = objection(to: report, bytes, of: source, as: request) {
            return .invalid("its result \(objection)")
        }
        for (name, request) in variants {
            if let objection = objection(to: reports[name]!, files[name]!, of: source, as: request) {
                return .invalid("its variant \(name) \(objection)")
            }
        }
        return .made(report, reports)
    }

    /// What is wrong with a picture of the response; nil if nothing is.
    private static func objection(
        to report: ImageReport, _ bytes: [UInt8], of source: ImageSource, as request: ImageRequest
    ) -> String? {
        guard report.format == request.format, report.bytes == bytes.count, bytes.count < request.maxBytes,
            let format = try? ImageFormat(of: bytes), format.rawValue == request.format.rawValue
        else {
            return "is no \(request.format.rawValue) of the bytes that it names"
        }
        let size = PixelSize(width: report.width, height: report.height)
        guard (1...request.maxEdge).contains(size.width), (1...request.maxEdge).contains(size.height),
            sizes(of: bytes, request.format).contains(size)
        else {
            return "has other sides than it names"
        }
        // A card is its own source.
        let sourceBytes = source.card == nil ? source.bytes : bytes
        guard report.sourceBytes == sourceBytes.count, report.sourceFormat == (try? ImageFormat(of: sourceBytes)),
            report.sourceWidth > 0, report.sourceHeight > 0, report.encodes >= 0,
            report.quality.map({ (1...100).contains($0) }) ?? true
        else {
            return "has a report of another source"
        }
        return nil
    }

    /// The codes of failures that a process finds itself.
    private static let reasons: Set<ImageError.Code> = [
        .empty, .notAnImage, .unsupportedFormat, .tooManyPixels, .tooComplex, .truncated, .corrupt, .cannotFit,
        .invalidRequest, .memoryLimit,
    ]
}

// MARK: - Sides
extension ResultCheck {
    /// The sides in a file's header, read without decoding. An AVIF has those of each part.
    static func sizes(of bytes: [UInt8], _ format: ImageRequest.Format) -> [PixelSize] {
        switch format {
        case .jpeg:
            let segments = bytes.withUnsafeBytes { JPEGSegments($0) }
            return segments.isComplete ? [PixelSize(width: segments.width, height: segments.height)] : []
        case .webp: return webPSize(bytes).map { [$0] } ?? []
        case .avif: return HEIFSizes.all(in: bytes)
        }
    }

    /// Of the first chunk: that of a lossy picture, a lossless one, or the canvas of several.
    private static func webPSize(_ bytes: [UInt8]) -> PixelSize? {
        guard bytes.count >= 30 else { return nil }
        func number(_ start: Int, _ count: Int) -> Int {
            bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        guard number(4, 4) == bytes.count - 8 else { return nil }
        switch String(decoding: bytes[12..<16], as: UTF8.self) {
        case "VP8 " where number(23, 3) == 0x2A_019D:
            return PixelSize(width: number(26, 2) & 0x3FFF, height: number(28, 2) & 0x3FFF)
        case "VP8L" where bytes[20] == 0x2F:
            let both = number(21, 4)
            return PixelSize(width: both & 0x3FFF + 1, height: both >> 14 & 0x3FFF + 1)
        case "VP8X": return PixelSize(width: number(24, 3) + 1, height: number(27, 3) + 1)
        default: return nil
        }
    }
}
