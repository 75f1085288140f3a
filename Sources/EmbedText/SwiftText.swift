/// The Swift source with the parts as plain string literals. These compile within a second at any length.
struct SwiftText {
    let text: String
    /// The module of SchemaPart.
    private static let module = "Postgres"

    init(of scripts: ScriptParts) throws {
        text = """
            // Written by the build from the .sql files of this folder.
            import \(Self.module)

            enum Embedded {
            static let parts: [SchemaPart] = [\(scripts.parts.map { "\n" + Self.part($0.name, $0.lists) + "," }.joined())]
            \(try scripts.parts.map { try Self.lists($0.name, $0.lists) }.joined(separator: "\n"))
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

    private static func lists(_ name: String, _ lists: ScriptLists) throws -> String {
        let declarations = try Declarations(of: lists.functions + lists.views).map { [$0.script] } ?? []
        return [
            try list("\(name)Migrations", lists.migrations),
            try list("\(name)Replaceable", lists.functions + lists.views + declarations + lists.seeds),
            try list("\(name)Roles", lists.roles.map { [$0] } ?? []),
        ].joined(separator: "\n")
    }

    private static func list(_ name: String, _ files: [ScriptFile]) throws -> String {
        "private static let \(name): [Migrator.Script] = [\(try files.map { "\n" + (try script($0)) + "," }.joined())]"
    }

    private static func script(_ file: ScriptFile) throws -> String {
        "(name: \(literal(file.name)), sql: \(literal(try file.commented)))"
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
