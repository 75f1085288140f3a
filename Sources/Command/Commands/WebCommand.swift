import ArgumentParser
import Logging
import ServiceLifecycle
import Web

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Serve /healthz, /readyz and /metrics.",
        discussion: """
            ERRAND_WEB_ADDRESS=0.0.0.0:8080 errand web

            Listens on 127.0.0.1:8080 by default. There is no authentication: restrict access if the names of queues and \
            kinds are confidential. The database user needs the role errand_monitor for the queue's metrics.
            """)

    func run() async throws {
        let environment = try Environment.load()
        guard let web = try WebServer(environment, isWeb: true) else {
            throw ConfigurationError("ERRAND_WEB_ADDRESS: expected host:port, got 'off'")
        }
        let log = ProcessLog("web", environment)
        try await log.around {
            try await StopSignals.run(within: .seconds(5), log: log) {
                let group = ServiceGroup(services: [WebService(web: web)], logger: environment.logger)
                try await Serving(isWorker: false, isScheduler: false).withShutdown(of: group) { try await group.run() }
            }
        }
    }
}

/// In a process of its own, it fails with the reason if it can't listen.
private struct WebService: Service {
    let web: WebServer

    func run() async throws {
        do {
            // Without a grace period: a response takes milliseconds, and an incomplete request isn't waited for.
            try await cancelWhenGracefulShutdown { try await web.listen() }
        } catch let error as ListenError {
            throw ConfigurationError(
                "ERRAND_WEB_ADDRESS: expected a free address of this host, got '\(web.address)': \(error)")
        }
    }
}
