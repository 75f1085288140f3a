import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Records of claims") struct ClaimEpochsTests {
    @Test("an epoch is over once none of its claims is under way and none of its jobs is held")
    func over() {
        var epochs = ClaimEpochs()
        let first = epochs.claims(under: 1)
        #expect(epochs.advance() == [])
        epochs.claimed(2, in: first)
        let second = epochs.claims(under: 1)
        #expect(second != first)
        epochs.finished(job(in: first, of: 1))
        #expect(epochs.advance() == [])
        epochs.finished(job(in: first, of: 1))
        epochs.claimed(0, in: second)
        #expect(epochs.advance() == [first, second])
        // Their records were not removed, so they are returned again.
        #expect(epochs.advance() == [first, second])
        epochs.removed([first, second])
        #expect(epochs.advance() == [] && epochs.count == 0)
    }

    @Test("a claim whose result is lost keeps its epoch until its worker id is abandoned")
    func lost() {
        var epochs = ClaimEpochs()
        let lost = epochs.claims(under: 1)
        let next = epochs.claims(under: 2)
        #expect(next != lost)
        epochs.claimed(0, in: next)
        #expect(epochs.advance() == [next])
        epochs.removed([next])
        epochs.left(1)
        #expect(epochs.count == 0)
    }

    @Test("a list of jobs covers the epochs before that of the oldest claim under way, if there are records of them")
    func covered() {
        var epochs = ClaimEpochs()
        #expect(epochs.coveredBefore == nil)
        let first = epochs.claims(under: 1)
        epochs.claimed(1, in: first)
        _ = epochs.advance()
        #expect(epochs.coveredBefore == nil, "its job was not handed on")
        epochs.ended(first)
        #expect(epochs.coveredBefore == first + 1)
        let second = epochs.claims(under: 1)
        _ = epochs.advance()
        #expect(epochs.coveredBefore == second, "the second claim is under way")
        epochs.ended(second)
        #expect(epochs.coveredBefore == second + 1)
    }

    @Test("late outcomes of a worker id that was left count for no epoch of the next one")
    func late() {
        var epochs = ClaimEpochs()
        let old = epochs.claims(under: 1)
        epochs.claimed(2, in: old)
        epochs.left(1)
        let new = epochs.claims(under: 2)
        epochs.claimed(2, in: new)
        for _ in 0..<2 { epochs.finished(job(in: old, of: 1)) }
        #expect(epochs.advance() == [])
    }

    @Test("a worker removes the records of its claims when it holds none of their jobs")
    func removed() async throws {
        try await withWorker(configure: { $0.heartbeatInterval = .milliseconds(100) }) { database, queue in
            let slow = try await queue.enqueue(Noop(sleepMilliseconds: 120_000)).id
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 500))
            #expect(try await database.becomes("count(*) = 500 from errand.history"))
            let isNamed = "coalesce(bool_or(\(slow) = any (job_ids)), false) from errand.claim"
            #expect(try await database.query(Statement("select \(isNamed)")).scalar(Bool.self))
            try await database.execute(Statement("select errand.cancel(array[\(slow)], 'it has been seen')"))
            #expect(try await database.drains())
            #expect(try await database.becomes("count(*) = 0 from errand.claim"))
        }
    }

    private func job(in epoch: Int32, of workerID: Int64) -> ClaimedJob {
        ClaimedJob(
            id: 1, position: 1, kind: "noop", queue: "default", priority: 2, attempt: 1, maxAttempts: 1,
            createdAt: .minusInfinity,
            runAt: .minusInfinity, startedAt: .minusInfinity, payload: JSONB("{}"), options: nil, workerID: workerID,
            epoch: epoch)
    }
}
