/// What the head of a function's or a view's script declares, beside its order.
///
/// - The first paragraph of a function's head, which begins with the function's name, is the function's comment in the
///   database. An example directly below is part of it.
/// - `-- errand: for ops, monitor` names the roles that may call or read it: enqueuer, worker, ops, monitor. A function
///   with a version in its name is for workers without that.
/// - `-- errand: hides user_id, title` names the columns of a view that monitor doesn't read.
/// - `-- errand: topic pause` names the topics of `errand.help` that show it.
extension ScriptFile {
    static let roles = ["enqueuer", "worker", "ops", "monitor"]

    var isView: Bool { path.hasPrefix("views/") }

    /// The first function or view that the script creates: `errand.enqueue`.
    var object: String? {
        for line in text.split(separator: "\n") {
            for creation in ["create or replace function ", "create or replace view "] where line.hasPrefix(creation) {
                return String(line.dropFirst(creation.count).prefix { !"( ".contains($0) })
            }
        }
        return nil
    }

    /// The roles that may call or read the object.
    ///
    /// - Throws: ``RuleError`` for an unknown role.
    var readers: [String] {
        get throws {
            try named(by: "-- errand: for ").map { role, line in
                guard Self.roles.contains(role) else {
                    let rule = "a role is one of \(Self.roles.joined(separator: ", ")), not \(role)"
                    throw RuleError(path: wholePath, line: line, rule: rule)
                }
                return role
            }
        }
    }

    /// The columns that monitor doesn't read.
    var hidden: [String] { named(by: "-- errand: hides ").map(\.name) }

    /// The topics of `errand.help` that show the object.
    var topics: [String] { named(by: "-- errand: topic ").map(\.name) }

    /// The text with the function's comment. A script with several functions has their comments itself.
    ///
    /// - Throws: ``RuleError`` if the head has no paragraph that begins with the function's name.
    var commented: String {
        get throws {
            guard !isView, let object, !text.contains("\ncomment on function ") else { return text }
            return text + "comment on function \(object) is \(Self.quoted(try comment(of: object)));\n"
        }
    }

    private func comment(of object: String) throws -> String {
        let head = text.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("--") }
        let paragraph = head.prefix { $0 != "--" && !$0.hasPrefix("-- errand: ") }
        let name = "\(object.split(separator: ".").last ?? ""): "
        let words = paragraph.map { $0.dropFirst(3) }.joined(separator: " ")
        guard words.hasPrefix(name), let first = words.dropFirst(name.count).first else {
            throw RuleError(path: wholePath, rule: "the first paragraph is the function's comment: -- \(name)…")
        }
        let sentence = first.uppercased() + words.dropFirst(name.count + 1)
        let example = head.dropFirst(paragraph.count + 1).prefix { $0.hasPrefix("--   ") && !$0.hasPrefix("--   -") }
        guard let last = example.firstIndex(where: { $0.hasSuffix(";") }) else { return sentence }
        let lines = example[...last].map { String($0.dropFirst(5)) }
        return sentence + " Example: " + lines.joined(separator: " ").dropLast()
    }

    static func quoted(_ text: some StringProtocol) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}
