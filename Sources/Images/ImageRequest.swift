/// What a picture shall become: a file below a number of bytes, within a number of pixels on each side.
package struct ImageRequest: Codable, Hashable, Sendable {
    /// What the result is written as. All three are read by every current phone and browser.
    package enum Format: String, Codable, CaseIterable, Sendable {
        case jpeg, webp, avif
    }

    /// A colour of the sRGB space, 0...255 each.
    package struct Colour: Codable, Hashable, Sendable {
        package var red: UInt8
        package var green: UInt8
        package var blue: UInt8

        package init(red: UInt8, green: UInt8, blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        package static let white = Colour(red: 255, green: 255, blue: 255)
    }

    /// The result has fewer bytes than this: 499,999 at most by default. At least 1,000.
    package var maxBytes = 500_000
    /// Pixels on the longer side of the result, 16...16,384. A smaller picture is never enlarged.
    package var maxEdge = 2_560
    package var format = Format.jpeg
    /// The encoder's quality, 1...100; for JPEG a ``JPEGLevel``. Below the lower bound the picture is made smaller
    /// instead. nil takes the format's own.
    package var qualities: ClosedRange<Int>?
    /// What shows through where the picture is transparent.
    package var background = Colour.white
    /// Width times height above which a picture is refused before it is decoded. A bound against bombs.
    package var maxPixels = 100_000_000

    package init() {}
}

extension ImageRequest {
    /// The qualities to choose from: those asked for, or the format's own.
    ///
    /// Measured with SSIMULACRA2 at 1,600 pixels: below the lower bounds, fewer pixels look better than lower quality;
    /// above the upper ones nobody sees a difference.
    package var effectiveQualities: ClosedRange<Int> {
        if let qualities { return qualities }
        return switch format {
        case .jpeg: 72...100
        case .webp: 70...92
        case .avif: 45...80
        }
    }

    /// Throws ``ImageError/Code/invalidRequest``, with the option and its bounds, where one is out of them.
    package func check() throws(ImageError) {
        func demand(_ holds: Bool, _ what: String) throws(ImageError) {
            if !holds { throw ImageError(.invalidRequest, what) }
        }
        try demand(maxBytes >= 1_000, "maxBytes must be at least 1,000, and is \(maxBytes)")
        try demand(16...16_384 ~= maxEdge, "maxEdge must be 16...16,384, and is \(maxEdge)")
        try demand(maxPixels >= 1, "maxPixels must be at least 1, and is \(maxPixels)")
        let quality = effectiveQualities
        try demand(
            quality.lowerBound >= 1 && quality.upperBound <= 100,
            "qualities must be within 1...100, and are \(quality.lowerBound)...\(quality.upperBound)")
    }
}
