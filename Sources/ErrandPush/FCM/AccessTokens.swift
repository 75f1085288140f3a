import AsyncHTTPClient
import Foundation
import NIOHTTP1
import Outbound

/// The access token in use: one for all pushes of a process, renewed 5 minutes before it expires, once at a time.
actor AccessTokens {
    private struct Token {
        let text: String
        let expiresAt: Date

        func isFresh(at now: Date) -> Bool { now < expiresAt - 300 }
    }

    private let account: FCMServiceAccount
    private let client: PushClient
    private var current: Token?
    private var renewal: Task<Token, any Error>?

    init(of account: FCMServiceAccount, client: PushClient) {
        self.account = account
        self.client = client
    }

    /// The token to send with.
    func token(at now: Date) async throws(PushError) -> String {
        if let current, current.isFresh(at: now) { return current.text }
        // A task of its own: others wait for it too, and a cancelled push must not end their renewal.
        let renewal = self.renewal ?? Task { try await renewed(at: now) }
        self.renewal = renewal
        do {
            return try await renewal.value.text
        } catch {
            throw error as? PushError ?? PushError(.interrupted, reason: "no access token (\(type(of: error)))")
        }
    }

    /// Google has refused a token. The next push gets a new one.
    func refused(_ text: String) {
        if current?.text == text { current = nil }
    }

    private func renewed(at now: Date) async throws -> Token {
        defer { renewal = nil }
        var request = HTTPClientRequest(url: account.tokenServer.absoluteString)
        request.method = .POST
        request.headers = ["content-type": "application/x-www-form-urlencoded"]
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        let assertion = try account.assertion(at: Int64(now.timeIntervalSince1970))
        request.body = .bytes(Array("grant_type=\(grant)&assertion=\(assertion)".utf8))
        let (status, headers, body) = try await client.execute(request, within: .seconds(10))
        let token = try Self.token(status: status, retryAfter: headers.first(name: "retry-after"), body: body, at: now)
        current = token
        return token
    }

    private static func token(
        status: Int, retryAfter: String?, body: [UInt8], at now: Date
    ) throws(PushError) -> Token {
        struct Body: Decodable {
            var access_token: String?
            var expires_in: Double?
            var error: String?
        }
        let body = try? JSONDecoder().decode(Body.self, from: Data(body))
        if status == 200, let text = body?.access_token, let life = body?.expires_in {
            return Token(text: text, expiresAt: now + life)
        }
        let said = String((body?.error ?? "").prefix(100).filter { $0.isASCII && ($0.isLetter || $0 == "_") })
        let reason = "no access token: \(said.isEmpty ? "without a reason" : said)"
        // 400 `invalid_grant` is a wrong key, or a clock that is wrong.
        guard status == 429 || status >= 500 || status == 200 else {
            throw PushError(.misconfigured, status: status, reason: reason)
        }
        let pause = retryAfter.flatMap { RetryAfter.delay($0, at: now) }
        throw PushError(.unavailable, status: status, reason: reason, retryAfter: pause)
    }
}
