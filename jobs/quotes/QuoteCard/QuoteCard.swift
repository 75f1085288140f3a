import Errand
import ErrandImages
import Foundation
import Postgres

/// Draws a quote on a card, an image that users share.
struct QuoteCard: Job {
    static let kind: JobKind = "quote_card"
    static let policy = JobPolicy(
        queue: "images", deadline: .seconds(300), retry: .exponential(attempts: 4, first: .seconds(2)),
        memory: 128 << 20)

    /// The id in `quotes.card`.
    var card: UUID
}

/// Draws the card in a child process, and enqueues the upload of the image in the commit that completes this job.
struct QuoteCardHandler: JobHandler {
    let images: ImageProcessPool

    func run(_ job: QuoteCard, in context: JobContext) async throws -> Outcome {
        let found = try await context.database.query(
            Statement("select text, author, template, appearance, format from quotes.card_to_draw_v1($1)", [job.card]))
        guard let row = found.first else {
            return .cancel(reason: "card \(job.card) is drawn already, or its quote was corrected")
        }
        do {
            // On a busy host, the wall clock ends what is no fault of the card. So each attempt has a minute more.
            let (report, bytes) = try await images.card(try Self.card(row), timeoutFactor: context.attempt)
            return try await context.transaction { transaction in
                let isWanted = try await transaction.query(
                    Statement(
                        "select quotes.card_drawn_v1($1, $2, $3::int4, $4::int4)",
                        [job.card, Bytes(bytes), report.width, report.height])
                ).scalar(Bool.self)
                return isWanted ? try .done(report) : .cancel(reason: "card \(job.card) is gone")
            }
        } catch let error as ImageError where error.isPermanent || context.attempt >= context.maxAttempts {
            try await context.database.execute(
                Statement("select quotes.card_failed_v1($1, $2)", [job.card, "\(error)"]))
            return .fail(error)
        }
    }

    private static func card(_ row: Row) throws -> CardRequest {
        let (text, author, template, appearance, format) = try row.decode(
            String.self, String.self, String.self, String.self, String.self)
        guard let template = CardRequest.Template(rawValue: template),
            let appearance = CardRequest.Appearance(rawValue: appearance),
            let format = CardRequest.Format(rawValue: format)
        else {
            throw UnknownStyle()
        }
        return CardRequest(text: text, author: author, template: template, appearance: appearance, format: format)
    }

    /// A newer version of the schema knows more styles than this program. A worker of that version draws the card.
    private struct UnknownStyle: Error, CustomStringConvertible {
        let description = "this version of errand doesn't know the style of the card"
    }
}
