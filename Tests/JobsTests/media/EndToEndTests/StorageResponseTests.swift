import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@Suite("Responses of the object store", .serialized) struct StorageResponseTests {
    @Test("M2, M3: a reachable store that fails: four attempts, then the photo has failed, and a retry delivers it")
    func fails() async throws {
        let isBroken = Mutex(true)
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration) { request in
                guard request.method == "PUT", isBroken.withLock({ $0 }) else { return .none }
                return .respond(
                    [500, 503, 429][request.number % 3], code: ["InternalError", "SlowDown", ""][request.number % 3])
            }
            let worker = try fixture.worker()
            try await fixture.stage(5)
            #expect(
                try await database.becomes(
                    withoutDelays: "(select count(*) from errand.failed) = 5", within: .seconds(80)))
            #expect(fixture.puts.count == 20)
            #expect(
                try await database.count(
                    "from media.upload_status where state = 'failed' and attempt = 4 and is_staged") == 5)
            isBroken.withLock { $0 = false }
            try await database.execute("select media.retry_upload(id) from media.upload_status where state = 'failed'")
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            try await fixture.expectDelivered(5)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("wrong keys: uploads park, spend nothing and raise an alarm, and the store is asked once a minute")
    func wrongKeys() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration)
            let wrong = try fixture.worker(["STORAGE_SECRET_KEY": "not-the-secret-at-all"])
            try await fixture.stage(30)
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.job where state = 'parked' and attempt = 0) = 30",
                    within: .seconds(60)))
            try await Task.sleep(for: Hardness.isFull ? .seconds(180) : .milliseconds(1500))
            print("F55: the store was asked \(fixture.proxy.requests.count) times")
            // The check at the start, and one per minute.
            #expect(fixture.proxy.requests.count <= (Hardness.isFull ? 4 : 2))
            #expect(
                try await database.count(
                    "from errand.health() where check_name = 'circuits' and not ok and detail like '%storage%'")
                    == 1)
            #expect(
                try await database.count(
                    "from errand.circuits where state = 'open' and reason like '%SignatureDoesNotMatch%'") == 1
            )
            #expect(wrong.output.contains("has to be fixed") && !wrong.output.contains("not-the-secret-at-all"))
            wrong.send(SIGTERM)
            #expect(try await wrong.exit() == 0)

            let right = try fixture.worker()
            try await database.execute("select errand.circuit_close('storage')")
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            try await fixture.expectDelivered(30)
            right.send(SIGTERM)
            #expect(try await right.exit() == 0)
        }
    }

    @Test("E1: a bucket that keeps versions stops the start and `storage init` with the reason")
    func versions() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration)
            let url = try BucketServer.moto().url(bucket: "versioned", prefix: "t")
            for arguments in [["storage", "init", "--adopt"], ["worker"]] {
                let program = try fixture.program(arguments, ["STORAGE_URL": url])
                #expect(try await program.exit() == 78)
                #expect(program.output.contains("keeps versions"), "\(arguments)")
            }
        }
    }

    @Test("a store that stalls or trickles gives the slot back within 30 s", .enabled(if: Hardness.isFull))
    func slow() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration) { request in
                request.method == "PUT" ? (request.number % 2 == 0 ? .stall : .trickle(10)) : .none
            }
            let worker = try fixture.worker()
            try await fixture.stage(4)
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.job where attempts is not null) = 4", within: .seconds(60)))
            let longest = try await database.query(
                """
                select max(extract(epoch from (one ->> 'ended_at')::timestamptz - (one ->> 'started_at')::timestamptz))::float8
                from errand.job, jsonb_array_elements(attempts) as one
                """
            ).scalar(Double.self)
            print("F53: the longest attempt took \(longest) s")
            #expect(longest <= 30)
            worker.send(SIGKILL)
        }
    }
}
