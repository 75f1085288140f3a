/// The parts of a folder of scripts: the engine if the folder has the lists itself, otherwise one app per subfolder.
struct ScriptParts {
    private(set) var parts: [(name: String, lists: ScriptLists)] = []

    /// Apps come after those that they need, otherwise by name.
    ///
    /// - Throws: ``RuleError`` as ``ScriptLists``, and for an app that needs a missing app, or itself through others.
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
