/// The Swift source that holds the lists: plain string literals, which compile in a second whatever their length.
struct SwiftText {
    let text: String

    init(of lists: ScriptLists) {
        let roles = lists.roles ?? ScriptFile(path: "roles.sql", text: "")
        text = """
            // Written by the build from the .sql files beside Schema.swift.
            enum Embedded {
            \(Self.list("migrations", lists.migrations))
            \(Self.list("functions", lists.functions))
            \(Self.list("views", lists.views))
            \(Self.list("seeds", lists.seeds))
            static let roles = \(Self.script(roles))
            }

            """
    }

    private static func list(_ name: String, _ files: [ScriptFile]) -> String {
        "static let \(name): [Schema.Script] = [\(files.map { "\n" + script($0) + "," }.joined())]"
    }

    private static func script(_ file: ScriptFile) -> String {
        "Schema.Script(name: \(literal(file.name)), sql: \(literal(file.text)))"
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
