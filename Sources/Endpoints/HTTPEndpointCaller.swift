import AsyncHTTPClient
import Cryptography
import Errand
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Outbound

/// Posts attempts to endpoints by HTTP/1.1: signed, to an address that was checked, and no further.
package struct HTTPEndpointCaller: EndpointCaller {
    package struct Configuration: Sendable {
        package var secrets: SecretSource
        /// What errors call the setting with the secrets.
        package var secretsSetting = "ERRAND_ENDPOINT_SECRETS"
        /// The URL of the HTTP API, without a slash at its end; empty if it isn't known.
        package var callbackBase = ""
        /// Trusted beside the system's authorities.
        package var authorities: [NIOSSLCertificate] = []
        package var resolver: any HostResolver = SystemResolver()
        package var limits = EndpointLimits()

        package init(secrets: SecretSource) { self.secrets = secrets }
    }

    private let configuration: Configuration
    private let hosts: CheckedHosts
    private let connections: EndpointConnections

    /// Opens no connection.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        hosts = CheckedHosts(configuration.resolver)
        connections = EndpointConnections(configuration.limits, trusting: configuration.authorities)
    }

    package func call(
        _ endpoint: Endpoint, _ request: EndpointRequest
    ) async throws(CancellationError) -> EndpointReply {
        let start = ContinuousClock.now
        do {
            let destination = try Destination(url: endpoint.url)
            let host = try await host(of: destination, for: endpoint, at: start)
            let message = try message(request, of: endpoint)
            var outgoing = try HTTPClient.Request(url: destination.url, method: .POST, headers: message.headers)
            outgoing.body = .bytes(message.body)
            return try await send(outgoing, to: destination, host, by: start + endpoint.timeout)
        } catch let error as CancellationError {
            throw error
        } catch let error as MalformedDestination {
            return .unavailable(reason: "url: \(error)")
        } catch let error as CallRefusal {
            return .unavailable(reason: error.reason)
        } catch {
            return .unavailable(reason: "no request can be made for it (\(type(of: error)))")
        }
    }
}

extension HTTPEndpointCaller {
    package func hmac(of message: [UInt8], key: [UInt8]) -> [UInt8] { HMAC.sha256(message, key: key) }
}

/// Why an endpoint is not called.
private struct CallRefusal: Error {
    let reason: String
}

// MARK: - Before it is sent
extension HTTPEndpointCaller {
    private func message(_ request: EndpointRequest, of endpoint: Endpoint) throws -> Message {
        guard let secrets = configuration.secrets.current()[endpoint.secretName] else {
            throw CallRefusal(reason: "no secret \(endpoint.secretName) in \(configuration.secretsSetting)")
        }
        return Message(
            request, secrets: secrets, callbackBase: configuration.callbackBase,
            sentAt: Int64(Date.now.timeIntervalSince1970))
    }

    private func host(
        of destination: Destination, for endpoint: Endpoint, at now: ContinuousClock.Instant
    ) async throws -> CheckedHosts.Host {
        guard destination.isSecure || endpoint.allowsPrivate else {
            throw CallRefusal(reason: "url: expected https:// for an endpoint that allows no private addresses")
        }
        let host: CheckedHosts.Host
        do {
            host = try await hosts.host(
                of: destination, at: now, waiting: min(endpoint.timeout, configuration.limits.lookup))
        } catch is LookupTimedOut {
            throw CallRefusal(reason: "no address of its host was found in time")
        } catch let error as CancellationError {
            throw error
        } catch {
            throw CallRefusal(reason: "its host has no address")
        }
        switch host.reach {
        case .public: return host
        case .private where endpoint.allowsPrivate: return host
        case .private: throw CallRefusal(reason: "its host has a private address, which it doesn't allow")
        case .forbidden: throw CallRefusal(reason: "its host has an address that no endpoint may have")
        }
    }
}

// MARK: - Sending
extension HTTPEndpointCaller {
    /// The most addresses of a host that are tried, until one can be connected to.
    private static let mostAddresses = 3

    private func send(
        _ request: HTTPClient.Request, to destination: Destination, _ host: CheckedHosts.Host,
        by deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> EndpointReply {
        var reply = EndpointReply.unavailable(reason: "its host has no address")
        for (index, address) in host.addresses.prefix(Self.mostAddresses).enumerated() {
            reply = try await send(request, to: address, of: destination, by: deadline)
            guard case .unavailable = reply, deadline > .now else {
                if index > 0 { hosts.prefer(address, of: destination) }
                break
            }
        }
        return reply
    }

    private func send(
        _ request: HTTPClient.Request, to address: IPAddress, of destination: Destination,
        by deadline: ContinuousClock.Instant
    ) async throws(CancellationError) -> EndpointReply {
        let peer = EndpointConnection.Peer(
            isSecure: destination.isSecure, host: destination.host, address: address)
        var isRepeat = false
        while true {
            let connection = connections.connection(to: peer, at: .now)
            let opened = connection.openedCount
            let reader = ResponseReader()
            do {
                let response = try await connection.send(request, to: reader, by: .now() + TimeAmount(deadline - .now))
                return response.reply(at: .now)
            } catch {
                if error is CancellationError || (error as? HTTPClientError) == .cancelled || Task.isCancelled {
                    throw CancellationError()
                }
                let failure = SendFailure(error, isSent: reader.isSent, received: reader.received)
                // The server has closed an unused connection as the request was sent: once more over a new one, which
                // the same webhook-id makes harmless.
                if failure == .lost, reader.received == nil, !isRepeat, connection.openedCount == opened {
                    isRepeat = true
                    continue
                }
                return failure.reply(at: .now)
            }
        }
    }
}
