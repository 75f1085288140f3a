import Errand
import Images
import Outbound

/// Every job that `errand` runs, and when those run that run by the clock: one line each.
package enum AllJobs {
    package static func handlers(store: any ObjectStore, images: ImageProcessPool) -> [any JobHandler] {
        [
            ImageCompressionHandler(store: store, images: images),
            UploadRetryHandler(store: store),
            InviteExpiryHandler(),
            QuoteRotationHandler(),
        ]
    }

    /// - Throws: where a definition is not one, such as a cron expression that can't be read.
    package static var schedules: [ScheduleDefinition] {
        get throws {
            [
                // So often that the wait for a tick leaves most of the minute within which they are to be marked.
                try ScheduleDefinition("invite_expiry", .every(.seconds(15)), job: InviteExpiry()),
                try ScheduleDefinition("quote_rotation", .cron(CronExpression("7 * * * *")), job: QuoteRotation()),
            ]
        }
    }
}
