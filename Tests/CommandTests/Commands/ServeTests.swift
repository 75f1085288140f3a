import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand run, worker and scheduler") struct ServeTests {
    @Test("run works until SIGTERM or Ctrl-C, and ends with 0")
    func run() async throws {
        try await withTestDatabase { database, configuration in
            for signal in [SIGTERM, SIGINT] {
                try await database.execute("select errand.enqueue('noop')")
                let program = try await Program.run(
                    ["run"], settings: reaching(configuration), signals: [("registered", signal)])
                #expect(program.code == 0, "signal \(signal)")
                #expect(try await database.query("select count(*) from errand.worker").scalar(Int.self) == 0)
                #expect(
                    try await database.query("select count(*) from errand.job where state = 'running'").scalar(Int.self)
                        == 0)
            }
        }
    }

    @Test(
        "behind a transaction pooler a worker finds that by itself, says so, and polls",
        .enabled(if: TestServer.isPooled, "`make test-pooled` puts a pooler in front"))
    func pooled() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("select errand.enqueue('noop')")
            let hasRun = Task {
                let start = ContinuousClock.now
                while ContinuousClock.now - start < .seconds(60) {
                    if try await database.query("select count(*) from errand.history").scalar(Int.self) == 1 {
                        return true
                    }
                    try await Task.sleep(for: .milliseconds(20))
                }
                return false
            }
            let program = try await Program.run(
                ["run"], settings: reaching(configuration), signals: [("polling only", SIGTERM)], after: hasRun)
            #expect(program.code == 0)
            #expect(
                program.errors.contains(
                    "LISTEN is not delivered on this connection (a transaction pooler?): polling only"))
            #expect(!program.errors.contains("interrupted"))
            #expect(try await hasRun.value)
        }
    }

    @Test("on a newer schema run, worker and scheduler go on, and say so")
    func newer() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("insert into errand.migration (name, sha256) values ('9999_future', '')")
            try await database.execute(
                "insert into errand.upgrade (version, oldest_program) values ('99.1.0', '0.1.0')")
            for (command, ready) in [("run", "registered"), ("worker", "registered"), ("scheduler", "scheduling")] {
                let program = try await Program.run(
                    [command], settings: reaching(configuration), signals: [(ready, SIGTERM)])
                #expect(program.code == 0, "\(command)")
                let line = "the database is newer than this program, which runs on migrated_by=99.1.0"
                #expect(program.errors.contains(line), "\(command)")
            }
        }
    }

    @Test("a user without the right to claim gets one line and 78, even with other rights")
    func rights() async throws {
        try await withTestDatabase { _, configuration in
            for (command, role) in [
                ("run", "errand_enqueuer"), ("run", "errand_monitor"), ("worker", "errand_enqueuer"),
                ("worker", "errand_monitor"), ("scheduler", "errand_enqueuer"), ("scheduler", "errand_monitor"),
            ] {
                let settings = try reaching(configuration, options: "-c role=\(role)")
                let program = try await Program.run([command], settings: settings)
                #expect(program.code == 78, "\(command)")
                // `errand run` has logged its address before.
                let line =
                    "errand: the user \(role) may not claim and schedule jobs: expected a member of errand_worker; "
                    + "have `grant errand_worker to \"\(role)\"` run"
                #expect(program.error.hasSuffix(line), "\(command)")
            }
        }
    }

    @Test("where sessions are read-only, as on a standby, worker and scheduler wait and say so once")
    func readOnly() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration, options: "-c default_transaction_read_only=on")
            // Several tries.
            let stop = Task {
                try await Task.sleep(for: .seconds(2))
                return true
            }
            async let worker = Program.run(["worker"], settings: settings, signals: [("waiting", SIGTERM)], after: stop)
            async let scheduler = Program.run(
                ["scheduler"], settings: settings, signals: [("waiting", SIGTERM)], after: stop)
            for program in try await [worker, scheduler] {
                #expect(program.code == 0)
                let warnings = program.errors.split(separator: "\n").filter { $0.contains(" warning ") }
                #expect(warnings.count == 1, "\(program.errors)")
                #expect(warnings.first?.contains("read-only here (default_transaction_read_only)") == true)
            }
            #expect(try await database.query("select count(*) from errand.worker").scalar(Int.self) == 0)
        }
    }

    @Test(
        "a log in JSON has a line for the start with the settings, one for the end with its reason, and no other form")
    func startAndEnd() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration).merging(["ERRAND_LOG_FORMAT": "json"]) { $1 }
            let worker = try await Program.run(["worker"], settings: settings, signals: [("registered", SIGTERM)])
            let lines = try worker.jsonLines()
            #expect(lines.first?["message"] as? String == "started" && lines.first?["process"] as? String == "worker")
            let shown = lines.first?["settings"] as? [String: String]
            #expect(shown?["DATABASE_URL"] == "(hidden)" && shown?["ERRAND_LEASE"] == "20s")
            let end = try #require(lines.last)
            #expect(end["message"] as? String == "ended" && end["reason"] as? String == "SIGTERM")
            #expect(end["exit_code"] as? Int == 0 && (end["uptime_seconds"] as? Double ?? 0) > 0)
            let missing = try reaching(configuration, options: "-c role=errand_monitor")
            let refused = try await Program.run(
                ["worker"], settings: missing.merging(["ERRAND_LOG_FORMAT": "json"]) { $1 })
            let reason = try #require(try refused.jsonLines().last)
            #expect(refused.code == 78 && reason["exit_code"] as? Int == 78)
            #expect(reason["level"] as? String == "critical")
            #expect((reason["reason"] as? String)?.contains("may not claim and schedule jobs") == true)
        }
    }

    @Test("a scheduler needs no place for photos")
    func scheduler() async throws {
        try await withAppDatabase { _, configuration in
            let settings = try reaching(configuration).merging(["STORAGE_URL": "/dev/null/x"]) { one, _ in one }
            let scheduler = try await Program.run(["scheduler"], settings: settings, signals: [("scheduling", SIGTERM)])
            #expect(scheduler.code == 0)
            // A worker also has jobs without circuits. Jobs with one wait.
            let worker = try await Program.run(["worker"], settings: settings, signals: [("registered", SIGTERM)])
            #expect(worker.code == 0)
            #expect(worker.errors.contains("the object store can't be used yet: jobs that need it wait"))
        }
    }

    @Test("heartbeats that are too rare for the lease stop the start")
    func heartbeat() async throws {
        let settings = ["DATABASE_URL": "postgresql:///x", "ERRAND_LEASE": "10s"]
        let program = try await Program.run(["worker"], settings: settings)
        #expect(program.code == 78)
        #expect(
            program.error
                == "errand: ERRAND_HEARTBEAT_INTERVAL: expected a duration of at most a third of ERRAND_LEASE, got '5s' (default)"
        )
    }
}
