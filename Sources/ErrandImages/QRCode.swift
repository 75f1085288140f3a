import CPNG
import CQREncode

#if canImport(Glibc)
import Glibc
#endif

/// A QR code of a text, such as a link, to show or to print.
///
/// ```swift
/// let code = try QRCode("https://example.com/join/6c1d")
/// let image = try code.png(pixels: 512)
/// ```
///
/// At 2 cm on paper, a text of at most 150 bytes can be read even from a blurred scan of 300 dpi. A longer text has
/// smaller modules: print it larger. The symbol is the smallest that holds the text.
public struct QRCode: Hashable, Sendable {
    /// How much of the symbol may be unreadable. More correction takes more modules.
    public enum Correction: String, Codable, CaseIterable, Sendable {
        /// 7 %.
        case low
        /// 15 %.
        case medium
        /// 25 %.
        case quartile
        /// 30 %.
        case high

        /// The longest text, in bytes of UTF-8: that of version 40. With characters other than ASCII, it is 2 bytes
        /// less.
        public var longestText: Int {
            switch self {
            case .low: 2_953
            case .medium: 2_331
            case .quartile: 1_663
            case .high: 1_273
            }
        }

        fileprivate var level: QRecLevel {
            switch self {
            case .low: QR_ECLEVEL_L
            case .medium: QR_ECLEVEL_M
            case .quartile: QR_ECLEVEL_Q
            case .high: QR_ECLEVEL_H
            }
        }
    }

    /// The light margin on each side, in modules.
    public static let quietZone = 4
    /// The largest side of a PNG, in pixels.
    public static let largestSide = 4_096

    /// The text, as readers return it.
    public let text: String
    /// How much of the symbol may be unreadable.
    public let correction: Correction
    /// The side of the symbol without its quiet zone, in modules: 21...177.
    public let side: Int
    /// Whether each module is dark, row by row.
    private let modules: [Bool]

    /// - Parameters:
    ///   - text: 1 byte of UTF-8 up to ``Correction/longestText``.
    ///   - correction: how much of the symbol may be unreadable.
    /// - Throws: ``ImageError/Code/invalidRequest`` with the limit and the length of a text that is out of bounds.
    public init(_ text: String, correction: Correction = .medium) throws(ImageError) {
        let bytes = Array(text.utf8)
        let isASCII = bytes.allSatisfy { $0 < 128 }
        let longest = correction.longestText - (isASCII ? 0 : 2)
        guard 1...longest ~= bytes.count else {
            throw ImageError(
                .invalidRequest,
                "text must have 1...\(longest) bytes of UTF-8 with \(correction) error correction, "
                    + "and has \(bytes.count)")
        }
        guard let symbol = Self.encode(bytes, isASCII: isASCII, correction.level) else {
            let reason = errno
            throw ImageError(reason == ENOMEM ? .memoryLimit : .invalidRequest, "libqrencode: error \(reason)")
        }
        defer { QRcode_free(symbol) }
        self.text = text
        self.correction = correction
        side = Int(symbol.pointee.width)
        // The lowest bit is the colour. The others say what the module is for.
        modules = UnsafeBufferPointer(start: symbol.pointee.data, count: side * side).map { $0 & 1 == 1 }
    }

    /// The smallest PNG, in pixels on a side: one for each module of the symbol and its quiet zone.
    public var smallestSide: Int { side + 2 * Self.quietZone }

    /// The code as SVG, black on white, that scales to any size.
    public func svg() -> String {
        let path = runs.map { "M\($0.x + Self.quietZone) \($0.y + Self.quietZone)h\($0.length)v1h-\($0.length)z" }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(smallestSide) \(smallestSide)" \
            shape-rendering="crispEdges"><path fill="#fff" d="M0 0h\(smallestSide)v\(smallestSide)H0z"/>\
            <path d="\(path.joined())"/></svg>

            """
    }

    /// The code as PNG, black on white, 1 bit a pixel.
    ///
    /// All modules have the same whole number of pixels. What remains widens the quiet zone.
    ///
    /// - Parameter pixels: the side, ``smallestSide`` up to ``largestSide``.
    /// - Throws: ``ImageError/Code/invalidRequest`` with the bounds if the side is out of them.
    public func png(pixels: Int = 512) throws(ImageError) -> [UInt8] {
        guard smallestSide...Self.largestSide ~= pixels else {
            throw ImageError(
                .invalidRequest,
                "pixels must be \(smallestSide)...\(Self.largestSide) for this text, and is \(pixels)")
        }
        let scale = pixels / smallestSide
        let margin = (pixels - side * scale) / 2
        var dots = [UInt8](repeating: 1, count: pixels * pixels)
        for run in runs {
            let start = margin + run.x * scale
            for y in margin + run.y * scale..<margin + (run.y + 1) * scale {
                for x in start..<start + run.length * scale { dots[y * pixels + x] = 0 }
            }
        }
        return try Self.encode(dots, side: pixels)
    }

    /// The symbol of the bytes; nil with `errno` if it can't be made.
    private static func encode(_ bytes: [UInt8], isASCII: Bool, _ level: QRecLevel) -> UnsafeMutablePointer<QRcode>? {
        guard let input = QRinput_new2(0, level) else { return nil }
        defer {
            let reason = errno
            QRinput_free(input)
            errno = reason
        }
        // Without the number of UTF-8, readers guess the encoding: `ä` alone is read as a Chinese character.
        if !isASCII, QRinput_appendECIheader(input, 26) != 0 { return nil }
        // As bytes: as a C string, the text would end at its first NUL.
        guard QRinput_append(input, QR_MODE_8, Int32(bytes.count), bytes) == 0 else { return nil }
        return QRcode_encodeInput(input)
    }

    /// The dark modules, as runs in a row.
    private var runs: [(x: Int, y: Int, length: Int)] {
        (0..<side).flatMap { y in
            let row = modules[y * side..<(y + 1) * side]
            return row.split(separator: false).map { (x: $0.startIndex - y * side, y: y, length: $0.count) }
        }
    }

    /// A PNG of a square whose dots are 0 for black and 1 for white. libpng packs two colours into bits.
    private static func encode(_ dots: [UInt8], side: Int) throws(ImageError) -> [UInt8] {
        var image = png_image()
        image.version = UInt32(PNG_IMAGE_VERSION)
        image.width = UInt32(side)
        image.height = UInt32(side)
        image.format = UInt32(PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_COLORMAP)
        image.colormap_entries = 2
        defer { png_image_free(&image) }
        let colours: [UInt8] = [0, 0, 0, 255, 255, 255]
        // Enough for any such image: its bits, a byte a row, and what libpng and zlib add to them.
        var file = [UInt8](repeating: 0, count: side * (side / 8 + 2) + side * side / 256 + 4_096)
        var count = file.count
        guard png_image_write_to_memory(&image, &file, &count, 0, dots, 0, colours) != 0 else {
            let message = withUnsafeBytes(of: image.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            throw ImageError(.memoryLimit, "libpng: \(message)")
        }
        return Array(file.prefix(count))
    }
}
