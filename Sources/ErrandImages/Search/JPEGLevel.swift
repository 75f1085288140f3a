/// A step of the scale on which the best JPEG is searched: 1...100, each better and larger than the one below.
///
/// Up to 91 it is the encoder's quality, with colour halved in both directions. From 92 on colour is kept at every
/// pixel, at an encoder's quality of four less: measured with SSIMULACRA2 at equal bytes, bits then do more good in
/// colour than in finer steps (quality 92 in full: 95.98 in 182 KB; quality 95 halved: 95.41 in 191 KB).
package struct JPEGLevel: Hashable, Sendable {
    package let level: Int

    package init(_ level: Int) { self.level = level }

    package static let highestHalved = 91

    package var hasFullChroma: Bool { level > Self.highestHalved }

    /// The quality for libjpeg.
    package var quality: Int { hasFullChroma ? level - 4 : level }

    /// Bytes expected at each level of a range. The levels with full chroma are computed only if the limit is within
    /// their reach.
    package static func forecast(
        _ levels: ClosedRange<Int>, limit: Int, pixels: UnsafeBufferPointer<UInt8>, width: Int, height: Int
    ) -> [Int: Double] {
        var curve: [Int: Double] = [:]
        if levels.lowerBound <= highestHalved {
            let halved = JPEGForecast(pixels: pixels, width: width, height: height)
            curve = halved.curve(levels.lowerBound...min(levels.upperBound, highestHalved))
        }
        guard levels.upperBound > highestHalved else { return curve }
        if let top = curve[highestHalved], top > 1.2 * Double(limit) {
            for level in highestHalved + 1...levels.upperBound { curve[level] = 2 * top }
            return curve
        }
        let full = JPEGForecast(pixels: pixels, width: width, height: height, hasFullChroma: true)
        let lowest = max(levels.lowerBound, highestHalved + 1)
        let offset = lowest - JPEGLevel(lowest).quality
        for (quality, bytes) in full.curve(lowest - offset...levels.upperBound - offset) {
            curve[quality + offset] = bytes
        }
        return curve
    }
}
