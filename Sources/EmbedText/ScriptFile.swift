/// One SQL file.
struct ScriptFile: Equatable {
    /// Its app; nil for the engine, whose lists are in the folder itself.
    let app: String?
    /// Below the folder of its part, such as `functions/queue/enqueue.sql`.
    let path: String
    let text: String

    /// - Parameter path: below the folder of all scripts.
    init(path: String, text: String) {
        let first = path.prefix { $0 != "/" }
        let isApp = first != path[...] && !Self.lists.contains(String(first))
        app = isApp ? String(first) : nil
        self.path = isApp ? String(path.dropFirst(first.count + 1)) : path
        self.text = text
    }

    static let lists: Set = ["migrations", "functions", "views", "seeds"]

    /// The path below the folder of all scripts.
    var wholePath: String { prefix + path }

    /// The prefix of its name: `media/`, or nothing.
    private var prefix: String { app.map { $0 + "/" } ?? "" }

    /// The whole path without its ending; of a migration, without its folder as well: `0001_queue`, `media/0001_photo`.
    var name: String { prefix + localName }

    /// The same within its part.
    var localName: String {
        let short = path.hasPrefix("migrations/") ? path.dropFirst("migrations/".count) : path[...]
        return String(short.hasSuffix(".sql") ? short.dropLast(".sql".count) : short)
    }

    /// The file's name without folders, as in an `after` line.
    var lastName: String { String(name[(name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex)...]) }

    /// The names in `-- errand: after NAME` lines of the head, with line numbers from 1.
    var after: [(name: String, line: Int)] { named(by: "-- errand: after ") }

    /// The apps in `-- errand: needs NAME` lines of the head.
    var needs: [String] { named(by: "-- errand: needs ").map(\.name) }

    /// The head ends at the first line that is no comment. A line may have several names, separated by spaces or
    /// commas.
    func named(by mark: String) -> [(name: String, line: Int)] {
        var found: [(name: String, line: Int)] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.isEmpty || line.hasPrefix("--") else { break }
            guard line.hasPrefix(mark) else { continue }
            let names = line.dropFirst(mark.count).split { " ,\r".contains($0) }
            found += names.map { (String($0), index + 1) }
        }
        return found
    }
}

/// A rule that a script breaks.
struct RuleError: Error, Equatable {
    let path: String
    var line = 1
    let rule: String
}
