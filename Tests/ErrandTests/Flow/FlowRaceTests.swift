import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("A parent's end and a child's enqueue side by side") struct FlowRaceTests {
    private struct Undo: Error {}

    @Test(
        "they find each other, in each order and under each isolation",
        arguments: ["read committed", "repeatable read"])
    func sideBySide(isolation: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            // A child that always waits, so that ends probe.
            let never = try await database.child(more: ", queue => 'other'")
            _ = try await database.child(of: never)
            // What ends last, and whether that begins to write first.
            for (childEndsLast, lastBegins) in [(true, true), (true, false), (false, true), (false, false)] {
                let parent = try await database.child()
                let jobs = try await worker.claim(1)
                let end = Completion.statements(for: jobs.map { .succeeded($0) })
                let enqueue = [Statement("select errand.enqueue('noop', after => '{\(parent)}')")]
                try await database.transaction { last in
                    try await last.execute(Statement("set transaction isolation level \(isolation)"))
                    // Its snapshot is from here.
                    _ = try await last.query("select 1 from errand.job")
                    func write() async throws {
                        for statement in childEndsLast ? enqueue : end { _ = try await last.query(statement) }
                    }
                    try await database.transaction { first in
                        try await first.execute(Statement("set transaction isolation level \(isolation)"))
                        _ = try await first.query("select 1 from errand.job")
                        if lastBegins { try await write() }
                        for statement in childEndsLast ? end : enqueue { _ = try await first.query(statement) }
                        if !lastBegins { try await write() }
                    }
                    // The last one has not ended: it may not be taken for seen.
                    for _ in 1...3 { try await database.checkChildren() }
                    #expect(
                        try await database.count("from errand.job where state = 'available' and queue = 'default'")
                            == 0)
                }
                #expect(
                    try await database.becomesAfterChecks(
                        "exists (select from errand.job where state = 'available' and queue = 'default')"))
                try await worker.end(worker.claim(1))
            }
            #expect(try await database.becomesAfterChecks("not exists (select from errand.flow_check)"))
        }
    }

    @Test("a child that begins to wait for its next parent in the moment of that one's end is found")
    func next() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let (first, second) = (try await database.child(), try await database.child())
            let child = try await database.child(of: first, second)
            let jobs = try await worker.claim(2)
            try await database.transaction { transaction in
                for statement in Completion.statements(for: [.succeeded(jobs[1])]) {
                    _ = try await transaction.query(statement)
                }
                // It still sees the child wait for the other one.
                try await worker.end([jobs[0]])
            }
            #expect(
                try await database.becomesAfterChecks("state = 'available' from errand.job where id = \(child)"))
        }
    }

    @Test("a parent that isn't seen is waited for until its transaction has ended; one that never came is over then")
    func unseen() async throws {
        for comes in [true, false] {
            try await withTestDatabase { database, _ in
                var child: Int64 = 0
                do {
                    try await database.transaction { transaction in
                        let parent = try await transaction.query("select job_id from errand.enqueue('noop')").scalar(
                            Int64.self)
                        child = try await database.child(of: parent)
                        for _ in 1...3 { try await database.checkChildren() }
                        #expect(try await database.states(child) == "parked")
                        if !comes { throw Undo() }
                    }
                } catch is Undo {}
                if comes {
                    for _ in 1...3 { try await database.checkChildren() }
                    #expect(try await database.states(child) == "parked")
                    let worker = try await ManualWorker(database)
                    try await worker.end(worker.claim(1))
                }
                let isReleased = "state = 'available' from errand.job where id = \(child)"
                #expect(try await database.becomesAfterChecks(isReleased))
            }
        }
    }

    @Test("a child that another session has locked is released afterwards, and nobody waits for the lock")
    func locked() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let parent = try await database.child()
            let child = try await database.child(of: parent)
            try await database.transaction { transaction in
                try await transaction.execute(Statement("select from errand.job where id = \(child) for update"))
                try await worker.end(worker.claim(1))
                try await database.checkChildren()
                #expect(try await database.states(child) == "parked")
            }
            #expect(try await database.becomesAfterChecks("state = 'available' from errand.job where id = \(child)"))
        }
    }

    @Test("once no job waits, completions ask no more; an enqueue that isn't committed keeps them asking")
    func flag() async throws {
        try await withTestDatabase { database, _ in
            let asks = "select errand_internal.any_waits_for_jobs()"
            let worker = try await ManualWorker(database)
            #expect(try await database.text(asks) == "false")
            let parent = try await database.child()
            try await worker.end(worker.claim(1))
            #expect(try await database.text(asks) == "false")
            try await database.transaction { transaction in
                let other = try await transaction.query("select job_id from errand.enqueue('noop')").scalar(Int64.self)
                _ = try await transaction.query(
                    Statement("select errand.enqueue('noop', after => $1)", [[parent, other]]))
                for _ in 1...3 { try await database.checkChildren() }
                #expect(try await database.text(asks) == "true")
            }
            #expect(try await database.text(asks) == "true")
            try await worker.end(worker.claim(1))
            try await worker.end(worker.claim(1))
            #expect(try await database.becomesAfterChecks("not errand_internal.any_waits_for_jobs()"))
            #expect(try await database.count("from errand.history") == 3)
            // A copy's sequences may be of another moment than its rows.
            _ = try await database.child(of: try await database.child())
            try await database.execute("select setval('errand.flows_ended', last_value) from errand.flows_begun")
            try await database.execute("update errand.home set database_name = 'elsewhere'")
            _ = try await database.query("select errand.adopt('a copy')")
            #expect(try await database.text(asks) == "true")
        }
    }

    @Test("a move to another cell leaves jobs here that wait for others, have done so, or are waited for")
    func cells() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let (first, second) = (try await database.child(), try await database.child())
            let ready = try await database.child(of: first)
            try await worker.end(worker.claim(1))
            let waiting = try await database.child(of: second)
            let other = try await database.child()
            let moved = try await database.query(
                "select jobs from errand_internal.move_out_v1(gen_random_uuid(), 1, 'default', 1)"
            ).scalar(Int.self)
            #expect(moved == 1)
            #expect(try await database.states(second, ready, waiting) == "available available parked")
            await expectRefusal(
                "select errand.enqueue('noop', after => '{\(other)}')", "ER409",
                "got job \(other), which was moved to cell 1", in: database)
        }
    }
}
