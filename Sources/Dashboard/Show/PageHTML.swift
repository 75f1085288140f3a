import Foundation
import Mustache

/// Escapes text for HTML and for attributes in quotes, one Unicode scalar after the other.
///
/// The library's own content type looks at whole characters. A quote followed by a combining accent is one character
/// that is no quote, so it would stay, and end an attribute.
struct PageHTML: MustacheContentType {
    func escapeText(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            default:
                // A control character could hide or turn around what follows.
                let category = scalar.properties.generalCategory
                let isHidden = category == .control || Self.directions.contains(scalar.value)
                escaped.unicodeScalars.append(isHidden ? "\u{FFFD}" : scalar)
            }
        }
        return escaped
    }

    /// Marks, embeddings, overrides and isolates of the writing direction.
    private static let directions: Set<UInt32> = Set([0x061C, 0x200E, 0x200F] + (0x202A...0x202E) + (0x2066...0x2069))
}

/// The templates of the page, each rendered with ``PageHTML``.
struct Templates: Sendable {
    private let library: MustacheLibrary

    init() throws {
        MustacheContentTypes.register(PageHTML(), named: "PAGE")
        var templates: [String: MustacheTemplate] = [:]
        for (path, text) in Embedded.files where path.hasSuffix(".mustache") {
            let name = path.split(separator: "/").last.map { String($0.dropLast(".mustache".count)) } ?? path
            // A partial starts with the library's own content type again, so each has the line.
            templates[name] = try MustacheTemplate(string: "{{% CONTENT_TYPE:PAGE}}" + text)
        }
        library = MustacheLibrary(templates: templates)
    }

    /// - Returns: the HTML; an empty text for an unknown template.
    func render(_ name: String, _ view: Any) -> String {
        library.render(Self.fields(of: view) ?? view, withTemplate: name) ?? ""
    }

    /// Returns the fields of a struct by name, also of structs within it and in arrays. A nil field is left out.
    ///
    /// The library would read all fields of a struct each time that a template names one, a third of a page's duration.
    static func fields(of value: Any) -> Any? {
        let mirror = Mirror(reflecting: value)
        return switch mirror.displayStyle {
        case .struct:
            [String: Any](
                uniqueKeysWithValues: mirror.children.compactMap { child in
                    fields(of: child.value).map { (child.label ?? "", $0) }
                })
        case .collection: mirror.children.compactMap { fields(of: $0.value) }
        case .optional: mirror.children.first.flatMap { fields(of: $0.value) }
        default: value
        }
    }
}
