import Crypto
import Foundation

/// The key that provider tokens are signed with, as Apple gives it to a team. It shows its names and never itself, whoever
/// prints it.
package struct APNsKey: Sendable {
    package let id: String
    package let team: String
    private let key: P256.Signing.PrivateKey

    /// - Parameters:
    ///   - pem: the text of the `.p8` file; its line ends may be written as `\n`.
    ///   - id: ten capital letters and digits.
    ///   - team: likewise.
    /// - Throws: ``MalformedPushKey``, which repeats nothing of the text.
    package init(pem: String, id: String, team: String) throws(MalformedPushKey) {
        let text = pem.replacing("\\n", with: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
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
        let head = Self.base64URL(Data(#"{"alg":"ES256","kid":"\#(id)"}"#.utf8))
        let claims = Self.base64URL(Data(#"{"iss":"\#(team)","iat":\#(time)}"#.utf8))
        guard let signature = try? key.signature(for: Data("\(head).\(claims)".utf8)) else {
            throw PushError(.misconfigured, reason: "the push key can't sign")
        }
        return "\(head).\(claims).\(Self.base64URL(signature.rawRepresentation))"
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

extension APNsKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "key \(id) of team \(team), secret hidden" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id, "team": team]) }
}

/// A push key that can't be used; says what was expected.
package struct MalformedPushKey: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
