import Foundation
import Postgres
import Testing

extension Database {
    /// Makes a pair of two users.
    @discardableResult
    func pair(_ one: String, _ other: String) async throws -> UUID {
        try #require(try await redeem(try await invite(one), as: other).pair)
    }
}
