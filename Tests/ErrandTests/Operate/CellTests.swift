import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Cells have job ids of their own, and hand each other jobs once") struct CellTests {
    @Test("a new database becomes a cell, and gives out ids that no other cell has, below 2^53")
    func ids() async throws {
        try await withTestDatabase { database, _ in
            #expect(try await database.query("select errand.cell()").scalar(Int.self) == 0)
            #expect(try await database.query("select errand_internal.set_cell(1023)").scalar(Bool.self))
            #expect(try await !database.query("select errand_internal.set_cell(1023)").scalar(Bool.self))
            let id = try await database.query("select job_id from errand.enqueue('noop')").scalar(Int64.self)
            #expect(id == (1023 << 43) + 1)
            let row = try await database.query(
                Statement(
                    """
                    select errand.cell(), errand.cell_of($1), seqmax < 9007199254740992
                    from pg_sequence
                    where seqrelid = 'errand.job_id_seq'::regclass
                    """, [id]))[0].decode(Int.self, Int.self, Bool.self)
            #expect(row == (1023, 1023, true))
        }
    }

    @Test("a database stays the cell that it is, and the cell of its ids")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            #expect(await refusal(of: -1, by: database) == "ER422")
            #expect(await refusal(of: 1024, by: database) == "ER422")
            try await database.execute("select errand.enqueue('noop')")
            #expect(await refusal(of: 7, by: database) == "ER409")
            try await database.execute("select errand_internal.set_cell(0)")
        }
        try await withTestDatabase { database, _ in
            try await database.execute("select errand_internal.set_cell(7)")
            #expect(await refusal(of: 8, by: database) == "ER409")
        }
    }

    private func refusal(of cell: Int, by database: Database) async -> String? {
        let error = await #expect(throws: PostgresError.self) {
            try await database.execute(Statement("select errand_internal.set_cell($1::int)", [cell]))
        }
        return error?.sqlState
    }

    @Test("a batch of jobs arrives once, whichever step is repeated, with large payloads and attempts; keyed jobs stay")
    func moves() async throws {
        try await withTestDatabase { source, _ in
            try await withTestDatabase { target, _ in
                try await target.execute("select errand_internal.set_cell(1)")
                try await source.execute(
                    """
                    select errand.enqueue_many(
                        (select jsonb_agg(jsonb_build_object('kind', 'noop', 'payload', jsonb_build_object('n', n)))
                        from generate_series(1, 50) as n))
                    """)
                try await source.execute(
                    """
                    select errand.enqueue('noop', unique_key => 'stays'), errand.enqueue('noop', limit_key => 'stays'),
                        errand.enqueue('noop', jsonb_build_object('text', (
                            select string_agg(md5(n::text), '') from generate_series(1, 200) as n))),
                        errand.enqueue('noop', run_at => now() + interval '1 hour', tags => '{later, "two words"}',
                            subject => 'anna')
                    """)
                try await source.execute(
                    #"update errand.job set attempt = 3, attempts = '[{"error": "a \"b\""}]'"#)
                let content = """
                    select md5(string_agg(
                        concat(id, kind, state, payload, attempt, attempts, tags, subject), '' order by id))
                    from errand.jobs
                    where unique_key is null and limit_key is null
                    """
                let before = try await source.query(Statement(content, [])).scalar(String.self)
                let out =
                    "select jobs from errand_internal.move_out_v1('6f1b8a52-0000-4000-8000-000000000001', 1, 'default', 1)"
                #expect(try await source.query(Statement(out, [])).scalar(Int.self) == 52)
                #expect(try await source.query("select count(*) from errand.job").scalar(Int.self) == 2)
                let batch = try await source.query("select jobs from errand_internal.outgoing_v1()").scalar(String.self)
                let erasure = try await source.refusal(of: "select errand_internal.erase_subject('anna', 'x')")
                #expect(erasure == "ER409", "a job of the user is in neither cell")
                for isFirst in [true, false] {
                    let arrived = try await target.query(
                        Statement(
                            "select errand_internal.move_in_v1('6f1b8a52-0000-4000-8000-000000000001', 1, "
                                + "($1::text)::errand.moving_job[])", [batch])
                    ).scalar(Bool.self)
                    #expect(arrived == isFirst)
                }
                let done = "select errand_internal.move_done_v1('6f1b8a52-0000-4000-8000-000000000001', 1)"
                #expect(try await source.query(Statement(done, [])).scalar(Bool.self))
                #expect(try await !source.query(Statement(done, [])).scalar(Bool.self))
                #expect(try await target.query(Statement(content, [])).scalar(String.self) == before)
                let told = "select detail from errand.explain(1)"
                let detail = try await source.query(Statement(told, [])).scalar(String.self)
                #expect(detail.hasSuffix("it was moved to cell 1"))
                let waiting = "select count(*) from errand.job where state = 'available' and queue_position is not null"
                #expect(try await target.query(Statement(waiting, [])).scalar(Int.self) == 51)
            }
        }
    }
}
