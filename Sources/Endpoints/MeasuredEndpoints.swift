import Errand
import Logging
import Metrics
import Synchronization

/// Calls of endpoints, counted by what their replies mean and measured. What operators must fix is logged.
///
/// The metrics are `errand_endpoint_requests_total`, by endpoint and outcome, and `errand_endpoint_request_seconds`, by
/// endpoint. No label has a URL.
package final class MeasuredEndpoints: EndpointCaller {
    private let base: any EndpointCaller
    private let logger: Logger
    private let factory: (any MetricsFactory)?
    /// By endpoint and outcome.
    private let throttles = Mutex<[[String]: LogThrottle]>([:])

    package init(_ base: any EndpointCaller, logger: Logger) {
        self.base = base
        self.logger = logger
        let factory = MetricsSystem.factory
        self.factory = factory is NOOPMetricsHandler ? nil : factory
    }

    package func call(
        _ endpoint: Endpoint, _ request: EndpointRequest
    ) async throws(CancellationError) -> EndpointReply {
        let start = ContinuousClock.now
        let reply = try await base.call(endpoint, request)
        count(reply, of: endpoint.name, since: start)
        log(reply, of: endpoint.name)
        return reply
    }

    package func hmac(of message: [UInt8], key: [UInt8]) -> [UInt8] { base.hmac(of: message, key: key) }

    /// Handles are looked up each time: a request takes a thousand times as long.
    private func count(_ reply: EndpointReply, of endpoint: String, since start: ContinuousClock.Instant) {
        guard let factory else { return }
        Counter(
            label: "errand_endpoint_requests_total", dimensions: [("endpoint", endpoint), ("outcome", reply.outcome)],
            factory: factory
        ).increment()
        Timer(label: "errand_endpoint_request_seconds", dimensions: [("endpoint", endpoint)], factory: factory)
            .record(duration: .now - start)
    }

    /// One line per ten seconds for each endpoint and outcome. What an attempt's failure says is logged with its job,
    /// as any other's: here a reason has fixed words and nothing that a server has sent.
    private func log(_ reply: EndpointReply, of endpoint: String) {
        switch reply {
        case .unavailable(let reason):
            guard allowsLine(endpoint, reply) else { return }
            logger.warning(
                "an endpoint can't be called: its jobs wait",
                metadata: ["endpoint": "\(endpoint)", "reason": "\(reason)"])
        case .gone:
            guard allowsLine(endpoint, reply) else { return }
            logger.warning(
                "an endpoint is gone (status 410): its jobs wait until its circuit is closed",
                metadata: ["endpoint": "\(endpoint)"])
        case .done, .accepted, .busy, .refused, .failed: break
        }
    }

    private func allowsLine(_ endpoint: String, _ reply: EndpointReply) -> Bool {
        throttles.withLock { $0[[endpoint, reply.outcome], default: LogThrottle()].allowsLine() }
    }
}

extension EndpointReply {
    /// The value of a label.
    package var outcome: String {
        switch self {
        case .done: "done"
        case .accepted: "accepted"
        case .busy: "busy"
        case .gone: "gone"
        case .unavailable: "unavailable"
        case .refused: "refused"
        case .failed: "failed"
        }
    }
}
