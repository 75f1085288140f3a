/// An element of a small XML document, the format of S3's responses.
///
/// Reads elements, text, entities and CDATA; attributes, comments and declarations are passed over. A document type,
/// which could define entities of its own, is refused.
struct XMLElement: Sendable {
    let name: String
    /// Its own text, without that of the elements in it.
    private(set) var text = ""
    private(set) var children: [XMLElement] = []

    /// The deepest that elements may lie in each other.
    private static let depth = 32

    private init(name: String) { self.name = name }

    /// The document's outermost element; nil if it isn't well-formed.
    init?(document: some Collection<UInt8>) {
        var reader = Reader(String(decoding: document, as: UTF8.self).unicodeScalars)
        guard let root = reader.root() else { return nil }
        self = root
    }

    /// The first element in it with that name.
    subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

    /// All elements in it with that name.
    func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }
}

extension XMLElement {
    /// The text with the escapes that XML needs between two tags.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// Whether a document can hold the text as it is: control characters it can't.
    static func canContain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && ![0xFFFE, 0xFFFF].contains($0.value) }
    }

    private struct Reader {
        private var rest: Substring.UnicodeScalarView

        init(_ text: String.UnicodeScalarView) { rest = Substring(String(text)).unicodeScalars }

        mutating func root() -> XMLElement? {
            while let markup = markup() {
                switch markup {
                case .start(let name, let isEmpty): return isEmpty ? XMLElement(name: name) : element(name, depth: 1)
                case .passed: continue
                case .end, .text: return nil
                }
            }
            return nil
        }

        private mutating func element(_ name: String, depth: Int) -> XMLElement? {
            guard depth <= XMLElement.depth else { return nil }
            var element = XMLElement(name: name)
            while true {
                element.text += unescaped(before("<"))
                switch markup() {
                case .start(let inner, true): element.children.append(XMLElement(name: inner))
                case .start(let inner, false):
                    guard let child = self.element(inner, depth: depth + 1) else { return nil }
                    element.children.append(child)
                case .text(let text): element.text += text
                case .end(let ended): return ended == name ? element : nil
                case .passed: continue
                case nil: return nil
                }
            }
        }

        private enum Markup {
            case start(String, isEmpty: Bool)
            case end(String)
            case text(String)
            case passed
        }

        /// The text between the next angle brackets; nil at the end, and if the text isn't well-formed.
        private mutating func markup() -> Markup? {
            _ = before("<")
            guard rest.popFirst() != nil else { return nil }
            if take("![CDATA[") { return through("]]>").map(Markup.text) }
            if take("!--") { return through("-->").map { _ in .passed } }
            if take("?") { return through("?>").map { _ in .passed } }
            guard rest.first != "!", let inside = through(">") else { return nil }
            if inside.hasPrefix("/") { return .end(Self.name(inside.dropFirst())) }
            return .start(Self.name(inside[...]), isEmpty: inside.hasSuffix("/"))
        }

        /// The name without its namespace's prefix and without attributes.
        private static func name(_ tag: Substring) -> String {
            let whole = tag.prefix { !$0.isWhitespace && $0 != "/" }
            return String(whole.split(separator: ":").last ?? "")
        }

        private mutating func take(_ prefix: String) -> Bool {
            guard rest.starts(with: prefix.unicodeScalars) else { return false }
            rest.removeFirst(prefix.unicodeScalars.count)
            return true
        }

        private mutating func before(_ mark: Unicode.Scalar) -> Substring {
            let end = rest.firstIndex(of: mark) ?? rest.endIndex
            defer { rest = rest[end...] }
            return Substring(rest[..<end])
        }

        /// The text before the next `mark`, and skips both; nil if there is no `mark`.
        private mutating func through(_ mark: String) -> String? {
            guard let range = Substring(rest).firstRange(of: mark) else { return nil }
            defer { rest = rest[range.upperBound...] }
            return String(Substring(rest[..<range.lowerBound]))
        }

        private func unescaped(_ text: Substring) -> String {
            guard text.contains("&") else { return String(text) }
            var plain = ""
            var rest = text
            while let start = rest.firstIndex(of: "&"), let end = rest[start...].firstIndex(of: ";") {
                plain += rest[..<start]
                plain += Self.character(rest[rest.index(after: start)..<end]) ?? String(rest[start...end])
                rest = rest[rest.index(after: end)...]
            }
            return plain + rest
        }

        private static func character(_ entity: Substring) -> String? {
            let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
            if let text = named[String(entity)] { return text }
            guard entity.hasPrefix("#") else { return nil }
            let digits = entity.dropFirst()
            let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap(Unicode.Scalar.init).map { String(Character($0)) }
        }
    }
}
