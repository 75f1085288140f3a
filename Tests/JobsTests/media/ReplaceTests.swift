import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Uploads that replace") struct ReplaceTests {
    @Test("a replaced object has the new bytes, also over one that no upload knows", arguments: [false, true])
    func replaces(inBucket: Bool) async throws {
        try await withService(inBucket: inBucket) { service in
            let (database, key) = (service.database, try ObjectKey("avatars/17.jpg"))
            try await service.store.put([9], at: key)
            let first = try await replace([1], in: database)
            #expect(try await database.becomes("exists (select from media.upload where delivered_at is not null)"))
            #expect(try await service.store.get(key) == [1])
            // Long ago: no attempt with older bytes can still run.
            try await database.execute("update media.upload set delivered_at = now() - interval '91 s'")
            #expect(try await replace([2, 3], in: database) == first)
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await service.store.get(key) == [2, 3])
            for _ in 1...2 { #expect(try await replace([2, 3], in: database) == first) }
            #expect(try await database.number("select count(*) from errand.job") == 0)
            #expect(
                try await database.lines("select revision, size, bytes is null from media.upload") == ["2|2|true"])
        }
    }

    @Test("bytes that arrive from an attempt before are replaced once more, when no such attempt can still run")
    func late() async throws {
        try await withService(inBucket: true) { service in
            let (database, key) = (service.database, try ObjectKey("avatars/17.jpg"))
            try await replace([1], in: database)
            try await replace([2], in: database)
            #expect(
                try await database.becomes(
                    "exists (select from errand.job where state = 'scheduled' and run_at > now() + interval '60 s')"))
            #expect(try await database.lines("select state, is_staged from media.upload_status") == ["delivered|true"])
            // Like an attempt whose worker was killed, or lost its lease, while the server had all of the request.
            try await service.store.put([1], at: key)
            try await confirm(database)
            #expect(try await service.store.get(key) == [2])
            #expect(try await database.number("select count(bytes) from media.upload") == 0)
        }
    }

    @Test("an attempt that has stored older bytes records nothing: the newer ones are stored")
    func superseded() async throws {
        try await withAppQueue([]) { test in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let database = test.database
            let upload = try await replace([1], in: database)
            let store = HookedStore(
                plain: try FolderStore(root: root), afterPut: { try await replace([2], in: database) })
            let job = UploadRetry(upload: upload)
            let run = try await test.run(UploadRetryHandler(store: store), job)
            #expect(run.attemptOutcome == .cancelled, "\(run)")
            #expect(try await database.lines("select bytes, delivered_at from media.upload") == ["\\x02|"])
            let again = try await test.run(UploadRetryHandler(store: store.plain), job)
            #expect(again.attemptOutcome == .snoozed, "\(again)")
            #expect(try await store.plain.get(ObjectKey("avatars/17.jpg")) == [2])
        }
    }

    @Test("of many calls at once, the one that committed last wins")
    func race() async throws {
        try await withService(inBucket: true, workers: 2) { service in
            let database = service.database
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in UInt8(1)...20 {
                    group.addTask { try await replace([UInt8](repeating: number, count: 1000), in: database) }
                }
                try await group.waitForAll()
            }
            try await confirm(database)
            let stored = try await service.store.get(ObjectKey("avatars/17.jpg"))
            #expect(
                try await database.query(
                    Statement("select sha256 = sha256($1) and revision = 20 from media.upload", [Bytes(stored)])
                ).scalar(Bool.self))
            #expect(try await database.number("select count(*) from errand.failed") == 0)
        }
    }

    @Test("an object of another owner, a photo's result and one that is about to be removed are not replaced")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            try await replace([1], in: database)
            try await database.execute(
                "select media.compressed_v1(photo, 'photos/1.jpg', '{}', '\\x00') from media.submit('u/1.jpg') as photo"
            )
            try await database.execute("insert into media.removal (in_flight, key) values (false, 'avatars/18.jpg')")
            for (arguments, state) in [
                ("'avatars/17.jpg', '\\x02', owner => 'eve', replace => true", "ER409"),
                ("'avatars/17.jpg', '\\x02', replace => true", "ER409"),
                ("'avatars/17.jpg', '\\x02', owner => 'ben'", "ER409"),
                ("'photos/1.jpg', '\\x02', replace => true", "ER409"),
                ("'avatars/18.jpg', '\\x02', replace => true", "ER409"),
                ("'avatars/19.jpg', '\\x02', replace => null", "ER422"),
            ] {
                #expect(try await database.state(of: "media.submit_upload(\(arguments))") == state, "\(arguments)")
            }
        }
    }

    /// Ends the wait of uploads that are to be stored once more, and waits for their jobs.
    private func confirm(_ database: Database) async throws {
        #expect(
            try await database.becomes(
                "not exists (select from errand.job where state <> 'scheduled')"))
        try await database.execute("update media.upload set confirm_at = now() where confirm_at is not null")
        try await database.execute("update errand.job set run_at = now()")
        #expect(try await database.becomes("not exists (select from errand.job)"))
    }
}

/// Replaces the avatar of ben; returns the id of its upload.
@discardableResult
private func replace(_ bytes: [UInt8], in database: Database) async throws -> UUID {
    try await database.query(
        Statement(
            "select media.submit_upload('avatars/17.jpg', $1, owner => 'ben', replace => true)", [Bytes(bytes)])
    ).scalar(UUID.self)
}
