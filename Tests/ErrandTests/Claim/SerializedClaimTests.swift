import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Large claims, one after the other") struct SerializedClaimTests {
    private let holdsLock = """
        exists (
            select from pg_locks
            where relation = 'errand.claims_lock'::regclass and granted
                and database = (select oid from pg_database where datname = current_database()))
        """

    @Test("a large claim excludes others until its transaction ends; a small one does not")
    func holds() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            try await Queue(database: database).enqueue(all: (1...20).map { _ in Noop() })
            var claim = worker.claiming(2)
            for isSerialized in [true, false] {
                claim.isSerialized = isSerialized
                let statement = claim.statement
                try await database.transaction { transaction in
                    try await transaction.execute(statement)
                    let row = try await transaction.query(Statement("select \(holdsLock)"))
                    #expect(try row.scalar(Bool.self) == isSerialized)
                }
            }
        }
    }

    @Test("a large claim takes its jobs even if another one never ends", .timeLimit(.minutes(1)))
    func goesOn() async throws {
        try await withTestDatabase { database, _ in
            let workers = [try await ManualWorker(database), try await ManualWorker(database)]
            try await Queue(database: database).enqueue(all: (1...20).map { _ in Noop() })
            let claims = workers.map { worker in
                var claim = worker.claiming(10)
                claim.isSerialized = true
                return claim
            }
            let ids = try await database.transaction { transaction in
                let first = try claims[0].reply(try await transaction.query(claims[0].statement)).jobs
                let second = try claims[1].reply(try await database.query(claims[1].statement)).jobs
                return (first + second).map(\.id)
            }
            #expect(ids.count == 20)
            #expect(Set(ids).count == 20)
        }
    }
}
