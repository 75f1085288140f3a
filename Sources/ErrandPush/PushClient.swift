import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Outbound

/// An HTTP client for a push service. It is closed when the last request has completed.
final class PushClient: Sendable {
    private let http: HTTPClient
    private let service: String
    private let limits: PushLimits

    /// - Parameters:
    ///   - service: what errors call the service.
    ///   - authorities: the path of a PEM file with certificate authorities, trusted beside the system's.
    ///   - limits: how long requests may take.
    /// - Throws: ``PushError`` with code `misconfigured` if the file of authorities can't be read.
    init(of service: String, authorities: String?, limits: PushLimits) throws(PushError) {
        self.service = service
        self.limits = limits
        http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: try Self.configuration(authorities, limits))
    }

    // A request that waits for its response retains the connection, so nothing is interrupted here.
    deinit { http.shutdown { _ in } }

    /// Sends a request once, and waits for its response.
    ///
    /// - Throws: ``PushError`` if none came: `unreachable`, `unavailable`, `interrupted` or `timedOut`.
    func execute(
        _ request: HTTPClientRequest, within span: Duration
    ) async throws(PushError) -> (status: Int, headers: HTTPHeaders, body: [UInt8]) {
        do {
            let response = try await http.execute(request, deadline: .now() + min(span, limits.response).amount)
            let body = try await response.body.collect(upTo: 64 << 10)
            return (Int(response.status.code), response.headers, Array(body.readableBytesView))
        } catch {
            throw failure(error)
        }
    }

    /// An error never has the client's text, which may contain the address with the device's token.
    private func failure(_ error: any Error) -> PushError {
        // No free stream on a working connection, which is no reason to hold other pushes back.
        if let error = error as? HTTPClientError, error == .getConnectionFromPoolTimeout {
            return PushError(.unavailable, reason: "no free stream on the connection in time")
        }
        return switch ConnectionFailure(error) {
        case .unreachable: PushError(.unreachable, reason: "no connection to \(service) (\(type(of: error)))")
        case .timedOut: PushError(.timedOut, reason: "no response in time")
        case .lost, nil: PushError(.interrupted, reason: "the connection was lost (\(type(of: error)))")
        }
    }

    static func configuration(
        _ authorities: String?, _ limits: PushLimits
    ) throws(PushError) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let authorities {
            do {
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(authorities))]
            } catch {
                throw PushError(.misconfigured, reason: "authorities: expected a file of PEM certificates")
            }
        }
        var http = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: limits.connect.amount), decompression: .disabled)
        http.httpVersion = .automatic
        http.connectionPool.idleTimeout = limits.idle.amount
        http.connectionPool.retryConnectionEstablishment = false
        // Spans of requests would have tokens of devices, and Apple and Google would get our trace.
        http.tracing.tracer = nil
        // Without pings a vanished peer would go unnoticed: a connection may be idle for hours.
        http.http2ConnectionDebugInitializer = { channel in
            channel.setOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: 10_000)
                .and(channel.setOption(.socketOption(.so_keepalive), value: 1))
                .and(channel.setOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: 60))
                .and(channel.setOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: 5))
                .map { _ in }
        }
        return http
    }
}

/// How long requests to a push service may take.
public struct PushLimits: Sendable {
    /// Until a connection is open, TLS included, and has room for a request. Default 5 s.
    public var connect: Duration = .seconds(5)
    /// From a request to the end of its response. Default 10 s.
    public var response: Duration = .seconds(10)
    /// How long an unused connection stays open. Default 2 h: Apple takes many short connections for an attack.
    public var idle: Duration = .seconds(2 * 3600)

    /// The defaults.
    public init() {}
}

/// The address of a push server: a name and a port.
struct PushAddress: Sendable, Hashable {
    let host: String
    let port: Int

    /// - Parameter url: `https://host:port`, with nothing behind it.
    /// - Throws: ``MalformedPushServer`` for anything else.
    init(url: String) throws(MalformedPushServer) {
        guard let url = URLComponents(string: url), url.scheme == "https", let name = url.host, !name.isEmpty,
            url.user == nil, url.password == nil, url.path.isEmpty || url.path == "/", url.query == nil
        else { throw MalformedPushServer() }
        (host, port) = (name, url.port ?? 443)
    }

    init(host: String) { (self.host, port) = (host, 443) }

    var url: String { "https://\(host):\(port)" }
}

extension Duration {
    fileprivate var amount: TimeAmount {
        .nanoseconds(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
