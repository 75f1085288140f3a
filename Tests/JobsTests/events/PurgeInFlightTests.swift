import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@testable import Jobs

@Suite("What is on its way when its event is purged") struct PurgeInFlightTests {
    @Test("E1: a compression that runs is cancelled, and leaves neither a row nor an object")
    func compression() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            let event = try await database.makeEvent()
            for name in ["1.jpg", "2.jpg"] {
                try await store.put(try service.photograph(), at: ObjectKey(Database.key(name, in: event)))
                try await database.add(name, to: event)
            }
            // One at a time: the other job waits.
            #expect(try await database.becomes("exists (select from errand.job where state = 'running')"))
            try await purge(event, database)
            #expect(
                try await database.lines("select state, reason from errand.history where kind = 'image_compression'")
                    == ["obsolete|its event is over", "obsolete|its event is over"])
            try await expectNothingLeft(service)
            #expect(
                try await database.lines(
                    "select photos, objects from media.receipt_status where finished_at is not null")
                    == ["2|2"])
        }
    }

    @Test("E1: a compression that completes while its event's purge waits for it leaves nobody's name")
    func completing() async throws {
        try await withAppDatabase { database, _ in
            let event = try await database.makeEvent()
            let photo = try #require(try await database.add("1.jpg", to: event).photo)
            try await database.letEnd(event)
            let purge: Task<Void, any Error> = try await database.transaction { completing in
                try await completing.execute(
                    Statement("select media.compressed_v1($1, 'photos/1.jpg', '{}', '\\x0405')", [photo]))
                let purge = Task { _ = try await database.execute("select events.purge_due_v1()") }
                let waits = """
                    exists (
                        select from pg_stat_activity
                        where datname = current_database() and wait_event_type = 'Lock')
                    """
                #expect(try await database.becomes(waits))
                return purge
            }
            try await purge.value
            #expect(
                try await database.lines("select kind, state, subject from errand.history order by kind") == [
                    "image_compression|obsolete|", "upload_retry|obsolete|",
                ])
        }
    }

    @Test("E1: a running upload is too late: its object arrives after the first removal, and the second one deletes it")
    func upload() async throws {
        let wasPut = Mutex(false)
        let mayArrive = Mutex(false)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            guard request.method == "PUT", !request.path.contains("/events/") else { return .none }
            wasPut.withLock { $0 = true }
            // On a thread of the proxy's own: until the first removal has been, or the test has failed.
            for _ in 0..<6000 where !mayArrive.withLock(\.self) { usleep(10_000) }
            return .none
        }
        try await withService(through: proxy) { service in
            let (database, store) = (service.database, service.store)
            let event = try await database.makeEvent()
            try await store.put([1], at: ObjectKey(Database.key("1.jpg", in: event)))
            let key = try await database.transaction { transaction in
                let photo = try await transaction.query(
                    Statement(
                        "select photo from events.add_photo($1, 'anna', $2)", [event, Database.key("1.jpg", in: event)])
                ).scalar(UUID.self)
                try await transaction.execute("delete from errand.job")
                let key = "photos/\(photo.uuidString.lowercased()).jpg"
                try await transaction.execute(
                    Statement("select media.compressed_v1($1, $2, '{}', '\\x0405')", [photo, key]))
                return key
            }
            while !wasPut.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
            try await purge(event, database)
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(
                try await database.lines("select key, state from media.removal_status where not is_folder")
                    == ["\(key)|confirming"])
            #expect(try await store.all() == [])
            mayArrive.withLock { $0 = true }
            // It arrives now. Put by hand, since the one that was cut off may have been so before all of it was on its
            // way; and again, since an attempt that was not told yet takes away what it has put. Nobody would ever find
            // it, were it not for the second removal.
            var found: [String] = []
            for _ in 1...100 where found != [key] {
                try await store.put([4, 5], at: ObjectKey(key))
                found = try await store.all()
            }
            #expect(found == [key])
            try await expectNothingLeft(service)
        }
    }

    @Test("E1: uploads that wait for a store or failed for good are deleted with their jobs and bytes")
    func waiting() async throws {
        let isBroken = Mutex(true)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            request.method == "PUT" && isBroken.withLock(\.self) ? .respond(400, code: "InvalidRequest") : .none
        }
        try await withService(through: proxy) { service in
            let database = service.database
            let event = try await database.makeEvent()
            // An original from the app's server, because the app's own upload failed.
            try await service.stage([Database.key("1.jpg", in: event)], [1, 2, 3])
            try await database.add("1.jpg", to: event)
            #expect(try await database.becomes("(select count(*) from errand.failed) = 2", within: .seconds(40)))
            try await purge(event, database)
            #expect(try await database.number("select count(*) from errand.failed where kind = 'upload_retry'") == 0)
            #expect(try await database.number("select count(*) from media.upload") == 0)
            isBroken.withLock { $0 = false }
            try await expectNothingLeft(service)
        }
        withExtendedLifetime(proxy) {}
    }

    private func purge(_ event: UUID, _ database: Database) async throws {
        try await database.letEnd(event)
        #expect(try await database.number("select count(*) from events.purge_due_v1()") == 1)
        try await database.execute("select errand.enqueue('object_removal')")
    }

    /// Ends the removal's waits, and expects neither row nor object.
    private func expectNothingLeft(_ service: Service) async throws {
        for _ in 1...2 {
            #expect(try await service.database.becomes("not exists (select from errand.job)"))
            try await service.database.ageRemovals()
            try await service.database.execute("select errand.enqueue('object_removal')")
            #expect(try await service.database.becomes("not exists (select from errand.job)"))
        }
        #expect(try await service.store.all() == [])
        #expect(try await service.database.eventRows == 0)
    }
}
