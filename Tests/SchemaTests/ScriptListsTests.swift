import Testing

@testable import EmbedText

@Suite("Lists of scripts") struct ScriptListsTests {
    @Test("migrations go by number, functions by area and name")
    func ordersByPath() throws {
        let lists = try ScriptLists(
            files(
                "migrations/0002_b.sql", "functions/queue/enqueue.sql", "functions/ops/retry.sql",
                "migrations/0001_a.sql"))
        #expect(lists.migrations.map(\.name) == ["0001_a", "0002_b"])
        #expect(lists.functions.map(\.name) == ["functions/ops/retry", "functions/queue/enqueue"])
    }

    @Test("a head may ask to come after another script, by its short or its full name")
    func ordersByReference() throws {
        let first = ScriptFile(path: "views/a.sql", text: "-- a: first.\n-- errand: after b, views/c\nselect 1;")
        let lists = try ScriptLists([first] + files("views/b.sql", "views/c.sql"))
        #expect(lists.views.map(\.name) == ["views/b", "views/c", "views/a"])
    }

    @Test("an after line below the head is plain SQL")
    func headEnds() {
        let file = ScriptFile(path: "views/a.sql", text: "select 1;\n-- errand: after b\n")
        #expect(file.after.isEmpty)
    }

    @Test(
        "a number that is doubled, missing or not there at all fails with the file and the reason",
        arguments: [
            (["0001_a", "0002_b", "0002_c"], "0002_c", "two migrations have one number: 0002_b and 0002_c"),
            (["0001_a", "0003_c"], "0003_c", "migration 0002 is missing before 0003"),
            (["0002_b"], "0002_b", "migration 0001 is missing before 0002"),
            (["0000_a"], "0000_a", "migrations are counted from 0001"),
            (["001_a"], "001_a", "a migration is named NNNN_subject.sql, such as 0001_queue.sql"),
        ])
    func refusesNumbers(names: [String], culprit: String, rule: String) {
        let paths = names.map { "migrations/\($0).sql" }
        #expect(throws: RuleError(path: "migrations/\(culprit).sql", rule: rule)) {
            try ScriptLists(paths.map { ScriptFile(path: $0, text: "") })
        }
    }

    @Test("a circuit on a missing script, or a cycle, fails with the line")
    func refusesWishes() {
        let lost = ScriptFile(path: "views/a.sql", text: "-- a.\n-- errand: after nothing\n")
        #expect(throws: RuleError(path: "views/a.sql", line: 2, rule: "no script of this list is named nothing")) {
            try ScriptLists([lost])
        }
        let circle = [("a", "b"), ("b", "a")].map {
            ScriptFile(path: "views/\($0.0).sql", text: "-- errand: after \($0.1)\n")
        }
        #expect(throws: RuleError(path: "views/a.sql", rule: "these ask to come after each other: views/a, views/b")) {
            try ScriptLists(circle)
        }
    }

    @Test(
        "a script outside of the lists' folders fails the build",
        arguments: ["stray.sql", "functions/x.sql", "views/a/b.sql"])
    func refusesStrays(path: String) {
        #expect(throws: RuleError.self) { try ScriptLists(files(path)) }
    }

    @Test("each folder is an app, and comes behind those that it needs")
    func parts() throws {
        let needy = ScriptFile(
            path: "albums/migrations/0001_album.sql", text: "-- a.\n-- errand: needs media\nselect 1;")
        let parts = try ScriptParts([needy] + files("media/migrations/0001_photo.sql", "media/functions/submit.sql"))
            .parts
        #expect(parts.map(\.name) == ["media", "albums"])
        #expect(parts[0].lists.migrations.map(\.name) == ["media/0001_photo"])
        #expect(parts[0].lists.functions.map(\.name) == ["media/functions/submit"])
        #expect(throws: RuleError.self) { try ScriptParts([needy]) }
    }

    private func files(_ paths: String...) -> [ScriptFile] { paths.map { ScriptFile(path: $0, text: "select 1;") } }
}
