import Errand
import ErrandImages
import ErrandStorage

/// The jobs of the apps that `errand` runs: one line each. Those that only change the database are SQL functions, in
/// `sql/apps/<app>/seeds/handlers.sql`, beside the app's schedules.
package enum AllJobs {
    /// The handlers of all apps. A worker registers those of the apps that its database has.
    package static func handlers(
        store: any ObjectStore, images: ImageProcessPool, pushes: PushServices, photoLimit: Int = 200 << 20
    ) -> Handlers {
        var handlers = Handlers()
        handlers.add(
            [
                ImageCompressionHandler(store: store, images: images, limit: photoLimit),
                UploadRetryHandler(store: store),
                ObjectRemovalHandler(store: store),
            ], of: "media")
        handlers.add([DailyQuoteHandler(), QuoteCardHandler(images: images)], of: "quotes")
        handlers.add([EventArchiveHandler(store: store), EventCodeHandler()], of: "events")
        handlers.add(
            [ActivityEndHandler(pushes: pushes.apns), ActivityPushHandler(pushes: pushes.apns)], of: "activity")
        handlers.add(
            [
                NotificationAPNsHandler(pushes: pushes),
                NotificationFCMHandler(pushes: pushes),
                NotificationAPNsBatchHandler(pushes: pushes),
                NotificationFCMBatchHandler(pushes: pushes),
            ], of: "notify")
        return handlers
    }
}
