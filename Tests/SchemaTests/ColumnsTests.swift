import Testing

@testable import EmbedText

@Suite("Lists of columns that scripts share") struct ColumnsTests {
    private static let lists = ScriptFile(
        path: "columns.sql", text: "-- Why.\n\n\\set request_columns 'queue, kind'\n\\set attempt_columns 'run_at'\n")

    @Test("a list stands in place of its name, in function bodies too")
    func expands() throws {
        let script = ScriptFile(
            path: "functions/queue/a.sql",
            text: "insert into t (:request_columns, :attempt_columns)\nselect :request_columns, x::text from u\n")
        let expanded = try Columns(Self.lists).expanded(in: script)
        #expect(expanded.text == "insert into t (queue, kind, run_at)\nselect queue, kind, x::text from u\n")
        #expect(expanded.wholePath == script.wholePath && expanded.path == script.path)
    }

    @Test("a part without lists keeps its scripts")
    func none() throws {
        let script = ScriptFile(path: "media/functions/a.sql", text: "select :request_columns")
        #expect(try Columns(nil).expanded(in: script) == script)
    }

    @Test(
        "another line than a list fails the build with its number",
        arguments: ["select 1;", "\\set a", "\\set a b", "\\set a ''", "set a 'b'"])
    func refuses(line: String) {
        #expect(throws: RuleError(path: "columns.sql", line: 2, rule: #"a line here is \set NAME 'COLUMN, …'"#)) {
            try Columns(ScriptFile(path: "columns.sql", text: "-- Why.\n\(line)\n"))
        }
    }
}
