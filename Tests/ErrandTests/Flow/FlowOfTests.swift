import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("errand.flow_of shows what a job waits for and what waits for it") struct FlowOfTests {
    /// The jobs that a call returns, as `distance:position in ids:state`, in its order.
    private func flow(_ call: String, _ ids: [Int64], in database: Database) async throws -> String {
        try await database.query(
            Statement(
                """
                select coalesce(string_agg(
                    format(
                        '%s:%s:%s%s', distance, array_position($1, id), state,
                        nullif('<' || array_to_string(array(select array_position($1, one) from unnest(after) as one), ','), '<')),
                    ' ' order by nth), '')
                from errand.flow_of(\(call)) with ordinality as flow(distance, id, kind, queue, state, after, nth)
                """, [ids])
        ).scalar(String.self)
    }

    @Test("a diamond with a tail is seen from each of its jobs, while it waits and once it has ended")
    func diamond() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ids = try await database.enqueueMany(
                """
                [{"kind": "noop"}, {"kind": "noop", "after_elements": [1]}, {"kind": "noop", "after_elements": [1]},
                 {"kind": "noop", "after_elements": [2, 3]}, {"kind": "noop", "after_elements": [4]}, {"kind": "noop"}]
                """)
            #expect(
                try await flow("\(ids[0])", ids, in: database)
                    == "0:1:available 1:2:parked<1 1:3:parked<1 2:4:parked<2,3 3:5:parked<4")
            #expect(
                try await flow("\(ids[3])", ids, in: database)
                    == "0:4:parked<2,3 -1:2:parked<1 -1:3:parked<1 1:5:parked<4 -2:1:available")
            #expect(try await flow("\(ids[5])", ids, in: database) == "0:6:available")
            // The half that a bound leaves has the nearest of both directions.
            #expect(try await flow("\(ids[3]), 3", ids, in: database) == "0:4:parked<3 -1:3:parked 1:5:parked<4")
            #expect(
                try await flow("\(ids[3]), within => 1", ids, in: database)
                    == "0:4:parked<2,3 -1:2:parked -1:3:parked 1:5:parked<4")
            #expect(try await flow("\(ids[3]), within => 0", ids, in: database) == "0:4:parked")
            for _ in 0..<5 { try await worker.end(worker.claim(10)) }
            #expect(
                try await flow("\(ids[0])", ids, in: database)
                    == "0:1:succeeded 1:2:succeeded<1 1:3:succeeded<1 2:4:succeeded<2,3 3:5:succeeded<4")
        }
    }

    @Test("a job that failed, one that was pruned and one that was enqueued much later are in it")
    func states() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let first = try await database.child()
            let second = try await database.child()
            try await worker.end(worker.claim(1))
            try await worker.end(worker.claim(1), as: { .failed($0, error: "x") })
            // Its id is not among the next 5,000, and it waits for its newest parent.
            try await database.execute("select setval('errand.job_id_seq', 1000000)")
            let other = try await database.child()
            let child = try await database.child(of: first, second, other)
            let ids = [first, second, other, child]
            #expect(try await flow("\(first)", ids, in: database) == "0:1:succeeded 1:4:parked<1")
            try await database.execute(Statement("delete from errand.history"))
            #expect(try await flow("\(first)", ids, in: database) == "")
            #expect(
                try await flow("\(child)", ids, in: database)
                    == "0:4:parked<1,2,3 -1:1: -1:2:failed -1:3:available")
        }
    }

    @Test("of a fan of thousands and of a long chain it returns as many as it was asked for, from both ends")
    func bounds() async throws {
        try await withTestDatabase { database, _ in
            let count = Hardness.isFull ? 5000 : 300
            let fan = try await database.enqueueMany(
                """
                [{"kind": "noop"}\(String(repeating: #", {"kind": "noop", "after_elements": [1]}"#, count: count))]
                """)
            let size = "select count(*), min(distance), max(distance) from errand.flow_of"
            #expect(try await database.text("\(size)(\(fan[0]), 201)") == "201|0|1")
            #expect(try await database.text("\(size)(\(fan[1]))") == "2|-1|0")
            let links = (1...count).map { #", {"kind": "noop", "after_elements": [\#($0)]}"# }.joined()
            let chain = try await database.enqueueMany(#"[{"kind": "noop"}\#(links)]"#)
            #expect(try await database.text("\(size)(\(chain[0]), 101)") == "101|0|100")
            #expect(try await database.text("\(size)(\(chain[count / 2]), 101)") == "101|-50|50")
            #expect(try await database.text("\(size)(\(chain[count]), 101)") == "101|-100|0")
        }
    }

    @Test("other arguments are refused, and an unknown job has no flow")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            for (call, words) in [
                ("1, 0", "up_to: expected 1 to 1000, got 0"), ("1, 1001", "up_to: expected 1 to 1000, got 1001"),
                ("1, null", "up_to: expected 1 to 1000, got null"),
                ("1, 1, -1", "within: expected a number of steps, got -1"),
            ] { await expectRefusal("select errand.flow_of(\(call))", "ER422", words, in: database) }
            let unknown = try await database.text(
                "select * from errand.flow_of(17) union all select * from errand.flow_of(null)")
            #expect(unknown == "")
        }
    }
}

@Suite("An operator sends the signal that a job waits for") struct ApprovalTests {
    @Test("it wakes the job with the payload, once, on record, and leaves jobs that wait for none as they are")
    func approves() async throws {
        try await withTestDatabase { database, _ in
            let plain = try await database.child()
            let waiting = try await database.child()
            let callback = try await database.child()
            for (id, name) in [(waiting, "approval/17"), (callback, "callback/1.1.1")] {
                _ = try await database.query(
                    Statement(
                        """
                        select errand_internal.wait_for_signal(job, jsonb_build_object('for', $2), now() + interval '1 h')
                        from errand.job
                        where id = $1
                        """, [id, name]))
            }
            #expect(
                try await database.text("select * from errand.approve_job(\(plain))") == "\(plain)|available|available")
            let call = "select was, now from errand.approve_job(\(waiting), 'it is right', '[17]')"
            #expect(try await database.text(call) == "parked|available")
            #expect(try await database.text(call) == "available|available")
            #expect(
                try await database.text("select name, payload, login = session_user from errand.signal")
                    == "approval/17|[17]|true")
            #expect(
                try await database.text("select action, reason, job_ids[1] from errand.audit")
                    == "approve|it is right|\(waiting)")
            await expectRefusal(
                "select errand.approve_job(\(callback))", "ER409", "whose endpoint is to call back", in: database)
            await expectRefusal("select errand.approve_job(-1)", "ER404", "expected a job on record", in: database)
        }
    }
}
