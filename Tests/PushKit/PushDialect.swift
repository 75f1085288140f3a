import Cryptography
import Foundation

/// What Apple's and Google's servers do differently: whom they let in, and what their responses look like.
protocol PushDialect: Sendable {
    /// The protocols that the server offers (ALPN).
    var protocols: [String] { get }

    /// The response to a request that the script doesn't get to see; nil if it does.
    func response(to request: PushRequest) -> PushResponse?

    /// What the response looks like on the wire.
    func reply(_ status: Int, _ reason: String?, _ since: Date?, to request: PushRequest) -> PushReply
}

/// A response on the wire.
struct PushReply: Sendable {
    let status: Int
    var headers: [(name: String, value: String)] = []
    var body: String?
}

/// Apple's: each request has a provider token of its own key.
struct AppleDialect: PushDialect {
    /// The text of the key that signs provider tokens.
    let pem: String
    let protocols = ["h2"]
    private let key: VerifyingKey

    init() throws {
        let made = try SigningKey(generating: .es256)
        pem = try made.pem()
        key = made.verifyingKey
    }

    func response(to request: PushRequest) -> PushResponse? {
        request.isSigned(by: key, id: PushServer.keyID, team: PushServer.team)
            ? nil : .status(403, "InvalidProviderToken")
    }

    func reply(_ status: Int, _ reason: String?, _ since: Date?, to request: PushRequest) -> PushReply {
        let timestamp = since.map { #","timestamp":\#(Int($0.timeIntervalSince1970 * 1000))"# } ?? ""
        return PushReply(
            status: status, headers: [("apns-id", request.headers["apns-id"] ?? "")],
            body: reason.map { #"{"reason":"\#($0)"\#(timestamp)}"# })
    }
}
