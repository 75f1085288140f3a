import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Limits and rates of jobs that are pulled") struct PullLimitTests {
    @Test("never more than N jobs of a key run, with workers that pull alone, and all jobs complete")
    func limits() async throws {
        try await withTestDatabase(connections: 10) { database, _ in
            try await database.execute("select errand.set_limit('a', 3)")
            try await database.execute("select errand.set_limit('b/*', 1)")
            let most = Shared<[String: Int]>([:])
            let workers = [
                try await PullingWorker(database), try await PullingWorker(database, queues: "default,second"),
                try await PullingWorker(database, queues: "second,default"),
            ]
            for key in ["a", "a", "b/1", "b/2"] {
                let queue = "case number % 2 when 0 then 'default' else 'second' end"
                try await database.execute(
                    Statement(
                        """
                        select errand.enqueue('noop', limit_key => '\(key)', queue => \(queue))
                        from generate_series(1, 15) as number
                        """))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers {
                    group.addTask {
                        let start = ContinuousClock.now
                        while try await database.count("from errand.job") > 0, .now - start < .seconds(60) {
                            let jobs = try await worker.pull(5)
                            // Another session had the limits' lock.
                            if jobs.isEmpty { try await database.execute("select errand.maintain()") }
                            let running = try await database.query(
                                "select limit_key, count(*) from errand.job where state = 'running' group by 1")
                            for row in running {
                                let (key, count) = try row.decode(String.self, Int.self)
                                most.with { $0[key] = max($0[key] ?? 0, count) }
                            }
                            #expect(Set(try await database.end(jobs)).isSubset(of: ["completed"]))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(most.with { $0 } == ["a": 3, "b/1": 1, "b/2": 1])
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 60)
        }
    }

    @Test("a pull takes the job whose limit a completion has freed, without maintenance, from whichever queue")
    func released() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let worker = try await PullingWorker(database, queues: "default,second")
            try await database.execute(
                """
                select errand.enqueue('noop', limit_key => 'a', queue => name)
                from unnest('{default,second,default,second}'::text[]) as name
                """)
            for _ in 1...4 {
                let jobs = try await worker.pull(9)
                #expect(jobs.count == 1)
                #expect(try await worker.pull(9) == [])
                #expect(try await database.results("done", jobs) == ["completed"])
            }
        }
    }

    @Test("a job that its worker does not start at once gets no slot of a limit")
    func beginNow() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 5)")
            let worker = try await PullingWorker(database)
            try await database.execute(
                "select errand.enqueue('noop', limit_key => case when number <= 3 then 'a' end) from generate_series(1, 6) as number"
            )
            #expect(try await worker.pull(6, "begin_now => 1, running => null").map(\.id) == [1, 4, 5, 6])
            #expect(try await worker.pull(6, "begin_now => 0, running => null") == [])
            #expect(try await worker.pull(6).map(\.id) == [2, 3])
        }
    }

    @Test("no more jobs start within a span than the rate of their queue allows, over all workers that pull")
    func rates() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_rate('default', '1 hour', 5)")
            let workers = [
                try await PullingWorker(database), try await PullingWorker(database, queues: "default,second"),
            ]
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 9)")
            try await database.execute("select errand.enqueue('noop', queue => 'second')")
            #expect(try await workers[0].pull(3).count == 3)
            #expect(try await workers[1].pull(9).count == 3)
            for worker in workers { #expect(try await worker.pull(9) == []) }
            try await database.execute("select errand.set_rate('default', null, null)")
            #expect(try await workers[0].pull(9).count == 4)
        }
    }

    @Test("no completion waits for a session that holds the lock of the limits")
    func unlocked() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 9)")
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop', limit_key => 'a') from generate_series(1, 6)")
            let jobs = try await worker.pull(6)
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("lock table errand.limits_lock")
            let calls = [
                "errand.done('{\(jobs[0].token)}')", "errand.done('{\(jobs[1].token)}', '{1}')",
                "errand.fail('{\(jobs[2].token)}', '{x}')", "errand.snooze('{\(jobs[3].token)}', '{1 s}')",
                "errand.release('{\(jobs[4].token)}')", worker.call(),
            ]
            for call in calls {
                let waits = try await database.complaint(
                    of: "do $$ begin set local lock_timeout = '500ms'; perform * from \(call); end $$")
                #expect((waits != nil) == call.contains("pull"), "\(call): \(waits ?? "")")
            }
            #expect(try await worker.renew([jobs[5]]) == [])
            try await session.execute("rollback")
            await session.close()
            #expect(try await database.results("done", Array(jobs[..<5])) == [String](repeating: "stale", count: 5))
        }
    }

    @Test("a session that idles in the transaction of its pull is ended, and its jobs and its limit come free")
    func idle() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let (worker, other) = (try await PullingWorker(database), try await PullingWorker(database))
            try await database.execute("select errand.enqueue('noop', limit_key => 'a')")
            let session = try await database.session()
            let timeout: Statement = "show idle_in_transaction_session_timeout"
            for (own, expected) in [("0", "5s"), ("1s", "1s"), ("1h", "5s")] {
                try await session.execute(Statement("set idle_in_transaction_session_timeout = '\(own)'"))
                try await session.execute("begin")
                try await session.execute(Statement("select \(worker.call(1, "running => null, begin_now => 0"))"))
                #expect(try await session.query(timeout).scalar(String.self) == expected)
                try await session.execute("commit")
                #expect(try await session.query(timeout).scalar(String.self) == own)
            }
            try await session.execute("begin")
            let start = ContinuousClock.now
            try await session.execute(Statement("select \(worker.call())"))
            #expect(try await other.pull() == [])
            var taken: [PullingWorker.Job] = []
            while taken.isEmpty, .now - start < .seconds(60) {
                taken = try await other.pull()
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(taken.count == 1 && .now - start > .seconds(4))
            #expect(await !session.isUsable())
            #expect(try await database.results("done", taken) == ["completed"])
            await session.close()
        }
    }
}
