/// The chunks of a WebP file.
package enum WebPChunks {
    /// The file with its picture alone: the first chunk of pixels, without EXIF, XMP or profile.
    ///
    /// Only for files without transparency and animation. Nil if there is no such chunk.
    package static func pictureAlone(_ file: [UInt8]) -> [UInt8]? {
        var start = 12
        while start + 8 <= file.count {
            let count = file[start + 4..<start + 8].reversed().reduce(0) { $0 << 8 | Int($1) }
            // A chunk of an odd size is followed by a zero.
            let end = start + 8 + count + count % 2
            guard end <= file.count else { return nil }
            if ["VP8 ", "VP8L"].contains(String(decoding: file[start..<start + 4], as: UTF8.self)) {
                let size = UInt32(end - start + 4)
                let bytes = (0..<4).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
                return Array("RIFF".utf8) + bytes + Array("WEBP".utf8) + file[start..<end]
            }
            start = end
        }
        return nil
    }
}
