/// Why a picture could not be made.
///
/// The codes are stable over releases. More may come: compare, and have a default.
public struct ImageError: Error, Hashable, Sendable {
    /// What kind of failure it was, in one word that can be stored.
    public struct Code: RawRepresentable, Codable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
        private init(_ rawValue: String) { self.rawValue = rawValue }

        /// No bytes at all.
        public static let empty = Code("empty")
        /// The first bytes are those of no known format.
        public static let notAnImage = Code("not_an_image")
        /// A picture or document of a format that is not read: TIFF, BMP, SVG, PDF and the like.
        public static let unsupportedFormat = Code("unsupported_format")
        /// More pixels than the request allows. Nothing was decoded.
        public static let tooManyPixels = Code("too_many_pixels")
        /// More segments or scans than a photo has, so that it would take minutes. Nothing was decoded.
        public static let tooComplex = Code("too_complex")
        /// More bytes than the pool takes. Nothing was sent.
        public static let tooLargeInput = Code("too_large_input")
        /// The file ends before its picture does.
        public static let truncated = Code("truncated")
        /// The file can't be decoded.
        public static let corrupt = Code("corrupt")
        /// Not even the smallest size has few enough bytes.
        public static let cannotFit = Code("cannot_fit")
        /// An option is out of its bounds.
        public static let invalidRequest = Code("invalid_request")
        /// Decoding needs more memory than a process may have.
        public static let memoryLimit = Code("memory_limit")
        /// The child process spent its processor time and was killed.
        public static let timeLimit = Code("time_limit")
        /// The wall clock ran out before the child process was done, as on a busy host: that says nothing of the
        /// picture.
        public static let timedOut = Code("timed_out")
        /// The child process crashed on the picture.
        public static let crashed = Code("crashed")
        /// `errand-image` can't be started. The detail says how to fix that.
        public static let unavailable = Code("unavailable")
        /// The source can't be read, or the result can't be written.
        public static let fileAccess = Code("file_access")
    }

    /// What kind of failure it was.
    public let code: Code
    /// For logs: what libvips or the system said. One line, at most 500 characters.
    public let detail: String

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        let line = detail.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : Character($0) }
        self.detail = String(String(line).prefix(500))
    }

    /// The same error, as that of a variant.
    package func of(variant name: String) -> ImageError { ImageError(code, "variant \(name): \(detail)") }

    /// Whether the same bytes would fail again. False if a retry may succeed: time limit, timeout, crash, files, no
    /// program.
    public var isPermanent: Bool {
        let passing: Set<Code> = [.timeLimit, .timedOut, .crashed, .unavailable, .fileAccess]
        return !passing.contains(code)
    }
}

extension ImageError: CustomStringConvertible {
    public var description: String { detail.isEmpty ? code.rawValue : "\(code.rawValue): \(detail)" }
}
