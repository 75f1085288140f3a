import Foundation

/// Refuses every push, because no credentials are set. Pushes wait until an operator sets them.
package struct UnsetPushes: PushService {
    package init() {}

    package var route: PushRoute { .none }

    package func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        throw PushError(.misconfigured, reason: "no key is set: set APNS_KEY and its companions")
    }

    package func stop() async {}
}
