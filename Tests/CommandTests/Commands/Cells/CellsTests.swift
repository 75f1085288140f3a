import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

/// PL/Proxy opens connections of its own, so these tests bypass a pooler.
@Suite("errand cells") struct CellsTests {
    @Test("a front has the functions and views of a cell: arguments, results, columns, comments and rights")
    func catalog() async throws {
        try await withFront(cells: 1) { front in
            let functions = """
                select format('%s(%s) %s: %s [%s]', proname, pg_get_function_arguments(oid),
                    pg_get_function_result(oid), obj_description(oid, 'pg_proc'), (
                        select string_agg(role, ' ') from unnest('{enqueuer,monitor,ops}'::text[]) as role
                        where has_function_privilege('errand_' || role, pg_proc.oid, 'execute'))) as object
                from pg_proc
                where pronamespace = 'errand'::regnamespace
                    and (proname !~ '_v\\d+$' or proname = 'enqueue_payloads_v1')
                    and exists (select from unnest('{enqueuer,monitor,ops}'::text[]) as role
                        where has_function_privilege('errand_' || role, pg_proc.oid, 'execute'))
                """
            let views = """
                select format('%s.%s %s: %s, %s [%s]', relname, attname, format_type(atttypid, atttypmod),
                    obj_description(class.oid, 'pg_class'), col_description(class.oid, attnum), (
                        select string_agg(role, ' ') from unnest('{enqueuer,monitor,ops}'::text[]) as role
                        where has_table_privilege('errand_' || role, class.oid, 'select')))
                from pg_class as class
                join pg_attribute on attrelid = class.oid and attnum > 0 and not attisdropped
                where relnamespace = 'errand'::regnamespace and relkind in ('r', 'v')
                    and relname not in ('migration', 'script', 'upgrade')
                    and has_table_privilege('errand_ops', class.oid, 'select')
                    and not (attname = 'cell' and attnum > 1)
                """
            let all = "select object from (\(functions) union all \(views)) as either order by object collate \"C\""
            let expected = try await front.cells[0].query(Statement(all, [])).column(0, as: String.self)
            let made = try await front.database.query(Statement(all, [])).column(0, as: String.self)
            #expect(Set(expected).subtracting(made) == [])
            #expect(Set(made).subtracting(expected) == [])
            #expect(made.count == expected.count && made.count > 200)
        }
    }

    @Test("a public function without a rule for the front stops its generation, with its name")
    func unruled() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("create function errand.newcomer() returns int language sql as 'select 1'")
            try await database.execute("insert into errand.app (name) values ('probe')")
            try await database.execute("create schema probe")
            try await database.execute(
                """
                create function probe.rights() returns table (role text, what text, names text) language sql
                as $$ values ('errand_ops', 'function', 'errand.newcomer') $$
                """)
            let error = await #expect(throws: PostgresError.self) {
                try await database.query("select errand.front_script()")
            }
            #expect(error?.sqlState == "ER404" && error?.detail.contains("got none for errand.newcomer") == true)
        }
    }

    @Test("enqueues go by key; ids, filters and views reach all cells, and results keep the order of the call")
    func routes() async throws {
        try await withFront(cells: 3) { front in
            let database = front.database
            let many = """
                select array_agg(job_id order by ordinal), bool_and(inserted), array_agg(ordinal) = array(
                    select i from generate_series(1, 60) as i)
                from errand.enqueue_many((
                    select jsonb_agg(jsonb_build_object('kind', 'noop', 'unique_key', 'key ' || i))
                    from generate_series(1, 60) as i))
                """
            let (ids, inserted, inOrder) = try await database.query(Statement(many, []))[0].decode(
                [Int64].self, Bool.self, Bool.self)
            #expect(inserted && inOrder && Set(ids.map { $0 >> 43 }) == [0, 1, 2])
            let again = try await database.query(Statement(many, []))[0].decode([Int64].self, Bool.self, Bool.self)
            #expect(again == (ids, false, true))
            let one = "select job_id from errand.enqueue('noop', unique_key => 'key 17')"
            #expect(try await database.query(Statement(one, [])).scalar(Int64.self) == ids[16])

            let waiting = "select sum(waiting)::bigint from errand.queue_status"
            #expect(try await database.query(Statement(waiting, [])).scalar(Int.self) == 60)
            let seen = "select array_agg(id order by id), count(distinct cell) from errand.job_status"
            let (shown, cells) = try await database.query(Statement(seen, []))[0].decode([Int64].self, Int.self)
            #expect(shown == ids.sorted() && cells == 3)
            for call in ["errand.cancel($1, 'a try')", "errand.retry($1)"] {
                let changed = Statement("select count(*) from \(call) where now is distinct from was", [ids])
                #expect(try await database.query(changed).scalar(Int.self) == 60)
            }
            for id in [ids[0], ids[1], ids[2]] {
                let state = Statement("select errand.state_of($1), code from errand.explain($1)", [id])
                let found = try await database.query(state)[0].decode(String.self, String.self)
                #expect(found == ("available", "no_worker"))
            }
            let filtered = "select count(*) from errand.cancel_where('{\"queue\": \"default\"}', 'x', false)"
            #expect(try await database.query(Statement(filtered, [])).scalar(Int.self) == 60)

            try await database.execute("select errand.schedule_put('nightly', '0 3 * * *', 'noop')")
            try await database.execute("select errand.schedule_pause('nightly', 'a try')")
            let paused = "select count(*) from errand.schedule_status where name = 'nightly' and paused_at is not null"
            #expect(try await database.query(Statement(paused, [])).scalar(Int.self) == 1)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.drain_worker(1, 'x')")
            }
            #expect(error?.sqlState == "ER422", "a worker's id alone names no worker")
        }
    }

    @Test("a cell is added, and keys of unfinished jobs stay unique; it is drained, its jobs are moved, and it goes")
    func growth() async throws {
        try await withFront(cells: 2) { front in
            let database = front.database
            let keys = """
                select array_agg(job_id order by i)
                from generate_series(1, 40) as i
                cross join lateral errand.enqueue('noop', unique_key => 'key ' || i)
                """
            let ids = try await database.query(Statement(keys, [])).scalar([Int64].self)
            try await front.add(cell: 2)
            #expect(try await database.query(Statement(keys, [])).scalar([Int64].self) == ids)
            let active = try await front.run(["cells", "list", "--json"])
            #expect(active.output.components(separatedBy: "\"state\":\"active\"").count == 4)

            try await database.execute(Statement("select errand.cancel($1, 'x')", [ids]))
            let spread = """
                select count(distinct errand.cell_of(job_id))
                from generate_series(1, 200) as i
                cross join lateral errand.enqueue('noop', queue => 'bulk', tags => array[i::text])
                """
            #expect(try await database.query(Statement(spread, [])).scalar(Int.self) == 3)
            #expect(try await front.run(["cells", "drain", "1"]).code == 0)
            #expect(try await front.run(["cells", "drop", "1"]).code == 1, "it still has jobs")
            let moved = try await front.run(["cells", "move", "bulk", "1", "2", "--batch", "7"])
            #expect(moved.code == 0 && moved.output.hasSuffix("jobs of bulk from cell 1 to cell 2\n"))
            let all = "select array_agg(id order by id), count(distinct id) from errand.job_status where queue = 'bulk'"
            let (bulk, distinct) = try await database.query(Statement(all, []))[0].decode([Int64].self, Int.self)
            #expect(bulk.count == 200 && distinct == 200)
            let follow = Statement("select count(*) from errand.cancel($1, 'x') where now = 'cancelled'", [bulk])
            #expect(try await database.query(follow).scalar(Int.self) == 200, "a moved job is found by its id")
            #expect(try await front.run(["cells", "drop", "1"]).code == 0)
            try await database.execute(Statement("select errand.retry($1)", [bulk]))
            #expect(try await database.query(Statement(all, []))[0].decode([Int64].self, Int.self) == (bulk, 200))
        }
    }

    @Test("an enqueue of a unique key keeps the routes until its transaction ends, and no wait is without a bound")
    func bounded() async throws {
        try await withFront(cells: 1) { front in
            try await front.database.transaction { transaction in
                try await transaction.execute("select errand.enqueue('noop', unique_key => 'one')")
                try await front.database.execute("select errand.enqueue('noop', unique_key => 'two')")
                let error = await #expect(throws: PostgresError.self) {
                    try await front.database.transaction { other in
                        try await other.execute(
                            "lock table errand_front.routes_lock in share row exclusive mode nowait")
                    }
                }
                #expect(error?.sqlState == "55P03")
            }
            let unbounded = """
                select proname::text
                from pg_proc
                where pronamespace = 'errand_front'::regnamespace and prosrc ~ 'routes_lock in|for no key update'
                    and array_to_string(proconfig, ' ') !~ 'lock_timeout=[1-9]'
                """
            #expect(try await front.database.query(Statement(unbounded, [])).column(0, as: String.self) == [])
        }
    }

    @Test("a cell that is down is left out of views with a warning, and no error shows a password")
    func down() async throws {
        try await withFront(cells: 1) { front in
            try await front.database.execute("select errand.enqueue('noop')")
            try await front.database.execute("select errand_front.put_cell(9, 'host=/nowhere dbname=gone')")
            #expect(try await front.database.query("select waiting from errand.queue_status").scalar(Int.self) == 1)
            let status = "select cell from errand_front.cell_status where not is_reachable"
            #expect(try await front.database.query(Statement(status, [])).column(0, as: Int.self) == [9])
            for call in [
                "select errand_front.map_login('no one', 'someone', 'se''cret')",
                "select errand_front.put_cell(3, 'host=/x user=me password=se''cret')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await front.database.execute(Statement(call, []))
                }
                #expect(error?.sqlState == "ER422" && error.map { "\($0) \($0.detail)".contains("cret") } == false)
            }
            let cell = try front.url(of: front.configurations[0]) + "&password=se%27cret%20word"
            let login = try await front.run(["cells", "login", "nobody here"], cell: cell)
            #expect(login.code == 1 && !(login.output + login.errors).contains("cret"))
        }
    }
}
