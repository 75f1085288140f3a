import ErrandImages
import ErrandTestKit
import Foundation
import Testing

/// Inputs of people, broken networks and attackers. Each gets the right error and does no harm.
@Suite("Hostile and odd inputs", .serialized) struct HostileInputTests {
    struct Input: Sendable, CustomTestStringConvertible {
        let name: String
        /// nil if a result is expected.
        let verdict: ImageError.Code?
        let make: @Sendable () throws -> [UInt8]
        var testDescription: String { name }

        init(_ name: String, _ verdict: ImageError.Code?, _ make: @escaping @Sendable () throws -> [UInt8]) {
            (self.name, self.verdict, self.make) = (name, verdict, make)
        }
    }

    static let inputs: [Input] = [
        Input("no bytes", .empty) { [] },
        Input("one byte", .notAnImage) { [0xFF] },
        Input("random bytes", .notAnImage) { [1] + (0..<100_000).map { _ in UInt8.random(in: 0...255) } },
        Input("a tenth of a JPEG", .truncated) { try part(of: Samples.dune, 0.1) },
        Input("half of a JPEG", .truncated) { try part(of: Samples.dune, 0.5) },
        Input("nearly all of a JPEG", .truncated) { try part(of: Samples.dune, 0.99) },
        Input("half of a PNG", .truncated) { try half(Samples.magick("-size 400x300 plasma:", as: "png")) },
        Input("half of a WebP", .truncated) { try half(Samples.magick("-size 400x300 plasma:", as: "webp")) },
        Input("half of a GIF", .truncated) { try half(Samples.magick("-size 400x300 plasma:", as: "gif")) },
        Input("a PNG of 50,000 x 50,000", .tooManyPixels) { PNG(width: 50_000, height: 50_000).bytes },
        Input("a progressive JPEG of 20,000 x 20,000", .tooManyPixels) { try resized(Samples.elephants, to: 20_000) },
        Input("noise", nil) { try Samples.magick("-size 900x700 xc: +noise Random -quality 98") },
        Input("a GIF of many frames", nil) {
            try Samples.magick("-size 200x200 xc:red $(yes 'xc:blue' | head -n 60)", as: "gif")
        },
        Input("an SVG that reads a file", .unsupportedFormat) {
            Array(#"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>"#.utf8)
        },
        Input("an SVG", .unsupportedFormat) { Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8) },
        Input("a PDF", .unsupportedFormat) { Array("%PDF-1.7\n".utf8) },
        Input("PostScript", .unsupportedFormat) { Array("%!PS-Adobe-3.0 EPSF-3.0\n".utf8) },
        Input("MVG", .unsupportedFormat) { Array("push graphic-context\nfill 'url(https://x/\"|ls\")'".utf8) },
        Input("a TIFF", .unsupportedFormat) { try Samples.magick("-size 40x30 plasma:", as: "tiff") },
        Input("a BMP", .unsupportedFormat) { try Samples.magick("-size 40x30 plasma:", as: "bmp") },
        Input("a JPEG with an archive behind it", nil) {
            try Samples.magick("-size 400x300 plasma:") + Array("PK\u{3}\u{4}<html>SECRET</html>".utf8)
        },
        Input("1 x 1", nil) { PNG(width: 1, height: 1).bytes },
        Input("1 x 65,535", nil) { PNG(width: 1, height: 65_535).bytes },
        Input("65,535 x 1", nil) { PNG(width: 65_535, height: 1).bytes },
        Input("a CMYK JPEG", nil) { try Samples.magick("-size 400x300 plasma: -colorspace CMYK") },
        Input("16 bits", nil) { try Samples.magick("-size 400x300 plasma: -depth 16", as: "png48") },
        Input("grey with alpha", nil) {
            try Samples.magick("-size 400x300 plasma: -colorspace Gray -alpha on", as: "png")
        },
        Input("a palette", nil) { try Samples.magick("-size 400x300 plasma: -colors 16", as: "png8") },
        Input("a profile that is none", nil) { try withProfile([UInt8](repeating: 7, count: 300)) },
        Input("a profile of 3 MB", nil) { try withProfile((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0) }) },
        Input("a JPEG with 100,000 descriptions", .tooComplex) {
            CraftedJPEG(width: 100, height: 80, descriptions: 100_000).bytes
        },
        Input("a progressive JPEG with 5,000 scans of 9,999 x 9,999", .tooComplex) {
            CraftedJPEG(width: 9_999, height: 9_999, scans: 5_000).bytes
        },
        Input("a progressive JPEG with as many scans as may be", nil) {
            CraftedJPEG(width: 7_000, height: 7_000, scans: 90).bytes
        },
        Input("a PNG with 100,000 texts", nil) {
            PNG(width: 100, height: 100, text: ("tEXt", Array("key\0value".utf8)), texts: 100_000).bytes
        },
        Input("a PNG with texts that unpack to gigabytes", nil) {
            let packed = try Samples.run("sh", "-c", hundredMegabytesPacked)
            return PNG(width: 100, height: 100, text: ("zTXt", Array("k\0\0".utf8) + packed), texts: 20).bytes
        },
    ]

    @Test("get the verdict that they deserve, by `make faults` within 5 seconds", arguments: inputs)
    func verdict(input: Input) async throws {
        let bytes = try input.make()
        let pool = ImageProcessPool.forTests()
        let begin = ContinuousClock.now
        do {
            let (report, result) = try await pool.compress(bytes)
            #expect(input.verdict == nil)
            #expect(result.count < 500_000)
            #expect(try Samples.pixels(result).count == report.width * report.height * 3)
            #expect(!String(decoding: result, as: UTF8.self).contains("SECRET"))
        } catch let error as ImageError {
            #expect(error.code == input.verdict, "\(error)")
            #expect(error.isPermanent)
        }
        #expect(begin.duration(to: .now) < .seconds(5) || !Hardness.isFull)
    }

    @Test("a photo whose bits are flipped anywhere never harms the next one")
    func flippedBits() async throws {
        let pool = ImageProcessPool.forTests()
        var numbers = SystemRandomNumberGenerator()
        for type in ["jpg", "png", "webp", "gif"] {
            let whole = try Samples.magick("-size 64x48 plasma:", as: type)
            for _ in 0..<8 {
                var photo = whole
                for _ in 0..<3 {
                    photo[Int.random(in: 12..<photo.count, using: &numbers)] ^=
                        1 << UInt8.random(in: 0...7, using: &numbers)
                }
                do { _ = try await pool.compress(photo) } catch let error as ImageError {
                    #expect(error.code != .unavailable)
                }
            }
            #expect(try await pool.compress(whole).bytes.count > 0)
        }
    }
}

// MARK: - Crafted inputs
extension HostileInputTests {
    private static let hundredMegabytesPacked =
        "perl -MCompress::Zlib -e 'print compress(chr(0) x 100_000_000, 9)'"

    private static func part(of path: String, _ share: Double) throws -> [UInt8] {
        let bytes = try Samples.bytes(path)
        return Array(bytes.prefix(Int(Double(bytes.count) * share)))
    }

    private static func half(_ bytes: [UInt8]) -> [UInt8] { Array(bytes.prefix(bytes.count / 2)) }

    /// The photo with other sizes in its header.
    private static func resized(_ path: String, to edge: Int) throws -> [UInt8] {
        var bytes = try Samples.bytes(path)
        // A frame of 8 bits, 3,172 lines.
        let mark: [UInt8] = [0xFF, 0xC2, 0, 17, 8, 12, 100]
        let frame = try #require(bytes.indices.dropLast(9).first { bytes[$0...].starts(with: mark) })
        for at in [frame + 5, frame + 7] { (bytes[at], bytes[at + 1]) = (UInt8(edge >> 8), UInt8(edge & 0xFF)) }
        return bytes
    }

    private static func withProfile(_ profile: [UInt8]) throws -> [UInt8] {
        let photo = try Samples.magick("-size 400x300 plasma: -strip")
        let parts = stride(from: 0, to: profile.count, by: 65_000).map {
            Array(profile[$0..<min($0 + 65_000, profile.count)])
        }
        let segments = parts.enumerated().flatMap { index, part in
            let length = part.count + 16
            return [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 0xFF)] + Array("ICC_PROFILE\0".utf8)
                + [UInt8(index + 1), UInt8(parts.count)] + part
        }
        return Array(photo.prefix(2)) + segments + photo.dropFirst(2)
    }

    /// A black PNG of any size with one bit per pixel, in a few bytes.
    struct PNG {
        let width: Int
        let height: Int
        /// The text that it has, and how often.
        var text: (name: String, content: [UInt8]) = ("tEXt", [])
        var texts = 0

        var bytes: [UInt8] {
            let row = 1 + (width + 7) / 8
            let rows =
                row * height > 10_000_000
                ? [UInt8](repeating: 0, count: 10) : [UInt8](repeating: 0, count: row * height)
            return [0x89] + Array("PNG\r\n\u{1A}\n".utf8)
                + chunk("IHDR", number(width) + number(height) + [1, 0, 0, 0, 0])
                + [[UInt8]](repeating: chunk(text.name, text.content), count: texts).joined()
                + chunk("IDAT", stored(rows)) + chunk("IEND", [])
        }

        private func number(_ value: Int) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        }

        private func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
            let body = Array(name.utf8) + content
            var sum: UInt32 = .max
            for byte in body {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
            }
            return number(content.count) + body + number(Int(~sum))
        }

        /// zlib's format without compression.
        private func stored(_ bytes: [UInt8]) -> [UInt8] {
            var (low, high) = (1, 0)
            for byte in bytes {
                low = (low + Int(byte)) % 65_521
                high = (high + low) % 65_521
            }
            let parts = stride(from: 0, to: bytes.count, by: 65_535).flatMap { start in
                let part = bytes[start..<min(start + 65_535, bytes.count)]
                let (length, isLast) = (part.count, start + 65_535 >= bytes.count)
                return [
                    isLast ? 1 : 0, UInt8(length & 0xFF), UInt8(length >> 8), UInt8(~length & 0xFF),
                    UInt8(~length >> 8 & 0xFF),
                ]
                    + Array(part)
            }
            return [0x78, 0x01] + parts + number(high << 16 | low)
        }
    }
}
