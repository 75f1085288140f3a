import Foundation
import Testing

@testable import Command

@Suite("errand media url") struct MediaURLTests {
    private let bucket = [
        "STORAGE_URL": "s3://photos/production?region=eu-central-1", "STORAGE_ACCESS_KEY": "AKIAIOSFODNN7EXAMPLE",
        "STORAGE_SECRET_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ]

    @Test("a URL is printed alone, for 15 minutes or as long as asked, and without the secret key")
    func prints() async throws {
        for (options, seconds) in [([], 900), (["--expires", "604800"], 604_800)] {
            let run = try await Program.run(["media", "url", "photos/1.jpg"] + options, settings: bucket)
            #expect(run.code == 0 && run.errors.isEmpty, "\(run.errors)")
            #expect(
                run.output.hasPrefix(
                    "https://photos.s3.eu-central-1.amazonaws.com/production/photos/1.jpg?X-Amz-Algorithm=AWS4-HMAC-SHA256&"
                ))
            #expect(run.output.contains("&X-Amz-Expires=\(seconds)&"))
            #expect(run.output.split(separator: "\n").count == 1 && !run.output.contains("wJalrXUtnFEMI"))
        }
    }

    @Test("of several keys a URL is printed for each, in their order; one that is wrong prints none")
    func several() async throws {
        let keys = ["events/6c1d/archives/2.zip", "events/6c1d/codes/3.png", "photos/1.jpg"]
        let run = try await Program.run(["media", "url"] + keys + ["--expires", "60"], settings: bucket)
        let lines = run.output.split(separator: "\n")
        #expect(run.code == 0 && lines.count == keys.count, "\(run.errors)")
        for (line, key) in zip(lines, keys) { #expect(line.contains("/production/\(key)?"), "\(line)") }
        let wrong = try await Program.run(["media", "url", "photos/1.jpg", "../1.jpg"], settings: bucket)
        #expect(wrong.code == 64 && wrong.output.isEmpty, "\(wrong.errors)")
    }

    @Test("a folder has no URLs, and a wrong key or span is a usage error")
    func refuses() async throws {
        let folder = try await Program.run(["media", "url", "photos/1.jpg"], settings: ["STORAGE_URL": "/nowhere"])
        #expect(folder.code == 78 && folder.errors.contains("expected a bucket, got a folder"), "\(folder.errors)")
        for arguments in [
            ["photos/1.jpg", "--expires", "0"], ["photos/1.jpg", "--expires", "604801"], ["../1.jpg"],
            [".errand-store"],
        ] {
            let run = try await Program.run(["media", "url"] + arguments, settings: bucket)
            #expect(run.code == 64 && run.output.isEmpty, "\(arguments) \(run.errors)")
        }
    }
}
