import FoundationEssentials

/// The protocol between a pool and an `errand-image` process: frames in both directions.
///
/// A frame is the length of its header (4 bytes, big-endian), the header as JSON, and as many bytes as the header
/// announces. The process first sends a ``HelloMessage``. Then it replies to each ``RequestMessage``, with its photo
/// unless it is about a card, by a ``ResponseMessage`` with the result, and the variants by name. The end of its
/// standard input ends the process.
package enum Frame {
    /// Longer headers are refused: the peer isn't an `errand-image`.
    package static let longestHeader = 64 * 1024

    /// The length and the header, ready to be written; the announced bytes follow it.
    package static func head(_ header: some Encodable) throws -> [UInt8] {
        let json = try JSONEncoder().encode(header)
        let length = UInt32(json.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + json
    }

    /// The length that four bytes say, or nil if it is out of bounds.
    package static func headerLength(_ bytes: some Collection<UInt8>) -> Int? {
        let length = bytes.reduce(0) { $0 << 8 | Int($1) }
        return bytes.count == 4 && 1...longestHeader ~= length ? length : nil
    }

    package static func header<Header: Decodable>(_ type: Header.Type, from json: [UInt8]) throws -> Header {
        try JSONDecoder().decode(type, from: Data(json))
    }
}

/// Says that a process has entered its sandbox and accepts requests.
package struct HelloMessage: Codable, Sendable {
    /// Both sides must have the same version.
    package static let currentVersion = 3

    package var version = HelloMessage.currentVersion
    package var libvips: String

    package init(libvips: String) { self.libvips = libvips }
}

/// Requests the compression of one photo, whose bytes follow, or a card, for which none follow.
package struct RequestMessage: Codable, Sendable {
    package var request: ImageRequest
    /// What else is to be made of the photo, by name.
    package var variants: [String: ImageRequest]
    /// The card to draw; nil for a photo.
    package var card: CardRequest?
    /// How many bytes follow.
    package var bytes: Int
    /// The processor time in seconds that the photo may take.
    package var seconds: UInt64

    package init(
        request: ImageRequest, variants: [String: ImageRequest] = [:], card: CardRequest? = nil, bytes: Int,
        seconds: UInt64
    ) {
        self.request = request
        self.variants = variants
        self.card = card
        self.bytes = bytes
        self.seconds = seconds
    }
}

/// The outcome of a photo. The result's bytes follow, then those of the variants by name; none if it failed.
package struct ResponseMessage: Codable, Sendable {
    package var report: ImageReport?
    /// The reports of the variants, by name. Each says how many bytes follow.
    package var variants: [String: ImageReport]?
    /// How often the photo was decoded.
    package var decodes: Int?
    package var error: ImageError.Code?
    package var detail: String?
    /// How many bytes of the result follow.
    package var bytes: Int
    /// The peak resident memory of the process so far.
    package var peakBytes: UInt64

    package init(
        report: ImageReport, variants: [String: ImageReport] = [:], decodes: Int = 1, bytes: Int, peakBytes: UInt64
    ) {
        self.report = report
        self.decodes = decodes
        self.variants = variants
        self.bytes = bytes
        self.peakBytes = peakBytes
    }

    package init(error: ImageError, peakBytes: UInt64) {
        self.error = error.code
        self.detail = error.detail
        self.bytes = 0
        self.peakBytes = peakBytes
    }
}
