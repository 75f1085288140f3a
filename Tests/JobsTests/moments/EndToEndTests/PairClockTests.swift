import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Testing

/// From the call that commits to what a device, a room or the store sees of it.
@Suite("The times of pairs and events, by the clock", .serialized) struct PairClockTests {
    private let count = Hardness.isFull ? 100 : 3

    @Test(
        "P4, M5, M8, M9, E3: pushes, events and removals come within their times, with other jobs waiting too",
        arguments: Hardness.isFull ? [0, 10_000] : [1_000])
    func inTime(others: Int) async throws {
        try await withAppDatabase { database, configuration in
            let server = try await PushServer()
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("pairs-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let store = try FolderStore(root: root)
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(
                [
                    "ERRAND_QUEUES": "uploads=16,pushes=50,default=2", "STORAGE_URL": "file://\(root)",
                    "APNS_KEY": server.pem, "APNS_KEY_ID": PushServer.keyID, "APNS_TEAM_ID": PushServer.team,
                    "APNS_TOPIC": PushServer.topic, "APNS_SERVER": server.url,
                    "APNS_AUTHORITIES": try server.authorities,
                ]) { _, new in new }
            try await Program.initialiseStore(database: url, settings: settings)
            try await registerDevices(in: database)
            // Two run at a time: for minutes in the long form, and longer than all of the test in the short one.
            try await database.enqueueSleepers(others, milliseconds: 50)
            let rooms = try await RoomListener(configuration)
            let worker = try Program(["worker"], database: url, settings: settings)
            #expect(try await database.becomes("exists (select from errand.worker)", within: .seconds(60)))
            let clock = Clock(database: database, store: store, server: server, rooms: rooms, others: others)

            let paired = try await each { number in
                try await database.execute(
                    Statement(
                        """
                        select pairing.redeem_invite(code, 'b-' || $1::int8)
                        from pairing.create_invite('a-' || $1::int8)
                        """, [number]))
            }
            try await clock.pushes("P4", "paired", after: paired, to: ["a", "b"], within: 3)

            let renamed = try await each { number in
                try await database.execute(Statement("select people.rename('a-' || $1::int8, 'Anna')", [number]))
            }
            try await clock.pushes("M9", "partner_renamed", after: renamed, to: ["b"], within: 5)
            try await clock.events("M9", "partner_renamed", after: renamed, in: { "user:b-\($0)" }, within: 5)

            var former: [Int: [ObjectKey]] = [:]
            for (number, sender) in senders {
                former[number, default: []] += [try await sendMoment(sender, in: database)]
            }
            try await clock.areCurrent(2 * count)
            let replaced = try await each { number in
                former[number]! += [try await sendMoment("a-\(number)", in: database)]
            }
            try await clock.objectsGone("M5", after: replaced) { [former[$0]![0]] }
            try await clock.areCurrent(2 * count)

            let disconnected = try await each { number in
                try await database.execute(Statement("select pairing.disconnect('b-' || $1::int8)", [number]))
            }
            try await clock.objectsGone("M8", after: disconnected) { Array(former[$0]!.dropFirst()) }
            try await clock.pushes("M8", "pair_ended", after: disconnected, to: ["a", "b"], within: 60)
            #expect(try await store.keys(beginning: "photos/", after: nil, atMost: 10) == [])

            let event = try await database.query("select events.create('anna', 'Party')").scalar(UUID.self)
            let room = "event:\(event.uuidString.lowercased())"
            let joined = try await each { number in
                try await database.execute(Statement("select events.join($1, 'a-' || $2::int8)", [event, number]))
            }
            try await clock.events("E3", "joined", after: joined, in: { _ in room }, within: 2)
            let added = try await each { number in try await addPhoto(number, to: event, in: database) }
            // With the upload of the photo, which is compressed already.
            try await clock.events("E3", "photo_stored", after: added, in: { _ in room }, within: 2)

            if others > 0 {
                #expect(
                    try await database.count("from errand.job where kind = 'noop' and state = 'available'") > 0,
                    "other jobs waited all the time")
            }
            await rooms.close()
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    /// The numbers of the pairs with both of their users.
    private var senders: [(Int, String)] {
        (1...count).flatMap { number in ["a-\(number)", "b-\(number)"].map { (number, $0) } }
    }

    /// Calls `body` for each pair. Returns the time before each call.
    private func each(_ body: (Int) async throws -> Void) async throws -> [Int: Date] {
        var times: [Int: Date] = [:]
        for number in 1...count {
            times[number] = Date()
            try await body(number)
        }
        return times
    }

    /// A device for each user a-1, b-1 and so on. Its token has the letter and the number.
    private func registerDevices(in database: Database) async throws {
        try await database.execute(
            Statement(
                """
                select devices.register(letter || '-' || n, 'apns', letter || lpad(n::text, 63, '0'))
                from unnest('{a,b}'::text[]) as letter, generate_series(1, $1) as n
                """, [count]))
    }

    /// Sends a moment whose photo is compressed already. Returns the key of its result.
    private func sendMoment(_ sender: String, in database: Database) async throws -> ObjectKey {
        try await database.transaction { transaction in
            let photo = try await transaction.query(
                Statement("select media.submit('moments/' || gen_random_uuid() || '.jpg', $1)", [sender])
            ).scalar(UUID.self)
            try await transaction.execute(Statement("select moments.send($1, $2)", [sender, photo]))
            return try await compress(photo, in: transaction)
        }
    }

    private func addPhoto(_ number: Int, to event: UUID, in database: Database) async throws {
        try await database.transaction { transaction in
            let photo = try await transaction.query(
                Statement(
                    "select photo from events.add_photo($1, 'a-' || $2::int8, 'events/' || $1 || '/' || $2::int8 || '.jpg')",
                    [event, number])
            ).scalar(UUID.self)
            _ = try await compress(photo, in: transaction)
        }
    }

    private func compress(_ photo: UUID, in transaction: Transaction) async throws -> ObjectKey {
        let key = "photos/\(photo.uuidString.lowercased()).jpg"
        try await transaction.execute(
            Statement("select media.compressed_v1($1, $2, '{\"bytes\": 2}', '\\x0405')", [photo, key]))
        return try ObjectKey(key)
    }
}

/// Waits for effects, and expects them in time.
private struct Clock {
    let database: Database
    let store: FolderStore
    let server: PushServer
    let rooms: RoomListener
    let others: Int

    /// The push of this event is at the devices of each pair's users with these letters.
    func pushes(
        _ mark: String, _ event: String, after begun: [Int: Date], to letters: [String], within limit: Double
    ) async throws {
        for letter in letters {
            try await expect(mark, "push \(event) to \(letter)", after: begun, within: limit) {
                let pushes = server.accepted.filter {
                    String(decoding: $0.body, as: UTF8.self).contains("\"\(event)\"")
                }
                let times = Dictionary(pushes.map { ($0.token, $0.at) }, uniquingKeysWith: min)
                return { times[token(letter, $0)] }
            }
        }
    }

    /// The event is sent to the room of each number, one for each number that has this room.
    func events(
        _ mark: String, _ event: String, after begun: [Int: Date], in room: (Int) -> String, within limit: Double
    ) async throws {
        let numbers = begun.keys.sorted()
        try await expect(mark, "event \(event)", after: begun, within: limit) {
            var sent = Dictionary(grouping: rooms.all.filter { $0.isOf(event) }, by: \.room)
            var times: [Int: Date] = [:]
            for number in numbers where sent[room(number)]?.isEmpty == false {
                times[number] = sent[room(number)]?.removeFirst().at
            }
            return { times[$0] }
        }
    }

    /// The objects of each number are gone from the store, within 60 s.
    func objectsGone(_ mark: String, after begun: [Int: Date], keys: (Int) -> [ObjectKey]) async throws {
        var times: [Int: Date] = [:]
        try await expect(mark, "objects gone", after: begun, within: 60) {
            for number in begun.keys where times[number] == nil {
                var isGone = true
                for key in keys(number) where isGone { isGone = try await store.size(of: key) == nil }
                if isGone { times[number] = Date() }
            }
            return { times[$0] }
        }
    }

    /// So many moments are current, and stored.
    func areCurrent(_ count: Int) async throws {
        #expect(
            try await database.becomes(
                """
                (select count(*) from moments.moment_status where state = 'current') = \(count)
                    and (select count(*) from moments.moment) = \(count)
                """, within: .seconds(60)))
    }

    /// Waits until `read` has a time for each number; expects each within the limit, in seconds.
    private func expect(
        _ mark: String, _ what: String, after begun: [Int: Date], within limit: Double,
        _ read: () async throws -> (Int) -> Date?
    ) async throws {
        let start = ContinuousClock.now
        var delays: [Double] = []
        while delays.count < begun.count, ContinuousClock.now - start < .seconds(limit + 60) {
            let at = try await read()
            delays = begun.compactMap { number, begun in at(number)?.timeIntervalSince(begun) }.sorted()
            try await Task.sleep(for: .milliseconds(10))
        }
        let longest = delays.last.map { String(format: "%.3f s", $0) } ?? "never"
        print("\(mark) (\(others) others): \(what): \(delays.count) of \(begun.count), the last after \(longest)")
        #expect(delays.count == begun.count, "\(mark): \(what)")
        // Beside other tests, less than a minute says nothing of the machine that the promise is about.
        if Hardness.isFull || limit >= 60 { #expect(delays.last ?? .infinity <= limit, "\(mark): \(what)") }
    }

    private func token(_ letter: String, _ number: Int) -> String {
        letter + String(repeating: "0", count: 63 - String(number).count) + String(number)
    }
}
