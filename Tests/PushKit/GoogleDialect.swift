import Cryptography
import Foundation
import Synchronization

/// Google's: `/token` gives an access token for a signed assertion, and each message has such a token.
package final class GoogleDialect: PushDialect {
    private struct State {
        var tokens: Set<String> = []
        var granted = 0
        var denial: PushResponse?
    }

    static let project = "moments-1"
    static let email = "errand@moments-1.iam.gserviceaccount.com"
    static let keyID = "0123456789abcdef"
    private static let key = Result { try SigningKey(generating: .rs256) }

    let protocols: [String]
    /// How long an access token is valid, in seconds.
    private let life: Int
    private let state = Mutex(State())

    package init(isHTTP2: Bool = true, life: Int = 3600) {
        protocols = [isHTTP2 ? "h2" : "http/1.1"]
        self.life = life
    }

    /// How many access tokens were given.
    package var granted: Int { state.withLock(\.granted) }

    /// Takes back all access tokens.
    package func revoke() { state.withLock { $0.tokens = [] } }

    /// Responds to requests for access tokens with this from now on; nil gives them again.
    package func deny(_ response: PushResponse?) { state.withLock { $0.denial = response } }

    /// The service account's file.
    package func account(at url: String) throws -> String {
        let fields = [
            "type": "service_account", "project_id": Self.project, "client_email": Self.email,
            "private_key_id": Self.keyID, "private_key": try Self.key.get().pem(),
            "token_uri": "\(url)/token",
        ]
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }

    func response(to request: PushRequest) -> PushResponse? {
        if request.headers[":path"] == "/token" { return grant(request) }
        guard request.headers[":path"] == "/v1/projects/\(Self.project)/messages:send" else {
            return .reply(404, "<html>not found</html>")
        }
        return state.withLock { $0.tokens.contains(request.bearer) } ? nil : .status(401, "UNAUTHENTICATED")
    }

    func reply(_ status: Int, _ reason: String?, _ since: Date?, to request: PushRequest) -> PushReply {
        let name = #"{"name":"projects/\#(Self.project)/messages/\#(request.number)"}"#
        return PushReply(
            status: status, headers: [("content-type", "application/json")],
            body: reason.map { #"{"error":{"code":\#(status),"status":"\#($0)","details":[]}}"# } ?? name)
    }

    private func grant(_ request: PushRequest) -> PushResponse {
        if let denial = state.withLock(\.denial) { return denial }
        let form = Dictionary(
            String(decoding: request.body, as: UTF8.self).split(separator: "&").compactMap { field in
                let halves = field.split(separator: "=", maxSplits: 1).map(String.init)
                return halves.count == 2 ? (halves[0], halves[1].removingPercentEncoding ?? "") : nil
            }, uniquingKeysWith: { first, _ in first })
        guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer",
            let assertion = form["assertion"], isSigned(assertion)
        else { return .reply(400, #"{"error":"invalid_grant"}"#) }
        let token = state.withLock { state in
            state.granted += 1
            let token = "ya29.\(state.granted)"
            state.tokens.insert(token)
            return token
        }
        return .reply(200, #"{"access_token":"\#(token)","expires_in":\#(life),"token_type":"Bearer"}"#)
    }

    /// Whether Google would take the assertion: RS256 by the account's key, its names, and an hour at most.
    private func isSigned(_ assertion: String) -> Bool {
        let parts = assertion.split(separator: ".").map(String.init)
        guard parts.count == 3, let signature = PushRequest.data(parts[2]), let key = try? Self.key.get(),
            let head = PushRequest.object(parts[0]), let claims = PushRequest.object(parts[1]),
            let issued = claims["iat"] as? Int, let expires = claims["exp"] as? Int
        else { return false }
        return head["alg"] as? String == "RS256" && head["kid"] as? String == Self.keyID
            && claims["iss"] as? String == Self.email && (claims["aud"] as? String)?.hasSuffix("/token") == true
            && claims["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging"
            && expires - issued <= 3600
            && key.verifyingKey.isValid(Array(signature), of: Array("\(parts[0]).\(parts[1])".utf8))
    }
}
