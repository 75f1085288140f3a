import Testing

@testable import Command

@Suite("Tables for people") struct TextTableTests {
    @Test("columns are as wide as their values, and an empty value is a dash")
    func aligned() {
        var table = TextTable(head: ["ID", "KIND"])
        table.add("4711", nil)
        table.add("1", "noop")
        #expect(table.description == "ID    KIND\n4711  -\n1     noop")
    }

    @Test("no line is longer than 100 columns: the widest cells are cut")
    func cut() {
        var table = TextTable(head: ["ID", "KIND", "ERROR"])
        table.add("4711", String(repeating: "k", count: 100), String(repeating: "e", count: 4000))
        let lines = table.description.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 100 })
        #expect(lines[1].count == 100)
        #expect(lines[1].hasPrefix("4711  kkkk"))
        #expect(lines[1].hasSuffix("eee…"))
    }

    @Test("a time isn't cut: the others give way to it")
    func whole() {
        var table = TextTable(head: ["NAME", "NEXT TICK"], whole: ["NEXT TICK"], limit: 30)
        table.add("nightly report", "2026-11-21T13:30:00Z")
        #expect(table.description == "NAME      NEXT TICK\nnightly…  2026-11-21T13:30:00Z")
    }

    @Test("control characters can do nothing to a terminal")
    func control() {
        var table = TextTable(head: ["A", "B"])
        table.add("a\u{1B}[31m\nb\r", "\u{202E}c")
        #expect(table.description == "A                       B\na\\u{1b}[31m\\u{a}b\\u{d}  \\u{202e}c")
    }

    @Test("letters of two columns keep the table aligned")
    func wide() {
        var table = TextTable(head: ["NAME", "B"])
        table.add("写真", "x")
        table.add("photo", "x")
        #expect(table.description == "NAME   B\n写真   x\nphoto  x")
        #expect("写真写真".cut(to: 5) == "写真…")
    }

    @Test("text is wrapped at spaces, and a long word has a line of its own")
    func wrapped() {
        #expect("one two three".wrapped(to: 7) == ["one two", "three"])
        #expect("a bbbbbbbbbb c".wrapped(to: 4) == ["a", "bbbbbbbbbb", "c"])
    }
}
