/// Estimates the memory that decoding a photo takes.
///
/// Measured: a decoder of baseline JPEG or PNG holds a few rows, one of progressive JPEG all coefficients (3 to 4 bytes
/// a pixel), one of HEIC and AVIF several whole pictures (about 10 bytes a pixel).
enum MemoryDemand {
    /// The estimated peak memory of decoding, in bytes, beside that of an idle process. No photo is refused because of
    /// it.
    static func bytes(for photo: [UInt8]) -> Int {
        switch try? ImageFormat(of: photo) {
        case .heic, .avif: 10 * (HEIFSizes.all(in: photo).map { $0.width * $0.height }.max() ?? 0)
        case .jpeg:
            photo.withUnsafeBytes { bytes in
                let segments = JPEGSegments(UnsafeRawBufferPointer(rebasing: bytes.prefix(4 << 20)))
                return segments.isProgressive ? 4 * segments.width * segments.height : 0
            }
        default: 0
        }
    }
}
