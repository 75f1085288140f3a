import Foundation

/// The fields of a query or of a form (`application/x-www-form-urlencoded`).
struct FormFields: Sendable {
    private var values: [String: String] = [:]

    /// Of several fields with one name, the last counts. What isn't UTF-8 becomes `\u{FFFD}`; PostgreSQL has no text
    /// with a NUL, so that becomes it too.
    init(_ text: some StringProtocol) {
        for pair in text.utf8.split(separator: UInt8(ascii: "&")).prefix(200) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            values[Self.decoded(halves[0])] = halves.count == 2 ? Self.decoded(halves[1]) : ""
        }
    }

    /// Without white space at its ends; nil if it is missing or empty.
    subscript(name: String) -> String? {
        let text = values[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        return text.isEmpty ? nil : text
    }

    /// As it was sent, such as a password; empty if it is missing.
    func whole(_ name: String) -> String { values[name] ?? "" }

    private static func decoded(_ part: some Sequence<UInt8>) -> String {
        var rest = Array(part)[...]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rest.count)
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+") {
                bytes.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), let escaped = Self.byte(rest.prefix(2)) {
                bytes.append(escaped)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self).replacing("\0", with: "\u{FFFD}")
    }

    private static func byte(_ digits: ArraySlice<UInt8>) -> UInt8? {
        digits.count == 2 ? UInt8(String(decoding: digits, as: UTF8.self), radix: 16) : nil
    }
}
