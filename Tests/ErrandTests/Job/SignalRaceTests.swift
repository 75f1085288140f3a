import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Waits and signals that commit side by side") struct SignalRaceTests {
    @Test(
        "a wait and a signal that commit side by side find each other, in each order and under each isolation",
        arguments: ["read committed", "repeatable read"])
    func sideBySide(isolation: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            // What ends last, and whether that begins to write first.
            let orders = [(true, true), (true, false), (false, true), (false, false)]
            for (index, (signalEndsLast, lastBegins)) in orders.enumerated() {
                _ = try await database.query("select errand.enqueue('noop')")
                let jobs = try await worker.claim(1)
                let wait = Completion.statements(
                    for: jobs.map { .waiting($0, for: "s\(index)", until: later, by: nil) })
                let signal = [Statement("select errand.signal('s\(index)')")]
                try await database.transaction { last in
                    try await last.execute(Statement("set transaction isolation level \(isolation)"))
                    // Its snapshot is from here.
                    _ = try await last.query("select 1 from errand.job")
                    func write() async throws {
                        for statement in signalEndsLast ? signal : wait { _ = try await last.query(statement) }
                    }
                    try await database.transaction { first in
                        try await first.execute(Statement("set transaction isolation level \(isolation)"))
                        _ = try await first.query("select 1 from errand.job")
                        if lastBegins { try await write() }
                        for statement in signalEndsLast ? wait : signal { _ = try await first.query(statement) }
                        if !lastBegins { try await write() }
                    }
                    // The last one has not ended: it may not be taken for seen.
                    for _ in 1...3 { try await database.execute("select errand_internal.release_waiting()") }
                }
                #expect(
                    try await database.becomes("exists (select from errand.job where state = 'available')") {
                        try await database.execute("select errand_internal.release_waiting()")
                    })
                try await worker.end(worker.claim(1))
            }
        }
    }

    @Test("a transaction that neither waits nor signals delays no comparison, however long it runs")
    func unrelated() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query("select errand.enqueue('noop')")
            let jobs = try await worker.claim(1)
            try await database.transaction { report in
                try await report.execute("create temporary table numbers as select 1 as number")
                try await worker.end(jobs, as: { .waiting($0, for: "approval", until: later, by: nil) })
                for _ in 1...2 { try await database.execute("select errand_internal.release_waiting()") }
                #expect(try await database.count("from errand.signal_check") == 0)
            }
        }
    }

    @Test("a job that waits for the same name again, while its old wait is removed, keeps the new one")
    func again() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.query("select errand.enqueue('noop') from generate_series(1, 2)")
            try await database.execute(
                """
                insert into errand.signal_wait (job_id, until, name)
                select id, now() + interval '1 hour', 'again' from errand.job
                """)
            // As another session would between the reading of both waits and the removal of the second one.
            try await database.execute(
                """
                create function public.wait_again() returns trigger language plpgsql as $$
                begin
                    update errand.job set state = 'parked', queue_position = null, parked_for = 'signal:again'
                    where id > old.job_id;
                    return old;
                end
                $$
                """)
            try await database.execute(
                """
                create trigger wait_again before delete on errand.signal_wait
                for each row execute function public.wait_again()
                """)
            try await database.execute("select errand_internal.release_waits(array_agg(id)) from errand.job")
            #expect(
                try await database.count(
                    "from errand.signal_wait join errand.job on id = job_id where parked_for = 'signal:again'") == 1)
        }
    }

    @Test("waits and signals in random order and overlap: none is missed")
    func random() async throws {
        let count = Hardness.isFull ? 10_000 : 300
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            _ = try await database.query(Statement("select errand.enqueue('noop') from generate_series(1, \(count))"))
            var jobs: [ClaimedJob] = []
            while jobs.count < count { jobs += try await worker.claim(min(500, count - jobs.count)) }
            let maintenance = Task {
                while !Task.isCancelled {
                    try await database.execute("select errand_internal.release_waiting()")
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                var running = 0
                for job in jobs {
                    let name = "s/\(job.id)"
                    let wait = Completion.statements(for: [.waiting(job, for: name, until: later, by: nil)])
                    for statements in [wait, [Statement("select errand.signal($1)", [name])]] {
                        group.addTask {
                            try await Task.sleep(for: .microseconds(Int64.random(in: 0...3_000)))
                            try await database.transaction { transaction in
                                for statement in statements { _ = try await transaction.query(statement) }
                                try await Task.sleep(for: .microseconds(Int64.random(in: 0...3_000)))
                            }
                        }
                        running += 1
                        if running > 6 { try await group.next() }
                    }
                }
                try await group.waitForAll()
            }
            maintenance.cancel()
            _ = await maintenance.result
            #expect(
                try await database.becomes("not exists (select from errand.signal_check)") {
                    try await database.execute("select errand_internal.release_waiting()")
                })
            #expect(
                try await database.text("select state, count(*) from errand.job group by state") == "available|\(count)"
            )
            #expect(try await database.count("from errand.signal_wait") == 0)
        }
    }
}
