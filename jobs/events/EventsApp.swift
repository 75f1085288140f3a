import Errand

/// Shared disposable cameras: archives and codes.
enum EventsApp: App {
    static let name = "events"
    static let needs: Set<HostNeed> = [.store, .images]

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            EventArchiveHandler(store: services.store),
            EventCodeHandler(),
        ]
    }
}
