import ArgumentParser
import Postgres

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract:
            "Check what an operator would: workers, scheduler, what is late. The exit code is 1 if all isn't well.",
        discussion: """
            errand health || page-somebody

            Calls errand.health(). It is about the whole deployment: a probe of one process is /healthz or /readyz.
            """)

    @OptionGroup var output: ListOutput

    func run() async throws {
        let query = Query("select check_name as check, ok, detail, hint from errand.health() order by ok, check_name")
        let rows = try await Environment.load().withConnection { try await Fields.read(query, on: $0) }
        try show(rows, Self.table, as: output, none: "nothing to check")
        if rows.contains(where: { $0.ok == "false" }) { throw ExitCode(Failure.failed) }
    }

    private static let table = [
        Column("CHECK", \.check), Column("OK") { $0.ok == "true" ? "ok" : "no" }, Column("DETAIL", \.detail),
        Column("HINT", \.hint),
    ]
}
