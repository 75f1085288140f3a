import CoreMetrics
import Dashboard
import Errand
import Logging
import Postgres
import Web

/// The web server of a process: collects the metrics of the other services, and serves them.
struct WebServer: Sendable {
    let address: Web.Address
    private let isWeb: Bool
    private let cells: [Cell]
    private let environment: Environment
    private let registry = MetricRegistry()
    /// Nil if this process serves no page.
    private let access: AccessRules?
    private let logger: Logger

    /// Makes this process collect metrics, so it must come before services with metrics. Once per process.
    ///
    /// - Parameter isWeb: whether it serves the whole queue's metrics, and listens at the default address. If every
    ///   worker served them, sums over workers would count them many times.
    /// - Returns: nil if it must not listen.
    /// - Throws: ``ConfigurationError`` for a page that others could reach without a log-in.
    init?(_ environment: Environment, isWeb: Bool) throws {
        guard let address = try environment.settings.webAddress(isWeb: isWeb) else { return nil }
        self.address = address
        self.isWeb = isWeb
        cells = try environment.cells()
        self.environment = environment
        logger = environment.logger
        access = try isWeb ? environment.settings.pageAccess(at: address) : nil
        MetricsSystem.bootstrap(registry)
    }

    /// Serves until its task is cancelled. If the address can't be used, it retries, with one warning: jobs run without
    /// monitoring.
    func serve(_ checks: [ReadinessCheck]) async {
        var backoff = Backoff(first: .seconds(1), cap: .seconds(30))
        var level = Logger.Level.warning
        while !Task.isCancelled {
            do {
                try await listen(checks)
            } catch {
                logger.log(
                    level: level, "can't serve health and metrics: let ERRAND_WEB_ADDRESS name a free address, or off",
                    metadata: ["address": "\(address)", "error": "\(error)"])
                level = .debug
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Listens and results until a graceful shutdown or the end of its task.
    ///
    /// - Parameter additional: checks of `/readyz` beside those of the database.
    /// - Throws: ``ListenError`` if it can't listen at its address.
    func listen(_ additional: [ReadinessCheck] = []) async throws {
        // Its own connections: monitoring must not wait for the monitored services.
        let databases = cells.map { cell in
            Database(
                configuration: cell.configuration, maximumConnections: 2, waitLimit: .seconds(2), pool: "status",
                logger: cell.logger)
        }
        let pages = cells.map { cell in
            Database(
                configuration: cell.configuration.forPage, maximumConnections: 4, waitLimit: .seconds(5), pool: "page",
                logger: cell.logger)
        }
        let dashboards = try access.map { access in
            try CellDashboards(
                cells: zip(cells, pages).map { (name: $0.name, database: $1) }, access: access, host: address.host,
                version: ErrandCommand.version, logger: logger)
        }
        let checks = zip(cells, databases).flatMap { cell, database in
            self.checks(of: database).map { $0.of(cell: cell.name) }
        }
        do {
            try await withThrowingTaskGroup { group in
                for database in isWeb ? databases : [] { group.addTask { await refreshStatistics(on: database) } }
                defer { group.cancelAll() }
                try await Web(
                    address: address, version: ErrandCommand.version,
                    queues: isWeb ? zip(cells, databases).map { ($0.name, $1) } : [], registry: registry,
                    checks: checks + additional, logger: logger, addRoutes: { dashboards?.addRoutes(to: $0) }
                )
                .run()
            }
        } catch {
            for database in databases + pages { await database.close() }
            throw error
        }
        for database in databases + pages { await database.close() }
    }

    /// Has the jobs counted while no worker and no scheduler does that, until its task is cancelled. A database that
    /// refuses it, such as a read-only one, is asked again.
    private func refreshStatistics(on database: Database) async {
        while !Task.isCancelled {
            do {
                try await database.execute("select errand.refresh_statistics()")
            } catch {
                logger.debug("the statistics can't be refreshed", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .seconds(30))
        }
    }

    private func checks(of database: Database) -> [ReadinessCheck] {
        var checks = [
            ReadinessCheck("database") { _ = try await database.query("select 1") },
            ReadinessCheck("schema") {
                do {
                    try await database.withConnection { try await environment.requireSchema(on: $0) }
                } catch let failure as Failure {
                    throw NotReady(failure.message)
                }
            },
        ]
        if isWeb {
            checks.append(
                ReadinessCheck("metrics") {
                    let right = "select has_function_privilege('errand.metrics()', 'execute')"
                    guard try await database.query(Statement(right)).scalar(Bool.self) else {
                        throw NotReady("the database user may not read them: have `grant errand_monitor to …` run")
                    }
                })
        }
        return checks
    }
}

extension Settings {
    /// The address of the web server; nil if it is off.
    ///
    /// - Parameter isWeb: whether it serves the whole queue's metrics, and so listens at the default address.
    func webAddress(isWeb: Bool) throws -> Web.Address? {
        if !isWeb, case .fallback? = value(.webAddress)?.origin { return nil }
        return try value(.webAddress) { text -> Web.Address?? in text == "off" ? .some(nil) : Web.Address(text) }
    }
}

extension PostgresConfiguration {
    /// For the page: an action on a million jobs may take longer than a status.
    fileprivate var forPage: PostgresConfiguration {
        var copy = self
        copy.applicationName = "errand page"
        copy.statementTimeout = .seconds(20)
        copy.lockTimeout = .seconds(5)
        return copy
    }
}
