import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

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

    /// Advances the time of pending removals.
    func ageRemovals(by seconds: Int = 90) async throws {
        try await execute(
            Statement(
                """
                update media.removal
                set try_at = try_at - $1 * interval '1 second', final_at = final_at - $1 * interval '1 second',
                    tried_at = tried_at - $1 * interval '1 second'
                """, [seconds]))
    }

    /// Expects that objects which a job makes are neither handed over nor originals.
    func refuses(generated keys: [String]) async throws {
        for key in keys {
            for owner in ["'eve'", "null"] {
                for call in [
                    "media.submit('\(key)', \(owner))",
                    "media.submit_upload('\(key)', '\\x01', owner => \(owner), replace => true)",
                ] {
                    #expect(try await state(of: call) == "ER409", "\(call)")
                }
            }
        }
        #expect(try await number("select count(*) from media.photo") == 0)
    }
}

extension ObjectStore {
    /// Every key in the store.
    func all() async throws -> [String] {
        try await keys(beginning: "", after: nil, atMost: 100_000).map(\.text)
    }
}
