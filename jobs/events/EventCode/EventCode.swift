import Errand
import ErrandImages
import Foundation
import Postgres

/// Draws the QR code of a link to an event.
struct EventCode: Job {
    static let kind: JobKind = "event_code"
    static let policy = JobPolicy(deadline: .seconds(30), retry: .exponential(attempts: 4, first: .seconds(2)))

    /// The id in `events.code`. The link stays out of job records.
    var code: UUID
}

/// Draws the code within milliseconds, and enqueues the upload of the image in the commit that completes this job.
struct EventCodeHandler: JobHandler {
    /// Enough for print at 9 cm and 300 dpi; modules have 5 pixels even with the longest link.
    static let pixels = 1_024

    /// The output of a run.
    struct Report: Codable, Equatable {
        let bytes: Int
        /// The side of the symbol, in modules.
        let modules: Int
    }

    func run(_ job: EventCode, in context: JobContext) async throws -> Outcome {
        let found = try await context.database.query(
            Statement("select link from events.code_to_draw_v1($1)", [job.code]))
        guard let link = try found.first?.decode(String.self) else {
            return .cancel(reason: "code \(job.code) is drawn already, or its event is gone")
        }
        do {
            let code = try QRCode(link)
            let image = try code.png(pixels: Self.pixels)
            return try await context.transaction { transaction in
                let isWanted = try await transaction.query(
                    Statement("select events.code_drawn_v1($1, $2)", [job.code, Bytes(image)])
                ).scalar(Bool.self)
                let report = Report(bytes: image.count, modules: code.side)
                return isWanted ? try .done(report) : .cancel(reason: "code \(job.code) is gone")
            }
        } catch let error as ImageError {
            try await context.database.execute(
                Statement("select events.code_failed_v1($1, $2)", [job.code, "\(error)"]))
            return .fail(error)
        }
    }
}
