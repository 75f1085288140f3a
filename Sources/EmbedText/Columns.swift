/// Lists of columns that several scripts of a part share, by their names: `sql/engine/columns.sql`. The build puts a
/// list in place of `:name`, as psql does outside of function bodies.
struct Columns {
    static let path = "columns.sql"

    private var lists: [(name: String, columns: String)] = []

    /// Reads the lines `\set name 'first, second'`.
    ///
    /// - Throws: ``RuleError`` for another line that is no comment.
    init(_ file: ScriptFile?) throws {
        guard let file else { return }
        for (index, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.hasPrefix("--") { continue }
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count == 3, words[0] == #"\set"#, words[2].count > 2, words[2].hasPrefix("'"),
                words[2].hasSuffix("'")
            else {
                throw RuleError(path: file.wholePath, line: index + 1, rule: #"a line here is \set NAME 'COLUMN, …'"#)
            }
            lists.append((words[1], String(words[2].dropFirst().dropLast())))
        }
    }

    func expanded(in file: ScriptFile) -> ScriptFile {
        ScriptFile(
            path: file.wholePath,
            text: lists.reduce(file.text) { $0.replacing(":" + $1.name, with: $1.columns) })
    }
}
