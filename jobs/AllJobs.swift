import Errand
import Images
import Outbound

/// Every job that `errand` runs, and when those run that run by the clock: one line each.
package enum AllJobs {
    package static func handlers(store: any ObjectStore, images: ImageProcessPool) -> [any JobHandler] {
        [
            ImageCompressionHandler(store: store, images: images),
            UploadRetryHandler(store: store),
        ]
    }

    package static let schedules: [ScheduleDefinition] = []
}
