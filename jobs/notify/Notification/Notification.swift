import Errand
import ErrandPush

/// Sends a notification to one device of Apple's. `notify.send` enqueues one for each device of up to 100 persons.
///
/// Apple's and Google's devices have kinds of their own, so that one service's failure delays none of the other's
/// pushes.
struct NotificationAPNs: Job {
    static let kind: JobKind = "notification_apns"
    static let policy = NotificationPushing.policy(for: .apns)

    /// The id in `notify.delivery`.
    var delivery: Int64
}

struct NotificationAPNsHandler: JobHandler {
    let pushes: PushServices

    func run(_ job: NotificationAPNs, in context: JobContext) async throws -> Outcome {
        try await NotificationPushing(
            delivery: job.delivery, platform: .apns, service: pushes.apns, environment: pushes.environment,
            circuit: .apns, context: context
        ).run()
    }
}

/// Sends a notification to one device of Google's.
struct NotificationFCM: Job {
    static let kind: JobKind = "notification_fcm"
    static let policy = NotificationPushing.policy(for: .fcm)

    /// The id in `notify.delivery`.
    var delivery: Int64
}

struct NotificationFCMHandler: JobHandler {
    let pushes: PushServices

    func run(_ job: NotificationFCM, in context: JobContext) async throws -> Outcome {
        try await NotificationPushing(
            delivery: job.delivery, platform: .fcm, service: pushes.fcm, environment: nil, circuit: .fcm,
            context: context
        ).run()
    }
}
