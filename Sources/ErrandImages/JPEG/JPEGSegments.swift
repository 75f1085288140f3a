#if canImport(Glibc)
import Glibc
#endif

/// The segments of a JPEG file, read without decoding: its parts, and the work of a decoder.
///
/// The list has at least the segments that libjpeg reads. Like libjpeg, it skips bytes between two segments.
package struct JPEGSegments: Sendable {
    /// No photo has more: a long colour profile has 255 segments, a long description some hundreds.
    package static let mostSegments = 2_000
    /// Scans that libvips decodes, at most. A progressive photo has about 10.
    package static let mostScans = 100
    /// Pixels that all scans together pass over, at most: 2 s of work, and 50 scans of 100 megapixels.
    package static let mostPasses = 5_000_000_000

    /// Pixels as stored, and how they are coded.
    package private(set) var width = 0
    package private(set) var height = 0
    package private(set) var components = 0
    package private(set) var isProgressive = false
    /// Segments that are no scans.
    package private(set) var segments = 0
    package private(set) var scans = 0
    /// Whether it holds more than a plain copy would keep right: a colour profile, an orientation, an unusual colour
    /// space.
    package private(set) var needsDecoding = false
    /// Whether the end of the picture was reached.
    package private(set) var isComplete = false

    /// Walks the file. A file that is damaged is walked as far as it makes sense, and is not ``isComplete``.
    package init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 3, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return }
        var at = 2
        while let marker = Self.marker(bytes, from: at) {
            at = marker.end
            switch marker.code {
            case 0xD9:
                isComplete = width > 0 && height > 0
                return
            // No length follows these. libjpeg stops at most of them, and skips the others.
            case 0x01...0xBF, 0xD0...0xD8: continue
            default: break
            }
            guard at + 1 < bytes.count else { return }
            let length = Int(bytes[at]) << 8 | Int(bytes[at + 1])
            guard length >= 2, at + length <= bytes.count else { return }
            let content = at + 2..<at + length
            at += length
            if marker.code == 0xDA { scans += 1 } else { segments += 1 }
            read(marker.code, UnsafeRawBufferPointer(rebasing: bytes[content]))
        }
    }

    /// Why a decoder would have too much work; nil if it wouldn't.
    package var excess: String? {
        if segments > Self.mostSegments { return "\(segments) segments, at most \(Self.mostSegments)" }
        if scans > Self.mostScans { return "\(scans) scans, at most \(Self.mostScans)" }
        // No overflow: both sides have 16 bits.
        if scans * width * height > Self.mostPasses {
            return "\(scans) scans of \(width) x \(height), at most \(Self.mostPasses) pixels in all"
        }
        return nil
    }
}

// MARK: - Walking
extension JPEGSegments {
    /// The next marker from there on, and where what follows it begins. Stuffed bytes, restarts and fill bytes are
    /// none: so the data of a scan is skipped as well.
    private static func marker(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (code: UInt8, end: Int)? {
        guard let base = bytes.baseAddress else { return nil }
        var at = start
        // The last byte begins no marker.
        while at + 1 < bytes.count, let found = memchr(base + at, 0xFF, bytes.count - 1 - at) {
            at = UnsafeRawPointer(found) - base + 1
            let code = bytes[at]
            if code != 0, code != 0xFF, !(0xD0...0xD7 ~= code) { return (code, at + 1) }
        }
        return nil
    }

    private mutating func read(_ code: UInt8, _ content: UnsafeRawBufferPointer) {
        switch code {
        case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
            readFrame(code, content)
        // A colour profile, or Adobe's mark, which says how colours are coded.
        case 0xE2 where content.starts(with: Array("ICC_PROFILE\0".utf8)), 0xEE:
            needsDecoding = true
        default: break
        }
    }

    private mutating func readFrame(_ code: UInt8, _ content: UnsafeRawBufferPointer) {
        guard content.count >= 6 else { return }
        // Only the first counts for a decoder; the larger one counts for the work.
        height = max(height, Int(content[1]) << 8 | Int(content[2]))
        width = max(width, Int(content[3]) << 8 | Int(content[4]))
        components = Int(content[5])
        isProgressive = code == 0xC2
        // Only what every program reads is copied: 8 bits, baseline or progressive, grey or three colours.
        if content[0] != 8 || code > 0xC2 || (components != 1 && components != 3) { needsDecoding = true }
    }
}
