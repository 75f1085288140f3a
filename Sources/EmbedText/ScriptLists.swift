/// The scripts of one part, the engine or an app, by type; each list in the order of application.
///
/// Migrations are in the order of their numbers, without gaps and duplicates. Functions, views and seeds are in the
/// order of their names. `-- errand: after NAME` in a script's head puts NAME, of the same list, before that script.
struct ScriptLists {
    private(set) var migrations: [ScriptFile] = []
    private(set) var functions: [ScriptFile] = []
    private(set) var views: [ScriptFile] = []
    private(set) var seeds: [ScriptFile] = []
    /// Nil if there is none.
    private(set) var roles: ScriptFile?

    /// The apps that this part requires.
    var needs: [String] { Set(migrations.flatMap(\.needs)).sorted() }

    /// Sorts the files into their lists.
    ///
    /// - Throws: ``RuleError`` for a file outside of the folders of the lists, for a migration without a number, with a
    ///   duplicate one or after a gap, and for an `after` that names no script or two, or is part of a cycle.
    init(_ files: [ScriptFile]) throws {
        for file in files.sorted(by: { $0.path < $1.path }) {
            let parts = file.path.split(separator: "/")
            switch (parts.first, parts.count) {
            case ("migrations", 2): migrations.append(file)
            case ("functions", file.app == nil ? 3 : 2): functions.append(file)
            case ("views", 2): views.append(file)
            case ("seeds", 2): seeds.append(file)
            case ("roles.sql", 1) where file.app == nil: roles = file
            default:
                throw RuleError(
                    path: file.wholePath,
                    rule: file.app == nil
                        ? "a script lies in migrations/, functions/<area>/, views/ or seeds/, or is roles.sql"
                        : "an app's script lies in its migrations/, functions/, views/ or seeds/")
            }
        }
        try Self.checkNumbers(migrations)
        functions = try Self.ordered(functions)
        views = try Self.ordered(views)
        seeds = try Self.ordered(seeds)
    }

    /// Migrations are 0001, 0002 and so on. A gap is a missing file, and a duplicate is a wrong merge.
    private static func checkNumbers(_ migrations: [ScriptFile]) throws {
        for (index, file) in migrations.enumerated() {
            let digits = file.localName.prefix(while: \.isNumber)
            guard digits.count == 4, let number = Int(digits), file.localName.dropFirst(4).hasPrefix("_") else {
                throw RuleError(
                    path: file.wholePath, rule: "a migration is named NNNN_subject.sql, such as 0001_queue.sql")
            }
            if number == index { throw duplicate(file, of: index > 0 ? migrations[index - 1] : nil) }
            guard number == index + 1 else {
                let wanted = String(repeating: "0", count: 4 - min(4, String(index + 1).count)) + String(index + 1)
                throw RuleError(path: file.wholePath, rule: "migration \(wanted) is missing before \(digits)")
            }
        }
    }

    private static func duplicate(_ file: ScriptFile, of other: ScriptFile?) -> RuleError {
        guard let other else { return RuleError(path: file.wholePath, rule: "migrations are counted from 0001") }
        return RuleError(path: file.wholePath, rule: "two migrations have one number: \(other.name) and \(file.name)")
    }

    /// Takes the first by name whose `after` names are all taken, until none is left. A list is some hundred files
    /// long.
    private static func ordered(_ files: [ScriptFile]) throws -> [ScriptFile] {
        let needs = try files.map { file in Set(try file.after.map { try index(of: $0, for: file, in: files) }) }
        var taken = Set<Int>()
        var order: [ScriptFile] = []
        while order.count < files.count {
            guard let next = files.indices.first(where: { !taken.contains($0) && needs[$0].isSubset(of: taken) }) else {
                let stuck = files.indices.filter { !taken.contains($0) }.map { files[$0] }
                throw RuleError(
                    path: stuck[0].wholePath,
                    rule: "these ask to come after each other: \(stuck.map(\.name).joined(separator: ", "))")
            }
            taken.insert(next)
            order.append(files[next])
        }
        return order
    }

    /// The one that an `after` means: by its last name, or by its full one where two share the last.
    private static func index(
        of reference: (name: String, line: Int), for file: ScriptFile, in files: [ScriptFile]
    ) throws -> Int {
        let exact = files.indices.filter { files[$0].localName == reference.name }
        let matches = exact.isEmpty ? files.indices.filter { files[$0].lastName == reference.name } : exact
        guard matches.count == 1 else {
            let rule = matches.isEmpty ? "no script of this list is named" : "more than one script is named"
            throw RuleError(path: file.wholePath, line: reference.line, rule: "\(rule) \(reference.name)")
        }
        return matches[0]
    }
}
