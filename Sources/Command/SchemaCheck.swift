import Postgres
import Schema

extension Migrator {
    /// The migrator of this version's schema.
    static let errand = Migrator(
        migrations: Schema.migrations.map { ($0.name, $0.sql) },
        replaceable: Schema.replaceable.map { ($0.name, $0.sql) })

    /// Returns where the database has this program's schema. One round trip for a record, one for hashes: some 5 ms.
    ///
    /// Who may enqueue but not look into errand.migration isn't asked: the functions that he calls say what they lack.
    ///
    /// - Throws: ``Failure`` that names `errand migrate` where the schema is missing or older; ``PostgresError`` with code
    ///   `schema` where it is newer.
    func require(on connection: Connection) async throws {
        let pending: [Step]
        do {
            pending = try await plan(on: connection)
        } catch let error as PostgresError where error.sqlState == "42501" {
            return
        }
        guard let first = pending.first else { return }
        let rest = pending.count > 1 ? " and \(pending.count - 1) more" : ""
        throw Failure(
            code: Failure.misconfigured,
            "the database's schema is missing or older: it lacks \(first)\(rest) of this program; run `errand migrate`")
    }
}
