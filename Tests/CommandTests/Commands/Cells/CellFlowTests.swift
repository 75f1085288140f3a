import ErrandTestKit
import Postgres
import Testing

@testable import Command

@Suite("Jobs that wait for jobs, on a front of many cells") struct CellFlowTests {
    @Test("a job goes to the cell of those that it waits for; jobs of two cells are refused")
    func flows() async throws {
        try await withFront(cells: 2) { front in
            let database = front.database
            var ids: [Int64] = []
            for cell in front.cells {
                ids.append(try await cell.query("select job_id from errand.enqueue('noop')").scalar(Int64.self))
            }
            for id in ids {
                let children = try await database.query(
                    Statement(
                        """
                        select array_agg(job_id)
                        from (
                            select job_id from errand.enqueue('noop', after => array[$1::bigint], tags => '{any}')
                            union all
                            select job_id
                            from errand.enqueue_many(jsonb_build_array(
                                jsonb_build_object('kind', 'noop', 'tags', '["any"]'::jsonb),
                                jsonb_build_object('kind', 'noop', 'after', array[$1], 'after_elements', '[1]'::jsonb)))
                        ) as added
                        """, [id])
                ).scalar([Int64].self)
                #expect(children.count == 3 && children.allSatisfy { $0 >> 43 == id >> 43 })
            }
            for call in [
                "errand.enqueue('noop', after => '{\(ids[0]),\(ids[1])}')",
                "errand.enqueue_many('[{\"kind\": \"noop\", \"after\": [\(ids[0]), \(ids[1])]}]')",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.query(Statement("select \(call)"))
                }
                #expect(error?.sqlState == "ER422" && error?.detail.contains("one cell") == true, "\(call)")
            }
        }
    }

    @Test("jobs of a batch go to its cell, whatever their tags; those of two cells are refused")
    func batches() async throws {
        try await withFront(cells: 2) { front in
            let database = front.database
            var ids: [Int64] = []
            for cell in front.cells.prefix(2) {
                ids.append(try await cell.query("select errand.batch_open('b')").scalar(Int64.self))
            }
            for id in ids {
                let jobs = try await database.query(
                    Statement(
                        """
                        select array_agg(job_id)
                        from (
                            select job_id from errand.enqueue('noop', batch => $1, tags => '{any}')
                            union all
                            select job_id
                            from errand.enqueue_many(jsonb_build_array(
                                jsonb_build_object('kind', 'noop', 'tags', '["any"]'::jsonb, 'batch', $1),
                                jsonb_build_object('kind', 'noop', 'batch', $1)))
                        ) as added
                        """, [id])
                ).scalar([Int64].self)
                #expect(jobs.count == 3 && jobs.allSatisfy { $0 >> 43 == id >> 43 })
                #expect(try await database.query(Statement("select errand.batch_close($1)", [id])).scalar(Bool.self))
                let total = try await database.query(
                    Statement("select total from errand.batch_status($1)", [id])
                ).scalar(Int64.self)
                #expect(total == 3)
                let cancel = Statement("select errand.batch_cancel($1, 'x')", [id])
                #expect(try await database.query(cancel).scalar(Int64.self) == 3)
            }
            #expect(try await database.query("select count(*) from errand.batches").scalar(Int64.self) == 2)
            for call in [
                "errand.enqueue('noop', batch => \(ids[0]), after => '{\(ids[1])}')",
                "errand.enqueue_many('[{\"kind\": \"noop\", \"batch\": \(ids[0])}, {\"kind\": \"noop\", \"batch\": \(ids[1])}]')",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.query(Statement("select \(call)"))
                }
                #expect(error?.sqlState == "ER422" && error?.detail.contains("of one cell") == true, "\(call)")
            }
        }
    }

    @Test("jobs of an order key go to one cell, whatever their tags and limits; a unique key of another is refused")
    func ordered() async throws {
        try await withFront(cells: 2) { front in
            let database = front.database
            for key in ["a", "b", "c", "d"] {
                let ids = try await database.query(
                    Statement(
                        """
                        select array_agg(job_id)
                        from (
                            select job_id from errand.enqueue('noop', order_key => $1, tags => '{x}', limit_key => 'y')
                            union all
                            select job_id
                            from errand.enqueue_many(jsonb_build_array(
                                jsonb_build_object('kind', 'noop', 'order_key', $1, 'tags', '["z"]'::jsonb),
                                jsonb_build_object('kind', 'noop', 'order_key', $1)))
                        ) as added
                        """, [key])
                ).scalar([Int64].self)
                #expect(ids.count == 3 && Set(ids.map { $0 >> 43 }).count == 1, "\(key)")
            }
            var refused = 0
            for key in 1...16 {
                for call in [
                    "errand.enqueue('noop', order_key => 'a', unique_key => '\(key)')",
                    "errand.enqueue_many('[{\"kind\": \"noop\", \"order_key\": \"a\", \"unique_key\": \"\(key)\"}]')",
                ] {
                    do {
                        try await database.execute(Statement("select * from \(call)"))
                    } catch let error as PostgresError {
                        #expect(
                            error.sqlState == "ER422" && error.detail.contains("order_key: expected one of the cell"))
                        refused += 1
                    }
                }
            }
            // Half of the keys are of the other cell.
            #expect(refused > 0 && refused < 32 && refused % 2 == 0)
            let ordered = try await database.query(
                "select count(*) from errand.jobs where options ->> 'order_key' = 'a'"
            ).scalar(Int64.self)
            let blocked = try await database.query("select count(*) from errand.blocked_keys").scalar(Int64.self)
            #expect(ordered >= 3 && blocked == 0)
        }
    }
}
