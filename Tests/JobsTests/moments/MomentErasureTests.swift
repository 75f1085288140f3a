import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Erasure of moments") struct MomentErasureTests {
    @Test("E5: a person is erased while their photo is under way: no row and no object stays")
    func whileJobsRun() async throws {
        try await withService(uploads: false) { service in
            let database = service.database
            try await database.pair("anna", "ben")
            for number in 1...8 {
                let key = "moments/\(number).png"
                try await service.store.put(Samples.small, at: ObjectKey(key))
                try await database.execute(
                    Statement("select status from moments.send('anna', media.submit($1, 'anna'))", [key]))
            }
            try await database.execute("select people.erase('anna')")
            #expect(try await database.becomes("not exists (select from errand.job where queue <> 'pushes')"))
            // Results that may be on their way are removed once more when no upload can still run.
            try await database.ageRemovals()
            try await database.execute("select media.enqueue_removals_v1()")
            #expect(try await database.becomes("not exists (select from media.removal)"))
            #expect(try await service.store.all() == [])
            #expect(try await database.number("select count(*) from media.photo") == 0)
            #expect(try await database.tables(with: "anna") == [])
        }
    }
}
