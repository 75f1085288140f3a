import ArgumentParser
import Postgres

struct AddCell: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add the cell of ERRAND_CELL_URL to the front, or change its address.",
        discussion: """
            It takes its share of new jobs at once. The first cell also lets the login of DATABASE_URL connect to the \
            cells as the user of ERRAND_CELL_URL; `errand cells login` does so for others.
            """)

    func run() async throws {
        let environment = try Environment.load()
        let address = try environment.database(.cellURL)
        let number = try await environment.withConnection(to: .cellURL) { cell in
            try await cell.query("select errand.cell()").scalar(Int.self)
        }
        let slots = try await CellsCommand.withFront(environment) { front in
            let known = Statement("select address from errand_front.cell where cell = $1", [number])
            if let other = try await front.query(known).column(0, as: String.self).first, other != address.address {
                try await refuseOther(number, at: address, environment, front)
            }
            let slots = try await front.query(
                Statement("select errand_front.put_cell($1::int, $2)", [number, address.address])
            ).scalar(Int.self)
            let isMapped = try await front.query(
                """
                select exists (
                    select from pg_foreign_server where srvname = errand_front.server_name(session_user))
                """)
            if try !isMapped.scalar(Bool.self) {
                let login = try await front.query("select session_user::text").scalar(String.self)
                try await MapLogin.map(login, to: address, on: front)
            }
            return slots
        }
        print("cell \(number) takes jobs; \(slots) of 1024 slots of routing keys moved to it")
    }

    /// A second database with the number of a cell would give out the same ids. A new address of the same database, or
    /// of its promoted standby, is fine: they share the system identifier.
    private func refuseOther(
        _ number: Int, at address: PostgresConfiguration, _ environment: Environment, _ front: Connection
    ) async throws {
        let identity = "select system_identifier from pg_control_system()"
        let new = try await environment.withConnection(to: .cellURL) { cell in
            try await cell.query(Statement(identity, [])).scalar(Int64.self)
        }
        let known = try? await front.query(
            Statement("select errand_front.identity_at(errand_front.partition_of($1::int))", [number])
        ).scalar(Int64.self)
        if let known, known != new {
            throw Failure(
                code: Failure.misconfigured,
                "cell \(number): another database has that number; migrate this one by `errand migrate --cell N`")
        }
    }
}
