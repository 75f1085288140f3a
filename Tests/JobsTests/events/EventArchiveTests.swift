import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

@testable import Jobs

@Suite("Archives of events") struct EventArchiveTests {
    @Test("E6: all photos of an event are in one ZIP file, once each", arguments: ["folder", "moto"])
    func allPhotos(server: String) async throws {
        try await withArchives(in: server) { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben", "carl"])
            try await database.execute(Statement("select events.rename_participant($1, 'ben', 'Bén ../b')", [event]))
            #expect(try await ask(event, as: "ben", database) == "empty")
            var expected: [String: [UInt8]] = [:]
            for (number, name) in ["0001 Bén b.jpg", "0002 Bén b.jpg", "0003.jpg"].enumerated() {
                let bytes = (0..<(100_000 * number)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) }
                try await add("\(number).jpg", bytes, to: event, by: number < 2 ? "ben" : "carl", database, store)
                expected[name] = bytes
            }
            try await database.add("later.jpg", to: event)

            #expect(try await ask(event, as: "eve", database) == "not_joined")
            #expect(try await ask(event, as: "ben", database) == "making")
            #expect(try await ask(event, as: "anna", database) == "making")
            #expect(try await archives(store) == [])
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await ask(event, as: "carl", database) == "made")
            let key = try await key(of: event, database)
            #expect(try await archives(store) == [key.text])
            let bytes = try await store.get(key)
            #expect(try unzipped(bytes) == expected)
            #expect(
                try await database.lines(
                    """
                    select state, photos, missing, bytes, is_current, link_seconds
                    from events.archive_status('\(event)', 'ben')
                    """) == ["made|3|0|\(bytes.count)|true|604800"])
            #expect(try await database.lines("select * from events.archive_status('\(event)', 'eve')") == [])
        }
    }

    @Test("E6: an archive is made again after photos were added, and the earlier one stays until then")
    func again() async throws {
        try await withArchives { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            try await add("1.jpg", [1], to: event, by: "ben", database, store)
            #expect(try await ask(event, as: "ben", database) == "making")
            #expect(try await test.drain().outcomes == [.succeeded])
            let first = try await key(of: event, database)

            try await add("2.jpg", [2], to: event, database, store)
            #expect(try await database.lines(status(event, "state, is_current")) == ["made|false"])
            #expect(try await ask(event, as: "ben", database) == "making")
            #expect(try await key(of: event, database) == first)
            // The archive, and the removal of the earlier one.
            #expect(try await test.drain().outcomes == [.succeeded, .succeeded])
            #expect(try await database.lines(status(event, "state, is_current, photos")) == ["made|true|2"])
            let second = try await key(of: event, database)
            #expect(try await archives(store) == [second.text])
            #expect(try unzipped(try await store.get(second)).count == 2)
        }
    }

    @Test("E6: before the reveal no archive is made, and nobody sees one that was made before")
    func hidden() async throws {
        try await withArchives { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            try await add("1.jpg", [1], to: event, by: "ben", database, store)
            #expect(try await ask(event, as: "ben", database) == "making")
            #expect(try await test.drain().outcomes == [.succeeded])
            try await add("2.jpg", [2], to: event, by: "ben", database, store)
            #expect(try await ask(event, as: "ben", database) == "making")
            try await database.execute(
                "select events.edit(id, host, reveal_at => now() + interval '1 h') from events.event")
            for user in ["anna", "ben"] {
                let error = await #expect(throws: PostgresError.self) { try await ask(event, as: user, database) }
                #expect(error?.sqlState == "ER409")
                #expect(try await database.lines(status(event, "state", as: user)) == [])
            }
            // The removal of what the job may have stored.
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await database.number("select count(*) from events.archive where made_at is not null") == 1)
        }
    }

    @Test("E6: a reveal that is planned while an archive is made ends that, and after the reveal another one is made")
    func hiddenMeanwhile() async throws {
        try await withArchives { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            try await add("1.jpg", [1], to: event, by: "ben", database, store)
            #expect(try await ask(event, as: "ben", database) == "making")
            for reveal in ["now() + interval '1 h'", "now()"] {
                try await database.execute(
                    Statement("select events.edit(id, host, reveal_at => \(reveal)) from events.event"))
                try await test.drain()
                #expect(try await database.lines(status(event, "state")) == [], "\(reveal)")
            }
            #expect(try await ask(event, as: "ben", database) == "making")
            try await test.drain()
            #expect(try await database.lines(status(event, "state")) == ["made"])
        }
    }

    @Test(
        "E6: an archive goes with a photo that is deleted from it, with an erased person's, and with its event",
        arguments: [
            "events.delete_photo((select photo from events.photo where user_id = 'ben'), 'ben')",
            "events.leave((select id from events.event), 'ben', with_photos => true)", "events.erase_person('ben')",
            "events.delete((select id from events.event), 'anna')", "events.erase_person('anna')", "purge",
        ])
    func goes(call: String) async throws {
        try await withArchives { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            try await add("1.jpg", [1], to: event, by: "ben", database, store)
            try await add("2.jpg", [2], to: event, database, store)
            #expect(try await ask(event, as: "ben", database) == "making")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await archives(store).count == 1)
            // And one that is waiting to be made.
            try await add("3.jpg", [3], to: event, database, store)
            #expect(try await ask(event, as: "anna", database) == "making")

            if call == "purge" {
                try await database.letEnd(event)
                try await database.execute("select events.purge_due_v1()")
                try await database.execute("select errand.enqueue('object_removal')")
            } else {
                try await database.execute(Statement("select \(call)"))
            }
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await archives(store) == [])
            #expect(try await database.number("select count(*) from events.archive") == 0)
        }
    }

    @Test("E6: an archive that is removed while it is made never appears", arguments: ["folder", "moto"])
    func removedMeanwhile(server: String) async throws {
        try await withArchives(in: server) { test, store in
            let database = test.database
            let event = try await database.makeEvent(guests: ["ben"])
            for number in 1...3 { try await add("\(number).jpg", [1], to: event, by: "ben", database, store) }
            #expect(try await ask(event, as: "ben", database) == "making")
            let archive = try await database.query("select id from events.archive").scalar(UUID.self)
            let deleting = HookedStore(
                plain: store,
                afterWriter: {
                    try await database.execute("select events.delete_photo(photo, user_id) from events.photo limit 1")
                })
            let run = try await test.run(EventArchiveHandler(store: deleting), EventArchive(archive: archive))
            #expect(run.attemptOutcome == .cancelled)
            #expect(try await archives(store) == [])
            #expect(try await database.number("select count(*) from errand.failed") == 0)
            #expect(try await ask(event, as: "ben", database) == "making")
            try await database.execute("delete from media.removal")
            #expect(try await test.drain().outcomes.contains(.succeeded))
            #expect(try unzipped(try await store.get(try await key(of: event, database))).count == 2)
        }
    }

    @Test("E6: a photo that the store has lost is left out and counted")
    func missing() async throws {
        try await withArchives { test, store in
            let database = test.database
            let event = try await database.makeEvent()
            for number in 1...2 { try await add("\(number).jpg", [1], to: event, database, store) }
            let lost = try await database.lines("select result_key from media.photo order by submitted_at limit 1")
            try await store.delete(ObjectKey(lost[0]))
            #expect(try await ask(event, as: "anna", database) == "making")
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await database.lines(status(event, "photos, missing")) == ["1|1"])
            #expect(try unzipped(try await store.get(try await key(of: event, database))).keys.sorted() == ["0002.jpg"])
        }
    }

    @Test(
        "a photo's name in an archive is numbered, and has nothing of a person's name that leads out of a folder",
        arguments: [
            (nil, "photos/1.jpg", "0007.jpg"), ("Anna", "photos/1.avif", "0007 Anna.avif"),
            ("../../etc/passwd", "photos/1.jpg", "0007 etc passwd.jpg"), ("C:\\x\u{202E}\n\0y", "a", "0007 C x y.jpg"),
            ("  奈々  🎉 ", "photos/1.webp", "0007 奈々.webp"), ("...", "photos/1.J/P", "0007.jpg"),
            (String(repeating: "ab ", count: 30), "1.jpg", "0007 " + String(repeating: "ab ", count: 12) + "ab a.jpg"),
        ])
    func names(person: String?, key: String, expected: String) {
        #expect(EntryName(number: 7, of: 12, person: person, key: key).text == expected)
        #expect(EntryName(number: 7, of: 12_345, person: nil, key: key).text.hasPrefix("00007."))
    }
}

// MARK: - Helpers
extension EventArchiveTests {
    private func withArchives(
        in server: String = "folder", _ body: (TestQueue, any ObjectStore) async throws -> Void
    ) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        let store: any ObjectStore = server == "folder" ? try FolderStore(root: root) : try bucket()
        try await withAppQueue([EventArchiveHandler(store: store), ObjectRemovalHandler(store: store)]) { test in
            try await body(test, store)
        }
        await store.stop()
    }

    @discardableResult
    private func ask(_ event: UUID, as user: String, _ database: Database) async throws -> String {
        try await database.query(Statement("select events.archive($1, $2)", [event, user])).scalar(String.self)
    }

    private func status(_ event: UUID, _ columns: String, as user: String = "anna") -> String {
        "select \(columns) from events.archive_status('\(event)', '\(user)')"
    }

    private func key(of event: UUID, _ database: Database) async throws -> ObjectKey {
        try ObjectKey(try await database.query(Statement(status(event, "key"))).scalar(String.self))
    }

    private func archives(_ store: any ObjectStore) async throws -> [String] {
        try await store.all().filter { $0.hasSuffix(".zip") }
    }

    /// Adds a photo whose result has these bytes.
    private func add(
        _ name: String, _ bytes: [UInt8], to event: UUID, by user: String = "anna", _ database: Database,
        _ store: any ObjectStore
    ) async throws {
        try await addDelivered(name, to: event, by: user, database, store)
        let key = try await database.query(
            Statement("select result_key from media.photo where source_key = $1", [Database.key(name, in: event)])
        ).scalar(String.self)
        try await store.put(bytes, at: ObjectKey(key), type: .jpeg)
    }

    /// The content of a ZIP file by name, as Python reads it.
    private func unzipped(_ bytes: [UInt8]) throws -> [String: [UInt8]] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("archive-\(UUID().uuidString).zip")
            .path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "python3", "-c",
            """
            import base64, json, sys, zipfile
            file = zipfile.ZipFile(sys.argv[1])
            assert file.testzip() is None and len(set(file.namelist())) == len(file.namelist())
            print(json.dumps({name: base64.b64encode(file.read(name)).decode() for name in file.namelist()}))
            """, path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode([String: Data].self, from: text).mapValues { Array($0) }
    }
}
