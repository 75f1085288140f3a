import Foundation
import Testing

@testable import ErrandStorage

@Suite("Where objects are kept") struct StorageLocationTests {
    private let credentials = S3Credentials(accessKey: "AKID", secretKey: "hush")

    private func bucket(_ url: String) throws -> S3Configuration {
        guard case .bucket(let made) = try StorageLocation(url: url, credentials: credentials) else {
            throw MalformedLocation("no bucket")
        }
        return made
    }

    @Test("a bucket of Amazon's needs its name and region alone; its name is part of the host")
    func amazon() throws {
        let made = try bucket("s3://photos?region=eu-central-1")
        #expect(made.authority == "photos.s3.eu-central-1.amazonaws.com" && made.isTLS)
        #expect(made.path(of: "a/b") == "/a/b" && made.path(of: nil) == "/")
        #expect(made.versions == .refused && made.conditions == .native)
        // No certificate is valid for it.
        let dotted = try bucket("s3://photos.example.com")
        #expect(dotted.authority == "s3.us-east-1.amazonaws.com" && dotted.path(of: "a") == "/photos.example.com/a")
    }

    @Test("another server gets path-style requests, with a prefix, and without features that it lacks")
    func others() throws {
        let made = try bucket(
            "s3://photos/live/1?endpoint=https://minio.example.com:9000&region=auto&conditions=head&versions=removed")
        #expect(made.authority == "minio.example.com:9000" && made.path(of: "x") == "/photos/x")
        #expect(made.prefix == "live/1" && made.region == "auto")
        #expect(made.conditions == .head && made.versions == .removed)
        let virtual = try bucket("s3://photos?endpoint=https://minio.example.com:9000&style=virtual")
        #expect(virtual.authority == "photos.minio.example.com:9000" && virtual.path(of: "x") == "/x")
    }

    @Test(
        "a folder is a path, or a URL with one",
        arguments: [
            ("file:///var/lib/errand", "/var/lib/errand"), ("/var/lib/a b", "/var/lib/a b"),
            (".errand/storage", ".errand/storage"), ("../photos", "../photos"),
        ])
    func folder(text: String, expected: String) throws {
        guard case .folder(let path) = try StorageLocation(url: text, credentials: nil) else {
            Issue.record("no folder")
            return
        }
        #expect(path == expected)
    }

    @Test(
        "what is no location is refused, and no secret in it is repeated",
        arguments: [
            "", "photos", "minio.example.com/photos", "file://host/x", "file:///", "https://s3.amazonaws.com/photos",
            "s3://", "s3://x",
            "s3://photos:9000", "s3://AKID:hush@photos", "s3://photos?endpoint=http://127.0.0.1:9000",
            "s3://photos?endpoint=minio:9000", "s3://photos?endpoint=https://AKID:hush@minio",
            "s3://photos?style=dotted",
            "s3://photos?endpoint=http://minio&plaintext=yes", "s3://photos?secret=hush", "s3://photos?region=",
            "s3://photos?versions=kept", "s3://photos?region=a&region=b", "s3://photos/../etc", "s3://photos#hush",
        ])
    func refused(url: String) {
        let error = #expect(throws: MalformedLocation.self) { try StorageLocation(url: url, credentials: credentials) }
        #expect(!"\(error as Any)".contains("hush"))
    }

    @Test("a bucket needs keys; plaintext has to be asked for")
    func needs() throws {
        let error = #expect(throws: MalformedLocation.self) {
            try StorageLocation(url: "s3://photos", credentials: nil)
        }
        #expect("\(error as Any)".contains("STORAGE_ACCESS_KEY"))
        #expect(try !bucket("s3://photos?endpoint=http://127.0.0.1:9000&plaintext=true").isTLS)
    }
}
