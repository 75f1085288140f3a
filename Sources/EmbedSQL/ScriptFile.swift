/// One file of SQL, as it lies on the disk.
struct ScriptFile: Equatable {
    /// Below the folder of all scripts, such as `functions/queue/enqueue.sql`.
    let path: String
    let text: String

    /// The path without its ending; of a migration, without its folder as well: `0001_queue`.
    var name: String {
        let short = path.hasPrefix("migrations/") ? path.dropFirst("migrations/".count) : path[...]
        return String(short.hasSuffix(".sql") ? short.dropLast(".sql".count) : short)
    }

    /// The file's name alone: what an `after` line calls it.
    var lastName: String { String(name[(name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex)...]) }

    /// What `-- errand: after NAME` lines of the head ask for, with their lines, counted from 1.
    ///
    /// The head ends at the first line that is no comment. A line may name several, parted by spaces or commas.
    var after: [(name: String, line: Int)] {
        let mark = "-- errand: after "
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

/// A rule that a script breaks, for the one who has just written it.
struct RuleError: Error, Equatable {
    let path: String
    var line = 1
    let rule: String
}
