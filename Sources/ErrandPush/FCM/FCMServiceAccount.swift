import Cryptography
import Foundation

/// A service account of Google, from its JSON file. Printed, it shows its project and address, and never the key.
public struct FCMServiceAccount: Sendable {
    /// The Firebase project.
    public let project: String
    /// The account's address.
    public let email: String
    /// Where access tokens come from.
    let tokenServer: URL
    private let keyID: String
    private let key: SigningKey

    /// - Parameter json: the text of the service account's file.
    /// - Throws: ``MalformedServiceAccount``, which shows nothing of the key.
    public init(json: String) throws(MalformedServiceAccount) {
        struct File: Decodable {
            var project_id: String
            var client_email: String
            var private_key_id: String
            var private_key: String
            var token_uri: String
        }
        guard let file = try? JSONDecoder().decode(File.self, from: Data(json.utf8)) else {
            throw MalformedServiceAccount(
                "expected the JSON of a service account, with project_id, client_email, private_key_id, private_key and "
                    + "token_uri")
        }
        guard let key = try? SigningKey(pem: file.private_key, for: .rs256) else {
            throw MalformedServiceAccount("private_key: expected a private RSA key as PEM")
        }
        guard let server = URL(string: file.token_uri), server.scheme == "https", server.host?.isEmpty == false else {
            throw MalformedServiceAccount("token_uri: expected https://…")
        }
        guard file.project_id.wholeMatch(of: /[a-z0-9.:-]+/) != nil else {
            throw MalformedServiceAccount("project_id: expected small letters, digits, and . : -")
        }
        project = file.project_id
        email = file.client_email
        keyID = file.private_key_id
        tokenServer = server
        self.key = key
    }

    /// What an access token is requested with: a JSON Web Token with RS256, valid for an hour.
    func assertion(at time: Int64) throws(PushError) -> String {
        let head = Data(
            #"{"alg":"RS256","typ":"JWT","kid":\#(JSONText.quoted(keyID))}"#.utf8
        ).base64URL
        let claims = Data(
            #"""
            {"iss":\#(JSONText.quoted(email)),"scope":"https://www.googleapis.com/auth/firebase.messaging",\#
            "aud":\#(JSONText.quoted(tokenServer.absoluteString)),"iat":\#(time),"exp":\#(time + 3600)}
            """#.utf8
        ).base64URL
        guard let signature = try? key.signature(of: Array("\(head).\(claims)".utf8)) else {
            throw PushError(.misconfigured, reason: "the service account's key can't sign")
        }
        return "\(head).\(claims).\(Data(signature).base64URL)"
    }
}

extension FCMServiceAccount: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(email) of project \(project), secret hidden" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["project": project, "email": email]) }
}

/// A service account that can't be used. Its description says what was expected.
public struct MalformedServiceAccount: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

extension Data {
    var base64URL: String {
        base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
