import Errand
import ErrandImages
import ErrandStorage

/// The jobs of the apps that `errand` runs, and their schedules: one line each.
package enum AllJobs {
    /// An app, by the name of its schema.
    package enum App: String, CaseIterable, Sendable {
        case media, pairing, quotes, events, activity, identity, devices, notify, moments
    }

    package static func handlers(
        of apps: Set<App> = Set(App.allCases), store: any ObjectStore, images: ImageProcessPool,
        pushes: PushServices,
        eventsKeptFrom: EventsKeptFrom = .end, photoLimit: Int = 200 << 20
    ) -> [any JobHandler] {
        App.allCases.filter(apps.contains).flatMap { app -> [any JobHandler] in
            switch app {
            case .media:
                [
                    ImageCompressionHandler(store: store, images: images, limit: photoLimit),
                    UploadRetryHandler(store: store),
                    ObjectRemovalHandler(store: store),
                    RemovalCleanupHandler(),
                ]
            case .pairing: [InviteExpiryHandler()]
            case .quotes: [QuoteRotationHandler(), DailyQuoteHandler(), QuoteCardHandler(images: images)]
            case .events:
                [
                    EventPurgeHandler(keptFrom: eventsKeptFrom), EventRevealHandler(),
                    EventArchiveHandler(store: store), EventCodeHandler(),
                ]
            case .activity:
                [
                    ActivityEndHandler(pushes: pushes.apns),
                    ActivityPushHandler(pushes: pushes.apns),
                    ActivityCleanupHandler(),
                ]
            case .identity: [NumberPoolHandler()]
            case .devices: [DevicePruneHandler()]
            case .notify:
                [
                    NotificationAPNsHandler(pushes: pushes),
                    NotificationFCMHandler(pushes: pushes),
                    NotificationAPNsBatchHandler(pushes: pushes),
                    NotificationFCMBatchHandler(pushes: pushes),
                    NotificationCleanupHandler(),
                ]
            case .moments: [MomentArrivalHandler()]
            }
        }
    }

    /// - Throws: where a definition is not one, such as a cron expression that can't be read.
    package static func schedules(of apps: Set<App> = Set(App.allCases)) throws -> [ScheduleDefinition] {
        try App.allCases.filter(apps.contains).flatMap { app -> [ScheduleDefinition] in
            switch app {
            // Originals go within 15 s of the delivery of their results.
            case .media: [try ScheduleDefinition("removal_cleanup", .every(.seconds(15)), job: RemovalCleanup())]
            // Often enough that most of the promised minute is left after the wait for a tick.
            case .pairing: [try ScheduleDefinition("invite_expiry", .every(.seconds(15)), job: InviteExpiry())]
            case .quotes:
                [
                    try ScheduleDefinition("quote_rotation", .cron("7 * * * *"), job: QuoteRotation()),
                    try ScheduleDefinition("daily_quote", .every(.seconds(15)), job: DailyQuote()),
                ]
            // It also enqueues removals that the store refused before.
            case .events: [try ScheduleDefinition("event_purge", .every(.seconds(15)), job: EventPurge())]
            case .activity: [try ScheduleDefinition("activity_cleanup", .every(.seconds(60)), job: ActivityCleanup())]
            case .identity: [try ScheduleDefinition("number_pool", .every(.seconds(60)), job: NumberPool())]
            case .devices: [try ScheduleDefinition("device_prune", .every(.seconds(3600)), job: DevicePrune())]
            case .notify:
                [try ScheduleDefinition("notification_cleanup", .every(.seconds(600)), job: NotificationCleanup())]
            case .moments: []
            }
        }
    }
}
