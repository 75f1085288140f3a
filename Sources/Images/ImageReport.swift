/// What became of a picture.
package struct ImageReport: Codable, Hashable, Sendable {
    /// Size of the result.
    package var bytes: Int
    /// Pixels of the result, upright.
    package var width: Int
    package var height: Int
    /// The encoder's quality; nil where the source's own pixels were kept, untouched by an encoder.
    package var quality: Int?
    /// How often the picture was encoded to find that quality. 0 where its own pixels were kept.
    package var encodes: Int
    /// From the first byte sent to the result complete; the wait for a free process is not in it.
    package var milliseconds: Double
    package var format: ImageRequest.Format
    package var sourceFormat: ImageFormat
    /// Pixels as the source stores them, before it is turned upright.
    package var sourceWidth: Int
    package var sourceHeight: Int
    package var sourceBytes: Int

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
