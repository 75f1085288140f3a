import CoreMetrics
import Errand
import Logging
import MetricsTestKit
import Synchronization
import Testing

@testable import Endpoints

@Suite("Metrics and log lines of endpoints") struct MeasuredEndpointsTests {
    private static let replies: [EndpointReply] = [
        .done(output: nil), .accepted, .busy(for: .seconds(1), reason: "status 503"),
        .gone(reason: "status 410: topsecret"),
        .unavailable(reason: "no address"), .refused(reason: "status 400: topsecret", cause: "status 400"),
        .failed(reason: "status 500: topsecret", cause: "status 500"),
    ]

    @Test("each call is counted by its outcome, and measured")
    func counts() async throws {
        let metrics = TestMetrics()
        for reply in Self.replies + Self.replies {
            let caller = withMetricsFactory(metrics) {
                MeasuredEndpoints(CannedCaller(reply: reply), logger: Logger(label: "test"))
            }
            #expect(try await caller.call(CallKit.endpoint("https://a/"), CallKit.request()) == reply)
        }
        for outcome in ["done", "accepted", "busy", "gone", "unavailable", "refused", "failed"] {
            let dimensions = [("endpoint", "shop"), ("outcome", outcome)]
            let counter = try metrics.expectCounter("errand_endpoint_requests_total", dimensions)
            #expect(counter.totalValue == 2, "\(outcome)")
        }
        let timer = try metrics.expectTimer("errand_endpoint_request_seconds", [("endpoint", "shop")])
        #expect(timer.values.count == 14)
    }

    @Test("what operators must fix is logged once for many calls, without what the server has said")
    func lines() async throws {
        let lines = Lines()
        for reply in Self.replies {
            let caller = MeasuredEndpoints(CannedCaller(reply: reply), logger: Logger(label: "test") { _ in lines })
            for _ in 0..<5 { _ = try await caller.call(CallKit.endpoint("https://a/"), CallKit.request()) }
        }
        #expect(
            lines.texts == [
                "an endpoint is gone (status 410): its jobs wait until its circuit is closed shop",
                "an endpoint can't be called: its jobs wait shop no address",
            ])
    }
}

private struct CannedCaller: EndpointCaller {
    let reply: EndpointReply

    func call(
        _ endpoint: Endpoint, _ request: EndpointRequest
    ) async throws(CancellationError) -> EndpointReply { reply }

    func hmac(of message: [UInt8], key: [UInt8]) -> [UInt8] { [] }
}

/// Stores lines with the values of their metadata.
private final class Lines: LogHandler {
    private let stored = Mutex<[String]>([])
    var texts: [String] { stored.withLock(\.self) }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.value)" }
        stored.withLock { $0.append(([event.message.description] + values).joined(separator: " ")) }
    }
}
