import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Photos that failed, and photos that are submitted again") struct RetryPhotoTests {
    @Test("a retried photo is compressed, even if its failed job is deleted")
    func retried() async throws {
        try await withService { service in
            let database = service.database
            let photo = try await database.query("select media.submit('uploads/late.png')").scalar(UUID.self)
            #expect(try await database.reaches("state = 'failed'", of: photo))
            #expect(try await job(of: photo, database) == database.lines("select id from errand.failed"))
            for isPruned in [false, true] {
                if isPruned {
                    try await database.execute("select errand.discard(array(select id from errand.failed), 'tidied')")
                    try await database.execute("delete from errand.history")
                    try await service.store.put(Samples.small, at: ObjectKey("uploads/late.png"))
                }
                let retried = try await database.lines("select media.retry_photo('\(photo)', 'the original is there')")
                #expect(try await job(of: photo, database) == retried)
                let end = isPruned ? "state = 'delivered' and error is null" : "state = 'failed'"
                #expect(try await database.reaches(end, of: photo))
            }
            for (id, state) in [(photo, "ER409"), (UUID(), "ER404")] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select media.retry_photo($1)", [id]))
                }
                #expect(error?.sqlState == state)
            }
        }
    }

    @Test("a submission with an idempotency key makes one photo, however often it is made")
    func submittedAgain() async throws {
        try await withAppDatabase { database, _ in
            func submit(_ arguments: String) async throws -> [String] {
                try await database.lines("select media.submit(\(arguments))")
            }
            let first = try await submit("'a/1.jpg', 'anna', idempotency_key => 'upload-1'")
            #expect(try await submit("'a/1.jpg', 'anna', idempotency_key => 'upload-1'") == first)
            #expect(try await submit("'a/1.jpg', 'anna', idempotency_key => 'upload-2'") != first)
            #expect(try await database.number("select count(*) from media.photo") == 2)
            #expect(try await database.number("select count(*) from errand.job") == 2)
            for (arguments, state) in [
                ("'a/2.jpg', 'anna', idempotency_key => 'upload-1'", "ER409"),
                ("'a/1.jpg', 'ben', idempotency_key => 'upload-1'", "ER409"),
                ("'a/1.jpg', 'anna', idempotency_key => ''", "ER422"),
                ("'a/1.jpg', 'anna', idempotency_key => repeat('x', 201)", "ER422"),
                ("'a/1.jpg', repeat('x', 201)", "ER422"), ("'a/1.jpg', ''", "ER422"),
                ("'a/1.jpg', 'anna', idempotency_key => 'upload-1', keep_original => true", "ER409"),
                ("'a/1.jpg', 'anna', idempotency_key => 'upload-1', format => 'webp'", "ER409"),
                ("'a/1.jpg', keep_original => null", "ER422"),
                ("'a/1.jpg', max_bytes => 999", "ER422"), ("'a/1.jpg', max_bytes => 16777217", "ER422"),
                ("'a/1.jpg', max_bytes => null", "ER422"), ("'a/1.jpg', max_edge => 15", "ER422"),
                ("'a/1.jpg', max_edge => 16385", "ER422"), ("'a/1.jpg', format => 'png'", "ER422"),
                ("'a/1.jpg', format => null", "ER422"),
            ] {
                let error = await #expect(throws: PostgresError.self) { try await submit(arguments) }
                #expect(error?.sqlState == state, "\(arguments)")
            }
        }
    }

    private func job(of photo: UUID, _ database: Database) async throws -> [String] {
        try await database.lines("select job_id from media.photo_status where id = '\(photo)'")
    }
}
