/// The chunks of a PNG file, walked without unpacking any.
package struct PNGChunks: Sendable {
    /// Chunks other than texts, in order, each with its length, name and checksum. With the signature they make a whole
    /// file.
    private var kept: [Range<Int>] = [0..<8]
    /// Whether there are texts: they describe, and may be packed.
    package private(set) var hasText = false
    /// Whether the last chunk was reached.
    package private(set) var isComplete = false

    /// Walks the file as far as it makes sense.
    package init(_ bytes: UnsafeRawBufferPointer) {
        var at = 8
        while at + 12 <= bytes.count {
            let length = (0..<4).reduce(0) { $0 << 8 | Int(bytes[at + $1]) }
            let end = at + 12 + length
            guard end <= bytes.count else { return }
            let name = String(decoding: bytes[at + 4..<at + 8], as: UTF8.self)
            if ["tEXt", "zTXt", "iTXt"].contains(name) {
                hasText = true
            } else if let last = kept.last, last.upperBound == at {
                kept[kept.count - 1] = last.lowerBound..<end
            } else {
                kept.append(at..<end)
            }
            if name == "IEND" {
                isComplete = true
                return
            }
            at = end
        }
    }

    /// The file without its texts: the same picture.
    package func withoutText(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        kept.flatMap { bytes[$0] }
    }
}
