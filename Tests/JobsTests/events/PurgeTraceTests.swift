import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@testable import Jobs

@Suite("What stays of a purged event") struct PurgeTraceTests {
    /// Words that only a user or a phone can have given: a title, users, names, and parts of keys.
    private static let words = [
        "Hanna's 40th", "anna-17", "ben-18", "Benjamino", "missing-original", "handed-over", "IMG_0042",
    ]

    @Test("E1: history, failed jobs, audit and notifications have ids that lead nowhere, and nobody's words")
    func noWords() async throws {
        let isBroken = Mutex(true)
        // A store that refuses whatever is put below an event's folder.
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            let isRefused = isBroken.withLock(\.self) && request.method == "PUT" && request.path.contains("/events/")
            return isRefused ? .respond(400, code: "InvalidRequest") : .none
        }
        try await withService(through: proxy) { service in
            let (database, store) = (service.database, service.store)
            let event = try await database.query(
                """
                select events.create(
                    'anna-17', 'Hanna''s 40th', reveal_at => clock_timestamp() + interval '100 ms', host_name => 'Hanna''s')
                """
            ).scalar(UUID.self)
            try await database.execute(Statement("select events.join($1, 'ben-18', 'Benjamino')", [event]))
            try await database.execute("select devices.register('ben-18', 'fcm', repeat('x', 100))")
            // One photo is delivered, one has no original, and an original that was handed over is refused.
            isBroken.withLock { $0 = false }
            try await store.put(Samples.small, at: ObjectKey(Database.key("IMG_0042.png", in: event)))
            isBroken.withLock { $0 = true }
            try await service.stage([Database.key("handed-over.png", in: event)], Samples.small)
            for name in ["IMG_0042.png", "missing-original.jpg", "handed-over.png"] {
                #expect(try await database.add(name, to: event, by: "ben-18").status == "added")
            }
            #expect(
                try await database.becomes(
                    """
                    (select count(*) from errand.failed) = 2 and exists (
                        select from media.photo_status where state = 'delivered')
                        and exists (select from events.event where revealed_at is not null)
                    """))
            #expect(
                try await database.number("select count(*) from media.photo where error like '%missing-original%'") == 1
            )
            isBroken.withLock { $0 = false }
            try await database.letEnd(event)
            #expect(try await database.number("select count(*) from events.purge_due_v1()") == 1)
            for _ in 1...2 {
                try await database.ageRemovals()
                try await database.execute("select errand.enqueue('object_removal')")
                #expect(try await database.becomes("not exists (select from errand.job where kind = 'object_removal')"))
            }
            #expect(try await store.all() == [])
            // A user's devices and notifications are the user's, and not the event's.
            try await database.execute("delete from errand.job where kind like 'notification_%'")
            try await database.execute("delete from errand.history where kind like 'notification_%'")
            let traces = try await database.traces(of: Self.words).filter {
                !$0.hasPrefix("devices.") && !($0.hasPrefix("notify.") && ($0.hasSuffix("-17") || $0.hasSuffix("-18")))
            }
            #expect(traces == [])
            #expect(
                try await database.traces(of: [event.uuidString.lowercased()]).contains {
                    $0.hasPrefix("errand.history")
                })
        }
        withExtendedLifetime(proxy) {}
    }
}

extension Database {
    /// Searches every row of every table. Returns the tables with the words that they have.
    fileprivate func traces(of words: [String]) async throws -> [String] {
        let tables = try await query(
            """
            select oid::regclass::text
            from pg_class
            where relkind in ('r', 'p') and not relispartition
                and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
            """
        ).column(0, as: String.self)
        var found: [String] = []
        for table in tables {
            found += try await query(
                Statement(
                    """
                    select '\(table) ' || word
                    from unnest($1::text[]) as word
                    where exists (select from \(table) as row where strpos(row::text, word) > 0)
                    """, [words])
            ).column(0, as: String.self)
        }
        return found
    }
}
