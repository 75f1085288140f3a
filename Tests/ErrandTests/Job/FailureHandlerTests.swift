import ErrandTestKit
import Foundation
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job that fails, and whose failure is told.
private struct Charge: Job {
    static let kind: JobKind = "charge"
    static let policy = JobPolicy(retry: .exponential(attempts: 2, first: .milliseconds(1)))
    var order = Int64.max
    var isTold = true
}

private struct ChargeHandler: FailureHandler {
    struct Told: Hashable, Sendable {
        let order: Int64
        let failure: JobFailure
    }

    let told: Shared<[Told]>

    func run(_ job: Charge, in context: JobContext) async throws -> Outcome {
        throw CocoaError(.userCancelled)
    }

    func failed(_ job: Charge, _ failure: JobFailure, in context: JobContext) async throws -> Outcome {
        told.with { $0.append(Told(order: job.order, failure: failure)) }
        return job.isTold ? .done : .fail(reason: "nobody listens")
    }
}

@Suite("A failure of a job enqueues one of its kind's choice") struct FailureHandlerTests {
    @Test("a handler gets each failure with payload, error and attempts, and none for a failure of its own")
    func handler() async throws {
        let told = Shared<[ChargeHandler.Told]>([])
        try await withWorker([ChargeHandler(told: told)]) { database, queue in
            try await queue.enqueue(Charge(), .subject("ada"), .tags("paid"))
            let ended = "count(*) = 1 from errand.history"
            #expect(try await database.becomes(ended, after: database.promote))
            let error = try await database.text("select error from errand.failed")
            let first = ChargeHandler.Told(order: .max, failure: JobFailure(id: 1, error: error, attempts: 2))
            #expect(told.with { $0 } == [first])
            #expect(
                try await database.text("select kind, queue, subject, tags, state from errand.history")
                    == "charge.failed|default|ada|[\"paid\"]|succeeded")
            #expect(
                try await database.text("select on_failure from errand.kinds where kind = 'charge'") == "charge.failed")
            // Again once it has failed again.
            try await database.execute("select errand.retry('{1}')")
            #expect(try await database.becomes("count(*) = 2 from errand.history", after: database.promote))
            #expect(told.with { $0 } == [first, first])
            try await queue.enqueue(Charge(isTold: false))
            let failed = "count(*) = 1 from errand.failed where kind = 'charge.failed'"
            #expect(try await database.becomes(failed, after: database.promote))
            #expect(try await database.count("from errand.job") == 0)
        }
    }

    @Test("it is enqueued by what records the failure: a worker, a rescue, a guard, and a worker that pulls")
    func sources() async throws {
        try await withTestDatabase { database, _ in
            try await database.makeGuard()
            try await database.execute("select errand.put_kind('noop', max_attempts => 1, on_failure => 'told')")
            let worker = try await ManualWorker(database)
            func fails(_ record: () async throws -> Void) async throws -> String {
                try await record()
                let told = """
                    select payload ->> 'error', payload ->> 'kind', payload ->> 'attempt', payload ->> 'payload', state
                    from errand.job
                    where kind = 'told' and (payload ->> 'job_id')::bigint in (select id from errand.failed)
                    """
                let text = try await database.text(told)
                try await database.execute("delete from errand.job")
                try await database.execute("delete from errand.failed")
                return text
            }
            func enqueue(_ arguments: String = "'[1]'") async throws {
                _ = try await database.query(Statement("select errand.enqueue('noop', \(arguments))"))
            }
            let failed = try await fails {
                try await enqueue()
                try await worker.end(worker.claim(1)) { .failed($0, error: "broken") }
            }
            #expect(failed == "broken|noop|1|[1]|available")
            let guarded = try await fails {
                try await enqueue("'[1]', guard => 'wanted'")
                try await database.execute(
                    """
                    create or replace function public.wanted(payload jsonb) returns boolean language sql stable
                    security definer set search_path = pg_catalog, pg_temp as $$ select 1 / 0 = 1 $$
                    """)
                let jobs = try await worker.claim(1)
                #expect(jobs.isEmpty)
            }
            #expect(guarded == "guard wanted: division by zero [22012]|noop|1|[1]|available")
            let pulled = try await fails {
                let pulling = try await PullingWorker(database)
                try await enqueue()
                let results = try await database.results("fail", pulling.pull(), ", '{pulled}'")
                #expect(results == ["completed"])
            }
            #expect(pulled == "pulled|noop|1|[1]|available")
            let lost = try await fails {
                try await enqueue()
                let jobs = try await worker.claim(1)
                #expect(jobs.count == 1)
                try await worker.dies()
            }
            #expect(lost == "its worker was lost|noop|1|[1]|available")
        }
    }

    @Test("a large payload comes with it")
    func large() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_kind('noop', max_attempts => 1, on_failure => 'told')")
            let worker = try await ManualWorker(database)
            let text = (1...400).map { "\($0 * 7919)" }.joined()
            _ = try await database.query(Statement("select errand.enqueue('noop', to_jsonb($1::text))", [text]))
            #expect(try await database.count("from errand.job where payload_day is not null") == 1)
            try await worker.end(worker.claim(1)) { .failed($0, error: "broken") }
            let told = try #require(try await worker.claim(1, kinds: ["told"]).first)
            struct Payload: Decodable {
                let payload: String
                let error: String
            }
            let payload = try told.payload.decode(Payload.self)
            #expect(payload.payload == text && payload.error == "broken")
        }
    }

    @Test("a failure that is rolled back enqueues nothing; an empty text of put_kind ends it; other kinds have none")
    func none() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_kind('noop', on_failure => 'told')")
            try await database.execute("select errand.put_kind('noop', max_attempts => 1)")
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            let jobs = try await worker.claim(2)
            let session = try await database.session()
            try await session.execute("begin")
            for statement in Completion.statements(for: jobs.map { .failed($0, error: "x") }) {
                _ = try await session.query(statement)
            }
            try await session.execute("rollback")
            await session.close()
            #expect(try await database.count("from errand.job where kind = 'told'") == 0)
            try await worker.end([jobs[0]]) { .failed($0, error: "x") }
            #expect(try await database.count("from errand.job where kind = 'told'") == 1)
            try await database.execute("select errand.put_kind('noop', on_failure => '')")
            try await worker.end([jobs[1]]) { .failed($0, error: "x") }
            #expect(try await database.count("from errand.job where kind = 'told'") == 1)
            #expect(
                try await database.complaint(of: "select errand.put_kind('noop', on_failure => 'A')")
                    == "ER422 put_kind: on_failure: kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got 'A'")
        }
    }

    @Test("as many are enqueued as jobs fail, though workers die between")
    func random() async throws {
        let count = Hardness.isFull ? 10_000 : 300
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.put_kind('noop', max_attempts => 3, on_failure => 'told')")
            _ = try await database.query(Statement("select errand.enqueue('noop') from generate_series(1, \(count))"))
            while try await database.count("from errand.job where kind = 'noop'") > 0 {
                let worker = try await ManualWorker(database)
                for _ in 1...4 {
                    let jobs = try await worker.claim(50).filter { _ in Int.random(in: 0..<10) > 0 }
                    try await worker.end(jobs) { job in
                        switch Int.random(in: 0..<3) {
                        case 0: .failed(job, error: "x")
                        case 1: .retried(job, error: "y", after: .zero)
                        default: .snoozed(job, for: .zero)
                        }
                    }
                }
                // What it has kept is lost with it.
                try await worker.dies()
                try await database.execute("update errand.job set crashes = 0 where crashes > 0 and state <> 'running'")
                try await database.promote()
            }
            #expect(try await database.count("from errand.failed") == count)
            #expect(
                try await database.text(
                    "select count(*), count(distinct payload ->> 'job_id') from errand.job where kind = 'told'")
                    == "\(count)|\(count)")
        }
    }
}
