import Hummingbird
import HummingbirdCore
import Logging
import ServiceLifecycle

/// Serves HTTP/1.1 at an address.
package struct Listener: Sendable {
    let address: Web.Address
    /// How many are open at once: a new one beyond takes the place of one that waits for no response.
    let connections: Int
    let logger: Logger
    let onListening: @Sendable (Int) -> Void

    package init(
        address: Web.Address, connections: Int, logger: Logger, onListening: @escaping @Sendable (Int) -> Void
    ) {
        self.address = address
        self.connections = connections
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until a graceful shutdown or the cancellation of its task.
    ///
    /// - Throws: ``ListenError`` if it can't listen at the address.
    package func serve<Responder: HTTPResponder>(_ responder: Responder) async throws
    where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        // hummingbird logs a listener that is stopped as an error. A listener that fails throws, and is logged then.
        var quiet = logger
        quiet.logLevel = .critical
        let open = OpenConnections(limit: connections)
        let application = Application(
            responder: responder,
            // A silent peer holds a connection and some kilobytes for this long, or until others need them.
            server: .http1(
                configuration: .init(additionalChannelHandlers: [open.handler()], idleTimeout: .seconds(30))),
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: nil),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? address.port
                logger.info("listening", metadata: ["address": "\(Web.Address(host: address.host, port: port))"])
                onListening(port)
            },
            logger: quiet)
        var configuration = ServiceGroupConfiguration(services: [.init(service: application)], logger: quiet)
        // A running request may complete. An incomplete header isn't waited for.
        configuration.maximumGracefulShutdownDuration = .seconds(1)
        let group = ServiceGroup(configuration: configuration)
        // A task of its own: if it were cancelled, an accepted connection that is not yet served would end the process
        // (swift-nio issue 3481). A graceful shutdown closes the listener first.
        let serving = Task { try await group.run() }
        do {
            try await withTaskCancellationHandler {
                try await serving.value
            } onCancel: {
                Task { await group.triggerGracefulShutdown() }
            }
        } catch {
            // It was told to end.
            if Task.isCancelled { return }
            throw ListenError(error) ?? error
        }
    }
}
