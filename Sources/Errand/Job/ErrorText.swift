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

extension Error {
    /// The text of an error of decoding `whole`: which of its fields is wrong, and what was expected there.
    func decodingText(of whole: String) -> String {
        /// `order.lines[2].price`; the document itself is `whole`.
        func path(_ keys: [any CodingKey]) -> String {
            let path = keys.reduce(into: "") { path, key in
                if let index = key.intValue {
                    path += "[\(index)]"
                } else {
                    path += (path.isEmpty ? "" : ".") + key.stringValue
                }
            }
            return path.isEmpty ? whole : path
        }
        return switch self as? DecodingError {
        case .keyNotFound(let key, let context):
            "\(path(context.codingPath + [key])): expected a value, got none"
        case .valueNotFound(let type, let context):
            "\(path(context.codingPath)): expected \(type), got null"
        case .typeMismatch(let type, let context):
            "\(path(context.codingPath)): expected \(type), got another type"
        case .dataCorrupted(let context):
            "\(path(context.codingPath)): \(context.debugDescription)"
        default:
            recordedText
        }
    }
}
