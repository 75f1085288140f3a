import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Records of claims") struct ClaimGenerationsTests {
    @Test("a generation is over once none of its claims is under way and none of its jobs is held")
    func over() {
        var generations = ClaimGenerations()
        let first = generations.claims(under: 1)
        #expect(generations.advance() == [])
        generations.claimed(2, in: first)
        let second = generations.claims(under: 1)
        #expect(second != first)
        generations.finished(job(in: first, of: 1))
        #expect(generations.advance() == [])
        generations.finished(job(in: first, of: 1))
        generations.claimed(0, in: second)
        #expect(generations.advance() == [first, second])
        // Their records were not removed, so they are returned again.
        #expect(generations.advance() == [first, second])
        generations.removed([first, second])
        #expect(generations.advance() == [] && generations.count == 0)
    }

    @Test("a claim whose result is lost keeps its generation until its worker id is abandoned")
    func lost() {
        var generations = ClaimGenerations()
        let lost = generations.claims(under: 1)
        let next = generations.claims(under: 2)
        #expect(next != lost && generations.areUnderWay(under: 1) && generations.areUnderWay(under: 2))
        generations.ended(lost)
        #expect(!generations.areUnderWay(under: 1))
        generations.claimed(0, in: next)
        #expect(generations.advance() == [next])
        generations.removed([next])
        generations.left(1)
        #expect(generations.count == 0)
    }

    @Test(
        "a list of jobs covers the generations before that of the oldest claim under way, if there are records of them")
    func covered() {
        var generations = ClaimGenerations()
        #expect(generations.coveredBefore == nil)
        let first = generations.claims(under: 1)
        generations.claimed(1, in: first)
        _ = generations.advance()
        #expect(generations.coveredBefore == nil, "its job was not handed on")
        generations.ended(first)
        #expect(generations.coveredBefore == first + 1)
        let second = generations.claims(under: 1)
        _ = generations.advance()
        #expect(generations.coveredBefore == second, "the second claim is under way")
        generations.ended(second)
        #expect(generations.coveredBefore == second + 1)
    }

    @Test("late outcomes of a worker id that was left count for no generation of the next one")
    func late() {
        var generations = ClaimGenerations()
        let old = generations.claims(under: 1)
        generations.claimed(2, in: old)
        generations.left(1)
        let new = generations.claims(under: 2)
        generations.claimed(2, in: new)
        for _ in 0..<2 { generations.finished(job(in: old, of: 1)) }
        #expect(generations.advance() == [])
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

    private func job(in generation: Int32, of workerID: Int64) -> ClaimedJob {
        ClaimedJob(
            id: 1, position: 1, kind: "noop", queue: "default", priority: 2, attempt: 1, maxAttempts: 1,
            createdAt: .minusInfinity,
            runAt: .minusInfinity, startedAt: .minusInfinity, payload: JSONB("{}"), options: nil, workerID: workerID,
            generation: generation)
    }
}
