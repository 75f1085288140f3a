import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The steps of pulled jobs") struct PulledStepTests {
    @Test("what an attempt has recorded is there for the next ones, after a failure, a snooze and a release")
    func stays() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop', max_attempts => 2)")
            var recorded = ""
            for (step, ends) in [("fail", ", '{x}', '{0}'"), ("snooze", ", '{0}'"), ("release", ""), ("done", "")] {
                let job = try #require(try await worker.pull().first)
                #expect(
                    try await database.text("select name, output from errand.steps('\(job.token)')") == recorded)
                #expect(
                    try await database.text("select errand.step('\(job.token)', '\(step)', '{\"n\": 1}')")
                        == #"{"n": 1}"#)
                // The first one counts, in this attempt as in others.
                #expect(
                    try await database.text("select errand.step('\(job.token)', '\(step)', '2')") == #"{"n": 1}"#)
                recorded += (recorded.isEmpty ? "" : "\n") + "\(step)|{\"n\": 1}"
                #expect(try await database.results(step, [job], ends) == ["completed"])
            }
            #expect(try await database.text("select state, attempt from errand.history") == "succeeded|2")
        }
    }

    @Test("a step is recorded in the transaction of its effect, or neither is; one that is over commits nothing")
    func together() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("create table public.effect (id bigint)")
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await worker.pull().first)
            let session = try await database.session()
            let both = "select (select count(*) from public.effect), (select count(*) from errand.step)"
            for (end, counts) in [("rollback", "0|0"), ("commit", "1|1")] {
                try await session.execute("begin")
                try await session.execute("insert into public.effect values (1)")
                try await session.execute(Statement("select errand.step($1, 'effect')", [job.token]))
                // Meanwhile no other session completes it, nor adds a step.
                #expect(try await database.results("fail", [job], ", '{x}'") == ["again"])
                let other = "select errand.step('\(job.token)', 'other')"
                #expect(try await database.complaint(of: other)?.hasPrefix("55P03 step: job \(job.id): ") == true)
                try await session.execute(Statement(end))
                #expect(try await database.text(both) == counts)
            }
            try await session.execute("begin")
            try await session.execute("insert into public.effect values (2)")
            try await database.execute("select errand.cancel('{1}', 'x')")
            let refused = await #expect(throws: PostgresError.self) {
                try await session.execute(Statement("select errand.step($1, 'late')", [job.token]))
            }
            #expect(refused?.sqlState == "ER409")
            // The server rolls back.
            try await session.execute("commit")
            await session.close()
            #expect(try await database.text(both) == "1|1")
        }
    }

    @Test("arguments out of bounds are refused with what was expected and what came")
    func bounds() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await PullingWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let token = try #require(try await worker.pull().first).token
            let calls: KeyValuePairs = [
                "''": "ER422 step: name: expected 1 to 200 characters, got ''",
                "null": "ER422 step: name: expected 1 to 200 characters, got null",
                "E'a\\nb'": "ER422 step: name: expected 1 to 200 characters, got 'a; b'",
                "repeat('x', 201)":
                    "ER422 step: name: expected 1 to 200 characters, got '\(String(repeating: "x", count: 120))'",
                "'a', to_jsonb(repeat('x', 262143))":
                    "ER413 step: output: expected at most 262144 bytes as text, got 262145",
            ]
            for (arguments, message) in calls {
                let complaint = try await database.complaint(of: "select errand.step('\(token)', \(arguments))")
                #expect(complaint == message, "\(arguments)")
            }
            for arguments in ["repeat('x', 200)", "'a', to_jsonb(repeat('x', 262142))", "'b', null", "'c', 'null'"] {
                #expect(try await database.complaint(of: "select errand.step('\(token)', \(arguments))") == nil)
            }
            #expect(try await database.count("from errand.steps('\(token)')") == 4)
        }
    }
}
