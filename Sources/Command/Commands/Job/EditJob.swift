import ArgumentParser
import Postgres

struct EditJob: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Replace the payload of a job that waits or has failed.",
        discussion: """
            errand job edit 4711 '{"photo": "6c1d…"}' --reason 'the import wrote the wrong id'

            Calls errand.edit_job. The audit has the reason, and neither the old nor the new payload. A failed job runs with \
            the new one after `errand job retry`.
            """)

    @Argument(help: "The job's id.")
    var id: Int64

    @Argument(help: "What the handler gets, as JSON.")
    var payload: String

    @OptionGroup var reason: Reason

    @Flag(help: "Print {\"job_id\", \"state\"}.")
    var json = false

    struct Response: Encodable {
        let job_id: Int64
        let state: String
    }

    func validate() throws {
        try checkJSON(payload)
    }

    func run() async throws {
        let state = try await Environment.load().withConnection { connection in
            try await connection.query(
                Statement("select errand.edit_job($1, $2, $3)", [id, JSONB(payload), reason.text])
            )
            .scalar(String.self)
        }
        print(try json ? Command.json(Response(job_id: id, state: state)) : "job \(id): edited, \(state)")
    }
}
