import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand audit, errors, limit and bulk") struct AuditTests {
    private func decode<T: Decodable>(_ type: T.Type, _ program: Program) throws -> T {
        try JSONDecoder().decode(T.self, from: Data(program.output.utf8))
    }

    @Test("actions are listed by job, name, login and time")
    func audit() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["audit"] + arguments, settings: settings)
            }
            #expect(try await errand().output == "no such action is on record\n")
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            try await database.execute("select errand.cancel('{1}', 'wrong customer')")
            try await database.execute("select errand.pause_queue('default', 'moves')")
            let people = try await errand("--since", "1h")
            let lines = people.output.split(separator: "\n")
            try #require(lines.count == 3)
            #expect(lines[0].hasPrefix("TIME                  WHO "))
            #expect(lines[1].contains("  pause_queue  0     moves           {\"queue\": \"default\"}"))
            struct Line: Decodable { let action: String, reason: String?, jobs: Int, target: String }
            #expect(try decode([Line].self, await errand("--job", "1", "--json")).map(\.action) == ["cancel"])
            #expect(
                try decode([Line].self, await errand("--action", "pause_queue", "--json")).map(\.reason) == ["moves"])
            #expect(try decode([Line].self, await errand("--who", "nobody", "--json")).isEmpty)
            try await database.execute("update errand.action set done_at = done_at - interval '3 hours'")
            #expect(try decode([Line].self, await errand("--since", "2h", "--json")).isEmpty)
            let zoneless = try await errand("--since", "2026-11-22T02:00:00")
            #expect(zoneless.code == 64)
            #expect(zoneless.errors.contains("which has no zone"))
        }
    }

    @Test("an action is shown and taken back by its id")
    func undo() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            try await database.execute("select errand.cancel('{1, 2}', 'wrong customer')")
            try await database.execute("select errand.set_limit('tenant/1', 4)")
            let ids = try await database.query("select id::text from errand.audit order by id").map {
                try $0.decode(String.self)
            }
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["undo"] + arguments, settings: settings)
            }
            let dry = try await errand(ids[0], "--dry-run")
            #expect(dry.output.split(separator: "\n").last == "job 2  yes     cancelled  available  -")
            #expect(dry.error == "errand: nothing was changed: without --dry-run it is")
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 0)
            struct Line: Decodable { let job_id: Int?, setting: String?, undone: Bool, was: String?, now: String? }
            let done = try decode([Line].self, await errand(ids[0], "--reason", "right after all", "--json"))
            #expect(done.map(\.job_id) == [1, 2] && done.allSatisfy { $0.undone && $0.now == "available" })
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 2)
            #expect(try decode([Line].self, await errand(ids[1], "--json")).map(\.setting) == ["limit tenant/1"])
            let unknown = try await errand("99")
            #expect(unknown.code == 1 && unknown.error.contains("expected one of errand.audit, got 99"))
        }
    }

    @Test("failures are grouped, and with a time compared with as long a time before")
    func errors() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            #expect(try await Program.run(["errors"], settings: settings).output == "nothing failed within a week\n")
            try await database.execute(
                """
                insert into errand.failed (
                    id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                select n, at, at, at, 2, 3, 3, 0, 'default', 'noop', '{}', 'bucket ' || n || ' is gone'
                from generate_series(1, 3) as n
                cross join lateral (select now() - case when n = 1 then interval '90 minutes' else '5 minutes' end as at) as ended
                """)
            struct Group: Decodable { let kind: String, failures: Int, last_job_id: Int }
            let groups = try decode([Group].self, await Program.run(["errors", "--json"], settings: settings))
            #expect(groups.map(\.failures) == [3])
            struct Change: Decodable { let before: Int, after: Int }
            let since = ["errors", "--since", "1h"]
            let changes = try decode([Change].self, await Program.run(since + ["--json"], settings: settings))
            #expect(changes.map(\.before) == [1] && changes.map(\.after) == [2])
            let people = try await Program.run(since, settings: settings)
            #expect(people.output.hasPrefix("KIND  QUEUE    BEFORE  AFTER  LAST "))
        }
    }

    @Test("a limit is set, listed and cleared")
    func limits() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["limit"] + arguments, settings: settings)
            }
            #expect(try await errand("set", "tenant/1", "4").output == "tenant/1: set to 4 at once\n")
            struct Line: Decodable { let what: String, name: String, allowed: Int?, running: Int }
            let lines = try decode([Line].self, await errand("list", "--json"))
            #expect(lines.map(\.name) == ["tenant/1"] && lines.first?.allowed == 4)
            #expect(
                try await errand("clear", "tenant/1", "--json").output
                    == #"{"done":"no limit","limit_key":"tenant/1"}"# + "\n")
            #expect(try await errand("list").output == "no limit is set\n")
            let refused = try await errand("set", "tenant/1", "2000000")
            #expect(refused.code == 1)
            #expect(refused.error.contains("max_running: expected 0 to 1000000"))
        }
    }

    @Test("a bulk action is requested, listed, stopped, and followed to its end")
    func bulk() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["bulk"] + arguments, settings: settings)
            }
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 3)")
            #expect(try await errand("cancel", "--kind", "noop", "--reason", "x").output == "1\n")
            struct Line: Decodable { let id: Int, state: String, changed: Int, progress: Double }
            #expect(try decode([Line].self, await errand("list", "--json")).map(\.state) == ["waiting"])
            #expect(
                try await errand("stop", "1", "--reason", "the wrong kind").output
                    == "bulk 1: stopped; it has changed 0 jobs\n")
            #expect(try await errand("watch", "1").code == 1)
            #expect(
                try await errand("cancel", "--kind", "noop", "--reason", "x", "--json").output
                    == #"{"bulk":2,"done":"requested"}"# + "\n")
            try await database.execute("select errand_internal.run_bulk()")
            let done = try await errand("watch", "2")
            #expect(done.code == 0)
            #expect(done.output == "bulk 2: done, 3 jobs\n")
            #expect(done.errors == "", "without a terminal there is no progress bar")
            #expect(try await errand("watch", "9").error == "errand: there is no bulk action 9 (any more)")
            #expect(try await errand("cancel", "--reason", "x").code == 64)
        }
    }
}
