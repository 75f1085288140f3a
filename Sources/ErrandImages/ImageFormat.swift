/// A format that can be read. The first bytes of a file decide, and never its name.
public enum ImageFormat: String, Codable, CaseIterable, Sendable {
    case jpeg, png, webp, gif, heic, avif

    /// Detects the format from the first 32 bytes.
    ///
    /// - Throws: ``ImageError/Code/empty``, ``ImageError/Code/unsupportedFormat`` if the bytes begin like a picture
    ///   or document of a format that is not read, and ``ImageError/Code/notAnImage`` else.
    public init(of bytes: some Collection<UInt8>) throws(ImageError) {
        let head = Array(bytes.prefix(32))
        func begins(with text: String, at offset: Int = 0) -> Bool {
            head.dropFirst(offset).starts(with: text.utf8)
        }
        if head.isEmpty { throw ImageError(.empty) }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if begins(with: "GIF87a") || begins(with: "GIF89a") {
            self = .gif
        } else if begins(with: "RIFF") && begins(with: "WEBP", at: 8) {
            self = .webp
        } else if begins(with: "ftyp", at: 4), let format = Self.ofBrands(head) {
            self = format
        } else if let other = Self.others.first(where: { head.starts(with: $0.magic) }) {
            throw ImageError(.unsupportedFormat, other.name)
        } else {
            throw ImageError(.notAnImage)
        }
    }

    /// The loader that libvips must choose for these bytes as well.
    package var loader: String {
        switch self {
        case .jpeg: "VipsForeignLoadJpegBuffer"
        case .png: "VipsForeignLoadPngBuffer"
        case .webp: "VipsForeignLoadWebpBuffer"
        case .gif: "VipsForeignLoadNsgifBuffer"
        case .heic, .avif: "VipsForeignLoadHeifBuffer"
        }
    }

    /// Whether the file ends before the end that its own structure speaks of. Only for PNG and WebP: of the others, the
    /// decoders say it.
    package func isCutShort(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .png: !PNGChunks(bytes).isComplete
        case .webp: bytes.count < 8 + (4..<8).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
        default: false
        }
    }

    /// The major brand, or where that is one of the general ones, the first of the compatible brands that decides.
    private static func ofBrands(_ head: [UInt8]) -> ImageFormat? {
        let brands = stride(from: 8, to: head.count - 3, by: 4).filter { $0 != 12 }.map {
            String(decoding: head[$0..<$0 + 4], as: UTF8.self)
        }
        for brand in brands {
            switch brand {
            case "avif", "avis": return .avif
            case "heic", "heix", "heim", "heis", "hevc", "hevx": return .heic
            case "mif1", "msf1", "miaf": continue
            default: return nil
            }
        }
        return brands.first.map { $0 == "mif1" || $0 == "msf1" } == true ? .heic : nil
    }

    private static let others: [(name: String, magic: [UInt8])] = [
        ("TIFF", [0x49, 0x49, 0x2A, 0x00]), ("TIFF", [0x4D, 0x4D, 0x00, 0x2A]), ("BMP", Array("BM".utf8)),
        ("PDF", Array("%PDF".utf8)), ("PostScript", Array("%!".utf8)), ("PSD", Array("8BPS".utf8)),
        ("SVG or XML", Array("<?xml".utf8)), ("SVG", Array("<svg".utf8)), ("MVG", Array("push graphic-context".utf8)),
        ("JPEG XL", [0xFF, 0x0A]), ("JPEG XL", [0, 0, 0, 0x0C] + Array("JXL ".utf8)),
        ("JPEG 2000", [0, 0, 0, 0x0C] + Array("jP  ".utf8)), ("video", [0, 0, 0] + [0x18] + Array("ftyp".utf8)),
        ("OpenEXR", [0x76, 0x2F, 0x31, 0x01]), ("icon", [0, 0, 1, 0]),
    ]
}
