import AsyncHTTPClient
import Foundation
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Outbound

/// A connection to APNs, and the requests on it. It goes when the last request that uses it has come to its end.
final class APNsLine: Sendable {
    private let http: HTTPClient
    private let address: String
    private let topic: String
    private let limits: APNsConfiguration.Limits

    /// - Throws: ``PushError`` with code `misconfigured` where the file of authorities can't be read.
    init(_ configuration: APNsConfiguration) throws(PushError) {
        address = "https://\(configuration.host):\(configuration.port)/3/device/"
        topic = configuration.topic
        limits = configuration.limits
        http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: try Self.httpConfiguration(configuration))
    }

    // Whoever still waits for an answer holds the line, so that nothing is cut off here.
    deinit { http.shutdown { _ in } }

    /// Sends a push once, and waits for its answer.
    ///
    /// - Throws: ``PushError`` where none came: `unreachable`, `unavailable`, `interrupted` or `timedOut`.
    func send(
        _ push: Push, with token: String, within span: Duration
    ) async throws(PushError) -> (answer: APNsAnswer, id: String?) {
        do {
            let response = try await http.execute(
                request(push, with: token), deadline: .now() + min(span, limits.answer).amount)
            let body = try await response.body.collect(upTo: 64 << 10)
            return (
                APNsAnswer(status: Int(response.status.code), body: Array(body.readableBytesView)),
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

    /// No text of the client's goes into an error: it may hold the address, and in it the device's token.
    private static func error(_ error: any Error) -> PushError {
        // No place among the requests of a connection that works, which is no reason to hold all others back.
        if let error = error as? HTTPClientError, error == .getConnectionFromPoolTimeout {
            return PushError(.unavailable, reason: "no free place on the connection in time")
        }
        return switch ConnectionFailure(error) {
        case .unreachable: PushError(.unreachable, reason: "no connection to APNs (\(type(of: error)))")
        case .timedOut: PushError(.timedOut, reason: "no answer in time")
        case .lost, nil: PushError(.interrupted, reason: "the connection was lost (\(type(of: error)))")
        }
    }
}

// MARK: - The client
extension APNsLine {
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
        // A peer that has vanished would be found out by nobody: a connection for hours has hours without a byte.
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
