import ErrandImages

/// The best file of a picture that has fewer bytes than a request's budget.
struct Encoding {
    let request: ImageRequest

    struct Result {
        let bytes: [UInt8]
        let size: PixelSize
        /// The quality that the report names.
        let quality: Int
        let encodes: Int
    }

    /// - Parameter source: the size of the picture that smaller ones are proportional to.
    /// - Throws: ``ImageError`` with code `cannotFit` if no size fits.
    func run(_ picture: consuming Picture, of source: PixelSize) throws(ImageError) -> Result {
        var encodes = 0
        for rung in SizeLadder(from: picture.size.edge, qualities: request.effectiveQualities) {
            if rung.edge < picture.size.edge { picture = try picture.shrunk(to: source.within(rung.edge)) }
            if let (bytes, quality) = try fit(picture, rung.qualities, &encodes) {
                return Result(bytes: bytes, size: picture.size, quality: quality, encodes: encodes)
            }
        }
        throw ImageError(.cannotFit, "no size has fewer than \(request.maxBytes) bytes")
    }

    /// The best quality at which the picture fits at its size, or nil if none of the rung's does.
    private func fit(
        _ picture: borrowing Picture, _ qualities: ClosedRange<Int>, _ encodes: inout Int
    ) throws(ImageError) -> ([UInt8], Int)? {
        let forecast = request.format == .jpeg ? picture.forecast(qualities, limit: request.maxBytes) : nil
        var search = QualitySearch(limit: request.maxBytes, qualities: qualities, forecast: forecast)
        var results: [Int: [UInt8]] = [:]
        while true {
            switch search.step {
            case .encode(let quality):
                let bytes = try picture.encoded(as: request.format, quality: quality)
                encodes += 1
                results[quality] = bytes
                search.record(quality: quality, bytes: bytes.count)
            case .keep(let quality):
                let shown = request.format == .jpeg ? JPEGLevel(quality).quality : quality
                return results[quality].map { ($0, shown) }
            case .doesNotFit:
                return nil
            }
        }
    }
}
