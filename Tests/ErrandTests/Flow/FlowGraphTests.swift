import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("A random graph of jobs that wait for each other") struct FlowGraphTests {
    /// A job that checks, while it runs, that all of its parents have ended as they must.
    private struct Node: JobHandler {
        struct Work: Job {
            static let kind: JobKind = "node"
            let parents: Int
            /// It fails at its first attempt for good; then it is retried.
            let fails: Bool
        }

        func run(_ job: Work, in context: JobContext) async throws -> Outcome {
            let parents = try await context.parents()
            guard parents.count == job.parents, parents.allSatisfy({ $0.state == "succeeded" }) else {
                return .cancel(reason: "it is too early: \(parents.map(\.state))")
            }
            return job.fails && context.tags.isEmpty ? .fail(reason: "once") : .done
        }
    }

    private static let count = Hardness.isFull ? 10_000 : 400

    @Test("each starts after all that it waits for has succeeded, and none is left, beside enqueues and retries")
    func random() async throws {
        try await withTestDatabase { database, _ in
            var configuration = WorkerConfiguration()
            configuration.grace = .seconds(2)
            let fixed = configuration
            let workers = (1...2).map { _ in
                Worker(
                    database: database, configuration: fixed, logger: Logger(label: "worker"),
                    handlers: Handlers([Node()]))
            }
            let running = workers.map { worker in Task { try await worker.run() } }
            let known = Shared<[Int64]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in 0..<4 {
                    group.addTask { try await enqueue(Self.count / 4, session, known, in: database) }
                }
                try await group.waitForAll()
            }
            let isDone = try await database.becomes("not exists (select from errand.job)", within: .seconds(300)) {
                // Those that fail once. The tag says so to the next attempt.
                try await database.execute("update errand.failed set tags = '{again}'")
                _ = try await database.query("select errand.retry(array(select id from errand.failed), 'again')")
            }
            for worker in running { worker.cancel() }
            for worker in running { try await worker.value }
            #expect(isDone)
            #expect(
                try await database.text("select state, count(*) from errand.history group by state")
                    == "succeeded|\(Self.count)")
            #expect(
                try await database.count(
                    """
                    from errand.history as child
                    cross join jsonb_array_elements_text(child.options -> 'after') as parent
                    join errand.history as before on before.id = parent::bigint
                    where child.started_at < before.finished_at
                    """) == 0)
            #expect(try await database.count("from errand.history where options ? 'after'") > Self.count / 2)
        }
    }

    /// Enqueues batches whose jobs wait for earlier ones of the batch and for any that are known.
    private func enqueue(_ count: Int, _ session: Int, _ known: Shared<[Int64]>, in database: Database) async throws {
        var random = SeededGenerator(seed: UInt64(session))
        var left = count
        while left > 0 {
            let size = min(left, Int.random(in: 1...40, using: &random))
            let old = known.with { $0 }
            var elements: [String] = []
            for index in 1...size {
                let own =
                    index > 1
                    ? (0..<Int.random(in: 0...3, using: &random)).map { _ in Int.random(in: 1..<index, using: &random) }
                    : []
                let others =
                    old.isEmpty
                    ? []
                    : (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
                        old.suffix(200).randomElement(using: &random)
                    }
                let parents = Set(own).count + Set(others).count
                let fails = Int.random(in: 0..<50, using: &random) == 0
                elements.append(
                    """
                    {"kind": "node", "payload": {"parents": \(parents), "fails": \(fails)}, "after": \(others),
                     "after_elements": \(own)}
                    """)
            }
            let ids = try await database.transaction { [elements] transaction in
                let ids = try await transaction.query(
                    Statement(
                        "select array_agg(job_id order by ordinal) from errand.enqueue_many($1)",
                        [JSONB("[\(elements.joined(separator: ","))]")])
                ).scalar([Int64].self)
                // Another session may name them before they are there.
                if session == 0 { known.with { $0 += ids } }
                try await Task.sleep(for: .microseconds(Int64.random(in: 0...3000)))
                return ids
            }
            if session != 0 { known.with { $0 += ids } }
            left -= size
        }
    }
}
