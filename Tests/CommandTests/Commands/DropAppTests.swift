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
            #expect(
                try await drop("film").error.hasSuffix(
                    "devices, events, identity, media, moments, notify, pairing, people, quotes, rooms), got 'film'"))
            #expect(
                try await drop("media", "x").error
                    == "errand: --drop-app: expected an app that no other needs, got media, which is needed by events, moments, quotes"
            )

            let event = try await database.query("select events.create('anna', 'Summer')").scalar(UUID.self)
            let key = "events/\(event.uuidString.lowercased())/1.jpg"
            try await database.execute(Statement("select media.submit_upload($1, '\\xffd8')", [key]))
            try await database.execute("select errand.enqueue('event_reveal', run_at => now() + interval '1 hour')")
            let shown = try await drop("events")
            #expect(shown.output.hasPrefix("app events has rows: "))
            #expect(shown.output.contains("unfinished jobs: 1, failed jobs: 0, schedules: 1, "))
            #expect(shown.output.hasSuffix("\nnothing was changed: give a --reason to drop it\n"))
            let alone = try await drop("events", "we go on without")
            #expect(alone.code == 69 && alone.error.contains("no worker runs that could remove them"))
            #expect(try await database.query("select count(*) from events.event").scalar(Int.self) == 0)

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
                let dropped = try await drop("events", "we go on without")
                aging.cancel()
                #expect(dropped.code == 0 && dropped.output.hasSuffix("\napp events is dropped\n"), "\(dropped.errors)")
                return true
            }
            let worker = try await Program.run(
                ["worker"], settings: settings, signals: [("registered", SIGTERM)], after: isDropped)
            #expect(worker.code == 0)
            let left = try await database.query(
                """
                select concat_ws(
                    ' ', to_regnamespace('events') is null, (select count(*) from errand.kind where app = 'events'),
                    (select count(*) from errand.schedule where app = 'events'),
                    (select count(*) from errand.job where kind = 'event_reveal'),
                    (select count(*) from errand.history where kind = 'event_reveal' and state = 'cancelled'),
                    (select count(*) from errand.audit where action = 'drop_app' and reason = 'we go on without'))
                """
            ).scalar(String.self)
            #expect(left == "t 0 0 0 1 1")
            #expect(!FileManager.default.fileExists(atPath: "\(root)/events"))
            // What is left works, and the app can be added again.
            #expect(try await Program.run(["migrate"], settings: settings).output == "up to date\n")
            for app in ["moments", "people", "quotes"] { #expect(try await drop(app, "x").code == 0, "\(app)") }
            #expect(try await Program.run(["migrate", "--apps", "all"], settings: settings).code == 0)
            try await database.execute("select events.create('anna', 'Winter')")
        }
    }
}
