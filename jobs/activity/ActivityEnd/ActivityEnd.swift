import Errand
import ErrandPush
import Foundation

/// Ends a Live Activity a little before its 8 hours are over, or on request.
///
/// It is enqueued in the transaction that starts the activity. It never starts at the 8 hours or later, nor if the
/// activity is over: the guard `activity_wants_end`.
struct ActivityEnd: Job {
    static let kind: JobKind = "activity_end"
    static let policy = JobPolicy(
        queue: "pushes", priority: 1, deadline: .seconds(60), retry: ActivityPushing.retry,
        circuits: [OutboundCircuit.apns.name])

    /// The id in `activity.activity`.
    var activity: UUID
}

struct ActivityEndHandler: JobHandler {
    let pushes: any PushService

    func run(_ job: ActivityEnd, in context: JobContext) async throws -> Outcome {
        try await ActivityPushing(activity: job.activity, ends: true, pushes: pushes, context: context).run()
    }
}

/// Sends the start or the newest content of a Live Activity.
struct ActivityPush: Job {
    static let kind: JobKind = "activity_push"
    static let policy = JobPolicy(
        queue: "pushes", deadline: .seconds(60), retry: ActivityPushing.retry, circuits: [OutboundCircuit.apns.name])

    /// The id in `activity.activity`.
    var activity: UUID
}

struct ActivityPushHandler: JobHandler {
    let pushes: any PushService

    func run(_ job: ActivityPush, in context: JobContext) async throws -> Outcome {
        try await ActivityPushing(activity: job.activity, ends: false, pushes: pushes, context: context).run()
    }
}
