import Foundation
import Testing

@testable import ErrandStorage

@Suite("Folder store") struct FolderStoreTests {
    @Test("a put object exists, replaces the previous one, and is gone after a delete")
    func putGetDelete() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            let key = try ObjectKey("photos/2026/a.jpg")
            #expect(try await store.size(of: key) == nil)
            try await store.put([1, 2, 3], at: key)
            try await store.put([4, 5], at: key)
            #expect(try await store.get(key) == [4, 5])
            #expect(try await store.size(of: key) == 2)
            try await store.delete(key)
            try await store.delete(key)
            await #expect(throws: StorageError.self) { try await store.get(key) }
        }
    }

    @Test("a deleted object takes the folders with it that are empty then, and no others")
    func emptyFolders() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            for name in ["events/1/a.jpg", "events/1/small/a.jpg", "events/2/a.jpg"] {
                try await store.put([1], at: ObjectKey(name))
            }
            try await store.delete(ObjectKey("events/1/small/a.jpg"))
            #expect(try FileManager.default.subpathsOfDirectory(atPath: root + "/events/1") == ["a.jpg"])
            _ = try await store.delete([ObjectKey("events/1/a.jpg"), ObjectKey("events/3/a.jpg")])
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/events") == ["2"])
            try await store.delete(ObjectKey("events/2/a.jpg"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
        }
    }

    @Test("objects that are put and deleted beside each other in one folder fail nothing, and leave nothing")
    func besideDeletes() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...4 {
                    group.addTask {
                        let key = try ObjectKey("moments/ab/\(number)")
                        for _ in 1...100 {
                            try await store.put([1, 2], at: key)
                            #expect(try await store.get(key) == [1, 2])
                            try await store.delete(key)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
        }
    }

    @Test("files are their owner's alone, and no temporary name is left")
    func permissions() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            for size in [0, 1, 3_000_000] {
                try await store.put([UInt8](repeating: 7, count: size), at: ObjectKey("d/\(size)"))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: root + "/d").sorted()
            #expect(names == ["0", "1", "3000000"])
            let mode = try FileManager.default.attributesOfItem(atPath: root + "/d/1")[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test("readers see a whole object, the old or the new one, while it is replaced")
    func atomic() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            let key = try ObjectKey("one")
            try await store.put([UInt8](repeating: 0, count: 100_000), at: key)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for round in 1...50 {
                        try await store.put([UInt8](repeating: UInt8(round), count: 100_000), at: key)
                    }
                }
                group.addTask {
                    for _ in 1...50 {
                        let bytes = try await store.get(key)
                        #expect(bytes.count == 100_000 && Set(bytes).count == 1)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("half-written files of long ago are removed at the start, young ones and objects stay")
    func leftovers() async throws {
        try await withFolder { root in
            try await FolderStore(root: root).put([1], at: ObjectKey("a/b"))
            for (name, age) in [(".put-old", 7200.0), (".put-young", 10)] {
                let path = root + "/a/" + name
                try Data([1]).write(to: URL(fileURLWithPath: path))
                try FileManager.default.setAttributes(
                    [.modificationDate: Date.now.addingTimeInterval(-age)], ofItemAtPath: path)
            }
            _ = try FolderStore(root: root)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/a").sorted() == [".put-young", "b"])
        }
    }

    @Test("a symbolic link in the place of an object is not followed")
    func links() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: "/etc/passwd")
            let error = await #expect(throws: StorageError.self) { try await store.get(ObjectKey("link")) }
            #expect(error?.code == .denied)
        }
    }

    @Test("a symbolic link in the place of a folder leads nowhere: not to read, measure, replace or delete")
    func linkedFolders() async throws {
        try await withFolder { root in
            let outside = root + "-outside"
            defer { try? FileManager.default.removeItem(atPath: outside) }
            let store = try FolderStore(root: root)
            try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: outside + "/secret"))
            try FileManager.default.createSymbolicLink(atPath: root + "/way", withDestinationPath: outside)
            let key = try ObjectKey("way/secret")
            let reading = await #expect(throws: StorageError.self) { try await store.get(key) }
            let measuring = await #expect(throws: StorageError.self) { try await store.size(of: key) }
            let replacing = await #expect(throws: StorageError.self) { try await store.put([9], at: key) }
            let deleting = await #expect(throws: StorageError.self) { try await store.delete(key) }
            for error in [reading, measuring, replacing, deleting] { #expect(error?.code == .denied) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: outside + "/secret")) == Data([1, 2, 3]))
        }
    }

    @Test(
        "keys that could lead elsewhere are refused",
        arguments: [
            "", "/", "/etc/passwd", "../a", "a/../b", "a//b", "a/", ".hidden", "a/.put-x", "a%2e%2e/b", "a\0b", "a b",
            "ä",
            "a\\b", "a\nb", String(repeating: "a/", count: 600) + "a", String(repeating: "a", count: 300),
        ])
    func badKeys(text: String) {
        #expect(throws: StorageError.self) { try ObjectKey(text) }
    }

    @Test("parts, listings and many deletes are as those of a bucket")
    func listing() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            let keys = try ["a", "d/b", "d/c/1", "d/c/2", "d-1", "e"].map { try ObjectKey($0) }
            for key in keys { try await store.put([1, 2, 3, 4], at: key) }
            try Data([1]).write(to: URL(fileURLWithPath: root + "/d/.put-x"))
            #expect(
                try await store.keys(beginning: "", after: nil, atMost: 100).map(\.text) == [
                    "a", "d-1", "d/b", "d/c/1", "d/c/2", "e",
                ])
            #expect(try await store.keys(beginning: "d/c", after: keys[2], atMost: 1).map(\.text) == ["d/c/2"])
            #expect(try await store.get(keys[0], 1..<3) == [2, 3])
            #expect(try await store.get(keys[0], 3..<9) == [4])
            #expect(await code { _ = try await store.get(keys[0], 4..<9) } == .rejected)
            #expect(try await store.delete(keys + [ObjectKey("none")]) == [:])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 100) == [])
        }
    }

    @Test("the same bytes once more are success, others are refused")
    func putOnce() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            let key = try ObjectKey("a/b")
            #expect(try await store.putOnce([1, 2], at: key, type: .jpeg))
            #expect(try await !store.putOnce([1, 2], at: key, type: .jpeg))
            #expect(await code { try await store.putOnce([2, 1], at: key, type: .jpeg) } == .taken)
        }
    }

    @Test("a root that is gone, such as a disk that isn't mounted, is a store that can't be reached, and no empty one")
    func unmounted() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root + "/disk")
            let key = try ObjectKey("a")
            try await store.put([1], at: key)
            try FileManager.default.removeItem(atPath: root + "/disk")
            #expect(await code { _ = try await store.get(key) } == .unreachable)
            #expect(await code { _ = try await store.size(of: key) } == .unreachable)
            #expect(await code { try await store.delete(key) } == .unreachable)
            #expect(await code { try await store.check() } == .unreachable)
        }
    }
}
