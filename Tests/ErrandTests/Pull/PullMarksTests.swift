import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("The marks of workers that pull") struct PullMarksTests {
    @Test("beside a held snapshot a pull reads no more after thousands of jobs than before them")
    func bounded() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            let holder = try await database.session()
            try await holder.execute("begin isolation level repeatable read")
            try await holder.execute("select count(*) from errand.job")
            // Nobody takes it, and it stays at the left end.
            try await database.execute("select errand.enqueue('other')")
            try await database.execute("select errand.enqueue('noop')")
            let first = try await pages(of: worker)
            let rounds = Hardness.isFull ? 40 : 6
            for _ in 0..<rounds {
                try await database.execute(
                    "select errand.enqueue_payloads_v1('noop', array_fill('{}'::jsonb, array[500]))")
                let jobs = try await worker.pull(500)
                #expect(jobs.count == 500)
                #expect(Set(try await database.results("done", jobs)) == ["completed"])
            }
            let behind = try await pages(of: worker)
            #expect(behind > 10 * first, "without maintenance it reads the entry of each job")
            // Maintenance by calls alone, each of which runs one task.
            let newest = "(select max(queue_position) from errand.job where kind = 'noop')"
            #expect(
                try await database.becomes(
                    "(errand_internal.marks_of(marks, 'default'))[2] + 1 >= \(newest) from errand.worker",
                    after: { try await database.execute("select errand.maintain()") }))
            let later = try await pages(of: worker)
            #expect(later < 3 * first, "\(first) pages before, \(later) after, \(behind) without marks")
            #expect(try await worker.pull().count == 1)
            await holder.close()
        }
    }

    /// How many pages a pull of one job reads. It is rolled back.
    private func pages(of worker: PullingWorker) async throws -> Int {
        let read = Shared(0)
        await #expect(throws: Undo.self) {
            try await worker.database.transaction { transaction in
                // Once for what the session reads only once.
                try await transaction.execute("savepoint before")
                try await transaction.execute(Statement("select \(worker.call())"))
                try await transaction.execute("rollback to before")
                let plan = try await transaction.query(
                    Statement("explain (analyze, buffers) select id from \(worker.call())")
                ).column(0, as: String.self)
                // The first line is of the whole.
                let line = plan.first { $0.contains("Buffers: shared") } ?? ""
                let pages = line.matches(of: /(?:hit|read)=(\d+)/).compactMap { Int($0.output.1) }
                read.with { $0 = pages.reduce(0, +) }
                throw Undo()
            }
        }
        return read.with { $0 }
    }

    private struct Undo: Error {}

    @Test(
        "no mark passes a job whose transaction is open, however it draws a position",
        arguments: [
            "select errand.enqueue('noop')", "select errand.enqueue_payloads_v1('noop', '{\"{}\"}')",
            "select errand.enqueue_many('[{\"kind\": \"noop\", \"unique_key\": \"a\"}]')",
            "select errand.reschedule('{1}', priority => 4)", "select errand.retry('{2}')",
        ])
    func open(call: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            try await database.execute("select errand.cancel('{2}', 'x')")
            // Of another queue, so that it doesn't hold the marks back.
            try await database.execute("select errand.reschedule('{1}', priority => 3)")
            let own = call.contains("{1}")
            var mover = MarkMover(database)
            if !own { #expect(try await database.results("done", try await worker.pull()) == ["completed"]) }
            let session = try await database.session()
            // Not the newest transaction, and it has written before: another one ends after its start.
            for beside in ["select 1", "select errand.enqueue('elsewhere')"] {
                try await session.execute("begin")
                try await session.execute("savepoint inner_one")
                try await session.execute(Statement(call))
                try await session.execute("release inner_one")
                let position = try await session.query(
                    "select max(queue_position) from errand.job where kind = 'noop'"
                ).scalar(Int64.self)
                try await database.execute(Statement(beside))
                for _ in 1...3 { try await mover.move() }
                #expect(try await highest(database) < position, "\(beside)")
                try await session.execute(beside == "select 1" ? "rollback" : "commit")
            }
            for _ in 1...3 { try await mover.move() }
            let jobs = try await worker.pull()
            #expect(jobs.count == 1)
            #expect(try await database.results("done", jobs) == ["completed"])
            for _ in 1...2 { try await mover.move() }
            // The marks are as far as the positions again.
            #expect(
                try await database.text(
                    "select pg_sequence_last_value('errand.job_position') = \(try await highest(database))") == "true")
            await session.close()
        }
    }

    /// The highest mark of the worker.
    private func highest(_ database: Database) async throws -> Int64 {
        try await database.query(
            """
            select coalesce(max(mark), 0)
            from errand.worker
            cross join lateral unnest(errand_internal.marks_of(marks, 'default')) as mark
            """
        ).scalar(Int64.self)
    }

    @Test("nor one of a prepared transaction, until that is committed or rolled back")
    func prepared() async throws {
        try await withTestDatabase { database, _ in
            guard try await database.text("select current_setting('max_prepared_transactions')::int > 0") == "true"
            else { return }
            let worker = try await PullingWorker(database)
            var mover = MarkMover(database)
            let session = try await database.session()
            let name = "errand_test_\(UInt32.random(in: 0 ... .max))"
            for (end, jobs) in [("rollback", 0), ("commit", 1)] {
                for call in ["begin", "select errand.enqueue('noop')", "prepare transaction '\(name)'"] {
                    try await session.execute(Statement(call))
                }
                let position = try await database.query("select pg_sequence_last_value('errand.job_position')")
                    .scalar(Int64.self)
                for _ in 1...3 {
                    try await mover.move()
                    try await database.execute("select errand.enqueue('elsewhere')")
                }
                #expect(try await highest(database) < position)
                try await session.execute(Statement("\(end) prepared '\(name)'"))
                for _ in 1...3 { try await mover.move() }
                #expect(try await worker.pull().count == jobs)
            }
            await session.close()
        }
    }

    @Test("a job whose claim is rolled back after another worker has skipped it is found")
    func rolledBack() async throws {
        try await withTestDatabase { database, _ in
            let (worker, other) = (try await PullingWorker(database), try await PullingWorker(database))
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            var mover = MarkMover(database)
            let session = try await database.session()
            try await session.execute("begin")
            let claimed = try await session.query(Statement("select id from \(worker.call())"))
            #expect(try claimed.column(0, as: Int64.self) == [1])
            #expect(try await other.pull(9).map(\.id) == [2, 3])
            for _ in 1...3 { try await mover.move() }
            try await session.execute("rollback")
            #expect(try await other.pull(9).map(\.id) == [1])
            await session.close()
        }
    }

    @Test("a worker that pulls trusts the marks of a program's worker only as far as that has scanned below them")
    func adopted() async throws {
        try await withTestDatabase { database, _ in
            let kind = #"{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2}"#
            let program = try await ManualWorker(database, kinds: "[\(kind)]")
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            // It has skipped the second job, whose claim was rolled back then, and has scanned up to the first.
            try await database.execute(
                """
                update errand.worker
                set marks = '{"default": [3, 3, 3, 3, 1, 1, 1, 1]}', server_start = errand_internal.server_start()
                """)
            try await database.execute(
                Statement("update errand.job set state = 'running', worker_id = $1 where id <> 2", [program.id]))
            let rows = try await database.query("select id, token, attempt from errand.pull('{default}', '{noop}')")
            #expect(try PullingWorker.jobs(rows).map(\.id) == [2])
        }
    }

    @Test("marks of an earlier start of the server are void at once, and those of other kinds too")
    func void() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            let marks = Statement(
                """
                update errand.worker
                set server_start = $1, marks = jsonb_build_object('default', array_fill(1000000, array[8]))
                """, ["before"])
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            for arguments in ["running => null", "running => '{}'"] {
                try await database.execute(marks)
                #expect(try await worker.pull(1, arguments).count == 1)
                #expect(try await database.count("from errand.worker where server_start = 'before'") == 0)
            }
            try await database.execute(
                """
                update errand.worker
                set marks = jsonb_build_object('default', array_fill(1000000, array[8])), kinds = '{none}'
                """)
            #expect(try await worker.pull().count == 1)
            // A memory from before the start moves nothing.
            var mover = MarkMover(database)
            try await mover.move()
            let memory = try #require(mover.memory)
            try await database.execute("select errand.enqueue('elsewhere')")
            let stale = memory.replacing(/"started": "[^"]*"/, with: #""started": "before""#)
            #expect(stale != memory)
            try await database.execute(Statement("select errand_internal.move_marks($1)", [stale]))
            #expect(try await highest(database) == 0)
        }
    }

    @Test("a worker that leaves or is lost hands its marks on to the next one")
    func handedOn() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('other') from generate_series(1, 7)")
            var mover = MarkMover(database)
            for _ in 1...2 { try await mover.move() }
            #expect(try await highest(database) == 7)
            try await database.execute(Statement("select errand.leave($1::text::uuid)", [worker.id]))
            _ = try await PullingWorker(database)
            #expect(try await highest(database) == 7)
            try await database.execute("delete from errand.worker")
            // Of more kinds: they may wait below.
            _ = try await PullingWorker(database, queues: "elsewhere", kinds: "noop,other")
            #expect(try await highest(database) == 0)
        }
    }
}
