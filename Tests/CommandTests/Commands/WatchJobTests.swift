import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand job watch") struct WatchJobTests {
    private func snapshot(
        _ state: String, attempt: Int = 1, progress: Double? = nil, log: [String] = []
    ) -> JobSnapshot {
        JobSnapshot(
            time: "2026-11-22T02:00:00.5Z", state: state, attempt: attempt, max_attempts: 3,
            run_at: "2026-11-22T03:00:00Z", reason: nil, progress: progress, message: nil, log: log)
    }

    @Test("only what is new is shown: lines of the log, and changes of state and progress")
    func changes() throws {
        let first = snapshot("scheduled", attempt: 0)
        #expect(
            try first.changes(since: nil, asJSON: false)
                == ["2026-11-22T02:00:00Z  scheduled  attempt 0/3  due 2026-11-22T03:00:00Z"])
        #expect(try first.changes(since: first, asJSON: false) == [])
        let second = snapshot("running", progress: 0.25, log: ["a", "b\u{1B}[31m"])
        #expect(
            try second.changes(since: first, asJSON: false)
                == ["  a", "  b\\u{1b}[31m", "2026-11-22T02:00:00Z  running  attempt 1/3  25 %"])
        let third = snapshot("running", progress: 0.25, log: ["b\u{1B}[31m", "c"])
        #expect(try third.changes(since: second, asJSON: false) == ["  c"])
        #expect(try third.changes(since: second, asJSON: true) == [])
        #expect(snapshot("succeeded").hasEnded && !second.hasEnded)
    }

    @Test("it follows a job to its end, and the exit code says whether it succeeded")
    func follows() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            for _ in 1...2 { try await database.execute("select errand.enqueue('noop')") }
            let watching = Task {
                try await Program.run(["job", "watch", "1", "--every", "100ms", "--json"], settings: settings)
            }
            let isWatched: Statement = """
                select exists (
                    select from pg_stat_activity
                    where datname = current_database() and query like '%errand.jobs%' and pid <> pg_backend_pid())
                """
            while try await !database.query(isWatched).scalar(Bool.self) {}
            try await database.execute("select errand.cancel('{1}', 'wrong customer')")
            let cancelled = try await watching.value
            #expect(cancelled.code == 1)
            struct Line: Decodable { let state: String, reason: String? }
            let lines = try cancelled.output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            #expect(lines.last?.state == "cancelled" && lines.last?.reason == "wrong customer")
            let unknown = try await Program.run(["job", "watch", "99"], settings: settings)
            #expect(unknown.code == 1)
            #expect(unknown.error.hasPrefix("errand: there is no job 99 "))
            try await database.execute(
                """
                with gone as (
                    delete from errand.job where id = 2 returning *
                )
                insert into errand.history (id, created_at, run_at, priority, attempt, max_attempts, crashes, state, queue, kind)
                select id, created_at, run_at, priority, 1, 3, 0, 'succeeded', queue, kind from gone
                """)
            let succeeded = try await Program.run(["job", "watch", "2"], settings: settings)
            #expect(succeeded.code == 0)
            #expect(succeeded.output.hasSuffix("  succeeded  attempt 1/3\n"))
        }
    }
}
