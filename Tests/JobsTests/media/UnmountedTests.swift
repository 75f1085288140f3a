import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("A folder store whose disk is not mounted") struct UnmountedTests {
    @Test(
        "uploads, compressions and removals wait and spend nothing; the mount point stays empty; mounted, all is done")
    func waits() async throws {
        try await withService(isMarked: true) { service in
            let database = service.database
            try await service.store.put(Samples.small, at: ObjectKey("uploads/1.png"))
            try await service.store.put([1], at: ObjectKey("events/x/1.jpg"))
            let disk = service.root + "-disk"
            defer { try? FileManager.default.removeItem(atPath: disk) }
            try FileManager.default.moveItem(atPath: service.root, toPath: disk)
            try FileManager.default.createDirectory(atPath: service.root, withIntermediateDirectories: false)

            try await database.execute("insert into media.removal (in_flight, key) values (false, 'events/x/1.jpg')")
            try await database.execute("select errand.enqueue('object_removal')")
            try await service.stage((1...5).map { "a/\($0).jpg" }, [1, 2, 3])
            let photo = try await database.query("select media.submit('uploads/1.png')").scalar(UUID.self)
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.job where state = 'parked' and attempt = 0) = 7"))
            #expect(
                try await database.lines(
                    "select state, reason like 'storage: wrong store: %' from errand.circuits where name = 'storage'"
                ) == ["open|true"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: service.root) == [])
            #expect(try await database.number("select count(*) from media.upload where bytes is null") == 0)
            #expect(try await database.number("select count(*) from media.removal") == 1)

            try FileManager.default.removeItem(atPath: service.root)
            try FileManager.default.moveItem(atPath: disk, toPath: service.root)
            try await database.execute("select errand.circuit_close('storage')")
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await database.reaches("state = 'delivered'", of: photo))
            #expect(try await database.number("select count(*) from media.upload where delivered_at is null") == 0)
            #expect(try await service.store.size(of: ObjectKey("events/x/1.jpg")) == nil)
            // The photo's original is listed for the next removal.
            #expect(try await database.lines("select key from media.removal") == ["uploads/1.png"])
        }
    }
}
