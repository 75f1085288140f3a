import Dashboard
import Foundation
import Outbound
import Web

extension Settings {
    /// Who may log in to the operators' page; nil if it isn't served.
    ///
    /// - Throws: ``ConfigurationError`` for a malformed setting, and for an address that others can reach without a
    ///   log-in.
    func pageAccess(at address: Web.Address) throws -> AccessRules? {
        guard try value(.webPage, { Bool(word: $0) }) else { return nil }
        var rules = AccessRules()
        if value(.webPasswords) != nil { rules.passwords = try value(.webPasswords, parsePasswords) }
        if value(.webTokens) != nil { rules.tokens = try value(.webTokens, parseTokens) }
        switch (value(.webProxyHeader), value(.webProxyAddresses)) {
        case (nil, nil): break
        case (_?, _?):
            let header = try value(.webProxyHeader) { $0 }
            rules.proxy = LoginProxy(header: header, addresses: try value(.webProxyAddresses, parseAddressRanges))
        default:
            throw ConfigurationError(
                "ERRAND_WEB_PROXY_HEADER and ERRAND_WEB_PROXY_ADDRESSES: expected both or neither, got one")
        }
        guard Dashboard.mayListen(at: address.host, access: rules) else {
            throw ConfigurationError(
                "ERRAND_WEB_ADDRESS: expected a loopback address for a page without a log-in, got '\(address)'; set "
                    + "ERRAND_WEB_PASSWORDS (`errand web password`), ERRAND_WEB_TOKENS or ERRAND_WEB_PROXY_HEADER, or "
                    + "ERRAND_WEB_PAGE=off")
        }
        return rules
    }
}

extension Bool {
    /// `on` or `off`; nil for anything else.
    init?(word: String) {
        guard ["on", "off"].contains(word) else { return nil }
        self = word == "on"
    }
}

/// `alice=scrypt:…,bob=scrypt:…`; nil for anything else.
func parsePasswords(_ text: String) -> [String: PasswordHash]? {
    parseNamed(text) { PasswordHash($0) }
}

/// `ci=TOKEN,…`, each token of at least 20 characters; nil for anything else.
func parseTokens(_ text: String) -> [String: String]? {
    parseNamed(text) { $0.count >= 20 ? $0 : nil }
}

/// `127.0.0.1,10.0.0.0/8`; nil for anything else.
func parseAddressRanges(_ text: String) -> [AddressRange]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let ranges = parts.compactMap { AddressRange($0.trimmingCharacters(in: .whitespaces)) }
    return ranges.count == parts.count ? ranges : nil
}

/// Names with a value each, a comma between; nil for a name that is no word, or that comes twice.
private func parseNamed<Value>(_ text: String, _ parse: (String) -> Value?) -> [String: Value]? {
    var values: [String: Value] = [:]
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = halves[0].trimmingCharacters(in: .whitespaces)
        guard halves.count == 2, isPerson(name), values[name] == nil,
            let value = parse(halves[1].trimmingCharacters(in: .whitespaces))
        else { return nil }
        values[name] = value
    }
    return values
}

/// Letters, digits and `. _ @ -`, up to 100 of them: what a log line and the audit show.
func isPerson(_ name: String) -> Bool { name.wholeMatch(of: /[A-Za-z0-9._@-]{1,100}/) != nil }
