import Foundation
import HTTPTypes
import Hummingbird
import Web

/// A request to the page, and who sent it.
struct Visit: Sendable {
    let caller: Caller
    let query: FormFields
    /// Empty for a request without a form.
    let form: FormFields
    /// In the response, the log and the audit.
    let requestID: String
    /// The path with its query, to come back to.
    let address: String
    let parameters: [String: String]

    /// The number in the path.
    ///
    /// - Throws: ``Problem`` if it isn't one.
    func number(_ name: String) throws(Problem) -> Int64 {
        guard let number = parameters[name].flatMap({ Int64($0) }) else { throw .notFound }
        return number
    }
}

/// What a page replies.
enum Reply {
    case html(String)
    /// To an address of this page, such as `/jobs/17?done=retry`.
    case redirect(String)
    /// The same, and sets or removes the session's cookie.
    case session(String?, redirect: String)
}

/// A reply that is no page: its status, and what to do.
struct Problem: Error {
    let status: HTTPResponse.Status
    let title: String
    let detail: String
    var retryAfter: Duration?

    static let notFound = Problem(
        status: .notFound, title: "There is no such page", detail: "The address is wrong, or the thing is gone.")
    static func noJob(_ id: Int64) -> Problem {
        Problem(
            status: .notFound, title: "There is no job \(id)",
            detail: "Ended jobs stay for 7 days and failed ones for 30, unless their kind says otherwise.")
    }
    static func noBatch(_ id: Int64) -> Problem {
        Problem(
            status: .notFound, title: "There is no batch \(id)",
            detail: "A batch stays on record for 30 days after its end.")
    }
    static let needsLogIn = Problem(
        status: .unauthorized, title: "Please log in", detail: "This page needs a log-in.")
    static let foreignForm = Problem(
        status: .forbidden, title: "The form is out of date",
        detail: "It belongs to another session or site. Go back, reload the page, and send it again.")
    static let readOnly = Problem(
        status: .forbidden, title: "Nothing can be changed here",
        detail: "Actions need a log-in, and a database user that is a member of errand_ops.")
}
