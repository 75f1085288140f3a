import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import StorageKit
import Testing

@testable import ErrandStorage
@testable import Outbound

@Suite("A bucket on real servers") struct S3StoreTests {
    private static let names = ["rclone", "moto"]

    private func server(_ name: String) throws -> BucketServer { try name == "moto" ? .moto() : .rclone() }

    @Test(
        "what was put is there, whole and in parts, in place of what was there before, and gone when deleted",
        arguments: names)
    func putGetDelete(name: String) async throws {
        try await withBucket(try server(name)) { store in
            try await store.check()
            let key = try ObjectKey("photos/2026/a+b@c_d-e.jpg")
            #expect(try await store.status(of: key) == nil)
            try await store.put([1, 2, 3], at: key)
            try await store.put([4, 5, 6, 7], at: key, type: .jpeg)
            #expect(try await store.get(key) == [4, 5, 6, 7])
            #expect(try await store.get(key, 1..<3) == [5, 6])
            #expect(try await store.get(key, 2..<100) == [6, 7])
            #expect(try await store.size(of: key) == 4)
            try await store.delete(key)
            try await store.delete(key)
            #expect(await code { _ = try await store.get(key) } == .notFound)
            #expect(try await store.size(of: key) == nil)
        }
    }

    @Test("an empty object, and one of 7 MB from a file and back into one", arguments: names)
    func sizes(name: String) async throws {
        try await withBucket(try server(name)) { store in
            try await withFolder { root in
                let empty = try ObjectKey("empty")
                try await store.put([], at: empty)
                #expect(try await store.get(empty) == [])
                let big = try ObjectKey("big")
                let data = Data((0..<7_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                try data.write(to: URL(fileURLWithPath: root + "/source"))
                try await store.put(.file(path: root + "/source"), at: big, type: .bytes, if: .always)
                try await store.get(big, toFile: root + "/copy")
                #expect(try Data(contentsOf: URL(fileURLWithPath: root + "/copy")) == data)
                #expect(await code { try await store.get(big, toFile: root + "/copy") } == .failed)
                #expect(
                    await code { try await store.get(ObjectKey("none"), toFile: root + "/none") } == .notFound)
                #expect(!FileManager.default.fileExists(atPath: root + "/none"))
                #expect(
                    await code { try await store.put(.file(path: root + "/gone"), at: big, type: .bytes, if: .always) }
                        == .notFound)
            }
        }
    }

    @Test(
        "an object is put where none is, once; the same bytes again are success, others are refused", arguments: names)
    func absent(name: String) async throws {
        try await withBucket(try server(name)) { store in
            let key = try ObjectKey("photos/once.jpg")
            #expect(try await store.putOnce([1, 2, 3], at: key, type: .jpeg))
            #expect(try await !store.putOnce([1, 2, 3], at: key, type: .jpeg))
            #expect(await code { try await store.putOnce([1, 2, 4], at: key, type: .jpeg) } == .taken)
            #expect(await code { try await store.putOnce([1, 2], at: key, type: .jpeg) } == .taken)
            #expect(try await store.get(key) == [1, 2, 3])
        }
    }

    @Test("of twenty concurrent puts of a new key, one succeeds")
    func race() async throws {
        try await withBucket(try .moto()) { store in
            let key = try ObjectKey("race")
            let winners = try await withThrowingTaskGroup(of: UInt8?.self) { group in
                for number in UInt8(1)...20 {
                    group.addTask {
                        try await store.put(.bytes([number]), at: key, type: .bytes, if: .absent) ? number : nil
                    }
                }
                return try await group.reduce(into: [UInt8]()) { if let number = $1 { $0.append(number) } }
            }
            #expect(winners.count == 1)
            #expect(try await store.get(key) == winners)
        }
    }

    @Test("1,100 objects are listed in order, page by page, and removed in two requests", arguments: names)
    func many(name: String) async throws {
        try await withBucket(try server(name)) { store in
            let keys = try (0..<1100).map { try ObjectKey("event/\($0 / 1000)/p-\($0)") }
            let other = try ObjectKey("events")
            try await store.put([0], at: other)
            // rclone returns 500 if two keys create one folder at the same time.
            for key in [keys[0], keys[1000]] { try await store.put([1], at: key) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in 0..<8 {
                    group.addTask {
                        for index in stride(from: start, to: keys.count, by: 8) {
                            try await store.put([1], at: keys[index])
                        }
                    }
                }
                try await group.waitForAll()
            }
            let sorted = keys.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            #expect(try await store.keys(beginning: "event/", after: nil, atMost: 5000) == sorted)
            #expect(
                try await store.keys(beginning: "event/", after: sorted[999], atMost: 10) == Array(sorted[1000..<1010])
            )
            #expect(try await store.keys(beginning: "event/1/", after: nil, atMost: 5000).count == 100)
            let missing = try ObjectKey("event/never")
            #expect(try await store.delete(keys + [missing]) == [:])
            #expect(try await store.keys(beginning: "event", after: nil, atMost: 10) == [other])
        }
    }

    // moto doesn't check signatures in a URL.
    @Test("a URL that was signed for it opens an object without credentials, and no other one, until it expires")
    func presigned() async throws {
        try await withBucket(try .rclone()) { store in
            let key = try ObjectKey("shared/a+b.jpg")
            try await store.put([1, 2, 3], at: key, type: .jpeg)
            try await store.put([9], at: ObjectKey("shared/other.jpg"))
            let url = try store.presignedURL(of: key)
            let opened = try await HTTPClient.shared.execute(HTTPClientRequest(url: url), timeout: .seconds(10))
            #expect(Array(try await opened.body.collect(upTo: 1000).readableBytesView) == [1, 2, 3])
            let forged = HTTPClientRequest(url: url.replacing("a%2Bb.jpg", with: "other.jpg"))
            let refused = try await HTTPClient.shared.execute(forged, timeout: .seconds(10))
            #expect(refused.status.code == 403)
            let bare = HTTPClientRequest(url: String(url.prefix { $0 != "?" }))
            #expect(try await HTTPClient.shared.execute(bare, timeout: .seconds(10)).status.code >= 400)

            let short = HTTPClientRequest(url: try store.presignedURL(of: key, for: .seconds(1)))
            let start = ContinuousClock.now
            var (status, body) = (200, "")
            while status == 200, ContinuousClock.now - start < .seconds(10) {
                let response = try await HTTPClient.shared.execute(short, timeout: .seconds(10))
                status = Int(response.status.code)
                body = String(buffer: try await response.body.collect(upTo: 1000))
            }
            #expect([400, 403].contains(status) && body.contains("AccessDenied"))
        }
    }

    @Test("a URL is valid for 1 s to 7 days, and a folder has none")
    func spans() async throws {
        let key = try ObjectKey("shared/1.jpg")
        try await withBucket(try .rclone()) { store in
            for seconds in [1, 604_800] {
                let url = try store.presignedURL(of: key, for: .seconds(seconds))
                #expect(url.contains("&X-Amz-Expires=\(seconds)&"))
            }
            for span in [Duration.zero, .seconds(-1), .seconds(604_801), .milliseconds(1500), .milliseconds(500)] {
                #expect(await code { _ = try store.presignedURL(of: key, for: span) } == .rejected, "\(span)")
            }
        }
        try await withFolder { root in
            let folder = try FolderStore(root: root)
            let error = #expect(throws: StorageError.self) { try folder.presignedURL(of: key) }
            #expect(error?.code == .rejected && error?.detail.contains("expected a bucket") == true)
        }
    }

    @Test("wrong keys and a missing bucket are the operator's to fix, and no secret is in the error", arguments: names)
    func misconfigured(name: String) async throws {
        let server = try server(name)
        let key = try ObjectKey("a")
        try await withBucket(server, secret: "wrong-secret") { store in
            let error = await #expect(throws: StorageError.self) { try await store.put([1], at: key) }
            #expect(error?.code == .misconfigured && error?.fault == .configuration)
            #expect("\(error as Any)".contains("SignatureDoesNotMatch"))
            #expect(!"\(error as Any)".contains("wrong-secret") && !"\(error as Any)".contains(server.accessKey))
            #expect(await code { _ = try await store.get(key) } == .misconfigured)
            #expect(await code { _ = try await store.size(of: key) } == .misconfigured)
            #expect(await code { try await store.check() } == .misconfigured)
        }
        try await withBucket(server, bucket: "no-such-bucket") { store in
            #expect(await code { try await store.put([1], at: key) } == .misconfigured)
            #expect(await code { try await store.check() } == .misconfigured)
            #expect(await code { _ = try await store.keys(beginning: "", after: nil, atMost: 1) } == .misconfigured)
        }
    }

    @Test("E1: a bucket that keeps versions is refused, at the start and before anything is deleted")
    func versionsRefused() async throws {
        try await withBucket(try .moto(), bucket: "versioned") { store in
            let key = try ObjectKey("a")
            #expect(await code { try await store.check() } == .keepsVersions)
            try await store.put([1], at: key)
            #expect(await code { try await store.delete(key) } == .keepsVersions)
            #expect(await code { _ = try await store.delete([key]) } == .keepsVersions)
            #expect(try await store.get(key) == [1])
        }
    }

    @Test("E1: a removal of all versions leaves none, and touches no other object")
    func versionsRemoved() async throws {
        try await withBucket(try .moto(), bucket: "versioned", options: "&versions=removed") { store in
            try await store.check()
            let (key, near) = (try ObjectKey("photo"), try ObjectKey("photo2"))
            for round in UInt8(1)...3 { try await store.put([round], at: key) }
            try await store.put([7], at: near)
            try await withBucket(try .moto(), bucket: "versioned", options: "&versions=unchecked") { plain in
                // A plain delete only hides it.
                let hidden = S3Client.Request(method: .DELETE, key: store.name(key), what: "hide")
                _ = try await plain.client.send(hidden)
            }
            #expect(try await versions(in: store) == 5)
            try await store.delete(key)
            #expect(try await versions(in: store) == 1)
            #expect(try await store.get(near) == [7])
            #expect(try await store.delete([near]) == [:])
            #expect(try await versions(in: store) == 0)
        }
    }

    /// The number of versions and delete markers below the store's prefix.
    private func versions(in store: S3Store) async throws -> Int {
        let prefix = store.client.configuration.prefix
        let page = try await store.client.ask(
            .init(method: .GET, query: [("versions", ""), ("prefix", prefix)], what: "versions"))
        return page.all("Version").count + page.all("DeleteMarker").count
    }
}
