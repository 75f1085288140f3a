import ArgumentParser
import Postgres

struct UndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Take back what an operator did: jobs and settings are as they were before.",
        discussion: """
            errand audit --since 1h --json
            errand undo 17 --dry-run
            errand undo 17 --reason 'the wrong customer'

            Calls errand.undo. Only what is as the action left it changes; the column NOTE says why the rest doesn't. An \
            undo is an action too, and can be taken back.
            """)

    @Argument(help: "The action's id, as `errand audit --json` shows it. At most 7 days old.")
    var id: Int64

    @OptionGroup var reason: OptionalReason

    @Flag(help: "Only show what would change.")
    var dryRun = false

    @Flag(help: "Print a JSON array of {\"job_id\", \"setting\", \"undone\", \"was\", \"now\", \"note\"}.")
    var json = false

    struct Change: Encodable {
        let job_id: Int64?
        let setting: String?
        let undone: Bool
        let was: String?
        let now: String?
        let note: String?

        init(_ row: Row) throws {
            (job_id, setting, undone, was, now, note) = try row.decode(
                Int64?.self, String?.self, Bool.self, String?.self, String?.self, String?.self)
        }
    }

    func run() async throws {
        let changes = try await Environment.load().withConnection { connection in
            try await connection.query(
                Statement(
                    "select job_id, setting, undone, was, now, note from errand.undo($1, $2, $3)",
                    [id, reason.text, dryRun])
            ).map(Change.init)
        }
        if json { return print(try Command.json(changes)) }
        if changes.isEmpty { return print("it changed nothing") }
        var table = TextTable(head: ["WHAT", "UNDONE", "WAS", "NOW", "NOTE"])
        for change in changes {
            table.add(
                change.job_id.map { "job \($0)" } ?? change.setting, change.undone ? "yes" : "no", change.was,
                change.now,
                change.note)
        }
        print(table)
        if dryRun { writeError("errand: nothing was changed: without --dry-run it is") }
    }
}
