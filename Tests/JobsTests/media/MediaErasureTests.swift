import AppTestKit
import Errand
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("The photos of a person") struct MediaErasureTests {
    @Test("all photos and uploads of an owner are erased, rows and objects, and nothing of another owner")
    func erased() async throws {
        try await withService { service in
            let (database, store) = (service.database, service.store)
            for (owner, name) in [("ben", "1.png"), ("anna", "2.png")] {
                try await store.put(Samples.small, at: ObjectKey("uploads/\(name)"))
                let photo = try await database.submit("'uploads/\(name)', '\(owner)', keep_original => true")
                try await database.execute(
                    Statement(
                        "select media.submit_upload($1, '\\x01', owner => $2, replace => true)",
                        ["avatars/\(owner).jpg", owner]))
                #expect(try await database.reaches("state = 'delivered'", of: photo))
            }
            // Its original is missing.
            let failed = try await database.submit("'uploads/3.png', 'ben', idempotency_key => 'three'")
            #expect(try await database.reaches("state = 'failed'", of: failed))
            let (photos, uploads, names) = try await database.query(
                """
                select jsonb_array_length(export -> 'photos'), jsonb_array_length(export -> 'uploads'),
                    export #>> '{photos,1,idempotency_key}'
                from media.export_person('ben') as export
                """)[0].decode(Int.self, Int.self, String.self)
            #expect(photos == 2 && uploads == 1 && names == "three")
            #expect(try await database.lines("select media.export_person('carl')") == ["{}"])

            // Two photos, a result, an avatar.
            #expect(try await database.number("select media.erase_person('ben')") == 4)
            #expect(try await database.number("select media.erase_person('ben')") == 0)
            #expect(try await database.lines("select media.export_person('ben')") == ["{}"])
            #expect(try await database.becomes("not exists (select from errand.job)"))
            #expect(
                try await store.keys(beginning: "avatars/", after: nil, atMost: 10).map(\.text) == ["avatars/anna.jpg"])
            #expect(try await store.all().count == 3)
            #expect(
                try await database.lines(
                    "select reason, people, photos, objects, finished_at is not null from media.receipt_status")
                    == ["erasure|1|2|4|true"])
            for table in ["photo", "upload", "removal", "receipt"] {
                #expect(
                    try await database.number(
                        "select count(*) from media.\(table) as row where strpos(row::text, 'ben') > 0") == 0,
                    "\(table)")
            }
            #expect(try await database.number("select count(*) from errand.failed") == 0)
        }
    }

    @Test("an erasure needs an owner, and nobody but the owner of the schema may ask for it")
    func refused() async throws {
        try await withAppDatabase { database, _ in
            for argument in ["null", "''", "repeat('x', 201)"] {
                let state = try await database.state(of: "media.erase_person(\(argument))")
                #expect(state == "ER422")
            }
            // Workers may call all functions of versions, but this one has no more rights than its caller.
            let allowed = try await database.lines(
                """
                select role, function from unnest('{errand_enqueuer,errand_ops,errand_monitor}'::text[]) as role,
                    unnest('{media.erase_person(text),media.export_person(text)}'::text[]) as function
                where has_function_privilege(role, function, 'execute')
                union all
                select role, 'media.photo' from unnest('{errand_worker,errand_enqueuer,errand_ops}'::text[]) as role
                where has_table_privilege(role, 'media.photo', 'select')
                """)
            #expect(allowed == [])
        }
    }
}
