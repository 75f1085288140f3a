import AppTestKit
import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Roles have the rights that they need, and no others") struct RightsTests {
    /// What the heads of the scripts declare, in lines such as `function errand.cancel: ops`. Functions with a version
    /// in their name are for workers too. errand_monitor reads a view with hidden columns column by column.
    private static let declared = """
        with granted as (
            select
                case (select relkind from pg_class where is_view and oid = to_regclass(object))
                    when 'v' then 'view ' when 'r' then 'table ' else 'function '
                end || object as object, role
            from errand.declaration
            cross join lateral unnest(roles) as role
            where role <> 'monitor' or hidden = '{}'
            union
            select 'function ' || pronamespace::regnamespace || '.' || proname, 'worker'
            from pg_proc
            where pronamespace = any (errand_internal.namespaces()) and proname ~ '_v[0-9]+$'
            union
            select 'schema ' || nspname, role
            from pg_namespace
            cross join unnest('{enqueuer,monitor,ops,worker}'::text[]) as role
            where oid = any (errand_internal.namespaces())
        )
        select object || ': ' || string_agg(role, ' ' order by role) as line
        from granted
        group by object
        """

    /// What the catalog has: each object on which one of the four, or PUBLIC, has any right.
    private static let catalog = """
        with role as (
            select unnest('{worker,enqueuer,ops,monitor}'::text[]) as name
        ),
        allowed as (
            select 'schema ' || nspname as object, role.name as role
            from pg_namespace cross join role
            where oid = any (errand_internal.namespaces()) and has_schema_privilege('errand_' || role.name, oid, 'USAGE, CREATE')
            union all
            select case relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || relnamespace::regnamespace
                || '.' || relname, role.name
            from pg_class cross join role
            where relnamespace = any (errand_internal.namespaces()) and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
                and case relkind
                    when 'S' then has_sequence_privilege('errand_' || role.name, oid, 'USAGE, SELECT, UPDATE')
                    else has_table_privilege(
                        'errand_' || role.name, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                end
            union all
            select distinct 'function ' || pronamespace::regnamespace || '.' || proname, role.name
            from pg_proc cross join role
            where pronamespace = any (errand_internal.namespaces())
                and has_function_privilege('errand_' || role.name, oid, 'EXECUTE')
        )
        select object || ': ' || string_agg(role, ' ' order by role) as line
        from allowed
        group by object
        """

    @Test("each role has exactly the rights that the heads of the scripts declare")
    func matrix() async throws {
        try await withAppDatabase { database, _ in
            let lines = Set(try await database.text(Self.catalog).split(separator: "\n").map(String.init))
            let expected = Set(try await database.text(Self.declared).split(separator: "\n").map(String.init))
            #expect(lines.count > 150)
            #expect(lines.subtracting(expected) == [], "nobody has said that they may")
            #expect(expected.subtracting(lines) == [], "they may not")
        }
    }

    @Test(
        "an application may call nothing of the engine but what enqueues, follows its own jobs, handles jobs, signals, and says what there is"
    )
    func applications() async throws {
        try await withAppDatabase { database, _ in
            let callable = try await PublicFunction.all(of: "errand_enqueuer", in: database).map(\.name)
            #expect(
                callable.filter { $0.hasPrefix("errand.") } == [
                    "errand.batch_cancel", "errand.batch_close", "errand.batch_open", "errand.batch_retry",
                    "errand.batch_status",
                    "errand.callback", "errand.cancel_own", "errand.cell", "errand.cell_of", "errand.drop_handler",
                    "errand.drop_own_schedule", "errand.ended",
                    "errand.enqueue", "errand.enqueue_many", "errand.explain_own", "errand.help", "errand.job",
                    "errand.outcome_again", "errand.outcome_cancel", "errand.outcome_done",
                    "errand.outcome_fail", "errand.outcome_snooze", "errand.outcome_wait", "errand.own_schedules",
                    "errand.pause_own_schedule",
                    "errand.put_handler", "errand.put_http_handler", "errand.put_own_schedule",
                    "errand.resume_own_schedule",
                    "errand.schema_version", "errand.signal", "errand.sqlstate_class", "errand.wait",
                ])
        }
    }

    @Test("reading is all that anybody may do with a table")
    func tables() async throws {
        try await withAppDatabase { database, _ in
            let writing = """
                select count(*)
                from pg_class cross join unnest('{worker,enqueuer,ops,monitor}'::text[]) as role
                where relnamespace = any (errand_internal.namespaces()) and relkind in ('r', 'p', 'v')
                    and has_table_privilege('errand_' || role, oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                """
            let writable = try await database.text(writing)
            #expect(writable == "0")
        }
    }

    @Test("no role logs in or rules, PUBLIC has nothing, and errand_owner owns all, partitions too")
    func roles() async throws {
        try await withAppDatabase { database, _ in
            let ruling = """
                select count(*) from pg_roles
                where rolname ~ '^errand_(owner|worker|enqueuer|ops|monitor)$'
                    and (rolsuper or rolcreaterole or rolcreatedb or rolcanlogin or rolreplication or rolbypassrls)
                """
            let rulers = try await database.text(ruling)
            #expect(rulers == "0")
            let open = """
                select (
                    select count(*) from pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
                    where pronamespace = any (errand_internal.namespaces()) and grantee = 0
                ) + (
                    select count(*) from pg_class, aclexplode(relacl)
                    where relnamespace = any (errand_internal.namespaces()) and grantee = 0
                )
                """
            #expect(try await database.text(open) == "0")
            let foreign = """
                select relname from pg_class
                where relnamespace = any (errand_internal.namespaces()) and relkind in ('r', 'p', 'v', 'S')
                    and relowner <> 'errand_owner'::regrole
                union all
                select proname from pg_proc
                where pronamespace = any (errand_internal.namespaces()) and proowner <> 'errand_owner'::regrole
                """
            #expect(try await database.text(foreign) == "")
            #expect(try await database.text("select * from errand_internal.apply_rights()") == "")
        }
    }

    @Test(
        "each role can do its work: enqueue, run, monitor, repair", arguments: ["enqueuer", "worker", "monitor", "ops"])
    func work(role: String) async throws {
        try await withAppDatabase { database, _ in
            let calls =
                switch role {
                case "enqueuer":
                    ["select errand.enqueue('noop')", "select errand.enqueue_many('[{\"kind\": \"noop\"}]')"]
                case "worker":
                    [
                        "select errand_internal.register_worker_v1('w', '1', '20 s', '{default}', '[]')",
                        "select errand_internal.claim_v1('default', '{noop}', 1, 1, '{0,0,0,0}', '{1,2,3,4}', true)",
                        "select errand_internal.heartbeat_v1('{1}', 0, '{}', null)",
                        "select errand_internal.revoked_jobs_v1('{}', '{}')",
                        "select errand_internal.unlisted_jobs_v1(1, 0, '{}', '{}', '{}')",
                        "select errand_internal.maintain_v1(null, false)",
                        "select errand_internal.maintain_v1('statistics', true)", "select errand.maintain()",
                        "select * from errand.metrics()",
                        "select errand_internal.leave_v1(1, true)",
                    ]
                default:
                    [
                        "audit", "audit_changes", "blocked_keys", "circuits", "horizon_blockers", "kinds", "limits",
                        "maintenance_status", "overdue", "queues", "failures", "schedules", "stuck",
                        "jobs", "job_progress", "job_steps", "table_health", "workers", "health()", "metrics()",
                        "explain(1)",
                    ].map { "select * from errand.\($0)" }
                }
            for call in calls {
                #expect(try await database.refusal(of: call, as: "errand_\(role)") == nil, "\(call)")
            }
            let more = [
                "select errand.pause_queue('default', 'x')", "delete from errand.job", "create table errand.own ()",
            ]
            for call in more {
                let refused = try await database.refusal(of: call, as: "errand_\(role)")
                #expect(refused == (role == "ops" && call.hasPrefix("select") ? nil : "42501"), "\(call)")
            }
        }
    }

    @Test("an owner of only the database can migrate it; existing roles get the rights")
    func plainOwner() async throws {
        try await withAppDatabase { database, configuration in
            let name = "errand_test_plain_\(UInt32.random(in: 0...UInt32.max))"
            try await database.execute(Statement("create role \(name)"))
            try await database.execute(Statement("create database \(name) owner \(name)"))
            do {
                try await Self.migrate(configuration.with(database: name), as: name)
            } catch {
                try await database.execute(Statement("drop database \(name) with (force)"))
                try await database.execute(Statement("drop role \(name)"))
                throw error
            }
            try await database.execute(Statement("drop database \(name) with (force)"))
            try await database.execute(Statement("drop role \(name)"))
        }
    }

    private static func migrate(_ configuration: PostgresConfiguration, as role: String) async throws {
        // Directly, with the session's role.
        let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
        let connection = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
        do {
            try await connection.execute(Statement("set role \(role)"))
            try await Migrator.errand.run(on: connection)
            let lacks = try await connection.query("select errand_internal.apply_rights()").map {
                try $0.decode(String.self)
            }
            #expect(lacks.contains { $0.contains("grant errand_owner to \(role)") })
            let lines = try await connection.query(Statement("\(catalog)")).map { try $0.decode(String.self) }
            let expected = try await connection.query(Statement("\(declared)")).map { try $0.decode(String.self) }
            #expect(!expected.isEmpty && Set(lines).isSuperset(of: expected))
            try await connection.execute("select errand_internal.make_partitions()")
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }
}
