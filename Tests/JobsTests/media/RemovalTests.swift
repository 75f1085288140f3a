import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Photos that are removed") struct RemovalTests {
    @Test(
        "a removed photo leaves neither a row nor an object, whatever its state was",
        arguments: ["submitted", "failed", "compressed", "delivered"])
    func whatever(state: String) async throws {
        try await withService(uploads: state == "delivered") { service in
            let database = service.database
            let bytes = state == "failed" ? Array("Dear Sir".utf8) : Samples.small
            let photo: UUID
            if state == "submitted" {
                // Its job is due in an hour, as after a failed attempt.
                try await service.store.put(bytes, at: ObjectKey("uploads/1.png"))
                photo = try await database.transaction { transaction in
                    let photo = try await transaction.query("select media.submit('uploads/1.png')").scalar(UUID.self)
                    try await transaction.execute(
                        "update errand.job set state = 'scheduled', run_at = now() + interval '1 h', queue_position = null"
                    )
                    return photo
                }
            } else {
                photo = try await service.submit("uploads/1.png", bytes)
            }
            #expect(try await database.becomes("exists (select from media.photo_status where state = '\(state)')"))
            let removed = try await database.query(
                Statement("select media.remove($1, 'a test'), media.remove($1)", [photo]))[0].decode(
                    Bool.self, Bool.self)
            #expect(removed == (true, false))
            #expect(try await database.becomes("not exists (select from errand.job)"))
            // Uploads that may be running when their photo is removed are removed once more.
            try await database.ageRemovals()
            try await database.execute("select errand.enqueue('object_removal')")
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(try await service.store.all() == [])
            #expect(
                try await database.number(
                    """
                    select (select count(*) from media.photo) + (select count(*) from media.upload)
                        + (select count(*) from media.removal) + (select count(*) from errand.failed)
                    """) == 0)
        }
    }

    @Test("a photo is removed once, and a reason is 1 to 1,000 characters long")
    func reason() async throws {
        try await withAppDatabase { database, _ in
            let photo = try await database.submit("'u/1.jpg'")
            for reason in ["''", "repeat('x', 1001)"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select media.remove('\(photo)', \(reason))"))
                }
                #expect(error?.sqlState == "ER422")
            }
            #expect(try await database.lines("select media.remove('\(photo)')") == ["true"])
            #expect(try await database.lines("select media.remove(gen_random_uuid())") == ["false"])
        }
    }

    @Test("an object that may be on its way is removed at once, every 30 s, and for the last time 90 s later")
    func underWay() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("insert into media.removal (in_flight, key) values (true, 'u/1.jpg')")
            var waits: [Int] = []
            while waits.count < 10 {
                let gone = try await database.number(
                    "select sum(media.removed_v1(array[id], array[try])) from media.removals_v1(10)")
                if gone > 0 { break }
                let wait = try await database.number(
                    "select round(extract(epoch from try_at - clock_timestamp()))::int8 from media.removal")
                waits.append(wait)
                try await database.ageRemovals(by: wait)
            }
            #expect(waits == [30, 30, 30])
            #expect(try await database.number("select count(*) from media.removal") == 0)
        }
    }

    @Test("the cleanup enqueues what is due, and deletes receipts 30 days after they were finished")
    func cleanup() async throws {
        try await withAppQueue { test in
            let database = test.database
            try await database.execute(
                """
                insert into media.receipt (reason, people, photos, asked_at, finished_at) values
                    ('old', 1, 1, now() - interval '40 days', now() - interval '30 days 1 minute'),
                    ('recent', 1, 1, now() - interval '40 days', now() - interval '29 days'),
                    ('unfinished', 1, 1, now() - interval '40 days', null)
                """)
            for (areObjectsDue, pruned) in [(false, 1), (true, 0)] {
                let job = try await test.run("removal_cleanup")
                #expect(job.output?.text == #"{"pruned": \#(pruned), "areObjectsDue": \#(areObjectsDue)}"#)
                try await database.execute(
                    "insert into media.removal (in_flight, key) values (false, 'u/1.jpg') on conflict do nothing")
            }
            #expect(
                try await database.lines("select reason from media.receipt order by id") == ["recent", "unfinished"])
            #expect(try await database.lines("select kind from errand.job") == ["object_removal"])
        }
    }
}
