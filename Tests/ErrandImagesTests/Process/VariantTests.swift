import ErrandImages
import Foundation
import Testing

@Suite("Variants") struct VariantTests {
    private static func request(_ edge: Int, _ bytes: Int, _ format: ImageRequest.Format) -> ImageRequest {
        var request = ImageRequest()
        (request.maxEdge, request.maxBytes, request.format) = (edge, bytes, format)
        return request
    }

    @Test(
        "M1: variants of a photo are made from one decode, each upright, within its own bytes and side",
        arguments: ["jpg", "png", "heic"])
    func variants(type: String) async throws {
        let photo = try Samples.withFolder { folder in
            let (plain, path) = ("\(folder.path)/plain.jpg", "\(folder.path)/stored.\(type)")
            try ImageFile.write(try Samples.magick("\(Samples.dune) -resize 500x250!"), to: plain)
            try Samples.run("vips", "copy", plain, path)
            if type == "jpg" {
                try Samples.run("exiftool", "-q", "-n", "-overwrite_original", "-Orientation=6", path)
            }
            return try Samples.bytes(path)
        }
        let pool = ImageProcessPool.forTests()
        let main = Self.request(400, 50_000, .jpeg)
        // One is larger than the result.
        let asked = [
            "thumb": Self.request(80, 3_000, .webp), "a-2": Self.request(160, 10_000, .avif),
            "large": Self.request(16_384, 100_000, .jpeg),
        ]
        let made = try await pool.compress(photo, as: main, variants: asked)
        #expect(made.decodes == 1)
        #expect(Set(made.variants.keys) == ["thumb", "a-2", "large"])
        let isTurned = type == "jpg"
        for (image, request) in [(made.result, main)] + asked.map({ (made.variants[$0.key]!, $0.value) }) {
            let (report, edge) = (image.report, min(request.maxEdge, 500))
            #expect(image.bytes.count == report.bytes && report.bytes < request.maxBytes)
            #expect(report.width == (isTurned ? edge / 2 : edge) && report.height == (isTurned ? edge : edge / 2))
            #expect(report.format == request.format && report.sourceBytes == photo.count)
            #expect(try ImageFormat(of: image.bytes).rawValue == request.format.rawValue)
        }
        // The variants are the same picture, not only of the same size.
        let mean = try Samples.meanColour(made.result.bytes)
        for image in made.variants.values where image.report.format != .avif {
            for (one, other) in zip(try Samples.meanColour(image.bytes), mean) { #expect(abs(one - other) < 3) }
        }
        // Without them, the result has the same sides, and is decoded as often.
        let alone = try await pool.compress(photo, as: main, variants: [:])
        #expect(alone.decodes == 1 && alone.variants.isEmpty)
        #expect(alone.result.report.width == made.result.report.width)
    }

    @Test("a JPEG that is small enough keeps its own pixels in each variant that may be as large")
    func unchanged() async throws {
        let photo = try Samples.magick("\(Samples.dune) -resize 300x -strip -quality 70")
        let asked = ["same": Self.request(320, 100_000, .jpeg), "less": Self.request(100, 100_000, .jpeg)]
        let made = try await ImageProcessPool.forTests().compress(photo, variants: asked)
        #expect(made.variants["same"]?.bytes == made.result.bytes && made.result.report.quality == nil)
        #expect(made.variants["less"]?.report.width == 100)
    }

    @Test("a variant out of its bounds fails the photo, and the error names it")
    func refused() async throws {
        let noise = try Samples.magick("-size 16x16 xc:gray +noise Random", as: "png")
        let pool = ImageProcessPool.forTests()
        let many = (0...8).map { ("v\($0)", Self.request(320, 40_000, .jpeg)) }
        let refused: [([String: ImageRequest], ImageError.Code, String)] = [
            (["thumb": Self.request(320, 10, .jpeg)], .invalidRequest, "variant thumb: maxBytes"),
            (["thumb": Self.request(8, 10_000, .jpeg)], .invalidRequest, "variant thumb: maxEdge"),
            (["": Self.request(320, 40_000, .jpeg)], .invalidRequest, "1...64 bytes"),
            (Dictionary(uniqueKeysWithValues: many), .invalidRequest, "at most 8 variants, got 9"),
        ]
        for (variants, code, detail) in refused {
            await #expect { try await pool.compress(noise, variants: variants) } throws: { error in
                let error = error as? ImageError
                return error?.code == code && error?.detail.contains(detail) == true
            }
        }
    }
}
