import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Rates") struct RateTests {
    @Test("never more than allowed start in any span, with 4 workers claiming as fast as they can")
    func neverMore() async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            try await database.execute("select errand.set_rate('default', '200 milliseconds', 20)")
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 90))
            let starts = Shared<[(at: Timestamp, jobs: Int)]>([])
            let clock = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let worker = try await ManualWorker(database)
                        while try await database.count("from errand.job where state = 'available'") > 0 {
                            let claim = worker.claiming(7)
                            // After the count, while the claim still holds the lock.
                            let replies = try await database.pipeline([
                                claim.statement,
                                "select coalesce(max(last), '-infinity') from errand.rate_log, unnest(last_at) as last",
                            ])
                            let (jobs, at) = (try claim.reply(replies[0]).jobs, try replies[1].scalar(Timestamp.self))
                            if !jobs.isEmpty { starts.with { $0.append((at, jobs.count)) } }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let all = starts.with { $0 }
            #expect(all.reduce(0) { $0 + $1.jobs } == 90)
            // 90 jobs at 20 per 200 ms: the last ones start after 0.8 s.
            #expect(.now - clock >= .milliseconds(800))
            let worst = all.map { first in
                all.filter { $0.at >= first.at && $0.at < first.at + .milliseconds(200) }.reduce(0) { $0 + $1.jobs }
            }.max()
            #expect(worst ?? 0 <= 20)
        }
    }

    @Test("a job that was started counts for the span of the rate, and not for longer")
    func exact() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 hour', 10)")
            try await database.execute(
                """
                insert into errand.rate_log (queue, first_at, last_at, jobs)
                select 'default', array_agg(now() - age), array_agg(now() - age), '{5,5,5}'
                from unnest(array[interval '61 min', interval '59 min', interval '0 s']) as age
                """)
            for _ in 1...3 { try await Queue(database: database).enqueue(Noop()) }
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(3).isEmpty)
            try await database.execute("update errand.rate_log set last_at[2] = now() - interval '60 min'")
            #expect(try await worker.claim(2).count == 2)
            #expect(try await database.word("select jobs from errand.rate_log") == "{7}")
        }
    }

    @Test("the marks advance in a queue whose rate allows fewer jobs than the claim's limit")
    func marksMove() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 hour', 1000)")
            let worker = try await ManualWorker(database)
            var mark = LowWaterMark()
            let start = ContinuousClock.now
            while mark.starts[1] == 0, .now - start < .seconds(60) {
                try await Queue(database: database).enqueue(Noop())
                let claim = worker.claiming(10_000, from: mark.starts)
                let reply = try claim.reply(await database.query(claim.statement))
                if let observation = reply.observation { mark.observe(observation, at: .now - start) }
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(mark.starts[1] > 0)
        }
    }

    @Test("a claim that uses up the rate says when there is room again, and so does one that finds no room")
    func roomIn() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 hour', 2)")
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            let worker = try await ManualWorker(database)
            let claim = worker.claiming(1)
            var replies: [Claim.Reply] = []
            for _ in 1...3 { replies.append(try claim.reply(await database.query(claim.statement))) }
            #expect(replies.map(\.count) == [1, 1, 0])
            #expect(replies.map { $0.observation == nil } == [false, false, true])
            #expect(replies[0].roomIn == nil)
            for reply in replies.dropFirst() {
                #expect(reply.roomIn.map { $0 > .seconds(3500) && $0 <= .seconds(3600) } == true)
            }
        }
    }

    @Test("a worker starts jobs as soon as the rate has room, however rarely it probes")
    func shortSpan() async throws {
        try await withWorker(configure: { $0.pollInterval = .seconds(60) }) { database, queue in
            try await database.execute("select errand.set_rate('default', '100 milliseconds', 1)")
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 16))
            #expect(try await database.drains(within: .seconds(30)))
        }
    }

    @Test("a queue without a rate is not held up by another's, and nulls lift a rate")
    func others() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('slow', '1 hour', 1)")
            let queue = Queue(database: database)
            for _ in 0..<5 { try await queue.enqueue(Noop()) }
            let worker = try await ManualWorker(database)
            #expect(try await worker.claim(3).count == 3)
            try await database.execute("select errand.set_rate('default', '1 hour', 1)")
            #expect(try await worker.claim(3).count == 1)
            #expect(try await worker.claim(3).isEmpty)
            try await database.execute("select errand.set_rate('default', null, null)")
            #expect(try await worker.claim(3).count == 1)
        }
    }
}
