import Errand

/// Photos: compressed, stored and removed.
enum MediaApp: App {
    static let name = "media"
    static let needs: Set<HostNeed> = [.store, .images]

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            ImageCompressionHandler(store: services.store, images: services.images, limit: services.photoLimit),
            UploadRetryHandler(store: services.store),
            ObjectRemovalHandler(store: services.store),
        ]
    }
}
