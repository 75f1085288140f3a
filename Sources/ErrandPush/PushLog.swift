import Foundation
import Logging

/// Logs each push instead of sending it, and returns as if it were accepted. For development.
///
/// The line shows the push's id, type and size, and nothing of its content.
public struct PushLog: PushService {
    private let logger: Logger

    public init(logger: Logger) { self.logger = logger }

    public var route: PushRoute { .log }

    public func send(
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

    public func stop() async {}
}
