import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Claiming") struct ClaimTests {
    @Test("a job starts after the time at which it is due, although the claim's transaction began before that")
    func startsAfterDue() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let jobs = try await database.transaction { transaction in
                try await transaction.execute("select")
                try await Queue(database: database).enqueue(Noop())
                let claim = worker.claiming(1)
                return try claim.reply(await transaction.query(claim.statement)).jobs
            }
            #expect(jobs.count == 1)
            #expect(jobs.allSatisfy { $0.startedAt >= $0.runAt })
        }
    }

    @Test("two workers never get the same job", arguments: [2, 8])
    func exclusive(workers: Int) async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 1000))
            let ids = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for _ in 0..<workers {
                    group.addTask {
                        let worker = try await database.register()
                        var ids: [Int64] = []
                        while true {
                            let batch = try await database.claim(17, as: worker).jobs
                            if batch.isEmpty { return ids }
                            ids += batch.map(\.id)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(ids.count == 1000)
            #expect(Set(ids).count == 1000)
        }
    }

    @Test("priority comes first, then the position, also in one claim; a claim may ask for the reverse order")
    func order() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            for priority in [3, 1, 2, 1, 4, 2] { try await queue.enqueue(Noop(), .priority(priority)) }
            // After the other job of its priority, while its row is before that job's row.
            try await database.execute("select errand.reschedule('{2}', priority => 4)")
            try await database.execute("select errand.reschedule('{2}', priority => 1)")
            let worker = try await database.register()
            #expect(try await database.claim(4, as: worker).jobs.map(\.id) == [4, 2, 3, 6])
            #expect(try await database.claim(1, as: worker, priorities: [4, 3, 2, 1]).jobs.map(\.id) == [5])
            #expect(try await database.claim(1, as: worker, priorities: [4, 3, 2, 1]).jobs.map(\.id) == [1])
        }
    }

    @Test("nothing may be concluded from a paused queue, or without a lease")
    func nothingRead() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            let worker = try await database.register()
            try await database.execute("select errand.pause_queue('default', 'test')")
            #expect(try await database.claim(1, as: worker).observation == nil)
            try await database.execute("select errand.resume_queue('default')")
            #expect(try await database.claim(1, as: worker + 1).observation == nil)
            #expect(try await database.claim(1, as: worker).jobs.count == 1)
        }
    }

    @Test("a late outcome changes nothing: the position at which the job was claimed is the fence")
    func fence() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            let first = try await database.register()
            let old = try await database.claim(1, as: first).jobs[0]
            try await database.execute(.silencesWorkers())
            try await database.execute("select errand_internal.rescue()")
            let second = try await database.register()
            let new = try await database.claim(1, as: second).jobs[0]
            #expect(new.id == old.id && new.position > old.position && new.attempt == 2)
            for late: Completion in [.succeeded(old), .failed(old, error: "late"), .released(old)] {
                let reply = try await database.query(Completion.statements(for: [late])[0])
                #expect(try CompletionReply([reply]).refused == [old.id])
            }
            let end = Completion.succeeded(new)
            #expect(try CompletionReply([await database.query(Completion.statements(for: [end])[0])]).refused == [])
            #expect(try await database.count("from errand.history where crashes = 1 and state = 'succeeded'") == 1)
        }
    }

    @Test("a job that was running in three crashes fails")
    func threeCrashes() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            for _ in 1...3 {
                let worker = try await database.register()
                #expect(try await database.claim(1, as: worker).jobs.count == 1)
                try await database.execute(.silencesWorkers())
                try await database.execute("select errand_internal.rescue()")
                try await database.execute("select errand_internal.release_crashed()")
            }
            let error = try await database.query("select error from errand.failed").scalar(String.self)
            #expect(error == "running in 3 crashes of its worker")
            try await database.execute("select errand.retry(array(select id from errand.failed), reason => 'fixed')")
            #expect(try await database.count("from errand.job where attempt = 0 and crashes = 0") == 1)
            #expect(try await database.count("from errand.job where jsonb_array_length(attempts) = 3") == 1)
        }
    }

    @Test("jobs of transactions that commit late are all found by claims that start at the mark")
    func lateCommits() async throws {
        try await withTestDatabase(connections: 12) { database, _ in
            let worker = try await database.register()
            let found = try await withThrowingTaskGroup(of: Void.self) { group in
                for producer in 0..<8 {
                    group.addTask {
                        for round in 0..<25 {
                            try await database.transaction { transaction in
                                try await Queue(database: database).enqueue(Noop(), in: transaction)
                                // Some transactions stay open longer than the mark's timeout.
                                let pause = (producer * 7 + round) % 11 == 0 ? 150 : 2
                                try await Task.sleep(for: .milliseconds(pause))
                            }
                        }
                    }
                }
                var mark = LowWaterMark()
                var found = 0
                let start = ContinuousClock.now
                while found < 200, ContinuousClock.now - start < .seconds(20) {
                    let reply = try await database.claim(10, as: worker, starts: mark.starts)
                    if let observation = reply.observation { mark.observe(observation, at: .now - start) }
                    found += reply.jobs.count
                    if reply.jobs.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
                }
                try await group.waitForAll()
                return found
            }
            #expect(found == 200)
        }
    }

    @Test("an empty claim concludes nothing from a transaction that ended after its scan")
    func endsDuringScan() async throws {
        try await withTestDatabase(connections: 8) { database, _ in
            try await database.execute(
                """
                create function public.waits(payload jsonb) returns boolean language sql stable
                set search_path = pg_catalog, pg_temp as $$ select pg_advisory_lock(4711) is null $$
                """)
            try await database.execute("select errand.put_guard('waits', 'public.waits')")
            let worker = try await database.register()
            let gate = try await database.makeConnection()
            let writer = try await database.makeConnection()
            try await gate.execute("select pg_advisory_lock(4711)")
            try await writer.execute("begin")
            let late = try await writer.query("select job_id from errand.enqueue('noop')").scalar(Int64.self)
            var mark = LowWaterMark()
            for _ in 0..<2 {
                let reply = try await database.claim(1, as: worker, starts: mark.starts)
                #expect(reply.jobs.isEmpty)
                mark.observe(try #require(reply.observation), at: .zero)
            }
            // The third claim waits in this job's guard, which returns false. It asks for more jobs than there are, so
            // it does not go on behind that one.
            try await Queue(database: database).enqueue(Noop(), .guarded(by: "waits"))
            let starts = mark.starts
            async let waiting = database.claim(2, as: worker, starts: starts)
            #expect(
                try await database.becomes("exists (select from pg_locks where locktype = 'advisory' and not granted)"))
            try await writer.execute("commit")
            try await database.execute("select pg_current_xact_id()")
            try await gate.execute("select pg_advisory_unlock(4711)")
            let third = try await waiting
            #expect(third.jobs.isEmpty)
            mark.observe(try #require(third.observation), at: .zero)
            #expect(try await database.claim(1, as: worker, starts: mark.starts).jobs.map(\.id) == [late])
            await gate.close()
            await writer.close()
        }
    }
}

extension Database {
    fileprivate func register() async throws -> Int64 {
        try await query(
            "select worker_id from errand_internal.register_worker_v1('test', '1', '1 min', '{default}', '[]')"
        )
        .scalar(Int64.self)
    }

    fileprivate func claim(
        _ limit: Int, as worker: Int64, starts: [Int64] = [0, 0, 0, 0], priorities: [Int] = [1, 2, 3, 4]
    ) async throws -> Claim.Reply {
        let claim = Claim(
            queue: "default", kinds: ["noop"], workerID: worker, limit: limit, starts: starts, priorities: priorities,
            isDurable: true, beginsNow: limit, takesCrashed: true, generation: 0)
        return try claim.reply(await query(claim.statement))
    }
}
