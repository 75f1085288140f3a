import ErrandImages
import Testing

@Suite("A JPEG without its end marker") struct MissingEndTests {
    static let codings = ["", "-interlace JPEG", "-colorspace Gray", "-colorspace CMYK -interlace JPEG"]

    @Test("comes out like the whole file: its picture is complete", arguments: codings, [2_560, 300])
    func complete(coding: String, maxEdge: Int) async throws {
        let pool = ImageProcessPool.forTests()
        let whole = try Samples.magick("\(Samples.dune) -resize 400x \(coding)")
        var request = ImageRequest()
        request.maxEdge = maxEdge
        let expected = try await pool.compress(whole, as: request).bytes
        for (name, file) in [
            ("no marker", whole.dropLast(2)), ("half a marker", whole.dropLast()),
            ("zeros", whole.dropLast(2) + [0, 0]),
            ("a block of zeros", whole.dropLast(2) + [UInt8](repeating: 0, count: 512)),
        ] {
            let (report, bytes) = try await pool.compress(Array(file), as: request)
            #expect(bytes == expected, "\(name)")
            #expect(report.sourceBytes == file.count, "\(name)")
        }
        await pool.stop()
    }

    @Test("is truncated if anything of its picture is missing: a byte, a scan, or half of it", arguments: codings)
    func incomplete(coding: String) async throws {
        let pool = ImageProcessPool.forTests()
        let whole = try Samples.magick("\(Samples.dune) -resize 400x \(coding)")
        let lastScan = try #require(whole.indices.dropLast().last { whole[$0] == 0xFF && whole[$0 + 1] == 0xDA })
        let half = whole.prefix(whole.count / 2)
        for (name, file) in [
            ("without its last byte", whole.dropLast(3)), ("without its last scan", whole.prefix(lastScan)),
            ("half", half), ("half, then zeros", half + [UInt8](repeating: 0, count: whole.count)),
        ] {
            await #expect("\(name)") { try await pool.compress(Array(file)) } throws: {
                ($0 as? ImageError)?.code == .truncated
            }
        }
        await pool.stop()
    }
}
