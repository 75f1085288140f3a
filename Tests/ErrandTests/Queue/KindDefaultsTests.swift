import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

private struct Mail: Job {
    static let kind: JobKind = "mail"
    static let policy = JobPolicy(queue: "mail", priority: 1, retry: .exponential(attempts: 3), limit: 5)
}

private struct MailHandler: JobHandler {
    func run(_ job: Mail, in context: JobContext) async throws -> Outcome { .done }
}

@Suite("A kind's policy holds before a worker has registered it") struct KindDefaultsTests {
    private static let stored = """
        select format('%s %s %s %s', queue, priority, max_attempts, limit_key) from errand.job order by id
        """

    @Test("an enqueue of a kind that no live worker takes from its queue says so, and enqueues")
    func untaken() async throws {
        try await withTestDatabase { database, configuration in
            let registered = #"[{"name": "noop", "queue": "mail", "max_attempts": 3, "priority": 2}]"#
            _ = try await ManualWorker(database, kinds: registered, queue: "other")
            let enqueues = "select errand.enqueue('noop'); select errand.enqueue('noop', unique_key => 'one');"
            func notices() async throws -> Int {
                try await database.execute("select errand_internal.note_untaken_kinds()")
                let output = try psql(enqueues, of: configuration, as: "errand_enqueuer")
                return output.ranges(of: "NOTICE:  enqueue: kind noop: no live worker takes it since").count
            }
            #expect(try await notices() == 2)
            _ = try await ManualWorker(database, kinds: registered, queue: "mail")
            #expect(try await notices() == 0)
            #expect(try await database.count("from errand.job") == 3)
            _ = try await database.query("select errand.drain_worker(max(id), 'its host restarts') from errand.worker")
            #expect(try await notices() == 2)
        }
    }

    @Test("every way of an enqueue from Swift brings it, and options come first")
    func swift() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(Mail())
            try await queue.enqueue(Mail(), .unique("one"), .priority(4))
            try await queue.enqueue(all: [Mail()])
            try await queue.enqueue(all: [Mail()], .tags("many"), .queue("bulk"))
            #expect(
                try await database.query(Statement(Self.stored)).column(0, as: String.self) == [
                    "mail 1 3 kind/mail", "mail 4 3 kind/mail", "mail 1 3 kind/mail", "bulk 1 3 kind/mail",
                ])
        }
    }

    @Test("a registered row wins")
    func registered() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "insert into errand.kind (name, queue, max_attempts, priority) values ('mail', 'slow', 7, 3)")
            let queue = Queue(database: database)
            try await queue.enqueue(Mail())
            try await queue.enqueue(all: [Mail()])
            try await queue.enqueue(all: [Mail()], .tags("many"))
            #expect(
                try await database.query(Statement(Self.stored)).column(0, as: String.self)
                    == Array(repeating: "slow 3 7 ", count: 3))
        }
    }

    @Test("the limit counts jobs that were enqueued before the worker came")
    func limit() async throws {
        try await withWorker([MailHandler()], configure: { $0.queues = ["mail": 10] }) { database, queue in
            let limited = "exists (select from errand.limits where name = 'kind/mail')"
            #expect(try await database.becomes(limited))
            try await queue.enqueue(all: Array(repeating: Mail(), count: 20))
            #expect(try await database.drains())
        }
    }

    @Test("a worker that has the kind, but doesn't claim from its queue, says so")
    func unclaimed() async throws {
        try await withTestDatabase { database, _ in
            let log = CapturedLog()
            let worker = Worker(
                database: database, configuration: .withoutMaintenance, logger: Logger(label: "worker") { _ in log },
                handlers: Handlers([MailHandler()]))
            let running = Task { try await worker.run() }
            #expect(try await database.becomes("exists (select from errand.worker)"))
            worker.stop()
            try await running.value
            let line = try #require(log.lines.first("this worker has kinds of queues that it doesn't claim from"))
            #expect(line.level == .notice && line.metadata["queues"] == .array(["mail"]))
        }
    }

    @Test(
        "in SQL, what is out of bounds is refused by name",
        arguments: [
            (#"{"queue": "Mail"}"#, "kind_defaults: queue"), (#"{"max_attempts": 0}"#, "kind_defaults: max_attempts"),
            (#"{"priority": "high"}"#, "expected whole numbers"), (#"{"limit_key": "a*"}"#, "kind_defaults: limit_key"),
            (#"{"color": 1}"#, "expected an object of queue"), ("[]", "expected an object of queue"),
        ])
    func refused(defaults: String, reason: String) async throws {
        try await withTestDatabase { database, _ in
            for call in [
                "errand.enqueue('mail', kind_defaults => '\(defaults)')",
                "errand.enqueue_many('[{\"kind\": \"mail\", \"kind_defaults\": \(defaults)}]')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.query(Statement("select * from \(call)"))
                }
                #expect(error?.sqlState == "ER422")
                #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
            }
            let jobs = try await database.count("from errand.job")
            #expect(jobs == 0)
        }
    }
}
