import Errand
import HTTPTypes
import Hummingbird
import Postgres

/// A method at a path: what it takes, what it returns, and what does it. Requests are served, and the document is
/// made, from the same list of these.
struct Operation: Sendable {
    let id: String
    let method: HTTPRequest.Method
    /// With parameters in braces: `/v1/jobs/{id}`.
    let path: String
    let summary: String
    let description: String
    var needsToken = true
    var parameters: [Parameter] = []
    /// JSON that a request has to have; nil if it has none.
    var body: Schema?
    let successes: [Success]
    /// The statuses of problems that are this operation's own.
    var problems: [HTTPResponse.Status] = []
    let run: @Sendable (Call) async throws -> Reply

    struct Parameter: Sendable {
        enum Location: String, Sendable { case path, query, header }

        let location: Location
        let name: String
        let schema: Schema
        let description: String
    }

    struct Success: Sendable {
        let status: HTTPResponse.Status
        let description: String
        var schema: Schema?
        var hasLocation = false
    }

    /// The parameters in a path; nil if it is another operation's.
    func match(_ path: some StringProtocol) -> [String: String]? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        let expected = self.path.split(separator: "/", omittingEmptySubsequences: false)
        guard segments.count == expected.count else { return nil }
        var values: [String: String] = [:]
        for (segment, expected) in zip(segments, expected) {
            if expected.hasPrefix("{") {
                values[String(expected.dropFirst().dropLast())] = String(segment)
            } else if segment != expected {
                return nil
            }
        }
        return values
    }
}

/// A request whose form is right.
struct Call: Sendable {
    let jobs: Jobs
    /// Of the API token; empty if the operation needs none.
    let hash: Bytes
    /// The parameters that it has, by name.
    let parameters: [String: String]
    /// JSON; empty if the operation takes none.
    let body: String
    let traceparent: String?
    /// What it was sent with, for one who waits.
    let request: Request

    /// The number in the path.
    func number(_ name: String) throws(Problem) -> Int64 {
        guard let number = parameters[name].flatMap({ Int64($0) }) else { throw .notFound }
        return number
    }
}

/// What an operation replies.
struct Reply: Sendable {
    let status: HTTPResponse.Status
    /// Empty if there is no body.
    var json: [UInt8] = []
    var headers: HTTPFields = [:]
}
