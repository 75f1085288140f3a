/// What a bucket's requests are signed with. It shows its access key and never its secrets, whoever prints it.
package struct Credentials: Sendable {
    package let accessKey: String
    let secretKey: String
    /// Comes with temporary credentials.
    let sessionToken: String?

    package init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// The text without what must not be seen, in case a server has repeated it.
    func hidden(in text: String) -> String {
        [secretKey, sessionToken ?? "", accessKey].filter { $0.count >= 4 }.reduce(text) { text, secret in
            text.replacing(secret, with: "(hidden)")
        }
    }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "access key \(accessKey), secret hidden" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
