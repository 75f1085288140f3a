import Images
import Testing

@Suite("The segments of a JPEG") struct JPEGSegmentsTests {
    @Test(
        "say its pixels and how they are coded",
        arguments: [
            (Samples.dune, 1_680, 1_050, false), (Samples.elephants, 5_640, 3_172, true),
        ])
    func frame(path: String, width: Int, height: Int, isProgressive: Bool) throws {
        try Samples.bytes(path).withUnsafeBytes { bytes in
            let segments = JPEGSegments(bytes)
            #expect(segments.width == width)
            #expect(segments.height == height)
            #expect(segments.isProgressive == isProgressive)
            #expect(segments.isComplete)
        }
    }

    @Test("without what only describes, they are the same picture")
    func stripped() throws {
        let photo = try Samples.magick("-size 300x200 plasma: -set comment secret -quality 90") + Array("PK tail".utf8)
        let plain = photo.withUnsafeBytes { JPEGSegments($0).stripped($0) }
        #expect(plain.count < photo.count)
        #expect(!String(decoding: plain, as: UTF8.self).contains("secret"))
        #expect(try Samples.pixels(plain) == Samples.pixels(photo))
        #expect(plain.withUnsafeBytes { JPEGSegments($0).isBare })
    }

    @Test("a file that is cut anywhere is not complete, and is no danger")
    func cut() throws {
        let photo = try Samples.magick("-size 60x40 plasma: -quality 80")
        for length in 0..<photo.count {
            let isComplete = photo.prefix(length).withUnsafeBytes { JPEGSegments($0).isComplete }
            #expect(!isComplete, "at \(length) of \(photo.count)")
        }
    }
}
