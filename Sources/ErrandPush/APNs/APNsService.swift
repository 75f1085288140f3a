import Foundation
import Synchronization

/// Sends pushes to Apple over HTTP/2. All pushes share one provider token, which is renewed every 45 to 50 minutes.
///
/// A push on a connection that was lost, or that Apple wants replaced, is sent again over a new one, at most twice.
public final class APNsService: PushService {
    private static let mostRepeats = 2

    private let configuration: APNsConfiguration
    private let connection: Mutex<APNsConnection>
    private let tokens: Mutex<ProviderTokens>

    /// Opens no connection.
    ///
    /// - Throws: ``PushError`` with code `misconfigured` if the file of authorities can't be read.
    public init(_ configuration: APNsConfiguration) throws(PushError) {
        self.configuration = configuration
        connection = Mutex(try APNsConnection(configuration))
        tokens = Mutex(ProviderTokens(key: configuration.key))
    }

    public var route: PushRoute { .apns }

    /// Pushes in progress keep their connection until their response.
    public func stop() async {}

    public func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        let start = ContinuousClock.now
        var hasRenewed = false
        var repeats = 0
        while true {
            let now = ContinuousClock.now
            guard !Task.isCancelled else { throw PushError(.interrupted, reason: "stopped before it was sent") }
            guard now < deadline else { throw PushError(.expired, reason: "too late to be sent") }
            let time = present + (now - start) / .seconds(1)
            let token = try tokens.withLock { tokens throws(PushError) in try tokens.token(at: time) }
            let connection = connection.withLock { $0 }
            do throws(PushError) {
                let (response, id) = try await connection.send(push, with: token, within: deadline - now)
                switch response.verdict {
                case .accepted:
                    return id
                case .renewToken where !hasRenewed:
                    hasRenewed = true
                    let isRenewed = try tokens.withLock { tokens throws(PushError) in
                        try tokens.expired(token, at: time)
                    }
                    if isRenewed { continue }
                    throw PushError(
                        .misconfigured, status: response.status,
                        reason: "\(response.reason) though it is new: the clock is wrong")
                case .keepToken where !hasRenewed:
                    hasRenewed = true
                    if tokens.withLock({ $0.tooMany(token, at: time) }) { continue }
                case .reconnect where repeats < Self.mostRepeats:
                    repeats += 1
                    try replace(connection)
                    continue
                default: break
                }
                if let error = response.error { throw error }
            } catch {
                // A lost connection is replaced automatically; a silent one may be dead too.
                if error.code == .timedOut { try replace(connection) }
                guard error.code == .interrupted, repeats < Self.mostRepeats, !Task.isCancelled else { throw error }
                repeats += 1
                // The client takes a moment to notice that its connection is gone.
                try? await Task.sleep(for: .milliseconds(20 * repeats))
            }
        }
    }

    /// Replaces the connection for later pushes. If many requests find the same one useless, the first replaces it.
    private func replace(_ useless: APNsConnection) throws(PushError) {
        guard connection.withLock({ $0 === useless }) else { return }
        let fresh = try APNsConnection(configuration)
        connection.withLock { if $0 === useless { $0 = fresh } }
    }
}
