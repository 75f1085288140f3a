import Errand
import ErrandImages
import ErrandStorage

/// An app with jobs in Swift: its folder here, and its schema in `sql/apps/<name>`. Jobs that only change the database
/// are SQL functions there, in `seeds/handlers.sql`, beside the app's schedules.
protocol App: SendableMetatype {
    /// The name of its schema.
    static var name: String { get }

    /// What its jobs need of the host of a worker, beside the database.
    static var needs: Set<HostNeed> { get }

    static func handlers(_ services: AppServices) -> [any JobHandler]
}

/// The apps with jobs in Swift, one a line.
private let apps: [any App.Type] = [
    ActivityApp.self,
    EventsApp.self,
    MediaApp.self,
    NotifyApp.self,
    QuotesApp.self,
]

/// What jobs may need of the host of a worker. `errand doctor` checks what those of the installed apps need.
package enum HostNeed: Sendable {
    /// The object store.
    case store
    /// The program errand-image.
    case images
    /// Fonts with letters and emoji.
    case fonts
    /// Apple's service for pushes.
    case apns
    /// Google's.
    case fcm

    /// What the jobs of these apps need.
    package static func all(of names: Set<String>) -> Set<HostNeed> {
        apps.filter { names.contains($0.name) }.reduce(into: []) { $0.formUnion($1.needs) }
    }
}

/// What the handlers of apps use.
package struct AppServices: Sendable {
    let store: any ObjectStore
    let images: ImageProcessPool
    let pushes: PushServices
    /// The most bytes of an original.
    let photoLimit: Int
    /// What runs around the handlers.
    let middleware: [any Middleware]

    package init(
        store: any ObjectStore, images: ImageProcessPool, pushes: PushServices, photoLimit: Int = 200 << 20,
        middleware: [any Middleware] = []
    ) {
        self.store = store
        self.images = images
        self.pushes = pushes
        self.photoLimit = photoLimit
        self.middleware = middleware
    }

    /// The handlers of all apps. A worker registers those of the apps that its database has.
    package var handlers: Handlers {
        var handlers = Handlers(middleware: middleware)
        for app in apps { handlers.add(app.handlers(self), of: app.name) }
        return handlers
    }
}
