import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("A token of the HTTP API enqueues what it may, and sees its own jobs alone") struct APITokenTests {
    private static let enqueue = "select job_id from errand_internal.api_enqueue_v1"

    /// Tokens `a` for the kind sum and the queue default, and `b` for all.
    private static func with(_ body: @Sendable (Logins) async throws -> Void) async throws {
        try await Logins.with { logins in
            _ = try await logins.database.query(
                "select errand.put_api_token('a', sha256('a'), '{sum}', '{default}', 'a test')")
            _ = try await logins.database.query("select errand.put_api_token('b', sha256('b'))")
            try await body(logins)
        }
    }

    @Test("what a token may not do is refused, and nothing is enqueued, cancelled or read")
    func attacks() async throws {
        try await Self.with { logins in
            let own = try await logins.query(
                "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\"}', 'k')", as: logins.shop
            ).scalar(Int64.self)
            let foreign = try await logins.query(
                "select job_id from errand.enqueue('sum', unique_key => 'a/taken', follow => true)", as: logins.shop
            ).scalar(Int64.self)
            let open = "select errand_internal.api_open_batch_v1"
            let batch = try await logins.query("\(open)(sha256('a'), '{\"name\": \"b\"}')", as: logins.shop)
                .scalar(Int64.self)
            let change = "select errand_internal.api_change_batch_v1"
            let job = "select job from errand_internal.api_job_v1"
            let cancel = "select errand_internal.api_cancel_v1"
            let rows: [(what: String, login: String, call: String, state: String)] = [
                ("guessed", logins.shop, "\(Self.enqueue)(sha256('c'), '{\"kind\": \"sum\"}')", "ER401"),
                ("the hash's start", logins.shop, "\(job)(substr(sha256('a'), 1, 31), \(own))", "ER401"),
                ("the token for its hash", logins.shop, "\(job)('a', \(own))", "ER401"),
                ("no hash", logins.shop, "\(Self.enqueue)(null, '{\"kind\": \"sum\"}')", "ER401"),
                ("an empty hash", logins.shop, "\(cancel)('', \(own), 'x')", "ER401"),
                ("another kind", logins.shop, "\(Self.enqueue)(sha256('a'), '{\"kind\": \"noop\"}')", "ER403"),
                (
                    "another kind behind its own", logins.shop,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"kind\": \"noop\"}')", "ER422"
                ),
                (
                    "another queue", logins.shop,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"queue\": \"mail\"}')", "ER403"
                ),
                ("no kind", logins.shop, "\(Self.enqueue)(sha256('a'), '{}')", "ER422"),
                ("a list", logins.shop, "\(Self.enqueue)(sha256('a'), '[]')", "22023"),
                (
                    "SQL as a kind", logins.shop,
                    "\(Self.enqueue)(sha256('b'), '{\"kind\": \"sum''; drop table errand.job; --\"}')", "ER422"
                ),
                ("U+0000", logins.shop, "\(Self.enqueue)(sha256('b'), '{\"kind\": \"sum\\u0000\"}')", "22P05"),
                (
                    "a key of another job", logins.shop,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\"}', 'taken')", "ER409"
                ),
                (
                    "a used key for another payload", logins.shop,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"payload\": 1}', 'k')", "ER422"
                ),
                (
                    "a key that another login has used", logins.mail,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\"}', 'k')", "ER409"
                ),
                (
                    "a job without a token as a parent", logins.shop,
                    "\(Self.enqueue)(sha256('b'), '{\"kind\": \"sum\", \"after\": [\(foreign)]}')", "ER404"
                ),
                (
                    "another login's job as a parent", logins.mail,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"after\": [\(own)]}')", "ER404"
                ),
                (
                    "another login's batch", logins.mail,
                    "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"batch\": \(batch)}')", "ER404"
                ),
                (
                    "a callback of another kind", logins.shop,
                    "\(open)(sha256('a'), '{\"name\": \"b\", \"on_finish\": {\"kind\": \"noop\"}}')", "ER403"
                ),
                (
                    "another token cancels a batch", logins.shop, "\(change)(sha256('b'), \(batch), 'cancel', 'x')",
                    "ER404"
                ),
                (
                    "another login retries a batch", logins.mail, "\(change)(sha256('a'), \(batch), 'retry', 'x')",
                    "ER404"
                ),
                (
                    "another login sees a batch", logins.mail,
                    "select errand_internal.api_batch_v1(sha256('a'), \(batch))", "ER404"
                ),
                ("another token reads", logins.shop, "\(job)(sha256('b'), \(own))", "ER404"),
                ("another token cancels", logins.shop, "\(cancel)(sha256('b'), \(own), 'x')", "ER404"),
                ("another login reads", logins.mail, "\(job)(sha256('a'), \(own))", "ER404"),
                ("another login cancels", logins.mail, "\(cancel)(sha256('a'), \(own), 'x')", "ER404"),
                ("a job without a token", logins.shop, "\(job)(sha256('a'), \(foreign))", "ER404"),
                ("no job", logins.shop, "\(job)(sha256('a'), 4711000)", "ER404"),
                (
                    "the token as an option", logins.mail,
                    "select errand.enqueue('sum', options => '{\"token\": \"a\"}', follow => true)", "ER422"
                ),
                ("a token of one's own", logins.shop, "select errand.put_api_token('c', sha256('c'))", "42501"),
                ("dropping one", logins.shop, "select errand.drop_api_token('a')", "42501"),
                ("reading the hashes", logins.shop, "select hash from errand.api_token", "42501"),
                ("reading the tokens", logins.shop, "select name from errand.api_tokens", "42501"),
                ("asking by a hash", logins.shop, "select errand_internal.token_of(sha256('a'))", "42501"),
            ]
            for row in rows {
                let error = await #expect(throws: PostgresError.self, "\(row.what)") {
                    try await logins.query(row.call, as: row.login)
                }
                #expect(error?.sqlState == row.state, "\(row.what)")
            }
            let left = try await logins.database.text("select id, state from errand.jobs order by id")
            #expect(left == "\(own)|available\n\(foreign)|available")
        }
    }

    @Test("a job is the token's and the login's, and the audit names both")
    func owns() async throws {
        try await Self.with { logins in
            let id = try await logins.query(
                "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\", \"payload\": [1], \"priority\": 1.0}')",
                as: logins.shop
            ).scalar(Int64.self)
            let stored = "select payload, priority, options ->> 'owner', options ->> 'token' from errand.jobs"
            #expect(try await logins.database.text("\(stored)") == "[1]|1|\(logins.shop)|a")
            let state = "select job ->> 'state' from errand_internal.api_job_v1(sha256('a'), \(id))"
            for login in [logins.shop, logins.member] {
                #expect(try await logins.query(state, as: login).scalar(String.self) == "available")
            }
            let cancel = "select errand_internal.api_cancel_v1(sha256('a'), \(id), 'no longer') ->> 'state'"
            for _ in 0..<2 {
                #expect(try await logins.query(cancel, as: logins.shop).scalar(String.self) == "cancelled")
            }
            let audit = "select who, person, reason from errand.audit where action = 'cancel'"
            #expect(try await logins.database.text("\(audit)") == "\(logins.shop)|token a|no longer")
        }
    }

    @Test("a token that is replaced or dropped is refused at once; its name keeps the jobs")
    func replaced() async throws {
        try await Self.with { logins in
            let id = try await logins.query(
                "\(Self.enqueue)(sha256('a'), '{\"kind\": \"sum\"}')", as: logins.shop
            ).scalar(Int64.self)
            func sees(_ token: String) async throws -> Bool {
                do {
                    _ = try await logins.query(
                        "select * from errand_internal.api_job_v1(sha256('\(token)'), \(id))", as: logins.shop)
                    return true
                } catch let error as PostgresError where error.sqlState == "ER401" {
                    return false
                }
            }
            #expect(try await sees("a"))
            #expect(try await logins.database.text("select errand.put_api_token('a', sha256('new'))") == "false")
            #expect(try await !sees("a"))
            #expect(try await sees("new"))
            _ = try await logins.database.query("select errand.drop_api_token('a', 'a test')")
            #expect(try await !sees("new"))
            let actions = "select count(*) from errand.audit where action in ('put_api_token', 'drop_api_token')"
            #expect(try await logins.database.text("\(actions)") == "4")
            let hashes =
                "select count(*) from errand.audit where target::text like '%' || encode(sha256('a'), 'hex') || '%'"
            #expect(try await logins.database.text("\(hashes)") == "0")
        }
    }

    @Test("a call with the key of an ended job returns that job, and two at once make one")
    func repeated() async throws {
        try await Self.with { logins in
            let call = "\(Self.enqueue)(sha256('b'), '{\"kind\": \"noop\", \"payload\": {\"x\": 1}}', 'k')"
            let id = try await withThrowingTaskGroup(of: Int64.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await logins.query(call, as: logins.shop).scalar(Int64.self) }
                }
                let ids = try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
                #expect(ids.count == 1)
                return try #require(ids.first)
            }
            for end in ["errand.cancel('{\(id)}', 'x')", "errand.retry('{\(id)}')"] {
                _ = try await logins.database.query(Statement("select \(end)"))
                #expect(try await logins.query(call, as: logins.shop).scalar(Int64.self) == id)
            }
            #expect(try await logins.database.text("select count(*) from errand.jobs") == "1")
        }
    }

    @Test(
        "a token that could not be one is refused",
        arguments: [
            ("'A'", "sha256('x')", "null"), ("null", "sha256('x')", "null"), ("'x'", "null", "null"),
            ("'x'", "'short'", "null"), ("'x'", "sha256('x')", "'{}'"), ("'x'", "sha256('x')", "'{a b}'"),
            ("'x'", "sha256('x')", "'{null}'"),
        ])
    func malformed(name: String, hash: String, kinds: String) async throws {
        try await withTestDatabase { database, _ in
            let error = await #expect(throws: PostgresError.self) {
                _ = try await database.query(Statement("select errand.put_api_token(\(name), \(hash), \(kinds))"))
            }
            #expect(error?.sqlState == "ER422")
        }
    }
}
