import Foundation
import Synchronization

/// Sends pushes to Apple over HTTP/2. All pushes share one provider token, which is renewed every 45 to 50 minutes.
///
/// A push on a connection that was lost, or that Apple wants replaced, is sent again over a new one, at most twice.
public final class APNsService: PushService {
    private static let mostRepeats = 2

    private let configuration: APNsConfiguration
    private let line: Mutex<APNsLine>
    private let tokens: Mutex<ProviderTokens>

    /// Opens no connection.
    ///
    /// - Throws: ``PushError`` with code `misconfigured` where the file of authorities can't be read.
    public init(_ configuration: APNsConfiguration) throws(PushError) {
        self.configuration = configuration
        line = Mutex(try APNsLine(configuration))
        tokens = Mutex(ProviderTokens(key: configuration.key))
    }

    public var route: PushRoute { .apns }

    /// Pushes that are under way keep their connection until they have their answer.
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
            let line = line.withLock { $0 }
            do throws(PushError) {
                let (answer, id) = try await line.send(push, with: token, within: deadline - now)
                switch answer.verdict {
                case .accepted:
                    return id
                case .renewToken where !hasRenewed:
                    hasRenewed = true
                    let isRenewed = try tokens.withLock { tokens throws(PushError) in
                        try tokens.expired(token, at: time)
                    }
                    if isRenewed { continue }
                    throw PushError(
                        .misconfigured, status: answer.status,
                        reason: "\(answer.reason) though it is new: the clock is wrong")
                case .keepToken where !hasRenewed:
                    hasRenewed = true
                    if tokens.withLock({ $0.tooMany(token, at: time) }) { continue }
                case .reconnect where repeats < Self.mostRepeats:
                    repeats += 1
                    try replace(line)
                    continue
                default: break
                }
                if let error = answer.error { throw error }
            } catch {
                // A connection that was lost is replaced by itself; one that only says nothing may be dead all the same.
                if error.code == .timedOut { try replace(line) }
                guard error.code == .interrupted, repeats < Self.mostRepeats, !Task.isCancelled else { throw error }
                repeats += 1
                // The client takes a moment to know that its connection is no more.
                try? await Task.sleep(for: .milliseconds(20 * repeats))
            }
        }
    }

    /// Has what comes use a new connection. Of many that find the same one useless, the first replaces it.
    private func replace(_ useless: APNsLine) throws(PushError) {
        guard line.withLock({ $0 === useless }) else { return }
        let fresh = try APNsLine(configuration)
        line.withLock { if $0 === useless { $0 = fresh } }
    }
}
