import Foundation
import Hummingbird
import Logging
import NIOCore
import Postgres
import ServiceLifecycle

#if !Web
#error("the program is built with the package's trait Web, which is on by default; only the libraries do without")
#endif

/// Health and metrics of a process over HTTP: `/healthz`, `/readyz`, `/metrics`.
///
/// These three need no authentication: any client that reaches the address gets a response. At a loopback address the
/// last two are served under names of this host only. A page that is added decides for itself.
package struct Web: Service {
    /// Where it listens.
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package let host: String
        package let port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// `127.0.0.1:8080`, `[::1]:8080`; nil for anything else. Port 0 is any that is free.
        package init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            let host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            guard !host.isEmpty, isBracketed || !host.contains(":") else { return nil }
            self.init(host: String(isBracketed ? host.dropFirst().dropLast() : host), port: Int(port))
        }

        package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// Whether a `Host` header names the server itself. A foreign name that leads to a loopback address is another
        /// site's, whose scripts would read the response in a browser on this host.
        package func isNamed(_ authority: String) -> Bool {
            let isBracketed = authority.hasPrefix("[")
            let name =
                isBracketed
                ? String(authority.dropFirst().prefix { $0 != "]" }) : String(authority.prefix { $0 != ":" })
            return name == host || Self.isLoopback(name)
        }

        /// Whether requests with this `Host` header are served; nil if they have none, as HTTP/1.0 allows.
        func serves(_ authority: String?) -> Bool {
            guard Self.isLoopback(host), let authority else { return true }
            return isNamed(authority)
        }

        private static func isLoopback(_ host: String) -> Bool {
            switch try? SocketAddress(ipAddress: host, port: 0) {
            case .v4: host.hasPrefix("127.")
            case .v6: host == "::1"
            default: host == "localhost"
            }
        }
    }

    private let address: Address
    private let version: String
    private let registry: MetricRegistry
    /// Of each database. Empty if other processes report the queue's metrics.
    private let statuses: [(cell: String?, samples: Recent<[StatusSamples.Sample]?>)]
    private let readiness: Recent<Readiness.Report>
    private let logger: Logger
    /// The approximate start of the process.
    private let start = Date.now
    private let onListening: @Sendable (Int) -> Void
    private let addRoutes: @Sendable (Router<WebContext>) -> Void

    /// - Parameters:
    ///   - version: the version of the program, for `errand_build_info`.
    ///   - queues: the databases with the queue's metrics, which are read at most once a second; none if other
    ///     processes report them. Of several, each has a name, which is the label `cell`.
    ///   - registry: the metrics of this process.
    ///   - checks: the checks of `/readyz`.
    ///   - addRoutes: adds the routes of a page that the process serves too.
    ///   - onListening: called with the port once requests are served.
    package init(
        address: Address, version: String, queues: [(cell: String?, database: Database)], registry: MetricRegistry,
        checks: [ReadinessCheck],
        logger: Logger, addRoutes: @escaping @Sendable (Router<WebContext>) -> Void = { _ in },
        onListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.address = address
        self.version = version
        self.registry = registry
        statuses = queues.map { cell, database in
            var logger = logger
            if let cell { logger[metadataKey: "cell"] = "\(cell)" }
            let samples = StatusSamples(database: database, logger: logger)
            return (cell, Recent(for: .seconds(1)) { await samples.read() })
        }
        readiness = Recent(for: .seconds(1)) { await Readiness(checks: checks).report() }
        self.logger = logger
        self.onListening = onListening
        self.addRoutes = addRoutes
    }

    /// Serves until a graceful shutdown or the cancellation of its task.
    ///
    /// - Throws: ``ListenError`` if it can't listen at the address.
    package func run() async throws {
        try await Listener(address: address, connections: 200, logger: logger, onListening: onListening)
            .serve(router().buildResponder())
    }
}

// MARK: - Routes
extension Web {
    private func router() -> Router<WebContext> {
        let router = Router(context: WebContext.self, options: .autoGenerateHeadEndpoints)
        // A response shows that the process runs. The database isn't checked: a database that is down is no reason to
        // restart this process.
        router.get("healthz") { _, _ in Self.text("ok\n") }
        router.get("readyz") { request, _ in
            guard address.serves(request.head.authority) else { return Self.misdirected }
            let report = await readiness.value()
            return Self.text(report.text, status: report.isReady ? .ok : .serviceUnavailable)
        }
        router.get("metrics") { request, _ in
            guard address.serves(request.head.authority) else { return Self.misdirected }
            return Self.text(await metrics(), type: MetricPage.contentType)
        }
        addRoutes(router)
        return router
    }

    /// The samples of this process, and those of the queue in each database that is available. All databases are asked
    /// at once, so one that hangs costs the limit of one.
    func metrics() async -> String {
        var page = MetricPage()
        page.add("errand_build_info", .gauge, [Label("version", version)], 1)
        for (index, samples) in await samples().enumerated() {
            let cell = statuses[index].cell.map { [Label("cell", $0)] } ?? []
            page.add("errand_status_up", .gauge, cell, samples == nil ? 0 : 1)
            for sample in samples ?? [] {
                page.add(sample.name, sample.type, suffix: sample.suffix, sample.labels + cell, sample.value)
            }
        }
        registry.write(to: &page)
        ProcessSamples.write(to: &page, start: start)
        return page.text
    }

    /// Of each database, in order; nil for one that is not available.
    private func samples() async -> [[StatusSamples.Sample]?] {
        await withTaskGroup(of: (Int, [StatusSamples.Sample]?).self) { group in
            for (index, status) in statuses.enumerated() { group.addTask { (index, await status.samples.value()) } }
            return await group.reduce(into: [[StatusSamples.Sample]?](repeating: nil, count: statuses.count)) {
                $0[$1.0] = $1.1
            }
        }
    }

    private static var misdirected: Response {
        text("expected a name of this host, such as localhost or 127.0.0.1\n", status: .misdirectedRequest)
    }

    private static func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
