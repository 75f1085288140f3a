import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Workers of two versions") struct VersionsTests {
    @Test("an older worker's registration keeps settings of a kind that it doesn't know")
    func kinds() async throws {
        try await withTestDatabase { database, _ in
            let new =
                #"[{"name": "noop", "queue": "q", "max_attempts": 3, "priority": 2, "is_whole": true, "max_running": 4}]"#
            let old = #"[{"name": "noop", "queue": "q", "max_attempts": 5, "priority": 2}]"#
            _ = try await ManualWorker(database, kinds: new)
            _ = try await ManualWorker(database, kinds: old)
            #expect(try await database.count("from errand.kind where max_attempts = 5 and max_running = 4") == 1)
            #expect(
                try await database.count("from errand.limit where limit_key = 'kind/noop' and max_running = 4") == 1)
        }
    }
}
