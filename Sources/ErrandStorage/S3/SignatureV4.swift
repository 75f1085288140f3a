import Cryptography
import Foundation

/// AWS Signature Version 4: proves to a server that the sender of a request knows the secret key.
///
/// Pure: the same input and time give the same signature.
package struct SignatureV4: Sendable {
    private let credentials: S3Credentials
    private let region: String
    private let service: String

    package init(credentials: S3Credentials, region: String, service: String = "s3") {
        self.credentials = credentials
        self.region = region
        self.service = service
    }

    /// What is signed of a request.
    package struct Request: Sendable {
        let method: String
        /// Decoded, beginning with a slash: it is encoded here, each part once.
        let path: String
        /// Decoded names and values, in any order.
        var query: [(name: String, value: String)] = []
        /// All headers are signed; `host` must be one of them.
        var headers: [(name: String, value: String)] = []
        /// SHA-256 of the body in hexadecimal digits, or ``SignatureV4/unsignedPayload``.
        var payloadHash: String
    }

    /// Replaces the hash of a body that isn't signed.
    package static let unsignedPayload = "UNSIGNED-PAYLOAD"
    /// The hash of no body.
    package static let emptyPayload = SHA256.hash([]).hex

    /// The value of the header `authorization`.
    package func authorization(of request: Request, at time: Date) -> String {
        let stamp = Stamp(time)
        let (canonical, names) = Self.canonical(request)
        return "AWS4-HMAC-SHA256 Credential=\(credentials.accessKey)/\(scope(stamp)), SignedHeaders=\(names), "
            + "Signature=\(signature(of: canonical, stamp))"
    }

    /// The query of a URL that allows this one request for `seconds`. It is a secret.
    package func presignedQuery(of request: Request, for seconds: Int, at time: Date) -> String {
        let stamp = Stamp(time)
        var signed = request
        signed.query += [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(stamp))"),
            ("X-Amz-Date", stamp.time),
            ("X-Amz-Expires", "\(seconds)"),
            ("X-Amz-SignedHeaders", Self.canonical(request).names),
        ]
        if let token = credentials.sessionToken { signed.query.append(("X-Amz-Security-Token", token)) }
        signed.payloadHash = Self.unsignedPayload
        let signature = signature(of: Self.canonical(signed).text, stamp)
        return Self.query(signed.query) + "&X-Amz-Signature=\(signature)"
    }
}

// MARK: - Canonical forms
extension SignatureV4 {
    /// The path as it is signed and sent: every byte but letters, digits and `-._~` in percent form, slashes kept.
    package static func encoded(path: String) -> String { percentEncoded(path, keeping: "/") }

    /// The query as it is signed and sent: sorted, names without a value with their `=`.
    package static func query(_ items: [(name: String, value: String)]) -> String {
        items.map { (percentEncoded($0.name), percentEncoded($0.value)) }
            .sorted { $0.0.utf8.elementsEqual($1.0.utf8) ? isBefore($0.1, $1.1) : isBefore($0.0, $1.0) }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    private static func canonical(_ request: Request) -> (text: String, names: String) {
        let headers = Dictionary(
            grouping: request.headers.map { ($0.name.lowercased(), trimmed($0.value)) }, by: \.0
        ).sorted { isBefore($0.key, $1.key) }
        let names = headers.map(\.key).joined(separator: ";")
        let lines = headers.map { "\($0.key):\($0.value.map(\.1).joined(separator: ","))\n" }.joined()
        let text = [
            request.method, encoded(path: request.path), query(request.query), lines, names, request.payloadHash,
        ].joined(separator: "\n")
        return (text, names)
    }

    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }

    /// By bytes: Swift compares strings by canonical equivalence.
    private static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }

    private static func percentEncoded(_ text: String, keeping kept: String = "") -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~\(kept)".utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if plain.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

// MARK: - Signing
extension SignatureV4 {
    /// A moment in the two forms that a signature has it in.
    private struct Stamp {
        /// `20130524T000000Z`
        let time: String
        /// `20130524`
        var day: String { String(time.prefix(8)) }

        init(_ date: Date) { time = SignatureV4.stamp(date) }
    }

    /// A moment as the header `x-amz-date` has it: `20130524T000000Z`.
    package static func stamp(_ date: Date) -> String {
        var seconds = time_t(date.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
    }

    private func scope(_ stamp: Stamp) -> String { "\(stamp.day)/\(region)/\(service)/aws4_request" }

    private func signature(of canonical: String, _ stamp: Stamp) -> String {
        let hash = SHA256.hash(Array(canonical.utf8)).hex
        let text = ["AWS4-HMAC-SHA256", stamp.time, scope(stamp), hash].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretKey)".utf8)
        for part in [stamp.day, region, service, "aws4_request"] {
            key = HMAC.sha256(Array(part.utf8), key: key)
        }
        return HMAC.sha256(Array(text.utf8), key: key).hex
    }
}

extension Sequence<UInt8> {
    /// In hexadecimal digits, lower case.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
