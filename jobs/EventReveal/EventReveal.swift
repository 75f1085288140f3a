import Errand
import Foundation
import Postgres

/// Tells the participants of an event that its photos are revealed, once.
///
/// Nothing else depends on it: `events.photos_of` compares with the clock. It is enqueued in the transaction that plans
/// the reveal, for that time, and moves with it.
struct EventReveal: Job {
    static let kind: JobKind = "event_reveal"
    static let policy = JobPolicy(
        priority: 1, deadline: .seconds(60), retry: .exponential(attempts: 10, first: .seconds(1)))

    /// The id in `events.event`.
    var event: UUID
}

/// The record that participants were told, all that tells them, and the completion of the job commit together.
struct EventRevealHandler: JobHandler {
    /// The output of a run: counts without any private data.
    struct Report: Codable, Equatable {
        var people: Int
    }

    func run(_ job: EventReveal, in context: JobContext) async throws -> Outcome {
        try await context.transaction { transaction in
            let rows = try await transaction.query(
                Statement("select status, reveal_at, people from events.reveal_v1($1)", [job.event]))
            let (status, revealAt, people) = try rows[0].decode(String.self, Timestamp?.self, Int.self)
            switch try Reveal(status, from: "events.reveal_v1") {
            case .revealed, .already: return try .done(Report(people: people))
            // The host has moved the reveal while this job was starting.
            case .tooEarly: return revealAt.map(Outcome.snooze(until:)) ?? .snooze(for: .zero)
            case .gone: return .cancel(reason: "event \(job.event) is gone")
            }
        }
    }

    /// What `events.reveal_v1` returns as its status.
    private enum Reveal: String, FunctionReply {
        case revealed, gone
        case already = "already_revealed"
        case tooEarly = "too_early"
    }
}
