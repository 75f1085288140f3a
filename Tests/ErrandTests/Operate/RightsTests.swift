import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Roles have the rights that they need, and no others") struct RightsTests {
    /// The roles that may call or read each object. All other roles have no rights. Functions with a version in
    /// their name are for workers.
    static let table = """
        schema activity: enqueuer monitor ops worker
        schema devices: enqueuer monitor ops worker
        schema errand: enqueuer monitor ops worker
        schema events: enqueuer monitor ops worker
        schema identity: enqueuer monitor ops worker
        schema media: enqueuer monitor ops worker
        schema moments: enqueuer monitor ops worker
        schema notify: enqueuer monitor ops worker
        schema pairing: enqueuer monitor ops worker
        schema people: enqueuer monitor ops worker
        schema quotes: enqueuer monitor ops worker
        schema rooms: enqueuer monitor ops worker
        table errand.app: monitor ops worker
        table errand.migration: monitor ops worker
        table errand.script: monitor ops worker
        table errand.upgrade: monitor ops worker
        view activity.activity_status: enqueuer ops
        view activity.change_record: enqueuer monitor ops
        view activity.push_record: enqueuer ops
        view devices.change_record: enqueuer ops
        view devices.device_status: enqueuer ops
        view errand.audit: monitor ops
        view errand.bulk_status: monitor ops
        view errand.dependency_status: monitor ops
        view errand.horizon_blockers: monitor ops
        view errand.job_progress: monitor ops
        view errand.job_status: monitor ops
        view errand.kind_status: monitor ops
        view errand.limit_status: monitor ops
        view errand.maintenance_status: monitor ops
        view errand.overdue: monitor ops
        view errand.queue_status: monitor ops
        view errand.recent_errors: monitor ops
        view errand.retention_status: monitor ops
        view errand.running_jobs: monitor ops
        view errand.schedule_status: monitor ops
        view errand.schedule_ticks: monitor ops
        view errand.stuck: monitor ops
        view errand.table_health: monitor ops
        view errand.worker_status: monitor ops
        view events.code_status: enqueuer ops
        view events.event_figures: enqueuer ops
        view events.event_photo_status: ops
        view events.event_status: enqueuer ops
        view identity.number_status: enqueuer ops
        view identity.pool_status: monitor ops
        view media.photo_status: enqueuer ops
        view media.receipt_status: monitor ops
        view media.removal_status: ops
        view media.upload_status: enqueuer ops
        view media.variant_status: enqueuer monitor ops
        view moments.moment_status: enqueuer ops
        view notify.delivery_status: enqueuer ops
        view notify.message_status: enqueuer ops
        view notify.profiles: enqueuer monitor ops
        view pairing.invite_status: enqueuer ops
        view pairing.pair_status: enqueuer ops
        view people.erasure_status: enqueuer ops
        view quotes.authors: enqueuer monitor ops
        view quotes.card_status: enqueuer monitor ops
        view quotes.categories: enqueuer monitor ops
        view quotes.quote_days: enqueuer monitor ops
        view quotes.quote_status: monitor ops
        view quotes.subscription_status: monitor ops
        view quotes.zone_status: monitor ops
        view rooms.setting_status: monitor ops
        function activity.end_now: enqueuer ops
        function activity.set_margin: ops
        function activity.set_token: enqueuer ops
        function activity.start: enqueuer ops
        function activity.start_demo: enqueuer ops
        function activity.update: enqueuer ops
        function devices.device_offline: enqueuer ops
        function devices.device_online: enqueuer ops
        function devices.forget: enqueuer ops
        function devices.register: enqueuer ops
        function errand.adopt: ops
        function errand.bulk_start: ops
        function errand.bulk_stop: ops
        function errand.busiest_queues: monitor ops
        function errand.cancel: ops
        function errand.cancel_where: ops
        function errand.cell: enqueuer monitor ops worker
        function errand.cell_load_v1: monitor ops worker
        function errand.cell_of: enqueuer monitor ops worker
        function errand.compare_errors: monitor ops
        function errand.compare_kinds: monitor ops
        function errand.copy_of: monitor ops worker
        function errand.count_now: monitor ops
        function errand.dependency_close: ops
        function errand.dependency_open: ops
        function errand.discard: ops
        function errand.discard_where: ops
        function errand.drain_worker: ops
        function errand.edit: ops
        function errand.enqueue: enqueuer ops worker
        function errand.enqueue_many: enqueuer ops worker
        function errand.enqueue_payloads_v1: enqueuer worker
        function errand.enqueue_rates: monitor ops
        function errand.error_id: monitor ops
        function errand.explain: monitor ops
        function errand.health: monitor ops
        function errand.help: enqueuer monitor ops
        function errand.horizon: monitor ops
        function errand.kind_times: monitor ops
        function errand.lacking_rights_v1: enqueuer monitor ops worker
        function errand.list_jobs: monitor ops
        function errand.looks_secret: monitor ops
        function errand.mask_secrets: monitor ops
        function errand.metrics: monitor ops worker
        function errand.moved_to_v1: monitor ops worker
        function errand.next_ticks: monitor ops
        function errand.pause: ops
        function errand.pause_kind: ops
        function errand.queue_minutes: monitor ops
        function errand.queue_rates: monitor ops
        function errand.refresh_statistics: monitor ops worker
        function errand.retentions: monitor ops
        function errand.release_worker: ops
        function errand.reschedule: ops
        function errand.reschedule_where: ops
        function errand.restore_secrets: ops
        function errand.resume: ops
        function errand.resume_kind: ops
        function errand.retry: ops
        function errand.retry_where: ops
        function errand.schedule_drop: ops
        function errand.schedule_pause: ops
        function errand.schedule_preview: monitor ops
        function errand.schedule_put: ops
        function errand.schedule_resume: ops
        function errand.schedule_run_now: ops
        function errand.schema_version: enqueuer monitor ops worker
        function errand.sees_content: monitor ops
        function errand.set_limit: ops
        function errand.set_rate: ops
        function errand.set_retention: ops
        function errand.standing_limits: monitor ops
        function errand.stands_still: monitor ops
        function errand.state_of: monitor ops
        function errand.taken_keys_v1: enqueuer ops worker
        function errand.undrain_worker: ops
        function events.add_photo: enqueuer ops
        function events.archive: enqueuer ops
        function events.archive_status: enqueuer ops
        function events.code: enqueuer ops
        function events.create: enqueuer ops
        function events.delete: enqueuer ops
        function events.delete_photo: enqueuer ops
        function events.edit: enqueuer ops
        function events.end_now: enqueuer ops
        function events.exclude: enqueuer ops
        function events.figures_of: enqueuer ops
        function events.files_of: enqueuer ops
        function events.join: enqueuer ops
        function events.leave: enqueuer ops
        function events.of_user: enqueuer ops
        function events.participants_of: enqueuer ops
        function events.photos_of: enqueuer ops
        function events.readmit: enqueuer ops
        function events.rename_participant: enqueuer ops
        function identity.assign: enqueuer ops
        function identity.number_of: enqueuer ops
        function identity.set_pool_target: ops
        function identity.user_of: enqueuer ops
        function media.remove: enqueuer ops
        function media.retry_photo: enqueuer ops
        function media.retry_removals: ops
        function media.set_store_v1: ops worker
        function media.store_v1: ops worker
        function media.retry_upload: enqueuer ops
        function media.submit: enqueuer ops
        function media.submit_upload: enqueuer ops
        function moments.current: enqueuer ops
        function moments.send: enqueuer ops
        function moments.withdraw: enqueuer ops
        function notify.send: enqueuer ops
        function notify.set_profile: ops
        function notify.withdraw: enqueuer ops
        function pairing.create_invite: enqueuer ops
        function pairing.disconnect: enqueuer ops
        function pairing.invites_of: enqueuer ops
        function pairing.partner_of: enqueuer ops
        function pairing.redeem_invite: enqueuer ops
        function pairing.set_bounds: ops
        function people.erase: enqueuer ops
        function people.export: enqueuer ops
        function people.name_of: enqueuer ops
        function people.rename: enqueuer ops
        function quotes.card: enqueuer ops
        function quotes.of_the_day: enqueuer ops
        function quotes.put: ops
        function quotes.retire: ops
        function quotes.search: enqueuer ops
        function quotes.subscribe: enqueuer ops
        function quotes.subscription_of: enqueuer ops
        function quotes.unsubscribe: enqueuer ops
        function rooms.emit: enqueuer ops
        function rooms.set_attachment_table: ops
        function rooms.set_channel_prefix: ops
        function rooms.user_room: enqueuer ops
        """

    /// The same from the catalog: each object on which one of the four, or PUBLIC, has any right.
    private static let catalog = """
        with role as (
            select unnest('{worker,enqueuer,ops,monitor}'::text[]) as name
        ),
        allowed as (
            select 'schema ' || nspname as object, role.name as role
            from pg_namespace cross join role
            where oid = any (errand.namespaces()) and has_schema_privilege('errand_' || role.name, oid, 'USAGE, CREATE')
            union all
            select case relkind when 'v' then 'view ' when 'S' then 'sequence ' else 'table ' end || relnamespace::regnamespace
                || '.' || relname, role.name
            from pg_class cross join role
            where relnamespace = any (errand.namespaces()) and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
                and case relkind
                    when 'S' then has_sequence_privilege('errand_' || role.name, oid, 'USAGE, SELECT, UPDATE')
                    else has_table_privilege(
                        'errand_' || role.name, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                end
            union all
            select distinct 'function ' || pronamespace::regnamespace || '.' || proname, role.name
            from pg_proc cross join role
            where pronamespace = any (errand.namespaces())
                and has_function_privilege('errand_' || role.name, oid, 'EXECUTE')
        )
        select object || ': ' || string_agg(role, ' ' order by role) as line
        from allowed
        group by object
        """

    @Test("each role has exactly the table's rights on each object")
    func matrix() async throws {
        try await withTestDatabase { database, _ in
            let lines = Set(try await database.text(Self.catalog).split(separator: "\n").map(String.init))
            let versioned = lines.filter { $0.wholeMatch(of: /function \w+\.\w+_v\d+: worker/) != nil }
            #expect(versioned.count > 10)
            let expected = Set(Self.table.split(separator: "\n").map(String.init))
            #expect(lines.subtracting(versioned).subtracting(expected) == [], "nobody has said that they may")
            #expect(expected.subtracting(lines) == [], "they may not")
        }
    }

    @Test("reading is all that anybody may do with a table")
    func tables() async throws {
        try await withTestDatabase { database, _ in
            let writing = """
                select count(*)
                from pg_class cross join unnest('{worker,enqueuer,ops,monitor}'::text[]) as role
                where relnamespace = any (errand.namespaces()) and relkind in ('r', 'p', 'v')
                    and has_table_privilege('errand_' || role, oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
                """
            let writable = try await database.text(writing)
            #expect(writable == "0")
        }
    }

    @Test("no role logs in or rules, PUBLIC has nothing, and errand_owner owns all, partitions too")
    func roles() async throws {
        try await withTestDatabase { database, _ in
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
                    where pronamespace = any (errand.namespaces()) and grantee = 0
                ) + (
                    select count(*) from pg_class, aclexplode(relacl)
                    where relnamespace = any (errand.namespaces()) and grantee = 0
                )
                """
            #expect(try await database.text(open) == "0")
            let foreign = """
                select relname from pg_class
                where relnamespace = any (errand.namespaces()) and relkind in ('r', 'p', 'v', 'S')
                    and relowner <> 'errand_owner'::regrole
                union all
                select proname from pg_proc
                where pronamespace = any (errand.namespaces()) and proowner <> 'errand_owner'::regrole
                """
            #expect(try await database.text(foreign) == "")
            #expect(try await database.text("select * from errand.apply_rights()") == "")
        }
    }

    @Test(
        "each role can do its work: enqueue, run, monitor, repair", arguments: ["enqueuer", "worker", "monitor", "ops"])
    func work(role: String) async throws {
        try await withTestDatabase { database, _ in
            let calls =
                switch role {
                case "enqueuer":
                    ["select errand.enqueue('noop')", "select errand.enqueue_many('[{\"kind\": \"noop\"}]')"]
                case "worker":
                    [
                        "select errand.register_worker_v1('w', '1', '20 s', '{default}', '[]')",
                        "select errand.claim_v1('default', '{noop}', 1, 1, '{0,0,0,0}', '{1,2,3,4}', true)",
                        "select errand.heartbeat_v1('{1}', 0, '{}', null)", "select errand.revoked_jobs_v1('{}', '{}')",
                        "select errand.unheld_jobs_v1(1, 0, '{}', '{}', '{}')",
                        "select errand.refresh_statistics_v1()",
                        "select errand.promote_v1(10, '-infinity')", "select errand.rescue_v1(0)",
                        "select errand.make_partitions_v1(days_ahead => 9)", "select * from errand.metrics()",
                        "select errand.leave_v1(1, true)",
                    ]
                default:
                    [
                        "audit", "dependency_status", "horizon_blockers", "kind_status", "limit_status",
                        "maintenance_status", "overdue", "queue_status", "recent_errors", "schedule_status", "stuck",
                        "job_status", "job_progress", "table_health", "worker_status", "health()", "metrics()",
                        "explain(1)",
                    ].map { "select * from errand.\($0)" }
                }
            for call in calls {
                #expect(try await database.refusal(of: call, as: "errand_\(role)") == nil, "\(call)")
            }
            let more = ["select errand.pause('default', 'x')", "delete from errand.job", "create table errand.own ()"]
            for call in more {
                let refused = try await database.refusal(of: call, as: "errand_\(role)")
                #expect(refused == (role == "ops" && call.hasPrefix("select") ? nil : "42501"), "\(call)")
            }
        }
    }

    @Test("an owner of only the database can migrate it; existing roles get the rights")
    func plainOwner() async throws {
        try await withTestDatabase { database, configuration in
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
            let lacks = try await connection.query("select errand.apply_rights()").map { try $0.decode(String.self) }
            #expect(lacks.contains { $0.contains("grant errand_owner to \(role)") })
            let lines = try await connection.query(Statement("\(catalog)")).map { try $0.decode(String.self) }
            #expect(Set(lines).isSuperset(of: table.split(separator: "\n").map(String.init)))
            try await connection.execute("select errand.make_partitions_v1()")
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }
}
