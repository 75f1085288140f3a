import ArgumentParser
import Logging
import ServiceLifecycle
import Web

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Answer /healthz, /readyz and /metrics.",
        discussion: """
            ERRAND_WEB_ADDRESS=0.0.0.0:8080 errand web

            Listens on 127.0.0.1:8080 where nothing else is said. There is no login: let nobody reach it who may not see \
            the names of queues and kinds. The database user needs the role errand_monitor for the queue's metrics.
            """)

    func run() async throws {
        let environment = try Environment.load()
        guard let web = try WebPart(environment, isWeb: true) else {
            throw ConfigurationError("ERRAND_WEB_ADDRESS: expected host:port, got 'off'")
        }
        try await Stopping.run(within: .seconds(5)) {
            let group = ServiceGroup(services: [WebService(web: web)], logger: environment.logger)
            try await Serving(isWorker: false, isScheduler: false).withShutdown(of: group) { try await group.run() }
        }
    }
}

/// Alone in its process, it ends with the reason where it can't listen.
private struct WebService: Service {
    let web: WebPart

    func run() async throws {
        do {
            // Without grace: an answer takes milliseconds, and a peer that never ends its request isn't waited for.
            try await cancelWhenGracefulShutdown { try await web.listen() }
        } catch let error as ListenError {
            throw ConfigurationError(
                "ERRAND_WEB_ADDRESS: expected a free address of this host, got '\(web.address)': \(error)")
        }
    }
}
