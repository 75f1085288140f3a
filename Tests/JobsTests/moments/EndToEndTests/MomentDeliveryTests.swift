import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Testing

@Suite("A moment on its way to the partner", .serialized) struct MomentDeliveryTests {
    private let count = Hardness.isFull ? 1_000 : 20

    @Test(
        "M6: the push is handed over within 3 s of the commit that stores the moment, the event sent within 2 s",
        arguments: [0, Hardness.isFull ? 10_000 : 1_000])
    func told(others: Int) async throws {
        try await withAppDatabase { database, configuration in
            let server = try await PushServer()
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("moments-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: root) }
            let url = try TestServer.url(of: configuration)
            let settings = Hardness.settings.merging(
                [
                    "ERRAND_QUEUES": "uploads=16,pushes=50,default=2", "STORAGE_URL": "file://\(root.path)",
                    "APNS_KEY": server.pem, "APNS_KEY_ID": PushServer.keyID, "APNS_TEAM_ID": PushServer.team,
                    "APNS_TOPIC": PushServer.topic, "APNS_SERVER": server.url,
                    "APNS_AUTHORITIES": try server.authorities,
                ]) { _, new in new }
            try await Program.initialiseStore(database: url, settings: settings)
            try await makePairs(in: database)
            try await database.enqueueSleepers(others, milliseconds: 50)
            let events = try await RoomListener(configuration)
            let worker = try Program(["worker"], database: url, settings: settings)
            #expect(try await database.becomes("exists (select from errand.worker)", within: .seconds(60)))

            for number in 1...count {
                try await send(number, in: database)
                // The load of 50 moments a second.
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(
                try await database.becomes(
                    "(select count(*) from moments.moment_status where state = 'current') = \(count)",
                    within: .seconds(60)))
            #expect(
                try await database.becomes(
                    "(select count(*) from notify.delivery where state = 'accepted') = \(count)", within: .seconds(60)))
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)

            let arrived = events.all.filter { $0.isOf("new_moment") }
                .map { (moment: Self.moment(in: $0.text), at: $0.at) }
            await events.close()
            let pushed = server.accepted.map { (Self.moment(in: String(decoding: $0.body, as: UTF8.self)), $0.at) }
            #expect(arrived.count == count && Set(arrived.map(\.moment)).count == count, "one event for each")
            #expect(pushed.count == count && Set(pushed.map(\.0)).count == count, "one push for each")
            let stored = try await database.query("select id::text, current_at from moments.moment")
                .map { try $0.decode(String.self, Timestamp.self) }
            let since = Dictionary(uniqueKeysWithValues: stored.map { ($0.0, $0.1.date) })
            let eventDelays = arrived.compactMap { event in since[event.moment].map(event.at.timeIntervalSince) }
                .sorted()
            let pushDelays = pushed.compactMap { push in since[push.0].map(push.1.timeIntervalSince) }.sorted()
            print(
                "M6 (\(others) others): \(count) moments; events after \(Self.summary(eventDelays)), pushes after "
                    + Self.summary(pushDelays))
            #expect(eventDelays.count == count && pushDelays.count == count)
            if Hardness.isFull {
                #expect(eventDelays.last ?? .infinity <= 2)
                #expect(pushDelays.last ?? .infinity <= 3)
            }
        }
    }

    /// The median, the 99th percentile and the maximum.
    private static func summary(_ delays: [Double]) -> String {
        guard let longest = delays.last else { return "never" }
        return [delays[delays.count / 2], delays[delays.count * 99 / 100], longest]
            .map { String(format: "%.3f s", $0) }.joined(separator: ", ")
    }

    /// The moment's id in a payload.
    static func moment(in text: String) -> String {
        text.firstMatch(of: /"moment_id": ?"([0-9a-f-]+)"/).map { String($0.1) } ?? ""
    }

    /// Pairs of a-1 and b-1, and so on. Each b has a device.
    private func makePairs(in database: Database) async throws {
        try await database.execute(
            Statement(
                """
                with pair as (
                    insert into pairing.pair (paired_at, invite_id, inviter, invitee)
                    select now(), n, 'a-' || n, 'b-' || n from generate_series(1, $1) as n
                    returning id, inviter, invitee
                )
                insert into pairing.person (user_id, pair_id)
                select inviter, id from pair union all select invitee, id from pair
                """, [count]))
        try await database.execute(
            Statement(
                "select devices.register('b-' || n, 'apns', lpad(to_hex(n), 64, '0')) from generate_series(1, $1) as n",
                [count]))
    }

    /// Sends a moment whose photo is compressed already: what follows is what the promise is about.
    private func send(_ number: Int, in database: Database) async throws {
        try await database.transaction { transaction in
            let sender = "a-\(number)"
            let photo = try await transaction.query(
                Statement("select media.submit('moments/' || gen_random_uuid() || '.jpg', $1)", [sender])
            ).scalar(UUID.self)
            try await transaction.execute(Statement("select moments.send($1, $2)", [sender, photo]))
            try await transaction.execute(
                Statement(
                    "select media.compressed_v1($1, 'photos/' || $1 || '.jpg', '{\"bytes\": 2}', '\\x0405')", [photo]))
        }
    }
}
