import Errand
import Postgres

/// Deletes the rows of events whose days, 8 by default, are over. The job `object_removal` removes their objects.
///
/// Rows are deleted on time even if the store is down: the list of objects to remove commits with them.
struct EventPurge: Job {
    static let kind: JobKind = "event_purge"
    static let policy = JobPolicy(priority: 1, retry: .exponential(attempts: 5, first: .seconds(1)))
}

/// The start of an event's days until its purge: the setting ERRAND_EVENTS_KEPT_FROM.
package enum EventsKeptFrom: String, Sendable {
    case end
    /// Its start. An event that lasts longer is purged at its end.
    case start
}

/// Each event is a transaction of its own, so that a failed attempt keeps its progress. Concurrent runs purge different
/// events.
struct EventPurgeHandler: JobHandler {
    let keptFrom: EventsKeptFrom

    /// The output of a run: counts without any private data.
    struct Report: Codable, Equatable {
        var events = 0
        var photos = 0
        /// Whether objects wait to be removed, from this run or an earlier one.
        var areObjectsDue = false
    }

    func run(_ job: EventPurge, in context: JobContext) async throws -> Outcome {
        var report = Report()
        while let photos = try await purgeNext(in: context) {
            report.events += 1
            report.photos += photos
            try Task.checkCancellation()
        }
        report.areObjectsDue = try await context.database.query("select media.enqueue_removals_v1()").scalar(Bool.self)
        return try .done(report)
    }

    /// Purges the next due event. Returns how many photos it had; nil if none is due.
    private func purgeNext(in context: JobContext) async throws -> Int? {
        try await context.database.query(
            Statement("select photos from events.purge_due_v1($1)", [keptFrom.rawValue])
        ).first?.decode(Int.self)
    }
}
