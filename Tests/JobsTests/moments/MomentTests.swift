import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Moments") struct MomentTests {
    @Test("M5: a stored moment replaces its sender's one before, rows, original and result, and leaves the partner's")
    func replaces() async throws {
        try await withService { service in
            let database = service.database
            try await database.pair("anna", "ben")
            var sent: [UUID] = []
            for sender in ["anna", "ben", "anna"] {
                let key = "moments/\(sent.count).png"
                try await service.store.put(Samples.small, at: ObjectKey(key))
                let photo = try await database.query(Statement("select media.submit($1, $2)", [key, sender]))
                    .scalar(UUID.self)
                #expect(try await database.sendMoment(photo, from: sender) == "sent")
                #expect(
                    try await database.becomes(
                        "exists (select from moments.moment_status where moment_id = '\(photo)' and state = 'current')")
                )
                sent.append(photo)
            }
            #expect(try await database.moments == ["ben current", "anna current"])
            #expect(try await database.becomes("not exists (select from errand.job where kind = 'object_removal')"))
            let left = try await service.store.all()
            let current = sent.suffix(2).map { "photos/\($0.uuidString.lowercased()).jpg" }
            #expect(Set(current).isSubset(of: left))
            #expect(Set(left).isSubset(of: current + ["moments/1.png", "moments/2.png"]))
            #expect(try await database.sendMoment(sent[0], from: "anna") == "no_photo")
        }
    }

    @Test("M5: a moment that is stored after a newer one changes nothing and is removed")
    func outOfOrder() async throws {
        try await withAppDatabase { database, _ in
            try await database.pair("anna", "ben")
            let older = try await database.photo(of: "anna")
            #expect(try await database.sendMoment(older, from: "anna") == "sent")
            try await database.transaction { other in
                // A session that works with the older photo keeps it from being removed with the newer one's arrival.
                try await other.execute(Statement("select from media.photo where id = $1 for update", [older]))
                try await database.storeMoment(from: "anna")
                #expect(try await database.lines("select sender, state from moments.moment_status") == ["anna|current"])
                #expect(try await database.number("select count(*) from moments.moment") == 2)
            }
            try await database.compress(older)
            try await database.deliver(older)
            // The job of either may be first.
            let states = try await database.arrive().sorted()
            #expect(states == ["current", "gone"] || states == ["current", "replaced"])
            #expect(try await database.moments == ["anna current"])
        }
    }

    @Test("M5: partners whose moments are stored at once have one current moment each and no deadlock")
    func atOnce() async throws {
        try await withAppDatabase(connections: 12) { database, _ in
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            var photos: [(UUID, String)] = []
            for number in 0..<40 {
                let sender = number % 2 == 0 ? "anna" : "ben"
                photos.append((try await database.photo(of: sender), sender))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (photo, sender) in photos.shuffled() {
                    group.addTask {
                        try await database.sendMoment(photo, from: sender)
                        // It may be gone by now.
                        try await database.compress(photo)
                        try await database.deliver(photo)
                    }
                }
                try await group.waitForAll()
            }
            try await database.arrive()
            #expect(try await database.moments.sorted() == ["anna current", "ben current"])
            #expect(try await database.number("select count(*) from moments.moment where current_at is null") == 0)
            let doubles = """
                select count(*) from (
                    select from notify.message where data ->> 'event' = 'new_moment'
                    group by data ->> 'moment_id' having count(*) > 1
                ) as double
                """
            #expect(try await database.number(doubles) == 0)
        }
    }

    @Test("M5: a photo that fails leaves the moment before it current, and is sent when a retry has stored it")
    func fails() async throws {
        try await withAppDatabase { database, _ in
            try await database.pair("anna", "ben")
            try await database.storeMoment(from: "anna")
            let photo = try await database.photo(of: "anna")
            try await database.sendMoment(photo, from: "anna")
            try await database.execute(Statement("select media.not_compressed_v1($1, 'format: no photo')", [photo]))
            #expect(try await database.moments == ["anna current", "anna failed"])
            try await database.execute(Statement("select media.retry_photo($1)", [photo]))
            #expect(try await database.moments == ["anna current", "anna waiting"])
            try await database.compress(photo)
            #expect(try await database.moments == ["anna current", "anna waiting"])
            try await database.deliver(photo)
            #expect(try await database.moments == ["anna current"])
        }
    }

    @Test("M5: who may send what: only a photo of one's own, to a partner, and once")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let photo = try await database.photo(of: "anna")
            #expect(try await database.sendMoment(photo, from: "anna") == "not_paired")
            try await database.pair("anna", "ben")
            #expect(try await database.sendMoment(photo, from: "ben") == "not_yours")
            #expect(try await database.sendMoment(UUID(), from: "anna") == "no_photo")
            try await database.compress(photo)
            try await database.deliver(photo)
            // It is stored already.
            #expect(try await database.sendMoment(photo, from: "anna") == "sent")
            #expect(try await database.sendMoment(photo, from: "anna") == "already_sent")
            #expect(try await database.moments == ["anna current"])
            for (call, state) in [
                ("'', gen_random_uuid()", "ER422"), ("null, gen_random_uuid()", "ER422"),
                ("'anna', media.submit('events/x/1.jpg', 'anna')", "ER409"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select moments.send(\(call))"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    @Test("M6: when a moment is stored, the receiver's devices get one push and the room one event")
    func announces() async throws {
        try await withAppDatabase { database, configuration in
            try await database.registerDevices(of: "anna", "ben")
            try await database.execute("select people.rename('anna', 'Anna')")
            try await database.pair("anna", "ben")
            let before = try await database.notifications.count
            let events = try await roomEvents(of: configuration, database) {
                let photo = try await database.storeMoment(from: "anna")
                // The same record once more, as after a crash of the worker.
                try await database.deliver(photo)
                try await database.execute(Statement("select moments.arrive_v1($1)", [photo]))
                try await database.storeMoment(from: "ben")
            }
            #expect(
                events == ["user:ben new_moment moment_id,pair_id", "user:anna new_moment moment_id,pair_id"])
            #expect(
                try await database.notifications.dropFirst(before)
                    == ["ben|Anna|new_moment", "anna|Your partner|new_moment"])
        }
    }

    @Test(
        "a moment is taken back by its sender alone: one that waits silently, the current one on the partner's devices")
    func withdraws() async throws {
        try await withAppDatabase { database, configuration in
            try await database.registerDevices(of: "anna", "ben")
            try await database.pair("anna", "ben")
            func withdraw(_ moment: UUID, by user: String) async throws -> String {
                try await database.query(Statement("select moments.withdraw($1, $2)", [user, moment])).scalar(
                    String.self)
            }
            let current = try await database.storeMoment(from: "anna")
            let waiting = try await database.photo(of: "anna")
            #expect(try await database.sendMoment(waiting, from: "anna") == "sent")
            let before = try await database.notifications.count
            var replies: [String] = []
            let events = try await roomEvents(of: configuration, database) {
                replies.append(try await withdraw(waiting, by: "ben"))
                replies.append(try await withdraw(waiting, by: "anna"))
                replies += try await database.moments
                replies.append(try await withdraw(current, by: "anna"))
                replies.append(try await withdraw(current, by: "anna"))
            }
            #expect(replies == ["not_yours", "withdrawn", "anna current", "withdrawn", "no_moment"])
            #expect(events == ["user:ben moment_withdrawn moment_id,pair_id"])
            #expect(try await database.notifications.dropFirst(before) == ["ben|-|moment_withdrawn"])
            #expect(try await database.moments == [])
            // The push of the moment itself had not been sent.
            let states =
                "select state from notify.delivery join notify.message on message.id = message_id where profile"
            #expect(try await database.lines("\(states) = 'new_moment'") == ["withdrawn"])
            #expect(try await database.number("select count(*) from moments.current('ben')") == 0)
        }
    }

    @Test("M7: a receiver who was offline gets the partner's newest moment, whatever they have sent meanwhile")
    func newest() async throws {
        try await withAppDatabase { database, _ in
            let shown = "select moment_id, sender from moments.current('ben')"
            #expect(try await database.lines(shown) == [])
            try await database.pair("anna", "ben")
            #expect(try await database.lines(shown) == [])
            var last: UUID?
            for _ in 1...3 { last = try await database.storeMoment(from: "anna") }
            let text = try #require(last).uuidString.lowercased()
            #expect(try await database.lines(shown) == ["\(text)|anna"])
            #expect(try await database.lines("select sender from moments.current('anna')") == [])
            try await database.storeMoment(from: "ben")
            #expect(try await database.lines(shown) == ["\(text)|anna"])
            #expect(try await database.lines("select sender from moments.current('anna')") == ["ben"])
        }
    }
}
