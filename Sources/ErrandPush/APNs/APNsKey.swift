import Cryptography
import Foundation

/// A team's signing key for APNs. Printed, it shows its id and team, and never the key.
public struct APNsKey: Sendable {
    /// The key's id, ten capital letters and digits.
    public let id: String
    /// The team's id, ten capital letters and digits.
    public let team: String
    private let key: SigningKey

    /// - Parameters:
    ///   - pem: the text of the `.p8` file. Its line ends may be written as `\n`.
    ///   - id: the key's id.
    ///   - team: the team's id.
    /// - Throws: ``MalformedPushKey``, which shows nothing of the text.
    public init(pem: String, id: String, team: String) throws(MalformedPushKey) {
        let text = pem.replacing("\\n", with: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key = try? SigningKey(pem: text, for: .es256) else {
            throw MalformedPushKey("expected the text of a .p8 file: a private key of the curve P-256 as PEM")
        }
        self.key = key
        self.id = id
        self.team = team
    }

    /// A provider token: a JSON Web Token with ES256.
    ///
    /// - Parameter time: when it was issued, in unix seconds; Apple takes it for an hour.
    func token(issuedAt time: Int64) throws(PushError) -> String {
        let head = Data(#"{"alg":"ES256","kid":"\#(id)"}"#.utf8).base64URL
        let claims = Data(#"{"iss":"\#(team)","iat":\#(time)}"#.utf8).base64URL
        guard let signature = try? key.signature(of: Array("\(head).\(claims)".utf8)) else {
            throw PushError(.misconfigured, reason: "the push key can't sign")
        }
        return "\(head).\(claims).\(Data(signature).base64URL)"
    }
}

extension APNsKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "key \(id) of team \(team), secret hidden" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id, "team": team]) }
}

/// A push key that can't be used. Its description says what was expected.
public struct MalformedPushKey: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
