import Errand

/// Shared disposable cameras: archives and codes.
enum EventsApp: App {
    static let name = "events"

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            EventArchiveHandler(store: services.store),
            EventCodeHandler(),
        ]
    }
}
