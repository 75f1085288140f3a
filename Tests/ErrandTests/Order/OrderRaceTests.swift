import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Order keys while transactions commit side by side") struct OrderRaceTests {
    @Test("a job whose transaction commits late comes next among those that wait, and never beside one that runs")
    func late() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            var late: Int64 = 0
            var running: [ClaimedJob] = []
            var waiting: Int64 = 0
            try await database.transaction { transaction in
                late = try await transaction.query("select job_id from errand.enqueue('noop', order_key => 'a')")
                    .scalar(Int64.self)
                let second = try await database.ordered()
                waiting = try await database.ordered()
                running = try await worker.start()
                #expect(running.map(\.id) == [second])
            }
            #expect(try await database.states(late) == "available")
            #expect(try await worker.start().isEmpty)
            try await worker.end(running)
            for id in [late, waiting] {
                let next = try await worker.start()
                #expect(next.map(\.id) == [id])
                try await worker.end(next)
            }
            try await database.expectNoOrderLeft()
        }
    }

    @Test(
        "an end and an enqueue find each other, in each order and under each isolation",
        arguments: ["read committed", "repeatable read"])
    func sideBySide(isolation: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let begin = Statement("set transaction isolation level \(isolation)")
            // What ends last, and whether that begins to write first.
            for (enqueueEndsLast, lastBegins) in [(true, true), (true, false), (false, true), (false, false)] {
                _ = try await database.ordered()
                let jobs = try await worker.start()
                #expect(jobs.count == 1)
                let end = Completion.statements(for: jobs.map { .succeeded($0) })
                let enqueue = [Statement("select errand.enqueue('noop', order_key => 'a')")]
                try await database.transaction { last in
                    try await last.execute(begin)
                    // Its snapshot is from here.
                    _ = try await last.query("select 1 from errand.job")
                    func write() async throws {
                        for statement in enqueueEndsLast ? enqueue : end { _ = try await last.query(statement) }
                    }
                    try await database.transaction { first in
                        try await first.execute(begin)
                        _ = try await first.query("select 1 from errand.job")
                        if lastBegins { try await write() }
                        for statement in enqueueEndsLast ? end : enqueue { _ = try await first.query(statement) }
                        if !lastBegins { try await write() }
                    }
                    for _ in 1...3 { try await database.checkOrders() }
                    #expect(try await database.count("from errand.job where state = 'available'") == 0)
                }
                #expect(
                    try await database.becomesAfterOrderChecks(
                        "exists (select from errand.job where state = 'available')"))
                try await worker.end(worker.start())
                try await database.expectNoOrderLeft()
            }
        }
    }

    @Test("the next job is given the key though another session has locked or cancels it; then the one behind it")
    func locked() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            for cancels in [false, true] {
                _ = try await database.ordered()
                let (next, last) = (try await database.ordered(), try await database.ordered())
                let running = try await worker.start()
                try await database.transaction { transaction in
                    _ = try await transaction.query(
                        Statement(
                            cancels
                                ? "select errand.cancel('{\(next)}', 'x')"
                                : "select from errand.job where id = \(next) for update"))
                    try await worker.end(running)
                    for _ in 1...3 { try await database.checkOrders() }
                    #expect(try await worker.start().isEmpty)
                }
                let expected = cancels ? last : next
                #expect(
                    try await database.becomesAfterOrderChecks(
                        "state = 'available' from errand.job where id = \(expected)"))
                try await worker.end(worker.start())
                if !cancels { try await worker.end(worker.start()) }
                try await database.expectNoOrderLeft()
            }
        }
    }

    @Test("two claims of the same keys give each slot once; without its lock they leave the jobs for the next one")
    func claims() async throws {
        try await withTestDatabase { database, _ in
            let (one, other) = (try await ManualWorker(database), try await ManualWorker(database))
            // All of them available, as none sees another one.
            try await database.transaction { first in
                _ = try await first.query("select errand.enqueue('noop', order_key => 'a')")
                try await database.transaction { second in
                    _ = try await second.query("select errand.enqueue('noop', order_key => 'a')")
                    _ = try await database.ordered()
                }
            }
            #expect(try await database.count("from errand.job where state = 'available'") == 3)
            try await database.transaction { transaction in
                try await transaction.execute("lock table errand.limits_lock in share update exclusive mode")
                #expect(try await one.start().isEmpty)
            }
            async let first = one.start()
            async let second = other.start()
            #expect(try await first.count + second.count == 1)
        }
    }

    @Test("maintenance finds keys whose slot was lost, or whose next job was never told")
    func net() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            for key in ["a", "b", "c"] { for _ in 1...2 { _ = try await database.ordered(key: key) } }
            let running = try await worker.start()
            try await worker.end(running)
            // The next of each is available and has the slot. What no function does:
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'order:a' where options ->> 'order_key' = 'a'"
            )
            try await database.execute("update errand.order_slot set job_id = 0 where order_key = 'b'")
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'order:c' where options ->> 'order_key' = 'c'"
            )
            try await database.execute("delete from errand.order_slot where order_key = 'c'")
            try await database.execute("delete from errand.order_check")
            #expect(
                try await database.becomesAfterOrderChecks("count(*) = 3 from errand.job where state = 'available'"))
            #expect(try await worker.start().count == 3)
        }
    }
}
