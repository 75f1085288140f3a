import Foundation
import Postgres

extension Error {
    /// The text of the error on a job's record: its own description, or else that of a `LocalizedError`.
    var recordedText: String {
        switch self as Any {
        case let described as any CustomStringConvertible: described.description
        case let localized as any LocalizedError: localized.errorDescription ?? "\(self)"
        default: "\(self)"
        }
    }

    /// What logs and traces say of the error: its type and SQLSTATE. The text may hold private data.
    package var loggedClass: String {
        let state = (self as? PostgresError)?.sqlState.map { " \($0)" } ?? ""
        return String("\(type(of: self))\(state)".prefix(200))
    }
}
