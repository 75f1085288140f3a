import ErrandTestKit
import Logging
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("Jobs that were running in a crash") struct CrashedJobTests {
    @Test("a claim returns one job that was in a crash, and none if the worker has one already")
    func oneAtATime() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 10))
            try await database.execute("update errand.job set crashes = 1 where id <= 5")
            let worker = try await ManualWorker(database)
            let none = try await worker.reply(to: worker.claiming(10, takesCrashed: false))
            #expect(Set(none.jobs.map(\.id)) == Set(6...10))
            #expect(none.rest == .slots && none.observation?.high == 0)
            let one = try await worker.reply(to: worker.claiming(10))
            #expect(one.jobs.map(\.id) == [1] && one.jobs.map(\.crashes) == [1])
            #expect(one.rest == .slots)
            try await worker.end(one.jobs)
            for id in 2...5 as ClosedRange<Int64> {
                #expect(try await worker.reply(to: worker.claiming(10, beginsNow: 0)).jobs.isEmpty)
                let next = try await worker.reply(to: worker.claiming(10, beginsNow: 1))
                #expect(next.jobs.map(\.id) == [id])
                try await worker.end(next.jobs)
            }
            #expect(try await worker.reply(to: worker.claiming(10)).rest == nil)
        }
    }

    @Test("a job on its last attempt is claimed only to start immediately")
    func lastAttempt() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            for _ in 0..<5 { try await queue.enqueue(Noop(), .maxAttempts(1)) }
            for _ in 0..<5 { try await queue.enqueue(Noop()) }
            let worker = try await ManualWorker(database)
            let reply = try await worker.reply(to: worker.claiming(10, beginsNow: 2))
            #expect(reply.jobs.map(\.id).sorted() == [1, 2, 6, 7, 8, 9, 10])
            #expect(reply.rest == .slots && reply.observation?.high == 0)
            let rest = try await worker.reply(to: worker.claiming(10, beginsNow: 3))
            #expect(rest.jobs.map(\.id).sorted() == [3, 4, 5] && rest.rest == nil)
        }
    }

    @Test("of jobs with one attempt a worker that is lost has spent those only that it had begun")
    func lostWorker() async throws {
        let isOpen = Mutex(false)
        let handler = SlowHandler { _ in
            while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
        }
        try await withWorker([handler], configure: { $0.queues = ["default": 3] }) { database, queue in
            // Jobs that take no time are prefetched.
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 100))
            #expect(try await database.drains())
            try await queue.enqueue(all: [Slow](repeating: Slow(), count: 20), .maxAttempts(1))
            #expect(try await database.becomes("(select count(*) from errand.job where state = 'running') = 3"))
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await database.count("from errand.job where state = 'running'") == 3)
            isOpen.withLock { $0 = true }
            #expect(try await database.drains())
        }
    }

    @Test("a job that was released to run alone is not parked again by the next rescue")
    func releasedStays() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            try await database.execute("update errand.job set crashes = 2")
            try await database.execute("select errand_internal.rescue(0)")
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
        }
    }

    @Test("the third crash counts only for a job that its worker held alone")
    func alone() async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 2))
            try await database.execute("update errand.job set crashes = 2 where id = 1")
            let first = try await ManualWorker(database)
            #expect(try await first.claim(2).count == 2)
            try await first.dies()
            #expect(
                try await database.count(
                    "from errand.job where id = 1 and parked_for = 'crash' and crashes = 2 and attempt = 0") == 1)
            #expect(
                try await database.count("from errand.job where id = 2 and state = 'available' and crashes = 1") == 1)
            try await database.execute("delete from errand.job where id = 2")
            try await database.execute("select errand_internal.release_crashed()")
            let second = try await ManualWorker(database)
            #expect(try await second.claim(2).map(\.id) == [1])
            try await second.dies()
            #expect(try await database.word("select error from errand.failed") == "running in 3 crashes of its worker")
        }
    }

    @Test("an attempt that comes to its own end acquits the job", arguments: [true, false])
    func acquitted(snoozes: Bool) async throws {
        try await withTestDatabase { database, _ in
            try await Queue(database: database).enqueue(Noop())
            try await database.execute("update errand.job set crashes = 2")
            let worker = try await ManualWorker(database)
            let jobs = try await worker.claim(1)
            try await worker.end(
                jobs,
                as: { snoozes ? .snoozed($0, for: .seconds(9)) : .retried($0, error: "broken", after: .seconds(9)) })
            #expect(try await database.count("from errand.job where state = 'scheduled' and crashes = 0") == 1)
        }
    }

    @Test("a job that was in two crashes runs when nothing else does in its worker, and the others go on after it")
    func runsAlone() async throws {
        let running = Mutex((now: 0, beside: 0))
        let handler = SlowHandler { context in
            running.withLock { $0.now += 1 }
            try await Task.sleep(for: .milliseconds(context.id % 3 == 0 ? 100 : 10))
            running.withLock { running in
                if context.job.runsAlone { running.beside = max(running.beside, running.now) }
                running.now -= 1
            }
        }
        try await withWorker([handler], configure: { $0.queues = ["default": 5, "other": 5] }) { database, queue in
            for name in ["default", "other"] {
                try await database.execute(Statement("select errand.pause_queue($1, 'test', force => true)", [name]))
            }
            try await queue.enqueue(all: [Slow](repeating: Slow(), count: 20))
            try await queue.enqueue(all: [Slow](repeating: Slow(), count: 20), .queue("other"))
            try await database.execute("update errand.job set crashes = 2 where id % 20 = 7")
            for name in ["default", "other"] {
                try await database.execute(Statement("select errand.resume_queue($1)", [name]))
            }
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 40)
        }
        #expect(running.withLock(\.beside) == 1)
    }

    @Test(
        "a worker takes one crashed job at a time, the next one after its end or 5 s, and none beside one that runs alone"
    )
    func reservations() {
        func job(_ id: Int64, crashes: Int) -> ClaimedJob {
            ClaimedJob(
                id: id, position: id, kind: "noop", queue: "default", priority: 2, attempt: 1, maxAttempts: 2,
                crashes: crashes, createdAt: .infinity, runAt: .infinity, startedAt: .infinity, payload: JSONB("{}"),
                options: nil, workerID: 1)
        }
        let crashedJobs = CrashedJobs()
        #expect(crashedJobs.reserve(at: .zero))
        #expect(!crashedJobs.reserve(at: .zero))
        crashedJobs.claimed(nil, at: .zero)
        #expect(crashedJobs.reserve(at: .zero))
        crashedJobs.claimed(job(1, crashes: 1), at: .zero)
        #expect(!crashedJobs.reserve(at: .seconds(4)) && !crashedJobs.runsAlone)
        #expect(crashedJobs.reserve(at: .seconds(5)))
        crashedJobs.claimed(job(2, crashes: 1), at: .seconds(5))
        crashedJobs.finished(job(1, crashes: 1))
        #expect(!crashedJobs.reserve(at: .seconds(6)))
        crashedJobs.finished(job(2, crashes: 1))
        #expect(crashedJobs.reserve(at: .seconds(6)))
        crashedJobs.claimed(job(3, crashes: 2), at: .seconds(6))
        #expect(crashedJobs.runsAlone && !crashedJobs.reserve(at: .seconds(600)))
        crashedJobs.finished(job(3, crashes: 2))
        #expect(!crashedJobs.runsAlone && crashedJobs.reserve(at: .seconds(601)))
    }

    @Test("a worker's lost attempt is dropped, but not its newer attempt of the job")
    func newerAttempt() throws {
        let samples = try SampleAttempts()
        let running = Running()
        let queue = HeldJobs(
            queue: "default", slots: 1, of: SharedCapacity(of: .withoutMaintenance), in: samples.environment,
            addingTo: running, watchedBy: AttemptWatch())
        let attempts = Attempts(running, of: [queue])
        let first = samples.attempt(.sample(1, position: 1))
        #expect(running.insert([first]).isEmpty)
        let held = running.leasedJobs()
        #expect(running.remove(first))
        #expect(running.insert([samples.attempt(.sample(1, position: 2))]).isEmpty)
        #expect(attempts.drop(held, because: .cancelled).isEmpty)
        #expect(running.leasedJobs().map(\.position) == [2])
        #expect(attempts.drop(running.leasedJobs(), because: .cancelled).map(\.position) == [2])
    }
}

extension ManualWorker {
    fileprivate func reply(to claim: Claim) async throws -> Claim.Reply {
        try claim.reply(await database.query(claim.statement))
    }
}
