import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Devices") struct DeviceTests {
    @Test("a token belongs to one person: a new login moves it, with a new id, and the record says from whom")
    func moves() async throws {
        try await withAppDatabase { database, _ in
            let first = try await database.register("ben", "apns", Self.token)
            // Apple's tokens have no case.
            #expect(try await database.register("ben", "apns", Self.token.uppercased()) == first)
            let second = try await database.register("anna", "apns", Self.token, "environment => 'sandbox'")
            #expect(first != second)
            #expect(
                try await database.lines("select user_id, environment, token_prefix from devices.device_status")
                    == ["anna|sandbox|ababab…"])
            #expect(
                try await database.lines(
                    "select what, user_id, from_user, from_device from devices.change_record order by id")
                    == ["registered|ben||", "moved|anna|ben|\(first.uuidString.lowercased())"])
        }
    }

    @Test("what is not given again stays, until another person logs in")
    func details() async throws {
        try await withAppDatabase { database, _ in
            let details = "select app, time_zone, locale from devices.device_status"
            try await database.register(
                "ben", "fcm", "token-1", "app => 'com.example.app', time_zone => 'Europe/Paris', locale => 'pt-BR'")
            try await database.register("ben", "fcm", "token-1", "time_zone => 'America/Argentina/Buenos_Aires'")
            #expect(try await database.lines(details) == ["com.example.app|America/Argentina/Buenos_Aires|pt-BR"])
            try await database.register("anna", "fcm", "token-1")
            #expect(try await database.lines(details) == ["com.example.app||"])
        }
    }

    @Test("online and offline say when a device was seen, and only to the person whose it is")
    func online() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "fcm", "token-1")
            try await database.execute("update devices.device set seen_at = now() - interval '1 day'")
            let seen = "select online_since is not null, seen_at > now() - interval '1 hour' from devices.device_status"
            for call in ["device_online('token-1', 'anna')", "device_online('token-2')", "device_offline('token-2')"] {
                #expect(try await database.lines("select devices.\(call)") == ["false"], "\(call)")
            }
            #expect(try await database.lines(seen) == ["false|false"])
            #expect(
                try await database.lines("select devices.device_online('token-1', 'ben', 'Europe/Paris')") == ["true"])
            #expect(try await database.lines(seen) == ["true|true"])
            #expect(try await database.lines("select devices.device_offline('token-1')") == ["true"])
            #expect(try await database.lines(seen) == ["false|true"])
            #expect(try await database.lines("select devices.unregister('token-1', 'anna')") == ["false"])
            #expect(try await database.lines("select devices.unregister('token-1')") == ["true"])
            #expect(try await database.number("select count(*) from devices.device") == 0)
        }
    }

    @Test("a dead token is retired only if it was registered before, and a new registration revives it")
    func retires() async throws {
        try await withAppDatabase { database, _ in
            let device = try await database.register("ben", "fcm", "token-1")
            let states = "select retired_reason, retired_at is null from devices.device_status"
            func retire(_ token: String, _ since: String) async throws -> [String] {
                try await database.lines(
                    "select devices.retire_v1('\(device)', '\(token)', \(since), '410 Unregistered')")
            }
            #expect(try await retire("token-1", "now() - interval '1 minute'") == ["newer"])
            #expect(try await retire("token-2", "null") == ["gone"])
            #expect(try await database.lines(states) == ["|true"])
            #expect(try await retire("token-1", "clock_timestamp()") == ["retired"])
            #expect(try await retire("token-1", "null") == ["retired"])
            #expect(try await database.lines(states) == ["410 Unregistered|false"])
            #expect(try await database.lines("select devices.device_online('token-1')") == ["false"])
            #expect(try await database.register("ben", "fcm", "token-1") == device)
            #expect(try await database.lines(states) == ["|true"])
            #expect(
                try await database.lines("select what, reason from devices.change_record order by id")
                    == ["registered|", "retired|410 Unregistered", "revived|410 Unregistered"])
        }
    }

    @Test("30 days after it was retired a device is deleted, and the record of it too")
    func prunes() async throws {
        try await withAppQueue { test in
            for number in 1...3 {
                let device = try await test.database.register("ben", "fcm", "token-\(number)")
                if number == 3 { break }
                try await test.database.execute(
                    Statement("select devices.retire_v1($1, $2, null, 'gone')", [device, "token-\(number)"]))
            }
            try await test.database.execute(
                """
                update devices.device set retired_at = retired_at - interval '30 days' where token = 'token-1'
                """)
            try await test.database.execute(
                "update devices.change set at = at - interval '30 days' where what = 'registered'")
            #expect(try await test.run("device_prune").output?.text == #"{"changes": 3, "devices": 1}"#)
            #expect(
                try await test.database.lines("select token from devices.device order by 1") == ["token-2", "token-3"])
            #expect(try await test.database.lines("select what from devices.change") == ["retired", "retired"])
        }
    }

    @Test(
        "of 25 devices that a person registers from 8 sessions at once, 20 stay",
        arguments: ["read committed", "repeatable read", "serializable"])
    func atMostTwenty(level: String) async throws {
        try await withAppDatabase { database, _ in
            try await inEightSessions { session in
                for number in stride(from: session, to: 25, by: 8) {
                    try await database.call("select devices.register('ben', 'fcm', 'token-\(number)')", at: level)
                }
            }
            #expect(try await database.number("select count(*) from devices.device") == 20)
            #expect(
                try await database.lines("select what, count(*) from devices.change_record group by what order by what")
                    == ["dropped|5", "registered|25"])
            // The one that was not seen for longest goes next.
            try await database.execute("update devices.device set seen_at = now() - interval '1 day'")
            try await database.execute(
                """
                update devices.device set seen_at = now() - interval '2 days'
                where token = (select min(token) from devices.device)
                """)
            let oldest = try await database.lines("select min(token) from devices.device")[0]
            try await database.register("ben", "fcm", "token-new")
            #expect(try await database.number("select count(*) from devices.device where token = '\(oldest)'") == 0)
            #expect(try await database.number("select count(*) from devices.device") == 20)
        }
    }

    @Test(
        "two persons who register the same tokens at once: each token has one person, the one whom the record says",
        arguments: ["read committed", "repeatable read", "serializable"])
    func oneTokenAtOnce(level: String) async throws {
        try await withAppDatabase { database, _ in
            try await inEightSessions { session in
                for number in 0..<10 {
                    let user = (session + number) % 2 == 0 ? "anna" : "ben"
                    let token = "token-\((number * (session % 3 + 1)) % 5)"
                    try await database.call("select devices.register('\(user)', 'fcm', '\(token)')", at: level)
                }
            }
            #expect(try await database.number("select count(*) from devices.device") == 5)
            // The last change of each chain of ids is the device's own.
            #expect(
                try await database.number(
                    """
                    select count(*)
                    from devices.device
                    where user_id <> (
                        select change.user_id
                        from devices.change
                        where device_id = device.id
                        order by change.id desc
                        limit 1)
                    """) == 0)
            #expect(
                try await database.number(
                    "select count(*) from devices.change where what = 'moved' and (from_user = user_id or from_user is null)"
                ) == 0)
        }
    }

    @Test("arguments out of bounds are refused with what was expected, and no token is in the message")
    func refuses() async throws {
        try await withAppDatabase { database, _ in
            for (call, expected) in [
                ("register('', 'fcm', 'secret')", "register: user_id: expected 1 to 200 characters, got 0"),
                ("register('ben', 'web', 'secret')", "register: platform: expected apns or fcm, got 'web'"),
                (
                    "register('ben', 'apns', 'secret')",
                    "register: token: expected 16 to 400 hex digits, got 6 characters"
                ),
                ("register('ben', 'fcm', null)", "register: token: expected one, got null"),
                (
                    "register('ben', 'fcm', 'secret', environment => 'sandbox')",
                    "register: environment: expected none beside the platform fcm, got 'sandbox'"
                ),
                (
                    "register('ben', 'fcm', 'secret', time_zone => 'Europe/Atlantis')",
                    "time zone: expected an IANA name such as Europe/Paris, got Europe/Atlantis"
                ),
                (
                    "register('ben', 'fcm', 'secret', locale => '!')",
                    "register: locale: expected a language and a region such as pt-BR, got '!'"
                ),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select devices.\(call)"))
                }
                #expect(error?.sqlState == "ER422" && error?.detail.contains(expected) == true, "\(call)")
                #expect(error?.detail.contains("secret") == false)
            }
        }
    }

    @Test("a person's data is exported and erased, and in the record of others the name is gone")
    func erases() async throws {
        try await withAppDatabase { database, _ in
            try await database.register("ben", "fcm", "token-1")
            try await database.register("ben", "fcm", "token-2")
            try await database.register("anna", "fcm", "token-2")
            let keys =
                "select string_agg(key, ' ' order by key) from jsonb_object_keys(devices.export_person('ben')) as key"
            #expect(try await database.lines(keys) == ["changes devices"])
            #expect(try await database.lines("select devices.export_person('carl')") == ["{}"])
            #expect(try await database.number("select devices.erase_person('ben')") > 0)
            #expect(try await database.number("select devices.erase_person('ben')") == 0)
            #expect(try await database.lines("select devices.export_person('ben')") == ["{}"])
            #expect(
                try await database.lines("select what, user_id, from_user from devices.change_record") == [
                    "moved|anna|"
                ])
        }
    }

    private static let token = String(repeating: "ab", count: 32)

    private func inEightSessions(_ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for session in 0..<8 { group.addTask { try await body(session) } }
            try await group.waitForAll()
        }
    }
}

extension Database {
    /// Registers a device. Returns its id.
    @discardableResult
    func register(_ user: String, _ platform: String, _ token: String, _ options: String = "") async throws -> UUID {
        let more = options.isEmpty ? "" : ", \(options)"
        return try await query(Statement("select devices.register($1, $2, $3\(more))", [user, platform, token]))
            .scalar(UUID.self)
    }

    /// Calls a function at this isolation level, again after each serialization failure.
    fileprivate func call(_ sql: String, at level: String) async throws {
        while true {
            do {
                return try await transaction { transaction in
                    try await transaction.execute(Statement("set transaction isolation level \(level)"))
                    _ = try await transaction.query(Statement(sql))
                }
            } catch let error as PostgresError where error.sqlState == "40001" && level != "read committed" {
                continue
            }
        }
    }
}
