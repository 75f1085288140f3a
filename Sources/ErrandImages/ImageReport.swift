/// The result of a compression, beside its bytes.
public struct ImageReport: Codable, Hashable, Sendable {
    /// Size of the result.
    public var bytes: Int
    /// Pixels of the result, upright.
    public var width: Int
    /// Pixels of the result, upright.
    public var height: Int
    /// The encoder's quality, 1...100. Nil if the source was small enough: its own pixels are the result.
    public var quality: Int?
    /// How often the picture was encoded to find that quality. 0 if its own pixels were kept.
    public var encodes: Int
    /// From the first byte sent to the last byte received. The wait for a free process is not included.
    public var milliseconds: Double
    /// The result's format.
    public var format: ImageRequest.Format
    /// The source's format, by its first bytes.
    public var sourceFormat: ImageFormat
    /// Pixels as the source stores them, before it is turned upright.
    public var sourceWidth: Int
    /// Pixels as the source stores them, before it is turned upright.
    public var sourceHeight: Int
    /// Size of the source.
    public var sourceBytes: Int

    package init(
        bytes: Int, width: Int, height: Int, quality: Int?, encodes: Int, milliseconds: Double,
        format: ImageRequest.Format, sourceFormat: ImageFormat, sourceWidth: Int, sourceHeight: Int, sourceBytes: Int
    ) {
        self.bytes = bytes
        self.width = width
        self.height = height
        self.quality = quality
        self.encodes = encodes
        self.milliseconds = milliseconds
        self.format = format
        self.sourceFormat = sourceFormat
        self.sourceWidth = sourceWidth
        self.sourceHeight = sourceHeight
        self.sourceBytes = sourceBytes
    }
}
