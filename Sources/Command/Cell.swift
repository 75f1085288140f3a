import Logging
import Postgres

/// A database that a process serves, one of several or the only one.
struct Cell: Sendable {
    /// Its host, port and database, for log lines, metrics and probes; nil if it is the only one.
    let name: String?
    let configuration: PostgresConfiguration
    /// Names the cell in each line.
    let logger: Logger

    init(name: String? = nil, configuration: PostgresConfiguration, logger: Logger) {
        self.name = name
        self.configuration = configuration
        var logger = logger
        if let name { logger[metadataKey: "cell"] = "\(name)" }
        self.logger = logger
    }
}
