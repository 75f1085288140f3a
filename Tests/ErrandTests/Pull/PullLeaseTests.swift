import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The lease of a worker that pulls") struct PullLeaseTests {
    @Test("a worker that calls no more is lost, its jobs run elsewhere, and its next call registers it anew")
    func lost() async throws {
        try await withTestDatabase { database, _ in
            let silent = try await PullingWorker(database)
            let other = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await silent.pull().first)
            #expect(try await silent.isAlive())
            try await database.execute(.silencesWorkers(where: "pulls_as = $1::text::uuid", [silent.id]))
            try await database.execute("select errand_internal.rescue()")
            #expect(try await [silent.isAlive(), other.isAlive()] == [false, true])
            #expect(try await silent.renew([job]) == [job.token])
            let again = try #require(try await other.pull().first)
            #expect(again.id == job.id && again.attempt == 2)
            #expect(
                try await database.text("select crashes, attempts -> 0 ->> 'outcome' from errand.job") == "1|lost")
            #expect(try await database.results("done", [job, again]) == ["stale", "completed"])
            // All that it names is lost, the garbage as well.
            let call = silent.call(1, "running => array['\(job.token)', 'garbage']")
            let row = try await database.query(Statement("select worker_id::text, lost, id from \(call)"))[0]
            let (id, lost, none) = try row.decode(String.self, [String].self, Int64?.self)
            #expect(id != silent.id && id != other.id && none == nil)
            #expect(lost == [job.token, "garbage"])
            #expect(try await database.count("from errand.worker") == 2)
        }
    }

    @Test("maintenance by errand.maintain() alone brings back the jobs of a lost worker, and of no other")
    func maintained() async throws {
        try await withTestDatabase { database, _ in
            let (silent, alive) = (try await PullingWorker(database), try await PullingWorker(database))
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            let (lost, held) = (try await silent.pull(), try await alive.pull())
            try await database.execute(.silencesWorkers(where: "pulls_as = $1::text::uuid", [silent.id]))
            let isBack = try await database.becomes("exists (select from errand.job where state = 'available')") {
                try await database.execute("select errand.maintain()")
            }
            #expect(isBack)
            #expect(try await alive.pull(9, "running => array['\(held[0].token)']").map(\.id) == lost.map(\.id))
            #expect(try await database.results("done", held) == ["completed"])
        }
    }

    @Test("a running job that is cancelled is lost at the next pull and the next renewal")
    func cancelled() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            let other = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            let (jobs, others) = (try await worker.pull(2), try await other.pull())
            #expect(try await worker.renew(jobs) == [])
            try await database.execute("select errand.cancel('{2}', 'x')")
            #expect(try await worker.renew(jobs) == [jobs[1].token])
            // Nor does it hold a job of another worker.
            let call = worker.call(1, "running => array['\(jobs[0].token)', '\(jobs[1].token)', '\(others[0].token)']")
            #expect(
                try await database.text("select array_to_string(lost, ' ') from \(call)")
                    == "\(jobs[1].token) \(others[0].token)")
            #expect(try await database.text("select array_to_string(lost, ' ') from \(worker.call())") == "")
        }
    }

    @Test("a job that two lists don't name is taken back, uncounted; one that is named isn't, nor a fresh one")
    func unlisted() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 4)")
            let old = try await worker.pull(2)
            try await database.execute("update errand.claim set claimed_at = claimed_at - interval '31 s'")
            let fresh = try await worker.pull(2)
            let running = "select id from errand.job where state = 'running' order by id"
            // A null names nothing and checks nothing.
            for _ in 1...3 {
                try await worker.ages()
                _ = try await worker.pull()
            }
            #expect(try await database.text(running) == "1\n2\n3\n4")
            try await worker.ages()
            _ = try await worker.pull(1, "running => array['\(old[0].token)']")
            // Within a quarter of the lease there is no second check.
            _ = try await worker.renew([old[0]])
            #expect(try await database.text(running) == "1\n2\n3\n4")
            try await worker.ages()
            // The token of another worker names nothing.
            let parts = old[1].token.split(separator: ".")
            let forged = PullingWorker.Job(id: 2, token: "\(parts[0]).9.\(parts[2])", attempt: 1)
            #expect(try await worker.renew([old[0], forged]) == [forged.token])
            #expect(try await database.text(running) == "1\n3\n4")
            #expect(
                try await database.text(
                    "select state, attempt, crashes, attempts -> 0 ->> 'outcome' from errand.job where id = 2")
                    == "available|0|0|released")
            #expect(try await database.text("select jobs from errand.audit where action = 'take_back'") == "1")
            #expect(try await worker.renew(old + fresh) == [old[1].token])
            let again = try await worker.pull()
            #expect(again.map(\.id) == [2] && again.map(\.attempt) == [1])
            #expect(
                try await database.results("done", old + fresh + again)
                    == ["completed", "stale", "completed", "completed", "completed"])
        }
    }

    @Test("the records of claims are there for as long as the worker may hold their jobs")
    func claims() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 6)")
            let jobs = try await worker.pull(2) + worker.pull(2) + worker.pull() + worker.pull()
            #expect(try await database.results("done", Array(jobs[..<4])).count == 4)
            try await database.execute(
                "update errand.claim set claimed_at = claimed_at - interval '31 s' where not '{3}' && job_ids")
            try await worker.ages()
            #expect(try await worker.renew([jobs[5]]) == [])
            // The first has ended, the second is fresh, the third was not named once, and the last is held.
            let claims = "select array_to_string(job_ids, ' ') from errand.claim order by 1"
            #expect(try await database.text(claims) == "3 4\n5\n6")
        }
    }

    @Test("a pull extends the lease, also one that says nothing of what the worker holds")
    func extended() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            let other = try await PullingWorker(database, lease: "1 hour")
            try await worker.ages()
            let age = """
                select round(extract(epoch from now() - heartbeat_at))
                from errand.worker
                where pulls_as = '\(worker.id)'
                """
            #expect(try await database.text(age) == "20")
            #expect(try await worker.pull() == [])
            #expect(try await database.text(age) == "0")
            try await worker.ages()
            #expect(try await worker.pull(1, "running => '{}'") == [])
            #expect(try await database.text(age) == "0")
            try await worker.ages()
            #expect(try await worker.isAlive())
            #expect(try await database.text(age) == "0")
            // Other queues, kinds and leases are stored at once.
            try await worker.ages()
            _ = try await database.query(
                Statement(
                    "select errand.pull('{a,b}', '{c}', lease => '40 s', worker => '\(worker.id)', running => null)"))
            #expect(
                try await database.text(
                    """
                    select array_to_string(queues, ' '), array_to_string(kinds, ' '), lease, heartbeat_interval
                    from errand.worker
                    where pulls_as = '\(worker.id)'
                    """) == "a b|c|00:00:40|00:00:10")
            #expect(try await database.text(age) == "0")
            #expect(try await other.isAlive())
        }
    }

    @Test("a worker whose row a session has locked keeps its lease, its id and its jobs")
    func lockedRow() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            let job = try #require(try await worker.pull().first)
            try await worker.ages()
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("select from errand.worker for update")
            let held = "running => array['\(job.token)']"
            let call = "errand.pull('{default}', '{noop,other}', worker => '\(worker.id)', \(held))"
            let row = try await database.query(Statement("select worker_id::text, lost, id from \(call)"))[0]
            let (id, lost, next) = try row.decode(String.self, [String].self, Int64?.self)
            #expect(id == worker.id && lost == [] && next == 2)
            #expect(try await worker.isAlive())
            try await session.execute("rollback")
            await session.close()
            #expect(try await worker.isAlive())
        }
    }

    @Test("a session that has locked all jobs ends no lease")
    func lockedJobs() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let jobs = try await worker.pull()
            let session = try await database.session()
            try await session.execute("begin")
            try await session.execute("lock table errand.job")
            let age = "select extract(epoch from now() - heartbeat_at) < 10 from errand.worker"
            // Whether or not its lease was to be extended.
            for seconds in [12, 20] {
                try await database.execute(
                    Statement("update errand.worker set heartbeat_at = now() - $1 * interval '1 s'", [seconds]))
                #expect(try await worker.renew(jobs) == [])
                #expect(try await database.text(age) == "true")
            }
            // A pull waits for the jobs, and no other session ends its lease meanwhile.
            try await worker.ages()
            async let pulled = worker.pull(1, "running => array['\(jobs[0].token)']")
            let waits = """
                exists (
                    select from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock' and query like '%errand.pull(%')
                    and not exists (select from errand.worker for update skip locked)
                """
            #expect(try await database.becomes(waits))
            try await session.execute("rollback")
            await session.close()
            #expect(try await pulled == [])
            #expect(try await database.text(age) == "true")
            #expect(try await worker.renew(jobs) == [])
        }
    }

    @Test("in a copy of the database that nobody has adopted, a worker of the original is refused")
    func copied() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("update errand.home set database_name = 'elsewhere'")
            for call in [worker.call(), worker.call(1, "running => '{}'"), "errand.renew('\(worker.id)')"] {
                // A session remembers that it was at home.
                let session = try await database.session()
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await session.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == "ER421", "\(call)")
                await session.close()
            }
        }
    }
}
