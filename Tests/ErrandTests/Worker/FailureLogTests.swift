import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The log of failed attempts") struct FailureLogTests {
    @Test("each failed attempt is logged with its job and the type of its error, and without the error's text")
    func lines() async throws {
        let log = CapturedLog()
        let handler = ProbeHandler { _, _ in throw WorkerTests.Broken(text: "the secret of the job") }
        try await withTestDatabase { database, _ in
            let worker = Worker(
                database: database, configuration: .withoutHousekeeping, logger: Logger(label: "test") { _ in log },
                handlers: Handlers([handler]))
            let running = Task { try await worker.run() }
            let id = try await Queue(database: database).enqueue(Probe(), .maxAttempts(2)).id
            #expect(try await database.becomes("exists (select from errand.failed)", after: database.promote))
            running.cancel()
            try await running.value
            let lines = log.lines.all("attempt failed")
            #expect(lines.map(\.level) == [.warning, .error])
            for (attempt, line) in zip(1..., lines) {
                #expect(line.metadata["job_id"] == .stringConvertible(id) && line.metadata["kind"] == "probe")
                #expect(line.metadata["attempt"] == .stringConvertible(attempt))
                #expect(line.metadata["error"] == "Broken")
                #expect(!"\(line)".contains("secret"))
            }
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
