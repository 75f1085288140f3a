import Foundation
import Testing

@testable import ErrandStorage

@Suite("Putting into a folder store") struct FolderStorePutTests {
    @Test("of many concurrent puts of a new key, one succeeds, and its object stays")
    func absent() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            let key = try ObjectKey("a/b")
            let winners = try await withThrowingTaskGroup(of: UInt8?.self) { group in
                for number in UInt8(1)...20 {
                    group.addTask {
                        let content = ObjectContent.bytes([number])
                        return try await store.put(content, at: key, type: .bytes, if: .absent) ? number : nil
                    }
                }
                return try await group.reduce(into: [UInt8]()) { winners, number in winners += number.map { [$0] } ?? []
                }
            }
            #expect(winners.count == 1)
            #expect(try await store.get(key) == winners)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/a") == ["b"])
        }
    }

    @Test("a file is stored and read unchanged, with rights for its owner only")
    func files() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root + "/store")
            let (source, copy) = (root + "/source", root + "/copy")
            let data = Data((0..<3_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            try data.write(to: URL(fileURLWithPath: source))
            let key = try ObjectKey("film")
            try await store.put(.file(path: source), at: key, type: .bytes, if: .always)
            #expect(try await store.size(of: key) == data.count)
            try await store.get(key, toFile: copy)
            #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == data)
            let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            await #expect(throws: StorageError.self) { try await store.get(key, toFile: copy) }
            #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == data)
        }
    }

    @Test(
        "a put that fails half-way leaves the old object and no other file", arguments: [PutCondition.always, .absent])
    func failsHalfWay(condition: PutCondition) async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root + "/store")
            let key = try ObjectKey("a/b")
            try await store.put([1, 2, 3], at: key)
            // A folder opens like a file, and only its read fails. The temporary file exists by then.
            for source in [root, root + "/nothing"] {
                await #expect(throws: StorageError.self) {
                    try await store.put(.file(path: source), at: key, type: .bytes, if: condition)
                }
            }
            #expect(try await store.get(key) == [1, 2, 3])
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/store/a") == ["b"])
        }
    }

    @Test("a crash before the rename leaves no object: the old one is read, and the next put succeeds")
    func crashBeforeRename() async throws {
        try await withFolder { root in
            let key = try ObjectKey("a/b")
            try await FolderStore(root: root).put([1, 2, 3], at: key)
            try Data([9]).write(to: URL(fileURLWithPath: root + "/a/.put-1a2b3c"))
            let store = try FolderStore(root: root)
            #expect(try await store.get(key) == [1, 2, 3])
            try await store.put([4], at: key)
            #expect(try await store.get(key) == [4])
        }
    }

    @Test("folders are their owner's alone, and a file in the place of one is refused")
    func folders() async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            try await store.put([1], at: ObjectKey("a/b/c"))
            for path in ["/a", "/a/b"] {
                let mode = try FileManager.default.attributesOfItem(atPath: root + path)[.posixPermissions] as? Int
                #expect(mode == 0o700)
            }
            let below = try ObjectKey("a/b/c/d")
            let error = await #expect(throws: StorageError.self) { try await store.put([2], at: below) }
            #expect(error?.code == .denied)
            #expect(try await store.size(of: below) == nil)
            #expect(try await store.get(ObjectKey("a/b/c")) == [1])
        }
    }
}
