import AppTestKit
import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("What a worker's login may define") struct LoginTests {
    @Test("a kind is not redirected by another login while its workers are alive; it is afterwards")
    func kinds() async throws {
        try await withLogins { database, own, other in
            #expect(try await database.refusal(of: register("mail"), by: own) == nil)
            #expect(try await database.refusal(of: register("elsewhere"), by: other) == "ER409")
            #expect(try await database.refusal(of: register("mail"), by: other) == nil)
            #expect(try await database.refusal(of: register("mail", more: #", "is_whole": true"#), by: other) == nil)
            let limited = register("mail", more: #", "is_whole": true, "max_running": 1"#)
            #expect(try await database.refusal(of: limited, by: other) == "ER409")
            #expect(try await database.text("select queue from errand.kind where name = 'letter'") == "mail")
            #expect(try await database.refusal(of: register("post"), by: own) == nil)
            try await database.execute("update errand.worker set heartbeat_at = now() - interval '2 hours'")
            #expect(try await database.refusal(of: register("elsewhere"), by: other) == nil)
            #expect(
                try await database.text("select queue, registered_by from errand.kind where name = 'letter'")
                    == "elsewhere|\(other)")
        }
    }

    @Test("only its own login changes a schedule, it keeps its kind, and schedules of SQL stay")
    func schedules() async throws {
        try await withLogins { database, own, other in
            func define(_ name: String, _ kind: String, _ cron: String) -> String {
                "select errand_internal.schedule_define_v1('\(name)', '\(cron)', '\(kind)', '{}', 'UTC', 'latest', null, '1 min', 1)"
            }
            #expect(try await database.refusal(of: define("purge", "event_purge", "every 15 s"), by: own) == nil)
            #expect(try await database.refusal(of: define("purge", "event_purge", "@yearly"), by: other) == "ER409")
            #expect(try await database.refusal(of: define("purge", "noop", "@yearly"), by: own) == "ER409")
            #expect(try await database.refusal(of: define("purge", "event_purge", "every 20 s"), by: own) == nil)
            try await database.execute("select errand.put_schedule('nightly', '0 3 * * *', 'event_purge')")
            #expect(try await database.refusal(of: define("nightly", "event_purge", "@yearly"), by: own) == "ER409")
            let kept = "select name, every, cron from errand.schedule where app is null order by name"
            #expect(try await database.text(kept) == "nightly||0 3 * * *\npurge|00:00:20|")
        }
    }

    @Test("a lease is at most an hour")
    func leases() async throws {
        try await withTestDatabase { database, _ in
            func refusal(of lease: String) async throws -> String? {
                let call = "select errand_internal.register_worker_v1('w', '1', '\(lease)', '{default}', '[]')"
                return try await database.refusal(of: call)
            }
            let longest = try await refusal(of: "1 hour")
            #expect(longest == nil)
            for lease in ["1001 years", "0 s", "61 min"] {
                let refused = try await refusal(of: lease)
                #expect(refused == "ER422", "\(lease)")
            }
        }
    }

    @Test("no worker's login shortens what is kept, or replaces the store of the database; an operator's does")
    func destruction() async throws {
        try await withLogins { database, own, other in
            for (call, state) in [
                ("errand_internal.prune()", "42501"), ("errand_internal.drop_partition()", "42501"),
                ("errand_internal.drop_payloads(0)", "42501"), ("errand_internal.make_partitions(1)", "42501"),
                ("errand_internal.set_due('prune', '-1 s')", "42501"),
            ] {
                #expect(try await database.refusal(of: "select \(call)", by: own) == state, "\(call)")
            }
            for (seconds, state) in [("60", "ER422"), ("86399", "ER422"), ("86400", nil)] {
                for field in ["keep_ended_s", "keep_failed_s"] {
                    let call = register("mail", more: #", "is_whole": true, "\#(field)": \#(seconds)"#)
                    #expect(try await database.refusal(of: call, by: own) == state, "\(field) \(seconds)")
                }
            }
            func record(_ id: Int) -> String {
                "select media.set_store_v1('00000000-0000-0000-0000-00000000000\(id)')"
            }
            #expect(try await database.refusal(of: record(1), by: own) == nil)
            #expect(try await database.refusal(of: record(1), by: own) == nil)
            #expect(try await database.refusal(of: record(2), by: own) == "42501")
            #expect(try await database.text("select right(id::text, 1) from media.store") == "1")
            try await database.execute(Statement("grant errand_ops to \(other)"))
            #expect(try await database.refusal(of: record(2), by: other) == nil)
            #expect(try await database.text("select right(id::text, 1) from media.store") == "2")
        }
    }

    private func register(_ queue: String, more: String = "") -> String {
        """
        select errand_internal.register_worker_v1(
            'w', '1', '1 min', '{mail}',
            '[{"name": "letter", "queue": "\(queue)", "max_attempts": 3, "priority": 2\(more)}]')
        """
    }

    /// Two logins of programs, for as long as `body` runs.
    private func withLogins(_ body: (Database, String, String) async throws -> Void) async throws {
        try await withAppDatabase { database, _ in
            let names = (1...2).map { "errand_test_login\($0)_\(UInt32.random(in: 0...UInt32.max))" }
            for name in names { try await database.execute(Statement("create role \(name) in role errand_worker")) }
            do {
                try await body(database, names[0], names[1])
            } catch {
                for name in names { try await database.execute(Statement("drop role \(name)")) }
                throw error
            }
            for name in names { try await database.execute(Statement("drop role \(name)")) }
        }
    }
}

extension Database {
    /// The SQLSTATE with which a call is refused to a login; nil if it isn't.
    fileprivate func refusal(of sql: String, by login: String) async throws -> String? {
        do {
            try await transaction { transaction in
                try await transaction.execute(Statement("set local session authorization \(login)"))
                try await transaction.execute(Statement(sql))
            }
            return nil
        } catch let error as PostgresError {
            return error.sqlState ?? "no state"
        }
    }
}
