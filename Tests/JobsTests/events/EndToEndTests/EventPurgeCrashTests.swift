import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

@Suite("Events are purged", .serialized) struct EventPurgeCrashTests {
    /// The amount to purge.
    private struct Size {
        let events: Int
        let photos: Int
        let kills: Int
    }

    @Test(
        "E1, E2: kill -9 in between, and one delete in twenty refused: no object and no row is left, and none of others is touched",
        arguments: ["rclone", "moto, every version"])
    func killed(server: String) async throws {
        let isVersioned = server != "rclone"
        let size =
            switch (Hardness.isFull, isVersioned) {
            case (true, false): Size(events: 300, photos: 200, kills: 50)
            case (true, true): Size(events: 8, photos: 25, kills: 10)
            case (false, false): Size(events: 2, photos: 25, kills: 2)
            case (false, true): Size(events: 2, photos: 12, kills: 2)
            }
        try await withAppDatabase(connections: 24) { database, configuration in
            let fixture = try await PurgeFixture(database, configuration, isVersioned: isVersioned)
            try await fixture.make(size.events, photos: size.photos, isOver: true)
            let (staying, each) = Hardness.isFull ? (5, 10) : (2, 5)
            try await fixture.make(staying, photos: each, isOver: false)
            let others = try await fixture.putObjects(
                twice: isVersioned, resultsOneIn: Hardness.isFull && !isVersioned ? 10 : 1)
            let total = size.events * (2 * size.photos + 1)
            print(
                "F58 (\(server)): \(size.events) events, \(size.events * size.photos) photos, \(total) keys and folders"
            )

            var kills = 0
            while kills < size.kills {
                let before = try await fixture.left()
                let requests = fixture.deletions
                let victim = try fixture.program("worker")
                try await database.execute("select errand.enqueue('event_purge'), errand.enqueue('object_removal')")
                // Spread over the whole of the work: each has done its part, and is somewhere in the middle of the
                // next.
                let step = max(1, total / (2 * size.kills))
                let start = ContinuousClock.now
                if Hardness.isFull {
                    while try await before - fixture.left() < step, ContinuousClock.now - start < .seconds(15) {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...100)))
                } else {
                    // In the middle of a batch, whose requests delete all of its objects, or one each with versions.
                    while fixture.deletions < requests + (isVersioned ? 8 : 1) {
                        try #require(ContinuousClock.now - start < .seconds(60), "\(victim.output)")
                        try await Task.sleep(for: .milliseconds(2))
                    }
                }
                victim.send(SIGKILL)
                #expect(try await victim.exit() == -SIGKILL)
                kills += 1
                try await database.rescueJobs(of: victim)
                // The batch that it had taken.
                if !Hardness.isFull { try await fixture.skipDelays(after: 0) }
            }

            let successor = try fixture.program("run")
            let start = ContinuousClock.now
            while try await fixture.left() > 0 {
                try #require(ContinuousClock.now - start < .seconds(Hardness.isFull ? 900 : 90))
                if !Hardness.isFull { try await fixture.skipDelays(after: 1) }
                try await Task.sleep(for: Hardness.isFull ? .seconds(1) : .milliseconds(200))
            }
            let (receipts, photos, objects) = try await database.query(
                "select count(finished_at), sum(photos), sum(objects) from media.receipt"
            )[0].decode(Int.self, Int.self, Int.self)
            let orphans = try await fixture.objects().subtracting(others)
            print(
                "F58 (\(server)): \(kills) kills, \(fixture.refusal.refused) refusals; \(receipts) receipts of \(photos) photos "
                    + "and \(objects) objects; objects left \(orphans.count), of others gone "
                    + "\(others.subtracting(try await fixture.objects()).count), \(ContinuousClock.now - start) after the last"
            )
            #expect(receipts == size.events && photos == size.events * size.photos && objects == 2 * photos)
            #expect(orphans.isEmpty)
            #expect(others.subtracting(try await fixture.objects()).isEmpty)
            #expect(fixture.refusal.refused > 0)
            #expect(try await database.count("from events.event") == staying)
            #expect(try await database.count("from media.photo") == each * staying)
            if isVersioned { #expect(try await fixture.versions() == 4 * each * staying) }
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)
        }
    }

    @Test("E1: an event is deleted after 8 days: its rows within 20 s, its objects within 5 minutes")
    func inTime() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await PurgeFixture(database, configuration, isVersioned: false)
            try await fixture.make(1, photos: 20, isOver: true)
            let others = try await fixture.putObjects()
            #expect(others.isEmpty)
            let running = try fixture.program("run")
            #expect(try await database.becomes("exists (select from errand.worker)", within: .seconds(60)))
            // Due in 5 s, or in 1 s.
            let wait = Hardness.isFull ? 5 : 1
            try await database.execute(
                Statement(
                    "update events.event set ends_at = now() - interval '192 hours' + $1 * interval '1 s'", [wait]))
            let due = ContinuousClock.now + .seconds(wait)
            // The wait for a tick is no part of the small version.
            if !Hardness.isFull {
                try await database.execute("select errand.put_schedule('event_purge', 'every 1 s', 'event_purge')")
            }
            #expect(try await database.becomes("not exists (select from events.event)", within: .seconds(60)))
            let rows = ContinuousClock.now - due
            while try await !fixture.objects().isEmpty {
                try #require(ContinuousClock.now - due < .seconds(120))
                try await Task.sleep(for: .milliseconds(Hardness.isFull ? 5 : 50))
            }
            let objects = ContinuousClock.now - due
            #expect(rows > .zero)
            if Hardness.isFull {
                #expect(
                    try await database.becomes(
                        "exists (select from media.receipt where finished_at is not null)", within: .seconds(300)))
                let receipt = ContinuousClock.now - due
                print(
                    "E1: after it was due rows were gone in \(rows), objects in \(objects), the receipt done in \(receipt)"
                )
                #expect(rows <= .seconds(20) && receipt <= .seconds(300))
            }
            running.send(SIGTERM)
            #expect(try await running.exit() == 0)
        }
    }
}
