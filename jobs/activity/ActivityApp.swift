import Errand

/// Live Activities: their pushes and their end.
enum ActivityApp: App {
    static let name = "activity"
    static let needs: Set<HostNeed> = [.apns]

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            ActivityEndHandler(pushes: services.pushes.apns),
            ActivityPushHandler(pushes: services.pushes.apns),
        ]
    }
}
