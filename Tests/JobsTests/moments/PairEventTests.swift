import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Beginnings and ends of pairs") struct PairEventTests {
    @Test("P4: both partners get a confirmation push when a pair forms, with the other one's name")
    func confirms() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("select people.rename('anna', 'Anna')")
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            #expect(try await database.notifications == ["anna|Your partner|paired", "ben|Anna|paired"])
            #expect(
                try await database.number("select count(*) from errand.job where kind = 'notification_apns'") == 2)
        }
    }

    @Test("M8: disconnecting removes both sides' moments in any state, and tells both to clear theirs, once")
    func disconnects() async throws {
        try await withAppDatabase { database, configuration in
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            try await database.storeMoment(from: "anna")
            let waiting = try await database.photo(of: "anna")
            try await database.sendMoment(waiting, from: "anna")
            let compressed = try await database.photo(of: "ben")
            try await database.sendMoment(compressed, from: "ben")
            try await database.compress(compressed)
            let before = try await database.notifications.count
            let events = try await roomEvents(of: configuration, database) {
                for _ in 1...2 { try await database.execute("select pairing.disconnect('ben')") }
            }
            #expect(try await database.moments == [])
            #expect(try await database.number("select count(*) from media.upload") == 0)
            // Results and originals.
            #expect(try await database.number("select count(*) from media.removal where key like 'photos/%'") == 2)
            #expect(
                Set(events) == ["user:anna pair_ended pair_id", "user:ben pair_ended pair_id"] && events.count == 2)
            #expect(
                try await database.notifications.dropFirst(before).sorted()
                    == ["anna|-|pair_ended", "ben|-|pair_ended"])
            #expect(try await database.sendMoment(try await database.photo(of: "ben"), from: "ben") == "not_paired")
        }
    }

    @Test("M8: a moment that is stored while its pair ends is removed, and nobody hears of it")
    func endsMeanwhile() async throws {
        try await withAppDatabase { database, _ in
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            let photo = try await database.photo(of: "anna")
            try await database.sendMoment(photo, from: "anna")
            try await database.compress(photo)
            let disconnecting: Task<Void, any Error> = try await database.transaction { storing in
                try await storing.execute(Statement("select from media.photo where id = $1 for update", [photo]))
                let disconnecting = Task {
                    _ = try await database.execute("select pairing.disconnect('ben')")
                }
                // It has the pair's lock, and waits for the photo's.
                let waits = """
                    exists (
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock')
                    """
                #expect(try await database.becomes(waits))
                try await storing.execute(
                    Statement("select media.delivered_v1(id, key) from media.upload where photo = $1", [photo]))
                return disconnecting
            }
            try await disconnecting.value
            #expect(try await database.arrive() == ["gone"])
            #expect(try await database.moments == [])
            #expect(
                try await database.number(
                    "select count(*) from notify.message where data ->> 'event' = 'new_moment'") == 0)
        }
    }

    @Test("M8: no push says what is not true any more: of a replaced or removed moment, and of a pair that has ended")
    func withdraws() async throws {
        try await withAppDatabase { database, _ in
            let waiting = """
                select user_id, data ->> 'event'
                from notify.delivery join notify.message on message.id = message_id
                where ended_at is null
                order by delivery.id
                """
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            try await database.storeMoment(from: "anna")
            let second = try await database.storeMoment(from: "anna")
            try await database.storeMoment(from: "ben")
            #expect(
                try await database.lines(waiting)
                    == ["anna|paired", "ben|paired", "ben|new_moment", "anna|new_moment"])
            try await database.execute(Statement("select media.remove($1)", [second]))
            #expect(try await database.lines(waiting) == ["anna|paired", "ben|paired", "anna|new_moment"])
            try await database.execute("select people.rename('anna', 'Anna'), pairing.disconnect('anna')")
            #expect(try await database.lines(waiting) == ["anna|renamed", "anna|pair_ended", "ben|pair_ended"])
        }
    }

    @Test("M8: the pushes of an erased sender are withdrawn")
    func withdrawsErased() async throws {
        try await withAppDatabase { database, _ in
            try await database.registerDevices(of: "ben")
            try await database.pair("anna", "ben")
            try await database.storeMoment(from: "anna")
            try await database.execute("select people.erase('anna')")
            let waiting = """
                select data ->> 'event'
                from notify.delivery join notify.message on message.id = message_id
                where ended_at is null
                """
            #expect(try await database.lines(waiting) == ["pair_ended"])
        }
    }

    @Test("M8: at every isolation level no moment outlives its pair: the transaction is told, or fails with 40001")
    func isolation() async throws {
        let levels = ["read committed", "repeatable read", "serializable"]
        try await withAppDatabase { database, _ in
            for level in levels {
                for sendsFirst in [true, false] { try await race(at: level, sendsFirst: sendsFirst, in: database) }
            }
        }
    }

    /// Sends a moment and ends its pair, in transactions that overlap.
    private func race(at level: String, sendsFirst: Bool, in database: Database) async throws {
        try await database.pair("anna", "ben")
        let photo = try await database.photo(of: "anna")
        let calls = [
            "select status from moments.send('anna', '\(photo)')", "select status from pairing.disconnect('ben')",
        ]
        var outcome: String?
        do {
            outcome = try await database.transaction { transaction in
                try await transaction.execute(Statement("set transaction isolation level \(level)"))
                // This takes its snapshot.
                try await transaction.execute("select count(*) from pairing.pair, moments.moment")
                try await database.execute(Statement(calls[sendsFirst ? 0 : 1]))
                return try await transaction.query(Statement(calls[sendsFirst ? 1 : 0])).scalar(String.self)
            }
        } catch let error as PostgresError {
            outcome = error.sqlState
        }
        #expect(
            outcome == (level == "read committed" ? (sendsFirst ? "disconnected" : "not_paired") : "40001"),
            "\(level), \(sendsFirst)")
        let outliving = """
            select count(*) from moments.moment
            join pairing.pair on pair.id = pair_id
            where pair.ended_at is not null
            """
        #expect(try await database.number(outliving) == 0, "\(level), \(sendsFirst)")
        // A transaction that failed has left the pair.
        try await database.execute("select pairing.disconnect('ben')")
    }
}
