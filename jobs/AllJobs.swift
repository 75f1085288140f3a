import Errand
import ErrandImages
import ErrandStorage

/// The jobs of the apps that `errand` runs, and their schedules: one line each. Jobs that only change the database are
/// SQL functions: `sql/apps/<app>/seeds/handlers.sql`.
package enum AllJobs {
    /// An app, by the name of its schema.
    package enum App: String, CaseIterable, Sendable {
        case media, pairing, quotes, events, activity, identity, devices, notify, moments
    }

    package static func handlers(
        of apps: Set<App> = Set(App.allCases), store: any ObjectStore, images: ImageProcessPool,
        pushes: PushServices, photoLimit: Int = 200 << 20
    ) -> [any JobHandler] {
        App.allCases.filter(apps.contains).flatMap { app -> [any JobHandler] in
            switch app {
            case .media:
                [
                    ImageCompressionHandler(store: store, images: images, limit: photoLimit),
                    UploadRetryHandler(store: store),
                    ObjectRemovalHandler(store: store),
                ]
            case .pairing, .identity, .devices, .moments: []
            case .quotes: [DailyQuoteHandler(), QuoteCardHandler(images: images)]
            case .events:
                [EventArchiveHandler(store: store), EventCodeHandler()]
            case .activity:
                [ActivityEndHandler(pushes: pushes.apns), ActivityPushHandler(pushes: pushes.apns)]
            case .notify:
                [
                    NotificationAPNsHandler(pushes: pushes),
                    NotificationFCMHandler(pushes: pushes),
                    NotificationAPNsBatchHandler(pushes: pushes),
                    NotificationFCMBatchHandler(pushes: pushes),
                ]
            }
        }
    }

    /// - Throws: where a definition is not one, such as a cron expression that can't be read.
    package static func schedules(of apps: Set<App> = Set(App.allCases)) throws -> [ScheduleDefinition] {
        try App.allCases.filter(apps.contains).flatMap { app -> [ScheduleDefinition] in
            switch app {
            // Originals go within 15 s of the delivery of their results.
            case .media: [ScheduleDefinition("removal_cleanup", .every(.seconds(15)), kind: "removal_cleanup")]
            // Often enough that most of the promised minute is left after the wait for a tick.
            case .pairing: [ScheduleDefinition("invite_expiry", .every(.seconds(15)), kind: "invite_expiry")]
            case .quotes:
                [
                    ScheduleDefinition("quote_rotation", .cron("7 * * * *"), kind: "quote_rotation"),
                    try ScheduleDefinition("daily_quote", .every(.seconds(15)), job: DailyQuote()),
                ]
            // It also enqueues removals that the store refused before.
            case .events: [ScheduleDefinition("event_purge", .every(.seconds(15)), kind: "event_purge")]
            case .activity: [ScheduleDefinition("activity_cleanup", .every(.seconds(60)), kind: "activity_cleanup")]
            case .identity: [ScheduleDefinition("number_pool", .every(.seconds(60)), kind: "number_pool")]
            case .devices: [ScheduleDefinition("device_prune", .every(.seconds(3600)), kind: "device_prune")]
            case .notify:
                [ScheduleDefinition("notification_cleanup", .every(.seconds(600)), kind: "notification_cleanup")]
            case .moments: []
            }
        }
    }
}
