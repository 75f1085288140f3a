import Foundation

/// An invented, unique secret, and the forms in which it could appear.
struct Canary: Sendable, Hashable {
    /// The setting with the secret.
    let setting: String
    let text: String

    /// Has characters that are escaped in a URL, in JSON and in a shell's word.
    init(of setting: String) {
        self.init(setting, "c4n/ry+\(UUID().uuidString.replacing("-", with: ""))%=")
    }

    /// A secret that another program has invented.
    init(_ setting: String, _ text: String) {
        self.setting = setting
        self.text = text
    }

    var percentEncoded: String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    /// The forms of the secret, each with its name.
    var forms: [(name: String, text: String)] {
        let hex = text.utf8.map { String(format: "%02x", $0) }.joined()
        var forms = [
            ("as it is", text), ("percent-encoded", percentEncoded), ("percent-encoded", percentEncoded.lowercased()),
            ("as JSON", text.replacing("/", with: #"\/"#)), ("in hexadecimal digits", hex),
        ]
        // Its longest run of letters and digits, which no escape changes.
        let core = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.max { $0.count < $1.count } ?? ""
        if core.count >= 12 { forms.append(("in part", String(core))) }
        for offset in 0..<3 {
            let inside = Self.base64(of: text, at: offset)
            forms.append(("as base64", inside))
            forms.append(("as base64", inside.replacing("+", with: "-").replacing("/", with: "_")))
        }
        return forms
    }

    /// The letters that it has for sure in the base64 of a longer text, of which `offset` bytes stand before it, modulo
    /// 3.
    private static func base64(of text: String, at offset: Int) -> String {
        let bytes = Data(repeating: 0, count: offset) + Data(text.utf8)
        let certain = Array(bytes.base64EncodedString())[(offset * 8 + 5) / 6..<bytes.count * 8 / 6]
        return String(certain)
    }
}

/// Readable output, by its name.
struct Evidence {
    private var texts: [(name: String, text: String)] = []

    mutating func add(_ name: String, _ text: String) { texts.append((name, text)) }

    /// The place and form of a canary. The line is shown with the canary, to be of use.
    func shows(_ canaries: some Sequence<Canary>) -> [String] {
        let forms = canaries.flatMap { canary in canary.forms.map { (canary.setting, $0.name, $0.text) } }
        return texts.flatMap { name, text in
            // Zero bytes would end the text.
            text.replacingOccurrences(of: "\0", with: " ").withCString { start in
                forms.compactMap { setting, form, wanted in
                    guard let found = strstr(start, wanted) else { return nil }
                    let before = max(start, UnsafePointer(found) - 120)
                    return "\(setting) \(form) in \(name): …\(String(cString: before).prefix(240))"
                }
            }
        }
    }

    func text(_ name: String) -> String? { texts.first { $0.name == name }?.text }
}
