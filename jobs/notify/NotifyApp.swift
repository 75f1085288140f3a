import Errand

/// Notifications to devices.
enum NotifyApp: App {
    static let name = "notify"
    static let needs: Set<HostNeed> = [.apns, .fcm]

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            NotificationAPNsHandler(pushes: services.pushes),
            NotificationFCMHandler(pushes: services.pushes),
            NotificationAPNsBatchHandler(pushes: services.pushes),
            NotificationFCMBatchHandler(pushes: services.pushes),
        ]
    }
}
