import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import NIOHTTP1
import Postgres
import StorageKit
import Testing

@testable import ErrandStorage
@testable import Jobs
@testable import Outbound

@Suite("Event purge") struct EventPurgeTests {
    @Test("E1: an event is deleted 8 days after its end and no sooner; counted from its start, not before its end")
    func due() async throws {
        let store = try bucket()
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let day = 86_400
            // Of 8 days each: ended as long ago as kept, but for 20 s; just over that; begun 8 days ago; not yet that.
            let early = try await database.makeEvent()
            try await database.age(early, by: 16 * day - 20)
            let late = try await database.makeEvent()
            try await database.age(late, by: 16 * day)
            let ended = try await database.makeEvent()
            try await database.age(ended, by: 8 * day)
            let live = try await database.makeEvent()
            try await database.age(live, by: 8 * day - 20)
            let long = try await database.query(
                "select events.create('anna', 'A year', now() - interval '30 days', now() + interval '1 day')"
            ).scalar(UUID.self)

            #expect(try await purge(test).events == 1)
            #expect(try await left(database) == [early, ended, live, long])
            #expect(
                try await database.lines("select purge_at = ends_at + interval '192 hours' from events.event_status")
                    == ["true", "true", "true", "true"])
            try await database.execute("select events.set_kept_from('start', 'our terms')")
            #expect(try await purge(test).events == 2)
            #expect(try await left(database) == [live, long])
            #expect(
                try await database.lines(
                    "select purge_at = greatest(starts_at + interval '192 hours', ends_at) from events.event_status")
                    == ["true", "true"])
        }
        await store.stop()
    }

    @Test(
        "E1: all of an event goes, known and unknown, and nothing of another one; a receipt has counts and nothing else",
        arguments: ["rclone", "moto", "folder"])
    func allOfIt(server: String) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store: any ObjectStore =
            switch server {
            case "rclone": try bucket(.rclone())
            case "moto": try bucket(.moto())
            default: try FolderStore(root: root)
            }
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let (over, live) = (try await database.makeEvent(guests: ["ben"]), try await database.makeEvent())
            for number in 1...3 { try await addDelivered("\(number).jpg", to: over, by: "ben", database, store) }
            try await addDelivered("4.jpg", to: over, database, store)
            for number in 1...3 { try await addDelivered("\(number).jpg", to: live, database, store) }
            let stray = try ObjectKey(Database.key("stored/and/never-told.heic", in: over))
            try await store.put([9], at: stray)
            try await store.put([9], at: ObjectKey("avatars/anna.jpg"))
            // These are no valid keys, but the rows exist.
            let strays = ["IMG 1.jpg", "ünreg.jpg", ".put-1a2b", "Annas Fotos/1.jpg", "a<b>&c.jpg"]
            for name in strays { try await put(Database.key(name, in: over), in: store, root) }
            try await put(Database.key("IMG 1.jpg", in: live), in: store, root)
            let rowsOfLive = 1 + 1 + 3 * 3
            let keysOfLive = try await store.all().filter { key in
                !key.contains(over.uuidString.lowercased()) && !key.hasPrefix("photos/")
            }
            let resultsOfLive = try await database.lines(
                "select result_key from events.event_photo_status where event_id = '\(live)'")
            try await database.letEnd(over)

            #expect(try await purge(test) == .init(events: 1, photos: 4, are_objects_due: true))
            #expect(try await test.drain().outcomes == [.succeeded])
            // Registered objects are removed at once. Objects of running uploads are removed by a later listing.
            #expect(try await store.all() == (keysOfLive + resultsOfLive + [stray.text]).sorted())
            #expect(try await database.number("select count(*) from media.removal") == 1)
            #expect(
                try await database.lines("select people, photos, objects, objects_left from media.receipt_status")
                    == ["2|4|8|1"])
            for _ in 1...3 {
                try await database.ageRemovals()
                try await purge(test)
                try await test.drain()
            }
            #expect(try await store.all() == (keysOfLive + resultsOfLive).sorted())
            #expect(
                try await names(in: store, root).filter { $0.contains(over.uuidString.lowercased()) } == [],
                "neither names nor folders")
            #expect(try await names(in: store, root).contains(Database.key("IMG 1.jpg", in: live)))
            #expect(try await database.eventRows == rowsOfLive)
            #expect(
                try await database.lines(
                    "select reason, people, photos, objects, objects_left, finished_at > asked_at from media.receipt_status"
                )
                    == ["event_purge|2|4|14|0|true"])
            try await expectNoTrace(of: [over.uuidString.lowercased(), "ben"], in: database)
        }
        await store.stop()
    }

    @Test("E2: of a thousand objects a store refuses one in twenty, again and again: in the end none is left")
    func refusals() async throws {
        let prefix = "t-\(UUID().uuidString)"
        let direct = try bucket(prefix: prefix)
        let refusal = DeleteRefusal(oneOf: 20) { names in
            let failed = try await direct.delete(names.map { try ObjectKey(String($0.dropFirst(prefix.count + 1))) })
            if let error = failed.values.first { throw error }
        }
        let proxy = try FaultProxy(to: BucketServer.moto().port) { refusal.fault(for: $0) }
        let store = try bucket(prefix: prefix, port: proxy.port)
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let live = try await database.makeEvent()
            let keys = (0..<1000).map { "a/\($0).jpg" }
            // The objects don't matter here: a photo's key is deleted even without an object.
            for number in 0..<5 {
                let event = try await database.makeEvent(each: 200)
                let added = try await database.query(
                    Statement(
                        "select count(*) from unnest($2::text[]) as key, events.add_photo($1, 'anna', key) "
                            + "where status = 'added'",
                        [event, keys[number * 200..<number * 200 + 200].map { Database.key($0, in: event) }])
                ).scalar(Int.self)
                #expect(added == 200)
                for key in keys[number * 200..<number * 200 + 10] {
                    try await store.put([1], at: ObjectKey(Database.key(key, in: event)))
                }
                try await database.letEnd(event)
            }
            try await addDelivered("1.jpg", to: live, database, store)
            let kept = try await direct.all().filter { $0.contains(live.uuidString.lowercased()) }

            var rounds = 0
            repeat {
                try await purge(test)
                try await test.drain()
                try await database.ageRemovals()
                rounds += 1
            } while try await database.number("select count(*) from media.removal") > 0 && rounds < 20
            #expect(refusal.refused >= 50)
            #expect(rounds < 20)
            #expect(try await direct.all().filter { !$0.hasPrefix("photos/") } == kept)
            #expect(
                try await database.lines(
                    "select count(*), sum(photos), sum(objects), count(finished_at) from media.receipt") == [
                        "5|1000|1000|5"
                    ])
            #expect(try await database.number("select count(*) from errand.failed") == 0)
            #expect(try await database.number("select count(*) from events.event") == 1)
        }
        withExtendedLifetime(proxy) {}
        await store.stop()
        await direct.stop()
    }

    @Test("E1: in a bucket that keeps versions, every version is deleted, and none of another event")
    func versions() async throws {
        let store = try bucket(named: "versioned", options: "&versions=removed")
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let (over, live) = (try await database.makeEvent(), try await database.makeEvent())
            for round in 1...3 {
                try await addDelivered("\(round).jpg", to: over, database, store)
                // A second put of the key creates another version.
                try await store.put([UInt8(round)], at: ObjectKey(Database.key("1.jpg", in: over)))
            }
            try await addDelivered("1.jpg", to: live, database, store)
            let before = try await versions(in: store)
            try await database.letEnd(over)
            try await purge(test)
            try await test.drain()
            #expect(before == 11)
            #expect(try await versions(in: store) == 2)
        }
        await store.stop()
    }

    @Test(
        "E1, E2: while the store can't be reached the rows go in time, the removal waits and spends nothing, and then it goes on"
    )
    func down() async throws {
        let proxy = try FaultProxy(to: BucketServer.moto().port)
        let store = try bucket(port: proxy.port)
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let event = try await database.makeEvent()
            try await addDelivered("1.jpg", to: event, database, store)
            try await database.letEnd(event)
            proxy.stop()
            #expect(try await purge(test) == .init(events: 1, photos: 1, are_objects_due: true))
            #expect(try await database.number("select count(*) from events.event") == 0)
            let run = try await test.run(ObjectRemovalHandler(store: store), ObjectRemoval())
            #expect(run.attemptOutcome == .parked)
            #expect(
                try await database.lines(
                    "select state, error like 'storage: unreachable%' from media.removal_status "
                        + "where not is_folder order by id") == ["refused|true", "refused|true"])
            try proxy.start()
            try await Task.sleep(for: .seconds(1))
            try await database.execute("select errand.circuit_close('storage')")
            let again = try await test.run(ObjectRemovalHandler(store: store), ObjectRemoval())
            #expect(again.attemptOutcome == .succeeded)
            #expect(try await store.all() == [])
        }
        withExtendedLifetime(proxy) {}
        await store.stop()
    }

    @Test("E1: an event whose originals are gone, or are just being removed, is purged like any other")
    func withoutOriginals() async throws {
        let store = try bucket()
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let event = try await database.makeEvent()
            try await addDelivered("1.jpg", to: event, database, store, keepsOriginal: false)
            try await database.execute("select errand.enqueue('object_removal')")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await store.all().filter { $0.hasPrefix("events/") } == [])
            #expect(try await database.add("1.jpg", to: event).status == "already_added")
            try await addDelivered("2.jpg", to: event, database, store, keepsOriginal: false)
            // Its removal is listed: the key is not free, and the photo is known all the same.
            #expect(try await database.add("2.jpg", to: event).status == "already_added")
            try await database.letEnd(event)
            for _ in 1...3 {
                try await purge(test)
                try await test.drain()
                try await database.ageRemovals()
            }
            #expect(try await store.all() == [])
            #expect(try await database.eventRows == 0)
            #expect(
                try await database.lines("select photos, finished_at is not null from media.receipt_status") == [
                    "2|true"
                ])
        }
        await store.stop()
    }

    @Test("E2: a lost response of the store, and a lost attempt with its batch, cost a minute")
    func lost() async throws {
        let store = try bucket()
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let event = try await database.makeEvent()
            for number in 1...5 { try await addDelivered("\(number).jpg", to: event, database, store) }
            try await database.letEnd(event)
            try await purge(test)
            // Like an attempt that was killed after the store had removed them.
            let taken = try await database.query("select id, key from media.removals_v1(100) where not is_folder")
            #expect(taken.count == 10)
            let ids = try taken.map { try $0.decode(Int64.self, String.self).0 }
            _ = try await store.delete(try taken.map { try ObjectKey(try $0.decode(Int64.self, String.self).1) })
            let early = try await test.run(ObjectRemovalHandler(store: store), ObjectRemoval())
            #expect(try early.report() == ObjectRemovalHandler.Report())
            try await database.ageRemovals(by: 60)
            #expect(try await database.number("select count(*) from media.removals_v1(100)") == 10)
            // Another purge owns the rows now. A removed object counts once, whichever purge reports it.
            #expect(try await database.confirm(ids, at: 1) == 10)
            #expect(try await database.confirm(ids, at: 2) == 0)
            #expect(try await database.lines("select objects, objects_left from media.receipt_status") == ["10|1"])
            // A listing that began before all objects had arrived says nothing about later ones.
            let folder = try await database.query("select id from media.removal").column(0, as: Int64.self)
            try await database.ageRemovals()
            #expect(try await database.number("select count(*) from media.removals_v1(100) where is_ready") == 1)
            #expect(try await database.confirm(folder, at: 1) == 0)
            #expect(try await database.confirm(folder, at: 2) == 1)
        }
        await store.stop()
    }

    @Test(
        "E4: a photo that its owner deletes is deleted from the store, as are the photos of a leaving participant who asks for it"
    )
    func ownPhotos() async throws {
        let store = try bucket()
        try await withAppQueue(handlers(store)) { test in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            try await addDelivered("1.jpg", to: event, database, store)
            let kept = try await store.all()
            for number in 2...4 { try await addDelivered("\(number).jpg", to: event, by: "ben", database, store) }
            try await database.execute(
                "select events.delete_photo(photo, 'ben') from events.photo where source_key like '%/2.jpg'")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await store.all().count == 6)
            try await database.execute(Statement("select events.leave($1, 'ben', with_photos => true)", [event]))
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await store.all() == kept)
            #expect(try await database.number("select count(*) from media.removal") == 0)
        }
        await store.stop()
    }
}

// MARK: - Helpers
extension EventPurgeTests {
    private func handlers(_ store: any ObjectStore) -> [any JobHandler] {
        [ObjectRemovalHandler(store: store)]
    }

    /// Runs the job `event_purge`, and no other.
    @discardableResult
    private func purge(_ test: TestQueue) async throws -> PurgeReport { try await test.database.purgeEvents() }

    private func left(_ database: Database) async throws -> [UUID] {
        try await database.query("select id from events.event order by created_at").column(0, as: UUID.self)
    }

    /// Puts an object with a name that may be an invalid key.
    private func put(_ name: String, in store: any ObjectStore, _ root: String) async throws {
        if let store = store as? S3Store {
            let path = "\(store.client.configuration.prefix)/\(name)"
            _ = try await store.client.send(.init(method: .PUT, key: path, body: S3Body([9]), what: "put"))
        } else {
            let file = URL(fileURLWithPath: root).appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data([9]).write(to: file)
        }
    }

    /// All names in the store, valid keys or not, including folders.
    private func names(in store: any ObjectStore, _ root: String) async throws -> [String] {
        guard let store = store as? S3Store else { return try FileManager.default.subpathsOfDirectory(atPath: root) }
        let prefix = store.client.configuration.prefix
        let page = try await store.client.ask(
            .init(method: .GET, query: [("list-type", "2"), ("prefix", prefix)], what: "names"))
        return page.all("Contents").compactMap { $0["Key"]?.text.dropFirst(prefix.count + 1) }.map(String.init)
    }

    /// The number of versions and delete markers below the store's prefix.
    private func versions(in store: S3Store) async throws -> Int {
        let prefix = store.client.configuration.prefix
        let page = try await store.client.ask(
            .init(method: .GET, query: [("versions", ""), ("prefix", prefix)], what: "versions"))
        return page.all("Version").count + page.all("DeleteMarker").count
    }

    /// Searches every row of the schemas events and media.
    private func expectNoTrace(of words: [String], in database: Database) async throws {
        let tables = try await database.query(
            """
            select oid::regclass::text from pg_class
            where relnamespace in ('events'::regnamespace, 'media'::regnamespace) and relkind = 'r'
            """
        ).column(0, as: String.self)
        #expect(tables.count >= 8)
        for table in tables {
            for word in words {
                #expect(
                    try await database.number(
                        "select count(*) from \(table) as row where strpos(row::text, '\(word)') > 0")
                        == 0, "\(word) in \(table)")
            }
        }
    }
}

extension Database {
    /// Confirms that the attempt of this number has removed these objects. Returns the number of removed rows.
    fileprivate func confirm(_ ids: [Int64], at number: Int) async throws -> Int {
        try await query(
            Statement(
                "select media.removed_v1($1, array_fill($2::int4, array[cardinality($1)]))", [ids, number])
        ).scalar(Int.self)
    }
}
