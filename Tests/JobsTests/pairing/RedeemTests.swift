import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Invite codes") struct RedeemTests {
    @Test("P1: a code has six signs that no two of which look alike, and is valid for 24 hours to the microsecond")
    func creates() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute(
                "select code from generate_series(1, 500) as n cross join pairing.create_invite('user-' || n)")
            let bad = try await database.number(
                """
                select count(*) from pairing.invite
                where code !~ '^[A-HJ-NP-Z2-9]{6}$' or expires_at - created_at <> interval '24 hours'
                    or created_at not between now() - interval '1 minute' and clock_timestamp()
                """)
            #expect(bad == 0)
            // In an old transaction, the 24 hours begin now.
            try await database.transaction { transaction in
                try await transaction.execute("select pg_sleep(0.05)")
                let late = try await transaction.query(
                    "select expires_at > now() + interval '24 hours 40 ms' from pairing.create_invite('late')"
                ).scalar(Bool.self)
                #expect(late)
            }
        }
    }

    @Test("P1: each of the 32 signs is as likely as the others at each of the six places")
    func fair() async throws {
        try await withAppDatabase { database, _ in
            // Chi-square of 32 signs over 64,000 codes: 31 degrees of freedom exceed 90 once in 10 million times.
            let worst = try await database.query(
                """
                select max(chi)::float8 from (
                    select sum((count - 2000) ^ 2 / 2000.0) + 2000 * (32 - count(*)) as chi
                    from (
                        select place, count(*)
                        from (select pairing.new_code() as code from generate_series(1, 64000)) as drawn
                        cross join generate_series(1, 6) as place
                        group by place, substr(code, place, 1)
                    ) as counted
                    group by place
                ) as places
                """
            ).scalar(Double.self)
            #expect(worst < 90)
        }
    }

    @Test("P1: among live codes none comes twice, however many sessions draw from however few")
    func unique() async throws {
        try await withAppDatabase(connections: 16) { database, _ in
            // Only eight codes exist.
            try await database.execute(
                """
                create or replace function pairing.new_code() returns text language sql as $$
                    select substr('ABCDEFGH', 1 + floor(random() * 8)::int, 1) || 'AAAAA'
                $$
                """)
            let codes = try await withThrowingTaskGroup(of: String.self) { group in
                for user in 1...8 {
                    group.addTask { try await database.invite("user-\(user)") }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(codes.count == 8)
            let error = await #expect(throws: PostgresError.self) { try await database.invite("one-more") }
            #expect(error?.sqlState == "ER503")
            // Codes that have ended are free again.
            try await database.expire("true")
            try await database.execute("select pairing.expire_due_v1()")
            #expect(codes.contains(try await database.invite("one-more")))
        }
    }

    @Test(
        "P2: 200 sessions redeem one code at once: one is paired, and all others are told that it is used",
        .enabled(if: !TestServer.isPooled, "a pooler has fewer sessions than this needs"))
    func stampede() async throws {
        try await withAppDatabase(connections: 202) { database, _ in
            let code = try await database.invite("anna")
            let statuses = try await withThrowingTaskGroup(of: String.self) { group in
                try await database.transaction { gate in
                    try await gate.execute("select from pairing.person where user_id = 'anna' for update")
                    // All calls are inside before the first one continues; ten connections at a time. A session that
                    // looks for a deadlock, as each does after a second, waits for no lock meanwhile: 200 are seen
                    // once.
                    let isWaiting = "datname = current_database() and wait_event_type = 'Lock'"
                    for ten in 1...20 {
                        for guest in 1...10 {
                            group.addTask { try await database.redeem(code, as: "guest-\(ten)-\(guest)").status }
                        }
                        #expect(
                            try await database.becomes(
                                "count(*) >= \(10 * ten) from pg_stat_activity where \(isWaiting)"))
                    }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(statuses.count { $0 == "paired" } == 1)
            #expect(statuses.count { $0 == "already_used" } == 199)
            #expect(try await database.number("select count(*) from pairing.pair") == 1)
            #expect(try await database.number("select count(*) from pairing.person where pair_id is not null") == 2)
        }
    }

    @Test("P2: two users who redeem each other's code concurrently become one pair, without a deadlock")
    func crossing() async throws {
        try await withAppDatabase(connections: 16) { database, _ in
            try await withThrowingTaskGroup(of: Set<String>.self) { group in
                for n in 1...40 {
                    let (left, right) = ("left-\(n)", "right-\(n)")
                    let codes = (try await database.invite(left), try await database.invite(right))
                    group.addTask {
                        async let first = database.redeem(codes.0, as: right).status
                        async let second = database.redeem(codes.1, as: left).status
                        return try await [first, second]
                    }
                }
                for try await statuses in group { #expect(statuses == ["paired", "already_paired"]) }
            }
            #expect(try await database.number("select count(*) from pairing.pair") == 40)
        }
    }

    @Test("P2: the result has the exact outcome of a code")
    func replies() async throws {
        try await withAppDatabase { database, _ in
            let code = try await database.invite("anna")
            let spare = try await database.invite("anna")
            #expect(try await database.redeem("AAAAA1", as: "ben").status == "invalid")
            #expect(try await database.redeem(nil, as: "ben").status == "invalid")
            #expect(try await database.redeem(code, as: "anna").status == "own_code")
            let typed = " " + code.prefix(3).lowercased() + "-" + code.suffix(3).lowercased()
            let paired = try await database.redeem(typed, as: "ben")
            #expect(paired.status == "paired" && paired.partner == "anna" && paired.pair != nil)
            #expect(try await database.lines("select partner from pairing.partner_of('anna')") == ["ben"])
            let again = try await database.redeem(code, as: "ben")
            #expect(again.status == "already_used" && again.pair == paired.pair && again.triesLeft == paired.triesLeft)
            #expect(try await database.redeem(code, as: "carl").status == "already_used")
            #expect(try await database.redeem(spare, as: "carl").status == "withdrawn")
            let other = try await database.redeem(try await database.invite("dora"), as: "ben")
            #expect(other.status == "already_paired" && other.pair == paired.pair && other.partner == "anna")
            #expect(
                try await database.lines("select status, partner from pairing.disconnect('ben')")
                    == ["disconnected|anna"])
            #expect(
                try await database.lines("select status, partner from pairing.disconnect('anna')") == ["not_paired|"])
            #expect(
                try await database.lines("select inviter, invitee, ended_by from pairing.pair_status")
                    == ["anna|ben|ben"])
            #expect(try await database.redeem(try await database.invite("ben"), as: "anna").status == "paired")
            let error = await #expect(throws: PostgresError.self) { try await database.invite("ben") }
            #expect(error?.sqlState == "ER409")
        }
    }

    @Test("P2: a code expires after 24 hours even if it is not marked yet, and not before")
    func deadOnTime() async throws {
        try await withAppDatabase { database, _ in
            let code = try await database.invite("anna")
            try await database.expire("true", in: "30 s")
            #expect(try await database.redeem(code, as: "ben").status == "paired")
            let late = try await database.invite("carl")
            try await database.transaction { transaction in
                // Within one transaction the clock advances, and now() doesn't.
                try await transaction.execute(
                    "update pairing.invite set expires_at = clock_timestamp() where inviter = 'carl'")
                let status = try await transaction.query(
                    Statement("select status from pairing.redeem_invite($1, 'dora')", [late])
                ).scalar(String.self)
                #expect(status == "expired")
            }
            #expect(
                try await database.lines("select state from pairing.invite where inviter = 'carl'") == ["live"])
            #expect(
                try await database.lines("select state from pairing.invite_status where inviter = 'carl'")
                    == ["expired"])
        }
    }

    @Test("P1: a source has so many wrong codes; after too many of all, a user has one, and a right code is accepted")
    func guessing() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("select pairing.set_bounds(from_source => 3, in_all => 5, reason => 'a test')")
            let code = try await database.invite("anna")
            func redeem(_ code: String, as user: String, from source: String?) async throws -> String {
                try await database.query(
                    Statement(
                        """
                        select concat_ws(' ', status, retry_at between now() and now() + interval '1 hour')
                        from pairing.redeem_invite($1, $2, source => $3)
                        """, [code, user, source])
                ).scalar(String.self)
            }
            for number in 1...3 {
                #expect(try await redeem("AAAAAA", as: "eve-\(number)", from: "192.0.2.1") == "invalid")
            }
            #expect(try await redeem(code, as: "eve-4", from: "192.0.2.1") == "too_many_tries t")
            #expect(try await redeem("AAAAAA", as: "ben", from: "192.0.2.2") == "invalid")
            #expect(try await redeem("AAAAAA", as: "carl", from: nil) == "invalid")
            // Too many in all: who has entered a wrong one waits, and everybody else has one try.
            let other = try await database.invite("frank")
            for source in ["192.0.2.3", nil] {
                #expect(try await redeem(other, as: "ben", from: source) == "too_many_tries t")
                #expect(try await database.redeem("AAAAAA", as: "gina-\(source ?? "")").triesLeft == 0)
                #expect(try await redeem(other, as: "gina-\(source ?? "")", from: source) == "too_many_tries t")
            }
            #expect(try await redeem(other, as: "dora", from: "192.0.2.3") == "paired")
            try await database.execute(
                "update pairing.wrong_code set since = since - interval '30 minutes' where source = ''")
            let waits = try await database.lines(
                "select retry_at < now() + interval '31 minutes' from pairing.redeem_invite('AAAAAA', 'ben')")
            #expect(waits == ["true"])
            try await database.execute("update pairing.wrong_code set since = since - interval '1 hour'")
            #expect(try await redeem(code, as: "eve-4", from: "192.0.2.1") == "paired")
            try await database.execute("select pairing.prune_invites_v1()")
            #expect(try await database.number("select count(*) from pairing.wrong_code") == 0)
            #expect(try await database.redeem("AAAAAA", as: "ben").triesLeft == 8)
            for call in [
                "pairing.redeem_invite('AAAAAA', 'ben', repeat('x', 201))",
                "pairing.redeem_invite('AAAAAA', 'ben', '')",
                "pairing.set_bounds(0, reason => 'x')", "pairing.set_bounds(1)",
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select \(call)"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
        }
    }

    @Test("P1: a live code is shown only to its author")
    func shown() async throws {
        try await withAppDatabase { database, _ in
            let code = try await database.invite("anna")
            let all = "select coalesce(code, 'hidden'), state from pairing.invite_status"
            #expect(try await database.lines(all) == ["hidden|live"])
            #expect(try await database.lines("select code, state from pairing.invites_of('anna')") == ["\(code)|live"])
            #expect(try await database.lines("select code from pairing.invites_of('ben')") == [])
            try await database.redeem(code, as: "ben")
            #expect(try await database.lines(all) == ["\(code)|used"])
            #expect(try await database.lines("select code, state from pairing.invites_of('anna')") == ["\(code)|used"])
        }
    }

    @Test("P1: ten invalid codes an hour are allowed, also concurrently; then none is checked until the time it says")
    func tries() async throws {
        try await withAppDatabase(connections: 16) { database, _ in
            let replies = try await withThrowingTaskGroup(of: Redeemed.self) { group in
                for _ in 1...50 { group.addTask { try await database.redeem("AAAAAA", as: "eve") } }
                return try await group.reduce(into: [Redeemed]()) { $0.append($1) }
            }
            #expect(replies.count { $0.status == "invalid" } == 10)
            #expect(replies.count { $0.status == "too_many_tries" } == 40)
            #expect(Set(replies.filter { $0.status == "invalid" }.map(\.triesLeft)) == Set(0...9))
            #expect(replies.filter { $0.triesLeft == 0 }.allSatisfy { $0.waits })
            let code = try await database.invite("anna")
            #expect(try await database.redeem(code, as: "eve").status == "too_many_tries")
            #expect(try await database.redeem("AAAAAA", as: "ben").triesLeft == 9)
            try await database.execute(
                "update pairing.person set wrong_since = wrong_since - interval '1 hour' where user_id = 'eve'")
            #expect(try await database.redeem(code, as: "eve").status == "paired")
        }
    }
}

/// A result of `pairing.redeem_invite`.
struct Redeemed: Sendable {
    let status: String
    let pair: UUID?
    let partner: String?
    let triesLeft: Int
    /// Whether the result has the earliest time of the next try.
    let waits: Bool
}

extension Database {
    @discardableResult
    func invite(_ user: String) async throws -> String {
        try await query(Statement("select code from pairing.create_invite($1)", [user])).scalar(String.self)
    }

    @discardableResult
    func redeem(_ code: String?, as user: String) async throws -> Redeemed {
        let rows = try await query(
            Statement(
                """
                select status, pair_id, partner, tries_left,
                    coalesce(retry_at between now() and now() + interval '61 min', false)
                from pairing.redeem_invite($1, $2)
                """, [code, user]))
        let (status, pair, partner, triesLeft, waits) = try rows[0].decode(
            String.self, UUID?.self, String?.self, Int.self, Bool.self)
        return Redeemed(status: status, pair: pair, partner: partner, triesLeft: triesLeft, waits: waits)
    }

    /// Sets the end of the live invites that match the condition: now, or after that time.
    func expire(_ condition: String, in time: String = "-1 s") async throws {
        try await execute(
            Statement(
                """
                update pairing.invite
                set created_at = clock_timestamp() + interval '\(time)' - interval '24 hours',
                    expires_at = clock_timestamp() + interval '\(time)'
                where state = 'live' and \(condition)
                """))
    }
}
