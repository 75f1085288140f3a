import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The log of failed attempts") struct FailureLogTests {
    @Test("each failed attempt is logged with its job, class, id and duration, and without the error's text")
    func lines() async throws {
        let handler = ProbeHandler { _, _ in throw WorkerTests.Broken(text: "the secret of the job") }
        try await withFailures(of: handler, attempts: 2) { database, lines in
            #expect(lines.map(\.level) == [.warning, .error])
            let id = try await database.text("select error_id from errand.failures", as: "errand_monitor")
            #expect(id.count == 8)
            for (attempt, line) in zip(1..., lines) {
                #expect(line.metadata["job_id"] == .stringConvertible(1) && line.metadata["kind"] == "probe")
                #expect(line.metadata["attempt"] == .stringConvertible(attempt))
                #expect(line.metadata["error"] == "Broken" && line.metadata["error_id"] == "\(id)")
                #expect(line.metadata["run_seconds"] != nil && line.metadata["reason"] == nil)
                #expect(!"\(line)".contains("secret"))
            }
        }
    }

    @Test(
        "a failure that a handler reports or commits has a class and an id in the log, and by the setting its text"
    )
    func reported() async throws {
        struct Refused: LocalizedError { var errorDescription: String? { "refused for 17 people" } }
        let handler = ProbeHandler { job, context in
            switch job.step {
            case 0: .fail(reason: "of no use")
            case 1: .fail(reason: "refused for 4 people", cause: "refused")
            case 2: .retry(after: .zero, Refused())
            case 3: try await context.transaction { _ in .fail(Refused()) }
            default: throw Refused()
            }
        }
        let jobs = (0...4).map(Probe.init)
        try await withFailures(of: handler, jobs, texts: true) { database, lines in
            let lines = lines.sorted { "\($0.metadata["job_id"]!)" < "\($1.metadata["job_id"]!)" }
            #expect(
                lines.map(\.metadata["error"])
                    == ["reported by its handler", "refused", "Refused", "Refused", "Refused"])
            #expect(
                lines.map(\.metadata["reason"]) == [
                    "of no use", "refused for 4 people", "refused for 17 people", "refused for 17 people",
                    "refused for 17 people",
                ])
            // All but the first differ by a number.
            let ids = try await database.text(
                """
                select error_id || ' ' || failures || ' ' || fingerprint from errand.failures order by failures
                """
            ).split(separator: "\n").map { $0.split(separator: " ", maxSplits: 2) }
            #expect(ids.map { $0[1] } == ["1", "4"] && ids.map(\.last) == ["of no use", "refused for # people"])
            #expect(lines.map(\.metadata["error_id"]) == [0, 1, 1, 1, 1].map { "\(ids[$0][0])" })
        }
    }

    @Test("an id tells nothing without the key of its database, which no role may read")
    func keyed() async throws {
        try await withTestDatabase { database, _ in
            let differ = """
                select errand_internal.error_id('no mailbox anna', key) <> errand_internal.error_id('no mailbox anna', gen_random_uuid())
                from (select error_key as key from errand.home) as home
                """
            let doDiffer = try await database.query(Statement(differ)).scalar(Bool.self)
            #expect(doDiffer)
            for role in ["worker", "enqueuer", "ops", "monitor"] {
                #expect(
                    try await database.refusal(of: "select error_key from errand.home", as: "errand_\(role)") == "42501"
                )
            }
        }
    }

    /// Runs `jobs`, which all fail, and calls `body` with the lines about them.
    private func withFailures(
        of handler: ProbeHandler, _ jobs: [Probe] = [Probe()], attempts: Int = 1, texts: Bool = false,
        _ body: (Database, [CapturedLog.Line]) async throws -> Void
    ) async throws {
        let log = CapturedLog()
        try await withTestDatabase { database, _ in
            var configuration = WorkerConfiguration.withoutMaintenance
            configuration.logsErrorTexts = texts
            let worker = Worker(
                database: database, configuration: configuration, logger: Logger(label: "test") { _ in log },
                handlers: Handlers([handler]))
            let running = Task { try await worker.run() }
            for job in jobs { try await Queue(database: database).enqueue(job, .maxAttempts(attempts)) }
            let done = "(select count(*) from errand.failed) = \(jobs.count)"
            #expect(try await database.becomes(done, after: database.promote))
            running.cancel()
            try await running.value
            try await body(database, log.lines.all("attempt failed"))
        }
    }

    @Test("a storm writes 20 lines in 10 s, and the number of omitted lines afterwards")
    func storm() {
        var throttle = FailureThrottle()
        let admitted = (0..<5000).map { throttle.admits(at: .milliseconds($0)) }
        #expect(admitted.prefix(20).allSatisfy { $0 })
        #expect(admitted.dropFirst(20).allSatisfy { !$0 })
        let leftOut = [5, 10, 11].map { throttle.leftOut(at: .seconds($0)) }
        #expect(leftOut == [0, 4980, 0])
        let isAdmitted = throttle.admits(at: .seconds(12))
        #expect(isAdmitted)
    }

    @Test("failures that go on are all counted or logged")
    func goesOn() {
        var throttle = FailureThrottle()
        var (logged, leftOut) = (0, 0)
        for second in 0..<100 {
            for _ in 0..<7 { logged += throttle.admits(at: .seconds(second)) ? 1 : 0 }
            leftOut += throttle.leftOut(at: .seconds(second))
        }
        leftOut += throttle.leftOut(at: .seconds(200))
        #expect(logged == 200 && logged + leftOut == 700)
    }
}
