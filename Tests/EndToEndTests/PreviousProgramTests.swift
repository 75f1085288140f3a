import ErrandTestKit
import Foundation
import Postgres
import Testing

/// The program of the last release, which `make test-previous` builds from the history.
private let previous = ProcessInfo.processInfo.environment["ERRAND_PREVIOUS"].map { URL(fileURLWithPath: $0) }

@Suite(
    "This program and the last released one, side by side",
    .enabled(if: previous != nil, "`make test-previous` builds the last released program"), .serialized)
struct PreviousProgramTests {
    private let root = FileManager.default.temporaryDirectory.appendingPathComponent("previous-\(UUID())")
    private var settings: [String: String] {
        Hardness.settings.merging(["ERRAND_QUEUES": "default=20", "STORAGE_URL": root.path]) { one, _ in one }
    }

    @Test("a rolling deploy and a roll back under load: no error, no job lost, none twice")
    func rollingDeploy() async throws {
        try await withTestDatabase { database, configuration in
            let url = try TestServer.url(of: configuration)
            let previous = try #require(previous)
            // All objects of Errand, including the new ones of this version.
            try await database.execute(
                """
                do $$
                declare
                    ours text := (
                        select string_agg(quote_ident(nspname), ', ')
                        from pg_namespace
                        where nspname !~ '^pg_' and nspname not in ('public', 'information_schema'));
                begin
                    execute 'drop schema ' || ours || ' cascade';
                end
                $$
                """)
            try await runs(["migrate", "--apps", "all"], of: previous, on: url)
            defer { try? FileManager.default.removeItem(at: root) }
            let store = try Program(["storage", "init"], of: previous, database: url, settings: settings)
            #expect(try await store.exit() == 0, "\(store.output)")
            func start(_ program: URL?, _ command: String) async throws -> Program {
                let started = try Program([command], of: program, database: url, settings: settings)
                let ready = command == "scheduler" ? "scheduling" : "registered"
                let isReady = try await started.says(ready, within: .seconds(60))
                #expect(isReady, "\(started.output)")
                return started
            }
            try await database.execute("select errand.set_limit('a', 5)")
            try await database.execute("select errand.put_schedule('often', 'every 1 s', 'noop')")
            let load = Task { try await enqueue(on: database) }

            // All are old; the schema becomes new beneath them.
            var old = [
                try await start(previous, "run"), try await start(previous, "worker"),
                try await start(previous, "scheduler"),
            ]
            try await Task.sleep(for: .seconds(1))
            try await runs(["migrate"], of: nil, on: url)
            try await Task.sleep(for: .seconds(2))
            // Old and new side by side, old ones that start on the new schema among them.
            let new = [
                try await start(nil, "run"), try await start(nil, "worker"), try await start(nil, "scheduler"),
            ]
            try await stops(old.removeFirst())
            old += [try await start(previous, "run")]
            try await runs(["enqueue", "noop", "{}"], of: previous, on: url)
            try await Task.sleep(for: Hardness.isFull ? .seconds(300) : .seconds(5))
            // And back.
            for program in new { try await stops(program) }
            try await Task.sleep(for: .seconds(2))
            load.cancel()
            let enqueued = try await load.value + 1
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job where kind = 'noop' and tags is not null)", within: .seconds(60)
                ))
            for program in old { try await stops(program) }

            let ticks = try await database.count("from errand.tick where job_id is not null")
            #expect(ticks > 5)
            let left = try await database.count("from errand.job")
            #expect(
                try await database.count("from errand.history where state = 'succeeded'") + left == enqueued + ticks)
            #expect(try await database.count("from errand.failed") == 0)
            #expect(
                try await database.count(
                    "from errand.history where attempt <> 1 or crashes > 0") == 0)
        }
    }

    /// Single jobs and sets, with and without options, until it is cancelled. Returns how many.
    private func enqueue(on database: Database) async throws -> Int {
        var count = 0
        while !Task.isCancelled {
            // A task of its own: nobody knows whether a statement that is cancelled with this one has committed.
            _ = try await Task {
                try await database.execute(
                    """
                    select count(*) from errand.enqueue_many((
                        select jsonb_agg(
                            jsonb_build_object('kind', 'noop', 'tags', '["load"]'::jsonb,
                                'payload', jsonb_build_object('sleep_ms', number % 10))
                            || case when number % 5 = 0 then '{"limit_key": "a", "priority": 1}'::jsonb else '{}' end)
                        from generate_series(1, 20) as number))
                    """)
            }.value
            count += 20
            try? await Task.sleep(for: .milliseconds(50))
        }
        return count
    }

    private func runs(_ arguments: [String], of program: URL?, on url: String) async throws {
        let run = try Program(arguments, of: program, database: url)
        let code = try await run.exit()
        #expect(code == 0, "\(arguments): \(run.output)")
    }

    /// The program exits with 0 and has logged no problem.
    private func stops(_ program: Program) async throws {
        program.send(SIGTERM)
        #expect(try await program.exit() == 0)
        let complaints = program.output.split(separator: "\n").filter { $0.contains(/^\S+ (warning|error|critical)/) }
        #expect(complaints == [])
    }
}

extension Program {
    /// Waits for a text in its output.
    fileprivate func says(_ text: String, within limit: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        while !output.contains(text) {
            guard isRunning, ContinuousClock.now - start < limit else { return false }
            try await Task.sleep(for: .milliseconds(10))
        }
        return true
    }
}
