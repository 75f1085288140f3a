import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Crashes and stops", .serialized) struct CrashTests {
    private let settings = Hardness.settings.merging(["ERRAND_QUEUES": "default=20"]) { one, _ in one }

    @Test("kill -9 of a worker: no job is lost, at most those that were running run twice, and soon")
    func killed() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            // Two seconds of work, so that some is running when this test gets to the kill, also on a busy machine.
            let jobs = Hardness.isFull ? 1000 : 400
            try await database.enqueueSleepers(jobs, milliseconds: Hardness.isFull ? 200 : 100)
            let victim = try Program(["worker"], database: url, settings: settings)
            #expect(try await database.becomes("count(*) > 40 from errand.history", within: .seconds(60)))
            victim.send(SIGKILL)
            #expect(try await victim.exit() == -SIGKILL)
            // The server finishes a claim whose client is gone.
            let isBusy = "state = 'active' and datname = current_database() and pid <> pg_backend_pid()"
            #expect(
                try await database.becomes(
                    "not exists (select from pg_stat_activity where \(isBusy))", within: .seconds(60)))
            let running = try await database.count("from errand.job where state = 'running'")
            #expect(running > 0 && running <= 20)
            let successor = try Program(["worker"], database: url, settings: settings)
            try await database.rescueJobs(of: victim)
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where state = 'running' and attempt = 1 and worker_id = 1)",
                    within: Hardness.rescue))
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            #expect(try await database.count("from errand.history where state = 'succeeded'") == jobs)
            #expect(try await database.count("from errand.history where attempt > 1") <= running)
            #expect(try await database.count("from errand.history where crashes <> attempt - 1") == 0)
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)
        }
    }

    @Test("SIGTERM under load: no job is lost, none runs twice, and the worker ends by itself with 0")
    func terminated() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            try await database.enqueueSleepers(300, milliseconds: 100)
            for _ in 0..<3 {
                let worker = try Program(["worker"], database: url, settings: settings)
                let before = try await database.count("from errand.history")
                #expect(
                    try await database.becomes("count(*) > \(before + 30) from errand.history", within: .seconds(60)))
                worker.send(SIGTERM)
                #expect(try await worker.exit(within: .seconds(60)) == 0)
                #expect(try await database.count("from errand.job where state = 'running'") == 0)
                #expect(try await database.count("from errand.worker") == 0)
            }
            let last = try Program(["worker"], database: url, settings: settings)
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 300)
            last.send(SIGTERM)
            #expect(try await last.exit() == 0)
        }
    }

    @Test("SIGTERM to the worker and, in the same moment, to its group is one request: running jobs have their grace")
    func terminatedWithGroup() async throws {
        try await withTestDatabase { database, configuration in
            let worker = try Program(["worker"], database: TestServer.url(of: configuration), settings: settings)
            try await database.enqueueSleepers(2, milliseconds: 1500)
            #expect(
                try await database.becomes("count(*) = 2 from errand.job where state = 'running'", within: .seconds(60))
            )
            worker.send(SIGTERM)
            try await Task.sleep(for: .milliseconds(50))
            worker.send(SIGTERM)
            #expect(try await worker.exit(within: .seconds(60)) == 0)
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 2)
        }
    }

    @Test("a second SIGTERM, a second or more after the first, releases running jobs without using an attempt")
    func terminatedTwice() async throws {
        try await withTestDatabase { database, configuration in
            let worker = try Program(["worker"], database: TestServer.url(of: configuration), settings: settings)
            try await database.enqueueSleepers(5, milliseconds: 60_000)
            #expect(
                try await database.becomes("count(*) = 5 from errand.job where state = 'running'", within: .seconds(60))
            )
            worker.send(SIGTERM)
            try await Task.sleep(for: .milliseconds(1200))
            worker.send(SIGTERM)
            try await expectRelease(of: 5, by: worker, database)
        }
    }

    private func expectRelease(of jobs: Int, by worker: Program, _ database: Database) async throws {
        let exit = try await worker.exit(within: .seconds(60))
        if !Hardness.isFull, exit == 1 {
            // On a busy machine releasing them takes longer than the 2 s after the signal: it ends by force then.
            #expect(worker.output.contains("running work did not end within 2.0 seconds of the signal"))
            return
        }
        #expect(exit == 0)
        #expect(
            try await database.count("from errand.job where state = 'available' and attempt = 0 and crashes = 0")
                == jobs)
    }

    @Test("F3: SIGHUP and SIGQUIT release running jobs without using an attempt", arguments: [SIGHUP, SIGQUIT])
    func forced(signal: Int32) async throws {
        try await withTestDatabase { database, configuration in
            let worker = try Program(["worker"], database: TestServer.url(of: configuration), settings: settings)
            try await database.enqueueSleepers(2, milliseconds: 60_000)
            #expect(
                try await database.becomes("count(*) = 2 from errand.job where state = 'running'", within: .seconds(60))
            )
            worker.send(signal)
            try await expectRelease(of: 2, by: worker, database)
        }
    }

    @Test("a worker that was stopped and continued writes nothing stale")
    func stopped() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let sleeper = try Program(["worker"], database: url, settings: settings)
            // Rescued jobs run one at a time.
            let jobs = Hardness.isFull ? 10 : 3
            try await database.enqueueSleepers(jobs, milliseconds: Hardness.isFull ? 1500 : 800)
            #expect(
                try await database.becomes(
                    "count(*) = \(jobs) from errand.job where state = 'running'", within: .seconds(60)))
            sleeper.send(SIGSTOP)
            let stopped = ContinuousClock.now
            let successor = try Program(["worker"], database: url, settings: settings)
            try await database.rescueJobs(of: sleeper)
            #expect(
                try await database.becomes(
                    "count(*) = \(jobs) from errand.history", within: Hardness.rescue + .seconds(10)))
            let before = try await database.query(
                "select jsonb_agg(to_jsonb(h) order by id)::text from errand.history as h")
            if Hardness.isFull { try await Task.sleep(until: stopped + .seconds(60)) }
            sleeper.send(SIGCONT)
            // It has noticed, or has tried to complete its jobs, whose sleeps end at the same time.
            let resumed = ContinuousClock.now
            while !sleeper.output.contains("lease lost"), !sleeper.output.contains("late outcome not written") {
                try #require(ContinuousClock.now - resumed < .seconds(60), "\(sleeper.output)")
                try await Task.sleep(for: .milliseconds(20))
            }
            for program in [sleeper, successor] {
                program.send(SIGTERM)
                #expect(try await program.exit() == 0)
            }
            let after = try await database.query(
                "select jsonb_agg(to_jsonb(h) order by id)::text from errand.history as h")
            #expect(try before.scalar(String.self) == after.scalar(String.self))
            #expect(try await database.count("from errand.history where attempt = 2 and crashes = 1") == jobs)
            #expect(try await database.count("from errand.job") == 0)
        }
    }

    @Test("a job that ends its worker process fails after three crashes, and its neighbours get through")
    func endsItsWorker() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            // Among prefetched jobs, long jobs and short jobs.
            let short = Hardness.isFull ? 500 : 100
            try await database.enqueueSleepers(short, milliseconds: 0)
            let job = try await database.query(
                #"select job_id from errand.enqueue('noop', '{"sleep_ms": 600000}')"#
            ).scalar(Int64.self)
            try await database.enqueueSleepers(short, milliseconds: 0)
            try await database.enqueueSleepers(50, milliseconds: 20)
            var deaths = 0
            var worker = try Program(["worker"], database: url, settings: settings)
            let start = ContinuousClock.now
            while try await database.count("from errand.failed") == 0, ContinuousClock.now - start < Hardness.rescue * 4
            {
                if try await database.count("from errand.job where id = \(job) and state = 'running'") == 1 {
                    worker.send(SIGKILL)
                    _ = try await worker.exit()
                    deaths += 1
                    try await database.rescueJobs(of: worker)
                    worker = try Program(["worker"], database: url, settings: settings)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(deaths == 3)
            #expect(
                try await database.becomes("count(*) = \(2 * short + 50) from errand.history", within: .seconds(120)))
            let error = try await database.query("select error from errand.failed").scalar(String.self)
            #expect(error == "running in 3 crashes of its worker")
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }
}
