import Outbound

/// Who may log in to the page, and how. Nobody may act if no way is set up.
package struct AccessRules: Sendable {
    /// By name, the hash of the person's password.
    package var passwords: [String: PasswordHash] = [:]
    /// By name, the token of a person or a program.
    package var tokens: [String: String] = [:]
    /// The header in which a proxy names the person whom it has logged in, and the addresses of such proxies.
    package var proxy: LoginProxy?

    package init() {}

    package var isLoginSetUp: Bool { !passwords.isEmpty || !tokens.isEmpty || proxy != nil }

    /// The person with this token; nil if nobody has it. Takes the same time for each wrong token.
    func person(withToken token: String) -> String? {
        var found: String?
        for (name, known) in tokens where Digest.areEqual(known, token) { found = name }
        return found
    }
}

/// A proxy that logs people in, and names them in a header.
package struct LoginProxy: Sendable {
    package let header: String
    package let addresses: [AddressRange]

    package init(header: String, addresses: [AddressRange]) {
        self.header = header
        self.addresses = addresses
    }

    func includes(_ address: IPAddress) -> Bool { addresses.contains { $0.contains(address) } }
}

/// Logs of services at the level debug show what a service is made of.
extension AccessRules: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { isLoginSetUp ? "a log-in is set up" : "no log-in" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
