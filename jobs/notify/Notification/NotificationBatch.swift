import Errand
import ErrandPush

/// Sends a notification to up to 100 of Apple's devices. `notify.send` enqueues them for more than 100 persons.
///
/// A batch has one notification and one service, so that one service's failure delays none of the other's pushes.
struct NotificationAPNsBatch: Job {
    static let kind: JobKind = "notification_apns_batch"
    static let policy = NotificationPushing.policy(for: .apns)

    /// The first id in `notify.delivery`, and the name of the batch there.
    var batch: Int64
    /// The last id. Those of other batches may lie between the two.
    var last: Int64
}

struct NotificationAPNsBatchHandler: JobHandler {
    let pushes: PushServices

    func run(_ job: NotificationAPNsBatch, in context: JobContext) async throws -> Outcome {
        try await NotificationBatchPushing(
            batch: job.batch, last: job.last, platform: .apns, service: pushes.apns, environment: pushes.environment,
            circuit: .apns, context: context
        ).run()
    }
}

/// Sends a notification to up to 100 of Google's devices.
struct NotificationFCMBatch: Job {
    static let kind: JobKind = "notification_fcm_batch"
    static let policy = NotificationPushing.policy(for: .fcm)

    /// The first id in `notify.delivery`, and the name of the batch there.
    var batch: Int64
    /// The last id. Those of other batches may lie between the two.
    var last: Int64
}

struct NotificationFCMBatchHandler: JobHandler {
    let pushes: PushServices

    func run(_ job: NotificationFCMBatch, in context: JobContext) async throws -> Outcome {
        try await NotificationBatchPushing(
            batch: job.batch, last: job.last, platform: .fcm, service: pushes.fcm, environment: nil, circuit: .fcm,
            context: context
        ).run()
    }
}
