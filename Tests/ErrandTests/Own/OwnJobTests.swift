import Postgres
import Testing

@Suite("A job of one's own is nobody else's") struct OwnJobTests {
    @Test("its login and its members read it, and no other login does")
    func reads() async throws {
        try await Logins.with { logins in
            let enqueue =
                "select job_id from errand.enqueue('sum', '{\"secret\": 1}', unique_key => 'k', follow => true)"
            let id = try await logins.query(enqueue, as: logins.shop).scalar(Int64.self)
            for (login, jobs) in [(logins.shop, 1), (logins.member, 1), (logins.mail, 0)] {
                for call in ["errand.job(\(id))", "errand.job(unique_key => 'k')", "errand.job(unique_key => 'none')"] {
                    let expected = call.contains("none") ? 0 : jobs
                    let found = try await logins.query("select count(*) from \(call)", as: login)
                    #expect(try found.scalar(Int.self) == expected, "\(login): \(call)")
                }
                let explained = try await logins.query("select code from errand.explain_own(\(id))", as: login)
                #expect(try (explained.column(0, as: String.self)[0] == "unknown") == (jobs == 0))
                let ended = try await logins.query("select state from errand.ended('{\(id)}')", as: login)
                #expect(try ended.column(0, as: String.self) == (jobs == 1 ? [] : ["unknown"]))
            }
            await #expect(throws: PostgresError.self) {
                try await logins.query("select payload from errand.jobs", as: logins.shop)
            }
        }
    }

    @Test("its login cancels it, with a reason in the audit, and no other login does")
    func cancels() async throws {
        try await Logins.with { logins in
            let id = try await logins.query("select job_id from errand.enqueue('sum', follow => true)", as: logins.shop)
                .scalar(Int64.self)
            let plain = try await logins.query("select job_id from errand.enqueue('sum')", as: logins.shop)
                .scalar(Int64.self)
            let cancel =
                "select coalesce(was, '-') || ' ' || coalesce(now, '-') from errand.cancel_own($1, 'no longer')"
            let ids = [id, plain, 4_711_000]
            #expect(
                try await logins.query(cancel, as: logins.mail, [ids]).column(0, as: String.self)
                    == ["- -", "- -", "- -"])
            #expect(
                try await logins.query(cancel, as: logins.member, [ids]).column(0, as: String.self)
                    == ["available cancelled", "- -", "- -"])
            let audit = try await logins.database.query("select who, reason from errand.audit where action = 'cancel'")
            #expect(try audit[0].decode(String.self, String.self) == (logins.member, "no longer"))
            let error = await #expect(throws: PostgresError.self) {
                try await logins.query("select errand.cancel_own('{1}', null)", as: logins.shop)
            }
            #expect(error?.sqlState == "ER422")
        }
    }

    @Test("whose job it is can't be chosen, nor taken over by an enqueue that inserts nothing")
    func owner() async throws {
        try await Logins.with { logins in
            for call in [
                "errand.enqueue('sum', options => '{\"owner\": \"\(logins.mail)\"}')",
                "errand.enqueue('sum', options => '{\"owner\": \"\(logins.mail)\"}', follow => true)",
                "errand.enqueue_many('[{\"kind\": \"sum\", \"options\": {\"owner\": \"\(logins.mail)\"}}]')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await logins.query("select * from \(call)", as: logins.shop)
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
            let enqueue = "select job_id from errand.enqueue('sum', unique_key => 'k', follow => true)"
            let id = try await logins.query(enqueue, as: logins.shop).scalar(Int64.self)
            #expect(try await logins.query(enqueue, as: logins.mail).scalar(Int64.self) == id)
            #expect(
                try await logins.query("select count(*) from errand.job(\(id))", as: logins.mail).scalar(Int.self) == 0)
            let bulk = "select job_id from errand.enqueue_many('[{\"kind\": \"sum\", \"follow\": true}]')"
            let other = try await logins.query(bulk, as: logins.mail).scalar(Int64.self)
            #expect(
                try await logins.query("select kind from errand.job(\(other))", as: logins.mail).scalar(String.self)
                    == "sum")
        }
    }
}
