/// Why a picture could not be made. One open set of codes, stable over releases: they stand in `--json` and in job
/// rows.
package struct ImageError: Error, Hashable, Sendable {
    package struct Code: RawRepresentable, Codable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }
        private init(_ rawValue: String) { self.rawValue = rawValue }

        /// No bytes at all.
        package static let empty = Code("empty")
        /// Bytes that begin like no picture.
        package static let notAnImage = Code("not_an_image")
        /// A picture or document of a format that is not read: TIFF, BMP, SVG, PDF and the like.
        package static let unsupportedFormat = Code("unsupported_format")
        /// More pixels than the request allows. Nothing was decoded.
        package static let tooManyPixels = Code("too_many_pixels")
        /// More segments or scans than a photo has, so that it would take minutes. Nothing was decoded.
        package static let tooComplex = Code("too_complex")
        /// More bytes than the pool takes. Nothing was sent.
        package static let tooLargeInput = Code("too_large_input")
        /// The file ends before its picture does.
        package static let truncated = Code("truncated")
        /// The file can't be decoded.
        package static let corrupt = Code("corrupt")
        /// Not even the smallest size has few enough bytes.
        package static let cannotFit = Code("cannot_fit")
        /// An option is out of its bounds.
        package static let invalidRequest = Code("invalid_request")
        /// Decoding needs more memory than a process may have.
        package static let memoryLimit = Code("memory_limit")
        /// The process took longer than it may, and was ended.
        package static let timeLimit = Code("time_limit")
        /// The process died of the picture.
        package static let crashed = Code("crashed")
        /// `errand-image` can't be started. The detail says the mend.
        package static let unavailable = Code("unavailable")
        /// The source can't be read, or the result can't be written.
        package static let fileAccess = Code("file_access")
    }

    package let code: Code
    /// For logs: what libvips or the system said. Bounded, one line.
    package let detail: String

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        let line = detail.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : Character($0) }
        self.detail = String(String(line).prefix(500))
    }

    /// Whether trying the same bytes again is of no use.
    package var isPermanent: Bool {
        let passing: Set<Code> = [.timeLimit, .crashed, .unavailable, .fileAccess]
        return !passing.contains(code)
    }
}

extension ImageError: CustomStringConvertible {
    package var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
