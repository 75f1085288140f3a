import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("A job waits for the jobs that it comes after") struct ParentTests {
    @Test("it starts once all have succeeded, and touches nothing meanwhile")
    func waits() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let first = try await database.child()
            let second = try await database.child()
            let child = try await database.child(of: first, second, more: ", run_at => now() - interval '1 day'")
            #expect(try await database.states(first, second, child) == "available available parked")
            #expect(
                try await database.text("select waiting_for from errand.jobs where id = \(child)")
                    == "job \(second) has not succeeded")
            let jobs = try await worker.claim(3)
            #expect(jobs.map(\.id) == [first, second])
            // Only the end of the watched one, the newest, touches it.
            let version = "select ctid from errand.job where id = \(child)"
            let before = try await database.text(version)
            try await worker.end([jobs[0]])
            #expect(try await database.text(version) == before)
            try await worker.end([jobs[1]])
            #expect(try await database.states(child) == "available")
            // It is not late: it could not start before.
            #expect(try await database.text("select run_at > now() - interval '1 hour' from errand.job") == "true")
            #expect(try await worker.end(worker.claim(1)) == [])
            #expect(try await database.text("select count(*) from errand.history where attempt = 1") == "3")
        }
    }

    @Test("in any order of their ends it waits for the next, and a time that has not come is kept")
    func orders() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            var parents: [Int64] = []
            for _ in 1...5 { parents.append(try await database.child()) }
            let child = try await database.query(
                Statement(
                    "select job_id from errand.enqueue('noop', after => $1, run_at => now() + interval '1 hour')",
                    [parents + parents])
            ).scalar(Int64.self)
            var jobs = try await worker.claim(5)
            for next in [4, 0, 2, 0, 0] {
                #expect(try await database.states(child) == "parked")
                try await worker.end([jobs.remove(at: next)])
            }
            #expect(try await database.states(child) == "scheduled")
        }
    }

    @Test("jobs of one call name each other: a diamond, whose last one reads the outputs of those before it")
    func diamond() async throws {
        try await withWorker([Adder()]) { database, queue in
            let ids = try await database.enqueueMany(
                """
                [{"kind": "add", "payload": {"n": 1}}, {"kind": "add", "payload": {"n": 10}, "after_elements": [1]},
                 {"kind": "add", "payload": {"n": 100}, "after_elements": [1]},
                 {"kind": "add", "payload": {"n": 1000}, "after_elements": [2, 3], "follow": true}]
                """)
            #expect(try await queue.result(of: ids[3], as: Int.self, timeout: .seconds(30)) == 1112)
            #expect(try await database.count("from errand.history where attempt = 1") == 4)
        }
    }

    @Test("a chain ends in its order, by pushes alone")
    func chain() async throws {
        let length = Hardness.isFull ? 1000 : 40
        try await withWorker([Adder()]) { database, queue in
            let links = (1...length).map {
                "{\"kind\": \"add\", \"payload\": {\"n\": 1}, \"follow\": true\($0 > 1 ? ", \"after_elements\": [\($0 - 1)]" : "")}"
            }
            let ids = try await database.enqueueMany("[\(links.joined(separator: ","))]")
            #expect(try await queue.result(of: ids[length - 1], as: Int.self, timeout: .seconds(120)) == length)
        }
    }

    @Test("the options of an enqueue in Swift name them, of one job and of many, and a handler reads none without")
    func inSwift() async throws {
        // A job that ends beside the enqueue of those that wait for it is found by maintenance.
        try await withWorker([Adder()], configure: { $0.maintenance = true }) { database, queue in
            let first = try await queue.enqueue(Adder.Number(n: 1), .followed).id
            let others = try await queue.enqueue(
                all: [Adder.Number(n: 10), Adder.Number(n: 20)], .after([first]), .followed)
            let last = try await queue.enqueue(
                Adder.Number(n: 100), .after(others, ifParentFails: .cancel), .followed)
            #expect(try await queue.result(of: last.id, as: Int.self, timeout: .seconds(30)) == 132)
            #expect(try await queue.result(of: first, as: Int.self, timeout: .seconds(30)) == 1)
            #expect(
                try await database.text("select options - 'owner' from errand.history where id = \(last.id)")
                    == #"{"after": [\#(others[0]), \#(others[1])], "if_parent_fails": "cancel"}"#)
        }
    }

    @Test("more than 1,000 children are released in steps, the first at once")
    func fanOut() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let parent = try await database.child()
            _ = try await database.query(
                Statement(
                    """
                    select errand.enqueue_many(jsonb_agg(jsonb_build_object('kind', 'noop', 'after', array[$1::bigint])))
                    from generate_series(1, 2500)
                    """, [parent]))
            #expect(try await database.count("from errand.job where parked_for = 'job:\(parent)'") == 2500)
            try await worker.end(worker.claim(1))
            #expect(try await database.count("from errand.job where state = 'available'") == 1000)
            try await database.checkChildren()
            #expect(try await database.count("from errand.job where state = 'available'") == 2500)
            #expect(try await database.becomesAfterChecks("not exists (select from errand.flow_check)"))
        }
    }

    @Test("a released job waits on for its limit")
    func limit() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.set_limit('a', 1)")
            let parent = try await database.child()
            for _ in 1...3 { _ = try await database.child(of: parent, more: ", limit_key => 'a'") }
            try await worker.end(worker.claim(1))
            #expect(
                try await database.text("select state, count(*) from errand.job group by state order by state")
                    == "available|1\nparked|2")
            #expect(try await worker.claim(3).count == 1)
        }
    }

    @Test(
        "what can't be waited for is refused, and says why",
        arguments: [
            ("errand.enqueue('noop', after => '{4711}')", "ER404", "expected ids of jobs, got 4711"),
            ("errand.enqueue('noop', after => '{-1}')", "ER404", "got -1"),
            ("errand.enqueue('noop', after => array[1::bigint << 43])", "ER404", "got 8796093022208"),
            ("errand.enqueue('noop', after => '{1,null}')", "ER422", "expected ids of jobs, got null"),
            (
                "errand.enqueue('noop', after => array(select i from generate_series(1, 1001) as i))", "ER422",
                "expected at most 1000 jobs, got 1001"
            ),
            (
                "errand.enqueue('noop', after => '{1}', if_parent_fails => 'run')", "ER422",
                "expected wait, go_on or cancel, got 'run'"
            ),
            (
                "errand.enqueue('noop', unique_key => 'old', on_conflict => 'replace', after => '{2}')", "ER409",
                "expected jobs that are older than job 1, got job 2"
            ),
            (
                #"errand.enqueue_many('[{"kind": "noop"}, {"kind": "noop", "after_elements": [2]}]')"#, "ER422",
                "jobs[2]: after_elements: expected numbers of elements before it, got 2"
            ),
            (
                #"errand.enqueue_many('[{"kind": "noop", "after_elements": [2]}, {"kind": "noop"}]')"#, "ER422",
                "jobs[1]: after_elements: expected numbers of elements before it, got 2"
            ),
            (
                #"errand.enqueue_many('[{"kind": "noop", "after_elements": [0]}]')"#, "ER422", "got 0"
            ),
            (#"errand.enqueue_many('[{"kind": "noop", "after": "1"}]')"#, "ER422", "after: expected an array of ids"),
            (#"errand.enqueue_many('[{"kind": "noop", "after": [99]}]')"#, "ER404", "got 99"),
            (
                """
                errand.enqueue_many('[{"kind": "noop", "unique_key": "old", "on_conflict": "replace", "after": [2]}]')
                """, "ER409", "jobs[1]: after: expected jobs that are older than job 1, got job 2"
            ),
        ])
    func refused(call: String, state: String, words: String) async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.enqueue('noop', unique_key => 'old'), errand.enqueue('noop')")
            await expectRefusal("select \(call)", state, words, in: database)
            #expect(try await database.count("from errand.job") == 2)
        }
    }

    @Test("with keys and conflicts, each job waits for what its element names; one that was there stays as it is")
    func keys() async throws {
        try await withTestDatabase { database, _ in
            let old = try await database.child(more: ", unique_key => 'z'")
            let ids = try await database.enqueueMany(
                """
                [{"kind": "noop", "unique_key": "z"}, {"kind": "noop", "unique_key": "y", "after_elements": [1]},
                 {"kind": "noop", "unique_key": "x", "after_elements": [1, 2], "on_conflict": "replace"}]
                """)
            #expect(ids[0] == old && ids[1] < ids[2])
            #expect(
                try await database.text("select id, parked_for from errand.job where state = 'parked' order by id")
                    == "\(ids[1])|job:\(old)\n\(ids[2])|job:\(ids[1])")
            // An enqueue that keeps the job doesn't change what it waits for; one that replaces it does.
            _ = try await database.query(
                Statement("select errand.enqueue('noop', unique_key => 'x', after => '{\(old)}')"))
            #expect(
                try await database.text("select parked_for from errand.job where id = \(ids[2])") == "job:\(ids[1])")
            let replace = "select errand.enqueue('noop', unique_key => 'x', on_conflict => 'replace'"
            _ = try await database.query(Statement("\(replace), after => '{\(old)}')"))
            #expect(try await database.text("select parked_for from errand.job where id = \(ids[2])") == "job:\(old)")
            _ = try await database.query(Statement("\(replace))"))
            #expect(try await database.states(ids[2]) == "available")
        }
    }
}

/// Returns its own number and all that its parents have returned, which must have succeeded.
struct Adder: JobHandler {
    struct Number: Job {
        static let kind: JobKind = "add"
        let n: Int
    }

    func run(_ job: Number, in context: JobContext) async throws -> Outcome {
        let parents = try await context.parents()
        guard parents.allSatisfy({ $0.state == "succeeded" }) else { return .fail(reason: "it is too early") }
        return try .done(job.n + parents.compactMap { try $0.output(as: Int.self) }.reduce(0, +))
    }
}
