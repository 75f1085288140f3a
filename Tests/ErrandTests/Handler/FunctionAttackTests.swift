import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Attacks by SQL functions that handle jobs") struct FunctionAttackTests {
    @Test("a function that could act with more than its owner's rights, or isn't one's own, is refused")
    func refused() async throws {
        try await withFunctionApp { app, database in
            let safe = "security definer set search_path = pg_catalog, pg_temp"
            try await app.create("invoker", as: "set search_path = pg_catalog", "null;")
            try await app.create("open", as: "security definer", "null;")
            try await app.create("ours", as: safe, "null;")
            try await database.execute(
                Statement("create function \(app.name).text(jsonb, jsonb) returns text \(safe) language sql return 'x'")
            )
            try await app.create("super", as: safe, "null;")
            try await database.execute(Statement("alter function \(app.name).super owner to current_user"))
            try await database.execute(Statement("create role \(app.name)_other in role errand_enqueuer"))
            try await database.execute(Statement("grant usage on schema \(app.name) to \(app.name)_other"))
            let other = FunctionApp(database: database, name: "\(app.name)_other")
            for (function, problem) in [
                ("\(app.name).invoker", "expected a security definer function, got a security invoker one"),
                ("\(app.name).open", "expected a function that sets its search_path, got one without"),
                ("\(app.name).text", "expected a function that returns errand.outcome, got text"),
                ("\(app.name).none", "expected a function with the arguments (jsonb, jsonb), got '\(app.name).none'"),
                (
                    "a b; drop table errand.job",
                    "expected a function with the arguments (jsonb, jsonb), got 'a b; drop table errand.job'"
                ),
                ("\(app.name).super", "expected a function that no superuser owns, got one of "),
            ] {
                let message = await refusal { try await app.act("select errand.put_handler('k', '\(function)')") }
                #expect(
                    message?.contains("put_handler: function: \(problem)") == true, "\(function): \(message ?? "none")")
            }
            let message = await refusal { try await other.act("select errand.put_handler('k', '\(app.name).ours')") }
            #expect(
                message?.contains(
                    "expected a function whose owner \(other.name) is or belongs to, got one of \(app.name)") == true,
                "\(message ?? "none")")
            #expect(try await database.count("from errand.handler where registered_by is not null") == 0)
            try await database.execute(Statement("drop owned by \(other.name)"))
            try await database.execute(Statement("drop role \(other.name)"))
        }
    }

    @Test("the kind of another login stays its own")
    func otherKind() async throws {
        try await withFunctionApp { app, database in
            try await app.create("ours", "null;")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.kind where name = 'noop')")
            }
            let message = await refusal { try await app.act("select errand.put_handler('noop', '\(app.name).ours')") }
            #expect(
                message?.contains("put_handler: kind noop: expected one of \(app.name), got one of ") == true,
                "\(message ?? "none")")
        }
    }

    @Test("rights are checked at each call: a function that has lost them runs no more")
    func lostRights() async throws {
        try await withFunctionApp { app, database in
            try await app.handle("write", "insert into \(app.name).effect values (1);")
            try await app.act("alter function \(app.name).write security invoker")
            try await app.act("select errand.enqueue('write', max_attempts => 1)")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "exists (select from errand.failed)")
            }
            #expect(
                try await database.text("select error from errand.failed")
                    == "expected a security definer function, got a security invoker one (42501)")
            #expect(
                try await database.text("select problem from errand.handlers where kind = 'write'")
                    == "expected a security definer function, got a security invoker one")
            #expect(try await database.count("from \(app.name).effect") == 0)
        }
    }

    /// What runs at the commit would run with the rights of the worker, which is a superuser here.
    @Test(
        "nothing runs with the rights of the worker",
        arguments: [
            // A trigger that the function defers itself.
            (
                """
                execute 'create function steal() returns trigger language plpgsql as $t$ begin
                    create table public.stolen as select * from errand.job; return null; end $t$';
                execute 'create table bait (n int)';
                execute 'create constraint trigger late after insert on bait deferrable for each row execute function steal()';
                set constraints all deferred;
                execute 'insert into bait values (1)';
                """, "got the deferrable trigger late of "
            ),
            // The query of a cursor with hold.
            (
                """
                execute 'create function steal() returns int language plpgsql as $t$ begin
                    create table public.stolen as select * from errand.job; return 1; end $t$';
                execute 'declare late cursor with hold for select steal()';
                """, "got the cursor late with hold"
            ),
            // An exclusion constraint whose expression is computed again at the commit.
            (
                """
                execute 'create function steal(n int) returns int immutable language plpgsql as $t$ begin
                    if current_user <> ''APP'' then create table public.stolen as select * from errand.job; end if;
                    return n; end $t$';
                execute 'create table bait (n int, exclude using btree (steal(n) with =) deferrable initially deferred)';
                execute 'insert into bait values (1), (1)';
                """, "got the deferrable exclusion constraint "
            ),
            ("perform set_config('role', 'none', false);", "cannot set parameter"),
            ("execute 'set session authorization default';", "cannot set parameter"),
            ("perform count(*) from errand.job;", "permission denied for table job"),
            ("perform errand_internal.lock_claims();", "permission denied for function lock_claims"),
        ])
    func workersRights(attack: String, problem: String) async throws {
        try await withFunctionApp { app, database in
            try await app.create(
                "attack", as: "security definer set search_path = \(app.name), pg_temp",
                attack.replacing("APP", with: app.name) + "insert into \(app.name).effect values ('done');")
            try await app.act("select errand.put_handler('attack', '\(app.name).attack')")
            try await app.act("select errand.enqueue('attack', max_attempts => 1)")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "not exists (select from errand.job)")
            }
            #expect(try await database.count("from pg_class where relname = 'stolen'") == 0)
            let error = try await database.text("select error from errand.failed")
            #expect(error.contains(problem) && error.hasSuffix(" (42501)"), "\(error)")
            #expect(try await database.count("from \(app.name).effect") == 0)
        }
    }

    @Test("a search path that a function sets for its session finds nothing in the caller, which has more rights")
    func searchPath() async throws {
        try await withFunctionApp { app, database in
            // Each name that the caller uses after the call, and may find here.
            let name = app.name
            for (signature, result) in [
                ("pg_advisory_unlock_all()", "void"), ("pg_sleep(double precision)", "void"),
                ("random()", "double precision"), ("now()", "timestamptz"),
                ("clock_timestamp()", "timestamptz"), ("current_setting(text)", "text"),
            ] {
                try await app.act(
                    """
                    create function \(name).\(signature) returns \(result) language plpgsql as $f$
                    begin
                        if current_user <> '\(name)' then
                            create table public.stolen as select * from errand.job;
                        end if;
                        return\(result == "void" ? "" : " null");
                    end
                    $f$
                    """)
            }
            try await app.act(
                """
                create function \(name).same(a text, b text) returns boolean language plpgsql as $f$
                begin
                    if current_user <> '\(name)' then
                        create table public.stolen as select * from errand.job;
                    end if;
                    return a operator(pg_catalog.=) b;
                end
                $f$
                """)
            try await app.act("create operator \(name).= (leftarg = text, rightarg = text, function = \(name).same)")
            try await app.handle(
                "attack",
                """
                insert into \(name).effect values ('done');
                perform set_config('search_path', '\(name), pg_catalog', false);
                """)
            try await app.act("select errand.enqueue('attack')")
            try await withFunctionWorker(of: database) {
                try await database.waits(for: "not exists (select from errand.job)")
            }
            #expect(try await database.count("from pg_class where relname = 'stolen'") == 0)
            #expect(try await database.text("select state from errand.history") == "succeeded")
        }
    }

    @Test("what a function sets for its session is over with its transaction, as a pooler in transaction mode needs")
    func settings() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "leave",
                "perform set_config('search_path', '\(app.name)', false), set_config('work_mem', '77MB', false);")
            let worker = try await ManualWorker(database)
            try await app.act("select errand.enqueue('leave')")
            let job = try #require(try await worker.claim(1, kinds: ["leave"]).first)
            try await database.withConnection { connection in
                let settings = Statement("select current_setting('search_path') || current_setting('work_mem')", [])
                let before = try await connection.query(settings).scalar(String.self)
                let state = try await connection.query(
                    Statement(
                        "select state from errand_internal.run_handler_v1($1, $2, $3)",
                        [job.workerID, job.id, job.position])
                ).scalar(String.self)
                let after = try await connection.query(settings).scalar(String.self)
                #expect(state == "completed" && after == before)
            }
        }
    }

    @Test("nothing that a function leaves in its session reaches the next one")
    func session() async throws {
        try await withFunctionApp { app, database in
            try await app.handle(
                "leave",
                """
                execute 'create temp table job (id int)';
                execute 'create function pg_temp.now() returns timestamptz language sql as ''select null::timestamptz''';
                perform set_config('search_path', 'pg_temp', false), set_config('work_mem', '77MB', false),
                    pg_advisory_lock(4711);
                listen errand_wake;
                """)
            try await app.handle(
                "find",
                """
                return errand.outcome_done(jsonb_build_array(
                    current_setting('work_mem') = '77MB', to_regclass('pg_temp.job'), to_regprocedure('pg_temp.now()'),
                    (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
                    (select count(*) from pg_listening_channels())));
                """)
            try await withFunctionWorker(of: database, connections: 1) {
                try await app.act("select errand.enqueue('leave')")
                try await database.waits(for: "not exists (select from errand.job)")
                try await app.act("select errand.enqueue('find')")
                try await database.waits(for: "not exists (select from errand.job)")
                let isFree = try await database.query("select pg_try_advisory_lock(4711)").scalar(Bool.self)
                #expect(isFree)
            }
            #expect(
                try await database.text("select string_agg(kind || ' ' || state, ' ' order by id) from errand.history")
                    == "leave succeeded find succeeded")
            #expect(
                try await database.text("select output from errand.history where kind = 'find'")
                    == "[false, null, null, 0, 0]")
        }
    }

    /// The message of the server's error; nil if there is none.
    private func refusal(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return "\(error)"
        }
    }
}
