import Errand
import Images
import Outbound

/// Every job that `errand` runs, and when those run that run by the clock: one line each.
package enum AllJobs {
    package static func handlers(
        store: any ObjectStore, images: ImageProcessPool, pushes: any PushService,
        eventsKeptFrom: EventsKeptFrom = .end, photoLimit: Int = 200 << 20
    ) -> [any JobHandler] {
        [
            ImageCompressionHandler(store: store, images: images, limit: photoLimit),
            UploadRetryHandler(store: store),
            InviteExpiryHandler(),
            QuoteRotationHandler(),
            EventPurgeHandler(keptFrom: eventsKeptFrom),
            ObjectRemovalHandler(store: store),
            ActivityEndHandler(pushes: pushes),
            ActivityPushHandler(pushes: pushes),
            ActivitySweepHandler(),
        ]
    }

    /// - Throws: where a definition is not one, such as a cron expression that can't be read.
    package static var schedules: [ScheduleDefinition] {
        get throws {
            [
                // So often that the wait for a tick leaves most of the minute within which they are to be marked.
                try ScheduleDefinition("invite_expiry", .every(.seconds(15)), job: InviteExpiry()),
                // It also has objects removed that the store has refused before.
                try ScheduleDefinition("event_purge", .every(.seconds(15)), job: EventPurge()),
                try ScheduleDefinition("quote_rotation", .cron(CronExpression("7 * * * *")), job: QuoteRotation()),
                try ScheduleDefinition("activity_sweep", .every(.seconds(60)), job: ActivitySweep()),
            ]
        }
    }
}
