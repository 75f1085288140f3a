/// A picture that was made: its bytes, and what is to know of them.
public struct ImageResult: Sendable {
    /// The size, the quality, and the source.
    public let report: ImageReport
    /// The bytes of the file.
    public let bytes: [UInt8]

    package init(report: ImageReport, bytes: [UInt8]) {
        self.report = report
        self.bytes = bytes
    }
}

/// All pictures that were made of one photo.
public struct ImageResults: Sendable {
    /// The result.
    public let result: ImageResult
    /// The variants, by name.
    public let variants: [String: ImageResult]

    /// How often the photo was decoded, as the process says: once; twice if its profile could not be used.
    package let decodes: Int

    package init(result: ImageResult, variants: [String: ImageResult], decodes: Int) {
        self.result = result
        self.variants = variants
        self.decodes = decodes
    }
}
