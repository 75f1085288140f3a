/// The script that writes what a part's heads declare into `errand.declaration`, of which `errand migrate` makes the
/// rights and `errand.help` its pages. Its text changes when a head does, so it is applied again then.
struct Declarations: Equatable {
    let script: ScriptFile

    /// Nil if no head declares something.
    ///
    /// - Throws: ``RuleError`` for an unknown role, and for a declaration in a script without function or view.
    init?(of files: [ScriptFile]) throws {
        let rows = try files.compactMap { try Self.row($0) }
        guard !rows.isEmpty else { return nil }
        let app = files[0].app
        let part = ScriptFile.quoted(app ?? "engine")
        script = ScriptFile(
            path: (app.map { $0 + "/" } ?? "") + "declarations.sql",
            text: """
                -- Written by the build from the heads of the scripts.
                delete from errand.declaration where part = \(part);
                insert into errand.declaration (part, object, is_view, roles, hidden, topics)
                values
                \(rows.map { "    (\(part), \($0))" }.joined(separator: ",\n"));

                """)
    }

    private static func row(_ file: ScriptFile) throws -> String? {
        let (readers, hidden) = (try file.readers, file.hidden)
        if readers.isEmpty, hidden.isEmpty, file.topics.isEmpty { return nil }
        guard !readers.isEmpty else {
            throw RuleError(path: file.wholePath, rule: "a head with a topic or hidden columns says for whom: for ops")
        }
        guard let object = file.object else {
            throw RuleError(path: file.wholePath, rule: "a head without a function or a view declares no rights")
        }
        guard hidden.isEmpty || file.isView && readers.contains("monitor") else {
            throw RuleError(path: file.wholePath, rule: "columns of a view are hidden from monitor, which reads others")
        }
        let lists = [readers, hidden, file.topics].map { ScriptFile.quoted("{\($0.joined(separator: ","))}") }
        return "\(ScriptFile.quoted(object)), \(file.isView), \(lists.joined(separator: ", "))"
    }
}
