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
    func found(from state: String, by move: String) async throws {
        try await isFound(enqueuedBy: "select errand.enqueue('noop', unique_key => 'k', \(state))", movedBy: move)
    }

    @Test("a job that becomes one of another kind is found by a claim that starts at the mark of that kind's workers")
    func foundAsAnotherKind() async throws {
        try await isFound(
            enqueuedBy: "select errand.enqueue('other', unique_key => 'k')",
            movedBy: "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace')")
    }

    @Test("a job that stays in its queue and priority keeps its position")
    func stays() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', unique_key => 'k')")
            for call in [
                "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'replace', payload => '1')",
                "select errand.enqueue('noop', unique_key => 'k', on_conflict => 'reschedule')",
                "select errand.reschedule(array[1]::bigint[], priority => 2)",
            ] {
                try await database.execute(Statement(call))
                #expect(try await database.word("select queue_position from errand.job") == "1", "\(call)")
            }
        }
    }

    @Test(
        "a job that is handed back keeps its position, and is found by claims that start behind it",
        arguments: ["released", "of a lost claim", "by ops"])
    func handedBack(how: String) async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 10))
            let first = try await ManualWorker(database)
            let jobs = try await first.claim(5)
            let back = jobs.filter { $0.id > 2 }
            #expect(try await first.end(jobs.filter { $0.id <= 2 }) == [])
            switch how {
            case "released": #expect(try await first.end(back, as: { .released($0) }) == [])
            case "of a lost claim":
                try await database.execute(Statement("select errand_internal.leave_v1($1, true)", [first.id]))
            default:
                try await database.execute(
                    Statement("select errand.release_worker($1, 'test', force => true)", [first.id]))
            }
            #expect(
                try await database.count(
                    "from errand.job where id = queue_position and state = 'available' and attempt = 0") == 8
            )
            let queues = ["default"]
            let scanned = try await database.query(
                Statement(
                    "select busy from errand_internal.probe_v1($1, '{noop}', '{99, 99, 99, 99}', false)", [queues]))
            #expect(try scanned.scalar([String].self) == queues)
            let second = try await ManualWorker(database)
            let claim = second.claiming(4, from: [7, 7, 7, 7])
            let reply = try claim.reply(await database.query(claim.statement))
            #expect(reply.jobs.map(\.id) == [3, 4, 5, 8])
            #expect(reply.observation?.high == 0)
            // The outcome of the first attempt comes late, with the same position.
            #expect(try await first.end(back) == [3, 4, 5])
            #expect(try await second.end(reply.jobs) == [])
            #expect(try await database.count("from errand.job where is_handed_back") == 0)
        }
    }

    @Test("a limit's slot becomes free when its job is handed back, and the limit holds when the job runs again")
    func handedBackUnderLimit() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('one', 1)")
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(), .limited(by: "one"))
            let first = try await ManualWorker(database)
            let jobs = try await first.claim(1)
            try await queue.enqueue(Noop(), .limited(by: "one"), .priority(1))
            #expect(try await first.end(jobs, as: { .released($0) }) == [])
            let second = try await ManualWorker(database)
            let others = try await second.claim(2)
            #expect(others.count == 1)
            #expect(try await database.count("from errand.job where state = 'running'") == 1)
            try await second.end(others)
            let rest = try await second.claim(2)
            #expect(rest.count == 1)
            try await second.end(rest)
        }
    }

    private func isFound(enqueuedBy enqueue: String, movedBy move: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(Statement(enqueue))
            let worker = try await ManualWorker(database)
            var mark = LowWaterMark()
            let start = ContinuousClock.now
            func claim() async throws -> [ClaimedJob] {
                var claim = worker.claiming(100, from: mark.starts)
                // Without the lower priorities, so that the job stays there.
                claim.priorities = [1, 2]
                let reply = try claim.reply(await database.query(claim.statement))
                if let observation = reply.observation { mark.observe(observation, at: .now - start) }
                return reply.jobs
            }
            // Until the mark of priority 2 is beyond its position. That takes two claims without other writers.
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
