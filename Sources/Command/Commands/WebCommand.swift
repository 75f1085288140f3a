import ArgumentParser
import Logging
import ServiceLifecycle
import Web

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Serve the operators' page, /healthz, /readyz and /metrics.",
        discussion: """
            ERRAND_WEB_PASSWORDS=$(errand web password alice < password.txt) errand web

            Listens on 127.0.0.1:8080 by default. Without a log-in the page is read-only, shows no content of jobs, and is \
            served on loopback addresses only. The database user needs the role errand_monitor, and errand_ops for \
            actions. docs/page.md is the manual. /healthz, /readyz and /metrics need no log-in: restrict access if the \
            names of queues and kinds are confidential.
            """,
        subcommands: [WebPassword.self])

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
