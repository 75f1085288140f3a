import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// What a collector made of a batch.
enum ExportOutcome: Sendable, Hashable {
    /// The collector took the batch, except for some spans.
    case taken(refused: Int)
    /// The same request may succeed later.
    case failed(retryAfter: Duration?, reason: String)
    /// The same request would be refused again.
    case refused(reason: String)
}

/// Sends batches to a collector by OTLP/HTTP with JSON.
final class CollectorClient: Sendable {
    private let collector: TraceCollector
    private let limit: Duration
    private let http: HTTPClient

    init(_ collector: TraceCollector, within limit: Duration) {
        self.collector = collector
        self.limit = limit
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(3)), decompression: .disabled)
        configuration.httpVersion = .http1Only
        // Exports are not traced themselves.
        configuration.tracing.tracer = nil
        http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    // The HTTP client traps if it isn't shut down.
    deinit { http.shutdown { _ in } }

    /// Sends a request once, and waits for its response.
    func send(_ body: Data) async -> ExportOutcome {
        var request = HTTPClientRequest(url: collector.url)
        request.method = .POST
        request.headers = HTTPHeaders(
            [("content-type", "application/json")] + collector.headers.map { ($0.name, $0.value) })
        request.body = .bytes(body)
        do {
            let timeout = limit.components
            let response = try await http.execute(
                request,
                deadline: .now() + .nanoseconds(timeout.seconds * 1_000_000_000 + timeout.attoseconds / 1_000_000_000))
            let status = Int(response.status.code)
            switch status {
            case 200..<300: return .taken(refused: Self.refusedSpans(try await response.body.collect(upTo: 64 << 10)))
            case 429, 502, 503, 504:
                let seconds = response.headers.first(name: "retry-after").flatMap(Int.init)
                return .failed(retryAfter: seconds.map { .seconds(max(0, $0)) }, reason: "status \(status)")
            default: return .refused(reason: "status \(status)")
            }
        } catch {
            // Never the client's long text, which has the headers.
            let reason = (error as? HTTPClientError)?.shortDescription ?? "\(type(of: error))"
            return .failed(retryAfter: nil, reason: reason)
        }
    }

    private struct Response: Decodable {
        let partialSuccess: PartialSuccess?

        struct PartialSuccess: Decodable {
            let rejectedSpans: Number?
        }

        /// A 64-bit number is a text, but some collectors send a number.
        struct Number: Decodable {
            let value: Int

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                value = try (try? container.decode(Int.self)) ?? Int(container.decode(String.self)) ?? 0
            }
        }
    }

    private static func refusedSpans(_ body: ByteBuffer) -> Int {
        let response = try? JSONDecoder().decode(Response.self, from: Data(body.readableBytesView))
        return max(0, response?.partialSuccess?.rejectedSpans?.value ?? 0)
    }
}
