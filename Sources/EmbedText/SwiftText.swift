/// The Swift source with the parts as plain string literals. These compile within a second at any length.
struct SwiftText {
    let text: String
    /// The module of SchemaPart.
    private static let module = "Postgres"

    init(of scripts: ScriptParts) {
        text = """
            // Written by the build from the .sql files of this folder.
            import \(Self.module)

            enum Embedded {
            static let parts: [SchemaPart] = [\(scripts.parts.map { "\n" + Self.part($0.name, $0.lists) + "," }.joined())]
            \(scripts.parts.map { Self.lists($0.name, $0.lists) }.joined(separator: "\n"))
            }

            """
    }

    /// The texts of other files, by their path below the folder.
    init(of files: [ScriptFile]) {
        text = """
            // Written by the build from the files of this folder.
            enum Embedded {
            static let files: [String: String] = [
            \(files.map { "\(Self.literal($0.wholePath)): \(Self.literal($0.text))," }.joined(separator: "\n"))
            ]
            }

            """
    }

    private static func part(_ name: String, _ lists: ScriptLists) -> String {
        """
        SchemaPart(
            name: "\(name)", needs: \(lists.needs), migrations: \(name)Migrations, replaceable: \(name)Replaceable,
            roles: \(name)Roles)
        """
    }

    private static func lists(_ name: String, _ lists: ScriptLists) -> String {
        [
            list("\(name)Migrations", lists.migrations),
            list("\(name)Replaceable", lists.functions + lists.views + lists.seeds),
            list("\(name)Roles", lists.roles.map { [$0] } ?? []),
        ].joined(separator: "\n")
    }

    private static func list(_ name: String, _ files: [ScriptFile]) -> String {
        "private static let \(name): [Migrator.Script] = [\(files.map { "\n" + script($0) + "," }.joined())]"
    }

    private static func script(_ file: ScriptFile) -> String {
        "(name: \(literal(file.name)), sql: \(literal(file.text)))"
    }

    /// A raw literal of several lines, with as many `#` as keep the text from ending or escaping it.
    ///
    /// Line ends become `\n`, as Swift's literals have it. The literal's indent is none, because the text's own stays.
    static func literal(_ text: String) -> String {
        var marks = "#"
        while text.contains("\"\"\"" + marks) || text.contains("\\" + marks) { marks += "#" }
        return "\(marks)\"\"\"\n\(text)\n\"\"\"\(marks)"
    }
}
