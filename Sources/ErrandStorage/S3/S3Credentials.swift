/// The keys that sign a bucket's requests. Printed, it shows the access key and never a secret.
public struct S3Credentials: Sendable {
    /// The key's name, which is no secret.
    public let accessKey: String
    let secretKey: String
    /// Comes with temporary credentials.
    let sessionToken: String?

    /// - Parameters:
    ///   - accessKey: the key's name.
    ///   - secretKey: the key itself.
    ///   - sessionToken: needed with temporary credentials.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
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

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "access key \(accessKey), secret hidden" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["accessKey": accessKey]) }
}
