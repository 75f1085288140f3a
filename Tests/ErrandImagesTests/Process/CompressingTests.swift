import ErrandImages
import Foundation
import Testing

@Suite("Compressing") struct CompressingTests {
    @Test(
        "M1: a photo comes out below 500,000 bytes, readable by another decoder",
        arguments: [Samples.dune, Samples.elephants])
    func photo(path: String) async throws {
        let (report, bytes) = try await ImageProcessPool.forTests().compress(try Samples.bytes(path))
        #expect(bytes.count < 500_000)
        #expect(bytes.count == report.bytes)
        #expect(report.encodes <= 3)
        #expect(try Samples.pixels(bytes).count == report.width * report.height * 3)
    }

    @Test(
        "M1: each of the eight orientations comes out upright",
        arguments: [
            (1, "RGBW"), (2, "GRWB"), (3, "WBGR"), (4, "BWRG"), (5, "RBGW"), (6, "BRWG"), (7, "WGBR"), (8, "GWRB"),
        ])
    func orientation(number: Int, corners: String) async throws {
        let drawing =
            "\\( -size 200x150 xc:red xc:lime +append \\) \\( -size 200x150 xc:blue xc:white +append \\) -append"
        let stored = try Samples.withFolder { folder in
            let path = folder.appendingPathComponent("stored.jpg").path
            try ImageFile.write(try Samples.magick(drawing), to: path)
            try Samples.run("exiftool", "-q", "-n", "-overwrite_original", "-Orientation=\(number)", path)
            return try Samples.bytes(path)
        }
        var request = ImageRequest()
        request.maxEdge = 200
        let (report, bytes) = try await ImageProcessPool.forTests().compress(stored, as: request)
        #expect(report.width == (number < 5 ? 200 : 150))
        #expect(report.height == (number < 5 ? 150 : 200))
        let pixels = try Samples.pixels(bytes)
        let (width, height) = (report.width, report.height)
        let seen = [(20, 20), (width - 20, 20), (20, height - 20), (width - 20, height - 20)].map { x, y in
            let colour = pixels[(y * width + x) * 3..<(y * width + x) * 3 + 3].map { $0 > 128 }
            return [[true, false, false]: "R", [false, true, false]: "G", [false, false, true]: "B"][colour] ?? "W"
        }
        #expect(seen.joined() == corners)
    }

    @Test(
        "M1: no format keeps metadata of camera, place or program, and no result has it",
        arguments: ImageRequest.Format.allCases)
    func metadata(format: ImageRequest.Format) async throws {
        var request = ImageRequest()
        request.format = format
        for type in ["jpg", "png", "webp"] {
            let tagged = try Samples.withFolder { folder in
                let path = folder.appendingPathComponent("tagged.\(type)").path
                try ImageFile.write(
                    try Samples.magick("\(Samples.dune) -resize 200x -set comment secret", as: type), to: path)
                try Samples.run(
                    "exiftool", "-q", "-overwrite_original", "-GPSLatitude=48.5", "-GPSLatitudeRef=N", "-Make=Camera",
                    "-SerialNumber=4711", "-XMP-dc:Creator=Somebody", path)
                return try Samples.bytes(path)
            }
            let result = try await ImageProcessPool.forTests().compress(tagged, as: request).bytes
            let tags = try Samples.withFolder { folder in
                let path = folder.appendingPathComponent("result").path
                try ImageFile.write(result, to: path)
                return String(decoding: try Samples.run("exiftool", "-s", "-G0", path), as: UTF8.self)
            }
            for group in ["[EXIF]", "[XMP]", "[ICC_Profile]", "[IPTC]", "Comment", "GPS"] {
                #expect(!tags.contains(group), "\(type) as \(format): \(tags)")
            }
        }
    }

    @Test("a JPEG that is small enough keeps its own pixels, without its metadata")
    func unchanged() async throws {
        let pool = ImageProcessPool.forTests()
        let bare = try Samples.magick("\(Samples.dune) -resize 400x -strip -quality 80")
        let (report, bytes) = try await pool.compress(bare)
        #expect(try Samples.pixels(bytes) == Samples.pixels(bare))
        #expect(report.encodes == 0)
        #expect(report.quality == nil)
        let commented = try Samples.magick("\(Samples.dune) -resize 400x -strip -quality 80 -set comment secret")
        #expect(try await pool.compress(commented).bytes == bytes)
        #expect(try await pool.compress(bytes).bytes == bytes)
    }

    @Test(
        "a JPEG that keeps its own pixels loses what is hidden between, within and behind its segments and scans",
        arguments: ["", "-interlace JPEG", "-colorspace Gray"])
    func hidden(coding: String) async throws {
        let pool = ImageProcessPool.forTests()
        let bare = try Samples.magick("\(Samples.dune) -resize 400x -strip \(coding) -quality 80")
        let plain = try await pool.compress(bare).bytes
        let secret = Array("the secret".utf8)
        let segments = bare.withUnsafeBytes { JPEGSegments($0) }
        #expect(segments.isComplete)
        let end = bare.count - 2
        let scan = try #require((2..<end).first { bare[$0] == 0xFF && bare[$0 + 1] == 0xDA })
        let table = [0xFF, 0xDB, 0, 67, 3] + secret + [UInt8](repeating: 1, count: 54)
        for (offset, hidden) in [(scan, secret), (end, secret), (bare.count, secret), (scan, table)] {
            let photo = Array(bare[..<offset] + hidden + bare[offset...])
            let (report, bytes) = try await pool.compress(photo)
            #expect(bytes == plain, "\(hidden.count) bytes at \(offset)")
            #expect(report.encodes == 0)
        }
    }

    @Test(
        "colours stay, whether its rows are shrunk or not: untagged, grey, CMYK",
        arguments: [("-colorspace sRGB", 1.0), ("-colorspace Gray", 1.0), ("-colorspace CMYK", 30.0)], [2_560, 180])
    func colours(conversion: (String, tolerance: Double), maxEdge: Int) async throws {
        let source = try Samples.magick("\(Samples.dune) -resize 300x \(conversion.0) -set comment x -quality 97")
        try await expectColours(of: source, maxEdge: maxEdge, within: conversion.tolerance, as: conversion.0)
    }

    @Test("the colours of a wide gamut come out as sRGB", arguments: [2_560, 180])
    func wideGamut(maxEdge: Int) async throws {
        let source = try Samples.withFolder { folder in
            let (plain, wide) = ("\(folder.path)/srgb.jpg", "\(folder.path)/p3.jpg")
            try ImageFile.write(try Samples.magick("\(Samples.dune) -resize 300x -quality 97"), to: plain)
            try Samples.run("vips", "icc_transform", plain, "\(wide)[Q=97]", "p3", "--input-profile", "srgb")
            return try Samples.bytes(wide)
        }
        // Read as sRGB, the colours would be this much paler.
        let paler = zip(
            try Samples.meanColour(source), try Samples.meanColour(try Samples.magick("\(Samples.dune) -resize 300x")))
        #expect(paler.contains { abs($0 - $1) > 5 })
        try await expectColours(of: source, maxEdge: maxEdge, within: 1)
    }

    private func expectColours(
        of source: [UInt8], maxEdge: Int, within tolerance: Double, as conversion: String = ""
    ) async throws {
        var request = ImageRequest()
        request.maxBytes = 15_000
        request.maxEdge = maxEdge
        let result = try await ImageProcessPool.forTests().compress(source, as: request).bytes
        let expected = try Samples.meanColour(
            try Samples.magick("\(Samples.dune) -resize 300x \(conversion) -colorspace sRGB"))
        for (mine, other) in zip(try Samples.meanColour(result), expected) { #expect(abs(mine - other) <= tolerance) }
    }

    @Test("transparency shows the background that was asked for")
    func transparency() async throws {
        var request = ImageRequest()
        let clear = try Samples.magick("-size 30x20 xc:none", as: "png")
        for (background, expected) in [(ImageRequest.Colour.white, 255.0), (.init(red: 0, green: 0, blue: 0), 0)] {
            request.background = background
            let result = try await ImageProcessPool.forTests().compress(clear, as: request).bytes
            #expect(try Samples.meanColour(result).allSatisfy { abs($0 - expected) < 2 })
        }
    }

    @Test(
        "WebP and AVIF are written on request, below the limit as well", arguments: [ImageRequest.Format.webp, .avif])
    func formats(format: ImageRequest.Format) async throws {
        var request = ImageRequest()
        (request.format, request.maxEdge, request.maxBytes) = (format, 400, 10_000)
        let (report, bytes) = try await ImageProcessPool.forTests().compress(
            try Samples.bytes(Samples.dune), as: request)
        #expect(bytes.count < 10_000)
        #expect(report.format == format)
        #expect(try ImageFormat(of: bytes).rawValue == format.rawValue)
    }

    @Test("an option out of its bounds is named")
    func invalid() async throws {
        var request = ImageRequest()
        request.maxBytes = 10
        await #expect { try await ImageProcessPool.forTests().compress([1], as: request) } throws: { error in
            (error as? ImageError)?.code == .invalidRequest && "\(error)".contains("maxBytes")
        }
    }

    @Test("a file is replaced as a whole, and stays unchanged if the photo is invalid")
    func files() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (bad, result) = (
            folder.appendingPathComponent("bad").path, folder.appendingPathComponent("result.jpg").path
        )
        try ImageFile.write(Array("text".utf8), to: bad)
        let pool = ImageProcessPool.forTests()
        let photo = folder.appendingPathComponent("photo").path
        try ImageFile.write(try Samples.magick("-size 300x200 plasma:"), to: photo)
        let report = try await pool.compress(file: photo, to: result)
        #expect(try Samples.bytes(result).count == report.bytes)
        await #expect(throws: ImageError.self) { try await pool.compress(file: bad, to: result) }
        #expect(try Samples.bytes(result).count == report.bytes)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["bad", "photo", "result.jpg"])
    }
}
