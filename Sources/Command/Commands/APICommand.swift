import ArgumentParser
import Logging
import ServiceLifecycle
import Web

struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Serve the HTTP API, by which programs without a connection to the database enqueue jobs.",
        discussion: """
            ERRAND_API_ADDRESS=127.0.0.1:8081 errand api

            Callers need a token: `errand token put`. The database user needs the role errand_enqueuer and no more. \
            Tokens and payloads go over the wire as they are: let a proxy with TLS stand before any address but \
            loopback. `errand run` serves the API too if ERRAND_API_ADDRESS is set. docs/http-api.md is the manual.
            """)

    func run() async throws {
        let environment = try Environment.load()
        let web = try WebServer(environment, isWeb: false)
        guard let api = try APIServer(environment) else {
            throw ConfigurationError("ERRAND_API_ADDRESS is not set: expected \(Setting.apiAddress.expected)")
        }
        let log = ProcessLog("api", environment)
        try await log.around {
            try await StopSignals.run(within: .seconds(5), log: log) {
                async let _: Void? = web?.serve([api.readiness(isRequired: true)])
                let group = ServiceGroup(services: [APIService(api: api)], logger: environment.logger)
                try await Serving(isWorker: false, isScheduler: false).withShutdown(of: group) { try await group.run() }
            }
        }
    }
}

/// In a process of its own, it fails with the reason if it can't listen.
private struct APIService: Service {
    let api: APIServer

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await api.listen() }
        } catch let error as ListenError {
            throw ConfigurationError(
                "ERRAND_API_ADDRESS: expected a free address of this host, got '\(api.address)': \(error)")
        }
    }
}
