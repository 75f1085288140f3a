import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Which maintenance task comes next") struct MaintainTests {
    private struct Call: Equatable {
        let note: String?
        let next: String?
        let delay: Duration
    }

    private func call(_ task: String?, isLong: Bool = false, on database: Database) async throws -> Call {
        let (note, next, delay) = try await database.query(
            Statement("select * from errand_internal.maintain_v1($1, $2)", [task, isLong]))[0]
            .decode(String?.self, String?.self, Int64.self)
        return Call(note: note, next: next, delay: .microseconds(delay))
    }

    /// Runs all tasks that are due, as a program does. Returns their names, in order.
    private func run(isLong: Bool = false, on database: Database) async throws -> [String] {
        var done: [String] = []
        var last = try await call(nil, isLong: isLong, on: database)
        while last.delay == .zero, done.count < 50, let task = last.next {
            done.append(task)
            last = try await call(task, isLong: isLong, on: database)
        }
        return done
    }

    private let past = "now() - interval '1 s'"

    @Test("without work one call probes all short tasks, takes no transaction id, and says when to come back")
    func idle() async throws {
        try await withTestDatabase { database, _ in
            _ = try await call(nil, on: database)
            try await Task.sleep(for: .milliseconds(1200))
            let (next, delay, id) = try await database.transaction { transaction in
                let (next, delay) = try await transaction.query(
                    "select next_task, next_in from errand_internal.maintain_v1(null, false)")[0]
                    .decode(String.self, Int64.self)
                let id = try await transaction.query("select pg_current_xact_id_if_assigned()::text").scalar(
                    String?.self)
                return (next, delay, id)
            }
            #expect(["promote", "crashed", "release", "bulk"].contains(next))
            #expect((1...1_100_000).contains(delay))
            #expect(id == nil)
        }
    }

    @Test("a scheduled job is promoted at its time, and nothing is called before")
    func promotes() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '600 ms')")
            let left = Statement("select extract(epoch from run_at - clock_timestamp())::float8 from errand.job")
            let before = try await database.query(left).scalar(Double.self)
            let first = try await call(nil, on: database)
            let after = try await database.query(left).scalar(Double.self)
            #expect(first.next == "promote")
            #expect(first.delay >= .seconds(max(0, after)) && first.delay <= .seconds(max(0, before)))
            // Too early: nothing is done.
            _ = try await call("promote", on: database)
            #expect(try await database.count("from errand.job where state = 'scheduled' or run_at <= now()") == 1)
            try await Task.sleep(for: first.delay + .milliseconds(50))
            _ = try await call("promote", on: database)
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
        }
    }

    @Test("a job behind the mark, as of a transaction that committed late, is promoted by the long task")
    func late() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select setval('errand.promoted_upto', extract(epoch from now())::int8 * 1000000)")
            try await database.execute(
                """
                insert into errand.job (kind, state, run_at, queue_position)
                values ('noop', 'scheduled', now() - interval '1 minute', null)
                """)
            #expect(try await run(on: database) == [])
            #expect(try await run(isLong: true, on: database).contains("promote_late"))
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
        }
    }

    @Test("a task that fails is put off for all sessions, and the others go on")
    func fails() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                create or replace function errand_internal.run_bulk(max_jobs int default 1000) returns boolean
                language plpgsql as $$ begin raise exception 'broken'; end $$
                """)
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '10 ms')")
            try await database.execute("select errand.start_bulk('cancel', '{\"kind\": \"other\"}', 'x')")
            try await Task.sleep(for: .milliseconds(20))
            await #expect(throws: PostgresError.self) {
                try await database.execute("select errand_internal.maintain_v1('bulk', false)")
            }
            #expect(try await run(on: database) == ["promote"])
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
            let dueIn =
                "select errand_internal.due_in(task) > interval '500 ms' from errand.maintenance_task as task where name = 'bulk'"
            #expect(try await database.query(Statement(dueIn)).scalar(Bool.self))
        }
    }

    @Test("a bulk action that another session has locked is tried about once a second")
    func locked() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.start_bulk('cancel', '{\"kind\": \"other\"}', 'x')")
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.bulk for update")
                let after = try await call("bulk", on: database)
                #expect(after.delay >= .milliseconds(500))
            }
        }
    }

    @Test("a task that has left work goes on where its last run ended")
    func memory() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                create or replace function errand_internal.release_parked(after_limit text default null) returns text
                language sql as $$ select coalesce(after_limit, '') || 'x' $$
                """)
            try await database.execute("select errand.set_limit('a', 0)")
            try await database.execute("select errand.enqueue('noop', limit_key => 'a')")
            for expected in ["x", "xx"] {
                try await database.execute("select errand_internal.set_due('release', '0')")
                _ = try await call("release", on: database)
                #expect(
                    try await database.text("select memory from errand.maintenance_task where name = 'release'")
                        == expected)
            }
        }
    }

    @Test("a time from before the server's clock was set back counts as due")
    func clock() async throws {
        try await withTestDatabase { database, _ in
            #expect(try await Set(run(isLong: true, on: database)).isSuperset(of: ["prune", "statistics", "unlisted"]))
            #expect(try await run(isLong: true, on: database) == [])
            for task in ["prune", "statistics"] {
                try await database.execute(Statement("select errand_internal.set_due($1, '1 day')", [task]))
            }
            #expect(try await Set(run(isLong: true, on: database)) == ["prune", "statistics"])
        }
    }

    @Test("what an operator should know is returned and on record")
    func notes() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            _ = try await worker.claim(1)
            try await database.execute(.silencesWorkers())
            let note = try await call("rescue", on: database).note
            #expect(note == "workers were lost: 1; jobs rescued: 1; jobs failed: 0")
            let recorded = "select note from errand.maintenance_status where task = 'rescue'"
            #expect(try await database.text(recorded) == note)
            // Not a problem to tell: only on record.
            #expect(try await call("prune", isLong: true, on: database).note == nil)
            let pruned = "select note from errand.maintenance_status where task = 'prune'"
            #expect(try await database.text(pruned) == "0 records removed")
        }
    }

    @Test("calls of errand.maintain reach every task, though one is due each time")
    func seldom() async throws {
        try await withTestDatabase { database, _ in
            // Its marks have work all the time.
            try await database.execute("select errand.pull('{default}', '{noop}')")
            for _ in 0..<20 {
                try await database.execute("select errand_internal.set_due('marks', '0')")
                try await database.execute("select errand.maintain()")
            }
            let done =
                "select string_agg(task, ' ' order by task) from errand.maintenance_status where took_ms is not null"
            #expect(try await database.text(done) == "marks partitions promote_late prune statistics unlisted")
        }
    }

    @Test("errand.maintain does all of it by calls of an operator")
    func byHand() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '10 ms')")
            try await Task.sleep(for: .milliseconds(20))
            for _ in 0..<100 {
                let wait = try await database.query("select errand.maintain() > interval '0'").scalar(Bool.self)
                if wait { break }
            }
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
            #expect(
                try await database.count("from errand.maintenance_status where task in ('prune', 'statistics')") == 2)
        }
    }
}
