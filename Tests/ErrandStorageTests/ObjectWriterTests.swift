import Foundation
import NIOHTTP1
import StorageKit
import Testing

@testable import ErrandStorage

@Suite("Writing an object in pieces") struct ObjectWriterTests {
    private static let stores = ["folder", "rclone", "moto"]
    private static let type = ContentType(rawValue: "application/zip")

    @Test(
        "E6: pieces of any size are one object, which is there from the commit on and replaces another one",
        arguments: stores)
    func writes(name: String) async throws {
        try await withStore(name) { store, _ in
            let key = try ObjectKey("events/1/archives/a.zip")
            try await store.put([9], at: key)
            let whole = (0...16).flatMap { [UInt8](repeating: $0, count: 1_000_003) }
            #expect(whole.count > 2 * S3Writer.partSize)
            let writer = try await store.writer(of: key, type: Self.type)
            for start in stride(from: 0, to: whole.count, by: 3_000_000) {
                try await writer.write(Array(whole[start..<min(start + 3_000_000, whole.count)]))
            }
            #expect(try await store.get(key) == [9])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 9) == [key])
            try await writer.commit()
            #expect(try await store.get(key) == whole)

            let empty = try await store.writer(of: key, type: Self.type)
            try await empty.commit()
            #expect(try await store.get(key) == [])
        }
    }

    @Test("E6: an aborted object never appears, and leaves nothing, even if its task is cancelled", arguments: stores)
    func aborts(name: String) async throws {
        try await withStore(name) { store, root in
            let key = try ObjectKey("events/1/archives/a.zip")
            let task = Task {
                let writer = try await store.writer(of: key, type: Self.type)
                try await writer.write([UInt8](repeating: 1, count: S3Writer.partSize + 1))
                withUnsafeCurrentTask { $0?.cancel() }
                await writer.abort()
            }
            try await task.value
            #expect(try await store.size(of: key) == nil)
            #expect(try await unfinished(store, root) == 0)
        }
    }

    @Test("E6: a killed writer's parts go with the next writer of the key, and with `deleteAll`", arguments: stores)
    func killed(name: String) async throws {
        try await withStore(name) { store, root in
            let (key, other) = (try ObjectKey("events/1/archives/a.zip"), try ObjectKey("events/10/archives/a.zip"))
            let part = [UInt8](repeating: 1, count: S3Writer.partSize)
            let lost = try await store.writer(of: key, type: Self.type)
            try await lost.write(part)
            let others = try await store.writer(of: other, type: Self.type)
            try await others.write(part)
            if store is S3Store {
                let next = try await store.writer(of: key, type: Self.type)
                #expect(try await unfinished(store, root) == 2)
                // As a worker that was stopped for a while, and goes on.
                #expect(await code { try await lost.commit() } == .busy)
                try await next.write(part)
            }
            while try await store.deleteAll(below: "events/1/", atMost: 9) > 0 {}
            #expect(try await unfinished(store, root) == 1)
            #expect(try await store.keys(beginning: "", after: nil, atMost: 9) == [])
            try await others.commit()
            #expect(try await store.size(of: other) == part.count)
        }
    }

    /// The objects that were begun and not completed.
    private func unfinished(_ store: any ObjectStore, _ root: String) async throws -> Int {
        guard let bucket = store as? S3Store else {
            return try FileManager.default.subpathsOfDirectory(atPath: root).count { $0.contains(".put-") }
        }
        let prefix = bucket.client.configuration.prefix
        let page = try await bucket.client.ask(
            .init(method: .GET, query: [("uploads", ""), ("prefix", prefix + "/")], what: "uploads"))
        return page.all("Upload").count
    }

    /// Runs `body` with a store, and the path of a folder's.
    private func withStore(_ name: String, _ body: (any ObjectStore, String) async throws -> Void) async throws {
        try await withFolder { root in
            switch name {
            case "folder": try await body(try FolderStore(root: root), root)
            case "moto": try await withBucket(.moto()) { try await body($0, root) }
            default: try await withBucket(.rclone()) { try await body($0, root) }
            }
        }
    }
}
