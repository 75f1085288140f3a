import Foundation
import Outbound

/// A response of FCM, and its verdict.
///
/// The rules are those of Google's "FCM error codes": the error code decides, then the status.
struct FCMResponse: Sendable, Hashable {
    enum Verdict: Sendable, Hashable {
        case accepted
        /// The push may be accepted with a new access token.
        case renewToken
        case failed(PushError.Code)
    }

    /// Google's default pause after 429, from "Best practices when sending FCM messages at scale".
    static let quotaPause: Duration = .seconds(60)

    let status: Int
    /// Google's error code or status, such as `UNREGISTERED`; empty if none came.
    let reason: String
    /// The message's name; nil if it wasn't accepted.
    let name: String?
    let retryAfter: Duration?
    /// Whether the error blames the device's token.
    let blamesToken: Bool

    /// - Parameters:
    ///   - retryAfter: the header's text.
    ///   - body: JSON, HTML or nothing.
    ///   - now: what a date in the header is compared with.
    init(status: Int, retryAfter: String? = nil, body: [UInt8], at now: Date) {
        let body = try? JSONDecoder().decode(Body.self, from: Data(body))
        self.status = status
        let code = body?.error?.details?.compactMap(\.errorCode).first ?? body?.error?.status ?? ""
        reason = String(code.prefix(100).filter { $0.isASCII && ($0.isLetter || $0 == "_") })
        name = status == 200 ? body?.name : nil
        blamesToken =
            body?.error?.details?.contains { $0.fieldViolations?.contains { $0.field == "message.token" } == true }
            == true
        self.retryAfter = retryAfter.flatMap { RetryAfter.delay($0, at: now) }
    }

    private struct Body: Decodable {
        struct Failure: Decodable {
            struct Detail: Decodable {
                struct Violation: Decodable { var field: String? }
                var errorCode: String?
                var fieldViolations: [Violation]?
            }
            var status: String?
            var details: [Detail]?
        }
        var name: String?
        var error: Failure?
    }

    var verdict: Verdict {
        switch (status, reason) {
        case (200, _): .accepted
        case (_, "UNREGISTERED"), (404, "NOT_FOUND"), (_, "SENDER_ID_MISMATCH"): .failed(.tokenGone)
        case (_, "INVALID_ARGUMENT"): .failed(blamesToken ? .tokenGone : .refused)
        case (_, "THIRD_PARTY_AUTH_ERROR"): .failed(.misconfigured)
        case (_, "QUOTA_EXCEEDED"), (429, _): .failed(.quotaExceeded)
        case (401, _): .renewToken
        case (403, _), (404, _): .failed(.misconfigured)
        case (400...499, _): .failed(.refused)
        default: .failed(.unavailable)
        }
    }

    /// The error, if no immediate retry helps.
    var error: PushError? {
        let code: PushError.Code
        switch verdict {
        case .accepted: return nil
        case .renewToken: code = .misconfigured
        case .failed(let failure): code = failure
        }
        return PushError(
            code, status: status, reason: reason.isEmpty ? "without a reason" : reason,
            retryAfter: code == .quotaExceeded ? max(retryAfter ?? .zero, Self.quotaPause) : retryAfter)
    }
}
