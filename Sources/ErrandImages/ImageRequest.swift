/// What a picture is compressed to: a format, fewer bytes than a budget, and a longest side.
///
/// ```swift
/// var request = ImageRequest()
/// request.maxBytes = 200_000
/// request.maxEdge = 1_600
/// request.format = .webp
/// ```
public struct ImageRequest: Codable, Hashable, Sendable {
    /// The result's format. Every current phone and browser reads all three.
    public enum Format: String, Codable, CaseIterable, Sendable {
        case jpeg, webp, avif
    }

    /// An sRGB colour, 0...255 each.
    public struct Colour: Codable, Hashable, Sendable {
        public var red: UInt8
        public var green: UInt8
        public var blue: UInt8

        public init(red: UInt8, green: UInt8, blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        public static let white = Colour(red: 255, green: 255, blue: 255)
    }

    /// The budget: the result has fewer bytes than this. At least 1,000. Default 500,000.
    public var maxBytes = 500_000
    /// Most pixels on the longer side of the result, 16...16,384. Default 2,560. A smaller picture is never enlarged.
    public var maxEdge = 2_560
    /// The result's format. Default JPEG.
    public var format = Format.jpeg
    /// Qualities to choose from, 1...100. Where the lowest has too many bytes, the picture is made smaller, down to
    /// 1,600 pixels; there the quality falls to 50 before the picture gets smaller still.
    ///
    /// Default nil: 72...100 for JPEG, 70...92 for WebP, 45...80 for AVIF. For JPEG, 1...91 are the encoder's
    /// qualities; from 92 on colour is kept at every pixel, at an encoder's quality of four less.
    public var qualities: ClosedRange<Int>?
    /// The colour behind transparent pixels. Default white.
    public var background = Colour.white
    /// Most pixels of the source, width times height. Default 100,000,000. More are refused before they are decoded.
    public var maxPixels = 100_000_000

    /// A JPEG of fewer than 500,000 bytes, with at most 2,560 pixels on its longer side.
    public init() {}
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

    /// Throws ``ImageError/Code/invalidRequest``, with the variant and the option, where one is out of its bounds.
    package static func check(_ variants: [String: ImageRequest]) throws(ImageError) {
        guard variants.count <= mostVariants else {
            throw ImageError(.invalidRequest, "at most \(mostVariants) variants, got \(variants.count)")
        }
        for (name, request) in variants {
            guard 1...64 ~= name.utf8.count else {
                throw ImageError(.invalidRequest, "a variant's name must have 1...64 bytes, and has \(name.utf8.count)")
            }
            do { try request.check() } catch { throw error.of(variant: name) }
        }
    }

    /// Most variants of one photo.
    package static let mostVariants = 8

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
