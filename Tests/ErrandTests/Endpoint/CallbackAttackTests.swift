import Cryptography
import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Attacks on callbacks") struct CallbackAttackTests {
    /// What a worker puts into a request.
    private func token(of job: ClaimedJob, in database: Database) async throws -> String {
        let attempt = "\(job.id).\(job.attempt).\(job.position)"
        return try await database.query(
            Statement("select $1 || '.' || errand_internal.callback_mac($1)", [attempt])
        ).scalar(String.self)
    }

    private func refusal(
        of token: String?, _ arguments: String = "'{}'", by database: Database
    ) async -> PostgresError? {
        await #expect(throws: PostgresError.self, "\(token ?? "null")") {
            try await database.query(Statement("select errand.callback($1, \(arguments))", [token]))
        }
    }

    @Test("a token that is forged, guessed, malformed or of another database is refused, always in the same words")
    func forged() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 2)")
            let jobs = try await worker.claim(2)
            let token = try await token(of: jobs[0], in: database)
            let parts = token.split(separator: ".").map(String.init)
            let attempt = parts[0...2].joined(separator: ".")
            let foreign = HMAC.sha256(Array(attempt.utf8), key: Array(repeating: 0, count: 32)).prefix(16)
                .map { String($0, radix: 16) }.joined()
            var forged: [String?] = [
                nil, "", ".", "...", "x", attempt, "\(attempt).", "\(attempt).\(foreign)",
                "\(attempt).\(String(parts[3].dropLast()))", "\(token)0", "\(token) ", " \(token)", "\(token)\n",
                token.uppercased(), "\(jobs[1].id).\(jobs[1].attempt).\(jobs[1].position).\(parts[3])",
                "\(parts[0]).2.\(parts[2]).\(parts[3])", "0\(token)", "-\(token)", "+\(token)",
                "99999999999999999999.1.1.\(parts[3])", "9999999999999999999.1.1.\(parts[3])",
                "\(attempt).\(String(repeating: "0", count: 32))", "\(attempt).\(String(repeating: "g", count: 32))",
                "\(token)' or '1'='1", String(repeating: "1.", count: 100_000), "\(parts[0])..\(parts[2]).\(parts[3])",
            ]
            for index in 0..<32 {
                var mac = Array(parts[3])
                mac[index] = mac[index] == "0" ? "1" : "0"
                forged.append("\(attempt).\(String(mac))")
            }
            for token in forged {
                let error = await refusal(of: token, by: database)
                #expect(error?.sqlState == "ER404")
                #expect(
                    error?.detail.contains("callback: token: expected one that came with a job, got another") == true)
            }
            #expect(try await database.count("from errand.signal") == 0)
            #expect(try await database.query(Statement("select errand.callback($1)", [token])).scalar(Bool.self))
        }
    }

    @Test("a token is worth nothing after its attempt, and a result counts for its own job alone")
    func ended() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 4)")
            let jobs = try await worker.claim(4)
            var tokens: [String] = []
            for job in jobs { tokens.append(try await token(of: job, in: database)) }
            try await worker.end([jobs[0]])
            try await worker.end([jobs[1]]) { .retried($0, error: "x", after: .zero) }
            try await database.execute(Statement("select errand.cancel($1, 'not wanted')", [[jobs[2].id]]))
            for token in tokens[0...2] {
                let error = await refusal(of: token, by: database)
                #expect(error?.sqlState == "ER409")
            }
            // Its worker has stopped. The next one posts it with the same token.
            try await worker.end([jobs[3]]) { .released($0) }
            #expect(try await database.query(Statement("select errand.callback($1)", [tokens[3]])).scalar(Bool.self))
            let claimed = try await worker.claim(2)
            let again = try #require(claimed.first { $0.id == jobs[3].id })
            #expect(try await token(of: again, in: database) == tokens[3])
            // Another job that waits for that name gets nothing.
            let other = try #require(claimed.first { $0.id == jobs[1].id })
            let name = "callback/\(jobs[3].id).\(jobs[3].attempt).\(jobs[3].position)"
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            try await worker.end([other, again]) { .waiting($0, for: name, until: later, by: nil) }
            #expect(
                try await database.text("select id, state from errand.job order by id")
                    == "\(other.id)|parked\n\(again.id)|available")
        }
    }

    @Test("a login can neither signal a callback's name nor see the key, and needs the right to call")
    func logins() async throws {
        try await Logins.with { logins in
            let database = logins.database
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await worker.claim(1).first)
            let token = try await token(of: job, in: database)
            for login in [logins.shop, "errand_ops", "errand_worker"] {
                let refused = try await database.refusal(of: "select errand.signal('callback/1.1.1')", as: login)
                #expect(refused == "ER422")
            }
            for login in ["errand_enqueuer", "errand_worker", "errand_ops", "errand_monitor"] {
                for sql in [
                    "select key from errand.callback_key", "select errand_internal.callback_mac('1.1.1')",
                    "select payload from errand.signal",
                ] {
                    let refused = try await database.refusal(of: sql, as: login)
                    #expect(refused == "42501" || login == "errand_ops" && sql.contains("errand.signal"), "\(sql)")
                }
            }
            for login in ["errand_worker", "errand_monitor"] {
                #expect(try await database.refusal(of: "select errand.callback('\(token)')", as: login) == "42501")
            }
            // Whose job it is doesn't matter: the token is the right.
            let first = try await logins.query("select errand.callback('\(token)', '1')", as: logins.mail)
            #expect(try first.scalar(Bool.self))
            let second = try await logins.query("select errand.callback('\(token)', '2')", as: logins.shop)
            #expect(try !second.scalar(Bool.self))
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            let name = "callback/\(job.id).\(job.attempt).\(job.position)"
            try await worker.end([job]) { .waiting($0, for: name, until: later, by: nil) }
            #expect(
                try await database.text("select state, errand_internal.signal_of(options) -> 'payload' from errand.job")
                    == #"available|{"output": 1}"#)
        }
    }

    @Test("results that can't be stored are refused, and a later one counts")
    func unfit() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute("select errand.enqueue('noop')")
            let job = try #require(try await worker.claim(1).first)
            let token = try await token(of: job, in: database)
            for (arguments, state) in [
                ("to_jsonb(repeat('x', 300000))", "ER413"), ("'1', 'both'", "ER422"), ("null, ''", "ER422"),
                ("null, repeat('x', 4001)", "ER422"),
            ] {
                let error = await refusal(of: token, arguments, by: database)
                #expect(error?.sqlState == state, "\(arguments)")
            }
            let call = Statement("select errand.callback($1, error => repeat('x', 4000), permanent => null)", [token])
            #expect(try await database.query(call).scalar(Bool.self))
        }
    }

    @Test("an erased user's callbacks go with the jobs, those that nobody waited for too")
    func erased() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await database.execute(
                "select errand.enqueue('noop', subject => 'ada'), errand.enqueue('noop', subject => 'bob')")
            let jobs = try await worker.claim(2)
            for job in jobs {
                let token = try await token(of: job, in: database)
                _ = try await database.query(Statement("select errand.callback($1, '{\"name\": \"x\"}')", [token]))
            }
            try await worker.end(jobs)
            _ = try await database.query("select errand_internal.erase_subject('ada', 'asked to')")
            #expect(try await database.text("select job_id from errand.signal") == "\(jobs[1].id)")
        }
    }
}
