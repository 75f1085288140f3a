import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Jobs of an order key, one after the other") struct OrderTests {
    @Test("they start in the order of their ids, whatever their queue and priority; other keys go on beside them")
    func order() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ids = [
                try await database.ordered(", priority => 4"), try await database.ordered(", queue => 'other'"),
                try await database.ordered(", priority => 1"),
            ]
            let beside = try await database.ordered(key: "b")
            let plain = try await database.query("select job_id from errand.enqueue('noop')").scalar(Int64.self)
            let first = try await worker.start()
            #expect(Set(first.map(\.id)) == [ids[0], beside, plain])
            #expect(try await worker.start(queue: "other").isEmpty)
            #expect(try await database.states(ids[0], ids[1], ids[2]) == "running parked parked")
            #expect(
                try await database.text("select waiting_for from errand.jobs where id = \(ids[1])")
                    == "other jobs of the order key a go first")
            try await worker.end(first)
            #expect(try await worker.start().isEmpty)
            let second = try await worker.start(queue: "other")
            #expect(second.map(\.id) == [ids[1]])
            try await worker.end(second)
            #expect(try await worker.end(worker.start()) == [])
            #expect(try await database.count("from errand.history") == 5)
            try await database.expectNoOrderLeft()
        }
    }

    @Test("a job has its place over retries, snoozes, releases, full limits and pauses")
    func keepsOrder() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let (first, second) = (try await database.ordered(", limit_key => 'l'"), try await database.ordered())
            for outcome: (ClaimedJob) -> Completion in [
                { .retried($0, error: "x", after: .seconds(3600)) }, { .snoozed($0, for: .seconds(3600)) },
            ] {
                try await worker.end(worker.start(), as: outcome)
                #expect(try await database.states(first, second) == "scheduled parked")
                try await database.checkOrders()
                #expect(try await worker.start().isEmpty)
                try await database.execute(Statement("select errand.reschedule('{\(first)}', 'x', now())"))
            }
            try await worker.end(worker.start(), as: { .released($0) })
            try await database.execute("select errand.set_limit('l', 0)")
            #expect(try await worker.start().isEmpty)
            #expect(try await database.text("select parked_for from errand.job where id = \(first)") == "limit:l")
            try await database.checkOrders()
            #expect(try await worker.start().isEmpty)
            try await database.execute("select errand.set_limit('l', 1)")
            try await database.execute("select errand_internal.release_parked()")
            try await database.execute("select errand.pause_queue('default', 'x', force => true)")
            _ = try await database.query(
                Statement("select errand.reschedule('{\(second)}', queue => 'other', force => true)"))
            #expect(try await worker.start(queue: "other").isEmpty)
            try await database.execute("select errand.resume_queue('default')")
            let begun = try await worker.start()
            #expect(begun.map(\.id) == [first])
            try await worker.end(begun)
            try await worker.end(worker.start(queue: "other"))
            try await database.expectNoOrderLeft()
        }
    }

    @Test("a job that is scheduled takes its place when it is due, before later ones that wait by then")
    func scheduled() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let later = try await database.ordered(", run_at => now() + interval '1 hour'")
            let ids = [try await database.ordered(), try await database.ordered(), try await database.ordered()]
            #expect(try await database.states(later, ids[0], ids[1], ids[2]) == "scheduled available parked parked")
            try await worker.end(worker.start())
            try await database.execute(Statement("update errand.job set run_at = now() where id = \(later)"))
            try await database.execute("select errand_internal.promote()")
            #expect(try await database.states(later, ids[1], ids[2]) == "parked available parked")
            try await worker.end(worker.start())
            #expect(try await worker.start().map(\.id) == [later])
        }
    }

    @Test("jobs of many in one call, of a kind's key, and beside parents: each has its place when it is ready")
    func ready() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ids = try await database.enqueueMany(
                """
                [{"kind": "noop"}, {"kind": "noop", "order_key": "a", "after_elements": [1]},
                 {"kind": "noop", "order_key": "a"}, {"kind": "noop", "order_key": "a", "unique_key": "u"}]
                """)
            #expect(
                try await database.states(ids[0], ids[1], ids[2], ids[3]) == "available parked available parked")
            #expect(
                try await database.text(
                    "select string_agg(parked_for, ' ' order by id) from errand.job where state = 'parked'")
                    == "job:\(ids[0]) order:a")
            try await worker.end(worker.start())
            // The one that waited for its parent is older.
            #expect(try await worker.start().map(\.id) == [ids[1]])
            try await database.execute("select errand.put_kind('noop', order_key => 'own', if_head_fails => 'go_on')")
            _ = try await database.query("select errand.enqueue('noop', queue => 'q') from generate_series(1, 2)")
            _ = try await database.query("select errand.enqueue_payloads_v1('noop', '{\"1\",\"2\"}', 'q')")
            _ = try await database.enqueueMany(#"[{"kind": "noop", "queue": "q"}, {"kind": "noop", "queue": "q"}]"#)
            #expect(
                try await database.text(
                    "select distinct options from errand.job where queue = 'q'")
                    == #"{"order_key": "own", "if_head_fails": "go_on"}"#)
            for _ in 1...6 {
                let one = try await worker.start(queue: "q")
                #expect(one.count == 1)
                try await worker.end(one)
            }
            try await database.execute("select errand.put_kind('noop', order_key => '')")
            _ = try await database.query("select errand.enqueue('noop', queue => 'q') from generate_series(1, 2)")
            #expect(try await worker.start(queue: "q").count == 2)
        }
    }

    @Test("many keys go on at once, up to 1,000 in the transaction of the ends, and others by maintenance")
    func manyKeys() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.query(
                """
                select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'noop', 'order_key', n % 1500 || 'k')))
                from generate_series(1, 3000) as n
                """)
            #expect(try await database.count("from errand.job where state = 'available'") == 1500)
            _ = try await database.query(
                "select errand_internal.cancel_jobs(array(select id from errand.job), 'available', 'x')")
            try await database.checkOrders()
            #expect(try await database.count("from errand.job where state = 'available'") == 1500)
            _ = try await database.query("select errand.cancel(array(select id from errand.job), 'x')")
            try await database.expectNoOrderLeft()
        }
    }

    @Test("what is wrong with an order key is said")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            let refused: [(String, String)] = [
                ("errand.enqueue('noop', order_key => '')", "enqueue: order_key: expected 1 to 500 characters, got 0"),
                ("errand.enqueue('noop', order_key => repeat('a', 501))", "got 501"),
                (
                    "errand.enqueue('noop', order_key => 'a', if_head_fails => 'stop')",
                    "enqueue: if_head_fails: expected block or go_on, got 'stop'"
                ),
                ("errand.enqueue('noop', if_head_fails => 'block')", "expected an order_key beside it, got none"),
                (#"errand.enqueue_many('[{"kind": "noop", "order_key": ""}]')"#, "enqueue_many: jobs[1]: order_key"),
                (
                    #"errand.enqueue_many('[{"kind": "noop", "order_key": "", "unique_key": "a", "on_conflict": "replace"}]')"#,
                    "enqueue_many: jobs[1]: order_key"
                ),
                ("errand.put_kind('noop', if_head_fails => 'x')", "put_kind: if_head_fails"),
                (#"errand.enqueue('new', kind_defaults => '{"if_head_fails": "x"}')"#, "kind_defaults: if_head_fails"),
            ]
            for (call, words) in refused {
                await expectRefusal("select \(call)", "ER422", words, in: database)
            }
            let joined = try await database.count("from errand.order_job")
            #expect(joined == 0)
        }
    }

    @Test(
        "in Swift: the options of an enqueue, of many, and a kind's policy before and after a worker has registered it")
    func inSwift() async throws {
        let options = "select string_agg(options::text, ' ' order by id) from errand.job"
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(), .ordered(by: "a"))
            try await queue.enqueue(all: [Noop()], .ordered(by: "a", ifHeadFails: .goOn))
            try await queue.enqueue(Ordered.Step())
            #expect(
                try await database.text(options)
                    == [
                        #"{"order_key": "a", "if_head_fails": "block"}"#,
                        #"{"order_key": "a", "if_head_fails": "go_on"}"#,
                        #"{"order_key": "steps", "if_head_fails": "go_on"}"#,
                    ].joined(separator: " "))
        }
        try await withWorker([Ordered()], configure: { $0.queues = ["default": 8] }) { database, queue in
            try await queue.enqueue(all: (1...40).map { _ in Ordered.Step() })
            #expect(try await database.becomes("count(*) = 40 from errand.history"))
            #expect(
                try await database.count(
                    """
                    from (
                        select
                            started_at < lag(finished_at) over (order by id) as is_beside
                        from errand.history
                    ) as one
                    where is_beside
                    """) == 0)
            #expect(
                try await database.text("select order_key, if_head_fails from errand.kinds where kind = 'ordered_step'")
                    == "steps|go_on")
        }
    }
}

private struct Ordered: JobHandler {
    struct Step: Job {
        static let kind: JobKind = "ordered_step"
        static let policy = JobPolicy(order: OrderPolicy(by: "steps", ifHeadFails: .goOn))
    }

    func run(_ job: Step, in context: JobContext) async throws -> Outcome { .done }
}
