import Errand

/// The quote of the day: its pushes and cards.
enum QuotesApp: App {
    static let name = "quotes"
    static let needs: Set<HostNeed> = [.images, .fonts]

    static func handlers(_ services: AppServices) -> [any JobHandler] {
        [
            DailyQuoteHandler(),
            QuoteCardHandler(images: services.images),
        ]
    }
}
