import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Positions") struct PositionTests {
    @Test(
        "a job that moves to another queue, priority or kind is found by a claim that starts at the mark there",
        arguments: [
            ("priority => 3", "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace')"),
            ("queue => 'other'", "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace')"),
            ("queue => 'other'", "update errand.job set queue = 'default' where unique_key = 'k'"),
            ("priority => 4", "select errand.reschedule(array[1]::bigint[], priority => 2)"),
            (
                "priority => 3",
                #"""
                select errand.enqueue_many('[{"kind": "noop", "unique_key": "k", "on_conflict": "replace"}]')
                """#
            ),
        ])
    func found(from place: String, by move: String) async throws {
        try await isFound(enqueuedBy: "select errand.enqueue('noop', unique_key => 'k', \(place))", movedBy: move)
    }

    @Test("a job that becomes one of another kind is found by a claim that starts at the mark of that kind's workers")
    func foundAsAnotherKind() async throws {
        try await isFound(
            enqueuedBy: "select errand.enqueue('other', unique_key => 'k')",
            movedBy: "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace')")
    }

    @Test("a job that stays where it is keeps its position")
    func kept() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', unique_key => 'k')")
            for call in [
                "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace', payload => '1')",
                "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'reschedule')",
                "select errand.reschedule(array[1]::bigint[], priority => 2)",
            ] {
                try await database.execute(Statement(call))
                #expect(try await database.word("select line from errand.job") == "1", "\(call)")
            }
        }
    }

    private func isFound(enqueuedBy enqueue: String, movedBy move: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(Statement(enqueue))
            let worker = try await HandWorker(database)
            var mark = LowWaterMark()
            let start = ContinuousClock.now
            func claim() async throws -> [ClaimedJob] {
                var claim = worker.claiming(100, from: mark.starts)
                // Not the priorities behind: the job is to stay there.
                claim.lanes = [1, 2]
                let answer = try claim.answer(await database.query(claim.statement))
                if let observation = answer.observation { mark.observe(observation, at: .now - start) }
                return answer.jobs
            }
            // Until the mark of priority 2 is beyond its position, which takes two claims where nobody else writes.
            while mark.starts[1] < 2, .now - start < .seconds(60) {
                try await database.execute("select errand.enqueue('noop')")
                #expect(try await claim().map(\.id) != [1])
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(mark.starts[1] >= 2)
            try await database.execute(Statement(move))
            #expect(try await claim().map(\.id) == [1])
        }
    }
}
