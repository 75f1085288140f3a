import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Avatars") struct AvatarTests {
    private static let avatar = "owner => 'ben', purpose => 'avatar'"
    /// Other bytes of the same picture.
    private static let other = Samples.small + [0]

    @Test("a former avatar goes, rows and objects, when the new one is stored; until then, and if that fails, it stays")
    func replaces() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            func send(_ name: String, _ bytes: [UInt8]) async throws -> UUID {
                try await store.put(bytes, at: ObjectKey("avatars/\(name)"))
                return try await database.submit(
                    "'avatars/\(name)', \(Self.avatar), variants => '[{\"name\": \"thumb\", \"max_edge\": 16}]'")
            }
            let first = try await send("1.png", Samples.small)
            #expect(try await database.becomes(state("delivered", first)))
            // What others have, and what is for something else, stays.
            let others = [
                try await database.submit("'avatars/8.png', owner => 'ben', purpose => 'banner'"),
                try await database.submit("'avatars/9.png', owner => 'anna', purpose => 'avatar'"),
                try await service.submit("uploads/2.png", Samples.small),
            ]
            // A file that is no photo changes nothing.
            let broken = try await send("3.png", [1, 2, 3])
            #expect(try await database.becomes(state("failed", broken)))
            #expect(try await current(database) == first)
            let second = try await send("4.png", Samples.small)
            #expect(try await database.becomes(state("delivered", second)))
            #expect(try await current(database) == second)
            let left = try await database.lines("select id from media.photo where \(row("ben", "avatar"))")
            #expect(left == [second.lower])
            for photo in others {
                #expect(try await database.becomes("exists (select from media.photo where id = '\(photo)')"))
            }
            #expect(try await database.becomes("not exists (select from errand.job)"))
            // The originals of the stored ones wait for the next removal.
            try await database.execute("select errand.enqueue('object_removal')")
            #expect(try await database.becomes("not exists (select from media.removal)"))
            let kept = [
                "photos/\(second.lower).jpg", "photos/\(second.lower).thumb.jpg", "photos/\(others[2].lower).jpg",
            ]
            #expect(try await store.all().sorted() == kept.sorted())
        }
    }

    @Test("while the store is down the former avatar stays; afterwards it goes")
    func storeDown() async throws {
        try await withService(isMarked: true) { service in
            let database = service.database
            try await service.store.put(Samples.small, at: ObjectKey("avatars/1.png"))
            let first = try await database.submit("'avatars/1.png', \(Self.avatar)")
            #expect(try await database.becomes(state("delivered", first)))
            #expect(try await database.becomes("not exists (select from errand.job)"))
            let disk = service.root + "-disk"
            defer { try? FileManager.default.removeItem(atPath: disk) }
            try FileManager.default.moveItem(atPath: service.root, toPath: disk)
            try FileManager.default.createDirectory(atPath: service.root, withIntermediateDirectories: false)
            let second = try await database.transaction { transaction in
                try await transaction.execute(
                    Statement(
                        "select media.submit_upload('avatars/2.png', $1, owner => 'ben')", [Bytes(Samples.small)]))
                return try await transaction.query(
                    Statement("select media.submit('avatars/2.png', \(Self.avatar))")
                ).scalar(UUID.self)
            }
            #expect(try await database.becomes("exists (select from errand.job where state = 'parked')"))
            #expect(try await current(database) == first)
            try FileManager.default.removeItem(atPath: service.root)
            try FileManager.default.moveItem(atPath: disk, toPath: service.root)
            try await database.execute("select errand.circuit_close('storage')")
            #expect(try await database.becomes(state("delivered", second)))
            #expect(try await current(database) == second)
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await service.store.size(of: ObjectKey("photos/\(first.lower).jpg")) == nil)
        }
    }

    @Test("of several avatars that are on their way the last one stays, in whatever order they are stored")
    func orders() async throws {
        try await withAppDatabase { database, _ in
            for (round, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].enumerated() {
                var avatars: [UUID] = []
                for number in 0...2 {
                    avatars.append(try await database.submit("'a/\(round)\(number).jpg', \(Self.avatar)"))
                }
                var newest = -1
                for index in order {
                    let isReplaced = index < newest
                    newest = max(newest, index)
                    #expect(try await database.compress(avatars[index]) == (isReplaced ? "gone" : "staged"))
                    #expect(try await database.deliver(avatars[index]) == (isReplaced ? nil : "delivered"))
                    #expect(try await current(database) == avatars[newest], "\(order)")
                }
                #expect(try await database.number("select count(*) from media.photo") == 1)
                #expect(try await database.number("select count(*) from media.upload") == 1)
                // Those of the photo that stays.
                #expect(
                    try await database.number("select count(*) from errand.job where kind <> 'object_removal'") == 2)
                try await database.execute("select media.erase_person('ben')")
            }
        }
    }

    @Test("of many avatars of a user that are sent and stored at once exactly one stays")
    func race() async throws {
        try await withAppDatabase { database, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...12 {
                    group.addTask {
                        let photo = try await database.submit("'a/\(number).jpg', \(Self.avatar)")
                        if try await database.compress(photo) == "staged" { try await database.deliver(photo) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.number("select count(*) from media.photo") == 1)
            let left = try await database.query("select id from media.photo").scalar(UUID.self)
            #expect(try await current(database) == left)
        }
    }

    @Test("a submission waits for one of the same purpose that has not committed, so no older one is stored unseen")
    func serial() async throws {
        try await withAppDatabase { database, _ in
            let later: Task<UUID, any Error> = try await database.transaction { transaction in
                try await transaction.execute(Statement("select media.submit('a/1.jpg', \(Self.avatar))"))
                let later = Task { try await database.submit("'a/2.jpg', \(Self.avatar)") }
                let waits = """
                    exists (
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock')
                    """
                #expect(try await database.becomes(waits))
                return later
            }
            let newest = try await later.value
            try await database.compress(newest)
            try await database.deliver(newest)
            #expect(try await database.number("select count(*) from media.photo") == 1)
        }
    }

    @Test("the same key again: the new bytes become the avatar, and the original that both have stays if it is kept")
    func sameKey() async throws {
        try await withService { service in
            let database = service.database
            let original = try ObjectKey("avatars/ben")
            var avatars: [UUID] = []
            for bytes in [Samples.small, Self.other] {
                let photo = try await database.transaction { transaction in
                    try await transaction.execute(
                        Statement(
                            "select media.submit_upload('avatars/ben', $1, owner => 'ben', replace => true)",
                            [Bytes(bytes)]))
                    return try await transaction.query(
                        Statement("select media.submit('avatars/ben', \(Self.avatar), keep_original => true)")
                    ).scalar(UUID.self)
                }
                #expect(try await current(database) == avatars.last)
                #expect(try await database.becomes(state("delivered", photo)))
                #expect(try await current(database) == photo)
                #expect(
                    try await database.becomes(
                        "exists (select from media.upload where key = 'avatars/ben' and delivered_at is not null)"))
                #expect(try await service.store.get(original) == bytes)
                avatars.append(photo)
            }
            #expect(try await database.lines("select id from media.photo") == [avatars[1].lower])
            #expect(
                try await database.becomes("not exists (select from media.removal where key not like 'photos/%')"))
            #expect(try await service.store.get(original) == Self.other)
        }
    }

    @Test("a former avatar stays while another photo is made from it or a row refers to it, and goes with the next one")
    func used() async throws {
        try await withAppDatabase { database, _ in
            func next(_ source: String = "a/\(UUID().lower).jpg") async throws -> UUID {
                let photo = try await database.submit("'\(source)', \(Self.avatar)")
                try await database.compress(photo)
                #expect(try await database.deliver(photo) == "delivered")
                #expect(try await current(database) == photo)
                return photo
            }
            func left() async throws -> [String] {
                try await database.lines(
                    "select id from media.photo where \(row("ben", "avatar")) order by submitted_at")
            }
            let first = try await next()
            let postcard = try await database.submit("'photos/\(first.lower).jpg', owner => 'ben'")
            let second = try await next()
            #expect(try await left() == [first.lower, second.lower])
            #expect(try await database.removals.contains("photos/\(first.lower).jpg") == false)
            try await database.compress(postcard)
            // One that is made from the one before it: a crop.
            let third = try await next("photos/\(second.lower).jpg")
            #expect(try await left() == [third.lower])
            #expect(try await database.number("select count(*) from media.photo where id = '\(postcard)'") == 1)
            try await database.execute("create table profile (photo uuid references media.photo)")
            try await database.execute("insert into profile select id from media.photo where purpose is not null")
            let fourth = try await next()
            #expect(try await left() == [third.lower, fourth.lower])
            try await database.execute("delete from profile")
            let fifth = try await next()
            #expect(try await left() == [fifth.lower])
        }
    }

    @Test("the submission of a photo that is made from an avatar keeps it from being replaced until it commits")
    func usedMeanwhile() async throws {
        try await withAppDatabase { database, _ in
            var avatars: [UUID] = []
            for number in 1...2 {
                avatars.append(try await database.submit("'a/\(number).jpg', \(Self.avatar)"))
                try await database.compress(avatars[number - 1])
                if number == 1 { try await database.deliver(avatars[0]) }
            }
            let newest = avatars[1]
            let delivery: Task<String?, any Error> = try await database.transaction { transaction in
                try await transaction.execute(
                    Statement("select media.submit('photos/\(avatars[0].lower).jpg', owner => 'ben')"))
                let delivery = Task { try await database.deliver(newest) }
                let waits = """
                    exists (
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock')
                    """
                #expect(try await database.becomes(waits))
                return delivery
            }
            #expect(try await delivery.value == "delivered")
            #expect(try await database.number("select count(*) from media.photo where purpose = 'avatar'") == 2)
        }
    }

    @Test("an erasure takes the avatar and the one that is on its way; what comes later has nobody's photo to replace")
    func erased() async throws {
        try await withAppDatabase { database, _ in
            var avatars: [UUID] = []
            for number in 1...2 {
                avatars.append(try await database.submit("'a/\(number).jpg', \(Self.avatar)"))
                try await database.compress(avatars[number - 1])
            }
            try await database.deliver(avatars[0])
            try await database.execute("select media.erase_person('ben')")
            #expect(try await database.deliver(avatars[1]) == nil)
            #expect(try await database.number("select count(*) from media.photo") == 0)
            #expect(try await database.number("select count(*) from media.upload") == 0)
            #expect(try await current(database) == nil)
            let results = avatars.map { "photos/\($0.lower).jpg" }
            #expect(Set(try await database.removals).isSuperset(of: results))
            let later = try await database.submit("'a/3.jpg', \(Self.avatar)")
            try await database.compress(later)
            #expect(try await database.deliver(later) == "delivered")
        }
    }

    @Test("a purpose needs an owner and a plain name, and is part of an idempotent submission")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            let call = "'a/1.jpg', owner => 'ben', idempotency_key => 'one'"
            let first = try await database.submit("\(call), purpose => 'avatar'")
            #expect(try await database.submit("\(call), purpose => 'avatar'") == first)
            for (arguments, state) in [
                (call, "ER409"), ("\(call), purpose => 'banner'", "ER409"), ("'a/2.jpg', purpose => 'avatar'", "ER422"),
                ("'a/2.jpg', owner => 'ben', purpose => ''", "ER422"),
                ("'a/2.jpg', owner => 'ben', purpose => 'Avatar'", "ER422"),
            ] {
                #expect(try await database.state(of: "media.submit(\(arguments))") == state, "\(arguments)")
            }
            // The original of a stored photo is about to be removed, and would be with the new bytes.
            try await database.compress(first)
            try await database.deliver(first)
            #expect(try await database.state(of: "media.submit('a/1.jpg', \(Self.avatar))") == "ER409")
            #expect(try await current(database) == first)
        }
    }

    private func row(_ owner: String, _ purpose: String) -> String { "owner = '\(owner)' and purpose = '\(purpose)'" }

    private func state(_ state: String, _ photo: UUID) -> String {
        "exists (select from media.photo_status where id = '\(photo)' and state = '\(state)')"
    }

    private func current(_ database: Database) async throws -> UUID? {
        try await database.query("select photo from media.photo_of('ben', 'avatar')").column(0, as: UUID.self).first
    }
}

extension UUID {
    /// As PostgreSQL writes it.
    fileprivate var lower: String { uuidString.lowercased() }
}
