import Errand
import Foundation
import Outbound
import Postgres

/// What a server has said to a request, as far as it was read, and what follows for the job.
struct Response: Sendable, Hashable {
    let status: Int
    var contentType: String?
    var retryAfter: String?
    var body: [UInt8] = []
    /// Whether the server has sent more than was read.
    var isTruncated = false

    /// The most bytes of an output: what is stored with a job.
    static let mostOutput = 262_144
    /// The most bytes that are read of an error.
    private static let mostError = 16_384

    /// Whether its body is the output of the job. Of others the status says enough.
    var hasOutput: Bool { (200...299).contains(status) && status != 202 }

    var mostBytes: Int { hasOutput ? Self.mostOutput : Self.mostError }
}

extension Response {
    /// A pure decision.
    ///
    /// - Parameter now: what a date in its headers is compared with.
    func reply(at now: Date) -> EndpointReply {
        switch status {
        case 202: return .accepted
        case 200...299: return outputReply
        case 300...399:
            return .refused(reason: "status \(status): redirects are not followed", cause: cause)
        case 410: return .gone(reason: reason)
        case 429, 503:
            guard let delay = retryAfter.flatMap({ RetryAfter.delay($0, at: now) }) else {
                return .failed(reason: reason, cause: cause)
            }
            // The circuit is probed again each second.
            return .busy(for: max(delay, .seconds(1)), reason: reason)
        case 408, 425: return .failed(reason: reason, cause: cause)
        case 400...499: return .refused(reason: reason, cause: cause)
        default: return .failed(reason: reason, cause: cause)
        }
    }

    private var outputReply: EndpointReply {
        guard !isTruncated else {
            return .refused(
                reason: "output: expected at most \(Self.mostOutput) bytes as text, got more", cause: "output too large"
            )
        }
        guard isJSON, !body.isEmpty else { return .done(output: nil) }
        guard Self.isValid(body) else {
            return .failed(
                reason: "status \(status): expected JSON, as its content-type says, got something else",
                cause: "malformed output")
        }
        return .done(output: JSONB(bytes: body))
    }

    /// `application/json` and such as `application/problem+json`, whatever parameters are behind it.
    private var isJSON: Bool {
        guard let type = contentType?.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased()
        else { return false }
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// Whether the database takes it: JSON as UTF-8, without U+0000.
    private static func isValid(_ body: [UInt8]) -> Bool {
        guard String(validating: body, as: UTF8.self) != nil, !body.contains(0),
            !body.starts(with: [0xEF, 0xBB, 0xBF]),
            (try? JSONValue(JSONB(bytes: body))) != nil
        else { return false }
        return !hasEscapedNull(body)
    }

    private static func hasEscapedNull(_ body: [UInt8]) -> Bool {
        var isEscaped = false
        for (index, byte) in body.enumerated() {
            if isEscaped, body[index...].starts(with: "u0000".utf8) { return true }
            isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        }
        return false
    }

    private var cause: String { "status \(status)" }

    /// The status, and what the server says about it.
    private var reason: String { said.map { "status \(status): \($0)" } ?? "status \(status)" }

    /// The text of the field `error`, in one line of at most 500 characters.
    private var said: String? {
        struct Failure: Decodable { var error: String }
        guard !isTruncated, isJSON, let text = try? JSONB(bytes: body).decode(Failure.self).error else { return nil }
        let line = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : Character($0) }
        let shown = String(line.prefix(500)).trimmingCharacters(in: .whitespaces)
        return shown.isEmpty ? nil : shown
    }
}
