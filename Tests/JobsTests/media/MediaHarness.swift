import ErrandTestKit
import Foundation
import Postgres

extension Database {
    func submit(_ arguments: String) async throws -> UUID {
        try await query(Statement("select media.submit(\(arguments))")).scalar(UUID.self)
    }

    /// Records a result of the photo, as its compression does.
    @discardableResult
    func compress(_ photo: UUID) async throws -> String {
        try await query(
            Statement(
                "select media.compressed_v1($1, $2, '{}', '\\x0405')",
                [photo, "photos/\(photo.uuidString.lowercased()).jpg"])
        ).scalar(String.self)
    }

    /// Records that the store has the result of the photo, or the upload, as its delivery does. Nil if it is gone.
    @discardableResult
    func deliver(_ id: UUID) async throws -> String? {
        try await query(
            Statement(
                "select media.delivered_v1(id, key, revision) from media.upload where id = $1 or photo = $1", [id])
        ).column(0, as: String.self).first
    }

    /// The keys that are listed for removal.
    var removals: [String] {
        get async throws { try await lines("select key from media.removal order by key") }
    }

    /// Returns the SQLSTATE of the error of a call; nil if it has none.
    func state(of call: String) async throws -> String? {
        do {
            try await execute(Statement("select \(call)"))
            return nil
        } catch {
            return error.sqlState
        }
    }
}
