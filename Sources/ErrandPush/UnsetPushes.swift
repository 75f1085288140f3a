import Foundation

/// Refuses every push, because no credentials are set. Pushes wait until an operator sets them.
package struct UnsetPushes: PushService {
    private let reason: String

    /// - Parameter settings: what to set.
    package init(_ settings: String = "APNS_KEY and its companions") {
        reason = "no credentials: set \(settings)"
    }

    package var route: PushRoute { .none }

    package func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        throw PushError(.misconfigured, reason: reason)
    }

    package func stop() async {}
}
