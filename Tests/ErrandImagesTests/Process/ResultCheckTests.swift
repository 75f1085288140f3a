import Foundation
import Testing

@testable import ErrandImages

@Suite("The result check") struct ResultCheckTests {
    @Test("accepts bytes that are the reported picture", arguments: ImageRequest.Format.allCases)
    func believed(format: ImageRequest.Format) throws {
        let case_ = try Case(format)
        guard case .made(let report, _) = case_.verdict() else {
            Issue.record("\(case_.verdict())")
            return
        }
        #expect(report == case_.report)
        var two = case_
        two.addVariant { _ in }
        guard case .made(_, let variants) = two.verdict() else {
            Issue.record("\(two.verdict())")
            return
        }
        #expect(variants == ["thumb": case_.report])
    }

    @Test(
        "is not believed where they are another one, or none at all, or the report is of another photo",
        arguments: ImageRequest.Format.allCases)
    func unsure(format: ImageRequest.Format) throws {
        let changes: [(inout Case) -> Void] = [
            { $0.bytes = Array("<html><script>".utf8) + [UInt8](repeating: 0, count: 400) },
            { $0.bytes = Array($0.bytes.prefix(16)) + [UInt8](repeating: 0, count: $0.bytes.count - 16) },
            { $0.report.bytes += 1 }, { $0.report.width += 1 }, { $0.report.height = 0 },
            { $0.request.maxBytes = $0.bytes.count }, { $0.request.maxEdge = 39 },
            { $0.request.format = $0.request.format == .jpeg ? .webp : .jpeg },
            { $0.report.format = $0.report.format == .jpeg ? .webp : .jpeg },
            { $0.variants["thumb"] = $0.request }, { $0.reports["thumb"] = $0.report },
            { $0.files["thumb"] = $0.bytes }, { $0.addVariant { $0.report.width += 1 } },
            { $0.addVariant { $0.bytes += [0] } }, { $0.addVariant { $0.request.maxEdge = 39 } },
            { $0.report.sourceBytes = 17 }, { $0.report.sourceFormat = .gif }, { $0.report.quality = 101 },
        ]
        for (number, change) in changes.enumerated() {
            var one = try Case(format)
            change(&one)
            guard case .invalid = one.verdict() else {
                Issue.record("change \(number): \(one.verdict())")
                continue
            }
        }
    }

    @Test("is a failure only by a code that a process has")
    func failures() {
        func verdict(_ code: ImageError.Code) -> ResultCheck.Verdict {
            ResultCheck.verdict(
                on: ResponseMessage(error: ImageError(code, "why"), peakBytes: 1), [], of: .photo([1]),
                as: ImageRequest())
        }
        if case .failed(let error) = verdict(.corrupt) {
            #expect(error == ImageError(.corrupt, "why"))
        } else {
            Issue.record("not failed")
        }
        for code in [ImageError.Code.unavailable, .fileAccess, .crashed, .init(rawValue: "<html>")] {
            guard case .invalid = verdict(code) else {
                Issue.record("\(code.rawValue) was believed")
                continue
            }
        }
    }

    @Test("a process that hands back something else than a picture is ended, and its photo fails")
    func ended() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appendingPathComponent("errand-image").path
        try Data(Self.liar.utf8).write(to: URL(fileURLWithPath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let pool = ImageProcessPool.forTests(executable: program)
        await #expect { try await pool.compress([0xFF, 0xD8, 0xFF, 0xE0]) } throws: { error in
            let error = error as? ImageError
            return error?.code == .crashed && error?.detail == "its result is no jpeg of the bytes that it names"
        }
    }

    /// A process's result, and the request.
    private struct Case {
        var photo: [UInt8]
        var request = ImageRequest()
        var report: ImageReport
        var bytes: [UInt8]
        var variants: [String: ImageRequest] = [:]
        var reports: [String: ImageReport] = [:]
        var files: [String: [UInt8]] = [:]

        /// Adds the result as a variant, changed.
        mutating func addVariant(_ change: (inout Case) -> Void) {
            var other = self
            change(&other)
            (variants["thumb"], reports["thumb"], files["thumb"]) = (other.request, other.report, other.bytes)
        }

        init(_ format: ImageRequest.Format) throws {
            photo = try Samples.magick("-size 40x30 plasma:", as: "png")
            request.format = format
            bytes = try Samples.magick("-size 40x30 plasma:", as: format == .jpeg ? "jpg" : format.rawValue)
            report = ImageReport(
                bytes: bytes.count, width: 40, height: 30, quality: 80, encodes: 1, milliseconds: 0, format: format,
                sourceFormat: .png, sourceWidth: 40, sourceHeight: 30, sourceBytes: photo.count)
        }

        func verdict() -> ResultCheck.Verdict {
            ResultCheck.verdict(
                on: ResponseMessage(report: report, variants: reports, bytes: bytes.count, peakBytes: 1), bytes, files,
                of: .photo(photo), as: request, variants: variants)
        }
    }

    /// Replies to each request with a page instead of a picture.
    private static let liar = #"""
        #!/usr/bin/perl
        $| = 1;
        binmode STDIN;
        binmode STDOUT;
        sub answer { print pack('N', length $_[0]), @_ }
        answer('{"version":3,"libvips":"8"}', '');
        while (read(STDIN, my $length, 4) == 4) {
            read(STDIN, my $order, unpack('N', $length));
            read(STDIN, my $photo, $1) if $order =~ /"bytes":(\d+)/;
            my $page = '<html>';
            answer('{"bytes":6,"peakBytes":1,"report":{"bytes":6,"width":40,"height":30,"encodes":1,"milliseconds":0,'
                . '"format":"jpeg","sourceFormat":"jpeg","sourceWidth":40,"sourceHeight":30,"sourceBytes":4}}', $page);
        }
        """#
}
