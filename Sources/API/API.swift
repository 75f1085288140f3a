import CoreMetrics
import Errand
import Foundation
import Hummingbird
import Logging
import Metrics
import NIOCore
import Postgres
import ServiceLifecycle
import Synchronization
import Web

/// The HTTP API: programs without a connection to the database enqueue jobs, wait for them and cancel them.
///
/// Each request is checked against the document that `/v1/openapi.json` has. Who may do what is decided in the database
/// alone, by the hash of the token. A token, a payload and an output are in no log line and no metric.
package struct API: Sendable {
    /// Above the payload's limit of 256 KB, with room for the other fields and for white space.
    static let largestBody = 300 << 10
    private let listener: Listener
    private let jobs: Jobs
    private let operations: [Operation]
    private let bodyTimeout: Duration
    let metrics: any MetricsFactory
    let log: RequestLog

    /// - Parameters:
    ///   - database: a pool for the requests. While callers wait for jobs there is one connection more.
    ///   - bodyTimeout: a request whose body takes longer is cut off.
    ///   - mostWaits: how many callers wait for jobs at once.
    ///   - onListening: called with the port once requests are served.
    package init(
        address: Web.Address, version: String, database: Database, mostWaits: Int = 4000,
        bodyTimeout: Duration = .seconds(10),
        metrics: any MetricsFactory = MetricsSystem.factory, logger: Logger,
        onListening: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        // Beside those who wait, others are served.
        listener = Listener(
            address: address, connections: mostWaits + 200, logger: logger, onListening: onListening)
        jobs = Jobs(
            database: database, queue: Queue(database: database), waits: Waits(most: mostWaits, factory: metrics))
        let served = Operation.ofJobs + Operation.ofBatches
        let json = OpenAPI(operations: served + [.document([])], version: version).json
        operations = served + [.document(json)]
        self.bodyTimeout = bodyTimeout
        self.metrics = metrics
        log = RequestLog(logger: logger)
    }

    /// Serves until a graceful shutdown or the cancellation of its task.
    ///
    /// - Throws: ``ListenError`` if it can't listen at the address.
    package func run() async throws {
        try await listener.serve(
            CallbackResponder<APIContext> { request, context in await respond(to: request, context) })
    }
}

// MARK: - One request
extension API {
    private func respond(to request: Request, _ context: APIContext) async -> Response {
        let start = ContinuousClock.now
        let path = request.uri.path
        let found = operations.filter { $0.match(path) != nil }
        let operation = found.first { $0.method == request.method }
        let reply: Reply
        do {
            guard !found.isEmpty else { throw Problem.notFound }
            guard let operation else { throw Problem.unsupported(found.map(\.method)) }
            reply = try await operation.run(call(of: operation, request, context))
        } catch {
            let problem = Problem(error)
            if problem.status.code >= 500 { log.failure(operation?.id, error) }
            if problem.closes { Self.close(context.channel) }
            reply = Reply(
                status: problem.status, json: problem.json,
                headers: problem.headers + [.contentType: "application/problem+json"])
        }
        count(operation?.id ?? "none", reply, .now - start, isWait: request.uri.query?.contains("wait=") == true)
        // The path has no HEAD, and a response to it may have no body.
        return request.method == .head ? Response(reply).createHeadResponse() : Response(reply)
    }

    /// Checks all of a request that needs no database.
    private func call(of operation: Operation, _ request: Request, _ context: APIContext) async throws -> Call {
        let reader = RequestReader(operation: operation, request: request)
        let hash = try reader.tokenHash()
        let parameters = try reader.parameters()
        let body = operation.body == nil ? "" : try await reader.body(context.channel, within: bodyTimeout)
        return Call(
            jobs: jobs, hash: hash, parameters: parameters, body: body, traceparent: reader.traceparent,
            request: request)
    }

    private func count(_ operation: String, _ reply: Reply, _ time: Duration, isWait: Bool) {
        Counter(
            label: "errand_api_requests_total",
            dimensions: [("operation", operation), ("status", "\(reply.status.code)")], factory: metrics
        ).increment()
        guard !isWait else { return }
        Timer(label: "errand_api_request_seconds", dimensions: [("operation", operation)], factory: metrics)
            .record(duration: time)
    }

    /// Once the response is on its way: what the peer goes on to send isn't read.
    private static func close(_ channel: any Channel) {
        channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
    }
}

/// What a request is served with: also its connection.
struct APIContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

extension Response {
    fileprivate init(_ reply: Reply) {
        var headers = reply.headers
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        if !reply.json.isEmpty, headers[.contentType] == nil { headers[.contentType] = "application/json" }
        self.init(
            status: reply.status, headers: headers,
            body: reply.json.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(bytes: reply.json)))
    }
}

/// Says which requests fail because of this server, a line in ten seconds. It has no path and no value.
final class RequestLog: Sendable {
    private let logger: Logger
    private let throttle = Mutex(LogThrottle())

    init(logger: Logger) { self.logger = logger }

    func failure(_ operation: String?, _ error: any Error) {
        guard throttle.withLock({ $0.allowsLine() }) else { return }
        let reason = (error as? PostgresError)?.summary ?? "\(type(of: error))"
        logger.warning(
            "the HTTP API could not serve a request",
            metadata: ["operation": "\(operation ?? "none")", "error": "\(reason)"])
    }
}
