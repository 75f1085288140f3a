import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@testable import Jobs

@Suite("Uploads") struct UploadRetryTests {
    private let photo = [UInt8](repeating: 42, count: 40_000)

    @Test("M2, M3: one attempt and three more, then it has failed, with every error on record and the photo kept")
    func failsAndKeeps() async throws {
        let isBroken = Mutex(true)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            request.method == "PUT" && isBroken.withLock { $0 } ? .respond(503, code: "SlowDown") : .none
        }
        try await withService(through: proxy) { service in
            let upload = try await service.stage(["a/1.jpg"], photo)[0]
            let delays = try await skipDelays(service.database, until: "exists (select from errand.failed)")
            #expect(proxy.requests.map(\.method) == ["PUT", "PUT", "PUT", "PUT"])
            for (delay, about) in zip(delays, [2.0, 8, 30]) {
                #expect((about * 0.5 - 0.3...about * 1.5 + 0.3).contains(delay))
            }
            #expect(delays.count == 3)
            let row = try await service.database.query(
                """
                select state, attempt, is_staged, jsonb_array_length(attempts), error,
                    (select sha256(bytes) = sha256 from media.upload)
                from media.upload_status
                """)
            let (state, attempt, isStaged, errors, error, isRight) = try row[0].decode(
                String.self, Int.self, Bool.self, Int.self, String.self, Bool.self)
            #expect(state == "failed" && attempt == 4 && isStaged && errors == 4 && isRight)
            #expect(error.contains("503 SlowDown"))

            try await service.database.execute(Statement("select media.retry_upload($1, 'again')", [upload]))
            _ = try await skipDelays(service.database, until: "exists (select from errand.failed)")
            #expect(proxy.requests.count == 8, "a fresh budget")
            isBroken.withLock { $0 = false }
            try await service.database.execute("select errand.retry(array(select id from errand.failed))")
            #expect(
                try await service.database.becomes("exists (select from media.upload where delivered_at is not null)"))
            #expect(try await service.store.get(ObjectKey("a/1.jpg")) == photo)
            #expect(try await service.database.count("from media.upload where bytes is not null") == 0)
            await #expect(throws: PostgresError.self) {
                try await service.database.execute(Statement("select media.retry_upload($1)", [upload]))
            }
        }
    }

    @Test("M3: a failed upload outlives its failed job: one call tries it again all the same")
    func outlivesItsJob() async throws {
        let proxy = try FaultProxy(to: 1) { _ in .respond(400, code: "InvalidRequest") }
        try await withService(through: proxy) {
            service in
            let upload = try await service.stage(["a/1.jpg"], photo)[0]
            #expect(try await service.database.becomes("exists (select from errand.failed)"))
            try await service.database.execute("select errand.discard(array(select id from errand.failed), 'tidied')")
            #expect(
                try await service.database.count("from media.upload_status where state = 'cancelled' and is_staged")
                    == 1)
            try await service.database.execute(Statement("select media.retry_upload($1)", [upload]))
            #expect(
                try await service.database.becomes(
                    "exists (select from errand.failed join media.upload on job_id = failed.id)"))
        }
    }

    @Test(
        "a source that is gone or not what it was fails at the first attempt, with the reason",
        arguments: [
            ("bytes = null", "source_missing"), ("bytes = '\\x00'", "source_changed"),
        ])
    func source(change: String, reason: String) async throws {
        try await withService { service in
            try await service.database.transaction { transaction in
                try await transaction.execute(
                    Statement("select media.submit_upload('a/1.jpg', $1)", [Bytes(photo)]))
                try await transaction.execute(Statement("update media.upload set \(change)"))
            }
            #expect(try await service.database.becomes("exists (select from errand.failed)"))
            let (attempt, error) = try await service.database.query("select attempt, error from errand.failed")[0]
                .decode(Int.self, String.self)
            #expect(attempt == 1 && error.hasPrefix(reason))
            #expect(try await service.store.size(of: ObjectKey("a/1.jpg")) == nil)
        }
    }

    @Test("another object with the key is never replaced: the upload fails with that reason")
    func taken() async throws {
        try await withService { service in
            try await service.store.put([1, 2, 3], at: ObjectKey("a/1.jpg"))
            try await service.stage(["a/1.jpg"], photo)
            #expect(try await service.database.becomes("exists (select from errand.failed where error like '%taken%')"))
            #expect(try await service.store.get(ObjectKey("a/1.jpg")) == [1, 2, 3])
        }
    }

    @Test("two workers with the same upload: one object, the right bytes, one record")
    func twoAtOnce() async throws {
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            request.method == "PUT" ? .delay(.milliseconds(100)) : .none
        }
        try await withService(through: proxy, workers: 2) { service in
            try await service.database.transaction { transaction in
                try await transaction.execute(
                    Statement("select media.submit_upload('a/1.jpg', $1)", [Bytes(photo)]))
                try await transaction.execute(
                    """
                    select errand.enqueue('upload_retry', payload, queue => 'uploads')
                    from errand.job, generate_series(1, 3)
                    """)
            }
            #expect(try await service.database.becomes("count(*) = 4 from errand.history where state = 'succeeded'"))
            #expect(try await service.store.keys(beginning: "", after: nil, atMost: 10).map(\.text) == ["a/1.jpg"])
            #expect(try await service.store.get(ObjectKey("a/1.jpg")) == photo)
        }
    }

    @Test("an upload whose photo was removed leaves no object")
    func removed() async throws {
        let wasPut = Mutex(false)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            if request.method == "PUT" { wasPut.withLock { $0 = true } }
            return request.method == "PUT" ? .delay(.milliseconds(500)) : .none
        }
        try await withService(through: proxy) { service in
            try await service.stage(["a/1.jpg"], photo)
            while !wasPut.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            try await service.database.execute("delete from media.upload")
            #expect(try await service.database.becomes("exists (select from errand.history where state = 'cancelled')"))
            #expect(try await service.store.keys(beginning: "", after: nil, atMost: 10) == [])
        }
    }

    @Test("a reply that this version doesn't know removes nothing: the object and its bytes stay for the next attempt")
    func unknownReply() async throws {
        try await withAppQueue([]) { test in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID())").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let (database, store) = (test.database, try FolderStore(root: root))
            let (handler, key) = (UploadRetryHandler(store: store), try ObjectKey("a/1.jpg"))
            let upload = try await database.query("select media.submit_upload('a/1.jpg', '\\x07')").scalar(UUID.self)
            // Like a later version of the schema.
            try await database.execute("alter function media.delivered_v1 rename to known_v1")
            try await database.execute(
                """
                create function media.delivered_v1(upload uuid, key text, revision int, is_last boolean) returns text
                return 'kept_elsewhere'
                """)
            let run = try await test.run(handler, UploadRetry(upload: upload))
            #expect(run.attemptOutcome == .retried)
            #expect(run.reason?.contains("expected one of delivered, superseded, unwanted, got kept_elsewhere") == true)
            #expect(try await store.get(key) == [7])
            #expect(try await database.lines("select bytes, delivered_at from media.upload") == ["\\x07|"])
            try await database.execute("drop function media.delivered_v1")
            try await database.execute("alter function media.known_v1 rename to delivered_v1")
            let again = try await test.run(handler, UploadRetry(upload: upload), attempt: 2)
            #expect(again.attemptOutcome == .succeeded, "\(again)")
            #expect(try await store.get(key) == [7])
        }
    }

    @Test("an invalid upload is rejected")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            for (call, state) in [
                ("media.submit_upload('../a', '\\x00')", "ER422"), ("media.submit_upload('a', '')", "ER422"),
                ("media.submit_upload('a', '\\x00', 'jpeg')", "ER422"),
                ("media.submit_upload('a', '\\x00', 'text/html')", "ER422"),
                ("media.submit_upload('a', '\\x00', 'image/svg+xml')", "ER422"),
                ("media.submit_upload('a', '\\x00', owner => repeat('x', 100000))", "ER422"),
                ("media.submit_upload('a', '\\x00', owner => '')", "ER422"),
                ("media.submit_upload('a', repeat('x', 17000000)::bytea)", "ER413"),
                ("media.retry_upload(gen_random_uuid())", "ER404"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    @Test("the same call again returns the same upload, before and after its delivery; another one is refused")
    func again() async throws {
        try await withService { service in
            let database = service.database
            let call = "select media.submit_upload('a/1.jpg', '\\x00', owner => 'anna')"
            let first = try await database.transaction { transaction in
                let first = try await transaction.query(Statement(call)).scalar(UUID.self)
                #expect(try await transaction.query(Statement(call)).scalar(UUID.self) == first)
                return first
            }
            #expect(try await database.becomes("exists (select from media.upload where delivered_at is not null)"))
            #expect(try await database.query(Statement(call)).scalar(UUID.self) == first)
            #expect(try await database.count("from media.upload") == 1)
            #expect(try await database.count("from errand.job") == 0)
            // An object with a pending removal would be removed with the older object of that name.
            try await database.execute(
                """
                insert into media.removal (in_flight, is_folder, key)
                values (false, false, 'a/2.jpg'), (false, true, 'events/x/')
                """)
            for other in [
                "'a/1.jpg', '\\x01', owner => 'anna'", "'a/1.jpg', '\\x00', owner => 'ben'",
                "'a/1.jpg', '\\x00', 'image/png', 'anna'", "'a/2.jpg', '\\x00'", "'events/x/y/1.jpg', '\\x00'",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select media.submit_upload(\(other))"))
                }
                #expect(error?.sqlState == "ER409", "\(other)")
            }
        }
    }

    @Test(
        "a full store parks uploads and spends no attempt; other work in the store goes on, and so do they when it has room"
    )
    func full() async throws {
        let isFull = Mutex(true)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            request.method == "PUT" && isFull.withLock { $0 } ? .respond(507, code: "XMinioStorageFull") : .none
        }
        try await withService(through: proxy) { service in
            let database = service.database
            try await service.stage((1...5).map { "a/\($0).jpg" }, photo)
            #expect(
                try await database.becomes("(select count(*) from errand.job where state = 'parked') >= 4"))
            #expect(try await database.count("from errand.job where attempts is not null") == 0)
            // Jobs that free space don't wait for jobs that need it.
            try await database.execute("insert into media.removal (in_flight, key) values (false, 'b/1.jpg')")
            try await database.execute("select errand.enqueue('object_removal')")
            #expect(try await database.becomes("not exists (select from media.removal)"))
            isFull.withLock { $0 = false }
            #expect(
                try await database.becomes("(select count(*) from media.upload where delivered_at is not null) = 5"))
            #expect(try await database.count("from errand.failed") == 0)
        }
    }

    /// Brings scheduled attempts forward until the condition holds; returns their delays in seconds.
    private func skipDelays(_ database: Database, until condition: String) async throws -> [Double] {
        var delays: [Double] = []
        let start = ContinuousClock.now
        while try await !database.query(Statement("select \(condition)")).scalar(Bool.self) {
            try #require(ContinuousClock.now - start < .seconds(20))
            delays += try await database.query(
                """
                with waiting as (
                    select id, extract(epoch from run_at - (attempts -> -1 ->> 'ended_at')::timestamptz)::float8 as pause
                    from errand.job where state = 'scheduled' and run_at > now() for update)
                update errand.job set run_at = now() from waiting where job.id = waiting.id
                returning waiting.pause
                """
            ).map { try $0.decode(Double.self) }
            try await Task.sleep(for: .milliseconds(20))
        }
        return delays
    }

    @Test("an object whose upload is gone and that the store won't delete is listed for removal, and parks no job")
    func unwanted() async throws {
        let wasPut = Mutex(false)
        let isGone = Mutex(false)
        let isDenied = Mutex(true)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            switch request.method {
            case "PUT" where request.path.contains("1.jpg"):
                wasPut.withLock { $0 = true }
                // On a thread of the proxy's own.
                for _ in 0..<6000 where !isGone.withLock(\.self) { usleep(10_000) }
                return .none
            case "DELETE", "POST": return isDenied.withLock(\.self) ? .respond(403, code: "AccessDenied") : .none
            default: return .none
            }
        }
        try await withService(through: proxy) { service in
            let (database, store) = (service.database, service.store)
            let upload = try await service.stage(["a/1.jpg"], [1])[0]
            while !wasPut.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
            try await database.execute("delete from media.upload")
            isGone.withLock { $0 = true }
            #expect(try await database.becomes("exists (select from errand.history where kind = 'upload_retry')"))
            #expect(
                try await database.lines("select state, reason from errand.history where kind = 'upload_retry'")
                    == ["cancelled|upload \(upload) was removed while it was stored"])
            #expect(try await database.lines("select key from media.removal") == ["a/1.jpg"])
            try await service.stage(["a/2.jpg"], [2])
            #expect(try await database.becomes("exists (select from media.upload where delivered_at is not null)"))
            #expect(try await database.lines("select name from errand.circuit where opened_at is not null") == [])
            isDenied.withLock { $0 = false }
            let start = ContinuousClock.now
            while try await store.all() != ["a/2.jpg"], ContinuousClock.now - start < .seconds(60) {
                try await database.ageRemovals()
                try await database.execute("select errand.enqueue('object_removal')")
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(try await store.all() == ["a/2.jpg"])
        }
    }
}
