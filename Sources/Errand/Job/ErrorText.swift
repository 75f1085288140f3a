import Foundation

extension Error {
    /// The text of the error on a job's record: its own description, or else that of a `LocalizedError`.
    var recordedText: String {
        switch self as Any {
        case let described as any CustomStringConvertible: described.description
        case let localized as any LocalizedError: localized.errorDescription ?? "\(self)"
        default: "\(self)"
        }
    }
}
