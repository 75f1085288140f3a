import Foundation

/// Where spans go: the address of a collector, and the headers that it wants.
package struct TraceCollector: Sendable {
    /// The address for requests, `/v1/traces` included.
    let url: String
    let headers: [(name: String, value: String)]

    /// - Parameters:
    ///   - endpoint: the address of the collector without `/v1/traces`, such as `http://127.0.0.1:4318`.
    ///   - headers: `name=value` with commas between; values are percent-encoded.
    /// - Returns: nil unless both have these forms. An address has no user and no query.
    package init?(endpoint: String, headers: String = "") {
        guard let url = URLComponents(string: endpoint), ["http", "https"].contains(url.scheme), url.user == nil,
            url.password == nil, url.query == nil, url.fragment == nil, url.host?.isEmpty == false,
            let parsed = Self.parse(headers)
        else { return nil }
        self.url = endpoint.trimmingSuffix("/") + "/v1/traces"
        self.headers = parsed
    }

    /// Whether the text is `name=value,…`, or empty.
    package static func accepts(headers: String) -> Bool { parse(headers) != nil }

    private static func parse(_ text: String) -> [(name: String, value: String)]? {
        var headers: [(name: String, value: String)] = []
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, let value = String(pair[1]).removingPercentEncoding else { return nil }
            let name = pair[0].trimmingCharacters(in: .whitespaces)
            let trimmed = value.trimmingCharacters(in: .whitespaces)
            guard !name.isEmpty, name.utf8.allSatisfy(isOfToken), trimmed.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return nil }
            headers.append((name, trimmed))
        }
        return headers
    }

    /// The characters that the name of a header may have.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}
