import Errand
import HTTPTypes
import Postgres

/// A reply that is no success, as `application/problem+json` (RFC 9457).
struct Problem: Error {
    let status: HTTPResponse.Status
    /// For people. It may have what the caller has sent, and nothing of others.
    let detail: String
    var headers: HTTPFields = [:]
    /// Whether the rest of the request isn't read.
    var closes = false

    static let notFound = Problem(status: .notFound, detail: "There is nothing at this path.")
    static let tooLarge = Problem(
        status: .contentTooLarge, detail: "body: expected at most \(API.largestBody) bytes, got more", closes: true)
    static let tokenless = Problem(
        status: .unauthorized, detail: "Authorization: expected Bearer and a token that is set, got another",
        headers: [.wwwAuthenticate: "Bearer"])
    static let busy = Problem(
        status: .serviceUnavailable, detail: "Too many callers wait for jobs.", headers: [.retryAfter: "5"])

    static func malformed(_ detail: String) -> Problem { Problem(status: .badRequest, detail: detail) }

    static func unsupported(_ methods: [HTTPRequest.Method]) -> Problem {
        let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
        return Problem(status: .methodNotAllowed, detail: "method: expected \(allowed)", headers: [.allow: allowed])
    }
}

// MARK: - Of errors
extension Problem {
    /// The problem of an error that an operation has thrown. What isn't about the request has no text of the error.
    init(_ error: any Error) {
        guard !(error is CancellationError) else {
            self.init(status: .serviceUnavailable, detail: "The server stops.", headers: [.retryAfter: "1"])
            return
        }
        if let problem = error as? Problem {
            self = problem
            return
        }
        let postgres = error as? PostgresError
        let status: HTTPResponse.Status? =
            switch postgres?.sqlState {
            case "ER401": .unauthorized
            case "ER403": .forbidden
            case "ER404": .notFound
            case "ER409": .conflict
            case "ER413": .contentTooLarge
            // Also a stack that is too small for JSON, and U+0000.
            case _ where postgres?.concernsValue == true: .unprocessableContent
            default: nil
            }
        if let status, let postgres {
            let own = postgres.sqlState?.hasPrefix("ER") == true
            self =
                status == .unauthorized
                ? .tokenless
                : Problem(
                    status: status,
                    detail: own
                        ? postgres.detail + (postgres.hint.map { " (\($0))" } ?? "")
                        : "body: expected values that PostgreSQL can store, got others")
        } else if postgres?.isTransient == true {
            self.init(
                status: .serviceUnavailable, detail: "The database can't be reached, or has not replied in time.",
                headers: [.retryAfter: "1"])
        } else {
            self.init(status: .internalServerError, detail: "The server's log says what is wrong.")
        }
    }
}

// MARK: - As JSON
extension Problem {
    static let schema = Schema.named(
        "Problem",
        .object([
            .init(
                name: "type", schema: .text(1...200), description: "urn:errand:problem: and the code.",
                isRequired: true),
            .init(name: "title", schema: .text(1...200), description: "What the code means.", isRequired: true),
            .init(name: "status", schema: .integer(400...599), description: "The HTTP status.", isRequired: true),
            .init(
                name: "code", schema: .text(1...40), description: "What a program compares; it stays as it is.",
                isRequired: true),
            .init(
                name: "detail", schema: .text(1...10_000), description: "What was expected and what came.",
                isRequired: true),
        ]))

    private static let kinds: [HTTPResponse.Status: (code: String, title: String)] = [
        .badRequest: ("malformed", "The request is not what the document says"),
        .unauthorized: ("unauthorized", "The token is missing or not set"),
        .forbidden: ("forbidden", "The token may not do this"),
        .notFound: ("not_found", "There is no such thing, or it is not the token's"),
        .methodNotAllowed: ("method_not_allowed", "The path has other methods"),
        .conflict: ("conflict", "It conflicts with what there is"),
        .contentTooLarge: ("too_large", "The body or the payload is too large"),
        .unsupportedMediaType: ("unsupported_media_type", "The body is not JSON by its content type"),
        .unprocessableContent: ("invalid", "The queue refuses a value"),
        .serviceUnavailable: ("unavailable", "The same request may succeed later"),
        .internalServerError: ("internal", "The server has failed"),
    ]

    static func title(of status: HTTPResponse.Status) -> String { kinds[status]?.title ?? status.reasonPhrase }

    var json: [UInt8] {
        let (code, title) = Self.kinds[status] ?? ("other", status.reasonPhrase)
        let value: JSONValue = [
            "type": .string("urn:errand:problem:\(code)"), "title": .string(title), "code": .string(code),
            "status": .number(Double(status.code)), "detail": .string(detail),
        ]
        return value.sortedJSON
    }
}
