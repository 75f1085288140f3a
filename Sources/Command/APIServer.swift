import API
import CProcess
import Logging
import Postgres
import Web

/// The HTTP API of a process.
struct APIServer: Sendable {
    let address: Web.Address
    private let environment: Environment
    private let configuration: PostgresConfiguration
    private let connections: Int
    private let logger: Logger

    /// - Returns: nil if the API is off.
    /// - Throws: ``ConfigurationError`` for several databases: a token and a key belong to one.
    init?(_ environment: Environment) throws {
        guard environment.settings.value(.apiAddress) != nil,
            let address = try environment.settings.value(
                .apiAddress, { text -> Web.Address?? in text == "off" ? .some(nil) : Web.Address(text) })
        else { return nil }
        let cells = try environment.cells()
        guard cells.count == 1 else {
            throw ConfigurationError(
                "ERRAND_API_ADDRESS: expected one database in DATABASE_URL, got \(cells.count); serve the HTTP API of "
                    + "each cell by an `errand api` of its own, or unset it")
        }
        self.address = address
        self.environment = environment
        configuration = cells[0].configuration.forAPI
        connections = try environment.settings.value(.apiConnections) { Int($0) }
        logger = environment.logger
    }

    /// Serves until its task is cancelled. If the address can't be used, it retries, with one warning: jobs run without
    /// the API.
    func serve() async {
        var backoff = Backoff(first: .seconds(1), cap: .seconds(30))
        var level = Logger.Level.warning
        while !Task.isCancelled {
            do {
                try await listen()
            } catch {
                logger.log(
                    level: level, "can't serve the HTTP API: let ERRAND_API_ADDRESS name a free address, or off",
                    metadata: ["address": "\(address)", "error": "\(error)"])
                level = .debug
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Serves until the end of its task.
    ///
    /// - Throws: ``ListenError`` if it can't listen at its address.
    func listen() async throws {
        let most = 4000
        let files = Int(process_allow_open_files(UInt(most + 1000)))
        let database = Database(
            configuration: configuration, maximumConnections: connections, pool: "api", logger: logger)
        let api = API(
            address: address, version: ErrandCommand.version, database: database,
            mostWaits: max(100, min(most, files - 1000)), logger: logger)
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { await warnOfObstacle() }
                defer { group.cancelAll() }
                try await api.run()
            }
        } catch {
            await database.close()
            throw error
        }
        await database.close()
    }

    /// Whether requests can be served.
    ///
    /// - Parameter isRequired: whether the process is of no use without that.
    func readiness(isRequired: Bool) -> ReadinessCheck {
        ReadinessCheck("api", isRequired: isRequired) { try await checkDatabase() }
    }

    /// The schema is there, and the user has the right.
    private func checkDatabase() async throws {
        do {
            try await environment.withConnection(to: configuration) { connection in
                let right = "select pg_has_role(session_user, 'errand_enqueuer', 'member')"
                guard try await connection.query(Statement(right)).scalar(Bool.self) else {
                    throw NotReady("the database user may not enqueue: have `grant errand_enqueuer to …` run")
                }
            }
        } catch let failure as Failure {
            throw NotReady(failure.message)
        }
    }

    /// Says once why requests would fail.
    private func warnOfObstacle() async {
        do {
            try await checkDatabase()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning("the HTTP API can't serve requests yet", metadata: ["reason": "\(error)"])
        }
    }
}

extension PostgresConfiguration {
    /// A caller gives up after some seconds.
    fileprivate var forAPI: PostgresConfiguration {
        var copy = self
        copy.applicationName = "errand api"
        copy.statementTimeout = .seconds(10)
        copy.lockTimeout = .seconds(5)
        return copy
    }
}
