import Foundation
import StorageKit
import Synchronization
import Testing

@testable import ErrandStorage

@Suite("Which store it is") struct StoreIdentityTests {
    /// The database's record, for tests.
    private final class Recorded: Sendable {
        let id: Mutex<UUID?>

        init(_ id: UUID?) { self.id = Mutex(id) }

        var identity: StoreIdentity { StoreIdentity { self.id.withLock(\.self) } }
    }

    @Test(
        "a store without the database's marker is down to every operation, and nothing in it is read, put or removed",
        arguments: ["folder", "rclone", "moto"])
    func unconfirmed(kind: String) async throws {
        let recorded = Recorded(nil)
        try await withStores(kind, recorded.identity) { plain, store, root in
            let key = try ObjectKey("a/1")
            try await plain.put([1], at: key)
            func expectDown() async throws {
                let calls: [@Sendable () async throws -> Void] = [
                    { try await store.put([2], at: ObjectKey("a/2")) }, { _ = try await store.get(key) },
                    { _ = try await store.get(key, 0..<1) }, { try await store.get(key, toFile: root + "-copy") },
                    { _ = try await store.status(of: key) }, { try await store.delete(key) },
                    { _ = try await store.delete([key]) }, { _ = try await store.deleteAll(below: "a/", atMost: 9) },
                    { _ = try await store.keys(beginning: "", after: nil, atMost: 9) }, { try await store.check() },
                ]
                for (number, call) in calls.enumerated() { #expect(await code(call) == .wrongStore, "\(number)") }
                #expect(try await plain.keys(beginning: "", after: nil, atMost: 9) == [key])
                #expect(try await plain.get(key) == [1])
            }
            // The database has no identity; the store has no marker; the store has another database's marker.
            try await expectDown()
            recorded.id.withLock { $0 = UUID() }
            try await expectDown()
            #expect(try await plain.mark(as: UUID(), replacing: false))
            try await expectDown()
            #expect(try await !plain.mark(as: UUID(), replacing: false))
            let id = try #require(try await plain.markedID())
            recorded.id.withLock { $0 = id }
            try await store.check()
            try await store.put([2], at: ObjectKey("a/2"))
            #expect(try await store.get(key) == [1])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 9).map(\.text) == ["a/1", "a/2"])
        }
    }

    @Test(
        "a disk that is unmounted: nothing goes to its mount point, nothing counts as gone; and mounted, all is there")
    func unmounted() async throws {
        let recorded = Recorded(UUID())
        try await withStores("folder", recorded.identity) { plain, store, root in
            _ = try await plain.mark(as: try #require(recorded.id.withLock(\.self)), replacing: false)
            let key = try ObjectKey("a/1")
            try await store.put([1], at: key)
            try FileManager.default.moveItem(atPath: root, toPath: root + "-disk")
            #expect(await code { _ = try await store.get(key) } == .unreachable)
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            #expect(await code { try await store.put([2], at: ObjectKey("a/2")) } == .wrongStore)
            #expect(await code { _ = try await store.get(key) } == .wrongStore)
            #expect(await code { _ = try await store.delete([key]) } == .wrongStore)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
            try FileManager.default.removeItem(atPath: root)
            try FileManager.default.moveItem(atPath: root + "-disk", toPath: root)
            #expect(try await store.get(key) == [1])
        }
    }

    @Test("an object that is missing in an emptied bucket is not reported as deleted", arguments: ["rclone", "moto"])
    func emptied(kind: String) async throws {
        let recorded = Recorded(UUID())
        try await withStores(kind, recorded.identity) { plain, store, _ in
            _ = try await plain.mark(as: try #require(recorded.id.withLock(\.self)), replacing: false)
            let key = try ObjectKey("a/1")
            #expect(await code { _ = try await store.get(key) } == .notFound)
            try await plain.delete(.marker)
            #expect(await code { _ = try await store.get(key) } == .wrongStore)
            #expect(await code { _ = try await store.keys(beginning: "a/", after: nil, atMost: 9) } == .wrongStore)
            #expect(await code { _ = try await store.deleteAll(below: "a/", atMost: 9) } == .wrongStore)
        }
    }

    @Test("a store that the database takes for its own now is taken without a restart", arguments: ["folder", "moto"])
    func adopted(kind: String) async throws {
        let recorded = Recorded(UUID())
        try await withStores(kind, recorded.identity) { plain, store, _ in
            _ = try await plain.mark(as: UUID(), replacing: true)
            #expect(await code { try await store.check() } == .wrongStore)
            let id = try await plain.markedID()
            recorded.id.withLock { $0 = id }
            try await store.check()
        }
    }

    /// Runs `body` with a store without an identity, with the same store of this database, and with its folder.
    private func withStores(
        _ kind: String, _ identity: StoreIdentity,
        _ body: (any ObjectStore, any ObjectStore, String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let root = folder + "/store"
            if kind == "folder" {
                return try await body(
                    try FolderStore(root: root), try FolderStore(root: root, identity: identity), root)
            }
            try await withBucket(kind == "moto" ? .moto() : .rclone()) { plain in
                let store = try S3Store(plain.client.configuration, identity: identity)
                do {
                    try await body(plain, store, root)
                } catch {
                    await store.stop()
                    throw error
                }
                await store.stop()
            }
        }
    }
}
