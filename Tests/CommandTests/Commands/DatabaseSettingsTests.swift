import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("A database with settings that others use") struct DatabaseSettingsTests {
    /// Each is a default of the database, which all of its sessions have: the program's, and those of operators and
    /// API servers.
    private static let settings = [
        "array_nulls = off", "backslash_quote = off", "bytea_output = escape", "check_function_bodies = off",
        "constraint_exclusion = on", "datestyle = 'SQL, DMY'", "default_statistics_target = 1",
        "default_toast_compression = lz4", "default_transaction_deferrable = on",
        "default_transaction_isolation = serializable", "enable_seqscan = off", "escape_string_warning = off",
        "extra_float_digits = -15", "from_collapse_limit = 1", "intervalstyle = sql_standard",
        "join_collapse_limit = 1", "plan_cache_mode = force_custom_plan",
        "plpgsql.extra_errors = 'all'", "plpgsql.variable_conflict = use_column", "quote_all_identifiers = on",
        "row_security = off", "search_path = shadow, pg_catalog", "standard_conforming_strings = off",
        "synchronous_commit = off", "temp_file_limit = '64MB'", "timezone = 'Asia/Kathmandu'",
        "transform_null_equals = on", "work_mem = '64kB'", "xmloption = document",
    ]
    /// It compiles each statement, which takes a migration ten seconds.
    private static let slow = ["jit_above_cost = 0"]

    /// What a schema before pg_catalog in the search path can do: `now()` is this one, and `||` too.
    private static let shadow = """
        create schema shadow;
        create table shadow.call (login text not null default current_user);
        create function shadow.now() returns timestamptz language plpgsql security invoker as $$
        begin
            insert into shadow.call default values;
            return pg_catalog.now();
        end
        $$;
        grant usage on schema shadow to public;
        grant insert on shadow.call to public;
        create publication everything for all tables;
        """

    @Test("all of them together: it is migrated, runs jobs, rescues and prunes, and calls nothing of strangers")
    func together() async throws {
        try await works(with: Self.settings)
    }

    @Test("one by one", .enabled(if: Hardness.isFull), arguments: settings + slow)
    func alone(setting: String) async throws {
        try await works(with: [setting])
    }

    private func works(with settings: [String]) async throws {
        try await withTestDatabase { database, configuration in
            try await database.dropSchemas()
            for setting in settings {
                let change = "alter database \(configuration.database) set \(setting)"
                try await database.execute(Statement(change))
            }
            try await database.withConnection { try await $0.script(Self.shadow) }
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let environment = try reaching(configuration)
                .merging(["ERRAND_PUSH": "log", "STORAGE_URL": folder.path]) { $1 }
            let migrated = try await Program.run(["migrate", "--apps", "all"], settings: environment)
            #expect(migrated.code == 0, "\(settings): \(migrated.errors)")
            #expect(try await Program.run(["migrate"], settings: environment).output == "up to date\n")
            #expect(try await Program.run(["storage", "init"], settings: environment).code == 0)
            // As operators and API servers have it: with all of the settings.
            let session = try await database.makeConnection()
            for sql in Self.work { try await session.script(sql) }
            let isDone = Task {
                let left = "select count(*) from errand.job where kind = 'noop' and state <> 'scheduled'"
                while try await database.query(Statement(left)).scalar(Int.self) > 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                return true
            }
            let run = try await Program.run(
                ["run"], settings: environment, signals: [("registered", SIGTERM)], after: isDone)
            #expect(run.code == 0, "\(settings): \(run.errors)")
            #expect(!run.errors.contains(" error "), "\(settings): \(run.errors)")
            for sql in Self.upkeep { try await session.script(sql) }
            await session.close()
            let ended = try await database.query(
                """
                select state || ' ' || count(*) from errand.history where kind = 'noop' group by state order by state
                """
            ).column(0, as: String.self)
            #expect(ended == ["cancelled 1", "succeeded 20"], "\(settings)")
            #expect(try await database.query("select count(*) from shadow.call").scalar(Int.self) == 0, "\(settings)")
            let doctor = try await Program.run(["doctor", "--as", "scheduler"], settings: environment)
            let failed = doctor.output.split(separator: "\n").drop { !$0.hasPrefix("FAIL") }.prefix(4)
            #expect(doctor.code == 0, "\(settings): \(failed.joined(separator: "\n"))")
        }
    }

    /// Calls of API servers and operators, before a worker starts.
    private static let work =
        [
            "select errand.enqueue('noop') from generate_series(1, 20)",
            "select errand.enqueue('noop', run_at => pg_catalog.now() + interval '1 hour') from generate_series(1, 2)",
            "select errand.cancel('{21,22}', 'not needed')",
            "select errand.put_schedule('nightly', '0 3 * * *', 'noop', time_zone => 'Europe/Berlin')",
            "select * from errand.preview_schedule('nightly')",
            // The worker of a job is lost.
            """
            with lost as (
                insert into errand.worker (name, version, queues, kinds, lease, heartbeat_interval, heartbeat_at)
                values (
                    'gone:1', '0.1', '{default}', '{noop}', interval '20 s', interval '500 ms',
                    pg_catalog.now() - interval '1 hour')
                returning id
            ),
            held as (
                update errand.job set state = 'running', worker_id = lost.id, attempt = 1, started_at = pg_catalog.now()
                from lost
                where job.id = 1
                returning job.id, job.worker_id
            )
            insert into errand.claim (worker_id, generation, job_ids) select worker_id, 0, array[id] from held
            """,
        ] + AppCase.statements(.settings)

    /// What maintenance does in days.
    private static let upkeep =
        [
            "select errand.retry('{22}')",
            "select errand_internal.make_partitions(5)",
            "select errand_internal.drop_partition()",
            "select errand_internal.prune()",
            "select * from errand.health()",
            "select * from errand.limits",
            "select * from errand.failures",
        ] + AppCase.statements(.upkeep)
}
