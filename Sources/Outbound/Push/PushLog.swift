import Foundation
import Logging

/// Stands in for a push service where no credentials are set: each push is a line of the log, and counts as accepted.
package struct PushLog: PushService {
    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    package var route: PushRoute { .log }

    package func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        guard .now < deadline else { throw PushError(.expired, reason: "too late to be sent") }
        logger.info(
            "push, to the log only: no credentials are set",
            metadata: [
                "push_id": "\(push.id)", "push_type": "\(push.kind.rawValue)", "device": "\(push.shownToken)",
                "payload": "\(String(decoding: push.payload, as: UTF8.self))",
            ])
        return nil
    }

    package func stop() async {}
}
