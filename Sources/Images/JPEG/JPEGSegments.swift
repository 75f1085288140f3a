/// The segments of a JPEG file, walked without decoding it: what it is made of, and where it really ends.
package struct JPEGSegments: Sendable {
    /// Pixels as stored, and how they are coded.
    package private(set) var width = 0
    package private(set) var height = 0
    package private(set) var components = 0
    package private(set) var isProgressive = false
    /// Parts that a decoder needs, without any that only describe, in order. They make a whole file.
    package private(set) var essential: [Range<Int>] = []
    /// Whether nothing but essential parts is in the file, and nothing after its end.
    package private(set) var isBare = true
    /// Whether it holds more than a plain copy would keep right: a colour profile, an orientation, an unusual colour
    /// space.
    package private(set) var needsDecoding = false
    /// Whether the end of the picture was reached.
    package private(set) var isComplete = false

    /// Walks the file. A file that is damaged is walked as far as it makes sense, and is not ``isComplete``.
    package init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 3, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return }
        essential.append(0..<2)
        var at = 2
        while let segment = Self.segment(bytes, at: at) {
            switch segment.marker {
            case 0xD9:
                essential.append(segment.range)
                isBare = isBare && segment.range.upperBound == bytes.count
                isComplete = width > 0 && height > 0
                return
            case 0xDA:
                let end = Self.endOfScan(bytes, from: segment.range.upperBound)
                essential.append(segment.range.lowerBound..<end)
                at = end
                continue
            case 0xE0...0xEF, 0xFE:
                look(atDescription: segment, bytes)
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                readFrame(segment, bytes)
                essential.append(segment.range)
            default:
                essential.append(segment.range)
            }
            at = segment.range.upperBound
        }
    }

    /// The file with nothing in it but what a decoder needs: the same picture, bit for bit.
    package func stripped(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        essential.flatMap { bytes[$0] }
    }
}

// MARK: - Walking
extension JPEGSegments {
    private struct Segment {
        let marker: UInt8
        let range: Range<Int>
        /// Where what the segment says begins: after the marker and its length.
        var content: Int { range.lowerBound + 4 }
    }

    private static func segment(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Segment? {
        guard start + 1 < bytes.count, bytes[start] == 0xFF else { return nil }
        let marker = bytes[start + 1]
        if marker == 0xD9 { return Segment(marker: marker, range: start..<start + 2) }
        guard marker >= 0xC0, start + 3 < bytes.count else { return nil }
        let length = Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])
        guard length >= 2, start + 2 + length <= bytes.count else { return nil }
        return Segment(marker: marker, range: start..<start + 2 + length)
    }

    /// The next marker that ends coded data: restarts and stuffed bytes belong to it.
    private static func endOfScan(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var at = start
        while at + 1 < bytes.count {
            if bytes[at] == 0xFF {
                let next = bytes[at + 1]
                if next != 0 && !(0xD0...0xD7 ~= next) && next != 0xFF { return at }
            }
            at += 1
        }
        return bytes.count
    }

    private mutating func readFrame(_ segment: Segment, _ bytes: UnsafeRawBufferPointer) {
        guard segment.range.count >= 10 else { return }
        let at = segment.content
        height = Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
        width = Int(bytes[at + 3]) << 8 | Int(bytes[at + 4])
        components = Int(bytes[at + 5])
        isProgressive = segment.marker == 0xC2
        // Only what every program reads is copied: 8 bits, baseline or progressive, grey or three colours.
        if bytes[at] != 8 || segment.marker > 0xC2 || (components != 1 && components != 3) { needsDecoding = true }
    }

    private mutating func look(atDescription segment: Segment, _ bytes: UnsafeRawBufferPointer) {
        let text = bytes[segment.content..<segment.range.upperBound]
        if segment.marker == 0xE0, text.starts(with: Array("JFIF\0".utf8)), segment.range.count == 18 {
            // 18 bytes: no thumbnail in it.
            essential.append(segment.range)
            return
        }
        isBare = false
        if segment.marker == 0xE2, text.starts(with: Array("ICC_PROFILE\0".utf8)) { needsDecoding = true }
        // Adobe's mark says how colours are coded. Where it says other than usual, a decoder has to sort it out.
        if segment.marker == 0xEE { needsDecoding = true }
    }
}
