import AppSchemas
import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand migrate --drop-app") struct DropAppTests {
    @Test("an app goes with its objects, jobs, schedules, kinds, guards and schema; one that others need stays")
    func drops() async throws {
        try await withAppDatabase { database, configuration in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let settings = try reaching(configuration).merging([
                "STORAGE_URL": root, "ERRAND_HEARTBEAT_INTERVAL": "200ms",
            ]) { one, _ in one }
            func drop(_ app: String, _ reason: String...) async throws -> Program {
                try await Program.run(
                    ["migrate", "--drop-app", app] + reason.flatMap { ["--reason", $0] }, settings: settings)
            }
            #expect(try await Program.run(["storage", "init"], settings: settings).code == 0)
            let names = AppSchemas.names.sorted().joined(separator: ", ")
            #expect(try await drop("film").error.hasSuffix("(\(names)), got 'film'"))
            let needed = try #require(
                AppSchemas.all.first { app in AppSchemas.all.contains { $0.needs.contains(app.name) } })
            let others = AppSchemas.all.filter { $0.needs.contains(needed.name) }.map(\.name).joined(separator: ", ")
            #expect(
                try await drop(needed.name, "x").error
                    == "errand: --drop-app: expected an app that no other needs, got \(needed.name), which is needed by \(others)"
            )

            for statement in Self.film { try await database.execute(statement) }
            let reel = "\(root)/film/1.reel"
            try FileManager.default.createDirectory(atPath: "\(root)/film", withIntermediateDirectories: false)
            #expect(FileManager.default.createFile(atPath: reel, contents: Data([1])))
            let shown = try await drop("film")
            #expect(shown.output.hasPrefix("app film has rows: 1, objects in the store: 1, "))
            #expect(shown.output.contains("unfinished jobs: 1, failed jobs: 0, schedules: 1, "))
            #expect(shown.output.hasSuffix("\nnothing was changed: give a --reason to drop it\n"))
            let alone = try await drop("film", "we go on without")
            #expect(alone.code == 69 && alone.error.contains("no worker runs that could remove them"))
            #expect(try await database.query("select count(*) from film.reel").scalar(Int.self) == 0)

            let isDropped = Task {
                while try await database.query("select count(*) from errand.worker").scalar(Int.self) == 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                // An upload on its way may arrive for a minute and a half.
                let aging = Task {
                    while !Task.isCancelled {
                        try await database.execute(
                            """
                            update media.removal
                            set try_at = try_at - interval '90 s', final_at = final_at - interval '90 s',
                                tried_at = tried_at - interval '90 s'
                            """)
                        try await Task.sleep(for: .milliseconds(300))
                    }
                }
                let dropped = try await drop("film", "we go on without")
                aging.cancel()
                #expect(dropped.code == 0 && dropped.output.hasSuffix("\napp film is dropped\n"), "\(dropped.errors)")
                return true
            }
            let worker = try await Program.run(
                ["worker"], settings: settings, signals: [("registered", SIGTERM)], after: isDropped)
            #expect(worker.code == 0)
            let left = try await database.query(
                """
                select concat_ws(
                    ' ', to_regnamespace('film') is null, (select count(*) from errand.kind where app = 'film'),
                    (select count(*) from errand.schedule where app = 'film'),
                    (select count(*) from errand.job where kind = 'reel_check'),
                    (select count(*) from errand.history where kind = 'reel_check' and state = 'cancelled'),
                    (select count(*) from errand.audit where action = 'drop_app' and reason = 'we go on without'))
                """
            ).scalar(String.self)
            #expect(left == "t 0 0 0 1 1")
            #expect(!FileManager.default.fileExists(atPath: reel))
            // What is left works, and apps can be added again.
            #expect(try await Program.run(["migrate"], settings: settings).output == "up to date\n")
            for app in AppSchemas.all where !AppSchemas.all.contains(where: { $0.needs.contains(app.name) }) {
                #expect(try await drop(app.name, "x").code == 0, "\(app.name)")
            }
            #expect(try await Program.run(["migrate", "--apps", "all"], settings: settings).code == 0)
            let installed = try await database.query("select name from errand.app order by name")
            #expect(try installed.column(0, as: String.self) == AppSchemas.names.sorted())
        }
    }

    /// An app with a row, an object in the store, a job and a schedule.
    private static let film: [Statement] = [
        "create schema film", "create table film.reel (key text)", "insert into film.reel values ('film/1.reel')",
        "insert into errand.app (name) values ('film')",
        "insert into errand.kind (name, queue, max_attempts, priority, app) values ('reel_check', 'default', 3, 2, 'film')",
        "select errand.put_schedule('reel_check', 'every 1 hour', 'reel_check')",
        "update errand.schedule set app = 'film' where name = 'reel_check'",
        "select errand.enqueue('reel_check', run_at => now() + interval '1 hour')",
        """
        create function film.remove_objects(reason text) returns bigint language plpgsql as $$
        begin
            if reason is null then
                return (select count(*) from film.reel);
            end if;
            insert into media.removal (in_flight, key) select true, key from film.reel;
            delete from film.reel;
            perform media.enqueue_removals_v1();
            return (select count(*) from media.removal);
        end
        $$
        """,
    ]
}
