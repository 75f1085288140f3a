import Foundation
import NIOHTTP1
import StorageKit
import Testing

@testable import ErrandStorage

@Suite("Deleting all of a folder") struct DeleteAllTests {
    @Test(
        "all that lies below goes, so many at a time: names that are no text, links but not what they lead to, folders")
    func folder() async throws {
        try await withFolder { folder in
            let root = folder + "/store"
            let store = try FolderStore(root: root)
            for key in ["e/1/a", "e/1/b/c", "e/10/a"] { try await store.put([1], at: ObjectKey(key)) }
            try Data([1]).write(to: URL(fileURLWithPath: folder + "/outside"))
            for (name, target) in [("file", "outside"), ("folder", ".")] {
                try FileManager.default.createSymbolicLink(
                    atPath: root + "/e/1/\(name)", withDestinationPath: folder + "/" + target)
            }
            let raw: [CChar] = Array((root + "/e/1/").utf8CString.dropLast()) + [-1, -2, 0x20, 0x31, 0]
            let descriptor = open(raw, O_CREAT | O_WRONLY, 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
            #expect(try await store.deleteAll(below: "e/1/", atMost: 3) == 3)
            #expect(try await store.deleteAll(below: "e/1/", atMost: 3) == 2)
            #expect(try await store.deleteAll(below: "e/1/", atMost: 3) == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/e") == ["10"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["outside", "store"])
        }
    }

    @Test("only a folder is deleted", arguments: ["", "/", "a", "../", "a/../", ".errand-store/"])
    func refused(prefix: String) async throws {
        try await withFolder { root in
            let store = try FolderStore(root: root)
            try await store.put([1], at: ObjectKey("a/b"))
            #expect(await code { _ = try await store.deleteAll(below: prefix, atMost: 9) } == .badKey)
            #expect(try await store.get(ObjectKey("a/b")) == [1])
        }
    }

    @Test("a bucket's go so many at a time, with names that no document can hold", arguments: ["photos", "versioned"])
    func bucket(name: String) async throws {
        try await withBucket(.moto(), bucket: name, options: name == "photos" ? "" : "&versions=removed") { store in
            let prefix = store.client.configuration.prefix
            for name in ["e/1/a b", "e/1/ü<&>", "e/1/", "e/1/a", "e/10/a"] {
                let request = S3Client.Request(method: .PUT, key: "\(prefix)/\(name)", body: S3Body([9]), what: "put")
                _ = try await store.client.send(request)
            }
            var deleted: [Int] = []
            while deleted.last != 0, deleted.count < 9 {
                deleted.append(try await store.deleteAll(below: "e/1/", atMost: 3))
            }
            #expect(deleted == [3, 1, 0])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 9).map(\.text) == ["e/10/a"])
        }
    }
}
