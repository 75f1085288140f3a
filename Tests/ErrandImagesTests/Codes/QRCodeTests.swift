import ErrandImages
import Foundation
import Testing

/// Each code is read again by an independent program: zbarimg.
@Suite("QR codes") struct QRCodeTests {
    /// Links of 30 bytes up to the longest that is promised to be read at 2 cm.
    static let links = [30, 61, 84, 106, 150].map(link)

    /// A link of so many bytes, as random as a token.
    private static func link(ofBytes count: Int) -> String {
        let start = "https://example.com/join/"
        return start + (start.utf8.count..<count).map { String($0 * 48_271 % 65_537 % 36, radix: 36) }.joined()
    }

    @Test("a PNG of 200 pixels is read, whatever the length of its link", arguments: links + [link(ofBytes: 1_000)])
    func png(_ link: String) throws {
        let code = try QRCode(link)
        let file = try code.png(pixels: 200)
        #expect(try Self.read(file) == link)
        // A row of bits, and its filter.
        #expect(file.count < 200 * (200 / 8 + 1))
    }

    @Test("printed at 2 cm, blurred, noisy and askew, an SVG is read", arguments: links)
    func printed(_ link: String) throws {
        let svg = try QRCode(link).svg()
        try Samples.withFolder { folder in
            let (drawing, dots) = (folder.appendingPathComponent("code.svg"), folder.appendingPathComponent("dots.png"))
            try Data(svg.utf8).write(to: drawing)
            // 2 cm at 300 dpi.
            try Samples.run(
                "rsvg-convert", "--width", "236", "--height", "236", drawing.path, "--output", dots.path)
            let scan = try Samples.magick(
                "\(dots.path) -background white -rotate 2 -blur 0x1.2 -level -20%,110% -seed 1 -attenuate 0.4 "
                    + "+noise Gaussian", as: "png")
            #expect(try Self.read(scan) == link)
        }
    }

    @Test(
        "a text in any script is read as it was written, short ones too",
        arguments: ["https://exämple.de/夏祭り-💛", "ä", "https://example.com/ü", "Привет", "one\u{1}two & <three>"])
    func scripts(_ text: String) throws {
        #expect(try Self.read(try QRCode(text).png()) == text)
    }

    @Test("modules have whole pixels, and the rest widens the quiet zone", arguments: [200, 201, 236, 329, 41])
    func wholePixels(_ pixels: Int) throws {
        // Version 4: 33 modules, and 41 with the quiet zone.
        let code = try QRCode(Self.link(ofBytes: 61))
        #expect(code.side == 33 && code.smallestSide == 41)
        let dots = try Samples.pixels(try code.png(pixels: pixels))
        try #require(dots.count == 3 * pixels * pixels)
        #expect(Set(dots) == [0, 255])
        let scale = pixels / 41
        let margin = (pixels - 33 * scale) / 2
        #expect(margin >= 4 * scale)
        for y in 0..<pixels {
            for x in 0..<pixels {
                let isInside = margin..<margin + 33 * scale ~= x && margin..<margin + 33 * scale ~= y
                // The first pixel of the module.
                let (column, row) = (x - (x - margin) % scale, y - (y - margin) % scale)
                let expected = isInside ? dots[3 * (row * pixels + column)] : 255
                guard dots[3 * (y * pixels + x)] == expected else {
                    Issue.record("the pixel at \(x), \(y) differs from its module, or is dark in the quiet zone")
                    return
                }
            }
        }
    }

    @Test("the longest text is read, and a longer one is refused with the limit and its length")
    func tooLong() throws {
        for (correction, limit) in [
            (QRCode.Correction.low, 2_953), (.medium, 2_331), (.quartile, 1_663), (.high, 1_273),
        ] {
            let longest = Self.link(ofBytes: limit)
            #expect(try Self.read(try QRCode(longest, correction: correction).png(pixels: 370)) == longest)
            #expect {
                try QRCode(longest + "a", correction: correction)
            } throws: {
                "\($0)"
                    == "invalid_request: text must have 1...\(limit) bytes of UTF-8 with \(correction) error "
                    + "correction, and has \(limit + 1)"
            }
            // It says that it is UTF-8, in 2 bytes.
            let unicode = "é" + longest.dropLast(4)
            #expect(try QRCode(unicode, correction: correction).side == 177)
            #expect(throws: ImageError.self) { try QRCode(unicode + "a", correction: correction) }
        }
        #expect(throws: ImageError.self) { try QRCode("") }
    }

    @Test("a PNG with less than a pixel a module, or more than 4,096 pixels, is refused with the bounds")
    func bounds() throws {
        let code = try QRCode(Self.link(ofBytes: 61))
        for pixels in [-1, 0, 40, 4_097, Int.max] {
            #expect {
                try code.png(pixels: pixels)
            } throws: {
                "\($0)" == "invalid_request: pixels must be 41...4096 for this text, and is \(pixels)"
            }
        }
    }

    /// The text that zbarimg reads in a picture; empty if it finds no code.
    private static func read(_ picture: [UInt8]) throws -> String {
        try Samples.withFolder { folder in
            let file = folder.appendingPathComponent("code.png")
            try Data(picture).write(to: file)
            // It ends with 4 if it finds none.
            let output = try Samples.run("sh", "-c", "zbarimg --quiet --raw '\(file.path)' || [ $? -eq 4 ]")
            return String(String(decoding: output, as: UTF8.self).dropLast())
        }
    }
}
