/// Finds the highest quality whose result has fewer bytes than a limit, with as few encodes as it can.
///
/// It encodes nothing itself: it returns the next quality to encode, and takes the size of the result. Each result
/// narrows the range, so the search ends with any encoder.
package struct QualitySearch: Sendable {
    package enum Step: Equatable, Sendable {
        /// Encode at this quality, and `record` the size.
        case encode(Int)
        /// The best quality is found.
        case keep(Int)
        /// Not even the lowest quality has few enough bytes.
        case doesNotFit
    }

    /// The result has fewer bytes than this.
    let limit: Double
    let qualities: ClosedRange<Int>
    /// Bytes expected at each quality; nil if nothing is known but how bytes usually follow quality.
    let forecast: [Int: Double]?
    private var best: (quality: Int, bytes: Double)?
    private var tooBig: (quality: Int, bytes: Double)?

    /// - Parameters:
    ///   - limit: bytes; the result has fewer.
    ///   - forecast: bytes expected at each quality, within about a tenth. Without one, the first encode is at the
    ///     highest quality, and the next ones follow from what came out.
    package init(limit: Int, qualities: ClosedRange<Int>, forecast: [Int: Double]? = nil) {
        self.limit = Double(limit)
        self.qualities = qualities
        self.forecast = forecast
    }

    /// Records the size of an encode.
    package mutating func record(quality: Int, bytes: Int) {
        if Double(bytes) < limit {
            if quality > best?.quality ?? 0 { best = (quality, Double(bytes)) }
        } else if quality < tooBig?.quality ?? 101 {
            tooBig = (quality, Double(bytes))
        }
    }

    /// What to do next.
    package var step: Step {
        let lowest = best.map { $0.quality + 1 } ?? qualities.lowerBound
        let highest = tooBig.map { $0.quality - 1 } ?? qualities.upperBound
        guard lowest <= highest else { return best.map { .keep($0.quality) } ?? .doesNotFit }
        if let best, best.bytes >= limit * Self.goodEnough { return .keep(best.quality) }
        if best == nil && tooBig == nil && forecast == nil { return .encode(highest) }

        // Nearer to the limit once an encode has shown how far off the expectation is.
        let aim = limit * (best == nil && tooBig == nil ? 0.985 : 0.99)
        if let quality = (lowest...highest).last(where: { corrected($0) <= aim }) { return .encode(quality) }
        if let best { return .keep(best.quality) }
        let isKnown = forecast != nil || tooBig != nil
        return isKnown && corrected(lowest) > limit * Self.hopeless ? .doesNotFit : .encode(lowest)
    }

    /// Above this part of the limit, one more encode would win too little to be seen.
    private static let goodEnough = 0.97
    /// An expectation this far above the limit is not tried.
    private static let hopeless = 1.12
}

// MARK: - Expecting
extension QualitySearch {
    /// The expectation, corrected by the encodes so far: by the nearest one, or between two by both.
    private func corrected(_ quality: Int) -> Double {
        guard let nearest = best ?? tooBig else { return expectation(quality) }
        guard let best, let tooBig else {
            return expectation(quality) * nearest.bytes / expectation(nearest.quality)
        }
        let low = best.bytes / expectation(best.quality)
        let high = tooBig.bytes / expectation(tooBig.quality)
        let share = Double(quality - best.quality) / Double(tooBig.quality - best.quality)
        return expectation(quality) * (low + (high - low) * share)
    }

    /// As forecast, or as bytes usually follow quality, but for a factor: a power of libjpeg's scale of its
    /// quantization, measured on photographs.
    private func expectation(_ quality: Int) -> Double {
        if let expected = forecast?[quality] { return expected }
        let scale = quality < 50 ? 5_000 / Double(quality) : 200 - 2 * Double(quality)
        return 1 / (scale + 8)
    }
}
