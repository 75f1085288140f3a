import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("How long ended jobs stay") struct RetentionTests {
    /// A cancelled and a failed job of the kind, which ended so many days ago.
    private func end(_ kind: String, daysAgo: Int, on database: Database) async throws {
        for statement in [
            """
            insert into errand.history (
                id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, state, queue, kind)
            select \(daysAgo), at, at, at, 2, 1, 1, 0, 'cancelled', 'default', '\(kind)'
            from (select now() - interval '\(daysAgo) days' as at) as one
            """,
            """
            insert into errand.failed (
                id, created_at, run_at, finished_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
            select 1000 + \(daysAgo), at, at, at, 2, 1, 1, 0, 'default', '\(kind)', '{}', 'gone'
            from (select now() - interval '\(daysAgo) days' as at) as one
            """,
        ] {
            try await database.execute(Statement(statement))
        }
    }

    @Test("failed jobs of a kind stay for 90 days if an operator says so, and others for 30")
    func failed() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter()
            let set = "select errand.set_retention('noop', 'failed', interval '90 days', 'for the audit')"
            #expect(try await database.text(set, as: "errand_ops") == "")
            for (kind, days) in [("noop", 89), ("noop", 91), ("other", 29), ("other", 31)] {
                try await end(kind, daysAgo: days, on: database)
            }
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.text("select id from errand.failed order by id") == "1029\n1089")
            let shown = "select kind, state, keep, reason from errand.retention_status where kind = 'noop'"
            #expect(try await database.text(shown, as: "errand_monitor") == "noop|failed|90 days|for the audit")
            let audit = "select action, target ->> 'keep', reason from errand.audit"
            #expect(try await database.text(audit) == "set_retention|90 days|for the audit")
            try await database.execute("select errand.set_retention('noop', 'failed', null, 'it is over')")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.text("select id from errand.failed") == "1029")
        }
    }

    @Test("a shorter and a longer time for a state of the history count before that of the program")
    func history() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter()
            try await database.execute("update errand.kind set keep_ended = interval '1 day'")
            try await end("noop", daysAgo: 3, on: database)
            try await database.execute("select errand.set_retention('noop', 'cancelled', interval '4 days', 'x')")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.history") == 1, "the operator's 4 days count")
            let programs = "select state, keep, set_by from errand.retention_status where kind = 'noop' order by state"
            #expect(
                try await database.text(programs)
                    == "cancelled|4 days|postgres\nobsolete|1 day|the program\nsucceeded|1 day|the program")
            try await database.execute("select errand.set_retention('noop', 'cancelled', interval '2 days', 'x')")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.history") == 0)
            try await end("noop", daysAgo: 20, on: database)
            try await database.execute("select errand.set_retention('noop', 'cancelled', interval '30 days', 'x')")
            while try await database.query("select errand_internal.drop_partition()").scalar(Bool.self) {}
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.history") == 1)
        }
    }

    @Test("an unknown kind is rejected with similar names, and other arguments by their bounds")
    func refusals() async throws {
        try await withTestDatabase { database, _ in
            _ = try await database.enter()
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.set_retention('nop', 'failed', '1 day', 'x')")
            }
            #expect(error?.sqlState == "ER404")
            #expect(error?.hint?.hasPrefix("Is it noop") == true)
            for arguments in [
                "'noop', 'running', '1 day', 'x'", "'noop', 'failed', '1 s', 'x'", "'noop', 'failed', '11 years', 'x'",
                "'noop', 'failed', '1 day', ''",
            ] {
                #expect(try await database.refusal(of: "select errand.set_retention(\(arguments))") == "ER422")
            }
            // Ten years in days, which are more than the 3,600 days that '10 years' is compared as.
            try await database.execute("select errand.set_retention('noop', 'failed', '3653 days', 'x')")
        }
    }
}
