import Foundation
import StorageKit
import Testing

@testable import ErrandStorage

@Suite("The size of read objects") struct ObjectSizeTests {
    @Test(
        "an object with more bytes than the caller accepts is rejected unread", arguments: ["folder", "moto", "rclone"])
    func tooLarge(kind: String) async throws {
        try await withFolder { root in
            let key = try ObjectKey("film")
            if kind == "folder" {
                let store = try FolderStore(root: root)
                try await store.put([1], at: key)
                // Without a block on disk.
                #expect(truncate(root + "/film", 6 << 30) == 0)
                #expect(await code { _ = try await store.get(key, atMost: 200 << 20) } == .tooLarge)
            } else {
                try await withBucket(kind == "moto" ? .moto() : .rclone()) { store in
                    try await store.put([UInt8](repeating: 7, count: 3 << 20), at: key)
                    #expect(await code { _ = try await store.get(key, atMost: (3 << 20) - 1) } == .tooLarge)
                    #expect(try await store.get(key, atMost: 3 << 20).count == 3 << 20)
                }
            }
        }
    }
}
