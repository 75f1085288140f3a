/// Says before a photo is decoded whether that takes so much memory that it had better be done alone.
///
/// Measured: a decoder of baseline JPEG or PNG holds a few rows, one of progressive JPEG all coefficients (3 to 4 bytes
/// a pixel), one of HEIC and AVIF several whole pictures (about 10 bytes a pixel).
enum MemoryDemand {
    /// Bytes that decoding takes at its height, beside what a process takes anyway. A guess: nothing is refused for it.
    static func bytes(for photo: [UInt8]) -> Int {
        switch try? ImageFormat(of: photo) {
        case .heic, .avif: 10 * largestPicture(inHEIF: photo)
        case .jpeg:
            photo.withUnsafeBytes { bytes in
                let segments = JPEGSegments(UnsafeRawBufferPointer(rebasing: bytes.prefix(4 << 20)))
                return segments.isProgressive ? 4 * segments.width * segments.height : 0
            }
        default: 0
        }
    }

    /// Above this, one at a time.
    static let much = 200 << 20

    /// The most pixels that an `ispe` box (width and height of an item) in the file's metadata speaks of.
    private static func largestPicture(inHEIF photo: [UInt8]) -> Int {
        let head = photo.prefix(64 * 1024)
        let mark = Array("ispe".utf8)
        var largest = 0
        for at in head.indices.dropLast(15) where head[at] == mark[0] && head[at..<at + 4].elementsEqual(mark) {
            func number(_ start: Int) -> Int { head[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
            let (width, height) = (number(at + 8), number(at + 12))
            if width < 1 << 17 && height < 1 << 17 { largest = max(largest, width * height) }
        }
        return largest
    }
}
