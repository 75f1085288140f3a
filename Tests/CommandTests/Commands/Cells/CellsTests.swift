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
                    -- What a handler returns: handlers run on a cell.
                    and proname !~ '^outcome_'
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
            try await database.execute(
                "insert into errand.declaration values ('probe', 'errand.newcomer', false, '{ops}', '{}')")
            let error = await #expect(throws: PostgresError.self) {
                try await database.query("select errand_internal.front_script()")
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

            let waiting = "select sum(waiting)::bigint from errand.queues"
            #expect(try await database.query(Statement(waiting, [])).scalar(Int.self) == 60)
            let seen = "select array_agg(id order by id), count(distinct cell) from errand.jobs"
            let (shown, cells) = try await database.query(Statement(seen, []))[0].decode([Int64].self, Int.self)
            #expect(shown == ids.sorted() && cells == 3)
            for call in ["errand.cancel($1, 'a try')", "errand.retry($1)"] {
                let changed = Statement("select count(*) from \(call) where now is distinct from was", [ids])
                #expect(try await database.query(changed).scalar(Int.self) == 60)
            }
            for id in [ids[0], ids[1], ids[2]] {
                let state = Statement(
                    "select (select state from errand.jobs where id = $1), code from errand.explain($1)", [id])
                let found = try await database.query(state)[0].decode(String.self, String.self)
                #expect(found == ("available", "no_worker"))
            }
            let filtered = "select count(*) from errand.cancel_where('{\"queue\": \"default\"}', 'x', false)"
            #expect(try await database.query(Statement(filtered, [])).scalar(Int.self) == 60)

            try await database.execute("select errand.put_schedule('nightly', '0 3 * * *', 'noop')")
            try await database.execute("select errand.pause_schedule('nightly', 'a try')")
            let paused = "select count(*) from errand.schedules where name = 'nightly' and paused_at is not null"
            #expect(try await database.query(Statement(paused, [])).scalar(Int.self) == 1)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.drain_worker(1, 'x')")
            }
            #expect(error?.sqlState == "ER422", "a worker's id alone names no worker")
        }
    }

    @Test("a callback reaches the cell of its job, and a forged one is refused")
    func callbacks() async throws {
        try await withFront(cells: 2) { front in
            for cell in front.cells[0...1] {
                try await cell.execute("select errand.enqueue('noop')")
                let token = try await cell.query(
                    """
                    select attempt || '.' || errand_internal.callback_mac(attempt)
                    from (select id || '.1.' || queue_position from errand.job) as running(attempt)
                    """
                ).scalar(String.self)
                let call = Statement("select errand.callback($1, '7')", [token])
                #expect(try await front.database.query(call).scalar(Bool.self))
                #expect(try await cell.query("select count(*) from errand.signal").scalar(Int.self) == 1)
                for forged in ["1\(token)", "none", ".1.1"] {
                    let error = await #expect(throws: PostgresError.self) {
                        try await front.database.query(Statement("select errand.callback($1, '7')", [forged]))
                    }
                    #expect(error?.sqlState == "ER404")
                }
            }
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
            let all = "select array_agg(id order by id), count(distinct id) from errand.jobs where queue = 'bulk'"
            let (bulk, distinct) = try await database.query(Statement(all, []))[0].decode([Int64].self, Int.self)
            #expect(bulk.count == 200 && distinct == 200)
            let follow = Statement("select count(*) from errand.cancel($1, 'x') where now = 'cancelled'", [bulk])
            #expect(try await database.query(follow).scalar(Int.self) == 200, "a moved job is found by its id")
            #expect(try await front.run(["cells", "drop", "1"]).code == 0)
            try await database.execute(Statement("select errand.retry($1)", [bulk]))
            #expect(try await database.query(Statement(all, []))[0].decode([Int64].self, Int.self) == (bulk, 200))
        }
    }

    @Test("each role may do at the front what it may do on a cell, and nothing with the servers of the cells")
    func roles() async throws {
        try await withFront(cells: 1) { front in
            let catalog = """
                with role(name) as (values ('enqueuer'), ('monitor'), ('ops'), ('worker')),
                object(kind, name, oid, is_own) as (
                    select 'function', proname, oid, obj_description(oid, 'pg_proc') is not null
                    from pg_proc where pronamespace = 'errand_front'::regnamespace
                    union all
                    select 'table', relname, oid, true
                    from pg_class where relnamespace = 'errand_front'::regnamespace and relkind in ('r', 'v')
                    union all
                    select 'server', srvname, oid, true from pg_foreign_server
                    union all
                    select 'wrapper', fdwname, oid, true from pg_foreign_data_wrapper
                    union all
                    select 'schema', nspname, oid, true from pg_namespace where nspname = 'errand_front'
                ),
                allowed as (
                    select object.kind, object.name, role.name as role, case kind
                        when 'function' then has_function_privilege('errand_' || role.name, oid, 'execute')
                        when 'table' then has_table_privilege('errand_' || role.name, oid, 'select')
                        when 'server' then has_server_privilege('errand_' || role.name, oid, 'usage')
                        when 'wrapper' then has_foreign_data_wrapper_privilege('errand_' || role.name, oid, 'usage')
                        when 'schema' then has_schema_privilege('errand_' || role.name, oid, 'usage')
                    end as is_allowed
                    from object cross join role
                    where is_own
                )
                select format('%s %s: %s', kind, name, string_agg(role, ' ' order by role))
                from allowed where is_allowed
                group by kind, name
                """
            let lines = try await front.database.query(Statement(catalog, [])).column(0, as: String.self)
            #expect(Set(lines) == Set(Self.rights.split(separator: "\n").map(String.init)))
            // What front_script makes: a helper is for those who may call its function or read its view.
            let loose = """
                select format('%s: %s', helper.proname, role)
                from pg_proc as helper
                cross join unnest('{enqueuer,monitor,ops,worker}'::text[]) as role
                cross join lateral regexp_replace(helper.proname, '_(on_all|at|rows|split)$', '') as public
                where helper.pronamespace = 'errand_front'::regnamespace and obj_description(helper.oid) is null
                    and has_function_privilege('errand_' || role, helper.oid, 'execute')
                    and not exists (
                        select from pg_proc
                        where pronamespace = 'errand'::regnamespace and proname = public
                            and has_function_privilege('errand_' || role, oid, 'execute'))
                    and not exists (
                        select from pg_class
                        where relnamespace = 'errand'::regnamespace and relname = public
                            and has_table_privilege('errand_' || role, oid, 'select'))
                """
            #expect(try await front.database.query(Statement(loose, [])).column(0, as: String.self) == [])
            let writable = """
                select relname::text
                from pg_class cross join unnest('{enqueuer,monitor,ops,worker}'::text[]) as role
                where relnamespace in ('errand'::regnamespace, 'errand_front'::regnamespace)
                    and relkind in ('r', 'v')
                    and has_table_privilege(
                        'errand_' || role, oid, 'insert, update, delete, truncate, references, trigger')
                """
            #expect(try await front.database.query(Statement(writable, [])).column(0, as: String.self) == [])
        }
    }

    private static let rights = """
        function chosen_partition: enqueuer monitor ops worker
        function enqueue_parts: enqueuer ops worker
        function enqueue_split: enqueuer ops worker
        function holders_on_all: monitor ops
        function loads: monitor ops
        function loads_at: monitor ops
        function loads_on_all: monitor ops
        function lock_slot: enqueuer ops worker
        function moved_to_at: monitor ops
        function partition_of: enqueuer monitor ops worker
        function partition_of_schedule: monitor ops
        function partitions_of_ids: monitor ops
        function route: enqueuer monitor ops worker
        function schedule_on_all: monitor ops
        function share_routes: enqueuer ops worker
        function taken_keys_at: enqueuer ops worker
        schema errand_front: enqueuer monitor ops worker
        table cell: enqueuer monitor ops worker
        table cell_status: monitor ops
        table slot: enqueuer monitor ops worker
        """

    @Test("no login maps itself to another's user, reads a password, or holds up enqueues of unique keys")
    func attacks() async throws {
        try await withFront(cells: 1) { front in
            let number = UInt32.random(in: 0...UInt32.max)
            let logins = ["enqueuer", "monitor", "ops", "worker"].map { ($0, "errand_test_\($0)_\(number)") }
            for (role, login) in logins {
                try await front.database.execute(Statement("create role \(login) login in role errand_\(role)"))
            }
            do {
                for (role, login) in logins { try await attack(front, role, login) }
            } catch {
                for (_, login) in logins { try await front.database.execute(Statement("drop role \(login)")) }
                throw error
            }
            for (_, login) in logins { try await front.database.execute(Statement("drop role \(login)")) }
        }
    }

    private func attack(_ front: Front, _ role: String, _ login: String) async throws {
        let database = front.database
        /// The SQLSTATE with which a call is refused to the login; nil if it isn't.
        func refusal(_ call: String) async throws -> String? {
            do {
                try await database.transaction { transaction in
                    try await transaction.execute(Statement("set local session authorization \(login)"))
                    try await transaction.execute(Statement(call))
                }
                return nil
            } catch let error as PostgresError {
                return error.sqlState
            }
        }
        let reads = ["monitor", "ops"].contains(role)
        let read = reads ? "table errand.queues" : "select errand.enqueue('noop')"
        #expect(try await refusal(read) == "42501", "\(role) has no user on the cells")
        let user = try #require(front.configurations[0].user)
        try await database.execute(Statement("select errand_front.map_login($1, $2, 'se''cret')", [login, user]))
        #expect(try await refusal(read) == nil, "\(role)")
        let servers = try await database.query("select srvname::text from pg_foreign_server").column(0, as: String.self)
        #expect(servers.count >= 2)
        for server in servers {
            for who in ["current_user", "public"] {
                for change in [
                    "create user mapping for \(who) server \(server) options (user 'other')",
                    "alter user mapping for \(who) server \(server) options (set user 'other')",
                    "drop user mapping for \(who) server \(server)",
                ] {
                    #expect(try await refusal(change) != nil, "\(role): \(change)")
                }
            }
        }
        let seen = "select 1 / (count(umoptions) = 0)::int from pg_user_mappings"
        #expect(try await refusal(seen) == nil, "\(role) reads the user or the password of a mapping")
        for mode in ["access share", "share row exclusive"] {
            let lock = "lock table errand_front.routes_lock in \(mode) mode"
            #expect(try await refusal(lock) == "42501", "\(role)")
        }
        #expect(try await refusal("select from errand_front.slot for update") == "42501", "\(role)")
        // Whatever advisory lock a login holds, nobody waits for it.
        try await database.transaction { transaction in
            try await transaction.execute(Statement("set local session authorization \(login)"))
            try await transaction.execute(
                """
                select pg_advisory_xact_lock(hashtextextended(name, 0))
                from unnest('{errand routes,errand key}'::text[]) as name
                """)
            let key = "select errand.enqueue('noop', unique_key => 'key')"
            let many = #"select errand.enqueue_many('[{"kind": "noop", "unique_key": "key"}]')"#
            for call in [key, many] { try await database.execute(Statement(call)) }
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
            #expect(try await front.database.query("select waiting from errand.queues").scalar(Int.self) == 1)
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
