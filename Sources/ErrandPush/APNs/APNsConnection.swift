import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Outbound

/// A connection to APNs, and the requests on it. It is closed when the last request has completed.
final class APNsConnection: Sendable {
    private let http: HTTPClient
    private let address: String
    private let topic: String
    private let limits: APNsConfiguration.Limits

    /// - Throws: ``PushError`` with code `misconfigured` if the file of authorities can't be read.
    init(_ configuration: APNsConfiguration) throws(PushError) {
        address = "https://\(configuration.host):\(configuration.port)/3/device/"
        topic = configuration.topic
        limits = configuration.limits
        http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: try Self.httpConfiguration(configuration))
    }

    // A request that waits for its response retains the connection, so nothing is interrupted here.
    deinit { http.shutdown { _ in } }

    /// Sends a push once, and waits for its response.
    ///
    /// - Throws: ``PushError`` if none came: `unreachable`, `unavailable`, `interrupted` or `timedOut`.
    func send(
        _ push: Push, with token: String, within span: Duration
    ) async throws(PushError) -> (response: APNsResponse, id: String?) {
        do {
            let response = try await http.execute(
                request(push, with: token), deadline: .now() + min(span, limits.response).amount)
            let body = try await response.body.collect(upTo: 64 << 10)
            return (
                APNsResponse(status: Int(response.status.code), body: Array(body.readableBytesView)),
                response.headers.first(name: "apns-id")
            )
        } catch {
            throw Self.error(error)
        }
    }

    private func request(_ push: Push, with token: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address + push.deviceToken)
        request.method = .POST
        let suffix = push.kind == .liveActivity ? ".push-type.liveactivity" : ""
        request.headers = [
            "authorization": "bearer \(token)", "apns-topic": topic + suffix, "apns-push-type": push.kind.rawValue,
            "apns-priority": "\(push.priority)", "apns-expiration": "\(push.expiration)",
            "apns-id": push.id.uuidString.lowercased(),
        ]
        if let collapseID = push.collapseID { request.headers.add(name: "apns-collapse-id", value: collapseID) }
        request.body = .bytes(push.payload)
        return request
    }

    /// An error never has the client's text, which may contain the address with the device's token.
    private static func error(_ error: any Error) -> PushError {
        // No free stream on a working connection, which is no reason to hold other pushes back.
        if let error = error as? HTTPClientError, error == .getConnectionFromPoolTimeout {
            return PushError(.unavailable, reason: "no free stream on the connection in time")
        }
        return switch ConnectionFailure(error) {
        case .unreachable: PushError(.unreachable, reason: "no connection to APNs (\(type(of: error)))")
        case .timedOut: PushError(.timedOut, reason: "no response in time")
        case .lost, nil: PushError(.interrupted, reason: "the connection was lost (\(type(of: error)))")
        }
    }
}

// MARK: - The client
extension APNsConnection {
    private static func httpConfiguration(
        _ configuration: APNsConfiguration
    ) throws(PushError) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = configuration.authorities {
            do {
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
            } catch {
                throw PushError(.misconfigured, reason: "authorities: expected a file of PEM certificates")
            }
        }
        let limits = configuration.limits
        var http = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: limits.connect.amount), decompression: .disabled)
        http.httpVersion = .automatic
        http.connectionPool.idleTimeout = limits.idle.amount
        http.connectionPool.retryConnectionEstablishment = false
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

extension Duration {
    fileprivate var amount: TimeAmount {
        .nanoseconds(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
