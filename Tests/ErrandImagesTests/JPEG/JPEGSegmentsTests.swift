import ErrandImages
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

    @Test("a photo is far below the bounds of work, and each error names its bound")
    func excess() throws {
        for path in [Samples.dune, Samples.elephants] {
            let segments = try Samples.bytes(path).withUnsafeBytes { JPEGSegments($0) }
            #expect(segments.excess == nil && segments.segments < 100 && (1...20).contains(segments.scans))
        }
        for (jpeg, excess) in [
            (CraftedJPEG(width: 100, height: 80, descriptions: 3_000), "3003 segments, at most 2000"),
            (CraftedJPEG(width: 100, height: 80, scans: 101), "101 scans, at most 100"),
            (
                CraftedJPEG(width: 9_999, height: 9_999, scans: 60),
                "60 scans of 9999 x 9999, at most 5000000000 pixels in all"
            ),
        ] {
            #expect(jpeg.bytes.withUnsafeBytes { JPEGSegments($0) }.excess == excess)
        }
    }

    @Test("bytes that libjpeg skips between two segments hide nothing")
    func skips() throws {
        let jpeg = CraftedJPEG(width: 100, height: 80, descriptions: 3, scans: 4, between: [0, 1, 0xFF, 0, 0xFF, 0xFF])
        let segments = jpeg.bytes.withUnsafeBytes { JPEGSegments($0) }
        #expect(segments.segments == 6 && segments.scans == 4 && segments.isComplete)
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
