import Cryptography
import Foundation

/// A push's request at the stub.
package struct PushRequest: Sendable {
    /// Counted from 1 over all requests.
    package let number: Int
    /// The number of its connection, from 1.
    package let connection: Int
    package let at: Date
    /// Names in lower case, including `:path` and the like.
    package let headers: [String: String]
    package let body: [UInt8]

    /// The device's token: the end of Apple's path, and in Google's message.
    package var token: String {
        message?["token"] as? String ?? headers[":path"].map { String($0.split(separator: "/").last ?? "") } ?? ""
    }

    /// Google's message.
    package var message: [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])?["message"] as? [String: Any]
    }

    /// The provider token as sent.
    package var bearer: String { String((headers["authorization"] ?? "").dropFirst("bearer ".count)) }

    /// The issue time in the provider token, in unix seconds.
    package var issuedAt: Int? { claims["iat"] as? Int }

    /// The field of `aps`.
    package func aps(_ name: String) -> Any? {
        let payload = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        return (payload?["aps"] as? [String: Any])?[name]
    }

    package var event: String { aps("event") as? String ?? "" }
    package var timestamp: Int { aps("timestamp") as? Int ?? 0 }

    /// Whether Apple would accept the provider token: ES256, raw signature, the names of key and team.
    func isSigned(by key: VerifyingKey, id: String, team: String) -> Bool {
        let parts = bearer.split(separator: ".").map(String.init)
        guard parts.count == 3, let signature = Self.data(parts[2]), signature.count == 64,
            let head = Self.object(parts[0])
        else { return false }
        return head["alg"] as? String == "ES256" && head["kid"] as? String == id && claims["iss"] as? String == team
            && key.isValid(Array(signature), of: Array("\(parts[0]).\(parts[1])".utf8))
    }

    private var claims: [String: Any] {
        let parts = bearer.split(separator: ".").map(String.init)
        return parts.count == 3 ? Self.object(parts[1]) ?? [:] : [:]
    }

    static func object(_ text: String) -> [String: Any]? {
        data(text).flatMap { try? JSONSerialization.jsonObject(with: $0) as? [String: Any] }
    }

    static func data(_ text: String) -> Data? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }
}

/// The fate of a request.
package indirect enum PushResponse: Sendable {
    /// `200`.
    case accepted
    /// Another status, with a reason and, for an invalid token, since when.
    case status(Int, String, since: Date? = nil)
    /// A status, with this body and these headers.
    case reply(Int, String, headers: [String: String] = [:])
    /// Later.
    case after(Duration, PushResponse)
    /// As soon as the closure returns one.
    case when(@Sendable () -> PushResponse?)
    /// The connection is ended in good order: earlier requests get their response, this one was not processed.
    case goAway
    /// The stream is reset: the request was not read, or was accepted.
    case reset(accepting: Bool)
    /// The connection breaks: the request was not read, or was accepted.
    case close(accepting: Bool)
    /// There is never a response.
    case silence
}
