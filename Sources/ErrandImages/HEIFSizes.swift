/// The sides of the pictures in a HEIC or AVIF file, from its metadata: each item has a box `ispe`.
enum HEIFSizes {
    /// The sides in the first 64 KiB, which have the metadata. A box with a side of more than 2^17 pixels is ignored.
    static func all(in file: [UInt8]) -> [PixelSize] {
        let head = file.prefix(64 * 1024)
        let mark = Array("ispe".utf8)
        var sizes: [PixelSize] = []
        for at in head.indices.dropLast(15) where head[at] == mark[0] && head[at..<at + 4].elementsEqual(mark) {
            func number(_ start: Int) -> Int { head[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
            let (width, height) = (number(at + 8), number(at + 12))
            if width < 1 << 17 && height < 1 << 17 { sizes.append(PixelSize(width: width, height: height)) }
        }
        return sizes
    }
}
