import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Invite expiry") struct InviteExpiryTests {
    @Test("P3: every due invite is marked, set by set, and no other one is touched")
    func marks() async throws {
        try await withAppQueue { test in
            let database = test.database
            // Two full sets and a rest, many of them due at the same moment.
            try await database.makeInvites(10_001, due: "now() - interval '1 s' * (n % 10)")
            try await database.makeInvites(50, due: "now() + interval '1 s' * n", after: 20_000)
            let code = try await database.invite("anna")
            #expect(try await database.redeem(code, as: "ben").status == "paired")
            try await database.execute("update pairing.invite set expires_at = now() where state = 'used'")
            let run = try await test.run("invite_expiry")
            #expect(run.output?.text == #"{"pruned": 0, "expired": 10001}"#)
            #expect(
                try await database.lines("select state, count(*) from pairing.invite group by state order by state")
                    == ["expired|10001", "live|50", "used|1"])
            let again = try await test.run("invite_expiry")
            #expect(again.output?.text == #"{"pruned": 0, "expired": 0}"#)
        }
    }

    @Test("P3: concurrent runs mark each invite once")
    func together() async throws {
        try await withAppQueue { test in
            try await test.database.makeInvites(20_000, due: "now()")
            for _ in 1...3 { try await test.database.execute("select errand.enqueue('invite_expiry')") }
            let drained = try await test.drain()
            #expect(drained.outcomes == [.succeeded, .succeeded, .succeeded], "\(drained)")
            #expect(
                try await test.database.number("select sum((output ->> 'expired')::int) from errand.history") == 20_000)
        }
    }

    @Test("P3: a redemption under way isn't waited for, and its invite is marked by the next run")
    func skips() async throws {
        try await withAppQueue { test in
            try await test.database.makeInvites(3, due: "now()")
            try await test.database.transaction { redemption in
                try await redemption.execute("select from pairing.invite order by id limit 1 for update")
                let run = try await test.run("invite_expiry")
                #expect(run.output?.text == #"{"pruned": 0, "expired": 2}"#)
            }
            let next = try await test.run("invite_expiry")
            #expect(next.output?.text == #"{"pruned": 0, "expired": 1}"#)
        }
    }

    @Test("P3: invites that ended 30 days ago are deleted, and until then an expired code is known as that")
    func prunes() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.makeInvites(2_500, due: "now() - interval '32 days'")
            let run = try await test.run("invite_expiry")
            #expect(run.output?.text == #"{"pruned": 0, "expired": 2500}"#)
            let code = try await database.lines("select code from pairing.invite order by id limit 1")[0]
            #expect(try await database.redeem(code, as: "ben").status == "expired")
            try await database.execute("update pairing.invite set ended_at = ended_at - interval '29 days'")
            let early = try await test.run("invite_expiry")
            #expect(early.output?.text == #"{"pruned": 0, "expired": 0}"#)
            #expect(try await database.redeem(code, as: "ben").status == "expired")
            try await database.execute("update pairing.invite set ended_at = ended_at - interval '1 day'")
            let last = try await test.run("invite_expiry")
            #expect(last.output?.text == #"{"pruned": 2500, "expired": 0}"#)
            #expect(try await database.redeem(code, as: "ben").status == "invalid")
        }
    }
}

extension Database {
    /// Live invites of as many users; `due` is SQL that may use `n`, which counts from `after` + 1.
    fileprivate func makeInvites(_ count: Int, due: String, after: Int = 0) async throws {
        try await execute(
            Statement(
                """
                insert into pairing.invite (created_at, expires_at, code, inviter)
                select \(due) - interval '24 hours', \(due),
                    translate(lpad(to_hex(n), 6, '0'), '01abcdef', 'ZYABCDEF'), 'user-' || n
                from generate_series(\(after + 1), \(after + count)) as n
                """))
    }
}
