import Foundation
import Logging

/// Stands in for a push service, where a setting asks for that: each push is a line of the log, and counts as accepted.
///
/// The line has no content: what people write to each other is none of the log's business.
package struct PushLog: PushService {
    private let logger: Logger

    package init(logger: Logger) { self.logger = logger }

    package var route: PushRoute { .log }

    package func send(
        _ push: Push, at present: Date, by deadline: ContinuousClock.Instant
    ) async throws(PushError) -> String? {
        guard .now < deadline else { throw PushError(.expired, reason: "too late to be sent") }
        logger.info(
            "push, to the log and no device",
            metadata: [
                "push_id": "\(push.id)", "push_type": "\(push.kind.rawValue)", "device": "\(push.shownToken)",
                "bytes": "\(push.payload.count)",
            ])
        return nil
    }

    package func stop() async {}
}
