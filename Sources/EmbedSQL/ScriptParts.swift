/// All parts of a folder of scripts: the engine where the lists lie in the folder itself, and else a folder an app.
struct ScriptParts {
    private(set) var parts: [(name: String, lists: ScriptLists)] = []

    /// Apps come after those that they need, otherwise by name.
    ///
    /// - Throws: ``RuleError`` as ``ScriptLists``, and where an app needs one that isn't there, or itself by a detour.
    init(_ files: [ScriptFile]) throws {
        let groups = Dictionary(grouping: files) { $0.app ?? "engine" }
        var rest = try groups.mapValues { try ScriptLists($0) }
        while !rest.isEmpty {
            let next = rest.keys.sorted().first { name in
                rest[name]?.needs.allSatisfy { need in parts.contains { $0.name == need } } == true
            }
            guard let next, let lists = rest.removeValue(forKey: next) else {
                let name = rest.keys.sorted()[0]
                throw RuleError(
                    path: rest[name]?.migrations.first?.wholePath ?? name,
                    rule: "\(name) needs \(rest[name]?.needs.joined(separator: ", ") ?? ""), which come in no order")
            }
            parts.append((next, lists))
        }
    }
}
